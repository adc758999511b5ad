/* Threads, their locks and the clock. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "memory/store/store.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

struct world world;

void outside_call(void)
{
    if (fibre_held())
        return;
    time_passes(1 + (int64_t)chance_below((uint64_t)world.tick + 1));
    if (chance_in(world.pauses))
        fibre_pause();
}

/* ---- Threads ---- */

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *context);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *context)
{
    (void)attributes;
    *ret = fibre_start(run, context);
    return 0;
}

static int join(pthread_t thread, int64_t until)
{
    static const char place;
    while (!fibre_has_ended((unsigned)thread)) {
        int64_t next = time_now() + MS;
        fibre_wait(&place, until && until < next ? until : next);
        if (until && time_now() >= until)
            return ETIMEDOUT;
    }
    fibre_forget((unsigned)thread);
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret)
{
    (void)ret;
    return join(thread, NEVER);
}

/* Of the clock of the day, or of the other, which has run for less. */
static int64_t ns_of(const struct timespec *time)
{
    int64_t ns = time->tv_sec * SECOND + time->tv_nsec;
    return time->tv_sec >= EPOCH / 2 ? ns - (day_now() - time_now()) : ns;
}

int __wrap_pthread_timedjoin_np(pthread_t thread, void **ret,
                                const struct timespec *until);
int __wrap_pthread_timedjoin_np(pthread_t thread, void **ret,
                                const struct timespec *until)
{
    (void)ret;
    return join(thread, ns_of(until));
}

/* ---- Locks: never contended, since who holds one is not interrupted ---- */

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex))
        simulation_fails("a lock is held that nobody gives back");
    fibre_holds(1);
    return 0;
}

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    fibre_holds(-1);
    return __real_pthread_mutex_unlock(mutex);
}

static bool wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until)
{
    __wrap_pthread_mutex_unlock(mutex);
    bool woken = fibre_wait(cond, until);
    __wrap_pthread_mutex_lock(mutex);
    return woken;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    wait(cond, mutex, NEVER);
    return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    return wait(cond, mutex, ns_of(until)) ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
    fibre_wake(cond, false);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
    fibre_wake(cond, true);
    return 0;
}

/* ---- What writes holds LMDB's lock ---- */

static const void *writing;

int __real_store_write(struct store *store, struct store_txn **ret,
                       struct err *err);
int __wrap_store_write(struct store *store, struct store_txn **ret,
                       struct err *err);
int __wrap_store_write(struct store *store, struct store_txn **ret,
                       struct err *err)
{
    outside_call();
    int code = __real_store_write(store, ret, err);
    if (!code) {
        fibre_holds(1);
        writing = *ret;
    }
    return code;
}

static void written(const struct store_txn *txn)
{
    if (!txn || txn != writing)
        return;
    writing = NULL;
    fibre_holds(-1);
}

int __real_store_commit(struct store_txn *txn, struct err *err);
int __wrap_store_commit(struct store_txn *txn, struct err *err);
int __wrap_store_commit(struct store_txn *txn, struct err *err)
{
    int code = __real_store_commit(txn, err);
    written(txn);
    outside_call();
    return code;
}

void __real_store_end(struct store_txn *txn);
void __wrap_store_end(struct store_txn *txn);
void __wrap_store_end(struct store_txn *txn)
{
    __real_store_end(txn);
    written(txn);
}

/* ---- The clock ---- */

static int64_t jumped;

void day_begin(void)
{
    jumped = 0;
}

void day_jumps(int64_t ns)
{
    jumped += ns;
    simulation_says("the clock of the day jumps by %.3f s", (double)ns / 1e9);
}

int64_t day_now(void)
{
    return EPOCH * SECOND + time_now() + jumped;
}

enum { CPU_CLOCK = 1 << 20 };

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int64_t now = time_now();
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
        return -1; /* a process's: nobody knows */
    if (clock == CLOCK_REALTIME)
        now = day_now();
    *ret = (struct timespec){now / SECOND, now % SECOND};
    return 0;
}

int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *ret);
int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *ret)
{
    (void)pid;
    (void)ret;
    return ENOSYS;
}

time_t __wrap_time(time_t *ret);
time_t __wrap_time(time_t *ret)
{
    time_t now = day_now() / SECOND;
    if (ret)
        *ret = now;
    return now;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    fibre_sleep(time->tv_sec * SECOND + time->tv_nsec);
    return 0;
}

int __wrap_setpriority(int which, id_t who, int niceness);
int __wrap_setpriority(int which, id_t who, int niceness)
{
    (void)which;
    (void)who;
    (void)niceness;
    return 0;
}
