/* Entries of glossaries and acronyms (glossaries, acronym): each use prints what the
 * entry has. */
#include "indexer/parse/latex/latex_internal.h"

/* What an entry has, by the keys of \newglossaryentry. */
static const char *const fields[] = {"name",  "text",        "plural",
                                     "first", "description", "symbol",
                                     "short", "long",        "longplural"};

enum { FIELDS = sizeof fields / sizeof *fields };

/* What a use prints. */
enum use {
    USE_TEXT,
    USE_PLURAL,
    USE_NAME,
    USE_FIRST,
    USE_DESCRIPTION,
    USE_SYMBOL,
    USE_SHORT,
    USE_LONG,
    USE_LONG_PLURAL,
    USES
};

/* Its fields, the first that the entry has. */
static const char *const used[USES][3] = {
    [USE_TEXT] = {"text", "name", "short"},
    [USE_PLURAL] = {"plural"},
    [USE_NAME] = {"name", "short"},
    [USE_FIRST] = {"first", "text", "name"},
    [USE_DESCRIPTION] = {"description", "long"},
    [USE_SYMBOL] = {"symbol"},
    [USE_SHORT] = {"short", "text", "name"},
    [USE_LONG] = {"long", "description"},
    [USE_LONG_PLURAL] = {"longplural"},
};

/* An entry's field is a macro that no document can name. */
static uint32_t symbol_of(struct tex *tex, const struct buf *label,
                          const char *field)
{
    struct buf name = {0};
    buf_printf(&name, "glossary %s %s", label->size ? label->data : "", field);
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol;
}

static void keep(struct tex *tex, const struct buf *label, const char *field,
                 const struct tokens *list)
{
    struct macro macro = {0};
    bool global = tex->global;
    tokens_add_all(&macro.body, list->items, list->count);
    tex->global = true;
    define_macro(tex, symbol_of(tex, label, field), macro);
    tex->global = global;
    tokens_free(&macro.body);
}

/* ---- Keys ---- */

static bool is_sign(struct token token, char sign)
{
    return token.cat == CAT_OTHER && token.value == (unsigned char)sign;
}

/* Where the key or value ends that begins at `at`, outside of braces. */
static size_t end_at(const struct tokens *list, size_t at, const char *signs)
{
    size_t depth = 0;
    for (; at < list->count; at++) {
        struct token token = list->items[at];
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
        for (const char *sign = signs; *sign && !depth; sign++)
            if (is_sign(token, *sign))
                return at;
    }
    return at;
}

static bool is_key(const struct tokens *list, size_t from, size_t to,
                   const char *key)
{
    while (from < to && list->items[from].cat == CAT_SPACE)
        from++;
    while (to > from && list->items[to - 1].cat == CAT_SPACE)
        to--;
    if (to - from != strlen(key))
        return false;
    for (; from < to; from++, key++)
        if (list->items[from].value != (unsigned char)*key)
            return false;
    return true;
}

static void keep_value(struct tex *tex, const struct buf *label,
                       const char *field, const struct tokens *list,
                       size_t from, size_t to)
{
    struct tokens value = {0};
    while (from < to && list->items[from].cat == CAT_SPACE)
        from++;
    while (to > from && list->items[to - 1].cat == CAT_SPACE)
        to--;
    tokens_add_all(&value, list->items + from, to - from);
    tex_strip_braces(&value, 0);
    if (value.count)
        keep(tex, label, field, &value);
    tokens_free(&value);
}

/* name=x, description={y}, ... */
static void keep_keys(struct tex *tex, const struct buf *label,
                      const struct tokens *list)
{
    for (size_t at = 0; at < list->count;) {
        size_t sign = end_at(list, at, "=,"), end = end_at(list, sign, ",");
        for (size_t i = 0; i < FIELDS && sign < end; i++)
            if (is_key(list, at, sign, fields[i]))
                keep_value(tex, label, fields[i], list, sign + 1, end);
        at = end + 1;
    }
}

/* ---- Entries ---- */

/* \newglossaryentry{label}{keys}; with a value the description follows. */
static void run_entry(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct buf label = {0};
    struct tokens keys = {0}, description = {0};
    (void)call;
    tex_read_text(tex, &label);
    tex_read_argument(tex, &keys);
    keep_keys(tex, &label, &keys);
    if (command->value) {
        tex_read_argument(tex, &description);
        keep(tex, &label, "description", &description);
    }
    tokens_free(&description);
    tokens_free(&keys);
    buf_free(&label);
}

