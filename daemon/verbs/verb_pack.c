/* pack, unpack: a manual's generation as one file, and from it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "daemon/jobs/jobs.h"
#include "daemon/verbs/pack_folder.h"
#include "daemon/verbs/result.h"
#include "daemon/verbs/verbs.h"
#include "indexer/index.h"
#include "memory/pack/pack.h"

static int check_path(const char *path, const char *name, struct err *err)
{
    return path[0] == '/' && path[strlen(path) - 1] != '/'
               ? 0
               : err_set(err, ERR_USAGE, "%s must be an absolute path", name);
}

static void put_hex(struct json *json, const char *key,
                    const unsigned char *bytes, size_t size)
{
    struct buf text = {0};
    pack_put_hex(&text, bytes, size);
    json_field_string(json, key, buf_slice(&text));
    buf_free(&text);
}

static void put_seal(struct json *json, const struct pack_seal *seal)
{
    put_hex(json, "hash", seal->hash, sizeof seal->hash);
    if (seal->is_signed)
        put_hex(json, "signer", seal->signer, sizeof seal->signer);
    else
        json_field_null(json, "signer");
}

/* ---- pack ---- */

static int read_indexed(void *context, const struct manual *manual,
                        const struct file *file, struct buf *ret_bytes,
                        struct err *err)
{
    struct source_root root = index_root(manual);
    struct buf path = {0};
    (void)context;
    if (!root.path[0])
        return err_set(err, ERR_STALE, "the files of %s are not here",
                       manual->name);
    file_join(&path, root.path, file->path);
    int code = source_read(&root, path.data, ret_bytes, err);
    if (code == ERR_IO && access(path.data, F_OK) < 0 && errno == ENOENT)
        code = err_set(err, ERR_STALE,
                       "%s is gone: lectern update --wait -c %s, or where its "
                       "folder has moved, lectern add FOLDER -c %s",
                       path.data, manual->name, manual->name);
    if (!code && !hash_equal(hash_bytes(ret_bytes->data, ret_bytes->size),
                             file->content))
        code = err_set(err, ERR_STALE,
                       "%s has changed since it was read: lectern update "
                       "--wait -c %s",
                       path.data, manual->name);
    buf_free(&path);
    return code;
}

/* The key that signs, if one is given. */
static int open_key(const struct call *call, struct pack_key *ret,
                    bool *ret_made, struct err *err)
{
    const char *path = json_get_text(call->params, "key", NULL);
    int code = path ? check_path(path, "key", err) : 0;
    return code || !path ? code : pack_key_open(path, ret, ret_made, err);
}

static int make_pack(struct call *call, struct buf *ret_file,
                     struct pack_seal *ret_seal, bool *ret_made,
                     size_t *ret_plain, struct err *err)
{
    const char *manual = json_get_text(call->params, "manual", "");
    bool files = json_get_bool(call->params, "files", false);
    bool is_signed = json_get_text(call->params, "key", NULL) != NULL;
    struct buf body = {0};
    struct pack_key key = {0};
    struct manual there;
    int code = call_manual(call, manual, &there, err);
    if (code)
        return code;
    manual_free(&there);
    code = pack_gather(call->daemon->store, manual, files ? read_indexed : NULL,
                       NULL, &body, err);
    if (!code)
        code = open_key(call, &key, ret_made, err);
    if (!code)
        code = pack_close(buf_slice(&body), is_signed ? &key : NULL, ret_file,
                          ret_seal, err);
    *ret_plain = body.size;
    pack_key_forget(&key);
    buf_free(&body);
    return code;
}

int verb_pack(struct call *call, struct json *json, struct err *err)
{
    double start = clock_seconds();
    const char *path = json_get_text(call->params, "file", "");
    struct buf file = {0};
    struct pack_seal seal;
    bool made = false;
    size_t plain = 0;
    int code = check_path(path, "file", err);
    if (!code)
        code = make_pack(call, &file, &seal, &made, &plain, err);
    if (!code)
        code = file_write(path, buf_slice(&file), err);
    if (!code) {
        json_begin(json, '{');
        json_field_text(json, "manual",
                        json_get_text(call->params, "manual", ""));
        json_field_text(json, "file", path);
        put_seal(json, &seal);
        json_field_bool(json, "key_made", made);
        json_field_int(json, "bytes", (int64_t)file.size);
        json_field_int(json, "unpacked", (int64_t)plain);
        json_field_double(json, "seconds", clock_seconds() - start, 3);
        json_end(json, '}');
    }
    buf_free(&file);
    return code;
}

/* ---- unpack ---- */

/* A pack by a key that is not known is like one that nobody has signed. */
static int check_trust(const struct call *call, const struct pack_seal *seal,
                       bool *ret_trusted, struct err *err)
{
    const char *keys = config_text(call->daemon->config, CONFIG_TRUSTED_KEYS);
    struct buf signer = {0};
    *ret_trusted = false;
    int code = seal->is_signed
                   ? pack_key_is_trusted(keys, seal->signer, ret_trusted, err)
                   : 0;
    if (code || *ret_trusted || json_get_bool(call->params, "untrusted", false))
        return code;
    pack_put_hex(&signer, seal->signer, sizeof seal->signer);
    code = seal->is_signed
               ? err_set(err, ERR_USAGE,
                         "the pack is signed by %s, a key that %s does not "
                         "have: add it there if you trust it, or --untrusted "
                         "takes the pack without its memories",
                         signer.data, keys)
               : err_set(err, ERR_USAGE,
                         "nobody has signed the pack: --untrusted takes it, "
                         "without its memories");
    buf_free(&signer);
    return code;
}

