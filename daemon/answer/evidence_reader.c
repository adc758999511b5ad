#include "daemon/answer/evidence_reader.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/answer/evidence_words.h"
#include "memory/lexical/sentences.h"

enum {
    MAX_LEAD = 400, /* bytes */
    LEAD_CLAIMS = 1 /* words that what ends in a colon may claim */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- What is put out ---- */

/* The line ends that are due, at most an empty line, or the space between two
 * sentences. */
static void put_break(struct evidence_reader *reader, struct buf *out)
{
    unsigned ends = reader->ends > 2 ? 2 : reader->ends;
    if (!out->size)
        ends = 0;
    for (unsigned i = 0; i < ends; i++)
        buf_put_byte(out, '\n');
    if (!ends && reader->line_put)
        buf_put_byte(out, ' ');
    reader->ends = 0;
}

/* The number of the evidence, from 1. */
static size_t number_of(struct evidence_reader *reader,
                        const struct evidence *evidence)
{
    for (size_t i = 0; i < reader->count; i++)
        if (reader->items[i].place.data == evidence->place.data &&
            reader->items[i].place.size == evidence->place.size)
            return i + 1;
    MEM_RESERVE(reader->items, &reader->capacity, reader->count + 1);
    reader->items[reader->count++] = *evidence;
    return reader->count;
}

/* Small models repeat themselves. */
static bool is_said(struct evidence_reader *reader, struct slice text)
{
    uint64_t hash = hash_bytes64(text.data, text.size);
    for (size_t i = 0; i < reader->said_count; i++)
        if (reader->said[i] == hash)
            return true;
    MEM_RESERVE(reader->said, &reader->said_capacity, reader->said_count + 1);
    reader->said[reader->said_count++] = hash;
    return false;
}

static void put(struct evidence_reader *reader, struct slice text,
                const struct evidence *evidence, struct buf *out)
{
    size_t number = number_of(reader, evidence);
    put_break(reader, out);
    if (reader->lead.size) {
        buf_put_slice(out, buf_slice(&reader->lead));
        buf_clear(&reader->lead);
    }
    buf_put_slice(out, text);
    buf_printf(out, " [%zu]", number);
    reader->line_put = true;
    reader->lost = false;
    reader->kept++;
}

/* With what led in to it. */
static void drop(struct evidence_reader *reader)
{
    buf_clear(&reader->lead);
    reader->lost = true;
    reader->dropped++;
}

/* Whether the sentence says something of what the one before it names: without that
 * one it would say it of something else. */
static bool points_back(struct slice sentence)
{
    static const char *const words[] = {
        "this", "these", "that", "those",   "it",   "its",    "they",
        "them", "their", "both", "another", "such", "either", "neither"};
    size_t end = 0;
    while (end < sentence.size && ((sentence.data[end] | 32) >= 'a' &&
                                   (sentence.data[end] | 32) <= 'z'))
        end++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == end &&
            !strncasecmp(sentence.data, words[i], end))
            return true;
    return false;
}

/* ---- Sentences ---- */

/* Appends the text without citation marks and emphasis of the model's own. */
static void put_plain(struct buf *out, struct slice text)
{
    for (size_t at = 0; at < text.size; at++) {
        size_t end = at + 1;
        if (text.data[at] == '*' && end < text.size && text.data[end] == '*') {
            at++;
            continue;
        }
        if (text.data[at] == '[') {
            while (end < text.size && is_digit(text.data[end]))
                end++;
            if (end > at + 1 && end < text.size && text.data[end] == ']') {
                while (out->size && out->data[out->size - 1] == ' ')
                    out->size--;
                at = end;
                continue;
            }
        }
        buf_put_byte(out, text.data[at]);
    }
}

/* Bytes of "- ", "* " or "1. " at the beginning of a line, with spaces before. */
static size_t mark_of(struct slice line)
{
    size_t start = text_skip_space(line, 0), at = start;
    while (at < line.size && is_digit(line.data[at]))
        at++;
    bool some = at < line.size &&
                (at > start ? line.data[at] == '.' || line.data[at] == ')'
                            : line.data[at] == '-' || line.data[at] == '*');
    return some && at + 1 < line.size && line.data[at + 1] == ' ' ? at + 2 : 0;
}

static struct slice trimmed(struct slice text)
{
    while (text.size &&
           text_is_blank((struct slice){text.data + text.size - 1, 1}))
        text.size--;
    return text;
}

static bool is_wide(char c)
{
    return (unsigned char)c >= 0x80;
}

static bool has_letter(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (is_wide(text.data[i]) ||
            ((text.data[i] | 32) >= 'a' && (text.data[i] | 32) <= 'z'))
            return true;
    return false;
}

/* Whether a text without blanks at its end ends as a sentence does, and not in dots
 * ("To access this command..."). */
static bool is_ended(struct slice text)
{
    while (text.size && strchr("\"')`", text.data[text.size - 1]))
        text.size--;
    char last = text.size > 1 ? text.data[text.size - 1] : 0;
    return is_wide(last) ||
           (last && strchr(".!?:", last) && text.data[text.size - 2] != '.');
}

