/* The folder as it is now, beside what the manual was. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "indexer/index_internal.h"
#include "memory/lexical/lexical.h"

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

int update_read_old_outline(struct update *u, struct err *err)
{
    struct store_txn *txn;
    if (!u->manual.generation)
        return 0;
    int code = store_read(u->store, &txn, err);
    if (code)
        return code;
    code = store_get_outline(txn, u->manual.id, u->manual.generation,
                             &u->old_outline, err);
    store_end(txn);
    if (code != ERR_NOT_FOUND && code != ERR_FORMAT)
        return code;
    log_error("%s: the outline of its generation is damaged: it is made anew, "
              "with other node ids",
              u->manual.name);
    return 0;
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
