#include "indexer/parse/sniff.h"

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

/* Control characters that no text has, but every other kind of data. */
static size_t find_control(const char *data, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        unsigned char byte = (unsigned char)data[at];
        if (byte < 32 && !strchr("\t\n\r\f\v\x1a\x1b", byte))
            return at;
        if (byte == 0)
            return at;
    }
    return size;
}

static bool contains(const char *data, size_t size, const char *text)
{
    return memmem(data, size, text, strlen(text)) != NULL;
}

int sniff_source(struct slice bytes, struct source *ret, struct err *err)
{
    if (bytes.size > PARSER_MOST_BYTES)
        return err_set(err, ERR_LIMIT, "larger than %d MiB",
                       PARSER_MOST_BYTES >> 20);
    size_t head = bytes.size < HEAD ? bytes.size : HEAD;
    const char *what = other_format(bytes.data, head);
    if (what)
        return err_set(err, ERR_FORMAT, "not an HTML file: %s", what);
    size_t control = find_control(bytes.data, head);
    if (control < head) {
        err_set(err, ERR_FORMAT, "not an HTML file: byte 0x%02x in its text",
                (unsigned)bytes.data[control]);
        if (err)
            err->position = (int64_t)control;
        return ERR_FORMAT;
    }
    struct source source = {.data = bytes.data, .size = bytes.size};
    if (head >= 3 && !memcmp(bytes.data, "\xef\xbb\xbf", 3))
        source.begin = 3;
    if (!text_is_utf8(bytes.data, bytes.size))
        source.encoding = ENCODING_WINDOWS_1252;
    const char *start = bytes.data + source.begin;
    size_t size = head - source.begin;
    source.xml = (size >= 5 && !memcmp(start, "<?xml", 5)) ||
                 contains(start, size < 512 ? size : 512, "//DTD XHTML");
    *ret = source;
    return 0;
}
