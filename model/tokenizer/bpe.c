#include "model/tokenizer/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SHORT = 32 };
static const uint32_t GONE = UINT32_MAX;

struct bpe_symbol {
    uint32_t id;            /* by ranks its bytes; GONE: merged into the one
                               before */
    uint32_t before, after; /* index, or GONE */
    uint32_t from;          /* by ranks: where it begins */
};

/* A merge that was possible when it was put: it still is when the symbol at
 * `at` and the one after have these ids, or by ranks these sizes. */
struct bpe_entry {
    uint32_t rank, at;
    uint32_t left, right, made;
};

void ids_put(struct ids *ids, int32_t id)
{
    MEM_RESERVE(ids->items, &ids->capacity, ids->count + 1);
    ids->items[ids->count++] = id;
}

void ids_free(struct ids *ids)
{
    free(ids->items);
    *ids = (struct ids){0};
}

void bpe_scratch_free(struct bpe_scratch *scratch)
{
    free(scratch->symbols);
    free(scratch->heap);
    *scratch = (struct bpe_scratch){0};
}

/* ---- Words ---- */

static const char mark[] = "\xE2\x96\x81"; /* U+2581 */
enum { MARK = sizeof mark - 1 };

/* Where the word ends that begins at `at`: its marks and all up to the next. */
static size_t word_end(struct slice text, size_t at)
{
    while (text.size - at >= MARK && !memcmp(text.data + at, mark, MARK))
        at += MARK;
    const char *next = memmem(text.data + at, text.size - at, mark, MARK);
    return next ? (size_t)(next - text.data) : text.size;
}

/* What no merge goes over can be encoded by itself: what is left of it and what
 * is right of it merge in the order in which they would alone. */
static bool merges_stay_in_words(const struct bpe *bpe)
{
    const struct vocabulary *v = bpe->vocabulary;
    for (size_t i = 0; bpe->ranks && i < v->count; i++) {
        struct slice made = vocabulary_bytes(v, (int32_t)i);
        if (bpe->ranks[i] != BPE_NO_RANK && word_end(made, 0) < made.size)
            return false;
    }
    if (!v->plain || vocabulary_of_bytes(v, (struct slice){mark, MARK}) < 0)
        return false;
    for (size_t i = 0; i < v->merge_count; i++) {
        if (v->merges[i].made == UINT32_MAX)
            continue;
        struct slice made = vocabulary_bytes(v, (int32_t)v->merges[i].made);
        if (word_end(made, 0) < made.size)
            return false;
    }
    return true;
}

void bpe_seal(struct bpe *bpe)
{
    bpe->words = merges_stay_in_words(bpe);
    for (size_t i = 0; i < 128; i++) {
        char c = (char)i;
        bpe->ascii[i] =
            vocabulary_of_bytes(bpe->vocabulary, (struct slice){&c, 1});
    }
}

void bpe_free(struct bpe *bpe)
{
    free(bpe->ranks);
}

/* Walks over what a piece begins with. */
struct walk {
    const struct bpe *bpe;
    struct slice piece;
    size_t at;    /* the next byte */
    size_t bytes; /* of a character, that are still to come one by one */
    bool unknown; /* what came last had no token */
};

static int32_t unknown_of(struct walk *walk)
{
    bool again = walk->unknown && walk->bpe->fuse_unknown;
    walk->unknown = true;
    return again ? VOCABULARY_NONE : walk->bpe->unknown;
}

static size_t character(struct slice text, size_t at)
{
    size_t end = at + 1;
    while (end < text.size && ((unsigned char)text.data[end] & 0xC0) == 0x80)
        end++;
    return end - at;
}

static bool has_bytes(const struct vocabulary *v, const char *bytes,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (v->byte[(unsigned char)bytes[i]] < 0)
            return false;
    return true;
}

static int32_t next_character(struct walk *walk)
{
    const struct bpe *bpe = walk->bpe;
    const char *from = walk->piece.data + walk->at;
    size_t size = character(walk->piece, walk->at);
    int32_t id;
    if (size == 1 && (unsigned char)*from < 128)
        id = bpe->ascii[(unsigned char)*from];
    else
        id = vocabulary_of_bytes(bpe->vocabulary, (struct slice){from, size});
    if (id < 0 && bpe->fall_back && has_bytes(bpe->vocabulary, from, size)) {
        walk->bytes = size;
        return VOCABULARY_NONE;
    }
    walk->at += size;
    if (id < 0)
        return unknown_of(walk);
    walk->unknown = false;
    return id;
}

/* The token of the next byte or character; none: there is nothing to add.
 * Call while `at` is within the piece. */
