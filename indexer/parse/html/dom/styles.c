#include "indexer/parse/html/dom/styles.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "indexer/parse/html/dom/dom_build.h"

enum {
    MAX_NAMES = 4, /* classes and ids of a selector */
    MAX_HIDING = 64,
    MAX_SHOWING = 256,
    MAX_NESTED = 8 /* blocks within blocks */
};

/* The last part of a selector: "li.a" of "ul > li.a:hover". */
struct selector {
    struct slice tag;              /* empty: any */
    struct slice names[MAX_NAMES]; /* with the '.' or '#' before each */
    size_t count;
    bool simple;  /* it is all there is, and no state or attribute matters */
    bool special; /* weighs more than a tag alone */
};

struct sheets {
    struct selector hiding[MAX_HIDING], showing[MAX_SHOWING];
    size_t hiding_count, showing_count;
    bool unknown; /* more is shown than is known here */
};

/* ---- Reading a sheet ---- */

static struct slice trimmed(struct slice text)
{
    static const char space[] = " \t\n\r\f";
    while (text.size && memchr(space, text.data[0], sizeof space - 1)) {
        text.data++;
        text.size--;
    }
    while (text.size &&
           memchr(space, text.data[text.size - 1], sizeof space - 1))
        text.size--;
    return text;
}

