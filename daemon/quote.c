#include "daemon/quote.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

enum { LEAST_PART = 16 }; /* bytes of a sentence that is quoted alone */

/* The end of what matches at `at`, 0: nothing does.  A space in `wanted` is
 * any run of white space. */
static size_t match_at(struct slice text, size_t at, struct slice wanted)
{
    for (size_t i = 0; i < wanted.size; i++) {
        if (at >= text.size)
            return 0;
        size_t step = text_space(text.data, text.size, at);
        if (wanted.data[i] != ' ') {
            if (text.data[at++] != wanted.data[i])
                return 0;
            continue;
        }
        if (!step)
            return 0;
        while (step) {
            at += step;
            step = at < text.size ? text_space(text.data, text.size, at) : 0;
        }
    }
    return at;
}

/* Where the character ends that starts at `from` in the source and reads
 * `read` in the text; `next` is where the one after it starts, with markup
 * perhaps between the two. */
static size_t character_end(struct slice source, size_t from, size_t next,
                            struct slice read)
{
    size_t at = from;
    if (next - from >= read.size &&
        !memcmp(source.data + from, read.data, read.size))
        at = from + read.size;
    if (source.data[from] == '&' && next > from + 1) {
        at = from + 1;
        while (at < next && (source.data[at] == '#' ||
                             text_is_letter((unsigned char)source.data[at]) ||
                             text_is_digit((unsigned char)source.data[at])))
            at++;
        at += at < next && source.data[at] == ';';
    }
    return at > from ? at : next;
}

bool quote_find(struct slice source, struct slice text, const uint32_t *offsets,
                struct slice wanted, struct span *ret_span)
{
    size_t at = 0, end = 0;
    if (!wanted.size)
        return false;
    while (at + wanted.size <= text.size && !(end = match_at(text, at, wanted)))
        at++;
    if (!end)
        return false;
    size_t last = end - 1;
    while (last > at && ((unsigned char)text.data[last] & 0xC0) == 0x80)
        last--;
    size_t from = offsets[at], next = offsets[end];
    if (offsets[last] >= source.size || next > source.size ||
        next <= offsets[last] || from > offsets[last])
        return false;
    ret_span->from = from;
    ret_span->to = character_end(source, offsets[last], next,
                                 (struct slice){text.data + last, end - last});
    return true;
}

size_t quote_part_end(struct slice text, size_t from)
{
    for (size_t at = from; at < text.size; at++) {
        char c = text.data[at];
        if (c == '\t' || c == '\n')
            return at;
        if (strchr(".?!;:", c) && at + 1 < text.size &&
            text_space(text.data, text.size, at + 1))
            return at + 1;
    }
    return text.size;
}

struct reading {
    struct slice source;
    struct buf text, offsets;
};

static bool find(const struct reading *reading, struct slice wanted,
                 struct quote *quote)
{
    const void *offsets = reading->offsets.data;
    struct buf folded = {0};
    struct span span;
    text_fold_space(&folded, wanted);
    bool found = folded.size > quote->text.size &&
                 quote_find(reading->source, buf_slice(&reading->text), offsets,
                            buf_slice(&folded), &span);
    if (found) {
        buf_free(&quote->text);
        quote->text = folded;
        quote->span = span;
    } else {
        buf_free(&folded);
    }
    return found;
}

static size_t line_end(struct slice text, size_t from)
{
    const char *end = memchr(text.data + from, '\n', text.size - from);
    return end ? (size_t)(end - text.data) : text.size;
}

/* The longest piece that stands there, none shorter than `least`. */
static bool find_longest(const struct reading *reading, struct slice text,
                         size_t (*piece_end)(struct slice text, size_t from),
                         size_t least, struct quote *quote)
{
    for (size_t at = 0; at < text.size;) {
        size_t end = piece_end(text, at);
        if (end - at >= least)
            find(reading, (struct slice){text.data + at, end - at}, quote);
        at = end > at ? end : at + 1;
    }
    return quote->text.size > 0;
}

static bool find_part(const struct reading *reading, struct slice text,
                      struct quote *quote)
{
    return find_longest(reading, text, quote_part_end, LEAST_PART, quote) ||
           find_longest(reading, text, line_end, 1, quote) ||
           find_longest(reading, text, quote_part_end, 1, quote);
}

int quote_check(struct parser *parser, const struct passage *passage,
                struct quote *ret_quote, struct err *err)
{
    const struct volume *volume = passage->volume;
    struct slice name = volume->outline->files[passage->block.file];
    struct span span = passage->block.span;
    struct buf path = {0}, bytes = {0};
    struct reading reading = {0};
    struct quote quote = {0};
    file_join(&path, volume->manual.root, name.data);
    int code = file_read_span(path.data, span.from, span.to, &bytes, err)
                   ? ERR_STALE
                   : 0;
    reading.source = buf_slice(&bytes);
    if (!code)
        code = parser_text(parser, reading.source,
                           (enum encoding)passage->encoding, &reading.text,
                           &reading.offsets, err);
    if (!code) {
        quote.whole = find(&reading, passage->text, &quote);
        if (!quote.whole && !find_part(&reading, passage->text, &quote))
            code = err_set(err, ERR_NOT_FOUND,
                           "the passage does not stand in %s (any more)",
                           path.data);
    }
    if (!code) {
        quote.span.from += span.from;
        quote.span.to += span.from;
        *ret_quote = quote;
    }
    buf_free(&reading.text);
    buf_free(&reading.offsets);
    buf_free(&bytes);
    buf_free(&path);
    return code;
}

void quote_free(struct quote *quote)
{
    buf_free(&quote->text);
}

bool quote_is_fresh(const struct volume *volume, uint32_t file)
{
    struct stat st;
    struct buf path = {0};
    const struct file *record = &volume->files[file];
    file_join(&path, volume->manual.root, record->path);
    bool fresh = !stat(path.data, &st) && S_ISREG(st.st_mode);
    bool same = fresh && (uint64_t)st.st_size == record->size &&
                st.st_ino == record->inode &&
                (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec ==
                    record->mtime_ns;
    /* Touched or replaced, or it was when it was indexed: its bytes decide. */
    if (fresh && !same) {
        struct buf bytes = {0};
        fresh = !file_read(path.data, PARSER_MOST_BYTES, &bytes, NULL) &&
                hash_equal(hash_bytes(bytes.data, bytes.size), record->content);
        buf_free(&bytes);
    }
    buf_free(&path);
    return fresh;
}
