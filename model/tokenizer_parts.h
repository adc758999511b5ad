/* The inside of a tokenizer, for the file that reads it and the one that runs
 * it. */
#ifndef MODEL_TOKENIZER_PARTS_H
#define MODEL_TOKENIZER_PARTS_H

#include "model/added.h"
#include "model/pattern.h"
#include "model/tokenizer.h"

enum { TOKENIZER_MOST_STEPS = 16, TOKENIZER_MOST_NORMAL = 8 };

/* What happens to the matches of a pattern. */
enum split_behavior {
    SPLIT_ISOLATED,   /* each is a piece */
    SPLIT_REMOVED,    /* they are left out */
    SPLIT_CONTIGUOUS, /* neighbouring ones are one piece */
    SPLIT_WITH_PREVIOUS,
    SPLIT_WITH_NEXT
};

/* One step of cutting text into pieces. */
struct split_step {
    struct pattern *pattern; /* NULL: put a space before, if there is none */
    int behavior;            /* enum split_behavior */
    bool invert;             /* what matches is what does not */
};

struct tokenizer {
    struct vocabulary vocabulary;
    struct bpe bpe;
    struct added_set added;            /* matched before normalising */
    struct added_set normalised;       /* matched after it */
    int normal[TOKENIZER_MOST_NORMAL]; /* options of utf8proc_map, in order */
    size_t normal_count;
    struct split_step steps[TOKENIZER_MOST_STEPS];
    size_t step_count;
    struct ids before, after; /* what the post-processor adds */
    struct hash128 hash;
};

/* Appends the text as the normaliser has it. */
int tokenizer_normalise(const struct tokenizer *tokenizer, struct slice text,
                        struct buf *out, struct err *err);

#endif
