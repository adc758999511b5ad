/* The semantic hierarchy tree of a manual (H2MT 2.1).
 *
 * A tree is an array of nodes in pre-order: node 0 is the root, the sub-tree
 * of node i is [i, nodes[i].end), its first child is i + 1 when that is below
 * end, and the sibling of c is nodes[c].end.  A node is a book, chapter,
 * section or reference entry: a title, its own content (blocks in document
 * order), its place in the files (origins), and what it links to.
 *
 * Two trees are made of it:
 *   - a file's tree, made by the parser: blocks and all, node 0 is the page;
 *   - an outline, assembled from the files' trees of a manual: no blocks; each
 *     node has an id and says in which file's tree its content lies (source).
 *
 * Life: tree_new, tree_add_* in document order, tree_seal; from then on it is
 * read only and may be shared between threads.  Text belongs to the tree. */
#ifndef TREE_TREE_H
#define TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

enum { TREE_NONE = UINT32_MAX }; /* "no node" */

/* Level of a reference entry that no heading names: deeper than any. */
enum { TREE_LEVEL_ENTRY = 7 };

/* The values are part of the encoding: append only. */
enum block_kind {
    BLOCK_PARAGRAPH,
    BLOCK_CODE,  /* white space exact; info: language */
    BLOCK_TABLE, /* a row a line, cells separated by a tab; what a cell spans
                    besides its own place is empty; info: "head=N", the first N
                    rows are headers */
    BLOCK_LIST,  /* an item a line: two spaces a level, "- ", "1. " or "a. ";
                    info: the kind of the note around, as of definitions */
    BLOCK_QUOTE,
    BLOCK_NOTE,       /* info: admonition's kind (tip, warning...), footnote */
    BLOCK_MATH,       /* TeX source */
    BLOCK_FIGURE,     /* caption and alternative text */
    BLOCK_DEFINITION, /* a term a line, its definition in lines below,
                          indented by two spaces */
    BLOCK_KINDS
};
const char *block_kind_name(int kind); /* "paragraph", ... */

/* Half-open byte range [from, to) of a file as it is on disk. */
struct span {
    uint64_t from, to;
};

struct origin {
    uint32_t file; /* index into tree.files */
    struct span span;
};

struct block {
    int kind;          /* enum block_kind */
    struct slice text; /* UTF-8; prose has its white space folded */
    struct slice info;
    struct origin origin; /* from its first to its last character of text */
};

/* A link in the text of a node. */
struct ref {
    struct slice text; /* what it reads */
    struct slice url;  /* as written */
};

struct node {
    uint32_t parent; /* TREE_NONE: the root */
    uint32_t end;    /* one past the last node of the sub-tree */
    uint32_t height; /* 0: leaf; else 1 + the greatest height of a child */
    int level;       /* heading level in the source, 1..6; 0: no heading, or one
                        above h1; TREE_LEVEL_ENTRY */
    bool entry;      /* a reference entry: a function, an option, a parameter
                   described under its section */
    bool menu; /* of skeletons only: mostly links, some within the manual */
    struct slice title;
    struct slice anchor;    /* id by which a browser opens it, or empty */
    struct slice *anchors;  /* [anchor_count] every other id within it */
    struct origin *origins; /* [origin_count] title and own content */
    struct block *blocks;   /* [block_count] */
    struct ref *refs;       /* [ref_count] */
    uint32_t anchor_count, origin_count, block_count, ref_count;
    struct hash128 own;    /* title, kinds and text of blocks; never origins */
    struct hash128 merkle; /* own, then the children's merkle, in order */

    /* Outlines only. */
    uint64_t id;           /* never reused, unique across manuals; 0: none */
    uint32_t source_tree;  /* index of the file's tree, TREE_NONE: no content */
    uint32_t source_node;  /* node in that tree */
    uint32_t words;        /* words of own content; 0: it owns none */
    uint32_t *boilerplate; /* [dropped_count] blocks of the source node that are
                             none of its content here, ascending */
    uint32_t dropped_count;
    struct slice *aliases; /* [alias_count] what the manual's index calls it, in
                              byte order, each once */
    uint32_t alias_count;
    uint32_t text_count; /* skeletons of files (indexer/assemble.h) only: */
    uint64_t *texts;     /* [text_count] hashes of its blocks' texts */
};

enum page_role {
    PAGE_CONTENT,
    PAGE_INDEX,    /* alphabetical index: titles only, blocks left out; its
                      entries are page.aliases */
    PAGE_REDIRECT, /* sends the reader elsewhere; no content */
    PAGE_SEARCH,   /* a search form; no content */
    PAGE_PART,     /* read only where another file includes it; no content */
    PAGE_MADE      /* what a tool makes besides the text; no content */
};

