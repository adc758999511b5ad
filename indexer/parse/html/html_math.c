/* Formulas: TeX, where the page carries it along. */
#include <strings.h>

#include "indexer/parse/html/html_internal.h"
#include "indexer/parse/html/mathml.h"

/* The TeX source that a formula in MathML has as an annotation, or NULL. */
static const xmlNode *annotation_of(const xmlNode *formula)
{
    for (const xmlNode *at = dom_next(formula, formula, false); at;
         at = dom_next(at, formula, false)) {
        if (!dom_is_element(at) || strcmp((const char *)at->name, "annotation"))
            continue;
        const char *encoding = dom_attribute(at, "encoding");
        if (encoding && strcasestr(encoding, "tex"))
            return at;
    }
    return NULL;
}

static void read_formula(struct walk *w, const xmlNode *formula)
{
    const xmlNode *tex = annotation_of(formula);
    const char *alternative = dom_attribute(formula, "alttext");
    if (tex)
        walk_children(w, tex);
    else if (alternative && *alternative)
        writer_literal(&w->writer, slice_of(alternative),
                       walk_tag_span(formula));
    else
        mathml_read(&w->writer, formula);
}

/* A block of its own, where a block may begin. */
static void displayed(struct walk *w, const xmlNode *formula,
                      void (*read)(struct walk *, const xmlNode *))
{
    walk_flush(w);
    struct context outer = w->in;
    struct separator next = w->writer.next;
    w->in = (struct context){.kind = BLOCK_MATH};
    w->writer.next = (struct separator){0};
    read(w, formula);
    walk_flush(w);
    w->in = outer;
    w->writer.next = next;
}

static bool is_displayed(const struct walk *w, const char *how,
                         const char *word)
{
    return how && strstr(how, word) && !walk_is_flat(w);
}

bool math_element(struct walk *w, const xmlNode *element,
                  const struct rule *rule)
{
    if (rule->part == PART_MATHML) {
        if (is_displayed(w, dom_attribute(element, "display"), "block"))
            displayed(w, element, read_formula);
        else
            read_formula(w, element);
    } else if (rule->part == PART_TEX) {
        if (is_displayed(w, dom_attribute(element, "type"), "display"))
            displayed(w, element, walk_children);
        else
            walk_children(w, element);
    } else {
        return false;
    }
    return true;
}
