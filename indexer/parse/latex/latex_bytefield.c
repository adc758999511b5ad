/* The package bytefield's pictures of registers, instructions and packets, each a
 * table: a row of what its line shows, each part behind its bits where the field has a
 * line of their numbers. */
#include "indexer/parse/latex/latex_internal.h"

#include <string.h>

enum { MAX_BITS = 4096 }; /* of a line */

/* What follows is another cell of the row, if there is one. */
static void begin_cell(struct document *d)
{
    if (d->bits.laps)
        return;
    if (document_is_body(d) && writer_in_line(blocks_writer(d)))
        tabular_cell(d);
    else
        document_space(d);
}

/* ---- Bits ---- */

/* Digits and nothing else; -1: it is no such number. */
static int64_t number_alone(struct tex *tex, const struct buf *text)
{
    size_t digits = 0;
    while (digits < text->size && text->data[digits] >= '0' &&
           text->data[digits] <= '9')
        digits++;
    return digits && digits == text->size ? number_of_text(tex, buf_slice(text))
                                          : -1;
}

static int64_t read_number(struct tex *tex)
{
    struct tokens list = {0};
    struct buf text = {0};
    tex_read_argument(tex, &list);
    struct tokens trimmed = keys_trim(list.items, list.count);
    tex_expand_text(tex, &trimmed, &text);
    int64_t number = number_alone(tex, &text);
    buf_free(&text);
    tokens_free(&trimmed);
    tokens_free(&list);
    return number;
}

/* Which bit is the lowest, by the option "lsb"; -1: it is no number. */
static int64_t lowest_bit(struct tex *tex, const struct tokens *options)
{
    struct tokens value = {0};
    struct buf text = {0};
    int64_t lowest = 0;
    if (keys_value(tex, options, "lsb", &value)) {
        tex_expand_text(tex, &value, &text);
        lowest = number_alone(tex, &text);
    }
    buf_free(&text);
    tokens_free(&value);
    return lowest;
}

/* Does the option "endianness" count from the right?  Version 1 of the package has "b"
 * and "l" in its place. */
static void choose_order(struct tex *tex, const struct tokens *options,
                         bool *ret)
{
    struct tokens value = {0};
    struct buf text = {0};
    bool named = keys_value(tex, options, "endianness", &value);
    tex_strip_braces(&value, 0);
    tex_expand_text(tex, named ? &value : options, &text);
    struct slice order = buf_slice(&text);
    if (named || slice_is(order, "b") || slice_is(order, "l"))
        *ret = slice_is(order, "big") || slice_is(order, "b");
    buf_free(&text);
    tokens_free(&value);
}

/* "0,7,31", "0-31": numbers of its bits. */
static bool are_bits(const struct bits *bits, struct slice text)
{
    bool any = false;
    for (size_t at = 0; at < text.size; at++) {
        int64_t number = 0;
        size_t from = at;
        for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9';
             at++)
            number = number_bounded(number * 10 + (text.data[at] - '0'));
        if (at > from &&
            (number < bits->lowest || number - bits->lowest >= bits->width))
            return false;
        if (at < text.size && !strchr(", -", text.data[at]))
            return false;
        any |= at > from;
    }
    return any;
}

/* The line's next bits are those from `at` on. */
static void go_on_at(struct document *d, int64_t at)
{
    d->bits.at = at;
    d->bits.row = d->rows;
}

static bool counts_bits(const struct document *d)
{
    return d->bits.grid && d->bits.grid == d->in.grid && !d->bits.laps;
}

void bytefield_lose_count(struct document *d)
{
    if (counts_bits(d))
        go_on_at(d, d->bits.width);
}

/* Of as many bits as it has the part takes the next. */
static void put_bits(struct document *d, int64_t count, struct token call)
{
    struct bits *bits = &d->bits;
    struct buf text = {0};
    int64_t from = bits->row == d->rows ? bits->at : 0, to = from + count - 1;
    if (!counts_bits(d))
        return;
    if (count < 1 || to >= bits->width) {
        bytefield_lose_count(d);
        return;
    }
    go_on_at(d, from + count);
    struct token next = tex_next_solid(&d->tex);
    tex_unread(&d->tex, next);
    if (next.cat == CAT_END)
        return;
    if (bits->from_right) {
        from = bits->width - 1 - from;
        to = bits->width - 1 - to;
    }
    from += bits->lowest;
    to += bits->lowest;
    buf_printf(&text, "%lld", (long long)from);
    if (to != from)
        buf_printf(&text, "-%lld", (long long)to);
    buf_put_byte(&text, ':');
    document_put(d, call, buf_slice(&text));
    document_space(d);
    buf_free(&text);
}

