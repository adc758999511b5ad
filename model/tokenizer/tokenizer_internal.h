/* The inside of a tokenizer, for the files that read it and the one that runs
 * it. */
#ifndef MODEL_TOKENIZER_TOKENIZER_INTERNAL_H
#define MODEL_TOKENIZER_TOKENIZER_INTERNAL_H

#include "base/json.h"
#include "model/tokenizer/added.h"
#include "model/tokenizer/decoder.h"
#include "model/tokenizer/normalise.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/unigram.h"
#include "model/tokenizer/wordpiece.h"

enum { TOKENIZER_MAX_STEPS = 16 };

/* What happens to the matches of a pattern. */
enum split_behavior {
    SPLIT_ISOLATED,   /* each is a piece */
    SPLIT_REMOVED,    /* they are left out */
    SPLIT_CONTIGUOUS, /* neighbouring ones are one piece */
    SPLIT_WITH_PREVIOUS,
    SPLIT_WITH_NEXT
};

enum step_kind {
    STEP_SPLIT,
    STEP_SPACE, /* a space before, if there is none */
    STEP_MARK   /* spaces become `mark`; one before, as `before` says */
};

enum mark_before { MARK_NEVER, MARK_FIRST, MARK_ALWAYS };

/* One step of cutting text into pieces. */
struct split_step {
    int kind;                /* enum step_kind */
    struct pattern *pattern; /* STEP_SPLIT */
    int behavior;            /* enum split_behavior */
    bool invert;             /* what matches is what does not */
    bool character;          /* what matches is one character */
    bool spaces;             /* and white space */
    char mark[8];            /* STEP_MARK: a character */
    int before;              /* enum mark_before; first: of the whole text */
};

enum tokenizer_model { TOKENIZER_BPE, TOKENIZER_WORDPIECE, TOKENIZER_UNIGRAM };

struct tokenizer {
    struct vocabulary vocabulary;
    int model; /* enum tokenizer_model: which of these it is */
    struct bpe bpe;
    struct wordpiece wordpiece;
    struct unigram unigram;
    struct added_set added;      /* matched before normalising */
    struct added_set normalised; /* matched after it */
    struct normaliser normaliser;
    struct split_step steps[TOKENIZER_MAX_STEPS];
    size_t step_count;
    bool byte_level;          /* text is cut into bytes */
    struct ids before, after; /* what the post-processor adds */
    bool bare;                /* unknown tokens are left out */
    struct decoder decoder;   /* where not byte_level */
    struct hash128 hash;
};

/* ---- tokenizer.json, by its parts; tokenizer_read.c says what of them ---- */

/* Calls each(context, item, type, err) for the item, or for those of its list
 * when it is a Sequence. */
int tokenizer_for_each(const cJSON *item, const char *list, const char *part,
                       void *context,
                       int (*each)(void *context, const cJSON *item,
                                   const char *type, struct err *err),
                       struct err *err);
int tokenizer_not_supported(struct err *err, const char *part,
                            const char *type);
/* -1 when it is not a whole number in [0, VOCABULARY_MAX). */
int32_t tokenizer_id_of(const cJSON *item);

/* One more step: a pattern's matches. */
int tokenizer_add_split(struct tokenizer *tokenizer, const char *text,
                        bool literal, int behavior, struct err *err);
extern const char tokenizer_gpt2[]; /* GPT-2's pattern */

int tokenizer_take_normaliser(struct tokenizer *tokenizer, const cJSON *item,
                              struct err *err);
int tokenizer_take_splits(struct tokenizer *tokenizer, const cJSON *item,
                          struct err *err);
int tokenizer_take_model(struct tokenizer *tokenizer, const cJSON *model,
                         const cJSON *added, struct err *err);

#endif
