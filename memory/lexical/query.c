#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/comparison.h"
#include "memory/lexical/lexical.h"
#include "memory/lexical/own_values.h"
#include "memory/lexical/parts.h"
#include "memory/lexical/question_language.h"
#include "memory/lexical/script.h"

/* What a part of an identifier counts that is known as a whole, or of a value of the
 * asker's own. */
static const double PART_OF_WHOLE = 0.3;
/* A common word counts in full where it is in TIMES as many nodes as English
 * would have it in, else the less, but not less than LEAST.  Set on questions
 * about manuals held out of everything else (docs/log/retrieval.md). */
static const double TIMES = 5, MIN = 0.02;

/* What a synonym is worth, and two words written as one, of what the question's own
 * are; chosen on people's questions (docs/log/people.md). */
static const double SYNONYM = 0.5, COMPOUND = 0.9;

struct parse {
    struct query *query;
    const struct question_language *language; /* NULL: English */
    bool stop_words;                          /* take them too */
    bool sentence;   /* it is one, not a phrase or keywords */
    bool difference; /* the last word was that */
    uint32_t within; /* wholes of the identifier that is being read */
    uint8_t part;    /* a bit for the part of the question that is being read */
    double share;    /* of the terms that it adds */
};

static bool is_excluded(const struct parse *parse, const struct term_at *at)
{
    return !parse->stop_words && !at->whole && !at->part && !at->capitals &&
           question_language_passes_over(parse->language, at->word);
}

static unsigned frequency_of(const struct term_at *at)
{
    return at->whole || at->part || at->capitals ? 0 : word_frequency(at->word);
}

/* "Difference between a pump and a tank" asks, if shortly. */
static void note_difference(struct parse *parse, struct slice word)
{
    parse->sentence |= parse->difference && slice_is(word, "between");
    parse->difference = slice_is(word, "difference");
}

static void take_term(void *context, const struct term_at *at)
{
    struct parse *parse = context;
    struct query *query = parse->query;
    note_difference(parse, at->word);
    if (at->whole && !at->part)
        parse->within = 0;
    if (is_excluded(parse, at)) {
        parse->sentence |= !word_is_of_phrases(at->word);
        return;
    }
    int index = query_find(query, at->term);
    if (index < 0 && query->count < QUERY_MAX_ASKED) {
        index = (int)query->count++;
        query->terms[index] = (struct query_term){
            .term = mem_strndup(at->term.data, at->term.size),
            .word = mem_strndup(at->word.data, at->word.size),
            .trust = 1,
            .share = parse->share,
            .whole = at->whole,
            .capitals = at->capitals,
            .within = at->part && !at->signs ? parse->within : 0,
            .frequency = frequency_of(at),
            .weight = at->part ? PART_OF_WHOLE : 1};
        struct query_term *term = &query->terms[index];
        term->own = term->whole && is_own_value(term->word + 1);
    }
    if (index >= 0)
        query->terms[index].parts |= parse->part;
    if (index >= 0 && !at->part) /* it stands by itself, too */
        query->terms[index].within = 0;
    if (at->whole && index >= 0)
        parse->within |= (uint32_t)1 << index;
}

/* One side of a comparison. */
struct side {
    struct query *query;
    uint8_t bit;
};

static void note_side(void *context, const struct term_at *at)
{
    struct side *side = context;
    int t = query_find(side->query, at->term);
    if (t >= 0)
        side->query->terms[t].sides |= side->bit;
}

static void note_sides(struct query *query, struct analyzer *maker,
                       const char *text)
{
    struct slice sides[COMPARISON_MAX_SIDES];
    size_t count = comparison_sides(slice_of(text), sides);
    for (size_t i = 0; i < count; i++) {
        struct side side = {query, (uint8_t)(1 << i)};
        analyze(maker, sides[i], note_side, &side);
    }
}

void query_parse(const char *text, struct query *ret_query)
{
    struct analyzer *maker = analyzer_new();
    struct parse parse = {.query = ret_query,
                          .language = question_language(maker, slice_of(text)),
                          .share = 1};
    struct slice parts[QUESTION_MAX_PARTS];
    size_t count = question_parts(slice_of(text), parts);
    ret_query->count = 0;
    ret_query->parts = count;
    ret_query->language = parse.language;
    for (size_t p = 0; p < count; p++) {
        parse.part = (uint8_t)(1 << p);
        analyze(maker, parts[p], take_term, &parse);
    }
    /* A phrase means each of its words. */
    for (size_t t = 0; t < ret_query->count && !parse.sentence; t++)
        ret_query->terms[t].frequency = 0;
    parse.stop_words = true;
    if (!ret_query->count)
        analyze(maker, slice_of(text), take_term, &parse);
    note_sides(ret_query, maker, text);
    analyzer_free(maker);
}

void query_carry(struct query *query, const char *before, double share)
{
    struct analyzer *maker = analyzer_new();
    struct parse parse = {.query = query,
                          .language =
                              question_language(maker, slice_of(before)),
                          .share = share};
    analyze(maker, slice_of(before), take_term, &parse);
    analyzer_free(maker);
}

void query_free(struct query *query)
{
    for (size_t i = 0; i < query->count; i++) {
        free(query->terms[i].term);
        free(query->terms[i].word);
        free(query->terms[i].written);
    }
    query->count = 0;
}

