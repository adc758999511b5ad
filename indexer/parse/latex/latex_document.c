#include "indexer/parse/latex/latex_internal.h"

#include <stdlib.h>

#include "base/text.h"

static const struct span NOWHERE = {UINT64_MAX, 0};

struct slice document_keep(struct document *d, struct slice text)
{
    return (struct slice){
        arena_copy(&d->outline.arena, text.data ? text.data : "", text.size),
        text.size};
}

bool document_is_body(const struct document *d)
{
    return d->flow_count == 1;
}

/* ---- Text ---- */

static struct span place_in(struct flow *flow, struct token token)
{
    if (!flow->writer.open)
        flow->file = token.file;
    return token.file == flow->file ? (struct span){token.from, token.to}
                                    : NOWHERE;
}

static void put_exact(struct writer *w, struct slice text, struct span span)
{
    if (!w->open)
        w->span = NOWHERE;
    w->open = true;
    buf_put_slice(&w->text, text);
    w->written += text.size;
    if (span.from < w->span.from)
        w->span.from = span.from;
    if (span.to > w->span.to)
        w->span.to = span.to;
}

void document_put(struct document *d, struct token token, struct slice text)
{
    struct flow *flow = document_flow(d);
    if (d->in.silent)
        return;
    if (flow->kind == FLOW_BODY && flow->writer.open &&
        flow->file != token.file)
        document_flush(d);
    struct span span = place_in(flow, token);
    if (flow->writer.exact)
        put_exact(&flow->writer, text, span);
    else
        writer_literal(&flow->writer, text, span);
    d->last = 0;
}

void document_put_text(struct document *d, struct token token, const char *text)
{
    document_put(d, token, slice_of(text));
}

void document_space(struct document *d)
{
    struct flow *flow = document_flow(d);
    d->last = 0;
    if (flow->writer.exact && flow->writer.open)
        buf_put_byte(&flow->writer.text, ' ');
    else
        flow->writer.space = true;
}

/* -- and --- are dashes, `` and '' quotation marks: what the one before made
 * of is taken back. */
static const struct {
    uint32_t first, second;
    const char *old, *now;
    uint32_t next; /* what it counts as */
} ligatures[] = {{'-', '-', "-", "–", 0x2013}, {0x2013, '-', "–", "—", 0},
                 {'`', '`', "‘", "“", 0},      {'\'', '\'', "’", "”", 0},
                 {'?', '`', "?", "¿", 0},      {'!', '`', "!", "¡", 0}};

static bool join(struct document *d, struct token token)
{
    struct writer *w = &document_flow(d)->writer;
    for (size_t i = 0; i < sizeof ligatures / sizeof *ligatures; i++) {
        size_t size = strlen(ligatures[i].old);
        if (d->last != ligatures[i].first ||
            token.value != ligatures[i].second || w->text.size < size ||
            w->space)
            continue;
        w->text.size -= size;
        uint32_t next = ligatures[i].next;
        document_put_text(d, token, ligatures[i].now);
        d->last = next;
        return true;
    }
    return false;
}

static void put_character(struct document *d, struct token token)
{
    char bytes[4];
    size_t size = 1;
    uint32_t c = token.value;
    if (d->in.silent || c < ' ' || c == 0x7f)
        return;
    bool plain = !d->in.mono && !document_flow(d)->writer.exact;
    bool mark = c == '-' || c == '`' || c == '\'' || c == '?' || c == '!';
    if (plain && mark && d->last && join(d, token))
        return;
    if (c < 0x80) {
        bytes[0] = (char)c;
    } else {
        struct buf wide = {0};
        text_encode(&wide, c);
        size = wide.size;
        memcpy(bytes, wide.data, size);
        buf_free(&wide);
    }
    struct slice text = {bytes, size};
    if (plain && c == '`')
        text = slice_of("‘");
    else if (plain && c == '\'')
        text = slice_of("’");
    document_put(d, token, text);
    d->last = plain && mark ? c : 0;
}

/* ---- Blocks ---- */

void document_block(struct document *d, int kind, struct slice text,
                    struct slice info, struct token place)
{
    if (d->in.silent || !text.size)
        return;
    d->outline.file = place.file;
    outline_block(&d->outline, kind, text, info,
                  (struct span){place.from, place.to});
}

