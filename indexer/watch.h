/* Which manuals may have changed since they were last scanned, by inotify.
 *
 * watch_scan looks for a manual's files as scan_folder does, and watches every
 * folder before it is read: what changes afterwards is told by watch_read, until
 * the next watch_scan, which lets go of folders that are no longer there.  So a
 * tree of new folders needs no walk of its own: the event of its first folder
 * leads to a scan, and the scan watches the rest.  A move is two events that
 * come together, whose manuals are told once: what moved is found by the scan.
 *
 * Where inotify does not suffice, the manual has to be scanned from time to
 * time, and watch_sees says so: on file systems that others write to, when the
 * system allows no more watches or instances, or when it was asked for. */
#ifndef INDEXER_WATCH_H
#define INDEXER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "indexer/scan.h"

enum watch_mode { WATCH_AUTO, WATCH_INOTIFY, WATCH_POLL, WATCH_OFF };
const char *watch_mode_name(int mode);

struct watch;

/* WATCH_AUTO trusts inotify only where the file system is a local one,
 * WATCH_INOTIFY everywhere. */
struct watch *watch_new(int mode);
void watch_free(struct watch *watch); /* NULL is allowed */

/* Readable when there is something for watch_read; -1: never. */
int watch_descriptor(const struct watch *watch);

/* scan_folder, watching; NULL: without.  One thread at a time. */
int watch_scan(struct watch *watch, uint32_t manual,
               const struct source_root *root, const char *ignore,
               struct scan *ret_scan, struct err *err);

/* Ends the manual's watches. */
void watch_forget(struct watch *watch, uint32_t manual);

/* Called once for each manual that may have changed. */
typedef void watch_changed(void *context, uint32_t manual);

/* Takes what has happened so far; never waits, for the disk neither. */
void watch_read(struct watch *watch, watch_changed *changed, void *context);

/* The same with events (struct inotify_event) from elsewhere. */
void watch_take(struct watch *watch, const void *events, size_t size,
                watch_changed *changed, void *context);

/* False: only scans find what changes in the manual. */
bool watch_sees(struct watch *watch, uint32_t manual);

/* Calls for each manual that it does not see. */
void watch_unseen(struct watch *watch, watch_changed *changed, void *context);

struct watch_state {
    int mode;       /* WATCH_INOTIFY, WATCH_POLL or WATCH_OFF: what it does */
    size_t folders; /* watched */
    bool limited;   /* the system allows too few watches */
    uint64_t overflows; /* times that events were lost, and all was rescanned */
    int64_t last_event; /* clock_ms; 0: none yet */
};
void watch_state(struct watch *watch, struct watch_state *ret);

#endif
