/* Whether chunks that end where blocks and sections of a manual end, and landmarks of
 * sections pooled from them, choose better than chunks of 64 tokens, by how much of
 * full attention's weight lies in what is chosen (docs/log/engine.md):
 *
 *     tree_chunks MODEL TEXT QUESTIONS.txt TOKENS [BUDGET [WINDOW]]
 *
 * TEXT: sections behind form feeds, their blocks (the title is one) apart by empty
 * lines.  TOKENS of it are read with full attention, then each line of QUESTIONS, whose
 * tokens are the queries.  Each way chooses up to BUDGET tokens (1,536) of those
 * before the last WINDOW (512) of a key-value head; shares are of the weight of all
 * of these, means over queries, layers and query heads:
 *
 *     fixed    chunks of 64, by their summaries (a head's keys, weighed by the chunk's
 *              mean query, and the entropy of that)
 *     two      groups of 8 such chunks by pooled summaries, chunks within the best
 *     blocks   whole blocks of one section, together up to 64 tokens, longer ones cut
 *     tree     sections by summaries pooled from these, chunks within the best
 *     ..._oracle   by the weights themselves
 *
 * Of groups and sections as many are looked into as hold three times the budget.
 * `landmarks`: scored for a query, in the mean. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "tests/bench/choices.h"
#include "model/inference/forward.h"

enum { GROUP_CHUNKS = 8, WIDEN = 3, MAX_CHUNKS = 4096, QUESTIONS = 8 };

/* Consecutive tokens, cut into chunks, of which some make a group. */
struct cut {
    size_t ends[MAX_CHUNKS];  /* [count] where each chunk ends */
    size_t group[MAX_CHUNKS]; /* [count] index of its group, ascending */
    size_t count, groups;
};

/* Landmarks of one layer: of the chunks, then of the groups. */
struct marks {
    float *proxy; /* [chunks, hq, d] mean queries so far */
    size_t *seen; /* [chunks] of so many */
    float *keys;  /* [chunks + groups, hq, d] */
    float *bias;  /* [chunks + groups, hq] */
    bool made;
};

enum { FIXED, BLOCKS, CUTS };
enum way { CHUNKS_FLAT, CHUNKS_DOWN, CHUNKS_BEST, WAYS };
static const char *const names[CUTS][WAYS] = {
    {"fixed", "two", "fixed_oracle"}, {"blocks", "tree", "blocks_oracle"}};

static struct cut cuts[CUTS];
static struct watch {
    const struct kernels *kernels;
    struct marks *marks[CUTS]; /* [layers] */
    size_t layers, calls, budget, window, hq, hkv, d;
    bool measure;
    double share[CUTS][WAYS], landmarks[CUTS][WAYS];
    size_t counted;
} watch;

/* ---- Landmarks ---- */

static size_t begin_of(const struct cut *cut, size_t chunk)
{
    return chunk ? cut->ends[chunk - 1] : 0;
}

static void take_queries(const struct cut *cut, struct marks *marks,
                         const float *q, size_t from, size_t rows)
{
    size_t wide = watch.hq * watch.d, chunk = 0;
    for (size_t i = 0; i < rows; i++) {
        while (chunk < cut->count && cut->ends[chunk] <= from + i)
            chunk++;
        if (chunk == cut->count)
            return;
        float *mean = marks->proxy + chunk * wide;
        float part = 1.0F / (float)++marks->seen[chunk];
        for (size_t k = 0; k < wide; k++)
            mean[k] += (q[i * wide + k] - mean[k]) * part;
    }
}

