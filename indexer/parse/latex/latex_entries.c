/* Reference entries, as the macros of documentation have them: ltxdoc, l3doc,
 * and pgfmanual's environments. */
#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"

enum { MAX_BRACES = 32 };

/* How the macros that mark parts of a syntax print their argument. */
static const struct {
    const char *name, *open, *close;
} marks[] = {{"meta", "⟨", "⟩"},
             {"marg", "{⟨", "⟩}"},
             {"oarg", "[⟨", "⟩]"},
             {"Marg", "{", "}"},
             {"Oarg", "[", "]"},
             {"default", "", ""},
             {"option", "", ""},
             {"parg", "(⟨", "⟩)"},
             {"Arg", "{⟨", "⟩}"},
             {"arg", "⟨", "⟩"},
             {"prm", "⟨", "⟩"},
             {"opt", "", ""},
             {"colOpt", "", ""},
             {"texttt", "", ""},
             {"textsf", "", ""},
             {"textrm", "", ""},
             {"textit", "", ""},
             {"declare", "", ""},
             {"declareandlabel", "", ""},
             {"cs", "\\", ""},
             {"cmd", "", ""},
             {"emph", "", ""},
             {"text", "", ""}};

struct signature {
    struct buf text;
    const char *close[MAX_BRACES];
    size_t depth;
    const char *open, *next; /* of the argument that follows; NULL: braces */
};

static bool mark(struct signature *s, struct slice name)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (slice_is(name, marks[i].name)) {
            s->open = marks[i].open;
            s->next = marks[i].close;
            return true;
        }
    return false;
}

static void put_brace(struct signature *s, bool open)
{
    if (open) {
        if (s->depth < MAX_BRACES)
            s->close[s->depth] = s->next ? s->next : "}";
        s->depth++;
        buf_put_text(&s->text, s->next ? s->open : "{");
        s->next = NULL;
        return;
    }
    bool opened = s->depth > 0;
    s->depth -= opened;
    buf_put_text(&s->text,
                 opened && s->depth < MAX_BRACES ? s->close[s->depth] : "}");
}

/* Commands are what is described, so they stand as they are. */
static void write_signature(struct document *d, const struct tokens *list,
                            struct signature *s)
{
    const struct tex *tex = &d->tex;
    for (size_t i = 0; i < list->count; i++) {
        struct token token = list->items[i];
        if (token.cat == CAT_BEGIN || token.cat == CAT_END) {
            put_brace(s, token.cat == CAT_BEGIN);
            continue;
        }
        if (token.cat != CAT_NAME) {
            tex_write_token(tex, token, &s->text);
            continue;
        }
        struct slice name = tex->symbols[token.value].name;
        bool takes = i + 1 < list->count && list->items[i + 1].cat == CAT_BEGIN;
        if (takes && mark(s, name))
            continue;
        if (slice_is(name, "ttfamily") || slice_is(name, "rmfamily") ||
            slice_is(name, "space") || slice_is(name, "protect"))
            continue;
        if (slice_is(name, "ldots") || slice_is(name, "dots")) {
            buf_put_text(&s->text, "…");
            if (takes && i + 2 < list->count &&
                list->items[i + 2].cat == CAT_END)
                i += 2; /* {} */
            continue;
        }
        if (slice_is(name, "\\") || token.value == tex->par)
            buf_put_byte(&s->text, ' ');
        else if (name.size == 1 && strchr("&%#_${}", name.data[0]))
            buf_put_slice(&s->text, name);
        else
            tex_write_token(tex, token, &s->text);
        if (i + 1 < list->count && list->items[i + 1].cat == CAT_LETTER &&
            name.size > 1)
            buf_put_byte(&s->text, ' ');
    }
}

/* \foo, or {\foo}: a command alone is its name, whatever else it would print. */
static void write_name(struct document *d, const struct tokens *list,
                       struct signature *s)
{
    if (list->count == 1 && list->items[0].cat == CAT_NAME)
        tex_write_tokens(&d->tex, list, &s->text);
    else
        write_signature(d, list, s);
}

static void put_entry(struct document *d, struct slice text, struct token place,
                      bool heading)
{
    struct buf folded = {0};
    text_fold_space(&folded, text);
    struct span span = {place.from, place.to};
    struct slice title = buf_slice(&folded);
    size_t first = d->outline.ref_count;
    bool whole = true;
    d->outline.file = place.file;
    if (heading)
        whole = outline_heading(&d->outline, TREE_LEVEL_ENTRY, true, title,
                                (struct slice){"", 0}, span, first);
    else
        whole = outline_entry(&d->outline, title, (struct slice){"", 0}, span,
                              first);
    outline_settle(&d->outline);
    if (!whole)
        document_block(d, BLOCK_PARAGRAPH, title, (struct slice){"", 0}, place);
    buf_free(&folded);
}

