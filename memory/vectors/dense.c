#include "memory/vectors/dense.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "memory/vectors/ivf.h"
#include "memory/vectors/dots.h"
#include "memory/vectors/vectors.h"
#include "tree/tree.h"

enum {
    CANDIDATES_A_NODE = 3, /* rows for each node wanted */
    MORE_CANDIDATES = 8,   /* times as many, where these are of too few */
    SCAN_COST = 8,         /* of a row itself, to one of the index */
    MIN_ADDED = 1000,      /* rows, until an index is too old */
    ADDED_SHARE = 16,      /* or this part of it */
    GONE_SHARE = 4
};

const size_t dense_min_rows = 10000;

/* One of a view's rows. */
struct place {
    uint32_t view, row;
};

struct dense_index {
    struct ivf *ivf;
    struct hash128 policy;
    uint32_t count;
    uint64_t *hashes;  /* [count] of its rows */
    uint32_t *slots;   /* [slot_count] rows by their hashes, EMPTY */
    size_t slot_count; /* a power of 2 */
    atomic_int references;
};

static const uint32_t EMPTY = UINT32_MAX;

struct dense {
    struct dense_index *index; /* NULL: none, or of no use for these volumes */
    struct view *const *views; /* [view_count] */
    size_t view_count;
    struct hash128 policy; /* that most rows have */
    size_t rows;           /* with it */
    uint32_t *first;       /* [index->count + 1] places of each row */
    struct place *places;
    struct place *added; /* [added_count] that the index does not know */
    size_t added_count, gone;
};

/* ---- Rows of volumes ---- */

static const struct vectors *vectors_with(const struct view *view,
                                          struct hash128 policy)
{
    return view->vectors && hash_equal(vectors_policy(view->vectors), policy)
               ? view->vectors
               : NULL;
}

static size_t rows_with(struct view *const *views, size_t count,
                        struct hash128 policy)
{
    size_t rows = 0;
    for (size_t v = 0; v < count; v++)
        if (vectors_with(views[v], policy))
            rows += vectors_segments(views[v]->vectors);
    return rows;
}

/* The policy that most rows have; returns how many. */
static size_t common_policy(struct view *const *views, size_t count,
                            struct hash128 *ret)
{
    size_t max = 0;
    for (size_t v = 0; v < count; v++) {
        if (!views[v]->vectors)
            continue;
        struct hash128 policy = vectors_policy(views[v]->vectors);
        size_t rows = rows_with(views, count, policy);
        if (rows > max) {
            max = rows;
            *ret = policy;
        }
    }
    return max;
}

/* ---- The index ---- */

/* Where the hash is, or could be put. */
static uint32_t *slot_of(const struct dense_index *index, uint64_t hash)
{
    size_t at = hash & (index->slot_count - 1);
    while (index->slots[at] != EMPTY && index->hashes[index->slots[at]] != hash)
        at = (at + 1) & (index->slot_count - 1);
    return &index->slots[at];
}

/* Takes each row once, however often it stands in the volumes. */
static void take_rows(struct dense_index *index, const struct vectors *vectors,
                      const float **rows)
{
    const uint64_t *hashes = vectors_hashes(vectors);
    for (uint32_t r = 0; r < vectors_segments(vectors); r++) {
        uint32_t *slot = slot_of(index, hashes[r]);
        if (*slot != EMPTY || vectors_node(vectors, r) == TREE_NONE)
            continue;
        *slot = index->count;
        rows[index->count] = vectors_key(vectors, r);
        index->hashes[index->count++] = hashes[r];
    }
}

int dense_index_make(struct view *const *views, size_t count,
                     const atomic_bool *cancel, struct dense_index **ret,
                     struct err *err)
{
    struct dense_index *index = mem_alloc(sizeof *index);
    size_t max = common_policy(views, count, &index->policy), width = 0;
    const float **rows = mem_alloc(max * sizeof *rows);
    atomic_init(&index->references, 1);
    index->hashes = mem_alloc(max * sizeof *index->hashes);
    for (index->slot_count = 2; index->slot_count < 2 * max;)
        index->slot_count *= 2;
    index->slots = mem_alloc(index->slot_count * sizeof *index->slots);
    memset(index->slots, 0xFF, index->slot_count * sizeof *index->slots);
    for (size_t v = 0; v < count; v++) {
        const struct vectors *vectors = vectors_with(views[v], index->policy);
        if (!vectors)
            continue;
        width = vectors_width(vectors);
        take_rows(index, vectors, rows);
    }
    int code = ivf_make(rows, index->count, width, cancel, &index->ivf, err);
    free(rows);
    if (code)
        dense_index_unref(index);
    else
        *ret = index;
    return code;
}

