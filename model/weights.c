#include "model/weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/half.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/safetensors.h"

enum { MOST_FILES = 1024, MOST_INDEX = 16 << 20, MOST_NAME = 128 };
enum {
    PREFIXES = sizeof((struct tensor_names *)0)->prefixes / sizeof(char *),
    UNUSED = sizeof((struct tensor_names *)0)->unused / sizeof(char *)
};

struct named {
    const struct tensor *tensor;
    bool known; /* something asked for it */
};

/* The open files, and what a backend uses in place but is not in them. */
struct weight_files {
    struct safetensors **files; /* [count] */
    size_t count, capacity;
    struct named *tensors; /* [tensor_count], by name */
    size_t tensor_count;
    void **copies; /* [copy_count] */
    size_t copy_count, copy_capacity;
};

/* One walk over all weights: the first checks, the second takes. */
struct walk {
    struct weight_files *files;
    const struct kernels *kernels;
    struct kernel_run *run;
    const char *prefix; /* "model." and the like, or "" */
    bool take;
    struct buf complaints; /* of the first walk */
    size_t complaint_count;
    int code; /* of the second: the first failure */
    struct err *err;
};

/* ---- Files ---- */

static int open_file(struct weight_files *files, const char *folder,
                     const char *name, struct err *err)
{
    struct buf path = {0};
    struct safetensors *file = NULL;
    file_join(&path, folder, name);
    int code = safetensors_open(path.data, &file, err);
    if (code && err)
        err_at(err, path.data);
    buf_free(&path);
    if (code)
        return code;
    void *items = files->files;
    mem_reserve(&items, &files->capacity, files->count + 1, sizeof file);
    files->files = items;
    files->files[files->count++] = file;
    return 0;
}

/* The latest first: most tensors lie in the file of the one before. */
static bool is_open(const char *const *opened, size_t count, const char *name)
{
    while (count > 0)
        if (!strcmp(opened[--count], name))
            return true;
    return false;
}

static int open_named(struct weight_files *files, const char *folder,
                      const cJSON *root, struct err *err)
{
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(root, "weight_map");
    const char *opened[MOST_FILES];
    const cJSON *item;
    if (!cJSON_IsObject(map))
        return err_set(err, ERR_FORMAT, "the index has no \"weight_map\"");
    cJSON_ArrayForEach (item, map) {
        const char *name = cJSON_GetStringValue(item);
        if (!name || strchr(name, '/'))
            return err_set(err, ERR_FORMAT,
                           "the index names something else than a file");
        if (is_open(opened, files->count, name))
            continue;
        if (files->count == MOST_FILES)
            return err_set(err, ERR_FORMAT,
                           "the index names more than %d files", MOST_FILES);
        opened[files->count] = name;
        int code = open_file(files, folder, name, err);
        if (code)
            return code;
    }
    return 0;
}

static int open_index(struct weight_files *files, const char *folder,
                      const char *path, struct err *err)
{
    struct buf text = {0};
    cJSON *root = NULL;
    int code = file_read(path, MOST_INDEX, &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &root, err);
    if (!code)
        code = open_named(files, folder, root, err);
    cJSON_Delete(root);
    buf_free(&text);
    if (code && err)
        err_at(err, path);
    return code;
}

static int compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return strcmp(x->tensor->name.data, y->tensor->name.data);
}

static int sort_tensors(struct weight_files *files, struct err *err)
{
    size_t count = 0;
    for (size_t f = 0; f < files->count; f++)
        count += safetensors_count(files->files[f]);
    files->tensors = mem_alloc(count * sizeof *files->tensors);
    for (size_t f = 0; f < files->count; f++)
        for (size_t i = 0; i < safetensors_count(files->files[f]); i++)
            files->tensors[files->tensor_count++].tensor =
                safetensors_at(files->files[f], i);
    if (count)
        qsort(files->tensors, count, sizeof *files->tensors, compare);
    for (size_t i = 1; i < count; i++)
        if (!compare(&files->tensors[i - 1], &files->tensors[i]))
            return err_set(err, ERR_FORMAT, "tensor %.200s is in two files",
                           files->tensors[i].tensor->name.data);
    return 0;
}

static int open_files(struct weight_files *files, const char *folder,
                      struct err *err)
{
    struct buf path = {0};
    struct stat st;
    int code;
    file_join(&path, folder, "model.safetensors.index.json");
    if (stat(path.data, &st) == 0)
        code = open_index(files, folder, path.data, err);
    else
        code = open_file(files, folder, "model.safetensors", err);
    buf_free(&path);
    return code ? code : sort_tensors(files, err);
}

