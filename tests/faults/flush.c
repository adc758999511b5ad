/* Preloaded into a program of BUILD=cov, writes the counters of its branches once a
 * second and before _exit, so that those of a process that a signal ends are not lost.
 * nth.c lets its calls pass. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/nth.h"

typedef void action(void);

static action *dump, *reset; /* gcov's; NULL: the program has none */
static pthread_mutex_t dumping = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool ours;

bool flush_runs(void)
{
    return ours;
}

static action *find(const char *name)
{
    union {
        void *object;
        action *function;
    } found = {dlsym(RTLD_DEFAULT, name)};
    return found.function;
}

static void flush(void)
{
    ours = true;
    pthread_mutex_lock(&dumping);
    dump();
    reset();
    pthread_mutex_unlock(&dumping);
    ours = false;
}

static void *run(void *context)
{
    const struct timespec pause = {1, 0};
    for (;; nanosleep(&pause, NULL))
        flush();
    return context;
}

/* At exit gcov writes them itself: never two at once. */
static void stop(void)
{
    pthread_mutex_lock(&dumping);
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    dump = find("__gcov_dump");
    reset = find("__gcov_reset");
    if (!dump || !reset)
        return;
    atexit(stop);
    ours = true;
    if (!pthread_create(&thread, NULL, run, NULL))
        pthread_detach(thread);
    ours = false;
}

void _exit(int status)
{
    if (dump && reset)
        flush();
    for (;;)
        syscall(SYS_exit_group, status);
}
