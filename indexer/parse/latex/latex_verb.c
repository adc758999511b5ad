/* Code within a line: \verb, characters that stand for it, addresses. */
#include "indexer/parse/latex/latex_internal.h"
#include "base/text.h"

enum { MAX_INLINE = 2000 };

static void run_verb(struct tex *tex, const struct command *command,
                     struct token call);
static void run_url(struct tex *tex, const struct command *command,
                    struct token call);

static void put_inline(struct document *d, struct slice text,
                       struct token place)
{
    bool mono = d->in.mono;
    d->in.mono = true;
    document_put(d, place, text);
    d->in.mono = mono;
}

/* \+ in \verb+\+: in an argument it was read as a name. */
static bool is_escaped(const struct tex *tex, struct token token, uint32_t c)
{
    if (token.cat != CAT_NAME)
        return false;
    struct slice name = tex->symbols[token.value].name;
    return name.size == 1 && (unsigned char)name.data[0] == c;
}

/* What was read up to no end is given back from the brace on that ends the
 * argument, if there is one. */
static void cut_inline(struct document *d, struct tokens *list)
{
    size_t depth = 0, at = 0;
    for (; at < list->count; at++) {
        depth += list->items[at].cat == CAT_BEGIN;
        if (list->items[at].cat == CAT_END && !depth--)
            break;
    }
    if (at == list->count)
        return;
    struct tokens rest = {0};
    tokens_add_all(&rest, list->items + at, list->count - at);
    list->count = at;
    tex_push(&d->tex, rest);
}

static void read_inline(struct document *d, struct token open,
                        struct tokens *ret)
{
    uint32_t close = open.value;
    int cat = open.cat;
    if (open.cat == CAT_BEGIN) {
        close = '}';
        cat = CAT_END;
    }
    for (size_t i = 0; i < MAX_INLINE; i++) {
        struct token token = tex_next(&d->tex);
        if (tex_at_end(&d->tex, token))
            break;
        if (token.value == close && token.cat == cat)
            return;
        if (cat != CAT_END && is_escaped(&d->tex, token, close)) {
            token.cat = CAT_OTHER;
            token.value = '\\';
            token.to = token.from + 1;
            tokens_add(ret, token);
            return;
        }
        tokens_add(ret, token);
        if (token_is(token, CAT_NAME, d->tex.par))
            break;
    }
    cut_inline(d, ret);
}

/* In an argument \lstinline has what TeX would not leave alone behind a backslash,
 * a backslash too (listings' manual, "Program listings inside arguments"). */
static void drop_escapes(struct buf *text, size_t from)
{
    static const char signs[] = "\\{}%#&$^_~ ";
    size_t kept = from;
    for (size_t at = from; at < text->size; at++) {
        bool escape = text->data[at] == '\\' && at + 1 < text->size &&
                      memchr(signs, text->data[at + 1], sizeof signs - 1);
        text->data[kept++] = text->data[at += escape];
    }
    text->size = kept;
}

/* Of an argument: up to the character that opened it. */
static struct token inline_of_tokens(struct document *d, struct token call,
                                     struct token open, struct buf *ret)
{
    struct tokens list = {0};
    size_t from = ret->size;
    read_inline(d, open, &list);
    verbatim_write(d, &list, ret);
    if (slice_is(d->tex.symbols[call.value].name, "lstinline"))
        drop_escapes(ret, from);
    struct token place = call;
    size_t count = list.count;
    while (count && list.items[count - 1].file != call.file)
        count--; /* it may end in another file */
    if (count && list.items[0].file == call.file) {
        place.from = list.items[0].from;
        place.to = list.items[count - 1].to;
        if (place.to < place.from)
            place.to = place.from;
    }
    tokens_free(&list);
    return place;
}

static bool stands_at(struct slice text, size_t at, struct slice what)
{
    return text.size - at >= what.size &&
           memcmp(text.data + at, what.data, what.size) == 0;
}

/* The character at a place, whole. */
static struct slice character_at(struct slice text, size_t at)
{
    size_t end = at + (at < text.size);
    while (end < text.size && (text.data[end] & 0xC0) == 0x80)
        end++;
    return (struct slice){text.data + at, end - at};
}

/* On its line; else, as LaTeX 2.09 had it, in the paragraph. */
static size_t inline_end(struct slice text, size_t at, struct slice close,
                         char open)
{
    size_t depth = 0, line = SIZE_MAX;
    for (; at < text.size; at++) {
        if (stands_at(text, at, close) && !depth--)
            return at;
        if (open && text.data[at] == open)
            depth++;
        if (depth == SIZE_MAX)
            depth = 0;
        if (text.data[at] == '\n') {
            bool empty = at + 1 < text.size && text.data[at + 1] == '\n';
            if (line != SIZE_MAX || empty || open)
                break;
            line = at;
        }
    }
    return line != SIZE_MAX ? line : at;
}

