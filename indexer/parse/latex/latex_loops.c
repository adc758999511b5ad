/* Loops: plain TeX's, ifthen's \whiledo, pgf's \foreach.  What one repeats is
 * bounded: the steps of a macro's (tex_gullet.c) are used up by it. */
#include <stdlib.h>

#include "indexer/parse/latex/latex_internal.h"

enum {
    MAX_ROUNDS = 1000,
    MAX_MADE = 1 << 20, /* tokens of all rounds */
    MAX_NAMES = 9       /* \foreach \a/\b */
};

/* \loop ... \repeat */
static void run_loop(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct macro macro = {0};
    uint32_t repeat = tex_symbol_of(tex, "repeat");
    struct token token;
    size_t depth = 0; /* of groups: a loop in one has a \repeat of its own */
    (void)command;
    while ((token = tex_next(tex)).cat != CAT_NONE && token.cat != CAT_STOP &&
           (depth ||
            (!token_is(token, CAT_NAME, repeat) && token.cat != CAT_END))) {
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END;
        tokens_add(&macro.body, token);
    }
    if (!token_is(token, CAT_NAME, repeat)) {
        tex_unread(tex, token);
        tex_report(tex, call, "\\loop without \\repeat");
        tex_push(tex, macro.body);
        return;
    }
    define_macro(tex, tex_symbol_of(tex, "body"), macro);
    tokens_free(&macro.body);
    call.value = tex_symbol_of(tex, "iterate");
    tex_unread(tex, call);
}

/* \whiledo{test}{body}: the body, and itself again. */
static void run_whiledo(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens test = {0}, body = {0}, list = {0};
    (void)command;
    tex_read_argument(tex, &test);
    tex_read_argument(tex, &body);
    tex->burst += MAX_BURST / MAX_ROUNDS;
    tokens_add_group(&list, &test, call);
    tex_push(tex, list);
    if (condition_test(tex, call)) {
        list = (struct tokens){0};
        tokens_add_all(&list, body.items, body.count);
        tokens_add(&list, call);
        tokens_add_group(&list, &test, call);
        tokens_add_group(&list, &body, call);
        tex_push(tex, list);
    }
    tokens_free(&test);
    tokens_free(&body);
}

/* ---- \foreach \a/\b [options] in {1,...,5} {body} (pgfmanual, "Repeating
 * Things: The Foreach Statement") ---- */

struct foreach {
    uint32_t names[MAX_NAMES];
    size_t name_count;
    struct tokens items, body, made;
    struct token call;
    size_t rounds;
    int64_t last[2]; /* numbers of the items before */
    int numbers;     /* of them that are */
};

/* A body that is a \foreach itself, without braces: `token`, and as many groups
 * as follow of it. */
static bool read_inner(struct tex *tex, struct token token, struct tokens *ret)
{
    struct token self = token;
    for (size_t left = 2; left; token = tex_next(tex)) {
        if (tex_at_end(tex, token) || token_is(token, CAT_NAME, tex->par))
            return false;
        if (token.cat == CAT_BEGIN) {
            struct tokens group = {0};
            tex_read_group(tex, &group);
            tokens_add_group(ret, &group, token);
            tokens_free(&group);
            if (!--left)
                return true;
            continue;
        }
        tokens_add(ret, token);
        left += ret->count > 1 && token_same(token, self);
    }
    return true;
}

/* False: it is not written so. */
static bool read_head(struct tex *tex, struct foreach *f)
{
    struct token token;
    while ((token = tex_next_solid(tex)).cat == CAT_NAME ||
           token_is(token, CAT_OTHER, '/'))
        if (token.cat == CAT_NAME && f->name_count < MAX_NAMES)
            f->names[f->name_count++] = token.value;
    tex_unread(tex, token);
    tex_skip_before(tex, "o");
    if (!f->name_count || !tex_read_word(tex, "in"))
        return false;
    token = tex_next_solid(tex);
    if (token.cat == CAT_NAME &&
        tex_meaning(tex, token)->kind == MEANING_MACRO) { /* a list by name */
        const struct tokens *list = &tex_meaning(tex, token)->macro->body;
        tokens_add_all(&f->items, list->items, list->count);
    } else if (token.cat == CAT_BEGIN) {
        tex_read_group(tex, &f->items);
    } else {
        tex_unread(tex, token);
        return false;
    }
    token = tex_next_solid(tex);
    if (token_is(token, CAT_NAME, f->call.value))
        return read_inner(tex, token, &f->body);
    if (token.cat == CAT_BEGIN)
        tex_read_group(tex, &f->body);
    else
        tex_unread(tex, token);
    return token.cat == CAT_BEGIN;
}

/* A number in full. */
static bool number_of(const struct token *items, size_t count, int64_t *ret)
{
    bool negative = count > 1 && items[0].value == '-';
    int64_t value = 0;
    for (size_t i = negative; i < count; i++) {
        if (items[i].cat != CAT_OTHER || items[i].value < '0' ||
            items[i].value > '9' || value > INT32_MAX)
            return false;
        value = value * 10 + (int64_t)(items[i].value - '0');
    }
    *ret = negative ? -value : value;
    return count > 0;
}

