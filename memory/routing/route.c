#include "memory/routing/route.h"

#include <stdlib.h>
#include <string.h>

#include "memory/snapshot/content.h"
#include "memory/routing/route_internal.h"

const char *const route_ranking_names[ROUTE_RANKINGS] = {
    [ROUTE_BY_LEXICAL] = "lexical",
    [ROUTE_BY_TERMS] = "terms",
    [ROUTE_BY_DENSE] = "dense",
    [ROUTE_BY_TREE] = "tree",
    [ROUTE_BY_BLOCK] = "block"};

/* Those of auto were chosen on questions about manuals held out of everything
 * else (cmake, swi-prolog), with quill-0; that of the block on people's questions
 * without a model (docs/log/retrieval.md). */
static const struct route_weights mode_weights[] = {
    [ROUTE_AUTO] = {{[ROUTE_BY_LEXICAL] = 1,
                     [ROUTE_BY_TERMS] = 0.15,
                     [ROUTE_BY_DENSE] = 0.3,
                     [ROUTE_BY_TREE] = 0.05,
                     [ROUTE_BY_BLOCK] = 0.3}},
    [ROUTE_TREE] = {{[ROUTE_BY_TERMS] = 1, [ROUTE_BY_TREE] = 1}},
    [ROUTE_DENSE] = {{[ROUTE_BY_DENSE] = 1}},
    [ROUTE_LEXICAL] = {{[ROUTE_BY_LEXICAL] = 1}},
};

/* Of auto, with a model made to embed: chosen with all-MiniLM-L6-v2 on FAQs,
 * links and definitions of nine manuals (docs/log/retrieval.md). */
static const struct route_weights embedding_weights = {
    {[ROUTE_BY_LEXICAL] = 1,
     [ROUTE_BY_TERMS] = 0.15,
     [ROUTE_BY_DENSE] = 0.5,
     [ROUTE_BY_TREE] = 0.15,
     [ROUTE_BY_BLOCK] = 0.3}};

/* Share of their weight that memories lose where words find all; chosen on people's
 * questions with Quill: .8 of 0, .8 and 1. */
static const double DISTRUST = 0.8;

/* Of the questions to which the confidence is fitted a twentieth of those with an
 * answer is below (docs/log/people.md). */
const double route_min_confidence = 0.24;
/* Between these a twelfth of tune's questions are, and a quarter of those asked of another
 * manual. */
const double route_sure_confidence = 0.5;

/* What terms of the question before count where the one that follows it up names a
 * subject ("and for indexes?"), where it points back besides ("does it need a
 * restart?") and where it names none ("how do I turn it off?"), and what a place in or
 * beside the sections that answered it adds to a fused score (docs/log/retrieval.md). */
static const double CARRIED = 0.3, CARRIED_ALONE = 0.8, NEAR = 0.3;
const double carried_pointed = 0.5;

/* Cosine from which a section may be meant though it holds no word of the question:
 * of strings without meaning those with Quill were .19 to .45. */
static const double WORDLESS = 0.6;

/* ---- What is asked, and where ---- */

void routing_share(const struct routing *routing, size_t count,
                   void (*body)(void *context, size_t from, size_t to),
                   void *context)
{
    const struct route_request *request = routing->request;
    if (request->pool && !request->explain)
        pool_parallel_for(request->pool, count, body, context);
    else
        body(context, 0, count);
}

bool scope_accepts(const struct scope *scope, uint32_t node)
{
    const struct view *view = scope->view;
    return node >= scope->from && node < scope->end &&
           bitset_has(view->named, node) &&
           !(scope->refused && scope->refused[node]) &&
           (scope->file == TREE_NONE ||
            view->nodes[node].file == scope->file) &&
           (!scope->kinds || scope->kinds[node] & scope->wanted);
}

static void add_scope(struct routing *routing, const struct view *view,
                      uint32_t from, uint32_t end)
{
    const char *path = routing->request->file;
    uint32_t file = path ? view_file(view, path) : (uint32_t)TREE_NONE;
    if (path && file == TREE_NONE)
        return;
    routing->scopes[routing->scope_count++] =
        (struct scope){.view = view,
                       .from = from,
                       .end = end,
                       .file = file,
                       .parent = TREE_NONE};
}

static bool is_asked(const struct route_request *request, const char *manual)
{
    size_t i = 0;
    while (i < request->manual_count &&
           strcmp(request->manuals[i], manual) != 0)
        i++;
    return !request->manual_count || i < request->manual_count;
}

