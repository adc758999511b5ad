/* Parsing what changed, side by side; each tree is stored under the hash of its
 * bytes as soon as it is there. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "indexer/index_internal.h"
#include "indexer/inputs.h"
#include "indexer/parsers.h"

enum { BATCH_TREES = 256 }; /* trees stored in one transaction */

/* What is wrong in a file that is read all the same. */
static void log_reports(const struct update *u, const char *path,
                        struct slice reports)
{
    while (reports.size) {
        const char *end = memchr(reports.data, '\n', reports.size);
        size_t size = end ? (size_t)(end - reports.data) : reports.size;
        log_warn("%s/%s: %.*s", u->manual.root, path, (int)size, reports.data);
        size += end != NULL;
        reports.data += size;
        reports.size -= size;
    }
}

#define KEPT "; what it was before is kept\n"

/* Takes the line off the file's reports that keep_as_it_was has put before them. */
static bool forget_kept(struct file *file)
{
    const char *end = strchr(file->reports, '\n');
    size_t size = end ? (size_t)(end + 1 - file->reports) : 0;
    if (size < sizeof KEPT ||
        memcmp(file->reports + size - (sizeof KEPT - 1), KEPT, sizeof KEPT - 1))
        return false;
    memmove(file->reports, file->reports + size,
            strlen(file->reports + size) + 1);
    return true;
}

/* What was indexed of it stays: a disk that fails does not take a manual away.  It is
 * read again next time, and told meanwhile. */
static void keep_as_it_was(struct update *u, size_t i, const char *why)
{
    struct file *file = &u->files[i];
    struct buf report = {0};
    forget_kept(file);
    buf_printf(&report, "%s" KEPT "%s", why, file->reports);
    free(file->reports);
    file->reports = report.data;
    file->mtime_ns = 0;
    u->keep_record[i] = false;
}

static void take_result(struct update *u, size_t i,
                        const struct parsers_result *r)
{
    struct file *file = &u->files[i];
    if (r->err.code)
        log_warn("%s/%s: %s", u->manual.root, file->path, r->err.message);
    if (r->unread && u->has_tree[i] && file->state == FILE_INDEXED) {
        keep_as_it_was(u, i,
                       r->err.code ? r->err.message
                                   : "a file that it includes cannot be read: "
                                     "Input/output error");
        return;
    }
    /* Its stat is another's: it is read again next time. */
    if (r->moved) {
        file->mtime_ns = 0;
        u->keep_record[i] = false;
        u->report->unsettled++;
    }
    if (r->unchanged) {
        if (forget_kept(file))
            u->keep_record[i] = false;
        return;
    }
    int state = r->err.code ? FILE_FAILED : FILE_INDEXED;
    /* What could not be read before may be included by others: looked at again. */
    u->report->unsettled += state == FILE_INDEXED && update_was_unread(file);
    log_reports(u, file->path, buf_slice(&r->reports));
    u->changed |= state == FILE_INDEXED || file->state == FILE_INDEXED;
    u->keep_record[i] = false;
    file->state = state;
    file->content = r->content;
    file->tree = r->name;
    free(file->failure);
    free(file->inputs);
    free(file->reports);
    file->failure = mem_strdup(r->err.code ? r->err.message : "");
    file->inputs = mem_strdup(buf_slice(&r->inputs).data);
    file->reports = mem_strdup(buf_slice(&r->reports).data);
    u->report->parsed += !r->stored;
}

struct batch {
    struct tree *trees[BATCH_TREES];
    struct hash128 names[BATCH_TREES];
    size_t count;
};

static int write_batch(struct update *u, struct batch *batch, struct err *err)
{
    struct store_txn *txn;
    if (!batch->count)
        return 0;
    int code = store_write(u->store, &txn, err);
    if (code)
        return code;
    for (size_t i = 0; i < batch->count && !code; i++)
        code = store_put_tree(txn, batch->names[i], batch->trees[i], err);
    if (!code)
        code = store_note_made(txn, u->manual.id, UNFINISHED_TREES,
                               batch->names, batch->count, err);
    if (code) {
        store_end(txn);
        return code;
    }
    for (size_t i = 0; i < batch->count; i++)
        tree_free(batch->trees[i]);
    batch->count = 0;
    return store_commit(txn, err);
}

