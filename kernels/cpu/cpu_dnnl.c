/* Products of many rows by oneDNN.
 *
 * A weight [n, k] is cut into blocks of columns (rows of the file), each packed
 * by itself: oneDNN runs in the calling thread alone, and the threads are ours.
 * The rows of `a` are cut into tiles: 256 as often as they go in, then the
 * largest multiple of 16, then, when rows are left, the last 16, some of which
 * were done before.  So there are 16 heights of tiles, and for each shape of
 * block at most as many primitives, made when first needed and kept for good.
 *
 * All weights are packed as f32: twice the size of bf16, but exact.  As bf16 a
 * pass of many rows would not equal its rows one by one.  Those of int8 are
 * rounded once, with their scale.
 *
 * Where a run allows it (kernel_run.int8), both sides are rounded to eight bits: each
 * row of the weight, once, and each of `a`, times what makes its largest number 127.
 * Their products are summed up as integers, so that of a row nothing depends on the
 * others; a result is that sum times both scales.
 *
 * Packed weights are kept of small models (packed_cache.h).
 * Of the others each block is packed anew for each product, which costs some
 * hundredths of the time of one of 512 rows; not in eight bits, where it costs
 * more than a product of 256 rows saves: of these only what is kept is multiplied.
 *
 * oneDNN's fast product writes dense matrices only, so a tile's result goes
 * through a buffer.
 *
 * Every thread tells OpenMP that it is alone while it is in oneDNN: otherwise a
 * team of spinning threads is started behind each of ours.  What the thread had
 * told OpenMP before is put back after. */
#include <dnnl.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/cpu_internal.h"
#include "kernels/cpu/packed_cache.h"
#include "kernels/cpu/cpu_packed.h"

enum {
    STEP = PACKED_MIN_ROWS, /* heights of tiles are multiples of it */
    HEIGHTS = 16,
    TILE = STEP * HEIGHTS,
    MIN_COLUMNS = 64,
    MAX_COLUMNS = 512,
    BLOCK_BYTES = 1 << 20 /* of a block in f32, so that it stays in a cache */
};

const bool packed_here = true;

/* A product [rows, k] . [k, n], all dense. */
struct tile {
    dnnl_primitive_t primitive; /* NULL: not made yet */
    dnnl_memory_desc_t a, out, scratch;
    bool failed;
};

struct shape {
    size_t n, k;
    bool int8;                 /* both sides are, the result is f32 */
    dnnl_memory_desc_t weight; /* as oneDNN wants it packed */
    size_t bytes;
    struct tile tiles[HEIGHTS];
    struct shape *next;
};

/* Shapes and primitives, for the whole process; they are never freed. */
static struct {
    pthread_mutex_t mutex;
    dnnl_engine_t engine;
    struct shape *shapes;
} library = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct packed {
    pthread_mutex_t mutex; /* of what follows, until it is laid out */
    bool laid, failed;
    bool int8;
    size_t columns, blocks;     /* of each but the last block */
    struct shape *shape, *last; /* of each but the last block; of the last */
    char *data; /* blocks, shape->bytes apart; NULL: not kept, never of int8 */
    float *scale; /* behind them, of int8: [n], of the weight's rows */
};

struct packed *packed_new(bool int8)
{
    struct packed *packed = calloc(1, sizeof *packed);
    if (!packed)
        return NULL;
    pthread_mutex_init(&packed->mutex, NULL);
    packed->int8 = int8;
    return packed;
}

void packed_free(struct packed *packed)
{
    if (!packed)
        return;
    pthread_mutex_destroy(&packed->mutex);
    if (packed->data)
        kept_give(packed->blocks * packed->shape->bytes, packed->int8);
    free(packed->data);
    free(packed);
}