/* \newacronym[keys]{label}{short}{long} */
static void run_acronym(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf label = {0};
    struct tokens keys = {0}, name = {0}, whole = {0};
    (void)command;
    (void)call;
    tex_read_optional(tex, &keys);
    tex_read_text(tex, &label);
    tex_read_argument(tex, &name);
    tex_read_argument(tex, &whole);
    keep(tex, &label, "short", &name);
    keep(tex, &label, "long", &whole);
    keep_keys(tex, &label, &keys);
    tokens_free(&whole);
    tokens_free(&name);
    tokens_free(&keys);
    buf_free(&label);
}

/* ---- The package acronym's ---- */

/* {label}[short]{long}: without a short form the label is it. */
static void read_acronym(struct tex *tex, struct tokens *ret_name,
                         struct tokens *ret_whole)
{
    struct tokens label = {0};
    struct buf text = {0};
    tex_read_argument(tex, &label);
    tex_expand_text(tex, &label, &text);
    tex_read_optional(tex, ret_name);
    tex_read_argument(tex, ret_whole);
    if (!ret_name->count)
        tokens_add_all(ret_name, label.items, label.count);
    keep(tex, &text, "short", ret_name);
    keep(tex, &text, "long", ret_whole);
    buf_free(&text);
    tokens_free(&label);
}

/* \acrodef, \newacro */
static void run_declare(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens name = {0}, whole = {0};
    (void)command;
    (void)call;
    read_acronym(tex, &name, &whole);
    tokens_free(&whole);
    tokens_free(&name);
}

/* Is what is being read in the package's list? */
static bool is_listed(const struct document *d)
{
    bool found = false;
    for (size_t i = 0; i < d->group_count && !found; i++)
        found = d->groups[i].environment &&
                !strcmp(d->groups[i].environment->name, "acronym");
    return found;
}

/* \acro is an item of the list, too; elsewhere it is another package's, small capitals.
 */
static void run_item(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens name = {0}, whole = {0}, item = {0};
    struct token bracket = call;
    (void)command;
    if (!is_listed(document_of(tex)))
        return;
    read_acronym(tex, &name, &whole);
    tex_add_name(tex, "item", call, &item);
    bracket.cat = CAT_OTHER;
    bracket.value = '[';
    tokens_add(&item, bracket);
    tokens_add_group(&item, &name, call);
    bracket.value = ']';
    tokens_add(&item, bracket);
    tokens_add_group(&item, &whole, call);
    tex_push(tex, item);
    tokens_free(&whole);
    tokens_free(&name);
}

/* \acroextra{x}: shown in the list only. */
static void run_extra(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)call;
    if (!is_listed(document_of(tex)))
        tex_skip_before(tex, command->text);
}

/* acronym's \acrodefplural{label}[short]{long}. */
static void run_acronym_plural(struct tex *tex, const struct command *command,
                               struct token call)
{
    struct buf label = {0};
    struct tokens name = {0}, whole = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &label);
    tex_read_optional(tex, &name);
    tex_read_argument(tex, &whole);
    if (name.count)
        keep(tex, &label, "plural", &name);
    keep(tex, &label, "longplural", &whole);
    tokens_free(&whole);
    tokens_free(&name);
    buf_free(&label);
}

/* ---- Uses ---- */

/* The macro of the first of the fields that the entry has; 0: it has none. */
static uint32_t find_field(struct tex *tex, const struct buf *label,
                           enum use use)
{
    for (size_t i = 0; i < 3 && used[use][i]; i++) {
        uint32_t symbol = symbol_of(tex, label, used[use][i]);
        if (tex->symbols[symbol].meaning.kind == MEANING_MACRO)
            return symbol;
    }
    return 0;
}

/* What the macro has, with its first letter a capital. */
static void add_capitalized(struct tex *tex, uint32_t symbol, struct token call,
                            struct tokens *ret)
{
    const struct tokens *body = &tex->symbols[symbol].meaning.macro->body;
    tex->steps += body->count;
    for (size_t i = 0; i < body->count; i++) {
        struct token token = call;
        token.cat = body->items[i].cat;
        token.value = body->items[i].value;
        tokens_add(ret, token);
    }
    uint32_t *first = ret->count ? &ret->items[0].value : NULL;
    if (first && ret->items[0].cat == CAT_LETTER)
        *first -= *first >= 'a' && *first <= 'z' ? 'a' - 'A' : 0;
}

