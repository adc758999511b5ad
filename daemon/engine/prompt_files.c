#include "daemon/engine/prompt_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/engine/prompt_files_internal.h"

enum { NAME = 32, LOOK = (1 << 17) + 64 /* bytes that hold a header */ };
static const char suffix[] = ".kv";
static const size_t max_file = (size_t)1 << 30;

struct kept_file {
    struct hash128 name;
    uint64_t bytes;
    int64_t used;                    /* ns; of the file's time */
    struct prompt_section *sections; /* [section_count] */
    size_t section_count;
};

struct prompt_files {
    pthread_mutex_t lock;
    char *folder;
    struct kept_file *items; /* [facts.count] */
    size_t capacity;
    int64_t last; /* time that was given */
    struct prompt_files_facts facts;
};

/* ---- Names and places ---- */

static void path_of(const struct prompt_files *files, struct hash128 name,
                    const char *end, struct buf *ret)
{
    char text[NAME + 8];
    snprintf(text, sizeof text, "%016llx%016llx%s",
             (unsigned long long)name.high, (unsigned long long)name.low, end);
    file_join(ret, files->folder, text);
}

static bool parse_name(const char *text, struct hash128 *ret)
{
    char half[17];
    if (strlen(text) != NAME + sizeof suffix - 1 ||
        strcmp(text + NAME, suffix) != 0 ||
        strspn(text, "0123456789abcdef") != NAME)
        return false;
    snprintf(half, sizeof half, "%.16s", text);
    ret->high = strtoull(half, NULL, 16);
    snprintf(half, sizeof half, "%.16s", text + 16);
    ret->low = strtoull(half, NULL, 16);
    return true;
}

static struct kept_file *find(struct prompt_files *files, struct hash128 name)
{
    for (size_t i = 0; i < files->facts.count; i++)
        if (hash_equal(files->items[i].name, name))
            return &files->items[i];
    return NULL;
}

/* ---- Keeping and removing ---- */

static void remove_item(struct prompt_files *files, struct kept_file *item)
{
    struct buf path = {0};
    path_of(files, item->name, suffix, &path);
    unlink(path.data);
    buf_free(&path);
    files->facts.bytes -= item->bytes;
    free(item->sections);
    *item = files->items[--files->facts.count];
}

static void make_room(struct prompt_files *files, uint64_t bytes)
{
    while (files->facts.count &&
           files->facts.bytes + bytes > files->facts.max_bytes) {
        struct kept_file *oldest = files->items;
        for (size_t i = 1; i < files->facts.count; i++)
            if (files->items[i].used < oldest->used)
                oldest = &files->items[i];
        remove_item(files, oldest);
        files->facts.evicted++;
    }
}

static void add_item(struct prompt_files *files, const struct kept_file *item)
{
    MEM_RESERVE(files->items, &files->capacity, files->facts.count + 1);
    files->items[files->facts.count++] = *item;
    files->facts.bytes += item->bytes;
    if (item->used > files->last) /* by a clock that was ahead, too */
        files->last = item->used;
}

/* ---- The folder as it is found ---- */

/* The file's beginning; false: it cannot be read. */
static bool read_beginning(const char *path, struct buf *ret,
                           struct stat *ret_stat)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    buf_reserve(ret, LOOK);
    ssize_t got = fstat(fd, ret_stat) ? -1 : read(fd, ret->data, LOOK);
    close(fd);
    ret->size = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

static bool look_at(const char *path, struct hash128 name,
                    struct kept_file *ret)
{
    struct buf beginning = {0};
    struct stat stat;
    struct piece_header header = {0};
    size_t at;
    bool good = read_beginning(path, &beginning, &stat) &&
                !piece_header(buf_slice(&beginning), &header, &at, NULL) &&
                (uint64_t)stat.st_size == at + header.packed;
    buf_free(&beginning);
    if (good) {
        *ret = (struct kept_file){.name = name,
                                  .bytes = (uint64_t)stat.st_size,
                                  .used = clock_nanoseconds(stat.st_mtim),
                                  .sections = header.sections,
                                  .section_count = header.section_count};
        header.sections = NULL;
    }
    piece_header_free(&header);
    return good;
}

