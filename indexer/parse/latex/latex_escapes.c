/* LaTeX within code: the escapes of listings and minted (escapechar, escapeinside) and its
 * comments (texcl) are read; their text stands in the code, as it is printed. */
#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"

enum { MAX_MACROS = 4 /* in one another, looked through for settings */ };

/* ---- Settings ---- */

/* "\%" is "%". */
static void set_sign(char (*ret)[8], struct slice text)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size && size + 1 < sizeof *ret; i++)
        if (text.data[i] != '\\' || i + 1 == text.size)
            (*ret)[size++] = text.data[i];
    (*ret)[size] = '\0';
}

void escapes_set(struct document *d, const struct tokens *options,
                 struct escapes *ret)
{
    struct slice sign = verbatim_option(d, options, "escapechar"),
                 inside = verbatim_option(d, options, "escapeinside"),
                 comments = verbatim_option(d, options, "texcl");
    const char *middle =
        inside.size ? memmem(inside.data, inside.size, "}{", 2) : NULL;
    if (middle) {
        size_t size = (size_t)(middle - inside.data);
        set_sign(&ret->open, (struct slice){inside.data, size});
        set_sign(&ret->close,
                 (struct slice){middle + 2, inside.size - size - 2});
    } else if (inside.size == 2) {
        set_sign(&ret->open, (struct slice){inside.data, 1});
        set_sign(&ret->close, (struct slice){inside.data + 1, 1});
    } else if (sign.size) {
        set_sign(&ret->open, sign);
        set_sign(&ret->close, sign);
    }
    if (comments.size)
        ret->comments = slice_is(comments, "true");
}

/* What each \lstset in the code sets, also in macros that it calls. */
void escapes_look(struct document *d, const struct tokens *code, int depth,
                  struct escapes *ret)
{
    struct tex *tex = &d->tex;
    uint32_t setting = tex_symbol_of(tex, "lstset");
    for (size_t i = 0; i + 1 < code->count; i++) {
        struct tokens options = {0};
        size_t end = i + 2, open = 1;
        if (!token_is(code->items[i], CAT_NAME, setting) ||
            code->items[i + 1].cat != CAT_BEGIN)
            continue;
        for (; end < code->count; end++) {
            open += code->items[end].cat == CAT_BEGIN;
            open -= code->items[end].cat == CAT_END;
            if (!open)
                break;
        }
        options.items = code->items + i + 2;
        options.count = end - (i + 2);
        escapes_set(d, &options, ret);
        i = end;
    }
    for (size_t i = 0; i < code->count && depth < MAX_MACROS; i++)
        if (code->items[i].cat == CAT_NAME) {
            struct meaning meaning = *tex_meaning(tex, code->items[i]);
            if (meaning.kind == MEANING_MACRO)
                escapes_look(d, &meaning.macro->body, depth + 1, ret);
        }
}

static void run_lstset(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct tokens options = {0};
    (void)call;
    tex_skip_before(tex, command->before);
    tex_read_argument(tex, &options);
    escapes_set(d, &options, &d->escapes);
    tokens_free(&options);
}

/* ---- Reading ---- */

/* What a command adds to the text, or what it takes that is none. */
static void write_command(struct tex *tex, struct token token, struct buf *ret)
{
    const struct meaning *meaning = tex_meaning(tex, token);
    struct slice name = tex->symbols[token.value].name;
    const char *sign =
        meaning->kind == MEANING_COMMAND ? text_sign(meaning->command) : NULL;
    if (sign)
        buf_put_text(ret, sign);
    else if (slice_is(name, " ") || slice_is(name, "\1~"))
        buf_put_byte(ret, ' ');
    else if (slice_is(name, "index") || slice_is(name, "label") ||
             slice_is(name, "glossary"))
        tex_skip_before(tex, "om");
    else if (meaning->kind == MEANING_COMMAND && meaning->command->before)
        tex_skip_before(tex, meaning->command->before);
}

static void write_token(struct tex *tex, struct token token, struct buf *ret)
{
    switch (token.cat) {
    case CAT_NAME: write_command(tex, token, ret); break;
    case CAT_SPACE: buf_put_byte(ret, ' '); break;
    case CAT_BEGIN:
    case CAT_END:
    case CAT_MATH: break;
    default: text_encode(ret, token.value); break;
    }
}

/* The text of a passage of LaTeX, which ends where it ends. */
static void write_passage(struct document *d, struct token passage,
                          struct buf *ret)
{
    struct tex *tex = &d->tex;
    struct token token;
    if (tex->file_depth >= MAX_FILE_DEPTH)
        return;
    tex_push_file(tex, passage.file);
    size_t at = tex->input_count;
    tex->inputs[at - 1].at = passage.from;
    tex->inputs[at - 1].end = passage.to;
    tex->inputs[at - 1].state = MOUTH_MIDDLE;
    tex->absorbing++;
    while ((token = tex_next_expanded(tex)).cat != CAT_NONE &&
           token.cat != CAT_STOP)
        write_token(tex, token, ret);
    tex->absorbing--;
    while (tex->input_count > at)
        tokens_free(&tex->inputs[--tex->input_count].list);
    tex_end_file(tex);
}

static size_t find(struct slice text, size_t from, const char *what)
{
    const char *found =
        memmem(text.data + from, text.size - from, what, strlen(what));
    return found ? (size_t)(found - text.data) : text.size;
}

/* Where the comment of the line that begins at `at` begins, if it has commands; the
 * line's end: there is none. */
static size_t find_comment(struct slice text, size_t at, size_t end)
{
    bool string = false;
    for (; at + 1 < end; at++) {
        string ^= text.data[at] == '"';
        if (!string && text.data[at] == '/' && text.data[at + 1] == '/')
            return memchr(text.data + at, '\\', end - at) ? at + 2 : end;
    }
    return end;
}

/* One line: what is escaped in it, then what its comment has of LaTeX. */
static void write_line(struct document *d, const struct escapes *escapes,
                       struct slice text, struct token place, size_t at,
                       size_t end, struct buf *ret)
{
    size_t comment = escapes->comments ? find_comment(text, at, end) : end;
    struct slice line = {text.data, comment};
    uint32_t from = place.from;
    while (escapes->open[0] && at < comment) {
        size_t open = find(line, at, escapes->open);
        size_t inner = open + strlen(escapes->open);
        size_t close =
            inner < comment ? find(line, inner, escapes->close) : comment;
        if (close == comment)
            break;
        buf_put(ret, text.data + at, open - at);
        place.from = from + (uint32_t)inner;
        place.to = from + (uint32_t)close;
        write_passage(d, place, ret);
        at = close + strlen(escapes->close);
    }
    buf_put(ret, text.data + at, comment - at);
    if (comment == end)
        return;
    place.from = from + (uint32_t)comment;
    place.to = from + (uint32_t)end;
    write_passage(d, place, ret);
}

void escapes_write(struct document *d, const struct escapes *escapes,
                   struct slice text, struct token place, struct buf *ret)
{
    for (size_t at = 0; at < text.size; at++) {
        size_t end = find(text, at, "\n");
        write_line(d, escapes, text, place, at, end, ret);
        if (end < text.size)
            buf_put_byte(ret, '\n');
        at = end;
    }
}

static const struct command commands[] = {
    {"lstset", run_lstset, NULL, 0, NULL},
    {"setminted", run_lstset, "o", 0, NULL},
};

void escapes_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
