/* Macros: how LaTeX defines them, with what argument each takes. */
#include <stdlib.h>

#include "indexer/parse/latex/tex/tex.h"

/* [n][default] as arguments. */
static uint32_t read_counted(struct tex *tex, struct argument *arguments)
{
    struct tokens list = {0}, first = {0};
    struct buf text = {0};
    uint32_t count = 0;
    if (tex_read_optional(tex, &list)) {
        tex_expand_text(tex, &list, &text);
        int64_t wanted = number_of_text(tex, buf_slice(&text));
        count = wanted < 0               ? 0
                : wanted > MAX_ARGUMENTS ? MAX_ARGUMENTS
                                         : (uint32_t)wanted;
    }
    for (uint32_t i = 0; i < count; i++)
        arguments[i] = (struct argument){.kind = 'm'};
    if (count && tex_read_optional(tex, &first)) {
        arguments[0] = (struct argument){
            .kind = 'o', .text = define_keep(tex, &first), .has_default = true};
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

/* What takes an optional argument is \\NAME within, as LaTeX has it; packages
 * name it so. */
static void define_inner(struct tex *tex, uint32_t symbol)
{
    struct buf name = {0};
    buf_put_byte(&name, '\\');
    buf_put_slice(&name, tex->symbols[symbol].name);
    uint32_t inner = tex_symbol(tex, buf_slice(&name));
    tex_define(tex, inner, tex->symbols[symbol].meaning, false);
    buf_free(&name);
}

static void run_newcommand(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct token name;
    struct argument arguments[MAX_ARGUMENTS];
    tex_read_character(tex, '*');
    if (!tex_read_name(tex, &name)) {
        tex_report(tex, call, "a definition without a name");
        return;
    }
    uint32_t count = read_counted(tex, arguments);
    define_with(tex, name.value, arguments, count, command->value);
    if (count && arguments[0].has_default)
        define_inner(tex, name.value);
}

/* \@testopt\foo{text}, \@dblarg\foo: \foo[text], if no bracket follows; of the
 * second the text is the argument that does. */
static void run_testopt(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens list = {0}, text = {0};
    tex_read_argument(tex, &list);
    if (!command->value)
        tex_read_argument(tex, &text);
    struct token next = tex_next_solid(tex);
    tex_unread(tex, next);
    if (token_is(next, CAT_OTHER, '[')) {
        tex_push(tex, list);
        tokens_free(&text);
        return;
    }
    if (command->value)
        tex_read_argument(tex, &text);
    call.cat = CAT_OTHER;
    call.value = '[';
    tokens_add(&list, call);
    call.cat = CAT_BEGIN;
    tokens_add(&list, call);
    tokens_add_all(&list, text.items, text.count);
    call.cat = CAT_END;
    tokens_add(&list, call);
    call.cat = CAT_OTHER;
    call.value = ']';
    tokens_add(&list, call);
    if (command->value) {
        call.cat = CAT_BEGIN;
        tokens_add(&list, call);
        tokens_add_all(&list, text.items, text.count);
        call.cat = CAT_END;
        tokens_add(&list, call);
    }
    tokens_free(&text);
    tex_push(tex, list);
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

static bool has_name(const struct tokens *list, uint32_t symbol)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].value == symbol)
            return true;
    return false;
}

/* The token as \begin{NAME}, \end{NAME}. */
static void add_named(struct tex *tex, const char *which, struct slice name,
                      struct token call, struct tokens *ret)
{
    struct tokens list = {0};
    tex_add_name(tex, which, call, ret);
    tex_add_source(tex, name, call, &list);
    tokens_add_group(ret, &list, call);
    tokens_free(&list);
}

/* Of what draws, as \tikzpicture, there is no text; what is made of it may set some. */
static bool draws(struct slice name)
{
    return slice_ends(name, slice_of("picture"));
}

/* Is it the name of one that is built in, and text set in it? */
static bool is_environment(const struct tex *tex, uint32_t name)
{
    const struct symbol *symbol = &tex->symbols[name];
    return symbol->environment && symbol->meaning.kind == MEANING_NONE &&
           !draws(symbol->name);
}

