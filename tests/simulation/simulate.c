/* The daemon's loop of following files, its index thread, its parsers and its store, in
 * one process without real time: what happens outside is scripted by a seed.
 *
 *     simulate [--from SEED] [--count N] [--first] [--tell]
 *
 * Each seed ends with an index that is equal to one made afresh; before, whenever the
 * daemon says that it is up to date, it is so.  --first: the first seed that fails is the
 * last.  --tell: what happens when. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "indexer/parse/serve.h"
#include "tests/faults/seeds.h"
#include "tests/simulation/check.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/files.h"
#include "tests/simulation/outside.h"
#include "tests/simulation/service.h"

enum { BATCH = 250 /* seeds that one process runs */ };

/* Of all processes. */
struct results {
    uint64_t seed; /* under way */
    uint64_t done, changes, checks, said_current, died, refused, encoded;
    uint64_t killed, unread;
    uint64_t hash;
    int64_t
        slowest; /* ns, until a change was visible where nothing was wrong */
};
static struct results *results;

static char folder[128];

/* ---- Worlds ---- */

static const int64_t granularities[] = {1, 4000000, 1000000000, 2000000000};

static void draw_events(void)
{
    world.reordered = chance_in(2) ? 1 + chance_below(6) : 0;
    world.doubled = chance_in(2) ? 1 + chance_below(6) : 0;
    world.queue = chance_in(3) ? 1 + (size_t)chance_below(6) : 0;
    world.lateness = chance_between(1000, chance_in(2) ? SECOND : MS);
    world.shared = chance_in(10);
    world.lost = world.shared ? 1 : chance_in(8) ? 2 + chance_below(20) : 0;
    world.max_watches = chance_in(10) ? 1 + (unsigned)chance_below(4) : 0;
    world.no_inotify = chance_in(20);
}

static void draw_world(void)
{
    world = (struct world){
        .tick = chance_between(1000, 20 * MS),
        .pauses = 1 + chance_below(8),
        .granularity = granularities[chance_below(4)],
    };
    draw_events();
    if (chance_in(3))
        world.deaths = (uint64_t)chance_between(3, 60);
    if (chance_in(8))
        world.no_process = 2 + chance_below(6);
    if (chance_in(3))
        world.slowness = chance_between(MS, 30 * SECOND);
    world.model = chance_in(8);
    world.model_slowness = chance_between(MS, 20 * SECOND);
    world.model_failures = chance_in(4) ? 2 + chance_below(8) : 0;
    world.manuals = chance_in(3) ? 2 : 1;
    if (chance_in(8))
        world.unreadable = 3 + chance_below(40);
}

/* The longest that a change may take to be seen; 0: nobody knows, something is
 * wrong. */
static int64_t longest(void)
{
    if (world.lost || world.max_watches || world.no_inotify || world.deaths ||
        world.no_process || world.model || world.unreadable ||
        world.slowness > 4 * SECOND)
        return 0;
    return 30 * SECOND + 40 * world.slowness;
}

/* Nothing is wrong any more. */
static void end_failures(void)
{
    results->died += processes_died();
    results->refused += processes_refused();
    results->unread += files_unread();
    world.deaths = world.no_process = world.model_failures = 0;
    world.unreadable = 0;
}

/* ---- The script ---- */

/* What is said to be so at this moment is so. */
static void check_now(struct service *service)
{
    fibre_holds(1);
    service_hears(service);
    bool current = service_is_current(service);
    results->checks++;
    results->said_current += current;
    if ((current || service_answers_currently(service)) && events_all_told())
        check_visible(service, true);
    fibre_holds(-1);
}

static void edit(struct service *service)
{
    for (uint64_t burst = 1 + chance_below(6); burst; burst--) {
        files_change();
        results->changes++;
        if (chance_in(2))
            fibre_sleep(chance_between(1000, 300 * MS));
    }
    if (!service && chance_in(2))
        fibre_sleep(chance_between(SECOND, 100 * SECOND));
    else if (service && chance_in(2))
        check_now(service);
}

/* Something happens all the time; what was changed before it is seen meanwhile. */
static void storm(struct service *service)
{
    files_rewrite();
    for (int64_t end = time_now() + 12 * SECOND; time_now() < end;) {
        files_touch();
        fibre_sleep(chance_between(MS, 50 * MS));
    }
    fibre_holds(1);
    if (longest() && !world.slowness && !check_file(service, "a.html"))
        simulation_fails("a change is not seen while others go on");
    fibre_holds(-1);
}

static void change_some(void)
{
    for (uint64_t i = chance_below(4); i; i--)
        files_change();
    fibre_holds(1);
    files_finish();
    fibre_holds(-1);
}

static void act(struct service *service)
{
    switch (chance_below(16)) {
    case 4: service_again(service, change_some); break;
    case 5:
        /* By coarse times a file of before a jump is not told from one after. */
        if (world.granularity == 1)
            day_jumps((chance_in(2) ? 1 : -1) *
                      chance_between(MS, 100000 * SECOND));
        break;
    case 0: service_update(service, chance_in(2)); break;
    case 1: service_rests(service, chance_between(MS, 10 * SECOND)); break;
    case 3:
        if (chance_in(4))
            storm(service);
        break;
    case 2: service_restart(service, edit); break;
    case 6:
        results->killed++;
        service_killed(service, edit);
        break;
    default: edit(service);
    }
}

static bool is_visible(struct service *service)
{
    fibre_holds(1);
    service_hears(service);
    bool visible = service_is_current(service) && check_visible(service, false);
    if (visible && world.model)
        visible = service_has_memories(service);
    fibre_holds(-1);
    return visible;
}

