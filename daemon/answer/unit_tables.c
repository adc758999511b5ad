#include "daemon/answer/unit_tables.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_CAPTION = 400, /* bytes */
    MAX_NAME = 60      /* bytes of what an item is called */
};

static bool is_letter(struct slice text, size_t at)
{
    return at < text.size && isalpha((unsigned char)text.data[at]);
}

static bool is_digit(struct slice text, size_t at)
{
    return at < text.size && isdigit((unsigned char)text.data[at]);
}

/* ---- References ---- */

/* Behind "Table ", "Tbl. ", "Tabelle ": a word that begins as these do; 0: it is none. */
static size_t behind_word(struct slice text, size_t at)
{
    static const char *const words[] = {"tab", "tbl"};
    struct slice rest = {text.data + at, text.size - at};
    size_t end = at;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (rest.size > strlen(words[i]) &&
            !strncasecmp(rest.data, words[i], strlen(words[i])))
            while (is_letter(text, end))
                end++;
    if (end == at || (at && is_letter(text, at - 1)))
        return 0;
    end += end < text.size && text.data[end] == '.';
    size_t number = end;
    while (number < text.size && text.data[number] == ' ')
        number++;
    while (number + 1 < text.size && !memcmp(text.data + number, "\xC2\xA0", 2))
        number += 2;
    return number > end ? number : 0;
}

/* "6.1", "A-2", "12" from there on. */
static struct slice number_at(struct slice text, size_t at)
{
    size_t end = at;
    bool digits = false;
    if (is_letter(text, end) && end + 1 < text.size &&
        strchr(".-", text.data[end + 1]))
        end += 2;
    for (;; end++) {
        digits = digits || is_digit(text, end);
        bool parted = end < text.size && strchr(".-", text.data[end]) &&
                      is_digit(text, end + 1);
        if (!is_digit(text, end) && !parted)
            break;
    }
    if (!digits || is_letter(text, end))
        end = at;
    return (struct slice){text.data + at, end - at};
}

/* "Table 3 of RFC 959" stands elsewhere. */
static bool is_of_other(struct slice text, size_t behind)
{
    struct slice rest = {text.data + behind, text.size - behind};
    return slice_starts(rest, slice_of(" of ")) &&
           !slice_starts(rest, slice_of(" of this "));
}

struct slice table_reference(struct slice text, size_t *at)
{
    for (; *at < text.size; ++*at) {
        size_t from = behind_word(text, *at);
        struct slice number = {0};
        if (from)
            number = number_at(text, from);
        if (number.size && !is_of_other(text, from + number.size)) {
            *at = from + number.size;
            return number;
        }
    }
    return (struct slice){0};
}

bool table_refers_below(struct slice text)
{
    static const char *const phrases[] = {"following tables", "tables below",
                                          "next tables"};
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (memmem(text.data, text.size, phrases[i], strlen(phrases[i])))
            return true;
    return false;
}

/* ---- Captions ---- */

/* A caption ends behind its number, is parted from it, or begins with a capital; what tells
 * of a table goes on with a verb: "Table 3 shows ...". */
static bool is_behind_caption(struct slice text, size_t at)
{
    return at == text.size || strchr(".:", text.data[at]) ||
           (text.data[at] == ' ' && at + 1 < text.size &&
            !islower((unsigned char)text.data[at + 1]));
}

static struct slice number_of_caption(const struct block *block)
{
    struct slice text = block->text;
    bool short_one =
        (block->kind == BLOCK_FIGURE || block->kind == BLOCK_PARAGRAPH) &&
        text.size <= MAX_CAPTION;
    size_t from = short_one ? behind_word(text, 0) : 0;
    struct slice number = {0};
    if (from)
        number = number_at(text, from);
    return number.size && is_behind_caption(text, from + number.size)
               ? number
               : (struct slice){0};
}

static bool is_table(const struct node *node, uint32_t block)
{
    return block < node->block_count && node->blocks[block].kind == BLOCK_TABLE;
}

/* Between two tables a caption is of the one below if the node's first stands above its
 * table. */
static bool are_above(const struct node *node)
{
    for (uint32_t b = 0; b < node->block_count; b++)
        if (is_table(node, b) || number_of_caption(&node->blocks[b]).size)
            return !is_table(node, b);
    return false;
}

uint32_t table_of_caption(const struct node *node, uint32_t block)
{
    if (!number_of_caption(&node->blocks[block]).size)
        return TREE_NONE;
    bool above = block && is_table(node, block - 1);
    bool below = is_table(node, block + 1);
    if (above && below)
        below = are_above(node);
    return below ? block + 1 : above ? block - 1 : TREE_NONE;
}

uint32_t table_numbered(const struct node *node, struct slice number)
{
    uint32_t table = TREE_NONE;
    for (uint32_t b = 0; b < node->block_count && table == TREE_NONE; b++)
        if (slice_equal(number_of_caption(&node->blocks[b]), number))
            table = table_of_caption(node, b);
    return table;
}

/* ---- Boxes ---- */

/* The next cell from *at on, which is moved behind it. */
static struct slice next_cell(struct slice text, size_t *at)
{
    size_t from = *at, end = from;
    while (end < text.size && text.data[end] != '\t' && text.data[end] != '\n')
        end++;
    *at = end + 1;
    return (struct slice){text.data + from, end - from};
}

/* What the field of "7-0: CLKDIV" is called; of no field the size is 0. */
static struct slice field_name(struct slice cell)
{
    size_t at = 0;
    while (is_digit(cell, at) || (at && at < cell.size && cell.data[at] == '-'))
        at++;
    if (!at || at + 2 >= cell.size || memcmp(cell.data + at, ": ", 2) != 0)
        return (struct slice){0};
    return (struct slice){cell.data + at + 2, cell.size - at - 2};
}

bool table_is_box(const struct block *block)
{
    size_t cells = 0, fields = 0;
    for (size_t at = 0; block->kind == BLOCK_TABLE && at < block->text.size;) {
        struct slice cell = next_cell(block->text, &at);
        cells += cell.size > 0;
        fields += field_name(cell).size > 0;
    }
    return fields && fields * 2 >= cells;
}

static bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(struct slice text, struct slice word)
{
    for (size_t at = 0; at + word.size <= text.size; at++)
        if (!memcmp(text.data + at, word.data, word.size) &&
            (!at || !is_in_word(text.data[at - 1])) &&
            (at + word.size == text.size ||
             !is_in_word(text.data[at + word.size])))
            return true;
    return false;
}

struct slice table_item_name(struct slice item)
{
    size_t end = 0;
    while (end < item.size && end < MAX_NAME && item.data[end] != '\n' &&
           !(item.data[end] == ':' && end + 1 < item.size &&
             strchr(" \n", item.data[end + 1])))
        end++;
    return (struct slice){item.data, end};
}

struct slice table_named_field(struct slice row, struct slice text, size_t *at)
{
    while (*at < row.size) {
        struct slice name = field_name(next_cell(row, at));
        if (name.size && has_word(text, name))
            return name;
    }
    return (struct slice){0};
}
