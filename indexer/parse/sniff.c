#include "indexer/parse/sniff.h"

#include <strings.h>

#include "base/text.h"
#include "indexer/parser.h"

enum { HEAD = 4096 }; /* bytes by which a file is judged */

static const struct {
    const char *bytes;
    unsigned size;
    const char *what;
} signatures[] = {
    {"\x7f"
     "ELF",
     4, "a program"},
    {"\x89PNG", 4, "a PNG image"},
    {"GIF8", 4, "a GIF image"},
    {"\xff\xd8\xff", 3, "a JPEG image"},
    {"%PDF-", 5, "a PDF document"},
    {"%!PS", 4, "a PostScript document"},
    {"PK\x03\x04", 4, "a ZIP archive"},
    {"\x1f\x8b", 2, "compressed data"},
    {"\x28\xb5\x2f\xfd", 4, "compressed data"},
    {"\xfe\xff", 2, "UTF-16 text"},
    {"\xff\xfe", 2, "UTF-16 text"},
};

static const char *other_format(const char *data, size_t size)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (size >= signatures[i].size &&
            !memcmp(data, signatures[i].bytes, signatures[i].size))
            return signatures[i].what;
    return NULL;
}

static bool contains(const char *data, size_t size, const char *text)
{
    return memmem(data, size, text, strlen(text)) != NULL;
}

/* ---- Is it text ---- */

/* Where a file stops being text: at a NUL, or at its first control character
 * when they are more than one in a hundred bytes; `size`: nowhere. */
static size_t find_control(const char *data, size_t size)
{
    const char *nul = memchr(data, '\0', size);
    if (nul)
        return (size_t)(nul - data);
    size_t first = size, count = 0;
    for (size_t at = 0; at < size; at++) {
        if (!lexer_is_control(data[at]) || strchr("\x1a\x1b", data[at]))
            continue;
        if (!count++)
            first = at;
    }
    return 100 * count > size + 100 ? first : size;
}

static int check_text(struct slice head, struct err *err)
{
    const char *what = other_format(head.data, head.size);
    if (what)
        return err_set(err, ERR_FORMAT, "not an HTML file: %s", what);
    size_t control = find_control(head.data, head.size);
    if (control == head.size)
        return 0;
    err_set(err, ERR_FORMAT, "not an HTML file: byte 0x%02x in its text",
            (unsigned)head.data[control]);
    if (err)
        err->position = (int64_t)control;
    return ERR_FORMAT;
}

/* ---- Its encoding ---- */

/* The value of `key` in a tag without NULs: key = "value". */
static struct slice value_of(struct slice tag, const char *key)
{
    const char *end = tag.data + tag.size;
    for (const char *at = tag.data; at < end; at++) {
        if ((size_t)(end - at) <= strlen(key) ||
            strncasecmp(at, key, strlen(key)))
            continue;
        const char *value = at + strlen(key);
        while (value < end && strchr(" \t\n\r\f", *value))
            value++;
        if (value == end || *value != '=')
            continue;
        value++;
        while (value < end && strchr(" \t\n\r\f\"'", *value))
            value++;
        const char *stop = value;
        while (stop < end && !strchr(" \t\n\r\f\"';?/>", *stop))
            stop++;
        return (struct slice){value, (size_t)(stop - value)};
    }
    return (struct slice){"", 0};
}

/* What the file calls its encoding, in the XML declaration or the first <meta>
 * that names one; empty: nothing. */
static struct slice declared(const struct source *source, size_t end)
{
    struct slice found = {"", 0};
    struct markup markup;
    for (size_t at = source->begin; at < end && !found.size;) {
        if (!lexer_markup(source, at, end, &markup)) {
            at++;
            continue;
        }
        struct slice tag = {source->data + at, markup.to - at};
        if (at == source->begin && tag.size > 5 &&
            !memcmp(tag.data, "<?xml", 5))
            found = value_of(tag, "encoding");
        else if (lexer_name_is(markup.name, "meta"))
            found = value_of(tag, "charset");
        at = markup.to;
    }
    return found;
}

/* Are there more characters of UTF-8 than bytes that are none? */
static bool mostly_utf8(const struct source *source)
{
    size_t good = 0, bad = 0;
    for (size_t at = 0, step; at < source->size; at += step) {
        step = 1;
        if (!(source->data[at] & 0x80))
            continue;
        text_decode(source->data, source->size, at, &step);
        if (step > 1)
            good++;
        else
            bad++;
    }
    return good > bad;
}

static int encoding_of(const struct source *source, size_t head)
{
    if (source->valid || source->begin)
        return ENCODING_UTF8;
    struct slice name = declared(source, head);
    if (lexer_name_is(name, "utf-8") || lexer_name_is(name, "utf8") ||
        mostly_utf8(source))
        return ENCODING_UTF8;
    return ENCODING_WINDOWS_1252;
}

int sniff_source(struct slice bytes, struct source *ret, struct err *err)
{
    if (bytes.size > PARSER_MOST_BYTES)
        return err_set(err, ERR_LIMIT, "larger than %d MiB",
                       PARSER_MOST_BYTES >> 20);
    size_t head = bytes.size < HEAD ? bytes.size : HEAD;
    int rc = check_text((struct slice){bytes.data, head}, err);
    if (rc)
        return rc;
    struct source source = {.data = bytes.data, .size = bytes.size};
    if (head >= 3 && !memcmp(bytes.data, "\xef\xbb\xbf", 3))
        source.begin = 3;
    source.valid = text_is_utf8(bytes.data, bytes.size);
    source.encoding = encoding_of(&source, head);
    const char *start = bytes.data + source.begin;
    size_t size = head - source.begin;
    source.xml = (size >= 5 && !memcmp(start, "<?xml", 5)) ||
                 contains(start, size < 512 ? size : 512, "//DTD XHTML");
    *ret = source;
    return 0;
}
