#include <string.h>

#include "cli/web/openai.h"
#include "cli/web/web_reply.h"

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

static void put_vector(struct json *json, const cJSON *vector, int64_t index)
{
    char *numbers = cJSON_PrintUnformatted(vector);
    json_begin(json, '{');
    json_field_text(json, "object", "embedding");
    json_field_int(json, "index", index);
    json_key(json, "embedding");
    json_raw(json, slice_of(numbers));
    json_end(json, '}');
    cJSON_free(numbers);
}

static void put_list(void *state, const cJSON *result, struct buf *out)
{
    struct json json = json_to(out);
    const cJSON *vector;
    int64_t index = 0, tokens = json_get_int(result, "tokens", 0);
    (void)state;
    json_begin(&json, '{');
    json_field_text(&json, "object", "list");
    json_field_text(&json, "model", json_get_text(result, "model", ""));
    json_key(&json, "data");
    json_begin(&json, '[');
    cJSON_ArrayForEach (vector,
                        cJSON_GetObjectItemCaseSensitive(result, "vectors"))
        put_vector(&json, vector, index++);
    json_end(&json, ']');
    json_key(&json, "usage");
    json_begin(&json, '{');
    json_field_int(&json, "prompt_tokens", tokens);
    json_field_int(&json, "total_tokens", tokens);
    json_end(&json, '}');
    json_end(&json, '}');
}

enum MHD_Result openai_embeddings(const struct web *web,
                                  struct MHD_Connection *connection,
                                  const cJSON *body)
{
    const cJSON *input = cJSON_GetObjectItemCaseSensitive(body, "input");
    struct err err = {.position = -1};
    struct buf params = {0};
    struct json json = json_to(&params);
    if (!cJSON_IsString(input) && !cJSON_IsArray(input)) {
        err_set(&err, ERR_USAGE, "input must be a text, or an array of texts");
        return reply_error(connection, &err);
    }
    put_texts(&json, input);
    enum MHD_Result done = reply_made(web, connection, "embed",
                                      buf_slice(&params), put_list, NULL);
    buf_free(&params);
    return done;
}
