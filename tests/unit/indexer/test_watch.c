/* Watching: every kind of change is told, and nothing else is. */
#include "indexer/watch.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/unit.h"

enum { MANUALS = 4 };

struct bed {
    char folder[256];
    struct watch *watch;
    unsigned told[MANUALS];
    size_t files; /* of the last scan */
    bool follows; /* links out of the folder */
};

static char *at(const struct bed *bed, const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", bed->folder, name);
    return path;
}

static const struct source_root *root_at(const struct bed *bed,
                                         const char *name)
{
    static struct source_root root;
    root =
        (struct source_root){.path = at(bed, name), .all_links = bed->follows};
    return &root;
}

static void write_file(const struct bed *bed, const char *name,
                       const char *text)
{
    FILE *file = fopen(at(bed, name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const struct bed *bed, const char *name)
{
    assert_int_equal(mkdir(at(bed, name), 0700), 0);
}

static void move(const struct bed *bed, const char *from, const char *to)
{
    assert_int_equal(rename(at(bed, from), at(bed, to)), 0);
}

static void scan(struct bed *bed, uint32_t manual, const char *root)
{
    struct scan found;
    assert_int_equal(watch_scan(bed->watch, manual, root_at(bed, root),
                                "skipped\n", &found, NULL),
                     0);
    bed->files = found.count;
    scan_free(&found);
}

static void on_change(void *context, uint32_t manual)
{
    struct bed *bed = context;
    assert_true(manual < MANUALS);
    bed->told[manual]++;
}

/* Whether the manual was told of since the last call. */
static bool changed(struct bed *bed, uint32_t manual)
{
    memset(bed->told, 0, sizeof bed->told);
    watch_read(bed->watch, on_change, bed);
    assert_true(bed->told[manual] <= 1);
    return bed->told[manual];
}

/* The change is seen, and after the scan for it all is quiet. */
static void expect(struct bed *bed, size_t files)
{
    assert_true(changed(bed, 1));
    scan(bed, 1, "m");
    assert_int_equal(bed->files, files);
    assert_false(changed(bed, 1));
}

static int open_bed(void **state)
{
    struct bed *bed = calloc(1, sizeof *bed);
    snprintf(bed->folder, sizeof bed->folder, "%s", unit_folder());
    make_folder(bed, "m");
    make_folder(bed, "m/sub");
    make_folder(bed, "m/skipped");
    make_folder(bed, "out");
    write_file(bed, "m/a.html", "a");
    write_file(bed, "m/sub/b.html", "b");
    write_file(bed, "out/c.html", "c");
    bed->watch = watch_new(WATCH_INOTIFY);
    scan(bed, 1, "m");
    assert_false(changed(bed, 1));
    *state = bed;
    return 0;
}

static int close_bed(void **state)
{
    struct bed *bed = *state;
    watch_free(bed->watch);
    unit_folder_remove(bed->folder);
    free(bed);
    return 0;
}

static void files_that_change(void **state)
{
    struct bed *bed = *state;
    write_file(bed, "m/new.html", "new");
    expect(bed, 3);
    write_file(bed, "m/a.html", "in place");
    expect(bed, 3);
    write_file(bed, "m/.a.html.tmp", "renamed over");
    assert_false(changed(bed, 1));
    move(bed, "m/.a.html.tmp", "m/a.html");
    expect(bed, 3);
    assert_int_equal(unlink(at(bed, "m/sub/b.html")), 0);
    expect(bed, 2);
    assert_int_equal(chmod(at(bed, "m/a.html"), 0400), 0);
    expect(bed, 2);
}

static struct watch *forgets; /* at the next folder that is looked at */

/* In the place of the C library's: asked for each folder, between it and the next. */
int fstatfs(int fd, struct statfs *ret)
{
    struct watch *watch = forgets;
    forgets = NULL;
    if (watch)
        watch_forget(watch, 1);
    return (int)syscall(SYS_fstatfs, fd, ret);
}

/* `rm` may come while its files are looked at once more. */
static void a_manual_that_is_forgotten_as_it_is_scanned(void **state)
{
    struct bed *bed = *state;
    struct watch_state seen;
    forgets = bed->watch;
    scan(bed, 1, "m");
    assert_null(forgets);
    watch_state(bed->watch, &seen);
    assert_int_equal(seen.folders, 0);
    write_file(bed, "m/a.html", "changed");
    assert_false(changed(bed, 1));
    scan(bed, 1, "m");
    assert_true(watch_sees(bed->watch, 1));
}

static void appended_without_a_close(void **state)
{
    struct bed *bed = *state;
    int fd = open(at(bed, "m/a.html"), O_WRONLY | O_APPEND);
    assert_false(changed(bed, 1));
    assert_int_equal(write(fd, "more", 4), 4);
    expect(bed, 2);
    close(fd);
}

static void files_that_move(void **state)
{
    struct bed *bed = *state;
    move(bed, "out/c.html", "m/c.html");
    expect(bed, 3);
    move(bed, "m/c.html", "m/sub/c.html");
    expect(bed, 3);
    move(bed, "m/sub/c.html", "out/c.html");
    expect(bed, 2);
}

static void folders_that_come_and_go(void **state)
{
    struct bed *bed = *state;
    struct watch_state before, after;
    watch_state(bed->watch, &before);
    make_folder(bed, "m/x");
    make_folder(bed, "m/x/y");
    make_folder(bed, "m/x/y/z");
    write_file(bed, "m/x/y/z/deep.html", "deep");
    expect(bed, 3);
    write_file(bed, "m/x/y/z/deep.html", "deeper");
    expect(bed, 3);
    move(bed, "m/x/y", "m/moved");
    expect(bed, 3);
    write_file(bed, "m/moved/z/deep.html", "still seen");
    expect(bed, 3);
    move(bed, "m/moved", "out/moved");
    expect(bed, 2);
    write_file(bed, "out/moved/z/deep.html", "no longer ours");
    assert_false(changed(bed, 1));
    move(bed, "out/moved", "m/back");
    expect(bed, 3);
    write_file(bed, "m/back/z/other.html", "ours again");
    expect(bed, 4);
    assert_int_equal(unlink(at(bed, "m/back/z/other.html")), 0);
    assert_int_equal(unlink(at(bed, "m/back/z/deep.html")), 0);
    assert_int_equal(rmdir(at(bed, "m/back/z")), 0);
    assert_int_equal(rmdir(at(bed, "m/back")), 0);
    assert_int_equal(rmdir(at(bed, "m/x")), 0);
    expect(bed, 2);
    watch_state(bed->watch, &after);
    assert_int_equal(after.folders, before.folders);
}

static void what_does_not_matter(void **state)
{
    struct bed *bed = *state;
    write_file(bed, "m/notes.txt", "a file of another kind is looked at once");
    expect(bed, 2);
    write_file(bed, "m/notes.txt", "and then left alone");
    write_file(bed, "m/.hidden.html", "hidden");
    write_file(bed, "m/skipped/d.html", "ignored");
    write_file(bed, "out/d.html", "outside");
    assert_int_equal(access(at(bed, "m/a.html"), R_OK), 0);
    assert_false(changed(bed, 1));
}

static void links_to_folders(void **state)
{
    struct bed *bed = *state;
    make_folder(bed, "m/skipped/v1");
    write_file(bed, "m/skipped/v1/e.html", "e");
    assert_int_equal(symlink(at(bed, "m/skipped/v1"), at(bed, "m/current")), 0);
    expect(bed, 3);
    write_file(bed, "m/skipped/v1/e.html", "changed behind the link");
    expect(bed, 3);
    move(bed, "m/skipped/v1", "m/skipped/v0");
    expect(bed, 2);
    move(bed, "m/skipped/v0", "m/skipped/v1");
    expect(bed, 3);
}

static void links_out_of_the_manual(void **state)
{
    struct bed *bed = *state;
    assert_int_equal(symlink(at(bed, "out"), at(bed, "m/outside")), 0);
    expect(bed, 3); /* the link itself, as failed */
    write_file(bed, "out/c.html", "changed behind the link");
    scan(bed, 1, "m");
    assert_int_equal(bed->files, 3);
}

static void link_to_a_file(void **state)
{
    struct bed *bed = *state;
    bed->follows = true;
    assert_int_equal(symlink(at(bed, "out/c.html"), at(bed, "m/c.html")), 0);
    expect(bed, 3);
    write_file(bed, "out/other.html", "beside it");
    assert_false(changed(bed, 1));
    write_file(bed, "out/c.html", "behind the link");
    expect(bed, 3);
    write_file(bed, "out/c.new", "renamed over");
    move(bed, "out/c.new", "out/c.html");
    expect(bed, 3);
}

/* Where a link leads that is not followed is nobody's business. */
static void what_is_not_followed_is_not_watched(void **state)
{
    struct bed *bed = *state;
    struct watch_state before, now;
    make_folder(bed, "away");
    write_file(bed, "away/a.html", "x");
    scan(bed, 1, "m");
    watch_state(bed->watch, &before);
    assert_int_equal(symlink("../away/a.html", at(bed, "m/out.html")), 0);
    scan(bed, 1, "m");
    watch_state(bed->watch, &now);
    assert_int_equal(now.folders, before.folders);
}

static void the_root_goes_and_comes_back(void **state)
{
    struct bed *bed = *state;
    struct scan found;
    move(bed, "m", "away");
    assert_true(changed(bed, 1));
    assert_int_not_equal(
        watch_scan(bed->watch, 1, root_at(bed, "m"), "", &found, NULL), 0);
    move(bed, "away", "m");
    assert_true(changed(bed, 1));
    scan(bed, 1, "m");
    write_file(bed, "m/a.html", "again");
    expect(bed, 2);
}

static void manuals_that_share_folders(void **state)
{
    struct bed *bed = *state;
    scan(bed, 2, "m/sub");
    write_file(bed, "m/sub/b.html", "both");
    changed(bed, 1);
    assert_int_equal(bed->told[1], 1);
    assert_int_equal(bed->told[2], 1);
    write_file(bed, "m/a.html", "one");
    changed(bed, 1);
    assert_int_equal(bed->told[1], 1);
    assert_int_equal(bed->told[2], 0);
    watch_forget(bed->watch, 1);
    write_file(bed, "m/a.html", "none");
    write_file(bed, "m/sub/b.html", "the other");
    changed(bed, 2);
    assert_int_equal(bed->told[1], 0);
    assert_int_equal(bed->told[2], 1);
    watch_forget(bed->watch, 2);
    struct watch_state now;
    watch_state(bed->watch, &now);
    assert_int_equal(now.folders, 0);
}

/* The kernel keeps 16,384 events by default. */
static void lost_events_rescan_everything(void **state)
{
    struct bed *bed = *state;
    struct watch_state now;
    int max = 16384;
    FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    assert_true(limit && fscanf(limit, "%d", &max) == 1);
    fclose(limit);
    if (max > 1 << 18)
        skip();
    scan(bed, 2, "out");
    for (int i = 0; i < max / 2; i++) {
        char name[40];
        snprintf(name, sizeof name, "m/f%d.html", i);
        close(open(at(bed, name), O_CREAT | O_WRONLY, 0600));
        unlink(at(bed, name));
    }
    do
        changed(bed, 1);
    while (bed->told[1] && !bed->told[2]);
    assert_int_equal(bed->told[2], 1);
    watch_state(bed->watch, &now);
    assert_int_equal(now.overflows, 1);
    changed(bed, 1);
    write_file(bed, "m/a.html", "still watched");
    expect(bed, 2);
}

static void lost_events_by_hand(void **state)
{
    struct bed *bed = *state;
    struct inotify_event event = {.wd = -1, .mask = IN_Q_OVERFLOW};
    memset(bed->told, 0, sizeof bed->told);
    watch_take(bed->watch, &event, sizeof event, on_change, bed);
    assert_int_equal(bed->told[1], 1);
    event = (struct inotify_event){.wd = 12345, .mask = IN_MODIFY};
    memset(bed->told, 0, sizeof bed->told);
    watch_take(bed->watch, &event, sizeof event, on_change, bed);
    assert_int_equal(bed->told[1], 0);
}

static bool allow(const char *what, const char *number)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/sys/user/max_inotify_%s", what);
    int fd = open(path, O_WRONLY);
    bool done = fd >= 0 && write(fd, number, strlen(number)) > 0;
    close(fd);
    return done;
}

enum { FINE = 0, UNAVAILABLE = 77 };

/* Runs where limits can be set: in a user namespace of its own. */
static void under_limits(struct bed *bed, int (*run)(struct bed *bed))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(unshare(CLONE_NEWUSER) ? UNAVAILABLE : run(bed));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == UNAVAILABLE)
        skip();
    assert_int_equal(WEXITSTATUS(status), FINE);
}

