/* Words of a question that the manuals do not have: the nearest that they do.
 *
 * First one with other marks on its letters ("Bezier" for "Bézier"), or without them.
 * One edit (a letter too many, too few, another one, or two exchanged) is tried
 * on the word as it is written, so that its ending is stemmed as that of the
 * right one; two edits are counted between the word, or its stem, and the terms
 * of the index that start with the same letter. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/lexical.h"

enum {
    MIN_COMMON = 3, /* letters of one in which a common word is looked for */
    MIN_ONE = 4,    /* letters of a word in which one edit is looked for */
    MIN_TWO = 8,
    LONGEST = 40,
    MAX_WORDS = 4 /* looked for in one question */
};

#define TRUST_IN_MARKS 0.9 /* that the word with other marks is meant */

#define TRUST_IN_START                                                         \
    0.8 /* that the most common word with this start is meant */

struct candidate {
    char term[TERM_MAX + 1];
    bool same_start;
    size_t size; /* of its postings in all volumes; 0: none found */
};

/* Without the marks on their letters. */
struct unmarked {
    struct buf word, term;
};

struct search {
    struct store_txn *txn;
    const struct view *const *views;
    size_t view_count;
    struct analyzer *maker;
    const struct query_term *asked;
    const struct unmarked *unmarked; /* what is asked */
    size_t edits;
    struct candidate best;
    int code;
    struct err *err;
};

static size_t size_of(struct search *search, struct slice term)
{
    size_t size = 0;
    for (size_t v = 0; v < search->view_count && !search->code; v++) {
        struct slice postings = {"", 0};
        search->code = lexical_postings(search->txn, search->views[v], term,
                                        &postings, search->err);
        size += postings.size;
    }
    return size;
}

static bool stands_somewhere(struct search *search, struct slice term)
{
    struct slice postings = {"", 0};
    for (size_t v = 0;
         v < search->view_count && !search->code && !postings.size; v++)
        search->code = lexical_postings(search->txn, search->views[v], term,
                                        &postings, search->err);
    return postings.size > 0;
}

/* Of equally near ones that which starts alike, then the most common. */
static void consider(struct search *search, struct slice term, size_t size)
{
    struct candidate *best = &search->best;
    size_t first = search->asked->whole;
    bool same_start =
        term.size > first && term.data[first] == search->asked->word[first];
    if (!size || term.size > TERM_MAX ||
        (best->size && (best->same_start != same_start ? best->same_start
                                                       : best->size >= size)))
        return;
    memcpy(best->term, term.data, term.size);
    best->term[term.size] = '\0';
    best->same_start = same_start;
    best->size = size;
}

/* ---- Marks ---- */

static void try_term(void *context, const struct term_at *at)
{
    struct search *search = context;
    consider(search, at->term, size_of(search, at->term));
}

static void try_word(struct search *search, const char *word, size_t size)
{
    if (search->asked->whole)
        consider(search, (struct slice){word, size},
                 size_of(search, (struct slice){word, size}));
    else
        analyze(search->maker, (struct slice){word, size}, try_term, search);
}

static bool has_marks(struct slice word)
{
    return text_ascii_run(word.data, word.size, 0) < word.size;
}

/* Of other scripts a mark makes another letter. */
static bool is_latin(struct slice word)
{
    enum { END = 0x250 };
    for (size_t at = 0, step; at < word.size; at += step)
        if (text_decode(word.data, word.size, at, &step) >= END)
            return false;
    return true;
}

/* Is the term without marks the word, or its stem, without them? */
static bool reads(struct slice term, const struct unmarked *asked)
{
    struct buf plain = {0};
    text_put_unmarked(&plain, term);
    bool same = slice_equal(buf_slice(&plain), buf_slice(&asked->word)) ||
                slice_equal(buf_slice(&plain), buf_slice(&asked->term));
    buf_free(&plain);
    return same;
}

static bool weigh_marked(void *context, struct slice term, size_t size)
{
    struct search *search = context;
    if (has_marks(term) && is_latin(term) && reads(term, search->unmarked))
        consider(search, term, size);
    return true;
}

/* Terms that begin with the first letter, or with a Latin one beyond ASCII. */
static void find_marked(struct search *search)
{
    char starts[] = "?\xC3\xC4\xC5\xC6\xC7\xC8\xC9";
    starts[0] = search->unmarked->word.data[0];
    for (size_t v = 0; v < search->view_count; v++)
        for (size_t i = 0; starts[i] && !search->code; i++) {
            const struct manual *manual = &search->views[v]->manual;
            search->code =
                store_each_term(search->txn, manual->id, manual->epoch,
                                (struct slice){starts + i, 1}, weigh_marked,
                                search, search->err);
        }
}