/* ---- Parts ---- */

enum { NO_BITS = 0 };

/* A part of `count` bits: its text, whose breaks are none of the table. */
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
    if (count != NO_BITS)
        put_bits(d, count, call);
    if (next.cat == CAT_BEGIN)
        d->in.grid = 0;
}

/* -1: it is not known. */
static int64_t read_width(struct tex *tex)
{
    int64_t width = read_number(tex);
    return width == NO_BITS ? -1 : width;
}

/* \bitbox[sides]{bits}[options]{text} */
static void run_box(struct tex *tex, const struct command *command,
                    struct token call)
{
    tex_skip_before(tex, command->before);
    int64_t count = read_width(tex);
    tex_skip_before(tex, "o");
    begin_part(document_of(tex), count, call);
}

/* \wordbox[sides]{lines}[options]{text} */
static void run_word(struct tex *tex, const struct command *command,
                     struct token call)
{
    tex_skip_before(tex, command->before);
    begin_part(document_of(tex), NO_BITS, call);
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
    size_t depth = 0;
    tex_skip_before(tex, command->before);
    document_of(tex)->bits.each = read_width(tex);
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

/* \rlap{\bitbox{8}{\color{gray}\rule{\width}{\height}}}: what is drawn behind the next
 * part takes no room. */
static void run_lap(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0}, lap = {0};
    (void)command;
    if (!counts_bits(d) && !d->bits.laps)
        return;
    tex_read_argument(tex, &list);
    tokens_add_group(&lap, &list, call);
    tex_add_name(tex, "-lapped-", call, &lap);
    tokens_free(&list);
    d->bits.laps++;
    tex_push(tex, lap);
}

static void run_lapped(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    d->bits.laps -= d->bits.laps > 0;
}

/* ---- Fields ---- */

/* Do lines follow that a header is of? */
static bool lines_follow(struct tex *tex)
{
    struct token next = tex_next_solid(tex);
    tex_unread(tex, next);
    return !token_is(next, CAT_NAME, tex->end);
}

/* \bitheader[options]{0,7,31}: said of the parts themselves, if they are numbers. */
static void run_header(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct bits *bits = &d->bits;
    struct tokens options = {0}, list = {0}, shown = {0};
    struct buf text = {0};
    tex_skip_before(tex, command->before);
    tex_read_optional(tex, &options);
    tex_read_argument(tex, &list);
    tex_expand_text(tex, &list, &text);
    bits->from_right = d->in.bits_from_right;
    choose_order(tex, &options, &bits->from_right);
    bits->lowest = lowest_bit(tex, &options);
    go_on_at(d, 0);
    bool numbered = bits->width <= MAX_BITS && bits->lowest >= 0 &&
                    are_bits(bits, buf_slice(&text)) && lines_follow(tex);
    bits->grid = numbered ? d->in.grid : 0;
    if (!bits->grid) {
        begin_cell(d);
        tokens_add_group(&shown, &list, call);
        tex_push(tex, shown);
    }
    buf_free(&text);
    tokens_free(&list);
    tokens_free(&options);
}

/* \bytefieldsetup{options}: of the fields of the group. */
static void run_setup(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens options = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &options);
    choose_order(tex, &options, &document_of(tex)->in.bits_from_right);
    tokens_free(&options);
}

static void begin_field(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    struct tokens options = {0};
    tex_read_optional(&d->tex, &options);
    d->bits = (struct bits){.width = read_number(&d->tex)};
    choose_order(&d->tex, &options, &d->in.bits_from_right);
    tokens_free(&options);
    tabular_begin(d, environment, call);
}

static void begin_group(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    (void)environment;
    begin_part(d, NO_BITS, call);
}

static const struct command commands[] = {
    {"bitbox", run_box, "so", 0, NULL},
    {"wordbox", run_word, "omo", 0, NULL},
    {"-bit-", run_bit, NULL, 0, NULL},
    {"bitheader", run_header, "s", 0, NULL},
    {"bitboxes", run_boxes, "so", 0, NULL},
    {"rlap", run_lap, NULL, 0, NULL},
    {"-lapped-", run_lapped, NULL, 0, NULL},
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
