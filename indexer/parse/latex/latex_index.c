/* \index: what a document calls its sections besides their titles.  An entry
 * is as makeindex reads it (MakeIndex: An Index Processor for LaTeX, 1987):
 * levels between "!", of each what is shown after "@", how after "|"; a quote
 * before any of them makes it a character.  The entry becomes an alias of the
 * section in which it stands. */
#include <stdlib.h>

#include "indexer/parse/latex/latex_internal.h"

enum {
    MAX_ENTRIES = 100000,
    MAX_ENTRY = 200 /* bytes; what is longer names nothing */
};

/* ---- The entry ---- */

static const char standard[] = "!@|\"";

/* What the character means to makeindex, active or not, as the standard style
 * has it; 0: nothing. */
static uint32_t sign_of(const struct document *d, struct token token)
{
    uint32_t c = token.value;
    if (token.cat == CAT_NAME) {
        struct slice name = d->tex.symbols[token.value].name;
        c = name.size == 2 && name.data[0] == '\1' ? (uint8_t)name.data[1] : 0;
    }
    const char *found = c && c < 0x80 ? strchr(d->index.signs, (int)c) : NULL;
    return found ? (uint32_t)standard[found - d->index.signs] : 0;
}

/* Does it send the reader to another entry, or end a range of pages? */
static bool leads_away(const struct token *how, size_t count)
{
    static const char see[] = "see";
    size_t same = 0;
    while (same < count && see[same] && how[same].cat == CAT_LETTER &&
           how[same].value == (uint32_t)see[same])
        same++;
    return !see[same] || (count && token_is(how[0], CAT_OTHER, ')'));
}

static void add_character(struct tokens *list, struct token call, int cat,
                          uint32_t character)
{
    call.cat = (uint8_t)cat;
    call.value = character;
    call.flags |= TOKEN_MADE;
    tokens_add(list, call);
}

/* \string in a macro's \index makes a name stand in the index as it is, to be
 * read there. */
static bool is_string(const struct document *d, struct token token)
{
    return token.cat == CAT_NAME && token.flags & TOKEN_MADE &&
           slice_is(d->tex.symbols[token.value].name, "string");
}

/* Does the quote there stand before a sign? */
static bool quotes_sign(const struct document *d, const struct tokens *entry,
                        size_t at)
{
    return sign_of(d, entry->items[at]) == '"' && at + 1 < entry->count &&
           sign_of(d, entry->items[at + 1]);
}

/* "{a, b}" of the entry a!b@c|d; false: it names nothing.  What stands in braces has
 * no signs, but that they may be quoted: it would be cut in two. */
static bool read_levels(const struct document *d, const struct tokens *entry,
                        struct token call, struct tokens *ret)
{
    size_t level, depth = 0;
    add_character(ret, call, CAT_BEGIN, '{');
    level = ret->count;
    for (size_t i = 0; i < entry->count; i++) {
        struct token token = entry->items[i];
        if (is_string(d, token))
            continue;
        uint32_t sign =
            !depth || quotes_sign(d, entry, i) ? sign_of(d, token) : 0;
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
        if (sign == '|') {
            if (leads_away(entry->items + i + 1, entry->count - i - 1))
                return false;
            break;
        }
        if (sign == '@') {
            ret->count = level;
        } else if (sign == '!') {
            add_character(ret, call, CAT_OTHER, ',');
            add_character(ret, call, CAT_SPACE, ' ');
            level = ret->count;
        } else if (sign == '"') {
            if (i + 1 < entry->count)
                tokens_add(ret, entry->items[++i]);
        } else {
            tokens_add(ret, token);
        }
    }
    add_character(ret, call, CAT_END, '}');
    return true;
}