static inline int32_t next_symbol(struct walk *walk)
{
    const struct vocabulary *v = walk->bpe->vocabulary;
    if (v->plain && !walk->bytes) {
        int32_t id = next_character(walk);
        if (id >= 0 || !walk->bytes)
            return id;
    }
    int32_t id = v->byte[(unsigned char)walk->piece.data[walk->at++]];
    walk->bytes -= walk->bytes > 0;
    if (id < 0)
        return unknown_of(walk);
    walk->unknown = false;
    return id;
}

/* Short pieces: look at all neighbours again after each merge. */
static void encode_short(const struct bpe *bpe, struct slice piece,
                         struct ids *out)
{
    uint32_t ids[SHORT];
    const struct merge *merges[SHORT]; /* of i and i + 1 */
    size_t count = 0;
    struct walk walk = {.bpe = bpe, .piece = piece};
    while (walk.at < piece.size) {
        int32_t id = next_symbol(&walk);
        if (id >= 0)
            ids[count++] = (uint32_t)id;
    }
    for (size_t i = 0; i + 1 < count; i++)
        merges[i] = vocabulary_merge(bpe->vocabulary, ids[i], ids[i + 1]);
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i + 1 < count; i++)
            if (merges[i] &&
                (best == SIZE_MAX || merges[i]->rank < merges[best]->rank))
                best = i;
        if (best == SIZE_MAX)
            break;
        ids[best] = merges[best]->made;
        count--;
        memmove(ids + best + 1, ids + best + 2,
                (count - best - 1) * sizeof *ids);
        if (best + 1 < count) {
            memmove(merges + best + 1, merges + best + 2,
                    (count - best - 2) * sizeof *merges);
            merges[best] =
                vocabulary_merge(bpe->vocabulary, ids[best], ids[best + 1]);
        }
        if (best > 0)
            merges[best - 1] =
                vocabulary_merge(bpe->vocabulary, ids[best - 1], ids[best]);
    }
    for (size_t i = 0; i < count; i++)
        ids_put(out, (int32_t)ids[i]);
}

