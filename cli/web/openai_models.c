#include <string.h>

#include "cli/web/openai.h"
#include "cli/web/web_reply.h"

#define ALL "lectern"

int openai_put_model(struct json *params, const char *model, struct err *err)
{
    if (!strcmp(model, ALL))
        return 0;
    if (strncmp(model, ALL ":", sizeof ALL) != 0)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no model '%.100s': " ALL
                       " answers from all manuals, " ALL ":NAME from one",
                       model);
    json_field_text(params, "manual", model + sizeof ALL);
    return 0;
}

static void put_model(struct json *json, const char *manual, int64_t created)
{
    struct buf id = {0};
    buf_printf(&id, ALL "%s%s", manual ? ":" : "", manual ? manual : "");
    json_begin(json, '{');
    json_field_string(json, "id", buf_slice(&id));
    json_field_text(json, "object", "model");
    json_field_int(json, "created", created);
    json_field_text(json, "owned_by", "lectern");
    json_end(json, '}');
    buf_free(&id);
}

static void put_models(void *state, const cJSON *result, struct buf *out)
{
    struct json json = json_to(out);
    const cJSON *one;
    (void)state;
    json_begin(&json, '{');
    json_field_text(&json, "object", "list");
    json_key(&json, "data");
    json_begin(&json, '[');
    put_model(&json, NULL, 0);
    cJSON_ArrayForEach (one,
                        cJSON_GetObjectItemCaseSensitive(result, "manuals"))
        put_model(&json, json_get_text(one, "name", ""),
                  json_get_int(one, "indexed_at", 0));
    json_end(&json, ']');
    json_end(&json, '}');
}

enum MHD_Result openai_models(const struct web *web,
                              struct MHD_Connection *connection,
                              const cJSON *body)
{
    (void)body;
    return reply_made(web, connection, "ls", slice_of("{}"), put_models, NULL);
}