static void put_asides(struct document *d)
{
    for (size_t i = 0; i < d->aside_count; i++) {
        const struct aside *aside = &d->asides[i];
        d->outline.file = aside->file;
        outline_block(&d->outline, aside->kind, aside->text,
                      (struct slice){"", 0}, aside->span);
    }
    d->aside_count = 0;
}

enum { MAX_TITLE = 200 }; /* bytes of a large paragraph; of more it is a text */

static void set_title(struct document *d, struct slice text, struct span span,
                      uint16_t file)
{
    d->title = document_keep(d, text);
    d->title_span = span;
    d->title_file = file;
}

/* "DraftDraftDraft", a word again and again: what is printed over a page. */
static bool is_mark(struct slice text)
{
    for (size_t word = 3; word <= text.size / 2; word++)
        if (!(text.size % word) &&
            !memcmp(text.data, text.data + word, text.size - word))
            return true;
    return false;
}

void document_flush(struct document *d)
{
    struct flow *flow = &d->flows[0];
    struct slice text;
    struct span span;
    d->last = 0;
    flow->writer.next = (struct separator){0};
    flow->blocks++;
    if (writer_take(&flow->writer, &text, &span) && text.size) {
        if (span.from > span.to)
            span = (struct span){0, 0};
        if (d->large && d->in.kind == BLOCK_PARAGRAPH &&
            text.size <= MAX_TITLE && !is_mark(text))
            set_title(d, text, span, flow->file);
        d->large = false;
        if (!contents_paragraph(d, text, span, flow->file)) {
            d->outline.file = flow->file;
            outline_block(&d->outline, d->in.kind, text, d->in.info, span);
        }
    }
    put_asides(d);
}

/* ---- Groups ---- */

struct group *document_open(struct document *d, int kind, struct token token)
{
    if (d->group_count >= MAX_GROUPS) {
        tex_report(&d->tex, token, "groups within groups without end");
        tex_abandon(&d->tex);
        document_close_to(d, MAX_GROUPS / 2);
    }
    MEM_RESERVE(d->groups, &d->group_capacity, d->group_count + 1);
    struct group *group = &d->groups[d->group_count++];
    *group = (struct group){.kind = kind, .outer = d->in, .opened = token};
    tex_open_group(&d->tex);
    return group;
}

/* A paragraph of its own, behind the one that is being read. */
static void add_aside(struct document *d, struct slice text, struct span span,
                      uint16_t file)
{
    MEM_RESERVE(d->asides, &d->aside_capacity, d->aside_count + 1);
    d->asides[d->aside_count++] =
        (struct aside){BLOCK_PARAGRAPH, document_keep(d, text), span, file};
}

/* Of the document; one behind headings is of a part that is put in. */
static void end_name(struct document *d, struct flow *flow)
{
    struct slice text;
    struct span span;
    if (!writer_take(&flow->writer, &text, &span))
        return;
    if (!d->title.size || !d->outline.count)
        set_title(d, text, span, flow->file);
    else if (!slice_equal(text, d->title))
        add_aside(d, text, span, flow->file);
}

static void end_footnote(struct document *d, struct flow *flow)
{
    struct slice text;
    struct span span;
    if (writer_take(&flow->writer, &text, &span))
        add_aside(d, text, span, flow->file);
}

/* around: what it stands in */
static void end_flow(struct document *d, const struct context *around)
{
    struct flow *flow = document_flow(d);
    d->flow_count--;
    switch (flow->kind) {
    case FLOW_TITLE: sections_end_title(d, flow); break;
    case FLOW_CAPTION: blocks_end_caption(d, flow, around); break;
    case FLOW_INDEX: index_end_entry(d, flow); break;
    case FLOW_CONTENTS: contents_end_line(d, flow); break;
    case FLOW_NAME: end_name(d, flow); break;
    case FLOW_FOOTNOTE: end_footnote(d, flow); break;
    default: break;
    }
    buf_free(&flow->writer.text);
    if (document_is_body(d) && !document_flow(d)->writer.open)
        put_asides(d);
}

static void end_link(struct document *d, const struct group *group)
{
    const struct flow *flow = document_flow(d);
    const struct buf *text = &flow->writer.text;
    size_t from = group->block == flow->blocks ? group->mark : 0;
    while (from < text->size && text->data[from] == ' ')
        from++; /* what stands before it is put with its first word */
    if (d->in.silent || from >= text->size)
        return;
    outline_ref(&d->outline,
                (struct slice){text->data + from, text->size - from},
                group->url);
}

