/* What follows a command: arguments, options, text as it stands. */
#include <ctype.h>
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

void tex_skip_spaces(struct tex *tex)
{
    tex_unread(tex, tex_next_solid(tex));
}

bool tex_read_character(struct tex *tex, uint32_t c)
{
    struct token token = tex_next(tex);
    if ((token.cat == CAT_OTHER || token.cat == CAT_LETTER ||
         token.cat == CAT_ALIGN) &&
        token.value == c)
        return true;
    tex_unread(tex, token);
    return false;
}

/* TeX would have stopped at the paragraph's end: what was taken from there on
 * is given back. */
void tex_cut_runaway(struct tex *tex, struct tokens *list, size_t from,
                     struct token opened)
{
    size_t at = from;
    while (at < list->count && !token_is(list->items[at], CAT_NAME, tex->par))
        at++;
    tex_report(tex, opened, "a brace or bracket is never closed");
    if (at == list->count)
        return;
    struct tokens rest = {0};
    tokens_add_all(&rest, list->items + at, list->count - at);
    list->count = at;
    tex_push(tex, rest);
}

bool tex_at_end(struct tex *tex, struct token token)
{
    if (token.cat == CAT_STOP)
        tex_unread(tex, token);
    return token.cat == CAT_NONE || token.cat == CAT_STOP;
}

/* The next token, but none of the file below where this one ends. */
static struct token next_within(struct tex *tex)
{
    tex->absorbing++;
    struct token token = tex_next(tex);
    tex->absorbing--;
    return token;
}

/* What is on top, up to the brace that ends the group and to the list's end:
 * copied at once. */
static void read_run(struct tex *tex, size_t *depth, struct tokens *ret)
{
    struct input *top =
        tex->input_count ? &tex->inputs[tex->input_count - 1] : NULL;
    if (!top || tex->steps >= tex->max_steps)
        return;
    if (top->is_file) {
        mouth_plain(tex, top, ret);
        return;
    }
    size_t at = top->at;
    for (; at < top->list.count; at++) {
        int cat = top->list.items[at].cat;
        if (cat == CAT_STOP || cat == CAT_NONE ||
            (cat == CAT_END && *depth == 1))
            break;
        *depth += cat == CAT_BEGIN;
        *depth -= cat == CAT_END;
    }
    tokens_add_all(ret, top->list.items + top->at, at - top->at);
    tex->steps += at - top->at;
    top->at = at;
}

void tex_read_group(struct tex *tex, struct tokens *ret)
{
    size_t depth = 1, begin = ret->count;
    struct token opened = {.cat = CAT_NONE, .file = UINT16_MAX};
    for (;;) {
        read_run(tex, &depth, ret);
        if (opened.cat == CAT_NONE && ret->count > begin)
            opened = ret->items[begin];
        struct token token = next_within(tex);
        if (opened.cat == CAT_NONE)
            opened = token;
        if (tex_at_end(tex, token)) {
            tex_cut_runaway(tex, ret, begin, opened);
            return;
        }
        if (token.cat == CAT_BEGIN)
            depth++;
        if (token.cat == CAT_END && !--depth)
            return;
        tokens_add(ret, token);
    }
}

void tex_read_argument(struct tex *tex, struct tokens *ret)
{
    struct token token = tex_next_solid(tex);
    if (token.cat == CAT_BEGIN)
        tex_read_group(tex, ret);
    else if (token.cat == CAT_END || token.cat == CAT_STOP)
        tex_unread(tex, token);
    else if (token.cat != CAT_NONE)
        tokens_add(ret, token);
}

/* Up to `close` outside of braces. */
static void read_until(struct tex *tex, uint32_t open, uint32_t close,
                       struct tokens *ret)
{
    size_t depth = 0, nested = 0, begin = ret->count;
    struct token opened = {.cat = CAT_NONE, .file = UINT16_MAX};
    for (;;) {
        struct token token = next_within(tex);
        if (opened.cat == CAT_NONE)
            opened = token;
        if (tex_at_end(tex, token) || (token.cat == CAT_END && !depth)) {
            if (token.cat == CAT_END)
                tex_unread(tex, token);
            tex_cut_runaway(tex, ret, begin, opened);
            return;
        }
        bool plain = token.cat == CAT_OTHER || token.cat == CAT_LETTER;
        if (!depth && plain && token.value == close && !nested--)
            return;
        if (!depth && plain && token.value == open)
            nested++;
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END;
        tokens_add(ret, token);
    }
}

