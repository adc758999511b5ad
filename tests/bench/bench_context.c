/* What it costs and saves that a model made for full attention chooses what it reads
 * (`hils = exact`), on real text:
 *
 *     context perplexity MODEL TEXT [@FOLDER] [:ROWS] [WAY...] TOKENS...
 *     context speed MODEL TOKENS THREADS [PIECE]
 *
 * perplexity: of the last 1,024 of so many tokens (ascending multiples of 128).  All
 * before are read with full attention, once; then the last ones anew for each way, so
 * that ways are compared on the same keys and values.  A line of JSON each.  Ways are
 * those of long_texts.h, and
 *     int8      all is read, of what lay in files as 8 bits by groups of 32
 *     read=N    as exact=N, but all before was read so, too
 * What was read is kept in FOLDER, and rows in the file ROWS, from where another run
 * goes on.
 * speed: milliseconds of a token behind so many whose keys and values are random, ways
 *     by turns, the least of 8; or of so many tokens as one piece, once */
#include <unistd.h>

#include "tests/bench/long_texts.h"

enum { LAST = 1024, TURNS = 8 };

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

/* What the base has read up to `count` tokens, as files of eight bits keep it. */
static struct session *round_pages(struct session *base, const int32_t *ids,
                                   size_t count)
{
    struct err err = {.position = -1};
    struct session_exact all = {.all = true};
    struct session *s = open_session(&all);
    struct prompt_files *files;
    char folder[] = "/var/tmp/context-XXXXXX";
    size_t bytes = PIECE / PAGE * session_page_bytes(base);
    void *pages = mem_alloc(bytes);
    if (!mkdtemp(folder))
        exit(1);
    must(prompt_files_open(folder, bytes + 65536, &files, &err), &err);
    for (size_t at = 0; at + PIECE <= count; at += PIECE) {
        struct prompt_piece piece = {
            .ids = ids + at, .count = PIECE, .rounded = true};
        must(session_export(base, at, PIECE, pages, &err), &err);
        must(prompt_files_write(files, &piece, NULL, 0, pages, bytes, &err),
             &err);
        must(prompt_files_read(files, &piece, pages, bytes, &err), &err);
        must(session_import(s, ids + at, PIECE, pages, &err), &err);
    }
    prompt_files_close(files);
    must(prompt_files_open(folder, 0, &files, &err), &err); /* empties it */
    prompt_files_close(files);
    rmdir(folder);
    free(pages);
    return s;
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
        return !strcmp(way, "int8")
                   ? round_pages(p->full.s, p->ids.items, before)
                   : fork_session(p->full.s, before);
    }
    if (!p->chosen.s) {
        struct session_exact how = session_exact_of(strtoul(way + 5, NULL, 10));
        how.rerank = true;
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
        struct session_exact how = way_of(strcmp(way, "int8") ? way : "full");
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
    struct pool *pool = open_model(argv[0], 0);
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
    enum { TIMED = 2 };
    struct err err = {.position = -1};
    int32_t *ids = mem_alloc(piece * sizeof *ids);
    for (size_t i = 0; i < piece; i++)
        ids[i] = (int32_t)(1000 + i * 37 % 5000);
    session_rewind(s, tokens);
    if (piece == 1)
        must(session_prefill(s, ids, 1, NULL, NULL, &err), &err);
    int count = piece == 1 ? TIMED : 1;
    double start = clock_seconds();
    for (int i = 0; i < count; i++)
        must(session_prefill(s, ids, piece, NULL, NULL, &err), &err);
    free(ids);
    return (clock_seconds() - start) / count;
}

static int speed(int argc, char **argv)
{
    static const char *const each[] = {"full", "exact=2560", "summaries=2560"};
    enum { EACH = sizeof each / sizeof each[0] };
    size_t tokens = strtoul(argv[1], NULL, 10) / PAGE * PAGE;
    size_t piece = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    struct pool *pool =
        open_model(argv[0], (unsigned)strtoul(argv[2], NULL, 10));
    struct session_exact all = {.all = true};
    struct session *base = open_session(&all), *sessions[EACH];
    double least[EACH] = {0};
    fill(base, tokens);
    for (size_t w = 0; w < EACH; w++) {
        struct session_exact how = way_of(each[w]);
        sessions[w] = fork_session(base, tokens);
        session_exact_change(sessions[w], &how);
    }
    for (int turn = 0; turn < (piece == 1 ? TURNS : 1); turn++)
        for (size_t w = 0; w < EACH; w++) {
            double got = step(sessions[w], tokens, piece);
            least[w] = turn && least[w] < got ? least[w] : got;
        }
    for (size_t w = 0; w < EACH; w++) {
        printf("{\"tokens\": %zu, \"threads\": %s, \"piece\": %zu, "
               "\"way\": \"%s\", \"ms\": %.1f, \"times\": %.2f}\n",
               tokens, argv[2], piece, each[w], least[w] * 1000,
               least[0] / least[w]);
        session_close(sessions[w]);
    }
    session_close(base);
    model_close(model);
    pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && !strcmp(argv[1], "perplexity"))
        return perplexity(argc - 2, argv + 2);
    if (argc > 4 && !strcmp(argv[1], "speed"))
        return speed(argc - 2, argv + 2);
    fprintf(stderr, "usage: context perplexity MODEL TEXT [@FOLDER] [:ROWS] "
                    "[WAY...] TOKENS...\n"
                    "       context speed MODEL TOKENS THREADS [PIECE]\n");
    return 2;
}
