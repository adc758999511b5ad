/* The lexical index: which nodes hold which terms.
 *
 * Writing: a delta gathers what nodes lose and gain, then is applied to the
 * postings of an epoch.  Reading: a question's terms, and for the nodes of a
 * view how often each occurs in title, path (titles above), body, among the
 * terms it defines and in the names that the manual's index gives it (aliases);
 * scored by BM25 with fields (Robertson, Zaragoza, Taylor 2004). */
#ifndef MEMORY_LEXICAL_LEXICAL_H
#define MEMORY_LEXICAL_LEXICAL_H

#include "base/bitset.h"
#include "memory/snapshot/library.h"
#include "memory/store/store.h"
#include "memory/lexical/analyze.h"
#include "tree/tree.h"

/* Raised whenever the same text gives other terms or postings: a manual whose
 * postings were made by another version gets new ones. */
enum { LEXICAL_VERSION = 7 };

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

/* Adds the node of an outline to the delta, given its content without the blocks
 * that are dropped: under its text, title and names; where it has no text, under
 * the others alone.  Not the root, which is called as the manual is.  Returns the
 * words of its text, at least 1 where there is any. */
uint32_t lexical_add_node(struct lexical_delta *delta,
                          const struct tree *outline, uint32_t n,
                          const struct node *kept);
void lexical_remove_node(struct lexical_delta *delta,
                         const struct tree *outline, uint32_t n,
                         const struct node *kept);

/* A name that an entry of the manual's index gives the node.  Directly after
 * the node's `add` or `remove`; a node whose names change is removed and added
 * with all of them. */
void lexical_add_alias(struct lexical_delta *delta, uint64_t id,
                       struct slice text);
void lexical_remove_alias(struct lexical_delta *delta, uint64_t id,
                          struct slice text);

/* Writes the delta into the postings of (manual, epoch) and empties it. */
int lexical_apply(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                  struct lexical_delta *delta, struct err *err);

/* ---- Comparing what is written with what should be ---- */

/* A posting as it is kept: drawn at the top of postings.c. */
typedef void lexical_take(void *context, struct slice term, uint64_t id,
                          uint64_t packed);
/* Calls `take` for the postings that the delta would add, node by node, after the
 * node's last `add`. */
void lexical_each(const struct lexical_delta *delta, lexical_take *take,
                  void *context);
void lexical_forget(struct lexical_delta *delta); /* empties it */
/* Calls `take` for the postings of a term in the store; false: they are damaged. */
bool lexical_read(struct slice term, struct slice postings, lexical_take *take,
                  void *context);

/* ---- Reading ---- */

/* Of the question itself, and with what may stand in their place. */
enum { QUERY_MAX_ASKED = 32, QUERY_MAX_TERMS = 64 };

struct query_term {
    char *term;
    char *word;      /* in lower case, not stemmed */
    char *written;   /* NULL; when no node holds what the question has: that,
                        and `term` is the nearest one that is held */
    double trust;    /* 0..1: that `term` is meant; 1: as it is written */
    double share;    /* 0..1: 1: of the question; less: of one before it */
    bool whole;      /* an identifier, or a name in one */
    bool formed;     /* a whole of whose form one of the first is called:
                        name_is_of_form */
    bool own;        /* such a whole: own_values.h */
    bool capitals;   /* written in capitals */
    bool manual;     /* names one of the manuals asked, and only that */
    uint32_t within; /* a bit for each whole of the query it is a part of */
    uint32_t
        instead_of; /* a bit for each term of the question that it may stand
                            for; 0: it is of the question itself */
    bool verb;      /* for two of its words, as "back up", that are one here */
    unsigned frequency; /* word_frequency; 0: it counts in full */
    uint8_t parts;      /* a bit for each part of the question that has it */
    uint8_t sides;      /* and for each side of what it compares */
    double most; /* idf is not more, if that is not 0: of what names a manual */
    /* From query_weigh. */
    uint32_t nodes; /* that own content and hold it */
    double idf; /* ln(1 + (N - n + .5) / (n + .5)), over all asked; at `most` */
    double weight;  /* what it counts */
    double missing; /* information that a node which holds it still lacks */
};

struct query {
    struct query_term terms[QUERY_MAX_TERMS];
    size_t count;
    size_t parts;                             /* of the question: parts.h */
    const struct question_language *language; /* NULL: English */
};

/* Words without weight are left out, unless there is nothing else. */
void query_parse(const char *text, struct query *ret_query);

/* Adds the terms that a question before had and this one has not; they count
 * `share` of what they would in this one. */
void query_carry(struct query *query, const char *before, double share);

void query_free(struct query *query);

/* Is the word of a value of the asker's own that says little of it? */
bool query_is_of_own(const struct query *query, const struct query_term *term);

/* A bit for each term that the question itself says: no part of an identifier, no manual's
 * name. */
uint64_t query_own_terms(const struct query *query);

/* Index of a term in the query, -1: not in it. */
int query_find(const struct query *query, struct slice term);

/* All of its terms, for analyze_sought. */
struct sought_terms query_sought(const struct query *query);