/* Returns what omp_set_num_threads is to be given afterwards. */
static int alone(void)
{
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    return before;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* ---- Shapes and primitives; the library's mutex is held ---- */

static bool matrix(dnnl_memory_desc_t *ret, size_t rows, size_t columns,
                   bool int8, dnnl_format_tag_t tag)
{
    dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    dnnl_data_type_t type = int8 ? dnnl_s8 : dnnl_f32;
    return dnnl_memory_desc_init_by_tag(ret, 2, dims, type, tag) ==
           dnnl_success;
}

static bool copy_desc(dnnl_memory_desc_t *ret, dnnl_primitive_desc_t desc,
                      dnnl_query_t what)
{
    const dnnl_memory_desc_t *found =
        dnnl_primitive_desc_query_md(desc, what, 0);
    if (found)
        *ret = *found;
    return found != NULL;
}

/* The description of a tile's product; the weight as `weight` says. */
static bool describe(dnnl_primitive_desc_t *ret, struct tile *tile,
                     const struct shape *shape,
                     const dnnl_memory_desc_t *weight, size_t rows)
{
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_attr_t attr = NULL;
    bool done = matrix(&tile->a, rows, shape->k, shape->int8, dnnl_ab) &&
                matrix(&tile->out, rows, shape->n, false, dnnl_ab) &&
                dnnl_matmul_desc_init(&matmul, &tile->a, weight, NULL,
                                      &tile->out) == dnnl_success &&
                dnnl_primitive_attr_create(&attr) == dnnl_success &&
                dnnl_primitive_attr_set_scratchpad_mode(
                    attr, dnnl_scratchpad_mode_user) == dnnl_success &&
                dnnl_primitive_desc_create(ret, &matmul, attr, library.engine,
                                           NULL) == dnnl_success;
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return done;
}

/* NULL when oneDNN cannot. */
static struct tile *tile_of(struct shape *shape, size_t rows)
{
    struct tile *tile = &shape->tiles[rows / STEP - 1];
    if (tile->primitive || tile->failed)
        return tile->failed ? NULL : tile;
    dnnl_primitive_desc_t desc = NULL;
    tile->failed =
        !describe(&desc, tile, shape, &shape->weight, rows) ||
        !copy_desc(&tile->scratch, desc, dnnl_query_scratchpad_md) ||
        dnnl_primitive_create(&tile->primitive, desc) != dnnl_success;
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return tile->failed ? NULL : tile;
}

static struct shape *shape_of(size_t n, size_t k, bool int8)
{
    struct shape *shape = library.shapes;
    while (shape && (shape->n != n || shape->k != k || shape->int8 != int8))
        shape = shape->next;
    if (shape)
        return shape;
    if (!library.engine &&
        dnnl_engine_create(&library.engine, dnnl_cpu, 0) != dnnl_success)
        return NULL;
    shape = calloc(1, sizeof *shape);
    if (!shape)
        return NULL;
    shape->n = n;
    shape->k = k;
    shape->int8 = int8;
    struct tile model;
    dnnl_memory_desc_t any;
    dnnl_primitive_desc_t desc = NULL;
    bool done = matrix(&any, k, n, int8, dnnl_format_tag_any) &&
                describe(&desc, &model, shape, &any, TILE) &&
                copy_desc(&shape->weight, desc, dnnl_query_weights_md);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    if (!done) {
        free(shape);
        return NULL;
    }
    shape->bytes = aligned(dnnl_memory_desc_get_size(&shape->weight));
    shape->next = library.shapes;
    library.shapes = shape;
    return shape;
}

/* ---- Running ---- */

enum { MAX_ARGUMENTS = 4 };

struct argument {
    int name; /* DNNL_ARG_... */
    const dnnl_memory_desc_t *desc;
    void *data;
};

static bool execute(dnnl_primitive_t primitive,
                    const struct argument *arguments, int count)
{
    dnnl_exec_arg_t passed[MAX_ARGUMENTS];
    dnnl_stream_t stream = NULL;
    bool done = dnnl_stream_create(&stream, library.engine,
                                   dnnl_stream_default_flags) == dnnl_success;
    int made = 0;
    for (; done && made < count; made += done) {
        passed[made].arg = arguments[made].name;
        done = dnnl_memory_create(&passed[made].memory, arguments[made].desc,
                                  library.engine,
                                  arguments[made].data) == dnnl_success;
    }
    done = done && dnnl_primitive_execute(primitive, stream, count, passed) ==
                       dnnl_success;
    done = done && dnnl_stream_wait(stream) == dnnl_success;
    while (made > 0)
        dnnl_memory_destroy(passed[--made].memory);
    if (stream)
        dnnl_stream_destroy(stream);
    return done;
}

/* ---- Packing ---- */

/* Of the block's first row; NULL: not of int8. */
static float *scale_at(const struct packed *packed, size_t block)
{
    return packed->scale ? packed->scale + block * packed->columns : NULL;
}

struct packing {
    const struct kernel_weight *w;
    const struct packed *packed;
    atomic_bool failed;
};

/* Copies a matrix into another layout. */
static bool reorder(const dnnl_memory_desc_t *from_desc, void *from,
                    const dnnl_memory_desc_t *to_desc, void *to)
{
    const struct argument arguments[] = {{DNNL_ARG_FROM, from_desc, from},
                                         {DNNL_ARG_TO, to_desc, to}};
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    bool done = dnnl_reorder_primitive_desc_create(
                    &desc, from_desc, library.engine, to_desc, library.engine,
                    NULL) == dnnl_success &&
                dnnl_primitive_create(&primitive, desc) == dnnl_success &&
                execute(primitive, arguments, 2);
    if (primitive)
        dnnl_primitive_destroy(primitive);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return done;
}

static const struct shape *shape_at(const struct packed *packed, size_t block)
{
    return block + 1 < packed->blocks ? packed->shape : packed->last;
}

/* Bytes that pack_block needs at most for what is not packed yet: the block's rows in
 * f32, or in eight bits and one in f32. */
static size_t plain_bytes(const struct packed *packed)
{
    const struct shape *shape = packed->shape;
    return packed->int8
               ? aligned(shape->n * shape->k) + shape->k * sizeof(float)
               : shape->n * shape->k * sizeof(float);
}

/* Returns rows of a weight in f32: where they lie, or in `buffer`. */
static void *floats_of(const struct kernel_weight *w, size_t row, size_t count,
                       float *buffer)
{
    struct lanes_weight rows = lanes_weight_from(lanes_of(w), row, w->k);
    if (w->type == KERNEL_F32 && (uintptr_t)rows.rows % sizeof(float) == 0)
        return (void *)(uintptr_t)rows.rows;
    if (kernel_is_blocks(w->type))
        for (size_t i = 0; i < count; i++)
            ref_weight_values(w, row + i, buffer + i * w->k);
    else
        cpu_lanes->widen(buffer, rows, count, w->k);
    return buffer;
}

/* Returns rows of a weight in eight bits, in `buffer`; scale [count]. */
static void *int8_of(const struct kernel_weight *w, size_t row, size_t count,
                     char *buffer, float *scale)
{
    int8_t *to = (int8_t *)buffer;
    float *one = (float *)(void *)(buffer + aligned(count * w->k));
    for (size_t i = 0; i < count; i++, to += w->k)
        scale[i] = cpu_lanes->to_int8(to, floats_of(w, row + i, 1, one), w->k);
    return buffer;
}

/* `buffer` has room for plain_bytes. */
static bool pack_block(const struct packed *packed,
                       const struct kernel_weight *w, size_t block,
                       char *buffer, char *to)
{
    const struct shape *shape = shape_at(packed, block);
    size_t row = block * packed->columns;
    void *from =
        packed->int8
            ? int8_of(w, row, shape->n, buffer, scale_at(packed, block))
            : floats_of(w, row, shape->n, (float *)(void *)buffer);
    dnnl_memory_desc_t plain;
    return matrix(&plain, shape->k, shape->n, packed->int8, dnnl_ba) &&
           reorder(&plain, from, &shape->weight, to);
}

static void pack_part(void *argument, size_t from, size_t to)
{
    struct packing *job = argument;
    const struct packed *packed = job->packed;
    char *buffer = ref_scratch(plain_bytes(packed));
    int before = alone();
    bool done = buffer != NULL;
    for (size_t block = from; done && block < to; block++)
        done = pack_block(packed, job->w, block, buffer,
                          packed->data + block * packed->shape->bytes);
    omp_set_num_threads(before);
    if (!done)
        atomic_store(&job->failed, true);
    free(buffer);
}

/* Enough blocks for the threads, none too large for a cache. */
static size_t choose_columns(size_t n, size_t k, bool int8, unsigned threads)
{
    size_t columns = BLOCK_BYTES / (k * (int8 ? 1 : sizeof(float)) + 1);
    size_t share = n / (2 * (size_t)(threads ? threads : 1));
    columns = columns < share ? columns : share;
    columns = columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
    columns = columns / MIN_COLUMNS * MIN_COLUMNS;
    return columns ? columns : MIN_COLUMNS;
}

static bool lay_out(struct packed *packed, const struct kernel_weight *w,
                    unsigned threads)
{
    size_t columns = choose_columns(w->n, w->k, packed->int8, threads);
    columns = columns < w->n ? columns : w->n;
    packed->columns = columns;
    packed->blocks = (w->n + columns - 1) / columns;
    pthread_mutex_lock(&library.mutex);
    packed->shape = shape_of(columns, w->k, packed->int8);
    packed->last =
        shape_of(w->n - (packed->blocks - 1) * columns, w->k, packed->int8);
    pthread_mutex_unlock(&library.mutex);
    return packed->shape && packed->last;
}

/* Keeps it packed, if there is room; else it goes on without. */
static void keep(struct kernel_run *run, struct packed *packed,
                 const struct kernel_weight *w)
{
    size_t bytes = packed->blocks * packed->shape->bytes;
    struct packing job = {.w = w, .packed = packed};
    if (!kept_take(bytes, packed->int8))
        return;
    packed->data =
        ref_scratch(bytes + (packed->int8 ? w->n : 0) * sizeof *packed->scale);
    if (packed->data && packed->int8)
        packed->scale = (float *)(void *)(packed->data + bytes);
    if (packed->data)
        cpu_share(run, packed->blocks, (double)w->n * (double)w->k, pack_part,
                  &job);
    if (packed->data && !atomic_load(&job.failed))
        return;
    free(packed->data);
    packed->data = NULL;
    packed->scale = NULL;
    kept_give(bytes, packed->int8);
}

/* False when it cannot be done, now or ever. */
static bool prepare(struct kernel_run *run, struct packed *packed,
                    const struct kernel_weight *w)
{
    pthread_mutex_lock(&packed->mutex);
    if (!packed->laid && !packed->failed) {
        packed->laid = lay_out(packed, w, run->pool.threads);
        packed->failed = !packed->laid;
        if (packed->laid)
            keep(run, packed, w);
        if (packed->int8 && !packed->data) {
            packed->laid = false;
            packed->failed = true;
        }
    }
    bool laid = packed->laid;
    pthread_mutex_unlock(&packed->mutex);
    return laid;
}

/* ---- Multiplying ---- */

/* The three kinds of tiles of one product: full ones, one of what is left in
 * steps of 16, one of the last 16 rows. */
enum { FULL, REST, LAST, KINDS };

struct job {
    float *out;
    const float *a; /* [m, k] */
    int8_t *int8;   /* a in eight bits, and the scales of its rows [m]; */
    float *scale;   /* NULL: as it is */
    const struct packed *packed;
    const struct kernel_weight *w;
    size_t m, n, k, tiles, full, rest, left;
    const struct tile *tile[KINDS][2]; /* of shape and last; NULL: no use */
    bool add;
    atomic_bool failed;
};

static bool find_tiles(struct job *job)
{
    const struct packed *packed = job->packed;
    const size_t rows[KINDS] = {job->full ? TILE : 0, job->rest,
                                job->left ? STEP : 0};
    bool found = true;
    pthread_mutex_lock(&library.mutex);
    for (int kind = 0; kind < KINDS; kind++)
        for (int last = 0; rows[kind] && last < 2; last++) {
            struct shape *shape = last ? packed->last : packed->shape;
            job->tile[kind][last] = tile_of(shape, rows[kind]);
            found = found && job->tile[kind][last];
        }
    pthread_mutex_unlock(&library.mutex);
    return found;
}

/* Of a result, at most. */
static size_t buffer_rows(const struct job *job)
{
    size_t rows = job->m < TILE ? job->m : TILE;
    return rows < STEP ? STEP : rows;
}

static void *rows_of(const struct job *job, size_t row)
{
    return job->int8 ? (void *)(job->int8 + row * job->k)
                     : (void *)(uintptr_t)(job->a + row * job->k);
}

/* A row of a tile's result goes where it belongs; scale: of the block's columns. */
static void put_row(const struct job *job, size_t row, float *out,
                    float *result, const float *scale, size_t n)
{
    if (scale)
        cpu_lanes->scale(job->add ? result : out, result, scale,
                         job->scale[row], n);
    if (job->add)
        cpu_lanes->add(out, result, n);
    else if (!scale)
        memcpy(out, result, n * sizeof *out);
}

/* Tile `index` of block `block`, which is packed in `weight`; `buffer` has room for
 * its result, and behind that for what oneDNN itself needs. */
static bool multiply(const struct job *job, size_t block, char *weight,
                     size_t index, char *buffer)
{
    const struct packed *packed = job->packed;
    bool last = block + 1 == packed->blocks;
    const struct shape *shape = shape_at(packed, block);
    int kind = index < job->full                 ? FULL
               : index == job->full && job->rest ? REST
                                                 : LAST;
    size_t row = index * TILE, rows = TILE, skip = 0;
    if (kind == REST) {
        rows = job->rest;
    } else if (kind == LAST && job->m >= STEP) {
        row = job->m - STEP;
        rows = STEP;
        skip = STEP - job->left;
    } else if (kind == LAST) {
        rows = job->m;
    }
    const struct tile *tile = job->tile[kind][last];
    float *result = (float *)(void *)buffer;
    const struct argument arguments[] = {
        {DNNL_ARG_SRC, &tile->a, rows_of(job, row)},
        {DNNL_ARG_WEIGHTS, &shape->weight, weight},
        {DNNL_ARG_DST, &tile->out, result},
        {DNNL_ARG_SCRATCHPAD, &tile->scratch,
         buffer + aligned(buffer_rows(job) * packed->columns * sizeof(float))}};
    if (!execute(tile->primitive, arguments, 4))
        return false;
    float *out = job->out + row * job->n + block * packed->columns;
    const float *scale = scale_at(packed, block);
    for (size_t i = skip; i < rows; i++)
        put_row(job, row + i, out + i * job->n, result + i * shape->n, scale,
                shape->n);
    return true;
}

/* Bytes that multiply() needs at most. */
static size_t buffer_size(const struct job *job)
{
    size_t max = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int last = 0; last < 2; last++)
            if (job->tile[kind][last]) {
                size_t need =
                    dnnl_memory_desc_get_size(&job->tile[kind][last]->scratch);
                max = need > max ? need : max;
            }
    return aligned(buffer_rows(job) * job->packed->columns * sizeof(float)) +
           max;
}

