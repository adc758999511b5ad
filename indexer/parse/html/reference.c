#include "indexer/parse/html/reference.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/apis.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/commented.h"
#include "indexer/parse/html/docgens.h"
#include "indexer/parse/html/labels.h"
#include "indexer/parse/html/makers.h"
#include "indexer/parse/html/rules.h"

/* ---- Lists of terms ----
 *
 * A <dl> is a list of entries when a tool marked its terms as signatures
 * (Sphinx, Texinfo, SWI-Prolog), or when at least half of its terms have an
 * anchor of their own and are set as code, or read like an option, and a
 * meaning has at least MIN_WORDS words on average, or when three of four have an
 * anchor and a meaning is as long as a section is (MIN_LONG), or when most of two or
 * more ask (git's FAQ) and are answered in MIN_WORDS; or when it has
 * MANY terms, whatever they are, and MUCH text: nobody reads it from one end to the
 * other (git's variables, Python's glossary, codecs' options).  All others
 * (short glossaries, terms with a line of meaning each) stay definitions in their
 * section. */

enum {
    MIN_WORDS = 15,
    MIN_LONG = 40,
    MANY = 8,
    MUCH = 1000,   /* words */
    ENTRY = 2500,  /* words that an entry may have, with the lists in it */
    MAX_TERM = 12, /* words of a term, on average: of more it is no name */
    MAX_LOOK = 64
};

static bool has_any_class(const xmlNode *element, const char *const *names)
{
    for (; *names; names++)
        if (classes_has(element, *names))
            return true;
    return false;
}

static bool has_class_like(const xmlNode *element, const char *prefix)
{
    const char *classes = dom_attribute(element, "class");
    size_t size = strlen(prefix);
    for (const char *at = classes; at && *at;) {
        at += strspn(at, " \t\n\r\f");
        if (!strncmp(at, prefix, size))
            return true;
        at += strcspn(at, " \t\n\r\f");
    }
    return false;
}

/* Sphinx: the term itself, or the name in it. */
static bool is_signature(const xmlNode *term)
{
    static const char *const own[] = {"sig", "pubdef", "multidef", NULL};
    static const char *const within[] = {"descname", "sig-name", NULL};
    if (has_any_class(term, own))
        return true;
    int left = MAX_LOOK;
    for (const xmlNode *at = dom_next(term, term, false); at && left--;
         at = dom_next(at, term, false))
        if (dom_is_element(at) && has_any_class(at, within))
            return true;
    return false;
}

/* Terms stand in the list itself or in a <div> of it. */
static const xmlNode *next_in_list(const xmlNode *at, const xmlNode *list)
{
    bool skip = at != list && dom_tag(at) != GUMBO_TAG_DIV;
    return dom_next(at, list, skip);
}

static const xmlNode *first_term(const xmlNode *list)
{
    const xmlNode *at = list->children ? next_in_list(list, list) : NULL;
    while (at && dom_tag(at) != GUMBO_TAG_DT)
        at = next_in_list(at, list);
    return at;
}

bool reference_is_signatures(const xmlNode *list)
{
    static const char *const texinfo[] = {"def", NULL};
    const xmlNode *term = first_term(list);
    return term &&
           (has_any_class(list, texinfo) || has_class_like(list, "def") ||
            has_class_like(list, "first-def") || is_signature(term) ||
            makers_is_signatures(list, term) || apis_is_signatures(list, term));
}

bool reference_is_anchored(const xmlNode *list)
{
    const xmlNode *term = first_term(list);
    return term && dom_attribute(term, "id") && reference_is_signatures(list);
}

/* Does the term read "-x"? */
static bool is_option(const xmlNode *term)
{
    for (const xmlNode *at = dom_next(term, term, false); at;
         at = dom_next(at, term, false)) {
        if (dom_is_element(at))
            continue;
        struct slice text = dom_text(at)->text;
        size_t from = 0, step;
        while (from < text.size &&
               (step = text_space(text.data, text.size, from)) > 0)
            from += step;
        if (from < text.size)
            return from + 1 < text.size && text.data[from] == '-' &&
                   text.data[from + 1] > ' ';
    }
    return false;
}

