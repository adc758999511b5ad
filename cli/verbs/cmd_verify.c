/* verify: prints the faults; with --repair the manuals that have any are made
 * anew, and looked at again. */
#include "cli/cli.h"
#include "cli/output/output.h"

static int request(struct cli *cli, bool repair, cJSON **ret_value,
                   struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    cli_param_true(&json, "repair", repair);
    json_end(&json, '}');
    int code =
        cli_call_parsed(cli, "verify", buf_slice(&params), ret_value, err);
    if (!code)
        output_clean(*ret_value);
    buf_free(&params);
    return code;
}

/* What cannot be updated is told by the second look. */
static int wait_for_all(struct cli *cli, struct err *err)
{
    struct buf result = {0};
    int code = cli_call(cli, "wait", slice_of("{}"), &result, err);
    buf_free(&result);
    return code;
}

static void put_faults(struct buf *out, const cJSON *result)
{
    const cJSON *fault;
    int64_t count = json_get_int(result, "fault_count", 0), shown = 0;
    cJSON_ArrayForEach (fault,
                        cJSON_GetObjectItemCaseSensitive(result, "faults")) {
        const char *manual = json_get_text(fault, "manual", "");
        buf_printf(out, "%s%s%s: %s: %s\n    %s\n", manual,
                   manual[0] ? "  " : "", json_get_text(fault, "table", ""),
                   json_get_text(fault, "place", ""),
                   json_get_text(fault, "what", ""),
                   json_get_text(fault, "remedy", ""));
        shown++;
    }
    if (count > shown) {
        buf_put_text(out, "and ");
        output_put_count(out, count - shown);
        buf_put_text(out, " more\n");
    }
}

static void put_count(struct buf *out, const cJSON *checked, const char *one,
                      const char *many)
{
    output_put_counted(out, json_get_int(checked, many, 0), one, many);
    buf_put_text(out, ", ");
}

static void put_summary(struct buf *out, const cJSON *result)
{
    const cJSON *checked = cJSON_GetObjectItemCaseSensitive(result, "checked");
    int64_t count = json_get_int(result, "fault_count", 0);
    put_count(out, checked, "file", "files");
    put_count(out, checked, "node", "nodes");
    put_count(out, checked, "posting", "postings");
    put_count(out, checked, "memory", "memories");
    buf_printf(out, "%.1f s: ", json_get_double(result, "seconds", 0));
    if (count)
        output_put_counted(out, count, "fault", "faults");
    buf_put_text(out, count ? "\n" : "no fault\n");
}

static void print(const struct cli *cli, const cJSON *result)
{
    struct buf out = {0};
    if (cli->options.json) {
        char *text = cJSON_PrintUnformatted(result);
        output_json(slice_of(text));
        cJSON_free(text);
        return;
    }
    put_faults(&out, result);
    put_summary(&out, result);
    output_text(out.data);
    buf_free(&out);
}

/* The result of the look after the repair goes into that of the one before. */
static int look_again(struct cli *cli, cJSON *result, int64_t *ret_faults,
                      struct err *err)
{
    cJSON *again = NULL;
    if (!cli->options.json) {
        print(cli, result);
        output_remark(cli, "what was damaged is made again from the files");
    }
    int code = wait_for_all(cli, err);
    if (!code)
        code = request(cli, false, &again, err);
    if (code)
        return code;
    *ret_faults = json_get_int(again, "fault_count", 0);
    if (!cli->options.json)
        print(cli, again);
    cJSON_AddItemToObject(result, "after", again);
    return 0;
}

int cmd_verify(struct cli *cli, struct err *err)
{
    cJSON *result = NULL;
    int code = request(cli, cli->options.repair, &result, err);
    if (code)
        return code;
    int64_t faults = json_get_int(result, "fault_count", 0);
    bool again = faults && cli->options.repair;
    if (again)
        code = look_again(cli, result, &faults, err);
    if (!code && (cli->options.json || !again))
        print(cli, result);
    if (faults)
        cli->status = err_exit_status(ERR_STORE);
    cJSON_Delete(result);
    return code;
}
