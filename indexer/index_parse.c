/* Which files are read, and what comes of it: each tree is stored soon after it is
 * there. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "indexer/assemble.h"
#include "indexer/index_internal.h"
#include "indexer/inputs.h"
#include "indexer/mentions.h"
#include "indexer/source.h"

enum { BATCH_TREES = 256 /* trees stored in one transaction */ };

struct batch {
    struct tree *trees[BATCH_TREES];
    struct hash128 names[BATCH_TREES];
    size_t count;
};

/* The outline is made of it: the tree need not be read again for that. */
static void keep_skeleton(struct update *u, struct hash128 name,
                          const struct tree *tree)
{
    if (!skeletons_find(u->skeletons, name))
        skeletons_add(u->skeletons, name, assemble_skeleton(tree));
}

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
    for (size_t i = 0; i < batch->count; i++) {
        keep_skeleton(u, batch->names[i], batch->trees[i]);
        tree_free(batch->trees[i]);
    }
    batch->count = 0;
    return store_commit(txn, err);
}

/* Files as they are read, in turns: documents first, and of what they might include
 * only what they turn out not to. */
struct reading {
    struct parsers *parsers;
    struct parsers_task *tasks; /* [count] of this turn */
    uint32_t *file_of;          /* [count] index into files */
    size_t count;
    size_t done, total; /* of all turns */
    struct arena paths;
    struct batch batch;
    bool *wanted; /* [scan.count] to be read */
    bool *
        deferred; /* [scan.count] of them, to be parsed if no document includes it */
    bool *included; /* [scan.count] a document that is read includes it */
    struct look {
        bool taken, unchanged, moved;
        struct hash128 content;
    } * looks; /* [scan.count] */
};

static int take_tree(struct update *u, struct reading *r,
                     const struct parsers_result *result, struct err *err)
{
    struct batch *batch = &r->batch;
    if (result->tree) {
        batch->names[batch->count] = result->name;
        batch->trees[batch->count++] = result->tree;
    }
    int code = 0;
    if (batch->count == BATCH_TREES)
        code = write_batch(u, batch, err);
    return code ? code : update_step(u, INDEX_PARSE, ++r->done, r->total, err);
}

static void take_look(struct update *u, struct reading *r, size_t i,
                      const struct parsers_result *result)
{
    r->looks[i] = (struct look){.taken = !result->err.code,
                                .unchanged = result->unchanged,
                                .moved = result->moved,
                                .content = result->content};
    mentions_mark(&u->scan, buf_slice(&result->mentions), i, r->deferred);
}

static int collect_results(struct update *u, struct reading *r, bool look,
                           struct err *err)
{
    struct parsers_result result;
    int code = update_step(u, INDEX_PARSE, r->done, r->total, err);
    while (!code && parsers_next(r->parsers, &result)) {
        if (result.broken && err)
            *err = result.err;
        code = result.broken ? result.err.code : 0;
        if (!code && look)
            take_look(u, r, r->file_of[result.task], &result);
        else if (!code)
            update_take_result(u, r->file_of[result.task], &result);
        buf_free(&result.mentions);
        buf_free(&result.inputs);
        buf_free(&result.reports);
        if (!code)
            code = look ? update_step(u, INDEX_PARSE, r->done, r->total, err)
                        : take_tree(u, r, &result, err);
    }
    return code;
}

/* ---- Which ---- */

/* What a file that documents may include holds now; zero: it is not known.  One that was
 * only touched is no reason to read all documents again. */
static struct hash128 content_now(const struct update *u, size_t i, bool read)
{
    const struct file *file = &u->files[i];
    struct hash128 content = {0};
    struct buf path = {0}, bytes = {0};
    if (file->state != FILE_INDEXED)
        return content;
    if (!read)
        return file->content;
    if (!u->known[i] || source_format(file->path) != PARSER_LATEX)
        return content;
    file_join(&path, u->root.path, file->path);
    if (!source_read(&u->root, path.data, &bytes, NULL))
        content = hash_bytes(bytes.data, bytes.size);
    buf_free(&path);
    buf_free(&bytes);
    return content;
}

