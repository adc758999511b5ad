#include "model/weights/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/blocks.h"
#include "model/weights/weights_internal.h"

enum {
    PREFIXES = sizeof((struct tensor_names *)0)->prefixes / sizeof(char *),
    UNUSED = sizeof((struct tensor_names *)0)->unused / sizeof(char *)
};

/* What other programs leave in a file and no one needs. */
static bool passed_over(const struct tensor *tensor,
                        const struct model_config *c)
{
    const struct tensor_names *names = c->names;
    const char *name = tensor->name.data;
    for (size_t i = 0; i < UNUSED && names->unused[i]; i++)
        if (strstr(name, names->unused[i]))
            return true;
    struct slice head = slice_of(names->head ? names->head : "lm_head");
    return (c->tied || !c->writes) && slice_starts(tensor->name, head) &&
           !strcmp(name + head.size, ".weight");
}

static int report(struct loader *loader, const struct model_config *c)
{
    for (size_t i = 0; i < loader->files->tensor_count; i++) {
        const struct named *named = &loader->files->tensors[i];
        if (!named->known && !passed_over(named->tensor, c))
            loader_complain(loader, "not known", named->tensor->name.data);
    }
    if (!loader->complaint_count)
        return 0;
    struct buf *text = &loader->complaints;
    enum { SHOWN = 500 };
    bool cut = text->size > SHOWN;
    return err_set(
        loader->err, ERR_FORMAT,
        "%zu tensors are not as the model's configuration says: %.*s%s",
        loader->complaint_count, cut ? SHOWN : (int)text->size, text->data,
        cut ? " ..." : "");
}

/* `paired`: the width of heads whose rows lie in pairs (architectures.h), of no
 * bias then; 0: they do not. */
static struct linear linear_of(struct loader *loader, struct part_name name,
                               size_t rows, size_t columns, bool biased,
                               size_t paired)
{
    struct part_name bias = name;
    const char *weight = part_name_end(&name, ".weight");
    struct linear l = {
        .weight = paired ? loader_paired(loader, weight, rows, columns, paired)
                         : loader_matrix(loader, weight, rows, columns)};
    if (biased)
        l.bias = loader_vector(loader, part_name_end(&bias, ".bias"), rows, 0);
    return l;
}

static struct linear linear(struct loader *loader, struct part_name name,
                            size_t rows, size_t columns, bool biased)
{
    return linear_of(loader, name, rows, columns, biased, 0);
}

/* Of a LayerNorm without a bias: one that adds nothing. */
static float *no_bias(struct loader *loader, size_t width, const char *name)
{
    if (!loader->take || loader->code)
        return NULL;
    float *zeros = mem_alloc(width * sizeof *zeros);
    size_t bytes = width * sizeof *zeros;
    float *bias = loader->kernels->allocate(loader->run, bytes);
    int code = KERNEL_NO_MEMORY;
    memset(zeros, 0, bytes);
    if (bias)
        code = loader->kernels->upload(loader->run, bias, zeros, bytes);
    if (code)
        loader_fail(loader, code, name);
    free(zeros);
    return bias;
}

/* TensorFlow's names of a LayerNorm are in files that came from there. */
static struct norm norm(struct loader *loader, struct part_name name,
                        size_t width, bool biased)
{
    struct part_name bias = name, gamma = name;
    bool old = biased && weight_files_find(loader->files,
                                           part_name_end(&gamma, ".gamma"));
    struct norm n = {.weight = loader_vector(
                         loader,
                         part_name_end(&name, old ? ".gamma" : ".weight"),
                         width, 0)};
    if (biased)
        n.bias = loader_vector(
            loader, part_name_end(&bias, old ? ".beta" : ".bias"), width, 0);
    return n;
}

/* A norm of the family's kind, of the residual stream. */
static struct norm stream_norm(struct loader *loader,
                               const struct model_config *c,
                               struct part_name name)
{
    bool layer_norm = c->architecture->norm == NORM_LAYER;
    struct norm n = norm(loader, name, c->width, layer_norm && c->norm_bias);
    if (layer_norm && !c->norm_bias)
        n.bias = no_bias(loader, c->width, name.text);
    return n;
}

