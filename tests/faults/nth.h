/* What nth.py and nth.c share: the file $NTH_CONTROL, mapped by both. */
#ifndef TESTS_FAULTS_NTH_H
#define TESTS_FAULTS_NTH_H

#include <stdbool.h>
#include <stdint.h>

enum nth_class {
    NTH_MEMORY,  /* malloc, calloc, realloc, ... */
    NTH_OPEN,    /* open, openat, fopen, opendir, ... */
    NTH_READ,    /* of files and pipes: read, pread, readv */
    NTH_WRITE,   /* of files and pipes: write, pwrite, writev, ftruncate, ... */
    NTH_MAP,     /* mmap, mprotect, mremap */
    NTH_FLUSH,   /* fsync, fdatasync, msync, syncfs */
    NTH_NAME,    /* rename, unlink, mkdir, link */
    NTH_SOCKET,  /* socket, socketpair, accept; reads and writes of sockets */
    NTH_THREAD,  /* pthread_create */
    NTH_PROCESS, /* posix_spawn, fork, pipe */
    NTH_CLASSES
};

struct nth_control {
    int32_t class;   /* that fails; -1: none */
    int32_t forever; /* from the n-th on, not only it */
    int64_t n;       /* from 1 */
    int64_t seen;    /* calls of the class since it was armed */
    int64_t failed;
};

/* Whether this thread writes counters of branches (flush.c), which nothing counts. */
bool flush_runs(void) __attribute__((weak));

#endif