static struct token place_of(const struct tokens *list, struct token call)
{
    struct token place = call;
    if (list->count) {
        struct token last = list->items[list->count - 1];
        if (last.file == place.file && last.to > place.to)
            place.to = last.to;
    }
    return place;
}

/* ---- pgfmanual ---- */

enum {
    NAMED,
    KEY,
    STYLE,
    LIBRARY, /* and those below: it is told how they are loaded */
    PGF_LIBRARY,
    PURE_LIBRARY,
    KEYS_LIBRARY,
    MODULE,
    /* tcolorbox's library "documentation" */
    DOC_COMMAND,
    DOC_ENVIRONMENT,
    DOC_KEY
};

static void insert(struct buf *text, const char *before, const char *what)
{
    struct buf whole = {0};
    const char *at = strstr(text->data, before);
    if (at) {
        buf_put(&whole, text->data, (size_t)(at - text->data));
        buf_put_text(&whole, what);
        buf_put_text(&whole, at);
        buf_clear(text);
        buf_put_slice(text, buf_slice(&whole));
    }
    buf_free(&whole);
}

/* What is printed of a key's value besides what is written. */
static void put_value(struct buf *text, bool style)
{
    if (!text->size)
        return;
    bool takes = strchr(text->data, '=') != NULL;
    bool initial = strstr(text->data, "(initially") != NULL;
    if (!strstr(text->data, "(default") && !initial)
        buf_put_text(text, takes ? " (no default)" : " (no value)");
    else if (takes && initial && !strstr(text->data, "(default"))
        insert(text, "initially", "no default, ");
    if (style) {
        insert(text, "no ", "style, ");
        if (!strstr(text->data, "style, "))
            insert(text, "default", "style, ");
    }
}

/* How it is loaded; *: its name. */
static const char *const loading[] = {
    [LIBRARY] = "\\usetikzlibrary{*} % LaTeX and plain TeX\n"
                "\\usetikzlibrary[*] % ConTeXt",
    [PGF_LIBRARY] =
        "\\usepgflibrary{*} % LaTeX and plain TeX and pure pgf\n"
        "\\usepgflibrary[*] % ConTeXt and pure pgf\n"
        "\\usetikzlibrary{*} % LaTeX and plain TeX when using TikZ\n"
        "\\usetikzlibrary[*] % ConTeXt when using TikZ",
    [PURE_LIBRARY] = "\\usepgflibrary{*} % LaTeX and plain TeX\n"
                     "\\usepgflibrary[*] % ConTeXt",
    [KEYS_LIBRARY] = "\\usepgfkeyslibrary{*} % LaTeX and plain TeX\n"
                     "\\usepgfkeyslibrary[*] % ConTeXt",
    [MODULE] = "\\usepgfmodule{*} % LaTeX and plain TeX and pure pgf\n"
               "\\usepgfmodule[*] % ConTeXt and pure pgf",
};

static void put_loading(struct document *d, int kind, struct slice name,
                        struct token place)
{
    struct buf text = {0};
    for (const char *at = loading[kind]; *at; at++)
        if (*at == '*')
            buf_put_slice(&text, name);
        else
            buf_put_byte(&text, *at);
    document_block(d, BLOCK_CODE, buf_slice(&text), (struct slice){"", 0},
                   place);
    buf_free(&text);
}

/* Up to the end of the environment. */
static void open_entry(struct document *d, struct slice title,
                       struct token place)
{
    outline_open(&d->outline, false, (struct slice){"", 0});
    d->groups[d->group_count - 1].entry = true;
    put_entry(d, title, place, false);
    d->in = (struct context){.kind = BLOCK_PARAGRAPH};
}

/* text: what stands before the signature. */
static void begin_entry(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    struct tokens list = {0};
    struct signature s = {0};
    if (!document_is_body(d) || d->in.silent)
        return;
    document_flush(d);
    tex_read_argument(&d->tex, &list);
    if (environment->text)
        buf_put_text(&s.text, environment->text);
    size_t name = s.text.size;
    write_name(d, &list, &s);
    if (environment->value == KEY || environment->value == STYLE)
        put_value(&s.text, environment->value == STYLE);
    open_entry(d, buf_slice(&s.text), place_of(&list, call));
    if (environment->value >= LIBRARY && s.text.size > name)
        put_loading(d, environment->value,
                    (struct slice){s.text.data + name, s.text.size - name},
                    place_of(&list, call));
    buf_free(&s.text);
    tokens_free(&list);
}

