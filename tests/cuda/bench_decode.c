/* Decoding and prefill of whole models, through sessions. */
#include "tests/cuda/bench.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"

/* ---- Steps ---- */

enum { MAX_LENGTHS = 5 };

/* One model over some lengths of what was read. */
struct decoding {
    enum bench_kind kind;
    bool exact;
    const char *what;
    size_t lengths[MAX_LENGTHS], count;
    size_t chosen, chunk; /* slots read, tokens of a summary; 0: all are read */
    double fill;          /* seconds a token, as last seen */
    double ms[MAX_LENGTHS]; /* 0: left out */
};

/* Bytes of a token's keys, values and share of what its chunk is chosen by. */
static double token_bytes(const struct bench *b, const struct bench_shape *s,
                          size_t chunk)
{
    double bytes = bench_slot_bytes(bench_kept(b), s->key_heads, s->head);
    if (chunk)
        bytes += bench_chunk_bytes(s, bench_kept(b)) / (double)chunk;
    return (double)s->layers * bytes;
}

/* Milliseconds of a step, in the mean; *ret_min: of the fastest. */
static int time_steps(struct bench *b, struct session *session,
                      double *ret_mean, double *ret_min, struct err *err)
{
    enum { WARM = 4, AT_LEAST = 4, MAX = 512 };
    double all = 0, min = 0;
    size_t steps = 0;
    int32_t id = 1;
    int code = session_reserve(session, WARM + MAX, err);
    for (size_t i = 0; i < WARM && !code; i++)
        code = bench_read(session, &id, 1, err);
    while (!code && steps < MAX && (steps < AT_LEAST || all < b->min)) {
        double start = clock_seconds();
        id = (int32_t)(1 + steps % 50);
        code = bench_read(session, &id, 1, err);
        double passed = clock_seconds() - start;
        min = steps++ && min < passed ? min : passed;
        all += passed;
    }
    *ret_mean = all / (double)(steps ? steps : 1) * 1e3;
    *ret_min = min * 1e3;
    return code;
}

static void say_step(struct bench *b, struct decoding *d,
                     const struct decoding *dense, size_t i, double min)
{
    struct bench_shape shape = bench_shape(b, d->kind);
    struct bench_row row;
    char text[96];
    double bytes = bench_step_bytes(&shape, bench_kept(b), d->lengths[i],
                                    d->chosen, d->chunk);
    snprintf(text, sizeof text, "%s, after %zu tokens", shape.name,
             d->lengths[i]);
    bench_row(b, &row, d->what, text);
    bench_keys(&row, bench_kept(b));
    bench_number(&row, "ms", d->ms[i], 4);
    bench_number(&row, "least ms", min, 4);
    bench_bytes(b, &row, bytes, d->ms[i] * 1e-3);
    if (dense && dense->ms[i] > 0) {
        bench_number(&row, "dense ms", dense->ms[i], 4);
        bench_number(&row, "times as fast as dense", dense->ms[i] / d->ms[i],
                     3);
    }
    if (d->kind == BENCH_345M && d->lengths[i] == (size_t)1 << 19)
        bench_goal(b, &row, "at most", 0.35, "ms", d->ms[i]);
    if (d->kind == BENCH_345M && d->lengths[i] == (size_t)1 << 22)
        bench_goal(b, &row, "at most", 0.5, "ms", d->ms[i]);
    bench_say(b, &row);
}

/* Whether there is memory, and time to fill it, for the next length. */
static bool may_grow(struct bench *b, const struct decoding *d, size_t i,
                     const struct session *session)
{
    struct bench_shape shape = bench_shape(b, d->kind);
    size_t more = d->lengths[i] - session_length(session);
    char text[96];
    snprintf(text, sizeof text, "%s, after %zu tokens", shape.name,
             d->lengths[i]);
    return bench_fits(b, d->what, text,
                      (double)more * token_bytes(b, &shape, d->chunk) * 1.05) &&
           bench_has_time(b, d->what, text,
                          (double)more * d->fill + 4 * b->min);
}

/* One session reads on from length to length. */
static void decode(struct bench *b, struct model *model, struct decoding *d,
                   const struct decoding *dense)
{
    struct session_exact exact = {0};
    struct session *session = NULL;
    struct err err = {0};
    double min;
    int code = d->exact ? session_open_exact(model, &exact, &session, &err)
                        : session_open(model, &session, &err);
    for (size_t i = 0; i < d->count && !code; i++) {
        if (!may_grow(b, d, i, session))
            continue;
        double more = (double)(d->lengths[i] - session_length(session));
        double start = clock_seconds();
        code = bench_fill(b, model, session, d->lengths[i], &err);
        d->fill = (clock_seconds() - start) / more;
        if (!code)
            code = time_steps(b, session, &d->ms[i], &min, &err);
        if (!code)
            say_step(b, d, dense, i, min);
    }
    if (code)
        bench_leave_out(b, d->what, bench_shape(b, d->kind).name, "%s",
                        err.message);
    session_close(session);
}

static void decode_alone(struct bench *b, struct decoding *d,
                         const struct decoding *dense)
{
    struct model *model;
    if (!bench_open(b, d->kind, d->exact, d->what, &model))
        return;
    decode(b, model, d, dense);
    model_close(model);
}

/* From the K-th power of two on, each the fourth of the next but for the last
 * two; tiny, some more than a window and a chunk. */
static void set_lengths(const struct bench *b, struct decoding *d,
                        const size_t *lengths, size_t count)
{
    static const size_t tiny[MAX_LENGTHS] = {100, 150, 200, 700, 800};
    d->count = count;
    for (size_t i = 0; i < count; i++)
        d->lengths[i] = b->tiny ? tiny[i] : lengths[i];
}

