/* The library, what is open for reading: the current generation of every manual, held in
 * memory without its text.
 *
 * A `struct snapshot` is one moment of the library: immutable, shared by
 * reference counts, so a question reads the same generation from its first
 * score to its last citation while the indexer puts the next one in place. */
#ifndef MEMORY_SNAPSHOT_LIBRARY_H
#define MEMORY_SNAPSHOT_LIBRARY_H

#include <stdatomic.h>

#include "base/err.h"
#include "memory/store/store.h"
#include "tree/tree.h"

/* A manual's generation. */
struct view {
    struct manual manual;
    struct tree *outline; /* files: paths relative to manual.root */
    struct file *files;   /* [outline->file_count], in the same order:
                                 outline file i is files[i] */
    _Atomic int64_t
        *checked; /* [outline->file_count]: when the inode changed of a file
                                 whose bytes were looked at and are the record's, in
                                 nanoseconds since 1970; 0: they were not */
    struct view_run *runs; /* [run_count], by ascending id */
    size_t run_count;
    struct view_anchor *anchors; /* [anchor_count], by hash, then node */
    size_t anchor_count;
    struct view_node *nodes; /* [outline->count] */
    uint32_t *ends;          /* [outline->count] of the sub-trees */
    uint64_t *texts;   /* sets of nodes (base/bitset.h): that own content */
    uint64_t *named;   /* that own content or have a title */
    double mean_words; /* of sections that own content, entries aside */
    double mean_title_words;
    uint32_t owners;         /* nodes that own content */
    struct vectors *vectors; /* NULL: no memories yet */
    struct view_kinds *kinds;
    struct term_filter *terms; /* NULL: any may be there */
    struct view *of;           /* all but `manual` and `vectors` is of this one,
                                the same generation; NULL: its own */
    int references;            /* kept by library.c */
};

/* The fields of every node that a search by words reads, close together: the
 * outline's own are too large to walk through for each question. */
struct view_node {
    uint32_t parent; /* TREE_NONE: the root */
    uint32_t file;   /* TREE_NONE: none */
    uint32_t words;  /* of own content; 0: it owns none */
    uint32_t owned;  /* nodes of the sub-tree that own content */
    uint32_t names;  /* that the manual's index gives it */
    uint16_t title_words;
    bool entry; /* a reference entry */
};

/* Made when it is first wanted (kinds.h). */
struct view_kinds {
    _Atomic(uint32_t *) sets; /* [outline->count]; NULL: not yet */
};

/* A place that a link can name: a file, or an anchor in it. */
struct view_anchor {
    uint64_t hash; /* of the file's index and the anchor ("": the file) */
    uint32_t node;
};

/* Nodes that follow each other with ids that do: most of a file's. */
struct view_run {
    uint64_t id;          /* of the first */
    uint32_t node, count; /* the first, how many */
};

/* A manual that the store has and that cannot be read. */
struct damaged_manual {
    char *name; /* NULL: its own record is what is damaged */
    char *why;
};

struct snapshot {
    struct store *store;
    struct view **views; /* [count], manuals with a generation */
    size_t count;
    struct damaged_manual *damaged; /* [damaged_count], not among the volumes */
    size_t damaged_count;
    uint64_t generation; /* greatest of the volumes */
    struct dense *dense; /* over their vectors (dense.h) */
    struct library *library;
    int references;
};

struct library;

int library_open(struct store *store, struct library **ret_library,
                 struct err *err);
void library_close(struct library *library);

/* The present snapshot; give it back with snapshot_unref. */
struct snapshot *library_snapshot(struct library *library);
void snapshot_unref(struct snapshot *snapshot);

/* Reads the manuals' generations anew (those that did not change are kept). */
int library_refresh(struct library *library, struct err *err);

/* The index by which many vectors are searched (dense.h) is not there, or too
 * old. */
bool library_wants_index(struct library *library);
/* Makes it of the present snapshot: shelves that library_refresh makes from then on
 * have it.  Any thread, one at a time; it takes seconds.  ERR_CANCELLED. */
int library_index(struct library *library, const atomic_bool *cancel,
                  struct err *err);

/* True when nobody holds a snapshot other than the present one, so that what only
 * older generations refer to may be collected. */
bool library_is_settled(struct library *library);

/* The decoded trees it keeps (content.h). */
struct contents *library_contents(struct library *library);

/* NULL: no manual of that name on the snapshot. */
const struct view *snapshot_view(const struct snapshot *snapshot,
                                 const char *name);

/* Why the one called `name` (NULL: any) is not on the snapshot, though the store has
 * it; NULL: it is, or there is none. */
const struct damaged_manual *snapshot_damaged(const struct snapshot *snapshot,
                                              const char *name);

/* Tells what is not found because of damage from what is not there; to be asked
 * before "nothing" is said.  ERR_STORE, with the manual's name and why, when the
 * one called `name` (NULL: any) is damaged, or the store's pages are (store_check).
 */
int snapshot_check(const struct snapshot *snapshot, const char *name,
                   struct err *err);

/* Node ids as others see them: "n" and the number. */
void node_name(uint64_t id, char name[24]);
bool node_parse(const char *name, uint64_t *ret_id);

/* The run that holds the id; NULL: there is none. */
const struct view_run *view_run_of(const struct view *view, uint64_t id);

/* Finds the node of an id; false: there is none in any current generation. */
bool snapshot_find(const struct snapshot *snapshot, uint64_t id,
                   const struct view **ret_view, uint32_t *ret_node);

/* Titles from the top to the node itself; the manual's own root is left out
 * (unless it is the node).  ret: array of [*ret_count] node indices, freed by
 * the caller. */
uint32_t *view_path(const struct view *view, uint32_t node, size_t *ret_count);

/* Index of the file with this path; TREE_NONE: none. */
uint32_t view_file(const struct view *view, const char *path);

/* Returns the node that a link of `node` leads to within the manual, its file and
 * anchor resolved against the node's file; TREE_NONE: elsewhere or nowhere. */
uint32_t view_follow(const struct view *view, uint32_t node, struct slice url);

#endif
