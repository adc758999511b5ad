#include "memory/snapshot/volume.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/url.h"
#include "memory/lexical/analyze.h"
#include "memory/vectors/vectors.h"

static void free_generation(struct volume *volume)
{
    if (volume->files)
        for (uint32_t i = 0; i < volume->outline->file_count; i++)
            file_free(&volume->files[i]);
    free(volume->files);
    free(volume->by_id);
    free(volume->anchors);
    free(volume->nodes);
    if (volume->kinds)
        free(atomic_load(&volume->kinds->sets));
    free(volume->kinds);
    tree_free(volume->outline);
}

void volume_free(struct volume *volume)
{
    vectors_close(volume->vectors);
    manual_free(&volume->manual);
    if (!volume->of)
        free_generation(volume);
    free(volume);
}

/* ---- Reading a generation ---- */

static int by_number(const void *a, const void *b)
{
    const struct volume_id *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

uint32_t volume_find(const struct volume *volume, uint64_t id)
{
    struct volume_id key = {.id = id};
    const struct volume_id *found = bsearch(
        &key, volume->by_id, volume->outline->count, sizeof key, by_number);
    return found ? found->node : (uint32_t)TREE_NONE;
}

static void ignore_term(void *context, const struct term_at *at)
{
    (void)context;
    (void)at;
}

static int by_anchor(const void *a, const void *b)
{
    const struct volume_anchor *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static uint64_t anchor_hash(uint32_t file, struct slice anchor)
{
    return hash_bytes64(anchor.data, anchor.size) ^
           (file + (uint64_t)1) * 0x9E3779B97F4A7C15u;
}

static void add_anchor(struct volume *volume, size_t *capacity, uint32_t node,
                       struct slice anchor)
{
    void *anchors = volume->anchors;
    mem_reserve(&anchors, capacity, volume->anchor_count + 1,
                sizeof *volume->anchors);
    volume->anchors = anchors;
    uint32_t file = volume->outline->nodes[node].source_tree;
    volume->anchors[volume->anchor_count++] =
        (struct volume_anchor){anchor_hash(file, anchor), node};
}

/* The first node of a file stands for the file. */
static void index_anchors(struct volume *volume)
{
    const struct tree *outline = volume->outline;
    bool *met = mem_alloc(outline->file_count * sizeof *met);
    size_t capacity = 0;
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        if (node->source_tree == TREE_NONE)
            continue;
        if (!met[node->source_tree])
            add_anchor(volume, &capacity, n, (struct slice){"", 0});
        met[node->source_tree] = true;
        if (node->anchor.size)
            add_anchor(volume, &capacity, n, node->anchor);
        for (uint32_t i = 0; i < node->anchor_count; i++)
            add_anchor(volume, &capacity, n, node->anchors[i]);
    }
    if (volume->anchor_count)
        qsort(volume->anchors, volume->anchor_count, sizeof *volume->anchors,
              by_anchor);
    free(met);
}

static bool has_sections(const struct tree *outline)
{
    for (uint32_t n = 0; n < outline->count; n++)
        if (outline->nodes[n].words && !outline->nodes[n].entry)
            return true;
    return false;
}

/* Means are of sections: entries are parts of them.  A manual of nothing but
 * entries has theirs. */
static void measure(struct volume *volume)
{
    const struct tree *outline = volume->outline;
    struct term_maker *maker = term_maker_new();
    bool sections = has_sections(outline);
    double words = 0, title_words = 0, measured = 0;
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        size_t title = terms_of(maker, node->title, ignore_term, NULL);
        volume->nodes[n] = (struct volume_node){
            .parent = node->parent,
            .file = node->source_tree,
            .words = node->words,
            .names = node->alias_count,
            .title_words = (uint16_t)(title < UINT16_MAX ? title : UINT16_MAX),
            .entry = node->entry};
        volume->by_id[n] = (struct volume_id){node->id, n};
        if (!node->words)
            continue;
        volume->owners++;
        if (sections && node->entry)
            continue;
        measured++;
        words += node->words;
        title_words += volume->nodes[n].title_words;
    }
    term_maker_free(maker);
    for (uint32_t n = outline->count; n-- > 0;) {
        struct volume_node *node = &volume->nodes[n];
        node->owned += node->words > 0;
        if (node->parent != TREE_NONE)
            volume->nodes[node->parent].owned += node->owned;
    }
    qsort(volume->by_id, outline->count, sizeof *volume->by_id, by_number);
    if (measured > 0) {
        volume->mean_words = words / measured;
        volume->mean_title_words = title_words / measured;
    }
}

/* The files' records in the order of the outline's list of files: both are
 * sorted by path, the records may hold failed files besides. */
static int match_files(struct volume *volume, struct file *files, size_t count,
                       struct err *err)
{
    const struct tree *outline = volume->outline;
    volume->files = mem_alloc(outline->file_count * sizeof *volume->files);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (at < outline->file_count &&
            slice_is(outline->files[at], files[i].path))
            volume->files[at++] = files[i];
        else
            file_free(&files[i]);
    }
    if (at == outline->file_count)
        return 0;
    return err_set(err, ERR_STORE, "manual %s: its outline and files differ",
                   volume->manual.name);
}

