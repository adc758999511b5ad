/* How many of the chunks that HiLS attention chooses by all summaries would it choose,
 * if it read fewer bytes of them (docs/log/gpu.md):
 *
 *     levels MODEL TEXT-FILE QUESTIONS.jsonl [k=TOP-K] TOKENS...
 *     levels random TOKENS...
 *
 * A model made for HiLS in all layers reads the text by its own choice; any other in
 * full, and its chunks are summarised by the mean of their own queries, TOP-K of them
 * chosen (32).  At each length, multiples of 512, the queries of some tokens of the
 * text's end, and of questions put behind it, choose once more.  An object of JSON a
 * line, means over queries, layers and key-value heads:
 *
 *     window, chosen   softmax weight of the window and of the chosen, among all
 *     recall           of the chunks chosen by all summaries, how many are chosen
 *     kept             weight of the chosen, as a part of what those by all weigh
 *     part             bytes of summaries read, as a part of all, of bf16
 *
 * Beside all of these, the ways of levels.h.  random: keys and queries of normally
 * distributed numbers. */
#include "tests/bench/levels.h"

#include "base/file.h"
#include "base/pool.h"
#include "model/model.h"
#include "tests/bench/choices.h"
#include "tests/bench/text_questions.h"

enum {
    READ = 512,
    WINDOW = 512, /* of models not made for HiLS */
    TOP_K = 32,
    EVERY = 16, /* of the text's last tokens one is a query */
    SOME = 8,   /* of a question's */
    QUESTIONS = 12
};

/* What the attention that the model is given does beside attending. */
static struct watch {
    const struct kernels *kernels; /* the real ones */
    struct layer {
        float *proxies;         /* [max, hq, d] */
        float **keys, **biases; /* [max] each [hq, d], [hq]; of a model that was
                                   not made for HiLS */
    } * layers;                 /* [count] */
    size_t count, calls, max, top_k;
    bool measure, asked; /* what is read is measured; is a question */
    size_t step;         /* each so many rows are measured */
} watch;

/* ---- A pass ---- */

/* What a model's attention chooses by, and for which queries. */
struct choice {
    const float *q, *qhat; /* [m, hq, d] */
    const struct kernel_pages *pages;
    const struct kernel_summaries *summaries;
    const int32_t *position, *landmark;
    const struct kernel_hils *sizes;
};

/* The logarithm of what the slots [from, to) weigh. */
static double log_mass(const struct choice *a, const float *q, size_t head,
                       size_t from, size_t to)
{
    size_t d = a->sizes->d;
    double top = -INFINITY, sum = 0;
    double *scores = mem_alloc((to - from) * sizeof *scores);
    for (size_t j = from; j < to; j++) {
        const float *key = key_of(a->pages, j, head, a->sizes->hkv, d);
        bool is = !a->landmark || !a->landmark[j];
        scores[j - from] =
            is ? dot(q, key, d) / sqrt((double)d) : (double)-INFINITY;
        top = fmax(top, scores[j - from]);
    }
    for (size_t j = from; j < to; j++)
        sum += exp(scores[j - from] - top);
    free(scores);
    return top + log(sum);
}

/* Of query i in key-value head `head`. */
static void measure_one(const struct choice *a, const struct levels *by,
                        size_t i, size_t head)
{
    const struct kernel_hils *z = a->sizes;
    size_t group = z->hq / z->hkv, at = (size_t)a->position[i];
    size_t row = (i * z->hq + head * group) * z->d;
    struct query query = {.by = by,
                          .q = a->qhat + row,
                          .first = head * group,
                          .group = group,
                          .top_k = z->top_k};
    double *window = mem_alloc(group * sizeof *window);
    if (at + 1 > z->window)
        query.candidates = (at + 1 - z->window) / z->chunk;
    for (size_t g = 0; g < group; g++)
        window[g] = log_mass(a, a->q + row + g * z->d, head,
                             query.candidates * z->chunk, at + 1);
    choose_all_ways(&query, window);
    free(window);
}

static void measure(const struct choice *a, const float *proxies)
{
    const struct kernel_hils *z = a->sizes;
    const struct kernel_summaries *s = a->summaries;
    struct levels by = {.all = table_of(z->n / z->chunk, z->hq, z->d)};
    struct table *t = &by.all;
    must(a->pages->type != KERNEL_F32 || s->means || s->type != KERNEL_F32,
         "keys of another type");
    t->proxies = proxies;
    for (size_t at = 0; at < t->hq * t->count; at++) {
        size_t head = at / t->count, c = at % t->count;
        memcpy(t->keys + at * t->d, s->keys[c] + s->key_at + head * t->d,
               t->d * sizeof *t->keys);
        t->biases[at] = s->biases[c][s->bias_at + head];
    }
    levels_open(&by);
    for (size_t i = watch.step - 1; i < z->m; i += watch.step)
        for (size_t head = 0; head < z->hkv; head++)
            if (!a->landmark || !a->landmark[a->position[i]])
                measure_one(a, &by, i, head);
    levels_free(&by);
}

