#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/archive/unpacked.h"
#include "cli/cli.h"
#include "cli/output/output.h"

/* The manual's folder, to be freed; NULL: it is not known. */
static char *folder_of(struct cli *cli, const char *name)
{
    struct buf text = {0};
    cJSON *result = NULL;
    const cJSON *manual;
    char *folder = NULL;
    if (!cli_call(cli, "ls", slice_of("{}"), &text, NULL))
        json_parse(buf_slice(&text), &result, NULL);
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(result, "manuals"))
        if (!folder && !strcmp(json_get_text(manual, "name", ""), name))
            folder = mem_strdup(json_get_text(manual, "root", ""));
    cJSON_Delete(result);
    buf_free(&text);
    return folder;
}

int cmd_rm(struct cli *cli, struct err *err)
{
    const char *name = cli->args.items[0];
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    char *folder = folder_of(cli, name);
    json_begin(&json, '{');
    json_field_text(&json, "manual", name);
    json_end(&json, '}');
    int code = cli_request(cli, "rm", buf_slice(&params), &result, err);
    if (!code && result)
        output_remark(cli, "%s is forgotten", name);
    if (!code && folder)
        unpacked_remove(folder);
    cJSON_Delete(result);
    buf_free(&params);
    free(folder);
    return code;
}
