/* Starts the daemon: lecternd beside this program or in $PATH, as a session of
 * its own that outlives us, its messages in STORE/lecternd.log.
 *
 * Of several that start at once, the holder of the log's lock launches while
 * the others wait and then find it running. */
#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum {
    WAIT_MS = 10000,
    POLL_MS = 20,
    MAX_LOG = 4 << 20, /* bytes of log before it starts over */
    TAIL = 4096
};

struct launch {
    const struct config *config;
    const char *config_flag;
    struct buf program;
    struct buf log;  /* path */
    int lock;        /* descriptor, locked; -1: none */
    int out;         /* the log for the daemon; -1: none */
    off_t log_start; /* where its messages begin */
    pid_t child;     /* 0: ended and reaped */
};

bool launch_find(const char *program, struct buf *out)
{
    struct buf path = {0};
    config_beside(program, &path);
    bool found = access(path.data, X_OK) == 0;
    const char *at = getenv("PATH");
    while (!found && at) {
        size_t size = strcspn(at, ":");
        buf_clear(&path);
        buf_put(&path, at, size);
        file_join(&path, size ? "" : ".", "");
        buf_put_text(&path, path.data[path.size - 1] == '/' ? "" : "/");
        buf_put_text(&path, program);
        found = access(path.data, X_OK) == 0;
        at = at[size] ? at + size + 1 : NULL;
    }
    if (found)
        buf_put_slice(out, buf_slice(&path));
    buf_free(&path);
    return found;
}

int launch_become(const char *program, char *const *argv, struct err *err)
{
    struct buf path = {0};
    int code = 0;
    if (!launch_find(program, &path))
        code = err_set(err, ERR_UNREACHABLE,
                       "the program %s is neither beside lectern nor in $PATH",
                       program);
    if (!code) {
        execv(path.data, argv);
        code = err_errno(err, ERR_UNREACHABLE, "cannot run %s", path.data);
    }
    buf_free(&path);
    return code;
}

static int open_log(struct launch *launch, struct err *err)
{
    const char *store = config_text(launch->config, CONFIG_STORE);
    struct stat st;
    if (file_make_folder(store, 0700, err))
        return err ? err->code = ERR_STORE : ERR_STORE;
    file_join(&launch->log, store, "lecternd.log");
    launch->lock = open(launch->log.data, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    launch->out = open(launch->log.data, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (launch->lock < 0 || launch->out < 0)
        return err_errno(err, ERR_STORE, "cannot write %s", launch->log.data);
    while (flock(launch->lock, LOCK_EX) < 0)
        if (errno != EINTR)
            return err_errno(err, ERR_STORE, "cannot lock %s",
                             launch->log.data);
    if (fstat(launch->out, &st) == 0 && st.st_size > MAX_LOG &&
        ftruncate(launch->out, 0) == 0)
        st.st_size = 0;
    launch->log_start = st.st_size;
    return 0;
}

void launch_words(const struct config *config, const char *config_flag,
                  char **ret_words)
{
    union {
        const char *read[LAUNCH_WORDS];
        char *const *argv;
    } words = {.read = {"lecternd", "--socket",
                        config_text(config, CONFIG_SOCKET), "--store",
                        config_text(config, CONFIG_STORE)}};
    size_t count = 5;
    if (config_flag) {
        words.read[count++] = "--config";
        words.read[count++] = config_flag;
    }
    /* Otherwise the daemon finds the same one by itself. */
    if (config->values[CONFIG_MODEL].source == CONFIG_FROM_FLAG) {
        words.read[count++] = "--model";
        words.read[count++] = config_text(config, CONFIG_MODEL);
    }
    if (config->values[CONFIG_DEVICE].source == CONFIG_FROM_FLAG) {
        words.read[count++] = "--device";
        words.read[count++] = config_text(config, CONFIG_DEVICE);
    }
    memcpy(ret_words, words.read, sizeof words.read);
}

static int spawn(struct launch *launch, struct err *err)
{
    char *argv[LAUNCH_WORDS];
    launch_words(launch->config, launch->config_flag, argv);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGQUIT);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, launch->out, 2);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    /* A lock or a pipe of our caller's would last as long as the daemon. */
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                              POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    errno = posix_spawn(&launch->child, launch->program.data, &actions,
                        &attributes, argv, environ);
    int code = errno ? err_errno(err, ERR_UNREACHABLE, "cannot start %s",
                                 launch->program.data)
                     : 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* The last line that the daemon wrote, without the time it starts with. */
static void put_last_line(const struct launch *launch, struct buf *out)
{
    struct stat st;
    struct buf text = {0};
    if (fstat(launch->out, &st) < 0 || st.st_size <= launch->log_start)
        return;
    off_t from = launch->log_start;
    if (st.st_size - from > TAIL)
        from = st.st_size - TAIL;
    if (file_read_span(launch->log.data, (uint64_t)from, (uint64_t)st.st_size,
                       &text, NULL))
        return;
    while (text.size && text.data[text.size - 1] == '\n')
        text.data[--text.size] = '\0';
    const char *line = memrchr(text.data, '\n', text.size);
    line = line ? line + 1 : text.data;
    size_t clock = strspn(line, "0123456789:");
    if (clock == 8 && line[clock] == ' ')
        line += clock + 1;
    if (!strncmp(line, "error: ", 7))
        line += 7;
    buf_put_text(out, line);
    buf_free(&text);
}

/* The error for an end of the daemon before it answered. */
static int report_end(const struct launch *launch, int status, struct err *err)
{
    struct buf line = {0};
    put_last_line(launch, &line);
    int code = ERR_UNREACHABLE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == err_exit_status(ERR_STORE))
        code = ERR_STORE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == err_exit_status(ERR_USAGE))
        code = ERR_USAGE;
    if (line.size)
        err_set(err, code, "the daemon did not start: %s", line.data);
    else if (WIFSIGNALED(status))
        err_set(err, code,
                "the daemon did not start: it was ended by signal "
                "%d (%s)",
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        err_set(err, code, "the daemon did not start: exit status %d",
                WEXITSTATUS(status));
    buf_free(&line);
    return code;
}

