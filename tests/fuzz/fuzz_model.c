/* Fuzz target: any bytes as a config.json, and what follows their first NUL as a
 * safetensors file.  What is taken for a config must be one that can run; the
 * numbers of arrays, of int8 and f16 too, are all read. */
#include <math.h>
#include <string.h>

#include "base/safetensors.h"
#include "model/weights/model_config.h"
#include "model/weights/weights_internal.h"
#include "tests/fuzz/fuzz.h"

static void read_config(struct slice text)
{
    struct model_config c = {0};
    struct err err = {.position = -1};
    double frequencies[1 << 12];
    if (model_config_from(text, (struct slice){"", 0}, &c, &err)) {
        CHECK(err.message[0] && !c.window);
        return;
    }
    CHECK(c.architecture && c.layers && c.heads && c.head && c.width);
    CHECK(c.memory_layers && c.memory_layers <= c.layers);
    CHECK(c.heads % c.key_heads == 0 && c.context && c.max <= c.context);
    for (size_t i = 0; i < 2 && c.architecture->positions == POSITIONS_ROTARY;
         i++) {
        CHECK(c.head % 2 == 0 && c.head / 2 <= 1 << 12);
        rotary_frequencies(&c.rotary[i], c.head, frequencies);
    }
    for (size_t i = 0; i < c.layers; i++)
        CHECK(config_rotary(&c, i) < 2 &&
              !(hils_layer(&c.attention, i) && c.window[i]));
    if (c.attention.kind == ATTENTION_HILS)
        CHECK(c.attention.hils.chunk >= 2 && c.attention.hils.window &&
              c.attention.hils.top_k);
    model_config_free(&c);
}

/* An int8 number is its integer, an f16 one at most 65504, or infinite. */
static void read_numbers(const struct tensor *t)
{
    float numbers[64];
    size_t count = tensor_values(t);
    if (!tensor_is_float(t) && t->type != TENSOR_I8)
        return;
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < 64 ? count - at : 64;
        tensor_floats(t, at, some, numbers);
        for (size_t i = 0; i < some; i++)
            CHECK(t->type == TENSOR_I8 ? fabsf(numbers[i]) <= 128
                  : t->type == TENSOR_F16
                      ? !(fabsf(numbers[i]) > 65504) || isinf(numbers[i])
                      : true);
    }
}

static void read_tensors(struct slice bytes)
{
    struct safetensors *file = NULL;
    struct err err = {.position = -1};
    if (safetensors_over(bytes, &file, &err)) {
        CHECK(!file);
        return;
    }
    const char *end = bytes.data + bytes.size;
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor *t = safetensors_at(file, i);
        const char *data = t->data;
        CHECK(!t->bytes || (data >= bytes.data && data <= end &&
                            t->bytes <= (size_t)(end - data)));
        read_numbers(t);
    }
    safetensors_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t end = size ? strnlen(text, size) : 0;
    read_config((struct slice){text, end});
    if (end < size)
        read_tensors((struct slice){text + end + 1, size - end - 1});
    return 0;
}