/* ---- Of a model made for HiLS ---- */

static int summarise_in(struct layer *layer, struct kernel_run *run,
                        const struct kernel_summaries *summaries,
                        const struct kernel_pages *pages, size_t first,
                        size_t chunks, size_t chunk, size_t hq, size_t hkv,
                        size_t d)
{
    must(summaries->type != KERNEL_F32 || first + chunks > watch.max,
         "summaries of another type, or too many");
    if (!layer->proxies)
        layer->proxies = mem_alloc(watch.max * hq * d * sizeof(float));
    for (size_t c = first; c < first + chunks; c++)
        memcpy(layer->proxies + c * hq * d,
               summaries->keys[c] + summaries->key_at, hq * d * sizeof(float));
    return watch.kernels->chunk_summary(run, summaries, pages, first, chunks,
                                        chunk, hq, hkv, d);
}

static int summarise(struct kernel_run *run,
                     const struct kernel_summaries *summaries,
                     const struct kernel_pages *pages, size_t first,
                     size_t chunks, size_t chunk, size_t hq, size_t hkv,
                     size_t d)
{
    return summarise_in(&watch.layers[watch.calls % watch.count], run,
                        summaries, pages, first, chunks, chunk, hq, hkv, d);
}

static int choose(struct kernel_run *run, int32_t *chosen, const float *q,
                  const float *qhat, const struct kernel_pages *pages,
                  const struct kernel_summaries *summaries,
                  const int32_t *position, const int32_t *landmark,
                  const struct kernel_hils *its)
{
    const struct choice a = {q,        qhat,     pages, summaries,
                             position, landmark, its};
    const struct layer *layer = &watch.layers[watch.calls++ % watch.count];
    if (watch.measure)
        measure(&a, layer->proxies);
    return watch.kernels->hils_choose(run, chosen, q, qhat, pages, summaries,
                                      position, landmark, its);
}

/* ---- Of any other ---- */

/* The chunks of a pass's rows, by the mean of their own queries. */
static void summarise_rows(struct layer *layer, struct kernel_run *run,
                           const float *q, const struct kernel_pages *pages,
                           size_t m, size_t n, size_t hq, size_t hkv, size_t d)
{
    size_t wide = hq * d, first = (n - m) / CHUNK;
    const struct kernel_summaries table = {
        .keys = layer->keys, .biases = layer->biases, .bias_at = wide};
    must(m % CHUNK || n % CHUNK, "a piece is not of whole chunks");
    for (size_t c = first; c < n / CHUNK; c++) {
        float *key = mem_alloc((wide + hq) * sizeof *key);
        for (size_t at = 0; at < CHUNK * wide; at++)
            key[at % wide] += q[(c - first) * CHUNK * wide + at] / CHUNK;
        layer->keys[c] = layer->biases[c] = key;
    }
    must(summarise_in(layer, run, &table, pages, first, m / CHUNK, CHUNK, hq,
                      hkv, d),
         "chunk_summary");
}

static int attend(struct kernel_run *run, float *out, const float *q,
                  const struct kernel_pages *pages, size_t m, size_t n,
                  size_t hq, size_t hkv, size_t d, size_t window)
{
    struct layer *layer = &watch.layers[watch.calls++ % watch.count];
    const struct kernel_summaries table = {
        .keys = layer->keys, .biases = layer->biases, .bias_at = hq * d};
    size_t read = watch.asked ? n - m : n; /* and summarised */
    const struct kernel_hils its = {.m = m,
                                    .n = read / CHUNK * CHUNK,
                                    .hq = hq,
                                    .hkv = hkv,
                                    .d = d,
                                    .chunk = CHUNK,
                                    .window = WINDOW,
                                    .top_k = watch.top_k};
    int32_t *position = mem_alloc(m * sizeof *position);
    for (size_t i = 0; i < m; i++)
        position[i] = (int32_t)(n - m + i);
    const struct choice a = {q, q, pages, &table, position, NULL, &its};
    if (!watch.asked)
        summarise_rows(layer, run, q, pages, m, n, hq, hkv, d);
    if (watch.measure && !window)
        measure(&a, layer->proxies);
    free(position);
    return watch.kernels->attention(run, out, q, pages, m, n, hq, hkv, d,
                                    window);
}

/* ---- The run ---- */

static void read_to(struct session *s, const struct ids *text, size_t tokens)
{
    struct err err = {0};
    watch.step = EVERY;
    for (size_t at = session_length(s); at < tokens; at += READ) {
        watch.measure = at + READ == tokens;
        must(session_prefill(s, text->items + at, READ, NULL, NULL, &err),
             err.message);
    }
    watch.measure = false;
    show(tokens, "text");
}

