/* From a checked pack into a store, by one transaction. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory/lexical/lexical.h"
#include "memory/pack/pack_internal.h"

enum { BATCH_POSTINGS = 200000 /* held in memory at a time */ };

struct putting {
    struct store_txn *txn;
    const struct pack *pack;
    const struct pack_place *place;
    struct manual manual; /* as it will be */
    uint64_t first;       /* id of node 1 */
    struct lexical_delta *delta;
};

/* ---- The manual's record ---- */

/* A manual without a folder, or with the one that is to be replaced, makes room for the
 * next generation of itself: its number and generation; 0: there is none of that name. */
static int find_room(struct store_txn *txn, const char *name,
                     const struct pack_place *place, uint32_t *ret_id,
                     uint64_t *ret_generation, struct err *err)
{
    struct manual old;
    int code = store_find_manual(txn, name, &old, err);
    if (code == ERR_NOT_FOUND)
        return 0;
    if (code)
        return code;
    if (place->replaces ? strcmp(old.root, place->replaces) != 0
                        : old.root[0] || place->root[0]) {
        code = err_set(err, ERR_USAGE,
                       "there is a manual %s already: -c gives this one "
                       "another name, lectern rm %s makes room",
                       name, name);
    } else {
        *ret_id = old.id;
        *ret_generation = old.generation;
    }
    manual_free(&old);
    return code;
}

int pack_check_place(struct store *store, const struct pack_place *place,
                     struct err *err)
{
    struct store_txn *txn;
    uint32_t id;
    uint64_t generation;
    int code = pack_check_name(place->name, err);
    if (!code)
        code = store_read(store, &txn, err);
    if (code)
        return code;
    code = find_room(txn, place->name, place, &id, &generation, err);
    store_end(txn);
    return code;
}

static void count_up(struct putting *p)
{
    const struct pack *pack = p->pack;
    struct manual *manual = &p->manual;
    manual->files = manual->failed = manual->not_followed = 0;
    for (size_t i = 0; i < pack->file_count; i++) {
        manual->files += pack->files[i].state == FILE_INDEXED;
        manual->failed += pack->files[i].state == FILE_FAILED;
        manual->not_followed += pack->files[i].state == FILE_NOT_FOLLOWED;
    }
    manual->nodes = pack->outline->count;
    manual->words = 0;
    for (uint32_t n = 0; n < pack->outline->count; n++)
        manual->words += pack->outline->nodes[n].words;
    manual->indexed_at = (int64_t)time(NULL);
}

/* ---- Records ---- */

static int read_tree(const struct pack_tree *from, struct tree **ret,
                     struct err *err)
{
    const struct tree_limits limits = pack_tree_limits(from->bytes.size);
    return tree_decode_within(from->bytes.data, from->bytes.size, &limits, ret,
                              err);
}

/* Under names of their own, that their bytes give: a pack cannot pass for what the
 * parser makes of a file here. */
static int put_trees(struct putting *p, struct err *err)
{
    int code = 0;
    for (size_t i = 0; i < p->pack->tree_count && !code; i++) {
        const struct pack_tree *from = &p->pack->trees[i];
        struct tree *tree;
        if (store_has_tree(p->txn, from->name))
            continue;
        code = read_tree(from, &tree, err);
        if (code)
            break;
        code = store_put_tree(p->txn, from->name, tree, err);
        tree_free(tree);
    }
    return code;
}

static int put_files(struct putting *p, struct err *err)
{
    int code = 0;
    for (size_t i = 0; i < p->pack->file_count && !code; i++) {
        const struct pack_file *from = &p->pack->files[i];
        struct file file = {.path = from->path,
                            .size = from->size,
                            .content = from->content,
                            .state = from->state,
                            .failure = from->failure,
                            .reports = from->reports};
        if (from->tree)
            file.tree = p->pack->trees[from->tree - 1].name;
        code = store_put_file(p->txn, p->manual.id, &file, err);
    }
    return code;
}

/* Those of the generation before, when it is replaced. */
static int delete_files(struct putting *p, struct err *err)
{
    struct file *files;
    size_t count;
    int code = store_list_files(p->txn, p->manual.id, &files, &count, err);
    for (size_t i = 0; !code && i < count; i++)
        code = store_delete_file(p->txn, p->manual.id, files[i].path, err);
    for (size_t i = 0; files && i < count; i++)
        file_free(&files[i]);
    free(files);
    return code;
}

/* ---- Postings ---- */

/* `kept`: what the node has of its file. */
static int add_node(struct putting *p, uint32_t n, const struct node *kept,
                    struct err *err)
{
    struct tree *outline = p->pack->outline;
    outline->nodes[n].words = lexical_add_node(p->delta, outline, n, kept);
    return lexical_delta_size(p->delta) < BATCH_POSTINGS
               ? 0
               : lexical_apply(p->txn, p->manual.id, p->manual.epoch, p->delta,
                               err);
}

/* A node that stands in no file is found by its title. */
static int add_bare_nodes(struct putting *p, struct err *err)
{
    const struct tree *outline = p->pack->outline;
    int code = 0;
    for (uint32_t n = 0; n < outline->count && !code; n++)
        if (outline->nodes[n].source_tree == TREE_NONE)
            code = add_node(p, n, &outline->nodes[n], err);
    return code;
}