static bool is_one_of(const struct tex *tex, struct token token,
                      const char *const *names, size_t count)
{
    bool found = false;
    for (size_t i = 0; token.cat == CAT_NAME && i < count; i++)
        found |= slice_is(tex->symbols[token.value].name, names[i]);
    return found;
}

/* Does what stands before say something of the name, as \let\x=\NAME, \ifx\NAME and
 * \renewcommand{\NAME}, so that it begins or ends nothing there? */
static bool is_spoken_of(const struct tex *tex, const struct tokens *list,
                         size_t at)
{
    static const char *const one[] = {"let",
                                      "ifx",
                                      "def",
                                      "edef",
                                      "gdef",
                                      "xdef",
                                      "ifdefined",
                                      "expandafter",
                                      "noexpand",
                                      "string",
                                      "meaning",
                                      "csname",
                                      "newcommand",
                                      "renewcommand",
                                      "providecommand",
                                      "DeclareRobustCommand"};
    const struct token *items = list->items;
    while (at &&
           (items[at - 1].cat == CAT_SPACE || items[at - 1].cat == CAT_BEGIN ||
            token_is(items[at - 1], CAT_OTHER, '=') ||
            token_is(items[at - 1], CAT_OTHER, '*')))
        at--;
    if (!at || items[at - 1].cat != CAT_NAME)
        return false;
    return is_one_of(tex, items[at - 1], one, sizeof one / sizeof *one) ||
           (at > 1 && is_one_of(tex, items[at - 2], one, 2));
}

/* The symbol of NAME if it is \endNAME; UINT32_MAX. */
static uint32_t ended_by(const struct tex *tex, struct token token)
{
    if (token.cat != CAT_NAME)
        return UINT32_MAX;
    struct slice name = tex->symbols[token.value].name;
    if (name.size <= 3 || memcmp(name.data, "end", 3) != 0)
        return UINT32_MAX;
    return tex_find_symbol(tex, (struct slice){name.data + 3, name.size - 3});
}

/* The environments that \endNAME ends there, each once, but `own`. */
static void find_ended(const struct tex *tex, const struct tokens *ends,
                       uint32_t own, struct tokens *ret)
{
    for (size_t i = 0; i < ends->count; i++) {
        struct token token = ends->items[i];
        token.value = ended_by(tex, token);
        if (token.value != UINT32_MAX && token.value != own &&
            is_environment(tex, token.value) && !has_name(ret, token.value) &&
            !is_spoken_of(tex, ends, i))
            tokens_add(ret, token);
    }
}

/* Those of them that \NAME begins there. */
static void find_begun(const struct tex *tex, const struct tokens *begins,
                       const struct tokens *ended, struct tokens *ret)
{
    for (size_t i = 0; i < begins->count && ret->count < ended->count; i++) {
        struct token token = begins->items[i];
        if (token.cat == CAT_NAME && is_environment(tex, token.value) &&
            has_name(ended, token.value) && !has_name(ret, token.value) &&
            !is_spoken_of(tex, begins, i))
            tokens_add(ret, token);
    }
}

static void name_those(struct tex *tex, const struct tokens *names,
                       struct tokens *list)
{
    struct tokens named = {0};
    for (size_t i = 0; i < list->count; i++) {
        struct token token = list->items[i];
        uint32_t ended = ended_by(tex, token);
        bool begins = token.cat == CAT_NAME && has_name(names, token.value);
        bool ends = ended != UINT32_MAX && has_name(names, ended);
        if ((!begins && !ends) || is_spoken_of(tex, list, i))
            tokens_add(&named, token);
        else
            add_named(tex, begins ? "begin" : "end",
                      tex->symbols[begins ? token.value : ended].name, token,
                      &named);
    }
    tokens_free(list);
    *list = named;
}

