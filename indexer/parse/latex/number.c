/* Numbers, dimensions, registers and counters. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/tex.h"

static const int64_t MOST_NUMBER = INT32_MAX;

static int64_t bounded(int64_t value)
{
    if (value > MOST_NUMBER)
        return MOST_NUMBER;
    return value < -MOST_NUMBER ? -MOST_NUMBER : value;
}

/* ---- Reading ---- */

static bool is_digit(struct token token, unsigned base, unsigned *ret)
{
    if (token.cat != CAT_OTHER && token.cat != CAT_LETTER)
        return false;
    uint32_t c = token.value;
    unsigned digit = c >= '0' && c <= '9'   ? c - '0'
                     : c >= 'A' && c <= 'F' ? c - 'A' + 10
                     : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                            : 99;
    *ret = digit;
    return digit < base;
}

static int64_t read_digits(struct tex *tex, struct token token, unsigned base)
{
    int64_t value = 0;
    unsigned digit;
    while (is_digit(token, base, &digit)) {
        value = bounded(value * base + digit);
        token = tex_next_expanded(tex);
    }
    if (token.cat != CAT_SPACE)
        tex_unread(tex, token);
    return value;
}

static int64_t read_character_code(struct tex *tex)
{
    struct token token = tex_next(tex);
    int64_t value = token.value;
    if (token.cat == CAT_NAME) {
        struct slice name = tex->symbols[token.value].name;
        size_t step, at = name.size && name.data[0] == '\1';
        value =
            name.size > at ? text_decode(name.data, name.size, at, &step) : 0;
    }
    token = tex_next_expanded(tex);
    if (token.cat != CAT_SPACE)
        tex_unread(tex, token);
    return value;
}

uint32_t number_counter(struct tex *tex, struct slice name)
{
    struct buf whole = {0};
    buf_put_text(&whole, "c@");
    buf_put_slice(&whole, name);
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&whole));
    buf_free(&whole);
    if (symbol == UINT32_MAX ||
        tex->symbols[symbol].meaning.kind != MEANING_COUNT)
        return UINT32_MAX;
    return tex->symbols[symbol].meaning.index;
}

static uint32_t read_counter(struct tex *tex)
{
    struct buf name = {0};
    tex_read_text(tex, &name);
    uint32_t counter = number_counter(tex, buf_slice(&name));
    buf_free(&name);
    return counter;
}

/* A register given by number, as \count7: made when it is first met.  Its
 * symbol begins with a byte that no name in UTF-8 has, so that no document can
 * define it as something else. */
static uint32_t numbered(struct tex *tex, const char *kind)
{
    struct buf name = {0};
    buf_printf(&name, "\xff%s %lld", kind, (long long)number_read(tex));
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    if (tex->symbols[symbol].meaning.kind == MEANING_NONE)
        tex->symbols[symbol].meaning = (struct meaning){
            .kind = MEANING_COUNT, .index = tex_new_count(tex)};
    return tex->symbols[symbol].meaning.index;
}

static void run_numbered(struct tex *tex, const struct command *command,
                         struct token call);
static void run_catcode(struct tex *tex, const struct command *command,
                        struct token call);
static void run_value(struct tex *tex, const struct command *command,
                      struct token call);
static void run_expression(struct tex *tex, const struct command *command,
                           struct token call);

static int64_t read_expression(struct tex *tex, bool dimension);

