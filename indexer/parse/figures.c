#include "indexer/parse/classes.h"
#include "indexer/parse/walk.h"

/* ---- Images ---- */

static void figure(struct walk *w, const xmlNode *figure)
{
    unsigned blocks =
        DOM_HOLDS_CODE | DOM_HOLDS_TABLE | DOM_HOLDS_LIST | DOM_HOLDS_HEADING;
    int kind = dom_holds(figure, blocks) ? BLOCK_PARAGRAPH : BLOCK_FIGURE;
    walk_within(w, figure, (struct context){.kind = kind});
}

static bool is_tex(const xmlNode *image, const char *text)
{
    return text[0] == '\\' || text[0] == '$' || classes_has(image, "math");
}

static void image(struct walk *w, const xmlNode *image)
{
    const char *text = dom_attribute(image, "alt");
    if (!text || !*text)
        return;
    struct span span = walk_tag_span(image);
    if (w->in.kind == BLOCK_FIGURE || w->in.kind == IN_TITLE) {
        walk_boundary(w);
        writer_literal(&w->writer, slice_of(text), span);
        walk_boundary(w);
    } else if (w->in.kind == BLOCK_MATH || is_tex(image, text)) {
        writer_literal(&w->writer, slice_of(text), span);
    } else if (!walk_is_flat(w) && !w->writer.open && !w->image.size &&
               !(w->in.kind == BLOCK_NOTE &&
                 classes_is_label(slice_of(text)))) {
        w->image = slice_of(text);
        w->image_span = span;
    }
}

/* Text in a drawing stands where it is drawn: no order, no lines. */
static void drawing_text(struct walk *w, const xmlNode *drawing)
{
    bool skip = false;
    for (const xmlNode *at = dom_next(drawing, drawing, false); at;
         at = dom_next(at, drawing, skip)) {
        skip = false;
        if (dom_is_element(at)) {
            const char *name = (const char *)at->name;
            skip = !strcmp(name, "title") || !strcmp(name, "desc") ||
                   !strcmp(name, "style") || !strcmp(name, "script") ||
                   !strcmp(name, "metadata");
            writer_space(&w->writer);
        } else {
            writer_text(&w->writer, dom_text(at));
        }
    }
}

static void drawing(struct walk *w, const xmlNode *drawing)
{
    if (!dom_holds(drawing, DOM_HOLDS_TEXT) || w->in.kind == IN_TITLE)
        return;
    if (walk_is_flat(w) || w->in.kind == BLOCK_FIGURE) {
        walk_boundary(w);
        drawing_text(w, drawing);
        walk_boundary(w);
        return;
    }
    walk_flush(w);
    struct context outer = w->in;
    struct separator next = w->writer.next;
    w->in = (struct context){.kind = BLOCK_FIGURE};
    w->writer.next = (struct separator){0};
    drawing_text(w, drawing);
    walk_flush(w);
    w->in = outer;
    w->writer.next = next;
}

/* The TeX source that a formula in MathML carries along, or NULL. */
static const xmlNode *tex_of(const xmlNode *formula)
{
    for (const xmlNode *at = dom_next(formula, formula, false); at;
         at = dom_next(at, formula, false)) {
        if (!dom_is_element(at) || strcmp((const char *)at->name, "annotation"))
            continue;
        const char *encoding = dom_attribute(at, "encoding");
        if (encoding && strstr(encoding, "tex"))
            return at;
    }
    return NULL;
}

static void mathml(struct walk *w, const xmlNode *formula)
{
    const xmlNode *tex = tex_of(formula);
    const char *display = dom_attribute(formula, "display");
    const xmlNode *source = tex ? tex : formula;
    if (display && !strcmp(display, "block") && !walk_is_flat(w))
        walk_within(w, source, (struct context){.kind = BLOCK_MATH});
    else
        walk_children(w, source);
}

static void tex_script(struct walk *w, const xmlNode *script)
{
    const char *type = dom_attribute(script, "type");
    if (strstr(type, "display") && !walk_is_flat(w))
        walk_within(w, script, (struct context){.kind = BLOCK_MATH});
    else
        walk_children(w, script);
}

/* ---- All of them ---- */

bool figures_element(struct walk *w, const xmlNode *element,
                     const struct rule *rule)
{
    switch (rule->part) {
    case PART_FIGURE:
        if (walk_is_flat(w) || w->in.kind == BLOCK_FIGURE)
            return false;
        figure(w, element);
        return true;
    case PART_IMAGE: image(w, element); return true;
    case PART_DRAWING: drawing(w, element); return true;
    case PART_MATHML: mathml(w, element); return true;
    case PART_TEX: tex_script(w, element); return true;
    default: return false;
    }
}
