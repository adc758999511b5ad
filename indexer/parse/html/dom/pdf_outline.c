#include "indexer/parse/html/dom/pdf_outline.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/dom/dom_build.h"
#include "indexer/parse/html/dom/pdf_internal.h"

enum {
    MAX_ITEMS = 20000,
    MAX_LINE = 400, /* bytes of a heading */
    AHEAD = 16,     /* items that may stand nowhere, in a row */
    MAX_EDGES = 6000
};

/* But rules. */
static const xmlNode *last_element(const xmlNode *node)
{
    const xmlNode *last = node->last;
    while (last && (!dom_is_element(last) || dom_tag(last) == GUMBO_TAG_HR))
        last = last->prev;
    return last;
}

/* <a name="outline"></a><h1>Document Outline</h1><ul>, and a rule; or NULL. */
static const xmlNode *find_outline(const xmlNode *body)
{
    const xmlNode *list = last_element(body);
    const xmlNode *heading =
        list && dom_tag(list) == GUMBO_TAG_UL ? dom_element_before(list) : NULL;
    const xmlNode *anchor = heading && dom_tag(heading) == GUMBO_TAG_H1
                                ? dom_element_before(heading)
                                : NULL;
    const char *name = anchor && dom_tag(anchor) == GUMBO_TAG_A
                           ? dom_attribute(anchor, "name")
                           : NULL;
    return name && !strcmp(name, "outline") ? list : NULL;
}

struct slice pdf_words(struct pdf *pdf, const xmlNode *element)
{
    buf_clear(&pdf->raw);
    buf_clear(&pdf->folded);
    for (const xmlNode *at = dom_next(element, element, false);
         at && pdf->raw.size <= MAX_LINE; at = dom_next(at, element, false))
        if (!dom_is_element(at))
            buf_put_slice(&pdf->raw, dom_text(at)->text);
    if (pdf->raw.size <= MAX_LINE)
        text_fold_compare(&pdf->folded, buf_slice(&pdf->raw));
    return buf_slice(&pdf->folded);
}

static int level_in(const xmlNode *link, const xmlNode *list)
{
    int level = 1;
    for (const xmlNode *at = link->parent; at != list; at = at->parent)
        level += dom_tag(at) == GUMBO_TAG_UL;
    return level < PDF_MAX_LEVEL ? level : PDF_MAX_LEVEL;
}

/* The number of the printed page, "3" of pdftohtml, "pf1a" of pdf2htmlEX; 0: it leads
 * to none. */
static uint32_t page_of(const char *name)
{
    bool hex = !strncmp(name, "pf", 2);
    const char *number = name + (hex ? 2 : 0);
    const char *digits = hex ? "0123456789abcdef" : "0123456789";
    bool is = *number && !number[strspn(number, digits)];
    return is ? (uint32_t)strtoul(number, NULL, hex ? 16 : 10) : 0;
}

void pdf_read_items(struct pdf *pdf, const xmlNode *list)
{
    for (const xmlNode *at = dom_next(list, list, false);
         at && pdf->count < MAX_ITEMS; at = dom_next(at, list, false)) {
        const char *url =
            dom_tag(at) == GUMBO_TAG_A ? dom_attribute(at, "href") : NULL;
        const char *fragment = url ? strrchr(url, '#') : NULL;
        uint32_t page = fragment ? page_of(fragment + 1) : 0;
        struct slice title = page ? pdf_words(pdf, at) : slice_of("");
        if (!title.size)
            continue;
        MEM_RESERVE(pdf->items, &pdf->capacity, pdf->count + 1);
        pdf->items[pdf->count++] = (struct item){
            {arena_copy(&pdf->dom->arena, title.data, title.size), title.size},
            page,
            level_in(at, list)};
    }
}

/* "1 2", "a 1", "chapter 3" before a title: words of a letter or two, digits, or such. */
static bool is_number(struct slice words)
{
    static const char *const kinds[] = {"appendix", "chapter", "part",
                                        "section"};
    bool is = words.size > 0;
    for (size_t at = 0, end; is && at < words.size; at = end + 1) {
        for (end = at; end < words.size && words.data[end] != ' ';)
            end++;
        struct slice word = {words.data + at, end - at};
        is = word.size < 3 || strspn(word.data, "0123456789ivx") >= word.size;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !is; i++)
            is = slice_is(word, kinds[i]);
    }
    return is;
}

/* A number that the outline leaves out stands before the title, or none. */
static bool reads(struct slice line, struct slice title)
{
    if (line.size < title.size ||
        memcmp(line.data + line.size - title.size, title.data, title.size))
        return false;
    size_t before = line.size - title.size;
    return !before || (line.data[before - 1] == ' ' &&
                       is_number((struct slice){line.data, before - 1}));
}

void pdf_mark_line(struct pdf *pdf, const xmlNode *line)
{
    struct slice words = pdf_words(pdf, line);
    size_t end =
        pdf->next + AHEAD < pdf->count ? pdf->next + AHEAD : pdf->count;
    for (size_t i = pdf->next; words.size && i < end; i++) {
        if (pdf->items[i].page != pdf->page ||
            !reads(words, pdf->items[i].title))
            continue;
        ((struct dom_element *)line->_private)->heading = pdf->items[i].level;
        pdf->next = i + 1;
        pdf->found = true;
        return;
    }
}

