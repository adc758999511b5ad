/* A decoded pack against itself: what a daemon relies on must hold before anything is
 * put into the store.  What can be computed again is compared. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kernels/q8.h"
#include "memory/embeddings/segment.h"
#include "memory/pack/pack_internal.h"

enum {
    MAX_DEPTH = 512,
    MAX_NAME = 200 /* bytes of a manual's */
};

/* ---- Names ---- */

/* A relative path that stays below its folder. */
static bool is_inside(const char *path)
{
    for (size_t at = 0;; at++) {
        size_t size = strcspn(path + at, "/");
        if (!size || (size == 1 && path[at] == '.') ||
            (size == 2 && path[at] == '.' && path[at + 1] == '.'))
            return false;
        at += size;
        if (!path[at])
            return true;
    }
}

int pack_check_name(const char *name, struct err *err)
{
    size_t size = strlen(name);
    bool fine = size && size <= MAX_NAME && text_is_utf8(name, size);
    for (size_t i = 0; i < size; i++)
        fine = fine && (unsigned char)name[i] >= ' ' && name[i] != 127;
    return fine ? 0
                : err_set(err, ERR_USAGE,
                          "no manual can be called so: -c gives it another "
                          "name");
}

/* ---- Trees ---- */

static bool is_text(struct slice text)
{
    return text_is_utf8(text.data, text.size);
}

static bool are_texts(const struct slice *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_text(texts[i]))
            return false;
    return true;
}

static bool is_node_text(const struct node *node)
{
    bool fine = is_text(node->title) && is_text(node->anchor) &&
                are_texts(node->anchors, node->anchor_count) &&
                are_texts(node->aliases, node->alias_count);
    for (uint32_t i = 0; i < node->block_count && fine; i++)
        fine = is_text(node->blocks[i].text) && is_text(node->blocks[i].info);
    for (uint32_t i = 0; i < node->ref_count && fine; i++)
        fine = is_text(node->refs[i].text) && is_text(node->refs[i].url);
    return fine;
}

static bool is_page_text(const struct page *page)
{
    bool fine = is_text(page->title) && is_text(page->up) &&
                is_text(page->prev) && is_text(page->next);
    for (uint32_t i = 0; i < page->link_count && fine; i++)
        fine = is_text(page->links[i].url) && is_text(page->links[i].title);
    for (uint32_t i = 0; i < page->alias_count && fine; i++)
        fine = is_text(page->aliases[i].text) && is_text(page->aliases[i].url);
    return fine;
}

/* Texts are UTF-8, and no part lies so deep that walking down to it fails. */
static int check_tree(const struct tree *tree, const char *what,
                      struct err *err)
{
    uint32_t *depth = mem_alloc(tree->count * sizeof *depth);
    bool text = is_page_text(&tree->page), flat = true;
    for (uint32_t n = 0; n < tree->count; n++) {
        depth[n] = n ? depth[tree->nodes[n].parent] + 1 : 0;
        flat = flat && depth[n] <= MAX_DEPTH;
        text = text && is_node_text(&tree->nodes[n]);
    }
    free(depth);
    if (!text)
        return pack_wrong(err, "%s has text that is not UTF-8", what);
    return flat
               ? 0
               : pack_wrong(err, "%s has more than %d levels", what, MAX_DEPTH);
}

static int check_outline(const struct pack *pack, struct err *err)
{
    const struct tree *outline = pack->outline;
    if (!outline->outline)
        return pack_wrong(err, "its outline is the tree of a file");
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        if (node->id != (uint64_t)n + 1)
            return pack_wrong(err, "its nodes are not numbered from 1");
        if (node->source_tree != TREE_NONE &&
            node->source_tree >= outline->file_count)
            return pack_wrong(err, "node %u is of file %u of %u", n + 1,
                              node->source_tree, outline->file_count);
    }
    return check_tree(outline, "its outline", err);
}

/* ---- Files ---- */

static int check_file(const struct pack *pack, const struct pack_file *file,
                      struct err *err)
{
    bool indexed = file->state == FILE_INDEXED;
    if (!is_inside(file->path))
        return pack_wrong(err,
                          "its file '%.200s' would lie outside of its "
                          "folder",
                          file->path);
    if (indexed != (file->tree != 0) || indexed != !file->failure[0] ||
        file->tree > pack->tree_count)
        return pack_wrong(err, "its file %.200s is indexed, and is not",
                          file->path);
    if (!is_text(slice_of(file->failure)) || !is_text(slice_of(file->reports)))
        return pack_wrong(err, "what it says of %.200s is no text", file->path);
    if (file->bytes.data &&
        (file->bytes.size != file->size ||
         !hash_equal(hash_bytes(file->bytes.data, file->bytes.size),
                     file->content)))
        return pack_wrong(err,
                          "the bytes of %.200s are not those that were "
                          "indexed",
                          file->path);
    return 0;
}

