/* The model of a tokenizer.json: its vocabulary, and what makes tokens of
 * pieces. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/json_members.h"
#include "model/tokenizer/tokenizer_internal.h"

/* One more than the largest id anywhere, 0 when an id is not one. */
static size_t count_ids(const cJSON *vocab, const cJSON *added)
{
    const cJSON *item;
    int32_t max = -1, id;
    if (cJSON_IsArray(vocab)) {
        max = cJSON_GetArraySize(vocab) - 1;
    } else {
        cJSON_ArrayForEach (item, vocab) {
            if ((id = tokenizer_id_of(item)) < 0)
                return 0;
            max = id > max ? id : max;
        }
    }
    cJSON_ArrayForEach (item, added) {
        if ((id = tokenizer_id_of(member_find(item, "id"))) < 0)
            return 0;
        max = id > max ? id : max;
    }
    return max < VOCABULARY_MAX ? (size_t)(max + 1) : 0;
}

static int init_vocabulary(struct tokenizer *t, const cJSON *model,
                           const cJSON *added, size_t merges,
                           const char *inside, struct err *err)
{
    size_t count = count_ids(member_find(model, "vocab"), added);
    if (!count)
        return err_set(err, ERR_FORMAT,
                       "the vocabulary is empty or has an id that is not a "
                       "number in [0, %d)",
                       VOCABULARY_MAX);
    vocabulary_init(&t->vocabulary, count, merges, !t->byte_level,
                    slice_of(inside));
    return 0;
}

static int add_tokens(struct tokenizer *t, const cJSON *vocab, struct err *err)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, vocab) {
        int code = vocabulary_add(&t->vocabulary, tokenizer_id_of(item),
                                  slice_of(item->string), err);
        if (code)
            return code;
    }
    return 0;
}

/* The id of `unk_token`, or none. */
static int32_t unknown_of(const struct tokenizer *t, const char *text)
{
    return text ? vocabulary_find(&t->vocabulary, slice_of(text))
                : VOCABULARY_NONE;
}

/* ---- BPE ---- */

static int take_merge(struct vocabulary *v, uint32_t rank, const cJSON *item,
                      struct err *err)
{
    const char *left = NULL, *right = NULL;
    if (cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2) {
        left = cJSON_GetStringValue(cJSON_GetArrayItem(item, 0));
        right = cJSON_GetStringValue(cJSON_GetArrayItem(item, 1));
    } else if (cJSON_IsString(item)) {
        left = item->valuestring;
        right = strchr(left, ' ');
        if (right && !strchr(right + 1, ' '))
            return vocabulary_add_merge(
                v, rank, (struct slice){left, (size_t)(right - left)},
                slice_of(right + 1), err);
        left = NULL;
    }
    if (!left || !right)
        return err_set(err, ERR_FORMAT, "merge %u is not two tokens",
                       (unsigned)rank);
    return vocabulary_add_merge(v, rank, slice_of(left), slice_of(right), err);
}

static int check_bpe(const cJSON *model, struct err *err)
{
    static const char *const affixes[] = {"continuing_subword_prefix",
                                          "end_of_word_suffix"};
    if (!cJSON_IsObject(member_find(model, "vocab")) ||
        !cJSON_IsArray(member_find(model, "merges")))
        return err_set(err, ERR_FORMAT,
                       "the model has no \"vocab\" or no \"merges\"");
    for (size_t i = 0; i < sizeof affixes / sizeof affixes[0]; i++)
        if (json_get_text(model, affixes[i], "")[0])
            return tokenizer_not_supported(err, "model with", affixes[i]);
    if (json_get_double(model, "dropout", 0) > 0)
        return tokenizer_not_supported(err, "model with", "dropout");
    return 0;
}

static int take_bpe(struct tokenizer *t, const cJSON *model, const cJSON *added,
                    struct err *err)
{
    const cJSON *merges = member_find(model, "merges"), *item;
    uint32_t rank = 0;
    int code = check_bpe(model, err);
    if (!code)
        code = init_vocabulary(t, model, added,
                               (size_t)cJSON_GetArraySize(merges), "", err);
    if (!code)
        code = add_tokens(t, member_find(model, "vocab"), err);
    cJSON_ArrayForEach (item, merges) {
        if (code)
            return code;
        code = take_merge(&t->vocabulary, rank++, item, err);
    }
    if (code)
        return code;
    t->bpe = (struct bpe){
        .vocabulary = &t->vocabulary,
        .unknown = unknown_of(t, json_get_text(model, "unk_token", NULL)),
        .fuse_unknown = json_get_bool(model, "fuse_unk", false),
        .ignore_merges = json_get_bool(model, "ignore_merges", false),
        .fall_back = json_get_bool(model, "byte_fallback", false)};
    for (size_t i = 0; i < 256 && t->byte_level && t->bpe.fall_back; i++)
        if (t->vocabulary.byte[i] < 0)
            return tokenizer_not_supported(err, "model with", "byte_fallback");
    bpe_seal(&t->bpe);
    return 0;
}