/* key = p . keys, bias = p . (biases - ln p), p = softmax(scores). */
static void pool_by(double *p, size_t count, const float *const *keys,
                    const double *biases, float *ret_key, float *ret_bias)
{
    double top = -INFINITY, sum = 0, bias = 0;
    for (size_t i = 0; i < count; i++)
        top = fmax(top, p[i]);
    for (size_t i = 0; i < count; i++)
        sum += p[i] = exp(p[i] - top);
    memset(ret_key, 0, watch.d * sizeof *ret_key);
    for (size_t i = 0; i < count; i++) {
        p[i] /= sum;
        bias += p[i] > 0 ? p[i] * (biases[i] - log(p[i])) : 0;
        for (size_t k = 0; k < watch.d; k++)
            ret_key[k] += (float)p[i] * keys[i][k];
    }
    *ret_bias = (float)bias;
}

enum { MOST = 512 }; /* that are pooled together */

static void make_chunk(const struct cut *cut, struct marks *marks, size_t chunk,
                       size_t head, const struct kernel_pages *pages)
{
    double p[MOST], none[MOST] = {0};
    const float *keys[MOST];
    size_t from = begin_of(cut, chunk), count = cut->ends[chunk] - from;
    size_t at = chunk * watch.hq + head, d = watch.d;
    for (size_t i = 0; i < count; i++) {
        keys[i] =
            key_of(pages, from + i, head * watch.hkv / watch.hq, watch.hkv, d);
        p[i] = dot(keys[i], marks->proxy + at * d, d) / sqrt((double)d);
    }
    pool_by(p, count, keys, none, marks->keys + at * d, marks->bias + at);
}

/* The proxy of a group is the mean of its chunks'. */
static void make_group(const struct cut *cut, struct marks *marks, size_t group,
                       size_t head)
{
    double p[MOST], biases[MOST];
    const float *keys[MOST];
    float *proxy = mem_alloc(watch.d * sizeof *proxy);
    size_t count = 0, first = 0, d = watch.d;
    while (cut->group[first] != group)
        first++;
    for (size_t c = first; c < cut->count && cut->group[c] == group; c++)
        for (size_t k = 0; k < d; k++)
            proxy[k] += marks->proxy[(c * watch.hq + head) * d + k];
    for (size_t c = first;
         c < cut->count && cut->group[c] == group && count < MOST; c++)
        count++;
    for (size_t i = 0; i < count; i++) {
        size_t at = (first + i) * watch.hq + head;
        keys[i] = marks->keys + at * d;
        biases[i] = (double)marks->bias[at];
        p[i] = dot(keys[i], proxy, d) / (double)count / sqrt((double)d) +
               biases[i];
    }
    size_t at = (cut->count + group) * watch.hq + head;
    pool_by(p, count, keys, biases, marks->keys + at * d, marks->bias + at);
    free(proxy);
}

static void make_marks(const struct cut *cut, struct marks *marks,
                       const struct kernel_pages *pages)
{
    for (size_t h = 0; h < watch.hq && !marks->made; h++) {
        for (size_t c = 0; c < cut->count; c++)
            make_chunk(cut, marks, c, h, pages);
        for (size_t g = 0; g < cut->groups; g++)
            make_group(cut, marks, g, h);
    }
    marks->made = true;
}

/* ---- Choosing ---- */

struct scored {
    double score;
    size_t item;
};

static int higher(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score < y->score ? 1 : -1;
    return (x->item > y->item) - (x->item < y->item);
}

/* Of landmarks [from, from + count): the highest share among them of the heads. */
static void score(const struct marks *marks, const float *q, size_t head,
                  size_t from, size_t count, struct scored *ret)
{
    size_t group = watch.hq / watch.hkv, d = watch.d;
    double *s = mem_alloc((count + 1) * sizeof *s);
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct scored){-INFINITY, i};
    for (size_t g = 0; g < group; g++) {
        size_t h = head * group + g;
        double top = -INFINITY, sum = 0;
        for (size_t i = 0; i < count; i++) {
            size_t at = (from + i) * watch.hq + h;
            s[i] = dot(q + h * d, marks->keys + at * d, d) / sqrt((double)d) +
                   (double)marks->bias[at];
            top = fmax(top, s[i]);
        }
        for (size_t i = 0; i < count; i++)
            sum += exp(s[i] - top);
        for (size_t i = 0; i < count; i++)
            ret[i].score = fmax(ret[i].score, s[i] - top - log(sum));
    }
    free(s);
}

