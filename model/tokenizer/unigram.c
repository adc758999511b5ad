/* A node's children lie together, sorted by their bytes. */
#include "model/tokenizer/unigram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct trie_node {
    uint32_t children; /* the first one's index */
    uint16_t count;
    unsigned char byte;
    int32_t id; /* of the token that ends here, or none */
};

/* The best way to what ends before a byte. */
struct unigram_end {
    double score;
    uint32_t from; /* where its last token starts; UINT32_MAX: no way */
    int32_t id;
};

static const double UNKNOWN_PENALTY = 10;

/* ---- The trie ---- */

struct sorted {
    struct slice text;
    int32_t id;
};

static int compare(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int order = slice_compare(x->text, y->text);
    return order ? order : x->id < y->id ? -1 : 1;
}

/* Children of node `at`, whose tokens are sorted[from, to) beyond `depth`
 * bytes. */
static void grow(struct unigram *u, const struct sorted *sorted, size_t from,
                 size_t to, size_t depth, size_t at)
{
    while (from < to && sorted[from].text.size == depth)
        u->nodes[at].id = sorted[from++].id; /* of equal ones the last */
    size_t first = u->node_count;
    u->nodes[at].children = (uint32_t)first;
    for (size_t i = from, next; i < to; i = next) {
        char byte = sorted[i].text.data[depth];
        for (next = i + 1; next < to && sorted[next].text.data[depth] == byte;)
            next++;
        MEM_RESERVE(u->nodes, &u->node_capacity, u->node_count + 1);
        u->nodes[u->node_count++] = (struct trie_node){
            .byte = (unsigned char)byte, .id = VOCABULARY_NONE};
        u->nodes[at].count++;
    }
    for (size_t i = from, next, child = first; i < to; i = next, child++) {
        char byte = sorted[i].text.data[depth];
        for (next = i + 1; next < to && sorted[next].text.data[depth] == byte;)
            next++;
        grow(u, sorted, i, next, depth + 1, child);
    }
}

int unigram_seal(struct unigram *u, struct err *err)
{
    const struct vocabulary *v = u->vocabulary;
    for (size_t i = 0; i < v->count; i++)
        if (!isnan(u->scores[i]) && v->tokens[i].size > UNIGRAM_MAX_TOKEN)
            return err_set(err, ERR_LIMIT, "token %zu has more than %d bytes",
                           i, UNIGRAM_MAX_TOKEN);
    struct sorted *sorted = mem_alloc((v->count + 1) * sizeof *sorted);
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++)
        if (!isnan(u->scores[i]) && v->tokens[i].size)
            sorted[count++] =
                (struct sorted){vocabulary_bytes(v, (int32_t)i), (int32_t)i};
    if (count)
        qsort(sorted, count, sizeof *sorted, compare);
    u->nodes = mem_alloc(sizeof *u->nodes);
    u->nodes[0] = (struct trie_node){.id = VOCABULARY_NONE};
    u->node_count = u->node_capacity = 1;
    grow(u, sorted, 0, count, 0, 0);
    free(sorted);
    return 0;
}

void unigram_free(struct unigram *u)
{
    free(u->scores);
    free(u->nodes);
}

static const struct trie_node *child_of(const struct unigram *u,
                                        const struct trie_node *node,
                                        unsigned char byte)
{
    size_t low = node->children, high = low + node->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (u->nodes[middle].byte == byte)
            return &u->nodes[middle];
        if (u->nodes[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- The way ---- */

void unigram_scratch_free(struct unigram_scratch *scratch)
{
    free(scratch->ends);
    ids_free(&scratch->reversed);
    *scratch = (struct unigram_scratch){0};
}

static void offer(struct unigram_end *end, double score, size_t from,
                  int32_t id)
{
    if (end->from == UINT32_MAX || score > end->score)
        *end = (struct unigram_end){score, (uint32_t)from, id};
}

/* Bytes of the character at `at`, of well-formed text. */
static size_t character(struct slice text, size_t at)
{
    size_t end = at + 1;
    while (end < text.size && ((unsigned char)text.data[end] & 0xC0) == 0x80)
        end++;
    return end - at;
}

/* All tokens that start at `at`; an unknown one of one character where none is
 * as long as that. */
static void extend(const struct unigram *u, struct slice piece, size_t at,
                   struct unigram_end *ends)
{
    double so_far = ends[at].score;
    size_t one = character(piece, at);
    const struct trie_node *node = u->nodes;
    bool known = false;
    for (size_t i = at; i < piece.size; i++) {
        node = child_of(u, node, (unsigned char)piece.data[i]);
        if (!node)
            break;
        if (node->id < 0)
            continue;
        offer(&ends[i + 1], so_far + u->scores[node->id], at, node->id);
        known = known || i + 1 - at == one;
    }
    if (!known)
        offer(&ends[at + one], so_far + (u->min - UNKNOWN_PENALTY), at,
              u->unknown); /* so rounded: of equal ways the first counts */
}

/* The tokens of an unknown run, the last first: its bytes', or the unknown
 * token. */
static void put_unknown(const struct unigram *u, struct slice run,
                        struct ids *reversed)
{
    bool bytes = u->fall_back;
    for (size_t i = 0; i < run.size && bytes; i++)
        bytes = u->vocabulary->byte[(unsigned char)run.data[i]] >= 0;
    for (size_t i = run.size; i > 0 && bytes; i--)
        ids_put(reversed, u->vocabulary->byte[(unsigned char)run.data[i - 1]]);
    if (!bytes && u->unknown >= 0)
        ids_put(reversed, u->unknown);
}

void unigram_encode(const struct unigram *u, struct slice piece,
                    struct unigram_scratch *s, struct ids *ids)
{
    MEM_RESERVE(s->ends, &s->capacity, piece.size + 1);
    for (size_t i = 0; i <= piece.size; i++)
        s->ends[i].from = UINT32_MAX;
    s->ends[0] = (struct unigram_end){.id = VOCABULARY_NONE};
    for (size_t at = 0; at < piece.size; at += character(piece, at))
        extend(u, piece, at, s->ends);
    s->reversed.count = 0;
    for (size_t end = piece.size, from; end > 0; end = from) {
        from = s->ends[end].from;
        int32_t id = s->ends[end].id;
        if (id != u->unknown) {
            ids_put(&s->reversed, id);
            continue;
        }
        while (from > 0 && s->ends[from].id == u->unknown)
            from = s->ends[from].from;
        put_unknown(u, (struct slice){piece.data + from, end - from},
                    &s->reversed);
    }
    for (size_t i = s->reversed.count; i > 0; i--)
        ids_put(ids, s->reversed.items[i - 1]);
}
