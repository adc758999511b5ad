/* The texts of a section that may be quoted, and what each holds of a question. */
#ifndef MEMORY_ROUTING_PASSAGE_TEXTS_H
#define MEMORY_ROUTING_PASSAGE_TEXTS_H

#include <stdatomic.h>

#include "memory/lexical/lexical.h"
#include "memory/lexical/option_letters.h"
#include "memory/routing/kinds.h"

/* Terms of the query, a bit each. */
typedef uint64_t term_set;

struct passage_text {
    struct slice text;
    uint32_t block; /* index in the node */
    size_t from,
        end; /* in the block: of the line, row or piece that it is of */
    term_set terms;
    term_set head;  /* in the term that is defined by it */
    term_set label; /* in a short line above that ends no sentence */
};

struct passage_texts {
    struct passage_text *items; /* [count], in the node's order */
    size_t count, capacity;
    term_set title; /* the node's */
};

struct passage_reader {
    const struct query *query;
    struct sought_terms sought;    /* its terms */
    struct option_letters letters; /* that it names */
    struct analyzer *maker;
    kind_set kinds;            /* of the blocks that are read; 0: any */
    const atomic_bool *cancel; /* NULL: it never is */
};

/* Windows of some sentences of a line, one that starts at each; pieces of code between
 * blank lines, and rows, whole where they are not long; lines of links only where there is
 * no other text.  Texts stay the node's.  When it is cancelled there are fewer. */
struct passage_texts passage_texts_read(const struct passage_reader *reader,
                                        const struct node *node);
void passage_texts_free(struct passage_texts *texts);

/* Nothing but links that are no sentence, below "See also:" maybe. */
bool passage_is_bare_link(const struct node *node, const struct block *block);

/* Those of the query that the text holds. */
term_set passage_terms(const struct passage_reader *reader, struct slice text);

#endif
