#include <string.h>

#include "memory/lexical/names.h"
#include "memory/lexical/own_values.h"
#include "memory/routing/route_internal.h"
#include "memory/snapshot/content.h"

/* Sections whose evidence counts. */
enum { FIRST = 3 };

/* Share of a question from which a section that holds it is shown, however little
 * it says of it: of those that were fitted to and say less, a quarter has an
 * answer.  Among few sections what a word tells is hardly known. */
static const double HELD = 0.7, HELD_OF_FEW = 0.5;
enum { FEW = 50 };

/* Where there are no four: the median of the questions that the weights were fitted
 * to. */
static const double USUAL_MARGIN = 0.2;

/* What a word counts as covered where another stands in its place. */
static const double OTHERWISE = 0.7;

/* Share of a question that a section holds, below which a single word of it may tell
 * of something else. */
static const double DOUBTFUL = 0.5;

/* ---- What of the question is found ---- */

/* A name by itself, with "_" or "--" before it, but no "on_delete=PROTECT", of which
 * each counts. */
static bool is_single_name(const char *term)
{
    return (strchr(term, '_') || !strncmp(term, "--", 2)) &&
           !strpbrk(term, "=:/()<>");
}

/* What says nothing about whether the manuals know the subject: the name of one, a
 * name that is told of by its form, numbers, amounts, and what is joined by signs and
 * occurs nowhere as a whole (its words speak for it), unless it is a name. */
static bool is_incidental(const struct query_term *term)
{
    if (term->manual || term->formed)
        return true;
    if (term->whole && !term->nodes)
        return !is_single_name(term->term + 1); /* behind "=" */
    return is_quantity(term->word);
}

static bool is_found(const struct match *match)
{
    return match_holds(match) || match->path;
}

/* By what may stand in its place? */
static bool is_found_otherwise(const struct query *query,
                               const struct match *row, size_t asked)
{
    for (size_t t = asked + 1; t < query->count; t++)
        if (query->terms[t].instead_of >> asked & 1 && is_found(&row[t]))
            return true;
    return false;
}

double coverage(const struct query *query, const struct match *row,
                bool doubtful)
{
    double found = 0, all = 0;
    for (size_t t = 0; t < query->count; t++) {
        const struct query_term *term = &query->terms[t];
        double information = term->weight * term->idf;
        if (is_incidental(term) || term->instead_of)
            continue;
        if (is_found(&row[t]))
            found += information;
        else if (is_found_otherwise(query, row, t))
            found += OTHERWISE * information;
        else if (doubtful && term->frequency)
            information = term->share * term->idf;
        all += information + term->missing;
    }
    return all > 0 ? found / all : query->count > 0;
}

/* ---- Acronyms ---- */

/* The one word of the question that is found and is no common one; -1: there are
 * several, or none. */
static int single_subject(const struct query *query, const struct match *row)
{
    int single = -1;
    for (size_t t = 0; t < query->count; t++) {
        const struct query_term *term = &query->terms[t];
        if (!is_found(&row[t]) || term->frequency || term->instead_of ||
            is_incidental(term))
            continue;
        if (single >= 0)
            return -1;
        single = (int)t;
    }
    return single;
}

struct acronym {
    struct slice term;
    bool word; /* it stands there as a word */
};

static void look_for_word(void *context, const struct term_at *at)
{
    struct acronym *acronym = context;
    acronym->word |= slice_equal(at->term, acronym->term) && !at->capitals;
}

/* Is a word of the question in the section only as the stem of an acronym, as the cup
 * in CUPS? */
static bool is_acronym(const struct routing *routing, const struct view *view,
                       uint32_t node, const struct query_term *term)
{
    struct acronym acronym = {slice_of(term->term), false};
    struct analyzer *maker = analyzer_new();
    struct content content;
    analyze(maker, view->outline->nodes[node].title, look_for_word, &acronym);
    bool known = !content_open(routing->snapshot, view, node, &content, NULL);
    for (uint32_t b = 0; known && b < content.node->block_count; b++)
        analyze(maker, content.node->blocks[b].text, look_for_word, &acronym);
    if (known)
        content_close(&content);
    analyzer_free(maker);
    return known && !acronym.word;
}

/* What another manual says than the one that is asked for by its name, and what a
 * single word tells, may be about something else: "the world cup" in a manual of
 * CUPS. */
static bool is_evidence(const struct routing *routing,
                        const struct scope *scope, uint32_t node,
                        const struct match *row)
{
    const struct query *query = &routing->query;
    int subject = single_subject(query, row);
    if (routing->calls && !scope->called)
        return false;
    return subject < 0 || query->terms[subject].capitals ||
           coverage(query, row, true) >= DOUBTFUL ||
           !is_acronym(routing, scope->view, node, &query->terms[subject]);
}

/* ---- Forms ---- */