static void ask(struct session *s, const struct ids *asked)
{
    struct err err = {0};
    watch.step = SOME;
    watch.measure = watch.asked = true;
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct session *fork;
        must(session_fork(s, session_length(s), &fork, &err), err.message);
        must(session_prefill(fork, asked[i].items, asked[i].count, NULL, NULL,
                             &err),
             err.message);
        session_close(fork);
    }
    watch.measure = watch.asked = false;
    show(session_length(s), "questions");
}

static void open_watch(const struct model *model)
{
    watch.count = model_facts(model)->layers;
    watch.max = model_facts(model)->context / 32;
    watch.top_k = TOP_K;
    watch.layers = mem_alloc(watch.count * sizeof *watch.layers);
    for (size_t l = 0; l < watch.count; l++) {
        watch.layers[l].keys = mem_alloc(watch.max * sizeof(float *));
        watch.layers[l].biases = mem_alloc(watch.max * sizeof(float *));
    }
}

static void close_watch(void)
{
    for (size_t l = 0; l < watch.count; l++) {
        for (size_t c = 0; c < watch.max; c++)
            free(watch.layers[l].keys[c]);
        free(watch.layers[l].keys);
        free(watch.layers[l].biases);
        free(watch.layers[l].proxies);
    }
    free(watch.layers);
}

static int of_model(int count, char **words)
{
    struct err err = {0};
    struct pool *pool;
    struct model *model;
    struct session *s;
    struct buf file = {0};
    struct ids text = {0}, asked[QUESTIONS] = {{0}};
    struct kernels watched = *kernels_cpu();
    watched.hils_choose = choose;
    watched.chunk_summary = summarise;
    watched.attention = attend;
    watch.kernels = kernels_cpu();
    must(pool_new(0, &pool, &err), err.message);
    struct model_options options = {
        .kernels = &watched,
        .pool = {pool, pool_parallel_for, pool_threads(pool)}};
    must(model_open(words[0], &options, &model, &err), err.message);
    must(file_read(words[1], 1 << 28, &file, &err), err.message);
    must(tokenizer_encode(model_tokenizer(model), buf_slice(&file), false,
                          &text, &err),
         err.message);
    must(read_questions(model, words[2], QUESTIONS, asked, &err), err.message);
    open_watch(model);
    must(session_open(model, &s, &err), err.message);
    for (int i = 3; i < count; i++) {
        size_t tokens = strtoul(words[i], NULL, 10);
        if (!strncmp(words[i], "k=", 2)) {
            watch.top_k = strtoul(words[i] + 2, NULL, 10);
            continue;
        }
        must(tokens > text.count || tokens % READ, "no such length");
        read_to(s, &text, tokens);
        ask(s, asked);
    }
    session_close(s);
    close_watch();
    for (size_t i = 0; i < QUESTIONS; i++)
        ids_free(&asked[i]);
    ids_free(&text);
    buf_free(&file);
    model_close(model);
    pool_free(pool);
    return 0;
}

static float normal(uint64_t *state)
{
    double u[2];
    for (int i = 0; i < 2; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        u[i] = ((double)(*state >> 33) + 1) / 0x1p31;
    }
    return (float)(sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]));
}

static int at_random(int count, char **words)
{
    enum { HQ = 2, D = 64, QUERIES = 32 };
    uint64_t state = 1;
    float q[HQ * D];
    const double window[HQ] = {0};
    for (int i = 0; i < count; i++) {
        size_t tokens = strtoul(words[i], NULL, 10);
        struct levels by = {.all = table_of(tokens / CHUNK, HQ, D)};
        for (size_t j = 0; j < HQ * by.all.count * D; j++)
            by.all.keys[j] = normal(&state);
        levels_open(&by);
        for (size_t r = 0; r < QUERIES; r++) {
            for (size_t l = 0; l < HQ * D; l++)
                q[l] = normal(&state);
            struct query query = {.by = &by,
                                  .q = q,
                                  .group = HQ,
                                  .candidates = by.all.count,
                                  .top_k = TOP_K};
            choose_all_ways(&query, window);
        }
        show(tokens, "random");
        levels_free(&by);
    }
    return 0;
}

int main(int count, char **words)
{
    if (count > 2 && !strcmp(words[1], "random"))
        return at_random(count - 2, words + 2);
    if (count > 4)
        return of_model(count - 1, words + 1);
    fprintf(stderr, "usage: levels MODEL TEXT-FILE QUESTIONS.jsonl [k=TOP-K] "
                    "TOKENS...\n"
                    "       levels random TOKENS...\n");
    return 2;
}