void bench_part_decode(struct bench *b)
{
    static const size_t lengths[] = {1 << 14, 1 << 16, 1 << 18, 1 << 19,
                                     1 << 22};
    struct decoding dense = {.kind = BENCH_345M_DENSE,
                             .what = "decode step, dense"};
    struct decoding hils = {.kind = BENCH_345M,
                            .what = "decode step, HiLS",
                            .chosen = bench_size(b, 512 + 32 * 64, 32),
                            .chunk = bench_size(b, 63, 7)};
    set_lengths(b, &dense, lengths, 5);
    set_lengths(b, &hils, lengths, 5);
    decode_alone(b, &dense, NULL);
    decode_alone(b, &hils, &dense);
}

void bench_part_decode_8b(struct bench *b)
{
    static const size_t lengths[] = {1 << 14, 1 << 16, 1 << 18, 1 << 19};
    static const size_t beyond[] = {1 << 22};
    struct decoding dense = {.kind = BENCH_8B, .what = "decode step, dense"};
    struct decoding exact = {.kind = BENCH_8B,
                             .exact = true,
                             .what = "decode step, exact",
                             .chosen = 512 + 32 * 64,
                             .chunk = 64};
    struct model *model;
    set_lengths(b, &dense, lengths, 4);
    set_lengths(b, &exact, lengths, 4);
    if (bench_open(b, BENCH_8B, true, exact.what, &model)) {
        decode(b, model, &dense, NULL);
        decode(b, model, &exact, &dense);
        model_close(model);
    }
    dense = (struct decoding){.kind = BENCH_8B_LAYER, .what = dense.what};
    exact.kind = BENCH_8B_LAYER;
    set_lengths(b, &dense, beyond, 1);
    set_lengths(b, &exact, beyond, 1);
    decode_alone(b, &dense, NULL);
    decode_alone(b, &exact, &dense);
}

/* ---- Prefill ---- */

/* Seconds in which a new session reads `length` tokens; 0: it could not, and
 * why is said. */
static double prefill(struct bench *b, struct model *model, const char *what,
                      const char *shape, size_t length)
{
    struct session *session = NULL;
    struct err err = {0};
    int32_t *ids = bench_ids(model, length);
    double start = clock_seconds();
    int code = session_open(model, &session, &err);
    if (!code)
        code = bench_read(session, ids, length, &err);
    double passed = clock_seconds() - start;
    session_close(session);
    free(ids);
    if (code)
        bench_leave_out(b, what, shape, "%s", err.message);
    return code ? 0 : passed;
}

static void say_prefill(struct bench *b, const struct bench_shape *shape,
                        const char *what, const char *text, size_t length,
                        double passed, double dense)
{
    struct bench_row row;
    double theirs = (double)shape->layers * 1e-3 *
                    bench_sdpa(b, length, length, shape->heads,
                               shape->key_heads, shape->head);
    bench_row(b, &row, what, text);
    bench_keys(&row, bench_kept(b));
    bench_number(&row, "ms", passed * 1e3, 2);
    bench_number(&row, "tokens/s", (double)length / passed, 0);
    bench_number(&row, "limit ms, products alone",
                 (double)length * bench_token_operations(shape) /
                     bench_matmul_rate(b) * 1e3,
                 2);
    if (dense > 0)
        bench_number(&row, "times as fast as dense", dense / passed, 3);
    if (theirs > 0) {
        bench_number(&row, "PyTorch's ms, attention of all layers alone",
                     theirs * 1e3, 2);
        bench_number(&row, "times as fast as PyTorch's", theirs / passed, 3);
    }
    if (shape->layers == 16 && length == (size_t)1 << 19 && dense >= 0) {
        bench_goal(b, &row, "at most", 1.6, "s", passed);
        if (theirs > 0)
            bench_goal(b, &row, "at least", 15, "x", theirs / passed);
    }
    bench_say(b, &row);
}

/* Each length where there is time for it: no more than as the square of it.
 * dense [count]: seconds, to be filled where `hils` is false. */
static void prefill_lengths(struct bench *b, bool hils, const size_t *lengths,
                            size_t count, double *dense)
{
    enum bench_kind kind = hils ? BENCH_345M : BENCH_345M_DENSE;
    const char *what = hils ? "prefill, HiLS" : "prefill, dense";
    struct bench_shape shape = bench_shape(b, kind);
    struct model *model;
    double last = 0;
    if (!bench_open(b, kind, false, what, &model))
        return;
    prefill(b, model, what, shape.name, lengths[0]); /* to warm up */
    for (size_t i = 0; i < count; i++) {
        char text[96];
        double ratio = (double)lengths[i] / (double)lengths[i ? i - 1 : 0];
        snprintf(text, sizeof text, "%s, %zu tokens", shape.name, lengths[i]);
        if (!bench_has_time(b, what, text,
                            last * ratio * (hils ? 1.5 : ratio)) ||
            !bench_fits(b, what, text,
                        (double)lengths[i] * token_bytes(b, &shape, 64) * 1.05))
            continue;
        double passed = prefill(b, model, what, text, lengths[i]);
        if (!(passed > 0))
            continue;
        last = passed;
        say_prefill(b, &shape, what, text, lengths[i], passed,
                    hils ? dense[i] : -1);
        if (!hils)
            dense[i] = passed;
    }
    model_close(model);
}

void bench_part_prefill(struct bench *b)
{
    static const size_t full[] = {1 << 14, 1 << 16, 1 << 17, 1 << 19};
    static const size_t tiny[] = {40, 60, 80, 120};
    double dense[4] = {0};
    prefill_lengths(b, false, b->tiny ? tiny : full, 2, dense);
    prefill_lengths(b, true, b->tiny ? tiny : full, 4, dense);
}
