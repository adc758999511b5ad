/* What it costs and saves that a model made for full attention chooses what it reads
 * (`hils = exact`), on real text:
 *
 *     context perplexity MODEL TEXT TOKENS...
 *     context few MODEL TEXT TOKENS...
 *     context needles MODEL TEXT TOKENS [@FOLDER] [WAYS, as above]
 *     context speed MODEL TOKENS THREADS
 *
 * perplexity: of the last 1,024 of so many tokens (ascending multiples of 64).  All
 * before are read with full attention, once; then the last ones anew for each way, so
 * that ways are compared on the same keys and values.  A line of JSON each:
 *     full     all is read
 *     window   the last `budget` tokens alone
 *     exact    the last min(512, budget / 2) and chunks of 64 that make up `budget`,
 *              the first `full` layers reading all
 *     int8     all is read, of what lay in files as 8 bits by groups of 32
 *     read     as exact with 2,560, but all before was read so, too
 * few: the same of some ways, none of which reads all anew, and of those that stand
 *     among TOKENS as WINDOW/CHUNKS/FULL-LAYERS, with an `r` behind re-ranked.
 *     A word @FOLDER keeps what is read in full there, from where another run goes on.
 * needles: ten facts, and three that name another, are put into so many tokens of the
 *     text, evenly; all is read with full attention, and with `exact` of 2,560; then
 *     each is asked for, and the likeliest tokens are compared with what was said.
 * speed: tokens a second, one after the other, behind so many whose keys and values
 *     are random, ways by turns, the least of 8 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "daemon/engine/prompt_files.h"
#include "model/model.h"

enum { LAST = 1024, PIECE = 128, READ = 512, PAGE = 64, TURNS = 8 };
enum { USUAL = 2560 };

struct way {
    const char *name;
    size_t budget, full;
};

static const struct way ways[] = {
    {"full", 0, 0},      {"exact", 512, 2},  {"exact", 1024, 2},
    {"exact", 2048, 2},  {"exact", 4096, 2}, {"exact", 2048, 0},
    {"window", 2048, 0}, {"window", 512, 0},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static struct model *model;
static bool few;

/* Ways that `few` leaves out. */
static bool is_left_out(const struct way *way)
{
    bool sparse = way->budget == 512 || way->budget == 4096;
    return few && (sparse || (way->budget == 2048 && way->full));
}

static void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "context: %s\n", err->message);
    exit(1);
}

static struct session_exact choice_of(const struct way *way)
{
    struct session_exact all = {.all = true};
    if (!strcmp(way->name, "window"))
        all.window = way->budget;
    if (strcmp(way->name, "exact") != 0)
        return all;
    size_t window = way->budget / 2 < 512 ? way->budget / 2 : 512;
    return (struct session_exact){.top_k = (way->budget - window) / PAGE,
                                  .window = window,
                                  .full = way->full};
}

static struct pool *open_model(const char *path, unsigned threads)
{
    struct err err = {.position = -1};
    struct pool *pool = NULL;
    must(pool_new(threads, &pool, &err), &err);
    struct model_options options = {
        .kernels = kernels_cpu(),
        .exact = true,
        .pool = {pool, pool_parallel_for, pool_threads(pool)}};
    must(model_open(path, &options, &model, &err), &err);
    return pool;
}

static void read_on(struct session *s, const int32_t *ids, size_t count)
{
    struct err err = {.position = -1};
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < READ ? count - at : READ;
        must(session_prefill(s, ids + at, some, NULL, NULL, &err), &err);
    }
}

/* ---- Reading in full, of which files are kept ---- */

static struct prompt_files *kept; /* NULL: none are */
static struct hash128 kept_name;  /* of the last piece read */

static struct prompt_piece piece_behind(const int32_t *ids)
{
    return (struct prompt_piece){
        .before = kept_name, .ids = ids, .count = PIECE};
}

