#include "model/weights/weights_internal.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/blocks.h"
#include "kernels/half.h"
#include "base/mem.h"

/* ---- Checking ---- */

void loader_complain(struct loader *loader, const char *what, const char *name)
{
    buf_printf(&loader->complaints, "%s%s %s",
               loader->complaint_count ? ", " : "", what, name);
    loader->complaint_count++;
}

static void complain_shape(struct loader *loader, const struct tensor *t,
                           size_t rows, size_t columns)
{
    loader_complain(loader, "misshapen", t->name.data);
    buf_put_text(&loader->complaints, " [");
    for (int i = 0; i < t->rank; i++)
        buf_printf(&loader->complaints, "%s%llu", i ? ", " : "",
                   (unsigned long long)t->shape[i]);
    if (columns)
        buf_printf(&loader->complaints, "] (not [%zu, %zu])", rows, columns);
    else
        buf_printf(&loader->complaints, "] (not [%zu])", rows);
}

/* Of floats, or of int8 and blocks if `narrow`. */
static const struct tensor *ask(struct loader *loader, const char *name,
                                size_t rows, size_t columns, bool narrow)
{
    struct named *named = weight_files_find(loader->files, name);
    if (!named) {
        loader_complain(loader, "missing", name);
        return NULL;
    }
    const struct tensor *t = named->tensor;
    named->known = true;
    bool fits = t->rank == (columns ? 2 : 1) && t->shape[0] == rows &&
                (!columns || t->shape[1] == columns);
    bool known = tensor_is_float(t) ||
                 (narrow && (t->type == TENSOR_I8 || tensor_is_blocks(t)));
    if (!known)
        loader_complain(loader, "of another type", name);
    else if (!fits)
        complain_shape(loader, t, rows, columns);
    else
        return t;
    return NULL;
}

const struct tensor *loader_ask(struct loader *loader, const char *name,
                                size_t rows, size_t columns)
{
    return ask(loader, name, rows, columns, false);
}

/* The name of an int8 matrix's scales. */
static struct part_name scale_name(const char *name)
{
    struct part_name scale;
    snprintf(scale.text, sizeof scale.text, "%s_scale", name);
    return scale;
}

const struct tensor *loader_ask_matrix(struct loader *loader, const char *name,
                                       size_t rows, size_t columns)
{
    const struct tensor *t = ask(loader, name, rows, columns, true);
    if (!t || t->type != TENSOR_I8)
        return t;
    struct part_name scale = scale_name(name);
    const struct tensor *s = loader_ask(loader, scale.text, rows, 0);
    if (s && s->type != TENSOR_F32)
        loader_complain(loader, "not of f32", scale.text);
    return s && s->type == TENSOR_F32 ? t : NULL;
}

/* ---- Taking ---- */