static bool is_name_byte(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte >= 0x80 || c == '-' || c == '_' || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static size_t name_end(struct slice text, size_t at)
{
    while (at < text.size && is_name_byte(text.data[at]))
        at++;
    return at;
}

static size_t bracket_end(struct slice text, size_t at, char bracket)
{
    const char *end = memchr(text.data + at, bracket, text.size - at);
    return end ? (size_t)(end - text.data) + 1 : text.size;
}

/* A class, an id, a state or an attribute; returns where it ends. */
static size_t read_mark(struct slice text, size_t at, struct selector *ret)
{
    char c = text.data[at];
    size_t end = name_end(text, at + 1);
    ret->special = true;
    if ((c == '.' || c == '#') && end > at + 1 && ret->count < MAX_NAMES) {
        ret->names[ret->count++] = (struct slice){text.data + at, end - at};
        return end;
    }
    ret->simple = false;
    if (c == '[')
        return bracket_end(text, at, ']');
    if (end < text.size && text.data[end] == '(')
        return bracket_end(text, end, ')');
    return end;
}

static struct selector read_selector(struct slice text)
{
    struct selector selector = {.tag = {"", 0}, .simple = true};
    text = trimmed(text);
    for (size_t at = 0; at < text.size;) {
        char c = text.data[at];
        if (is_name_byte(c)) {
            size_t end = name_end(text, at);
            selector.tag = (struct slice){text.data + at, end - at};
            at = end;
        } else if (memchr(" \t\n\r\f>+~", c, 8)) {
            selector =
                (struct selector){.tag = {"", 0}, .special = selector.special};
            at++;
        } else if (c == '*') {
            at++;
        } else {
            at = read_mark(text, at, &selector);
        }
    }
    return selector;
}

static void keep(struct sheets *sheets, struct selector selector, bool hides)
{
    if (hides) {
        if (selector.simple && selector.count &&
            sheets->hiding_count < MAX_HIDING)
            sheets->hiding[sheets->hiding_count++] = selector;
    } else if (sheets->showing_count == MAX_SHOWING) {
        sheets->unknown = true;
    } else if (selector.special) {
        sheets->showing[sheets->showing_count++] = selector;
    }
}

/* What the declarations say of "display"; empty: nothing. */
static struct slice display_of(struct slice declarations)
{
    struct slice value = {"", 0};
    for (size_t at = 0; at < declarations.size;) {
        struct slice rest = {declarations.data + at, declarations.size - at};
        const char *semicolon = memchr(rest.data, ';', rest.size);
        rest.size = semicolon ? (size_t)(semicolon - rest.data) : rest.size;
        at += rest.size + 1;
        rest = trimmed(rest);
        if (rest.size < 8 || strncasecmp(rest.data, "display", 7))
            continue;
        rest = trimmed((struct slice){rest.data + 7, rest.size - 7});
        if (rest.size > 1 && rest.data[0] == ':')
            value = trimmed((struct slice){rest.data + 1, rest.size - 1});
    }
    return value;
}

static void read_rule(struct sheets *sheets, struct slice selectors,
                      struct slice declarations, bool may_hide)
{
    struct slice value = display_of(declarations);
    bool hides = value.size >= 4 && !strncasecmp(value.data, "none", 4);
    if (!value.size || (hides && !may_hide))
        return;
    for (size_t at = 0; at < selectors.size;) {
        struct slice one = {selectors.data + at, selectors.size - at};
        const char *comma = memchr(one.data, ',', one.size);
        one.size = comma ? (size_t)(comma - one.data) : one.size;
        at += one.size + 1;
        keep(sheets, read_selector(one), hides);
    }
}

/* Is the rule, or the sheet, of that medium for the screen? */
enum medium { MEDIUM_ALL, MEDIUM_SOME, MEDIUM_PRINT };

static enum medium medium_of(struct slice name)
{
    name = trimmed(name);
    if (!name.size || slice_is(name, "all") || slice_is(name, "screen"))
        return MEDIUM_ALL;
    bool print = name.size >= 5 && !strncasecmp(name.data, "print", 5);
    return print ? MEDIUM_PRINT : MEDIUM_SOME;
}

/* What stands before a '{': of an @media rule its medium. */
static enum medium group_of(struct slice head)
{
    static const char media[] = "@media";
    size_t size = sizeof media - 1;
    if (head.size < size || strncasecmp(head.data, media, size))
        return MEDIUM_SOME;
    return medium_of((struct slice){head.data + size, head.size - size});
}

/* Comments, and what hid the sheet from browsers of old, become white space. */
static void without_comments(struct slice text, struct buf *out)
{
    for (size_t at = 0; at < text.size;) {
        struct slice rest = {text.data + at, text.size - at};
        if (slice_starts(rest, slice_of("/*"))) {
            const char *end = memmem(rest.data + 2, rest.size - 2, "*/", 2);
            at = end ? (size_t)(end - text.data) + 2 : text.size;
            buf_put_byte(out, ' ');
        } else if (slice_starts(rest, slice_of("<!--"))) {
            at += 4;
        } else if (slice_starts(rest, slice_of("-->"))) {
            at += 3;
        } else {
            buf_put_byte(out, text.data[at++]);
        }
    }
}

/* Where the text begins that stands before the '{' at `at`. */
static size_t head_start(struct slice text, size_t from, size_t at)
{
    size_t start = from;
    for (size_t i = from; i < at; i++)
        if (text.data[i] == ';')
            start = i + 1;
    return start;
}

static void read_sheet(struct sheets *sheets, struct slice text,
                       enum medium medium)
{
    enum medium media[MAX_NESTED + 1] = {medium};
    size_t depth = 0, from = 0;
    for (size_t at = 0; at < text.size; at++) {
        if (text.data[at] == '}') {
            depth -= depth > 0;
            from = at + 1;
        }
        if (text.data[at] != '{')
            continue;
        size_t start = head_start(text, from, at);
        struct slice head =
            trimmed((struct slice){text.data + start, at - start});
        if (head.size && head.data[0] == '@') {
            if (depth == MAX_NESTED)
                return;
            enum medium group = group_of(head);
            enum medium outer = media[depth];
            media[++depth] = group > outer ? group : outer;
            from = at + 1;
            continue;
        }
        size_t end = bracket_end(text, at, '}');
        struct slice declarations = {text.data + at + 1, end - at - 1};
        if (media[depth] != MEDIUM_PRINT)
            read_rule(sheets, head, declarations, media[depth] == MEDIUM_ALL);
        at = end - 1;
        from = end;
    }
}

/* ---- The page's sheets ---- */

static bool is_within(const xmlNode *element, int tag)
{
    for (const xmlNode *at = element->parent; at && dom_is_element(at);
         at = at->parent)
        if (dom_tag(at) == tag)
            return true;
    return false;
}

/* The selectors point into the arena. */
static void read_element(struct sheets *sheets, struct arena *arena,
                         const xmlNode *style)
{
    const char *media = dom_attribute(style, "media");
    enum medium medium = media ? medium_of(slice_of(media)) : MEDIUM_ALL;
    struct buf text = {0};
    for (const xmlNode *at = style->children; at; at = at->next)
        if (!dom_is_element(at))
            without_comments(dom_text(at)->text, &text);
    /* Scripts show the rest of what is shown without them. */
    if (medium == MEDIUM_ALL && is_within(style, GUMBO_TAG_NOSCRIPT))
        medium = MEDIUM_SOME;
    const char *copy = arena_copy(arena, text.data ? text.data : "", text.size);
    read_sheet(sheets, (struct slice){copy, text.size}, medium);
    buf_free(&text);
}

/* Has the page a script that shows what a rule hides? */
static bool is_scripted(const struct source *source)
{
    static const char *const words[] = {
        "style.display", ".show(",      ".toggle(",   "slideToggle",
        "slideDown",     "fadeIn",      "fadeToggle", "classList",
        "className",     "toggleClass", "removeClass"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(source->data, source->size, words[i], strlen(words[i])))
            return true;
    return false;
}

/* ---- Elements ---- */

static bool has_name(const xmlNode *element, struct slice name)
{
    bool id = name.data[0] == '#';
    const char *value = dom_attribute(element, id ? "id" : "class");
    name = (struct slice){name.data + 1, name.size - 1};
    if (!value || id)
        return value && slice_is(name, value);
    while (*(value += strspn(value, " \t\n\r\f"))) {
        size_t size = strcspn(value, " \t\n\r\f");
        if (size == name.size && !memcmp(value, name.data, size))
            return true;
        value += size;
    }
    return false;
}

static bool has_tag(const xmlNode *element, struct slice tag)
{
    const char *name = (const char *)element->name;
    return !tag.size ||
           (tag.size == strlen(name) && !strncasecmp(tag.data, name, tag.size));
}

static bool matches(const xmlNode *element, const struct selector *selector)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!has_name(element, selector->names[i]))
            return false;
    return has_tag(element, selector->tag);
}

