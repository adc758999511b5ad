/* The tokenizer in a GGUF file's metadata:
 *
 *   tokenizer.ggml.model          gpt2: BPE of bytes
 *   tokenizer.ggml.pre            how text is cut into pieces: pre_kinds
 *   tokenizer.ggml.tokens         [text] in GPT-2's alphabet
 *   tokenizer.ggml.token_type     [number] enum token_kind of each
 *   tokenizer.ggml.merges         ["a b"], the first before all others
 *   tokenizer.ggml.add_bos_token, add_eos_token, bos_token_id, eos_token_id
 *
 * Texts are not normalised, as llama.cpp does not. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/tokenizer/tokenizer_internal.h"
#include "model/tokenizer/utf8.h"

enum token_kind { KIND_NORMAL = 1, KIND_CONTROL = 3, KIND_USER = 4 };

#define PREFIX "tokenizer.ggml."

/* ---- How text is cut ---- */

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

static const struct gguf_value *find(const struct gguf *gguf, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, PREFIX "%s", name);
    return gguf_find(gguf, key);
}

static int refuse(const struct gguf *gguf, const char *name, struct err *err)
{
    const struct gguf_value *v = find(gguf, name);
    struct slice text = {"", 0};
    if (!v || !gguf_text(v, &text))
        return err_set(err, ERR_FORMAT, "there is no " PREFIX "%s", name);
    return err_set(err, ERR_FORMAT, PREFIX "%s \"%.*s\" is not supported", name,
                   text.size < 60 ? (int)text.size : 60, text.data);
}

static int take_pre(struct tokenizer *t, const struct gguf *gguf,
                    const struct pre_kind **ret, struct err *err)
{
    const struct gguf_value *v = find(gguf, "pre");
    struct slice name = {"", 0};
    size_t count = sizeof pre_kinds / sizeof pre_kinds[0], i = 0;
    int code = 0;
    if (v && !gguf_text(v, &name))
        return refuse(gguf, "pre", err);
    while (i < count && !slice_is(name, pre_kinds[i].name))
        i++;
    if (i == count)
        return refuse(gguf, "pre", err);
    *ret = &pre_kinds[i];
    for (size_t p = 0; p < 2 && pre_kinds[i].patterns[p] && !code; p++)
        code = tokenizer_add_split(t, pre_kinds[i].patterns[p], false,
                                   SPLIT_ISOLATED, err);
    return code;
}

/* ---- The vocabulary ---- */

static int kind_of(const struct gguf_value *kinds, size_t id)
{
    double kind = KIND_NORMAL;
    if (kinds)
        gguf_number(kinds, id, &kind);
    return kind >= 0 && kind < 16 ? (int)kind : KIND_NORMAL;
}

/* A token that is never made of text by merges is found as a whole. */
static int take_token(struct tokenizer *t, int32_t id, struct slice text,
                      int kind, struct err *err)
{
    bool whole = kind == KIND_CONTROL || kind == KIND_USER;
    if (utf8_well(text) < text.size)
        return err_set(err, ERR_FORMAT, "token %d is not UTF-8", (int)id);
    int code = vocabulary_add(&t->vocabulary, id, text, err);
    if (code || !whole || !text.size)
        return code;
    added_put(&t->added, (struct added_token){.text = text, .id = id});
    return vocabulary_add_whole(&t->vocabulary, id, text, kind == KIND_CONTROL,
                                err);
}

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
    const struct gguf_value *tokens = find(gguf, "tokens");
    const struct gguf_value *merges = find(gguf, "merges");
    const struct gguf_value *kinds = find(gguf, "token_type");
    struct slice text;
    size_t at = 0;
    int code = 0;
    if (!tokens || tokens->type != GGUF_TEXT || !tokens->count)
        return err_set(err, ERR_FORMAT, "there are no " PREFIX "tokens");
    if (!merges || merges->type != GGUF_TEXT)
        return err_set(err, ERR_FORMAT, "there are no " PREFIX "merges");
    if (tokens->count > VOCABULARY_MAX || merges->count > VOCABULARY_MAX)
        return err_set(err, ERR_LIMIT, "more than %d tokens or merges",
                       VOCABULARY_MAX);
    vocabulary_init(&t->vocabulary, (size_t)tokens->count,
                    (size_t)merges->count, false, (struct slice){"", 0});
    for (int32_t id = 0; !code && gguf_next_text(tokens, &at, &text); id++)
        code = take_token(t, id, text, kind_of(kinds, (size_t)id), err);
    at = 0;
    for (uint32_t rank = 0; !code && gguf_next_text(merges, &at, &text); rank++)
        code = take_merge(&t->vocabulary, rank, text, err);
    added_seal(&t->added);
    added_seal(&t->normalised);
    return code;
}

/* ---- What is put around a text ---- */

static int take_around(struct tokenizer *t, const struct gguf *gguf,
                       const char *wanted, const char *which, bool absent,
                       struct ids *to, struct err *err)
{
    const struct gguf_value *v = find(gguf, wanted);
    bool on = absent;
    double id = -1;
    if (v && !gguf_bool(v, &on))
        return err_set(err, ERR_FORMAT, PREFIX "%s is no bool", wanted);
    if (!on)
        return 0;
    v = find(gguf, which);
    if (!v || !gguf_number(v, 0, &id) || !(id >= 0) ||
        !(id < (double)t->vocabulary.count) || id != (double)(int32_t)id)
        return err_set(err, ERR_FORMAT, PREFIX "%s is no token's", which);
    ids_put(to, (int32_t)id);
    return 0;
}

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
    const struct gguf_value *model = find(gguf, "model");
    const struct pre_kind *pre = NULL;
    struct slice name;
    if (!model || !gguf_text(model, &name) || !slice_is(name, "gpt2"))
        return refuse(gguf, "model", err);
    t->byte_level = true;
    t->model = TOKENIZER_BPE;
    int code = take_pre(t, gguf, &pre, err);
    if (!code)
        code = take_vocabulary(t, gguf, err);
    if (!code)
        code = take_around(t, gguf, "add_bos_token", "bos_token_id", pre->bos,
                           &t->before, err);
    if (!code)
        code = take_around(t, gguf, "add_eos_token", "eos_token_id", false,
                           &t->after, err);
    if (code)
        return code;
    t->bpe = (struct bpe){.vocabulary = &t->vocabulary,
                          .unknown = VOCABULARY_NONE,
                          .ignore_merges = pre->ignore_merges};
    bpe_seal(&t->bpe);
    return 0;
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
