/* Text that stands as it is written: verbatim and its kin, \verb, comments. */

#include "indexer/parse/latex/latex_internal.h"
#include "base/text.h"

enum { MAX_INLINE = 2000, MAX_LOOK = 1 << 14 };

/* ---- From tokens ---- */

static bool is_blank(struct slice text, size_t from, size_t to)
{
    while (from < to && strchr(" \t\r\n", text.data[from]))
        from++;
    return from >= to;
}

/* Do the tokens stand in one piece of a file, but for spaces? */
static bool is_passage(const struct document *d, const struct tokens *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct token token = list->items[i];
        if (token.flags & TOKEN_MADE || token.file >= d->tex.file_count ||
            token.file != list->items[0].file)
            return false;
        if (i && (token.from < list->items[i - 1].to ||
                  !is_blank(d->tex.files[token.file].transcoded.text,
                            list->items[i - 1].to, token.from)))
            return false;
    }
    return list->count > 0;
}

void verbatim_write(const struct document *d, const struct tokens *list,
                    struct buf *ret)
{
    if (is_passage(d, list)) {
        struct token first = list->items[0],
                     last = list->items[list->count - 1];
        struct slice text = d->tex.files[first.file].transcoded.text;
        buf_put(ret, text.data + first.from, last.to - first.from);
        return;
    }
    tex_write_tokens(&d->tex, list, ret);
}

/* ---- Environments ---- */

/* Bytes up to a comma that no brace encloses. */
static size_t option_size(const char *at)
{
    size_t depth = 0, size = 0;
    for (; at[size] && (depth || at[size] != ','); size++) {
        depth += at[size] == '{';
        depth -= at[size] == '}' && depth;
    }
    return size;
}

struct slice verbatim_option(struct document *d, const struct tokens *list,
                             const char *name)
{
    struct buf text = {0};
    struct slice found = {"", 0};
    tex_write_tokens(&d->tex, list, &text);
    const char *at = text.size ? text.data : "";
    while (*at && !found.size) {
        at += strspn(at, ", \t\r\n");
        size_t size = option_size(at), head = strlen(name), to = size;
        size_t from = size > head && !strncmp(at, name, head)
                          ? head + strspn(at + head, " ")
                          : size;
        if (from < size && at[from] == '=') {
            from += 1 + strspn(at + from + 1, " ");
            while (to > from && at[to - 1] == ' ')
                to--;
            if (to > from + 1 && at[from] == '{' && at[to - 1] == '}')
                from++, to--;
            found = document_keep(
                d, (struct slice){at + from, to > from ? to - from : 0});
        }
        at += size;
    }
    buf_free(&text);
    return found;
}

/* Of `[LaTeX]TeX` the language. */
struct slice verbatim_language(struct document *d, const struct tokens *list)
{
    struct slice found = verbatim_option(d, list, "language");
    const char *end = found.size && found.data[0] == '['
                          ? memchr(found.data, ']', found.size)
                          : NULL;
    if (end) {
        found.size -= (size_t)(end + 1 - found.data);
        found.data = end + 1;
    }
    return found;
}

static struct slice trim(struct slice text)
{
    size_t start = 0;
    for (size_t at = 0;
         at < text.size && strchr(" \t\r\n", text.data[at]) && text.data[at];
         at++)
        if (text.data[at] == '\n')
            start = at + 1;
    text.data += start;
    text.size -= start;
    while (text.size && text.data[text.size - 1] &&
           strchr(" \t\r\n", text.data[text.size - 1]))
        text.size--;
    return text;
}

/* A passage of code: the environment of that name. */
struct code {
    struct slice name, info;
    struct slice head;   /* shown before it: lines of its own */
    bool keep;           /* as a block */
    bool captioned;      /* listings': its options have its caption */
    struct tokens after; /* read behind it: the caption */
    struct escapes escapes;
};

/* In a .dtx file each line of it begins with "%", but for macrocode, of which
 * the last does.  The place is that of `raw`, if it is as long. */
