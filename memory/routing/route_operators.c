/* Phrases and exclusions: the postings say which nodes may hold the words, and
 * their text whether it holds the phrase as it stands. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/lexical/script.h"
#include "memory/routing/route_internal.h"
#include "memory/snapshot/content.h"

/* An operator being looked for. */
struct sought {
    const struct query_operator *operator;
    struct query query; /* its words */
    struct buf phrase;  /* folded */
    bool **holds;       /* [scope_count][outline->count] */
    uint32_t nodes;     /* that hold it */
};

/* ---- Its words ---- */

struct taking {
    struct query *query;
    bool wholes; /* only these: an identifier */
};

/* Of scripts without spaces a character alone is no term within a text. */
static bool is_sure(const struct term_at *at)
{
    return at->whole || !text_is_one(at->word) ||
           (unsigned char)at->word.data[0] < CJK_MIN_BYTE;
}

static void take_word(void *context, const struct term_at *at)
{
    struct taking *taking = context;
    struct query *query = taking->query;
    if (at->whole != taking->wholes || (at->whole && at->part) ||
        !is_sure(at) || query_find(query, at->term) >= 0 ||
        query->count == QUERY_MAX_TERMS)
        return;
    query->terms[query->count++] =
        (struct query_term){.term = mem_strndup(at->term.data, at->term.size),
                            .word = mem_strndup(at->word.data, at->word.size)};
}

/* Of a phrase each word; of an excluded identifier the whole. */
static void take_words(struct sought *sought)
{
    struct taking taking = {&sought->query, !sought->operator->exact };
    struct slice text = slice_of(sought->operator->text);
    struct analyzer *maker = analyzer_new();
    analyze(maker, text, take_word, &taking);
    taking.wholes = false;
    if (!sought->query.count)
        analyze(maker, text, take_word, &taking);
    analyzer_free(maker);
}

static bool has_all(const struct sought *sought, const struct match *row)
{
    for (size_t t = 0; t < sought->query.count; t++)
        if (!match_holds(&row[t]) && !row[t].path)
            return false;
    return true;
}

/* ---- Its text ---- */

/* Nodes of one scope that hold the words of a phrase; some hold it, too. */
struct reading {
    const struct routing *routing;
    const struct sought *sought;
    const struct view *view;
    uint32_t *nodes; /* [count] */
    size_t count;
    bool *holds;        /* [outline->count] */
    atomic_bool failed; /* one could not be read */
};

/* `scratch`: a text, folded. */
static bool is_in(const struct reading *reading, struct slice text,
                  struct buf *scratch)
{
    buf_clear(scratch);
    phrase_fold(scratch, text);
    return phrase_is_in(buf_slice(&reading->sought->phrase),
                        buf_slice(scratch));
}

static bool is_in_path(const struct reading *reading, uint32_t node,
                       struct buf *scratch)
{
    bool found = false;
    for (uint32_t n = node; n && n != TREE_NONE && !found;
         n = reading->view->nodes[n].parent)
        found = is_in(reading, reading->view->outline->nodes[n].title, scratch);
    return found;
}

static int is_in_section(const struct reading *reading, uint32_t node,
                         struct buf *scratch, bool *ret, struct err *err)
{
    struct content content;
    *ret = is_in_path(reading, node, scratch);
    if (*ret)
        return 0;
    int code = content_open(reading->routing->snapshot, reading->view, node,
                            &content, err);
    if (code)
        return code == ERR_NOT_FOUND ? 0 : code;
    for (uint32_t b = 0; b < content.node->block_count && !*ret; b++)
        *ret = is_in(reading, content.node->blocks[b].text, scratch);
    content_close(&content);
    return 0;
}

static bool is_cancelled(const struct routing *routing)
{
    const atomic_bool *cancelled = routing->request->cancelled;
    return cancelled && atomic_load(cancelled);
}

static void read_some(void *context, size_t from, size_t to)
{
    struct reading *reading = context;
    struct buf scratch = {0};
    for (size_t i = from; i < to && !is_cancelled(reading->routing); i++) {
        uint32_t node = reading->nodes[i];
        if (is_in_section(reading, node, &scratch, &reading->holds[node], NULL))
            atomic_store(&reading->failed, true);
    }
    buf_free(&scratch);
}

