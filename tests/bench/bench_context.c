/* What it costs and saves that a model made for full attention chooses what it reads
 * (`hils = exact`), on real text:
 *
 *     context perplexity MODEL TEXT [kv=int8] [@FOLDER] [:ROWS] [WAY...] TOKENS...
 *     context speed MODEL TOKENS THREADS [PIECE]
 *
 * perplexity: of the last 1,024 of so many tokens (ascending multiples of 128).  All
 * before are read with full attention, once; then the last ones anew for each way, so
 * that ways are compared on the same keys and values.  A line of JSON each.  Ways are
 * those of long_texts.h, and
 *     int8, int4, int8/int4
 *               all is read, of keys and values rounded to 8 or 4 bits by groups of 32;
 *               keys to 8, values to 4
 *     read=N    as exact=N, but all before was read so, too
 * With kv=int8 keys and values have eight bits in memory.  What was read is kept in
 * FOLDER, and rows in the file ROWS, from where another run goes on.
 * speed: milliseconds of a token behind so many whose keys and values are random, ways
 *     by turns, with keys and values of f32 and of eight bits, the least of 8; or of so
 *     many tokens as one piece, once */
#include "model/inference/forward.h"
#include "tests/bench/long_texts.h"

enum { LAST = 1024, TURNS = 8 }; /* tokens; of each way */

/* ---- Perplexity ---- */

/* Mean over the tokens behind each of those read. */
static double loss_of(struct session *s, const int32_t *ids)
{
    struct err err = {.position = -1};
    size_t vocabulary = model_facts(model)->vocabulary;
    float *logits = mem_alloc(PIECE * vocabulary * sizeof *logits);
    double sum = 0;
    for (size_t at = 0; at < LAST; at += PIECE) {
        must(session_prefill(s, ids + at, PIECE, NULL, logits, &err), &err);
        for (size_t i = 0; i < PIECE && at + i + 1 < LAST; i++)
            sum +=
                log_loss(logits + i * vocabulary, vocabulary, ids[at + i + 1]);
    }
    free(logits);
    return sum / (LAST - 1);
}

/* x [count] in groups of 32 as integers of at most `most`, the group's largest. */
static void round_floats(float *x, size_t count, float most)
{
    enum { GROUP = 32 };
    for (size_t i = 0; i < count; i += GROUP) {
        float largest = 0;
        for (size_t j = i; j < i + GROUP; j++)
            largest = fmaxf(largest, fabsf(x[j]));
        float scale = largest > 0 ? largest / most : 1;
        for (size_t j = i; j < i + GROUP; j++)
            x[j] = scale * roundf(x[j] / scale);
    }
}

/* Keys and values of a page. */
static void round_page(float *page, float keys, float values)
{
    const struct model_config *c = &model->config;
    size_t part = PAGE * c->key_heads * c->head;
    for (size_t layer = 0; layer < c->layers; layer++) {
        round_floats(page + model->pages.at[layer], part, keys);
        round_floats(page + model->pages.at[layer] + part, part, values);
    }
}

/* What the base has read up to `count` tokens, rounded as `way` says. */
static struct session *round_pages(struct session *base, const int32_t *ids,
                                   size_t count, const char *way)
{
    struct err err = {.position = -1};
    struct session_exact all = {.all = true};
    struct session *s = open_session(&all);
    float *page = mem_alloc(session_page_bytes(base));
    float keys = strcmp(way, "int4") ? 127 : 7;
    float values = strcmp(way, "int8") ? 7 : 127;
    for (size_t at = 0; at + PAGE <= count; at += PAGE) {
        must(session_export(base, at, PAGE, page, &err), &err);
        round_page(page, keys, values);
        must(session_import(s, ids + at, PAGE, page, &err), &err);
    }
    free(page);
    return s;
}

static bool is_rounded(const char *way)
{
    return !strncmp(way, "int", 3);
}

struct perplexity {
    struct ids ids;
    struct reading full, chosen; /* the latter of `read=N` */
    const char **ways;
    int count;
};

/* What the way goes on from, of `before` tokens; the caller closes it. */
static struct session *state_for(struct perplexity *p, const char *way,
                                 size_t before)
{
    if (strncmp(way, "read=", 5) != 0) {
        read_to(&p->full, before);
        return is_rounded(way)
                   ? round_pages(p->full.s, p->ids.items, before, way)
                   : fork_session(p->full.s, before);
    }
    if (!p->chosen.s) {
        struct session_exact how = session_exact_of(strtoul(way + 5, NULL, 10));
        how.rerank = SESSION_RERANKED;
        p->chosen = begin_reading(&how, p->ids.items);
    }
    read_to(&p->chosen, before);
    return fork_session(p->chosen.s, before);
}

/* The loss of the last tokens, of which a row is printed or was before. */
static void measure(struct perplexity *p, size_t tokens, const char *way)
{
    char begin[128], rest[128];
    snprintf(begin, sizeof begin,
             "{\"tokens\": %zu, \"way\": \"%s\", \"perplexity\": ", tokens,
             way);
    if (row_behind(begin))
        return;
    struct session *s = state_for(p, way, tokens - LAST);
    if (strncmp(way, "read=", 5) != 0) {
        struct session_exact how = way_of(is_rounded(way) ? "full" : way);
        session_exact_change(s, &how);
    }
    double start = clock_seconds();
    double loss = loss_of(s, p->ids.items + tokens - LAST);
    snprintf(rest, sizeof rest, "%.5f, \"seconds\": %.1f}", exp(loss),
             clock_seconds() - start);
    put_row(begin, rest);
    session_close(s);
}