static void put_code(struct document *d, const struct code *code,
                     struct slice raw, struct token place)
{
    struct slice name = code->name, info = code->info;
    bool exact = place.to - place.from == raw.size;
    struct slice text = trim(raw);
    bool marked = d->documented && text.size && text.data[text.size - 1] == '%';
    if (marked)
        text = trim((struct slice){text.data, text.size - 1});
    bool unmarked =
        marked && !slice_is(name, "macrocode") && !slice_is(name, "macrocode*");
    if (exact) {
        place.from += (uint32_t)(text.data - raw.data);
        place.to = place.from + (uint32_t)text.size;
    }
    struct buf clean = {0}, read = {0};
    buf_put_slice(&clean, code->head);
    if (code->head.size)
        buf_put_byte(&clean, '\n');
    if (exact && (code->escapes.open[0] || code->escapes.comments)) {
        escapes_write(d, &code->escapes, text, place, &read);
        text = buf_slice(&read);
    }
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] != '\r' &&
            !(unmarked && text.data[i] == '%' &&
              (!i || text.data[i - 1] == '\n')) &&
            ((unsigned char)text.data[i] >= ' ' || text.data[i] == '\n' ||
             text.data[i] == '\t'))
            buf_put_byte(&clean, text.data[i]);
    if (document_is_body(d)) {
        document_flush(d);
        document_block(d, BLOCK_CODE, buf_slice(&clean), info, place);
    } else {
        document_space(d);
        document_put(d, place, buf_slice(&clean));
        document_space(d);
    }
    buf_free(&clean);
    buf_free(&read);
}

void verbatim_put(struct document *d, struct slice raw, struct slice language,
                  struct token place)
{
    struct code code = {.name = {"", 0}, .info = language, .keep = true};
    put_code(d, &code, raw, place);
}

/* The environment's lines, from the tokens of an argument it stands in. */
void verbatim_read_tokens(struct document *d, struct slice name,
                          struct tokens *ret)
{
    for (;;) {
        struct token token = tex_next(&d->tex);
        if (token.cat == CAT_NONE || token.cat == CAT_STOP) {
            tex_unread(&d->tex, token);
            return;
        }
        if (!token_is(token, CAT_NAME, d->tex.end)) {
            tokens_add(ret, token);
            continue;
        }
        struct tokens list = {0};
        struct buf read = {0};
        tex_read_argument(&d->tex, &list);
        tex_write_tokens(&d->tex, &list, &read);
        bool ends = slice_equal(buf_slice(&read), name);
        if (!ends)
            tokens_add_all(ret, list.items, list.count);
        tokens_free(&list);
        buf_free(&read);
        if (ends)
            return;
    }
}

/* From the first to the last of the tokens, as far as they are of a file. */
static struct token place_of(const struct tokens *list, struct token call)
{
    struct token first = list->items[0], last = list->items[list->count - 1];
    struct token place = call;
    if (first.file != call.file)
        return place;
    place.from = first.from;
    place.to =
        last.file == first.file && last.to > first.from ? last.to : first.from;
    return place;
}

/* Up to \end{name}. */
static void take_verbatim(struct document *d, const struct code *code,
                          struct token call)
{
    struct slice name = code->name;
    struct buf end = {0};
    struct slice raw;
    struct token place = call;
    buf_printf(&end, "\\end{%.*s}", (int)name.size, name.data);
    if (tex_read_raw(&d->tex, end.data, &raw, &place)) {
        if (raw.size > 3 && !memcmp(raw.data, "{}\n", 3)) {
            raw.data += 2; /* of the opening line, which shows nothing */
            raw.size -= 2;
            place.from += 2;
        }
        if (code->keep)
            put_code(d, code, raw, place);
    } else {
        struct tokens list = {0};
        struct buf text = {0};
        verbatim_read_tokens(d, name, &list);
        verbatim_write(d, &list, &text);
        if (code->keep && text.size)
            put_code(d, code, buf_slice(&text), place_of(&list, call));
        tokens_free(&list);
        buf_free(&text);
    }
    buf_free(&end);
}

/* The environment's own name ends it, by whatever macro it was begun. */
struct slice verbatim_name(struct document *d)
{
    struct group *group = document_environment(d);
    if (!group)
        return slice_of("verbatim");
    return d->tex.symbols[group->name].name;
}

