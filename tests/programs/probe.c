/* A model's parts on standard input and output, for scripts that compare them:
 *
 *   probe tokenize --model DIR [--time]
 *       a JSON string a line -> a JSON array of ids a line
 *   probe decode --model DIR [--skip-special]
 *       a JSON array of ids a line -> a JSON string a line
 *   probe write --model DIR --decode N
 *       a JSON array of ids a line -> one of the N or fewer that the model writes
 *       after them, choosing the likeliest; without the one that ends them
 *   probe logits --model DIR --ids 1,2,3 [--decode N] --out FILE
 *       tensor `logits` [ids, vocabulary]; the last N ids are fed one by one
 *   probe embed --model DIR --out FILE [--ids 1,2,3] [--recall FILE
 *   [--pooling mean|attention]]
 *       a JSON string a line, or these ids -> tensor `embedding` [lines, D]: as a
 *       leaf's segment; with FILE's tensor `embedding` [n, D] as that of a node
 *       whose children have these memories, by the policy of recall that takes
 *       them as they are, or their mean or what attention makes of them
 *
 * DIR may be a GGUF file; and for the last three [--device cpu|cuda] [--backend ref|cpu|cuda]
 * [--attention auto|full|hils|exact] [--threads N]: auto is the model's own, and
 * `full` and `hils` refuse a model with another.  Exit status: 0, or 2 and a message. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "model/model.h"

struct options {
    const char *model, *ids, *out, *backend, *attention, *decode, *threads;
    const char *recall, *pooling;
    long decoded, thread_count;
    bool time, skip_special;
};

static int usage(struct err *err, const char *what, const char *value)
{
    return err_set(err, ERR_USAGE, "%s %s", what, value);
}

/* `text` as a number from 0 on; 0 when it is absent. */
static int parse_number(const char *name, const char *text, long *ret,
                        struct err *err)
{
    char *end;
    errno = 0;
    long value = text ? strtol(text, &end, 10) : 0;
    if (text && (end == text || *end || errno || value < 0 || value > INT_MAX))
        return err_set(err, ERR_USAGE, "%s is not a number: %s", name, text);
    *ret = value;
    return 0;
}

static int parse_options(int count, char **words, struct options *o,
                         struct err *err)
{
    const struct {
        const char *name;
        const char **ret;
    } known[] = {
        {"--model", &o->model},
        {"--ids", &o->ids},
        {"--out", &o->out},
        {"--backend", &o->backend},
        {"--device", &o->backend},
        {"--decode", &o->decode},
        {"--attention", &o->attention},
        {"--threads", &o->threads},
        {"--recall", &o->recall},
        {"--pooling", &o->pooling},
    };
    enum { KNOWN = sizeof known / sizeof known[0] };
    for (int i = 0; i < count; i++) {
        size_t k = 0;
        bool time = !strcmp(words[i], "--time");
        if (time || !strcmp(words[i], "--skip-special")) {
            *(time ? &o->time : &o->skip_special) = true;
            continue;
        }
        while (k < KNOWN && strcmp(words[i], known[k].name) != 0)
            k++;
        if (k == KNOWN)
            return usage(err, "no such option:", words[i]);
        if (i + 1 == count)
            return usage(err, "a value is missing after", words[i]);
        *known[k].ret = words[++i];
    }
    if (!o->model)
        return usage(err, "--model is missing", "");
    int code = parse_number("--threads", o->threads, &o->thread_count, err);
    return code ? code : parse_number("--decode", o->decode, &o->decoded, err);
}

/* ---- JSON strings, with U+0000 and lone surrogates, which cJSON has not ---- */

static bool hex4(struct slice line, size_t at, uint32_t *ret)
{
    uint32_t value = 0;
    for (size_t i = at; i < at + 4; i++) {
        char c = i < line.size ? line.data[i] : '\0';
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return false;
        value = value * 16 + digit;
    }
    *ret = value;
    return true;
}

