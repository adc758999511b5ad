#include "memory/passage.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/content.h"
#include "memory/lexical.h"

/* A passage is a few sentences of one line: LEAST bytes when there are as
 * many, MOST at the most. */
enum { PASSAGE_LEAST = 160, PASSAGE_MOST = 480 };

/* What a term in the head of a definition (the term defined) is worth to the
 * sentences below it. */
static const double HEAD_SHARE = 0.8;
/* Hits whose BM25 is below this share of the best are not quoted. */
static const double LEAST_SHARE = 0.5;
/* Between equals: prose before tables and code, what stands first. */
static const double PROSE = 1.15, ORDER = 0.002;

struct choosing {
    const struct query *query;
    struct term_maker *maker;
    bool head[QUERY_MOST_TERMS]; /* in the head of the present block */
    bool here[QUERY_MOST_TERMS]; /* in the present candidate */
    bool *marking;
    /* the best so far */
    double best;
    struct slice text;
    const struct block *block;
    double order;
};

static void mark(void *context, const struct term_at *at)
{
    struct choosing *choosing = context;
    int term = query_find(choosing->query, at->term);
    if (term >= 0)
        choosing->marking[term] = true;
}

static void mark_terms(struct choosing *choosing, struct slice text,
                       bool *marks)
{
    memset(marks, 0, QUERY_MOST_TERMS * sizeof *marks);
    choosing->marking = marks;
    terms_of(choosing->maker, text, mark, choosing);
}

static void consider(struct choosing *choosing, const struct block *block,
                     struct slice text)
{
    const struct query *query = choosing->query;
    double score = 0;
    mark_terms(choosing, text, choosing->here);
    for (size_t t = 0; t < query->count; t++) {
        double information = query->terms[t].weight * query->terms[t].idf;
        if (choosing->here[t])
            score += information;
        else if (choosing->head[t])
            score += HEAD_SHARE * information;
    }
    if (block->kind != BLOCK_CODE && block->kind != BLOCK_TABLE)
        score *= PROSE;
    if (text.size < 40)
        score *= 0.7;
    score -= choosing->order;
    choosing->order += ORDER;
    if (!choosing->block || score > choosing->best) {
        choosing->best = score;
        choosing->text = text;
        choosing->block = block;
    }
}

/* End of the sentence that starts at `from`: after a full stop, question or
 * exclamation mark that white space and no small letter follows. */
static size_t sentence_end(struct slice line, size_t from)
{
    for (size_t at = from; at < line.size; at++) {
        if (!strchr(".?!", line.data[at]))
            continue;
        size_t after = at + 1;
        while (after < line.size && strchr(")\"'", line.data[after]))
            after++;
        if (after >= line.size)
            return line.size;
        if (line.data[after] != ' ' || after + 1 >= line.size)
            continue;
        char next = line.data[after + 1];
        if (!(next >= 'a' && next <= 'z') && at > from + 3)
            return after;
    }
    return line.size;
}

static size_t skip_spaces(struct slice line, size_t at)
{
    while (at < line.size && line.data[at] == ' ')
        at++;
    return at;
}

/* At most PASSAGE_MOST bytes, cut between words. */
static struct slice shorten(struct slice text)
{
    if (text.size <= PASSAGE_MOST)
        return text;
    size_t size = PASSAGE_MOST;
    while (size > PASSAGE_LEAST && text.data[size] != ' ')
        size--;
    while (size && (text.data[size] & 0xC0) == 0x80)
        size--;
    return (struct slice){text.data, size};
}

/* Windows of whole sentences, one starting at each. */
static void consider_line(struct choosing *choosing, const struct block *block,
                          struct slice line)
{
    for (size_t from = 0; from < line.size;) {
        size_t first = sentence_end(line, from), end = first;
        while (end < line.size && end - from < PASSAGE_LEAST) {
            size_t more = sentence_end(line, skip_spaces(line, end));
            if (more - from > PASSAGE_MOST)
                break;
            end = more;
        }
        consider(choosing, block,
                 shorten((struct slice){line.data + from, end - from}));
        from = skip_spaces(line, first);
    }
}

