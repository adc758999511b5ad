#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"

static int request(struct cli *cli, bool retry, struct buf *ret_result,
                   struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    cli_param_true(&json, "retry", retry);
    cli_param_true(&json, "left_out", cli->options.left_out);
    json_end(&json, '}');
    int code = cli_call(cli, "failed", buf_slice(&params), ret_result, err);
    buf_free(&params);
    return code;
}

static int wait_for(struct cli *cli, struct err *err)
{
    struct buf params = {0}, result = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    json_end(&json, '}');
    int code = cli_call(cli, "wait", buf_slice(&params), &result, err);
    buf_free(&result);
    buf_free(&params);
    return code;
}

/* What lectern failed --left-out says of them. */
static const char *why(const char *reason)
{
    static const char *const sentences[][2] = {
        {"redirect", "sends one to another page"},
        {"search", "a form to search the manual with"},
        {"whole", "has other pages once more, on one"},
        {"menu", "only says where other pages are"},
        {"same", "equal to another file, which is in the tree"},
        {"part", "a part of another file, which includes it"},
        {"link", "a link out of the manual's folder, not followed: lectern "
                 "add --follow-links, if you trust it"},
        {"lists", "made besides the text: lists, uses, listings, a converter's files"},
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (!strcmp(reason, sentences[i][0]))
            return sentences[i][1];
    return reason;
}

static void print(const cJSON *result)
{
    struct buf text = {0};
    const cJSON *file;
    cJSON_ArrayForEach (file, cJSON_GetObjectItemCaseSensitive(result, "files"))
        buf_printf(&text, "%s  %s: %s\n", json_get_text(file, "manual", ""),
                   json_get_text(file, "file", ""),
                   json_get_text(file, "reason", ""));
    cJSON_ArrayForEach (file,
                        cJSON_GetObjectItemCaseSensitive(result, "warnings"))
        buf_printf(&text, "%s  %s: read, but %s\n",
                   json_get_text(file, "manual", ""),
                   json_get_text(file, "file", ""),
                   json_get_text(file, "message", ""));
    cJSON_ArrayForEach (file,
                        cJSON_GetObjectItemCaseSensitive(result, "left_out"))
        buf_printf(&text, "%s  %s: left out: %s\n",
                   json_get_text(file, "manual", ""),
                   json_get_text(file, "file", ""),
                   why(json_get_text(file, "reason", "")));
    if (text.size)
        output_text(text.data);
    buf_free(&text);
}

/* With --retry and --wait what still fails, else what has failed so far. */
int cmd_failed(struct cli *cli, struct err *err)
{
    const struct options *options = &cli->options;
    struct buf text = {0};
    cJSON *result = NULL;
    int code = request(cli, options->retry, &text, err);
    if (!code && options->wait) {
        buf_clear(&text);
        code = wait_for(cli, err);
        if (!code)
            code = request(cli, false, &text, err);
    } else if (!code && options->retry && !options->json) {
        output_remark(cli, "they are tried again in the background: lectern "
                           "failed --wait");
    }
    if (!code && options->json)
        output_json(buf_slice(&text));
    else if (!code)
        code = json_parse(buf_slice(&text), &result, err);
    output_clean(result);
    print(result);
    cJSON_Delete(result);
    buf_free(&text);
    return code;
}
