/* Weights that no file holds, in the place of model/weights/weights_files.c: random
 * numbers under the names and in the shapes that a folder's config.json asks for.
 * All matrices lie in one array, one after the other a little later in it. */
#include "tests/cuda/bench_weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/weights/weights_internal.h"

enum {
    SHIFT = 7919, /* between the beginnings of two tensors */
    MAX_SHIFT = 1 << 20,
    PERIOD = 1048573, /* of the random numbers: prime, so that no row is as
                          another */
    HICI_SLOTS = 8,
    HICI_QUERIES = 4,
    NARROWER = 8, /* times is a projection narrower than the model */
    MAX_CONFIG = 1 << 16
};

/* So that sums over a row stay near 1. */
static const double MATRIX = 0.03;

bool bench_weights_absent;

struct build {
    struct weight_files *files;
    const struct model_config *config;
    struct loader loader; /* for names */
    struct tensor *tensors;
    size_t count;
    size_t max[2]; /* values of the largest in f32, and in bf16 */
};

/* ---- Numbers ---- */

static double random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) * 0x1p-23 - 1;
}

/* Freed with the files; NULL: there is none. */
static void *kept(struct weight_files *files, void *memory)
{
    if (!memory)
        return NULL;
    MEM_RESERVE(files->copies, &files->copy_capacity, files->copy_count + 1);
    return files->copies[files->copy_count++] = memory;
}

/* [count] of `size` bytes: the first PERIOD of them again and again. */
static void repeat(void *values, size_t count, size_t size)
{
    unsigned char *to = values;
    for (size_t at = PERIOD, some; at < count; at += some) {
        some = count - at < PERIOD ? count - at : PERIOD;
        memcpy(to + at * size, to, some * size);
    }
}

static uint16_t *matrix_values(struct weight_files *files, size_t count)
{
    uint16_t *values = kept(files, malloc(count * sizeof *values));
    uint64_t state = 7;
    for (size_t i = 0; values && i < count && i < PERIOD; i++) {
        float value = (float)(MATRIX * random_of(&state));
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        values[i] = (uint16_t)(bits >> 16);
    }
    if (values)
        repeat(values, count, sizeof *values);
    return values;
}

static float *vector_values(struct weight_files *files, size_t count,
                            double middle, double width)
{
    float *values = kept(files, malloc(count * sizeof *values));
    uint64_t state = 9;
    for (size_t i = 0; values && i < count && i < PERIOD; i++)
        values[i] = (float)(middle + width * random_of(&state));
    if (values)
        repeat(values, count, sizeof *values);
    return values;
}

/* ---- Names and shapes ---- */

static void put(struct build *m, const char *name, int rank, size_t rows,
                size_t columns, bool narrow)
{
    size_t values = rows * (rank == 2 ? columns : 1);
    m->tensors = mem_resize(m->tensors, m->count + 1, sizeof *m->tensors);
    m->tensors[m->count++] = (struct tensor){
        .name = slice_of(kept(m->files, mem_strdup(name))),
        .type = narrow ? TENSOR_BF16 : TENSOR_F32,
        .rank = rank,
        .shape = {rows, columns},
        .bytes = values * (narrow ? 2 : 4),
    };
    if (m->max[narrow] < values)
        m->max[narrow] = values;
}

static void put_matrix(struct build *m, struct part_name name, size_t rows,
                       size_t columns)
{
    put(m, part_name_end(&name, ".weight"), 2, rows, columns, true);
}

static void put_linear(struct build *m, struct part_name name, size_t rows,
                       size_t columns, bool biased)
{
    struct part_name bias = name;
    put_matrix(m, name, rows, columns);
    if (biased)
        put(m, part_name_end(&bias, ".bias"), 1, rows, 0, false);
}

static void put_norm(struct build *m, struct part_name name, size_t width,
                     bool biased)
{
    struct part_name bias = name;
    put(m, part_name_end(&name, ".weight"), 1, width, 0, false);
    if (biased)
        put(m, part_name_end(&bias, ".bias"), 1, width, 0, false);
}

static struct part_name in_layer(struct build *m, size_t layer,
                                 const char *part)
{
    return part_name_in_layer(&m->loader, m->config->names, layer, part);
}

