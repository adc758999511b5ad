/* The models that are measured: sizes, what they cost, how they are opened and
 * how a session of theirs comes to have read much. */
#include "tests/cuda/bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/inference/kv_cache.h"
#include "tests/cuda/bench_weights.h"

#define HILS                                                                   \
    ",\"full_attn_interleave\":1,\"enable_softmax1\":false,"                   \
    "\"enable_lmk_q_proj\":true,\"apply_hils_rope\":true,"                     \
    "\"enable_inrange_rope\":true,\"rope_context_length\":8192"

/* The full size and the tiny one. */
static const struct bench_shape shapes[][2] = {
    [BENCH_345M] = {{"345 M, HiLS", "qwen_hils", 16, 1024, 4096, 16, 2, 64,
                     100278, (size_t)1 << 23, true,
                     HILS ",\"hils_sliding_window\":512,\"hils_topk\":32,"
                          "\"chunk_size\":64,\"lmk_q_lora_dim\":64"},
                    {"tiny, HiLS", "qwen_hils", 2, 32, 48, 4, 2, 8, 70, 4096,
                     true,
                     HILS ",\"hils_sliding_window\":16,\"hils_topk\":2,"
                          "\"chunk_size\":8,\"lmk_q_lora_dim\":4"}},
    [BENCH_345M_DENSE] = {{"345 M, dense", "qwen3", 16, 1024, 4096, 16, 2, 64,
                           100278, (size_t)1 << 23, true, ""},
                          {"tiny, dense", "qwen3", 2, 32, 48, 4, 2, 8, 70, 4096,
                           true, ""}},
    [BENCH_8B] = {{"Llama-3.1-8B", "llama", 32, 4096, 14336, 32, 8, 128, 128256,
                   (size_t)1 << 20, false, ",\"rope_theta\":500000"},
                  {"tiny Llama", "llama", 2, 32, 48, 4, 2, 8, 70, 4096, false,
                   ""}},
    [BENCH_8B_LAYER] = {{"one layer of Llama-3.1-8B, 1024 ids", "llama", 1,
                         4096, 14336, 32, 8, 128, 1024, (size_t)1 << 23, false,
                         ",\"rope_theta\":500000"},
                        {"one layer of tiny Llama", "llama", 1, 32, 48, 4, 2, 8,
                         70, 4096, false, ""}},
    [BENCH_STAR] = {{"TinyLlama-1.1B, STAR", "llama", 22, 2048, 5632, 32, 4, 64,
                     32000, (size_t)1 << 17, false,
                     ",\"lectern_attention\":{\"kind\":\"star\",\"chunk\":65,"
                     "\"top_k\":8}"},
                    {"tiny, STAR", "llama", 2, 32, 48, 4, 2, 8, 70, 4096, false,
                     ",\"lectern_attention\":{\"kind\":\"star\",\"chunk\":9,"
                     "\"top_k\":2}"}},
    [BENCH_HICI] = {{"LLaMA-2-7B, 4 layers, HiCI", "llama", 4, 4096, 11008, 32,
                     32, 128, 32000, (size_t)1 << 17, false,
                     ",\"lectern_attention\":{\"kind\":\"hici\","
                     "\"segment\":1024,\"heads\":8}"},
                    {"tiny, HiCI", "llama", 2, 64, 48, 4, 4, 16, 70, 4096,
                     false,
                     ",\"lectern_attention\":{\"kind\":\"hici\","
                     "\"segment\":16,\"heads\":2}"}},
    [BENCH_HICI_DENSE] = {{"LLaMA-2-7B, 4 layers, dense", "llama", 4, 4096,
                           11008, 32, 32, 128, 32000, (size_t)1 << 17, false,
                           ""},
                          {"tiny, dense", "llama", 2, 64, 48, 4, 4, 16, 70,
                           4096, false, ""}},
    [BENCH_HICI_WHOLE] = {{"LLaMA-2-7B", "llama", 32, 4096, 11008, 32, 32, 128,
                           32000, (size_t)1 << 17, false, ""},
                          {"tiny, dense", "llama", 2, 64, 48, 4, 4, 16, 70,
                           4096, false, ""}},
    [BENCH_22M] = {{"MiniLM-L6, 22 M", "bert", 6, 384, 1536, 12, 12, 32, 30522,
                    512, false, ""},
                   {"tiny BERT", "bert", 2, 32, 48, 4, 4, 8, 70, 64, false,
                    ""}},
};

struct bench_shape bench_shape(const struct bench *b, enum bench_kind kind)
{
    return shapes[kind][b->tiny];
}

/* ---- What they cost ---- */

/* Weights of the layers' products. */
static double layer_weights(const struct bench_shape *s)
{
    double width = (double)s->width, q = (double)(s->heads * s->head),
           kv = (double)(s->key_heads * s->head);
    double inner = (strcmp(s->family, "bert") ? 3 : 2) * (double)s->inner;
    return (double)s->layers * width * (2 * q + 2 * kv + inner);
}

