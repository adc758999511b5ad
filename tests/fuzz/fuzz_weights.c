/* Fuzz target: a folder with a model's weights, but for their numbers:
 *
 *     config.json NUL index NUL tensors
 *
 * `tensors` has a line for each, as "F32 64 32 NAME"; a line "=" begins the next
 * file.  The numbers are made here, MAX_NUMBERS bytes at most; a tensor that
 * would take more, or whose name a file has already, is left out.  Without an
 * index all is model.safetensors; else the files are called 1, 2, 3.
 *
 * Weights that are checked and those that are taken must be the same; what a
 * backend gets must lie within its tensor, and is all read. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/weights/weights_internal.h"
#include "tests/fuzz/fuzz.h"

enum {
    MAX_NUMBERS = 1 << 20, /* bytes of all tensors */
    MAX_TENSORS = 512,     /* of all files */
    MAX_FILES = 3
};

/* ---- The folder ---- */

static char folder[] = "/tmp/lectern-fuzz-XXXXXX";
static char numbers[MAX_NUMBERS];

static struct buf place(const char *name)
{
    struct buf path = {0};
    file_join(&path, folder, name);
    return path;
}

static void empty_folder(void)
{
    static const char *const names[] = {"model.safetensors.index.json",
                                        "model.safetensors", "1", "2", "3"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct buf path = place(names[i]);
        unlink(path.data);
        buf_free(&path);
    }
}

static void leave_folder(void)
{
    empty_folder();
    rmdir(folder);
}

/* Halves and floats of all sizes, and bytes of both signs. */
static void begin(void)
{
    CHECK(mkdtemp(folder));
    CHECK(!atexit(leave_folder));
    for (size_t i = 0; i < sizeof numbers; i++)
        numbers[i] = (char)(i * 2654435761U >> 24);
}

static struct slice cut(struct slice *rest, char at)
{
    const char *end = rest->size ? memchr(rest->data, at, rest->size) : NULL;
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    struct slice part = {rest->data, size};
    rest->data += size + (end != NULL);
    rest->size -= size + (end != NULL);
    return part;
}

static bool number(struct slice word, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9' || i == 15)
            return false;
        *ret = *ret * 10 + (uint64_t)(word.data[i] - '0');
    }
    return word.size;
}

/* False: no line of a tensor, or one that is too large. */
static bool read_tensor(struct slice line, size_t room, struct tensor *ret)
{
    static const char *const types[] = {[TENSOR_F32] = "F32",
                                        [TENSOR_F16] = "F16",
                                        [TENSOR_BF16] = "BF16",
                                        [TENSOR_I32] = "I32",
                                        [TENSOR_I8] = "I8"};
    struct tensor tensor = {.type = -1, .data = numbers};
    struct slice type = cut(&line, ' '), after = line;
    for (int i = 0; i < (int)(sizeof types / sizeof types[0]); i++)
        if (types[i] && slice_is(type, types[i]))
            tensor.type = i;
    if (tensor.type < 0)
        return false;
    tensor.bytes = tensor_type_size(tensor.type);
    while (tensor.rank < TENSOR_MAX_RANK &&
           number(cut(&after, ' '), &tensor.shape[tensor.rank])) {
        if (!mem_mul(tensor.bytes, tensor.shape[tensor.rank++], &tensor.bytes))
            return false;
        line = after;
    }
    tensor.name = line;
    *ret = tensor;
    return line.size && tensor.bytes <= room && !slice_is(line, "__metadata__");
}

static bool has(const struct tensor *tensors, size_t count, struct slice name)
{
    while (count > 0)
        if (slice_equal(tensors[--count].name, name))
            return true;
    return false;
}

static void write_files(bool alone, struct slice lines)
{
    static const char *const names[MAX_FILES] = {"1", "2", "3"};
    static struct tensor tensors[MAX_TENSORS];
    size_t room = MAX_NUMBERS, tensors_left = MAX_TENSORS;
    for (size_t f = 0; f < (alone ? 1 : MAX_FILES) && lines.size; f++) {
        size_t count = 0;
        while (lines.size && count < tensors_left) {
            struct slice line = cut(&lines, '\n');
            if (slice_is(line, "=") && !alone)
                break;
            struct tensor *tensor = &tensors[count];
            if (!read_tensor(line, room, tensor) ||
                has(tensors, count, tensor->name))
                continue;
            room -= tensor->bytes;
            count++;
        }
        tensors_left -= count;
        struct buf path = place(alone ? "model.safetensors" : names[f]);
        CHECK(!safetensors_write(path.data, tensors, count, NULL, NULL));
        buf_free(&path);
    }
}

