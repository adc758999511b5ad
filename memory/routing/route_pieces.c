/* The match of a question with sections, piece by piece, by a model without layers: a
 * piece's vector is the same in every text, so that nothing is stored of any.  For each
 * piece of the question, the nearest of a section's titles and of the best of its
 * windows, in the mean by the pieces' information: the length of their vectors, times
 * how far the sections are from all having the piece.  A window far from a section's start
 * counts less: of a long one some window is near anything (docs/log/people.md).  Where
 * half of the question or more stands in a text word for word, it was pasted from there. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/embeddings/pieces.h"
#include "memory/routing/route_internal.h"
#include "memory/snapshot/content.h"

enum {
    MAX_ASKED = 24, /* pieces of a question */
    MAX_TITLE = 16, /* of a section's title, its first */
    MAX_ABOVE = 24, /* of the titles above, their last */
    TITLES_ABOVE =
        3, /* that are looked at, without the topmost, mostly the manual's */
    MAX_BYTES = 8000, /* of a section's text */
    HALF_WINDOW = 16, /* pieces; windows overlap by as many */
    LATEST = 10       /* window, behind which none counts still less */
};

/* What a window loses for each before it; what of a piece's length stays where all
 * sections have it. */
static const double LATE = 0.01;
static const float HAD_BY_ALL = 0.15F;

/* Pieces in a row that are pasted, and what they weigh of the question at least; what
 * these count beside the match.  Chosen on people's questions. */
enum { MIN_RUN = 5 };
static const float MIN_RUN_WEIGHT = 0.5F;
static const double PASTED = 0.5;

/* Results that are looked at, and what the match, -.1 to 1, counts beside the fused score
 * as a share of the best one's; chosen on people's questions and on those of
 * tests/questions/asked. */
enum { DEPTH = 30 };
static const double WEIGHT = 1.5;

struct piece_text {
    struct embed_ids ids; /* of the titles, then of the text */
    size_t titles;
    float *near; /* [1 + halves, asked] the greatest cosine that a piece of the
                      titles, and of each half of a window, has with each of the
                      question's */
    size_t halves; /* at least 1 */
    int code;
};

struct piece_match {
    const struct routing *routing;
    struct fused *items;      /* [count] */
    struct piece_text *texts; /* [count + 1]; the last one is the question */
    size_t count;
    size_t asked; /* pieces of the question, and of those that it follows up */
    float shares[MAX_ASKED]; /* what each counts: 1 of the question's own */
    bool begins[MAX_ASKED];  /* a question begins with it */
    uint32_t *place;         /* of each id among the distinct ones, from 1 */
    int32_t *ids;            /* [distinct]; the question's first */
    size_t distinct;
    float *weights; /* [asked] of sum 1 */
    float *near;    /* [distinct, asked] cosines, at least 0 */
};

/* ---- Texts into pieces ---- */

static void keep_last(struct embed_ids *ids, size_t from, size_t most)
{
    size_t count = ids->count - from;
    if (count <= most)
        return;
    memmove(ids->ids + from, ids->ids + ids->count - most,
            most * sizeof *ids->ids);
    ids->count = from + most;
}

static int add_pieces(const struct piece_match *match, struct slice text,
                      struct embed_ids *ids)
{
    return pieces_cut(match->routing->request->pieces, text, ids, NULL);
}

static int add_titles(const struct piece_match *match, const struct view *view,
                      uint32_t node, struct piece_text *text)
{
    const struct node *nodes = view->outline->nodes;
    int code = add_pieces(match, nodes[node].title, &text->ids);
    if (text->ids.count > MAX_TITLE)
        text->ids.count = MAX_TITLE;
    size_t own = text->ids.count, count;
    struct buf above = {0};
    uint32_t *path = view_path(view, node, &count);
    for (size_t i = count > TITLES_ABOVE + 2 ? count - TITLES_ABOVE - 1 : 1;
         i + 1 < count; i++) {
        buf_put_slice(&above, nodes[path[i]].title);
        buf_put_byte(&above, ' ');
    }
    free(path);
    if (!code && above.size)
        code = add_pieces(match, buf_slice(&above), &text->ids);
    buf_free(&above);
    keep_last(&text->ids, own, MAX_ABOVE);
    text->titles = text->ids.count;
    return code;
}

/* What cannot be read has its titles alone. */
static int add_text(const struct piece_match *match, const struct view *view,
                    uint32_t node, struct piece_text *text)
{
    struct content content;
    struct buf plain = {0};
    if (content_open(match->routing->snapshot, view, node, &content, NULL))
        return 0;
    for (uint32_t b = 0;
         b < content.node->block_count && plain.size < MAX_BYTES; b++) {
        buf_put_slice(&plain, content.node->blocks[b].text);
        buf_put_byte(&plain, '\n');
    }
    content_close(&content);
    size_t size = plain.size <= MAX_BYTES ? plain.size
                                          : text_begin(plain.data, MAX_BYTES);
    int code =
        size ? add_pieces(match, (struct slice){plain.data, size}, &text->ids)
             : 0;
    buf_free(&plain);
    return code;
}