static int open_vectors(struct store_txn *txn, struct volume *volume,
                        struct err *err)
{
    const struct tree *outline = volume->outline;
    struct vector_table table;
    uint64_t *ids = mem_alloc(outline->count * sizeof *ids);
    for (uint32_t n = 0; n < outline->count; n++)
        ids[n] = outline->nodes[n].id;
    int code =
        vectors_read(txn, volume->manual.id, ids, outline->count, &table, err);
    free(ids);
    if (code)
        return code;
    code = vector_table_read_keys(txn, &table, err);
    if (code) {
        vector_table_free(&table);
        return code;
    }
    uint32_t *node_of = mem_alloc(table.node_count * sizeof *node_of);
    for (uint32_t i = 0; i < table.node_count; i++)
        node_of[i] = volume_find(volume, table.nodes[i]);
    code = vectors_open(&table, node_of, volume->outline->count,
                        &volume->vectors, err);
    free(node_of);
    return code;
}

/* A manual without them is found by its words. */
static void read_vectors(struct store_txn *txn, struct volume *volume)
{
    struct err err;
    if (open_vectors(txn, volume, &err))
        log_warn("%s is searched by words alone, its memories cannot be read "
                 "until they are made again: %s",
                 volume->manual.name, err.message);
}

struct volume *volume_share(struct volume *of)
{
    struct volume *volume = mem_alloc(sizeof *volume);
    *volume = *of;
    volume->of = of;
    volume->references = 0;
    volume->vectors = NULL;
    volume->manual = (struct manual){0};
    return volume;
}

void volume_take_vectors(struct store_txn *txn, struct manual *manual,
                         struct volume *volume)
{
    volume->manual = *manual;
    *manual = (struct manual){0};
    if (volume->manual.vectors)
        read_vectors(txn, volume);
}

int volume_read(struct store_txn *txn, struct manual *manual,
                struct volume **ret_volume, struct err *err)
{
    struct file *files = NULL;
    size_t count = 0;
    struct volume *volume = mem_alloc(sizeof *volume);
    volume->manual = *manual;
    *manual = (struct manual){0};
    int code =
        store_get_outline(txn, volume->manual.id, volume->manual.generation,
                          &volume->outline, err);
    if (!code)
        code = store_list_files(txn, volume->manual.id, &files, &count, err);
    if (!code)
        code = match_files(volume, files, count, err);
    free(files);
    if (code) {
        volume_free(volume);
        return code;
    }
    volume->by_id = mem_alloc(volume->outline->count * sizeof *volume->by_id);
    volume->nodes = mem_alloc(volume->outline->count * sizeof *volume->nodes);
    volume->kinds = mem_alloc(sizeof *volume->kinds);
    measure(volume);
    index_anchors(volume);
    if (volume->manual.vectors)
        read_vectors(txn, volume);
    *ret_volume = volume;
    return 0;
}

/* ---- Finding ---- */

uint32_t *volume_path(const struct volume *volume, uint32_t node,
                      size_t *ret_count)
{
    const struct node *nodes = volume->outline->nodes;
    size_t count = 1;
    for (uint32_t n = node;
         nodes[n].parent != TREE_NONE && nodes[n].parent != 0;
         n = nodes[n].parent)
        count++;
    uint32_t *path = mem_alloc(count * sizeof *path);
    for (size_t i = count; i-- > 0; node = nodes[node].parent)
        path[i] = node;
    *ret_count = count;
    return path;
}

/* ---- Links ---- */

static bool has_anchor(const struct node *node, struct slice anchor)
{
    if (!anchor.size || slice_equal(node->anchor, anchor))
        return true;
    for (uint32_t i = 0; i < node->anchor_count; i++)
        if (slice_equal(node->anchors[i], anchor))
            return true;
    return false;
}

static uint32_t find_anchor(const struct volume *volume, uint32_t file,
                            struct slice anchor)
{
    struct volume_anchor key = {anchor_hash(file, anchor), 0};
    size_t low = 0, high = volume->anchor_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_anchor(&volume->anchors[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < volume->anchor_count && volume->anchors[low].hash == key.hash;
         low++) {
        uint32_t node = volume->anchors[low].node;
        if (volume->outline->nodes[node].source_tree == file &&
            has_anchor(&volume->outline->nodes[node], anchor))
            return node;
    }
    return TREE_NONE;
}

uint32_t volume_file(const struct volume *volume, const char *path)
{
    const struct tree *outline = volume->outline;
    uint32_t low = 0, high = outline->file_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(outline->files[middle].data, path);
        if (!order)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return TREE_NONE;
}

uint32_t volume_follow(const struct volume *volume, uint32_t node,
                       struct slice url)
{
    const struct tree *outline = volume->outline;
    uint32_t source = outline->nodes[node].source_tree, found = TREE_NONE;
    struct buf path = {0}, anchor = {0};
    if (source != TREE_NONE &&
        url_resolve(outline->files[source], url, &path, &anchor)) {
        uint32_t file = volume_file(volume, path.data);
        if (file == TREE_NONE) {
            url_other_packing(&path);
            file = volume_file(volume, path.data);
        }
        if (file != TREE_NONE)
            found = find_anchor(volume, file, buf_slice(&anchor));
        if (file != TREE_NONE && found == TREE_NONE)
            found = find_anchor(volume, file, (struct slice){"", 0});
    }
    buf_free(&path);
    buf_free(&anchor);
    return found;
}
