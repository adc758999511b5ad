/* Footnotes: what a tool prints at the end of a page or a section, and at
 * times in the midst of a sentence.  Where a note has an id that something on
 * the page before it links to, it belongs to the node of that link; else it
 * stays where it stands. */
#include "indexer/parse/html/html_internal.h"

enum {
    MAX_MARK = 12, /* bytes of "[1]", "(12)", "[note]" */
    SHORT_MARK = 3 /* of "*", "a" and "†", which do not look like marks */
};

void footnotes_enter(struct walk *w, const xmlNode *element, enum part part)
{
    const char *id = dom_attribute(element, "id");
    if (!id && dom_tag(element) == GUMBO_TAG_A)
        id = dom_attribute(element, "name");
    if (!id)
        return;
    if (part != PART_INLINE)
        walk_flush(w);
    bool begins =
        part == PART_ITEM || part == PART_TERM || part == PART_FOOTNOTES;
    if (!outline_turn(w->outline, slice_of(id)) && begins)
        outline_return(w->outline); /* it is not the note before it */
}

bool footnotes_is_mark(const struct walk *w)
{
    const struct buf *text = &w->writer.text;
    if (!w->in.footnotes || w->in.kind != BLOCK_NOTE || !w->writer.open ||
        text->size > MAX_MARK || memchr(text->data, ' ', text->size))
        return false;
    return text->size <= SHORT_MARK ||
           memchr("[(0123456789", text->data[0], 12) != NULL;
}

bool footnotes_is_label(const struct walk *w, const xmlNode *element,
                        enum part part)
{
    return w->in.kind == BLOCK_NOTE && part == PART_HEADING &&
           !dom_find(element, GUMBO_TAG_A);
}

/* Only a table's last rows can be told from its cells' own text. */
static bool is_here(const struct walk *w, const xmlNode *element)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_SPAN)
        return walk_is_prose(w);
    if (w->in.kind == BLOCK_TABLE)
        return tag == GUMBO_TAG_TBODY || tag == GUMBO_TAG_TFOOT;
    return !walk_is_flat(w);
}

bool footnotes_read(struct walk *w, const xmlNode *element)
{
    if (w->in.footnotes || !is_here(w, element))
        return false;
    walk_flush(w);
    footnotes_enter(w, element, PART_FOOTNOTES);
    walk_anchors(w, element);
    walk_within(w, element,
                (struct context){.kind = BLOCK_NOTE,
                                 .info = slice_of("footnote"),
                                 .footnotes = element});
    outline_return(w->outline);
    return true;
}
