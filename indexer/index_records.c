/* The record of each file: what it says of a file that the scan met, and what a file
 * that was parsed, or failed, leaves in it. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "indexer/index_internal.h"

static const int64_t RACY_NS = 2000000000;

static bool was_unread(const struct file *old)
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
    u->keep_record[i] =
        u->known[i] && scan_is_untouched(now, old, u->manual.indexed_at);
    return !u->keep_record[i] || was_unread(old);
}

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

void update_take_result(struct update *u, size_t i,
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
    /* Read again, it may turn out to be no document's part any more, or to be one. */
    if (r->unchanged) {
        if (forget_kept(file)) {
            u->keep_record[i] = false;
            u->changed = true;
        }
        return;
    }
    int state = r->err.code ? FILE_FAILED : FILE_INDEXED;
    /* What could not be read before may be included by others: looked at again. */
    u->report->unsettled += state == FILE_INDEXED && was_unread(file);
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
