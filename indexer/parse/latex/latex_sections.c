/* Sections, their numbers, and what classes say of them. */
#include <stdlib.h>

#include "indexer/parse/latex/latex_internal.h"

static const char *const counters[] = {
    "part",          "chapter",   "section",     "subsection",
    "subsubsection", "paragraph", "subparagraph"};

enum { PART = -1, CHAPTER, SECTION, SUBPARAGRAPH = 5 };

/* ---- Numbers ---- */

static int64_t count_of(struct document *d, const char *name)
{
    uint32_t index = counter_find(&d->tex, slice_of(name));
    return index == UINT32_MAX ? 0 : d->tex.counts[index];
}

static void set_count(struct document *d, const char *name, int64_t value)
{
    uint32_t index = counter_find(&d->tex, slice_of(name));
    if (index != UINT32_MAX)
        d->tex.counts[index] = value;
}

static struct slice expanded(struct document *d, const char *prefix,
                             const char *name)
{
    struct buf whole = {0}, text = {0};
    struct tokens list = {0};
    buf_printf(&whole, "%s%s", prefix, name);
    struct token token = {.cat = CAT_NAME, .file = UINT16_MAX};
    token.value = tex_symbol(&d->tex, buf_slice(&whole));
    tokens_add(&list, token);
    if (tex_is_expandable(&d->tex, token))
        tex_expand_text(&d->tex, &list, &text);
    buf_clear(&whole);
    /* Formatting around a number is none of it. */
    for (size_t at = 0; at < text.size; at++) {
        if (text.data[at] != '\\') {
            buf_put_byte(&whole, text.data[at]);
            continue;
        }
        size_t accent = text_put_accent(
            (struct slice){text.data + at + 1, text.size - at - 1}, &whole);
        bool named = !accent || text.data[at + accent - 1] == '\\';
        at += accent;
        while (!accent && at + 1 < text.size &&
               ((text.data[at + 1] | 32) >= 'a') &&
               ((text.data[at + 1] | 32) <= 'z'))
            at++;
        at += named && at + 1 < text.size && text.data[at + 1] == ' ';
    }
    struct slice kept = document_keep(d, buf_slice(&whole));
    tokens_free(&list);
    buf_free(&text);
    buf_free(&whole);
    return kept;
}

struct slice sections_number(struct document *d, const char *name)
{
    return expanded(d, "the", name);
}

/* ---- Classes ---- */

static void within(struct document *d, const char *name, const char *above)
{
    counter_reset_within(&d->tex, slice_of(name), slice_of(above));
}

static void chaptered(struct document *d)
{
    struct tex *tex = &d->tex;
    d->chaptered = true;
    set_count(d, "secnumdepth", 2);
    within(d, "section", "chapter");
    within(d, "figure", "chapter");
    within(d, "table", "chapter");
    within(d, "equation", "chapter");
    within(d, "footnote", "chapter");
    tex_define_text(tex, "thesection", "\\thechapter.\\arabic{section}");
    tex_define_text(tex, "thefigure", "\\thechapter.\\arabic{figure}");
    tex_define_text(tex, "thetable", "\\thechapter.\\arabic{table}");
    tex_define_text(tex, "theequation", "\\thechapter.\\arabic{equation}");
}