/* Nothing more on this line: a bracket on the next one is code. */
static bool is_at_line_end(struct tex *tex)
{
    struct input *file;
    if (!tex_to_file(tex, &file))
        return false;
    struct slice text = tex->files[file->file].transcoded.text;
    size_t at = file->at;
    while (at < file->end && strchr(" \t\r", text.data[at]) && text.data[at])
        at++;
    return at < file->end && text.data[at] == '\n';
}

static void read_options(struct document *d, struct code *code)
{
    struct tokens list = {0};
    if (tex_read_optional(&d->tex, &list)) {
        code->info = verbatim_language(d, &list);
        code->head = verbatim_option(d, &list, "preamble");
        escapes_set(d, &list, &code->escapes);
        if (code->captioned && list.count)
            listings_caption(&d->tex, &list, list.items[0], &code->after);
    }
    tokens_free(&list);
}

/* \end{name}, to be read next. */
void verbatim_push_end(struct document *d, struct slice name, struct token call)
{
    struct tokens end = {0};
    struct token token = call;
    token.cat = CAT_NAME;
    token.value = d->tex.end;
    tokens_add(&end, token);
    token.cat = CAT_BEGIN;
    token.value = '{';
    tokens_add(&end, token);
    for (size_t i = 0; i < name.size; i++) {
        token.cat = CAT_LETTER;
        token.value = (unsigned char)name.data[i];
        tokens_add(&end, token);
    }
    token.cat = CAT_END;
    token.value = '}';
    tokens_add(&end, token);
    tex_push(&d->tex, end);
}

/* The environment of the document's own that the file has around what macros
 * opened in it; NULL: there is none. */
const struct group *verbatim_wrapper(struct document *d, struct token call)
{
    size_t at = d->group_count;
    if (!(call.flags & TOKEN_MADE))
        return NULL;
    while (at && d->groups[at - 1].opened.flags & TOKEN_MADE)
        at--;
    const struct group *group = at ? &d->groups[at - 1] : NULL;
    bool own = group && group->kind == GROUP_ENVIRONMENT && !group->environment;
    return own ? group : NULL;
}

/* What the file that is read goes on with, up to the next \end{name}; its data are NULL
 * where that is not to be seen.  What is looked through counts as steps. */
static struct slice text_to_end(struct document *d, struct slice name)
{
    struct slice rest = {"", 0};
    struct buf end = {0};
    if (d->tex.top_file) {
        const struct input *input = &d->tex.inputs[d->tex.top_file - 1];
        rest.data = d->tex.files[input->file].transcoded.text.data + input->at;
        rest.size = input->end - input->at;
    }
    if (rest.size > MAX_LOOK)
        rest.size = MAX_LOOK;
    buf_printf(&end, "\\end{%.*s}", (int)name.size, name.data);
    const char *found = memmem(rest.data, rest.size, end.data, end.size);
    d->tex.steps += (found ? (size_t)(found - rest.data) : rest.size) / 8;
    buf_free(&end);
    return (struct slice){found ? rest.data : NULL,
                          found ? (size_t)(found - rest.data) : SIZE_MAX};
}

/* What macros began may end by its own name or by that of the environment that the file
 * has around it: what comes first there. */
static bool wrapper_ends(struct document *d, const struct group *wrapper,
                         struct slice own)
{
    struct slice name = d->tex.symbols[wrapper->name].name;
    return slice_equal(name, own) ||
           text_to_end(d, name).size <= text_to_end(d, own).size;
}

/* What the environment takes before its text.  `signature`: o options, m the
 * language, a an argument of no account, s a star; after a colon the language.
 */
static void read_signature(struct document *d, const char *signature,
                           struct code *code)
{
    for (; *signature && *signature != ':'; signature++) {
        char skip[] = {*signature == 'a' ? 'm' : *signature, '\0'};
        struct buf text = {0};
        if (*signature == 'o') {
            bool last = !signature[1] || signature[1] == ':';
            if (!last || !is_at_line_end(&d->tex))
                read_options(d, code);
        } else if (*signature == 'm') {
            tex_read_text(&d->tex, &text);
            code->info = document_keep(d, buf_slice(&text));
        } else {
            tex_skip_before(&d->tex, skip);
        }
        buf_free(&text);
    }
    if (*signature && !code->info.size)
        code->info = slice_of(signature + 1);
}

