/* The pieces by which results are put in order (memory/embeddings/pieces.h): of the model
 * that makes memories, if it has no layers, else of the one that is included.  Each one's
 * are read once, and again when it is another model. */
#ifndef DAEMON_ANSWER_QUESTION_PIECES_H
#define DAEMON_ANSWER_QUESTION_PIECES_H

#include "memory/embeddings/embedder.h"

struct engine;
struct pieces;
struct question_pieces;

/* The engines, of memories and of the included model, must outlive them. */
struct question_pieces *question_pieces_new(struct engine *memories,
                                            struct engine *included);
void question_pieces_free(struct question_pieces *all); /* NULL: ok */

/* *ret: those that serve beside the open model of memories, whose facts these are; the
 * caller's to pieces_unref.  Waits while they are read.  Any thread.  The errors of
 * pieces_new, and ERR_MODEL: no model is included, or it cannot be opened. */
int question_pieces_of(struct question_pieces *all,
                       const struct embedder_facts *memories,
                       struct pieces **ret, struct err *err);

#endif