/* Meaning of a page's list of links to others.  The values are part of the
 * encoding: append only. */
enum page_contents {
    CONTENTS_NONE,
    CONTENTS_BELOW,    /* made by a generator: what lies below this page */
    CONTENTS_WHOLE,    /* made by a generator: the whole manual */
    CONTENTS_FRAMESET, /* the page is but a frame around these */
    CONTENTS_GUESS,    /* the page is hardly more than links */
    CONTENTS_GROUPS,   /* a list that sorts pages under headings of its own */
    CONTENTS_MAP,      /* no list: what names of pages in others stand for */
    CONTENTS_KINDS
};

struct page_link {
    struct slice
        url;        /* as written, without an anchor; empty: a heading; "#name":
                           what a map has by that name */
    uint32_t depth; /* in lists within lists; 0: the outermost */
    struct slice title; /* of a heading, else empty; of a map: the name */
};

/* An entry of an alphabetical index. */
struct page_alias {
    struct slice text; /* "indexes, partial" */
    struct slice url;  /* as written */
};

/* Why a file of a manual is not in its tree.  The values are part of the
 * encoding: append only. */
enum excluded {
    EXCLUDED_NOT, /* it is in the tree */
    EXCLUDED_REDIRECT,
    EXCLUDED_SEARCH,
    EXCLUDED_WHOLE,   /* the other pages once more, on one */
    EXCLUDED_MENU,    /* only says where the others are: contents, a frame */
    EXCLUDED_SAME,    /* another that is in the tree has the same content */
    EXCLUDED_LISTS,   /* made besides the text: lists of all classes, of uses, a
                       converter's working files */
    EXCLUDED_PART,    /* a document that is in the tree includes it */
    EXCLUDED_VARIANT, /* another layout of a document that is in the tree */
    EXCLUDED_KINDS
};
const char *excluded_name(int excluded); /* "redirect", ... */

/* How a file's bytes are read.  The values are part of the encoding: append
 * only. */
enum encoding {
    ENCODING_UTF8, /* a byte that is none reads U+FFFD */
    ENCODING_WINDOWS_1252,
    ENCODING_UTF_16LE,
    ENCODING_UTF_16BE,
    ENCODING_IBM866,
    ENCODING_ISO_8859_2,
    ENCODING_ISO_8859_3,
    ENCODING_ISO_8859_4,
    ENCODING_ISO_8859_5,
    ENCODING_ISO_8859_6,
    ENCODING_ISO_8859_7,
    ENCODING_ISO_8859_8,
    ENCODING_ISO_8859_10,
    ENCODING_ISO_8859_13,
    ENCODING_ISO_8859_14,
    ENCODING_ISO_8859_15,
    ENCODING_ISO_8859_16,
    ENCODING_KOI8_R,
    ENCODING_KOI8_U,
    ENCODING_MACINTOSH,
    ENCODING_MAC_CYRILLIC,
    ENCODING_WINDOWS_874,
    ENCODING_WINDOWS_1250,
    ENCODING_WINDOWS_1251,
    ENCODING_WINDOWS_1253,
    ENCODING_WINDOWS_1254,
    ENCODING_WINDOWS_1255,
    ENCODING_WINDOWS_1256,
    ENCODING_WINDOWS_1257,
    ENCODING_WINDOWS_1258,
    ENCODING_GB18030,
    ENCODING_BIG5,
    ENCODING_EUC_JP,
    ENCODING_SHIFT_JIS,
    ENCODING_EUC_KR,
    ENCODINGS
};
const char *encoding_name(int encoding); /* "utf-8", ... */

/* A file's page: its place among the others. */
struct page {
    int role;                    /* enum page_role */
    int encoding;                /* of the file: enum encoding */
    struct slice title;          /* <title> */
    struct slice up, prev, next; /* URLs as written, or empty */
    bool trail;                  /* up is the end of a trail of links */
    struct slice above;          /* names of the pages above, "A|B", outermost
                                    first, or empty */
    struct slice home; /* URL of the folder whose pages have these names */
    int contents;      /* enum page_contents */
    struct page_link *links; /* [link_count] in order */
    uint32_t link_count;
    struct page_alias *aliases; /* [alias_count] in order */
    uint32_t alias_count;
};

