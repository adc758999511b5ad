#include "memory/lexical/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "memory/lexical/analyze.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/script.h"

enum {
    MIN_EXCLUDED = 3, /* letters and digits */
    MAX_QUOTED = 2000 /* bytes among which a quotation ends */
};

struct reading {
    struct slice query;
    operators_known *known;
    void *context;
    struct query_operators *operators;
    size_t asked; /* options that `known` was asked for */
    struct buf words,
        outside;  /* outside: what is neither quoted nor excluded */
    bool message; /* "error:" or "named[812]:" is outside */
};

/* One word or quotation of the query. */
struct piece {
    struct slice all, text; /* with and without quotes and dash */
    bool quoted, dashed;
};

/* ---- Comparing ---- */

static uint32_t folded(uint32_t c)
{
    switch (c) {
    case 0x2018:
    case 0x2019:
    case 0x201B:
    case 0x02BC: return '\'';
    case 0x201C:
    case 0x201D:
    case 0x201E: return '"';
    case 0x2010:
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2014:
    case 0x2212: return '-';
    default: return text_lower(c);
    }
}

void phrase_fold(struct buf *out, struct slice text)
{
    bool space = false;
    size_t begin = out->size;
    buf_reserve(out, 3 * text.size); /* what is not UTF-8 grows most */
    for (size_t at = 0, step; at < text.size; at += step) {
        unsigned char byte = (unsigned char)text.data[at];
        if (byte > ' ' && byte < 0x80 && !space) { /* most of it */
            out->data[out->size++] = (char)text_lower(byte);
            step = 1;
            continue;
        }
        step = text_space(text.data, text.size, at);
        if (step) {
            space = true;
            continue;
        }
        uint32_t c = text_decode(text.data, text.size, at, &step);
        if (text_is_invisible(c))
            continue;
        if (space && out->size > begin)
            buf_put_byte(out, ' ');
        space = false;
        const char *letters = text_ligature(c);
        if (letters)
            buf_put_text(out, letters);
        else
            text_encode(out, folded(c));
    }
}

static bool is_word(uint32_t c)
{
    return text_is_letter(c) || text_is_digit(c);
}

/* A character of scripts that put spaces between words. */
static bool is_spaced(uint32_t c)
{
    return is_word(c) && script_of(c) == SCRIPT_SPACED;
}

static uint32_t char_before(struct slice text, size_t at)
{
    size_t step;
    return text_decode(text.data, text.size, text_begin(text.data, at - 1),
                       &step);
}

/* Does no word go on through this place? */
static bool is_edge(struct slice text, size_t at)
{
    size_t step;
    return !at || at >= text.size || !is_spaced(char_before(text, at)) ||
           !is_spaced(text_decode(text.data, text.size, at, &step));
}

bool phrase_is_in(struct slice phrase, struct slice text)
{
    size_t at = 0;
    while (phrase.size && text.size - at >= phrase.size) {
        const char *found =
            memmem(text.data + at, text.size - at, phrase.data, phrase.size);
        if (!found)
            return false;
        at = (size_t)(found - text.data);
        if (is_edge(text, at) && is_edge(text, at + phrase.size))
            return true;
        at++;
    }
    return false;
}

/* ---- Reading a query ---- */

/* Bytes of the quotes that open (or close) at `at`; 0: none. */
static size_t quote_at(struct slice text, size_t at, bool open)
{
    if (text.data[at] == '"')
        return 1;
    struct slice rest = {text.data + at, text.size - at};
    struct slice curly = slice_of(open ? "\xE2\x80\x9C" : "\xE2\x80\x9D");
    return slice_starts(rest, curly) ? curly.size : 0;
}

/* May a quotation end before `at`?  A word, or what goes on, does not follow. */
static bool is_end(struct slice text, size_t at)
{
    size_t step;
    return at == text.size ||
           !is_word(text_decode(text.data, text.size, at, &step));
}

/* The quotation that begins with the quotes at `at`; false: there is none. */
static bool read_quotation(struct slice text, size_t at, struct piece *piece)
{
    size_t begin = at + quote_at(text, at, true);
    size_t left = text.size - begin;
    size_t last = begin + (left < MAX_QUOTED ? left : MAX_QUOTED);
    for (size_t end = begin; begin > at && end < last; end++) {
        size_t size = quote_at(text, end, false);
        if (!size)
            continue;
        piece->text = (struct slice){text.data + begin, end - begin};
        piece->all.size = end + size - (size_t)(piece->all.data - text.data);
        piece->quoted = true;
        return end > begin && is_end(text, end + size);
    }
    return false;
}

static struct piece read_piece(struct slice text, size_t at)
{
    struct piece piece = {.all = {text.data + at, 0}};
    piece.dashed = text.data[at] == '-' && at + 1 < text.size;
    size_t begin = at + piece.dashed;
    if (read_quotation(text, begin, &piece))
        return piece;
    size_t end = begin;
    while (end < text.size && !text_space(text.data, text.size, end))
        end++;
    piece.quoted = false;
    piece.all.size = end - at;
    piece.text = (struct slice){text.data + begin, end - begin};
    return piece;
}

/* ---- What a piece asks for ---- */

/* Words such as "in", "the" and "for": keywords have one or two of them, a sentence
 * more. */
