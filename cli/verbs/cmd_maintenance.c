/* compact and backup: copies of the store. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output/output.h"

static void put_sizes(struct buf *out, const cJSON *result)
{
    output_put_bytes(out, json_get_double(result, "before", 0));
    buf_put_text(out, " \342\206\222 ");
    output_put_bytes(out, json_get_double(result, "after", 0));
    buf_printf(out, ", %.1f s\n", json_get_double(result, "seconds", 0));
}

/* Said before it is taken. */
static int say_need(struct cli *cli, struct err *err)
{
    struct buf need = {0};
    cJSON *status = NULL;
    int code = cli_call_parsed(cli, "status", slice_of("{}"), &status, err);
    if (!code) {
        const cJSON *store = cJSON_GetObjectItemCaseSensitive(status, "store");
        output_put_bytes(&need, json_get_double(store, "bytes", 0) -
                                    json_get_double(store, "free", 0));
        output_remark(cli, "this takes about %s of disk until it is done",
                      need.data);
    }
    cJSON_Delete(status);
    buf_free(&need);
    return code;
}

int cmd_compact(struct cli *cli, struct err *err)
{
    struct buf out = {0};
    cJSON *result = NULL;
    int code = say_need(cli, err);
    if (!code)
        code = cli_request(cli, "compact", slice_of("{}"), &result, err);
    if (!code && result) {
        put_sizes(&out, result);
        output_text(out.data);
    }
    cJSON_Delete(result);
    buf_free(&out);
    return code;
}

/* Absolute and without a slash at its end, as the daemon wants it. */
static int absolute_path(const char *path, struct buf *ret, struct err *err)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && !here)
        return err_errno(err, ERR_IO, "cannot tell the current folder");
    if (here)
        buf_printf(ret, "%s/", here);
    free(here);
    buf_put_text(ret, path);
    while (ret->size > 1 && ret->data[ret->size - 1] == '/')
        ret->data[--ret->size] = 0;
    return 0;
}

int cmd_backup(struct cli *cli, struct err *err)
{
    struct buf params = {0}, out = {0}, path = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    int code = absolute_path(cli->args.items[0], &path, err);
    if (code)
        return code;
    json_begin(&json, '{');
    json_field_text(&json, "dir", path.data);
    json_end(&json, '}');
    code = cli_request(cli, "backup", buf_slice(&params), &result, err);
    if (!code && result) {
        buf_printf(&out, "%s: ", json_get_text(result, "dir", ""));
        put_sizes(&out, result);
        output_text(out.data);
    }
    cJSON_Delete(result);
    buf_free(&path);
    buf_free(&params);
    buf_free(&out);
    return code;
}
