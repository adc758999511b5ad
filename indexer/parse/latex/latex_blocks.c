/* Environments, paragraphs, lists, floats, footnotes. */
#include <stdlib.h>

#include "indexer/parse/latex/latex_internal.h"

enum { MAX_INDENT = 16, MAX_THEOREMS = 1000 };

static unsigned indent_of(unsigned depth)
{
    return 2 * (depth < MAX_INDENT ? depth : MAX_INDENT);
}

static struct writer *writer_of(struct document *d)
{
    return &document_flow(d)->writer;
}

/* ---- Paragraphs ---- */

static bool is_prose(const struct document *d)
{
    return d->in.kind == BLOCK_PARAGRAPH || d->in.kind == BLOCK_QUOTE ||
           d->in.kind == BLOCK_NOTE;
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
    else if (writer_of(d)->exact)
        buf_put_byte(&writer_of(d)->text, '\n');
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

/* ---- \begin and \end ---- */

static void call_macro(struct document *d, uint32_t symbol, struct token call)
{
    call.cat = CAT_NAME;
    call.value = symbol;
    tex_unread(&d->tex, call);
}

/* What it reads ends with its file, as the groups of a package do. */
static void begin_known(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    d->groups[d->group_count - 1].environment = environment;
    d->tex.absorbing++;
    if (environment->before)
        tex_skip_before(&d->tex, environment->before);
    if (environment->begin)
        environment->begin(d, environment, call);
    d->tex.absorbing--;
}

/* Does a built-in environment win over the document's macro? */
static bool wins(const struct environment *known, const struct macro *macro)
{
    size_t taken = macro->argument_count;
    for (size_t i = 0; i < macro->pattern.count; i++)
        taken += macro->pattern.items[i].cat == CAT_MATCH;
    return known->firm == 2 || (known->firm == 1 && taken == 1);
}

static void run_begin(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0};
    (void)command;
    tex_read_text(tex, &name);
    if (!name.size) {
        buf_free(&name);
        return;
    }
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    const struct symbol *found = &tex->symbols[symbol];
    const struct environment *known = found->environment;
    struct group *group = document_open(d, GROUP_ENVIRONMENT, call);
    group->name = symbol;
    bool own = found->meaning.kind == MEANING_MACRO;
    if (known && (!own || wins(known, found->meaning.macro)))
        begin_known(d, known, call);
    else if (own || found->meaning.kind == MEANING_COMMAND)
        call_macro(d, symbol, call);
    else
        tex_skip_before(tex, "o");
    buf_free(&name);
}

/* What is looked through counts as steps: many groups may be open. */
static size_t find_group(struct document *d, uint32_t symbol)
{
    size_t at = d->group_count;
    size_t all = at;
    while (at && (d->groups[at - 1].kind != GROUP_ENVIRONMENT ||
                  d->groups[at - 1].name != symbol))
        at--;
    d->tex.steps += (all - at) / 8;
    return at;
}

/* Whether the file that is read has another \end{document} further on. */
static bool document_goes_on(const struct tex *tex)
{
    static const char end[] = "\\end{document}";
    if (!tex->top_file)
        return false;
    const struct input *file = &tex->inputs[tex->top_file - 1];
    struct slice text = tex->files[file->file].transcoded.text;
    return memmem(text.data + file->at, file->end - file->at, end,
                  sizeof end - 1);
}

/* Closes everything down to the environment.  A document that goes on does not end
 * within another environment: that is an example. */
static void end_environment(struct document *d, uint32_t symbol,
                            struct token call)
{
    size_t at = find_group(d, symbol);
    struct slice name = d->tex.symbols[symbol].name;
    if (!at) {
        tex_report(&d->tex, call, "\\end{%.*s} without \\begin", (int)name.size,
                   name.data);
        return;
    }
    if (at != d->group_count && slice_is(name, "document") &&
        document_goes_on(&d->tex))
        return;
    if (at != d->group_count)
        tex_report(&d->tex, call, "\\end{%.*s} ends what is open within it",
                   (int)name.size, name.data);
    document_close_to(d, at - 1);
}

