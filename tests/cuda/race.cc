#include "tests/cuda/race.h"

#include "shim/cuda/cuda_runtime.h"
#include "tests/cuda/race_order.h"
#include "tests/cuda/together.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace
{

enum { MAX_THREADS = 1024, WARP = 32, MAX_SITES = 320 };
enum { UNIT = 2 }; /* bytes that are watched as one: the smallest number's */
constexpr unsigned NONE = ~0u;

enum race_kind {
    READ_AFTER_WRITE,
    WRITE_AFTER_READ,
    WRITE_AFTER_WRITE,
    TOUCHED_DURING_COPY,
    ACROSS_BLOCKS,
    BEFORE_WAIT,
    WITHOUT_WAIT,
    WRITTEN_DURING_PRODUCT,
    NOT_PUBLISHED,
    PRODUCTS_LEFT
};
const char *const KINDS[] = {"read after write",
                             "write after read",
                             "write after write",
                             "touched while copied",
                             "between blocks",
                             "before the wait for those before",
                             "no wait for those before",
                             "written while a product reads it",
                             "read by a product, not published",
                             "no wait for a product"};

/* Reads of a unit by some lanes of a warp, at one time of theirs (race_time). */
struct reads {
    const void *from;
    unsigned warp, lanes, own;
    unsigned next; /* 0: none */
};

/* What was done with one unit, by the block that touched it last.  Reads are those
 * since it was written, and since the last barrier of the block, that no thread which
 * read it later has seen. */
struct unit {
    uintptr_t number;
    unsigned launch, block;
    bool written, atomic, copying;
    unsigned products; /* under way, that read it */
    unsigned writer;
    struct race_time write, read;
    unsigned reads;                        /* the first of a list; 0: none */
    unsigned writing_block, reading_block; /* of the launch */
    const void *write_from, *read_from, *product_from;
};

constexpr size_t SIDE = 16, UNITS = SIDE << 18;
struct unit *units;
size_t used; /* in this launch */
unsigned launch, block;
bool running;
uintptr_t stacks, stacks_end;

/* A block's coming to a place that blocks meet at (an atomic): what it had written is
 * `released` to those that come later, what those before had written `acquired`. */
struct meeting {
    uintptr_t at;
    unsigned block, thread;
    struct race_time time;
    bool released, acquired;
};
constexpr size_t MAX_MEETINGS = 1 << 14; /* of a launch */
struct meeting meetings[MAX_MEETINGS];
size_t meeting_count;
unsigned
    fenced[MAX_THREADS]; /* 1 + the block's barriers before the last fence */

/* What launches of the graph that was started last wrote. */
struct written {
    uintptr_t number; /* of the unit */
    unsigned step;
    const void *from;
};
constexpr size_t WRITTEN = size_t{1} << 20;
struct written written[WRITTEN];
size_t written_count;
unsigned step; /* of the running launch; 0: of no graph */

/* Of a block; the first is nobody's. */
constexpr unsigned MAX_READS = 1 << 22;
struct reads *all_reads;
unsigned read_count, free_reads; /* ever taken; given back, a list */

struct race_site sites[MAX_SITES];
size_t site_count;
const struct race_site *ignored;

/* Two places that raced; how often. */
struct pair {
    race_kind kind;
    const void *here, *before;
    size_t count;
};
constexpr size_t MAX_PAIRS = 64; /* of more the first */
struct pair pairs[MAX_PAIRS];
size_t pair_count;

void report(race_kind kind, const void *here, const void *before)
{
    size_t i = 0;
    while (i < pair_count && (pairs[i].kind != kind || pairs[i].here != here ||
                              pairs[i].before != before))
        i++;
    if (i == MAX_PAIRS)
        return;
    if (i == pair_count)
        pairs[pair_count++] = {kind, here, before, 0};
    pairs[i].count++;
}

/* The unit, as the running launch left it. */
struct unit *unit_of(uintptr_t number)
{
    if (!units)
        units = static_cast<struct unit *>(calloc(UNITS, sizeof *units));
    /* Neighbours lie side by side. */
    size_t at =
        (number / SIDE * 0x9E3779B97F4A7C15u >> 46) * SIDE + number % SIDE;
    while (units && units[at].launch == launch && units[at].number != number)
        at = (at + 1) % UNITS;
    if (!units || used >= UNITS / 2)
        emulated_wrong("more memory than the race detector watches");
    struct unit *u = &units[at];
    if (u->launch != launch) {
        used++;
        *u = {};
        u->number = number;
        u->launch = launch;
        u->block = u->writing_block = u->reading_block = NONE;
    }
    return u;
}

/* Nothing of the block's own is known yet. */
void enter_block(struct unit *u)
{
    u->block = block;
    u->written = u->copying = false;
    u->products = u->reads = 0;
}

/* Whether what a thread of another block did then is seen by what the running thread
 * does now, by a meeting of theirs. */
bool is_seen(unsigned other, struct race_time then, unsigned thread)
{
    unsigned t = threadIdx.x;
    for (size_t i = 0; i < meeting_count; i++) {
        const struct meeting *mine = &meetings[i];
        if (mine->block != block || !mine->acquired ||
            (mine->thread != t && mine->time.block >= order_now(t).block))
            continue;
        for (size_t k = 0; k < i; k++) {
            const struct meeting *its = &meetings[k];
            if (its->at == mine->at && its->block == other && its->released &&
                (its->thread == thread || then.block < its->time.block))
                return true;
        }
    }
    return false;
}

void check_blocks(const struct unit *u, enum race_access how, const void *from)
{
    bool counts = u->writing_block != NONE && u->writing_block != block &&
                  !(how == RACE_ATOMIC && u->atomic);
    if (counts && !is_seen(u->writing_block, u->write, u->writer))
        report(ACROSS_BLOCKS, from, u->write_from);
    counts = how != RACE_READ && u->reading_block != NONE &&
             u->reading_block != block;
    if (counts && !is_seen(u->reading_block, u->read, NONE))
        report(ACROSS_BLOCKS, from, u->read_from);
}

void check_write(const struct unit *u, unsigned t, bool writes, bool atomic,
                 const void *from)
{
    if (!u->written || (atomic && u->atomic) ||
        order_sees(t, u->writer, u->write))
        return;
    report(writes ? WRITE_AFTER_WRITE : READ_AFTER_WRITE, from, u->write_from);
}

/* ---- Reads ---- */

bool sees_reads(unsigned t, const struct reads *r, unsigned at_block)
{
    return order_sees_lanes(t, r->warp, r->lanes, {at_block, r->own});
}

void check_reads(const struct unit *u, unsigned t, const void *from)
{
    for (unsigned i = u->reads; i; i = all_reads[i].next)
        if (!sees_reads(t, &all_reads[i], u->read.block))
            report(WRITE_AFTER_READ, from, all_reads[i].from);
}

unsigned take_reads(unsigned t, const void *from, unsigned next)
{
    unsigned i = free_reads;
    if (!all_reads)
        all_reads =
            static_cast<struct reads *>(calloc(MAX_READS, sizeof *all_reads));
    if (i)
        free_reads = all_reads[i].next;
    else
        i = ++read_count;
    if (!all_reads || i >= MAX_READS)
        emulated_wrong("more reads than the race detector watches");
    all_reads[i] = {from, t / WARP, 0, order_now(t).own, next};
    return i;
}

void drop_reads(unsigned *link)
{
    unsigned i = *link;
    *link = all_reads[i].next;
    all_reads[i].next = free_reads;
    free_reads = i;
}

/* The record of reads that the thread's belongs to, now the first of the list. */
struct reads *reads_of(struct unit *u, unsigned t, const void *from)
{
    const struct race_time now = order_now(t);
    if (u->read.block != now.block)
        while (u->reads)
            drop_reads(&u->reads);
    for (unsigned *link = &u->reads; *link; link = &all_reads[*link].next) {
        const unsigned i = *link;
        if (all_reads[i].warp != t / WARP || all_reads[i].own != now.own)
            continue;
        *link = all_reads[i].next;
        all_reads[i].next = u->reads;
        u->reads = i;
        return &all_reads[i];
    }
    /* What this thread has seen, sees who sees this. */
    for (unsigned *link = &u->reads; *link;) {
        struct reads *r = &all_reads[*link];
        if (r->warp == t / WARP)
            r->lanes &= ~(1u << t % WARP);
        if (sees_reads(t, r, u->read.block))
            drop_reads(link);
        else
            link = &r->next;
    }
    u->reads = take_reads(t, from, u->reads);
    return &all_reads[u->reads];
}

void note_read(struct unit *u, unsigned t, const void *from)
{
    reads_of(u, t, from)->lanes |= 1u << t % WARP;
    u->read = order_now(t);
    u->read_from = from;
    u->reading_block = block;
}

void note_write(struct unit *u, unsigned t, enum race_access how,
                const void *from)
{
    while (u->reads)
        drop_reads(&u->reads);
    u->written = true;
    u->atomic = how == RACE_ATOMIC;
    u->copying = how == RACE_COPY;
    u->writer = t;
    u->write = order_now(t);
    u->write_from = from;
    u->writing_block = block;
}

/* What it reads is as if read when it has ended. */
void begin_product(struct unit *u, unsigned t, const void *from)
{
    if (u->written && !order_is_published(t, u->writer, u->write))
        report(NOT_PUBLISHED, from, u->write_from);
    u->products++;
    u->product_from = from;
}

/* shared: memory that each block has for itself, at the same place. */
void touch(uintptr_t number, enum race_access how, bool shared,
           const void *from)
{
    unsigned t = threadIdx.x;
    bool writes = how == RACE_WRITE || how == RACE_ATOMIC || how == RACE_COPY ||
                  how == RACE_COPIED;
    struct unit *u = unit_of(number);
    if (u->block != block) {
        if (!shared)
            check_blocks(u, how, from);
        enter_block(u);
    }
    if (u->copying && how != RACE_COPIED)
        report(TOUCHED_DURING_COPY, from, u->write_from);
    if (how != RACE_MULTIPLIED)
        check_write(u, t, writes, how == RACE_ATOMIC, from);
    if (how == RACE_PRODUCT)
        begin_product(u, t, from);
    else if (writes) {
        if (u->products)
            report(WRITTEN_DURING_PRODUCT, from, u->product_from);
        check_reads(u, t, from);
        note_write(u, t, how, from);
    } else {
        u->products -= how == RACE_MULTIPLIED;
        note_read(u, t, from);
    }
}

/* The unit's entry, of this step or free. */
struct written *written_at(uintptr_t number)
{
    size_t at = number * 0x9E3779B97F4A7C15u >> 44;
    while (written[at].step == step && written[at].number != number)
        at = (at + 1) % WRITTEN;
    return &written[at];
}

/* Memory that all kernels see. */
void check_earlier(uintptr_t number, enum race_access how, const void *from)
{
    struct written *its = written_at(number);
    if (emulated_is_early() && (how != RACE_READ || its->step == step))
        report(BEFORE_WAIT, from, its->step == step ? its->from : from);
    if (how == RACE_READ)
        return;
    if (its->step != step && ++written_count > WRITTEN / 2)
        emulated_wrong("a graph writes more than the race detector watches");
    *its = {number, step, from};
}

}  // namespace

