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
        size = CONVERSATION_QUESTION;
    while (size && (question[size] & 0xC0) == 0x80)
        size--;
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

static bool is_subject(struct slice word)
{
    return !word_is_stop_word(word) && !word_frequency(word) &&
           !points_back(word);
}

/* The question in lower case, words of letters, digits and "_" with one space
 * between them. */
static void put_words(const char *question, struct buf *out)
{
    size_t size = strlen(question);
    bool gap = false;
    for (size_t at = 0, step; at < size; at += step) {
        uint32_t c = text_decode(question, size, at, &step);
        bool letter = text_is_letter(c) || text_is_digit(c) || c == '_';
        if (letter && gap && out->size)
            buf_put_byte(out, ' ');
        if (letter)
            text_encode(out, text_lower(c));
        gap = !letter && (c != '\'' || gap);
    }
    buf_put_text(out, "");
}

/* Subjects of the words; *ret_back: one before them points back. */
static size_t count_subjects(const struct buf *words, bool *ret_back)
{
    size_t subjects = 0;
    *ret_back = false;
    for (size_t at = 0; at < words->size;) {
        struct slice word = {words->data + at, strcspn(words->data + at, " ")};
        *ret_back = *ret_back || (!subjects && points_back(word));
        subjects += is_subject(word);
        at += word.size + 1;
    }
    return subjects;
}

bool conversation_names(const char *question)
{
    struct buf words = {0};
    bool back;
    put_words(question, &words);
    size_t subjects = count_subjects(&words, &back);
    buf_free(&words);
    return subjects > 0;
}

bool conversation_follows(const char *question)
{
    struct buf words = {0};
    bool back;
    put_words(question, &words);
    size_t subjects = count_subjects(&words, &back);
    bool follows = words.size && (back || !subjects || goes_on(words.data));
    buf_free(&words);
    return follows;
}