/* The escape at `at` (after the backslash); returns its bytes, 0: none. */
static size_t unescape(struct slice line, size_t at, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *simple = strchr(from, line.data[at]);
    uint32_t code, low;
    if (simple && *simple) {
        buf_put_byte(out, to[simple - from]);
        return 1;
    }
    if (line.data[at] != 'u' || !hex4(line, at + 1, &code))
        return 0;
    if (code >= 0xD800 && code < 0xDC00 && at + 6 < line.size &&
        line.data[at + 5] == '\\' && line.data[at + 6] == 'u' &&
        hex4(line, at + 7, &low) && low >= 0xDC00 && low < 0xE000) {
        text_encode(out, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
        return 11;
    }
    text_encode(out, code);
    return 5;
}

static int read_json_string(struct slice line, struct buf *out, struct err *err)
{
    size_t at = 1;
    while (line.size && text_space(line.data, line.size, line.size - 1))
        line.size--;
    if (line.size < 2 || line.data[0] != '"' || line.data[line.size - 1] != '"')
        return err_set(err, ERR_FORMAT, "a line is not a JSON string");
    line.size--;
    while (at < line.size) {
        if (line.data[at] != '\\') {
            buf_put_byte(out, line.data[at++]);
            continue;
        }
        size_t used = at + 1 < line.size ? unescape(line, at + 1, out) : 0;
        if (!used)
            return err_set(err, ERR_FORMAT, "a bad escape in a JSON string");
        at += 1 + used;
    }
    buf_put(out, "", 0);
    return 0;
}

typedef int each_line(void *context, struct slice text, struct err *err);

/* Calls each(context, line) for each line of standard input. */
static int for_lines(each_line *each, void *context, struct err *err)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    int code = 0;
    while (!code && (size = getline(&line, &capacity, stdin)) > 0)
        code = each(context, (struct slice){line, (size_t)size}, err);
    if (!code && ferror(stdin))
        code = err_errno(err, ERR_IO, "cannot read the input");
    free(line);
    return code;
}

struct strings {
    each_line *each;
    void *context;
    struct buf text;
};

static int read_line(void *context, struct slice line, struct err *err)
{
    struct strings *s = context;
    buf_clear(&s->text);
    int code = read_json_string(line, &s->text, err);
    return code ? code : s->each(s->context, buf_slice(&s->text), err);
}

/* The same for the JSON string of each line. */
static int for_strings(each_line *each, void *context, struct err *err)
{
    struct strings strings = {each, context, {0}};
    int code = for_lines(read_line, &strings, err);
    buf_free(&strings.text);
    return code;
}

/* ---- tokenize ---- */

struct tokenize {
    struct tokenizer *tokenizer;
    double seconds;
    size_t bytes;
};

static int tokenize_line(void *context, struct slice text, struct err *err)
{
    struct tokenize *t = context;
    struct ids ids = {0};
    double start = clock_seconds();
    int code = tokenizer_encode(t->tokenizer, text, true, &ids, err);
    t->seconds += clock_seconds() - start;
    t->bytes += text.size;
    for (size_t i = 0; !code && i < ids.count; i++)
        printf("%s%d", i ? "," : "[", (int)ids.items[i]);
    if (!code)
        puts(ids.count ? "]" : "[]");
    ids_free(&ids);
    return code;
}

static int open_tokenizer(const struct options *o, struct tokenizer **ret,
                          struct err *err)
{
    struct buf path = {0};
    struct gguf *gguf = NULL;
    int code;
    if (gguf_is_path(o->model)) {
        code = gguf_open(o->model, &gguf, err);
        code = code ? code : tokenizer_of_gguf(gguf, ret, err);
        gguf_close(gguf);
        return code;
    }
    file_join(&path, o->model, "tokenizer.json");
    code = tokenizer_open(path.data, ret, err);
    buf_free(&path);
    return code;
}

static int tokenize(const struct options *o, struct err *err)
{
    struct tokenize t = {0};
    double start = clock_seconds();
    int code = open_tokenizer(o, &t.tokenizer, err);
    double loaded = clock_seconds() - start;
    if (code)
        return code;
    code = for_strings(tokenize_line, &t, err);
    if (o->time)
        fprintf(stderr, "loaded in %.3f s; %zu bytes in %.3f s, %.2f MB/s\n",
                loaded, t.bytes, t.seconds, (double)t.bytes / 1e6 / t.seconds);
    tokenizer_close(t.tokenizer);
    return code;
}

/* ---- decode ---- */

struct decode {
    struct tokenizer *tokenizer;
    bool special;
};