/* Queries, keys and values are made of the same rows. */
static void join_qkv(struct loader *loader, const struct layer_weights *l)
{
    struct kernel_weight *const weights[] = {l->q.weight, l->k.weight,
                                             l->v.weight};
    if (!loader->take || loader->code)
        return;
    int code = loader->kernels->weights_join(loader->run, weights, 3);
    if (code && code != KERNEL_NO_MEMORY) /* apart they will do */
        loader_fail(loader, code, "queries, keys and values");
}

/* Each a matrix, or all of them one. */
static void loader_qkv(struct loader *loader, const struct model_config *c,
                       size_t i, struct layer_weights *l)
{
    const struct tensor_names *names = c->names;
    size_t q = c->heads * c->head, kv = c->key_heads * c->head;
    size_t paired = names->paired ? c->head : 0;
#define NAME(part) part_name_in_layer(loader, names, i, names->part)
    if (names->qkv) {
        const size_t counts[] = {q, kv, kv};
        struct kernel_weight **const ret[] = {&l->q.weight, &l->k.weight,
                                              &l->v.weight};
        struct part_name name = NAME(qkv);
        loader_split(loader, part_name_end(&name, ".weight"), c->width, counts,
                     3, ret);
        join_qkv(loader, l);
        return;
    }
    l->q = linear_of(loader, NAME(q), q, c->width, c->qkv_bias, paired);
    l->k = linear_of(loader, NAME(k), kv, c->width, c->qkv_bias, paired);
    l->v = linear(loader, NAME(v), kv, c->width, c->qkv_bias);
    join_qkv(loader, l);
#undef NAME
}

/* What a feed-forward part begins with: gate and up, apart or in one. */
static void loader_inner(struct loader *loader, const struct model_config *c,
                         size_t i, struct layer_weights *l)
{
    const struct tensor_names *names = c->names;
#define NAME(part) part_name_in_layer(loader, names, i, names->part)
    if (names->gate_up) {
        const size_t counts[] = {c->inner, c->inner};
        struct kernel_weight **const ret[] = {&l->gate.weight, &l->up.weight};
        struct part_name name = NAME(gate_up);
        loader_split(loader, part_name_end(&name, ".weight"), c->width, counts,
                     2, ret);
        return;
    }
    if (c->architecture->gate != GATE_NONE)
        l->gate = linear(loader, NAME(gate), c->inner, c->width, c->inner_bias);
    l->up = linear(loader, NAME(up), c->inner, c->width, c->inner_bias);
#undef NAME
}

static void loader_layer(struct loader *loader, const struct model_config *c,
                         size_t i, struct layer_weights *l)
{
    const struct tensor_names *names = c->names;
    size_t q = c->heads * c->head, kv = c->key_heads * c->head;
    bool whole = c->architecture->head_norm == HEAD_NORM_WHOLE;
#define NAME(part) part_name_in_layer(loader, names, i, names->part)
    if (i || !c->architecture->bare_first)
        l->attention_norm = stream_norm(loader, c, NAME(attention_norm));
    loader_qkv(loader, c, i, l);
    l->o = linear(loader, NAME(o), c->width, q, c->bias);
    if (c->architecture->head_norm != HEAD_NORM_NONE) {
        l->q_norm = norm(loader, NAME(q_norm), whole ? q : c->head, false);
        l->k_norm = norm(loader, NAME(k_norm), whole ? kv : c->head, false);
    }
    l->inner_norm = stream_norm(loader, c, NAME(inner_norm));
    if (c->architecture->norm_place == NORM_BOTH) {
        l->attention_norm_after =
            stream_norm(loader, c, NAME(attention_norm_after));
        l->inner_norm_after = stream_norm(loader, c, NAME(inner_norm_after));
    }
    loader_inner(loader, c, i, l);
    l->down = linear(loader, NAME(down), c->width, c->inner, c->inner_bias);
    if (hils_layer(&c->attention, i))
        loader_hils(loader, c, i, &l->hils);
    if (c->attention.kind == ATTENTION_HICI) {
        if (!l->hici)
            l->hici = mem_alloc(sizeof *l->hici);
        loader_hici(loader, c, i, l->hici);
    }
#undef NAME
}

/* Every token is of the first type: its vector is added to each position's
 * here, once and for all. */
