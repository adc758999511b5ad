#include "memory/routing/passage_texts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "memory/lexical/sentences.h"

/* Some sentences of one line: PASSAGE_MIN bytes when there are as many, PASSAGE_MAX at the
 * most. */
enum { PASSAGE_MIN = 160, PASSAGE_MAX = 480 };
enum { LABEL_MAX = 40 };
/* Bytes of a line of links, and links of a section that has such lines. */
enum { LINKS_MAX = 300, REFS_MAX = 500 };
/* Bytes of a piece of code between blank lines that is considered whole. */
enum { PIECE_MAX = 1100 };

static_assert(QUERY_MAX_TERMS <= 64, "a term_set has a bit for each");

struct sentence {
    size_t from, end; /* in the line */
    term_set terms;
};

struct reading {
    const struct passage_reader *reader; /* with the node's letters alone */
    const struct node *node;
    struct passage_texts *texts;
    uint32_t block;             /* the present one */
    term_set head;              /* in the head of it */
    term_set label;             /* in the label above it */
    size_t from, end;           /* the present line, row or piece */
    struct sentence *sentences; /* [count] of it */
    size_t count, capacity;
};

/* ---- What a text holds ---- */

struct marking {
    const struct query *query;
    term_set terms;
};

static void mark(void *context, const struct term_at *at)
{
    struct marking *marking = context;
    int term = query_find(marking->query, at->term);
    if (term >= 0)
        marking->terms |= marking->query->terms[term].instead_of
                              ? marking->query->terms[term].instead_of
                              : (term_set)1 << term;
}

/* The terms of options that the text has in the other case alone. */
static term_set other_letters(const struct passage_reader *reader,
                              struct slice text)
{
    term_set others = 0;
    for (size_t i = 0; i < reader->letters.count; i++) {
        char letter = reader->letters.letters[i];
        const char name[] = {'=', '-', (char)(letter | ('a' ^ 'A'))};
        int term = query_find(reader->query, (struct slice){name, sizeof name});
        if (term >= 0 && option_letter_in(text, letter) == OPTION_LETTER_OTHER)
            others |= (term_set)1 << term;
    }
    return others;
}

term_set passage_terms(const struct passage_reader *reader, struct slice text)
{
    struct marking marking = {.query = reader->query};
    analyze_sought(reader->maker, &reader->sought, text, mark, &marking);
    return marking.terms & ~other_letters(reader, text);
}

/* Those that the node has as the question has them. */
static struct option_letters letters_of(const struct passage_reader *reader,
                                        const struct node *node)
{
    struct option_letters found = {0};
    for (size_t i = 0; i < reader->letters.count; i++) {
        char letter = reader->letters.letters[i];
        bool same = option_letter_in(node->title, letter) == OPTION_LETTER_SAME;
        for (uint32_t b = 0; b < node->block_count && !same; b++)
            same = option_letter_in(node->blocks[b].text, letter) ==
                   OPTION_LETTER_SAME;
        if (same)
            found.letters[found.count++] = letter;
    }
    return found;
}

/* ---- Texts ---- */

static void add(struct reading *reading, struct slice text, term_set terms)
{
    struct passage_texts *texts = reading->texts;
    MEM_RESERVE(texts->items, &texts->capacity, texts->count + 1);
    texts->items[texts->count++] = (struct passage_text){
        text,  reading->block, reading->from, reading->end,
        terms, reading->head,  reading->label};
}

static void add_whole(struct reading *reading, struct slice text)
{
    add(reading, text, passage_terms(reading->reader, text));
}

/* At most PASSAGE_MAX bytes, cut between words. */
static struct slice shorten(struct slice text)
{
    if (text.size <= PASSAGE_MAX)
        return text;
    size_t size = PASSAGE_MAX;
    while (size > PASSAGE_MIN && text.data[size] != ' ')
        size--;
    return (struct slice){text.data, text_begin(text.data, size)};
}

static void split_sentences(struct reading *reading, struct slice line)
{
    reading->count = 0;
    for (size_t from = 0; from < line.size;) {
        size_t end = sentence_end(line, from);
        struct slice text = {line.data + from, end - from};
        MEM_RESERVE(reading->sentences, &reading->capacity, reading->count + 1);
        reading->sentences[reading->count++] =
            (struct sentence){from, end, passage_terms(reading->reader, text)};
        from = sentence_next(line, end);
    }
}

/* Windows of whole sentences, one starting at each. */
static void add_line(struct reading *reading, struct slice line)
{
    split_sentences(reading, line);
    const struct sentence *beyond = reading->sentences + reading->count;
    for (size_t i = 0; i < reading->count; i++) {
        const struct sentence *first = &reading->sentences[i], *last = first;
        term_set terms = first->terms;
        while (last + 1 < beyond && last->end - first->from < PASSAGE_MIN &&
               last[1].end - first->from <= PASSAGE_MAX)
            terms |= (++last)->terms;
        struct slice window = {line.data + first->from,
                               last->end - first->from};
        struct slice text = shorten(window);
        if (text.size < window.size)
            add_whole(reading, text);
        else
            add(reading, text, terms);
    }
}

/* ---- Blocks ---- */

/* The pieces within which a quote must stay: lines, rows or cells of a table, and code to
 * its next blank line. */
static void open_piece(struct reading *reading, size_t from, size_t size)
{
    reading->from = from;
    reading->end = from + size + 1;
}

static void add_lines_of(struct reading *reading, struct slice text)
{
    const struct block part = {
        .kind = reading->node->blocks[reading->block].kind, .text = text};
    for (size_t at = 0; at < text.size;) {
        struct slice line = sentences_line(&part, &at);
        if (line.size)
            add_line(reading, line);
    }
}