/* |...| after the command; `active`: the first | was the command.  The place
 * of what is between. */
static struct token read_verb(struct document *d, struct token call,
                              uint32_t active, struct buf *ret)
{
    struct input *file;
    if (!tex_to_file(&d->tex, &file)) {
        struct token open = {.cat = CAT_NAME, .value = call.value};
        if (!active)
            open = tex_next(&d->tex);
        return inline_of_tokens(d, call, open, ret);
    }
    struct slice text = {d->tex.files[file->file].transcoded.text.data,
                         file->end};
    size_t at = file->at;
    if (!active && at < text.size && text.data[at] == '*')
        at++;
    struct buf first = {0};
    if (active)
        text_encode(&first, active);
    struct slice close = active ? buf_slice(&first) : character_at(text, at);
    if (!active)
        at += close.size;
    char open = close.size && close.data[0] == '{' ? '{' : 0;
    if (open)
        close = slice_of("}");
    else if (!close.size)
        close = slice_of(" ");
    size_t end = inline_end(text, at, close, open);
    bool closed = end < text.size && stands_at(text, end, close);
    if (end >= text.size || text.data[end] == '\n')
        tex_report(&d->tex, call,
                   "a passage to stand as written does not end "
                   "on its line");
    file->at = closed ? end + close.size : end;
    file->state = MOUTH_MIDDLE;
    buf_put(ret, text.data + at, end - at);
    buf_free(&first);
    return (struct token){.cat = CAT_OTHER,
                          .file = file->file,
                          .from = (uint32_t)at,
                          .to = (uint32_t)end};
}

static void verb(struct document *d, struct token call, uint32_t active)
{
    struct buf text = {0};
    struct token place = read_verb(d, call, active, &text);
    put_inline(d, buf_slice(&text), place);
    buf_free(&text);
}

/* \url {..} */
static void skip_to_address(struct tex *tex, const struct command *command)
{
    tex_skip_before(tex, command->before);
    tex_unread(tex, tex_next_solid(tex));
}

bool verb_in_formula(struct document *d, struct token call, struct tokens *ret)
{
    const struct meaning *meaning = tex_meaning(&d->tex, call);
    bool command = meaning->kind == MEANING_COMMAND;
    bool address = command && meaning->command->run == run_url;
    if (!address && !(command && meaning->command->run == run_verb))
        return false;
    struct buf text = {0};
    if (address)
        skip_to_address(&d->tex, meaning->command);
    struct token place = read_verb(d, call, 0, &text);
    place.cat = CAT_OTHER;
    for (size_t at = 0, step; at < text.size; at += step) {
        place.value = text_decode(text.data, text.size, at, &step);
        tokens_add(ret, place);
    }
    buf_free(&text);
    return true;
}

static void run_verb(struct tex *tex, const struct command *command,
                     struct token call)
{
    if (command->before)
        tex_skip_before(tex, command->before);
    verb(document_of(tex), call, 0);
}

static void run_short_verb(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct slice name = tex->symbols[call.value].name;
    size_t step;
    (void)command;
    verb(document_of(tex), call,
         name.size > 1 ? text_decode(name.data, name.size, 1, &step) : '|');
}

static const struct command short_verb = {"-short verb-", run_short_verb, NULL,
                                          0, NULL};

/* 0: there is none. */
static uint32_t last_character(struct slice text)
{
    size_t at = text.size, step;
    while (at && (text.data[--at] & 0xC0) == 0x80)
        ;
    return text.size ? text_decode(text.data, text.size, at, &step) : 0;
}

/* \MakeShortVerb{\|} */
static void run_make_short_verb(struct tex *tex, const struct command *command,
                                struct token call)
{
    struct tokens list = {0};
    struct buf text = {0};
    (void)call;
    tex_skip_before(tex, "so");
    tex_read_argument(tex, &list);
    tex_write_tokens(tex, &list, &text);
    uint32_t c = last_character(buf_slice(&text));
    bool on = command->value != 0;
    if (c >= 0x80)
        tex->wide_active = on ? c : 0;
    else if (c && c != '\\')
        tex_set_catcode(tex, c, on ? CAT_ACTIVE : CAT_OTHER, true);
    if (c && c != '\\' && on)
        tex->symbols[tex_active_symbol(tex, c)].meaning = (struct meaning){
            .kind = MEANING_COMMAND, .firm = true, .command = &short_verb};
    tokens_free(&list);
    buf_free(&text);
}

void verb_between_bars(struct document *d)
{
    tex_define_text(&d->tex, "-bars-", "\\MakeShortVerb{\\|}");
    struct token token = {.cat = CAT_NAME, .file = UINT16_MAX};
    token.value = tex_symbol_of(&d->tex, "-bars-");
    tokens_add(&d->at_begin, token);
}