struct tree {
    struct node *nodes; /* [count], pre-order */
    uint32_t count;
    bool outline;
    struct slice *files; /* [file_count] paths; a file's tree: 1, "" (itself) */
    uint32_t file_count;
    uint8_t *excluded; /* [file_count] enum excluded; outlines only */
    bool has_aliases;  /* the nodes were given theirs; outlines only */
    struct page page;
    struct arena arena;           /* all text and arrays */
    struct tree_pending *pending; /* between tree_new and tree_seal */
};

/* ---- Making ---- */

struct tree *tree_new(bool outline);
void tree_free(struct tree *tree); /* NULL is allowed */

/* All text is copied.  `parent` is TREE_NONE for the first node, else the node
 * added last or one of its ancestors.  Returns the node's index. */
uint32_t tree_add_node(struct tree *tree, uint32_t parent, int level,
                       struct slice title, struct slice anchor);
uint32_t tree_add_file(struct tree *tree, struct slice path);
/* These take any node added so far. */
void tree_add_anchor(struct tree *tree, uint32_t node, struct slice anchor);
void tree_add_origin(struct tree *tree, uint32_t node, struct origin origin);
void tree_add_block(struct tree *tree, uint32_t node, int kind,
                    struct slice text, struct slice info, struct origin origin);
void tree_add_ref(struct tree *tree, uint32_t node, struct slice text,
                  struct slice url);
/* A copy of `text` that lives as long as the tree. */
struct slice tree_copy_text(struct tree *tree, struct slice text);
/* The same of links, whose texts must be copied already. */
struct page_link *tree_copy_links(struct tree *tree,
                                  const struct page_link *links, size_t count);
/* Both copied. */
struct page_alias *tree_copy_aliases(struct tree *tree,
                                     const struct page_alias *aliases,
                                     size_t count);

/* Computes end, height and hashes.  In an outline node.own is kept as the
 * caller set it.  ERR_FORMAT when there is no node, or they are not in pre-order,
 * or content was added to a node that is not there. */
int tree_seal(struct tree *tree, struct err *err);

/* ---- Walking ---- */

/* Orders the nodes by height, so that children come before their parent:
 * order[starts[h] .. starts[h + 1]) are the nodes of height h, in pre-order.
 * order: [count], starts: [root height + 2]. */
void tree_by_height(const struct tree *tree, uint32_t *order, uint32_t *starts);

/* Number of ancestors: 0 for the root. */
uint32_t tree_depth(const struct tree *tree, uint32_t node);

/* A copy of a file's node without the blocks that the outline's drops, in one
 * piece of memory that the caller frees; its texts are the file's tree's. */
struct node *tree_node_kept(const struct node *content,
                            const struct node *outline);

/* The own hash of an outline's node whose content is that of a file's node with
 * `own`, less the blocks `dropped` [count]. */
struct hash128 tree_hash_kept(struct hash128 own, const uint32_t *boilerplate,
                              uint32_t count);

/* The whole own text: blocks separated by an empty line. */
void tree_node_text(const struct node *node, struct buf *ret);

/* ---- Encoding: drawn at the top of encode.c ---- */

void tree_encode(const struct tree *tree, struct buf *out);

/* The same, with the places where the bytes of a long one may be cut so that some
 * nodes can be decoded without the others. */
struct tree_cut {
    uint64_t at;     /* in the bytes: a node begins here */
    uint32_t node;   /* its index */
    uint64_t before; /* what its spans are counted from */
};
/* The first cut is node 0, behind it the next are at least `size` bytes apart.
 * *ret_cuts is freed by the caller. */
void tree_encode_cut(const struct tree *tree, size_t size, struct buf *out,
                     struct tree_cut **ret_cuts, size_t *ret_count);

/* Takes bytes that nobody has checked.  ERR_FORMAT with a position. */
int tree_decode(const void *bytes, size_t size, struct tree **ret_tree,
                struct err *err);

/* The nodes between two cuts, given what stands before the first cut of all: files
 * and page are the tree's; where nodes stand among others is not known, and all
 * but the first are below that.  ERR_FORMAT. */
int tree_decode_part(struct slice head, struct slice nodes, uint64_t before,
                     struct tree **ret_tree, struct err *err);

/* The same with a bound on what is believed: an encoded node or item takes few
 * bytes, and many times as much memory. */
struct tree_limits {
    size_t nodes;
    size_t items; /* files, links, anchors, origins, blocks and refs */
};
int tree_decode_within(const void *bytes, size_t size,
                       const struct tree_limits *limits, struct tree **ret_tree,
                       struct err *err);

#endif
