#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/output.h"

static int check_folder(const char *given, char **ret_path, struct err *err)
{
    struct stat st;
    char *path = realpath(given, NULL);
    if (!path)
        return err_errno(err, ERR_USAGE, "cannot add %s", given);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        *ret_path = path;
        return 0;
    }
    free(path);
    return err_set(err, ERR_USAGE, "cannot add %s: it is not a folder", given);
}

static void build(struct cli *cli, const char *folder, struct buf *params)
{
    const struct options *options = &cli->options;
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_field_text(&json, "dir", folder);
    cli_param_text(&json, "name", options->manual);
    if (options->ignore.count) {
        json_key(&json, "ignore");
        json_begin(&json, '[');
        for (size_t i = 0; i < options->ignore.count; i++)
            json_text(&json, options->ignore.items[i]);
        json_end(&json, ']');
    }
    cli_param_true(&json, "follow_links", options->follow_links);
    cli_param_true(&json, "wait", options->wait);
    json_end(&json, '}');
}

/* The name under which the manual is known, as far as the reply tells. */
static const char *name_of(const struct cli *cli, const cJSON *result,
                           const char *folder)
{
    const char *given = cli->options.manual;
    const char *name = json_get_text(result, "manual", NULL);
    if (!name)
        name = json_get_text(result, "name", NULL);
    return name ? name : given ? given : strrchr(folder, '/') + 1;
}

int cmd_add(struct cli *cli, struct err *err)
{
    struct buf params = {0}, line = {0};
    char *folder;
    cJSON *result = NULL;
    int code = check_folder(cli->args.items[0], &folder, err);
    if (code)
        return code;
    build(cli, folder, &params);
    code = cli_request(cli, "add", buf_slice(&params), &result, err);
    if (!code && result) {
        const char *name = name_of(cli, result, folder);
        if (!cli->options.wait || !output_put_index_summary(&line, result))
            buf_printf(&line, "indexing %s in the background: lectern status\n",
                       name);
        output_text(line.data);
    }
    cJSON_Delete(result);
    buf_free(&line);
    buf_free(&params);
    free(folder);
    return code;
}
