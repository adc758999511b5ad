/* What units refer to: tables by their number, fields of a box of bits. */
#include <string.h>

#include "daemon/answer/unit_tables.h"
#include "daemon/answer/units_internal.h"

enum {
    MAX_ROWS = 3,       /* of a table that is referred to */
    MAX_SHORT = 400,    /* bytes of a table, or a row, that is quoted whole */
    MAX_REFERENCES = 2, /* to tables that are followed, of a unit */
    MAX_NODES = 40      /* below a section that are looked through for them */
};

/* Share of the question in a row of a table that is referred to. */
static const double MIN_ROW = 0.15;

static bool is_items(const struct block *block)
{
    return block->kind == BLOCK_LIST || block->kind == BLOCK_DEFINITION;
}

/* ---- Rows ---- */

static void put_unit(const struct cutting *cutting, uint32_t block,
                     struct unit unit)
{
    unit.block = block;
    units_put(cutting, unit);
}

/* The row in which the line from *at on stands, with its share of the question; *at is
 * moved behind it. */
static struct unit next_line(const struct cutting *cutting,
                             const struct block *table, size_t *at,
                             double *ret_share)
{
    struct slice text = table->text;
    const char *end = memchr(text.data + *at, '\n', text.size - *at);
    size_t to = end ? (size_t)(end - text.data) : text.size;
    struct slice line = {text.data + *at, to - *at};
    struct unit unit = {0};
    *ret_share = passage_measure_share(cutting->measure, line);
    if (line.size)
        unit = unit_within(table, *at, line.size);
    *at = to + 1;
    return unit;
}

/* The rows that hold most of the question, few of all. */
struct rows {
    struct unit items[MAX_ROWS]; /* [count] */
    size_t count;                /* 0: none, or too many are alike */
    double share;
};

static struct rows best_rows(const struct cutting *cutting,
                             const struct block *table)
{
    struct rows rows = {.share = MIN_ROW};
    struct slice head = unit_head(table).text;
    size_t alike = 0;
    for (size_t at = head.size + (head.size > 0); at < table->text.size;) {
        double share;
        struct unit row = next_line(cutting, table, &at, &share);
        if (share < rows.share || !row.text.size)
            continue;
        if (share > rows.share)
            alike = 0;
        rows.share = share;
        if (alike < MAX_ROWS)
            rows.items[alike] = row;
        alike++;
    }
    rows.count = alike <= MAX_ROWS ? alike : 0;
    return rows;
}

/* The caption of a table, or what tells of it above; the table's rows that answer, or, of
 * a short one, all of it if `whole`. */
static void put_table(const struct cutting *cutting, uint32_t block, bool whole)
{
    const struct block *table = &cutting->content->node->blocks[block];
    struct rows rows = best_rows(cutting, table);
    if (whole && (!rows.count || table->text.size <= MAX_SHORT)) {
        if (table->text.size <= UNIT_PROSE)
            put_unit(cutting, block, (struct unit){.text = table->text});
        return;
    }
    for (size_t i = 0; i < rows.count; i++) {
        units_put_head(cutting, block, &rows.items[i]);
        put_unit(cutting, block, rows.items[i]);
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
    while (name.size && asked &&
           passage_measure_share(cutting->measure, name) <= 0)
        name = table_named_field(row, text, &at);
    return name.size > 0;
}

/* The item behind a box of bits that says what a field is, the one that holds most of the
 * question. */
static void put_item(const struct cutting *cutting, uint32_t box,
                     struct slice row)
{
    const struct node *node = cutting->content->node;
    struct unit best = {0};
    double most = 0;
    for (uint32_t b = box + 1;
         b < node->block_count && !table_is_box(&node->blocks[b]); b++) {
        const struct block *block = &node->blocks[b];
        for (size_t at = 0; is_items(block) && at < block->text.size;) {
            bool below = block->text.data[at] == ' ';
            double share;
            struct unit item = next_line(cutting, block, &at, &share);
            if (below || share <= most ||
                !names_field(cutting, row, table_item_name(item.text), false))
                continue;
            item.block = b;
            best = item;
            most = share;
        }
    }
    units_put(cutting, best);
}

/* The row of the box that has the field which an item is of, or a text tells of that is
 * asked about; false: it has no such field. */
static bool put_field(const struct cutting *cutting, uint32_t box,
                      struct slice text, bool asked)
{
    const struct block *table = &cutting->content->node->blocks[box];
    for (size_t at = 0; table_is_box(table) && at < table->text.size;) {
        double share;
        struct unit row = next_line(cutting, table, &at, &share);
        if (!names_field(cutting, row.text, text, asked))
            continue;
        if (row.text.size <= MAX_SHORT)
            put_unit(cutting, box, row);
        if (asked)
            put_item(cutting, box, row.text);
        return true;
    }
    return false;
}

/* Of the nearest box above an item; of a text of the nearest above or else below. */
static void put_box(const struct cutting *cutting, uint32_t block,
                    struct slice text)
{
    const struct node *node = cutting->content->node;
    bool item = is_items(&node->blocks[block]);
    if (item)
        text = table_item_name(text);
    for (uint32_t b = block; b-- > 0;)
        if (put_field(cutting, b, text, !item))
            return;
    for (uint32_t b = block + 1; !item && b < node->block_count; b++)
        if (put_field(cutting, b, text, true))
            return;
}

void units_put_referred(const struct cutting *cutting, uint32_t block,
                        struct slice text)
{
    const struct block *own = &cutting->content->node->blocks[block];
    uint32_t table = table_of_caption(cutting->content->node, block);
    size_t at = 0;
    if (table != TREE_NONE) {
        put_table(cutting, table, true);
        return;
    }
    if (table_is_box(own))
        put_item(cutting, block, text);
    else if (own->kind != BLOCK_TABLE && own->kind != BLOCK_CODE)
        put_box(cutting, block, text);
    if (own->kind == BLOCK_CODE)
        return;
    for (int i = 0; i < MAX_REFERENCES; i++) {
        struct slice number = table_reference(text, &at);
        if (!number.size)
            break;
        put_reference(cutting, block + 1, number);
    }
    if (table_refers_below(text))
        put_below(cutting);
}
