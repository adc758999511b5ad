/* \bibitem[label]: labels as BibTeX's styles write them for packages, which print a part of
 * them. */
#include <ctype.h>

#include "indexer/parse/latex/latex_internal.h"

/* The end of the group that begins at `at`, behind its brace. */
static size_t end_of_group(const struct tokens *list, size_t at)
{
    int depth = 0;
    while (at < list->count) {
        int cat = list->items[at++].cat;
        depth += cat == CAT_BEGIN ? 1 : cat == CAT_END ? -1 : 0;
        if (depth <= 0)
            break;
    }
    return at;
}

static size_t skip_spaces(const struct tokens *list, size_t at)
{
    while (at < list->count && list->items[at].cat == CAT_SPACE)
        at++;
    return at;
}

/* \citeauthoryear{long}{short}{year} (chicago, apacite), {name}{year} (apalike): the last
 * two; {label}{..}{{..}..} and no more than groups (jurabib): the first. */
static void choose_groups(const struct tex *tex, const struct tokens *label,
                          struct tokens *ret)
{
    size_t from[3] = {0}, to[3] = {0}, count = 0, at = 0;
    bool author_year = false;
    while (at < label->count && label->items[at].cat == CAT_NAME) {
        struct slice name = tex->symbols[label->items[at++].value].name;
        author_year = author_year || slice_is(name, "citeauthoryear");
    }
    if (at && !author_year)
        at = label->count;
    for (at = skip_spaces(label, at);
         at < label->count && label->items[at].cat == CAT_BEGIN;
         at = skip_spaces(label, at)) {
        size_t end = end_of_group(label, at);
        if (count < 3) {
            from[count] = at;
            to[count++] = end;
        }
        at = end;
    }
    bool jurabib = count == 3 && at == label->count && from[2] + 1 < at &&
                   label->items[from[2] + 1].cat == CAT_BEGIN;
    size_t first = author_year && count ? count - 1 - (count > 1) : 0;
    size_t last = author_year ? count : jurabib;
    if (!last) {
        tokens_add_all(ret, label->items, label->count);
        return;
    }
    for (size_t i = first; i < last; i++) {
        struct token space = label->items[from[i]];
        space.cat = CAT_SPACE;
        space.value = ' ';
        if (i > first)
            tokens_add(ret, space);
        tokens_add_all(ret, label->items + from[i], to[i] - from[i]);
    }
}

/* What LaTeX writes so, in the document too: "\&", "\O". */
static void put_sign(const struct tex *tex, struct slice name, struct buf *ret)
{
    uint32_t symbol = tex_find_symbol(tex, name);
    const struct meaning *meaning =
        symbol < tex->symbol_count ? &tex->symbols[symbol].meaning : NULL;
    const char *sign = meaning && meaning->kind == MEANING_COMMAND
                           ? text_sign(meaning->command)
                           : NULL;
    if (sign)
        buf_put_text(ret, sign);
}

static size_t put_command(const struct tex *tex, struct slice text, size_t at,
                          struct buf *ret)
{
    static const char *const words[][2] = {
        {"BBA", "& "},         {"BOthers", "et al"}, {"BOthersPeriod", "et al"},
        {"jbdy", " "},         {"jbbfsasep", "/"},   {"jbbstasep", "/"},
        {"Bibetal", " et al."}};
    size_t from = ++at;
    struct slice rest = {text.data + at, text.size - at};
    size_t accent = text_put_accent(rest, ret);
    if (accent) { /* "\'E", "\'\i " */
        bool named = accent > 2 && rest.data[1] == '\\';
        at += accent;
        return at + (named && at < text.size && text.data[at] == ' ');
    }
    while (at < text.size && isalpha((unsigned char)text.data[at]))
        at++;
    struct slice name = {text.data + from, at - from};
    if (!name.size && rest.size) { /* "\ ", "\&" */
        if (rest.data[0] == ' ')
            buf_put_byte(ret, ' ');
        put_sign(tex, (struct slice){rest.data, 1}, ret);
        return at + 1;
    }
    put_sign(tex, name, ret);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_is(name, words[i][0]))
            buf_put_text(ret, words[i][1]);
    return at + (at < text.size && text.data[at] == ' ');
}

/* natbib's "Knuth et al.(1986)Knuth, Plass" goes on, at once, behind what is printed. */
static bool is_year(struct slice text, size_t at)
{
    size_t digits = 0;
    for (at++; at < text.size && isdigit((unsigned char)text.data[at]); at++)
        digits++;
    at += at < text.size && isalpha((unsigned char)text.data[at]);
    return digits == 4 && at < text.size && text.data[at] == ')' &&
           (at + 1 == text.size || text.data[at + 1] != ' ');
}

void citations_label(struct document *d, struct tokens *label, struct buf *ret)
{
    struct tokens chosen = {0};
    struct buf text = {0};
    choose_groups(&d->tex, label, &chosen);
    tex_expand_text(&d->tex, &chosen, &text);
    bool year = false;
    for (size_t at = 0; at < text.size;) {
        if (text.data[at] == '\\') {
            at = put_command(&d->tex, buf_slice(&text), at, ret);
            continue;
        }
        if (text.data[at] == '(' && is_year(buf_slice(&text), at)) {
            year = true;
            if (ret->size && ret->data[ret->size - 1] != ' ')
                buf_put_byte(ret, ' ');
        }
        buf_put_byte(ret, text.data[at] == '~' ? ' ' : text.data[at]);
        if (text.data[at++] == ')' && year)
            break;
    }
    buf_free(&text);
    tokens_free(&chosen);
}
