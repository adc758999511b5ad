#include "daemon/answer/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "daemon/answer/evidence_words.h"
#include "daemon/answer/unit_text.h"
#include "memory/lexical/analyze.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/question_language.h"
#include "memory/lexical/sentences.h"

/* Shares of the weight of a sentence's words, chosen on questions that are not
 * reported (docs/log/people.md). */
static const double MIN_COVER = 0.9;
static const double MIN_COVER_CODE = 0.8;
/* Of the pairs of neighbours among a sentence's words that are neighbours there. */
static const double MIN_JOINED = 0.7;
/* Of the words, in the one sentence or line that holds most of them. */
static const double MIN_OWN = 0.35;
/* By how much another sentence of the place may hold more of the words, though it is
 * the other way round. */
static const double TURN_MARGIN = 0.1;
/* Of a word that any conversation has, beside one of the subject. */
static const double COMMON_WEIGHT = 0.4;

enum {
    MIN_WORDS = 2, /* that are not the question's, or one name */
    NEAR_WORDS = 4 /* how far neighbours stand from each other, at most */
};

struct term {
    uint64_t hash;
    double weight;
    int class; /* enum evidence_class */
    bool option;
    bool name;        /* and no number */
    bool part;        /* of an identifier, which is a term of its own */
    uint64_t against; /* the term that says the opposite; 0: none */
};

/* A sentence, line, cell or item of a source. */
struct piece {
    size_t source, block;
    size_t at, size;     /* of the block's text */
    size_t first, count; /* of the index's hashes */
    size_t negations;
};

struct evidence_index {
    const struct cite_source *sources; /* [count] */
    size_t count;
    struct analyzer *analyzer;
    uint64_t *hashes; /* of each piece's words, sorted */
    uint64_t *order;  /* the same, as they stand */
    size_t hash_count, hash_capacity, order_capacity;
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    struct slice asked;
    struct piece question;                    /* the same */
    const struct question_language *language; /* of that; NULL: English */
    struct term *terms;                       /* of what is looked for */
    size_t term_count, term_capacity;
    size_t negations;
};

