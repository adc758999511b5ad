#include "indexer/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "indexer/source.h"
#include "memory/store/store.h"

struct seen {
    dev_t device;
    ino_t inode;
};

struct walk {
    const struct source_root *root;
    char **ignore; /* NULL at the end */
    const struct scan_visitor *visitor;
    struct scan scan;
    size_t file_capacity;
    char **pending; /* paths still to look at, links last */
    size_t pending_count, pending_capacity;
    char **links;
    size_t link_count, link_capacity;
    struct seen *seen; /* open addressing by inode; inode 0: free */
    size_t seen_count, seen_slots;
    int failure; /* errno for which nothing is known of the manual; 0: none */
};

static char **split_lines(const char *text)
{
    size_t count = 1;
    for (const char *p = text; *p; p++)
        count += *p == '\n';
    char **lines = mem_alloc((count + 1) * sizeof *lines);
    size_t at = 0;
    while (*text) {
        size_t size = strcspn(text, "\n");
        if (size)
            lines[at++] = mem_strndup(text, size);
        text += size + (text[size] != '\0');
    }
    return lines;
}

static bool seen_before(struct walk *walk, dev_t device, ino_t inode)
{
    if (walk->seen_count * 2 >= walk->seen_slots) {
        struct seen *old = walk->seen;
        size_t slots = walk->seen_slots;
        walk->seen_slots = slots ? slots * 2 : 1024;
        walk->seen = mem_alloc(walk->seen_slots * sizeof *walk->seen);
        walk->seen_count = 0;
        for (size_t i = 0; i < slots; i++)
            if (old[i].inode)
                seen_before(walk, old[i].device, old[i].inode);
        free(old);
    }
    size_t at = (inode * 0x9E3779B97F4A7C15u + device) & (walk->seen_slots - 1);
    for (; walk->seen[at].inode; at = (at + 1) & (walk->seen_slots - 1))
        if (walk->seen[at].inode == inode && walk->seen[at].device == device)
            return true;
    walk->seen[at] = (struct seen){device, inode};
    walk->seen_count++;
    return false;
}

static void push(char ***list, size_t *count, size_t *capacity, char *path)
{
    MEM_RESERVE(*list, capacity, *count + 1);
    (*list)[(*count)++] = path;
}

static bool is_ignored(const struct walk *walk, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (name[0] == '.')
        return true;
    for (char **glob = walk->ignore; *glob; glob++)
        if (!fnmatch(*glob, path, 0) || !fnmatch(*glob, name, 0))
            return true;
    return false;
}

static bool leads_outside(const struct walk *walk, const char *full)
{
    struct stat st;
    if (lstat(full, &st) < 0 || !S_ISLNK(st.st_mode))
        return false;
    char real[PATH_MAX];
    if (!realpath(full, real))
        return !source_may_be_there(errno);
    return !source_is_within(walk->root, real);
}

struct scan_file scan_stat(const struct stat *st)
{
    return (struct scan_file){.size = (uint64_t)st->st_size,
                              .mtime_ns = clock_nanoseconds(st->st_mtim),
                              .inode = st->st_ino,
                              .changed_at = st->st_ctim.tv_sec};
}

bool scan_is_untouched(const struct scan_file *now, const struct file *record,
                       int64_t indexed_at)
{
    return record->size == now->size && record->mtime_ns == now->mtime_ns &&
           record->inode == now->inode && now->changed_at < indexed_at;
}

static void add_file(struct walk *walk, const char *path, const struct stat *st,
                     const char *failure)
{
    MEM_RESERVE(walk->scan.files, &walk->file_capacity, walk->scan.count + 1);
    struct scan_file *file = &walk->scan.files[walk->scan.count++];
    *file = st ? scan_stat(st) : (struct scan_file){0};
    file->path = mem_strdup(path);
    if (failure)
        file->failure = mem_strdup(failure);
}

static int read_folder(struct walk *walk, int fd, const char *path)
{
    if (walk->visitor)
        walk->visitor->folder(walk->visitor->context, fd);
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return -1;
    }
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(folder))) {
        struct buf below = {0};
        if (*path)
            buf_printf(&below, "%s/", path);
        buf_put_text(&below, entry->d_name);
        if (is_ignored(walk, below.data))
            buf_free(&below);
        else if (entry->d_type == DT_LNK)
            push(&walk->links, &walk->link_count, &walk->link_capacity,
                 below.data);
        else
            push(&walk->pending, &walk->pending_count, &walk->pending_capacity,
                 below.data);
    }
    int number = errno;
    closedir(folder);
    errno = number;
    return number ? -1 : 0;
}

/* A folder that could not be listed.  Where the machine has run out of something, what
 * was indexed of it is still there: such a scan must not take it away.  A disk that
 * cannot be read may stay so: that costs its folder only. */