/* What a term tells that `nodes` of `owners` nodes hold, BM25's idf. */
double idf_of(double owners, double nodes);

/* idf and weights, from the terms' `nodes`, of `owners` nodes with content of
 * `mean_words` words.  A part counts less where the whole is known, or is a value of
 * the asker's own; a common word less where the manuals have it more rarely than
 * English has: a question may hold it whatever it is about. */
void query_weigh(struct query *query, double owners, double mean_words);

/* Of a question that is still being typed: the word that it ends with becomes, where no
 * node of these volumes holds it, the most common one that begins so (3 letters or
 * more). */
int query_complete(struct query *query, const char *typed,
                   struct store_txn *txn, const struct view *const *views,
                   size_t count, struct err *err);

/* The language that a manual is in, by the words that texts in each language are full of;
 * NULL: English, or nothing tells. */
int manual_language(struct store_txn *txn, const struct view *view,
                    const struct question_language **ret, struct err *err);

/* Terms that no node of these volumes holds, but no values of the asker's own, become
 * the nearest that one does:
 * one edit away (4 letters or more) or two (8 or more; with the same first
 * letter). */
int query_correct(struct query *query, struct store_txn *txn,
                  const struct view *const *views, size_t count,
                  struct err *err);

/* Adds what may stand in a manual in the place of the question's words: what two of
 * them are as one word ("time zone": timezone), and synonyms; only what some node of
 * these volumes holds.  After query_correct. */
int query_alternatives(struct query *query, const char *text,
                       struct store_txn *txn, const struct view *const *views,
                       size_t count, struct err *err);

struct match {
    uint16_t body;
    uint8_t title, defined, alias; /* at most 3 */
    uint8_t path;                  /* 1: in a title above */
};

/* Does the node itself hold the term?  What only `defined` tells is in the name
 * of a reference entry. */
static inline bool match_holds(const struct match *match)
{
    return match->body || match->title || match->defined || match->alias;
}

/* A term that a node itself holds. */
struct found_term {
    uint8_t term;       /* of the query */
    struct match match; /* without `path` */
};

/* A node that holds a term or stands below a title that does, the manual's own
 * name aside. */
struct found_node {
    uint32_t node;
    uint32_t end;   /* of its items, which begin where those before it end */
    uint64_t above; /* a bit for each term in a title above */
};

/* What of a view is found, and no more: a question reads little of a large manual.
 * A place is an index of `nodes`. */
struct matches {
    struct found_node *nodes; /* [count] ascending */
    uint32_t count;
    struct found_term *items; /* by node, then by term */
    size_t terms;
    uint32_t owners[QUERY_MAX_TERMS]; /* nodes with text that hold the term */
    uint64_t *found;                  /* the nodes: base/bitset.h */
    uint32_t *before; /* how many are found before each 64 nodes */
};

static inline bool matches_has(const struct matches *matches, uint32_t node)
{
    return bitset_has(matches->found, node);
}

/* The place of the first that is `node`, at most outline->count, or later; `count`:
 * there is none. */
static inline uint32_t matches_from(const struct matches *matches,
                                    uint32_t node)
{
    uint64_t earlier =
        matches->found[node / 64] & (((uint64_t)1 << node % 64) - 1);
    return matches->before[node / 64] + (uint32_t)__builtin_popcountll(earlier);
}

/* The first of a place's items. */
static inline uint32_t matches_first(const struct matches *matches,
                                     uint32_t place)
{
    return place ? matches->nodes[place - 1].end : 0;
}

/* A bit for each term that the title of a place's node holds. */
uint64_t matches_titles(const struct matches *matches, uint32_t place);

/* The postings of a term in a view, as store_get_postings. */
int lexical_postings(struct store_txn *txn, const struct view *view,
                     struct slice term, struct slice *ret_postings,
                     struct err *err);

/* To be freed with matches_free. */
int lexical_match(struct store_txn *txn, const struct view *view,
                  const struct query *query, struct matches *ret_matches,
                  struct err *err);
void matches_free(struct matches *matches);

/* A node's matches, one for each term of the query. */
struct match_row {
    struct match of[QUERY_MAX_TERMS];
};
struct match_row matches_row(const struct matches *matches, uint32_t node);

/* BM25 of the node of a place, and of one from a row of matches.  Of a term and what
 * may stand in its place what scores most counts. */
double lexical_score_found(const struct query *query, const struct view *view,
                           const struct matches *matches, uint32_t place);
double lexical_score(const struct query *query, const struct view *view,
                     uint32_t node, const struct match *row);

/* Returns the score that no node exceeds which holds so much information. */
double lexical_bound(double information);

/* What a term adds at most: [0] wherever it stands, [n] in n places of the text alone, the
 * last in as many or more. */
enum { LEXICAL_BOUNDS = 7 };
struct lexical_bounds {
    double of[QUERY_MAX_TERMS][LEXICAL_BOUNDS + 1];
};
void lexical_bounds(const struct query *query, struct lexical_bounds *ret);
/* The score that the node of a place does not exceed. */
double lexical_bound_found(const struct lexical_bounds *bounds,
                           const struct matches *matches, uint32_t place);

#endif
