/* What the emulation tells the race detector of BUILD=race (race.cc); in other
 * builds nobody listens. */
#ifndef TESTS_CUDA_RACE_H
#define TESTS_CUDA_RACE_H

#include "tests/cuda/races.h"

#include <cstddef>

/* RACE_COPY: a copy into it begins; RACE_COPIED: has ended.  RACE_PRODUCT,
 * RACE_MULTIPLIED: the same of a product that reads it. */
enum race_access {
    RACE_READ,
    RACE_WRITE,
    RACE_ATOMIC,
    RACE_COPY,
    RACE_COPIED,
    RACE_PRODUCT,
    RACE_MULTIPLIED
};

#ifdef EMULATED_RACES
constexpr bool RACES_ARE_WATCHED = true;

/* A launch begins, of a graph's start `step` (0: of none); one of its blocks; a block
 * ends. */
void race_launch(unsigned step);
void race_block(unsigned number, unsigned threads);
void race_block_end();
/* Where the fibres' own stacks lie, which no other thread sees. */
void race_stacks(const void *at, std::size_t bytes);

/* Where something orders memory is the kernel's place.  Whether that counts: who asks
 * does what it does, or has it not be seen here. */
bool race_counts(enum race_class kind, const char *file, unsigned line);
/* The running thread has passed a barrier of its block; all lanes are at one of the
 * warp. */
void race_block_barrier(const char *file, unsigned line);
void race_warp_barrier(unsigned warp, const char *file, unsigned line);
/* The running thread arrives at a ring, or barrier of some warps; was the last of the
 * round; comes behind the round that ended last. */
void race_arrive(const void *place, enum race_class kind, const char *file,
                 unsigned line);
void race_round(const void *place);
void race_follow(const void *place, enum race_class kind, const char *file,
                 unsigned line);
/* What the running thread wrote is there for products of who sees this. */
void race_publish(const char *file, unsigned line);
/* A thread ended without the wait for the kernels before: whether that was written
 * down.  A block ended with products that nobody waited for. */
bool race_early_end();
void race_products_left();
/* The running thread's earlier accesses are seen before its later ones; and it met the
 * blocks that were at that place before, by an atomic. */
void race_fence(const char *file, unsigned line);
void race_meet(const void *at);
/* The running thread's access, for the caller's caller. */
void race_access(const void *at, std::size_t bytes, enum race_access how,
                 const void *from);
#else
constexpr bool RACES_ARE_WATCHED = false;

static inline void race_launch(unsigned)
{
}
static inline void race_block(unsigned, unsigned)
{
}
static inline void race_block_end()
{
}
static inline void race_stacks(const void *, std::size_t)
{
}
static inline bool race_counts(enum race_class, const char *, unsigned)
{
    return true;
}
static inline void race_block_barrier(const char *, unsigned)
{
}
static inline void race_warp_barrier(unsigned, const char *, unsigned)
{
}
static inline void race_arrive(const void *, enum race_class, const char *,
                               unsigned)
{
}
static inline void race_round(const void *)
{
}
static inline void race_follow(const void *, enum race_class, const char *,
                               unsigned)
{
}
static inline void race_publish(const char *, unsigned)
{
}
static inline bool race_early_end()
{
    return false;
}
static inline void race_products_left()
{
}
static inline void race_fence(const char *, unsigned)
{
}
static inline void race_meet(const void *)
{
}
static inline void race_access(const void *, std::size_t, enum race_access,
                               const void *)
{
}
#endif

#endif
