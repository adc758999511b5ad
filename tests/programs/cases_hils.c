/* Cases of HiLS attention. */
#include "tests/programs/case_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    MAX_SLOTS = 1 << 30,
    MAX_TOP = 1 << 20,
    MAX_CHOSEN = 1 << 28 /* ids of one case */
};

/* Scores closer than this may be ordered either way. */
static const double tie = 1e-4;

int case_calibrate(struct work *work)
{
    size_t h[2], down[2] = {0}, up[2] = {0}, wq[2], norm;
    bool low = safetensors_find(work->file, "in.w_down") ||
               safetensors_find(work->file, "in.w_up");
    struct kernel_weight *d = NULL, *u = NULL, *q = NULL;
    const float *x = case_load(work, "in.h", 2, h);
    const float *n = x ? case_load(work, "in.norm", 1, &norm) : NULL;
    q = n ? case_weight(work, "in.w_q", false, wq) : NULL;
    if (q && low) {
        d = case_weight(work, "in.w_down", false, down);
        u = d ? case_weight(work, "in.w_up", false, up) : NULL;
    }
    static const double usual_eps = 1e-6;
    double eps;
    if (!q || (low && !u) || !case_number(work, "eps", &usual_eps, &eps))
        return ERR_FORMAT;
    if (eps < 0)
        return err_set(work->err, ERR_FORMAT, "metadata: eps is below 0");
    if (!case_same(work, "h and w_q", h[1], wq[1]) ||
        !case_same(work, "norm and w_q", norm, wq[0]) ||
        (low && (!case_same(work, "h and w_down", h[1], down[1]) ||
                 !case_same(work, "w_down and w_up", down[0], up[1]) ||
                 !case_same(work, "w_up and w_q", up[0], wq[0]))))
        return ERR_FORMAT;
    float *out = case_device(work, h[0] * wq[0] * sizeof *out);
    float *room = out ? case_device(work, h[0] * down[0] * sizeof *room) : NULL;
    if (!room)
        return ERR_LIMIT;
    struct kernel_product products[] = {{.out = out, .w = q},
                                        {.out = room, .w = d}};
    const struct kernel_product up_again = {.out = out, .w = u, .plus = out};
    int code = work->table->matmuls(work->run, products, low ? 2 : 1,
                                    &(struct kernel_rows){.x = x}, h[0]);
    if (!code && low)
        code = work->table->matmuls(work->run, &up_again, 1,
                                    &(struct kernel_rows){.x = room}, h[0]);
    if (!code)
        code = work->table->rms_norm(work->run, out, out, n, h[0], wq[0],
                                     (float)eps);
    case_finish(work, "out.out", TENSOR_F32, 2, (size_t[]){h[0], wq[0]}, out,
                code);
    return 0;
}

static bool make_summaries(struct work *work, const float *key,
                           const float *bias, size_t chunks, size_t hq,
                           size_t d, struct kernel_summaries *ret)
{
    float **keys = case_table(work, (float *)(uintptr_t)key, chunks, hq * d);
    float **biases =
        keys ? case_table(work, (float *)(uintptr_t)bias, chunks, hq) : NULL;
    *ret = (struct kernel_summaries){.keys = keys, .biases = biases};
    return biases;
}

/* Query heads `hq` must share key-value heads `hkv` evenly. */
static bool heads_fit(struct work *work, size_t hq, size_t hkv)
{
    if (hkv && hq && hq % hkv == 0)
        return true;
    err_set(work->err, ERR_FORMAT,
            "%zu query heads do not share %zu key-value heads evenly", hq, hkv);
    return false;
}

