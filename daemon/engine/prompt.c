#include "daemon/engine/prompt.h"

#include <stdlib.h>

#include "base/text.h"
#include "daemon/answer/quote.h"

enum {
    MIN_ROOM = 16,   /* tokens worth beginning another passage with */
    MAX_BYTES_A = 16 /* token: a text with more is not worth counting */
};

/* ---- Fencing ---- */

static bool starts_with(struct slice text, const char *start)
{
    size_t size = strlen(start);
    return text.size >= size && !memcmp(text.data, start, size);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_frame(struct slice line)
{
    size_t at = 1;
    if (starts_with(line, "Question:") || starts_with(line, "Answer:"))
        return true;
    if (!starts_with(line, "["))
        return false;
    while (at < line.size && is_digit(line.data[at]))
        at++;
    return at > 1 && at < line.size && line.data[at] == ']';
}

/* "<|word|>" as tokenizers write what is not text. */
static bool is_special(struct slice text)
{
    size_t at = 2;
    if (!starts_with(text, "<|"))
        return false;
    while (at < text.size && (text_is_letter((unsigned char)text.data[at]) ||
                              is_digit(text.data[at]) || text.data[at] == '_'))
        at++;
    return at > 2 && at + 1 < text.size && text.data[at] == '|' &&
           text.data[at + 1] == '>';
}

static void put_fenced(struct buf *out, struct slice text, bool lines)
{
    bool start = lines;
    for (size_t at = 0; at < text.size; at++) {
        struct slice rest = {text.data + at, text.size - at};
        if (start && is_frame(rest))
            buf_put_byte(out, ' ');
        buf_put_byte(out, text.data[at]);
        if (is_special(rest))
            buf_put_byte(out, ' ');
        start = lines && (text.data[at] == '\n' || text.data[at] == '\r');
    }
}

static void put_line(struct buf *out, struct slice text)
{
    struct buf folded = {0};
    text_fold_space(&folded, text);
    put_fenced(out, buf_slice(&folded), false);
    buf_free(&folded);
}

/* ---- A window on a section ---- */

/* From byte `from` of block `first` to byte `to` of block `last`. */
struct window {
    const struct prompt_source *source;
    size_t first, last, from, to;
    size_t room; /* tokens left */
};

static struct slice block_text(const struct window *window, size_t block)
{
    return window->source->blocks[block].text;
}

static struct slice block_head(const struct window *window, size_t block)
{
    const struct slice *heads = window->source->heads;
    return heads ? heads[block] : (struct slice){NULL, 0};
}

static void put_head(struct buf *out, const struct window *window, size_t block)
{
    struct slice head = block_head(window, block);
    if (!head.size)
        return;
    put_line(out, head);
    buf_put_byte(out, '\n');
}

static void put_window(struct buf *out, const struct window *window)
{
    for (size_t b = window->first; b <= window->last; b++) {
        struct slice text = block_text(window, b);
        size_t from = b == window->first ? window->from : 0;
        size_t to = b == window->last ? window->to : text.size;
        buf_put_text(out, b > window->first ? "\n\n" : "");
        if (!from)
            put_head(out, window, b);
        put_fenced(out, (struct slice){text.data + from, to - from}, true);
    }
}

/* Takes the tokens of `text` from the room.  1: it fits, 0: it does not. */
static int take(struct window *window, struct slice text,
                const struct prompt_counter *counter, struct err *err)
{
    size_t tokens;
    if (text.size / MAX_BYTES_A > window->room)
        return 0;
    int code = counter->count(counter->context, text, &tokens, err);
    if (code)
        return code;
    if (tokens > window->room)
        return 0;
    window->room -= tokens;
    return 1;
}

/* The same of a whole block with its head. */
static int take_block(struct window *window, size_t block,
                      const struct prompt_counter *counter, struct err *err)
{
    struct buf text = {0};
    put_head(&text, window, block);
    buf_put_slice(&text, block_text(window, block));
    int took = take(window, buf_slice(&text), counter, err);
    buf_free(&text);
    return took;
}

/* Start of the part before the one that starts at `from`. */
static size_t part_before(struct slice text, size_t from)
{
    size_t at = 0, start = 0;
    while (at < from) {
        size_t end = quote_part_end(text, at), step = 1;
        start = at;
        end += end == at;
        while (end < from && (step = text_space(text.data, text.size, end)))
            end += step;
        at = end;
    }
    return start;
}

static size_t part_after(struct slice text, size_t to)
{
    size_t at = to, step;
    while (at < text.size && (step = text_space(text.data, text.size, at)))
        at += step;
    return at < text.size ? quote_part_end(text, at) : text.size;
}

/* 1: one part of the block, or the next block, came in; 0: none fits. */
static int grow_down(struct window *window,
                     const struct prompt_counter *counter, struct err *err)
{
    struct slice text = block_text(window, window->last);
    bool within = window->to < text.size;
    size_t from = window->to, last = window->last + !within;
    if (!within) {
        if (last >= window->source->count)
            return 0;
        text = block_text(window, last);
        from = 0;
    }
    size_t to = within ? part_after(text, from) : text.size;
    int took = within
                   ? take(window, (struct slice){text.data + from, to - from},
                          counter, err)
                   : take_block(window, last, counter, err);
    if (took > 0) {
        window->last = last;
        window->to = to;
    }
    return took;
}

static int grow_up(struct window *window, const struct prompt_counter *counter,
                   struct err *err)
{
    struct slice text = block_text(window, window->first);
    bool within = window->from > 0;
    size_t to = window->from, first = window->first;
    if (!within) {
        if (!first)
            return 0;
        text = block_text(window, --first);
        to = text.size;
    }
    size_t from = within ? part_before(text, to) : 0;
    int took = within
                   ? take(window, (struct slice){text.data + from, to - from},
                          counter, err)
                   : take_block(window, first, counter, err);
    if (took > 0) {
        window->first = first;
        window->from = from;
    }
    return took;
}

/* The best sentence, cut when it is too long for the room. */
static int begin(struct window *window, const struct prompt_counter *counter,
                 struct err *err)
{
    const struct prompt_source *source = window->source;
    struct slice text = block_text(window, source->block);
    size_t to = source->to;
    window->first = window->last = source->block;
    window->from = source->from;
    for (;;) {
        struct slice sentence = {text.data + source->from, to - source->from};
        int took = take(window, sentence, counter, err);
        window->to = to;
        if (took || !sentence.size)
            return took;
        to = source->from + text_begin(sentence.data, sentence.size * 3 / 4);
    }
}

static int grow(struct window *window, const struct prompt_counter *counter,
                struct err *err)
{
    /* A cut sentence leaves no room for anything. */
    bool up = window->to >= window->source->to, down = up;
    while (up || down) {
        int took = down ? grow_down(window, counter, err) : 0;
        down = took > 0;
        if (took >= 0 && up) {
            took = grow_up(window, counter, err);
            up = took > 0;
        }
        if (took < 0)
            return took;
    }
    return 0;
}

/* ---- The prompt ---- */

struct packing {
    const struct prompt_counter *counter;
    struct buf text; /* of the passages */
    size_t *ends;    /* [passages] in the text */
    bool *whole;     /* [passages] nothing of the source is left out */
    size_t passages;
};

static bool is_whole(const struct window *window)
{
    size_t last = window->source->count - 1;
    return !window->first && !window->from && window->last == last &&
           window->to == block_text(window, last).size;
}

/* 1: the source is in, with at most `room` tokens; 0: it does not fit. */
static int put_source(struct packing *packing,
                      const struct prompt_source *source, size_t room,
                      size_t *ret_tokens, struct err *err)
{
    struct buf head = {0};
    buf_printf(&head, "[%zu] ", packing->passages + 1);
    put_line(&head, source->title);
    buf_put_byte(&head, '\n');
    struct window window = {.source = source, .room = room};
    int code = take(&window, buf_slice(&head), packing->counter, err);
    if (code > 0)
        code = window.room ? begin(&window, packing->counter, err) : 0;
    if (code > 0) {
        int grown = grow(&window, packing->counter, err);
        bool empty = window.first == window.last && window.to == window.from;
        code = grown < 0 ? grown : !empty;
    }
    if (code > 0) {
        buf_put_slice(&packing->text, buf_slice(&head));
        put_window(&packing->text, &window);
        buf_put_text(&packing->text, "\n\n");
        packing->whole[packing->passages] = is_whole(&window);
        packing->ends[packing->passages++] = packing->text.size;
        *ret_tokens = room - window.room;
    }
    buf_free(&head);
    return code;
}

/* Joins what is packed with the tail, and counts; passages are left out until
 * it fits. */
static int finish(struct packing *packing, struct slice tail, size_t max,
                  struct prompt *ret, struct err *err)
{
    struct prompt prompt = {.asked = tail.size};
    int code = 0;
    while (packing->passages && !code) {
        prompt.passages = packing->passages;
        buf_clear(&prompt.text);
        buf_put(&prompt.text, packing->text.data,
                packing->ends[packing->passages - 1]);
        buf_put_slice(&prompt.text, tail);
        code = packing->counter->count(packing->counter->context,
                                       buf_slice(&prompt.text), &prompt.tokens,
                                       err);
        if (!code && prompt.tokens <= max) {
            for (size_t i = 0; i < prompt.passages; i++)
                prompt.whole += packing->whole[i];
            *ret = prompt;
            return 0;
        }
        packing->passages--;
    }
    buf_free(&prompt.text);
    return code ? code
                : err_set(err, ERR_LIMIT,
                          "the question leaves no room for a passage in a "
                          "prompt of %zu tokens: ask it shorter",
                          max);
}

static int pack(struct packing *packing, const struct prompt_source *sources,
                size_t count, const struct prompt_limits *limits,
                struct slice tail, struct err *err)
{
    size_t left = limits->tokens, tokens;
    int code =
        packing->counter->count(packing->counter->context, tail, &tokens, err);
    if (code)
        return code;
    left -= tokens < left ? tokens : left;
    for (size_t i = 0; i < count && i < limits->passages; i++) {
        size_t room =
            left < limits->passage_tokens ? left : limits->passage_tokens;
        if (i && left < MIN_ROOM)
            break;
        code = put_source(packing, &sources[i], room, &tokens, err);
        if (code <= 0)
            break;
        left -= tokens;
    }
    return code < 0 ? code : 0;
}

int prompt_pack(const struct prompt_source *sources, size_t count,
                struct slice question, const struct prompt_limits *limits,
                const struct prompt_counter *counter, struct prompt *ret,
                struct err *err)
{
    struct packing packing = {.counter = counter};
    struct buf tail = {0};
    packing.ends = mem_alloc((count + 1) * sizeof *packing.ends);
    packing.whole = mem_alloc((count + 1) * sizeof *packing.whole);
    buf_put_text(&tail, "Question: ");
    put_line(&tail, question);
    buf_put_text(&tail, "\nAnswer:");
    int code = pack(&packing, sources, count, limits, buf_slice(&tail), err);
    if (!code)
        code = finish(&packing, buf_slice(&tail), limits->tokens, ret, err);
    buf_free(&tail);
    buf_free(&packing.text);
    free(packing.ends);
    free(packing.whole);
    return code;
}
