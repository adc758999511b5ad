/* Options of classes and packages that lie beside the document: what LaTeX
 * (clsguide, "Commands for class and package writers") and kvoptions let them do.
 *
 * The code of option X of the file that is read is the macro "ds@FILE@X". */
#include "indexer/parse/latex/latex_internal.h"

static struct package_mark *current(struct document *d)
{
    return d->packages ? &d->marks[d->packages - 1] : NULL;
}

/* ---- What is given ---- */

static uint32_t passed_symbol(struct tex *tex, struct slice file)
{
    struct buf name = {0};
    buf_put_text(&name, "opt@");
    buf_put_slice(&name, file);
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol;
}

static void add_options(struct tokens *list, const struct tokens *more)
{
    struct token comma = {.cat = CAT_OTHER, .value = ',', .file = UINT16_MAX};
    if (list->count && more->count)
        tokens_add(list, comma);
    tokens_add_all(list, more->items, more->count);
}

static void add_passed(struct tex *tex, uint32_t symbol, struct tokens *list)
{
    struct meaning meaning = tex->symbols[symbol].meaning;
    if (meaning.kind == MEANING_MACRO)
        add_options(list, &meaning.macro->body);
}

struct tokens options_given(struct document *d, struct slice file,
                            const struct tokens *options)
{
    struct tex *tex = &d->tex;
    struct tokens list = {0};
    add_passed(tex, passed_symbol(tex, file), &list);
    if (options)
        add_options(&list, options);
    struct tokens kept = define_keep(tex, &list);
    tokens_free(&list);
    return kept;
}

/* \PassOptionsToPackage{options}{name} */
static void run_pass(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens options = {0};
    struct macro macro = {0};
    struct buf file = {0};
    (void)call;
    tex_read_argument(tex, &options);
    tex_read_text(tex, &file);
    buf_put_text(&file, command->value ? ".cls" : ".sty");
    uint32_t symbol = passed_symbol(tex, buf_slice(&file));
    add_passed(tex, symbol, &macro.body);
    add_options(&macro.body, &options);
    tex->global = true;
    define_macro(tex, symbol, macro);
    tokens_free(&macro.body);
    tokens_free(&options);
    buf_free(&file);
}

/* ---- \DeclareOption, \ProcessOptions ---- */

static uint32_t option_symbol(struct document *d, struct slice option)
{
    struct buf name = {0};
    buf_printf(&name, "ds@%u@", (unsigned)current(d)->file);
    buf_put_slice(&name, option);
    uint32_t symbol = tex_symbol(&d->tex, buf_slice(&name));
    buf_free(&name);
    return symbol;
}

/* \DeclareOption{option}{code}, \DeclareOption*{code} */
static void run_declare(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct macro macro = {0};
    struct buf option = {0};
    (void)command;
    (void)call;
    if (tex_read_character(tex, '*'))
        buf_put_byte(&option, '*');
    else
        tex_read_text(tex, &option);
    tex_read_argument(tex, &macro.body);
    if (current(d)) {
        tex->global = true;
        define_macro(tex, option_symbol(d, buf_slice(&option)), macro);
    }
    tokens_free(&macro.body);
    buf_free(&option);
}

static void add_name(struct tokens *list, uint32_t symbol)
{
    struct token token = {.cat = CAT_NAME, .value = symbol, .file = UINT16_MAX};
    tokens_add(list, token);
}

/* \def\CurrentOption{option}, and what the option does. */
static void add_option(struct document *d, const struct tokens *option,
                       bool others, struct tokens *ret)
{
    struct tex *tex = &d->tex;
    struct buf text = {0};
    struct token here = {.cat = CAT_NONE, .file = UINT16_MAX};
    tex_expand_text(tex, option, &text);
    uint32_t symbol = option_symbol(d, buf_slice(&text));
    if (others && tex->symbols[symbol].meaning.kind != MEANING_MACRO)
        symbol = option_symbol(d, slice_of("*"));
    if (text.size && tex->symbols[symbol].meaning.kind == MEANING_MACRO) {
        add_name(ret, tex_symbol_of(tex, "def"));
        add_name(ret, tex_symbol_of(tex, "CurrentOption"));
        tokens_add_group(ret, option, here);
        add_name(ret, symbol);
    }
    buf_free(&text);
}

