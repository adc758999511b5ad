#include "daemon/answer/units_internal.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/answer/calls.h"
#include "memory/routing/passage_texts.h"
#include "memory/snapshot/content.h"

enum {
    MAX_SECTION = 1200, /* bytes of the best section, if it is quoted whole */
    MAX_BRIEF = 700,    /* the same in brief */
    OF_BRIEF = 2,       /* passages in brief */
    FEW_BRIEF = 800,    /* bytes beside which one passage more is brief still */
    MAX_BLOCKS = 5,     /* of it */
    MIN_LEAD = 40,      /* bytes: "Examples:" leads in to nothing */
    MAX_LABEL = 100,    /* bytes of a caption */
    MAX_QUESTION = 300, /* bytes of a question that a manual answers itself */
    MAX_BEFORE = 5,     /* blocks with which a unit is to be read */
    MAX_LED = 400, /* bytes of blocks of a kind led in to, and a last one */
    MAX_FOLLOWING = 2500, /* bytes that follow a unit, and a last one */
    MAX_CALLS = 8,        /* blocks before what an entry is */
    MAX_SUMMARY = 160,    /* bytes of that */
    MAX_HEAD = 300,       /* bytes of a table's head beside a row */
    MIN_CELLS = 3,        /* of it: "Name Description" tells nothing of a row */
    MAX_FULL = 30000, /* bytes of the best section, if all of it is asked for */
    MAX_FULL_BLOCKS = 300
};

/* Share of the question in a section's title from which the section is about it, so
 * that its first lines are an answer, and from which nothing else is asked. */
static const double ABOUT = 0.6, NAMED = 0.95;

/* Sections that are weaker, beside the best, are not quoted, though a model may read
 * them (docs/log/people.md). */
static const double MIN_SHARE = 0.65;

/* ---- Around a unit ---- */

enum lead {
    LEAD_NONE,
    LEAD_COLON,     /* says what comes next */
    LEAD_ANNOUNCES, /* says so without a colon */
    LEAD_LABEL,     /* a heading, a caption, or words before an example */
    LEAD_QUESTION,  /* what comes next answers */
    LEAD_SENTENCE   /* goes on in the next block */
};

static bool is_text(const struct block *block)
{
    return block->kind == BLOCK_PARAGRAPH || block->kind == BLOCK_QUOTE ||
           block->kind == BLOCK_NOTE;
}

static bool ends_block(const struct block *block, struct slice text)
{
    return text.data + text.size == block->text.data + block->text.size;
}

/* Ends in a word that none ends a sentence with: "a polynomial in". */
static bool wants_more(struct slice text)
{
    static const char *const words[] = {
        "a",  "an", "the", "of",   "in", "to",  "and",  "or",    "with",
        "by", "as", "for", "from", "is", "are", "that", "which", "than"};
    size_t from = text.size;
    while (from && text.data[from - 1] >= 'a' && text.data[from - 1] <= 'z')
        from--;
    if (from && text.data[from - 1] != ' ')
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_is((struct slice){text.data + from, text.size - from},
                     words[i]))
            return true;
    return false;
}

/* Whether a text and the next are one sentence.  Entries and cells have no full stops
 * either, so that a small letter is not enough. */
static bool is_one_sentence(struct slice text, struct slice next)
{
    return text.size &&
           (wants_more(text) ||
            (strchr(",;(-", text.data[text.size - 1]) && unit_goes_on(next)));
}

/* One of a list of questions. */
static bool asks(const struct block *block)
{
    return block->text.size && block->text.data[block->text.size - 1] == '?';
}

/* A few words above a table, a list or code. */
static bool is_caption(const struct block *block, const struct block *next)
{
    return next &&
           ((block->kind == BLOCK_PARAGRAPH && block->text.size < MAX_LABEL &&
             !is_text(next)) ||
            (block->kind == BLOCK_FIGURE && block->text.size <= UNIT_PROSE &&
             next->kind == BLOCK_TABLE));
}

/* What is to be done, one after the other. */
static bool are_steps(const struct block *block)
{
    return block->kind == BLOCK_LIST &&
           slice_starts(block->text, slice_of("1. "));
}

