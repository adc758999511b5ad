/* 1. Places and manuals are read and changed under `lock`, and no call waits
 *    for the disk while it is held: a folder is opened before.
 * 2. After a scan that came to its end, a manual's interests are those the scan
 *    renewed; places without interest are gone.
 * 3. A manual that is forgotten while it is scanned is the scan's to take away. */
#include "indexer/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "indexer/watch_places.h"

enum {
    READ_BYTES = 1 << 16,
    MAX_READS = 64 /* then others have their turn */
};

static const uint32_t changes_a_folder =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
static const uint32_t changes_a_file = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB;
static const uint32_t ends =
    IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;

struct watched {
    struct watched *next;
    uint32_t manual;
    uint64_t round;  /* of scans */
    bool shared;     /* others write to its file system */
    bool limited;    /* not all of its folders could be watched */
    bool was_shared; /* of the scan before: what is new is said */
    bool was_limited;
    bool dirty;     /* while events are taken */
    bool scanned;   /* by somebody, just now */
    bool forgotten; /* goes at the end of that scan */
};

struct watch {
    int mode;
    int fd;       /* -1: no inotify */
    bool refused; /* the system gave no instance */
    pthread_mutex_t lock;
    struct watched *manuals;
    struct places places;
    uint64_t overflows;
    int64_t last_event;
};

const char *watch_mode_name(int mode)
{
    static const char *const names[] = {"auto", "inotify", "poll", "off"};
    return names[mode];
}

struct watch *watch_new(int mode)
{
    struct watch *watch = mem_alloc(sizeof *watch);
    watch->mode = mode;
    watch->fd = -1;
    pthread_mutex_init(&watch->lock, NULL);
    places_init(&watch->places);
    if (mode == WATCH_AUTO || mode == WATCH_INOTIFY) {
        watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        watch->refused = watch->fd < 0;
    }
    if (watch->refused)
        log_warn("no inotify (%s): manuals are rescanned from time to time; "
                 "raise fs.inotify.max_user_instances",
                 strerror(errno));
    return watch;
}

int watch_descriptor(const struct watch *watch)
{
    return watch->fd;
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    places_free(&watch->places);
    while (watch->manuals) {
        struct watched *next = watch->manuals->next;
        free(watch->manuals);
        watch->manuals = next;
    }
    if (watch->fd >= 0)
        close(watch->fd);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

/* ---- Scanning ---- */

struct scanning {
    struct watch *watch;
    struct watched *watched;
};

/* File systems that change without inotify here hearing of it. */
static bool is_shared(int fd)
{
    static const uint32_t kinds[] = {
        0x6969,     /* NFS */
        0x517B,     /* SMB */
        0xFF534D42, /* CIFS */
        0xFE534D42, /* SMB2 */
        0x65735546, /* FUSE */
        0x01021997, /* 9P */
        0x5346414F, /* AFS */
        0x6B414653, /* kAFS */
        0x00C36400, /* Ceph */
        0x73757245, /* Coda */
        0x564C,     /* NCP */
        0x786F4256, /* VirtualBox */
        0x01161970, /* GFS2 */
        0x7461636F, /* OCFS2 */
        0x0BD00BD0, /* Lustre */
    };
    struct statfs st;
    if (fstatfs(fd, &st))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if ((uint32_t)st.f_type == kinds[i])
            return true;
    return false;
}

/* `fd`: the folder, open.  A folder beside the manual may be closed to us. */
static void add(struct scanning *scanning, int fd, const char *name)
{
    struct watch *watch = scanning->watch;
    struct watched *watched = scanning->watched;
    char path[40];
    if (watch->fd < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    pthread_mutex_lock(&watch->lock);
    int number = inotify_add_watch(watch->fd, path,
                                   changes_a_folder | changes_a_file |
                                       IN_DELETE_SELF | IN_MOVE_SELF);
    if (number >= 0)
        place_renew(places_add(&watch->places, number), watched, watched->round,
                    name);
    else if (!name || errno != EACCES)
        watched->limited = true;
    pthread_mutex_unlock(&watch->lock);
}

/* The folder above, which sees when what is there is replaced. */
static void add_above(struct scanning *scanning, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || !slash[1])
        return;
    char *above = mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int fd = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        add(scanning, fd, slash + 1);
        close(fd);
    }
    free(above);
}

