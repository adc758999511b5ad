#include "indexer/parse/scripts/scripts.h"

#include <stdlib.h>
#include <string.h>

#include "indexer/parse/scripts/data.h"
#include "indexer/parse/text/sniff.h"

enum {
    MAX_LINKS = 50000,
    MAX_HEADING = 500, /* bytes; what is longer is a text */
    MAX_START = 200,   /* of what a chunk is known by */
    MAX_CHUNKS = 1000,
    MAX_NESTED = 64
};

struct reading {
    struct tree *tree;
    struct data data;
    struct page_link *links; /* [count] */
    size_t count, capacity;
    struct buf text;
    uint32_t starts; /* Flare's list of what its chunks begin with */
};

static const struct data_value *value_at(const struct reading *r, uint32_t at)
{
    return &r->data.values[at];
}

/* ---- Links ---- */

static void add(struct reading *r, struct slice url, uint32_t depth,
                struct slice title)
{
    if (r->count == MAX_LINKS)
        return;
    MEM_RESERVE(r->links, &r->capacity, r->count + 1);
    r->links[r->count++] = (struct page_link){
        tree_copy_text(r->tree, url), depth, tree_copy_text(r->tree, title)};
}

static void add_heading(struct reading *r, struct slice title, uint32_t depth)
{
    buf_clear(&r->text);
    text_fold_space(&r->text, title);
    struct slice text = buf_slice(&r->text);
    if (text.size && text.size <= MAX_HEADING)
        add(r, (struct slice){"", 0}, depth, text);
}

/* "use/a.htm" of "use/a.htm#b"; empty: it leads out of the manual, or nowhere. */
static struct slice page_of(struct slice url)
{
    size_t size = 0;
    while (size < url.size && url.data[size] != '#' && url.data[size] != '?')
        size++;
    bool leads_out = memchr(url.data, ':', size) != NULL;
    return (struct slice){url.data, leads_out ? 0 : size};
}

/* A path from the folder of the help, in which, or in a folder of which, the list lies;
 * without one it is a book. */
static void add_entry(struct reading *r, struct slice url, struct slice title,
                      uint32_t depth)
{
    struct slice page = page_of(url);
    if (!page.size) {
        add_heading(r, title, depth);
        return;
    }
    buf_clear(&r->text);
    if (page.data[0] != '/')
        buf_put_byte(&r->text, '/');
    buf_put_slice(&r->text, page);
    add(r, buf_slice(&r->text), depth, (struct slice){"", 0});
}

/* ---- Entries within entries ---- */

typedef void take_entry(struct reading *r, uint32_t entry, uint32_t depth);

/* The third in an entry that is a list, or what `within` has. */
static uint32_t list_within(const struct reading *r, uint32_t entry,
                            const char *within)
{
    if (within)
        return data_get(&r->data, entry, within);
    uint32_t at = data_first(&r->data, entry);
    for (int i = 0; i < 2 && at != DATA_NONE; i++)
        at = value_at(r, at)->next;
    return at;
}

/* Of each entry what it has as its own, after it. */
static void walk(struct reading *r, uint32_t list, const char *within,
                 take_entry *take)
{
    uint32_t open[MAX_NESTED], depth = 0;
    uint32_t at = data_first(&r->data, list);
    for (;;) {
        while (at == DATA_NONE && depth)
            at = value_at(r, open[--depth])->next;
        if (at == DATA_NONE || r->count == MAX_LINKS)
            return;
        take(r, at, depth);
        uint32_t first = data_first(&r->data, list_within(r, at, within));
        if (first != DATA_NONE && depth < MAX_NESTED) {
            open[depth++] = at;
            at = first;
        } else {
            at = value_at(r, at)->next;
        }
    }
}

/* ---- MadCap Flare: {prefix:'Toc_Chunk', chunkstart:['/Content/Use.htm'],
 * tree:{n:[{i:0,c:0,n:[...]}]}}, and for each chunk {'/Content/Use.htm':{i:[0],t:['Use']}} ---- */

/* An entry has a number; those of other lists have the same ones, but a chunk is known by
 * the page that it begins with. */
