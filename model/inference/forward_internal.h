/* The forward pass's parts, for one another: what goes in (forward_inputs.c), a
 * layer (forward_layer.c), what comes out (forward_outputs.c).  All but
 * forward_lay_out return codes of kernels. */
#ifndef MODEL_INFERENCE_FORWARD_INTERNAL_H
#define MODEL_INFERENCE_FORWARD_INTERNAL_H

#include "model/inference/forward.h"

/* Replaces *memory, the backend's, by [rows, columns]. */
int forward_renew(struct model *model, float **memory, size_t rows,
                  size_t columns);

/* Says in `work` what the part's rows are, from row `row` on; the row behind
 * them. */
size_t forward_lay_out(struct model *model, const struct forward_part *part,
                       size_t row);
/* Puts the rows' vectors into work.x. */
int forward_read_inputs(struct model *model, const struct forward_part *parts,
                        size_t count, size_t rows);

/* out [rows, width] = the norm of x, of the family's kind; out may be x. */
int forward_normalise(struct model *model, float *out, const float *x,
                      const struct norm *norm, size_t rows, size_t width);
/* Takes work.x through a layer. */
int forward_layer(struct model *model, const struct forward_part *parts,
                  size_t count, size_t layer, size_t rows);

#endif
