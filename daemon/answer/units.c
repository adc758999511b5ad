#include "daemon/answer/units.h"

#include <string.h>

#include "base/mem.h"
#include "memory/lexical/sentences.h"
#include "memory/snapshot/content.h"

enum {
    MAX_PROSE = 900,    /* bytes of a paragraph that is quoted whole */
    MAX_CODE = 1500,    /* bytes of a piece of code */
    MAX_SECTION = 1200, /* bytes of the best section, if it is quoted whole */
    MAX_BLOCKS = 5,     /* of it */
    MIN_LEAD = 40,      /* bytes: "Examples:" leads in to nothing */
    MAX_LABEL = 100,    /* bytes of a caption */
    UNITS_A_PASSAGE = MAX_BLOCKS,
    MAX_FULL = 30000, /* bytes of the best section, if all of it is asked for */
    MAX_FULL_BLOCKS = 300
};

/* Share of the question in a section's title from which the section is about it, so
 * that its first lines are an answer. */
static const double ABOUT = 0.6;

/* Sections that are weaker, beside the best, are not quoted, though a model may read
 * them (docs/log/people.md). */
static const double MIN_SHARE = 0.65;

struct cutting {
    const struct passage *passage;
    const struct content *content;
    kind_set kinds;
    enum extent extent;
    struct passages *ret;
};

static const struct block *block_at(const struct cutting *cutting,
                                    int64_t index)
{
    const struct node *node = cutting->content->node;
    return index >= 0 && index < node->block_count ? &node->blocks[index]
                                                   : NULL;
}

/* The index of the passage's block in its node; -1: it is not there. */
static int64_t index_of_block(const struct cutting *cutting)
{
    const struct passage *passage = cutting->passage;
    const struct node *node = cutting->content->node;
    for (uint32_t b = 0; b < node->block_count; b++) {
        const struct block *block = &node->blocks[b];
        if (block->kind == passage->kind &&
            block->origin.span.from == passage->block.span.from &&
            block->origin.span.to == passage->block.span.to &&
            passage->at + passage->text.size <= block->text.size &&
            !memcmp(block->text.data + passage->at, passage->text.data,
                    passage->text.size))
            return b;
    }
    return -1;
}

/* ---- The unit in a block's text ---- */

/* The line that holds byte `at`, without its mark. */
static struct slice line_at(const struct block *block, size_t at)
{
    struct slice line = {block->text.data, 0};
    for (size_t next = 0; next <= at && next < block->text.size;)
        line = sentences_line(block, &next);
    return sentences_unmarked(block, line);
}

/* As many whole sentences after `text` in its line as fit. */
static struct slice extend(struct slice line, struct slice text)
{
    size_t from = (size_t)(text.data - line.data), end = from + text.size;
    for (size_t next = sentence_next(line, end); next < line.size;
         next = sentence_next(line, end)) {
        size_t further = sentence_end(line, next);
        if (further - from > MAX_PROSE || further <= end)
            break;
        end = further;
    }
    return (struct slice){text.data, end - from};
}

/* A definition's line together with the one before it that is its term, or the
 * term with the line that defines it. */
static struct slice with_term(const struct block *block, struct slice line)
{
    const char *text = block->text.data, *end = text + block->text.size;
    const char *from = line.data, *to = line.data + line.size;
    const char *start = from;
    while (start > text && start[-1] != '\n')
        start--;
    if (*start == ' ' && start > text) { /* defines: the term is above */
        const char *above = start - 1;
        while (above > text && above[-1] != '\n')
            above--;
        if (*above != ' ')
            from = above;
    } else if (*start != ' ' && to + 1 < end && *to == '\n' && to[1] == ' ') {
        const char *below = memchr(to + 1, '\n', (size_t)(end - to - 1));
        to = below ? below : end;
    }
    return to - from <= MAX_PROSE ? (struct slice){from, (size_t)(to - from)}
                                  : line;
}

/* Where the rows that are headers end, "head=2". */
static const char *headers_end(const struct block *block)
{
    static const char head[] = "head=";
    const char *at = block->text.data, *end = at + block->text.size;
    size_t rows = 0, size = sizeof head - 1;
    if (slice_starts(block->info, slice_of(head)))
        for (size_t i = size; i < block->info.size; i++)
            rows = 10 * rows + (size_t)(block->info.data[i] - '0');
    for (; rows && at < end; rows--) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        at = line ? line + 1 : end;
    }
    return at;
}

/* The row above in which the first cell of this one begins, which spans both; the row
 * itself if it has one of its own, or there is none. */
static const char *spanning_row(const struct block *block, const char *row)
{
    const char *first = headers_end(block), *at = row;
    while (*at == '\t' && at > first) {
        at--;
        while (at > first && at[-1] != '\n')
            at--;
    }
    return at < first || *at == '\t' ? row : at;
}

/* The row that holds the text, with those above to which its first cell belongs; when
 * it is not too long. */
static struct slice row_at(const struct block *block, struct slice text)
{
    const char *from = text.data, *to = text.data + text.size;
    const char *start = block->text.data, *end = start + block->text.size;
    while (from > start && from[-1] != '\n')
        from--;
    while (to < end && *to != '\n')
        to++;
    const char *above = from < to ? spanning_row(block, from) : from;
    if (to - above <= MAX_PROSE)
        from = above;
    return to - from <= MAX_PROSE ? (struct slice){from, (size_t)(to - from)}
                                  : text;
}