static int collect_results(struct update *u, struct parsers *parsers,
                           const uint32_t *file_of, size_t total,
                           struct batch *batch, struct err *err)
{
    struct parsers_result result;
    size_t done = 0;
    int code = update_step(u, INDEX_PARSE, 0, total, err);
    while (!code && parsers_next(parsers, &result)) {
        if (result.broken) {
            if (err)
                *err = result.err;
            return result.err.code;
        }
        take_result(u, file_of[result.task], &result);
        buf_free(&result.inputs);
        buf_free(&result.reports);
        if (result.tree) {
            batch->names[batch->count] = result.name;
            batch->trees[batch->count++] = result.tree;
        }
        if (batch->count == BATCH_TREES)
            code = write_batch(u, batch, err);
        if (!code)
            code = update_step(u, INDEX_PARSE, ++done, total, err);
    }
    return code;
}

struct reading {
    struct parsers_task *tasks; /* [count] */
    uint32_t *file_of;          /* [count] index into files */
    size_t count;
    struct arena paths;
};

/* The documents whose included files are others than they were. */
static void find_outdated(struct update *u, bool *read)
{
    struct hash128 *content = mem_alloc(u->scan.count * sizeof *content);
    for (size_t i = 0; i < u->scan.count; i++)
        if (!read[i] && u->files[i].state == FILE_INDEXED)
            content[i] = u->files[i].content;
    for (size_t i = 0; i < u->scan.count; i++) {
        const struct file *file = &u->files[i];
        if (file->inputs[0] &&
            !inputs_are_same(&u->scan, file->path, file->inputs, content)) {
            read[i] = true;
            u->known[i] = false;
        }
    }
    free(content);
}

static void add_reading(struct update *u, struct reading *reading, size_t i)
{
    struct buf path = {0};
    file_join(&path, u->manual.root, u->scan.files[i].path);
    reading->tasks[reading->count] = (struct parsers_task){
        .path = arena_copy(&reading->paths, path.data, path.size),
        .name = u->scan.files[i].path,
        .has_known = u->known[i],
        .known = u->files[i].content,
        .size = u->scan.files[i].size,
        .mtime_ns = u->scan.files[i].mtime_ns,
        .inode = u->scan.files[i].inode};
    reading->file_of[reading->count++] = (uint32_t)i;
    buf_free(&path);
}

static int choose_hmt_cache(struct update *u, struct reading *reading,
                            struct err *err)
{
    struct store_txn *txn;
    int code = store_read(u->store, &txn, err);
    if (code)
        return code;
    reading->tasks = mem_alloc(u->scan.count * sizeof *reading->tasks);
    reading->file_of = mem_alloc(u->scan.count * sizeof *reading->file_of);
    bool *read = mem_alloc(u->scan.count * sizeof *read);
    for (size_t i = 0; i < u->scan.count; i++)
        read[i] = update_look_up(u, txn, i);
    find_outdated(u, read);
    for (size_t i = 0; i < u->scan.count; i++)
        if (read[i])
            add_reading(u, reading, i);
    free(read);
    store_end(txn);
    return 0;
}

int update_parse(struct update *u, struct err *err)
{
    struct reading reading = {0};
    struct batch batch = {0};
    int code = choose_hmt_cache(u, &reading, err);
    if (!code) {
        struct parser_options parser = u->options->parser;
        parser.cancel = u->cancel;
        struct parsers *parsers;
        code = parsers_start(u->store, &parser, u->options->parsers,
                             u->options->force, &u->root, &u->scan,
                             reading.tasks, reading.count, &parsers, err);
        if (!code) {
            code = collect_results(u, parsers, reading.file_of, reading.count,
                                   &batch, err);
            parsers_stop(parsers);
        }
    }
    /* What was parsed is kept for the next try, whatever stopped this one. */
    int written = write_batch(u, &batch, code ? NULL : err);
    for (size_t i = 0; i < batch.count; i++)
        tree_free(batch.trees[i]);
    arena_free(&reading.paths);
    free(reading.tasks);
    free(reading.file_of);
    return code ? code : written;
}

/* Trees that updates before this one parsed and did not come to use. */
int update_prune_trees(struct update *u, struct err *err)
{
    struct hash128 *names = mem_alloc(u->scan.count * sizeof *names);
    for (size_t i = 0; i < u->scan.count; i++)
        names[i] = u->files[i].tree;
    if (u->scan.count)
        qsort(names, u->scan.count, sizeof *names, hash_compare);
    int code = store_prune_made(u->store, u->manual.id, UNFINISHED_TREES, names,
                                u->scan.count, err);
    free(names);
    return code;
}
