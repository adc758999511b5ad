#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

static int rms_norm(struct kernel_run *run, float *out, const float *x,
                    const float *weight, size_t m, size_t d, float eps)
{
    (void)run;
    for (size_t i = 0; i < m; i++, x += d, out += d) {
        double sum = 0;
        for (size_t j = 0; j < d; j++)
            sum += (double)x[j] * (double)x[j];
        double scale = 1 / sqrt(sum / (double)d + (double)eps);
        for (size_t j = 0; j < d; j++)
            out[j] = (float)((double)x[j] * scale * (double)weight[j]);
    }
    return KERNEL_OK;
}

static int layer_norm(struct kernel_run *run, float *out, const float *x,
                      const float *weight, const float *bias, size_t m,
                      size_t d, float eps)
{
    (void)run;
    for (size_t i = 0; i < m; i++, x += d, out += d) {
        double sum = 0, square = 0;
        for (size_t j = 0; j < d; j++)
            sum += (double)x[j];
        double mean = sum / (double)d;
        for (size_t j = 0; j < d; j++)
            square += ((double)x[j] - mean) * ((double)x[j] - mean);
        double scale = 1 / sqrt(square / (double)d + (double)eps);
        for (size_t j = 0; j < d; j++)
            out[j] = (float)(((double)x[j] - mean) * scale * (double)weight[j] +
                             (double)bias[j]);
    }
    return KERNEL_OK;
}

static int rotary(struct kernel_run *run, float *x,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t h, size_t d)
{
    (void)run;
    size_t half = d / 2;
    for (size_t i = 0; i < m; i++)
        for (size_t head = 0; head < h; head++, x += d)
            for (size_t j = 0; j < half; j++) {
                double angle = host_position[i] * host_frequency[j];
                double a = (double)x[j], b = (double)x[j + half];
                x[j] = (float)(a * cos(angle) - b * sin(angle));
                x[j + half] = (float)(b * cos(angle) + a * sin(angle));
            }
    return KERNEL_OK;
}

static int angles(struct kernel_run *run, float *out,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t d)
{
    (void)run;
    size_t half = d / 2;
    for (size_t i = 0; i < m; i++, out += d)
        for (size_t j = 0; j < half; j++) {
            double angle = host_position[i] * host_frequency[j];
            out[j] = (float)cos(angle);
            out[half + j] = (float)sin(angle);
        }
    return KERNEL_OK;
}

static void turn(float *x, const float *angles, size_t m, size_t h, size_t d)
{
    size_t half = d / 2;
    for (size_t i = 0; i < m; i++, angles += d)
        for (size_t head = 0; head < h; head++, x += d)
            for (size_t j = 0; j < half; j++) {
                double a = (double)x[j], b = (double)x[j + half];
                double cosine = (double)angles[j];
                double sine = (double)angles[half + j];
                x[j] = (float)(a * cosine - b * sine);
                x[j + half] = (float)(b * cosine + a * sine);
            }
}

int ref_keep(const struct kernels *table, struct kernel_run *run,
             const struct kernel_heads *heads,
             const struct kernel_places *places, size_t count, size_t slots,
             int type, size_t d)
{
    const float *x = heads->x;
    int code = KERNEL_OK;
    for (size_t i = 0; i < count && heads->kept && !code; i++) {
        const struct kernel_places *p = &places[i];
        if (p->pages)
            code = table->kv_write(run, p->pages, heads->at, slots, type, x,
                                   p->first, p->rows, heads->h, d);
        x += p->rows * heads->h * d;
    }
    return code;
}

int ref_heads(const struct kernels *table, struct kernel_run *run,
              const struct kernel_heads *heads, size_t count, const float *by,
              const struct kernel_places *places, size_t place_count,
              size_t slots, int type, size_t m, size_t d)
{
    int code = KERNEL_OK;
    for (size_t i = 0; i < count && !code; i++) {
        const struct kernel_heads *z = &heads[i];
        if (z->norm)
            code =
                table->rms_norm(run, z->x, z->x, z->norm, m * z->h, d, z->eps);
        if (z->turned)
            turn(z->x, by, m, z->h, d);
        if (!code && z->factor != 1)
            code = table->scale(run, z->x, z->factor, m * z->h * d);
        if (!code)
            code = ref_keep(table, run, z, places, place_count, slots, type, d);
    }
    return code;
}

static int heads(struct kernel_run *run, const struct kernel_heads *of,
                 size_t count, const float *by,
                 const struct kernel_places *places, size_t place_count,
                 size_t slots, int type, size_t m, size_t d)
{
    return ref_heads(kernels_ref(), run, of, count, by, places, place_count,
                     slots, type, m, d);
}

/* One query of one head over keys [from, to) of the pages; `score` has room for
 * them.  `at`: the head's place in a slot of `step` floats. */
