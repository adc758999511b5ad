#include "indexer/parse/html/dom/links.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_absolute(const char *url)
{
    size_t scheme = 0;
    while (isalpha((unsigned char)url[scheme]))
        scheme++;
    return *url == '/' || (scheme && url[scheme] == ':');
}

/* Of a reasonable size: all links of the page are written with it. */
static struct slice folder_of(const char *url)
{
    enum { MAX_FOLDER = 256 };
    const char *end = strrchr(url, '/');
    return end && end - url < MAX_FOLDER && !is_absolute(url)
               ? (struct slice){url, (size_t)(end + 1 - url)}
               : (struct slice){"", 0};
}

/* "../" of <base href="../">; empty: none. */
static struct slice find_base(const xmlNode *top)
{
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false)) {
        const char *url =
            dom_tag(at) == GUMBO_TAG_BASE ? dom_attribute(at, "href") : NULL;
        if (url)
            return folder_of(url);
    }
    return (struct slice){"", 0};
}

static void rebase(struct dom *dom, struct slice folder, xmlAttr *link)
{
    const char *url = (const char *)link->children->content;
    if (!*url || *url == '#' || *url == '?' || is_absolute(url))
        return;
    struct buf whole = {0};
    buf_put_slice(&whole, folder);
    buf_put_text(&whole, url);
    link->children->content =
        (xmlChar *)arena_copy(&dom->arena, whole.data, whole.size);
    buf_free(&whole);
}

void links_rebase(struct dom *dom)
{
    const xmlNode *top = (const xmlNode *)dom->doc;
    struct slice folder = {"", 0};
    if (dom->based)
        folder = find_base(top);
    if (!folder.size)
        return;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false)) {
        int tag = dom_tag(at);
        if (tag != GUMBO_TAG_A && tag != GUMBO_TAG_AREA &&
            tag != GUMBO_TAG_LINK)
            continue;
        for (xmlAttr *a = at->properties; a; a = a->next)
            if (!strcmp((const char *)a->name, "href"))
                rebase(dom, folder, a);
    }
}
