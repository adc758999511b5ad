/* Question files of others, turned into the lines that questions.h reads.
 *
 * SQuAD (1.1, 2.0): {"data":[{"paragraphs":[{"context","qas":[{"id",
 * "question","answers":[{"text"}],"is_impossible"}]}]}]}.  The evidence is the
 * paragraph that the question was asked about.
 *
 * Qasper: {PAPER:{"full_text":…,"qas":[{"question_id","question","answers":
 * [{"answer":{"unanswerable","extractive_spans","yes_no","free_form_answer",
 * "evidence"}}]}]}}.  A question is asked within the file PAPER.html; it is
 * unanswerable when all annotators say so; evidence that is a figure ("FLOAT
 * SELECTED") is left out.
 *
 * In both a "document" beside the questions names another file. */
#ifndef CLI_EVAL_QUESTION_FORMATS_H
#define CLI_EVAL_QUESTION_FORMATS_H

#include "base/buf.h"
#include "base/err.h"

enum question_format {
    FORMAT_AUTO, /* by its shape */
    FORMAT_LINES,
    FORMAT_SQUAD,
    FORMAT_QASPER
};

/* Appends one line a question to *ret_lines; nothing for a file of lines, which
 * needs no turning.  ERR_USAGE: it is not what `format` says, or has no
 * questions. */
int question_lines(struct slice text, const char *path, int format,
                   struct buf *ret_lines, struct err *err);

#endif