/* \gls[options]{label} and kin. */
static void run_use(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct buf label = {0};
    struct tokens list = {0};
    tex_skip_before(tex, "so");
    tex_read_text(tex, &label);
    uint32_t symbol = find_field(tex, &label, (enum use)command->value);
    bool is_long = command->value == USE_LONG_PLURAL;
    bool regular = !symbol && (command->value == USE_PLURAL || is_long);
    if (regular)
        symbol = find_field(tex, &label, is_long ? USE_LONG : USE_TEXT);
    call.flags |= TOKEN_MADE;
    if (symbol && command->text)
        add_capitalized(tex, symbol, call, &list);
    call.cat = CAT_NAME;
    call.value = symbol;
    if (symbol && !command->text)
        tokens_add(&list, call);
    call.cat = CAT_LETTER;
    call.value = 's';
    if (symbol && regular)
        tokens_add(&list, call);
    if (symbol)
        tex_push(tex, list);
    else
        tex_push_text(tex, buf_slice(&label), call);
    buf_free(&label);
}

/* \acf{label}: the long form, if there is one, and the short one; \acfp: of more than
 * one. */
static void run_full(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct buf label = {0}, source = {0};
    const char *form = command->value ? "p" : "";
    tex_skip_before(tex, "so");
    tex_read_text(tex, &label);
    if (label.size && find_field(tex, &label, USE_LONG))
        buf_printf(&source, "\\acl%s{%s} (\\acs%s{%s})", form, label.data, form,
                   label.data);
    else if (label.size)
        buf_printf(&source, "\\acs{%s}", label.data);
    tex_push_source(tex, buf_slice(&source), call);
    buf_free(&label);
    buf_free(&source);
}

static const char capital[] = "capital";

static const struct command commands[] = {
    {"newglossaryentry", run_entry, NULL, 0, NULL},
    {"provideglossaryentry", run_entry, NULL, 0, NULL},
    {"longnewglossaryentry", run_entry, NULL, 1, NULL},
    {"DeclareAcronym", run_entry, NULL, 0, NULL}, /* acro's */
    {"newacronym", run_acronym, NULL, 0, NULL},
    {"newabbreviation", run_acronym, NULL, 0, NULL},
    {"acrodef", run_declare, NULL, 0, NULL},
    {"newacro", run_declare, NULL, 0, NULL},
    {"acro", run_item, NULL, 0, NULL},
    {"acroextra", run_extra, NULL, 0, "m"},
    {"acrodefplural", run_acronym_plural, NULL, 0, NULL},
    {"newacroplural", run_acronym_plural, NULL, 0, NULL},
    {"acroplural", run_acronym_plural, NULL, 0, NULL},
    {"gls", run_use, NULL, USE_TEXT, NULL},
    {"Gls", run_use, NULL, USE_TEXT, capital},
    {"glspl", run_use, NULL, USE_PLURAL, NULL},
    {"Glspl", run_use, NULL, USE_PLURAL, capital},
    {"glstext", run_use, NULL, USE_TEXT, NULL},
    {"glsentrytext", run_use, NULL, USE_TEXT, NULL},
    {"Glsentrytext", run_use, NULL, USE_TEXT, capital},
    {"glsentryplural", run_use, NULL, USE_PLURAL, NULL},
    {"glsname", run_use, NULL, USE_NAME, NULL},
    {"glsentryname", run_use, NULL, USE_NAME, NULL},
    {"Glsentryname", run_use, NULL, USE_NAME, capital},
    {"glsfirst", run_use, NULL, USE_FIRST, NULL},
    {"glsdesc", run_use, NULL, USE_DESCRIPTION, NULL},
    {"glsentrydesc", run_use, NULL, USE_DESCRIPTION, NULL},
    {"glssymbol", run_use, NULL, USE_SYMBOL, NULL},
    {"glsentrysymbol", run_use, NULL, USE_SYMBOL, NULL},
    {"acrshort", run_use, NULL, USE_SHORT, NULL},
    {"glsentryshort", run_use, NULL, USE_SHORT, NULL},
    {"acrlong", run_use, NULL, USE_LONG, NULL},
    {"glsentrylong", run_use, NULL, USE_LONG, NULL},
    {"ac", run_use, NULL, USE_SHORT, NULL},
    {"acp", run_use, NULL, USE_PLURAL, NULL},
    {"acf", run_full, NULL, 0, NULL},
    {"acfp", run_full, NULL, 1, NULL},
    {"acsp", run_use, NULL, USE_PLURAL, NULL},
    {"aclp", run_use, NULL, USE_LONG_PLURAL, NULL},
    {"acs", run_use, NULL, USE_SHORT, NULL},
    {"acl", run_use, NULL, USE_LONG, NULL},
};

void glossary_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
