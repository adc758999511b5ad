/* Parsers: the program's own loop in a fibre, behind a pair of sockets of bytes in
 * memory.  It takes time, and may die at any of its calls. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "indexer/parse/serve.h"
#include "indexer/wire.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

enum { FIRST_FD = 1 << 22, FIRST_PID = 1 << 20, MAX_PAIRS = 128 };

/* Descriptors FIRST_FD + 2 i, the daemon's, and the next one, the parser's. */
struct pair {
    struct buf to_parser, to_daemon;
    bool used;
    bool closed;  /* by the daemon */
    bool awaited; /* its end, by the daemon */
    bool ended;   /* the parser */
    bool runs;    /* its fibre */
    int status;   /* of its end */
};

static struct pair pairs[MAX_PAIRS];
static unsigned deaths, refusals;
static int given; /* descriptor that the next process gets */

void processes_begin(void)
{
    for (unsigned i = 0; i < MAX_PAIRS; i++) {
        buf_free(&pairs[i].to_parser);
        buf_free(&pairs[i].to_daemon);
        pairs[i] = (struct pair){0};
    }
    deaths = refusals = 0;
}

unsigned processes_died(void)
{
    return deaths;
}

unsigned processes_refused(void)
{
    return refusals;
}

static struct pair *pair_of(int fd)
{
    return fd >= FIRST_FD && fd < FIRST_FD + 2 * MAX_PAIRS
               ? &pairs[(fd - FIRST_FD) / 2]
               : NULL;
}

static struct pair *process_of(pid_t pid)
{
    if (pid >= FIRST_PID + MAX_PAIRS)
        simulation_fails("no such process: %d", pid);
    return &pairs[pid - FIRST_PID];
}

static size_t take(struct buf *from, void *bytes, size_t size)
{
    size_t n = size < from->size ? size : from->size;
    if (n > 1 && chance_in(16))
        n = 1 + (size_t)chance_below(n);
    memcpy(bytes, from->data, n);
    memmove(from->data, from->data + n, from->size - n);
    from->size -= n;
    return n;
}

/* ---- The parser's side ---- */

bool process_is_own(void);
bool process_is_own(void)
{
    return fibre_own() != NULL;
}

static void end(struct pair *pair, int status)
{
    if (pair->ended)
        return;
    pair->ended = true;
    pair->status = status;
    fibre_wake(pair, true);
}

/* Killed, crashed, or out of memory. */
static void die(struct pair *pair)
{
    static const int ways[] = {SIGKILL, SIGSEGV, SIGXCPU, 80 << 8, 1 << 8};
    int status = ways[chance_below(sizeof ways / sizeof ways[0])];
    deaths++;
    simulation_says("a parser dies: %x", (unsigned)status);
    end(pair, status);
}

static bool lives(struct pair *pair)
{
    outside_call();
    if (!pair->ended && chance_in(world.deaths))
        die(pair);
    return !pair->ended && !pair->closed;
}

ssize_t process_read(void *bytes, size_t size);
ssize_t process_read(void *bytes, size_t size)
{
    struct pair *pair = fibre_own();
    while (lives(pair) && !pair->to_parser.size)
        fibre_wait(&pair->to_parser, NEVER);
    return pair->ended || !pair->to_parser.size
               ? 0
               : (ssize_t)take(&pair->to_parser, bytes, size);
}

static ssize_t process_send(struct pair *pair, const void *bytes, size_t size)
{
    if (world.slowness)
        fibre_sleep((int64_t)chance_below((uint64_t)world.slowness));
    if (!lives(pair)) {
        errno = EPIPE;
        return -1;
    }
    size_t n = chance_in(16) ? 1 + (size_t)chance_below(size) : size;
    buf_put(&pair->to_daemon, bytes, n);
    fibre_wake(pair, true);
    return (ssize_t)n;
}

static void leave(struct pair *pair, int status)
{
    end(pair, status);
    pair->runs = false;
}

static void *run(void *context)
{
    fibre_set_own(context);
    serve_all();
    leave(context, 0);
    return NULL;
}

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap__exit(int status)
{
    struct pair *pair = fibre_own();
    if (!pair)
        __real__exit(status);
    leave(pair, status << 8);
    fibre_end();
}

/* ---- The daemon's side ---- */