struct dense_index *dense_index_keep(struct dense_index *index)
{
    if (index)
        atomic_fetch_add(&index->references, 1);
    return index;
}

void dense_index_unref(struct dense_index *index)
{
    if (!index || atomic_fetch_sub(&index->references, 1) > 1)
        return;
    ivf_free(index->ivf);
    free(index->hashes);
    free(index->slots);
    free(index);
}

/* ---- A snapshot ---- */

/* Calls for each row with the snapshot's policy whose node is still there. */
static void each_row(const struct dense *dense,
                     void (*call)(void *context, struct place place,
                                  uint32_t row),
                     void *context)
{
    for (uint32_t v = 0; v < dense->view_count; v++) {
        const struct vectors *vectors =
            vectors_with(dense->views[v], dense->policy);
        for (uint32_t r = 0; vectors && r < vectors_segments(vectors); r++)
            if (vectors_node(vectors, r) != TREE_NONE)
                call(context, (struct place){v, r},
                     *slot_of(dense->index, vectors_hashes(vectors)[r]));
    }
}

static void count_row(void *context, struct place place, uint32_t row)
{
    struct dense *dense = context;
    (void)place;
    if (row == EMPTY)
        dense->added_count++;
    else
        dense->first[row + 1]++;
}

struct filling {
    struct dense *dense;
    uint32_t *next; /* [index->count] */
    size_t added;
};

static void put_row(void *context, struct place place, uint32_t row)
{
    struct filling *filling = context;
    if (row == EMPTY)
        filling->dense->added[filling->added++] = place;
    else
        filling->dense->places[filling->next[row]++] = place;
}

static void find_places(struct dense *dense)
{
    uint32_t count = dense->index->count;
    struct filling filling = {dense, mem_alloc(count * sizeof(uint32_t)), 0};
    dense->first = mem_alloc(((size_t)count + 1) * sizeof *dense->first);
    each_row(dense, count_row, dense);
    for (uint32_t row = 0; row < count; row++) {
        dense->gone += !dense->first[row + 1];
        filling.next[row] = dense->first[row];
        dense->first[row + 1] += dense->first[row];
    }
    dense->places = mem_alloc(dense->first[count] * sizeof *dense->places);
    dense->added = mem_alloc(dense->added_count * sizeof *dense->added);
    each_row(dense, put_row, &filling);
    free(filling.next);
}

struct dense *dense_new(struct dense_index *index, struct view *const *views,
                        size_t count)
{
    struct dense *dense = mem_alloc(sizeof *dense);
    dense->views = views;
    dense->view_count = count;
    dense->rows = common_policy(views, count, &dense->policy);
    if (index && dense->rows >= dense_min_rows &&
        hash_equal(index->policy, dense->policy)) {
        dense->index = dense_index_keep(index);
        find_places(dense);
    }
    return dense;
}

void dense_free(struct dense *dense)
{
    if (!dense)
        return;
    dense_index_unref(dense->index);
    free(dense->first);
    free(dense->places);
    free(dense->added);
    free(dense);
}

bool dense_is_due(const struct dense *dense)
{
    if (dense->rows < dense_min_rows)
        return false;
    return !dense->index ||
           dense->added_count > MIN_ADDED + dense->index->count / ADDED_SHARE ||
           dense->gone > dense->index->count / GONE_SHARE;
}

void dense_state(const struct dense *dense, struct dense_state *ret)
{
    *ret = (struct dense_state){.rows = dense->rows,
                                .indexed = dense->index != NULL,
                                .added = dense->added_count,
                                .gone = dense->gone};
    if (!dense->index)
        return;
    ret->lists = ivf_lists(dense->index->ivf);
    ret->probes = ivf_probes(dense->index->ivf);
    ret->bytes = ivf_bytes(dense->index->ivf);
}

/* ---- Search ---- */

/* Rows scored by their own vectors. */
struct scored {
    struct place place;
    float score;
};

struct search {
    const struct dense *dense;
    const struct dense_query *query;
    const struct dots *dots;
    uint32_t probes; /* lists that are looked through at most */
    struct scored *items;
    size_t count, capacity;
};

static const struct vectors *vectors_at(const struct dense *dense,
                                        struct place place)
{
    return dense->views[place.view]->vectors;
}

static uint32_t node_at(const struct dense *dense, struct place place)
{
    return vectors_node(vectors_at(dense, place), place.row);
}

static bool is_accepted(const struct search *search, struct place place)
{
    const struct dense_query *query = search->query;
    return query->accept(query->context, place.view,
                         node_at(search->dense, place));
}

