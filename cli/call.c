/* Requests with what surrounds them: connecting, progress, JSON results. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/output/last_answer.h"
#include "cli/output/output.h"
#include "cli/output/progress.h"

enum { MAX_QUESTION = 16 << 10 }; /* bytes, from standard input */

struct ears {
    struct progress progress;
    cli_hear *hear; /* NULL: nobody */
    void *user;
};

static void on_notification(void *user, struct slice method,
                            struct slice params)
{
    struct ears *ears = user;
    struct progress *progress = &ears->progress;
    cJSON *object;
    if (!slice_is(method, "\"progress\"")) {
        if (ears->hear)
            ears->hear(ears->user, method, params);
        return;
    }
    if (!progress->on || json_parse(params, &object, NULL))
        return;
    struct buf label = {0};
    buf_printf(&label, "%s  %s", json_get_text(object, "manual", ""),
               json_get_text(object, "phase", ""));
    output_make_label(&label);
    progress_show(progress, label.data, json_get_int(object, "done", 0),
                  json_get_int(object, "total", 0));
    buf_free(&label);
    cJSON_Delete(object);
}

void cli_disconnect(struct cli *cli)
{
    client_close(cli->client);
    cli->client = NULL;
}

/* Whether somebody has said which store is meant, in an option or the file. */
static bool names_store(const struct cli *cli)
{
    return cli->config.values[CONFIG_STORE].source != CONFIG_FROM_DEFAULT;
}

/* Tells what an option asks for and a running daemon has otherwise. */
static void tell_value(const struct cli *cli, enum config_key key,
                       const cJSON *status)
{
    const char *asked = config_text(&cli->config, key);
    const cJSON *entry =
        config_entry(cJSON_GetObjectItemCaseSensitive(status, "config"), key);
    const char *running = json_get_text(entry, "value", asked);
    if (cli->config.values[key].source == CONFIG_FROM_FLAG &&
        strcmp(asked, running) != 0)
        output_remark(cli,
                      "the running daemon has --%s %s, not %s: lectern daemon "
                      "--stop",
                      config_name(key), running[0] ? running : "none", asked);
}

/* A daemon that runs was started with options of its own.  Doctor compares all. */
static int check_running(const struct cli *cli, struct err *err)
{
    const struct options *options = &cli->options;
    struct buf text = {0};
    cJSON *status = NULL;
    int code = 0;
    if (!(names_store(cli) || options->model || options->device) ||
        client_launched(cli->client) || cli->command->run == cmd_doctor)
        return 0;
    code = client_call(cli->client, "status", slice_of("{\"config\":true}"),
                       NULL, NULL, &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &status, err);
    if (code) {
        buf_free(&text);
        return code == ERR_UNREACHABLE ? 0 : code; /* it will be found again */
    }
    if (names_store(cli))
        code = client_check_store(&cli->config, status, err);
    if (!code) {
        tell_value(cli, CONFIG_MODEL, status);
        tell_value(cli, CONFIG_DEVICE, status);
    }
    cJSON_Delete(status);
    buf_free(&text);
    return code;
}

int cli_connect(struct cli *cli, struct err *err)
{
    int code =
        client_open(&cli->config, cli->options.config, true, &cli->client, err);
    if (!code)
        code = check_running(cli, err);
    if (code)
        cli_disconnect(cli);
    return code;
}

int cli_check_store(struct cli *cli, struct err *err)
{
    if (!names_store(cli))
        return 0;
    int code = client_open(&cli->config, cli->options.config, false,
                           &cli->client, NULL);
    if (!code)
        code = check_running(cli, err);
    else
        code = 0; /* none runs */
    cli_disconnect(cli);
    return code;
}

int cli_call_hearing(struct cli *cli, const char *method, struct slice params,
                     cli_hear *hear, void *user, struct buf *ret_result,
                     struct err *err)
{
    struct ears ears = {{.on = cli->progress}, hear, user};
    int code = 0;
    if (!cli->client)
        code = cli_connect(cli, err);
    if (!code)
        code = client_call(cli->client, method, params, on_notification, &ears,
                           ret_result, err);
    progress_clear(&ears.progress);
    return code;
}

static int call_once(struct cli *cli, const char *method, struct slice params,
                     struct buf *ret_result, struct err *err)
{
    return cli_call_hearing(cli, method, params, NULL, NULL, ret_result, err);
}