int case_chunk_summary(struct work *work)
{
    size_t k[3], p[3], chunk;
    const float *key = case_load(work, "in.k", 3, k);
    const float *proxy = key ? case_load(work, "in.proxy_query", 3, p) : NULL;
    if (!proxy || !case_count(work, "chunk", 2, MAX_SLOTS, &chunk) ||
        !heads_fit(work, p[1], k[1]) ||
        !case_same(work, "widths of k and proxy_query", k[2], p[2]))
        return ERR_FORMAT;
    if (p[0] > k[0] / chunk)
        return err_set(work->err, ERR_FORMAT,
                       "%zu proxies for %zu complete chunks of %zu slots", p[0],
                       k[0] / chunk, chunk);
    size_t count = p[0] * p[1];
    float *out = case_device(work, count * p[2] * sizeof *out);
    float *bias = out ? case_device(work, count * sizeof *bias) : NULL;
    struct kernel_pages pages;
    struct kernel_summaries summaries;
    if (!bias || !case_pages(work, key, key, k[0], &pages) ||
        !make_summaries(work, out, bias, p[0], p[1], p[2], &summaries))
        return ERR_LIMIT;
    int code =
        work->table->copy(work->run, out, proxy, count * p[2] * sizeof *out);
    if (!code)
        code = work->table->chunk_summary(work->run, &summaries, &pages, 0,
                                          p[0], chunk, p[1], k[1], k[2]);
    case_finish(work, "out.summary_key", TENSOR_F32, 3, p, out, code);
    case_finish(work, "out.summary_bias", TENSOR_F32, 2, p, bias, code);
    return 0;
}

/* ---- Attention ---- */

/* A case's inputs: on the device, and those that are looked at here. */
struct hils {
    struct kernel_hils sizes;
    const float *q, *qhat, *k, *v, *key, *bias;
    const int32_t *position, *landmark;
    const float *host_q, *host_qhat, *host_k, *host_key, *host_bias;
    const int32_t *host_position, *host_landmark;
};

static bool read_sizes(struct work *work, struct kernel_hils *z)
{
    const char *mode = safetensors_meta(work->file, "mode");
    z->exact = mode && !strcmp(mode, "exact");
    if (!mode || (!z->exact && strcmp(mode, "hils") != 0)) {
        err_set(work->err, ERR_FORMAT,
                "metadata: mode is \"%.40s\", not hils or exact",
                mode ? mode : "");
        return false;
    }
    return case_count(work, "chunk", 1, MAX_SLOTS, &z->chunk) &&
           case_count(work, "window", 1, MAX_SLOTS, &z->window) &&
           case_count(work, "top_k", 1, MAX_TOP, &z->top_k) &&
           case_flag(work, "softmax1", &z->softmax1);
}

static bool read_inputs(struct work *work, struct hils *h)
{
    struct kernel_hils *z = &h->sizes;
    size_t q[3], qhat[3], k[3], v[3], key[3], bias[2], position, landmark;
    if (!(h->q = case_load(work, "in.q", 3, q)) ||
        !(h->qhat = case_load(work, "in.qhat", 3, qhat)) ||
        !(h->k = case_load(work, "in.k", 3, k)) ||
        !(h->v = case_load(work, "in.v", 3, v)) ||
        !(h->key = case_load(work, "in.summary_key", 3, key)) ||
        !(h->bias = case_load(work, "in.summary_bias", 2, bias)) ||
        !(h->position = case_load_i32(work, "in.position", 1, &position)) ||
        !(h->landmark = case_load_i32(work, "in.landmark", 1, &landmark)))
        return false;
    for (int i = 0; i < 3; i++)
        if (!case_same(work, "q and qhat", q[i], qhat[i]) ||
            !case_same(work, "k and v", k[i], v[i]))
            return false;
    z->m = q[0];
    z->n = k[0];
    z->chunks = key[0];
    z->hq = q[1];
    z->hkv = k[1];
    z->d = q[2];
    return heads_fit(work, z->hq, z->hkv) &&
           case_same(work, "widths of q and k", z->d, k[2]) &&
           case_same(work, "heads of q and summary_key", z->hq, key[1]) &&
           case_same(work, "widths of q and summary_key", z->d, key[2]) &&
           case_same(work, "summaries and biases", z->chunks, bias[0]) &&
           case_same(work, "heads of q and summary_bias", z->hq, bias[1]) &&
           case_same(work, "q and position", z->m, position) &&
           case_same(work, "k and landmark", z->n, landmark);
}