static void not_listed(struct walk *walk, const char *path)
{
    if (source_is_shortage(errno))
        walk->failure = errno;
    add_file(walk, path, NULL, strerror(errno));
}

/* Where one leads that is not followed is nobody's business. */
static void visit_link(const struct walk *walk, const char *path)
{
    struct buf full = {0};
    struct stat st;
    if (!walk->visitor)
        return;
    buf_printf(&full, "%s/%s", walk->root->path, path);
    if (stat(full.data, &st) < 0 || !leads_outside(walk, full.data))
        walk->visitor->link(walk->visitor->context, full.data);
    buf_free(&full);
}

static void add_not_followed(struct walk *walk, const char *path)
{
    add_file(walk, path, NULL, SOURCE_NOT_FOLLOWED);
    walk->scan.files[walk->scan.count - 1].not_followed = true;
}

static void look_at(struct walk *walk, const char *path)
{
    struct buf full = {0};
    struct stat st;
    buf_printf(&full, "%s/%s", walk->root->path, path);
    if (stat(full.data, &st) < 0) {
        if (source_is_named(path))
            add_file(walk, path, NULL, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        if (leads_outside(walk, full.data)) {
            add_not_followed(walk, path);
        } else if (!seen_before(walk, st.st_dev, st.st_ino)) {
            int fd = open(full.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (fd < 0 || read_folder(walk, fd, path) < 0)
                not_listed(walk, path);
        }
    } else if (source_is_named(path) || source_is_code(path)) {
        if (!S_ISREG(st.st_mode))
            add_file(walk, path, &st, "not a regular file");
        else if (leads_outside(walk, full.data))
            add_not_followed(walk, path);
        else if ((source_is_code(path) || source_is_wanted(full.data)) &&
                 !seen_before(walk, st.st_dev, st.st_ino))
            add_file(walk, path, &st, NULL);
    }
    buf_free(&full);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct scan_file *)a)->path,
                  ((const struct scan_file *)b)->path);
}

static struct slice end_of(const struct scan *scan, size_t file)
{
    return source_unpacked_path(scan->files[file].path);
}

static unsigned char last(struct slice text, bool folded)
{
    unsigned char c = (unsigned char)text.data[text.size - 1];
    return folded && c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
}

/* As strcmp, from the last byte to the first. */
static int compare_backwards(struct slice a, struct slice b, bool folded)
{
    while (a.size && b.size && last(a, folded) == last(b, folded)) {
        a.size--;
        b.size--;
    }
    if (!a.size || !b.size)
        return (a.size > 0) - (b.size > 0);
    return last(a, folded) < last(b, folded) ? -1 : 1;
}

static int by_end(const void *a, const void *b, void *scan)
{
    return compare_backwards(end_of(scan, *(const uint32_t *)a),
                             end_of(scan, *(const uint32_t *)b), false);
}

static int by_end_folded(const void *a, const void *b, void *scan)
{
    return compare_backwards(end_of(scan, *(const uint32_t *)a),
                             end_of(scan, *(const uint32_t *)b), true);
}

static uint32_t *ordered(struct scan *scan,
                         int (*compare)(const void *, const void *, void *))
{
    uint32_t *order = mem_alloc(scan->count * sizeof *order);
    for (size_t i = 0; i < scan->count; i++)
        order[i] = (uint32_t)i;
    if (scan->count)
        qsort_r(order, scan->count, sizeof *order, compare, scan);
    return order;
}

static bool has_latex(const struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        const char *path = scan->files[i].path;
        if (source_format(path) == PARSER_LATEX && !source_is_part(path))
            return true;
    }
    return false;
}

/* Only LaTeX documents show code from files. */
static void drop_code(struct scan *scan)
{
    size_t kept = 0;
    if (has_latex(scan))
        return;
    for (size_t i = 0; i < scan->count; i++) {
        struct scan_file file = scan->files[i];
        if (source_is_code(file.path)) {
            free(file.path);
            free(file.failure);
        } else {
            scan->files[kept++] = file;
        }
    }
    scan->count = kept;
}

static void sort_files(struct scan *scan)
{
    if (scan->count)
        qsort(scan->files, scan->count, sizeof *scan->files, by_path);
    scan->by_end = ordered(scan, by_end);
    scan->by_end_folded = ordered(scan, by_end_folded);
}

/* As if it had been met before. */
static void pass_over(struct walk *walk, const char *folder)
{
    struct stat st;
    if (folder && !stat(folder, &st))
        seen_before(walk, st.st_dev, st.st_ino);
}

/* What is there under its own name first, then what links add, in an order
 * that does not depend on the file system's. */
