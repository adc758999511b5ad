/* inotify, and the calls that read files: these are real, but others may have a turn
 * before and after. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

enum { INOTIFY_FD = 1 << 21, MAX_PLACES = 256, MAX_NAME = 48 };

struct watched_folder {
    ino_t folder;
    uint32_t mask; /* 0: it is watched no more */
};

struct event {
    int number; /* of the watch */
    uint32_t mask, cookie;
    char name[MAX_NAME];
};

static struct watched_folder
    places[MAX_PLACES]; /* [place_count] by number - 1 */
static unsigned place_count;
static struct event *events; /* [event_count] that nobody has read yet */
static size_t event_count, event_capacity;
static bool overflown, lost;
static unsigned unread;

void events_begin(void)
{
    place_count = 0;
    event_count = 0;
    overflown = lost = false;
}

static void wake_loop(void)
{
    fibre_wake(&events, true);
}

bool events_wait(void)
{
    return event_count > 0;
}

bool events_all_told(void)
{
    return !event_count && !lost && !world.no_inotify && !world.max_watches;
}

static void queue(const struct event *event)
{
    MEM_RESERVE(events, &event_capacity, event_count + 1);
    size_t at = event_count++;
    events[at] = *event;
    while (at && chance_in(world.reordered)) {
        struct event before = events[at - 1];
        events[at - 1] = events[at];
        events[at] = before;
        at--;
    }
    wake_loop();
}

static void happens(int number, uint32_t mask, const char *name)
{
    struct event event = {.number = number, .mask = mask};
    snprintf(event.name, sizeof event.name, "%s", name ? name : "");
    if (chance_in(world.lost)) {
        lost = true;
        simulation_says("lost: %x %s", mask, event.name);
        return;
    }
    if (world.queue && event_count >= world.queue) {
        if (!overflown)
            queue(&(struct event){.number = -1, .mask = IN_Q_OVERFLOW});
        overflown = true;
        return;
    }
    queue(&event);
    if (chance_in(world.doubled))
        queue(&event);
}

static int number_of(ino_t folder)
{
    for (unsigned i = 0; i < place_count; i++)
        if (places[i].folder == folder && places[i].mask)
            return (int)i + 1;
    return 0;
}

void event_in(ino_t folder, uint32_t mask, const char *name)
{
    int number = number_of(folder);
    bool told = number && (places[number - 1].mask & mask & IN_ALL_EVENTS);
    simulation_says("%08x %s%s", mask, name ? name : "(itself)",
                    told ? "" : ", which nobody watches");
    if (told)
        happens(number, mask, name);
}

void event_gone(ino_t folder)
{
    int number = number_of(folder);
    if (!number)
        return;
    happens(number, IN_DELETE_SELF, NULL);
    happens(number, IN_IGNORED, NULL);
    places[number - 1].mask = 0;
}

/* ---- inotify ---- */

int __wrap_inotify_init1(int flags);
int __wrap_inotify_init1(int flags)
{
    (void)flags;
    if (!world.no_inotify)
        return INOTIFY_FD;
    errno = EMFILE;
    return -1;
}

int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    struct stat st;
    (void)fd;
    if (stat(path, &st))
        return -1;
    int number = number_of(st.st_ino);
    if (!number && (place_count == MAX_PLACES ||
                    (world.max_watches && place_count >= world.max_watches))) {
        errno = ENOSPC;
        return -1;
    }
    if (!number)
        number = (int)++place_count;
    places[number - 1] = (struct watched_folder){st.st_ino, mask};
    return number;
}

int __wrap_inotify_rm_watch(int fd, int number);
int __wrap_inotify_rm_watch(int fd, int number)
{
    (void)fd;
    if (number < 1 || (unsigned)number > place_count ||
        !places[number - 1].mask) {
        errno = EINVAL;
        return -1;
    }
    happens(number, IN_IGNORED, NULL);
    places[number - 1].mask = 0;
    return 0;
}

static ssize_t read_events(char *bytes, size_t size)
{
    size_t used = 0, taken = 0;
    while (taken < event_count) {
        const struct event *event = &events[taken];
        size_t name = event->name[0] ? (strlen(event->name) / 16 + 1) * 16 : 0;
        struct inotify_event head = {.wd = event->number,
                                     .mask = event->mask,
                                     .cookie = event->cookie,
                                     .len = (uint32_t)name};
        if (used + sizeof head + name > size)
            break;
        memcpy(bytes + used, &head, sizeof head);
        memset(bytes + used + sizeof head, 0, name);
        memcpy(bytes + used + sizeof head, event->name,
               name ? strlen(event->name) : 0);
        used += sizeof head + name;
        taken++;
        if (event->mask & IN_Q_OVERFLOW)
            overflown = false;
    }
    if (taken)
        memmove(events, events + taken, (event_count - taken) * sizeof *events);
    event_count -= taken;
    if (used)
        return (ssize_t)used;
    errno = EAGAIN;
    return -1;
}

/* ---- Files ---- */

unsigned files_unread(void)
{
    unsigned count = unread;
    unread = 0;
    return count;
}

ssize_t process_read(void *bytes, size_t size); /* processes.c */
bool process_is_own(void);

ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    if (fd == INOTIFY_FD)
        return read_events(bytes, size);
    if (process_is_own())
        return process_read(bytes, size);
    outside_call();
    return __real_read(fd, bytes, size);
}

ssize_t __wrap___read_chk(int fd, void *bytes, size_t size, size_t room);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t size, size_t room)
{
    return __wrap_read(fd, bytes, size < room ? size : room);
}

int __real_stat(const char *path, struct stat *ret);
int __wrap_stat(const char *path, struct stat *ret);
int __wrap_stat(const char *path, struct stat *ret)
{
    outside_call();
    int failed = __real_stat(path, ret);
    if (!failed) /* when an inode changed is not scripted, and tells nothing */
        ret->st_ctim = (struct timespec){0};
    return failed;
}

/* Whether it is a manual's, and the daemon cannot have it. */
static bool is_unreadable(const char *path)
{
    static const int numbers[] = {EIO, EMFILE, ENOMEM};
    if (fibre_is_script() || !strstr(path, "/manuals/m") ||
        !chance_in(world.unreadable))
        return false;
    unread++;
    errno = numbers[chance_below(sizeof numbers / sizeof numbers[0])];
    simulation_says("%s: %s", path, strerror(errno));
    return true;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    outside_call();
    return is_unreadable(path) ? -1 : __real_open(path, flags, mode);
}

int __wrap_fstatfs(int fd, struct statfs *ret);
int __wrap_fstatfs(int fd, struct statfs *ret)
{
    (void)fd;
    *ret = (struct statfs){.f_type = world.shared ? 0x6969 : 0xef53};
    return 0;
}

int __real_close(int fd);
int __wrap_close(int fd);
bool process_close(int fd); /* processes.c */
int __wrap_close(int fd)
{
    if (fd == INOTIFY_FD)
        return 0;
    return process_close(fd) ? 0 : __real_close(fd);
}
