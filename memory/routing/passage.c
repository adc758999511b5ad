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
enum { OF_BEST = 4 /* passages of the best section; of the others: one */ };
/* Bytes of a piece of code between blank lines that is considered whole. */
enum { PIECE_MAX = 1100 };

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

/* Terms of the query, a bit each. */
typedef uint64_t term_set;
static_assert(QUERY_MAX_TERMS <= 64, "a term_set has a bit for each");

struct sentence {
    size_t from, end; /* in the line */
    term_set terms;
};

struct choosing {
    const struct query *query;
    struct sought_terms sought; /* its terms */
    struct analyzer *maker;
    kind_set kinds; /* 0: any */
    const atomic_bool *cancel;
    double best_hit; /* its score */
    term_set head;   /* in the head of the present block */
    term_set label;  /* in the label above it */
    term_set title;  /* in the node's title */
    struct chosen {  /* earlier passages of the node */
        uint32_t block;
        size_t from, end; /* the line, row or piece that it is of */
    } chosen[OF_BEST];
    size_t chosen_count;
    uint8_t part; /* of the question that this one is to answer; 0: all */
    struct sentence *sentences; /* [sentence_count] of the present line */
    size_t sentence_count, sentence_capacity;
    struct slice line; /* the present line, row or piece */
    /* the best so far */
    double best;
    struct slice text, best_line;
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
        marking->terms |= marking->query->terms[term].instead_of
                              ? marking->query->terms[term].instead_of
                              : (term_set)1 << term;
}

