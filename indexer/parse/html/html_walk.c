#include "indexer/parse/html/html_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/contents.h"
#include "indexer/parse/html/makers.h"
#include "indexer/parse/html/reference.h"
#include "indexer/parse/html/superscripts.h"
#include "indexer/parse/outline/exponents.h"

enum { MAX_LINK_TEXT = 500, MAX_LABEL = 64, MAX_LOOKAHEAD = 8 };

/* ---- Blocks in general ---- */

void walk_flush(struct walk *w)
{
    struct slice text;
    struct span span;
    bool taken = writer_take(&w->writer, &text, &span);
    if (taken) {
        outline_block(w->outline, w->in.kind, text, w->in.info, span);
        w->in.labelled = true;
    }
    if (w->image_count)
        figures_flush(w, taken);
}

void walk_boundary(struct walk *w)
{
    switch (w->in.kind) {
    case BLOCK_DEFINITION:
        if (w->in.meaning)
            writer_line(&w->writer, 2, "");
        else
            writer_space(&w->writer);
        break;
    case BLOCK_FIGURE: writer_line(&w->writer, 0, ""); break;
    case BLOCK_LIST:
    case BLOCK_TABLE:
    case BLOCK_CODE:
    case IN_TITLE: writer_space(&w->writer); break;
    default:
        if (!w->writer.space || !footnotes_is_mark(w))
            walk_flush(w);
    }
}

bool walk_space_follows(const struct walk *w, const xmlNode *element)
{
    const xmlNode *top = (const xmlNode *)w->dom->doc;
    const xmlNode *next = dom_next(element, top, true);
    for (int i = 0; i < MAX_LOOKAHEAD && next && dom_is_element(next); i++)
        next = dom_next(next, top, false);
    struct slice text = {"", 0};
    if (next && !dom_is_element(next))
        text = dom_text(next)->text;
    return !text.size || text_space(text.data, text.size, 0);
}

void walk_within(struct walk *w, const xmlNode *node, struct context inner)
{
    walk_flush(w);
    struct context outer = w->in;
    struct separator next = w->writer.next;
    w->in = inner;
    w->writer.next = (struct separator){0};
    w->writer.exact = inner.kind == BLOCK_CODE;
    walk_children(w, node);
    walk_flush(w);
    w->in = outer;
    w->writer.exact = outer.kind == BLOCK_CODE;
    w->writer.next = next;
    if (outer.kind == BLOCK_DEFINITION && outer.meaning)
        walk_boundary(w);
}

/* At most `most` bytes, of whole characters. */
static struct slice cut(struct slice text, size_t max)
{
    if (text.size <= max)
        return text;
    while (max && (text.data[max] & 0xC0) == 0x80)
        max--;
    return (struct slice){text.data, max};
}

struct buf walk_words(const xmlNode *element, size_t max)
{
    struct buf raw = {0}, words = {0};
    size_t steps = 2 * max;
    for (const xmlNode *at = dom_next(element, element, false);
         at && raw.size < max && steps; at = dom_next(at, element, false)) {
        steps--;
        if (!dom_is_element(at)) {
            buf_put_slice(&raw, cut(dom_text(at)->text, max - raw.size));
        } else if (rules_of(at).part != PART_INLINE) {
            buf_put_byte(&raw, ' ');
        }
    }
    text_fold_space(&words, buf_slice(&raw));
    buf_free(&raw);
    return words;
}

/* ---- Headings and sections ---- */

static bool walk_title_until(struct walk *w, const xmlNode *heading,
                             const xmlNode *end, struct slice *ret_title,
                             struct span *ret_span)
{
    walk_flush(w);
    struct context outer = w->in;
    struct separator next = w->writer.next;
    w->in = (struct context){.kind = IN_TITLE};
    w->writer.next = (struct separator){0};
    w->writer.exact = false;
    w->end = end;
    walk_children(w, heading);
    w->end = NULL;
    w->ended = false;
    bool found = writer_take(&w->writer, ret_title, ret_span);
    w->in = outer;
    w->writer.next = next;
    w->writer.exact = outer.kind == BLOCK_CODE;
    return found;
}

bool walk_title(struct walk *w, const xmlNode *heading, struct slice *ret_title,
                struct span *ret_span)
{
    return walk_title_until(w, heading, NULL, ret_title, ret_span);
}

