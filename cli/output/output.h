/* Output of the commands for people.  Text of manuals passes through here: nothing
 * of it may drive the terminal, begin a line that is ours, or reorder one. */
#ifndef CLI_OUTPUT_OUTPUT_H
#define CLI_OUTPUT_OUTPUT_H

#include "cli/cli.h"

/* Removes what a terminal obeys, in place: control characters except line feed and
 * tab, and those that turn the direction of text. */
void output_make_printable(struct buf *text);

/* The same, and what ends a line or a column becomes a space: a label. */
void output_make_label(struct buf *text);

/* The same of all strings in a result; besides, all but the texts of sections
 * ("text", "answer", "quote") become one line each, so that no title, anchor or file
 * name begins another. */
void output_clean(cJSON *result);

/* On standard output. */
void output_text(const char *text);
void output_dim(const struct cli *cli, const char *text);
/* Prints `line`, dim, broken to fit, and a line feed; what is not our own in it was made
 * printable before. */
void output_dim_line(const struct cli *cli, const struct buf *line,
                     const char *indent);
/* Appends text of manuals, of which no line begins as a citation does: "[" is indented.
 * *begins: whether it stands at the beginning of a line, now and afterwards. */
void output_put_quote(struct buf *out, const char *text, bool *begins);
/* Prints one line and a line feed, broken to fit the terminal (terminal.h);
 * what is not our own in `line` was made printable before. */
void output_line(const struct cli *cli, const struct buf *line,
                 const char *indent);
/* The same of several lines, each with its line feed. */
void output_lines(const struct cli *cli, struct buf *lines, const char *indent);
void output_json(struct slice value); /* and a line feed */

/* On standard error, "lectern: ..."; a remark not with --quiet. */
void output_complaint(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void output_remark(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the device that the model of a status or of `model` runs on, and why. */
void output_put_device(struct buf *out, const cJSON *model);
/* "path › of › titles", a title once where what stands below is called the same,
 * and "file#anchor" or "file". */
void output_put_title_path(struct buf *out, const cJSON *path);
void output_put_place(struct buf *out, const cJSON *object);

void output_put_count(struct buf *out, int64_t count); /* 1169, 10,234 */
/* The same with what is counted: "1 memory", "10,234 memories". */
void output_put_counted(struct buf *out, int64_t count, const char *one,
                        const char *many);
void output_put_bytes(struct buf *out, double bytes); /* 12.3 MB */

/* The first `lines` lines of `text`, white space folded, wrapped at `columns`
 * and indented; "…" ends them when there is more. */
void output_put_start_of_text(struct buf *out, const char *text, int lines,
                              int columns, const char *indent);

/* "NAME: 1169 files, 10,234 nodes, 2.1 s (0 failed)" of a result of add,
 * update or wait, or of a manual of status; false when it has no such numbers. */
bool output_put_index_summary(struct buf *out, const cJSON *result);

#endif