static void write_argument(struct document *d, struct signature *s)
{
    struct tokens list = {0};
    tex_read_argument(&d->tex, &list);
    write_signature(d, &list, s);
    tokens_free(&list);
}

/* \begin{docCommand}[..]{name}{arguments},
 * \begin{docKey}[path][..]{name}{value}{what it is by default}; text: the path
 * of a kind of keys. */
static void begin_documented(struct document *d,
                             const struct environment *environment,
                             struct token call)
{
    struct tokens path = {0}, name = {0};
    struct signature s = {0};
    int kind = environment->value;
    if (!document_is_body(d) || d->in.silent)
        return;
    document_flush(d);
    bool has_path = tex_read_optional(&d->tex, &path) && kind == DOC_KEY;
    if (kind == DOC_KEY)
        tex_skip_before(&d->tex, "o");
    if (has_path && path.count) {
        buf_put_byte(&s.text, '/');
        write_signature(d, &path, &s);
        buf_put_byte(&s.text, '/');
    } else {
        buf_put_text(&s.text, environment->text);
    }
    tex_read_argument(&d->tex, &name);
    write_signature(d, &name, &s);
    if (kind == DOC_ENVIRONMENT)
        buf_put_byte(&s.text, '}');
    write_argument(d, &s);
    if (kind == DOC_KEY) {
        size_t before = s.text.size;
        buf_put_text(&s.text, " (");
        write_argument(d, &s);
        if (s.text.size > before + 2)
            buf_put_byte(&s.text, ')');
        else
            s.text.size = before;
    }
    open_entry(d, buf_slice(&s.text), place_of(&name, call));
    buf_free(&s.text);
    tokens_free(&path);
    tokens_free(&name);
}

static void end_entry(struct document *d, struct group *group)
{
    (void)group;
    if (document_is_body(d))
        document_flush(d);
}

/* An entry up to the next one or section. */
static void describe(struct document *d, const struct signature *s,
                     struct token place)
{
    if (document_is_body(d) && !d->in.silent && d->in.kind == BLOCK_PARAGRAPH) {
        document_flush(d);
        put_entry(d, buf_slice(&s->text), place, true);
    } else {
        document_put(d, place, buf_slice(&s->text));
    }
}

/* \DescribeMacro{\foo} */
static void run_describe(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0};
    struct signature s = {0};
    tex_skip_before(tex, "so");
    tex_read_argument(tex, &list);
    write_name(d, &list, &s);
    (void)command;
    describe(d, &s, place_of(&list, call));
    buf_free(&s.text);
    tokens_free(&list);
}

/* ---- ltxdockit ---- */

enum { ITEM_COMMAND, ITEM_ENVIRONMENT, ITEM_OPTION, ITEM_BOOLEAN, ITEM_NUMBER };

/* *[a]{b}<c> as far as they follow at once: *[⟨a⟩]{⟨b⟩}<⟨c⟩>. */
static void read_arguments(struct document *d, struct signature *s)
{
    struct tex *tex = &d->tex;
    for (;;) {
        struct tokens list = {0};
        struct token next = tex_next(tex);
        tex_unread(tex, next);
        if (tex_read_character(tex, '*')) {
            buf_put_byte(&s->text, '*');
            continue;
        }
        if (token_is(next, CAT_OTHER, '['))
            tex_read_optional(tex, &list);
        else if (next.cat == CAT_BEGIN)
            tex_read_argument(tex, &list);
        else if (!token_is(next, CAT_OTHER, '<') ||
                 !tex_read_pair(tex, '<', '>', &list))
            return;
        bool angle = token_is(next, CAT_OTHER, '<');
        bool optional = token_is(next, CAT_OTHER, '[');
        buf_put_text(&s->text, angle ? "<⟨" : optional ? "[⟨" : "{⟨");
        write_signature(d, &list, s);
        buf_put_text(&s->text, angle ? "⟩>" : optional ? "⟩]" : "⟩}");
        tokens_free(&list);
    }
}

/* \cmditem{name}[a]{b}, \optitem[default]{key}{values}: an entry as that of
 * \DescribeMacro. */