/* A line is a paragraph that has its place on the printed page, or else ends with <br>. */
static bool is_line(const xmlNode *element, const xmlNode *body)
{
    int tag = dom_tag(element);
    return tag == GUMBO_TAG_P ||
           (tag == GUMBO_TAG_B && element->parent == body);
}

void pdf_enter_page(struct pdf *pdf, uint32_t page)
{
    pdf->page = page;
    while (pdf->next < pdf->count && pdf->items[pdf->next].page < pdf->page)
        pdf->next++;
}

static void read_page(struct pdf *pdf, const xmlNode *anchor)
{
    const char *name = dom_attribute(anchor, "name");
    uint32_t page = name ? page_of(name) : 0;
    if (page)
        pdf_enter_page(pdf, page);
}

/* ---- What a printer has at the edges of each page ---- */

static bool is_printed_page(const xmlNode *box)
{
    const char *id =
        dom_tag(box) == GUMBO_TAG_DIV ? dom_attribute(box, "id") : NULL;
    return id && !strncmp(id, "page", 4) && strstr(id, "-div");
}

void pdf_add_edge(struct pdf *pdf, struct edges *edges, size_t page,
                  const xmlNode *line)
{
    if (edges->count >= MAX_EDGES)
        return;
    struct slice words = pdf_words(pdf, line);
    if (!words.size)
        return;
    char *text = arena_alloc(&pdf->dom->arena, words.size + 1);
    size_t size = 0;
    for (size_t i = 0; i < words.size; i++)
        if (!text_is_digit((unsigned char)words.data[i]) &&
            words.data[i] != ' ')
            text[size++] = words.data[i];
    MEM_RESERVE(edges->lines, &edges->capacity, edges->count + 1);
    edges->lines[edges->count++] = (struct edge){line, {text, size}, page};
}

static void add_edge(struct edges *edges, struct pdf *pdf, const xmlNode *line)
{
    if (line && dom_tag(line) == GUMBO_TAG_P && !dom_element(line)->heading)
        pdf_add_edge(pdf, edges, edges->pages, line);
}

/* The first two lines and the last. */
static void read_edges(struct edges *edges, struct pdf *pdf, const xmlNode *box)
{
    const xmlNode *first = dom_element_from(box->children);
    const xmlNode *second = first ? dom_element_from(first->next) : NULL;
    const xmlNode *last = last_element(box);
    edges->pages++;
    add_edge(edges, pdf, first);
    add_edge(edges, pdf, second);
    if (last != first && last != second)
        add_edge(edges, pdf, last);
}

/* How many pages have a line there that reads so, and among them those before that of
 * the `nth`. */
static size_t pages_with(const struct edges *edges, size_t nth,
                         size_t *ret_before)
{
    const struct edge *sought = &edges->lines[nth];
    size_t pages = 0, last = 0;
    for (size_t i = 0; i < edges->count; i++) {
        const struct edge *edge = &edges->lines[i];
        if (i == nth)
            *ret_before = pages;
        if (edge->page == last || !slice_equal(edge->text, sought->text))
            continue;
        last = edge->page;
        pages++;
    }
    return pages;
}

void pdf_hide_edges(struct edges *edges)
{
    enum { MIN_PAGES = 3 };
    for (size_t i = 0; edges->pages >= MIN_PAGES && i < edges->count; i++) {
        size_t before = 0, same = pages_with(edges, i, &before);
        if (2 * same > edges->pages &&
            (before || !dom_element(edges->lines[i].line)->heading))
            build_hide(edges->lines[i].line);
    }
    free(edges->lines);
}

static void hide_edges(struct pdf *pdf, const xmlNode *body)
{
    struct edges edges = {0};
    for (const xmlNode *at = body->children; at; at = at->next)
        if (dom_is_element(at) && is_printed_page(at))
            read_edges(&edges, pdf, at);
    pdf_hide_edges(&edges);
}

void pdf_outline_mark(struct dom *dom)
{
    const xmlNode *top = (const xmlNode *)dom->doc, *body = top->children;
    while (body && dom_tag(body) != GUMBO_TAG_BODY)
        body = dom_next(body, top, dom_tag(body) == GUMBO_TAG_HEAD);
    const xmlNode *list = body ? find_outline(body) : NULL;
    if (!list)
        return;
    struct pdf pdf = {.dom = dom};
    pdf_read_items(&pdf, list);
    for (const xmlNode *at = dom_next(body, body, false); at != list;
         at = dom_next(at, body, false)) {
        if (dom_tag(at) == GUMBO_TAG_A)
            read_page(&pdf, at);
        else if (dom_is_element(at) && is_line(at, body))
            pdf_mark_line(&pdf, at);
    }
    hide_edges(&pdf, body);
    if (pdf.found) {
        build_hide(dom_element_before(list));
        build_hide(list);
    }
    pdf_free(&pdf);
}

void pdf_free(struct pdf *pdf)
{
    free(pdf->items);
    buf_free(&pdf->raw);
    buf_free(&pdf->folded);
}
