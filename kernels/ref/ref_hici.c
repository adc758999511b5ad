/* HiCI attention, made of a table's products, norms and attention. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

enum { VIEWS = 5 }; /* statistics of the slots */

static float *room(size_t a, size_t b)
{
    size_t count;
    if (__builtin_mul_overflow(a, b, &count))
        return NULL;
    return calloc(count ? count : 1, sizeof(float));
}

static size_t segments_of(size_t n, size_t segment)
{
    return n / segment + (n % segment != 0);
}

static size_t length_of(size_t n, size_t segment, size_t i)
{
    return n - i * segment < segment ? n - i * segment : segment;
}

/* ---- Local construction ---- */

struct local {
    float *q, *read; /* [slots, a] */
    float *k, *v;    /* [segment, a] */
};

static int construct(const struct kernels *table, struct kernel_run *run,
                     float *out, const float *x, const struct kernel_hici *hici,
                     size_t rows, const struct local *l)
{
    int code = table->matmul(run, l->k, x, hici->lk, rows, false);
    if (!code)
        code = table->matmul(run, l->v, x, hici->lv, rows, false);
    if (!code)
        code = table->attention_bidirectional(
            run, l->read, l->q, l->k, l->v, hici->slots, rows, hici->heads,
            hici->heads, hici->a / hici->heads, 0);
    return code
               ? code
               : table->matmul(run, out, l->read, hici->lo, hici->slots, false);
}

int ref_hici_local(const struct kernels *table, struct kernel_run *run,
                   float *out, const float *x, const struct kernel_hici *hici,
                   size_t n, size_t segment)
{
    size_t segments = segments_of(n, segment), d = hici->width;
    size_t longest = n < segment ? n : segment;
    struct local l = {room(hici->slots, hici->a), room(hici->slots, hici->a),
                      room(longest, hici->a), room(longest, hici->a)};
    int code =
        l.q && l.read && l.k && l.v
            ? table->matmul(run, l.q, hici->slot, hici->lq, hici->slots, false)
            : KERNEL_NO_MEMORY;
    for (size_t i = 0; !code && i < segments; i++)
        code =
            construct(table, run, out + i * hici->slots * d,
                      x + i * segment * d, hici, length_of(n, segment, i), &l);
    free(l.q);
    free(l.read);
    free(l.k);
    free(l.v);
    return code;
}

/* ---- Global integration ---- */

/* Statistics of the rows so far, of each column: the squares are of the
 * differences from the mean (Welford). */
struct running {
    double *mean, *square; /* [d] */
    float *max, *min;      /* [d] */
    size_t rows, d;
};

static void take_row(struct running *r, const float *row)
{
    double rows = (double)++r->rows;
    for (size_t l = 0; l < r->d; l++) {
        double x = (double)row[l], off = x - r->mean[l];
        r->mean[l] += off / rows;
        r->square[l] += off * (x - r->mean[l]);
        r->max[l] = r->rows == 1 || row[l] > r->max[l] ? row[l] : r->max[l];
        r->min[l] = r->rows == 1 || row[l] < r->min[l] ? row[l] : r->min[l];
    }
}

/* view [VIEWS, d], eq. 3-7 */
static void views_of(const struct running *r, float *view)
{
    const double min = 1e-6;
    double length = 0;
    size_t d = r->d;
    for (size_t l = 0; l < d; l++)
        length += r->mean[l] * r->mean[l];
    length = fmax(sqrt(length), min);
    for (size_t l = 0; l < d; l++) {
        view[l] = (float)r->mean[l];
        view[d + l] = r->max[l];
        view[2 * d + l] = r->min[l];
        view[3 * d + l] =
            (float)fmax(sqrt(r->square[l] / (double)r->rows), min);
        view[4 * d + l] = (float)(r->mean[l] / length);
    }
}