/* Whether a text says that what comes next, maybe below its caption, is below. */
static bool announces(const struct node *node, const struct unit *unit)
{
    const struct block *block = &node->blocks[unit->block];
    const struct block *end = node->blocks + node->block_count;
    const struct block *next = block + 1;
    if (next + 1 < end && is_caption(next, next + 1))
        next++;
    return is_text(block) && ends_block(block, unit->text) && next < end &&
           !is_text(next) && unit_announces(unit->text, next->kind);
}

/* What a unit is to the block that follows it (NULL: none). */
static enum lead lead_of(const struct block *block, struct slice text,
                         const struct block *next)
{
    if (!text.size || !ends_block(block, text) ||
        (!is_text(block) && !unit_is_items(block)))
        return LEAD_NONE;
    char last = text.data[text.size - 1];
    if (last == ':')
        return LEAD_COLON;
    if (block->kind == BLOCK_PARAGRAPH && text.size < MAX_LABEL &&
        !strchr(".?!;)", last))
        return LEAD_LABEL;
    if (unit_is_items(block))
        return LEAD_NONE;
    if (last == '?')
        return next && text.size == block->text.size &&
                       text.size <= MAX_QUESTION && !asks(next)
                   ? LEAD_QUESTION
                   : LEAD_NONE;
    if (next && (is_text(next) ? is_one_sentence(text, next->text)
                               : !unit_ends_sentence(text)))
        return LEAD_SENTENCE;
    return LEAD_NONE;
}

static bool fits(const struct block *block)
{
    return block->text.size &&
           block->text.size <=
               (size_t)(block->kind == BLOCK_CODE ? UNIT_CODE : UNIT_PROSE);
}

static struct unit whole_unit(const struct node *node, uint32_t block)
{
    return (struct unit){.block = block, .text = node->blocks[block].text};
}

/* Begins with a word that no sentence, and no program's name, begins with in small
 * letters: what stands above, maybe after a colon, is its subject. */
static bool has_subject_above(struct slice text)
{
    static const char *const words[] = {"is",   "are", "will", "would",
                                        "and",  "or",  "but",  "which",
                                        "does", "has", "can",  "means"};
    size_t size = 0;
    while (size < text.size && text.data[size] >= 'a' && text.data[size] <= 'z')
        size++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_is((struct slice){text.data, size}, words[i]))
            return size == text.size || text.data[size] == ' ';
    return false;
}

/* Whether the block goes on with a sentence that was left in the text before it, or
 * before the example before it. */
static bool resumes(const struct node *node, uint32_t block)
{
    const struct block *own = &node->blocks[block];
    if (!block || !is_text(own))
        return false;
    const struct block *before = own - 1;
    bool example = block > 1 && before->kind == BLOCK_CODE;
    before -= example;
    if (!is_text(before) || !before->text.size)
        return false;
    if (!example)
        return is_one_sentence(before->text, own->text);
    return before->text.data[before->text.size - 1] == ':'
               ? has_subject_above(own->text)
               : unit_goes_on(own->text) && !unit_ends_sentence(before->text);
}

/* Words that tell of the code below them; the first of a section may be few. */
static bool tells_of_code(const struct node *node, const struct block *block)
{
    return block->text.size >= MIN_LEAD ||
           (block == node->blocks && block->text.size &&
            memchr(block->text.data, ' ', block->text.size));
}

/* Whether the block before it leads in to this one. */
static bool is_led_in(const struct node *node, uint32_t block)
{
    const struct block *own = &node->blocks[block];
    if (!block || is_text(own))
        return false;
    const struct block *before = &node->blocks[block - 1];
    enum lead lead = lead_of(before, before->text, own);
    return is_text(before) &&
           ((own->kind == BLOCK_CODE && tells_of_code(node, before)) ||
            (before->text.size >= MIN_LEAD &&
             (lead == LEAD_COLON || lead == LEAD_LABEL)));
}

/* The first of the blocks with which a unit from the beginning of `block` is to be
 * read; *ret_cut: it begins within a sentence all the same. */
