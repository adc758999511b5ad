#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/web/openai.h"
#include "cli/web/web_reply.h"

enum { DECIMALS = 6 };

/* A document is a text, or an object that has one. */
static const char *text_of(const cJSON *document)
{
    return cJSON_IsString(document) ? document->valuestring
                                    : json_get_text(document, "text", NULL);
}

static int put_params(struct json *params, const cJSON *body, struct err *err)
{
    const char *query = json_get_text(body, "query", NULL);
    const cJSON *documents =
        cJSON_GetObjectItemCaseSensitive(body, "documents");
    const cJSON *document;
    if (!query || !cJSON_IsArray(documents))
        return err_set(err, ERR_USAGE,
                       "query must be a text, documents an array of texts");
    json_begin(params, '{');
    json_field_text(params, "query", query);
    json_key(params, "texts");
    json_begin(params, '[');
    cJSON_ArrayForEach (document, documents)
        json_text(params, text_of(document));
    json_end(params, ']');
    json_end(params, '}');
    return 0;
}

/* What is kept until the scores come. */
struct asked {
    const cJSON *body;
};

struct rank {
    int index;
    double score;
};

static int by_score(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x->index - y->index;
}

/* A logit as a number from 0 to 1. */
static void put_rank(struct json *json, const struct rank *rank,
                     const cJSON *document)
{
    json_begin(json, '{');
    json_field_int(json, "index", rank->index);
    json_field_double(json, "relevance_score", 1 / (1 + exp(-rank->score)),
                      DECIMALS);
    if (document) {
        json_key(json, "document");
        json_begin(json, '{');
        json_field_text(json, "text", text_of(document));
        json_end(json, '}');
    }
    json_end(json, '}');
}

static void put_ranks(const cJSON *body, struct rank *ranks, int count,
                      struct json *json)
{
    int64_t most = json_get_int(body, "top_n", count);
    bool shown = json_get_bool(body, "return_documents", false);
    const cJSON *documents =
        cJSON_GetObjectItemCaseSensitive(body, "documents");
    if (count)
        qsort(ranks, (size_t)count, sizeof *ranks, by_score);
    json_begin(json, '[');
    for (int i = 0; i < count && i < most; i++)
        put_rank(json, &ranks[i],
                 shown ? cJSON_GetArrayItem(documents, ranks[i].index) : NULL);
    json_end(json, ']');
}

static void put_list(void *state, const cJSON *result, struct buf *out)
{
    const cJSON *body = ((const struct asked *)state)->body;
    const cJSON *scores = cJSON_GetObjectItemCaseSensitive(result, "scores");
    const cJSON *score;
    struct json json = json_to(out);
    int count = 0;
    struct rank *ranks =
        mem_alloc(((size_t)cJSON_GetArraySize(scores) + 1) * sizeof *ranks);
    cJSON_ArrayForEach (score, scores) {
        ranks[count] = (struct rank){count, score->valuedouble};
        count++;
    }
    json_begin(&json, '{');
    json_field_text(&json, "model", json_get_text(result, "model", ""));
    json_key(&json, "results");
    put_ranks(body, ranks, count, &json);
    json_end(&json, '}');
    free(ranks);
}

enum MHD_Result openai_rerank(const struct web *web,
                              struct MHD_Connection *connection,
                              const cJSON *body)
{
    struct err err = {.position = -1};
    struct buf params = {0};
    struct json json = json_to(&params);
    if (put_params(&json, body, &err)) {
        buf_free(&params);
        return reply_error(connection, &err);
    }
    struct asked *asked = mem_alloc(sizeof *asked); /* freed by reply_made */
    asked->body = body;
    enum MHD_Result done = reply_made(web, connection, "rank",
                                      buf_slice(&params), put_list, asked);
    buf_free(&params);
    return done;
}
