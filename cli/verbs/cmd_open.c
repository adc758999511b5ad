#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "cli/output/address.h"
#include "cli/output/last_answer.h"
#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/output/gunzip_copy.h"

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

/* Where neither $BROWSER nor $EDITOR says with what.  Without a browser the
 * address is all that can be given. */
static int show_by_default(const char *url, struct err *err)
{
    enum { NO_BROWSER = 3 /* of xdg-open */ };
    int status = address_run("xdg-open", NULL, url);
    if (status == 127 || status == NO_BROWSER)
        puts(url);
    else if (status)
        return err_set(err, ERR_IO, "xdg-open ended with status %d", status);
    return 0;
}

static int show_in(const char *program, int status, const char *url,
                   struct err *err)
{
    if (!status)
        return 0;
    if (status == 127)
        return err_set(err, ERR_IO,
                       "cannot run %s; set BROWSER or EDITOR, or "
                       "use --print: %s",
                       program, url);
    return err_set(err, ERR_IO, "%s ended with status %d", program, status);
}

/* What is opened, and with what. */
struct target {
    struct buf file; /* the bytes of its name */
    struct buf url;
    int64_t line;
    const char *browser, *editor; /* NULL: not this one */
};

static void choose_program(struct target *target, bool source)
{
    const char *browser = getenv("BROWSER"), *editor = getenv("EDITOR");
    bool edits = editor && editor[0];
    bool browses = browser && browser[0] && !(source && edits);
    target->browser = browses ? browser : NULL;
    target->editor = !browses && edits ? editor : NULL;
}

static int show(const struct target *target, struct err *err)
{
    const char *url = target->url.data;
    char place[32];
    if (target->browser)
        return show_in(target->browser, run_browsers(target->browser, url), url,
                       err);
    if (!target->editor)
        return show_by_default(url, err);
    snprintf(place, sizeof place, "+%lld", (long long)target->line);
    return show_in(target->editor,
                   address_run(target->editor, target->line > 0 ? place : NULL,
                               target->file.data),
                   url, err);
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

static void put_file(struct buf *out, const cJSON *result)
{
    const char *encoded = json_get_text(result, "file_encoded", NULL);
    if (encoded)
        url_put_decoded(out, slice_of(encoded));
    else
        buf_put_text(out, json_get_text(result, "file", ""));
}

/* The address: of what is in the file, where that is packed and no editor
 * opens it.  Who only asks for it gets that of the packed one in its stead.  Nothing
 * finds a place within a source by its address. */
static int put_address(const struct cli *cli, const struct target *target,
                       const cJSON *result, const cJSON *citation,
                       struct buf *out, struct err *err)
{
    const char *words = json_get_text(result, "text", NULL);
    bool source = json_get_bool(result, "source", false);
    struct buf unpacked = {0};
    int code =
        target->editor ? 0 : unpacked_copy(target->file.data, &unpacked, err);
    if (code && (cli->options.json || cli->options.print)) {
        output_remark(cli, "%s", err->message);
        code = 0;
    }
    if (!code)
        address_put_url(out, unpacked.size ? unpacked.data : target->file.data,
                        source ? NULL : json_get_text(result, "anchor", NULL),
                        source ? NULL
                               : json_get_text(citation, "quote", words));
    buf_free(&unpacked);
    return code;
}

static int finish(struct cli *cli, const struct buf *text,
                  const cJSON *citation, struct err *err)
{
    cJSON *result = NULL;
    struct target target = {0};
    int code = json_parse(buf_slice(text), &result, err);
    if (code)
        return code;
    put_file(&target.file, result);
    target.line = json_get_int(result, "line", 0);
    if (!cli->options.json && !cli->options.print)
        choose_program(&target, json_get_bool(result, "source", false));
    code = put_address(cli, &target, result, citation, &target.url, err);
    if (!code && cli->options.json)
        print_json(text, target.url.data);
    else if (!code && cli->options.print)
        puts(target.url.data);
    else if (!code)
        code = show(&target, err);
    buf_free(&target.url);
    buf_free(&target.file);
    cJSON_Delete(result);
    return code;
}

/* Where a citation's words stand; of a result of search there is only its node. */
static void put_cited_place(struct json *json, const cJSON *citation)
{
    const char *file = json_get_text(citation, "file", NULL);
    const cJSON *span = cJSON_GetObjectItemCaseSensitive(citation, "span");
    const cJSON *from = cJSON_GetArrayItem(span, 0);
    if (!file || !cJSON_IsNumber(from))
        return;
    json_field_text(json, "file", file);
    json_field_int(json, "at", (int64_t)from->valuedouble);
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
    put_cited_place(&json, citation);
    json_end(&json, '}');
    code = cli_call(cli, "open", buf_slice(&params), &text, err);
    if (!code)
        code = finish(cli, &text, citation, err);
    cJSON_Delete(citation);
    buf_free(&text);
    buf_free(&params);
    return code;
}