static struct kernel_weight *positions(struct loader *loader,
                                       const struct model_config *c)
{
    const struct tensor_names *names = c->names;
    struct part_name name = part_name(loader, names->positions);
    struct part_name type = part_name(loader, names->types);
    size_t rows = c->first + c->context;
    struct kernel_weight *weight = NULL;
    const struct tensor *table =
        loader_ask(loader, part_name_end(&name, ".weight"), rows, c->width);
    float *types = loader_host(loader, part_name_end(&type, ".weight"),
                               c->types, c->width);
    float *sums = NULL;
    if (types && table && !loader->code) {
        sums = weight_files_keep(loader->files, table);
        for (size_t i = 0; sums && i < rows * c->width; i++)
            sums[i] += types[i % c->width];
        int code = KERNEL_NO_MEMORY;
        if (sums)
            code = loader->kernels->weight(loader->run, sums, KERNEL_F32, rows,
                                           c->width, &weight);
        if (code)
            loader_fail(loader, code, name.text);
    }
    free(types);
    return weight;
}

/* That vector alone, where there are no positions to add it to. */
static float *token_type(struct loader *loader, const struct model_config *c)
{
    struct part_name part = part_name(loader, c->names->types);
    const char *name = part_name_end(&part, ".weight");
    size_t bytes = c->width * sizeof(float);
    float *types = loader_host(loader, name, c->types, c->width);
    if (!types)
        return NULL;
    float *first = loader->kernels->allocate(loader->run, bytes);
    int code = KERNEL_NO_MEMORY;
    if (first)
        code = loader->kernels->upload(loader->run, first, types, bytes);
    if (code)
        loader_fail(loader, code, name);
    free(types);
    return first;
}

/* False: the model has none. */
static bool loader_projections(struct loader *loader, const char *wq,
                               const char *wk, size_t width,
                               struct projections *p)
{
    const struct named *q = weight_files_find(loader->files, wq),
                       *k = weight_files_find(loader->files, wk);
    if (!q && !k)
        return false;
    const struct tensor *first = (q ? q : k)->tensor;
    p->p = first->rank == 2 && first->shape[1] ? (size_t)first->shape[1] : 1;
    p->wq = loader_vector(loader, wq, width, p->p);
    p->wk = loader_vector(loader, wk, width, p->p);
    return true;
}

static const char *embedding_name(const struct loader *loader,
                                  const struct tensor_names *names,
                                  struct part_name *ret)
{
    *ret = part_name(loader, names->embedding);
    return names->whole ? ret->text : part_name_end(ret, ".weight");
}

/* A matrix with a row an id; not `all`: without what follows them. */
static struct kernel_weight *id_rows(struct loader *loader,
                                     const struct model_config *c,
                                     const char *name, bool all,
                                     struct matrix_data *ret_data)
{
    size_t rows = c->vocabulary;
    if (c->architecture->hils)
        rows = hils_rows(loader, c, name);
    const struct tensor *tensor =
        loader_ask_matrix(loader, name, rows, c->width);
    if (!tensor)
        return NULL;
    *ret_data = loader_data(loader, tensor);
    return loader_weight(loader, *ret_data, name, all ? rows : c->vocabulary,
                         c->width);
}

/* The embedding and the head.  Logits are of ids alone: a head that is the
 * embedding leaves its further rows out. */
static void loader_ids(struct loader *loader, const struct model_config *c,
                       struct model_weights *w)
{
    struct part_name part, head = {0};
    const char *name = embedding_name(loader, c->names, &part);
    struct matrix_data data = {0};
    w->embedding = id_rows(loader, c, name, true, &data);
    if (c->architecture->hils)
        w->host_landmark = loader_landmark(loader, c, name);
    part_name_end(&head, c->names->head ? c->names->head : "");
    if (c->writes && !c->tied)
        w->head =
            id_rows(loader, c, part_name_end(&head, ".weight"), false, &data);
    else if (c->writes && c->architecture->hils)
        w->head = loader_weight(loader, data, name, c->vocabulary, c->width);
    else if (c->writes)
        w->head = w->embedding;
}