/* The tree's nodes from `n` on. */
static int add_nodes(struct putting *p, const struct pack_tree *from,
                     const struct pack_deal *deal, uint32_t n, struct err *err)
{
    struct tree *tree;
    int code = read_tree(from, &tree, err);
    if (code)
        return code;
    for (; n != TREE_NONE && !code; n = deal->next[n]) {
        const struct node *node = &p->pack->outline->nodes[n];
        struct node *kept =
            tree_node_kept(&tree->nodes[node->source_node], node);
        code = add_node(p, n, kept, err);
        free(kept);
    }
    tree_free(tree);
    return code;
}

/* Tree by tree: each is read once, in whatever order the outline has its nodes. */
static int put_postings(struct putting *p, struct err *err)
{
    const struct pack *pack = p->pack;
    struct pack_deal deal = pack_deal_out(pack);
    int code = add_bare_nodes(p, err);
    for (size_t i = 0; i < pack->tree_count && !code; i++)
        if (deal.first[i] != TREE_NONE)
            code = add_nodes(p, &pack->trees[i], &deal, deal.first[i], err);
    pack_deal_free(&deal);
    return code ? code
                : lexical_apply(p->txn, p->manual.id, p->manual.epoch, p->delta,
                                err);
}

/* ---- Memories ---- */

/* What is there already stays: it was made here, or came before. */
static int put_made(struct putting *p, struct err *err)
{
    const struct pack *pack = p->pack;
    struct slice there;
    int code = 0;
    for (size_t i = 0; i < pack->segment_count && !code; i++)
        if (store_get_segments(p->txn, pack->segments[i].name, &there, NULL))
            code = store_put_segments(p->txn, pack->segments[i].name,
                                      pack->segments[i].value, err);
    for (size_t i = 0; i < pack->memory_count && !code; i++)
        if (store_get_memory_bytes(p->txn, pack->memories[i].name, &there,
                                   NULL))
            code = store_put_memory_bytes(p->txn, pack->memories[i].name,
                                          pack->memories[i].value, err);
    return code;
}

static int put_vectors(struct putting *p, struct err *err)
{
    struct vector_table table = p->pack->vectors;
    struct buf bytes = {0};
    table.nodes = mem_alloc(table.node_count * sizeof *table.nodes);
    for (uint32_t i = 0; i < table.node_count; i++)
        table.nodes[i] = p->first + p->pack->vectors.nodes[i] - 1;
    table.generation = p->manual.generation;
    vector_table_encode(&table, &bytes);
    int code = store_put_vectors(p->txn, p->manual.id, buf_slice(&bytes), err);
    free(table.nodes);
    buf_free(&bytes);
    return code;
}

/* Those of the generation before must go: nodes have other numbers now. */
static int put_memories(struct putting *p, struct err *err)
{
    bool wanted = p->pack->vectors.width && !p->place->without_memories;
    int code = 0;
    if (wanted)
        code = put_made(p, err);
    if (!code && wanted)
        return put_vectors(p, err);
    return code ? code : store_delete_vectors(p->txn, p->manual.id, err);
}

/* ---- All of it ---- */

static void number_nodes(struct putting *p)
{
    for (uint32_t n = 0; n < p->pack->outline->count; n++)
        p->pack->outline->nodes[n].id = p->first + n;
}

static int take_numbers(struct putting *p, struct err *err)
{
    int code = store_take_ids(p->txn, p->pack->outline->count, &p->first, err);
    if (!code)
        code = store_take_epoch(p->txn, &p->manual.epoch, err);
    if (!code)
        number_nodes(p);
    p->manual.generation++;
    p->manual.lexical = LEXICAL_VERSION;
    /* The record's number is known from here on. */
    return code ? code : store_put_manual(p->txn, &p->manual, err);
}

static int put_all(struct putting *p, struct err *err)
{
    int code = pack_check_name(p->manual.name, err);
    if (!code)
        code = find_room(p->txn, p->manual.name, p->place, &p->manual.id,
                         &p->manual.generation, err);
    if (!code)
        code = take_numbers(p, err);
    if (!code)
        code = delete_files(p, err);
    if (!code)
        code = put_trees(p, err);
    if (!code)
        code = put_files(p, err);
    if (!code)
        code = put_postings(p, err);
    if (!code)
        code = store_put_outline(p->txn, p->manual.id, p->manual.generation,
                                 p->pack->outline, err);
    count_up(p);
    if (!code)
        code = store_put_manual(p->txn, &p->manual, err);
    return code ? code : put_memories(p, err);
}

int pack_put(struct store *store, const struct pack *pack,
             const struct pack_place *place, struct manual *ret_manual,
             struct err *err)
{
    struct putting p = {
        .pack = pack,
        .place = place,
        .manual = {.name = mem_strdup(place->name ? place->name : pack->name),
                   .root = mem_strdup(place->root),
                   .ignore = mem_strdup(pack->ignore)}};
    int code = store_write(store, &p.txn, err);
    if (!code) {
        p.delta = lexical_delta_new();
        code = put_all(&p, err);
        if (code)
            store_end(p.txn);
        else
            code = store_commit(p.txn, err);
        lexical_delta_free(p.delta);
    }
    if (code)
        manual_free(&p.manual);
    else
        *ret_manual = p.manual;
    return code;
}