/* Whatever its state: one of the classes is enough, since a script may add another. */
static bool may_match(const xmlNode *element, const struct selector *selector)
{
    for (size_t i = 0; i < selector->count; i++)
        if (has_name(element, selector->names[i]))
            return true;
    return !selector->count && has_tag(element, selector->tag);
}

static bool names_what_opens(const char *words)
{
    static const char *const parts[] = {
        "tab",    "pane",   "collaps", "accordion", "toggle", "content",
        "detail", "expand", "spoiler", "answer",    "more",   "solution"};
    for (size_t i = 0; words && i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(words, parts[i]))
            return true;
    return false;
}

/* What a script in a file of its own may show, by what it is and is called. */
static bool opens(const xmlNode *element)
{
    return dom_holds(element,
                     DOM_HOLDS_HEADING | DOM_HOLDS_CODE | DOM_HOLDS_TABLE) ||
           dom_attribute(element, "role") ||
           names_what_opens(dom_attribute(element, "class")) ||
           names_what_opens(dom_attribute(element, "id"));
}

static bool is_hidden(const struct sheets *sheets, const xmlNode *element)
{
    bool hidden = false;
    for (size_t i = 0; i < sheets->hiding_count && !hidden; i++)
        hidden = matches(element, &sheets->hiding[i]);
    for (size_t i = 0; i < sheets->showing_count && hidden; i++)
        hidden = !may_match(element, &sheets->showing[i]);
    return hidden && !opens(element);
}

static void hide(struct dom *dom, const struct sheets *sheets)
{
    const xmlNode *top = (const xmlNode *)dom->doc;
    bool skip = false;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, skip)) {
        skip = dom_is_element(at) && at->properties && is_hidden(sheets, at);
        if (skip)
            build_hide(at);
    }
}

void styles_hide(struct dom *dom)
{
    const xmlNode *top = (const xmlNode *)dom->doc;
    if (!dom->styled)
        return;
    struct sheets *sheets = mem_alloc(sizeof *sheets);
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false))
        if (dom_tag(at) == GUMBO_TAG_STYLE)
            read_element(sheets, &dom->arena, at);
    if (sheets->hiding_count && !sheets->unknown && !is_scripted(&dom->source))
        hide(dom, sheets);
    free(sheets);
}