static void add_code(struct reading *reading, struct slice text)
{
    for (size_t at = 0; at < text.size;) {
        size_t from = at;
        struct slice piece = text;
        if (text.size <= PASSAGE_MAX)
            at = text.size;
        else
            piece = sentences_piece(text, &at);
        open_piece(reading, from, piece.size);
        if (piece.size && piece.size <= PIECE_MAX)
            add_whole(reading, piece);
        else if (piece.size)
            add_lines_of(reading, piece);
    }
}

/* The row of a table that begins at *at. */
static struct slice next_row(struct slice text, size_t *at)
{
    size_t from = *at;
    const char *end = memchr(text.data + from, '\n', text.size - from);
    size_t size = end ? (size_t)(end - text.data) - from : text.size - from;
    *at = from + size + 1;
    return (struct slice){text.data + from, size};
}

static void add_table(struct reading *reading, struct slice text)
{
    for (size_t at = 0; at < text.size;) {
        size_t from = at;
        struct slice row = next_row(text, &at);
        open_piece(reading, from, row.size);
        if (row.size && row.size <= PASSAGE_MAX)
            add_whole(reading, row);
        else if (row.size)
            add_lines_of(reading, row);
    }
}

static void add_prose(struct reading *reading, const struct block *block)
{
    for (size_t at = 0; at < block->text.size;) {
        size_t from = at;
        struct slice line = sentences_line(block, &at);
        if (block->kind == BLOCK_DEFINITION && line.size && line.data[0] != ' ')
            reading->head = passage_terms(reading->reader, line);
        open_piece(reading, from, line.size);
        line = sentences_unmarked(block, line);
        if (line.size)
            add_line(reading, line);
    }
}

/* The whole name of an entry, which its title has the beginning of: it says nothing
 * beside other text. */
static bool is_signature(const struct node *node, const struct block *block)
{
    return block->kind == BLOCK_DEFINITION && node->block_count > 1 &&
           node->title.size && slice_starts(block->text, node->title);
}

/* Behind the longest of the texts of the node's links that `rest` begins with; NULL: it
 * does with none. */
static const char *behind_link(const struct node *node, struct slice rest)
{
    size_t longest = 0;
    for (uint32_t r = 0; r < node->ref_count; r++) {
        struct slice link = node->refs[r].text;
        if (link.size > longest && slice_starts(rest, link))
            longest = link.size;
    }
    return longest ? rest.data + longest : NULL;
}

/* As a sentence does: not "More...". */
static bool ends_in_full_stop(struct slice text)
{
    return text.size > 1 && text.data[text.size - 1] == '.' &&
           text.data[text.size - 2] != '.';
}

bool passage_is_bare_link(const struct node *node, const struct block *block)
{
    static const char between[] = " \n,;|/>";
    struct slice rest = block->text;
    const char *label = rest.size ? memchr(rest.data, ':', rest.size) : NULL;
    size_t before = label ? (size_t)(label - rest.data) + 1 : 0;
    if (block->kind != BLOCK_PARAGRAPH || !rest.size || rest.size > LINKS_MAX ||
        !node->ref_count || node->ref_count > REFS_MAX ||
        ends_in_full_stop(rest))
        return false;
    if (before && before < LABEL_MAX && before < rest.size &&
        rest.data[before] == ' ')
        rest = (struct slice){rest.data + before, rest.size - before};
    while (rest.size) {
        const char *next = behind_link(node, rest);
        if (!next && memchr(between, rest.data[0], sizeof between - 1))
            next = rest.data + 1;
        if (!next)
            return false;
        rest.size -= (size_t)(next - rest.data);
        rest.data = next;
    }
    return true;
}

static bool has_other_text(const struct node *node)
{
    for (uint32_t b = 0; b < node->block_count; b++) {
        const struct block *block = &node->blocks[b];
        if (block->text.size && !is_signature(node, block) &&
            !passage_is_bare_link(node, block))
            return true;
    }
    return false;
}

static bool is_label(const struct block *block)
{
    struct slice text = block->text;
    return block->kind == BLOCK_PARAGRAPH && text.size &&
           text.size < LABEL_MAX && !strchr(".?!", text.data[text.size - 1]);
}

static void read_block(struct reading *reading, uint32_t b)
{
    const struct block *block = &reading->node->blocks[b];
    reading->block = b;
    reading->head = 0;
    if (block->kind == BLOCK_CODE)
        add_code(reading, block->text);
    else if (block->kind == BLOCK_TABLE)
        add_table(reading, block->text);
    else
        add_prose(reading, block);
}

struct passage_texts passage_texts_read(const struct passage_reader *reader,
                                        const struct node *node)
{
    struct passage_reader own = *reader;
    own.letters = letters_of(reader, node);
    struct passage_texts texts = {.title = passage_terms(&own, node->title)};
    struct reading reading = {.reader = &own, .node = node, .texts = &texts};
    bool other = has_other_text(node);
    for (uint32_t b = 0; b < node->block_count; b++) {
        const struct block *block = &node->blocks[b];
        if (reader->cancel && atomic_load(reader->cancel))
            break;
        if (!is_signature(node, block) &&
            !(other && passage_is_bare_link(node, block)) &&
            (!reader->kinds || reader->kinds & kind_bit(block->kind)))
            read_block(&reading, b);
        if (is_label(block))
            reading.label = passage_terms(&own, block->text);
    }
    free(reading.sentences);
    return texts;
}

void passage_texts_free(struct passage_texts *texts)
{
    free(texts->items);
    *texts = (struct passage_texts){0};
}
