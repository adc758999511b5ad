#include "memory/routing/passage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/snapshot/content.h"
#include "memory/lexical/lexical.h"
#include "memory/lexical/sentences.h"

/* A passage is a few sentences of one line: PASSAGE_MIN bytes when there are as
 * many, PASSAGE_MAX at the most. */
enum { PASSAGE_MIN = 160, PASSAGE_MAX = 480 };
enum {
    OF_BEST = 3,    /* passages of the best section; of the others: one */
    MAX_QUOTED = 64 /* its blocks that are told apart */
};

/* What a term in the head of a definition (the term defined) is worth to the
 * sentences below it. */
static const double HEAD_SHARE = 0.8;
/* What a term in a label above (a short line that ends no sentence), or in the
 * node's title, is worth to the sentences below. */
static const double LABEL_SHARE = 0.8, TITLE_SHARE = 0.5;
/* Hits whose score is below this share of the best are not quoted. */
static const double MIN_SHARE = 0.5;
/* Between equals: prose before tables and code, what stands first. */
static const double PROSE = 1.15, ORDER = 0.002, MAX_ORDER = 0.1;
/* A quote of fewer bytes says little. */
enum { SHORT = 40 };
static const double SHORT_SHARE = 0.4;

/* Terms of the query, a bit each. */
typedef uint32_t term_set;
static_assert(QUERY_MAX_TERMS <= 32, "a term_set has a bit for each");

struct sentence {
    size_t from, end; /* in the line */
    term_set terms;
};

struct choosing {
    const struct query *query;
    struct analyzer *maker;
    kind_set kinds; /* 0: any */
    const atomic_bool *cancel;
    double best_hit;            /* its score */
    term_set head;              /* in the head of the present block */
    term_set label;             /* in the label above it */
    term_set title;             /* in the node's title */
    uint64_t quoted;            /* blocks of the node that are, bits */
    struct sentence *sentences; /* [sentence_count] of the present line */
    size_t sentence_count, sentence_capacity;
    /* the best so far */
    double best;
    struct slice text;
    const struct block *block;
    double order;
};

struct marking {
    const struct query *query;
    term_set terms;
};

static void mark(void *context, const struct term_at *at)
{
    struct marking *marking = context;
    int term = query_find(marking->query, at->term);
    if (term >= 0)
        marking->terms |= (term_set)1 << term;
}

static term_set terms_in(const struct choosing *choosing, struct slice text)
{
    struct marking marking = {.query = choosing->query};
    analyze(choosing->maker, text, mark, &marking);
    return marking.terms;
}

/* Share of the query's information that the terms hold. */
static double share_of(const struct query *query, term_set terms)
{
    double sum = 0, all = 0;
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        all += information;
        sum += terms >> t & 1 ? information : 0;
    }
    return all > 0 ? sum / all : 0;
}

static void consider(struct choosing *choosing, const struct block *block,
                     struct slice text, term_set here)
{
    const struct query *query = choosing->query;
    double score = 0;
    if (choosing->quoted && !here) /* one more of a section says more of it */
        return;
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        if (here >> t & 1)
            score += information;
        else if (choosing->head >> t & 1)
            score += HEAD_SHARE * information;
        else if (choosing->label >> t & 1)
            score += LABEL_SHARE * information;
        else if (choosing->title >> t & 1)
            score += TITLE_SHARE * information;
    }
    if (block->kind != BLOCK_CODE && block->kind != BLOCK_TABLE)
        score *= PROSE;
    if (text.size < SHORT)
        score *= SHORT_SHARE;
    score -= choosing->order;
    if (choosing->order < MAX_ORDER)
        choosing->order += ORDER;
    if (!choosing->block || score > choosing->best) {
        choosing->best = score;
        choosing->text = text;
        choosing->block = block;
    }
}

/* At most PASSAGE_MAX bytes, cut between words. */
static struct slice shorten(struct slice text)
{
    if (text.size <= PASSAGE_MAX)
        return text;
    size_t size = PASSAGE_MAX;
    while (size > PASSAGE_MIN && text.data[size] != ' ')
        size--;
    while (size && (text.data[size] & 0xC0) == 0x80)
        size--;
    return (struct slice){text.data, size};
}

static void split_sentences(struct choosing *choosing, struct slice line)
{
    choosing->sentence_count = 0;
    for (size_t from = 0; from < line.size;) {
        size_t end = sentence_end(line, from);
        MEM_RESERVE(choosing->sentences, &choosing->sentence_capacity,
                    choosing->sentence_count + 1);
        choosing->sentences[choosing->sentence_count++] = (struct sentence){
            from, end,
            terms_in(choosing, (struct slice){line.data + from, end - from})};
        from = sentence_next(line, end);
    }
}

/* Windows of whole sentences, one starting at each. */
static void consider_line(struct choosing *choosing, const struct block *block,
                          struct slice line)
{
    split_sentences(choosing, line);
    for (size_t i = 0; i < choosing->sentence_count; i++) {
        const struct sentence *first = &choosing->sentences[i], *last = first;
        const struct sentence *beyond =
            choosing->sentences + choosing->sentence_count;
        term_set here = first->terms;
        while (last + 1 < beyond && last->end - first->from < PASSAGE_MIN &&
               last[1].end - first->from <= PASSAGE_MAX)
            here |= (++last)->terms;
        struct slice window = {line.data + first->from,
                               last->end - first->from};
        struct slice text = shorten(window);
        consider(choosing, block, text,
                 text.size < window.size ? terms_in(choosing, text) : here);
    }
}