double bench_weight_bytes(const struct bench_shape *s)
{
    return 2 * (layer_weights(s) + (double)(s->width * s->ids));
}

/* Summaries of models made for HiLS, of others means. */
double bench_chunk_bytes(const struct bench_shape *s, int kept)
{
    bool hils = !strcmp(s->family, "qwen_hils");
    return 4 * (double)(hils ? kernel_summary_floats(kept, s->heads, s->head) +
                                   s->heads
                             : kernel_means_floats(s->key_heads, CACHE_MEANS,
                                                   s->head));
}

double bench_step_bytes(const struct bench_shape *s, int kept, size_t n,
                        size_t chosen, size_t chunk)
{
    size_t read = chosen && chosen < n ? chosen : n;
    double bytes = bench_slot_bytes(kept, s->key_heads, s->head) * (double)read;
    if (chosen)
        bytes += (double)(n / chunk) * bench_chunk_bytes(s, kept);
    return bench_weight_bytes(s) + (double)s->layers * bytes;
}

double bench_token_operations(const struct bench_shape *s)
{
    return 2 * layer_weights(s);
}

/* ---- Opening ---- */

static void write_config(const struct bench_shape *s, struct buf *ret)
{
    buf_printf(ret,
               "{\"model_type\":\"%s\",\"hidden_size\":%zu,"
               "\"intermediate_size\":%zu,\"num_hidden_layers\":%zu,"
               "\"num_attention_heads\":%zu,\"num_key_value_heads\":%zu,"
               "\"head_dim\":%zu,\"vocab_size\":%zu,"
               "\"max_position_embeddings\":%zu,\"tie_word_embeddings\":%s%s}",
               s->family, s->width, s->inner, s->layers, s->heads, s->key_heads,
               s->head, s->ids, s->context, s->tied ? "true" : "false",
               s->more);
}

int bench_model(struct bench *b, const struct bench_shape *shape, bool exact,
                bool check, struct model **ret, struct err *err)
{
    struct model_options options = {.kernels = &b->table,
                                    .no_tokenizer = true,
                                    .exact = exact,
                                    .check = check};
    char folder[] = "/tmp/gpu-bench-XXXXXX";
    struct buf text = {0}, path = {0};
    if (!mkdtemp(folder))
        return err_set(err, ERR_IO, "no folder %s", folder);
    file_join(&path, folder, "config.json");
    write_config(shape, &text);
    bench_weights_absent = check;
    int code = file_write(path.data, buf_slice(&text), err);
    if (!code)
        code = model_open(folder, &options, ret, err);
    unlink(path.data);
    rmdir(folder);
    buf_free(&text);
    buf_free(&path);
    return code;
}

bool bench_open(struct bench *b, enum bench_kind kind, bool exact,
                const char *what, struct model **ret)
{
    enum { MORE = 256 << 20 };
    struct bench_shape shape = bench_shape(b, kind);
    struct err err = {0};
    struct model *look;
    int code = bench_model(b, &shape, exact, true, &look, &err);
    if (!code) {
        const struct model_facts *facts = model_facts(look);
        double needed = (double)facts->weight_bytes +
                        (double)facts->work_bytes + (b->tiny ? 0 : MORE);
        model_close(look);
        if (!bench_fits(b, what, shape.name, needed))
            return false;
        code = bench_model(b, &shape, exact, false, ret, &err);
    }
    if (code)
        bench_leave_out(b, what, shape.name, "%s", err.message);
    return !code;
}

int32_t *bench_ids(const struct model *model, size_t count)
{
    uint64_t state = 3;
    int32_t *ids = mem_alloc((count ? count : 1) * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ids[i] = (int32_t)((state >> 33) % model_facts(model)->vocabulary);
    }
    return ids;
}

int bench_read(struct session *session, const int32_t *ids, size_t count,
               struct err *err)
{
    int32_t id;
    double logprob;
    int code = session_prefill(session, ids, count, NULL, NULL, err);
    return code ? code : session_choose(session, &id, &logprob, err);
}

/* ---- A session that has read much ---- */

/* While a context is filled nothing is computed: keys, values and what summaries
 * are made of are random numbers.  What is left is that they go where they
 * belong, and the summaries. */
static struct {
    const struct kernels *device;
    float *numbers; /* [count] on the device */
    size_t count, turn;
} filling;

/* `count` of them, others each time; NULL: there are not so many. */
static const float *some_numbers(size_t count)
{
    enum { STEP = 4099 };
    if (count > filling.count)
        return NULL;
    return filling.numbers +
           filling.turn++ * STEP % (filling.count - count + 1);
}

static int keep_numbers(struct kernel_run *run,
                        const struct kernel_heads *heads, size_t count,
                        const float *angles, const struct kernel_places *places,
                        size_t place_count, size_t slots, int type, size_t m,
                        size_t d)
{
    int code = KERNEL_OK;
    (void)angles, (void)m;
    for (size_t i = 0; i < count * place_count && !code; i++) {
        const struct kernel_heads *z = &heads[i / place_count];
        const struct kernel_places *p = &places[i % place_count];
        const float *x = some_numbers(p->rows * z->h * d);
        if (z->kept && p->pages)
            code =
                x ? filling.device->kv_write(run, p->pages, z->at, slots, type,
                                             x, p->first, p->rows, z->h, d)
                  : KERNEL_UNSUPPORTED;
    }
    return code;
}

