/* The nodes of a page while it is read: which heading stands under which, and
 * what belongs to which.
 *
 * Headings nest by the sections around them: the first heading of a section is
 * its title, and its parent the title of the next section around that has one.
 * Where there are no sections, and among the further headings of one, they
 * nest by level.  `path` is the way from the top to the node whose content is
 * being read, and every section remembers how long it was when it began:
 *
 *   <body>  h1 A        path: A
 *   <section> h2 B      path: A B      (section began at 1, title at 1)
 *     h3 C              path: A B C
 *   </section>          path: A        what follows belongs to A
 *
 * A reference entry stands below whatever is being read when it begins.
 *
 * Invariant: the last node of the path is the node added last or one of its
 * ancestors; so adding below it keeps the nodes in pre-order. */
#ifndef INDEXER_PARSE_OUTLINE_OUTLINE_H
#define INDEXER_PARSE_OUTLINE_OUTLINE_H

#include "tree/tree.h"

struct outline_node {
    uint32_t parent; /* TREE_NONE: the page */
    int level;
    bool entry;
    struct slice title, anchor;
    struct span span; /* of the title */
    uint32_t file;    /* it is in */
};

/* Things that belong to a node; TREE_NONE: to the page. */
struct outline_block {
    uint32_t node;
    int kind;
    struct slice text, info;
    struct span span;
    uint32_t file;
};
struct outline_anchor {
    uint32_t node;
    struct slice name;
};
struct outline_ref {
    uint32_t node;
    struct slice text, url;
};
struct outline_origin {
    uint32_t node;
    struct span span;
    uint32_t file;
};

struct outline_step {
    uint32_t node;
    int level;
};

struct outline_section {
    size_t base;  /* length of the path when it began */
    size_t place; /* of its title in the path */
    bool titled;
    bool strict; /* its further headings are all below its title */
    struct slice id;
};

struct outline {
    struct arena arena; /* texts */
    uint32_t file;      /* index of the file that spans are in from now on */
    bool titled;        /* the page is a node above all headings, however few */
    struct outline_node *nodes;
    size_t count, capacity;
    struct outline_block *blocks;
    size_t block_count, block_capacity;
    bool keeps_dropped;
    struct outline_block *boilerplate; /* what is read, but no content */
    size_t dropped_count, dropped_capacity;
    struct outline_anchor *anchors;
    size_t anchor_count, anchor_capacity;
    size_t fresh; /* anchors since the last text: the next heading's */
    struct outline_ref *refs;
    size_t ref_count, ref_capacity;
    struct outline_origin *origins;
    size_t origin_count, origin_capacity;
    struct outline_step *path;
    size_t path_count, path_capacity;
    struct outline_section *sections; /* sections[0]: the page */
    size_t section_count, section_capacity;
    bool turned;        /* what comes belongs to `turned_to` */
    uint32_t turned_to; /* a node, or TREE_NONE: the page */
    uint64_t compared;  /* references that were looked at to turn */
};

void outline_init(struct outline *outline);
void outline_free(struct outline *outline);

void outline_open(struct outline *outline, bool strict, struct slice id);
void outline_close(struct outline *outline);

/* `own_id` is the heading's own, or empty; refs from `first_ref` on are in
 * the title.  An entry's title is the beginning of what its heading reads;
 * false: that is not all of it. */
bool outline_heading(struct outline *outline, int level, bool entry,
                     struct slice title, struct slice own_id, struct span span,
                     size_t first_ref);

bool outline_same_title(struct slice a, struct slice b);

/* The title of the node that is being read; empty: of the page. */
struct slice outline_title(const struct outline *outline);
/* Whether all text so far of the node that is being read is links, of which the first
 * ref_count are looked at (*ret_any: there are some). */
bool outline_is_links(const struct outline *outline, size_t ref_count,
                      bool *ret_any);
/* What comes is not below the node that is being read. */
void outline_leave(struct outline *outline);

/* Has the section that was opened last its title? */
bool outline_is_titled(const struct outline *outline);

/* A reference entry: titles the section that was opened last, below whatever
 * is being read.  Title and result are as a heading's. */
bool outline_entry(struct outline *outline, struct slice signature,
                   struct slice own_id, struct span span, size_t first_ref);

/* The anchors so far are not those of the next heading. */
void outline_settle(struct outline *outline);

/* These go to the node that is being read. */
void outline_block(struct outline *outline, int kind, struct slice text,
                   struct slice info, struct span span);
void outline_boilerplate(struct outline *outline, struct slice text,
                         const char *why, struct span span);
/* All blocks so far are none of the page's content. */
void outline_drop_content(struct outline *outline, const char *why);
void outline_anchor(struct outline *outline, struct slice name);
/* The last anchor since the last text; empty: there is none. */
struct slice outline_newest_anchor(const struct outline *outline);
void outline_ref(struct outline *outline, struct slice text, struct slice url);

/* Until outline_return, what comes belongs to the node that first refers to the
 * anchor `name` of this page.  False: none does so far, nothing changes. */
bool outline_turn(struct outline *outline, struct slice name);
void outline_return(struct outline *outline);

/* ---- Pieces (outline_piece.c) ---- */

/* How far the outline was. */
struct outline_mark {
    size_t nodes, blocks, anchors, refs, origins;
    struct outline_step *path; /* [path_count] */
    size_t path_count;
};
struct outline_piece;

void outline_mark(const struct outline *outline, struct outline_mark *ret);
void outline_unmark(struct outline_mark *mark);
/* Takes out what was added since the mark, which is gone then; yours. */
struct outline_piece *outline_take(struct outline *outline,
                                   struct outline_mark *mark);
/* Adds it (again) to what is being read now. */
void outline_put(struct outline *outline, const struct outline_piece *piece);
/* The text of its blocks. */
void outline_put_text(const struct outline_piece *piece, struct buf *ret);
/* A single paragraph, without headings. */
bool outline_is_paragraph(const struct outline_piece *piece);
/* Of adding it: parts, and a share of its bytes. */
size_t outline_piece_cost(const struct outline_piece *piece);
/* Another holder of it; it is gone with the last. */
struct outline_piece *outline_hold(struct outline_piece *piece);
void outline_drop(struct outline_piece *piece);
/* The block, whose texts are the outline's already, as one of `node`. */
void outline_put_block(struct outline *outline,
                       const struct outline_block *block, uint32_t node);

/* Adds all to an empty tree.  The page itself is its first node, or, when it
 * has but one heading at the top (or its first reads like the page's title),
 * that heading is.  `part`: with blocks and references, with what was dropped
 * as blocks, or with nothing. */
enum outline_part { OUTLINE_BARE, OUTLINE_CONTENT, OUTLINE_BOILERPLATE };
void outline_emit(const struct outline *outline, struct slice page_title,
                  struct span page_span, enum outline_part part,
                  struct tree *tree);

#endif
