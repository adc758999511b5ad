#include "model/weights/weights_internal.h"

#include <stdlib.h>
#include <string.h>

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

/* Of floats, or of int8 if `bytes`. */
static const struct tensor *ask(struct loader *loader, const char *name,
                                size_t rows, size_t columns, bool bytes)
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
    if (!tensor_is_float(t) && !(bytes && t->type == TENSOR_I8))
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

/* Room for it with `size` bytes a value, freed with the files; NULL: none. */
static void *keep_room(struct weight_files *files, const struct tensor *tensor,
                       size_t size)
{
    void *copy = room_for(tensor, size);
    if (!copy)
        return NULL;
    MEM_RESERVE(files->copies, &files->copy_capacity, files->copy_count + 1);
    files->copies[files->copy_count++] = copy;
    return copy;
}

float *weight_files_keep(struct weight_files *files,
                         const struct tensor *tensor)
{
    float *copy = keep_room(files, tensor, sizeof *copy);
    if (copy)
        tensor_floats(tensor, 0, tensor_values(tensor), copy);
    return copy;
}

static int kernel_type_of(const struct tensor *tensor)
{
    switch (tensor->type) {
    case TENSOR_BF16: return KERNEL_BF16;
    case TENSOR_F16: return KERNEL_F16;
    case TENSOR_I8: return KERNEL_INT8;
    default: return KERNEL_F32;
    }
}

/* Where it lies, or a copy when it lies unaligned; NULL: no memory. */
static const void *aligned(struct loader *loader, const struct tensor *tensor)
{
    size_t size = tensor_type_size(tensor->type);
    if ((uintptr_t)tensor->data % size == 0)
        return tensor->data;
    void *copy = keep_room(loader->files, tensor, size);
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
    struct matrix_data ret = {.type = kernel_type_of(tensor)};
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
