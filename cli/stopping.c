#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "daemon/net/protocol.h"

enum { STOP_MS = 60000, POLL_MS = 20 };

static bool socket_gone(const char *path)
{
    int fd;
    int code = client_connect(path, &fd, NULL);
    bool gone = client_nobody(code);
    if (!code)
        close(fd);
    return gone;
}

/* A descriptor that becomes readable when the process has ended, reaped by
 * somebody or not; -1 where the kernel has none. */
static int watch_process(pid_t process)
{
    return process > 0 ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
}

/* Waits for the process, which is what a next daemon has to wait for (it holds
 * the store); without one, for the socket. */
static int wait_gone(int process, const char *path, struct err *err)
{
    const struct timespec pause = {0, POLL_MS * 1000000L};
    int64_t end = clock_ms() + STOP_MS;
    while (clock_ms() < end) {
        struct pollfd ended = {.fd = process, .events = POLLIN};
        if (process >= 0 && poll(&ended, 1, POLL_MS) > 0)
            return 0;
        if (process < 0 && socket_gone(path))
            return 0;
        if (process < 0)
            nanosleep(&pause, NULL);
    }
    return err_set(err, ERR_INTERNAL, "the daemon is still there after %d s",
                   STOP_MS / 1000);
}

/* The daemon's process: what status says, for the other end of the socket may
 * be somebody who handed it over. */
static pid_t ask_process(struct cli *cli)
{
    cJSON *status = NULL;
    pid_t process = 0;
    if (!cli_call_parsed(cli, "status", slice_of("{}"), &status, NULL))
        process = (pid_t)json_get_int(status, "pid", 0);
    cJSON_Delete(status);
    return process > 1 ? process : 0;
}

int cli_stop(struct cli *cli, struct err *err)
{
    const char *path = config_text(&cli->config, CONFIG_SOCKET);
    struct buf result = {0};
    int process = watch_process(ask_process(cli));
    int code = cli_call(cli, "stop", slice_of("{}"), &result, err);
    /* Going away at once is an answer, too. */
    if (code == ERR_UNREACHABLE)
        code = 0;
    cli_disconnect(cli);
    if (!code)
        code = wait_gone(process, path, err);
    if (process >= 0)
        close(process);
    buf_free(&result);
    return code;
}
