#include "daemon/answer/copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "daemon/answer/languages.h"
#include "daemon/answer/shingles.h"
#include "daemon/verbs/result.h"
#include "memory/snapshot/content.h"

enum {
    DEPTH = 4,              /* hits looked at for one that is shown */
    MAX_DEPTH = 100,        /* beyond it scores would change (route.h) */
    MIN_TRANSLATED = 8,     /* files: an index.html is everywhere */
    MAX_PAIRS = 8,          /* of languages looked at in a search */
    MIN_SHINGLES = 8,       /* of a text that tells: "See below." is anywhere */
    MAX_WORDS = 20000,      /* of a section that is read to be compared */
    MAX_WORDS_READ = 400000 /* of all of them in a search */
};

/* Resemblance from which two texts say the same: anywhere, at the same place. */
static const double SAME = 0.8, SAME_PLACE = 0.5;

struct section {
    const struct view *view;
    uint32_t node;
    struct slice path, language;
    uint64_t place; /* file and anchor without the language; 0: none */
    uint64_t title; /* hash of its letters */
    bool read;      /* shingles are there, or cannot be had */
    struct shingles shingles;
};

/* Whether a manual's files come in two languages. */
struct pair {
    const struct view *view;
    struct slice a, b;
    bool translates;
};

struct folding {
    const struct snapshot *snapshot;
    struct copies_rule rule;
    const atomic_bool *cancelled;
    size_t words_read;
    struct pair pairs[MAX_PAIRS];
    int pair_count;
};

size_t copies_depth(size_t max)
{
    size_t depth = max < MAX_DEPTH / DEPTH ? max * DEPTH : MAX_DEPTH;
    return depth > max ? depth : max;
}

/* ---- A section ---- */

static struct slice path_of(const struct view *view, uint32_t node)
{
    uint32_t file = view->nodes[node].file;
    return file == TREE_NONE ? (struct slice){"", 0}
                             : view->outline->files[file];
}

/* Several sections of a file may have no anchor: only its first is at a place. */
static bool has_place(const struct view *view, uint32_t node)
{
    const struct node *of = &view->outline->nodes[node];
    return of->anchor.size || of->parent == TREE_NONE ||
           view->nodes[of->parent].file != view->nodes[node].file;
}

static uint64_t place_of(const struct view *view, uint32_t node,
                         struct slice path)
{
    if (!path.size || !has_place(view, node))
        return 0;
    struct slice anchor = view->outline->nodes[node].anchor;
    uint64_t parts[] = {language_path_key(path),
                        hash_bytes64(anchor.data, anchor.size)};
    return hash_bytes64(parts, sizeof parts);
}

/* Neither numbers nor signs count: chapters are numbered otherwise elsewhere. */
static uint64_t hash_of_title(struct slice title)
{
    struct buf letters = {0};
    for (size_t at = 0, step; at < title.size; at += step) {
        uint32_t c = text_decode(title.data, title.size, at, &step);
        if (text_is_letter(c))
            text_encode(&letters, text_lower(c));
    }
    uint64_t hash = hash_bytes64(letters.data, letters.size);
    buf_free(&letters);
    return hash;
}

static struct section section_of(const struct route_hit *hit)
{
    const struct view *view = hit->view;
    struct slice path = path_of(view, hit->node);
    return (struct section){
        .view = view,
        .node = hit->node,
        .path = path,
        .language = language_of_path(path),
        .place = place_of(view, hit->node, path),
        .title = hash_of_title(view->outline->nodes[hit->node].title)};
}

/* Once for each section; none of what is too long or cannot be read. */
static const struct shingles *shingles_in(struct folding *folding,
                                          struct section *section)
{
    uint32_t words = section->view->outline->nodes[section->node].words;
    struct content content;
    if (section->read)
        return &section->shingles;
    section->read = true;
    if (words > MAX_WORDS || folding->words_read + words > MAX_WORDS_READ)
        return &section->shingles;
    folding->words_read += words;
    if (content_open(folding->snapshot, section->view, section->node, &content,
                     NULL))
        return &section->shingles;
    shingles_of(content.node, &section->shingles);
    content_close(&content);
    return &section->shingles;
}

/* ---- Two sections ---- */

static bool is_cancelled(const struct folding *folding)
{
    return folding->cancelled && atomic_load(folding->cancelled);
}

static bool says_the_same(struct folding *folding, struct section *a,
                          struct section *b)
{
    const struct node *x = &a->view->outline->nodes[a->node];
    const struct node *y = &b->view->outline->nodes[b->node];
    if (hash_equal(x->own, y->own))
        return x->words > 0;
    double least = folding->rule.equal                ? 1
                   : a->place && a->place == b->place ? SAME_PLACE
                                                      : SAME;
    uint32_t fewer = x->words < y->words ? x->words : y->words;
    uint32_t more = x->words < y->words ? y->words : x->words;
    if (fewer < least / 2 * more)
        return false;
    const struct shingles *in_a = shingles_in(folding, a);
    const struct shingles *in_b = shingles_in(folding, b);
    return in_a->count >= MIN_SHINGLES && shingles_alike(in_a, in_b) >= least;
}