static void close_files(struct weight_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        safetensors_close(files->files[i]);
    for (size_t i = 0; i < files->copy_count; i++)
        free(files->copies[i]);
    free(files->files);
    free(files->tensors);
    free(files->copies);
    free(files);
}

static struct named *find(struct weight_files *files, const char *name)
{
    struct tensor wanted = {.name = slice_of(name)};
    struct named key = {&wanted, false};
    if (!files->tensor_count)
        return NULL;
    return bsearch(&key, files->tensors, files->tensor_count, sizeof key,
                   compare);
}

static struct hash128 hash_all(const struct weight_files *files)
{
    struct buf all = {0};
    unsigned char bytes[16];
    for (size_t i = 0; i < files->tensor_count; i++) {
        const struct tensor *t = files->tensors[i].tensor;
        buf_put_string(&all, t->name);
        buf_put_varint(&all, (uint64_t)t->type);
        for (int d = 0; d < t->rank; d++)
            buf_put_varint(&all, t->shape[d]);
        hash_write(hash_bytes(t->data, t->bytes), bytes);
        buf_put(&all, bytes, sizeof bytes);
    }
    struct hash128 hash = hash_bytes(buf_slice(&all).data, all.size);
    buf_free(&all);
    return hash;
}

/* ---- Checking ---- */

static void complain(struct walk *walk, const char *what, const char *name)
{
    buf_printf(&walk->complaints, "%s%s %s", walk->complaint_count ? ", " : "",
               what, name);
    walk->complaint_count++;
}

static bool is_float(const struct tensor *tensor)
{
    return tensor->type == TENSOR_F32 || tensor->type == TENSOR_BF16 ||
           tensor->type == TENSOR_F16;
}

static void complain_shape(struct walk *walk, const struct tensor *t,
                           size_t rows, size_t columns)
{
    complain(walk, is_float(t) ? "misshapen" : "of another type", t->name.data);
    if (!is_float(t))
        return;
    buf_put_text(&walk->complaints, " [");
    for (int i = 0; i < t->rank; i++)
        buf_printf(&walk->complaints, "%s%llu", i ? ", " : "",
                   (unsigned long long)t->shape[i]);
    if (columns)
        buf_printf(&walk->complaints, "] (not [%zu, %zu])", rows, columns);
    else
        buf_printf(&walk->complaints, "] (not [%zu])", rows);
}

/* The tensor [rows, columns], or [rows] when columns is 0; NULL, with a
 * complaint, when there is none like that. */
static const struct tensor *ask(struct walk *walk, const char *name,
                                size_t rows, size_t columns)
{
    struct named *named = find(walk->files, name);
    if (!named) {
        complain(walk, "missing", name);
        return NULL;
    }
    const struct tensor *t = named->tensor;
    named->known = true;
    bool fits = t->rank == (columns ? 2 : 1) && t->shape[0] == rows &&
                (!columns || t->shape[1] == columns);
    if (fits && is_float(t))
        return t;
    complain_shape(walk, t, rows, columns);
    return NULL;
}

/* What other programs leave in a file and no one needs. */
static bool passed_over(const struct tensor *tensor,
                        const struct model_config *c)
{
    const struct tensor_names *names = c->architecture->names;
    const char *name = tensor->name.data;
    for (size_t i = 0; i < UNUSED && names->unused[i]; i++)
        if (strstr(name, names->unused[i]))
            return true;
    return (c->tied || !c->writes) && !strcmp(name, "lm_head.weight");
}

static int report(struct walk *walk, const struct model_config *c)
{
    for (size_t i = 0; i < walk->files->tensor_count; i++) {
        const struct named *named = &walk->files->tensors[i];
        if (!named->known && !passed_over(named->tensor, c))
            complain(walk, "not known", named->tensor->name.data);
    }
    if (!walk->complaint_count)
        return 0;
    struct buf *text = &walk->complaints;
    enum { SHOWN = 500 };
    bool cut = text->size > SHOWN;
    return err_set(walk->err, ERR_FORMAT,
                   "%zu tensors are not as config.json says: %.*s%s",
                   walk->complaint_count, cut ? SHOWN : (int)text->size,
                   text->data, cut ? " ..." : "");
}

/* ---- Taking ---- */

static void to_floats(const struct tensor *tensor, float *out)
{
    size_t count = tensor_values(tensor);
    const unsigned char *in = tensor->data;
    if (tensor->type == TENSOR_F32) {
        memcpy(out, in, count * sizeof *out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, in + 2 * i, sizeof half);
        uint32_t bits = (uint32_t)half << 16;
        if (tensor->type == TENSOR_F16)
            out[i] = half_value(half);
        else
            memcpy(&out[i], &bits, sizeof bits);
    }
}

