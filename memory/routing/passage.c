#include "memory/routing/passage.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/text.h"
#include "memory/lexical/comparison.h"
#include "memory/snapshot/content.h"
#include "memory/routing/passage_texts.h"

enum { OF_BEST = 4 /* passages of the best section; of the others: one */ };

/* What a term in the head of a definition (the term defined) is worth to the
 * sentences below it. */
static const double HEAD_SHARE = 0.8;
/* What a term in a label above (a short line that ends no sentence), or in the
 * node's title, is worth to the sentences below. */
static const double LABEL_SHARE = 0.8, TITLE_SHARE = 0.5;
/* Hits whose score is below this share of the best are not quoted. */
static const double MIN_SHARE = 0.5;
/* What a term counts that another part of the question has. */
static const double OTHER_PART = 0.3;
/* Between equals: prose before tables and code, what stands first. */
static const double PROSE = 1.15, ORDER = 0.002, MAX_ORDER = 0.1;
/* A quote of fewer bytes says little. */
enum { SHORT = 40 };
static const double SHORT_SHARE = 0.4;
/* A title that says so much of the question is it. */
static const double WHOLE = 0.95;

struct choosing {
    struct passage_reader reader;
    double best_hit; /* its score */
};

/* What of a section is to be told next. */
struct picking {
    const struct choosing *choosing;
    const struct node *node;
    const struct passage_texts *texts;
    const struct passage_text *chosen[OF_BEST]; /* [chosen_count] */
    size_t chosen_count;
    uint8_t part; /* of the question that this one is to answer; 0: all */
};

static bool is_cancelled(const struct choosing *choosing)
{
    const atomic_bool *cancel = choosing->reader.cancel;
    return cancel && atomic_load(cancel);
}

/* Share of the information of a part of the query, a bit, that the terms hold; what no
 * part has is of each. */
static double share_of(const struct query *query, unsigned part, term_set terms)
{
    double sum = 0, all = 0;
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        if (query->terms[t].parts && !(query->terms[t].parts & part))
            continue;
        all += information;
        sum += terms >> t & 1 ? information : 0;
    }
    return all > 0 ? sum / all : 0;
}

/* The greatest share of a part that they hold. */
static double about_of(const struct query *query, term_set terms)
{
    double about = 0;
    for (unsigned p = 0; p < query->parts; p++) {
        double share = share_of(query, 1U << p, terms);
        about = share > about ? share : about;
    }
    return about;
}

/* ---- The best text ---- */

/* Of the line, row or piece of an earlier one? */
static bool is_chosen(const struct picking *picking,
                      const struct passage_text *text)
{
    for (size_t i = 0; i < picking->chosen_count; i++)
        if (picking->chosen[i]->block == text->block &&
            picking->chosen[i]->from <= text->from &&
            text->from < picking->chosen[i]->end)
            return true;
    return false;
}

/* One more says more of it: no label, no link to another section. */
static bool says_more(const struct picking *picking,
                      const struct passage_text *text)
{
    const struct block *block = &picking->node->blocks[text->block];
    return text->terms &&
           (block->kind != BLOCK_PARAGRAPH || text->text.size >= SHORT);
}

static double information_held(const struct picking *picking,
                               const struct passage_text *text)
{
    const struct query *query = picking->choosing->reader.query;
    double sum = 0;
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        if (picking->part && !(query->terms[t].parts & picking->part))
            information *= OTHER_PART;
        if (text->terms >> t & 1)
            sum += information;
        else if (text->head >> t & 1)
            sum += HEAD_SHARE * information;
        else if (text->label >> t & 1)
            sum += LABEL_SHARE * information;
        else if (picking->texts->title >> t & 1)
            sum += TITLE_SHARE * information;
    }
    return sum;
}

static double score_of(const struct picking *picking,
                       const struct passage_text *text)
{
    int kind = picking->node->blocks[text->block].kind;
    double score = information_held(picking, text);
    if (kind != BLOCK_CODE && kind != BLOCK_TABLE)
        score *= PROSE;
    if (text->text.size < SHORT)
        score *= SHORT_SHARE;
    return score;
}

static bool may_follow(const struct picking *picking,
                       const struct passage_text *text)
{
    return !picking->chosen_count ||
           (!is_chosen(picking, text) && says_more(picking, text));
}

