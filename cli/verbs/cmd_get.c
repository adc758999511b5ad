#include <stdio.h>
#include <string.h>

#include "cli/output/last_answer.h"
#include "cli/cli.h"
#include "cli/output/emphasis.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"
#include "cli/output/terminal.h"

static void print_line(const char *text)
{
    size_t size = strlen(text);
    output_text(text);
    if (size && text[size - 1] != '\n')
        putchar('\n');
}

/* Broken to fit the terminal, unless its lines mean something. */
static void print_block(const struct cli *cli, const cJSON *block)
{
    static const char *const set[] = {"code", "table", "math", "figure"};
    const char *kind = json_get_text(block, "kind", "");
    const char *text = json_get_text(block, "text", "");
    struct buf broken = {0};
    int columns = cli->columns;
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (!strcmp(kind, set[i]))
            columns = 0;
    terminal_put_prose(&broken, slice_of(text), columns);
    buf_put(&broken, "", 0);
    print_line(broken.data);
    buf_free(&broken);
}

/* "[dropped: navigation] Prev Up Next" */
static void print_dropped(const struct cli *cli, const cJSON *dropped)
{
    struct buf mark = {0};
    buf_printf(&mark, "\n[dropped: %s] ", json_get_text(dropped, "reason", ""));
    output_dim(cli, mark.data);
    print_line(json_get_text(dropped, "text", ""));
    buf_free(&mark);
}

/* What a section without text is divided into, as `toc` shows it. */
static void print_children(const struct cli *cli, const cJSON *children)
{
    const cJSON *child;
    if (cJSON_GetArraySize(children))
        putchar('\n');
    cJSON_ArrayForEach (child, children) {
        struct buf id = {0};
        output_text(json_get_text(child, "title", ""));
        buf_printf(&id, "  %s\n", json_get_text(child, "node", ""));
        output_dim(cli, id.data);
        buf_free(&id);
    }
}

static void print_section(struct cli *cli, const cJSON *node)
{
    struct buf line = {0};
    const cJSON *block;
    buf_printf(&line, "%s%s%s", cli->color ? "\033[1m" : "",
               json_get_text(node, "title", ""), cli->color ? "\033[0m" : "");
    output_line(cli, &line, "");
    buf_clear(&line);
    output_put_title_path(&line,
                          cJSON_GetObjectItemCaseSensitive(node, "path"));
    buf_put_text(&line, "  ");
    emphasis_put_place(cli, &line, node);
    output_dim_line(cli, &line, "");
    buf_free(&line);
    cJSON_ArrayForEach (block,
                        cJSON_GetObjectItemCaseSensitive(node, "blocks")) {
        putchar('\n');
        print_block(cli, block);
    }
    print_children(cli, cJSON_GetObjectItemCaseSensitive(node, "children"));
    cJSON_ArrayForEach (block,
                        cJSON_GetObjectItemCaseSensitive(node, "dropped"))
        print_dropped(cli, block);
}

int cmd_get(struct cli *cli, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL, *citation = NULL;
    const char *node;
    int code = answer_node(cli, cli->args.items[0], &citation, &node, err);
    if (code)
        return code;
    json_begin(&json, '{');
    json_field_text(&json, "node", node);
    if (cli->options.all)
        json_field_bool(&json, "all", true);
    json_end(&json, '}');
    code = cli_request(cli, "get", buf_slice(&params), &result, err);
    pager_begin(cli);
    if (!code && result)
        print_section(cli, result);
    cJSON_Delete(result);
    cJSON_Delete(citation);
    buf_free(&params);
    return code;
}