static void run_item(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    struct tokens name = {0}, values = {0}, initial = {0};
    struct signature s = {0};
    int kind = command->value;
    tex_read_character(tex, '*'); /* not in the list of contents */
    bool has_initial = kind >= ITEM_OPTION && tex_read_optional(tex, &initial);
    buf_put_text(&s.text, command->text);
    tex_read_argument(tex, &name);
    write_signature(d, &name, &s);
    if (kind == ITEM_ENVIRONMENT)
        buf_put_byte(&s.text, '}');
    if (kind < ITEM_OPTION)
        read_arguments(d, &s);
    else
        buf_put_byte(&s.text, '=');
    if (kind == ITEM_OPTION)
        tex_read_argument(tex, &values);
    write_signature(d, &values, &s);
    if (kind == ITEM_BOOLEAN)
        buf_put_text(&s.text, "true, false");
    if (kind == ITEM_NUMBER)
        buf_put_text(&s.text, "⟨integer⟩");
    if (has_initial) {
        buf_put_text(&s.text, " (default: ");
        write_signature(d, &initial, &s);
        buf_put_byte(&s.text, ')');
    }
    describe(d, &s, place_of(&name, call));
    buf_free(&s.text);
    tokens_free(&name);
    tokens_free(&values);
    tokens_free(&initial);
}

/* ---- cnltx-doc ---- */

enum {
    CNLTX_COMMAND,
    CNLTX_ENVIRONMENT,
    CNLTX_OPTION,
    CNLTX_VALUE,
    CNLTX_CHOICE,
    CNLTX_BOOLEAN
};

static void put_after(struct document *d, const char *before, const char *after,
                      struct signature *s)
{
    struct tex *tex = &d->tex;
    struct token next = tex_next(tex);
    tex_unread(tex, next);
    if (next.cat != CAT_BEGIN)
        return;
    buf_put_text(&s->text, before);
    write_argument(d, s);
    buf_put_text(&s->text, after);
}

/* \Module{x}, \Default{x}, \Initial{x}, \Default!, as far as they follow. */
static void read_notes(struct document *d, struct signature *s)
{
    static const char *const notes[][2] = {{"Module", " (module "},
                                           {"Default", " (default: "},
                                           {"Initial", " (initially: "}};
    struct tex *tex = &d->tex;
    for (;;) {
        struct token token = tex_next_solid(tex);
        const char *before = NULL;
        for (size_t i = 0; token.cat == CAT_NAME && i < 3; i++)
            if (slice_is(tex->symbols[token.value].name, notes[i][0]))
                before = notes[i][1];
        if (!before) {
            tex_unread(tex, token);
            return;
        }
        tex_read_character(tex, '!');
        put_after(d, before, ")", s);
    }
}

static void put_choices(struct document *d, struct signature *s)
{
    size_t from = s->text.size;
    write_argument(d, s);
    for (size_t at = from; at < s->text.size; at++)
        if (s->text.data[at] == ',')
            s->text.data[at] = '|';
}

/* \command{name}[arguments], \keyval{key}{value}, ..: an entry, to the next. */
static void run_documented(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct document *d = document_of(tex);
    struct tokens name = {0}, arguments = {0};
    struct signature s = {0};
    int kind = command->value;
    tex_read_character(tex, '*');
    tex_read_argument(tex, &name);
    buf_put_text(&s.text, command->text);
    write_signature(d, &name, &s);
    if (kind == CNLTX_ENVIRONMENT)
        buf_put_byte(&s.text, '}');
    if (kind <= CNLTX_ENVIRONMENT && tex_read_optional(tex, &arguments))
        write_signature(d, &arguments, &s);
    if (kind >= CNLTX_VALUE)
        buf_put_text(&s.text, " = ");
    if (kind == CNLTX_VALUE)
        put_after(d, "⟨", "⟩", &s);
    else if (kind == CNLTX_CHOICE)
        put_choices(d, &s);
    else if (kind == CNLTX_BOOLEAN)
        buf_put_text(&s.text, "true|false");
    read_notes(d, &s);
    describe(d, &s, place_of(&name, call));
    buf_free(&s.text);
    tokens_free(&name);
    tokens_free(&arguments);
}

static const struct command documented[] = {
    {"command", run_documented, NULL, CNLTX_COMMAND, "\\"},
    {"environment", run_documented, NULL, CNLTX_ENVIRONMENT, "\\begin{"},
    {"opt", run_documented, NULL, CNLTX_OPTION, ""},
    {"keyval", run_documented, NULL, CNLTX_VALUE, ""},
    {"keychoice", run_documented, NULL, CNLTX_CHOICE, ""},
    {"keybool", run_documented, NULL, CNLTX_BOOLEAN, ""},
};

