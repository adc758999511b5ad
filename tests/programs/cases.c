#include "tests/programs/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_ARRAYS = 16 };

/* A case at work: inputs on the table's device, outputs to come. */
struct work {
    const struct safetensors *file;
    const struct kernels *table;
    struct kernel_run *run;
    struct case_result *result;
    void *arrays[MOST_ARRAYS];
    size_t count;
    struct err *err;
};

double case_error(const float *a, const float *b, size_t count)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        double diff = fabs((double)a[i] - (double)b[i]);
        if (!isfinite(diff))
            return HUGE_VAL;
        worst = fmax(worst, diff);
        largest = fmax(largest, fabs((double)b[i]));
    }
    return worst / (largest > 0 ? largest : 1);
}

static double parameter(const struct work *work, const char *key, double absent)
{
    const char *text = safetensors_meta(work->file, key);
    return text ? strtod(text, NULL) : absent;
}

/* Input `name` of `rank` dimensions, NULL and an error when there is none. */
static const struct tensor *input(const struct work *work, const char *name,
                                  int type, int rank)
{
    const struct tensor *found = safetensors_find(work->file, name);
    if (found && found->type == type && found->rank == rank)
        return found;
    err_set(work->err, ERR_FORMAT, "no %s of %d dimensions and the right type",
            name, rank);
    return NULL;
}

static void *device(struct work *work, size_t bytes)
{
    void *memory = work->count < MOST_ARRAYS
                       ? work->table->allocate(work->run, bytes)
                       : NULL;
    if (memory)
        work->arrays[work->count++] = memory;
    else
        err_set(work->err, ERR_LIMIT, "no memory on the device");
    return memory;
}

/* An input as f32 on the device; `ret_shape` [rank]. */
static float *load(struct work *work, const char *name, int rank,
                   size_t *ret_shape)
{
    const struct tensor *found = input(work, name, TENSOR_F32, rank);
    float *memory = found ? device(work, found->bytes) : NULL;
    if (memory &&
        work->table->upload(work->run, memory, found->data, found->bytes)) {
        err_set(work->err, ERR_LIMIT, "the device took no data");
        return NULL;
    }
    for (int i = 0; memory && i < rank; i++)
        ret_shape[i] = found->shape[i];
    return memory;
}

