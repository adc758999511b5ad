#include "daemon/answer/unit_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "memory/lexical/sentences.h"

enum {
    LEAST_PROSE = 85, /* percent letters and spaces */
    SHORT_LINE = 30   /* bytes: it may be a statement of words */
};

/* Bytes of a text. */
struct range {
    size_t from, to;
};

static struct slice slice_in(struct slice text, struct range range)
{
    return (struct slice){text.data + range.from, range.to - range.from};
}

/* ---- Ends and beginnings ---- */

/* The text without brackets and quotes that close at its end. */
static struct slice without_closers(struct slice text)
{
    static const char *const closers[] = {
        ")",       "]", "\"", "'", " ", "\n", "\xE2\x80\x9D", "\xE2\x80\x99",
        "\xC2\xBB"};
    for (size_t i = 0; i < sizeof closers / sizeof *closers;) {
        size_t size = strlen(closers[i]);
        bool closes = text.size >= size &&
                      !memcmp(text.data + text.size - size, closers[i], size);
        text.size -= closes ? size : 0;
        i = closes ? 0 : i + 1;
    }
    return text;
}

bool unit_ends_sentence(struct slice text)
{
    struct slice open = without_closers(text);
    return open.size && (strchr(".?!", open.data[open.size - 1]) ||
                         (unsigned char)open.data[open.size - 1] >= 0x80);
}

bool unit_goes_on(struct slice text)
{
    size_t at = 0;
    if (text.size > 1 && strchr("\"'", text.data[0]) &&
        strchr(",;.) ", text.data[1]))
        return true;
    if (text.size && strchr(",;)", text.data[0]))
        return true;
    while (at < text.size && text.data[at] >= 'a' && text.data[at] <= 'z')
        at++;
    return at && (at == text.size || strchr(" ,;", text.data[at]));
}

/* Whether it holds one of the phrases, letters of either case. */
static bool has_phrase(struct slice text, const char *const *phrases,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(phrases[i]);
        for (size_t at = 0; at + size <= text.size; at++)
            if (!strncasecmp(text.data + at, phrases[i], size))
                return true;
    }
    return false;
}
#define HAS_PHRASE(text, phrases)                                              \
    has_phrase(text, phrases, sizeof(phrases) / sizeof *(phrases))

static struct slice last_sentence(struct slice text)
{
    size_t from = 0;
    for (size_t next = 0; next < text.size;) {
        from = next;
        size_t end = sentence_end(text, from);
        next = sentence_next(text, end);
        if (next <= from)
            break;
    }
    return (struct slice){text.data + from, text.size - from};
}

bool unit_announces(struct slice text, int kind)
{
    static const char *const tables[] = {"the following", "following table",
                                         "table below", "below table",
                                         "next table"};
    static const char *const any[] = {
        "the following", "as follows",  "following list", "following example",
        "list below",    "shown below", "listed below",   "given below",
        "example below", "see below",   "code below",     "below."};
    if (kind == BLOCK_FIGURE)
        return false;
    return (kind == BLOCK_TABLE && HAS_PHRASE(text, tables)) ||
           HAS_PHRASE(last_sentence(text), any);
}

bool unit_is_prose(struct slice text)
{
    size_t words = 0;
    if (!text.size || !unit_ends_sentence(text) ||
        memchr(text.data, '{', text.size) || memchr(text.data, ';', text.size))
        return false;
    for (size_t i = 0; i < text.size; i++)
        words += isalpha((unsigned char)text.data[i]) ||
                 isspace((unsigned char)text.data[i]);
    return isupper((unsigned char)text.data[0]) &&
           words * 100 >= text.size * LEAST_PROSE;
}

/* ---- Lines ---- */

static struct range line_of(struct slice text, size_t at)
{
    struct range line = {at, at};
    while (line.from && text.data[line.from - 1] != '\n')
        line.from--;
    while (line.to < text.size && text.data[line.to] != '\n')
        line.to++;
    return line;
}

static size_t indent_of(struct slice text, size_t from)
{
    size_t at = from;
    while (at < text.size && text.data[at] == ' ')
        at++;
    return at - from;
}

/* ---- Code ---- */

/* From blank line to blank line. */
static struct range piece_of(struct slice text, struct range within)
{
    while (within.from &&
           !(within.from > 1 && text.data[within.from - 1] == '\n' &&
             text.data[within.from - 2] == '\n'))
        within.from--;
    while (within.to < text.size &&
           !(text.data[within.to] == '\n' && within.to + 1 < text.size &&
             text.data[within.to + 1] == '\n'))
        within.to++;
    return within;
}

struct balance {
    int opened; /* brackets that are not closed */
    int closed; /* that were not opened */
};

