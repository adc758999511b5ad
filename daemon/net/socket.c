#include "daemon/net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/net/protocol.h"

enum { BACKLOG = 128, SYSTEMD_FD = 3 };

static bool is_number(const char *variable, long wanted)
{
    const char *text = getenv(variable);
    return text && text[0] && strtol(text, NULL, 10) == wanted;
}

/* The descriptor that systemd's socket unit left open; -1: none. */
static int inherited(void)
{
    if (!is_number("LISTEN_PID", (long)getpid()) || is_number("LISTEN_FDS", 0))
        return -1;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    int listening = 0, domain = 0;
    socklen_t size = sizeof listening;
    if (getsockopt(SYSTEMD_FD, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) ||
        getsockopt(SYSTEMD_FD, SOL_SOCKET, SO_DOMAIN, &domain, &size) ||
        !listening || domain != AF_UNIX) {
        log_warn("descriptor %d is not a listening Unix socket; it is not "
                 "used",
                 SYSTEMD_FD);
        return -1;
    }
    fcntl(SYSTEMD_FD, F_SETFD, FD_CLOEXEC);
    return SYSTEMD_FD;
}

/* The socket's folder, made when absent.  In a folder that somebody else owns
 * the socket could be replaced behind our back. */
static int check_folder(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    char *folder = mem_strndup(path, (size_t)(slash - path));
    int code = file_make_folder(folder, 0700, err);
    struct stat st;
    if (!code && stat(folder, &st))
        code = err_errno(err, ERR_IO, "cannot look at %s", folder);
    if (!code && st.st_uid != geteuid() && st.st_uid != 0)
        code = err_set(err, ERR_USAGE,
                       "the socket's folder %s belongs to another user; choose "
                       "another with --socket",
                       folder);
    free(folder);
    return code;
}

/* Two daemons that start at once could each take the other's new socket for a
 * stale one: who holds the lock looks.  The descriptor of the lock. */
static int take_lock(const char *path, struct err *err)
{
    struct buf name = {0};
    buf_printf(&name, "%s.lock", path);
    int fd = open(name.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = fd;
    if (fd < 0) {
        code = err_errno(err, ERR_IO, "cannot open %s", name.data);
    } else if (file_lock_patiently(fd) < 0) {
        code =
            err_set(err, ERR_USAGE, "another daemon has the socket %s", path);
        close(fd);
    }
    buf_free(&name);
    return code;
}

static bool answers(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    /* EAGAIN: somebody listens, and is busy. */
    bool yes =
        !connect(fd, (const struct sockaddr *)address, sizeof *address) ||
        errno == EAGAIN;
    close(fd);
    return yes;
}

/* Makes way for our own socket at the address. */
static int clear(const struct sockaddr_un *address, struct err *err)
{
    struct stat st;
    const char *path = address->sun_path;
    if (lstat(path, &st))
        return errno == ENOENT
                   ? 0
                   : err_errno(err, ERR_IO, "cannot look at %s", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_USAGE,
                       "%s is not a socket; choose another "
                       "path with --socket",
                       path);
    if (answers(address))
        return err_set(err, ERR_USAGE, "another daemon answers on %s", path);
    log_info("%s was left behind by a daemon that has gone; it is replaced",
             path);
    return unlink(path) ? err_errno(err, ERR_IO, "cannot remove %s", path) : 0;
}

static int bind_at(const char *path, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    int code = clear(&address, err);
    if (code)
        return code;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool bound =
        fd >= 0 && !bind(fd, (const struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (bound && !listen(fd, BACKLOG))
        return fd;
    code = err_errno(err, ERR_IO, "cannot listen on %s", path);
    if (bound)
        unlink(path);
    if (fd >= 0)
        close(fd);
    return code;
}

int listener_open(const char *path, struct listener *ret_listener,
                  struct err *err)
{
    struct listener listener = {inherited(), NULL, -1};
    if (listener.fd >= 0) {
        *ret_listener = listener;
        return 0;
    }
    int code = protocol_check_path(path, err);
    if (!code)
        code = check_folder(path, err);
    if (code)
        return code;
    listener.lock = take_lock(path, err);
    if (listener.lock < 0)
        return listener.lock;
    listener.fd = bind_at(path, err);
    if (listener.fd < 0) {
        close(listener.lock);
        return listener.fd;
    }
    listener.path = mem_strdup(path);
    *ret_listener = listener;
    return 0;
}

void listener_close(struct listener *listener)
{
    if (listener->path)
        unlink(listener->path);
    free(listener->path);
    listener->path = NULL;
    if (listener->lock >= 0)
        close(listener->lock);
    listener->lock = -1;
}

void service_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = path ? strlen(path) : 0;
    if (size == 0 || size >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                         (const struct sockaddr *)&address, length) < 0)
        log_warn("systemd was not told %s", state);
    if (fd >= 0)
        close(fd);
}

bool peer_is_allowed(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
           (peer.uid == geteuid() || peer.uid == 0);
}
