/* kernels/cuda, compiled as plain C++ and run by a processor (shim/
 * cuda_runtime.h): the logic of the kernels, no result of a GPU. */
#ifndef TESTS_CUDA_EMULATED_H
#define TESTS_CUDA_EMULATED_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, and why, where the sanitizer does not know fibres.  One thread only. */
const struct kernels *kernels_emulated(const char **ret_reason);

/* Small kernels that show what the emulation notices: thread i writes i to
 * shared memory and reads what thread i + 1 (of `count`, whole warps) wrote. */
enum emulated_test {
    EMULATED_RIGHT,
    EMULATED_NO_BARRIER,
    EMULATED_BARRIER_IN_PART, /* half of the threads come: aborts */
    EMULATED_SHUFFLE_IN_PART, /* half of a warp: aborts */
    EMULATED_COPY,            /* the same numbers, by asynchronous copies */
    EMULATED_COPY_NO_WAIT,    /* nobody waits for them: aborts */
    EMULATED_COPY_SOON,       /* waited for after they were read */
    EMULATED_EARLY,           /* begins while the kernel before ends */
    EMULATED_EARLY_NO_WAIT,   /* and does not wait for it: aborts */
    EMULATED_PUBLISHED,       /* a warpgroup's product of copies */
    EMULATED_NOT_PUBLISHED    /* whose left one is not published: aborts */
};
/* c [16, 8] = a [16, 16] . b [16, 8], all whole numbers that bf16 holds, by one
 * product of a warp.  b's fragments are read from rows of its transpose, by the
 * turning read from rows of b, or from these and turned in registers.  `swapped`: two
 * registers of a change places, which gives other numbers. */
enum emulated_turn {
    EMULATED_TURN_NONE,
    EMULATED_TURN_READ,
    EMULATED_TURN_KEPT,
    EMULATED_TURNS
};
void emulated_matmul_test(const float *a, const float *b, float *c,
                          enum emulated_turn turn, bool swapped);
void emulated_self_test(enum emulated_test test, int *out, unsigned count);

/* After so many more the next allocation finds no memory, or the next launch
 * does (the one alone), or is refused (the one alone), or it fails: as on a device
 * that shows in what is asked after it, and from then on always. */
enum emulated_failure {
    EMULATED_NO_MEMORY,
    EMULATED_LAUNCH_NO_MEMORY,
    EMULATED_LAUNCH_REFUSED,
    EMULATED_LAUNCH
};
void emulated_fail(enum emulated_failure failure, unsigned after);
/* How much memory the device says is free; no allocation fails any more. */
void emulated_memory(size_t bytes);
/* Whether there is no cuBLASLt, from now on. */
void emulated_without_blas(bool missing);
/* Whether the device is one without wgmma (kernels/cuda/cuda_warpgroup.h), from now
 * on. */
void emulated_without_warpgroups(bool missing);
/* How many scores of chunks a choice holds at once, from now on; 0: as on a device. */
void emulated_max_scores(size_t count);
/* Launches so far; cuBLASLt's are none. */
size_t emulated_launches(void);

/* Where cuBLASLt's plan for a product of these sizes is looked for first; four
 * are side by side. */
size_t emulated_plan_place(size_t m, size_t n, size_t k);

/* What was done with graphs so far; `refused`: none can be made. */
struct emulated_steps {
    size_t made, changed, started; /* graphs, nodes, graphs */
    size_t nodes;                  /* of the graph started last */
    size_t early; /* of these, those that begin while the one before ends */
    bool refused;
};
struct emulated_steps *emulated_steps_seen(void);

/* What a stream was asked for so far, and how often it was waited for; `undone`: of
 * launches, copies and memory given back, while streams are held. */
struct emulated_work {
    int priority;
    size_t launches, waits, undone;
};
/* 0: the runtime's own stream; then as they were made.  NULL: there are no more. */
const struct emulated_work *emulated_stream_seen(size_t at);

/* When streams do what they are asked for: at once; when somebody waits for them, and
 * not before; the same, but while one is waited for the others get on with theirs, now
 * and then, between two blocks of a kernel too.  at_wait (NULL: nothing) is called when
 * a stream is about to be waited for, and not while it is called.  What was held is done
 * before. */
enum emulated_order { EMULATED_AT_ONCE, EMULATED_HELD, EMULATED_MIXED };
void emulated_hold(enum emulated_order how, void (*at_wait)(void *context),
                   void *context);

#ifdef __cplusplus
}
#endif

#endif