static void on_folder(void *context, int fd)
{
    struct scanning *scanning = context;
    bool shared = is_shared(fd);
    add(scanning, fd, NULL);
    pthread_mutex_lock(&scanning->watch->lock);
    scanning->watched->shared = scanning->watched->shared || shared;
    pthread_mutex_unlock(&scanning->watch->lock);
}

/* Where a link that leads nowhere would lead. */
static char *named_target(const char *path)
{
    char text[PATH_MAX];
    ssize_t size = readlink(path, text, sizeof text - 1);
    if (size <= 0)
        return NULL;
    struct buf target = {0};
    size_t folder = (size_t)(strrchr(path, '/') - path) + 1;
    text[size] = '\0';
    if (text[0] != '/')
        buf_put(&target, path, folder);
    buf_put_text(&target, text);
    return target.data;
}

static void on_link(void *context, const char *path)
{
    char real[PATH_MAX];
    char *target = realpath(path, real) ? mem_strdup(real) : named_target(path);
    if (target)
        add_above(context, target);
    free(target);
}

static struct watched *find_manual(const struct watch *watch, uint32_t manual)
{
    struct watched *watched = watch->manuals;
    while (watched && watched->manual != manual)
        watched = watched->next;
    return watched;
}

static struct watched *begin(struct watch *watch, uint32_t manual)
{
    pthread_mutex_lock(&watch->lock);
    struct watched *watched = find_manual(watch, manual);
    if (!watched) {
        watched = mem_alloc(sizeof *watched);
        watched->manual = manual;
        watched->next = watch->manuals;
        watch->manuals = watched;
    }
    watched->scanned = true;
    watched->round++;
    watched->was_limited = watched->limited;
    watched->was_shared = watched->shared;
    watched->limited = watched->shared = false;
    pthread_mutex_unlock(&watch->lock);
    return watched;
}

static void unwatch(void *context, int number)
{
    const struct watch *watch = context;
    inotify_rm_watch(watch->fd, number);
}

static void drop(struct watch *watch, struct watched *watched)
{
    struct watched **at = &watch->manuals;
    places_drop(&watch->places, watched, UINT64_MAX, unwatch, watch);
    while (*at != watched)
        at = &(*at)->next;
    *at = watched->next;
    free(watched);
}

static void say(const struct watched *watched, const char *root)
{
    if (watched->limited && !watched->was_limited)
        log_warn("%s: not all of its folders can be watched; it is rescanned "
                 "from time to time; raise fs.inotify.max_user_watches",
                 root);
    if (watched->shared && !watched->was_shared)
        log_info("%s: on a file system that others write to; it is rescanned "
                 "from time to time",
                 root);
}

int watch_scan(struct watch *watch, uint32_t manual,
               const struct source_root *root, const char *ignore,
               struct scan *ret_scan, struct err *err)
{
    if (!watch || watch->mode == WATCH_OFF)
        return scan_folder(root, ignore, ret_scan, err);
    struct watched *watched = begin(watch, manual);
    struct scanning scanning = {watch, watched};
    const struct scan_visitor visitor = {&scanning, on_folder, on_link};
    add_above(&scanning, root->path);
    int code = scan_visited(root, ignore, &visitor, ret_scan, err);
    pthread_mutex_lock(&watch->lock);
    watched->scanned = false;
    if (!code)
        places_drop(&watch->places, watched, watched->round, unwatch, watch);
    say(watched, root->path);
    if (watched->forgotten)
        drop(watch, watched);
    pthread_mutex_unlock(&watch->lock);
    return code;
}

void watch_forget(struct watch *watch, uint32_t manual)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    struct watched *watched = find_manual(watch, manual);
    if (watched && watched->scanned)
        watched->forgotten = true;
    else if (watched)
        drop(watch, watched);
    pthread_mutex_unlock(&watch->lock);
}

