/* Tables of tabularray (2023A) and nicematrix (6.26), whose settings are arguments of
 * the environment. */
#include "indexer/parse/latex/latex_internal.h"

static void add_group(const char *text, struct token call, struct tokens *ret)
{
    struct tokens list = {0};
    call.cat = CAT_OTHER;
    for (const char *at = text; *at; at++) {
        call.value = (unsigned char)*at;
        tokens_add(&list, call);
    }
    tokens_add_group(ret, &list, call);
    tokens_free(&list);
}

/* ---- What stands in the cells ---- */

/* Within braces "\\" ends a line of the cell. */
static void run_row(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct document *d = document_of(tex);
    (void)call;
    tex_skip_before(tex, command->before);
    if (d->groups[d->group_count - 1].kind == GROUP_BRACE)
        document_space(d);
    else
        tabular_row(d);
}

static void run_rule(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    (void)call;
    tex_skip_before(tex, command->before);
    if (d->in.kind == BLOCK_TABLE && d->rows == 1 && !d->heads)
        d->heads = 1;
}

static void run_nothing(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
}

/* \CodeAfter: what is drawn over the table, to its \end; pictures have theirs. */
static void run_after(struct tex *tex, const struct command *command,
                      struct token call)
{
    uint32_t begin = tex_symbol_of(tex, "begin");
    uint32_t end = tex_symbol_of(tex, "end");
    size_t open = 1;
    struct token token;
    (void)command;
    (void)call;
    do {
        token = tex_next(tex);
        open += token_is(token, CAT_NAME, begin);
        open -= token_is(token, CAT_NAME, end);
    } while (token.cat != CAT_NONE && token.cat != CAT_STOP && open);
    tex_unread(tex, token);
}

/* Those that mean something else, or nothing, outside of a tblr.  Cells that one spans
 * are there, empty. */
static const struct command within[] = {
    {"\\", run_row, "so", 0, NULL},
    {"hline", run_rule, "o", 0, NULL},
    {"cline", run_nothing, "om", 0, NULL},
    {"SetCell", run_nothing, "om", 0, NULL},
    {"SetCells", run_nothing, "om", 0, NULL},
    {"SetRow", run_nothing, "om", 0, NULL},
    {"SetRows", run_nothing, "om", 0, NULL},
    {"SetColumn", run_nothing, "om", 0, NULL},
    {"SetColumns", run_nothing, "om", 0, NULL},
    {"SetHline", run_rule, "omm", 0, NULL},
    {"SetHlines", run_nothing, "omm", 0, NULL},
    {"SetVline", run_nothing, "omm", 0, NULL},
    {"SetVlines", run_nothing, "omm", 0, NULL},
    {"hborder", run_nothing, "m", 0, NULL},
    {"vborder", run_nothing, "m", 0, NULL},
    {"SetChild", run_nothing, "m", 0, NULL},
};

static const struct command nice[] = {
    {"Block", run_nothing, "oma", 0, NULL},
    {"CodeAfter", run_after, NULL, 0, NULL},
    {"Hline", run_rule, "o", 0, NULL},
    {"RowStyle", run_nothing, "om", 0, NULL},
    {"Body", run_nothing, NULL, 0, NULL},
};

static void define_all(struct tex *tex, const struct command *list,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        tex_define(
            tex, tex_symbol_of(tex, list[i].name),
            (struct meaning){.kind = MEANING_COMMAND, .command = &list[i]},
            false);
}

/* ---- The environments ---- */

static int64_t number_of(struct tex *tex, const struct tokens *list)
{
    struct buf text = {0};
    tex_expand_text(tex, list, &text);
    int64_t number = number_of_text(tex, buf_slice(&text));
    buf_free(&text);
    return number;
}

static const char start[] = "-tblr-";

/* The cells begin. */
static void run_start(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    tabular_begin(d, NULL, call);
    define_all(tex, within, sizeof within / sizeof *within);
    if (d->in.kind == BLOCK_TABLE)
        d->heads = d->heads_given;
}

/* `note{a}={..}` and `remark{Source}={..}`: a paragraph each. */
static void add_notes(struct tex *tex, const struct tokens *outer,
                      struct token call, struct tokens *ret)
{
    struct keys_setting one;
    for (size_t from = 0; keys_next(outer, &from, &one);) {
        struct buf name = {0};
        if (one.has_value)
            tex_write_tokens(tex, &one.key, &name);
        size_t size = name.size ? strcspn(name.data, "{") : 0;
        bool remark = size == 6 && !memcmp(name.data, "remark", size);
        bool note = size == 4 && !memcmp(name.data, "note", size);
        if ((remark || note) && size < name.size) {
            struct slice label = {name.data + size + 1, name.size - size - 1};
            const char *end = memchr(label.data, '}', label.size);
            label.size = end ? (size_t)(end - label.data) : label.size;
            tex_add_name(tex, "par", call, ret);
            tex_add_source(tex, label, call, ret);
            tex_add_source(tex, slice_of(remark ? ": " : " "), call, ret);
            tokens_add_group(ret, &one.value, call);
            tex_add_name(tex, "par", call, ret);
        }
        buf_free(&name);
        keys_setting_free(&one);
    }
}