static int proxies_of_numbers(struct kernel_run *run,
                              const struct kernel_summaries *summaries,
                              const struct kernel_proxies *proxies,
                              size_t first, size_t chunks, size_t hq, size_t d)
{
    struct kernel_proxies of = {some_numbers(chunks * hq * d), hq * d, NULL, 0};
    (void)proxies;
    return of.x ? filling.device->chunk_proxies(run, summaries, &of, first,
                                                chunks, hq, d)
                : KERNEL_UNSUPPORTED;
}

/* Logits. */
static int copy_numbers(struct kernel_run *run, void *to, const void *from,
                        size_t bytes)
{
    from = some_numbers(bytes / sizeof(float));
    return from ? filling.device->copy(run, to, from, bytes)
                : KERNEL_UNSUPPORTED;
}

static int no_matmul(struct kernel_run *run, float *out, const float *a,
                     const struct kernel_weight *w, size_t m, bool add)
{
    (void)run, (void)out, (void)a, (void)w, (void)m, (void)add;
    return KERNEL_OK;
}
static int no_matmuls(struct kernel_run *run,
                      const struct kernel_product *products, size_t count,
                      const struct kernel_rows *a, size_t m)
{
    (void)run, (void)products, (void)count, (void)a, (void)m;
    return KERNEL_OK;
}

static int no_gated(struct kernel_run *run, const struct kernel_gate *gate,
                    const struct kernel_rows *a, size_t m)
{
    (void)run, (void)gate, (void)a, (void)m;
    return KERNEL_OK;
}

static int no_feed(struct kernel_run *run, const struct kernel_feed *feed,
                   const struct kernel_rows *a, size_t m)
{
    (void)run, (void)feed, (void)a, (void)m;
    return KERNEL_OK;
}

static int no_gather(struct kernel_run *run, float *out,
                     const struct kernel_weight *w, const int32_t *host_row,
                     size_t m)
{
    (void)run, (void)out, (void)w, (void)host_row, (void)m;
    return KERNEL_OK;
}

static int no_norm(struct kernel_run *run, float *out, const float *x,
                   const float *weight, size_t m, size_t d, float eps)
{
    (void)run, (void)out, (void)x, (void)weight, (void)m, (void)d, (void)eps;
    return KERNEL_OK;
}

static int no_attention(struct kernel_run *run, float *out, const float *q,
                        const struct kernel_pages *pages, size_t m, size_t n,
                        size_t hq, size_t hkv, size_t d, size_t window)
{
    (void)run, (void)out, (void)q, (void)pages, (void)m, (void)n;
    (void)hq, (void)hkv, (void)d, (void)window;
    return KERNEL_OK;
}

static int no_choice(struct kernel_run *run, int32_t *chosen, const float *q,
                     const float *qhat, const struct kernel_pages *pages,
                     const struct kernel_summaries *summaries,
                     const int32_t *position, const int32_t *landmark,
                     const struct kernel_hils *sizes)
{
    (void)run, (void)chosen, (void)q, (void)qhat, (void)pages;
    (void)summaries, (void)position, (void)landmark, (void)sizes;
    return KERNEL_OK;
}

static int no_hils(struct kernel_run *run, float *out, const float *q,
                   const float *qhat, const struct kernel_pages *pages,
                   const struct kernel_summaries *summaries,
                   const int32_t *position, const int32_t *landmark,
                   const int32_t *chosen, const struct kernel_hils *sizes)
{
    (void)run, (void)out, (void)q, (void)qhat, (void)pages, (void)chosen;
    (void)summaries, (void)position, (void)landmark, (void)sizes;
    return KERNEL_OK;
}

int bench_fill(struct bench *b, struct model *model, struct session *session,
               size_t length, struct err *err)
{
    size_t count = length - session_length(session);
    int32_t *ids = bench_ids(model, count);
    filling.device = b->device;
    filling.count = bench_size(b, (size_t)1 << 23, 1 << 16);
    filling.numbers = bench_numbers(b, filling.count);
    b->table.chunk_proxies = proxies_of_numbers;
    b->table.copy = copy_numbers;
    b->table.matmul = no_matmul;
    b->table.matmuls = no_matmuls;
    b->table.matmul_gated = no_gated;
    b->table.feed_forward = no_feed;
    b->table.gather = no_gather;
    b->table.rms_norm = no_norm;
    b->table.heads = keep_numbers;
    b->table.attention = no_attention;
    b->table.hils_choose = no_choice;
    b->table.hils_attention = no_hils;
    int code = session_prefill(session, ids, count, NULL, NULL, err);
    b->table = *b->device;
    session_logits(session); /* waits */
    b->device->release(&b->run, filling.numbers);
    free(ids);
    return code;
}
