/* Cases of STAR and HiCI attention. */
#include "tests/programs/case_work.h"

#include <string.h>

int case_star(struct work *work)
{
    size_t q[3], k[3], v[3], gate, chunk, top;
    const float *in = case_load(work, "in.q", 3, q);
    const float *key = in ? case_load(work, "in.k", 3, k) : NULL;
    const float *value = key ? case_load(work, "in.v", 3, v) : NULL;
    const float *gates = value ? case_load(work, "in.gate", 1, &gate) : NULL;
    if (!gates || !case_same(work, "gate, which has 3 values,", gate, 3) ||
        !case_count(work, "chunk", 1, 1 << 30, &chunk) ||
        !case_count(work, "top_k", 1, 1 << 20, &top))
        return ERR_FORMAT;
    for (int i = 0; i < 3; i++)
        if (!case_same(work, "k and v", k[i], v[i]))
            return ERR_FORMAT;
    if (!case_same(work, "q and k", q[0], k[0]) ||
        !case_same(work, "widths of q and k", q[2], k[2]))
        return ERR_FORMAT;
    if (!k[1] || q[1] % k[1])
        return err_set(work->err, ERR_FORMAT,
                       "%zu query heads do not share %zu key-value heads "
                       "evenly",
                       q[1], k[1]);
    struct kernel_pages pages;
    float *out = case_device(work, q[0] * q[1] * q[2] * sizeof *out);
    if (!out || !case_pages(work, key, value, k[0], &pages))
        return ERR_LIMIT;
    case_finish(work, "out.out", TENSOR_F32, 3, q, out,
                work->table->star_attention(work->run, out, in, &pages, gates,
                                            q[0], k[0], q[1], k[1], q[2], chunk,
                                            top));
    return 0;
}

/* ---- HiCI ---- */

/* A case's sizes and inputs. */
struct hici {
    struct kernel_hici own;
    const struct kernel_weight *wq, *wk, *wv; /* the backbone's */
    const float *x;
    size_t segments, length; /* of one segment */
    size_t hq, hkv, d;
    bool causal;
};

/* A weight that must be [outputs, inputs] where these are not 0; gives the
 * outputs. */
static const struct kernel_weight *weight(struct work *work, const char *name,
                                          size_t *outputs, size_t inputs)
{
    size_t shape[2];
    struct kernel_weight *found = case_weight(work, name, true, shape);
    if (!found || !case_same(work, name, shape[1], inputs) ||
        (*outputs && !case_same(work, name, shape[0], *outputs)))
        return NULL;
    *outputs = shape[0];
    return found;
}

static const float *vector(struct work *work, const char *name, size_t count)
{
    size_t length;
    const float *found = case_load(work, name, 1, &length);
    return found && case_same(work, name, length, count) ? found : NULL;
}

static bool read_local(struct work *work, struct kernel_hici *h)
{
    size_t slots[2], d = h->width;
    h->slot = case_load(work, "in.slots", 2, slots);
    if (!h->slot || !case_some(work, "in.slots", slots[0]) ||
        !case_same(work, "in.slots", slots[1], d))
        return false;
    h->slots = slots[0];
    return (h->lq = weight(work, "in.l_wq", &h->a, d)) &&
           (h->lk = weight(work, "in.l_wk", &h->a, d)) &&
           (h->lv = weight(work, "in.l_wv", &h->a, d)) &&
           (h->lo = weight(work, "in.l_wo", &d, h->a));
}

static bool read_global(struct work *work, struct kernel_hici *h)
{
    const struct tensor *beta = case_input(work, "in.g_beta", TENSOR_F32, 1);
    size_t query[2], d = h->width;
    if (!beta || !case_same(work, "in.g_beta", beta->shape[0], 1))
        return false;
    memcpy(&h->beta, beta->data, sizeof h->beta);
    h->query = case_load(work, "in.g_q", 2, query);
    if (!h->query || !case_some(work, "in.g_q", query[0]))
        return false;
    h->queries = query[0];
    h->b = query[1];
    return (h->gc = weight(work, "in.g_wc", &h->s, d)) &&
           (h->gb = weight(work, "in.g_wb", &h->b, h->s)) &&
           (h->gq = weight(work, "in.g_wq", &h->b, h->b)) &&
           (h->gk = weight(work, "in.g_wk", &h->b, h->b)) &&
           (h->gv = weight(work, "in.g_wv", &h->b, h->b)) &&
           (h->go = weight(work, "in.g_wo", &h->b, h->b)) &&
           (h->expand = weight(work, "in.g_wexp", &d, h->b)) &&
           (h->gc_norm = vector(work, "in.g_lnc_w", h->s)) &&
           (h->gc_bias = vector(work, "in.g_lnc_b", h->s)) &&
           (h->gb_norm = vector(work, "in.g_lnb_w", h->b)) &&
           (h->gb_bias = vector(work, "in.g_lnb_b", h->b));
}

