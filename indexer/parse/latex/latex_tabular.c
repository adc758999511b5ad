/* Tables: tabular and its kin, and plain TeX's alignments. */
#include "indexer/parse/latex/latex_internal.h"

static struct writer *writer_of(struct document *d)
{
    return &document_flow(d)->writer;
}

/* ---- Environments ---- */

void tabular_begin(struct document *d, const struct environment *environment,
                   struct token call)
{
    (void)environment;
    (void)call;
    if (!document_is_body(d) || d->in.kind == BLOCK_TABLE) {
        d->in.grid = 0;
        document_space(d);
        return;
    }
    blocks_begin_kind(d, BLOCK_TABLE, (struct slice){"", 0});
    d->in.grid = ++d->grids;
    d->rows = d->heads = d->spanned = 0;
    d->rows_kept = 0;
    d->asides_kept = d->aside_count;
    d->first_head = d->captioned = false;
}

void tabular_end(struct document *d, struct group *group)
{
    if (group->outer.kind == BLOCK_TABLE || !document_is_body(d)) {
        document_space(d);
        return;
    }
    if (d->heads) {
        struct buf info = {0};
        buf_printf(&info, "head=%u", d->heads);
        d->in.info = document_keep(d, buf_slice(&info));
        buf_free(&info);
    }
    document_flush(d);
}

/* ---- Cells and rows ---- */

void tabular_cell(struct document *d)
{
    if (d->in.kind != BLOCK_TABLE || !d->in.grid || !document_is_body(d)) {
        document_space(d);
        return;
    }
    d->last = 0;
    writer_of(d)->next.tabs += 1 + d->spanned;
    if (writer_of(d)->next.tabs > 1000)
        writer_of(d)->next.tabs = 1000;
    d->spanned = 0;
}

/* Here one begins, which \kill may take back. */
static void begin_line(struct document *d)
{
    document_flow(d)->line = writer_of(d)->text.size;
}

void tabular_row(struct document *d)
{
    d->last = 0;
    if (d->in.kind == BLOCK_TABLE && d->in.grid && document_is_body(d)) {
        writer_line(writer_of(d), 0, "");
        d->rows++;
        d->spanned = 0;
    } else if (writer_of(d)->exact) {
        buf_put_byte(&writer_of(d)->text, '\n');
    } else {
        document_space(d);
    }
    begin_line(d);
}

static void run_row(struct tex *tex, const struct command *command,
                    struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
    tabular_row(document_of(tex));
}

/* The end of a line, of \obeylines and its kin; an empty one ends a paragraph. */
static void run_line_end(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct token next = tex_next(tex);
    tex_unread(tex, next);
    run_row(tex, command, call);
    if (token_is(next, CAT_NAME, call.value))
        document_restore_escape(document_of(tex), call);
}

/* A rule below the first row makes it a header. */
static void run_rule(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    (void)call;
    if (command->before)
        tex_skip_before(tex, command->before);
    if (d->in.kind == BLOCK_TABLE && d->rows == 1 && !d->heads)
        d->heads = 1;
}

enum { FIRST_HEAD, HEAD, FOOT, LAST_FOOT };

/* Of longtable's heads the first is the table's, \endhead's where there is no other; what
 * stands at the foot of each page, and above those that follow, is of the paper. */
static void run_end_head(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct writer *w = writer_of(d);
    (void)call;
    if (d->in.kind != BLOCK_TABLE || !d->in.grid || !document_is_body(d))
        return;
    bool drop =
        command->value == FOOT || (command->value == HEAD && d->first_head);
    if (drop && d->aside_count > d->asides_kept)
        d->aside_count = d->asides_kept;
    if (drop && w->text.size > d->rows_kept) {
        w->text.size = d->rows_kept;
        w->open = w->open && d->rows_kept;
        w->next = (struct separator){0};
        if (w->open)
            writer_line(w, 0, "");
    } else if (command->value <= HEAD && d->rows && !d->heads) {
        d->heads = 1;
    }
    d->first_head = d->first_head || command->value == FIRST_HEAD;
    d->rows_kept = w->text.size;
    d->asides_kept = d->aside_count;
    d->spanned = 0;
    begin_line(d);
}