static void look_through(struct prompt_files *files, DIR *folder)
{
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        struct hash128 name;
        struct kept_file item;
        struct buf path = {0};
        file_join(&path, files->folder, entry->d_name);
        size_t length = strlen(entry->d_name);
        if (parse_name(entry->d_name, &name)) {
            if (look_at(path.data, name, &item)) {
                add_item(files, &item);
            } else {
                unlink(path.data);
                files->facts.damaged++;
            }
        } else if (length > 4 && !strcmp(entry->d_name + length - 4, ".new")) {
            unlink(path.data); /* a daemon was killed */
        }
        buf_free(&path);
    }
}

int prompt_files_open(const char *folder, uint64_t max_bytes,
                      struct prompt_files **ret, struct err *err)
{
    int code = file_make_folder(folder, 0700, err);
    if (code)
        return code;
    DIR *dir = opendir(folder);
    if (!dir)
        return err_errno(err, ERR_IO, "cannot open %s", folder);
    struct prompt_files *files = mem_alloc(sizeof *files);
    pthread_mutex_init(&files->lock, NULL);
    files->folder = mem_strdup(folder);
    files->facts.max_bytes = max_bytes;
    look_through(files, dir);
    closedir(dir);
    make_room(files, 0);
    *ret = files;
    return 0;
}

void prompt_files_close(struct prompt_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->facts.count; i++)
        free(files->items[i].sections);
    free(files->items);
    free(files->folder);
    pthread_mutex_destroy(&files->lock);
    free(files);
}

/* ---- Use ---- */

bool prompt_files_has(struct prompt_files *files, struct hash128 name)
{
    pthread_mutex_lock(&files->lock);
    bool has = find(files, name);
    pthread_mutex_unlock(&files->lock);
    return has;
}

/* The bytes of a file that is there, checked and unpacked. */
static int unpack(const char *path, const struct prompt_piece *piece, void *ret,
                  size_t size, struct err *err)
{
    struct buf file = {0};
    struct piece_header header = {0};
    size_t at = 0;
    int code = file_read(path, max_file, &file, err);
    if (!code)
        code = piece_header(buf_slice(&file), &header, &at, err);
    if (!code && (header.plain != size || header.rounded != piece->rounded ||
                  header.count != piece->count ||
                  memcmp(header.ids, piece->ids,
                         piece->count * sizeof *piece->ids) != 0))
        code = err_set(err, ERR_FORMAT, "a prompt's file is another's");
    if (!code)
        code = piece_body(
            &header, (struct slice){file.data + at, file.size - at}, ret, err);
    piece_header_free(&header);
    buf_free(&file);
    return code;
}

int prompt_files_read(struct prompt_files *files,
                      const struct prompt_piece *piece, void *ret, size_t size,
                      struct err *err)
{
    struct hash128 name = prompt_piece_name(piece);
    struct buf path = {0};
    int code = 0;
    pthread_mutex_lock(&files->lock);
    struct kept_file *item = find(files, name);
    if (!item)
        code = err_set(err, ERR_NOT_FOUND, "the piece is not kept");
    path_of(files, name, suffix, &path);
    if (!code)
        code = unpack(path.data, piece, ret, size, err);
    if (item && code && code != ERR_LIMIT) {
        remove_item(files, item);
        files->facts.damaged++;
        log_warn("%s is damaged and was thrown away", path.data);
    }
    pthread_mutex_unlock(&files->lock);
    buf_free(&path);
    return code;
}

static int write_all(int fd, struct slice bytes)
{
    for (size_t at = 0; at < bytes.size;) {
        ssize_t wrote = write(fd, bytes.data + at, bytes.size - at);
        if (wrote <= 0)
            return -1;
        at += (size_t)wrote;
    }
    return 0;
}

