/* Paragraphs, prose of a kind, floats, footnotes. */

#include "indexer/parse/latex/latex_internal.h"

enum { MAX_INDENT = 16 };

unsigned blocks_indent(unsigned depth)
{
    return 2 * (depth < MAX_INDENT ? depth : MAX_INDENT);
}

struct writer *blocks_writer(struct document *d)
{
    return &document_flow(d)->writer;
}

/* ---- Paragraphs ---- */

static bool is_prose_kind(int kind)
{
    return kind == BLOCK_PARAGRAPH || kind == BLOCK_QUOTE || kind == BLOCK_NOTE;
}

static bool is_prose(const struct document *d)
{
    return is_prose_kind(d->in.kind);
}

void blocks_paragraph(struct document *d)
{
    d->last = 0;
    if (document_flow(d)->kind == FLOW_TITLE ||
        document_flow(d)->kind == FLOW_CAPTION) {
        tex_report(&d->tex, document_flow(d)->opened,
                   "a title or caption does not end in its paragraph");
        while (d->flow_count > 1)
            document_close(d);
    }
    if (document_is_body(d) && is_prose(d))
        document_flush(d);
    else if (blocks_writer(d)->exact)
        buf_put_byte(&blocks_writer(d)->text, '\n');
    else
        document_space(d);
}

static void run_par(struct tex *tex, const struct command *command,
                    struct token call)
{
    (void)command;
    (void)call;
    blocks_paragraph(document_of(tex));
}

/* ---- Prose of a kind ---- */

void blocks_begin_kind(struct document *d, int kind, struct slice info)
{
    if (document_is_body(d))
        document_flush(d);
    d->in.kind = kind;
    d->in.info = info;
    d->in.item = false;
}

void blocks_end_kind(struct document *d, struct group *group)
{
    (void)group;
    if (document_is_body(d))
        document_flush(d);
    else
        document_space(d);
}

static void begin_quote(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    (void)environment;
    (void)call;
    blocks_begin_kind(d, is_prose(d) ? BLOCK_QUOTE : d->in.kind, d->in.info);
}

void blocks_begin_note(struct document *d,
                       const struct environment *environment, struct token call)
{
    (void)call;
    blocks_begin_kind(d, BLOCK_NOTE, slice_of(environment->text));
}

static void begin_paragraph(struct document *d,
                            const struct environment *environment,
                            struct token call)
{
    (void)environment;
    (void)call;
    if (document_is_body(d) && is_prose(d))
        document_flush(d);
    else
        document_space(d);
}

/* {multicols}{2}[what stands above them] */
static void begin_columns(struct document *d,
                          const struct environment *environment,
                          struct token call)
{
    struct tokens above = {0};
    begin_paragraph(d, environment, call);
    if (tex_read_optional(&d->tex, &above))
        tex_push(&d->tex, above);
}

static void end_paragraph(struct document *d, struct group *group)
{
    (void)group;
    if (document_is_body(d) && is_prose(d))
        document_flush(d);
    else
        document_space(d);
}

/* Lines as they are, but with commands. */
static void begin_alltt(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    static const char plain[] = "$&#^_%~|\"<>";
    (void)environment;
    (void)call;
    if (!document_is_body(d))
        return;
    blocks_begin_kind(d, BLOCK_CODE, (struct slice){"", 0});
    for (const char *at = plain; *at; at++)
        tex_set_catcode(&d->tex, (unsigned char)*at, CAT_OTHER, false);
    tex_set_catcode(&d->tex, ' ', CAT_OTHER, false);
    tex_set_catcode(&d->tex, '\t', CAT_OTHER, false);
    tex_set_catcode(&d->tex, '\n', CAT_ACTIVE, false);
    blocks_writer(d)->exact = true;
}

/* Doxygen's code: \begin{DoxyCode}{0}, of older ones without the number. */
static void begin_doxygen(struct document *d,
                          const struct environment *environment,
                          struct token call)
{
    struct token next = tex_next(&d->tex);
    tex_unread(&d->tex, next);
    if (next.cat == CAT_BEGIN)
        tex_skip_before(&d->tex, "m");
    begin_alltt(d, environment, call);
}

