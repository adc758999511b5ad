/* What the backends of processor and device share. */
#ifndef KERNELS_REF_REF_TEXTS_H
#define KERNELS_REF_REF_TEXTS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operation attend_texts, made of others of `table`, one after the other. */
int ref_attend_texts(const struct kernels *table, struct kernel_run *run,
                     const struct kernel_text_part *part,
                     const struct kernel_rows *rows, size_t m);

#ifdef __cplusplus
}
#endif

#endif
