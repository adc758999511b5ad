/* WordPiece, SentencePiece's BPE and Unigram from a GGUF file's metadata. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/tokenizer/tokenizer_gguf_internal.h"

enum {
    WORD_MAX = 100 /* characters of a word: BERT's, of which no key tells */
};

static const char MARK[] = "\xE2\x96\x81"; /* U+2581 */

static bool is_marked(struct slice text)
{
    return slice_starts(text, slice_of(MARK));
}

/* A normaliser that is written as tokenizer.json has it. */
static int add_normaliser(struct tokenizer *t, const char *json,
                          struct err *err)
{
    cJSON *item;
    int code = json_parse(slice_of(json), &item, err);
    if (code)
        return code;
    code = tokenizer_take_normaliser(t, item, err);
    cJSON_Delete(item);
    return code;
}

/* ---- WordPiece ---- */

/* There a mark begins a word; a token without one goes on. */
static void write_word(struct slice text, int kind, struct buf *written)
{
    size_t mark = sizeof MARK - 1;
    bool bracketed =
        text.size > 1 && text.data[0] == '[' && text.data[text.size - 1] == ']';
    if (is_marked(text))
        text = (struct slice){text.data + mark, text.size - mark};
    else if (kind == KIND_NORMAL && !bracketed)
        buf_put_text(written, "##");
    buf_put_slice(written, text);
}

/* Whether some token has a capital letter of ASCII: texts are made small where
 * none has, of which no key tells. */
static bool has_capitals(const struct tokenizer *t, const struct gguf *gguf)
{
    for (size_t id = 0; id < t->vocabulary.count; id++) {
        struct slice text = vocabulary_bytes(&t->vocabulary, (int32_t)id);
        bool plain = gguf_tokenizer_kind(gguf, id) == KIND_NORMAL &&
                     text.size && text.data[0] != '[';
        for (size_t i = 0; i < text.size && plain; i++)
            if (isupper((unsigned char)text.data[i]))
                return true;
    }
    return false;
}

/* The id that a key names, or else the token that is written so. */
static int named(const struct tokenizer *t, const struct gguf *gguf,
                 const char *const keys[2], const char *text, int32_t *ret,
                 struct err *err)
{
    int code = 0;
    *ret = vocabulary_find(&t->vocabulary, slice_of(text));
    for (size_t i = 0; i < 2 && !code; i++)
        code = gguf_tokenizer_id(t, gguf, keys[i], ret, err);
    return code;
}

static int take_frame(struct tokenizer *t, const struct gguf *gguf,
                      struct err *err)
{
    static const struct {
        const char *keys[2], *text, *flag;
    } ends[] = {
        {{"bos_token_id", "cls_token_id"}, "[CLS]", "add_bos_token"},
        {{"eos_token_id", "seperator_token_id"}, "[SEP]", "add_eos_token"},
    };
    for (size_t i = 0; i < 2; i++) {
        bool on = true;
        int32_t id;
        int code = named(t, gguf, ends[i].keys, ends[i].text, &id, err);
        if (!code)
            code = gguf_tokenizer_flag(gguf, ends[i].flag, &on, err);
        if (!code && on && id < 0)
            code =
                err_set(err, ERR_FORMAT, "there is no token %s", ends[i].text);
        if (code)
            return code;
        if (on)
            ids_put(i ? &t->after : &t->before, id);
    }
    return 0;
}

static int take_splits(struct tokenizer *t, struct err *err)
{
    cJSON *item;
    int code =
        json_parse(slice_of("{\"type\":\"BertPreTokenizer\"}"), &item, err);
    if (code)
        return code;
    code = tokenizer_take_splits(t, item, err);
    cJSON_Delete(item);
    return code;
}

int gguf_tokenizer_wordpiece(struct tokenizer *t, const struct gguf *gguf,
                             struct err *err)
{
    static const char *const unknown[] = {"unknown_token_id",
                                          "unknown_token_id"};
    t->model = TOKENIZER_WORDPIECE;
    int code = gguf_tokenizer_tokens(t, gguf, 0, "##", write_word, err);
    t->wordpiece =
        (struct wordpiece){.vocabulary = &t->vocabulary, .max = WORD_MAX};
    if (!code)
        code = named(t, gguf, unknown, "[UNK]", &t->wordpiece.unknown, err);
    if (!code)
        code = add_normaliser(
            t,
            has_capitals(t, gguf)
                ? "{\"type\":\"BertNormalizer\",\"lowercase\":false}"
                : "{\"type\":\"BertNormalizer\",\"lowercase\":true}",
            err);
    if (!code)
        code = take_splits(t, err);
    if (!code)
        code = take_frame(t, gguf, err);
    t->decoder.joins = t->decoder.cleans = true;
    return code;
}

/* ---- What the others share ---- */

/* Scores [count]; NULL, with an error: there are none. */
static double *take_scores(const struct tokenizer *t, const struct gguf *gguf,
                           struct err *err)
{
    const struct gguf_value *v = gguf_tokenizer_find(gguf, "scores");
    size_t count = t->vocabulary.count;
    double *scores = mem_alloc((count + 1) * sizeof *scores);
    for (size_t i = 0; i < count; i++)
        if (!v || !gguf_number(v, i, &scores[i]) || !isfinite(scores[i])) {
            err_set(err, ERR_FORMAT,
                    GGUF_TOKENIZER "scores has no number for token %zu", i);
            free(scores);
            return NULL;
        }
    return scores;
}

