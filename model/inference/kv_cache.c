#include "model/inference/kv_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/inference/forward.h"

/* Bytes of pages that are kept though nobody uses them. */
static const size_t max_spare = (size_t)64 << 20;

/* ---- Pages ---- */

/* Up to the next 16 bytes. */
static size_t whole_floats(size_t bytes)
{
    return (bytes + 15) / 16 * 4;
}

/* Of one layer's keys, or values, in a page. */
static size_t part_floats(const struct model *m)
{
    return whole_floats(m->pages.slots * m->config.key_heads *
                        kernel_page_row_bytes(m->pages.type, m->config.head));
}

/* int8 if that is wanted and can be (a model with attention of its own may read by
 * sessions what its memories are made of); bf16 where the table has such pages, unless the
 * weights are f32. */
static int type_of(const struct model *m, bool int8)
{
    bool full = m->config.attention.kind == ATTENTION_FULL;
    if (int8 && full && m->kernels->int8_pages)
        return KERNEL_INT8;
    bool whole = strcmp(m->weights.type, "f32") == 0;
    return m->kernels->bf16_pages && !whole ? KERNEL_BF16 : KERNEL_F32;
}

/* Of summary keys. */
static int summary_type(const struct model *m)
{
    return m->pages.type == KERNEL_BF16 ? KERNEL_BF16 : KERNEL_F32;
}
static size_t summary_key_floats(const struct model *m)
{
    return kernel_summary_floats(summary_type(m), m->config.heads,
                                 m->config.head);
}

/* Of what a layer that may choose knows of a chunk. */
static size_t summary_floats(const struct model *m)
{
    const struct model_config *c = &m->config;
    size_t floats =
        c->attention.kind == ATTENTION_HILS
            ? summary_key_floats(m) + c->heads
            : kernel_means_floats(c->key_heads, CACHE_MEANS, c->head);
    return whole_floats(sizeof(float) * floats);
}

void page_pool_lay_out(struct model *m, bool exact, bool int8)
{
    const struct model_config *c = &m->config;
    struct page_pool *pool = &m->pages;
    bool hils = c->attention.kind == ATTENTION_HILS;
    exact = exact && c->attention.kind == ATTENTION_FULL;
    pool->type = type_of(m, int8);
    pool->slots = hils ? c->attention.hils.chunk : CACHE_PAGE;
    pool->at = mem_alloc(c->layers * sizeof *pool->at);
    pool->floats = 0;
    for (size_t i = 0; i < c->layers; i++) {
        bool room =
            hils ? hils_layer(&c->attention, i) : exact && !c->window[i];
        pool->at[i] = pool->floats;
        pool->floats += cache_layer_floats(m);
        pool->floats += room ? summary_floats(m) : 0;
    }
}

bool cache_has_summaries(const struct model *m, size_t layer)
{
    size_t end =
        layer + 1 < m->config.layers ? m->pages.at[layer + 1] : m->pages.floats;
    return end - m->pages.at[layer] > cache_layer_floats(m);
}

size_t cache_page_bytes(const struct model *m)
{
    return m->pages.floats * sizeof(float);
}

size_t cache_layer_floats(const struct model *m)
{
    return 2 * part_floats(m);
}

static struct page *page_take(struct model *m)
{
    struct page_pool *pool = &m->pages;
    struct page *page = pool->spare;
    if (page) {
        pool->spare = page->next;
        pool->spare_count--;
    } else {
        float *memory = m->kernels->allocate(&m->run, cache_page_bytes(m));
        if (!memory)
            return NULL;
        page = mem_alloc(sizeof *page);
        page->memory = memory;
    }
    page->users = 1;
    page->next = NULL;
    pool->used++;
    return page;
}

static void page_free(struct model *m, struct page *page)
{
    m->kernels->release(&m->run, page->memory);
    free(page);
}

static void page_leave(struct model *m, struct page *page)
{
    struct page_pool *pool = &m->pages;
    if (--page->users)
        return;
    pool->used--;
    if ((pool->spare_count + 1) * cache_page_bytes(m) > max_spare) {
        page_free(m, page);
        return;
    }
    page->next = pool->spare;
    pool->spare = page;
    pool->spare_count++;
}

void page_pool_free(struct model *m)
{
    for (struct page *page = m->pages.spare, *next; page; page = next) {
        next = page->next;
        page_free(m, page);
    }
    free(m->pages.at);
    m->pages = (struct page_pool){0};
}

/* ---- Their table ---- */

static size_t pages_for(const struct model *m, size_t slots)
{
    return slots / m->pages.slots + (slots % m->pages.slots != 0);
}