/* What a name stands for as a number; false: nothing, it is read again. */
static bool read_internal(struct tex *tex, struct token token, int64_t *ret)
{
    const struct meaning *meaning = tex_meaning(tex, token);
    if (meaning->kind == MEANING_COUNT || meaning->kind == MEANING_DIMENSION) {
        *ret = tex->counts[meaning->index];
        return true;
    }
    if (meaning->kind == MEANING_CHARACTER) {
        *ret = meaning->character.value;
        return true;
    }
    if (meaning->kind == MEANING_COMMAND) {
        const struct command *command = meaning->command;
        if (command->run == run_value) {
            uint32_t counter = read_counter(tex);
            *ret = counter == UINT32_MAX ? 0 : tex->counts[counter];
            return true;
        }
        if (command->run == run_numbered) {
            *ret = tex->counts[numbered(tex, command->name)];
            return true;
        }
        if (command->run == run_catcode) {
            int64_t c = number_read(tex);
            *ret = c >= 0 && c < 256 ? tex->catcodes[c] : CAT_OTHER;
            return true;
        }
        if (command->run == run_expression) {
            *ret = read_expression(tex, command->value != 0);
            return true;
        }
    }
    tex_unread(tex, token);
    return false;
}

static struct token read_signs(struct tex *tex, bool *ret_negative)
{
    for (;;) {
        struct token token = tex_next_expanded(tex);
        if (token_is(token, CAT_OTHER, '-'))
            *ret_negative = !*ret_negative;
        else if (token.cat != CAT_SPACE && !token_is(token, CAT_OTHER, '+'))
            return token;
    }
}

static int64_t read_unsigned(struct tex *tex, struct token token)
{
    int64_t value = 0;
    unsigned digit;
    if (token_is(token, CAT_OTHER, '`'))
        return read_character_code(tex);
    if (token_is(token, CAT_OTHER, '\''))
        return read_digits(tex, tex_next_expanded(tex), 8);
    if (token_is(token, CAT_OTHER, '"'))
        return read_digits(tex, tex_next_expanded(tex), 16);
    if (is_digit(token, 10, &digit))
        return read_digits(tex, token, 10);
    if (token.cat == CAT_NAME)
        read_internal(tex, token, &value);
    else
        tex_unread(tex, token);
    return value;
}

int64_t number_read(struct tex *tex)
{
    bool negative = false;
    struct token token = read_signs(tex, &negative);
    int64_t value = read_unsigned(tex, token);
    return negative ? -value : value;
}

int64_t number_of_text(struct tex *tex, struct slice text)
{
    int64_t value = 0;
    size_t at = 0;
    bool negative = false;
    (void)tex;
    while (at < text.size && (text.data[at] == ' ' || text.data[at] == '-'))
        negative ^= text.data[at++] == '-';
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++)
        value = bounded(value * 10 + (text.data[at] - '0'));
    return negative ? -value : value;
}

static const struct {
    const char *name;
    double points;
} units[] = {{"pt", 1},        {"in", 72.27}, {"cm", 28.4527}, {"mm", 2.84527},
             {"em", 10},       {"ex", 4.3},   {"bp", 1.00375}, {"pc", 12},
             {"dd", 1.07},     {"cc", 12.84}, {"sp", 0},       {"mu", 0.55},
             {"filll", 0},     {"fill", 0},   {"fil", 0},      {"nd", 1},
             {"truein", 72.27}};

static double read_unit(struct tex *tex)
{
    tex_read_word(tex, "true");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (tex_read_word(tex, units[i].name)) {
            struct token token = tex_next(tex);
            if (token.cat != CAT_SPACE)
                tex_unread(tex, token);
            return units[i].points;
        }
    struct token token = tex_next_expanded(tex);
    int64_t value = 0;
    if (token.cat == CAT_NAME) { /* 2\baselineskip */
        if (read_internal(tex, token, &value))
            return (double)value / 65536;
    } else {
        tex_unread(tex, token);
    }
    return 0;
}

