/* The postings of what changed, or of all in a new epoch when that is much. */
#include <stdlib.h>

#include "base/mem.h"
#include "indexer/aliases.h"
#include "indexer/index_internal.h"
#include "memory/lexical/lexical.h"

enum {
    BATCH_POSTINGS = 8 << 20, /* postings gathered before they are written */
    REWRITE_SHARE = 4         /* a new epoch when 1/4 of the nodes changed */
};

/* Content of nodes in file order: the tree read last is kept. */
struct tree_reader {
    struct store_txn *txn;
    struct hash128 name;
    struct tree *tree;
};

static int content_of(struct tree_reader *reader, struct hash128 name,
                      uint32_t node, const struct node **ret, struct err *err)
{
    if (!reader->tree || !hash_equal(reader->name, name)) {
        tree_free(reader->tree);
        reader->tree = NULL;
        int code = store_get_tree(reader->txn, name, &reader->tree, err);
        if (code)
            return code;
        reader->name = name;
    }
    if (node >= reader->tree->count)
        return err_set(err, ERR_STORE, "an outline does not fit its trees");
    *ret = &reader->tree->nodes[node];
    return 0;
}

/* Its postings are: an entry's words count otherwise than a section's. */
static bool is_same_node(const struct update *u, uint32_t n)
{
    if (u->old_nodes[n] == TREE_NONE)
        return false;
    const struct node *now = &u->outline->nodes[n],
                      *old = &u->old_outline->nodes[u->old_nodes[n]];
    return hash_equal(old->own, now->own) && old->entry == now->entry &&
           aliases_equal(old, now);
}

static int add_node(struct update *u, struct tree_reader *reader, uint32_t n,
                    struct err *err)
{
    struct node *node = &u->outline->nodes[n];
    const struct node *content = node; /* one that stands in no file */
    int code = 0;
    if (node->source_tree != TREE_NONE)
        code = content_of(reader, u->files[u->indexed[node->source_tree]].tree,
                          node->source_node, &content, err);
    if (code) {
        node->words = 0;
        return code;
    }
    struct node *kept = tree_node_kept(content, node);
    node->words = lexical_add_node(u->delta, u->outline, n, kept);
    free(kept);
    return 0;
}

/* The node's content as the old outline had it leaves the postings. */
static int remove_node(struct update *u, struct tree_reader *reader,
                       uint32_t old, struct err *err)
{
    const struct node *node = &u->old_outline->nodes[old], *content = node;
    int code = 0;
    if (node->source_tree != TREE_NONE) {
        struct slice path = u->old_outline->files[node->source_tree];
        const struct file *file = update_find_old(u, path.data);
        code = file ? content_of(reader, file->tree, node->source_node,
                                 &content, err)
                    : err_set(err, ERR_STORE, "the record of %s is missing",
                              path.data);
    }
    if (code)
        return code;
    struct node *kept = tree_node_kept(content, node);
    lexical_remove_node(u->delta, u->old_outline, old, kept);
    free(kept);
    return 0;
}

/* All nodes into a new epoch, in transactions nobody sees. */
int update_rewrite_postings(struct update *u, struct err *err)
{
    struct store_txn *txn, *reading;
    int code = store_write(u->store, &txn, err);
    if (code)
        return code;
    code = store_take_epoch(txn, &u->epoch, err);
    if (!code)
        code = update_give_ids(u, txn, err);
    if (code) {
        store_end(txn);
        return code;
    }
    code = store_commit(txn, err);
    for (uint32_t n = 0; n < u->outline->count && !code;) {
        code = store_read(u->store, &reading, err);
        if (code)
            break;
        struct tree_reader reader = {.txn = reading};
        for (; n < u->outline->count && !code &&
               lexical_delta_size(u->delta) < BATCH_POSTINGS;
             n++) {
            code = add_node(u, &reader, n, err);
            if (!code && n % 512 == 0)
                code = update_step(u, INDEX_STORE, n, u->outline->count, err);
        }
        tree_free(reader.tree);
        store_end(reading);
        if (!code)
            code = store_write(u->store, &txn, err);
        if (code)
            break;
        code = lexical_apply(txn, u->manual.id, u->epoch, u->delta, err);
        if (code)
            store_end(txn);
        else
            code = store_commit(txn, err);
    }
    return code;
}

/* What changed, within the flipping transaction. */
int update_change_postings(struct update *u, struct store_txn *txn,
                           struct err *err)
{
    bool *kept = mem_alloc(u->old_outline->count * sizeof *kept);
    struct tree_reader reader = {.txn = txn};
    int code = update_give_ids(u, txn, err);
    for (uint32_t n = 0; n < u->outline->count && !code; n++) {
        uint32_t old = u->old_nodes[n];
        if (!is_same_node(u, n)) {
            code = add_node(u, &reader, n, err);
            continue;
        }
        kept[old] = true;
        u->outline->nodes[n].words = u->old_outline->nodes[old].words;
    }
    for (uint32_t o = 0; o < u->old_outline->count && !code; o++)
        if (!kept[o])
            code = remove_node(u, &reader, o, err);
    tree_free(reader.tree);
    free(kept);
    return code ? code
                : lexical_apply(txn, u->manual.id, u->epoch, u->delta, err);
}

bool update_much_changed(const struct update *u)
{
    if (!u->old_outline || u->manual.lexical != LEXICAL_VERSION ||
        u->options->force)
        return true;
    uint32_t same = 0, max = u->outline->count;
    if (u->old_outline->count > max)
        max = u->old_outline->count;
    for (uint32_t n = 0; n < u->outline->count; n++)
        same += is_same_node(u, n);
    return max - same > max / REWRITE_SHARE;
}