static void walk_all(struct walk *walk)
{
    while (walk->pending_count || walk->link_count) {
        if (!walk->pending_count) {
            qsort(walk->links, walk->link_count, sizeof *walk->links, by_name);
            while (walk->link_count) {
                char *link = walk->links[--walk->link_count];
                visit_link(walk, link);
                push(&walk->pending, &walk->pending_count,
                     &walk->pending_capacity, link);
            }
        }
        char *path = walk->pending[--walk->pending_count];
        look_at(walk, path);
        free(path);
    }
}

bool scan_reads(const char *name)
{
    return name[0] != '.' && (source_is_named(name) || source_is_code(name));
}

int scan_folder(const struct source_root *root, const char *ignore,
                struct scan *ret_scan, struct err *err)
{
    return scan_visited(root, ignore, NULL, ret_scan, err);
}

int scan_visited(const struct source_root *root, const char *ignore,
                 const struct scan_visitor *visitor, struct scan *ret_scan,
                 struct err *err)
{
    int fd = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot read the folder %s", root->path);
    struct walk walk = {
        .root = root, .ignore = split_lines(ignore), .visitor = visitor};
    struct stat st;
    if (fstat(fd, &st) == 0)
        seen_before(&walk, st.st_dev, st.st_ino);
    pass_over(&walk, root->except);
    int code = 0;
    if (read_folder(&walk, fd, "") < 0)
        code = err_errno(err, ERR_IO, "cannot read the folder %s", root->path);
    walk_all(&walk);
    errno = walk.failure;
    if (!code && errno)
        code =
            err_errno(err, ERR_IO, "cannot read all folders of %s", root->path);
    drop_code(&walk.scan);
    for (char **glob = walk.ignore; *glob; glob++)
        free(*glob);
    free(walk.ignore);
    free(walk.pending);
    free(walk.links);
    free(walk.seen);
    if (code) {
        scan_free(&walk.scan);
        return code;
    }
    sort_files(&walk.scan);
    *ret_scan = walk.scan;
    return 0;
}

static int against_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct scan_file *)file)->path);
}

size_t scan_find(const struct scan *scan, const char *path)
{
    const struct scan_file *found =
        scan->count ? bsearch(path, scan->files, scan->count,
                              sizeof *scan->files, against_path)
                    : NULL;
    return found ? (size_t)(found - scan->files) : SIZE_MAX;
}

/* The place in `order` of the first file that is not before `end`. */
static size_t first_by_end(const struct scan *scan, const uint32_t *order,
                           struct slice end, bool folded)
{
    size_t low = 0, high = scan->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_backwards(end_of(scan, order[middle]), end, folded) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Counts, to two, the files that end in `end`; `whole`: those that are it. */
static size_t count_ends(const struct scan *scan, struct slice end, bool whole,
                         bool folded, size_t *ret_last)
{
    const uint32_t *order = folded ? scan->by_end_folded : scan->by_end;
    size_t count = 0;
    for (size_t i = first_by_end(scan, order, end, folded);
         i < scan->count && count < 2; i++, count++) {
        struct slice path = end_of(scan, order[i]);
        if (path.size < end.size || (whole && path.size > end.size))
            break;
        path.data += path.size - end.size;
        path.size = end.size;
        if (compare_backwards(path, end, folded) != 0)
            break;
        *ret_last = order[i];
    }
    return count;
}

size_t scan_find_folded(const struct scan *scan, struct slice path)
{
    size_t found = SIZE_MAX;
    return count_ends(scan, path, true, true, &found) == 1 ? found : SIZE_MAX;
}

size_t scan_find_by_end(const struct scan *scan, struct slice name)
{
    struct buf below = {0};
    size_t found = SIZE_MAX, count = 0;
    buf_put_byte(&below, '/');
    buf_put_slice(&below, name);
    for (int folded = 0; folded < 2 && !count; folded++)
        count = count_ends(scan, name, true, folded, &found) +
                count_ends(scan, buf_slice(&below), false, folded, &found);
    buf_free(&below);
    return count == 1 ? found : SIZE_MAX;
}

void scan_mark_named(const struct scan *scan, struct slice name, bool *ret)
{
    enum { MAX_MARKED = 100 };
    size_t first = first_by_end(scan, scan->by_end_folded, name, true);
    for (size_t i = first; i < scan->count && i < first + MAX_MARKED; i++) {
        struct slice path = end_of(scan, scan->by_end_folded[i]);
        if (path.size < name.size)
            break;
        struct slice end = {path.data + path.size - name.size, name.size};
        if (compare_backwards(end, name, true) != 0)
            break;
        if (path.size == name.size || end.data[-1] == '/')
            ret[scan->by_end_folded[i]] = true;
    }
}

void scan_free(struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        free(scan->files[i].path);
        free(scan->files[i].failure);
    }
    free(scan->files);
    free(scan->by_end);
    free(scan->by_end_folded);
    *scan = (struct scan){0};
}
