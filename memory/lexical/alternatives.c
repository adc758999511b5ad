/* What may stand in a manual in the place of a question's words: synonyms, and two
 * words that are written as one ("upper case": uppercase). */
#include <stdlib.h>
#include <string.h>

#include "memory/lexical/common_words.h"
#include "memory/lexical/lexical.h"
#include "memory/lexical/synonyms.h"

enum { MAX_COMPOUND = 40, MIN_COMPOUND = 5 };

struct adding {
    struct query *query;
    struct store_txn *txn;
    const struct view *const *views; /* [view_count] */
    size_t view_count;
    size_t asked; /* terms of the question */
    uint32_t instead_of;
    bool verb; /* the term is two words as one: a verb and its particle */
    struct analyzer *maker;
    char before[MAX_COMPOUND]; /* the word before; "": none */
    int before_term;           /* its index in the query, -1: none */
    int code;
    struct err *err;
};

static bool is_indexed(struct adding *adding, struct slice term)
{
    bool found = false;
    for (size_t v = 0; v < adding->view_count && !found && !adding->code; v++) {
        struct slice postings = {"", 0};
        adding->code = lexical_postings(adding->txn, adding->views[v], term,
                                        &postings, adding->err);
        found = postings.size > 0;
    }
    return found;
}

/* Twice asked for, a term stands for both. */
static void add_alternative(void *context, struct slice stem)
{
    struct adding *adding = context;
    struct query *query = adding->query;
    int index = query_find(query, stem);
    if (index >= 0 && query->terms[index].instead_of)
        query->terms[index].instead_of |= adding->instead_of;
    if (index >= 0 || query->count == QUERY_MAX_TERMS ||
        !is_indexed(adding, stem))
        return;
    query->terms[query->count++] =
        (struct query_term){.term = mem_strndup(stem.data, stem.size),
                            .word = mem_strndup(stem.data, stem.size),
                            .trust = 1,
                            .share = 1,
                            .instead_of = adding->instead_of,
                            .verb = adding->verb};
}

static void take_word(void *context, const struct term_at *at)
{
    if (!at->whole)
        add_alternative(context, at->term);
}

static void add_word(void *context, struct slice word)
{
    struct adding *adding = context;
    analyze(adding->maker, word, take_word, adding);
}

static void add_synonyms(struct adding *adding)
{
    for (size_t t = 0; t < adding->asked && !adding->code; t++) {
        const struct query_term *term = &adding->query->terms[t];
        if (term->whole || term->capitals || term->frequency || term->share < 1)
            continue;
        adding->instead_of = (uint32_t)1 << t;
        synonyms_of(slice_of(term->written ? term->term : term->word), add_word,
                    adding);
    }
}

/* "login", "setup"; but "italive" of "keep it alive" would be "italic". */
static bool may_join(const char *first, struct slice second)
{
    static const char *const particles[] = {"in", "out", "up", "off", "on"};
    bool joins = !word_is_stop_word(second);
    for (size_t i = 0; i < sizeof particles / sizeof *particles; i++)
        joins |= slice_is(second, particles[i]);
    return joins && first[0] && !word_is_stop_word(slice_of(first));
}

static void join_words(void *context, const struct term_at *at)
{
    struct adding *adding = context;
    char joined[2 * MAX_COMPOUND];
    if (at->whole)
        return;
    int term = query_find(adding->query, at->term);
    if (term >= (int)adding->asked) /* of a very long question */
        term = -1;
    size_t before = strlen(adding->before), size = before + at->word.size;
    uint32_t bits =
        (term >= 0 ? (uint32_t)1 << term : 0) |
        (adding->before_term >= 0 ? (uint32_t)1 << adding->before_term : 0);
    if (may_join(adding->before, at->word) && bits && size >= MIN_COMPOUND &&
        size < MAX_COMPOUND) {
        memcpy(joined, adding->before, before);
        memcpy(joined + before, at->word.data, at->word.size);
        adding->instead_of = bits;
        adding->verb = word_is_stop_word(at->word);
        add_word(adding, (struct slice){joined, size});
        adding->verb = false;
    }
    adding->before[0] = '\0';
    if (at->word.size < MAX_COMPOUND) {
        memcpy(adding->before, at->word.data, at->word.size);
        adding->before[at->word.size] = '\0';
    }
    adding->before_term = term;
}

int query_alternatives(struct query *query, const char *text,
                       struct store_txn *txn, const struct view *const *views,
                       size_t count, struct err *err)
{
    struct adding adding = {.query = query,
                            .txn = txn,
                            .views = views,
                            .view_count = count,
                            .asked = query->count,
                            .maker = analyzer_new(),
                            .before_term = -1,
                            .err = err};
    struct analyzer *maker = analyzer_new();
    analyze(maker, slice_of(text), join_words, &adding);
    add_synonyms(&adding);
    analyzer_free(maker);
    analyzer_free(adding.maker);
    return adding.code;
}