void tex_strip_braces(struct tokens *list, size_t begin)
{
    size_t depth = 0, end = list->count;
    if (end - begin < 2 || list->items[begin].cat != CAT_BEGIN ||
        list->items[end - 1].cat != CAT_END)
        return;
    for (size_t i = begin; i < end; i++) {
        depth += list->items[i].cat == CAT_BEGIN;
        depth -= list->items[i].cat == CAT_END;
        if (!depth && i + 1 < end)
            return;
    }
    memmove(list->items + begin, list->items + begin + 1,
            (end - begin - 2) * sizeof *list->items);
    list->count -= 2;
}

/* Spaces are passed over only where what is sought follows them. */
static bool read_opening(struct tex *tex, uint32_t open)
{
    struct token token = tex_next(tex), space = token;
    bool spaced = token.cat == CAT_SPACE;
    if (spaced)
        token = tex_next_solid(tex);
    if ((token.cat == CAT_OTHER || token.cat == CAT_LETTER) &&
        token.value == open)
        return true;
    tex_unread(tex, token);
    if (spaced)
        tex_unread(tex, space);
    return false;
}

bool tex_read_optional(struct tex *tex, struct tokens *ret)
{
    if (!read_opening(tex, '['))
        return false;
    size_t begin = ret->count;
    read_until(tex, 0, ']', ret);
    tex_strip_braces(ret, begin);
    return true;
}

bool tex_read_word(struct tex *tex, const char *word)
{
    struct token read[16];
    size_t count = 0;
    tex_skip_spaces(tex);
    while (word[count] && count < 16) {
        struct token token = tex_next_expanded(tex);
        read[count++] = token;
        bool same = token.cat != CAT_NAME && token.value < 0x80 &&
                    tolower((int)token.value) == word[count - 1];
        if (!same) {
            while (count)
                tex_unread(tex, read[--count]);
            return false;
        }
    }
    return true;
}

static void drop_optional(struct tex *tex, uint32_t open, uint32_t close)
{
    struct tokens list = {0};
    if (read_opening(tex, open))
        read_until(tex, 0, close, &list);
    tokens_free(&list);
}

static void drop_argument(struct tex *tex)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    tokens_free(&list);
}

static void drop_rule(struct tex *tex)
{
    while (tex_read_word(tex, "width") || tex_read_word(tex, "height") ||
           tex_read_word(tex, "depth"))
        number_read_dimension(tex);
}

static void drop_file(struct tex *tex)
{
    struct buf name = {0};
    streams_read_file(tex, &name);
    buf_free(&name);
}

/* How large a font is. */
static void drop_size(struct tex *tex)
{
    if (tex_read_word(tex, "scaled"))
        number_read(tex);
    else if (tex_read_word(tex, "at"))
        number_read_dimension(tex);
}

void tex_skip_before(struct tex *tex, const char *before)
{
    for (; before && *before; before++) {
        switch (*before) {
        case 's': read_opening(tex, '*'); break;
        case 'o': drop_optional(tex, '[', ']'); break;
        case 'p': drop_optional(tex, '(', ')'); break;
        case 'a': drop_optional(tex, '<', '>'); break;
        case 'm': drop_argument(tex); break;
        case 'd': number_read_dimension(tex); break;
        case 'g': number_read_glue(tex); break;
        case 'n': number_read(tex); break;
        case 'r': drop_rule(tex); break;
        case '=':
            tex_skip_spaces(tex);
            tex_read_character(tex, '=');
            break;
        case 'c': tex_next_solid(tex); break;
        case 'f': drop_file(tex); break;
        case 'z': drop_size(tex); break;
        case 'b':
            if (tex_read_word(tex, "to") || tex_read_word(tex, "spread"))
                number_read_dimension(tex);
            break;
        default: break;
        }
    }
}

/* ---- As text ---- */

