#include <string.h>

#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"

static void put_daemon(struct buf *out, const cJSON *status)
{
    int64_t pid = json_get_int(status, "pid", 0);
    buf_printf(out, "daemon    version %s",
               json_get_text(status, "version", "unknown"));
    if (pid > 0)
        buf_printf(out, ", process %lld", (long long)pid);
    buf_printf(out, "\nstate     %s, generation %lld\n",
               json_get_text(status, "state", "unknown"),
               (long long)json_get_int(status, "generation", 0));
}

static void put_store(struct buf *out, const cJSON *status)
{
    const cJSON *store = cJSON_GetObjectItemCaseSensitive(status, "store");
    buf_put_text(out, "store     ");
    output_put_bytes(out, json_get_double(store, "bytes", 0));
    buf_put_text(out, " of at most ");
    output_put_bytes(out, json_get_double(store, "map", 0));
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(store, "error");
    if (error)
        buf_printf(out, "\n          %s", json_get_text(error, "message", ""));
    buf_put_byte(out, '\n');
}

/* How much of what was asked of the model was read before. */
static void put_prompts(struct buf *out, const cJSON *status)
{
    const cJSON *prompts = cJSON_GetObjectItemCaseSensitive(status, "prompts");
    const cJSON *memory = cJSON_GetObjectItemCaseSensitive(prompts, "memory");
    const cJSON *disk = cJSON_GetObjectItemCaseSensitive(prompts, "disk");
    double asked = json_get_double(prompts, "tokens", 0);
    double reused = json_get_double(memory, "tokens", 0) +
                    json_get_double(disk, "tokens", 0);
    buf_put_text(out, "prompts   ");
    output_put_bytes(out, json_get_double(memory, "bytes", 0));
    buf_put_text(out, " in memory, ");
    output_put_bytes(out, json_get_double(disk, "bytes", 0));
    buf_put_text(out, " on the disk");
    if (asked > 0)
        buf_printf(out, "; %.0f %% of what was asked was read before",
                   100 * reused / asked);
    buf_put_byte(out, '\n');
}

static void put_watch(struct buf *out, const cJSON *status)
{
    const cJSON *watch = cJSON_GetObjectItemCaseSensitive(status, "watch");
    int64_t overflows = json_get_int(watch, "overflows", 0);
    double ago = json_get_double(watch, "last_event", -1);
    buf_printf(out, "watching  %s, ", json_get_text(watch, "mode", "off"));
    output_put_counted(out, json_get_int(watch, "folders", 0), "folder",
                       "folders");
    if (ago >= 0)
        buf_printf(out, ", last change %.0f s ago", ago);
    if (overflows) {
        buf_put_text(out, ", ");
        output_put_count(out, overflows);
        buf_put_text(out, " times too many changes at once");
    }
    if (json_get_bool(watch, "limited", false))
        buf_put_text(out,
                     "\n          the system allows too few watches: raise "
                     "fs.inotify.max_user_watches and "
                     "max_user_instances; until then manuals are "
                     "rescanned from time to time");
    buf_put_byte(out, '\n');
}

/* Nothing, unless packs of a fleet are read here. */
static void put_fleet(struct buf *out, const cJSON *status)
{
    const cJSON *fleet = cJSON_GetObjectItemCaseSensitive(status, "fleet");
    double ago = json_get_double(fleet, "looked", -1);
    double behind = json_get_double(fleet, "behind", -1);
    if (!fleet)
        return;
    buf_put_text(out, "fleet     ");
    if (ago >= 0)
        buf_printf(out, "the registry answered %.0f s ago, ", ago);
    if (json_get_bool(fleet, "fresh", false))
        buf_put_text(out, "all is current\n");
    else if (behind >= 0)
        buf_printf(out, "not all is current for %.0f s: ", behind);
    else
        buf_put_text(out, "not all is current: ");
    if (!json_get_bool(fleet, "fresh", false))
        buf_printf(out, "%s\n", json_get_text(fleet, "problem", ""));
}

static void put_model(struct buf *out, const char *label, const cJSON *model)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(model, "error");
    int64_t parameters = json_get_int(model, "parameters", 0);
    buf_printf(out, "%-9s %s", label, json_get_text(model, "path", "none"));
    if (error) {
        buf_printf(out, "\n          %s", json_get_text(error, "message", ""));
    } else if (parameters) {
        buf_put_text(out, ", ");
        output_put_count(out, parameters);
        buf_printf(out, " parameters, %s", json_get_text(model, "backend", ""));
    } else if (model) {
        const char *state = json_get_text(model, "state", "none");
        buf_put_text(out, strcmp(state, "closed") ? "" : ", not opened yet");
    }
    if (json_get_bool(model, "changed", false) && !error)
        buf_put_text(out, ", its folder has changed: what is there now "
                          "will be taken");
    buf_put_byte(out, '\n');
}