void sections_class(struct document *d, struct slice name)
{
    static const char *const books[] = {
        "book",       "report",  "memoir",   "scrbook",     "scrreprt",
        "scrreport",  "amsbook", "extbook",  "extreport",   "octavo",
        "tufte-book", "svmono",  "ctexbook", "ctexrep",     "jsbook",
        "refrep",     "boek",    "rapport1", "sphinxmanual"};
    static const char *const articles[] = {
        "article",    "scrartcl", "ltxdoc",     "amsart", "extarticle",
        "proc",       "ltxguide", "l3doc",      "amsdtx", "beamer",
        "letter",     "minimal",  "standalone", "ltnews", "tufte-handout",
        "artikel1",   "artikel3", "IEEEtran",   "acmart", "llncs",
        "sphinxhowto"};
    for (size_t i = 0; i < sizeof books / sizeof *books; i++)
        if (slice_is(name, books[i]) && !d->classed) {
            d->classed = true;
            chaptered(d);
            if (slice_is(name, "memoir")) {
                set_count(d, "secnumdepth", 1);
                d->all_unnumbered = true;
            }
        }
    for (size_t i = 0; i < sizeof articles / sizeof *articles; i++)
        if (slice_is(name, articles[i]))
            d->classed = true;
    d->slides |= slice_is(name, "beamer");
    if (slice_is(name, "ximera") || slice_is(name, "xourse"))
        ximera_add(d);
}

/* ---- Headings ---- */

/* What is open that no section stands in. */
static void leave(struct document *d, struct token call)
{
    while (d->flow_count > 1)
        document_close(d);
    document_flush(d);
    size_t entry = SIZE_MAX;
    for (size_t i = 0; i < d->group_count && entry == SIZE_MAX; i++)
        if (d->groups[i].entry)
            entry = i;
    if (entry != SIZE_MAX)
        tex_report(&d->tex, call, "a section within a reference entry");
    document_close_to(d, entry);
    if (d->in.kind != BLOCK_PARAGRAPH && d->in.kind != BLOCK_NOTE &&
        d->in.kind != BLOCK_QUOTE)
        tex_report(&d->tex, call, "a section within a list or table");
    d->in = (struct context){.kind = BLOCK_PARAGRAPH, .silent = d->in.silent};
}

int sections_level(struct slice name)
{
    for (int i = 0; i < 7; i++)
        if (slice_is(name, counters[i]))
            return i - 1;
    return -2;
}

bool sections_begun_by(const struct document *d, const struct macro *macro)
{
    for (size_t i = 0; i < macro->body.count; i++) {
        struct token token = macro->body.items[i];
        if (token.cat == CAT_NAME &&
            sections_level(d->tex.symbols[token.value].name) > -2)
            return true;
    }
    return false;
}

static bool is_numbered(struct document *d, int level)
{
    return d->is_document && level <= count_of(d, "secnumdepth") &&
           (!d->unnumbered || level == PART ||
            (level > CHAPTER && !d->all_unnumbered));
}

static bool is_below_zero(struct slice number)
{
    size_t at = 1;
    while (at < number.size && strchr("0123456789.", number.data[at]))
        at++;
    return number.data[0] == '-' && at > 1 && at == number.size;
}

static void put_number(struct document *d, struct flow *flow, int level,
                       struct token call)
{
    struct buf prefix = {0};
    struct slice number = sections_number(d, counters[level + 1]);
    flow->number = number;
    if (level <= CHAPTER) {
        const char *name = level == PART ? "part"
                           : d->appendix ? "appendix"
                                         : "chapter";
        struct buf macro = {0};
        buf_printf(&macro, "%sname", name);
        struct slice what = expanded(d, "", macro.data);
        buf_printf(&prefix, "%.*s %.*s. ", (int)what.size, what.data,
                   (int)number.size, number.data);
        buf_free(&macro);
    } else if (number.size && !is_below_zero(number)) {
        /* Below zero it is counted to leave a summary out of the numbers. */
        buf_printf(&prefix, "%.*s ", (int)number.size, number.data);
    }
    if (number.size && prefix.size)
        writer_literal(&flow->writer, buf_slice(&prefix),
                       (struct span){call.from, call.to});
    buf_free(&prefix);
}

/* Reads "[short]"; before an empty title it is the title: "\\section[name]{}". */
static void read_short_title(struct tex *tex)
{
    struct tokens title = {0}, brief = {0};
    if (!tex_read_optional(tex, &brief))
        return;
    tex_skip_before(tex, "o");
    struct token open = tex_next_solid(tex);
    if (open.cat != CAT_BEGIN) {
        tex_unread(tex, open);
        tokens_free(&brief);
        return;
    }
    struct token close = tex_next_solid(tex);
    if (close.cat == CAT_END) {
        tokens_add(&title, open);
        tokens_add_all(&title, brief.items, brief.count);
        tokens_add(&title, close);
        tex_push(tex, title);
    } else {
        tex_unread(tex, close);
        tex_unread(tex, open);
    }
    tokens_free(&brief);
}