static size_t size_of(const struct cut *cut, size_t chunk)
{
    return cut->ends[chunk] - begin_of(cut, chunk);
}

/* Takes chunks in their order while they fit; the weight of what is taken. */
static double take(const struct cut *cut, struct scored *order, size_t count,
                   const double *weight)
{
    size_t left = watch.budget;
    double sum = 0;
    qsort(order, count, sizeof *order, higher);
    for (size_t i = 0; i < count; i++) {
        size_t size = size_of(cut, order[i].item);
        if (size > left || !(order[i].score > (double)-INFINITY))
            continue;
        left -= size;
        sum += weight[order[i].item];
    }
    return sum;
}

/* Which groups are looked into. */
static size_t open_groups(const struct cut *cut, const struct marks *marks,
                          const float *q, size_t head, size_t chunks,
                          bool *ret_open)
{
    size_t groups = chunks ? cut->group[chunks - 1] + 1 : 0, tokens = 0;
    struct scored *order = mem_alloc((groups + 1) * sizeof *order);
    size_t *sizes = mem_alloc((groups + 1) * sizeof *sizes);
    for (size_t c = 0; c < chunks; c++)
        sizes[cut->group[c]] += size_of(cut, c);
    score(marks, q, head, cut->count, groups, order);
    qsort(order, groups, sizeof *order, higher);
    for (size_t i = 0; i < groups && tokens < WIDEN * watch.budget; i++) {
        ret_open[order[i].item] = true;
        tokens += sizes[order[i].item];
    }
    free(order);
    free(sizes);
    return groups;
}

/* ---- What is measured ---- */

/* Weights of the chunks before `end`, and of all tokens there: means of the heads'
 * shares. */
static double weigh_chunks(const struct cut *cut, const float *q,
                           const struct kernel_pages *pages, size_t position,
                           size_t head, size_t end, size_t chunks, double *ret)
{
    size_t group = watch.hq / watch.hkv, d = watch.d;
    double *w = mem_alloc((position + 1) * sizeof *w), before = 0;
    memset(ret, 0, (chunks + 1) * sizeof *ret);
    for (size_t g = 0; g < group; g++) {
        double top = -INFINITY, all = 0;
        for (size_t j = 0; j <= position; j++) {
            w[j] = dot(q + (head * group + g) * d,
                       key_of(pages, j, head, watch.hkv, d), d) /
                   sqrt((double)d);
            top = fmax(top, w[j]);
        }
        for (size_t j = 0; j <= position; j++)
            all += w[j] = exp(w[j] - top);
        for (size_t j = 0; j < end; j++)
            before += w[j] / all / (double)group;
        for (size_t c = 0, j = 0; c < chunks; c++)
            for (; j < cut->ends[c]; j++)
                ret[c] += w[j] / all / (double)group;
    }
    free(w);
    return before;
}

static void measure_cut(int which, const struct marks *marks, const float *q,
                        const struct kernel_pages *pages, size_t position,
                        size_t head)
{
    const struct cut *cut = &cuts[which];
    size_t end = (position + 1 - watch.window) / CHUNK * CHUNK, chunks = 0;
    while (chunks < cut->count && cut->ends[chunks] <= end)
        chunks++;
    double *weight = mem_alloc((chunks + 1) * sizeof *weight);
    bool *open = mem_alloc(cut->groups + 1);
    struct scored *flat = mem_alloc((chunks + 1) * sizeof *flat);
    struct scored *down = mem_alloc((chunks + 1) * sizeof *down);
    struct scored *best = mem_alloc((chunks + 1) * sizeof *best);
    double before =
        weigh_chunks(cut, q, pages, position, head, end, chunks, weight);
    size_t looked = open_groups(cut, marks, q, head, chunks, open);
    score(marks, q, head, 0, chunks, flat);
    for (size_t c = 0; c < chunks; c++) {
        bool within = open[cut->group[c]];
        down[c] =
            (struct scored){within ? flat[c].score : (double)-INFINITY, c};
        best[c] = (struct scored){weight[c] / (double)size_of(cut, c), c};
        looked += within;
    }
    watch.landmarks[which][CHUNKS_FLAT] += (double)chunks;
    watch.landmarks[which][CHUNKS_DOWN] += (double)looked;
    struct scored *const orders[WAYS] = {flat, down, best};
    for (int way = 0; way < WAYS; way++)
        watch.share[which][way] +=
            take(cut, orders[way], chunks, weight) / before;
    free(weight);
    free(open);
    free(flat);
    free(down);
    free(best);
}