/* Undoes the group on top, whatever opened it. */
void document_close(struct document *d)
{
    if (d->groups[d->group_count - 1].diversion)
        boxes_end(d, false);
    struct group group = d->groups[--d->group_count];
    if (group.kind == GROUP_ENVIRONMENT && group.environment &&
        group.environment->end)
        group.environment->end(d, &group);
    if (group.kind == GROUP_FLOW)
        end_flow(d, &group.outer);
    if (group.kind == GROUP_LINK)
        end_link(d, &group);
    if (d->in.kind == BLOCK_CODE && group.outer.kind != BLOCK_CODE &&
        document_is_body(d) && document_flow(d)->writer.exact) {
        document_flush(d); /* \obeylines\tt */
        document_flow(d)->writer.exact = false;
    }
    d->in = group.outer;
    if (group.entry)
        outline_close(&d->outline);
    tex_close_group(&d->tex);
}

void document_close_to(struct document *d, size_t count)
{
    while (d->group_count > count)
        document_close(d);
}

struct group *document_open_argument(struct document *d, int kind,
                                     struct token call)
{
    struct token token = tex_next_solid(&d->tex);
    if (token.cat != CAT_BEGIN) {
        struct tokens list = {0};
        struct token end = call;
        end.cat = CAT_END;
        end.value = '}';
        if (token.cat != CAT_NONE && token.cat != CAT_END &&
            token.cat != CAT_STOP)
            tokens_add(&list, token);
        else
            tex_unread(&d->tex, token);
        tokens_add(&list, end);
        tex_push(&d->tex, list);
    }
    return document_open(d, kind, call);
}

struct flow *document_open_flow(struct document *d, int kind, struct token call)
{
    if (d->flow_count == MAX_FLOWS)
        return NULL;
    document_open_argument(d, GROUP_FLOW, call);
    struct flow *flow = &d->flows[d->flow_count++];
    *flow = (struct flow){.kind = kind, .opened = call};
    d->in =
        (struct context){.kind = BLOCK_PARAGRAPH,
                         .silent = d->in.silent || kind == FLOW_BOILERPLATE};
    d->last = 0;
    return flow;
}

struct group *document_environment(struct document *d)
{
    for (size_t i = d->group_count; i-- > 0;)
        if (d->groups[i].kind == GROUP_ENVIRONMENT)
            return &d->groups[i];
    return NULL;
}

/* ---- Reading ---- */

static void end_brace(struct document *d, struct token token)
{
    int kind = d->group_count ? d->groups[d->group_count - 1].kind : -1;
    d->last = 0;
    if (kind == GROUP_BRACE && d->groups[d->group_count - 1].diversion)
        boxes_end(d, true);
    if (kind == GROUP_BRACE || kind == GROUP_FLOW || kind == GROUP_LINK ||
        kind == GROUP_BOX)
        document_close(d);
    else
        tex_report(&d->tex, token, "a stray }");
}

static void run(struct document *d, struct token token)
{
    struct tex *tex = &d->tex;
    const struct meaning *meaning = tex_meaning(tex, token);
    switch (meaning->kind) {
    case MEANING_COMMAND:
        meaning->command->run(tex, meaning->command, token);
        break;
    case MEANING_CHARACTER: {
        struct token made = token;
        made.cat = meaning->character.cat;
        made.value = meaning->character.value;
        if (made.cat == CAT_NAME)
            break;
        tex_unread(tex, made);
        break;
    }
    case MEANING_COUNT:
    case MEANING_DIMENSION:
    case MEANING_TOKENS: register_assign(tex, token); break;
    default:
        d->last = 0;
        if (!expl_run(d, token) && !condition_guess(tex, token))
            unknown_run(d, token);
    }
}

/* Not at the beginning of a line of tabbing: "one \\", and below it "two". */
static void take_space(struct document *d)
{
    const struct flow *flow = document_flow(d);
    if (!flow->writer.exact || flow->writer.text.size != flow->line)
        document_space(d);
}

static void take(struct document *d, struct token token)
{
    switch (token.cat) {
    case CAT_NAME: run(d, token); break;
    case CAT_BEGIN:
        d->last = 0;
        document_open(d, GROUP_BRACE, token);
        break;
    case CAT_END: end_brace(d, token); break;
    case CAT_MATH: math_shift(d, token); break;
    case CAT_ALIGN: tabular_cell(d); break;
    case CAT_SPACE: take_space(d); break;
    case CAT_LETTER:
    case CAT_OTHER:
    case CAT_SUPER:
    case CAT_SUB:
    case CAT_PARAMETER: put_character(d, token); break;
    default: break;
    }
}