static void heading(struct document *d, int level, bool star, struct token call)
{
    struct tex *tex = &d->tex;
    leave(d, call);
    if (level == CHAPTER && !d->chaptered)
        chaptered(d);
    read_short_title(tex);
    bool numbered = !star && is_numbered(d, level) && !d->in.silent;
    if (numbered)
        counter_step(tex, slice_of(counters[level + 1]));
    size_t first_ref = d->outline.ref_count;
    struct flow *flow = document_open_flow(d, FLOW_TITLE, call);
    if (!flow)
        return;
    flow->level = level;
    flow->first_ref = first_ref;
    flow->file = call.file;
    flow->number = (struct slice){"", 0};
    if (numbered)
        put_number(d, flow, level, call);
    flow->prefix = flow->writer.text.size;
    if (flow->prefix)
        flow->prefix++; /* the space that parts them */
}

/* memoir: what a document has done after each chapter's title. */
static void end_chapter_title(struct document *d, struct token call)
{
    call.cat = CAT_NAME;
    call.value = tex_symbol_of(&d->tex, "memendofchapterhook");
    call.flags |= TOKEN_MADE;
    if (tex_meaning(&d->tex, call)->kind == MEANING_MACRO)
        tex_unread(&d->tex, call);
}

static void end_entry(struct document *d, const struct flow *flow,
                      struct slice title, struct span span)
{
    struct slice none = {"", 0};
    bool whole = outline_entry(&d->outline, title, none, span, flow->first_ref);
    outline_settle(&d->outline);
    if (!whole)
        outline_block(&d->outline, BLOCK_PARAGRAPH, title, none, span);
    labels_settle(d);
    index_settle(d);
}

void sections_open_entry(struct document *d, struct token call)
{
    size_t first_ref = d->outline.ref_count;
    struct flow *flow = document_open_flow(d, FLOW_TITLE, call);
    if (!flow)
        return;
    flow->entry = true;
    flow->level = SUBPARAGRAPH;
    flow->first_ref = first_ref;
    flow->file = call.file;
}

void sections_end_title(struct document *d, struct flow *flow)
{
    struct slice title;
    struct span span;
    int level = flow->level + 2;
    if (flow->level == CHAPTER)
        end_chapter_title(d, flow->opened);
    if (d->in.silent || !writer_take(&flow->writer, &title, &span)) {
        labels_settle(d);
        index_settle(d);
        return;
    }
    if (span.from > flow->opened.from && flow->file == flow->opened.file)
        span.from = flow->opened.from;
    if (span.to < span.from)
        span.to = span.from;
    d->outline.file = flow->file;
    if (flow->entry) {
        end_entry(d, flow, title, span);
        return;
    }
    outline_settle(&d->outline);
    outline_heading(&d->outline, level, false, title, (struct slice){"", 0},
                    span, flow->first_ref);
    struct outline_node *node = &d->outline.nodes[d->outline.count - 1];
    if (node->level > 6)
        node->level = 6;
    outline_settle(&d->outline);
    d->labels.section = d->labels.heading = document_keep(d, title);
    if (flow->prefix < title.size) {
        d->labels.heading.data += flow->prefix;
        d->labels.heading.size -= flow->prefix;
    }
    d->labels.number = flow->number;
    d->labels.what = slice_of(counters[flow->level + 1]);
    contents_heading(d);
    labels_settle(d);
    index_settle(d);
}

static void run_section(struct tex *tex, const struct command *command,
                        struct token call)
{
    bool star = tex_read_character(tex, '*') ||
                (command->text && command->text[0] == '*');
    heading(document_of(tex), command->value, star, call);
}

