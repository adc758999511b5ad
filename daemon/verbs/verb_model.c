/* The verb `model`: what a model's folder holds, and using it from now on. */
#include "daemon/verbs/verb_model.h"

#include <stdio.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/roles.h"
#include "daemon/verbs/verbs.h"

enum { OPEN_MS = 30000 };

static void put_attention(struct json *json, const struct model_facts *facts)
{
    json_field_text(json, "attention", facts->attention);
    if (facts->chunk)
        json_field_int(json, "chunk", (int64_t)facts->chunk);
    if (facts->chosen)
        json_field_int(json, "chosen", (int64_t)facts->chosen);
    if (facts->window)
        json_field_int(json, "window", (int64_t)facts->window);
}

static void put_facts(struct json *json, const struct model_facts *facts)
{
    json_field_text(json, "name", facts->name);
    json_field_text(json, "family", facts->family);
    json_field_text(json, "type", facts->type);
    json_field_int(json, "parameters", (int64_t)facts->parameters);
    json_field_int(json, "width", (int64_t)facts->width);
    json_field_int(json, "layers", (int64_t)facts->layers);
    json_field_int(json, "memory_layers", (int64_t)facts->memory_layers);
    json_field_int(json, "vocabulary", (int64_t)facts->vocabulary);
    json_field_int(json, "context", (int64_t)facts->context);
    json_field_bool(json, "recalls", facts->soft_tokens && facts->recall);
    json_field_text(json, "pooling",
                    facts->soft_tokens ? "last" : facts->pooling);
    json_field_bool(json, "writes", facts->writes);
    json_field_bool(json, "chats", facts->chats);
    if (facts->chat_refused)
        json_field_text(json, "chat_refused", facts->chat_refused);
    json_field_bool(json, "embeds", facts->embeds);
    json_field_bool(json, "scores", facts->scores);
    put_attention(json, facts);
    json_field_int(json, "weight_bytes", (int64_t)facts->weight_bytes);
    json_field_int(json, "token_bytes", (int64_t)facts->token_bytes);
    json_field_text(json, "backend", facts->backend);
}

static void put_device(struct json *json, const struct engine_state *state)
{
    const struct kernel_device *device = &state->device;
    json_key(json, "device");
    json_begin(json, '{');
    json_field_text(json, "choice", state->device_name);
    json_field_text(json, "used",
                    !state->open                                ? NULL
                    : strcmp(state->facts.backend, "cuda") != 0 ? "cpu"
                                                                : "cuda");
    if (state->device_note[0])
        json_field_text(json, "reason", state->device_note);
    json_field_bool(json, "failed", state->device_failed);
    if (state->device_there) {
        char version[32];
        snprintf(version, sizeof version, "%u.%u", device->major,
                 device->minor);
        json_field_text(json, "name", device->name);
        json_field_int(json, "number", device->number);
        json_field_text(json, "capability", version);
        json_field_int(json, "memory", (int64_t)device->total);
        json_field_int(json, "free", (int64_t)device->free);
        if (device->lacks)
            json_field_text(json, "lacks", device->lacks);
    }
    json_end(json, '}');
}

/* `second`: NULL: it has but one. */
static void put_roles(struct json *json, const char *first, const char *second)
{
    json_key(json, "roles");
    json_begin(json, '[');
    json_text(json, first);
    if (second)
        json_text(json, second);
    json_end(json, ']');
}

static void put_model(struct json *json, const char *member,
                      struct engine *engine, const char *first,
                      const char *second)
{
    struct engine_state state;
    engine_state(engine, &state);
    json_key(json, member);
    json_begin(json, '{');
    json_field_text(json, "state",
                    !state.folder    ? "none"
                    : state.open     ? "ready"
                    : state.err.code ? "failed"
                                     : "closed");
    json_field_text(json, "path", state.folder);
    put_roles(json, first, second);
    if (state.open)
        put_facts(json, &state.facts);
    if (state.err.code) {
        json_key(json, "error");
        rpc_error_data(json, &state.err);
    }
    json_field_bool(json, "changed", state.changed);
    put_device(json, &state);
    json_end(json, '}');
}