static void matmul_part(void *argument, size_t from, size_t to)
{
    struct job *job = argument;
    const struct packed *packed = job->packed;
    char *buffer = ref_scratch(buffer_size(job));
    int before = alone();
    bool done = buffer != NULL;
    for (size_t i = from; done && i < to; i++) {
        size_t block = i / job->tiles;
        done = multiply(job, block, packed->data + block * packed->shape->bytes,
                        i % job->tiles, buffer);
    }
    omp_set_num_threads(before);
    if (!done)
        atomic_store(&job->failed, true);
    free(buffer);
}

/* The same by blocks, each packed for this product. */
static void block_part(void *argument, size_t from, size_t to)
{
    struct job *job = argument;
    const struct packed *packed = job->packed;
    size_t block_bytes = aligned(packed->shape->bytes);
    char *buffer = ref_scratch(buffer_size(job));
    char *weight = ref_scratch(block_bytes + plain_bytes(packed));
    int before = alone();
    bool done = buffer && weight;
    for (size_t block = from; done && block < to; block++) {
        done = pack_block(packed, job->w, block, weight + block_bytes, weight);
        for (size_t i = 0; done && i < job->tiles; i++)
            done = multiply(job, block, weight, i, buffer);
    }
    omp_set_num_threads(before);
    if (!done)
        atomic_store(&job->failed, true);
    free(buffer);
    free(weight);
}

