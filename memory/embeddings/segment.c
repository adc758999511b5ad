/* Cutting goes through pieces: whole blocks where they fit, else their lines,
 * else sentences, else runs of words.  Segments are then filled piece by piece,
 * and a block that is in pieces begins a new one.
 *
 * In the store: count, then for each segment its start less the end of the one
 * before, its length, its tokens (varints), and the hash of its text 16. */
#include "memory/embeddings/segment.h"

#include <stdlib.h>

#include "base/text.h"

enum { WINDOW = 8 /* bytes a token, about twice what prose takes */ };

void segment_text(const struct node *node, struct buf *ret)
{
    buf_put_slice(ret, node->title);
    if (node->block_count ? node->title.size > 0 : node->title.size == 0)
        buf_put_byte(ret, '\n');
    tree_node_text(node, ret);
}

struct piece {
    size_t from, to;
    size_t tokens;
    bool begins; /* a block that is in pieces */
};

struct cutting {
    struct slice text;
    size_t max;
    bool words; /* embedder_facts */
    const struct embedder *embedder;
    struct embed_ids ids;
    struct piece *pieces;
    size_t count, capacity;
    bool begins; /* the next piece begins a block that is in pieces */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* A text that the tokenizer gives up on counts as too long. */
static int count_tokens(struct cutting *c, size_t from, size_t to,
                        size_t *ret_tokens, struct err *err)
{
    struct slice text = {c->text.data + from, to - from};
    c->ids.count = 0;
    int code = c->embedder->tokenize(c->embedder->context, text, &c->ids, err);
    if (code && code != ERR_LIMIT)
        return code;
    *ret_tokens = code ? c->max + 1 : c->ids.count;
    return 0;
}

/* Of what is longer than `max` tokens some number above it. */
static int count_some(struct cutting *c, size_t from, size_t to,
                      size_t *ret_tokens, struct err *err)
{
    size_t window = c->max * WINDOW, end = from + window;
    if (c->words && to - from > window) {
        while (end > from && !is_space(c->text.data[end]))
            end--;
        int code = count_tokens(c, from, end, ret_tokens, err);
        if (code || *ret_tokens > c->max)
            return code;
    }
    return count_tokens(c, from, to, ret_tokens, err);
}

static void add_piece(struct cutting *c, size_t from, size_t to, size_t tokens)
{
    MEM_RESERVE(c->pieces, &c->capacity, c->count + 1);
    c->pieces[c->count++] = (struct piece){from, to, tokens, c->begins};
    c->begins = false;
}

/* Without white space around it; indentation stays with `keep_head`. */
static bool trim(const struct cutting *c, size_t *from, size_t *to,
                 bool keep_head)
{
    const char *text = c->text.data;
    size_t head = *from;
    while (head < *to && is_space(text[head]))
        head++;
    while (*to > head && is_space(text[*to - 1]))
        (*to)--;
    if (!keep_head)
        *from = head;
    return head < *to;
}

/* ---- Inside a sentence ---- */

/* Where to cut [from, to): after the last space, else before a character. */
static size_t cut_before(const struct cutting *c, size_t from, size_t to)
{
    const char *text = c->text.data;
    if (to >= c->text.size)
        return to;
    for (size_t at = to; at > from; at--)
        if (is_space(text[at]))
            return at;
    size_t at = from + text_begin(text + from, to - from);
    if (at > from)
        return at;
    for (at = from + 1; at < c->text.size; at++)
        if (((unsigned char)text[at] & 0xC0) != 0x80)
            break;
    return at;
}

/* The longest run of words from `from` on that is found to fit. */
static int take_run(struct cutting *c, size_t from, size_t to, size_t *ret_end,
                    size_t *ret_tokens, struct err *err)
{
    size_t window = c->max * WINDOW, tokens;
    size_t end = to - from <= window ? to : cut_before(c, from, from + window);
    for (;;) {
        int code = count_tokens(c, from, end, &tokens, err);
        if (code)
            return code;
        size_t size = end - from, less = size * c->max / (tokens ? tokens : 1);
        if (tokens <= c->max || size <= 1)
            break;
        if (less > size * 9 / 10)
            less = size * 9 / 10;
        size_t next = cut_before(c, from, from + less);
        if (next >= end)
            break;
        end = next;
    }
    *ret_end = end;
    *ret_tokens = tokens;
    return 0;
}

static int cut_words(struct cutting *c, size_t from, size_t to, struct err *err)
{
    while (trim(c, &from, &to, false)) {
        size_t end, tokens;
        int code = take_run(c, from, to, &end, &tokens, err);
        if (code)
            return code;
        add_piece(c, from, end, tokens);
        from = end;
    }
    return 0;
}

/* ---- Sentences and lines ---- */

static size_t skip_closing(const char *text, size_t at, size_t to)
{
    while (at < to && (text[at] == '"' || text[at] == '\'' || text[at] == ')' ||
                       text[at] == ']'))
        at++;
    return at;
}

/* The end of the first sentence of [from, to). */
static size_t sentence_end(const char *text, size_t from, size_t to)
{
    static const char *const wide[] = {"\u3002", "\uff01", "\uff1f"};
    for (size_t at = from; at < to; at++) {
        if (text[at] == '.' || text[at] == '!' || text[at] == '?') {
            size_t end = skip_closing(text, at + 1, to);
            if (end + 1 < to && is_space(text[end]) &&
                !(text[end + 1] >= 'a' && text[end + 1] <= 'z'))
                return end;
        }
        for (size_t w = 0; w < 3 && to - at >= 3; w++)
            if (!memcmp(text + at, wide[w], 3))
                return at + 3;
    }
    return to;
}

static int cut_sentences(struct cutting *c, size_t from, size_t to,
                         struct err *err)
{
    while (trim(c, &from, &to, false)) {
        size_t end = sentence_end(c->text.data, from, to), tokens;
        int code = count_some(c, from, end, &tokens, err);
        if (!code && tokens > c->max)
            code = cut_words(c, from, end, err);
        else if (!code)
            add_piece(c, from, end, tokens);
        if (code)
            return code;
        from = end;
    }
    return 0;
}

/* Lines of more than `room` tokens are cut, but never those from `whole` on. */
static int cut_lines(struct cutting *c, size_t from, size_t to, size_t whole,
                     size_t room, struct err *err)
{
    while (from < to) {
        const char *newline = memchr(c->text.data + from, '\n', to - from);
        size_t next = newline ? (size_t)(newline - c->text.data) : to;
        size_t start = from, end = next, tokens;
        from = next + 1;
        if (!trim(c, &start, &end, start >= whole))
            continue;
        int code = count_some(c, start, end, &tokens, err);
        if (!code && tokens > room && start < whole)
            code = cut_sentences(c, start, end, err);
        else if (!code)
            add_piece(c, start, end, tokens);
        if (code)
            return code;
    }
    return 0;
}

/* ---- Blocks ---- */

/* The block in [at, to) with the title that stands before it from `from` on:
 * some of the block is to go with the title. */
static int cut_block(struct cutting *c, size_t from, size_t at, size_t to,
                     int kind, struct err *err)
{
    size_t start = from, end = to, tokens, title = 0;
    if (!trim(c, &start, &end, true))
        return 0;
    int code = count_some(c, start, end, &tokens, err);
    if (!code && tokens <= c->max) {
        add_piece(c, start, end, tokens);
        return 0;
    }
    if (!code && from < at)
        code = count_tokens(c, from, at, &title, err);
    if (code)
        return code;
    c->begins = true;
    bool lines = kind == BLOCK_CODE || kind == BLOCK_TABLE;
    return cut_lines(c, start, end, lines ? at : end,
                     title < c->max ? c->max - title : c->max, err);
}

static int cut_blocks(struct cutting *c, const struct node *node,
                      struct err *err)
{
    size_t from = 0, at = node->title.size;
    at += node->block_count && at;
    for (uint32_t b = 0; b < node->block_count; b++) {
        const struct block *block = &node->blocks[b];
        size_t to = at + block->text.size;
        int code = cut_block(c, from, at, to, block->kind, err);
        if (code)
            return code;
        from = at = to + 2;
    }
    return node->block_count ? 0 : cut_block(c, 0, 0, at, BLOCK_PARAGRAPH, err);
}

/* ---- Filling segments ---- */

static bool has_newline(const struct cutting *c, size_t from, size_t to)
{
    return to > from && memchr(c->text.data + from, '\n', to - from);
}

/* White space stands between all pieces of [first, end). */
static bool are_words(const struct cutting *c, size_t first, size_t end)
{
    for (size_t i = first + 1; i < end; i++)
        if (!is_space(c->text.data[c->pieces[i].from - 1]))
            return false;
    return c->words;
}

static size_t sum_tokens(const struct cutting *c, size_t first, size_t end)
{
    size_t tokens = 0;
    for (size_t i = first; i < end; i++)
        tokens += c->pieces[i].tokens;
    return tokens;
}

/* The pieces from `first` on that one segment holds: up to, not with, the one
 * returned. */
static int fill(struct cutting *c, size_t first, size_t *ret_end,
                size_t *ret_tokens, struct err *err)
{
    const struct piece *p = c->pieces;
    size_t end = first + 1, tokens = p[first].tokens;
    for (; end < c->count && !p[end].begins; end++) {
        tokens += p[end].tokens + has_newline(c, p[end - 1].to, p[end].from);
        if (tokens > c->max)
            break;
    }
    for (;; end--) {
        if (end == first + 1 || are_words(c, first, end)) {
            tokens = sum_tokens(c, first, end);
            break;
        }
        int code = count_tokens(c, p[first].from, p[end - 1].to, &tokens, err);
        if (code)
            return code;
        if (tokens <= c->max)
            break;
    }
    *ret_end = end;
    *ret_tokens = tokens;
    return 0;
}

static void add_segment(struct segments *segments, size_t *capacity,
                        const struct cutting *c, size_t from, size_t to,
                        size_t tokens)
{
    MEM_RESERVE(segments->items, capacity, segments->count + 1);
    tokens = tokens < c->max ? tokens : c->max;
    segments->items[segments->count++] = (struct segment){
        (uint32_t)from, (uint32_t)to, (uint32_t)(tokens ? tokens : 1),
        hash_bytes(c->text.data + from, to - from)};
}

static int cut(struct cutting *c, const struct node *node,
               struct segments *segments, struct err *err)
{
    size_t tokens, capacity = 0;
    int code = count_some(c, 0, c->text.size, &tokens, err);
    if (!code && tokens > c->max)
        code = cut_blocks(c, node, err);
    if (code)
        return code;
    for (size_t first = 0, end; first < c->count; first = end) {
        code = fill(c, first, &end, &tokens, err);
        if (code)
            return code;
        add_segment(segments, &capacity, c, c->pieces[first].from,
                    c->pieces[end - 1].to, tokens);
    }
    if (!c->count)
        add_segment(segments, &capacity, c, 0, c->text.size, tokens);
    return 0;
}

int segment_node(const struct node *node, size_t max, bool words,
                 const struct embedder *embedder, struct segments *ret,
                 struct err *err)
{
    struct buf text = {0};
    segment_text(node, &text);
    struct cutting c = {.text = buf_slice(&text),
                        .max = max,
                        .words = words,
                        .embedder = embedder};
    struct segments segments = {0};
    int code = text.size > UINT32_MAX
                   ? err_set(err, ERR_LIMIT, "a section has over 4 GiB of text")
                   : cut(&c, node, &segments, err);
    free(c.ids.ids);
    free(c.pieces);
    buf_free(&text);
    if (code)
        segments_free(&segments);
    else
        *ret = segments;
    return code;
}

void segments_free(struct segments *segments)
{
    free(segments->items);
    *segments = (struct segments){0};
}

/* ---- As kept in the store ---- */

void segments_encode(const struct segments *segments, struct buf *ret)
{
    uint32_t end = 0;
    buf_put_varint(ret, segments->count);
    for (size_t i = 0; i < segments->count; i++) {
        const struct segment *s = &segments->items[i];
        unsigned char hash[16];
        hash_write(s->text, hash);
        buf_put_varint(ret, s->from - end);
        buf_put_varint(ret, s->to - s->from);
        buf_put_varint(ret, s->tokens);
        buf_put(ret, hash, sizeof hash);
        end = s->to;
    }
}

int segments_decode(struct slice bytes, struct segments *ret, struct err *err)
{
    struct reader in = reader_of(bytes.data, bytes.size);
    struct segments segments = {.count = read_count(&in, 19)};
    uint64_t end = 0;
    segments.items = mem_alloc(segments.count * sizeof *segments.items);
    for (size_t i = 0; i < segments.count; i++) {
        uint64_t from = end + read_u32(&in), to = from + read_u32(&in);
        uint32_t tokens = read_u32(&in);
        const unsigned char *hash = read_bytes(&in, 16);
        if (to > UINT32_MAX || !tokens || !hash) {
            in.failed = true;
            break;
        }
        segments.items[i] = (struct segment){(uint32_t)from, (uint32_t)to,
                                             tokens, hash_read(hash)};
        end = to;
    }
    if (in.failed || !segments.count || in.at != in.size) {
        segments_free(&segments);
        return err_set(err, ERR_FORMAT, "the segments of a node are damaged");
    }
    *ret = segments;
    return 0;
}
