/* What must be on the disk before LMDB opens a store's folder.
 *
 * LMDB writes a new file's first pages in place and syncs them with its first
 * commit: a power cut in between leaves a file that it refuses for good.  So a
 * new one is made under another name, with one commit in it, and renamed.
 *
 * It writes its lock file through a map, where a full disk is a SIGBUS: the
 * file's blocks are reserved. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "memory/store/store_internal.h"

enum { FIRST_PAGES = 2, PAGE = 4096, START_HEAD = 16 }; /* LMDB's */
enum { LOCK_BYTES = 16 << 10 }; /* more than MAX_READERS take */

int store_reserve_lock(const char *folder, struct err *err)
{
    struct buf path = {0};
    file_join(&path, folder, "lock.mdb");
    int fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int failure = fd < 0 ? errno : posix_fallocate(fd, 0, LOCK_BYTES);
    if (fd >= 0)
        close(fd);
    buf_free(&path);
    return failure ? store_error(failure, "cannot open the store", err) : 0;
}

/* One commit, which LMDB syncs. */
static int commit_once(MDB_env *env)
{
    MDB_txn *txn;
    MDB_dbi table;
    int rc = mdb_txn_begin(env, NULL, 0, &txn);
    if (rc)
        return rc;
    rc = mdb_dbi_open(txn, "meta", MDB_CREATE, &table);
    if (rc) {
        mdb_txn_abort(txn);
        return rc;
    }
    return mdb_txn_commit(txn);
}

static int make_environment(const char *path, struct err *err)
{
    MDB_env *env;
    int rc = mdb_env_create(&env);
    if (rc)
        return store_error(rc, "cannot make a store", err);
    mdb_env_set_maxdbs(env, 1);
    rc = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK, 0600);
    if (!rc)
        rc = commit_once(env);
    mdb_env_close(env);
    return rc ? store_error(rc, "cannot make a store", err) : 0;
}

static int make_data(const char *folder, const char *path, struct err *err)
{
    struct buf unfinished = {0};
    file_join(&unfinished, folder, "new.mdb");
    unlink(unfinished.data);
    int code = make_environment(unfinished.data, err);
    if (!code && rename(unfinished.data, path))
        code = err_errno(err, ERR_STORE, "cannot rename %s", unfinished.data);
    if (code)
        unlink(unfinished.data);
    buf_free(&unfinished);
    return code;
}

/* Of the folder, and of what it holds. */
static int sync_names(const char *folder, struct err *err)
{
    struct err cause = {0};
    struct buf parent = {0};
    file_join(&parent, folder, "..");
    int code = file_sync_folder(folder, &cause);
    if (!code)
        code = file_sync_folder(parent.data, &cause);
    buf_free(&parent);
    return code ? err_set(err, ERR_STORE, "%s", cause.message) : 0;
}

/* What is there, and be it a link to nowhere, is not replaced by a new store. */
static bool is_absent(const char *path)
{
    struct stat st;
    return lstat(path, &st) < 0 && errno == ENOENT;
}

/* LMDB believes what stands in its first pages: the size of a page, and what kind
 * of tables there are. */
static bool is_start(const struct start_page *page)
{
    enum { INTEGER_KEYS = 8, FORMAT = 1, MAX_DEPTH = 32 };
    const uint32_t magic = 0xBEEFC0DE, size = page->free_list.page_size;
    return page->magic == magic && page->version == FORMAT && size >= PAGE &&
           !(size & (size - 1)) &&
           /* the environment's are there, too */
           (page->free_list.flags & ~MDB_NOSUBDIR) == INTEGER_KEYS &&
           !page->names.flags && !page->address &&
           page->free_list.depth < MAX_DEPTH && page->names.depth < MAX_DEPTH;
}

/* Every commit goes to the one that the last did not go to. */
static bool follow(const struct start_page *first,
                   const struct start_page *second)
{
    uint64_t even = first->commit, odd = second->commit;
    return (!even && !odd) ||
           (even % 2 == 0 && (odd == even + 1 || odd + 1 == even));
}

/* *ret_failed: the disk did not give it; what is there is not known. */
static bool read_start(int fd, uint64_t at, struct start_page *ret,
                       bool *ret_failed)
{
    ssize_t size = pread(fd, ret, sizeof *ret, (off_t)at + START_HEAD);
    *ret_failed = *ret_failed || size < 0;
    return size == sizeof *ret;
}

/* No crash leaves a file without LMDB's first pages: it was made under another
 * name. */
static int check_begin(const char *path, struct err *err)
{
    struct start_page first, second;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* LMDB says why */
        return 0;
    bool failed = false;
    bool whole = read_start(fd, 0, &first, &failed) && is_start(&first) &&
                 read_start(fd, first.free_list.page_size, &second, &failed) &&
                 is_start(&second) &&
                 second.free_list.page_size == first.free_list.page_size &&
                 follow(&first, &second);
    if (failed) {
        err_errno(err, ERR_STORE, "cannot read %s", path);
        close(fd);
        return ERR_STORE;
    }
    struct stat st = {0};
    if (fstat(fd, &st) < 0 || st.st_size < FIRST_PAGES * PAGE)
        whole = false;
    close(fd);
    if (whole)
        return 0;
    return err_set(err, ERR_STORE,
                   "%s has lost its beginning (it has %lld bytes): restore "
                   "a backup, or remove the folder and add the manuals again",
                   path, (long long)st.st_size);
}

int store_prepare(const char *folder, struct err *err)
{
    struct buf path = {0};
    file_join(&path, folder, "data.mdb");
    int code = is_absent(path.data) ? make_data(folder, path.data, err)
                                    : check_begin(path.data, err);
    if (!code)
        code = sync_names(folder, err);
    buf_free(&path);
    return code;
}
