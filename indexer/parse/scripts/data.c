#include "indexer/parse/scripts/data.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_VALUES = 1 << 20,
    MAX_DEPTH = 64, /* lists within lists */
    HEX = 16
};

struct reading {
    const char *at, *end;
    struct data *data;
    struct {
        uint32_t value, last; /* a list or object, and what is last in it */
    } open[MAX_DEPTH];
    int depth;
    struct slice key; /* of the next value */
    struct buf text;
};

/* ---- Texts ---- */

static uint32_t hex_at(const struct reading *r, size_t digits)
{
    uint32_t code = 0;
    if ((size_t)(r->end - r->at) < digits)
        return 0;
    for (size_t i = 0; i < digits; i++) {
        int c = tolower((unsigned char)r->at[i]);
        if (!isxdigit(c))
            return 0;
        code = HEX * code + (uint32_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return code;
}

static uint32_t take_hex(struct reading *r, size_t digits)
{
    uint32_t code = hex_at(r, digits);
    if (code)
        r->at += digits;
    return code;
}

/* Behind "\u"; of a pair, the second as well.  Half a pair is no character. */
static void take_unicode(struct reading *r)
{
    enum { LEAD = 0xD800, TRAIL = 0xDC00, PAST = 0xE000, BITS = 10 };
    uint32_t code = take_hex(r, 4);
    if (code >= LEAD && code < TRAIL && r->end - r->at > 2 &&
        r->at[0] == '\\' && r->at[1] == 'u') {
        const char *second = r->at;
        r->at += 2;
        uint32_t low = take_hex(r, 4);
        if (low >= TRAIL && low < PAST)
            code = 0x10000 + ((code - LEAD) << BITS) + (low - TRAIL);
        else
            r->at = second;
    }
    if (code && (code < LEAD || code >= PAST))
        text_encode(&r->text, code);
}

static void take_escape(struct reading *r)
{
    char c = *r->at++;
    uint32_t code;
    if (c == 'u')
        take_unicode(r);
    else if (c == 'x' && (code = take_hex(r, 2)))
        text_encode(&r->text, code);
    else
        buf_put_byte(&r->text, strchr("bfnrtv", c) && c ? ' ' : c);
}

/* From a quote to the same one. */
static struct slice take_text(struct reading *r)
{
    char quote = *r->at++;
    buf_clear(&r->text);
    while (r->at < r->end && *r->at != quote) {
        char c = *r->at++;
        if (c == '\\' && r->at < r->end)
            take_escape(r);
        else
            buf_put_byte(&r->text, c);
    }
    r->at += r->at < r->end;
    struct slice text = buf_slice(&r->text);
    return (struct slice){arena_copy(&r->data->arena, text.data, text.size),
                          text.size};
}

static struct slice take_word(struct reading *r)
{
    const char *from = r->at;
    while (r->at < r->end && !isspace((unsigned char)*r->at) &&
           !strchr("{}[]\"',:", *r->at))
        r->at++;
    r->at += r->at == from;
    return (struct slice){
        arena_copy(&r->data->arena, from, (size_t)(r->at - from)),
        (size_t)(r->at - from)};
}

/* ---- Values ---- */

static uint32_t add(struct reading *r, enum data_kind kind, struct slice text)
{
    struct data *data = r->data;
    uint32_t new = data->count;
    MEM_RESERVE(data->values, &data->capacity, new + 1);
    data->values[new] =
        (struct data_value){kind, r->key, text, DATA_NONE, DATA_NONE};
    data->count++;
    if (r->depth) {
        uint32_t last = r->open[r->depth - 1].last;
        if (last == DATA_NONE)
            data->values[r->open[r->depth - 1].value].first = new;
        else
            data->values[last].next = new;
        r->open[r->depth - 1].last = new;
    }
    r->key = (struct slice){"", 0};
    return new;
}

static void skip_comment(struct reading *r)
{
    const char *mark = r->at[1] == '/' ? "\n" : "*/";
    size_t left = (size_t)(r->end - r->at) - 2;
    const char *end = memmem(r->at + 2, left, mark, strlen(mark));
    r->at = end ? end + strlen(mark) : r->end;
}

/* And comments. */
static void skip_space(struct reading *r)
{
    while (r->at < r->end) {
        if (isspace((unsigned char)*r->at))
            r->at++;
        else if (*r->at == '/' && r->end - r->at > 1 &&
                 (r->at[1] == '/' || r->at[1] == '*'))
            skip_comment(r);
        else
            return;
    }
}

/* A key, if ":" follows. */
static void take_scalar(struct reading *r)
{
    bool quoted = *r->at == '"' || *r->at == '\'';
    struct slice text = quoted ? take_text(r) : take_word(r);
    skip_space(r);
    if (r->at < r->end && *r->at == ':') {
        r->at++;
        r->key = text;
    } else {
        add(r, quoted ? DATA_TEXT : DATA_WORD, text);
    }
}

static bool take(struct reading *r)
{
    char c = *r->at;
    if (c == '{' || c == '[') {
        if (r->depth == MAX_DEPTH)
            return false;
        uint32_t value =
            add(r, c == '{' ? DATA_OBJECT : DATA_LIST, (struct slice){"", 0});
        r->open[r->depth].value = value;
        r->open[r->depth++].last = DATA_NONE;
        r->at++;
    } else if (c == '}' || c == ']') {
        r->depth--;
        r->at++;
    } else if (c == ',') {
        r->key = (struct slice){"", 0};
        r->at++;
    } else {
        take_scalar(r);
    }
    return r->depth > 0;
}

void data_read(struct slice text, struct data *ret_data)
{
    struct reading r = {.at = text.data,
                        .end = text.data + text.size,
                        .data = ret_data,
                        .key = {"", 0}};
    *ret_data = (struct data){0};
    while (r.at < r.end && *r.at != '{' && *r.at != '[')
        r.at++;
    while (r.at < r.end && ret_data->count < MAX_VALUES && take(&r))
        skip_space(&r);
    buf_free(&r.text);
}

void data_free(struct data *data)
{
    free(data->values);
    arena_free(&data->arena);
    *data = (struct data){0};
}

uint32_t data_first(const struct data *data, uint32_t list)
{
    return list < data->count ? data->values[list].first : DATA_NONE;
}

uint32_t data_get(const struct data *data, uint32_t object, const char *key)
{
    uint32_t at = data_first(data, object);
    while (at != DATA_NONE && !slice_is(data->values[at].key, key))
        at = data->values[at].next;
    return at;
}

struct slice data_text(const struct data *data, uint32_t object,
                       const char *key)
{
    uint32_t at = data_get(data, object, key);
    return at != DATA_NONE && data->values[at].kind >= DATA_TEXT
               ? data->values[at].text
               : (struct slice){"", 0};
}