/* beamer's \frametitle<..>[short]{title} */
static void run_frame_title(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct document *d = document_of(tex);
    d->slides = true;
    tex_skip_before(tex, "a");
    heading(d, command->value, true, call);
}

/* Plain TeX's own: the title goes on to the end of the paragraph. */
static void run_beginsection(struct tex *tex, const struct command *command,
                             struct token call)
{
    enum { MAX_TITLE = 200 };
    struct tokens title = {0};
    struct token brace = call, token = tex_next_solid(tex);
    brace.cat = CAT_BEGIN;
    brace.value = '{';
    tokens_add(&title, brace);
    while (!tex_at_end(tex, token) && title.count < MAX_TITLE &&
           !(token.cat == CAT_NAME && token.value == tex->par)) {
        tokens_add(&title, token);
        token = tex_next(tex);
    }
    brace.cat = CAT_END;
    brace.value = '}';
    tokens_add(&title, brace);
    tex_unread(tex, token);
    tex_push(tex, title);
    heading(document_of(tex), command->value, true, call);
}

/* \@startsection{name}{level}{indent}{before}{after}{style}: numbered as far as
 * the level says, as a title of no section is given an endless one. */
static void run_startsection(struct tex *tex, const struct command *command,
                             struct token call)
{
    struct buf name = {0};
    (void)command;
    tex_read_text(tex, &name);
    int level = sections_level(buf_slice(&name));
    buf_free(&name);
    int64_t given = number_read_argument(tex, false);
    bool endless = given > SUBPARAGRAPH;
    if (level < PART) /* a name of the document's own */
        level = given > SECTION && !endless ? (int)given : SECTION;
    tex_skip_before(tex, "mmmm");
    bool star = tex_read_character(tex, '*') || endless;
    heading(document_of(tex), level, star, call);
}

/* \secdef\a\b: \b with a star. */
static void run_secdef(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens plain = {0}, starred = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &plain);
    tex_read_argument(tex, &starred);
    bool star = tex_read_character(tex, '*');
    tokens_free(star ? &plain : &starred);
    tex_push(tex, star ? starred : plain);
}

static void run_appendix(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    const char *name = d->chaptered ? "chapter" : "section";
    d->appendix = true;
    d->unnumbered = false;
    set_count(d, name, 0);
    tex_define_text(tex, d->chaptered ? "thechapter" : "thesection",
                    d->chaptered ? "\\Alph{chapter}" : "\\Alph{section}");
}

static void run_matter(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    (void)call;
    tex_read_character(tex, '*');
    document_flush(d);
    d->unnumbered = command->value != 0;
}

/* memoir: \setsecnumdepth{subsection}. */
static void run_depth(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct buf name = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &name);
    for (int i = 0; i < 7; i++)
        if (slice_is(buf_slice(&name), counters[i]))
            set_count(document_of(tex), "secnumdepth", i - 1);
    if (slice_is(buf_slice(&name), "all"))
        set_count(document_of(tex), "secnumdepth", SUBPARAGRAPH);
    if (slice_is(buf_slice(&name), "none"))
        set_count(document_of(tex), "secnumdepth", -2);
    buf_free(&name);
}

/* \title[short]{..}, which classes of the document's own find as \@title. */
static void run_title(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    struct tokens title = {0}, list = {0};
    (void)command;
    tex_skip_before(tex, "so"); /* Springer's classes have \title* */
    tex_read_argument(tex, &title);
    struct macro macro = {.body = title};
    tex->global = true;
    define_macro(tex, tex_symbol_of(tex, "@title"), macro);
    call.cat = CAT_BEGIN;
    tokens_add(&list, call);
    tokens_add_all(&list, title.items, title.count);
    call.cat = CAT_END;
    tokens_add(&list, call);
    tokens_free(&title);
    tex_push(tex, list);
    if (document_open_flow(d, FLOW_NAME, call))
        d->in.silent = false;
}

