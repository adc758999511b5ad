/* The decoder of a tokenizer whose tokens are written as they are: the text that
 * each stands for, first in an answer or not. */
#ifndef MODEL_TOKENIZER_DECODER_H
#define MODEL_TOKENIZER_DECODER_H

#include "model/tokenizer/vocabulary.h"

/* Bytes of `by`, so that no file of ordinary size fills the memory. */
enum { DECODER_MAX_BY = 16 };

struct decoder {
    bool joins;          /* a space before each token that begins a word */
    bool cleans;         /* "do n't" becomes "don't": WordPiece's clean-up */
    bool bytes;          /* <0x41> is that byte */
    char *replaced, *by; /* "▁" by " "; NULL: nothing */
    bool drops;          /* in the first token what is replaced goes */
    size_t strip;        /* spaces that go at the start of all */
    struct buf texts;    /* of all tokens */
    uint32_t *from;      /* [count + 1] where each begins in `texts` */
};

/* Writes the texts down; ERR_LIMIT when they are too much. */
int decoder_seal(struct decoder *decoder, const struct vocabulary *vocabulary,
                 struct err *err);
void decoder_free(struct decoder *decoder);

/* Returns the text of a token, unless it is the first of a text. */
struct slice decoder_text(const struct decoder *decoder, int32_t id);
/* Appends the text of the first token of a text. */
void decoder_first(const struct decoder *decoder,
                   const struct vocabulary *vocabulary, int32_t id,
                   struct buf *text);

#endif