static void read_texts(void *context, size_t from, size_t to)
{
    const struct piece_match *match = context;
    for (size_t i = from; i < to; i++) {
        const struct fused *item = &match->items[i];
        const struct view *view = match->routing->scopes[item->scope].view;
        struct piece_text *text = &match->texts[i];
        text->code = add_titles(match, view, item->node, text);
        if (!text->code)
            text->code = add_text(match, view, item->node, text);
    }
}

static int add_asked(struct piece_match *match, const char *question,
                     double share)
{
    struct embed_ids *ids = &match->texts[match->count].ids;
    int code = add_pieces(match, slice_of(question), ids);
    if (ids->count > MAX_ASKED)
        ids->count = MAX_ASKED;
    if (match->asked < ids->count)
        match->begins[match->asked] = true;
    while (match->asked < ids->count)
        match->shares[match->asked++] = (float)share;
    return code;
}

/* Questions that it follows up count as their terms do. */
static int read_question(struct piece_match *match)
{
    const struct route_request *request = match->routing->request;
    const struct route_context *context = request->context;
    double carried = route_carried(context), share = carried;
    int code = add_asked(match, request->query, 1);
    for (size_t i = 0; context && i < context->question_count && !code; i++) {
        code = add_asked(match, context->questions[i], share);
        share *= carried;
    }
    for (size_t i = 0; i < match->count && !code; i++)
        code = match->texts[i].code;
    return code;
}

/* ---- Pieces into cosines ---- */

static void add_distinct(struct piece_match *match,
                         const struct piece_text *text)
{
    for (size_t i = 0; i < text->ids.count; i++) {
        int32_t id = text->ids.ids[i];
        if (match->place[id])
            continue;
        match->ids[match->distinct++] = id;
        match->place[id] = (uint32_t)match->distinct;
    }
}

static void find_distinct(struct piece_match *match)
{
    size_t all = 0, largest = 0;
    for (size_t i = 0; i <= match->count; i++) {
        all += match->texts[i].ids.count;
        for (size_t k = 0; k < match->texts[i].ids.count; k++)
            if ((size_t)match->texts[i].ids.ids[k] > largest)
                largest = (size_t)match->texts[i].ids.ids[k];
    }
    match->place = mem_alloc((largest + 1) * sizeof *match->place);
    match->ids = mem_alloc((all + 1) * sizeof *match->ids);
    add_distinct(match, &match->texts[match->count]);
    for (size_t i = 0; i < match->count; i++)
        add_distinct(match, &match->texts[i]);
}

static void find_near(void *context, size_t from, size_t to)
{
    const struct piece_match *match = context;
    pieces_near(match->routing->request->pieces,
                match->texts[match->count].ids.ids, match->asked,
                match->ids + from, to - from,
                match->near + from * match->asked);
}

static void find_cosines(struct piece_match *match)
{
    find_distinct(match);
    match->near =
        mem_alloc(match->distinct * match->asked * sizeof *match->near);
    routing_share(match->routing, match->distinct, find_near, match);
}

/* ---- Cosines into matches ---- */

/* best [asked] becomes the greater of itself and of what each piece has. */
static void raise_by(const struct piece_match *match, const int32_t *ids,
                     size_t count, float *best)
{
    size_t asked = match->asked;
    for (size_t i = 0; i < count; i++) {
        const float *near = match->near + (match->place[ids[i]] - 1) * asked;
        for (size_t q = 0; q < asked; q++)
            best[q] = near[q] > best[q] ? near[q] : best[q];
    }
}

static void find_halves(void *context, size_t from, size_t to)
{
    const struct piece_match *match = context;
    for (size_t i = from; i < to; i++) {
        struct piece_text *text = &match->texts[i];
        size_t left = text->ids.count - text->titles;
        text->halves = left ? (left - 1) / HALF_WINDOW + 1 : 1;
        text->near =
            mem_alloc((1 + text->halves) * match->asked * sizeof *text->near);
        raise_by(match, text->ids.ids, text->titles, text->near);
        for (size_t half = 0; half < text->halves && left; half++) {
            size_t at = half * HALF_WINDOW, some = left - at;
            raise_by(match, text->ids.ids + text->titles + at,
                     some < HALF_WINDOW ? some : HALF_WINDOW,
                     text->near + (1 + half) * match->asked);
        }
    }
}

/* What the titles and the window that begins with this half have of a piece. */
static float near_of(const struct piece_match *match,
                     const struct piece_text *text, size_t half, size_t piece)
{
    const float *near = text->near + piece;
    float best = near[0], first = near[(1 + half) * match->asked];
    best = first > best ? first : best;
    if (half + 1 < text->halves) {
        float second = near[(2 + half) * match->asked];
        best = second > best ? second : best;
    }
    return best;
}

