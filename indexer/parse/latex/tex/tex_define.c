/* Macros: how TeX defines them. */
#include <stdlib.h>

#include "indexer/parse/latex/tex/tex.h"

struct tokens define_keep(struct tex *tex, const struct tokens *list)
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

/* Whole formulas within braces are of a box. */
static bool may_end_math(const struct tex *tex, const struct tokens *body)
{
    size_t braces = 0;
    uint64_t opened = 0; /* formulas, by the braces around */
    for (size_t i = 0; i < body->count; i++) {
        struct token token = body->items[i];
        uint64_t here = (uint64_t)1 << (braces & 63);
        if (token.cat == CAT_MATH && !braces)
            return true;
        if (token.cat == CAT_MATH)
            opened ^= here;
        if (token.cat == CAT_END && (opened & here))
            return true;
        braces += token.cat == CAT_BEGIN;
        braces -= token.cat == CAT_END && braces;
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

/* Is there room for so many more tokens in macros?  If not, it is told. */
static bool has_room(struct tex *tex, size_t count)
{
    if (tex->stored + count <= MAX_STORED)
        return true;
    tex_report(tex, (struct token){.file = UINT16_MAX}, "too much is defined");
    tex_abandon(tex);
    return false;
}

void define_macro(struct tex *tex, uint32_t symbol, struct macro macro)
{
    bool global = tex->global;
    tex->global = false;
    if (!has_room(tex, macro.body.count + macro.pattern.count))
        return;
    struct macro *kept = arena_alloc(&tex->arena, sizeof *kept);
    tex->stored += sizeof *kept / sizeof(struct token);
    *kept = macro;
    kept->ends_math = may_end_math(tex, &macro.body);
    kept->pattern = define_keep(tex, &macro.pattern);
    kept->body = define_keep(tex, &macro.body);
    tex_define(tex, symbol,
               (struct meaning){.kind = MEANING_MACRO, .macro = kept}, global);
}

/* The body moves where there is room for as much again: what is added one by one is not
 * copied each time.  The capacity is that of the newest that has the room.  What is copied
 * counts as steps. */
static bool make_room(struct tex *tex, struct tokens *body, size_t count)
{
    struct tokens moved = {.count = body->count, .capacity = 2 * count};
    if (tex->stored + moved.capacity > MAX_STORED)
        moved.capacity = count;
    if (!has_room(tex, moved.capacity))
        return false;
    moved.items =
        arena_alloc(&tex->arena, moved.capacity * sizeof *moved.items);
    if (body->count)
        memcpy(moved.items, body->items, body->count * sizeof *body->items);
    tex->stored += moved.capacity;
    tex->steps += body->count / 4;
    *body = moved;
    return true;
}

void define_append(struct tex *tex, uint32_t symbol, const struct tokens *code)
{
    struct meaning meaning = tex->symbols[symbol].meaning;
    struct macro *old = meaning.kind == MEANING_MACRO ? meaning.macro : NULL;
    struct macro macro = old ? *old : (struct macro){0};
    struct tokens *body = &macro.body;
    size_t count = body->count + code->count;
    bool global = tex->global, moves = body->capacity < count;
    tex->global = false;
    if (!code->count && old)
        return;
    if (!has_room(tex, sizeof macro / sizeof(struct token)) ||
        (moves && !make_room(tex, body, count)))
        return;
    if (old && !moves)
        old->body.capacity = 0;
    if (code->count)
        memcpy(body->items + body->count, code->items,
               code->count * sizeof *code->items);
    body->count = count;
    macro.ends_math |= may_end_math(tex, code);
    struct macro *kept = arena_alloc(&tex->arena, sizeof *kept);
    *kept = macro;
    tex->stored += sizeof *kept / sizeof(struct token);
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

/* ---- Commands ---- */

void tex_read_expanded(struct tex *tex, struct tokens *ret)
{
    size_t depth = 1;
    unsigned abandoned = tex->abandon_count;
    tex->edefs++;
    while (tex->abandon_count == abandoned && ret->count < MAX_STORED) {
        struct token token = tex_next(tex);
        if (tex_at_end(tex, token))
            break;
        if (tex_is_expandable(tex, token)) {
            tex_expand(tex, token);
            continue;
        }
        depth += token.cat == CAT_BEGIN;
        if (token.cat == CAT_END && !--depth)
            break;
        tokens_add(ret, token);
    }
    tex->edefs--;
}

enum { DEF_EXPAND = 1, DEF_GLOBAL = 2 };

static bool read_pattern(struct tex *tex, struct tokens *ret)
{
    for (;;) {
        struct token token = tex_next(tex);
        if (tex_at_end(tex, token) || token.cat == CAT_END)
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

/* Documents of plain TeX define \section{...} and its kin themselves: how it is set
 * says nothing, and that it is a heading would be lost. */
static bool sets_heading(const struct tex *tex, struct token name,
                         const struct tokens *pattern)
{
    return !tex->classed && tex_meaning(tex, name)->heading && pattern->count &&
           pattern->items[0].cat == CAT_MATCH &&
           (pattern->count == 1 || pattern->items[1].cat == CAT_MATCH);
}

static void run_def(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct token name = tex_next_solid(tex);
    struct macro macro = {.is_short = !tex->is_long};
    tex->is_long = false;
    if (name.cat != CAT_NAME || !read_pattern(tex, &macro.pattern)) {
        tex_report(tex, call, "a definition without a name or a body");
        tokens_free(&macro.pattern);
        tex->global = false;
        return;
    }
    size_t count = macro.pattern.count;
    bool brace = count && macro.pattern.items[count - 1].cat == CAT_BEGIN;
    if (command->value & DEF_EXPAND)
        tex_read_expanded(tex, &macro.body);
    else
        tex_read_group(tex, &macro.body);
    define_parameters(tex, &macro.body);
    if (brace)
        tokens_add(&macro.body, macro.pattern.items[count - 1]);
    tex->global |= (command->value & DEF_GLOBAL) != 0;
    if (sets_heading(tex, name, &macro.pattern))
        tex->global = false;
    else
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

static void run_long(struct tex *tex, const struct command *command,
                     struct token call)
{
    (void)command;
    (void)call;
    tex->is_long = true;
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
    if (token.cat == CAT_NAME && meaning.kind == MEANING_NONE &&
        slice_is(tex->symbols[token.value].name, "jobname")) {
        struct macro macro = {0}; /* it stands for itself in names of files */
        tokens_add(&macro.body, token);
        define_macro(tex, symbol, macro);
        tokens_free(&macro.body);
        return;
    }
    meaning.firm = false;
    tex->global = false;
    tex_define(tex, symbol, meaning, global);
    const struct environment *environment =
        token.cat == CAT_NAME ? tex->symbols[token.value].environment : NULL;
    if (environment || meaning.kind == MEANING_MACRO)
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

static const struct command commands[] = {
    {"def", run_def, NULL, 0, NULL},
    {"edef", run_def, NULL, DEF_EXPAND, NULL},
    {"gdef", run_def, NULL, DEF_GLOBAL, NULL},
    {"xdef", run_def, NULL, DEF_EXPAND | DEF_GLOBAL, NULL},
    {"protected@edef", run_def, NULL, DEF_EXPAND, NULL},
    {"protected@xdef", run_def, NULL, DEF_EXPAND | DEF_GLOBAL, NULL},
    {"global", run_global, NULL, 0, NULL},
    {"long", run_long, NULL, 0, NULL},
    {"outer", run_nothing, NULL, 0, NULL},
    {"protected", run_nothing, NULL, 0, NULL},
    {"relax", run_nothing, NULL, 0, NULL},
    {"let", run_let, NULL, 0, NULL},
    {"afterassignment", run_after, NULL, 0, NULL},
    {"futurelet", run_let, NULL, 1, NULL},
    {"newif", run_newif, NULL, 0, NULL},
    {"@namedef", run_namedef, NULL, 0, NULL},
    {"csdef", run_namedef, NULL, 0, NULL},
    {"csgdef", run_namedef, NULL, DEF_GLOBAL, NULL},
    {"@xp@namedef", run_namedef, NULL, DEF_EXPAND, NULL},
};

void define_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
}