/* All are positive. */
static float *rotary_factors(struct loader *loader,
                             const struct model_config *c)
{
    struct part_name name = part_name(loader, c->names->rotary);
    const char *full = part_name_end(&name, ".weight");
    if (!weight_files_find(loader->files, full))
        return NULL;
    float *factors = loader_host(loader, full, c->head / 2, 0);
    for (size_t i = 0; factors && i < c->head / 2; i++)
        if (!(factors[i] > 0) && !loader->code)
            loader->code =
                err_set(loader->err, ERR_FORMAT,
                        "%s has a factor that is not positive", full);
    return factors;
}

static void loader_all(struct loader *loader, const struct model_config *c,
                       struct model_weights *w)
{
    const struct tensor_names *names = c->names;
    loader_ids(loader, c, w);
    if (names->rotary)
        w->host_rotary = rotary_factors(loader, c);
    if (names->positions)
        w->positions = positions(loader, c);
    else if (names->types)
        w->token_type = token_type(loader, c);
    if (names->embedding_norm)
        w->embedding_norm =
            stream_norm(loader, c, part_name(loader, names->embedding_norm));
    if (c->attention.kind == ATTENTION_STAR)
        loader_star(loader, c, w);
    if (c->attention.kind == ATTENTION_HICI)
        loader_hici_heads(loader, c);
    if (names->norm)
        w->norm = stream_norm(loader, c, part_name(loader, names->norm));
    for (size_t i = 0; i < c->layers; i++)
        loader_layer(loader, c, i, &w->layers[i]);
    if (names->dense[0])
        loader_dense(loader, c, w);
    if (c->scores)
        loader_scoring(loader, c, w);
    if (c->architecture->encoder)
        return;
    if (weight_files_find(loader->files, "lectern.mem") ||
        weight_files_find(loader->files, "lectern.mem0")) {
        w->soft_tokens = true;
        w->host_mem = loader_host(loader, "lectern.mem", c->width, 0);
        w->host_mem0 = loader_host(loader, "lectern.mem0", c->width, 0);
    }
    w->recalls = loader_projections(loader, "lectern.recall.wq",
                                    "lectern.recall.wk", c->width, &w->recall);
    w->pools = loader_projections(loader, "lectern.pool.wq", "lectern.pool.wk",
                                  c->width, &w->pool);
}

static void describe(struct model_weights *w, const struct loader *loader,
                     const struct tensor_names *names)
{
    struct part_name name;
    const struct named *embedding =
        weight_files_find(w->files, embedding_name(loader, names, &name));
    static const char *const types[] = {[TENSOR_F32] = "f32",
                                        [TENSOR_F16] = "f16",
                                        [TENSOR_BF16] = "bf16",
                                        [TENSOR_I8] = "int8"};
    int type = embedding->tensor->type;
    w->type = tensor_is_blocks(embedding->tensor)
                  ? block_kind(tensor_kernel_type(embedding->tensor))->name
                  : types[type];
    for (size_t i = 0; i < w->files->tensor_count; i++) {
        const struct tensor *tensor = w->files->tensors[i].tensor;
        w->parameters += tensor_values(tensor);
        if (tensor->type == TENSOR_I8)
            w->parameters -= tensor->shape[0]; /* its scales are among them */
        w->bytes += tensor->bytes;
        bool narrow = tensor->type == TENSOR_F16 || tensor->type == TENSOR_I8;
        w->wide_bytes +=
            narrow ? tensor_values(tensor) * sizeof(float) : tensor->bytes;
    }
}

/* The first prefix under which there is an embedding; without any, the one it
 * should have. */
static const char *prefix_of(const struct loader *loader,
                             const struct tensor_names *names)
{
    struct loader under = *loader;
    struct part_name name;
    for (size_t i = 0; i < PREFIXES && names->prefixes[i]; i++) {
        under.prefix = names->prefixes[i];
        if (weight_files_find(loader->files,
                              embedding_name(&under, names, &name)))
            return under.prefix;
    }
    under.prefix = "";
    bool bare =
        weight_files_find(loader->files, embedding_name(&under, names, &name));
    return bare || !names->prefixes[0] ? "" : names->prefixes[0];
}

/* Reads every byte, and lets go of them: rows of an embedding that never come up,
 * and matrices that were copied, are read for this alone. */