static int with_few_watches(struct bed *bed)
{
    struct watch_state now;
    struct scan found;
    if (!allow("watches", "2"))
        return UNAVAILABLE;
    struct watch *watch = watch_new(WATCH_AUTO);
    if (watch_scan(watch, 1, root_at(bed, "m"), "", &found, NULL) ||
        found.count != 2)
        return 1;
    watch_state(watch, &now);
    if (now.mode != WATCH_INOTIFY || !now.limited || watch_sees(watch, 1))
        return 2;
    if (!allow("watches", "100"))
        return UNAVAILABLE;
    watch_scan(watch, 1, root_at(bed, "m"), "", &found, NULL);
    watch_state(watch, &now);
    return now.limited || !watch_sees(watch, 1) ? 3 : FINE;
}

static int without_inotify(struct bed *bed)
{
    struct watch_state now;
    struct scan found;
    if (!allow("instances", "0"))
        return UNAVAILABLE;
    struct watch *watch = watch_new(WATCH_AUTO);
    if (watch_scan(watch, 1, root_at(bed, "m"), "", &found, NULL) ||
        found.count != 2)
        return 1;
    watch_state(watch, &now);
    return now.mode != WATCH_POLL || !now.limited || watch_sees(watch, 1) ||
                   watch_descriptor(watch) >= 0
               ? 2
               : FINE;
}

