/* The pieces of the model that makes memories, read once and again when it is another
 * one (memory/embeddings/pieces.h). */
#ifndef DAEMON_ANSWER_QUESTION_PIECES_H
#define DAEMON_ANSWER_QUESTION_PIECES_H

#include "base/err.h"
#include "base/hash.h"

struct engine;
struct pieces;
struct question_pieces;

/* `engine` must outlive them. */
struct question_pieces *question_pieces_new(struct engine *engine);
void question_pieces_free(struct question_pieces *all); /* NULL: ok */

/* *ret: those of the open model, whose fingerprint is `model` and which has facts.bag;
 * the caller's to pieces_unref.  Waits while they are read.  Any thread.  The errors of
 * pieces_new. */
int question_pieces_of(struct question_pieces *all, struct hash128 model,
                       struct pieces **ret, struct err *err);

#endif