static void run_end(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0};
    (void)command;
    struct token next = tex_next_solid(tex);
    tex_unread(tex, next);
    if (next.cat != CAT_BEGIN) { /* plain TeX's \end */
        tex->stopped = next.cat == CAT_NONE || !d->is_document;
        return;
    }
    tex_read_text(tex, &name);
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    size_t at = find_group(d, symbol);
    bool known = at && d->groups[at - 1].environment;
    struct buf end = {0};
    buf_printf(&end, "end%.*s", (int)name.size, buf_slice(&name).data);
    uint32_t macro = tex_find_symbol(tex, buf_slice(&end));
    if (at && !known && macro != UINT32_MAX &&
        tex->symbols[macro].meaning.kind == MEANING_MACRO) {
        struct tokens list = {0};
        struct token token = call;
        token.value = macro;
        tokens_add(&list, token);
        token.value = tex->end_of;
        tokens_add(&list, token);
        token.cat = CAT_OTHER; /* a token of this number follows */
        token.value = symbol;
        tokens_add(&list, token);
        tex_push(tex, list);
    } else {
        end_environment(d, symbol, call);
    }
    buf_free(&end);
    buf_free(&name);
}

static void run_end_of(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct token name = tex_next(tex);
    (void)command;
    if (name.value < tex->symbol_count)
        end_environment(document_of(tex), name.value, call);
}

static void run_group(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    if (!command->value)
        document_open(d, GROUP_SEMI, call);
    else if (d->group_count && d->groups[d->group_count - 1].kind <= GROUP_SEMI)
        document_close(d);
}

/* \bgroup and \egroup are braces by other names. */
static void run_brace(struct tex *tex, const struct command *command,
                      struct token call)
{
    call.cat = (uint8_t)command->value;
    call.value = (unsigned char)command->text[0];
    call.flags |= TOKEN_MADE;
    tex_unread(tex, call);
}

static void begin_document(struct document *d,
                           const struct environment *environment,
                           struct token call)
{
    (void)environment;
    (void)call;
    if (d->begun)
        return;
    /* What the preamble opened and did not close; its text is none, also when
     * it was not known to be one. */
    d->in = (struct context){.kind = BLOCK_PARAGRAPH};
    if (!d->is_document && !d->outline.count) {
        document_flush(d);
        d->outline.block_count = d->outline.ref_count = 0;
        d->outline.origin_count = 0;
    }
    d->is_document = true;
    d->begun = true;
    expl_end(d);
    tex_set_catcode(&d->tex, '@', CAT_OTHER, true);
    struct tokens list = d->at_begin;
    d->at_begin = (struct tokens){0};
    tokens_add(&list,
               (struct token){.cat = CAT_NAME,
                              .file = UINT16_MAX,
                              .value = tex_symbol_of(&d->tex, "-title-")});
    tex_push(&d->tex, list);
}

