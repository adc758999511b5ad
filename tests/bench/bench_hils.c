/* What a decoded token costs with full attention and with `exact`, at several
 * lengths, and what reading as much costs with `exact`, in one run:
 *
 *     hils MODEL-FOLDER [MOST-TOKENS] [SECONDS] [prefill [TEXT [PIECE]]]
 *
 * One JSON object; milliseconds of the processor (`core`) and by the clock, the
 * least of many, a token with its logits.  The model's context is set to what is
 * asked for.  `decode`: what was read is random numbers, put into the pages as if
 * they had been read; `read`: one core reads the pages and does nothing else; none
 * of it with 0 seconds.  `prefill`: tokens are read from the first on, PIECE at a
 * time (as many as a session takes); times up to each length.  They are random,
 * or, with a file of text (`-`: none), its own, over again when it ends. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/pool.h"
#include "kernels/cpu/cpu_internal.h"
#include "model/inference/forward.h"
#include "tests/bench/rate.h"

enum { TOP_K = 32, WINDOW = 512, MIN = 1024 };

static void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "hils: %s\n", err->message);
    exit(1);
}

/* A folder of our own with the model's weights and another context. */
static void make_folder(const char *from, size_t context, char *ret,
                        size_t size)
{
    static const char key[] = "\"max_position_embeddings\":";
    struct err err = {0};
    struct buf path = {0}, config = {0}, made = {0}, link_to = {0};
    char *weights;
    snprintf(ret, size, "/tmp/lectern-bench-XXXXXX");
    if (!mkdtemp(ret))
        exit(1);
    file_join(&path, from, "config.json");
    must(file_read(path.data, 1 << 20, &config, &err), &err);
    char *at = strstr(config.data, key), *end;
    if (!at)
        exit(1);
    at += sizeof key - 1;
    strtoul(at, &end, 10);
    buf_put(&made, config.data, (size_t)(at - config.data));
    buf_printf(&made, " %zu%s", context, end);
    buf_clear(&path);
    file_join(&path, ret, "config.json");
    must(file_write(path.data, buf_slice(&made), &err), &err);
    buf_clear(&path);
    file_join(&path, from, "model.safetensors");
    weights = realpath(path.data, NULL);
    file_join(&link_to, ret, "model.safetensors");
    if (!weights || symlink(weights, link_to.data))
        exit(1);
    free(weights);
    buf_free(&path);
    buf_free(&config);
    buf_free(&made);
    buf_free(&link_to);
}

static float next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(*state >> 32) / 0x1p30F;
}

/* A cache that says that it holds `tokens`. */
static void fill(struct model *m, struct cache *cache, size_t tokens)
{
    struct err err = {0};
    uint64_t state = tokens;
    size_t first = cache->count;
    must(cache_reserve(m, cache, tokens + 1, &err), &err);
    for (size_t p = first; p < cache->count; p++)
        for (size_t i = 0; i < m->pages.floats; i++)
            cache->pages[p]->memory[i] = next_number(&state);
    cache->length = tokens;
    must(forward_hils_means(m, cache, 0, tokens / CACHE_PAGE), &err);
}

struct job {
    struct model *model;
    struct cache *cache;
    float sum;
};

static void decode_once(void *argument)
{
    struct job *job = argument;
    struct err err = {0};
    int32_t id = 5;
    struct forward_part part = {.ids = &id, .count = 1, .cache = job->cache};
    must(forward(job->model, &part, 1, job->model->config.layers, NULL, &err),
         &err);
    must(forward_logits(job->model, 0, 1, &err), &err);
}

/* Reads the pages once, in the order in which they lie. */
static void read_once(void *argument)
{
    struct job *job = argument;
    size_t floats = job->model->pages.floats;
    for (size_t p = 0; p < job->cache->count; p++) {
        const float *from = job->cache->pages[p]->memory;
        job->sum += cpu_lanes->dot(from, from, floats);
    }
}

static const struct hils_use exact = {
    .chunk = CACHE_PAGE, .window = WINDOW, .top_k = TOP_K, .exact = true};

static void show_decode(struct model *m, size_t max)
{
    struct cache cache = {.length = 0};
    struct job job = {m, &cache, 0};
    printf("  \"decode\": [\n");
    for (size_t n = MIN; n <= max; n *= 2) {
        fill(m, &cache, n);
        cache.hils = (struct hils_use){.chunk = 0};
        struct rate full = rate(decode_once, &job, 1e-3);
        cache.hils = exact;
        struct rate chosen = rate(decode_once, &job, 1e-3);
        cache.hils = (struct hils_use){.chunk = 0};
        full = best_of(full, rate(decode_once, &job, 1e-3));
        struct rate read = rate(read_once, &job, 1e-3);
        printf(
            "    {\"tokens\": %zu, \"full\": {\"core\": %.3f, \"ms\": %.3f}, "
            "\"exact\": {\"core\": %.3f, \"ms\": %.3f}, \"ratio\": %.2f, "
            "\"read\": %.3f}%s\n",
            n, 1 / full.core, 1 / full.wall, 1 / chosen.core, 1 / chosen.wall,
            chosen.core / full.core, 1 / read.core, n * 2 <= max ? "," : "");
        fflush(stdout);
    }
    printf("  ]");
    cache_free(m, &cache);
}

