#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/comparison.h"
#include "memory/lexical/names.h"
#include "memory/lexical/parts.h"
#include "memory/routing/route_internal.h"

/* A section or entry that is called as the question is comes before all others,
 * whose scores are at most the sum of the weights; first one that is written so. */
static const double NAMED = 10, NAMED_PART = 5, NAMED_SAME = 20;
/* What is called as an identifier in the question, or as its last part is; as what the
 * question asks about. */
static const double NAMED_WITHIN = 1, NAMED_WITHIN_PART = 0.9,
                    NAMED_SUBJECT = 2;
/* More, where both are written with capitals: "what is a Pattern" asks for the class. */
static const double NAMED_SUBJECT_SAME = 0.5;
/* What defines the identifier that the question asks about, as a list's term or in a
 * table's first column, where nothing is called so. */
static const double DEFINES = 3;
/* And what so defines all the words of a question that says some, as a term may have:
 * of more, a long table has all in one place and another. */
static const double DEFINES_WORDS = 0.7;
enum { MIN_WORDS = 2, MAX_WORDS = 4 };
/* What is called as one side of a comparison ("bagof vs setof"), if the same manual has
 * another. */
static const double NAMED_SIDE = 0.5;
/* How far a class stands above its constructors: by more than what is near the question
 * moves, so little that these are quoted, too. */
static const double ABOVE_OWN = 1.5;
enum {
    LONGEST_NAME = 200,
    MAX_NAMES = 18,
    MIN_NAME = 3,
    CLASS_ABOVE = 3 /* titles above a constructor, among which its class is */
};
static const double TELLING = 3; /* information of an identifier */

/* What a manual that the question names adds to its sections' fused scores: by a word of
 * its name or title, and by all of its name, before all others then. */
static const double NAMED_MANUAL = 0.5, NAMED_MANUAL_WHOLE = 2;
/* And one in the question's language, if that is not English. */
static const double SPOKEN = 0.3;

/* ---- Sections and entries ---- */

struct naming {
    const struct routing *routing;
    struct name names[MAX_NAMES]; /* [count]; the first: the whole question */
    size_t count;
    int asked;     /* the term that is all it asks about; -1: none is */
    bool subject;  /* the last: what it asks about ... */
    bool manual;   /* ... of a manual that it names, */
    bool capitals; /* with one */
    /* [side_count] of each side what it is about, and all of it */
    struct name sides[2 * COMPARISON_MAX_SIDES];
    size_t side_count;
};

/* Is it of the manual that the question names, if it names one? */
static bool is_meant(const struct naming *naming, const struct fused *item)
{
    return !naming->manual || naming->routing->scopes[item->scope].names;
}

static double named(const void *context, const struct fused *item)
{
    static const double bonus[] = {
        [NAME_PART] = NAMED_PART, [NAME_WHOLE] = NAMED};
    const struct naming *naming = context;
    const struct node *node = fused_node(naming->routing, item);
    bool same;
    enum name_match match = name_of_node(&naming->names[0], node, &same);
    if (match != NAME_OTHER)
        return bonus[match] + (same ? NAMED_SAME : 0);
    size_t within = naming->count - naming->subject;
    if (naming->subject && is_meant(naming, item))
        match = name_of_node(&naming->names[within], node, &same);
    if (match == NAME_WHOLE)
        return NAMED_SUBJECT +
               (naming->capitals && same ? NAMED_SUBJECT_SAME : 0);
    for (size_t i = 1; i < within && match != NAME_WHOLE; i++) {
        enum name_match one = name_of_node(&naming->names[i], node, &same);
        match = one > match ? one : match;
    }
    return match == NAME_WHOLE  ? NAMED_WITHIN
           : match == NAME_PART ? NAMED_WITHIN_PART
                                : 0;
}

/* A code, as AH00558 or 42P01; no type or format, as int32. */
static bool is_code(const char *term)
{
    size_t digits = 0, letters = 0;
    for (; *term; term++) {
        digits += *term >= '0' && *term <= '9';
        letters +=
            (*term >= 'a' && *term <= 'z') || (unsigned char)*term >= 128;
    }
    return letters && digits > letters && digits >= MIN_NAME;
}

/* Does it tell one section from most: no product's name, no "-e" that many
 * commands have? */
