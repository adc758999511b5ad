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

/* The first place from `at` on whose id is this one or greater: in steps that
 * double, then by halves. */
static size_t seek_id(const struct view *view, size_t at, uint64_t id)
{
    const struct view_id *by_id = view->by_id;
    size_t count = view->outline->count, end = at;
    for (size_t step = 1; end < count && by_id[end].id < id; step *= 2) {
        at = end + 1;
        end += step;
    }
    if (end > count)
        end = count;
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
                      struct findings *findings, uint8_t *found, bool *strange)
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
        found[node] |= match.title ? FOUND_OWN | FOUND_HEAD : FOUND_OWN;
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
                      uint8_t *found, struct err *err)
{
    for (size_t t = 0; t < query->count; t++) {
        struct slice postings;
        int code =
            store_get_postings(txn, view->manual.id, view->manual.epoch,
                               slice_of(query->terms[t].term), &postings, err);
        if (code)
            return code;
        bool strange = false;
        if (!find_term(view, postings, findings, found, &strange) ||
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

/* Numbers the rows: of what holds a term, and of what is below a title that
 * does.  Returns how many. */
static size_t number_rows(const struct tree *outline, struct matches *matches)
{
    size_t rows = 1;
    uint32_t top = 1;
    while ((top = next_head(outline, matches->found, top)) < outline->count) {
        uint32_t end = outline->nodes[top].end;
        for (uint32_t n = top + 1; n < end; n++)
            matches->found[n] |= FOUND_HEAD;
        top = end;
    }
    for (uint32_t n = 0; n < outline->count; n++)
        if (matches->found[n])
            matches->row_of[n] = (uint32_t)rows++;
    return rows;
}

/* Below titles that hold terms, node by node from the parent. */
static void fill_paths(const struct view *view, struct matches *matches)
{
    const struct tree *outline = view->outline;
    size_t terms = matches->terms;
    uint32_t top = 1;
    while ((top = next_head(outline, matches->found, top)) < outline->count) {
        uint32_t end = outline->nodes[top].end;
        for (uint32_t n = top + 1; n < end; n++) {
            const struct match *above =
                matches_row(matches, view->nodes[n].parent);
            struct match *row = &matches->rows[matches->row_of[n] * terms];
            for (size_t t = 0; t < terms; t++)
                row[t].path = above[t].title || above[t].path;
        }
        top = end;
    }
}

static void fill_rows(const struct findings *findings, struct matches *matches)
{
    size_t i = 0;
    for (size_t t = 0; t < matches->terms; t++)
        for (; i < findings->end[t]; i++) {
            const struct finding *item = &findings->items[i];
            size_t row = matches->row_of[item->node];
            matches->rows[row * matches->terms + t] = item->match;
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
    int code = find_terms(txn, view, query, &findings, matches.found, err);
    if (code)
        goto done;
    matches.row_of = mem_alloc(outline->count * sizeof *matches.row_of);
    size_t rows = number_rows(outline, &matches), size;
    if (!mem_mul(rows, matches.terms * sizeof *matches.rows, &size)) {
        code = err_set(err, ERR_LIMIT, "the manual is too large");
        goto done;
    }
    matches.rows = mem_alloc(size);
    fill_rows(&findings, &matches);
    fill_paths(view, &matches);
    *ret_matches = matches;
done:
    free(findings.items);
    if (code)
        matches_free(&matches);
    return code;
}

void matches_free(struct matches *matches)
{
    free(matches->rows);
    free(matches->row_of);
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
        for (size_t o = 0; instead_of >> o; o++)
            gain -= instead_of >> o & 1 ? own[o] : 0;
        int first = __builtin_ctz(instead_of);
        if (gain > gained[first]) {
            sum += gain - gained[first];
            gained[first] = gain;
        }
    }
    return sum;
}

double lexical_score(const struct query *query, const struct view *view,
                     uint32_t node, const struct match *row)
{
    const struct view_node *n = &view->nodes[node];
    double body_norm =
        1 - B_BODY + B_BODY * n->words / (view->mean_words + 1e-9);
    double title_norm =
        1 - B_TITLE +
        B_TITLE * n->title_words / (view->mean_title_words + 1e-9);
    double title = n->entry ? NAME : TITLE, path = n->entry ? SECTION : PATH;
    double alias = ALIAS / sqrt(n->names ? n->names : 1);
    double own[QUERY_MAX_TERMS], score = 0;
    bool others = false;
    for (size_t t = 0; t < query->count; t++) {
        own[t] = 0;
        if (!match_holds(&row[t]) && !row[t].path)
            continue;
        double tf = row[t].body / body_norm +
                    title * row[t].title / title_norm + path * row[t].path +
                    DEFINED * row[t].defined + alias * row[t].alias;
        own[t] = query->terms[t].weight * query->terms[t].idf * tf * (K1 + 1) /
                 (K1 + tf);
        if (query->terms[t].instead_of)
            others = true;
        else
            score += own[t];
    }
    return others ? score + gain_of(query, own) : score;
}

double lexical_bound(double information)
{
    return information * (K1 + 1);
}