static bool is_listing(struct slice name)
{
    return slice_is(name, "lstlisting") || slice_is(name, "minted");
}

/* Those of the environment, of the document's own, or of all listings. */
static struct escapes escapes_of(struct document *d,
                                 const struct environment *environment)
{
    uint32_t symbol = d->groups[d->group_count - 1].name;
    for (size_t i = 0; i < d->escaped_count; i++)
        if (d->escaped[i].environment == symbol)
            return d->escaped[i].escapes;
    return is_listing(slice_of(environment->name)) ? d->escapes
                                                   : (struct escapes){0};
}

static void keep_escapes(struct document *d, struct slice name,
                         const struct tokens *code)
{
    struct escaped escaped = {.environment = tex_symbol(&d->tex, name),
                              .escapes = d->escapes};
    escapes_look(d, code, 0, &escaped.escapes);
    for (size_t i = 0; i < d->escaped_count; i++)
        if (d->escaped[i].environment == escaped.environment) {
            d->escaped[i] = escaped;
            return;
        }
    MEM_RESERVE(d->escaped, &d->escaped_capacity, d->escaped_count + 1);
    d->escaped[d->escaped_count++] = escaped;
}

static void begin_verbatim(struct document *d,
                           const struct environment *environment,
                           struct token call)
{
    struct code code = {.name = verbatim_name(d),
                        .keep = environment->value,
                        .captioned =
                            slice_is(slice_of(environment->name), "lstlisting"),
                        .escapes = escapes_of(d, environment)};
    size_t around = d->group_count - 1;
    if (environment->text)
        read_signature(d, environment->text, &code);
    const struct group *wrapper = verbatim_wrapper(d, call);
    if (wrapper && !wrapper_ends(d, wrapper, code.name))
        wrapper = NULL;
    if (wrapper)
        code.name = d->tex.symbols[wrapper->name].name;
    take_verbatim(d, &code, call);
    if (wrapper)
        verbatim_push_end(d, code.name, call);
    else
        document_close_to(d, around);
    tex_push(&d->tex, code.after);
}

static const struct environment numbered = {
    "listing", begin_verbatim, NULL, NULL, 1, "oa", 0};

/* moreverb's says which number its first line has, "[2]{1}". */
static bool is_numbered(struct slice text)
{
    const char *option = text.size && text.data[0] == '['
                             ? memchr(text.data, ']', text.size)
                             : NULL;
    size_t at = option ? (size_t)(option - text.data) + 1 : 0;
    return at < text.size && text.data[at] == '{';
}

/* Code of moreverb's, or a float around other code. */
static void begin_listing(struct document *d,
                          const struct environment *environment,
                          struct token call)
{
    static const char caption[] = "\\caption", begin[] = "\\begin{";
    struct slice text = text_to_end(d, slice_of(environment->name));
    if (text.data && is_numbered(text))
        begin_verbatim(d, &numbered, call);
    else if (text.data &&
             (memmem(text.data, text.size, caption, sizeof caption - 1) ||
              memmem(text.data, text.size, begin, sizeof begin - 1)))
        blocks_begin_listing(d, call);
    else
        begin_verbatim(d, environment, call);
}

bool verbatim_is(struct document *d, struct slice name)
{
    uint32_t symbol = tex_find_symbol(&d->tex, name);
    const struct environment *found =
        symbol == UINT32_MAX ? NULL : d->tex.symbols[symbol].environment;
    return found &&
           (found->begin == begin_verbatim || found->begin == begin_listing);
}

/* Does a line of the text begin with the mark? */
static bool has_line(struct slice text, const char *mark)
{
    const char *end = text.data + text.size, *at = text.data;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        while (at < end && strchr(" \t\r\n", *at))
            at++;
        size_t size = strlen(mark);
        if ((size_t)(end - at) > size && !memcmp(at, mark, size))
            return true;
    }
    return false;
}

