/* What the papers promise of whole models: first tokens, STAR's memory, HiCI's
 * prefill, and vectors of texts. */
#include "tests/cuda/bench.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/inference/forward.h"
#include "model/encode/hmt.h"

/* ---- The first token ---- */

/* A sub-tree, and a question about it. */
struct asking {
    struct model *model;
    struct hmt_options how;
    int32_t *ids; /* [tree + question] */
    size_t tree, question, segment;
    struct hmt *hmt; /* that has read the sub-tree */
    float *memories;
    struct err err;
    int code;
};

/* The sub-tree and the question, as one prompt. */
static void read_all(void *argument)
{
    struct asking *a = argument;
    struct session *session = NULL;
    a->code = session_open(a->model, &session, &a->err);
    if (!a->code)
        a->code = bench_read(session, a->ids, a->tree + a->question, &a->err);
    session_close(session);
}

/* The question alone, over memories. */
static void ask_hmt(struct asking *a, const struct hmt *hmt)
{
    struct session *session = NULL;
    const int32_t *question = a->ids + a->tree;
    if (!a->code)
        a->code = hmt_session(hmt, a->model, question, a->question, NULL,
                              &session, &a->err);
    if (!a->code)
        a->code = bench_read(session, question, a->question, &a->err);
    session_close(session);
}

static void ask_memories(void *argument)
{
    struct asking *a = argument;
    a->code = 0;
    ask_hmt(a, a->hmt);
}

/* Segments that do not wait for one another, as the leaves of a tree. */
static void embed_leaves(void *argument)
{
    enum { MAX = 16 };
    struct asking *a = argument;
    struct embed_input inputs[MAX];
    size_t count = 0;
    for (size_t at = 0; at < a->tree && count < MAX; at += a->segment)
        inputs[count++] = (struct embed_input){.ids = a->ids + at,
                                               .count = a->segment,
                                               .soft = model_mem0(a->model)};
    a->code = model_embed(a->model, inputs, count, NULL, a->memories, &a->err);
    ask_hmt(a, a->hmt);
}

/* One segment after the other. */
static void read_hmt(void *argument)
{
    struct asking *a = argument;
    struct hmt *hmt = NULL;
    a->code = hmt_open(a->model, &a->how, &hmt, &a->err);
    if (!a->code)
        a->code = hmt_read(hmt, a->model, a->ids, a->tree, NULL, &a->err);
    ask_hmt(a, hmt);
    hmt_close(hmt);
}

static void say_first(struct bench *b, const struct asking *a, const char *what,
                      double time, double hmt, double max, double ratio)
{
    struct bench_shape shape = bench_shape(b, BENCH_8B);
    struct bench_row row;
    char text[96];
    snprintf(text, sizeof text,
             "%s, a sub-tree of %zu tokens, a question of %zu", shape.name,
             a->tree, a->question);
    if (a->code) {
        bench_leave_out(b, what, text, "%s", a->err.message);
        return;
    }
    bench_row(b, &row, what, text);
    bench_keys(&row, bench_kept(b));
    bench_number(&row, "ms", time * 1e3, 3);
    bench_number(&row, "limit ms, the weights read twice",
                 2e3 * bench_weight_bytes(&shape) / bench_copy_rate(b), 3);
    if (hmt > 0)
        bench_number(&row, "times as fast as HMT from scratch", hmt / time, 2);
    if (max > 0)
        bench_goal(b, &row, "at most", max, "ms", time * 1e3);
    if (max > 0 && hmt > 0)
        bench_goal(b, &row, "at least", ratio, "x", hmt / time);
    bench_say(b, &row);
}

static void first_tokens(struct bench *b, struct asking *a)
{
    static const struct {
        const char *what;
        void (*call)(void *argument);
        double max, ratio;
    } ways[] = {
        {"first token, all read", read_all, 60, 10},
        {"first token, memories there", ask_memories, 12, 50},
        {"first token, memories of the segments side by side", embed_leaves, 60,
         10},
    };
    read_all(a); /* to warm up */
    read_hmt(a);
    double hmt = a->code ? 0 : bench_time(b, read_hmt, a);
    say_first(b, a, "first token, HMT from scratch", hmt, 0, 0, 0);
    if (!a->code)
        a->code = hmt_open(a->model, &a->how, &a->hmt, &a->err);
    if (!a->code)
        a->code = hmt_read(a->hmt, a->model, a->ids, a->tree, NULL, &a->err);
    for (size_t i = 0; i < 3 && a->hmt && !a->code; i++) {
        ways[i].call(a);
        double time = a->code ? 0 : bench_time(b, ways[i].call, a);
        say_first(b, a, ways[i].what, time, hmt, ways[i].max, ways[i].ratio);
    }
    hmt_close(a->hmt);
}