int64_t number_read_dimension(struct tex *tex)
{
    bool negative = false;
    struct token token = read_signs(tex, &negative);
    double value = 0, scale = 1;
    unsigned digit;
    int64_t internal;
    if (token.cat == CAT_NAME) {
        internal = 0;
        read_internal(tex, token, &internal);
        return negative ? -internal : internal;
    }
    bool point = false, any = false;
    for (;; token = tex_next_expanded(tex)) {
        bool dot = token.cat == CAT_OTHER &&
                   (token.value == '.' || token.value == ',');
        if (dot && !point) {
            point = true;
        } else if (is_digit(token, 10, &digit)) {
            scale = point ? scale / 10 : 1;
            value = point ? value + digit * scale : value * 10 + digit;
            any = true;
            if (value > 1e6)
                value = 1e6;
        } else {
            break;
        }
    }
    tex_unread(tex, token);
    if (any)
        value *= 65536 * read_unit(tex);
    if (value > 1e9)
        value = 1e9;
    return bounded((int64_t)(negative ? -value : value));
}

void number_read_glue(struct tex *tex)
{
    number_read_dimension(tex);
    if (tex_read_word(tex, "plus"))
        number_read_dimension(tex);
    if (tex_read_word(tex, "minus"))
        number_read_dimension(tex);
}

/* ---- \numexpr: sums of products; brackets are held on a stack ---- */

enum { MOST_BRACKETS = 50 };

struct level {
    int64_t sum, product;
    char add, multiply; /* the operators that wait; 0: none */
};

static void put_factor(struct level *level, int64_t value)
{
    if (level->multiply == '*')
        level->product = bounded(level->product * value);
    else if (level->multiply == '/')
        level->product = value ? level->product / value : 0;
    else
        level->product = value;
    level->multiply = 0;
}

static int64_t end_level(struct level *level)
{
    return bounded(level->add == '-' ? level->sum - level->product
                                     : level->sum + level->product);
}

static int64_t read_expression(struct tex *tex, bool dimension)
{
    struct level levels[MOST_BRACKETS] = {{0}};
    size_t depth = 0;
    for (;;) {
        struct token token = tex_next_expanded(tex);
        struct level *level = &levels[depth];
        uint32_t c = token.cat == CAT_OTHER ? token.value : 0;
        if (token.cat == CAT_SPACE)
            continue;
        if (c == '(' && depth + 1 < MOST_BRACKETS) {
            levels[++depth] = (struct level){0};
        } else if (c == ')' && depth) {
            int64_t value = end_level(level);
            put_factor(&levels[--depth], value);
        } else if (c == '*' || c == '/') {
            level->multiply = (char)c;
        } else if ((c == '+' || c == '-') && !level->multiply) {
            level->sum = end_level(level);
            level->product = 0;
            level->add = (char)c;
        } else if (c || (token.cat == CAT_NAME && token.value != tex->relax)) {
            size_t before = tex->steps;
            tex_unread(tex, token);
            put_factor(level, dimension ? number_read_dimension(tex)
                                        : number_read(tex));
            struct token next = tex_next(tex);
            bool same = token_same(next, token) && tex->steps - before < 4;
            tex_unread(tex, next);
            if (same) /* it is no number */
                break;
        } else {
            if (!token_is(token, CAT_NAME, tex->relax))
                tex_unread(tex, token);
            break;
        }
    }
    while (depth) {
        int64_t value = end_level(&levels[depth]);
        put_factor(&levels[--depth], value);
    }
    return end_level(&levels[0]);
}

/* ---- Writing ---- */