static uint32_t first_of(const struct node *node, uint32_t block, bool *ret_cut)
{
    uint32_t first = block;
    bool goes_back = true;
    while (goes_back && block - first < MAX_BEFORE) {
        goes_back = (resumes(node, first) || is_led_in(node, first)) &&
                    fits(&node->blocks[first - 1]);
        first -= goes_back;
    }
    *ret_cut = resumes(node, first);
    return first;
}

/* How a unit is followed. */
struct following {
    enum lead lead; /* by which the last one was led in to */
    size_t led;     /* bytes since */
    size_t bytes;   /* of all */
};

/* NULL: there is none. */
static const struct block *block_behind(const struct node *node,
                                        const struct unit *unit)
{
    uint32_t next = unit->block + 1;
    return next < node->block_count ? &node->blocks[next] : NULL;
}

/* The lead of the last unit; the labels of a list of labels lead nowhere. */
static enum lead lead_on(const struct node *node, const struct unit *last,
                         const struct following *following)
{
    const struct block *block = &node->blocks[last->block];
    const struct block *next = block_behind(node, last);
    enum lead lead = lead_of(block, last->text, next);
    if (following->lead == LEAD_ANNOUNCES && is_caption(block, next))
        return LEAD_ANNOUNCES;
    if (!lead && announces(node, last))
        return LEAD_ANNOUNCES;
    if (!lead && is_text(block) && ends_block(block, last->text) && next &&
        are_steps(next))
        return LEAD_COLON;
    return lead == LEAD_LABEL && following->lead && !unit_goes_on(last->text)
               ? LEAD_NONE
               : lead;
}

/* What the last unit leads on to; of none the text is empty, and it may be cut. */
static struct unit next_unit(const struct node *node, const struct unit *last,
                             struct following *following)
{
    const struct block *block = &node->blocks[last->block];
    const struct block *next = block_behind(node, last);
    struct unit none = {.block = last->block};
    enum lead lead = lead_on(node, last, following);
    bool resumed =
        next && ends_block(block, last->text) && resumes(node, last->block + 1);
    bool told =
        following->lead == LEAD_COLON || following->lead == LEAD_ANNOUNCES;
    bool listed = !lead && told && next && next->kind == block->kind &&
                  (block->kind == BLOCK_DEFINITION ||
                   (block->kind == BLOCK_TABLE && following->led <= MAX_LED));
    if (!lead && !resumed && !listed)
        return none;
    if (lead) {
        following->lead = lead;
        following->led = 0;
    }
    bool colon = following->lead == LEAD_COLON;
    if (!next || !next->text.size || following->bytes > MAX_FOLLOWING ||
        (listed && following->led > MAX_LED)) {
        none.cut = colon || (next && next->text.size) ? CUT_END : 0;
        return none;
    }
    struct unit found = unit_beginning(next);
    if (found.cut && following->lead == LEAD_ANNOUNCES &&
        next->kind == BLOCK_CODE)
        return none;
    found.block = last->block + 1;
    following->led += found.text.size;
    following->bytes += found.text.size;
    return found;
}

size_t units_around(const struct node *node, uint32_t block, size_t at,
                    size_t size, struct unit ret[UNITS_AROUND])
{
    size_t count = 0;
    bool cut = false;
    struct unit own = unit_within(&node->blocks[block], at, size);
    own.block = block;
    uint32_t first = block;
    const struct block *holding = &node->blocks[block];
    bool begins = own.text.data == holding->text.data;
    if (begins || !is_text(holding))
        first = first_of(node, block, &cut);
    if (first < block && !begins && holding->kind == BLOCK_CODE &&
        !unit_is_prose(own.text))
        own.cut |= CUT_BEGIN; /* of what was announced */
    for (uint32_t b = first; b < block; b++)
        ret[count++] = whole_unit(node, b);
    ret[count++] = own;
    if (cut)
        ret[0].cut |= CUT_BEGIN;
    struct following following = {0};
    while (!(ret[count - 1].cut & CUT_END)) {
        struct unit next = next_unit(node, &ret[count - 1], &following);
        if (next.text.size && count < UNITS_AROUND)
            ret[count++] = next;
        else if (next.text.size || next.cut)
            ret[count - 1].cut |= CUT_END;
        else
            break;
    }
    return count;
}

/* ---- Gathering ---- */

