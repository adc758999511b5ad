/* Operations alone, and the two limits of a run.
 *
 * Inputs are random numbers in f32; keys and values in pages are as models keep
 * them (bench_kept).  The large weights, read
 * in turn, are more than a device's cache holds; the weights of 1024 rows and the
 * keys and values of short contexts may stay in it. */
#include "tests/cuda/bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "kernels/blocks.h"

void bench_need(int code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "gpu-bench: %s: code %d\n", what, code);
    exit(1);
}

/* ---- Arrays ---- */

enum { NOISE = 1 << 20 };

static float noise[NOISE];

static void fill_noise(void)
{
    uint64_t state = 1;
    if (noise[0] != 0)
        return;
    for (size_t i = 0; i < NOISE; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (float)((double)(state >> 40) * 0x1p-23 - 1);
    }
}

static void *room(struct bench *b, size_t bytes)
{
    void *memory = b->device->allocate(&b->run, bytes);
    bench_need(memory ? 0 : KERNEL_NO_MEMORY, "allocate");
    return memory;
}

/* On the device `size` bytes, those on the host again and again. */
static void *repeated(struct bench *b, const void *host, size_t host_size,
                      size_t size)
{
    char *memory = room(b, size);
    size_t done = size < host_size ? size : host_size;
    bench_need(b->device->upload(&b->run, memory, host, done), "upload");
    for (size_t more; done < size; done += more) {
        more = size - done < done ? size - done : done;
        bench_need(b->device->copy(&b->run, memory + done, memory, more),
                   "copy");
    }
    return memory;
}

float *bench_numbers(struct bench *b, size_t count)
{
    fill_noise();
    return repeated(b, noise, sizeof noise, count * sizeof *noise);
}