/* An empty anchor, as <a name=x></a>. */
static bool is_anchor_alone(const xmlNode *node)
{
    return dom_tag(node) == GUMBO_TAG_A && !dom_holds(node, DOM_HOLDS_TEXT) &&
           (dom_attribute(node, "name") || dom_attribute(node, "id"));
}

bool reference_is_anchor_of_next(const xmlNode *part)
{
    if (!is_anchor_alone(part))
        return false;
    const xmlNode *next = part->next;
    while (next && (dom_is_element(next) ? is_anchor_alone(next)
                                         : text_is_blank(dom_text(next)->text)))
        next = next->next;
    return next && dom_tag(next) == GUMBO_TAG_DT;
}

static bool has_anchor_above(const xmlNode *term)
{
    const xmlNode *above = term->prev;
    while (above && !dom_is_element(above) &&
           text_is_blank(dom_text(above)->text))
        above = above->prev;
    return above && is_anchor_alone(above);
}

static bool has_anchor(const xmlNode *term)
{
    bool anchor = dom_attribute(term, "id") || has_anchor_above(term);
    for (const xmlNode *at = dom_next(term, term, false); at && !anchor;
         at = dom_next(at, term, false))
        anchor = dom_is_element(at) &&
                 (dom_attribute(at, "id") ||
                  (dom_tag(at) == GUMBO_TAG_A && dom_attribute(at, "name")));
    return anchor;
}

static bool has_code(const xmlNode *term)
{
    for (const xmlNode *at = dom_next(term, term, false); at;
         at = dom_next(at, term, false)) {
        int tag = dom_tag(at);
        if (tag == GUMBO_TAG_CODE || tag == GUMBO_TAG_TT ||
            tag == GUMBO_TAG_SAMP || tag == GUMBO_TAG_KBD)
            return true;
    }
    return false;
}

static size_t words_of(struct slice text, size_t *wide)
{
    size_t words = 0;
    bool in_word = false;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        bool space = byte <= ' ';
        *wide += byte >= 0xe3 && byte <= 0xed; /* U+3000 to U+DFFF */
        words += !space && !in_word;
        in_word = !space;
    }
    return words;
}

/* Of scripts that put no space between words, two characters are one.  Looks at so
 * much of a meaning, since lists of entries nest. */
size_t reference_words(const xmlNode *element)
{
    enum { MAX_NODES = 4096, MAX_BYTES = 1 << 15 };
    size_t words = 0, wide = 0, bytes = 0, nodes = 0;
    for (const xmlNode *at = dom_next(element, element, false);
         at && nodes < MAX_NODES && bytes < MAX_BYTES;
         at = dom_next(at, element, false), nodes++) {
        if (dom_is_element(at))
            continue;
        struct slice text = dom_text(at)->text;
        if (text.size > MAX_BYTES)
            text.size = MAX_BYTES;
        bytes += text.size;
        words += words_of(text, &wide);
    }
    return words + wide / 2;
}

/* Does the term lead elsewhere, as those of an index do? */
static bool is_link(const xmlNode *term)
{
    const xmlNode *link = dom_find(term, GUMBO_TAG_A);
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return url && url[0] != '#';
}

/* Is it a number that nobody knows by heart: "R-54466-46756-05959"? */
static bool is_number(const xmlNode *term)
{
    enum { MIN_DIGITS = 10 };
    size_t digits = 0, letters = 0;
    for (const xmlNode *at = dom_next(term, term, false); at;
         at = dom_next(at, term, false)) {
        struct slice text = {"", 0};
        if (!dom_is_element(at))
            text = dom_text(at)->text;
        for (size_t i = 0; i < text.size; i++) {
            digits += text_is_digit((unsigned char)text.data[i]);
            letters += text_is_letter((unsigned char)text.data[i]);
        }
    }
    return digits >= MIN_DIGITS && digits > letters;
}