static void write_roman(struct buf *out, int64_t value, bool upper)
{
    static const struct {
        int value;
        const char *digits;
    } steps[] = {{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"},
                 {90, "xc"},  {50, "l"},   {40, "xl"}, {10, "x"},   {9, "ix"},
                 {5, "v"},    {4, "iv"},   {1, "i"}};
    if (value > 10000)
        return;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (; value >= steps[i].value; value -= steps[i].value)
            for (const char *at = steps[i].digits; *at; at++)
                buf_put_byte(out, upper ? *at - 32 : *at);
}

void number_write(struct buf *out, int64_t value, char style)
{
    switch (style) {
    case 'r':
    case 'R': write_roman(out, value, style == 'R'); break;
    case 'a':
    case 'A':
        if (value > 0 && value <= 26)
            buf_put_byte(out, style + (int)value - 1);
        break;
    case 'p': /* a dimension */
        buf_printf(out, "%.5gpt", (double)value / 65536);
        break;
    default: buf_printf(out, "%lld", (long long)value); break;
    }
}

static void push_number(struct tex *tex, int64_t value, char style,
                        struct token call)
{
    struct buf text = {0};
    number_write(&text, value, style);
    tex_push_text(tex, buf_slice(&text), call);
    buf_free(&text);
}

static void run_number(struct tex *tex, const struct command *command,
                       struct token call)
{
    push_number(tex, number_read(tex), command->text[0], call);
}

static void run_style(struct tex *tex, const struct command *command,
                      struct token call)
{
    uint32_t counter = read_counter(tex);
    if (counter != UINT32_MAX)
        push_number(tex, tex->counts[counter], command->text[0], call);
}

static void run_the(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct token token = tex_next_expanded(tex);
    int64_t value = 0;
    (void)command;
    if (token.cat != CAT_NAME) {
        tex_unread(tex, token);
        return;
    }
    const struct meaning *meaning = tex_meaning(tex, token);
    if (meaning->kind == MEANING_TOKENS) {
        struct tokens list = {0};
        const struct tokens *held = &tex->registers[meaning->index];
        tokens_add_all(&list, held->items, held->count);
        for (size_t i = 0; i < list.count; i++)
            list.items[i].flags |= TOKEN_FROZEN;
        tex_push(tex, list);
        return;
    }
    char style = meaning->kind == MEANING_DIMENSION ? 'p' : 'n';
    if (read_internal(tex, token, &value))
        push_number(tex, value, style, call);
    else
        tex_next(tex); /* \the of what has no value */
}

/* ---- Assigning ---- */

static bool take_global(struct tex *tex)
{
    bool global = tex->global;
    tex->global = false;
    return global;
}

static void assign_tokens(struct tex *tex, uint32_t index)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    tokens_free(&tex->registers[index]);
    if (list.count < 100000)
        tex->registers[index] = list;
    else
        tokens_free(&list);
    take_global(tex);
}

void number_assign(struct tex *tex, struct token token)
{
    struct meaning meaning = *tex_meaning(tex, token);
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    if (meaning.kind == MEANING_TOKENS) {
        assign_tokens(tex, meaning.index);
        return;
    }
    int64_t value;
    if (meaning.kind == MEANING_COUNT) {
        value = number_read(tex);
    } else {
        value = number_read_dimension(tex);
        if (tex_read_word(tex, "plus"))
            number_read_dimension(tex);
        if (tex_read_word(tex, "minus"))
            number_read_dimension(tex);
    }
    tex_set_count(tex, meaning.index, value, take_global(tex));
}

static void run_numbered(struct tex *tex, const struct command *command,
                         struct token call)
{
    uint32_t index = numbered(tex, command->name);
    (void)call;
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    int64_t value =
        command->value ? number_read_dimension(tex) : number_read(tex);
    tex_set_count(tex, index, value, take_global(tex));
}

static void run_catcode(struct tex *tex, const struct command *command,
                        struct token call)
{
    int64_t c = number_read(tex);
    (void)call;
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    int64_t value = number_read(tex);
    bool global = take_global(tex);
    if (!command->value || c < 0 || c > 127 || value < 0 || value > 15)
        return;
    if (c == '\r')
        c = '\n';
    tex_set_catcode(tex, (unsigned)c, (int)value, global);
}

static void run_atletter(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)call;
    tex_set_catcode(tex, '@', command->value, false);
}

static void run_value(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)command;
    (void)call;
    read_counter(tex);
}

static void run_expression(struct tex *tex, const struct command *command,
                           struct token call)
{
    (void)call;
    read_expression(tex, command->value != 0);
}

