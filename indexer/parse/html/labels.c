#include "indexer/parse/html/labels.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/rules.h"

/* A run: so many labels, with so many words each, on average, up to the next. */
enum { MIN_LABELS = 8, MIN_WORDS = 12, MIN_QUESTIONS = 3 };
enum {
    MAX_LABEL = 200,  /* bytes of a label */
    MAX_KINDS = 16,   /* that are counted on a page */
    MAX_LOOK = 32,    /* nodes of a label */
    MAX_ANCHORS = 8,  /* right above a label */
    MAX_LINKS = 1024, /* to places in the page */
    MIN_NAME = 2,     /* letters and digits of an anchor */
    MIN_ENDING = 5,   /* the same, where it is the end of a name */
    MAX_LETTERS = 4   /* before the number of a question: "q12" */
};

static const unsigned no_label = DOM_HOLDS_HEADING | DOM_HOLDS_TABLE |
                                 DOM_HOLDS_CODE | DOM_HOLDS_LIST |
                                 DOM_HOLDS_PARAGRAPH | DOM_HOLDS_INPUT;

static const char *class_of(const xmlNode *element)
{
    const char *class = dom_attribute(element, "class");
    return class ? class : "";
}

/* ---- An anchor called as the label is ---- */

static void keep_letters(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (isalnum(c) || c >= 0x80)
            buf_put_byte(out, (char)tolower(c));
    }
}

/* "enable_api_armor" of "SQLITE_ENABLE_API_ARMOR=<n>". */
static bool is_ending(struct slice name, struct slice label)
{
    struct buf head = {0};
    size_t end = 0;
    while (end < label.size && !strchr(" =(<[:,", label.data[end]))
        end++;
    keep_letters(&head, (struct slice){label.data, end});
    bool is = name.size >= MIN_ENDING && slice_ends(buf_slice(&head), name);
    buf_free(&head);
    return is;
}

/* "retries" and "4.2-retries" of "retries <value>". */
static bool resembles(const char *anchor, struct slice label)
{
    struct buf name = {0}, words = {0}, first = {0};
    size_t end = 0;
    while (end < label.size && label.data[end] != ' ')
        end++;
    keep_letters(&name, slice_of(anchor));
    keep_letters(&words, label);
    keep_letters(&first, (struct slice){label.data, end});
    bool is = name.size >= MIN_NAME && first.size >= MIN_NAME &&
              ((name.size <= words.size &&
                !memcmp(name.data, words.data, name.size)) ||
               (name.size > first.size &&
                slice_ends(buf_slice(&name), buf_slice(&first))) ||
               is_ending(buf_slice(&name), label));
    buf_free(&name);
    buf_free(&words);
    buf_free(&first);
    return is;
}

/* How a label and its anchor are compared. */
typedef bool comparing(const char *anchor, struct slice label);

/* "q12" of "(12) How do I ...?" */
static bool numbers(const char *anchor, struct slice label)
{
    size_t at = strcspn(label.data, "0123456789");
    size_t letters = strcspn(anchor, "0123456789");
    size_t digits = strspn(anchor + letters, "0123456789");
    return letters <= MAX_LETTERS && digits && !anchor[letters + digits] &&
           at <= 1 && label.size > at + digits &&
           !memcmp(label.data + at, anchor + letters, digits) &&
           strchr(").: ", label.data[at + digits]);
}

/* "pragma_foreign_keys" of "PRAGMA foreign_keys". */
static bool equals(const char *anchor, struct slice label)
{
    struct buf name = {0}, words = {0};
    keep_letters(&name, slice_of(anchor));
    keep_letters(&words, label);
    bool is = name.size >= MIN_NAME &&
              slice_equal(buf_slice(&name), buf_slice(&words));
    buf_free(&name);
    buf_free(&words);
    return is;
}

static bool is_called(const xmlNode *element, struct slice label,
                      comparing *compare)
{
    const char *id = dom_attribute(element, "id");
    const char *name =
        dom_tag(element) == GUMBO_TAG_A ? dom_attribute(element, "name") : NULL;
    return (id && compare(id, label)) || (name && compare(name, label));
}

static bool is_empty(const xmlNode *node)
{
    return dom_is_element(node) ? !dom_holds(node, DOM_HOLDS_TEXT)
                                : text_is_blank(dom_text(node)->text);
}

/* Among the empty anchors right above the label. */
static bool has_anchor_above(const xmlNode *element, struct slice label,
                             comparing *compare)
{
    int left = MAX_ANCHORS;
    for (const xmlNode *at = element->prev; at && left && is_empty(at);
         at = at->prev) {
        if (dom_is_element(at) && is_called(at, label, compare))
            return true;
        left -= dom_is_element(at);
    }
    return false;
}

