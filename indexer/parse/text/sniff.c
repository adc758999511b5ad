#include "indexer/parse/text/sniff.h"

#include <strings.h>

#include "base/text.h"
#include "indexer/parse/text/charset.h"
#include "indexer/wire.h"

enum {
    HEAD = 4096, /* bytes by which a file is judged */
    FEW_WIDE = 8 /* characters of GBK may well look like as many of UTF-8 */
};

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
};

static const char *other_format(const char *data, size_t size)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (size >= signatures[i].size &&
            !memcmp(data, signatures[i].bytes, signatures[i].size))
            return signatures[i].what;
    return NULL;
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

static int check_text(const struct transcoded *file, const char *kind,
                      struct err *err)
{
    struct slice text = file->text;
    size_t size = text.size < HEAD ? text.size : HEAD;
    size_t control = find_control(text.data, size);
    if (control == size)
        return 0;
    err_set(err, ERR_FORMAT, "not %s file: byte 0x%02x in its text", kind,
            (unsigned)text.data[control]);
    if (err)
        err->position = (int64_t)transcode_span(file, control, control).from;
    return ERR_FORMAT;
}

/* ---- Its encoding ---- */

/* Told by a byte order mark, or by the NULs of markup in UTF-16; -1: neither. */
static int marked(struct slice bytes, size_t *ret_begin)
{
    const char *data = bytes.data;
    *ret_begin = 0;
    if (bytes.size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3)) {
        *ret_begin = 3;
        return ENCODING_UTF8;
    }
    bool little = bytes.size >= 2 && !memcmp(data, "\xff\xfe", 2);
    bool big = bytes.size >= 2 && !memcmp(data, "\xfe\xff", 2);
    if (little || big)
        *ret_begin = 2;
    else if (bytes.size >= 4 && !memcmp(data + 1, "\0", 1) && !data[3])
        little = data[0] == '<' && data[2] > ' ';
    else if (bytes.size >= 4 && !data[0] && !data[2])
        big = data[1] == '<' && data[3] > ' ';
    return little ? ENCODING_UTF_16LE : big ? ENCODING_UTF_16BE : -1;
}

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
static struct slice declared(struct slice head)
{
    struct source source = {.data = head.data, .size = head.size};
    struct slice found = {"", 0};
    struct markup markup;
    for (size_t at = 0; at < head.size && !found.size;) {
        if (!lexer_markup(&source, at, head.size, &markup)) {
            at++;
            continue;
        }
        struct slice tag = {head.data + at, markup.to - at};
        if (!at && tag.size > 5 && !memcmp(tag.data, "<?xml", 5))
            found = value_of(tag, "encoding");
        else if (lexer_name_is(markup.name, "meta"))
            found = value_of(tag, "charset");
        at = markup.to;
    }
    return found;
}

struct counts {
    size_t good; /* characters of UTF-8 beyond ASCII */
    size_t bad;  /* bytes that are none */
};

static struct counts count_utf8(struct slice bytes)
{
    struct counts counts = {0};
    for (size_t at = 0, step; at < bytes.size; at += step) {
        at += text_ascii_run(bytes.data, bytes.size, at);
        if (at == bytes.size)
            break;
        text_decode(bytes.data, bytes.size, at, &step);
        if (step > 1)
            counts.good++;
        else
            counts.bad++;
    }
    return counts;
}

/* Is it Japanese in Shift_JIS that does not say so: every byte beyond ASCII a part of a
 * character, one in five a kana, some in two bytes beyond ASCII ("ƒx" is none)?  Contents of
 * HTML Help name no encoding. */
static bool is_shift_jis(struct slice bytes)
{
    enum { MIN_KANA = 4, MIN_BEYOND = 2, SHARE = 5 };
    const unsigned char *data = (const unsigned char *)bytes.data;
    size_t kana = 0, beyond = 0, wide = 0;
    for (size_t at = 0; at < bytes.size; at++) {
        unsigned lead = data[at];
        if (lead < 0x80 || (lead > 0xa0 && lead < 0xe0))
            continue; /* half a kana is a byte */
        unsigned trail = at + 1 < bytes.size ? data[++at] : 0;
        if (lead == 0x80 || lead == 0xa0 || lead > 0xfc || trail < 0x40 ||
            trail == 0x7f || trail > 0xfc)
            return false;
        wide++;
        bool is = (lead == 0x82 && trail >= 0x9f && trail <= 0xf1) ||
                  (lead == 0x83 && trail <= 0x96);
        kana += is;
        beyond += is && trail >= 0x80;
    }
    return kana >= MIN_KANA && beyond >= MIN_BEYOND && kana * SHARE >= wide;
}

/* What reads as UTF-8 is UTF-8, whatever it calls itself, and however many bytes
 * of it are broken. */
