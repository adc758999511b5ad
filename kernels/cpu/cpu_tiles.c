/* Layouts, in tiles of 16 rows of 64 bytes:
 *
 *   of a [m, k]   [m / 16][k / 32][TERMS] tiles: 16 rows, 32 numbers of each
 *   of w [n, k]   [n / 32][k / 32][terms][2] tiles: 16 pairs of numbers, which
 *                 follow one another, of 16 rows of the weight (of both halves
 *                 of a panel of 32)
 *
 * filled up with zeros.  A block of the result, 32 x 32, stays in four tiles while
 * it is summed up over a chunk of k; between chunks it lies in `out`.  Chunks are
 * so large that a's part stays in the second cache. */
#include "kernels/cpu/cpu_tiles.h"

#include "kernels/cpu/cpu_internal.h"
#include "kernels/cpu/packed_cache.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VECTORS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define TILES                                                                  \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,"       \
                          "amx-bf16")))
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

enum {
    SIDE = 16,         /* rows of a tile, and columns of a result's */
    DEEP = 32,         /* numbers of k in a tile */
    PANEL = 2 * SIDE,  /* columns of a panel, rows of a block */
    TILE = 1024,       /* bytes */
    TERMS = 3,         /* of an f32 number */
    HALF_TERMS = 2,    /* of an f16 number */
    CHUNK = 32,        /* tiles of k: 1024 numbers */
    CHUNK_ROWS = 96,   /* of a: with CHUNK they take 576 KiB */
    LAYING_ROWS = 192, /* the same where each chunk lays the weight out anew */
    MIN_ROWS = 32,     /* of a chunk, cut for the threads */
    MAX_PANELS = 8     /* that a thread takes at a time */
};

struct tiles {
    pthread_mutex_t mutex; /* of what follows, until it is laid out */
    bool tried;
    char *data; /* NULL: not kept */
    size_t bytes;
};

bool tiles_usable(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    return (d & AMX_BF16) && (d & AMX_TILE) &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

struct tiles *tiles_new(void)
{
    struct tiles *tiles = calloc(1, sizeof *tiles);
    if (tiles)
        pthread_mutex_init(&tiles->mutex, NULL);
    return tiles;
}

void tiles_free(struct tiles *tiles)
{
    if (!tiles)
        return;
    pthread_mutex_destroy(&tiles->mutex);
    kept_give(tiles->bytes, false);
    free(tiles->data);
    free(tiles);
}

static size_t up(size_t count, size_t by)
{
    return (count + by - 1) / by;
}

/* ---- Splitting ---- */

/* The upper halves of 32 numbers' bits. */
VECTORS INLINE __m512i upper(__m512 x, __m512 y)
{
    const __m512i odd = _mm512_set_epi16(
        63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
        27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi16(_mm512_castps_si512(x), odd,
                                     _mm512_castps_si512(y));
}

/* What the upper halves leave, exactly; nothing of an infinity. */
VECTORS INLINE __m512 rest(__m512 x)
{
    enum { INFINITIES = 0x18 };
    const __m512i mask = _mm512_set1_epi32((int)0xFFFF0000);
    __m512i high = _mm512_and_si512(_mm512_castps_si512(x), mask);
    __mmask16 finite = (__mmask16)~_mm512_fpclass_ps_mask(x, INFINITIES);
    return _mm512_maskz_sub_ps(finite, x, _mm512_castsi512_ps(high));
}

/* The terms of 32 numbers.  Each has at most the sign of its number and 8 bits,
 * so that the last is exact. */
VECTORS INLINE void split(__m512i out[TERMS], __m512 x, __m512 y)
{
    UNROLL
    for (int term = 0; term < TERMS; term++) {
        out[term] = upper(x, y);
        x = rest(x);
        y = rest(y);
    }
}

/* Up to 32 numbers, then zeros. */
VECTORS INLINE void load(__m512 *x, __m512 *y, const char *from, size_t count)
{
    const uint32_t mask = count < DEEP ? (1u << count) - 1 : ~0u;
    *x = _mm512_maskz_loadu_ps((__mmask16)mask, from);
    *y = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), from + 64);
}

/* ---- Laying out ---- */

