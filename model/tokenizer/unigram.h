/* Unigram (Kudo, arXiv 1804.10959): of all ways to cut a text into tokens the
 * one whose scores add up to the most, by Viterbi's algorithm over a trie. */
#ifndef MODEL_TOKENIZER_UNIGRAM_H
#define MODEL_TOKENIZER_UNIGRAM_H

#include "model/tokenizer/bpe.h"

struct unigram {
    const struct vocabulary *vocabulary;
    double *scores; /* [count of ids]: logarithms; NaN: no token */
    double min;     /* of them */
    int32_t unknown;
    bool fall_back; /* an unknown character is its bytes' tokens */
    struct trie_node *nodes;
    size_t node_count, node_capacity;
};

enum { UNIGRAM_MAX_TOKEN = 4096 /* bytes */ };

struct unigram_scratch {
    struct unigram_end *ends;
    size_t capacity;
    struct ids reversed;
};

/* Makes the trie of the tokens that have a score.  ERR_LIMIT: one is longer than
 * UNIGRAM_MAX_TOKEN, and the trie, which is walked down, as deep. */
int unigram_seal(struct unigram *unigram, struct err *err);
void unigram_free(struct unigram *unigram);
void unigram_scratch_free(struct unigram_scratch *scratch);

/* Appends the ids of a piece of less than 2^32 - 1 bytes. */
void unigram_encode(const struct unigram *unigram, struct slice piece,
                    struct unigram_scratch *scratch, struct ids *ids);

#endif