/* "[1,2,3]" */
static int read_ids(struct slice line, struct ids *ids, struct err *err)
{
    const char *at = line.data, *end = line.data + line.size;
    while (at < end && *at != ']') {
        char *after;
        errno = 0;
        long id = strtol(at + 1, &after, 10);
        if (after == at + 1 && *after == ']' && !ids->count)
            return 0;
        if ((*at != '[' && *at != ',') || after == at + 1 || errno || id < 0 ||
            id > INT_MAX)
            return err_set(err, ERR_FORMAT, "a line is not an array of ids");
        ids_put(ids, (int32_t)id);
        at = after;
    }
    return 0;
}

static int decode_line(void *context, struct slice line, struct err *err)
{
    const struct decode *d = context;
    struct ids ids = {0};
    struct buf text = {0}, out = {0};
    struct json json = json_to(&out);
    int code = read_ids(line, &ids, err);
    if (!code) {
        tokenizer_decode(d->tokenizer, ids.items, ids.count, d->special, &text);
        json_string(&json, buf_slice(&text));
        puts(out.data);
    }
    ids_free(&ids);
    buf_free(&text);
    buf_free(&out);
    return code;
}

static int decode(const struct options *o, struct err *err)
{
    struct decode d = {.special = !o->skip_special};
    int code = open_tokenizer(o, &d.tokenizer, err);
    if (code)
        return code;
    code = for_lines(decode_line, &d, err);
    tokenizer_close(d.tokenizer);
    return code;
}

/* ---- What runs the model ---- */

struct engine {
    struct pool *pool;
    struct model *model;
};

static const struct kernels *backend(const char *name, const char **ret_reason)
{
    *ret_reason = "no such backend";
    if (!name || !strcmp(name, "cpu"))
        return kernels_cpu();
    if (!strcmp(name, "ref"))
        return kernels_ref();
    return strcmp(name, "cuda") ? NULL : kernels_cuda(ret_reason);
}

static int engine_open(struct engine *e, const struct options *o,
                       bool no_tokenizer, struct err *err)
{
    const char *reason;
    struct model_options options = {.kernels = backend(o->backend, &reason),
                                    .no_tokenizer = no_tokenizer,
                                    .exact = o->attention &&
                                             !strcmp(o->attention, "exact")};
    if (!options.kernels)
        return err_set(err, ERR_USAGE, "%s: %s", o->backend, reason);
    int code = pool_new((unsigned)o->thread_count, &e->pool, err);
    if (code)
        return code;
    options.pool =
        (struct kernel_pool){e->pool, pool_parallel_for, pool_threads(e->pool)};
    return model_open(o->model, &options, &e->model, err);
}

static void engine_close(struct engine *e)
{
    model_close(e->model);
    pool_free(e->pool);
}

static int write_rows(const char *path, const char *name, const float *data,
                      size_t rows, size_t columns, struct err *err)
{
    struct tensor tensor = {
        .name = slice_of(name),
        .type = TENSOR_F32,
        .rank = 2,
        .shape = {rows, columns},
        .data = data,
        .bytes = rows * columns * sizeof *data,
    };
    return safetensors_write(path, &tensor, 1, NULL, err);
}

/* ---- logits ---- */

static int parse_ids(const char *text, struct ids *ids, struct err *err)
{
    while (text && *text) {
        char *end;
        errno = 0;
        long id = strtol(text, &end, 10);
        if (end == text || errno || id < 0 || id > INT_MAX ||
            (*end && *end != ','))
            return usage(err, "not ids:", text);
        ids_put(ids, (int32_t)id);
        text = *end ? end + 1 : end;
    }
    return ids->count ? 0 : usage(err, "--ids is missing", "");
}

static int open_session(struct model *model, const char *attention,
                        struct session **ret, struct err *err)
{
    const struct session_exact usual = {0};
    bool own = !attention || !strcmp(attention, "auto");
    if (!own && !strcmp(attention, "exact"))
        return session_open_exact(model, &usual, ret, err);
    if (!own && strcmp(attention, model_facts(model)->attention) != 0)
        return usage(err, "this model cannot do --attention", attention);
    return session_open(model, ret, err);
}

static int run_ids(struct model *model, const char *attention,
                   const struct ids *ids, size_t decode, float *logits,
                   struct err *err)
{
    size_t vocabulary = model_facts(model)->vocabulary;
    size_t from = ids->count - (decode < ids->count ? decode : ids->count);
    struct session *session;
    int code = open_session(model, attention, &session, err);
    if (code)
        return code;
    code = session_prefill(session, ids->items, from, NULL, logits, err);
    for (size_t i = from; i < ids->count && !code; i++)
        code = session_prefill(session, &ids->items[i], 1, NULL,
                               logits + i * vocabulary, err);
    session_close(session);
    return code;
}

