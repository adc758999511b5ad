#include "memory/lexical/lexical.h"

#include <math.h>

/* BM25F.  A term in the title weighs as TITLE occurrences in the body, among
 * the terms a node defines as DEFINED, in a title above as PATH; body and title
 * are normalised by their lengths with their own B.  A reference entry is a
 * part of its section: the title above it weighs as SECTION, its own as NAME,
 * and words of an identifier in that are among what it defines.  Set on every
 * second of PostgreSQL's index terms. */
static const double K1 = 0.9, B_BODY = 0.2, B_TITLE = 0.6;
static const double TITLE = 20.0, DEFINED = 1.5, PATH = 1.5;
static const double NAME = 10.0, SECTION = 8.0;
/* An index entry names what the node is about, as its title does; of a node with
 * many the names share the weight: such a one is mentioned under them, not
 * about them.  Chosen on entries of held-out manuals (docs/log/retrieval.md). */
static const double ALIAS = 5.0;

/* What the best of those that stand in a term's place adds to the score of what they
 * stand for; the sum. */
static double gain_of(const struct query *query,
                      const double own[QUERY_MAX_TERMS])
{
    double gained[QUERY_MAX_ASKED] = {0}, sum = 0;
    for (size_t t = 0; t < query->count; t++) {
        uint32_t instead_of = query->terms[t].instead_of;
        double gain = own[t];
        if (!instead_of || !(gain > 0))
            continue;
        for (size_t o = 0; o < QUERY_MAX_ASKED; o++)
            gain -= instead_of >> o & 1 ? own[o] : 0;
        int first = __builtin_ctz(instead_of);
        if (gain > gained[first]) {
            sum += gain - gained[first];
            gained[first] = gain;
        }
    }
    return sum;
}

/* What a node's words and names weigh. */
struct norms {
    double body, title_length; /* of its lengths */
    double title, path, alias;
};

static struct norms norms_of(const struct view *view, uint32_t node)
{
    const struct view_node *n = &view->nodes[node];
    return (struct norms){
        .body = 1 - B_BODY + B_BODY * n->words / (view->mean_words + 1e-9),
        .title_length =
            1 - B_TITLE +
            B_TITLE * n->title_words / (view->mean_title_words + 1e-9),
        .title = n->entry ? NAME : TITLE,
        .path = n->entry ? SECTION : PATH,
        .alias = ALIAS / sqrt(n->names ? n->names : 1)};
}

static double score_term(const struct query_term *term,
                         const struct norms *norms, const struct match *match)
{
    double tf = match->body / norms->body +
                norms->title * match->title / norms->title_length +
                norms->path * match->path + DEFINED * match->defined +
                norms->alias * match->alias;
    return term->weight * term->idf * tf * (K1 + 1) / (K1 + tf);
}

double lexical_score(const struct query *query, const struct view *view,
                     uint32_t node, const struct match *row)
{
    struct norms norms = norms_of(view, node);
    double own[QUERY_MAX_TERMS], score = 0;
    bool others = false;
    for (size_t t = 0; t < query->count; t++) {
        own[t] = 0;
        if (!match_holds(&row[t]) && !row[t].path)
            continue;
        own[t] = score_term(&query->terms[t], &norms, &row[t]);
        if (query->terms[t].instead_of)
            others = true;
        else
            score += own[t];
    }
    return others ? score + gain_of(query, own) : score;
}

double lexical_score_found(const struct query *query, const struct view *view,
                           const struct matches *matches, uint32_t place)
{
    struct norms norms = norms_of(view, matches->nodes[place].node);
    /* To clear it for each node would take as long as the rest. */
    double own[QUERY_MAX_TERMS] __attribute__((uninitialized)), score = 0;
    bool others = false;
    uint64_t above = matches->nodes[place].above, scored = 0;
    const struct found_term *item =
        matches->items + matches_first(matches, place);
    const struct found_term *end = matches->items + matches->nodes[place].end;
    while (item < end || above) {
        size_t t = item < end ? item->term : QUERY_MAX_TERMS;
        if (above && (size_t)__builtin_ctzll(above) < t)
            t = (size_t)__builtin_ctzll(above);
        struct match match = {0};
        if (item < end && item->term == t)
            match = item++->match;
        match.path = above >> t & 1;
        above &= ~((uint64_t)1 << t);
        own[t] = score_term(&query->terms[t], &norms, &match);
        scored |= (uint64_t)1 << t;
        if (query->terms[t].instead_of)
            others = true;
        else
            score += own[t];
    }
    if (!others)
        return score;
    for (size_t t = 0; t < query->count; t++)
        if (!(scored >> t & 1))
            own[t] = 0;
    return score + gain_of(query, own);
}

double lexical_bound(double information)
{
    return information * (K1 + 1);
}

/* No text is shorter than one without words. */
void lexical_bounds(const struct query *query, struct lexical_bounds *ret)
{
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        ret->of[t][0] = ret->of[t][LEXICAL_BOUNDS] = lexical_bound(information);
        for (int n = 1; n < LEXICAL_BOUNDS; n++) {
            double tf = n / (1 - B_BODY);
            ret->of[t][n] = information * tf * (K1 + 1) / (K1 + tf);
        }
    }
}

/* Title, path and text saturate together: at most what each adds by itself. */
double lexical_bound_found(const struct lexical_bounds *bounds,
                           const struct matches *matches, uint32_t place)
{
    double bound = 0;
    for (uint64_t above = matches->nodes[place].above; above;
         above &= above - 1)
        bound += bounds->of[__builtin_ctzll(above)][0];
    for (uint32_t i = matches_first(matches, place);
         i < matches->nodes[place].end; i++) {
        const struct match *match = &matches->items[i].match;
        bool named = match->title | match->defined | match->alias;
        unsigned body =
            match->body < LEXICAL_BOUNDS ? match->body : LEXICAL_BOUNDS;
        bound += bounds->of[matches->items[i].term][named ? 0 : body];
    }
    return bound;
}