static void end_alltt(struct document *d, struct group *group)
{
    (void)group;
    document_flush(d);
    d->flows[0].writer.exact = false;
}

/* ---- Floats and notes ---- */

/* A part of a float: subcaption's environments. */
static bool is_part(const char *counter)
{
    return !strcmp(counter, "subfigure") || !strcmp(counter, "subtable");
}

/* Code within a table is of its cell. */
static void end_coded(struct document *d, struct group *group)
{
    if (d->in.kind == BLOCK_TABLE)
        document_space(d);
    else
        blocks_end_kind(d, group);
}

static void begin_float(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    static const struct environment coded = {
        "algorithm", begin_float, end_coded, NULL, 0, "algorithm", 0};
    d->float_named = d->float_named && is_part(environment->text);
    if (!strcmp(environment->text, "algorithm") && algorithm2e_begin(d, call))
        d->groups[d->group_count - 1].environment = &coded;
    else
        begin_paragraph(d, environment, call);
}

static const struct environment listing = {
    "listing", begin_float, end_paragraph, "o", 0, "listing", 0};

void blocks_begin_listing(struct document *d, struct token call)
{
    d->groups[d->group_count - 1].environment = &listing;
    tex_skip_before(&d->tex, listing.before);
    begin_float(d, &listing, call);
}

/* A kind of float of the document's own. */
static void define_float(struct document *d, struct slice name,
                         struct slice within)
{
    struct environment *environment =
        arena_alloc(&d->outline.arena, sizeof *environment);
    struct buf star = {0};
    counter_new(&d->tex, name, within);
    counter_define_the(&d->tex, name, within);
    buf_printf(&star, "%.*s*", (int)name.size, name.data);
    *environment = listing;
    tex_symbol_at(&d->tex, star.data)->environment = environment;
    buf_clear(&star);
    buf_put_slice(&star, name);
    buf_put_byte(&star, '\0');
    environment->text = document_keep(d, buf_slice(&star)).data;
    tex_symbol_at(&d->tex, environment->text)->environment = environment;
    buf_free(&star);
}

/* What captions call a float: \figurename and its kin. */
static void name_float(struct document *d, struct slice kind, struct slice name)
{
    struct buf macro = {0}, text = {0};
    buf_printf(&macro, "%.*sname", (int)kind.size, kind.data);
    buf_put_slice(&text, name);
    buf_put_byte(&text, '\0');
    tex_define_text(&d->tex, macro.data, text.data);
    buf_free(&macro);
    buf_free(&text);
}

/* float's \newfloat{name}{place}{ending}[within], memoir's \newfloat[within]{name}{ending}
 * {Name}, newfloat's \DeclareFloatingEnvironment[options]{name}. */
static void run_new_float(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct document *d = document_of(tex);
    struct tokens before = {0}, after = {0};
    struct buf kind = {0}, name = {0}, within = {0};
    (void)call;
    bool declares = !command->before;
    bool first = tex_read_optional(tex, &before);
    tex_read_text(tex, &kind);
    if (!declares) {
        tex_skip_before(tex, command->before);
        tex_read_text(tex, &name);
        bool last = !first && tex_read_optional(tex, &after);
        if (first || last)
            tex_expand_text(tex, first ? &before : &after, &within);
    }
    if (kind.size)
        define_float(d, buf_slice(&kind), buf_slice(&within));
    if (kind.size && declares)
        name_float(d, buf_slice(&kind), verbatim_option(d, &before, "name"));
    else if (kind.size && first)
        name_float(d, buf_slice(&kind), buf_slice(&name));
    tokens_free(&before);
    tokens_free(&after);
    buf_free(&kind);
    buf_free(&name);
    buf_free(&within);
}

/* \floatname{listing}{Program} */
static void run_float_name(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct buf kind = {0}, name = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &kind);
    tex_read_text(tex, &name);
    name_float(document_of(tex), buf_slice(&kind), buf_slice(&name));
    buf_free(&kind);
    buf_free(&name);
}

