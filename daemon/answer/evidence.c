#include "daemon/answer/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "daemon/answer/units.h"
#include "memory/lexical/analyze.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/sentences.h"

/* Shares of the weight of a sentence's words, chosen on questions that are not
 * reported (docs/log/people.md). */
static const double MIN_COVER = 0.6;
static const double MIN_COVER_CODE = 0.8;
/* Of the words, in the one sentence or line that holds most of them. */
static const double MIN_OWN = 0.35;
/* By how much another sentence of the place may hold more of the words, though it is
 * the other way round. */
static const double TURN_MARGIN = 0.1;
/* Of a word that any conversation has, beside one of the subject. */
static const double COMMON_WEIGHT = 0.4;

enum { MIN_WORDS = 2 /* that are not the question's, or one name */ };

enum term_class {
    TERM_WORD,
    TERM_STRICT, /* a number, a name, an option: it must stand there */
    TERM_POLAR,  /* it turns a meaning round: it must stand there */
    TERM_NOT     /* a negation */
};

struct term {
    uint64_t hash;
    double weight;
    int class; /* enum term_class */
    bool option;
};

/* A sentence, line, cell or item of a source. */
struct piece {
    size_t source, block;
    size_t at, size;     /* of the block's text */
    size_t first, count; /* of the index's hashes, sorted */
    size_t negations;
};

struct evidence_index {
    const struct cite_source *sources; /* [count] */
    size_t count;
    struct analyzer *analyzer;
    uint64_t *hashes;
    size_t hash_count, hash_capacity;
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    struct piece question;
    struct term *terms; /* of what is looked for */
    size_t term_count, term_capacity;
    size_t negations;
};

/* ---- Words ---- */

static bool is_one_of(const char *const *words, size_t count, struct slice word)
{
    for (size_t i = 0; i < count; i++)
        if (slice_is(word, words[i]))
            return true;
    return false;
}
#define IS_ONE_OF(words, word)                                                 \
    is_one_of(words, sizeof(words) / sizeof *(words), word)

/* "don't" is read as "don" and "t". */
static bool is_negation(struct slice word)
{
    static const char *const words[] = {
        "no",      "not",   "never", "cannot", "without", "none",
        "neither", "nor",   "aren",  "couldn", "didn",    "doesn",
        "don",     "hadn",  "hasn",  "haven",  "isn",     "shouldn",
        "wasn",    "weren", "won",   "wouldn", "unless"};
    return IS_ONE_OF(words, word);
}

static bool is_polar(struct slice word)
{
    static const char *const words[] = {
        "after",     "allow",     "allowed", "allows",   "always",   "before",
        "deny",      "denied",    "disable", "disabled", "disables", "enable",
        "enabled",   "enables",   "exclude", "excluded", "excludes", "false",
        "first",     "forbidden", "ignore",  "ignored",  "include",  "included",
        "includes",  "last",      "less",    "maximum",  "minimum",  "more",
        "mandatory", "must",      "off",     "only",     "optional", "require",
        "required",  "true"};
    return IS_ONE_OF(words, word);
}

static bool has_digit(struct slice word)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] >= '0' && word.data[i] <= '9')
            return true;
    return false;
}

/* Words joined by hyphens, as in "up-to-date": not a name. */
static bool is_compound(struct slice word)
{
    for (size_t i = 0; i < word.size; i++) {
        bool letter = (word.data[i] | 32) >= 'a' && (word.data[i] | 32) <= 'z';
        if (!letter && (word.data[i] != '-' || !i))
            return false;
    }
    return true;
}

static int class_of(const struct term_at *at)
{
    if (is_negation(at->word))
        return TERM_NOT;
    if (is_polar(at->word))
        return TERM_POLAR;
    if (at->part)
        return TERM_WORD;
    if (has_digit(at->word) || at->capitals ||
        (at->whole && !is_compound(at->word)))
        return TERM_STRICT;
    return TERM_WORD;
}

