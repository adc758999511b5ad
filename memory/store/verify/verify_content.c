/* Files, outline, trees and postings of a manual.
 *
 * Postings are compared node by node: of every posting that is kept, and of
 * every one that the node's text gives, a hash is added up; the sums are equal
 * when the postings are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/lexical/lexical.h"
#include "memory/store/verify/verify_internal.h"

/* ---- Files ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path,
                  ((const struct file *)b)->path);
}

/* A tree that came in a pack is named by its own bytes (memory/pack). */
static bool is_named_by_bytes(struct verification *v, const struct file *file)
{
    struct store_txn *txn;
    struct tree *tree;
    struct buf bytes = {0};
    if (store_read(v->options->store, &txn, NULL))
        return false;
    int code = store_get_tree(txn, file->tree, &tree, NULL);
    store_end(txn);
    if (code)
        return false;
    tree_encode(tree, &bytes);
    tree_free(tree);
    bool same = hash_equal(hash_bytes(bytes.data, bytes.size), file->tree);
    buf_free(&bytes);
    return same;
}

static void check_file(struct verification *v, const struct file *file)
{
    const struct verify_options *o = v->options;
    bool failed =
        file->state == FILE_FAILED || file->state == FILE_NOT_FOLLOWED;
    bool read = file->content.low || file->content.high;
    if (file->state != FILE_INDEXED && !failed)
        verify_fault(v, TABLE_FILES, REMEDY_FORCE, file->path,
                     "its state %d means nothing", file->state);
    if (failed != (file->failure[0] != 0))
        verify_fault(v, TABLE_FILES, REMEDY_FORCE, file->path,
                     failed ? "it failed for no reason"
                            : "it is indexed, and failed: %s",
                     file->failure);
    if ((!failed || read) && !o->is_tree(file) && !is_named_by_bytes(v, file))
        verify_fault(v, TABLE_FILES, REMEDY_FORCE, file->path,
                     "its tree is not that of its content");
}

static int take_file(void *context, struct slice key, struct slice value,
                     struct err *err)
{
    struct verification *v = context;
    char right[MDB_MAX_KEY];
    struct file file;
    struct err cause;
    (void)err;
    v->report.files++;
    if (file_read_record(value, &file, &cause)) {
        verify_fault(v, TABLE_FILES, REMEDY_REPAIR, "a record", "%s",
                     cause.message);
        verify_doom(v, TABLE_FILES, key);
        return 0;
    }
    if (!slice_equal(key, file_key(right, v->manual.id, file.path))) {
        verify_fault(v, TABLE_FILES, REMEDY_REPAIR, file.path,
                     "its record stands under another file's name");
        verify_doom(v, TABLE_FILES, key);
        file_free(&file);
        return 0;
    }
    check_file(v, &file);
    MEM_RESERVE(v->files, &v->file_capacity, v->file_count + 1);
    v->files[v->file_count++] = file;
    return 0;
}

static struct file *find_file(struct verification *v, struct slice path)
{
    struct file key = {.path = mem_strndup(path.data, path.size)};
    struct file *found = v->file_count ? bsearch(&key, v->files, v->file_count,
                                                 sizeof key, by_path)
                                       : NULL;
    free(key.path);
    return found;
}

static void check_totals(struct verification *v)
{
    const struct manual *m = &v->manual;
    uint64_t failed = 0, indexed = 0, not_followed = 0, words = 0;
    for (size_t i = 0; i < v->file_count; i++) {
        failed += v->files[i].state == FILE_FAILED;
        indexed += v->files[i].state == FILE_INDEXED;
        not_followed += v->files[i].state == FILE_NOT_FOLLOWED;
    }
    if (m->failed != failed || m->files != indexed ||
        m->not_followed != not_followed)
        verify_fault(
            v, TABLE_MANUALS, REMEDY_FORCE, m->name,
            "it counts %llu files, %llu failed and %llu links not followed, "
            "there are %llu, %llu and %llu",
            (unsigned long long)m->files, (unsigned long long)m->failed,
            (unsigned long long)m->not_followed, (unsigned long long)indexed,
            (unsigned long long)failed, (unsigned long long)not_followed);
    if (!v->outline)
        return;
    for (uint32_t n = 0; n < v->outline->count; n++)
        words += v->outline->nodes[n].words;
    if (m->nodes != v->outline->count || m->words != words)
        verify_fault(v, TABLE_MANUALS, REMEDY_FORCE, m->name,
                     "it counts %llu nodes and %llu words, its outline has %u "
                     "and %llu",
                     (unsigned long long)m->nodes, (unsigned long long)m->words,
                     v->outline->count, (unsigned long long)words);
}

