/* A reader: takes the newest packs of the manuals that it is to hold, and gives them to
 * the daemon, which goes on answering from what it has meanwhile, and whoever is away. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/looked.h"
#include "cli/fleet/noted.h"
#include "cli/fleet/place.h"

enum { IDLE_MS = 30000, BROKEN_MS = 2000, SHA256_DIGITS = 64 };

struct reading {
    struct fleet *fleet;
    struct noted
        held; /* of each manual the sum of the pack that was unpacked */
    int64_t wanted, current;
    cJSON *elsewhere;   /* names of what is published and not wanted */
    bool answered;      /* the registry did */
    struct err problem; /* of a manual, the last */
    struct looked looked;
};

struct offer {
    const char *name, *sha256, *file;
    int64_t bytes, generation;
};

/* One of the names or patterns of the configuration. */
static bool is_wanted(const struct reading *reading, const char *name)
{
    const char *at = config_text(&reading->fleet->config, CONFIG_FLEET_MANUALS);
    bool wanted = false;
    while (*(at += strspn(at, " ,")) && !wanted) {
        struct buf pattern = {0};
        size_t size = strcspn(at, " ,");
        buf_put(&pattern, at, size);
        wanted = fnmatch(pattern.data, name, 0) == 0;
        buf_free(&pattern);
        at += size;
    }
    return wanted;
}

/* Where files that came in packs are: a folder for each pack. */
static void put_files(const struct reading *reading, struct buf *out)
{
    file_join(out, reading->fleet->folder.data, "files");
}

static bool is_sum(const char *text)
{
    return strspn(text, "0123456789abcdef") == SHA256_DIGITS &&
           !text[SHA256_DIGITS];
}

/* The sum of the pack whose files such a folder has, wherever the store was when they
 * came; NULL: it is another folder. */
static const char *pack_of(const char *root)
{
    static const char files[] = "/fleet/files/";
    const char *last = strrchr(root, '/'), *at = last ? last + 1 : "";
    size_t before = (size_t)(at - root);
    bool is_pack = last && before >= strlen(files) &&
                   !strncmp(at - strlen(files), files, strlen(files)) &&
                   is_sum(at);
    return is_pack ? at : NULL;
}

/* Whether a manual's root is one of those, or it has none. */
static bool is_ours(const char *root)
{
    return !root[0] || pack_of(root);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* What the daemon says of the manual; NULL: it has none of that name. */
static const cJSON *find(const cJSON *listed, const char *name)
{
    const cJSON *manual;
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(listed, "manuals"))
        if (!strcmp(json_get_text(manual, "name", ""), name))
            return manual;
    return NULL;
}

/* Where the files of that pack are, if it has any. */
static void put_folder_of(const struct reading *reading,
                          const struct offer *offer, struct buf *out)
{
    put_files(reading, out);
    buf_printf(out, "/%s", offer->sha256);
}

/* Those of the pack before stay until the next look, for answers that are under way. */
static int unpack(struct reading *reading, const char *path, const char *folder,
                  const cJSON *here, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    file_remove_folder(folder); /* of one who was killed */
    json_begin(&json, '{');
    json_field_text(&json, "file", path);
    json_field_text(&json, "into", folder);
    if (here)
        json_field_text(&json, "replaces", json_get_text(here, "root", ""));
    json_end(&json, '}');
    int code = fleet_call(reading->fleet, "unpack", buf_slice(&params), NULL,
                          NULL, 0, &result, err);
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}

/* One that was unpacked by who was killed before he noted it is known by its folder,
 * unless that is lost: a backup of the store has no files. */
static int take(struct reading *reading, const struct place *place,
                const struct offer *offer, const cJSON *here, struct err *err)
{
    struct buf path = {0}, folder = {0};
    int code = 0;
    put_folder_of(reading, offer, &folder);
    buf_printf(&path, "%s/%s.pack", reading->fleet->folder.data, offer->sha256);
    if (strcmp(json_get_text(here, "root", ""), folder.data) != 0 ||
        !is_folder(folder.data)) {
        code = place_get(place, offer->file, offer->sha256, offer->bytes,
                         path.data, err);
        if (!code)
            code = unpack(reading, path.data, folder.data, here, err);
    }
    if (!code)
        code = noted_put(&reading->held, offer->name, offer->sha256, err);
    if (!code)
        fleet_say(reading->fleet, "%s: generation %lld is here", offer->name,
                  (long long)offer->generation);
    unlink(path.data);
    buf_free(&path);
    buf_free(&folder);
    return code;
}