struct job {
    float *out;
    const float *a; /* [m, k] */
    char *split;    /* the tiles of a; NULL: each unit splits its own rows */
    const struct kernel_weight *w;
    char *data; /* the tiles of w; NULL: laid out where they are needed */
    size_t m, n, k;
    size_t deep, panels; /* tiles of k, panels of n */
    size_t terms;        /* of w */
    size_t rows, group;  /* of a unit of work: rows and panels */
    size_t groups;
    bool add;
    atomic_bool failed;
};

static size_t split_bytes(const struct job *job, size_t rows)
{
    return up(rows, SIDE) * job->deep * TERMS * TILE;
}

/* The tiles of rows [from, end) of a, with what fills up the last; from: a multiple
 * of SIDE. */
VECTORS static void split_rows(const struct job *job, char *tiles, size_t from,
                               size_t end)
{
    for (size_t row = from; row < up(end, SIDE) * SIDE; row++)
        for (size_t l = 0; l < job->deep; l++) {
            __m512i terms[TERMS] = {_mm512_setzero_si512()};
            __m512 x, y;
            if (row < job->m) {
                load(&x, &y, (const char *)(job->a + row * job->k + l * DEEP),
                     job->k - l * DEEP);
                split(terms, x, y);
            }
            char *to_row = tiles + split_bytes(job, row - row % SIDE - from) +
                           l * TERMS * TILE + row % SIDE * 64;
            UNROLL
            for (size_t term = 0; term < TERMS; term++)
                _mm512_store_si512(to_row + term * TILE, terms[term]);
        }
}

/* Row tiles [from, to) of a. */
static void split_part(void *argument, size_t from, size_t to)
{
    const struct job *job = argument;
    split_rows(job, job->split + split_bytes(job, from * SIDE), from * SIDE,
               to * SIDE);
}

/* to [16][16] = from, mirrored. */
VECTORS INLINE void mirror(char *to, const __m512i from[SIDE])
{
    __m512i x[SIDE], y[SIDE];
    UNROLL
    for (size_t i = 0; i < SIDE; i += 2) {
        x[i] = _mm512_unpacklo_epi32(from[i], from[i + 1]);
        x[i + 1] = _mm512_unpackhi_epi32(from[i], from[i + 1]);
    }
    UNROLL
    for (size_t i = 0; i < SIDE; i += 4)
        for (size_t j = 0; j < 2; j++) {
            y[i + 2 * j] = _mm512_unpacklo_epi64(x[i + j], x[i + j + 2]);
            y[i + 2 * j + 1] = _mm512_unpackhi_epi64(x[i + j], x[i + j + 2]);
        }
    /* y[4 q + c]: column 4 b + c of rows 4 q ... 4 q + 3 is its part b */
    UNROLL
    for (size_t c = 0; c < 4; c++) {
        __m512i low = _mm512_shuffle_i32x4(y[c], y[4 + c], 0x88);
        __m512i high = _mm512_shuffle_i32x4(y[c], y[4 + c], 0xDD);
        __m512i low2 = _mm512_shuffle_i32x4(y[8 + c], y[12 + c], 0x88);
        __m512i high2 = _mm512_shuffle_i32x4(y[8 + c], y[12 + c], 0xDD);
        _mm512_store_si512(to + c * 64, _mm512_shuffle_i32x4(low, low2, 0x88));
        _mm512_store_si512(to + (8 + c) * 64,
                           _mm512_shuffle_i32x4(low, low2, 0xDD));
        _mm512_store_si512(to + (4 + c) * 64,
                           _mm512_shuffle_i32x4(high, high2, 0x88));
        _mm512_store_si512(to + (12 + c) * 64,
                           _mm512_shuffle_i32x4(high, high2, 0xDD));
    }
}

static size_t analyze(int type)
{
    return type == KERNEL_F32 ? TERMS : type == KERNEL_F16 ? HALF_TERMS : 1;
}

/* The terms of up to 32 numbers of a weight, then zeros; without their scale. */
VECTORS INLINE void lay_numbers(__m512i out[TERMS], const char *at, int type,
                                size_t count)
{
    const uint32_t mask = count < DEEP ? (1u << count) - 1 : ~0u;
    __m512 x, y;
    if (type == KERNEL_BF16) {
        out[0] = _mm512_maskz_loadu_epi16(mask, at);
        return;
    }
    if (type == KERNEL_F32) {
        load(&x, &y, at, count);
    } else if (type == KERNEL_F16) {
        __m512i halves = _mm512_maskz_loadu_epi16(mask, at);
        x = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
        y = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
    } else {
        __m256i bytes = _mm256_maskz_loadu_epi8(mask, at);
        x = _mm512_cvtepi32_ps(
            _mm512_cvtepi8_epi32(_mm256_castsi256_si128(bytes)));
        y = _mm512_cvtepi32_ps(
            _mm512_cvtepi8_epi32(_mm256_extracti128_si256(bytes, 1)));
    }
    split(out, x, y);
}

