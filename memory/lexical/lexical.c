#include "memory/lexical/lexical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Postings of version 1 knew no aliases: they serve until the manual is updated
 * next. */
static struct match unpack(uint64_t packed, uint32_t version)
{
    struct match match = {.title = (uint8_t)(packed & 3),
                          .defined = (uint8_t)(packed >> 2 & 3)};
    packed >>= 4;
    if (version > 1) {
        match.alias = (uint8_t)(packed & 3);
        packed >>= 2;
    }
    match.body = (uint16_t)(packed < UINT16_MAX ? packed : UINT16_MAX);
    return match;
}

/* The first place from `at` on whose id is this one or greater.  Where no id is missing
 * it is as far as the ids are from each other, else before that: it is looked for back
 * from there in steps that double, then by halves. */
static size_t seek_id(const struct view *view, size_t at, uint64_t id)
{
    const struct view_id *by_id = view->by_id;
    size_t count = view->outline->count;
    if (at >= count || by_id[at].id >= id)
        return at;
    uint64_t far = id - by_id[at].id;
    size_t end = far < count - at ? at + (size_t)far : count;
    if (end < count && by_id[end].id == id)
        return end;
    for (size_t step = 1; end > at + step; step *= 2) {
        if (by_id[end - step].id < id) {
            at = end - step;
            break;
        }
        end -= step;
    }
    at++; /* by_id[at] is before it */
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (by_id[middle].id < id)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* A term in a node, as the postings have it. */
struct finding {
    uint32_t node;
    struct match match;
};

struct findings {
    struct finding *items;
    size_t count, capacity;
    size_t end[QUERY_MAX_TERMS]; /* of each term's, one after the other */
};

static void add_finding(struct findings *findings, uint32_t node,
                        struct match match)
{
    MEM_RESERVE(findings->items, &findings->capacity, findings->count + 1);
    findings->items[findings->count++] = (struct finding){node, match};
}

/* Postings and by_id both ascend, so one walk over each finds all.  False: they do
 * not ascend, or end too early, so that they are damaged.  *strange: some name what is
 * no node of the view. */
static bool find_term(const struct view *view, struct slice postings,
                      struct findings *findings, struct matches *matches,
                      bool *strange)
{
    struct reader in = reader_of(postings.data, postings.size);
    uint64_t id = 0;
    size_t at = 0, count = view->outline->count;
    while (in.at < in.size && !in.failed) {
        uint64_t step = read_varint(&in), packed = read_varint(&in);
        if (in.failed || !step || id + step < id)
            return false;
        id += step;
        at = seek_id(view, at, id);
        if (at == count || view->by_id[at].id != id) {
            *strange = true;
            continue;
        }
        uint32_t node = view->by_id[at].node;
        struct match match = unpack(packed, view->manual.lexical);
        add_finding(findings, node, match);
        matches->end[node]++;
        matches->found[node] |=
            match.title ? FOUND_OWN | FOUND_HEAD : FOUND_OWN;
    }
    return true;
}

/* Does the transaction see the manual as the view has it?  Postings of a later
 * update may name nodes that it has made. */
static bool is_current(struct store_txn *txn, const struct view *view)
{
    struct manual manual;
    if (store_find_manual(txn, view->manual.name, &manual, NULL))
        return false;
    bool current = manual.id == view->manual.id &&
                   manual.generation == view->manual.generation;
    manual_free(&manual);
    return current;
}

static int find_terms(struct store_txn *txn, const struct view *view,
                      const struct query *query, struct findings *findings,
                      struct matches *matches, struct err *err)
{
    for (size_t t = 0; t < query->count; t++) {
        struct slice postings;
        int code =
            store_get_postings(txn, view->manual.id, view->manual.epoch,
                               slice_of(query->terms[t].term), &postings, err);
        if (code)
            return code;
        bool strange = false;
        if (!find_term(view, postings, findings, matches, &strange) ||
            (strange && is_current(txn, view)))
            return err_set(err, ERR_STORE,
                           "the postings of '%.100s' in the manual %.200s are "
                           "damaged: lectern verify --repair -c %.200s",
                           query->terms[t].term, view->manual.name,
                           view->manual.name);
        findings->end[t] = findings->count;
    }
    return 0;
}

/* The next node from `top` on whose title holds a term, of those that stand
 * below none such; the manual's own name says nothing. */
static uint32_t next_head(const struct tree *outline, const uint8_t *found,
                          uint32_t top)
{
    while (top < outline->count && !(found[top] & FOUND_HEAD))
        top++;
    return top;
}

/* Findings are of one term after the other; each node's come together. */
static void fill_items(const struct tree *outline,
                       const struct findings *findings, struct matches *matches)
{
    uint32_t all = 0;
    matches->items = mem_alloc(findings->count * sizeof *matches->items);
    for (uint32_t n = 0; n < outline->count; n++) { /* where they begin */
        uint32_t count = matches->end[n];
        matches->end[n] = all;
        all += count;
    }
    size_t i = 0;
    for (size_t t = 0; t < matches->terms; t++)
        for (; i < findings->end[t]; i++) {
            const struct finding *item = &findings->items[i];
            matches->items[matches->end[item->node]++] =
                (struct found_term){(uint8_t)t, item->match};
        }
}

static void count_owners(const struct view *view, struct matches *matches)
{
    for (uint32_t n = 0; n < view->outline->count; n++) {
        if (!matches->found[n] || !view->nodes[n].words)
            continue;
        const struct found_term *end = matches_end(matches, n);
        for (const struct found_term *item = matches_first(matches, n);
             item < end; item++)
            matches->owners[item->term] += match_holds(&item->match);
    }
}

static uint64_t titles_of(const struct matches *matches, uint32_t node)
{
    uint64_t titles = 0;
    const struct found_term *end = matches_end(matches, node);
    for (const struct found_term *item = matches_first(matches, node);
         item < end; item++)
        titles |= (uint64_t)(item->match.title > 0) << item->term;
    return titles;
}

/* Below titles that hold terms, node by node from the parent. */
static void fill_above(const struct view *view, struct matches *matches)
{
    const struct tree *outline = view->outline;
    uint32_t top = 1;
    while ((top = next_head(outline, matches->found, top)) < outline->count) {
        uint32_t end = outline->nodes[top].end;
        for (uint32_t n = top + 1; n < end; n++) {
            uint32_t parent = view->nodes[n].parent;
            matches->found[n] |= FOUND_HEAD;
            matches->above[n] =
                matches->above[parent] | titles_of(matches, parent);
        }
        top = end;
    }
}

int lexical_match(struct store_txn *txn, const struct view *view,
                  const struct query *query, struct matches *ret_matches,
                  struct err *err)
{
    const struct tree *outline = view->outline;
    struct findings findings = {0};
    struct matches matches = {.terms = query->count};
    matches.found = mem_alloc(outline->count);
    matches.end = mem_alloc(outline->count * sizeof *matches.end);
    matches.above = mem_alloc(outline->count * sizeof *matches.above);
    int code = find_terms(txn, view, query, &findings, &matches, err);
    if (code)
        goto done;
    if (findings.count > UINT32_MAX) {
        code = err_set(err, ERR_LIMIT, "the manual is too large");
        goto done;
    }
    fill_items(outline, &findings, &matches);
    count_owners(view, &matches);
    fill_above(view, &matches);
    *ret_matches = matches;
done:
    free(findings.items);
    if (code)
        matches_free(&matches);
    return code;
}

struct match_row matches_row(const struct matches *matches, uint32_t node)
{
    struct match_row row = {0};
    const struct found_term *end = matches_end(matches, node);
    for (const struct found_term *item = matches_first(matches, node);
         item < end; item++)
        row.of[item->term] = item->match;
    for (size_t t = 0; t < matches->terms; t++)
        row.of[t].path = matches->above[node] >> t & 1;
    return row;
}

void matches_free(struct matches *matches)
{
    free(matches->items);
    free(matches->end);
    free(matches->above);
    free(matches->found);
    *matches = (struct matches){0};
}

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
                           uint32_t node, const struct matches *matches)
{
    struct norms norms = norms_of(view, node);
    /* To clear it for each node would take as long as the rest. */
    double own[QUERY_MAX_TERMS] __attribute__((uninitialized)), score = 0;
    bool others = false;
    uint64_t above = matches->above[node];
    const struct found_term *item = matches_first(matches, node);
    const struct found_term *end = matches_end(matches, node);
    uint64_t scored = 0;
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
