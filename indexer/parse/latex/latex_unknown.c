/* Commands that nothing which is at hand defines: of a class or package that is not here,
 * or of LaTeX's own that set no text. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "indexer/parse/latex/latex_internal.h"

/* Does nothing stand between them in the file?  What macros made is next to anything. */
static bool is_adjacent(struct token token, struct token next)
{
    return next.flags & TOKEN_MADE || next.from == token.to;
}

/* The star of \name*{..}, which says which of two is meant.  Returns the last token
 * that was taken. */
static struct token skip_star(struct tex *tex, struct token name)
{
    struct token star = tex_next(tex);
    if (!token_is(star, CAT_OTHER, '*') || !is_adjacent(name, star)) {
        tex_unread(tex, star);
        return name;
    }
    struct token next = tex_next(tex);
    bool before = next.cat == CAT_BEGIN || token_is(next, CAT_OTHER, '[');
    tex_unread(tex, next);
    if (before && is_adjacent(star, next))
        return star;
    tex_unread(tex, star);
    return name;
}

/* ---- Words ---- */

/* LaTeX's own that may stand in a sentence and are no word of it. */
static bool sets_nothing(struct slice name)
{
    static const char *const names[] = {"allowbreak",     "bigskip",
                                        "break",          "centering",
                                        "clearpage",      "cleardoublepage",
                                        "dotfill",        "egroup",
                                        "enspace",        "filbreak",
                                        "frenchspacing",  "fussy",
                                        "goodbreak",      "hfil",
                                        "hfill",          "hfilneg",
                                        "hrulefill",      "hss",
                                        "ignorespaces",   "indent",
                                        "leavevmode",     "linebreak",
                                        "makeatletter",   "makeatother",
                                        "mathstrut",      "mbox",
                                        "medskip",        "negthinspace",
                                        "newline",        "newpage",
                                        "nobreak",        "noindent",
                                        "nolinebreak",    "nonfrenchspacing",
                                        "nopagebreak",    "null",
                                        "pagebreak",      "par",
                                        "phantomsection", "protect",
                                        "raggedleft",     "raggedright",
                                        "relax",          "samepage",
                                        "selectfont",     "sloppy",
                                        "smallskip",      "strut",
                                        "thepage",        "thinspace",
                                        "unskip",         "vfil",
                                        "vfill"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_is(name, names[i]))
            return true;
    /* \faGithub, an icon of Font Awesome */
    return name.size > 2 && !memcmp(name.data, "fa", 2) &&
           isupper((unsigned char)name.data[2]);
}

static bool is_one_of(char c, const char *signs)
{
    return c && strchr(signs, c);
}

static bool is_acronym(struct slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (!isupper((unsigned char)name.data[i]))
            return false;
    return true;
}

/* How a command may stand as a word does in a sentence. */
enum word_use {
    NO_WORD,
    IS_WORD,
    AND_SPACE /* "the \DM is": its class would put one (xspace) */
};

/* The file's end is that of a line. */
static char byte_at(struct slice text, size_t at)
{
    return at < text.size ? text.data[at] : '\n';
}

/* "of \DM{} is", "by the \DM.": what its class would make of it is not told, but its
 * name says more than nothing. */
static enum word_use word_use(const struct document *d, struct token token)
{
    const struct tex *tex = &d->tex;
    if (token.file >= tex->file_count) /* what an option runs is of no file */
        return NO_WORD;
    struct slice text = tex->files[token.file].transcoded.text;
    struct slice name = tex->symbols[token.value].name;
    size_t to = token.from + 1 + name.size;
    if (token.flags & TOKEN_MADE || d->in.silent || d->in.math ||
        name.size < 2 || !token.from || sets_nothing(name) ||
        !is_one_of(text.data[token.from - 1], " ~({-/\"'`\n"))
        return NO_WORD;
    bool open = d->flows[d->flow_count - 1].writer.open;
    const char next[] = {byte_at(text, to), byte_at(text, to + 1),
                         byte_at(text, to + 2), byte_at(text, to + 3)};
    if (next[0] == '{' && next[1] == '}') /* they end the name */
        return open || (next[2] == ' ' && islower((unsigned char)next[3]))
                   ? IS_WORD
                   : NO_WORD;
    if (!open)
        return NO_WORD;
    if (next[0] == ' ' && islower((unsigned char)next[1]) && is_acronym(name))
        return AND_SPACE;
    bool ends = is_one_of(next[0], ".,;:?)") && is_one_of(next[1], " \n)}.,;:");
    bool goes_on = /* "\DM's", "\DM-based" */
        is_one_of(next[0], "'-") && islower((unsigned char)next[1]);
    return ends || goes_on || (next[0] == '\\' && next[1] == ' ') ? IS_WORD
                                                                  : NO_WORD;
}

