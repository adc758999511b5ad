#include "base/config.h"

#include <errno.h>
#include <ctype.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/reader_list.h"
#include "base/suggest.h"

enum {
    MAX_LINE = 4096,
    MAX_PARSERS = 64,
    DEFAULT_PARSERS = 8,
    MAX_SEGMENT = 4096,
    MAX_INTERVAL = 86400
};

enum kind {
    KIND_PATH,
    KIND_PLACE, /* a path or an address */
    KIND_TEXT,
    KIND_NUMBER,
    KIND_CHOICE,
    KIND_DEVICE,
    KIND_READERS
};

static void default_store(struct buf *out);
static void default_parsers(struct buf *out);
static void default_trusted_keys(struct buf *out);
static void default_fleet_key(struct buf *out);
static void default_parser(struct buf *out);

static const char no_model[] = "none";

static const char *const log_levels[] = {[LOG_LEVEL_ERROR] = "error",
                                         [LOG_LEVEL_WARN] = "warn",
                                         [LOG_LEVEL_INFO] = "info",
                                         [LOG_LEVEL_DEBUG] = "debug",
                                         [LOG_LEVEL_DEBUG + 1] = NULL};
static const char *const aggregates[] = {"mean", "attention", NULL};
static const char *const recalls[] = {"off", "aggregate", "children", NULL};

static const char *const links[] = {"inside", "all", NULL};
static const char *const watches[] = {"auto", "inotify", "poll", "off", NULL};

static const char *const answers[] = {"no", "yes", NULL};

static const char *const reranks[] = {"no", "yes", "all", NULL};
static const char *const kv_types[] = {"whole", "int8", NULL};
static const char *const hils[] = {"off", "exact", NULL};

