/* `lectern add --installed`: the manuals that Debian's packages have registered. */
#ifndef CLI_INSTALLED_ADD_INSTALLED_H
#define CLI_INSTALLED_ADD_INSTALLED_H

#include "cli/cli.h"

/* Lists those that are not indexed and asks once whether to add them; adds those that
 * the arguments name without asking, or all with --yes.  Manuals of packages that have
 * gone are removed. */
int add_installed(struct cli *cli, struct err *err);

#endif
