#include <stdio.h>

#include "cli/cli.h"
#include "cli/output.h"

static void print_node(const struct cli *cli, const cJSON *node, int indent)
{
    struct buf text = {0};
    const cJSON *child;
    buf_printf(&text, "%*s%s  ", indent, "", json_get_text(node, "title", ""));
    output_text(text.data);
    output_dim(cli, json_get_text(node, "id", ""));
    putchar('\n');
    buf_free(&text);
    cJSON_ArrayForEach (child,
                        cJSON_GetObjectItemCaseSensitive(node, "children"))
        print_node(cli, child, indent + 2);
}

int cmd_toc(struct cli *cli, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    json_begin(&json, '{');
    if (cli->args.count)
        json_field_text(&json, "node", cli->args.items[0]);
    cli_param_text(&json, "manual", cli->options.manual);
    cli_param_number(&json, "depth", cli->options.depth);
    json_end(&json, '}');
    int code = cli_request(cli, "toc", buf_slice(&params), &result, err);
    if (!code && result) {
        print_node(cli, result, 0);
        cli_tell_damage(cli, result);
    }
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}