static struct balance balance_of(struct slice text, const char *brackets)
{
    struct balance balance = {0};
    for (size_t i = 0; i < text.size; i++) {
        const char *bracket = strchr(brackets, text.data[i]);
        if (!bracket || !text.data[i])
            continue;
        if ((bracket - brackets) % 2 == 0)
            balance.opened++;
        else if (balance.opened)
            balance.opened--;
        else
            balance.closed++;
    }
    return balance;
}

/* Further pieces until braces are closed, if that is near. */
static struct range close_braces(struct slice text, struct range piece)
{
    struct range grown = piece;
    for (;;) {
        struct balance braces = balance_of(slice_in(text, grown), "{}");
        struct range next = grown;
        if (braces.opened && grown.to < text.size)
            next = piece_of(text, (struct range){grown.from, grown.to + 2});
        else if (braces.closed && grown.from > 1)
            next = piece_of(text, (struct range){grown.from - 2, grown.to});
        else
            return braces.opened || braces.closed ? piece : grown;
        if (next.to > text.size)
            next.to = text.size;
        if (next.to - next.from > UNIT_CODE)
            return piece;
        grown = next;
    }
}

/* Whether a line is not the end of its statement. */
static bool continues(struct slice text, struct range line)
{
    while (line.to > line.from && text.data[line.to - 1] == ' ')
        line.to--;
    return line.to > line.from &&
           strchr("([{,\\%+*/=&|", text.data[line.to - 1]);
}

/* The lines of the statement that the range is of, within its piece. */
static struct range statement_of(struct slice text, struct range piece,
                                 struct range within)
{
    struct range lines = {line_of(text, within.from).from,
                          line_of(text, within.to).to};
    while (lines.to - lines.from < UNIT_CODE) {
        struct balance balance = balance_of(slice_in(text, lines), "()[]{}");
        struct range grown = lines;
        struct range above = {0};
        if (lines.from > piece.from)
            above = line_of(text, lines.from - 1);
        if (lines.from > piece.from &&
            (balance.closed || continues(text, above)))
            grown.from = above.from;
        else if (lines.to < piece.to &&
                 (balance.opened || continues(text, line_of(text, lines.to))))
            grown.to = line_of(text, lines.to + 1).to;
        if (grown.to - grown.from > UNIT_CODE ||
            (grown.from == lines.from && grown.to == lines.to))
            break;
        lines = grown;
    }
    return lines;
}

/* Whether a line is words, more or less, as of a page that is preformatted. */
static bool is_words(struct slice text, struct range line)
{
    size_t words = 0;
    for (size_t i = line.from; i < line.to; i++)
        words += isalpha((unsigned char)text.data[i]) || text.data[i] == ' ';
    return line.to - line.from > SHORT_LINE &&
           words * 100 >= (line.to - line.from) * LEAST_PROSE;
}

static bool ends_at(struct slice text, struct range line)
{
    return line.to > line.from && (text.data[line.to - 1] == ':' ||
                                   unit_ends_sentence(slice_in(text, line)));
}

/* The lines of words with those before and after them, from where a sentence may begin
 * to where one ends at a line's end, if that is near; *ret_cut: where it is not. */
static struct range sentence_of(struct slice text, struct range piece,
                                struct range lines, unsigned *ret_cut)
{
    struct range grown = lines;
    for (;;) {
        struct range last = line_of(text, grown.to);
        if (ends_at(text, last) || grown.to >= piece.to) {
            *ret_cut &= ~(unsigned)CUT_END;
            lines.to = grown.to;
            break;
        }
        struct range next = line_of(text, grown.to + 1);
        if (next.to - lines.to > UNIT_PROSE ||
            indent_of(text, next.from) < indent_of(text, last.from))
            break;
        grown.to = next.to;
    }
    for (;;) {
        struct range above = {0};
        if (grown.from > piece.from)
            above = line_of(text, grown.from - 1);
        if (grown.from <= piece.from || ends_at(text, above) ||
            !is_words(text, above)) {
            *ret_cut &= ~(unsigned)CUT_BEGIN;
            lines.from = grown.from;
            break;
        }
        if (lines.from - above.from > UNIT_PROSE)
            break;
        grown.from = above.from;
    }
    return lines;
}