static const struct key {
    const char *name;
    enum kind kind;
    const char *standard;             /* the default, or */
    void (*compute)(struct buf *out); /* what finds it */
    long low, high;                   /* bounds of a number */
    const char *const *choices;
} keys[CONFIG_KEYS] = {
    [CONFIG_SOCKET] = {"socket", KIND_PATH, NULL, config_default_socket, 0, 0},
    [CONFIG_STORE] = {"store", KIND_PATH, NULL, default_store, 0, 0},
    [CONFIG_PARSERS] = {"parsers", KIND_NUMBER, NULL, default_parsers, 1,
                        MAX_PARSERS},
    [CONFIG_PARSER] = {"parser", KIND_PATH, NULL, default_parser, 0, 0},
    [CONFIG_PARSE_SECONDS] = {"parse_seconds", KIND_NUMBER, "60", NULL, 1,
                              3600},
    [CONFIG_PARSE_MEMORY_MB] = {"parse_memory_mb", KIND_NUMBER, "2048", NULL,
                                64, 1 << 20},
    [CONFIG_LOG] = {"log", KIND_CHOICE, "info", NULL, 0, 0, log_levels},
    [CONFIG_MODEL] = {"model", KIND_PATH, NULL, config_default_model, 0, 0},
    [CONFIG_MEMORY_MODEL] = {"memory_model", KIND_PATH, NULL,
                             config_default_memories, 0, 0},
    [CONFIG_ANSWER_MODEL] = {"answer_model", KIND_PATH, "", NULL, 0, 0},
    [CONFIG_RERANK_MODEL] = {"rerank_model", KIND_PATH, "", NULL, 0, 0},
    [CONFIG_DEVICE] = {"device", KIND_DEVICE, "cpu", NULL, 0, 0},
    [CONFIG_AGGREGATE] = {"aggregate", KIND_CHOICE, "mean", NULL, 0, 0,
                          aggregates},
    [CONFIG_RECALL] = {"recall", KIND_CHOICE, "aggregate", NULL, 0, 0, recalls},
    [CONFIG_SEGMENT_TOKENS] = {"segment_tokens", KIND_NUMBER, "256", NULL, 32,
                               MAX_SEGMENT},
    [CONFIG_LATE_INTERACTION] = {"late_interaction", KIND_CHOICE, "yes", NULL,
                                 0, 0, answers},
    [CONFIG_WATCH] = {"watch", KIND_CHOICE, "auto", NULL, 0, 0, watches},
    [CONFIG_LINKS] = {"links", KIND_CHOICE, "inside", NULL, 0, 0, links},
    [CONFIG_SWEEP_SECONDS] = {"sweep_seconds", KIND_NUMBER, "300", NULL, 1,
                              MAX_INTERVAL},
    [CONFIG_POLL_SECONDS] = {"poll_seconds", KIND_NUMBER, "30", NULL, 1,
                             MAX_INTERVAL},
    [CONFIG_MEND] = {"mend", KIND_CHOICE, "yes", NULL, 0, 0, answers},
    [CONFIG_ALIASES] = {"aliases", KIND_CHOICE, "yes", NULL, 0, 0, answers},
    [CONFIG_HILS_TOKENS] = {"hils_tokens", KIND_NUMBER, "2560", NULL, 256,
                            1 << 20},
    [CONFIG_HILS_LAYERS] = {"hils_layers", KIND_NUMBER, "0", NULL, 0, 1000},
    [CONFIG_HILS_RERANK] = {"hils_rerank", KIND_CHOICE, "yes", NULL, 0, 0,
                            reranks},
    [CONFIG_HILS_FROM] = {"hils_from", KIND_NUMBER, "4096", NULL, 1, 1 << 24},
    [CONFIG_PROMPT_MEMORY_MB] = {"prompt_memory_mb", KIND_NUMBER, "512", NULL,
                                 1, 1 << 20},
    [CONFIG_KV_CACHE_TYPE] = {"kv_cache_type", KIND_CHOICE, "whole", NULL, 0, 0,
                              kv_types},
    [CONFIG_PROMPT_DISK_TYPE] = {"prompt_disk_type", KIND_CHOICE, "whole", NULL,
                                 0, 0, kv_types},
    [CONFIG_PROMPT_DISK_MB] = {"prompt_disk_mb", KIND_NUMBER, "1024", NULL, 0,
                               1 << 24},
    [CONFIG_HILS] = {"hils", KIND_CHOICE, "off", NULL, 0, 0, hils},
    [CONFIG_TRUSTED_KEYS] = {"trusted_keys", KIND_PATH, NULL,
                             default_trusted_keys, 0, 0},
    [CONFIG_FLEET] = {"fleet", KIND_TEXT, "", NULL, 0, 0},
    [CONFIG_FLEET_PACKS] = {"fleet_packs", KIND_PLACE, "", NULL, 0, 0},
    [CONFIG_FLEET_SOURCES] = {"fleet_sources", KIND_PATH, "", NULL, 0, 0},
    [CONFIG_FLEET_MANUALS] = {"fleet_manuals", KIND_TEXT, "*", NULL, 0, 0},
    [CONFIG_FLEET_READERS] = {"fleet_readers", KIND_READERS, "", NULL, 0, 0},
    [CONFIG_FLEET_FILES] = {"fleet_files", KIND_CHOICE, "no", NULL, 0, 0,
                            answers},
    [CONFIG_FLEET_KEY] = {"fleet_key", KIND_PATH, NULL, default_fleet_key, 0,
                          0},
};

static void default_trusted_keys(struct buf *out)
{
    config_user_folder("XDG_CONFIG_HOME", ".config", out);
    buf_put_text(out, "/trusted-keys");
}

static void default_fleet_key(struct buf *out)
{
    config_user_folder("XDG_CONFIG_HOME", ".config", out);
    buf_put_text(out, "/fleet-key");
}

static void default_store(struct buf *out)
{
    config_user_folder("XDG_DATA_HOME", ".local/share", out);
}

static void default_parsers(struct buf *out)
{
    unsigned count = pool_cores();
    buf_printf(out, "%u", count < DEFAULT_PARSERS ? count : DEFAULT_PARSERS);
}

static void default_parser(struct buf *out)
{
    config_beside("lectern-parse", out);
}

/* As it is built, then as it is installed; nothing where it is neither. */
static void put_included(const char *name, struct buf *out)
{
    static const char *const places[] = {"", "../share/lectern/"};
    struct buf path = {0}, place = {0};
    for (size_t i = 0; i < 2 && !out->size; i++) {
        buf_clear(&path);
        buf_clear(&place);
        buf_printf(&place, "%s%s", places[i], name);
        config_beside(place.data, &path);
        if (access(path.data, F_OK) == 0)
            buf_put_slice(out, buf_slice(&path));
    }
    buf_free(&path);
    buf_free(&place);
}

