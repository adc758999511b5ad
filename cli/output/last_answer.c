#include "cli/output/last_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MAX_BYTES = 8 << 20 };

static void put_folder(struct buf *out)
{
    config_user_folder("XDG_STATE_HOME", ".local/state", out);
}

static void save(const struct cli *cli, const cJSON *citations)
{
    char *text = cJSON_PrintUnformatted(citations);
    struct buf path = {0}, content = {0};
    if (text) {
        struct json json = json_to(&content);
        json_begin(&json, '{');
        json_field_text(&json, "socket",
                        config_text(&cli->config, CONFIG_SOCKET));
        json_key(&json, "citations");
        json_raw(&json, slice_of(text));
        json_end(&json, '}');
        buf_put_byte(&content, '\n');
        put_folder(&path);
        if (!file_make_folder(path.data, 0700, NULL)) {
            buf_put_text(&path, "/last-answer.json");
            file_write(path.data, buf_slice(&content), NULL);
        }
    }
    free(text);
    buf_free(&path);
    buf_free(&content);
}

void answer_save(const struct cli *cli, const cJSON *result)
{
    save(cli, cJSON_GetObjectItemCaseSensitive(result, "citations"));
}

void answer_save_results(const struct cli *cli, const cJSON *result)
{
    cJSON *citations = cJSON_CreateArray();
    const cJSON *hit;
    int number = 0;
    cJSON_ArrayForEach (hit,
                        cJSON_GetObjectItemCaseSensitive(result, "results")) {
        cJSON *citation = cJSON_CreateObject();
        cJSON_AddNumberToObject(citation, "n", ++number);
        cJSON_AddStringToObject(citation, "node",
                                json_get_text(hit, "node", ""));
        cJSON_AddItemToObject(
            citation, "path",
            cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(hit, "path"),
                            true));
        cJSON_AddItemToArray(citations, citation);
    }
    save(cli, citations);
    cJSON_Delete(citations);
}

cJSON *answer_list(const struct cli *cli)
{
    struct buf path = {0}, content = {0};
    cJSON *saved = NULL, *citations = NULL;
    const char *socket = config_text(&cli->config, CONFIG_SOCKET);
    put_folder(&path);
    buf_put_text(&path, "/last-answer.json");
    if (!file_read(path.data, MAX_BYTES, &content, NULL) &&
        !json_parse(buf_slice(&content), &saved, NULL) &&
        !strcmp(json_get_text(saved, "socket", ""), socket))
        citations = cJSON_DetachItemFromObjectCaseSensitive(saved, "citations");
    cJSON_Delete(saved);
    buf_free(&content);
    buf_free(&path);
    return citations;
}

int answer_citation(const struct cli *cli, int64_t number, cJSON **ret_citation,
                    struct err *err)
{
    cJSON *citations = answer_list(cli), *citation = NULL, *each;
    cJSON_ArrayForEach (each, citations)
        if (!citation && json_get_int(each, "n", -1) == number)
            citation = each;
    if (citation)
        *ret_citation = cJSON_DetachItemViaPointer(citations, citation);
    cJSON_Delete(citations);
    return citation ? 0
                    : err_set(err, ERR_NOT_FOUND,
                              "the last answer or search has no number %lld",
                              (long long)number);
}

int64_t answer_number(const char *text)
{
    char *end;
    bool bracket = text[0] == '[';
    const char *digits = text + bracket;
    size_t size = strspn(digits, "0123456789");
    if (!size || size > 4)
        return -1;
    long number = strtol(digits, &end, 10);
    return strcmp(end, bracket ? "]" : "") ? -1 : number;
}

int answer_node(const struct cli *cli, const char *given, cJSON **ret_citation,
                const char **ret_node, struct err *err)
{
    int64_t number = answer_number(given);
    int code = 0;
    if (number >= 0)
        code = answer_citation(cli, number, ret_citation, err);
    if (!code)
        *ret_node = json_get_text(*ret_citation, "node", given);
    return code;
}

int answer_param_node(const struct cli *cli, struct json *json, const char *key,
                      const char *given, struct err *err)
{
    cJSON *citation = NULL;
    const char *node;
    int code = given ? answer_node(cli, given, &citation, &node, err) : 0;
    if (given && !code)
        json_field_text(json, key, node);
    cJSON_Delete(citation);
    /* Nothing found would be said of what is sought there. */
    return code == ERR_NOT_FOUND ? err->code = ERR_USAGE : code;
}