/* Sentences of preformatted text around the range, as many as fit. */
static struct unit sentences_of(struct slice text, struct range piece,
                                struct range within)
{
    size_t from = piece.from, end = 0;
    if (within.to - from > UNIT_CODE)
        from = within.from;
    size_t most = piece.to - from > UNIT_CODE ? from + UNIT_CODE : piece.to;
    for (size_t at = within.to; at <= most; at++) {
        struct slice so_far = {text.data + from, at - from};
        bool ends =
            at == piece.to || text.data[at] == '\n' || text.data[at] == ' ';
        if (ends && at > from && strchr(".?!", text.data[at - 1]) &&
            unit_ends_sentence(so_far))
            end = at;
    }
    unsigned cut = (from > piece.from ? CUT_BEGIN : 0U) | (end ? 0U : CUT_END);
    struct range found = {from, end ? end : within.to};
    return (struct unit){.text = slice_in(text, found), .cut = cut};
}

static struct unit code_within(struct slice text, struct range within)
{
    if (text.size <= UNIT_CODE)
        return (struct unit){.text = text};
    struct range piece = piece_of(text, within), found = piece;
    if (piece.to - piece.from <= UNIT_CODE)
        found = close_braces(text, piece);
    else if (unit_is_prose(slice_in(text, piece)))
        return sentences_of(text, piece, within);
    else
        found = statement_of(text, piece, within);
    bool words = is_words(text, line_of(text, found.to));
    struct balance braces = balance_of(slice_in(text, found), "{}");
    unsigned cut = 0;
    if (found.from > piece.from || braces.closed)
        cut |= CUT_BEGIN;
    if (found.to < piece.to || braces.opened)
        cut |= CUT_END;
    if (words && cut && !braces.opened && !braces.closed)
        found = sentence_of(text, piece, found, &cut);
    return (struct unit){.text = slice_in(text, found), .cut = cut};
}

/* ---- Tables ---- */

/* Where the rows that are headers end: "head=2". */
static size_t headers_end(const struct block *block)
{
    static const char head[] = "head=";
    struct slice text = block->text;
    size_t at = 0, rows = 0;
    if (slice_starts(block->info, slice_of(head)))
        for (size_t i = sizeof head - 1; i < block->info.size; i++)
            rows = 10 * rows + (size_t)(block->info.data[i] - '0');
    for (; rows && at < text.size; rows--)
        at = line_of(text, at).to + 1;
    return at;
}

struct unit unit_head(const struct block *table)
{
    size_t end = headers_end(table);
    if (end > table->text.size)
        end = table->text.size;
    while (end && table->text.data[end - 1] == '\n')
        end--;
    return (struct unit){.text = {table->text.data, end}};
}

/* The row above in which the first cell of this one begins, which spans both; the row
 * itself if it has one of its own, or there is none. */
static size_t spanning_row(const struct block *block, size_t row)
{
    size_t first = headers_end(block), at = row;
    while (at > first && block->text.data[at] == '\t')
        at = line_of(block->text, at - 1).from;
    return at < first || block->text.data[at] == '\t' ? row : at;
}

/* The end of the rows below that the first cell of the row spans, as far as they fit, of
 * headers only headers; the row's own end if its first cell is another row's. */
static size_t spanned_end(const struct block *block, struct range row)
{
    struct slice text = block->text;
    size_t end = row.to, beyond = headers_end(block);
    if (row.from >= beyond || beyond > text.size)
        beyond = text.size;
    if (row.from == row.to || text.data[row.from] == '\t')
        return end;
    while (end + 1 < beyond && text.data[end + 1] == '\t') {
        size_t next = line_of(text, end + 1).to;
        if (next - row.from > UNIT_PROSE)
            break;
        end = next;
    }
    return end;
}

/* The row, with those above or below to which the first cell belongs, too, or, of one
 * that is too long, the text within it. */
static struct unit row_within(const struct block *block, struct range within)
{
    struct slice text = block->text;
    struct range row = {line_of(text, within.from).from,
                        line_of(text, within.to).to};
    row.to = spanned_end(block, row);
    size_t above = row.from < row.to ? spanning_row(block, row.from) : row.from;
    if (row.to - above <= UNIT_PROSE)
        row.from = above;
    if (row.to - row.from <= UNIT_PROSE)
        return (struct unit){.text = slice_in(text, row)};
    return (struct unit){.text = slice_in(text, within),
                         .cut = (within.from > row.from ? CUT_BEGIN : 0U) |
                                (within.to < row.to ? CUT_END : 0U)};
}

/* ---- Prose ---- */

/* A definition's line with the one above that is its term, and with all that is
 * below its term, as far as it fits. */
static struct range with_term(struct slice text, struct range line)
{
    struct range found = line_of(text, line.from);
    if (text.data[found.from] == ' ' && found.from) {
        struct range above = line_of(text, found.from - 1);
        if (text.data[above.from] != ' ')
            found.from = above.from;
    }
    while (found.to + 1 < text.size && text.data[found.to + 1] == ' ') {
        size_t end = line_of(text, found.to + 1).to;
        if (end - found.from > UNIT_PROSE)
            break;
        found.to = end;
    }
    found.from += indent_of(text, found.from);
    return found.to - found.from <= UNIT_PROSE ? found : line;
}

