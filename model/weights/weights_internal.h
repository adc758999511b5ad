/* How weights are found, checked and taken: the parts of weights.c that know
 * nothing of what a model consists of.
 *
 * All weights are asked for twice, in the same order: the first walk checks and
 * takes nothing, the second, after a report without complaints, takes them. */
#ifndef MODEL_WEIGHTS_WEIGHTS_INTERNAL_H
#define MODEL_WEIGHTS_WEIGHTS_INTERNAL_H

#include "base/buf.h"
#include "base/safetensors.h"
#include "model/weights/weights.h"

struct named {
    const struct tensor *tensor;
    bool known; /* something asked for it */
};

/* The open files, and what a backend uses in place but is not in them. */
struct weight_files {
    struct safetensors **files; /* [count] */
    size_t count, capacity;
    struct named *tensors; /* [tensor_count], by name */
    size_t tensor_count;
    void **copies; /* [copy_count] */
    size_t copy_count, copy_capacity;
};

/* ---- weights_files.c ---- */

/* model.safetensors of the folder, or what its index names. */
int weight_files_open(struct weight_files *files, const char *folder,
                      struct err *err);
/* Those of a GGUF file, which must outlive these. */
int weight_files_of(struct weight_files *files, const struct gguf *gguf,
                    struct err *err);
void weight_files_close(struct weight_files *files); /* frees it too */
/* NULL: there is none. */
struct named *weight_files_find(const struct weight_files *files,
                                const char *name);
/* Of names, types, shapes and data. */
struct hash128 weight_files_hash(const struct weight_files *files);

/* ---- weights_loader.c ---- */

struct loader {
    struct weight_files *files;
    const struct kernels *kernels;
    struct kernel_run *run;
    const char *prefix; /* "model." and the like, or "" */
    bool take;
    struct buf complaints; /* of the first walk */
    size_t complaint_count;
    int code; /* of the second: the first failure */
    struct err *err;
};

/* A tensor's name, but for ".weight" or ".bias": of the whole model, or of a
 * layer. */
enum { PART_NAME_MAX = 128 };
struct part_name {
    char text[PART_NAME_MAX];
};
struct part_name part_name(const struct loader *loader, const char *part);
struct part_name part_name_in_layer(const struct loader *loader,
                                    const struct tensor_names *names,
                                    size_t layer, const char *part);
/* The name's text with `end` behind it. */
const char *part_name_end(struct part_name *name, const char *end);

/* What is wrong: "missing NAME". */
void loader_complain(struct loader *loader, const char *what, const char *name);
/* The second walk failed: no memory, or what the backend said. */
void loader_fail(struct loader *loader, int kernel_code, const char *name);

static inline bool tensor_is_float(const struct tensor *tensor)
{
    return tensor->type == TENSOR_F32 || tensor->type == TENSOR_BF16 ||
           tensor->type == TENSOR_F16;
}

static inline bool tensor_is_blocks(const struct tensor *tensor)
{
    return tensor->type >= TENSOR_Q4_0;
}

/* A tensor [rows, columns], or [rows] when columns is 0.  All return NULL, with
 * a complaint, when there is none like that; on the first walk the takers do
 * so always.  loader_ask: what lies in the file; loader_ask_matrix: the same, which
 * may also be int8 with its scales beside it, or of blocks; loader_host: floats,
 * to be freed; loader_vector: the backend's memory; loader_matrix: to multiply
 * by; loader_paired: the same of heads of `head` rows, each of them two halves,
 * whose rows lie in the file by turns. */
const struct tensor *loader_ask(struct loader *loader, const char *name,
                                size_t rows, size_t columns);
const struct tensor *loader_ask_matrix(struct loader *loader, const char *name,
                                       size_t rows, size_t columns);
float *loader_host(struct loader *loader, const char *name, size_t rows,
                   size_t columns);
float *loader_vector(struct loader *loader, const char *name, size_t rows,
                     size_t columns);
struct kernel_weight *loader_matrix(struct loader *loader, const char *name,
                                    size_t rows, size_t columns);

struct kernel_weight *loader_paired(struct loader *loader, const char *name,
                                    size_t rows, size_t columns, size_t head);

/* Rows of a matrix [rows, columns] of floats or blocks, as matrices one after the
 * other: ret[i] [counts[i], columns].  They add up to `rows`. */
void loader_split(struct loader *loader, const char *name, size_t columns,
                  const size_t *counts, size_t count,
                  struct kernel_weight **const *ret);

/* enum kernel_type */
int tensor_kernel_type(const struct tensor *tensor);

/* The tensor's rows as a backend can multiply by them, and of which type. */
struct matrix_data {
    const void *data;   /* NULL: no memory, or only the first walk */
    const float *scale; /* of int8; the same */
    int type;           /* enum kernel_type */
};
/* Of what loader_ask_matrix returned. */
struct matrix_data loader_data(struct loader *loader,
                               const struct tensor *tensor);
/* out [columns] = its row `row`, as floats. */
void loader_row(const struct loader *loader, const struct tensor *tensor,
                size_t row, size_t columns, float *out);
/* The first `rows` of these. */
struct kernel_weight *loader_weight(struct loader *loader,
                                    struct matrix_data data, const char *name,
                                    size_t rows, size_t columns);

/* Floats of the tensor as they are, NULL: no memory; kept until the files are
 * closed. */
float *weight_files_keep(struct weight_files *files,
                         const struct tensor *tensor);
/* Of its values from `from` on, `count`; int8 without their scale, of blocks
 * whole ones. */
void tensor_floats(const struct tensor *tensor, size_t from, size_t count,
                   float *out);

/* ---- weights_heads.c ---- */

/* The two matrices that a text's vector goes through, if the file has them. */
void loader_dense(struct loader *loader, const struct model_config *config,
                  struct model_weights *weights);
/* What a reranker's score is made by. */
void loader_scoring(struct loader *loader, const struct model_config *config,
                    struct model_weights *weights);

/* ---- weights_attention.c: what HiLS, STAR and HiCI add ---- */

/* Rows of an embedding or a head: as many as ids, or padded to the multiple of
 * 32 that has one more, the first of these being the landmark's. */
size_t hils_rows(const struct loader *loader, const struct model_config *config,
                 const char *name);
/* [D], to be freed. */
float *loader_landmark(struct loader *loader, const struct model_config *config,
                       const char *embedding);
void loader_hils(struct loader *loader, const struct model_config *config,
                 size_t layer, struct hils_weights *ret);
void loader_star(struct loader *loader, const struct model_config *config,
                 struct model_weights *ret);
/* Once, before the layers. */
void loader_hici_heads(struct loader *loader,
                       const struct model_config *config);
void loader_hici(struct loader *loader, const struct model_config *config,
                 size_t layer, struct hici_weights *ret);

#endif
