#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/html/language.h"
#include "indexer/parse/html/html_internal.h"
#include "indexer/parse/html/reference.h"

enum { MAX_INDENT = 16 };

/* ---- Lists ---- */

static unsigned indent_of(unsigned depth)
{
    return 2 * (depth < MAX_INDENT ? depth : MAX_INDENT);
}

/* A list in an admonition says of which kind that is. */
static struct slice note_around(const struct walk *w)
{
    return w->in.kind == BLOCK_NOTE ? w->in.info : (struct slice){"", 0};
}

static unsigned ordinal_of(const xmlNode *element, const char *attribute,
                           unsigned absent)
{
    const char *text = dom_attribute(element, attribute);
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : 0;
    bool number = text && end > text && value >= 0 && value < 1000000000;
    return number ? (unsigned)value : absent;
}

static unsigned first_ordinal(const xmlNode *list)
{
    return dom_tag(list) == GUMBO_TAG_OL ? ordinal_of(list, "start", 1) + 1 : 0;
}

/* "3. ", "c. " or "C. "; Roman numerals read as numbers. */
static void put_ordinal(char *marker, size_t size, const xmlNode *list,
                        unsigned ordinal)
{
    const char *type = dom_attribute(list, "type");
    if (type && (!strcmp(type, "a") || !strcmp(type, "A")) && ordinal >= 1 &&
        ordinal <= 26)
        snprintf(marker, size, "%c. ", (char)(type[0] + (int)ordinal - 1));
    else
        snprintf(marker, size, "%u. ", ordinal);
}

/* A list in an item goes on in the same block, one level deeper. */
static void nested_list(struct walk *w, const xmlNode *list)
{
    struct context outer = w->in;
    struct separator next = w->writer.next;
    uint64_t before = w->writer.written;
    w->in.depth++;
    w->in.ordinal = first_ordinal(list);
    writer_line(&w->writer, indent_of(w->in.depth), "");
    walk_children(w, list);
    w->in = outer;
    if (w->writer.written == before)
        w->writer.next = next;
    else
        writer_line(&w->writer, indent_of(outer.depth + 1), "");
}

static void list(struct walk *w, const xmlNode *list)
{
    if (w->in.kind == BLOCK_LIST)
        nested_list(w, list);
    else
        walk_within(w, list,
                    (struct context){.kind = BLOCK_LIST,
                                     .info = note_around(w),
                                     .ordinal = first_ordinal(list)});
}

/* Each item is a footnote. */
static bool list_of_footnotes(const struct walk *w, const xmlNode *list)
{
    return w->in.footnotes && list->parent == w->in.footnotes;
}

static bool item(struct walk *w, const xmlNode *item)
{
    if (w->in.kind != BLOCK_LIST)
        return false;
    char marker[16] = "- ";
    if (w->in.ordinal) {
        unsigned number = ordinal_of(item, "value", w->in.ordinal - 1);
        put_ordinal(marker, sizeof marker, item->parent, number);
        w->in.ordinal = number + 2;
    }
    writer_line(&w->writer, indent_of(w->in.depth), marker);
    walk_children(w, item);
    writer_line(&w->writer, indent_of(w->in.depth), "");
    return true;
}

/* ---- Definitions ---- */

/* Each group of terms and what they mean is a block. */
static void begin_term(struct walk *w)
{
    if (!w->in.termed) {
        walk_flush(w);
        w->writer.next = (struct separator){0};
        w->in.named = false;
    }
    w->writer.next.comma = w->in.termed;
    w->in.termed = true;
    w->in.meaning = false;
}

bool blocks_term(struct walk *w, const xmlNode *term)
{
    if (w->in.kind != BLOCK_DEFINITION)
        return false;
    bool nameless = reference_is_nameless(term);
    if (!nameless || !w->in.named || !w->in.meaning)
        begin_term(w);
    w->in.named |= !nameless;
    walk_children(w, term);
    return true;
}

bool blocks_meaning(struct walk *w, const xmlNode *meaning)
{
    if (w->in.kind != BLOCK_DEFINITION)
        return false;
    w->in.termed = false;
    w->in.meaning = true;
    writer_line(&w->writer, 2, "");
    walk_children(w, meaning);
    return true;
}