static void run_index(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    struct tokens entry = {0}, levels = {0};
    (void)command;
    d->last = 0;
    tex_skip_before(tex, "o");
    tex_read_address(tex, &entry);
    bool wanted = !d->in.silent && d->flow_count < MAX_FLOWS &&
                  d->index.count < MAX_ENTRIES;
    if (wanted && read_levels(d, &entry, call, &levels)) {
        tex_push(tex, levels);
        document_open_flow(d, FLOW_INDEX, call);
    } else {
        tokens_free(&levels);
    }
    tokens_free(&entry);
}

/* ---- Where it stands ---- */

/* One anchor for all entries of a section that come in a row. */
static void place_anchor(struct document *d)
{
    struct outline *o = &d->outline;
    uint32_t node =
        o->path_count ? o->path[o->path_count - 1].node : (uint32_t)TREE_NONE;
    struct buf url = {0};
    if (d->index.url.size && d->index.node == node)
        return;
    buf_printf(&url, "#index.%zu", d->index.settled + 1);
    d->index.node = node;
    d->index.url = document_keep(d, buf_slice(&url));
    outline_anchor(
        o, (struct slice){d->index.url.data + 1, d->index.url.size - 1});
    outline_settle(o);
    buf_free(&url);
}

void index_settle(struct document *d)
{
    if (d->index.settled == d->index.count)
        return;
    place_anchor(d);
    while (d->index.settled < d->index.count)
        d->index.entries[d->index.settled++].url = d->index.url;
}

void index_end_entry(struct document *d, struct flow *flow)
{
    struct slice text;
    struct span span;
    if (!writer_take(&flow->writer, &text, &span) || text.size > MAX_ENTRY)
        return;
    MEM_RESERVE(d->index.entries, &d->index.capacity, d->index.count + 1);
    d->index.entries[d->index.count++] =
        (struct page_alias){document_keep(d, text), {"", 0}};
    if (document_flow(d)->kind != FLOW_TITLE)
        index_settle(d);
}

void index_emit(const struct document *d, struct tree *tree)
{
    tree->page.aliases =
        tree_copy_aliases(tree, d->index.entries, (uint32_t)d->index.settled);
    tree->page.alias_count = (uint32_t)d->index.settled;
}

/* ---- Styles ---- */

/* A character as a style gives it: '?' or '\''; 0: none. */
static char style_character(struct slice text, size_t at)
{
    while (at < text.size && (text.data[at] == ' ' || text.data[at] == '\t'))
        at++;
    if (at + 2 >= text.size || text.data[at] != '\'')
        return 0;
    at += text.data[at + 1] == '\\' ? 2 : 1;
    return at < text.size ? text.data[at] : 0;
}

/* Keywords stand first in a line; "%" begins a comment. */
static void read_style(struct document *d, struct slice text)
{
    static const char *const keywords[] = {"level", "actual", "encap", "quote"};
    for (size_t at = 0; at < text.size;) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        struct slice line = {text.data + at,
                             end ? (size_t)(end - text.data) - at
                                 : text.size - at};
        for (int i = 0; i < 4; i++) {
            size_t size = strlen(keywords[i]);
            if (line.size <= size || memcmp(line.data, keywords[i], size) != 0)
                continue;
            char c = style_character(line, size);
            if (c > ' ' && c < 0x7f)
                d->index.signs[i] = c;
        }
        at += line.size + 1;
    }
}

/* Nothing in the document names the style that it is run with: by custom it is
 * called as the document is. */
static void run_makeindex(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct document *d = document_of(tex);
    uint16_t file;
    (void)command;
    tex_skip_before(tex, "o");
    if (!d->index.styled &&
        inputs_fetch(d, slice_of("\\jobname.ist\n"), call, &file))
        read_style(d, tex->files[file].transcoded.text);
    d->index.styled = true;
}

static const struct command commands[] = {
    {"index", run_index, NULL, 0, NULL},
    {"sindex", run_index, NULL, 0, NULL}, /* splitidx's */
    {"makeindex", run_makeindex, NULL, 0, NULL},
};

void index_add(struct document *d)
{
    memcpy(d->index.signs, standard, sizeof standard);
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
