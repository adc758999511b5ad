#include "cli/models/model_get.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/client.h"
#include "cli/models/catalogue.h"
#include "cli/output/output.h"
#include "cli/output/progress.h"

enum { WORDS = 20, MB = 1000000 };

static bool is_folder(const struct catalogue_entry *entry)
{
    return entry->member && entry->member[strlen(entry->member) - 1] == '/';
}

/* Where it belongs; `lectern model list` looks there. */
static void put_path(struct buf *out, const struct catalogue_entry *entry)
{
    config_user_folder("XDG_DATA_HOME", ".local/share", out);
    buf_printf(out, "/models/%s%s", entry->name,
               is_folder(entry) ? "" : ".gguf");
}

/* ---- The catalogue ---- */

static void put_source(struct buf *out, const struct catalogue_entry *entry)
{
    if (entry->url)
        buf_put_text(out, entry->url);
    else
        buf_printf(out, "Python package %s, %s", entry->package, entry->file);
}

static void put_entry_json(struct json *json,
                           const struct catalogue_entry *entry)
{
    struct buf path = {0}, source = {0};
    put_path(&path, entry);
    put_source(&source, entry);
    json_begin(json, '{');
    json_field_text(json, "name", entry->name);
    json_field_text(json, "role", entry->role);
    json_field_text(json, "licence", entry->licence);
    json_field_int(json, "bytes", (int64_t)entry->bytes);
    json_field_text(json, "source", source.data);
    json_field_text(json, "sha256", entry->sha256);
    json_field_text(json, "path", path.data);
    json_field_bool(json, "there", access(path.data, F_OK) == 0);
    json_end(json, '}');
    buf_free(&path);
    buf_free(&source);
}

static void put_entry(struct buf *out, const struct catalogue_entry *entry)
{
    struct buf path = {0}, size = {0};
    put_path(&path, entry);
    output_put_bytes(&size, (double)entry->bytes);
    buf_printf(out, "%c %-22s %-8s %9s  %s  ",
               access(path.data, F_OK) == 0 ? '*' : ' ', entry->name,
               entry->role, size.data, entry->licence);
    put_source(out, entry);
    buf_put_text(out, entry->sha256
                          ? "\n"
                          : " (its sha256 is what that address says)\n");
    buf_free(&path);
    buf_free(&size);
}

static void print_catalogue(struct cli *cli)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    bool json_wanted = cli->options.json;
    if (json_wanted) {
        json_begin(&json, '{');
        json_key(&json, "catalogue");
        json_begin(&json, '[');
    }
    for (const struct catalogue_entry *e = catalogue; e->name; e++)
        if (json_wanted)
            put_entry_json(&json, e);
        else
            put_entry(&out, e);
    if (json_wanted) {
        json_end(&json, ']');
        json_end(&json, '}');
        output_json(buf_slice(&out));
    } else {
        output_text(out.data);
        output_remark(cli, "* is on this machine; lectern model get NAME");
    }
    buf_free(&out);
}

static int find(const char *name, const struct catalogue_entry **ret,
                struct err *err)
{
    struct nearest nearest = suggest_nearest(name);
    for (const struct catalogue_entry *e = catalogue; e->name; e++) {
        if (!strcmp(e->name, name)) {
            *ret = e;
            return 0;
        }
        nearest_try(&nearest, e->name);
    }
    return err_set(err, ERR_USAGE,
                   "'%.80s' is not in the catalogue%s; lectern model get "
                   "prints it",
                   name, suggest_hint(&nearest));
}

/* ---- The download ---- */

/* lectern-get at work. */
struct getting {
    pid_t child;
    FILE *from;
};

static void put_words(const struct catalogue_entry *entry, const char *to,
                      const char *bytes, const char **words)
{
    const char *const all[][2] = {
        {"--to", to},
        {"--sha256", entry->sha256},
        {"--bytes", entry->sha256 ? bytes : NULL},
        {"--package", entry->package},
        {"--file", entry->file},
        {"--member", entry->member},
        {"--member-sha256", entry->member_sha256},
    };
    size_t count = 0;
    words[count++] = "lectern-get";
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i][1])
            continue;
        words[count++] = all[i][0];
        words[count++] = all[i][1];
    }
    words[count++] = entry->url;
    words[count] = NULL;
}