static void run_multicolumn(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct document *d = document_of(tex);
    struct buf count = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &count);
    int64_t columns = number_of_text(tex, buf_slice(&count));
    buf_free(&count);
    tex_skip_before(tex, "m");
    if (columns > 1 && columns < 100)
        d->spanned = (unsigned)columns - 1;
}

static void run_nothing(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
}

/* bigdelim's \rdelim\}[place]{rows}[..]{width}[text]: the brace is drawn. */
static void run_delimiter(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct tokens text = {0};
    (void)call;
    tex_skip_before(tex, command->before);
    tex_read_optional(tex, &text);
    tex_push(tex, text);
}

/* ---- tabbing ---- */

/* A line that ends with \kill sets the stops only. */
static void run_kill(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    struct writer *w = writer_of(d);
    size_t line = document_flow(d)->line;
    (void)command;
    (void)call;
    if (w->text.size > line)
        w->text.size = line;
    w->open = w->open && line;
    w->next = (struct separator){0};
    d->spanned = 0;
    d->last = 0;
    if (w->exact)
        return;
    if (d->in.grid)
        writer_line(w, 0, "");
    else
        document_space(d);
}

static void run_stop(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    if (!command->value)
        return;
    if (!writer_of(d)->exact)
        tabular_cell(d);
    else if (command->text)
        document_put_text(d, call, command->text);
}

enum { STOP = 1 };

/* The others move the stops themselves. */
static const struct command stops[] = {
    {"=", run_stop, NULL, STOP, NULL},    {">", run_stop, NULL, STOP, "    "},
    {"`", run_stop, NULL, STOP, "    "},  {"'", run_stop, NULL, 0, NULL},
    {"+", run_stop, NULL, 0, NULL},       {"-", run_stop, NULL, 0, NULL},
    {"<", run_stop, NULL, 0, NULL},       {"pushtabs", run_stop, NULL, 0, NULL},
    {"poptabs", run_stop, NULL, 0, NULL}, {"kill", run_kill, NULL, 0, NULL},
};

/* Lines with stops: code in typewriter, else a table. */
static void begin_tabbing(struct document *d,
                          const struct environment *environment,
                          struct token call)
{
    struct tex *tex = &d->tex;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        tex_define(
            tex, tex_symbol_of(tex, stops[i].name),
            (struct meaning){.kind = MEANING_COMMAND, .command = &stops[i]},
            false);
    if (!d->in.mono || !document_is_body(d)) {
        tabular_begin(d, environment, call);
    } else {
        blocks_begin_kind(d, BLOCK_CODE, (struct slice){"", 0});
        blocks_writer(d)->exact = true;
        if (tex->catcodes[' '] == CAT_ACTIVE) /* \obeyspaces */
            tex_set_catcode(tex, ' ', CAT_OTHER, false);
    }
    begin_line(d);
}

static void end_tabbing(struct document *d, struct group *group)
{
    if (d->in.kind == BLOCK_TABLE)
        tabular_end(d, group);
}

/* ---- Plain TeX ---- */

static const struct environment alignment = {
    "-halign-", tabular_begin, tabular_end, NULL, 0, NULL, 0};

/* The first row is the template of the others. */
static size_t after_template(const struct tex *tex, const struct tokens *list)
{
    size_t depth = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct token token = list->items[i];
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
        if (depth || token.cat != CAT_NAME)
            continue;
        struct slice name = tex->symbols[token.value].name;
        if (slice_is(name, "cr") || slice_is(name, "crcr"))
            return i + 1;
    }
    return list->count;
}

/* \halign to 3in{template \cr cell & cell \cr ...} (The TeXbook, chapter 22) */
static void run_halign(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0}, rest = {0};
    tex_skip_before(tex, command->before);
    struct token next = tex_next_solid(tex);
    if (next.cat != CAT_BEGIN) {
        tex_unread(tex, next);
        return;
    }
    tex_read_group(tex, &list);
    size_t at = after_template(tex, &list);
    tokens_add_all(&rest, list.items + at, list.count - at);
    tokens_free(&list);
    uint32_t symbol = tex_symbol_of(tex, alignment.name);
    environments_add_end(tex, symbol, call, &rest);
    tex_push(tex, rest);
    struct group *group = document_open(d, GROUP_ENVIRONMENT, call);
    group->name = symbol;
    group->environment = &alignment;
    tabular_begin(d, &alignment, call);
}