/* What no title holds; `open`: nor one whose end tag was forgotten. */
static bool ends_title(const xmlNode *element, bool open)
{
    switch (rules_of(element).part) {
    case PART_LIST:
    case PART_TABLE:
    case PART_TERMS:
    case PART_CODE:
    case PART_QUOTE: return true;
    case PART_BLOCK: return open || dom_tag(element) == GUMBO_TAG_P;
    case PART_SECTION:
    case PART_HEADING:
    case PART_NOTE:
    case PART_FOOTNOTES:
    case PART_FIGURE:
    case PART_BREAK: return open;
    default: return false;
    }
}

/* Where the text begins that a heading holds because its end tag was forgotten,
 * or was put behind all of it: any block behind words, or else a paragraph, list,
 * table or code right in it.  NULL: it holds none. */
static const xmlNode *find_swallowed(const xmlNode *heading)
{
    bool open = dom_element(heading)->open, words = false, skip = false;
    for (const xmlNode *at = dom_next(heading, heading, false); at;
         at = dom_next(at, heading, skip)) {
        skip = false;
        if (!dom_is_element(at)) {
            words = words || !text_is_blank(dom_text(at)->text);
            continue;
        }
        if (words && (open || at->parent == heading) && ends_title(at, open))
            return at;
        skip = rules_of(at).part == PART_SKIP;
    }
    return NULL;
}

/* What stands from `from` on to the heading's end. */
static void walk_rest(struct walk *w, const xmlNode *heading,
                      const xmlNode *from)
{
    for (const xmlNode *at = from; at; at = at->next)
        walk_node(w, at);
    for (const xmlNode *up = from->parent; up != heading; up = up->parent)
        for (const xmlNode *at = up->next; at; at = at->next)
            walk_node(w, at);
}

/* Texinfo prints the manual's title, then what its first node is called: mostly
 * the same once more. */
static bool walk_first_node(struct walk *w, const xmlNode *heading)
{
    if (!w->titled || w->outline->count != 1 || !classes_has(heading, "top"))
        return false;
    struct slice title;
    struct span span;
    if (!walk_title(w, heading, &title, &span))
        return true;
    if (outline_same_title(title, w->outline->nodes[0].title))
        boilerplate_keep(w, heading, "header");
    else
        outline_block(w->outline, BLOCK_PARAGRAPH, title, (struct slice){"", 0},
                      span);
    return true;
}

/* Nothing is below a table of contents that the page prints.  From first_ref on links are
 * those of the heading that follows. */
static void leave_contents(struct walk *w, size_t first_ref)
{
    struct slice title = outline_title(w->outline);
    bool links;
    if (contents_is_title(title, true) &&
        outline_is_links(w->outline, first_ref, &links) &&
        contents_is_title(title, links))
        outline_leave(w->outline);
}

static void walk_heading(struct walk *w, const xmlNode *element,
                         const struct rule *rule)
{
    size_t first_ref = w->outline->ref_count;
    struct slice title;
    struct span span;
    const xmlNode *swallowed =
        rule->part == PART_HEADING ? find_swallowed(element) : NULL;
    if (!walk_title_until(w, element, swallowed, &title, &span))
        return;
    title = makers_title(element, title);
    w->facts->letters += text_is_one(title);
    manpages_heading(w, element);
    w->titled |= classes_has(element, "settitle");
    const char *id = dom_attribute(element, "id");
    bool entry = reference_is_heading(element);
    int level =
        rule->part == PART_HEADING ? rules_level(element) : TREE_LEVEL_ENTRY;
    if (rule->part == PART_HEADING && !entry)
        level = numbers_level(&w->numbers, &w->dom->arena, level, title);
    leave_contents(w, first_ref);
    bool whole = outline_heading(w->outline, level, entry, title,
                                 id ? slice_of(id) : (struct slice){"", 0},
                                 span, first_ref);
    if (entry && dom_tag(element) == GUMBO_TAG_PRE)
        walk_within(w, element, (struct context){.kind = BLOCK_CODE});
    else if (!whole)
        outline_block(w->outline, BLOCK_DEFINITION, title,
                      (struct slice){"", 0}, span);
    if (swallowed)
        walk_rest(w, element, swallowed);
}

/* DocBook prints "Name" above the names of a reference page and what it is for, where
 * it prints no title: the line itself, or NULL. */
