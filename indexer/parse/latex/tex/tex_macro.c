/* Macros: how they are called. */
#include <stdlib.h>

#include "indexer/parse/latex/tex/tex.h"

/* What is compared counts as steps: a long end may nearly be there again and
 * again. */
static bool ends_with(struct tex *tex, const struct tokens *list,
                      const struct token *end, size_t count)
{
    size_t left = count;
    if (list->count < count)
        return false;
    const struct token *tail = list->items + list->count - count;
    while (left && token_same(tail[left - 1], end[left - 1]))
        left--;
    tex->steps += (count - left) / 4;
    return !left;
}

static bool has_par(const struct tex *tex, const struct token *list,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (token_is(list[i], CAT_NAME, tex->par))
            return true;
    return false;
}

/* An argument up to the tokens of `end`; false: they do not come, in this paragraph if
 * the macro is `is_short` and they have none. */
static bool read_delimited(struct tex *tex, struct token call, bool is_short,
                           const struct token *end, size_t count,
                           struct tokens *ret)
{
    size_t depth = 0;
    bool brace = end[count - 1].cat == CAT_BEGIN;
    is_short = is_short && !has_par(tex, end, count);
    for (;;) {
        struct token token = tex_next(tex);
        if (tex_at_end(tex, token)) {
            tex_cut_runaway(tex, ret, 0, call);
            return false;
        }
        if (token.cat == CAT_END) {
            if (!depth) {
                tex_unread(tex, token);
                return false;
            }
            depth--;
        }
        tokens_add(ret, token);
        if (!depth && ends_with(tex, ret, end, count)) {
            ret->count -= count;
            return true;
        }
        if (is_short && token_is(token, CAT_NAME, tex->par) &&
            !(token.flags & TOKEN_MADE)) {
            ret->count--;
            tex_unread(tex, token);
            return false;
        }
        if (token.cat == CAT_BEGIN && !brace)
            depth++;
    }
}

/* False: what follows is not what the macro wants. */
static bool read_by_pattern(struct tex *tex, struct token call,
                            const struct macro *macro)
{
    const struct tokens *pattern = &macro->pattern;
    for (size_t i = 0; i < pattern->count;) {
        if (pattern->items[i].cat != CAT_MATCH) {
            struct token token = tex_next(tex);
            if (!token_same(token, pattern->items[i])) {
                tex_unread(tex, token);
                return false;
            }
            i++;
            continue;
        }
        struct tokens *argument = &tex->scratch[pattern->items[i].value];
        size_t end = ++i;
        while (end < pattern->count && pattern->items[end].cat != CAT_MATCH)
            end++;
        if (end == i) {
            tex_read_argument(tex, argument);
        } else {
            if (!read_delimited(tex, call, macro->is_short, pattern->items + i,
                                end - i, argument))
                return false;
            tex_strip_braces(argument, 0);
        }
        i = end;
    }
    return true;
}

static struct token made_at(struct token token, struct token call)
{
    token.flags |= TOKEN_MADE;
    token.file = call.file;
    token.from = call.from;
    token.to = call.to;
    return token;
}

static void put_no_value(struct tex *tex, struct token call,
                         const struct argument *argument, struct tokens *ret)
{
    struct token none = {.cat = CAT_NAME, .value = tex->no_value};
    if (!argument->has_default)
        tokens_add(ret, made_at(none, call));
    for (size_t i = 0; argument->has_default && i < argument->text.count; i++)
        tokens_add(ret, made_at(argument->text.items[i], call));
}

bool tex_read_pair(struct tex *tex, uint32_t open, uint32_t close,
                   struct tokens *ret)
{
    size_t depth = 0;
    struct token token = tex_next_solid(tex);
    if (token.cat == CAT_NAME || token.value != open) {
        tex_unread(tex, token);
        return false;
    }
    struct token opened = token;
    size_t begin = ret->count;
    for (;;) {
        token = tex_next(tex);
        if (tex_at_end(tex, token)) {
            tex_cut_runaway(tex, ret, begin, opened);
            return true;
        }
        if (!depth && token.cat != CAT_NAME && token.value == close)
            return true;
        depth += token.cat == CAT_BEGIN;
        if (token.cat == CAT_END && depth)
            depth--;
        tokens_add(ret, token);
    }
}