static int choose(struct slice bytes, int named)
{
    struct counts counts = count_utf8(bytes);
    if (named == ENCODING_UTF8 || (!counts.good && !counts.bad))
        return ENCODING_UTF8;
    bool enough =
        named < 0 || !charset_is_wide(named) || counts.good >= FEW_WIDE;
    if (counts.good > counts.bad && enough)
        return ENCODING_UTF8;
    if (named >= 0)
        return named;
    return is_shift_jis(bytes) && charset_is_loaded(ENCODING_SHIFT_JIS)
               ? ENCODING_SHIFT_JIS
               : ENCODING_WINDOWS_1252;
}

static int find_encoding(struct slice bytes, size_t *ret_begin,
                         int *ret_encoding, struct err *err)
{
    *ret_encoding = marked(bytes, ret_begin);
    if (*ret_encoding >= 0)
        return 0;
    size_t head = bytes.size < HEAD ? bytes.size : HEAD;
    struct slice name = declared((struct slice){bytes.data, head});
    int named = charset_find(name);
    if (named == CHARSET_SWITCHING && memchr(bytes.data, 0x1b, bytes.size))
        return err_set(err, ERR_FORMAT, "its encoding, %.*s, is not read",
                       (int)name.size, name.data);
    *ret_encoding = choose(bytes, named);
    if (!charset_is_loaded(*ret_encoding))
        return err_set(err, ERR_FORMAT,
                       "this system has no converter for its encoding, %s",
                       encoding_name(*ret_encoding));
    return 0;
}

static int check_bytes(struct slice bytes, const char *kind, struct err *err)
{
    if (bytes.size > PARSER_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "larger than %d MiB",
                       PARSER_MAX_BYTES >> 20);
    const char *what = other_format(bytes.data, bytes.size);
    if (what)
        return err_set(err, ERR_FORMAT, "not %s file: %s", kind, what);
    return 0;
}

static int transcode_checked(struct slice bytes, size_t begin, int encoding,
                             const char *kind, struct transcoded *ret_file,
                             struct err *err)
{
    transcode(bytes, begin, encoding, ret_file);
    int rc = check_text(ret_file, kind, err);
    if (rc)
        transcode_free(ret_file);
    return rc;
}

int sniff_file(struct slice bytes, struct transcoded *ret_file,
               int *ret_encoding, struct err *err)
{
    static const char kind[] = "an HTML";
    size_t begin;
    int rc = check_bytes(bytes, kind, err);
    if (!rc)
        rc = find_encoding(bytes, &begin, ret_encoding, err);
    if (rc)
        return rc;
    return transcode_checked(bytes, begin, *ret_encoding, kind, ret_file, err);
}

/* ---- LaTeX ---- */

/* The names of inputenc that the Web has not. */
static const struct {
    const char *name, *label;
} inputencs[] = {{"latin1", "iso-8859-1"},   {"latin2", "iso-8859-2"},
                 {"latin3", "iso-8859-3"},   {"latin4", "iso-8859-4"},
                 {"latin5", "iso-8859-9"},   {"latin9", "iso-8859-15"},
                 {"latin10", "iso-8859-16"}, {"ansinew", "windows-1252"},
                 {"applemac", "macintosh"},  {"cp1250", "windows-1250"},
                 {"cp1251", "windows-1251"}, {"cp1252", "windows-1252"},
                 {"cp1257", "windows-1257"}, {"koi8-r", "koi8-r"},
                 {"utf8", "utf-8"},          {"utf8x", "utf-8"}};

/* \usepackage[latin1]{inputenc} */
static int named_by_inputenc(struct slice head)
{
    const char *at = memmem(head.data, head.size, "{inputenc}", 10);
    const char *open = at;
    while (open && open > head.data && *open != '[' && *open != '\n')
        open--;
    if (!at || *open != '[')
        return CHARSET_UNKNOWN;
    struct slice name = {open + 1, 0};
    while (open + 1 + name.size < at && !strchr("],", name.data[name.size]))
        name.size++;
    for (size_t i = 0; i < sizeof inputencs / sizeof *inputencs; i++)
        if (slice_is(name, inputencs[i].name))
            return charset_find(slice_of(inputencs[i].label));
    return CHARSET_UNKNOWN;
}

int sniff_latex(struct slice bytes, struct transcoded *ret_file,
                int *ret_encoding, struct err *err)
{
    static const char kind[] = "a LaTeX";
    size_t begin = 0;
    int rc = check_bytes(bytes, kind, err);
    if (rc)
        return rc;
    int encoding = marked(bytes, &begin);
    if (encoding < 0)
        encoding = choose(bytes, named_by_inputenc(bytes));
    *ret_encoding = encoding;
    return transcode_checked(bytes, begin, encoding, kind, ret_file, err);
}

bool sniff_is_xhtml(struct slice text)
{
    static const char doctype[] = "//DTD XHTML";
    size_t size = text.size < 512 ? text.size : 512;
    return (size >= 5 && !memcmp(text.data, "<?xml", 5)) ||
           memmem(text.data, size, doctype, sizeof doctype - 1);
}
