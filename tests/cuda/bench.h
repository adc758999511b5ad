/* What `make gpu-bench` measures, a part at a time, beside a copy and a large
 * product in the same run.  A figure is one JSON object on a line of its own:
 *
 *     {"part":"decode","what":...,"shape":...,"ms":...,"goals":[...]}
 *     {"part":"decode","what":...,"shape":...,"left out":"why"}
 *
 * Times are by the host's clock.  Weights, keys and values are random numbers:
 * what random queries choose has less in common than what those of a text do. */
#ifndef TESTS_CUDA_BENCH_H
#define TESTS_CUDA_BENCH_H

#include <stdio.h>

#include "base/json.h"
#include "model/model.h"

struct bench {
    const struct kernels *device; /* what is measured */
    struct kernels table;         /* the same for models: while a context is
                                     filled some of it is left out */
    struct kernel_run run;
    bool tiny;    /* all sizes small: that the rows run, no times */
    double min;   /* seconds of calls that a time is of */
    double most;  /* seconds a part may take where that is less than its own */
    double until; /* clock_seconds() when the part should be done; what would
                         take longer is left out */
    const char *sdpa; /* a file of sdpa.py's lines; NULL: there is none */
    const char *part;
    FILE *out;
    double copy_rate, matmul_rate; /* measured once; 0: not yet */
};

/* `device` outlives it. */
void bench_begin(struct bench *b, const struct kernels *device, FILE *out);

/* Says what the device is; false, and said why: it does not answer, or is without
 * cuBLASLt, and then its figures say nothing. */
bool bench_describe(const struct kernels *device, FILE *out);

struct bench_part {
    const char *name;
    unsigned seconds; /* by then it should be done */
    void (*run)(struct bench *b);
    bool alone; /* it measures memory: no limits before it, and no other part in
                   its process */
};
/* NULL beyond the last one. */
const struct bench_part *bench_part(size_t i);
/* False: there is no such part. */
bool bench_run(struct bench *b, const char *part);

/* The full size, or the tiny one. */
static inline size_t bench_size(const struct bench *b, size_t full, size_t tiny)
{
    return b->tiny ? tiny : full;
}

/* ---- Rows ---- */

struct bench_row {
    struct buf text, goals;
    struct json json;
};
void bench_row(const struct bench *b, struct bench_row *row, const char *what,
               const char *shape);
void bench_number(struct bench_row *row, const char *key, double value,
                  int decimals);
/* One of speed.md's, which are for an H200: "at least 6 x", and whether `value`
 * is; none where sizes are tiny. */
void bench_goal(const struct bench *b, struct bench_row *row, const char *sense,
                double goal, const char *unit, double value);
/* Bytes that had to be read, or operations, within the time: beside the limit
 * of this run. */
void bench_bytes(struct bench *b, struct bench_row *row, double bytes,
                 double seconds);
void bench_operations(struct bench *b, struct bench_row *row, double operations,
                      double seconds);
/* What keys and values in pages are kept as where weights are bf16, and the row's
 * say of it. */
int bench_kept(const struct bench *b);
void bench_keys(struct bench_row *row, int type);
/* Bytes of one token's keys and values in one layer. */
static inline double bench_slot_bytes(int kept, size_t key_heads, size_t head)
{
    return 2 * (double)(kernel_type_size(kept) * key_heads * head);
}
/* Writes the row, and frees it. */
void bench_say(const struct bench *b, struct bench_row *row);
void bench_leave_out(const struct bench *b, const char *what, const char *shape,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* False, and said why: so many bytes are not free, or there is not so much time
 * left. */
bool bench_fits(const struct bench *b, const char *what, const char *shape,
                double bytes);
bool bench_has_time(const struct bench *b, const char *what, const char *shape,
                    double seconds);

/* Milliseconds of PyTorch's attention; 0: not measured in this run. */
double bench_sdpa(const struct bench *b, size_t m, size_t n, size_t hq,
                  size_t hkv, size_t d);

/* ---- Operations (bench_operations.c) ---- */

/* Ends the program. */
void bench_need(int code, const char *what);
/* Bytes/s read and written by a copy, operations/s of a large bf16 product. */
double bench_copy_rate(struct bench *b);
double bench_matmul_rate(struct bench *b);
float *bench_numbers(struct bench *b, size_t count);
/* Seconds that one call takes; `call` waits for what it asks for. */
double bench_time(const struct bench *b, void (*call)(void *argument),
                  void *argument);

void bench_part_matmuls(struct bench *b);
void bench_part_attention(struct bench *b);
void bench_part_papers(struct bench *b);

/* ---- Whole models (bench_shapes.c, bench_weights.c) ---- */

enum bench_kind {
    BENCH_345M,       /* HiLS, as its authors have it; all layers choose */
    BENCH_345M_DENSE, /* the same sizes, all layers see all */
    BENCH_8B,         /* Llama-3.1-8B */
    BENCH_8B_LAYER,   /* one layer of it, and few ids */
    BENCH_STAR,       /* TinyLlama-1.1B */
    BENCH_HICI,       /* LLaMA-2-7B, some of its layers */
    BENCH_HICI_DENSE,
    BENCH_HICI_WHOLE, /* all of them */
    BENCH_22M         /* MiniLM */
};

struct bench_shape {
    const char *name, *family;
    size_t layers, width, inner, heads, key_heads, head, ids, context;
    bool tied;
    const char *more; /* further members of config.json, a comma before them */
};
struct bench_shape bench_shape(const struct bench *b, enum bench_kind kind);

/* A model of random weights, bf16 and small vectors f32, that never were in a
 * file.  `check`: model_options's. */
int bench_model(struct bench *b, const struct bench_shape *shape, bool exact,
                bool check, struct model **ret, struct err *err);
/* The same where it fits; false, and said why. */
bool bench_open(struct bench *b, enum bench_kind kind, bool exact,
                const char *what, struct model **ret);

/* What a decode step must read: weights in bf16, keys and values of `kept`,
 * what chunks are chosen by; `chosen` slots with the window, and that of each
 * `chunk` tokens; 0: all n. */
double bench_chunk_bytes(const struct bench_shape *shape,
                         int kept); /* of one layer's chunk */
double bench_weight_bytes(const struct bench_shape *shape);
double bench_step_bytes(const struct bench_shape *shape, int kept, size_t n,
                        size_t chosen, size_t chunk);
/* What a token costs in products, but for the head. */
double bench_token_operations(const struct bench_shape *shape);

/* Some ids, freed by the caller. */
int32_t *bench_ids(const struct model *model, size_t count);
/* The session reads them and the likeliest token is chosen, which waits for the
 * device. */
int bench_read(struct session *session, const int32_t *ids, size_t count,
               struct err *err);
/* The session reads on up to `length` tokens, with random keys and values:
 * products and attention are left out. */
int bench_fill(struct bench *b, struct model *model, struct session *session,
               size_t length, struct err *err);

void bench_part_decode(struct bench *b);
void bench_part_decode_8b(struct bench *b);
void bench_part_prefill(struct bench *b);
void bench_part_first(struct bench *b);
void bench_part_star(struct bench *b);
void bench_part_hici(struct bench *b);
void bench_part_embed(struct bench *b);

#endif
