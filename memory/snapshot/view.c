#include "memory/snapshot/view.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/log.h"
#include "base/url.h"
#include "memory/lexical/analyze.h"
#include "memory/lexical/term_filter.h"
#include "memory/vectors/vectors.h"

static void free_generation(struct view *view)
{
    if (view->files)
        for (uint32_t i = 0; i < view->outline->file_count; i++)
            file_free(&view->files[i]);
    free(view->files);
    free(view->checked);
    free(view->runs);
    free(view->anchors);
    free(view->nodes);
    free(view->ends);
    free(view->texts);
    free(view->named);
    if (view->kinds)
        free(atomic_load(&view->kinds->sets));
    free(view->kinds);
    term_filter_free(view->terms);
    tree_free(view->outline);
}

void view_free(struct view *view)
{
    vectors_close(view->vectors);
    manual_free(&view->manual);
    if (!view->of)
        free_generation(view);
    free(view);
}

/* ---- Reading a generation ---- */

struct numbered {
    uint64_t id;
    uint32_t node;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Adds a node, by ascending id. */
static void add_to_runs(struct view *view, size_t *capacity,
                        struct numbered next)
{
    struct view_run *last =
        view->run_count ? &view->runs[view->run_count - 1] : NULL;
    if (last && next.id - last->id == last->count &&
        next.node - last->node == last->count) {
        last->count++;
        return;
    }
    MEM_RESERVE(view->runs, capacity, view->run_count + 1);
    view->runs[view->run_count++] = (struct view_run){next.id, next.node, 1};
}

static void find_runs(struct view *view)
{
    uint32_t count = view->outline->count;
    struct numbered *nodes = mem_alloc(count * sizeof *nodes);
    size_t capacity = 0;
    for (uint32_t n = 0; n < count; n++)
        nodes[n] = (struct numbered){view->outline->nodes[n].id, n};
    if (count)
        qsort(nodes, count, sizeof *nodes, by_number);
    for (uint32_t n = 0; n < count; n++)
        add_to_runs(view, &capacity, nodes[n]);
    free(nodes);
}

const struct view_run *view_run_of(const struct view *view, uint64_t id)
{
    size_t low = 0, high = view->run_count; /* the last that begins by it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (view->runs[middle].id <= id)
            low = middle + 1;
        else
            high = middle;
    }
    const struct view_run *run = low ? &view->runs[low - 1] : NULL;
    return run && id - run->id < run->count ? run : NULL;
}

uint32_t view_find(const struct view *view, uint64_t id)
{
    const struct view_run *run = view_run_of(view, id);
    return run ? run->node + (uint32_t)(id - run->id) : (uint32_t)TREE_NONE;
}

static void ignore_term(void *context, const struct term_at *at)
{
    (void)context;
    (void)at;
}

static int by_anchor(const void *a, const void *b)
{
    const struct view_anchor *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static uint64_t anchor_hash(uint32_t file, struct slice anchor)
{
    return hash_bytes64(anchor.data, anchor.size) ^
           (file + (uint64_t)1) * 0x9E3779B97F4A7C15u;
}

static void add_anchor(struct view *view, size_t *capacity, uint32_t node,
                       struct slice anchor)
{
    MEM_RESERVE(view->anchors, capacity, view->anchor_count + 1);
    uint32_t file = view->outline->nodes[node].source_tree;
    view->anchors[view->anchor_count++] =
        (struct view_anchor){anchor_hash(file, anchor), node};
}

/* The first node of a file stands for the file. */
static void index_anchors(struct view *view)
{
    const struct tree *outline = view->outline;
    bool *met = mem_alloc(outline->file_count * sizeof *met);
    size_t capacity = 0;
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        if (node->source_tree == TREE_NONE)
            continue;
        if (!met[node->source_tree])
            add_anchor(view, &capacity, n, (struct slice){"", 0});
        met[node->source_tree] = true;
        if (node->anchor.size)
            add_anchor(view, &capacity, n, node->anchor);
        for (uint32_t i = 0; i < node->anchor_count; i++)
            add_anchor(view, &capacity, n, node->anchors[i]);
    }
    if (view->anchor_count)
        qsort(view->anchors, view->anchor_count, sizeof *view->anchors,
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
static void measure(struct view *view)
{
    const struct tree *outline = view->outline;
    struct analyzer *maker = analyzer_new();
    bool sections = has_sections(outline);
    double words = 0, title_words = 0, measured = 0;
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        size_t title = analyze(maker, node->title, ignore_term, NULL);
        view->nodes[n] = (struct view_node){
            .parent = node->parent,
            .file = node->source_tree,
            .words = node->words,
            .names = node->alias_count,
            .title_words = (uint16_t)(title < UINT16_MAX ? title : UINT16_MAX),
            .entry = node->entry};
        view->ends[n] = node->end;
        if (node->words || title)
            bitset_add(view->named, n);
        if (!node->words)
            continue;
        bitset_add(view->texts, n);
        view->owners++;
        if (sections && node->entry)
            continue;
        measured++;
        words += node->words;
        title_words += view->nodes[n].title_words;
    }
    analyzer_free(maker);
    for (uint32_t n = outline->count; n-- > 0;) {
        struct view_node *node = &view->nodes[n];
        node->owned += node->words > 0;
        if (node->parent != TREE_NONE)
            view->nodes[node->parent].owned += node->owned;
    }
    if (measured > 0) {
        view->mean_words = words / measured;
        view->mean_title_words = title_words / measured;
    }
}

/* The files' records in the order of the outline's list of files: both are
 * sorted by path, the records may hold failed files besides. */
static int match_files(struct view *view, struct file *files, size_t count,
                       struct err *err)
{
    const struct tree *outline = view->outline;
    view->files = mem_alloc(outline->file_count * sizeof *view->files);
    view->checked = mem_alloc(outline->file_count * sizeof *view->checked);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (at < outline->file_count &&
            slice_is(outline->files[at], files[i].path))
            view->files[at++] = files[i];
        else
            file_free(&files[i]);
    }
    if (at == outline->file_count)
        return 0;
    return err_set(err, ERR_STORE, "manual %s: its outline and files differ",
                   view->manual.name);
}

static int open_vectors(struct store_txn *txn, struct view *view,
                        struct err *err)
{
    const struct tree *outline = view->outline;
    struct vector_table table;
    uint64_t *ids = mem_alloc(outline->count * sizeof *ids);
    for (uint32_t n = 0; n < outline->count; n++)
        ids[n] = outline->nodes[n].id;
    int code =
        vectors_read(txn, view->manual.id, ids, outline->count, &table, err);
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
        node_of[i] = view_find(view, table.nodes[i]);
    code = vectors_open(&table, node_of, view->outline->count, &view->vectors,
                        err);
    free(node_of);
    return code;
}

/* A manual without them is found by its words. */
static void read_vectors(struct store_txn *txn, struct view *view)
{
    struct err err;
    if (open_vectors(txn, view, &err))
        log_warn("%s is searched by words alone, its memories cannot be read "
                 "until they are made again: %s",
                 view->manual.name, err.message);
}

struct view *view_share(struct view *of)
{
    struct view *view = mem_alloc(sizeof *view);
    *view = *of;
    view->of = of;
    view->references = 0;
    view->vectors = NULL;
    view->manual = (struct manual){0};
    return view;
}

void view_take_vectors(struct store_txn *txn, struct manual *manual,
                       struct view *view)
{
    view->manual = *manual;
    *manual = (struct manual){0};
    if (view->manual.vectors)
        read_vectors(txn, view);
}

int view_read(struct store_txn *txn, struct manual *manual,
              struct view **ret_view, struct err *err)
{
    struct file *files = NULL;
    size_t count = 0;
    struct view *view = mem_alloc(sizeof *view);
    view->manual = *manual;
    *manual = (struct manual){0};
    int code = store_get_outline(txn, view->manual.id, view->manual.generation,
                                 &view->outline, err);
    if (!code)
        code = store_list_files(txn, view->manual.id, &files, &count, err);
    if (!code)
        code = match_files(view, files, count, err);
    free(files);
    if (code) {
        view_free(view);
        return code;
    }
    view->nodes = mem_alloc(view->outline->count * sizeof *view->nodes);
    size_t words = bitset_words(view->outline->count);
    view->ends = mem_alloc(view->outline->count * sizeof *view->ends);
    view->texts = mem_alloc(words * sizeof *view->texts);
    view->named = mem_alloc(words * sizeof *view->named);
    view->kinds = mem_alloc(sizeof *view->kinds);
    measure(view);
    find_runs(view);
    index_anchors(view);
    /* What is damaged there is told when it is asked for. */
    if (term_filter_read(txn, view->manual.id, view->manual.epoch, &view->terms,
                         NULL))
        view->terms = NULL;
    if (view->manual.vectors)
        read_vectors(txn, view);
    *ret_view = view;
    return 0;
}

/* ---- Finding ---- */

uint32_t *view_path(const struct view *view, uint32_t node, size_t *ret_count)
{
    const struct node *nodes = view->outline->nodes;
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

static uint32_t find_anchor(const struct view *view, uint32_t file,
                            struct slice anchor)
{
    struct view_anchor key = {anchor_hash(file, anchor), 0};
    size_t low = 0, high = view->anchor_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_anchor(&view->anchors[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < view->anchor_count && view->anchors[low].hash == key.hash;
         low++) {
        uint32_t node = view->anchors[low].node;
        if (view->outline->nodes[node].source_tree == file &&
            has_anchor(&view->outline->nodes[node], anchor))
            return node;
    }
    return TREE_NONE;
}

uint32_t view_file(const struct view *view, const char *path)
{
    const struct tree *outline = view->outline;
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

uint32_t view_follow(const struct view *view, uint32_t node, struct slice url)
{
    const struct tree *outline = view->outline;
    uint32_t source = outline->nodes[node].source_tree, found = TREE_NONE;
    struct buf path = {0}, anchor = {0};
    if (source != TREE_NONE &&
        url_resolve(outline->files[source], url, &path, &anchor)) {
        uint32_t file = view_file(view, path.data);
        if (file == TREE_NONE) {
            url_other_packing(&path);
            file = view_file(view, path.data);
        }
        if (file != TREE_NONE)
            found = find_anchor(view, file, buf_slice(&anchor));
        if (file != TREE_NONE && found == TREE_NONE)
            found = find_anchor(view, file, (struct slice){"", 0});
    }
    buf_free(&path);
    buf_free(&anchor);
    return found;
}
