#include "indexer/parse/text/entity.h"

#include <gumbo.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

/* The longest name, "CounterClockwiseContourIntegral". */
enum { MAX_NAME = 32 };

unsigned entity_windows_1252(unsigned byte)
{
    static const uint16_t high[32] = {
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
        0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
        0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
        0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
    };
    return byte >= 0x80 && byte < 0xA0 ? high[byte - 0x80] : byte;
}

size_t entity_encode(unsigned code, char ret_bytes[8])
{
    char bytes[8];
    struct buf buf = {bytes, 0, sizeof bytes}; /* never grows: 4 and a NUL */
    text_encode(&buf, code);
    memcpy(ret_bytes, bytes, buf.size);
    return buf.size;
}

/* ---- By number ---- */

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c |= 32;
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
}

static size_t decode_number(const char *text, size_t size, char ret_bytes[8],
                            size_t *ret_size)
{
    size_t at = 2;
    unsigned base = 10;
    if (size > 2 && (text[2] | 32) == 'x') {
        base = 16;
        at++;
    }
    size_t first = at;
    uint32_t code = 0;
    for (; at < size && digit(text[at]) < base; at++)
        if (code <= 0x10FFFF)
            code = code * base + digit(text[at]);
    if (at == first)
        return 0;
    if (at < size && text[at] == ';')
        at++;
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        code = 0xFFFD;
    *ret_size = entity_encode(entity_windows_1252(code), ret_bytes);
    return at;
}

/* ---- By name: gumbo knows the 2,231 of them ---- */

struct name {
    char text[MAX_NAME + 2]; /* without '&', with ';' if there is one */
    unsigned char size;      /* 0: the place is free */
    unsigned char used;      /* bytes of the reference, '&' and all */
    unsigned char decoded_size;
    char decoded[8];
};

/* Most manuals use a handful; the oldest of a place gives way. */
static struct name names[1024];

/* The text of the document that gumbo makes of "x&name;". */
static const char *body_text(const GumboOutput *output)
{
    const GumboNode *node = output->root;
    while (node && node->type == GUMBO_NODE_ELEMENT) {
        const GumboVector *children = &node->v.element.children;
        node = children->length ? children->data[children->length - 1] : NULL;
    }
    return node ? node->v.text.text : "x";
}

static void *allocate(void *user, size_t size)
{
    (void)user;
    return mem_alloc(size);
}

static void release(void *user, void *pointer)
{
    (void)user;
    free(pointer);
}

static void resolve(struct name *name)
{
    char text[MAX_NAME + 4] = "x&";
    memcpy(text + 2, name->text, name->size);
    size_t size = name->size + 1U;
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    options.allocator = allocate;
    options.deallocator = release;
    GumboOutput *output = gumbo_parse_with_options(&options, text, size + 1);
    const char *decoded = body_text(output) + 1;
    size_t decoded_size = strlen(decoded);
    name->used = 0;
    if (decoded_size != size || memcmp(decoded, text + 1, size)) {
        /* Either all of it is a reference, or one character stands for its
         * beginning and the rest follows as it is: &notit; is ¬it; */
        size_t first;
        text_decode(decoded, decoded_size, 0, &first);
        bool whole = name->text[name->size - 1] == ';' &&
                     (decoded_size < 2 || name->size < 2 ||
                      memcmp(decoded + decoded_size - 2,
                             name->text + name->size - 2, 2));
        name->decoded_size = (unsigned char)(whole ? decoded_size : first);
        name->used =
            (unsigned char)(whole ? size : size - (decoded_size - first));
        memcpy(name->decoded, decoded, name->decoded_size);
    }
    gumbo_destroy_output(&options, output);
}

static bool is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

size_t entity_decode(const char *text, size_t size, char ret_bytes[8],
                     size_t *ret_size)
{
    if (size > 1 && text[1] == '#')
        return decode_number(text, size, ret_bytes, ret_size);
    size_t end = 1;
    while (end < size && end <= MAX_NAME && is_name_byte(text[end]))
        end++;
    if (end < 3)
        return 0;
    if (end < size && text[end] == ';')
        end++;
    size_t length = end - 1;
    struct name *name = &names[hash_bytes64(text + 1, length) % 1024];
    if (name->size != length || memcmp(name->text, text + 1, length)) {
        memcpy(name->text, text + 1, length);
        name->size = (unsigned char)length;
        resolve(name);
    }
    memcpy(ret_bytes, name->decoded, sizeof name->decoded);
    *ret_size = name->decoded_size;
    return name->used;
}
