/* malloc and its like, which take from what is set aside (base/spare.h) where the C
 * library has nothing.  They stand in the program, so that all libraries use them:
 * libuv and oneDNN end the process without memory, C++ throws, others are right to say
 * that something is damaged that they could not unpack.  Sanitizers have a malloc of
 * their own, which never fails. */
#include "daemon/lecternd_malloc.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void malloc_follow(void)
{
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/spare.h"

/* The C library's, by the names that need no look-up, which itself allocates. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*aligned)(size_t, size_t);
    size_t (*usable)(void *);
} next = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_memalign, NULL};

/* What dlsym finds, as what it is; nothing found leaves it as it was. */
static void follow(void *ret, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found)
        memcpy(ret, &found, sizeof found);
}

void malloc_follow(void)
{
    follow(&next.malloc, "malloc");
    follow(&next.calloc, "calloc");
    follow(&next.realloc, "realloc");
    follow(&next.aligned, "aligned_alloc");
    follow(&next.usable, "malloc_usable_size");
}

/* The C library's own names of parameters are reserved. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

void *malloc(size_t size)
{
    void *room = next.malloc(size);
    return room ? room : spare_take(size);
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *room = next.calloc(count, size);
    if (room || __builtin_mul_overflow(count, size, &bytes))
        return room;
    room = spare_take(bytes);
    return room ? memset(room, 0, bytes) : NULL;
}

void free(void *pointer)
{
    if (pointer && !spare_give(pointer))
        __libc_free(pointer);
}

size_t malloc_usable_size(void *pointer)
{
    size_t spare = pointer ? spare_size(pointer) : 0;
    return spare || !pointer || !next.usable ? spare : next.usable(pointer);
}

void *realloc(void *old, size_t size)
{
    size_t had = old ? spare_size(old) : 0;
    void *room = had ? next.malloc(size) : next.realloc(old, size);
    if (!room && size)
        room = spare_take(size);
    else if (!had)
        return room;
    if (!room || !old)
        return room;
    had = had ? had : malloc_usable_size(old);
    memcpy(room, old, had < size ? had : size);
    free(old);
    return room;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *room = next.aligned(alignment, size);
    return room ? room : spare_take_aligned(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    if (alignment < sizeof(void *) || alignment & (alignment - 1))
        return EINVAL;
    void *room = aligned_alloc(alignment, size);
    if (!room)
        return ENOMEM;
    *ret = room;
    return 0;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