static int choose_scopes(struct routing *routing,
                         const struct snapshot *snapshot, struct err *err)
{
    const struct route_request *request = routing->request;
    routing->scopes = mem_alloc(snapshot->count * sizeof *routing->scopes);
    if (request->under) {
        const struct view *view;
        uint32_t node;
        if (!snapshot_find(snapshot, request->under, &view, &node))
            return snapshot_check(snapshot, NULL, err)
                       ? ERR_STORE
                       : err_set(err, ERR_USAGE,
                                 "under: no such node; toc lists those "
                                 "there are");
        if (!is_asked(request, view->manual.name))
            return err_set(err, ERR_USAGE,
                           "under: the node is of %s, not of %s",
                           view->manual.name, request->manuals[0]);
        add_scope(routing, view, node, view->outline->nodes[node].end);
    } else {
        for (size_t i = 0; i < request->manual_count; i++)
            if (!snapshot_view(snapshot, request->manuals[i]))
                return err_set(err, ERR_USAGE, "no manual named %s is indexed",
                               request->manuals[i]);
        for (size_t i = 0; i < snapshot->count; i++)
            if (is_asked(request, snapshot->views[i]->manual.name))
                add_scope(routing, snapshot->views[i], 0,
                          snapshot->views[i]->outline->count);
    }
    if (request->file && !routing->scope_count)
        return snapshot_check(snapshot, NULL, err)
                   ? ERR_STORE
                   : err_set(err, ERR_USAGE, "no file %s is indexed",
                             request->file);
    return 0;
}

static int find_kinds(struct routing *routing, const struct snapshot *snapshot,
                      struct err *err)
{
    int code = 0;
    for (size_t s = 0; s < routing->scope_count && !code; s++) {
        struct scope *scope = &routing->scopes[s];
        scope->wanted = routing->request->kinds;
        if (scope->wanted)
            code = kinds_of(snapshot, scope->view, &scope->kinds, err);
    }
    return code;
}

/* Mode dense has nothing but vectors. */
static int check_dense(const struct routing *routing, struct err *err)
{
    if (routing->request->mode != ROUTE_DENSE)
        return 0;
    if (!routing->request->vector)
        return err_set(err, ERR_MODEL,
                       "mode dense needs a model, and there is none: lectern "
                       "doctor shows what is configured");
    for (size_t s = 0; s < routing->scope_count; s++)
        if (routing->scopes[s].vectors)
            return 0;
    return err_set(err, ERR_MODEL,
                   "mode dense needs memories, and none are made yet: lectern "
                   "wait returns when they are");
}

/* ---- Rankings ---- */

static const struct route_weights *weights_for(
    const struct route_request *request)
{
    if (request->mode != ROUTE_AUTO)
        return &mode_weights[request->mode];
    if (request->weights)
        return request->weights;
    return request->vector && request->embeds ? &embedding_weights
                                              : &mode_weights[ROUTE_AUTO];
}

/* Does any word of the question stand anywhere? */
static bool says_something(const struct query *query)
{
    for (size_t t = 0; t < query->count; t++)
        if (query->terms[t].nodes)
            return true;
    return false;
}

/* Where no word of the question stands anywhere there always is something nearest by
 * meaning: noise, unless it is near. */
static size_t keep_near(struct fused *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (items[i].by[ROUTE_BY_LEXICAL].rank || /* by a title alone */
            (items[i].by[ROUTE_BY_DENSE].rank &&
             items[i].by[ROUTE_BY_DENSE].score >= WORDLESS))
            items[kept++] = items[i];
    return kept;
}

/* Where the best section by words holds the whole question, memories of a model that
 * was not made to embed only lead away from it. */
static void trust(const struct routing *routing, const struct ranking *lexical,
                  struct route_weights *weights)
{
    const struct route_request *request = routing->request;
    if (request->mode != ROUTE_AUTO || request->weights ||
        (request->vector && request->embeds) || !lexical->count)
        return;
    const struct ranked *best = &lexical->items[0];
    const struct matches *matches = &routing->scopes[best->scope].matches;
    struct match_row row = matches_row(matches, best->node);
    double known = coverage(&routing->query, row.of, true);
    weights->by[ROUTE_BY_DENSE] *= 1 - DISTRUST * known;
    weights->by[ROUTE_BY_TREE] *= 1 - DISTRUST * known;
}

/* Which rankings need neither of the others: those by words, and those by memories. */
enum { BY_WORDS, BY_MEMORIES, PARTS };

struct ranking_all {
    struct routing *routing;
    struct ranking rankings[ROUTE_RANKINGS];
    int code; /* of the words: memories are at hand */
    struct err *err;
};