static term_set terms_in(const struct choosing *choosing, struct slice text)
{
    struct marking marking = {.query = choosing->query};
    analyze_sought(choosing->maker, &choosing->sought, text, mark, &marking);
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
    /* One more says more of it: no label, no link to another section. */
    if (choosing->chosen_count &&
        (!here || (block->kind == BLOCK_PARAGRAPH && text.size < SHORT)))
        return;
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        if (choosing->part && !(query->terms[t].parts & choosing->part))
            information *= OTHER_PART;
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
        choosing->best_line = choosing->line;
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

static bool is_chosen(const struct choosing *choosing, uint32_t block,
                      size_t from)
{
    for (size_t i = 0; i < choosing->chosen_count; i++)
        if (choosing->chosen[i].block == block &&
            choosing->chosen[i].from <= from && from < choosing->chosen[i].end)
            return true;
    return false;
}

static void consider_code(struct choosing *choosing, uint32_t b,
                          const struct block *block)
{
    for (size_t at = 0; at < block->text.size;) {
        size_t from = at;
        struct slice piece = block->text;
        if (block->text.size <= PASSAGE_MAX)
            at = block->text.size;
        else
            piece = sentences_piece(block->text, &at);
        choosing->line = piece;
        if (!piece.size || is_chosen(choosing, b, from))
            continue;
        if (piece.size <= PIECE_MAX) {
            consider(choosing, block, piece, terms_in(choosing, piece));
            continue;
        }
        for (size_t within = 0; within < piece.size;) {
            const struct block part = {.kind = block->kind, .text = piece};
            struct slice line = sentences_line(&part, &within);
            if (line.size)
                consider_line(choosing, block, line);
        }
    }
}

/* The row of a table that begins at *at. */
static struct slice next_row(struct slice text, size_t *at)
{
    size_t from = *at;
    const char *end = memchr(text.data + from, '\n', text.size - from);
    size_t size = end ? (size_t)(end - text.data) - from : text.size - from;
    *at = from + size + 1;
    return (struct slice){text.data + from, size};
}

static void consider_table(struct choosing *choosing, uint32_t b,
                           const struct block *block)
{
    for (size_t at = 0; at < block->text.size;) {
        size_t from = at;
        struct slice row = next_row(block->text, &at);
        choosing->line = row;
        if (!row.size || is_chosen(choosing, b, from))
            continue;
        if (row.size <= PASSAGE_MAX) {
            consider(choosing, block, row, terms_in(choosing, row));
            continue;
        }
        const struct block part = {.kind = block->kind, .text = row};
        for (size_t within = 0; within < row.size;) {
            struct slice cell = sentences_line(&part, &within);
            if (cell.size)
                consider_line(choosing, block, cell);
        }
    }
}

/* The pieces within which a quote must stay: lines, rows or cells of a table, and
 * code to its next blank line. */
static void consider_block(struct choosing *choosing, uint32_t b,
                           const struct block *block)
{
    choosing->head = 0;
    if (block->kind == BLOCK_CODE) {
        consider_code(choosing, b, block);
        return;
    }
    if (block->kind == BLOCK_TABLE) {
        consider_table(choosing, b, block);
        return;
    }
    for (size_t at = 0; at < block->text.size;) {
        size_t from = at;
        struct slice line = sentences_line(block, &at);
        if (block->kind == BLOCK_DEFINITION && line.size && line.data[0] != ' ')
            choosing->head = terms_in(choosing, line);
        choosing->line = line;
        line = sentences_unmarked(block, line);
        if (line.size && !is_chosen(choosing, b, from))
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

/* The whole name of an entry, which its title has the beginning of: it says nothing
 * beside other text. */
static bool is_signature(const struct node *node, const struct block *block)
{
    return block->kind == BLOCK_DEFINITION && node->block_count > 1 &&
           node->title.size && slice_starts(block->text, node->title);
}

/* Where what was chosen stands; TREE_NONE: nothing was. */
static struct chosen place_of(const struct choosing *choosing,
                              const struct node *node)
{
    const struct block *block = choosing->block;
    if (!block)
        return (struct chosen){.block = TREE_NONE};
    size_t from = (size_t)(choosing->best_line.data - block->text.data);
    return (struct chosen){(uint32_t)(block - node->blocks), from,
                           from + choosing->best_line.size + 1};
}

static void add_passage(const struct choosing *choosing,
                        const struct route_hit *hit,
                        const struct content *content,
                        struct passages *passages)
{
    const struct block *block = choosing->block;
    struct slice text = choosing->text;
    if (!block || is_repeated(passages, text))
        return;
    struct passage passage = {
        .view = hit->view,
        .node = hit->node,
        .text = {arena_copy(&passages->arena, text.data, text.size), text.size},
        .at = (size_t)(text.data - block->text.data),
        .block = block->origin,
        .kind = block->kind,
        .encoding = content->page->encoding,
        .score = choosing->best,
        .share = choosing->best_hit > 0 ? hit->score / choosing->best_hit : 1,
        .about = share_of(choosing->query, choosing->title)};
    passage.block.file = content_file(content, hit->view, hit->node, block);
    passages->items[passages->count++] = passage;
}

static int choose_one(const struct snapshot *snapshot,
                      const struct route_hit *hit, struct choosing choosing,
                      struct passages *passages, struct chosen *ret_chosen,
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
        if (!is_signature(content.node, block) &&
            (!choosing.kinds || choosing.kinds & kind_bit(block->kind)))
            consider_block(&choosing, b, block);
        if (is_label(block))
            choosing.label = terms_in(&choosing, block->text);
    }
    *ret_chosen = place_of(&choosing, content.node);
    add_passage(&choosing, hit, &content, passages);
    free(choosing.sentences);
    content_close(&content);
    return is_cancelled(&choosing) ? err_set(err, ERR_CANCELLED, "cancelled")
                                   : 0;
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
            .parts = route->terms[t].parts};
    return query;
}

/* The parts of a question take turns. */
static void next_part(struct choosing *choosing)
{
    unsigned parts = 1U << choosing->query->parts;
    unsigned next = (unsigned)choosing->part << 1;
    if (choosing->part)
        choosing->part = (uint8_t)(next == parts ? 1 : next);
}

/* The best passages of a section, each of another line, row or piece. */
static int choose_from(const struct snapshot *snapshot,
                       const struct route_hit *hit,
                       const struct choosing *choosing, int wanted,
                       struct passages *passages, struct err *err)
{
    struct choosing one = *choosing;
    if (wanted > 1 && one.query->parts > 1)
        one.part = 1;
    int code = 0;
    for (int i = 0; i < wanted && !code; i++) {
        struct chosen chosen;
        code = choose_one(snapshot, hit, one, passages, &chosen, err);
        if (code || chosen.block == TREE_NONE)
            break;
        one.chosen[one.chosen_count++] = chosen;
        next_part(&one);
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
    struct choosing choosing = {.query = &query,
                                .sought = query_sought(&query),
                                .maker = maker,
                                .kinds = kinds,
                                .cancel = cancel};
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
