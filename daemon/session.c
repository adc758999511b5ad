#include "daemon/session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "memory/common_words.h"

struct session {
    char name[SESSION_NAME + 1]; /* "": free */
    int64_t used_ms;
    struct session_turn turns[SESSION_TURNS]; /* [count], the last one first */
    size_t count, asked;
};

struct sessions {
    pthread_mutex_t mutex;
    struct session *items[SESSIONS_MOST]; /* NULL: free */
};

struct sessions *sessions_new(void)
{
    struct sessions *sessions = mem_alloc(sizeof *sessions);
    pthread_mutex_init(&sessions->mutex, NULL);
    return sessions;
}

void sessions_free(struct sessions *sessions)
{
    if (!sessions)
        return;
    for (size_t i = 0; i < SESSIONS_MOST; i++)
        free(sessions->items[i]);
    pthread_mutex_destroy(&sessions->mutex);
    free(sessions);
}

/* ---- Remembering ---- */

void session_turn_ask(struct session_turn *turn, const char *question)
{
    size_t size = strlen(question);
    if (size > SESSION_QUESTION)
        size = SESSION_QUESTION;
    while (size && (question[size] & 0xC0) == 0x80)
        size--;
    memcpy(turn->question, question, size);
    turn->question[size] = '\0';
}

static void forget_expired(struct sessions *sessions, int64_t now_ms)
{
    for (size_t i = 0; i < SESSIONS_MOST; i++) {
        if (!sessions->items[i] ||
            now_ms - sessions->items[i]->used_ms <= SESSION_MS)
            continue;
        free(sessions->items[i]);
        sessions->items[i] = NULL;
    }
}

static struct session *find(const struct sessions *sessions, const char *name)
{
    for (size_t i = 0; i < SESSIONS_MOST; i++)
        if (sessions->items[i] && !strcmp(sessions->items[i]->name, name))
            return sessions->items[i];
    return NULL;
}

/* In a free place, else in that of the one that was used longest ago. */
static struct session *begin(struct sessions *sessions, const char *name)
{
    size_t place = 0;
    for (size_t i = 0; i < SESSIONS_MOST && sessions->items[place]; i++)
        if (!sessions->items[i] ||
            sessions->items[i]->used_ms < sessions->items[place]->used_ms)
            place = i;
    free(sessions->items[place]);
    struct session *session = mem_alloc(sizeof *session);
    snprintf(session->name, sizeof session->name, "%s", name);
    sessions->items[place] = session;
    return session;
}

void sessions_past(struct sessions *sessions, const char *name, int64_t now_ms,
                   struct session_past *ret)
{
    *ret = (struct session_past){.count = 0};
    pthread_mutex_lock(&sessions->mutex);
    forget_expired(sessions, now_ms);
    const struct session *session = find(sessions, name);
    for (size_t i = 0; session && i < session->count; i++) {
        ret->turns[ret->count++] = session->turns[i];
        if (!session->turns[i].follows)
            break;
    }
    ret->asked = session ? session->asked : 0;
    pthread_mutex_unlock(&sessions->mutex);
}

void sessions_add(struct sessions *sessions, const char *name, int64_t now_ms,
                  const struct session_turn *turn)
{
    pthread_mutex_lock(&sessions->mutex);
    forget_expired(sessions, now_ms);
    struct session *session = find(sessions, name);
    if (!session)
        session = begin(sessions, name);
    session->used_ms = now_ms;
    session->asked++;
    if (session->count < SESSION_TURNS)
        session->count++;
    memmove(&session->turns[1], &session->turns[0],
            (session->count - 1) * sizeof session->turns[0]);
    session->turns[0] = *turn;
    pthread_mutex_unlock(&sessions->mutex);
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

bool session_names(const char *question)
{
    struct buf words = {0};
    bool back;
    put_words(question, &words);
    size_t subjects = count_subjects(&words, &back);
    buf_free(&words);
    return subjects > 0;
}

bool session_follows(const char *question)
{
    struct buf words = {0};
    bool back;
    put_words(question, &words);
    size_t subjects = count_subjects(&words, &back);
    bool follows = words.size && (back || !subjects || goes_on(words.data));
    buf_free(&words);
    return follows;
}
