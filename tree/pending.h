/* What a tree holds between tree_new and tree_seal: items in the order in
 * which they were added, each with its node.  Private to tree/. */
#ifndef TREE_PENDING_H
#define TREE_PENDING_H

#include "tree/tree.h"

enum pending_kind {
    PENDING_ANCHOR,
    PENDING_ORIGIN,
    PENDING_BLOCK,
    PENDING_REF,
    PENDING_LISTS
};

struct pending_item {
    uint32_t node;
    union {
        struct slice anchor;
        struct origin origin;
        struct block block;
        struct ref ref;
    };
};

struct pending_list {
    struct pending_item *items;
    size_t count, capacity;
};

struct tree_pending {
    struct node *nodes;
    size_t node_capacity;
    struct slice *files;
    size_t file_capacity;
    struct pending_list lists[PENDING_LISTS];
};

#endif
