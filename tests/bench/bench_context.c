/* What it costs and saves that a model made for full attention chooses what it reads
 * (`hils = exact`), on real text:
 *
 *     context perplexity MODEL TEXT TOKENS...
 *     context speed MODEL TOKENS THREADS
 *
 * perplexity: of the last 1,024 of so many tokens (ascending multiples of 64).  All
 * before are read with full attention, once; then the last ones anew for each way, so
 * that ways are compared on the same keys and values.  A line of JSON each:
 *     full     all is read
 *     window   the last `budget` tokens alone
 *     exact    the last min(512, budget / 2) and chunks of 64 that make up `budget`,
 *              the first `full` layers reading all
 * speed: tokens a second, one after the other, behind so many whose keys and values
 *     are random, ways by turns, the least of 8 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/model.h"

enum { LAST = 1024, PIECE = 128, PAGE = 64, TURNS = 8 };

struct way {
    const char *name;
    size_t budget, full;
};

static const struct way ways[] = {
    {"full", 0, 0},      {"exact", 512, 2},  {"exact", 1024, 2},
    {"exact", 2048, 2},  {"exact", 4096, 2}, {"exact", 2048, 0},
    {"window", 2048, 0}, {"window", 512, 0},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static struct model *model;

static void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "context: %s\n", err->message);
    exit(1);
}

static struct session_exact choice_of(const struct way *way)
{
    struct session_exact all = {.all = true};
    if (!strcmp(way->name, "window"))
        all.window = way->budget;
    if (strcmp(way->name, "exact") != 0)
        return all;
    size_t window = way->budget / 2 < 512 ? way->budget / 2 : 512;
    return (struct session_exact){.top_k = (way->budget - window) / PAGE,
                                  .window = window,
                                  .full = way->full};
}

static struct pool *open_model(const char *path, unsigned threads)
{
    struct err err = {.position = -1};
    struct pool *pool = NULL;
    must(pool_new(threads, &pool, &err), &err);
    struct model_options options = {
        .kernels = kernels_cpu(),
        .exact = true,
        .pool = {pool, pool_parallel_for, pool_threads(pool)}};
    must(model_open(path, &options, &model, &err), &err);
    return pool;
}

static void read_on(struct session *s, const int32_t *ids, size_t count)
{
    struct err err = {.position = -1};
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < PIECE ? count - at : PIECE;
        must(session_prefill(s, ids + at, some, NULL, NULL, &err), &err);
    }
}

/* ---- Perplexity ---- */

static double log_loss(const float *logits, size_t count, int32_t id)
{
    double top = (double)logits[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        top = (double)logits[i] > top ? (double)logits[i] : top;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - top);
    return log(sum) + top - (double)logits[id];
}

/* Mean over the tokens behind each of those read. */
static double loss_of(struct session *s, const int32_t *ids, float *logits)
{
    struct err err = {.position = -1};
    size_t vocabulary = model_facts(model)->vocabulary;
    double sum = 0;
    for (size_t at = 0; at < LAST; at += PIECE) {
        must(session_prefill(s, ids + at, PIECE, NULL, logits, &err), &err);
        for (size_t i = 0; i < PIECE && at + i + 1 < LAST; i++)
            sum +=
                log_loss(logits + i * vocabulary, vocabulary, ids[at + i + 1]);
    }
    return sum / (LAST - 1);
}

static void compare_ways(struct session *base, const int32_t *ids,
                         size_t tokens)
{
    struct err err = {.position = -1};
    float *logits =
        mem_alloc(PIECE * model_facts(model)->vocabulary * sizeof *logits);
    double full = 0;
    for (size_t w = 0; w < WAYS; w++) {
        struct session_exact choice = choice_of(&ways[w]);
        struct session *s;
        if (ways[w].budget >= tokens)
            continue;
        must(session_fork(base, tokens - LAST, &s, &err), &err);
        session_exact_change(s, &choice);
        double start = clock_seconds();
        double loss = loss_of(s, ids + tokens - LAST, logits);
        full = w ? full : loss;
        printf("{\"tokens\": %zu, \"way\": \"%s\", \"budget\": %zu, "
               "\"full_layers\": %zu, \"perplexity\": %.4f, \"ratio\": %.4f, "
               "\"seconds\": %.1f}\n",
               tokens, ways[w].name, ways[w].budget, ways[w].full, exp(loss),
               exp(loss - full), clock_seconds() - start);
        fflush(stdout);
        session_close(s);
    }
    free(logits);
}

