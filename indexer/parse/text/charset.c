#include "indexer/parse/text/charset.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdint.h>

#include "base/text.h"
#include "indexer/parse/text/entity.h"

enum { MAX_LABEL = 24, REPLACEMENT = 0xFFFD };

/* Read as browsers do, so by the larger set where one contains another:
 * ISO-8859-1 by windows-1252, GB2312 by GB18030, KS C 5601 by UHC.  NULL: not
 * through iconv. */
static const char *const converters[ENCODINGS] = {
    [ENCODING_IBM866] = "IBM866",
    [ENCODING_ISO_8859_2] = "ISO-8859-2",
    [ENCODING_ISO_8859_3] = "ISO-8859-3",
    [ENCODING_ISO_8859_4] = "ISO-8859-4",
    [ENCODING_ISO_8859_5] = "ISO-8859-5",
    [ENCODING_ISO_8859_6] = "ISO-8859-6",
    [ENCODING_ISO_8859_7] = "ISO-8859-7",
    [ENCODING_ISO_8859_8] = "ISO-8859-8",
    [ENCODING_ISO_8859_10] = "ISO-8859-10",
    [ENCODING_ISO_8859_13] = "ISO-8859-13",
    [ENCODING_ISO_8859_14] = "ISO-8859-14",
    [ENCODING_ISO_8859_15] = "ISO-8859-15",
    [ENCODING_ISO_8859_16] = "ISO-8859-16",
    [ENCODING_KOI8_R] = "KOI8-R",
    [ENCODING_KOI8_U] = "KOI8-U",
    [ENCODING_MACINTOSH] = "MACINTOSH",
    [ENCODING_MAC_CYRILLIC] = "MAC-CYRILLIC",
    [ENCODING_WINDOWS_874] = "CP874",
    [ENCODING_WINDOWS_1250] = "CP1250",
    [ENCODING_WINDOWS_1251] = "CP1251",
    [ENCODING_WINDOWS_1253] = "CP1253",
    [ENCODING_WINDOWS_1254] = "CP1254",
    [ENCODING_WINDOWS_1255] = "CP1255",
    [ENCODING_WINDOWS_1256] = "CP1256",
    [ENCODING_WINDOWS_1257] = "CP1257",
    [ENCODING_WINDOWS_1258] = "CP1258",
    [ENCODING_GB18030] = "GB18030",
    [ENCODING_BIG5] = "BIG5-HKSCS",
    [ENCODING_EUC_JP] = "EUC-JP-MS",
    [ENCODING_SHIFT_JIS] = "CP932",
    [ENCODING_EUC_KR] = "UHC",
};

