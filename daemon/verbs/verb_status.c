/* What there is, and what goes on. */
#include <stdlib.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/version.h"
#include "daemon/engine/engine.h"
#include "daemon/fleet/fleet_look.h"
#include "daemon/jobs/jobs.h"
#include "daemon/roles.h"
#include "daemon/verbs/verb_model.h"
#include "daemon/verbs/result.h"
#include "memory/vectors/dense.h"
#include "memory/vectors/vectors.h"

enum { OPEN_MS = 30000 };

struct manuals {
    struct manual *items;
    size_t count;
};

static int manuals_read(struct store *store, struct manuals *ret,
                        struct err *err)
{
    struct store_txn *txn;
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, &ret->items, &ret->count, err);
    store_end(txn);
    return code;
}

static void manuals_free(struct manuals *manuals)
{
    for (size_t i = 0; i < manuals->count; i++)
        manual_free(&manuals->items[i]);
    free(manuals->items);
}

static const char *state_name(const struct job_state *state)
{
    return state->running    ? "indexing"
           : state->queued   ? "queued"
           : state->behind   ? "changed"
           : state->encoding ? "encoding"
           : state->err.code ? "failed"
                             : "idle";
}

/* What vectors must have been made by, to be current. */
struct wanted {
    bool known; /* the model is open */
    struct hash128 policy;
};

static struct wanted wanted_policy(struct daemon *daemon)
{
    struct engine_embedder e;
    struct embedder_facts facts;
    if (!engine_context(daemon->engine))
        return (struct wanted){0};
    engine_embedder(daemon->engine, false, NULL, &e);
    if (e.embedder.facts(&e, &facts, NULL)) /* all were made by another one */
        return (struct wanted){.known = true};
    return (struct wanted){true, memories_policy(&daemon->policy, &facts)};
}

static const char *memories_name(const struct view *view,
                                 const struct job_state *state,
                                 const struct wanted *wanted)
{
    const struct vectors *vectors = view ? view->vectors : NULL;
    if (state->encoding)
        return "computing";
    if (!vectors)
        return "none";
    bool current =
        vectors_generation(vectors) == view->manual.generation &&
        (!wanted->known || hash_equal(vectors_policy(vectors), wanted->policy));
    return current ? "current" : "older";
}

static void put_memories(struct json *json, const struct view *view,
                         const struct job_state *state,
                         const struct wanted *wanted)
{
    bool any = view && view->vectors;
    json_field_text(json, "memories", memories_name(view, state, wanted));
    json_field_int(json, "segments",
                   any ? (int64_t)vectors_segments(view->vectors) : 0);
    json_field_int(json, "encoded", (int64_t)state->encoded_so_far);
    if (state->to_encode) {
        json_key(json, "encoding");
        json_begin(json, '{');
        json_field_int(json, "done", (int64_t)state->encoded);
        json_field_int(json, "total", (int64_t)state->to_encode);
        json_end(json, '}');
    }
    if (state->memory_err.code) {
        json_key(json, "memories_error");
        rpc_error_data(json, &state->memory_err);
    }
}

/* What is still to be done, as far as it is known. */
static void put_backlog(struct json *json, const struct job_state *state)
{
    json_key(json, "backlog");
    json_begin(json, '{');
    json_field_bool(json, "changed", state->behind || state->queued);
    if (state->counted)
        json_field_int(json, "files", (int64_t)state->pending);
    else
        json_field_null(json, "files");
    json_field_int(json, "segments",
                   (int64_t)(state->to_encode - state->encoded));
    json_end(json, '}');
}

/* How many files are not in the tree, by why, as the member `member`. */
static void put_excluded(struct json *json, const char *member,
                         const struct manual *manual, const struct view *view)
{
    int64_t counts[EXCLUDED_KINDS] = {0};
    for (uint32_t i = 0; view && i < view->outline->file_count; i++)
        counts[view->outline->excluded[i]]++;
    json_key(json, member);
    json_begin(json, '{');
    for (int why = EXCLUDED_NOT + 1; why < EXCLUDED_KINDS; why++)
        if (counts[why])
            json_field_int(json, excluded_name(why), counts[why]);
    if (manual->not_followed)
        json_field_int(json, "link", (int64_t)manual->not_followed);
    json_end(json, '}');
}

/* Why nothing of a manual can be read, if so: that goes before why an update
 * failed. */
static void check_damage(const struct snapshot *snapshot,
                         const struct manual *manual, struct err *err)
{
    if (!snapshot_view(snapshot, manual->name) &&
        snapshot_damaged(snapshot, manual->name))
        snapshot_check(snapshot, manual->name, err);
}

