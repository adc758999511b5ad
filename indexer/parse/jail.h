/* The jail of lectern-parse: what it may do once it reads input.
 *
 * Limits on memory, processor time and files, no file system (landlock, where
 * the kernel has it), and of the system calls only those that reading, writing
 * and allocating need.  Sanitized builds count memory at the allocator (their
 * shadow memory does not fit under a limit on address space) and refuse other
 * calls with an error instead of the end, so that a report can be printed. */
#ifndef INDEXER_PARSE_JAIL_H
#define INDEXER_PARSE_JAIL_H

#include <stdint.h>

#include "base/err.h"

struct jail {
    uint64_t max_memory;  /* bytes of address space */
    uint64_t max_seconds; /* of processor time, for the process's life */
    int descriptor;       /* the one that may be read and written */
};

/* There is no way back.  Running out of memory ends the process with
 * WIRE_EXIT_MEMORY from then on. */
int jail_enter(const struct jail *jail, struct err *err);

#endif
