/* Macros: how they are defined, and called. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/tex.h"

/* ---- Calling ---- */

static bool at_end(struct tex *tex, struct token token)
{
    if (token.cat == CAT_STOP)
        tex_unread(tex, token);
    return token.cat == CAT_NONE || token.cat == CAT_STOP;
}

static bool ends_with(const struct tokens *list, const struct token *end,
                      size_t count)
{
    if (list->count < count)
        return false;
    const struct token *tail = list->items + list->count - count;
    for (size_t i = count; i-- > 0;)
        if (!token_same(tail[i], end[i]))
            return false;
    return true;
}

/* An argument up to the tokens of `end`. */
static void read_delimited(struct tex *tex, struct token call,
                           const struct token *end, size_t count,
                           struct tokens *ret)
{
    size_t depth = 0;
    bool brace = end[count - 1].cat == CAT_BEGIN;
    for (;;) {
        struct token token = tex_next(tex);
        if (at_end(tex, token)) {
            tex_cut_runaway(tex, ret, 0, call);
            return;
        }
        if (token.cat == CAT_END) {
            if (!depth) {
                tex_unread(tex, token);
                return;
            }
            depth--;
        }
        tokens_add(ret, token);
        if (!depth && ends_with(ret, end, count)) {
            ret->count -= count;
            return;
        }
        if (token.cat == CAT_BEGIN && !brace)
            depth++;
    }
}

static void strip(struct tokens *list)
{
    size_t depth = 0;
    if (list->count < 2 || list->items[0].cat != CAT_BEGIN ||
        list->items[list->count - 1].cat != CAT_END)
        return;
    for (size_t i = 0; i + 1 < list->count; i++) {
        depth += list->items[i].cat == CAT_BEGIN;
        depth -= list->items[i].cat == CAT_END;
        if (!depth)
            return;
    }
    list->count -= 2;
    memmove(list->items, list->items + 1, list->count * sizeof *list->items);
}

