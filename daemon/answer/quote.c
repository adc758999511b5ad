#include "daemon/answer/quote.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "daemon/answer/latex_alignment.h"
#include "daemon/answer/quote_drawn.h"
#include "indexer/index.h"
#include "indexer/scan.h"
#include "memory/lexical/sentences.h"

enum { MIN_PART = 16 }; /* bytes of a sentence that is quoted alone */

/* Whether the file has something between the character at `at` and the one before. */
static bool is_parted(const struct text_place *places, size_t at)
{
    return at && places[at].from > places[at - 1].to;
}

/* The end of what matches at `at`, 0: nothing does.  A space in `wanted` is
 * any run of white space, or a tag, as <br> is read between terms; a line's end also
 * nothing, since an element may end there. */
static size_t match_at(struct slice text, const struct text_place *places,
                       size_t at, struct slice wanted)
{
    for (size_t i = 0; i < wanted.size; i++) {
        if (at >= text.size)
            return 0;
        if (wanted.data[i] != ' ' && wanted.data[i] != '\n') {
            if (text.data[at++] != wanted.data[i])
                return 0;
            continue;
        }
        size_t beyond = text_skip_space(text, at);
        bool tag = i && wanted.data[i - 1] != ' ' && at < text.size &&
                   is_parted(places, at);
        if (beyond == at && wanted.data[i] == ' ' && !tag)
            return 0;
        at = beyond;
    }
    return at;
}

bool quote_find(struct slice text, const struct text_place *places,
                struct slice wanted, struct span *ret_span)
{
    size_t at = 0, end = 0;
    if (!wanted.size)
        return false;
    while (at < text.size && !(end = match_at(text, places, at, wanted)))
        at++;
    if (!end)
        return false;
    *ret_span = (struct span){places[at].from, places[end - 1].to};
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
    struct slice bytes; /* of the file, which these are made from */
    struct buf text, places;
};

/* The passage's lines that say something, their white space folded, without the
 * marks of items. */
static void fold_lines(struct buf *out, const struct passage *passage)
{
    const struct block block = {.kind = passage->kind, .text = passage->text};
    for (size_t at = 0; at < block.text.size;) {
        size_t from = at;
        struct slice line = sentences_line(&block, &at);
        if (from || !passage->at)
            line = sentences_unmarked(&block, line);
        struct buf folded = {0};
        text_fold_space(&folded, line);
        if (folded.size) {
            buf_put_text(out, out->size ? "\n" : "");
            buf_put_slice(out, buf_slice(&folded));
        }
        buf_free(&folded);
    }
}

/* Takes over `folded`. */
static bool find_folded(const struct reading *reading, struct buf folded,
                        struct quote *quote)
{
    const void *places = reading->places.data;
    struct slice text = buf_slice(&reading->text);
    struct span span;
    bool found = folded.size > quote->text.size &&
                 (quote_find(text, places, buf_slice(&folded), &span) ||
                  quote_find_drawn(reading->bytes, text, places,
                                   buf_slice(&folded), &span));
    if (found) {
        for (size_t i = 0; i < folded.size; i++)
            if (folded.data[i] == '\n')
                folded.data[i] = ' ';
        buf_free(&quote->text);
        quote->text = folded;
        quote->span = span;
    } else {
        buf_free(&folded);
    }
    return found;
}

static bool find(const struct reading *reading, struct slice wanted,
                 struct quote *quote)
{
    struct buf folded = {0};
    text_fold_space(&folded, wanted);
    return find_folded(reading, folded, quote);
}

static bool find_whole(const struct reading *reading,
                       const struct passage *passage, struct quote *quote)
{
    struct buf folded = {0};
    fold_lines(&folded, passage);
    return find_folded(reading, folded, quote);
}

static size_t line_end(struct slice text, size_t from)
{
    const char *end = memchr(text.data + from, '\n', text.size - from);
    return end ? (size_t)(end - text.data) : text.size;
}

/* The longest piece that stands there, none shorter than `least`. */
static bool find_longest(const struct reading *reading, struct slice text,
                         size_t (*piece_end)(struct slice text, size_t from),
                         size_t min, struct quote *quote)
{
    for (size_t at = 0; at < text.size;) {
        size_t end = piece_end(text, at);
        if (end - at >= min)
            find(reading, (struct slice){text.data + at, end - at}, quote);
        at = end > at ? end : at + 1;
    }
    return quote->text.size > 0;
}

static bool find_part(const struct reading *reading, struct slice text,
                      struct quote *quote)
{
    return find_longest(reading, text, line_end, MIN_PART, quote) ||
           find_longest(reading, text, quote_part_end, MIN_PART, quote) ||
           find_longest(reading, text, line_end, 1, quote) ||
           find_longest(reading, text, quote_part_end, 1, quote);
}