/* *ret_half: where it begins. */
static double best_window(const struct piece_match *match,
                          const struct piece_text *text, size_t *ret_half)
{
    double best = -1;
    for (size_t half = 0; !half || half + 1 < text->halves; half++) {
        double sum = -LATE * (double)(half < LATEST ? half : LATEST);
        for (size_t q = 0; q < match->asked; q++)
            sum += (double)match->weights[q] *
                   (double)near_of(match, text, half, q);
        if (sum > best) {
            best = sum;
            *ret_half = half;
        }
    }
    return best;
}

/* What the heaviest run of the pieces of one question weighs that the text has one behind
 * the other as well; 0: less than is pasted from it. */
static double pasted(const struct piece_match *match,
                     const struct piece_text *text)
{
    const int32_t *asked = match->texts[match->count].ids.ids;
    struct run {
        size_t count;
        float weight;
    } runs[MAX_ASKED] = {0}; /* that end with each piece */
    float heaviest = MIN_RUN_WEIGHT;
    bool found = false;
    for (size_t i = 0; i < text->ids.count; i++)
        for (size_t q = match->asked; q-- > 0;) {
            struct run *run = &runs[q];
            if (asked[q] != text->ids.ids[i]) {
                *run = (struct run){0};
                continue;
            }
            *run = match->begins[q] ? (struct run){0} : runs[q - 1];
            run->count++;
            run->weight += match->weights[q];
            if (run->count >= MIN_RUN && run->weight >= heaviest) {
                heaviest = run->weight;
                found = true;
            }
        }
    return found ? (double)heaviest : 0;
}

static void scale_weights(struct piece_match *match)
{
    float sum = 0;
    for (size_t q = 0; q < match->asked; q++)
        sum += match->weights[q];
    for (size_t q = 0; q < match->asked && sum > 0; q++)
        match->weights[q] /= sum;
}

/* By the pieces' lengths. */
static void weigh_pieces(struct piece_match *match)
{
    const struct piece_text *question = &match->texts[match->count];
    match->weights = mem_alloc(match->asked * sizeof *match->weights);
    for (size_t q = 0; q < match->asked; q++)
        match->weights[q] =
            match->shares[q] * pieces_length(match->routing->request->pieces,
                                             question->ids.ids[q]);
    scale_weights(match);
}

/* What all have says little of any: by what the best windows have. */
static void weigh_anew(struct piece_match *match)
{
    float had[MAX_ASKED] = {0};
    for (size_t i = 0; i < match->count; i++) {
        size_t half = 0;
        (void)best_window(match, &match->texts[i], &half);
        for (size_t q = 0; q < match->asked; q++)
            had[q] += near_of(match, &match->texts[i], half, q);
    }
    for (size_t q = 0; q < match->asked; q++)
        match->weights[q] *= 1 + HAD_BY_ALL - had[q] / (float)match->count;
    scale_weights(match);
}

static void find_matches(struct piece_match *match)
{
    size_t half;
    routing_share(match->routing, match->count, find_halves, match);
    weigh_pieces(match);
    weigh_anew(match);
    for (size_t i = 0; i < match->count; i++)
        match->items[i].pieces.score =
            best_window(match, &match->texts[i], &half) +
            PASTED * pasted(match, &match->texts[i]);
}

/* Gives each its score; false: the model failed. */
static bool match_pieces(const struct routing *routing, struct fused *fused,
                         size_t count)
{
    struct piece_match match = {
        .routing = routing,
        .items = fused,
        .texts = mem_alloc((count + 1) * sizeof *match.texts),
        .count = count};
    routing_share(routing, count, read_texts, &match);
    int code = read_question(&match);
    bool known = !code && match.asked;
    if (known) {
        find_cosines(&match);
        find_matches(&match);
    }
    for (size_t i = 0; i <= count; i++) {
        free(match.texts[i].ids.ids);
        free(match.texts[i].near);
    }
    free(match.texts);
    free(match.place);
    free(match.ids);
    free(match.weights);
    free(match.near);
    return known;
}

/* ---- Matches into an order ---- */

static void rank_matches(struct fused *fused, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct route_place *place = &fused[i].pieces;
        place->rank = 1;
        for (size_t k = 0; k < count; k++)
            place->rank += fused[k].pieces.score > place->score;
    }
}

/* The score as a share of the best that rankings gave: what rules about names add to it
 * decides as before. */
static void put_scores(const struct fused *fused, size_t count, double *ret)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fused[i].ranked > most ? fused[i].ranked : most;
    for (size_t i = 0; i < count; i++)
        ret[i] = (most > 0 ? fused[i].score / most : 0) +
                 WEIGHT * fused[i].pieces.score;
}

/* A question that is being typed cannot wait. */
void order_by_pieces(const struct routing *routing, struct fused *fused,
                     size_t count)
{
    const struct route_request *request = routing->request;
    double scores[DEPTH];
    count = count < DEPTH ? count : DEPTH;
    if (request->mode != ROUTE_AUTO || request->weights || !count ||
        !request->pieces || request->typing ||
        !match_pieces(routing, fused, count))
        return;
    rank_matches(fused, count);
    put_scores(fused, count, scores);
    rankings_reorder(fused, scores, count);
}
