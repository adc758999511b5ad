/* Manual pages as HTML, by mandoc: a section of them becomes a manual. */
#ifndef CLI_INSTALLED_MAN_PAGES_H
#define CLI_INSTALLED_MAN_PAGES_H

#include "cli/cli.h"

/* Makes HTML of the pages of a section ("1", "3"), of $MANPATH or else of where Debian has
 * them, in a folder of our own in `place`, whose path it appends.  Pages that have not changed since
 * are left, those that have gone are removed.  ERR_USAGE: there is no such section, or no
 * mandoc. */
int man_pages_make(const struct cli *cli, const char *place,
                   const char *section, struct buf *ret_folder,
                   struct err *err);

#endif