static int attend(struct kernel_run *run, float *out, const float *q,
                  const struct kernel_pages *pages, size_t m, size_t n,
                  size_t hq, size_t hkv, size_t d, size_t window)
{
    size_t layer = watch.calls++ % watch.layers;
    for (int which = 0; which < CUTS; which++) {
        struct marks *marks = &watch.marks[which][layer];
        if (!watch.measure)
            take_queries(&cuts[which], marks, q, n - m, m);
        if (!watch.measure || window)
            continue;
        make_marks(&cuts[which], marks, pages);
        for (size_t i = 0; i < m; i++)
            for (size_t head = 0; head < hkv; head++)
                measure_cut(which, marks, q + i * hq * d, pages, n - m + i,
                            head);
    }
    if (watch.measure && !window)
        watch.counted += m * hkv;
    return watch.kernels->attention(run, out, q, pages, m, n, hq, hkv, d,
                                    window);
}

/* ---- The text ---- */

static void encode(const struct model *m, struct slice text, struct ids *ids)
{
    struct err err = {.position = -1};
    must(tokenizer_encode(model_tokenizer(m), text, false, ids, &err),
         err.message);
}

static void add_chunk(struct cut *cut, size_t end, size_t group)
{
    must(cut->count == MAX_CHUNKS, "too many chunks");
    cut->ends[cut->count] = end;
    cut->group[cut->count++] = group;
    cut->groups = group + 1;
}

/* A block that ends at `end`: with those before, or alone, or in equal parts. */
static void add_block(struct cut *cut, size_t begin, size_t end, size_t group)
{
    size_t last = cut->count ? cut->count - 1 : 0;
    if (cut->count && cut->group[last] == group &&
        end - begin_of(cut, last) <= CHUNK) {
        cut->ends[last] = end;
        return;
    }
    size_t parts = (end - begin + CHUNK - 1) / CHUNK;
    for (size_t i = 1; i <= parts; i++)
        add_chunk(cut, begin + (end - begin) * i / parts, group);
}

/* Blocks and sections of the text, until there are so many tokens. */
static void cut_text(const struct model *m, struct slice text, size_t tokens,
                     struct ids *ids)
{
    size_t section = 0;
    const char *at = text.data, *end = text.data + text.size;
    while (at < end && ids->count < tokens) {
        const char *stop = memmem(at, (size_t)(end - at), "\n\n", 2);
        stop = stop ? stop + 2 : end;
        section += *at == '\f' && ids->count;
        at += *at == '\f';
        size_t before = ids->count;
        encode(m, (struct slice){at, (size_t)(stop - at)}, ids);
        size_t most = ids->count < tokens ? ids->count : tokens;
        if (most > before)
            add_block(&cuts[BLOCKS], before, most, section);
        at = stop;
    }
    must(ids->count < tokens, "the text is too short");
    for (size_t c = 1; c <= tokens / CHUNK; c++)
        add_chunk(&cuts[FIXED], c * CHUNK, (c - 1) / GROUP_CHUNKS);
}

static void pass(struct model *m, struct cache *cache, const int32_t *ids,
                 size_t count)
{
    struct err err = {.position = -1};
    struct forward_part part = {.ids = ids, .count = count, .cache = cache};
    must(cache_reserve(m, cache, cache->length + count, &err), err.message);
    must(forward(m, &part, 1, m->config.layers, NULL, &err), err.message);
}

