#include "daemon/jobs/thread.h"

#include <time.h>

#include "base/file.h"

bool thread_join(pthread_t thread, int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_ms();
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    if (left > 0) {
        until.tv_sec += left / 1000;
        until.tv_nsec += left % 1000 * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    }
    return pthread_timedjoin_np(thread, NULL, &until) == 0;
}
