/* tokenizer.json, as far as it is supported:
 *
 *   added_tokens    [{id, content, single_word, lstrip, rstrip, normalized,
 *                     special}, ...]
 *   normalizer      null | NFC | NFD | NFKC | NFKD | Lowercase | StripAccents |
 *                   Strip | Prepend | Replace | Nmt | Precompiled |
 *                   BertNormalizer | Sequence of these
 *   pre_tokenizer   null | ByteLevel (the last) | Split | Digits | Metaspace |
 *                   BertPreTokenizer | Whitespace | WhitespaceSplit |
 *                   Punctuation | Sequence of these
 *   model           BPE {vocab: {token: id}, merges: ["a b"] or [["a", "b"]],
 *                     unk_token, fuse_unk, ignore_merges, byte_fallback} |
 *                   WordPiece {vocab, unk_token, continuing_subword_prefix,
 *                     max_input_chars_per_word} |
 *                   Unigram {vocab: [[token, score]], unk_id, byte_fallback}
 *   post_processor  null | ByteLevel | TemplateProcessing | BertProcessing |
 *                   RobertaProcessing | Sequence of these
 *   decoder         null | ByteLevel | WordPiece | Metaspace | Replace |
 *                   ByteFallback | Fuse | Strip | Sequence of these */
#include "model/tokenizer/tokenizer_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/json_members.h"
#include "model/tokenizer/utf8.h"

enum { MAX_FILE = 256 << 20, MAX_SPECIAL = 64 /* before a text, or after */ };

int32_t tokenizer_id_of(const cJSON *item)
{
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0 && value < VOCABULARY_MAX))
        return -1;
    int32_t id = (int32_t)value;
    return (double)id != value ? -1 : id;
}

int tokenizer_not_supported(struct err *err, const char *part, const char *type)
{
    return err_set(err, ERR_FORMAT, "the %s \"%s\" is not supported", part,
                   type);
}

int tokenizer_for_each(const cJSON *item, const char *list, const char *part,
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
    const cJSON *items = member_find(item, list);
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
        token.id = tokenizer_id_of(member_find(item, "id"));
    int code =
        vocabulary_add_whole(&t->vocabulary, token.id, text, special, err);
    if (code)
        return code;
    struct buf normal = {0};
    if (normalised)
        buf_put_slice(&normal, text);
    if (normalised)
        code = normaliser_run(&t->normaliser, &normal, NULL, err);
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
    int32_t value = tokenizer_id_of(id);
    if (value < 0 || (size_t)value >= t->vocabulary.count)
        return err_set(err, ERR_FORMAT,
                       "the post_processor has an id that is no token's");
    if (to->count == MAX_SPECIAL)
        return err_set(err, ERR_LIMIT,
                       "the post_processor adds more than %d tokens",
                       MAX_SPECIAL);
    ids_put(to, value);
    return 0;
}