static bool read_backbone(struct work *work, struct hici *h)
{
    size_t queries = 0, keys = 0, d = h->own.width, heads = h->own.heads;
    if (!(h->wq = weight(work, "in.b_wq", &queries, d)) ||
        !(h->wk = weight(work, "in.b_wk", &keys, d)) ||
        !(h->wv = weight(work, "in.b_wv", &keys, d)))
        return false;
    h->hq = heads;
    h->d = queries / heads;
    h->hkv = h->d ? keys / h->d : 0;
    if (h->hkv && queries % heads == 0 && keys % h->d == 0 &&
        heads % h->hkv == 0 && h->own.a % heads == 0 && h->own.b % heads == 0)
        return true;
    err_set(work->err, ERR_FORMAT,
            "metadata: heads is %zu, which does not divide the projections' "
            "widths",
            heads);
    return false;
}

static bool read_hici(struct work *work, struct hici *h)
{
    static const double usual_eps = 1e-5;
    double eps;
    size_t x[3];
    h->x = case_load(work, "in.x", 3, x);
    if (!h->x || !case_some(work, "in.x", x[0]) ||
        !case_some(work, "a segment of in.x", x[1]) ||
        !case_count(work, "heads", 1, 1 << 16, &h->own.heads) ||
        !case_number(work, "layer_norm_eps", &usual_eps, &eps) ||
        !case_flag(work, "causal", &h->causal))
        return false;
    if (eps < 0) {
        err_set(work->err, ERR_FORMAT, "metadata: layer_norm_eps is below 0");
        return false;
    }
    h->segments = x[0];
    h->length = x[1];
    h->own.width = x[2];
    h->own.eps = (float)eps;
    return read_local(work, &h->own) && read_global(work, &h->own) &&
           read_backbone(work, h);
}

/* The arrays between the stages. */
struct stages {
    float *local, *context;
    float *q, *k, *v, *slot_k, *slot_v, *out;
};

static bool make_stages(struct work *work, const struct hici *h,
                        struct stages *s)
{
    size_t d = h->own.width, rows = h->segments * h->length;
    size_t shown = h->segments * (h->own.queries + h->own.slots);
    size_t wide = h->hq * h->d, narrow = h->hkv * h->d;
    return (s->local = case_device(work, h->segments * h->own.slots * d * 4)) &&
           (s->context = case_device(work, shown * d * 4)) &&
           (s->q = case_device(work, rows * wide * 4)) &&
           (s->k = case_device(work, rows * narrow * 4)) &&
           (s->v = case_device(work, rows * narrow * 4)) &&
           (s->slot_k = case_device(work, shown * narrow * 4)) &&
           (s->slot_v = case_device(work, shown * narrow * 4)) &&
           (s->out = case_device(work, rows * wide * 4));
}

static int broadcast(struct work *work, const struct hici *h,
                     const struct stages *s)
{
    const struct kernels *t = work->table;
    size_t rows = h->segments * h->length;
    size_t shown = h->own.queries + h->own.slots;
    int code = t->matmul(work->run, s->q, h->x, h->wq, rows, false);
    if (!code)
        code = t->matmul(work->run, s->k, h->x, h->wk, rows, false);
    if (!code)
        code = t->matmul(work->run, s->v, h->x, h->wv, rows, false);
    if (!code)
        code = t->matmul(work->run, s->slot_k, s->context, h->wk,
                         h->segments * shown, false);
    if (!code)
        code = t->matmul(work->run, s->slot_v, s->context, h->wv,
                         h->segments * shown, false);
    return code ? code
                : t->hici_attention(work->run, s->out, s->q, s->k, s->v,
                                    s->slot_k, s->slot_v, rows, h->length,
                                    shown, h->hq, h->hkv, h->d, h->causal);
}

int case_hici(struct work *work)
{
    struct hici h = {.x = NULL};
    struct stages s;
    if (!read_hici(work, &h))
        return ERR_FORMAT;
    if (!make_stages(work, &h, &s))
        return ERR_LIMIT;
    size_t d = h.own.width, rows = h.segments * h.length;
    int code = work->table->hici_local(work->run, s.local, h.x, &h.own, rows,
                                       h.length);
    case_finish(work, "out.local", TENSOR_F32, 3,
                (size_t[]){h.segments, h.own.slots, d}, s.local, code);
    if (!code)
        code = work->table->hici_context(work->run, s.context, s.local, &h.own,
                                         h.segments, h.causal);
    if (!h.causal)
        case_finish(work, "out.global", TENSOR_F32, 2,
                    (size_t[]){h.own.queries, d}, s.context, code);
    if (!code)
        code = broadcast(work, &h, &s);
    case_finish(work, "out.out", TENSOR_F32, 3,
                (size_t[]){h.segments, h.length, h.hq * h.d}, s.out, code);
    return 0;
}
