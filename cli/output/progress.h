/* A line on standard error that is drawn over and over: how far the work is. */
#ifndef CLI_OUTPUT_PROGRESS_H
#define CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool on;        /* false: nothing is ever drawn */
    char label[96]; /* what is being done; the rate starts over with it */
    double started; /* of this label */
    double drawn;   /* last time */
    int64_t first;  /* `done` when the label began */
    bool visible;
};

/* Draws at most ten times a second. */
void progress_show(struct progress *progress, const char *label, int64_t done,
                   int64_t total);
void progress_clear(struct progress *progress);

/* Appends the line that is drawn, `columns` wide at most. */
struct buf;
void progress_put_line(struct buf *out, const char *label, int64_t done,
                       int64_t total, double rate, int columns);

#endif
