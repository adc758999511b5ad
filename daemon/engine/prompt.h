/* The prompt of an answer, exactly as models are taught it:
 *
 *     [1] TITLE
 *     TEXT
 *
 *     [2] TITLE
 *     TEXT
 *
 *     Question: QUESTION
 *     Answer:
 *
 * TEXT is a window on the source's blocks, separated by an empty line, around
 * its best sentence.  It is data: a line of it that looks like one of the
 * frame's is indented by a space, and `<|` of what looks like a special token
 * is taken apart. */
#ifndef DAEMON_ENGINE_PROMPT_H
#define DAEMON_ENGINE_PROMPT_H

#include "tree/tree.h"

struct prompt_source {
    struct slice title;
    const struct block *blocks; /* [count] */
    const struct slice *heads; /* [count] a line above the block (of the section
                                   that it begins), or empty; NULL: none */
    size_t count;
    size_t block;    /* the one that holds the best sentence */
    size_t from, to; /* of the sentence in the block's text */
};

struct prompt_limits {
    size_t tokens;         /* of the whole prompt */
    size_t passages;       /* most */
    size_t passage_tokens; /* most of one, with number and title */
};

/* Tokens of a text. */
struct prompt_counter {
    int (*count)(void *context, struct slice text, size_t *ret,
                 struct err *err);
    void *context;
};

struct prompt {
    struct buf text; /* freed by the caller */
    size_t passages; /* the first so many of the sources */
    size_t tokens;
    size_t whole; /* passages that are the whole source */
    size_t asked; /* bytes at the end of the text: the question's */
};

/* ERR_LIMIT when not even the first source fits beside the question. */
int prompt_pack(const struct prompt_source *sources, size_t count,
                struct slice question, const struct prompt_limits *limits,
                const struct prompt_counter *counter, struct prompt *ret,
                struct err *err);

#endif
