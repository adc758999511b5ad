/* Byte-pair encoding of one piece: of all neighbours that merge, those of the
 * lowest rank do, the leftmost first, until none does.  It begins with bytes, or
 * with characters where the vocabulary is plain.
 *
 * Which merge, a list of pairs tells; in SentencePiece's way (`ranks`) any two do
 * whose text together is a token, however they came about. */
#ifndef MODEL_TOKENIZER_BPE_H
#define MODEL_TOKENIZER_BPE_H

#include "model/tokenizer/vocabulary.h"

struct ids {
    int32_t *items;
    size_t count, capacity;
};
void ids_put(struct ids *ids, int32_t id);
void ids_free(struct ids *ids);

#define BPE_NO_RANK UINT32_MAX /* nothing merges into the token */

struct bpe {
    const struct vocabulary *vocabulary;
    uint32_t *ranks;    /* [count] of tokens; NULL: those of the merges */
    bool ignore_merges; /* a piece that is a token is that token */
    int32_t unknown;    /* for what has no token; or none: left out */
    bool fuse_unknown;  /* a run of them is one */
    bool fall_back;     /* a character without a token is its bytes' tokens */
    int32_t ascii[128]; /* plain: the tokens of these characters, or none */
    bool words; /* plain: in no token that merges make does a mark, U+2581,
                   follow another character; so a piece is cut there */
};

/* Once the vocabulary is filled and the flags are set. */
void bpe_seal(struct bpe *bpe);
void bpe_free(struct bpe *bpe);

/* Scratch of one thread; zero-initialise. */
struct bpe_scratch {
    struct bpe_symbol *symbols;
    struct bpe_entry *heap;
    size_t symbol_capacity, heap_capacity, heap_count;
};
void bpe_scratch_free(struct bpe_scratch *scratch);

/* Appends the ids of a piece of less than 2^32 - 1 bytes. */
void bpe_encode(const struct bpe *bpe, struct slice piece,
                struct bpe_scratch *scratch, struct ids *ids);

#endif