static int logits(const struct options *o, struct err *err)
{
    struct engine e = {0};
    struct ids ids = {0};
    float *rows = NULL;
    int code = o->out ? parse_ids(o->ids, &ids, err)
                      : usage(err, "--out is missing", "");
    if (!code)
        code = engine_open(&e, o, true, err);
    if (!code) {
        size_t vocabulary = model_facts(e.model)->vocabulary;
        rows = mem_resize(NULL, ids.count, vocabulary * sizeof *rows);
        code =
            run_ids(e.model, o->attention, &ids, (size_t)o->decoded, rows, err);
        if (!code)
            code =
                write_rows(o->out, "logits", rows, ids.count, vocabulary, err);
    }
    free(rows);
    ids_free(&ids);
    engine_close(&e);
    return code;
}

/* ---- write ---- */

enum { PIECE = 2048 /* tokens of a prompt that are read in one pass */ };

struct writer {
    struct model *model;
    const char *attention;
    size_t max;
    struct ids written;
};

static bool take_id(void *context, int32_t id, double logprob)
{
    (void)logprob;
    ids_put(context, id);
    return true;
}

static int write_after(struct writer *w, const struct ids *ids, struct err *err)
{
    struct generate_options options = {.max = w->max};
    struct session *session;
    size_t count;
    int code = open_session(w->model, w->attention, &session, err);
    if (code)
        return code;
    for (size_t i = 0; i < ids->count && !code; i += PIECE) {
        size_t left = ids->count - i;
        code = session_prefill(session, ids->items + i,
                               left < PIECE ? left : PIECE, NULL, NULL, err);
    }
    if (!code)
        code = session_generate(session, &options, take_id, &w->written, &count,
                                err);
    session_close(session);
    return code;
}

static int write_line(void *context, struct slice line, struct err *err)
{
    struct writer *w = context;
    struct ids ids = {0};
    w->written.count = 0;
    int code = read_ids(line, &ids, err);
    if (!code)
        code = write_after(w, &ids, err);
    for (size_t i = 0; i < w->written.count && !code; i++)
        printf("%c%d", i ? ',' : '[', w->written.items[i]);
    if (!code)
        puts(w->written.count ? "]" : "[]");
    ids_free(&ids);
    return code;
}

static int write_all(const struct options *o, struct err *err)
{
    struct engine e = {0};
    struct writer w = {.attention = o->attention, .max = (size_t)o->decoded};
    int code = engine_open(&e, o, true, err);
    w.model = e.model;
    if (!code)
        code = for_lines(write_line, &w, err);
    ids_free(&w.written);
    engine_close(&e);
    return code;
}

/* ---- embed ---- */

enum { ASKING = 128 /* tokens of a segment that ask for what it recalls */ };

struct embed {
    struct model *model;
    float *rows; /* [count, width] */
    size_t count, capacity;
    float *memories; /* [memory_count, width] to recall from; NULL: none */
    size_t memory_count;
};

/* What the segment recalls: [width], to be freed. */
static int recall(const struct embed *embed, const struct ids *ids, float **ret,
                  struct err *err)
{
    size_t width = model_facts(embed->model)->width;
    struct embed_input asking = {.ids = ids->items,
                                 .count =
                                     ids->count < ASKING ? ids->count : ASKING,
                                 .soft = model_mem(embed->model)};
    float *query = mem_alloc(width * sizeof *query);
    float *recalled = mem_alloc(width * sizeof *recalled);
    int code = model_embed(embed->model, &asking, 1, NULL, query, err);
    if (!code)
        code = model_recall(embed->model, query, embed->memories,
                            embed->memory_count, recalled, err);
    free(query);
    if (code)
        free(recalled);
    else
        *ret = recalled;
    return code;
}

