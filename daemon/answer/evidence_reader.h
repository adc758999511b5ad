/* Reads an answer as a model writes it and lets through what stands in the passages,
 * sentence by sentence, each with a marker of its evidence: "... [2]". */
#ifndef DAEMON_ANSWER_EVIDENCE_READER_H
#define DAEMON_ANSWER_EVIDENCE_READER_H

#include "daemon/answer/evidence.h"

/* Set `index`, leave the rest zero. */
struct evidence_reader {
    struct evidence_index *index;
    struct evidence *items; /* [count]; [n] of the text is the n-th */
    size_t count, capacity;
    uint64_t *said; /* [said_count] hashes of the sentences let through */
    size_t said_count, said_capacity;
    size_t kept;     /* sentences and pieces of code that were let through */
    size_t dropped;  /* and that claim something, without evidence */
    struct buf held; /* of the line under way */
    struct buf code; /* of the fenced block under way */
    struct buf lead; /* waits for what it leads in to */
    bool fenced;
    bool lost;      /* the sentence before was dropped */
    bool line_put;  /* something of this line was let through */
    bool line_read; /* a sentence of this line was read */
    unsigned ends;  /* line ends since something was let through */
};

/* Appends to `out` what the piece completes. */
void evidence_read(struct evidence_reader *reader, struct slice piece,
                   struct buf *out);
/* Appends the rest; if `whole` is not set, the text was cut off, and a sentence or piece
 * of code that it ends within is not shown. */
void evidence_read_end(struct evidence_reader *reader, bool whole,
                       struct buf *out);
void evidence_reader_free(struct evidence_reader *reader);

#endif