void tensor_floats(const struct tensor *tensor, size_t from, size_t count,
                   float *out)
{
    size_t size = tensor_type_size(tensor->type);
    const unsigned char *in = (const unsigned char *)tensor->data + from * size;
    if (tensor_is_blocks(tensor)) {
        int type = tensor_kernel_type(tensor);
        blocks_decode(type, in + kernel_row_bytes(type, from), count, out);
        return;
    }
    if (tensor->type == TENSOR_F32) {
        memcpy(out, in, count * sizeof *out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        if (tensor->type == TENSOR_I8) {
            out[i] = (float)(int8_t)in[i];
            continue;
        }
        memcpy(&half, in + 2 * i, sizeof half);
        uint32_t bits = (uint32_t)half << 16;
        if (tensor->type == TENSOR_F16)
            out[i] = half_value(half);
        else
            memcpy(&out[i], &bits, sizeof bits);
    }
}

void loader_fail(struct loader *loader, int kernel_code, const char *name)
{
    if (!loader->code)
        loader->code =
            err_set(loader->err,
                    kernel_code == KERNEL_NO_MEMORY ? ERR_LIMIT : ERR_INTERNAL,
                    kernel_code == KERNEL_NO_MEMORY
                        ? "no memory for the tensor %.200s"
                        : "the backend refused the tensor %.200s",
                    name);
}

/* Not mem_alloc: a model that is too large must not end the process. */
static void *room_for(const struct tensor *tensor, size_t size)
{
    size_t bytes;
    if (!mem_mul(tensor_values(tensor), size, &bytes))
        return NULL;
    return malloc(bytes ? bytes : 1);
}

float *loader_host(struct loader *loader, const char *name, size_t rows,
                   size_t columns)
{
    const struct tensor *tensor = loader_ask(loader, name, rows, columns);
    if (!loader->take || !tensor || loader->code)
        return NULL;
    float *values = room_for(tensor, sizeof *values);
    if (values)
        tensor_floats(tensor, 0, tensor_values(tensor), values);
    else
        loader_fail(loader, KERNEL_NO_MEMORY, name);
    return values;
}

float *loader_vector(struct loader *loader, const char *name, size_t rows,
                     size_t columns)
{
    float *host = loader_host(loader, name, rows, columns);
    if (!host)
        return NULL;
    size_t bytes = rows * (columns ? columns : 1) * sizeof *host;
    float *values = loader->kernels->allocate(loader->run, bytes);
    int code = KERNEL_NO_MEMORY;
    if (values)
        code = loader->kernels->upload(loader->run, values, host, bytes);
    free(host);
    if (code)
        loader_fail(loader, code, name);
    return values;
}

/* The copy, freed with the files; NULL: there is none. */
static void *keep(struct weight_files *files, void *copy)
{
    if (!copy)
        return NULL;
    MEM_RESERVE(files->copies, &files->copy_capacity, files->copy_count + 1);
    files->copies[files->copy_count++] = copy;
    return copy;
}

float *weight_files_keep(struct weight_files *files,
                         const struct tensor *tensor)
{
    float *copy = keep(files, room_for(tensor, sizeof *copy));
    if (copy)
        tensor_floats(tensor, 0, tensor_values(tensor), copy);
    return copy;
}

int tensor_kernel_type(const struct tensor *tensor)
{
    static const int types[] = {
        [TENSOR_F32] = KERNEL_F32,       [TENSOR_F16] = KERNEL_F16,
        [TENSOR_BF16] = KERNEL_BF16,     [TENSOR_I8] = KERNEL_INT8,
        [TENSOR_Q4_0] = KERNEL_Q4_0,     [TENSOR_Q4_1] = KERNEL_Q4_1,
        [TENSOR_Q5_0] = KERNEL_Q5_0,     [TENSOR_Q5_1] = KERNEL_Q5_1,
        [TENSOR_Q8_0] = KERNEL_Q8_0,     [TENSOR_Q4_K] = KERNEL_Q4_K,
        [TENSOR_Q5_K] = KERNEL_Q5_K,     [TENSOR_Q6_K] = KERNEL_Q6_K,
        [TENSOR_Q2_K] = KERNEL_Q2_K,     [TENSOR_Q3_K] = KERNEL_Q3_K,
        [TENSOR_IQ4_NL] = KERNEL_IQ4_NL, [TENSOR_IQ4_XS] = KERNEL_IQ4_XS};
    return types[tensor->type];
}

/* Where it lies, or a copy when it lies unaligned, as blocks may; NULL: no
 * memory. */
static const void *aligned(struct loader *loader, const struct tensor *tensor)
{
    size_t size = tensor_type_size(tensor->type);
    if (tensor_is_blocks(tensor) || (uintptr_t)tensor->data % size == 0)
        return tensor->data;
    void *copy = keep(loader->files, room_for(tensor, size));
    return copy ? memcpy(copy, tensor->data, tensor->bytes) : NULL;
}

static const struct tensor *scale_of(const struct loader *loader,
                                     const struct tensor *tensor)
{
    struct part_name name = scale_name(tensor->name.data);
    return weight_files_find(loader->files, name.text)->tensor;
}

struct matrix_data loader_data(struct loader *loader,
                               const struct tensor *tensor)
{
    struct matrix_data ret = {.type = tensor_kernel_type(tensor)};
    if (!loader->take || loader->code)
        return ret;
    ret.data = aligned(loader, tensor);
    if (ret.data && ret.type == KERNEL_INT8) {
        ret.scale = aligned(loader, scale_of(loader, tensor));
        if (!ret.scale)
            ret.data = NULL;
    }
    return ret;
}

void loader_row(const struct loader *loader, const struct tensor *tensor,
                size_t row, size_t columns, float *out)
{
    float scale;
    tensor_floats(tensor, row * columns, columns, out);
    if (tensor->type != TENSOR_I8)
        return;
    tensor_floats(scale_of(loader, tensor), row, 1, &scale);
    for (size_t i = 0; i < columns; i++)
        out[i] *= scale;
}

struct kernel_weight *loader_weight(struct loader *loader,
                                    struct matrix_data data, const char *name,
                                    size_t rows, size_t columns)
{
    struct kernel_weight *weight = NULL;
    const struct kernel_int8 int8 = {data.data, data.scale};
    if (!loader->take || loader->code)
        return NULL;
    int code = KERNEL_NO_MEMORY;
    if (data.data)
        code = loader->kernels->weight(
            loader->run, data.type == KERNEL_INT8 ? &int8 : data.data,
            data.type, rows, columns, &weight);
    if (code)
        loader_fail(loader, code, name);
    return weight;
}

struct kernel_weight *loader_matrix(struct loader *loader, const char *name,
                                    size_t rows, size_t columns)
{
    const struct tensor *tensor =
        loader_ask_matrix(loader, name, rows, columns);
    if (!tensor)
        return NULL;
    return loader_weight(loader, loader_data(loader, tensor), name, rows,
                         columns);
}

void loader_split(struct loader *loader, const char *name, size_t columns,
                  const size_t *counts, size_t count,
                  struct kernel_weight **const *ret)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += counts[i];
    const struct tensor *tensor = ask(loader, name, rows, columns, true);
    if (tensor && tensor->type == TENSOR_I8)
        loader_complain(loader, "of another type", name);
    if (!tensor || !loader->take || loader->code)
        return;
    struct matrix_data data = loader_data(loader, tensor);
    for (size_t i = 0; i < count; i++) {
        *ret[i] = loader_weight(loader, data, name, counts[i], columns);
        if (data.data)
            data.data = (const char *)data.data +
                        counts[i] * kernel_row_bytes(data.type, columns);
    }
}

