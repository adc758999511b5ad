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

#include "memory/store/store_internal.h"

enum { MAX_MAPS = 64 };

/* A handler can take no lock: `to` is written last and cleared first. */
static struct guarded {
    atomic_bool used;
    atomic_uintptr_t from, to;
    atomic_bool damaged;
} maps[MAX_MAPS];

static struct sigaction before[NSIG]; /* who had the signal until then */

static bool fill_hole(uintptr_t at)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < MAX_MAPS; i++) {
        if (at < atomic_load(&maps[i].from) || at >= atomic_load(&maps[i].to))
            continue;
        atomic_store(&maps[i].damaged, true);
        trap_leave();
        return mmap((void *)(at & ~(page - 1)), page, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                    0) != MAP_FAILED;
    }
    return false;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGBUS && fill_hole((uintptr_t)info->si_addr))
        return;
    trap_leave();
    sigaction(number, &before[number], NULL); /* it comes again at once */
}

static void install_handler(int number)
{
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags =
                                   SA_SIGINFO | SA_RESTART | SA_NODEFER},
                     old;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, &old);
    if (old.sa_sigaction != on_fault)
        before[number] = old;
}

void guard_install(void)
{
    static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&installing);
    install_handler(SIGBUS);
    install_handler(SIGSEGV);
    pthread_mutex_unlock(&installing);
}

/* Where this process has mapped the file, all `size` bytes of it: a file of another
 * disk may have the same number, and what a map says of disks is not what stat
 * does. */
static bool find_map(const struct stat *file, uint64_t size,
                     uintptr_t *ret_from, uintptr_t *ret_to)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *list = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;
    while (list && !found && fgets(line, sizeof line, list)) {
        uint64_t from, to, offset;
        unsigned long inode;
        found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %lu",
                       &from, &to, &offset, &inode) == 4 &&
                inode == file->st_ino && !offset &&
                to - from == (size + page - 1) / page * page;
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
    MDB_envinfo info;
    uintptr_t from, to;
    int fd;
    if (mdb_env_get_fd(env, &fd) || fstat(fd, &st) ||
        mdb_env_info(env, &info) || !find_map(&st, info.me_mapsize, &from, &to))
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

const char *guard_map_start(int guard)
{
    return guard < 0 ? NULL : (const char *)atomic_load(&maps[guard].from);
}

bool guard_holds(int guard, uint64_t file_size, const void *data, size_t size)
{
    if (guard < 0)
        return size <= file_size;
    uintptr_t from = atomic_load(&maps[guard].from), at = (uintptr_t)data;
    return at >= from && at - from <= file_size &&
           size <= file_size - (at - from);
}

/* ---- The file as a whole ---- */

/* Pages at the end may never have been written: those that a transaction took and
 * gave back at once.  They are in the list of free ones. */
struct free_pages {
    MDB_txn *txn;
    uint64_t first, count;
};

static int count_free_from(void *context)
{
    struct free_pages *pages = context;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t count = 0;
    int rc = mdb_cursor_open(pages->txn, 0, &cursor);
    if (rc)
        return rc;
    while (!(rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        const char *numbers = value.mv_data;
        size_t number;
        for (size_t i = 1; i < value.mv_size / sizeof number; i++) {
            memcpy(&number, numbers + i * sizeof number, sizeof number);
            count += number >= pages->first;
        }
    }
    mdb_cursor_close(cursor);
    pages->count = count;
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int guard_check_size(MDB_env *env, const char *folder, struct err *err)
{
    MDB_envinfo info;
    MDB_stat stat;
    struct free_pages free = {0};
    struct stat file;
    uint64_t missing = 0;
    bool trapped = false;
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
    free.first = there;
    rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &free.txn);
    if (!rc) {
        rc = trap_run(count_free_from, &free, &trapped);
        mdb_txn_abort(free.txn);
    }
    if (!rc && free.count >= missing)
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