static void fail(struct walk *walk, int kernel_code, const char *name)
{
    if (!walk->code)
        walk->code =
            err_set(walk->err,
                    kernel_code == KERNEL_NO_MEMORY ? ERR_LIMIT : ERR_INTERNAL,
                    kernel_code == KERNEL_NO_MEMORY
                        ? "no memory for the tensor %.200s"
                        : "the backend refused the tensor %.200s",
                    name);
}

/* Not mem_alloc: a model that is too large must not end the process. */
static void *room_for_floats(const struct tensor *tensor)
{
    size_t bytes;
    if (!mem_mul(tensor_values(tensor), sizeof(float), &bytes))
        return NULL;
    return malloc(bytes ? bytes : 1);
}

static float *host_vector(struct walk *walk, const char *name, size_t rows,
                          size_t columns)
{
    const struct tensor *tensor = ask(walk, name, rows, columns);
    if (!walk->take || !tensor || walk->code)
        return NULL;
    float *values = room_for_floats(tensor);
    if (values)
        to_floats(tensor, values);
    else
        fail(walk, KERNEL_NO_MEMORY, name);
    return values;
}

static float *vector(struct walk *walk, const char *name, size_t rows,
                     size_t columns)
{
    float *host = host_vector(walk, name, rows, columns);
    if (!host)
        return NULL;
    size_t bytes = rows * (columns ? columns : 1) * sizeof *host;
    float *values = walk->kernels->allocate(walk->run, bytes);
    int code = KERNEL_NO_MEMORY;
    if (values)
        code = walk->kernels->upload(walk->run, values, host, bytes);
    free(host);
    if (code)
        fail(walk, code, name);
    return values;
}

/* NULL: no memory. */
static void *keep_copy(struct weight_files *files, const struct tensor *tensor,
                       bool as_floats)
{
    void *copies = files->copies, *copy = room_for_floats(tensor);
    if (!copy)
        return NULL;
    mem_reserve(&copies, &files->copy_capacity, files->copy_count + 1,
                sizeof copy);
    files->copies = copies;
    files->copies[files->copy_count++] = copy;
    if (as_floats)
        to_floats(tensor, copy);
    else
        memcpy(copy, tensor->data, tensor->bytes);
    return copy;
}

static struct kernel_weight *matrix(struct walk *walk, const char *name,
                                    size_t rows, size_t columns)
{
    const struct tensor *tensor = ask(walk, name, rows, columns);
    if (!walk->take || !tensor || walk->code)
        return NULL;
    struct kernel_weight *weight = NULL;
    int type = tensor->type == TENSOR_BF16 ? KERNEL_BF16 : KERNEL_F32;
    const void *data = tensor->data;
    if (tensor->type == TENSOR_F16)
        data = keep_copy(walk->files, tensor, true);
    else if ((uintptr_t)data % kernel_type_size(type))
        data = keep_copy(walk->files, tensor, false);
    int code = KERNEL_NO_MEMORY;
    if (data)
        code = walk->kernels->weight(walk->run, data, type, rows, columns,
                                     &weight);
    if (code)
        fail(walk, code, name);
    return weight;
}

/* A tensor's name, but for ".weight" or ".bias": of the whole model, or of a
 * layer. */
struct part_name {
    char text[MOST_NAME];
};

static struct part_name name_of(const struct walk *walk, const char *part)
{
    struct part_name name;
    snprintf(name.text, sizeof name.text, "%s%s", walk->prefix, part);
    return name;
}

static struct part_name name_in_layer(const struct walk *walk,
                                      const struct tensor_names *names,
                                      size_t layer, const char *part)
{
    struct part_name name;
    snprintf(name.text, sizeof name.text, "%s%s%zu.%s", walk->prefix,
             names->layer, layer, part ? part : "");
    return name;
}

static const char *ending(struct part_name *name, const char *end)
{
    size_t size = strlen(name->text);
    snprintf(name->text + size, sizeof name->text - size, "%s", end);
    return name->text;
}

static struct linear linear(struct walk *walk, struct part_name name,
                            size_t rows, size_t columns, bool biased)
{
    struct part_name bias = name;
    struct linear l = {
        .weight = matrix(walk, ending(&name, ".weight"), rows, columns)};
    if (biased)
        l.bias = vector(walk, ending(&bias, ".bias"), rows, 0);
    return l;
}

