/* lectern-parse: reads HTML and LaTeX for the daemon, locked in.
 *
 * Started by indexer/parser.c as `lectern-parse MEMORY SECONDS` with its end
 * of a socket pair as descriptor 3.  It locks itself in before it reads the
 * first byte, then answers requests (indexer/wire.h) until the other end is
 * closed. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "indexer/parse/jail.h"
#include "indexer/parse/serve.h"
#include "indexer/wire.h"

enum { LARGE_BUFFER = 32 << 20, MAX_UNUSED = 64 << 20 }; /* bytes */

static bool number(const char *text, uint64_t *ret_value)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || !value)
        return false;
    *ret_value = value;
    return true;
}

int main(int argc, char **argv)
{
    struct jail jail = {.descriptor = WIRE_FD};
    struct stat stat;
    if (argc != 3 || !number(argv[1], &jail.max_memory) ||
        !number(argv[2], &jail.max_seconds) || fstat(WIRE_FD, &stat) ||
        !S_ISSOCK(stat.st_mode)) {
        fputs("lectern-parse: a part of lecternd, which starts it\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    close_range(WIRE_FD + 1, ~0U, 0);
    /* What one file has taken the next one takes again. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BUFFER);
    mallopt(M_TRIM_THRESHOLD, MAX_UNUSED);
    serve_load();
    struct err err = {.position = -1};
    if (jail_enter(&jail, &err)) {
        fprintf(stderr, "lectern-parse: %s\n", err.message);
        _exit(WIRE_EXIT_JAIL);
    }
    serve_all();
    _exit(0);
}
