/* The files of a manual beside their records: what is surely unchanged is left
 * alone. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "indexer/index_internal.h"
#include "indexer/parsers.h"

static const int64_t RACY_NS = 2000000000;

static int against_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct file *)file)->path);
}

const struct file *update_find_old(const struct update *u, const char *path)
{
    return u->old_file_count ? bsearch(path, u->old_files, u->old_file_count,
                                       sizeof *u->old_files, against_path)
                             : NULL;
}

static bool same_stat(const struct file *old, const struct scan_file *now)
{
    return old->size == now->size && old->mtime_ns == now->mtime_ns &&
           old->inode == now->inode;
}

bool update_was_unread(const struct file *old)
{
    return old->state == FILE_FAILED && !old->content.low && !old->content.high;
}

/* False: another version of the parser made its tree or failed on it, or the
 * store has lost the tree. */
static bool is_current(struct store_txn *txn, const struct file *file)
{
    return hash_equal(file->tree, parsers_file_tree(file)) &&
           (file->state == FILE_FAILED || store_has_tree(txn, file->tree));
}

/* A file changed within the last moments may change again without another
 * time stamp: recorded as of time 0, it is hashed again next time. */
static int64_t settled(const struct update *u, int64_t mtime_ns)
{
    return mtime_ns < u->started_ns - RACY_NS ? mtime_ns : 0;
}

/* One of a later day stays so, and is hashed each time. */
static bool settles(const struct update *u, int64_t mtime_ns)
{
    return !settled(u, mtime_ns) && mtime_ns < u->started_ns + RACY_NS;
}

/* Fills files[i] from the record or as new; true: it has to be read. */
bool update_look_up(struct update *u, struct store_txn *txn, size_t i)
{
    const struct scan_file *now = &u->scan.files[i];
    const struct file *old = update_find_old(u, now->path);
    struct file *file = &u->files[i];
    *file = (struct file){.path = mem_strdup(now->path),
                          .size = now->size,
                          .mtime_ns = settled(u, now->mtime_ns),
                          .inode = now->inode,
                          .failure = mem_strdup(""),
                          .inputs = mem_strdup(""),
                          .reports = mem_strdup("")};
    u->report->unsettled += settles(u, now->mtime_ns);
    if (now->failure) {
        file->state = now->not_followed ? FILE_NOT_FOLLOWED : FILE_FAILED;
        free(file->failure);
        file->failure = mem_strdup(now->failure);
        u->changed |= old && old->state == FILE_INDEXED;
        if (!old || old->state == FILE_INDEXED)
            log_warn("%s/%s: %s", u->manual.root, now->path, now->failure);
        return false;
    }
    if (!old)
        return true;
    file->content = old->content;
    file->tree = old->tree;
    file->state = old->state;
    free(file->failure);
    free(file->inputs);
    free(file->reports);
    file->failure = mem_strdup(old->failure);
    file->inputs = mem_strdup(old->inputs);
    file->reports = mem_strdup(old->reports);
    bool again =
        u->options->force || (u->options->retry && old->state == FILE_FAILED);
    u->has_tree[i] = is_current(txn, old);
    u->known[i] = u->has_tree[i] && !again;
    u->keep_record[i] = u->known[i] && same_stat(old, now);
    return !u->keep_record[i] || update_was_unread(old);
}

static bool any_gone(const struct update *u)
{
    size_t at = 0;
    for (size_t i = 0; i < u->old_file_count; i++) {
        while (at < u->scan.count &&
               strcmp(u->scan.files[at].path, u->old_files[i].path) < 0)
            at++;
        if (at == u->scan.count ||
            strcmp(u->scan.files[at].path, u->old_files[i].path))
            return true;
    }
    return false;
}

int update_scan(struct update *u, struct err *err)
{
    struct store_txn *txn;
    int code = update_step(u, INDEX_SCAN, 0, 0, err);
    if (!code)
        code = store_read(u->store, &txn, err);
    if (code)
        return code;
    code = store_list_files(txn, u->manual.id, &u->old_files,
                            &u->old_file_count, err);
    store_end(txn);
    if (!code)
        code = watch_scan(u->options->watch, u->manual.id, &u->root,
                          u->manual.ignore, &u->scan, err);
    if (!code && !u->scan.count && u->old_file_count && !u->options->force)
        code = err_set(err, ERR_IO,
                       "%s has no file left: is a disk not mounted? lectern rm "
                       "%s, or update --force, if that is meant",
                       u->manual.root, u->manual.name);
    if (code)
        return code;
    u->files = mem_alloc(u->scan.count * sizeof *u->files);
    u->known = mem_alloc(u->scan.count * sizeof *u->known);
    u->has_tree = mem_alloc(u->scan.count * sizeof *u->has_tree);
    u->keep_record = mem_alloc(u->scan.count * sizeof *u->keep_record);
    u->changed = !u->old_outline || any_gone(u) ||
                 u->manual.lexical != LEXICAL_VERSION ||
                 u->old_outline->has_aliases == u->options->no_aliases ||
                 !slice_is(u->old_outline->nodes[0].title, u->manual.name);
    return 0;
}