/* As the document calls it, or else, also where that is a macro that is not there, as
 * its kind, with a capital letter. */
static void put_float_name(struct document *d, const char *kind,
                           struct buf *ret)
{
    struct buf macro = {0};
    struct tokens list = {0};
    buf_printf(&macro, "%sname", kind);
    uint32_t symbol = tex_find_symbol(&d->tex, buf_slice(&macro));
    if (symbol != UINT32_MAX && strcmp(kind, "figure") &&
        strcmp(kind, "table")) {
        tokens_add(&list, (struct token){.cat = CAT_NAME,
                                         .file = UINT16_MAX,
                                         .value = symbol});
        if (tex_is_expandable(&d->tex, list.items[0]))
            tex_expand_text(&d->tex, &list, ret);
    }
    if (ret->size && memchr(ret->data, '\\', ret->size))
        buf_clear(ret);
    if (!ret->size) {
        buf_put_text(ret, strcmp(kind, "lstlisting") ? kind : "listing");
        if (ret->data[0] >= 'a' && ret->data[0] <= 'z')
            ret->data[0] += 'A' - 'a';
    }
    tokens_free(&list);
    buf_free(&macro);
}

static const char *float_of(struct document *d, bool *ret_table)
{
    *ret_table = false;
    for (size_t i = d->group_count; i-- > 0;) {
        const struct environment *known = d->groups[i].environment;
        if (known && known->begin == begin_float)
            return known->text;
        *ret_table = *ret_table || (known && known->end == tabular_end);
    }
    return *ret_table ? "table" : "figure"; /* longtable's */
}

/* "(a)", which \ref calls "1a": its float may have its own caption, and so its number,
 * below. */
static void number_part(struct document *d, const char *counter,
                        struct buf *ret_prefix)
{
    const char *above = counter + strlen("sub");
    struct slice part = d->labels.number;
    struct buf whole = {0};
    uint32_t at = counter_find(&d->tex, slice_of(above));
    bool bare = part.size && part.data[0] != '(';
    buf_printf(ret_prefix, bare ? "(%.*s) " : "%.*s ", (int)part.size,
               part.data);
    d->tex.counts[at] += !d->float_named;
    buf_put_slice(&whole, sections_number(d, above));
    d->tex.counts[at] -= !d->float_named;
    buf_put_slice(&whole, part);
    d->labels.number = document_keep(d, buf_slice(&whole));
    d->labels.what = slice_of(above);
    buf_free(&whole);
}

static void run_caption(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    bool table, numbered = !tex_read_character(tex, '*');
    const char *counter = float_of(d, &table);
    tex_skip_before(tex, command->before);
    if (command->value) { /* \captionof{figure} */
        struct buf name = {0};
        tex_read_text(tex, &name);
        bool known = counter_find(tex, buf_slice(&name)) != UINT32_MAX;
        counter = known ? document_keep(d, buf_slice(&name)).data : "figure";
        tex_skip_before(tex, "so");
        buf_free(&name);
    } else if (table) {
        numbered = numbered && !d->captioned;
        d->captioned = true;
    }
    d->float_named = d->float_named || !is_part(counter);
    if (!d->in.silent && numbered)
        labels_step(d, counter);
    struct flow *flow = document_open_flow(d, FLOW_CAPTION, call);
    if (!flow)
        return;
    if (!numbered)
        return;
    flow->counter = counter;
    struct buf prefix = {0};
    if (is_part(counter)) {
        number_part(d, counter, &prefix);
    } else {
        put_float_name(d, counter, &prefix);
        buf_printf(&prefix, " %.*s: ", (int)d->labels.number.size,
                   d->labels.number.data);
    }
    document_put(d, call, buf_slice(&prefix));
    document_space(d);
    buf_free(&prefix);
}