/* A page may lay out its sections as terms: <dt><h2>..</h2></dt>.  A glossary has but a
 * heading for each letter. */
static bool holds_sections(const xmlNode *list)
{
    size_t terms = 0, headings = 0;
    if (!dom_holds(list, DOM_HOLDS_HEADING) || reference_is_signatures(list))
        return false;
    for (const xmlNode *at = list->children; at; at = at->next) {
        if (dom_tag(at) != GUMBO_TAG_DT)
            continue;
        terms++;
        headings += dom_holds(at, DOM_HOLDS_HEADING);
    }
    return headings && 2 * headings >= terms;
}

/* ---- Line breaks ---- */

/* Without white space beside it, a <br> ends the block: what a block reads
 * stands in the file, and there nothing is between the words. */
static void line_break(struct walk *w, const xmlNode *element)
{
    bool space = w->writer.space || walk_space_follows(w, element);
    if (walk_is_prose(w) && !space)
        walk_flush(w);
    else
        writer_break(&w->writer);
}

/* ---- All of them ---- */

/* Old pages indent all of their text so: what holds a run of labels is no quotation. */
static bool is_indented(const struct walk *w, const xmlNode *quote)
{
    enum { MANY = 8, MAX_LOOK = 4096 };
    int labels = 0, left = w->labels.count ? MAX_LOOK : 0;
    for (const xmlNode *at = dom_next(quote, quote, false);
         at && left-- > 0 && labels < MANY; at = dom_next(at, quote, false))
        labels += dom_is_element(at) && labels_has(&w->labels, at);
    return labels == MANY;
}

/* Blocks that have nothing of their own but their kind. */
static bool plain_block(struct walk *w, const xmlNode *element,
                        const struct rule *rule)
{
    struct context inner = {.kind = BLOCK_PARAGRAPH};
    switch (rule->part) {
    case PART_CODE:
        inner.kind = BLOCK_CODE;
        inner.info = language_of(element);
        break;
    case PART_QUOTE:
        inner.kind = is_indented(w, element) ? BLOCK_PARAGRAPH : BLOCK_QUOTE;
        break;
    case PART_NOTE:
        inner.kind = BLOCK_NOTE;
        inner.info = slice_of(rule->info);
        break;
    case PART_MATH: inner.kind = BLOCK_MATH; break;
    default: return false;
    }
    if (walk_is_flat(w))
        return false;
    w->ruled.on = dom_tag(element) == GUMBO_TAG_PRE && ruled_is(element);
    walk_within(w, element, inner);
    w->ruled.on = w->ruled.awaits = false;
    return true;
}

bool blocks_element(struct walk *w, const xmlNode *element,
                    const struct rule *rule)
{
    switch (rule->part) {
    case PART_LIST:
        if (walk_is_flat(w) || list_of_footnotes(w, element))
            return false;
        if (!entries_items(w, element))
            list(w, element);
        return true;
    case PART_ITEM: return item(w, element);
    case PART_TABLE: return tables_table(w, element);
    case PART_ROW: return tables_row(w, element);
    case PART_CELL: return tables_cell(w, element);
    case PART_CAPTION:
        if (w->in.kind != BLOCK_TABLE && !w->in.pairs)
            return false;
        walk_within(w, element, (struct context){.kind = BLOCK_PARAGRAPH});
        return true;
    case PART_TERMS:
        if (walk_is_flat(w))
            return false;
        if (holds_sections(element))
            walk_within(w, element, (struct context){.kind = BLOCK_PARAGRAPH});
        else if (!entries_list(w, element))
            walk_within(w, element,
                        (struct context){.kind = BLOCK_DEFINITION,
                                         .info = note_around(w)});
        return true;
    case PART_TERM: return blocks_term(w, element);
    case PART_MEANING: return blocks_meaning(w, element);
    case PART_BREAK: line_break(w, element); return true;
    default:
        return figures_element(w, element, rule) ||
               plain_block(w, element, rule);
    }
}
