#include <string.h>

#include "cli/cli.h"
#include "cli/output/output.h"

static int code_of(const char *name)
{
    for (int code = ERR_NOT_FOUND; code >= ERR_LAST; code--)
        if (!strcmp(err_name(code), name))
            return code;
    return ERR_INTERNAL;
}

/* The numbers of one manual, or why it could not be indexed. */
static void put_manual(struct cli *cli, const cJSON *manual, struct buf *out)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(manual, "error");
    if (!error) {
        output_put_index_summary(out, manual);
        return;
    }
    int code = code_of(json_get_text(error, "code", ""));
    if (!cli->status)
        cli->status = err_exit_status(code);
    if (!cli->options.json)
        output_complaint("%s: %s", json_get_text(manual, "manual", "index"),
                         json_get_text(error, "message", "it failed"));
}

/* The result is that of add, for one manual, or has several in "manuals". */
static void report(struct cli *cli, const cJSON *result)
{
    const cJSON *manuals = cJSON_GetObjectItemCaseSensitive(result, "manuals");
    const cJSON *manual;
    struct buf text = {0};
    if (!manuals)
        put_manual(cli, result, &text);
    cJSON_ArrayForEach (manual, manuals)
        put_manual(cli, manual, &text);
    if (text.size && !cli->options.json)
        output_text(text.data);
    if (!text.size && !cli->status && !cli->options.json)
        output_remark(cli, "the index is up to date");
    buf_free(&text);
}

static int run(struct cli *cli, const char *method, bool waits, struct err *err)
{
    struct buf params = {0}, text = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    cli_param_true(&json, "wait", cli->options.wait);
    cli_param_true(&json, "force", cli->options.force);
    json_end(&json, '}');
    int code = cli_call(cli, method, buf_slice(&params), &text, err);
    if (code == ERR_CANCELLED)
        output_remark(cli,
                      "indexing goes on in the background: lectern status");
    if (!code)
        code = json_parse(buf_slice(&text), &result, err);
    if (!code && cli->options.json)
        output_json(buf_slice(&text));
    else if (!code)
        output_clean(result);
    if (!code && waits)
        report(cli, result);
    else if (!code && !cli->options.json)
        output_remark(cli, "updating in the background: lectern status");
    cJSON_Delete(result);
    buf_free(&text);
    buf_free(&params);
    return code;
}

int cmd_update(struct cli *cli, struct err *err)
{
    return run(cli, "update", cli->options.wait, err);
}

int cmd_wait(struct cli *cli, struct err *err)
{
    return run(cli, "wait", true, err);
}