/* At the head of a \maketitle of the document's own class, which then has a
 * \title of its own, too: \@title is what that was given. */
static void run_class_title(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct meaning meaning = *tex_meaning(
        tex,
        (struct token){.cat = CAT_NAME, .value = tex_symbol_of(tex, "@title")});
    struct document *d = document_of(tex);
    struct tokens list = {0};
    if (d->title.size || meaning.kind != MEANING_MACRO ||
        !meaning.macro->body.count)
        return;
    call.cat = CAT_BEGIN;
    tokens_add(&list, call);
    tokens_add_all(&list, meaning.macro->body.items, meaning.macro->body.count);
    call.cat = CAT_END;
    tokens_add(&list, call);
    tex_push(tex, list);
    run_title(tex, command, call);
}

/* \documentclass, \documentstyle, whose options are packages too (LaTeX 2.09), and
 * \LoadClass, by which a class is made of another. */
enum { CLASS_DOCUMENT, CLASS_STYLE, CLASS_LOADED, CLASS_SAME };

/* LaTeX's own classes, in which |x| is code and ^^A begins a comment. */
static bool documents_code(struct slice class)
{
    return slice_is(class, "ltxdoc") || slice_is(class, "l3doc") ||
           slice_is(class, "ltxguide") || slice_is(class, "amsldoc");
}

static void run_class(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0}, file = {0}, packages = {0};
    struct tokens list = {0};
    tex->classed = true;
    tex_read_optional(tex, &list);
    if (command->value == CLASS_STYLE)
        tex_expand_text(tex, &list, &packages);
    if (command->value == CLASS_SAME && d->packages)
        tokens_add_all(&list, d->marks[d->packages - 1].options.items,
                       d->marks[d->packages - 1].options.count);
    if (command->value <= CLASS_STYLE && !d->begun)
        d->class_options = define_keep(tex, &list);
    tex_read_text(tex, &name);
    if (documents_code(buf_slice(&name)))
        tex_set_catcode(tex, 1, CAT_COMMENT, true); /* ^^A */
    tex_skip_before(tex, "o");
    sections_class(d, buf_slice(&name));
    buf_printf(&file, "%.*s.cls", (int)name.size, buf_slice(&name).data);
    if (!d->begun && !d->is_document) { /* its preamble is another file */
        d->is_document = true;
        d->in.silent = true;
    }
    if (documents_code(buf_slice(&name)))
        verb_between_bars(d);
    if (slice_is(buf_slice(&name), "cnltx-doc"))
        entries_cnltx(d);
    if (slice_is(buf_slice(&name), "amsldoc"))
        text_add_logos(d);
    inputs_open_packages(d, buf_slice(&packages), NULL, call);
    if (!d->classed)
        inputs_open_package(d, buf_slice(&file), &list, call);
    else
        packages_asked(tex, buf_slice(&file), &list);
    tokens_free(&list);
    buf_free(&packages);
    buf_free(&name);
    buf_free(&file);
}

