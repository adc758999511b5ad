#include "indexer/parse/html/index_entries.h"

#include <stdlib.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/apis.h"
#include "indexer/parse/html/contents.h"
#include "indexer/parse/html/rules.h"

enum {
    MAX_ALIASES = 100000,
    MAX_TEXT = 200, /* bytes; what is longer is no entry */
    MAX_RAW = 1000, /* bytes of it in the file, with white space */
    MAX_NESTED = 8, /* lists within lists */
    MAX_CLIMB = 64  /* elements between a link and the outermost list */
};

/* The entry that is open in a list. */
struct level {
    struct buf text; /* as the file has it */
    bool linked;     /* a link has come: what follows is none of its name */
    bool endless;    /* too long for a name */
};

struct reading {
    struct tree *tree;
    struct level levels[MAX_NESTED + 1]; /* [0]: outside of lists */
    struct page_alias *aliases;          /* [count] */
    size_t count, capacity;
    bool content; /* the page has content that entries may lead to */
    struct buf folded, name;
};

static unsigned depth_of(const xmlNode *node)
{
    unsigned lists = 0;
    const xmlNode *at = node->parent;
    for (int i = 0; i < MAX_CLIMB && at && dom_is_element(at); i++) {
        lists += rules_is_list(dom_tag(at));
        at = at->parent;
    }
    return lists < MAX_NESTED ? lists : MAX_NESTED;
}

static void begin(struct reading *r, unsigned depth)
{
    for (unsigned d = depth; d <= MAX_NESTED; d++) {
        buf_clear(&r->levels[d].text);
        r->levels[d].linked = r->levels[d].endless = false;
    }
}

/* An element at which another entry begins.  In a list, a line's end is one
 * only after the entry's links. */
static void boundary(struct reading *r, const xmlNode *element)
{
    unsigned depth = depth_of(element);
    switch (dom_tag(element)) {
    case GUMBO_TAG_LI:
    case GUMBO_TAG_DT:
    case GUMBO_TAG_TR: begin(r, depth); break;
    case GUMBO_TAG_P:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_BR:
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
        if (!depth || r->levels[depth].linked)
            begin(r, depth);
        break;
    default: break;
    }
}

/* ---- Names ---- */

/* Text without white space and signs around it, in r->folded. */
static struct slice fold(struct reading *r, struct slice text)
{
    buf_clear(&r->folded);
    text_fold_space(&r->folded, text);
    struct slice folded = buf_slice(&r->folded);
    while (folded.size && strchr(" ,:;", folded.data[folded.size - 1]))
        folded.size--;
    while (folded.size && strchr(" ,:;", folded.data[0])) {
        folded.data++;
        folded.size--;
    }
    return folded;
}

/* Of "pack() (in module struct)" and "(struct.Struct method)" within it the
 * second says the same of "pack()". */
static void cut_remark(struct buf *name)
{
    if (!name->size || name->data[name->size - 1] != ')')
        return;
    for (size_t at = name->size; at-- > 1;)
        if (name->data[at] == '(' && name->data[at - 1] == ' ') {
            name->size = at - 1;
            return;
        }
}

/* The names of the entries that are open, outermost first, in r->name. */
static struct slice join(struct reading *r, unsigned depth)
{
    buf_clear(&r->name);
    for (unsigned d = depth ? 1 : 0; d <= depth; d++) {
        struct slice text = fold(r, buf_slice(&r->levels[d].text));
        /* A letter that heads its part of the index names nothing. */
        if (!text.size || (d < depth && text_is_one(text)))
            continue;
        bool remark = text.data[0] == '(';
        if (remark)
            cut_remark(&r->name);
        if (r->name.size)
            buf_put_text(&r->name, remark ? " " : ", ");
        buf_put_slice(&r->name, text);
    }
    return buf_slice(&r->name);
}

static void add(struct reading *r, unsigned depth, const char *url)
{
    struct slice text = join(r, depth);
    for (unsigned d = 0; d <= depth; d++)
        if (r->levels[d].endless)
            return;
    if (!text.size || text.size > MAX_TEXT || r->count == MAX_ALIASES)
        return;
    MEM_RESERVE(r->aliases, &r->capacity, r->count + 1);
    r->aliases[r->count++] = (struct page_alias){
        tree_copy_text(r->tree, text), tree_copy_text(r->tree, slice_of(url))};
}

/* ---- Reading ---- */

static void put_text(struct level *level, struct slice text)
{
    level->endless |= level->text.size + text.size > MAX_RAW;
    if (!level->endless)
        buf_put_slice(&level->text, text);
}

