/* An indexer: takes a lease, indexes, packs, puts the pack into its place, registers it.
 *
 * The lease is kept by a heartbeat while the daemon works.  Who loses it stops; who
 * does not notice in time is refused by the fence when it registers. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/leases.h"
#include "cli/fleet/noted.h"
#include "cli/fleet/place.h"

enum { IDLE_MS = 30000, BROKEN_MS = 2000 };

struct work {
    struct fleet *fleet;
    struct lease lease;
    struct buf but; /* manuals that cannot be indexed here, "{1,2}" inside */
    struct noted
        roots; /* of each manual that was indexed for a lease its folder */
};

static int fail_lost(const struct work *work, struct err *err)
{
    return err_set(err, ERR_CANCELLED,
                   "the lease of %s was lost: somebody else has it, or it was "
                   "withdrawn",
                   work->lease.name);
}

/* A registry that does not answer is no reason to stop: the fence decides. */
static int keep(void *user, struct err *err)
{
    struct work *work = user;
    bool kept = true;
    int code = lease_renew(work->fleet->registry, &work->lease, &kept, err);
    return code || kept ? 0 : fail_lost(work, err);
}

static int64_t beat_ms(const struct work *work)
{
    return work->lease.seconds * INT64_C(1000) / 3;
}

static void put_source(const struct work *work, struct buf *out)
{
    const char *sources =
        config_text(&work->fleet->config, CONFIG_FLEET_SOURCES);
    if (work->lease.source[0] == '/' || !sources[0])
        buf_put_text(out, work->lease.source);
    else
        file_join(out, sources, work->lease.source);
    while (out->size > 1 && out->data[out->size - 1] == '/')
        out->data[--out->size] = '\0';
}

static int call(struct work *work, const char *method, struct slice params,
                cJSON **ret, struct err *err)
{
    return fleet_call(work->fleet, method, params, keep, work, beat_ms(work),
                      ret, err);
}

static int call_of_manual(struct work *work, const char *method, bool wait,
                          struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    json_begin(&json, '{');
    json_field_text(&json, "manual", work->lease.name);
    if (wait)
        json_field_bool(&json, "wait", true);
    json_end(&json, '}');
    int code = call(work, method, buf_slice(&params), &result, err);
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}

/* Appends where the manual's files are for the daemon here; false: it has none of
 * that name. */
static int find_root(struct work *work, bool *ret_known, struct buf *ret,
                     struct err *err)
{
    cJSON *result = NULL;
    const cJSON *manual;
    *ret_known = false;
    int code = call(work, "ls", slice_of("{}"), &result, err);
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(result, "manuals")) {
        if (strcmp(json_get_text(manual, "name", ""), work->lease.name) != 0)
            continue;
        *ret_known = true;
        buf_put_text(ret, json_get_text(manual, "root", ""));
    }
    cJSON_Delete(result);
    return code;
}

static int add(struct work *work, const char *folder, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *result = NULL;
    json_begin(&json, '{');
    json_field_text(&json, "dir", folder);
    json_field_text(&json, "name", work->lease.name);
    json_field_bool(&json, "wait", true);
    json_end(&json, '}');
    int code = call(work, "add", buf_slice(&params), &result, err);
    cJSON_Delete(result);
    buf_free(&params);
    return code;
}

/* Its source has moved; of another folder of that name this machine's owner is asked. */
static int leave(struct work *work, const char *root, struct err *err)
{
    const char *name = work->lease.name;
    if (strcmp(noted_get(&work->roots, name), root) != 0)
        return err_set(err, ERR_NOT_FOUND,
                       "this machine has a manual of that name, indexed from "
                       "%s, which no lease was for (lectern rm %s, unless it "
                       "is needed)",
                       root, name);
    return call_of_manual(work, "rm", false, err);
}

