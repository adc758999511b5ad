#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/archive/unpacked.h"
#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/verbs/add_archive.h"

/* The manual's folder, and the place of those that are ours; to be freed. */
static char *folder_of(struct cli *cli, const char *name, char **ret_place)
{
    cJSON *result = NULL;
    const cJSON *manual;
    char *folder = NULL;
    add_archive_place(cli, ret_place, &result, NULL);
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(result, "manuals"))
        if (!folder && !strcmp(json_get_text(manual, "name", ""), name))
            folder = mem_strdup(json_get_text(manual, "root", ""));
    cJSON_Delete(result);
    return folder;
}

int cmd_rm(struct cli *cli, struct err *err)
{
    const char *name = cli->args.items[0];
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    char *place = NULL, *folder = folder_of(cli, name, &place);
    json_begin(&json, '{');
    json_field_text(&json, "manual", name);
    json_end(&json, '}');
    int code = cli_request(cli, "rm", buf_slice(&params), &result, err);
    if (!code && result)
        output_remark(cli, "%s is forgotten", name);
    if (!code && folder)
        unpacked_remove(place, folder);
    cJSON_Delete(result);
    buf_free(&params);
    free(folder);
    free(place);
    return code;
}
