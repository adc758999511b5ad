/* What a repair must leave as it is: whether a claim that reads nearly like a place of
 * the source says the same. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/answer/cite.h"
#include "daemon/answer/evidence_words.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/operators.h"

enum { MAX_WORDS = 512 };

/* A word as it stands between white space, without the sentence's signs around it. */
struct word {
    uint64_t hash;
    bool kept; /* a repair must not change it */
};

struct words {
    struct analyzer *analyzer;
    struct word items[MAX_WORDS];
    size_t count;
    bool fits;
    /* Of the word being read: */
    bool kept, counts, denies;
    /* The next word that says something is kept, too: what is counted, a unit say, or
     * denied. */
    bool counted, denied;
};

static bool is_count(struct slice word)
{
    static const char *const words[] = {
        "zero",   "one",     "two",      "three",   "four",    "five",
        "six",    "seven",   "eight",    "nine",    "ten",     "eleven",
        "twelve", "hundred", "thousand", "million", "billion", "half",
        "third",  "quarter", "once",     "twice",   "single",  "double"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_is(word, words[i]))
            return true;
    return false;
}

static void judge(void *context, const struct term_at *at)
{
    struct words *words = context;
    int class = evidence_class(at);
    bool counts = evidence_has_digit(at->word) || is_count(at->word);
    bool denies = class == TERM_NOT || slice_is(at->word, "t"); /* of "can't" */
    words->counts |= counts;
    words->denies |= denies;
    words->kept |=
        counts || denies || class != TERM_WORD || evidence_opposite(at->term);
}

/* Without the sentence's signs around it, and emphasis ("**not**"); folded. */
static struct slice trim(struct slice word)
{
    while (word.size > 2 && word.data[0] == '*' &&
           word.data[word.size - 1] == '*')
        word.data++, word.size -= 2;
    while (word.size && strchr("([{\"'`", word.data[0]))
        word.data++, word.size--;
    while (word.size && strchr(")]}\"'`.,;:!?", word.data[word.size - 1]))
        word.size--;
    return word;
}

/* Tells words apart that only capitals do: -c and -C, MB and Mb. */
static uint64_t hash_capitals(struct slice word)
{
    struct buf places = {0};
    size_t letters = 0;
    for (size_t at = 0, step; at < word.size; at += step) {
        uint32_t c = text_decode(word.data, word.size, at, &step);
        letters += text_is_letter(c) || text_is_digit(c);
        if (text_is_upper(c))
            buf_printf(&places, " %zu", letters);
    }
    uint64_t hash = places.size ? hash_bytes64(places.data, places.size) : 0;
    buf_free(&places);
    return hash;
}

static void put_word(struct words *words, struct slice word,
                     struct slice written)
{
    bool bound = !words->kept && (words->counted || words->denied) &&
                 !word_is_stop_word(word);
    bool to_the_letter = words->counts || *word.data == '-' ||
                         (words->counted && (bound || words->kept));
    struct word *item = &words->items[words->count++];
    item->kept = words->kept || bound;
    item->hash = hash_bytes64(word.data, word.size);
    if (to_the_letter)
        item->hash ^= hash_capitals(written);
    if (item->kept) {
        words->counted = words->counts;
        words->denied = words->denies;
    }
}

static void add_word(struct words *words, struct slice written)
{
    struct buf folded = {0};
    phrase_fold(&folded, written);
    struct slice word = trim(buf_slice(&folded));
    words->kept = words->counts = words->denies = false;
    analyze(words->analyzer, written, judge, words);
    if (word.size && (words->kept || cite_has_words(word)))
        put_word(words, word, written);
    buf_free(&folded);
}

static void read_words(struct words *words, struct slice text)
{
    size_t at = text_skip_space(text, 0);
    words->count = 0;
    words->fits = true;
    words->counted = words->denied = false;
    while (at < text.size && words->fits) {
        size_t from = at;
        while (at < text.size && !text_space(text.data, text.size, at))
            at++;
        words->fits = words->count < MAX_WORDS;
        if (words->fits)
            add_word(words, (struct slice){text.data + from, at - from});
        at = text_skip_space(text, at);
    }
}

static size_t kept_count(const struct words *words)
{
    size_t count = 0;
    for (size_t i = 0; i < words->count; i++)
        count += words->items[i].kept;
    return count;
}

/* Of all common subsequences the most words, of either side, that are kept. */
static size_t kept_in_common(const struct words *a, const struct words *b)
{
    size_t row[MAX_WORDS + 1] = {0};
    for (size_t i = 0; i < a->count; i++) {
        size_t diagonal = 0;
        for (size_t j = 0; j < b->count; j++) {
            const struct word *one = &a->items[i], *other = &b->items[j];
            size_t above = row[j + 1];
            size_t both = diagonal + one->kept + other->kept;
            size_t most = above > row[j] ? above : row[j];
            row[j + 1] = one->hash == other->hash && both > most ? both : most;
            diagonal = above;
        }
    }
    return row[b->count];
}

bool cite_agrees(struct slice claim, struct slice place)
{
    struct analyzer *analyzer = analyzer_new();
    struct words *words = mem_alloc(2 * sizeof *words);
    words[0].analyzer = words[1].analyzer = analyzer;
    read_words(&words[0], claim);
    read_words(&words[1], place);
    bool agrees = words[0].fits && words[1].fits &&
                  kept_in_common(&words[0], &words[1]) ==
                      kept_count(&words[0]) + kept_count(&words[1]);
    free(words);
    analyzer_free(analyzer);
    return agrees;
}
