/* Which files are read, and what comes of it: each tree is stored soon after it is
 * there. */
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "indexer/index_internal.h"
#include "indexer/inputs.h"

enum { BATCH_TREES = 256 /* trees stored in one transaction */ };

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
        update_take_result(u, file_of[result.task], &result);
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

static int choose_readings(struct update *u, struct reading *reading,
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
    int code = choose_readings(u, &reading, err);
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