static void add_term(void *context, const struct term_at *at)
{
    struct evidence_index *index = context;
    int class = class_of(at);
    if (class == TERM_NOT) {
        index->negations++;
        return;
    }
    if (class == TERM_WORD && word_is_stop_word(at->word))
        return;
    MEM_RESERVE(index->terms, &index->term_capacity, index->term_count + 1);
    index->terms[index->term_count++] = (struct term){
        .hash = hash_bytes64(at->term.data, at->term.size),
        .weight =
            class == TERM_WORD && word_frequency(at->word) ? COMMON_WEIGHT : 1,
        .class = class,
        .option = at->whole && at->word.data[0] == '-'};
}

/* Takes a text apart into index->terms. */
static void read_terms(struct evidence_index *index, struct slice text)
{
    index->term_count = 0;
    index->negations = 0;
    analyze(index->analyzer, text, add_term, index);
}

/* ---- The index ---- */

static int by_hash(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

static struct piece make_piece(struct evidence_index *index, struct slice text)
{
    struct piece piece = {.first = index->hash_count, .size = text.size};
    read_terms(index, text);
    MEM_RESERVE(index->hashes, &index->hash_capacity,
                index->hash_count + index->term_count);
    for (size_t i = 0; i < index->term_count; i++)
        index->hashes[index->hash_count++] = index->terms[i].hash;
    piece.count = index->term_count;
    piece.negations = index->negations;
    if (piece.count)
        qsort(index->hashes + piece.first, piece.count, sizeof *index->hashes,
              by_hash);
    return piece;
}

static void add_piece(struct evidence_index *index, size_t source, size_t block,
                      struct slice text)
{
    const struct block *of = &index->sources[source].blocks[block];
    struct piece piece = make_piece(index, text);
    if (!piece.count)
        return;
    piece.source = source;
    piece.block = block;
    piece.at = (size_t)(text.data - of->text.data);
    MEM_RESERVE(index->pieces, &index->piece_capacity, index->piece_count + 1);
    index->pieces[index->piece_count++] = piece;
}

static void add_block(struct evidence_index *index, size_t source, size_t block)
{
    const struct block *of = &index->sources[source].blocks[block];
    for (size_t next = 0; next < of->text.size;) {
        struct slice line = sentences_unmarked(of, sentences_line(of, &next));
        if (of->kind == BLOCK_CODE) {
            add_piece(index, source, block, line);
            continue;
        }
        for (size_t at = 0; at < line.size;) {
            size_t end = sentence_end(line, at);
            add_piece(index, source, block,
                      (struct slice){line.data + at, end - at});
            at = sentence_next(line, end);
        }
    }
}

struct evidence_index *evidence_index_new(const struct cite_source *sources,
                                          size_t count, struct slice question)
{
    struct evidence_index *index = mem_alloc(sizeof *index);
    *index = (struct evidence_index){
        .sources = sources, .count = count, .analyzer = analyzer_new()};
    index->question = make_piece(index, question);
    for (size_t s = 0; s < count; s++)
        for (size_t b = 0; b < sources[s].count; b++)
            add_block(index, s, b);
    return index;
}

void evidence_index_free(struct evidence_index *index)
{
    if (!index)
        return;
    analyzer_free(index->analyzer);
    free(index->hashes);
    free(index->pieces);
    free(index->terms);
    free(index);
}

/* ---- Finding ---- */

static bool holds(const struct evidence_index *index, const struct piece *piece,
                  uint64_t hash)
{
    return piece->count && bsearch(&hash, index->hashes + piece->first,
                                   piece->count, sizeof hash, by_hash);
}

/* The pieces of a block and of the ones beside it, in one source. */
struct window {
    size_t first, last; /* of the pieces; last: behind */
};

static bool window_holds(const struct evidence_index *index,
                         const struct window *window, uint64_t hash)
{
    for (size_t p = window->first; p < window->last; p++)
        if (holds(index, &index->pieces[p], hash))
            return true;
    return false;
}

/* The piece with the ones before and after it in its source. */
static struct window window_near(const struct evidence_index *index, size_t p)
{
    const struct piece *pieces = index->pieces;
    struct window window = {p, p + 1};
    if (p && pieces[p - 1].source == pieces[p].source)
        window.first--;
    if (p + 1 < index->piece_count && pieces[p + 1].source == pieces[p].source)
        window.last++;
    return window;
}

static struct window window_around(const struct evidence_index *index, size_t p)
{
    const struct piece *pieces = index->pieces;
    struct window window = {p, p + 1};
    size_t source = pieces[p].source, block = pieces[p].block;
    while (window.first && pieces[window.first - 1].source == source &&
           pieces[window.first - 1].block + 1 >= block)
        window.first--;
    while (window.last < index->piece_count &&
           pieces[window.last].source == source &&
           pieces[window.last].block <= block + 1)
        window.last++;
    return window;
}

/* The share of the sentence's words, by weight, that the piece holds; those of the
 * question not counted. */
static double cover_of(const struct evidence_index *index,
                       const struct piece *piece)
{
    double all = 0, there = 0;
    for (size_t i = 0; i < index->term_count; i++) {
        const struct term *term = &index->terms[i];
        if (holds(index, &index->question, term->hash))
            continue;
        all += term->weight;
        if (holds(index, piece, term->hash))
            there += term->weight;
    }
    return all > 0 ? there / all : 0;
}

struct support {
    double cover;
    size_t words; /* that stand there and are not the question's */
    bool strict;  /* all that must stand there does */
};

/* What must stand there stands near the piece, in prose; the other words in the
 * window. */
static struct support support_of(const struct evidence_index *index,
                                 const struct window *window,
                                 const struct window *near, bool code)
{
    struct support ret = {.strict = true};
    double all = 0, there = 0;
    for (size_t i = 0; i < index->term_count; i++) {
        const struct term *term = &index->terms[i];
        bool asked = holds(index, &index->question, term->hash);
        bool found = window_holds(index, window, term->hash);
        bool must = code ? term->option : term->class != TERM_WORD;
        bool there_too = code ? found : window_holds(index, near, term->hash);
        if (must && !there_too && !(asked && term->class == TERM_STRICT))
            ret.strict = false;
        if (asked)
            continue;
        all += term->weight;
        there += found ? term->weight : 0;
        if (found && term->weight > COMMON_WEIGHT)
            ret.words += term->class == TERM_STRICT ? MIN_WORDS : 1;
    }
    ret.cover = all > 0 ? there / all : 0;
    return ret;
}

/* Whether the sentence and what stands in the window are negative alike: no sentence
 * of it that is the other way round holds clearly more of the words. */
static bool turns_alike(const struct evidence_index *index,
                        const struct window *window)
{
    double alike = 0, other = 0;
    for (size_t p = window->first; p < window->last; p++) {
        const struct piece *piece = &index->pieces[p];
        double cover = cover_of(index, piece);
        double *best = piece->negations == index->negations ? &alike : &other;
        if (cover > *best)
            *best = cover;
    }
    return alike > 0 && alike + TURN_MARGIN >= other;
}

bool evidence_find(struct evidence_index *index, struct slice sentence,
                   bool code, struct evidence *ret)
{
    double best = 0;
    read_terms(index, sentence);
    for (size_t p = 0; p < index->piece_count; p++) {
        const struct piece *piece = &index->pieces[p];
        double own = cover_of(index, piece);
        if (own <= best || own < MIN_OWN)
            continue;
        struct window window = window_around(index, p);
        struct window near = window_near(index, p);
        struct support support = support_of(index, &window, &near, code);
        if (!support.strict || support.words < MIN_WORDS ||
            support.cover < (code ? MIN_COVER_CODE : MIN_COVER) ||
            (!code && !turns_alike(index, &window)))
            continue;
        best = own;
        const struct block *block =
            &index->sources[piece->source].blocks[piece->block];
        *ret = (struct evidence){piece->source, block,
                                 unit_around(block, piece->at, piece->size)};
    }
    return best > 0;
}

bool evidence_is_claim(struct evidence_index *index, struct slice text)
{
    read_terms(index, text);
    for (size_t i = 0; i < index->term_count; i++)
        if (index->terms[i].weight > COMMON_WEIGHT &&
            !holds(index, &index->question, index->terms[i].hash))
            return true;
    return false;
}
