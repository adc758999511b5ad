/* etoolbox: toggles, tests that choose between two arguments, lists. */
#include "indexer/parse/latex/tex/tex.h"

/* ---- Toggles, which share no name with macros (etoolbox, 3.5.2) ---- */

static uint32_t read_toggle(struct tex *tex)
{
    struct buf whole = {0}, name = {0};
    tex_read_text(tex, &name);
    buf_put_text(&whole, "etb@tgl@");
    buf_put_slice(&whole, buf_slice(&name));
    uint32_t toggle = tex_symbol(tex, buf_slice(&whole));
    buf_free(&whole);
    buf_free(&name);
    return toggle;
}

static void set(struct tex *tex, uint32_t toggle, bool on)
{
    uint32_t as = tex_symbol_of(tex, on ? "iftrue" : "iffalse");
    tex_define(tex, toggle, tex->symbols[as].meaning, false);
}

static void run_newtoggle(struct tex *tex, const struct command *command,
                          struct token call)
{
    uint32_t toggle = read_toggle(tex);
    (void)call;
    if (!command->value || tex->symbols[toggle].meaning.kind == MEANING_NONE)
        set(tex, toggle, false);
}

static void run_toggle(struct tex *tex, const struct command *command,
                       struct token call)
{
    (void)call;
    set(tex, read_toggle(tex), command->value != 0);
}

static void run_settoggle(struct tex *tex, const struct command *command,
                          struct token call)
{
    uint32_t toggle = read_toggle(tex);
    struct buf value = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &value);
    set(tex, toggle, slice_is(buf_slice(&value), "true"));
    buf_free(&value);
}

static void run_iftoggle(struct tex *tex, const struct command *command,
                         struct token call)
{
    bool on = condition_is_true(tex, read_toggle(tex));
    (void)call;
    expand_choose(tex, on != (command->value != 0));
}

/* ---- Tests ---- */

/* \ifbool{x}: of \newif's and \newboolean's flag \ifx. */
static void run_ifbool(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf name = {0};
    (void)call;
    tex_read_text(tex, &name);
    bool on = condition_flag(tex, buf_slice(&name));
    buf_free(&name);
    expand_choose(tex, on != (command->value != 0));
}

/* \ifstrempty, \ifblank, \ifstrequal: of the tokens, which are not expanded. */
static void run_ifstring(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens a = {0}, b = {0};
    bool same = true;
    (void)call;
    tex_read_argument(tex, &a);
    if (command->value)
        tex_read_argument(tex, &b);
    else
        while (a.count && a.items[a.count - 1].cat == CAT_SPACE)
            a.count--;
    same = a.count == b.count;
    for (size_t i = 0; same && i < a.count; i++)
        same = token_same(a.items[i], b.items[i]);
    tokens_free(&a);
    tokens_free(&b);
    expand_choose(tex, same);
}

/* \ifdefempty, \ifdefstring: of what a macro expands to. */
static void run_ifdefstring(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf a = {0}, b = {0};
    (void)call;
    tex_read_text(tex, &a);
    if (command->value)
        tex_read_text(tex, &b);
    bool same = slice_equal(buf_slice(&a), buf_slice(&b));
    buf_free(&a);
    buf_free(&b);
    expand_choose(tex, same);
}

static void run_ifdef(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct token name;
    (void)call;
    bool known = tex_read_name(tex, &name) &&
                 tex_meaning(tex, name)->kind != MEANING_NONE;
    expand_choose(tex, known != (command->value != 0));
}

/* `relation`: '<', '=', '>'. */
static bool holds(int64_t left, char relation, int64_t right)
{
    return relation == '<'   ? left < right
           : relation == '>' ? left > right
                             : left == right;
}

/* The relation is the command's, or between the numbers: \ifnumcomp. */
static void run_compare(struct tex *tex, const struct command *command,
                        struct token call)
{
    bool dimension = command->value != 0;
    char relation = command->text[0];
    int64_t left = number_read_argument(tex, dimension);
    (void)call;
    if (relation == '?') {
        struct buf text = {0};
        tex_read_text(tex, &text);
        relation = text.size ? text.data[0] : '=';
        buf_free(&text);
    }
    int64_t right = number_read_argument(tex, dimension);
    expand_choose(tex, holds(left, relation, right));
}

static void run_ifnumodd(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)command;
    (void)call;
    expand_choose(tex, number_read_argument(tex, false) % 2 != 0);
}