static void run_advance(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token token = tex_next_solid(tex);
    uint32_t index;
    (void)call;
    if (token.cat != CAT_NAME)
        return;
    struct meaning meaning = *tex_meaning(tex, token);
    if (meaning.kind == MEANING_COUNT || meaning.kind == MEANING_DIMENSION)
        index = meaning.index;
    else if (meaning.kind == MEANING_COMMAND &&
             meaning.command->run == run_numbered)
        index = numbered(tex, meaning.command->name);
    else
        return;
    tex_read_word(tex, "by");
    bool add = command->value == '+';
    int64_t by = add && meaning.kind == MEANING_DIMENSION
                     ? number_read_dimension(tex)
                     : number_read(tex);
    int64_t old = tex->counts[index];
    int64_t value = add                     ? old + by
                    : command->value == '*' ? old * by
                    : by                    ? old / by
                                            : 0;
    tex_set_count(tex, index, bounded(value), take_global(tex));
}

/* ---- New ones ---- */

static void define_register(struct tex *tex, uint32_t symbol, int kind)
{
    struct meaning meaning = {.kind = (uint8_t)kind};
    if (kind == MEANING_TOKENS) {
        if (tex->register_count >= MOST_REGISTERS)
            return;
        mem_reserve((void **)&tex->registers, &tex->register_capacity,
                    tex->register_count + (size_t)1, sizeof *tex->registers);
        tex->registers[tex->register_count] = (struct tokens){0};
        meaning.index = tex->register_count++;
    } else {
        meaning.index = tex_new_count(tex);
    }
    tex_define(tex, symbol, meaning, true);
}

static void run_new(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct token name;
    (void)call;
    if (tex_read_name(tex, &name))
        define_register(tex, name.value, command->value);
}

static void run_chardef(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token name = tex_next_solid(tex);
    struct meaning meaning = {.kind = MEANING_CHARACTER};
    (void)call;
    (void)command;
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    int64_t value = number_read(tex);
    meaning.character.value =
        value > 0 && value < 0x110000 ? (uint32_t)value : 0;
    meaning.character.cat = CAT_OTHER;
    if (name.cat == CAT_NAME)
        tex_define(tex, name.value, meaning, take_global(tex));
}

/* ---- Counters ---- */

static void define_the(struct tex *tex, struct slice name, struct slice within,
                       bool long_form)
{
    struct buf the = {0}, body = {0};
    buf_printf(&the, "the%.*s", (int)name.size, name.data);
    if (within.size && long_form)
        buf_printf(&body, "\\the%.*s.", (int)within.size, within.data);
    buf_printf(&body, "\\arabic{%.*s}", (int)name.size, name.data);
    tex_define_text(tex, the.data, body.data);
    buf_free(&the);
    buf_free(&body);
}

void number_reset_within(struct tex *tex, struct slice name,
                         struct slice within)
{
    uint32_t counter = number_counter(tex, name);
    uint32_t above = number_counter(tex, within);
    if (counter == UINT32_MAX || above == UINT32_MAX || counter == above ||
        tex->reset_count > 10000)
        return;
    mem_reserve((void **)&tex->resets, &tex->reset_capacity,
                tex->reset_count + 1, sizeof *tex->resets);
    tex->resets[tex->reset_count++] = (struct reset){counter, above};
}

void number_new_counter(struct tex *tex, struct slice name, struct slice within)
{
    struct buf whole = {0};
    if (!name.size || number_counter(tex, name) != UINT32_MAX)
        return;
    buf_printf(&whole, "c@%.*s", (int)name.size, name.data);
    define_register(tex, tex_symbol(tex, buf_slice(&whole)), MEANING_COUNT);
    buf_free(&whole);
    define_the(tex, name, within, false);
    number_reset_within(tex, name, within);
}

