/* The lexical index: which nodes hold which terms.
 *
 * Writing: a delta gathers what nodes lose and gain, then is applied to the
 * postings of an epoch.  Reading: a question's terms, and for the nodes of a
 * volume how often each occurs in title, path (titles above), body and among the terms
 * it defines; scored
 * by BM25 with fields (Robertson, Zaragoza, Taylor 2004). */
#ifndef MEMORY_LEXICAL_H
#define MEMORY_LEXICAL_H

#include "memory/library.h"
#include "memory/store.h"
#include "memory/terms.h"
#include "tree/tree.h"

/* Raised whenever the same text gives other terms or postings: a manual whose
 * postings were made by another version gets new ones. */
enum { LEXICAL_VERSION = 2 };

/* ---- Writing ---- */

struct lexical_delta;
struct lexical_delta *lexical_delta_new(void);
void lexical_delta_free(struct lexical_delta *delta);
size_t lexical_delta_size(const struct lexical_delta *delta); /* terms and
                                                        postings */

/* A node with this title and content gains or loses the id.  `add` returns the
 * words of its content. */
uint32_t lexical_add(struct lexical_delta *delta, uint64_t id,
                     const struct node *content);
void lexical_remove(struct lexical_delta *delta, uint64_t id,
                    const struct node *content);

/* Writes the delta into the postings of (manual, epoch) and empties it. */
int lexical_apply(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                  struct lexical_delta *delta, struct err *err);

/* ---- Reading ---- */

enum { QUERY_MOST_TERMS = 32 };

struct query_term {
    char *term;
    bool whole;    /* an identifier as a whole */
    double weight; /* a word of an identifier that is also there whole: less */
    double idf;    /* ln(1 + (N - n + .5) / (n + .5)), over all volumes asked */
    uint32_t nodes; /* that own content and hold it */
};

struct query {
    struct query_term terms[QUERY_MOST_TERMS];
    size_t count;
};

/* Words without weight are left out, unless there is nothing else. */
void query_parse(const char *text, struct query *ret_query);
void query_free(struct query *query);

/* Index of a term in the query, -1: not in it. */
int query_find(const struct query *query, struct slice term);

struct match {
    uint16_t body;
    uint8_t title, defined; /* at most 3 */
    uint8_t path;           /* 1: in a title above */
};

/* matches: [outline->count, query->count], freed by the caller. */
int lexical_match(struct store_txn *txn, const struct volume *volume,
                  const struct query *query, struct match **ret_matches,
                  struct err *err);

/* BM25 of one node from its row of matches. */
double lexical_score(const struct query *query, const struct volume *volume,
                     uint32_t node, const struct match *row);

#endif
