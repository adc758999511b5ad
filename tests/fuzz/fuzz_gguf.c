/* Fuzz target: any bytes as a GGUF file.  What is read lies within it; what is
 * taken for a configuration can run, what is taken for a tokenizer reads text. */
#include "base/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "model/weights/gguf_config.h"
#include "tests/fuzz/fuzz.h"

static void check_within(struct slice bytes, const void *from, size_t size)
{
    const char *at = from;
    CHECK(at >= bytes.data && at <= bytes.data + bytes.size &&
          size <= (size_t)(bytes.data + bytes.size - at));
}

static void read_value(struct slice bytes, const struct gguf_value *v)
{
    struct slice text;
    size_t at = 0;
    uint64_t texts = 0;
    double number;
    bool on;
    check_within(bytes, v->bytes.data, v->bytes.size);
    while (gguf_next_text(v, &at, &text)) {
        check_within(bytes, text.data, text.size);
        texts++;
    }
    CHECK(v->type != GGUF_TEXT || texts == v->count);
    CHECK(!gguf_number(v, v->count, &number));
    CHECK(!v->count || gguf_number(v, v->count - 1, &number) +
                               gguf_bool(v, &on) + (texts > 0) <=
                           1);
}

static void read_tensors(struct slice bytes, const struct gguf *file)
{
    const char *end = bytes.data;
    for (size_t i = 0; i < gguf_count(file); i++) {
        const struct tensor *t = gguf_at(file, i);
        check_within(bytes, t->data, t->bytes);
        CHECK((const char *)t->data >= end && t->type != TENSOR_OTHER);
        end = (const char *)t->data + t->bytes;
    }
}

static void read_text(const struct tokenizer *tokenizer)
{
    static const char text[] = " Hello,  w\xC3\xB6rld 123 \xE4\xB8\xAD\n\xFF";
    struct ids ids = {0};
    struct buf back = {0};
    if (!tokenizer_encode(tokenizer, slice_of(text), true, &ids, NULL))
        for (size_t i = 0; i < ids.count; i++)
            CHECK(ids.items[i] >= 0 &&
                  (size_t)ids.items[i] < tokenizer_count(tokenizer));
    tokenizer_decode(tokenizer, ids.items, ids.count, true, &back);
    ids_free(&ids);
    buf_free(&back);
}

static void read_model(const struct gguf *file)
{
    struct model_config config = {0};
    struct tokenizer *tokenizer = NULL;
    struct err err = {.position = -1};
    if (!gguf_config_from(file, &config, &err)) {
        CHECK(config.layers && config.heads && config.head && config.names);
        CHECK(config.heads % config.key_heads == 0);
        model_config_free(&config);
    } else {
        CHECK(err.message[0]);
    }
    if (!tokenizer_of_gguf(file, &tokenizer, &err)) {
        read_text(tokenizer);
        tokenizer_close(tokenizer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = {(const char *)data, size};
    struct err err = {.position = -1};
    struct gguf *file = NULL;
    if (gguf_over(bytes, &file, &err)) {
        CHECK(!file && err.message[0]);
        return 0;
    }
    for (size_t i = 0; i < gguf_value_count(file); i++)
        read_value(bytes, gguf_value_at(file, i));
    read_tensors(bytes, file);
    read_model(file);
    gguf_close(file);
    return 0;
}