static void attend(float *out, const float *q, const struct kernel_pages *pages,
                   size_t from, size_t to, size_t at, size_t step, size_t d,
                   double *score)
{
    double max = -INFINITY, total = 0;
    for (size_t j = from; j < to; j++) {
        double sum = 0;
        for (size_t l = 0; l < d; l++)
            sum += (double)q[l] * (double)ref_key_number(pages, j, step, at, l);
        score[j - from] =
            ref_is_hidden(pages, j) ? (double)-INFINITY : sum / sqrt((double)d);
        max = fmax(max, score[j - from]);
    }
    for (size_t j = from; j < to; j++)
        total += score[j - from] =
            ref_is_hidden(pages, j) ? 0 : exp(score[j - from] - max);
    for (size_t l = 0; l < d; l++) {
        double sum = 0;
        for (size_t j = from; j < to; j++)
            sum += score[j - from] *
                   (double)ref_value_number(pages, j, step, at, l);
        out[l] = total <= 0 ? 0 : (float)(sum / total);
    }
}

static int attend_all(float *out, const float *q,
                      const struct kernel_pages *pages, size_t m, size_t n,
                      size_t hq, size_t hkv, size_t d, size_t window,
                      bool causal)
{
    double *score = malloc((n ? n : 1) * sizeof *score);
    if (!score)
        return KERNEL_NO_MEMORY;
    for (size_t i = 0; i < m; i++) {
        size_t before = causal ? n - m + i + 1 : i, to = before;
        if (!causal)
            to = window && i + window < n ? i + window + 1 : n;
        size_t from = window && before > window ? before - window : 0;
        for (size_t head = 0; head < hq; head++) {
            size_t at = ref_at(pages, head / (hq / hkv), d);
            size_t own = (i * hq + head) * d;
            attend(out + own, q + own, pages, from, to, at,
                   ref_step(pages, hkv, d), d, score);
        }
    }
    free(score);
    return KERNEL_OK;
}

static int attention(struct kernel_run *run, float *out, const float *q,
                     const struct kernel_pages *pages, size_t m, size_t n,
                     size_t hq, size_t hkv, size_t d, size_t window)
{
    (void)run;
    return attend_all(out, q, pages, m, n, hq, hkv, d, window, true);
}

static int attention_bidirectional(struct kernel_run *run, float *out,
                                   const float *q, const float *k,
                                   const float *v, size_t m, size_t n,
                                   size_t hq, size_t hkv, size_t d,
                                   size_t window)
{
    (void)run;
    struct kernel_pages pages = ref_one_page(&k, &v, n);
    return attend_all(out, q, &pages, m, n, hq, hkv, d, window, false);
}

/* A row: to the nearest of 255 multiples of each group's largest / 127. */
static void encode_row(const float *x, size_t d, int8_t *q, float *scale)
{
    for (size_t l = 0; l < d; l += KERNEL_PAGE_GROUP, scale++) {
        size_t end = d - l < KERNEL_PAGE_GROUP ? d : l + KERNEL_PAGE_GROUP;
        float most = 0;
        for (size_t i = l; i < end; i++)
            most = fmaxf(most, fabsf(x[i]));
        *scale = most / 127;
        for (size_t i = l; i < end; i++)
            q[i] = (int8_t)(*scale > 0 ? lrintf(x[i] / *scale) : 0);
    }
}

static void write_int8(float *const *pages, size_t at, size_t slots,
                       const float *x, size_t first, size_t rows, size_t hkv,
                       size_t d)
{
    for (size_t i = first; i < first + rows; i++)
        for (size_t head = 0; head < hkv; head++, x += d) {
            size_t slot = i % slots;
            int8_t *q = (int8_t *)(pages[i / slots] + at) +
                        ref_integers(head, slots, d);
            float *scale = (float *)(void *)q - (slots - slot) * ref_groups(d);
            encode_row(x, d, q + slot * d, scale);
        }
}

static int kv_write(struct kernel_run *run, float *const *pages, size_t at,
                    size_t slots, int type, const float *x, size_t first,
                    size_t rows, size_t hkv, size_t d)
{
    (void)run;
    if (type == KERNEL_INT8) {
        write_int8(pages, at, slots, x, first, rows, hkv, d);
        return KERNEL_OK;
    }
    if (type != KERNEL_F32)
        return KERNEL_UNSUPPORTED;
    for (size_t i = 0; i < rows; i++)
        for (size_t head = 0; head < hkv; head++)
            memcpy(pages[(first + i) / slots] + at +
                       (head * slots + (first + i) % slots) * d,
                   x + (i * hkv + head) * d, d * sizeof *x);
    return KERNEL_OK;
}

static int swiglu(struct kernel_run *run, float *out, const float *gate,
                  const float *up, size_t count)
{
    (void)run;
    for (size_t i = 0; i < count; i++) {
        double g = (double)gate[i];
        out[i] = (float)(g / (1 + exp(-g)) * (double)up[i]);
    }
    return KERNEL_OK;
}

