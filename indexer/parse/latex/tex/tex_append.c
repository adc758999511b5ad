/* Macros that are changed: LaTeX's \g@addto@macro; etoolbox's \appto, \apptocmd
 * and \patchcmd (etoolbox, 3.3.1 and 3.4); toolbox's \toolboxReplace.  What is built
 * in stays as it is. */
#include "indexer/parse/latex/tex/tex.h"

enum { PREPEND = 1, GLOBAL = 2 };

static void add(struct tex *tex, uint32_t symbol, struct tokens *code, int how)
{
    struct meaning meaning = tex->symbols[symbol].meaning;
    struct macro macro = {0};
    struct tokens body = {0};
    tex->global = how & GLOBAL;
    if (!(how & PREPEND)) {
        define_append(tex, symbol, code);
        return;
    }
    if (meaning.kind == MEANING_MACRO)
        macro = *meaning.macro;
    tex->steps += macro.body.count / 4;
    tokens_add_all(&body, code->items, code->count);
    tokens_add_all(&body, macro.body.items, macro.body.count);
    macro.body = body;
    define_macro(tex, symbol, macro);
    tokens_free(&body);
}

/* \appto\macro{code}: a macro that is not there becomes one. */
static void run_appto(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct token name;
    struct tokens code = {0};
    (void)call;
    bool named = tex_read_name(tex, &name);
    tex_read_argument(tex, &code);
    if (named && (tex_meaning(tex, name)->kind == MEANING_MACRO ||
                  tex_meaning(tex, name)->kind == MEANING_NONE))
        add(tex, name.value, &code, command->value);
    tokens_free(&code);
}

/* \apptocmd\macro{code}{success}{failure}: also of a macro with parameters. */
static void run_apptocmd(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct token name;
    struct tokens code = {0};
    (void)call;
    bool known = tex_read_name(tex, &name) &&
                 tex_meaning(tex, name)->kind == MEANING_MACRO;
    tex_read_argument(tex, &code);
    define_parameters(tex, &code);
    if (known)
        add(tex, name.value, &code, command->value);
    tokens_free(&code);
    expand_choose(tex, known);
}

/* Where `what` stands in a body, from `at` on; its count: nowhere. */
static size_t find(const struct tokens *body, size_t at,
                   const struct tokens *what)
{
    for (; what->count && at + what->count <= body->count; at++) {
        size_t same = 0;
        while (same < what->count &&
               token_same(body->items[at + same], what->items[same]))
            same++;
        if (same == what->count)
            return at;
    }
    return body->count;
}

/* The first `what` of the macro's body is `other` from now on; false: it has
 * none. */
static bool patch(struct tex *tex, uint32_t symbol, const struct tokens *what,
                  const struct tokens *other)
{
    struct macro macro = *tex->symbols[symbol].meaning.macro;
    size_t at = find(&macro.body, 0, what), end = at + what->count;
    struct tokens body = {0};
    if (at == macro.body.count)
        return false;
    tokens_add_all(&body, macro.body.items, at);
    tokens_add_all(&body, other->items, other->count);
    tokens_add_all(&body, macro.body.items + end, macro.body.count - end);
    macro.body = body;
    define_macro(tex, symbol, macro);
    tokens_free(&body);
    return true;
}

/* \patchcmd[prefix]{\macro}{search}{replace}{success}{failure}.  Of what is
 * built in neither: the document's author saw it succeed, and what is replaced
 * is not here. */
static void run_patchcmd(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct token name;
    struct tokens what = {0}, other = {0};
    (void)call;
    tex_skip_before(tex, command->before);
    bool known = tex_read_name(tex, &name) &&
                 tex_meaning(tex, name)->kind == MEANING_MACRO;
    tex_read_argument(tex, &what);
    tex_read_argument(tex, &other);
    define_parameters(tex, &what);
    define_parameters(tex, &other);
    if (known)
        expand_choose(tex, patch(tex, name.value, &what, &other));
    else
        tex_skip_before(tex, "mm");
    tokens_free(&what);
    tokens_free(&other);
}

/* Each `what` of the macro's body is `other` from now on. */
static void replace(struct tex *tex, uint32_t symbol, const struct tokens *what,
                    const struct tokens *other)
{
    struct macro macro = *tex->symbols[symbol].meaning.macro;
    struct tokens body = {0};
    size_t from = 0, at;
    while ((at = find(&macro.body, from, what)) < macro.body.count) {
        tokens_add_all(&body, macro.body.items + from, at - from);
        tokens_add_all(&body, other->items, other->count);
        from = at + what->count;
    }
    tokens_add_all(&body, macro.body.items + from, macro.body.count - from);
    macro.body = body;
    define_macro(tex, symbol, macro);
    tokens_free(&body);
}

/* \toolboxReplace{what}{other}\macro */
static void run_replace(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token name;
    struct tokens what = {0}, other = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &what);
    tex_read_argument(tex, &other);
    if (tex_read_name(tex, &name) &&
        tex_meaning(tex, name)->kind == MEANING_MACRO)
        replace(tex, name.value, &what, &other);
    tokens_free(&what);
    tokens_free(&other);
}

static const struct command commands[] = {
    {"patchcmd", run_patchcmd, "o", 0, NULL},
    {"xpatchcmd", run_patchcmd, "o", 0, NULL},
    {"toolboxReplace", run_replace, NULL, 0, NULL},
    {"g@addto@macro", run_appto, NULL, GLOBAL, NULL},
    {"appto", run_appto, NULL, 0, NULL},
    {"gappto", run_appto, NULL, GLOBAL, NULL},
    {"preto", run_appto, NULL, PREPEND, NULL},
    {"gpreto", run_appto, NULL, PREPEND | GLOBAL, NULL},
    {"apptocmd", run_apptocmd, NULL, 0, NULL},
    {"pretocmd", run_apptocmd, NULL, PREPEND, NULL},
    {"xapptocmd", run_apptocmd, NULL, 0, NULL},
    {"xpretocmd", run_apptocmd, NULL, PREPEND, NULL},
};

void append_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
