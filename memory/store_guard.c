/* What the store's map may not do to the daemon.
 *
 * LMDB reads its file through a map.  Where the file ends before a page that is
 * read (somebody cut it short), or the disk cannot deliver it, the kernel sends a
 * SIGBUS.  Pages of zeros take the place of what is missing, so that the reader
 * goes on to an error of its own, and the environment counts as damaged from
 * then on: nothing is read from or written to it any more (store_env.c). */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string.h>

#include "memory/tables.h"

enum { MAX_MAPS = 64 };

/* A handler can take no lock: `to` is written last and cleared first. */
static struct guarded {
    atomic_bool used;
    atomic_uintptr_t from, to;
    atomic_bool damaged;
} maps[MAX_MAPS];

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)context;
    for (size_t i = 0; i < MAX_MAPS; i++) {
        if (at < atomic_load(&maps[i].from) || at >= atomic_load(&maps[i].to))
            continue;
        atomic_store(&maps[i].damaged, true);
        if (mmap((void *)(at & ~(page - 1)), page, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
            return;
    }
    signal(number, SIG_DFL); /* it comes again at once */
}

static void install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

/* Where this process has mapped the file. */
static bool find_map(const struct stat *file, uintptr_t *ret_from,
                     uintptr_t *ret_to)
{
    FILE *list = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;
    while (list && !found && fgets(line, sizeof line, list)) {
        uint64_t from, to, offset;
        unsigned long inode;
        found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %lu",
                       &from, &to, &offset, &inode) == 4 &&
                inode == file->st_ino && !offset;
        for (size_t i = 0; found && i < MAX_MAPS; i++)
            if (atomic_load(&maps[i].used) &&
                atomic_load(&maps[i].from) == from)
                found = false; /* another opening's */
        *ret_from = (uintptr_t)from;
        *ret_to = (uintptr_t)to;
    }
    if (list)
        fclose(list);
    return found;
}

int guard_map(MDB_env *env)
{
    struct stat st;
    uintptr_t from, to;
    int fd;
    install_handler();
    if (mdb_env_get_fd(env, &fd) || fstat(fd, &st) ||
        !find_map(&st, &from, &to))
        return -1;
    for (int i = 0; i < MAX_MAPS; i++) {
        bool free = false;
        if (!atomic_compare_exchange_strong(&maps[i].used, &free, true))
            continue;
        atomic_store(&maps[i].damaged, false);
        atomic_store(&maps[i].from, from);
        atomic_store(&maps[i].to, to);
        return i;
    }
    return -1;
}

void guard_unmap(int guard)
{
    if (guard < 0)
        return;
    atomic_store(&maps[guard].to, 0);
    atomic_store(&maps[guard].from, 0);
    atomic_store(&maps[guard].used, false);
}

bool guard_is_damaged(int guard)
{
    return guard >= 0 && atomic_load(&maps[guard].damaged);
}

/* ---- The file as a whole ---- */

/* Pages at the end may never have been written: those that a transaction took and
 * gave back at once.  They are in the list of free ones. */
static int count_free_from(MDB_txn *txn, uint64_t first, uint64_t *ret_count)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t count = 0;
    int rc = mdb_cursor_open(txn, 0, &cursor);
    if (rc)
        return rc;
    while (!(rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        const char *pages = value.mv_data;
        size_t number;
        for (size_t i = 1; i < value.mv_size / sizeof number; i++) {
            memcpy(&number, pages + i * sizeof number, sizeof number);
            count += number >= first;
        }
    }
    mdb_cursor_close(cursor);
    *ret_count = count;
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int guard_check_size(MDB_env *env, const char *folder, struct err *err)
{
    MDB_envinfo info;
    MDB_stat stat;
    MDB_txn *txn;
    struct stat file;
    uint64_t missing = 0, unwritten = 0;
    int fd, rc = mdb_env_get_fd(env, &fd);
    if (!rc && fstat(fd, &file))
        rc = errno;
    if (rc)
        return store_error(rc, "cannot look at the store's file", err);
    mdb_env_info(env, &info);
    mdb_env_stat(env, &stat);
    uint64_t pages = (uint64_t)info.me_last_pgno + 1;
    uint64_t there = (uint64_t)file.st_size / stat.ms_psize;
    if (there >= pages)
        return 0;
    missing = pages - there;
    rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (!rc) {
        rc = count_free_from(txn, there, &unwritten);
        mdb_txn_abort(txn);
    }
    if (!rc && unwritten >= missing)
        return 0;
    return err_set(err, ERR_STORE,
                   "the store %s is cut short: its file data.mdb has %" PRIu64
                   " of %" PRIu64 " bytes; restore a backup, or remove the "
                   "folder and add the manuals again",
                   folder, (uint64_t)file.st_size, pages * stat.ms_psize);
}

bool guard_is_gone(MDB_env *env)
{
    struct stat file;
    int fd;
    return mdb_env_get_fd(env, &fd) || fstat(fd, &file) || !file.st_nlink;
}