void number_step(struct tex *tex, struct slice name)
{
    uint32_t counter = number_counter(tex, name);
    if (counter == UINT32_MAX)
        return;
    tex->counts[counter] = bounded(tex->counts[counter] + 1);
    /* What is within is 0, and so is what is within that. */
    uint32_t reset[64];
    size_t count = 0;
    reset[count++] = counter;
    for (size_t at = 0; at < count; at++)
        for (size_t i = 0; i < tex->reset_count; i++) {
            if (tex->resets[i].within != reset[at] || count == 64)
                continue;
            bool met = false;
            for (size_t k = 0; k < count; k++)
                met |= reset[k] == tex->resets[i].counter;
            if (met)
                continue;
            tex->counts[tex->resets[i].counter] = 0;
            reset[count++] = tex->resets[i].counter;
        }
}

static void run_newcounter(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct buf name = {0}, within = {0};
    struct tokens list = {0};
    (void)call;
    tex_read_character(tex, '*');
    tex_read_text(tex, &name);
    if (!command->value) {
        if (tex_read_optional(tex, &list))
            tex_expand_text(tex, &list, &within);
        number_new_counter(tex, buf_slice(&name), buf_slice(&within));
    } else {
        tex_read_text(tex, &within);
        if (command->value == 2) { /* \counterwithout */
            uint32_t counter = number_counter(tex, buf_slice(&name));
            for (size_t i = 0; i < tex->reset_count; i++)
                if (tex->resets[i].counter == counter)
                    tex->resets[i].within = UINT32_MAX - 1;
        } else {
            number_reset_within(tex, buf_slice(&name), buf_slice(&within));
        }
        if (command->text &&
            number_counter(tex, buf_slice(&name)) != UINT32_MAX)
            define_the(tex, buf_slice(&name), buf_slice(&within),
                       command->value == 1);
    }
    tokens_free(&list);
    buf_free(&name);
    buf_free(&within);
}

static void run_setcounter(struct tex *tex, const struct command *command,
                           struct token call)
{
    uint32_t counter = read_counter(tex);
    struct tokens list = {0};
    (void)call;
    tex_read_argument(tex, &list);
    tokens_add(&list, (struct token){.cat = CAT_NAME, .value = tex->relax});
    tex_push(tex, list);
    int64_t value = read_expression(tex, false);
    if (counter == UINT32_MAX)
        return;
    if (command->value)
        value += tex->counts[counter];
    tex->counts[counter] = bounded(value);
}

static void run_stepcounter(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf name = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &name);
    number_step(tex, buf_slice(&name));
    buf_free(&name);
}

/* ---- The tables ---- */

static const struct command commands[] = {
    {"catcode", run_catcode, NULL, 1, NULL},
    {"lccode", run_catcode, NULL, 0, NULL},
    {"uccode", run_catcode, NULL, 0, NULL},
    {"sfcode", run_catcode, NULL, 0, NULL},
    {"mathcode", run_catcode, NULL, 0, NULL},
    {"delcode", run_catcode, NULL, 0, NULL},
    {"makeatletter", run_atletter, NULL, CAT_LETTER, NULL},
    {"makeatother", run_atletter, NULL, CAT_OTHER, NULL},
    {"value", run_value, NULL, 0, NULL},
    {"numexpr", run_expression, NULL, 0, NULL},
    {"dimexpr", run_expression, NULL, 1, NULL},
    {"glueexpr", run_expression, NULL, 1, NULL},
    {"count", run_numbered, NULL, 0, NULL},
    {"dimen", run_numbered, NULL, 1, NULL},
    {"skip", run_numbered, NULL, 1, NULL},
    {"advance", run_advance, NULL, '+', NULL},
    {"multiply", run_advance, NULL, '*', NULL},
    {"divide", run_advance, NULL, '/', NULL},
    {"newcount", run_new, NULL, MEANING_COUNT, NULL},
    {"newdimen", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newskip", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newmuskip", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newlength", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newtoks", run_new, NULL, MEANING_TOKENS, NULL},
    {"newbox", run_new, NULL, MEANING_COUNT, NULL},
    {"newsavebox", run_new, NULL, MEANING_COUNT, NULL},
    {"newwrite", run_new, NULL, MEANING_COUNT, NULL},
    {"newread", run_new, NULL, MEANING_COUNT, NULL},
    {"newinsert", run_new, NULL, MEANING_COUNT, NULL},
    {"newlanguage", run_new, NULL, MEANING_COUNT, NULL},
    {"chardef", run_chardef, NULL, 0, NULL},
    {"mathchardef", run_chardef, NULL, 0, NULL},
    {"newcounter", run_newcounter, NULL, 0, NULL},
    {"counterwithin", run_newcounter, NULL, 1, "the"},
    {"@addtoreset", run_newcounter, NULL, 1, NULL},
    {"numberwithin", run_newcounter, NULL, 1, "the"},
    {"counterwithout", run_newcounter, NULL, 2, "the"},
    {"setcounter", run_setcounter, NULL, 0, NULL},
    {"addtocounter", run_setcounter, NULL, 1, NULL},
    {"stepcounter", run_stepcounter, NULL, 0, NULL},
};