/* \+ cell & cell \cr: a line of its own.  In LaTeX \+ is a mark of tabbing. */
static void run_tabbed_line(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    if (!d->is_document && document_is_body(d) && writer_of(d)->open)
        writer_line(writer_of(d), 0, "");
}

/* \settabs 4 \columns, \settabs \+ sample & sample \cr: prints nothing. */
static void run_settabs(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token token = tex_next_solid(tex);
    (void)command;
    (void)call;
    if (token.cat != CAT_NAME ||
        !slice_is(tex->symbols[token.value].name, "+")) {
        tex_unread(tex, token);
        tex_skip_before(tex, "nc");
        return;
    }
    uint32_t row = tex_symbol_of(tex, "cr");
    while (token.cat != CAT_NONE && token.cat != CAT_STOP &&
           !token_is(token, CAT_NAME, row) &&
           !token_is(token, CAT_NAME, tex->par))
        token = tex_next(tex);
    if (token.cat == CAT_STOP)
        tex_unread(tex, token);
}

/* ---- The tables ---- */

static const struct command commands[] = {
    {"\\", run_row, "so", 0, NULL},
    {"tabularnewline", run_row, "o", 0, NULL},
    {"newline", run_row, NULL, 0, NULL},
    {"cr", run_row, NULL, 0, NULL},
    {"crcr", run_row, NULL, 0, NULL},
    {"\1\n", run_line_end, NULL, 0, NULL},
    {"hline", run_rule, NULL, 0, NULL},
    {"midrule", run_rule, "o", 0, NULL},
    {"toprule", run_rule, "o", 0, NULL},
    {"bottomrule", run_rule, "o", 0, NULL},
    {"tabulinesep", run_nothing, "=d", 0, NULL},
    {"multicolumn", run_multicolumn, NULL, 0, NULL},
    {"ldelim", run_delimiter, "comom", 0, NULL},
    {"rdelim", run_delimiter, "comom", 0, NULL},
    {"halign", run_halign, "b", 0, NULL},
    {"+", run_tabbed_line, NULL, 0, NULL},
    {"tabalign", run_tabbed_line, NULL, 0, NULL},
    {"settabs", run_settabs, NULL, 0, NULL},
};

/* Also where a copy of longtable is beside the document. */
static const struct command firm[] = {
    {"endfirsthead", run_end_head, NULL, FIRST_HEAD, NULL},
    {"endhead", run_end_head, NULL, HEAD, NULL},
    {"endfoot", run_end_head, NULL, FOOT, NULL},
    {"endlastfoot", run_end_head, NULL, LAST_FOOT, NULL},
};

#define TABLE(name, before)                                                    \
    {                                                                          \
        name, tabular_begin, tabular_end, before, 0, NULL, 0                   \
    }

static const struct environment environments[] = {
    TABLE("tabular", "om"),
    TABLE("tabular*", "mom"),
    TABLE("tabularx", "mom"),
    TABLE("tabulary", "mom"),
    TABLE("longtable", "om"),
    TABLE("longtabu", "bom"),
    TABLE("longtabu*", "bom"), /* doxygen's */
    TABLE("tabu", "bom"),
    TABLE("tabu*", "bom"),
    TABLE("supertabular", "m"),
    TABLE("supertabular*", "mm"),
    TABLE("mpsupertabular", "m"),
    TABLE("xtabular", "m"),
    TABLE("xltabular", "omm"),
    TABLE("ctabular", "om"),
    TABLE("edtable", "mom"), /* lineno: {tabular} */
    TABLE("array", "om"),
    {"tabbing", begin_tabbing, end_tabbing, NULL, 0, NULL, 0},
};

void tabular_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, firm, sizeof firm / sizeof *firm, MEANING_COMMAND,
                     true);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
