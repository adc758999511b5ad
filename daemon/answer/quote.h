/* Quotes: a passage found again in its file, word by word. */
#ifndef DAEMON_ANSWER_QUOTE_H
#define DAEMON_ANSWER_QUOTE_H

#include "indexer/parser.h"
#include "memory/routing/passage.h"

struct quote {
    struct buf text;  /* with its white space folded */
    struct span span; /* of the file */
    bool whole;       /* false: only a part of the passage was found */
    struct buf made; /* of LaTeX: pairs of size_t, bytes of the text that macros
                         made; all other words are typed at the span, in order */
};

/* A manual that was unpacked without its files: they cannot be looked into, and
 * nobody here can tell whether they have changed. */
static inline bool quote_is_away(const struct view *view)
{
    return !view->manual.root[0];
}

/* Looks in the file, as it is now, for the passage, or else for the longest
 * of its lines or sentences that is there.  ERR_NOT_FOUND, ERR_STALE or ERR_IO: nothing
 * of it can be shown to stand there.  Where the files are away the quote is the
 * passage as the store has it. */
int quote_check(struct parser *parser, const struct passage *passage,
                struct quote *ret_quote, struct err *err);
void quote_free(struct quote *quote);

/* Finds `wanted` (folded; its line ends may be no white space at all) in `text`,
 * as a span of what the text was made from; places: [text.size], as from
 * parser_text. */
bool quote_find(struct slice text, const struct text_place *places,
                struct slice wanted, struct span *ret_span);

/* End of the sentence, cell or line that starts at `from`. */
size_t quote_part_end(struct slice text, size_t from);

/* False: the file is not the one that was indexed, or is away. */
bool quote_is_fresh(const struct view *view, uint32_t file);

#endif
