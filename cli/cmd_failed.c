#include "cli/cli.h"
#include "cli/output.h"

int cmd_failed(struct cli *cli, struct err *err)
{
    struct buf params = {0}, text = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    const cJSON *file;
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    json_end(&json, '}');
    int code = cli_request(cli, "failed", buf_slice(&params), &result, err);
    cJSON_ArrayForEach (file, cJSON_GetObjectItemCaseSensitive(result, "files"))
        buf_printf(&text, "%s  %s: %s\n", json_get_text(file, "manual", ""),
                   json_get_text(file, "file", ""),
                   json_get_text(file, "reason", ""));
    if (text.size)
        output_text(text.data);
    cJSON_Delete(result);
    buf_free(&text);
    buf_free(&params);
    return code;
}
