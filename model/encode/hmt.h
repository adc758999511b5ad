/* The Hierarchical Memory Transformer as a way of reading (He et al., HMT; the
 * baseline of H2MT, 3): segments in sequence, each with what it recalls of those
 * before it.  For a segment X of at most L tokens, N memories so far:
 *
 *     q = E_mem(the first min(|X|, L / 2) tokens of X)
 *     r = softmax((q Wq)(memories Wk)^T / sqrt(p)) memories;  mem0 where N = 0
 *     m = the state after the last norm at the last position of
 *         [r; the last tokens of the segment before; X; r]
 *
 * and m joins the memories, of which the last some are kept.  q and m are made by
 * model_embed; an answer is written, by all layers, after
 * [r; the last tokens of the segment before; X], X being what asks.
 * H2MT (memory/embeddings/memories.h) makes its memories of a tree instead, and in any
 * order that has children before parents.
 *
 * A reading is numbers alone: it belongs to a model by its weights, and may go
 * from thread to thread with whoever has that. */
#ifndef MODEL_ENCODE_HMT_H
#define MODEL_ENCODE_HMT_H

#include "model/model.h"

/* 0: the authors' */
struct hmt_options {
    size_t segment;  /* L, tokens: 256 */
    size_t sensory;  /* of the segment before, tokens: 32 */
    size_t memories; /* kept: 300 */
};

struct hmt;

/* ERR_USAGE for a model without soft tokens or recall projections; ERR_LIMIT when
 * a segment with what stands around it is longer than the context. */
int hmt_open(const struct model *model, const struct hmt_options *options,
             struct hmt **ret, struct err *err);
void hmt_close(struct hmt *hmt); /* NULL: ok */

/* Reads on.  What an earlier call ended with is a segment, however short.  On an
 * error what was read stays read: all of earlier calls, and of this one none or
 * some segments (hmt_memories). */
int hmt_read(struct hmt *hmt, struct model *model, const int32_t *ids,
             size_t count, const struct cancel *cancel, struct err *err);

/* Tokens of a whole segment. */
size_t hmt_segment(const struct hmt *hmt);
/* [*ret_count, width] oldest first, until it reads on. */
const float *hmt_memories(const struct hmt *hmt, size_t *ret_count);

/* Positions that stand before what asks. */
size_t hmt_before(const struct hmt *hmt);
/* A session that is about to read `ids`, what asks (any length): behind [r; the last
 * tokens], with which it is read, and no more. */
int hmt_session(const struct hmt *hmt, struct model *model, const int32_t *ids,
                size_t count, const struct cancel *cancel, struct session **ret,
                struct err *err);

#endif