/* One within another is an example of a document. */
static void end_document(struct document *d, struct group *group)
{
    document_flush(d);
    for (const struct group *outer = d->groups; outer < group; outer++)
        if (outer->kind == GROUP_ENVIRONMENT && outer->name == group->name)
            return;
    d->tex.stopped = true;
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

static void end_kind(struct document *d, struct group *group)
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

static void begin_note(struct document *d,
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
    writer_of(d)->exact = true;
}

static void end_alltt(struct document *d, struct group *group)
{
    (void)group;
    document_flush(d);
    d->flows[0].writer.exact = false;
}

/* ---- Theorems ---- */

static struct theorem *find_theorem(const struct document *d, uint32_t name)
{
    for (size_t i = d->theorem_count; i-- > 0;)
        if (d->theorems[i].name == name)
            return &d->theorems[i];
    return NULL;
}

static void begin_theorem(struct document *d,
                          const struct environment *environment,
                          struct token call)
{
    struct tex *tex = &d->tex;
    uint32_t symbol = d->groups[d->group_count - 1].name;
    const struct theorem *theorem = find_theorem(d, symbol);
    struct tokens note = {0};
    struct slice title = theorem ? theorem->title : slice_of(environment->text);
    blocks_begin_kind(d, BLOCK_NOTE, tex->symbols[symbol].name);
    document_put(d, call, title);
    if (theorem && theorem->counter.size) {
        labels_step(d, theorem->counter.data);
        document_space(d);
        document_put(d, call, d->labels.number);
    }
    if (tex_read_optional(tex, &note)) {
        struct token token = call;
        document_space(d);
        struct tokens list = {0};
        token.cat = CAT_OTHER;
        token.value = '(';
        tokens_add(&list, token);
        tokens_add_all(&list, note.items, note.count);
        token.value = ')';
        tokens_add(&list, token);
        token.value = '.';
        tokens_add(&list, token);
        token.cat = CAT_SPACE;
        token.value = ' ';
        tokens_add(&list, token);
        tex_push(tex, list);
    } else {
        document_put_text(d, call, ".");
        document_space(d);
    }
    tokens_free(&note);
}

static const struct environment theorem_environment = {
    "-theorem-", begin_theorem, end_kind, NULL, 0, "Theorem", 0};

/* Of two of one name the last is what it is. */
static void keep_theorem(struct document *d, struct slice name,
                         struct slice title, struct slice counter,
                         struct token call)
{
    uint32_t symbol = tex_symbol(&d->tex, name);
    struct theorem *theorem = find_theorem(d, symbol);
    if (!theorem && d->theorem_count == MAX_THEOREMS) {
        tex_report(&d->tex, call, "more than %d kinds of theorem",
                   MAX_THEOREMS);
        return;
    }
    if (!theorem) {
        MEM_RESERVE(d->theorems, &d->theorem_capacity, d->theorem_count + 1);
        theorem = &d->theorems[d->theorem_count++];
    }
    *theorem = (struct theorem){symbol, document_keep(d, title),
                                document_keep(d, counter)};
    d->tex.symbols[symbol].environment = &theorem_environment;
}

/* \newtheorem{name}[counter]{Title}[within] */
static void run_newtheorem(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0}, title = {0}, counter = {0}, within = {0};
    struct tokens list = {0}, above = {0};
    (void)command;
    bool star = tex_read_character(tex, '*');
    tex_read_text(tex, &name);
    bool shared = tex_read_optional(tex, &list);
    if (shared)
        tex_expand_text(tex, &list, &counter);
    tex_read_text(tex, &title);
    if (tex_read_optional(tex, &above))
        tex_expand_text(tex, &above, &within);
    if (name.size) {
        if (!shared && !star) {
            buf_put_slice(&counter, buf_slice(&name));
            counter_new(tex, buf_slice(&name), buf_slice(&within));
            if (within.size) {
                struct buf the = {0}, body = {0};
                buf_printf(&the, "the%s", name.data);
                buf_printf(&body, "\\the%s.\\arabic{%s}", within.data,
                           name.data);
                tex_define_text(tex, the.data, body.data);
                buf_free(&the);
                buf_free(&body);
            }
        }
        keep_theorem(d, buf_slice(&name), buf_slice(&title),
                     buf_slice(&counter), call);
    }
    tokens_free(&list);
    tokens_free(&above);
    buf_free(&name);
    buf_free(&title);
    buf_free(&counter);
    buf_free(&within);
}

static const struct environment box_environment = {
    "-box-", begin_note, end_kind, "o", 0, "note", 0};

/* \newtcolorbox[..]{name}[n][default]{..}, \newmdenv[..]{name} */
static void run_newbox(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf name = {0};
    (void)call;
    tex_skip_before(tex, "o");
    tex_read_text(tex, &name);
    tex_skip_before(tex, command->before);
    if (name.size)
        tex_symbol_at(tex, name.data)->environment = &box_environment;
    buf_free(&name);
}

/* ---- Lists ---- */

enum { LIST_BULLETS, LIST_NUMBERS, LIST_TERMS };

static void begin_list(struct document *d,
                       const struct environment *environment, struct token call)
{
    (void)call;
    if (environment->text)
        tex_skip_before(&d->tex, environment->text);
    if (!document_is_body(d) || d->in.kind == BLOCK_TABLE) {
        d->in.ordinal = environment->value == LIST_NUMBERS;
        return;
    }
    if (environment->value == LIST_TERMS) {
        blocks_begin_kind(d, BLOCK_DEFINITION, (struct slice){"", 0});
        d->in.depth = 0;
        return;
    }
    if (d->in.kind == BLOCK_LIST)
        d->in.depth++;
    else
        blocks_begin_kind(d, BLOCK_LIST, (struct slice){"", 0});
    d->in.ordinal = environment->value == LIST_NUMBERS;
}