static const xmlNode *find_names(const struct walk *w, const xmlNode *heading)
{
    if (!classes_has(heading->parent, "refnamediv") ||
        classes_has(heading, "refname") || /* Scilab's are the name */
        outline_is_titled(w->outline))
        return NULL;
    for (const xmlNode *at = dom_next(heading, heading, false); at;
         at = dom_next(at, heading, false))
        if (dom_is_element(at) && classes_has(at, "refentrytitle"))
            return NULL;
    const xmlNode *line = heading->next;
    while (line && !dom_is_element(line))
        line = line->next;
    return line && dom_tag(line) == GUMBO_TAG_P ? line : NULL;
}

/* "fopen, fdopen" of "fopen, fdopen — stream open functions". */
static struct slice names_of(struct slice line)
{
    static const char *const dashes[] = {" — ", " – ", " -- ", " - "};
    for (size_t i = 0; i < sizeof dashes / sizeof dashes[0]; i++) {
        const char *end =
            memmem(line.data, line.size, dashes[i], strlen(dashes[i]));
        if (end)
            line.size = (size_t)(end - line.data);
    }
    return line;
}

/* The line of names in the head of a manual page that AsciiDoc made. */
static const xmlNode *line_below(const xmlNode *heading)
{
    const xmlNode *name = dom_tag(heading) == GUMBO_TAG_H1 &&
                                  dom_has_id(heading->parent, "header")
                              ? dom_element_from(heading->next)
                              : NULL;
    const xmlNode *box = name && dom_tag(name) == GUMBO_TAG_H2
                             ? dom_element_from(name->next)
                             : NULL;
    const xmlNode *line = box && classes_has(box, "sectionbody")
                              ? dom_element_from(box->children)
                              : NULL;
    return line && dom_tag(line) == GUMBO_TAG_P ? line : NULL;
}

/* Whatever the case: titles of manual pages are in capitals, too. */
static bool has_word(struct slice text, struct slice word)
{
    for (size_t i = 0; i + word.size <= text.size; i++)
        if (!strncasecmp(text.data + i, word.data, word.size))
            return true;
    return false;
}

/* "libpump(3) Manual Page" above all the functions of a library, each of which has a page:
 * the line of names where it has others, or NULL. */
static const xmlNode *find_other_names(const xmlNode *heading)
{
    static const char says[] = ") Manual Page";
    const xmlNode *line = line_below(heading);
    if (!line)
        return NULL;
    struct buf title = walk_words(heading, MAX_LINK_TEXT);
    struct buf words = walk_words(line, MAX_LINK_TEXT);
    struct slice names = names_of(buf_slice(&words));
    const char *open = title.size ? memchr(title.data, '(', title.size) : NULL;
    size_t size = open ? (size_t)(open - title.data) : 0;
    bool other = size && slice_ends(buf_slice(&title), slice_of(says)) &&
                 names.size < words.size &&
                 !has_word(names, (struct slice){title.data, size});
    buf_free(&title);
    buf_free(&words);
    return other ? line : NULL;
}

/* The line is read once more as text of the page. */
static bool walk_names(struct walk *w, const xmlNode *heading)
{
    size_t first_ref = w->outline->ref_count;
    const xmlNode *line = find_names(w, heading);
    line = line ? line : find_other_names(heading);
    struct slice title;
    struct span span;
    if (!line || !walk_title(w, line, &title, &span))
        return false;
    outline_heading(w->outline, rules_level(heading), false, names_of(title),
                    (struct slice){"", 0}, span, first_ref);
    boilerplate_keep(w, heading, "label");
    return true;
}

static void walk_section(struct walk *w, const xmlNode *element,
                         const struct rule *rule)
{
    const char *id = dom_attribute(element, "id");
    struct context inner = {.kind = BLOCK_PARAGRAPH};
    if (w->in.kind == BLOCK_NOTE || w->in.kind == BLOCK_QUOTE)
        inner = w->in;
    walk_flush(w);
    outline_open(w->outline, rule->strict,
                 id ? slice_of(id) : (struct slice){"", 0});
    walk_within(w, element, inner);
    outline_close(w->outline);
}

/* ---- Inline ---- */

