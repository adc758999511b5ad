#include "indexer/parse/text/lexer.h"

#include <strings.h>

#include "base/text.h"
#include "indexer/parse/text/declared.h"
#include "indexer/parse/text/entity.h"

static const char cdata[] = "<![CDATA[";

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}

bool lexer_name_is(struct slice name, const char *lower)
{
    return name.size == strlen(lower) &&
           !strncasecmp(name.data, lower, name.size);
}

bool lexer_is_void(struct slice name)
{
    static const char *const names[] = {
        "area", "base", "br",    "col",   "embed",  "hr",    "img",
        "link", "meta", "input", "param", "source", "track", "wbr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (lexer_name_is(name, names[i]))
            return true;
    return false;
}

static bool has_markup(enum text_mode mode)
{
    return mode == TEXT_MARKUP || mode == TEXT_FOREIGN || mode == TEXT_EMBEDDED;
}

/* One past the next `byte`, or `end`. */
static size_t after(const char *data, size_t at, size_t end, char byte)
{
    const char *found = at < end ? memchr(data + at, byte, end - at) : NULL;
    return found ? (size_t)(found - data) + 1 : end;
}

/* ---- Markup ---- */

static size_t comment_end(const char *data, size_t at, size_t end)
{
    if (at < end && data[at] == '>')
        return at + 1;
    if (at + 1 < end && data[at] == '-' && data[at + 1] == '>')
        return at + 2;
    for (;;) {
        at = after(data, at, end, '-');
        if (at + 1 >= end)
            return end;
        if (data[at] == '-' && data[at + 1] == '>')
            return at + 2;
        if (data[at] == '-' && data[at + 1] == '!' && at + 2 < end &&
            data[at + 2] == '>')
            return at + 3;
    }
}

/* From after an attribute's '=' to after its value. */
static size_t value_end(const char *data, size_t at, size_t end)
{
    while (at < end && is_space(data[at]))
        at++;
    if (at < end && (data[at] == '"' || data[at] == '\''))
        return after(data, at + 1, end, data[at]);
    while (at < end && !is_space(data[at]) && data[at] != '>')
        at++;
    return at;
}

/* From an attribute's first byte to after its value. */
static size_t attribute_end(const char *data, size_t at, size_t end,
                            size_t *ret_name_end)
{
    at++; /* even a '=' begins a name */
    while (at < end && !is_space(data[at]) && data[at] != '/' &&
           data[at] != '>' && data[at] != '=')
        at++;
    *ret_name_end = at;
    size_t equals = at;
    while (equals < end && is_space(data[equals]))
        equals++;
    bool valued = equals < end && data[equals] == '=';
    return valued ? value_end(data, equals + 1, end) : at;
}

bool lexer_attribute(const struct source *source, size_t at, size_t end,
                     struct slice *ret_name, size_t *ret_to)
{
    const char *data = source->data;
    while (at < end && (is_space(data[at]) || data[at] == '/'))
        at++;
    if (at == end || data[at] == '>')
        return false;
    size_t name_end;
    *ret_to = attribute_end(data, at, end, &name_end);
    *ret_name = (struct slice){data + at, name_end - at};
    return true;
}

/* From after a tag's name to after its '>'. */
static size_t tag_end(const char *data, size_t at, size_t end,
                      struct markup *tag)
{
    while (at < end) {
        if (data[at] == '>')
            return at + 1;
        if (is_space(data[at]) || data[at] == '/') {
            tag->closed =
                data[at] == '/' && at + 1 < end && data[at + 1] == '>';
            at++;
            continue;
        }
        if (tag->attributes++ == MAX_ATTRIBUTES)
            tag->surplus = at;
        size_t name_end;
        at = attribute_end(data, at, end, &name_end);
    }
    return end;
}

/* ---- Markup of XML ---- */

static size_t after_text(const char *data, size_t at, size_t end,
                         const char *text)
{
    const char *found =
        at < end ? memmem(data + at, end - at, text, strlen(text)) : NULL;
    return found ? (size_t)(found - data) + strlen(text) : end;
}

static bool begins(const char *data, size_t at, size_t end, const char *text)
{
    return end - at >= strlen(text) && !memcmp(data + at, text, strlen(text));
}

/* A declaration, which may hold others between '[' and ']'. */
static size_t declaration_end(const char *data, size_t at, size_t end)
{
    bool subset = false;
    while (at < end) {
        char c = data[at];
        if (begins(data, at, end, "<!--"))
            at = after_text(data, at + 4, end, "-->");
        else if (begins(data, at, end, "<?"))
            at = after_text(data, at + 2, end, "?>");
        else if (c == '"' || c == '\'')
            at = after(data, at + 1, end, c);
        else if (c == '>' && !subset)
            return at + 1;
        else {
            subset = c == '[' || (subset && c != ']');
            at++;
        }
    }
    return end;
}

static size_t xml_other_end(const char *data, size_t at, size_t end)
{
    if (begins(data, at, end, "<?"))
        return after_text(data, at + 2, end, "?>");
    if (begins(data, at, end, "<!--"))
        return after_text(data, at + 4, end, "-->");
    if (begins(data, at, end, cdata))
        return after_text(data, at, end, "]]>");
    return declaration_end(data, at + 1, end);
}

bool lexer_cdata(const struct source *source, const struct markup *markup,
                 enum text_mode mode, struct slice *ret_text)
{
    if ((!source->xml && mode == TEXT_MARKUP) ||
        !begins(source->data, markup->from, markup->to, cdata))
        return false;
    size_t from = markup->from + strlen(cdata), to = markup->to;
    if (to - from >= 3 && !memcmp(source->data + to - 3, "]]>", 3))
        to -= 3;
    *ret_text = (struct slice){source->data + from, to - from};
    return true;
}

/* ---- Markup of either ---- */

static size_t name_end(const char *data, size_t at, size_t end)
{
    while (at < end && !is_space(data[at]) && data[at] != '/' &&
           data[at] != '>')
        at++;
    return at;
}

/* A tag whose name begins at `name`. */
static void read_tag(const char *data, size_t name, size_t end, bool close,
                     struct markup *ret)
{
    size_t stop = name_end(data, name, end);
    ret->name = (struct slice){data + name, stop - name};
    ret->to = tag_end(data, stop, end, ret);
    /* A tag that the file's end cuts off is no tag. */
    if (data[ret->to - 1] == '>')
        ret->kind = close ? MARKUP_CLOSE : MARKUP_OPEN;
}

static void xml_markup(const char *data, size_t at, size_t end,
                       struct markup *ret)
{
    size_t name = at + 1;
    if (data[name] == '!' || data[name] == '?') {
        ret->to = xml_other_end(data, at, end);
        return;
    }
    bool close = data[name] == '/';
    read_tag(data, name + close, end, close, ret);
}

bool lexer_markup(const struct source *source, size_t at, size_t end,
                  struct markup *ret)
{
    const char *data = source->data;
    if (at + 1 >= end || data[at] != '<')
        return false;
    *ret = (struct markup){MARKUP_OTHER, at, end, {"", 0}, false, 0, 0};
    if (source->xml) {
        xml_markup(data, at, end, ret);
        return true;
    }
    size_t name = at + 1;
    if (data[name] == '!') {
        bool comment = end - at >= 4 && !memcmp(data + at, "<!--", 4);
        ret->to = comment ? comment_end(data, at + 4, end)
                          : after(data, name, end, '>');
        return true;
    }
    if (data[name] == '?') {
        ret->to = after(data, name, end, '>');
        return true;
    }
    bool close = data[name] == '/';
    name += close;
    if (name >= end)
        return false;
    if (!is_letter(data[name])) {
        if (close)
            ret->to = after(data, name, end, '>');
        return close;
    }
    read_tag(data, name, end, close, ret);
    return true;
}

bool lexer_text_markup(const struct source *source, size_t at, size_t end,
                       enum text_mode mode, struct markup *ret)
{
    if (!has_markup(mode))
        return false;
    if (mode != TEXT_MARKUP && begins(source->data, at, end, cdata)) {
        size_t to = after_text(source->data, at, end, "]]>");
        *ret = (struct markup){.kind = MARKUP_OTHER, .from = at, .to = to};
        return true;
    }
    return lexer_markup(source, at, end, ret);
}

enum text_mode lexer_text_mode(struct slice name)
{
    static const struct {
        const char *name;
        enum text_mode mode;
    } modes[] = {
        {"title", TEXT_REFERENCES}, {"textarea", TEXT_REFERENCES},
        {"script", TEXT_RAW},       {"style", TEXT_RAW},
        {"xmp", TEXT_RAW},          {"iframe", TEXT_RAW},
        {"noframes", TEXT_RAW},     {"noembed", TEXT_RAW},
        {"plaintext", TEXT_RAW},
    };
    if (name.size < 3 || !memchr("tsxinp", name.data[0] | 32, 6))
        return TEXT_MARKUP;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (lexer_name_is(name, modes[i].name))
            return modes[i].mode;
    return TEXT_MARKUP;
}

size_t lexer_raw_end(const struct source *source, size_t at, size_t end,
                     struct slice name)
{
    const char *data = source->data;
    if (lexer_name_is(name, "plaintext"))
        return end;
    for (;;) {
        at = after(data, at, end, '<');
        if (end - at <= name.size + 1)
            return end;
        char next = data[at + 1 + name.size];
        if (data[at] == '/' &&
            !strncasecmp(data + at + 1, name.data, name.size) &&
            (is_space(next) || next == '/' || next == '>'))
            return at - 1;
    }
}

/* ---- Characters ---- */

/* Of the characters that mean nothing, a NUL is left out of running text
 * alone. */
static void plain_character(const struct source *source, size_t at, size_t end,
                            enum text_mode mode, struct character *ret)
{
    unsigned char byte = (unsigned char)source->data[at];
    if (!byte && mode != TEXT_MARKUP && mode != TEXT_EMBEDDED) {
        ret->size = entity_encode(0xFFFD, ret->bytes);
        return;
    }
    if (byte < 0x80) {
        ret->bytes[0] = (char)byte;
        ret->size = !lexer_is_control(ret->bytes[0]);
        return;
    }
    size_t step;
    uint32_t code = text_decode(source->data, end, at, &step);
    ret->size = entity_encode(code, ret->bytes);
    ret->to = at + step;
}

/* What the document declares counts before the names of HTML. */
static bool find_declared(const struct source *source, size_t at, size_t end,
                          struct character *ret)
{
    struct slice text = {source->data + at, end - at}, found;
    size_t used;
    if (!source->declared ||
        !declared_find(source->declared, text, &found, &used))
        return false;
    ret->text = found.data;
    ret->size = found.size;
    ret->to = at + used;
    return true;
}

void lexer_character(const struct source *source, size_t at, size_t end,
                     enum text_mode mode, struct character *ret)
{
    const char *data = source->data;
    ret->text = NULL;
    ret->size = 1;
    ret->to = at + 1;
    switch (data[at]) {
    case '\r':
        ret->bytes[0] = '\n';
        if (ret->to < end && data[ret->to] == '\n')
            ret->to++;
        return;
    case '&': {
        size_t used = 0;
        if (mode != TEXT_RAW && find_declared(source, at, end, ret))
            return;
        if (mode != TEXT_RAW)
            used = entity_decode(data + at, end - at, ret->bytes, &ret->size);
        if (used) {
            ret->to = at + used;
            if (ret->size == 1)
                ret->size = !lexer_is_control(ret->bytes[0]);
            return;
        }
        ret->bytes[0] = '&';
        ret->size = 1;
        return;
    }
    default: plain_character(source, at, end, mode, ret);
    }
}

/* Has one of the eight bytes the value? */
static bool has_byte(uint64_t eight, unsigned char value)
{
    static const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t zero = eight ^ (ones * value);
    return ((zero - ones) & ~zero & (ones << 7)) != 0;
}

/* Is one of the eight bytes below ' '? */
static bool has_low(uint64_t eight)
{
    static const uint64_t ones = UINT64_C(0x0101010101010101);
    return ((eight - ones * ' ') & ~eight & (ones << 7)) != 0;
}

/* Is each of them, in any mode, plain?  Some that are is not seen here. */
static bool all_plain(const char *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    return !has_low(eight) && !has_byte(eight, '<') && !has_byte(eight, '&') &&
           !has_byte(eight, 0x7f);
}

static bool is_plain(char c, enum text_mode mode)
{
    return (c != '<' || !has_markup(mode)) && (c != '&' || mode == TEXT_RAW) &&
           c != '\r' && !lexer_is_control(c);
}

size_t lexer_plain(const struct source *source, size_t at, size_t end,
                   enum text_mode mode)
{
    const char *data = source->data;
    size_t start = at;
    while (at < end) {
        if (end - at >= 8 && all_plain(data + at))
            at += 8;
        else if (is_plain(data[at], mode))
            at++;
        else
            break;
    }
    return at - start;
}

void lexer_raw(const struct source *source, struct slice raw, struct buf *out)
{
    size_t from = (size_t)(raw.data - source->data);
    lexer_text(source, from, from + raw.size, TEXT_RAW, out);
}

void lexer_text(const struct source *source, size_t at, size_t end,
                enum text_mode mode, struct buf *out)
{
    while (at < end) {
        size_t plain = lexer_plain(source, at, end, mode);
        buf_put(out, source->data + at, plain);
        at += plain;
        if (at == end)
            break;
        struct markup markup;
        if (lexer_text_markup(source, at, end, mode, &markup)) {
            at = markup.to;
            struct slice raw;
            if (lexer_cdata(source, &markup, mode, &raw))
                lexer_raw(source, raw, out);
            continue;
        }
        struct character character;
        lexer_character(source, at, end, mode, &character);
        buf_put_slice(out, character_text(&character));
        at = character.to;
    }
}
