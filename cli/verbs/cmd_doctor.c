/* Checks everything that a working Lectern needs, and says what it found. */
#include <errno.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/version.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"

enum { MAX_CHECKS = 16, MIN_FREE_MB = 64 };

struct check {
    const char *name;
    int code; /* 0: as it should be */
    struct buf detail;
};

struct exam {
    struct check checks[MAX_CHECKS];
    size_t count;
    cJSON *status; /* of the daemon; NULL: it has not answered */
};

static struct check *add_check(struct exam *exam, const char *name)
{
    struct check *check = &exam->checks[exam->count++];
    check->name = name;
    return check;
}

static void check_programs(struct exam *exam, const struct cli *cli)
{
    struct check *daemon = add_check(exam, "lecternd");
    if (!launch_find("lecternd", &daemon->detail)) {
        daemon->code = ERR_UNREACHABLE;
        buf_put_text(&daemon->detail,
                     "neither beside this program nor in PATH");
    }
    struct check *parser = add_check(exam, "lectern-parse");
    const char *path = config_text(&cli->config, CONFIG_PARSER);
    buf_put_text(&parser->detail, path);
    if (access(path, X_OK) < 0) {
        parser->code = ERR_IO;
        buf_printf(&parser->detail, ": %s", strerror(errno));
    }
}

/* The store's folder, or what is there of it. */
static char *existing_part(const char *path)
{
    char *part = strdup(path);
    while (part && access(part, F_OK) < 0 && errno == ENOENT) {
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            break;
        *slash = '\0';
    }
    return part;
}

static void check_store(struct exam *exam, const struct cli *cli)
{
    struct check *check = add_check(exam, "store");
    const char *path = config_text(&cli->config, CONFIG_STORE);
    char *part = existing_part(path);
    struct statvfs space;
    if (!part || access(part, W_OK | X_OK) < 0 || statvfs(part, &space) < 0) {
        check->code = ERR_STORE;
        buf_printf(&check->detail, "%s: %s", part ? part : path,
                   strerror(errno));
    } else {
        double free_bytes = (double)space.f_bavail * (double)space.f_frsize;
        buf_printf(&check->detail, "%s, ", path);
        output_put_bytes(&check->detail, free_bytes);
        buf_put_text(&check->detail, " free");
        if (strcmp(part, path) != 0)
            buf_put_text(&check->detail, ", not there yet");
        if (free_bytes < MIN_FREE_MB * 1e6)
            check->code = ERR_STORE;
    }
    free(part);
}

static void check_kernel(struct exam *exam)
{
    struct check *seccomp = add_check(exam, "seccomp");
    uint32_t action = SECCOMP_RET_ERRNO;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0) {
        seccomp->code = ERR_IO;
        buf_printf(&seccomp->detail, "the kernel has none: %s",
                   strerror(errno));
    } else {
        buf_put_text(&seccomp->detail, "the kernel has it");
    }
    /* Without landlock the parser is jailed by seccomp alone. */
    struct check *landlock = add_check(exam, "landlock");
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 0)
        buf_printf(&landlock->detail,
                   "the kernel has none (%s); seccomp alone "
                   "confines the parser",
                   strerror(errno));
    else
        buf_printf(&landlock->detail, "version %ld", version);
}

static void put_model(struct buf *out, const cJSON *model)
{
    buf_put_text(out, ", ");
    output_put_count(out, json_get_int(model, "parameters", 0));
    buf_printf(
        out, " parameters, %s, %s on %s", json_get_text(model, "family", ""),
        json_get_text(model, "type", ""), json_get_text(model, "backend", ""));
    if (!json_get_bool(model, "writes", true) &&
        !json_get_bool(model, "scores", false))
        buf_put_text(out, ", makes memories but no answers");
}

static void check_device(struct exam *exam, const cJSON *status)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(status, "model");
    const cJSON *device = cJSON_GetObjectItemCaseSensitive(model, "device");
    struct check *check = add_check(exam, "device");
    output_put_device(&check->detail, model);
    if (!json_get_bool(device, "failed", false))
        return;
    check->code = ERR_MODEL;
    buf_put_text(&check->detail, "; lectern daemon --stop, the next one tries "
                                 "the GPU again");
}

/* The one that the next daemon will have. */
static void check_next_model(struct check *check, const char *configured)
{
    struct buf detail = {0};
    int code = configured[0] ? cli_check_model(configured, &detail) : 0;
    if (code)
        buf_printf(&check->detail,
                   "; the daemon was started so, configured is %s, which "
                   "cannot be used: %s",
                   configured, detail.data);
    else
        buf_printf(&check->detail,
                   "; the daemon was started so, configured is %s: lectern "
                   "daemon --stop",
                   configured[0] ? configured : "none");
    if (!check->code)
        check->code = code;
    buf_free(&detail);
}