/* False: what follows is not what the macro wants. */
static bool read_by_pattern(struct tex *tex, struct token call,
                            const struct tokens *pattern)
{
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
            read_delimited(tex, call, pattern->items + i, end - i, argument);
            strip(argument);
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

static bool read_pair(struct tex *tex, uint32_t open, uint32_t close,
                      struct tokens *ret)
{
    size_t depth = 0;
    struct token token = tex_next_solid(tex);
    if (token.cat == CAT_NAME || token.value != open) {
        tex_unread(tex, token);
        return false;
    }
    for (;;) {
        token = tex_next(tex);
        if (at_end(tex, token))
            return true;
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
    struct token open = tex_next_solid(tex);
    if (open.cat == CAT_BEGIN)
        tex_read_group(tex, ret);
    else
        for (struct token token = tex_next(tex);
             !at_end(tex, token) && !token_same(token, open);
             token = tex_next(tex))
            tokens_add(ret, token);
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
        if (!read_pair(tex, argument->open, argument->close, ret))
            put_no_value(tex, call, argument, ret);
        break;
    case 'u':
        read_delimited(tex, call, argument->text.items, argument->text.count,
                       ret);
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
    if (count > MOST_STORED / 8) {
        tex_report(tex, call, "a macro makes too much text");
        tex_abandon(tex);
        return;
    }
    tex->steps += count / 4;
    tex->burst += count / 16;
    mem_reserve((void **)&list.items, &list.capacity, count, sizeof call);
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

void define_call(struct tex *tex, struct token call, const struct macro *macro)
{
    bool fits = true;
    for (int i = 1; i <= MOST_ARGUMENTS; i++)
        tex->scratch[i].count = 0;
    if (macro->argument_count)
        for (uint32_t i = 0; i < macro->argument_count; i++)
            read_one(tex, call, &macro->arguments[i], &tex->scratch[i + 1]);
    else
        fits = read_by_pattern(tex, call, &macro->pattern);
    if (fits)
        push_body(tex, call, &macro->body);
    else
        tex_report(tex, call, "\\%.*s is not followed by what it takes",
                   (int)tex->symbols[call.value].name.size,
                   tex->symbols[call.value].name.data);
}

/* ---- Defining ---- */

static struct tokens keep(struct tex *tex, const struct tokens *list)
{
    struct tokens kept = {.count = list->count};
    if (!list->count)
        return kept;
    kept.items = arena_alloc(&tex->arena, list->count * sizeof *list->items);
    memcpy(kept.items, list->items, list->count * sizeof *list->items);
    tex->stored += list->count;
    return kept;
}

/* ##1 in a macro that defines another one loses one #. */
void define_parameters(struct tex *tex, struct tokens *body)
{
    size_t kept = 0;
    (void)tex;
    for (size_t i = 0; i < body->count; i++) {
        struct token token = body->items[i];
        token.flags &= (uint8_t)~TOKEN_FROZEN;
        if (token.cat == CAT_PARAMETER && i + 1 < body->count) {
            struct token next = body->items[i + 1];
            if (next.cat == CAT_PARAMETER) {
                i++;
            } else if (next.cat != CAT_NAME && next.value >= '1' &&
                       next.value <= '9') {
                token.cat = CAT_MATCH;
                token.value = next.value - '0';
                i++;
            }
        }
        body->items[kept++] = token;
    }
    body->count = kept;
}

static bool may_end_math(const struct tex *tex, const struct tokens *body)
{
    for (size_t i = 0; i < body->count; i++) {
        struct token token = body->items[i];
        if (token.cat == CAT_MATH)
            return true;
        if (token.cat != CAT_NAME)
            continue;
        const struct symbol *symbol = &tex->symbols[token.value];
        if (token.value == tex->end || slice_is(symbol->name, "]") ||
            slice_is(symbol->name, ")") ||
            (symbol->name.size > 3 && !memcmp(symbol->name.data, "end", 3)) ||
            (symbol->meaning.kind == MEANING_MACRO &&
             symbol->meaning.macro->ends_math))
            return true;
    }
    return false;
}

void define_macro(struct tex *tex, uint32_t symbol, struct macro macro)
{
    bool global = tex->global;
    tex->global = false;
    if (tex->stored + macro.body.count + macro.pattern.count > MOST_STORED) {
        tex_report(tex, (struct token){.file = UINT16_MAX},
                   "too much is defined");
        tex_abandon(tex);
        return;
    }
    struct macro *kept = arena_alloc(&tex->arena, sizeof *kept);
    *kept = macro;
    kept->ends_math = may_end_math(tex, &macro.body);
    kept->pattern = keep(tex, &macro.pattern);
    kept->body = keep(tex, &macro.body);
    tex_define(tex, symbol,
               (struct meaning){.kind = MEANING_MACRO, .macro = kept}, global);
}

void tex_define_text(struct tex *tex, const char *name, const char *body)
{
    struct macro macro = {0};
    for (const char *at = body; *at; at++) {
        struct token token = {.value = (unsigned char)*at,
                              .cat = *at == ' ' ? CAT_SPACE : CAT_OTHER,
                              .file = UINT16_MAX};
        if ((*at | 32) >= 'a' && (*at | 32) <= 'z')
            token.cat = CAT_LETTER;
        if (*at == '\\') {
            size_t n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz@"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
            n += !n && at[1];
            token.cat = CAT_NAME;
            token.value = tex_symbol(tex, (struct slice){at + 1, n});
            at += n;
        } else if (*at == '{' || *at == '}') {
            token.cat = *at == '{' ? CAT_BEGIN : CAT_END;
        }
        tokens_add(&macro.body, token);
    }
    uint32_t symbol = tex_symbol_of(tex, name);
    bool global = tex->global;
    tex->global = true;
    define_macro(tex, symbol, macro);
    tex->global = global;
    tokens_free(&macro.body);
}

/* Reads a group, expanding what it holds. */
static void read_expanded(struct tex *tex, struct tokens *ret)
{
    size_t depth = 1;
    unsigned abandoned = tex->abandon_count;
    while (tex->abandon_count == abandoned && ret->count < MOST_STORED) {
        struct token token = tex_next(tex);
        if (at_end(tex, token))
            return;
        if (tex_is_expandable(tex, token)) {
            tex_expand(tex, token);
            continue;
        }
        depth += token.cat == CAT_BEGIN;
        if (token.cat == CAT_END && !--depth)
            return;
        tokens_add(ret, token);
    }
}

enum { DEF_EXPAND = 1, DEF_GLOBAL = 2 };

static bool read_pattern(struct tex *tex, struct tokens *ret)
{
    for (;;) {
        struct token token = tex_next(tex);
        if (at_end(tex, token) || token.cat == CAT_END)
            return false;
        if (token.cat == CAT_BEGIN) {
            bool hash =
                ret->count && ret->items[ret->count - 1].cat == CAT_PARAMETER;
            if (hash) /* \def\a#1#{ */
                ret->items[ret->count - 1] = token;
            define_parameters(tex, ret);
            return true;
        }
        tokens_add(ret, token);
    }
}

static void run_def(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct token name = tex_next_solid(tex);
    struct macro macro = {0};
    if (name.cat != CAT_NAME || !read_pattern(tex, &macro.pattern)) {
        tex_report(tex, call, "a definition without a name or a body");
        tokens_free(&macro.pattern);
        tex->global = false;
        return;
    }
    size_t count = macro.pattern.count;
    bool brace = count && macro.pattern.items[count - 1].cat == CAT_BEGIN;
    if (command->value & DEF_EXPAND)
        read_expanded(tex, &macro.body);
    else
        tex_read_group(tex, &macro.body);
    define_parameters(tex, &macro.body);
    if (brace)
        tokens_add(&macro.body, macro.pattern.items[count - 1]);
    tex->global |= (command->value & DEF_GLOBAL) != 0;
    define_macro(tex, name.value, macro);
    tokens_free(&macro.pattern);
    tokens_free(&macro.body);
}

static void run_global(struct tex *tex, const struct command *command,
                       struct token call)
{
    (void)command;
    (void)call;
    tex->global = true;
}

static void run_nothing(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
}

static struct meaning meaning_of(const struct tex *tex, struct token token)
{
    if (token.cat == CAT_NAME)
        return *tex_meaning(tex, token);
    struct meaning meaning = {.kind = MEANING_CHARACTER};
    meaning.character.value = token.value;
    meaning.character.cat = token.cat;
    return meaning;
}

static void let(struct tex *tex, uint32_t symbol, struct token token)
{
    struct meaning meaning = meaning_of(tex, token);
    bool global = tex->global;
    meaning.firm = false;
    tex->global = false;
    tex_define(tex, symbol, meaning, global);
    const struct environment *environment =
        token.cat == CAT_NAME ? tex->symbols[token.value].environment : NULL;
    if (environment)
        tex->symbols[symbol].environment = environment;
}

static void run_let(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct token name = tex_next_solid(tex);
    (void)call;
    if (command->value) { /* \futurelet\a\b\c */
        struct token first = tex_next(tex), second = tex_next(tex);
        if (name.cat == CAT_NAME)
            let(tex, name.value, second);
        tex_unread(tex, second);
        tex_unread(tex, first);
        return;
    }
    struct token token = tex_next_solid(tex);
    if (token_is(token, CAT_OTHER, '=')) {
        token = tex_next(tex);
        if (token.cat == CAT_SPACE)
            token = tex_next(tex);
    }
    if (name.cat == CAT_NAME && token.cat != CAT_NONE)
        let(tex, name.value, token);
    if (tex->has_after)
        tex_unread(tex, tex->after);
    tex->has_after = false;
}

/* \afterassignment\a\let\b= ...: \a comes after it; of other assignments it is
 * nothing. */
static void run_after(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)command;
    (void)call;
    tex->after = tex_next(tex);
    tex->has_after = tex->after.cat == CAT_NAME;
}

/* ---- LaTeX's definitions ---- */

/* [n][default] as arguments. */
static uint32_t read_counted(struct tex *tex, struct argument *arguments)
{
    struct tokens list = {0}, first = {0};
    struct buf text = {0};
    uint32_t count = 0;
    if (tex_read_optional(tex, &list)) {
        tex_expand_text(tex, &list, &text);
        int64_t wanted = number_of_text(tex, buf_slice(&text));
        count = wanted < 0                ? 0
                : wanted > MOST_ARGUMENTS ? MOST_ARGUMENTS
                                          : (uint32_t)wanted;
    }
    for (uint32_t i = 0; i < count; i++)
        arguments[i] = (struct argument){.kind = 'm'};
    if (count && tex_read_optional(tex, &first)) {
        arguments[0] = (struct argument){
            .kind = 'o', .text = keep(tex, &first), .has_default = true};
    }
    tokens_free(&list);
    tokens_free(&first);
    buf_free(&text);
    return count;
}

static struct argument *keep_arguments(struct tex *tex,
                                       const struct argument *arguments,
                                       uint32_t count)
{
    if (!count)
        return NULL;
    struct argument *kept = arena_alloc(&tex->arena, count * sizeof *arguments);
    memcpy(kept, arguments, count * sizeof *arguments);
    return kept;
}

static void define_with(struct tex *tex, uint32_t symbol,
                        const struct argument *arguments, uint32_t count,
                        bool only_new)
{
    struct macro macro = {.argument_count = count,
                          .arguments = keep_arguments(tex, arguments, count)};
    tex_read_argument(tex, &macro.body);
    define_parameters(tex, &macro.body);
    if (!only_new || tex->symbols[symbol].meaning.kind == MEANING_NONE)
        define_macro(tex, symbol, macro);
    tokens_free(&macro.body);
}

static void run_newcommand(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct token name;
    struct argument arguments[MOST_ARGUMENTS];
    tex_read_character(tex, '*');
    if (!tex_read_name(tex, &name)) {
        tex_report(tex, call, "a definition without a name");
        return;
    }
    uint32_t count = read_counted(tex, arguments);
    define_with(tex, name.value, arguments, count, command->value);
}

static uint32_t environment_symbol(struct tex *tex, const char *prefix,
                                   struct slice name)
{
    struct buf whole = {0};
    buf_put_text(&whole, prefix);
    buf_put_slice(&whole, name);
    uint32_t symbol = tex_symbol(tex, buf_slice(&whole));
    buf_free(&whole);
    return symbol;
}

static void run_newenvironment(struct tex *tex, const struct command *command,
                               struct token call)
{
    struct buf name = {0};
    struct argument arguments[MOST_ARGUMENTS];
    (void)call;
    tex_read_character(tex, '*');
    tex_read_text(tex, &name);
    uint32_t begin = environment_symbol(tex, "", buf_slice(&name));
    uint32_t end = environment_symbol(tex, "end", buf_slice(&name));
    bool keep_old =
        command->value && (tex->symbols[begin].meaning.kind != MEANING_NONE ||
                           tex->symbols[begin].environment);
    uint32_t count = read_counted(tex, arguments);
    define_with(tex, begin, arguments, count, keep_old);
    define_with(tex, end, NULL, 0, keep_old);
    buf_free(&name);
}

/* xparse's description of arguments (interface3, "Specifying arguments"). */
static uint32_t read_xparse(struct tex *tex, struct argument *arguments)
{
    struct tokens spec = {0};
    uint32_t count = 0;
    tex_read_argument(tex, &spec);
    for (size_t i = 0; i < spec.count && count < MOST_ARGUMENTS; i++) {
        struct token token = spec.items[i];
        struct argument *one = &arguments[count];
        if (token.cat != CAT_LETTER)
            continue;
        *one = (struct argument){.kind = (char)(token.value | 32)};
        bool has_default = strchr("ODRGE", (int)token.value) != NULL;
        if (strchr("dDrR", (int)token.value) && i + 2 < spec.count) {
            one->open = spec.items[++i].value;
            one->close = spec.items[++i].value;
        } else if (token.value == 't' && i + 1 < spec.count) {
            one->open = spec.items[++i].value;
        } else if (token.value == 'g' || token.value == 'G') {
            one->kind = 'm';
        } else if (token.value == 'u' && i + 1 < spec.count) {
            has_default = true;
        } else if (!strchr("mosvbODR", (int)token.value)) {
            continue;
        }
        if (has_default && i + 1 < spec.count) {
            struct tokens text = {0};
            size_t depth = 0;
            for (i++; i < spec.count; i++) {
                depth += spec.items[i].cat == CAT_BEGIN;
                if (spec.items[i].cat == CAT_END && depth)
                    depth--;
                tokens_add(&text, spec.items[i]);
                if (!depth)
                    break;
            }
            strip(&text);
            one->text = keep(tex, &text);
            one->has_default = token.value != 'u';
            tokens_free(&text);
        }
        if (one->kind == 'u' && !one->text.count)
            one->kind = 'm';
        count++;
    }
    tokens_free(&spec);
    return count;
}

static void run_xparse(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct argument arguments[MOST_ARGUMENTS];
    struct token name;
    if (!tex_read_name(tex, &name)) {
        tex_report(tex, call, "a definition without a name");
        return;
    }
    uint32_t count = read_xparse(tex, arguments);
    define_with(tex, name.value, arguments, count, command->value);
}

static void run_xparse_environment(struct tex *tex,
                                   const struct command *command,
                                   struct token call)
{
    struct argument arguments[MOST_ARGUMENTS];
    struct buf name = {0};
    (void)call;
    (void)command;
    tex_read_text(tex, &name);
    uint32_t begin = environment_symbol(tex, "", buf_slice(&name));
    uint32_t end = environment_symbol(tex, "end", buf_slice(&name));
    uint32_t count = read_xparse(tex, arguments);
    define_with(tex, begin, arguments, count, false);
    define_with(tex, end, NULL, 0, false);
    buf_free(&name);
}

static void define_switch(struct tex *tex, uint32_t symbol, uint32_t flag,
                          const char *value)
{
    struct macro macro = {0};
    struct token token = {.cat = CAT_NAME, .file = UINT16_MAX};
    token.value = tex_symbol_of(tex, "let");
    tokens_add(&macro.body, token);
    token.value = flag;
    tokens_add(&macro.body, token);
    token.value = tex_symbol_of(tex, value);
    tokens_add(&macro.body, token);
    define_macro(tex, symbol, macro);
    tokens_free(&macro.body);
}

void define_flag(struct tex *tex, struct slice name, uint32_t flag)
{
    uint32_t off = tex_symbol_of(tex, "iffalse");
    struct buf whole = {0};
    buf_put_slice(&whole, name);
    buf_put_text(&whole, "true");
    define_switch(tex, tex_symbol(tex, buf_slice(&whole)), flag, "iftrue");
    buf_clear(&whole);
    buf_put_slice(&whole, name);
    buf_put_text(&whole, "false");
    define_switch(tex, tex_symbol(tex, buf_slice(&whole)), flag, "iffalse");
    buf_free(&whole);
    tex_define(tex, flag, tex->symbols[off].meaning, false);
}

static void run_newif(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct token flag = tex_next_solid(tex);
    (void)call;
    (void)command;
    if (flag.cat != CAT_NAME)
        return;
    struct slice name = tex->symbols[flag.value].name;
    if (name.size > 2 && !memcmp(name.data, "if", 2))
        define_flag(tex, (struct slice){name.data + 2, name.size - 2},
                    flag.value);
}

/* \newboolean{x}: \newif\ifx without the name as one. */
static void run_newboolean(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct buf name = {0};
    (void)call;
    tex_read_text(tex, &name);
    uint32_t flag = environment_symbol(tex, "if", buf_slice(&name));
    if (command->value < 2) {
        define_flag(tex, buf_slice(&name), flag);
    } else {
        struct buf value = {0};
        tex_read_text(tex, &value);
        bool truth = slice_is(buf_slice(&value), "true");
        uint32_t as = tex_symbol_of(tex, truth ? "iftrue" : "iffalse");
        tex_define(tex, flag, tex->symbols[as].meaning, false);
        buf_free(&value);
    }
    buf_free(&name);
}

static void run_namedef(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf name = {0};
    tex_read_text(tex, &name);
    struct token token = call;
    token.cat = CAT_NAME;
    token.value = tex_symbol(tex, buf_slice(&name));
    tex_unread(tex, token);
    run_def(tex, command, call);
    buf_free(&name);
}

/* ---- Expanding ---- */

static void run_csname(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf name = {0};
    uint32_t stop = tex_symbol_of(tex, "endcsname");
    unsigned abandoned = tex->abandon_count;
    (void)command;
    for (;;) {
        struct token token = tex_next_expanded(tex);
        if (token_is(token, CAT_NAME, stop) || at_end(tex, token))
            break;
        if (token_is(token, CAT_NAME, tex->par) ||
            tex->abandon_count != abandoned || name.size > 1000) {
            tex_report(tex, call, "\\csname without \\endcsname");
            buf_free(&name);
            return;
        }
        tex_write_token(tex, token, &name);
    }
    call.value = tex_symbol(tex, buf_slice(&name));
    call.cat = CAT_NAME;
    call.flags |= TOKEN_MADE;
    buf_free(&name);
    tex_unread(tex, call);
}

static void run_nameuse(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf name = {0};
    (void)command;
    tex_read_text(tex, &name);
    call.value = tex_symbol(tex, buf_slice(&name));
    call.flags |= TOKEN_MADE;
    buf_free(&name);
    tex_unread(tex, call);
}

/* Chains of it, \expandafter\expandafter..., are as long as a document makes
 * them: those that stand side by side are taken at once. */
static void run_expandafter(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct tokens kept = {0};
    uint32_t self = call.value;
    struct token token;
    (void)command;
    for (;;) {
        tokens_add(&kept, tex_next(tex));
        token = tex_next(tex);
        if (!token_is(token, CAT_NAME, self) || kept.count > 1000)
            break;
    }
    if (tex_is_expandable(tex, token))
        tex_expand(tex, token);
    else
        tex_unread(tex, token);
    while (kept.count)
        tex_unread(tex, kept.items[--kept.count]);
    tokens_free(&kept);
}

static void run_noexpand(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct token token = tex_next(tex);
    (void)command;
    (void)call;
    token.flags |= TOKEN_FROZEN;
    tex_unread(tex, token);
}

static void run_string(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf text = {0};
    struct tokens list = {0};
    if (command->value == 1) { /* \detokenize */
        tex_read_argument(tex, &list);
        tex_write_tokens(tex, &list, &text);
    } else {
        struct token token = tex_next(tex);
        tex_write_token(tex, token, &text);
        if (!(token.flags & TOKEN_MADE))
            call = token;
    }
    tex_push_text(tex, buf_slice(&text), call);
    tokens_free(&list);
    buf_free(&text);
}

static void run_unexpanded(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct tokens list = {0};
    (void)call;
    (void)command;
    tex_read_argument(tex, &list);
    for (size_t i = 0; i < list.count; i++)
        list.items[i].flags |= TOKEN_FROZEN;
    tex_push(tex, list);
}

/* Takes `before`'s arguments and keeps the one numbered `value`. */
static void run_choose(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens kept = {0}, other = {0};
    int count = command->text[0] - '0';
    (void)call;
    for (int i = 1; i <= count; i++)
        tex_read_argument(tex, i == command->value ? &kept : &other);
    tokens_free(&other);
    tex_push(tex, kept);
}

/* Pushes the first or the second of two arguments. */
void define_choose(struct tex *tex, bool first)
{
    struct tokens one = {0}, two = {0};
    tex_read_argument(tex, &one);
    tex_read_argument(tex, &two);
    tokens_free(first ? &two : &one);
    tex_push(tex, first ? one : two);
}

static void run_ifundefined(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf name = {0};
    (void)call;
    tex_read_text(tex, &name);
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&name));
    bool none = symbol == UINT32_MAX ||
                tex->symbols[symbol].meaning.kind == MEANING_NONE;
    buf_free(&name);
    define_choose(tex, none == (command->value != 0));
}