/* One for both roles, or one each. */
static void put_models(struct buf *out, const cJSON *status)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(status, "model");
    const cJSON *answers =
        cJSON_GetObjectItemCaseSensitive(status, "answer_model");
    put_model(out, answers ? "memories" : "model", model);
    if (answers)
        put_model(out, "answers", answers);
    const cJSON *reranks =
        cJSON_GetObjectItemCaseSensitive(status, "rerank_model");
    if (reranks)
        put_model(out, "reranking", reranks);
    bool open = !strcmp(json_get_text(model, "state", ""), "ready");
    buf_put_text(out, "device    ");
    output_put_device(out, answers && !open ? answers : model);
    buf_put_byte(out, '\n');
}

/* Why it is not as its files are. */
static void put_trouble(struct buf *out, const cJSON *manual)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(manual, "error");
    double retry = json_get_double(manual, "retry_in", -1);
    if (!error)
        return;
    buf_printf(out, "    not updated: %s", json_get_text(error, "message", ""));
    if (retry >= 0)
        buf_printf(out, "; next try in %.0f s", retry);
    buf_put_byte(out, '\n');
}

static void put_memories(struct buf *out, const cJSON *manual)
{
    const char *memories = json_get_text(manual, "memories", "none");
    const cJSON *encoding =
        cJSON_GetObjectItemCaseSensitive(manual, "encoding");
    const cJSON *error =
        cJSON_GetObjectItemCaseSensitive(manual, "memories_error");
    if (!strcmp(memories, "computing"))
        buf_put_text(out, encoding ? ", memories are being computed"
                                   : ", memories wait for their turn");
    else if (!strcmp(memories, "older"))
        buf_put_text(out, ", older memories");
    if (encoding) {
        buf_put_text(out, ": ");
        output_put_count(out, json_get_int(encoding, "done", 0));
        buf_put_text(out, " of ");
        output_put_count(out, json_get_int(encoding, "total", 0));
    }
    if (error)
        buf_printf(out, "\n    no new memories: %s",
                   json_get_text(error, "message", ""));
}

static void put_manual(struct buf *out, const cJSON *manual)
{
    int64_t pending = json_get_int(manual, "pending", 0), excluded = 0;
    const cJSON *count;
    cJSON_ArrayForEach (count,
                        cJSON_GetObjectItemCaseSensitive(manual, "excluded"))
        excluded += (int64_t)count->valuedouble;
    buf_put_text(out, "  ");
    if (output_put_index_summary(out, manual))
        out->size--; /* the line goes on */
    else
        buf_put_text(out, json_get_text(manual, "name", ""));
    if (excluded) {
        buf_put_text(out, ", ");
        output_put_count(out, excluded);
        buf_put_text(out, " excluded");
    }
    if (pending > 0) {
        buf_put_text(out, ", ");
        output_put_count(out, pending);
        buf_put_text(out, " pending");
    }
    if (json_get_bool(manual, "stale", false))
        buf_put_text(out, ", stale");
    put_memories(out, manual);
    const char *root = json_get_text(manual, "root", "");
    buf_printf(out, "\n    %s\n",
               root[0] ? root : "unpacked, its files are not here");
    put_trouble(out, manual);
}

int cmd_status(struct cli *cli, struct err *err)
{
    struct buf out = {0};
    cJSON *status = NULL;
    const cJSON *manual;
    int code = cli_request(cli, "status", slice_of("{}"), &status, err);
    if (!code && status) {
        const cJSON *manuals =
            cJSON_GetObjectItemCaseSensitive(status, "manuals");
        put_daemon(&out, status);
        put_models(&out, status);
        put_store(&out, status);
        put_prompts(&out, status);
        put_watch(&out, status);
        put_fleet(&out, status);
        buf_printf(&out, "manuals   %d\n", cJSON_GetArraySize(manuals));
        cJSON_ArrayForEach (manual, manuals)
            put_manual(&out, manual);
        pager_begin(cli);
        output_lines(cli, &out, "          ");
        cli_tell_damage(cli, status);
    }
    cJSON_Delete(status);
    buf_free(&out);
    return code;
}
