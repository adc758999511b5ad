#include "cli/output/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "base/text.h"

enum {
    USUAL_COLUMNS = 80,
    USUAL_ROWS = 24,
    MIN_COLUMNS = 20, /* of a terminal that lines are broken for */
    TAB = 8
};

/* ---- What it is ---- */

static bool takes_escapes(int fd)
{
    const char *kind = getenv("TERM");
    return isatty(fd) && kind && strcmp(kind, "dumb") != 0;
}

static void look_at_size(struct cli *cli)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    cli->columns = USUAL_COLUMNS;
    cli->rows = USUAL_ROWS;
    if (known && size.ws_col)
        cli->columns = size.ws_col < MIN_COLUMNS ? MIN_COLUMNS : size.ws_col;
    if (known && size.ws_row)
        cli->rows = size.ws_row;
}

void terminal_look(struct cli *cli)
{
    const char *no_color = getenv("NO_COLOR");
    look_at_size(cli);
    cli->color = takes_escapes(STDOUT_FILENO) && !cli->options.no_color &&
                 !(no_color && no_color[0]);
    cli->progress = takes_escapes(STDERR_FILENO) && !cli->options.quiet;
}

/* ---- Widths ---- */

size_t terminal_escape_size(struct slice text, size_t at)
{
    const char *data = text.data;
    size_t end = at + 2;
    if (text.size - at < 2 || data[at] != '\033')
        return 0;
    if (data[at + 1] == '[') {
        while (end < text.size && (data[end] < 0x40 || data[end] > 0x7E))
            end++;
    } else if (data[at + 1] == ']') {
        while (end < text.size && data[end] != '\a' &&
               !(data[end] == '\\' && data[end - 1] == '\033'))
            end++;
    } else {
        return 0;
    }
    return (end < text.size ? end + 1 : end) - at;
}

/* The width of what is at `at`, a character or an escape sequence, and its
 * bytes. */
static int width_at(struct slice text, size_t at, size_t *ret_size)
{
    *ret_size = terminal_escape_size(text, at);
    if (*ret_size)
        return 0;
    uint32_t c = text_decode(text.data, text.size, at, ret_size);
    return utf8proc_charwidth((utf8proc_int32_t)c);
}

int terminal_width(struct slice text)
{
    int width = 0;
    for (size_t at = 0, step; at < text.size; at += step)
        width += width_at(text, at, &step);
    return width;
}

void terminal_put_cut(struct buf *out, struct slice text, int columns)
{
    size_t at = 0;
    for (size_t step; at < text.size; at += step) {
        columns -= width_at(text, at, &step);
        if (columns < 0)
            break;
    }
    buf_put(out, text.data, at);
}

void terminal_pad(struct buf *out, size_t start, int width)
{
    struct slice put = {out->data + start, out->size - start};
    for (int used = terminal_width(put); used < width; used++)
        buf_put_byte(out, ' ');
}

/* ---- Lines ---- */

/* A line being filled. */
struct fill {
    struct buf *out;
    int columns, used;
    const char *indent;
    bool fresh; /* nothing but its indentation stands in it */
};

static void start_line(struct fill *fill)
{
    buf_put_byte(fill->out, '\n');
    buf_put_text(fill->out, fill->indent);
    fill->used = terminal_width(slice_of(fill->indent));
    fill->fresh = true;
}

/* What cannot be broken at `at`: a character with those that combine with it,
 * or a run of narrow ones. */
static size_t unit_size(struct slice text, size_t at, int *ret_width)
{
    size_t step, end = at;
    *ret_width = width_at(text, at, &step);
    bool wide = *ret_width > 1;
    for (end += step; end < text.size; end += step) {
        int width = width_at(text, end, &step);
        if (width > 1 || (wide && width))
            break;
        *ret_width += width;
    }
    return end - at;
}

/* A word, without spaces but those of its marks, behind `spaces` of them. */
static void put_word(struct fill *fill, struct slice word, struct slice spaces)
{
    int gap = (int)spaces.size;
    for (size_t at = 0, size; at < word.size; at += size) {
        int width;
        size = unit_size(word, at, &width);
        if (!fill->fresh && fill->used + gap + width > fill->columns)
            start_line(fill);
        else if (gap)
            buf_put_slice(fill->out, spaces);
        fill->used += width + (fill->fresh ? 0 : gap);
        buf_put(fill->out, word.data + at, size);
        fill->fresh = false;
        gap = 0;
    }
}

/* The bytes of a citation's " [1]" or " [1-2]" there; 0: it is none. */
static size_t mark_size(struct slice line, size_t at)
{
    static const char begin[] = " [";
    size_t end = at + sizeof begin - 1, digits = end;
    if (line.size < end || memcmp(line.data + at, begin, sizeof begin - 1) != 0)
        return 0;
    while (digits < line.size &&
           memchr("0123456789-", line.data[digits], sizeof "0123456789-" - 1))
        digits++;
    return digits > end && digits < line.size && line.data[digits] == ']'
               ? digits + 1 - at
               : 0;
}

/* The bytes up to the next space, and the marks that follow; escape sequences may hold
 * some. */
static size_t word_size(struct slice line, size_t at)
{
    size_t end = at, mark;
    while (end < line.size && line.data[end] != ' ') {
        size_t escape = terminal_escape_size(line, end);
        end += escape ? escape : 1;
    }
    while (end > at && (mark = mark_size(line, end)))
        end += mark;
    return end - at;
}

void terminal_put_line(struct buf *out, struct slice line, int columns,
                       const char *indent)
{
    struct fill fill = {out, columns, 0, indent, true};
    size_t at = 0;
    if (columns <= 0) {
        buf_put_slice(out, line);
        return;
    }
    while (at < line.size && line.data[at] == ' ')
        at++;
    buf_put(out, line.data, at);
    fill.used = (int)at;
    for (size_t spaces = 0, size; at < line.size; at += size) {
        spaces = at;
        while (at < line.size && line.data[at] == ' ')
            at++;
        size = word_size(line, at);
        put_word(&fill, (struct slice){line.data + at, size},
                 (struct slice){line.data + spaces, at - spaces});
    }
}

void terminal_put_prose(struct buf *out, struct slice text, int columns)
{
    for (size_t at = 0; at < text.size;) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        size_t size = end ? (size_t)(end - text.data) - at : text.size - at;
        bool set = text.data[at] == ' ' || text.data[at] == '\t';
        terminal_put_line(out, (struct slice){text.data + at, size},
                          set ? 0 : columns, "");
        if (end)
            buf_put_byte(out, '\n');
        at += size + (end != NULL);
    }
}

int64_t terminal_rows_of(struct slice text, int columns)
{
    int64_t rows = 0;
    int used = 0;
    for (size_t at = 0, step; at < text.size; at += step) {
        if (text.data[at] == '\n' || text.data[at] == '\t') {
            step = 1;
            rows += text.data[at] == '\n';
            used = text.data[at] == '\n' ? 0 : (used / TAB + 1) * TAB;
            continue;
        }
        int width = width_at(text, at, &step);
        bool full = used + width > columns;
        rows += full;
        used = full ? width : used + width;
    }
    return rows + (used > 0);
}
