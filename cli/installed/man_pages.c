#include "cli/installed/man_pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/archive/unpacked.h"
#include "cli/output/progress.h"

#define PLACES "/usr/local/share/man:/usr/share/man"

enum { MAX_RUNNING = 64, MAX_SECTION = 8 };

struct page {
    char *source; /* as it is installed */
    char *name;   /* of the copy: "tar.1.html" */
    size_t found; /* as which of all */
};

/* One mandoc at work on a page; its output has the copy's name and ".new". */
struct running {
    pid_t process;
    const struct page *page;
};

struct work {
    const char *section, *folder;
    struct page *pages; /* [count], by name; of two of a name the first found */
    size_t count, capacity;
    struct running running[MAX_RUNNING]; /* a ring, oldest at `first` */
    size_t first, at_work, max_at_work;
};

/* ---- Which pages there are ---- */

/* A page that only includes another is that one's other name. */
static bool is_alias(const char *path)
{
    char start[4] = "";
    struct stat st;
    if (lstat(path, &st) || !S_ISREG(st.st_mode))
        return true;
    gzFile file = gzopen(path, "rb");
    int got = file ? gzread(file, start, sizeof start) : 0;
    if (file)
        gzclose(file);
    return got < (int)sizeof start || !memcmp(start, ".so ", sizeof start);
}

static void add_page(struct work *work, const char *place, const char *name)
{
    struct buf path = {0}, copy = {0};
    size_t size = strlen(name);
    if (size > 3 && !strcmp(name + size - 3, ".gz"))
        size -= 3;
    buf_printf(&path, "%s/man%s/%s", place, work->section, name);
    buf_printf(&copy, "%.*s.html", (int)size, name);
    if (name[0] == '.' || is_alias(path.data)) {
        buf_free(&path);
        buf_free(&copy);
        return;
    }
    MEM_RESERVE(work->pages, &work->capacity, work->count + 1);
    work->pages[work->count] = (struct page){path.data, copy.data, work->count};
    work->count++;
}

static void list_place(struct work *work, const char *place)
{
    struct buf path = {0};
    buf_printf(&path, "%s/man%s", place, work->section);
    DIR *folder = opendir(path.data);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        add_page(work, place, entry->d_name);
    if (folder)
        closedir(folder);
    buf_free(&path);
}