static void put_manual(struct json *json, const struct manual *manual,
                       const struct job_state *state, const struct view *view,
                       const struct wanted *wanted)
{
    json_begin(json, '{');
    json_field_text(json, "name", manual->name);
    json_field_text(json, "root", manual->root);
    /* Also before an update has failed for it. */
    if (manual->root[0] && file_is_gone(manual->root))
        json_field_bool(json, "gone", true);
    json_field_int(json, "generation", (int64_t)manual->generation);
    json_field_int(json, "files", (int64_t)(manual->files + manual->failed));
    json_field_int(json, "nodes", (int64_t)manual->nodes);
    json_field_int(json, "words", (int64_t)manual->words);
    json_field_int(json, "failed", (int64_t)manual->failed);
    put_excluded(json, "excluded", manual, view);
    put_excluded(json, "left_out", manual, view); /* formerly */
    if (state->counted)
        json_field_int(json, "pending", (int64_t)state->pending);
    else
        json_field_null(json, "pending");
    json_field_bool(json, "stale",
                    state->running || state->queued || state->behind ||
                        state->err.code);
    json_field_int(json, "indexed_at", manual->indexed_at);
    json_field_text(json, "state", state_name(state));
    put_backlog(json, state);
    if (state->err.code) {
        json_key(json, "error");
        rpc_error_data(json, &state->err);
    }
    if (state->retry_ms >= 0)
        json_field_double(json, "retry_in", (double)state->retry_ms / 1000, 1);
    put_memories(json, view, state, wanted);
    json_end(json, '}');
}

/* "manuals", and in *ret_state "indexing", "degraded" or "idle". */
static void put_manuals(struct json *json, const struct call *call,
                        const struct manuals *manuals, const char **ret_state)
{
    bool busy = false, failed = false;
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    struct wanted wanted = wanted_policy(call->daemon);
    json_key(json, "manuals");
    json_begin(json, '[');
    for (size_t i = 0; i < manuals->count; i++) {
        struct job_state state;
        jobs_state(call->daemon->jobs, manuals->items[i].id, &state);
        check_damage(snapshot, &manuals->items[i], &state.err);
        busy = busy || state.running || state.queued || state.encoding ||
               (state.behind && !state.err.code);
        failed = failed || state.err.code || state.memory_err.code;
        put_manual(json, &manuals->items[i], &state,
                   snapshot_view(snapshot, manuals->items[i].name), &wanted);
    }
    json_end(json, ']');
    result_damaged(json, snapshot, NULL);
    failed = failed || snapshot->damaged_count ||
             store_may_write(call->daemon->store, NULL);
    snapshot_unref(snapshot);
    *ret_state = busy ? "indexing" : failed ? "degraded" : "idle";
}

int verb_ls(struct call *call, struct json *json, struct err *err)
{
    struct manuals manuals = {0};
    struct buf unpacked = {0};
    const char *state;
    int code = manuals_read(call->daemon->store, &manuals, err);
    if (code)
        return code;
    config_put_unpacked(call->daemon->config, &unpacked);
    json_begin(json, '{');
    put_manuals(json, call, &manuals, &state);
    json_field_text(json, "unpacked", unpacked.data);
    json_end(json, '}');
    buf_free(&unpacked);
    manuals_free(&manuals);
    return 0;
}

static void put_watch(struct json *json, struct watch *watch)
{
    struct watch_state state;
    watch_state(watch, &state);
    json_key(json, "watch");
    json_begin(json, '{');
    json_field_text(json, "mode", watch_mode_name(state.mode));
    json_field_int(json, "folders", (int64_t)state.folders);
    json_field_bool(json, "limited", state.limited);
    json_field_int(json, "overflows", (int64_t)state.overflows);
    if (state.last_event)
        json_field_double(json, "last_event",
                          (double)(clock_ms() - state.last_event) / 1000, 3);
    else
        json_field_null(json, "last_event");
    json_end(json, '}');
}

static void put_store(struct json *json, struct store *store)
{
    struct store_pages pages;
    uint64_t used, map;
    struct err err = {.position = -1};
    store_size(store, &used, &map);
    json_key(json, "store");
    json_begin(json, '{');
    json_field_int(json, "bytes", (int64_t)used);
    json_field_int(json, "map", (int64_t)map);
    if (store_may_write(store, &err)) {
        json_key(json, "error");
        rpc_error_data(json, &err);
    }
    if (!store_pages(store, false, &pages, NULL)) {
        json_field_int(json, "free", (int64_t)pages.free);
        json_key(json, "tables");
        json_begin(json, '{');
        for (size_t t = 0; t < pages.count; t++) {
            json_key(json, pages.tables[t].name);
            json_begin(json, '{');
            json_field_int(json, "entries", (int64_t)pages.tables[t].entries);
            json_field_int(json, "bytes", (int64_t)pages.tables[t].bytes);
            json_end(json, '}');
        }
        json_end(json, '}');
    }
    json_end(json, '}');
}