/* commands, options, environments: what describes them is known within. */
static void begin_documentation(struct document *d,
                                const struct environment *environment,
                                struct token call)
{
    (void)environment;
    (void)call;
    if (!document_is_body(d) || d->in.silent || d->in.kind != BLOCK_PARAGRAPH)
        return;
    document_flush(d);
    outline_open(&d->outline, false, (struct slice){"", 0});
    d->groups[d->group_count - 1].entry = true;
    for (size_t i = 0; i < sizeof documented / sizeof *documented; i++) {
        uint32_t symbol = tex_symbol_of(&d->tex, documented[i].name);
        if (d->tex.symbols[symbol].meaning.kind == MEANING_NONE)
            tex_define(&d->tex, symbol,
                       (struct meaning){.kind = MEANING_COMMAND,
                                        .command = &documented[i]},
                       false);
    }
}

void entries_cnltx(struct document *d)
{
    tex_symbol_at(&d->tex, "example")->environment =
        tex_symbol_at(&d->tex, "sourcecode")->environment;
}

/* \setcnltx{package={x},info={..}} */
static void run_setcnltx(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct tokens options = {0}, value = {0};
    struct buf title = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &options);
    if (keys_value(tex, &options, "package", &value))
        tex_expand_text(tex, &value, &title);
    if (title.size && keys_value(tex, &options, "info", &value)) {
        buf_put_text(&title, ": ");
        tex_expand_text(tex, &value, &title);
    }
    if (title.size && !memchr(title.data, '\\', title.size))
        d->pdf_title = document_keep(d, buf_slice(&title));
    tokens_free(&options);
    tokens_free(&value);
    buf_free(&title);
}

/* \marg{x} and the like in running text. */
static void run_mark(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens argument = {0}, list = {0};
    struct token token = call;
    tex_read_argument(tex, &argument);
    const char *ends[2] = {marks[command->value].open,
                           marks[command->value].close};
    for (int i = 0; i < 2; i++) {
        token.cat = CAT_OTHER;
        for (size_t at = 0, step; ends[i][at]; at += step) {
            token.value = text_decode(ends[i], strlen(ends[i]), at, &step);
            tokens_add(&list, token);
        }
        if (!i)
            tokens_add_all(&list, argument.items, argument.count);
    }
    tex_push(tex, list);
    tokens_free(&argument);
}

/* \cs{foo}, \cs*[no-index]{foo_\meta{x}}, \cmd\foo: the name as text. */
static void run_name(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens list = {0};
    struct signature s = {0};
    if (command->value) {
        buf_put_byte(&s.text, '\\');
        tex_skip_before(tex, "so");
    }
    tex_read_argument(tex, &list);
    if (command->value)
        write_signature(document_of(tex), &list, &s);
    else
        write_name(document_of(tex), &list, &s);
    document_put(document_of(tex), call, buf_slice(&s.text));
    tokens_free(&list);
    buf_free(&s.text);
}

/* doc's \NewDocElement[..]{Name}{name}: \DescribeName and the environment are as
 * \DescribeMacro and macro. */
static void run_new_element(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf name = {0}, environment = {0}, describe = {0};
    (void)command;
    (void)call;
    tex_skip_before(tex, "o");
    tex_read_text(tex, &name);
    tex_read_text(tex, &environment);
    if (name.size) {
        buf_printf(&describe, "Describe%s", name.data);
        uint32_t symbol = tex_symbol_of(tex, describe.data);
        tex_define(tex, symbol,
                   tex->symbols[tex_symbol_of(tex, "DescribeMacro")].meaning,
                   true);
    }
    if (environment.size)
        tex_symbol_at(tex, environment.data)->environment =
            tex_symbol_at(tex, "macro")->environment;
    buf_free(&name);
    buf_free(&environment);
    buf_free(&describe);
}

