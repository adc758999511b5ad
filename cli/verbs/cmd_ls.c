#include <stdio.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"
#include "cli/output/terminal.h"

static void print_table(const struct cli *cli, const cJSON *manuals)
{
    const cJSON *manual;
    int width = 4;
    cJSON_ArrayForEach (manual, manuals) {
        int size = terminal_width(slice_of(json_get_text(manual, "name", "")));
        if (size > width && size <= 40)
            width = size;
    }
    printf("%-*s %9s %11s %8s %8s  %s\n", width, "name", "files", "nodes",
           "failed", "pending", "folder");
    cJSON_ArrayForEach (manual, manuals) {
        static const char *const keys[] = {"files", "nodes", "failed",
                                           "pending"};
        static const int widths[] = {9, 11, 8, 8};
        struct buf line = {0};
        buf_put_text(&line, json_get_text(manual, "name", ""));
        terminal_pad(&line, 0, width);
        for (int i = 0; i < 4; i++) {
            struct buf count = {0};
            output_put_count(&count, json_get_int(manual, keys[i], 0));
            buf_printf(&line, " %*s", widths[i], count.data);
            buf_free(&count);
        }
        const char *root = json_get_text(manual, "root", "");
        buf_printf(&line, "  %s%s", root[0] ? root : "(unpacked)",
                   json_get_bool(manual, "gone", false) ? "  (gone)" : "");
        output_line(cli, &line, "    ");
        buf_free(&line);
    }
}

static void tell_gone(const struct cli *cli, const cJSON *manuals)
{
    const cJSON *manual;
    cJSON_ArrayForEach (manual, manuals)
        if (json_get_bool(manual, "gone", false))
            output_remark(cli,
                          "the folder of %s is gone; where it has moved: "
                          "lectern add FOLDER -c %s",
                          json_get_text(manual, "name", ""),
                          json_get_text(manual, "name", ""));
}

int cmd_ls(struct cli *cli, struct err *err)
{
    cJSON *result = NULL;
    int code = cli_request(cli, "ls", slice_of("{}"), &result, err);
    pager_begin(cli);
    if (!code && result) {
        const cJSON *manuals =
            cJSON_GetObjectItemCaseSensitive(result, "manuals");
        if (cJSON_GetArraySize(manuals) == 0 &&
            !cJSON_HasObjectItem(result, "damaged"))
            output_remark(cli, "there is no manual yet: lectern add DIR");
        else
            print_table(cli, manuals);
        tell_gone(cli, manuals);
        cli_tell_damage(cli, result);
    }
    cJSON_Delete(result);
    return code;
}
