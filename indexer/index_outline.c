/* The files' trees joined into an outline, its nodes with the ids that they had. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "indexer/assemble.h"
#include "indexer/index_internal.h"
#include "indexer/inputs.h"
#include "indexer/parsers.h"

int update_read_skeleton(struct update *u, struct store_txn *txn,
                         struct hash128 name, struct tree **ret,
                         struct err *err)
{
    struct tree *tree;
    int code = store_get_tree(txn, name, &tree, err);
    if (code)
        return code;
    struct tree *skeleton = assemble_skeleton(tree);
    tree_free(tree);
    skeletons_add(u->skeletons, name, skeleton);
    *ret = skeleton;
    return 0;
}

/* By which files of the same content are known: of a part, too, by its own. */
static struct hash128 content_name(const struct file *file)
{
    return strcmp(file->inputs, INPUTS_OF_PART)
               ? file->tree
               : parsers_tree_name(file->content, file->path);
}

static int read_pieces(struct update *u, struct piece *pieces, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(u->store, &txn, err);
    if (code)
        return code;
    for (uint32_t i = 0; i < u->indexed_count && !code; i++) {
        const struct file *file = &u->files[u->indexed[i]];
        pieces[i] =
            (struct piece){file->path, skeletons_find(u->skeletons, file->tree),
                           content_name(file)};
        if (!pieces[i].skeleton)
            code = update_read_skeleton(u, txn, file->tree, &pieces[i].skeleton,
                                        err);
    }
    store_end(txn);
    return code;
}

int update_give_ids(struct update *u, struct store_txn *txn, struct err *err)
{
    struct tree *outline = u->outline;
    uint64_t needed = 0, next;
    for (uint32_t n = 0; n < outline->count; n++)
        needed += u->old_nodes[n] == TREE_NONE;
    int code = store_take_ids(txn, needed, &next, err);
    if (code)
        return code;
    for (uint32_t n = 0; n < outline->count; n++)
        if (u->old_nodes[n] == TREE_NONE)
            outline->nodes[n].id = next++;
    return 0;
}

int update_build_outline(struct update *u, struct err *err)
{
    int code = update_step(u, INDEX_ASSEMBLE, 0, 1, err);
    if (code)
        return code;
    u->indexed = mem_alloc(u->scan.count * sizeof *u->indexed);
    for (uint32_t i = 0; i < u->scan.count; i++)
        if (u->files[i].state == FILE_INDEXED)
            u->indexed[u->indexed_count++] = i;
    struct piece *pieces = mem_alloc(u->indexed_count * sizeof *pieces);
    code = read_pieces(u, pieces, err);
    if (!code)
        code = assemble(u->manual.name, pieces, u->indexed_count,
                        !u->options->no_aliases, &u->outline, err);
    free(pieces);
    if (code)
        return code;
    u->old_nodes = mem_alloc(u->outline->count * sizeof *u->old_nodes);
    assemble_match(u->outline, u->old_outline, u->old_nodes);
    return 0;
}
