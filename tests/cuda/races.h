/* The race detector of BUILD=race: every access of a kernel's threads, beside the
 * barriers that the threads have passed.
 *
 * Two accesses to the same two bytes race when at least one is a write, both are of
 * different threads, and no barrier of the block, or of the warp (__syncwarp) if both
 * are of one, lies between them; a shuffle, a ballot or a product orders no memory.
 * Bytes that are copied into behind the program's back may not be touched from the
 * copy's beginning to the wait for it.  Blocks of one launch may not touch what
 * another writes, unless they met: the other had come to a place in memory by an atomic,
 * behind a barrier and a fence, and this one came there later, with a fence and a
 * barrier after it.  A kernel that begins early touches nothing, before it waits for
 * those before it, that these wrote since their graph was started, writes nothing at all,
 * and waits in each thread.  Which order the threads of the emulation took does not
 * matter: a race is one whatever it did. */
#ifndef TESTS_CUDA_RACES_H
#define TESTS_CUDA_RACES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum race_class {
    RACE_CLASS_BLOCK, /* __syncthreads */
    RACE_CLASS_WARP,  /* __syncwarp */
    RACE_CLASS_WAIT,  /* wait_copies */
    RACE_CLASS_FENCE, /* __threadfence */
    RACE_CLASS_EARLY, /* wait_for_earlier */
    RACE_CLASSES
};

/* A place in the kernels' source that orders memory. */
struct race_site {
    const char *file;
    unsigned line;
    enum race_class kind;
};

/* Distinct pairs of places that raced since races_forget. */
size_t races_found(void);
void races_forget(void);
/* Says on stderr which. */
void races_print(void);

/* The places that were passed so far; *ret stays valid, and grows. */
size_t race_sites(const struct race_site **ret);
/* From now on that place orders nothing, for the detector; the threads wait there as
 * before.  NULL: all do again. */
void race_ignore(const struct race_site *site);

/* Small kernels that race in one place each, and those that do not (_NONE). */
enum emulated_race {
    RACE_TEST_BLOCK_READ,  /* no barrier between a write and a read */
    RACE_TEST_BLOCK_WRITE, /* between a read and a write */
    RACE_TEST_BLOCK_NONE,
    RACE_TEST_WARP_READ, /* the same within a warp */
    RACE_TEST_WARP_WRITE,
    RACE_TEST_WARP_NONE,
    RACE_TEST_COPY, /* a copy is read before it was waited for */
    RACE_TEST_COPY_NONE,
    RACE_TEST_ATOMIC, /* a sum is read while others add to it */
    RACE_TEST_ATOMIC_NONE,
    RACE_TEST_BLOCKS, /* two blocks write to one place */
    RACE_TEST_BLOCKS_NONE,
    RACE_TEST_MEET_LATE, /* the last of two reads what the other wrote without a fence
                            before they met */
    RACE_TEST_MEET_SOON,  /* without one after */
    RACE_TEST_MEET_APART, /* without having met */
    RACE_TEST_MEET_NONE,
    RACE_TEST_EARLY_READ, /* what the kernel before wrote, before the wait for it */
    RACE_TEST_EARLY_WRITE, /* something is written before the wait */
    RACE_TEST_EARLY_END,   /* nobody waits */
    RACE_TEST_EARLY_NONE
};
void emulated_race_test(enum emulated_race test);

#ifdef __cplusplus
}
#endif

#endif
