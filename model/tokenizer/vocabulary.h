/* The vocabulary of a tokenizer: tokens as the bytes they stand for, merges by
 * the pair of ids.  Filled once while loading, read only (but for `whole`, which
 * remembers) from then on.
 *
 * The files of byte-level tokenizers write tokens in GPT-2's alphabet of 256
 * characters, one for each byte; all others as they are. */
#ifndef MODEL_TOKENIZER_VOCABULARY_H
#define MODEL_TOKENIZER_VOCABULARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { VOCABULARY_MAX = 1 << 24, VOCABULARY_NONE = -1 };

enum token_flag {
    TOKEN_KNOWN = 1,   /* there is a token of this id */
    TOKEN_BYTES = 2,   /* text can become it: written in the byte alphabet, or
                          of a vocabulary that is not */
    TOKEN_SPECIAL = 4, /* left out of decoded text on request */
    TOKEN_MODEL = 8,   /* of the model's vocabulary, not only an added one */
    TOKEN_INSIDE = 16  /* goes on a word: written with `inside` before it */
};

struct merge {
    uint64_t pair; /* left id << 32 | right id */
    uint32_t rank;
    uint32_t made; /* id; UINT32_MAX: the slot is free */
};

struct vocabulary {
    bool plain;        /* tokens are written as they are */
    struct buf inside; /* "##": before what goes on a word; empty: nothing */
    size_t longest;    /* bytes of a token */
    size_t count;      /* every id is below */
    struct token_entry {
        uint32_t from, size; /* in `bytes` */
        uint32_t flags;
    } * tokens; /* [count] */
    struct buf bytes;
    uint32_t *slots; /* open addressing by bytes: id + 1 in the lower 25 bits,
                        seven of the hash's; 0: free */
    size_t slot_count;
    struct merge *merges; /* open addressing by pair */
    size_t merge_count;   /* slots; a power of two */
    int32_t byte[256];    /* the token that is this byte (plain: that is
                             written <0x41>), or none */
    /* [count] does a text of just these bytes become this token?  0: not
     * known yet, 1: it does, 2: it does not. */
    _Atomic unsigned char *whole;
};

/* Room for ids below `count` and `merges` merges.  `inside`: for a plain one. */
void vocabulary_init(struct vocabulary *vocabulary, size_t count, size_t merges,
                     bool plain, struct slice inside);
void vocabulary_free(struct vocabulary *vocabulary);

/* A token of the model, as tokenizer.json writes it.  ERR_FORMAT when the id is
 * taken. */
int vocabulary_add(struct vocabulary *vocabulary, int32_t id, struct slice text,
                   struct err *err);
/* A token that is only matched as a whole, before the model sees the text; no
 * matter when the id is taken by the same text. */
int vocabulary_add_whole(struct vocabulary *vocabulary, int32_t id,
                         struct slice text, bool special, struct err *err);

/* The id of a token of the model, as tokenizer.json writes it; or none. */
int32_t vocabulary_find(const struct vocabulary *vocabulary, struct slice text);
/* The id of the token of the model that is these bytes; or none. */
int32_t vocabulary_of_bytes(const struct vocabulary *vocabulary,
                            struct slice bytes);
/* The same of those that go on a word. */
int32_t vocabulary_inside(const struct vocabulary *vocabulary,
                          struct slice bytes);
/* Appends a token as tokenizer.json writes it, for a plain vocabulary. */
void vocabulary_write(const struct vocabulary *vocabulary, int32_t id,
                      struct buf *buf);

static inline struct slice vocabulary_bytes(const struct vocabulary *v,
                                            int32_t id)
{
    return (struct slice){v->bytes.data + v->tokens[id].from,
                          v->tokens[id].size};
}

/* The byte that a plain token, written <0x41>, stands for; or -1. */
int vocabulary_fallback(const struct vocabulary *vocabulary, struct slice text);

/* Merge number `rank` of two tokens of the model, as they are written. */
int vocabulary_add_merge(struct vocabulary *vocabulary, uint32_t rank,
                         struct slice left, struct slice right,
                         struct err *err);
/* NULL when the two do not merge. */
const struct merge *vocabulary_merge(const struct vocabulary *vocabulary,
                                     uint32_t left, uint32_t right);

/* Text in the byte alphabet, as bytes; false when a character is outside. */
bool byte_alphabet_decode(struct buf *buf, struct slice text);

#endif