/* The pieces within which a quote must stay: lines, cells of a table, and all
 * of a short piece of code. */
static void consider_block(struct choosing *choosing, const struct block *block)
{
    choosing->head = 0;
    if (block->kind == BLOCK_CODE && block->text.size <= PASSAGE_MAX) {
        consider(choosing, block, block->text, terms_in(choosing, block->text));
        return;
    }
    for (size_t at = 0; at < block->text.size;) {
        struct slice line = sentences_line(block, &at);
        if (block->kind == BLOCK_DEFINITION && line.size && line.data[0] != ' ')
            choosing->head = terms_in(choosing, line);
        line = sentences_unmarked(block, line);
        if (line.size)
            consider_line(choosing, block, line);
    }
}

static bool is_label(const struct block *block)
{
    struct slice text = block->text;
    return block->kind == BLOCK_PARAGRAPH && text.size && text.size < SHORT &&
           !strchr(".?!", text.data[text.size - 1]);
}

static bool is_cancelled(const struct choosing *choosing)
{
    return choosing->cancel && atomic_load(choosing->cancel);
}

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

static bool is_quoted(const struct choosing *choosing, uint32_t block)
{
    return block < MAX_QUOTED && choosing->quoted >> block & 1;
}

static int choose_one(const struct snapshot *snapshot,
                      const struct route_hit *hit, struct choosing choosing,
                      struct passages *passages, uint32_t *ret_block,
                      struct err *err)
{
    struct content content;
    int code = content_open(snapshot, hit->view, hit->node, &content, err);
    if (code)
        return code;
    choosing.title = terms_in(&choosing, content.node->title);
    for (uint32_t b = 0;
         b < content.node->block_count && !is_cancelled(&choosing); b++) {
        const struct block *block = &content.node->blocks[b];
        if (!is_quoted(&choosing, b) &&
            (!choosing.kinds || choosing.kinds & kind_bit(block->kind)))
            consider_block(&choosing, block);
        if (is_label(block))
            choosing.label = terms_in(&choosing, block->text);
    }
    *ret_block = choosing.block
                     ? (uint32_t)(choosing.block - content.node->blocks)
                     : TREE_NONE;
    if (choosing.block && !is_repeated(passages, choosing.text)) {
        struct slice text = choosing.text;
        struct origin origin = choosing.block->origin;
        origin.file =
            content_file(&content, hit->view, hit->node, choosing.block);
        passages->items[passages->count++] = (struct passage){
            .view = hit->view,
            .node = hit->node,
            .text = {arena_copy(&passages->arena, text.data, text.size),
                     text.size},
            .at = (size_t)(text.data - choosing.block->text.data),
            .block = origin,
            .kind = choosing.block->kind,
            .encoding = content.page->encoding,
            .score = choosing.best,
            .share = choosing.best_hit > 0 ? hit->score / choosing.best_hit : 1,
            .about = share_of(choosing.query, choosing.title)};
    }
    free(choosing.sentences);
    content_close(&content);
    return is_cancelled(&choosing) ? err_set(err, ERR_CANCELLED, "cancelled")
                                   : 0;
}

/* The terms as they were routed by. */
static struct query query_of(const struct route_result *route)
{
    struct query query = {.count = route->term_count};
    for (size_t t = 0; t < query.count; t++)
        query.terms[t] =
            (struct query_term){.term = mem_strdup(route->terms[t].term),
                                .idf = route->terms[t].idf,
                                .weight = route->terms[t].weight};
    return query;
}

/* The best passages of a section, each of another block. */
static int choose_from(const struct snapshot *snapshot,
                       const struct route_hit *hit,
                       const struct choosing *choosing, int wanted,
                       struct passages *passages, struct err *err)
{
    struct choosing one = *choosing;
    int code = 0;
    for (int i = 0; i < wanted && !code; i++) {
        uint32_t block = TREE_NONE;
        code = choose_one(snapshot, hit, one, passages, &block, err);
        if (block >= MAX_QUOTED)
            break;
        one.quoted |= UINT64_C(1) << block;
    }
    return code;
}

int passages_choose(const struct snapshot *snapshot,
                    const struct route_result *route, size_t max,
                    kind_set kinds, const atomic_bool *cancel,
                    struct passages *ret_passages, struct err *err)
{
    struct query query = query_of(route);
    struct analyzer *maker = analyzer_new();
    struct passages passages = {0};
    passages.items = mem_alloc((max + OF_BEST) * sizeof *passages.items);
    struct choosing choosing = {
        .query = &query, .maker = maker, .kinds = kinds, .cancel = cancel};
    choosing.best_hit = route->count ? route->hits[0].score : 0;
    double min = MIN_SHARE * choosing.best_hit;
    size_t sections = 0;
    int code = 0;
    for (size_t i = 0; i < route->count && sections < max && !code; i++) {
        size_t before = passages.count;
        if (route->hits[i].score >= min)
            code = choose_from(snapshot, &route->hits[i], &choosing,
                               i ? 1 : OF_BEST, &passages, err);
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

void passages_free(struct passages *passages)
{
    free(passages->items);
    arena_free(&passages->arena);
    *passages = (struct passages){0};
}