/* Does it end with a question mark? */
static bool is_question(const xmlNode *term)
{
    static const char *const marks[] = {"?", "？", "؟"};
    struct buf text = {0};
    bool found = false;
    for (const xmlNode *at = dom_next(term, term, false); at;
         at = dom_next(at, term, false)) {
        if (dom_is_element(at) || text_is_blank(dom_text(at)->text))
            continue;
        buf_clear(&text);
        text_fold_space(&text, dom_text(at)->text);
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks && !found; i++) {
        size_t size = strlen(marks[i]);
        found = text.size >= size &&
                !memcmp(text.data + text.size - size, marks[i], size);
    }
    buf_free(&text);
    return found;
}

void reference_count_term(struct reference_counts *counts, const xmlNode *term)
{
    bool anchor = has_anchor(term);
    counts->terms++;
    counts->anchored += anchor;
    counts->named += (anchor && has_code(term)) || is_option(term);
    counts->links += is_link(term);
    counts->numbers += is_number(term);
    counts->questions += is_question(term) && reference_words(term) > 1;
    counts->term_words += reference_words(term);
}

/* The word that the term begins with. */
static struct buf name_of(const xmlNode *term)
{
    struct buf name = {0};
    for (const xmlNode *at = dom_next(term, term, false); at;
         at = dom_next(at, term, false)) {
        struct slice text = {"", 0};
        if (!dom_is_element(at))
            text = dom_text(at)->text;
        for (size_t i = 0; i < text.size; i++) {
            bool space = text_space(text.data, text.size, i) > 0;
            if (space && name.size)
                return name;
            if (!space)
                buf_put_byte(&name, text.data[i]);
        }
    }
    return name;
}

bool reference_goes_on(const xmlNode *meaning)
{
    const xmlNode *term = dom_element_before(meaning),
                  *next = dom_element_from(meaning->next);
    if (!term || dom_tag(term) != GUMBO_TAG_DT || !next ||
        dom_tag(next) != GUMBO_TAG_DT || !dom_attribute(term, "id") ||
        !dom_attribute(next, "id") || meaning->properties ||
        dom_element_from(meaning->children) ||
        dom_holds(meaning, DOM_HOLDS_TEXT))
        return false;
    struct buf own = name_of(term), other = name_of(next);
    bool same = own.size && slice_equal(buf_slice(&own), buf_slice(&other));
    buf_free(&own);
    buf_free(&other);
    return same;
}

bool reference_is_nameless(const xmlNode *term)
{
    return !dom_holds(term, DOM_HOLDS_TEXT) &&
           !dom_holds(term, DOM_HOLDS_IMAGE) && !has_anchor(term);
}

static struct reference_counts count_list(const xmlNode *list)
{
    struct reference_counts counts = {0};
    bool term_last = false;
    for (const xmlNode *at = next_in_list(list, list); at;
         at = next_in_list(at, list)) {
        int tag = dom_tag(at);
        if (tag == GUMBO_TAG_DT && !reference_is_nameless(at)) {
            reference_count_term(&counts, at);
            counts.groups += !term_last;
            term_last = true;
        } else if (tag == GUMBO_TAG_DD) {
            counts.words += reference_words(at);
            term_last = false;
        }
    }
    return counts;
}

static bool answers(const struct reference_counts *counts)
{
    return counts->terms >= 2 && 2 * counts->questions > counts->terms &&
           counts->words >= MIN_WORDS * counts->groups;
}

static bool describes_names(const struct reference_counts *counts)
{
    return counts->terms && ((2 * counts->named >= counts->terms &&
                              counts->words >= MIN_WORDS * counts->groups) ||
                             (4 * counts->anchored >= 3 * counts->terms &&
                              counts->words >= MIN_LONG * counts->groups));
}

