/* Rates by the clock and by the processor's time, for the benchmarks. */
#ifndef TESTS_BENCH_RATE_H
#define TESTS_BENCH_RATE_H

#include <time.h>

#include "base/file.h"

static double rate_seconds = 0.3; /* for each figure */

struct rate {
    double wall; /* best, by the clock */
    double core; /* best, by the time that our threads ran: of one core */
};

static double core_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct rate best_of(struct rate a, struct rate b)
{
    return (struct rate){larger(a.wall, b.wall), larger(a.core, b.core)};
}

/* The best rates of `body`, which does `amount` of something.  Bodies are
 * repeated until they take a millisecond: shorter times mean nothing. */
static inline struct rate rate(void (*body)(void *), void *argument,
                               double amount)
{
    struct rate best = {0, 0};
    double start = clock_seconds(), now = start;
    body(argument); /* packs, touches pages */
    do {
        double wall = clock_seconds(), core = core_seconds();
        double times = 0;
        do {
            body(argument);
            times++;
            now = clock_seconds();
        } while (now - wall < 1e-3);
        struct rate got = {times * amount / (now - wall),
                           times * amount / (core_seconds() - core)};
        best = best_of(best, got);
    } while (now - start < rate_seconds);
    return best;
}

#endif