/* What tells most of one side of a comparison that no other side has: "hot" of "hot
 * standby vs warm standby"; 0: nothing does. */
static term_set telling_of(const struct query *query, unsigned side)
{
    term_set telling = 0;
    double most = 0;
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        if (query->terms[t].sides != side || information < most)
            continue;
        most = information;
        telling = information > 0 ? (term_set)1 << t : 0;
    }
    return telling;
}

/* What must each be told: identifiers, and the sides of a comparison. */
static term_set names_of(const struct query *query)
{
    term_set names = 0;
    for (size_t t = 0; t < query->count; t++)
        if (query->terms[t].term[0] == '=' && query->terms[t].weight > 0)
            names |= (term_set)1 << t;
    for (unsigned s = 0; s < COMPARISON_MAX_SIDES; s++)
        names |= telling_of(query, 1U << s);
    return names;
}

/* "What do set -e and set -u do": what of these nothing chosen tells. */
static term_set find_untold(const struct picking *picking)
{
    term_set left = names_of(picking->choosing->reader.query);
    left &= picking->chosen_count ? ~picking->texts->title : 0;
    for (size_t i = 0; i < picking->chosen_count; i++)
        left &= ~(picking->chosen[i]->terms | picking->chosen[i]->head);
    return left;
}

/* The next text is to tell some of these, where they are defined if they are. */
struct wanted {
    term_set terms, heads; /* those that some text has */
};

static struct wanted find_wanted(const struct picking *picking)
{
    const struct passage_texts *texts = picking->texts;
    term_set untold = find_untold(picking);
    struct wanted wanted = {0};
    for (size_t i = 0; i < texts->count && untold; i++) {
        const struct passage_text *text = &texts->items[i];
        if (!may_follow(picking, text))
            continue;
        wanted.terms |= untold & text->terms;
        wanted.heads |= untold & text->head;
    }
    return wanted;
}

static bool is_wanted(const struct wanted *wanted,
                      const struct passage_text *text)
{
    return wanted->heads   ? wanted->heads & text->head
           : wanted->terms ? wanted->terms & text->terms
                           : true;
}

/* NULL: none. */
static const struct passage_text *pick(const struct picking *picking,
                                       double *ret_score)
{
    const struct passage_text *best = NULL;
    struct wanted wanted = find_wanted(picking);
    double order = 0;
    for (size_t i = 0; i < picking->texts->count; i++) {
        const struct passage_text *text = &picking->texts->items[i];
        if (!may_follow(picking, text) || !is_wanted(&wanted, text))
            continue;
        double score = score_of(picking, text) - order;
        if (order < MAX_ORDER)
            order += ORDER;
        if (!best || score > *ret_score) {
            best = text;
            *ret_score = score;
        }
    }
    return best;
}

/* ---- Passages ---- */

static bool same_words(struct slice a, struct slice b)
{
    struct buf one = {0}, other = {0};
    text_fold_compare(&one, a);
    text_fold_compare(&other, b);
    bool same = slice_equal(buf_slice(&one), buf_slice(&other));
    buf_free(&one);
    buf_free(&other);
    return same;
}

static bool is_repeated(const struct passages *passages, struct slice text)
{
    for (size_t i = 0; i < passages->count; i++)
        if (same_words(passages->items[i].text, text))
            return true;
    return false;
}

static void add_passage(const struct picking *picking,
                        const struct route_hit *hit,
                        const struct content *content,
                        const struct passage_text *best, double score,
                        struct passages *passages)
{
    const struct choosing *choosing = picking->choosing;
    const struct block *block = &content->node->blocks[best->block];
    struct slice text = best->text;
    if (is_repeated(passages, text))
        return;
    struct passage passage = {
        .view = hit->view,
        .node = hit->node,
        .text = {arena_copy(&passages->arena, text.data, text.size), text.size},
        .at = (size_t)(text.data - block->text.data),
        .block = block->origin,
        .index = best->block,
        .kind = block->kind,
        .encoding = content->page->encoding,
        .score = score,
        .terms = best->terms,
        .share = choosing->best_hit > 0 ? hit->score / choosing->best_hit : 1,
        .about = hit->sides
                     ? 1
                     : about_of(choosing->reader.query, picking->texts->title),
        .sides = hit->sides};
    passage.block.file = content_file(content, hit->view, hit->node, block);
    passages->items[passages->count++] = passage;
}