static struct slice name_of(struct reading *r, struct slice start,
                            struct slice number)
{
    buf_clear(&r->text);
    if (start.size > MAX_START)
        start.size = MAX_START;
    buf_put_byte(&r->text, '#');
    buf_put_slice(&r->text, number);
    buf_put_byte(&r->text, '|');
    buf_put_slice(&r->text, start);
    return buf_slice(&r->text);
}

static struct slice start_of(const struct reading *r, struct slice chunk)
{
    uint32_t at = r->starts;
    uint64_t number = 0;
    for (size_t i = 0; i < chunk.size && number < MAX_CHUNKS; i++)
        number = 10 * number + (unsigned char)chunk.data[i] - '0';
    if (number >= MAX_CHUNKS)
        return (struct slice){"", 0};
    while (at != DATA_NONE && number--)
        at = value_at(r, at)->next;
    return at == DATA_NONE ? (struct slice){"", 0} : value_at(r, at)->text;
}

static void take_flare(struct reading *r, uint32_t entry, uint32_t depth)
{
    struct slice number = data_text(&r->data, entry, "i");
    if (!number.size)
        return;
    struct slice start = start_of(r, data_text(&r->data, entry, "c"));
    add(r, name_of(r, start, number), depth, (struct slice){"", 0});
}

static void add_name(struct reading *r, struct slice start, uint32_t number,
                     struct slice url, uint32_t title)
{
    struct slice name = name_of(r, start, value_at(r, number)->text);
    if (!url.size) {
        if (title == DATA_NONE || !value_at(r, title)->text.size ||
            value_at(r, title)->text.size > MAX_HEADING)
            return;
        buf_put_byte(&r->text, '\n');
        text_fold_space(&r->text, value_at(r, title)->text);
        name = buf_slice(&r->text);
    }
    add(r, url, 0, (struct slice){name.data + 1, name.size - 1});
}

/* Each page of a chunk, with the numbers of its entries; those of what is no page, with
 * their titles. */
static void read_chunk(struct reading *r)
{
    uint32_t page = data_first(&r->data, 0);
    struct slice start =
        page == DATA_NONE ? (struct slice){"", 0} : value_at(r, page)->key;
    for (; page != DATA_NONE; page = value_at(r, page)->next) {
        struct slice url = page_of(value_at(r, page)->key);
        uint32_t at = data_first(&r->data, data_get(&r->data, page, "i"));
        uint32_t title = data_first(&r->data, data_get(&r->data, page, "t"));
        if (url.size < 2 || url.data[0] != '/')
            url = (struct slice){"", 0};
        for (; at != DATA_NONE; at = value_at(r, at)->next) {
            add_name(r, start, at, url, title);
            title = title == DATA_NONE ? title : value_at(r, title)->next;
        }
    }
}

static int read_flare(struct reading *r)
{
    uint32_t tree = data_get(&r->data, 0, "tree");
    if (tree == DATA_NONE) {
        read_chunk(r);
        return CONTENTS_MAP;
    }
    r->starts = data_first(&r->data, data_get(&r->data, 0, "chunkstart"));
    walk(r, data_get(&r->data, tree, "n"), "n", take_flare);
    return CONTENTS_WHOLE;
}

/* ---- Help & Manual: {items:[{cp:"Use",hf:"use.html",items:[...]}]} ---- */

static void take_manual(struct reading *r, uint32_t entry, uint32_t depth)
{
    add_entry(r, data_text(&r->data, entry, "hf"),
              data_text(&r->data, entry, "cp"), depth);
}

static int read_manual(struct reading *r)
{
    walk(r, data_get(&r->data, 0, "items"), "items", take_manual);
    return CONTENTS_WHOLE;
}

/* ---- HelpNDoc: [{"id":"Use","parent":"#","text":"Use","a_attr":{"href":"Use.html"}}],
 * each behind what it is below ---- */

static int read_helpndoc(struct reading *r)
{
    struct slice open[MAX_NESTED];
    uint32_t depth = 0;
    for (uint32_t at = data_first(&r->data, 0); at != DATA_NONE;
         at = value_at(r, at)->next) {
        struct slice above = data_text(&r->data, at, "parent");
        uint32_t link = data_get(&r->data, at, "a_attr");
        while (depth && !slice_equal(open[depth - 1], above))
            depth--;
        add_entry(r, data_text(&r->data, link, "href"),
                  data_text(&r->data, at, "text"), depth);
        if (depth < MAX_NESTED)
            open[depth++] = data_text(&r->data, at, "id");
    }
    return CONTENTS_WHOLE;
}

