/* Which manual an archive is, and its way there. */
#ifndef CLI_VERBS_ADD_ARCHIVE_H
#define CLI_VERBS_ADD_ARCHIVE_H

#include "cli/cli.h"

/* A manual whose files lie in the store's own place. */
struct own_manual {
    char *place;       /* of the daemon's store, as it really is */
    char *name;        /* of the manual */
    struct buf folder; /* of its files */
    bool is_known;     /* there is such a manual: its files are replaced */
};

/* Finds the manual of an archive: the one of the name -c, else the one that was made of
 * it before, else a new one, whose name nobody has.  Free it in any case. */
int add_archive_find(struct cli *cli, const char *archive,
                     struct own_manual *ret, struct err *err);
void own_manual_free(struct own_manual *manual);

/* The folder `place` of the daemon's store; `manuals` gets what `ls` says, NULL: it is not
 * wanted. */
int add_archive_place(struct cli *cli, char **ret_place, cJSON **ret_listed,
                      struct err *err);

/* Refuses a folder in that place that nothing was unpacked into: with its manual it would
 * be removed. */
int add_archive_check_folder(struct cli *cli, const char *folder,
                             struct err *err);

#endif