/* The class exam: \part is an item of the list parts. */
static void begin_questions(struct document *d,
                            const struct environment *environment,
                            struct token call)
{
    uint32_t item = tex_symbol_of(&d->tex, "item");
    uint32_t name = tex_symbol_of(&d->tex, environment->text);
    tex_define(&d->tex, name, d->tex.symbols[item].meaning, false);
    begin_list(d,
               &(struct environment){.name = environment->name,
                                     .value = LIST_NUMBERS,
                                     .text = "o"},
               call);
}

static void end_list(struct document *d, struct group *group)
{
    if (!document_is_body(d) || d->in.kind == BLOCK_TABLE) {
        document_space(d);
        return;
    }
    if (d->in.kind == BLOCK_LIST && group->outer.kind == BLOCK_LIST)
        writer_line(writer_of(d), indent_of(group->outer.depth + 1), "");
    else
        document_flush(d);
}

/* The label of an item as a term: \-term- ends it. */
static void push_label(struct document *d, const struct tokens *label,
                       struct token call, const char *end)
{
    struct tokens list = {0};
    struct token token = call;
    token.cat = CAT_BEGIN;
    token.value = '{';
    tokens_add(&list, token);
    tokens_add_all(&list, label->items, label->count);
    token.cat = CAT_END;
    token.value = '}';
    tokens_add(&list, token);
    token.cat = CAT_NAME;
    token.value = tex_symbol_of(&d->tex, end);
    tokens_add(&list, token);
    tex_push(&d->tex, list);
}

static void item_of_list(struct document *d, const struct tokens *label,
                         bool labelled, struct token call)
{
    char marker[16] = "- ";
    if (d->in.ordinal && !labelled) {
        snprintf(marker, sizeof marker, "%u. ", d->in.ordinal);
        d->labels.number =
            document_keep(d, (struct slice){marker, strcspn(marker, ".")});
        d->labels.what = slice_of("item");
        d->in.ordinal++;
    }
    writer_line(writer_of(d), indent_of(d->in.depth), marker);
    if (labelled)
        push_label(d, label, call, " ");
}

static void run_item(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    struct tokens label = {0};
    (void)command;
    bool labelled = tex_read_optional(tex, &label);
    /* The group of the list, not of what is open within the item before. */
    if (document_is_body(d) && d->in.kind == BLOCK_LIST) {
        item_of_list(d, &label, labelled, call);
    } else if (document_is_body(d) && d->in.kind == BLOCK_DEFINITION) {
        document_flush(d);
        if (labelled)
            push_label(d, &label, call, "-term-");
    } else if (document_is_body(d)) {
        document_flush(d);
        if (labelled)
            push_label(d, &label, call, " ");
    } else {
        document_space(d);
        if (labelled)
            push_label(d, &label, call, " ");
    }
    tokens_free(&label);
}

static void run_term(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    if (document_is_body(d) && d->in.kind == BLOCK_DEFINITION)
        writer_line(writer_of(d), 2, "");
    else
        document_space(d);
}

/* ---- Floats and notes ---- */

static void begin_float(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    (void)environment;
    (void)call;
    begin_paragraph(d, environment, call);
}

static const char *float_of(struct document *d)
{
    for (size_t i = d->group_count; i-- > 0;) {
        const struct environment *known = d->groups[i].environment;
        if (known && known->begin == begin_float)
            return known->text;
    }
    return "figure";
}

static void run_caption(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    const char *counter = float_of(d);
    tex_skip_before(tex, command->before);
    if (command->value) { /* \captionof{figure} */
        struct buf name = {0};
        tex_read_text(tex, &name);
        counter = slice_is(buf_slice(&name), "table") ? "table" : "figure";
        tex_skip_before(tex, "so");
        buf_free(&name);
    }
    if (!d->in.silent)
        labels_step(d, counter);
    struct flow *flow = document_open_flow(d, FLOW_CAPTION, call);
    if (!flow)
        return;
    flow->counter = counter;
    struct buf prefix = {0};
    buf_printf(&prefix, "%s%s %.*s: ", !strcmp(counter, "table") ? "T" : "F",
               !strcmp(counter, "table") ? "able" : "igure",
               (int)d->labels.number.size, d->labels.number.data);
    document_put(d, call, buf_slice(&prefix));
    document_space(d);
    buf_free(&prefix);
}