/* What is remembered of prompts, of both models. */
static void put_prompts(struct json *json, const struct daemon *daemon)
{
    struct prompt_files_facts files = {0};
    struct engine_prompts prompts;
    engine_prompts(roles_answers(daemon), &prompts);
    if (daemon->prompt_files)
        prompt_files_facts(daemon->prompt_files, &files);
    json_key(json, "prompts");
    json_begin(json, '{');
    json_field_int(json, "asked", (int64_t)prompts.counts.prompts);
    json_field_int(json, "tokens", (int64_t)prompts.counts.tokens);
    json_key(json, "memory");
    json_begin(json, '{');
    json_field_int(json, "prompts", (int64_t)prompts.count);
    json_field_int(json, "bytes", (int64_t)prompts.bytes);
    json_field_int(json, "max", (int64_t)prompts.max_bytes);
    json_field_int(json, "hits", (int64_t)prompts.counts.from_memory);
    json_field_int(json, "tokens", (int64_t)prompts.counts.in_memory);
    json_end(json, '}');
    json_key(json, "disk");
    json_begin(json, '{');
    json_field_int(json, "files", (int64_t)files.count);
    json_field_int(json, "bytes", (int64_t)files.bytes);
    json_field_int(json, "max", (int64_t)files.max_bytes);
    json_field_int(json, "hits", (int64_t)prompts.counts.from_files);
    json_field_int(json, "tokens", (int64_t)prompts.counts.in_files);
    json_field_int(json, "evicted", (int64_t)files.evicted);
    json_field_int(json, "changed", (int64_t)files.changed);
    json_field_int(json, "damaged", (int64_t)files.damaged);
    json_end(json, '}');
    json_end(json, '}');
}

/* How many vectors are searched, and by what. */
static void put_vectors(struct json *json, const struct snapshot *snapshot)
{
    struct dense_state state;
    dense_state(snapshot->dense, &state);
    json_key(json, "vectors");
    json_begin(json, '{');
    json_field_int(json, "segments", (int64_t)state.rows);
    json_field_text(json, "index", state.indexed ? "lists" : "flat");
    if (state.indexed) {
        json_field_int(json, "lists", state.lists);
        json_field_int(json, "probes", state.probes);
        json_field_int(json, "added", (int64_t)state.added);
        json_field_int(json, "gone", (int64_t)state.gone);
        json_field_int(json, "bytes", (int64_t)state.bytes);
    }
    json_field_bool(json, "due", dense_is_due(snapshot->dense));
    json_end(json, '}');
}

/* Null: it is not known. */
static void put_seconds(struct json *json, const char *member, int64_t seconds)
{
    if (seconds < 0)
        json_field_null(json, member);
    else
        json_field_int(json, member, seconds);
}

/* Of the fleet's manuals, those that are not held here. */
static void put_elsewhere(struct json *json, const struct daemon *daemon)
{
    cJSON *names = fleet_elsewhere(daemon->config);
    const cJSON *name;
    json_key(json, "elsewhere");
    json_begin(json, '[');
    cJSON_ArrayForEach (name, names)
        if (cJSON_IsString(name))
            json_text(json, name->valuestring);
    json_end(json, ']');
    cJSON_Delete(names);
}

/* How current what a fleet's reader holds is, as `lectern fleet fetch` wrote it. */
static void put_fleet(struct json *json, const struct daemon *daemon)
{
    struct fleet_look look;
    fleet_look(daemon->config, &look);
    if (!look.is_reader)
        return;
    json_key(json, "fleet");
    json_begin(json, '{');
    put_seconds(json, "looked", look.looked);
    json_field_bool(json, "fresh", look.is_fresh);
    if (!look.is_fresh) {
        put_seconds(json, "behind", look.behind);
        json_field_text(json, "problem", look.problem);
    }
    put_elsewhere(json, daemon);
    json_end(json, '}');
}

static void put_daemon(struct json *json, const struct call *call)
{
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    json_field_int(json, "generation", (int64_t)snapshot->generation);
    json_field_text(json, "version", LECTERN_VERSION);
    json_field_int(json, "pid", getpid());
    json_field_double(json, "uptime",
                      (double)(clock_ms() - call->daemon->started_ms) / 1000,
                      1);
    models_put(json, call->daemon);
    put_store(json, call->daemon->store);
    put_watch(json, call->daemon->watch);
    put_vectors(json, snapshot);
    put_prompts(json, call->daemon);
    put_fleet(json, call->daemon);
    if (json_get_bool(call->params, "config", false)) {
        json_key(json, "config");
        config_put_json(call->daemon->config, json);
    }
    snapshot_unref(snapshot);
}

int verb_status(struct call *call, struct json *json, struct err *err)
{
    struct manuals manuals = {0};
    const char *state;
    if (json_get_bool(call->params, "open", false))
        models_open(call->daemon);
    int code = manuals_read(call->daemon->store, &manuals, err);
    if (code)
        return code;
    json_begin(json, '{');
    put_manuals(json, call, &manuals, &state);
    json_field_text(json, "state", state);
    put_daemon(json, call);
    json_end(json, '}');
    manuals_free(&manuals);
    return 0;
}