static uint16_t noise_bf16(size_t i)
{
    uint32_t bits;
    memcpy(&bits, &noise[i % NOISE], sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Keys or values, as pages have them. */
static float *kept_numbers(struct bench *b, size_t count)
{
    if (bench_kept(b) == KERNEL_F32)
        return bench_numbers(b, count);
    uint16_t *host = malloc(NOISE * sizeof *host);
    bench_need(host ? 0 : KERNEL_NO_MEMORY, "malloc");
    fill_noise();
    for (size_t i = 0; i < NOISE; i++)
        host[i] = noise_bf16(i);
    float *memory =
        repeated(b, host, NOISE * sizeof *host, count * sizeof *host);
    free(host);
    return memory;
}

/* Floats that so many of them take. */
static size_t kept_floats(const struct bench *b, size_t count)
{
    return count * kernel_type_size(bench_kept(b)) / sizeof(float);
}

static void *addresses(struct bench *b, float *from, size_t count, size_t step)
{
    float **host = malloc((count + 1) * sizeof *host);
    void *device = room(b, (count + 1) * sizeof *host);
    bench_need(host ? 0 : KERNEL_NO_MEMORY, "malloc");
    for (size_t i = 0; i < count; i++)
        host[i] = from + i * step;
    bench_need(b->device->upload(&b->run, device, host, count * sizeof *host),
               "upload");
    free(host);
    return device;
}

/* What `addresses` made. */
static void release_table(struct bench *b, const void *addresses)
{
    union {
        const void *read;
        void *memory;
    } table_of = {addresses};
    b->device->release(&b->run, table_of.memory);
}

static void release_pages(struct bench *b, const struct kernel_pages *pages)
{
    release_table(b, pages->keys);
    release_table(b, pages->values);
}

/* ---- Times ---- */

static void wait_for(struct bench *b, float *anything)
{
    float value;
    bench_need(b->device->download(&b->run, &value, anything, sizeof value),
               "download");
}

/* Seconds that one call takes, of many and one wait at the end. */
static double seconds(struct bench *b,
                      void (*call)(void *argument, size_t turn), void *argument,
                      float *anything)
{
    size_t turns = 1, turn = 0;
    call(argument, turn++);
    wait_for(b, anything);
    for (;;) {
        double start = clock_seconds(), passed;
        for (size_t i = 0; i < turns; i++)
            call(argument, turn++);
        wait_for(b, anything);
        passed = clock_seconds() - start;
        if (passed > b->min)
            return passed / (double)turns;
        turns *= passed > b->min / 5 ? 6 : 2;
    }
}

double bench_time(const struct bench *b, void (*call)(void *argument),
                  void *argument)
{
    size_t turns = 0;
    double start = clock_seconds(), passed;
    do {
        call(argument);
        turns++;
        passed = clock_seconds() - start;
    } while (passed <= b->min && clock_seconds() < b->until);
    return passed / (double)turns;
}

/* ---- The two limits ---- */

struct copying {
    struct bench *b;
    float *from, *to;
    size_t bytes;
};

static void copy_once(void *argument, size_t turn)
{
    struct copying *c = argument;
    (void)turn;
    bench_need(c->b->device->copy(&c->b->run, c->to, c->from, c->bytes),
               "copy");
}

double bench_copy_rate(struct bench *b)
{
    struct copying c = {.b = b,
                        .bytes = bench_size(b, (size_t)1 << 30, 1 << 16)};
    if (b->copy_rate > 0)
        return b->copy_rate;
    c.from = bench_numbers(b, c.bytes / 4);
    c.to = room(b, c.bytes);
    double time = seconds(b, copy_once, &c, c.to);
    b->device->release(&b->run, c.from);
    b->device->release(&b->run, c.to);
    return b->copy_rate = 2.0 * (double)c.bytes / time;
}

enum { MAX_WEIGHTS = 8 };

struct multiplying {
    struct bench *b;
    struct kernel_weight *weights[MAX_WEIGHTS];
    size_t weight_count, m;
    float *a, *out;
};

static void multiply_once(void *argument, size_t turn)
{
    struct multiplying *p = argument;
    bench_need(p->b->device->matmul(&p->b->run, p->out, p->a,
                                    p->weights[turn % p->weight_count], p->m,
                                    false),
               "product");
}

/* Random weights [n, k] of a type; of blocks without the highest bit of an exponent,
 * so that their scales are numbers. */
static void *random_weights(int type, size_t n, size_t k)
{
    size_t count = n * kernel_row_bytes(type, k) / sizeof(uint16_t);
    uint16_t *host = calloc(count, sizeof *host);
    bench_need(host ? 0 : KERNEL_NO_MEMORY, "malloc");
    fill_noise();
    for (size_t i = 0; i < count; i++)
        host[i] =
            kernel_is_blocks(type)
                ? (uint16_t)((int32_t)(noise[i % NOISE] * 0x1p20F) & 0xBFBF)
                : noise_bf16(i);
    return host;
}

/* Seconds of a [m, k] . w [n, k]^T; one weight after the other, so that no large
 * one is in the cache. */
static double matmul_time(struct bench *b, int type, size_t m, size_t n,
                          size_t k, size_t weights)
{
    struct multiplying p = {.b = b, .weight_count = weights, .m = m};
    void *host = random_weights(type, n, k);
    for (size_t w = 0; w < weights; w++)
        bench_need(b->device->weight(&b->run, host, type, n, k, &p.weights[w]),
                   "weight");
    p.a = bench_numbers(b, m * k);
    p.out = room(b, m * n * sizeof *p.out);
    double time = seconds(b, multiply_once, &p, p.out);
    for (size_t w = 0; w < weights; w++)
        b->device->weight_free(&b->run, p.weights[w]);
    b->device->release(&b->run, p.a);
    b->device->release(&b->run, p.out);
    free(host);
    return time;
}

static double operations_of(size_t m, size_t n, size_t k)
{
    return 2.0 * (double)m * (double)n * (double)k;
}

double bench_matmul_rate(struct bench *b)
{
    size_t m = bench_size(b, 8192, 16), n = bench_size(b, 14336, 32),
           k = bench_size(b, 4096, 16);
    if (!(b->matmul_rate > 0))
        b->matmul_rate =
            operations_of(m, n, k) / matmul_time(b, KERNEL_BF16, m, n, k, 2);
    return b->matmul_rate;
}

static void one_matmul(struct bench *b, int type, size_t m, size_t n, size_t k,
                       size_t weights)
{
    char shape[80];
    struct bench_row row;
    double time = matmul_time(b, type, m, n, k, weights);
    snprintf(shape, sizeof shape, "%s [%zu, %zu] . [%zu, %zu]^T",
             kernel_is_blocks(type) ? block_kind(type)->name : "bf16", m, k, n,
             k);
    bench_row(b, &row, "product", shape);
    bench_number(&row, "ms", time * 1e3, 4);
    if (m < 64)
        bench_bytes(b, &row, (double)(n * kernel_row_bytes(type, k)), time);
    bench_operations(b, &row, operations_of(m, n, k), time);
    bench_say(b, &row);
}

/* Of GGUF files: a step's, and a prompt's. */
static void blocks_matmuls(struct bench *b)
{
    static const int types[] = {KERNEL_Q8_0, KERNEL_Q4_K, KERNEL_Q6_K};
    size_t wide = bench_size(b, 14336, 32), width = bench_size(b, 4096, 256);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        one_matmul(b, types[i], 1, wide, width, MAX_WEIGHTS);
    one_matmul(b, KERNEL_Q4_K, 4, wide, width, MAX_WEIGHTS);
    one_matmul(b, KERNEL_Q4_K, bench_size(b, 8192, 48), wide, width, 2);
}

void bench_part_matmuls(struct bench *b)
{
    struct bench_row row;
    size_t wide = bench_size(b, 14336, 32), width = bench_size(b, 4096, 16);
    bench_row(b, &row, "copy", b->tiny ? "64 KiB" : "1 GiB");
    bench_number(&row, "GB/s", bench_copy_rate(b) * 1e-9, 1);
    bench_say(b, &row);
    one_matmul(b, KERNEL_BF16, width, width, width, 2);
    one_matmul(b, KERNEL_BF16, bench_size(b, 8192, 48), wide, width, 2);
    for (size_t m = 1; m <= 8; m *= 2)
        one_matmul(b, KERNEL_BF16, m, wide, width, MAX_WEIGHTS);
    one_matmul(b, KERNEL_BF16, 1, bench_size(b, 1024, 16),
               bench_size(b, 1024, 16), MAX_WEIGHTS);
    blocks_matmuls(b);
}

/* ---- Attention ---- */

struct attending {
    struct bench *b;
    struct kernel_hils z;
    struct kernel_pages pages;
    struct kernel_summaries summaries;
    float *q, *k, *v, *key, *bias, *out;
    int32_t *position, *chosen;
};

static struct attending make_attending(struct bench *b, size_t m, size_t n,
                                       size_t hq, size_t hkv, size_t d)
{
    enum { CHUNK = 64 };
    struct attending a = {.b = b,
                          .z = {.m = m,
                                .n = n,
                                .chunks = n / CHUNK,
                                .hq = hq,
                                .hkv = hkv,
                                .d = d,
                                .chunk = CHUNK,
                                .window = 512,
                                .top_k = 32}};
    size_t step = hkv * d, pages = n / CHUNK;
    int32_t *host = malloc(m * sizeof *host);
    bench_need(host ? 0 : KERNEL_NO_MEMORY, "malloc");
    a.q = bench_numbers(b, m * hq * d);
    a.k = kept_numbers(b, n * step);
    a.v = kept_numbers(b, n * step);
    a.key = kept_numbers(b, pages * hq * d);
    a.bias = bench_numbers(b, pages * hq);
    a.out = room(b, m * hq * d * sizeof *a.out);
    a.position = room(b, m * sizeof *host);
    a.chosen = room(b, m * hkv * a.z.top_k * sizeof *a.chosen);
    for (size_t i = 0; i < m; i++)
        host[i] = (int32_t)(n - m + i);
    bench_need(b->device->upload(&b->run, a.position, host, m * sizeof *host),
               "upload");
    size_t page = kept_floats(b, CHUNK * step);
    a.pages.keys = addresses(b, a.k, pages, page);
    a.pages.values = addresses(b, a.v, pages, page);
    a.pages.slots = CHUNK;
    a.pages.type = bench_kept(b);
    a.summaries.keys = addresses(b, a.key, pages, kept_floats(b, hq * d));
    a.summaries.biases = addresses(b, a.bias, pages, hq);
    a.summaries.type = bench_kept(b);
    free(host);
    return a;
}

static void free_attending(struct attending *a)
{
    void *parts[] = {a->q,    a->k,   a->v,        a->key,
                     a->bias, a->out, a->position, a->chosen};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        a->b->device->release(&a->b->run, parts[i]);
    release_pages(a->b, &a->pages);
    release_table(a->b, a->summaries.keys);
    release_table(a->b, a->summaries.biases);
}

static void attend_dense(void *argument, size_t turn)
{
    struct attending *a = argument;
    (void)turn;
    bench_need(a->b->device->attention(&a->b->run, a->out, a->q, &a->pages,
                                       a->z.m, a->z.n, a->z.hq, a->z.hkv,
                                       a->z.d, 0),
               "attention");
}

static void attend_hils(void *argument, size_t turn)
{
    struct attending *a = argument;
    const struct kernels *k = a->b->device;
    (void)turn;
    bench_need(k->hils_choose(&a->b->run, a->chosen, a->q, a->q, &a->pages,
                              &a->summaries, a->position, NULL, &a->z),
               "hils_choose");
    bench_need(k->hils_attention(&a->b->run, a->out, a->q, a->q, &a->pages,
                                 &a->summaries, a->position, NULL, a->chosen,
                                 &a->z),
               "hils_attention");
}

/* speed.md's for decoding in the 345 M shape. */
static void decode_goal(struct bench *b, struct bench_row *row,
                        const struct kernel_hils *z, double ratio)
{
    if (z->m == 1 && z->d == 64 && z->n >= (size_t)1 << 22)
        bench_goal(b, row, "at least", 12, "x", ratio);
    else if (z->m == 1 && z->d == 64 && z->n >= (size_t)1 << 19)
        bench_goal(b, row, "at least", 6, "x", ratio);
}

static void say_attention(struct bench *b, const struct kernel_hils *z,
                          const char *what, double time, bool dense)
{
    char shape[96];
    struct bench_row row;
    double slot = bench_slot_bytes(bench_kept(b), z->hkv, z->d);
    double few = (double)(z->window + z->chunk * z->top_k);
    size_t summary = kernel_summary_floats(bench_kept(b), z->hq, z->d) + z->hq;
    double pairs = (double)z->m * (double)z->n;
    double theirs = bench_sdpa(b, z->m, z->n, z->hq, z->hkv, z->d);
    if (z->m > 1)
        pairs -= (double)z->m * (double)z->m / 2;
    snprintf(shape, sizeof shape,
             "%zu queries, %zu slots, %zu/%zu heads of %zu", z->m, z->n, z->hq,
             z->hkv, z->d);
    bench_row(b, &row, what, shape);
    bench_keys(&row, bench_kept(b));
    bench_number(&row, "ms", time * 1e3, 4);
    if (z->m == 1)
        bench_bytes(b, &row,
                    dense ? slot * (double)z->n
                          : slot * few + 4.0 * (double)(z->chunks * summary),
                    time);
    if (dense)
        bench_operations(b, &row, 4.0 * pairs * (double)(z->hq * z->d), time);
    if (theirs > 0) {
        bench_number(&row, "PyTorch's ms", theirs, 4);
        bench_number(&row, "times as fast as PyTorch's", theirs / time * 1e-3,
                     3);
    }
    if (theirs > 0 && !dense)
        decode_goal(b, &row, z, theirs / time * 1e-3);
    bench_say(b, &row);
}

/* One layer: dense (where asked for) and HiLS, with the bytes that each must read
 * for one query, and the operations of dense attention. */
static void one_attention(struct bench *b, size_t m, size_t n, size_t hq,
                          size_t hkv, size_t d, bool dense)
{
    char shape[64];
    double bytes = bench_slot_bytes(bench_kept(b), hkv, d) * (double)n +
                   20.0 * (double)(m * hq * d);
    snprintf(shape, sizeof shape, "%zu queries, %zu slots", m, n);
    if (!bench_fits(b, "attention", shape, 1.2 * bytes) ||
        !bench_has_time(b, "attention", shape, 3 * b->min))
        return;
    struct attending a = make_attending(b, m, n, hq, hkv, d);
    if (dense)
        say_attention(b, &a.z, "attention, dense",
                      seconds(b, attend_dense, &a, a.out), true);
    say_attention(b, &a.z, "attention, HiLS",
                  seconds(b, attend_hils, &a, a.out), false);
    free_attending(&a);
}

void bench_part_attention(struct bench *b)
{
    if (b->tiny) {
        one_attention(b, 1, 1024, 4, 2, 16, true);
        one_attention(b, 64, 1024, 4, 2, 16, true);
        return;
    }
    for (size_t n = 1 << 20; n <= 1 << 22; n *= 2) /* one layer alone fits */
        one_attention(b, 1, n, 16, 2, 64, true);
    for (size_t n = 16384; n <= 524288; n *= 2) {
        one_attention(b, 1, n, 16, 2, 64, true);
        one_attention(b, 1, n, 32, 8, 128, true);
    }
    for (size_t n = 4096; n <= 16384; n *= 2) {
        one_attention(b, n, n, 16, 2, 64, true);
        one_attention(b, n, n, 32, 8, 128, true);
    }
    for (size_t n = 32768; n <= 524288; n *= 4) /* the last 4096 of them */
        one_attention(b, 4096, n, 16, 2, 64, n == 32768);
}

/* ---- STAR and HiCI ---- */

struct papers {
    struct bench *b;
    float *q, *k, *v, *slots, *gate, *out;
    float *kept_k, *kept_v;
    struct kernel_pages pages; /* one, of these */
    size_t n, hq, hkv, d;
};

static void attend_star(void *argument, size_t turn)
{
    struct papers *p = argument;
    (void)turn;
    bench_need(p->b->device->star_attention(&p->b->run, p->out, p->q, &p->pages,
                                            p->gate, p->n, p->n, p->hq, p->hkv,
                                            p->d, 65, 8),
               "star_attention");
}

static void attend_hici(void *argument, size_t turn)
{
    struct papers *p = argument;
    (void)turn;
    bench_need(p->b->device->hici_attention(
                   &p->b->run, p->out, p->q, p->k, p->v, p->slots, p->slots,
                   p->n, 1024, 12, p->hq, p->hkv, p->d, false),
               "hici_attention");
}

static void attend_whole(void *argument, size_t turn)
{
    struct papers *p = argument;
    (void)turn;
    bench_need(p->b->device->attention(&p->b->run, p->out, p->q, &p->pages,
                                       p->n, p->n, p->hq, p->hkv, p->d, 0),
               "attention");
}

static void say_papers(struct papers *p, const char *what,
                       void (*call)(void *argument, size_t turn), int kept,
                       double operations)
{
    char shape[64];
    struct bench_row row;
    snprintf(shape, sizeof shape, "%zu tokens, %zu/%zu heads of %zu", p->n,
             p->hq, p->hkv, p->d);
    double time = seconds(p->b, call, p, p->out);
    bench_row(p->b, &row, what, shape);
    bench_keys(&row, kept);
    bench_number(&row, "ms", time * 1e3, 4);
    if (operations > 0)
        bench_operations(p->b, &row, operations, time);
    bench_say(p->b, &row);
}

static void one_of_papers(struct bench *b, size_t n, size_t hq, size_t hkv,
                          size_t d, bool star)
{
    struct papers p = {.b = b, .n = n, .hq = hq, .hkv = hkv, .d = d};
    size_t row = hkv * d;
    double whole = 2.0 * (double)n * (double)n * (double)(hq * d);
    if (!bench_fits(b, "attention, prefill", "",
                    8.0 * (double)(n * (hq + 2 * hkv) * d)))
        return;
    p.q = bench_numbers(b, n * hq * d);
    p.k = bench_numbers(b, n * row);
    p.v = bench_numbers(b, n * row);
    p.kept_k = kept_numbers(b, n * row);
    p.kept_v = kept_numbers(b, n * row);
    p.pages.keys = addresses(b, p.kept_k, 1, 0);
    p.pages.values = addresses(b, p.kept_v, 1, 0);
    p.pages.slots = n;
    p.pages.type = bench_kept(b);
    p.slots = bench_numbers(b, (n / 1024 + 1) * 12 * row);
    p.gate = bench_numbers(b, 3);
    p.out = room(b, n * hq * d * sizeof *p.out);
    if (star)
        say_papers(&p, "attention, STAR, prefill", attend_star, bench_kept(b),
                   0);
    else
        say_papers(&p, "attention, dense, prefill", attend_whole, bench_kept(b),
                   whole);
    say_papers(&p, "attention, HiCI, prefill", attend_hici, KERNEL_F32, 0);
    void *parts[] = {p.q, p.k, p.v, p.slots, p.gate, p.out, p.kept_k, p.kept_v};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        b->device->release(&b->run, parts[i]);
    release_pages(b, &p.pages);
}

void bench_part_papers(struct bench *b)
{
    if (b->tiny) {
        one_of_papers(b, 200, 4, 2, 16, true);
        one_of_papers(b, 200, 4, 2, 16, false);
        return;
    }
    one_of_papers(b, 8192, 32, 8, 64, true);
    one_of_papers(b, 98304, 32, 4, 64, true);
    one_of_papers(b, 102400, 32, 32, 128, false);
}