/* Is it too long to be read, and made to be looked up in? */
static bool is_long(const struct reference_counts *counts, size_t much)
{
    return counts->groups >= MANY && counts->words >= much &&
           counts->term_words <= MAX_TERM * counts->terms &&
           2 * counts->links < counts->terms &&
           2 * counts->numbers < counts->terms;
}

static bool is_glossary_term(const xmlNode *term)
{
    static const char *const classes[] = {"glossterm", NULL};
    const xmlNode *first = term->children;
    while (first && !dom_is_element(first))
        first = first->next;
    return first && has_any_class(first, classes);
}

bool reference_is_list(const xmlNode *list, bool within)
{
    static const char *const never[] = {
        "toc",  "field-list", "footnote", "citation", "bib", "thebibliography",
        "tags", "indextable", "indexdiv", NULL};
    static const char *const glossary[] = {"glossary", "glosslist", NULL};
    const xmlNode *term = first_term(list);
    if (!term || has_any_class(list, never) ||
        has_any_class(list->parent, never))
        return false;
    if (reference_is_signatures(list))
        return true;
    struct reference_counts counts = count_list(list);
    bool glosses = is_glossary_term(term) || has_any_class(list, glossary) ||
                   has_any_class(list->parent, glossary);
    return is_long(&counts, within ? ENTRY : MUCH) ||
           (!within && !glosses &&
            (describes_names(&counts) || answers(&counts)));
}

bool reference_are_entries(const struct reference_counts *counts)
{
    return is_long(counts, MUCH) || describes_names(counts);
}

/* ---- Headings ---- */

struct head {
    int tag;
    const char *class;  /* its own, NULL: any */
    const char *around; /* its parent's, NULL: any */
};

static const struct head heads[] = {
    {GUMBO_TAG_H2, "memtitle", NULL},    /* Doxygen */
    {GUMBO_TAG_H3, "fn", NULL},          /* qdoc */
    {GUMBO_TAG_H4, "code-header", NULL}, /* rustdoc */
    {GUMBO_TAG_H3, "variant", NULL},     /* rustdoc */
    {GUMBO_TAG_H3, "code-header", "variant"},
    {GUMBO_TAG_SPAN, "structfield", NULL}, /* rustdoc */
    {GUMBO_TAG_H3, NULL, "detail"},        /* javadoc */
    {GUMBO_TAG_H4, NULL, "blockList"},     /* javadoc */
    {GUMBO_TAG_H4, NULL, "blockListLast"},
    {GUMBO_TAG_H4, "func-head", NULL},                 /* erl_docgen */
    {GUMBO_TAG_H3, NULL, "method-item"},               /* Doctum */
    {GUMBO_TAG_DIV, "functionHeader", NULL},           /* pydoctor */
    {GUMBO_TAG_SPAN, "method-title", "method-header"}, /* phpDocumentor 1 */
    {GUMBO_TAG_SPAN, "var-title", "var-header"},
    {GUMBO_TAG_SPAN, "const-title", "const-header"},
};

/* Does it hold an anchor whose name begins so? */
static bool holds_anchor(const xmlNode *element, int tag, const char *prefix)
{
    int left = MAX_LOOK;
    for (const xmlNode *at = dom_next(element, element, false); at && left--;
         at = dom_next(at, element, false)) {
        if (dom_tag(at) != tag)
            continue;
        const char *name =
            dom_attribute(at, tag == GUMBO_TAG_A ? "name" : "id");
        if (name && !strncmp(name, prefix, strlen(prefix)))
            return true;
    }
    return false;
}