/* The outline's files are those that are indexed, and no others. */
static void match_files(struct verification *v)
{
    const struct tree *outline = v->outline;
    v->file_of = mem_alloc(outline->file_count * sizeof(struct file *));
    size_t indexed = 0, met = 0;
    for (size_t i = 0; i < v->file_count; i++)
        indexed += v->files[i].state == FILE_INDEXED;
    for (uint32_t f = 0; f < outline->file_count; f++) {
        struct file *file = find_file(v, outline->files[f]);
        if (file && file->state == FILE_INDEXED) {
            v->file_of[f] = file;
            met++;
        } else {
            verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE,
                         outline->files[f].data,
                         "the outline has nodes of it, it has no record as an "
                         "indexed file");
        }
    }
    if (met < indexed)
        verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, v->manual.name,
                     "%zu of %zu indexed files are not in the outline",
                     indexed - met, indexed);
}

/* ---- Nodes and their places ---- */

static void check_origins(struct verification *v, uint32_t n)
{
    const struct node *node = &v->outline->nodes[n];
    char place[128];
    for (uint32_t i = 0; i < node->origin_count; i++) {
        const struct file *file = v->file_of[node->origins[i].file];
        /* A record without a time is of a file that was changing. */
        if (!file || !file->mtime_ns || v->options->is_packed(file->path) ||
            node->origins[i].span.to <= file->size)
            continue;
        verify_node_place(v, n, place);
        verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, place,
                     "it ends at byte %llu of %s, which has %llu",
                     (unsigned long long)node->origins[i].span.to, file->path,
                     (unsigned long long)file->size);
    }
}

static void check_words(struct verification *v, uint32_t n, uint32_t words)
{
    char place[128];
    if (v->outline->nodes[n].words == words ||
        v->manual.lexical != LEXICAL_VERSION)
        return;
    verify_node_place(v, n, place);
    verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, place,
                 "it counts %u words, its text has %u",
                 v->outline->nodes[n].words, words);
}

static void take_content(struct verification *v, struct lexical_delta *delta,
                         uint32_t n, const struct node *content)
{
    const struct node *node = &v->outline->nodes[n];
    uint32_t boilerplate = node->dropped_count;
    char place[128];
    if (!hash_equal(node->own, tree_hash_kept(content->own, node->boilerplate,
                                              boilerplate))) {
        verify_node_place(v, n, place);
        verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, place,
                     "its hash is not that of its text");
    }
    if (boilerplate &&
        node->boilerplate[boilerplate - 1] >= content->block_count) {
        verify_node_place(v, n, place);
        verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, place,
                     "it leaves out block %u of %u",
                     node->boilerplate[boilerplate - 1], content->block_count);
        return;
    }
    struct node *kept = tree_node_kept(content, node);
    check_words(v, n, lexical_add_node(delta, v->outline, n, kept));
    verify_segments(v, n, kept);
    free(kept);
}

/* ---- Postings ---- */

static uint64_t posting_hash(struct slice term, uint64_t packed)
{
    uint64_t hash =
        hash_bytes64(term.data, term.size) ^ (packed + 1) * 0x9E3779B97F4A7C15u;
    return hash_bytes64(&hash, sizeof hash);
}

static void add_posting(struct digest *digest, struct slice term,
                        uint64_t packed)
{
    digest->sum += posting_hash(term, packed);
    digest->count++;
}

