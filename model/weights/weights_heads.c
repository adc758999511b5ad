/* What stands behind the last layer in place of logits: the matrices of a text's
 * vector, and a reranker's head. */
#include "model/weights/weights_internal.h"

#include <stdlib.h>

/* What is added for tokens of the second type. */
static float *type_change(struct loader *loader, const struct model_config *c)
{
    struct part_name part = part_name(loader, c->names->types);
    const char *name = part_name_end(&part, ".weight");
    float *types = loader_host(loader, name, c->types, c->width);
    float *change = NULL;
    if (types && c->types > 1) {
        size_t bytes = c->width * sizeof *types;
        for (size_t i = 0; i < c->width; i++)
            types[i] = types[c->width + i] - types[i];
        change = loader->kernels->allocate(loader->run, bytes);
        int code = KERNEL_NO_MEMORY;
        if (change)
            code = loader->kernels->upload(loader->run, change, types, bytes);
        if (code)
            loader_fail(loader, code, name);
    }
    free(types);
    return change;
}

/* A matrix as floats, whatever it is of. */
static float *host_matrix(struct loader *loader, const char *name, size_t rows,
                          size_t columns)
{
    const struct tensor *t = loader_ask_matrix(loader, name, rows, columns);
    if (!t || !loader->take || loader->code)
        return NULL;
    float *values = malloc(rows * columns * sizeof *values);
    for (size_t i = 0; values && i < rows; i++)
        loader_row(loader, t, i, columns, values + i * columns);
    if (!values)
        loader_fail(loader, KERNEL_NO_MEMORY, name);
    return values;
}

/* What a vector goes through, if the file has it. */
void loader_dense(struct loader *loader, const struct model_config *c,
                  struct model_weights *w)
{
    struct part_name first = {0}, second = {0};
    part_name_end(&first, c->names->dense[0]);
    const char *up = part_name_end(&first, ".weight");
    const struct named *named = weight_files_find(loader->files, up);
    if (!named || named->tensor->rank != 2 ||
        named->tensor->shape[0] > INT32_MAX)
        return;
    size_t width = (size_t)named->tensor->shape[0];
    w->dense_width = width;
    part_name_end(&second, c->names->dense[1]);
    w->host_dense[0] = host_matrix(loader, up, width, c->width);
    w->host_dense[1] =
        host_matrix(loader, part_name_end(&second, ".weight"), c->width, width);
}

static void loader_score_norm(struct loader *loader,
                              const struct model_config *c,
                              struct scoring *scoring)
{
    struct part_name norm = {0};
    part_name_end(&norm, c->names->score_norm);
    struct part_name bias = norm;
    scoring->host_norm =
        loader_host(loader, part_name_end(&norm, ".weight"), c->width, 0);
    if (c->norm_bias)
        scoring->host_norm_bias =
            loader_host(loader, part_name_end(&bias, ".bias"), c->width, 0);
}

/* out = one - two, which is freed. */
static void subtract(float *one, float *two, size_t width)
{
    for (size_t i = 0; one && two && i < width; i++)
        one[i] -= two[i];
    free(two);
}

static float *host_row(struct loader *loader, const struct tensor *tensor,
                       size_t row, size_t width, const char *name)
{
    if (!tensor || !loader->take || loader->code)
        return NULL;
    float *values = malloc(width * sizeof *values);
    if (values)
        loader_row(loader, tensor, row, width, values);
    else
        loader_fail(loader, KERNEL_NO_MEMORY, name);
    return values;
}

/* A decoder's: a row, or one less another. */
static void loader_score_rows(struct loader *loader,
                              const struct model_config *c,
                              struct scoring *scoring)
{
    const struct tensor_names *names = c->names;
    const struct scoring_config *s = &c->scoring;
    struct part_name part = {0};
    bool words = s->kind == SCORE_WORDS;
    size_t rows = words ? c->vocabulary : s->kind == SCORE_LABELS ? 2 : 1;
    size_t yes = words ? (size_t)s->word_ids[0] : s->reversed;
    size_t no = words ? (size_t)s->word_ids[1] : !s->reversed;
    if (words && c->tied)
        part = part_name(loader, names->embedding);
    else
        part_name_end(&part, words ? names->head : names->score);
    const char *name = part_name_end(&part, ".weight");
    const struct tensor *t = loader_ask_matrix(loader, name, rows, c->width);
    scoring->host_out = host_row(loader, t, yes, c->width, name);
    if (rows > 1)
        subtract(scoring->host_out, host_row(loader, t, no, c->width, name),
                 c->width);
}

void loader_scoring(struct loader *loader, const struct model_config *c,
                    struct model_weights *w)
{
    const struct tensor_names *names = c->names;
    if (c->scoring.kind != SCORE_HEAD) {
        loader_score_rows(loader, c, &w->scoring);
        return;
    }
    struct part_name dense = {0}, out = {0};
    if (names->score_bare)
        part_name_end(&dense, names->score_dense);
    else
        dense = part_name(loader, names->score_dense);
    part_name_end(&out, names->score);
    struct part_name dense_bias = dense, out_bias = out;
    w->scoring.host_dense = host_matrix(
        loader, part_name_end(&dense, ".weight"), c->width, c->width);
    if (c->scoring.bias)
        w->scoring.host_dense_bias = loader_host(
            loader, part_name_end(&dense_bias, ".bias"), c->width, 0);
    if (names->score_norm)
        loader_score_norm(loader, c, &w->scoring);
    w->scoring.host_out =
        host_matrix(loader, part_name_end(&out, ".weight"), 1, c->width);
    w->scoring.host_out_bias =
        loader_host(loader, part_name_end(&out_bias, ".bias"), 1, 0);
    if (names->types)
        w->type_change = type_change(loader, c);
}
