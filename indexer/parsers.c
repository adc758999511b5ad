#include "indexer/parsers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "indexer/inputs.h"
#include "indexer/mentions.h"
#include "indexer/source.h"

/* Results that may wait: bounds memory when the store is slower. */
enum { MAX_WAITING = 64, MAX_WAITING_BYTES = 256 << 20 };

struct parsers {
    struct store *store;
    struct parser_options options;
    bool force;
    const struct source_root *root;
    const struct scan *scan;
    const struct parsers_task *tasks;
    size_t count, begun, given;
    bool stopping;
    struct parsers_result waiting[MAX_WAITING];
    size_t waiting_count;
    size_t waiting_bytes;
    pthread_mutex_t lock;
    pthread_cond_t room, ready, work;
    pthread_t *threads; /* [thread_count of max_threads] */
    unsigned thread_count, max_threads;
};

static struct hash128 name_by(unsigned version, struct hash128 content,
                              const char *path)
{
    unsigned char bytes[19];
    hash_write(content, bytes);
    bytes[16] = (unsigned char)version;
    bytes[17] = (unsigned char)source_format(path);
    bytes[18] = source_is_gzipped(path);
    return hash_bytes(bytes, sizeof bytes);
}

struct hash128 parsers_tree_name(struct hash128 content, const char *path)
{
    return name_by(PARSER_VERSION, content, path);
}

static bool is_stored(struct store *store, struct hash128 name)
{
    struct store_txn *txn;
    if (store_read(store, &txn, NULL))
        return false;
    bool has = store_has_tree(txn, name);
    store_end(txn);
    return has;
}

/* What was read, not what stands at its path by now. */
static bool is_as_met(const struct parsers_task *task, const struct stat *st)
{
    return (uint64_t)st->st_size == task->size && st->st_ino == task->inode &&
           clock_nanoseconds(st->st_mtim) == task->mtime_ns;
}

struct tree *parsers_part_tree(void)
{
    struct slice none = {"", 0};
    struct tree *tree = tree_new(false);
    tree_add_file(tree, none);
    tree_add_node(tree, TREE_NONE, 0, none, none);
    tree->page.role = PAGE_PART;
    tree->page.title = tree->page.up = tree->page.prev = tree->page.next =
        tree_copy_text(tree, none);
    tree_seal(tree, NULL);
    return tree;
}

struct hash128 parsers_name_with(struct hash128 name, struct slice inputs)
{
    struct buf all = {0};
    unsigned char bytes[16];
    if (!inputs.size)
        return name;
    hash_write(name, bytes);
    buf_put(&all, bytes, sizeof bytes);
    buf_put_slice(&all, inputs);
    name = hash_bytes(all.data, all.size);
    buf_free(&all);
    return name;
}

static struct hash128 file_tree_by(unsigned version, const struct file *file)
{
    return parsers_name_with(name_by(version, file->content, file->path),
                             slice_of(file->inputs ? file->inputs : ""));
}

struct hash128 parsers_file_tree(const struct file *file)
{
    return file_tree_by(PARSER_VERSION, file);
}

bool parsers_is_tree(const struct file *file)
{
    for (unsigned version = PARSER_VERSION; version; version--)
        if (hash_equal(file->tree, file_tree_by(version, file)))
            return true;
    return false;
}

static int parse(struct parsers *parsers, struct parser *parser,
                 const struct parsers_task *task, struct slice bytes,
                 struct parsers_result *ret)
{
    enum parser_format format = source_format(task->path);
    struct inputs inputs = {
        .scan = parsers->scan, .root = parsers->root, .document = task->name};
    struct parser_inputs open = {
        &inputs, format == PARSER_HTML ? NULL : inputs_open, &ret->reports};
    int code =
        parser_parse(parser, bytes, format, &open, &ret->tree, &ret->err);
    if (!code && inputs.shortage.code) {
        code = inputs.shortage.code;
        ret->err = inputs.shortage;
        tree_free(ret->tree);
        ret->tree = NULL;
    }
    ret->unread = inputs.unread;
    ret->inputs = inputs.record;
    inputs_free(&inputs);
    ret->name = parsers_name_with(ret->name, buf_slice(&ret->inputs));
    return code;
}

static void work_on(struct parsers *parsers, struct parser *parser, size_t task,
                    struct parsers_result *ret)
{
    const char *path = parsers->tasks[task].path;
    struct buf bytes = {0};
    *ret = (struct parsers_result){.task = task};
    struct stat st;
    errno = 0;
    if (source_read_stat(parsers->root, path, &bytes, &st, &ret->err)) {
        ret->broken = source_is_shortage(errno);
        ret->unread = errno == EIO;
        return;
    }
    ret->moved = !is_as_met(&parsers->tasks[task], &st);
    ret->content = hash_bytes(bytes.data, bytes.size);
    ret->name = parsers_tree_name(ret->content, path);
    ret->unchanged = parsers->tasks[task].has_known && !parsers->force &&
                     hash_equal(ret->content, parsers->tasks[task].known);
    if (parsers->tasks[task].look) {
        if (!source_unpack(path, &bytes, &ret->err))
            mentions_find(buf_slice(&bytes), &ret->mentions);
        buf_free(&bytes);
        return;
    }
    /* A document may include other files than the one of the same bytes; what is
     * wrong in one of XML is told by its parser alone. */
    if (!ret->unchanged && source_format(path) != PARSER_LATEX &&
        source_format(path) != PARSER_XML)
        ret->stored = !parsers->force && is_stored(parsers->store, ret->name);
    if (!ret->unchanged && source_is_part(path)) {
        ret->tree = parsers_part_tree();
    } else if (!ret->unchanged && !ret->stored &&
               !source_unpack(path, &bytes, &ret->err)) {
        int code = parse(parsers, parser, &parsers->tasks[task],
                         buf_slice(&bytes), ret);
        ret->broken =
            code == ERR_IO || code == ERR_INTERNAL || code == ERR_CANCELLED;
    }
    buf_free(&bytes);
}

