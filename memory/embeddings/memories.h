/* Memory embeddings of a manual (H2MT 2.2; the equations in words).
 *
 * Nodes are taken in post-order, those of equal height as one batch.  A leaf's
 * segment is E_mem0(X); an inner node's is E_r(X), r being what the summary
 * query of X recalls of L_v: the aggregate a_v of the children, or the
 * children's memories themselves, by policy.  A child's memory c is
 * (n_own mean_s m_s + n_desc a) / (n_own + n_desc), n counting tokens.
 *
 * A segment's memory is kept under the hash of all that the encoder saw: its
 * text, the names of what it recalls, the fingerprints of model and tokenizer,
 * and of the policy what matters to it (plan.h).  So what did not change is found again, whatever moved, and
 * a crash loses a batch.  Memories are kept in 8 bits a value, and rounded
 * before anything is computed from them: a later run computes the same. */
#ifndef MEMORY_EMBEDDINGS_MEMORIES_H
#define MEMORY_EMBEDDINGS_MEMORIES_H

#include <stdatomic.h>

#include "memory/embeddings/embedder.h"
#include "memory/embeddings/plan_cache.h"
#include "memory/snapshot/library.h"

struct memory_policy {
    int aggregate;         /* enum aggregate_policy */
    int recall;            /* enum recall_policy */
    size_t segment_tokens; /* L */
};

struct memories_report {
    size_t segments, tokens; /* of the manual */
    size_t encoded;          /* segments the encoder ran on now */
    size_t encoded_tokens;
    bool changed; /* new vectors were put in place */
    double seconds;
};

/* Called often from the calling thread; in segments. */
typedef void memories_progress(void *context, size_t done, size_t total);

/* The name of all that decides what a manual's vectors are, besides its text.
 * A recall that the model was not trained for counts as off. */
struct hash128 memories_policy(const struct memory_policy *policy,
                               const struct embedder_facts *facts);

/* The policy as the model can: without recall that it was not trained for; segments of one
 * made to embed leave room for their headings (plan.h). */
struct memory_policy memories_can(const struct memory_policy *policy,
                                  const struct embedder_facts *facts);

/* Brings the vectors of a view up to date with its generation; does nothing
 * when they are.  The manual's record changes in one short transaction, after
 * which library_refresh finds them.  `cancel` is polled.  On failure what was
 * encoded stays, and the vectors before go on serving.
 *
 * `kept` (NULL: nothing) has what the last making came to, and gets what this one
 * does: with it only nodes whose content, or any below, has changed are planned,
 * and their vectors put before the others' as a delta, until that, or what it
 * was made of since its base, is an eighth of them all. */
int memories_update(const struct snapshot *snapshot, const struct view *view,
                    const struct embedder *embedder,
                    const struct memory_policy *policy,
                    struct plan_cache *plan_cache, memories_progress *progress,
                    void *context, const atomic_bool *cancel,
                    struct memories_report *ret_report, struct err *err);

#endif