/* ocamldoc: <pre><span id="VALmap">...</pre>, then what it does. */
static bool is_ocaml(const xmlNode *element)
{
    static const char *const kinds[] = {"VAL", "TYPE", "EXCEPTION", "MODULE",
                                        "METHOD"};
    const xmlNode *first = element->children;
    const char *id = first && dom_tag(first) == GUMBO_TAG_SPAN
                         ? dom_attribute(first, "id")
                         : NULL;
    for (size_t i = 0; id && i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(id, kinds[i], strlen(kinds[i])))
            return true;
    return false;
}

/* Snd's manual: <pre><em id="makepump">make-pump</em> pressure</pre>, what it defines. */
static bool is_definition(const xmlNode *code)
{
    const xmlNode *first = dom_element_from(code->children);
    const xmlNode *before = first ? first->prev : NULL;
    int tag = first ? dom_tag(first) : GUMBO_TAG_LAST;
    return (tag == GUMBO_TAG_EM || tag == GUMBO_TAG_DFN) &&
           (!before || text_is_blank(dom_text(before)->text)) &&
           labels_is_called(first, first);
}

/* stex, of Chez Scheme's manuals: the first of several forms, a line each. */
static bool is_stex(const xmlNode *form)
{
    static const char name[] = "formdef";
    if (!classes_has(form, name))
        return false;
    const xmlNode *line = dom_element_before(form);
    const xmlNode *before =
        line && dom_tag(line) == GUMBO_TAG_BR ? dom_element_before(line) : NULL;
    return !before || !classes_has(before, name);
}

bool reference_is_heading(const xmlNode *element)
{
    int tag = dom_tag(element);
    if ((tag == GUMBO_TAG_SPAN && is_stex(element)) ||
        docgens_is_heading(element))
        return true;
    if (tag == GUMBO_TAG_PRE)
        return is_ocaml(element) || is_definition(element);
    if (tag == GUMBO_TAG_P) /* Scribble */
        return element->properties && classes_has(element, "RForeground") &&
               holds_anchor(element, GUMBO_TAG_A, "(");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (heads[i].tag == tag &&
            (!heads[i].class || classes_has(element, heads[i].class)) &&
            (!heads[i].around || classes_has(element->parent, heads[i].around)))
            return true;
    return false;
}

bool reference_is_bare(const xmlNode *section)
{
    static const char *const kinds[] = {"impl-", "method.", "tymethod.",
                                        "variant.", "associated"};
    const char *id = dom_attribute(section, "id");
    for (size_t i = 0; id && i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(id, kinds[i], strlen(kinds[i])))
            return true;
    return dom_tag(section->parent) == GUMBO_TAG_SUMMARY;
}

/* ---- Boxes ---- */

static const xmlNode *child_of_class(const xmlNode *element, const char *name)
{
    const xmlNode *child = element->children;
    while (child && !(dom_is_element(child) && classes_has(child, name)))
        child = child->next;
    return child;
}

const xmlNode *reference_name_in(const xmlNode *box)
{
    const xmlNode *name = box->properties ? apis_name_in(box) : NULL;
    name = name ? name : docgens_name_in(box);
    name = name ? name : commented_name_in(box);
    if (name || dom_tag(box) != GUMBO_TAG_DIV || !box->properties)
        return name;
    if (classes_has(box, "top")) /* Haddock */
        return child_of_class(box, "src");
    if (classes_has(box, "entry-detail")) /* Crystal */
        return child_of_class(box, "signature");
    if (classes_has(box, "qmlitem")) /* QDoc, of types in QML */
        return child_of_class(box, "qmlproto");
    if (classes_has(box, "method-detail")) /* RDoc, of two ages */
        return child_of_class(box, "method-heading")
                   ? child_of_class(box, "method-heading")
                   : child_of_class(box, "method-header");
    if (!classes_has(box, "memitem")) /* Doxygen before 1.8.14 */
        return NULL;
    const xmlNode *before = dom_element_before(box);
    if (before && classes_has(before, "memtitle"))
        return NULL;
    return child_of_class(box, "memproto");
}