static bool read_kept(struct session *s, const int32_t *ids, void *pages,
                      size_t bytes)
{
    struct err err = {.position = -1};
    struct prompt_piece piece = piece_behind(ids);
    if (prompt_files_read(kept, &piece, pages, bytes, &err))
        return false;
    must(session_import(s, ids, PIECE, pages, &err), &err);
    kept_name = prompt_piece_name(&piece);
    return true;
}

static void keep(struct session *s, const int32_t *ids, size_t at, void *pages,
                 size_t bytes)
{
    struct err err = {.position = -1};
    struct prompt_piece piece = piece_behind(ids + at);
    must(session_export(s, at, PIECE, pages, &err), &err);
    must(prompt_files_write(kept, &piece, NULL, 0, pages, bytes, &err), &err);
    kept_name = prompt_piece_name(&piece);
}

/* Up to `end`. */
static void read_and_keep(struct session *s, const int32_t *ids, size_t end)
{
    struct err err = {.position = -1};
    size_t bytes = PIECE / PAGE * session_page_bytes(s);
    void *pages = mem_alloc(bytes);
    while (session_length(s) < end) {
        size_t at = session_length(s), to = at + READ < end ? at + READ : end;
        if (read_kept(s, ids + at, pages, bytes))
            continue;
        must(session_prefill(s, ids + at, to - at, NULL, NULL, &err), &err);
        for (; at < to; at += PIECE)
            keep(s, ids, at, pages, bytes);
    }
    free(pages);
}

static void keep_in(const char *folder, struct session *s)
{
    struct err err = {.position = -1};
    must(prompt_files_open(folder, (uint64_t)1 << 40, &kept, &err), &err);
    kept_name = session_kind(s);
}

/* ---- Perplexity ---- */

static double log_loss(const float *logits, size_t count, int32_t id)
{
    double top = (double)logits[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        top = (double)logits[i] > top ? (double)logits[i] : top;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - top);
    return log(sum) + top - (double)logits[id];
}

/* Mean over the tokens behind each of those read. */
static double loss_of(struct session *s, const int32_t *ids, float *logits)
{
    struct err err = {.position = -1};
    size_t vocabulary = model_facts(model)->vocabulary;
    double sum = 0;
    for (size_t at = 0; at < LAST; at += PIECE) {
        must(session_prefill(s, ids + at, PIECE, NULL, logits, &err), &err);
        for (size_t i = 0; i < PIECE && at + i + 1 < LAST; i++)
            sum +=
                log_loss(logits + i * vocabulary, vocabulary, ids[at + i + 1]);
    }
    return sum / (LAST - 1);
}

/* Prints the loss of the last tokens behind `base`, which has read those before. */
static double measure(struct session *base, const int32_t *ids, size_t tokens,
                      const struct way *way, const struct session_exact *choice,
                      double full)
{
    struct err err = {.position = -1};
    float *logits =
        mem_alloc(PIECE * model_facts(model)->vocabulary * sizeof *logits);
    struct session *s;
    must(session_fork(base, tokens - LAST, &s, &err), &err);
    session_exact_change(s, choice);
    double start = clock_seconds();
    double loss = loss_of(s, ids + tokens - LAST, logits);
    printf("{\"tokens\": %zu, \"way\": \"%s\", \"budget\": %zu, "
           "\"full_layers\": %zu, \"perplexity\": %.4f, \"ratio\": %.4f, "
           "\"seconds\": %.1f}\n",
           tokens, way->name, way->budget, way->full, exp(loss),
           exp(loss - (full > 0 ? full : loss)), clock_seconds() - start);
    fflush(stdout);
    session_close(s);
    free(logits);
    return loss;
}

