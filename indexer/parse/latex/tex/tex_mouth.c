/* TeX's mouth (The TeXbook, chapter 8): characters become tokens. */
#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

static int category(const struct tex *tex, uint32_t c)
{
    if (c < 0x80)
        return tex->catcodes[c];
    if (c == tex->wide_active)
        return CAT_ACTIVE;
    return text_is_letter(c) ? CAT_LETTER : CAT_OTHER;
}

/* The character at `at`; a carriage return before a line feed is part of it. */
static uint32_t character(struct slice text, size_t at, size_t *ret_step)
{
    if (text.data[at] == '\r') {
        bool both = at + 1 < text.size && text.data[at + 1] == '\n';
        *ret_step = both ? 2 : 1;
        return '\n';
    }
    uint32_t c = text_decode(text.data, text.size, at, ret_step);
    if (c == '^' && at + 2 < text.size && text.data[at + 1] == '^' &&
        (text.data[at + 2] & 0x80) == 0 && text.data[at + 2] >= '?') {
        *ret_step = 3;
        c = (uint32_t)(text.data[at + 2] ^ 64);
        return c == '\r' ? '\n' : c;
    }
    return c;
}

static void make(struct input *input, struct token *ret, int cat,
                 uint32_t value, size_t from)
{
    *ret = (struct token){.value = value,
                          .cat = (uint8_t)cat,
                          .file = input->file,
                          .from = (uint32_t)from,
                          .to = (uint32_t)input->at};
}

static void skip_line(struct input *input, struct slice text)
{
    const char *end =
        memchr(text.data + input->at, '\n', text.size - input->at);
    input->at = end ? (size_t)(end - text.data) + 1 : text.size;
    input->state = MOUTH_NEW_LINE;
}

/* A control sequence, of which the escape character was read. */
static void name(struct tex *tex, struct input *input, struct slice text,
                 size_t from, struct token *ret)
{
    size_t begin = input->at, step;
    if (begin == text.size) {
        make(input, ret, CAT_NAME, tex_symbol_of(tex, ""), from);
        return;
    }
    uint32_t c = character(text, begin, &step);
    int cat = category(tex, c);
    input->at += step;
    while (cat == CAT_LETTER && input->at < text.size &&
           category(tex, character(text, input->at, &step)) == CAT_LETTER)
        input->at += step;
    struct slice found = {text.data + begin, input->at - begin};
    char sign = (char)c;
    if (found.size == 3 && c < 0x80 && cat != CAT_LETTER) /* \^^I */
        found = (struct slice){&sign, 1};
    else if (c == '\n')
        found = (struct slice){" ", 1};
    input->state =
        cat == CAT_LETTER || cat == CAT_SPACE ? MOUTH_SKIP : MOUTH_MIDDLE;
    make(input, ret, CAT_NAME, tex_symbol(tex, found), from);
}

static void active(struct tex *tex, struct input *input, uint32_t c,
                   size_t from, struct token *ret)
{
    make(input, ret, CAT_NAME, tex_active_symbol(tex, c), from);
}

/* False: the line's end is nothing. */
static bool line_end(struct tex *tex, struct input *input, size_t from,
                     struct token *ret)
{
    uint8_t state = input->state;
    input->state = MOUTH_NEW_LINE;
    if (state == MOUTH_SKIP)
        return false;
    if (state == MOUTH_NEW_LINE)
        make(input, ret, CAT_NAME, tex->par, from);
    else
        make(input, ret, CAT_SPACE, ' ', from);
    return true;
}

/* Letters and signs that are tokens of their own, of ASCII: most of a text. */
static bool is_plain(const struct tex *tex, unsigned char c)
{
    return c < 0x80 && c != '^' &&
           (tex->catcodes[c] == CAT_LETTER || tex->catcodes[c] == CAT_OTHER);
}

void mouth_plain(struct tex *tex, struct input *input, struct tokens *ret)
{
    const char *text = tex->files[input->file].transcoded.text.data;
    size_t from = input->at, to = from;
    while (to < input->end && is_plain(tex, (unsigned char)text[to]))
        to++;
    if (to == from)
        return;
    MEM_RESERVE(ret->items, &ret->capacity, ret->count + (to - from));
    for (; input->at < to; ret->count++) {
        unsigned char c = (unsigned char)text[input->at++];
        make(input, &ret->items[ret->count], tex->catcodes[c], c,
             input->at - 1);
    }
    input->state = MOUTH_MIDDLE;
    tex->steps += to - from;
    tex->burst = 0;
}

/* Whether the character is text, whatever stands around it: no sign that TeX joins
 * with another ('' and the like). */
static bool is_text(const struct tex *tex, unsigned char c)
{
    if (c >= 0x80)
        return !tex->wide_active;
    static const bool joined[0x80] = {
        ['-'] = true, ['`'] = true, ['\''] = true, ['?'] = true, ['!'] = true};
    return c > ' ' && c != 0x7f && is_plain(tex, c) && !joined[c];
}

struct slice mouth_text(struct tex *tex, struct input *input)
{
    struct slice text = {tex->files[input->file].transcoded.text.data,
                         input->end};
    size_t from = input->at, at = from;
    uint8_t state = input->state;
    if (at < text.size && !is_text(tex, (unsigned char)text.data[at]))
        return (struct slice){"", 0};
    for (; at < text.size; at++) {
        unsigned char c = (unsigned char)text.data[at];
        if (is_text(tex, c)) {
            state = MOUTH_MIDDLE;
        } else if (tex->catcodes[c] == CAT_SPACE && c != '\r') {
            if (state == MOUTH_MIDDLE)
                state = MOUTH_SKIP;
        } else if (c == '\n' && tex->catcodes[c] == CAT_LINE_END &&
                   state != MOUTH_NEW_LINE) {
            state = MOUTH_NEW_LINE;
        } else {
            break;
        }
    }
    input->at = at;
    input->state = state;
    tex->steps += at - from;
    tex->burst = 0;
    return (struct slice){text.data + from, at - from};
}

bool mouth_next(struct tex *tex, struct input *input, struct token *ret)
{
    struct slice text = {tex->files[input->file].transcoded.text.data,
                         input->end};
    while (input->at < text.size) {
        size_t from = input->at, step;
        uint32_t c = character(text, from, &step);
        int cat = category(tex, c);
        input->at += step;
        switch (cat) {
        case CAT_ESCAPE: name(tex, input, text, from, ret); return true;
        case CAT_LINE_END:
            if (line_end(tex, input, from, ret))
                return true;
            break;
        case CAT_SPACE:
            if (input->state != MOUTH_MIDDLE)
                break;
            input->state = MOUTH_SKIP;
            make(input, ret, CAT_SPACE, ' ', from);
            return true;
        case CAT_COMMENT: skip_line(input, text); break;
        case CAT_IGNORED:
        case CAT_INVALID: break;
        case CAT_ACTIVE:
            input->state = MOUTH_MIDDLE;
            active(tex, input, c, from, ret);
            return true;
        default:
            input->state = MOUTH_MIDDLE;
            make(input, ret, cat, c, from);
            return true;
        }
    }
    return false;
}