/* The slope of log time over log tokens, least squares. */
static double slope(const double *x, const double *y, size_t count)
{
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (size_t i = 0; i < count; i++) {
        mx += log(x[i]) / (double)count;
        my += log(y[i]) / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
    }
    return xy / xx;
}

/* What is read: `count` tokens, and over again. */
struct tokens {
    int32_t *ids;
    size_t count;
};

static struct tokens random_tokens(const struct model *m, size_t count)
{
    struct tokens t = {mem_alloc(count * sizeof *t.ids), count};
    uint64_t state = 3;
    for (size_t i = 0; i < count; i++)
        t.ids[i] = (int32_t)((size_t)fabsf(next_number(&state) * 1e6F) %
                             m->config.vocabulary);
    return t;
}

static struct tokens text_tokens(const char *folder, const char *path)
{
    struct err err = {0};
    struct buf text = {0}, json = {0};
    struct tokenizer *tokenizer;
    struct ids ids = {0};
    file_join(&json, folder, "tokenizer.json");
    must(tokenizer_open(json.data, &tokenizer, &err), &err);
    must(file_read(path, 1 << 30, &text, &err), &err);
    must(tokenizer_encode(tokenizer, buf_slice(&text), false, &ids, &err),
         &err);
    tokenizer_close(tokenizer);
    buf_free(&text);
    buf_free(&json);
    return (struct tokens){ids.items, ids.count};
}

static void show_prefill(struct model *m, size_t max, struct tokens from,
                         size_t piece)
{
    struct cache cache = {.hils = exact};
    struct err err = {0};
    piece = piece ? piece : forward_next(m, &cache, SIZE_MAX);
    int32_t *ids = mem_alloc(piece * sizeof *ids);
    double tokens[16], seconds[16];
    size_t next = 16384, count = 0;
    printf("  \"piece\": %zu, \"prefill\": [\n", piece);
    double core = core_seconds(), wall = clock_seconds();
    while (cache.length < max) {
        for (size_t i = 0; i < piece; i++)
            ids[i] = from.ids[(cache.length + i) % from.count];
        struct forward_part part = {
            .ids = ids, .count = piece, .cache = &cache};
        must(cache_reserve(m, &cache, cache.length + part.count, &err), &err);
        must(forward(m, &part, 1, m->config.layers, NULL, &err), &err);
        cache.length += part.count;
        if (cache.length != next || count == 16)
            continue;
        tokens[count] = (double)next;
        seconds[count++] = core_seconds() - core;
        printf("    {\"tokens\": %zu, \"core_seconds\": %.2f, \"seconds\": "
               "%.2f}%s\n",
               next, seconds[count - 1], clock_seconds() - wall,
               next * 2 <= max ? "," : "");
        fflush(stdout);
        next *= 2;
    }
    printf("  ], \"slope\": %.3f", slope(tokens, seconds, count));
    free(ids);
    cache_free(m, &cache);
}

int main(int count, char **words)
{
    struct err err = {0};
    struct pool *pool;
    struct model *model;
    char folder[64], command[128];
    size_t max = count > 2 ? strtoul(words[2], NULL, 10) : 65536;
    size_t piece = count > 6 ? strtoul(words[6], NULL, 10) : 0;
    if (count < 2 || max < MIN) {
        fprintf(stderr,
                "usage: hils MODEL-FOLDER [MOST-TOKENS] [SECONDS] [prefill "
                "[TEXT [PIECE]]]\n");
        return 2;
    }
    rate_seconds = count > 3 ? strtod(words[3], NULL) : 0.5;
    make_folder(words[1], max + 1, folder, sizeof folder);
    must(pool_new(0, &pool, &err), &err);
    struct model_options options = {
        .kernels = kernels_cpu(),
        .pool = {pool, pool_parallel_for, pool_threads(pool)},
        .no_tokenizer = true,
        .exact = true};
    must(model_open(folder, &options, &model, &err), &err);
    printf("{\"chunk\": %d, \"window\": %d, \"top_k\": %d, \"threads\": %u,\n",
           CACHE_PAGE, WINDOW, TOP_K, pool_threads(pool));
    if (rate_seconds > 0)
        show_decode(model, max);
    if (count > 4) {
        bool text = count > 5 && strcmp(words[5], "-");
        struct tokens tokens =
            text ? text_tokens(words[1], words[5]) : random_tokens(model, max);
        printf("%s", rate_seconds > 0 ? ",\n" : "");
        show_prefill(model, max, tokens, piece);
        free(tokens.ids);
    }
    printf("\n}\n");
    model_close(model);
    pool_free(pool);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0;
}
