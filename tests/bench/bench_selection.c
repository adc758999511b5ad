/* How much of full attention's weight lies in the chunks that `exact` chooses, on
 * the text of a manual (docs/log/engine.md):
 *
 *     selection MODEL-FOLDER TEXT-FILE QUESTIONS.jsonl [full|exact [MOST-TOKENS
 *         [TOP-K [WINDOW]]]]
 *
 * The text is read with that attention, beyond the model's own context too.  At
 * 8 K, 16 K ... tokens, or at the most, the choices of some queries are compared,
 * in each layer and head: of tokens spread over the last 512 of the text, and of
 * all tokens of some questions put behind it.  One JSON object; shares are means
 * over queries, layers and query heads:
 *
 *     of_all     window and chosen chunks, of all tokens
 *     of_chunks  chosen chunks, of all candidates
 *
 *     exact      as the engine chooses first: by the means of runs of a chunk's keys
 *     mean_keys  by the mean of all of a chunk's keys
 *     rerank     three times as many by `exact`, of these the heaviest
 *     sink       `exact`, the first chunk always among them
 *     both       the first chunk, and `rerank` for the others
 *     oracle     the heaviest
 *     any        at random */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/inference/forward.h"
#include "tests/bench/choices.h"
#include "tests/bench/text_questions.h"

enum {
    TIMES = 3, /* as forward_hils.c */
    WINDOW = 512,
    TOP_K = 32,
    FIRST = 8192,
    EVERY = 16, /* of the text's last tokens one is a query */
    QUESTIONS = 12
};

enum choice { EXACT, MEAN_KEYS, RERANK, SINK, BOTH, ORACLE, ANY, CHOICES };
static const char *const names[CHOICES] = {
    [EXACT] = "exact", [MEAN_KEYS] = "mean_keys", [RERANK] = "rerank",
    [SINK] = "sink",   [BOTH] = "both",           [ORACLE] = "oracle",
    [ANY] = "any"};

/* Means of the keys of a layer's complete chunks. */
struct summaries {
    float **keys; /* [most] each [hkv, means, d] */
    size_t means;
};

struct layer {
    struct summaries own, mean;
    struct share shares[CHOICES]; /* of the queries measured last */
    double window;                /* sum of the window's shares */
};

/* What the attention that the model is given does beside attending. */
static struct watch {
    const struct kernels *kernels; /* the real ones */
    struct layer *layers;          /* [count] */
    size_t count, calls;
    size_t max; /* chunks there is room for */
    size_t top_k, window;
    bool exact;    /* what is read is read so */
    bool measure;  /* else the text is read on, and its chunks summarised */
    bool question; /* what is measured is one */
    size_t step;   /* each so many rows are measured */
    uint64_t state;
} watch;

/* ---- Summaries ---- */

static void summaries_open(struct summaries *s, size_t max, size_t width)
{
    s->keys = mem_alloc(max * sizeof *s->keys);
    for (size_t i = 0; i < max; i++)
        s->keys[i] = mem_alloc(s->means * width * sizeof *s->keys[i]);
}

static void summaries_free(struct summaries *s, size_t max)
{
    for (size_t i = 0; i < max; i++)
        free(s->keys[i]);
    free(s->keys);
}

static struct kernel_summaries table_of(const struct summaries *s)
{
    return (struct kernel_summaries){.keys = s->keys, .means = s->means};
}

/* As the engine does (model/inference/forward_hils.c). */
static void summarise(struct kernel_run *run, struct layer *layer,
                      const struct kernel_pages *pages, size_t m, size_t n,
                      size_t hkv, size_t d)
{
    size_t first = (n - m) / CHUNK, end = n / CHUNK;
    struct kernel_summaries tables[] = {table_of(&layer->own),
                                        table_of(&layer->mean)};
    for (size_t i = 0; i < 2 && end > first; i++)
        must(watch.kernels->chunk_means(run, &tables[i], pages, first,
                                        end - first, CHUNK, hkv, d),
             "chunk_means");
}

/* ---- What is measured ---- */

/* The queries of one pass in one layer. */
struct queries {
    const struct kernel_pages *pages;
    float *q;          /* [m, hq, d] */
    int32_t *position; /* [m] */
    size_t m, n, hq, hkv, d;
};

