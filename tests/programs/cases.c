#include "tests/programs/case_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

bool case_number(const struct work *work, const char *key, const double *other,
                 double *ret)
{
    const char *text = safetensors_meta(work->file, key);
    char *end = NULL;
    if (!text && other) {
        *ret = *other;
        return true;
    }
    if (!text) {
        err_set(work->err, ERR_FORMAT, "metadata: no %s", key);
        return false;
    }
    double value = strtod(text, &end);
    if (end != text && !*end && isfinite(value)) {
        *ret = value;
        return true;
    }
    err_set(work->err, ERR_FORMAT, "metadata: %s is \"%.40s\", not a number",
            key, text);
    return false;
}

bool case_count(const struct work *work, const char *key, size_t min,
                size_t max, size_t *ret)
{
    double value;
    if (!case_number(work, key, NULL, &value))
        return false;
    if (value >= (double)min && value <= (double)max && value == floor(value)) {
        *ret = (size_t)value;
        return true;
    }
    err_set(work->err, ERR_FORMAT,
            "metadata: %s is %g, not a whole number from %zu to %zu", key,
            value, min, max);
    return false;
}

bool case_flag(const struct work *work, const char *key, bool *ret)
{
    size_t value = 0;
    bool fine = case_count(work, key, 0, 1, &value);
    *ret = value != 0;
    return fine;
}

const struct tensor *case_input(const struct work *work, const char *name,
                                int type, int rank)
{
    const struct tensor *found = safetensors_find(work->file, name);
    if (found && found->type == type && found->rank == rank)
        return found;
    err_set(work->err, ERR_FORMAT, "no %s of %d dimensions and type %s", name,
            rank, type == TENSOR_I32 ? "I32" : "F32");
    return NULL;
}

void *case_device(struct work *work, size_t bytes)
{
    void *memory = work->count < CASE_MAX_ARRAYS
                       ? work->table->allocate(work->run, bytes)
                       : NULL;
    if (memory)
        work->arrays[work->count++] = memory;
    else
        err_set(work->err, ERR_LIMIT, "no memory on the device");
    return memory;
}

float **case_table(struct work *work, float *first, size_t count, size_t step)
{
    float **host = mem_alloc((count + 1) * sizeof *host);
    float **table = case_device(work, (count + 1) * sizeof *table);
    for (size_t i = 0; i < count; i++)
        host[i] = first + i * step;
    if (table && work->table->upload(work->run, table, host,
                                     (count + 1) * sizeof *host)) {
        err_set(work->err, ERR_LIMIT, "the device took no data");
        table = NULL;
    }
    free(host);
    return table;
}

bool case_pages(struct work *work, const float *k, const float *v, size_t n,
                struct kernel_pages *ret)
{
    float **keys = case_table(work, (float *)(uintptr_t)k, 1, 0);
    float **values =
        keys ? case_table(work, (float *)(uintptr_t)v, 1, 0) : NULL;
    *ret = (struct kernel_pages){.keys = (const float *const *)keys,
                                 .values = (const float *const *)values,
                                 .slots = n ? n : 1};
    return values;
}

static void *load(struct work *work, const char *name, int type, int rank,
                  size_t *ret_shape)
{
    const struct tensor *found = case_input(work, name, type, rank);
    void *memory = found ? case_device(work, found->bytes) : NULL;
    if (memory &&
        work->table->upload(work->run, memory, found->data, found->bytes)) {
        err_set(work->err, ERR_LIMIT, "the device took no data");
        return NULL;
    }
    for (int i = 0; memory && i < rank; i++)
        ret_shape[i] = found->shape[i];
    return memory;
}

float *case_load(struct work *work, const char *name, int rank,
                 size_t *ret_shape)
{
    return load(work, name, TENSOR_F32, rank, ret_shape);
}

int32_t *case_load_i32(struct work *work, const char *name, int rank,
                       size_t *ret_shape)
{
    return load(work, name, TENSOR_I32, rank, ret_shape);
}

