/* What may stand next on a command line, from the tables in commands.c, the manuals
 * that a running daemon has, the last answer's places and the models on disk. */
#ifndef CLI_VERBS_COMPLETION_WORDS_H
#define CLI_VERBS_COMPLETION_WORDS_H

#include "cli/cli.h"

/* Prints what the last of the words may become, "WORD\tDESCRIPTION" a line, or
 * ":files" or ":folders", which the shell knows.  `words` [count]: behind the
 * program's name; no daemon is started. */
void completion_print_words(struct cli *cli, const char *const *words,
                            size_t count);

#endif
