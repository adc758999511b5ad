/* model: what the models on this machine are, which of them is used, and getting
 * more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/models/model_get.h"
#include "cli/models/model_list.h"
#include "cli/output/output.h"

enum { TAKE_MS = 20000, POLL_MS = 100 };

static const char none[] = "none";

/* ---- info ---- */

/* "HiLS: ..."; nothing about what most decoders do. */
static void put_attention(struct buf *out, const cJSON *model)
{
    const char *attention = json_get_text(model, "attention", "full");
    long long chunk = (long long)json_get_int(model, "chunk", 0);
    long long chosen = (long long)json_get_int(model, "chosen", 0);
    if (!strcmp(attention, "hils"))
        buf_printf(out,
                   "  attention: HiLS, a window of %lld slots and %lld chosen "
                   "chunks of %lld\n",
                   (long long)json_get_int(model, "window", 0), chosen, chunk);
    else if (!strcmp(attention, "star"))
        buf_printf(out, "  attention: STAR, %lld chosen chunks of %lld slots\n",
                   chosen, chunk);
    else if (!strcmp(attention, "hici"))
        buf_printf(out, "  attention: HiCI, segments of %lld tokens\n", chunk);
}

static void put_memories(struct buf *out, const cJSON *model)
{
    bool recalls = json_get_bool(model, "recalls", false);
    int64_t layers = json_get_int(model, "layers", 0);
    int64_t first = json_get_int(model, "memory_layers", layers);
    if (!json_get_bool(model, "embeds", true)) {
        buf_printf(out, ", but makes no memories: its attention is %s\n",
                   json_get_text(model, "attention", ""));
        return;
    }
    buf_printf(out, ", and makes memories of sections (%s: %s",
               recalls ? "with recall, pooling" : "pooling",
               json_get_text(model, "pooling", ""));
    if (first < layers)
        buf_printf(out, "; by the first %lld of the layers", (long long)first);
    buf_put_text(out, ")\n");
}

static void put_abilities(struct buf *out, const cJSON *model)
{
    bool writes = json_get_bool(model, "writes", true);
    const char *refused = json_get_text(model, "chat_refused", NULL);
    if (json_get_bool(model, "scores", false)) {
        buf_put_text(out, "  a reranker: it puts what was found in order\n");
        return;
    }
    buf_put_text(out, json_get_bool(model, "chats", false)
                          ? "  writes answers by its chat template"
                      : writes ? "  writes answers"
                               : "  writes no answers");
    put_memories(out, model);
    if (refused)
        buf_printf(out, "  its chat template is not used: %s\n", refused);
    if (!json_get_bool(model, "tokenizer", true))
        buf_put_text(out, "  there is no tokenizer.json: it cannot be used\n");
}

static void put_memory(struct buf *out, const cJSON *model)
{
    double token = json_get_double(model, "token_bytes", 0);
    double context = (double)json_get_int(model, "context", 0);
    buf_put_text(out, "  memory: ");
    output_put_bytes(out, json_get_double(model, "weight_bytes", 0));
    buf_put_text(out, " of weights");
    if (json_get_bool(model, "writes", true)) {
        buf_put_text(out, ", ");
        output_put_bytes(out, token);
        buf_put_text(out, " for each token it has read (");
        output_put_bytes(out, token * context);
        buf_put_text(out, " for all of its context)");
    }
    buf_put_byte(out, '\n');
}

static void put_model(struct buf *out, const cJSON *model)
{
    buf_printf(out, "%s\n  %s, ", json_get_text(model, "path", ""),
               json_get_text(model, "family", ""));
    output_put_count(out, json_get_int(model, "parameters", 0));
    buf_printf(out, " parameters (%s), %lld layers, width %lld, ",
               json_get_text(model, "type", ""),
               (long long)json_get_int(model, "layers", 0),
               (long long)json_get_int(model, "width", 0));
    output_put_count(out, json_get_int(model, "vocabulary", 0));
    buf_put_text(out, " tokens, context ");
    output_put_count(out, json_get_int(model, "context", 0));
    buf_put_byte(out, '\n');
    put_attention(out, model);
    put_abilities(out, model);
    put_memory(out, model);
}

/* What is told when no model has the role. */
static const char *without(enum config_role role)
{
    switch (role) {
    case ROLE_ANSWERS: return " for answers: they are passages";
    case ROLE_MEMORIES: return " for memories: search goes by words";
    case ROLE_RERANKING: return " for reranking";
    default: return ": search goes by words, and answers are passages";
    }
}

