#include "cli/output/pager.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/output/terminal.h"

void pager_begin(struct cli *cli)
{
    if (!cli->rows || cli->held)
        return;
    fflush(stdout);
    int held = memfd_create("lectern", MFD_CLOEXEC);
    cli->screen = held < 0 ? -1 : dup(STDOUT_FILENO);
    if (held < 0 || cli->screen < 0)
        return;
    dup2(held, STDOUT_FILENO);
    close(held);
    cli->held = true;
}

/* The pager with `text`, a file, as its input; its exit status, 127 when it could not
 * be started. */
static int run_pager(int text)
{
    const char *pager = getenv("PAGER");
    char *argv[] = {"sh", "-c", NULL, NULL};
    int status;
    pid_t child;
    sigset_t interrupt;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    union {
        const char *read;
        char *word;
    } command = {.read = pager ? pager : "less"};
    argv[2] = command.word;
    setenv("LESS", "FRX", 0);
    lseek(text, 0, SEEK_SET);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, text, STDIN_FILENO);
    signal(SIGINT, SIG_IGN); /* it means the pager */
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &interrupt);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int failed =
        posix_spawn(&child, "/bin/sh", &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed || waitpid(child, &status, 0) < 0)
        return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Copies it to standard output. */
static void show(struct slice text)
{
    fwrite(text.data, 1, text.size, stdout);
    fflush(stdout);
}

void pager_end(struct cli *cli)
{
    struct stat st;
    struct buf text = {0};
    const char *pager = getenv("PAGER");
    if (!cli->held)
        return;
    fflush(stdout);
    int held = dup(STDOUT_FILENO);
    dup2(cli->screen, STDOUT_FILENO);
    close(cli->screen);
    cli->held = false;
    if (held < 0 || fstat(held, &st) < 0)
        return;
    buf_reserve(&text, (size_t)st.st_size + 1);
    ssize_t size = pread(held, text.data, (size_t)st.st_size, 0);
    text.size = size > 0 ? (size_t)size : 0;
    bool fits = terminal_rows_of(buf_slice(&text), cli->columns) < cli->rows;
    if (fits || (pager && !pager[0]) || run_pager(held) == 127)
        show(buf_slice(&text));
    buf_free(&text);
    close(held);
}
