/* A pool of threads.  Who waits looks for 40 microseconds, then sleeps in the kernel:
 * between the products of one token a wake-up costs more than the product.  The caller
 * works too, threads that come late find nothing left and go back, and where others
 * want the cores (the caller waited long for what has more pieces than threads) it works
 * alone for a tenth of a second. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <pthread.h>
#include <stddef.h>

#include "base/err.h"

struct pool;

/* Starts a thread with 4 MB of stack, whatever the limits of the process say:
 * bodies take up to 1.6 MB (kernels/kernels.h).  The pool's own are such, and who
 * shares work out does a part of it, and should be.  0, or an error as errno's. */
int pool_thread(pthread_t *ret, void *(*run)(void *), void *context);

/* The cores that this process may use. */
unsigned pool_cores(void);

/* `threads` counts the caller; 0: as many as there are cores. */
int pool_new(unsigned threads, struct pool **ret, struct err *err);
void pool_free(struct pool *pool); /* NULL: ok; nothing may run in it */

unsigned pool_threads(const struct pool *pool);

/* Calls body(argument, from, to) for ranges that cover [0, count) exactly once,
 * at most four a thread, and returns when all are done; what they wrote is
 * then visible.  When the pool is busy, within `body` itself or from another
 * thread, or its cores are, the caller runs the whole range alone.  The first argument is a
 * `struct pool *`, so that the function fits where a `void *` context does. */
void pool_parallel_for(void *context, size_t count,
                       void (*body)(void *argument, size_t from, size_t to),
                       void *argument);

#endif