void config_default_model(struct buf *out)
{
    put_included("quill", out);
    if (!out->size)
        buf_put_text(out, no_model);
}

void config_default_memories(struct buf *out)
{
    put_included("nib", out);
}

static int check_number(const struct key *key, const char *text,
                        struct err *err)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < key->low || number > key->high)
        return err_set(err, ERR_USAGE,
                       "%s must be a number from %ld to %ld, not '%s'",
                       key->name, key->low, key->high, text);
    return 0;
}

static int choice_of(const struct key *key, const char *text)
{
    for (int i = 0; key->choices[i]; i++)
        if (!strcmp(key->choices[i], text))
            return i;
    return -1;
}

static int check_choice(const struct key *key, const char *text,
                        struct err *err)
{
    struct nearest nearest = suggest_nearest(text);
    struct buf words = {0};
    if (choice_of(key, text) >= 0)
        return 0;
    for (size_t i = 0; key->choices[i]; i++) {
        const char *gap = key->choices[i + 1] ? ", " : " or ";
        buf_put_text(&words, i ? gap : "");
        buf_put_text(&words, key->choices[i]);
        nearest_try(&nearest, key->choices[i]);
    }
    int code = err_set(err, ERR_USAGE, "%s must be %s, not '%s'%s", key->name,
                       words.data, text, suggest_hint(&nearest));
    buf_free(&words);
    return code;
}

/* False: it is no device. */
static bool read_device(const char *text, enum config_device *ret,
                        unsigned *ret_number)
{
    static const char *const names[] = {"auto", "cpu", "cuda"};
    enum { MAX_DIGITS = 3 };
    *ret_number = 0;
    for (int i = DEVICE_AUTO; i <= DEVICE_CUDA; i++) {
        *ret = (enum config_device)i;
        if (!strcmp(text, names[i]))
            return true;
    }
    size_t digits = strlen(text);
    if (strncmp(text, "cuda:", 5) != 0)
        return false;
    text += 5;
    digits -= 5;
    *ret_number = (unsigned)strtoul(text, NULL, 10);
    return digits && digits <= MAX_DIGITS &&
           strspn(text, "0123456789") == digits;
}

static int check_device(const struct key *key, const char *text,
                        struct err *err)
{
    enum config_device device;
    unsigned number;
    if (read_device(text, &device, &number))
        return 0;
    return err_set(err, ERR_USAGE,
                   "%s must be auto, cpu, cuda or cuda:N, not '%s'", key->name,
                   text);
}

static int check_readers(const char *text, struct err *err)
{
    struct reader_place places[READER_LIST_MAX];
    size_t count;
    return reader_list_read(text, places, &count, err);
}

static bool is_model(enum config_key key)
{
    return key == CONFIG_MODEL || key == CONFIG_MEMORY_MODEL ||
           key == CONFIG_ANSWER_MODEL || key == CONFIG_RERANK_MODEL;
}

bool config_is_address(const char *place)
{
    return !strncasecmp(place, "http://", 7) ||
           !strncasecmp(place, "https://", 8);
}

static bool is_path(enum config_key which, const char *text)
{
    if (keys[which].kind == KIND_PLACE)
        return !config_is_address(text);
    return keys[which].kind == KIND_PATH &&
           !(is_model(which) && !strcmp(text, no_model));
}

/* Checks a value and puts it in place; `folder` is where relative paths start,
 * NULL: at the current one. */
static int put(struct config *config, enum config_key which, const char *text,
               const char *folder, enum config_source source, struct err *err)
{
    const struct key *key = &keys[which];
    struct buf value = {0};
    int code = 0;
    if (!text[0])
        code = err_set(err, ERR_USAGE, "%s has no value", key->name);
    else if (key->kind == KIND_NUMBER)
        code = check_number(key, text, err);
    else if (key->kind == KIND_CHOICE)
        code = check_choice(key, text, err);
    else if (key->kind == KIND_DEVICE)
        code = check_device(key, text, err);
    else if (key->kind == KIND_READERS)
        code = check_readers(text, err);
    if (code)
        return code;
    if (is_path(which, text))
        config_put_path(text, folder, &value);
    else
        buf_put_text(&value, text);
    free(config->values[which].text);
    config->values[which].text = value.data;
    config->values[which].source = source;
    return 0;
}