static const struct command expanding[] = {
    {"the", run_the, NULL, 0, NULL},
    {"number", run_number, NULL, 0, "n"},
    {"romannumeral", run_number, NULL, 0, "r"},
    {"arabic", run_style, NULL, 0, "n"},
    {"roman", run_style, NULL, 0, "r"},
    {"Roman", run_style, NULL, 0, "R"},
    {"alph", run_style, NULL, 0, "a"},
    {"Alph", run_style, NULL, 0, "A"},
};

/* Parameters of TeX and LaTeX that documents set. */
static const char *const dimensions[] = {"parindent",
                                         "parskip",
                                         "textwidth",
                                         "textheight",
                                         "oddsidemargin",
                                         "evensidemargin",
                                         "topmargin",
                                         "headheight",
                                         "headsep",
                                         "footskip",
                                         "hsize",
                                         "vsize",
                                         "hoffset",
                                         "voffset",
                                         "baselineskip",
                                         "lineskip",
                                         "leftskip",
                                         "rightskip",
                                         "leftmargin",
                                         "rightmargin",
                                         "leftmargini",
                                         "leftmarginii",
                                         "leftmarginiii",
                                         "leftmarginiv",
                                         "labelwidth",
                                         "labelsep",
                                         "itemsep",
                                         "parsep",
                                         "topsep",
                                         "partopsep",
                                         "itemindent",
                                         "listparindent",
                                         "tabcolsep",
                                         "arraycolsep",
                                         "arrayrulewidth",
                                         "doublerulesep",
                                         "fboxsep",
                                         "fboxrule",
                                         "columnsep",
                                         "columnseprule",
                                         "columnwidth",
                                         "linewidth",
                                         "marginparwidth",
                                         "marginparsep",
                                         "marginparpush",
                                         "footnotesep",
                                         "abovedisplayskip",
                                         "belowdisplayskip",
                                         "abovedisplayshortskip",
                                         "belowdisplayshortskip",
                                         "emergencystretch",
                                         "overfullrule",
                                         "hfuzz",
                                         "vfuzz",
                                         "parfillskip",
                                         "mathsurround",
                                         "topskip",
                                         "maxdepth",
                                         "splittopskip",
                                         "unitlength",
                                         "paperwidth",
                                         "paperheight",
                                         "pdfpagewidth",
                                         "pdfpageheight",
                                         "pdfhorigin",
                                         "pdfvorigin",
                                         "abovecaptionskip",
                                         "belowcaptionskip",
                                         "textfloatsep",
                                         "floatsep",
                                         "intextsep",
                                         "LTleft",
                                         "LTright",
                                         "lineskiplimit",
                                         "displayindent",
                                         "displaywidth",
                                         "xspaceskip",
                                         "spaceskip",
                                         "tabskip",
                                         "hangindent",
                                         "normalbaselineskip",
                                         "jot",
                                         "smallskipamount",
                                         "medskipamount",
                                         "bigskipamount",
                                         "ht",
                                         "dp",
                                         "wd",
                                         "marginparwidth",
                                         "extrarowheight",
                                         "aboverulesep",
                                         "belowrulesep",
                                         "cftbeforechapskip",
                                         "labelindent",
                                         "z@",
                                         "p@",
                                         "@totalleftmargin",
                                         "prevdepth",
                                         "lastskip",
                                         "lastkern",
                                         "itemindent",
                                         "thinmuskip",
                                         "medmuskip",
                                         "thickmuskip",
                                         "delimitershortfall",
                                         "nulldelimiterspace"};