/* Where a name begins that the document has defined, or the end. */
static size_t macro_in(struct tex *tex, struct slice text)
{
    for (size_t at = 0; at + 1 < text.size; at++) {
        size_t end = at + 1;
        while (end < text.size && (unsigned)((text.data[end] | 32) - 'a') < 26)
            end++;
        if (text.data[at] != '\\' || end == at + 1)
            continue;
        uint32_t symbol = tex_find_symbol(
            tex, (struct slice){text.data + at + 1, end - at - 1});
        if (symbol != UINT32_MAX &&
            tex->symbols[symbol].meaning.kind == MEANING_MACRO)
            return at;
    }
    return text.size;
}

static bool has_even_braces(struct slice text)
{
    size_t depth = 0;
    for (size_t at = 0; at < text.size; at++) {
        if (text.data[at] == '}' && !depth--)
            return false;
        depth += text.data[at] == '{';
    }
    return !depth;
}

/* The tokens of an address: names and braces, else characters. */
static void tokenize_address(struct tex *tex, struct slice text,
                             struct token place, struct tokens *ret)
{
    for (size_t at = 0, step; at < text.size; at += step) {
        struct token token = place;
        token.cat = text.data[at] == '{'   ? CAT_BEGIN
                    : text.data[at] == '}' ? CAT_END
                                           : CAT_OTHER;
        token.value = text_decode(text.data, text.size, at, &step);
        size_t end = at + 1;
        while (text.data[at] == '\\' && end < text.size &&
               (unsigned)((text.data[end] | 32) - 'a') < 26)
            end++;
        if (end > at + 1) {
            token.cat = CAT_NAME;
            token.value = tex_symbol(
                tex, (struct slice){text.data + at + 1, end - at - 1});
            while (end < text.size && text.data[end] == ' ')
                end++;
            step = end - at;
        }
        tokens_add(ret, token);
    }
}

void verb_unescape_address(struct buf *address)
{
    size_t to = 0;
    for (size_t at = 0; at < address->size; at++) {
        bool escaped = address->data[at] == '\\' && at + 1 < address->size &&
                       strchr("_%#&$", address->data[at + 1]);
        at += escaped;
        address->data[to++] = address->data[at];
    }
    if (address->data)
        address->data[address->size = to] = '\0';
}

/* \url{..}: its characters as they are; hyperref's expands the document's macros, but
 * not in a \path. */
static void put_address(struct document *d, bool expands, struct token call)
{
    struct buf text = {0}, expanded = {0};
    struct tokens list = {0};
    struct token place = read_verb(d, call, 0, &text);
    if (expands)
        verb_unescape_address(&text);
    if (!expands || !has_even_braces(buf_slice(&text)) ||
        macro_in(&d->tex, buf_slice(&text)) == text.size) {
        put_inline(d, buf_slice(&text), place);
    } else {
        call.cat = CAT_BEGIN;
        tokens_add(&list, call);
        tokenize_address(&d->tex, buf_slice(&text), place, &list);
        call.cat = CAT_END;
        tokens_add(&list, call);
        tex_push(&d->tex, list);
        tex_read_text(&d->tex, &expanded);
        put_inline(d, buf_slice(&expanded), place);
    }
    buf_free(&text);
    buf_free(&expanded);
}

/* Where it is text, it is a reference, too. */
static void run_url(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct document *d = document_of(tex);
    struct writer *w = &document_flow(d)->writer;
    size_t before = w->text.size;
    skip_to_address(tex, command);
    put_address(d, !command->text, call);
    if (d->in.silent || w->text.size <= before || !command->value)
        return;
    struct slice url = {w->text.data + before, w->text.size - before};
    while (url.size && url.data[0] == ' ') {
        url.data++;
        url.size--;
    }
    url = document_keep(d, url);
    outline_ref(&d->outline, url, url);
}

static const struct command commands[] = {
    {"verb", run_verb, NULL, 0, NULL},
    {"lstinline", run_verb, "o", 0, NULL},
    {"mintinline", run_verb, "om", 0, NULL},
    {"Verb", run_verb, "o", 0, NULL},
    {"path", run_url, NULL, 0, "as it is"},
    {"url", run_url, NULL, 1, NULL},
    {"nolinkurl", run_url, NULL, 0, NULL},
    {"MakeShortVerb", run_make_short_verb, NULL, 1, NULL},
    {"DefineShortVerb", run_make_short_verb, NULL, 1, NULL},
    {"lstMakeShortInline", run_make_short_verb, NULL, 1, NULL},
    {"DeleteShortVerb", run_make_short_verb, NULL, 0, NULL},
    {"UndefineShortVerb", run_make_short_verb, NULL, 0, NULL},
};

void verb_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, &short_verb, 1, MEANING_COMMAND, true);
}