static void put_hils(struct build *m, size_t i)
{
    const struct model_config *c = m->config;
    const struct hils_config *h = &c->attention.hils;
    const struct tensor_names *names = c->names;
    struct part_name down = in_layer(m, i, names->calibrate), up = down;
    if (!h->calibrated || !h->rank)
        return;
    put(m, part_name_end(&down, ".0.weight"), 2, h->rank, c->width, true);
    put(m, part_name_end(&up, ".1.weight"), 2, c->heads * c->head, h->rank,
        true);
    put_norm(m, in_layer(m, i, names->calibrate_norm), c->head, false);
}

static void put_hici(struct build *m, size_t i)
{
    size_t D = m->config->width, a = D / NARROWER, s = a / 4;
    const struct {
        const char *part;
        int rank;
        size_t rows, columns;
    } all[] = {
        {"local_constructor.q_proj.weight", 2, a, D},
        {"local_constructor.k_proj.weight", 2, a, D},
        {"local_constructor.v_proj.weight", 2, a, D},
        {"local_constructor.o_proj.weight", 2, D, a},
        {"global_integrator.shared_compressor.0.weight", 2, s, D},
        {"global_integrator.stat_expand.0.weight", 2, a, s},
        {"global_integrator.q_proj.weight", 2, a, a},
        {"global_integrator.k_proj.weight", 2, a, a},
        {"global_integrator.v_proj.weight", 2, a, a},
        {"global_integrator.o_proj.weight", 2, a, a},
        {"global_integrator.expand.weight", 2, D, a},
        {"local_constructor.memory_slots", 2, HICI_SLOTS, D},
        {"global_integrator.global_queries", 2, HICI_QUERIES, a},
        {"global_integrator.shared_compressor.1.weight", 1, s, 0},
        {"global_integrator.shared_compressor.1.bias", 1, s, 0},
        {"global_integrator.stat_expand.1.weight", 1, a, 0},
        {"global_integrator.stat_expand.1.bias", 1, a, 0},
        {"global_integrator.expand_scale_param", 1, 1, 0},
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        struct part_name name = in_layer(m, i, "self_attn.");
        put(m, part_name_end(&name, all[k].part), all[k].rank, all[k].rows,
            all[k].columns, all[k].rank == 2);
    }
}

static void put_layer(struct build *m, size_t i)
{
    const struct model_config *c = m->config;
    const struct architecture *a = c->architecture;
    const struct tensor_names *n = a->names;
    size_t q = c->heads * c->head, kv = c->key_heads * c->head;
    bool biased = a->norm == NORM_LAYER,
         whole = a->head_norm == HEAD_NORM_WHOLE;
    put_norm(m, in_layer(m, i, n->attention_norm), c->width, biased);
    put_linear(m, in_layer(m, i, n->q), q, c->width, c->qkv_bias);
    put_linear(m, in_layer(m, i, n->k), kv, c->width, c->qkv_bias);
    put_linear(m, in_layer(m, i, n->v), kv, c->width, c->qkv_bias);
    put_linear(m, in_layer(m, i, n->o), c->width, q, c->bias);
    if (a->head_norm != HEAD_NORM_NONE) {
        put_norm(m, in_layer(m, i, n->q_norm), whole ? q : c->head, false);
        put_norm(m, in_layer(m, i, n->k_norm), whole ? kv : c->head, false);
    }
    put_norm(m, in_layer(m, i, n->inner_norm), c->width, biased);
    if (a->gate)
        put_linear(m, in_layer(m, i, n->gate), c->inner, c->width,
                   c->inner_bias);
    put_linear(m, in_layer(m, i, n->up), c->inner, c->width, c->inner_bias);
    put_linear(m, in_layer(m, i, n->down), c->width, c->inner, c->inner_bias);
    if (hils_layer(&c->attention, i))
        put_hils(m, i);
    if (c->attention.kind == ATTENTION_HICI)
        put_hici(m, i);
}

/* What HMT and H2MT read memories with. */
static void put_memory(struct build *m)
{
    size_t width = m->config->width;
    static const char *const soft[] = {"lectern.mem", "lectern.mem0"};
    static const char *const projections[] = {"lectern.recall.wq",
                                              "lectern.recall.wk"};
    for (size_t i = 0; i < 2; i++) {
        put(m, soft[i], 1, width, 0, false);
        put(m, projections[i], 2, width, width / NARROWER, true);
    }
}