void blocks_end_caption(struct document *d, struct flow *flow,
                        const struct context *around)
{
    struct slice text;
    struct span span;
    if (!writer_take(&flow->writer, &text, &span))
        return;
    struct token place = {.file = flow->file,
                          .from = (uint32_t)span.from,
                          .to = (uint32_t)span.to};
    if (document_is_body(d) &&
        (is_prose_kind(around->kind) || !document_flow(d)->writer.open)) {
        d->in.kind = around->kind;
        d->in.info = around->info;
        document_flush(d);
        document_block(d, BLOCK_FIGURE, text, (struct slice){"", 0}, place);
    } else if (document_is_body(d)) {
        MEM_RESERVE(d->asides, &d->aside_capacity, d->aside_count + 1);
        d->asides[d->aside_count++] = (struct aside){
            BLOCK_FIGURE, document_keep(d, text), span, flow->file};
    } else {
        document_space(d);
        document_put(d, place, text);
    }
}

static void run_footnote(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    tex_skip_before(tex, "o");
    if (command->before)
        tex_skip_before(tex, command->before);
    if (document_open_flow(d, command->value, call) && command->text) {
        document_put_text(d, call, command->text);
        document_space(d);
    }
}

/* thebibliography: a section of its own. */
static void begin_bibliography(struct document *d,
                               const struct environment *environment,
                               struct token call)
{
    struct tokens list = {0};
    struct token token = call;
    (void)environment;
    document_flush(d);
    d->bibliography.items = 0;
    token.value =
        tex_symbol_of(&d->tex, d->chaptered ? "@schapter" : "-section*-");
    tokens_add(&list, token);
    token.cat = CAT_BEGIN;
    token.value = '{';
    tokens_add(&list, token);
    token.cat = CAT_NAME;
    token.value = tex_symbol_of(&d->tex, d->chaptered ? "bibname" : "refname");
    tokens_add(&list, token);
    token.cat = CAT_END;
    token.value = '}';
    tokens_add(&list, token);
    tex_push(&d->tex, list);
}

/* ---- The tables ---- */

static const struct command commands[] = {
    {"caption", run_caption, "o", 0, NULL},
    {"captionof", run_caption, NULL, 1, NULL},
    {"newfloat", run_new_float, "m", 0, NULL},
    {"floatname", run_float_name, NULL, 0, NULL},
    {"DeclareFloatingEnvironment", run_new_float, NULL, 0, NULL},
    {"footnote", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"footnotetext", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"thanks", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"marginpar", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"endnote", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"NEWfeature", run_footnote, NULL, FLOW_FOOTNOTE,
     "New feature"}, /* ltxguide */
    {"NEWdescription", run_footnote, NULL, FLOW_FOOTNOTE, "New description"},
};