/* A copy, aligned, of an input that is there. */
static void *host_copy(const struct work *work, const char *name)
{
    const struct tensor *found = safetensors_find(work->file, name);
    void *copy = mem_alloc(found->bytes);
    if (found->bytes)
        memcpy(copy, found->data, found->bytes);
    return copy;
}

static void read_host(const struct work *work, struct hils *h)
{
    h->host_q = host_copy(work, "in.q");
    h->host_qhat = host_copy(work, "in.qhat");
    h->host_k = host_copy(work, "in.k");
    h->host_key = host_copy(work, "in.summary_key");
    h->host_bias = host_copy(work, "in.summary_bias");
    h->host_position = host_copy(work, "in.position");
    h->host_landmark = host_copy(work, "in.landmark");
}

static void free_host(struct hils *h)
{
    const void *copies[] = {h->host_q,       h->host_qhat, h->host_k,
                            h->host_key,     h->host_bias, h->host_position,
                            h->host_landmark};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        free((void *)(uintptr_t)copies[i]);
}

/* Where the window of query i begins. */
static size_t window_of(const struct hils *h, size_t i)
{
    int64_t first = (int64_t)h->host_position[i] - (int64_t)h->sizes.window + 1;
    size_t chunk = h->sizes.chunk;
    return first > 0 ? (size_t)first / chunk * chunk : 0;
}

static bool positions_fit(struct work *work, const struct hils *h)
{
    for (size_t i = 0; i < h->sizes.m; i++) {
        int32_t t = h->host_position[i];
        if (t < 0 || (size_t)t >= h->sizes.n) {
            err_set(work->err, ERR_FORMAT,
                    "in.position: %d, where there are %zu slots", t,
                    h->sizes.n);
            return false;
        }
        if (window_of(h, i) / h->sizes.chunk > h->sizes.chunks) {
            err_set(work->err, ERR_FORMAT,
                    "%zu summaries: too few for the query at slot %d",
                    h->sizes.chunks, t);
            return false;
        }
    }
    return true;
}

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t l = 0; l < count; l++)
        sum += (double)a[l] * (double)b[l];
    return sum;
}

/* score [candidates]: what query i's choice for a key-value head goes by. */
static void scores_of(const struct hils *h, size_t i, size_t kv, double *score)
{
    const struct kernel_hils *z = &h->sizes;
    size_t group = z->hq / z->hkv, t = (size_t)h->host_position[i];
    size_t from = window_of(h, i), candidates = from / z->chunk;
    double root = sqrt((double)z->d);
    double *own = mem_alloc(candidates * sizeof *own);
    for (size_t head = kv * group; head < (kv + 1) * group; head++) {
        const float *q = h->host_q + (i * z->hq + head) * z->d;
        const float *qhat = h->host_qhat + (i * z->hq + head) * z->d;
        double max = -HUGE_VAL, total = 0;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t j = from; j <= t; j++) {
                double s =
                    dot(q, h->host_k + (j * z->hkv + kv) * z->d, z->d) / root;
                if (!h->host_landmark[j] && pass)
                    total += exp(s - max);
                else if (!h->host_landmark[j])
                    max = fmax(max, s);
            }
            for (size_t c = 0; c < candidates; c++) {
                size_t at = c * z->hq + head;
                own[c] = dot(qhat, h->host_key + at * z->d, z->d) / root +
                         (double)h->host_bias[at];
                max = fmax(max, own[c]);
                total += pass ? exp(own[c] - max) : 0;
            }
        }
        for (size_t c = 0; c < candidates; c++) {
            double s = own[c] - max - log(total);
            score[c] = head == kv * group ? s : fmax(score[c], s);
        }
    }
    free(own);
}

/* Whether ids are distinct candidates, then -1. */
static bool is_choice(const int32_t *ids, size_t count, size_t candidates,
                      bool *taken)
{
    size_t end = 0;
    while (end < count && ids[end] >= 0)
        end++;
    memset(taken, 0, candidates * sizeof *taken);
    for (size_t i = 0; i < count; i++) {
        if (i >= end ? ids[i] != -1
                     : (size_t)ids[i] >= candidates || taken[ids[i]])
            return false;
        if (i < end)
            taken[ids[i]] = true;
    }
    return end == (count < candidates ? count : candidates);
}

