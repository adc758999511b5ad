#include "daemon/answer/conversation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "memory/lexical/common_words.h"

struct conversation {
    char name[CONVERSATION_NAME + 1]; /* "": free */
    int64_t used_ms;
    struct conversation_turn
        turns[CONVERSATION_TURNS]; /* [count], the last one first */
    size_t count, asked;
};

struct conversations {
    pthread_mutex_t mutex;
    struct conversation *items[CONVERSATIONS_MAX]; /* NULL: free */
};

struct conversations *conversations_new(void)
{
    struct conversations *all = mem_alloc(sizeof *all);
    pthread_mutex_init(&all->mutex, NULL);
    return all;
}

void conversations_free(struct conversations *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < CONVERSATIONS_MAX; i++)
        free(all->items[i]);
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

/* ---- Remembering ---- */

void conversation_turn_ask(struct conversation_turn *turn, const char *question)
{
    size_t size = strlen(question);
    if (size > CONVERSATION_QUESTION)
        size = text_begin(question, CONVERSATION_QUESTION);
    memcpy(turn->question, question, size);
    turn->question[size] = '\0';
}

static void forget_expired(struct conversations *all, int64_t now_ms)
{
    for (size_t i = 0; i < CONVERSATIONS_MAX; i++) {
        if (!all->items[i] ||
            now_ms - all->items[i]->used_ms <= CONVERSATION_MS)
            continue;
        free(all->items[i]);
        all->items[i] = NULL;
    }
}

static struct conversation *find(const struct conversations *all,
                                 const char *name)
{
    for (size_t i = 0; i < CONVERSATIONS_MAX; i++)
        if (all->items[i] && !strcmp(all->items[i]->name, name))
            return all->items[i];
    return NULL;
}

/* In a free place, else in that of the one that was used longest ago. */
static struct conversation *begin(struct conversations *all, const char *name)
{
    size_t place = 0;
    for (size_t i = 0; i < CONVERSATIONS_MAX && all->items[place]; i++)
        if (!all->items[i] ||
            all->items[i]->used_ms < all->items[place]->used_ms)
            place = i;
    free(all->items[place]);
    struct conversation *one = mem_alloc(sizeof *one);
    snprintf(one->name, sizeof one->name, "%s", name);
    all->items[place] = one;
    return one;
}

void conversations_past(struct conversations *all, const char *name,
                        int64_t now_ms, struct conversation_past *ret)
{
    *ret = (struct conversation_past){.count = 0};
    pthread_mutex_lock(&all->mutex);
    forget_expired(all, now_ms);
    const struct conversation *one = find(all, name);
    for (size_t i = 0; one && i < one->count; i++) {
        ret->turns[ret->count++] = one->turns[i];
        if (!one->turns[i].follows)
            break;
    }
    ret->asked = one ? one->asked : 0;
    pthread_mutex_unlock(&all->mutex);
}

void conversations_add(struct conversations *all, const char *name,
                       int64_t now_ms, const struct conversation_turn *turn)
{
    pthread_mutex_lock(&all->mutex);
    forget_expired(all, now_ms);
    struct conversation *one = find(all, name);
    if (!one)
        one = begin(all, name);
    one->used_ms = now_ms;
    one->asked++;
    if (one->count < CONVERSATION_TURNS)
        one->count++;
    memmove(&one->turns[1], &one->turns[0],
            (one->count - 1) * sizeof one->turns[0]);
    one->turns[0] = *turn;
    pthread_mutex_unlock(&all->mutex);
}

/* ---- Following up ---- */

static bool is_among(struct slice word, const char *const *words)
{
    for (; *words; words++)
        if (slice_is(word, *words))
            return true;
    return false;
}

/* What a question that goes on begins with. */
static bool goes_on(const char *question)
{
    static const char *const starts[] = {
        "and ",      "or ",         "but ",       "also ",        "then ",
        "so ",       "what about ", "how about ", "what if ",     "why not",
        "what else", "how so",      "why so",     "in that case", NULL};
    for (const char *const *start = starts; *start; start++)
        if (!strncmp(question, *start, strlen(*start)))
            return true;
    return false;
}

/* Words that stand for what was named before. */
static bool points_back(struct slice word)
{
    static const char *const words[] = {
        "it",    "its",   "they", "them",    "their",   "this", "that",
        "these", "those", "ones", "instead", "another", "same", NULL};
    return is_among(word, words);
}