enum { MIN_JOINTS = 3 };

struct counting {
    size_t words;
    size_t joints; /* stop words that phrases have, too */
    bool sentence; /* a word of sentences is among them */
};

static void count_word(void *context, const struct term_at *at)
{
    struct counting *counting = context;
    counting->words += !at->part; /* an identifier is one */
    if (at->whole || at->part || at->capitals || !word_is_stop_word(at->word))
        return;
    bool joint = word_is_of_phrases(at->word);
    bool rest = at->word.size == 1 && at->word.data[0] != 'a'; /* "'s" */
    counting->joints += joint && !rest;
    counting->sentence |= !joint;
}

static struct counting count_words(struct slice text)
{
    struct counting counting = {0};
    struct analyzer *maker = analyzer_new();
    analyze(maker, text, count_word, &counting);
    analyzer_free(maker);
    return counting;
}

static bool is_plain(struct slice word)
{
    size_t letters = 0, step;
    for (size_t at = 0; at < word.size; at += step, letters++) {
        uint32_t c = text_decode(word.data, word.size, at, &step);
        if (!is_word(c) && (c != '_' || !at))
            return false;
        if (!at && !text_is_letter(c))
            return false;
    }
    return letters >= MIN_EXCLUDED;
}

static bool is_option(struct reading *reading, struct slice dashed)
{
    struct buf term = {0};
    if (reading->asked++ >= OPERATORS_MAX_ASKED)
        return true;
    buf_put_byte(&term, '=');
    for (size_t at = 0, step; at < dashed.size; at += step)
        text_encode(&term, text_lower(text_decode(dashed.data, dashed.size, at,
                                                  &step)));
    bool known = reading->known &&
                 reading->known(reading->context, buf_slice(&term), dashed);
    buf_free(&term);
    return known;
}

static bool excludes(struct reading *reading, const struct piece *piece)
{
    if (!piece->dashed)
        return false;
    if (piece->quoted)
        return count_words(piece->text).words > 0;
    return !reading->operators->question && is_plain(piece->text) &&
           !is_option(reading, piece->all);
}

/* `alone`: nothing else is asked for. */
static bool demands(const struct piece *piece, bool alone)
{
    size_t words = 0;
    if (piece->quoted && !piece->dashed)
        words = count_words(piece->text).words;
    return words > 1 || (words && alone);
}

static void add_operator(struct reading *reading, const struct piece *piece,
                         bool exclude)
{
    struct query_operators *operators = reading->operators;
    operators->items[operators->count++] = (struct query_operator){
        .text = mem_strndup(piece->text.data, piece->text.size),
        .exclude = exclude,
        .exact = piece->quoted};
}

/* A phrase stays among the words, without its quotes. */
static void take_piece(struct reading *reading, const struct piece *piece,
                       bool alone)
{
    struct slice words = piece->all;
    bool room = reading->operators->count < OPERATORS_MAX;
    if (room && excludes(reading, piece)) {
        add_operator(reading, piece, true);
        return;
    }
    if (room && demands(piece, alone)) {
        add_operator(reading, piece, false);
        words = piece->text;
    }
    buf_put_text(&reading->words, reading->words.size ? " " : "");
    buf_put_slice(&reading->words, words);
}

static void each_piece(struct reading *reading, bool alone,
                       void (*take)(struct reading *reading,
                                    const struct piece *piece, bool alone))
{
    struct slice query = reading->query;
    for (size_t at = text_skip_space(query, 0); at < query.size;
         at = text_skip_space(query, at)) {
        struct piece piece = read_piece(query, at);
        take(reading, &piece, alone);
        at += piece.all.size;
    }
}

static void take_outside(struct reading *reading, const struct piece *piece,
                         bool alone)
{
    (void)alone;
    if (piece->quoted || (piece->dashed && is_plain(piece->text)))
        return;
    struct slice word = piece->all;
    reading->message |= word.size > 1 && word.data[word.size - 1] == ':';
    buf_put_slice(&reading->outside, word);
    buf_put_byte(&reading->outside, ' ');
}

static void drop_all(struct query_operators *operators)
{
    for (size_t i = 0; i < operators->count; i++)
        free(operators->items[i].text);
    operators->count = 0;
}

void operators_read(const char *query, operators_known *known, void *context,
                    struct query_operators *ret)
{
    struct reading reading = {.query = slice_of(query),
                              .known = known,
                              .context = context,
                              .operators = ret};
    *ret = (struct query_operators){0};
    each_piece(&reading, false, take_outside);
    struct counting outside = count_words(buf_slice(&reading.outside));
    ret->question = outside.sentence;
    ret->joined =
        outside.sentence || reading.message || outside.joints >= MIN_JOINTS;
    each_piece(&reading, !outside.words, take_piece);
    if (!count_words(buf_slice(&reading.words)).words) {
        drop_all(ret); /* what it excludes is all that it has */
        buf_clear(&reading.words);
    }
    ret->words = mem_strdup(ret->count ? reading.words.data : query);
    buf_free(&reading.words);
    buf_free(&reading.outside);
}

void operators_free(struct query_operators *operators)
{
    drop_all(operators);
    free(operators->words);
    *operators = (struct query_operators){0};
}
