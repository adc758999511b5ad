/* What the threads of a block have seen of one another: the order that barriers make,
 * for the race detector (race.cc).
 *
 * A thread has seen what another did where one of these lies between, or several
 * behind one another: a barrier of the block; of the warp; an arrival of the other at
 * a place, whose round ended with it or later, and this thread's coming behind that
 * round (the kernels' rings, cuda_ring.h, and barriers of some warps). */
#ifndef TESTS_CUDA_RACE_ORDER_H
#define TESTS_CUDA_RACE_ORDER_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When a thread did something: how many barriers of the block it had passed, and how
 * often it had told others what it did since. */
struct race_time {
    unsigned block, own;
};

/* A block of so many threads begins. */
void order_begin(unsigned threads);

struct race_time order_now(unsigned thread);
/* Whether `thread` has seen, so far, what `other` did then. */
bool order_sees(unsigned thread, unsigned other, struct race_time then);

/* The same of some lanes of a warp, all of them. */
bool order_sees_lanes(unsigned thread, unsigned warp, unsigned lanes,
                      struct race_time then);

/* The thread has passed a barrier of the block. */
void order_block(unsigned thread);
/* All lanes are at a barrier of the warp. */
void order_warp(unsigned warp);
/* The thread comes to the place; the round there ends; the thread comes behind the
 * round that ended last. */
void order_arrive(unsigned thread, const void *place);
void order_round(const void *place);
void order_follow(unsigned thread, const void *place);

/* The thread publishes what it wrote (publish_shared).  Whether what `other` wrote then
 * was published after it, and `thread` has seen that. */
void order_publish(unsigned thread);
bool order_is_published(unsigned thread, unsigned other, struct race_time then);

#ifdef __cplusplus
}
#endif

#endif