/* Whether a request may be made twice with the effect of once. */
static bool is_repeatable(const char *method)
{
    return strcmp(method, "rm") && strcmp(method, "stop");
}

int cli_call(struct cli *cli, const char *method, struct slice params,
             struct buf *ret_result, struct err *err)
{
    int code = call_once(cli, method, params, ret_result, err);
    /* A daemon that died under the request is replaced, once. */
    if (code == ERR_UNREACHABLE && cli->client && is_repeatable(method)) {
        cli_disconnect(cli);
        code = call_once(cli, method, params, ret_result, err);
    }
    return code;
}

int cli_call_parsed(struct cli *cli, const char *method, struct slice params,
                    cJSON **ret_value, struct err *err)
{
    struct buf result = {0};
    int code = cli_call(cli, method, params, &result, err);
    if (!code)
        code = json_parse(buf_slice(&result), ret_value, err);
    buf_free(&result);
    return code;
}

int cli_request(struct cli *cli, const char *method, struct slice params,
                cJSON **ret_value, struct err *err)
{
    struct buf result = {0};
    int code = cli_call(cli, method, params, &result, err);
    if (!code && cli->options.json)
        output_json(buf_slice(&result));
    else if (!code)
        code = json_parse(buf_slice(&result), ret_value, err);
    if (!code && *ret_value)
        output_clean(*ret_value);
    buf_free(&result);
    return code;
}

void cli_tell_damage(struct cli *cli, const cJSON *result)
{
    const cJSON *damaged;
    cJSON_ArrayForEach (damaged,
                        cJSON_GetObjectItemCaseSensitive(result, "damaged"))
        output_remark(cli,
                      "%s is damaged in the store and left out (%s): lectern "
                      "verify --repair",
                      json_get_text(damaged, "manual", "a manual"),
                      json_get_text(damaged, "reason", ""));
}

/* Manuals that are not searched, or not as their files are, each with the reason. */
static void tell_missing(struct cli *cli, const cJSON *result)
{
    const cJSON *one;
    cJSON_ArrayForEach (one,
                        cJSON_GetObjectItemCaseSensitive(result, "missing")) {
        const char *manual = json_get_text(one, "manual", "a manual");
        const char *state = json_get_text(one, "state", "");
        const char *reason = json_get_text(one, "reason", "");
        if (!strcmp(state, "indexing"))
            output_remark(cli,
                          "%s is not searched yet: it is being indexed "
                          "(lectern wait returns when it is)",
                          manual);
        else if (!strcmp(state, "failed"))
            output_remark(cli,
                          "%s is not searched, it could not be indexed: %s",
                          manual, reason);
        else
            output_remark(
                cli, "%s is searched as it was, its last update failed: %s",
                manual, reason);
    }
}

/* Readers that were to be asked and did not answer. */
static void tell_readers(struct cli *cli, const cJSON *result)
{
    const cJSON *one;
    cJSON_ArrayForEach (one,
                        cJSON_GetObjectItemCaseSensitive(result, "readers")) {
        const char *problem = json_get_text(one, "problem", NULL);
        if (problem)
            output_remark(cli, "the reader %s is not searched: %s",
                          json_get_text(one, "name", ""), problem);
    }
}

void cli_judge_freshness(struct cli *cli, const cJSON *result)
{
    bool stale = !json_get_bool(result, "fresh", true);
    bool partial = !json_get_bool(result, "complete", true);
    bool strict = cli->options.strict;
    cli_tell_damage(cli, result);
    tell_missing(cli, result);
    tell_readers(cli, result);
    if (strict && (stale || partial))
        cli->status = err_exit_status(ERR_STALE);
    const cJSON *behind = cJSON_GetObjectItemCaseSensitive(result, "behind");
    if (cJSON_IsNumber(behind))
        output_remark(cli,
                      "not all packs of the fleet are the newest, for %.0f s: "
                      "lectern status says why",
                      behind->valuedouble);
    else if (behind)
        output_remark(cli, "not all packs of the fleet are the newest: lectern "
                           "status says why");
    else if (stale && json_get_bool(result, "away", false))
        output_remark(cli, "whether it is up to date is not known: files of a "
                           "manual are not here");
    else if (stale && !cJSON_GetObjectItemCaseSensitive(result, "missing"))
        output_remark(cli, "the index is behind the files: lectern update");
    else if (strict && partial)
        output_remark(cli, "the index is not complete: lectern status");
}

