#include "indexer/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/file.h"

/* Results that may wait: bounds memory when the store is slower. */
enum { MOST_WAITING = 64, MOST_WAITING_BYTES = 256 << 20 };

struct pool {
    struct store *store;
    struct parser_options options;
    bool force;
    const struct pool_task *tasks;
    size_t count, begun, given;
    bool stopping;
    struct pool_result waiting[MOST_WAITING];
    size_t waiting_count;
    size_t waiting_bytes;
    pthread_mutex_t lock;
    pthread_cond_t room, ready;
    pthread_t *threads;
    unsigned thread_count;
};

struct hash128 pool_tree_name(struct hash128 content)
{
    unsigned char bytes[17];
    hash_write(content, bytes);
    bytes[16] = PARSER_VERSION;
    return hash_bytes(bytes, sizeof bytes);
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

static void work_on(struct pool *pool, struct parser *parser, size_t task,
                    struct pool_result *ret)
{
    struct buf bytes = {0};
    *ret = (struct pool_result){.task = task};
    if (file_read(pool->tasks[task].path, PARSER_MOST_BYTES, &bytes, &ret->err))
        return;
    ret->content = hash_bytes(bytes.data, bytes.size);
    ret->name = pool_tree_name(ret->content);
    ret->unchanged = pool->tasks[task].has_known && !pool->force &&
                     hash_equal(ret->content, pool->tasks[task].known);
    if (!ret->unchanged)
        ret->stored = !pool->force && is_stored(pool->store, ret->name);
    if (!ret->unchanged && !ret->stored) {
        int code =
            parser_parse(parser, buf_slice(&bytes), &ret->tree, &ret->err);
        ret->broken = code == ERR_IO || code == ERR_INTERNAL;
    }
    buf_free(&bytes);
}

static bool take_task(struct pool *pool, size_t *ret_task)
{
    pthread_mutex_lock(&pool->lock);
    bool more = !pool->stopping && pool->begun < pool->count;
    if (more)
        *ret_task = pool->begun++;
    pthread_mutex_unlock(&pool->lock);
    return more;
}

static size_t bytes_of(const struct pool_result *result)
{
    return result->tree ? result->tree->arena.used : 0;
}

/* Even the largest may wait when it does so alone. */
static bool has_room(const struct pool *pool, size_t bytes)
{
    return !pool->waiting_count ||
           (pool->waiting_count < MOST_WAITING &&
            pool->waiting_bytes + bytes <= MOST_WAITING_BYTES);
}

static void give_result(struct pool *pool, const struct pool_result *result)
{
    size_t bytes = bytes_of(result);
    pthread_mutex_lock(&pool->lock);
    while (!has_room(pool, bytes) && !pool->stopping)
        pthread_cond_wait(&pool->room, &pool->lock);
    if (has_room(pool, bytes)) {
        pool->waiting[pool->waiting_count++] = *result;
        pool->waiting_bytes += bytes;
    } else {
        tree_free(result->tree);
    }
    pthread_cond_signal(&pool->ready);
    pthread_mutex_unlock(&pool->lock);
}

static void *run(void *context)
{
    struct pool *pool = context;
    struct parser *parser = parser_new(&pool->options);
    size_t task;
    while (take_task(pool, &task)) {
        struct pool_result result;
        work_on(pool, parser, task, &result);
        give_result(pool, &result);
    }
    parser_free(parser);
    return NULL;
}

struct pool *pool_start(struct store *store,
                        const struct parser_options *options, unsigned threads,
                        bool force, const struct pool_task *tasks, size_t count)
{
    struct pool *pool = mem_alloc(sizeof *pool);
    pool->store = store;
    pool->options = *options;
    pool->force = force;
    pool->tasks = tasks;
    pool->count = count;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->room, NULL);
    pthread_cond_init(&pool->ready, NULL);
    if (threads < 1)
        threads = 1;
    if (threads > count)
        threads = (unsigned)count;
    pool->threads = mem_alloc(threads * sizeof *pool->threads);
    while (pool->thread_count < threads &&
           !pthread_create(&pool->threads[pool->thread_count], NULL, run, pool))
        pool->thread_count++;
    if (count && !pool->thread_count)
        abort(); /* not even one thread: as out of memory */
    return pool;
}

bool pool_next(struct pool *pool, struct pool_result *ret)
{
    bool more = false;
    pthread_mutex_lock(&pool->lock);
    if (pool->given < pool->count) {
        while (!pool->waiting_count)
            pthread_cond_wait(&pool->ready, &pool->lock);
        *ret = pool->waiting[--pool->waiting_count];
        pool->waiting_bytes -= bytes_of(ret);
        pool->given++;
        pthread_cond_broadcast(&pool->room);
        more = true;
    }
    pthread_mutex_unlock(&pool->lock);
    return more;
}

void pool_stop(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->room);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    for (size_t i = 0; i < pool->waiting_count; i++)
        tree_free(pool->waiting[i].tree);
    pthread_cond_destroy(&pool->ready);
    pthread_cond_destroy(&pool->room);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
}
