/* The pager: $PAGER, or less, shows output longer than the screen. */
#ifndef CLI_OUTPUT_PAGER_H
#define CLI_OUTPUT_PAGER_H

#include "cli/cli.h"

/* From here on what is printed is held back, where standard output is a terminal. */
void pager_begin(struct cli *cli);

/* Shows it: with the pager where it takes more rows than there are ($PAGER empty:
 * never), and waits until that has ended. */
void pager_end(struct cli *cli);

#endif
