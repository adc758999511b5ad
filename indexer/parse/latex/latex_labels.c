/* Labels, references, citations, links.
 *
 * A reference reads what its label is numbered, which may stand further on: in
 * the text it is held as \1 KIND NUMBER \2, and resolved at the end. */
#include <stdlib.h>

#include "indexer/parse/latex/latex_internal.h"

enum { HELD = 1, HELD_END = 2 };

/* ---- Labels by name ---- */

/* A label's symbol begins with a byte that no name in UTF-8 has, so that no
 * document can define it as something else. */
static size_t find_label(struct document *d, struct slice name)
{
    struct buf key = {0};
    buf_put(&key, "\xff", 1);
    buf_put_slice(&key, name);
    uint32_t symbol = tex_symbol(&d->tex, buf_slice(&key));
    buf_free(&key);
    struct meaning *meaning = &d->tex.symbols[symbol].meaning;
    if (!meaning->index) {
        MEM_RESERVE(d->labels.all, &d->labels.capacity, d->labels.count + 1);
        d->labels.all[d->labels.count] =
            (struct label){.name = document_keep(d, name)};
        meaning->index = (uint32_t)++d->labels.count;
    }
    return meaning->index - 1;
}

static void place_anchor(struct document *d, struct slice name)
{
    struct outline *o = &d->outline;
    if (o->path_count) {
        struct outline_node *node = &o->nodes[o->path[o->path_count - 1].node];
        if (!node->anchor.size)
            node->anchor = name;
    }
    outline_anchor(o, name);
    outline_settle(o);
}

static void define_label(struct document *d, struct slice name)
{
    size_t index = find_label(d, name); /* may move the labels */
    struct label *label = &d->labels.all[index];
    if (label->defined || d->in.silent)
        return;
    label->defined = true;
    label->number = d->labels.number;
    label->what = d->labels.what;
    for (size_t i = 0; i < d->labels.name_count; i++)
        if (slice_equal(d->labels.names[i].counter, d->labels.what))
            label->what = d->labels.names[i].name;
    if (slice_is(label->what, "lstlisting"))
        label->what = slice_of("listing");
    label->title = d->labels.section;
    label->heading = d->labels.heading;
    place_anchor(d, label->name);
}

void labels_define(struct document *d, struct slice name)
{
    if (document_flow(d)->kind != FLOW_TITLE) {
        define_label(d, name);
        return;
    }
    MEM_RESERVE(d->labels.waiting, &d->labels.waiting_capacity,
                d->labels.waiting_count + 1);
    d->labels.waiting[d->labels.waiting_count++] = document_keep(d, name);
}

void labels_settle(struct document *d)
{
    for (size_t i = 0; i < d->labels.waiting_count; i++)
        define_label(d, d->labels.waiting[i]);
    d->labels.waiting_count = 0;
}

void labels_step(struct document *d, const char *counter)
{
    counter_step(&d->tex, slice_of(counter));
    d->labels.number = sections_number(d, counter);
    d->labels.what = document_keep(d, slice_of(counter));
}

/* ---- Commands ---- */

static void run_label(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct buf name = {0};
    (void)command;
    (void)call;
    tex_skip_before(tex, "o");
    tex_read_text(tex, &name);
    if (name.size)
        labels_define(document_of(tex), buf_slice(&name));
    buf_free(&name);
}

/* What references call the things that a counter numbers. */
static void run_crefname(struct tex *tex, const struct command *command,
                         struct token call)
{
    enum { MAX_NAMES = 100 };
    struct labels *labels = &document_of(tex)->labels;
    struct buf counter = {0}, name = {0};
    (void)call;
    tex_read_text(tex, &counter);
    tex_read_text(tex, &name);
    tex_skip_before(tex, command->before);
    if (labels->name_count < MAX_NAMES) {
        MEM_RESERVE(labels->names, &labels->name_capacity,
                    labels->name_count + 1);
        labels->names[labels->name_count++] = (struct reference_name){
            document_keep(document_of(tex), buf_slice(&counter)),
            document_keep(document_of(tex), buf_slice(&name))};
    }
    buf_free(&counter);
    buf_free(&name);
}

static void run_refstepcounter(struct tex *tex, const struct command *command,
                               struct token call)
{
    struct buf name = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &name);
    if (name.size)
        labels_step(document_of(tex), name.data);
    buf_free(&name);
}