static void take_link(struct reading *r, const xmlNode *link, const char *url)
{
    unsigned depth = depth_of(link);
    struct level *level = &r->levels[depth];
    if (!level->linked && !fold(r, buf_slice(&level->text)).size) {
        buf_clear(&level->text);
        for (const xmlNode *at = dom_next(link, link, false); at;
             at = dom_next(at, link, false))
            if (!dom_is_element(at))
                put_text(level, dom_text(at)->text);
    }
    level->linked = true;
    if (contents_leads_on(url) || (r->content && url[0] == '#' && url[1]))
        add(r, depth, url);
}

static void take_text(struct reading *r, const xmlNode *text)
{
    struct level *level = &r->levels[depth_of(text)];
    if (!level->linked)
        put_text(level, dom_text(text)->text);
}

/* What a link holds is not read again; but the entry may end in it. */
static void read_link(struct reading *r, const xmlNode *link, const char *url)
{
    take_link(r, link, url);
    for (const xmlNode *at = link->children; at; at = dom_next(at, link, false))
        if (dom_is_element(at))
            boundary(r, at);
}

static void read_entries(struct reading *r, const xmlNode *top)
{
    bool skip = false;
    begin(r, 0);
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, skip)) {
        bool element = dom_is_element(at);
        const char *url =
            dom_tag(at) == GUMBO_TAG_A ? dom_attribute(at, "href") : NULL;
        skip = url || (element && rules_of(at).part == PART_SKIP);
        if (url)
            read_link(r, at, url);
        else if (!element)
            take_text(r, at);
        else if (!skip)
            boundary(r, at);
    }
}

/* <code><a href="pump.html">pump()</a></code>, several before what the page is for. */
static void read_names(struct reading *r, const xmlNode *list)
{
    for (const xmlNode *at = dom_next(list, list, false); at;
         at = dom_next(at, list, false)) {
        const char *url =
            dom_tag(at) == GUMBO_TAG_A && dom_tag(at->parent) == GUMBO_TAG_CODE
                ? dom_attribute(at, "href")
                : NULL;
        if (!url)
            continue;
        begin(r, 0);
        take_link(r, at, url);
    }
}

/* The first <param> of that name from `at` on, or NULL. */
static const xmlNode *next_value(const xmlNode *at, const char *name)
{
    for (; at; at = at->next) {
        const char *own =
            dom_tag(at) == GUMBO_TAG_PARAM ? dom_attribute(at, "name") : NULL;
        if (own && !strcasecmp(own, name) && dom_attribute(at, "value"))
            return at;
    }
    return NULL;
}

/* A keyword, and each page that it leads to, with a title or without. */
static void read_keyword(struct reading *r, const xmlNode *topic)
{
    unsigned depth = depth_of(topic);
    const xmlNode *name = next_value(topic->children, "Name");
    struct buf link = {0};
    begin(r, depth);
    if (name)
        put_text(&r->levels[depth], slice_of(dom_attribute(name, "value")));
    for (const xmlNode *at = next_value(topic->children, "Local"); at;
         at = next_value(at->next, "Local")) {
        buf_clear(&link);
        contents_put_path(&link, dom_attribute(at, "value"));
        if (link.size && contents_leads_on(link.data))
            add(r, depth, link.data);
    }
    buf_free(&link);
}

static void read_keywords(struct reading *r, const xmlNode *top)
{
    begin(r, 0);
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false))
        if (contents_is_topic(at))
            read_keyword(r, at);
}

/* The parts of a page that are an index. */
static void read_parts(struct reading *r, const xmlNode *top)
{
    bool skip = false;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, skip)) {
        skip = false;
        if (!dom_is_element(at))
            continue;
        if (apis_is_list_of_names(at))
            read_names(r, at);
        struct rule rule = rules_of(at);
        skip = rule.index || rule.part == PART_SKIP;
        if (rule.index && rule.part != PART_SKIP)
            read_entries(r, at);
    }
}

void aliases_read(const struct dom *dom, const struct page_facts *facts,
                  struct tree *tree)
{
    struct reading reading = {.tree = tree};
    const xmlNode *top = (const xmlNode *)dom->doc;
    if (facts->keywords) {
        read_keywords(&reading, top);
    } else if (tree->page.role == PAGE_INDEX) {
        read_entries(&reading, top);
    } else if (tree->page.role == PAGE_CONTENT &&
               (facts->index_parts || facts->names)) {
        reading.content = true;
        read_parts(&reading, top);
    }
    tree->page.aliases =
        arena_alloc(&tree->arena, reading.count * sizeof *reading.aliases);
    if (reading.count)
        memcpy(tree->page.aliases, reading.aliases,
               reading.count * sizeof *reading.aliases);
    tree->page.alias_count = (uint32_t)reading.count;
    for (unsigned d = 0; d <= MAX_NESTED; d++)
        buf_free(&reading.levels[d].text);
    buf_free(&reading.folded);
    buf_free(&reading.name);
    free(reading.aliases);
}