static bool same_block(const struct passage *a, const struct passage *b)
{
    return a->view == b->view && a->node == b->node && a->index == b->index;
}

/* One unit of two of a block that overlap, in the place of the first. */
static bool join(struct passages *units, struct passage *one,
                 const struct passage *other, const struct block *block)
{
    size_t from = one->at < other->at ? one->at : other->at;
    size_t one_end = one->at + one->text.size;
    size_t other_end = other->at + other->text.size;
    size_t end = one_end > other_end ? one_end : other_end;
    if (!same_block(one, other) || one->at > other_end || other->at > one_end)
        return false;
    unsigned begin = (one->at == from ? one : other)->cut & CUT_BEGIN;
    one->cut = begin | ((one_end == end ? one : other)->cut & CUT_END);
    if (from != one->at || end != one_end)
        one->text = (struct slice){
            arena_copy(&units->arena, block->text.data + from, end - from),
            end - from};
    one->at = from;
    return true;
}

/* What stands behind a unit that has grown over it goes into it. */
static void join_further(struct passages *units, size_t grown,
                         const struct block *block)
{
    struct passage *items = units->items;
    for (size_t i = grown + 1; i < units->count;) {
        if (join(units, &items[grown], &items[i], block))
            memmove(&items[i], &items[i + 1],
                    (--units->count - i) * sizeof *items);
        else
            i++;
    }
}

/* Behind the units of its node; without any at the end. */
static size_t behind_node(const struct passages *units,
                          const struct passage *unit)
{
    size_t at = units->count;
    while (at && (units->items[at - 1].view != unit->view ||
                  units->items[at - 1].node != unit->node))
        at--;
    return at ? at : units->count;
}

static void add(struct passages *units, const struct passage *unit,
                const struct block *block)
{
    for (size_t i = 0; i < units->count; i++) {
        if (slice_equal(units->items[i].text, unit->text))
            return;
        if (join(units, &units->items[i], unit, block)) {
            join_further(units, i, block);
            return;
        }
    }
    struct passage own = *unit;
    own.text.data = arena_copy(&units->arena, unit->text.data, unit->text.size);
    size_t at = behind_node(units, unit);
    MEM_RESERVE(units->items, &units->capacity, units->count + 1);
    memmove(units->items + at + 1, units->items + at,
            (units->count - at) * sizeof *units->items);
    units->items[at] = own;
    units->count++;
}

void units_put(const struct cutting *cutting, struct unit found)
{
    const struct block *block = &cutting->content->node->blocks[found.block];
    if (!found.text.size ||
        (cutting->kinds && !(cutting->kinds & kind_bit(block->kind))))
        return;
    struct passage unit = *cutting->passage;
    unit.text = found.text;
    unit.at = (size_t)(found.text.data - block->text.data);
    unit.index = found.block;
    unit.block = block->origin;
    unit.block.file =
        content_file(cutting->content, unit.view, unit.node, block);
    unit.kind = block->kind;
    unit.cut = found.cut;
    add(cutting->ret, &unit, block);
}

/* The passage next behind `last` (NULL: the first) that is of a row of the table that holds
 * more of the question than the one that is cut; NULL: there is none. */
static const struct passage *next_row(const struct cutting *cutting,
                                      uint32_t table,
                                      const struct passage *last)
{
    const struct passage *own = cutting->passage, *next = NULL;
    for (size_t i = 0; i < cutting->all->count; i++) {
        const struct passage *passage = &cutting->all->items[i];
        if (passage->view == own->view && passage->node == own->node &&
            passage->index == table && passage->terms & ~own->terms &&
            (!last || passage->at > last->at) &&
            (!next || passage->at < next->at))
            next = passage;
    }
    return next;
}

/* Of a table that is announced and does not fit the head and the rows that hold more of
 * the question than what announces it; false: none does. */
static bool put_rows(const struct cutting *cutting, const struct unit *table)
{
    const struct block *block = &cutting->content->node->blocks[table->block];
    if (block->kind != BLOCK_TABLE || table->text.size == block->text.size)
        return false;
    const struct passage *row = next_row(cutting, table->block, NULL);
    if (!row)
        return false;
    struct unit head = unit_head(block);
    head.block = table->block;
    if (head.text.size && head.text.size <= UNIT_PROSE)
        units_put(cutting, head);
    for (; row; row = next_row(cutting, table->block, row)) {
        struct unit unit = unit_within(block, row->at, row->text.size);
        unit.block = table->block;
        units_put(cutting, unit);
    }
    return true;
}

