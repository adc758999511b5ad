#include <stdio.h>

#include "cli/cli.h"
#include "cli/output/last_answer.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"

static void print_node(const struct cli *cli, const cJSON *node, int indent)
{
    struct buf line = {0}, below = {0};
    const cJSON *child;
    buf_printf(&line, "%*s%s  %s%s%s", indent, "",
               json_get_text(node, "title", ""), cli->color ? "\033[2m" : "",
               json_get_text(node, "id", ""), cli->color ? "\033[0m" : "");
    buf_printf(&below, "%*s", indent + 4, "");
    output_line(cli, &line, below.data);
    buf_free(&line);
    buf_free(&below);
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
    int code = answer_param_node(
        cli, &json, "node", cli->args.count ? cli->args.items[0] : NULL, err);
    cli_param_text(&json, "manual", cli->options.manual);
    cli_param_number(&json, "depth", cli->options.depth);
    json_end(&json, '}');
    if (!code)
        code = cli_request(cli, "toc", buf_slice(&params), &result, err);
    pager_begin(cli);
    if (!code && result) {
        /* What holds several manuals has no title. */
        const cJSON *child;
        if (json_get_text(result, "title", "")[0])
            print_node(cli, result, 0);
        else
            cJSON_ArrayForEach (
                child, cJSON_GetObjectItemCaseSensitive(result, "children"))
                print_node(cli, child, 0);
        cli_tell_damage(cli, result);
    }
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}
