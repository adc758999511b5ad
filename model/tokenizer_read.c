/* tokenizer.json, as far as it is supported:
 *
 *   added_tokens    [{id, content, single_word, lstrip, rstrip, normalized,
 *                     special}, ...]
 *   normalizer      null | NFC | NFD | NFKC | NFKD | Sequence of these
 *   pre_tokenizer   ByteLevel | Sequence of Split and Digits, then ByteLevel
 *   model           BPE {vocab: {token: id}, merges: ["a b"] or [["a", "b"]],
 *                     unk_token, fuse_unk, ignore_merges}
 *   post_processor  null | ByteLevel | TemplateProcessing | BertProcessing |
 *                   RobertaProcessing | Sequence of these
 *   decoder         null | ByteLevel | Sequence of these */
#include "model/tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/utf8.h"

static const char GPT2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
                           " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

enum { MOST_FILE = 256 << 20 };

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

/* -1 when it is not a whole number in [0, VOCABULARY_MOST). */
static int32_t id_of(const cJSON *item)
{
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0 && value < VOCABULARY_MOST))
        return -1;
    int32_t id = (int32_t)value;
    return (double)id != value ? -1 : id;
}

static int not_supported(struct err *err, const char *part, const char *type)
{
    return err_set(err, ERR_FORMAT, "the %s \"%s\" is not supported", part,
                   type);
}

/* Calls each(context, item, err) for the item, or for those of its list when
 * it is a Sequence. */
static int for_each(const cJSON *item, const char *list, const char *part,
                    void *context,
                    int (*each)(void *context, const cJSON *item,
                                const char *type, struct err *err),
                    struct err *err)
{
    const char *type = json_get_text(item, "type", "");
    const cJSON *inner;
    int code = 0;
    if (strcmp(type, "Sequence") != 0)
        return each(context, item, type, err);
    const cJSON *items = member(item, list);
    if (!cJSON_IsArray(items))
        return err_set(err, ERR_FORMAT, "the %s's Sequence has no \"%s\"", part,
                       list);
    cJSON_ArrayForEach (inner, items) {
        code = each(context, inner, json_get_text(inner, "type", ""), err);
        if (code)
            break;
    }
    return code;
}

/* ---- The normaliser ---- */