/* ---- The backend ---- */

static struct given {
    const void *host;
    const float *scale;
    int type;
    size_t n, k;
    struct kernel_weight *weight;
} given[2 * MAX_TENSORS];
static size_t given_count, alive, allocated;

/* A vector is f32, of tensors of at least two bytes a number. */
static void *allocate(struct kernel_run *run, size_t bytes)
{
    allocated += bytes;
    CHECK(allocated <= 2 * MAX_NUMBERS);
    return kernels_ref()->allocate(run, bytes);
}

static int weight(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret)
{
    const struct kernel_int8 *int8 = host;
    struct given *g = &given[given_count++];
    CHECK(given_count <= sizeof given / sizeof given[0]);
    *g = (struct given){.host = host, .type = type, .n = n, .k = k};
    if (type == KERNEL_INT8) {
        g->host = int8->rows;
        g->scale = int8->scale;
    }
    CHECK(!kernels_ref()->weight(run, host, type, n, k, ret));
    g->weight = *ret;
    alive++;
    return 0;
}

static void weight_free(struct kernel_run *run, struct kernel_weight *freed)
{
    alive--;
    kernels_ref()->weight_free(run, freed);
}

/* ---- What is loaded ---- */

/* Within a tensor; a copy has a size of its own, which is seen when it is read. */
static bool lies(const struct weight_files *files, const void *from,
                 size_t bytes)
{
    const char *at = from;
    for (size_t i = 0; i < files->copy_count; i++)
        if (files->copies[i] == from)
            return true;
    for (size_t i = 0; i < files->tensor_count; i++) {
        const struct tensor *t = files->tensors[i].tensor;
        const char *data = t->data;
        if (at >= data && at <= data + t->bytes &&
            bytes <= (size_t)(data + t->bytes - at))
            return true;
    }
    return false;
}

static void read_given(const struct model_weights *w, struct kernel_run *run,
                       const struct given *g)
{
    CHECK(g->n && g->k && g->n <= MAX_NUMBERS && g->k <= MAX_NUMBERS);
    size_t bytes = g->n * g->k * kernel_type_size(g->type);
    CHECK(lies(w->files, g->host, bytes));
    CHECK((uintptr_t)g->host % kernel_type_size(g->type) == 0);
    if (g->type == KERNEL_INT8) {
        CHECK(lies(w->files, g->scale, g->n * sizeof *g->scale));
        CHECK((uintptr_t)g->scale % sizeof *g->scale == 0);
    }
    float *in = mem_alloc(g->k * sizeof *in),
          *out = mem_alloc(g->n * sizeof *out);
    CHECK(!kernels_ref()->matmul(run, out, in, g->weight, 1, false));
    free(in);
    free(out);
}

static int load(const struct model_config *config, bool check,
                struct model_weights *ret)
{
    struct kernels kernels = *kernels_ref();
    struct kernel_run run = {0};
    struct err err = {.position = -1};
    kernels.allocate = allocate;
    kernels.weight = weight;
    kernels.weight_free = weight_free;
    given_count = allocated = 0;
    int code = model_weights_open(folder, NULL, config, &kernels, &run, check,
                                  ret, &err);
    if (code) {
        CHECK(err.message[0] && !ret->files && !ret->layers && !alive);
        return code;
    }
    CHECK(ret->type && ret->parameters && ret->bytes <= MAX_NUMBERS);
    CHECK(!check == !!ret->embedding && (!check || !allocated));
    for (size_t i = 0; i < given_count; i++)
        read_given(ret, &run, &given[i]);
    model_weights_close(ret, config, &run);
    CHECK(!alive);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    struct slice rest = {(const char *)data, size};
    struct slice text = cut(&rest, '\0'), index = cut(&rest, '\0');
    struct model_config config = {0};
    struct model_weights checked = {0}, taken = {0};
    if (!begun)
        begin();
    begun = true;
    if (model_config_from(text, (struct slice){"", 0}, &config, NULL))
        return 0;
    if (index.size) {
        struct buf path = place("model.safetensors.index.json");
        CHECK(!file_write(path.data, index, NULL));
        buf_free(&path);
    }
    write_files(!index.size, rest);
    int code = load(&config, true, &checked);
    CHECK(load(&config, false, &taken) == code);
    empty_folder();
    model_config_free(&config);
    return 0;
}