static const char *const integers[] = {"tolerance",
                                       "pretolerance",
                                       "hbadness",
                                       "vbadness",
                                       "linepenalty",
                                       "hyphenpenalty",
                                       "exhyphenpenalty",
                                       "clubpenalty",
                                       "widowpenalty",
                                       "displaywidowpenalty",
                                       "brokenpenalty",
                                       "interlinepenalty",
                                       "predisplaypenalty",
                                       "postdisplaypenalty",
                                       "hangafter",
                                       "looseness",
                                       "day",
                                       "month",
                                       "year",
                                       "time",
                                       "mag",
                                       "language",
                                       "uchyph",
                                       "lefthyphenmin",
                                       "righthyphenmin",
                                       "escapechar",
                                       "endlinechar",
                                       "newlinechar",
                                       "defaulthyphenchar",
                                       "tracingonline",
                                       "tracingmacros",
                                       "tracingparagraphs",
                                       "tracingpages",
                                       "tracingcommands",
                                       "showboxbreadth",
                                       "showboxdepth",
                                       "pausing",
                                       "fam",
                                       "pdfoutput",
                                       "pdfcompresslevel",
                                       "pdfminorversion",
                                       "pdfobjcompresslevel",
                                       "adjdemerits",
                                       "doublehyphendemerits",
                                       "finalhyphendemerits",
                                       "floatingpenalty",
                                       "relpenalty",
                                       "binoppenalty",
                                       "errorcontextlines",
                                       "tracingstats",
                                       "delimiterfactor",
                                       "globaldefs",
                                       "pageno",
                                       "spacefactor",
                                       "m@ne",
                                       "@lowpenalty",
                                       "@medpenalty",
                                       "@highpenalty",
                                       "inputlineno",
                                       "badness",
                                       "interfootnotelinepenalty",
                                       "maxdeadcycles",
                                       "outputpenalty",
                                       "everypage"};
static const char *const lists[] = {"everypar", "everymath", "everydisplay",
                                    "output",   "everyhbox", "everyvbox",
                                    "toks@",    "everycr"};
/* Scratch names of TeX's formats. */
static const char *const scratch[] = {"@tempcnta", "@tempcntb", "count@"};
static const char *const scratch_dimensions[] = {
    "@tempdima", "@tempdimb", "@tempdimc", "@tempskipa", "@tempskipb",
    "dimen@",    "dimen@i",   "skip@",     "skip@@"};

static void add_registers(struct tex *tex, const char *const *names,
                          size_t count, int kind)
{
    for (size_t i = 0; i < count; i++)
        define_register(tex, tex_symbol_of(tex, names[i]), kind);
}

#define ADD(names, kind)                                                       \
    add_registers(tex, names, sizeof(names) / sizeof *(names), kind)

void number_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, true);
    ADD(dimensions, MEANING_DIMENSION);
    ADD(integers, MEANING_COUNT);
    ADD(lists, MEANING_TOKENS);
    ADD(scratch, MEANING_COUNT);
    ADD(scratch_dimensions, MEANING_DIMENSION);
    const struct meaning *one = &tex_symbol_at(tex, "p@")->meaning;
    tex->counts[one->index] = 65536;
    tex->counts[tex_symbol_at(tex, "m@ne")->meaning.index] = -1;
    tex->counts[tex_symbol_at(tex, "pdfoutput")->meaning.index] =
        1;
}
