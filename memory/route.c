#include "memory/route.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/lexical.h"

enum { BEAM = 4, LEAST_DEPTH = 100, RANK_CONSTANT = 60 };
static const double WEIGHT_TREE = 0.25, WEIGHT_LEXICAL = 1.0;
/* What the sub-tree as a whole adds to its best node when a branch is chosen,
 * and what the branch a node stands in adds to the node. */
static const double WHOLE_BRANCH = 0.3, CONTEXT = 0.1;

/* Chosen on the halves for tuning of tests/questions/postgresql-*. */
const double route_least_confidence = 0.45;

/* One volume under a question. */
struct scope {
    const struct volume *volume;
    uint32_t from, end;    /* nodes that may be found: [from, end) */
    uint32_t file;         /* only of this file; TREE_NONE: any */
    struct match *matches; /* [outline->count, terms] */
    double *own;           /* [outline->count] lexical score; 0: owns none */
    double *whole;         /* [outline->count] score of the sub-tree as one */
    double *branch;        /* [outline->count] score by which it is chosen */
};

struct ranked {
    size_t scope;
    uint32_t node;
    double score;
    double fused;
};

struct ranking {
    struct ranked *items;
    size_t count, capacity;
};

struct routing {
    const struct route_request *request;
    struct query query;
    struct scope *scopes;
    size_t scope_count;
    struct route_result *result;
    size_t step_capacity;
};

/* ---- What is asked, and where ---- */

static bool is_candidate(const struct scope *scope, uint32_t node)
{
    const struct node *n = &scope->volume->outline->nodes[node];
    return node >= scope->from && node < scope->end && n->words &&
           (scope->file == TREE_NONE || n->source_tree == scope->file);
}

static void add_scope(struct routing *routing, const struct volume *volume,
                      uint32_t from, uint32_t end)
{
    const char *path = routing->request->file;
    uint32_t file = path ? volume_file(volume, path) : (uint32_t)TREE_NONE;
    if (path && file == TREE_NONE)
        return;
    routing->scopes[routing->scope_count++] = (struct scope){
        .volume = volume, .from = from, .end = end, .file = file};
}

static int choose_scopes(struct routing *routing, const struct shelf *shelf,
                         struct err *err)
{
    const struct route_request *request = routing->request;
    routing->scopes = mem_alloc(shelf->count * sizeof *routing->scopes);
    if (request->under) {
        const struct volume *volume;
        uint32_t node;
        if (!shelf_find(shelf, request->under, &volume, &node))
            return err_set(err, ERR_USAGE,
                           "--under: no such node; lectern toc "
                           "shows the nodes there are");
        if (request->manual && strcmp(request->manual, volume->manual.name))
            return err_set(err, ERR_USAGE,
                           "--under: the node is of %s, not of %s",
                           volume->manual.name, request->manual);
        add_scope(routing, volume, node, volume->outline->nodes[node].end);
    } else if (request->manual) {
        const struct volume *volume = shelf_volume(shelf, request->manual);
        if (!volume)
            return err_set(err, ERR_USAGE,
                           "no manual named %s is indexed; "
                           "lectern ls shows those there are",
                           request->manual);
        add_scope(routing, volume, 0, volume->outline->count);
    } else {
        for (size_t i = 0; i < shelf->count; i++)
            add_scope(routing, shelf->volumes[i], 0,
                      shelf->volumes[i]->outline->count);
    }
    if (request->file && !routing->scope_count)
        return err_set(err, ERR_USAGE, "no file %s is indexed", request->file);
    return 0;
}

/* ---- Scores ---- */

static void weigh_terms(struct routing *routing)
{
    struct query *query = &routing->query;
    double owners = 0;
    for (size_t s = 0; s < routing->scope_count; s++) {
        const struct scope *scope = &routing->scopes[s];
        owners += scope->volume->owners;
        for (uint32_t n = 0; n < scope->volume->outline->count; n++) {
            if (!scope->volume->outline->nodes[n].words)
                continue;
            const struct match *row = &scope->matches[n * query->count];
            for (size_t t = 0; t < query->count; t++)
                query->terms[t].nodes += row[t].body || row[t].title;
        }
    }
    for (size_t t = 0; t < query->count; t++) {
        double nodes = query->terms[t].nodes;
        query->terms[t].idf = log(1 + (owners - nodes + 0.5) / (nodes + 0.5));
    }
}