static bool has_escape(const struct tex *tex)
{
    return tex->catcodes['\\'] == CAT_ESCAPE ||
           memchr(tex->catcodes, CAT_ESCAPE, 0x80) != NULL;
}

/* A macro that changed the categories to read something as written, and did
 * not get to change them back, would leave nothing that can be a command. */
void document_restore_escape(struct document *d, struct token token)
{
    if (has_escape(&d->tex))
        return;
    tex_report(&d->tex, token, "no character is an escape; \\ is one again");
    while (d->group_count && !has_escape(&d->tex))
        document_close(d);
    if (!has_escape(&d->tex))
        tex_set_catcode(&d->tex, '\\', CAT_ESCAPE, true);
}

static bool is_definition(const struct tex *tex, struct token token)
{
    static const char *const names[] = {"def",
                                        "gdef",
                                        "long",
                                        "newcommand",
                                        "renewcommand",
                                        "providecommand",
                                        "DeclareRobustCommand",
                                        "newenvironment",
                                        "renewenvironment",
                                        "provideenvironment",
                                        "newtheorem",
                                        "NewDocumentCommand",
                                        "RenewDocumentCommand",
                                        "ProvideDocumentCommand",
                                        "DeclareDocumentCommand",
                                        "NewDocumentEnvironment",
                                        "newcounter",
                                        "newif",
                                        "lstnewenvironment",
                                        "DefineVerbatimEnvironment",
                                        "newtcblisting",
                                        "newminted",
                                        "RequirePackage",
                                        "LoadClass"};
    if (token.cat != CAT_NAME)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_is(tex->symbols[token.value].name, names[i]))
            return true;
    return false;
}

/* The next token to be taken.  Of a package, when the document is read
 * cautiously: of its definitions, whatever conditionals they stand in. */
static struct token next_to_take(struct document *d)
{
    struct tex *tex = &d->tex;
    while (d->caution == READ_DEFINITIONS && d->packages && !tex->stopped) {
        struct token token = tex_next(tex);
        if (!d->packages) { /* the package's last token was the one before */
            tex_unread(tex, token);
            break;
        }
        if (is_definition(tex, token))
            return token;
        if (token.cat == CAT_NONE)
            return token;
        if (token.cat == CAT_BEGIN) {
            struct tokens list = {0};
            tex_read_group(tex, &list);
            tokens_free(&list);
        }
    }
    return tex_next_expanded(tex);
}

/* Takes the text that comes next in a file, of which nothing is to be done but to
 * put it. */
static void take_text(struct document *d)
{
    struct tex *tex = &d->tex;
    struct flow *flow = document_flow(d);
    struct input *top =
        tex->input_count ? &tex->inputs[tex->input_count - 1] : NULL;
    bool cautious = d->caution == READ_DEFINITIONS && d->packages;
    if (!top || !top->is_file || flow->writer.exact || cautious ||
        (flow->writer.open && flow->file != top->file) ||
        tex->steps >= tex->max_steps)
        return;
    uint16_t file = top->file;
    size_t from = top->at;
    struct slice text = mouth_text(tex, top);
    if (!text.size)
        return;
    d->last = 0;
    if (d->in.silent)
        return;
    if (!flow->writer.open)
        flow->file = file;
    size_t to = from + text.size;
    while (to > from && (unsigned char)text.data[to - from - 1] <= ' ')
        to--;
    writer_literal(&flow->writer, text, (struct span){from, to});
}

void document_read(struct document *d)
{
    struct token token;
    while (!d->tex.stopped) {
        take_text(d);
        token = next_to_take(d);
        if (token.cat == CAT_NONE)
            break;
        if (token_is(token, CAT_NAME, d->tex.par))
            document_restore_escape(d, token);
        take(d, token);
    }
    size_t open = d->group_count;
    for (size_t i = 0; i < open; i++)
        if (d->groups[i].kind != GROUP_ENVIRONMENT ||
            d->groups[i].name != UINT32_MAX) {
            tex_report(&d->tex, d->groups[i].opened,
                       "%zu groups or environments are never closed, the first "
                       "of them here",
                       open - i);
            break;
        }
    document_close_to(d, 0);
    document_flush(d);
}