/* What stands before the first environment, a document's own aside: a listing within may
 * show a preamble, too. */
static struct slice before_environments(struct slice text)
{
    static const char begin[] = "\\begin{", document[] = "document}";
    const char *end = text.data + text.size, *at = text.data;
    while ((at = memmem(at, (size_t)(end - at), begin, sizeof begin - 1))) {
        const char *name = at + sizeof begin - 1;
        if ((size_t)(end - name) < sizeof document - 1 ||
            memcmp(name, document, sizeof document - 1) != 0)
            return (struct slice){text.data, (size_t)(at - text.data)};
        at = name;
    }
    return text;
}

/* Does the text hold a document's preamble itself, not within another environment?
 * Nothing in a document's body does otherwise. */
static bool holds_preamble(const struct document *d, struct slice text)
{
    static const char *const marks[] = {"\\documentclass", "\\documentstyle",
                                        "\\usepackage", "\\begin{document}"};
    bool holds = false;
    text = before_environments(text);
    for (size_t i = 0; d->begun && i < sizeof marks / sizeof *marks; i++)
        holds = holds || has_line(text, marks[i]);
    return holds;
}

/* The name behind a backslash at `at`, of one sign if that is no letter. */
static struct slice name_at(struct slice text, size_t at)
{
    size_t end = at;
    while (end < text.size && text_is_letter((unsigned char)text.data[end]))
        end++;
    return (struct slice){text.data + at, end > at ? end - at : at < text.size};
}

/* Is there a command that is known, or one with an argument? */
static bool has_command(const struct document *d, struct slice text)
{
    for (size_t at = 0; at < text.size; at++) {
        if (text.data[at] != '\\')
            continue;
        struct slice name = name_at(text, at + 1);
        size_t after = at + 1 + name.size;
        uint32_t symbol = tex_find_symbol(&d->tex, name);
        bool letters = name.size && text_is_letter((unsigned char)*name.data);
        bool known = symbol != UINT32_MAX &&
                     d->tex.symbols[symbol].meaning.kind != MEANING_NONE;
        bool called = after < text.size &&
                      (text.data[after] == '{' || text.data[after] == '[');
        if (letters && (known || called))
            return true;
        at += name.size;
    }
    return false;
}

/* Is there what TeX could not set as text: "#", a "$" without its other, "_" or "^"
 * outside of formulas? */
static bool is_no_text(struct slice text)
{
    bool math = false, sign = false;
    for (size_t at = 0; at < text.size && !sign; at++) {
        char c = text.data[at];
        char next = at + 1 < text.size ? text.data[at + 1] : '\0';
        if (c == '\\') {
            math = next == '(' || next == '[' ||
                   (math && next != ')' && next != ']');
            at++;
        } else if (c == '%') {
            const char *end = memchr(text.data + at, '\n', text.size - at);
            at = end ? (size_t)(end - text.data) - 1 : text.size;
        } else if (c == '$') {
            math = !math;
            at += next == '$';
        } else {
            bool ends = c == '\n' && next == '\n';
            sign = math ? ends : c == '#' || c == '_' || c == '^';
        }
    }
    return sign || math;
}

/* A line "{...}", the environment's argument. */
static bool begins_with_argument(struct slice text)
{
    const char *line = memchr(text.data, '\n', text.size);
    return line && line - text.data > 2 && text.data[0] == '{' &&
           line[-1] == '}';
}

static void take_unknown(struct document *d, struct slice name,
                         struct slice text, struct token call)
{
    size_t around = d->group_count - 1;
    struct code passage = {.name = name, .keep = true};
    read_signature(d, begins_with_argument(text) ? "oa" : "o", &passage);
    take_verbatim(d, &passage, call);
    document_close_to(d, around);
}

/* An environment that was code elsewhere. */
static void begin_unknown(struct document *d,
                          const struct environment *environment,
                          struct token call)
{
    struct slice name = verbatim_name(d), text = text_to_end(d, name);
    (void)environment;
    if (text.data && !has_command(d, text))
        take_unknown(d, name, text, call);
    else
        tex_skip_before(&d->tex, "o");
}

