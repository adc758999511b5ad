#include "indexer/parse/jail.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "indexer/wire.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { STACK_BYTES = 64 << 20, STACK_TAKEN = 1 << 20 };

/* ---- Memory ---- */

/* Every allocation that fails here ends in abort(): base/mem.c checks them. */
static void on_abort(int signal)
{
    (void)signal;
    if (atomic_load(&mem_exhausted))
        _exit(WIRE_EXIT_MEMORY);
}

#if SANITIZED

int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *, size_t),
    void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *pointer);
const char *__asan_default_options(void);

/* The child leaves by _exit, and what it still holds is no leak. */
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static atomic_size_t held;
static size_t max_held;

static void count_malloc(const volatile void *pointer, size_t size)
{
    (void)pointer;
    if (atomic_fetch_add(&held, size) + size > max_held)
        _exit(WIRE_EXIT_MEMORY);
}

static void count_free(const volatile void *pointer)
{
    size_t size = pointer ? __sanitizer_get_allocated_size(pointer) : 0;
    if (size > atomic_load(&held))
        size = atomic_load(&held);
    atomic_fetch_sub(&held, size);
}

static bool limit_memory(uint64_t max)
{
    max_held = max;
    return __sanitizer_install_malloc_and_free_hooks(count_malloc, count_free) >
           0;
}

#else

static bool limit_memory(uint64_t max)
{
    struct rlimit limit = {max, max};
    return !setrlimit(RLIMIT_AS, &limit);
}

#endif

/* Takes the stack's memory while there is some: near the limit its growth would
 * fail as a crash, which cannot be told from a bug of the parser. */
static void fill_stack(void)
{
    volatile char room[STACK_TAKEN];
    for (size_t i = 0; i < sizeof room; i += 4096)
        room[i] = 1;
}

static bool set_limits(const struct jail *jail)
{
    fill_stack();
    /* Growing the stack is not an allocation that can be checked: there is
     * room for the deepest tree that is let in. */
    struct rlimit stack;
    if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur < STACK_BYTES &&
        stack.rlim_max >= STACK_BYTES) {
        stack.rlim_cur = STACK_BYTES;
        setrlimit(RLIMIT_STACK, &stack);
    }
    struct rlimit none = {0, 0};
    struct rlimit files = {8, 8};
    struct rlimit seconds = {jail->max_seconds, jail->max_seconds + 1};
    /* Not RLIMIT_FSIZE: a message to a log file would then be fatal. */
    return !setrlimit(RLIMIT_CORE, &none) &&
           !setrlimit(RLIMIT_NOFILE, &files) &&
           !setrlimit(RLIMIT_CPU, &seconds) && limit_memory(jail->max_memory);
}

/* ---- Landlock: a rule set that allows nothing ---- */

struct landlock_rules {
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
};

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

/* Bits that each version of the interface knows (linux/landlock.h). */
static struct landlock_rules landlock_all(long version)
{
    static const unsigned file_bits[] = {0, 13, 14, 15, 15, 16};
    struct landlock_rules rules = {0};
    unsigned bits = file_bits[version > 5 ? 5 : version];
    rules.files = ((uint64_t)1 << bits) - 1;
    if (version >= 4)
        rules.network = 3;
    if (version >= 6)
        rules.scoped = 3;
    return rules;
}

static void deny_files(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (version < 1)
        return;
    struct landlock_rules rules = landlock_all(version);
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    long set = syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (set < 0)
        return;
    syscall(SYS_landlock_restrict_self, set, 0);
    close((int)set);
}

/* ---- System calls ---- */

static const int free_calls[] = {
    SCMP_SYS(munmap),       SCMP_SYS(mremap),        SCMP_SYS(brk),
    SCMP_SYS(madvise),      SCMP_SYS(futex),         SCMP_SYS(exit),
    SCMP_SYS(exit_group),   SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigaction),  SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(getpid),       SCMP_SYS(gettid),        SCMP_SYS(sched_yield),
#if SANITIZED
    SCMP_SYS(sigaltstack),  SCMP_SYS(getrlimit),     SCMP_SYS(readlink),
    SCMP_SYS(getuid),       SCMP_SYS(geteuid),       SCMP_SYS(ioctl),
#endif
};

static int allow_writing(scmp_filter_ctx filter, int descriptor)
{
    static const int calls[] = {SCMP_SYS(read), SCMP_SYS(write),
                                SCMP_SYS(recvfrom), SCMP_SYS(sendto)};
    int rc = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls && !rc; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 1,
                              SCMP_A0(SCMP_CMP_EQ, (unsigned)descriptor));
    if (!rc)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                              SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO));
    return rc;
}

static int allow_calls(scmp_filter_ctx filter, int descriptor)
{
    int rc = allow_writing(filter, descriptor);
    for (size_t i = 0; i < sizeof free_calls / sizeof *free_calls && !rc; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, free_calls[i], 0);
    static const int maps[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
    for (size_t i = 0; i < 2 && !rc; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, maps[i], 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    /* abort() signals its own thread. */
    if (!rc)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                              SCMP_A0(SCMP_CMP_EQ, (unsigned)getpid()));
    return rc;
}

static int filter_calls(int descriptor)
{
    uint32_t otherwise =
        SANITIZED ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS;
    scmp_filter_ctx filter = seccomp_init(otherwise);
    if (!filter)
        return -ENOMEM;
    int rc = allow_calls(filter, descriptor);
    if (!rc)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc;
}

int jail_enter(const struct jail *jail, struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0))
        return err_errno(err, ERR_INTERNAL, "cannot give up privileges");
    signal(SIGABRT, on_abort);
    deny_files();
    if (!set_limits(jail))
        return err_errno(err, ERR_INTERNAL, "cannot set limits");
    int rc = filter_calls(jail->descriptor);
    if (rc) {
        errno = -rc;
        return err_errno(err, ERR_INTERNAL, "cannot filter system calls");
    }
    return 0;
}
