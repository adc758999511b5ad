/* Boxes of tcolorbox and mdframed: notes, whose titles are options. */
#include "indexer/parse/latex/latex_internal.h"

enum { MDFRAMED = 1 };

static void begin_box(struct document *d, const struct environment *environment,
                      struct token call)
{
    struct tex *tex = &d->tex;
    struct tokens options = {0}, title = {0};
    tex_read_optional(tex, &options);
    blocks_begin_note(d, environment, call);
    if (keys_value(tex, &options, environment->value ? "frametitle" : "title",
                   &title)) {
        tex_push_text(tex, slice_of(". "), call);
        tex_push(tex, title);
    } else {
        tokens_free(&title);
    }
    tokens_free(&options);
}

/* ---- Those that a document declares ---- */

static void add_sign(char sign, struct token call, struct tokens *ret)
{
    call.cat = CAT_OTHER;
    call.value = (unsigned char)sign;
    tokens_add(ret, call);
}

static void add_bracketed(struct tex *tex, struct token call,
                          struct tokens *ret)
{
    struct tokens list = {0};
    if (tex_read_optional(tex, &list)) {
        add_sign('[', call, ret);
        tokens_add_all(ret, list.items, list.count);
        add_sign(']', call, ret);
    }
    tokens_free(&list);
}

static void add_argument(struct tex *tex, struct token call, struct tokens *ret)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    tokens_add_group(ret, &list, call);
    tokens_free(&list);
}

/* {\begin{tcolorbox}} or {\end{tcolorbox}}; NULL: no options. */
static void add_body(struct tex *tex, const char *name,
                     const struct tokens *options, struct token call,
                     struct tokens *ret)
{
    struct tokens body = {0}, box = {0};
    for (const char *at = "tcolorbox"; *at; at++)
        add_sign(*at, call, &box);
    tex_add_name(tex, name, call, &body);
    tokens_add_group(&body, &box, call);
    if (options) {
        add_sign('[', call, &body);
        tokens_add_all(&body, options->items, options->count);
        add_sign(']', call, &body);
    }
    tokens_add_group(ret, &body, call);
    tokens_free(&box);
    tokens_free(&body);
}

/* \newtcolorbox[init]{name}[n][default]{options}, \NewTColorBox[init]{name}{arguments}
 * {options}: an environment with a box in it. */
static void run_newbox(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens run = {0}, options = {0};
    tex_skip_before(tex, "o");
    tex_add_name(tex, command->text, call, &run);
    add_argument(tex, call, &run);
    if (command->value) {
        add_argument(tex, call, &run);
    } else {
        add_bracketed(tex, call, &run);
        add_bracketed(tex, call, &run);
    }
    tex_read_argument(tex, &options);
    add_body(tex, "begin", &options, call, &run);
    add_body(tex, "end", NULL, call, &run);
    tex_push(tex, run);
    tokens_free(&options);
}

/* The value of a key that either list may have. */
static bool setting_of(struct tex *tex, const struct tokens *first,
                       const struct tokens *second, const char *key,
                       struct buf *ret)
{
    struct tokens value = {0};
    bool found = keys_value(tex, first, key, &value) ||
                 keys_value(tex, second, key, &value);
    if (found)
        tex_expand_text(tex, &value, ret);
    tokens_free(&value);
    return found;
}

static void put_bracketed(struct buf *out, const char *before,
                          const struct buf *text)
{
    if (text->size)
        buf_printf(out, "[%s%s]", before, text->data);
}

/* \newtcbtheorem[init]{name}{Title}{options}{prefix}: \begin{name}{title}{label} is a
 * theorem that \ref{prefix:label} leads to, \begin{name*}{title} one without number. */
static void run_newtheorem(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct tokens init = {0}, options = {0};
    struct buf name = {0}, title = {0}, prefix = {0}, within = {0};
    struct buf counter = {0}, source = {0};
    const char *shared = "";
    (void)command;
    tex_read_optional(tex, &init);
    tex_read_text(tex, &name);
    tex_read_text(tex, &title);
    tex_read_argument(tex, &options);
    tex_read_text(tex, &prefix);
    setting_of(tex, &init, &options, "number within", &within);
    if (setting_of(tex, &init, &options, "use counter from", &counter))
        shared = "tcb@";
    else
        setting_of(tex, &init, &options, "use counter", &counter);
    if (name.size) {
        buf_printf(&source, "\\newtheorem{tcb@%s}", name.data);
        put_bracketed(&source, shared, &counter);
        buf_printf(&source, "{%s}", title.size ? title.data : "");
        put_bracketed(&source, "", &within);
        buf_printf(
            &source,
            "\\newtheorem*{tcb@%s*}{%s}\\NewDocumentEnvironment{%s}{omm}{"
            "\\begin{tcb@%s}[{#2}]\\label{%s:#3}}{\\end{tcb@%s}}"
            "\\NewDocumentEnvironment{%s*}{om}{\\begin{tcb@%s*}[{#2}]}"
            "{\\end{tcb@%s*}}",
            name.data, title.size ? title.data : "", name.data, name.data,
            prefix.size ? prefix.data : "", name.data, name.data, name.data,
            name.data);
        tex_push_source(tex, buf_slice(&source), call);
    }
    tokens_free(&init);
    tokens_free(&options);
    buf_free(&name);
    buf_free(&title);
    buf_free(&prefix);
    buf_free(&within);
    buf_free(&counter);
    buf_free(&source);
}

enum { XPARSE = 1 };

static const struct command commands[] = {
    {"newtcolorbox", run_newbox, NULL, 0, "newenvironment"},
    {"renewtcolorbox", run_newbox, NULL, 0, "renewenvironment"},
    {"NewTColorBox", run_newbox, NULL, XPARSE, "NewDocumentEnvironment"},
    {"RenewTColorBox", run_newbox, NULL, XPARSE, "NewDocumentEnvironment"},
    {"ProvideTColorBox", run_newbox, NULL, XPARSE, "NewDocumentEnvironment"},
    {"newtcbtheorem", run_newtheorem, NULL, 0, NULL},
    {"renewtcbtheorem", run_newtheorem, NULL, 0, NULL},
    {"NewTcbTheorem", run_newtheorem, NULL, 0, NULL},
    {"ProvideTcbTheorem", run_newtheorem, NULL, 0, NULL},
    {"DeclareTcbTheorem", run_newtheorem, NULL, 0, NULL},
    {"DeclareTColorBox", run_newbox, NULL, XPARSE, "NewDocumentEnvironment"},
};

static const struct environment environments[] = {
    {"tcolorbox", begin_box, blocks_end_kind, NULL, 0, "note", 0},
    {"mdframed", begin_box, blocks_end_kind, NULL, MDFRAMED, "note", 0},
};

void tcolorbox_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