bool race_counts(enum race_class kind, const char *file, unsigned line)
{
    size_t i = 0;
    while (i < site_count && (sites[i].line != line || sites[i].kind != kind ||
                              strcmp(sites[i].file, file) != 0))
        i++;
    if (i == MAX_SITES)
        emulated_wrong("more barriers than the race detector knows");
    if (i == site_count)
        sites[site_count++] = {file, line, kind, 0};
    sites[i].passed++;
    return ignored != &sites[i];
}

void race_launch(unsigned of)
{
    launch++;
    if (of != step)
        written_count = 0;
    step = of;
    used = 0;
    meeting_count = 0;
}

void race_block(unsigned number, unsigned threads)
{
    block = number;
    order_begin(threads);
    read_count = free_reads = 0;
    memset(fenced, 0, sizeof fenced);
    running = true;
}

void race_block_end()
{
    running = false;
}

void race_stacks(const void *at, size_t bytes)
{
    stacks = reinterpret_cast<uintptr_t>(at);
    stacks_end = stacks + bytes;
}

void race_block_barrier(const char *file, unsigned line)
{
    if (race_counts(RACE_CLASS_BLOCK, file, line))
        order_block(threadIdx.x);
}

void race_warp_barrier(unsigned warp, const char *file, unsigned line)
{
    if (race_counts(RACE_CLASS_WARP, file, line))
        order_warp(warp);
}