/* TensorFlow's names of a LayerNorm are in files that came from there. */
static struct norm norm(struct walk *walk, struct part_name name, size_t width,
                        bool biased)
{
    struct part_name bias = name, gamma = name;
    bool old = biased && find(walk->files, ending(&gamma, ".gamma"));
    struct norm n = {
        .weight =
            vector(walk, ending(&name, old ? ".gamma" : ".weight"), width, 0)};
    if (biased)
        n.bias = vector(walk, ending(&bias, old ? ".beta" : ".bias"), width, 0);
    return n;
}

static void walk_layer(struct walk *walk, const struct model_config *c,
                       size_t i, struct layer_weights *l)
{
    const struct tensor_names *names = c->architecture->names;
    size_t q = c->heads * c->head, kv = c->key_heads * c->head;
    bool layer_norm = c->architecture->norm == NORM_LAYER;
    bool whole = c->architecture->head_norm == HEAD_NORM_WHOLE;
#define NAME(part) name_in_layer(walk, names, i, names->part)
    l->attention_norm = norm(walk, NAME(attention_norm), c->width, layer_norm);
    l->q = linear(walk, NAME(q), q, c->width, c->qkv_bias);
    l->k = linear(walk, NAME(k), kv, c->width, c->qkv_bias);
    l->v = linear(walk, NAME(v), kv, c->width, c->qkv_bias);
    l->o = linear(walk, NAME(o), c->width, q, c->bias);
    if (c->architecture->head_norm != HEAD_NORM_NONE) {
        l->q_norm = norm(walk, NAME(q_norm), whole ? q : c->head, false);
        l->k_norm = norm(walk, NAME(k_norm), whole ? kv : c->head, false);
    }
    l->inner_norm = norm(walk, NAME(inner_norm), c->width, layer_norm);
    if (c->architecture->gated)
        l->gate = linear(walk, NAME(gate), c->inner, c->width, c->inner_bias);
    l->up = linear(walk, NAME(up), c->inner, c->width, c->inner_bias);
    l->down = linear(walk, NAME(down), c->width, c->inner, c->inner_bias);
#undef NAME
}

/* Every token is of the first type: its vector is added to each position's
 * here, once and for all. */
static struct kernel_weight *positions(struct walk *walk,
                                       const struct model_config *c)
{
    const struct tensor_names *names = c->architecture->names;
    struct part_name name = name_of(walk, names->positions);
    struct part_name type = name_of(walk, names->types);
    size_t rows = c->first + c->context;
    struct kernel_weight *weight = NULL;
    const struct tensor *table =
        ask(walk, ending(&name, ".weight"), rows, c->width);
    float *types =
        host_vector(walk, ending(&type, ".weight"), c->types, c->width);
    float *sums = NULL;
    if (types && table && !walk->code) {
        sums = keep_copy(walk->files, table, true);
        for (size_t i = 0; sums && i < rows * c->width; i++)
            sums[i] += types[i % c->width];
        int code = KERNEL_NO_MEMORY;
        if (sums)
            code = walk->kernels->weight(walk->run, sums, KERNEL_F32, rows,
                                         c->width, &weight);
        if (code)
            fail(walk, code, name.text);
    }
    free(types);
    return weight;
}

static void walk_projections(struct walk *walk, const char *wq, const char *wk,
                             size_t width, struct projections *p)
{
    const struct named *q = find(walk->files, wq), *k = find(walk->files, wk);
    if (!q && !k)
        return;
    const struct tensor *first = (q ? q : k)->tensor;
    p->p = first->rank == 2 && first->shape[1] ? (size_t)first->shape[1] : 1;
    p->wq = vector(walk, wq, width, p->p);
    p->wk = vector(walk, wk, width, p->p);
}

static void walk_all(struct walk *walk, const struct model_config *c,
                     struct model_weights *w)
{
    const struct tensor_names *names = c->architecture->names;
    bool layer_norm = c->architecture->norm == NORM_LAYER;
    struct part_name name = name_of(walk, names->embedding);
    w->embedding =
        matrix(walk, ending(&name, ".weight"), c->vocabulary, c->width);
    if (names->positions)
        w->positions = positions(walk, c);
    if (names->embedding_norm)
        w->embedding_norm = norm(walk, name_of(walk, names->embedding_norm),
                                 c->width, layer_norm);
    if (c->writes && c->tied)
        w->head = w->embedding;
    else if (c->writes)
        w->head = matrix(walk, "lm_head.weight", c->vocabulary, c->width);
    if (names->norm)
        w->norm = norm(walk, name_of(walk, names->norm), c->width, layer_norm);
    for (size_t i = 0; i < c->layers; i++)
        walk_layer(walk, c, i, &w->layers[i]);
    if (c->architecture->encoder)
        return;
    if (find(walk->files, "lectern.mem") || find(walk->files, "lectern.mem0")) {
        w->host_mem = host_vector(walk, "lectern.mem", c->width, 0);
        w->host_mem0 = host_vector(walk, "lectern.mem0", c->width, 0);
    }
    walk_projections(walk, "lectern.recall.wq", "lectern.recall.wk", c->width,
                     &w->recall);
    walk_projections(walk, "lectern.pool.wq", "lectern.pool.wk", c->width,
                     &w->pool);
}

