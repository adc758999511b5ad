/* Ending threads in time. */
#ifndef DAEMON_JOBS_THREAD_H
#define DAEMON_JOBS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Joins a thread until `deadline_ms` (clock_ms).  False: it runs on. */
bool thread_join(pthread_t thread, int64_t deadline_ms);

#endif