/* A lead-in to nothing that stands here is not quoted beside other text. */
static bool leads_nowhere(const struct cutting *cutting,
                          const struct unit *units, size_t count)
{
    const struct unit *last = &units[count - 1];
    return count == 1 && cutting->ret->count && last->cut == CUT_END &&
           last->text.size && last->text.data[last->text.size - 1] == ':';
}

/* Those of the row that has most. */
static size_t count_cells(struct slice rows)
{
    size_t cells = 1, most = 1;
    for (size_t i = 0; i < rows.size; i++) {
        cells = rows.data[i] == '\n' ? 1 : cells + (rows.data[i] == '\t');
        most = cells > most ? cells : most;
    }
    return most;
}

/* The head of a table, which says what the cells of the row are: once, above the first of
 * its rows that is quoted. */
void units_put_head(const struct cutting *cutting, uint32_t block,
                    const struct unit *row)
{
    const struct block *table = &cutting->content->node->blocks[block];
    if (table->kind != BLOCK_TABLE || row->cut)
        return;
    struct unit head = unit_head(table);
    head.block = block;
    if (head.text.size && head.text.size <= MAX_HEAD &&
        count_cells(head.text) >= MIN_CELLS &&
        row->text.data >= head.text.data + head.text.size)
        units_put(cutting, head);
}

/* ---- Of a section ---- */

/* A few words that end no sentence and hold some of the question: "int tol (default: 2)". */
static bool is_asked_label(const struct cutting *cutting,
                           const struct block *block)
{
    struct slice text = block->text;
    return block->kind == BLOCK_PARAGRAPH && text.size &&
           text.size < MAX_LABEL &&
           !strchr(".?!;:,", text.data[text.size - 1]) &&
           passage_measure_terms(cutting->measure, text);
}

/* The label above a paragraph of sentences that is quoted from its beginning. */
static void put_label(const struct cutting *cutting, const struct unit *first)
{
    const struct node *node = cutting->content->node;
    const struct block *own = &node->blocks[first->block];
    if (first->block && is_text(own) && first->text.data == own->text.data &&
        is_asked_label(cutting, own - 1) && unit_ends_sentence(own->text) &&
        !(node->entry && call_is_shown(node, own - 1)))
        units_put(cutting, whole_unit(node, first->block - 1));
}

/* The paragraph below a label that is quoted alone. */
static void put_labelled(const struct cutting *cutting, const struct unit *last)
{
    const struct block *own = &cutting->content->node->blocks[last->block];
    const struct block *next = block_behind(cutting->content->node, last);
    if (next && is_text(next) && fits(next) && ends_block(own, last->text) &&
        is_asked_label(cutting, own) && unit_ends_sentence(next->text))
        units_put(cutting, whole_unit(cutting->content->node, last->block + 1));
}

static void put_around(const struct cutting *cutting, uint32_t block, size_t at,
                       size_t size)
{
    struct unit units[UNITS_AROUND];
    size_t count = units_around(cutting->content->node, block, at, size, units);
    if (leads_nowhere(cutting, units, count))
        return;
    put_label(cutting, &units[0]);
    for (size_t i = 0; i < count; i++)
        if (units[i].block <= block || !put_rows(cutting, &units[i])) {
            if (units[i].block == block)
                units_put_head(cutting, block, &units[i]);
            units_put(cutting, units[i]);
        }
    put_labelled(cutting, &units[count - 1]);
    units_put_referred(cutting, units, count);
}