static int wait_answer(struct launch *launch, int *ret_fd, struct err *err)
{
    const char *socket = config_text(launch->config, CONFIG_SOCKET);
    const struct timespec pause = {0, POLL_MS * 1000000L};
    int64_t end = clock_ms() + WAIT_MS;
    int status = 0;
    while (clock_ms() < end) {
        /* Asked before connecting: a daemon that ended may have found another
         * one at work, which then answers. */
        bool ended = launch->child &&
                     waitpid(launch->child, &status, WNOHANG) == launch->child;
        int code = client_connect(socket, ret_fd, err);
        if (!client_nobody(code))
            return code;
        if (ended)
            launch->child = 0;
        if (ended && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
            return report_end(launch, status, err);
        nanosleep(&pause, NULL);
    }
    return err_set(err, ERR_UNREACHABLE,
                   "the daemon was started but does not answer at %s after "
                   "%d s; see %s",
                   socket, WAIT_MS / 1000, launch->log.data);
}

int launch_daemon(const struct config *config, const char *config_flag,
                  int *ret_fd, bool *ret_own, struct err *err)
{
    struct launch launch = {
        .config = config, .config_flag = config_flag, .lock = -1, .out = -1};
    struct buf flag = {0};
    if (config_flag) {
        config_put_path(config_flag, NULL, &flag);
        launch.config_flag = flag.data;
    }
    int code = 0;
    if (!launch_find("lecternd", &launch.program))
        code = err_set(err, ERR_UNREACHABLE,
                       "no daemon answers at %s, and there is no lecternd "
                       "beside this program or in PATH to start",
                       config_text(config, CONFIG_SOCKET));
    if (!code)
        code = open_log(&launch, err);
    if (!code) {
        code = client_connect(config_text(config, CONFIG_SOCKET), ret_fd, err);
        if (client_nobody(code)) {
            code = spawn(&launch, err);
            if (!code)
                code = wait_answer(&launch, ret_fd, err);
        }
    }
    *ret_own = launch.child != 0;
    if (launch.lock >= 0)
        close(launch.lock);
    if (launch.out >= 0)
        close(launch.out);
    buf_free(&launch.program);
    buf_free(&launch.log);
    buf_free(&flag);
    return code;
}