/* With explain those that count nothing are made, too. */
static void rank_by(struct ranking_all *all, enum route_ranking by,
                    void (*rank)(struct routing *, struct ranking *))
{
    const struct route_result *result = all->routing->result;
    if (result->weights.by[by] > 0 || all->routing->request->explain)
        rank(all->routing, &all->rankings[by]);
}

static void rank_parts(void *context, size_t from, size_t to)
{
    struct ranking_all *all = context;
    for (size_t part = from; part < to; part++) {
        if (part == BY_MEMORIES) {
            rank_by(all, ROUTE_BY_DENSE, rank_dense);
            rank_by(all, ROUTE_BY_TREE, rank_tree);
            continue;
        }
        all->code = score_terms(all->routing, all->err);
        if (all->code)
            continue;
        rank_by(all, ROUTE_BY_LEXICAL, rank_lexical);
        rank_by(all, ROUTE_BY_TERMS, rank_terms);
    }
}

static int rank_all(struct routing *routing, struct fused **ret_fused,
                    size_t *ret_count, struct err *err)
{
    const struct route_request *request = routing->request;
    struct route_weights *weights = &routing->result->weights;
    struct ranking_all all = {.routing = routing, .err = err};
    *weights = *weights_for(request);
    all.code = match_terms(routing, err);
    if (!all.code)
        routing_share(routing, PARTS, rank_parts, &all);
    if (!all.code) {
        if (weights->by[ROUTE_BY_BLOCK] > 0 || request->explain)
            rank_blocks(routing, &all.rankings[ROUTE_BY_LEXICAL],
                        &all.rankings[ROUTE_BY_BLOCK]);
        trust(routing, &all.rankings[ROUTE_BY_LEXICAL], weights);
        *ret_count = rankings_fuse(all.rankings, weights, ret_fused);
        if (request->mode == ROUTE_AUTO && !says_something(&routing->query))
            *ret_count = keep_near(*ret_fused, *ret_count);
    }
    for (int r = 0; r < ROUTE_RANKINGS; r++)
        free(all.rankings[r].items);
    return all.code;
}

/* ---- What it follows up ---- */

double route_carried(const struct route_context *context)
{
    return context && !context->names   ? CARRIED_ALONE
           : context && context->points ? carried_pointed
                                        : CARRIED;
}

static void carry_terms(struct routing *routing)
{
    const struct route_context *context = routing->request->context;
    double carried = route_carried(context), share = carried;
    for (size_t i = 0; context && i < context->question_count; i++) {
        query_carry(&routing->query, context->questions[i], share);
        share *= carried;
    }
}

/* Sub-trees that are preferred. */
struct surroundings {
    const struct routing *routing;
    const struct view *views[ROUTE_MAX_NEAR];
    uint32_t from[ROUTE_MAX_NEAR], end[ROUTE_MAX_NEAR];
    size_t count;
};

/* Of a section: what is below its parent; of one at the top: its own. */
static void add_surroundings(struct surroundings *all, const struct view *view,
                             uint32_t node)
{
    const struct node *nodes = view->outline->nodes;
    uint32_t parent = nodes[node].parent;
    if (parent != TREE_NONE && parent != 0)
        node = parent;
    all->views[all->count] = view;
    all->from[all->count] = node;
    all->end[all->count++] = nodes[node].end;
}

static double nearness(const void *context, const struct fused *item)
{
    const struct surroundings *all = context;
    const struct view *view = all->routing->scopes[item->scope].view;
    for (size_t i = 0; i < all->count; i++)
        if (all->views[i] == view && item->node >= all->from[i] &&
            item->node < all->end[i])
            return NEAR;
    return 0;
}

static void prefer_near(const struct routing *routing,
                        const struct snapshot *snapshot, struct fused *fused,
                        size_t count)
{
    const struct route_context *context = routing->request->context;
    struct surroundings all = {.routing = routing};
    for (size_t i = 0; context && i < context->near_count; i++) {
        const struct view *view;
        uint32_t node;
        if (all.count < ROUTE_MAX_NEAR &&
            snapshot_find(snapshot, context->near[i], &view, &node))
            add_surroundings(&all, view, node);
    }
    if (all.count)
        rankings_add(fused, count, nearness, &all);
}

/* ---- The result ---- */

static void give_hits(struct routing *routing, const struct fused *fused,
                      size_t count)
{
    struct route_result *result = routing->result;
    const struct query *query = &routing->query;
    if (count > routing->request->max)
        count = routing->request->max;
    result->hits = mem_alloc(count * sizeof *result->hits);
    for (size_t i = 0; i < count; i++) {
        const struct fused *item = &fused[i];
        const struct scope *scope = &routing->scopes[item->scope];
        struct match_row row = matches_row(&scope->matches, item->node);
        result->hits[i] =
            (struct route_hit){.view = scope->view,
                               .node = item->node,
                               .score = item->score,
                               .coverage = coverage(query, row.of, false),
                               .pieces = item->pieces,
                               .sides = item->sides,
                               .block = TREE_NONE};
        for (int r = 0; r < ROUTE_RANKINGS; r++)
            result->hits[i].by[r] = item->by[r];
    }
    result->count = count;
}