static const struct environment unknown = {"", begin_unknown, NULL, NULL,
                                           0,  NULL,          0};

bool verbatim_takes(struct document *d, struct slice name, struct token call)
{
    if ((!d->begun && d->is_document) || call.flags & TOKEN_MADE)
        return false;
    struct slice text = text_to_end(d, name);
    if (!text.data)
        return false;
    bool stays = is_no_text(text) && !has_command(d, text);
    if (!stays && !holds_preamble(d, text))
        return false;
    uint32_t symbol = tex_symbol(&d->tex, name);
    if (stays)
        d->tex.symbols[symbol].environment = &unknown;
    take_unknown(d, name, text, call);
    return true;
}

/* ---- Environments of a document's own ---- */

/* What an environment with `count` arguments takes, of which the first is
 * optional if it has a default. */
static void put_signature(struct tex *tex, struct buf *ret)
{
    struct tokens list = {0};
    struct buf count = {0};
    if (tex_read_optional(tex, &list))
        tex_expand_text(tex, &list, &count);
    int64_t left = number_of_text(tex, buf_slice(&count));
    list.count = 0;
    if (tex_read_optional(tex, &list)) {
        buf_put_byte(ret, 'o');
        left--;
    }
    for (int64_t i = 0; i < left && i < MAX_ARGUMENTS; i++)
        buf_put_byte(ret, 'a');
    tokens_free(&list);
    buf_free(&count);
}

/* The same of xparse's specification, as far as it is of one letter and a
 * default each. */
static void put_specification(struct tex *tex, struct buf *ret)
{
    struct tokens list = {0};
    size_t depth = 0;
    tex_read_argument(tex, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct token token = list.items[i];
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
        if (depth || token.cat != CAT_LETTER)
            continue;
        if (token.value == 'm' || token.value == 's')
            buf_put_byte(ret, token.value == 'm' ? 'a' : 's');
        else if (token.value == 'o' || token.value == 'O')
            buf_put_byte(ret, 'o');
    }
    tokens_free(&list);
}

/* Its options say, or what begins it does, of which language it is. */
static void put_language(struct document *d, struct slice name, struct buf *ret)
{
    static const char *const names[] = {"minted language=", "language="};
    struct tokens list = {0};
    struct buf text = {0};
    tex_read_argument(&d->tex, &list);
    tex_write_tokens(&d->tex, &list, &text);
    buf_put_byte(&text, '\0');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(text.data, names[i]);
        if (!at)
            continue;
        at += strlen(names[i]);
        at += strspn(at, "{ ");
        buf_put_byte(ret, ':');
        buf_put(ret, at, strcspn(at, ",}] \n"));
        break;
    }
    keep_escapes(d, name, &list);
    tokens_free(&list);
    buf_free(&text);
}

static void define_listing(struct document *d, struct slice name, bool listings,
                           struct buf *signature)
{
    struct tex *tex = &d->tex;
    struct environment *environment =
        arena_alloc(&d->outline.arena, sizeof *environment);
    buf_put_byte(signature, '\0');
    struct slice text = document_keep(d, buf_slice(signature));
    *environment = (struct environment){.name = listings ? "lstlisting" : "",
                                        .begin = begin_verbatim,
                                        .value = 1,
                                        .text = text.data};
    uint32_t symbol = tex_symbol(tex, name);
    tex->symbols[symbol].environment = environment;
    if (!tex->symbols[symbol].meaning.firm)
        tex->symbols[symbol].meaning = (struct meaning){0};
}

enum { LISTING_VERBATIM, LISTING_LSTNEW, LISTING_TCB, LISTING_XPARSE };

/* commandchars=\\\{\}: code with commands in it, as pandoc writes. */
static bool read_has_commands(struct tex *tex)
{
    static const char usual[] = "commandchars=\\\\\\{\\}";
    struct tokens options = {0};
    struct buf text = {0};
    tex_read_argument(tex, &options);
    tex_write_tokens(tex, &options, &text);
    bool has =
        text.size && memmem(text.data, text.size, usual, sizeof usual - 1);
    tokens_free(&options);
    buf_free(&text);
    return has;
}