/* Beside its place, then into it; not synced: a hash tells what is whole. */
static int put_file(const struct prompt_files *files, struct hash128 name,
                    struct slice bytes, struct err *err)
{
    struct buf path = {0}, fresh = {0};
    int code = 0;
    path_of(files, name, suffix, &path);
    path_of(files, name, ".new", &fresh);
    int fd = open(fresh.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && !write_all(fd, bytes);
    if (!good)
        code = err_errno(err, ERR_IO, "cannot write %s", fresh.data);
    if (fd >= 0)
        close(fd);
    if (good && rename(fresh.data, path.data))
        code = err_errno(err, ERR_IO, "cannot write %s", path.data);
    if (code)
        unlink(fresh.data);
    buf_free(&path);
    buf_free(&fresh);
    return code;
}

static int64_t next_time(struct prompt_files *files)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ns = clock_nanoseconds(now);
    files->last = ns > files->last ? ns : files->last + 1;
    return files->last;
}

/* The item is the one used last, also for who opens the folder next. */
static void stamp(struct prompt_files *files, struct kept_file *item)
{
    struct buf path = {0};
    item->used = next_time(files);
    struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {item->used / 1000000000, item->used % 1000000000}};
    path_of(files, item->name, suffix, &path);
    utimensat(AT_FDCWD, path.data, times, AT_SYMLINK_NOFOLLOW);
    buf_free(&path);
}

static int write_locked(struct prompt_files *files, struct hash128 name,
                        struct slice bytes,
                        const struct prompt_section *sections, size_t count,
                        struct err *err)
{
    if (find(files, name))
        return 0;
    if (bytes.size > files->facts.max_bytes)
        return err_set(err, ERR_LIMIT, "a piece is more than may be kept");
    make_room(files, bytes.size);
    int code = put_file(files, name, bytes, err);
    if (code)
        return code;
    struct kept_file item = {
        .name = name, .bytes = bytes.size, .section_count = count};
    item.sections = mem_alloc((count + 1) * sizeof *item.sections);
    if (count)
        memcpy(item.sections, sections, count * sizeof *sections);
    stamp(files, &item);
    add_item(files, &item);
    return 0;
}

int prompt_files_write(struct prompt_files *files,
                       const struct prompt_piece *piece,
                       const struct prompt_section *sections, size_t count,
                       const void *pages, size_t size, struct err *err)
{
    struct hash128 name = prompt_piece_name(piece);
    struct buf bytes = {0};
    if (prompt_files_has(files, name))
        return 0;
    int code = piece_encode(piece, sections, count, pages, size, &bytes, err);
    pthread_mutex_lock(&files->lock);
    if (!code)
        code =
            write_locked(files, name, buf_slice(&bytes), sections, count, err);
    pthread_mutex_unlock(&files->lock);
    buf_free(&bytes);
    return code;
}

/* The last piece first, so that it is the first of them to go. */
void prompt_files_touch(struct prompt_files *files, const struct hash128 *names,
                        size_t count)
{
    pthread_mutex_lock(&files->lock);
    for (size_t i = count; i-- > 0;) {
        struct kept_file *item = find(files, names[i]);
        if (item)
            stamp(files, item);
    }
    pthread_mutex_unlock(&files->lock);
}

static bool stands(const struct kept_file *item,
                   const struct section_check *check)
{
    for (size_t i = 0; i < item->section_count; i++)
        if (!check->stands(check->context, &item->sections[i]))
            return false;
    return true;
}

void prompt_files_forget(struct prompt_files *files,
                         const struct section_check *check)
{
    pthread_mutex_lock(&files->lock);
    for (size_t i = files->facts.count; i-- > 0;)
        if (!stands(&files->items[i], check)) {
            remove_item(files, &files->items[i]);
            files->facts.changed++;
        }
    pthread_mutex_unlock(&files->lock);
}

void prompt_files_facts(struct prompt_files *files,
                        struct prompt_files_facts *ret)
{
    pthread_mutex_lock(&files->lock);
    *ret = files->facts;
    pthread_mutex_unlock(&files->lock);
}