int config_set(struct config *config, enum config_key key, const char *text,
               struct err *err)
{
    return put(config, key, text, NULL, CONFIG_FROM_FLAG, err);
}

int config_load_with(struct config *config, const char *file,
                     const char *const values[CONFIG_KEYS], struct err *err)
{
    int code = config_load(config, file, err);
    for (int key = 0; !code && key < CONFIG_KEYS; key++)
        if (values[key])
            code = config_set(config, (enum config_key)key, values[key], err);
    return code;
}

/* The file while inih reads it. */
struct reading {
    FILE *stream;
    struct config *config;
    char *folder;
    unsigned line;
    int code; /* of the first error */
    struct err *err;
};

static int fail_at_line(struct reading *reading, const char *message)
{
    reading->code = err_set(reading->err, ERR_USAGE, "%s:%u: %s",
                            reading->config->file, reading->line, message);
    if (reading->err)
        err_at(reading->err, reading->config->file);
    return 0;
}

/* inih ends a value at " ;", and this at " #", too. */
static int put_value(struct reading *reading, enum config_key key,
                     const char *value, struct err *err)
{
    struct buf text = {0};
    size_t size = 0;
    while (value[size] && !(value[size] == '#' && size &&
                            isspace((unsigned char)value[size - 1])))
        size++;
    while (size && isspace((unsigned char)value[size - 1]))
        size--;
    buf_put(&text, value, size);
    buf_put(&text, "", 0);
    int code = put(reading->config, key, text.data, reading->folder,
                   CONFIG_FROM_FILE, err);
    buf_free(&text);
    return code;
}

static int on_value(void *user, const char *section, const char *name,
                    const char *value)
{
    struct reading *reading = user;
    struct nearest nearest = suggest_nearest(name);
    struct err problem = {0};
    char message[sizeof problem.message];
    if (reading->code)
        return 0;
    if (section[0] && strcmp(section, "lectern") != 0) {
        snprintf(message, sizeof message,
                 "unknown section [%s]; keys stand in [lectern] or in none",
                 section);
        return fail_at_line(reading, message);
    }
    for (int i = 0; i < CONFIG_KEYS; i++) {
        if (!strcmp(name, keys[i].name)) {
            reading->config->values[i].line = reading->line;
            if (put_value(reading, (enum config_key)i, value, &problem))
                return fail_at_line(reading, problem.message);
            return 1;
        }
        nearest_try(&nearest, keys[i].name);
    }
    snprintf(message, sizeof message, "unknown key '%s'%s", name,
             suggest_hint(&nearest));
    return fail_at_line(reading, message);
}

/* fgets for inih that counts the lines, which Debian's inih does not hand to
 * its callback, and takes indentation away, which inih takes to continue the
 * value before. */
static char *read_line(char *text, int size, void *user)
{
    struct reading *reading = user;
    if (reading->code || !fgets(text, size, reading->stream))
        return NULL;
    reading->line++;
    size_t used = strlen(text), indent = strspn(text, " \t");
    if (used + 1 == (size_t)size && text[used - 1] != '\n') {
        fail_at_line(reading, "line too long");
        return NULL;
    }
    memmove(text, text + indent, used - indent + 1);
    if (text[0] == '[' && strncmp(text, "[lectern]", 9) != 0) {
        text[strcspn(text, "\r\n")] = '\0';
        char message[MAX_LINE / 8];
        snprintf(message, sizeof message,
                 "unknown section %.80s; keys stand in [lectern] or in none",
                 text);
        fail_at_line(reading, message);
        return NULL;
    }
    return text;
}

