/* What is believed of a parser's reply: it has read files of strangers. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "indexer/parser_internal.h"
#include "indexer/wire.h"

static bool is_within(struct span span, size_t size)
{
    return span.from <= span.to && span.to <= size;
}

static bool is_text(struct slice text)
{
    return text_is_utf8(text.data, text.size);
}

/* The bytes of each of a tree's files. */
static bool is_in_file(const struct origin *origin, const uint64_t *sizes)
{
    return is_within(origin->span, sizes[origin->file]);
}

static bool is_plausible_node(const struct node *node, const uint64_t *sizes)
{
    bool fine = is_text(node->title) && is_text(node->anchor);
    for (uint32_t i = 0; i < node->origin_count && fine; i++)
        fine = is_in_file(&node->origins[i], sizes);
    for (uint32_t i = 0; i < node->anchor_count && fine; i++)
        fine = is_text(node->anchors[i]);
    for (uint32_t i = 0; i < node->block_count && fine; i++) {
        const struct block *block = &node->blocks[i];
        fine = is_in_file(&block->origin, sizes) && is_text(block->text) &&
               is_text(block->info);
    }
    for (uint32_t i = 0; i < node->ref_count && fine; i++)
        fine = is_text(node->refs[i].text) && is_text(node->refs[i].url);
    return fine;
}

/* The sizes of the tree's files: the one parsed, and of those that were handed
 * over; false: it names another. */
static bool find_sizes(const struct parser *parser, const struct tree *tree,
                       size_t size, uint64_t *ret_sizes)
{
    ret_sizes[0] = size;
    for (uint32_t f = 1; f < tree->file_count; f++) {
        size_t i = 0;
        while (i < parser->handed_count &&
               !slice_is(tree->files[f], parser->handed[i].path))
            i++;
        if (i == parser->handed_count)
            return false;
        ret_sizes[f] = parser->handed[i].size;
    }
    return true;
}

/* Is it a file's tree, with all its places in that file and those included? */
static bool is_plausible(const struct parser *parser, const struct tree *tree,
                         size_t size)
{
    const struct page *page = &tree->page;
    if (tree->outline || !tree->file_count || tree->files[0].size ||
        tree->file_count > 1 + parser->handed_count)
        return false;
    uint64_t *sizes = mem_alloc(tree->file_count * sizeof *sizes);
    bool fine = find_sizes(parser, tree, size, sizes) && is_text(page->title) &&
                is_text(page->up) && is_text(page->prev) && is_text(page->next);
    for (uint32_t i = 0; i < page->alias_count && fine; i++)
        fine = is_text(page->aliases[i].text) && is_text(page->aliases[i].url);
    for (uint32_t n = 0; n < tree->count && fine; n++)
        fine = is_plausible_node(&tree->nodes[n], sizes);
    free(sizes);
    return fine;
}

bool reply_read_tree(const struct parser *parser, struct slice answer,
                     size_t size, struct tree **ret_tree)
{
    size_t all = size + parser->handed_bytes;
    const struct tree_limits limits = wire_tree_limits(all);
    struct tree *tree;
    if (tree_decode_within(answer.data, answer.size, &limits, &tree, NULL))
        return false;
    bool fine = is_plausible(parser, tree, size);
    if (fine)
        *ret_tree = tree;
    else
        tree_free(tree);
    return fine;
}

/* Takes the reports off the head of an answer. */
bool reply_read_reports(struct slice *answer, const struct parser_inputs *in)
{
    struct reader reader = reader_of(answer->data, answer->size);
    struct slice reports = read_string(&reader);
    if (reader.failed || !is_text(reports))
        return false;
    if (in && in->reports)
        buf_put_slice(in->reports, reports);
    answer->data += reader.at;
    answer->size -= reader.at;
    return true;
}

/* False unless the reply is text and places as promised. */
bool reply_read_text(const struct buf *answer, size_t max, struct slice *text,
                     struct slice *places)
{
    uint64_t n;
    if (answer->size < sizeof n)
        return false;
    memcpy(&n, answer->data, sizeof n);
    if (n > answer->size || wire_text_size(n) != answer->size)
        return false;
    *text = (struct slice){answer->data + sizeof n, n};
    *places = (struct slice){text->data + n, answer->size - sizeof n - n};
    uint32_t before = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct text_place place;
        memcpy(&place, places->data + i * sizeof place, sizeof place);
        if (place.from < before || place.to <= place.from || place.to > max)
            return false;
        before = place.from;
    }
    return text_is_utf8(text->data, text->size);
}