/* All of a short section, in brief without what is but links; false: it is none. */
static bool cut_whole(const struct cutting *cutting)
{
    const struct node *node = cutting->content->node;
    static const size_t most[] = {[EXTENT_NORMAL] = MAX_SECTION,
                                  [EXTENT_BRIEF] = MAX_BRIEF,
                                  [EXTENT_FULL] = MAX_FULL};
    bool full = cutting->extent == EXTENT_FULL;
    bool brief = cutting->extent == EXTENT_BRIEF;
    size_t size = 0;
    if (node->block_count > (full ? MAX_FULL_BLOCKS : MAX_BLOCKS))
        return false;
    for (uint32_t b = 0; b < node->block_count; b++)
        size += node->blocks[b].text.size;
    if (size > most[cutting->extent])
        return false;
    size_t before = cutting->ret->count;
    for (uint32_t b = 0; b < node->block_count; b++)
        if (node->blocks[b].text.size &&
            !(brief && passage_is_bare_link(node, &node->blocks[b])))
            units_put(cutting, whole_unit(node, b));
    return cutting->ret->count > before;
}

/* The first block behind those that show how an entry is called; 0: there is none. */
static uint32_t behind_calls(const struct node *node)
{
    uint32_t b = 0;
    while (b < node->block_count && b < MAX_CALLS &&
           call_is_shown(node, &node->blocks[b]))
        b++;
    return b < node->block_count ? b : 0;
}

static bool is_summary(const struct block *block)
{
    return block->kind == BLOCK_PARAGRAPH && block->text.size &&
           block->text.size <= MAX_SUMMARY &&
           block->text.data[block->text.size - 1] == '.';
}

/* Three words and more that lead in to nothing: "Stopped by a stone". */
static bool are_words(struct slice text)
{
    const char *space = text.size ? memchr(text.data, ' ', text.size) : NULL;
    const char *end = text.data + text.size;
    return space && memchr(space + 1, ' ', (size_t)(end - space - 1)) &&
           end[-1] != ':';
}

/* Do they say what the section is?  Of an entry a few words do. */
static bool are_first_lines(const struct block *block, bool called)
{
    return (block->text.size >= MIN_LEAD ||
            (called && (is_summary(block) || are_words(block->text)))) &&
           (block->kind == BLOCK_PARAGRAPH ||
            (block->kind == BLOCK_CODE && unit_is_prose(block->text)));
}

/* Is the entry a macro, shown in a few words? */
static bool is_short_macro(const struct node *entry)
{
    struct slice text = entry->blocks[0].text;
    return text.size <= MAX_SUMMARY && call_is_macro(entry, text);
}

/* The first lines of a section that is called as what is asked about; what shows how an
 * entry is called does not say what it is. */
static bool put_first_lines(const struct cutting *cutting)
{
    const struct node *node = cutting->content->node;
    uint32_t b = node->entry ? behind_calls(node) : 0;
    if (cutting->passage->about < ABOUT || !node->block_count ||
        !are_first_lines(&node->blocks[b], b > 0))
        return false;
    if (b && (cutting->extent != EXTENT_BRIEF || is_short_macro(node)))
        put_around(cutting, 0, 0, 0);
    if (b > 1 && cutting->extent != EXTENT_BRIEF &&
        call_is_template(node->blocks[0].text))
        put_around(cutting, 1, 0, 0);
    put_around(cutting, b, 0, 0);
    return true;
}

/* What an entry is, whatever of it is asked for: its first paragraph, if that is a short
 * one, behind the lines that show how it is called. */
static bool put_definition(const struct cutting *cutting)
{
    const struct node *node = cutting->content->node;
    uint32_t b = behind_calls(node);
    if (!node->entry || !node->block_count || !is_summary(&node->blocks[b]))
        return false;
    put_around(cutting, b, 0, 0);
    return true;
}

/* What an entry is goes with how it is called, where only that was quoted. */
static void put_behind_call(const struct cutting *cutting, uint32_t quoted)
{
    const struct node *node = cutting->content->node;
    uint32_t b = node->entry ? behind_calls(node) : 0;
    if (b > quoted && node->blocks[b].kind == BLOCK_PARAGRAPH &&
        fits(&node->blocks[b]))
        put_around(cutting, b, 0, 0);
}

/* Is the passage within the head of its table?  It tells nothing beside other text. */
static bool is_head(const struct cutting *cutting, uint32_t block)
{
    const struct block *table = &cutting->content->node->blocks[block];
    const struct passage *passage = cutting->passage;
    return table->kind == BLOCK_TABLE &&
           passage->at + passage->text.size <= unit_head(table).text.size;
}

