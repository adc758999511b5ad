/* \begin and \end, groups, and the document that one of them is. */
#include "indexer/parse/latex/latex_internal.h"

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

/* Does a built-in environment win over the document's macro?  Not over one that
 * makes a heading: it says itself what its text is of. */
static bool wins(const struct document *d, const struct environment *known,
                 const struct macro *macro)
{
    size_t taken = macro->argument_count;
    for (size_t i = 0; i < macro->pattern.count; i++)
        taken += macro->pattern.items[i].cat == CAT_MATCH;
    return known->firm == 2 ||
           (known->firm == 1 && taken == 1 && !sections_begun_by(d, macro));
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
    if (known && (!own || wins(d, known, found->meaning.macro)))
        begin_known(d, known, call);
    else if (own || found->meaning.kind == MEANING_COMMAND)
        call_macro(d, symbol, call);
    else if (!verbatim_takes(d, buf_slice(&name), call))
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

uint32_t environments_end_macro(const struct tex *tex, struct slice name)
{
    struct buf end = {0};
    buf_printf(&end, "end%.*s", (int)name.size, name.data);
    uint32_t macro = tex_find_symbol(tex, buf_slice(&end));
    buf_free(&end);
    return macro != UINT32_MAX &&
                   tex->symbols[macro].meaning.kind == MEANING_MACRO
               ? macro
               : UINT32_MAX;
}

void environments_add_end(const struct tex *tex, uint32_t symbol,
                          struct token call, struct tokens *ret)
{
    call.cat = CAT_NAME;
    call.value = tex->end_of;
    tokens_add(ret, call);
    call.cat = CAT_OTHER; /* a token of this number follows */
    call.value = symbol;
    tokens_add(ret, call);
}

bool environments_push_end(struct document *d, struct slice name,
                           struct token call)
{
    struct tex *tex = &d->tex;
    uint32_t macro = environments_end_macro(tex, name);
    if (macro == UINT32_MAX)
        return false;
    uint32_t symbol = tex_symbol(tex, name);
    size_t at = find_group(d, symbol);
    if (!at || d->groups[at - 1].environment)
        return false;
    struct tokens list = {0};
    call.cat = CAT_NAME;
    call.value = macro;
    tokens_add(&list, call);
    environments_add_end(tex, symbol, call, &list);
    tex_push(tex, list);
    return true;
}

bool environments_is_open(struct document *d, struct slice name)
{
    uint32_t symbol = tex_find_symbol(&d->tex, name);
    return symbol != UINT32_MAX && find_group(d, symbol);
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
    if (!environments_push_end(d, buf_slice(&name), call))
        end_environment(d, tex_symbol(tex, buf_slice(&name)), call);
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

/* \startdocument: latex2html's in place of \begin{document} in a part of a manual. */
static void run_start_document(struct tex *tex, const struct command *command,
                               struct token call)
{
    (void)command;
    begin_document(document_of(tex), NULL, call);
}

static const struct command commands[] = {
    {"startdocument", run_start_document, NULL, 0, NULL},
    {"begin", run_begin, NULL, 0, NULL},
    {"end", run_end, NULL, 0, NULL},
    {"-end environment-", run_end_of, NULL, 0, NULL},
    {"begingroup", run_group, NULL, 0, NULL},
    {"bgroup", run_brace, NULL, CAT_BEGIN, "{"},
    {"endgroup", run_group, NULL, 1, NULL},
    {"egroup", run_brace, NULL, CAT_END, "}"},
};

static const struct environment environments[] = {
    {"document", begin_document, end_document, NULL, 0, NULL, 0},
};

void groups_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}

void environments_add(struct document *d, const struct environment *list,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        tex_symbol_at(&d->tex, list[i].name)->environment = &list[i];
}