/* In order, each once; the indexed ones are the outline's. */
static int check_files(const struct pack *pack, struct err *err)
{
    const struct tree *outline = pack->outline;
    uint32_t met = 0;
    for (size_t i = 0; i < pack->file_count; i++) {
        const struct pack_file *file = &pack->files[i];
        int code = check_file(pack, file, err);
        if (code)
            return code;
        if (i && strcmp(pack->files[i - 1].path, file->path) >= 0)
            return pack_wrong(err, "its files are not in order");
        if (file->state != FILE_INDEXED)
            continue;
        if (met >= outline->file_count ||
            !slice_is(outline->files[met], file->path))
            return pack_wrong(err, "its outline and its files differ");
        met++;
    }
    return met == outline->file_count
               ? 0
               : pack_wrong(err, "its outline has files that are not there");
}

/* ---- Nodes and their content ---- */

static int check_node(const struct tree *outline, uint32_t n,
                      const struct tree *tree, struct err *err)
{
    const struct node *node = &outline->nodes[n];
    uint32_t dropped = node->dropped_count;
    if (node->source_node >= tree->count)
        return pack_wrong(err, "node %u is node %u of %u of its file", n + 1,
                          node->source_node, tree->count);
    const struct node *content = &tree->nodes[node->source_node];
    if (dropped && node->boilerplate[dropped - 1] >= content->block_count)
        return pack_wrong(err, "node %u leaves out a block that is not there",
                          n + 1);
    struct hash128 own =
        tree_hash_kept(content->own, node->boilerplate, dropped);
    return hash_equal(own, node->own)
               ? 0
               : pack_wrong(err, "the hash of node %u is not that of its text",
                            n + 1);
}

struct pack_deal pack_deal_out(const struct pack *pack)
{
    const struct tree *outline = pack->outline;
    uint32_t *tree_of = mem_alloc(outline->file_count * sizeof *tree_of);
    struct pack_deal deal = {
        .first = mem_alloc(pack->tree_count * sizeof(uint32_t)),
        .next = mem_alloc(outline->count * sizeof(uint32_t))};
    uint32_t file = 0;
    for (size_t i = 0; i < pack->file_count; i++)
        if (pack->files[i].state == FILE_INDEXED)
            tree_of[file++] = pack->files[i].tree - 1;
    for (size_t i = 0; i < pack->tree_count; i++)
        deal.first[i] = TREE_NONE;
    for (uint32_t n = outline->count; n-- > 0;) {
        file = outline->nodes[n].source_tree;
        deal.next[n] = TREE_NONE;
        if (file == TREE_NONE)
            continue;
        deal.next[n] = deal.first[tree_of[file]];
        deal.first[tree_of[file]] = n;
    }
    free(tree_of);
    return deal;
}

void pack_deal_free(struct pack_deal *deal)
{
    free(deal->first);
    free(deal->next);
}

