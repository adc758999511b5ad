#include "model/weights/weights_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char star_summary[] = "lectern.star.summary";
static const char star_gate[] = "lectern.star.gate";

/* ---- HiLS ---- */

size_t hils_rows(const struct walk *walk, const struct model_config *c,
                 const char *name)
{
    enum { MULTIPLE = 32 };
    const struct named *named = weight_files_find(walk->files, name);
    size_t padded = (c->vocabulary + MULTIPLE) / MULTIPLE * MULTIPLE;
    bool is_padded =
        named && named->tensor->rank == 2 && named->tensor->shape[0] == padded;
    return is_padded ? padded : c->vocabulary;
}

float *walk_landmark(struct walk *walk, const struct model_config *c,
                     const char *embedding)
{
    struct part_name name = part_name(walk, c->architecture->names->landmark);
    if (c->attention.hils.landmark_apart)
        return walk_host(walk, name.text, c->width, 0);
    const struct named *table = weight_files_find(walk->files, embedding);
    size_t rows = hils_rows(walk, c, embedding);
    if (table && rows == c->vocabulary)
        walk_complain(walk, "no row for the landmark in", embedding);
    if (!walk->take || walk->code)
        return NULL;
    float *row = malloc(c->width * sizeof *row);
    if (row)
        walk_row(walk, table->tensor, c->vocabulary, c->width, row);
    else
        walk_fail(walk, KERNEL_NO_MEMORY, embedding);
    return row;
}

void walk_hils(struct walk *walk, const struct model_config *c, size_t layer,
               struct hils_weights *ret)
{
    const struct tensor_names *names = c->architecture->names;
    const struct hils_config *h = &c->attention.hils;
    size_t q = c->heads * c->head;
#define NAME(part) part_name_in_layer(walk, names, layer, names->part)
    struct part_name down = NAME(calibrate), up = NAME(calibrate),
                     full = NAME(calibrate), norm = NAME(calibrate_norm),
                     shared = NAME(shared_query);
#undef NAME
    if (h->calibrated && h->rank) {
        ret->down = walk_matrix(walk, part_name_end(&down, ".0.weight"),
                                h->rank, c->width);
        ret->up =
            walk_matrix(walk, part_name_end(&up, ".1.weight"), q, h->rank);
    } else if (h->calibrated) {
        ret->full =
            walk_matrix(walk, part_name_end(&full, ".weight"), q, c->width);
    }
    if (h->calibrated)
        ret->norm = walk_vector(walk, part_name_end(&norm, ".weight"),
                                h->whole_norm ? q : c->head, 0);
    if (h->shared_query)
        ret->host_q_c = walk_host(walk, shared.text, c->heads, c->head);
}

/* ---- STAR ---- */

void walk_star(struct walk *walk, const struct model_config *c,
               struct model_weights *w)
{
    w->host_summary = walk_host(walk, star_summary, c->width, 0);
    w->star_gate = walk_vector(walk, star_gate, c->layers, 3);
}

/* ---- HiCI ---- */

/* A size of HiCI's is what its first layer's tensor has; of all layers it is
 * the same. */
static size_t rows_of(const struct walk *walk, const struct model_config *c,
                      const char *part)
{
    struct part_name name =
        part_name_in_layer(walk, c->architecture->names, 0, part);
    const struct named *named = weight_files_find(walk->files, name.text);
    bool fits = named && named->tensor->rank > 0 && named->tensor->shape[0] &&
                named->tensor->shape[0] <= 1 << 20;
    return fits ? (size_t)named->tensor->shape[0] : 1;
}

#define LOCAL  "self_attn.local_constructor."
#define GLOBAL "self_attn.global_integrator."

static struct kernel_hici hici_sizes(const struct walk *walk,
                                     const struct model_config *c)
{
    struct kernel_hici h = {
        .slots = rows_of(walk, c, LOCAL "memory_slots"),
        .queries = rows_of(walk, c, GLOBAL "global_queries"),
        .heads = c->attention.hici.heads,
        .width = c->width,
        .a = rows_of(walk, c, LOCAL "q_proj.weight"),
        .s = rows_of(walk, c, GLOBAL "shared_compressor.0.weight"),
        .b = rows_of(walk, c, GLOBAL "stat_expand.0.weight"),
        .eps = 1e-5F,
    };
    return h;
}

/* A single number: of rank 0, or [1]. */
static float number(struct walk *walk, const char *name)
{
    struct named *named = weight_files_find(walk->files, name);
    float value = 0;
    if (!named || named->tensor->rank != 0) {
        float *host = walk_host(walk, name, 1, 0);
        value = host ? *host : 0;
        free(host);
        return value;
    }
    named->known = true;
    if (!tensor_is_float(named->tensor))
        walk_complain(walk, "of another type", name);
    else
        tensor_floats(named->tensor, 0, 1, &value);
    return value;
}

void walk_hici_heads(struct walk *walk, const struct model_config *c)
{
    struct kernel_hici h = hici_sizes(walk, c);
    if (h.a % h.heads)
        walk_complain(walk, "not divided by its heads:", LOCAL "q_proj");
    if (h.b % h.heads)
        walk_complain(walk, "not divided by its heads:", GLOBAL "q_proj");
}

void walk_hici(struct walk *walk, const struct model_config *c, size_t layer,
               struct hici_weights *ret)
{
    struct kernel_hici *h = &ret->hici;
    *h = hici_sizes(walk, c);
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
    const struct tensor_names *names = c->architecture->names;
    struct part_name name;
    for (size_t i = 0; i < HICI_MATRICES; i++) {
        name = part_name_in_layer(walk, names, layer, matrices[i].part);
        ret->matrices[i] =
            walk_matrix(walk, name.text, matrices[i].rows, matrices[i].columns);
        *matrices[i].ret = ret->matrices[i];
    }
    for (size_t i = 0; i < HICI_VECTORS; i++) {
        name = part_name_in_layer(walk, names, layer, vectors[i].part);
        ret->vectors[i] =
            walk_vector(walk, name.text, vectors[i].rows, vectors[i].columns);
        *vectors[i].ret = ret->vectors[i];
    }
    name = part_name_in_layer(walk, names, layer, GLOBAL "expand_scale_param");
    h->beta = number(walk, name.text);
}