void tex_write_token(const struct tex *tex, struct token token, struct buf *ret)
{
    if (token.cat == CAT_MATCH) {
        buf_put_byte(ret, '#');
        buf_put_byte(ret, '0' + (int)(token.value & 7));
        return;
    }
    if (token.cat == CAT_STOP || token.cat == CAT_NONE)
        return;
    if (token.cat != CAT_NAME) {
        text_encode(ret, token.value);
        return;
    }
    struct slice name = tex->symbols[token.value].name;
    if (name.size && name.data[0] == '\1') {
        buf_put(ret, name.data + 1, name.size - 1);
        return;
    }
    buf_put_byte(ret, '\\');
    buf_put_slice(ret, name);
}

/* Would the letter be read as one of the name's? */
static bool runs_on(const struct tex *tex, struct token token,
                    struct token letter)
{
    if (token.cat != CAT_NAME || letter.cat != CAT_LETTER)
        return false;
    struct slice name = tex->symbols[token.value].name;
    return name.size && text_is_letter((unsigned char)name.data[name.size - 1]);
}

static bool needs_space(const struct tex *tex, struct token token,
                        const struct token *next)
{
    bool typed = !((token.flags | next->flags) & TOKEN_MADE);
    return (token.cat == CAT_NAME && typed && token.file == next->file &&
            next->from > token.to) ||
           runs_on(tex, token, *next);
}

void tex_write_tokens(const struct tex *tex, const struct tokens *list,
                      struct buf *ret)
{
    for (size_t i = 0; i < list->count; i++) {
        tex_write_token(tex, list->items[i], ret);
        if (i + 1 < list->count &&
            needs_space(tex, list->items[i], &list->items[i + 1]))
            buf_put_byte(ret, ' ');
    }
}

void tex_expand_text(struct tex *tex, const struct tokens *list,
                     struct buf *ret)
{
    struct tokens copy = {0};
    struct token token = {.cat = CAT_STOP, .file = UINT16_MAX}, last = token;
    unsigned abandoned = tex->abandon_count;
    tokens_add_all(&copy, list->items, list->count);
    tokens_add(&copy, token);
    tex_push(tex, copy);
    while (tex->abandon_count == abandoned &&
           (token = tex_next_expanded(tex)).cat != CAT_STOP &&
           token.cat != CAT_NONE) {
        if (token.cat != CAT_BEGIN && token.cat != CAT_END) {
            if (runs_on(tex, last, token))
                buf_put_byte(ret, ' ');
            tex_write_token(tex, token, ret);
            last = token;
        }
    }
}

void tex_read_text(struct tex *tex, struct buf *ret)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    tex_expand_text(tex, &list, ret);
    tokens_free(&list);
}

void tex_push_text(struct tex *tex, struct slice text, struct token call)
{
    struct tokens list = {0};
    call.flags |= TOKEN_MADE;
    for (size_t at = 0, step; at < text.size; at += step) {
        call.value = text_decode(text.data, text.size, at, &step);
        call.cat = call.value == ' ' ? CAT_SPACE : CAT_OTHER;
        tokens_add(&list, call);
    }
    tex_push(tex, list);
}

void tex_add_name(struct tex *tex, const char *name, struct token call,
                  struct tokens *ret)
{
    call.cat = CAT_NAME;
    call.value = tex_symbol_of(tex, name);
    tokens_add(ret, call);
}

static uint8_t category_of(uint32_t sign)
{
    switch (sign) {
    case '{': return CAT_BEGIN;
    case '}': return CAT_END;
    case '#': return CAT_PARAMETER;
    case ' ': return CAT_SPACE;
    default: return sign < 128 && isalpha((int)sign) ? CAT_LETTER : CAT_OTHER;
    }
}

static bool names(char c)
{
    return isalpha((unsigned char)c) || c == '@';
}

void tex_add_source(struct tex *tex, struct slice text, struct token call,
                    struct tokens *ret)
{
    call.flags |= TOKEN_MADE;
    for (size_t at = 0, step; at < text.size; at += step) {
        call.value = text_decode(text.data, text.size, at, &step);
        call.cat = category_of(call.value);
        if (call.value == '\\') {
            size_t end = at + 1;
            while (end < text.size && names(text.data[end]))
                end++;
            end += end == at + 1 && end < text.size; /* \{ */
            call.cat = CAT_NAME;
            call.value = tex_symbol(
                tex, (struct slice){text.data + at + 1, end - at - 1});
            step = end - at + (end < text.size && text.data[end] == ' ');
        }
        tokens_add(ret, call);
    }
}