/* The documents whose included files are others than they were. */
static void find_outdated(struct update *u, bool *read)
{
    struct hash128 *content = mem_alloc(u->scan.count * sizeof *content);
    for (size_t i = 0; i < u->scan.count; i++)
        content[i] = content_now(u, i, read[i]);
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

static int choose_wanted(struct update *u, struct reading *r, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(u->store, &txn, err);
    if (code)
        return code;
    for (size_t i = 0; i < u->scan.count; i++)
        r->wanted[i] = update_look_up(u, txn, i);
    find_outdated(u, r->wanted);
    for (size_t i = 0; i < u->scan.count; i++)
        r->total += r->wanted[i];
    store_end(txn);
    return 0;
}

static void add_task(struct update *u, struct reading *r, size_t i, bool look)
{
    struct buf path = {0};
    file_join(&path, u->manual.root, u->scan.files[i].path);
    r->tasks[r->count] = (struct parsers_task){
        .path = arena_copy(&r->paths, path.data, path.size),
        .name = u->scan.files[i].path,
        .look = look,
        .has_known = u->known[i],
        .known = u->files[i].content,
        .size = u->scan.files[i].size,
        .mtime_ns = u->scan.files[i].mtime_ns,
        .inode = u->scan.files[i].inode};
    r->file_of[r->count++] = (uint32_t)i;
    buf_free(&path);
}

static int take_turn(struct update *u, struct reading *r, bool look,
                     struct err *err)
{
    int code = parsers_give(r->parsers, r->tasks, r->count, err);
    if (!code)
        code = collect_results(u, r, look, err);
    r->count = 0;
    return code;
}

/* A file that another one may include. */
static bool may_be_part(const char *path)
{
    return source_format(path) == PARSER_LATEX && !source_is_part(path);
}

/* Defers those that others name. */
static int look_at_files(struct update *u, struct reading *r, struct err *err)
{
    for (size_t i = 0; i < u->scan.count; i++)
        if (r->wanted[i] && may_be_part(u->scan.files[i].path))
            add_task(u, r, i, true);
    if (r->count < 2) {
        r->count = 0;
        return 0;
    }
    int code = take_turn(u, r, true, err);
    for (size_t i = 0; i < u->scan.count; i++)
        r->deferred[i] = r->deferred[i] && r->wanted[i] && r->looks[i].taken;
    return code;
}

/* ---- Parts ---- */

/* Its record is that of a file that is read only where another includes it. */
static bool is_part(const struct file *file)
{
    return file->state == FILE_INDEXED && !strcmp(file->inputs, INPUTS_OF_PART);
}

static int mark_included(struct update *u, struct store_txn *txn, size_t i,
                         bool *included, struct err *err)
{
    struct hash128 name = u->files[i].tree;
    struct tree *skeleton = skeletons_find(u->skeletons, name);
    int code =
        skeleton ? 0 : update_read_skeleton(u, txn, name, &skeleton, err);
    for (uint32_t f = 1; !code && f < skeleton->file_count; f++) {
        size_t found = scan_find(&u->scan, skeleton->files[f].data);
        if (found != SIZE_MAX && found != i)
            included[found] = true;
    }
    return code;
}

/* By the documents as they are now; none that is deferred is one yet. */
static int find_included(struct update *u, struct reading *r, struct err *err)
{
    struct store_txn *txn;
    int code = write_batch(u, &r->batch, err);
    if (!code)
        code = store_read(u->store, &txn, err);
    if (code)
        return code;
    memset(r->included, 0, u->scan.count * sizeof *r->included);
    for (size_t i = 0; i < u->scan.count && !code; i++) {
        const struct file *file = &u->files[i];
        if (!r->deferred[i] && file->state == FILE_INDEXED && file->inputs[0] &&
            !is_part(file))
            code = mark_included(u, txn, i, r->included, err);
    }
    store_end(txn);
    return code;
}

/* It stands in what includes it; nothing of it is parsed. */
static int take_part(struct update *u, struct reading *r, size_t i,
                     struct err *err)
{
    const struct look *look = &r->looks[i];
    struct parsers_result part = {.content = look->content,
                                  .moved = look->moved,
                                  .unchanged =
                                      look->unchanged && is_part(&u->files[i]),
                                  .stored = true};
    if (!part.unchanged) {
        buf_put_text(&part.inputs, INPUTS_OF_PART);
        part.name =
            parsers_name_with(parsers_tree_name(part.content, u->files[i].path),
                              buf_slice(&part.inputs));
        part.tree = parsers_part_tree();
    }
    update_take_result(u, i, &part);
    buf_free(&part.inputs);
    return take_tree(u, r, &part, err);
}

/* What no document includes is one itself. */
static int parse_unincluded(struct update *u, struct reading *r,
                            struct err *err)
{
    for (size_t i = 0; i < u->scan.count; i++)
        if (r->deferred[i] && !r->included[i]) {
            r->deferred[i] = false;
            add_task(u, r, i, false);
        }
    if (!r->count)
        return 0;
    int code = take_turn(u, r, false, err);
    return code ? code : find_included(u, r, err);
}

/* The same of what one had included. */
static int parse_abandoned(struct update *u, struct reading *r, struct err *err)
{
    for (size_t i = 0; i < u->scan.count; i++)
        if (!r->deferred[i] && !r->included[i] && is_part(&u->files[i])) {
            u->known[i] = false;
            add_task(u, r, i, false);
        }
    r->total += r->count;
    return r->count ? take_turn(u, r, false, err) : 0;
}

static bool any_part(const struct update *u, const struct reading *r)
{
    bool any = false;
    for (size_t i = 0; i < u->scan.count && !any; i++)
        any = r->deferred[i] || (u->changed && is_part(&u->files[i]));
    return any;
}

static int settle_parts(struct update *u, struct reading *r, struct err *err)
{
    int code = 0;
    if (any_part(u, r))
        code = find_included(u, r, err);
    else
        return 0;
    if (!code)
        code = parse_unincluded(u, r, err);
    if (!code)
        code = parse_abandoned(u, r, err);
    for (size_t i = 0; i < u->scan.count && !code; i++)
        if (r->deferred[i])
            code = take_part(u, r, i, err);
    return code;
}

/* ---- All of it ---- */

static int read_all(struct update *u, struct reading *r, struct err *err)
{
    int code = choose_wanted(u, r, err);
    if (!code)
        code = look_at_files(u, r, err);
    for (size_t i = 0; i < u->scan.count && !code; i++)
        if (r->wanted[i] && !r->deferred[i])
            add_task(u, r, i, false);
    if (!code)
        code = take_turn(u, r, false, err);
    if (!code)
        code = settle_parts(u, r, err);
    return code;
}

int update_parse(struct update *u, struct err *err)
{
    size_t count = u->scan.count;
    struct reading r = {0};
    struct parser_options parser = u->options->parser;
    parser.cancel = u->cancel;
    r.parsers = parsers_new(u->store, &parser, u->options->parsers,
                            u->options->force, &u->root, &u->scan);
    r.tasks = mem_alloc(count * sizeof *r.tasks);
    r.file_of = mem_alloc(count * sizeof *r.file_of);
    r.wanted = mem_alloc(count * sizeof *r.wanted);
    r.deferred = mem_alloc(count * sizeof *r.deferred);
    r.included = mem_alloc(count * sizeof *r.included);
    r.looks = mem_alloc(count * sizeof *r.looks);
    int code = read_all(u, &r, err);
    parsers_stop(r.parsers);
    /* What was parsed is kept for the next try, whatever stopped this one. */
    int written = write_batch(u, &r.batch, code ? NULL : err);
    for (size_t i = 0; i < r.batch.count; i++)
        tree_free(r.batch.trees[i]);
    arena_free(&r.paths);
    free(r.tasks);
    free(r.file_of);
    free(r.wanted);
    free(r.deferred);
    free(r.included);
    free(r.looks);
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
