/* Parts that the backends on the processor share. */
#ifndef KERNELS_REF_REF_H
#define KERNELS_REF_REF_H

#include <string.h>

#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "kernels/ref/ref_texts.h"

struct kernel_weight {
    const void *host;   /* [n, k], the caller's */
    const float *scale; /* [n], of int8, the caller's; else NULL */
    int type;           /* enum kernel_type */
    size_t n, k;
    struct packed
        *packed[2];      /* cpu: its own copies, see cpu_packed.h, the second
                                 in eight bits; else NULL */
    struct tiles *tiles; /* and cpu_tiles.h */
};

/* bf16 is the upper half of an f32. */
static inline float ref_from_bf16(uint16_t value)
{
    uint32_t bits = (uint32_t)value << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* Rounds to the nearest, ties to even; a NaN stays one. */
static inline uint16_t ref_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    bits += 0x7FFFu + (bits >> 16 & 1u);
    return (uint16_t)(bits >> 16);
}

/* IEEE 754 binary16: what is left of 0x1p-112 of it is an f32's bits, but for
 * what is not finite. */
static inline float ref_from_f16(uint16_t value)
{
    uint32_t bits = (value & 0x7FFFu) << 13, sign = (value & 0x8000u) << 16;
    float result;
    if (bits >= 0x7C00u << 13)
        bits |= 0x7F800000u;
    memcpy(&result, &bits, sizeof result);
    result *= bits < 0x7F800000u ? 0x1p112F : 1;
    memcpy(&bits, &result, sizeof bits);
    bits |= sign;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* Memory that begins with a cache line, to be freed; NULL: none. */
void *ref_scratch(size_t bytes);

/* Returns where a weight's row `row` lies; not aligned. */
static inline const char *ref_weight_row(const struct kernel_weight *w,
                                         size_t row)
{
    return (const char *)w->host + row * kernel_row_bytes(w->type, w->k);
}

/* out [k] = its values. */
void ref_weight_values(const struct kernel_weight *w, size_t row, float *out);

/* The pages of keys and values [n, hkv, d] in one piece. */
static inline struct kernel_pages ref_one_page(const float *const *k,
                                               const float *const *v, size_t n)
{
    return (struct kernel_pages){.keys = k, .values = v, .slots = n ? n : 1};
}

/* From slot to slot of a page, and where a key-value head's part begins. */
static inline size_t ref_step(const struct kernel_pages *pages, size_t hkv,
                              size_t d)
{
    return pages->by_head ? d : hkv * d;
}
static inline size_t ref_at(const struct kernel_pages *pages, size_t head,
                            size_t d)
{
    return head * (pages->by_head ? pages->slots * d : d);
}

/* Returns where the first head's key, or value, of slot j lies. */
static inline const float *ref_key(const struct kernel_pages *pages, size_t j,
                                   size_t step)
{
    return pages->keys[j / pages->slots] + pages->key_at +
           j % pages->slots * step;
}
static inline const float *ref_value(const struct kernel_pages *pages, size_t j,
                                     size_t step)
{
    return pages->values[j / pages->slots] + pages->value_at +
           j % pages->slots * step;
}

/* Bytes before a head's integers [slots, d] in pages of KERNEL_INT8; right before them
 * lie its scales [slots, groups]. */
static inline size_t ref_groups(size_t d)
{
    return (d + KERNEL_PAGE_GROUP - 1) / KERNEL_PAGE_GROUP;
}
static inline size_t ref_integers(size_t head, size_t slots, size_t d)
{
    return head * slots * kernel_page_row_bytes(KERNEL_INT8, d) +
           slots * ref_groups(d) * sizeof(float);
}

/* Mean i of chunk c, which lie key-value head by key-value head. */
static inline uint16_t *ref_mean(const struct kernel_summaries *summaries,
                                 size_t c, size_t i, size_t d)
{
    return (uint16_t *)(summaries->keys[c] + summaries->key_at) + i * d;
}

/* Number l of slot j in a page's part, as ref_step and ref_at say where. */
static inline float ref_number(const struct kernel_pages *pages,
                               const float *part, size_t j, size_t step,
                               size_t at, size_t l)
{
    size_t slots = pages->slots, slot = j % slots;
    if (pages->type != KERNEL_INT8)
        return part[slot * step + at + l];
    size_t before = ref_integers(at / (slots * step), slots, step);
    const char *q = (const char *)part + before;
    size_t group = (slots - slot) * ref_groups(step) - l / KERNEL_PAGE_GROUP;
    float scale;
    memcpy(&scale, q - group * sizeof scale, sizeof scale);
    return scale * (float)(signed char)q[slot * step + l];
}
static inline float ref_key_number(const struct kernel_pages *pages, size_t j,
                                   size_t step, size_t at, size_t l)
{
    return ref_number(pages, pages->keys[j / pages->slots] + pages->key_at, j,
                      step, at, l);
}
static inline float ref_value_number(const struct kernel_pages *pages, size_t j,
                                     size_t step, size_t at, size_t l)
{
    return ref_number(pages, pages->values[j / pages->slots] + pages->value_at,
                      j, step, at, l);
}

/* Whether nobody sees slot j. */
static inline bool ref_is_hidden(const struct kernel_pages *pages, size_t j)
{
    return pages->hidden && j % pages->hidden == pages->hidden - 1;
}

/* Counts those of the `count` slots from j on that lie in j's page. */
static inline size_t ref_stretch(const struct kernel_pages *pages, size_t j,
                                 size_t count)
{
    size_t left = pages->slots - j % pages->slots;
    return left < count ? left : count;
}

/* Takes candidate `index`, of a higher index than all before, into the best
 * `most` of them: best, score [most], *count of them there, from the highest
 * score down, ties to the lower index. */
static inline void ref_rank(int32_t *best, double *score, size_t *count,
                            size_t max, size_t index, double value)
{
    size_t at = *count;
    if (at == max && !(value > score[at - 1]))
        return;
    if (at < max)
        *count += 1;
    else
        at--;
    for (; at > 0 && value > score[at - 1]; at--) {
        best[at] = best[at - 1];
        score[at] = score[at - 1];
    }
    best[at] = (int32_t)index;
    score[at] = value;
}

/* ln(exp(a) + exp(b)); -INFINITY is the logarithm of nothing. */
double ref_log_add(double a, double b);

/* Returns where the window of the query at slot t begins (kernels.h, kernel_hils). */
static inline size_t ref_window(const struct kernel_hils *sizes, size_t t)
{
    size_t before = t + 1 > sizes->window ? t + 1 - sizes->window : 0;
    return before / sizes->chunk * sizes->chunk;
}

/* chosen [most]: the `count` ids of best in ascending order, then -1. */
void ref_ascending(int32_t *chosen, const int32_t *best, size_t count,
                   size_t max);

/* chosen [top_k]: of wide [many] those of the highest value; best and score [top_k] are
 * room. */
void ref_rerank(const int32_t *wide, const double *value, size_t many,
                size_t top_k, int32_t *best, double *score, int32_t *chosen);

/* Nothing: each weight lies where it was. */
int ref_weights_join(struct kernel_run *run,
                     struct kernel_weight *const *weights, size_t count);

/* Operations made of others, with those of `table`; on the processor. */
int ref_matmuls(const struct kernels *table, struct kernel_run *run,
                const struct kernel_product *products, size_t count,
                const struct kernel_rows *a, size_t m);
int ref_matmul_gated(const struct kernels *table, struct kernel_run *run,
                     const struct kernel_gate *gate,
                     const struct kernel_rows *a, size_t m);
int ref_feed_forward(const struct kernels *table, struct kernel_run *run,
                     const struct kernel_feed *feed,
                     const struct kernel_rows *a, size_t m);
int ref_attention_texts(const struct kernels *table, struct kernel_run *run,
                        float *out, const float *q, const float *k,
                        const float *v, const size_t *host_start, size_t texts,
                        size_t hq, size_t hkv, size_t d, size_t window,
                        bool causal);
int ref_keep(const struct kernels *table, struct kernel_run *run,
             const struct kernel_heads *heads,
             const struct kernel_places *places, size_t count, size_t slots,
             int type, size_t d);
int ref_heads(const struct kernels *table, struct kernel_run *run,
              const struct kernel_heads *heads, size_t count, const float *by,
              const struct kernel_places *places, size_t place_count,
              size_t slots, int type, size_t m, size_t d);
int ref_hici_local(const struct kernels *table, struct kernel_run *run,
                   float *out, const float *x, const struct kernel_hici *hici,
                   size_t n, size_t segment);
int ref_hici_context(const struct kernels *table, struct kernel_run *run,
                     float *out, const float *local,
                     const struct kernel_hici *hici, size_t segments,
                     bool causal);
int ref_hici_attention(const struct kernels *table, struct kernel_run *run,
                       float *out, const float *q, const float *k,
                       const float *v, const float *slot_k, const float *slot_v,
                       size_t n, size_t segment, size_t shown, size_t hq,
                       size_t hkv, size_t d, bool causal);

/* The operations, filled in by the files of this folder. */
void ref_fill_memory(struct kernels *table);
void ref_fill_matmuls(struct kernels *table);
void ref_fill_transformer(struct kernels *table);
void ref_fill_memories(struct kernels *table);
void ref_fill_summaries(struct kernels *table);
void ref_fill_hils(struct kernels *table);
void ref_fill_star(struct kernels *table);
void ref_fill_hici(struct kernels *table);
void ref_fill_top_k(struct kernels *table);

#endif