/* `others`: also what is not declared, by the code of "*". */
static void add_each(struct document *d, const struct tokens *options,
                     bool others, struct tokens *ret)
{
    for (size_t from = 0; from < options->count;) {
        size_t to = keys_find(options, from, ',');
        struct tokens one = keys_trim(options->items + from, to - from);
        add_option(d, &one, others, ret);
        tokens_free(&one);
        from = to + 1;
    }
}

/* The class's options are the packages' too, as far as they declare them. */
static void run_process(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    const struct package_mark *mark = current(d);
    struct tokens run = {0};
    (void)command;
    (void)call;
    tex_read_character(tex, '*');
    if (mark && !mark->is_class)
        add_each(d, &d->class_options, false, &run);
    if (mark)
        add_each(d, &mark->options, true, &run);
    tex_push(tex, run);
}

static void run_execute(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct tokens options = {0}, run = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &options);
    if (current(d))
        add_each(d, &options, false, &run);
    tex_push(tex, run);
    tokens_free(&options);
}

/* ---- kvoptions: options with values ---- */

/* The file's name without its ending. */
static struct slice base_name(struct document *d)
{
    struct slice path = d->tex.files[current(d)->file].path;
    const char *slash = memrchr(path.data, '/', path.size);
    size_t from = slash ? (size_t)(slash - path.data) + 1 : 0;
    struct slice base = {path.data + from, path.size - from};
    const char *dot = memrchr(base.data, '.', base.size);
    if (dot)
        base.size = (size_t)(dot - base.data);
    return base;
}

static struct slice family_of(struct document *d)
{
    struct slice family = current(d)->family;
    return family.size ? family : base_name(d);
}

/* The name of what the option sets. */
static void put_variable(struct document *d, struct slice key, struct buf *ret)
{
    struct slice prefix = current(d)->prefix;
    if (prefix.data) {
        buf_put_slice(ret, prefix);
    } else {
        buf_put_slice(ret, base_name(d));
        buf_put_byte(ret, '@');
    }
    buf_put_slice(ret, key);
}

/* \SetupKeyvalOptions{family=..,prefix=..} */
static void run_setup(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    struct tokens settings = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &settings);
    struct keys_setting one;
    for (size_t from = 0; current(d) && keys_next(&settings, &from, &one);) {
        if (one.has_value) {
            struct buf name = {0}, text = {0};
            tex_expand_text(tex, &one.key, &name);
            tex_expand_text(tex, &one.value, &text);
            struct slice kept = document_keep(d, buf_slice(&text));
            if (slice_is(buf_slice(&name), "family"))
                current(d)->family = kept;
            else if (slice_is(buf_slice(&name), "prefix"))
                current(d)->prefix = kept;
            buf_free(&name);
            buf_free(&text);
        }
        keys_setting_free(&one);
    }
    tokens_free(&settings);
}

/* \DeclareBoolOption[false]{key}: \ifPREFIXkey. */
static void declare_bool(struct document *d, struct slice key,
                         const struct tokens *initial)
{
    struct tex *tex = &d->tex;
    struct buf variable = {0}, flag = {0}, first = {0};
    struct tokens body = {0}, on = {0};
    struct token token = {.cat = CAT_OTHER, .file = UINT16_MAX};
    put_variable(d, key, &variable);
    buf_put_text(&flag, "if");
    buf_put_slice(&flag, buf_slice(&variable));
    define_flag(tex, buf_slice(&variable), tex_symbol(tex, buf_slice(&flag)));
    add_name(&body, tex_symbol_of(tex, "csname"));
    for (size_t i = 0; i < variable.size; i++) {
        token.value = (unsigned char)variable.data[i];
        tokens_add(&body, token);
    }
    tokens_add(&body, (struct token){
                          .cat = CAT_MATCH, .value = 1, .file = UINT16_MAX});
    add_name(&body, tex_symbol_of(tex, "endcsname"));
    for (const char *at = "true"; *at; at++) {
        token.value = (unsigned char)*at;
        tokens_add(&on, token);
    }
    keys_define(tex, family_of(d), key, &on, &body);
    tex_expand_text(tex, initial, &first);
    if (slice_is(buf_slice(&first), "true")) {
        struct tokens run = {0};
        buf_put_text(&variable, "true");
        add_name(&run, tex_symbol(tex, buf_slice(&variable)));
        tex_push(tex, run);
    }
    tokens_free(&body);
    tokens_free(&on);
    buf_free(&variable);
    buf_free(&flag);
    buf_free(&first);
}

