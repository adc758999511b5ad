#include "memory/embeddings/word_ids.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    WAYS = 2, /* slots of a place, of one line of memory */
    PLACES = 1 << 17,
    PARTS = 3, /* of a slot's ids */
    ID_BITS = 16,
    IN_PART = 64 / ID_BITS,
    MOST = PARTS * IN_PART - 1, /* ids of a word that is kept */
    MAX_ID = 0xFFFF,            /* the greatest that is */
    WORDS = 32                  /* whose places are fetched at once */
};

/* Half of a word's hash and its ids, which threads write over each other: `check` is it
 * with the others folded in, so that what was written in part by two is not found
 * (the hash tables of chess programs: Hyatt and Mann, 2002). */
struct slot {
    _Atomic uint64_t check;
    _Atomic uint64_t
        parts[PARTS]; /* 16 bits an id; highest 16: their count + 1 */
};

struct word_ids {
    struct slot (*places)[WAYS]; /* [PLACES] within: */
    void *memory;
};

struct word_ids *word_ids_new(void)
{
    struct word_ids *words = mem_alloc(sizeof *words);
    size_t place = sizeof *words->places;
    words->memory = mem_alloc((PLACES + 1) * place);
    words->places =
        (void *)(((uintptr_t)words->memory + place - 1) / place * place);
    return words;
}

void word_ids_free(struct word_ids *words)
{
    if (!words)
        return;
    free(words->memory);
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

static struct slot *place_of(struct word_ids *words, struct hash128 hash)
{
    return words->places[hash.high % PLACES];
}

static bool find_in(struct slot *slot, struct hash128 hash,
                    struct embed_ids *ids)
{
    uint64_t parts[PARTS], check = load(&slot->check);
    for (size_t p = 0; p < PARTS; p++)
        check ^= parts[p] = load(&slot->parts[p]);
    size_t count = parts[PARTS - 1] >> (IN_PART - 1) * ID_BITS;
    if (check != hash.low || !count || count > MOST + 1)
        return false;
    MEM_RESERVE(ids->ids, &ids->capacity, ids->count + MOST);
    for (size_t i = 0; i + 1 < count; i++)
        ids->ids[ids->count++] =
            (int32_t)(parts[i / IN_PART] >> i % IN_PART * ID_BITS & MAX_ID);
    return true;
}

static bool find(struct word_ids *words, struct hash128 hash,
                 struct embed_ids *ids)
{
    struct slot *place = place_of(words, hash);
    for (size_t way = 0; way < WAYS; way++)
        if (find_in(&place[way], hash, ids))
            return true;
    return false;
}

/* One that is free, or any. */
static struct slot *slot_for(struct word_ids *words, struct hash128 hash)
{
    struct slot *place = place_of(words, hash);
    for (size_t way = 0; way < WAYS; way++)
        if (!load(&place[way].parts[PARTS - 1]))
            return &place[way];
    return &place[hash.low % WAYS];
}

static void keep(struct word_ids *words, struct hash128 hash,
                 const int32_t *ids, size_t count)
{
    uint64_t parts[PARTS] = {0}, check = hash.low;
    if (count > MOST)
        return;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] > MAX_ID)
            return;
        parts[i / IN_PART] |= (uint64_t)ids[i] << i % IN_PART * ID_BITS;
    }
    parts[PARTS - 1] |= (uint64_t)(count + 1) << (IN_PART - 1) * ID_BITS;
    struct slot *slot = slot_for(words, hash);
    for (size_t p = 0; p < PARTS; p++) {
        save(&slot->parts[p], parts[p]);
        check ^= parts[p];
    }
    save(&slot->check, check);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t';
}

struct word {
    struct slice text;
    struct hash128 hash;
};

/* The next words of the text from *at on; what is waited for is their places' lines of
 * memory. */
static size_t next_words(struct word_ids *words, struct slice text, size_t *at,
                         struct word ret[WORDS])
{
    size_t count = 0;
    for (size_t end; *at < text.size && count < WORDS; *at = end + 1) {
        for (end = *at; end < text.size && !is_space(text.data[end]);)
            end++;
        if (end == *at)
            continue;
        struct word *word = &ret[count++];
        word->text = (struct slice){text.data + *at, end - *at};
        word->hash = hash_bytes(word->text.data, word->text.size);
        __builtin_prefetch(place_of(words, word->hash));
    }
    return count;
}

int word_ids_add(struct word_ids *words, const struct embedder *model,
                 struct slice text, struct embed_ids *ids, struct err *err)
{
    struct word some[WORDS] __attribute__((uninitialized));
    size_t at = 0, count;
    int code = 0;
    while (!code && (count = next_words(words, text, &at, some))) {
        for (size_t i = 0; i < count && !code; i++) {
            size_t from = ids->count;
            if (find(words, some[i].hash, ids))
                continue;
            code = model->tokenize(model->context, some[i].text, ids, err);
            if (!code)
                keep(words, some[i].hash, ids->ids + from, ids->count - from);
        }
    }
    return code;
}