static struct kernel_hils sizes_of(const struct queries *all, size_t top_k)
{
    return (struct kernel_hils){.m = all->m,
                                .n = all->n,
                                .chunks = all->n / CHUNK,
                                .hq = all->hq,
                                .hkv = all->hkv,
                                .d = all->d,
                                .chunk = CHUNK,
                                .window = watch.window,
                                .top_k = top_k,
                                .exact = true};
}

/* What the engine's kernel chooses by these summaries: [m, hkv, top_k]. */
static int32_t *choose(struct kernel_run *run, const struct queries *all,
                       const struct summaries *by, size_t top_k)
{
    struct kernel_hils sizes = sizes_of(all, top_k);
    struct kernel_summaries table = table_of(by);
    int32_t *chosen = mem_alloc(all->m * all->hkv * top_k * sizeof *chosen);
    must(watch.kernels->hils_choose(run, chosen, all->q, all->q, all->pages,
                                    &table, all->position, NULL, &sizes),
         "hils_choose");
    return chosen;
}

static struct chosen chosen_at(const int32_t *chosen, size_t row, size_t top_k)
{
    struct chosen ret = {.count = 0};
    for (size_t i = 0; i < top_k && chosen[row * top_k + i] >= 0; i++)
        ret.items[ret.count++] = chosen[row * top_k + i];
    return ret;
}

/* `exact` with the first chunk: it takes the place of the one that would come
 * last. */
static struct chosen sink(const int32_t *chosen, const int32_t *fewer,
                          size_t row)
{
    struct chosen all = chosen_at(chosen, row, watch.top_k);
    struct chosen less = chosen_at(fewer, row, watch.top_k - 1);
    if (holds(&all, 0))
        return all;
    if (all.count > less.count)
        less.items[less.count++] = 0;
    return less;
}

static void measure(struct kernel_run *run, struct layer *layer,
                    const struct queries *all)
{
    size_t k = watch.top_k, group = all->hq / all->hkv, d = all->d;
    int32_t *own = choose(run, all, &layer->own, k);
    int32_t *fewer = choose(run, all, &layer->own, k - 1);
    int32_t *wide = choose(run, all, &layer->own, TIMES * k);
    int32_t *mean = choose(run, all, &layer->mean, k);
    struct weights w = {.group = group};
    w.of = mem_alloc(group * watch.max * sizeof *w.of);
    w.window = mem_alloc(group * sizeof *w.window);
    w.best = mem_alloc(watch.max * sizeof *w.best);
    w.sum = mem_alloc(watch.max * sizeof *w.sum);
    for (size_t row = 0; row < all->m * all->hkv; row++) {
        size_t at = row / all->hkv, head = row % all->hkv;
        size_t position = (size_t)all->position[at];
        w.chunks = (position + 1 - watch.window) / CHUNK;
        weigh(&w, all->q + at * all->hq * d + head * group * d, all->pages,
              position, head, all->hkv, d);
        struct chosen more = chosen_at(wide, row, TIMES * k), by[CHOICES];
        by[EXACT] = chosen_at(own, row, k);
        by[MEAN_KEYS] = chosen_at(mean, row, k);
        by[RERANK] = heaviest(&more, w.best, k);
        by[SINK] = sink(own, fewer, row);
        by[BOTH] = with_first(&more, w.best, k);
        by[ORACLE] = heaviest_of_all(w.sum, w.chunks, k);
        by[ANY] = any(&watch.state, w.chunks, k);
        for (int c = 0; c < CHOICES; c++)
            count_share(&layer->shares[c], &w, &by[c]);
        for (size_t g = 0; g < group; g++)
            layer->window += w.window[g];
    }
    free(w.of);
    free(w.window);
    free(w.best);
    free(w.sum);
    free(own);
    free(fewer);
    free(wide);
    free(mean);
}

