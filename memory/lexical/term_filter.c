#include "memory/lexical/term_filter.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum { BITS = 4, TERMS_A_WORD = 4 /* so 16 bits each */ };

struct term_filter {
    uint64_t *words; /* [count] */
    size_t count;
};

struct hashes {
    uint64_t *items;
    size_t count, capacity;
};

static bool take_term(void *context, struct slice term, size_t size)
{
    struct hashes *hashes = context;
    (void)size;
    MEM_RESERVE(hashes->items, &hashes->capacity, hashes->count + 1);
    hashes->items[hashes->count++] = hash_bytes64(term.data, term.size);
    return true;
}

/* Where the bits of a term lie, and which they are: by the upper half of its hash, and
 * by the lower. */
static uint64_t *word_of(const struct term_filter *filter, uint64_t hash)
{
    return &filter->words[(hash >> 32) * filter->count >> 32];
}

static uint64_t bits_of(uint64_t hash)
{
    uint64_t bits = 0;
    for (int i = 0; i < BITS; i++, hash >>= 6)
        bits |= (uint64_t)1 << (hash & 63);
    return bits;
}

int term_filter_read(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                     struct term_filter **ret, struct err *err)
{
    struct hashes hashes = {0};
    int code = store_each_term(txn, manual, epoch, slice_of(""), take_term,
                               &hashes, err);
    if (!code) {
        struct term_filter *filter = mem_alloc(sizeof *filter);
        filter->count = hashes.count / TERMS_A_WORD + 1;
        filter->words = mem_alloc(filter->count * sizeof *filter->words);
        for (size_t i = 0; i < hashes.count; i++)
            *word_of(filter, hashes.items[i]) |= bits_of(hashes.items[i]);
        *ret = filter;
    }
    free(hashes.items);
    return code;
}

void term_filter_free(struct term_filter *filter)
{
    if (!filter)
        return;
    free(filter->words);
    free(filter);
}

bool term_filter_may_have(const struct term_filter *filter, struct slice term)
{
    if (!filter)
        return true;
    uint64_t hash = hash_bytes64(term.data, term.size), bits = bits_of(hash);
    return (*word_of(filter, hash) & bits) == bits;
}
