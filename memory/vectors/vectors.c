#include "memory/vectors/vectors.h"

#include <stdlib.h>
#include <string.h>

#include <faiss/c_api/IndexFlat_c.h>
#include <faiss/c_api/Index_c.h>
#include <faiss/c_api/error_c.h>

#include "base/mem.h"
#include "memory/vectors/dots.h"
#include "tree/tree.h"

/* Segments that the index is asked for, for each node wanted.  Where they do
 * not make up enough nodes, a scan of all costs no more than asking again. */
enum { SEGMENTS_A_NODE = 3 };

struct vectors {
    struct vector_table table; /* its keys are in the index alone */
    FaissIndexFlatIP *index;   /* of the table's rows */
    const float *keys;         /* [row_count, width] in the index */
    const struct dots *dots;   /* of single rows */
    uint32_t *first_row;       /* [node_count + 1] of each of its nodes */
    uint32_t *node_of;         /* [node_count] the outline's, TREE_NONE: gone */
    uint32_t *entry_of; /* [outline_count] the table's, TREE_NONE: none */
    uint64_t *hashes;   /* [row_count] of the keys */
    uint32_t outline_count;
    size_t kept; /* rows of nodes that are not gone */
};

/* ---- Opening ---- */

static int count_rows(struct vectors *vectors, struct err *err)
{
    const struct vector_table *table = &vectors->table;
    vectors->first_row =
        mem_alloc(((size_t)table->node_count + 1) * sizeof(uint32_t));
    uint32_t entry = 0;
    for (uint32_t row = 0; row < table->row_count; row++) {
        uint32_t of = table->row_nodes[row];
        if (of >= table->node_count || (row && of < table->row_nodes[row - 1]))
            return err_set(err, ERR_FORMAT,
                           "vectors: segment %u is of node %u of %u, out of "
                           "order",
                           row, of, table->node_count);
        while (entry < of)
            vectors->first_row[++entry] = row;
    }
    while (entry < table->node_count)
        vectors->first_row[++entry] = table->row_count;
    return 0;
}

static void map_nodes(struct vectors *vectors, const uint32_t *node_of)
{
    uint32_t count = vectors->table.node_count;
    vectors->node_of = mem_alloc(count * sizeof *node_of);
    vectors->entry_of = mem_alloc(vectors->outline_count * sizeof(uint32_t));
    for (uint32_t n = 0; n < vectors->outline_count; n++)
        vectors->entry_of[n] = TREE_NONE;
    for (uint32_t entry = 0; entry < count; entry++) {
        uint32_t node = node_of[entry];
        vectors->node_of[entry] = node;
        if (node == TREE_NONE)
            continue;
        vectors->entry_of[node] = entry;
        vectors->kept +=
            vectors->first_row[entry + 1] - vectors->first_row[entry];
    }
}

static int build_index(struct vectors *vectors, struct err *err)
{
    struct vector_table *table = &vectors->table;
    float *keys;
    size_t size;
    if (faiss_IndexFlatIP_new_with(&vectors->index, (idx_t)table->width) ||
        faiss_Index_add(vectors->index, table->row_count, table->keys))
        return err_set(err, ERR_INTERNAL, "vectors: %s",
                       faiss_get_last_error());
    free(table->keys);
    table->keys = NULL;
    faiss_IndexFlat_xb(vectors->index, &keys, &size);
    vectors->keys = keys;
    vectors->hashes = mem_alloc(table->row_count * sizeof *vectors->hashes);
    for (uint32_t row = 0; row < table->row_count; row++)
        vectors->hashes[row] = hash_bytes64(keys + row * table->width,
                                            table->width * sizeof *keys);
    return 0;
}

int vectors_open(struct vector_table *table, const uint32_t *node_of,
                 uint32_t outline_count, struct vectors **ret, struct err *err)
{
    struct vectors *vectors = mem_alloc(sizeof *vectors);
    vectors->table = *table;
    *table = (struct vector_table){0};
    vectors->dots = dots_best();
    vectors->outline_count = outline_count;
    int code = count_rows(vectors, err);
    if (!code)
        code = build_index(vectors, err);
    if (code) {
        vectors_close(vectors);
        return code;
    }
    map_nodes(vectors, node_of);
    *ret = vectors;
    return 0;
}

void vectors_close(struct vectors *vectors)
{
    if (!vectors)
        return;
    faiss_Index_free(vectors->index);
    free(vectors->first_row);
    free(vectors->node_of);
    free(vectors->entry_of);
    free(vectors->hashes);
    vector_table_free(&vectors->table);
    free(vectors);
}

struct hash128 vectors_policy(const struct vectors *vectors)
{
    return vectors->table.policy;
}

uint64_t vectors_generation(const struct vectors *vectors)
{
    return vectors->table.generation;
}

size_t vectors_width(const struct vectors *vectors)
{
    return vectors->table.width;
}

size_t vectors_segments(const struct vectors *vectors)
{
    return vectors->table.row_count;
}

size_t vectors_kept(const struct vectors *vectors)
{
    return vectors->kept;
}