/* The tiles of 16 rows of w from `row` on, at l; `to`: the first of them. */
VECTORS INLINE void lay_tile(char *to, const struct kernel_weight *w,
                             size_t row, size_t l)
{
    SCRATCH __m512i terms[TERMS][SIDE];
    size_t size = kernel_type_size(w->type), count = w->k - l * DEEP;
    for (size_t i = 0; i < SIDE; i++) {
        const char *at = (const char *)w->host + l * DEEP * size;
        __m512i here[TERMS] = {_mm512_setzero_si512()};
        if (row + i < w->n) {
            at += (row + i) * w->k * size;
            lay_numbers(here, at, w->type, count);
        }
        for (size_t term = 0; term < TERMS; term++)
            terms[term][i] = here[term];
    }
    for (size_t term = 0; term < analyze(w->type); term++)
        mirror(to + term * 2 * TILE, terms[term]);
}

/* Tiles [l, end) of k of a panel. */
VECTORS static void lay_panel(char *to, const struct job *job, size_t panel,
                              size_t l, size_t end)
{
    for (; l < end; l++, to += job->terms * 2 * TILE)
        for (size_t half = 0; half < 2; half++)
            lay_tile(to + half * TILE, job->w, panel * PANEL + half * SIDE, l);
}

static size_t panel_bytes(const struct job *job)
{
    return job->deep * job->terms * 2 * TILE;
}

static void lay_part(void *argument, size_t from, size_t to)
{
    const struct job *job = argument;
    for (size_t panel = from; panel < to; panel++)
        lay_panel(job->data + panel * panel_bytes(job), job, panel, 0,
                  job->deep);
}

/* Sets job->data, if there is room to keep it. */
static void prepare(struct kernel_run *run, struct job *job)
{
    struct tiles *tiles = job->w->tiles;
    size_t bytes = job->panels * panel_bytes(job);
    pthread_mutex_lock(&tiles->mutex);
    if (!tiles->tried && kept_take(bytes, false)) {
        job->data = ref_scratch(bytes);
        if (job->data) {
            cpu_share(run, job->panels, (double)job->n * (double)job->k,
                      lay_part, job);
            tiles->bytes = bytes;
        } else {
            kept_give(bytes, false);
        }
        tiles->data = job->data;
    }
    tiles->tried = true;
    job->data = tiles->data;
    pthread_mutex_unlock(&tiles->mutex);
}

/* ---- Multiplying ---- */

struct configuration {
    uint8_t palette, start, reserved[14];
    uint16_t columns[16]; /* bytes */
    uint8_t rows[16];
};

TILES static void configure(void)
{
    struct configuration all = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        all.columns[tile] = 64;
        all.rows[tile] = SIDE;
    }
    /* the intrinsic of some GCCs (12.2) says that it reads 8 bytes of it */
    __asm__ volatile("" ::"r"(&all) : "memory");
    _tile_loadconfig(&all);
}

/* What is in memory is what tiles are loaded from, and the other way round. */
#define SETTLE() __asm__ volatile("" ::: "memory")

/* Tiles 0 to 3 += a, one or two rows of tiles, by a panel.  a: `a_step` bytes
 * apart; both over `deep` tiles of k. */
TILES INLINE void sum_up(const char *a, size_t a_step, const char *b,
                         size_t deep, size_t terms, bool two)
{
    for (; deep; deep--, a += TERMS * TILE)
        for (size_t of_w = 0; of_w < terms; of_w++, b += 2 * TILE) {
            _tile_loadd(6, b, 64);
            _tile_loadd(7, b + TILE, 64);
            for (size_t of_a = 0; of_a < TERMS - of_w; of_a++) {
                _tile_loadd(4, a + of_a * TILE, 64);
                _tile_dpbf16ps(0, 4, 6);
                _tile_dpbf16ps(1, 4, 7);
                if (two) {
                    _tile_loadd(5, a + a_step + of_a * TILE, 64);
                    _tile_dpbf16ps(2, 5, 6);
                    _tile_dpbf16ps(3, 5, 7);
                }
            }
        }
}