/* From the files as they are now, with its memories. */
static int make_index(struct work *work, struct err *err)
{
    struct buf folder = {0}, root = {0};
    struct stat st;
    bool known;
    put_source(work, &folder);
    char *real = realpath(folder.data, NULL);
    int code = 0;
    if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
        code = err_set(err, ERR_NOT_FOUND, "%s is no folder on this machine",
                       folder.data);
    if (!code)
        code = find_root(work, &known, &root, err);
    if (!code && known && strcmp(root.data, real) != 0) {
        code = leave(work, root.data, err);
        known = false;
    }
    if (!code)
        code = noted_put(&work->roots, work->lease.name, real, err);
    if (!code)
        code = known ? call_of_manual(work, "update", true, err)
                     : add(work, real, err);
    if (!code)
        code = call_of_manual(work, "wait", false, err);
    free(real);
    buf_free(&folder);
    buf_free(&root);
    return code;
}

static int make_pack(struct work *work, const char *path, cJSON **ret,
                     struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    json_field_text(&json, "manual", work->lease.name);
    json_field_text(&json, "file", path);
    json_field_text(&json, "key",
                    config_text(&work->fleet->config, CONFIG_FLEET_KEY));
    if (config_choice(&work->fleet->config, CONFIG_FLEET_FILES))
        json_field_bool(&json, "files", true);
    json_end(&json, '}');
    int code = call(work, "pack", buf_slice(&params), ret, err);
    buf_free(&params);
    return code;
}

/* A registry that is away is waited for: what is done is not to be done again. */
static bool is_waited_for(struct work *work, int code)
{
    if (code != ERR_UNREACHABLE || fleet_is_over())
        return false;
    registry_wait(work->fleet->registry, BROKEN_MS);
    return true;
}

static int find_place(struct work *work, struct place *ret, struct err *err)
{
    int code;
    do
        code = place_find(work->fleet, ret, err);
    while (is_waited_for(work, code));
    return code;
}

static int enter(struct work *work, const struct registered *pack,
                 int64_t *ret_generation, struct err *err)
{
    int code;
    do
        code = lease_register(work->fleet->registry, &work->lease, pack,
                              ret_generation, err);
    while (is_waited_for(work, code));
    return code;
}

/* A name that no other lease uses: a file that is removed is never one that was put
 * there anew. */
static int announce(struct work *work, const char *sum, struct buf *ret_name,
                    struct err *err)
{
    const struct lease *lease = &work->lease;
    bool kept = true;
    int code;
    buf_printf(ret_name, "%s-%lld.%lld.pack", sum, (long long)lease->manual,
               (long long)lease->fence);
    do
        code = lease_announce(work->fleet->registry, lease, ret_name->data,
                              &kept, err);
    while (is_waited_for(work, code));
    return code || kept ? code : fail_lost(work, err);
}

static int publish(struct work *work, const char *path, const cJSON *made,
                   struct err *err)
{
    struct place place = {.each = keep, .user = work, .ms = beat_ms(work)};
    struct buf name = {0};
    char sum[SHA256_HEX];
    struct registered pack = {.sha256 = sum,
                              .hash = json_get_text(made, "hash", ""),
                              .signer = json_get_text(made, "signer", NULL)};
    int64_t generation = 0;
    int code = find_place(work, &place, err);
    if (!code)
        code = place_sum(path, sum, &pack.bytes, err);
    if (!code)
        code = announce(work, sum, &name, err);
    pack.file = name.data;
    if (!code)
        code = place_put(&place, path, name.data, err);
    if (!code)
        code = enter(work, &pack, &generation, err);
    if (!code)
        fleet_say(work->fleet,
                  "%s: revision %lld is generation %lld, %lld bytes",
                  work->lease.name, (long long)work->lease.revision,
                  (long long)generation, (long long)pack.bytes);
    place_free(&place);
    buf_free(&name);
    return code;
}