static void walk_link(struct walk *w, const xmlNode *element)
{
    const char *url = dom_attribute(element, "href");
    uint64_t before = w->writer.written;
    size_t index = w->outline->ref_count;
    if (url) {
        struct buf words = walk_words(element, MAX_LINK_TEXT);
        outline_ref(w->outline, buf_slice(&words), slice_of(url));
        buf_free(&words);
    }
    walk_children(w, element);
    if (!url)
        return;
    w->facts->linked += w->writer.written - before;
    w->facts->index_parts += classes_has(element, "index"); /* stex */
    w->facts->letters += text_is_one(w->outline->refs[index].text);
}

/* Is it there to write into, of a form, as what searches a site is? */
static bool is_field(const xmlNode *element)
{
    const char *type = dom_attribute(element, "type");
    const xmlNode *around = element->parent;
    if (dom_tag(element) != GUMBO_TAG_INPUT ||
        (type && strcasecmp(type, "text") && strcasecmp(type, "search")))
        return false;
    while (dom_is_element(around) && dom_tag(around) != GUMBO_TAG_FORM)
        around = around->parent;
    return dom_is_element(around);
}

void walk_anchors(struct walk *w, const xmlNode *element)
{
    const char *id = dom_attribute(element, "id");
    if (id)
        outline_anchor(w->outline, slice_of(id));
    const char *name = NULL;
    if (dom_tag(element) == GUMBO_TAG_A)
        name = dom_attribute(element, "name");
    if (name && (!id || strcmp(id, name)))
        outline_anchor(w->outline, slice_of(name));
    if (is_field(element))
        outline_settle(w->outline); /* no heading's below */
}

/* The tree builder leaves markup in <noframes> as it is. */
static void walk_noframes(struct walk *w, const xmlNode *element)
{
    struct buf buf = {0};
    for (const xmlNode *at = element->children; at; at = at->next) {
        struct dom_text text = *dom_text(at);
        text.mode = TEXT_MARKUP;
        text.plain = false;
        buf_clear(&buf);
        lexer_text(&w->dom->source, text.from, text.to, text.mode, &buf);
        text.text = buf_slice(&buf);
        writer_text(&w->writer, &text);
    }
    buf_free(&buf);
}

/* ---- Elements ---- */

bool walk_note_label(struct walk *w, struct slice text)
{
    const char *kind = classes_label(text);
    if (kind && slice_is(w->in.info, "note"))
        w->in.info = slice_of(kind);
    return kind != NULL;
}

/* "Note" above or before the text of a note. */
static bool is_label(struct walk *w, const xmlNode *element, enum part part)
{
    if (w->in.footnotes)
        return footnotes_is_label(w, element, part);
    if (w->in.kind != BLOCK_NOTE || w->in.labelled)
        return false;
    if (part != PART_BLOCK && part != PART_HEADING && part != PART_CELL &&
        part != PART_TERM && part != PART_CAPTION)
        return false;
    struct buf words = walk_words(element, MAX_LABEL);
    bool label = words.size && walk_note_label(w, buf_slice(&words));
    buf_free(&words);
    return label;
}

/* What is not read: a permalink may still be where its id leads, and what a
 * block reads stands in the file word for word, so none goes on past a text
 * that is left out, unless it is passed over in the file, too. */
static void walk_skipped(struct walk *w, const xmlNode *element,
                         const char *why)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_A && element->properties)
        walk_anchors(w, element);
    bool code = tag == GUMBO_TAG_SCRIPT || tag == GUMBO_TAG_STYLE;
    if (!code && walk_is_prose(w) && w->writer.open &&
        dom_holds(element, DOM_HOLDS_TEXT) &&
        !rules_are_passed(&w->dom->source, element))
        walk_flush(w);
    boilerplate_keep(w, element, why);
}

/* A section keeps its heading; Sphinx calls its tables of modules and routes so, too,
 * which say what these are. */
static bool is_index_part(const xmlNode *element, const struct rule *rule)
{
    return rule->part != PART_SECTION && !classes_has(element, "indextable");
}

/* What an index says is read apart (index_entries.h); links may lead into it. */
static void walk_index(struct walk *w, const xmlNode *element)
{
    walk_skipped(w, element, "index");
    for (const xmlNode *at = element; at; at = dom_next(at, element, false))
        if (dom_is_element(at) && at->properties)
            walk_anchors(w, at);
}

