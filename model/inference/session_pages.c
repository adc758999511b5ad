/* A session's pages of keys and values as bytes, to lie elsewhere. */
#include <string.h>

#include "base/buf.h"
#include "base/version.h"
#include "model/inference/session_internal.h"

size_t session_page_tokens(const struct session *s)
{
    bool plain = !s->cache.inserted && !s->text && !s->begin &&
                 s->model->config.attention.kind == ATTENTION_FULL;
    return plain ? s->model->pages.slots : 0;
}

/* Of one layer in a page as bytes. */
static size_t layer_bytes(const struct model *m)
{
    return cache_layer_floats(m) * sizeof(float);
}

size_t session_page_bytes(const struct session *s)
{
    return s->model->config.layers * layer_bytes(s->model);
}

static void put_number(struct buf *to, uint64_t number)
{
    buf_put_varint(to, number);
}

/* What is computed, by what, how it lies, and how it was chosen. */
struct hash128 session_kind(const struct session *s)
{
    const struct model *m = s->model;
    const struct hils_use *h = &s->cache.hils;
    const char *variant = m->kernels->variant;
    unsigned char print[16];
    struct buf text = {0};
    hash_write(m->facts.fingerprint, print);
    buf_put(&text, print, sizeof print);
    buf_put_string(&text, slice_of(LECTERN_VERSION));
    buf_put_string(&text, slice_of(m->kernels->name));
    buf_put_string(&text, slice_of(variant ? variant : ""));
    put_number(&text, (uint64_t)m->pages.type);
    put_number(&text, m->pages.slots);
    put_number(&text, m->pages.floats);
    put_number(&text, h->chunk);
    put_number(&text, h->window);
    put_number(&text, h->top_k);
    put_number(&text, h->exact ? CACHE_MEANS : 0);
    put_number(&text, h->full);
    put_number(&text, h->read);
    put_number(&text, h->looks);
    put_number(&text, h->all);
    struct hash128 kind = hash_bytes(text.data, text.size);
    buf_free(&text);
    return kind;
}

static int check_pages(const struct session *s, size_t from, size_t count,
                       struct err *err)
{
    size_t page = session_page_tokens(s);
    if (!page || from % page || count % page)
        return err_set(err, ERR_USAGE,
                       "%zu tokens from %zu on are no whole pages of their own",
                       count, from);
    return 0;
}

static float *layer_of(const struct session *s, size_t page, size_t layer)
{
    return s->cache.pages[page]->memory + s->model->pages.at[layer];
}

int session_export(struct session *s, size_t from, size_t count, void *ret,
                   struct err *err)
{
    struct model *m = s->model;
    size_t bytes = layer_bytes(m), first = from / m->pages.slots;
    char *next = ret;
    int code = check_pages(s, from, count, err);
    if (code)
        return code;
    if (from + count > s->kept)
        return err_set(err, ERR_USAGE, "%zu tokens of %zu are to be exported",
                       from + count, s->kept);
    for (size_t i = 0; i < count / m->pages.slots; i++)
        for (size_t layer = 0; layer < m->config.layers && !code; layer++) {
            code = m->kernels->download(&m->run, next,
                                        layer_of(s, first + i, layer), bytes);
            next += bytes;
        }
    return forward_error(code, err);
}

static int check_ids(const struct session *s, const int32_t *ids, size_t count,
                     struct err *err)
{
    const struct model_config *c = &s->model->config;
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= c->vocabulary)
            return err_set(err, ERR_USAGE, "the id %d is none", (int)ids[i]);
    if (s->kept != s->length || count > c->context - s->length)
        return err_set(err, ERR_USAGE,
                       "%zu tokens cannot be imported behind %zu", count,
                       s->length);
    return 0;
}

int session_import(struct session *s, const int32_t *ids, size_t count,
                   const void *pages, struct err *err)
{
    struct model *m = s->model;
    size_t bytes = layer_bytes(m), first = s->length / m->pages.slots;
    const char *next = pages;
    int code = check_pages(s, s->length, count, err);
    if (!code)
        code = check_ids(s, ids, count, err);
    if (!code)
        code = session_room(s, s->length + count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count / m->pages.slots; i++)
        for (size_t layer = 0; layer < m->config.layers && !code; layer++) {
            code = m->kernels->upload(&m->run, layer_of(s, first + i, layer),
                                      next, bytes);
            next += bytes;
        }
    if (!code)
        code = forward_hils_means(m, &s->cache, first,
                                  first + count / m->pages.slots);
    if (code)
        return forward_error(code, err);
    memcpy(s->ids + s->length, ids, count * sizeof *ids);
    s->length = s->kept = s->cache.length = s->length + count;
    s->fresh = false;
    return 0;
}