static bool is_among(const struct rows *rows, const char *name)
{
    for (int i = 0; i < rows->count; i++)
        if (!strcmp(rows_text(rows, i, 0), name))
            return true;
    return false;
}

/* One that was indexed here since is somebody's own. */
static int drop(struct reading *reading, const cJSON *listed, const char *name,
                struct err *err)
{
    const cJSON *here = find(listed, name);
    cJSON *result = NULL;
    int code = 0;
    if (here && is_ours(json_get_text(here, "root", "")))
        code = fleet_call_with(reading->fleet, "rm", "manual", name, NULL, NULL,
                               0, &result, err);
    if (!code)
        fleet_say(reading->fleet, "%s: is not held any more", name);
    if (!code)
        code = noted_put(&reading->held, name, NULL, err);
    cJSON_Delete(result);
    return code;
}

/* What was withdrawn, and what the configuration does not name any more. */
static int drop_all(struct reading *reading, const cJSON *listed,
                    const struct rows *withdrawn, struct err *err)
{
    int code = 0;
    for (const cJSON *one = reading->held.all->child, *next; !code && one;
         one = next) {
        char *name = mem_strdup(one->string);
        next = one->next;
        if (is_among(withdrawn, name) || !is_wanted(reading, name))
            code = drop(reading, listed, name, err);
        free(name);
    }
    return code;
}

/* A manual that cannot be had costs itself only. */
static void look_at(struct reading *reading, const struct place *place,
                    const cJSON *listed, const struct offer *offer)
{
    struct err err = {.position = -1};
    const cJSON *here = find(listed, offer->name);
    const char *root = json_get_text(here, "root", "");
    bool held = here && (!root[0] || is_folder(root)) &&
                !strcmp(noted_get(&reading->held, offer->name), offer->sha256);
    if (!is_wanted(reading, offer->name)) {
        cJSON_AddItemToArray(reading->elsewhere,
                             cJSON_CreateString(offer->name));
        return;
    }
    reading->wanted++;
    if (!is_sum(offer->sha256)) {
        err_set(&err, ERR_FORMAT,
                "the registry has '%.100s' for the sha256 of its pack, which "
                "is none",
                offer->sha256);
    } else if (!is_ours(root)) {
        err_set(&err, ERR_USAGE,
                "it is indexed from a folder of this machine (lectern rm, "
                "unless that is meant)");
    } else if (held || !take(reading, place, offer, here, &err)) {
        reading->current++;
        return;
    }
    fleet_say(reading->fleet, "%s: %s", offer->name, err.message);
    err_set(&reading->problem, err.code, "%s: %s", offer->name, err.message);
}

/* Half a pack that is not wanted any more: a newer one was published meanwhile. */
static void remove_parts(const struct reading *reading)
{
    const char *folder = reading->fleet->folder.data;
    DIR *names = opendir(folder);
    const struct dirent *one;
    while (names && (one = readdir(names))) {
        struct buf path = {0};
        if (!fnmatch("*[0-9a-f].pack.part", one->d_name, 0) ||
            !fnmatch("*[0-9a-f].pack", one->d_name, 0)) {
            file_join(&path, folder, one->d_name);
            unlink(path.data);
        }
        buf_free(&path);
    }
    if (names)
        closedir(names);
}

/* All offers were looked at. */
static void note_elsewhere(struct reading *reading, bool all)
{
    if (all)
        looked_note_elsewhere(&reading->looked, reading->elsewhere);
    cJSON_Delete(reading->elsewhere);
    reading->elsewhere = NULL;
}

static bool is_held(const cJSON *listed, const char *sha256)
{
    const cJSON *manual;
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(listed, "manuals")) {
        const char *pack = pack_of(json_get_text(manual, "root", ""));
        if (pack && !strcmp(pack, sha256))
            return true;
    }
    return false;
}

/* Files of packs that no manual has any more. */
static void remove_files(const struct reading *reading, const cJSON *listed)
{
    struct buf files = {0};
    put_files(reading, &files);
    DIR *names = opendir(files.data);
    const struct dirent *one;
    while (names && (one = readdir(names))) {
        struct buf folder = {0};
        file_join(&folder, files.data, one->d_name);
        if (one->d_name[0] != '.' && !is_held(listed, one->d_name))
            file_remove_folder(folder.data);
        buf_free(&folder);
    }
    if (names)
        closedir(names);
    buf_free(&files);
}