/* The blocks by which hits were scored, where only some kinds are wanted. */
static int give_blocks(struct routing *routing, const struct snapshot *snapshot,
                       const struct fused *fused, struct err *err)
{
    struct route_result *result = routing->result;
    const struct query *query = &routing->query;
    struct analyzer *maker = analyzer_new();
    int code = 0;
    for (size_t i = 0; i < result->count && !code; i++) {
        const struct scope *scope = &routing->scopes[fused[i].scope];
        struct route_hit *hit = &result->hits[i];
        struct match_row row = matches_row(&scope->matches, hit->node);
        struct kind_block best;
        code = kinds_best(snapshot, hit->view, hit->node, scope->wanted, query,
                          &routing->sought, row.of, maker, &best, err);
        if (!code)
            hit->block = best.block;
    }
    analyzer_free(maker);
    return code;
}

static struct route_term give_term(const struct query_term *term)
{
    return (struct route_term){
        .term = mem_strdup(term->term),
        .written = term->written ? mem_strdup(term->written) : NULL,
        .nodes = term->nodes,
        .idf = term->idf,
        .weight = term->weight,
        .common = term->frequency > 0,
        .instead_of = term->instead_of,
        .parts = term->parts,
        .sides = term->sides};
}

static void give_terms(struct routing *routing)
{
    struct route_result *result = routing->result;
    const struct query *query = &routing->query;
    result->terms = mem_alloc(query->count * sizeof *result->terms);
    result->term_count = query->count;
    result->parts = query->parts;
    for (size_t t = 0; t < query->count; t++)
        result->terms[t] = give_term(&query->terms[t]);
}

static void free_routing(struct routing *routing)
{
    for (size_t s = 0; s < routing->scope_count; s++) {
        matches_free(&routing->scopes[s].matches);
        free(routing->scopes[s].own);
        free(routing->scopes[s].refused);
    }
    free(routing->scopes);
    query_free(&routing->query);
}

static int prepare(struct routing *routing, const struct snapshot *snapshot,
                   struct err *err)
{
    const char *query = routing->request->query;
    query_parse(query, &routing->query);
    carry_terms(routing);
    if (!query[strspn(query, " \t\r\n")])
        return err_set(err, ERR_USAGE, "the question is empty");
    int code = choose_scopes(routing, snapshot, err);
    if (!code)
        code = find_kinds(routing, snapshot, err);
    if (!code)
        code = refuse_nodes(routing, err);
    if (code)
        return code;
    find_vectors(routing);
    return check_dense(routing, err);
}

int route_question(const struct snapshot *snapshot,
                   const struct route_request *request,
                   struct route_result *ret_result, struct err *err)
{
    struct route_result result = {0};
    struct routing routing = {
        .request = request, .snapshot = snapshot, .result = &result};
    struct fused *fused;
    size_t count;
    find_letters(&routing);
    int code = prepare(&routing, snapshot, err);
    if (!code)
        code = rank_all(&routing, &fused, &count, err);
    if (!code) {
        set_aside(&routing, fused, count);
        prefer_near(&routing, snapshot, fused, count);
        prefer_manual(&routing, fused, count);
        prefer_named(&routing, fused, count);
        prefer_letters(&routing, fused, count);
        rankings_sort(fused, count);
        take_turns(&routing, fused, count);
        give_confidence(&routing, fused, count); /* fitted to this order */
        raise_confidence(&routing, fused, count);
        order_by_pieces(&routing, fused, count);
        raise_confidence(&routing, fused, count);
        put_sides_together(fused, count);
        give_hits(&routing, fused, count);
        give_terms(&routing);
        if (request->kinds)
            code = give_blocks(&routing, snapshot, fused, err);
        free(fused);
    }
    free_routing(&routing);
    if (code)
        route_result_free(&result);
    else
        *ret_result = result;
    return code;
}

void route_result_free(struct route_result *result)
{
    for (size_t t = 0; t < result->term_count; t++) {
        free(result->terms[t].term);
        free(result->terms[t].written);
    }
    for (size_t i = 0; i < result->operator_count; i++)
        free(result->operators[i].text);
    free(result->expanded);
    free(result->terms);
    free(result->hits);
    free(result->steps);
    *result = (struct route_result){0};
}
