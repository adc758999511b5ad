/* The tokenizer in a GGUF file's metadata, all that is common to its kinds, and
 * BPE of bytes; tokenizer_gguf_internal.h lists the keys. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/tokenizer/tokenizer_gguf_internal.h"
#include "model/tokenizer/utf8.h"

#define PREFIX GGUF_TOKENIZER

/* ---- What all kinds read ---- */

const struct gguf_value *gguf_tokenizer_find(const struct gguf *gguf,
                                             const char *name)
{
    char key[64];
    snprintf(key, sizeof key, PREFIX "%s", name);
    return gguf_find(gguf, key);
}

int gguf_tokenizer_refuse(const struct gguf *gguf, const char *name,
                          struct err *err)
{
    const struct gguf_value *v = gguf_tokenizer_find(gguf, name);
    struct slice text = {"", 0};
    if (!v || !gguf_text(v, &text))
        return err_set(err, ERR_FORMAT, "there is no " PREFIX "%s", name);
    return err_set(err, ERR_FORMAT, PREFIX "%s \"%.*s\" is not supported", name,
                   text.size < 60 ? (int)text.size : 60, text.data);
}

int gguf_tokenizer_kind(const struct gguf *gguf, size_t id)
{
    const struct gguf_value *kinds = gguf_tokenizer_find(gguf, "token_type");
    double kind = KIND_NORMAL;
    if (kinds)
        gguf_number(kinds, id, &kind);
    return kind >= 0 && kind < 16 ? (int)kind : KIND_NORMAL;
}

/* A token that is never made of text by the model is found as a whole. */
static int take_token(struct tokenizer *t, int32_t id, struct slice text,
                      int kind, struct err *err)
{
    bool special = kind == KIND_CONTROL || kind == KIND_UNKNOWN;
    if (utf8_well(text) < text.size)
        return err_set(err, ERR_FORMAT, "token %d is not UTF-8", (int)id);
    int code = vocabulary_add(&t->vocabulary, id, text, err);
    if (code || !(special || kind == KIND_USER) || !text.size)
        return code;
    added_put(&t->added, (struct added_token){.text = text, .id = id});
    return vocabulary_add_whole(&t->vocabulary, id, text, special, err);
}

int gguf_tokenizer_tokens(struct tokenizer *t, const struct gguf *gguf,
                          size_t merges, const char *inside,
                          gguf_tokenizer_write *write, struct err *err)
{
    const struct gguf_value *tokens = gguf_tokenizer_find(gguf, "tokens");
    struct buf written = {0};
    struct slice text;
    size_t at = 0;
    int code = 0;
    if (!tokens || tokens->type != GGUF_TEXT || !tokens->count)
        return err_set(err, ERR_FORMAT, "there are no " PREFIX "tokens");
    if (tokens->count > VOCABULARY_MAX)
        return err_set(err, ERR_LIMIT, "more than %d tokens", VOCABULARY_MAX);
    vocabulary_init(&t->vocabulary, (size_t)tokens->count, merges,
                    !t->byte_level, slice_of(inside));
    for (int32_t id = 0; !code && gguf_next_text(tokens, &at, &text); id++) {
        int kind = gguf_tokenizer_kind(gguf, (size_t)id);
        buf_clear(&written);
        if (write) {
            write(text, kind, &written);
            text = buf_slice(&written);
        }
        code = take_token(t, id, text, kind, err);
    }
    buf_free(&written);
    added_seal(&t->added);
    added_seal(&t->normalised);
    return code;
}

int gguf_tokenizer_flag(const struct gguf *gguf, const char *name, bool *ret,
                        struct err *err)
{
    const struct gguf_value *v = gguf_tokenizer_find(gguf, name);
    if (v && !gguf_bool(v, ret))
        return err_set(err, ERR_FORMAT, PREFIX "%s is no bool", name);
    return 0;
}