static int perplexity(int argc, char **argv)
{
    struct err err = {.position = -1};
    struct buf text = {0};
    struct ids ids = {0};
    struct session *base;
    struct session_exact all = {.all = true};
    struct pool *pool = open_model(argv[0], 0);
    must(file_read(argv[1], (size_t)1 << 20, &text, &err), &err);
    must(tokenizer_encode(model_tokenizer(model), buf_slice(&text), false, &ids,
                          &err),
         &err);
    must(session_open_exact(model, &all, &base, &err), &err);
    for (int i = 2; i < argc; i++) {
        size_t tokens = strtoul(argv[i], NULL, 10);
        size_t had = session_length(base);
        if (tokens > ids.count || tokens % PAGE || tokens < had + LAST)
            return 2;
        read_on(base, ids.items + had, tokens - LAST - had);
        compare_ways(base, ids.items, tokens);
    }
    session_close(base);
    model_close(model);
    pool_free(pool);
    return 0;
}

/* ---- Speed ---- */

static void fill(struct session *s, size_t tokens)
{
    struct err err = {.position = -1};
    int32_t ids[PAGE] = {0};
    size_t floats = session_page_bytes(s) / sizeof(float);
    float *page = mem_alloc(floats * sizeof *page);
    uint64_t state = 1;
    while (session_length(s) < tokens) {
        for (size_t i = 0; i < floats; i++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            page[i] = (float)(state >> 40) / (1 << 23) - 1;
        }
        must(session_import(s, ids, PAGE, page, &err), &err);
    }
    free(page);
}

/* Seconds of one token. */
static double step(struct session *s, size_t tokens)
{
    struct err err = {.position = -1};
    int32_t id = 7;
    const int count = 2;
    session_rewind(s, tokens);
    must(session_prefill(s, &id, 1, NULL, NULL, &err), &err);
    double start = clock_seconds();
    for (int i = 0; i < count; i++)
        must(session_prefill(s, &id, 1, NULL, NULL, &err), &err);
    return (clock_seconds() - start) / count;
}

static int speed(char **argv)
{
    static const struct way each[] = {
        {"full", 0, 0}, {"exact", 2560, 0}, {"exact", 2048, 2}};
    enum { EACH = sizeof each / sizeof each[0] };
    struct err err = {.position = -1};
    size_t tokens = strtoul(argv[1], NULL, 10) / PAGE * PAGE;
    struct pool *pool =
        open_model(argv[0], (unsigned)strtoul(argv[2], NULL, 10));
    struct session_exact all = {.all = true};
    struct session *base, *sessions[EACH];
    double least[EACH] = {0};
    must(session_open_exact(model, &all, &base, &err), &err);
    fill(base, tokens);
    for (size_t w = 0; w < EACH; w++) {
        struct session_exact choice = choice_of(&each[w]);
        must(session_fork(base, tokens, &sessions[w], &err), &err);
        session_exact_change(sessions[w], &choice);
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t w = 0; w < EACH; w++) {
            double got = step(sessions[w], tokens);
            least[w] = turn && least[w] < got ? least[w] : got;
        }
    for (size_t w = 0; w < EACH; w++) {
        printf("{\"tokens\": %zu, \"threads\": %s, \"way\": \"%s\", "
               "\"budget\": %zu, \"full_layers\": %zu, \"ms\": %.1f, "
               "\"times\": %.2f}\n",
               tokens, argv[2], each[w].name, each[w].budget, each[w].full,
               least[w] * 1000, least[0] / least[w]);
        session_close(sessions[w]);
    }
    session_close(base);
    model_close(model);
    pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && !strcmp(argv[1], "perplexity"))
        return perplexity(argc - 2, argv + 2);
    if (argc == 5 && !strcmp(argv[1], "speed"))
        return speed(argv + 2);
    fprintf(stderr, "usage: context perplexity MODEL TEXT TOKENS...\n"
                    "       context speed MODEL TOKENS THREADS\n");
    return 2;
}
