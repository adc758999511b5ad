#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"

enum { MAX_NAMED = 3 /* files of a group */ };

static int request(struct cli *cli, bool retry, struct buf *ret_result,
                   struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    cli_param_true(&json, "retry", retry);
    cli_param_true(&json, "excluded", cli->options.excluded);
    json_end(&json, '}');
    int code = cli_call(cli, "failed", buf_slice(&params), ret_result, err);
    buf_free(&params);
    return code;
}

static int wait_for(struct cli *cli, struct err *err)
{
    struct buf params = {0}, result = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    json_end(&json, '}');
    int code = cli_call(cli, "wait", buf_slice(&params), &result, err);
    buf_free(&result);
    buf_free(&params);
    return code;
}

/* What lectern failed --excluded says of them. */
static const char *why(const char *reason)
{
    static const char *const sentences[][2] = {
        {"redirect", "sends one to another page"},
        {"search", "a form to search the manual with"},
        {"whole", "has other pages once more, on one"},
        {"menu", "only says where other pages are"},
        {"same", "equal to another file, which is in the tree"},
        {"part", "a part of another file, read where one includes it"},
        {"variant", "another layout of a document that is in the tree"},
        {"link", "a link out of the manual's folder, not followed: lectern "
                 "add --follow-links, if you trust it"},
        {"lists", "made besides the text: lists, uses, listings, a converter's "
                  "files, Texinfo"},
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (!strcmp(reason, sentences[i][0]))
            return sentences[i][1];
    return reason;
}

/* Files of one manual of which the same is said. */
struct group {
    const char *manual, *message;
    const char *files[MAX_NAMED];
    size_t count;
};

enum { MAX_GROUPS = 300 /* looked through for one of the same message */ };

struct groups {
    struct group *items;
    size_t count, capacity;
    bool apart; /* each file is a group of its own */
};

static struct group *find_group(struct groups *groups, const char *manual,
                                const char *message)
{
    for (size_t i = 0; i < groups->count && i < MAX_GROUPS && !groups->apart;
         i++)
        if (!strcmp(groups->items[i].message, message) &&
            !strcmp(groups->items[i].manual, manual))
            return &groups->items[i];
    MEM_RESERVE(groups->items, &groups->capacity, groups->count + 1);
    struct group *group = &groups->items[groups->count++];
    *group = (struct group){.manual = manual, .message = message};
    return group;
}

static void put_group(struct buf *out, const struct group *group,
                      const char *before)
{
    buf_printf(out, "%s  ", group->manual);
    if (group->count == 1)
        buf_printf(out, "%s: ", group->files[0]);
    else
        buf_printf(out, "%zu files: ", group->count);
    buf_printf(out, "%s%s", before, group->message);
    for (size_t i = 0; group->count > 1 && i < group->count; i++) {
        buf_printf(out, "%s%s", i ? ", " : ": ",
                   i < MAX_NAMED ? group->files[i] : "…");
        if (i == MAX_NAMED)
            break;
    }
    output_make_printable(out);
}

/* `before` stands before what `key` says. */
static void print_list(const struct cli *cli, const cJSON *list,
                       const char *key, const char *before)
{
    struct groups groups = {.apart = !cli->columns};
    const cJSON *file;
    cJSON_ArrayForEach (file, list) {
        struct group *group =
            find_group(&groups, json_get_text(file, "manual", ""),
                       why(json_get_text(file, key, "")));
        if (group->count < MAX_NAMED)
            group->files[group->count] = json_get_text(file, "file", "");
        group->count++;
    }
    for (size_t i = 0; i < groups.count; i++) {
        struct buf line = {0};
        put_group(&line, &groups.items[i], before);
        output_line(cli, &line, "    ");
        buf_free(&line);
    }
    free(groups.items);
}

static void print(const struct cli *cli, const cJSON *result)
{
    const cJSON *manual;
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(result, "manuals")) {
        struct buf line = {0};
        buf_printf(&line, "%s  %s", json_get_text(manual, "manual", ""),
                   json_get_text(manual, "reason", ""));
        output_make_printable(&line);
        output_line(cli, &line, "    ");
        buf_free(&line);
    }
    print_list(cli, cJSON_GetObjectItemCaseSensitive(result, "files"), "reason",
               "");
    print_list(cli, cJSON_GetObjectItemCaseSensitive(result, "warnings"),
               "message", "read, but ");
    print_list(cli, cJSON_GetObjectItemCaseSensitive(result, "excluded"),
               "reason", "excluded: ");
}

/* With --retry and --wait what still fails, else what has failed so far. */
int cmd_failed(struct cli *cli, struct err *err)
{
    const struct options *options = &cli->options;
    struct buf text = {0};
    cJSON *result = NULL;
    int code = request(cli, options->retry, &text, err);
    if (!code && options->wait) {
        buf_clear(&text);
        code = wait_for(cli, err);
        if (!code)
            code = request(cli, false, &text, err);
    } else if (!code && options->retry && !options->json) {
        output_remark(cli, "they are tried again in the background: lectern "
                           "failed --wait");
    }
    if (!code && options->json)
        output_json(buf_slice(&text));
    else if (!code)
        code = json_parse(buf_slice(&text), &result, err);
    output_clean(result);
    pager_begin(cli);
    print(cli, result);
    cJSON_Delete(result);
    buf_free(&text);
    return code;
}
