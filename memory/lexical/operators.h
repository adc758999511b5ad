/* What a query asks for besides its words:
 *
 *   "two words"   a phrase, which a result must hold as it stands;
 *   -word         what no result may hold, by its stem;
 *   -"a phrase"   the same, as it stands.
 *
 * Quotes and dashes also stand in what people paste, so:
 * a quoted word alone is a phrase only where nothing else is asked for
 * (`relation "users" does not exist` asks for words); quotes begin and end where
 * words do, within 2,000 bytes; and a question, as opposed to keywords, may quote what
 * no section that answers it holds (`loose`).  A dash excludes before three letters or
 * more of one word, among other words, in keywords, and where no manual has an option of that
 * name: "-C", "grep -v", "find -exec" and "--all" ask for options. */
#ifndef MEMORY_LEXICAL_OPERATORS_H
#define MEMORY_LEXICAL_OPERATORS_H

#include <stdbool.h>

#include "base/buf.h"

enum {
    OPERATORS_MAX = 8,       /* those beyond are words */
    OPERATORS_MAX_ASKED = 64 /* dashed words that may be options: likewise */
};

struct query_operator {
    char *text;   /* without quotes and dash */
    bool exclude; /* no result may hold it; else each must */
    bool exact;   /* as it stands; else by its stem */
};

struct query_operators {
    char *words; /* the query without them: what to search by */
    struct query_operator items[OPERATORS_MAX];
    size_t count;
    bool question; /* words of sentences are in it */
    bool joined; /* these, three that join words ("in", "the", "for"), or a word
                      with a colon, as a message begins ("error:") */
    bool loose;  /* set by the caller: phrases are looked for, not demanded */
};

/* Have the manuals asked the option: "=-exec" as it is indexed, "-exec" as it is
 * written? */
typedef bool operators_known(void *context, struct slice term,
                             struct slice written);

/* Free with operators_free. */
void operators_read(const char *query, operators_known *known, void *context,
                    struct query_operators *ret);
void operators_free(struct query_operators *operators);

/* Appends the text as phrases are compared: in lower case, white space as one
 * space, one kind of dash and of quotes, nothing invisible. */
void phrase_fold(struct buf *out, struct slice text);

/* Does the folded text hold the folded phrase, from the start of a word to the end
 * of one? */
bool phrase_is_in(struct slice phrase, struct slice text);

#endif
