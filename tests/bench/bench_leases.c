/* What a lease costs: workers take manuals that are not indexed, and register a pack
 * that is not there, until none is left.
 *
 *     bench_leases CONNECTION WORKERS MS
 *
 * Between taking one and registering it a worker sleeps that long.  Prints the milliseconds that each job took its worker, one a line. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/fleet/leases.h"

static void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "bench_leases: %s\n", err->message);
    exit(1);
}

/* As a worker does, but for the work. */
static bool do_one(struct registry *registry, const char *name, long ms)
{
    struct lease lease;
    struct err err = {.position = -1};
    struct buf sum = {0};
    int64_t generation = 0;
    bool any, kept = false;
    must(lease_take(registry, name, "", &lease, &any, &err), &err);
    if (!any)
        return false;
    buf_printf(&sum, "%064llx", (unsigned long long)lease.manual);
    struct registered pack = {sum.data, "hash", sum.data, NULL, 1};
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    must(lease_announce(registry, &lease, sum.data, &kept, &err), &err);
    must(lease_register(registry, &lease, &pack, &generation, &err), &err);
    lease_free(&lease);
    buf_free(&sum);
    return kept && generation;
}

static void work(const char *where, int number, long ms)
{
    struct registry *registry;
    struct err err = {.position = -1};
    struct buf out = {0};
    char name[32];
    snprintf(name, sizeof name, "worker %d", number);
    must(registry_make(where, &registry, &err), &err);
    must(registry_check(registry, &err), &err);
    for (double start = clock_seconds(); do_one(registry, name, ms);
         start = clock_seconds())
        buf_printf(&out, "%.3f\n",
                   1000 * (clock_seconds() - start) - (double)ms);
    registry_free(registry);
    if (out.size && write(STDOUT_FILENO, out.data, out.size) < 0)
        exit(1);
    exit(0);
}

int main(int argc, char **argv)
{
    int status, failed = 0;
    if (argc != 4)
        return 2;
    for (int i = 0; i < strtol(argv[2], NULL, 10); i++)
        if (!fork())
            work(argv[1], i, strtol(argv[3], NULL, 10));
    while (wait(&status) > 0)
        failed += status != 0;
    return failed != 0;
}