/* \NAME at the beginning and \endNAME at the end, of an environment that is built in, as
 * \begin{NAME} and \end{NAME}: so do those begin and end it that are made of it.  Not in
 * `own`, which would begin itself without end. */
static void name_environments(struct tex *tex, uint32_t own,
                              struct tokens *begins, struct tokens *ends)
{
    struct tokens ended = {0}, names = {0};
    find_ended(tex, ends, own, &ended);
    find_begun(tex, begins, &ended, &names);
    if (names.count) {
        name_those(tex, &names, begins);
        name_those(tex, &names, ends);
    }
    tokens_free(&ended);
    tokens_free(&names);
}

/* Reads the code at the beginning and at the end. */
static void define_environment(struct tex *tex, struct slice name,
                               struct argument *arguments, uint32_t count,
                               bool keep_old, struct token call)
{
    struct tokens begins = {0}, ends = {0}, both = {0};
    uint32_t own = environment_symbol(tex, "", name);
    tex_read_argument(tex, &begins);
    tex_read_argument(tex, &ends);
    name_environments(tex, own, &begins, &ends);
    tokens_add_group(&both, &begins, call);
    tokens_add_group(&both, &ends, call);
    tokens_free(&begins);
    tokens_free(&ends);
    tex_push(tex, both);
    define_with(tex, own, arguments, count, keep_old);
    define_with(tex, environment_symbol(tex, "end", name), NULL, 0, keep_old);
}

static void run_newenvironment(struct tex *tex, const struct command *command,
                               struct token call)
{
    struct buf name = {0};
    struct argument arguments[MAX_ARGUMENTS];
    tex_read_character(tex, '*');
    tex_read_text(tex, &name);
    uint32_t begin = environment_symbol(tex, "", buf_slice(&name));
    bool keep_old =
        command->value && (tex->symbols[begin].meaning.kind != MEANING_NONE ||
                           tex->symbols[begin].environment);
    uint32_t count = read_counted(tex, arguments);
    define_environment(tex, buf_slice(&name), arguments, count, keep_old, call);
    buf_free(&name);
}

/* ---- xparse ---- */

/* xparse's description of arguments (interface3, "Specifying arguments"). */
static uint32_t read_xparse(struct tex *tex, struct argument *arguments)
{
    struct tokens spec = {0};
    uint32_t count = 0;
    tex_read_argument(tex, &spec);
    for (size_t i = 0; i < spec.count && count < MAX_ARGUMENTS; i++) {
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
            tex_strip_braces(&text, 0);
            one->text = define_keep(tex, &text);
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
    struct argument arguments[MAX_ARGUMENTS];
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
    struct argument arguments[MAX_ARGUMENTS];
    struct buf name = {0};
    (void)command;
    tex_read_text(tex, &name);
    uint32_t count = read_xparse(tex, arguments);
    define_environment(tex, buf_slice(&name), arguments, count, false, call);
    buf_free(&name);
}

/* ---- Flags by name ---- */

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
        if (command->text)
            buf_put_text(&value, command->text);
        else
            tex_read_text(tex, &value);
        bool truth = slice_is(buf_slice(&value), "true");
        uint32_t as = tex_symbol_of(tex, truth ? "iftrue" : "iffalse");
        tex_define(tex, flag, tex->symbols[as].meaning, false);
        buf_free(&value);
    }
    buf_free(&name);
}

static const struct command commands[] = {
    {"@testopt", run_testopt, NULL, 0, NULL},
    {"@dblarg", run_testopt, NULL, 1, NULL},
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
    {"newboolean", run_newboolean, NULL, 0, NULL},
    {"provideboolean", run_newboolean, NULL, 0, NULL},
    {"newbool", run_newboolean, NULL, 0, NULL},
    {"providebool", run_newboolean, NULL, 0, NULL},
    {"setboolean", run_newboolean, NULL, 2, NULL},
    {"setbool", run_newboolean, NULL, 2, NULL},
    {"booltrue", run_newboolean, NULL, 2, "true"},
    {"boolfalse", run_newboolean, NULL, 2, "false"},
};

void newcommand_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
}
