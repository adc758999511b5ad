/* What sessions cost with a model, in one run:
 *
 *     sessions MODEL-FOLDER [TOKENS] [SECONDS]   a prompt's length, 448 when not
 *                                                given; for each figure, 1
 *
 * One JSON object; times in milliseconds by the clock, the least of many, and
 * `core` by the time that the threads ran.
 *   prompt  reading a prompt in pieces of so many tokens
 *   first   the same up to the first token: `whole`, and with all but the last
 *           piece of 128 read before (a fork)
 *   steps   tokens a second of so many sessions in one pass each time */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"
#include "model/model.h"
#include "tests/bench/rate.h"

enum { MAX = 8, PIECE = 128 };

struct job {
    struct model *model;
    int32_t *ids;
    size_t count, piece;
    struct session *before; /* forked; NULL: all is read */
    struct session *sessions[MAX];
    size_t batch;
};

static void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "sessions: %s\n", err->message);
    exit(1);
}

static void read_prompt(void *argument)
{
    struct job *job = argument;
    struct err err = {0};
    struct session *s;
    int32_t id;
    double logprob;
    must(job->before
             ? session_fork(job->before, session_length(job->before), &s, &err)
             : session_open(job->model, &s, &err),
         &err);
    for (size_t at = session_length(s), some; at < job->count; at += some) {
        some = job->count - at < job->piece ? job->count - at : job->piece;
        must(session_prefill(s, job->ids + at, some, NULL, NULL, &err), &err);
    }
    must(session_choose(s, &id, &logprob, &err), &err);
    session_close(s);
}

static void step(void *argument)
{
    struct job *job = argument;
    struct err err = {0};
    int32_t ids[MAX];
    double logprob;
    for (size_t i = 0; i < job->batch; i++) {
        if (session_length(job->sessions[i]) > job->count + PIECE)
            session_rewind(job->sessions[i], job->count - 1);
        if (session_top_k(job->sessions[i]) < 0)
            must(session_prefill(job->sessions[i], job->ids, 1, NULL, NULL,
                                 &err),
                 &err);
        must(session_choose(job->sessions[i], &ids[i], &logprob, &err), &err);
    }
    must(session_decode_batch(job->sessions, ids, job->batch, NULL, &err),
         &err);
}

static void show_ms(const char *name, struct job *job, const char *end)
{
    struct rate got = rate(read_prompt, job, 1e-3);
    printf("\"%s\": {\"ms\": %.2f, \"core\": %.2f}%s", name, 1 / got.wall,
           1 / got.core, end);
}

static void show_prompts(struct job *job)
{
    static const size_t pieces[] = {64, 128, 256, 512};
    printf("  \"prompt\": {");
    for (size_t i = 0; i < 4; i++) {
        char name[16];
        job->piece = pieces[i];
        snprintf(name, sizeof name, "%zu", pieces[i]);
        show_ms(name, job, i < 3 ? ", " : "},\n");
    }
}

static void show_first(struct job *job)
{
    struct err err = {0};
    size_t kept = (job->count - 1) / PIECE * PIECE;
    job->piece = PIECE;
    printf("  \"first\": {\"reused\": %zu, ", kept);
    show_ms("whole", job, ", ");
    must(session_open(job->model, &job->before, &err), &err);
    must(session_prefill(job->before, job->ids, kept, NULL, NULL, &err), &err);
    show_ms("fork", job, "},\n");
    session_close(job->before);
    job->before = NULL;
}

static void show_steps(struct job *job)
{
    struct err err = {0};
    for (size_t i = 0; i < MAX; i++) {
        must(session_open(job->model, &job->sessions[i], &err), &err);
        must(session_prefill(job->sessions[i], job->ids, job->count, NULL, NULL,
                             &err),
             &err);
    }
    printf("  \"steps\": {");
    for (job->batch = 1; job->batch <= MAX; job->batch *= 2) {
        struct rate got = rate(step, job, (double)job->batch);
        printf("\"%zu\": {\"tokens\": %.1f, \"core\": %.1f}%s", job->batch,
               got.wall, got.core, job->batch < MAX ? ", " : "}\n");
    }
    for (size_t i = 0; i < MAX; i++)
        session_close(job->sessions[i]);
}

int main(int count, char **words)
{
    struct err err = {0};
    struct job job = {.count = count > 2 ? (size_t)strtoul(words[2], NULL, 10)
                                         : 448};
    struct pool *pool;
    if (count < 2) {
        fprintf(stderr, "usage: sessions MODEL-FOLDER [TOKENS] [SECONDS]\n");
        return 2;
    }
    rate_seconds = count > 3 ? strtod(words[3], NULL) : 1;
    must(pool_new(0, &pool, &err), &err);
    struct model_options options = {
        .kernels = kernels_cpu(),
        .pool = {pool, pool_parallel_for, pool_threads(pool)},
        .no_tokenizer = true};
    must(model_open(words[1], &options, &job.model, &err), &err);
    job.ids = mem_alloc(job.count * sizeof *job.ids);
    for (size_t i = 0; i < job.count; i++)
        job.ids[i] = (int32_t)(i * 7919 % model_facts(job.model)->vocabulary);
    printf("{\"tokens\": %zu, \"threads\": %u,\n", job.count,
           pool_threads(pool));
    show_prompts(&job);
    show_first(&job);
    show_steps(&job);
    printf("}\n");
    free(job.ids);
    model_close(job.model);
    pool_free(pool);
    return 0;
}