/* The same, or in it. */
static bool has_anchor(const xmlNode *element, struct slice label,
                       comparing *compare)
{
    int left = MAX_LOOK;
    for (const xmlNode *at = element; at && left--;
         at = dom_next(at, element, false))
        if (dom_is_element(at) && is_called(at, label, compare))
            return true;
    return has_anchor_above(element, label, compare);
}

/* "int <a name=open>open</a>(file *f)": an anchor in it that is called as what it holds. */
static bool holds_named(const xmlNode *element)
{
    int left = MAX_LOOK;
    bool holds = false;
    for (const xmlNode *at = dom_next(element, element, false);
         at && left-- && !holds; at = dom_next(at, element, false))
        if (dom_tag(at) == GUMBO_TAG_A && dom_attribute(at, "name"))
            holds = labels_is_called(at, at);
    return holds;
}

/* ---- Links to places in the page ---- */

static struct buf label_text(const xmlNode *element);

static void add_link(struct labels *labels, const xmlNode *element)
{
    const char *url =
        dom_tag(element) == GUMBO_TAG_A ? dom_attribute(element, "href") : NULL;
    if (!url || url[0] != '#' || labels->link_count == MAX_LINKS)
        return;
    struct buf text = label_text(element);
    if (!text.size) {
        buf_free(&text);
        return;
    }
    MEM_RESERVE(labels->links, &labels->link_capacity, labels->link_count + 1);
    labels->links[labels->link_count++] = (struct label_link){url + 1, text};
}

/* "Oil" of "2.1. Oil:": contents number what they list, and the page may, or not. */
static struct slice without_number(struct slice text)
{
    size_t at = 0;
    while (at < text.size && (isdigit((unsigned char)text.data[at]) ||
                              (at && text.data[at] == '.')))
        at++;
    if (at && at + 1 < text.size && text.data[at] == ' ')
        text = (struct slice){text.data + at + 1, text.size - at - 1};
    if (text.size > 1 && text.data[text.size - 1] == ':')
        text.size--;
    return text;
}

static bool reads_as(const struct label_link *link, struct slice label)
{
    struct slice text = without_number(buf_slice(&link->text));
    label = without_number(label);
    return text.size == label.size &&
           !strncasecmp(text.data, label.data, label.size);
}

static bool is_linked_from(const struct labels *labels, const char *anchor,
                           struct slice label)
{
    for (size_t i = 0; i < labels->link_count; i++)
        if (!strcmp(labels->links[i].anchor, anchor) &&
            reads_as(&labels->links[i], label))
            return true;
    return false;
}

static bool leads_to(const struct labels *labels, const xmlNode *node,
                     struct slice label)
{
    static const char *const names[] = {"id", "name"};
    bool leads = false;
    for (int i = 0; dom_is_element(node) && i < 2; i++) {
        const char *anchor = dom_attribute(node, names[i]);
        leads |= anchor && is_linked_from(labels, anchor, label);
    }
    return leads;
}

/* Does the page link to an anchor of the label, or one right above it, in its words? */
static bool is_linked(const struct labels *labels, const xmlNode *element,
                      struct slice label)
{
    int left = MAX_LOOK;
    bool some = false, linked = false;
    for (size_t i = 0; i < labels->link_count && !some; i++)
        some = reads_as(&labels->links[i], label);
    if (!some)
        return false;
    linked = leads_to(labels, element->parent, label);
    for (const xmlNode *at = element; at && !linked && left--;
         at = dom_next(at, element, false))
        linked = leads_to(labels, at, label);
    for (const xmlNode *at = element->prev;
         at && !linked && left-- && is_empty(at); at = at->prev)
        linked = leads_to(labels, at, label);
    return linked;
}

/* ---- A label ---- */

/* The text of the element, of so many nodes and bytes, white space folded; empty: it has
 * more. */
static struct buf text_within(const xmlNode *element, int nodes, size_t bytes)
{
    struct buf raw = {0}, words = {0};
    for (const xmlNode *at = dom_next(element, element, false);
         at && nodes && raw.size <= bytes;
         at = dom_next(at, element, false), nodes--)
        if (!dom_is_element(at))
            buf_put_slice(&raw, dom_text(at)->text);
    if (nodes && raw.size <= bytes)
        text_fold_space(&words, buf_slice(&raw));
    buf_free(&raw);
    return words;
}

static struct buf label_text(const xmlNode *element)
{
    return text_within(element, MAX_LOOK, MAX_LABEL);
}

/* What no reader sees may still name what is below it (SQLite's pragmas). */
static bool is_hidden(const xmlNode *node)
{
    return dom_is_element(node) && dom_attribute(node, "style") &&
           rules_of(node).part == PART_SKIP;
}

