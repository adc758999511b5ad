/* Threads as fibres of one thread, and a clock that runs only when told to: what runs
 * next, and how late it is, follows from a seed. */
#ifndef TESTS_SIMULATION_FIBRES_H
#define TESTS_SIMULATION_FIBRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const int64_t MS = 1000000;
static const int64_t SECOND = 1000000000;

/* ---- Chance ---- */

/* Of the scheduler and of the outside world; the same for the same seed. */
uint64_t chance(void);
uint64_t chance_below(uint64_t limit); /* 0 for 0 */
bool chance_in(uint64_t times);        /* one time in so many; 0: never */
/* Between both, each order of magnitude as likely as the next. */
int64_t chance_between(int64_t low, int64_t high);

/* ---- Time ---- */

int64_t time_now(void);       /* ns, since the clock's start */
void time_passes(int64_t ns); /* for all, at once */
enum { EPOCH = 1700000000 };  /* s since 1970, when it starts */

/* ---- Fibres ---- */

enum { MAX_FIBRES = 64 };

/* Forgets all and begins anew; the caller is fibre 0, the script. */
void fibres_begin(uint64_t seed);
/* The number of the new one, which is kept after its end until fibre_forget. */
unsigned fibre_start(void *(*run)(void *), void *context);
_Noreturn void fibre_end(void); /* of the current one */
bool fibre_has_ended(unsigned number);
void fibre_forget(unsigned number);
/* Nobody will ask after its end. */
void fibre_detach(unsigned number);
bool fibre_is_script(void);
/* Other fibres than the script that have not ended. */
unsigned fibres_left(void);

/* Lets others have a turn, or not. */
void fibre_pause(void);
enum { NEVER = 0 };
/* Waits for fibre_wake of the same place, or until the time (NEVER: that does not
 * come); false: it came to that. */
bool fibre_wait(const void *place, int64_t until);
void fibre_wake(const void *place, bool all);
void fibre_sleep(int64_t ns);

/* What the current fibre does is not interrupted while it holds something. */
void fibre_holds(int change);
int fibre_held(void);

/* Something that belongs to the current fibre alone. */
void fibre_set_own(void *own);
void *fibre_own(void);

/* What happened, in a number: the same for a seed replayed. */
uint64_t fibres_hash(void);
void fibres_note(const void *bytes, size_t size);
/* Tells, where that is wanted, what happens when. */
extern bool simulation_tells;
void simulation_says(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Says why, and ends the process. */
_Noreturn void simulation_fails(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