/* What things have, and nobody asks about by itself: "what is the default?" */
static bool is_attribute(struct slice word)
{
    static const char *const words[] = {
        "default", "defaults", "value",      "values",   "unit",      "units",
        "syntax",  "example",  "examples",   "option",   "options",   "range",
        "minimum", "maximum",  "parameters", "argument", "arguments", NULL};
    return is_among(word, words);
}

static bool is_subject(struct slice word)
{
    return !word_is_stop_word(word) && !word_frequency(word) &&
           !points_back(word);
}

/* The question in lower case, words of letters, digits and "_" with one space
 * between them, and a comma as a word where a clause ends with a sign. */
static void put_words(const char *question, struct buf *out)
{
    size_t size = strlen(question);
    bool gap = false, clause = false;
    for (size_t at = 0, step; at < size; at += step) {
        uint32_t c = text_decode(question, size, at, &step);
        bool letter = text_is_letter(c) || text_is_digit(c) || c == '_';
        if (letter && gap && out->size)
            buf_put_text(out, clause ? " , " : " ");
        if (letter)
            text_encode(out, text_lower(c));
        gap = !letter && (c != '\'' || gap);
        clause =
            gap && (clause || (c < 0x80 && strchr(",;:.?!(", (int)c) &&
                               (at + 1 == size || question[at + 1] == ' ')));
    }
    buf_put_text(out, "");
}

/* What says more than so many subjects may say what its "it" is. */
enum { FEW_SUBJECTS = 3 };

/* What is named in one clause may be pointed at in the next. */
static bool ends_clause(struct slice word)
{
    static const char *const words[] = {
        ",",       "and",   "or",    "but",    "if",    "when", "that",
        "which",   "who",   "so",    "after",  "while", "as",   "until",
        "because", "where", "since", "before", "than",  NULL};
    return is_among(word, words);
}

struct wording {
    bool any;                    /* there is a word */
    size_t subjects, attributes; /* attributes: of the subjects */
    bool back;                   /* a word points back before a subject */
    bool it; /* "it" does in the clause of the first subject */
};

/* "It" that stands for nothing: "is it possible to", "how long does it take to". */
static bool is_idle(const char *behind)
{
    static const char *const words[] = {
        "possible",  "take", "necessary", "best", "better", "safe",   "hard",
        "difficult", "easy", "ok",        "okay", "wise",   "useful", NULL};
    const char *word = behind + strspn(behind, " ");
    const char *next = word + strcspn(word, " ");
    return !strncmp(next, " to ", 4) &&
           is_among((struct slice){word, (size_t)(next - word)}, words);
}

static struct wording wording_of(const struct buf *words)
{
    struct wording wording = {.any = words->size > 0};
    bool first = true; /* the first clause that names something */
    for (size_t at = 0; at < words->size;) {
        struct slice word = {words->data + at, strcspn(words->data + at, " ")};
        bool it = slice_is(word, "it");
        at += word.size + 1;
        first &= !wording.subjects || !ends_clause(word);
        if (slice_is(word, ",") ||
            (it && at < words->size && is_idle(words->data + at)))
            continue;
        wording.back |= !wording.subjects && points_back(word);
        wording.it |= it && first;
        wording.subjects += is_subject(word);
        wording.attributes += is_subject(word) && is_attribute(word);
    }
    return wording;
}

static struct wording read_question(const char *question, bool *ret_goes_on)
{
    struct buf words = {0};
    put_words(question, &words);
    struct wording wording = wording_of(&words);
    *ret_goes_on = goes_on(words.data);
    buf_free(&words);
    return wording;
}

static bool points_at(const struct wording *wording)
{
    return wording->back || (wording->it && wording->subjects <= FEW_SUBJECTS);
}

bool conversation_names(const char *question)
{
    bool on;
    return read_question(question, &on).subjects > 0;
}

bool conversation_points_back(const char *question)
{
    bool on;
    struct wording wording = read_question(question, &on);
    return points_at(&wording);
}

bool conversation_follows(const char *question)
{
    bool on;
    struct wording wording = read_question(question, &on);
    return wording.any && (on || points_at(&wording) ||
                           wording.subjects == wording.attributes);
}