void tex_push_source(struct tex *tex, struct slice text, struct token call)
{
    struct tokens list = {0};
    tex_add_source(tex, text, call, &list);
    tex_push(tex, list);
}

bool tex_read_name(struct tex *tex, struct token *ret)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    size_t at = 0;
    while (at < list.count && list.items[at].cat == CAT_SPACE)
        at++;
    bool found = at < list.count && list.items[at].cat == CAT_NAME;
    if (found)
        *ret = list.items[at];
    tokens_free(&list);
    return found;
}

/* ---- As it stands ---- */

/* Drops what was read ahead of the file at the top; false: more than that is
 * waiting.  What is of no account is told by its first token, mostly: many ask that, of a
 * long list. */
bool tex_to_file(struct tex *tex, struct input **ret_file)
{
    size_t at = tex->input_count;
    size_t from = SIZE_MAX;
    size_t floor =
        tex->top_file ? tex->inputs[tex->top_file - 1].floor : SIZE_MAX;
    while (at && !tex->inputs[at - 1].is_file) {
        const struct input *list = &tex->inputs[--at];
        if (list->then)
            return false;
        for (size_t i = list->at; i < list->list.count; i++) {
            struct token token = list->list.items[i];
            tex->steps++;
            if (token.flags & TOKEN_MADE || token.cat == CAT_STOP ||
                token.from < floor)
                return false;
            if (token.from < from)
                from = token.from;
        }
    }
    if (!at)
        return false;
    struct input *file = &tex->inputs[at - 1];
    for (size_t i = at; i < tex->input_count; i++) {
        const struct input *list = &tex->inputs[i];
        if (list->at < list->list.count &&
            list->list.items[list->at].file != file->file)
            return false;
    }
    if (from != SIZE_MAX && from > file->at)
        return false;
    while (tex->input_count > at)
        tokens_free(&tex->inputs[--tex->input_count].list);
    if (from != SIZE_MAX)
        file->at = from;
    *ret_file = file;
    return true;
}

bool tex_read_raw(struct tex *tex, const char *end, struct slice *ret,
                  struct token *ret_place)
{
    struct input *file;
    if (!tex_to_file(tex, &file))
        return false;
    struct slice text = tex->files[file->file].transcoded.text;
    const char *begin = text.data + file->at;
    size_t left = file->end - file->at, size = strlen(end);
    const char *found = memmem(begin, left, end, size);
    *ret = (struct slice){begin, found ? (size_t)(found - begin) : left};
    *ret_place = (struct token){.cat = CAT_OTHER,
                                .file = file->file,
                                .from = (uint32_t)file->at,
                                .to = (uint32_t)(file->at + ret->size)};
    file->at += ret->size + (found ? size : 0);
    file->state = MOUTH_MIDDLE;
    if (!found)
        tex_report(tex, *ret_place, "%s is missing", end);
    return true;
}

/* Does a group come next that has a "%" and ends in its line?  What is looked through
 * counts as steps. */
static bool has_percent(struct tex *tex)
{
    struct input *file;
    if (!tex_to_file(tex, &file))
        return false;
    const char *text = tex->files[file->file].transcoded.text.data;
    size_t at = file->at, depth = 0;
    bool found = false, ends = false;
    while (at < file->end && (text[at] == ' ' || text[at] == '\t'))
        at++;
    for (; at < file->end && text[at] != '\n' && !ends; at++) {
        unsigned char c = (unsigned char)text[at];
        int cat = c < 0x80 ? tex->catcodes[c] : CAT_OTHER;
        if (cat == CAT_ESCAPE && at + 1 < file->end && text[at + 1] != '\n')
            at++;
        found |= depth && c == '%';
        depth += cat == CAT_BEGIN;
        depth -= cat == CAT_END && depth;
        ends = !depth;
    }
    tex->steps += (at - file->at) / 8;
    return ends && found;
}

void tex_read_address(struct tex *tex, struct tokens *ret)
{
    uint8_t before = tex->catcodes['%'];
    if (has_percent(tex))
        tex->catcodes['%'] = CAT_OTHER;
    tex_read_argument(tex, ret);
    tex->catcodes['%'] = before;
}