/* \DefineVerbatimEnvironment{name}{Verbatim}{..},
 * \lstnewenvironment{name}[count][default]{begin}{end},
 * \newtcblisting[..]{name}[count][default]{options},
 * \NewTCBListing[..]{name}{specification}{options}. */
static void run_define_verbatim(struct tex *tex, const struct command *command,
                                struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0}, signature = {0};
    bool marked = false;
    (void)call;
    tex_skip_before(tex, "o");
    tex_read_text(tex, &name);
    switch (command->value) {
    case LISTING_VERBATIM:
        tex_skip_before(tex, "m");
        marked = read_has_commands(tex);
        buf_put_byte(&signature, 'o');
        break;
    case LISTING_XPARSE: put_specification(tex, &signature); break;
    default: put_signature(tex, &signature); break;
    }
    if (command->value != LISTING_VERBATIM)
        put_language(d, buf_slice(&name), &signature);
    if (command->value == LISTING_LSTNEW)
        tex_skip_before(tex, "m");
    define_listing(d, buf_slice(&name), command->value == LISTING_LSTNEW,
                   &signature);
    if (marked && name.size)
        tex_symbol_at(tex, name.data)->environment =
            tex_symbol_at(tex, "-marked-")->environment;
    buf_free(&name);
    buf_free(&signature);
}

/* \newminted[name]{language}{..}: "languagecode" as a rule, and with a star,
 * which takes options in braces. */
static void run_new_minted(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0};
    struct buf name = {0}, language = {0}, plain = {0}, starred = {0};
    (void)command;
    (void)call;
    if (tex_read_optional(tex, &list))
        tex_expand_text(tex, &list, &name);
    tex_read_text(tex, &language);
    tex_skip_before(tex, "m");
    if (!name.size)
        buf_printf(&name, "%.*scode", (int)language.size,
                   language.size ? language.data : "");
    buf_put_byte(&plain, ':');
    buf_put_slice(&plain, buf_slice(&language));
    buf_put_byte(&starred, 'a');
    buf_put_slice(&starred, buf_slice(&plain));
    define_listing(d, buf_slice(&name), false, &plain);
    buf_put_byte(&name, '*');
    define_listing(d, buf_slice(&name), false, &starred);
    tokens_free(&list);
    buf_free(&name);
    buf_free(&language);
    buf_free(&plain);
    buf_free(&starred);
}

/* Does the token only set how something looks, as those of \vskip-\parsep? */
static bool only_formats(const struct document *d, struct token token)
{
    static const char *const closing[] = {"fi",     "else",     "or",
                                          "end",    "endgroup", "begingroup",
                                          "egroup", "bgroup",   "endcsname"};
    if (!(token.flags & TOKEN_MADE) || token.cat == CAT_BEGIN ||
        token.cat == CAT_END || token.cat == CAT_STOP)
        return false;
    for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
        if (token.cat == CAT_NAME &&
            slice_is(d->tex.symbols[token.value].name, closing[i]))
            return false;
    return true;
}

/* What a macro has left behind its \verbatim is no text of the passage. */
static void drop_format(struct document *d)
{
    struct tex *tex = &d->tex;
    size_t from = tex->input_count;
    for (; from && !tex->inputs[from - 1].is_file; from--) {
        const struct input *list = &tex->inputs[from - 1];
        tex->steps += list->list.count / 4;
        for (size_t i = list->at; i < list->list.count; i++)
            if (list->then || !only_formats(d, list->list.items[i]))
                return;
    }
    for (; from < tex->input_count; from++)
        tex->inputs[from].at = tex->inputs[from].list.count;
}

enum { LINE_BY_LINE = 2 };