/* Small letters and digits of the names only, without "x-". */
static const struct {
    const char *label;
    int encoding;
} labels[] = {
    {"utf8", ENCODING_UTF8},
    {"unicode11utf8", ENCODING_UTF8},
    /* Whoever could read this name in ASCII does not read UTF-16. */
    {"utf16", ENCODING_UTF8},
    {"utf16le", ENCODING_UTF8},
    {"utf16be", ENCODING_UTF8},
    {"unicode", ENCODING_UTF8},
    {"ucs2", ENCODING_UTF8},
    {"ascii", ENCODING_WINDOWS_1252},
    {"usascii", ENCODING_WINDOWS_1252},
    {"ansix341968", ENCODING_WINDOWS_1252},
    {"iso88591", ENCODING_WINDOWS_1252},
    {"iso885911987", ENCODING_WINDOWS_1252},
    {"isoir100", ENCODING_WINDOWS_1252},
    {"latin1", ENCODING_WINDOWS_1252},
    {"l1", ENCODING_WINDOWS_1252},
    {"cp819", ENCODING_WINDOWS_1252},
    {"ibm819", ENCODING_WINDOWS_1252},
    {"cp1252", ENCODING_WINDOWS_1252},
    {"windows1252", ENCODING_WINDOWS_1252},
    {"ibm866", ENCODING_IBM866},
    {"cp866", ENCODING_IBM866},
    {"866", ENCODING_IBM866},
    {"iso88592", ENCODING_ISO_8859_2},
    {"latin2", ENCODING_ISO_8859_2},
    {"l2", ENCODING_ISO_8859_2},
    {"iso88593", ENCODING_ISO_8859_3},
    {"latin3", ENCODING_ISO_8859_3},
    {"l3", ENCODING_ISO_8859_3},
    {"iso88594", ENCODING_ISO_8859_4},
    {"latin4", ENCODING_ISO_8859_4},
    {"l4", ENCODING_ISO_8859_4},
    {"iso88595", ENCODING_ISO_8859_5},
    {"cyrillic", ENCODING_ISO_8859_5},
    {"iso88596", ENCODING_ISO_8859_6},
    {"arabic", ENCODING_ISO_8859_6},
    {"iso88597", ENCODING_ISO_8859_7},
    {"greek", ENCODING_ISO_8859_7},
    {"iso88598", ENCODING_ISO_8859_8},
    {"iso88598i", ENCODING_ISO_8859_8},
    {"hebrew", ENCODING_ISO_8859_8},
    {"iso88599", ENCODING_WINDOWS_1254},
    {"latin5", ENCODING_WINDOWS_1254},
    {"l5", ENCODING_WINDOWS_1254},
    {"iso885910", ENCODING_ISO_8859_10},
    {"latin6", ENCODING_ISO_8859_10},
    {"iso885911", ENCODING_WINDOWS_874},
    {"tis620", ENCODING_WINDOWS_874},
    {"iso885913", ENCODING_ISO_8859_13},
    {"iso885914", ENCODING_ISO_8859_14},
    {"iso885915", ENCODING_ISO_8859_15},
    {"latin9", ENCODING_ISO_8859_15},
    {"l9", ENCODING_ISO_8859_15},
    {"iso885916", ENCODING_ISO_8859_16},
    {"koi8r", ENCODING_KOI8_R},
    {"koi8", ENCODING_KOI8_R},
    {"koi", ENCODING_KOI8_R},
    {"koi8u", ENCODING_KOI8_U},
    {"koi8ru", ENCODING_KOI8_U},
    {"macintosh", ENCODING_MACINTOSH},
    {"mac", ENCODING_MACINTOSH},
    {"macroman", ENCODING_MACINTOSH},
    {"maccyrillic", ENCODING_MAC_CYRILLIC},
    {"macukrainian", ENCODING_MAC_CYRILLIC},
    {"windows874", ENCODING_WINDOWS_874},
    {"cp874", ENCODING_WINDOWS_874},
    {"windows1250", ENCODING_WINDOWS_1250},
    {"cp1250", ENCODING_WINDOWS_1250},
    {"windows1251", ENCODING_WINDOWS_1251},
    {"cp1251", ENCODING_WINDOWS_1251},
    {"windows1253", ENCODING_WINDOWS_1253},
    {"cp1253", ENCODING_WINDOWS_1253},
    {"windows1254", ENCODING_WINDOWS_1254},
    {"cp1254", ENCODING_WINDOWS_1254},
    {"windows1255", ENCODING_WINDOWS_1255},
    {"cp1255", ENCODING_WINDOWS_1255},
    {"windows1256", ENCODING_WINDOWS_1256},
    {"cp1256", ENCODING_WINDOWS_1256},
    {"windows1257", ENCODING_WINDOWS_1257},
    {"cp1257", ENCODING_WINDOWS_1257},
    {"windows1258", ENCODING_WINDOWS_1258},
    {"cp1258", ENCODING_WINDOWS_1258},
    {"gb18030", ENCODING_GB18030},
    {"gbk", ENCODING_GB18030},
    {"gb2312", ENCODING_GB18030},
    {"gb231280", ENCODING_GB18030},
    {"chinese", ENCODING_GB18030},
    {"cp936", ENCODING_GB18030},
    {"euccn", ENCODING_GB18030},
    {"big5", ENCODING_BIG5},
    {"big5hkscs", ENCODING_BIG5},
    {"cnbig5", ENCODING_BIG5},
    {"big5tw", ENCODING_BIG5},
    {"cp950", ENCODING_BIG5},
    {"eucjp", ENCODING_EUC_JP},
    {"ujis", ENCODING_EUC_JP},
    {"shiftjis", ENCODING_SHIFT_JIS},
    {"sjis", ENCODING_SHIFT_JIS},
    {"mskanji", ENCODING_SHIFT_JIS},
    {"ms932", ENCODING_SHIFT_JIS},
    {"cp932", ENCODING_SHIFT_JIS},
    {"windows31j", ENCODING_SHIFT_JIS},
    {"euckr", ENCODING_EUC_KR},
    {"ksc5601", ENCODING_EUC_KR},
    {"ksc56011987", ENCODING_EUC_KR},
    {"korean", ENCODING_EUC_KR},
    {"windows949", ENCODING_EUC_KR},
    {"cp949", ENCODING_EUC_KR},
    {"uhc", ENCODING_EUC_KR},
    {"iso2022jp", CHARSET_SWITCHING},
    {"iso2022jp2", CHARSET_SWITCHING},
    {"iso2022kr", CHARSET_SWITCHING},
    {"iso2022cn", CHARSET_SWITCHING},
};

static uint16_t tables[ENCODINGS][128]; /* of those with a byte a character */
static iconv_t opened[ENCODINGS];
static bool loaded[ENCODINGS];

int charset_find(struct slice label)
{
    char key[MAX_LABEL + 1];
    size_t size = 0, at = 0;
    if (label.size > 2 && (label.data[0] | 32) == 'x' && label.data[1] == '-')
        at = 2;
    for (; at < label.size && size < MAX_LABEL; at++)
        if (isalnum((unsigned char)label.data[at]))
            key[size++] = (char)tolower((unsigned char)label.data[at]);
    key[size] = '\0';
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (!strcmp(labels[i].label, key))
            return labels[i].encoding;
    return CHARSET_UNKNOWN;
}

bool charset_is_wide(int encoding)
{
    return encoding >= ENCODING_GB18030 && encoding <= ENCODING_EUC_KR;
}

