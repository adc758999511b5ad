#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/address.h"
#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/output.h"

static bool is_unknown(int code)
{
    return code == ERR_NOT_FOUND || code == ERR_USAGE;
}

/* The entries of $BROWSER, separated by colons, one after the other. */
static int run_browsers(const char *list, const char *url)
{
    int status = 127;
    char *copy = strdup(list), *rest = copy, *entry;
    while (status && copy && (entry = strsep(&rest, ":")))
        status = address_run(entry, NULL, url);
    free(copy);
    return status;
}

/* A source goes to the editor, where there is one. */
static int show(const char *file, int64_t line, bool source, const char *url,
                struct err *err)
{
    const char *browser = getenv("BROWSER"), *editor = getenv("EDITOR");
    const char *program = browser;
    int status;
    if (source && editor && editor[0])
        browser = NULL;
    if (browser && browser[0]) {
        status = run_browsers(browser, url);
    } else if (editor && editor[0]) {
        char place[32];
        snprintf(place, sizeof place, "+%lld", (long long)line);
        program = editor;
        status = address_run(editor, line > 0 ? place : NULL, file);
    } else {
        program = "xdg-open";
        status = address_run(program, NULL, url);
    }
    if (!status)
        return 0;
    if (status == 127)
        return err_set(err, ERR_IO,
                       "cannot run %s; set BROWSER or EDITOR, or "
                       "use --print: %s",
                       program, url);
    return err_set(err, ERR_IO, "%s ended with status %d", program, status);
}

static void print_json(const struct buf *result, const char *url)
{
    struct buf out = {0};
    size_t size = result->size;
    while (size && result->data[size - 1] != '}')
        size--;
    buf_put(&out, result->data, size ? size - 1 : 0);
    struct json json = {&out, true};
    json_field_text(&json, "url", url);
    json_end(&json, '}');
    output_json(buf_slice(&out));
    buf_free(&out);
}

static int finish(struct cli *cli, const struct buf *text,
                  const cJSON *citation, struct err *err)
{
    cJSON *result = NULL;
    struct buf url = {0};
    int code = json_parse(buf_slice(text), &result, err);
    if (code)
        return code;
    const char *file = json_get_text(result, "file", "");
    const char *words = json_get_text(result, "text", NULL);
    address_put_url(&url, file, json_get_text(result, "anchor", NULL),
                    json_get_text(citation, "quote", words));
    if (cli->options.json)
        print_json(text, url.data);
    else if (cli->options.print)
        puts(url.data);
    else
        code = show(file, json_get_int(result, "line", 0),
                    json_get_bool(result, "source", false), url.data, err);
    buf_free(&url);
    cJSON_Delete(result);
    return code;
}

int cmd_open(struct cli *cli, struct err *err)
{
    struct buf params = {0}, text = {0};
    struct json json = json_to(&params);
    cJSON *citation = NULL;
    const char *node;
    int code = answer_node(cli, cli->args.items[0], &citation, &node, err);
    if (code)
        return code;
    json_begin(&json, '{');
    json_field_text(&json, "node", node);
    json_end(&json, '}');
    code = cli_call(cli, "open", buf_slice(&params), &text, err);
    if (!code)
        code = finish(cli, &text, citation, err);
    else if (!citation && answer_number(node) >= 0 && is_unknown(code))
        /* No node either: more likely a citation was meant. */
        code = answer_citation(cli, answer_number(node), &citation, err);
    cJSON_Delete(citation);
    buf_free(&text);
    buf_free(&params);
    return code;
}
