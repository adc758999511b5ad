/* The package bytefield's pictures of registers, instructions and packets, each a
 * table: a row of what its line shows, each part behind its bits where the field has a
 * line of their numbers. */
#include "indexer/parse/latex/latex_internal.h"

#include <string.h>

enum { MAX_BITS = 4096 }; /* of a line */

/* What follows is another cell of the row, if there is one. */
static void begin_cell(struct document *d)
{
    if (document_is_body(d) && writer_in_line(blocks_writer(d)))
        tabular_cell(d);
    else
        document_space(d);
}

/* ---- Bits ---- */

/* Does the option "endianness" count from the right? */
static void choose_order(struct tex *tex, const struct tokens *options,
                         bool *ret)
{
    struct tokens value = {0};
    struct buf text = {0};
    if (keys_value(tex, options, "endianness", &value)) {
        tex_write_tokens(tex, &value, &text);
        *ret = slice_is(buf_slice(&text), "big");
    }
    buf_free(&text);
    tokens_free(&value);
}

/* "0,7,31", "0-31": numbers of its bits. */
static bool are_bits(struct slice text, int64_t width)
{
    int64_t number = 0;
    bool any = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool digit = c >= '0' && c <= '9';
        if (!digit && !strchr(", -", c))
            return false;
        number = digit ? number * 10 + (c - '0') : 0;
        any |= digit;
        if (number >= width)
            return false;
    }
    return any;
}

/* Of as many bits as it has the part takes the next. */
static void put_bits(struct document *d, int64_t count, struct token call)
{
    struct bits *bits = &d->bits;
    struct buf text = {0};
    if (bits->row != d->rows)
        bits->at = 0;
    bits->row = d->rows;
    int64_t from = bits->at, to = from + count - 1;
    if (!bits->numbered || count < 1 || to >= bits->width || !d->in.grid) {
        bits->numbered = false;
        return;
    }
    bits->at += count;
    struct token next = tex_next_solid(&d->tex);
    tex_unread(&d->tex, next);
    if (next.cat == CAT_END)
        return;
    if (bits->big) {
        from = bits->width - 1 - from;
        to = bits->width - 1 - to;
    }
    buf_printf(&text, "%lld", (long long)from);
    if (to != from)
        buf_printf(&text, "-%lld", (long long)to);
    buf_put_byte(&text, ':');
    document_put(d, call, buf_slice(&text));
    document_space(d);
    buf_free(&text);
}

/* ---- Parts ---- */

/* A part of `count` bits, 0 of none: its text, whose breaks are none of the table. */
static void begin_part(struct document *d, int64_t count, struct token call)
{
    unsigned grid = d->in.grid;
    begin_cell(d);
    struct token next = tex_next_solid(&d->tex);
    if (next.cat == CAT_BEGIN) {
        document_open(d, GROUP_BRACE, next);
        d->last = 0;
    } else {
        tex_unread(&d->tex, next);
    }
    d->in.grid = grid;
    if (count)
        put_bits(d, count, call);
    if (next.cat == CAT_BEGIN)
        d->in.grid = 0;
}

/* \bitbox[sides]{bits}[options]{text} */
static void run_box(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct buf bits = {0};
    tex_skip_before(tex, command->before);
    tex_read_text(tex, &bits);
    int64_t count = number_of_text(tex, buf_slice(&bits));
    buf_free(&bits);
    tex_skip_before(tex, "o");
    begin_part(document_of(tex), count, call);
}

/* \wordbox[sides]{lines}{text} */
static void run_word(struct tex *tex, const struct command *command,
                     struct token call)
{
    tex_skip_before(tex, command->before);
    begin_part(document_of(tex), 0, call);
}

/* One of \bitboxes. */
static void run_bit(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    begin_part(d, d->bits.each, call);
}

/* \bitboxes{bits}{{a}{b}}: a and b. */
static void run_boxes(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens list = {0}, boxes = {0};
    struct token box = call;
    struct buf bits = {0};
    size_t depth = 0;
    tex_skip_before(tex, command->before);
    tex_read_text(tex, &bits);
    document_of(tex)->bits.each = number_of_text(tex, buf_slice(&bits));
    buf_free(&bits);
    tex_skip_before(tex, "o");
    tex_read_argument(tex, &list);
    box.cat = CAT_NAME;
    box.value = tex_symbol_of(tex, "-bit-");
    for (size_t i = 0; i < list.count; i++) {
        struct token token = list.items[i];
        if (!depth && token.cat != CAT_SPACE)
            tokens_add(&boxes, box);
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
        tokens_add(&boxes, token);
    }
    tokens_free(&list);
    tex_push(tex, boxes);
}

/* \bitheader[options]{0,7,31}: said of the parts themselves, if they are numbers. */
static void run_header(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct tokens options = {0}, list = {0}, shown = {0};
    struct buf text = {0};
    tex_skip_before(tex, command->before);
    tex_read_optional(tex, &options);
    tex_read_argument(tex, &list);
    tex_expand_text(tex, &list, &text);
    d->bits.numbered = d->in.grid && d->bits.width <= MAX_BITS &&
                       are_bits(buf_slice(&text), d->bits.width);
    d->bits.row = d->rows;
    d->bits.at = 0;
    choose_order(tex, &options, &d->bits.big);
    if (!d->bits.numbered) {
        begin_cell(d);
        tokens_add_group(&shown, &list, call);
        tex_push(tex, shown);
    }
    buf_free(&text);
    tokens_free(&list);
    tokens_free(&options);
}

/* \bytefieldsetup{options}: of all fields to come. */
static void run_setup(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens options = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &options);
    choose_order(tex, &options, &document_of(tex)->bits.all_big);
    tokens_free(&options);
}

static void begin_field(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    struct tokens options = {0};
    struct buf width = {0};
    tex_read_optional(&d->tex, &options);
    tex_read_text(&d->tex, &width);
    d->bits = (struct bits){.width = number_of_text(&d->tex, buf_slice(&width)),
                            .big = d->bits.all_big,
                            .all_big = d->bits.all_big};
    choose_order(&d->tex, &options, &d->bits.big);
    buf_free(&width);
    tokens_free(&options);
    tabular_begin(d, environment, call);
}

static void begin_group(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    (void)environment;
    (void)call;
    begin_cell(d);
}

static const struct command commands[] = {
    {"bitbox", run_box, "so", 0, NULL},
    {"wordbox", run_word, "om", 0, NULL},
    {"-bit-", run_bit, NULL, 0, NULL},
    {"bitheader", run_header, "s", 0, NULL},
    {"bitboxes", run_boxes, "so", 0, NULL},
    {"bytefieldsetup", run_setup, NULL, 0, NULL},
};

static const struct environment environments[] = {
    {"bytefield", begin_field, tabular_end, NULL, 0, NULL, 0},
    {"leftwordgroup", begin_group, NULL, "o", 0, NULL, 0},
    {"rightwordgroup", begin_group, NULL, "o", 0, NULL, 0},
};

void bytefield_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