static void measure_all(struct perplexity *p, size_t tokens)
{
    static const char *const usual[] = {
        "full",       "exact=512",   "exact=1024", "exact=2048",
        "exact=4096", "window=2048", "window=512", "int8"};
    enum { USUALLY = sizeof usual / sizeof usual[0] };
    if (tokens > p->ids.count || tokens % PIECE || tokens <= LAST)
        exit(2);
    for (int w = 0; w < (p->count ? p->count : USUALLY); w++)
        measure(p, tokens, p->count ? p->ways[w] : usual[w]);
}

static int perplexity(int argc, char **argv)
{
    struct session_exact all = {.all = true};
    struct perplexity p = {0};
    bool int8 = argc > 2 && !strcmp(argv[2], "kv=int8");
    struct pool *pool = open_pool(0);
    open_model_with(argv[0], pool, int8);
    p.ids = file_ids(argv[1]);
    p.full = begin_reading(&all, p.ids.items);
    p.ways = mem_alloc((size_t)argc * sizeof *p.ways);
    for (int i = 2; i < argc; i++) {
        char *end;
        size_t tokens = strtoul(argv[i], &end, 10);
        if (argv[i][0] == '@')
            keep_in(argv[i] + 1);
        else if (argv[i][0] == ':')
            go_on_with(argv[i] + 1);
        else if (!strcmp(argv[i], "kv=int8"))
            continue;
        else if (*end)
            p.ways[p.count++] = argv[i];
        else
            measure_all(&p, tokens);
    }
    end_reading(&p.full);
    if (p.chosen.s)
        end_reading(&p.chosen);
    ids_free(&p.ids);
    free(p.ways);
    model_close(model);
    pool_free(pool);
    return 0;
}

/* ---- Speed ---- */

static void fill(struct session *s, size_t tokens)
{
    struct err err = {.position = -1};
    int32_t ids[PAGE] = {0};
    size_t floats = session_page_bytes(s) / sizeof(float);
    float *page = mem_alloc(floats * sizeof *page);
    uint64_t state = 1;
    while (session_length(s) < tokens) {
        for (size_t i = 0; i < floats; i++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            page[i] = (float)(state >> 40) / (1 << 23) - 1;
        }
        must(session_import(s, ids, PAGE, page, &err), &err);
    }
    free(page);
}

/* Seconds of a token of two, behind one more; or of so many as one piece. */
static double step(struct session *s, size_t tokens, size_t piece)
{
    enum { STEPS = 2 };
    struct err err = {.position = -1};
    int32_t *ids = mem_alloc(piece * sizeof *ids);
    for (size_t i = 0; i < piece; i++)
        ids[i] = (int32_t)(1000 + i * 37 % 5000);
    session_rewind(s, tokens);
    if (piece == 1)
        must(session_prefill(s, ids, 1, NULL, NULL, &err), &err);
    int count = piece == 1 ? STEPS : 1;
    double start = clock_seconds();
    for (int i = 0; i < count; i++)
        must(session_prefill(s, ids, piece, NULL, NULL, &err), &err);
    free(ids);
    return (clock_seconds() - start) / count;
}

/* A session of `tokens` on the model whose keys and values are of one type. */
struct timed {
    struct model *model;
    const char *way, *type;
    struct session *s;
    double least;
};

enum { TIMED_WAYS = 4, TIMED = 2 * TIMED_WAYS };

static void open_timed(const char *path, struct pool *pool, bool int8,
                       size_t tokens, struct timed *ret)
{
    static const char *const ways[TIMED_WAYS] = {"full", "exact=2560",
                                                 "means=2560", "keys=2560"};
    struct session_exact all = {.all = true};
    open_model_with(path, pool, int8);
    struct session *base = open_session(&all);
    fill(base, tokens);
    for (size_t w = 0; w < TIMED_WAYS; w++) {
        struct session_exact how = way_of(ways[w]);
        ret[w] = (struct timed){.model = model,
                                .way = ways[w],
                                .type = model_facts(model)->key_type,
                                .s = fork_session(base, tokens)};
        session_exact_change(ret[w].s, &how);
    }
    session_close(base);
}

static int speed(int argc, char **argv)
{
    struct timed timed[TIMED];
    size_t tokens = strtoul(argv[1], NULL, 10) / PAGE * PAGE;
    size_t piece = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    struct pool *pool = open_pool((unsigned)strtoul(argv[2], NULL, 10));
    open_timed(argv[0], pool, false, tokens, timed);
    open_timed(argv[0], pool, true, tokens, timed + TIMED_WAYS);
    for (int turn = 0; turn < (piece == 1 ? TURNS : 1); turn++)
        for (struct timed *t = timed; t < timed + TIMED; t++) {
            double got = step(t->s, tokens, piece);
            t->least = turn && t->least < got ? t->least : got;
        }
    for (struct timed *t = timed; t < timed + TIMED; t++) {
        printf("{\"tokens\": %zu, \"threads\": %s, \"piece\": %zu, "
               "\"way\": \"%s\", \"keys\": \"%s\", \"ms\": %.1f, "
               "\"times\": %.2f}\n",
               tokens, argv[2], piece, t->way, t->type, t->least * 1000,
               timed[0].least / t->least);
        session_close(t->s);
    }
    model_close(timed[0].model);
    model_close(timed[TIMED_WAYS].model);
    pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && !strcmp(argv[1], "perplexity"))
        return perplexity(argc - 2, argv + 2);
    if (argc > 4 && !strcmp(argv[1], "speed"))
        return speed(argc - 2, argv + 2);
    fprintf(stderr, "usage: context perplexity MODEL TEXT [kv=int8] [@FOLDER] "
                    "[:ROWS] [WAY...] TOKENS...\n"
                    "       context speed MODEL TOKENS THREADS [PIECE]\n");
    return 2;
}