static void run_ifnextchar(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct token wanted = {.cat = CAT_OTHER, .value = '*'};
    struct tokens one = {0}, two = {0};
    (void)call;
    if (!command->value)
        wanted = tex_next_solid(tex);
    tex_read_argument(tex, &one);
    tex_read_argument(tex, &two);
    struct token token = tex_next_solid(tex);
    bool same = token.cat == wanted.cat && token.value == wanted.value;
    if (!same || !command->value)
        tex_unread(tex, token);
    tokens_free(same ? &two : &one);
    tex_push(tex, same ? one : two);
}

static void run_novalue(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens list = {0};
    (void)call;
    tex_read_argument(tex, &list);
    bool none =
        list.count == 1 && token_is(list.items[0], CAT_NAME, tex->no_value);
    bool found = command->value & 4 ? !list.count || none
                 : command->value & 8
                     ? list.count && list.items[0].cat == CAT_NAME &&
                           slice_is(tex->symbols[list.items[0].value].name,
                                    "BooleanTrue")
                     : none;
    if (command->value & 16)
        found = !found;
    tokens_free(&list);
    if (command->value & 1) { /* only the true branch is there */
        struct tokens branch = {0};
        tex_read_argument(tex, &branch);
        if (found)
            tex_push(tex, branch);
        else
            tokens_free(&branch);
    } else {
        define_choose(tex, found);
    }
}