/* The text of a list's item without its mark. */
static struct slice without_mark(struct slice line)
{
    size_t at = skip_spaces(line, 0), mark = at;
    if (mark < line.size && line.data[mark] == '-') {
        mark++;
    } else {
        while (mark < line.size && line.data[mark] >= '0' &&
               line.data[mark] <= '9')
            mark++;
        if (mark == at || mark >= line.size || line.data[mark] != '.')
            return (struct slice){line.data + at, line.size - at};
        mark++;
    }
    if (mark < line.size && line.data[mark] == ' ')
        at = mark + 1;
    return (struct slice){line.data + at, line.size - at};
}

/* The pieces within which a quote must stay: lines, cells of a table, and all
 * of a short piece of code. */
static void consider_block(struct choosing *choosing, const struct block *block)
{
    memset(choosing->head, 0, sizeof choosing->head);
    if (block->kind == BLOCK_CODE && block->text.size <= PASSAGE_MOST) {
        consider(choosing, block, block->text);
        return;
    }
    for (size_t at = 0; at < block->text.size;) {
        size_t from = at;
        while (at < block->text.size && block->text.data[at] != '\n' &&
               !(block->kind == BLOCK_TABLE && block->text.data[at] == '\t'))
            at++;
        struct slice line = {block->text.data + from, at - from};
        at++;
        if (block->kind == BLOCK_DEFINITION && line.size && line.data[0] != ' ')
            mark_terms(choosing, line, choosing->head);
        if (block->kind == BLOCK_LIST || block->kind == BLOCK_DEFINITION)
            line = without_mark(line);
        if (line.size)
            consider_line(choosing, block, line);
    }
}

static int choose_one(const struct shelf *shelf, const struct route_hit *hit,
                      const struct query *query, struct term_maker *maker,
                      struct passages *passages, struct err *err)
{
    struct content content;
    int code = content_open(shelf, hit->volume, hit->node, &content, err);
    if (code)
        return code;
    struct choosing choosing = {.query = query, .maker = maker};
    for (uint32_t b = 0; b < content.node->block_count; b++)
        consider_block(&choosing, &content.node->blocks[b]);
    if (choosing.block) {
        struct slice text = choosing.text;
        struct origin origin = choosing.block->origin;
        origin.file = hit->volume->outline->nodes[hit->node].source_tree;
        passages->items[passages->count++] = (struct passage){
            .volume = hit->volume,
            .node = hit->node,
            .text = {arena_copy(&passages->arena, text.data, text.size),
                     text.size},
            .block = origin,
            .kind = choosing.block->kind,
            .score = choosing.best};
    }
    content_close(&content);
    return 0;
}

int passages_choose(const struct shelf *shelf, const char *query_text,
                    const struct route_result *route, size_t most,
                    struct passages *ret_passages, struct err *err)
{
    struct query query;
    query_parse(query_text, &query);
    for (size_t t = 0; t < query.count; t++) {
        query.terms[t].idf = 1;
        for (size_t r = 0; r < route->term_count; r++)
            if (!strcmp(route->terms[r].term, query.terms[t].term))
                query.terms[t].idf = route->terms[r].idf;
    }
    struct term_maker *maker = term_maker_new();
    struct passages passages = {0};
    passages.items = mem_alloc(most * sizeof *passages.items);
    double strongest = 0;
    for (size_t i = 0; i < route->count; i++)
        if (route->hits[i].lexical > strongest)
            strongest = route->hits[i].lexical;
    int code = 0;
    for (size_t i = 0; i < route->count && passages.count < most && !code; i++)
        if (i == 0 || route->hits[i].lexical >= LEAST_SHARE * strongest)
            code = choose_one(shelf, &route->hits[i], &query, maker, &passages,
                              err);
    term_maker_free(maker);
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
