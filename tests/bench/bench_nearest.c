/* How fast, how large and how exact the search index of vectors is
 * (memory/vectors/ivf.h), beside FAISS's: flat, inverted file with 8 bits a value,
 * and HNSW.
 *
 *     nearest COUNT WIDTH           rows made here: a mixture, and without
 *                                   any structure
 *     nearest STORE [MODEL FILE]    the rows of a store that no daemon has
 *                                   open; queries: the questions of FILE (as
 *                                   `lectern eval` reads them), else rows
 *     nearest ... ours              the mixture, or the store's rows, by our index
 *                                   alone
 *
 * One JSON object a set of rows.  Times are of one thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faiss/c_api/AutoTune_c.h>
#include <faiss/c_api/IndexFlat_c.h>
#include <faiss/c_api/Index_c.h>
#include <faiss/c_api/index_factory_c.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "daemon/engine/engine.h"
#include "memory/snapshot/library.h"
#include "memory/vectors/ivf.h"
#include "memory/vectors/dots.h"
#include "memory/vectors/vectors.h"

enum {
    MAX_QUERIES = 1000,
    DEEPEST = 100,    /* neighbours that are looked for */
    CANDIDATES = 300, /* scored by the vectors themselves */
    CENTRES = 3000,   /* of the mixture */
    REPEATS = 3
};

struct set {
    const char *name;
    float *rows; /* [count, width] */
    uint32_t count;
    size_t width;
    float *queries; /* [query_count, width] */
    size_t query_count;
    bool ours; /* FAISS's flat index alone is measured beside it */
};

static void fail(const char *what)
{
    fprintf(stderr, "nearest: %s\n", what);
    exit(1);
}

/* ---- Rows made here ---- */

static uint64_t random_state = 1;

