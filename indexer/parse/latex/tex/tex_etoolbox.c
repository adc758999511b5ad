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

/* Between the items of a list that is a macro. */
enum { SEPARATOR = 0x1f };

/* `handler` and, in braces, each item of the list between separators. */
static void put_items(const struct tokens *handler, const struct tokens *list,
                      unsigned separator, struct token call, struct tokens *ret)
{
    enum { MAX_MADE = 100000 };
    for (size_t at = 0, end; at < list->count && ret->count < MAX_MADE;
         at = end + 1) {
        size_t depth = 0;
        for (end = at; end < list->count; end++) {
            depth += list->items[end].cat == CAT_BEGIN;
            depth -= list->items[end].cat == CAT_END && depth;
            if (!depth && token_is(list->items[end], CAT_OTHER, separator))
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

/* A loop's own, or \do. */
static void read_handler(struct tex *tex, const struct command *command,
                         struct token call, struct tokens *ret)
{
    if (command->text) {
        struct token name = call;
        name.value = tex_symbol_of(tex, command->text);
        tokens_add(ret, name);
    } else {
        tex_read_argument(tex, ret);
    }
}

static void push_items(struct tex *tex, const struct tokens *handler,
                       const struct tokens *list, unsigned separator,
                       struct token call)
{
    struct tokens made = {0};
    put_items(handler, list, separator, call, &made);
    tex->steps += made.count;
    tex_push(tex, made);
}

/* \forcsvlist{handler}{a,b}; \docsvlist{a,b}: the handler is \do. */
static void run_csvlist(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens handler = {0}, list = {0};
    read_handler(tex, command, call, &handler);
    tex_read_argument(tex, &list);
    push_items(tex, &handler, &list, ',', call);
    tokens_free(&handler);
    tokens_free(&list);
}

enum { LIST_BY_NAME = 1, LIST_GLOBAL = 2, LIST_EXPANDED = 4 };

/* \name, {\name}; LIST_BY_NAME: {name} */
static bool read_list(struct tex *tex, const struct command *command,
                      struct token *ret)
{
    if (!(command->value & LIST_BY_NAME))
        return tex_read_name(tex, ret);
    struct buf name = {0};
    tex_read_text(tex, &name);
    *ret = (struct token){.cat = CAT_NAME,
                          .value = tex_symbol(tex, buf_slice(&name))};
    buf_free(&name);
    return true;
}

/* \listadd\list{item}, \listcsadd{list}{item} */
static void run_listadd(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token name;
    struct tokens item = {0};
    (void)call;
    bool named = read_list(tex, command, &name);
    struct token begin = tex_next_solid(tex);
    if (command->value & LIST_EXPANDED && begin.cat == CAT_BEGIN) {
        tex_read_expanded(tex, &item);
    } else {
        tex_unread(tex, begin);
        tex_read_argument(tex, &item);
    }
    if (named && item.count) {
        tokens_add(&item, (struct token){.cat = CAT_OTHER, .value = SEPARATOR});
        tex->global = (command->value & LIST_GLOBAL) != 0;
        define_append(tex, name.value, &item);
    }
    tokens_free(&item);
}

/* \forlistloop{handler}\list; \dolistloop\list: the handler is \do. */
static void run_listloop(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct token name;
    struct tokens handler = {0};
    read_handler(tex, command, call, &handler);
    if (read_list(tex, command, &name)) {
        struct meaning meaning = tex->symbols[name.value].meaning;
        if (meaning.kind == MEANING_MACRO)
            push_items(tex, &handler, &meaning.macro->body, SEPARATOR, call);
    }
    tokens_free(&handler);
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
    {"listadd", run_listadd, NULL, 0, NULL},
    {"listeadd", run_listadd, NULL, LIST_EXPANDED, NULL},
    {"listgadd", run_listadd, NULL, LIST_GLOBAL, NULL},
    {"listxadd", run_listadd, NULL, LIST_GLOBAL | LIST_EXPANDED, NULL},
    {"listcsadd", run_listadd, NULL, LIST_BY_NAME, NULL},
    {"listcseadd", run_listadd, NULL, LIST_BY_NAME | LIST_EXPANDED, NULL},
    {"listcsgadd", run_listadd, NULL, LIST_BY_NAME | LIST_GLOBAL, NULL},
    {"listcsxadd", run_listadd, NULL,
     LIST_BY_NAME | LIST_GLOBAL | LIST_EXPANDED, NULL},
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
    {"dolistloop", run_listloop, NULL, 0, "do"},
    {"dolistcsloop", run_listloop, NULL, LIST_BY_NAME, "do"},
    {"forlistloop", run_listloop, NULL, 0, NULL},
    {"forlistcsloop", run_listloop, NULL, LIST_BY_NAME, NULL},
};

void etoolbox_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    /* Expanding, so that each use counts as a macro's step. */
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, false);
}