static void measure_some(struct kernel_run *run, struct layer *layer,
                         const float *q, const struct kernel_pages *pages,
                         size_t m, size_t n, size_t hq, size_t hkv, size_t d)
{
    struct queries all = {.pages = pages, .n = n, .hq = hq, .hkv = hkv, .d = d};
    all.q = mem_alloc(m * hq * d * sizeof *all.q);
    all.position = mem_alloc(m * sizeof *all.position);
    for (size_t i = watch.step - 1; i < m; i += watch.step) {
        memcpy(all.q + all.m * hq * d, q + i * hq * d, hq * d * sizeof *q);
        all.position[all.m++] = (int32_t)(n - m + i);
    }
    measure(run, layer, &all);
    free(all.q);
    free(all.position);
}

/* As the engine does (model/inference/forward_hils.c). */
static int attend_exactly(struct kernel_run *run, float *out,
                          const struct layer *layer, const float *q,
                          const struct kernel_pages *pages, size_t m, size_t n,
                          size_t hq, size_t hkv, size_t d)
{
    struct queries all = {
        .pages = pages, .m = m, .n = n, .hq = hq, .hkv = hkv, .d = d};
    all.q =
        memcpy(mem_alloc(m * hq * d * sizeof *q), q, m * hq * d * sizeof *q);
    all.position = mem_alloc(m * sizeof *all.position);
    for (size_t i = 0; i < m; i++)
        all.position[i] = (int32_t)(n - m + i);
    int32_t *chosen = choose(run, &all, &layer->own, watch.top_k);
    struct kernel_hils sizes = sizes_of(&all, watch.top_k);
    struct kernel_summaries table = table_of(&layer->own);
    int code = watch.kernels->hils_attention(
        run, out, q, q, pages, &table, all.position, NULL, chosen, &sizes);
    free(chosen);
    free(all.q);
    free(all.position);
    return code;
}

/* The model's attention, watched. */
static int attend(struct kernel_run *run, float *out, const float *q,
                  const struct kernel_pages *pages, size_t m, size_t n,
                  size_t hq, size_t hkv, size_t d, size_t window)
{
    struct layer *layer = &watch.layers[watch.calls++ % watch.count];
    if (!watch.question)
        summarise(run, layer, pages, m, n, hkv, d);
    if (watch.measure && !window)
        measure_some(run, layer, q, pages, m, n, hq, hkv, d);
    if (watch.exact && !window)
        return attend_exactly(run, out, layer, q, pages, m, n, hq, hkv, d);
    return watch.kernels->attention(run, out, q, pages, m, n, hq, hkv, d,
                                    window);
}

/* ---- The run ---- */

static void show(const char *kind, size_t queries)
{
    struct share sum[CHOICES] = {{0}};
    double window = 0;
    for (size_t l = 0; l < watch.count; l++) {
        for (int c = 0; c < CHOICES; c++) {
            sum[c].of_all += watch.layers[l].shares[c].of_all;
            sum[c].of_chunks += watch.layers[l].shares[c].of_chunks;
            sum[c].count += watch.layers[l].shares[c].count;
            watch.layers[l].shares[c] = (struct share){0};
        }
        window += watch.layers[l].window;
        watch.layers[l].window = 0;
    }
    printf("      \"%s\": {\"queries\": %zu, \"window\": %.4f", kind, queries,
           window / (double)sum[EXACT].count);
    for (int c = 0; c < CHOICES; c++)
        if (sum[c].count)
            printf(",\n        \"%s\": {\"of_all\": %.4f, \"of_chunks\": %.4f}",
                   names[c], sum[c].of_all / (double)sum[c].count,
                   sum[c].of_chunks / (double)sum[c].count);
    printf("}");
}

static void pass(struct model *m, struct cache *cache, const int32_t *ids,
                 size_t count)
{
    struct err err = {0};
    struct forward_part part = {.ids = ids, .count = count, .cache = cache};
    must(cache_reserve(m, cache, cache->length + count, &err), err.message);
    must(forward(m, &part, 1, m->config.layers, NULL, &err), err.message);
}

static void ask(struct model *m, struct cache *cache, const struct ids *asked)
{
    size_t queries = 0;
    watch.measure = watch.question = true;
    watch.step = 1;
    for (size_t i = 0; i < QUESTIONS; i++) {
        pass(m, cache, asked[i].items, asked[i].count); /* and is forgotten */
        queries += asked[i].count;
    }
    watch.measure = watch.question = false;
    show("questions", queries);
}