static int do_job(struct work *work, struct err *err)
{
    struct buf path = {0};
    cJSON *made = NULL;
    file_join(&path, work->fleet->folder.data, "made.pack");
    int code = make_index(work, err);
    if (!code)
        code = make_pack(work, path.data, &made, err);
    if (!code)
        code = publish(work, path.data, made, err);
    unlink(path.data);
    cJSON_Delete(made);
    buf_free(&path);
    return code;
}

/* What one manual cannot is said, and costs itself only. */
static void tell_failure(struct work *work, const struct err *err)
{
    fleet_say(work->fleet, "%s: %s", work->lease.name, err->message);
    lease_give_back(work->fleet->registry, &work->lease, err->message, NULL);
    if (err->code == ERR_NOT_FOUND)
        buf_printf(&work->but, "%s%lld", work->but.size ? "," : "",
                   (long long)work->lease.manual);
}

static int remove_one(struct fleet *fleet, const struct place *place,
                      const struct rows *rows, int row, struct err *err)
{
    struct rows none;
    const char *const values[REGISTRY_VALUES] = {rows_text(rows, row, 0),
                                                 rows_text(rows, row, 1)};
    int code = place_remove(place, rows_text(rows, row, 2), err);
    if (!code)
        code =
            registry_ask(fleet->registry, "SELECT lectern.has_removed($1, $2)",
                         values, &none, err);
    if (!code)
        rows_free(&none);
    return code;
}

/* Removes packs that nobody needs any more; what cannot be is tried again when there
 * is nothing to do the next time.  Several workers may do that at once. */
static void sweep(struct fleet *fleet)
{
    struct place place = {0};
    struct rows rows;
    struct err err = {.position = -1};
    int code = registry_ask(fleet->registry,
                            "SELECT manual, fence, file FROM lectern.unneeded",
                            NULL, &rows, &err);
    if (code)
        return;
    if (rows.count)
        code = place_find(fleet, &place, &err);
    for (int i = 0; !code && i < rows.count && !fleet_is_over(); i++) {
        code = remove_one(fleet, &place, &rows, i, &err);
        if (code == ERR_FORMAT) { /* nothing is wrong with the others */
            fleet_say(fleet, "%s", err.message);
            code = 0;
        }
    }
    if (code)
        fleet_say(fleet, "an old pack stays for now: %s", err.message);
    rows_free(&rows);
    place_free(&place);
}

/* *ret_any: there was something to do. */
static int take_and_do(struct work *work, bool *ret_any, struct err *err)
{
    struct err problem = {.position = -1};
    *ret_any = false;
    int code = registry_check(work->fleet->registry, err);
    if (!code)
        code = lease_take(work->fleet->registry, work->fleet->name,
                          work->but.data ? work->but.data : "", &work->lease,
                          ret_any, err);
    if (code)
        return code;
    if (!*ret_any) {
        sweep(work->fleet);
        return 0;
    }
    if (do_job(work, &problem))
        tell_failure(work, &problem);
    lease_free(&work->lease);
    return 0;
}

int fleet_work(struct fleet *fleet, struct err *err)
{
    struct work work = {.fleet = fleet};
    int code = fleet_open_folder(fleet, "work", err);
    if (code)
        return code;
    code = noted_load(fleet, "indexed.json", &work.roots, err);
    registry_listen(fleet->registry, "lectern_work");
    while (!code && !fleet_is_over()) {
        bool any;
        code = take_and_do(&work, &any, err);
        if (fleet->once && (code || !any))
            break;
        if (code && code != ERR_UNREACHABLE)
            break;
        if (code)
            fleet_say(fleet, "%s", err->message);
        if (code || !any)
            registry_wait(fleet->registry, code ? BROKEN_MS : IDLE_MS);
        if (!code && !any) /* the folder may be there by now */
            buf_free(&work.but);
        code = 0;
    }
    buf_free(&work.but);
    noted_free(&work.roots);
    return code;
}