/* What the daemon says counts, when there is one. */
static void check_model(struct check *check, const char *configured,
                        const cJSON *model, const char *without)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(model, "error");
    const char *folder = model ? json_get_text(model, "path", "") : configured;
    const char *state = json_get_text(model, "state", "");
    if (error) {
        check->code = ERR_MODEL;
        buf_put_text(&check->detail, json_get_text(error, "message", folder));
    } else if (!folder[0]) {
        buf_printf(&check->detail, "none: %s", without);
    } else {
        check->code = cli_check_model(folder, &check->detail);
    }
    if (!check->code && json_get_int(model, "parameters", 0))
        put_model(&check->detail, model);
    if (!check->code && !strcmp(state, "closed"))
        buf_put_text(&check->detail, ", not opened yet");
    if (strcmp(folder, configured) != 0)
        check_next_model(check, configured);
    if (json_get_bool(model, "changed", false) && !error)
        buf_put_text(&check->detail, "; its folder has changed, the daemon "
                                     "will take what is there now");
}

/* One for both roles, or one each. */
static void check_models(struct exam *exam, const struct cli *cli,
                         const cJSON *status)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(status, "model");
    const cJSON *answers =
        cJSON_GetObjectItemCaseSensitive(status, "answer_model");
    const char *memories = config_model(&cli->config, ROLE_MEMORIES);
    const char *writer = config_model(&cli->config, ROLE_ANSWERS);
    bool differ = answers || strcmp(memories, writer) != 0;
    if (!differ) {
        check_model(add_check(exam, "model"), memories, model,
                    "search goes by words, and answers are passages");
        return;
    }
    check_model(add_check(exam, "memories"), memories, model,
                "search goes by words");
    check_model(add_check(exam, "answers"), writer, answers ? answers : model,
                "they are passages");
}

/* It has none unless somebody has said so. */
static void check_reranker(struct exam *exam, const struct cli *cli,
                           const cJSON *status)
{
    const char *configured = config_model(&cli->config, ROLE_RERANKING);
    const cJSON *model =
        cJSON_GetObjectItemCaseSensitive(status, "rerank_model");
    if (!configured[0] && !model)
        return;
    struct check *check = add_check(exam, "reranking");
    check_model(check, configured, model, "the order stays as it was found");
    if (!check->code && json_get_int(model, "parameters", 0) &&
        !json_get_bool(model, "scores", true)) {
        check->code = ERR_MODEL;
        buf_put_text(&check->detail,
                     ", and is no reranker: the order stays as it was found");
    }
}

/* Manuals whose last update failed: their folder is gone, say. */
static void check_manuals(struct exam *exam, const cJSON *status)
{
    struct check *check = add_check(exam, "manuals");
    const cJSON *manual;
    int bad = 0;
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(status, "manuals")) {
        const cJSON *error = cJSON_GetObjectItemCaseSensitive(manual, "error");
        if (!error)
            continue;
        buf_printf(&check->detail, "%s%s: %s", bad++ ? "; " : "",
                   json_get_text(manual, "name", ""),
                   json_get_text(error, "message", ""));
        check->code = ERR_NOT_FOUND;
    }
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(status, "damaged")) {
        buf_printf(&check->detail, "%s%s: %s", bad++ ? "; " : "",
                   json_get_text(manual, "manual", "a manual"),
                   json_get_text(manual, "reason", ""));
        check->code = ERR_STORE;
    }
    if (!bad)
        buf_printf(&check->detail, "%d, all as they were last read",
                   cJSON_GetArraySize(
                       cJSON_GetObjectItemCaseSensitive(status, "manuals")));
}

/* Every other verb refuses to be answered from another store. */
static void check_store_of_daemon(struct check *check, const struct cli *cli,
                                  const cJSON *status)
{
    const char *ours = config_text(&cli->config, CONFIG_STORE);
    if (cli->config.values[CONFIG_STORE].source == CONFIG_FROM_DEFAULT ||
        !client_check_store(&cli->config, status, NULL))
        return;
    const cJSON *its = config_entry(
        cJSON_GetObjectItemCaseSensitive(status, "config"), CONFIG_STORE);
    check->code = ERR_USAGE;
    buf_printf(&check->detail,
               "; its store is %s, not %s: lectern daemon --stop",
               json_get_text(its, "value", ""), ours);
}