/* ---- Events ---- */

static bool concerns(const struct interest *interest,
                     const struct inotify_event *event)
{
    if (event->mask & ends)
        return true;
    const char *name = event->len ? event->name : "";
    if (interest->name)
        return !strcmp(interest->name, name);
    if (name[0] == '.')
        return false;
    /* A link to a folder comes and goes under any name. */
    return (event->mask & (changes_a_folder | IN_ISDIR)) || scan_reads(name);
}

static void take(struct watch *watch, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW) {
        watch->overflows++;
        log_warn("events of watched folders were lost: all manuals are "
                 "rescanned");
        for (struct watched *w = watch->manuals; w; w = w->next)
            w->dirty = true;
        return;
    }
    struct place *place = places_find(&watch->places, event->wd);
    if (!place)
        return;
    for (struct interest *i = place->interests; i; i = i->next)
        if (concerns(i, event))
            i->watched->dirty = true;
    if (event->mask & IN_IGNORED)
        places_remove(&watch->places, place);
}

static void take_all(struct watch *watch, const void *events, size_t size)
{
    const char *at = events, *end = at + size;
    while ((size_t)(end - at) >= sizeof(struct inotify_event)) {
        const struct inotify_event *event = (const void *)at;
        take(watch, event);
        at += sizeof *event + event->len;
    }
}

static void tell_dirty(struct watch *watch, watch_changed *changed,
                       void *context)
{
    for (struct watched *w = watch->manuals; w; w = w->next) {
        if (!w->dirty)
            continue;
        w->dirty = false;
        watch->last_event = clock_ms();
        changed(context, w->manual);
    }
}

void watch_take(struct watch *watch, const void *events, size_t size,
                watch_changed *changed, void *context)
{
    pthread_mutex_lock(&watch->lock);
    take_all(watch, events, size);
    tell_dirty(watch, changed, context);
    pthread_mutex_unlock(&watch->lock);
}

void watch_read(struct watch *watch, watch_changed *changed, void *context)
{
    _Alignas(struct inotify_event) char bytes[READ_BYTES];
    for (int i = 0; watch->fd >= 0 && i < MAX_READS; i++) {
        ssize_t size = read(watch->fd, bytes, sizeof bytes);
        if (size <= 0)
            break;
        pthread_mutex_lock(&watch->lock);
        take_all(watch, bytes, (size_t)size);
        pthread_mutex_unlock(&watch->lock);
    }
    watch_take(watch, NULL, 0, changed, context);
}

/* ---- What it sees ---- */

static bool sees(const struct watch *watch, const struct watched *watched)
{
    return watch->fd >= 0 && watched && !watched->limited &&
           (!watched->shared || watch->mode == WATCH_INOTIFY);
}

bool watch_sees(struct watch *watch, uint32_t manual)
{
    pthread_mutex_lock(&watch->lock);
    bool result = sees(watch, find_manual(watch, manual));
    pthread_mutex_unlock(&watch->lock);
    return result;
}

void watch_unseen(struct watch *watch, watch_changed *changed, void *context)
{
    pthread_mutex_lock(&watch->lock);
    for (const struct watched *w = watch->manuals; w; w = w->next)
        if (!sees(watch, w))
            changed(context, w->manual);
    pthread_mutex_unlock(&watch->lock);
}

void watch_state(struct watch *watch, struct watch_state *ret)
{
    pthread_mutex_lock(&watch->lock);
    *ret = (struct watch_state){.mode = watch->fd >= 0 ? WATCH_INOTIFY
                                        : watch->mode == WATCH_OFF ? WATCH_OFF
                                                                   : WATCH_POLL,
                                .folders = watch->places.count,
                                .limited = watch->refused,
                                .overflows = watch->overflows,
                                .last_event = watch->last_event};
    for (const struct watched *w = watch->manuals; w; w = w->next)
        ret->limited = ret->limited || w->limited;
    pthread_mutex_unlock(&watch->lock);
}
