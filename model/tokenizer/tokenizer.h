/* Text to token ids and back, as a Hugging Face tokenizer.json says, or the
 * metadata of a GGUF file.
 *
 * Added tokens are matched first, then the text between them is normalised, cut
 * into pieces, and each piece becomes tokens: by merges of bytes (GPT-2, Llama 3,
 * Qwen) or of characters with bytes to fall back on (Llama 2, Mistral), by
 * WordPiece (BERT), or by Unigram (XLM-RoBERTa).  What is not supported is refused
 * by name when the file is read, never passed over; `truncation` and `padding`
 * are for the caller to do.
 *
 * Unicode is the reference's: where the libraries here have another version, the
 * differences are written out (old_unicode.h, new_unicode.h).
 *
 * A tokenizer is read only once it is open: any number of threads may use it.
 */
#ifndef MODEL_TOKENIZER_TOKENIZER_H
#define MODEL_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/gguf.h"
#include "base/hash.h"
#include "model/tokenizer/bpe.h"

struct tokenizer;

/* ERR_IO: no such file; ERR_FORMAT: not a tokenizer, or not one of the kinds
 * above; the message says why. */
int tokenizer_open(const char *path, struct tokenizer **ret, struct err *err);
/* The same from the file's bytes, which are not needed afterwards. */
int tokenizer_from(struct slice json, struct tokenizer **ret, struct err *err);
/* From the metadata of a GGUF file, which is not needed afterwards.  ERR_FORMAT:
 * it has none, or one of another kind; the message says which. */
int tokenizer_of_gguf(const struct gguf *gguf, struct tokenizer **ret,
                      struct err *err);
void tokenizer_close(struct tokenizer *tokenizer); /* NULL: ok */

/* From here on nothing is put around a text, and what it has no token for is left
 * out (as Model2Vec does). */
void tokenizer_leave_bare(struct tokenizer *tokenizer);

/* Returns the largest id plus one. */
size_t tokenizer_count(const struct tokenizer *tokenizer);
/* Whether it makes capital letters small. */
bool tokenizer_lowercases(const struct tokenizer *tokenizer);
/* Whether the tokens of a text, cut at white space, are those of the parts. */
bool tokenizer_goes_by_words(const struct tokenizer *tokenizer);
/* Returns the hash of the file's bytes. */
struct hash128 tokenizer_hash(const struct tokenizer *tokenizer);
/* Returns the id of a token as the file writes it ("<|im_end|>"); -1: none. */
int32_t tokenizer_find(const struct tokenizer *tokenizer, struct slice token);
bool tokenizer_is_special(const struct tokenizer *tokenizer, int32_t id);

/* Appends the ids of `text`, of which each ill-formed part counts as U+FFFD;
 * `special`: with what the post-processor adds around it.  ERR_LIMIT, and
 * nothing appended, when a pattern gives up on the text; ERR_FORMAT likewise
 * when one matches what is no part of it. */
int tokenizer_encode(const struct tokenizer *tokenizer, struct slice text,
                     bool special, struct ids *ids, struct err *err);

/* The same, without `special`, of text that stands behind the ids there are: where
 * the last one is of a text, and not matched as a whole, it goes on, and
 * nothing is put before it. */
int tokenizer_encode_on(const struct tokenizer *tokenizer, struct slice text,
                        struct ids *ids, struct err *err);

/* The bytes a token stands for, not always whole characters, where it is not the
 * first of a text; empty for an id that is none. */
struct slice tokenizer_bytes(const struct tokenizer *tokenizer, int32_t id);

/* Appends the text of the ids, U+FFFD for what is not UTF-8; `special`: with
 * that of special tokens. */
void tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids,
                      size_t count, bool special, struct buf *text);

/* Decoding one token at a time: characters come out once they are whole.
 * Zero-initialise. */
struct tokenizer_stream {
    char held[4]; /* the start of a character */
    size_t size;
    bool started;
};
void tokenizer_stream_put(const struct tokenizer *tokenizer,
                          struct tokenizer_stream *stream, int32_t id,
                          struct buf *text);
/* Appends what was held back, as U+FFFD. */
void tokenizer_stream_end(struct tokenizer_stream *stream, struct buf *text);

#endif
