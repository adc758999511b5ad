/* Numbers, dimensions and expressions: how they are read and written. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

static const int64_t MAX_NUMBER = INT32_MAX;

int64_t number_bounded(int64_t value)
{
    if (value > MAX_NUMBER)
        return MAX_NUMBER;
    return value < -MAX_NUMBER ? -MAX_NUMBER : value;
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
        value = number_bounded(value * base + digit);
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

static void run_expression(struct tex *tex, const struct command *command,
                           struct token call);

/* What a name stands for as a number; false: nothing, it is read again. */
static bool read_internal(struct tex *tex, struct token token, int64_t *ret)
{
    const struct meaning *meaning =
        tex_meaning(tex, token = register_of(tex, token));
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
        if (command->run == run_expression) {
            *ret = 0;
            if (tex_begin_expansion(tex, token)) {
                *ret = number_read_expression(tex, command->value != 0);
                tex_end_expansion(tex);
            }
            return true;
        }
        if (register_value(tex, command, ret) ||
            counter_value(tex, command, ret))
            return true;
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

int64_t number_read_argument(struct tex *tex, bool dimension)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    tokens_add(&list, (struct token){.cat = CAT_NAME, .value = tex->relax});
    tex_push(tex, list);
    return number_read_expression(tex, dimension);
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
        value = number_bounded(value * 10 + (text.data[at] - '0'));
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
    return number_bounded((int64_t)(negative ? -value : value));
}

/* What follows is not expanded to look for the word: it may be a test of what
 * is being assigned. */
static bool read_glue_word(struct tex *tex, const char *word)
{
    struct token token = tex_next_solid(tex);
    tex_unread(tex, token);
    return token.cat != CAT_NAME && tex_read_word(tex, word);
}

int64_t number_read_glue(struct tex *tex)
{
    int64_t value = number_read_dimension(tex);
    if (read_glue_word(tex, "plus"))
        number_read_dimension(tex);
    if (read_glue_word(tex, "minus"))
        number_read_dimension(tex);
    return value;
}

/* ---- \numexpr: sums of products; brackets are held on a stack ---- */

enum { MAX_BRACKETS = 50 };

struct level {
    int64_t sum, product;
    char add, multiply; /* the operators that wait; 0: none */
};

static void put_factor(struct level *level, int64_t value)
{
    if (level->multiply == '*')
        level->product = number_bounded(level->product * value);
    else if (level->multiply == '/')
        level->product = value ? level->product / value : 0;
    else
        level->product = value;
    level->multiply = 0;
}

static int64_t end_level(struct level *level)
{
    return number_bounded(level->add == '-' ? level->sum - level->product
                                            : level->sum + level->product);
}

int64_t number_read_expression(struct tex *tex, bool dimension)
{
    struct level levels[MAX_BRACKETS] = {{0}};
    size_t depth = 0;
    for (;;) {
        struct token token = tex_next_expanded(tex);
        struct level *level = &levels[depth];
        uint32_t c = token.cat == CAT_OTHER ? token.value : 0;
        if (token.cat == CAT_SPACE)
            continue;
        if (c == '(' && depth + 1 < MAX_BRACKETS) {
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

static void run_expression(struct tex *tex, const struct command *command,
                           struct token call)
{
    (void)call;
    number_read_expression(tex, command->value != 0);
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

/* 0 to 9999 as zhnumber writes them: 一, 十二, 二十, 三百零四. */
static void write_chinese(struct buf *out, int64_t value)
{
    static const char *const digits[] = {"零", "一", "二", "三", "四",
                                         "五", "六", "七", "八", "九"};
    static const char *const places[] = {"千", "百", "十", ""};
    bool begun = false, gap = false;
    if (value <= 0 || value > 9999) {
        buf_put_text(out, value ? "" : digits[0]);
        return;
    }
    for (int64_t i = 0, unit = 1000; i < 4; i++, unit /= 10) {
        int64_t digit = value / unit % 10;
        if (begun && digit && gap)
            buf_put_text(out, digits[0]);
        gap = !digit;
        if (digit && (digit > 1 || unit != 10 || begun))
            buf_put_text(out, digits[digit]);
        if (digit)
            buf_put_text(out, places[i]);
        begun |= digit != 0;
    }
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
    case 'z': write_chinese(out, value); break;
    case 'p': /* a dimension */
        buf_printf(out, "%.5gpt", (double)value / 65536);
        break;
    default: buf_printf(out, "%lld", (long long)value); break;
    }
}

void number_push(struct tex *tex, int64_t value, char style, struct token call)
{
    struct buf text = {0};
    number_write(&text, value, style);
    tex_push_text(tex, buf_slice(&text), call);
    buf_free(&text);
}

static void run_number(struct tex *tex, const struct command *command,
                       struct token call)
{
    number_push(tex, number_read(tex), command->text[0], call);
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
    token = register_of(tex, token);
    const struct meaning *meaning = tex_meaning(tex, token);
    if (meaning->kind == MEANING_TOKENS) {
        struct tokens list = {0};
        const struct tokens *held = &tex->registers[meaning->index];
        tokens_add_all(&list, held->items, held->count);
        tex_push_frozen(tex, list);
        return;
    }
    char style = meaning->kind == MEANING_DIMENSION ? 'p' : 'n';
    if (read_internal(tex, token, &value))
        number_push(tex, value, style, call);
    else
        tex_next(tex); /* \the of what has no value */
}

static const struct command commands[] = {
    {"numexpr", run_expression, NULL, 0, NULL},
    {"dimexpr", run_expression, NULL, 1, NULL},
    {"glueexpr", run_expression, NULL, 1, NULL},
};

static const struct command expanding[] = {
    {"the", run_the, NULL, 0, NULL},
    {"number", run_number, NULL, 0, "n"},
    {"romannumeral", run_number, NULL, 0, "r"},
};

void number_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, true);
}