struct slice unit_around(const struct block *block, size_t at, size_t size)
{
    struct slice text = {block->text.data + at, size};
    if (block->kind == BLOCK_CODE)
        return block->text.size <= MAX_CODE ? block->text : text;
    if (block->kind == BLOCK_TABLE)
        return row_at(block, text);
    struct slice line = line_at(block, at);
    if (text.data < line.data || text.data + size > line.data + line.size)
        return text;
    if (line.size > MAX_PROSE)
        return extend(line, text);
    return block->kind == BLOCK_DEFINITION ? with_term(block, line) : line;
}

/* ---- Around it ---- */

/* A heading, a caption, or what ends in a colon: it says what comes next. */
static bool announces(const struct block *block, struct slice text)
{
    if (!text.size || block->kind != BLOCK_PARAGRAPH)
        return false;
    char last = text.data[text.size - 1];
    return last == ':' || (text.size < MAX_LABEL && !strchr(".?!;)", last));
}

static bool is_shown(const struct block *block)
{
    size_t max = block->kind == BLOCK_CODE ? MAX_CODE : MAX_PROSE;
    return block->text.size && block->text.size <= max;
}

/* Whether a unit so far holds all of this one. */
static bool is_there(const struct passages *units, const struct passage *unit)
{
    for (size_t i = 0; i < units->count; i++) {
        const struct passage *other = &units->items[i];
        if (slice_equal(other->text, unit->text) ||
            (other->view == unit->view && other->node == unit->node &&
             other->kind == unit->kind &&
             other->block.file == unit->block.file &&
             other->block.span.from == unit->block.span.from &&
             other->block.span.to == unit->block.span.to &&
             other->at <= unit->at &&
             unit->at + unit->text.size <= other->at + other->text.size))
            return true;
    }
    return false;
}

static void add(struct passages *units, const struct passage *unit)
{
    if (is_there(units, unit))
        return;
    struct passage own = *unit;
    own.text.data = arena_copy(&units->arena, unit->text.data, unit->text.size);
    units->items[units->count++] = own;
}

static void put(const struct cutting *cutting, const struct block *block,
                struct slice text)
{
    if (cutting->kinds && !(cutting->kinds & kind_bit(block->kind)))
        return;
    struct passage unit = *cutting->passage;
    unit.text = text;
    unit.at = (size_t)(text.data - block->text.data);
    unit.block = block->origin;
    unit.block.file =
        content_file(cutting->content, unit.view, unit.node, block);
    unit.kind = block->kind;
    add(cutting->ret, &unit);
}

/* All of a short section; false: it is none. */
static bool cut_whole(const struct cutting *cutting)
{
    const struct node *node = cutting->content->node;
    bool full = cutting->extent == EXTENT_FULL;
    size_t size = 0;
    if (cutting->extent == EXTENT_BRIEF ||
        node->block_count > (full ? MAX_FULL_BLOCKS : MAX_BLOCKS))
        return false;
    for (uint32_t b = 0; b < node->block_count; b++)
        size += node->blocks[b].text.size;
    if (size > (full ? MAX_FULL : MAX_SECTION))
        return false;
    for (uint32_t b = 0; b < node->block_count; b++)
        if (node->blocks[b].text.size)
            put(cutting, &node->blocks[b], node->blocks[b].text);
    return true;
}

static void put_first_lines(const struct cutting *cutting)
{
    const struct block *first = block_at(cutting, 0);
    if (cutting->passage->about >= ABOUT && first &&
        first->kind == BLOCK_PARAGRAPH && first->text.size >= MIN_LEAD)
        put(cutting, first, unit_around(first, 0, 0));
}

static void cut(const struct cutting *cutting, bool best)
{
    int64_t index = index_of_block(cutting);
    if (index < 0) {
        add(cutting->ret, cutting->passage);
        return;
    }
    if (best && cut_whole(cutting))
        return;
    if (best && cutting->extent != EXTENT_BRIEF)
        put_first_lines(cutting);
    const struct block *block = block_at(cutting, index);
    const struct block *before = block_at(cutting, index - 1);
    const struct block *after = block_at(cutting, index + 1);
    struct slice unit =
        unit_around(block, cutting->passage->at, cutting->passage->text.size);
    if (before && before->kind == BLOCK_PARAGRAPH && is_shown(before) &&
        before->text.size >= MIN_LEAD && block->kind != BLOCK_PARAGRAPH &&
        (block->kind == BLOCK_CODE || announces(before, before->text)))
        put(cutting, before, before->text);
    put(cutting, block, unit);
    if (after && announces(block, unit) && is_shown(after))
        put(cutting, after, after->text);
    else if (after && announces(block, unit) && after->kind == BLOCK_PARAGRAPH)
        put(cutting, after, unit_around(after, 0, 0));
}

int units_of(const struct snapshot *snapshot, const struct passages *passages,
             kind_set kinds, enum extent extent, const atomic_bool *cancel,
             struct passages *ret, struct err *err)
{
    struct passages units = {0};
    int code = 0;
    size_t count = passages->count;
    if (extent == EXTENT_BRIEF && count > 1)
        count = 1;
    units.items = mem_alloc((count * UNITS_A_PASSAGE + MAX_FULL_BLOCKS) *
                            sizeof *units.items);
    for (size_t i = 0; i < count && !code; i++) {
        const struct passage *passage = &passages->items[i];
        struct content content;
        if (passage->share < MIN_SHARE)
            continue;
        if (cancel && atomic_load(cancel))
            code = err_set(err, ERR_CANCELLED, "cancelled");
        if (!code)
            code = content_open(snapshot, passage->view, passage->node,
                                &content, err);
        if (code)
            break;
        cut(&(struct cutting){passage, &content, kinds, extent, &units}, !i);
        content_close(&content);
    }
    if (code)
        passages_free(&units);
    else
        *ret = units;
    return code;
}