static void read_text(struct model *m, const struct ids *text,
                      const struct ids *asked, size_t max)
{
    struct cache cache = {.length = 0};
    size_t next = max < FIRST ? max : FIRST, shown = 0;
    while (cache.length < max) {
        size_t length = cache.length + FORWARD_MAX_ROWS;
        watch.measure = length == next;
        watch.step = EVERY;
        pass(m, &cache, text->items + cache.length, FORWARD_MAX_ROWS);
        watch.measure = false;
        cache.length = length;
        if (length != next)
            continue;
        printf("%s\n    {\"tokens\": %zu,\n", shown++ ? "," : "", next);
        show("text", FORWARD_MAX_ROWS / EVERY);
        printf(",\n");
        ask(m, &cache, asked);
        printf("}");
        fflush(stdout);
        next *= 2;
    }
    cache_free(m, &cache);
}

static void encode(struct model *m, struct slice text, struct ids *ids)
{
    struct err err = {0};
    must(tokenizer_encode(model_tokenizer(m), text, false, ids, &err),
         err.message);
}

static void open_watch(const struct model *m, size_t max, size_t top_k)
{
    const struct model_config *c = &m->config;
    watch.layers = mem_alloc(c->layers * sizeof *watch.layers);
    watch.count = c->layers;
    watch.max = max / CHUNK + FORWARD_MAX_ROWS / CHUNK;
    watch.top_k = top_k;
    for (size_t l = 0; l < c->layers; l++) {
        struct layer *layer = &watch.layers[l];
        layer->own.means = CACHE_MEANS;
        layer->mean.means = 1;
        summaries_open(&layer->own, watch.max, c->key_heads * c->head);
        summaries_open(&layer->mean, watch.max, c->key_heads * c->head);
    }
}

static void close_watch(void)
{
    for (size_t l = 0; l < watch.count; l++) {
        summaries_free(&watch.layers[l].own, watch.max);
        summaries_free(&watch.layers[l].mean, watch.max);
    }
    free(watch.layers);
}

int main(int count, char **words)
{
    struct err err = {0};
    struct pool *pool;
    struct model *model;
    struct buf file = {0};
    struct ids text = {0}, asked[QUESTIONS] = {{0}};
    const char *attention = count > 4 ? words[4] : "full";
    size_t max = count > 5 ? strtoul(words[5], NULL, 10) : 65536;
    size_t top_k = count > 6 ? strtoul(words[6], NULL, 10) : TOP_K;
    watch.window = count > 7 ? strtoul(words[7], NULL, 10) : WINDOW;
    watch.exact = !strcmp(attention, "exact");
    if (count < 4 || (!watch.exact && strcmp(attention, "full") != 0) ||
        max < 2 * FORWARD_MAX_ROWS || max % FORWARD_MAX_ROWS ||
        watch.window < 1 || watch.window > FORWARD_MAX_ROWS || top_k < 2 ||
        top_k > MAX_TOP_K) {
        fprintf(
            stderr,
            "usage: selection MODEL-FOLDER TEXT-FILE "
            "QUESTIONS.jsonl [full|exact [MOST-TOKENS [TOP-K [WINDOW]]]]\n");
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
    encode(model, buf_slice(&file), &text);
    must(text.count < max, "the text is too short");
    must(read_questions(model, words[3], QUESTIONS, asked, &err), err.message);
    for (size_t i = 0; i < QUESTIONS; i++) /* their chunks have no summaries */
        must(!asked[i].count || asked[i].count > watch.window,
             "a question is longer than the window");
    open_watch(model, max, top_k);
    printf("{\"model\": \"%s\", \"context\": %zu, \"chunk\": %d, \"window\": "
           "%zu, \"top_k\": %zu,\n  \"read\": \"%s\", \"lengths\": [",
           model_facts(model)->name, model_facts(model)->context, CHUNK,
           watch.window, top_k, attention);
    read_text(model, &text, asked, max);
    printf("\n  ]\n}\n");
    close_watch();
    for (size_t i = 0; i < QUESTIONS; i++)
        ids_free(&asked[i]);
    ids_free(&text);
    buf_free(&file);
    model_close(model);
    pool_free(pool);
    return 0;
}