static void put_all(struct build *m)
{
    enum { MULTIPLE = 32 };
    const struct model_config *c = m->config;
    const struct architecture *a = c->architecture;
    const struct tensor_names *n = a->names;
    size_t ids = c->vocabulary;
    if (a->hils) /* with a row for the landmark */
        ids = (ids + MULTIPLE) / MULTIPLE * MULTIPLE;
    put_matrix(m, part_name(&m->loader, n->embedding), ids, c->width);
    if (n->positions)
        put_matrix(m, part_name(&m->loader, n->positions),
                   c->first + c->context, c->width);
    if (n->types)
        put_matrix(m, part_name(&m->loader, n->types), c->types, c->width);
    if (n->embedding_norm)
        put_norm(m, part_name(&m->loader, n->embedding_norm), c->width,
                 a->norm == NORM_LAYER);
    if (n->norm)
        put_norm(m, part_name(&m->loader, n->norm), c->width, false);
    for (size_t i = 0; i < c->layers; i++)
        put_layer(m, i);
    if (c->writes && !c->tied)
        put(m, "lm_head.weight", 2, ids, c->width, true);
    if (c->attention.kind == ATTENTION_STAR) {
        put(m, "lectern.star.summary", 1, c->width, 0, false);
        put(m, "lectern.star.gate", 2, c->layers, 3, false);
    }
    if (!a->encoder && c->attention.kind != ATTENTION_STAR &&
        c->attention.kind != ATTENTION_HICI)
        put_memory(m);
}

/* ---- In the place of weights_files.c ---- */

static int compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return strcmp(x->tensor->name.data, y->tensor->name.data);
}

/* Norms are near 1, all else near 0. */
static int give_values(struct build *m)
{
    if (bench_weights_absent)
        return 0;
    const uint16_t *matrices = matrix_values(m->files, m->max[1] + MAX_SHIFT);
    const float *ones = vector_values(m->files, m->max[0], 1, 0.1);
    const float *zeros = vector_values(m->files, m->max[0], 0, 0.1);
    if (!matrices || !ones || !zeros)
        return ERR_LIMIT;
    for (size_t i = 0; i < m->count; i++) {
        struct tensor *t = &m->tensors[i];
        bool norm = t->rank == 1 && strstr(t->name.data, "weight");
        if (t->type == TENSOR_BF16)
            t->data = matrices + i * SHIFT % MAX_SHIFT;
        else
            t->data = norm ? ones : zeros;
    }
    return 0;
}

int weight_files_open(struct weight_files *files, const char *folder,
                      struct err *err)
{
    struct buf path = {0}, text = {0};
    struct model_config config;
    file_join(&path, folder, "config.json");
    int code = file_read(path.data, MAX_CONFIG, &text, err);
    if (!code)
        code = model_config_from(buf_slice(&text), slice_of(""), &config, err);
    buf_free(&path);
    buf_free(&text);
    if (code)
        return code;
    struct build m = {.files = files,
                      .config = &config,
                      .loader = {.prefix = config.names->prefixes[0]}};
    put_all(&m);
    kept(files, m.tensors);
    code = give_values(&m);
    files->tensor_count = m.count;
    files->tensors = mem_alloc(m.count * sizeof *files->tensors);
    for (size_t i = 0; i < m.count; i++)
        files->tensors[i].tensor = &m.tensors[i];
    qsort(files->tensors, m.count, sizeof *files->tensors, compare);
    model_config_free(&config);
    return code ? err_set(err, ERR_LIMIT, "no memory for random weights") : 0;
}

int weight_files_of(struct weight_files *files, const struct gguf *gguf,
                    struct err *err)
{
    (void)files;
    (void)gguf;
    return err_set(err, ERR_USAGE, "random weights are not a GGUF file's");
}

void weight_files_close(struct weight_files *files)
{
    for (size_t i = 0; i < files->copy_count; i++)
        free(files->copies[i]);
    free(files->tensors);
    free(files->copies);
    free(files);
}

struct named *weight_files_find(const struct weight_files *files,
                                const char *name)
{
    struct tensor wanted = {.name = slice_of(name)};
    struct named key = {&wanted, false};
    return bsearch(&key, files->tensors, files->tensor_count, sizeof key,
                   compare);
}

struct hash128 weight_files_hash(const struct weight_files *files)
{
    return (struct hash128){.low = files->tensor_count};
}
