/* html5lib's tree cases through plain gumbo and through our DOM.
 *
 *     html5lib FILE.dat...
 *
 * No case that gumbo gets right may be lost by the copy.  What the copy leaves
 * out by design is left out of all three trees before they are compared:
 * comments, declarations, control characters, the attributes that no reader
 * asks for, the names of foreign namespaces.  Cases of fragments are skipped:
 * files are whole documents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "indexer/parse/html/dom/dom.h"

enum { MAX_BYTES = 16 << 20, SHOWN = 100 };

struct lines {
    struct buf text;
    bool open; /* the last line is a text that may go on */
    int depth; /* of it */
};

struct count {
    size_t cases, fragments, refused, gumbo, ours, lost;
};

/* ---- A tree as lines ---- */

static bool is_kept(const char *name)
{
    static const char *const kept[] = {
        "alt", "class", "content", "hidden", "href", "id",      "name",
        "rel", "role",  "start",   "style",  "type", "encoding"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!strcmp(name, kept[i]))
            return true;
    return false;
}

static void put_plain(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!lexer_is_control(text[i]))
            buf_put_byte(out, text[i]);
}

static void close_text(struct lines *lines)
{
    if (lines->open)
        buf_put_text(&lines->text, "\"\n");
    lines->open = false;
}

static void indent(struct lines *lines, int depth)
{
    buf_put_text(&lines->text, "| ");
    for (int i = 0; i < depth; i++)
        buf_put_text(&lines->text, "  ");
}

static void put_text(struct lines *lines, int depth, const char *text,
                     size_t size)
{
    struct buf plain = {0};
    put_plain(&plain, text, size);
    if (plain.size && lines->open && lines->depth != depth)
        close_text(lines);
    if (plain.size && !lines->open) {
        indent(lines, depth);
        buf_put_byte(&lines->text, '"');
        lines->open = true;
        lines->depth = depth;
    }
    buf_put_slice(&lines->text, buf_slice(&plain));
    buf_free(&plain);
}