/* ---- Lists ---- */

/* `handler` and, in braces, each item of the list between commas. */
static void put_items(const struct tokens *handler, const struct tokens *list,
                      struct token call, struct tokens *ret)
{
    enum { MAX_MADE = 100000 };
    for (size_t at = 0, end; at < list->count && ret->count < MAX_MADE;
         at = end + 1) {
        size_t depth = 0;
        for (end = at; end < list->count; end++) {
            depth += list->items[end].cat == CAT_BEGIN;
            depth -= list->items[end].cat == CAT_END && depth;
            if (!depth && token_is(list->items[end], CAT_OTHER, ','))
                break;
        }
        const struct token *items = list->items + at;
        size_t count = end - at;
        for (; count && items->cat == CAT_SPACE; count--)
            items++;
        while (count && items[count - 1].cat == CAT_SPACE)
            count--;
        struct tokens item = {0};
        tokens_add_all(&item, items, count);
        if (count) {
            tokens_add_all(ret, handler->items, handler->count);
            tokens_add_group(ret, &item, call);
        }
        tokens_free(&item);
    }
}

/* \forcsvlist{handler}{a,b}; \docsvlist{a,b}: the handler is \do. */
static void run_csvlist(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens handler = {0}, list = {0}, made = {0};
    if (command->text) {
        struct token name = call;
        name.value = tex_symbol_of(tex, command->text);
        tokens_add(&handler, name);
    } else {
        tex_read_argument(tex, &handler);
    }
    tex_read_argument(tex, &list);
    put_items(&handler, &list, call, &made);
    tex->steps += made.count;
    tex_push(tex, made);
    tokens_free(&handler);
    tokens_free(&list);
}

/* \undef\name, \csundef{name} */
static void run_undef(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct token token = call;
    if (command->value) {
        struct buf name = {0};
        tex_read_text(tex, &name);
        token.value = tex_symbol(tex, buf_slice(&name));
        buf_free(&name);
    } else if (!tex_read_name(tex, &token)) {
        return;
    }
    tex_define(tex, token.value, (struct meaning){.kind = MEANING_NONE}, false);
}

static const struct command commands[] = {
    {"undef", run_undef, NULL, 0, NULL},
    {"csundef", run_undef, NULL, 1, NULL},
    {"newtoggle", run_newtoggle, NULL, 0, NULL},
    {"providetoggle", run_newtoggle, NULL, 1, NULL},
    {"toggletrue", run_toggle, NULL, 1, NULL},
    {"togglefalse", run_toggle, NULL, 0, NULL},
    {"settoggle", run_settoggle, NULL, 0, NULL},
};

static const struct command expanding[] = {
    {"iftoggle", run_iftoggle, NULL, 0, NULL},
    {"nottoggle", run_iftoggle, NULL, 1, NULL},
    {"ifboolean", run_ifbool, NULL, 0, NULL},
    {"ifbool", run_ifbool, NULL, 0, NULL},
    {"notbool", run_ifbool, NULL, 1, NULL},
    {"ifstrequal", run_ifstring, NULL, 1, NULL},
    {"ifdefstring", run_ifdefstring, NULL, 1, NULL},
    {"ifdefstrequal", run_ifdefstring, NULL, 1, NULL},
    {"ifstrempty", run_ifstring, NULL, 0, NULL},
    {"ifblank", run_ifstring, NULL, 0, NULL},
    {"ifdefempty", run_ifdefstring, NULL, 0, NULL},
    {"ifdef", run_ifdef, NULL, 0, NULL},
    {"ifundef", run_ifdef, NULL, 1, NULL},
    {"ifnumcomp", run_compare, NULL, 0, "?"},
    {"ifnumequal", run_compare, NULL, 0, "="},
    {"ifnumgreater", run_compare, NULL, 0, ">"},
    {"ifnumless", run_compare, NULL, 0, "<"},
    {"ifnumodd", run_ifnumodd, NULL, 0, NULL},
    {"ifdimcomp", run_compare, NULL, 1, "?"},
    {"ifdimequal", run_compare, NULL, 1, "="},
    {"ifdimgreater", run_compare, NULL, 1, ">"},
    {"ifdimless", run_compare, NULL, 1, "<"},
    {"docsvlist", run_csvlist, NULL, 0, "do"},
    {"forcsvlist", run_csvlist, NULL, 0, NULL},
};

void etoolbox_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    /* Expanding, so that each use counts as a macro's step. */
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, false);
}