/* Also where a class beside the document sets them anew. */
static const struct command notes[] = {
    {"sidenote", run_footnote, "o", FLOW_FOOTNOTE, NULL},
    {"sidenotetext", run_footnote, "o", FLOW_FOOTNOTE, NULL},
    {"marginnote", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
};

void blocks_keep_notes(struct document *d, bool keep)
{
    tex_keep_commands(&d->tex, notes, sizeof notes / sizeof *notes, keep);
}

static const struct command firm[] = {
    {"par", run_par, NULL, 0, NULL},
    {"endgraf", run_par, NULL, 0, NULL},
};

#define BLOCK(name, begin, end, before)                                        \
    {                                                                          \
        name, begin, end, before, 0, NULL, 0                                   \
    }
#define FLOAT(name, counter)                                                   \
    {                                                                          \
        name, begin_float, end_paragraph, "o", 0, counter, 0                   \
    }
#define WRAPPED(name, before, counter)                                         \
    {                                                                          \
        name, begin_float, end_paragraph, before, 0, counter, 0                \
    }
#define NOTE(name, before, kind)                                               \
    {                                                                          \
        name, blocks_begin_note, blocks_end_kind, before, 0, kind, 0           \
    }

static const struct environment environments[] = {
    BLOCK("quote", begin_quote, blocks_end_kind, NULL),
    BLOCK("quotation", begin_quote, blocks_end_kind, NULL),
    BLOCK("verse", begin_quote, blocks_end_kind, "o"),
    BLOCK("displayquote", begin_quote, blocks_end_kind, "oo"),
    BLOCK("center", begin_paragraph, end_paragraph, NULL),
    BLOCK("flushleft", begin_paragraph, end_paragraph, NULL),
    BLOCK("flushright", begin_paragraph, end_paragraph, NULL),
    BLOCK("abstract", begin_paragraph, end_paragraph, NULL),
    BLOCK("titlepage", begin_paragraph, end_paragraph, NULL),
    BLOCK("minipage", begin_paragraph, end_paragraph, "ooom"),
    BLOCK("varwidth", begin_paragraph, end_paragraph, "om"),
    BLOCK("multicols", begin_columns, end_paragraph, "m"),
    BLOCK("multicols*", begin_paragraph, end_paragraph, "mo"),
    BLOCK("adjustwidth", begin_paragraph, end_paragraph, "mm"),
    BLOCK("adjustwidth*", begin_paragraph, end_paragraph, "mm"),
    BLOCK("addmargin", begin_paragraph, end_paragraph, "om"),
    BLOCK("addmargin*", begin_paragraph, end_paragraph, "om"),
    BLOCK("adjustbox", begin_paragraph, end_paragraph, "m"),
    BLOCK("landscape", begin_paragraph, end_paragraph, NULL),
    BLOCK("spacing", begin_paragraph, end_paragraph, "m"),
    BLOCK("onehalfspace", begin_paragraph, end_paragraph, NULL),
    BLOCK("sloppypar", begin_paragraph, end_paragraph, NULL),
    BLOCK("trivlist", begin_paragraph, end_paragraph, NULL),
    BLOCK("otherlanguage", begin_paragraph, end_paragraph, "m"),
    BLOCK("otherlanguage*", begin_paragraph, end_paragraph, "m"),
    BLOCK("lrbox", begin_paragraph, end_paragraph, "m"),
    BLOCK("picture", begin_paragraph, end_paragraph, "pp"),
    BLOCK("columns", begin_paragraph, end_paragraph, "o"),
    BLOCK("column", begin_paragraph, end_paragraph, "om"),
    BLOCK("thebibliography", begin_bibliography, end_paragraph, "m"),
    BLOCK("theindex", begin_paragraph, end_paragraph, NULL),
    BLOCK("alltt", begin_alltt, end_alltt, NULL),
    BLOCK("-marked-", begin_alltt, end_alltt, "o"), /* fancyvrb's */
    BLOCK("sphinxVerbatim", begin_alltt, end_alltt, "o"),
    {"DoxyCode", begin_doxygen, end_alltt, NULL, 0, NULL, 2},
    {"DoxyCodeInclude", begin_doxygen, end_alltt, NULL, 0, NULL, 2},
    FLOAT("figure", "figure"),
    FLOAT("figure*", "figure"),
    WRAPPED("wrapfigure", "omom", "figure"),
    WRAPPED("wrapfloat", "momom", "figure"),
    WRAPPED("subfigure", "oom", "subfigure"),
    WRAPPED("subtable", "oom", "subtable"),
    FLOAT("SCfigure", "figure"),
    FLOAT("sidewaysfigure", "figure"),
    FLOAT("table", "table"),
    FLOAT("table*", "table"),
    WRAPPED("wraptable", "omom", "table"),
    FLOAT("sidewaystable", "table"),
    FLOAT("algorithm", "algorithm"),
    FLOAT("algorithm*", "algorithm"),
    FLOAT("algorithm2e", "algorithm"),
    NOTE("framed", NULL, "note"),
    NOTE("shaded", NULL, "note"),
    NOTE("snugshade", NULL, "note"),
    NOTE("leftbar", NULL, "note"),
    NOTE("note", NULL, "note"),
    NOTE("warning", NULL, "warning"),
    NOTE("block", "am", "note"),
    NOTE("alertblock", "am", "note"),
    NOTE("exampleblock", "am", "note"),
};

void blocks_add(struct document *d)
{
    tex_define_text(&d->tex, "lstlistingname", "Listing"); /* of listings */
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, notes, sizeof notes / sizeof *notes,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, firm, sizeof firm / sizeof *firm, MEANING_COMMAND,
                     true);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