/* What the base has read up to `count` tokens, as files of eight bits keep it. */
static struct session *round_pages(struct session *base, const int32_t *ids,
                                   size_t count)
{
    struct err err = {.position = -1};
    struct session_exact all = {.all = true};
    struct session *s;
    struct prompt_files *files;
    char folder[] = "/var/tmp/context-XXXXXX";
    size_t bytes = PIECE / PAGE * session_page_bytes(base);
    void *pages = mem_alloc(bytes);
    if (!mkdtemp(folder))
        exit(1);
    must(prompt_files_open(folder, bytes + 65536, &files, &err), &err);
    must(session_open_exact(model, &all, &s, &err), &err);
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

static void compare_ways(struct session *base, struct session *chosen,
                         const int32_t *ids, size_t tokens)
{
    static const struct way read = {"read", USUAL, 0};
    struct session_exact usual = session_exact_of(USUAL);
    double full = 0;
    for (size_t w = 0; w < WAYS; w++) {
        struct session_exact choice = choice_of(&ways[w]);
        if (ways[w].budget >= tokens || is_left_out(&ways[w]))
            continue;
        double loss = measure(base, ids, tokens, &ways[w], &choice, full);
        full = w ? full : loss;
    }
    static const struct way int8 = {"int8", 0, 0};
    struct session_exact all = {.all = true};
    struct session *rounded = round_pages(base, ids, tokens - LAST);
    measure(rounded, ids, tokens, &int8, &all, full);
    session_close(rounded);
    if (chosen)
        measure(chosen, ids, tokens, &read, &usual, full);
}

static struct session_exact choice_in(const char *word)
{
    struct session_exact how = {0};
    char *at;
    how.window = strtoul(word, &at, 10);
    how.top_k = strtoul(at + 1, &at, 10);
    how.full = strtoul(at + 1, &at, 10);
    how.rerank = *at == 'r';
    return how;
}

/* "512/24/2": behind what was measured last. */
static void measure_other(struct session *base, const int32_t *ids,
                          size_t tokens, const char *word)
{
    struct session_exact how = choice_in(word);
    struct way way = {word, how.window + PAGE * how.top_k, how.full};
    measure(base, ids, tokens, &way, &how, 0);
}

static void take_ids(const char *path, struct ids *ret)
{
    struct err err = {.position = -1};
    struct buf text = {0};
    must(file_read(path, (size_t)1 << 24, &text, &err), &err);
    text.size = text.size < 1 << 20 ? text.size : 1 << 20;
    must(tokenizer_encode(model_tokenizer(model), buf_slice(&text), false, ret,
                          &err),
         &err);
    buf_free(&text);
}

/* Two sessions: one reads all, one as usual. */
static void open_both(struct session **ret_full, struct session **ret_chosen)
{
    struct err err = {.position = -1};
    struct session_exact all = {.all = true}, usual = session_exact_of(USUAL);
    must(session_open_exact(model, &all, ret_full, &err), &err);
    must(session_open_exact(model, &usual, ret_chosen, &err), &err);
}

static int perplexity(int argc, char **argv, bool some)
{
    few = some;
    struct ids ids = {0};
    struct session *base, *chosen;
    struct pool *pool = open_model(argv[0], 0);
    take_ids(argv[1], &ids);
    open_both(&base, &chosen);
    size_t tokens = 0;
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] == '@') {
            keep_in(argv[i] + 1, base);
            continue;
        }
        if (strchr(argv[i], '/')) {
            measure_other(base, ids.items, tokens, argv[i]);
            continue;
        }
        tokens = strtoul(argv[i], NULL, 10);
        size_t had = session_length(base);
        if (tokens > ids.count || tokens % PAGE || tokens < had + LAST)
            return 2;
        if (kept)
            read_and_keep(base, ids.items, tokens - LAST);
        else
            read_on(base, ids.items + had, tokens - LAST - had);
        if (!few)
            read_on(chosen, ids.items + had, tokens - LAST - had);
        compare_ways(base, few ? NULL : chosen, ids.items, tokens);
    }
    session_close(base);
    session_close(chosen);
    model_close(model);
    pool_free(pool);
    return 0;
}

/* ---- Needles ---- */

enum { FACTS = 10, CHAINS = 3, ANSWER = 6 };
static const char *const towns[] = {
    "Lisbon", "Oslo",  "Cairo", "Quito",  "Hanoi", "Perth", "Turin",
    "Leeds",  "Minsk", "Dakar", "Bergen", "Lyon",  "Odessa"};