/* \verbatim as a command: in the body of an environment of one's own. */
static void run_verbatim(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    const struct group *group = document_environment(d),
                       *wrapper = verbatim_wrapper(d, call);
    if (!command->value) /* no listing */
        wrapper = NULL;
    if (group && group->environment)
        group = wrapper;
    else if (group && wrapper && wrapper_ends(d, wrapper, verbatim_name(d)))
        group = wrapper;
    /* Else it is a command of another package's, as \comment{..}. */
    if (!(call.flags & TOKEN_MADE) || !group)
        return;
    struct slice name = d->tex.symbols[group->name].name;
    struct code code = {.name = name, .keep = command->value};
    struct buf key = {0};
    if (command->before && !is_at_line_end(tex))
        tex_skip_before(tex, command->before);
    drop_format(d);
    if (command->value == LINE_BY_LINE && written_by_line(d, &key))
        written_take(d, name, buf_slice(&key), call);
    else
        take_verbatim(d, &code, call);
    buf_free(&key);
    verbatim_push_end(d, name, call); /* what was passed over is read now */
}

static const struct command commands[] = {
    {"DefineVerbatimEnvironment", run_define_verbatim, NULL, LISTING_VERBATIM,
     NULL},
    {"RecustomVerbatimEnvironment", run_define_verbatim, NULL, LISTING_VERBATIM,
     NULL},
    {"CustomVerbatimEnvironment", run_define_verbatim, NULL, LISTING_VERBATIM,
     NULL},
    {"lstnewenvironment", run_define_verbatim, NULL, LISTING_LSTNEW, NULL},
    {"newtcblisting", run_define_verbatim, NULL, LISTING_TCB, NULL},
    {"renewtcblisting", run_define_verbatim, NULL, LISTING_TCB, NULL},
    {"NewTCBListing", run_define_verbatim, NULL, LISTING_XPARSE, NULL},
    {"DeclareTCBListing", run_define_verbatim, NULL, LISTING_XPARSE, NULL},
    {"newminted", run_new_minted, NULL, 0, NULL},
    {"verbatim", run_verbatim, NULL, 1, NULL},
    {"Verbatim", run_verbatim, "o", 1, NULL},
    {"lstlisting", run_verbatim, "o", 1, NULL},
    {"verbatim@start", run_verbatim, NULL, LINE_BY_LINE, NULL},
    {"comment", run_verbatim, NULL, 0, NULL},
};

static const struct environment environments[] = {
    {"verbatim", begin_verbatim, NULL, NULL, 1, NULL, 0},
    {"verbatim*", begin_verbatim, NULL, NULL, 1, NULL, 0},
    {"Verbatim", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"Verbatim*", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"BVerbatim", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"LVerbatim", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"lstlisting", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"minted", begin_verbatim, NULL, NULL, 1, "om", 0},
    {"boxedverbatim", begin_verbatim, NULL, NULL, 1, NULL, 0},
    {"boxedverbatim*", begin_verbatim, NULL, NULL, 1, NULL, 0},
    {"fboxverbatim", begin_verbatim, NULL, NULL, 1, NULL, 0},
    {"listing", begin_listing, NULL, NULL, 1, "o", 0},
    {"tcblisting", begin_verbatim, NULL, NULL, 1, "om", 0},
    {"dispListing", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"dispExample", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"dispListing*", begin_verbatim, NULL, "m", 1, NULL, 0},
    {"dispExample*", begin_verbatim, NULL, "m", 1, NULL, 0},
    {"LTXexample", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"ltxcode", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"ltxexample", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"sourcecode", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"codehigh", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"demohigh", begin_verbatim, NULL, NULL, 1, "o", 0},
    {"SaveVerbatim", begin_verbatim, NULL, NULL, 1, "oa", 0},
    {"codeexample", begin_verbatim, NULL, NULL, 1, "o", 2},
    {"macrocode", begin_verbatim, NULL, NULL, 1, NULL, 2},
    {"macrocode*", begin_verbatim, NULL, NULL, 1, NULL, 2},
    {"comment", begin_verbatim, NULL, NULL, 0, NULL, 2},
    {"rawhtml", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"htmlonly", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"tikzpicture", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"pspicture", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"pspicture*", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"pgfpicture", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"asy", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"luacode", begin_verbatim, NULL, NULL, 0, NULL, 0},
    {"luacode*", begin_verbatim, NULL, NULL, 0, NULL, 0},
};

void verbatim_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