/* Of the daemon's own model, which may not be there or not be open. */
static void put_used(struct cli *cli, struct buf *out, const cJSON *model,
                     enum config_role role)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(model, "error");
    const char *state = json_get_text(model, "state", "");
    if (!strcmp(state, none)) {
        buf_printf(out, "no model is in use%s\n", without(role));
    } else if (!strcmp(state, "ready")) {
        put_model(out, model);
        buf_put_text(out, "  in use, on ");
        output_put_device(out, model);
        buf_put_byte(out, '\n');
    } else {
        buf_printf(out, "%s\n  %s\n", json_get_text(model, "path", ""),
                   error ? json_get_text(error, "message", "")
                         : "is still being opened");
        if (error)
            cli->status = err_exit_status(ERR_MODEL);
    }
}

static void folder_param(struct buf *params, const char *folder, bool is_used,
                         const char *role)
{
    struct json json = json_to(params);
    json_begin(&json, '{');
    cli_param_text(&json, "folder", folder);
    cli_param_true(&json, "use", is_used);
    cli_param_text(&json, "for", role);
    json_end(&json, '}');
}

static int info(struct cli *cli, const char *argument, struct err *err)
{
    struct buf path = {0}, params = {0}, out = {0};
    cJSON *result = NULL;
    if (argument)
        config_put_path(argument, NULL, &path);
    folder_param(&params, argument ? path.data : NULL, false, NULL);
    int code = cli_request(cli, "model", buf_slice(&params), &result, err);
    if (!code && result) {
        const cJSON *model = cJSON_GetObjectItemCaseSensitive(result, "model");
        const cJSON *answers =
            cJSON_GetObjectItemCaseSensitive(result, "answer_model");
        const cJSON *reranks =
            cJSON_GetObjectItemCaseSensitive(result, "rerank_model");
        if (argument)
            put_model(&out, model);
        else
            put_used(cli, &out, model, answers ? ROLE_MEMORIES : ROLES);
        if (answers) {
            buf_put_text(&out, "and for answers ");
            put_used(cli, &out, answers, ROLE_ANSWERS);
        }
        if (reranks) {
            buf_put_text(&out, "and for reranking ");
            put_used(cli, &out, reranks, ROLE_RERANKING);
        }
        output_text(out.data);
    }
    /* One that was started only for this does not stay. */
    if (cli->client && client_launched(cli->client))
        cli_stop(cli, NULL);
    cJSON_Delete(result);
    buf_free(&path);
    buf_free(&params);
    buf_free(&out);
    return code;
}

/* ---- use ---- */

/* ROLES: those of memories and of answers. */
static enum config_role role_of(const struct cli *cli)
{
    return cli->options.role ? config_role(cli->options.role) : ROLES;
}

static int ask_status(struct cli *cli, cJSON **ret, struct err *err)
{
    return cli_call_parsed(cli, "status", slice_of("{}"), ret, err);
}

/* The folder that the daemon uses now; "": none. */
static int ask_used(struct cli *cli, struct buf *ret, struct err *err)
{
    cJSON *status = NULL;
    int code = ask_status(cli, &status, err);
    enum config_role role = role_of(cli);
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(
        status, role == ROLE_ANSWERS     ? "answer_model"
                : role == ROLE_RERANKING ? "rerank_model"
                                         : "model");
    if (!code && !model && role == ROLE_ANSWERS) /* one has both roles */
        model = cJSON_GetObjectItemCaseSensitive(status, "model");
    if (!code)
        buf_put_text(ret, json_get_text(model, "path", ""));
    cJSON_Delete(status);
    return code;
}

/* It is taken once no answer is written with the one before. */
static int wait_taken(struct cli *cli, const char *folder, struct err *err)
{
    const struct timespec pause = {0, POLL_MS * 1000000L};
    int64_t end = clock_ms() + TAKE_MS;
    for (;;) {
        struct buf used = {0};
        int code = ask_used(cli, &used, err);
        bool taken = !code && !strcmp(used.size ? used.data : "", folder);
        buf_free(&used);
        if (code || taken)
            return code;
        if (clock_ms() >= end)
            break;
        nanosleep(&pause, NULL);
    }
    output_remark(cli, "the model before is still at work; this one takes its "
                       "place when that has ended");
    return 0;
}

static void print_use(struct cli *cli, const cJSON *model)
{
    struct buf out = {0};
    if (cli->options.json) {
        struct json json = json_to(&out);
        char *text = cJSON_PrintUnformatted(model);
        json_begin(&json, '{');
        json_key(&json, "model");
        json_raw(&json, slice_of(text ? text : "null"));
        json_field_text(&json, "configuration", cli->config.file);
        json_end(&json, '}');
        cJSON_free(text);
        output_json(buf_slice(&out));
    } else {
        if (cJSON_IsObject(model))
            put_model(&out, model);
        else
            buf_printf(&out, "no model is used from now on%s\n",
                       without(role_of(cli)));
        output_text(out.data);
        output_remark(cli, "written into %s", cli->config.file);
        bool memories = role_of(cli) == ROLE_MEMORIES || role_of(cli) == ROLES;
        if (cJSON_IsObject(model) && memories)
            output_remark(cli, "the memories of sections are made anew: "
                               "lectern wait");
    }
    buf_free(&out);
}