struct kernel_weight *case_weight(struct work *work, const char *name,
                                  bool across, size_t *ret_shape)
{
    const struct tensor *found = case_input(work, name, TENSOR_F32, 2);
    if (!found || work->weight_count == CASE_MAX_ARRAYS)
        return NULL;
    size_t rows = found->shape[across], columns = found->shape[!across];
    float *values = mem_alloc(found->bytes);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            size_t from = across ? j * rows + i : i * columns + j;
            memcpy(&values[i * columns + j],
                   (const char *)found->data + from * sizeof *values,
                   sizeof *values);
        }
    struct kernel_weight *weight = NULL;
    work->maker = work->table;
    int code = work->maker->weight(work->run, values, KERNEL_F32, rows, columns,
                                   &weight);
    if (code == KERNEL_UNSUPPORTED) { /* as will be what takes the weight */
        work->maker = kernels_ref();
        code = work->maker->weight(work->run, values, KERNEL_F32, rows, columns,
                                   &weight);
    }
    if (code) {
        free(values);
        err_set(work->err, ERR_LIMIT, "no memory for a weight");
        return NULL;
    }
    work->host[work->weight_count] = values;
    work->weights[work->weight_count++] = weight;
    ret_shape[0] = rows;
    ret_shape[1] = columns;
    return weight;
}