static bool before(const struct bpe_entry *a, const struct bpe_entry *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_put(struct bpe_scratch *s, struct bpe_entry entry)
{
    MEM_RESERVE(s->heap, &s->heap_capacity, s->heap_count + 1);
    size_t i = s->heap_count++;
    while (i > 0 && before(&entry, &s->heap[(i - 1) / 2])) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = entry;
}

static struct bpe_entry heap_take(struct bpe_scratch *s)
{
    struct bpe_entry top = s->heap[0], last = s->heap[--s->heap_count];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < s->heap_count) {
        if (child + 1 < s->heap_count &&
            before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!before(&s->heap[child], &last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    if (s->heap_count)
        s->heap[i] = last;
    return top;
}

static void offer(const struct bpe *bpe, struct bpe_scratch *s, uint32_t at)
{
    if (at == GONE || s->symbols[at].after == GONE)
        return;
    uint32_t left = s->symbols[at].id,
             right = s->symbols[s->symbols[at].after].id;
    const struct merge *merge = vocabulary_merge(bpe->vocabulary, left, right);
    if (merge)
        heap_put(s,
                 (struct bpe_entry){merge->rank, at, left, right, merge->made});
}

static void apply(const struct bpe *bpe, struct bpe_scratch *s,
                  const struct bpe_entry *entry)
{
    struct bpe_symbol *left = &s->symbols[entry->at];
    if (left->id != entry->left || left->after == GONE ||
        s->symbols[left->after].id != entry->right)
        return;
    struct bpe_symbol *right = &s->symbols[left->after];
    left->id = entry->made;
    left->after = right->after;
    right->id = GONE;
    if (left->after != GONE)
        s->symbols[left->after].before = entry->at;
    offer(bpe, s, left->before);
    offer(bpe, s, entry->at);
}

/* Long pieces (a megabyte of spaces is one): a heap of the possible merges. */
static void encode_long(const struct bpe *bpe, struct slice piece,
                        struct bpe_scratch *s, struct ids *out)
{
    MEM_RESERVE(s->symbols, &s->symbol_capacity, piece.size);
    uint32_t count = 0;
    struct walk walk = {.bpe = bpe, .piece = piece};
    while (walk.at < piece.size) {
        int32_t id = next_symbol(&walk);
        if (id < 0)
            continue;
        s->symbols[count] = (struct bpe_symbol){
            (uint32_t)id, count ? count - 1 : GONE, count + 1, 0};
        count++;
    }
    if (count)
        s->symbols[count - 1].after = GONE;
    s->heap_count = 0;
    for (uint32_t i = 0; i < count; i++)
        offer(bpe, s, i);
    while (s->heap_count) {
        struct bpe_entry entry = heap_take(s);
        apply(bpe, s, &entry);
    }
    for (uint32_t i = 0; count && i != GONE; i = s->symbols[i].after)
        ids_put(out, (int32_t)s->symbols[i].id);
}

/* ---- By ranks ---- */

static void offer_text(const struct bpe *bpe, struct slice piece,
                       struct bpe_scratch *s, uint32_t at)
{
    if (at == GONE || s->symbols[at].after == GONE)
        return;
    const struct bpe_symbol *left = &s->symbols[at],
                            *right = &s->symbols[left->after];
    struct slice both = {piece.data + left->from, left->id + right->id};
    int32_t made = vocabulary_of_bytes(bpe->vocabulary, both);
    if (made >= 0 && bpe->ranks[made] != BPE_NO_RANK)
        heap_put(s, (struct bpe_entry){bpe->ranks[made], at, left->id,
                                       right->id, (uint32_t)both.size});
}

static void apply_text(const struct bpe *bpe, struct slice piece,
                       struct bpe_scratch *s, const struct bpe_entry *entry)
{
    struct bpe_symbol *left = &s->symbols[entry->at];
    if (left->id != entry->left || left->after == GONE ||
        s->symbols[left->after].id != entry->right)
        return;
    struct bpe_symbol *right = &s->symbols[left->after];
    left->id = entry->made;
    left->after = right->after;
    right->id = GONE;
    if (left->after != GONE)
        s->symbols[left->after].before = entry->at;
    offer_text(bpe, piece, s, left->before);
    offer_text(bpe, piece, s, entry->at);
}

/* A token, or what there is instead of one character. */
static void put_text(const struct bpe *bpe, struct slice text, struct ids *out)
{
    int32_t id = vocabulary_of_bytes(bpe->vocabulary, text);
    if (id >= 0) {
        ids_put(out, id);
        return;
    }
    struct walk walk = {.bpe = bpe, .piece = text};
    while (walk.at < text.size)
        if ((id = next_symbol(&walk)) >= 0)
            ids_put(out, id);
}

static void encode_by_ranks(const struct bpe *bpe, struct slice piece,
                            struct bpe_scratch *s, struct ids *out)
{
    uint32_t count = 0, size;
    MEM_RESERVE(s->symbols, &s->symbol_capacity, piece.size + 1);
    for (uint32_t at = 0; at < piece.size; at += size) {
        size = (uint32_t)character(piece, at);
        s->symbols[count] =
            (struct bpe_symbol){size, count ? count - 1 : GONE, count + 1, at};
        count++;
    }
    if (count)
        s->symbols[count - 1].after = GONE;
    s->heap_count = 0;
    for (uint32_t i = 0; i < count; i++)
        offer_text(bpe, piece, s, i);
    while (s->heap_count) {
        struct bpe_entry entry = heap_take(s);
        apply_text(bpe, piece, s, &entry);
    }
    for (uint32_t i = 0; count && i != GONE; i = s->symbols[i].after)
        put_text(
            bpe,
            (struct slice){piece.data + s->symbols[i].from, s->symbols[i].id},
            out);
}

/* `as_token`: if it is one, it is that. */
static void encode(const struct bpe *bpe, struct slice piece, bool as_token,
                   struct bpe_scratch *scratch, struct ids *ids)
{
    int32_t id = vocabulary_of_bytes(bpe->vocabulary, piece);
    unsigned char whole = 0;
    if (id >= 0) {
        whole = atomic_load_explicit(&bpe->vocabulary->whole[id],
                                     memory_order_relaxed);
        if (as_token || whole == 1) {
            ids_put(ids, id);
            return;
        }
    }
    size_t from = ids->count;
    if (bpe->ranks)
        encode_by_ranks(bpe, piece, scratch, ids);
    else if (piece.size <= SHORT)
        encode_short(bpe, piece, ids);
    else
        encode_long(bpe, piece, scratch, ids);
    if (id >= 0 && whole == 0)
        atomic_store_explicit(
            &bpe->vocabulary->whole[id],
            ids->count == from + 1 && ids->items[from] == id ? 1 : 2,
            memory_order_relaxed);
}

void bpe_encode(const struct bpe *bpe, struct slice piece,
                struct bpe_scratch *scratch, struct ids *ids)
{
    size_t end = bpe->words ? word_end(piece, 0) : piece.size;
    if (end == piece.size ||
        (bpe->ignore_merges &&
         vocabulary_of_bytes(bpe->vocabulary, piece) >= 0)) {
        encode(bpe, piece, bpe->ignore_merges, scratch, ids);
        return;
    }
    for (size_t at = 0; at < piece.size; at = end) {
        end = word_end(piece, at);
        encode(bpe, (struct slice){piece.data + at, end - at}, false, scratch,
               ids);
    }
}