static const struct command commands[] = {
    {"part", run_section, NULL, PART, NULL},
    {"chapter", run_section, NULL, CHAPTER, NULL},
    {"section", run_section, NULL, SECTION, NULL},
    {"subsection", run_section, NULL, 2, NULL},
    {"subsubsection", run_section, NULL, 3, NULL},
    {"paragraph", run_section, NULL, 4, NULL},
    {"subparagraph", run_section, NULL, SUBPARAGRAPH, NULL},
    {"subsec", run_section, NULL, 2,
     NULL}, /* as documents of plain TeX call it */
    {"subsubsec", run_section, NULL, 3, NULL},
    {"frametitle", run_frame_title, NULL, 4, NULL},
    {"beginsection", run_beginsection, NULL, SECTION, NULL},
    {"addpart", run_section, NULL, PART, "*"},
    {"addchap", run_section, NULL, CHAPTER, "*"},
    {"addsec", run_section, NULL, SECTION, "*"},
    {"PoemTitle", run_section, NULL, 2, "*"}, /* memoir's */
    {"appendix", run_appendix, NULL, 0, NULL},
    {"frontmatter", run_matter, NULL, 1, NULL},
    {"mainmatter", run_matter, NULL, 0, NULL},
    {"backmatter", run_matter, NULL, 1, NULL},
    {"setsecnumdepth", run_depth, NULL, 0, NULL},
    {"maxsecnumdepth", run_depth, NULL, 0, NULL},
    {"title", run_title, NULL, 0, NULL},
};
static const struct command firm[] = {
    {"@chapter", run_section, NULL, CHAPTER, NULL},
    {"@schapter", run_section, NULL, CHAPTER, "*"},
    {"@part", run_section, NULL, PART, NULL},
    {"@spart", run_section, NULL, PART, "*"},
    {"-section*-", run_section, NULL, SECTION, "*"},
    {"lectern@title", run_class_title, NULL, 0, NULL},
    {"@startsection", run_startsection, NULL, 0, NULL},
    {"secdef", run_secdef, NULL, 0, NULL},
    {"documentclass", run_class, NULL, CLASS_DOCUMENT, NULL},
    {"documentstyle", run_class, NULL, CLASS_STYLE, NULL},
    {"LoadClass", run_class, NULL, CLASS_LOADED, NULL},
    {"LoadClassWithOptions", run_class, NULL, CLASS_SAME, NULL},
};

static void new_counter(struct document *d, const char *name, const char *above)
{
    counter_new(&d->tex, slice_of(name), slice_of(above));
}

void sections_add(struct document *d)
{
    struct tex *tex = &d->tex;
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex_add_commands(tex, firm, sizeof firm / sizeof *firm, MEANING_COMMAND,
                     true);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].run == run_section && !commands[i].text)
            tex_symbol_at(tex, commands[i].name)->meaning.heading = true;
    static const char *const others[] = {
        "figure",  "table",       "equation",   "footnote",  "mpfootnote",
        "page",    "secnumdepth", "tocdepth",   "enumi",     "enumii",
        "enumiii", "enumiv",      "lstlisting", "algorithm", "listing"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        new_counter(d, others[i], "");
    new_counter(d, "subfigure", "figure");
    new_counter(d, "subtable", "table");
    tex_define_text(tex, "thesubfigure", "\\alph{subfigure}");
    tex_define_text(tex, "thesubtable", "\\alph{subtable}");
    new_counter(d, "part", "");
    new_counter(d, "chapter", "");
    new_counter(d, "section", "");
    for (int i = 3; i < 7; i++)
        new_counter(d, counters[i], counters[i - 1]);
    set_count(d, "secnumdepth", 3);
    tex_define_text(tex, "-title-", "\\gpreto\\maketitle{\\lectern@title}");
    tex_define_text(tex, "thepart", "\\Roman{part}");
    tex_define_text(tex, "thesubsection", "\\thesection.\\arabic{subsection}");
    tex_define_text(tex, "thesubsubsection",
                    "\\thesubsection.\\arabic{subsubsection}");
    tex_define_text(tex, "theparagraph",
                    "\\thesubsubsection.\\arabic{paragraph}");
    tex_define_text(tex, "thesubparagraph",
                    "\\theparagraph.\\arabic{subparagraph}");
    tex_define_text(tex, "partname", "Part");
    tex_define_text(tex, "chaptername", "Chapter");
    tex_define_text(tex, "appendixname", "Appendix");
    tex_define_text(tex, "figurename", "Figure");
    tex_define_text(tex, "tablename", "Table");
    tex_define_text(tex, "bibname", "Bibliography");
    tex_define_text(tex, "refname", "References");
    tex_define_text(tex, "contentsname", "Contents");
    tex_define_text(tex, "indexname", "Index");
    tex_define_text(tex, "abstractname", "Abstract");
    tex_define_text(tex, "proofname", "Proof");
}