static void round_part(void *argument, size_t from, size_t to)
{
    const struct job *job = argument;
    for (size_t i = from; i < to; i++)
        job->scale[i] = cpu_lanes->to_int8(job->int8 + i * job->k,
                                           job->a + i * job->k, job->k);
}

/* The rows of `a` in eight bits, filled up with zeros to a tile's; false: no memory. */
static bool round_rows(struct kernel_run *run, struct job *job)
{
    size_t rows = job->m < STEP ? STEP : job->m, bytes = aligned(rows * job->k);
    job->int8 = ref_scratch(bytes + job->m * sizeof *job->scale);
    if (!job->int8)
        return false;
    memset(job->int8 + job->m * job->k, 0, (rows - job->m) * job->k);
    job->scale = (float *)(void *)((char *)job->int8 + bytes);
    cpu_share(run, job->m, (double)job->m * (double)job->k, round_part, job);
    return true;
}

static int matmul_alone(struct kernel_run *run, float *out, const float *a,
                        const struct kernel_weight *w, size_t m, bool int8,
                        bool add)
{
    struct packed *packed = w->packed[int8];
    if (!w->n || !w->k || !prepare(run, packed, w))
        return KERNEL_UNSUPPORTED;
    struct job job = {.out = out,
                      .a = a,
                      .packed = packed,
                      .w = w,
                      .m = m,
                      .n = w->n,
                      .k = w->k,
                      .full = m / TILE,
                      .rest = m % TILE / STEP * STEP,
                      .left = m % STEP,
                      .add = add};
    job.tiles = job.full + (job.rest > 0) + (job.left > 0);
    if (!find_tiles(&job))
        return KERNEL_UNSUPPORTED;
    if (packed->int8 && !round_rows(run, &job))
        return KERNEL_NO_MEMORY;
    double work = (double)m * (double)w->n * (double)w->k;
    if (packed->data)
        cpu_share(run, packed->blocks * job.tiles, work, matmul_part, &job);
    else
        cpu_share(run, packed->blocks, work, block_part, &job);
    free(job.int8);
    return atomic_load(&job.failed) ? KERNEL_FAILED : KERNEL_OK;
}

int packed_matmul(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, size_t m, bool int8, bool add)
{
    int before = alone();
    int code = matmul_alone(run, out, a, w, m, int8, add);
    omp_set_num_threads(before);
    return code;
}