static double random_unit(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static float random_normal(void)
{
    double u = random_unit(), v = random_unit();
    return (float)(sqrt(-2 * log(u + 1e-300)) * cos(6.283185307179586 * v));
}

static void make_unit(float *vector, size_t width)
{
    double square = 0;
    for (size_t i = 0; i < width; i++)
        square += (double)vector[i] * (double)vector[i];
    for (size_t i = 0; i < width; i++)
        vector[i] = (float)((double)vector[i] / sqrt(square));
}

/* `spread`: the length of what is added to a centre of length 1. */
static void fill_mixture(float *rows, size_t count, size_t width,
                         const float *centres, double spread)
{
    float by = (float)(spread / sqrt((double)width));
    for (size_t i = 0; i < count; i++) {
        const float *centre =
            centres + (size_t)(random_unit() * CENTRES) * width;
        for (size_t x = 0; x < width; x++)
            rows[i * width + x] = centre[x] + by * random_normal();
        make_unit(rows + i * width, width);
    }
}

static void make_set(struct set *set, double spread)
{
    size_t width = set->width;
    float *centres = mem_alloc(CENTRES * width * sizeof *centres);
    for (size_t i = 0; i < CENTRES * width; i++)
        centres[i] = random_normal();
    for (size_t i = 0; i < CENTRES; i++)
        make_unit(centres + i * width, width);
    set->rows = mem_alloc(set->count * width * sizeof(float));
    set->queries = mem_alloc(MAX_QUERIES * width * sizeof(float));
    set->query_count = MAX_QUERIES / 5;
    fill_mixture(set->rows, set->count, width, centres, spread);
    fill_mixture(set->queries, set->query_count, width, centres, spread);
    free(centres);
}

/* ---- Rows of a store ---- */

struct hashed {
    uint64_t hash;
    const float *key;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Each of the volumes' rows once, as memory/vectors/dense.c takes them. */
static void take_rows(struct set *set, const struct snapshot *snapshot)
{
    size_t count = 0, all = 0;
    for (size_t i = 0; i < snapshot->count; i++)
        if (snapshot->views[i]->vectors)
            all += vectors_segments(snapshot->views[i]->vectors);
    struct hashed *rows = mem_alloc(all * sizeof *rows);
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct vectors *vectors = snapshot->views[i]->vectors;
        for (uint32_t r = 0; vectors && r < vectors_segments(vectors); r++)
            rows[count++] = (struct hashed){vectors_hashes(vectors)[r],
                                            vectors_key(vectors, r)};
        if (vectors)
            set->width = vectors_width(vectors);
    }
    qsort(rows, count, sizeof *rows, by_hash);
    set->rows = mem_alloc(count * set->width * sizeof(float));
    for (size_t i = 0; i < count; i++)
        if (!i || rows[i].hash != rows[i - 1].hash)
            memcpy(set->rows + set->count++ * set->width, rows[i].key,
                   set->width * sizeof(float));
    free(rows);
}

static void read_store(struct set *set, const char *folder)
{
    struct store_options options = {.folder = folder};
    struct store *store;
    struct library *library;
    struct err err;
    if (store_open(&options, &store, &err) ||
        library_open(store, &library, &err))
        fail(err.message);
    struct snapshot *snapshot = library_snapshot(library);
    take_rows(set, snapshot);
    snapshot_unref(snapshot);
    library_close(library);
    store_close(store);
}

static void ask(struct set *set, const char *folder, const char *file)
{
    struct engine_options options = {.folder = folder};
    struct engine *engine;
    struct engine_embedder e;
    struct embedder_facts facts;
    struct err err;
    char *line = NULL;
    size_t size = 0;
    FILE *stream = fopen(file, "r");
    if (!stream || engine_start(&options, &engine, &err))
        fail("no questions, or no engine");
    engine_ref(engine);
    engine_embedder(engine, false, NULL, &e);
    if (e.embedder.facts(&e, &facts, &err) || facts.key_width != set->width)
        fail("the model is another one");
    while (set->query_count < MAX_QUERIES &&
           getline(&line, &size, stream) > 0) {
        cJSON *question = cJSON_Parse(line);
        const char *text = json_get_text(question, "question", "");
        if (e.embedder.question(
                &e, text, set->queries + set->query_count++ * set->width, &err))
            fail(err.message);
        cJSON_Delete(question);
    }
    free(line);
    fclose(stream);
    engine_unref(engine);
    engine_stop(engine, clock_ms() + 5000);
}

/* Rows as queries: every so many of them. */
static void ask_rows(struct set *set)
{
    set->query_count = set->count < 200 ? set->count : 200;
    for (size_t q = 0; q < set->query_count; q++)
        memcpy(set->queries + q * set->width,
               set->rows + q * (set->count / set->query_count) * set->width,
               set->width * sizeof(float));
}

/* ---- Measuring ---- */

static int by_score(const void *a, const void *b)
{
    const struct near_row *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static size_t held(const struct near_row *found, size_t count,
                   const idx_t *right, size_t deep)
{
    size_t hits = 0;
    for (size_t i = 0; i < deep; i++)
        for (size_t j = 0; j < deep && j < count; j++)
            hits += found[j].row == (uint32_t)right[i];
    return hits;
}

/* Candidates of a search by `probes`; found [CANDIDATES]. */
typedef size_t search_by(const struct set *set, const void *index,
                         const float *query, uint32_t probes,
                         struct near_row *found);

static size_t search_ours(const struct set *set, const void *index,
                          const float *query, uint32_t probes,
                          struct near_row *found)
{
    (void)set;
    return ivf_search(index, query, probes, CANDIDATES, found, NULL);
}

/* `probes` was set before. */
static size_t search_faiss(const struct set *set, const void *index,
                           const float *query, uint32_t probes,
                           struct near_row *found)
{
    (void)set;
    (void)probes;
    float scores[CANDIDATES];
    idx_t rows[CANDIDATES];
    size_t count = 0;
    if (faiss_Index_search(index, 1, query, CANDIDATES, scores, rows))
        fail("FAISS");
    for (size_t i = 0; i < CANDIDATES; i++)
        if (rows[i] >= 0)
            found[count++] = (struct near_row){(uint32_t)rows[i], scores[i]};
    return count;
}

/* As memory/vectors/dense.c searches: candidates, then their own vectors. */
static size_t search(const struct set *set, search_by *by, const void *index,
                     const float *query, uint32_t probes,
                     struct near_row *found)
{
    const struct dots *dots = dots_best();
    size_t count = by(set, index, query, probes, found);
    for (size_t i = 0; i < count; i++)
        dots->floats(query, set->rows + found[i].row * set->width, 1,
                     set->width, &found[i].score);
    qsort(found, count, sizeof *found, by_score);
    return count;
}

static void measure_probes(const struct set *set, search_by *by,
                           const void *index, uint32_t probes,
                           const idx_t *right)
{
    struct near_row found[CANDIDATES];
    double *times = mem_alloc(set->query_count * sizeof *times);
    size_t tens = 0, hundreds = 0;
    for (size_t q = 0; q < set->query_count; q++) {
        const float *query = set->queries + q * set->width;
        times[q] = 1e9;
        size_t count = 0;
        for (int r = 0; r < REPEATS; r++) {
            double start = clock_seconds();
            count = search(set, by, index, query, probes, found);
            double taken = clock_seconds() - start;
            times[q] = taken < times[q] ? taken : times[q];
        }
        tens += held(found, count, right + q * DEEPEST, 10);
        hundreds += held(found, count, right + q * DEEPEST, DEEPEST);
    }
    qsort(times, set->query_count, sizeof *times, by_size);
    printf("    {\"probes\": %u, \"recall_10\": %.4f, \"recall_100\": %.4f, "
           "\"p50_ms\": %.4f, \"p95_ms\": %.4f},\n",
           probes, (double)tens / 10 / (double)set->query_count,
           (double)hundreds / DEEPEST / (double)set->query_count,
           times[set->query_count / 2] * 1e3,
           times[set->query_count * 95 / 100] * 1e3);
    free(times);
}

/* One of FAISS's indexes (index_factory's description), at values of the parameter
 * by which it trades time for recall. */
static void measure_faiss(const struct set *set, const char *description,
                          const char *parameter, uint32_t from, uint32_t to,
                          const idx_t *right)
{
    FaissIndex *index;
    FaissParameterSpace *space;
    double start = clock_seconds();
    if (faiss_index_factory(&index, (int)set->width, description,
                            METRIC_INNER_PRODUCT) ||
        faiss_Index_train(index, set->count, set->rows) ||
        faiss_Index_add(index, set->count, set->rows) ||
        faiss_ParameterSpace_new(&space))
        fail("FAISS");
    printf("  \"%s\": {\"made_s\": %.2f, \"searches\": [\n", description,
           clock_seconds() - start);
    for (uint32_t value = from; value <= to; value *= 2) {
        if (faiss_ParameterSpace_set_index_parameter(space, index, parameter,
                                                     value))
            fail("FAISS");
        measure_probes(set, search_faiss, index, value, right);
    }
    printf("    {}]},\n");
    faiss_ParameterSpace_free(space);
    faiss_Index_free(index);
}

static void measure(const struct set *set)
{
    FaissIndexFlatIP *flat;
    struct ivf *ivf;
    struct err err;
    size_t all = set->query_count * DEEPEST;
    idx_t *right = mem_alloc(all * sizeof *right);
    float *scores = mem_alloc(all * sizeof *scores);
    const float **rows = mem_alloc(set->count * sizeof *rows);
    for (uint32_t i = 0; i < set->count; i++)
        rows[i] = set->rows + i * set->width;
    if (faiss_IndexFlatIP_new_with(&flat, (idx_t)set->width) ||
        faiss_Index_add(flat, set->count, set->rows))
        fail("FAISS");
    double start = clock_seconds();
    for (size_t q = 0; q < set->query_count; q++)
        faiss_Index_search(flat, 1, set->queries + q * set->width, DEEPEST,
                           scores + q * DEEPEST, right + q * DEEPEST);
    double flat_ms = (clock_seconds() - start) * 1e3 / (double)set->query_count;
    start = clock_seconds();
    if (ivf_make(rows, set->count, set->width, NULL, &ivf, &err))
        fail(err.message);
    printf("{\n  \"rows\": \"%s\", \"count\": %u, \"width\": %zu, "
           "\"queries\": %zu,\n  \"flat_ms\": %.3f, \"made_s\": %.2f, "
           "\"mb\": %.1f, \"flat_mb\": %.1f, \"lists\": %u,\n"
           "  \"searches\": [\n",
           set->name, set->count, set->width, set->query_count, flat_ms,
           clock_seconds() - start, (double)ivf_bytes(ivf) / 1e6,
           (double)set->count * (double)set->width * 4e-6, ivf_lists(ivf));
    uint32_t chosen = ivf_probes(ivf);
    for (uint32_t probes = 4; probes < 2 * chosen; probes *= 2)
        measure_probes(set, search_ours, ivf, probes, right);
    measure_probes(set, search_ours, ivf, ivf_lists(ivf), right);
    measure_probes(set, search_ours, ivf, chosen, right);
    char description[32];
    printf("    {\"chosen\": %u}\n  ],\n", chosen);
    snprintf(description, sizeof description, "IVF%u,SQ8", ivf_lists(ivf));
    if (!set->ours) {
        measure_faiss(set, description, "nprobe", 4, ivf_lists(ivf), right);
        measure_faiss(set, "HNSW32,Flat", "efSearch", 16, 1024, right);
        measure_faiss(set, "HNSW32,SQ8", "efSearch", 16, 1024, right);
    }
    printf("  \"bytes\": %zu\n}\n", ivf_bytes(ivf));
    fflush(stdout);
    ivf_free(ivf);
    faiss_Index_free(flat);
    free(right);
    free(scores);
    free(rows);
}

int main(int count, char **words)
{
    struct set set = {0};
    set.ours = count > 2 && !strcmp(words[count - 1], "ours");
    count -= set.ours;
    if (count == 3 && strtoul(words[1], NULL, 10)) {
        set.count = (uint32_t)strtoul(words[1], NULL, 10);
        set.width = strtoul(words[2], NULL, 10);
        set.name = "a mixture";
        make_set(&set, 1);
        measure(&set);
        if (set.ours)
            return 0;
        free(set.rows);
        free(set.queries);
        set.name = "no structure";
        make_set(&set, 1000);
    } else if (count == 2 || count == 4) {
        set.name = words[1];
        read_store(&set, words[1]);
        set.queries = mem_alloc(MAX_QUERIES * set.width * sizeof(float));
        if (count == 4)
            ask(&set, words[2], words[3]);
        else
            ask_rows(&set);
    } else {
        return fprintf(stderr, "usage: nearest COUNT WIDTH [ours]\n"
                               "       nearest STORE [MODEL FILE] [ours]\n"),
               2;
    }
    measure(&set);
    free(set.rows);
    free(set.queries);
    return 0;
}