int gguf_tokenizer_id(const struct tokenizer *t, const struct gguf *gguf,
                      const char *name, int32_t *ret, struct err *err)
{
    const struct gguf_value *v = gguf_tokenizer_find(gguf, name);
    double id = -1;
    if (!v)
        return 0;
    if (!gguf_number(v, 0, &id) || !(id >= 0) ||
        !(id < (double)t->vocabulary.count) || id != (double)(int32_t)id)
        return err_set(err, ERR_FORMAT, PREFIX "%s is no token's", name);
    *ret = (int32_t)id;
    return 0;
}

/* `absent`: whether it is put where the file does not say. */
static int take_around(struct tokenizer *t, const struct gguf *gguf,
                       const char *wanted, const char *which, bool absent,
                       struct ids *to, struct err *err)
{
    bool on = absent;
    int32_t id = VOCABULARY_NONE;
    int code = gguf_tokenizer_flag(gguf, wanted, &on, err);
    if (code || !on)
        return code;
    code = gguf_tokenizer_id(t, gguf, which, &id, err);
    if (!code && id < 0)
        code = err_set(err, ERR_FORMAT, PREFIX "%s is no token's", which);
    if (!code)
        ids_put(to, id);
    return code;
}

int gguf_tokenizer_around(struct tokenizer *t, const struct gguf *gguf,
                          bool bos, bool eos, struct err *err)
{
    int code = take_around(t, gguf, "add_bos_token", "bos_token_id", bos,
                           &t->before, err);
    return code ? code
                : take_around(t, gguf, "add_eos_token", "eos_token_id", eos,
                              &t->after, err);
}

/* ---- BPE of bytes: how text is cut ---- */

#define ENDINGS "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|"
#define WORDS   "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define OTHERS  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const char llama3[] = ENDINGS WORDS "\\p{N}{1,3}" OTHERS;
static const char qwen2[] = ENDINGS WORDS "\\p{N}" OTHERS;
static const char digits[] = "\\p{N}";

static const struct pre_kind {
    const char *name;
    const char *patterns[2]; /* one after the other */
    bool ignore_merges;      /* a piece that is a token is that token */
    bool bos;                /* one goes before, unless the file says else */
} pre_kinds[] = {
    {"gpt-2", {tokenizer_gpt2}, false, false},
    {"llama-bpe", {llama3}, true, true},
    {"llama3", {llama3}, true, true},
    {"llama-v3", {llama3}, true, true},
    {"qwen2", {qwen2}, false, false},
    {"deepseek-r1-qwen", {qwen2}, false, false},
    {"smollm", {digits, tokenizer_gpt2}, false, false},
    {"starcoder", {digits, tokenizer_gpt2}, false, false},
    {"refact", {digits, tokenizer_gpt2}, false, false},
    {"command-r", {digits, tokenizer_gpt2}, false, false},
};

static int take_pre(struct tokenizer *t, const struct gguf *gguf,
                    const struct pre_kind **ret, struct err *err)
{
    const struct gguf_value *v = gguf_tokenizer_find(gguf, "pre");
    struct slice name = {"", 0};
    size_t count = sizeof pre_kinds / sizeof pre_kinds[0], i = 0;
    int code = 0;
    if (v && !gguf_text(v, &name))
        return gguf_tokenizer_refuse(gguf, "pre", err);
    while (i < count && !slice_is(name, pre_kinds[i].name))
        i++;
    if (i == count)
        return gguf_tokenizer_refuse(gguf, "pre", err);
    *ret = &pre_kinds[i];
    for (size_t p = 0; p < 2 && pre_kinds[i].patterns[p] && !code; p++)
        code = tokenizer_add_split(t, pre_kinds[i].patterns[p], false,
                                   SPLIT_ISOLATED, err);
    return code;
}

/* ---- Its merges ---- */

static int take_merge(struct vocabulary *v, uint32_t rank, struct slice text,
                      struct err *err)
{
    const char *space = memchr(text.data, ' ', text.size);
    if (!space)
        return err_set(err, ERR_FORMAT, "merge %u is not two tokens",
                       (unsigned)rank);
    size_t left = (size_t)(space - text.data);
    return vocabulary_add_merge(v, rank, (struct slice){text.data, left},
                                (struct slice){space + 1, text.size - left - 1},
                                err);
}