static int read_file(struct config *config, struct err *err)
{
    FILE *stream = fopen(config->file, "re");
    if (!stream)
        return err_errno(err, ERR_USAGE, "cannot open the configuration %s",
                         config->file);
    struct reading reading = {.stream = stream, .config = config, .err = err};
    const char *slash = strrchr(config->file, '/');
    reading.folder = mem_strndup(config->file, (size_t)(slash - config->file));
    ini_max_line = MAX_LINE;
    int line = ini_parse_stream(read_line, &reading, on_value, &reading);
    if (!reading.code && line) {
        reading.line = (unsigned)line;
        fail_at_line(&reading, "not a line of the form key = value");
    } else if (!reading.code && ferror(stream)) {
        reading.code = err_set(
            err, ERR_USAGE, "cannot read the configuration %s", config->file);
    }
    config->file_read = true;
    free(reading.folder);
    fclose(stream);
    return reading.code;
}

static void put_defaults(struct config *config)
{
    for (int i = 0; i < CONFIG_KEYS; i++) {
        struct buf value = {0};
        if (keys[i].compute)
            keys[i].compute(&value);
        buf_put_text(&value, keys[i].compute ? "" : keys[i].standard);
        config->values[i].text = value.data;
        config->values[i].source = CONFIG_FROM_DEFAULT;
    }
}

int config_load(struct config *config, const char *file, struct err *err)
{
    struct config loaded = {0};
    struct buf path = {0};
    struct stat st;
    int code = 0;
    put_defaults(&loaded);
    if (file) {
        config_put_path(file, NULL, &path);
    } else {
        config_user_folder("XDG_CONFIG_HOME", ".config", &path);
        buf_put_text(&path, "/lectern.ini");
    }
    loaded.file = path.data;
    if (file || stat(loaded.file, &st) == 0)
        code = read_file(&loaded, err);
    const char *socket = getenv("LECTERN_SOCKET");
    if (!code && socket && socket[0])
        code = put(&loaded, CONFIG_SOCKET, socket, NULL,
                   CONFIG_FROM_ENVIRONMENT, err);
    if (code)
        config_free(&loaded);
    else
        *config = loaded;
    return code;
}

void config_free(struct config *config)
{
    for (int i = 0; i < CONFIG_KEYS; i++)
        free(config->values[i].text);
    free(config->file);
    *config = (struct config){0};
}

enum { MAX_FILE = 1 << 20 };

/* `old` with line `number` (from 1; 0: none) in place of which `line` stands. */
static void put_line(struct slice old, unsigned number, const char *line,
                     struct buf *out)
{
    unsigned at = 1;
    for (size_t from = 0; from < old.size; at++) {
        const char *end = memchr(old.data + from, '\n', old.size - from);
        size_t next = end ? (size_t)(end - old.data) + 1 : old.size;
        if (at == number)
            buf_put_text(out, line);
        else
            buf_put(out, old.data + from, next - from);
        from = next;
    }
    if (number)
        return;
    if (old.size && old.data[old.size - 1] != '\n')
        buf_put_byte(out, '\n');
    buf_put_text(out, line);
}

/* Writes it beside the file, reads that, and renames it into place. */
static int write_checked(const char *path, struct slice text,
                         enum config_key key, const char *value,
                         struct err *err)
{
    struct buf trial = {0};
    struct config read = {0};
    buf_printf(&trial, "%s.%ld.new", path, (long)getpid());
    int code = file_write(trial.data, text, err);
    if (!code)
        code = config_load(&read, trial.data, err);
    if (!code && strcmp(config_text(&read, key), value) != 0)
        code = err_set(err, ERR_USAGE,
                       "%s cannot be written into the configuration %s", value,
                       path);
    config_free(&read);
    unlink(trial.data);
    buf_free(&trial);
    return code ? code : file_rewrite(path, text, err);
}

static int make_folder_of(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = mem_strndup(path, (size_t)(slash - path));
    int code = folder[0] ? file_make_folder(folder, 0700, err) : 0;
    free(folder);
    return code;
}

/* The file as it is now, which may have been edited since it was read for a `config`, and
 * its line that has the key; 0: none has. */
static int read_now(const char *path, enum config_key key, struct buf *ret,
                    unsigned *ret_line, struct err *err)
{
    struct config now = {0};
    int code = config_load(&now, path, err);
    if (!code)
        code = file_read(path, MAX_FILE, ret, err);
    *ret_line = now.values[key].line;
    config_free(&now);
    return code;
}

