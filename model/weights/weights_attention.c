#include "model/weights/weights_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char star_summary[] = "lectern.star.summary";
static const char star_gate[] = "lectern.star.gate";

/* ---- HiLS ---- */

size_t hils_rows(const struct loader *loader, const struct model_config *c,
                 const char *name)
{
    enum { MULTIPLE = 32 };
    const struct named *named = weight_files_find(loader->files, name);
    size_t padded = (c->vocabulary + MULTIPLE) / MULTIPLE * MULTIPLE;
    bool is_padded =
        named && named->tensor->rank == 2 && named->tensor->shape[0] == padded;
    return is_padded ? padded : c->vocabulary;
}

float *loader_landmark(struct loader *loader, const struct model_config *c,
                       const char *embedding)
{
    struct part_name name = part_name(loader, c->names->landmark);
    if (c->attention.hils.landmark_apart)
        return loader_host(loader, name.text, c->width, 0);
    const struct named *table = weight_files_find(loader->files, embedding);
    size_t rows = hils_rows(loader, c, embedding);
    if (table && rows == c->vocabulary)
        loader_complain(loader, "no row for the landmark in", embedding);
    if (!loader->take || loader->code)
        return NULL;
    float *row = malloc(c->width * sizeof *row);
    if (row)
        loader_row(loader, table->tensor, c->vocabulary, c->width, row);
    else
        loader_fail(loader, KERNEL_NO_MEMORY, embedding);
    return row;
}

void loader_hils(struct loader *loader, const struct model_config *c,
                 size_t layer, struct hils_weights *ret)
{
    const struct tensor_names *names = c->names;
    const struct hils_config *h = &c->attention.hils;
    size_t q = c->heads * c->head;
#define NAME(part) part_name_in_layer(loader, names, layer, names->part)
    struct part_name down = NAME(calibrate), up = NAME(calibrate),
                     full = NAME(calibrate), norm = NAME(calibrate_norm),
                     shared = NAME(shared_query);
#undef NAME
    if (h->calibrated && h->rank) {
        ret->down = loader_matrix(loader, part_name_end(&down, ".0.weight"),
                                  h->rank, c->width);
        ret->up =
            loader_matrix(loader, part_name_end(&up, ".1.weight"), q, h->rank);
    } else if (h->calibrated) {
        ret->full =
            loader_matrix(loader, part_name_end(&full, ".weight"), q, c->width);
    }
    if (h->calibrated)
        ret->norm = loader_vector(loader, part_name_end(&norm, ".weight"),
                                  h->whole_norm ? q : c->head, 0);
    if (h->shared_query)
        ret->q_c = loader_vector(loader, shared.text, c->heads, c->head);
}

/* ---- STAR ---- */

void loader_star(struct loader *loader, const struct model_config *c,
                 struct model_weights *ret)
{
    ret->host_summary = loader_host(loader, star_summary, c->width, 0);
    ret->star_gate = loader_vector(loader, star_gate, c->layers, 3);
}

/* ---- HiCI ---- */

/* A size of HiCI's is what its first layer's tensor has; of all layers it is
 * the same. */
static size_t rows_of(const struct loader *loader, const struct model_config *c,
                      const char *part)
{
    struct part_name name = part_name_in_layer(loader, c->names, 0, part);
    const struct named *named = weight_files_find(loader->files, name.text);
    bool fits = named && named->tensor->rank > 0 && named->tensor->shape[0] &&
                named->tensor->shape[0] <= 1 << 20;
    return fits ? (size_t)named->tensor->shape[0] : 1;
}

#define LOCAL  "self_attn.local_constructor."
#define GLOBAL "self_attn.global_integrator."