/* A sub-tree as one text: for every term the number of its nodes that hold it,
 * against the share that chance would give, saturated; the title of its own
 * root weighs more. */
static void score_wholes(const struct query *query, struct scope *scope)
{
    const struct tree *outline = scope->volume->outline;
    size_t terms = query->count;
    float *held = mem_alloc(outline->count * terms * sizeof *held);
    float *owners = mem_alloc(outline->count * sizeof *owners);
    for (uint32_t n = outline->count; n-- > 0;) {
        const struct node *node = &outline->nodes[n];
        const struct match *row = &scope->matches[n * terms];
        float *mine = &held[n * terms];
        owners[n] += node->words ? 1 : 0;
        for (size_t t = 0; t < terms; t++) {
            mine[t] += row[t].title || row[t].body;
            double tf = (double)mine[t] / (1.0 + 0.05 * (double)owners[n]) +
                        (row[t].title ? 2.0 : 0.0);
            scope->whole[n] +=
                query->terms[t].weight * query->terms[t].idf * tf / (1.0 + tf);
        }
        if (node->parent == TREE_NONE)
            continue;
        owners[node->parent] += owners[n];
        for (size_t t = 0; t < terms; t++)
            held[node->parent * terms + t] += mine[t];
    }
    free(held);
    free(owners);
}

/* A mean washes out what one section says, so a branch is worth its best node
 * and a little of the whole; 0: nothing in it can be found. */
static void score_branches(struct scope *scope)
{
    const struct node *nodes = scope->volume->outline->nodes;
    for (uint32_t n = scope->volume->outline->count; n-- > 0;) {
        double best =
            scope->branch[n] > scope->own[n] ? scope->branch[n] : scope->own[n];
        uint32_t parent = nodes[n].parent;
        if (parent != TREE_NONE && scope->branch[parent] < best)
            scope->branch[parent] = best;
        scope->branch[n] = best > 0 ? best + WHOLE_BRANCH * scope->whole[n] : 0;
    }
}

static int score_scopes(struct routing *routing, const struct shelf *shelf,
                        struct err *err)
{
    struct store_txn *txn;
    int code = store_read(shelf->store, &txn, err);
    if (code)
        return code;
    for (size_t s = 0; s < routing->scope_count && !code; s++)
        code = lexical_match(txn, routing->scopes[s].volume, &routing->query,
                             &routing->scopes[s].matches, err);
    store_end(txn);
    if (code)
        return code;
    weigh_terms(routing);
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        uint32_t count = scope->volume->outline->count;
        scope->own = mem_alloc(count * sizeof *scope->own);
        scope->branch = mem_alloc(count * sizeof *scope->branch);
        for (uint32_t n = scope->from; n < scope->end; n++)
            if (is_candidate(scope, n))
                scope->own[n] =
                    lexical_score(&routing->query, scope->volume, n,
                                  &scope->matches[n * routing->query.count]);
        scope->whole = mem_alloc(count * sizeof *scope->whole);
        score_wholes(&routing->query, scope);
        score_branches(scope);
    }
    return 0;
}

/* ---- Rankings ---- */

static void rank_add(struct ranking *ranking, size_t scope, uint32_t node,
                     double score)
{
    void *items = ranking->items;
    mem_reserve(&items, &ranking->capacity, ranking->count + 1,
                sizeof *ranking->items);
    ranking->items = items;
    ranking->items[ranking->count++] = (struct ranked){scope, node, score, 0};
}

/* Best first; ties in document order. */
static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_fused(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->fused != y->fused)
        return x->fused > y->fused ? -1 : 1;
    return by_score(a, b);
}