/* {\def\a{..}\def\b{..} body} */
static void put_round(struct tex *tex, struct foreach *f,
                      const struct token *items, size_t count)
{
    struct token token = f->call;
    struct tokens round = {0};
    if (f->rounds++ >= MAX_ROUNDS || f->made.count > MAX_MADE)
        return;
    token.flags |= TOKEN_MADE;
    size_t at = 0;
    for (size_t i = 0; i < f->name_count; i++) {
        size_t end = at;
        bool last = i + 1 == f->name_count;
        while (end < count && (last || !token_is(items[end], CAT_OTHER, '/')))
            end++;
        struct tokens value = {0};
        /* Of too few, the last is the rest's too. */
        if (at < end)
            tokens_add_all(&value, items + at, end - at);
        token.cat = CAT_NAME;
        token.value = tex_symbol_of(tex, "def");
        tokens_add(&round, token);
        token.value = f->names[i];
        tokens_add(&round, token);
        tokens_add_group(&round, &value, f->call);
        tokens_free(&value);
        if (end < count)
            at = end + 1;
    }
    tokens_add_all(&round, f->body.items, f->body.count);
    tokens_add_group(&f->made, &round, f->call);
    tokens_free(&round);
}

static void put_numbers(struct tex *tex, struct foreach *f, int64_t to)
{
    int64_t step = f->numbers > 1    ? f->last[1] - f->last[0]
                   : to < f->last[1] ? -1
                                     : 1;
    for (int64_t n = f->last[1] + step;
         step && (step > 0 ? n < to : n > to) && f->rounds < MAX_ROUNDS;
         n += step) {
        struct buf text = {0};
        struct tokens digits = {0};
        struct token token = f->call;
        number_write(&text, n, 'n');
        token.cat = CAT_OTHER;
        for (size_t i = 0; i < text.size; i++) {
            token.value = (unsigned char)text.data[i];
            tokens_add(&digits, token);
        }
        put_round(tex, f, digits.items, digits.count);
        tokens_free(&digits);
        buf_free(&text);
    }
}

static bool is_dots(const struct token *items, size_t count)
{
    return count == 3 && token_is(items[0], CAT_OTHER, '.') &&
           token_is(items[1], CAT_OTHER, '.') &&
           token_is(items[2], CAT_OTHER, '.');
}

static void put_rounds(struct tex *tex, struct foreach *f)
{
    bool dots = false;
    if (!f->items.count)
        return;
    for (size_t at = 0, end; at <= f->items.count; at = end + 1) {
        const struct token *items = f->items.items + at;
        size_t depth = 0, count;
        for (end = at; end < f->items.count; end++) {
            struct token token = f->items.items[end];
            depth += token.cat == CAT_BEGIN;
            depth -= token.cat == CAT_END && depth;
            if (!depth && token_is(token, CAT_OTHER, ','))
                break;
        }
        for (count = end - at; count && items->cat == CAT_SPACE; count--)
            items++;
        while (count && items[count - 1].cat == CAT_SPACE)
            count--;
        int64_t number = 0;
        bool is_number = number_of(items, count, &number);
        if (is_dots(items, count) && f->numbers) {
            dots = true;
            continue;
        }
        if (dots && is_number)
            put_numbers(tex, f, number);
        dots = false;
        f->last[0] = f->last[1];
        f->last[1] = number;
        f->numbers = is_number ? f->numbers + 1 : 0;
        put_round(tex, f, items, count);
    }
}

static void run_foreach(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct foreach f = {.call = call};
    (void)command;
    if (read_head(tex, &f)) {
        put_rounds(tex, &f);
        tex->steps += f.made.count;
        tex->burst += f.made.count / 16;
        if (tex->burst > MAX_BURST)
            tex_report(tex, call, "\\foreach goes on without end");
        else {
            tex_push(tex, f.made);
            f.made = (struct tokens){0};
        }
    }
    tokens_free(&f.items);
    tokens_free(&f.body);
    tokens_free(&f.made);
}

/* \@for, \@tfor and \@whilenum, up to \do{..}: what they would repeat is left out. */
static void run_skipped(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token token;
    uint32_t body = tex_symbol_of(tex, "do");
    (void)call;
    (void)command;
    do
        token = tex_next(tex);
    while (token.cat != CAT_NONE && token.cat != CAT_STOP &&
           !token_is(token, CAT_NAME, tex->par) &&
           !token_is(token, CAT_NAME, body));
    if (token_is(token, CAT_NAME, body))
        tex_skip_before(tex, "m");
    else
        tex_unread(tex, token);
}

static const struct command expanding[] = {
    {"whiledo", run_whiledo, NULL, 0, NULL},
    {"foreach", run_foreach, NULL, 0, NULL},
};

static const struct command commands[] = {
    {"loop", run_loop, NULL, 0, NULL},
    {"@for", run_skipped, NULL, 0, NULL},
    {"@tfor", run_skipped, NULL, 0, NULL},
    {"@whilenum", run_skipped, NULL, 0, NULL},
};

void loops_add(struct document *d)
{
    /* Expanding, so that each round counts as a macro's step. */
    tex_add_commands(&d->tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, false);
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex_define_text(&d->tex, "iterate",
                    "\\body\\let\\next\\iterate\\else\\let\\next\\relax\\fi"
                    "\\next");
}
