/* How fast the device's table is, beside a copy and a large product in the same
 * run:
 *
 *     gpu-bench [--device]    one JSON object a line; --device: only whether
 *                             there is one
 *
 * Exit: 0; 77, with the reason, where there is no device; 1 where it failed.
 * Times are by the host's clock over many calls and one wait at the end.
 * Inputs are random numbers in f32, keys and values too.  The large weights, read
 * in turn, are more than a device's cache holds; the weights of 1024 rows and the
 * keys and values of short contexts may stay in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"

static const struct kernels *table;
static struct kernel_run run;
static double copy_rate; /* bytes/s read and written */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(int code, const char *what)
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
    for (size_t i = 0; i < NOISE; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (float)((double)(state >> 40) * 0x1p-23 - 1);
    }
}

static void *room(size_t bytes)
{
    void *memory = table->allocate(&run, bytes);
    need(memory ? 0 : KERNEL_NO_MEMORY, "allocate");
    return memory;
}

static float *numbers(size_t count)
{
    float *memory = room(count * sizeof *memory);
    size_t done = count < NOISE ? count : NOISE;
    need(table->upload(&run, memory, noise, done * sizeof *memory), "upload");
    for (size_t more; done < count; done += more) {
        more = count - done < done ? count - done : done;
        need(table->copy(&run, memory + done, memory, more * sizeof *memory),
             "copy");
    }
    return memory;
}

static void *addresses(float *from, size_t count, size_t step)
{
    float **host = malloc((count + 1) * sizeof *host);
    void *device = room((count + 1) * sizeof *host);
    need(host ? 0 : KERNEL_NO_MEMORY, "malloc");
    for (size_t i = 0; i < count; i++)
        host[i] = from + i * step;
    need(table->upload(&run, device, host, count * sizeof *host), "upload");
    free(host);
    return device;
}

/* What `addresses` made. */
static void release_table(const void *addresses)
{
    union {
        const void *read;
        void *memory;
    } table_of = {addresses};
    table->release(&run, table_of.memory);
}

static void release_pages(const struct kernel_pages *pages)
{
    release_table(pages->keys);
    release_table(pages->values);
}

/* ---- Times ---- */

static void wait_for(float *anything)
{
    float value;
    need(table->download(&run, &value, anything, sizeof value), "download");
}

/* Seconds that one call takes; at least half a second's worth of calls. */
static double seconds(void (*call)(void *argument, size_t turn), void *argument,
                      float *anything)
{
    size_t turns = 1, turn = 0;
    call(argument, turn++);
    wait_for(anything);
    for (;;) {
        double start = now(), passed;
        for (size_t i = 0; i < turns; i++)
            call(argument, turn++);
        wait_for(anything);
        passed = now() - start;
        if (passed > 0.5)
            return passed / (double)turns;
        turns *= passed > 0.1 ? 6 : 2;
    }
}

static void say(const char *what, const char *shape, double time, double bytes,
                double operations)
{
    printf("{\"what\":\"%s\",\"shape\":\"%s\",\"ms\":%.4f", what, shape,
           time * 1e3);
    if (bytes > 0)
        printf(",\"GB/s\":%.1f", bytes / time * 1e-9);
    if (bytes > 0 && copy_rate > 0)
        printf(",\"share of the copy\":%.3f", bytes / time / copy_rate);
    if (operations > 0)
        printf(",\"TFLOP/s\":%.2f", operations / time * 1e-12);
    puts("}");
    fflush(stdout);
}

/* ---- The two limits ---- */

struct copying {
    float *from, *to;
    size_t bytes;
};

static void copy_once(void *argument, size_t turn)
{
    struct copying *c = argument;
    (void)turn;
    need(table->copy(&run, c->to, c->from, c->bytes), "copy");
}

static void bench_copy(void)
{
    struct copying c = {.bytes = (size_t)1 << 30};
    c.from = numbers(c.bytes / 4);
    c.to = room(c.bytes);
    double time = seconds(copy_once, &c, c.to);
    say("copy", "1 GiB", time, 2.0 * (double)c.bytes, 0);
    copy_rate = 2.0 * (double)c.bytes / time;
    table->release(&run, c.from);
    table->release(&run, c.to);
}

enum { MOST_WEIGHTS = 8 };

struct multiplying {
    struct kernel_weight *weights[MOST_WEIGHTS];
    size_t weight_count, m;
    float *a, *out;
};

static void multiply_once(void *argument, size_t turn)
{
    struct multiplying *p = argument;
    need(table->product(&run, p->out, p->a, p->weights[turn % p->weight_count],
                        p->m, false),
         "product");
}

