#include "tests/cuda/race_order.h"

#include "shim/cuda/cuda_runtime.h"
#include "tests/cuda/together.h"

#include <cstring>

namespace
{

enum { MAX_THREADS = 1024, WARP = 32, MAX_PLACES = 64 };
enum { MAX_PUBLISHED = 16 }; /* of a thread: older ones are forgotten */

/* Of each thread of the block: all before this time of its own. */
struct clock {
    unsigned before[MAX_THREADS];
};

unsigned threads;
struct race_time now[MAX_THREADS];
unsigned
    together[MAX_THREADS / WARP]; /* `own` of a warp's lanes behind their last
                                          barrier */
struct clock seen[MAX_THREADS];   /* by arrivals */
bool any_seen;

struct place {
    const void *at;
    struct clock arrived, last; /* in this round; in the one before */
};
struct place places[MAX_PLACES];
unsigned place_count;

struct published {
    struct race_time at[MAX_PUBLISHED];
    unsigned count; /* ever */
};
struct published published[MAX_THREADS];

void add(struct clock *to, const struct clock *more)
{
    for (unsigned t = 0; t < threads; t++)
        if (to->before[t] < more->before[t])
            to->before[t] = more->before[t];
}

struct place *place_at(const void *at)
{
    unsigned i = 0;
    while (i < place_count && places[i].at != at)
        i++;
    if (i == MAX_PLACES)
        emulated_wrong("more rings than the race detector knows");
    if (i == place_count) {
        memset(&places[i], 0, sizeof places[i]);
        places[place_count++].at = at;
    }
    return &places[i];
}

}  // namespace

void order_begin(unsigned count)
{
    /* Of the block before, whole warps of which may have noted something. */
    if (any_seen)
        memset(seen, 0, (threads + WARP - 1) / WARP * WARP * sizeof seen[0]);
    any_seen = false;
    threads = count;
    memset(now, 0, sizeof now);
    memset(together, 0, sizeof together);
    place_count = 0;
    for (unsigned t = 0; t < threads; t++)
        published[t].count = 0;
}

struct race_time order_now(unsigned thread)
{
    return now[thread];
}

bool order_sees(unsigned thread, unsigned other, struct race_time then)
{
    return thread == other || then.block != now[thread].block ||
           (thread / WARP == other / WARP &&
            then.own < together[other / WARP]) ||
           then.own < seen[thread].before[other];
}

bool order_sees_lanes(unsigned thread, unsigned warp, unsigned lanes,
                      struct race_time then)
{
    if (then.block != now[thread].block ||
        (thread / WARP == warp && then.own < together[warp]))
        return true;
    for (; lanes; lanes &= lanes - 1) {
        auto lane = static_cast<unsigned>(__builtin_ctz(lanes));
        if (!order_sees(thread, warp * WARP + lane, then))
            return false;
    }
    return true;
}

void order_block(unsigned thread)
{
    now[thread].block++;
}

void order_warp(unsigned warp)
{
    const unsigned first = warp * WARP;
    unsigned most = 0;
    for (unsigned t = first; t < first + WARP; t++)
        most = most < now[t].own ? now[t].own : most;
    for (unsigned t = first; t < first + WARP; t++)
        now[t].own = most + 1;
    together[warp] = most + 1;
    if (!any_seen)
        return;
    for (unsigned t = first + 1; t < first + WARP; t++)
        add(&seen[first], &seen[t]);
    for (unsigned t = first + 1; t < first + WARP; t++)
        seen[t] = seen[first];
}

void order_arrive(unsigned thread, const void *at)
{
    struct clock *to = &place_at(at)->arrived;
    const unsigned warp = thread / WARP;
    add(to, &seen[thread]);
    for (unsigned t = warp * WARP; t < (warp + 1) * WARP; t++)
        if (to->before[t] < together[warp])
            to->before[t] = together[warp];
    to->before[thread] = ++now[thread].own;
}

void order_round(const void *at)
{
    struct place *p = place_at(at);
    p->last = p->arrived;
    memset(&p->arrived, 0, sizeof p->arrived);
}

void order_follow(unsigned thread, const void *at)
{
    any_seen = true;
    add(&seen[thread], &place_at(at)->last);
}

void order_publish(unsigned thread)
{
    struct published *p = &published[thread];
    p->at[p->count++ % MAX_PUBLISHED] = now[thread];
    now[thread].own++;
}

bool order_is_published(unsigned thread, unsigned other, struct race_time then)
{
    const struct published *p = &published[other];
    unsigned i = p->count > MAX_PUBLISHED ? p->count - MAX_PUBLISHED : 0;
    while (i < p->count && p->at[i % MAX_PUBLISHED].own < then.own)
        i++;
    return i < p->count && order_sees(thread, other, p->at[i % MAX_PUBLISHED]);
}