void models_put(struct json *json, const struct daemon *daemon)
{
    bool differ = roles_differ(daemon);
    put_model(json, "model", daemon->engine, "memories",
              differ ? NULL : "answers");
    if (differ)
        put_model(json, "answer_model", daemon->answer_engine, "answers", NULL);
    if (engine_has_model(daemon->rank_engine))
        put_model(json, "rerank_model", daemon->rank_engine, "reranking", NULL);
}

void models_open(const struct daemon *daemon)
{
    engine_ready(daemon->engine, OPEN_MS);
    if (roles_differ(daemon))
        engine_ready(daemon->answer_engine, OPEN_MS);
    if (engine_has_model(daemon->rank_engine))
        engine_ready(daemon->rank_engine, OPEN_MS);
}

/* What the daemon asks of a model that it is to use. */
static int check_use(const char *folder, enum config_role role,
                     const struct model *model, struct err *err)
{
    const struct model_facts *facts = model_facts(model);
    if (role == ROLE_RERANKING && !facts->scores)
        return err_set(err, ERR_MODEL, "%s is no reranker", folder);
    if (role != ROLE_RERANKING && facts->scores)
        return err_set(err, ERR_MODEL,
                       "%s is a reranker: lectern model use --for reranking",
                       folder);
    if (role == ROLE_ANSWERS && !facts->writes)
        return err_set(err, ERR_MODEL, "%s makes memories, but does not write",
                       folder);
    if (role == ROLE_MEMORIES && !facts->embeds)
        return err_set(err, ERR_MODEL, "%s writes, but makes no memories",
                       folder);
    if (!model_tokenizer(model))
        return err_set(err, ERR_MODEL, "%s: there is no tokenizer.json in it",
                       folder);
    return 0;
}

static int look(const char *folder, struct model **ret, struct err *err)
{
    struct model_options options = {.kernels = kernels_cpu(), .check = true};
    struct err cause = {.position = -1};
    if (!model_open(folder, &options, ret, &cause))
        return 0;
    bool named = !cause.path[0] || strstr(cause.message, cause.path);
    err_set(err, ERR_MODEL, "%s%s%s", named ? "" : cause.path,
            named ? "" : ": ", cause.message);
    if (err)
        err_at(err, cause.path[0] ? cause.path : folder);
    return ERR_MODEL;
}

static int use(struct call *call, enum config_role role, const char *folder,
               struct err *err)
{
    int code = roles_use(call->daemon, role, folder, err);
    if (!code)
        jobs_model_changes(call->daemon->jobs);
    return code ? ERR_MODEL : 0;
}

static int of_folder(struct call *call, const char *folder, bool is_used,
                     enum config_role role, struct json *json, struct err *err)
{
    struct model *model = NULL;
    int code = look(folder, &model, err);
    if (!code && is_used)
        code = check_use(folder, role, model, err);
    if (!code && is_used)
        code = use(call, role, folder, err);
    if (!code) {
        json_key(json, "model");
        json_begin(json, '{');
        json_field_text(json, "path", folder);
        put_facts(json, model_facts(model));
        json_field_bool(json, "tokenizer", model_tokenizer(model));
        json_end(json, '}');
    }
    model_close(model);
    return code;
}

int verb_model(struct call *call, struct json *json, struct err *err)
{
    const char *folder = json_get_text(call->params, "folder", NULL);
    bool is_used = json_get_bool(call->params, "use", false);
    const char *name = json_get_text(call->params, "for", NULL);
    enum config_role role = name ? config_role(name) : ROLES;
    int code = 0;
    if (name && role == ROLES)
        return err_set(err, ERR_USAGE,
                       "\"for\" is memories, answers or reranking, not "
                       "'%.40s'",
                       name);
    if (!folder && is_used)
        return err_set(err, ERR_USAGE, "\"use\" needs a \"folder\"");
    if (folder && folder[0] && folder[0] != '/')
        return err_set(err, ERR_USAGE, "\"folder\" is not an absolute path");
    json_begin(json, '{');
    if (folder && folder[0]) {
        code = of_folder(call, folder, is_used, role, json, err);
    } else if (is_used) {
        code = use(call, role, "", err);
        json_field_null(json, "model");
    } else {
        models_open(call->daemon);
        models_put(json, call->daemon);
    }
    json_end(json, '}');
    return code;
}
