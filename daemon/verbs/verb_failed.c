/* The verb `failed`: what could not be read, what is wrong in what was, what is
 * left out of the trees. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/jobs/jobs.h"
#include "daemon/verbs/result.h"
#include "memory/store/store.h"

/* A line of what is wrong in a document: "PATH: byte N: WHAT"; without PATH in
 * the document itself, without both in no one place. */
static void put_warning(struct json *json, const char *manual,
                        const char *document, struct slice line)
{
    static const char mark[] = "byte ";
    struct slice file = slice_of(document), message = line;
    const char *at = memmem(line.data, line.size, mark, sizeof mark - 1);
    size_t size = at ? (size_t)(at - line.data) : 0;
    if (size > 2 && at[-1] == ' ' && at[-2] == ':') {
        file = (struct slice){line.data, size - 2};
        message = (struct slice){at, line.size - size};
    }
    json_begin(json, '{');
    json_field_text(json, "manual", manual);
    json_field_string(json, "file", file);
    json_field_text(json, "document", document);
    json_field_string(json, "message", message);
    json_end(json, '}');
}

static void put_warnings(struct json *json, const char *manual,
                         const struct file *file)
{
    struct slice rest = slice_of(file->reports);
    while (rest.size) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end ? (size_t)(end - rest.data) : rest.size;
        if (size)
            put_warning(json, manual, file->path,
                        (struct slice){rest.data, size});
        size += end != NULL;
        rest.data += size;
        rest.size -= size;
    }
}

static void put_failure(struct json *json, const char *manual,
                        const struct file *file)
{
    json_begin(json, '{');
    json_field_text(json, "manual", manual);
    json_field_text(json, "file", file->path);
    json_field_text(json, "reason", file->failure);
    json_end(json, '}');
}

static bool is_excluded(const struct tree *outline, const char *path)
{
    for (uint32_t i = 0; i < outline->file_count; i++)
        if (outline->excluded[i] && slice_is(outline->files[i], path))
            return true;
    return false;
}

static int put_failed(struct json *json, struct store_txn *txn,
                      const struct manual *manual, bool *ret_any,
                      struct err *err)
{
    struct file *files;
    size_t count;
    int code = store_list_files(txn, manual->id, &files, &count, err);
    if (code)
        return code;
    *ret_any = false;
    for (size_t i = 0; i < count; i++) {
        if (files[i].state == FILE_FAILED) {
            *ret_any = true;
            put_failure(json, manual->name, &files[i]);
        }
        file_free(&files[i]);
    }
    free(files);
    return 0;
}

static int put_all_failed(const struct call *call, const char *only,
                          struct json *json, struct err *err)
{
    struct manual *manuals = NULL;
    size_t count = 0;
    struct store_txn *txn;
    bool retry = json_get_bool(call->params, "retry", false);
    int code = store_read(call->daemon->store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, &manuals, &count, err);
    for (size_t i = 0; i < count && !code; i++) {
        const struct manual *manual = &manuals[i];
        bool any = false;
        if (!only || !strcmp(only, manual->name))
            code = put_failed(json, txn, manual, &any, err);
        if (any && retry)
            jobs_retry(call->daemon->jobs, manual->id, manual->name);
    }
    store_end(txn);
    for (size_t i = 0; i < count; i++)
        manual_free(&manuals[i]);
    free(manuals);
    return code;
}

/* A part of a document was read by itself too: what was wrong then is not. */
static int put_warned(struct json *json, struct store_txn *txn,
                      const struct view *view, struct err *err)
{
    struct file *files;
    size_t count;
    int code = store_list_files(txn, view->manual.id, &files, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++) {
        bool told = files[i].state == FILE_INDEXED && files[i].reports[0];
        if (told && !is_excluded(view->outline, files[i].path))
            put_warnings(json, view->manual.name, &files[i]);
        file_free(&files[i]);
    }
    free(files);
    return 0;
}