void blocks_end_caption(struct document *d, struct flow *flow)
{
    struct slice text;
    struct span span;
    if (!writer_take(&flow->writer, &text, &span))
        return;
    struct token place = {.file = flow->file,
                          .from = (uint32_t)span.from,
                          .to = (uint32_t)span.to};
    if (document_is_body(d) && is_prose(d)) {
        document_flush(d);
        document_block(d, BLOCK_FIGURE, text, (struct slice){"", 0}, place);
    } else if (document_is_body(d)) {
        MEM_RESERVE(d->asides, &d->aside_capacity, d->aside_count + 1);
        d->asides[d->aside_count++] =
            (struct aside){document_keep(d, text), span, flow->file};
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
    {"newtheorem", run_newtheorem, NULL, 0, NULL},
    {"declaretheorem", run_newbox, "o", 0, NULL},
    {"newtcolorbox", run_newbox, "oom", 0, NULL},
    {"newmdenv", run_newbox, NULL, 0, NULL},
    {"item", run_item, NULL, 0, NULL},
    {"-term-", run_term, NULL, 0, NULL},
    {"caption", run_caption, "so", 0, NULL},
    {"captionof", run_caption, "s", 1, NULL},
    {"footnote", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"footnotetext", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"thanks", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"marginpar", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"endnote", run_footnote, NULL, FLOW_FOOTNOTE, NULL},
    {"NEWfeature", run_footnote, NULL, FLOW_FOOTNOTE,
     "New feature"}, /* ltxguide */
    {"NEWdescription", run_footnote, NULL, FLOW_FOOTNOTE, "New description"},
};

static const struct command firm[] = {
    {"par", run_par, NULL, 0, NULL},
    {"endgraf", run_par, NULL, 0, NULL},
    {"begin", run_begin, NULL, 0, NULL},
    {"end", run_end, NULL, 0, NULL},
    {"-end environment-", run_end_of, NULL, 0, NULL},
    {"begingroup", run_group, NULL, 0, NULL},
    {"bgroup", run_brace, NULL, CAT_BEGIN, "{"},
    {"endgroup", run_group, NULL, 1, NULL},
    {"egroup", run_brace, NULL, CAT_END, "}"},
};

#define BLOCK(name, begin, end, before)                                        \
    {                                                                          \
        name, begin, end, before, 0, NULL, 0                                   \
    }
#define LIST(name, kind, options)                                              \
    {                                                                          \
        name, begin_list, end_list, NULL, kind, options, 0                     \
    }
#define FLOAT(name, counter)                                                   \
    {                                                                          \
        name, begin_float, end_paragraph, "o", 0, counter, 0                   \
    }
#define NOTE(name, before, kind)                                               \
    {                                                                          \
        name, begin_note, end_kind, before, 0, kind, 0                         \
    }
#define THEOREM(name, title)                                                   \
    {                                                                          \
        name, begin_theorem, end_kind, NULL, 0, title, 0                       \
    }

static const struct environment environments[] = {
    BLOCK("document", begin_document, end_document, NULL),
    BLOCK("quote", begin_quote, end_kind, NULL),
    BLOCK("quotation", begin_quote, end_kind, NULL),
    BLOCK("verse", begin_quote, end_kind, "o"),
    BLOCK("displayquote", begin_quote, end_kind, "oo"),
    BLOCK("center", begin_paragraph, end_paragraph, NULL),
    BLOCK("flushleft", begin_paragraph, end_paragraph, NULL),
    BLOCK("flushright", begin_paragraph, end_paragraph, NULL),
    BLOCK("abstract", begin_paragraph, end_paragraph, NULL),
    BLOCK("titlepage", begin_paragraph, end_paragraph, NULL),
    BLOCK("minipage", begin_paragraph, end_paragraph, "ooom"),
    BLOCK("multicols", begin_columns, end_paragraph, "m"),
    BLOCK("multicols*", begin_paragraph, end_paragraph, "mo"),
    BLOCK("adjustwidth", begin_paragraph, end_paragraph, "mm"),
    BLOCK("adjustwidth*", begin_paragraph, end_paragraph, "mm"),
    BLOCK("landscape", begin_paragraph, end_paragraph, NULL),
    BLOCK("spacing", begin_paragraph, end_paragraph, "m"),
    BLOCK("onehalfspace", begin_paragraph, end_paragraph, NULL),
    BLOCK("sloppypar", begin_paragraph, end_paragraph, NULL),
    BLOCK("trivlist", begin_paragraph, end_paragraph, NULL),
    BLOCK("otherlanguage", begin_paragraph, end_paragraph, "m"),
    BLOCK("otherlanguage*", begin_paragraph, end_paragraph, "m"),
    BLOCK("lrbox", begin_paragraph, end_paragraph, "m"),
    BLOCK("picture", begin_paragraph, end_paragraph, "pp"),
    BLOCK("tabbing", begin_paragraph, end_paragraph, NULL),
    BLOCK("frame", begin_paragraph, end_paragraph, "aoo"),
    BLOCK("columns", begin_paragraph, end_paragraph, "o"),
    BLOCK("column", begin_paragraph, end_paragraph, "om"),
    BLOCK("thebibliography", begin_bibliography, end_paragraph, "m"),
    BLOCK("theindex", begin_paragraph, end_paragraph, NULL),
    BLOCK("alltt", begin_alltt, end_alltt, NULL),
    LIST("itemize", LIST_BULLETS, "o"),
    LIST("itemize*", LIST_BULLETS, "o"),
    LIST("compactitem", LIST_BULLETS, "o"),
    LIST("asparaitem", LIST_BULLETS, "o"),
    LIST("enumerate", LIST_NUMBERS, "o"),
    LIST("enumerate*", LIST_NUMBERS, "o"),
    LIST("compactenum", LIST_NUMBERS, "o"),
    LIST("asparaenum", LIST_NUMBERS, "o"),
    LIST("inparaenum", LIST_NUMBERS, "o"),
    LIST("description", LIST_TERMS, "o"),
    LIST("description*", LIST_TERMS, "o"),
    LIST("compactdesc", LIST_TERMS, "o"),
    LIST("labeling", LIST_TERMS, "om"),
    LIST("list", LIST_TERMS, "mm"),
    {"questions", begin_questions, end_list, NULL, 0, "question", 0},
    {"parts", begin_questions, end_list, NULL, 0, "part", 0},
    {"subparts", begin_questions, end_list, NULL, 0, "subpart", 0},
    {"subsubparts", begin_questions, end_list, NULL, 0, "subsubpart", 0},
    FLOAT("figure", "figure"),
    FLOAT("figure*", "figure"),
    FLOAT("wrapfigure", "figure"),
    FLOAT("SCfigure", "figure"),
    FLOAT("sidewaysfigure", "figure"),
    FLOAT("table", "table"),
    FLOAT("table*", "table"),
    FLOAT("wraptable", "table"),
    FLOAT("sidewaystable", "table"),
    FLOAT("algorithm", "algorithm"),
    NOTE("tcolorbox", "o", "note"),
    NOTE("mdframed", "o", "note"),
    NOTE("framed", NULL, "note"),
    NOTE("shaded", NULL, "note"),
    NOTE("snugshade", NULL, "note"),
    NOTE("leftbar", NULL, "note"),
    NOTE("note", NULL, "note"),
    NOTE("warning", NULL, "warning"),
    NOTE("block", "am", "note"),
    NOTE("alertblock", "am", "note"),
    NOTE("exampleblock", "am", "note"),
    THEOREM("proof", "Proof"),
};

void blocks_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, firm, sizeof firm / sizeof *firm, MEANING_COMMAND,
                     true);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}

void environments_add(struct document *d, const struct environment *list,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        tex_symbol_at(&d->tex, list[i].name)->environment = &list[i];
}