static void run_case(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens list = {0};
    (void)call;
    tex_read_argument(tex, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct token *token = &list.items[i];
        bool plain = token->cat == CAT_LETTER || token->cat == CAT_OTHER;
        if (plain && command->value && token->value >= 'a' &&
            token->value <= 'z')
            token->value -= 32;
        else if (plain && !command->value && token->value < 0x80)
            token->value = text_lower(token->value);
    }
    tex_push(tex, list);
}

/* ---- The tables ---- */

static const struct command commands[] = {
    {"def", run_def, NULL, 0, NULL},
    {"edef", run_def, NULL, DEF_EXPAND, NULL},
    {"gdef", run_def, NULL, DEF_GLOBAL, NULL},
    {"xdef", run_def, NULL, DEF_EXPAND | DEF_GLOBAL, NULL},
    {"protected@edef", run_def, NULL, DEF_EXPAND, NULL},
    {"protected@xdef", run_def, NULL, DEF_EXPAND | DEF_GLOBAL, NULL},
    {"global", run_global, NULL, 0, NULL},
    {"long", run_nothing, NULL, 0, NULL},
    {"outer", run_nothing, NULL, 0, NULL},
    {"protected", run_nothing, NULL, 0, NULL},
    {"relax", run_nothing, NULL, 0, NULL},
    {"let", run_let, NULL, 0, NULL},
    {"afterassignment", run_after, NULL, 0, NULL},
    {"futurelet", run_let, NULL, 1, NULL},
    {"newcommand", run_newcommand, NULL, 0, NULL},
    {"renewcommand", run_newcommand, NULL, 0, NULL},
    {"providecommand", run_newcommand, NULL, 1, NULL},
    {"DeclareRobustCommand", run_newcommand, NULL, 0, NULL},
    {"newrobustcmd", run_newcommand, NULL, 0, NULL},
    {"renewrobustcmd", run_newcommand, NULL, 0, NULL},
    {"newenvironment", run_newenvironment, NULL, 0, NULL},
    {"renewenvironment", run_newenvironment, NULL, 0, NULL},
    {"provideenvironment", run_newenvironment, NULL, 1, NULL},
    {"NewDocumentCommand", run_xparse, NULL, 0, NULL},
    {"RenewDocumentCommand", run_xparse, NULL, 0, NULL},
    {"ProvideDocumentCommand", run_xparse, NULL, 1, NULL},
    {"DeclareDocumentCommand", run_xparse, NULL, 0, NULL},
    {"NewExpandableDocumentCommand", run_xparse, NULL, 0, NULL},
    {"NewDocumentEnvironment", run_xparse_environment, NULL, 0, NULL},
    {"RenewDocumentEnvironment", run_xparse_environment, NULL, 0, NULL},
    {"DeclareDocumentEnvironment", run_xparse_environment, NULL, 0, NULL},
    {"newif", run_newif, NULL, 0, NULL},
    {"newboolean", run_newboolean, NULL, 0, NULL},
    {"provideboolean", run_newboolean, NULL, 0, NULL},
    {"newtoggle", run_newboolean, NULL, 0, NULL},
    {"setboolean", run_newboolean, NULL, 2, NULL},
    {"@namedef", run_namedef, NULL, 0, NULL},
    {"csdef", run_namedef, NULL, 0, NULL},
    {"csgdef", run_namedef, NULL, DEF_GLOBAL, NULL},
    {"@xp@namedef", run_namedef, NULL, DEF_EXPAND, NULL},
};