static int take_template_token(struct tokenizer *t, struct ids *to,
                               const cJSON *specials, const char *name,
                               struct err *err)
{
    const cJSON *ids = member_find(member_find(specials, name), "ids"), *id;
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
    const cJSON *piece, *specials = member_find(item, "special_tokens");
    bool text = false;
    int code = 0;
    cJSON_ArrayForEach (piece, member_find(item, "single")) {
        const char *name =
            json_get_text(member_find(piece, "SpecialToken"), "id", NULL);
        if (!name) {
            if (text || !member_find(piece, "Sequence"))
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
    int code = take_special(
        t, &t->before, cJSON_GetArrayItem(member_find(item, "cls"), 1), err);
    if (code)
        return code;
    return take_special(t, &t->after,
                        cJSON_GetArrayItem(member_find(item, "sep"), 1), err);
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
    return tokenizer_not_supported(err, "post_processor", type);
}

/* ---- The decoder ---- */

static int take_replaced(struct decoder *d, const char *from, const char *to,
                         struct err *err)
{
    if (d->replaced)
        return tokenizer_not_supported(err, "decoder with", "two replacements");
    if (!from || !from[0])
        return tokenizer_not_supported(err, "decoder Replace without",
                                       "a text");
    if (strlen(to) > DECODER_MAX_BY)
        return tokenizer_not_supported(err, "decoder Replace by", to);
    d->replaced = mem_strdup(from);
    d->by = mem_strdup(to);
    return 0;
}

static int take_metaspace(struct decoder *d, const cJSON *item, struct err *err)
{
    bool old = json_get_bool(item, "add_prefix_space", true);
    const char *scheme =
        json_get_text(item, "prepend_scheme", old ? "always" : "never");
    d->drops = strcmp(scheme, "never") != 0;
    return take_replaced(d, json_get_text(item, "replacement", "\xE2\x96\x81"),
                         " ", err);
}

static int take_strip(struct decoder *d, const cJSON *item, struct err *err)
{
    if (strcmp(json_get_text(item, "content", ""), " ") != 0 ||
        json_get_int(item, "stop", 0) != 0)
        return tokenizer_not_supported(err, "decoder Strip of",
                                       "more than spaces at the start");
    return member_size(item, "start", 0, 1 << 20, 0, &d->strip, err);
}

static int take_wordpiece(struct tokenizer *t, const cJSON *item,
                          struct err *err)
{
    const char *prefix = json_get_text(item, "prefix", "##");
    if (!slice_is(buf_slice(&t->vocabulary.inside), prefix))
        return tokenizer_not_supported(err, "decoder WordPiece's prefix",
                                       prefix);
    t->decoder.joins = true;
    t->decoder.cleans = json_get_bool(item, "cleanup", true);
    return 0;
}

static int take_decoder(void *context, const cJSON *item, const char *type,
                        struct err *err)
{
    struct tokenizer *t = context;
    struct decoder *d = &t->decoder;
    if (t->byte_level != !strcmp(type, "ByteLevel"))
        return tokenizer_not_supported(
            err, t->byte_level ? "decoder of ByteLevel" : "decoder", type);
    d->bytes = d->bytes || !strcmp(type, "ByteFallback");
    if (!strcmp(type, "ByteLevel") || !strcmp(type, "Fuse") ||
        !strcmp(type, "ByteFallback"))
        return 0;
    if (!strcmp(type, "WordPiece"))
        return take_wordpiece(t, item, err);
    if (!strcmp(type, "Metaspace"))
        return take_metaspace(d, item, err);
    if (!strcmp(type, "Strip"))
        return take_strip(d, item, err);
    if (!strcmp(type, "Replace"))
        return take_replaced(
            d, json_get_text(member_find(item, "pattern"), "String", NULL),
            json_get_text(item, "content", ""), err);
    return tokenizer_not_supported(err, "decoder", type);
}

/* Without one the tokens stand beside one another, with a space between. */
static int take_decoders(struct tokenizer *t, const cJSON *item,
                         struct err *err)
{
    t->decoder.joins = !item;
    if (!item)
        return 0;
    return tokenizer_for_each(item, "decoders", "decoder", t, take_decoder,
                              err);
}

/* ---- All together ---- */

static int take_added_tokens(struct tokenizer *t, const cJSON *added,
                             struct err *err)
{
    const cJSON *item;
    int code = 0;
    cJSON_ArrayForEach (item, added)
        if (!code)
            code = take_added(t, item, err);
    added_seal(&t->added);
    added_seal(&t->normalised);
    return code;
}

static int take_all(struct tokenizer *t, const cJSON *root, struct err *err)
{
    const cJSON *model = member_find(root, "model"), *item;
    const cJSON *added = member_find(root, "added_tokens");
    int code = 0;
    if (!cJSON_IsObject(root) || !cJSON_IsObject(model))
        return err_set(err, ERR_FORMAT, "not a tokenizer: it has no \"model\"");
    if ((item = member_find(root, "normalizer")))
        code = tokenizer_take_normaliser(t, item, err);
    if (!code && (item = member_find(root, "pre_tokenizer")))
        code = tokenizer_take_splits(t, item, err);
    if (!code)
        code = tokenizer_take_model(t, model, added, err);
    if (!code)
        code = take_added_tokens(t, added, err);
    if (!code && (item = member_find(root, "post_processor")))
        code = tokenizer_for_each(item, "processors", "post_processor", t,
                                  take_post, err);
    if (!code)
        code = take_decoders(t, member_find(root, "decoder"), err);
    if (!code && !t->byte_level)
        code = decoder_seal(&t->decoder, &t->vocabulary, err);
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
    int code = file_read(path, MAX_FILE, &json, err);
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
    bpe_free(&tokenizer->bpe);
    unigram_free(&tokenizer->unigram);
    normaliser_free(&tokenizer->normaliser);
    decoder_free(&tokenizer->decoder);
    added_free(&tokenizer->added);
    added_free(&tokenizer->normalised);
    for (size_t i = 0; i < tokenizer->step_count; i++)
        pattern_free(tokenizer->steps[i].pattern);
    ids_free(&tokenizer->before);
    ids_free(&tokenizer->after);
    free(tokenizer);
}