/* DocBook's title of a table, a figure or an example names that, and not what follows. */
static bool is_caption(const xmlNode *node)
{
    return dom_tag(node) == GUMBO_TAG_P && classes_has(node, "title");
}

/* Is all of it bold? */
static bool is_bold(const xmlNode *element)
{
    const xmlNode *only = element->children;
    while (only && is_empty(only))
        only = only->next;
    const xmlNode *rest = only ? only->next : NULL;
    while (rest && is_empty(rest))
        rest = rest->next;
    int tag = only ? dom_tag(only) : GUMBO_TAG_LAST;
    return !rest && (tag == GUMBO_TAG_B || tag == GUMBO_TAG_STRONG);
}

static const xmlNode *behind_of(const xmlNode *node)
{
    const xmlNode *behind = node->next;
    while (behind && is_empty(behind) && dom_tag(behind) != GUMBO_TAG_BR)
        behind = behind->next;
    return behind;
}

/* "<b>fetch</b><code>pump.fetch(n)</code><br>": a name before how it is called. */
static bool is_before_signature(const xmlNode *name)
{
    const xmlNode *code = behind_of(name);
    const xmlNode *end =
        code && dom_tag(code) == GUMBO_TAG_CODE ? behind_of(code) : NULL;
    return end && dom_tag(end) == GUMBO_TAG_BR && dom_tag(name) != GUMBO_TAG_A;
}

/* Is the text before it at an end? */
static bool is_block(const xmlNode *node)
{
    switch (dom_tag(node)) {
    case GUMBO_TAG_P:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_PRE:
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_BLOCKQUOTE:
    case GUMBO_TAG_HR: return true;
    default: return false;
    }
}

/* "<b>Why does it leak?</b><br>Because ...", at the head of a paragraph, or all of it;
 * behind one, where the page's text is in none. */
static bool is_run_in(const xmlNode *node)
{
    int tag = dom_tag(node), above = dom_tag(node->parent);
    bool in_none = above == GUMBO_TAG_BODY || above == GUMBO_TAG_BLOCKQUOTE;
    if ((tag != GUMBO_TAG_A && tag != GUMBO_TAG_B && tag != GUMBO_TAG_STRONG) ||
        (above != GUMBO_TAG_P && above != GUMBO_TAG_DIV && !in_none) ||
        !dom_holds(node, DOM_HOLDS_TEXT) ||
        (tag == GUMBO_TAG_A && !is_bold(node)))
        return false;
    const xmlNode *before = node->prev, *behind = behind_of(node);
    while (before && is_empty(before) && dom_tag(before) != GUMBO_TAG_BR &&
           dom_tag(before) != GUMBO_TAG_HR)
        before = before->prev;
    if (in_none)
        return before && is_block(before) && behind &&
               dom_tag(behind) == GUMBO_TAG_BR;
    return !before && (!behind || dom_tag(behind) == GUMBO_TAG_BR ||
                       is_before_signature(node));
}

/* Its name is the label, not all of what it says. */
static bool names_a_signature(const xmlNode *node)
{
    const xmlNode *first = dom_element_from(node->children);
    return first && is_run_in(first) && is_before_signature(first);
}

/* Doxygen's numbered lines have an anchor each, and so has a listing of one. */
static bool is_line_of_code(const xmlNode *node)
{
    if (dom_tag(node) != GUMBO_TAG_DIV)
        return false;
    const xmlNode *first = dom_element_from(node->children);
    return (classes_has(node, "line") &&
            classes_has(node->parent, "fragment")) ||
           (classes_has(node, "fragment") && first &&
            dom_tag(first) == GUMBO_TAG_DIV && classes_has(first, "line"));
}

static bool may_be_label(const xmlNode *node)
{
    int tag = dom_tag(node);
    return (tag == GUMBO_TAG_DIV || tag == GUMBO_TAG_P || is_hidden(node)) &&
           dom_holds(node, DOM_HOLDS_TEXT) && !dom_holds(node, no_label) &&
           !is_caption(node) && !names_a_signature(node) &&
           !is_line_of_code(node);
}

/* "Q: How do I ...?", "Q12. Why ...?", "Question 3: ..." */
static bool is_question(struct slice label)
{
    static const char *const starts[] = {"Question", "Q"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (!slice_starts(label, slice_of(starts[i])))
            continue;
        const char *at = label.data + strlen(starts[i]);
        at += (*at == ' ' || *at == '.') && isdigit((unsigned char)at[1]);
        at += strspn(at, "0123456789");
        return strchr(":.)", *at) && at[0] && at[1] == ' ' &&
               label.data[label.size - 1] == '?';
    }
    return false;
}

enum label { NO_LABEL, NAMED, QUESTION };