static void put_reference(struct document *d, struct slice name, int kind,
                          struct token call)
{
    struct buf held = {0}, url = {0};
    struct slice label = name;
    struct buf cited = {0};
    if (kind == 'b') {
        buf_printf(&cited, "cite.%.*s", (int)name.size, name.data);
        label = buf_slice(&cited);
    }
    size_t index = find_label(d, label);
    buf_printf(&held, "%c%c%zu%c", HELD, kind, index, HELD_END);
    buf_printf(&url, "#%.*s", (int)label.size, label.data);
    document_put(d, call, buf_slice(&held));
    if (!d->in.silent)
        outline_ref(&d->outline, buf_slice(&held),
                    document_keep(d, buf_slice(&url)));
    buf_free(&held);
    buf_free(&url);
    buf_free(&cited);
}

/* The next of names separated by commas; false: no more. */
static bool next_name(struct slice *rest, struct slice *ret)
{
    while (rest->size && strchr(", \n\t", rest->data[0])) {
        rest->data++;
        rest->size--;
    }
    if (!rest->size)
        return false;
    const char *comma = memchr(rest->data, ',', rest->size);
    size_t size = comma ? (size_t)(comma - rest->data) : rest->size;
    *ret = (struct slice){rest->data, size};
    while (ret->size && strchr(" \n\t", ret->data[ret->size - 1]))
        ret->size--;
    rest->data += size;
    rest->size -= size;
    return true;
}

static void run_reference(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct document *d = document_of(tex);
    struct buf names = {0};
    struct slice rest, name;
    tex_skip_before(tex, command->before);
    tex_read_text(tex, &names);
    rest = buf_slice(&names);
    bool any = false;
    if (command->text)
        document_put_text(d, call, command->text);
    while (next_name(&rest, &name)) {
        if (any) {
            document_put_text(d, call, ",");
            document_space(d);
        }
        put_reference(d, name, command->value, call);
        any = true;
    }
    if (command->text)
        document_put_text(d, call, command->text[0] == '[' ? "]" : ")");
    buf_free(&names);
}

/* cleveref's \crefrange{a}{b}: "section 2 to section 5" */
static void run_range(struct tex *tex, const struct command *command,
                      struct token call)
{
    run_reference(tex, command, call);
    document_space(document_of(tex));
    document_put_text(document_of(tex), call, "to");
    document_space(document_of(tex));
    run_reference(tex, command, call);
}

/* \cite[note]{a,b}; natbib and biblatex: \citep[before][after]{a}.  What is read
 * is [before \-cited-{a,b}, after] */
static void run_cite(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens before = {0}, after = {0}, list = {0};
    struct token sign = call, token = call;
    (void)command;
    tex_skip_before(tex, "s");
    bool any = tex_read_optional(tex, &after);
    if (any) {
        struct tokens second = {0};
        if (tex_read_optional(tex, &second)) {
            before = after;
            after = second;
        }
    }
    sign.cat = CAT_OTHER;
    sign.flags |= TOKEN_MADE;
    sign.value = '[';
    tokens_add(&list, sign);
    token.flags |= TOKEN_MADE;
    token.cat = CAT_SPACE;
    token.value = ' ';
    tokens_add_all(&list, before.items, before.count);
    if (before.count)
        tokens_add(&list, token);
    struct token cited = call;
    cited.value = tex_symbol_of(tex, "-cited-");
    tokens_add(&list, cited);
    sign.cat = CAT_BEGIN;
    sign.value = '{';
    tokens_add(&list, sign);
    tex_read_argument(tex, &list);
    sign.cat = CAT_END;
    sign.value = '}';
    tokens_add(&list, sign);
    sign.cat = CAT_OTHER;
    if (after.count) {
        sign.value = ',';
        tokens_add(&list, sign);
        tokens_add(&list, token);
        tokens_add_all(&list, after.items, after.count);
    }
    sign.value = ']';
    tokens_add(&list, sign);
    tex_push(tex, list);
    tokens_free(&before);
    tokens_free(&after);
}

/* What follows is the link's text. */
static void open_link(struct document *d, struct slice url, struct token call)
{
    struct group *group = document_open_argument(d, GROUP_LINK, call);
    struct slice kept = document_keep(d, url);
    group->url = kept;
    group->block = document_flow(d)->blocks;
    group->mark = document_flow(d)->writer.text.size;
}

static void run_hyperref(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0};
    struct buf url = {0};
    (void)command;
    buf_put_byte(&url, '#');
    if (tex_read_optional(tex, &list))
        tex_expand_text(tex, &list, &url);
    else
        tex_skip_before(tex, "mmm");
    open_link(d, buf_slice(&url), call);
    tokens_free(&list);
    buf_free(&url);
}

