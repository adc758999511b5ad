#include "model/tokenizer/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

/* GPT-2's alphabet: a printable character of Latin-1 stands for its own byte,
 * the other 68 bytes are, in order, U+0100 and up. */
static bool own(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

static int byte_of(uint32_t code_point)
{
    if (code_point < 256)
        return own(code_point) ? (int)code_point : -1;
    uint32_t other = code_point - 256; /* of 0 to 0x20, 0x7F to 0xA0, 0xAD */
    return other <= 0x20 ? (int)other
           : other < 67  ? (int)(0x7F + other - 33)
           : other == 67 ? 0xAD
                         : -1;
}

bool byte_alphabet_decode(struct buf *buf, struct slice text)
{
    size_t before = buf->size;
    for (size_t at = 0, step; at < text.size; at += step) {
        int byte = byte_of(text_decode(text.data, text.size, at, &step));
        if (byte < 0) {
            buf->size = before;
            return false;
        }
        buf_put_byte(buf, byte);
    }
    return true;
}

/* Slots for so many things, at most half of them taken. */
static size_t slots_for(size_t count)
{
    size_t slots = 16;
    while (slots < count * 2)
        slots *= 2;
    return slots;
}

void vocabulary_init(struct vocabulary *v, size_t count, size_t merges,
                     bool plain, struct slice inside)
{
    *v = (struct vocabulary){.count = count, .plain = plain};
    buf_put_slice(&v->inside, inside);
    v->tokens = mem_alloc(count * sizeof *v->tokens);
    v->slot_count = slots_for(count);
    v->slots = mem_alloc(v->slot_count * sizeof *v->slots);
    v->merge_count = slots_for(merges);
    v->merges = mem_alloc(v->merge_count * sizeof *v->merges);
    for (size_t i = 0; i < v->merge_count; i++)
        v->merges[i].made = UINT32_MAX;
    for (size_t i = 0; i < 256; i++)
        v->byte[i] = VOCABULARY_NONE;
    v->whole = mem_alloc(count * sizeof *v->whole);
    buf_put(&v->bytes, "", 0);
}

void vocabulary_free(struct vocabulary *v)
{
    free(v->tokens);
    free(v->slots);
    free(v->merges);
    free(v->whole);
    buf_free(&v->bytes);
    buf_free(&v->inside);
    *v = (struct vocabulary){0};
}

enum { CLASS = TOKEN_BYTES | TOKEN_INSIDE };

enum { ID_BITS = 25 };
static const uint32_t ID_MASK = (1u << ID_BITS) - 1;

/* What a slot tells of the bytes of its token, so that most others are passed
 * without a look at the token. */
static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 57) << ID_BITS;
}

/* The slot where a token of the model of this class with these bytes is, or
 * would go. */
static size_t slot_of(const struct vocabulary *v, struct slice bytes,
                      uint64_t hash, uint32_t flags)
{
    size_t mask = v->slot_count - 1;
    size_t slot = (hash + flags) & mask;
    for (; v->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t in = v->slots[slot];
        int32_t id = (int32_t)(in & ID_MASK) - 1;
        if ((in & ~ID_MASK) == tag_of(hash) &&
            (v->tokens[id].flags & CLASS) == flags &&
            slice_equal(vocabulary_bytes(v, id), bytes))
            break;
    }
    return slot;
}

static void put_slot(struct vocabulary *v, int32_t id)
{
    struct slice bytes = vocabulary_bytes(v, id);
    uint64_t hash = hash_bytes64(bytes.data, bytes.size);
    size_t slot = slot_of(v, bytes, hash, v->tokens[id].flags & CLASS);
    v->slots[slot] = tag_of(hash) | ((uint32_t)id + 1);
}

static bool goes_on(const struct vocabulary *v, struct slice text)
{
    return v->inside.size && text.size > v->inside.size &&
           !memcmp(text.data, v->inside.data, v->inside.size);
}

/* The class of a token as it is written, and the bytes that it stands for. */
static uint32_t read_token(const struct vocabulary *v, struct slice text,
                           struct buf *bytes)
{
    if (!v->plain && byte_alphabet_decode(bytes, text))
        return TOKEN_BYTES;
    size_t from = v->plain && goes_on(v, text) ? v->inside.size : 0;
    buf_put(bytes, text.data + from, text.size - from);
    if (!v->plain)
        return 0;
    return from ? TOKEN_BYTES | TOKEN_INSIDE : TOKEN_BYTES;
}

/* Puts a token's bytes: those it stands for, or else its text. */
static int put(struct vocabulary *v, int32_t id, struct slice text,
               uint32_t flags, struct err *err)
{
    if (v->bytes.size + text.size > UINT32_MAX)
        return err_set(err, ERR_LIMIT, "the vocabulary has too much text");
    struct token_entry *token = &v->tokens[id];
    token->from = (uint32_t)v->bytes.size;
    token->flags = flags | TOKEN_KNOWN | read_token(v, text, &v->bytes);
    token->size = (uint32_t)v->bytes.size - token->from;
    if (token->size > v->longest)
        v->longest = token->size;
    return 0;
}