static bool take_task(struct parsers *parsers, size_t *ret_task)
{
    pthread_mutex_lock(&parsers->lock);
    while (!parsers->stopping && parsers->begun == parsers->count)
        pthread_cond_wait(&parsers->work, &parsers->lock);
    bool more = !parsers->stopping;
    if (more)
        *ret_task = parsers->begun++;
    pthread_mutex_unlock(&parsers->lock);
    return more;
}

static size_t bytes_of(const struct parsers_result *result)
{
    return result->tree ? result->tree->arena.used : 0;
}

/* Even the largest may wait when it does so alone. */
static bool has_room(const struct parsers *parsers, size_t bytes)
{
    return !parsers->waiting_count ||
           (parsers->waiting_count < MAX_WAITING &&
            parsers->waiting_bytes + bytes <= MAX_WAITING_BYTES);
}

static void drop_result(const struct parsers_result *result)
{
    struct buf inputs = result->inputs, reports = result->reports,
               mentions = result->mentions;
    tree_free(result->tree);
    buf_free(&mentions);
    buf_free(&inputs);
    buf_free(&reports);
}

static void give_result(struct parsers *parsers,
                        const struct parsers_result *result)
{
    size_t bytes = bytes_of(result);
    pthread_mutex_lock(&parsers->lock);
    while (!has_room(parsers, bytes) && !parsers->stopping)
        pthread_cond_wait(&parsers->room, &parsers->lock);
    if (has_room(parsers, bytes)) {
        parsers->waiting[parsers->waiting_count++] = *result;
        parsers->waiting_bytes += bytes;
    } else {
        drop_result(result);
    }
    pthread_cond_signal(&parsers->ready);
    pthread_mutex_unlock(&parsers->lock);
}

static void *run(void *context)
{
    struct parsers *parsers = context;
    struct parser *parser = parser_new(&parsers->options);
    size_t task;
    while (take_task(parsers, &task)) {
        struct parsers_result result;
        work_on(parsers, parser, task, &result);
        give_result(parsers, &result);
    }
    parser_free(parser);
    return NULL;
}

struct parsers *parsers_new(struct store *store,
                            const struct parser_options *options,
                            unsigned threads, bool force,
                            const struct source_root *root,
                            const struct scan *scan)
{
    struct parsers *parsers = mem_alloc(sizeof *parsers);
    parsers->store = store;
    parsers->options = *options;
    parsers->force = force;
    parsers->root = root;
    parsers->scan = scan;
    parsers->max_threads = threads ? threads : 1;
    parsers->threads =
        mem_alloc(parsers->max_threads * sizeof *parsers->threads);
    pthread_mutex_init(&parsers->lock, NULL);
    pthread_cond_init(&parsers->room, NULL);
    pthread_cond_init(&parsers->ready, NULL);
    pthread_cond_init(&parsers->work, NULL);
    return parsers;
}

int parsers_give(struct parsers *parsers, const struct parsers_task *tasks,
                 size_t count, struct err *err)
{
    int failed = 0;
    pthread_mutex_lock(&parsers->lock);
    parsers->tasks = tasks;
    parsers->count = count;
    parsers->begun = parsers->given = 0;
    pthread_cond_broadcast(&parsers->work);
    pthread_mutex_unlock(&parsers->lock);
    while (parsers->thread_count < parsers->max_threads &&
           parsers->thread_count < count &&
           !(failed = pthread_create(&parsers->threads[parsers->thread_count],
                                     NULL, run, parsers)))
        parsers->thread_count++;
    if (count && !parsers->thread_count) {
        errno = failed;
        return err_errno(err, ERR_IO, "cannot start a thread that parses");
    }
    return 0;
}

bool parsers_next(struct parsers *parsers, struct parsers_result *ret)
{
    bool more = false;
    pthread_mutex_lock(&parsers->lock);
    if (parsers->given < parsers->count) {
        while (!parsers->waiting_count)
            pthread_cond_wait(&parsers->ready, &parsers->lock);
        *ret = parsers->waiting[--parsers->waiting_count];
        parsers->waiting_bytes -= bytes_of(ret);
        parsers->given++;
        pthread_cond_broadcast(&parsers->room);
        more = true;
    }
    pthread_mutex_unlock(&parsers->lock);
    return more;
}

void parsers_stop(struct parsers *parsers)
{
    pthread_mutex_lock(&parsers->lock);
    parsers->stopping = true;
    pthread_cond_broadcast(&parsers->room);
    pthread_cond_broadcast(&parsers->work);
    pthread_mutex_unlock(&parsers->lock);
    for (unsigned i = 0; i < parsers->thread_count; i++)
        pthread_join(parsers->threads[i], NULL);
    for (size_t i = 0; i < parsers->waiting_count; i++)
        drop_result(&parsers->waiting[i]);
    pthread_cond_destroy(&parsers->ready);
    pthread_cond_destroy(&parsers->work);
    pthread_cond_destroy(&parsers->room);
    pthread_mutex_destroy(&parsers->lock);
    free(parsers->threads);
    free(parsers);
}
