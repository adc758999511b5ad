#include "model/tokenizer/tokenizer_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/tokenizer/utf8.h"

/* One call of tokenizer_encode. */
struct encoding {
    const struct tokenizer *tokenizer;
    struct pattern_scan *scans[TOKENIZER_MAX_STEPS]; /* made when needed */
    struct bpe_scratch scratch;
    struct unigram_scratch ways;
    const char *text;  /* where all of it starts */
    const char *start; /* where pieces of its start start, or NULL */
    bool goes_on;      /* the text does: nothing is put before it */
    struct ids *ids;
    struct err *err;
};

/* A piece of text: a match of a pattern, or what lies between two. */
struct part {
    size_t from, to;
    bool match;
};

struct parts {
    struct part *items;
    size_t count, capacity;
};

size_t tokenizer_count(const struct tokenizer *tokenizer)
{
    return tokenizer->vocabulary.count;
}

bool tokenizer_lowercases(const struct tokenizer *tokenizer)
{
    const struct normaliser *n = &tokenizer->normaliser;
    for (size_t i = 0; i < n->count; i++)
        if (n->steps[i].kind == NORMAL_LOWERCASE)
            return true;
    return false;
}

/* No token that is matched as a whole holds white space, or takes it. */
static bool are_words(const struct added_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct added_token *token = &set->tokens[i];
        for (size_t at = 0; at < token->text.size; at++)
            if (text_space(token->text.data, token->text.size, at))
                return false;
        if (token->left_strip || token->right_strip)
            return false;
    }
    return true;
}

bool tokenizer_goes_by_words(const struct tokenizer *tokenizer)
{
    const struct split_step *first = &tokenizer->steps[0];
    for (size_t i = 0; i < tokenizer->normaliser.count; i++)
        switch (tokenizer->normaliser.steps[i].kind) {
        case NORMAL_STRIP:
        case NORMAL_PREPEND:
        case NORMAL_REPLACE:
        case NORMAL_CHARSMAP: return false;
        default: break;
        }
    for (size_t i = 0; i < tokenizer->step_count; i++)
        if (!tokenizer->steps[i].character) /* others may give up on a text */
            return false;
    return tokenizer->step_count && first->spaces &&
           first->behavior == SPLIT_REMOVED && are_words(&tokenizer->added) &&
           are_words(&tokenizer->normalised);
}

struct hash128 tokenizer_hash(const struct tokenizer *tokenizer)
{
    return tokenizer->hash;
}

static bool known(const struct tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (size_t)id < tokenizer->vocabulary.count;
}

void tokenizer_leave_bare(struct tokenizer *tokenizer)
{
    tokenizer->before.count = tokenizer->after.count = 0;
    tokenizer->bare = true;
}

static int32_t unknown_of(const struct tokenizer *tokenizer)
{
    return tokenizer->model == TOKENIZER_WORDPIECE
               ? tokenizer->wordpiece.unknown
           : tokenizer->model == TOKENIZER_UNIGRAM ? tokenizer->unigram.unknown
                                                   : tokenizer->bpe.unknown;
}

/* Of the ids from `from` on. */
static void leave_out(struct ids *ids, size_t from, int32_t id)
{
    size_t kept = from;
    for (size_t i = from; i < ids->count; i++)
        if (ids->items[i] != id)
            ids->items[kept++] = ids->items[i];
    ids->count = kept;
}

bool tokenizer_is_special(const struct tokenizer *tokenizer, int32_t id)
{
    return known(tokenizer, id) &&
           (tokenizer->vocabulary.tokens[id].flags & TOKEN_SPECIAL);
}

static int32_t find_added(const struct added_set *set, struct slice token)
{
    for (size_t i = 0; i < set->count; i++)
        if (slice_equal(set->tokens[i].text, token))
            return set->tokens[i].id;
    return VOCABULARY_NONE;
}

