/* The outside world, which is all that is not real here: threads and their locks, the
 * clock, the kernel's events, the parser's processes, libuv's loop.  The linker puts the
 * functions of these files in the place of the C library's (mk/tests.mk). */
#ifndef TESTS_SIMULATION_OUTSIDE_H
#define TESTS_SIMULATION_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* How the world is, in this run. */
struct world {
    int64_t tick;    /* ns: most that a call takes */
    uint64_t pauses; /* a call lets others have a turn one time in so many */
    int64_t granularity;  /* ns, of files' times */
    uint64_t reordered;   /* one event in so many; 0: none */
    uint64_t doubled;     /* the same */
    uint64_t lost;        /* the same, silently */
    size_t queue;         /* events that the kernel keeps; then they are lost */
    int64_t lateness;     /* ns: most that the loop comes late */
    bool shared;          /* the file system is one that others write to */
    unsigned max_watches; /* 0: any number */
    bool no_inotify;
    uint64_t deaths;         /* a parser dies at one in so many of its calls */
    uint64_t no_process;     /* one in so many cannot be started */
    int64_t slowness;        /* ns: most that a parser takes */
    uint64_t unreadable;     /* one in so many of a manual's files and folders
                                cannot be opened */
    unsigned manuals;        /* 1 or 2 */
    bool model;              /* there is one, which makes memories */
    int64_t model_slowness;  /* ns: most that it takes for some texts */
    uint64_t model_failures; /* one in so many calls */
};
extern struct world world;

/* The clock of the day, ns since 1970: it jumps, as others do not. */
int64_t day_now(void);
void day_jumps(int64_t ns);
void day_begin(void);

/* A call to the outside: it takes a little time, and others may have a turn. */
void outside_call(void);

/* ---- The kernel's events (kernel_events.c) ---- */

void events_begin(void);
/* Something has happened in the folder to what is there called `name`. */
void event_in(ino_t folder, uint32_t mask, const char *name);
/* It is gone, and its watch with it. */
void event_gone(ino_t folder);
/* There is something to read. */
bool events_wait(void);
/* None is on its way, and none was, or could be, lost in silence. */
bool events_all_told(void);
/* Files and folders that could not be opened since it was asked last. */
unsigned files_unread(void);

/* ---- Parsers (processes.c) ---- */

void processes_begin(void);
/* Deaths and refusals, since then; and the time that parsers took. */
unsigned processes_died(void);
unsigned processes_refused(void);

/* ---- The model (slow_model.c) ---- */

void model_begin(void);
unsigned model_calls(void); /* that encode */

/* ---- The loop (loop.c) ---- */

void loop_begin(void);
/* Runs what libuv would, until it is told to end. */
void *loop_run(void *context);
void loop_end(void);
/* What the current fibre does is the loop's. */
void loop_enter(void);
void loop_leave(void);

#endif