/* A block of the result: rows x columns of it are there. */
struct block {
    float *out;
    size_t step; /* floats from row to row */
    size_t rows, columns;
    const float *scale; /* [columns], of int8; else NULL */
    bool add;
};

static void copy(float *to, size_t to_step, const float *from, size_t from_step,
                 const struct block *block)
{
    for (size_t i = 0; i < block->rows; i++)
        memcpy(to + i * to_step, from + i * from_step,
               block->columns * sizeof *to);
}

/* The block is, or gets more, what was summed up times the columns' scales. */
static void scale_block(const struct block *block, const float *from)
{
    for (size_t i = 0; i < block->rows; i++, from += PANEL) {
        float *out = block->out + i * block->step;
        for (size_t j = 0; j < block->columns; j++)
            out[j] = from[j] * block->scale[j] + (block->add ? out[j] : 0);
    }
}

TILES INLINE void load_block(const float *out, size_t step, bool two)
{
    _tile_loadd(0, out, step * sizeof *out);
    _tile_loadd(1, out + SIDE, step * sizeof *out);
    if (two) {
        _tile_loadd(2, out + SIDE * step, step * sizeof *out);
        _tile_loadd(3, out + SIDE * step + SIDE, step * sizeof *out);
    }
}

TILES INLINE void store_block(float *out, size_t step, bool two)
{
    _tile_stored(0, out, step * sizeof *out);
    _tile_stored(1, out + SIDE, step * sizeof *out);
    if (two) {
        _tile_stored(2, out + SIDE * step, step * sizeof *out);
        _tile_stored(3, out + SIDE * step + SIDE, step * sizeof *out);
    }
}

TILES INLINE void multiply_as(const struct block *block, const char *a,
                              size_t a_step, const char *b, size_t deep,
                              size_t terms, bool two)
{
    SCRATCH float edge[PANEL * PANEL];
    float *out = block->out;
    size_t step = block->step;
    bool add = block->add && !block->scale;
    bool whole = block->columns == PANEL && !block->scale &&
                 block->rows == (two ? PANEL : SIDE);
    if (!whole) {
        out = edge;
        step = PANEL;
        memset(edge, 0, sizeof edge);
        if (add)
            copy(edge, PANEL, block->out, block->step, block);
    }
    SETTLE();
    if (!add) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        load_block(out, step, two);
    }
    sum_up(a, a_step, b, deep, terms, two);
    store_block(out, step, two);
    SETTLE();
    if (block->scale)
        scale_block(block, edge);
    else if (!whole)
        copy(block->out, block->step, edge, PANEL, block);
}

TILES static void multiply(const struct block *block, const char *a,
                           size_t a_step, const char *b, size_t deep,
                           size_t terms)
{
    bool two = block->rows > SIDE;
    if (terms == 1 && two)
        multiply_as(block, a, a_step, b, deep, 1, true);
    else if (terms == 1)
        multiply_as(block, a, a_step, b, deep, 1, false);
    else if (terms == HALF_TERMS && two)
        multiply_as(block, a, a_step, b, deep, HALF_TERMS, true);
    else if (terms == HALF_TERMS)
        multiply_as(block, a, a_step, b, deep, HALF_TERMS, false);
    else if (two)
        multiply_as(block, a, a_step, b, deep, TERMS, true);
    else
        multiply_as(block, a, a_step, b, deep, TERMS, false);
}

/* Rows [row, end), tiles of which are at `a`, by a panel, tiles [l, last) of k of
 * which are at `b`. */
static void multiply_panel(const struct job *job, const char *a, size_t row,
                           size_t end, size_t panel, const char *b, size_t l,
                           size_t last)
{
    size_t a_step = split_bytes(job, SIDE), column = panel * PANEL;
    struct block block = {.step = job->n, .add = job->add || l > 0};
    if (job->w->scale)
        block.scale = job->w->scale + column;
    block.columns = job->n - column < PANEL ? job->n - column : PANEL;
    for (a += l * TERMS * TILE; row < end; row += PANEL, a += 2 * a_step) {
        block.out = job->out + row * job->n + column;
        block.rows = end - row < PANEL ? end - row : PANEL;
        multiply(&block, a, a_step, b, last - l, job->terms);
    }
}