static float score_of(const struct search *search, struct place place)
{
    const struct vectors *vectors = vectors_at(search->dense, place);
    float score;
    search->dots->floats(search->query->vector, vectors_key(vectors, place.row),
                         1, vectors_width(vectors), &score);
    return score;
}

static void add_scored(struct search *search, struct place place)
{
    MEM_RESERVE(search->items, &search->capacity, search->count + 1);
    search->items[search->count++] =
        (struct scored){place, score_of(search, place)};
}

/* A row of the index may stand in several places, and in none. */
static void add_candidate(struct search *search, uint32_t row)
{
    const struct dense *dense = search->dense;
    for (uint32_t at = dense->first[row]; at < dense->first[row + 1]; at++)
        if (is_accepted(search, dense->places[at]))
            add_scored(search, dense->places[at]);
}

static void add_added(struct search *search)
{
    const struct dense *dense = search->dense;
    for (size_t i = 0; i < dense->added_count; i++)
        if (is_accepted(search, dense->added[i]))
            add_scored(search, dense->added[i]);
}

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->place.view != y->place.view)
        return x->place.view < y->place.view ? -1 : 1;
    return x->place.row < y->place.row ? -1 : x->place.row > y->place.row;
}

static bool is_among(const struct dense_hit *hits, size_t count,
                     const struct dense_hit *hit)
{
    for (size_t i = 0; i < count; i++)
        if (hits[i].node == hit->node && hits[i].view == hit->view)
            return true;
    return false;
}

/* The first of a node's rows is its best. */
static size_t take_nodes(struct search *search, struct dense_hit *hits)
{
    size_t count = 0;
    if (search->count)
        qsort(search->items, search->count, sizeof *search->items, by_score);
    for (size_t i = 0; i < search->count && count < search->query->max; i++) {
        struct place place = search->items[i].place;
        struct dense_hit hit = {place.view, node_at(search->dense, place),
                                search->items[i].score};
        if (!is_among(hits, count, &hit))
            hits[count++] = hit;
    }
    return count;
}

/* Of few accepted rows more lists hold as many: in proportion.  False: looking
 * at each of them costs less. */
static bool choose_probes(const struct dense *dense, size_t rows,
                          uint32_t *ret_probes)
{
    const struct ivf *ivf = dense->index->ivf;
    double share =
        rows < dense->rows && rows ? (double)dense->rows / (double)rows : 1;
    double probes = ivf_probes(ivf) * share;
    uint32_t lists = ivf_lists(ivf);
    *ret_probes = probes < lists ? (uint32_t)probes : lists;
    double seen = (double)dense->index->count * *ret_probes / lists;
    return (double)rows * SCAN_COST > seen;
}

/* So many of the index's rows, and all that it does not know. */
static size_t look(struct search *search, size_t max, struct dense_hit *hits,
                   struct dense_trace *trace)
{
    const struct dense *dense = search->dense;
    struct near_row *rows = mem_alloc(max * sizeof *rows);
    struct ivf_seen seen;
    size_t found = ivf_search(dense->index->ivf, search->query->vector,
                              search->probes, max, rows, &seen);
    *trace = (struct dense_trace){.lists = ivf_lists(dense->index->ivf),
                                  .probes = seen.lists,
                                  .seen = seen.rows,
                                  .added = dense->added_count};
    search->count = 0;
    for (size_t i = 0; i < found; i++)
        add_candidate(search, rows[i].row);
    add_added(search);
    free(rows);
    return take_nodes(search, hits);
}

/* The nearest rows may be of few nodes: then so many more are looked at. */
bool dense_search(const struct dense *dense, const struct dense_query *query,
                  struct dense_hit *hits, size_t *ret_count,
                  struct dense_trace *ret_trace)
{
    struct dense_trace trace = {0};
    uint32_t probes;
    if (!dense->index || !query->max ||
        !hash_equal(query->policy, dense->policy) ||
        !choose_probes(dense, query->rows, &probes))
        return false;
    struct search search = {dense, query, dots_best(), probes, NULL, 0, 0};
    size_t max = query->max * CANDIDATES_A_NODE * dense->rows / query->rows;
    max += !max;
    for (*ret_count = 0; *ret_count < query->max; max *= MORE_CANDIDATES) {
        bool all = max >= dense->index->count;
        *ret_count =
            look(&search, all ? dense->index->count : max, hits, &trace);
        if (all || max > trace.seen)
            break;
    }
    *ret_trace = trace;
    free(search.items);
    return *ret_count == query->max;
}