static bool same_form(const struct tensor *a, const struct tensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* Brings an output back and compares it. */
static void finish(struct work *work, const char *name, int rank,
                   const size_t *shape, const float *memory, int code)
{
    struct case_output *out = &work->result->outputs[work->result->count++];
    size_t values = 1;
    out->tensor.name = slice_of(name);
    out->tensor.type = TENSOR_F32;
    out->tensor.rank = rank;
    for (int i = 0; i < rank; i++) {
        out->tensor.shape[i] = shape[i];
        values *= shape[i];
    }
    float *data = mem_alloc(values * sizeof *data);
    out->tensor.data = data;
    out->tensor.bytes = values * sizeof *data;
    out->code = code ? code
                     : work->table->download(work->run, data, memory,
                                             out->tensor.bytes);
    const struct tensor *wanted = safetensors_find(work->file, name);
    out->expected = wanted && same_form(wanted, &out->tensor);
    if (out->expected) {
        float *values_wanted = mem_alloc(wanted->bytes);
        memcpy(values_wanted, wanted->data, wanted->bytes);
        out->error = case_error(data, values_wanted, values);
        free(values_wanted);
    }
}

static bool same(struct work *work, size_t a, size_t b)
{
    if (a != b)
        err_set(work->err, ERR_FORMAT, "shapes do not fit: %zu and %zu", a, b);
    return a == b;
}

static bool some(struct work *work, size_t count)
{
    if (!count)
        err_set(work->err, ERR_FORMAT, "no rows");
    return count > 0;
}

static int run_pool(struct work *work)
{
    size_t children[2], wq[2], wk[2], proxy, bias;
    const float *c = load(work, "in.children", 2, children);
    const float *q = c ? load(work, "in.wq", 2, wq) : NULL;
    const float *k = q ? load(work, "in.wk", 2, wk) : NULL;
    const float *x = k ? load(work, "in.proxy", 1, &proxy) : NULL;
    const float *b = x ? load(work, "in.bias", 1, &bias) : NULL;
    if (!b)
        return ERR_FORMAT;
    size_t n = children[0], d = children[1], p = wq[1];
    if (!some(work, n) || !same(work, wq[0], d) || !same(work, wk[0], d) ||
        !same(work, wk[1], p) || !same(work, proxy, d) || !same(work, bias, n))
        return ERR_FORMAT;
    float *out = device(work, (d + n + 1) * sizeof *out);
    if (!out)
        return ERR_LIMIT;
    const struct kernels *table = work->table;
    struct kernel_run *run = work->run;
    float tau = (float)parameter(work, "tau", 20), *weight = out + d;
    finish(work, "out.mean", 1, &d, out, table->pool_mean(run, out, c, n, d));
    int code = table->pool_attention(run, out, weight, c, q, k, tau, n, d, p);
    finish(work, "out.attention_weight", 1, &n, weight, code);
    finish(work, "out.attention", 1, &d, out, code);
    code = table->pool_landmark(run, out, weight, c, b, x, tau, n, d);
    finish(work, "out.landmark", 1, &d, out, code);
    finish(work, "out.landmark_bias", 1, (size_t[]){1}, weight, code);
    return 0;
}

static int run_recall(struct work *work)
{
    size_t query, memory[2], wq[2], wk[2];
    const float *q = load(work, "in.q", 1, &query);
    const float *m = q ? load(work, "in.memory", 2, memory) : NULL;
    const float *a = m ? load(work, "in.wq", 2, wq) : NULL;
    const float *b = a ? load(work, "in.wk", 2, wk) : NULL;
    if (!b)
        return ERR_FORMAT;
    size_t n = memory[0], d = memory[1];
    if (!some(work, n) || !same(work, query, d) || !same(work, wq[0], d) ||
        !same(work, wk[0], d) || !same(work, wk[1], wq[1]))
        return ERR_FORMAT;
    float *out = device(work, d * sizeof *out);
    if (!out)
        return ERR_LIMIT;
    finish(work, "out.out", 1, &d, out,
           work->table->recall(work->run, out, q, m, a, b, n, d, wq[1]));
    return 0;
}

/* Plain rotary frequencies; with a context those are 0 whose period is longer
 * than the context over the multiplier, but for the first. */
static void frequencies(const struct work *work, double *frequency, size_t half)
{
    double theta = parameter(work, "theta", 10000);
    double context = parameter(work, "hope_context", 0);
    double multiplier = parameter(work, "multiplier", 1);
    double least = context > 0 ? 2 * acos(-1) * multiplier / context : 0;
    for (size_t i = 0; i < half; i++) {
        double f = pow(theta, -(double)i / (double)half);
        frequency[i] = i && f < least ? 0 : f;
    }
}

static int run_rotary(struct work *work)
{
    size_t shape[3];
    float *x = load(work, "in.x", 3, shape);
    const struct tensor *found =
        x ? input(work, "in.position", TENSOR_I32, 1) : NULL;
    if (!found || !same(work, found->shape[0], shape[0]))
        return ERR_FORMAT;
    size_t half = shape[2] / 2;
    double *frequency = mem_alloc(half * sizeof *frequency);
    int32_t *position = mem_alloc(found->bytes);
    float *shown = mem_alloc(half * sizeof *shown);
    memcpy(position, found->data, found->bytes);
    frequencies(work, frequency, half);
    for (size_t i = 0; i < half; i++)
        shown[i] = (float)frequency[i];
    finish(work, "out.out", 3, shape, x,
           work->table->rotary(work->run, x, position, frequency, shape[0],
                               shape[1], shape[2]));
    float *back = device(work, half * sizeof *back);
    int code =
        back ? work->table->upload(work->run, back, shown, half * sizeof *shown)
             : KERNEL_NO_MEMORY;
    finish(work, "out.frequency", 1, &half, back, code);
    free(frequency);
    free(position);
    free(shown);
    return 0;
}

static const struct operation {
    const char *name;
    int (*run)(struct work *work);
} operations[] = {
    {"pool", run_pool}, {"hmt_recall", run_recall}, {"rotary", run_rotary}};

int case_run(const struct safetensors *file, const struct kernels *table,
             struct kernel_run *run, struct case_result *ret, struct err *err)
{
    const char *op = safetensors_meta(file, "op");
    struct case_result result = {.count = 0};
    struct err local = {0};
    struct work work = {.file = file,
                        .table = table,
                        .run = run,
                        .result = &result,
                        .err = err ? err : &local};
    size_t i = 0, known = sizeof operations / sizeof *operations;
    while (i < known && (!op || strcmp(op, operations[i].name)))
        i++;
    int code = i < known ? operations[i].run(&work)
                         : err_set(err, ERR_FORMAT, "no operation known here");
    while (work.count > 0)
        table->release(run, work.arrays[--work.count]);
    if (code)
        case_free(&result);
    else
        *ret = result;
    return code;
}

void case_free(struct case_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        free((void *)(uintptr_t)result->outputs[i].tensor.data);
    result->count = 0;
}

int case_check(const struct safetensors *file, const struct case_result *result,
               struct err *err)
{
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor *wanted = safetensors_at(file, i);
        const struct case_output *out = NULL;
        if (strncmp(wanted->name.data, "out.", 4) != 0)
            continue;
        for (size_t o = 0; o < result->count; o++)
            if (slice_equal(result->outputs[o].tensor.name, wanted->name))
                out = &result->outputs[o];
        if (!out)
            return err_set(err, ERR_FORMAT, "%.200s is no output of this case",
                           wanted->name.data);
        if (!same_form(wanted, &out->tensor))
            return err_set(err, ERR_FORMAT,
                           "%.200s is of another type or shape than its output",
                           wanted->name.data);
    }
    return 0;
}