static bool is_telling(const struct query_term *term)
{
    return (term->whole || (!term->within && is_code(term->word))) &&
           term->share >= carried_pointed && term->idf >= TELLING &&
           strlen(term->word) > MIN_NAME;
}

/* The identifiers that the question mentions. */
static void add_identifiers(struct naming *naming, const struct query *query)
{
    for (size_t t = 0; t < query->count && naming->count < MAX_NAMES - 1; t++)
        if (is_telling(&query->terms[t]))
            naming->names[naming->count++] =
                name_of(query->terms[t].word + query->terms[t].whole);
}

/* Does the question's word name a manual, or is it of any conversation? */
static bool is_around(const struct query *query, struct slice word)
{
    struct buf lower = {0};
    text_fold_compare(&lower, word);
    struct slice folded = buf_slice(&lower);
    bool whole = folded.size == word.size; /* no signs: --all is an option */
    bool is = whole && (word_is_stop_word(folded) || word_frequency(folded));
    for (size_t t = 0; t < query->count && whole && !is; t++)
        is = query->terms[t].manual && slice_is(folded, query->terms[t].word);
    buf_free(&lower);
    return is;
}

static struct slice first_word(struct slice text)
{
    size_t size = 0;
    while (size < text.size && text.data[size] != ' ')
        size++;
    return (struct slice){text.data, size};
}

static struct slice last_word(struct slice text)
{
    size_t size = 0;
    while (size < text.size && text.data[text.size - size - 1] != ' ')
        size++;
    return (struct slice){text.data + text.size - size, size};
}

/* "timeout client" of "What does timeout client do in HAProxy?": what is left without
 * the words around it, maybe nothing.  Returns whether there were any. */
static bool put_subject(const struct query *query, struct slice text,
                        struct buf *ret)
{
    struct buf folded = {0};
    text_fold_space(&folded, text);
    struct slice left = buf_slice(&folded), word;
    while (left.size && (strchr(" ?.!,", left.data[left.size - 1]) ||
                         is_around(query, last_word(left))))
        left.size -= strchr(" ?.!,", left.data[left.size - 1])
                         ? 1
                         : last_word(left).size;
    while (left.size && (word = first_word(left), is_around(query, word))) {
        size_t size = word.size + (word.size < left.size);
        left = (struct slice){left.data + size, left.size - size};
    }
    if (left.size <= LONGEST_NAME)
        buf_put_slice(ret, left);
    buf_put(ret, "", 0);
    bool around = left.size < folded.size;
    buf_free(&folded);
    return around;
}

/* The identifier of the query that the text is; -1: it is none. */
static int identifier_that_is(const struct query *query, const char *text)
{
    struct name name = name_of(text);
    int found = -1;
    for (size_t t = 0; t < query->count && found < 0; t++)
        if (query->terms[t].whole && is_telling(&query->terms[t]) &&
            slice_is(buf_slice(&name.lower), query->terms[t].word + 1))
            found = (int)t;
    name_free(&name);
    return found;
}

/* Of a question of several parts that of the first; none where it is all of it. */
static void add_subject(struct naming *naming, const struct query *query,
                        const char *question)
{
    struct buf subject = {0};
    struct slice parts[QUESTION_MAX_PARTS];
    question_parts(slice_of(question), parts);
    naming->subject =
        put_subject(query, parts[0], &subject) && subject.size > 0;
    for (size_t s = 0; s < naming->routing->scope_count; s++)
        naming->manual |= naming->routing->scopes[s].names != 0;
    for (size_t i = 0; i < subject.size; i++)
        naming->capitals |= subject.data[i] >= 'A' && subject.data[i] <= 'Z';
    naming->asked = identifier_that_is(query, subject.data);
    if (naming->subject)
        naming->names[naming->count++] = name_of(subject.data);
    buf_free(&subject);
}

/* ---- Comparisons ---- */

static void add_sides(struct naming *naming, const struct query *query,
                      const char *question)
{
    struct slice sides[COMPARISON_MAX_SIDES];
    size_t count = comparison_sides(slice_of(question), sides);
    for (size_t i = 0; i < count; i++) {
        struct buf side = {0};
        put_subject(query, sides[i], &side);
        naming->sides[naming->side_count++] = name_of(side.data);
        buf_free(&side);
        text_fold_space(&side, sides[i]);
        buf_put(&side, "", 0);
        naming->sides[naming->side_count++] =
            name_of(side.size <= LONGEST_NAME ? side.data : "");
        buf_free(&side);
    }
}