void race_arrive(const void *place, enum race_class kind, const char *file,
                 unsigned line)
{
    if (race_counts(kind, file, line))
        order_arrive(threadIdx.x, place);
}

void race_round(const void *place)
{
    order_round(place);
}

void race_follow(const void *place, enum race_class kind, const char *file,
                 unsigned line)
{
    if (race_counts(kind, file, line))
        order_follow(threadIdx.x, place);
}

void race_publish(const char *file, unsigned line)
{
    if (race_counts(RACE_CLASS_PUBLISH, file, line))
        order_publish(threadIdx.x);
}

void race_fence(const char *file, unsigned line)
{
    unsigned t = threadIdx.x;
    if (!running || !race_counts(RACE_CLASS_FENCE, file, line))
        return;
    fenced[t] = order_now(t).block + 1;
    for (size_t i = 0; i < meeting_count; i++)
        if (meetings[i].block == block && meetings[i].thread == t)
            meetings[i].acquired = true;
}

void race_meet(const void *at)
{
    unsigned t = threadIdx.x;
    if (!running || emulated_is_shared(at, sizeof(unsigned)))
        return;
    if (meeting_count == MAX_MEETINGS)
        emulated_wrong("more meetings of blocks than the race detector knows");
    meetings[meeting_count++] = {
        reinterpret_cast<uintptr_t>(at),     block, t, order_now(t),
        fenced[t] == order_now(t).block + 1, false};
}