static void ask_all(struct model *m, struct cache *cache, const char *path)
{
    struct err err = {.position = -1};
    struct buf file = {0};
    must(file_read(path, 1 << 20, &file, &err), err.message);
    watch.measure = true;
    char *at = file.data;
    for (size_t i = 0; i < QUESTIONS && *at; i++) {
        struct ids ids = {0};
        struct buf text = {0};
        size_t size = strcspn(at, "\n");
        buf_printf(&text, "\n\nQuestion: %.*s\nAnswer:", (int)size, at);
        encode(m, buf_slice(&text), &ids);
        pass(m, cache, ids.items, ids.count); /* and is forgotten */
        at += size + (at[size] == '\n');
        ids_free(&ids);
        buf_free(&text);
    }
    buf_free(&file);
}

static void open_marks(const struct model *m)
{
    watch.layers = m->config.layers;
    watch.hq = m->config.heads;
    watch.hkv = m->config.key_heads;
    watch.d = m->config.head;
    for (int which = 0; which < CUTS; which++) {
        size_t chunks = cuts[which].count, all = chunks + cuts[which].groups;
        size_t wide = watch.hq * watch.d;
        watch.marks[which] =
            mem_alloc(watch.layers * sizeof *watch.marks[which]);
        for (size_t l = 0; l < watch.layers; l++)
            watch.marks[which][l] = (struct marks){
                .proxy = mem_alloc(chunks * wide * sizeof(float)),
                .seen = mem_alloc(chunks * sizeof(size_t)),
                .keys = mem_alloc(all * wide * sizeof(float)),
                .bias = mem_alloc(all * watch.hq * sizeof(float))};
    }
}

static void show(size_t tokens)
{
    double n = (double)watch.counted;
    for (int which = 0; which < CUTS; which++)
        for (int way = 0; way < WAYS; way++)
            printf("{\"tokens\": %zu, \"budget\": %zu, \"way\": \"%s\", "
                   "\"share\": %.4f, \"landmarks\": %.0f, \"chunks\": %zu, "
                   "\"groups\": %zu}\n",
                   tokens, watch.budget, names[which][way],
                   watch.share[which][way] / n, watch.landmarks[which][way] / n,
                   cuts[which].count, cuts[which].groups);
}

int main(int count, char **words)
{
    struct err err = {.position = -1};
    struct pool *pool;
    struct model *model;
    struct buf file = {0};
    struct ids ids = {0};
    struct cache cache = {.length = 0};
    size_t tokens = count > 4 ? strtoul(words[4], NULL, 10) : 0;
    watch.budget = count > 5 ? strtoul(words[5], NULL, 10) : 1536;
    watch.window = count > 6 ? strtoul(words[6], NULL, 10) : 512;
    if (count < 5 || tokens < FORWARD_MAX_ROWS || tokens % FORWARD_MAX_ROWS) {
        fprintf(stderr, "usage: tree_chunks MODEL TEXT QUESTIONS.txt TOKENS "
                        "[BUDGET [WINDOW]]\n");
        return 2;
    }
    struct kernels watched = *kernels_cpu();
    watched.attention = attend;
    watch.kernels = kernels_cpu();
    must(pool_new(0, &pool, &err), err.message);
    struct model_options options = {
        .kernels = &watched,
        .pool = {pool, pool_parallel_for, pool_threads(pool)}};
    must(model_open(words[1], &options, &model, &err), err.message);
    must(file_read(words[2], 1 << 28, &file, &err), err.message);
    cut_text(model, buf_slice(&file), tokens, &ids);
    open_marks(model);
    for (size_t at = 0; at < tokens; at += FORWARD_MAX_ROWS) {
        pass(model, &cache, ids.items + at, FORWARD_MAX_ROWS);
        cache.length = at + FORWARD_MAX_ROWS;
    }
    ask_all(model, &cache, words[3]);
    show(tokens);
    return 0;
}