static void put_element(struct lines *lines, int depth, const char *name,
                        size_t size)
{
    close_text(lines);
    indent(lines, depth);
    buf_printf(&lines->text, "<%.*s>\n", (int)size, name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Attributes in the order of their names. */
struct attributes {
    char *lines[64];
    size_t count;
};

static void add_attribute(struct attributes *attributes, const char *name,
                          const char *value)
{
    struct buf line = {0};
    if (!is_kept(name) || attributes->count == 64)
        return;
    buf_printf(&line, "%s=\"", name);
    put_plain(&line, value, strlen(value));
    buf_put_byte(&line, '"');
    attributes->lines[attributes->count++] = line.data;
}

static void put_attributes(struct lines *lines, int depth,
                           struct attributes *attributes)
{
    qsort(attributes->lines, attributes->count, sizeof *attributes->lines,
          by_name);
    for (size_t i = 0; i < attributes->count; i++) {
        indent(lines, depth);
        buf_printf(&lines->text, "%s\n", attributes->lines[i]);
        free(attributes->lines[i]);
    }
}

/* ---- Gumbo's ---- */

static struct slice name_of(const GumboElement *element)
{
    if (element->tag != GUMBO_TAG_UNKNOWN)
        return slice_of(gumbo_normalized_tagname(element->tag));
    GumboStringPiece name = element->original_tag;
    gumbo_tag_from_original_text(&name);
    return (struct slice){name.data, name.length};
}

static void show_gumbo(struct lines *lines, const GumboNode *node, int depth)
{
    switch (node->type) {
    case GUMBO_NODE_TEXT:
    case GUMBO_NODE_WHITESPACE:
    case GUMBO_NODE_CDATA:
        put_text(lines, depth, node->v.text.text, strlen(node->v.text.text));
        return;
    case GUMBO_NODE_ELEMENT:
    case GUMBO_NODE_TEMPLATE: break;
    default: return;
    }
    const GumboElement *element = &node->v.element;
    struct slice name = name_of(element);
    put_element(lines, depth, name.data, name.size);
    struct attributes attributes = {.count = 0};
    for (unsigned i = 0; i < element->attributes.length; i++) {
        const GumboAttribute *attribute = element->attributes.data[i];
        add_attribute(&attributes, attribute->name, attribute->value);
    }
    put_attributes(lines, depth + 1, &attributes);
    for (unsigned i = 0; i < element->children.length; i++)
        show_gumbo(lines, element->children.data[i], depth + 1);
    close_text(lines);
}

static struct buf gumbo_tree(struct slice data)
{
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    struct lines lines = {.open = false};
    GumboOutput *output =
        gumbo_parse_with_options(&options, data.data, data.size);
    show_gumbo(&lines, output->root, 0);
    close_text(&lines);
    gumbo_destroy_output(&options, output);
    return lines.text;
}

/* ---- Ours ---- */

static void show_ours(struct lines *lines, const xmlNode *node, int depth)
{
    if (!dom_is_element(node)) {
        struct slice text = dom_text(node)->text;
        put_text(lines, depth, text.data, text.size);
        return;
    }
    const char *name = (const char *)node->name;
    put_element(lines, depth, name, strlen(name));
    struct attributes attributes = {.count = 0};
    for (const xmlAttr *a = node->properties; a; a = a->next)
        add_attribute(&attributes, (const char *)a->name,
                      (const char *)a->children->content);
    put_attributes(lines, depth + 1, &attributes);
    for (const xmlNode *child = node->children; child; child = child->next)
        show_ours(lines, child, depth + 1);
    close_text(lines);
}

/* Empty when it is refused. */
static struct buf our_tree(struct slice data)
{
    struct source source = {.data = data.data, .size = data.size};
    struct lines lines = {.open = false};
    struct dom dom;
    struct err err;
    if (dom_parse(&source, &dom, &err))
        return lines.text;
    for (const xmlNode *node = dom.doc->children; node; node = node->next)
        show_ours(&lines, node, 0);
    close_text(&lines);
    dom_free(&dom);
    return lines.text;
}

/* ---- The expected ---- */

static bool starts(struct slice text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && !memcmp(text.data, word, size);
}

/* "svg path" and "math mi" are <path> and <mi>. */
static struct slice local_name(struct slice name)
{
    for (const char *space = "svg \0math \0"; *space;
         space += strlen(space) + 1)
        if (starts(name, space))
            return (struct slice){name.data + strlen(space),
                                  name.size - strlen(space)};
    return name;
}

struct expected {
    struct lines lines;
    struct attributes attributes;
    int depth;         /* of the element that attributes belong to */
    int templates[64]; /* depths of "content" lines around */
    int template_count;
};

static void flush_attributes(struct expected *e)
{
    put_attributes(&e->lines, e->depth + 1, &e->attributes);
    e->attributes.count = 0;
}

static void expect_attribute(struct expected *e, struct slice item)
{
    const char *equals = memchr(item.data, '=', item.size);
    if (!equals)
        return;
    struct buf name = {0}, value = {0};
    buf_put(&name, item.data, (size_t)(equals - item.data));
    const char *from = equals + 2, *to = item.data + item.size - 1;
    if (to > from)
        buf_put(&value, from, (size_t)(to - from));
    add_attribute(&e->attributes, name.data, value.size ? value.data : "");
    buf_free(&name);
    buf_free(&value);
}

/* One item at `depth`, its "| " and blanks taken off. */
static void expect_item(struct expected *e, int depth, struct slice item)
{
    while (e->template_count && depth <= e->templates[e->template_count - 1])
        e->template_count--;
    int place = depth - e->template_count;
    if (starts(item, "<!"))
        return;
    if (slice_is(item, "content")) {
        if (e->template_count < 64)
            e->templates[e->template_count++] = depth;
    } else if (starts(item, "\"")) {
        flush_attributes(e);
        put_text(&e->lines, place, item.data + 1, item.size - 2);
    } else if (starts(item, "<")) {
        flush_attributes(e);
        struct slice name =
            local_name((struct slice){item.data + 1, item.size - 2});
        put_element(&e->lines, place, name.data, name.size);
        e->depth = place;
    } else {
        expect_attribute(e, item);
    }
}

static struct buf expected_tree(struct slice text)
{
    struct expected e = {.depth = 0};
    for (size_t at = 0; at + 2 <= text.size;) {
        size_t end = at + 2;
        while (
            end < text.size &&
            !(text.data[end] == '\n' &&
              (end + 1 == text.size ||
               starts((struct slice){text.data + end + 1, text.size - end - 1},
                      "| "))))
            end++;
        size_t from = at + 2;
        while (from < end && text.data[from] == ' ')
            from++;
        if (end > from)
            expect_item(&e, (int)((from - at - 2) / 2),
                        (struct slice){text.data + from, end - from});
        at = end + 1;
    }
    flush_attributes(&e);
    close_text(&e.lines);
    return e.lines.text;
}

/* ---- Cases ---- */

struct test {
    struct slice data, document;
    bool fragment;
};

static const char *find(const char *from, const char *end, const char *word)
{
    return from < end ? memmem(from, (size_t)(end - from), word, strlen(word))
                      : NULL;
}

/* "#data", the page, "#errors" and more, "#document", the tree: up to the next
 * "#data".  Moves *at there; false: no more. */
static bool next_case(struct slice all, size_t *at, struct test *ret)
{
    const char *end = all.data + all.size;
    const char *begin = find(all.data + *at, end, "#data\n");
    if (!begin)
        return false;
    const char *data = begin + strlen("#data\n");
    const char *next = find(data, end, "\n#data\n");
    const char *stop = next ? next : end;
    const char *errors = find(data - 1, stop, "\n#errors\n");
    const char *document = find(data, stop, "\n#document\n");
    *at = (size_t)(stop - all.data);
    *ret =
        (struct test){.fragment = !errors || !document ||
                                  find(data, stop, "\n#document-fragment\n")};
    if (ret->fragment)
        return true;
    document += strlen("\n#document\n");
    while (stop > document && stop[-1] == '\n')
        stop--;
    size_t size = errors < data ? 0 : (size_t)(errors - data);
    ret->data = (struct slice){data, size};
    ret->document = (struct slice){document, (size_t)(stop - document)};
    return true;
}

static void judge(const char *path, const struct test *test,
                  struct count *count)
{
    struct buf wanted = expected_tree(test->document);
    struct buf gumbo = gumbo_tree(test->data);
    struct buf ours = our_tree(test->data);
    bool right = slice_equal(buf_slice(&gumbo), buf_slice(&wanted));
    bool kept = slice_equal(buf_slice(&ours), buf_slice(&wanted));
    count->refused += !ours.size;
    count->gumbo += right;
    count->ours += kept;
    if (right && !kept && count->lost++ < SHOWN)
        printf("%s: lost:\n%.*s\n-- wanted:\n%s-- got:\n%s\n", path,
               (int)test->data.size, test->data.data, wanted.data,
               ours.data ? ours.data : "(refused)\n");
    buf_free(&wanted);
    buf_free(&gumbo);
    buf_free(&ours);
}

static int run(const char *path, struct count *count)
{
    struct buf bytes = {0};
    struct err err;
    if (file_read(path, MAX_BYTES, &bytes, &err)) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        return 1;
    }
    struct test test;
    for (size_t at = 0; next_case(buf_slice(&bytes), &at, &test);) {
        count->cases++;
        if (test.fragment)
            count->fragments++;
        else
            judge(path, &test, count);
    }
    buf_free(&bytes);
    return 0;
}

int main(int argc, char **argv)
{
    struct count count = {0};
    int failed = argc < 2;
    for (int i = 1; i < argc; i++)
        failed |= run(argv[i], &count);
    printf("html5lib: %zu cases, %zu of fragments left out, gumbo right in "
           "%zu, ours in %zu, %zu lost by the copy\n",
           count.cases, count.fragments, count.gumbo, count.ours, count.lost);
    return failed || count.lost || !count.gumbo;
}