static void rank_sort(struct ranking *ranking, size_t most)
{
    if (ranking->count)
        qsort(ranking->items, ranking->count, sizeof *ranking->items, by_score);
    if (ranking->count > most)
        ranking->count = most;
}

/* How many of a ranking are fused: as many as are wanted, if that is more. */
static size_t depth_of(const struct routing *routing)
{
    size_t most = routing->request->most;
    return most > LEAST_DEPTH ? most : LEAST_DEPTH;
}

static void rank_lexical(const struct routing *routing, struct ranking *ranking)
{
    for (size_t s = 0; s < routing->scope_count; s++) {
        const struct scope *scope = &routing->scopes[s];
        for (uint32_t n = scope->from; n < scope->end; n++)
            if (scope->own[n] > 0)
                rank_add(ranking, s, n, scope->own[n]);
    }
    rank_sort(ranking, depth_of(routing));
}

static void note_step(struct routing *routing, const struct ranked *item,
                      uint32_t depth, bool kept)
{
    struct route_result *result = routing->result;
    if (!routing->request->explain)
        return;
    void *steps = result->steps;
    mem_reserve(&steps, &routing->step_capacity, result->step_count + 1,
                sizeof *result->steps);
    result->steps = steps;
    result->steps[result->step_count++] =
        (struct route_step){routing->scopes[item->scope].volume, item->node,
                            depth, item->score, kept};
}

/* A node's own content is a leaf child of it, which does not compete for the
 * beam; it ranks by its own score and a little by the branch it stands in. */
static void take_leaf(const struct routing *routing, size_t s, uint32_t node,
                      struct ranking *leaves)
{
    const struct scope *scope = &routing->scopes[s];
    uint32_t parent = scope->volume->outline->nodes[node].parent;
    double context = parent == TREE_NONE ? 0 : scope->whole[parent];
    if (scope->own[node] > 0)
        rank_add(leaves, s, node, scope->own[node] + CONTEXT * context);
}

static void expand(const struct routing *routing, const struct ranking *beam,
                   struct ranking *inner, struct ranking *leaves)
{
    for (size_t i = 0; i < beam->count; i++) {
        size_t s = beam->items[i].scope;
        const struct scope *scope = &routing->scopes[s];
        const struct tree *outline = scope->volume->outline;
        uint32_t parent = beam->items[i].node;
        for (uint32_t c = parent + 1; c < outline->nodes[parent].end;
             c = outline->nodes[c].end) {
            if (scope->branch[c] <= 0)
                continue;
            take_leaf(routing, s, c, leaves);
            if (outline->nodes[c].end > c + 1)
                rank_add(inner, s, c, scope->branch[c]);
        }
    }
}

static void rank_tree(struct routing *routing, struct ranking *ranking)
{
    struct ranking beam = {0};
    for (size_t s = 0; s < routing->scope_count; s++)
        rank_add(&beam, s, routing->scopes[s].from,
                 routing->scopes[s].branch[routing->scopes[s].from]);
    rank_sort(&beam, BEAM);
    for (size_t i = 0; i < beam.count; i++) {
        note_step(routing, &beam.items[i], 0, true);
        take_leaf(routing, beam.items[i].scope, beam.items[i].node, ranking);
    }
    for (uint32_t depth = 1; beam.count; depth++) {
        struct ranking inner = {0};
        expand(routing, &beam, &inner, ranking);
        rank_sort(&inner, depth_of(routing));
        for (size_t i = 0; i < inner.count; i++)
            note_step(routing, &inner.items[i], depth, i < BEAM);
        if (inner.count > BEAM)
            inner.count = BEAM;
        free(beam.items);
        beam = inner;
    }
    free(beam.items);
    rank_sort(ranking, depth_of(routing));
}

static void fuse(struct ranking *into, const struct ranking *ranking,
                 double weight)
{
    for (size_t i = 0; i < ranking->count; i++) {
        const struct ranked *item = &ranking->items[i];
        size_t at = 0;
        while (at < into->count && (into->items[at].scope != item->scope ||
                                    into->items[at].node != item->node))
            at++;
        if (at == into->count)
            rank_add(into, item->scope, item->node, item->score);
        into->items[at].fused += weight / (RANK_CONSTANT + 1.0 + (double)i);
    }
}

