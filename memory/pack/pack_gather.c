/* From a store into a pack, of one moment. */
#include <stdlib.h>
#include <string.h>

#include "memory/pack/pack_internal.h"

struct gathering {
    struct store_txn *txn;
    struct manual manual;
    struct file *files; /* [count] */
    size_t count;
    struct pack pack;
    struct buf *bytes; /* [count] of trees, then of files: what slices are of */
    size_t byte_count, byte_capacity;
    uint64_t *ids; /* [outline->count] as the store has them */
    pack_read_file *read;
    void *context;
};

/* Keeps the bytes as long as the gathering lives. */
static struct slice keep(struct gathering *g, struct buf bytes)
{
    MEM_RESERVE(g->bytes, &g->byte_capacity, g->byte_count + 1);
    g->bytes[g->byte_count++] = bytes;
    return buf_slice(&bytes);
}

/* ---- Trees and files ---- */

static int by_name(const void *a, const void *b)
{
    return hash_compare(a, b); /* the name comes first */
}

static int add_tree(struct gathering *g, size_t file, struct hash128 *ret_name,
                    struct err *err)
{
    struct buf bytes = {0};
    struct tree *tree;
    int code = store_get_tree(g->txn, g->files[file].tree, &tree, err);
    if (code)
        return err_set(err, ERR_STORE,
                       "the tree of %s cannot be read: lectern verify",
                       g->files[file].path);
    tree_encode(tree, &bytes);
    tree_free(tree);
    *ret_name = hash_bytes(bytes.data, bytes.size);
    g->pack.trees[g->pack.tree_count++] =
        (struct pack_tree){*ret_name, keep(g, bytes)};
    return 0;
}

/* Each once. */
static void sort_trees(struct pack *pack)
{
    size_t kept = 0;
    if (pack->tree_count)
        qsort(pack->trees, pack->tree_count, sizeof *pack->trees, by_name);
    for (size_t i = 0; i < pack->tree_count; i++)
        if (!kept ||
            hash_compare(&pack->trees[kept - 1].name, &pack->trees[i].name))
            pack->trees[kept++] = pack->trees[i];
    pack->tree_count = kept;
}

static uint32_t tree_number(const struct pack *pack, struct hash128 name)
{
    struct pack_tree key = {.name = name};
    const struct pack_tree *found =
        bsearch(&key, pack->trees, pack->tree_count, sizeof key, by_name);
    return (uint32_t)(found - pack->trees) + 1;
}

static int add_bytes(struct gathering *g, size_t file, struct err *err)
{
    struct buf bytes = {0};
    int code = g->read(g->context, &g->manual, &g->files[file], &bytes, err);
    if (code) {
        buf_free(&bytes);
        return code;
    }
    buf_put(&bytes, "", 0);
    g->pack.files[file].bytes = keep(g, bytes);
    return 0;
}

/* Of what failed only that it did. */
static int add_file(struct gathering *g, size_t i, struct err *err)
{
    const struct file *from = &g->files[i];
    bool indexed = from->state == FILE_INDEXED;
    g->pack.files[g->pack.file_count++] = (struct pack_file){
        .path = mem_strdup(from->path),
        .size = indexed ? from->size : 0,
        .content = indexed ? from->content : (struct hash128){0},
        .state = from->state,
        .failure = mem_strdup(from->failure),
        .reports = mem_strdup(from->reports ? from->reports : "")};
    return indexed && g->read ? add_bytes(g, i, err) : 0;
}

static int gather_files(struct gathering *g, struct err *err)
{
    struct hash128 *names = mem_alloc(g->count * sizeof *names);
    int code = 0;
    g->pack.trees = mem_alloc(g->count * sizeof *g->pack.trees);
    g->pack.files = mem_alloc(g->count * sizeof *g->pack.files);
    for (size_t i = 0; i < g->count && !code; i++) {
        code = add_file(g, i, err);
        if (!code && g->files[i].state == FILE_INDEXED)
            code = add_tree(g, i, &names[i], err);
    }
    sort_trees(&g->pack);
    for (size_t i = 0; i < g->count && !code; i++)
        if (g->files[i].state == FILE_INDEXED)
            g->pack.files[i].tree = tree_number(&g->pack, names[i]);
    free(names);
    return code;
}

/* ---- Outline and vectors ---- */

struct numbered {
    uint64_t id;
    uint64_t number;
};