/* Of a word that has marks, the one without them before one with others. */
static bool find_with_other_marks(struct search *search)
{
    const struct query_term *asked = search->asked;
    struct unmarked unmarked = {0};
    search->best = (struct candidate){.size = 0};
    if (asked->whole)
        return false;
    text_put_unmarked(&unmarked.word, slice_of(asked->word));
    text_put_unmarked(&unmarked.term, slice_of(asked->term));
    search->unmarked = &unmarked;
    if (has_marks(slice_of(asked->word)))
        try_word(search, unmarked.word.data, unmarked.word.size);
    if (!search->best.size)
        find_marked(search);
    search->unmarked = NULL;
    buf_free(&unmarked.word);
    buf_free(&unmarked.term);
    return search->best.size && !search->code;
}

/* ---- One edit ---- */

/* The word with `cut` bytes at `at` replaced by `put`. */
static void try_edit(struct search *search, size_t at, size_t cut,
                     const char *put)
{
    const char *word = search->asked->word;
    size_t size = strlen(word), added = strlen(put);
    char edited[LONGEST + 3];
    memcpy(edited, word, at);
    memcpy(edited + at, put, added);
    memcpy(edited + at + added, word + at + cut, size - at - cut);
    try_word(search, edited, size + added - cut);
}

static void find_one_edit(struct search *search)
{
    const char *word = search->asked->word;
    const char *letters = search->asked->whole
                              ? "abcdefghijklmnopqrstuvwxyz0123456789_-.:"
                              : "abcdefghijklmnopqrstuvwxyz";
    size_t size = strlen(word);
    for (size_t at = search->asked->whole; at <= size; at++) {
        for (const char *l = letters; *l; l++) {
            try_edit(search, at, 0, (char[]){*l, '\0'});
            if (at < size && *l != word[at])
                try_edit(search, at, 1, (char[]){*l, '\0'});
        }
        if (at < size)
            try_edit(search, at, 1, "");
        if (at + 1 < size && word[at] != word[at + 1])
            try_edit(search, at, 2, (char[]){word[at + 1], word[at], '\0'});
    }
}

/* ---- Two edits ---- */

/* Least number of edits, two letters exchanged being one; `most` + 1 when
 * there are more. */
static size_t edits_between(struct slice a, struct slice b, size_t max)
{
    size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1],
                                 *now = rows[2];
    if (a.size > b.size + max || b.size > a.size + max || b.size > LONGEST)
        return max + 1;
    for (size_t j = 0; j <= b.size; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t min = now[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t same = a.data[i - 1] == b.data[j - 1] ? 0 : 1;
            size_t edits = last[j - 1] + same;
            if (last[j] + 1 < edits)
                edits = last[j] + 1;
            if (now[j - 1] + 1 < edits)
                edits = now[j - 1] + 1;
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
                a.data[i - 2] == b.data[j - 1] && before[j - 2] + 1 < edits)
                edits = before[j - 2] + 1;
            now[j] = edits;
            if (edits < min)
                min = edits;
        }
        if (min > max)
            return max + 1;
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b.size];
}

static bool weigh_near(void *context, struct slice term, size_t size)
{
    struct search *search = context;
    if (edits_between(slice_of(search->asked->word), term, 2) <= 2 ||
        edits_between(slice_of(search->asked->term), term, 2) <= 2)
        consider(search, term, size);
    return true;
}

static void find_two_edits(struct search *search)
{
    struct slice start = {search->asked->word, search->asked->whole ? 2 : 1};
    for (size_t v = 0; v < search->view_count && !search->code; v++) {
        const struct manual *manual = &search->views[v]->manual;
        search->code = store_each_term(search->txn, manual->id, manual->epoch,
                                       start, weigh_near, search, search->err);
    }
}

/* ---- Common words ---- */

static bool is_common(struct slice word)
{
    return word_is_stop_word(word) || word_frequency(word);
}

/* The common word that two neighbouring letters exchanged make of it, in `edited`;
 * false: none. */
static bool exchange_to_common(const char *word, char edited[LONGEST + 1])
{
    size_t size = strlen(word);
    for (size_t at = 0; at + 1 < size; at++) {
        memcpy(edited, word, size + 1);
        edited[at] = word[at + 1];
        edited[at + 1] = word[at];
        if (is_common((struct slice){edited, size}))
            return true;
    }
    return false;
}

struct stem {
    char *term;
};

static void take_stem(void *context, const struct term_at *at)
{
    struct stem *stem = context;
    if (!stem->term)
        stem->term = mem_strndup(at->term.data, at->term.size);
}

/* One that says nothing counts nothing, and is not missed; the others count as
 * common words do. */
