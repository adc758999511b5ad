/* Reading the tokenizer in a GGUF file's metadata:
 *
 *   tokenizer.ggml.model          gpt2: BPE of bytes; bert: WordPiece; llama:
 *                                 SentencePiece's BPE; t5: Unigram
 *   tokenizer.ggml.pre            gpt2: how text is cut into pieces
 *   tokenizer.ggml.tokens         [text]
 *   tokenizer.ggml.token_type     [number] enum token_kind of each
 *   tokenizer.ggml.scores         [number] llama, t5
 *   tokenizer.ggml.merges         gpt2: ["a b"], the first before all others
 *   tokenizer.ggml.add_bos_token, add_eos_token, bos_token_id, eos_token_id
 *   tokenizer.ggml.cls_token_id, seperator_token_id, unknown_token_id
 *   tokenizer.ggml.add_space_prefix, remove_extra_whitespaces,
 *   tokenizer.ggml.precompiled_charsmap
 *
 * Texts of gpt2 and llama are not normalised, as llama.cpp does not. */
#ifndef MODEL_TOKENIZER_TOKENIZER_GGUF_INTERNAL_H
#define MODEL_TOKENIZER_TOKENIZER_GGUF_INTERNAL_H

#include "model/tokenizer/tokenizer_internal.h"

#define GGUF_TOKENIZER "tokenizer.ggml."

enum token_kind {
    KIND_NORMAL = 1,
    KIND_UNKNOWN = 2,
    KIND_CONTROL = 3,
    KIND_USER = 4,
    KIND_UNUSED = 5,
    KIND_BYTE = 6
};

/* A value "tokenizer.ggml.NAME"; NULL: none. */
const struct gguf_value *gguf_tokenizer_find(const struct gguf *gguf,
                                             const char *name);
/* ERR_FORMAT: that it is not supported, or not there. */
int gguf_tokenizer_refuse(const struct gguf *gguf, const char *name,
                          struct err *err);
/* enum token_kind of a token. */
int gguf_tokenizer_kind(const struct gguf *gguf, size_t id);

/* Writes a token as tokenizer.json would. */
typedef void gguf_tokenizer_write(struct slice text, int kind,
                                  struct buf *written);
/* The vocabulary, with room for so many merges (vocabulary_init); those that are
 * matched as a whole are added tokens.  `write` NULL: as they are. */
int gguf_tokenizer_tokens(struct tokenizer *tokenizer, const struct gguf *gguf,
                          size_t merges, const char *inside,
                          gguf_tokenizer_write *write, struct err *err);
/* *ret stays where the file does not say. */
int gguf_tokenizer_flag(const struct gguf *gguf, const char *name, bool *ret,
                        struct err *err);
int gguf_tokenizer_id(const struct tokenizer *tokenizer,
                      const struct gguf *gguf, const char *name, int32_t *ret,
                      struct err *err);
/* What is put around a text; `bos`, `eos`: where the file does not say. */
int gguf_tokenizer_around(struct tokenizer *tokenizer, const struct gguf *gguf,
                          bool bos, bool eos, struct err *err);

/* ---- tokenizer_gguf_pieces.c: the kinds whose tokens are written as they
 * are ---- */

int gguf_tokenizer_wordpiece(struct tokenizer *tokenizer,
                             const struct gguf *gguf, struct err *err);
int gguf_tokenizer_sentencepiece(struct tokenizer *tokenizer,
                                 const struct gguf *gguf, struct err *err);
int gguf_tokenizer_unigram(struct tokenizer *tokenizer, const struct gguf *gguf,
                           struct err *err);

#endif