static int take_normaliser(void *context, const cJSON *item, const char *type,
                           struct err *err)
{
    static const struct {
        const char *name;
        int options;
    } forms[] = {
        {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
        {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
        {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
        {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
    };
    struct tokenizer *t = context;
    (void)item;
    if (t->normal_count == TOKENIZER_MOST_NORMAL)
        return err_set(err, ERR_LIMIT, "too many normalizers");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (!strcmp(type, forms[i].name)) {
            t->normal[t->normal_count++] = forms[i].options;
            return 0;
        }
    return not_supported(err, "normalizer", type);
}

/* ---- The pre-tokenizer ---- */

struct pre {
    struct tokenizer *tokenizer;
    bool bytes; /* ByteLevel has come */
};

static int add_step(struct tokenizer *t, struct slice regex, bool literal,
                    int behavior, bool invert, struct err *err)
{
    struct split_step *step = &t->steps[t->step_count];
    if (t->step_count == TOKENIZER_MOST_STEPS)
        return err_set(err, ERR_LIMIT, "too many steps of the pre_tokenizer");
    if (regex.data) {
        int code = pattern_compile(regex, literal, &step->pattern, err);
        if (code)
            return code;
    }
    step->behavior = behavior;
    step->invert = invert;
    t->step_count++;
    return 0;
}

static int take_split(struct tokenizer *t, const cJSON *item, struct err *err)
{
    static const char *const names[] = {
        [SPLIT_ISOLATED] = "Isolated",
        [SPLIT_REMOVED] = "Removed",
        [SPLIT_CONTIGUOUS] = "Contiguous",
        [SPLIT_WITH_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_WITH_NEXT] = "MergedWithNext",
    };
    const char *behavior = json_get_text(item, "behavior", "");
    const cJSON *pattern = member(item, "pattern");
    const char *regex = json_get_text(pattern, "Regex", NULL);
    const char *text = json_get_text(pattern, "String", NULL);
    int which = 0, count = (int)(sizeof names / sizeof names[0]);
    while (which < count && strcmp(behavior, names[which]) != 0)
        which++;
    if (which == count)
        return not_supported(err, "pre_tokenizer Split's behavior", behavior);
    if (!regex && !text)
        return err_set(err, ERR_FORMAT,
                       "the pre_tokenizer Split has no pattern");
    return add_step(t, slice_of(regex ? regex : text), !regex, which,
                    json_get_bool(item, "invert", false), err);
}

static int take_bytes(struct pre *pre, const cJSON *item, struct err *err)
{
    struct tokenizer *t = pre->tokenizer;
    struct slice none = {NULL, 0};
    int code = 0;
    pre->bytes = true;
    if (json_get_bool(item, "add_prefix_space", true))
        code = add_step(t, none, false, 0, false, err);
    if (!code && json_get_bool(item, "use_regex", true))
        code = add_step(t, slice_of(GPT2), false, SPLIT_ISOLATED, false, err);
    return code;
}

static int take_pre_tokenizer(void *context, const cJSON *item,
                              const char *type, struct err *err)
{
    struct pre *pre = context;
    if (pre->bytes)
        return err_set(err, ERR_FORMAT,
                       "the pre_tokenizer has \"%s\" after ByteLevel, which "
                       "is not supported",
                       type);
    if (!strcmp(type, "ByteLevel"))
        return take_bytes(pre, item, err);
    if (!strcmp(type, "Split"))
        return take_split(pre->tokenizer, item, err);
    if (!strcmp(type, "Digits")) {
        bool each = json_get_bool(item, "individual_digits", false);
        return add_step(pre->tokenizer, slice_of(each ? "\\p{N}" : "\\p{N}+"),
                        false, SPLIT_ISOLATED, false, err);
    }
    return not_supported(err, "pre_tokenizer", type);
}

/* ---- The model ---- */

static int check_model(const cJSON *model, struct err *err)
{
    static const char *const affixes[] = {"continuing_subword_prefix",
                                          "end_of_word_suffix"};
    const char *type = json_get_text(model, "type", "BPE");
    if (strcmp(type, "BPE") != 0)
        return not_supported(err, "model", type);
    if (!cJSON_IsObject(member(model, "vocab")) ||
        !cJSON_IsArray(member(model, "merges")))
        return err_set(err, ERR_FORMAT,
                       "the model has no \"vocab\" or no \"merges\"");
    for (size_t i = 0; i < sizeof affixes / sizeof affixes[0]; i++)
        if (json_get_text(model, affixes[i], "")[0])
            return not_supported(err, "model with", affixes[i]);
    if (json_get_double(model, "dropout", 0) > 0)
        return not_supported(err, "model with", "dropout");
    return 0;
}

/* One more than the largest id anywhere, 0 when an id is not one. */
static size_t count_ids(const cJSON *vocab, const cJSON *added)
{
    const cJSON *item;
    int32_t most = -1, id;
    cJSON_ArrayForEach (item, vocab) {
        if ((id = id_of(item)) < 0)
            return 0;
        most = id > most ? id : most;
    }
    cJSON_ArrayForEach (item, added) {
        if ((id = id_of(member(item, "id"))) < 0)
            return 0;
        most = id > most ? id : most;
    }
    return (size_t)(most + 1);
}

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

static int take_unknown(struct tokenizer *t, const cJSON *model,
                        struct err *err)
{
    const char *unknown = json_get_text(model, "unk_token", NULL);
    t->bpe.unknown = VOCABULARY_NONE;
    t->bpe.fuse_unknown = json_get_bool(model, "fuse_unk", false);
    t->bpe.ignore_merges = json_get_bool(model, "ignore_merges", false);
    if (unknown)
        t->bpe.unknown = vocabulary_find(&t->vocabulary, slice_of(unknown));
    if (!json_get_bool(model, "byte_fallback", false))
        return 0;
    for (size_t i = 0; i < 256; i++)
        if (t->vocabulary.byte[i] < 0)
            return not_supported(err, "model with", "byte_fallback");
    return 0;
}

static int take_model(struct tokenizer *t, const cJSON *model,
                      const cJSON *added, struct err *err)
{
    int code = check_model(model, err);
    if (code)
        return code;
    const cJSON *vocab = member(model, "vocab"), *item;
    const cJSON *merges = member(model, "merges");
    size_t count = count_ids(vocab, added);
    if (!count)
        return err_set(err, ERR_FORMAT,
                       "the vocabulary is empty or has an id that is not a "
                       "number in [0, %d)",
                       VOCABULARY_MOST);
    vocabulary_init(&t->vocabulary, count, (size_t)cJSON_GetArraySize(merges));
    cJSON_ArrayForEach (item, vocab) {
        code = vocabulary_add(&t->vocabulary, id_of(item),
                              slice_of(item->string), err);
        if (code)
            return code;
    }
    uint32_t rank = 0;
    cJSON_ArrayForEach (item, merges) {
        code = take_merge(&t->vocabulary, rank++, item, err);
        if (code)
            return code;
    }
    t->bpe.vocabulary = &t->vocabulary;
    return take_unknown(t, model, err);
}

/* ---- Added tokens ---- */

static int take_added(struct tokenizer *t, const cJSON *item, struct err *err)
{
    const char *content = json_get_text(item, "content", "");
    if (!content[0])
        return err_set(err, ERR_FORMAT, "an added token has no content");
    struct slice text = slice_of(content);
    bool special = json_get_bool(item, "special", false);
    bool normalised = json_get_bool(item, "normalized", !special);
    struct added_token token = {
        .text = text,
        .id = vocabulary_find(&t->vocabulary, text),
        .single_word = json_get_bool(item, "single_word", false),
        .left_strip = json_get_bool(item, "lstrip", false),
        .right_strip = json_get_bool(item, "rstrip", false),
    };
    if (token.id < 0)
        token.id = id_of(member(item, "id"));
    int code =
        vocabulary_add_whole(&t->vocabulary, token.id, text, special, err);
    if (code)
        return code;
    struct buf normal = {0};
    if (normalised)
        code = tokenizer_normalise(t, text, &normal, err);
    if (normalised)
        token.text = buf_slice(&normal);
    if (!code && token.text.size)
        added_put(normalised ? &t->normalised : &t->added, token);
    buf_free(&normal);
    return code;
}

/* ---- The post-processor ---- */

static int take_special(struct tokenizer *t, struct ids *to, const cJSON *id,
                        struct err *err)
{
    int32_t value = id_of(id);
    if (value < 0 || (size_t)value >= t->vocabulary.count)
        return err_set(err, ERR_FORMAT,
                       "the post_processor has an id that is no token's");
    ids_put(to, value);
    return 0;
}

static int take_template_token(struct tokenizer *t, struct ids *to,
                               const cJSON *specials, const char *name,
                               struct err *err)
{
    const cJSON *ids = member(member(specials, name), "ids"), *id;
    int code = 0;
    if (!cJSON_IsArray(ids))
        return err_set(err, ERR_FORMAT,
                       "the post_processor's template has \"%s\", which is "
                       "not among its special_tokens",
                       name);
    cJSON_ArrayForEach (id, ids) {
        code = take_special(t, to, id, err);
        if (code)
            break;
    }
    return code;
}

static int take_template(struct tokenizer *t, const cJSON *item,
                         struct err *err)
{
    const cJSON *piece, *specials = member(item, "special_tokens");
    bool text = false;
    int code = 0;
    cJSON_ArrayForEach (piece, member(item, "single")) {
        const char *name =
            json_get_text(member(piece, "SpecialToken"), "id", NULL);
        if (!name) {
            if (text || !member(piece, "Sequence"))
                break;
            text = true;
            continue;
        }
        code = take_template_token(t, text ? &t->after : &t->before, specials,
                                   name, err);
        if (code)
            return code;
    }
    if (piece || !text)
        return err_set(err, ERR_FORMAT,
                       "the post_processor's template for one text must have "
                       "it once");
    return 0;
}

static int take_pair(struct tokenizer *t, const cJSON *item, struct err *err)
{
    int code = take_special(t, &t->before,
                            cJSON_GetArrayItem(member(item, "cls"), 1), err);
    if (code)
        return code;
    return take_special(t, &t->after,
                        cJSON_GetArrayItem(member(item, "sep"), 1), err);
}

static int take_post(void *context, const cJSON *item, const char *type,
                     struct err *err)
{
    if (!strcmp(type, "ByteLevel"))
        return 0;
    if (!strcmp(type, "TemplateProcessing"))
        return take_template(context, item, err);
    if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
        return take_pair(context, item, err);
    return not_supported(err, "post_processor", type);
}

static int take_decoder(void *context, const cJSON *item, const char *type,
                        struct err *err)
{
    (void)context;
    (void)item;
    return strcmp(type, "ByteLevel") ? not_supported(err, "decoder", type) : 0;
}

/* ---- All together ---- */

static int take_all(struct tokenizer *t, const cJSON *root, struct err *err)
{
    const cJSON *model = member(root, "model"), *item;
    const cJSON *added = member(root, "added_tokens");
    struct pre pre = {t, false};
    int code = 0;
    if (!cJSON_IsObject(root) || !cJSON_IsObject(model))
        return err_set(err, ERR_FORMAT, "not a tokenizer: it has no \"model\"");
    if ((item = member(root, "normalizer")))
        code = for_each(item, "normalizers", "normalizer", t, take_normaliser,
                        err);
    if (!code && (item = member(root, "pre_tokenizer")))
        code = for_each(item, "pretokenizers", "pre_tokenizer", &pre,
                        take_pre_tokenizer, err);
    if (!code && (item = member(root, "decoder")))
        code = for_each(item, "decoders", "decoder", t, take_decoder, err);
    if (!code)
        code = take_model(t, model, added, err);
    if (!code && !pre.bytes)
        code = err_set(err, ERR_FORMAT,
                       "the pre_tokenizer has no ByteLevel: other kinds are "
                       "not supported");
    cJSON_ArrayForEach (item, added) {
        if (!code)
            code = take_added(t, item, err);
    }
    if (!code && (item = member(root, "post_processor")))
        code =
            for_each(item, "processors", "post_processor", t, take_post, err);
    added_seal(&t->added);
    added_seal(&t->normalised);
    return code;
}

int tokenizer_from(struct slice json, struct tokenizer **ret, struct err *err)
{
    cJSON *root;
    size_t well = utf8_well(json);
    if (well < json.size)
        return err_set(err, ERR_FORMAT, "not UTF-8 at byte %zu", well);
    int code = json_parse(json, &root, err);
    if (code)
        return code;
    struct tokenizer *tokenizer = mem_alloc(sizeof *tokenizer);
    tokenizer->hash = hash_bytes(json.data, json.size);
    code = take_all(tokenizer, root, err);
    cJSON_Delete(root);
    if (code)
        tokenizer_close(tokenizer);
    else
        *ret = tokenizer;
    return code;
}

int tokenizer_open(const char *path, struct tokenizer **ret, struct err *err)
{
    struct buf json = {0};
    int code = file_read(path, MOST_FILE, &json, err);
    if (!code)
        code = tokenizer_from(buf_slice(&json), ret, err);
    if (code && err)
        err_at(err, path);
    buf_free(&json);
    return code;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    vocabulary_free(&tokenizer->vocabulary);
    added_free(&tokenizer->added);
    added_free(&tokenizer->normalised);
    for (size_t i = 0; i < tokenizer->step_count; i++)
        pattern_free(tokenizer->steps[i].pattern);
    ids_free(&tokenizer->before);
    ids_free(&tokenizer->after);
    free(tokenizer);
}