/* A bit for each side that the section is called as. */
static uint8_t sides_of(const struct naming *naming, const struct fused *item)
{
    const struct node *node = fused_node(naming->routing, item);
    uint8_t sides = 0;
    for (size_t i = 0; i < naming->side_count; i++) {
        bool same;
        if (name_of_node(&naming->sides[i], node, &same) == NAME_WHOLE)
            sides |= (uint8_t)(1U << i / 2);
    }
    return sides;
}

/* What is called as a side is meant where the other side stands beside it. */
static void prefer_sides(const struct naming *naming, struct fused *fused,
                         size_t count)
{
    if (naming->side_count < 2)
        return;
    size_t scopes = naming->routing->scope_count;
    unsigned *found = mem_alloc(scopes * sizeof *found);
    for (size_t i = 0; i < count; i++) {
        fused[i].sides = sides_of(naming, &fused[i]);
        found[fused[i].scope] |= fused[i].sides;
    }
    for (size_t i = 0; i < count; i++)
        if (fused[i].sides && found[fused[i].scope] & ~(unsigned)fused[i].sides)
            fused[i].score += NAMED_SIDE;
    free(found);
}

void put_sides_together(struct fused *fused, size_t count)
{
    for (size_t i = 1; i < count && fused[0].sides; i++) {
        if (fused[i].scope != fused[0].scope ||
            !(fused[i].sides & ~(unsigned)fused[0].sides))
            continue;
        struct fused other = fused[i];
        other.score = fused[0].score;
        memmove(fused + 2, fused + 1, (i - 1) * sizeof *fused);
        fused[1] = other;
        return;
    }
}

/* ---- Definitions ---- */

static bool defines(const struct match_row *row, uint64_t terms)
{
    for (; terms; terms &= terms - 1)
        if (!row->of[__builtin_ctzll(terms)].defined)
            return false;
    return true;
}

static void prefer_defining(const struct naming *naming, struct fused *fused,
                            size_t count)
{
    uint64_t own = query_own_terms(&naming->routing->query);
    bool identifier = naming->asked >= 0;
    if (identifier)
        own = (uint64_t)1 << naming->asked;
    else if (__builtin_popcountll(own) < MIN_WORDS ||
             __builtin_popcountll(own) > MAX_WORDS)
        return;
    for (size_t i = 0; i < count; i++)
        if (is_meant(naming, &fused[i]) &&
            named(naming, &fused[i]) >= NAMED_WITHIN)
            return;
    for (size_t i = 0; i < count; i++) {
        const struct scope *scope = &naming->routing->scopes[fused[i].scope];
        struct match_row row = matches_row(&scope->matches, fused[i].node);
        if (defines(&row, own) && is_meant(naming, &fused[i]))
            fused[i].score += identifier ? DEFINES : DEFINES_WORDS;
    }
}

/* ---- Classes ---- */

/* TREE_NONE: it is no constructor. */
static uint32_t class_above(const struct tree *outline, uint32_t node)
{
    const struct node *nodes = outline->nodes;
    uint32_t above = nodes[node].parent;
    for (int i = 0; i < CLASS_ABOVE && nodes[node].entry && above != TREE_NONE;
         i++, above = nodes[above].parent)
        if (name_is_of_class(&nodes[node], &nodes[above]))
            return above;
    return TREE_NONE;
}

/* A class comes before its constructors, which alone are called as it is to the letter;
 * not before one that the question names with its arguments. */
static void lift_classes(const struct naming *naming, struct fused *fused,
                         size_t count)
{
    const struct buf *asked = &naming->names[0].text;
    bool called = asked->size && memchr(asked->data, '(', asked->size);
    for (size_t i = 0; i < count && !called; i++) {
        const struct scope *scope = &naming->routing->scopes[fused[i].scope];
        uint32_t above = class_above(scope->view->outline, fused[i].node);
        if (above == TREE_NONE || named(naming, &fused[i]) < NAMED_SUBJECT)
            continue;
        for (size_t j = 0; j < count; j++)
            if (fused[j].scope == fused[i].scope && fused[j].node == above &&
                fused[j].score < fused[i].score + ABOVE_OWN)
                fused[j].score = fused[i].score + ABOVE_OWN;
    }
}

