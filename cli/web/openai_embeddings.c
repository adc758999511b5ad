#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "cli/web/openai.h"
#include "cli/web/web_reply.h"

/* What is kept until the vectors come. */
struct asked {
    bool base64;
};

static void put_texts(struct json *params, const cJSON *input)
{
    const cJSON *text;
    json_begin(params, '{');
    json_key(params, "texts");
    json_begin(params, '[');
    if (cJSON_IsString(input))
        json_text(params, input->valuestring);
    else
        cJSON_ArrayForEach (text, input)
            json_text(params, cJSON_GetStringValue(text));
    json_end(params, ']');
    json_end(params, '}');
}

/* ---- Vectors ---- */

static void put_base64(struct buf *out, const unsigned char *bytes, size_t size)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t some = size - i < 3 ? size - i : 3;
        unsigned bits = (unsigned)bytes[i] << 16;
        bits |= some > 1 ? (unsigned)bytes[i + 1] << 8 : 0;
        bits |= some > 2 ? bytes[i + 2] : 0;
        for (size_t n = 0; n < 4; n++)
            buf_put_byte(out,
                         n > some ? '=' : digits[bits >> (18 - 6 * n) & 63]);
    }
}

/* Its numbers as they lie in memory, of 32 bits, the lowest byte first. */
static void put_packed(struct json *json, const cJSON *vector)
{
    struct buf bytes = {0}, text = {0};
    const cJSON *one;
    cJSON_ArrayForEach (one, vector) {
        float value = (float)one->valuedouble;
        uint32_t word;
        memcpy(&word, &value, sizeof word);
        word = htole32(word);
        buf_put(&bytes, &word, sizeof word);
    }
    put_base64(&text, (const unsigned char *)buf_slice(&bytes).data,
               bytes.size);
    json_string(json, buf_slice(&text));
    buf_free(&bytes);
    buf_free(&text);
}

static void put_numbers(struct json *json, const cJSON *vector)
{
    char *numbers = cJSON_PrintUnformatted(vector);
    json_raw(json, slice_of(numbers));
    cJSON_free(numbers);
}

static void put_vector(struct json *json, const cJSON *vector, int64_t index,
                       bool base64)
{
    json_begin(json, '{');
    json_field_text(json, "object", "embedding");
    json_field_int(json, "index", index);
    json_key(json, "embedding");
    if (base64)
        put_packed(json, vector);
    else
        put_numbers(json, vector);
    json_end(json, '}');
}

static void put_list(void *state, const cJSON *result, struct buf *out)
{
    struct json json = json_to(out);
    const cJSON *vector;
    const struct asked *asked = state;
    int64_t index = 0, tokens = json_get_int(result, "tokens", 0);
    json_begin(&json, '{');
    json_field_text(&json, "object", "list");
    json_field_text(&json, "model", json_get_text(result, "model", ""));
    json_key(&json, "data");
    json_begin(&json, '[');
    cJSON_ArrayForEach (vector,
                        cJSON_GetObjectItemCaseSensitive(result, "vectors"))
        put_vector(&json, vector, index++, asked->base64);
    json_end(&json, ']');
    json_key(&json, "usage");
    json_begin(&json, '{');
    json_field_int(&json, "prompt_tokens", tokens);
    json_field_int(&json, "total_tokens", tokens);
    json_end(&json, '}');
    json_end(&json, '}');
}

/* Some clients ask for base64 unless they are told otherwise, and take for it whatever
 * comes. */
static int read_format(const cJSON *body, bool *ret_base64, struct err *err)
{
    const cJSON *format =
        cJSON_GetObjectItemCaseSensitive(body, "encoding_format");
    const char *name = format && !cJSON_IsNull(format)
                           ? json_get_text(body, "encoding_format", "")
                           : "float";
    *ret_base64 = !strcmp(name, "base64");
    return *ret_base64 || !strcmp(name, "float")
               ? 0
               : err_set(err, ERR_USAGE, "encoding_format is float or base64");
}

enum MHD_Result openai_embeddings(const struct web *web,
                                  struct MHD_Connection *connection,
                                  const cJSON *body)
{
    const cJSON *input = cJSON_GetObjectItemCaseSensitive(body, "input");
    struct err err = {.position = -1};
    struct buf params = {0};
    struct json json = json_to(&params);
    bool base64;
    int code = read_format(body, &base64, &err);
    if (!code && !cJSON_IsString(input) && !cJSON_IsArray(input))
        code = err_set(&err, ERR_USAGE,
                       "input must be a text, or an array of texts");
    if (code)
        return reply_error(connection, &err);
    put_texts(&json, input);
    struct asked *asked = mem_alloc(sizeof *asked); /* freed by reply_made */
    asked->base64 = base64;
    enum MHD_Result done = reply_made(web, connection, "embed",
                                      buf_slice(&params), put_list, asked);
    buf_free(&params);
    return done;
}
