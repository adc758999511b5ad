/* The normaliser of a tokenizer: steps that change a text before it is cut. */
#ifndef MODEL_TOKENIZER_NORMALISE_H
#define MODEL_TOKENIZER_NORMALISE_H

#include "base/buf.h"
#include "base/err.h"
#include "model/tokenizer/charsmap.h"
#include "model/tokenizer/pattern.h"

enum {
    NORMAL_MAX_STEPS = 24,
    NORMAL_MAX_CONTENT = 256, /* bytes that come for a match or a character */
    NORMAL_MAX_GROWTH = 32,   /* times; normal forms need 11 */
    NORMAL_GONE = 0x80
};

enum normal_kind {
    NORMAL_FORM,          /* a normal form of Unicode */
    NORMAL_LOWERCASE,     /* character by character */
    NORMAL_STRIP_MARKS,   /* combining marks go: StripAccents */
    NORMAL_STRIP_ACCENTS, /* NFD, then non-spacing marks go: BertNormalizer's */
    NORMAL_CLEAN,         /* controls go, white space becomes a space: BERT's */
    NORMAL_PART_CJK,      /* spaces around each ideograph: BERT's */
    NORMAL_NMT,     /* controls go, more becomes a space: SentencePiece's */
    NORMAL_STRIP,   /* white space at the ends goes */
    NORMAL_PREPEND, /* `content` before what is not empty */
    NORMAL_REPLACE, /* matches of `pattern` become `content` */
    NORMAL_CHARSMAP /* SentencePiece's precompiled map */
};

struct normal_step {
    int kind;                  /* enum normal_kind */
    unsigned char ascii[128];  /* what goes character by character: what each of
                                  ASCII becomes, or NORMAL_GONE */
    int form;                  /* NORMAL_FORM: options of utf8proc_map */
    bool left, right;          /* NORMAL_STRIP */
    struct pattern *pattern;   /* NORMAL_REPLACE */
    struct buf content;        /* NORMAL_PREPEND, NORMAL_REPLACE */
    struct charsmap *charsmap; /* NORMAL_CHARSMAP */
};

struct normaliser {
    struct normal_step steps[NORMAL_MAX_STEPS];
    size_t count;
};

/* Adds a step, zero but for its kind; ERR_LIMIT when there are too many. */
int normaliser_add(struct normaliser *normaliser, int kind,
                   struct normal_step **ret, struct err *err);
void normaliser_free(struct normaliser *normaliser);

/* Changes well-formed text; it stays well-formed.  *ret_cut (NULL: ok): nothing
 * is left of its first character.  ERR_LIMIT when it grows beyond NORMAL_MAX_GROWTH times
 * its size and some KB. */
int normaliser_run(const struct normaliser *normaliser, struct buf *text,
                   bool *ret_cut, struct err *err);
/* The same of text that goes on: nothing is put before it (NORMAL_PREPEND). */
int normaliser_run_on(const struct normaliser *normaliser, struct buf *text,
                      bool *ret_cut, struct err *err);

#endif
