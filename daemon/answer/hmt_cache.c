#include "daemon/answer/hmt_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct hmt_cache {
    pthread_mutex_t lock;
    struct reading last;
};

struct hmt_cache *hmt_cache_new(void)
{
    struct hmt_cache *hmt_cache = mem_alloc(sizeof *hmt_cache);
    pthread_mutex_init(&hmt_cache->lock, NULL);
    return hmt_cache;
}

void hmt_cache_free(struct hmt_cache *hmt_cache)
{
    if (!hmt_cache)
        return;
    hmt_close(hmt_cache->last.hmt);
    pthread_mutex_destroy(&hmt_cache->lock);
    free(hmt_cache);
}

bool hmt_cache_take(struct hmt_cache *hmt_cache, struct hash128 of,
                    struct reading *ret)
{
    pthread_mutex_lock(&hmt_cache->lock);
    struct reading *last = &hmt_cache->last;
    bool found = last->hmt && hash_equal(last->of, of);
    if (found) {
        *ret = *last;
        last->hmt = NULL;
    }
    pthread_mutex_unlock(&hmt_cache->lock);
    return found;
}

void hmt_cache_put(struct hmt_cache *hmt_cache, const struct reading *reading)
{
    pthread_mutex_lock(&hmt_cache->lock);
    struct hmt *before = hmt_cache->last.hmt;
    hmt_cache->last = *reading;
    pthread_mutex_unlock(&hmt_cache->lock);
    hmt_close(before);
}
