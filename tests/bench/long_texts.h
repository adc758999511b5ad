/* Long texts for the benchmarks of attention: a model opened so that it may choose what
 * it reads, texts read in full and kept in files, and ways to read what follows. */
#ifndef TESTS_BENCH_LONG_TEXTS_H
#define TESTS_BENCH_LONG_TEXTS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "daemon/engine/prompt_files.h"
#include "model/model.h"

enum { PIECE = 128, READ = 512, PAGE = 64, USUAL = 2560 };

static struct model *model;

static inline void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

/* 0 threads: as many as there are. */
static inline struct pool *open_pool(unsigned threads)
{
    struct err err = {.position = -1};
    struct pool *pool = NULL;
    must(pool_new(threads, &pool, &err), &err);
    return pool;
}

static inline void open_model_with(const char *path, struct pool *pool,
                                   bool int8)
{
    struct err err = {.position = -1};
    struct model_options options = {
        .kernels = kernels_cpu(),
        .exact = true,
        .keys_int8 = int8,
        .pool = {pool, pool_parallel_for, pool_threads(pool)}};
    must(model_open(path, &options, &model, &err), &err);
}

static inline struct pool *open_model(const char *path, unsigned threads)
{
    struct pool *pool = open_pool(threads);
    open_model_with(path, pool, false);
    return pool;
}

static inline struct session *open_session(const struct session_exact *how)
{
    struct err err = {.position = -1};
    struct session *s;
    must(session_open_exact(model, how, &s, &err), &err);
    return s;
}

static inline struct session *fork_session(struct session *base, size_t length)
{
    struct err err = {.position = -1};
    struct session *s;
    must(session_fork(base, length, &s, &err), &err);
    return s;
}

static inline void read_on(struct session *s, const int32_t *ids, size_t count)
{
    struct err err = {.position = -1};
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < READ ? count - at : READ;
        must(session_prefill(s, ids + at, some, NULL, NULL, &err), &err);
    }
}

/* Of the token `id` by the logits [count] before it. */
static inline double log_loss(const float *logits, size_t count, int32_t id)
{
    double top = (double)logits[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        top = (double)logits[i] > top ? (double)logits[i] : top;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - top);
    return log(sum) + top - (double)logits[id];
}

/* ---- Texts ---- */

static inline void put_ids(struct slice text, struct ids *ids)
{
    struct err err = {.position = -1};
    must(tokenizer_encode(model_tokenizer(model), text, false, ids, &err),
         &err);
}

/* The first MiB of a file. */
static inline struct buf file_text(const char *path)
{
    struct err err = {.position = -1};
    struct buf text = {0};
    must(file_read(path, (size_t)1 << 24, &text, &err), &err);
    text.size = text.size < 1 << 20 ? text.size : 1 << 20;
    return text;
}

static inline struct ids file_ids(const char *path)
{
    struct ids ids = {0};
    struct buf text = file_text(path);
    put_ids(buf_slice(&text), &ids);
    buf_free(&text);
    return ids;
}

/* ---- Reading what files keep ---- */

static struct prompt_files *kept; /* NULL: none are */

static inline void keep_in(const char *folder)
{
    struct err err = {.position = -1};
    must(prompt_files_open(folder, (uint64_t)1 << 40, &kept, &err), &err);
}

/* A text as it is read. */
struct reading {
    struct session *s;
    const int32_t *ids;
    struct hash128 name; /* of the last piece read */
    void *pages;         /* of one piece */
    size_t bytes;
};

static inline struct reading begin_reading(const struct session_exact *how,
                                           const int32_t *ids)
{
    struct reading r = {.s = open_session(how), .ids = ids};
    r.name = session_kind(r.s);
    r.bytes = PIECE / PAGE * session_page_bytes(r.s);
    r.pages = mem_alloc(r.bytes);
    return r;
}

static inline void end_reading(struct reading *r)
{
    session_close(r->s);
    free(r->pages);
}