void bench_part_first(struct bench *b)
{
    struct asking a = {.tree = bench_size(b, 2048, 64),
                       .question = bench_size(b, 32, 5),
                       .segment = bench_size(b, 256, 16)};
    a.how = (struct hmt_options){.segment = a.segment,
                                 .sensory = bench_size(b, 32, 4)};
    if (!bench_open(b, BENCH_8B, false, "first token", &a.model))
        return;
    a.ids = bench_ids(a.model, a.tree + a.question);
    a.memories = mem_alloc((a.tree / a.segment) * model_facts(a.model)->width *
                           sizeof *a.memories);
    first_tokens(b, &a);
    free(a.memories);
    free(a.ids);
    model_close(a.model);
}

/* ---- STAR's memory ---- */

void bench_part_star(struct bench *b)
{
    static const char what[] = "prefill, STAR";
    struct bench_shape shape = bench_shape(b, BENCH_STAR);
    size_t length = bench_size(b, 98304, 200);
    struct kernel_device facts;
    struct session *session = NULL;
    struct model *model;
    struct bench_row row;
    struct err err = {0};
    char text[96];
    snprintf(text, sizeof text, "%s, %zu tokens", shape.name, length);
    if (!bench_open(b, BENCH_STAR, false, what, &model))
        return;
    if (!bench_fits(b, what, text,
                    1.05 *
                        (double)(length * model_facts(model)->token_bytes))) {
        model_close(model);
        return;
    }
    int32_t *ids = bench_ids(model, length);
    double start = clock_seconds();
    int code = session_open(model, &session, &err);
    if (!code)
        code = bench_read(session, ids, length, &err);
    double passed = clock_seconds() - start;
    bool known = b->device->device(&facts);
    if (code) {
        bench_leave_out(b, what, text, "%s", err.message);
    } else {
        bench_row(b, &row, what, text);
        bench_keys(&row, bench_kept(b));
        bench_number(&row, "ms", passed * 1e3, 2);
        if (known) {
            double peak = (double)facts.held / (double)(1 << 20);
            bench_number(&row, "peak MiB", peak, 3);
            bench_number(&row, "MiB of weights, keys and values",
                         (double)(model_facts(model)->weight_bytes +
                                  session_bytes(session)) /
                             (double)(1 << 20),
                         3);
            bench_goal(b, &row, "at most", 6144, "MiB", peak);
        }
        bench_say(b, &row);
    }
    session_close(session);
    free(ids);
    model_close(model);
}

/* ---- HiCI's prefill ---- */

/* Seconds in which all tokens are read in one pass, which sessions allow only
 * within a GiB to work in; 0, and said why: it could not. */
static double read_whole(struct bench *b, enum bench_kind kind,
                         const char *what, const char *text, size_t length)
{
    struct bench_shape s = bench_shape(b, kind);
    double row = 8.0 * (double)(s.width + s.heads * s.head +
                                s.key_heads * s.head + s.inner);
    double slot =
        (double)s.layers * bench_slot_bytes(bench_kept(b), s.key_heads, s.head);
    struct cache cache = {.length = 0};
    struct model *model;
    struct err err = {0};
    double passed = 0;
    if (!bench_open(b, kind, false, what, &model))
        return 0;
    if (!bench_fits(b, what, text, 1.3 * (double)length * (row + slot))) {
        model_close(model);
        return 0;
    }
    int32_t *ids = bench_ids(model, length);
    float *logits = mem_alloc(s.ids * sizeof *logits);
    int code = cache_reserve(model, &cache, length, &err);
    for (int turn = 0; turn < 2 && !code; turn++) { /* the first to warm up */
        struct forward_part part = {
            .ids = ids, .count = turn ? length : length / 16, .cache = &cache};
        double start = clock_seconds();
        code = forward(model, &part, 1, model->config.layers, NULL, &err);
        if (!code)
            code = forward_logits(model, part.count - 1, 1, &err);
        if (!code)
            code = forward_take_logits(model, 0, 1, logits, &err);
        passed = clock_seconds() - start;
    }
    if (code)
        bench_leave_out(b, what, text, "%s", err.message);
    cache_free(model, &cache);
    free(logits);
    free(ids);
    model_close(model);
    return code ? 0 : passed;
}

/* Operations of products and of attention to `seen` slots. */
static double prefill_operations(const struct bench_shape *s, size_t length,
                                 double seen)
{
    return (double)length *
           (bench_token_operations(s) +
            4.0 * (double)(s->layers * s->heads * s->head) * seen);
}