/* The parts of a question take turns. */
static void next_part(struct picking *picking)
{
    unsigned parts = 1U << picking->choosing->reader.query->parts;
    unsigned next = (unsigned)picking->part << 1;
    if (picking->part)
        picking->part = (uint8_t)(next == parts ? 1 : next);
}

static void pick_each(const struct choosing *choosing,
                      const struct route_hit *hit,
                      const struct content *content,
                      const struct passage_texts *texts, int wanted,
                      struct passages *passages)
{
    struct picking picking = {.choosing = choosing,
                              .node = content->node,
                              .texts = texts,
                              .part = wanted > 1 &&
                                      choosing->reader.query->parts > 1};
    for (int i = 0; i < wanted; i++) {
        double score = 0;
        const struct passage_text *best = pick(&picking, &score);
        if (!best)
            break;
        add_passage(&picking, hit, content, best, score, passages);
        picking.chosen[picking.chosen_count++] = best;
        next_part(&picking);
    }
}

/* The best passages of a section, each of another line, row or piece. */
static int choose_from(const struct snapshot *snapshot,
                       const struct route_hit *hit,
                       const struct choosing *choosing, int wanted,
                       struct passages *passages, struct err *err)
{
    struct content content;
    int code = content_open(snapshot, hit->view, hit->node, &content, err);
    if (code)
        return code;
    struct passage_texts texts =
        passage_texts_read(&choosing->reader, content.node);
    if (is_cancelled(choosing))
        code = err_set(err, ERR_CANCELLED, "cancelled");
    else
        pick_each(choosing, hit, &content, &texts, wanted, passages);
    passage_texts_free(&texts);
    content_close(&content);
    return code;
}

/* Is the question the title of a section that has no text but that of titled parts
 * ("Summary", "Details")? */
static bool is_bare(const struct route_hit *hit)
{
    return hit->coverage >= WHOLE && !bitset_has(hit->view->texts, hit->node);
}

/* What explains comes before how it is called. */
static void put_prose_first(struct passage *items, size_t count)
{
    size_t i = 0;
    while (i < count && items[i].kind == BLOCK_CODE)
        i++;
    if (i == count)
        return;
    struct passage prose = items[i];
    memmove(items + 1, items, i * sizeof *items);
    items[0] = prose;
}

/* Of each part of a section one passage, of the first `wanted` that have text; of tables
 * none, whose first rows say nothing. */
static int choose_from_parts(const struct snapshot *snapshot,
                             const struct route_hit *hit,
                             const struct choosing *choosing, size_t wanted,
                             struct passages *passages, struct err *err)
{
    const uint32_t *ends = hit->view->ends;
    struct choosing of_parts = *choosing;
    struct route_hit part = *hit;
    size_t before = passages->count;
    int code = 0;
    if (!of_parts.reader.kinds)
        of_parts.reader.kinds = (kind_set)~kind_bit(BLOCK_TABLE);
    for (uint32_t n = hit->node + 1;
         n < ends[hit->node] && !code && passages->count < before + wanted;
         n = ends[n]) {
        if (!bitset_has(hit->view->texts, n))
            continue;
        part.node = n;
        code = choose_from(snapshot, &part, &of_parts, 1, passages, err);
    }
    put_prose_first(passages->items + before, passages->count - before);
    return code;
}

/* The terms as they were routed by. */
static struct query query_of(const struct route_result *route)
{
    struct query query = {.count = route->term_count, .parts = route->parts};
    for (size_t t = 0; t < query.count; t++)
        query.terms[t] = (struct query_term){
            .term = mem_strdup(route->terms[t].term),
            .idf = route->terms[t].idf,
            .weight = route->terms[t].instead_of ? 0 : route->terms[t].weight,
            .instead_of = route->terms[t].instead_of,
            .parts = route->terms[t].parts,
            .sides = route->terms[t].sides};
    return query;
}

