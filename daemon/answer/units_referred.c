/* What units refer to: tables by their number, fields of a box of bits. */
#include <string.h>

#include "daemon/answer/unit_tables.h"
#include "daemon/answer/units_internal.h"

enum {
    MAX_ROWS = 3,       /* of a table that is referred to */
    MAX_SHORT = 400,    /* bytes of a table, or a row, that is quoted whole */
    MAX_REFERENCES = 2, /* to tables by number that are followed from units */
    MAX_NODES = 40      /* below a section that are looked through for them */
};

/* Share of the question in a row of a table that is referred to. */
static const double MIN_ROW = 0.15;

/* ---- Rows ---- */

/* The line from *at on, which is moved behind it. */
static struct slice next_line(struct slice text, size_t *at)
{
    size_t from = *at;
    const char *end = memchr(text.data + from, '\n', text.size - from);
    size_t to = end ? (size_t)(end - text.data) : text.size;
    *at = to + 1;
    return (struct slice){text.data + from, to - from};
}

/* The row or the item that the line is of. */
static struct unit unit_of_line(const struct cutting *cutting, uint32_t block,
                                struct slice line)
{
    const struct block *own = &cutting->content->node->blocks[block];
    struct unit unit =
        unit_within(own, (size_t)(line.data - own->text.data), line.size);
    unit.block = block;
    return unit;
}

/* The rows that hold most of the question, few of all; what the head holds is said of
 * every row. */
struct rows {
    struct slice lines[MAX_ROWS]; /* [count] */
    size_t count;                 /* 0: none, or too many are alike */
    double share;
};

static struct rows best_rows(const struct cutting *cutting,
                             const struct block *table)
{
    struct rows rows = {.share = MIN_ROW};
    struct slice head = unit_head(table).text;
    uint64_t said = passage_measure_terms(cutting->measure, head);
    size_t alike = 0;
    for (size_t at = head.size + (head.size > 0); at < table->text.size;) {
        struct slice line = next_line(table->text, &at);
        uint64_t terms = passage_measure_terms(cutting->measure, line) & ~said;
        double share = passage_measure_share(cutting->measure, terms);
        if (share < rows.share)
            continue;
        if (share > rows.share)
            alike = 0;
        rows.share = share;
        if (alike < MAX_ROWS)
            rows.lines[alike] = line;
        alike++;
    }
    rows.count = alike <= MAX_ROWS ? alike : 0;
    return rows;
}

/* The table's rows that answer below its head; if `whole`, all of a short table, or of one
 * without such rows. */
static void put_table(const struct cutting *cutting, uint32_t block, bool whole)
{
    const struct block *table = &cutting->content->node->blocks[block];
    struct rows rows = best_rows(cutting, table);
    if (whole && (!rows.count || table->text.size <= MAX_SHORT)) {
        if (table->text.size <= UNIT_PROSE)
            units_put(cutting,
                      (struct unit){.block = block, .text = table->text});
        return;
    }
    for (size_t i = 0; i < rows.count; i++) {
        struct unit row = unit_of_line(cutting, block, rows.lines[i]);
        units_put_head(cutting, block, &row);
        units_put(cutting, row);
    }
}

/* ---- Tables elsewhere ---- */

/* A node in which a table is looked for, with what is cut of it. */
struct place {
    struct content content;
    struct passage passage;
    struct cutting cutting;
};

static bool place_open(const struct cutting *cutting, uint32_t node,
                       struct place *ret)
{
    ret->passage = *cutting->passage;
    ret->passage.node = node;
    ret->cutting = *cutting;
    ret->cutting.passage = &ret->passage;
    ret->cutting.content = &ret->content;
    return !content_open(cutting->snapshot, ret->passage.view, node,
                         &ret->content, NULL);
}

/* The table of that number in the node; false: it has none. */
static bool put_numbered(const struct cutting *cutting, uint32_t node,
                         struct slice number)
{
    struct place place;
    if (!place_open(cutting, node, &place))
        return false;
    uint32_t block = table_numbered(place.content.node, number);
    if (block != TREE_NONE)
        put_table(&place.cutting, block, false);
    content_close(&place.content);
    return block != TREE_NONE;
}

static uint32_t last_below(const struct passage *passage)
{
    uint32_t end = passage->view->ends[passage->node];
    return end - passage->node > MAX_NODES ? passage->node + MAX_NODES : end;
}

/* In the section itself, in what is below it, and in those that it is of. */
static void put_reference(const struct cutting *cutting, uint32_t behind,
                          struct slice number)
{
    const struct passage *own = cutting->passage;
    uint32_t block = table_numbered(cutting->content->node, number);
    if (block != TREE_NONE) {
        put_table(cutting, block, block == behind || block == behind + 1);
        return;
    }
    for (uint32_t n = own->node + 1; n < last_below(own); n++)
        if (put_numbered(cutting, n, number))
            return;
    uint32_t above = own->view->nodes[own->node].parent;
    while (above != TREE_NONE && !put_numbered(cutting, above, number))
        above = own->view->nodes[above].parent;
}