static void say_whole(struct bench *b, enum bench_kind kind, const char *what,
                      const char *text, size_t length, double passed,
                      double dense)
{
    struct bench_shape shape = bench_shape(b, kind);
    bool hici = kind == BENCH_HICI;
    struct bench_row row;
    double seen =
        hici ? (double)bench_size(b, 1024, 16) / 2 + 12 : (double)length / 2;
    double operations = prefill_operations(&shape, length, seen);
    double theirs =
        (double)shape.layers * 1e-3 *
        bench_sdpa(b, length, length, shape.heads, shape.key_heads, shape.head);
    bench_row(b, &row, what, text);
    bench_keys(&row, bench_kept(b));
    bench_number(&row, "ms", passed * 1e3, 2);
    bench_operations(b, &row, operations, passed);
    if (theirs > 0)
        bench_number(&row, "PyTorch's ms, attention of these layers alone",
                     theirs * 1e3, 2);
    if (dense > 0) {
        bench_number(&row, "times as fast as dense", dense / passed, 3);
        bench_goal(b, &row, "at least", 2.2, "x", dense / passed);
    }
    if (hici)
        bench_goal(b, &row, "at least", 0.6, "of the large product",
                   operations / passed / bench_matmul_rate(b));
    bench_say(b, &row);
}

/* What the whole model would take beside its workspace: said, not tried. */
static void say_all_layers(struct bench *b, size_t length)
{
    struct bench_shape all = bench_shape(b, BENCH_HICI_WHOLE);
    int type = bench_kept(b);
    double kept = (double)(all.layers * length) *
                  bench_slot_bytes(type, all.key_heads, all.head);
    bench_leave_out(b, "prefill, HiCI", all.name,
                    "its keys and values in %s are %.1f GB beside weights of "
                    "%.1f GB: some layers are measured, and all are alike",
                    type == KERNEL_BF16 ? "bf16" : "f32", kept / 1e9,
                    bench_weight_bytes(&all) / 1e9);
}

void bench_part_hici(struct bench *b)
{
    static const char hici[] = "prefill, HiCI", full[] = "prefill, dense";
    size_t length = bench_size(b, 102400, 160);
    char text[96];
    snprintf(text, sizeof text, "%s, %zu tokens",
             bench_shape(b, BENCH_HICI_DENSE).name, length);
    double dense = read_whole(b, BENCH_HICI_DENSE, full, text, length);
    if (dense > 0)
        say_whole(b, BENCH_HICI_DENSE, full, text, length, dense, 0);
    snprintf(text, sizeof text, "%s, %zu tokens",
             bench_shape(b, BENCH_HICI).name, length);
    double passed = read_whole(b, BENCH_HICI, hici, text, length);
    if (passed > 0)
        say_whole(b, BENCH_HICI, hici, text, length, passed, dense);
    say_all_layers(b, length);
}

/* ---- Vectors ---- */

struct embedding {
    struct model *model;
    struct embed_input *inputs;
    size_t count;
    float *vectors;
    struct err err;
    int code;
};

static void embed(void *argument)
{
    struct embedding *e = argument;
    if (!e->code)
        e->code = model_embed(e->model, e->inputs, e->count, NULL, e->vectors,
                              &e->err);
}

/* `count` texts of `length` tokens each. */
static void embed_texts(struct bench *b, enum bench_kind kind, size_t count,
                        size_t length, double goal)
{
    static const char what[] = "vectors of texts";
    struct bench_shape shape = bench_shape(b, kind);
    struct embedding e = {.count = count};
    struct bench_row row;
    char text[96];
    snprintf(text, sizeof text, "%s, %zu texts of %zu tokens", shape.name,
             count, length);
    if (!bench_open(b, kind, false, what, &e.model))
        return;
    int32_t *ids = bench_ids(e.model, count * length);
    e.inputs = mem_alloc(count * sizeof *e.inputs);
    e.vectors = mem_alloc(count * shape.width * sizeof *e.vectors);
    for (size_t i = 0; i < count; i++)
        e.inputs[i] =
            (struct embed_input){.ids = ids + i * length, .count = length};
    embed(&e);
    double time = bench_time(b, embed, &e);
    double rate = (double)(count * length) / time;
    if (e.code) {
        bench_leave_out(b, what, text, "%s", e.err.message);
    } else {
        bench_row(b, &row, what, text);
        bench_number(&row, "ms", time * 1e3, 3);
        bench_number(&row, "tokens/s", rate, 0);
        bench_operations(b, &row, bench_token_operations(&shape) * rate, 1);
        bench_goal(b, &row, "at least", goal, "tokens/s", rate);
        bench_say(b, &row);
    }
    free(ids);
    free(e.inputs);
    free(e.vectors);
    model_close(e.model);
}

void bench_part_embed(struct bench *b)
{
    size_t length = bench_size(b, 256, 20), count = bench_size(b, 256, 6);
    embed_texts(b, BENCH_22M, count, length, 10e6);
    embed_texts(b, BENCH_345M, count, length, 1e6);
    embed_texts(b, BENCH_8B, bench_size(b, 64, 6), length, 46e3);
}