struct global {
    struct running running;
    float *view;           /* [VIEWS, D] */
    float *small;          /* [VIEWS, s] */
    float *state, *k, *v;  /* [VIEWS, b] */
    float *q, *read, *mix; /* [queries, b] */
};

static void free_global(struct global *g)
{
    free(g->running.mean);
    free(g->running.square);
    free(g->running.max);
    free(g->running.min);
    free(g->view);
    free(g->small);
    free(g->state);
    free(g->k);
    free(g->v);
    free(g->q);
    free(g->read);
    free(g->mix);
}

static int make_global(struct global *g, const struct kernel_hici *hici)
{
    size_t d = hici->width, b = hici->b;
    struct running *r = &g->running;
    *g = (struct global){.running = {.d = d},
                         .view = room(VIEWS, d),
                         .small = room(VIEWS, hici->s),
                         .state = room(VIEWS, b),
                         .k = room(VIEWS, b),
                         .v = room(VIEWS, b),
                         .q = room(hici->queries, b),
                         .read = room(hici->queries, b),
                         .mix = room(hici->queries, b)};
    r->mean = calloc(d ? d : 1, sizeof *r->mean);
    r->square = calloc(d ? d : 1, sizeof *r->square);
    r->max = room(1, d);
    r->min = room(1, d);
    return r->mean && r->square && r->max && r->min && g->view && g->small &&
                   g->state && g->k && g->v && g->q && g->read && g->mix
               ? KERNEL_OK
               : KERNEL_NO_MEMORY;
}

/* The statistics, squeezed twice (eq. 8): g->state. */
static int squeeze(const struct kernels *table, struct kernel_run *run,
                   const struct kernel_hici *hici, struct global *g)
{
    views_of(&g->running, g->view);
    int code = table->matmul(run, g->small, g->view, hici->gc, VIEWS, false);
    if (!code)
        code = table->layer_norm(run, g->small, g->small, hici->gc_norm,
                                 hici->gc_bias, VIEWS, hici->s, hici->eps);
    if (!code)
        code = table->matmul(run, g->state, g->small, hici->gb, VIEWS, false);
    return code ? code
                : table->layer_norm(run, g->state, g->state, hici->gb_norm,
                                    hici->gb_bias, VIEWS, hici->b, hici->eps);
}

/* out [queries, D] = G of what was taken (eq. 9, 10). */
static int integrate(const struct kernels *table, struct kernel_run *run,
                     float *out, const struct kernel_hici *hici,
                     struct global *g)
{
    float beta = hici->beta;
    float gate = (beta > 0 ? beta : 0) + log1pf(expf(-fabsf(beta)));
    size_t rows = hici->queries;
    int code = squeeze(table, run, hici, g);
    if (!code)
        code = table->matmul(run, g->q, hici->query, hici->gq, rows, false);
    if (!code)
        code = table->matmul(run, g->k, g->state, hici->gk, VIEWS, false);
    if (!code)
        code = table->matmul(run, g->v, g->state, hici->gv, VIEWS, false);
    if (!code)
        code = table->attention_bidirectional(
            run, g->read, g->q, g->k, g->v, rows, VIEWS, hici->heads,
            hici->heads, hici->b / hici->heads, 0);
    if (!code)
        code = table->matmul(run, g->mix, g->read, hici->go, rows, false);
    if (!code)
        code = table->matmul(run, out, g->mix, hici->expand, rows, false);
    return code ? code : table->scale(run, out, gate, rows * hici->width);
}

/* out [segments, queries + slots, D] as published: G is everyone's. */
static int show_all(const struct kernels *table, struct kernel_run *run,
                    float *out, const float *local,
                    const struct kernel_hici *hici, size_t segments,
                    struct global *g)
{
    size_t d = hici->width, slots = hici->slots * d, shared = hici->queries * d;
    for (size_t i = 0; i < segments * hici->slots; i++)
        take_row(&g->running, local + i * d);
    int code = integrate(table, run, out, hici, g);
    for (size_t i = 0; !code && i < segments; i++) {
        float *row = out + i * (shared + slots);
        if (i)
            memcpy(row, out, shared * sizeof *out);
        memcpy(row + shared, local + i * slots, slots * sizeof *out);
    }
    return code;
}

