/* What a question's terms find in a view, from the postings: of the nodes that hold
 * a term, or stand below a title that does, and of no others, so that the work grows
 * with what is found and not with the manual. */
#include <stdlib.h>

#include "memory/lexical/lexical.h"
#include "memory/lexical/term_filter.h"

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

/* ---- Postings ---- */

enum { MIN_POSTING = 2 }; /* bytes */

/* A term in a node, as the postings have it. */
struct finding {
    uint32_t node;
    struct match match;
};

struct findings {
    struct finding *items;
    size_t count, capacity;
    size_t end[QUERY_MAX_TERMS]; /* of each term's, one after the other */
    uint64_t *found;             /* the nodes that hold a term */
    uint64_t *heads;             /* those whose titles do */
};

/* The manual's own name, the root's title, says nothing of what stands below.  Room
 * is there. */
static void add_finding(struct findings *findings, uint32_t node,
                        struct match match)
{
    findings->items[findings->count++] = (struct finding){node, match};
    bitset_add(findings->found, node);
    if (match.title && node)
        bitset_add(findings->heads, node);
}

/* False: they do not ascend, or end too early, so that they are damaged.  *strange:
 * some name what is no node of the view. */
static bool find_term(const struct view *view, struct slice postings,
                      struct findings *findings, bool *strange)
{
    struct reader in = reader_of(postings.data, postings.size);
    const struct view_run *run = NULL;
    uint64_t id = 0;
    MEM_RESERVE(findings->items, &findings->capacity,
                findings->count + postings.size / MIN_POSTING);
    while (in.at < in.size && !in.failed) {
        uint64_t step = read_varint(&in), packed = read_varint(&in);
        if (in.failed || !step || id + step < id)
            return false;
        id += step;
        if (!run || id - run->id >= run->count)
            run = view_run_of(view, id);
        if (run)
            add_finding(findings, run->node + (uint32_t)(id - run->id),
                        unpack(packed, view->manual.lexical));
        else
            *strange = true;
    }
    return true;
}

int lexical_postings(struct store_txn *txn, const struct view *view,
                     struct slice term, struct slice *ret_postings,
                     struct err *err)
{
    *ret_postings = (struct slice){"", 0};
    if (!term_filter_may_have(view->terms, term))
        return 0;
    return store_get_postings(txn, view->manual.id, view->manual.epoch, term,
                              ret_postings, err);
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
                      struct err *err)
{
    for (size_t t = 0; t < query->count; t++) {
        struct slice postings;
        int code = lexical_postings(txn, view, slice_of(query->terms[t].term),
                                    &postings, err);
        if (code)
            return code;
        bool strange = false;
        if (!find_term(view, postings, findings, &strange) ||
            (strange && is_current(txn, view)))
            return err_set(err, ERR_STORE,
                           "the postings of '%.100s' in the manual %.200s are "
                           "damaged: lectern verify --repair -c %.200s",
                           query->terms[t].term, view->manual.name,
                           view->manual.name);
        findings->end[t] = findings->count;
    }
    return findings->count > UINT32_MAX
               ? err_set(err, ERR_LIMIT, "the manual is too large")
               : 0;
}

/* ---- Matches ---- */

/* All below titles that hold a term is found, too. */
static void add_below(const struct view *view, struct findings *findings)
{
    uint32_t count = view->outline->count, head = 0;
    while (head < count) {
        head = bitset_next(findings->heads, bitset_words(count), head);
        if (head == UINT32_MAX)
            break;
        bitset_add_range(findings->found, head, view->ends[head]);
        head = view->ends[head];
    }
}

static void list_nodes(const struct view *view, struct matches *matches)
{
    size_t words = bitset_words(view->outline->count);
    matches->before = mem_alloc(words * sizeof *matches->before);
    for (size_t w = 0; w < words; w++) {
        matches->before[w] = matches->count;
        matches->count += (uint32_t)__builtin_popcountll(matches->found[w]);
    }
    matches->nodes = mem_alloc(matches->count * sizeof *matches->nodes);
    uint32_t node = 0;
    for (uint32_t p = 0; p < matches->count; p++) {
        node = bitset_next(matches->found, words, node);
        matches->nodes[p].node = node++;
    }
}