/* What a thread works with; each NULL where it is not needed. */
struct room {
    char *panel; /* a part of the weight, laid out */
    char *split; /* a unit's rows of a */
};

static void multiply_unit(const struct job *job, size_t unit,
                          const struct room *room)
{
    size_t row = unit / job->groups * job->rows, end = row + job->rows;
    size_t first = unit % job->groups * job->group, to = first + job->group;
    end = end < job->m ? end : job->m;
    to = to < job->panels ? to : job->panels;
    const char *a = room->split;
    if (a)
        split_rows(job, room->split, row, end);
    else
        a = job->split + split_bytes(job, row);
    for (size_t l = 0, last; l < job->deep; l = last) {
        last = l + CHUNK < job->deep ? l + CHUNK : job->deep;
        for (size_t panel = first; panel < to; panel++) {
            const char *b = room->panel;
            if (job->data)
                b = job->data + panel * panel_bytes(job) +
                    l * job->terms * 2 * TILE;
            else
                lay_panel(room->panel, job, panel, l, last);
            multiply_panel(job, a, row, end, panel, b, l, last);
        }
    }
}

TILES static void multiply_part(void *argument, size_t from, size_t to)
{
    struct job *job = argument;
    struct room room = {0};
    if (!job->data)
        room.panel = ref_scratch((size_t)CHUNK * job->terms * 2 * TILE);
    if (!job->split)
        room.split = ref_scratch(split_bytes(job, job->rows));
    if ((!job->data && !room.panel) || (!job->split && !room.split)) {
        atomic_store(&job->failed, true);
    } else {
        configure();
        for (; from < to; from++)
            multiply_unit(job, from, &room);
        _tile_release();
    }
    free(room.panel);
    free(room.split);
}

/* Units large enough to use what is in the caches, and enough for the threads.
 * Where there are rows enough for all, a unit is rows by all panels. */
static size_t cut(struct job *job, unsigned threads)
{
    size_t min = threads > 1 ? 4 * (size_t)threads : 1;
    job->rows = job->data ? CHUNK_ROWS : LAYING_ROWS;
    job->group = job->panels;
    job->groups = 1;
    if (2 * up(job->m, job->rows) >= min)
        return up(job->m, job->rows);
    job->group = MAX_PANELS;
    for (;;) {
        job->groups = up(job->panels, job->group);
        size_t units = up(job->m, job->rows) * job->groups;
        if (units >= min)
            return units;
        if (job->group > 1)
            job->group /= 2;
        else if (job->rows > MIN_ROWS)
            job->rows = up(job->rows / 2, MIN_ROWS) * MIN_ROWS;
        else
            return units;
    }
}

int tiles_matmul(struct kernel_run *run, float *out, const float *a,
                 const struct kernel_weight *w, size_t m, bool add)
{
    struct job job = {.out = out,
                      .a = a,
                      .w = w,
                      .m = m,
                      .n = w->n,
                      .k = w->k,
                      .deep = up(w->k, DEEP),
                      .panels = up(w->n, PANEL),
                      .terms = analyze(w->type),
                      .add = add};
    prepare(run, &job);
    size_t units = cut(&job, run->pool.threads);
    if (job.groups > 1) {
        job.split = ref_scratch(split_bytes(&job, m));
        if (!job.split)
            return KERNEL_NO_MEMORY;
        cpu_share(run, up(m, SIDE), (double)m * (double)w->k, split_part, &job);
    }
    cpu_share(run, units, (double)m * (double)w->n * (double)w->k / 4,
              multiply_part, &job);
    free(job.split);
    return atomic_load(&job.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}

#else

bool tiles_usable(void)
{
    return false;
}

struct tiles *tiles_new(void)
{
    static char none;
    return (struct tiles *)&none;
}

void tiles_free(struct tiles *tiles)
{
    (void)tiles;
}

int tiles_matmul(struct kernel_run *run, float *out, const float *a,
                 const struct kernel_weight *w, size_t m, bool add)
{
    (void)run, (void)out, (void)a, (void)w, (void)m, (void)add;
    return KERNEL_UNSUPPORTED;
}

#endif
