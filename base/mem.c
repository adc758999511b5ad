#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    size_t used;
    _Alignas(16) unsigned char bytes[];
};

atomic_bool mem_exhausted;

static void *check(void *pointer)
{
    if (!pointer) {
        atomic_store(&mem_exhausted, true);
        fputs("out of memory\n", stderr);
        abort();
    }
    return pointer;
}

void *mem_alloc(size_t size)
{
    return check(calloc(1, size ? size : 1));
}

void *mem_resize(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (!mem_mul(count, size, &bytes))
        check(NULL);
    return check(realloc(old, bytes ? bytes : 1));
}

char *mem_strndup(const char *text, size_t size)
{
    char *copy = mem_alloc(size + 1);
    if (size)
        memcpy(copy, text, size);
    return copy;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

void *mem_grow(void *array, size_t *capacity, size_t count, size_t size)
{
    size_t grown = *capacity ? *capacity * 2 : 16;
    if (grown < count)
        grown = count;
    array = mem_resize(array, grown, size);
    *capacity = grown;
    return array;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t need;
    if (!mem_add(size, 15, &need))
        check(NULL);
    need &= ~(size_t)15;
    struct arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < need) {
        size_t room = chunk ? chunk->size * 2 : 4096;
        if (room > (size_t)1 << 20)
            room = (size_t)1 << 20;
        if (room < need)
            room = need;
        chunk = check(malloc(sizeof *chunk + room));
        chunk->next = arena->chunks;
        chunk->size = room;
        chunk->used = 0;
        arena->chunks = chunk;
    }
    void *result = chunk->bytes + chunk->used;
    chunk->used += need;
    arena->used += need;
    return memset(result, 0, need);
}

char *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

void arena_free(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->used = 0;
}
