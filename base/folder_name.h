/* What a folder of documents is called. */
#ifndef BASE_FOLDER_NAME_H
#define BASE_FOLDER_NAME_H

/* Returns the last part of a path that says something ("html" does not: then it is the
 * part before it), without ".docset", Dash's ending; to be freed. */
char *folder_name(const char *path);

#endif