static void too_few_watches_are_said(void **state)
{
    under_limits(*state, with_few_watches);
}

static void no_instance_is_said(void **state)
{
    under_limits(*state, without_inotify);
}

static void modes(void **state)
{
    struct bed *bed = *state;
    static const int asked[] = {WATCH_POLL, WATCH_OFF};
    for (int i = 0; i < 2; i++) {
        struct watch *watch = watch_new(asked[i]);
        struct watch_state now;
        struct scan found;
        assert_int_equal(
            watch_scan(watch, 1, root_at(bed, "m"), "", &found, NULL), 0);
        scan_free(&found);
        watch_state(watch, &now);
        assert_int_equal(now.mode, asked[i]);
        assert_int_equal(now.folders, 0);
        assert_false(now.limited);
        assert_false(watch_sees(watch, 1));
        memset(bed->told, 0, sizeof bed->told);
        watch_unseen(watch, on_change, bed);
        assert_int_equal(bed->told[1], asked[i] == WATCH_POLL);
        watch_free(watch);
    }
    assert_true(watch_sees(bed->watch, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bed, close_bed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_that_change),
        TEST(a_manual_that_is_forgotten_as_it_is_scanned),
        TEST(appended_without_a_close),
        TEST(files_that_move),
        TEST(folders_that_come_and_go),
        TEST(what_does_not_matter),
        TEST(links_to_folders),
        TEST(links_out_of_the_manual),
        TEST(link_to_a_file),
        TEST(what_is_not_followed_is_not_watched),
        TEST(the_root_goes_and_comes_back),
        TEST(manuals_that_share_folders),
        TEST(lost_events_rescan_everything),
        TEST(lost_events_by_hand),
        TEST(too_few_watches_are_said),
        TEST(no_instance_is_said),
        TEST(modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