bool case_same_form(const struct tensor *a, const struct tensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

struct case_output *case_finish(struct work *work, const char *name, int type,
                                int rank, const size_t *shape,
                                const void *memory, int code)
{
    struct case_output *out = &work->result->outputs[work->result->count++];
    size_t values = 1;
    out->tensor.name = slice_of(name);
    out->tensor.type = type;
    out->tensor.rank = rank;
    for (int i = 0; i < rank; i++) {
        out->tensor.shape[i] = shape[i];
        values *= shape[i];
    }
    void *data = mem_alloc(values * sizeof(float)); /* or int32_t */
    out->tensor.data = data;
    out->tensor.bytes = values * sizeof(float);
    out->code = code ? code
                     : work->table->download(work->run, data, memory,
                                             out->tensor.bytes);
    const struct tensor *wanted = safetensors_find(work->file, name);
    out->expected = wanted && case_same_form(wanted, &out->tensor);
    if (out->expected && type == TENSOR_F32) {
        float *values_wanted = mem_alloc(wanted->bytes);
        if (wanted->bytes)
            memcpy(values_wanted, wanted->data, wanted->bytes);
        out->error = case_error(data, values_wanted, values);
        free(values_wanted);
    }
    return out;
}

bool case_same(struct work *work, const char *what, size_t a, size_t b)
{
    if (a != b)
        err_set(work->err, ERR_FORMAT, "shapes do not fit: %s: %zu and %zu",
                what, a, b);
    return a == b;
}

bool case_some(struct work *work, const char *what, size_t count)
{
    if (!count)
        err_set(work->err, ERR_FORMAT, "%s: no rows", what);
    return count > 0;
}

static int run_pool(struct work *work)
{
    size_t children[2], wq[2], wk[2], proxy, bias;
    const float *c = case_load(work, "in.children", 2, children);
    const float *q = c ? case_load(work, "in.wq", 2, wq) : NULL;
    const float *k = q ? case_load(work, "in.wk", 2, wk) : NULL;
    const float *x = k ? case_load(work, "in.proxy", 1, &proxy) : NULL;
    const float *b = x ? case_load(work, "in.bias", 1, &bias) : NULL;
    if (!b)
        return ERR_FORMAT;
    size_t n = children[0], d = children[1], p = wq[1];
    if (!case_some(work, "in.children", n) ||
        !case_same(work, "wq", wq[0], d) || !case_same(work, "wk", wk[0], d) ||
        !case_same(work, "wk", wk[1], p) ||
        !case_same(work, "proxy", proxy, d) ||
        !case_same(work, "bias", bias, n))
        return ERR_FORMAT;
    static const double usual_tau = 20;
    double sharpness;
    if (!case_number(work, "tau", &usual_tau, &sharpness))
        return ERR_FORMAT;
    float *out = case_device(work, (d + n + 1) * sizeof *out);
    if (!out)
        return ERR_LIMIT;
    const struct kernels *table = work->table;
    struct kernel_run *run = work->run;
    float tau = (float)sharpness, *weight = out + d;
    case_finish(work, "out.mean", TENSOR_F32, 1, &d, out,
                table->pool_mean(run, out, c, n, d));
    int code = table->pool_attention(run, out, weight, c, q, k, tau, n, d, p);
    case_finish(work, "out.attention_weight", TENSOR_F32, 1, &n, weight, code);
    case_finish(work, "out.attention", TENSOR_F32, 1, &d, out, code);
    code = table->pool_landmark(run, out, weight, c, b, x, tau, n, d);
    case_finish(work, "out.landmark", TENSOR_F32, 1, &d, out, code);
    case_finish(work, "out.landmark_bias", TENSOR_F32, 1, (size_t[]){1}, weight,
                code);
    return 0;
}

static int run_recall(struct work *work)
{
    size_t query, memory[2], wq[2], wk[2];
    const float *q = case_load(work, "in.q", 1, &query);
    const float *m = q ? case_load(work, "in.memory", 2, memory) : NULL;
    const float *a = m ? case_load(work, "in.wq", 2, wq) : NULL;
    const float *b = a ? case_load(work, "in.wk", 2, wk) : NULL;
    if (!b)
        return ERR_FORMAT;
    size_t n = memory[0], d = memory[1];
    if (!case_some(work, "in.memory", n) ||
        !case_same(work, "query", query, d) ||
        !case_same(work, "wq", wq[0], d) || !case_same(work, "wk", wk[0], d) ||
        !case_same(work, "wk", wk[1], wq[1]))
        return ERR_FORMAT;
    float *out = case_device(work, d * sizeof *out);
    if (!out)
        return ERR_LIMIT;
    case_finish(work, "out.out", TENSOR_F32, 1, &d, out,
                work->table->recall(work->run, out, q, m, a, b, n, d, wq[1]));
    return 0;
}

/* Plain rotary frequencies; with a context those are 0 whose period is longer
 * than the context over the multiplier, but for the first. */
static bool frequencies(const struct work *work, double *frequency, size_t half)
{
    static const double usual_theta = 10000, none = 0, once = 1;
    double theta, context, multiplier;
    if (!case_number(work, "theta", &usual_theta, &theta) ||
        !case_number(work, "hope_context", &none, &context) ||
        !case_number(work, "multiplier", &once, &multiplier))
        return false;
    if (!(theta > 0) || context < 0 || !(multiplier > 0)) {
        err_set(work->err, ERR_FORMAT,
                "metadata: theta and multiplier must be above 0, hope_context "
                "not below");
        return false;
    }
    double min = context > 0 ? 2 * acos(-1) * multiplier / context : 0;
    for (size_t i = 0; i < half; i++) {
        double f = pow(theta, -(double)i / (double)half);
        frequency[i] = i && f < min ? 0 : f;
    }
    return true;
}

static void rotate(struct work *work, float *x, const size_t *shape,
                   const int32_t *position, const double *frequency)
{
    size_t half = shape[2] / 2;
    float *shown = mem_alloc(half * sizeof *shown);
    for (size_t i = 0; i < half; i++)
        shown[i] = (float)frequency[i];
    case_finish(work, "out.out", TENSOR_F32, 3, shape, x,
                work->table->rotary(work->run, x, position, frequency, shape[0],
                                    shape[1], shape[2]));
    float *back = case_device(work, half * sizeof *back);
    int code =
        back ? work->table->upload(work->run, back, shown, half * sizeof *shown)
             : KERNEL_NO_MEMORY;
    case_finish(work, "out.frequency", TENSOR_F32, 1, &half, back, code);
    free(shown);
}

static int run_rotary(struct work *work)
{
    size_t shape[3];
    float *x = case_load(work, "in.x", 3, shape);
    const struct tensor *found =
        x ? case_input(work, "in.position", TENSOR_I32, 1) : NULL;
    if (!found || !case_same(work, "position", found->shape[0], shape[0]))
        return ERR_FORMAT;
    if (shape[2] % 2)
        return err_set(work->err, ERR_FORMAT, "in.x: an odd width");
    size_t half = shape[2] / 2;
    double *frequency = mem_alloc(half * sizeof *frequency);
    int32_t *position = mem_alloc(found->bytes);
    if (found->bytes)
        memcpy(position, found->data, found->bytes);
    int code = frequencies(work, frequency, half) ? 0 : ERR_FORMAT;
    if (!code)
        rotate(work, x, shape, position, frequency);
    free(frequency);
    free(position);
    return code;
}

static const struct operation {
    const char *name;
    int (*run)(struct work *work);
} operations[] = {{"pool", run_pool},
                  {"hmt_recall", run_recall},
                  {"rotary", run_rotary},
                  {"calibrate_query", case_calibrate},
                  {"chunk_summary", case_chunk_summary},
                  {"hils_attention", case_hils},
                  {"star_attention", case_star},
                  {"hici_prefill", case_hici}};

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
                         : err_set(err, ERR_FORMAT,
                                   "metadata: op is \"%.40s\", no operation "
                                   "known here",
                                   op ? op : "");
    while (work.weight_count > 0) {
        work.maker->weight_free(run, work.weights[--work.weight_count]);
        free(work.host[work.weight_count]);
    }
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
        if (!case_same_form(wanted, &out->tensor))
            return err_set(err, ERR_FORMAT,
                           "%.200s is of another type or shape than its output",
                           wanted->name.data);
    }
    return 0;
}