static const struct command expanding[] = {
    {"csname", run_csname, NULL, 0, NULL},
    {"@nameuse", run_nameuse, NULL, 0, NULL},
    {"csuse", run_nameuse, NULL, 0, NULL},
    {"expandafter", run_expandafter, NULL, 0, NULL},
    {"noexpand", run_noexpand, NULL, 0, NULL},
    {"string", run_string, NULL, 0, NULL},
    {"detokenize", run_string, NULL, 1, NULL},
    {"unexpanded", run_unexpanded, NULL, 0, NULL},
    {"@firstofone", run_choose, NULL, 1, "1"},
    {"@gobble", run_choose, NULL, 2, "1"},
    {"@gobbletwo", run_choose, NULL, 3, "2"},
    {"@gobblefour", run_choose, NULL, 5, "4"},
    {"@firstoftwo", run_choose, NULL, 1, "2"},
    {"@secondoftwo", run_choose, NULL, 2, "2"},
    {"@ifundefined", run_ifundefined, NULL, 1, NULL},
    {"ifcsundef", run_ifundefined, NULL, 1, NULL},
    {"ifcsdef", run_ifundefined, NULL, 0, NULL},
    {"@ifnextchar", run_ifnextchar, NULL, 0, NULL},
    {"kernel@ifnextchar", run_ifnextchar, NULL, 0, NULL},
    {"@ifstar", run_ifnextchar, NULL, 1, NULL},
    {"IfNoValueTF", run_novalue, NULL, 0, NULL},
    {"IfNoValueT", run_novalue, NULL, 1, NULL},
    {"IfNoValueF", run_novalue, NULL, 17, NULL},
    {"IfValueTF", run_novalue, NULL, 16, NULL},
    {"IfValueT", run_novalue, NULL, 17, NULL},
    {"IfValueF", run_novalue, NULL, 1, NULL},
    {"IfBlankTF", run_novalue, NULL, 4, NULL},
    {"IfBooleanTF", run_novalue, NULL, 8, NULL},
    {"IfBooleanT", run_novalue, NULL, 9, NULL},
    {"IfBooleanF", run_novalue, NULL, 25, NULL},
    {"uppercase", run_case, NULL, 1, NULL},
    {"lowercase", run_case, NULL, 0, NULL},
    {"MakeUppercase", run_case, NULL, 1, NULL},
    {"MakeLowercase", run_case, NULL, 0, NULL},
    {"MakeTextUppercase", run_case, NULL, 1, NULL},
};

void define_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, true);
}