static int look_at_all(struct reading *reading, const struct rows *rows,
                       const struct rows *withdrawn, struct err *err)
{
    struct place place = {0};
    cJSON *listed = NULL;
    int code = fleet_call(reading->fleet, "ls", slice_of("{}"), NULL, NULL, 0,
                          &listed, err);
    if (!code) {
        remove_files(reading, listed);
        code = drop_all(reading, listed, withdrawn, err);
    }
    if (!code && rows->count)
        code = place_find(reading->fleet, &place, err);
    reading->elsewhere = cJSON_CreateArray();
    for (int i = 0; !code && i < rows->count && !fleet_is_over(); i++) {
        struct offer offer = {rows_text(rows, i, 0), rows_text(rows, i, 1),
                              rows_text(rows, i, 2), rows_int(rows, i, 3),
                              rows_int(rows, i, 4)};
        look_at(reading, &place, listed, &offer);
    }
    if (!code && reading->current == reading->wanted)
        remove_parts(reading);
    note_elsewhere(reading, !code && !fleet_is_over());
    cJSON_Delete(listed);
    place_free(&place);
    return code;
}

static int report(struct reading *reading, struct err *err)
{
    char wanted[24], current[24], host[sizeof reading->fleet->name];
    struct rows rows;
    snprintf(wanted, sizeof wanted, "%lld", (long long)reading->wanted);
    snprintf(current, sizeof current, "%lld", (long long)reading->current);
    snprintf(host, sizeof host, "%.*s", (int)strcspn(reading->fleet->name, " "),
             reading->fleet->name);
    const char *const values[REGISTRY_VALUES] = {
        host, config_text(&reading->fleet->config, CONFIG_STORE), wanted,
        current, reading->problem.code ? reading->problem.message : ""};
    int code = registry_ask(
        reading->fleet->registry,
        "SELECT lectern.report($1 || ':' || $2, $3, $4, nullif($5, ''))",
        values, &rows, err);
    if (!code)
        rows_free(&rows);
    return code;
}

static int look(struct reading *reading, struct err *err)
{
    struct registry *registry = reading->fleet->registry;
    struct rows offers, withdrawn;
    reading->wanted = reading->current = 0;
    reading->problem.code = 0;
    reading->answered = false;
    int code = registry_check(registry, err);
    if (!code)
        code = registry_ask(registry,
                            "SELECT name, sha256, file, bytes, id FROM "
                            "lectern.offers ORDER BY name",
                            NULL, &offers, err);
    if (code)
        return code;
    code = registry_ask(
        registry,
        "SELECT name FROM lectern.manuals WHERE withdrawn IS NOT NULL", NULL,
        &withdrawn, err);
    reading->answered = !code;
    if (!code) {
        code = look_at_all(reading, &offers, &withdrawn, err);
        rows_free(&withdrawn);
    }
    rows_free(&offers);
    return code ? code : report(reading, err);
}

static int look_and_note(struct reading *reading, struct err *err)
{
    struct err why = {.position = -1};
    int code = look(reading, &why);
    if (!code)
        why = reading->problem;
    else if (err)
        *err = why;
    looked_note(&reading->looked, reading->answered,
                why.code ? why.message : NULL);
    return code;
}

/* Whether something is to be tried again before long. */
static bool is_behind(const struct reading *reading)
{
    return reading->current < reading->wanted &&
           reading->problem.code != ERR_USAGE;
}

int fleet_fetch(struct fleet *fleet, struct err *err)
{
    struct reading reading = {.fleet = fleet};
    int code = fleet_open_folder(fleet, "fetch", err);
    if (code)
        return code;
    code = noted_load(fleet, "held.json", &reading.held, err);
    if (code) {
        noted_free(&reading.held);
        return code;
    }
    looked_load(fleet, &reading.looked);
    registry_listen(fleet->registry, "lectern_packs");
    do {
        code = look_and_note(&reading, err);
        if (fleet->once || (code && code != ERR_UNREACHABLE))
            break;
        if (code)
            fleet_say(fleet, "%s; what is here is served on", err->message);
        registry_wait(fleet->registry,
                      code || is_behind(&reading) ? BROKEN_MS : IDLE_MS);
        code = 0;
    } while (!fleet_is_over());
    if (!code && fleet->once && reading.problem.code) {
        *err = reading.problem;
        code = err->code;
    }
    noted_free(&reading.held);
    looked_free(&reading.looked);
    return code;
}