/* A copy of a matrix of such heads in which each has its halves one after the
 * other; NULL: no memory. */
static const void *unpair(struct loader *loader, const struct tensor *tensor,
                          size_t head)
{
    size_t rows = (size_t)tensor->shape[0], bytes = tensor->bytes / rows;
    char *copy = keep(loader->files, malloc(tensor->bytes));
    for (size_t i = 0; copy && i < rows; i++) {
        size_t within = i % head, first = i - within;
        size_t to = first + within / 2 + within % 2 * (head / 2);
        memcpy(copy + to * bytes, (const char *)tensor->data + i * bytes,
               bytes);
    }
    return copy;
}

struct kernel_weight *loader_paired(struct loader *loader, const char *name,
                                    size_t rows, size_t columns, size_t head)
{
    const struct tensor *tensor =
        loader_ask_matrix(loader, name, rows, columns);
    if (!tensor || !loader->take || loader->code)
        return NULL;
    struct matrix_data data = {.data = unpair(loader, tensor, head),
                               .type = tensor_kernel_type(tensor)};
    return loader_weight(loader, data, name, rows, columns);
}

struct part_name part_name(const struct loader *loader, const char *part)
{
    struct part_name name;
    snprintf(name.text, sizeof name.text, "%s%s", loader->prefix, part);
    return name;
}

struct part_name part_name_in_layer(const struct loader *loader,
                                    const struct tensor_names *names,
                                    size_t layer, const char *part)
{
    struct part_name name;
    snprintf(name.text, sizeof name.text, "%s%s%zu.%s", loader->prefix,
             names->layer, layer, part ? part : "");
    return name;
}

const char *part_name_end(struct part_name *name, const char *end)
{
    size_t size = strlen(name->text);
    snprintf(name->text + size, sizeof name->text - size, "%s", end);
    return name->text;
}