/* \DeclareStringOption[initial]{key}[default]: \PREFIXkey. */
static void declare_string(struct document *d, struct slice key,
                           const struct tokens *initial)
{
    struct tex *tex = &d->tex;
    struct buf variable = {0};
    struct tokens body = {0}, value = {0}, given = {0};
    struct token here = {.cat = CAT_NONE, .file = UINT16_MAX};
    bool has_value = tex_read_optional(tex, &value);
    put_variable(d, key, &variable);
    uint32_t symbol = tex_symbol(tex, buf_slice(&variable));
    tex->global = true;
    define_macro(tex, symbol, (struct macro){.body = *initial});
    tokens_add(&given, (struct token){
                           .cat = CAT_MATCH, .value = 1, .file = UINT16_MAX});
    add_name(&body, tex_symbol_of(tex, "def"));
    add_name(&body, symbol);
    tokens_add_group(&body, &given, here);
    keys_define(tex, family_of(d), key, has_value ? &value : NULL, &body);
    tokens_free(&body);
    tokens_free(&value);
    tokens_free(&given);
    buf_free(&variable);
}

/* \DeclareVoidOption{key}{code} */
static void declare_void(struct document *d, struct slice key,
                         const struct tokens *initial)
{
    struct tokens body = {0}, none = {0};
    (void)initial;
    tex_read_argument(&d->tex, &body);
    keys_define(&d->tex, family_of(d), key, &none, &body);
    tokens_free(&body);
}

enum { OPTION_BOOL, OPTION_STRING, OPTION_VOID };

static void run_declare_key(struct tex *tex, const struct command *command,
                            struct token call)
{
    static void (*const declare[])(struct document *, struct slice,
                                   const struct tokens *) = {
        [OPTION_BOOL] = declare_bool,
        [OPTION_STRING] = declare_string,
        [OPTION_VOID] = declare_void};
    struct document *d = document_of(tex);
    struct tokens initial = {0};
    struct buf key = {0};
    (void)call;
    tex_read_optional(tex, &initial);
    tex_read_text(tex, &key);
    if (current(d))
        declare[command->value](d, buf_slice(&key), &initial);
    tokens_free(&initial);
    buf_free(&key);
}

/* \ProcessKeyvalOptions{family}, with a star: of this package; \FamilyProcessOptions. */
static void run_process_keys(struct tex *tex, const struct command *command,
                             struct token call)
{
    struct document *d = document_of(tex);
    struct buf family = {0};
    struct tokens all = {0};
    tex_skip_before(tex, command->before);
    if (!tex_read_character(tex, '*'))
        tex_read_text(tex, &family);
    else if (current(d))
        buf_put_slice(&family, family_of(d));
    if (current(d) && !current(d)->is_class)
        add_options(&all, &d->class_options);
    if (current(d))
        add_options(&all, &current(d)->options);
    keys_set(tex, buf_slice(&family), &all, call);
    tokens_free(&all);
    buf_free(&family);
}

static const struct command commands[] = {
    {"PassOptionsToPackage", run_pass, NULL, 0, NULL},
    {"PassOptionsToClass", run_pass, NULL, 1, NULL},
    {"DeclareOption", run_declare, NULL, 0, NULL},
    {"ProcessOptions", run_process, NULL, 0, NULL},
    {"ExecuteOptions", run_execute, NULL, 0, NULL},
    {"SetupKeyvalOptions", run_setup, NULL, 0, NULL},
    {"DeclareBoolOption", run_declare_key, NULL, OPTION_BOOL, NULL},
    {"DeclareStringOption", run_declare_key, NULL, OPTION_STRING, NULL},
    {"DeclareVoidOption", run_declare_key, NULL, OPTION_VOID, NULL},
    {"ProcessKeyvalOptions", run_process_keys, NULL, 0, NULL},
    {"FamilyProcessOptions", run_process_keys, "o", 0, NULL},
};

void options_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