void cli_param_text(struct json *json, const char *key, const char *text)
{
    if (text)
        json_field_text(json, key, text);
}

void cli_param_number(struct json *json, const char *key, long number)
{
    if (number >= 0)
        json_field_int(json, key, number);
}

void cli_param_decimal(struct json *json, const char *key, double number)
{
    if (!isnan(number))
        json_field_double(json, key, number, 9);
}

void cli_param_true(struct json *json, const char *key, bool truth)
{
    if (truth)
        json_field_bool(json, key, true);
}

void cli_tell_nowhere(struct cli *cli, const cJSON *result, bool found)
{
    const cJSON *phrase;
    cJSON_ArrayForEach (phrase,
                        cJSON_GetObjectItemCaseSensitive(result, "nowhere"))
        output_remark(cli,
                      found ? "no section holds \"%s\" as it stands: it was "
                              "searched by its words"
                            : "no section holds \"%s\" as it stands; without "
                              "the quotes its words are searched",
                      phrase->valuestring);
}

void cli_remark_expanded(const struct cli *cli, const cJSON *result)
{
    const char *words = json_get_text(result, "expanded", NULL);
    if (words)
        output_remark(cli, "also searched for what the model adds: %s", words);
}

void cli_tell_nothing(const struct cli *cli, const cJSON *result,
                      const char *otherwise)
{
    bool any = json_get_int(result, "searched", 1) ||
               cJSON_GetObjectItemCaseSensitive(result, "missing");
    if (!cli->options.quiet)
        fprintf(stderr, "%s\n",
                any ? otherwise : "No manual is indexed yet: lectern add DIR");
    if (json_get_int(result, "elsewhere", 0))
        output_remark(cli,
                      "%lld more of the fleet's manuals are not held here "
                      "(lectern status --json names them)",
                      (long long)json_get_int(result, "elsewhere", 0));
}

void cli_put_manual(struct buf *out, const cJSON *result, const cJSON *place)
{
    const char *reader = json_get_text(place, "reader", NULL);
    if (reader)
        buf_printf(out, "%s at %s: ", json_get_text(place, "manual", ""),
                   reader);
    else if (json_get_int(result, "searched", 1) > 1)
        buf_printf(out, "%s: ", json_get_text(place, "manual", ""));
}

int cli_read_question(struct cli *cli, struct buf *out, struct err *err)
{
    if (cli->args.count != 1 || strcmp(cli->args.items[0], "-") != 0) {
        cli_join_args(cli, 0, out);
        return 0;
    }
    size_t size = 1;
    while (size && out->size <= MAX_QUESTION) {
        buf_reserve(out, 4096);
        size = fread(out->data + out->size, 1, 4096, stdin);
        out->size += size;
    }
    if (ferror(stdin))
        return err_errno(err, ERR_IO, "cannot read standard input");
    buf_put(out, "", 0);
    if (out->size > MAX_QUESTION || memchr(out->data, 0, out->size))
        return err_set(err, ERR_USAGE,
                       "standard input is no question: it has more than %d "
                       "bytes, or zero bytes",
                       MAX_QUESTION);
    return 0;
}

void cli_param_manuals(struct cli *cli, struct json *json)
{
    const struct text_list *manuals = &cli->options.manuals;
    if (!manuals->count)
        return;
    json_key(json, "manuals");
    json_begin(json, '[');
    for (size_t i = 0; i < manuals->count; i++)
        json_text(json, manuals->items[i]);
    json_end(json, ']');
}

int cli_param_search(struct cli *cli, struct json *json, struct err *err)
{
    const struct options *options = &cli->options;
    struct buf query = {0};
    int code = cli_read_question(cli, &query, err);
    if (code) {
        buf_free(&query);
        return code;
    }
    json_field_string(json, "query", buf_slice(&query));
    cli_param_manuals(cli, json);
    code = answer_param_node(cli, json, "under", options->under, err);
    cli_param_number(json, "n", options->count);
    cli_param_text(json, "mode", options->mode);
    cli_param_text(json, "kind", options->kind);
    cli_param_true(json, "explain", options->explain);
    cli_param_true(json, "expand", options->expand);
    buf_free(&query);
    return code;
}
