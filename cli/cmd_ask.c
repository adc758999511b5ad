#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/output.h"

static void build(const struct cli *cli, struct buf *params)
{
    struct json json = json_to(params);
    json_begin(&json, '{');
    cli_param_search(cli, &json);
    cli_param_text(&json, "answer", cli->options.answer);
    cli_param_true(&json, "strict", cli->options.strict);
    json_end(&json, '}');
}

static bool is_none(const cJSON *result)
{
    return !strcmp(json_get_text(result, "kind", "none"), "none");
}

static void print_citations(const struct cli *cli, const cJSON *result)
{
    const cJSON *citation;
    cJSON_ArrayForEach (citation,
                        cJSON_GetObjectItemCaseSensitive(result, "citations")) {
        const cJSON *path = cJSON_GetObjectItemCaseSensitive(citation, "path");
        struct buf line = {0};
        buf_printf(&line, "[%lld] ", (long long)json_get_int(citation, "n", 0));
        output_put_title_path(&line, path);
        buf_put_text(&line, "  ");
        output_put_place(&line, citation);
        output_dim(cli, line.data);
        putchar('\n');
        buf_free(&line);
    }
}

static void print_answer(const struct cli *cli, const cJSON *result)
{
    const cJSON *explain = cJSON_GetObjectItemCaseSensitive(result, "explain");
    if (is_none(result)) {
        if (!cli->options.quiet)
            fputs("Nothing in the manuals answers this.\n", stderr);
    } else {
        const char *answer = json_get_text(result, "answer", "");
        size_t size = strlen(answer);
        output_text(answer);
        if (size && answer[size - 1] != '\n')
            putchar('\n');
        putchar('\n');
        print_citations(cli, result);
    }
    if (cli->options.explain && explain) {
        struct buf text = {0};
        output_put_readable(&text, explain, 2);
        printf("\nexplain:\n");
        if (text.size)
            output_text(text.data);
        buf_free(&text);
    }
}

static void print_event(const char *event, const char *key, const cJSON *value)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "event", event);
    if (key) {
        cJSON_AddItemToObject(line, key, cJSON_Duplicate(value, true));
    } else {
        const cJSON *member;
        cJSON_ArrayForEach (member, value)
            cJSON_AddItemToObject(line, member->string,
                                  cJSON_Duplicate(member, true));
    }
    char *text = cJSON_PrintUnformatted(line);
    if (text)
        output_json(slice_of(text));
    free(text);
    cJSON_Delete(line);
}

static void print_events(cJSON *result)
{
    cJSON *route = cJSON_DetachItemFromObjectCaseSensitive(result, "route");
    cJSON *citations =
        cJSON_DetachItemFromObjectCaseSensitive(result, "citations");
    const cJSON *citation;
    if (route)
        print_event("route", "route", route);
    cJSON_ArrayForEach (citation, citations)
        print_event("citation", NULL, citation);
    print_event("done", NULL, result);
    cJSON_Delete(route);
    cJSON_Delete(citations);
}

static void judge(struct cli *cli, const cJSON *result)
{
    bool stale = !json_get_bool(result, "fresh", true);
    if (is_none(result))
        cli->status = err_exit_status(ERR_NOT_FOUND);
    if (stale && cli->options.strict)
        cli->status = err_exit_status(ERR_STALE);
    if (stale)
        output_remark(cli, "the index is behind the files: lectern update");
}

int cmd_ask(struct cli *cli, struct err *err)
{
    struct buf params = {0}, text = {0};
    cJSON *result = NULL;
    build(cli, &params);
    int code = cli_call(cli, "ask", buf_slice(&params), &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &result, err);
    if (!code) {
        answer_save(cli, result);
        judge(cli, result);
        if (cli->options.jsonl)
            print_events(result);
        else if (cli->options.json)
            output_json(buf_slice(&text));
        else
            print_answer(cli, result);
    }
    cJSON_Delete(result);
    buf_free(&text);
    buf_free(&params);
    return code;
}