/* 0 the same; 1 another choice among ties; -1 `ids` is no right choice where
 * `wanted` is. */
static int compare(const struct hils *h, size_t i, size_t kv,
                   const int32_t *ids, const int32_t *wanted)
{
    size_t count = h->sizes.top_k;
    size_t candidates = window_of(h, i) / h->sizes.chunk;
    if (!memcmp(ids, wanted, count * sizeof *ids))
        return 0;
    bool *mine = mem_alloc(candidates), *theirs = mem_alloc(candidates);
    double *score = mem_alloc(candidates * sizeof *score);
    double max = -HUGE_VAL, min = HUGE_VAL; /* of those in one alone */
    int result = is_choice(ids, count, candidates, mine) &&
                         is_choice(wanted, count, candidates, theirs)
                     ? 1
                     : -1;
    scores_of(h, i, kv, score);
    for (size_t c = 0; result > 0 && c < candidates; c++) {
        if (theirs[c] != mine[c]) {
            max = fmax(max, score[c]);
            min = fmin(min, score[c]);
        }
    }
    if (result > 0 && max - min > tie)
        result = -1;
    free(mine);
    free(theirs);
    free(score);
    return result;
}

/* Judges what was chosen; where ties were broken otherwise, the expected choice
 * goes to `chosen`: then `out` can be compared. */
static int judge(struct work *work, const struct hils *h,
                 struct case_output *out, int32_t *chosen)
{
    if (out->code || !out->expected)
        return 0;
    const int32_t *mine = out->tensor.data;
    int32_t *wanted = host_copy(work, "out.chosen");
    bool ties = false;
    size_t rows = h->sizes.m * h->sizes.hkv, count = h->sizes.top_k;
    for (size_t r = 0; r < rows; r++) {
        int result = compare(h, r / h->sizes.hkv, r % h->sizes.hkv,
                             mine + r * count, wanted + r * count);
        if (result < 0)
            out->error = 1;
        ties = ties || result > 0;
    }
    int code = 0;
    if (ties && out->error <= 0)
        code = work->table->upload(work->run, chosen, wanted,
                                   rows * count * sizeof *wanted);
    free(wanted);
    return code;
}

static int attend(struct work *work, const struct hils *h)
{
    const struct kernel_hils *z = &h->sizes;
    const struct kernels *table = work->table;
    if (z->m > MAX_CHOSEN / z->top_k / z->hkv)
        return err_set(work->err, ERR_LIMIT, "metadata: top_k is %zu, too much",
                       z->top_k);
    size_t ids = z->m * z->hkv * z->top_k;
    float *out = case_device(work, z->m * z->hq * z->d * sizeof *out);
    int32_t *chosen = out ? case_device(work, ids * sizeof *chosen) : NULL;
    struct kernel_pages pages;
    struct kernel_summaries summaries;
    if (!chosen || !case_pages(work, h->k, h->v, z->n, &pages) ||
        !make_summaries(work, h->key, h->bias, z->chunks, z->hq, z->d,
                        &summaries))
        return ERR_LIMIT;
    int code = table->hils_choose(work->run, chosen, h->q, h->qhat, &pages,
                                  &summaries, h->position, h->landmark, z);
    struct case_output *choice =
        case_finish(work, "out.chosen", TENSOR_I32, 3,
                    (size_t[]){z->m, z->hkv, z->top_k}, chosen, code);
    if (!code)
        code = judge(work, h, choice, chosen);
    if (!code)
        code = table->hils_attention(work->run, out, h->q, h->qhat, &pages,
                                     &summaries, h->position, h->landmark,
                                     chosen, z);
    case_finish(work, "out.out", TENSOR_F32, 3, (size_t[]){z->m, z->hq, z->d},
                out, code);
    return 0;
}

int case_hils(struct work *work)
{
    struct hils h = {.q = NULL};
    if (!read_sizes(work, &h.sizes) || !read_inputs(work, &h))
        return ERR_FORMAT;
    read_host(work, &h);
    int code = positions_fit(work, &h) ? attend(work, &h) : ERR_FORMAT;
    free_host(&h);
    return code;
}
