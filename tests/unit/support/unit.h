/* What every unit test needs: cmocka, a seeded generator, a clock, a folder of its
 * own. */
#ifndef TESTS_UNIT_SUPPORT_UNIT_H
#define TESTS_UNIT_SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* SplitMix64: the same numbers everywhere, from a seed the test names. */
static inline uint64_t unit_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint32_t unit_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(unit_random(state) % limit);
}

/* Of the processor, of this thread: other work on the machine does not count. */
static inline double unit_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A fresh folder under $TMPDIR or /tmp; unit_folder_remove deletes it. */
static inline char *unit_folder(void)
{
    static char path[256];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/lectern-unit-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path))
        abort();
    return path;
}

static inline void unit_folder_remove(const char *path)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command) != 0)
        abort();
}

#endif