static bool comes_in_both(struct folding *folding, const struct view *view,
                          struct slice a, struct slice b)
{
    for (int i = 0; i < folding->pair_count; i++) {
        const struct pair *pair = &folding->pairs[i];
        if (pair->view == view && slice_equal(pair->a, a) &&
            slice_equal(pair->b, b))
            return pair->translates;
    }
    if (folding->pair_count == MAX_PAIRS)
        return false;
    bool translates = languages_translate(view->outline, a, b, MIN_TRANSLATED);
    folding->pairs[folding->pair_count++] =
        (struct pair){view, a, b, translates};
    return translates;
}

static bool is_translation(struct folding *folding, const struct section *a,
                           const struct section *b)
{
    return !folding->rule.equal && a->place && a->place == b->place &&
           a->language.size && b->language.size &&
           !slice_equal(a->language, b->language) &&
           comes_in_both(folding, a->view, a->language, b->language);
}

static bool is_copy(struct folding *folding, struct section *a,
                    struct section *b)
{
    if (a->view == b->view && folding->rule.between &&
        is_translation(folding, a, b))
        return true;
    if (a->view == b->view ? slice_equal(a->path, b->path)
                           : !folding->rule.between)
        return false;
    return a->title == b->title && says_the_same(folding, a, b);
}

/* Is the section most of its page? */
static bool makes_its_page(const struct section *section)
{
    const struct view *view = section->view;
    uint32_t file = view->nodes[section->node].file;
    uint64_t words = 0;
    for (uint32_t n = 0; n < view->outline->count; n++)
        if (view->nodes[n].file == file)
            words += view->nodes[n].words;
    return 2 * (uint64_t)view->nodes[section->node].words >= words;
}

/* Is the copy the one to be shown? */
static bool is_better(const struct section *copy, const struct section *shown)
{
    return copy->view == shown->view && makes_its_page(copy) &&
           !makes_its_page(shown);
}

/* ---- The list ---- */

/* The index of the section [count] that it is a copy of; `count`: of none. */
static size_t original_of(struct folding *folding, struct section *shown,
                          size_t count, struct section *section)
{
    size_t i = 0;
    while (i < count && !is_copy(folding, &shown[i], section))
        i++;
    return i;
}

void copies_fold(const struct snapshot *snapshot, struct route_result *route,
                 size_t max, struct copies_rule rule,
                 const atomic_bool *cancelled, struct copies *ret)
{
    struct folding folding = {
        .snapshot = snapshot, .rule = rule, .cancelled = cancelled};
    struct section *shown = mem_alloc((route->count + 1) * sizeof *shown);
    size_t kept = 0;
    *ret = (struct copies){
        .items = mem_alloc((route->count + 1) * sizeof *ret->items)};
    for (size_t i = 0; i < route->count && !is_cancelled(&folding); i++) {
        struct section section = section_of(&route->hits[i]);
        size_t of = original_of(&folding, shown, kept, &section);
        if (of < kept && is_better(&section, &shown[of])) {
            struct section better = section;
            double score = route->hits[of].score;
            section = shown[of];
            shown[of] = better;
            route->hits[of] = route->hits[i];
            route->hits[of].score = score; /* the place of the first */
        }
        if (of < kept) {
            ret->items[ret->count++] =
                (struct copy){of, section.view, section.node};
        } else if (kept < max) {
            route->hits[kept] = route->hits[i];
            shown[kept++] = section;
            continue;
        }
        shingles_free(&section.shingles);
    }
    route->count = kept;
    for (size_t i = 0; i < kept; i++)
        shingles_free(&shown[i].shingles);
    free(shown);
}

void copies_free(struct copies *copies)
{
    free(copies->items);
    *copies = (struct copies){0};
}

void copies_put(struct json *json, const struct copies *copies, size_t hit)
{
    bool begun = false;
    for (size_t i = 0; i < copies->count; i++) {
        const struct copy *copy = &copies->items[i];
        if (copy->of != hit)
            continue;
        if (!begun) {
            json_key(json, "copies");
            json_begin(json, '[');
        }
        begun = true;
        json_begin(json, '{');
        json_field_text(json, "manual", copy->view->manual.name);
        result_node_id(json, "node", copy->view, copy->node);
        json_field_string(json, "file", path_of(copy->view, copy->node));
        json_end(json, '}');
    }
    if (begun)
        json_end(json, ']');
}
