#include "tests/simulation/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "indexer/index.h"
#include "indexer/parsers.h"
#include "memory/store/verify/store_verify.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

static void must_be(int code, const struct err *err, const char *what)
{
    if (code)
        simulation_fails("%s: %s", what, err->message);
}

/* ---- Visible ---- */

static bool differs(bool must, const char *path, const char *how)
{
    if (must)
        simulation_fails("%s %s, and status says that all is up to date", path,
                         how);
    return false;
}

static bool is_as_recorded(const struct source_root *root,
                           const struct file *file, bool must)
{
    struct err err;
    struct buf path = {0}, bytes = {0};
    file_join(&path, root->path, file->path);
    int code = source_read(root, path.data, &bytes, &err);
    bool same =
        !code && hash_equal(hash_bytes(bytes.data, bytes.size), file->content);
    buf_free(&path);
    buf_free(&bytes);
    return same || differs(must, file->path, "is not as it is on the disk");
}

static bool compare(const struct source_root *root, const struct scan *scan,
                    const struct file *files, size_t count, bool must)
{
    for (size_t i = 0; i < scan->count || i < count; i++) {
        if (i == count ||
            (i < scan->count && strcmp(scan->files[i].path, files[i].path) < 0))
            return differs(must, scan->files[i].path, "is missing");
        if (i == scan->count || strcmp(scan->files[i].path, files[i].path) > 0)
            return differs(must, files[i].path, "is gone");
        if (!is_as_recorded(root, &files[i], must))
            return false;
    }
    return true;
}

static void read_records(struct service *service, uint32_t manual,
                         struct file **ret_files, size_t *ret_count)
{
    struct err err;
    struct store_txn *txn;
    must_be(store_read(service->daemon.store, &txn, &err), &err, "read");
    must_be(store_list_files(txn, manual, ret_files, ret_count, &err), &err,
            "files");
    store_end(txn);
}

static void free_records(struct file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        file_free(&files[i]);
    free(files);
}

/* Whether `failed` names one that could not be read, be it as it was before. */
static bool any_failed(const struct file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (files[i].failure[0] || strstr(files[i].reports, "before is kept"))
            return true;
    return false;
}

/* Where files cannot be read a manual need not be as the disk is that says so. */
static bool is_visible(struct service *service, const struct followed *manual,
                       bool must)
{
    struct err err;
    struct scan scan;
    struct file *files;
    size_t count;
    const struct source_root root = {.path = manual->root};
    if (scan_folder(&root, "", &scan, &err))
        return differs(must, manual->root, "cannot be read");
    read_records(service, manual->id, &files, &count);
    must = must && !(world.unreadable && any_failed(files, count));
    bool same = compare(&root, &scan, files, count, must);
    free_records(files, count);
    scan_free(&scan);
    return same;
}

bool check_visible(struct service *service, bool must)
{
    bool visible = true;
    for (unsigned i = 0; i < service->count; i++)
        visible = visible && is_visible(service, &service->manuals[i], must);
    return visible;
}

bool check_file(struct service *service, const char *path)
{
    struct file *files;
    size_t count;
    const struct source_root root = {.path = service->manuals[0].root};
    bool same = false;
    read_records(service, service->manuals[0].id, &files, &count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(files[i].path, path))
            same = is_as_recorded(&root, &files[i], false);
    free_records(files, count);
    return same;
}

/* ---- Afresh ---- */

/* The manual's outline, without its ids, which are given once. */
static struct buf outline_of(struct store *store, uint32_t manual)
{
    struct err err;
    struct store_txn *txn;
    struct manual record;
    struct tree *outline;
    struct buf bytes = {0};
    must_be(store_read(store, &txn, &err), &err, "read");
    must_be(store_get_manual(txn, manual, &record, &err), &err, "manual");
    must_be(store_get_outline(txn, manual, record.generation, &outline, &err),
            &err, "outline");
    store_end(txn);
    for (uint32_t n = 0; n < outline->count; n++)
        outline->nodes[n].id = 1;
    tree_encode(outline, &bytes);
    tree_free(outline);
    manual_free(&record);
    return bytes;
}

static struct buf fresh_outline(const struct service *service,
                                const struct followed *followed,
                                const char *folder)
{
    struct err err;
    struct store *store;
    struct manual manual;
    struct index_report report;
    const struct registering asked = {.folder = {.path = followed->root},
                                      .name = followed->name};
    struct store_options where = {.folder = folder, .max_bytes = 64 << 20};
    struct index_options options = {.parser = service->daemon.parser};
    must_be(store_open(&where, &store, &err), &err, "open");
    must_be(index_register(store, &asked, &manual, &err), &err, "add");
    must_be(index_update(store, manual.id, &options, NULL, NULL, NULL, &report,
                         &err),
            &err, "index");
    struct buf bytes = outline_of(store, manual.id);
    manual_free(&manual);
    store_close(store);
    return bytes;
}

static void verify(struct service *service)
{
    struct err err;
    struct verify_report report = {0};
    struct verify_options options = {.store = service->daemon.store,
                                     .library = service->daemon.library,
                                     .policy = service->daemon.policy,
                                     .is_tree = parsers_is_tree,
                                     .is_packed = source_is_gzipped};
    for (unsigned i = 0; i < service->count; i++)
        must_be(verify_manual(&options, service->manuals[i].id, &report, &err),
                &err, "verify");
    must_be(verify_store(&options, &report, &err), &err, "verify");
    if (report.fault_count)
        simulation_fails("%zu faults: %s, %s: %s", report.fault_count,
                         report.faults[0].table, report.faults[0].place,
                         report.faults[0].what);
    verify_report_free(&report);
}

static void check_manual(struct service *service, const struct followed *manual,
                         const char *folder)
{
    struct buf now = outline_of(service->daemon.store, manual->id);
    struct buf fresh = fresh_outline(service, manual, folder);
    if (now.size != fresh.size || memcmp(now.data, fresh.data, now.size) != 0)
        simulation_fails("the index of %s is not what one made now would be",
                         manual->name);
    fibres_note(now.data, now.size);
    buf_free(&now);
    buf_free(&fresh);
}

void check_afresh(struct service *service, const char *folder)
{
    char path[192];
    for (unsigned i = 0; i < service->count; i++) {
        snprintf(path, sizeof path, "%s/fresh%u", folder, i);
        check_manual(service, &service->manuals[i], path);
    }
    verify(service);
}