int query_find(const struct query *query, struct slice term)
{
    for (size_t i = 0; i < query->count; i++)
        if (slice_is(term, query->terms[i].term))
            return (int)i;
    return -1;
}

uint64_t query_own_terms(const struct query *query)
{
    uint64_t own = 0;
    for (size_t t = 0; t < query->count; t++) {
        const struct query_term *term = &query->terms[t];
        if (!term->instead_of && !term->manual && !term->within &&
            term->share >= 1)
            own |= (uint64_t)1 << t;
    }
    return own;
}

struct sought_terms query_sought(const struct query *query)
{
    struct sought_terms sought = {0};
    for (size_t i = 0; i < query->count; i++)
        sought_add(&sought, slice_of(query->terms[i].term));
    return sought;
}

/* Is it a part of term number `t`?  What stands in for others is no whole. */
static bool is_within(const struct query_term *term, size_t t)
{
    return t < QUERY_MAX_ASKED && term->within >> t & 1;
}

bool query_is_of_own(const struct query *query, const struct query_term *term)
{
    for (size_t t = 0; t < query->count; t++) {
        const struct query_term *whole = &query->terms[t];
        if (is_within(term, t) && whole->own &&
            !own_value_tells(whole->word + 1, term->word))
            return true;
    }
    return false;
}

static bool whole_is_known(const struct query *query,
                           const struct query_term *term)
{
    for (size_t t = 0; t < query->count; t++)
        if (is_within(term, t) && query->terms[t].nodes)
            return true;
    return false;
}

/* Is it told by the whole that it is of, or by nothing that a manual knows? */
static bool says_little(const struct query *query,
                        const struct query_term *term)
{
    return whole_is_known(query, term) || query_is_of_own(query, term) ||
           (term->own && is_example_value(term->word + 1));
}

/* Bytes of the first character of Chinese, Japanese or Korean; 0: it is none. */
static size_t first_size(const char *term)
{
    size_t size = 0;
    if ((unsigned char)term[0] >= CJK_MIN_BYTE)
        text_decode(term, strlen(term), 0, &size);
    return size;
}

/* Of a pair of characters that stands nowhere: is the end of a word before it and the
 * beginning of one behind it ("片加" of 图片 and 加边)?  Then nobody has written it. */
static bool is_between_words(const struct query *query,
                             const struct query_term *pair)
{
    size_t first = first_size(pair->term), size = strlen(pair->term);
    bool ends = false, begins = false;
    if (pair->nodes || !first || first == size)
        return false;
    for (size_t t = 0; t < query->count; t++) {
        const struct query_term *other = &query->terms[t];
        size_t length = strlen(other->term);
        if (!other->nodes || !first_size(other->term))
            continue;
        ends |= length > first &&
                !memcmp(other->term + length - first, pair->term, first);
        begins |= length > size - first &&
                  !memcmp(other->term, pair->term + first, size - first);
    }
    return ends && begins;
}

static double common_weight(const struct query_term *term, double owners,
                            double mean_words)
{
    double english = owners * (1 - exp(-1e-6 * term->frequency * mean_words));
    double share = (term->nodes + 0.5) / (english + 0.5);
    return fmin(1, fmax(MIN, share / TIMES));
}

/* It is worth as much as what it stands for, but for what it stands for less
 * surely, and not more than it tells; "backup" as itself where "back up" are words of any
 * sentence, which tell nothing. */
static void weigh_alternative(struct query *query, struct query_term *term)
{
    double information = 0, weight = 0;
    bool common = term->verb;
    for (size_t t = 0; t < QUERY_MAX_ASKED; t++)
        if (term->instead_of >> t & 1) {
            weight += query->terms[t].weight;
            information += query->terms[t].weight * query->terms[t].idf;
            common &= query->terms[t].frequency > 0;
        }
    if (common) {
        term->weight = COMPOUND;
        return;
    }
    bool compound = term->instead_of & (term->instead_of - 1);
    information = fmin(information, weight * term->idf);
    term->weight = term->idf > 0 ? (compound ? COMPOUND : SYNONYM) *
                                       information / term->idf
                                 : 0;
}

double idf_of(double owners, double nodes)
{
    return log(1 + (owners - nodes + 0.5) / (nodes + 0.5));
}

/* What a corrected word still lacks is less than it loses in a ranking: that the
 * nearest one is meant is likelier than that nothing is. */
void query_weigh(struct query *query, double owners, double mean_words)
{
    for (size_t t = 0; t < query->count; t++) {
        struct query_term *term = &query->terms[t];
        term->idf = idf_of(owners, term->nodes);
        if (term->most > 0 && term->most < term->idf)
            term->idf = term->most;
        term->weight = term->trust * term->share;
        if (says_little(query, term))
            term->weight *= PART_OF_WHOLE;
        if (is_between_words(query, term))
            term->weight *= MIN;
        if (term->frequency)
            term->weight *= common_weight(term, owners, mean_words);
        term->missing = (1 - sqrt(term->trust)) * term->share * term->idf;
    }
    for (size_t t = 0; t < query->count; t++)
        if (query->terms[t].instead_of)
            weigh_alternative(query, &query->terms[t]);
}