int vocabulary_fallback(const struct vocabulary *v, struct slice text)
{
    static const char digits[] = "0123456789ABCDEF";
    if (!v->plain || text.size != 6 || memcmp(text.data, "<0x", 3) != 0 ||
        text.data[5] != '>' || !text.data[3] || !text.data[4])
        return -1;
    const char *high = strchr(digits, text.data[3]);
    const char *low = strchr(digits, text.data[4]);
    return high && low ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

int vocabulary_add(struct vocabulary *v, int32_t id, struct slice text,
                   struct err *err)
{
    if (v->tokens[id].flags)
        return err_set(err, ERR_FORMAT, "two tokens have the id %d", (int)id);
    int code = put(v, id, text, TOKEN_MODEL, err);
    if (code)
        return code;
    uint32_t flags = v->tokens[id].flags & CLASS;
    struct slice bytes = vocabulary_bytes(v, id);
    put_slot(v, id);
    if (!v->plain && flags && bytes.size == 1)
        v->byte[(unsigned char)bytes.data[0]] = id;
    if (vocabulary_fallback(v, text) >= 0)
        v->byte[vocabulary_fallback(v, text)] = id;
    return 0;
}

int vocabulary_add_whole(struct vocabulary *v, int32_t id, struct slice text,
                         bool special, struct err *err)
{
    uint32_t flag = special ? TOKEN_SPECIAL : 0;
    if (v->tokens[id].flags) {
        struct buf bytes = {0};
        read_token(v, text, &bytes);
        bool same = slice_equal(buf_slice(&bytes), vocabulary_bytes(v, id));
        buf_free(&bytes);
        if (!same)
            return err_set(err, ERR_FORMAT,
                           "the added token %.*s has the id %d of another",
                           (int)text.size, text.data, (int)id);
        v->tokens[id].flags |= flag;
        return 0;
    }
    return put(v, id, text, flag, err);
}

static int32_t find(const struct vocabulary *v, struct slice bytes,
                    uint32_t flags)
{
    uint64_t hash = hash_bytes64(bytes.data, bytes.size);
    return (int32_t)(v->slots[slot_of(v, bytes, hash, flags)] & ID_MASK) - 1;
}

int32_t vocabulary_of_bytes(const struct vocabulary *v, struct slice bytes)
{
    return find(v, bytes, TOKEN_BYTES);
}

int32_t vocabulary_inside(const struct vocabulary *v, struct slice bytes)
{
    return find(v, bytes, TOKEN_BYTES | TOKEN_INSIDE);
}

int32_t vocabulary_find(const struct vocabulary *v, struct slice text)
{
    struct buf bytes = {0};
    uint32_t class = read_token(v, text, &bytes);
    int32_t id = find(v, buf_slice(&bytes), class);
    buf_free(&bytes);
    return id;
}

void vocabulary_write(const struct vocabulary *v, int32_t id, struct buf *buf)
{
    if (v->tokens[id].flags & TOKEN_INSIDE)
        buf_put_slice(buf, buf_slice(&v->inside));
    buf_put_slice(buf, vocabulary_bytes(v, id));
}

static size_t merge_slot(const struct vocabulary *v, uint64_t pair)
{
    size_t mask = v->merge_count - 1;
    uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
    size_t slot = (mixed ^ mixed >> 32) & mask;
    while (v->merges[slot].made != UINT32_MAX && v->merges[slot].pair != pair)
        slot = (slot + 1) & mask;
    return slot;
}

const struct merge *vocabulary_merge(const struct vocabulary *v, uint32_t left,
                                     uint32_t right)
{
    uint64_t pair = (uint64_t)left << 32 | right;
    const struct merge *merge = &v->merges[merge_slot(v, pair)];
    return merge->made == UINT32_MAX ? NULL : merge;
}

static int no_token(struct err *err, uint32_t rank, const char *what,
                    struct slice text)
{
    return err_set(err, ERR_FORMAT,
                   "merge %u %s \"%.*s\", which is not in the vocabulary",
                   (unsigned)rank, what,
                   (int)(text.size < 100 ? text.size : 100), text.data);
}

int vocabulary_add_merge(struct vocabulary *v, uint32_t rank, struct slice left,
                         struct slice right, struct err *err)
{
    int32_t l = vocabulary_find(v, left), r = vocabulary_find(v, right);
    if (l < 0)
        return no_token(err, rank, "takes", left);
    if (r < 0)
        return no_token(err, rank, "takes", right);
    struct buf both = {0};
    buf_put_slice(&both, left);
    buf_put_slice(&both, right);
    int32_t made = vocabulary_find(v, buf_slice(&both));
    int code = made < 0 ? no_token(err, rank, "makes", buf_slice(&both)) : 0;
    buf_free(&both);
    if (code)
        return code;
    uint64_t pair = (uint64_t)(uint32_t)l << 32 | (uint32_t)r;
    v->merges[merge_slot(v, pair)] = (struct merge){pair, rank, (uint32_t)made};
    return 0;
}