int32_t tokenizer_find(const struct tokenizer *tokenizer, struct slice token)
{
    int32_t id = find_added(&tokenizer->added, token);
    if (id < 0)
        id = find_added(&tokenizer->normalised, token);
    return id < 0 ? vocabulary_find(&tokenizer->vocabulary, token) : id;
}

/* ---- Splitting ---- */

static int run_step(struct encoding *e, size_t step, struct slice text);

static int next_match(struct encoding *e, size_t step, struct slice text,
                      size_t from, size_t *ret_start, size_t *ret_end)
{
    if (!e->scans[step])
        e->scans[step] = pattern_scan_new(e->tokenizer->steps[step].pattern);
    return pattern_next(e->scans[step], text, from, ret_start, ret_end, e->err);
}

static size_t after_character(struct slice text, size_t at)
{
    enum utf8_kind kind;
    return at < text.size ? at + utf8_step(text.data, text.size, at, &kind)
                          : at + 1;
}

static int pass_on(struct encoding *e, size_t step, struct slice text,
                   size_t from, size_t to)
{
    if (from >= to)
        return 0;
    return run_step(e, step + 1, (struct slice){text.data + from, to - from});
}

/* Each match a piece, and what is between two as well: the common case, done
 * without keeping a list.  An empty match cuts, but not where one ended. */
static int split_isolated(struct encoding *e, size_t step, struct slice text)
{
    size_t at = 0, done = 0, start, end;
    int found, code = 0;
    while (!code && at <= text.size &&
           (found = next_match(e, step, text, at, &start, &end)) != 0) {
        if (found < 0)
            return found;
        code = pass_on(e, step, text, done, start);
        if (!code)
            code = pass_on(e, step, text, start, end);
        done = end;
        at = end > start ? end : after_character(text, end);
    }
    return code ? code : pass_on(e, step, text, done, text.size);
}

static void parts_put(struct parts *parts, size_t from, size_t to, bool match)
{
    MEM_RESERVE(parts->items, &parts->capacity, parts->count + 1);
    parts->items[parts->count++] = (struct part){from, to, match};
}

static int find_parts(struct encoding *e, size_t step, struct slice text,
                      struct parts *parts)
{
    bool match = !e->tokenizer->steps[step].invert;
    size_t at = 0, done = 0, start, end, last = SIZE_MAX;
    int found;
    while (at <= text.size &&
           (found = next_match(e, step, text, at, &start, &end)) != 0) {
        if (found < 0)
            return found;
        if (start == end && end == last) {
            at = after_character(text, at);
            continue;
        }
        if (done < start)
            parts_put(parts, done, start, !match);
        parts_put(parts, start, end, match);
        at = done = last = end;
    }
    if (done < text.size)
        parts_put(parts, done, text.size, !match);
    return 0;
}

/* Whether two neighbours are one piece. */
static bool joins(int behavior, const struct part *a, const struct part *b)
{
    switch (behavior) {
    case SPLIT_CONTIGUOUS: return a->match == b->match;
    case SPLIT_WITH_PREVIOUS: return b->match && !a->match;
    case SPLIT_WITH_NEXT: return a->match && !b->match;
    default: return false;
    }
}

static int split_others(struct encoding *e, size_t step, struct slice text)
{
    int behavior = e->tokenizer->steps[step].behavior;
    struct parts parts = {0};
    int code = find_parts(e, step, text, &parts);
    for (size_t i = 0, next; i < parts.count && !code; i = next) {
        const struct part *items = parts.items;
        next = i + 1;
        if (behavior == SPLIT_REMOVED && items[i].match)
            continue;
        while (next < parts.count &&
               joins(behavior, &items[next - 1], &items[next]))
            next++;
        code = pass_on(e, step, text, items[i].from, items[next - 1].to);
    }
    free(parts.items);
    return code;
}

static int prefix_space(struct encoding *e, size_t step, struct slice text)
{
    if (text.data[0] == ' ' || (e->goes_on && text.data == e->start))
        return run_step(e, step + 1, text);
    struct buf spaced = {0};
    buf_put_byte(&spaced, ' ');
    buf_put_slice(&spaced, text);
    int code = run_step(e, step + 1, buf_slice(&spaced));
    buf_free(&spaced);
    return code;
}