/* What a line that ends in a colon leads in to below it: deeper items, the rest of a
 * definition. */
static struct unit with_led(const struct block *block, struct range found)
{
    struct slice text = block->text;
    struct unit unit = {.text = slice_in(text, found)};
    size_t indent = indent_of(text, line_of(text, found.to).from);
    size_t least = block->kind == BLOCK_DEFINITION ? indent : indent + 1;
    bool led = found.to > found.from && text.data[found.to - 1] == ':';
    while (led && found.to + 1 < text.size &&
           indent_of(text, found.to + 1) >= least) {
        size_t end = line_of(text, found.to + 1).to;
        if (end - found.from > UNIT_CODE) {
            unit.cut = CUT_END;
            break;
        }
        found.to = end;
    }
    unit.text = slice_in(text, found);
    return unit;
}

/* Whole sentences of a line, from the one in which the text begins on: those that it
 * is of, and as many more as fit; of no text none if the first one does not fit. */
static struct unit sentences_within(struct slice line, struct range within)
{
    struct range found = {0, 0};
    for (size_t from = 0; from < line.size;) {
        size_t end = sentence_end(line, from);
        if (from <= within.from)
            found.from = from;
        size_t most = found.to ? UNIT_PROSE : UNIT_CODE; /* of one alone */
        bool fits = end - found.from <= most;
        if (fits || found.to < within.to)
            found.to = end;
        if (!fits && found.to >= within.to)
            break;
        from = sentence_next(line, end);
        if (end == from && from < line.size)
            break;
    }
    if (found.to < within.to)
        found.to = within.to;
    if (found.to - found.from <= UNIT_CODE)
        return (struct unit){.text = slice_in(line, found)};
    return (struct unit){.text = slice_in(line, within),
                         .cut = (within.from > found.from ? CUT_BEGIN : 0U) |
                                (within.to < found.to ? CUT_END : 0U)};
}

bool unit_is_items(const struct block *block)
{
    return block->kind == BLOCK_LIST || block->kind == BLOCK_DEFINITION;
}

/* Numbered steps of what is done one after the other: one alone does not say how. */
static bool is_procedure(const struct block *block)
{
    struct slice text = block->text;
    return block->kind == BLOCK_LIST && text.size <= UNIT_PROSE &&
           slice_starts(text, slice_of("1. ")) &&
           memmem(text.data, text.size, "\n2. ", 4);
}

static struct unit prose_within(const struct block *block, struct range within)
{
    struct slice text = block->text;
    if (is_procedure(block))
        return (struct unit){.text = text};
    struct range found = line_of(text, within.from);
    struct slice line = sentences_unmarked(block, slice_in(text, found));
    size_t mark = (size_t)(line.data - text.data);
    if (within.from < mark || within.to > found.to)
        return (struct unit){.text = slice_in(text, within)};
    if (line.size > UNIT_PROSE)
        return sentences_within(
            line, (struct range){within.from - mark, within.to - mark});
    found.from = mark;
    if (!unit_is_items(block))
        return (struct unit){
            .text = unit_ends_sentence(line) || text.size > UNIT_PROSE ? line
                                                                       : text};
    if (block->kind == BLOCK_DEFINITION)
        found = with_term(text, found);
    return with_led(block, found);
}

struct unit unit_within(const struct block *block, size_t at, size_t size)
{
    struct range within = {at, at + size};
    if (block->kind == BLOCK_CODE)
        return code_within(block->text, within);
    if (block->kind == BLOCK_TABLE)
        return row_within(block, within);
    return prose_within(block, within);
}

struct unit unit_beginning(const struct block *block)
{
    struct slice text = block->text;
    bool code = block->kind == BLOCK_CODE;
    size_t most = code ? UNIT_CODE : UNIT_PROSE, end = 0, piece = 0;
    if (text.size <= most)
        return (struct unit){.text = text};
    if ((code && unit_is_prose(text)) ||
        (!code && block->kind != BLOCK_TABLE && !unit_is_items(block)))
        return unit_within(block, 0, 0);
    for (size_t next = 0; next < text.size && end < most;) {
        size_t to = line_of(text, next).to;
        if (to > most)
            break;
        piece = to == next ? end : piece; /* before a blank line */
        end = to > next ? to : end;
        next = to + 1;
    }
    if (piece > most / 2)
        end = piece;
    if (!end)
        return unit_within(block, indent_of(text, 0), 0);
    return (struct unit){.text = {text.data, end}, .cut = CUT_END};
}