/* Spaces become marks, one more before each text if `prefix`. */
static int mark_spaces(struct tokenizer *t, bool prefix, struct err *err)
{
    int code = 0;
    if (prefix)
        code = add_normaliser(
            t, "{\"type\":\"Prepend\",\"prepend\":\"\xE2\x96\x81\"}", err);
    if (!code)
        code = add_normaliser(t,
                              "{\"type\":\"Replace\",\"pattern\":{\"String\":"
                              "\" \"},\"content\":\"\xE2\x96\x81\"}",
                              err);
    t->decoder.bytes = true;
    t->decoder.replaced = mem_strdup(MARK);
    t->decoder.by = mem_strdup(" ");
    t->decoder.strip = prefix ? 1 : 0;
    return code;
}

/* ---- SentencePiece's BPE ---- */

static int by_score(const void *a, const void *b)
{
    const double *const *x = a, *const *y = b;
    if (**x != **y)
        return **x > **y ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

/* The order of the tokens that text can become, the highest score first, equal
 * ones alike. */
static void rank_tokens(struct tokenizer *t, const struct gguf *gguf,
                        const double *scores)
{
    size_t count = t->vocabulary.count, kept = 0;
    const double **order = mem_alloc((count + 1) * sizeof *order);
    uint32_t *ranks = mem_alloc((count + 1) * sizeof *ranks), rank = 0;
    for (size_t i = 0; i < count; i++) {
        ranks[i] = BPE_NO_RANK;
        if (gguf_tokenizer_kind(gguf, i) == KIND_NORMAL)
            order[kept++] = &scores[i];
    }
    if (kept)
        qsort(order, kept, sizeof *order, by_score);
    for (size_t i = 0; i < kept; i++) {
        rank += i && *order[i] != *order[i - 1];
        ranks[order[i] - scores] = rank;
    }
    free(order);
    t->bpe.ranks = ranks;
}

int gguf_tokenizer_sentencepiece(struct tokenizer *t, const struct gguf *gguf,
                                 struct err *err)
{
    bool prefix = true;
    t->model = TOKENIZER_BPE;
    int code = gguf_tokenizer_tokens(t, gguf, 0, "", NULL, err);
    if (!code)
        code = gguf_tokenizer_flag(gguf, "add_space_prefix", &prefix, err);
    if (!code)
        code = mark_spaces(t, prefix, err);
    if (!code)
        code = gguf_tokenizer_around(t, gguf, true, false, err);
    t->bpe = (struct bpe){.vocabulary = &t->vocabulary,
                          .unknown = VOCABULARY_NONE,
                          .fall_back = true};
    if (!code)
        code = gguf_tokenizer_id(t, gguf, "unknown_token_id", &t->bpe.unknown,
                                 err);
    if (code)
        return code;
    double *scores = take_scores(t, gguf, err);
    if (!scores)
        return ERR_FORMAT;
    rank_tokens(t, gguf, scores);
    free(scores);
    bpe_seal(&t->bpe);
    return 0;
}

/* ---- Unigram ---- */

static int take_charsmap(struct tokenizer *t, const struct gguf *gguf,
                         struct err *err)
{
    const struct gguf_value *v =
        gguf_tokenizer_find(gguf, "precompiled_charsmap");
    struct normal_step *step;
    if (!v || !v->bytes.size)
        return 0;
    if (!v->list || (v->type != GGUF_U8 && v->type != GGUF_I8))
        return err_set(err, ERR_FORMAT,
                       GGUF_TOKENIZER "precompiled_charsmap is no bytes");
    int code = normaliser_add(&t->normaliser, NORMAL_CHARSMAP, &step, err);
    return code ? code : charsmap_from_bytes(v->bytes, &step->charsmap, err);
}

static int take_spaces(struct tokenizer *t, const struct gguf *gguf,
                       struct err *err)
{
    bool prefix = true, merge = true;
    int code = gguf_tokenizer_flag(gguf, "add_space_prefix", &prefix, err);
    if (!code)
        code =
            gguf_tokenizer_flag(gguf, "remove_extra_whitespaces", &merge, err);
    if (!code && merge)
        code = add_normaliser(t,
                              "{\"type\":\"Sequence\",\"normalizers\":[{"
                              "\"type\":\"Replace\",\"pattern\":{\"Regex\":"
                              "\" +\"},\"content\":\" \"},{\"type\":"
                              "\"Replace\",\"pattern\":{\"Regex\":\"^ | $\"},"
                              "\"content\":\"\"}]}",
                              err);
    return code ? code : mark_spaces(t, prefix, err);
}

int gguf_tokenizer_unigram(struct tokenizer *t, const struct gguf *gguf,
                           struct err *err)
{
    struct unigram *u = &t->unigram;
    t->model = TOKENIZER_UNIGRAM;
    int code = take_charsmap(t, gguf, err);
    if (!code)
        code = take_spaces(t, gguf, err);
    if (!code)
        code = gguf_tokenizer_tokens(t, gguf, 0, "", NULL, err);
    *u = (struct unigram){.vocabulary = &t->vocabulary,
                          .min = INFINITY,
                          .unknown = VOCABULARY_NONE};
    if (!code)
        code = gguf_tokenizer_id(t, gguf, "unknown_token_id", &u->unknown, err);
    if (!code)
        code = gguf_tokenizer_around(t, gguf, false, true, err);
    if (code)
        return code;
    u->scores = take_scores(t, gguf, err);
    if (!u->scores)
        return ERR_FORMAT;
    for (size_t i = 0; i < t->vocabulary.count; i++) {
        int kind = gguf_tokenizer_kind(gguf, i);
        if (kind == KIND_NORMAL)
            u->min = fmin(u->min, u->scores[i]);
        else if (kind != KIND_USER && kind != KIND_UNUSED)
            u->scores[i] = NAN;
    }
    return unigram_seal(u, err);
}