static int show_earlier(const struct kernels *table, struct kernel_run *run,
                        float *out, const float *local,
                        const struct kernel_hici *hici, size_t segments,
                        struct global *g)
{
    size_t d = hici->width, slots = hici->slots * d, shared = hici->queries * d;
    int code = KERNEL_OK;
    memset(out, 0, (shared + slots) * sizeof *out);
    for (size_t i = 1; !code && i < segments; i++) {
        const float *before = local + (i - 1) * slots;
        float *row = out + i * (shared + slots);
        for (size_t s = 0; s < hici->slots; s++)
            take_row(&g->running, before + s * d);
        code = integrate(table, run, row, hici, g);
        memcpy(row + shared, before, slots * sizeof *out);
    }
    return code;
}

int ref_hici_context(const struct kernels *table, struct kernel_run *run,
                     float *out, const float *local,
                     const struct kernel_hici *hici, size_t segments,
                     bool causal)
{
    struct global g;
    int code = make_global(&g, hici);
    if (!code && segments)
        code = (causal ? show_earlier : show_all)(table, run, out, local, hici,
                                                  segments, &g);
    free_global(&g);
    return code;
}

/* ---- Broadcast ---- */

int ref_hici_attention(const struct kernels *table, struct kernel_run *run,
                       float *out, const float *q, const float *k,
                       const float *v, const float *slot_k, const float *slot_v,
                       size_t n, size_t segment, size_t shown, size_t hq,
                       size_t hkv, size_t d, bool causal)
{
    size_t longest = n < segment ? n : segment, row = hkv * d;
    float *key = room(shown + longest, row),
          *value = room(shown + longest, row);
    const float *keys = key, *values = value;
    const struct kernel_pages pages =
        ref_one_page(&keys, &values, shown + longest);
    int code = key && value ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t i = 0; !code && i < segments_of(n, segment); i++) {
        size_t at = i * segment, rows = length_of(n, segment, i);
        size_t slots = causal && i == 0 ? 0 : shown;
        memcpy(key, slot_k + i * shown * row, slots * row * sizeof *key);
        memcpy(value, slot_v + i * shown * row, slots * row * sizeof *key);
        memcpy(key + slots * row, k + at * row, rows * row * sizeof *key);
        memcpy(value + slots * row, v + at * row, rows * row * sizeof *key);
        code = table->attention(run, out + at * hq * d, q + at * hq * d, &pages,
                                rows, slots + rows, hq, hkv, d, 0);
    }
    free(key);
    free(value);
    return code;
}

/* ---- This table's ---- */

static int hici_local(struct kernel_run *run, float *out, const float *x,
                      const struct kernel_hici *hici, size_t n, size_t segment)
{
    return ref_hici_local(kernels_ref(), run, out, x, hici, n, segment);
}

static int hici_context(struct kernel_run *run, float *out, const float *local,
                        const struct kernel_hici *hici, size_t segments,
                        bool causal)
{
    return ref_hici_context(kernels_ref(), run, out, local, hici, segments,
                            causal);
}

static int hici_attention(struct kernel_run *run, float *out, const float *q,
                          const float *k, const float *v, const float *slot_k,
                          const float *slot_v, size_t n, size_t segment,
                          size_t shown, size_t hq, size_t hkv, size_t d,
                          bool causal)
{
    return ref_hici_attention(kernels_ref(), run, out, q, k, v, slot_k, slot_v,
                              n, segment, shown, hq, hkv, d, causal);
}

void ref_fill_hici(struct kernels *table)
{
    table->hici_local = hici_local;
    table->hici_context = hici_context;
    table->hici_attention = hici_attention;
}