static void take_made(void *context, struct slice term, uint64_t id,
                      uint64_t packed)
{
    struct verification *v = context;
    uint32_t node = verify_find(v, id);
    if (node != TREE_NONE)
        add_posting(&v->made[node], term, packed);
}

struct kept {
    struct verification *v;
    uint64_t strange; /* an id that no node has; 0: none */
};

static void take_kept(void *context, struct slice term, uint64_t id,
                      uint64_t packed)
{
    struct kept *kept = context;
    uint32_t node = verify_find(kept->v, id);
    kept->v->report.postings++;
    if (node == TREE_NONE)
        kept->strange = id;
    else
        add_posting(&kept->v->kept[node], term, packed);
}

static int take_term(void *context, struct slice key, struct slice value,
                     struct err *err)
{
    struct verification *v = context;
    struct kept kept = {.v = v};
    struct slice term = {key.data + 8, key.size - 8};
    char place[128];
    (void)err;
    v->report.terms++;
    snprintf(place, sizeof place, "%.*s", (int)term.size, term.data);
    if (!term.size || !lexical_read(term, value, take_kept, &kept))
        verify_fault(v, TABLE_POSTINGS, REMEDY_FORCE, place,
                     "its postings are damaged");
    if (kept.strange)
        verify_fault(v, TABLE_POSTINGS, REMEDY_FORCE, place,
                     "its postings name n%llu, which is no node of the manual",
                     (unsigned long long)kept.strange);
    return 0;
}

static int walk_postings(struct verification *v, struct err *err)
{
    char key[8];
    key_u32(key, v->manual.id);
    key_u32(key + 4, v->manual.epoch);
    return table_walk(v->options->store, TABLE_POSTINGS,
                      (struct slice){key, sizeof key}, v->options->cancel,
                      take_term, v, err);
}

/* Those of another version are what that made of the text; the next update
 * makes them anew. */
static void compare_postings(struct verification *v)
{
    char place[128];
    for (uint32_t n = 0; n < v->outline->count; n++) {
        const struct digest *kept = &v->kept[n], *made = &v->made[n];
        if (kept->sum == made->sum && kept->count == made->count)
            continue;
        verify_node_place(v, n, place);
        verify_fault(v, TABLE_POSTINGS, REMEDY_FORCE, place,
                     "%u terms lead to it, and not as its text has them, "
                     "which has %u",
                     kept->count, made->count);
    }
}

/* ---- Trees ---- */

/* Nodes by their files: nodes[first[f] .. first[f + 1]) are those of file f. */
struct deal {
    uint32_t *first; /* [file_count + 1] */
    uint32_t *nodes;
    bool *unread; /* [file_count] its tree cannot be read */
};

static struct deal deal_out(struct verification *v)
{
    const struct tree *outline = v->outline;
    struct deal deal = {
        .first =
            mem_alloc(((size_t)outline->file_count + 2) * sizeof(uint32_t)),
        .nodes = mem_alloc(outline->count * sizeof(uint32_t)),
        .unread = mem_alloc(outline->file_count * sizeof(bool))};
    char place[128];
    for (uint32_t n = 0; n < outline->count; n++) {
        uint32_t file = outline->nodes[n].source_tree;
        if (file < outline->file_count) {
            deal.first[file + 2]++;
        } else if (file != TREE_NONE) {
            verify_node_place(v, n, place);
            verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, place,
                         "it is of file %u of %u", file, outline->file_count);
        }
    }
    for (uint32_t f = 0; f < outline->file_count; f++)
        deal.first[f + 2] += deal.first[f + 1];
    for (uint32_t n = 0; n < outline->count; n++)
        if (outline->nodes[n].source_tree < outline->file_count)
            deal.nodes[deal.first[outline->nodes[n].source_tree + 1]++] = n;
    return deal;
}

