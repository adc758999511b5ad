/* How fast one thread reads and writes with a model, in one run:
 *
 *     bench_gguf MODEL [PROMPT] [TOKENS] [avx2]     512 and 128 when not given;
 *                                                   avx2: with no more than that
 * One JSON object: `open` in milliseconds, `prompt` and `decode` in tokens a
 * second by the clock, the latter one by one behind the prompt. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "kernels/cpu/cpu_internal.h"
#include "model/model.h"

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

static double decode(struct session *session, size_t count, struct err *err)
{
    double start = clock_seconds();
    for (size_t i = 0; i < count; i++) {
        int32_t id = session_top_k(session);
        must(session_prefill(session, &id, 1, NULL, NULL, err), err);
    }
    return (double)count / (clock_seconds() - start);
}

int main(int count, char **words)
{
    struct model_options options = {.kernels = kernels_cpu(),
                                    .no_tokenizer = true};
    struct err err = {0};
    struct model *model;
    struct session *session;
    if (count < 2) {
        fprintf(stderr, "usage: bench_gguf MODEL [PROMPT] [TOKENS] [avx2]\n");
        return 2;
    }
    if (count > 4 && !cpu_limit(CPU_AVX2))
        return 2;
    size_t tokens = number(count, words, 2, 512);
    double start = clock_seconds();
    must(model_open(words[1], &options, &model, &err), &err);
    double opened = clock_seconds() - start;
    must(session_open(model, &session, &err), &err);
    int32_t *ids = mem_alloc(tokens * sizeof *ids);
    for (size_t i = 0; i < tokens; i++)
        ids[i] = (int32_t)((1000 + i) % model_facts(model)->vocabulary);
    must(session_prefill(session, ids, 1, NULL, NULL, &err), &err);
    session_rewind(session, 0);
    start = clock_seconds();
    must(session_prefill(session, ids, tokens, NULL, NULL, &err), &err);
    double prompt = (double)tokens / (clock_seconds() - start);
    printf("{\"open\": %.1f, \"prompt\": %.1f, \"decode\": %.1f}\n",
           1000 * opened, prompt,
           decode(session, number(count, words, 3, 128), &err));
    session_close(session);
    model_close(model);
    free(ids);
    return 0;
}