static int embed_ids(struct embed *embed, const struct ids *ids,
                     struct err *err)
{
    size_t width = model_facts(embed->model)->width;
    struct embed_input input = {.ids = ids->items,
                                .count = ids->count,
                                .soft = model_mem0(embed->model)};
    float *recalled = NULL;
    int code = embed->memories ? recall(embed, ids, &recalled, err) : 0;
    if (code)
        return code;
    if (recalled)
        input.soft = recalled;
    embed->rows = mem_reserve(embed->rows, &embed->capacity, embed->count + 1,
                              width * sizeof *embed->rows);
    code = model_embed(embed->model, &input, 1, NULL,
                       embed->rows + embed->count++ * width, err);
    free(recalled);
    return code;
}

/* Between two soft tokens, or whole with the special tokens of a model that was
 * not made for memories. */
static int embed_line(void *context, struct slice text, struct err *err)
{
    struct embed *embed = context;
    struct ids ids = {0};
    int code = tokenizer_encode(model_tokenizer(embed->model), text,
                                !model_mem0(embed->model), &ids, err);
    if (!code)
        code = embed_ids(embed, &ids, err);
    ids_free(&ids);
    return code;
}

/* The memories to recall from: the file's, or the one that pooling makes of
 * them. */
static int read_memories(struct embed *embed, const struct options *o,
                         struct err *err)
{
    struct safetensors *file;
    size_t width = model_facts(embed->model)->width;
    if (!o->recall)
        return 0;
    int code = safetensors_open(o->recall, &file, err);
    if (code)
        return code;
    const struct tensor *tensor = safetensors_find(file, "embedding");
    if (!tensor || tensor->type != TENSOR_F32 || tensor->rank != 2 ||
        tensor->shape[1] != width || !tensor->shape[0])
        code = usage(err, "no memories of this model in", o->recall);
    if (!code) {
        embed->memory_count = tensor->shape[0];
        embed->memories =
            memcpy(mem_alloc(tensor->bytes), tensor->data, tensor->bytes);
    }
    if (!code && o->pooling) {
        bool mean = !strcmp(o->pooling, "mean");
        float *pooled = mem_alloc(width * sizeof *pooled);
        code =
            mean || !strcmp(o->pooling, "attention")
                ? model_pool(embed->model, mean ? POOL_MEAN : POOL_ATTENTION,
                             embed->memories, embed->memory_count, pooled, err)
                : usage(err, "no such pooling:", o->pooling);
        free(embed->memories);
        embed->memories = pooled;
        embed->memory_count = 1;
    }
    safetensors_close(file);
    return code;
}

static int embed_all(struct embed *embed, const struct options *o,
                     struct err *err)
{
    struct ids ids = {0};
    int code = read_memories(embed, o, err);
    if (!code && o->ids)
        code = parse_ids(o->ids, &ids, err);
    if (!code)
        code = o->ids ? embed_ids(embed, &ids, err)
                      : for_strings(embed_line, embed, err);
    ids_free(&ids);
    return code;
}

static int embed(const struct options *o, struct err *err)
{
    struct engine e = {0};
    struct embed embed = {0};
    int code = o->out ? 0 : usage(err, "--out is missing", "");
    if (!code)
        code = engine_open(&e, o, o->ids, err);
    if (!code && !o->ids && !model_tokenizer(e.model))
        code = usage(err, "no tokenizer.json in", o->model);
    if (!code) {
        embed.model = e.model;
        code = embed_all(&embed, o, err);
    }
    if (!code)
        code = write_rows(o->out, "embedding", embed.rows, embed.count,
                          model_facts(e.model)->width, err);
    free(embed.rows);
    free(embed.memories);
    engine_close(&e);
    return code;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const struct options *o, struct err *err);
    } commands[] = {{"tokenize", tokenize},
                    {"decode", decode},
                    {"write", write_all},
                    {"logits", logits},
                    {"embed", embed}};
    struct options options = {0};
    struct err err = {0};
    int code = usage(&err, "probe",
                     "tokenize|decode|write|logits|embed --model DIR ...");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (argc < 2 || strcmp(argv[1], commands[i].name) != 0)
            continue;
        code = parse_options(argc - 2, argv + 2, &options, &err);
        if (!code)
            code = commands[i].run(&options, &err);
    }
    if (!code && (fflush(stdout) || ferror(stdout)))
        code = err_errno(&err, ERR_IO, "cannot write the output");
    bool named = !err.path[0] || strstr(err.message, err.path);
    if (code)
        fprintf(stderr, "probe: %s%s%s\n", named ? "" : err.path,
                named ? "" : ": ", err.message);
    return code ? 2 : 0;
}
