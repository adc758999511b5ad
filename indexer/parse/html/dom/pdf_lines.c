#include "indexer/parse/html/dom/pdf_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/dom/dom_build.h"
#include "indexer/parse/html/dom/pdf_internal.h"

enum { MAX_STYLES = 1 << 16, MAX_GAPS = 4096, NO_STYLE = UINT32_MAX };

/* What the sheet says of each class of one kind: "fs1a" is at [0x1a]; 0: nothing. */
struct styles {
    double *values; /* [count] */
    size_t count, capacity;
};

struct line {
    const xmlNode *element;
    uint32_t page;
    uint32_t x, size; /* the numbers of its classes */
    double bottom;    /* on the page */
    size_t bytes;     /* of its text; 0: it is blank */
};

struct lines {
    struct pdf pdf;
    struct styles sizes, bottoms;
    struct line *lines; /* [count] */
    size_t count, capacity;
    uint32_t pages;
    double body; /* the size of most of the text; 0: unknown */
    double gap;  /* between most of its lines */
};

/* ---- Sheets ---- */

/* The number behind `prefix`, if nothing but that is there. */
static uint32_t number_of(struct slice name, const char *prefix)
{
    size_t size = strlen(prefix);
    if (name.size <= size || name.size > size + 4 ||
        memcmp(name.data, prefix, size))
        return NO_STYLE;
    uint32_t number = 0;
    for (size_t i = size; i < name.size; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = strchr(digits, name.data[i]);
        if (!digit || !*digit)
            return NO_STYLE;
        number = 16 * number + (uint32_t)(digit - digits);
    }
    return number;
}

/* ".fs1a{font-size:44.16px;}": the first counts, those for a printer come later. */
static void read_style(struct styles *styles, struct slice rule,
                       const char *prefix, const char *property)
{
    const char *open = memchr(rule.data, '{', rule.size);
    size_t head = open ? (size_t)(open - rule.data) : 0;
    uint32_t number = number_of((struct slice){rule.data, head}, prefix);
    size_t size = strlen(property);
    if (number >= MAX_STYLES || rule.size - head - 1 <= size ||
        memcmp(open + 1, property, size))
        return;
    char value[32] = "";
    for (size_t i = 0, at = head + 1 + size;
         at < rule.size && i + 1 < sizeof value; i++, at++)
        value[i] = rule.data[at];
    while (styles->count <= number) {
        MEM_RESERVE(styles->values, &styles->capacity, styles->count + 1);
        styles->values[styles->count++] = 0;
    }
    if (styles->values[number] == 0)
        styles->values[number] = strtod(value, NULL);
}

static void read_sheet(struct lines *l, struct slice text)
{
    const char *end = text.data + text.size;
    for (const char *at = text.data;
         (at = memchr(at, '.', (size_t)(end - at))) != NULL;) {
        enum { MAX_RULE = 64 };
        at++;
        size_t size = (size_t)(end - at);
        struct slice rule = {at, size < MAX_RULE ? size : MAX_RULE};
        read_style(&l->sizes, rule, "fs", "font-size:");
        read_style(&l->bottoms, rule, "y", "bottom:");
    }
}

static double value_of(const struct styles *styles, uint32_t number)
{
    return number < styles->count ? styles->values[number] : 0;
}

/* ---- Lines ---- */

static bool has_class(const xmlNode *element, const char *class)
{
    const char *words = dom_attribute(element, "class");
    size_t size = strlen(class);
    return words && !strncmp(words, class, size) &&
           (!words[size] || words[size] == ' ');
}

/* <div class="t m0 x1 h3 y5 ff2 fs1 ...">, which has its place on the page. */
static void add_line(struct lines *l, const xmlNode *element)
{
    struct line line = {
        .element = element, .page = l->pages, .x = NO_STYLE, .size = NO_STYLE};
    for (const char *at = dom_attribute(element, "class"); *at;) {
        struct slice word = {at, strcspn(at, " ")};
        uint32_t x = number_of(word, "x"), y = number_of(word, "y"),
                 size = number_of(word, "fs");
        line.x = x != NO_STYLE ? x : line.x;
        line.size = size != NO_STYLE ? size : line.size;
        line.bottom = y != NO_STYLE ? value_of(&l->bottoms, y) : line.bottom;
        at += word.size + strspn(at + word.size, " ");
    }
    for (const xmlNode *at = dom_next(element, element, false); at;
         at = dom_next(at, element, false))
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            line.bytes += dom_text(at)->text.size;
    MEM_RESERVE(l->lines, &l->capacity, l->count + 1);
    l->lines[l->count++] = line;
}

