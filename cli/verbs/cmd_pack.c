/* pack, unpack: a manual as one file. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output/output.h"

/* Absolute and without a slash at its end, as the daemon wants it. */
static int put_path(struct json *json, const char *key, const char *path,
                    struct err *err)
{
    struct buf absolute = {0};
    if (!path)
        return 0;
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && !here)
        return err_errno(err, ERR_IO, "cannot tell the current folder");
    if (here)
        buf_printf(&absolute, "%s/", here);
    buf_put_text(&absolute, path);
    while (absolute.size > 1 && absolute.data[absolute.size - 1] == '/')
        absolute.data[--absolute.size] = '\0';
    json_field_text(json, key, absolute.data);
    free(here);
    buf_free(&absolute);
    return 0;
}

static void print_packed(struct cli *cli, const cJSON *result)
{
    struct buf out = {0};
    const char *signer = json_get_text(result, "signer", NULL);
    buf_printf(&out, "%s: ", json_get_text(result, "file", ""));
    output_put_bytes(&out, json_get_double(result, "bytes", 0));
    buf_printf(&out, ", %.1f s\n%s\n", json_get_double(result, "seconds", 0),
               json_get_text(result, "hash", ""));
    output_text(out.data);
    if (json_get_bool(result, "key_made", false))
        output_remark(cli,
                      "%s is a new key: keep it; who trusts it has this line "
                      "in ~/.config/lectern/trusted-keys: %s",
                      cli->options.key, signer ? signer : "");
    if (!signer)
        output_remark(cli, "nobody has signed it (--key): its memories will "
                           "be taken nowhere");
    buf_free(&out);
}

int cmd_pack(struct cli *cli, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    json_begin(&json, '{');
    json_field_text(&json, "manual", cli->args.items[0]);
    cli_param_true(&json, "files", cli->options.files);
    int code = put_path(&json, "file", cli->args.items[1], err);
    if (!code)
        code = put_path(&json, "key", cli->options.key, err);
    json_end(&json, '}');
    if (!code)
        code = cli_request(cli, "pack", buf_slice(&params), &result, err);
    if (!code && result)
        print_packed(cli, result);
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}

static void print_unpacked(struct cli *cli, const cJSON *result)
{
    struct buf out = {0};
    const char *root = json_get_text(result, "root", "");
    buf_printf(&out, "%s: ", json_get_text(result, "manual", ""));
    output_put_counted(&out, json_get_int(result, "files", 0), "file", "files");
    buf_put_text(&out, ", ");
    output_put_counted(&out, json_get_int(result, "nodes", 0), "node", "nodes");
    buf_put_text(&out, ", ");
    output_put_counted(&out, json_get_int(result, "memories", 0), "memory",
                       "memories");
    buf_printf(&out, ", %.1f s\n", json_get_double(result, "seconds", 0));
    output_text(out.data);
    if (!root[0])
        output_remark(cli, "its files are not here: quotes are as they were "
                           "packed, and nothing can be opened (--dir)");
    buf_free(&out);
}

int cmd_unpack(struct cli *cli, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    json_begin(&json, '{');
    cli_param_text(&json, "name", cli->options.manual);
    cli_param_true(&json, "untrusted", cli->options.untrusted);
    int code = put_path(&json, "file", cli->args.items[0], err);
    if (!code)
        code = put_path(&json, "dir", cli->options.dir, err);
    json_end(&json, '}');
    if (!code)
        code = cli_request(cli, "unpack", buf_slice(&params), &result, err);
    if (!code && result)
        print_unpacked(cli, result);
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}