/* ---- Headings ---- */

/* What macros made does in any place. */
static bool begins_line(const struct tex *tex, struct token token)
{
    if (token.flags & TOKEN_MADE || token.file >= tex->file_count)
        return true;
    const char *text = tex->files[token.file].transcoded.text.data;
    size_t at = token.from;
    while (at && (text[at - 1] == ' ' || text[at - 1] == '\t'))
        at--;
    return !at || text[at - 1] == '\n';
}

/* \Section{..} of a class that is not here sets a heading as \section{..} does where
 * that is known; within a line it refers to one. */
static bool heads(struct document *d, struct token token)
{
    static const char *const names[] = {"part", "chapter", "section",
                                        "subsection", "subsubsection"};
    struct tex *tex = &d->tex;
    struct slice name = tex->symbols[token.value].name;
    if (!document_is_body(d) || d->in.silent || d->in.math ||
        !begins_line(tex, token))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) != name.size ||
            strncasecmp(names[i], name.data, name.size))
            continue;
        struct token next = tex_next(tex);
        tex_unread(tex, next);
        uint32_t symbol = tex_symbol_of(tex, names[i]);
        if (next.cat != CAT_BEGIN || !is_adjacent(token, next) ||
            tex->symbols[symbol].meaning.kind == MEANING_NONE)
            return false;
        token.value = symbol;
        tex_unread(tex, token);
        return true;
    }
    return false;
}

static bool ends_in(struct slice name, const char *end)
{
    size_t size = strlen(end);
    return name.size >= size &&
           !strncasecmp(name.data + name.size - size, end, size);
}

/* \Booktitle{..}, not \Subtitle{..}, of a class that is not here, above all headings of a
 * document that has no title. */
static bool entitles(struct document *d, struct token token)
{
    struct tex *tex = &d->tex;
    struct slice name = tex->symbols[token.value].name;
    if (!ends_in(name, "title") || ends_in(name, "subtitle") ||
        !document_is_body(d) || d->in.silent || d->in.math || d->title.size ||
        d->outline.count || document_flow(d)->writer.open ||
        !begins_line(tex, token))
        return false;
    struct token next = tex_next(tex);
    tex_unread(tex, next);
    if (next.cat != CAT_BEGIN || !is_adjacent(token, next))
        return false;
    struct tokens text = {0}, run = {0};
    tex_read_argument(tex, &text);
    tokens_add_group(&run, &text, token);
    tex_add_name(tex, "par", token, &run);
    tex_push(tex, run);
    tokens_free(&text);
    d->large = true;
    return true;
}

void unknown_run(struct document *d, struct token token)
{
    struct tex *tex = &d->tex;
    if (heads(d, token) || entitles(d, token))
        return;
    struct token name = skip_star(tex, token);
    struct token next = tex_next(tex);
    bool option = token_is(next, CAT_OTHER, '[') &&
                  !(next.flags & TOKEN_MADE) && next.from == name.to;
    tex_unread(tex, next);
    if (option || next.cat == CAT_BEGIN)
        bytefield_lose_count(d);
    if (option)
        tex_skip_before(tex, "o");
    if (option || name.cat != CAT_NAME)
        return;
    enum word_use use = word_use(d, token);
    if (use != NO_WORD)
        document_put(d, token, tex->symbols[token.value].name);
    if (use == AND_SPACE)
        document_space(d);
}