static int take_vocabulary(struct tokenizer *t, const struct gguf *gguf,
                           struct err *err)
{
    const struct gguf_value *merges = gguf_tokenizer_find(gguf, "merges");
    struct slice text;
    size_t at = 0;
    if (!merges || merges->type != GGUF_TEXT)
        return err_set(err, ERR_FORMAT, "there are no " PREFIX "merges");
    if (merges->count > VOCABULARY_MAX)
        return err_set(err, ERR_LIMIT, "more than %d merges", VOCABULARY_MAX);
    int code =
        gguf_tokenizer_tokens(t, gguf, (size_t)merges->count, "", NULL, err);
    for (uint32_t rank = 0; !code && gguf_next_text(merges, &at, &text); rank++)
        code = take_merge(&t->vocabulary, rank, text, err);
    return code;
}

static int take_bytes(struct tokenizer *t, const struct gguf *gguf,
                      struct err *err)
{
    const struct pre_kind *pre = NULL;
    t->byte_level = true;
    t->model = TOKENIZER_BPE;
    int code = take_pre(t, gguf, &pre, err);
    if (!code)
        code = take_vocabulary(t, gguf, err);
    if (!code)
        code = gguf_tokenizer_around(t, gguf, pre->bos, false, err);
    if (code)
        return code;
    t->bpe = (struct bpe){.vocabulary = &t->vocabulary,
                          .unknown = VOCABULARY_NONE,
                          .ignore_merges = pre->ignore_merges};
    bpe_seal(&t->bpe);
    return 0;
}

/* ---- All ---- */

/* All that is read, and so all that an id depends on. */
static struct hash128 hash_of(const struct gguf *gguf)
{
    struct buf all = {0};
    for (size_t i = 0; i < gguf_value_count(gguf); i++) {
        const struct gguf_value *v = gguf_value_at(gguf, i);
        unsigned char bytes[16];
        if (!slice_starts(v->key, slice_of(PREFIX)))
            continue;
        hash_write(hash_bytes(v->bytes.data, v->bytes.size), bytes);
        buf_put_slice(&all, v->key);
        buf_put(&all, bytes, sizeof bytes);
    }
    struct hash128 hash = hash_bytes(buf_slice(&all).data, all.size);
    buf_free(&all);
    return hash;
}

static int take_all(struct tokenizer *t, const struct gguf *gguf,
                    struct err *err)
{
    static const struct {
        const char *name;
        int (*take)(struct tokenizer *t, const struct gguf *gguf,
                    struct err *err);
    } kinds[] = {
        {"gpt2", take_bytes},
        {"bert", gguf_tokenizer_wordpiece},
        {"llama", gguf_tokenizer_sentencepiece},
        {"t5", gguf_tokenizer_unigram},
    };
    const struct gguf_value *model = gguf_tokenizer_find(gguf, "model");
    struct slice name = {"", 0};
    int code = 0;
    if (!model || !gguf_text(model, &name))
        return gguf_tokenizer_refuse(gguf, "model", err);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!slice_is(name, kinds[i].name))
            continue;
        code = kinds[i].take(t, gguf, err);
        if (!code && !t->byte_level)
            code = decoder_seal(&t->decoder, &t->vocabulary, err);
        return code;
    }
    return gguf_tokenizer_refuse(gguf, "model", err);
}

int tokenizer_of_gguf(const struct gguf *gguf, struct tokenizer **ret,
                      struct err *err)
{
    struct tokenizer *tokenizer = mem_alloc(sizeof *tokenizer);
    int code = take_all(tokenizer, gguf, err);
    tokenizer->hash = hash_of(gguf);
    if (code)
        tokenizer_close(tokenizer);
    else
        *ret = tokenizer;
    return code;
}