bool race_early_end()
{
    report(WITHOUT_WAIT, nullptr, nullptr);
    return true;
}

void race_products_left()
{
    report(PRODUCTS_LEFT, nullptr, nullptr);
}

void race_access(const void *at, size_t bytes, enum race_access how,
                 const void *from)
{
    auto first = reinterpret_cast<uintptr_t>(at);
    if (!running || (first >= stacks && first < stacks_end))
        return;
    bool shared = emulated_is_shared(at, bytes);
    for (uintptr_t u = first / UNIT; u <= (first + bytes - 1) / UNIT; u++) {
        touch(u, how, shared, from);
        if (step && !shared)
            check_earlier(u, how, from);
    }
}

size_t races_found(void)
{
    return pair_count;
}

void races_forget(void)
{
    pair_count = 0;
}

void races_print(void)
{
    extern char __executable_start;
    for (size_t i = 0; i < pair_count; i++) {
        const struct pair *p = &pairs[i];
        char command[256];
        fprintf(stderr, "race: %s, %zu times, at and after\n", KINDS[p->kind],
                p->count);
        snprintf(command, sizeof command,
                 "addr2line -e /proc/%d/exe %#zx %#zx >&2", getpid(),
                 static_cast<const char *>(p->here) - &__executable_start - 1,
                 static_cast<const char *>(p->before) - &__executable_start -
                     1);
        if (system(command))
            fprintf(stderr, "  (no addr2line) %p %p\n", p->here, p->before);
    }
}

size_t race_sites(const struct race_site **ret)
{
    *ret = sites;
    return site_count;
}

void race_ignore(const struct race_site *site)
{
    ignored = site;
}

/* ---- What the compiler puts before each load and store ----
 *
 * -fsanitize=kernel-address calls a function for each instead of looking into the
 * sanitizer's own shadow. */
#define EACH_SIZE(bytes)                                                       \
    extern "C" void __asan_load##bytes##_noabort(const void *at)               \
    {                                                                          \
        race_access(at, bytes, RACE_READ, __builtin_return_address(0));        \
    }                                                                          \
    extern "C" void __asan_store##bytes##_noabort(const void *at)              \
    {                                                                          \
        race_access(at, bytes, RACE_WRITE, __builtin_return_address(0));       \
    }
EACH_SIZE(1)
EACH_SIZE(2)
EACH_SIZE(4)
EACH_SIZE(8)
EACH_SIZE(16)
extern "C" void __asan_loadN_noabort(const void *at, size_t bytes)
{
    race_access(at, bytes, RACE_READ, __builtin_return_address(0));
}
extern "C" void __asan_storeN_noabort(const void *at, size_t bytes)
{
    race_access(at, bytes, RACE_WRITE, __builtin_return_address(0));
}
extern "C" void __asan_handle_no_return()
{
}