static bool find_typed(const struct reading *reading, struct slice wanted,
                       struct quote *quote)
{
    const void *places = reading->places.data;
    text_fold_space(&quote->text, wanted);
    quote->whole =
        latex_align_find(buf_slice(&reading->text), places,
                         buf_slice(&quote->text), &quote->span, &quote->made);
    return quote->whole;
}

/* Whether it is the file's doing, not the machine's, that it cannot be read. */
static bool is_gone(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ||
               errno == ELOOP;
    return !S_ISREG(st.st_mode) || (access(path, R_OK) && errno == EACCES);
}

/* What a file of XML begins with, before the span: its entities are declared there. */
static int read_head(const struct source_root *root, const char *path,
                     uint64_t from, struct buf *ret, struct err *err)
{
    if (source_format(path) != PARSER_XML || !from)
        return 0;
    return source_read_span(root, path, 0,
                            from < PARSER_HEAD ? from : PARSER_HEAD, ret, err);
}

static void quote_stored(const struct passage *passage, struct quote *ret)
{
    *ret = (struct quote){.span = passage->block.span, .whole = true};
    fold_lines(&ret->text, passage);
    for (size_t i = 0; i < ret->text.size; i++)
        if (ret->text.data[i] == '\n')
            ret->text.data[i] = ' ';
}

int quote_check(struct parser *parser, const struct passage *passage,
                struct quote *ret_quote, struct err *err)
{
    if (quote_is_away(passage->view)) {
        quote_stored(passage, ret_quote);
        return 0;
    }
    const struct view *view = passage->view;
    struct slice name = view->outline->files[passage->block.file];
    struct span span = passage->block.span;
    struct buf path = {0}, bytes = {0}, head = {0};
    struct reading reading = {0};
    struct quote quote = {0};
    struct source_root root = index_root(&view->manual);
    file_join(&path, root.path, name.data);
    int code =
        source_read_span(&root, path.data, span.from, span.to, &bytes, err);
    if (code && is_gone(path.data))
        code = err_set(err, ERR_STALE, "%s is gone, or locked", path.data);
    if (!code)
        code = read_head(&root, path.data, span.from, &head, err);
    if (!code)
        code = parser_text(parser, buf_slice(&head), buf_slice(&bytes),
                           source_format(path.data),
                           (enum encoding)passage->encoding, &reading.text,
                           &reading.places, err);
    reading.bytes = buf_slice(&bytes);
    if (!code) {
        bool typed = source_format(path.data) == PARSER_LATEX;
        if (!typed)
            quote.whole = find_whole(&reading, passage, &quote);
        if (typed ? !find_typed(&reading, passage->text, &quote)
                  : !quote.whole && !find_part(&reading, passage->text, &quote))
            code = err_set(err, ERR_NOT_FOUND,
                           "the passage does not stand in %s (any more)",
                           path.data);
    }
    if (!code) {
        quote.span.from += span.from;
        quote.span.to += span.from;
        *ret_quote = quote;
    } else {
        quote_free(&quote);
    }
    buf_free(&reading.text);
    buf_free(&reading.places);
    buf_free(&bytes);
    buf_free(&head);
    buf_free(&path);
    return code;
}

void quote_free(struct quote *quote)
{
    buf_free(&quote->text);
    buf_free(&quote->made);
}

static bool was_untouched(const struct view *view, uint32_t file,
                          const struct stat *st)
{
    const struct scan_file now = scan_stat(st);
    return scan_is_untouched(&now, &view->files[file], view->manual.indexed_at);
}

/* Whether its bytes are those of the record.  They are read once for each change of the
 * inode, but for one so young that another may come within the clock's tick. */
static bool has_bytes(const struct view *view, uint32_t file, const char *path,
                      const struct stat *st)
{
    enum { TICK = 2 }; /* seconds */
    const int64_t changed = clock_nanoseconds(st->st_ctim);
    if (view->checked && atomic_load(&view->checked[file]) == changed)
        return true;
    const time_t now = time(NULL);
    struct buf bytes = {0};
    struct source_root root = index_root(&view->manual);
    bool same = !source_read(&root, path, &bytes, NULL) &&
                hash_equal(hash_bytes(bytes.data, bytes.size),
                           view->files[file].content);
    buf_free(&bytes);
    if (same && view->checked && st->st_ctim.tv_sec + TICK < now)
        atomic_store(&view->checked[file], changed);
    return same;
}

bool quote_is_fresh(const struct view *view, uint32_t file)
{
    struct stat st;
    struct buf path = {0};
    if (quote_is_away(view))
        return false;
    file_join(&path, view->manual.root, view->files[file].path);
    /* Touched or replaced, be its time stamp set back, or it was when it was indexed: its
     * bytes decide. */
    bool fresh = !stat(path.data, &st) && S_ISREG(st.st_mode) &&
                 (was_untouched(view, file, &st) ||
                  has_bytes(view, file, path.data, &st));
    buf_free(&path);
    return fresh;
}
