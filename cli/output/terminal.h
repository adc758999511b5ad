/* Text on a terminal: how wide it is there, lines broken to fit, emphasis and
 * links.  Nothing of this goes into a pipe or a file, where `columns` is 0 and
 * `color` false (cli.h).
 *
 * Widths are in columns: a wide character takes two, a combining one none, and
 * escape sequences (of our own making: those of manuals were taken out before,
 * by output_make_printable) none. */
#ifndef CLI_OUTPUT_TERMINAL_H
#define CLI_OUTPUT_TERMINAL_H

#include "cli/cli.h"

/* Looks what standard output and standard error are, and at the environment:
 * sets columns, rows, color and progress. */
void terminal_look(struct cli *cli);

int terminal_width(struct slice text);

/* Bytes of the escape sequence at `at` (CSI ... letter, OSC ... ST or BEL); 0: none
 * begins there. */
size_t terminal_escape_size(struct slice text, size_t at);

/* Appends the first characters of `text`, as many as `columns` hold. */
void terminal_put_cut(struct buf *out, struct slice text, int columns);

/* Appends one line, without a line feed at its end, broken at spaces and
 * between wide characters where it is wider than `columns` (0: never); what
 * follows a break starts with `indent`.  A citation's mark, [1], stays with the word
 * before it; a word that is too wide by itself is left to the terminal. */
void terminal_put_line(struct buf *out, struct slice line, int columns,
                       const char *indent);

/* Appends prose of several lines, each broken so, but for those that start with
 * a space or a tab: they are code, or tables. */
void terminal_put_prose(struct buf *out, struct slice text, int columns);

/* Appends spaces to `out` until what was appended from `start` on is `width`
 * wide. */
void terminal_pad(struct buf *out, size_t start, int width);

/* Rows that `text` takes on a screen. */
int64_t terminal_rows_of(struct slice text, int columns);

#endif