int config_write(const struct config *config, enum config_key key,
                 const char *text, struct err *err)
{
    struct buf old = {0}, line = {0}, all = {0};
    struct stat st;
    unsigned number = 0;
    char room[PATH_MAX], *real = realpath(config->file, room);
    const char *path = real ? real : config->file;
    int code = 0;
    if (stat(path, &st) == 0)
        code = read_now(path, key, &old, &number, err);
    else
        code = make_folder_of(path, err);
    buf_printf(&line, "%s = %s\n", keys[key].name, text);
    put_line(buf_slice(&old), number, line.data, &all);
    if (!code)
        code = write_checked(path, buf_slice(&all), key, text, err);
    if (code && err && !err->path[0])
        err_at(err, path);
    buf_free(&old);
    buf_free(&line);
    buf_free(&all);
    return code;
}

const char *config_text(const struct config *config, enum config_key key)
{
    return config->values[key].text;
}

uint64_t config_number(const struct config *config, enum config_key key)
{
    return strtoull(config->values[key].text, NULL, 10);
}

enum config_key config_role_key(enum config_role role)
{
    static const enum config_key role_keys[] = {
        [ROLE_MEMORIES] = CONFIG_MEMORY_MODEL,
        [ROLE_ANSWERS] = CONFIG_ANSWER_MODEL,
        [ROLE_RERANKING] = CONFIG_RERANK_MODEL,
        [ROLES] = CONFIG_MODEL};
    return role_keys[role];
}

enum config_role config_role(const char *name)
{
    return !strcmp(name, "memories")    ? ROLE_MEMORIES
           : !strcmp(name, "answers")   ? ROLE_ANSWERS
           : !strcmp(name, "reranking") ? ROLE_RERANKING
                                        : ROLES;
}

const char *config_model(const struct config *config, enum config_role role)
{
    enum config_key key = config_role_key(role);
    enum config_source all = config->values[CONFIG_MODEL].source,
                       own = config->values[key].source;
    bool before =
        all > own && (all == CONFIG_FROM_FLAG || own == CONFIG_FROM_DEFAULT);
    if (role != ROLE_RERANKING && (before || !config->values[key].text[0]))
        key = CONFIG_MODEL;
    const char *folder = config->values[key].text;
    return strcmp(folder, no_model) != 0 ? folder : "";
}

enum config_device config_device(const struct config *config,
                                 unsigned *ret_number)
{
    enum config_device device;
    read_device(config->values[CONFIG_DEVICE].text, &device, ret_number);
    return device;
}

int config_choice(const struct config *config, enum config_key key)
{
    return choice_of(&keys[key], config->values[key].text);
}

enum log_level config_log_level(const struct config *config)
{
    return (enum log_level)config_choice(config, CONFIG_LOG);
}

void config_put_source(const struct config *config, enum config_key key,
                       struct buf *out)
{
    static const char *const names[] = {
        [CONFIG_FROM_DEFAULT] = "default",
        [CONFIG_FROM_ENVIRONMENT] = "environment",
        [CONFIG_FROM_FLAG] = "flag",
    };
    enum config_source source = config->values[key].source;
    if (source == CONFIG_FROM_FILE)
        buf_printf(out, "%s:%u", config->file, config->values[key].line);
    else
        buf_put_text(out, names[source]);
}

void config_put_json(const struct config *config, struct json *json)
{
    json_begin(json, '[');
    for (int i = 0; i < CONFIG_KEYS; i++) {
        enum config_key key = (enum config_key)i;
        struct buf source = {0};
        config_put_source(config, key, &source);
        json_begin(json, '{');
        json_field_text(json, "key", config_name(key));
        json_field_text(json, "value", config_text(config, key));
        json_field_string(json, "source", buf_slice(&source));
        json_end(json, '}');
        buf_free(&source);
    }
    json_end(json, ']');
}

const cJSON *config_entry(const cJSON *values, enum config_key key)
{
    const cJSON *one;
    cJSON_ArrayForEach (one, values)
        if (!strcmp(json_get_text(one, "key", ""), keys[key].name))
            return one;
    return NULL;
}

const char *config_name(enum config_key key)
{
    return keys[key].name;
}