static double gelu_of(double x)
{
    return x * 0.5 * erfc(-x * sqrt(0.5));
}

static double gelu_by_tanh(double x)
{
    const double root = 0.79788456080286536; /* of 2 / pi */
    return 0.5 * x * (1 + tanh(root * (x + 0.044715 * x * x * x)));
}

static int geglu(struct kernel_run *run, float *out, const float *gate,
                 const float *up, size_t count, bool exact)
{
    (void)run;
    for (size_t i = 0; i < count; i++) {
        double g = (double)gate[i];
        out[i] =
            (float)((exact ? gelu_of(g) : gelu_by_tanh(g)) * (double)up[i]);
    }
    return KERNEL_OK;
}

static int gelu(struct kernel_run *run, float *x, const float *bias, size_t m,
                size_t n)
{
    (void)run;
    for (size_t i = 0; i < m; i++, x += n)
        for (size_t j = 0; j < n; j++)
            x[j] = (float)gelu_of((double)x[j] + (double)bias[j]);
    return KERNEL_OK;
}

static int add(struct kernel_run *run, float *x, const float *y, size_t count)
{
    (void)run;
    for (size_t i = 0; i < count; i++)
        x[i] += y[i];
    return KERNEL_OK;
}

static int add_bias(struct kernel_run *run, float *x, const float *bias,
                    size_t m, size_t n)
{
    for (size_t i = 0; i < m; i++)
        add(run, x + i * n, bias, n);
    return KERNEL_OK;
}

static int scale(struct kernel_run *run, float *x, float factor, size_t count)
{
    (void)run;
    for (size_t i = 0; i < count; i++)
        x[i] *= factor;
    return KERNEL_OK;
}

int ref_attention_texts(const struct kernels *table, struct kernel_run *run,
                        float *out, const float *q, const float *k,
                        const float *v, const size_t *host_start, size_t texts,
                        size_t hq, size_t hkv, size_t d, size_t window,
                        bool causal)
{
    int code = KERNEL_OK;
    for (size_t t = 0; t < texts && !code; t++) {
        size_t first = host_start[t], n = host_start[t + 1] - first;
        const float *keys = k + first * hkv * d, *values = v + first * hkv * d;
        const struct kernel_pages pages = ref_one_page(&keys, &values, n);
        size_t at = first * hq * d;
        code = causal ? table->attention(run, out + at, q + at, &pages, n, n,
                                         hq, hkv, d, window)
                      : table->attention_bidirectional(run, out + at, q + at,
                                                       keys, values, n, n, hq,
                                                       hkv, d, window);
    }
    return code;
}

static int attention_texts(struct kernel_run *run, float *out, const float *q,
                           const float *k, const float *v,
                           const size_t *host_start, size_t texts, size_t hq,
                           size_t hkv, size_t d, size_t window, bool causal)
{
    return ref_attention_texts(kernels_ref(), run, out, q, k, v, host_start,
                               texts, hq, hkv, d, window, causal);
}

/* Heads that nothing is done to stay as the product left them. */
static bool are_changed(const struct kernel_heads *heads)
{
    return heads->norm || heads->turned || heads->factor != 1;
}

int ref_attend_texts(const struct kernels *table, struct kernel_run *run,
                     const struct kernel_text_part *part,
                     const struct kernel_rows *rows, size_t m)
{
    const struct kernel_product products[] = {part->q, part->k, part->v};
    const struct kernel_heads heads[] = {part->q_head, part->k_head};
    const struct kernel_rows mixed = {.x = part->mixed};
    bool changed = are_changed(&heads[0]) || are_changed(&heads[1]);
    int code = table->matmuls(run, products, 3, rows, m);
    if (!code && changed)
        code = table->heads(run, heads, 2, part->angles, NULL, 0, 1, KERNEL_F32,
                            m, part->d);
    if (!code)
        code = table->attention_texts(
            run, part->mixed, part->q.out, part->k.out, part->v.out,
            part->host_start, part->texts, part->q_head.h, part->hkv, part->d,
            part->window, part->causal);
    return code ? code : table->matmuls(run, &part->out, 1, &mixed, m);
}

static int attend_texts(struct kernel_run *run,
                        const struct kernel_text_part *part,
                        const struct kernel_rows *rows, size_t m)
{
    return ref_attend_texts(kernels_ref(), run, part, rows, m);
}

void ref_fill_transformer(struct kernels *table)
{
    table->rms_norm = rms_norm;
    table->layer_norm = layer_norm;
    table->rotary = rotary;
    table->angles = angles;
    table->heads = heads;
    table->attention = attention;
    table->attention_bidirectional = attention_bidirectional;
    table->attention_texts = attention_texts;
    table->attend_texts = attend_texts;
    table->kv_write = kv_write;
    table->swiglu = swiglu;
    table->geglu = geglu;
    table->gelu = gelu;
    table->add = add;
    table->add_bias = add_bias;
    table->scale = scale;
}
