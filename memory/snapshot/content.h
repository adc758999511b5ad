/* The content of nodes: a file's tree is read from the store when a node of it
 * is wanted, and stays decoded while there is room, since the next node is
 * often of the same file. */
#ifndef MEMORY_SNAPSHOT_CONTENT_H
#define MEMORY_SNAPSHOT_CONTENT_H

#include "base/err.h"
#include "memory/snapshot/library.h"

struct content {
    const struct node *node; /* in its file's tree: blocks, refs; NULL: none */
    const struct page *page; /* of that file */
    struct shelved *held;
    struct node *kept; /* node, when blocks of it are dropped */
    struct contents *of;
};

/* ERR_NOT_FOUND when the outline's node has no content of its own.  What is
 * opened must be closed before the snapshot is released; closing twice, or what
 * failed to open, does nothing. */
int content_open(const struct snapshot *snapshot, const struct view *view,
                 uint32_t node, struct content *ret, struct err *err);
void content_close(struct content *content);

/* The outline's file in which a block of the node stands. */
uint32_t content_file(const struct content *content, const struct view *view,
                      uint32_t node, const struct block *block);

/* The decoded trees of one library (library.c). */
struct contents *contents_new(void);
void contents_free(struct contents *contents);

#endif