/* ---- WordPiece ---- */

static int take_wordpiece(struct tokenizer *t, const cJSON *model,
                          const cJSON *added, struct err *err)
{
    size_t max = 0;
    if (!cJSON_IsObject(member_find(model, "vocab")))
        return err_set(err, ERR_FORMAT, "the model has no \"vocab\"");
    int code = member_size(model, "max_input_chars_per_word", 0, 1 << 30, 100,
                           &max, err);
    if (!code)
        code = init_vocabulary(
            t, model, added, 0,
            json_get_text(model, "continuing_subword_prefix", "##"), err);
    if (!code)
        code = add_tokens(t, member_find(model, "vocab"), err);
    t->wordpiece = (struct wordpiece){.vocabulary = &t->vocabulary, .max = max};
    if (!code)
        t->wordpiece.unknown =
            unknown_of(t, json_get_text(model, "unk_token", "[UNK]"));
    return code;
}

/* ---- Unigram ---- */

/* The reference reads a number as its digits over a power of ten, in doubles,
 * which may be off by the last bit.  Ways that are equally good are told apart
 * by such bits, so it is done alike here, from the fewest digits that name the
 * number (which is how the reference writes them). */
static double as_reference(double value)
{
    char text[40];
    int digits = 15, power = 0;
    do
        snprintf(text, sizeof text, "%.*e", digits - 1, fabs(value));
    while (strtod(text, NULL) != fabs(value) && digits++ < 17);
    uint64_t significand = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at != '.')
            significand = significand * 10 + (uint64_t)(*at - '0');
    if (*at)
        power = (int)strtol(at + 1, NULL, 10);
    for (power -= digits - 1; significand && significand % 10 == 0; power++)
        significand /= 10;
    double read = (double)significand;
    read = power < 0 ? read / pow(10, -power) : read * pow(10, power);
    return value < 0 ? -read : read;
}

static int take_piece(struct tokenizer *t, int32_t id, const cJSON *item,
                      struct err *err)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(item, 0));
    const cJSON *score = cJSON_GetArrayItem(item, 1);
    if (!text || !cJSON_IsNumber(score) || !isfinite(score->valuedouble))
        return err_set(err, ERR_FORMAT, "token %d is not a text and its score",
                       (int)id);
    t->unigram.scores[id] = as_reference(score->valuedouble);
    t->unigram.min = fmin(t->unigram.min, t->unigram.scores[id]);
    return vocabulary_add(&t->vocabulary, id, slice_of(text), err);
}

static int take_unigram(struct tokenizer *t, const cJSON *model,
                        const cJSON *added, struct err *err)
{
    const cJSON *vocab = member_find(model, "vocab"), *item;
    int32_t id = 0;
    if (!cJSON_IsArray(vocab))
        return err_set(err, ERR_FORMAT, "the model has no \"vocab\"");
    if (t->byte_level)
        return tokenizer_not_supported(err, "pre_tokenizer of Unigram",
                                       "ByteLevel");
    int code = init_vocabulary(t, model, added, 0, "", err);
    if (code)
        return code;
    struct unigram *u = &t->unigram;
    *u = (struct unigram){
        .vocabulary = &t->vocabulary,
        .scores = mem_alloc(t->vocabulary.count * sizeof *u->scores),
        .min = INFINITY,
        .unknown = tokenizer_id_of(member_find(model, "unk_id")),
        .fall_back = json_get_bool(model, "byte_fallback", false)};
    for (size_t i = 0; i < t->vocabulary.count; i++)
        u->scores[i] = NAN;
    cJSON_ArrayForEach (item, vocab) {
        code = take_piece(t, id++, item, err);
        if (code)
            return code;
    }
    if (u->unknown >= id)
        return err_set(err, ERR_FORMAT, "\"unk_id\" is no token's");
    return unigram_seal(u, err);
}

int tokenizer_take_model(struct tokenizer *t, const cJSON *model,
                         const cJSON *added, struct err *err)
{
    static const struct {
        const char *type;
        int model;
        int (*take)(struct tokenizer *t, const cJSON *model, const cJSON *added,
                    struct err *err);
    } kinds[] = {
        {"BPE", TOKENIZER_BPE, take_bpe},
        {"WordPiece", TOKENIZER_WORDPIECE, take_wordpiece},
        {"Unigram", TOKENIZER_UNIGRAM, take_unigram},
    };
    const char *type = json_get_text(model, "type", "BPE");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(type, kinds[i].type)) {
            t->model = kinds[i].model;
            return kinds[i].take(t, model, added, err);
        }
    return tokenizer_not_supported(err, "model", type);
}