static void rank_all(struct routing *routing, struct ranking *fused)
{
    struct ranking lexical = {0}, tree = {0};
    int mode = routing->request->mode;
    if (mode != ROUTE_TREE)
        rank_lexical(routing, &lexical);
    if (mode != ROUTE_LEXICAL || routing->request->explain)
        rank_tree(routing, &tree);
    fuse(fused, &lexical, WEIGHT_LEXICAL);
    if (mode != ROUTE_LEXICAL)
        fuse(fused, &tree, mode == ROUTE_TREE ? 1.0 : WEIGHT_TREE);
    if (fused->count)
        qsort(fused->items, fused->count, sizeof *fused->items, by_fused);
    free(lexical.items);
    free(tree.items);
}

/* ---- The result ---- */

/* What says nothing about whether the manuals know the subject: numbers, and
 * an identifier that occurs nowhere as a whole (its words speak for it). */
static bool is_incidental(const struct query_term *term)
{
    if (term->whole && !term->nodes)
        return true;
    return term->term[strspn(term->term, "0123456789")] == '\0';
}

/* Share of the question's information found in title, path and body. */
static double coverage(const struct query *query, const struct match *row)
{
    double found = 0, all = 0;
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        if (is_incidental(&query->terms[t]))
            continue;
        all += information;
        if (row[t].body || row[t].title || row[t].path)
            found += information;
    }
    return all > 0 ? found / all : query->count > 0;
}

static void give_result(struct routing *routing, const struct ranking *fused)
{
    struct route_result *result = routing->result;
    const struct query *query = &routing->query;
    size_t count = fused->count < routing->request->most
                       ? fused->count
                       : routing->request->most;
    result->hits = mem_alloc(count * sizeof *result->hits);
    for (size_t i = 0; i < count; i++) {
        const struct ranked *item = &fused->items[i];
        const struct scope *scope = &routing->scopes[item->scope];
        double covered =
            coverage(query, &scope->matches[item->node * query->count]);
        result->hits[i] = (struct route_hit){.volume = scope->volume,
                                             .node = item->node,
                                             .score = item->fused,
                                             .lexical = scope->own[item->node],
                                             .coverage = covered};
        if (i < 3 && covered > result->confidence)
            result->confidence = covered;
    }
    result->count = count;
    result->terms = mem_alloc(query->count * sizeof *result->terms);
    result->term_count = query->count;
    for (size_t t = 0; t < query->count; t++)
        result->terms[t] =
            (struct route_term){mem_strdup(query->terms[t].term),
                                query->terms[t].nodes, query->terms[t].idf};
}

int route_question(const struct shelf *shelf,
                   const struct route_request *request,
                   struct route_result *ret_result, struct err *err)
{
    struct route_result result = {0};
    struct routing routing = {.request = request, .result = &result};
    struct ranking fused = {0};
    query_parse(request->query, &routing.query);
    int code = request->query[strspn(request->query, " \t\r\n")]
                   ? choose_scopes(&routing, shelf, err)
                   : err_set(err, ERR_USAGE, "the question is empty");
    if (!code)
        code = score_scopes(&routing, shelf, err);
    if (!code) {
        rank_all(&routing, &fused);
        give_result(&routing, &fused);
        *ret_result = result;
    }
    for (size_t s = 0; s < routing.scope_count; s++) {
        free(routing.scopes[s].matches);
        free(routing.scopes[s].own);
        free(routing.scopes[s].whole);
        free(routing.scopes[s].branch);
    }
    free(routing.scopes);
    free(fused.items);
    query_free(&routing.query);
    return code;
}

void route_result_free(struct route_result *result)
{
    for (size_t t = 0; t < result->term_count; t++)
        free(result->terms[t].term);
    free(result->terms);
    free(result->hits);
    free(result->steps);
    *result = (struct route_result){0};
}