/* One weight after the other, so that no large one is in the cache. */
static void bench_product(size_t m, size_t n, size_t k, size_t weights)
{
    struct multiplying p = {.weight_count = weights, .m = m};
    char shape[80];
    uint16_t *host = calloc(n * k, sizeof *host);
    need(host ? 0 : KERNEL_NO_MEMORY, "malloc");
    for (size_t i = 0; i < n * k; i++) {
        uint32_t bits;
        memcpy(&bits, &noise[i % NOISE], sizeof bits);
        host[i] = (uint16_t)(bits >> 16);
    }
    for (size_t w = 0; w < weights; w++)
        need(table->weight(&run, host, KERNEL_BF16, n, k, &p.weights[w]),
             "weight");
    p.a = numbers(m * k);
    p.out = room(m * n * sizeof *p.out);
    double time = seconds(multiply_once, &p, p.out);
    snprintf(shape, sizeof shape, "bf16 [%zu, %zu] . [%zu, %zu]^T", m, k, n, k);
    say("product", shape, time, m < 64 ? 2.0 * (double)(n * k) : 0,
        2.0 * (double)m * (double)n * (double)k);
    for (size_t w = 0; w < weights; w++)
        table->weight_free(&run, p.weights[w]);
    table->release(&run, p.a);
    table->release(&run, p.out);
    free(host);
}

/* ---- Attention ---- */

struct attending {
    struct kernel_hils z;
    struct kernel_pages pages;
    struct kernel_summaries summaries;
    float *q, *k, *v, *key, *bias, *out;
    int32_t *position, *chosen;
};

