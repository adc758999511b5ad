#include "cli/cli.h"
#include "cli/output/output.h"

int cmd_rm(struct cli *cli, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    json_begin(&json, '{');
    json_field_text(&json, "manual", cli->args.items[0]);
    json_end(&json, '}');
    int code = cli_request(cli, "rm", buf_slice(&params), &result, err);
    if (!code && result)
        output_remark(cli, "%s is forgotten", cli->args.items[0]);
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}
