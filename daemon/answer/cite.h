/* Citations in what a model wrote.
 *
 * A marker is [N] with 1 <= N <= the number of sources, not right behind a
 * letter, a digit, `_`, `)` or `]` (as in `a[1]`), with words before it since
 * the marker before.  Where no words are, it is dropped; any other bracket is
 * text.  The words before a marker are its claim: they are looked for in the
 * sources, of which N numbers one. */
#ifndef DAEMON_ANSWER_CITE_H
#define DAEMON_ANSWER_CITE_H

#include <stdbool.h>

#include "tree/tree.h"

/* ---- Markers ---- */

struct cite_mark {
    size_t at, end; /* of " [K]" in what came out; K counts from 1 */
    size_t named;   /* the number that the model wrote */
};

/* Reads an answer that comes in pieces; what comes out has its markers
 * counted, and no spaces at either end.  Set `sources`, leave the rest zero. */
struct cite_reader {
    size_t sources;
    struct cite_mark *marks; /* [count] */
    size_t count, capacity;
    struct buf held; /* may become a marker, or lie before one */
    size_t put;      /* bytes that came out */
    uint32_t last;   /* character read before what is held */
    bool words;      /* since the last marker */
};
void cite_read(struct cite_reader *reader, struct slice piece, struct buf *out);
void cite_read_end(struct cite_reader *reader, struct buf *out);
void cite_reader_free(struct cite_reader *reader);

/* Whether a text, copied into an answer about so many sources, would be read as
 * having a marker. */
bool cite_has_marker(struct slice text, size_t sources);
/* Whether it can be a claim. */
bool cite_has_words(struct slice text);

/* ---- Claims ---- */

struct cite_source {
    const struct block *blocks; /* [count] of one node */
    size_t count;
    /* What they stand below, for evidence.h. */
    struct slice title;
    const struct slice *heads; /* [count] more, of each block; NULL: none */
};

enum cite_status {
    CITE_VERIFIED, /* stands in the source that was named */
    CITE_REPAIRED, /* stands in another one or in several blocks, or reads
                       nearly so, as in other letter case, and agrees */
    CITE_UNVERIFIED, /* stands nowhere, or reads nearly so but says something else */
    CITE_STORED /* stands in the store; the file is not here to be compared */
};
const char *cite_status_name(int status);

struct cite {
    size_t at, end; /* of the claim in the answer */
    int status;     /* enum cite_status */
    size_t source;  /* index; where it is unverified: the one named */
    const struct block *block; /* NULL: nothing reads even nearly so */
    struct slice place; /* of the block's text: what stands there; where it is
                           unverified, in the source that was named */
    bool exact; /* false: what stands there only reads nearly like the claim */
};

struct cites {
    struct cite *items; /* [count], one a marker */
    size_t count;
    bool unmarked; /* words follow the last marker, or there is none */
};

/* `answer`: all that came out of the reader. */
void cites_check(const struct cite_reader *reader, struct slice answer,
                 const struct cite_source *sources, struct cites *ret);
void cites_free(struct cites *cites);

/* Looks for one claim in one source, with or without a full stop or comma at its
 * end; fills all of `ret` but `at`, `end` and `source`. */
void cite_check_claim(struct slice claim, const struct cite_source *source,
                      struct cite *ret);

/* Returns `place` without the mark of a list's item, which is not in the file. */
struct slice cite_unmarked(const struct cite *cite);

/* The answer, with what stands in the sources in place of each claim that only
 * reads nearly so. */
void cites_text(const struct cites *cites, struct slice answer,
                struct buf *out);

/* Finds `wanted` (white space folded) in `text`, as whole words; a space is any
 * run of white space. */
bool cite_find(struct slice text, struct slice wanted, bool any_case,
               struct slice *ret_place);

/* The same over the borders of blocks; what is found is the part of it in the
 * block that holds most. */
bool cite_find_across(const struct cite_source *source, struct slice wanted,
                      const struct block **ret_block, struct slice *ret_place);

/* The sentence, cell or line of the source, or as many of them as `wanted` has, that
 * reads most like it, of two that are as like one that agrees: at least four fifths of
 * the words of both, in the same order. */
bool cite_find_near(const struct cite_source *source, struct slice wanted,
                    const struct block **ret_block, struct slice *ret_place,
                    bool *ret_agrees);

/* Whether a claim may be mended into what stands at the place that reads nearly like
 * it: in neither is a number, with what it counts, a negation, with what it denies, a
 * name, an option or a word that turns a meaning round (evidence_words.h) that the
 * other has not, in the same order.  False: also where they are too long to tell. */
bool cite_agrees(struct slice claim, struct slice place);

#endif