static struct hash128 hash_all(const struct weight_files *files,
                               const struct gguf *gguf)
{
    struct hash128 hash = weight_files_hash(files);
    for (size_t i = 0; i < files->count; i++)
        safetensors_let_go(files->files[i]);
    if (gguf)
        gguf_let_go(gguf);
    return hash;
}

int model_weights_open(const char *path, const struct gguf *gguf,
                       const struct model_config *config,
                       const struct kernels *kernels, struct kernel_run *run,
                       bool check, struct model_weights *ret, struct err *err)
{
    struct model_weights w = {.kernels = kernels};
    w.files = mem_alloc(sizeof *w.files);
    w.layers = mem_alloc(config->layers * sizeof *w.layers);
    struct loader loader = {
        .files = w.files, .kernels = kernels, .run = run, .err = err};
    int code = gguf ? weight_files_of(w.files, gguf, err)
                    : weight_files_open(w.files, path, err);
    if (!code) {
        loader.prefix = prefix_of(&loader, config->names);
        loader_all(&loader, config, &w);
        code = report(&loader, config);
    }
    if (!code && !check) {
        loader.take = true;
        loader_all(&loader, config, &w);
        code = loader.code;
    }
    if (!code)
        describe(&w, &loader, config->names);
    if (!code && !check)
        w.hash = hash_all(w.files, gguf);
    buf_free(&loader.complaints);
    if (code)
        model_weights_close(&w, config, run);
    else
        *ret = w;
    return code;
}

static void close_norm(struct model_weights *w, struct norm *n,
                       struct kernel_run *run)
{
    w->kernels->release(run, n->weight);
    w->kernels->release(run, n->bias);
}

static void close_matrix(struct model_weights *w, struct kernel_weight *matrix,
                         struct kernel_run *run)
{
    if (matrix)
        w->kernels->weight_free(run, matrix);
}

static void close_layer(struct model_weights *w, struct layer_weights *l,
                        struct kernel_run *run)
{
    struct norm *norms[] = {&l->attention_norm,
                            &l->q_norm,
                            &l->k_norm,
                            &l->inner_norm,
                            &l->attention_norm_after,
                            &l->inner_norm_after};
    struct linear *linears[] = {&l->q,    &l->k,  &l->v,   &l->o,
                                &l->gate, &l->up, &l->down};
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++)
        close_norm(w, norms[i], run);
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++) {
        close_matrix(w, linears[i]->weight, run);
        w->kernels->release(run, linears[i]->bias);
    }
    close_matrix(w, l->hils.down, run);
    close_matrix(w, l->hils.up, run);
    close_matrix(w, l->hils.full, run);
    w->kernels->release(run, l->hils.norm);
    w->kernels->release(run, l->hils.q_c);
    for (size_t i = 0; l->hici && i < HICI_MATRICES; i++)
        close_matrix(w, l->hici->matrices[i], run);
    for (size_t i = 0; l->hici && i < HICI_VECTORS; i++)
        w->kernels->release(run, l->hici->vectors[i]);
    free(l->hici);
}

void model_weights_close(struct model_weights *w,
                         const struct model_config *config,
                         struct kernel_run *run)
{
    float *vectors[] = {w->recall.wq, w->recall.wk,  w->pool.wq,    w->pool.wk,
                        w->star_gate, w->token_type, w->type_change};
    for (size_t i = 0; w->layers && i < config->layers; i++)
        close_layer(w, &w->layers[i], run);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        w->kernels->release(run, vectors[i]);
    close_norm(w, &w->norm, run);
    close_norm(w, &w->embedding_norm, run);
    close_matrix(w, w->positions, run);
    if (w->head != w->embedding)
        close_matrix(w, w->head, run);
    close_matrix(w, w->embedding, run);
    free(w->layers);
    free(w->host_dense[0]);
    free(w->host_dense[1]);
    free(w->scoring.host_dense);
    free(w->scoring.host_dense_bias);
    free(w->scoring.host_norm);
    free(w->scoring.host_norm_bias);
    free(w->scoring.host_out);
    free(w->scoring.host_out_bias);
    free(w->host_rotary);
    free(w->host_mem);
    free(w->host_mem0);
    free(w->host_landmark);
    free(w->host_summary);
    weight_files_close(w->files);
    *w = (struct model_weights){0};
}