static int compare_names(const void *a, const void *b)
{
    const struct page *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int compare_pages(const void *a, const void *b)
{
    const struct page *x = a, *y = b;
    int order = compare_names(x, y);
    return order ? order : x->found < y->found ? -1 : x->found > y->found;
}

static void drop_doubles(struct work *work)
{
    size_t kept = 0;
    for (size_t i = 0; i < work->count; i++) {
        struct page *page = &work->pages[i];
        if (kept && !strcmp(work->pages[kept - 1].name, page->name)) {
            free(page->source);
            free(page->name);
        } else {
            work->pages[kept++] = *page;
        }
    }
    work->count = kept;
}

static void list_pages(struct work *work)
{
    const char *path = getenv("MANPATH");
    char *places = mem_strdup(path && path[0] ? path : PLACES), *rest = NULL;
    for (char *place = strtok_r(places, ":", &rest); place;
         place = strtok_r(NULL, ":", &rest))
        list_place(work, place);
    free(places);
    if (work->count)
        qsort(work->pages, work->count, sizeof *work->pages, compare_pages);
    drop_doubles(work);
}

/* ---- Their copies ---- */

static void put_copy(struct buf *out, const struct work *work,
                     const struct page *page, const char *ending)
{
    buf_printf(out, "%s/%s%s", work->folder, page->name, ending);
}

/* The copy has its page's time: a page of another version may be older than it. */
static bool is_current(const struct work *work, const struct page *page)
{
    struct stat source, copy;
    struct buf path = {0};
    put_copy(&path, work, page, "");
    bool current = !stat(page->source, &source) && !stat(path.data, &copy) &&
                   source.st_mtim.tv_sec == copy.st_mtim.tv_sec;
    buf_free(&path);
    return current;
}

static int start_mandoc(const struct work *work, const struct page *page,
                        pid_t *ret_process, struct err *err)
{
    struct buf made = {0};
    char program[] = "mandoc", type[] = "-Thtml", links[] = "-Oman=%N.%S.html";
    char *argv[] = {program, type, links, page->source, NULL};
    posix_spawn_file_actions_t actions;
    put_copy(&made, work, page, ".new");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, made.data,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    int failed =
        posix_spawnp(ret_process, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        unlink(made.data);
    buf_free(&made);
    errno = failed;
    if (!failed)
        return 0;
    if (failed == ENOENT)
        return err_set(err, ERR_USAGE,
                       "there is no mandoc, which makes HTML of manual pages: "
                       "apt install mandoc");
    return err_errno(err, ERR_IO, "cannot run mandoc");
}

/* Waits for it.  What it was ended in, or could not write, is but a part; below that its
 * status only says how the page is written. */
static bool has_made(pid_t process)
{
    enum { NOT_RUN = 5 };
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) < NOT_RUN;
}

/* Waits for the oldest; what it could not make anything of has no copy. */
static void end_oldest(struct work *work)
{
    struct running running = work->running[work->first];
    struct buf made = {0}, path = {0};
    struct stat source, copy;
    work->first = (work->first + 1) % MAX_RUNNING;
    work->at_work--;
    bool whole = has_made(running.process);
    put_copy(&made, work, running.page, ".new");
    put_copy(&path, work, running.page, "");
    if (whole && !stat(running.page->source, &source) &&
        !stat(made.data, &copy) && copy.st_size > 0) {
        const struct timespec times[] = {source.st_mtim, source.st_mtim};
        utimensat(AT_FDCWD, made.data, times, 0);
        rename(made.data, path.data);
    } else {
        unlink(made.data);
    }
    buf_free(&made);
    buf_free(&path);
}

static int start_page(struct work *work, const struct page *page,
                      struct err *err)
{
    pid_t process;
    if (work->at_work == work->max_at_work)
        end_oldest(work);
    int code = start_mandoc(work, page, &process, err);
    if (!code)
        work->running[(work->first + work->at_work++) % MAX_RUNNING] =
            (struct running){process, page};
    return code;
}

static int make_copies(const struct cli *cli, struct work *work,
                       struct err *err)
{
    struct progress progress = {.on = cli->progress};
    int code = 0;
    for (size_t i = 0; !code && i < work->count; i++) {
        progress_show(&progress, "manual pages", (int64_t)i,
                      (int64_t)work->count);
        if (!is_current(work, &work->pages[i]))
            code = start_page(work, &work->pages[i], err);
    }
    while (work->at_work)
        end_oldest(work);
    progress_clear(&progress);
    return code;
}

/* Removes copies of pages that have gone. */
static void remove_others(const struct work *work)
{
    DIR *folder = opendir(work->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct page wanted = {.name = entry->d_name};
        struct buf path = {0};
        file_join(&path, work->folder, entry->d_name);
        if (entry->d_name[0] != '.' &&
            !bsearch(&wanted, work->pages, work->count, sizeof wanted,
                     compare_names))
            unlink(path.data);
        buf_free(&path);
    }
    if (folder)
        closedir(folder);
}

static bool is_section(const char *section)
{
    size_t size = strspn(section, "0123456789abcdefghijklmnopqrstuvwxyz");
    return size && size <= MAX_SECTION && !section[size];
}

int man_pages_make(const struct cli *cli, const char *place,
                   const char *section, struct buf *ret_folder, struct err *err)
{
    struct buf name = {0}, folder = {0}, source = {0}, made_of = {0};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct work work = {.section = section,
                        .max_at_work = processors < 1 ? 1
                                       : processors > MAX_RUNNING
                                           ? MAX_RUNNING
                                           : (size_t)processors};
    if (is_section(section))
        list_pages(&work);
    if (!work.count)
        return err_set(err, ERR_USAGE,
                       "there is no manual page in section '%.40s'", section);
    buf_printf(&name, "man%s", section);
    buf_printf(&made_of, "--man %s", section);
    file_join(&folder, place, name.data);
    work.folder = folder.data;
    unpacked_put_source(&source, folder.data);
    int code = source.size && strcmp(source.data, made_of.data) != 0
                   ? err_set(err, ERR_USAGE,
                             "%s has the files of %s: lectern rm that manual "
                             "first",
                             folder.data, source.data)
                   : file_make_folder(folder.data, 0700, err);
    if (!code) {
        code = make_copies(cli, &work, err);
        if (code)
            rmdir(folder.data);
    }
    if (!code) {
        unpacked_note_source(place, name.data, made_of.data);
        remove_others(&work);
        buf_put_slice(ret_folder, buf_slice(&folder));
    }
    for (size_t i = 0; i < work.count; i++) {
        free(work.pages[i].source);
        free(work.pages[i].name);
    }
    free(work.pages);
    buf_free(&name);
    buf_free(&folder);
    buf_free(&source);
    buf_free(&made_of);
    return code;
}
