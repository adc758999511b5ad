#include "indexer/parse/html/dom/scratch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/mem.h"

enum { CHUNK = 1 << 18 };

struct scratch_chunk {
    struct scratch_chunk *next, *prev;
    size_t size; /* a multiple of CHUNK: more than one only for a large piece */
    size_t used;
    size_t pieces;
    _Alignas(16) unsigned char bytes[];
};

static struct scratch_chunk *map(size_t size)
{
    unsigned char *all = mmap(NULL, size + CHUNK, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        atomic_store(&mem_exhausted, true);
        fputs("out of memory\n", stderr);
        abort();
    }
    size_t before = -(uintptr_t)all & (CHUNK - 1);
    if (before)
        munmap(all, before);
    if (before < CHUNK)
        munmap(all + before + size, CHUNK - before);
    return (struct scratch_chunk *)(void *)(all + before);
}

static struct scratch_chunk *add_chunk(struct scratch *scratch, size_t need)
{
    size_t size = (sizeof(struct scratch_chunk) + need + CHUNK - 1) &
                  ~(size_t)(CHUNK - 1);
    struct scratch_chunk *chunk = map(size);
    chunk->size = size;
    chunk->used = sizeof *chunk;
    chunk->next = scratch->all;
    if (scratch->all)
        scratch->all->prev = chunk;
    scratch->all = chunk;
    return chunk;
}

static void remove_chunk(struct scratch *scratch, struct scratch_chunk *chunk)
{
    if (chunk->next)
        chunk->next->prev = chunk->prev;
    if (chunk->prev)
        chunk->prev->next = chunk->next;
    else
        scratch->all = chunk->next;
    if (scratch->now == chunk)
        scratch->now = NULL;
    munmap(chunk, chunk->size);
}

void *scratch_take(struct scratch *scratch, size_t size)
{
    size_t need = (size + 15) & ~(size_t)15;
    struct scratch_chunk *chunk = scratch->now;
    if (!chunk || chunk->size - chunk->used < need) {
        chunk = add_chunk(scratch, need);
        if (chunk->size == CHUNK)
            scratch->now = chunk;
    }
    void *piece = (unsigned char *)chunk + chunk->used;
    chunk->used += need;
    chunk->pieces++;
    return piece;
}

void scratch_give(struct scratch *scratch, void *piece)
{
    if (!piece)
        return;
    struct scratch_chunk *chunk =
        (void *)((uintptr_t)piece & ~(uintptr_t)(CHUNK - 1));
    if (--chunk->pieces)
        return;
    if (chunk == scratch->now)
        chunk->used = sizeof *chunk;
    else
        remove_chunk(scratch, chunk);
}

void scratch_free(struct scratch *scratch)
{
    while (scratch->all)
        remove_chunk(scratch, scratch->all);
}