static enum label label_of(const struct labels *labels, const xmlNode *node)
{
    bool run_in = is_run_in(node);
    if (!run_in && !may_be_label(node))
        return NO_LABEL;
    struct buf text = label_text(node);
    struct slice label = buf_slice(&text);
    bool named = false, question = false;
    if (text.size && run_in) {
        named = is_linked(labels, node, label);
    } else if (text.size && is_hidden(node)) {
        named = has_anchor_above(node, label, equals);
    } else if (text.size) {
        named = has_anchor(node, label, resembles) ||
                (is_bold(node) &&
                 (has_anchor(node, label, numbers) || holds_named(node)));
        question = !named && is_question(label);
    }
    buf_free(&text);
    return named ? NAMED : question ? QUESTION : NO_LABEL;
}

/* ---- A run of them ---- */

static struct label_kind *kind_of(const struct labels *labels,
                                  const xmlNode *element, bool question)
{
    const char *class = class_of(element);
    for (size_t i = 0; i < labels->count; i++) {
        struct label_kind *kind = &labels->kinds[i];
        if (kind->tag == dom_tag(element) && kind->question == question &&
            !strcmp(kind->class, class))
            return kind;
    }
    return NULL;
}

static void count_label(struct labels *labels, const xmlNode *element,
                        bool question, size_t words)
{
    struct label_kind *kind = kind_of(labels, element, question);
    if (!kind) {
        if (labels->count == MAX_KINDS)
            return;
        MEM_RESERVE(labels->kinds, &labels->capacity, labels->count + 1);
        kind = &labels->kinds[labels->count++];
        *kind = (struct label_kind){.tag = dom_tag(element),
                                    .class = class_of(element),
                                    .question = question,
                                    .first = words};
    }
    kind->count++;
    kind->last = words;
}

static size_t words_in(struct slice text)
{
    size_t words = 0;
    bool within = false;
    for (size_t i = 0; i < text.size; i++) {
        bool space = (unsigned char)text.data[i] <= ' ';
        words += !space && !within;
        within = !space;
    }
    return words;
}

static bool is_run(const struct label_kind *kind)
{
    return kind->count >= (kind->question ? MIN_QUESTIONS : MIN_LABELS) &&
           kind->last - kind->first >= MIN_WORDS * (kind->count - 1);
}

bool labels_is_called(const xmlNode *element, const xmlNode *holder)
{
    struct buf text = label_text(element);
    bool is = text.size && is_called(holder, buf_slice(&text), equals);
    buf_free(&text);
    return is;
}

/* "pressure" of "pressure <number>". */
static bool begins(const char *anchor, struct slice label)
{
    size_t end = 0;
    while (end < label.size && label.data[end] != ' ')
        end++;
    return equals(anchor, (struct slice){label.data, end});
}

bool labels_begins_as(const xmlNode *element, const xmlNode *anchor)
{
    struct buf text = label_text(element);
    bool is = text.size && is_called(anchor, buf_slice(&text), begins);
    buf_free(&text);
    return is;
}

bool labels_is_named(const xmlNode *element, const xmlNode *holder)
{
    enum { MAX_NODES = 96, MAX_BYTES = 1000 }; /* several names, a line each */
    struct buf text = text_within(element, MAX_NODES, MAX_BYTES);
    bool is = text.size && (has_anchor(element, buf_slice(&text), resembles) ||
                            is_called(holder, buf_slice(&text), resembles));
    buf_free(&text);
    return is;
}

struct labels labels_find(const struct dom *dom)
{
    struct labels labels = {0};
    const xmlNode *top = (const xmlNode *)dom->doc;
    size_t words = 0, runs = 0;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false))
        if (dom_is_element(at))
            add_link(&labels, at);
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false)) {
        enum label label =
            dom_is_element(at) ? label_of(&labels, at) : NO_LABEL;
        if (!dom_is_element(at))
            words += words_in(dom_text(at)->text);
        else if (label != NO_LABEL)
            count_label(&labels, at, label == QUESTION, words);
    }
    for (size_t i = 0; i < labels.count; i++)
        if (is_run(&labels.kinds[i]))
            labels.kinds[runs++] = labels.kinds[i];
    labels.count = runs;
    return labels;
}

void labels_free(struct labels *labels)
{
    for (size_t i = 0; i < labels->link_count; i++)
        buf_free(&labels->links[i].text);
    free(labels->links);
    free(labels->kinds);
    *labels = (struct labels){0};
}

bool labels_has(const struct labels *labels, const xmlNode *element)
{
    enum label label = labels->count ? label_of(labels, element) : NO_LABEL;
    return label != NO_LABEL && kind_of(labels, element, label == QUESTION);
}

const xmlNode *labels_next(const struct labels *labels, const xmlNode *label)
{
    const xmlNode *next = label->next;
    while (next && is_empty(next))
        next = next->next;
    return next && labels_has(labels, next) ? next : NULL;
}
