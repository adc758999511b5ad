/* Memory set aside for when the system gives none.
 *
 * One region, mapped when it is opened: address space and, where the system
 * counts what it promises, a promise; its pages are made when they are first
 * used.  The daemon's malloc takes from it where the system's fails, so that what is
 * under way ends well (daemon/lecternd_malloc.c).  Slow beside the system's: it is
 * for the seconds of a shortage.
 *
 * All functions may be called by any thread. */
#ifndef BASE_SPARE_H
#define BASE_SPARE_H

#include <stdbool.h>
#include <stddef.h>

/* Sets `bytes` aside, once for the process.  False: the system has no such room,
 * or it was opened before; then all is as without it. */
bool spare_open(size_t bytes);

/* Called at each take, by the thread that takes, which may hold any lock: it must
 * not block or allocate. */
void spare_on_shortage(void (*notice)(void *context), void *context);

/* Aligned 16, not zeroed; NULL: there is not as much left. */
void *spare_take(size_t bytes);
/* The same; `alignment` is a power of two. */
void *spare_take_aligned(size_t alignment, size_t bytes);

/* Gives back what spare_take gave; false where it is not of the spare. */
bool spare_give(void *pointer);

/* Bytes that may be used at `pointer`; 0 where it is not of the spare. */
size_t spare_size(const void *pointer);

/* Bytes taken now, with their bookkeeping; 0: it is whole. */
size_t spare_used(void);

/* True while more than half is taken: nothing new is begun then. */
bool spare_is_low(void);

#endif