/* Where one cannot be read all are once more, one after the other, to tell why. */
static int read_all(struct reading *reading, struct err *err)
{
    struct buf scratch = {0};
    int code = 0;
    routing_share(reading->routing, reading->count, read_some, reading);
    for (size_t i = 0;
         i < reading->count && atomic_load(&reading->failed) && !code; i++) {
        uint32_t node = reading->nodes[i];
        code =
            is_in_section(reading, node, &scratch, &reading->holds[node], err);
    }
    if (!code && is_cancelled(reading->routing))
        code = err_set(err, ERR_CANCELLED, "cancelled");
    buf_free(&scratch);
    return code;
}

static int find_in_scope(const struct routing *routing, struct sought *sought,
                         const struct scope *scope,
                         const struct matches *matches, bool *holds,
                         struct err *err)
{
    struct reading reading = {.routing = routing,
                              .sought = sought,
                              .view = scope->view,
                              .holds = holds};
    reading.nodes =
        mem_alloc((scope->end - scope->from) * sizeof *reading.nodes);
    for (uint32_t n = scope->from; n < scope->end; n++) {
        if (sought->query.count && !matches_has(matches, n))
            continue;
        struct match_row row = matches_row(matches, n);
        holds[n] = has_all(sought, row.of);
        if (holds[n])
            reading.nodes[reading.count++] = n;
    }
    int code = sought->operator->exact ? read_all(&reading, err) : 0;
    for (size_t i = 0; i < reading.count; i++)
        sought->nodes += holds[reading.nodes[i]];
    free(reading.nodes);
    return code;
}

static int find_everywhere(const struct routing *routing, struct sought *sought,
                           struct store_txn *txn, struct err *err)
{
    int code = 0;
    for (size_t s = 0; s < routing->scope_count && !code; s++) {
        const struct scope *scope = &routing->scopes[s];
        struct matches matches;
        code = lexical_match(txn, scope->view, &sought->query, &matches, err);
        if (code)
            break;
        sought->holds[s] =
            mem_alloc(scope->view->outline->count * sizeof(bool));
        code = find_in_scope(routing, sought, scope, &matches, sought->holds[s],
                             err);
        matches_free(&matches);
    }
    return code;
}

/* ---- What it refuses ---- */

static void refuse(struct routing *routing, const struct sought *sought)
{
    bool exclude = sought->operator->exclude;
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        uint32_t count = scope->view->outline->count;
        if (!scope->refused)
            scope->refused = mem_alloc(count * sizeof(bool));
        for (uint32_t n = 0; n < count; n++)
            scope->refused[n] |= sought->holds[s][n] == exclude;
    }
}

static void tell(struct route_result *result, const struct sought *sought,
                 bool demanded)
{
    result->operators[result->operator_count++] = (struct route_operator){
        .text = mem_strdup(sought->operator->text),
        .exclude = sought->operator->exclude,
        .demanded = demanded,
        .nowhere = !sought->operator->exclude && !sought->nodes,
        .nodes = sought->nodes};
}

static void free_sought(const struct routing *routing, struct sought *sought)
{
    for (size_t s = 0; s < routing->scope_count; s++)
        free(sought->holds[s]);
    free(sought->holds);
    query_free(&sought->query);
    buf_free(&sought->phrase);
}

static int apply(struct routing *routing, const struct query_operator *operator,
                 struct store_txn * txn, struct err *err)
{
    bool loose = routing->request->operators->loose;
    struct sought sought = {.operator= operator};
    sought.holds = mem_alloc(routing->scope_count * sizeof *sought.holds);
    take_words(&sought);
    phrase_fold(&sought.phrase, slice_of(operator->text));
    int code = find_everywhere(routing, &sought, txn, err);
    if (!code && (operator->exclude || !loose))
        refuse(routing, &sought);
    if (!code)
        tell(routing->result, &sought, !operator->exclude && !loose);
    free_sought(routing, &sought);
    return code;
}

int refuse_nodes(struct routing *routing, struct err *err)
{
    const struct query_operators *operators = routing->request->operators;
    struct store_txn *txn;
    if (!operators || !operators->count)
        return 0;
    int code = store_read(routing->snapshot->store, &txn, err);
    if (code)
        return code;
    for (size_t i = 0; i < operators->count && !code; i++)
        code = apply(routing, &operators->items[i], txn, err);
    store_end(txn);
    return code;
}
