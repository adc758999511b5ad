/* How fast it is to read and write with a model, in one run:
 *
 *     bench_gguf MODEL [PROMPT] [TOKENS] [avx2|avx_vnni|all] [THREADS]
 *
 * 512, 128, all and 1 when not given; avx2: with no more than that.  One JSON
 * object: `open` in milliseconds, `prompt` and `decode` in tokens a second by the
 * clock, the latter one by one behind the prompt, `core` the same by the
 * processor's time of all threads; `read`, the GB/s at which one core sums up
 * memory, the better of before and after, and of it the `share` at which one of
 * the threads goes over the weights when it writes, both by the processor's time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "kernels/cpu/cpu_internal.h"
#include "model/model.h"
#include "tests/bench/rate.h"
#include "tests/bench/read_limit.h"

enum { READ_BYTES = 256 << 20 };

static void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "bench_gguf: %s\n", err->message);
    exit(1);
}

static size_t number(int count, char **words, int which, size_t absent)
{
    return count > which ? (size_t)strtoul(words[which], NULL, 10) : absent;
}

struct times {
    double wall, core; /* tokens a second */
};

static struct times decode(struct session *session, size_t count,
                           struct err *err)
{
    double start = clock_seconds(), core = core_seconds();
    for (size_t i = 0; i < count; i++) {
        int32_t id = session_top_k(session);
        must(session_prefill(session, &id, 1, NULL, NULL, err), err);
    }
    return (struct times){(double)count / (clock_seconds() - start),
                          (double)count / (core_seconds() - core)};
}

/* The prompt's, its ids from 1000 on; a first one has what is made once made. */
static struct times prefill(struct session *session, size_t vocabulary,
                            size_t tokens, struct err *err)
{
    int32_t *ids = mem_alloc(tokens * sizeof *ids);
    for (size_t i = 0; i < tokens; i++)
        ids[i] = (int32_t)((1000 + i) % vocabulary);
    must(session_prefill(session, ids, 1, NULL, NULL, err), err);
    session_rewind(session, 0);
    double start = clock_seconds(), core = core_seconds();
    must(session_prefill(session, ids, tokens, NULL, NULL, err), err);
    free(ids);
    return (struct times){(double)tokens / (clock_seconds() - start),
                          (double)tokens / (core_seconds() - core)};
}

static double read_limit(char *memory)
{
    return rate(read_whole, &(struct read_range){memory, READ_BYTES},
                1e-9 * READ_BYTES)
        .core;
}

static struct pool *pool_of(size_t threads, struct kernel_pool *ret)
{
    struct pool *pool = NULL;
    struct err err = {0};
    *ret = (struct kernel_pool){0};
    if (threads < 2)
        return NULL;
    must(pool_new((unsigned)threads, &pool, &err), &err);
    *ret = (struct kernel_pool){pool, pool_parallel_for, pool_threads(pool)};
    return pool;
}

int main(int count, char **words)
{
    struct model_options options = {.kernels = kernels_cpu(),
                                    .no_tokenizer = true};
    struct err err = {0};
    struct model *model;
    struct session *session;
    if (count < 2) {
        fprintf(stderr,
                "usage: bench_gguf MODEL [PROMPT] [TOKENS] [avx2|avx_vnni|all] "
                "[THREADS]\n");
        return 2;
    }
    if (count > 4 && !strcmp(words[4], "avx_vnni") && !cpu_limit(CPU_AVX_VNNI))
        return 2;
    if (count > 4 && !strcmp(words[4], "avx2") && !cpu_limit(CPU_AVX2))
        return 2;
    struct pool *pool = pool_of(number(count, words, 5, 1), &options.pool);
    char *memory = mem_alloc(READ_BYTES);
    memset(memory, 1, READ_BYTES);
    double limit = read_limit(memory), start = clock_seconds();
    double core = core_seconds();
    must(model_open(words[1], &options, &model, &err), &err);
    double opened = clock_seconds() - start;
    core = core_seconds() - core;
    must(session_open(model, &session, &err), &err);
    struct times prompt = prefill(session, model_facts(model)->vocabulary,
                                  number(count, words, 2, 512), &err);
    struct times one_by_one =
        decode(session, number(count, words, 3, 128), &err);
    limit = larger(limit, read_limit(memory));
    double gigabytes = 1e-9 * (double)model_facts(model)->weight_bytes;
    printf(
        "{\"open\": %.1f, \"prompt\": %.1f, \"decode\": %.1f, \"core\": "
        "{\"open\": %.1f, \"prompt\": %.1f, \"decode\": %.1f}, \"read\": %.1f, "
        "\"share\": %.2f}\n",
        1000 * opened, prompt.wall, one_by_one.wall, 1000 * core, prompt.core,
        one_by_one.core, limit, one_by_one.core * gigabytes / limit);
    session_close(session);
    model_close(model);
    pool_free(pool);
    free(memory);
    return 0;
}