static void add_term(void *context, const struct term_at *at)
{
    struct evidence_index *index = context;
    if (at->signs) /* what it is between says more */
        return;
    int class = evidence_class(at);
    if (class == TERM_NOT) {
        index->negations++;
        return;
    }
    if (class == TERM_WORD &&
        question_language_passes_over(index->language, at->word))
        return;
    const char *opposite = evidence_opposite(at->term);
    MEM_RESERVE(index->terms, &index->term_capacity, index->term_count + 1);
    index->terms[index->term_count++] = (struct term){
        .against = opposite ? hash_bytes64(opposite, strlen(opposite)) : 0,
        .hash = hash_bytes64(at->term.data, at->term.size),
        .weight = class == TERM_WORD && (word_frequency(at->word) ||
                                         evidence_is_kind(at->word))
                      ? COMMON_WEIGHT
                      : 1,
        .class = class,
        .part = at->part,
        .option = at->whole && at->word.data[0] == '-',
        .name = class == TERM_STRICT && !evidence_is_number(at->word)};
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
    MEM_RESERVE(index->order, &index->order_capacity,
                index->hash_count + index->term_count);
    for (size_t i = 0; i < index->term_count; i++) {
        index->order[index->hash_count] = index->terms[i].hash;
        index->hashes[index->hash_count++] = index->terms[i].hash;
    }
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
    *index = (struct evidence_index){.sources = sources,
                                     .count = count,
                                     .analyzer = analyzer_new(),
                                     .asked = question};
    index->language = question_language(index->analyzer, question);
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
    free(index->order);
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

struct wanted {
    uint64_t hash;
    bool found;
};

static void find_term(void *context, const struct term_at *at)
{
    struct wanted *wanted = context;
    if (hash_bytes64(at->term.data, at->term.size) == wanted->hash)
        wanted->found = true;
}

static bool text_holds(struct evidence_index *index, struct slice text,
                       uint64_t hash)
{
    struct wanted wanted = {.hash = hash};
    if (text.size)
        analyze(index->analyzer, text, find_term, &wanted);
    return wanted.found;
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

/* Whether the two stand near each other in the piece. */
static bool piece_joins(const struct evidence_index *index,
                        const struct piece *piece, uint64_t one, uint64_t other)
{
    const uint64_t *words = index->order + piece->first;
    for (size_t at = 0; at < piece->count; at++) {
        if (words[at] != one)
            continue;
        size_t from = at > NEAR_WORDS ? at - NEAR_WORDS : 0;
        size_t to = at + NEAR_WORDS + 1;
        for (size_t i = from; i < to && i < piece->count; i++)
            if (words[i] == other)
                return true;
    }
    return false;
}

static bool are_joined(const struct evidence_index *index,
                       const struct window *window, uint64_t one,
                       uint64_t other)
{
    for (size_t p = window->first; p < window->last; p++)
        if (piece_joins(index, &index->pieces[p], one, other))
            return true;
    return false;
}

/* Whether a title above the piece holds the name. */
static bool is_titled(struct evidence_index *index, size_t p, uint64_t name)
{
    const struct piece *piece = &index->pieces[p];
    const struct cite_source *source = &index->sources[piece->source];
    return text_holds(index, source->title, name) ||
           (source->heads &&
            text_holds(index, source->heads[piece->block], name));
}

/* The share of the pairs of neighbours, among the sentence's words that stand in the
 * window near the piece, that are neighbours there as well; 0 where a word that must
 * stand there does, but beside neither of its neighbours, and is not what all of it is
 * about: it was said of something else. */
static double joined_of(struct evidence_index *index,
                        const struct window *window, size_t p)
{
    const struct term *before = NULL;
    size_t all = 0, joined = 0;
    bool held = true; /* `before` is beside a neighbour, or may stand alone */
    for (size_t i = 0; i < index->term_count; i++) {
        const struct term *term = &index->terms[i];
        if (term->part || !window_holds(index, window, term->hash) ||
            (before && before->hash == term->hash))
            continue;
        bool pair =
            before && are_joined(index, window, before->hash, term->hash);
        if (before && !held && !pair)
            return 0;
        all += before != NULL;
        joined += pair;
        held = pair || term->class == TERM_WORD ||
               (term->name && is_titled(index, p, term->hash));
        before = term;
    }
    return !all ? 1 : held ? (double)joined / (double)all : 0;
}

struct support {
    double cover;
    size_t words; /* that stand there and are not the question's */
    bool strict;  /* all that must stand there does */
};

/* In prose words stand near the piece; in code, and what the question names, around
 * it. */
static struct support support_of(struct evidence_index *index, size_t p,
                                 bool code)
{
    struct support ret = {.strict = true};
    struct window around = window_around(index, p);
    struct window near = code ? around : window_near(index, p);
    double all = 0, there = 0;
    for (size_t i = 0; i < index->term_count; i++) {
        const struct term *term = &index->terms[i];
        bool asked = holds(index, &index->question, term->hash);
        bool found = window_holds(index, &near, term->hash);
        bool must = code ? term->option : term->class != TERM_WORD;
        if (must && !found &&
            !(term->name &&
              ((asked && window_holds(index, &around, term->hash)) ||
               is_titled(index, p, term->hash))))
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

/* Whether the piece says the opposite: it has not the sentence's word, but the one
 * against it. */
static bool is_opposed(const struct evidence_index *index, size_t p)
{
    const struct piece *piece = &index->pieces[p];
    for (size_t i = 0; i < index->term_count; i++) {
        const struct term *term = &index->terms[i];
        if (term->against && holds(index, piece, term->against) &&
            !holds(index, piece, term->hash))
            return true;
    }
    return false;
}

/* What stands in quotation marks or backticks. */
static struct piece quoted_piece(struct evidence_index *index,
                                 struct slice sentence)
{
    struct buf quoted = {0};
    for (size_t at = 0; at < sentence.size; at++) {
        char mark = sentence.data[at];
        size_t from = at + 1;
        if (mark != '"' && mark != '`')
            continue;
        for (at = from; at < sentence.size && sentence.data[at] != mark;)
            at++;
        if (at < sentence.size)
            buf_put(&quoted, sentence.data + from, at - from);
        buf_put_byte(&quoted, ' ');
    }
    struct piece piece = make_piece(index, buf_slice(&quoted));
    buf_free(&quoted);
    return piece;
}

/* Whether what is quoted stands near the piece, whoever asked for it, or in a title
 * above it. */
static bool holds_quoted(struct evidence_index *index,
                         const struct window *near, size_t p,
                         const struct piece *quoted)
{
    for (size_t i = 0; i < quoted->count; i++) {
        uint64_t hash = index->hashes[quoted->first + i];
        if (!window_holds(index, near, hash) && !is_titled(index, p, hash))
            return false;
    }
    return true;
}

/* Whether the sentence and what stands around the piece put the same words together,
 * quote the same, and are negative alike. */
static bool is_alike(struct evidence_index *index, size_t p,
                     const struct piece *quoted)
{
    struct window around = window_around(index, p);
    struct window near = window_near(index, p);
    return !is_opposed(index, p) && holds_quoted(index, &near, p, quoted) &&
           joined_of(index, &near, p) >= MIN_JOINED &&
           turns_alike(index, &around);
}

bool evidence_find(struct evidence_index *index, struct slice sentence,
                   bool code, struct evidence *ret)
{
    double best = 0;
    struct piece quoted = quoted_piece(index, sentence);
    read_terms(index, sentence);
    for (size_t p = 0; p < index->piece_count; p++) {
        const struct piece *piece = &index->pieces[p];
        double own = cover_of(index, piece);
        if (own <= best || own < MIN_OWN)
            continue;
        struct support support = support_of(index, p, code);
        if (!support.strict || support.words < MIN_WORDS ||
            support.cover < (code ? MIN_COVER_CODE : MIN_COVER) ||
            (!code && !is_alike(index, p, &quoted)))
            continue;
        best = own;
        const struct block *block =
            &index->sources[piece->source].blocks[piece->block];
        *ret =
            (struct evidence){piece->source, block,
                              unit_within(block, piece->at, piece->size).text};
    }
    return best > 0;
}

size_t evidence_claims(struct evidence_index *index, struct slice text)
{
    read_terms(index, text);
    size_t count = index->negations * MIN_WORDS;
    for (size_t i = 0; i < index->term_count; i++) {
        const struct term *term = &index->terms[i];
        if (term->weight > COMMON_WEIGHT &&
            !holds(index, &index->question, term->hash))
            count += term->class == TERM_STRICT ? MIN_WORDS : 1;
    }
    return count;
}

double evidence_asked(struct evidence_index *index, struct slice text)
{
    struct piece piece = make_piece(index, text);
    double all = 0, there = 0;
    read_terms(index, index->asked);
    for (size_t i = 0; i < index->term_count; i++) {
        all += index->terms[i].weight;
        if (holds(index, &piece, index->terms[i].hash))
            there += index->terms[i].weight;
    }
    return all > 0 ? there / all : 1;
}