static int by_path(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* A tree names files by their paths: its own is "", others are the manual's. */
static int check_tree_files(const struct pack *pack, const struct tree *tree,
                            struct err *err)
{
    const struct tree *outline = pack->outline;
    for (uint32_t f = 1; f < tree->file_count; f++)
        if (!outline->file_count ||
            !bsearch(&tree->files[f], outline->files, outline->file_count,
                     sizeof *outline->files, by_path))
            return pack_wrong(err, "a tree is of a file that is not there");
    return tree->file_count && !tree->files[0].size
               ? 0
               : pack_wrong(err, "a tree is of no file");
}

static int read_tree(const struct pack *pack, size_t i, struct tree **ret,
                     struct err *err)
{
    struct slice bytes = pack->trees[i].bytes;
    const struct tree_limits limits = pack_tree_limits(bytes.size);
    struct err cause = {0};
    struct tree *tree;
    if (tree_decode_within(bytes.data, bytes.size, &limits, &tree, &cause))
        return pack_wrong(err, "a tree of it is %s", cause.message);
    int code = tree->outline
                   ? pack_wrong(err, "an outline stands among its trees")
                   : check_tree(tree, "a tree", err);
    if (!code)
        code = check_tree_files(pack, tree, err);
    if (code)
        tree_free(tree);
    else
        *ret = tree;
    return code;
}

static int check_content(const struct pack *pack, const struct pack_deal *deal,
                         size_t i, struct err *err)
{
    struct tree *tree;
    int code = read_tree(pack, i, &tree, err);
    if (code)
        return code;
    for (uint32_t n = deal->first[i]; n != TREE_NONE && !code;
         n = deal->next[n])
        code = check_node(pack->outline, n, tree, err);
    tree_free(tree);
    return code;
}

/* Each is read once, however many files are of it. */
static int check_trees(const struct pack *pack, struct err *err)
{
    struct pack_deal deal = pack_deal_out(pack);
    bool *met = mem_alloc(pack->tree_count * sizeof *met);
    int code = 0;
    for (size_t i = 0; i < pack->file_count; i++)
        if (pack->files[i].state == FILE_INDEXED)
            met[pack->files[i].tree - 1] = true;
    for (size_t i = 0; i < pack->tree_count && !code; i++)
        if (met[i])
            code = check_content(pack, &deal, i, err);
    for (size_t i = 0; i < pack->tree_count && !code; i++) {
        if (!met[i])
            code = pack_wrong(err, "it has a tree of no file");
        else if (i && hash_compare(&pack->trees[i - 1].name,
                                   &pack->trees[i].name) >= 0)
            code = pack_wrong(err, "its trees are not in order");
    }
    free(met);
    pack_deal_free(&deal);
    return code;
}

/* ---- Memories and vectors ---- */

static int by_name(const void *a, const void *b)
{
    return hash_compare(a, b); /* the name comes first */
}

static const struct pack_record *find(const struct pack_record *records,
                                      size_t count, struct hash128 name)
{
    struct pack_record key = {.name = name};
    return count ? bsearch(&key, records, count, sizeof key, by_name) : NULL;
}

static int check_order(const struct pack_record *records, size_t count,
                       const char *what, struct err *err)
{
    for (size_t i = 1; i < count; i++)
        if (hash_compare(&records[i - 1].name, &records[i].name) >= 0)
            return pack_wrong(err, "its %s are not in order", what);
    return 0;
}

/* How many numbers a memory of so many bytes has: in 8 bits, or else halves. */
static size_t memory_width(size_t size)
{
    enum { BLOCK = 64, BLOCK_BYTES = 66 };
    size_t width = size / BLOCK_BYTES * BLOCK;
    while (width < size && q8_size(width) < size)
        width++;
    return q8_size(width) == size ? width : size / 2;
}

/* All of one width: that of the vectors, where these are made of them. */
static int check_memories(const struct pack *pack, struct err *err)
{
    if (!pack->memory_count)
        return 0;
    size_t size = pack->memories[0].value.size, width = memory_width(size);
    bool fine =
        width && (!pack->vectors.row_names || width == pack->vectors.width);
    float *numbers = mem_alloc(width * sizeof *numbers);
    for (size_t i = 0; i < pack->memory_count && fine; i++)
        fine = pack->memories[i].value.size == size &&
               store_is_memory(pack->memories[i].value, numbers, width);
    free(numbers);
    return fine ? 0
                : pack_wrong(err, "its memories are no numbers, or not as many "
                                  "in each");
}

static int check_records(const struct pack *pack, struct err *err)
{
    int code =
        check_order(pack->segments, pack->segment_count, "segments", err);
    if (!code)
        code = check_order(pack->memories, pack->memory_count, "memories", err);
    for (size_t i = 0; i < pack->segment_count && !code; i++) {
        struct segments segments;
        if (segments_decode(pack->segments[i].value, &segments, NULL))
            code = pack_wrong(err, "the segments of a node are damaged");
        else
            segments_free(&segments);
    }
    return code ? code : check_memories(pack, err);
}

/* What they name is there, and nothing besides. */
static int check_names(const struct pack *pack, struct err *err)
{
    const struct vector_table *table = &pack->vectors;
    size_t segments = 0, memories = 0;
    for (uint32_t i = 0; i < table->name_count; i++) {
        struct hash128 name = table->names[i];
        bool segment = find(pack->segments, pack->segment_count, name);
        bool memory = find(pack->memories, pack->memory_count, name);
        if (!segment && !memory)
            return pack_wrong(err, "a memory that its vectors name is missing");
        if (i && hash_compare(&table->names[i - 1], &name) >= 0)
            return pack_wrong(err, "the names of its vectors are not in order");
        segments += segment;
        memories += memory;
    }
    for (uint32_t i = 0; table->row_names && i < table->row_count; i++)
        if (!find(pack->memories, pack->memory_count,
                  table->names[table->row_names[i]]))
            return pack_wrong(err, "a vector is of a memory that is missing");
    return segments == pack->segment_count && memories == pack->memory_count
               ? 0
               : pack_wrong(err, "it has memories that nothing is made of");
}

static int check_vectors(const struct pack *pack, struct err *err)
{
    const struct vector_table *table = &pack->vectors;
    if (table->base || (table->width && table->generation != 1))
        return pack_wrong(err, "its vectors are of another generation");
    for (uint32_t i = 0; i < table->node_count; i++)
        if (!table->nodes[i] || table->nodes[i] > pack->outline->count ||
            (i && table->nodes[i - 1] >= table->nodes[i]))
            return pack_wrong(err, "its vectors are of nodes that are not "
                                   "there, or not in order");
    return check_names(pack, err);
}

int pack_check(const struct pack *pack, struct err *err)
{
    int code = is_text(slice_of(pack->ignore))
                   ? check_outline(pack, err)
                   : pack_wrong(err, "its globs are no text");
    if (!code)
        code = check_files(pack, err);
    if (!code)
        code = check_trees(pack, err);
    if (!code)
        code = check_records(pack, err);
    return code ? code : check_vectors(pack, err);
}
