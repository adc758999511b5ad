/* Boxes of tcolorbox and mdframed: notes, whose titles are options. */
#include "indexer/parse/latex/latex_internal.h"

enum { MDFRAMED = 1 };

/* [title={..},label=..]: both stand before what is in it. */
static void begin_box(struct document *d, const struct environment *environment,
                      struct token call)
{
    struct tex *tex = &d->tex;
    struct tokens options = {0}, title = {0}, label = {0}, run = {0};
    struct tokens before = {0};
    tex_read_optional(tex, &options);
    blocks_begin_note(d, environment, call);
    if (keys_value(tex, &options, "label", &label)) {
        tex_strip_braces(&label, 0);
        tex_add_name(tex, "label", call, &run);
        tokens_add_group(&run, &label, call);
    }
    if (keys_value(tex, &options, environment->value ? "frametitle" : "title",
                   &title)) {
        tokens_add_all(&run, title.items, title.count);
        tex_add_source(tex, slice_of(". "), call, &run);
    }
    if (keys_value(tex, &options, "before upper", &before)) {
        tex_strip_braces(&before, 0);
        tokens_add_all(&run, before.items, before.count);
    }
    tex_push(tex, run);
    tokens_free(&before);
    tokens_free(&title);
    tokens_free(&label);
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

static void add_group(const char *text, struct token call, struct tokens *ret)
{
    struct tokens list = {0};
    for (; *text; text++)
        add_sign(*text, call, &list);
    tokens_add_group(ret, &list, call);
    tokens_free(&list);
}

static bool has_key(struct tex *tex, const struct tokens *list, const char *key)
{
    bool found = false;
    struct keys_setting one;
    for (size_t from = 0; !found && keys_next(list, &from, &one);) {
        struct buf name = {0};
        tex_expand_text(tex, &one.key, &name);
        found = slice_is(buf_slice(&name), key);
        buf_free(&name);
        keys_setting_free(&one);
    }
    return found;
}

static bool option_text(struct tex *tex, const struct tokens *list,
                        const char *key, struct buf *ret)
{
    struct tokens value = {0};
    bool found = keys_value(tex, list, key, &value);
    if (found)
        tex_expand_text(tex, &value, ret);
    tokens_free(&value);
    return found;
}

/* How boxes are counted: [auto counter, number within=section], [use counter=x]. */
static void put_counter(struct tex *tex, const struct tokens *init,
                        struct slice name, struct buf *declare,
                        struct buf *step)
{
    struct buf counter = {0}, within = {0};
    if (!option_text(tex, init, "use counter", &counter)) {
        if (option_text(tex, init, "use counter from", &counter))
            name = buf_slice(&counter);
        else if (has_key(tex, init, "auto counter") && name.size)
            option_text(tex, init, "number within", &within);
        else
            return;
        struct buf own = {0};
        buf_printf(&own, "tcb@cnt@%.*s", (int)name.size, name.data);
        if (!counter.size)
            buf_printf(declare, "\\newcounter{%s}", own.data);
        if (within.size)
            buf_printf(declare,
                       "[%s]\\expandafter\\def\\csname the%s\\endcsname{"
                       "\\csname the%s\\endcsname.\\arabic{%s}}",
                       within.data, own.data, within.data, own.data);
        buf_free(&counter);
        counter = own;
    }
    buf_printf(step,
               "\\refstepcounter{%s}\\expandafter\\let\\expandafter"
               "\\thetcbcounter\\csname the%s\\endcsname ",
               counter.data, counter.data);
    buf_free(&counter);
    buf_free(&within);
}

/* What is declared, and what it is made of. */
struct kind {
    const char *define;        /* \newcommand or the like */
    bool xparse;               /* {specification}, not [n][default] */
    const char *begins, *ends; /* of an environment; or a command, NULL */
    bool in_braces;            /* that command's options */
};

static const struct kind kinds[] = {
    {"newenvironment", false, "tcolorbox", "tcolorbox", false},
    {"renewenvironment", false, "tcolorbox", "tcolorbox", false},
    {"NewDocumentEnvironment", true, "tcolorbox", "tcolorbox", false},
    {"newcommand", false, "tcbinputlisting", NULL, true},
    {"NewDocumentCommand", true, "tcbinputlisting", NULL, true},
    {"newcommand", false, "tcbox", NULL, false},
    {"NewDocumentCommand", true, "tcbox", NULL, false},
};

/* {step \begin{tcolorbox}[options]}, or {step \tcbox[options]} */
static void add_start(struct tex *tex, const struct kind *kind,
                      struct slice step, struct token call, struct tokens *ret)
{
    struct tokens body = {0}, options = {0};
    tex_read_argument(tex, &options);
    tex_add_source(tex, step, call, &body);
    if (kind->ends) {
        tex_add_name(tex, "begin", call, &body);
        add_group(kind->begins, call, &body);
    } else {
        tex_add_name(tex, kind->begins, call, &body);
    }
    if (kind->in_braces) {
        tokens_add_group(&body, &options, call);
    } else {
        add_sign('[', call, &body);
        tokens_add_all(&body, options.items, options.count);
        add_sign(']', call, &body);
    }
    tokens_add_group(ret, &body, call);
    tokens_free(&options);
    tokens_free(&body);
}

/* \newtcolorbox[init]{name}[n][default]{options}, \NewTColorBox[init]{name}{arguments}
 * {options}: an environment with a box in it; \newtcbox, \newtcbinputlisting and kin: a
 * command that makes one. */
static void run_newbox(struct tex *tex, const struct command *command,
                       struct token call)
{
    const struct kind *kind = &kinds[command->value];
    struct tokens run = {0}, init = {0}, name = {0}, body = {0};
    struct buf text = {0}, declare = {0}, step = {0};
    tex_read_optional(tex, &init);
    tex_read_argument(tex, &name);
    tex_write_tokens(tex, &name, &text);
    struct slice written = buf_slice(&text);
    size_t sign = slice_starts(written, slice_of("\\"));
    put_counter(tex, &init,
                (struct slice){written.data + sign, written.size - sign},
                &declare, &step);
    tex_add_source(tex, buf_slice(&declare), call, &run);
    tex_add_name(tex, kind->define, call, &run);
    tokens_add_group(&run, &name, call);
    if (kind->xparse) {
        add_argument(tex, call, &run);
    } else {
        add_bracketed(tex, call, &run);
        add_bracketed(tex, call, &run);
    }
    add_start(tex, kind, buf_slice(&step), call, &run);
    if (kind->ends) {
        tex_add_name(tex, "end", call, &body);
        add_group(kind->ends, call, &body);
        tokens_add_group(&run, &body, call);
    }
    tex_push(tex, run);
    tokens_free(&init);
    tokens_free(&name);
    tokens_free(&body);
    buf_free(&text);
    buf_free(&declare);
    buf_free(&step);
}

/* \tcbox[options]{text}, whose options may say what is set before the text: it is put
 * behind the brace, and the text, which may be code, is not read here. */
static void run_tcbox(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens options = {0}, before = {0}, run = {0};
    (void)command;
    (void)call;
    tex_skip_before(tex, "s");
    tex_read_optional(tex, &options);
    struct token open = tex_next_solid(tex);
    bool is_group = open.cat == CAT_BEGIN;
    if (is_group && keys_value(tex, &options, "before upper", &before)) {
        tex_strip_braces(&before, 0);
        tokens_add(&run, open);
        tokens_add_all(&run, before.items, before.count);
        tex_push(tex, run);
    } else {
        tex_unread(tex, open);
    }
    tokens_free(&options);
    tokens_free(&before);
}

/* The value of a key that either list may have. */
static bool setting_of(struct tex *tex, const struct tokens *first,
                       const struct tokens *second, const char *key,
                       struct buf *ret)
{
    return option_text(tex, first, key, ret) ||
           option_text(tex, second, key, ret);
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

enum {
    NEW_BOX,
    RENEW_BOX,
    XPARSE_BOX,
    NEW_INPUT,
    XPARSE_INPUT,
    NEW_INLINE,
    XPARSE_INLINE
};

static const struct command commands[] = {
    {"newtcolorbox", run_newbox, NULL, NEW_BOX, NULL},
    {"renewtcolorbox", run_newbox, NULL, RENEW_BOX, NULL},
    {"NewTColorBox", run_newbox, NULL, XPARSE_BOX, NULL},
    {"RenewTColorBox", run_newbox, NULL, XPARSE_BOX, NULL},
    {"ProvideTColorBox", run_newbox, NULL, XPARSE_BOX, NULL},
    {"DeclareTColorBox", run_newbox, NULL, XPARSE_BOX, NULL},
    {"newtcbinputlisting", run_newbox, NULL, NEW_INPUT, NULL},
    {"NewTCBInputListing", run_newbox, NULL, XPARSE_INPUT, NULL},
    {"DeclareTCBInputListing", run_newbox, NULL, XPARSE_INPUT, NULL},
    {"newtcbox", run_newbox, NULL, NEW_INLINE, NULL},
    {"NewTCBox", run_newbox, NULL, XPARSE_INLINE, NULL},
    {"DeclareTCBox", run_newbox, NULL, XPARSE_INLINE, NULL},
    {"tcbox", run_tcbox, NULL, 0, NULL},
    {"newtcbtheorem", run_newtheorem, NULL, 0, NULL},
    {"renewtcbtheorem", run_newtheorem, NULL, 0, NULL},
    {"NewTcbTheorem", run_newtheorem, NULL, 0, NULL},
    {"ProvideTcbTheorem", run_newtheorem, NULL, 0, NULL},
    {"DeclareTcbTheorem", run_newtheorem, NULL, 0, NULL},
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
