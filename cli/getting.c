#include "cli/getting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client.h"

enum { WORDS = 24 };

struct getting {
    pid_t child;
    FILE *from; /* its standard output */
};

static int spawn(const char *program, const char *const *words,
                 struct getting *ret, struct err *err)
{
    char *argv[WORDS] = {NULL}, name[] = "lectern-get";
    int ends[2];
    posix_spawn_file_actions_t actions;
    argv[0] = name;
    for (size_t i = 0; words[i] && i + 2 < WORDS; i++)
        memcpy(&argv[i + 1], &words[i], sizeof *words);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(err, ERR_IO, "cannot make a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    errno = posix_spawn(&ret->child, program, &actions, NULL, argv, environ);
    int code = errno ? err_errno(err, ERR_IO, "cannot start %s", program) : 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (code)
        close(ends[0]);
    else
        ret->from = fdopen(ends[0], "r");
    return code;
}

static int take_line(const char *line, getting_each *each, void *user,
                     struct err *err)
{
    cJSON *value = NULL;
    int code = json_parse(slice_of(line), &value, err);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(value, "error");
    if (error)
        code = err_set(err, (int)json_get_int(error, "code", ERR_IO), "%s",
                       json_get_text(error, "message", ""));
    else if (!code && each)
        code = each(user, value, err);
    cJSON_Delete(value);
    return code;
}

/* Its lines until it ends. */
static int follow(const struct getting *getting, getting_each *each, void *user,
                  int64_t ms, struct err *err)
{
    struct pollfd end = {.fd = fileno(getting->from), .events = POLLIN};
    char *line = NULL;
    size_t capacity = 0;
    int code = 0;
    for (bool more = true; more && !code;) {
        int ready = poll(&end, 1, ms ? (int)ms : -1);
        if (ready < 0)
            code = err_set(err, ERR_CANCELLED, "interrupted");
        else if (!ready && each)
            code = each(user, NULL, err);
        else if (ready && (more = getline(&line, &capacity, getting->from) > 0))
            code = take_line(line, each, user, err);
    }
    free(line);
    return code;
}

int getting_run(const char *const *words, getting_each *each, void *user,
                int64_t ms, struct err *err)
{
    struct buf program = {0};
    struct getting getting;
    int status = 0, code = 0;
    if (!launch_find("lectern-get", &program))
        code = err_set(err, ERR_IO,
                       "the program lectern-get, which has a network, is "
                       "neither beside this one nor in $PATH");
    if (!code)
        code = spawn(program.data, words, &getting, err);
    buf_free(&program);
    if (code)
        return code;
    code = follow(&getting, each, user, ms, err);
    if (code)
        kill(getting.child, SIGTERM);
    fclose(getting.from);
    while (waitpid(getting.child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!code && status)
        code = err_set(err, ERR_IO, "lectern-get ended early");
    return code;
}