/* ---- RoboHelp: [{"type":"book","name":"Use","key":"toc1","url":"use.htm"}], where
 * "toc1.new.js" has what is in the book ---- */

static int read_robohelp(struct reading *r)
{
    for (uint32_t at = data_first(&r->data, 0); at != DATA_NONE;
         at = value_at(r, at)->next) {
        struct slice key = data_text(&r->data, at, "key");
        add_entry(r, data_text(&r->data, at, "url"),
                  data_text(&r->data, at, "name"), 0);
        if (!key.size || memchr(key.data, '/', key.size))
            continue;
        buf_clear(&r->text);
        buf_put_slice(&r->text, key);
        buf_put_text(&r->text, ".new.js");
        add(r, buf_slice(&r->text), 1, (struct slice){"", 0});
    }
    return CONTENTS_WHOLE;
}

/* ---- Doxygen: [["Works","index.html",[["Use","use.html",null],["Classes","annotated.html",
 * "annotated_dup"]]]], where a script beside it has what a text names, which is not read: all
 * names of a kind, or what is below a page that has pages below it.  Paths are from the folder
 * of the script. ---- */

static struct slice text_at(const struct reading *r, uint32_t at)
{
    return at != DATA_NONE && value_at(r, at)->kind == DATA_TEXT
               ? value_at(r, at)->text
               : (struct slice){"", 0};
}

static void take_doxygen(struct reading *r, uint32_t entry, uint32_t depth)
{
    uint32_t title = data_first(&r->data, entry);
    uint32_t url = title == DATA_NONE ? title : value_at(r, title)->next;
    struct slice page = page_of(text_at(r, url));
    if (page.size)
        add(r, page, depth, (struct slice){"", 0});
    else
        add_heading(r, text_at(r, title), depth);
}

static int read_doxygen(struct reading *r)
{
    walk(r, 0, NULL, take_doxygen);
    return CONTENTS_WHOLE;
}

/* ---- All ---- */

/* From `mark` on; false: it is not there. */
static bool find_data(struct slice *text, const char *mark)
{
    const char *at = memmem(text->data, text->size, mark, strlen(mark));
    if (at)
        *text = (struct slice){at, text->size - (size_t)(at - text->data)};
    return at != NULL;
}

static int read_contents(struct reading *r, struct slice text)
{
    bool robohelp =
        text.size && text.data[0] == '(' && find_data(&text, "var toc =");
    bool doxygen = !robohelp && find_data(&text, "var NAVTREE =");
    data_read(text, &r->data);
    if (!r->data.count)
        return CONTENTS_NONE;
    return robohelp                                       ? read_robohelp(r)
           : doxygen                                      ? read_doxygen(r)
           : slice_starts(text, slice_of("define("))      ? read_flare(r)
           : slice_starts(text, slice_of("hmLoadTOC("))   ? read_manual(r)
           : data_get(&r->data, 1, "a_attr") != DATA_NONE ? read_helpndoc(r)
                                                          : CONTENTS_NONE;
}

int scripts_parse(struct slice bytes, struct tree **ret_tree, struct err *err)
{
    struct transcoded file;
    int encoding, code = sniff_file(bytes, &file, &encoding, err);
    if (code)
        return code;
    struct reading r = {.tree = tree_new(false)};
    struct slice text = file.text;
    while (text.size && text_space(text.data, text.size, 0)) {
        text.data++;
        text.size--;
    }
    tree_add_file(r.tree, (struct slice){"", 0});
    tree_add_node(r.tree, TREE_NONE, 0, (struct slice){"", 0},
                  (struct slice){"", 0});
    r.tree->page.encoding = encoding;
    r.tree->page.role = PAGE_CONTENT;
    r.tree->page.contents = read_contents(&r, text);
    r.tree->page.links = tree_copy_links(r.tree, r.links, r.count);
    r.tree->page.link_count = (uint32_t)r.count;
    code = tree_seal(r.tree, err);
    if (code)
        tree_free(r.tree);
    else
        *ret_tree = r.tree;
    data_free(&r.data);
    buf_free(&r.text);
    free(r.links);
    transcode_free(&file);
    return code;
}