static bool is_entry(const struct walk *w, const xmlNode *element)
{
    return reference_is_heading(element) ||
           (w->in.kind == BLOCK_PARAGRAPH && labels_has(&w->labels, element));
}

static void walk_raised(struct walk *w, const xmlNode *sup)
{
    if (!w->writer.exact && superscripts_are_fraction(&w->writer, sup))
        writer_space(&w->writer);
    else if (superscripts_raise(&w->writer, sup))
        exponents_begin(&w->writer);
}

/* What stands from the element on beside it is not read. */
static void walk_end(struct walk *w, const xmlNode *element)
{
    for (const xmlNode *at = element; at; at = at->next)
        if (dom_is_element(at))
            boilerplate_keep(w, at, "footer");
    w->read = element->parent->last;
}

static void walk_element(struct walk *w, const xmlNode *element)
{
    struct rule rule = rules_of(element);
    if (rule.part == PART_SKIP && !is_entry(w, element)) {
        walk_skipped(w, element, rule.why);
        return;
    }
    if (w->in.kind != IN_TITLE && makers_is_end(element)) {
        walk_end(w, element);
        return;
    }
    w->facts->index_parts += rule.index;
    if (rule.index && is_index_part(element, &rule)) {
        walk_index(w, element);
        return;
    }
    if (rule.part == PART_FOOTNOTES && footnotes_read(w, element))
        return;
    if (w->in.footnotes)
        footnotes_enter(w, element, rule.part);
    if (element->properties)
        walk_anchors(w, element);
    if (is_label(w, element, rule.part)) {
        w->in.labelled = true;
        boilerplate_keep(w, element, "label");
        return;
    }
    bool flat = w->in.kind == IN_TITLE || w->in.kind == BLOCK_NOTE;
    bool heading = rule.part == PART_HEADING || reference_is_heading(element);
    if (heading && !flat) {
        if (!walk_names(w, element) && !walk_first_node(w, element))
            walk_heading(w, element, &rule);
    } else if (entries_label(w, element) || manpages_element(w, element)) {
        return;
    } else if (rule.part == PART_SECTION && w->in.kind != IN_TITLE) {
        walk_section(w, element, &rule);
    } else if (dom_tag(element) == GUMBO_TAG_A) {
        walk_link(w, element);
    } else if (rule.part == PART_LINE) {
        if (dom_element(element)->line == DOM_LINE_ON)
            writer_space(&w->writer);
        else
            walk_boundary(w);
        walk_children(w, element);
    } else if (rule.part == PART_NOFRAMES) {
        walk_boundary(w);
        walk_noframes(w, element);
        walk_boundary(w);
    } else if (rule.part == PART_INLINE) {
        if (dom_tag(element) == GUMBO_TAG_SUP)
            walk_raised(w, element);
        walk_children(w, element);
    } else if (!entries_box(w, element) && !blocks_element(w, element, &rule)) {
        walk_boundary(w);
        walk_children(w, element);
        if (!footnotes_is_mark(w) || !walk_space_follows(w, element))
            walk_boundary(w);
    }
}

void walk_node(struct walk *w, const xmlNode *node)
{
    w->ended = w->ended || (w->end && node == w->end);
    if (w->ended)
        return;
    if (w->read) {
        w->read = node == w->read ? NULL : w->read;
        return;
    }
    if (dom_is_element(node))
        walk_element(w, node);
    else if (w->ruled.on && dom_tag(node->parent) == GUMBO_TAG_PRE)
        ruled_text(w, node);
    else
        writer_text(&w->writer, dom_text(node));
}

void walk_children(struct walk *w, const xmlNode *node)
{
    for (const xmlNode *child = node->children; child; child = child->next)
        walk_node(w, child);
}

void walk_page(struct dom *dom, struct outline *outline,
               struct page_facts *facts)
{
    struct walk w = {.dom = dom,
                     .outline = outline,
                     .facts = facts,
                     .labels = labels_find(dom)};
    w.writer.dom = dom;
    w.in.kind = BLOCK_PARAGRAPH;
    w.in.info = (struct slice){"", 0};
    walk_children(&w, (const xmlNode *)dom->doc);
    walk_flush(&w);
    facts->text = w.writer.written;
    if (outline->count)
        facts->first_heading = outline->nodes[0].title;
    free(w.images);
    labels_free(&w.labels);
    buf_free(&w.writer.text);
}