/* What ends in a colon leads in to what comes next. */
static void keep_lead(struct evidence_reader *reader, struct slice text,
                      bool ends_line)
{
    if (reader->lead.size + text.size > MAX_LEAD)
        buf_clear(&reader->lead);
    buf_put_slice(&reader->lead, text);
    buf_put_byte(&reader->lead, ends_line ? '\n' : ' ');
}

/* `said`: the sentence without the mark of an item, at `mark` bytes.  What is made of
 * the question's words alone ("Yes, you can do that.") has no evidence of its own, and
 * is left out, as are the asker's numbers in what leads in; so are titles that the model repeats, which are no sentences. */
static void read_said(struct evidence_reader *reader, struct slice sentence,
                      size_t mark, bool ends_line, struct buf *out)
{
    struct evidence evidence;
    struct slice said =
        trimmed((struct slice){sentence.data + mark, sentence.size - mark});
    if (!has_letter(said) || (!mark && !is_ended(said)))
        return;
    bool leads = said.data[said.size - 1] == ':';
    size_t claims = evidence_claims(reader->index, said);
    if (leads && claims <= LEAD_CLAIMS) {
        if (!evidence_has_digit(said))
            keep_lead(reader, sentence, ends_line);
    } else if (claims) {
        if ((reader->lost && points_back(said)) ||
            !evidence_find(reader->index, said, false, &evidence))
            drop(reader);
        else if (leads)
            keep_lead(reader, sentence, ends_line);
        else if (!is_said(reader, said))
            put(reader, sentence, &evidence, out);
    }
}

static void read_sentence(struct evidence_reader *reader, struct slice text,
                          bool ends_line, struct buf *out)
{
    struct buf plain = {0};
    put_plain(&plain, text);
    struct slice sentence = buf_slice(&plain);
    size_t mark = reader->line_read ? 0 : mark_of(sentence);
    reader->line_read = true;
    read_said(reader, sentence, mark, ends_line, out);
    buf_free(&plain);
}

static void end_line(struct evidence_reader *reader)
{
    bool empty = !reader->line_read && reader->ends;
    if (reader->line_put || empty)
        reader->ends++;
    reader->line_put = reader->line_read = false;
}

/* ---- Code ---- */

static void end_code(struct evidence_reader *reader, struct buf *out)
{
    struct evidence evidence;
    struct slice code = buf_slice(&reader->code);
    while (code.size && code.data[code.size - 1] == '\n')
        code.size--;
    if (!text_is_blank(code)) {
        if (evidence_find(reader->index, code, true, &evidence))
            put(reader, code, &evidence, out);
        else
            drop(reader);
    }
    buf_clear(&reader->code);
    end_line(reader);
}

static bool is_fence(struct slice line)
{
    size_t at = text_skip_space(line, 0);
    return line.size >= at + 3 && !memcmp(line.data + at, "```", 3);
}

/* ---- Lines ---- */

/* Reads the sentences of the line; of one that goes on, only those that are whole.
 * Returns the bytes read. */
static size_t read_sentences(struct evidence_reader *reader, struct slice line,
                             bool whole, struct buf *out)
{
    size_t at = 0;
    if (!reader->line_read)
        at = mark_of(line);
    for (size_t from = 0; from < line.size;) {
        size_t end = sentence_end(line, at > from ? at : from);
        size_t next = sentence_next(line, end);
        if (!whole && next >= line.size)
            return from;
        read_sentence(reader, (struct slice){line.data + from, end - from},
                      next >= line.size, out);
        from = next;
    }
    return line.size;
}

static void read_line(struct evidence_reader *reader, struct slice line,
                      struct buf *out)
{
    if (is_fence(line) && !reader->line_read) {
        reader->fenced = !reader->fenced;
        if (!reader->fenced)
            end_code(reader, out);
        return;
    }
    if (reader->fenced) {
        buf_put_slice(&reader->code, line);
        buf_put_byte(&reader->code, '\n');
        return;
    }
    read_sentences(reader, line, true, out);
    end_line(reader);
}

static void drop_held(struct evidence_reader *reader, size_t count)
{
    struct buf *held = &reader->held;
    memmove(held->data, held->data + count, held->size - count);
    held->size -= count;
}

void evidence_read(struct evidence_reader *reader, struct slice piece,
                   struct buf *out)
{
    struct buf *held = &reader->held;
    const char *end;
    buf_put_slice(held, piece);
    while (held->size && (end = memchr(held->data, '\n', held->size))) {
        size_t size = (size_t)(end - held->data);
        read_line(reader, (struct slice){held->data, size}, out);
        drop_held(reader, size + 1);
    }
    if (held->size && !reader->fenced && !is_fence(buf_slice(held)))
        drop_held(reader, read_sentences(reader, buf_slice(held), false, out));
}

void evidence_read_end(struct evidence_reader *reader, bool whole,
                       struct buf *out)
{
    whole |= !reader->fenced && is_ended(trimmed(buf_slice(&reader->held)));
    if (reader->held.size && whole)
        read_line(reader, buf_slice(&reader->held), out);
    buf_clear(&reader->held);
    if (reader->fenced && whole)
        end_code(reader, out);
    reader->fenced = false;
}

void evidence_reader_free(struct evidence_reader *reader)
{
    free(reader->items);
    free(reader->said);
    buf_free(&reader->held);
    buf_free(&reader->code);
    buf_free(&reader->lead);
}