/* An address or, of \hyperlink and \htmlref, a name in the document. */
static void read_target(struct tex *tex, const struct command *command,
                        struct buf *ret)
{
    struct tokens list = {0};
    if (command->value)
        buf_put_byte(ret, '#');
    tex_read_address(tex, &list);
    tex_write_tokens(tex, &list, ret);
    verb_unescape_address(ret);
    tokens_free(&list);
}

static void run_href(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct buf url = {0};
    tex_skip_before(tex, "o");
    read_target(tex, command, &url);
    open_link(document_of(tex), buf_slice(&url), call);
    buf_free(&url);
}

/* latex2html's \htmladdnormallink[name]{text}{url} and \htmlref{text}{label}. */
static void run_linked(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens text = {0}, run = {0};
    struct buf url = {0};
    tex_skip_before(tex, "o");
    tex_read_argument(tex, &text);
    read_target(tex, command, &url);
    tokens_add_group(&run, &text, call);
    tex_push(tex, run);
    open_link(document_of(tex), buf_slice(&url), call);
    tokens_free(&text);
    buf_free(&url);
}

static void run_hypertarget(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf name = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &name);
    if (name.size && !document_of(tex)->in.silent)
        place_anchor(document_of(tex),
                     document_keep(document_of(tex), buf_slice(&name)));
    buf_free(&name);
}

static void run_bibitem(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0};
    struct buf text = {0}, name = {0};
    (void)command;
    document_flush(d);
    bool labelled = tex_read_optional(tex, &list);
    if (labelled)
        citations_label(d, &list, &text);
    else
        buf_printf(&text, "%zu", ++d->bibliography.items);
    buf_put_text(&name, "cite.");
    tex_read_text(tex, &name);
    d->labels.number = document_keep(d, buf_slice(&text));
    d->labels.what = slice_of("reference");
    define_label(d, buf_slice(&name));
    document_put_text(d, call, "[");
    document_put(d, call, d->labels.number);
    document_put_text(d, call, "]");
    document_space(d);
    tokens_free(&list);
    buf_free(&text);
    buf_free(&name);
}

/* ---- At the end ---- */

/* A title may hold references itself: they are not followed. */
static void write_title(struct slice text, struct buf *out)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == HELD)
            while (i < text.size && text.data[i] != HELD_END)
                i++;
        else
            buf_put_byte(out, text.data[i]);
}

/* There are no pages here: what stands on it. */
static void write_page(const struct label *label, struct buf *out)
{
    if (!label->defined || !label->title.size)
        return;
    buf_put_text(out, "“");
    write_title(label->title, out);
    buf_put_text(out, "”");
}

static void write_held(const struct document *d, int kind, size_t index,
                       struct buf *out)
{
    if (index >= d->labels.count)
        return;
    const struct label *label = &d->labels.all[index];
    struct slice text = label->number;
    if (kind == 'p') {
        write_page(label, out);
        return;
    }
    if (!label->defined || (!text.size && kind != 'n')) {
        text = label->name;
        if (kind == 'b' && text.size > 5) /* "cite." */
            text = (struct slice){text.data + 5, text.size - 5};
        if (label->defined && label->title.size)
            text = label->title;
    } else if (kind == 'n') {
        text = label->heading;
    } else if (kind == 'c' && label->what.size) {
        buf_put_slice(out, label->what);
        buf_put_byte(out, ' ');
    }
    write_title(text, out);
}

static void resolve(struct document *d, struct slice *text)
{
    struct buf out = {0};
    if (!text->size || !memchr(text->data, HELD, text->size))
        return;
    for (size_t at = 0; at < text->size; at++) {
        if (text->data[at] != HELD || at + 2 >= text->size) {
            buf_put_byte(&out, text->data[at]);
            continue;
        }
        int kind = (unsigned char)text->data[++at];
        size_t index = 0;
        for (at++; at < text->size && text->data[at] != HELD_END; at++)
            index = index * 10 + (size_t)(text->data[at] - '0');
        size_t before = out.size;
        write_held(d, kind, index, &out);
        bool spaced = before && out.data[before - 1] == ' ';
        if (out.size == before && spaced && at + 1 < text->size &&
            text->data[at + 1] == ' ')
            at++; /* where nothing is read, nothing is between */
    }
    *text = document_keep(d, buf_slice(&out));
    buf_free(&out);
}

void labels_resolve(struct document *d)
{
    struct outline *o = &d->outline;
    resolve(d, &d->title);
    for (size_t i = 0; i < o->count; i++)
        resolve(d, &o->nodes[i].title);
    for (size_t i = 0; i < o->block_count; i++)
        resolve(d, &o->blocks[i].text);
    for (size_t i = 0; i < o->ref_count; i++)
        resolve(d, &o->refs[i].text);
}