static int spawn(const char *program, const struct catalogue_entry *entry,
                 const char *to, struct getting *ret, struct err *err)
{
    const char *words[WORDS];
    char *argv[WORDS], bytes[24];
    int ends[2];
    posix_spawn_file_actions_t actions;
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)entry->bytes);
    put_words(entry, to, bytes, words);
    memcpy(argv, words, sizeof argv);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(err, ERR_IO, "cannot make a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    errno = posix_spawn(&ret->child, program, &actions, NULL, argv, environ);
    int code = errno ? err_errno(err, ERR_IO, "cannot start %s", program) : 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (code)
        close(ends[0]);
    else
        ret->from = fdopen(ends[0], "r");
    return code;
}

static int take_line(const char *line, const char *name,
                     struct progress *progress, struct err *err)
{
    struct buf label = {0};
    cJSON *value = NULL;
    int code = json_parse(slice_of(line), &value, err);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(value, "error");
    if (error) {
        code = err_set(err, (int)json_get_int(error, "code", ERR_IO), "%s",
                       json_get_text(error, "message", ""));
    } else if (!code) {
        buf_printf(&label, "%s, MB", name);
        progress_show(progress, label.data, json_get_int(value, "done", 0) / MB,
                      json_get_int(value, "total", 0) / MB);
    }
    cJSON_Delete(value);
    buf_free(&label);
    return code;
}

/* Its lines until it ends; the error is the one that it says. */
static int follow(struct cli *cli, struct getting *getting, const char *name,
                  struct err *err)
{
    struct progress progress = {.on = cli->progress};
    char *line = NULL;
    size_t capacity = 0;
    int code = 0, status = 0;
    while (!code && getline(&line, &capacity, getting->from) > 0)
        code = take_line(line, name, &progress, err);
    progress_clear(&progress);
    free(line);
    fclose(getting->from);
    while (waitpid(getting->child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!code && status)
        code = err_set(err, ERR_IO, "lectern-get ended early");
    return code;
}

static int get(struct cli *cli, const struct catalogue_entry *entry,
               const char *to, struct err *err)
{
    struct buf program = {0}, part = {0};
    struct getting getting;
    if (!launch_find("lectern-get", &program))
        return err_set(err, ERR_IO,
                       "the program lectern-get, which downloads, is neither "
                       "beside lectern nor in $PATH");
    output_remark(cli, "%s, %s, into %s", entry->name, entry->licence, to);
    int code = spawn(program.data, entry, to, &getting, err);
    if (!code)
        code = follow(cli, &getting, entry->name, err);
    buf_printf(&part, "%s.part", to);
    if (code && access(part.data, F_OK) == 0)
        output_remark(cli, "what has come stays; the same command goes on from "
                           "there");
    buf_free(&part);
    buf_free(&program);
    return code;
}

static void print_got(struct cli *cli, const struct catalogue_entry *entry,
                      const char *path)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    if (cli->options.json) {
        put_entry_json(&json, entry);
        output_json(buf_slice(&out));
    } else {
        buf_printf(&out, "%s\n", path);
        output_text(out.data);
        output_remark(cli, "to use it: lectern model use --for %s %s",
                      entry->role, path);
    }
    buf_free(&out);
}

int model_get(struct cli *cli, const char *name, struct err *err)
{
    const struct catalogue_entry *entry;
    struct buf path = {0};
    if (!name) {
        print_catalogue(cli);
        return 0;
    }
    int code = find(name, &entry, err);
    if (code)
        return code;
    put_path(&path, entry);
    if (access(path.data, F_OK) != 0)
        code = get(cli, entry, path.data, err);
    if (!code)
        print_got(cli, entry, path.data);
    buf_free(&path);
    return code;
}