/* Everything becomes visible, how long it may take. */
static void wait_until_visible(struct service *service, int64_t most)
{
    int64_t from = time_now(), end = from + 4 * 3600 * SECOND;
    int64_t step = 50 * MS;
    while (!is_visible(service)) {
        if (time_now() > end) {
            check_visible(service, true);
            simulation_fails("it never says that it is up to date");
        }
        fibre_sleep(step);
        step += step < 20 * SECOND ? step / 2 : 0;
    }
    int64_t took = time_now() - from;
    if (most && took > results->slowest)
        results->slowest = took;
    if (most && took > most)
        simulation_fails("a change took %.1f s to be seen", (double)took / 1e9);
}

static void run_script(void)
{
    struct service service;
    char manuals[FILES_MANUALS][160], store[160];
    const char *roots[FILES_MANUALS];
    for (unsigned i = 0; i < FILES_MANUALS; i++) {
        snprintf(manuals[i], sizeof manuals[i], "%s/manuals/m%u", folder, i);
        roots[i] = manuals[i];
    }
    snprintf(store, sizeof store, "%s/store", folder);
    files_begin(roots, world.manuals);
    for (uint64_t i = chance_below(4); i; i--)
        files_change();
    files_finish();
    if (chance_in(2)) /* files' times are long past */
        fibre_sleep(chance_between(SECOND, 100 * SECOND));
    service_start(&service, store, roots, world.manuals);
    for (uint64_t acts = 1 + chance_below(8); acts; acts--) {
        act(&service);
        if (chance_in(2))
            fibre_sleep(chance_between(MS, 20 * SECOND));
        if (chance_in(2))
            check_now(&service);
    }
    fibre_holds(1);
    files_finish();
    fibre_holds(-1);
    int64_t most = longest();
    end_failures();
    wait_until_visible(&service, most);
    service_retry(&service);
    wait_until_visible(&service, most);
    check_afresh(&service, folder);
    service_stop(&service);
    for (int i = 0; fibres_left() && i < 1000; i++)
        fibre_sleep(100 * MS); /* parsers that were killed come to their ends */
    if (fibres_left())
        simulation_fails("%u threads are left", fibres_left());
}

static void run_seed(uint64_t seed)
{
    results->seed = seed;
    fibres_begin(seed);
    events_begin();
    processes_begin();
    loop_begin();
    model_begin();
    day_begin();
    draw_world();
    simulation_says(
        "tick %.6f pauses 1/%llu granularity %.3f reordered 1/%llu "
        "doubled 1/%llu lost 1/%llu queue %zu shared %d watches "
        "%u%s deaths 1/%llu no process 1/%llu unreadable 1/%llu slowness "
        "%.3f%s, %u manuals",
        (double)world.tick / 1e9, (unsigned long long)world.pauses,
        (double)world.granularity / 1e9, (unsigned long long)world.reordered,
        (unsigned long long)world.doubled, (unsigned long long)world.lost,
        world.queue, world.shared, world.max_watches,
        world.no_inotify ? " no inotify" : "", (unsigned long long)world.deaths,
        (unsigned long long)world.no_process,
        (unsigned long long)world.unreadable, (double)world.slowness / 1e9,
        world.model ? " with a model" : "", world.manuals);
    run_script();
    results->hash = results->hash * 31 + fibres_hash();
    results->encoded += model_calls();
    results->done++;
}

/* ---- All of them ---- */

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

static void make_folder(void)
{
    char manuals[160];
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    snprintf(manuals, sizeof manuals, "%s/manuals", folder);
    if (mkdir(folder, 0700) || mkdir(manuals, 0700))
        exit(2);
}

static void run_batch(uint64_t from, uint64_t count)
{
    serve_load();
    log_set_level(simulation_tells ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    for (uint64_t seed = from; seed < from + count; seed++) {
        make_folder();
        run_seed(seed);
    }
    _exit(0);
}

/* Returns how many were run; fewer than `count`: the last of them failed. */
static bool try_batch(uint64_t from, uint64_t count)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        run_batch(from, count);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status)
        printf("seed %llu failed (status %x): simulate --from %llu --tell\n",
               (unsigned long long)results->seed, (unsigned)status,
               (unsigned long long)results->seed);
    return status == 0;
}

static void report(uint64_t count, uint64_t failed)
{
    printf("simulate: %llu seeds, %llu failed; %llu changes, %llu looks (%llu "
           "said up to date), %llu parsers died, %llu refused, %llu times "
           "no file was read, %llu times it was killed, the model ran %llu "
           "times; slowest %.1f s; "
           "hash %016llx\n",
           (unsigned long long)count, (unsigned long long)failed,
           (unsigned long long)results->changes,
           (unsigned long long)results->checks,
           (unsigned long long)results->said_current,
           (unsigned long long)results->died,
           (unsigned long long)results->refused,
           (unsigned long long)results->unread,
           (unsigned long long)results->killed,
           (unsigned long long)results->encoded, (double)results->slowest / 1e9,
           (unsigned long long)results->hash);
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.from = 1, .count = 1};
    uint64_t failed = 0;
    if (!seeds_read(argc, argv, &seeds))
        return 2;
    const uint64_t from = seeds.from, count = seeds.count;
    simulation_tells = seeds.tell;
    results = mmap(NULL, sizeof *results, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(folder, sizeof folder, "/dev/shm/lectern-simulate.%d", getpid());
    for (uint64_t seed = from; seed < from + count;) {
        uint64_t left = from + count - seed;
        uint64_t batch = left < BATCH ? left : BATCH;
        bool fine = try_batch(seed, batch);
        failed += !fine;
        if (failed && seeds.first)
            break;
        if (fine && results->seed != seed + batch - 1)
            printf("after seed %llu the process ended\n",
                   (unsigned long long)results->seed);
        seed = fine ? seed + batch : results->seed + 1;
    }
    report(count, failed);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return failed > 0;
}