static int code_of(size_t i)
{
    return (int)(1009 + i * 7919 % 8971);
}

static void put_needle(size_t i, struct buf *out)
{
    if (i < FACTS)
        buf_printf(out, "\n\nThe access code of the %s office is %d.\n\n",
                   towns[i], code_of(i));
    else
        buf_printf(out,
                   "\n\nThe %s office has the same access code as the %s "
                   "office.\n\n",
                   towns[i], towns[i - FACTS]);
}

static void put_text(struct slice text, struct ids *ids)
{
    struct err err = {.position = -1};
    must(tokenizer_encode(model_tokenizer(model), text, false, ids, &err),
         &err);
}

/* The text with the needles between, `tokens` in all or a little more. */
static struct ids bury(const struct ids *text, size_t tokens)
{
    struct ids ret = {0};
    enum { ALL = FACTS + CHAINS };
    for (size_t i = 0; i < ALL; i++) {
        struct buf needle = {0};
        size_t each = tokens / (ALL + 1), place = i * 4 % ALL;
        for (size_t t = 0; t < each; t++)
            ids_put(&ret, text->items[i * each + t]);
        put_needle(place, &needle);
        put_text(buf_slice(&needle), &ret);
        buf_free(&needle);
    }
    while (ret.count < tokens || ret.count % PAGE)
        ids_put(&ret, text->items[tokens + ret.count]);
    return ret;
}

/* Whether what the session writes behind the question begins with the answer. */
static bool is_found(struct session *base, const struct session_exact *how,
                     size_t i)
{
    struct err err = {.position = -1};
    struct buf question = {0}, said = {0};
    struct ids ids = {0};
    struct session *s;
    char wanted[16];
    snprintf(wanted, sizeof wanted, "%d", code_of(i < FACTS ? i : i - FACTS));
    buf_printf(&question,
               "\n\nQuestion: What is the access code of the %s office?\n"
               "Answer: The access code of the %s office is ",
               towns[i], towns[i]);
    put_text(buf_slice(&question), &ids);
    must(session_fork(base, session_length(base), &s, &err), &err);
    session_exact_change(s, how);
    must(session_prefill(s, ids.items, ids.count, NULL, NULL, &err), &err);
    for (int n = 0; n < ANSWER; n++) {
        int32_t id = session_top_k(s);
        buf_put_slice(&said, tokenizer_bytes(model_tokenizer(model), id));
        must(session_prefill(s, &id, 1, NULL, NULL, &err), &err);
    }
    size_t at = 0;
    while (at < said.size && said.data[at] == ' ')
        at++;
    bool found = said.size - at >= strlen(wanted) &&
                 !memcmp(said.data + at, wanted, strlen(wanted));
    session_close(s);
    buf_free(&question);
    buf_free(&said);
    ids_free(&ids);
    return found;
}

static void ask_all(struct session *base, const char *name, size_t budget,
                    const struct session_exact *how)
{
    size_t facts = 0, chains = 0;
    for (size_t i = 0; i < FACTS; i++)
        facts += is_found(base, how, i);
    for (size_t i = FACTS; i < FACTS + CHAINS; i++)
        chains += is_found(base, how, i);
    printf("{\"tokens\": %zu, \"way\": \"%s\", \"budget\": %zu, "
           "\"facts\": \"%zu of %d\", \"chains\": \"%zu of %d\"}\n",
           session_length(base), name, budget, facts, FACTS, chains, CHAINS);
    fflush(stdout);
}

/* Ways that were named, or the usual ones, the last of which reads all anew. */
static void ask_ways(struct session *base, struct session *chosen,
                     const struct ids *ids, int count, char **words)
{
    struct session_exact usual = session_exact_of(USUAL), all = {.all = true},
                         near = {.all = true, .window = USUAL};
    for (int i = 0; i < count; i++) {
        struct session_exact how = choice_in(words[i]);
        ask_all(base, words[i], how.window + PAGE * how.top_k, &how);
    }
    if (count)
        return;
    ask_all(base, "full", 0, &all);
    ask_all(base, "window", USUAL, &near);
    ask_all(base, "exact", USUAL, &usual);
    read_on(chosen, ids->items, ids->count);
    ask_all(chosen, "read", USUAL, &usual);
}

