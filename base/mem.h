/* Memory: allocation that cannot fail quietly, an arena, checked arithmetic.
 *
 * mem_* end the process with a message when the system has no memory left:
 * sizes taken from input are checked against limits before they get here. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True once such an end is near: a handler of SIGABRT may ask. */
extern atomic_bool mem_exhausted;

void *mem_alloc(size_t size);                           /* zeroed */
void *mem_resize(void *old, size_t count, size_t size); /* tail not zeroed */
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t size);

/* Grows an array, whose capacity in items is *capacity, so that it holds `count`.
 * Doubles, so that appending is linear in all:
 *     MEM_RESERVE(list->items, &list->capacity, list->count + 1); */
#define MEM_RESERVE(array, capacity, count)                                    \
    ((array) = mem_reserve((array), (capacity), (count), sizeof *(array)))
/* Returns the array of `size`-byte items, grown; its old address is gone. */
__attribute__((warn_unused_result)) void *mem_grow(void *array,
                                                   size_t *capacity,
                                                   size_t count, size_t size);
__attribute__((warn_unused_result)) static inline void *mem_reserve(
    void *array, size_t *capacity, size_t count, size_t size)
{
    return count <= *capacity ? array : mem_grow(array, capacity, count, size);
}

/* False when the result does not fit. */
static inline bool mem_add(size_t a, size_t b, size_t *result)
{
    return !__builtin_add_overflow(a, b, result);
}
static inline bool mem_mul(size_t a, size_t b, size_t *result)
{
    return !__builtin_mul_overflow(a, b, result);
}

/* Arena: many small allocations, freed at once.  Zero-initialise it. */
struct arena {
    struct arena_chunk *chunks;
    size_t used; /* bytes handed out in all */
};

void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned 16 */
char *arena_copy(struct arena *arena, const void *bytes, size_t size);
/* copies and adds a terminating NUL */
void arena_free(struct arena *arena);

#endif