static void cut(const struct cutting *cutting, bool best)
{
    const struct passage *passage = cutting->passage;
    if (!best && is_head(cutting, passage->index))
        return;
    bool brief = cutting->extent == EXTENT_BRIEF;
    bool named = brief && passage->about >= NAMED;
    if (best && !named && cut_whole(cutting))
        return;
    bool defined =
        best && (put_first_lines(cutting) || put_definition(cutting));
    if (!defined || !named || !cutting->ret->count) {
        put_around(cutting, passage->index, passage->at, passage->text.size);
        if (best && !defined)
            put_behind_call(cutting, passage->index);
    }
}

/* In brief one more of the best section stands beside a short one; of what is asked by its
 * name the first lines are enough. */
static bool is_brief(const struct passages *passages, size_t next,
                     const struct passages *units)
{
    const struct passage *first = passages->items;
    const struct passage *passage = &passages->items[next];
    size_t bytes = 0;
    for (size_t i = 0; i < units->count; i++)
        bytes += units->items[i].text.size;
    return !next || (next < OF_BRIEF && passage->view == first->view &&
                     passage->node == first->node && first->about < NAMED &&
                     bytes <= FEW_BRIEF);
}

static bool stands_before(const struct passage *a, const struct passage *b)
{
    return a->view == b->view && a->node == b->node &&
           (a->index < b->index || (a->index == b->index && a->at < b->at));
}

/* Is it of the block of the first passage, or of the one before that? */
static bool is_right_before_first(const struct passages *passages, size_t i)
{
    const struct passage *first = passages->items, *passage = &first[i];
    return i && passage->view == first->view && passage->node == first->node &&
           (passage->index == first->index ||
            passage->index + 1 == first->index);
}

/* As they stand in their section. */
static void put_in_order(struct passages *units)
{
    for (size_t i = 1; i < units->count; i++) {
        struct passage unit = units->items[i];
        size_t at = i;
        for (; at && stands_before(&unit, &units->items[at - 1]); at--)
            units->items[at] = units->items[at - 1];
        units->items[at] = unit;
    }
}

/* Is it the first of all, or of a section that is called as a side of a comparison? */
static bool is_of_best(const struct passages *passages, size_t i)
{
    const struct passage *items = passages->items;
    return !i || (items[i].sides && (items[i].view != items[i - 1].view ||
                                     items[i].node != items[i - 1].node));
}

/* Is it the first that tells a side of a comparison of which the first of all tells
 * another? */
static bool tells_side(const struct passages *passages, size_t i)
{
    const struct passage *items = passages->items;
    bool tells = items[0].sides && items[i].sides & ~(unsigned)items[0].sides;
    for (size_t j = 1; j < i; j++)
        tells &= items[j].sides != items[i].sides;
    return tells;
}

int units_of(const struct snapshot *snapshot, const struct route_result *route,
             const struct passages *passages, kind_set kinds,
             enum extent extent, const atomic_bool *cancel,
             struct passages *ret, struct err *err)
{
    struct passages units = {0};
    struct passage_measure *measure = passage_measure_open(route);
    int code = 0;
    size_t count = passages->count;
    for (size_t i = 0; i < count && !code; i++) {
        const struct passage *passage = &passages->items[i];
        struct content content;
        if (passage->share < MIN_SHARE ||
            (extent == EXTENT_BRIEF && !is_brief(passages, i, &units) &&
             !tells_side(passages, i)))
            continue;
        if (cancel && atomic_load(cancel))
            code = err_set(err, ERR_CANCELLED, "cancelled");
        if (!code)
            code = content_open(snapshot, passage->view, passage->node,
                                &content, err);
        if (code)
            break;
        cut(&(struct cutting){snapshot, measure, passage, passages, &content,
                              kinds, extent, &units},
            is_of_best(passages, i));
        if (extent == EXTENT_BRIEF && is_right_before_first(passages, i))
            put_in_order(&units);
        content_close(&content);
    }
    passage_measure_close(measure);
    if (code)
        passages_free(&units);
    else
        *ret = units;
    return code;
}