static void read_lines(struct lines *l, const xmlNode *container)
{
    bool skip = false;
    for (const xmlNode *at = dom_next(container, container, false); at;
         at = dom_next(at, container, skip)) {
        skip = false;
        if (dom_tag(at) != GUMBO_TAG_DIV)
            continue;
        l->pages += has_class(at, "pf");
        skip = has_class(at, "t");
        if (skip)
            add_line(l, at);
    }
}

static int *heading_of(const struct line *line)
{
    return &((struct dom_element *)line->element->_private)->heading;
}

/* ---- Sizes and gaps ---- */

static double size_of(const struct lines *l, const struct line *line)
{
    return value_of(&l->sizes, line->size);
}

static bool is_large(const struct lines *l, const struct line *line)
{
    return line->bytes && size_of(l, line) > 1.05 * l->body;
}

/* The size of most of the text; unknown where much is set larger. */
static void find_body(struct lines *l)
{
    size_t *bytes = mem_alloc((l->sizes.count + 1) * sizeof *bytes), all = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->lines[i].size < l->sizes.count) {
            bytes[l->lines[i].size] += l->lines[i].bytes;
            all += l->lines[i].bytes;
        }
    for (uint32_t i = 1; i < l->sizes.count; i++)
        most = bytes[i] > bytes[most] ? i : most;
    l->body = value_of(&l->sizes, most);
    size_t large = 0;
    for (uint32_t i = 0; i < l->sizes.count; i++)
        large += value_of(&l->sizes, i) > 1.05 * l->body ? bytes[i] : 0;
    if (4 * large > all)
        l->body = 0;
    free(bytes);
}

