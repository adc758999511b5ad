/* The files of a pack, on their way into a folder. */
#ifndef DAEMON_VERBS_PACK_FOLDER_H
#define DAEMON_VERBS_PACK_FOLDER_H

#include "memory/pack/pack.h"

/* Writes the files of a pack, whose paths were checked, below a folder that is made; they
 * are on the disk when it returns.
 * ERR_USAGE: the folder is there already; on an error nothing is left of it. */
int pack_folder_make(const struct pack *pack, const char *folder,
                     struct err *err);

#endif
