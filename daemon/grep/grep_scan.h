/* Every line of the manuals' sections that a regular expression matches, in
 * document order: titles, then blocks as they are stored.  A match stays within one
 * title or block. */
#ifndef DAEMON_GREP_GREP_SCAN_H
#define DAEMON_GREP_GREP_SCAN_H

#include <stdatomic.h>

#include "daemon/grep/grep_pattern.h"
#include "memory/snapshot/content.h"

/* The nodes [from, end) of a view. */
struct grep_range {
    const struct view *view;
    uint32_t from, end;
};

struct grep_match {
    const struct view *view;
    uint32_t node;
    const struct content *content; /* NULL: it has none, or it is the title */
    const struct block *block;     /* NULL: it is the title */
    struct slice text; /* the line, or lines, in which the match stands */
    size_t start, end; /* of the match, in bytes of `text` */
};

struct grep_scan {
    const struct snapshot *snapshot;
    struct grep_pattern *pattern;
    size_t max;                   /* matches wanted */
    double until;                 /* clock_seconds at which it stops */
    const atomic_bool *cancelled; /* NULL: it never is */
    void (*take)(void *context, const struct grep_match *match);
    void *context;
    /* What came of it. */
    size_t count;
    size_t given_up; /* titles and blocks in which the pattern went too far */
    bool more;       /* there are matches beyond `max` */
    bool late;       /* it was stopped by the clock */
};

/* ERR_CANCELLED, or what reading sections fails with. */
int grep_scan_range(struct grep_scan *scan, const struct grep_range *range,
                    struct err *err);

#endif
