/* The page's files, which are part of the program. */
#ifndef CLI_WEB_WEB_FILES_H
#define CLI_WEB_WEB_FILES_H

#include "base/buf.h"

/* Finds the file that a path names, as "/" or "/page.css", and its type in HTTP; false:
 * there is none.  Its bytes last as long as the program. */
struct web_file {
    const char *type;
    struct slice content;
};
bool web_file_find(const char *path, struct web_file *ret_file);

#endif