/* \verb-like: between two equal characters, or braces. */
static void read_verbatim(struct tex *tex, struct tokens *ret)
{
    struct token open = tex_next_solid(tex), token;
    if (open.cat == CAT_BEGIN) {
        tex_read_group(tex, ret);
        return;
    }
    while (!tex_at_end(tex, token = tex_next(tex)) && !token_same(token, open))
        tokens_add(ret, token);
    if (token.cat == CAT_NONE || token.cat == CAT_STOP)
        tex_cut_runaway(tex, ret, 0, open);
}

static void put_boolean(struct tex *tex, bool truth, struct tokens *ret)
{
    const char *name = truth ? "BooleanTrue" : "BooleanFalse";
    tokens_add(ret, (struct token){.cat = CAT_NAME,
                                   .value = tex_symbol_of(tex, name)});
}

static void read_one(struct tex *tex, struct token call,
                     const struct argument *argument, struct tokens *ret)
{
    switch (argument->kind) {
    case 'o':
        if (!tex_read_optional(tex, ret))
            put_no_value(tex, call, argument, ret);
        break;
    case 's': put_boolean(tex, tex_read_character(tex, '*'), ret); break;
    case 't':
        put_boolean(tex, tex_read_character(tex, argument->open), ret);
        break;
    case 'd':
    case 'r':
        if (!tex_read_pair(tex, argument->open, argument->close, ret))
            put_no_value(tex, call, argument, ret);
        break;
    case 'u':
        read_delimited(tex, call, false, argument->text.items,
                       argument->text.count, ret);
        break;
    case 'v': read_verbatim(tex, ret); break;
    default: tex_read_argument(tex, ret); break;
    }
}

static void push_body(struct tex *tex, struct token call,
                      const struct tokens *body)
{
    struct tokens list = {0};
    size_t count = 0;
    for (size_t i = 0; i < body->count; i++)
        count += body->items[i].cat == CAT_MATCH
                     ? tex->scratch[body->items[i].value].count
                     : 1;
    if (count > MAX_STORED / 8) {
        tex_report(tex, call, "a macro makes too much text");
        tex_abandon(tex);
        return;
    }
    tex->steps += count / 4;
    tex->burst += count / 16;
    MEM_RESERVE(list.items, &list.capacity, count);
    for (size_t i = 0; i < body->count; i++) {
        struct token token = body->items[i];
        if (token.cat == CAT_MATCH) {
            const struct tokens *argument = &tex->scratch[token.value];
            tokens_add_all(&list, argument->items, argument->count);
            continue;
        }
        tokens_add(&list, made_at(token, call));
    }
    tex_push(tex, list);
}

/* What was read for a macro that is not called, in its order: it stays. */
static void give_back(struct tex *tex, const struct macro *macro)
{
    struct tokens list = {0};
    for (size_t i = 0; i < macro->pattern.count; i++) {
        struct token token = macro->pattern.items[i];
        if (token.cat == CAT_MATCH)
            tokens_add_all(&list, tex->scratch[token.value].items,
                           tex->scratch[token.value].count);
    }
    tex_push(tex, list);
}

void macro_call(struct tex *tex, struct token call, const struct macro *macro)
{
    bool fits = true;
    for (int i = 1; i <= MAX_ARGUMENTS; i++)
        tex->scratch[i].count = 0;
    if (macro->argument_count)
        for (uint32_t i = 0; i < macro->argument_count; i++)
            read_one(tex, call, &macro->arguments[i], &tex->scratch[i + 1]);
    else
        fits = read_by_pattern(tex, call, macro);
    if (fits) {
        push_body(tex, call, &macro->body);
    } else {
        give_back(tex, macro);
        tex_report(tex, call, "\\%.*s is not followed by what it takes",
                   (int)tex->symbols[call.value].name.size,
                   tex->symbols[call.value].name.data);
    }
}