/* Writes the role's key, or that of memories and answers and those that would go
 * before it. */
static int write_roles(const struct cli *cli, const char *model,
                       struct err *err)
{
    const char *name = cli->options.role;
    if (name)
        return config_write(&cli->config, config_role_key(config_role(name)),
                            model, err);
    int code = config_write(&cli->config, CONFIG_MODEL, model, err);
    for (int role = 0; role < ROLE_RERANKING && !code; role++)
        if (cli->config.values[config_role_key(role)].source !=
            CONFIG_FROM_DEFAULT)
            code =
                config_write(&cli->config, config_role_key(role), model, err);
    return code;
}

static int use(struct cli *cli, const char *argument, struct err *err)
{
    struct buf path = {0}, params = {0};
    cJSON *result = NULL;
    if (!argument)
        return err_set(err, ERR_USAGE,
                       "which one? lectern model use PATH, or none");
    bool no_model = !strcmp(argument, none);
    if (!no_model)
        config_put_path(argument, NULL, &path);
    while (path.size > 1 && path.data[path.size - 1] == '/')
        path.data[--path.size] = 0;
    const char *folder = no_model ? "" : path.data;
    folder_param(&params, folder, true, cli->options.role);
    int code = cli_call_parsed(cli, "model", buf_slice(&params), &result, err);
    if (!code)
        code = write_roles(cli, no_model ? none : folder, err);
    if (!code)
        code = wait_taken(cli, folder, err);
    if (!code)
        print_use(cli, cJSON_GetObjectItemCaseSensitive(result, "model"));
    cJSON_Delete(result);
    buf_free(&path);
    buf_free(&params);
    return code;
}

/* ---- list ---- */

/* Whether some role has it. */
static bool is_used(const cJSON *status, const char *path)
{
    static const char *const roles[] = {"model", "answer_model",
                                        "rerank_model"};
    bool used = false;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && !used; i++) {
        const cJSON *model = cJSON_GetObjectItemCaseSensitive(status, roles[i]);
        const char *folder = json_get_text(model, "path", "");
        char *real = folder[0] ? realpath(folder, NULL) : NULL;
        used = real && !strcmp(real, path);
        free(real);
    }
    return used;
}

static void print_list_json(const struct model_list *list, const cJSON *status)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    json_begin(&json, '{');
    json_key(&json, "models");
    json_begin(&json, '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_model *m = &list->models[i];
        json_begin(&json, '{');
        json_field_text(&json, "path", m->path);
        json_field_text(&json, "family", m->family);
        json_field_int(&json, "bytes", (int64_t)m->bytes);
        json_field_bool(&json, "used", is_used(status, m->path));
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_key(&json, "places");
    json_begin(&json, '[');
    for (size_t i = 0; i < list->places.count; i++)
        json_text(&json, list->places.items[i]);
    json_end(&json, ']');
    json_end(&json, '}');
    output_json(buf_slice(&out));
    buf_free(&out);
}

static void print_list(struct cli *cli, const struct model_list *list,
                       const cJSON *status)
{
    struct buf out = {0}, places = {0};
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_model *m = &list->models[i];
        struct buf size = {0};
        output_put_bytes(&size, (double)m->bytes);
        buf_printf(&out, "%c %-14s %10s  %s\n",
                   is_used(status, m->path) ? '*' : ' ', m->family, size.data,
                   m->path);
        buf_free(&size);
    }
    if (out.size)
        output_text(out.data);
    for (size_t i = 0; i < list->places.count; i++)
        buf_printf(&places, "%s%s", i ? ", " : "", list->places.items[i]);
    output_remark(cli, "%slooked into %s", list->count ? "* is in use; " : "",
                  places.data);
    buf_free(&out);
    buf_free(&places);
}

static int list(struct cli *cli, struct err *err)
{
    struct model_list models;
    cJSON *status = NULL;
    int code = ask_status(cli, &status, err);
    if (code)
        return code;
    model_list_find(&cli->config, &models);
    if (cli->options.json)
        print_list_json(&models, status);
    else
        print_list(cli, &models, status);
    if (!models.count)
        cli->status = 1;
    model_list_free(&models);
    cJSON_Delete(status);
    return 0;
}

int cmd_model(struct cli *cli, struct err *err)
{
    const char *what = cli->args.items[0];
    const char *folder = cli->args.count > 1 ? cli->args.items[1] : NULL;
    if (!strcmp(what, "use"))
        return use(cli, folder, err);
    if (!strcmp(what, "info"))
        return info(cli, folder, err);
    if (!strcmp(what, "get"))
        return model_get(cli, folder, err);
    if (!strcmp(what, "list") && !folder)
        return list(cli, err);
    return err_set(err, ERR_USAGE,
                   "model does not take '%s'; usage: lectern model use PATH | "
                   "use none | get [NAME] | info [PATH] | list",
                   strcmp(what, "list") ? what : folder);
}