static int put_all_warned(const struct call *call, const char *only,
                          struct json *json, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(call->daemon->store, &txn, err);
    if (code)
        return code;
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    json_key(json, "warnings");
    json_begin(json, '[');
    for (size_t i = 0; i < snapshot->count && !code; i++)
        if (!only || !strcmp(only, snapshot->views[i]->manual.name))
            code = put_warned(json, txn, snapshot->views[i], err);
    json_end(json, ']');
    snapshot_unref(snapshot);
    store_end(txn);
    return code;
}

static void put_reason(struct json *json, const char *manual, struct slice file,
                       const char *reason)
{
    json_begin(json, '{');
    json_field_text(json, "manual", manual);
    json_field_string(json, "file", file);
    json_field_text(json, "reason", reason);
    json_end(json, '}');
}

/* Links that are not followed, then pages without content. */
static int put_reasons(struct json *json, struct store_txn *txn,
                       const struct view *view, struct err *err)
{
    const struct tree *outline = view->outline;
    const char *manual = view->manual.name;
    struct file *files;
    size_t count;
    int code = store_list_files(txn, view->manual.id, &files, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++) {
        if (files[i].state == FILE_NOT_FOLLOWED)
            put_reason(json, manual, slice_of(files[i].path), "link");
        file_free(&files[i]);
    }
    free(files);
    for (uint32_t i = 0; i < outline->file_count; i++) {
        if (outline->excluded[i])
            put_reason(json, manual, outline->files[i],
                       excluded_name(outline->excluded[i]));
    }
    return 0;
}

/* Files that are read and not in the tree, as the member `member`. */
static int put_all_excluded(const struct call *call, const char *member,
                            const char *only, struct json *json,
                            struct err *err)
{
    struct store_txn *txn;
    int code = store_read(call->daemon->store, &txn, err);
    if (code)
        return code;
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    json_key(json, member);
    json_begin(json, '[');
    for (size_t i = 0; i < snapshot->count && !code; i++)
        if (!only || !strcmp(only, snapshot->views[i]->manual.name))
            code = put_reasons(json, txn, snapshot->views[i], err);
    json_end(json, ']');
    snapshot_unref(snapshot);
    store_end(txn);
    return code;
}

/* Manuals of which nothing can be read any more, or whose last update failed. */
static int put_manuals(const struct call *call, const char *only,
                       struct json *json, struct err *err)
{
    struct manual *manuals;
    size_t count;
    int code = store_read_manuals(call->daemon->store, &manuals, &count, err);
    if (code)
        return code;
    json_key(json, "manuals");
    json_begin(json, '[');
    for (size_t i = 0; i < count; i++) {
        const struct manual *manual = &manuals[i];
        struct job_state state;
        struct stat st;
        jobs_state(call->daemon->jobs, manual->id, &state);
        if (!state.err.code && manual->root[0] && stat(manual->root, &st) < 0)
            err_errno(&state.err, ERR_IO, "cannot read the folder %s",
                      manual->root);
        if (state.err.code && (!only || !strcmp(only, manual->name))) {
            json_begin(json, '{');
            json_field_text(json, "manual", manual->name);
            json_field_text(json, "reason", state.err.message);
            json_end(json, '}');
        }
        manual_free(&manuals[i]);
    }
    json_end(json, ']');
    free(manuals);
    return 0;
}

int verb_failed(struct call *call, struct json *json, struct err *err)
{
    const char *name = json_get_text(call->params, "manual", NULL);
    struct manual manual = {0};
    int code = name ? call_manual(call, name, &manual, err) : 0;
    if (code)
        return code;
    manual_free(&manual);
    json_begin(json, '{');
    code = put_manuals(call, name, json, err);
    json_key(json, "files");
    json_begin(json, '[');
    if (!code)
        code = put_all_failed(call, name, json, err);
    json_end(json, ']');
    if (!code)
        code = put_all_warned(call, name, json, err);
    static const char *const members[] = {"excluded",
                                          "left_out" /* formerly */};
    for (size_t i = 0; i < 2 && !code; i++)
        if (json_get_bool(call->params, members[i], false))
            code = put_all_excluded(call, members[i], name, json, err);
    json_end(json, '}');
    return code;
}
