/* The race detector of BUILD=race: every access of a kernel's threads, beside the
 * barriers that the threads have passed.
 *
 * Two accesses to the same two bytes race when at least one is a write, both are of
 * different threads, and the later one's thread has not seen the earlier one: by a
 * barrier of the block, or of the warp (__syncwarp), or of some warps (meet_warps), or
 * by waiting at a ring for a round that the earlier one's thread arrived for behind it
 * (cuda_ring.h), or by several of these behind one another; a shuffle, a ballot or a
 * product orders no memory.  Bytes that are copied into behind the program's back may
 * not be touched from the copy's beginning to the wait for it.  Nor may bytes that a
 * warpgroup's product reads be written from its beginning to the wait for it, and
 * they must have been published by who wrote them, seen by who multiplies.
 * Blocks of one launch may not touch what
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
    RACE_CLASS_BLOCK,    /* __syncthreads */
    RACE_CLASS_WARP,     /* __syncwarp */
    RACE_CLASS_WAIT,     /* wait_copies */
    RACE_CLASS_FENCE,    /* __threadfence */
    RACE_CLASS_EARLY,    /* wait_for_earlier */
    RACE_CLASS_ARRIVE,   /* ring_arrive */
    RACE_CLASS_RING,     /* ring_wait */
    RACE_CLASS_MEET,     /* meet_warps */
    RACE_CLASS_PUBLISH,  /* publish_shared */
    RACE_CLASS_PRODUCTS, /* wait_products, end_products */
    RACE_CLASSES
};

/* A place in the kernels' source that orders memory. */
struct race_site {
    const char *file;
    unsigned line;
    enum race_class kind;
    size_t passed; /* so often, so far */
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
    RACE_TEST_EARLY_NONE,
    RACE_TEST_RING_ARRIVE, /* a thread arrives before it wrote */
    RACE_TEST_RING_READ,   /* nobody waits for what was written */
    RACE_TEST_RING_WRITE, /* nor, before it is written anew, for those who read it */
    RACE_TEST_RING_NONE,  /* one lane waits, for its warp */
    RACE_TEST_MEET_WARPS, /* some warps do not meet */
    RACE_TEST_MEET_WARPS_NONE,
    RACE_TEST_PRODUCT_WRITE, /* what a product reads is written before the wait */
    RACE_TEST_PRODUCT_PLAIN, /* what it reads was not published */
    RACE_TEST_PRODUCT_LATE,  /* was behind the barrier alone */
    RACE_TEST_PRODUCT_NONE
};
void emulated_race_test(enum emulated_race test);

#ifdef __cplusplus
}
#endif

#endif
