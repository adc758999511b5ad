#include "tests/simulation/fibres.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK = 1 << 20, SCRIPT = 0 };

enum state { FREE, READY, WAITS, ENDED };

struct fibre {
    enum state state;
    ucontext_t context;
    char *stack;
    void *(*run)(void *);
    void *argument;
    const void *place; /* that it waits for */
    int64_t until;
    bool timed_out, detached;
    int held, number; /* errno */
    void *own;
    void *fake_stack; /* the sanitizer's */
    const void *bottom;
    size_t size;
};

static struct fibre fibres[MAX_FIBRES];
static unsigned current, count;
static int64_t now;
static uint64_t state_of_chance, hash;
bool simulation_tells;

/* ---- Chance ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t chance(void)
{
    return mix(state_of_chance += 0x9e3779b97f4a7c15u);
}

uint64_t chance_below(uint64_t limit)
{
    return limit ? chance() % limit : 0;
}

bool chance_in(uint64_t times)
{
    return times && chance_below(times) == 0;
}

int64_t chance_between(int64_t low, int64_t high)
{
    int64_t top = low;
    unsigned doublings = 0;
    while (top < high / 2) {
        top *= 2;
        doublings++;
    }
    int64_t from = low << chance_below(doublings + 1);
    int64_t value = from + (int64_t)chance_below((uint64_t)from + 1);
    return value < high ? value : high;
}

/* ---- Time ---- */

int64_t time_now(void)
{
    return now;
}

void time_passes(int64_t ns)
{
    now += ns;
}

/* ---- Switching ---- */

static void before(struct fibre *from, const struct fibre *to)
{
    from->number = errno;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(
        from->state == ENDED ? NULL : &from->fake_stack, to->bottom, to->size);
#else
    (void)to;
#endif
}

static void after(struct fibre *self, struct fibre *from)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(self->fake_stack, &from->bottom,
                                    &from->size);
#else
    (void)from;
#endif
    errno = self->number;
}

static unsigned last; /* that ran before */

static void switch_to(unsigned next)
{
    unsigned self = current;
    if (next == self)
        return;
    last = self;
    current = next;
    before(&fibres[self], &fibres[next]);
    swapcontext(&fibres[self].context, &fibres[next].context);
    after(&fibres[self], &fibres[last]);
}

static bool is_ready(const struct fibre *fibre)
{
    return fibre->state == READY ||
           (fibre->state == WAITS && fibre->until && fibre->until <= now);
}

/* The clock goes on to what comes next when nobody has anything to do. */
static void skip_idle_time(void)
{
    int64_t first = INT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        if (is_ready(&fibres[i]))
            return;
        if (fibres[i].state == WAITS && fibres[i].until &&
            fibres[i].until < first)
            first = fibres[i].until;
    }
    if (first == INT64_MAX)
        simulation_fails("all wait for each other");
    now = first;
}

static unsigned choose(void)
{
    unsigned ready[MAX_FIBRES], found = 0;
    skip_idle_time();
    for (unsigned i = 0; i < count; i++)
        if (is_ready(&fibres[i]))
            ready[found++] = i;
    unsigned chosen = ready[found > 1 ? chance_below(found) : 0];
    hash = mix(hash ^ ((uint64_t)now << 8) ^ chosen);
    struct fibre *fibre = &fibres[chosen];
    fibre->timed_out = fibre->state == WAITS;
    fibre->state = READY;
    return chosen;
}

void fibre_end(void)
{
    fibres[current].state = ENDED;
    switch_to(choose());
    abort(); /* nothing chooses it again */
}

static void begins(void)
{
    struct fibre *self = &fibres[current];
    after(self, &fibres[last]);
    self->run(self->argument);
    fibre_end();
}

/* ---- Fibres ---- */

void fibres_begin(uint64_t seed)
{
    for (unsigned i = 0; i < count; i++)
        fibres[i].state = FREE;
    state_of_chance = mix(seed + 1);
    hash = seed;
    now = SECOND;
    current = SCRIPT;
    count = 1;
    fibres[SCRIPT] =
        (struct fibre){.state = READY, .stack = fibres[SCRIPT].stack};
}

static struct fibre *free_place(void)
{
    for (unsigned i = 1; i < count; i++)
        if (fibres[i].state == FREE ||
            (fibres[i].state == ENDED && fibres[i].detached))
            return &fibres[i];
    if (count == MAX_FIBRES)
        simulation_fails("more than %d threads", MAX_FIBRES);
    return &fibres[count++];
}

unsigned fibre_start(void *(*run)(void *), void *context)
{
    struct fibre *fibre = free_place();
    char *stack = fibre->stack;
    if (!stack)
        stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *fibre = (struct fibre){.state = READY,
                            .stack = stack,
                            .run = run,
                            .argument = context,
                            .bottom = stack,
                            .size = STACK};
    getcontext(&fibre->context);
    fibre->context.uc_stack.ss_sp = stack;
    fibre->context.uc_stack.ss_size = STACK;
    fibre->context.uc_link = NULL;
    makecontext(&fibre->context, begins, 0);
    return (unsigned)(fibre - fibres);
}

bool fibre_has_ended(unsigned number)
{
    return fibres[number].state == ENDED;
}

void fibre_forget(unsigned number)
{
    fibres[number].state = FREE;
}

void fibre_detach(unsigned number)
{
    fibres[number].detached = true;
}

bool fibre_is_script(void)
{
    return current == SCRIPT;
}

unsigned fibres_left(void)
{
    unsigned left = 0;
    for (unsigned i = 1; i < count; i++)
        left += fibres[i].state == READY || fibres[i].state == WAITS;
    return left;
}

void fibre_pause(void)
{
    if (!fibres[current].held)
        switch_to(choose());
}

bool fibre_wait(const void *place, int64_t until)
{
    struct fibre *self = &fibres[current];
    if (self->held)
        simulation_fails("a thread waits while it holds a lock");
    self->state = WAITS;
    self->place = place;
    self->until = until;
    switch_to(choose());
    return !self->timed_out;
}

void fibre_wake(const void *place, bool all)
{
    unsigned waiting[MAX_FIBRES], found = 0;
    for (unsigned i = 0; i < count; i++)
        if (fibres[i].state == WAITS && fibres[i].place == place)
            waiting[found++] = i;
    unsigned only = found && !all ? waiting[chance_below(found)] : 0;
    for (unsigned i = 0; i < found; i++)
        if (all || waiting[i] == only)
            fibres[waiting[i]].state = READY;
}

void fibre_sleep(int64_t ns)
{
    static const char nowhere;
    fibre_wait(&nowhere, now + (ns > 0 ? ns : 1));
}

void fibre_holds(int change)
{
    fibres[current].held += change;
}

int fibre_held(void)
{
    return fibres[current].held;
}

void fibre_set_own(void *own)
{
    fibres[current].own = own;
}

void *fibre_own(void)
{
    return fibres[current].own;
}

uint64_t fibres_hash(void)
{
    return hash;
}

void fibres_note(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
}

/* ---- What is told ---- */

static void say(const char *format, va_list arguments)
{
    printf("%12.6f [%u] ", (double)now / 1e9, current);
    vprintf(format, arguments);
    putchar('\n');
}

void simulation_says(const char *format, ...)
{
    va_list arguments;
    if (!simulation_tells)
        return;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void simulation_fails(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    fflush(stdout);
    abort();
}