/* Room for `count` pages in the table. */
static int grow(struct model *m, struct cache *cache, size_t count)
{
    if (count <= cache->capacity)
        return 0;
    size_t capacity = cache->capacity * 2;
    capacity = capacity < count ? count : capacity;
    float **table = m->kernels->allocate(&m->run, capacity * sizeof *table);
    if (!table)
        return KERNEL_NO_MEMORY;
    m->kernels->release(&m->run, cache->table);
    cache->table = table;
    cache->pages = mem_resize(cache->pages, capacity, sizeof *cache->pages);
    cache->host_table =
        mem_resize(cache->host_table, capacity, sizeof *cache->host_table);
    cache->capacity = capacity;
    return 0;
}

static int send_table(struct model *m, struct cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        cache->host_table[i] = cache->pages[i]->memory;
    return m->kernels->upload(&m->run, cache->table, cache->host_table,
                              cache->count * sizeof *cache->host_table);
}

/* The page that is written to next becomes the cache's own. */
static int own_last(struct model *m, struct cache *cache)
{
    size_t last = cache->length / m->pages.slots;
    if (last >= cache->count || cache->pages[last]->users == 1)
        return 0;
    struct page *copy = page_take(m);
    if (!copy)
        return KERNEL_NO_MEMORY;
    int code = m->kernels->copy(
        &m->run, copy->memory, cache->pages[last]->memory, cache_page_bytes(m));
    page_leave(m, code ? copy : cache->pages[last]);
    if (!code)
        cache->pages[last] = copy;
    return code;
}

int cache_reserve(struct model *m, struct cache *cache, size_t needed,
                  struct err *err)
{
    size_t count = pages_for(m, needed), before = cache->count;
    size_t next = cache->length / m->pages.slots;
    bool shared = cache->length < needed && next < before &&
                  cache->pages[next]->users > 1;
    int code = forward_hils_landmarks(m, cache, needed);
    if (!code && count <= before && !shared)
        return 0;
    if (!code)
        code = own_last(m, cache);
    if (!code)
        code = grow(m, cache, count);
    while (!code && cache->count < count) {
        struct page *page = page_take(m);
        if (page)
            cache->pages[cache->count++] = page;
        else
            code = KERNEL_NO_MEMORY;
    }
    while (code && cache->count > before)
        page_leave(m, cache->pages[--cache->count]);
    int sent = cache->count ? send_table(m, cache) : 0;
    return forward_error(code ? code : sent, err);
}

void cache_rewind(struct model *m, struct cache *cache, size_t length)
{
    while (cache->count > pages_for(m, length))
        page_leave(m, cache->pages[--cache->count]);
    if (length < cache->length)
        cache->length = length;
}

int cache_fork(struct model *m, const struct cache *from, size_t length,
               struct cache *to, struct err *err)
{
    size_t count = pages_for(m, length);
    int code = grow(m, to, count);
    for (size_t i = 0; i < count && !code; i++) {
        to->pages[to->count++] = from->pages[i];
        from->pages[i]->users++;
    }
    if (!code)
        code = send_table(m, to);
    to->length = length;
    return forward_error(code, err);
}

void cache_free(struct model *m, struct cache *cache)
{
    cache_rewind(m, cache, 0);
    m->kernels->release(&m->run, cache->table);
    free(cache->pages);
    free(cache->host_table);
    *cache = (struct cache){0};
}

/* ---- What is in them ---- */

struct kernel_places cache_places(const struct cache *cache, size_t rows)
{
    return (struct kernel_places){cache->table, cache->length, rows};
}

struct kernel_pages cache_pages(const struct model *m,
                                const struct cache *cache, size_t layer)
{
    size_t at = m->pages.at[layer];
    const float *const *table = (const float *const *)cache->table;
    return (struct kernel_pages){.keys = table,
                                 .values = table,
                                 .key_at = at,
                                 .value_at = at + part_floats(m),
                                 .slots = m->pages.slots,
                                 .type = m->pages.type,
                                 .by_head = true};
}

struct kernel_summaries cache_summaries(const struct model *m,
                                        const struct cache *cache, size_t layer)
{
    size_t at = m->pages.at[layer] + cache_layer_floats(m);
    struct kernel_summaries ret = {.keys = cache->table, .key_at = at};
    if (cache->hils.exact) {
        ret.means = CACHE_MEANS;
    } else {
        ret.type = summary_type(m);
        ret.biases = cache->table;
        ret.bias_at = at + summary_key_floats(m);
    }
    return ret;
}