static struct attending make_attending(size_t m, size_t n, size_t hq,
                                       size_t hkv, size_t d)
{
    enum { CHUNK = 64 };
    struct attending a = {.z = {.m = m,
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
    need(host ? 0 : KERNEL_NO_MEMORY, "malloc");
    a.q = numbers(m * hq * d);
    a.k = numbers(n * step);
    a.v = numbers(n * step);
    a.key = numbers(pages * hq * d);
    a.bias = numbers(pages * hq);
    a.out = room(m * hq * d * sizeof *a.out);
    a.position = room(m * sizeof *host);
    a.chosen = room(m * hkv * a.z.top_k * sizeof *a.chosen);
    for (size_t i = 0; i < m; i++)
        host[i] = (int32_t)(n - m + i);
    need(table->upload(&run, a.position, host, m * sizeof *host), "upload");
    a.pages.keys = addresses(a.k, pages, CHUNK * step);
    a.pages.values = addresses(a.v, pages, CHUNK * step);
    a.pages.slots = CHUNK;
    a.summaries.keys = addresses(a.key, pages, hq * d);
    a.summaries.biases = addresses(a.bias, pages, hq);
    free(host);
    return a;
}

static void free_attending(struct attending *a)
{
    void *parts[] = {a->q,    a->k,   a->v,        a->key,
                     a->bias, a->out, a->position, a->chosen};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        table->release(&run, parts[i]);
    release_pages(&a->pages);
    release_table(a->summaries.keys);
    release_table(a->summaries.biases);
}

static void attend_dense(void *argument, size_t turn)
{
    struct attending *a = argument;
    (void)turn;
    need(table->attention(&run, a->out, a->q, &a->pages, a->z.m, a->z.n,
                          a->z.hq, a->z.hkv, a->z.d, 0),
         "attention");
}

static void attend_hils(void *argument, size_t turn)
{
    struct attending *a = argument;
    (void)turn;
    need(table->hils_choose(&run, a->chosen, a->q, a->q, &a->pages,
                            &a->summaries, a->position, NULL, &a->z),
         "hils_choose");
    need(table->hils_attention(&run, a->out, a->q, a->q, &a->pages,
                               &a->summaries, a->position, NULL, a->chosen,
                               &a->z),
         "hils_attention");
}

/* One layer: dense (where asked for) and HiLS, with the bytes that each must read
 * for one query, and the operations of dense attention. */
static void bench_attention(size_t m, size_t n, size_t hq, size_t hkv, size_t d,
                            bool dense)
{
    struct attending a = make_attending(m, n, hq, hkv, d);
    char shape[96];
    double row = 8.0 * (double)(hkv * d), pairs = (double)m * (double)n;
    double few = (double)(a.z.window + a.z.chunk * a.z.top_k);
    snprintf(shape, sizeof shape,
             "%zu queries, %zu slots, %zu/%zu heads of %zu", m, n, hq, hkv, d);
    if (m > 1)
        pairs -= (double)m * (double)m / 2;
    if (dense)
        say("attention, dense", shape, seconds(attend_dense, &a, a.out),
            m == 1 ? row * (double)n : 0, 4.0 * pairs * (double)(hq * d));
    say("attention, HiLS", shape, seconds(attend_hils, &a, a.out),
        m == 1 ? row * few + 4.0 * (double)(a.z.chunks * hq * d) : 0, 0);
    free_attending(&a);
}

struct papers {
    float *q, *k, *v, *slots, *gate, *out;
    struct kernel_pages pages; /* one, of k and v */
    size_t n, hq, hkv, d;
};

static void attend_star(void *argument, size_t turn)
{
    struct papers *p = argument;
    (void)turn;
    need(table->star_attention(&run, p->out, p->q, &p->pages, p->gate, p->n,
                               p->n, p->hq, p->hkv, p->d, 65, 8),
         "star_attention");
}

static void attend_hici(void *argument, size_t turn)
{
    struct papers *p = argument;
    (void)turn;
    need(table->hici_attention(&run, p->out, p->q, p->k, p->v, p->slots,
                               p->slots, p->n, 1024, 12, p->hq, p->hkv, p->d,
                               false),
         "hici_attention");
}

static void attend_whole(void *argument, size_t turn)
{
    struct papers *p = argument;
    (void)turn;
    need(table->attention(&run, p->out, p->q, &p->pages, p->n, p->n, p->hq,
                          p->hkv, p->d, 0),
         "attention");
}

static void bench_papers(size_t n, size_t hq, size_t hkv, size_t d, bool star)
{
    struct papers p = {.n = n, .hq = hq, .hkv = hkv, .d = d};
    char shape[64];
    size_t row = p.hkv * p.d;
    p.q = numbers(n * p.hq * p.d);
    p.k = numbers(n * row);
    p.v = numbers(n * row);
    p.pages.keys = addresses(p.k, 1, n * row);
    p.pages.values = addresses(p.v, 1, n * row);
    p.pages.slots = n;
    p.slots = numbers((n / 1024 + 1) * 12 * row);
    p.gate = numbers(3);
    p.out = room(n * p.hq * p.d * sizeof *p.out);
    snprintf(shape, sizeof shape, "%zu tokens, %zu/%zu heads of %zu", n, hq,
             hkv, d);
    if (star)
        say("attention, STAR, prefill", shape, seconds(attend_star, &p, p.out),
            0, 0);
    else
        say("attention, dense, prefill", shape,
            seconds(attend_whole, &p, p.out), 0,
            2.0 * (double)n * (double)n * (double)(hq * d));
    say("attention, HiCI, prefill", shape, seconds(attend_hici, &p, p.out), 0,
        0);
    table->release(&run, p.q);
    table->release(&run, p.k);
    table->release(&run, p.v);
    release_pages(&p.pages);
    table->release(&run, p.slots);
    table->release(&run, p.gate);
    table->release(&run, p.out);
}

int main(int count, char **words)
{
    const char *reason = NULL;
    table = kernels_cuda(&reason);
    if (!table) {
        printf("SKIP gpu: %s\n", reason);
        return 77;
    }
    if (count > 1 && !strcmp(words[1], "--device")) {
        puts("gpu: there is one");
        return 0;
    }
    fill_noise();
    bench_copy();
    bench_product(4096, 4096, 4096, 2);
    bench_product(8192, 14336, 4096, 2);
    for (size_t m = 1; m <= 8; m *= 2)
        bench_product(m, 14336, 4096, MOST_WEIGHTS);
    bench_product(1, 1024, 1024, MOST_WEIGHTS);
    for (size_t n = 16384; n <= 524288; n *= 2) {
        bench_attention(1, n, 16, 2, 64, true);
        bench_attention(1, n, 32, 8, 128, true);
    }
    for (size_t n = 1 << 20; n <= 1 << 22; n *= 2) /* one layer alone fits */
        bench_attention(1, n, 16, 2, 64, true);
    for (size_t n = 4096; n <= 16384; n *= 2) {
        bench_attention(n, n, 16, 2, 64, true);
        bench_attention(n, n, 32, 8, 128, true);
    }
    for (size_t n = 32768; n <= 524288; n *= 4) /* the last 4096 of them */
        bench_attention(4096, n, 16, 2, 64, n == 32768);
    bench_papers(8192, 32, 8, 64, true);
    bench_papers(98304, 32, 4, 64, true);
    bench_papers(102400, 32, 32, 128, false);
    return 0;
}
