/* Text to index terms.
 *
 * A word becomes its stem (English Snowball), in lower case.  What stands
 * between white space, brackets, quotes, "," ";" "=" "|" "&" and is joined by
 * signs (pg_stat_activity, foo.bar(), --no-verify, std::vector, SQLITE_BUSY) is
 * an identifier: it becomes one more term, whole, in lower case after a "=",
 * besides the words it is made of; so do the names it is put together from
 * (pg_class in pg_catalog.pg_class; both of --[no-]verify), and the humps of
 * findOrphans.  A short run
 * of signs alone (::, ->, ||) is a term as well, as one between words that is an
 * operator (p->next, 2>&1).  Chinese, Japanese and Korean
 * text becomes pairs of neighbouring characters.  Terms are at most TERM_MAX
 * bytes; longer ones are cut. */
#ifndef MEMORY_LEXICAL_ANALYZE_H
#define MEMORY_LEXICAL_ANALYZE_H

#include <stdbool.h>

#include "base/buf.h"
#include "memory/lexical/sought.h"

enum { TERM_MAX = 120 };

struct analyzer; /* one per thread */
struct analyzer *analyzer_new(void);
void analyzer_free(struct analyzer *maker);

struct term_at {
    struct slice term; /* valid during the call */
    struct slice word; /* as written, in lower case; a whole: the same */
    bool capitals;     /* written in capitals, two or more */
    bool whole;        /* an identifier, or a name in one */
    bool part;         /* of an identifier: a word or a name in it */
    bool signs;        /* an operator between words: a whole, and a part */
};

/* Calls `each` for every term of the text, in order.  Returns the number of
 * words (identifiers as wholes not counted). */
size_t analyze(struct analyzer *maker, struct slice text,
               void (*each)(void *context, const struct term_at *at),
               void *context);

/* As `analyze`, but calls `each` only for terms that may be sought: for all that
 * were added, and some others. */
void analyze_sought(struct analyzer *maker, const struct sought_terms *sought,
                    struct slice text,
                    void (*each)(void *context, const struct term_at *at),
                    void *context);

#endif
