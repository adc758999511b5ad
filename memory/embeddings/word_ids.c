#include "memory/embeddings/word_ids.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    SLOTS = 1 << 17,
    MOST = 7,        /* ids of a word that is kept */
    MAX_ID = 0xFFFF, /* the greatest that is */
    ID_BITS = 16
};

/* Half of a word's hash and its ids, which threads write over each other: `check` is it
 * with both others folded in, so that what was written in part by two is not found
 * (the hash tables of chess programs: Hyatt and Mann, 2002). */
struct slot {
    _Atomic uint64_t check;
    _Atomic uint64_t low, high; /* 16 bits an id; highest 16: their count + 1 */
};

struct word_ids {
    struct slot slots[SLOTS];
};

struct word_ids *word_ids_new(void)
{
    return mem_alloc(sizeof(struct word_ids));
}

void word_ids_free(struct word_ids *words)
{
    free(words);
}

static uint64_t load(_Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void save(_Atomic uint64_t *value, uint64_t now)
{
    atomic_store_explicit(value, now, memory_order_relaxed);
}

static bool find(struct word_ids *words, struct hash128 hash,
                 struct embed_ids *ids)
{
    struct slot *slot = &words->slots[hash.high % SLOTS];
    uint64_t low = load(&slot->low), high = load(&slot->high);
    size_t count = high >> 3 * ID_BITS;
    if ((load(&slot->check) ^ low ^ high) != hash.low || !count)
        return false;
    MEM_RESERVE(ids->ids, &ids->capacity, ids->count + MOST);
    for (size_t i = 0; i + 1 < count; i++) {
        ids->ids[ids->count++] =
            (int32_t)((i < 4 ? low >> i * ID_BITS : high >> (i - 4) * ID_BITS) &
                      MAX_ID);
    }
    return true;
}

static void keep(struct word_ids *words, struct hash128 hash,
                 const int32_t *ids, size_t count)
{
    struct slot *slot = &words->slots[hash.high % SLOTS];
    uint64_t low = 0, high = (uint64_t)(count + 1) << 3 * ID_BITS;
    if (count > MOST)
        return;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] > MAX_ID)
            return;
        if (i < 4)
            low |= (uint64_t)ids[i] << i * ID_BITS;
        else
            high |= (uint64_t)ids[i] << (i - 4) * ID_BITS;
    }
    save(&slot->low, low);
    save(&slot->high, high);
    save(&slot->check, hash.low ^ low ^ high);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t';
}

int word_ids_add(struct word_ids *words, const struct embedder *model,
                 struct slice text, struct embed_ids *ids, struct err *err)
{
    int code = 0;
    for (size_t at = 0, end; at < text.size && !code; at = end + 1) {
        for (end = at; end < text.size && !is_space(text.data[end]);)
            end++;
        struct slice word = {text.data + at, end - at};
        struct hash128 hash = hash_bytes(word.data, word.size);
        size_t from = ids->count;
        if (!word.size || find(words, hash, ids))
            continue;
        code = model->tokenize(model->context, word, ids, err);
        if (!code)
            keep(words, hash, ids->ids + from, ids->count - from);
    }
    return code;
}
