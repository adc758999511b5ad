#include "daemon/net/watching.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/jobs/jobs.h"

enum {
    QUIET_MS = 60,    /* without an event, until a burst is over */
    LONGEST_MS = 2000 /* since its first event */
};

struct burst {
    struct burst *next;
    uint32_t manual;
    int64_t first, last; /* clock_ms */
};

struct watching {
    struct daemon *daemon;
    uv_poll_t events;
    uv_timer_t quiet, sweep, poll;
    bool reads;
    struct burst *bursts;
};

/* ---- Bursts ---- */

static int64_t due(const struct burst *burst)
{
    int64_t quiet = burst->last + QUIET_MS, late = burst->first + LONGEST_MS;
    return quiet < late ? quiet : late;
}

static void on_quiet(uv_timer_t *timer);

/* The timer rings for the first that is over. */
static void set_timer(struct watching *watching)
{
    int64_t first = INT64_MAX, now = clock_ms();
    for (const struct burst *b = watching->bursts; b; b = b->next)
        first = due(b) < first ? due(b) : first;
    uv_update_time(watching->quiet.loop);
    if (first < INT64_MAX)
        uv_timer_start(&watching->quiet, on_quiet,
                       first > now ? (uint64_t)(first - now) : 0, 0);
}

static void on_change(void *context, uint32_t manual)
{
    struct watching *watching = context;
    struct burst *burst = watching->bursts;
    while (burst && burst->manual != manual)
        burst = burst->next;
    if (!burst) {
        burst = mem_alloc(sizeof *burst);
        burst->manual = manual;
        burst->first = clock_ms();
        burst->next = watching->bursts;
        watching->bursts = burst;
    }
    burst->last = clock_ms();
    jobs_mark(watching->daemon->jobs, manual);
}

static void read_events(struct watching *watching)
{
    watch_read(watching->daemon->watch, on_change, watching);
}

static void on_quiet(uv_timer_t *timer)
{
    struct watching *watching = timer->data;
    struct burst **at = &watching->bursts;
    read_events(watching);
    int64_t now = clock_ms();
    while (*at) {
        struct burst *burst = *at;
        if (due(burst) > now) {
            at = &burst->next;
            continue;
        }
        *at = burst->next;
        jobs_update_marked(watching->daemon->jobs, burst->manual);
        free(burst);
    }
    set_timer(watching);
}

void watching_read(struct watching *watching)
{
    if (!watching || !watching->reads)
        return;
    read_events(watching);
    set_timer(watching);
}

static void on_events(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    watching_read(poll->data);
}

/* ---- Rescans ---- */

static void look(void *context, uint32_t manual)
{
    jobs_look(context, manual);
}

static void on_sweep(uv_timer_t *timer)
{
    struct watching *watching = timer->data;
    jobs_look(watching->daemon->jobs, 0);
}

static void on_poll(uv_timer_t *timer)
{
    struct watching *watching = timer->data;
    watch_unseen(watching->daemon->watch, look, watching->daemon->jobs);
}

static void start_timer(uv_timer_t *timer, uv_timer_cb rung, int64_t ms)
{
    uv_timer_start(timer, rung, (uint64_t)ms, (uint64_t)ms);
}

/* ---- All of it ---- */

static int start_events(struct watching *watching, uv_loop_t *loop,
                        struct err *err)
{
    int fd = watch_descriptor(watching->daemon->watch);
    if (fd < 0)
        return 0;
    int number = uv_poll_init(loop, &watching->events, fd);
    if (!number) {
        watching->reads = true;
        watching->events.data = watching;
        number = uv_poll_start(&watching->events, UV_READABLE, on_events);
    }
    return number ? err_set(err, ERR_IO, "cannot wait for changes: %s",
                            uv_strerror(number))
                  : 0;
}

int watching_start(struct daemon *daemon, uv_loop_t *loop,
                   struct watching **ret_watching, struct err *err)
{
    struct watching *watching = mem_alloc(sizeof *watching);
    struct watch_state state;
    watching->daemon = daemon;
    uv_timer_init(loop, &watching->quiet);
    uv_timer_init(loop, &watching->sweep);
    uv_timer_init(loop, &watching->poll);
    watching->quiet.data = watching->sweep.data = watching->poll.data =
        watching;
    *ret_watching = watching;
    watch_state(daemon->watch, &state);
    if (state.mode == WATCH_OFF)
        return 0;
    start_timer(&watching->sweep, on_sweep, daemon->sweep_ms);
    start_timer(&watching->poll, on_poll, daemon->poll_ms);
    return start_events(watching, loop, err);
}

static void close_timer(uv_timer_t *timer)
{
    if (!uv_is_closing((uv_handle_t *)timer))
        uv_close((uv_handle_t *)timer, NULL);
}

void watching_stop(struct watching *watching)
{
    if (!watching)
        return;
    close_timer(&watching->quiet);
    close_timer(&watching->sweep);
    close_timer(&watching->poll);
    if (watching->reads && !uv_is_closing((uv_handle_t *)&watching->events))
        uv_close((uv_handle_t *)&watching->events, NULL);
    watching->reads = false;
}

void watching_free(struct watching *watching)
{
    while (watching && watching->bursts) {
        struct burst *next = watching->bursts->next;
        free(watching->bursts);
        watching->bursts = next;
    }
    free(watching);
}