void prefer_named(const struct routing *routing, struct fused *fused,
                  size_t count)
{
    struct naming naming = {.routing = routing};
    int mode = routing->request->mode;
    if (mode != ROUTE_AUTO && mode != ROUTE_LEXICAL)
        return; /* these are what the papers say */
    const char *question = routing->request->query;
    naming.names[naming.count++] =
        name_of(strlen(question) <= LONGEST_NAME ? question : "");
    add_identifiers(&naming, &routing->query);
    add_subject(&naming, &routing->query, question);
    add_sides(&naming, &routing->query, question);
    rankings_add(fused, count, named, &naming);
    prefer_sides(&naming, fused, count);
    prefer_defining(&naming, fused, count);
    lift_classes(&naming, fused, count);
    for (size_t i = 0; i < naming.count; i++)
        name_free(&naming.names[i]);
    for (size_t i = 0; i < naming.side_count; i++)
        name_free(&naming.sides[i]);
}

/* ---- Manuals ---- */

/* The terms of a question that a manual's name and title have, a bit each. */
struct calling {
    const struct query *query;
    uint64_t terms;
};

static void note_term(void *context, const struct term_at *at)
{
    struct calling *calling = context;
    int t = query_find(calling->query, at->term);
    calling->terms |= t < 0 ? 0 : (uint64_t)1 << t;
}

static uint64_t terms_called(struct analyzer *maker, const struct query *query,
                             const struct view *view)
{
    struct calling calling = {query, 0};
    analyze(maker, slice_of(view->manual.name), note_term, &calling);
    if (view->outline->count)
        analyze(maker, view->outline->nodes[0].title, note_term, &calling);
    return calling.terms;
}

/* Those that may name a manual: "how do I make" is not about Make. */
static uint64_t naming_terms(const struct query *query)
{
    uint64_t terms = 0;
    for (size_t t = 0; t < query->count; t++)
        if (!query->terms[t].instead_of && !query->terms[t].frequency)
            terms |= (uint64_t)1 << t;
    return terms;
}

/* The words of a manual's name that a question says. */
struct saying {
    const struct query *query;
    bool some, all;
};

/* Versions and "of" need not be said, and a word of everyday says nothing: "how do I make"
 * is not about Make.  What the question before named does not outweigh this one. */
static void look_for_word(void *context, const struct term_at *at)
{
    struct saying *saying = context;
    int t = query_find(saying->query, at->term);
    if (at->whole || (at->word.data[0] >= '0' && at->word.data[0] <= '9') ||
        word_is_stop_word(at->word))
        return;
    saying->some = true;
    saying->all &= t >= 0 && saying->query->terms[t].share >= 1 &&
                   !word_frequency(at->word);
}

static bool is_called(struct analyzer *maker, const struct query *query,
                      const struct scope *scope)
{
    struct saying saying = {query, false, true};
    if (!scope->names)
        return false;
    analyze(maker, slice_of(scope->view->manual.name), look_for_word, &saying);
    return saying.some && saying.all;
}

/* Of several manuals that are called so a term names none. */
void find_named_manuals(struct routing *routing)
{
    struct query *query = &routing->query;
    struct analyzer *maker = analyzer_new();
    uint64_t naming = naming_terms(query), some = 0, several = 0;
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        scope->names = naming & terms_called(maker, query, scope->view);
        several |= some & scope->names;
        some |= scope->names;
    }
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        scope->names &= ~several;
        scope->called = is_called(maker, query, scope);
        routing->calls |= scope->called;
    }
    for (size_t t = 0; t < query->count; t++)
        query->terms[t].manual = (some & ~several) >> t & 1;
    analyzer_free(maker);
}

static double of_named(const void *context, const struct fused *item)
{
    const struct routing *routing = context;
    const struct scope *scope = &routing->scopes[item->scope];
    double named = scope->called  ? NAMED_MANUAL_WHOLE
                   : scope->names ? NAMED_MANUAL
                                  : 0;
    return named + (scope->spoken ? SPOKEN : 0);
}

void prefer_manual(const struct routing *routing, struct fused *fused,
                   size_t count)
{
    rankings_add(fused, count, of_named, routing);
}
