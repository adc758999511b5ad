/* What config.json says of a reranker.
 *
 * Encoders are rerankers by their class, "...ForSequenceClassification", with one
 * label.  Decoders that are rerankers read one text, whose frame their own files do
 * not hold; it goes into "lectern", which is ours:
 *
 *   "rerank_prompt": "...{query}...{document}..."
 *   "rerank_words": ["yes", "no"]   tokens whose logits are compared, these when
 *                                   absent, where the class has logits
 *   "rerank_labels": ["yes", "no"]  or in which order two labels stand */
#ifndef MODEL_WEIGHTS_SCORING_CONFIG_H
#define MODEL_WEIGHTS_SCORING_CONFIG_H

#include "base/json.h"
#include "model/weights/model_config.h"

/* Takes `scores`, `scoring` and of a reranker `writes` of the config, whose
 * architecture and names are known.  ERR_FORMAT by name. */
int scoring_from(const cJSON *root, struct model_config *config,
                 struct err *err);

#endif