/* What stands nowhere as a whole is known if one of the first is called by its form. */
static void note_forms(struct routing *routing, const struct fused *fused,
                       size_t count)
{
    struct query *query = &routing->query;
    for (size_t t = 0; t < query->count; t++) {
        struct query_term *term = &query->terms[t];
        term->formed = false;
        for (size_t i = 0; i < count && i < FIRST && !term->nodes; i++)
            term->formed |=
                term->whole &&
                name_is_of_form(
                    slice_of(term->word + 1),
                    fused_node(routing, &fused[i])->title); /* behind "=" */
    }
}

/* ---- Features ---- */

static void raise(double *feature, double value)
{
    if (value > *feature)
        *feature = value > 1 ? 1 : value;
}

/* Returns the information of the question, with what corrected words lack of it. */
static double describe_question(const struct query *query, double *features)
{
    double known = 0, all = 0, missing = 0;
    size_t terms = 0, common = 0;
    for (size_t t = 0; t < query->count; t++) {
        const struct query_term *term = &query->terms[t];
        double information = term->weight * term->idf;
        if (is_incidental(term) || term->instead_of)
            continue;
        terms++;
        common += term->frequency > 0;
        known += information;
        all += information + term->missing;
        missing += term->nodes ? 0 : information;
    }
    features[CONFIDENCE_TERMS] = log(1 + (double)terms);
    features[CONFIDENCE_INFORMATION] = log(1 + known);
    features[CONFIDENCE_COMMON] = terms ? (double)common / (double)terms : 0;
    features[CONFIDENCE_MISSING] = all > 0 ? missing / all : 0;
    return all;
}

/* BM25 with the best block for its body; the ranking has looked at most of the
 * first. */
static double block_score(const struct routing *routing,
                          const struct fused *item, const struct match *row)
{
    const struct scope *scope = &routing->scopes[item->scope];
    kind_set kinds = scope->wanted ? scope->wanted : ~(kind_set)0;
    struct kind_block best = {.score = 0};
    if (item->by[ROUTE_BY_BLOCK].rank)
        return item->by[ROUTE_BY_BLOCK].score;
    struct analyzer *maker = analyzer_new();
    if (kinds_best(routing->snapshot, scope->view, item->node, kinds,
                   &routing->query, &routing->sought, row, maker, &best, NULL))
        best.score = 0;
    analyzer_free(maker);
    return best.score;
}

/* The share of the question that the section holds, 0: it is no evidence. */
static double share_held(const struct routing *routing,
                         const struct fused *item)
{
    const struct scope *scope = &routing->scopes[item->scope];
    struct match_row found = matches_row(&scope->matches, item->node);
    return is_evidence(routing, scope, item->node, found.of)
               ? coverage(&routing->query, found.of, false)
               : 0;
}

static void describe_section(const struct routing *routing,
                             const struct fused *item, double most,
                             double *features)
{
    const struct scope *scope = &routing->scopes[item->scope];
    struct match_row found = matches_row(&scope->matches, item->node);
    const struct match *row = found.of;
    if (!is_evidence(routing, scope, item->node, row))
        return;
    raise(&features[CONFIDENCE_BM25],
          lexical_score(&routing->query, scope->view, item->node, row) / most);
    raise(&features[CONFIDENCE_BLOCK], block_score(routing, item, row) / most);
    if (item->by[ROUTE_BY_DENSE].rank)
        raise(&features[CONFIDENCE_AGREEMENT],
              1.0 / item->by[ROUTE_BY_DENSE].rank);
}

/* What lies behind the first ones, as a share of the best; rules may leave that nothing. */
static double margin_of(const struct fused *fused, size_t count)
{
    return count > FIRST && fused[0].score > 0
               ? (fused[0].score - fused[FIRST].score) / fused[0].score
               : USUAL_MARGIN;
}

static size_t sections_asked(const struct routing *routing)
{
    size_t sections = 0;
    for (size_t s = 0; s < routing->scope_count; s++)
        sections += routing->scopes[s].end - routing->scopes[s].from;
    return sections;
}

void give_confidence(struct routing *routing, const struct fused *fused,
                     size_t count)
{
    struct route_result *result = routing->result;
    double *features = result->features;
    note_forms(routing, fused, count);
    double most = lexical_bound(describe_question(&routing->query, features));
    features[CONFIDENCE_MARGIN] = margin_of(fused, count);
    features[CONFIDENCE_MEMORIES] = result->dense.rows > 0;
    for (size_t i = 0; i < count && i < FIRST && most > 0; i++)
        describe_section(routing, &fused[i], most, features);
    /* Nothing but numbers or the name of a manual: what is found is what there is. */
    result->confidence =
        !count     ? 0
        : most > 0 ? confidence_from(features, !routing->query.language)
                   : 1;
}

void raise_confidence(struct routing *routing, const struct fused *fused,
                      size_t count)
{
    struct route_result *result = routing->result;
    double held = 0;
    note_forms(routing, fused, count);
    for (size_t i = 0; i < count && i < FIRST; i++) {
        double share = share_held(routing, &fused[i]);
        held = share > held ? share : held;
    }
    if (held >= (sections_asked(routing) < FEW ? HELD_OF_FEW : HELD) &&
        result->confidence < route_min_confidence)
        result->confidence = route_min_confidence;
}