static void check_daemon(struct exam *exam, struct cli *cli)
{
    struct check *check = add_check(exam, "daemon");
    struct buf text = {0};
    struct err err = {0};
    cJSON *status = NULL;
    check->code =
        cli_call(cli, "status", slice_of("{\"open\":true,\"config\":true}"),
                 &text, &err);
    if (!check->code)
        check->code = json_parse(buf_slice(&text), &status, &err);
    output_clean(status);
    if (check->code) {
        buf_put_text(&check->detail, err.message);
    } else {
        const char *version = json_get_text(status, "version", "unknown");
        buf_printf(&check->detail, "version %s, %s", version,
                   json_get_text(status, "state", "state unknown"));
        if (strcmp(version, LECTERN_VERSION) != 0)
            buf_put_text(&check->detail,
                         "; this program is version " LECTERN_VERSION
                         ", restart it: lectern daemon --stop");
        check_store_of_daemon(check, cli, status);
    }
    check_models(exam, cli, status);
    check_reranker(exam, cli, status);
    if (status)
        check_device(exam, status);
    if (status)
        check_manuals(exam, status);
    exam->status = status;
    buf_free(&text);
}

/* The value that the running daemon has for a key, and where it has it from; NULL where
 * that is ours. */
static const cJSON *daemon_value(const struct exam *exam,
                                 const struct config *config,
                                 enum config_key key)
{
    const cJSON *one = config_entry(
        cJSON_GetObjectItemCaseSensitive(exam->status, "config"), key);
    return one && strcmp(json_get_text(one, "value", ""),
                         config_text(config, key)) != 0
               ? one
               : NULL;
}

static void print_people(struct cli *cli, const struct exam *exam)
{
    struct buf out = {0};
    buf_printf(&out, "lectern %s, configuration %s%s\n\n", LECTERN_VERSION,
               cli->config.file, cli->config.file_read ? "" : " (none)");
    for (int i = 0; i < CONFIG_KEYS; i++) {
        enum config_key key = (enum config_key)i;
        buf_printf(&out, "  %-16s %s  (", config_name(key),
                   config_text(&cli->config, key));
        config_put_source(&cli->config, key, &out);
        buf_put_text(&out, ")\n");
        const cJSON *other = daemon_value(exam, &cli->config, key);
        if (other)
            buf_printf(&out, "  %-16s %s  (the running daemon, %s)\n", "",
                       json_get_text(other, "value", ""),
                       json_get_text(other, "source", ""));
    }
    buf_put_byte(&out, '\n');
    for (size_t i = 0; i < exam->count; i++)
        buf_printf(&out, "  %-4s  %-14s %s\n",
                   exam->checks[i].code ? "FAIL" : "ok", exam->checks[i].name,
                   exam->checks[i].detail.data);
    pager_begin(cli);
    output_lines(cli, &out, "                       ");
    buf_free(&out);
}

static void print_json(const struct cli *cli, const struct exam *exam)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    json_begin(&json, '{');
    json_field_bool(&json, "ok", cli->status == 0);
    json_field_text(&json, "version", LECTERN_VERSION);
    json_field_text(&json, "file",
                    cli->config.file_read ? cli->config.file : NULL);
    json_key(&json, "config");
    config_put_json(&cli->config, &json);
    const cJSON *daemon =
        cJSON_GetObjectItemCaseSensitive(exam->status, "config");
    char *text = daemon ? cJSON_PrintUnformatted(daemon) : NULL;
    if (text) {
        json_key(&json, "daemon_config");
        json_raw(&json, slice_of(text));
    }
    cJSON_free(text);
    json_key(&json, "checks");
    json_begin(&json, '[');
    for (size_t i = 0; i < exam->count; i++) {
        const struct check *check = &exam->checks[i];
        json_begin(&json, '{');
        json_field_text(&json, "name", check->name);
        json_field_bool(&json, "ok", !check->code);
        json_field_text(&json, "code", err_name(check->code));
        json_field_string(&json, "detail", buf_slice(&check->detail));
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    output_json(buf_slice(&out));
    buf_free(&out);
}

int cmd_doctor(struct cli *cli, struct err *err)
{
    struct exam exam = {0};
    (void)err;
    check_programs(&exam, cli);
    check_store(&exam, cli);
    check_kernel(&exam);
    check_daemon(&exam, cli);
    for (size_t i = exam.count; i-- > 0;)
        if (exam.checks[i].code)
            cli->status = err_exit_status(exam.checks[i].code);
    if (cli->options.json)
        print_json(cli, &exam);
    else
        print_people(cli, &exam);
    for (size_t i = 0; i < exam.count; i++)
        buf_free(&exam.checks[i].detail);
    cJSON_Delete(exam.status);
    return 0;
}