bool charset_is_loaded(int encoding)
{
    return !converters[encoding] || loaded[encoding];
}

/* ---- Converters ---- */

/* All `size` bytes as UTF-8: how many bytes; 0: they are no characters; -1: not
 * whole ones.  With `holds`, it may keep a character back until it has seen the
 * next. */
static int convert(iconv_t converter, const char *bytes, size_t size,
                   bool holds, char ret_text[8])
{
    char copy[4], *in = copy, *out = ret_text;
    size_t left = 8;
    memcpy(copy, bytes, size);
    bool fine = iconv(converter, &in, &size, &out, &left) != (size_t)-1;
    bool more = !fine && errno == EINVAL;
    if (holds && iconv(converter, NULL, NULL, &out, &left) == (size_t)-1)
        fine = false;
    return fine ? (int)(8 - left) : more ? -1 : 0;
}

static void make_table(iconv_t converter, uint16_t table[128])
{
    for (unsigned i = 0; i < 128; i++) {
        char byte = (char)(0x80 + i), text[8];
        int size = convert(converter, &byte, 1, true, text);
        size_t step;
        table[i] = REPLACEMENT;
        if (size > 0)
            table[i] = (uint16_t)text_decode(text, (size_t)size, 0, &step);
    }
}

void charset_load(void)
{
    for (int i = 0; i < ENCODINGS; i++) {
        if (!converters[i])
            continue;
        iconv_t none = (iconv_t)(intptr_t)-1;
        iconv_t converter = iconv_open("UTF-8", converters[i]);
        loaded[i] = converter != none;
        if (!loaded[i])
            continue;
        if (charset_is_wide(i)) {
            opened[i] = converter;
            continue;
        }
        make_table(converter, tables[i]);
        iconv_close(converter);
    }
}

/* ---- Characters ---- */

static size_t decode_utf8(struct slice bytes, size_t at, char ret_text[8],
                          size_t *ret_size)
{
    size_t step;
    uint32_t code = text_decode(bytes.data, bytes.size, at, &step);
    *ret_size = entity_encode(code, ret_text);
    return step;
}

static unsigned unit(struct slice bytes, size_t at, bool big)
{
    unsigned first = (unsigned char)bytes.data[at],
             second = (unsigned char)bytes.data[at + 1];
    return big ? first << 8 | second : second << 8 | first;
}

static size_t decode_utf16(struct slice bytes, size_t at, bool big,
                           char ret_text[8], size_t *ret_size)
{
    size_t step = 2;
    uint32_t code = REPLACEMENT;
    if (bytes.size - at < 2) {
        step = 1;
    } else if ((code = unit(bytes, at, big)) >= 0xD800 && code < 0xE000) {
        unsigned low =
            bytes.size - at >= 4 ? unit(bytes, at + 2, big) : REPLACEMENT;
        if (code < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            step = 4;
        } else {
            code = REPLACEMENT;
        }
    }
    *ret_size = entity_encode(code, ret_text);
    return step;
}

/* Bytes of the shortest character that may begin here. */
static size_t min_step(int encoding, struct slice bytes, size_t at)
{
    switch (encoding) {
    case ENCODING_SHIFT_JIS: return 1;
    case ENCODING_GB18030:
        return at + 1 < bytes.size && isdigit((unsigned char)bytes.data[at + 1])
                   ? 4
                   : 2;
    default: return 2;
    }
}

/* A byte that begins no character takes the next with it, unless that is
 * ASCII: markup is never swallowed. */
static size_t decode_wide(int encoding, struct slice bytes, size_t at,
                          char ret_text[8], size_t *ret_size)
{
    size_t left = bytes.size - at, max = left < 4 ? left : 4;
    for (size_t step = min_step(encoding, bytes, at); step <= max; step++) {
        int size = convert(opened[encoding], bytes.data + at, step,
                           encoding == ENCODING_BIG5, ret_text);
        if (!size)
            break;
        if (size > 0) {
            *ret_size = (size_t)size;
            return step;
        }
    }
    *ret_size = entity_encode(REPLACEMENT, ret_text);
    return left > 1 && (bytes.data[at + 1] & 0x80) ? 2 : 1;
}

size_t charset_decode(int encoding, struct slice bytes, size_t at,
                      char ret_text[8], size_t *ret_size)
{
    unsigned byte = (unsigned char)bytes.data[at], code = byte;
    switch (encoding) {
    case ENCODING_UTF8: return decode_utf8(bytes, at, ret_text, ret_size);
    case ENCODING_UTF_16LE:
    case ENCODING_UTF_16BE:
        return decode_utf16(bytes, at, encoding == ENCODING_UTF_16BE, ret_text,
                            ret_size);
    case ENCODING_WINDOWS_1252: code = entity_windows_1252(byte); break;
    default:
        if (byte >= 0x80 && charset_is_wide(encoding))
            return decode_wide(encoding, bytes, at, ret_text, ret_size);
        if (byte >= 0x80)
            code = tables[encoding][byte - 0x80];
    }
    *ret_size = entity_encode(code, ret_text);
    return 1;
}
