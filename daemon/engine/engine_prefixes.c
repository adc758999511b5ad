#include "daemon/engine/engine_prefixes.h"

#include <string.h>

size_t prefixes_piece(const struct model_facts *facts, bool exact, size_t at)
{
    const uint64_t max = (uint64_t)1 << 34;
    size_t piece = PREFIX_LONG_PIECE;
    bool chooses = exact || !strcmp(facts->attention, "hils");
    if (at < PREFIX_LONG_FROM || !chooses)
        return PREFIX_PIECE;
    while (piece > PREFIX_PIECE && facts->parameters > max / piece)
        piece /= 2;
    return piece;
}

/* The last end of a piece that is no more than `length`: long ones begin where
 * one would end if all were long. */
static size_t whole_pieces(const struct model *model, bool exact, size_t length)
{
    size_t piece = prefixes_piece(model_facts(model), exact, length);
    return length / piece * piece;
}

static size_t in_common(const struct session *session, const int32_t *ids,
                        size_t count)
{
    const int32_t *mine = session_ids(session);
    size_t max = session_length(session), same = 0;
    max = max < count ? max : count;
    while (same < max && mine[same] == ids[same])
        same++;
    return same;
}

static void remove_at(struct prefixes *p, size_t at)
{
    p->count--;
    memmove(&p->items[at], &p->items[at + 1],
            (p->count - at) * sizeof p->items[0]);
}

static void put_first(struct prefixes *p, struct session *session)
{
    memmove(&p->items[1], &p->items[0], p->count * sizeof p->items[0]);
    p->items[0] = session;
    p->count++;
}

static bool is_exact(const struct session *session)
{
    return !strcmp(session_attention(session), "exact");
}

static int open_new(struct model *model, bool exact, struct session **ret,
                    struct err *err)
{
    const struct session_exact usual = {0};
    return exact ? session_open_exact(model, &usual, ret, err)
                 : session_open(model, ret, err);
}

int prefixes_fork(struct prefixes *p, struct model *model, bool exact,
                  const int32_t *ids, size_t count, struct session **ret,
                  struct err *err)
{
    size_t best = 0, longest = 0;
    for (size_t i = 0; count && i < p->count; i++) {
        size_t same = in_common(p->items[i], ids, count - 1);
        if (same <= longest || is_exact(p->items[i]) != exact)
            continue;
        longest = same;
        best = i;
    }
    longest = whole_pieces(model, exact, longest);
    if (!longest)
        return open_new(model, exact, ret, err);
    struct session *from = p->items[best];
    remove_at(p, best);
    put_first(p, from);
    return session_fork(from, longest, ret, err);
}

/* Whether some other has read all that `session` has, or is about to. */
static bool is_covered(struct prefixes *p, const struct session *session,
                       size_t length)
{
    for (size_t i = 0; i < p->count; i++)
        if (is_exact(p->items[i]) == is_exact(session) &&
            in_common(p->items[i], session_ids(session), length) == length)
            return true;
    return false;
}

/* Drops those that `session` continues. */
static void drop_beginnings(struct prefixes *p, const struct session *session)
{
    for (size_t i = p->count; i-- > 0;) {
        struct session *item = p->items[i];
        size_t length = session_length(item);
        if (is_exact(item) != is_exact(session) ||
            in_common(item, session_ids(session), session_length(session)) <
                length)
            continue;
        session_close(item);
        remove_at(p, i);
    }
}

static size_t bytes_of(const struct prefixes *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->count; i++)
        bytes += session_bytes(p->items[i]);
    return bytes;
}

void prefixes_keep(struct prefixes *p, struct model *model,
                   struct session *session)
{
    size_t length =
        whole_pieces(model, is_exact(session), session_length(session));
    struct session *kept;
    if (!length || is_covered(p, session, length) ||
        session_fork(session, length, &kept, NULL))
        return; /* what cannot be kept will be read again */
    drop_beginnings(p, kept);
    if (p->count == PREFIXES)
        session_close(p->items[--p->count]);
    put_first(p, kept);
    while (p->count && bytes_of(p) > prefixes_max_bytes)
        session_close(p->items[--p->count]);
}

void prefixes_clear(struct prefixes *p)
{
    while (p->count)
        session_close(p->items[--p->count]);
}