int __real_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2])
{
    (void)domain;
    (void)type;
    (void)protocol;
    for (int i = 0; i < MAX_PAIRS; i++) {
        struct pair *pair = &pairs[i];
        if (pair->used && (!pair->closed || pair->awaited || pair->runs))
            continue;
        buf_free(&pair->to_parser);
        buf_free(&pair->to_daemon);
        *pair = (struct pair){.used = true};
        ends[0] = FIRST_FD + 2 * i;
        ends[1] = FIRST_FD + 2 * i + 1;
        return 0;
    }
    simulation_fails("more than %d parsers at once", MAX_PAIRS);
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *files,
                                            int from, int to);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *files,
                                            int from, int to)
{
    (void)files;
    (void)to;
    given = from;
    return 0;
}

int __wrap_posix_spawn(pid_t *ret, const char *path,
                       const posix_spawn_file_actions_t *files,
                       const posix_spawnattr_t *attributes, char *const *words,
                       char *const *environment);
int __wrap_posix_spawn(pid_t *ret, const char *path,
                       const posix_spawn_file_actions_t *files,
                       const posix_spawnattr_t *attributes, char *const *words,
                       char *const *environment)
{
    (void)path;
    (void)files;
    (void)attributes;
    (void)words;
    (void)environment;
    struct pair *pair = pair_of(given);
    outside_call();
    if (chance_in(world.no_process)) {
        refusals++;
        simulation_says("no process");
        return EAGAIN;
    }
    *ret = FIRST_PID + (pid_t)(pair - pairs);
    pair->runs = pair->awaited = true;
    fibre_detach(fibre_start(run, pair));
    return 0;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    (void)flags;
    if (fibre_own())
        return process_send(fibre_own(), bytes, size);
    struct pair *pair = pair_of(fd);
    outside_call();
    if (pair->ended) {
        errno = EPIPE;
        return -1;
    }
    buf_put(&pair->to_parser, bytes, size);
    fibre_wake(&pair->to_parser, true);
    return (ssize_t)size;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags)
{
    struct pair *pair = pair_of(fd);
    outside_call();
    if (!pair->to_daemon.size && pair->ended)
        return 0;
    if (pair->to_daemon.size && (flags & MSG_PEEK))
        return 1;
    if (pair->to_daemon.size)
        return (ssize_t)take(&pair->to_daemon, bytes, size);
    errno = EAGAIN;
    return -1;
}

ssize_t __wrap___recv_chk(int fd, void *bytes, size_t size, size_t room,
                          int flags);
ssize_t __wrap___recv_chk(int fd, void *bytes, size_t size, size_t room,
                          int flags)
{
    return __wrap_recv(fd, bytes, size < room ? size : room, flags);
}

int __wrap_poll(struct pollfd *polled, nfds_t count, int ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int ms)
{
    (void)count;
    struct pair *pair = pair_of(polled->fd);
    int64_t until = time_now() + ms * MS;
    while (!pair->to_daemon.size && !pair->ended && !(polled->events & POLLOUT))
        if (!fibre_wait(pair, until))
            return 0;
    polled->revents = polled->events;
    return 1;
}

pid_t __real_waitpid(pid_t pid, int *ret_status, int flags);
pid_t __wrap_waitpid(pid_t pid, int *ret_status, int flags);
pid_t __wrap_waitpid(pid_t pid, int *ret_status, int flags)
{
    if (pid < FIRST_PID) /* the simulation's own */
        return __real_waitpid(pid, ret_status, flags);
    struct pair *pair = process_of(pid);
    if (!pair->ended && (flags & WNOHANG))
        return 0;
    if (!pair->ended)
        simulation_fails("a process is waited for that nobody ends");
    *ret_status = pair->status;
    pair->awaited = false;
    return pid;
}

int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    struct pair *pair = process_of(pid);
    end(pair, number);
    fibre_wake(&pair->to_parser, true);
    return 0;
}

bool process_close(int fd);
bool process_close(int fd)
{
    struct pair *pair = pair_of(fd);
    if (!pair)
        return false;
    if ((fd - FIRST_FD) % 2)
        return true; /* the daemon's copy of the parser's end */
    pair->closed = true;
    fibre_wake(&pair->to_parser, true);
    return true;
}