static inline bool read_kept(struct reading *r)
{
    struct err err = {.position = -1};
    const int32_t *ids = r->ids + session_length(r->s);
    struct prompt_piece piece = {.before = r->name, .ids = ids, .count = PIECE};
    if (!kept || prompt_files_read(kept, &piece, r->pages, r->bytes, &err))
        return false;
    must(session_import(r->s, ids, PIECE, r->pages, &err), &err);
    r->name = prompt_piece_name(&piece);
    return true;
}

static inline void keep(struct reading *r, size_t at)
{
    struct err err = {.position = -1};
    struct prompt_piece piece = {
        .before = r->name, .ids = r->ids + at, .count = PIECE};
    must(session_export(r->s, at, PIECE, r->pages, &err), &err);
    must(prompt_files_write(kept, &piece, NULL, 0, r->pages, r->bytes, &err),
         &err);
    r->name = prompt_piece_name(&piece);
}

/* Reads on to `end`, a multiple of PIECE; what files keep is taken from there. */
static inline void read_to(struct reading *r, size_t end)
{
    size_t at;
    while ((at = session_length(r->s)) < end) {
        size_t to = at + READ < end ? at + READ : end;
        if (read_kept(r))
            continue;
        read_on(r->s, r->ids + at, to - at);
        for (; kept && at < to; at += PIECE)
            keep(r, at);
    }
}

/* ---- Ways to read ---- */

/* A word as one of these:
 *   full            all is read
 *   window=N        the last N tokens alone
 *   exact=N         as `hils_tokens = N` reads; exact=N/L: the first L layers full;
 *                   exact=N/L/R: several tokens at once read all of up to R
 *   means=N         the same without re-ranking
 *   keys=N          the same, of all chunks by their keys
 *   W/C/L, W/C/Lr   a window of W, C chunks, L layers full; re-ranked */
static inline struct session_exact way_of(const char *word)
{
    struct session_exact how = {.all = true};
    const char *number = strchr(word, '=');
    char *at = NULL;
    size_t count = number ? strtoul(number + 1, &at, 10) : 0;
    if (!strncmp(word, "exact=", 6) || !strncmp(word, "means=", 6) ||
        !strncmp(word, "keys=", 5)) {
        how = session_exact_of(count);
        how.rerank = *word == 'e'   ? SESSION_RERANKED
                     : *word == 'k' ? SESSION_BY_KEYS
                                    : SESSION_BY_MEANS;
        how.full = *at == '/' ? strtoul(at + 1, &at, 10) : 0;
        how.read = *at == '/' ? strtoul(at + 1, NULL, 10) : 0;
    } else if (!strncmp(word, "window=", 7)) {
        how.window = count;
    } else if (strchr(word, '/')) {
        how = (struct session_exact){.window = strtoul(word, &at, 10)};
        how.top_k = strtoul(at + 1, &at, 10);
        how.full = strtoul(at + 1, &at, 10);
        how.rerank = *at == 'r' ? SESSION_RERANKED : SESSION_BY_MEANS;
    } else if (strcmp(word, "full") != 0) {
        fprintf(stderr, "%s: no way to read\n", word);
        exit(2);
    }
    return how;
}

/* ---- Rows that a run before has left ----
 *
 * Rows are lines of JSON.  A run to whose file others were appended goes on: rows that
 * are there are not made again. */

static struct buf rows;
static FILE *rows_file; /* NULL: rows are printed alone */

static inline void go_on_with(const char *path)
{
    struct err err = {.position = -1};
    rows_file = fopen(path, "a");
    if (!rows_file) {
        perror(path);
        exit(1);
    }
    must(file_read(path, (size_t)1 << 24, &rows, &err), &err);
    buf_put_text(&rows, "");
}

/* Returns what follows `begin`, with which a row begins; NULL: there is none. */
static inline const char *row_behind(const char *begin)
{
    size_t size = strlen(begin);
    for (size_t at = 0; at + size <= rows.size; at++)
        if (!memcmp(rows.data + at, begin, size))
            return (const char *)rows.data + at + size;
    return NULL;
}

static inline void put_row(const char *begin, const char *rest)
{
    printf("%s%s\n", begin, rest);
    fflush(stdout);
    if (!rows_file)
        return;
    fprintf(rows_file, "%s%s\n", begin, rest);
    fflush(rows_file);
}

#endif