static const struct command commands[] = {
    {"DescribeMacro", run_describe, NULL, 0, NULL},
    {"NewDocElement", run_new_element, NULL, 0, NULL},
    {"setcnltx", run_setcnltx, NULL, 0, NULL},
    {"DescribeEnv", run_describe, NULL, 0, NULL},
    {"DescribeOption", run_describe, NULL, 0, NULL},
    {"cmditem", run_item, NULL, ITEM_COMMAND, "\\"},
    {"csitem", run_item, NULL, ITEM_COMMAND, "\\"},
    {"cntitem", run_item, NULL, ITEM_COMMAND, ""},
    {"lenitem", run_item, NULL, ITEM_COMMAND, "\\"},
    {"envitem", run_item, NULL, ITEM_ENVIRONMENT, "\\begin{"},
    {"optitem", run_item, NULL, ITEM_OPTION, ""},
    {"valitem", run_item, NULL, ITEM_OPTION, ""},
    {"choitem", run_item, NULL, ITEM_OPTION, ""},
    {"varitem", run_item, NULL, ITEM_OPTION, ""},
    {"boolitem", run_item, NULL, ITEM_BOOLEAN, ""},
    {"intitem", run_item, NULL, ITEM_NUMBER, ""},
    {"meta", run_mark, NULL, 0, NULL},
    {"marg", run_mark, NULL, 1, NULL},
    {"oarg", run_mark, NULL, 2, NULL},
    {"parg", run_mark, NULL, 3, NULL},
    {"cs", run_name, NULL, 1, NULL},
    {"cmd", run_name, NULL, 0, NULL},
    {"declcs", run_name, NULL, 1, NULL},
};

#define ENTRY(name, before, text)                                              \
    {                                                                          \
        name, begin_entry, end_entry, before, NAMED, text, 1                   \
    }
#define DOCUMENTED(kind, name, text)                                           \
    {                                                                          \
        name, begin_documented, end_entry, NULL, kind, text, 0                 \
    }
#define ENTRY_OF(kind, name, text)                                             \
    {                                                                          \
        name, begin_entry, end_entry, NULL, kind, text, 1                      \
    }

static const struct environment environments[] = {
    ENTRY("macro", "o", NULL),
    ENTRY("function", "o", NULL),
    ENTRY("variable", "o", NULL),
    ENTRY("command", NULL, NULL),
    ENTRY("internallist", NULL, NULL),
    ENTRY("environment", "o", NULL),
    ENTRY("contextenvironment", NULL, NULL),
    ENTRY("plainenvironment", NULL, NULL),
    ENTRY_OF(KEY, "key", NULL),
    ENTRY_OF(STYLE, "stylekey", NULL),
    ENTRY("handler", NULL, "Key handler ⟨key⟩/"),
    ENTRY("package", NULL, NULL),
    ENTRY_OF(LIBRARY, "tikzlibrary", "TikZ Library "),
    ENTRY_OF(PGF_LIBRARY, "pgflibrary", "TikZ Library "),
    ENTRY_OF(PURE_LIBRARY, "purepgflibrary", "PGF Library "),
    ENTRY_OF(KEYS_LIBRARY, "pgfkeyslibrary", "pgfkeys Library "),
    ENTRY_OF(MODULE, "pgfmodule", NULL),
    ENTRY("shape", NULL, "Shape "),
    ENTRY("predefinednode", NULL, "Predefined node "),
    ENTRY("coordinatesystem", NULL, "Coordinate system "),
    {"pathoperation", begin_entry, end_entry, "o", NAMED, "\\path … ", 2},
    ENTRY("decoration", NULL, "Decoration "),
    ENTRY("math-function", NULL, NULL),
    DOCUMENTED(DOC_COMMAND, "docCommand", "\\"),
    DOCUMENTED(DOC_COMMAND, "docCommand*", "\\"),
    DOCUMENTED(DOC_ENVIRONMENT, "docEnvironment", "\\begin{"),
    DOCUMENTED(DOC_ENVIRONMENT, "docEnvironment*", "\\begin{"),
    DOCUMENTED(DOC_KEY, "docKey", ""),
    DOCUMENTED(DOC_KEY, "docKey*", ""),
    DOCUMENTED(DOC_KEY, "docTcbKey", "/tcb/"),
    DOCUMENTED(DOC_KEY, "docTcbKey*", "/tcb/"),
    {"commands", begin_documentation, end_entry, NULL, 0, NULL, 0},
    {"options", begin_documentation, end_entry, NULL, 0, NULL, 0},
    {"environments", begin_documentation, end_entry, NULL, 0, NULL, 0},
    ENTRY("arrowtip", NULL, NULL),
    ENTRY("arrowcap", NULL, NULL),
    ENTRY("pattern", NULL, NULL),
    ENTRY("textoken", NULL, NULL),
    ENTRY("dataformat", NULL, "Format "),
    ENTRY("filedescription", NULL, "File "),
    {"datavisualizationoperation", begin_entry, end_entry, "o", NAMED,
     "\\datavisualization … ", 2},
};

void entries_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