static bool read_tree(struct verification *v, const struct file *file,
                      struct tree **ret)
{
    struct store_txn *txn;
    struct err cause;
    unsigned char key[16];
    int code = store_read(v->options->store, &txn, &cause);
    if (!code) {
        code = store_get_tree(txn, file->tree, ret, &cause);
        store_end(txn);
    }
    v->report.trees++;
    if (!code && !(*ret)->outline)
        return true;
    if (!code) {
        tree_free(*ret);
        code = err_set(&cause, ERR_FORMAT, "it is an outline");
    }
    verify_fault(v, TABLE_TREES, REMEDY_FORCE, file->path, "%s", cause.message);
    hash_write(file->tree, key);
    if (code == ERR_FORMAT)
        verify_doom(v, TABLE_TREES,
                    (struct slice){(const char *)key, sizeof key});
    return false;
}

static void check_node(struct verification *v, struct lexical_delta *delta,
                       const struct tree *tree, uint32_t n)
{
    const struct node *node = &v->outline->nodes[n];
    char place[128];
    v->report.nodes++;
    check_origins(v, n);
    if (node->source_node < tree->count) {
        take_content(v, delta, n, &tree->nodes[node->source_node]);
        return;
    }
    verify_node_place(v, n, place);
    verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, place,
                 "it is node %u of %u of its file's tree", node->source_node,
                 tree->count);
}

/* A file that several share has one tree, which is read for each. */
static int check_trees(struct verification *v, const struct deal *deal,
                       struct err *err)
{
    struct lexical_delta *delta = lexical_delta_new();
    int code = 0;
    for (uint32_t f = 0; f < v->outline->file_count && !code; f++) {
        struct tree *tree;
        code = verify_step(v, err);
        deal->unread[f] =
            !code && v->file_of[f] && !read_tree(v, v->file_of[f], &tree);
        if (code || !v->file_of[f] || deal->unread[f])
            continue;
        for (uint32_t i = deal->first[f]; i < deal->first[f + 1]; i++)
            check_node(v, delta, tree, deal->nodes[i]);
        lexical_each(delta, take_made, v);
        lexical_forget(delta);
        tree_free(tree);
    }
    lexical_delta_free(delta);
    return code;
}

/* Of what cannot be read nothing more is to be said. */
static void forgive_unread(struct verification *v, const struct deal *deal)
{
    for (uint32_t f = 0; f < v->outline->file_count; f++)
        for (uint32_t i = deal->first[f];
             (deal->unread[f] || !v->file_of[f]) && i < deal->first[f + 1]; i++)
            v->made[deal->nodes[i]] = v->kept[deal->nodes[i]];
}

/* Those that stand in no file: they are found by their titles. */
static void check_bare_nodes(struct verification *v)
{
    struct lexical_delta *delta = lexical_delta_new();
    for (uint32_t n = 0; n < v->outline->count; n++) {
        if (v->outline->nodes[n].source_tree != TREE_NONE)
            continue;
        v->report.nodes++;
        check_words(
            v, n,
            lexical_add_node(delta, v->outline, n, &v->outline->nodes[n]));
        verify_segments(v, n, &v->outline->nodes[n]);
    }
    lexical_each(delta, take_made, v);
    lexical_delta_free(delta);
}

static int check_outline(struct verification *v, struct err *err)
{
    match_files(v);
    struct deal deal = deal_out(v);
    int code = check_trees(v, &deal, err);
    if (!code)
        code = walk_postings(v, err);
    if (!code) {
        check_bare_nodes(v);
        forgive_unread(v, &deal);
        if (v->manual.lexical == LEXICAL_VERSION)
            compare_postings(v);
    }
    free(deal.first);
    free(deal.nodes);
    free(deal.unread);
    return code;
}

int verify_content(struct verification *v, struct err *err)
{
    char key[4];
    key_u32(key, v->manual.id);
    int code = table_walk(v->options->store, TABLE_FILES,
                          (struct slice){key, sizeof key}, v->options->cancel,
                          take_file, v, err);
    if (code)
        return code;
    if (v->file_count)
        qsort(v->files, v->file_count, sizeof *v->files, by_path);
    check_totals(v);
    return v->outline ? check_outline(v, err) : 0;
}
