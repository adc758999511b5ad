/* libuv's loop, as far as watching needs one: timers, and the events' descriptor. */
#include <uv.h>

#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

enum { MAX_TIMERS = 16 };

struct timer {
    uv_timer_t *timer;
    uv_timer_cb rung;
    int64_t at, again; /* ns */
};

static struct timer timers[MAX_TIMERS];
static unsigned timer_count;
static uv_poll_t *polled;
static uv_poll_cb on_poll;
static bool ends, runs;
static const char place;

void loop_begin(void)
{
    timer_count = 0;
    polled = NULL;
    ends = runs = false;
}

void loop_enter(void)
{
    fibre_holds(1);
}

void loop_leave(void)
{
    fibre_holds(-1);
}

static struct timer *next_timer(void)
{
    struct timer *first = NULL;
    for (unsigned i = 0; i < timer_count; i++)
        if (timers[i].at && (!first || timers[i].at < first->at))
            first = &timers[i];
    return first;
}

static void ring(struct timer *timer)
{
    timer->at = timer->again ? time_now() + timer->again : 0;
    loop_enter();
    timer->rung(timer->timer);
    loop_leave();
}

static bool turn(void)
{
    struct timer *timer = next_timer();
    if (polled && events_wait() &&
        (!timer || chance_in(2) || timer->at > time_now())) {
        loop_enter();
        on_poll(polled, 0, UV_READABLE);
        loop_leave();
        return true;
    }
    if (!timer || timer->at > time_now())
        return false;
    ring(timer);
    return true;
}

/* A busy loop comes to what happens late. */
void *loop_run(void *context)
{
    (void)context;
    while (!ends) {
        if (turn()) {
            fibre_sleep(1 + (int64_t)chance_below((uint64_t)world.lateness));
            continue;
        }
        const struct timer *timer = next_timer();
        int64_t next = time_now() + 20 * MS;
        fibre_wait(&place, timer && timer->at < next ? timer->at : next);
    }
    return NULL;
}

void loop_end(void)
{
    ends = true;
    fibre_wake(&place, true);
}

/* ---- What stands for libuv ---- */

static struct timer *find(const uv_timer_t *timer)
{
    for (unsigned i = 0; i < timer_count; i++)
        if (timers[i].timer == timer)
            return &timers[i];
    simulation_fails("a timer that was not made");
}

int __wrap_uv_timer_init(uv_loop_t *loop, uv_timer_t *timer);
int __wrap_uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    timer->loop = loop;
    if (timer_count == MAX_TIMERS)
        simulation_fails("more than %d timers", MAX_TIMERS);
    timers[timer_count++] = (struct timer){.timer = timer};
    return 0;
}

int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb rung, uint64_t ms,
                          uint64_t again);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb rung, uint64_t ms,
                          uint64_t again)
{
    struct timer *one = find(timer);
    one->rung = rung;
    one->at = time_now() + (int64_t)ms * MS + 1;
    one->again = (int64_t)again * MS;
    fibre_wake(&place, true);
    return 0;
}

void __wrap_uv_update_time(uv_loop_t *loop);
void __wrap_uv_update_time(uv_loop_t *loop)
{
    (void)loop;
}

int __wrap_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd);
int __wrap_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd)
{
    (void)loop;
    (void)poll;
    (void)fd;
    return 0;
}

int __wrap_uv_poll_start(uv_poll_t *poll, int events, uv_poll_cb called);
int __wrap_uv_poll_start(uv_poll_t *poll, int events, uv_poll_cb called)
{
    (void)events;
    polled = poll;
    on_poll = called;
    return 0;
}

int __wrap_uv_is_closing(const uv_handle_t *handle);
int __wrap_uv_is_closing(const uv_handle_t *handle)
{
    (void)handle;
    return 0;
}

void __wrap_uv_close(uv_handle_t *handle, uv_close_cb closed);
void __wrap_uv_close(uv_handle_t *handle, uv_close_cb closed)
{
    (void)closed;
    for (unsigned i = 0; i < timer_count; i++)
        if ((uv_handle_t *)timers[i].timer == handle)
            timers[i].at = 0;
    if ((uv_handle_t *)polled == handle)
        polled = NULL;
}
