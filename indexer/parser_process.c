/* A process that parses: its start, its time and its end. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "indexer/parser_internal.h"
#include "indexer/wire.h"

/* A process is retired after so many requests, or when it may have used up
 * `max_seconds`: its limit on processor time is for its whole life, and twice
 * that, so every request has at least its own time. */
enum { MAX_REQUESTS = 500 };

/* A file has `max_seconds` of processor time: a machine that is busy, or wakes
 * up, is not the file's fault.  But after so many times that it is given up. */
enum { MAX_PATIENCE = 5 };

/* Ends the process if it has not ended; returns how it did. */
int process_end(struct parser *parser, bool at_once)
{
    int status = 0;
    close(parser->socket);
    parser->socket = -1;
    struct timespec pause = {0, 1000000};
    for (int i = 0; !at_once && i < 1000; i++) {
        pid_t pid = waitpid(parser->pid, &status, WNOHANG);
        if (pid == parser->pid || (pid < 0 && errno != EINTR)) {
            parser->pid = 0;
            return status;
        }
        nanosleep(&pause, NULL);
    }
    kill(parser->pid, SIGKILL);
    while (waitpid(parser->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    parser->pid = 0;
    return status;
}

static int prepare_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int rc = posix_spawnattr_init(attributes);
    if (rc)
        return rc;
    /* A group of its own: what the terminal sends is for the daemon. */
    short flags =
        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    posix_spawnattr_setflags(attributes, flags);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    return 0;
}

static int prepare_files(posix_spawn_file_actions_t *files, int socket)
{
    int rc = posix_spawn_file_actions_init(files);
    if (rc)
        return rc;
    rc = posix_spawn_file_actions_adddup2(files, socket, WIRE_FD);
    for (int fd = 0; fd < 2 && !rc; fd++)
        rc =
            posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
    if (rc)
        posix_spawn_file_actions_destroy(files);
    return rc;
}

/* The child needs nothing of the environment; sanitizers have options there. */
static char **environment(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    extern char **environ;
    return environ;
#else
    static char *none[] = {NULL};
    return none;
#endif
}

static int spawn(struct parser *parser, int socket, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    char memory[24], seconds[24];
    snprintf(memory, sizeof memory, "%" PRIu64, parser->max_memory);
    snprintf(seconds, sizeof seconds, "%" PRIu64,
             (uint64_t)2 * parser->max_seconds + 1);
    char name[] = "lectern-parse";
    char *arguments[] = {name, memory, seconds, NULL};

    int rc = prepare_attributes(&attributes);
    if (rc)
        return rc;
    rc = prepare_files(&files, socket);
    if (!rc) {
        rc = posix_spawn(ret_pid, parser->program, &files, &attributes,
                         arguments, environment());
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static int start(struct parser *parser, struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return err_errno(err, ERR_IO, "cannot make a socket pair");
    pid_t pid = 0;
    errno = spawn(parser, ends[1], &pid);
    if (errno) {
        err_errno(err, ERR_IO, "cannot start the parser %s", parser->program);
        close(ends[0]);
        close(ends[1]);
        return ERR_IO;
    }
    close(ends[1]);
    parser->pid = pid;
    parser->socket = ends[0];
    parser->requests = 0;
    parser->busy_ms = 0;
    return 0;
}

/* Has it closed its end, or said more than it was asked? */
static bool is_out_of_step(const struct parser *parser)
{
    char byte;
    return recv(parser->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* A process that may take a whole request. */
int process_ready(struct parser *parser, struct err *err)
{
    if (parser->pid && (parser->requests >= MAX_REQUESTS ||
                        parser->busy_ms >= parser->max_seconds * 1000LL ||
                        is_out_of_step(parser)))
        process_end(parser, true);
    int status;
    if (parser->pid && waitpid(parser->pid, &status, WNOHANG) == parser->pid) {
        close(parser->socket);
        parser->socket = -1;
        parser->pid = 0;
    }
    return parser->pid ? 0 : start(parser, err);
}

/* Processor time that the process has used so far; 0: nobody knows. */
static int64_t used_ms(const struct parser *parser)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(parser->pid, &clock) || clock_gettime(clock, &used))
        return 0;
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

void process_set_deadline(struct parser *parser)
{
    parser->began = clock_ms();
    parser->used_ms = used_ms(parser);
    parser->served_ms = 0;
    parser->deadline = parser->began + parser->max_seconds * 1000LL;
}

/* The deadline has passed; one that came before its time is put off. */
bool process_is_overdue(struct parser *parser)
{
    int64_t now = clock_ms(), max = parser->max_seconds * 1000LL;
    int64_t left =
        max - parser->served_ms - (used_ms(parser) - parser->used_ms);
    if (now < parser->deadline && parser->served_ms < max)
        return false;
    if (left <= 0 || now >= parser->began + MAX_PATIENCE * max)
        return true;
    parser->deadline = now + left;
    return false;
}

/* ---- Failures ---- */

int process_too_slow(struct parser *parser, struct err *err)
{
    if (parser->pid)
        process_end(parser, true);
    return err_set(err, ERR_LIMIT, "took longer than %" PRIu32 " s",
                   parser->max_seconds);
}

/* The process closed its end of the socket. */
int process_died(struct parser *parser, struct err *err)
{
    int status = process_end(parser, false);
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        if (number == SIGXCPU)
            return process_too_slow(parser, err);
        return err_set(err, ERR_CRASH,
                       "the parser died on this file (signal %d)", number);
    }
    int code = WEXITSTATUS(status);
    if (code == WIRE_EXIT_MEMORY)
        return err_set(err, ERR_LIMIT,
                       "needs more than %" PRIu64 " bytes of memory",
                       parser->max_memory);
    if (code == WIRE_EXIT_JAIL)
        return err_set(err, ERR_INTERNAL,
                       "the parser could not lock itself in");
    return err_set(err, ERR_CRASH, "the parser died on this file (status %d)",
                   code);
}

/* A reply that makes no sense: the process is not to be trusted any more. */
int process_nonsense(struct parser *parser, struct err *err)
{
    if (parser->pid)
        process_end(parser, true);
    return err_set(err, ERR_CRASH, "the parser's reply makes no sense");
}