static int mark_spaces(struct encoding *e, size_t step, struct slice text)
{
    const struct split_step *s = &e->tokenizer->steps[step];
    struct buf marked = {0};
    size_t mark = strlen(s->mark);
    bool has = text.data[0] == ' ' ||
               (text.size >= mark && !memcmp(text.data, s->mark, mark));
    bool first = text.data == e->start;
    bool wants = (s->before == MARK_ALWAYS && !(first && e->goes_on)) ||
                 (s->before == MARK_FIRST && first && !e->goes_on);
    if (wants && !has)
        buf_put(&marked, s->mark, mark);
    for (size_t at = 0, end; at < text.size; at = end + 1) {
        const char *space = memchr(text.data + at, ' ', text.size - at);
        end = space ? (size_t)(space - text.data) : text.size;
        buf_put(&marked, text.data + at, end - at);
        if (space)
            buf_put(&marked, s->mark, mark);
    }
    int code = run_step(e, step + 1, buf_slice(&marked));
    buf_free(&marked);
    return code;
}

static void encode_piece(struct encoding *e, struct slice piece)
{
    const struct tokenizer *t = e->tokenizer;
    switch (t->model) {
    case TOKENIZER_WORDPIECE:
        wordpiece_encode(&t->wordpiece, piece, e->ids);
        break;
    case TOKENIZER_UNIGRAM:
        unigram_encode(&t->unigram, piece, &e->ways, e->ids);
        break;
    default: bpe_encode(&t->bpe, piece, &e->scratch, e->ids); break;
    }
}

static int run_step(struct encoding *e, size_t step, struct slice text)
{
    const struct tokenizer *tokenizer = e->tokenizer;
    if (step == tokenizer->step_count) {
        encode_piece(e, text);
        return 0;
    }
    switch (tokenizer->steps[step].kind) {
    case STEP_SPACE: return prefix_space(e, step, text);
    case STEP_MARK: return mark_spaces(e, step, text);
    default: break;
    }
    if (tokenizer->steps[step].behavior == SPLIT_ISOLATED)
        return split_isolated(e, step, text);
    return split_others(e, step, text);
}

/* ---- Added tokens, and all together ---- */

static int take_normal(void *context, int32_t id, struct slice text)
{
    struct encoding *e = context;
    if (id < 0)
        return run_step(e, 0, text);
    ids_put(e->ids, id);
    return 0;
}

static int take_raw(void *context, int32_t id, struct slice text)
{
    struct encoding *e = context;
    if (id >= 0)
        return take_normal(context, id, text);
    bool first = text.data == e->text;
    e->start = first ? text.data : NULL;
    if (!e->tokenizer->normaliser.count)
        return added_split(&e->tokenizer->normalised, text, take_normal, e);
    struct buf normal = {0};
    buf_put_slice(&normal, text);
    bool cut;
    int code = (first && e->goes_on ? normaliser_run_on : normaliser_run)(
        &e->tokenizer->normaliser, &normal, &cut, e->err);
    e->start = first && !cut ? normal.data : NULL;
    if (!code)
        code = added_split(&e->tokenizer->normalised, buf_slice(&normal),
                           take_normal, e);
    buf_free(&normal);
    return code;
}

static void put_all(struct ids *to, const struct ids *from)
{
    for (size_t i = 0; i < from->count; i++)
        ids_put(to, from->items[i]);
}