static void become_common(struct search *search, struct query_term *term,
                          const char *word)
{
    struct stem stem = {NULL};
    term->written = mem_strdup(term->word);
    if (word_is_stop_word(slice_of(word))) {
        term->share = 0;
        return;
    }
    analyze(search->maker, slice_of(word), take_stem, &stem);
    free(term->term);
    term->term = stem.term ? stem.term : mem_strdup(word);
    term->frequency = word_frequency(slice_of(word));
}

/* ---- Missing words ---- */

static size_t letters_of(const struct query_term *term)
{
    size_t letters = 0;
    for (const char *c = term->word; *c; c++) {
        letters += (*c >= 'a' && *c <= 'z') || (unsigned char)*c >= 0xC0;
        if (*c >= '0' && *c <= '9' && !term->whole)
            return 0;
    }
    struct slice word = slice_of(term->word);
    return word.size <= LONGEST && is_latin(word) ? letters : 0;
}

/* The longer the word, the surer: a short one may well be another word. */
static double trust_in(size_t letters, size_t edits)
{
    double trust = letters < 9 ? ((double)letters - 1) / 10 : 0.8;
    return edits == 1 ? trust : trust / 2;
}

static bool find_nearest(struct search *search, size_t letters)
{
    search->best = (struct candidate){.size = 0};
    search->edits = 1;
    find_one_edit(search);
    if (!search->best.size && letters >= MIN_TWO) {
        search->edits = 2;
        find_two_edits(search);
    }
    return search->best.size && !search->code;
}

static bool is_missing(struct search *search, const struct query_term *term)
{
    return letters_of(term) >= MIN_COMMON && !term->frequency &&
           !stands_somewhere(search, slice_of(term->term)) && !search->code;
}

/* But not what the question has already. */
static void become_best(struct query *query, const struct search *search,
                        struct query_term *term, double trust)
{
    if (query_find(query, slice_of(search->best.term)) >= 0)
        return;
    free(term->term);
    term->term = mem_strdup(search->best.term);
    term->written = mem_strdup(term->word);
    term->trust = trust;
}

static void correct(struct query *query, struct search *search,
                    struct query_term *term)
{
    size_t letters = letters_of(term);
    char common[LONGEST + 1];
    search->asked = term;
    if (!term->whole && exchange_to_common(term->word, common)) {
        become_common(search, term, common);
        return;
    }
    if (letters < MIN_ONE)
        return;
    if (find_with_other_marks(search))
        become_best(query, search, term, TRUST_IN_MARKS);
    else if (!has_marks(slice_of(term->word)) && find_nearest(search, letters))
        become_best(query, search, term, trust_in(letters, search->edits));
}

/* ---- A question that is being typed ---- */

static bool consider_any(void *context, struct slice term, size_t size)
{
    consider(context, term, size);
    return true;
}

static void find_longer(struct search *search)
{
    search->best = (struct candidate){.size = 0};
    for (size_t v = 0; v < search->view_count && !search->code; v++) {
        const struct manual *manual = &search->views[v]->manual;
        search->code = store_each_term(search->txn, manual->id, manual->epoch,
                                       slice_of(search->asked->word),
                                       consider_any, search, search->err);
    }
}

/* Whether the text ends with the term's word, in either letter case. */
static bool is_last(const char *text, const struct query_term *term)
{
    const char *word = term->word + (term->whole ? 1 : 0);
    size_t size = strlen(text), end = strlen(word);
    return size >= end && !strcasecmp(text + size - end, word);
}

int query_complete(struct query *query, const char *typed,
                   struct store_txn *txn, const struct view *const *views,
                   size_t count, struct err *err)
{
    struct search search = {
        .txn = txn, .views = views, .view_count = count, .err = err};
    for (size_t t = 0; t < query->count; t++) {
        struct query_term *term = &query->terms[t];
        if (!is_last(typed, term) || !is_missing(&search, term))
            continue;
        search.asked = term;
        find_longer(&search);
        if (search.best.size && !search.code)
            become_best(query, &search, term, TRUST_IN_START);
    }
    return search.code;
}

/* ---- The question ---- */

int query_correct(struct query *query, struct store_txn *txn,
                  const struct view *const *views, size_t count,
                  struct err *err)
{
    struct search search = {.txn = txn,
                            .views = views,
                            .view_count = count,
                            .maker = analyzer_new(),
                            .err = err};
    size_t missing = 0;
    for (size_t t = 0; t < query->count && missing < MAX_WORDS; t++) {
        struct query_term *term = &query->terms[t];
        if (!term->own && !query_is_of_own(query, term) &&
            is_missing(&search, term)) {
            correct(query, &search, term);
            missing++;
        }
    }
    analyzer_free(search.maker);
    return search.code;
}