static void describe(struct model_weights *w, const struct walk *walk,
                     const struct tensor_names *names)
{
    struct part_name name = name_of(walk, names->embedding);
    const struct named *embedding = find(w->files, ending(&name, ".weight"));
    int type = embedding->tensor->type;
    w->type = type == TENSOR_BF16 ? "bf16" : type == TENSOR_F16 ? "f16" : "f32";
    for (size_t i = 0; i < w->files->tensor_count; i++)
        w->parameters += tensor_values(w->files->tensors[i].tensor);
    w->hash = hash_all(w->files);
}

/* The first prefix under which there is an embedding; without any, the one it
 * should have. */
static const char *prefix_of(const struct walk *walk,
                             const struct tensor_names *names)
{
    struct walk under = *walk;
    for (size_t i = 0; i < PREFIXES && names->prefixes[i]; i++) {
        under.prefix = names->prefixes[i];
        struct part_name name = name_of(&under, names->embedding);
        if (find(walk->files, ending(&name, ".weight")))
            return under.prefix;
    }
    under.prefix = "";
    struct part_name name = name_of(&under, names->embedding);
    return find(walk->files, ending(&name, ".weight")) ? ""
                                                       : names->prefixes[0];
}

int model_weights_open(const char *folder, const struct model_config *config,
                       const struct kernels *kernels, struct kernel_run *run,
                       struct model_weights *ret, struct err *err)
{
    struct model_weights w = {.kernels = kernels};
    w.files = mem_alloc(sizeof *w.files);
    w.layers = mem_alloc(config->layers * sizeof *w.layers);
    struct walk walk = {
        .files = w.files, .kernels = kernels, .run = run, .err = err};
    int code = open_files(w.files, folder, err);
    if (!code) {
        walk.prefix = prefix_of(&walk, config->architecture->names);
        walk_all(&walk, config, &w);
        code = report(&walk, config);
    }
    if (!code) {
        walk.take = true;
        walk_all(&walk, config, &w);
        code = walk.code;
    }
    if (!code)
        describe(&w, &walk, config->architecture->names);
    buf_free(&walk.complaints);
    if (code)
        model_weights_close(&w, config, run);
    else
        *ret = w;
    return code;
}

static void close_norm(struct model_weights *w, struct norm *n,
                       struct kernel_run *run)
{
    w->kernels->release(run, n->weight);
    w->kernels->release(run, n->bias);
}

static void close_matrix(struct model_weights *w, struct kernel_weight *matrix,
                         struct kernel_run *run)
{
    if (matrix)
        w->kernels->weight_free(run, matrix);
}

static void close_layer(struct model_weights *w, struct layer_weights *l,
                        struct kernel_run *run)
{
    struct norm *norms[] = {&l->attention_norm, &l->q_norm, &l->k_norm,
                            &l->inner_norm};
    struct linear *linears[] = {&l->q,    &l->k,  &l->v,   &l->o,
                                &l->gate, &l->up, &l->down};
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++)
        close_norm(w, norms[i], run);
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++) {
        close_matrix(w, linears[i]->weight, run);
        w->kernels->release(run, linears[i]->bias);
    }
}

void model_weights_close(struct model_weights *w,
                         const struct model_config *config,
                         struct kernel_run *run)
{
    float *vectors[] = {w->recall.wq, w->recall.wk, w->pool.wq, w->pool.wk};
    for (size_t i = 0; w->layers && i < config->layers; i++)
        close_layer(w, &w->layers[i], run);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        w->kernels->release(run, vectors[i]);
    close_norm(w, &w->norm, run);
    close_norm(w, &w->embedding_norm, run);
    close_matrix(w, w->positions, run);
    if (w->head != w->embedding)
        close_matrix(w, w->head, run);
    close_matrix(w, w->embedding, run);
    free(w->layers);
    free(w->host_mem);
    free(w->host_mem0);
    close_files(w->files);
    *w = (struct model_weights){0};
}