/* How far the line stands below the one above in the same column. */
static double gap_above(const struct lines *l, size_t i)
{
    if (!i)
        return 0;
    const struct line *line = &l->lines[i], *above = line - 1;
    return line->page == above->page && line->bytes && above->bytes &&
                   line->x == above->x && line->size == above->size &&
                   line->element->parent == above->element->parent
               ? above->bottom - line->bottom
               : 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median: most lines stand in the midst of a paragraph. */
static void find_gap(struct lines *l)
{
    double *gaps = mem_alloc(MAX_GAPS * sizeof *gaps);
    size_t count = 0;
    for (size_t i = 0; i < l->count && count < MAX_GAPS; i++)
        if (gap_above(l, i) > 0)
            gaps[count++] = gap_above(l, i);
    qsort(gaps, count, sizeof *gaps, by_value);
    l->gap = count ? gaps[count / 2] : 0;
    free(gaps);
}

/* ---- Headings ---- */

static bool has_outline(struct lines *l, const xmlNode *outline)
{
    const xmlNode *list = dom_find(outline, GUMBO_TAG_UL);
    if (list)
        pdf_read_items(&l->pdf, list);
    for (size_t i = 0; i < l->count && l->pdf.count; i++) {
        pdf_enter_page(&l->pdf, l->lines[i].page);
        pdf_mark_line(&l->pdf, l->lines[i].element);
    }
    if (l->pdf.count)
        build_hide(outline);
    return l->pdf.found;
}

/* One more than how many sizes are larger. */
static int level_of(const struct lines *l, const double *sizes, size_t count,
                    const struct line *line)
{
    int level = 1;
    for (size_t i = 0; i < count && level < PDF_MAX_LEVEL; i++)
        level += sizes[i] > size_of(l, line);
    return level;
}

static void mark_large(struct lines *l)
{
    enum { MAX_SIZES = 64 };
    double sizes[MAX_SIZES];
    size_t count = 0;
    for (size_t i = 0; i < l->count && l->body > 0; i++) {
        size_t k = 0;
        double size = size_of(l, &l->lines[i]);
        while (k < count && by_value(&sizes[k], &size))
            k++;
        if (k == count && count < MAX_SIZES && is_large(l, &l->lines[i]))
            sizes[count++] = size;
    }
    for (size_t i = 0; i < l->count && l->body > 0; i++)
        if (is_large(l, &l->lines[i]) &&
            pdf_words(&l->pdf, l->lines[i].element).size)
            *heading_of(&l->lines[i]) = level_of(l, sizes, count, &l->lines[i]);
}

/* The first two lines of a page and the last, of the lines [from, to). */
static void add_edges(struct lines *l, struct edges *edges, size_t from,
                      size_t to, bool named)
{
    size_t all = 0, seen = 0;
    for (size_t i = from; i < to; i++)
        all += l->lines[i].bytes > 0;
    for (size_t i = from; i < to; i++) {
        const struct line *line = &l->lines[i];
        seen += line->bytes > 0;
        if (line->bytes && (seen <= 2 || seen == all) &&
            !(named && *heading_of(line)))
            pdf_add_edge(&l->pdf, edges, line->page, line->element);
    }
}

static void hide_edges(struct lines *l, bool named)
{
    struct edges edges = {.pages = l->pages};
    for (size_t from = 0, to = 0; from < l->count; from = to) {
        while (to < l->count && l->lines[to].page == l->lines[from].page)
            to++;
        add_edges(l, &edges, from, to, named);
    }
    pdf_hide_edges(&edges);
}

/* "Use ........ 3" */
static bool is_of_contents(const struct line *line)
{
    struct buf text = {0};
    for (const xmlNode *at = dom_next(line->element, line->element, false); at;
         at = dom_next(at, line->element, false))
        if (!dom_is_element(at))
            buf_put_slice(&text, dom_text(at)->text);
    size_t end = text.size;
    while (end && text.data[end - 1] == ' ')
        end--;
    bool is = end && text_is_digit((unsigned char)text.data[end - 1]) &&
              memmem(text.data, end, "........", 8);
    buf_free(&text);
    return is;
}

static void mark_others(struct lines *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct dom_element *element = l->lines[i].element->_private;
        double gap = gap_above(l, i);
        bool on =
            gap > 0 && gap < 1.25 * l->gap && !*heading_of(&l->lines[i - 1]);
        if (is_of_contents(&l->lines[i]))
            build_hide(l->lines[i].element);
        else if (!element->heading)
            element->line = on ? DOM_LINE_ON : DOM_LINE_FIRST;
    }
}

/* ---- The page ---- */

static const xmlNode *find_id(const xmlNode *top, const char *id)
{
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false))
        if (dom_tag(at) == GUMBO_TAG_DIV && dom_has_id(at, id))
            return at;
    return NULL;
}

/* <div id="page-container"><div id="pf1" class="pf ..."> */
static const xmlNode *find_container(const xmlNode *top)
{
    const xmlNode *container = find_id(top, "page-container");
    const xmlNode *first =
        container ? dom_element_from(container->children) : NULL;
    return first && dom_has_id(first, "pf1") && has_class(first, "pf")
               ? container
               : NULL;
}

void pdf_lines_mark(struct dom *dom)
{
    const xmlNode *top = (const xmlNode *)dom->doc;
    const xmlNode *container = dom->styled ? find_container(top) : NULL;
    if (!container)
        return;
    struct lines l = {.pdf = {.dom = dom}};
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false))
        if (dom_tag(at) == GUMBO_TAG_STYLE)
            for (const xmlNode *text = at->children; text; text = text->next)
                if (!dom_is_element(text))
                    read_sheet(&l, dom_text(text)->text);
    read_lines(&l, container);
    find_body(&l);
    find_gap(&l);
    const xmlNode *outline = find_id(top, "outline");
    bool named = outline && has_outline(&l, outline);
    if (!named)
        mark_large(&l);
    hide_edges(&l, named);
    mark_others(&l);
    free(l.sizes.values);
    free(l.bottoms.values);
    free(l.lines);
    pdf_free(&l.pdf);
}
