/* How fast a model encodes segments, beside oneDNN's products in the same run:
 *
 *     embed MODEL-FOLDER [SECONDS]    for each figure, 2 when not given
 *
 * One JSON object.  For batches of 1 to 16 segments of 256 tokens: tokens a
 * second by the clock on all threads, `core` by the time that the threads ran;
 * `gflops` counts the products of the layers alone (2 a parameter and token),
 * `share` compares it, by the core, with the best product of the same weights'
 * type that oneDNN does just before and after. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "model/model.h"
#include "tests/bench/rate.h"

enum { SEGMENT = 256, MAX = 16, M = 512, N = 4096, K = 4096 };

static const struct kernels *table;
static struct kernel_run run;
static struct kernel_weight *weight;
static int type; /* of the model's weights */
static char *host;
static float *a, *out;

static void product_once(void *argument)
{
    (void)argument;
    if (table->matmul(&run, out, a, weight, M, false))
        abort();
}

/* Of one core, in Gflop/s.  The weight is gone afterwards: it would count among
 * those of which copies are kept. */
static struct rate peak(void)
{
    if (table->weight(&run, host, type, N, K, &weight))
        abort();
    struct rate best = rate(product_once, NULL, 2e-9 * M * (double)N * K);
    table->weight_free(&run, weight);
    return best;
}

struct batch {
    struct model *model;
    struct embed_input inputs[MAX];
    size_t count;
    float *vectors;
};

static void embed_once(void *argument)
{
    struct batch *batch = argument;
    struct err err;
    if (!model_embed(batch->model, batch->inputs, batch->count, NULL,
                     batch->vectors, &err))
        return;
    fprintf(stderr, "embed: %s\n", err.message);
    exit(1);
}

static void show(struct batch *batch, double flops, bool last)
{
    struct rate before = peak();
    struct rate got = rate(embed_once, batch, (double)(batch->count * SEGMENT));
    struct rate best = best_of(before, peak());
    printf("    {\"segments\": %zu, \"tokens_s\": %.0f, \"core\": %.0f, "
           "\"gflops\": %.1f, \"core_limit\": %.1f, \"share\": %.3f}%s\n",
           batch->count, got.wall, got.core, got.wall * flops * 1e-9, best.core,
           got.core * flops * 1e-9 / best.core, last ? "" : ",");
    fflush(stdout);
}

int main(int count, char **words)
{
    struct batch batch = {0};
    struct pool *pool;
    struct err err = {0};
    rate_seconds = count > 2 ? strtod(words[2], NULL) : 2;
    if (count < 2 || pool_new(0, &pool, &err))
        return fprintf(stderr, "usage: embed MODEL-FOLDER [SECONDS]\n"), 2;
    table = kernels_cpu();
    run.pool =
        (struct kernel_pool){pool, pool_parallel_for, pool_threads(pool)};
    struct model_options options = {.kernels = table, .pool = run.pool};
    if (model_open(words[1], &options, &batch.model, &err))
        return fprintf(stderr, "embed: %s\n", err.message), 1;
    const struct model_facts *facts = model_facts(batch.model);
    type = strcmp(facts->type, "bf16") ? KERNEL_F32 : KERNEL_BF16;
    host = mem_alloc((size_t)N * K * kernel_type_size(type));
    a = mem_alloc((size_t)M * K * sizeof *a);
    out = mem_alloc((size_t)M * N * sizeof *out);
    batch.vectors = mem_alloc(MAX * facts->width * sizeof *batch.vectors);
    int32_t ids[SEGMENT];
    for (int i = 0; i < SEGMENT; i++)
        ids[i] = (int32_t)((size_t)(i * 37 + 11) % facts->vocabulary);
    for (int i = 0; i < MAX; i++)
        batch.inputs[i] = (struct embed_input){
            .ids = ids, .count = SEGMENT, .soft = model_mem0(batch.model)};
    double layers = (double)facts->parameters -
                    (double)facts->vocabulary * (double)facts->width;
    printf("{\n  \"model\": \"%s\", \"parameters\": %llu, \"type\": \"%s\", "
           "\"threads\": %u,\n  \"batches\": [\n",
           facts->name, (unsigned long long)facts->parameters, facts->type,
           pool_threads(pool));
    batch.count = 1;
    embed_once(&batch); /* its copies are kept first */
    for (; batch.count <= MAX; batch.count *= 2)
        show(&batch, 2 * layers, batch.count == MAX);
    printf("  ]\n}\n");
    model_close(batch.model);
    free(batch.vectors);
    free(host);
    free(a);
    free(out);
    pool_free(pool);
    return 0;
}