/* Findings are of one term after the other; each node's come together. */
static void fill_items(struct findings *findings, struct matches *matches)
{
    uint32_t all = 0;
    matches->items = mem_alloc(findings->count * sizeof *matches->items);
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *item = &findings->items[i];
        item->node = matches_from(matches, item->node); /* its place */
        matches->nodes[item->node].end++;
    }
    for (uint32_t p = 0; p < matches->count; p++) { /* where they begin */
        uint32_t count = matches->nodes[p].end;
        matches->nodes[p].end = all;
        all += count;
    }
    size_t i = 0;
    for (size_t t = 0; t < matches->terms; t++)
        for (; i < findings->end[t]; i++) {
            const struct finding *item = &findings->items[i];
            matches->items[matches->nodes[item->node].end++] =
                (struct found_term){(uint8_t)t, item->match};
        }
}

uint64_t matches_titles(const struct matches *matches, uint32_t place)
{
    uint64_t titles = 0;
    for (uint32_t i = matches_first(matches, place);
         i < matches->nodes[place].end; i++)
        titles |= (uint64_t)(matches->items[i].match.title > 0)
                  << matches->items[i].term;
    return titles;
}

/* Titles that hold terms, each below the one before. */
struct heads {
    struct head {
        uint32_t end;    /* of the sub-tree */
        uint64_t titles; /* its terms, and those of the titles above it */
    } * items;
    size_t count, capacity;
};

static void fill_above(const struct view *view, const uint64_t *heads,
                       struct matches *matches)
{
    struct heads open = {0};
    for (uint32_t p = 0; p < matches->count; p++) {
        struct found_node *found = &matches->nodes[p];
        while (open.count && open.items[open.count - 1].end <= found->node)
            open.count--;
        if (open.count)
            found->above = open.items[open.count - 1].titles;
        if (!bitset_has(heads, found->node))
            continue;
        MEM_RESERVE(open.items, &open.capacity, open.count + 1);
        open.items[open.count++] = (struct head){
            view->ends[found->node], found->above | matches_titles(matches, p)};
    }
    free(open.items);
}

static void count_owners(const struct view *view, struct matches *matches)
{
    for (uint32_t p = 0; p < matches->count; p++) {
        if (!bitset_has(view->texts, matches->nodes[p].node))
            continue;
        for (uint32_t i = matches_first(matches, p); i < matches->nodes[p].end;
             i++)
            matches->owners[matches->items[i].term] +=
                match_holds(&matches->items[i].match);
    }
}

int lexical_match(struct store_txn *txn, const struct view *view,
                  const struct query *query, struct matches *ret_matches,
                  struct err *err)
{
    size_t words = bitset_words(view->outline->count);
    struct findings findings = {.found = mem_alloc(words * sizeof(uint64_t)),
                                .heads = mem_alloc(words * sizeof(uint64_t))};
    struct matches matches = {.found = findings.found, .terms = query->count};
    int code = find_terms(txn, view, query, &findings, err);
    if (!code) {
        add_below(view, &findings);
        list_nodes(view, &matches);
        fill_items(&findings, &matches);
        fill_above(view, findings.heads, &matches);
        count_owners(view, &matches);
        *ret_matches = matches;
    }
    free(findings.items);
    free(findings.heads);
    if (code)
        matches_free(&matches);
    return code;
}

struct match_row matches_row(const struct matches *matches, uint32_t node)
{
    struct match_row row = {0};
    if (!matches_has(matches, node))
        return row;
    uint32_t place = matches_from(matches, node);
    for (uint32_t i = matches_first(matches, place);
         i < matches->nodes[place].end; i++)
        row.of[matches->items[i].term] = matches->items[i].match;
    for (size_t t = 0; t < matches->terms; t++)
        row.of[t].path = matches->nodes[place].above >> t & 1;
    return row;
}

void matches_free(struct matches *matches)
{
    free(matches->nodes);
    free(matches->items);
    free(matches->found);
    free(matches->before);
    *matches = (struct matches){0};
}