/* \begin{tblr}[caption=..,label=..]{colspec=..,rowhead=1}: the caption stands before
 * the table, and so do its notes. */
static void begin_tblr(struct document *d,
                       const struct environment *environment, struct token call)
{
    struct tex *tex = &d->tex;
    struct tokens outer = {0}, inner = {0}, value = {0}, run = {0};
    (void)environment;
    tex_read_optional(tex, &outer);
    tex_read_argument(tex, &inner);
    if (keys_value(tex, &outer, "caption", &value)) {
        tex_add_name(tex, "captionof", call, &run);
        add_group("table", call, &run);
        tokens_add_group(&run, &value, call);
    }
    if (keys_value(tex, &outer, "label", &value)) {
        tex_add_name(tex, "label", call, &run);
        tokens_add_group(&run, &value, call);
    }
    add_notes(tex, &outer, call, &run);
    d->heads_given = 0;
    if (keys_value(tex, &inner, "rowhead", &value) ||
        keys_value(tex, &outer, "rowhead", &value)) {
        int64_t rows = number_of(tex, &value);
        d->heads_given = rows > 0 && rows < 10 ? (unsigned)rows : 0;
    }
    tex_add_name(tex, start, call, &run);
    tex_push(tex, run);
    tokens_free(&outer);
    tokens_free(&inner);
    tokens_free(&value);
}

/* \begin{NiceTabular}[..]{columns}[..], the last brackets without a space before them,
 * and what \CodeBefore draws under it. */
static void begin_nice(struct document *d,
                       const struct environment *environment, struct token call)
{
    struct tex *tex = &d->tex;
    struct token next;
    tabular_begin(d, environment, call);
    define_all(tex, nice, sizeof nice / sizeof *nice);
    next = tex_next(tex);
    tex_unread(tex, next);
    if (next.cat != CAT_SPACE)
        tex_skip_before(tex, "o");
    next = tex_next_solid(tex);
    tex_unread(tex, next);
    if (!token_is(next, CAT_NAME, tex_symbol_of(tex, "CodeBefore")))
        return;
    uint32_t body = tex_symbol_of(tex, "Body");
    do
        next = tex_next(tex);
    while (next.cat != CAT_NONE && next.cat != CAT_STOP &&
           !token_is(next, CAT_NAME, body) &&
           !token_is(next, CAT_NAME, tex->par));
}

/* \NewTblrEnviron{name} */
static void run_new(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct tokens run = {0}, name = {0};
    static const char *const ends[] = {"begin", "end"};
    (void)command;
    tex_read_argument(tex, &name);
    tex_add_name(tex, "newenvironment", call, &run);
    tokens_add_group(&run, &name, call);
    for (size_t i = 0; i < 2; i++) {
        struct tokens body = {0};
        tex_add_name(tex, ends[i], call, &body);
        add_group("tblr", call, &body);
        tokens_add_group(&run, &body, call);
        tokens_free(&body);
    }
    tex_push(tex, run);
    tokens_free(&name);
}

static const struct command commands[] = {
    {start, run_start, NULL, 0, NULL},
    {"NewTblrEnviron", run_new, NULL, 0, NULL},
    {"UseTblrLibrary", run_nothing, "m", 0, NULL},
    {"SetTblrInner", run_nothing, "om", 0, NULL},
    {"SetTblrOuter", run_nothing, "om", 0, NULL},
    {"SetTblrStyle", run_nothing, "mm", 0, NULL},
    {"SetTblrTemplate", run_nothing, "mm", 0, NULL},
    {"DefTblrTemplate", run_nothing, "mmm", 0, NULL},
    {"DeclareTblrTemplate", run_nothing, "mmm", 0, NULL},
    {"NewTblrTheme", run_nothing, "mm", 0, NULL},
    {"SetTblrTheme", run_nothing, "m", 0, NULL},
    {"NiceMatrixOptions", run_nothing, "m", 0, NULL},
};

#define TBLR(name)                                                             \
    {                                                                          \
        name, begin_tblr, tabular_end, NULL, 0, NULL, 0                        \
    }
#define NICE(name, before)                                                     \
    {                                                                          \
        name, begin_nice, tabular_end, before, 0, NULL, 0                      \
    }

static const struct environment environments[] = {
    TBLR("tblr"),
    TBLR("longtblr"),
    TBLR("talltblr"),
    TBLR("booktabs"), /* of its library of this name */
    TBLR("longtabs"),
    TBLR("talltabs"),
    NICE("NiceTabular", "om"),
    NICE("NiceTabular*", "mom"),
    NICE("NiceTabularX", "mom"),
};

void grids_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