/* Nothing is shown where it stands, but in the list. */
static void run_nocite(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct buf names = {0};
    struct slice rest, name;
    (void)command;
    (void)call;
    tex_read_text(tex, &names);
    rest = buf_slice(&names);
    while (next_name(&rest, &name)) {
        struct buf cited = {0};
        buf_printf(&cited, "cite.%.*s", (int)name.size, name.data);
        find_label(d, buf_slice(&cited));
        buf_free(&cited);
        d->bibliography.cites_all |= slice_is(name, "*");
    }
    buf_free(&names);
}

static const struct command commands[] = {
    {"label", run_label, NULL, 0, NULL},
    {"zlabel", run_label, NULL, 0, NULL},
    {"refstepcounter", run_refstepcounter, NULL, 0, NULL},
    {"crefname", run_crefname, "m", 0, NULL},
    {"ref", run_reference, "s", 'r', NULL},
    {"eqref", run_reference, "s", 'r', "("},
    {"vref", run_reference, "s", 'r', NULL},
    {"subref", run_reference, "s", 'r', NULL},
    {"cref", run_reference, "s", 'c', NULL},
    {"zcref", run_reference, "so", 'c', NULL},
    {"zref", run_reference, "so", 'r', NULL},
    {"crefrange", run_range, "s", 'c', NULL},
    {"Crefrange", run_range, "s", 'c', NULL},
    {"Cref", run_reference, "s", 'c', NULL},
    {"autoref", run_reference, "s", 'c', NULL},
    {"fref", run_reference, "so", 'c', NULL},
    {"Fref", run_reference, "so", 'c', NULL},
    {"Vref", run_reference, "s", 'c', NULL},
    {"Autoref", run_reference, "s", 'c', NULL},
    {"Sref", run_reference, NULL, 'c', NULL},
    {"tref", run_reference, NULL, 'c', NULL},
    {"nameref", run_reference, "s", 'n', NULL},
    {"titleref", run_reference, "s", 'n', NULL},
    {"pageref", run_reference, "s", 'p', NULL},
    {"cpageref", run_reference, "s", 'p', NULL},
    {"zpageref", run_reference, "s", 'p', NULL},
    {"zcpageref", run_reference, "so", 'p', NULL},
    {"nocite", run_nocite, NULL, 0, NULL},
    {"hyperref", run_hyperref, NULL, 0, NULL},
    {"href", run_href, NULL, 0, NULL},
    {"hyperlink", run_href, NULL, 1, NULL},
    {"htmladdnormallink", run_linked, NULL, 0, NULL},
    {"htmladdnormallinkfoot", run_linked, NULL, 0, NULL},
    {"htmlref", run_linked, NULL, 1, NULL},
    {"hypertarget", run_hypertarget, NULL, 0, NULL},
    {"bibitem", run_bibitem, NULL, 0, NULL},
};

static const struct command firm[] = {
    {"-cited-", run_reference, NULL, 'b', NULL},
};

/* harvard's \citename[short]{name} stands before another citation. */
static void run_citename(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
}

static const struct command citations[] = {
    {"cite", run_cite, NULL, 0, NULL},
    {"citep", run_cite, NULL, 0, NULL},
    {"citet", run_cite, NULL, 0, NULL},
    {"citealp", run_cite, NULL, 0, NULL},
    {"citealt", run_cite, NULL, 0, NULL},
    {"citeauthor", run_cite, NULL, 0, NULL},
    {"citeyear", run_cite, NULL, 0, NULL},
    {"parencite", run_cite, NULL, 0, NULL},
    {"textcite", run_cite, NULL, 0, NULL},
    {"autocite", run_cite, NULL, 0, NULL},
    {"footcite", run_cite, NULL, 0, NULL},
    {"citeasnoun", run_cite, NULL, 0, NULL},
    {"possessivecite", run_cite, NULL, 0, NULL},
    {"citename", run_citename, "om", 0, NULL},
};

void labels_keep_citations(struct document *d, bool keep)
{
    tex_keep_commands(&d->tex, citations, sizeof citations / sizeof *citations,
                      keep);
}

void labels_add(struct document *d)
{
    tex_add_commands(&d->tex, firm, sizeof firm / sizeof *firm, MEANING_COMMAND,
                     true);
    tex_add_commands(&d->tex, citations, sizeof citations / sizeof *citations,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
