/* What is not read, for those who ask. */
#include "indexer/parse/html/html_internal.h"

static bool is_code(const xmlNode *node)
{
    int tag = dom_tag(node);
    return tag == GUMBO_TAG_SCRIPT || tag == GUMBO_TAG_STYLE ||
           tag == GUMBO_TAG_HEAD;
}

void boilerplate_keep(struct walk *w, const xmlNode *element, const char *why)
{
    if (!w->outline->keeps_dropped || is_code(element))
        return;
    struct writer writer = {.dom = w->dom};
    bool skip = false;
    for (const xmlNode *at = dom_next(element, element, false); at;
         at = dom_next(at, element, skip)) {
        skip = is_code(at);
        if (!dom_is_element(at))
            writer_text(&writer, dom_text(at));
        else if (rules_of(at).part != PART_INLINE)
            writer_space(&writer);
    }
    struct slice text;
    struct span span;
    if (writer_take(&writer, &text, &span))
        outline_boilerplate(w->outline, text, why, span);
    buf_free(&writer.text);
}