/* Of the tables in sections below the one that has the row that answers. */
static void put_below(const struct cutting *cutting)
{
    const struct passage *own = cutting->passage;
    double best = 0;
    uint32_t best_node = 0, best_block = 0;
    for (uint32_t n = own->node + 1; n < last_below(own); n++) {
        struct place place;
        if (!place_open(cutting, n, &place))
            continue;
        const struct node *node = place.content.node;
        for (uint32_t b = 0; b < node->block_count; b++) {
            struct rows rows = {0};
            if (node->blocks[b].kind == BLOCK_TABLE)
                rows = best_rows(cutting, &node->blocks[b]);
            if (rows.count && rows.share > best) {
                best = rows.share;
                best_node = n;
                best_block = b;
            }
        }
        content_close(&place.content);
    }
    struct place place;
    if (best > 0 && place_open(cutting, best_node, &place)) {
        put_table(&place.cutting, best_block, false);
        content_close(&place.content);
    }
}

/* ---- Boxes of bits ---- */

/* Does the text name a field of the row, and, if `asked`, does the question? */
static bool names_field(const struct cutting *cutting, struct slice row,
                        struct slice text, bool asked)
{
    size_t at = 0;
    struct slice name = table_named_field(row, text, &at);
    while (name.size && asked && !passage_measure_terms(cutting->measure, name))
        name = table_named_field(row, text, &at);
    return name.size > 0;
}

/* The item behind a box of bits that says what a field is, the one that holds most of the
 * question. */
static void put_item(const struct cutting *cutting, uint32_t box,
                     struct slice row)
{
    const struct node *node = cutting->content->node;
    struct slice best = {0};
    uint32_t best_block = box;
    double most = 0;
    for (uint32_t b = box + 1;
         b < node->block_count && !table_is_box(&node->blocks[b]); b++) {
        const struct block *block = &node->blocks[b];
        for (size_t at = 0; unit_is_items(block) && at < block->text.size;) {
            struct slice line = next_line(block->text, &at);
            if (!line.size || line.data[0] == ' ' ||
                !names_field(cutting, row, table_item_name(line), false))
                continue;
            double share = passage_measure_share(
                cutting->measure,
                passage_measure_terms(cutting->measure, line));
            if (share <= most)
                continue;
            best = line;
            best_block = b;
            most = share;
        }
    }
    if (best.size)
        units_put(cutting, unit_of_line(cutting, best_block, best));
}

/* The row of the box that has the field which an item is of, or a text tells of that is
 * asked about; false: it has no such field. */
static bool put_field(const struct cutting *cutting, uint32_t box,
                      struct slice text, bool asked)
{
    const struct block *table = &cutting->content->node->blocks[box];
    if (!table_is_box(table))
        return false;
    for (size_t at = 0; at < table->text.size;) {
        struct slice line = next_line(table->text, &at);
        if (!names_field(cutting, line, text, asked))
            continue;
        if (line.size <= MAX_SHORT)
            units_put(cutting, unit_of_line(cutting, box, line));
        if (asked)
            put_item(cutting, box, line);
        return true;
    }
    return false;
}

/* Of the nearest box above an item; of a text of the nearest above or else below. */
static void put_box(const struct cutting *cutting, uint32_t block,
                    struct slice text)
{
    const struct node *node = cutting->content->node;
    bool item = unit_is_items(&node->blocks[block]);
    if (item)
        text = table_item_name(text);
    for (uint32_t b = block; b-- > 0;)
        if (put_field(cutting, b, text, !item))
            return;
    for (uint32_t b = block + 1; !item && b < node->block_count; b++)
        if (put_field(cutting, b, text, true))
            return;
}

/* *left: how many references may be followed still. */
static void put_referred(const struct cutting *cutting, const struct unit *unit,
                         int *left)
{
    const struct node *node = cutting->content->node;
    const struct block *own = &node->blocks[unit->block];
    uint32_t table = table_of_caption(node, unit->block);
    if (own->kind == BLOCK_CODE)
        return;
    if (table != TREE_NONE) {
        put_table(cutting, table, true);
        return;
    }
    if (table_is_box(own))
        put_item(cutting, unit->block, unit->text);
    else if (own->kind != BLOCK_TABLE)
        put_box(cutting, unit->block, unit->text);
    for (size_t at = 0; *left;) {
        struct slice number = table_reference(unit->text, &at);
        if (!number.size)
            break;
        put_reference(cutting, unit->block + 1, number);
        --*left;
    }
    if (*left && table_refers_below(unit->text)) {
        put_below(cutting);
        --*left;
    }
}

void units_put_referred(const struct cutting *cutting, const struct unit *units,
                        size_t count)
{
    int left = MAX_REFERENCES;
    for (size_t i = 0; i < count; i++)
        if (units[i].text.size)
            put_referred(cutting, &units[i], &left);
}