static int needles(int argc, char **argv)
{
    struct ids text = {0};
    struct session *base, *chosen;
    size_t tokens = strtoul(argv[2], NULL, 10);
    struct pool *pool = open_model(argv[0], 0);
    take_ids(argv[1], &text);
    if (text.count < 2 * tokens + LAST)
        return 2;
    struct ids ids = bury(&text, tokens);
    bool keeps = argc > 3 && argv[3][0] == '@';
    open_both(&base, &chosen);
    if (keeps)
        keep_in(argv[3] + 1, base);
    if (keeps)
        read_and_keep(base, ids.items, ids.count / PIECE * PIECE);
    read_on(base, ids.items + session_length(base),
            ids.count - session_length(base));
    ask_ways(base, chosen, &ids, argc - 3 - keeps, argv + 3 + keeps);
    session_close(base);
    session_close(chosen);
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

/* Seconds of one token. */
static double step(struct session *s, size_t tokens)
{
    struct err err = {.position = -1};
    int32_t id = 7;
    const int count = 2;
    session_rewind(s, tokens);
    must(session_prefill(s, &id, 1, NULL, NULL, &err), &err);
    double start = clock_seconds();
    for (int i = 0; i < count; i++)
        must(session_prefill(s, &id, 1, NULL, NULL, &err), &err);
    return (clock_seconds() - start) / count;
}

static int speed(char **argv)
{
    static const struct way each[] = {
        {"full", 0, 0}, {"exact", USUAL, 0}, {"rerank", USUAL, 0}};
    enum { EACH = sizeof each / sizeof each[0] };
    struct err err = {.position = -1};
    size_t tokens = strtoul(argv[1], NULL, 10) / PAGE * PAGE;
    struct pool *pool =
        open_model(argv[0], (unsigned)strtoul(argv[2], NULL, 10));
    struct session_exact all = {.all = true};
    struct session *base, *sessions[EACH];
    double least[EACH] = {0};
    must(session_open_exact(model, &all, &base, &err), &err);
    fill(base, tokens);
    for (size_t w = 0; w < EACH; w++) {
        struct session_exact choice =
            w ? session_exact_of(USUAL) : (struct session_exact){.all = true};
        choice.rerank = !strcmp(each[w].name, "rerank");
        must(session_fork(base, tokens, &sessions[w], &err), &err);
        session_exact_change(sessions[w], &choice);
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t w = 0; w < EACH; w++) {
            double got = step(sessions[w], tokens);
            least[w] = turn && least[w] < got ? least[w] : got;
        }
    for (size_t w = 0; w < EACH; w++) {
        printf("{\"tokens\": %zu, \"threads\": %s, \"way\": \"%s\", "
               "\"budget\": %zu, \"full_layers\": %zu, \"ms\": %.1f, "
               "\"times\": %.2f}\n",
               tokens, argv[2], each[w].name, each[w].budget, each[w].full,
               least[w] * 1000, least[0] / least[w]);
        session_close(sessions[w]);
    }
    session_close(base);
    model_close(model);
    pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && (!strcmp(argv[1], "perplexity") || !strcmp(argv[1], "few")))
        return perplexity(argc - 2, argv + 2, !strcmp(argv[1], "few"));
    if (argc > 4 && !strcmp(argv[1], "needles"))
        return needles(argc - 2, argv + 2);
    if (argc == 5 && !strcmp(argv[1], "speed"))
        return speed(argv + 2);
    fprintf(stderr, "usage: context perplexity MODEL TEXT TOKENS...\n"
                    "       context needles MODEL TEXT TOKENS\n"
                    "       context speed MODEL TOKENS THREADS\n");
    return 2;
}