static struct kernel_hici hici_sizes(const struct loader *loader,
                                     const struct model_config *c)
{
    struct kernel_hici h = {
        .slots = rows_of(loader, c, LOCAL "memory_slots"),
        .queries = rows_of(loader, c, GLOBAL "global_queries"),
        .heads = c->attention.hici.heads,
        .width = c->width,
        .a = rows_of(loader, c, LOCAL "q_proj.weight"),
        .s = rows_of(loader, c, GLOBAL "shared_compressor.0.weight"),
        .b = rows_of(loader, c, GLOBAL "stat_expand.0.weight"),
        .eps = 1e-5F,
    };
    return h;
}

/* A single number: of rank 0, or [1]. */
static float number(struct loader *loader, const char *name)
{
    struct named *named = weight_files_find(loader->files, name);
    float value = 0;
    if (!named || named->tensor->rank != 0) {
        float *host = loader_host(loader, name, 1, 0);
        value = host ? *host : 0;
        free(host);
        return value;
    }
    named->known = true;
    if (!tensor_is_float(named->tensor))
        loader_complain(loader, "of another type", name);
    else
        tensor_floats(named->tensor, 0, 1, &value);
    return value;
}

void loader_hici_heads(struct loader *loader, const struct model_config *c)
{
    struct kernel_hici h = hici_sizes(loader, c);
    if (h.a % h.heads)
        loader_complain(loader, "not divided by its heads:", LOCAL "q_proj");
    if (h.b % h.heads)
        loader_complain(loader, "not divided by its heads:", GLOBAL "q_proj");
}

void loader_hici(struct loader *loader, const struct model_config *c,
                 size_t layer, struct hici_weights *ret)
{
    struct kernel_hici *h = &ret->hici;
    *h = hici_sizes(loader, c);
    size_t D = c->width, a = h->a, s = h->s, b = h->b;
    const struct {
        const char *part;
        const struct kernel_weight **ret;
        size_t rows, columns;
    } matrices[HICI_MATRICES] = {
        {LOCAL "q_proj.weight", &h->lq, a, D},
        {LOCAL "k_proj.weight", &h->lk, a, D},
        {LOCAL "v_proj.weight", &h->lv, a, D},
        {LOCAL "o_proj.weight", &h->lo, D, a},
        {GLOBAL "shared_compressor.0.weight", &h->gc, s, D},
        {GLOBAL "stat_expand.0.weight", &h->gb, b, s},
        {GLOBAL "q_proj.weight", &h->gq, b, b},
        {GLOBAL "k_proj.weight", &h->gk, b, b},
        {GLOBAL "v_proj.weight", &h->gv, b, b},
        {GLOBAL "o_proj.weight", &h->go, b, b},
        {GLOBAL "expand.weight", &h->expand, D, b},
    };
    const struct {
        const char *part;
        const float **ret;
        size_t rows, columns;
    } vectors[HICI_VECTORS] = {
        {LOCAL "memory_slots", &h->slot, h->slots, D},
        {GLOBAL "shared_compressor.1.weight", &h->gc_norm, s, 0},
        {GLOBAL "shared_compressor.1.bias", &h->gc_bias, s, 0},
        {GLOBAL "stat_expand.1.weight", &h->gb_norm, b, 0},
        {GLOBAL "stat_expand.1.bias", &h->gb_bias, b, 0},
        {GLOBAL "global_queries", &h->query, h->queries, b},
    };
    const struct tensor_names *names = c->names;
    struct part_name name;
    for (size_t i = 0; i < HICI_MATRICES; i++) {
        name = part_name_in_layer(loader, names, layer, matrices[i].part);
        ret->matrices[i] = loader_matrix(loader, name.text, matrices[i].rows,
                                         matrices[i].columns);
        *matrices[i].ret = ret->matrices[i];
    }
    for (size_t i = 0; i < HICI_VECTORS; i++) {
        name = part_name_in_layer(loader, names, layer, vectors[i].part);
        ret->vectors[i] = loader_vector(loader, name.text, vectors[i].rows,
                                        vectors[i].columns);
        *vectors[i].ret = ret->vectors[i];
    }
    name =
        part_name_in_layer(loader, names, layer, GLOBAL "expand_scale_param");
    h->beta = number(loader, name.text);
}
