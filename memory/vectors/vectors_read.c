/* Base and delta of a manual's vectors. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "memory/vectors/vectors.h"

/* ---- As one ---- */

/* Where the entries of a table are, by their nodes' ids. */
struct place {
    uint64_t id;
    uint32_t entry;
};

static int by_id(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

struct source {
    const struct vector_table *table;
    struct place *places; /* [node_count] */
    uint32_t *first_row;  /* [node_count + 1] */
    uint32_t *name_of;    /* [name_count] in the union */
};

static struct source source_of(const struct vector_table *table)
{
    size_t count = table->node_count;
    struct source source = {
        .table = table,
        .places = mem_alloc(count * sizeof *source.places),
        .first_row = mem_alloc((count + 1) * sizeof *source.first_row)};
    uint32_t row = 0;
    for (uint32_t i = 0; i < count; i++) {
        source.places[i] = (struct place){table->nodes[i], i};
        source.first_row[i] = row;
        while (row < table->row_count && table->row_nodes[row] == i)
            row++;
    }
    source.first_row[count] = row;
    if (count)
        qsort(source.places, count, sizeof *source.places, by_id);
    return source;
}

static void source_free(struct source *source)
{
    free(source->places);
    free(source->first_row);
    free(source->name_of);
}

/* UINT32_MAX: nothing of that node. */
static uint32_t entry_of(const struct source *source, uint64_t id)
{
    struct place key = {.id = id};
    const struct place *found =
        source->table->node_count
            ? bsearch(&key, source->places, source->table->node_count,
                      sizeof key, by_id)
            : NULL;
    return found ? found->entry : UINT32_MAX;
}

/* Both lists are sorted, each name once. */
static void join_names(struct source sources[2], struct vector_table *ret)
{
    const struct vector_table *a = sources[0].table, *b = sources[1].table;
    uint32_t i = 0, k = 0;
    ret->names =
        mem_alloc(((size_t)a->name_count + b->name_count) * sizeof *ret->names);
    for (int s = 0; s < 2; s++)
        sources[s].name_of = mem_alloc(sources[s].table->name_count *
                                       sizeof *sources[s].name_of);
    while (i < a->name_count || k < b->name_count) {
        int order = i == a->name_count ? 1
                    : k == b->name_count
                        ? -1
                        : hash_compare(&a->names[i], &b->names[k]);
        ret->names[ret->name_count] = order <= 0 ? a->names[i] : b->names[k];
        if (order <= 0)
            sources[0].name_of[i++] = ret->name_count;
        if (order >= 0)
            sources[1].name_of[k++] = ret->name_count;
        ret->name_count++;
    }
}

static void add_entry(struct vector_table *ret, const struct source *source,
                      uint32_t entry)
{
    const struct vector_table *from = source->table;
    size_t width = ret->width;
    uint32_t to = ret->node_count++;
    ret->nodes[to] = from->nodes[entry];
    memcpy(ret->subtrees + to * width, from->subtrees + entry * width,
           width * sizeof *ret->subtrees);
    for (uint32_t row = source->first_row[entry];
         row < source->first_row[entry + 1]; row++) {
        ret->row_nodes[ret->row_count] = to;
        if (ret->row_names)
            ret->row_names[ret->row_count] =
                source->name_of[from->row_names[row]];
        else
            memcpy(ret->keys + ret->row_count * width, from->keys + row * width,
                   width * sizeof *ret->keys);
        ret->row_count++;
    }
}

int vector_table_join(const struct vector_table *older,
                      const struct vector_table *newer, const uint64_t *ids,
                      uint32_t count, struct vector_table *ret, struct err *err)
{
    if (older->width != newer->width ||
        !older->row_names != !newer->row_names ||
        !hash_equal(older->policy, newer->policy))
        return err_set(err, ERR_FORMAT, "vectors of two kinds");
    struct source sources[] = {source_of(older), source_of(newer)};
    size_t rows = (size_t)older->row_count + newer->row_count;
    *ret = (struct vector_table){.base = newer->base,
                                 .policy = newer->policy,
                                 .generation = newer->generation,
                                 .width = newer->width,
                                 .segments = newer->segments,
                                 .tokens = newer->tokens};
    join_names(sources, ret);
    ret->nodes = mem_alloc(count * sizeof *ret->nodes);
    ret->subtrees = mem_alloc(count * ret->width * sizeof *ret->subtrees);
    ret->row_nodes = mem_alloc(rows * sizeof *ret->row_nodes);
    if (newer->row_names)
        ret->row_names = mem_alloc(rows * sizeof *ret->row_names);
    else
        ret->keys = mem_alloc(rows * ret->width * sizeof *ret->keys);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = entry_of(&sources[1], ids[i]);
        int which = entry != UINT32_MAX;
        if (!which)
            entry = entry_of(&sources[0], ids[i]);
        if (entry != UINT32_MAX)
            add_entry(ret, &sources[which], entry);
    }
    source_free(&sources[0]);
    source_free(&sources[1]);
    return 0;
}

/* ---- From the store ---- */

struct encoded {
    struct slice base, delta; /* empty: none */
};

static int find(struct store_txn *txn, uint32_t manual, struct encoded *ret,
                struct err *err)
{
    ret->delta = (struct slice){"", 0};
    int code = store_get_vectors(txn, manual, &ret->base, err);
    if (code)
        return code;
    code = store_get_vector_delta(txn, manual, &ret->delta, err);
    return code == ERR_NOT_FOUND ? 0 : code;
}

static int take(const struct encoded *encoded,
                int (*decode)(struct slice, struct vector_table *,
                              struct err *),
                struct vector_table *ret_base, struct vector_table *ret_delta,
                struct err *err)
{
    struct vector_table base, delta = {0};
    int code = decode(encoded->base, &base, err);
    if (code)
        return code;
    if (encoded->delta.size)
        code = decode(encoded->delta, &delta, err);
    if (!code &&
        (base.base ||
         (encoded->delta.size &&
          (!delta.base || delta.base != vector_table_hash(encoded->base))))) {
        vector_table_free(&delta);
        code = err_set(err, ERR_FORMAT, "vectors that are not of their base");
    }
    if (code) {
        vector_table_free(&base);
        return code;
    }
    *ret_base = base;
    *ret_delta = delta;
    return 0;
}

int vectors_heads(struct store_txn *txn, uint32_t manual,
                  struct vector_table *ret_base, struct vector_table *ret_delta,
                  struct err *err)
{
    struct encoded encoded;
    int code = find(txn, manual, &encoded, err);
    return code ? code
                : take(&encoded, vector_table_head, ret_base, ret_delta, err);
}

int vectors_read(struct store_txn *txn, uint32_t manual, const uint64_t *ids,
                 uint32_t count, struct vector_table *ret, struct err *err)
{
    struct encoded encoded;
    struct vector_table base, delta;
    int code = find(txn, manual, &encoded, err);
    if (!code)
        code = take(&encoded, vector_table_decode, &base, &delta, err);
    if (code)
        return code;
    if (!encoded.delta.size) {
        *ret = base;
        return 0;
    }
    code = vector_table_join(&base, &delta, ids, count, ret, err);
    if (!code)
        ret->base = 0;
    vector_table_free(&base);
    vector_table_free(&delta);
    return code;
}