const float *vectors_key(const struct vectors *vectors, uint32_t row)
{
    return vectors->keys + row * vectors->table.width;
}

uint32_t vectors_node(const struct vectors *vectors, uint32_t row)
{
    return vectors->node_of[vectors->table.row_nodes[row]];
}

uint32_t vectors_rows_of(const struct vectors *vectors, uint32_t node)
{
    uint32_t entry = vectors->entry_of[node];
    return entry == TREE_NONE
               ? 0
               : vectors->first_row[entry + 1] - vectors->first_row[entry];
}

const uint64_t *vectors_hashes(const struct vectors *vectors)
{
    return vectors->hashes;
}

/* ---- Scores ---- */

static float dot(const struct vectors *vectors, const float *query,
                 const float *vector)
{
    float product;
    vectors->dots->floats(query, vector, 1, vectors->table.width, &product);
    return product;
}

static float best_row(const struct vectors *vectors, const float *query,
                      uint32_t entry)
{
    float best = -2;
    for (uint32_t row = vectors->first_row[entry];
         row < vectors->first_row[entry + 1]; row++) {
        float score =
            dot(vectors, query, vectors->keys + row * vectors->table.width);
        if (score > best)
            best = score;
    }
    return best;
}

float vectors_whole(const struct vectors *vectors, const float *query,
                    uint32_t node)
{
    uint32_t entry = vectors->entry_of[node];
    return entry == TREE_NONE
               ? -2
               : dot(vectors, query,
                     vectors->table.subtrees + entry * vectors->table.width);
}

float vectors_own(const struct vectors *vectors, const float *query,
                  uint32_t node)
{
    uint32_t entry = vectors->entry_of[node];
    return entry == TREE_NONE ? -2 : best_row(vectors, query, entry);
}

/* ---- Search ---- */

struct search {
    const struct vectors *vectors;
    const float *query;
    uint32_t from, end;
    bool (*accept)(void *context, uint32_t node);
    void *context;
    size_t max, count;
    struct vector_hit *hits;
};

static bool is_wanted(const struct search *search, uint32_t node)
{
    return node != TREE_NONE && node >= search->from && node < search->end &&
           (!search->accept || search->accept(search->context, node));
}

static void keep_best(struct search *search, struct vector_hit hit)
{
    struct vector_hit *hits = search->hits;
    size_t at = search->count;
    if (at == search->max && !(hit.score > hits[at - 1].score))
        return;
    if (at < search->max)
        search->count++;
    else
        at--;
    for (; at && hits[at - 1].score < hit.score; at--)
        hits[at] = hits[at - 1];
    hits[at] = hit;
}

static void scan(struct search *search)
{
    const struct vectors *vectors = search->vectors;
    search->count = 0;
    for (uint32_t entry = 0; entry < vectors->table.node_count; entry++) {
        uint32_t node = vectors->node_of[entry];
        if (vectors->first_row[entry] == vectors->first_row[entry + 1] ||
            !is_wanted(search, node))
            continue;
        keep_best(search, (struct vector_hit){
                              node, best_row(vectors, search->query, entry)});
    }
}

/* The first segment of a node that comes up is its best. */
static void take_nodes(struct search *search, const idx_t *rows,
                       const float *scores, size_t count)
{
    const struct vectors *vectors = search->vectors;
    bool *met = mem_alloc(vectors->table.node_count * sizeof *met);
    search->count = 0;
    for (size_t i = 0; i < count && search->count < search->max; i++) {
        uint32_t entry =
            rows[i] < 0 ? TREE_NONE : vectors->table.row_nodes[rows[i]];
        if (entry == TREE_NONE || met[entry])
            continue;
        met[entry] = true;
        if (is_wanted(search, vectors->node_of[entry]))
            search->hits[search->count++] =
                (struct vector_hit){vectors->node_of[entry], scores[i]};
    }
    free(met);
}

/* False: there may be more nodes than those found. */
static bool ask_index(struct search *search)
{
    const struct vectors *vectors = search->vectors;
    size_t rows = vectors->table.row_count;
    size_t count = search->max * SEGMENTS_A_NODE;
    if (count > rows)
        count = rows;
    float *scores = mem_alloc(count * sizeof *scores);
    idx_t *found = mem_alloc(count * sizeof *found);
    bool asked = count && !faiss_Index_search(vectors->index, 1, search->query,
                                              (idx_t)count, scores, found);
    if (asked)
        take_nodes(search, found, scores, count);
    free(scores);
    free(found);
    return asked && (search->count == search->max || count == rows);
}

size_t vectors_search(const struct vectors *vectors, const float *query,
                      uint32_t from, uint32_t end,
                      bool (*accept)(void *context, uint32_t node),
                      void *context, size_t max, struct vector_hit *hits)
{
    struct search search = {.vectors = vectors,
                            .query = query,
                            .from = from,
                            .end = end,
                            .accept = accept,
                            .context = context,
                            .max = max,
                            .hits = hits};
    bool whole = from == 0 && end >= vectors->outline_count && !accept;
    if (max && !(whole && ask_index(&search)))
        scan(&search);
    return search.count;
}