static int read_pack(const struct call *call, struct pack *ret_pack,
                     struct pack_seal *ret_seal, bool *ret_trusted,
                     struct err *err)
{
    const char *path = json_get_text(call->params, "file", "");
    struct buf file = {0}, body = {0};
    int code = check_path(path, "file", err);
    if (!code)
        code = file_read(path, pack_max_bytes, &file, err);
    if (!code)
        code = pack_check_seal(buf_slice(&file), ret_seal, err);
    if (!code)
        code = check_trust(call, ret_seal, ret_trusted, err);
    if (!code)
        code = pack_open(buf_slice(&file), &body, err);
    buf_free(&file);
    return code ? code : pack_decode(&body, ret_pack, err);
}

/* A folder of ours that no manual has was left by one who was killed. */
static int clear_own(const struct call *call, const char *folder,
                     struct err *err)
{
    struct store_txn *txn;
    struct manual *manuals;
    size_t count;
    bool used = false;
    int code = store_read(call->daemon->store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, &manuals, &count, err);
    if (code) {
        store_end(txn);
        return code;
    }
    code = store_check_manuals(txn, count, err);
    store_end(txn);
    for (size_t i = 0; i < count; i++) {
        used = used || file_is_same_place(manuals[i].root, folder);
        manual_free(&manuals[i]);
    }
    free(manuals);
    if (!code && !used)
        file_remove_folder(folder);
    return code;
}

/* A folder of ours, under its real path as any manual's. */
static int find_own(const struct call *call, const char *name, struct buf *ret,
                    struct err *err)
{
    struct buf place = {0};
    config_put_unpacked(call->daemon->config, &place);
    int code = file_make_folder(place.data, 0700, err);
    char *real = realpath(place.data, NULL);
    buf_printf(ret, "%s/%s", real ? real : place.data, name);
    free(real);
    buf_free(&place);
    return code ? code : clear_own(call, ret->data, err);
}

/* Where the manual's files are, or will be; "": nowhere. */
static int find_folder(const struct call *call, const struct pack *pack,
                       const char *name, struct buf *ret, struct err *err)
{
    const char *given = json_get_text(call->params, "dir", NULL);
    struct stat st;
    if (given) {
        char *real = pack->has_bytes ? NULL : realpath(given, NULL);
        int code = check_path(given, "dir", err);
        if (!code && !pack->has_bytes &&
            (!real || stat(real, &st) || !S_ISDIR(st.st_mode)))
            code = err_set(err, ERR_USAGE,
                           "%s is no folder, and the pack has no files to put "
                           "there",
                           given);
        buf_put_text(ret, real ? real : given);
        free(real);
        return code;
    }
    const char *into = json_get_text(call->params, "into", NULL);
    buf_put_text(ret, "");
    if (!pack->has_bytes)
        return 0;
    if (into) {
        buf_put_text(ret, into);
        return check_path(into, "into", err);
    }
    if (!file_is_name(name))
        return err_set(err, ERR_USAGE,
                       "the manual needs a name that can be a folder's (-c), "
                       "or a folder for its files (--dir)");
    return find_own(call, name, ret, err);
}

/* While nothing else is written: the manual may take the place of itself. */
static int put_held(const struct call *call, const struct pack *pack,
                    const struct pack_place *place, struct manual *ret,
                    struct err *err)
{
    struct jobs *jobs = call->daemon->jobs;
    int code = jobs_hold(jobs, &call->request->cancelled, err);
    if (code)
        return code;
    code = pack_put(call->daemon->store, pack, place, ret, err);
    jobs_go_on(jobs);
    return code;
}

static int put_pack(const struct call *call, const struct pack *pack,
                    bool trusted, struct manual *ret, struct err *err)
{
    struct buf folder = {0};
    struct pack_place place = {
        .name = json_get_text(call->params, "name", pack->name),
        .replaces = json_get_text(call->params, "replaces", NULL),
        .without_memories = !trusted};
    int code = find_folder(call, pack, place.name, &folder, err);
    place.root = folder.data;
    if (!code)
        code = pack_check_place(call->daemon->store, &place, err);
    if (!code && pack->has_bytes)
        code = pack_folder_make(pack, folder.data, err);
    if (!code) {
        code = put_held(call, pack, &place, ret, err);
        if (code && pack->has_bytes)
            file_remove_folder(folder.data);
    }
    buf_free(&folder);
    return code;
}

static void put_unpacked(struct json *json, const struct manual *manual,
                         const struct pack *pack, const struct pack_seal *seal,
                         bool trusted, double seconds)
{
    bool memories = trusted && pack->vectors.width;
    json_begin(json, '{');
    json_field_text(json, "manual", manual->name);
    json_field_text(json, "root", manual->root);
    put_seal(json, seal);
    json_field_bool(json, "trusted", trusted);
    json_field_int(json, "files", (int64_t)(manual->files + manual->failed));
    json_field_int(json, "nodes", (int64_t)manual->nodes);
    json_field_int(json, "memories",
                   memories ? (int64_t)pack->memory_count : 0);
    json_field_double(json, "seconds", seconds, 3);
    json_end(json, '}');
}

int verb_unpack(struct call *call, struct json *json, struct err *err)
{
    double start = clock_seconds();
    struct jobs *jobs = call->daemon->jobs;
    struct pack pack;
    struct pack_seal seal;
    struct manual manual;
    bool trusted;
    int code = read_pack(call, &pack, &seal, &trusted, err);
    if (code)
        return code;
    code = put_pack(call, &pack, trusted, &manual, err);
    if (!code) {
        code = jobs_refresh(jobs, err);
        jobs_update(jobs, manual.id, manual.name, false);
        jobs_collect(jobs);
        if (!code)
            put_unpacked(json, &manual, &pack, &seal, trusted,
                         clock_seconds() - start);
        manual_free(&manual);
    }
    pack_free(&pack);
    return code;
}