int passages_choose(const struct snapshot *snapshot,
                    const struct route_result *route, size_t max,
                    kind_set kinds, const atomic_bool *cancel,
                    struct passages *ret_passages, struct err *err)
{
    struct query query = query_of(route);
    struct analyzer *maker = analyzer_new();
    struct passages passages = {0};
    MEM_RESERVE(passages.items, &passages.capacity, max + OF_BEST);
    struct choosing choosing = {.reader = {.query = &query,
                                           .sought = query_sought(&query),
                                           .letters = route->letters,
                                           .maker = maker,
                                           .kinds = kinds,
                                           .cancel = cancel},
                                .best_hit =
                                    route->count ? route->hits[0].score : 0};
    double min = MIN_SHARE * choosing.best_hit;
    size_t sections = 0;
    int code = 0;
    for (size_t i = 0; i < route->count && sections < max && !code; i++) {
        size_t before = passages.count;
        const struct route_hit *hit = &route->hits[i];
        if (!i && is_bare(hit))
            code = choose_from_parts(snapshot, hit, &choosing, OF_BEST,
                                     &passages, err);
        else if (hit->score >= min)
            code = choose_from(snapshot, hit, &choosing, i ? 1 : OF_BEST,
                               &passages, err);
        sections += passages.count > before;
    }
    analyzer_free(maker);
    query_free(&query);
    if (code)
        passages_free(&passages);
    else
        *ret_passages = passages;
    return code;
}

/* ---- Excerpts ---- */

/* The node's blocks, a line's end behind each; *ret_from: where the text begins, 0
 * without one. */
static void put_blocks(const struct node *node, const struct passage_text *text,
                       struct buf *plain, size_t *ret_from)
{
    *ret_from = 0;
    for (uint32_t b = 0; b < node->block_count; b++) {
        if (text && text->block == b)
            *ret_from = plain->size +
                        (size_t)(text->text.data - node->blocks[b].text.data);
        buf_put_slice(plain, node->blocks[b].text);
        buf_put_byte(plain, '\n');
    }
}

static void put_excerpt(const struct choosing *choosing,
                        const struct node *node, size_t bytes, struct buf *ret)
{
    struct passage_texts texts = passage_texts_read(&choosing->reader, node);
    struct picking picking = {
        .choosing = choosing, .node = node, .texts = &texts};
    struct buf plain = {0};
    double score;
    size_t from;
    put_blocks(node, pick(&picking, &score), &plain, &from);
    if (plain.size - from < bytes)
        from = plain.size > bytes ? plain.size - bytes : 0;
    while (from < plain.size && from && (plain.data[from] & 0xC0) == 0x80)
        from++;
    text_put_utf8(ret, (struct slice){plain.data + from, plain.size - from},
                  bytes);
    buf_free(&plain);
    passage_texts_free(&texts);
}

int passages_excerpts(const struct snapshot *snapshot,
                      const struct route_result *route, size_t count,
                      size_t bytes, const atomic_bool *cancel, struct buf *ret,
                      struct err *err)
{
    struct query query = query_of(route);
    struct analyzer *maker = analyzer_new();
    struct choosing choosing = {.reader = {.query = &query,
                                           .sought = query_sought(&query),
                                           .letters = route->letters,
                                           .maker = maker,
                                           .cancel = cancel}};
    for (size_t i = 0; i < count && !is_cancelled(&choosing); i++) {
        const struct route_hit *hit = &route->hits[i];
        struct content content;
        if (content_open(snapshot, hit->view, hit->node, &content, NULL))
            continue;
        put_excerpt(&choosing, content.node, bytes, &ret[i]);
        content_close(&content);
    }
    analyzer_free(maker);
    query_free(&query);
    return is_cancelled(&choosing) ? err_set(err, ERR_CANCELLED, "cancelled")
                                   : 0;
}

/* ---- Measures ---- */

struct passage_measure {
    struct query query;
    struct passage_reader reader;
};

struct passage_measure *passage_measure_open(const struct route_result *route)
{
    struct passage_measure *measure = mem_alloc(sizeof *measure);
    measure->query = query_of(route);
    measure->reader =
        (struct passage_reader){.query = &measure->query,
                                .sought = query_sought(&measure->query),
                                .maker = analyzer_new()};
    return measure;
}

void passage_measure_close(struct passage_measure *measure)
{
    if (!measure)
        return;
    analyzer_free(measure->reader.maker);
    query_free(&measure->query);
    free(measure);
}

uint64_t passage_measure_terms(const struct passage_measure *measure,
                               struct slice text)
{
    return passage_terms(&measure->reader, text);
}

double passage_measure_share(const struct passage_measure *measure,
                             uint64_t terms)
{
    return about_of(&measure->query, terms);
}

void passages_free(struct passages *passages)
{
    free(passages->items);
    arena_free(&passages->arena);
    *passages = (struct passages){0};
}