static int encode(const struct tokenizer *tokenizer, struct slice text,
                  bool special, bool goes_on, struct ids *ids, struct err *err)
{
    struct encoding e = {
        .tokenizer = tokenizer, .goes_on = goes_on, .ids = ids, .err = err};
    struct buf repaired = {0};
    size_t before = ids->count;
    if (text.size >= UINT32_MAX)
        return err_set(err, ERR_LIMIT, "a text of 4 GB or more");
    if (utf8_well(text) < text.size) {
        utf8_repair(&repaired, text);
        text = buf_slice(&repaired);
    }
    e.text = text.data;
    if (special)
        put_all(ids, &tokenizer->before);
    int code = added_split(&tokenizer->added, text, take_raw, &e);
    if (code)
        ids->count = before;
    else if (special)
        put_all(ids, &tokenizer->after);
    if (tokenizer->bare)
        leave_out(ids, before, unknown_of(tokenizer));
    for (size_t i = 0; i < tokenizer->step_count; i++)
        pattern_scan_free(e.scans[i]);
    bpe_scratch_free(&e.scratch);
    unigram_scratch_free(&e.ways);
    buf_free(&repaired);
    return code;
}

int tokenizer_encode(const struct tokenizer *tokenizer, struct slice text,
                     bool special, struct ids *ids, struct err *err)
{
    return encode(tokenizer, text, special, false, ids, err);
}

static bool is_added(const struct added_set *set, int32_t id)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->tokens[i].id == id)
            return true;
    return false;
}

int tokenizer_encode_on(const struct tokenizer *tokenizer, struct slice text,
                        struct ids *ids, struct err *err)
{
    int32_t last = ids->count ? ids->items[ids->count - 1] : VOCABULARY_NONE;
    bool goes_on = last >= 0 && !is_added(&tokenizer->added, last) &&
                   !is_added(&tokenizer->normalised, last);
    return encode(tokenizer, text, false, goes_on, ids, err);
}

/* ---- Back to text ---- */

struct slice tokenizer_bytes(const struct tokenizer *tokenizer, int32_t id)
{
    if (!known(tokenizer, id))
        return (struct slice){"", 0};
    if (tokenizer->byte_level)
        return vocabulary_bytes(&tokenizer->vocabulary, id);
    return decoder_text(&tokenizer->decoder, id);
}

/* The first token of a text may stand for less. */
static void put_token(const struct tokenizer *tokenizer, int32_t id, bool first,
                      struct buf *bytes)
{
    if (first && !tokenizer->byte_level && known(tokenizer, id))
        decoder_first(&tokenizer->decoder, &tokenizer->vocabulary, id, bytes);
    else
        buf_put_slice(bytes, tokenizer_bytes(tokenizer, id));
}

void tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids,
                      size_t count, bool special, struct buf *text)
{
    struct buf bytes = {0};
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!special && tokenizer_is_special(tokenizer, ids[i]))
            continue;
        put_token(tokenizer, ids[i], first, &bytes);
        first = false;
    }
    utf8_repair(text, buf_slice(&bytes));
    buf_free(&bytes);
}

/* Where a character starts that the end of the bytes cuts off, or the end. */
static size_t cut_from(struct slice bytes)
{
    enum utf8_kind kind;
    for (size_t back = 1; back <= 3 && back <= bytes.size; back++) {
        size_t at = bytes.size - back;
        if (((unsigned char)bytes.data[at] & 0xC0) == 0x80)
            continue;
        utf8_step(bytes.data, bytes.size, at, &kind);
        return kind == UTF8_CUT ? at : bytes.size;
    }
    return bytes.size;
}

void tokenizer_stream_put(const struct tokenizer *tokenizer,
                          struct tokenizer_stream *stream, int32_t id,
                          struct buf *text)
{
    struct buf bytes = {0};
    buf_put(&bytes, stream->held, stream->size);
    put_token(tokenizer, id, !stream->started, &bytes);
    stream->started = true;
    size_t end = cut_from(buf_slice(&bytes));
    stream->size = bytes.size - end;
    memcpy(stream->held, buf_slice(&bytes).data + end, stream->size);
    utf8_repair(text, (struct slice){buf_slice(&bytes).data, end});
    buf_free(&bytes);
}

void tokenizer_stream_end(struct tokenizer_stream *stream, struct buf *text)
{
    utf8_repair(text, (struct slice){stream->held, stream->size});
    stream->size = 0;
}