static int by_id(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int gather_outline(struct gathering *g, struct err *err)
{
    int code = store_get_outline(g->txn, g->manual.id, g->manual.generation,
                                 &g->pack.outline, err);
    if (code)
        return err_set(err, ERR_STORE,
                       "the outline of %s cannot be read: lectern verify",
                       g->manual.name);
    struct tree *outline = g->pack.outline;
    g->ids = mem_alloc(outline->count * sizeof *g->ids);
    for (uint32_t n = 0; n < outline->count; n++) {
        g->ids[n] = outline->nodes[n].id;
        outline->nodes[n].id = (uint64_t)n + 1;
    }
    return 0;
}

static int number_vectors(struct gathering *g, struct err *err)
{
    const struct tree *outline = g->pack.outline;
    struct vector_table *table = &g->pack.vectors;
    struct numbered *known = mem_alloc(outline->count * sizeof *known);
    for (uint32_t n = 0; n < outline->count; n++)
        known[n] = (struct numbered){g->ids[n], (uint64_t)n + 1};
    qsort(known, outline->count, sizeof *known, by_id);
    int code = 0;
    for (uint32_t i = 0; i < table->node_count && !code; i++) {
        struct numbered key = {.id = table->nodes[i]};
        const struct numbered *found =
            bsearch(&key, known, outline->count, sizeof key, by_id);
        if (found)
            table->nodes[i] = found->number;
        else
            code = err_set(err, ERR_STORE,
                           "the vectors of %s are of other nodes: lectern "
                           "verify",
                           g->manual.name);
    }
    free(known);
    table->generation = 1;
    return code;
}

/* What vectors were made of: segments of nodes, or memories. */
static int add_name(struct gathering *g, struct hash128 name, struct err *err)
{
    struct pack *pack = &g->pack;
    struct slice value;
    int code = store_get_segments(g->txn, name, &value, NULL);
    if (!code) {
        pack->segments[pack->segment_count++] =
            (struct pack_record){name, value};
        return 0;
    }
    if (store_get_memory_bytes(g->txn, name, &value, NULL))
        return err_set(err, ERR_STORE,
                       "a memory of %s is missing: lectern verify",
                       g->manual.name);
    pack->memories[pack->memory_count++] = (struct pack_record){name, value};
    return 0;
}

/* Vectors that are behind the text would be of no use elsewhere. */
static int check_current(const struct gathering *g, bool *ret_any,
                         struct err *err)
{
    struct vector_table base, delta;
    int code = vectors_heads(g->txn, g->manual.id, &base, &delta, err);
    *ret_any = !code;
    if (code)
        return code == ERR_NOT_FOUND ? 0 : code;
    bool current =
        vectors_newest(&base, &delta)->generation == g->manual.generation;
    vector_table_free(&base);
    vector_table_free(&delta);
    return current ? 0
                   : err_set(err, ERR_STALE,
                             "the memories of %s are being made: lectern wait "
                             "-c %s",
                             g->manual.name, g->manual.name);
}

static int gather_vectors(struct gathering *g, struct err *err)
{
    struct pack *pack = &g->pack;
    bool any;
    int code = check_current(g, &any, err);
    if (code || !any)
        return code;
    code = vectors_read(g->txn, g->manual.id, g->ids, pack->outline->count,
                        &pack->vectors, err);
    if (!code)
        code = number_vectors(g, err);
    size_t count = pack->vectors.name_count;
    pack->segments = mem_alloc(count * sizeof *pack->segments);
    pack->memories = mem_alloc(count * sizeof *pack->memories);
    for (size_t i = 0; i < count && !code; i++)
        code = add_name(g, pack->vectors.names[i], err);
    return code;
}

/* ---- All of it ---- */

static int gather(struct gathering *g, const char *manual, struct err *err)
{
    int code = store_find_manual(g->txn, manual, &g->manual, err);
    if (!code && !g->manual.generation)
        code = err_set(err, ERR_NOT_FOUND,
                       "%s is not indexed yet: lectern wait -c %s", manual,
                       manual);
    if (!code)
        code =
            store_list_files(g->txn, g->manual.id, &g->files, &g->count, err);
    if (!code)
        code = gather_outline(g, err);
    if (!code)
        code = gather_files(g, err);
    if (!code)
        code = gather_vectors(g, err);
    return code;
}

static void gathering_free(struct gathering *g)
{
    for (size_t i = 0; i < g->count; i++)
        file_free(&g->files[i]);
    for (size_t i = 0; i < g->byte_count; i++)
        buf_free(&g->bytes[i]);
    free(g->files);
    free(g->bytes);
    free(g->ids);
    pack_free(&g->pack);
    manual_free(&g->manual);
}

int pack_gather(struct store *store, const char *manual, pack_read_file *read,
                void *context, struct buf *ret_body, struct err *err)
{
    struct gathering g = {.read = read, .context = context};
    int code = store_read(store, &g.txn, err);
    if (code)
        return code;
    code = gather(&g, manual, err);
    if (!code) {
        g.pack.name = mem_strdup(g.manual.name);
        g.pack.ignore = mem_strdup(g.manual.ignore);
        pack_encode(&g.pack, ret_body);
    }
    store_end(g.txn);
    gathering_free(&g);
    return code;
}
