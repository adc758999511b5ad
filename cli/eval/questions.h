/* Questions with known answers, one JSON object a line, for `lectern eval`:
 *   "question"      and, each of them left out or null where there is none:
 *   "id"
 *   "section"       the path of titles that ends at the right section, or
 *   "sections"      several of them;
 *   "evidence"      passages, one of which stands in the right section;
 *   "pages"         files (relative to the manual) any place of which is right;
 *   "answer"        a text or several;
 *   "unanswerable"  true: the right answer is none;
 *   "document"      the file that the question is restricted to. */
#ifndef CLI_EVAL_QUESTIONS_H
#define CLI_EVAL_QUESTIONS_H

#include "cli/cli.h"

struct question {
    const char *id; /* "" when the line has none */
    const char *text;
    const char *document;  /* file the question is restricted to, or NULL */
    const cJSON *section;  /* path of titles, or NULL */
    const cJSON *sections; /* several of them, or NULL */
    const cJSON *pages;    /* files, or NULL */
    bool unanswerable;
    struct text_list evidence;
    struct text_list answers;
    cJSON *line; /* owns all of it */
};

struct questions {
    struct question *items;
    size_t count, capacity;
};

/* A file of lines, or of another enum question_format.  ERR_USAGE with the
 * number of the line (of the question, in other formats) on the first bad
 * one. */
int questions_read(const char *path, int format, struct questions *ret,
                   struct err *err);
int questions_parse(struct slice text, const char *path, struct questions *ret,
                    struct err *err);
void questions_free(struct questions *questions);

/* True when the question says where its answer stands. */
bool question_has_place(const struct question *question);

/* Whether `result` (a search result or a citation: "path", "file", and "text"
 * or "quote") is right: its path ends with a right section, it is a reference
 * entry ("entry") directly below one, its file is a right page, or its text
 * holds an evidence passage; case, white space and punctuation folded. */
bool question_is_right(const struct question *question, const cJSON *result);

#endif
