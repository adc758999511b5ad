/* What the emulation tells the race detector of BUILD=race (race.cc); in other
 * builds nobody listens. */
#ifndef TESTS_CUDA_RACE_H
#define TESTS_CUDA_RACE_H

#include <cstddef>

enum race_access { RACE_READ, RACE_WRITE, RACE_ATOMIC, RACE_COPY, RACE_COPIED };

#ifdef EMULATED_RACES
/* A launch begins, of a graph's start `step` (0: of none); one of its blocks; a block
 * ends. */
void race_launch(unsigned step);
void race_block(unsigned number);
void race_block_end();
/* Where the fibres' own stacks lie, which no other thread sees. */
void race_stacks(const void *at, std::size_t bytes);
/* The running thread has passed a barrier of its block, or warp, or has waited for
 * copies (the answer: whether that counts); the place is the kernel's. */
void race_block_barrier(const char *file, unsigned line);
void race_warp_barrier(const char *file, unsigned line);
bool race_waits(const char *file, unsigned line);
/* The same of the wait for the kernels before; and of a thread that ends without it:
 * whether that was written down. */
bool race_waits_for_earlier(const char *file, unsigned line);
bool race_early_end();
/* The running thread's earlier accesses are seen before its later ones; and it met the
 * blocks that were at that place before, by an atomic. */
void race_fence(const char *file, unsigned line);
void race_meet(const void *at);
/* The running thread's access, for the caller's caller.  RACE_COPY: a copy into it
 * begins; RACE_COPIED: has ended. */
void race_access(const void *at, std::size_t bytes, enum race_access how,
                 const void *from);
#else
static inline void race_launch(unsigned)
{
}
static inline void race_block(unsigned)
{
}
static inline void race_block_end()
{
}
static inline void race_stacks(const void *, std::size_t)
{
}
static inline void race_block_barrier(const char *, unsigned)
{
}
static inline void race_warp_barrier(const char *, unsigned)
{
}
static inline bool race_waits(const char *, unsigned)
{
    return true;
}
static inline bool race_waits_for_earlier(const char *, unsigned)
{
    return true;
}
static inline bool race_early_end()
{
    return false;
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
