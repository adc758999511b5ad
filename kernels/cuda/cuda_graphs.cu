/* A step: launches that are put off, to be started as one graph of the device's.
 *
 *     graph_begin ──► recorded ──► graph_end ──► as the step before? ──► a graph
 *                        └── something must be waited for ──► one by one
 *
 * A decode step asks for the same hundreds of launches again and again; what
 * depends on the position (rotary, where keys go, how many slots attention sees)
 * they read from memory, where the first of them puts it: it alone is given other
 * numbers in each step.  So each step's launches are written down here, and not
 * yet started.  Where they are those of the step before, but for
 * what they are given, a graph is made of them, and from then on only the nodes
 * that changed are set anew before it is started.  Where they are not, as when a
 * second session joins, or where the runtime cannot make a graph, they are
 * started one by one.
 *
 * 1. All that is put off is of one stream, in order: the graph is a line.
 * 2. `before` is what the graph holds, if there is one.
 * 3. Nothing but a launch is asked of the stream while some are put off: who
 *    asks for more calls cuda_direct.
 * 4. A kernel that may begin early waits for the one before within, so when it
 *    is done all before it are: whoever waits for the one before has waited for
 *    all. */
#include "kernels/cuda/cuda_internal.h"

#include <cstdlib>
#include <cstring>

namespace
{

constexpr size_t MAX_VALUES = 32;    /* parameters of a kernel */
constexpr size_t ALIGNMENT = 256;     /* of scratch memory */
constexpr size_t FIRST_SCRATCH = 256; /* bytes; the first steps show more */
constexpr unsigned THREADS = 256;
constexpr unsigned WORDS = 64; /* of a step's positions and lengths */

struct launch {
    const void *kernel;
    dim3 grid, block;
    size_t shared;
    bool early;
    size_t first, count; /* of its values' places */
};

/* What grows stays. */
template <typename T> struct pile {
    T *items;
    size_t count, capacity;

    /* `more` behind the others, unset; nullptr: no memory. */
    T *add(size_t more)
    {
        size_t needed, bytes;
        if (__builtin_add_overflow(count, more, &needed))
            return nullptr;
        if (needed > capacity || !items) {
            size_t roomy = needed < 64 ? 64 : 2 * needed;
            if (__builtin_mul_overflow(roomy, sizeof(T), &bytes))
                return nullptr;
            void *memory = realloc(static_cast<void *>(items), bytes);
            if (!memory)
                return nullptr;
            items = static_cast<T *>(memory);
            capacity = roomy;
        }
        count = needed;
        return items + needed - more;
    }
};

struct launches {
    struct pile<struct launch> list;
    struct pile<size_t> places;  /* of values, in `bytes` */
    struct pile<size_t> sizes;   /* theirs */
    struct pile<uint64_t> words; /* the values, each from a pair of words on */
};

void clear(struct launches *l)
{
    l->list.count = l->places.count = l->sizes.count = l->words.count = 0;
}

void free_launches(struct launches *l)
{
    free(l->list.items);
    free(l->places.items);
    free(l->sizes.items);
    free(l->words.items);
}

bool write_down(struct launches *l, const cudaLaunchConfig_t *config,
                bool early, const void *kernel, void **values,
                const size_t *sizes, size_t count)
{
    size_t first = l->places.count;
    size_t *places = l->places.add(count), *widths = l->sizes.add(count);
    if (count > MAX_VALUES || !places || !widths)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t words = 2 * cuda_ceil(sizes[i], 2 * sizeof(uint64_t));
        places[i] = l->words.count;
        widths[i] = sizes[i];
        uint64_t *to = l->words.add(words);
        if (!to)
            return false;
        memset(to, 0, words * sizeof *to);
        memcpy(to, values[i], sizes[i]);
    }
    struct launch *launch = l->list.add(1);
    if (launch)
        *launch = {kernel,
                   config->gridDim,
                   config->blockDim,
                   config->dynamicSmemBytes,
                   early,
                   first,
                   count};
    return launch;
}

void values_of(const struct launches *l, const struct launch *launch,
               void **ret)
{
    for (size_t i = 0; i < launch->count; i++)
        ret[i] = l->words.items + l->places.items[launch->first + i];
}

bool same_size(dim3 a, dim3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* The same kernels in the same order, whatever they are given. */
bool same_kernels(const struct launches *a, const struct launches *b)
{
    if (a->list.count != b->list.count || !a->list.count)
        return false;
    for (size_t i = 0; i < a->list.count; i++)
        if (a->list.items[i].kernel != b->list.items[i].kernel)
            return false;
    return true;
}

bool same_values(const struct launches *a, const struct launches *b, size_t i)
{
    const struct launch *x = &a->list.items[i], *y = &b->list.items[i];
    if (!same_size(x->grid, y->grid) || !same_size(x->block, y->block) ||
        x->shared != y->shared)
        return false;
    for (size_t v = 0; v < x->count; v++)
        if (memcmp(a->words.items + a->places.items[x->first + v],
                   b->words.items + b->places.items[y->first + v],
                   a->sizes.items[x->first + v]) != 0)
            return false;
    return true;
}

/* ---- A run's step ---- */

struct step_words {
    uint32_t of[WORDS];
};

struct step {
    bool recording;
    bool no_graphs; /* the runtime makes none */
    int failed;     /* of what was started, until somebody is told */
    struct launches now, before;
    cudaGraph_t graph; /* of `before`; nullptr: there is none */
    cudaGraphExec_t ready;
    struct pile<cudaGraphNode_t> nodes;
    uint32_t *words;         /* [WORDS] on the device; nullptr: there are none */
    bool has_words;          /* the first launch of `now` puts them there */
    struct step_words given; /* what it puts */
    enum cuda_word kinds[WORDS];
    size_t given_count;
    char *scratch;
    size_t size, used, live; /* bytes; pieces */
    size_t wanted;           /* bytes */
};

struct step *step_of(const struct kernel_run *run)
{
    return static_cast<struct step *>(run->step);
}

int told(struct step *s)
{
    int code = s ? s->failed : KERNEL_OK;
    if (s)
        s->failed = KERNEL_OK;
    return code;
}

/* No error of the run's: it can do without. */
bool fine(cudaError_t error)
{
    if (error != cudaSuccess)
        cudaGetLastError();
    return error == cudaSuccess;
}

void drop_graph(struct step *s)
{
    if (s->ready)
        fine(cudaGraphExecDestroy(s->ready));
    if (s->graph)
        fine(cudaGraphDestroy(s->graph));
    s->ready = nullptr;
    s->graph = nullptr;
    s->nodes.count = 0;
}

cudaKernelNodeParams node_of(const struct launches *l, size_t i, void **values)
{
    const struct launch *launch = &l->list.items[i];
    cudaKernelNodeParams node = {};
    values_of(l, launch, values);
    node.func = const_cast<void *>(launch->kernel);
    node.gridDim = launch->grid;
    node.blockDim = launch->block;
    node.sharedMemBytes = static_cast<unsigned>(launch->shared);
    node.kernelParams = values;
    return node;
}

/* Node `to` waits for `from`: for its end, or, `early`, for itself within
 * (wait_for_earlier), so that it begins when all blocks of `from` have called
 * let_later_begin, or have ended. */
bool put_behind(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to,
                bool early)
{
    cudaGraphEdgeData edge = {};
    if (early) {
        edge.from_port = cudaGraphKernelNodePortProgrammatic;
        edge.type = cudaGraphDependencyTypeProgrammatic;
    }
    return fine(cudaGraphAddDependencies(graph, &from, &to, &edge, 1));
}

bool make_graph(struct step *s)
{
    size_t count = s->now.list.count;
    s->nodes.count = 0;
    cudaGraphNode_t *nodes = s->nodes.add(count);
    if (!nodes || !fine(cudaGraphCreate(&s->graph, 0)))
        return false;
    for (size_t i = 0; i < count; i++) {
        void *values[MAX_VALUES];
        cudaKernelNodeParams node = node_of(&s->now, i, values);
        if (!fine(cudaGraphAddKernelNode(&nodes[i], s->graph, nullptr, 0,
                                         &node)) ||
            (i && !put_behind(s->graph, nodes[i - 1], nodes[i],
                              s->now.list.items[i].early)))
            return false;
    }
    return fine(cudaGraphInstantiate(&s->ready, s->graph, 0));
}

bool change_graph(struct step *s)
{
    for (size_t i = 0; i < s->now.list.count; i++) {
        void *values[MAX_VALUES];
        if (same_values(&s->now, &s->before, i))
            continue;
        cudaKernelNodeParams node = node_of(&s->now, i, values);
        if (!fine(cudaGraphExecKernelNodeSetParams(s->ready, s->nodes.items[i],
                                                   &node)))
            return false;
    }
    return true;
}

int start_each(struct kernel_run *run, const struct launches *l)
{
    int code = KERNEL_OK;
    for (size_t i = 0; i < l->list.count && !code; i++) {
        const struct launch *launch = &l->list.items[i];
        void *values[MAX_VALUES];
        cudaLaunchConfig_t config = {};
        values_of(l, launch, values);
        config.gridDim = launch->grid;
        config.blockDim = launch->block;
        config.dynamicSmemBytes = launch->shared;
        config.stream = cuda_stream(run);
        code = cuda_code(cudaLaunchKernelExC(&config, launch->kernel, values));
    }
    return code;
}

/* The first launch gets what was asked for after it. */
void give_words(struct step *s)
{
    if (s->has_words)
        memcpy(s->now.words.items +
                   s->now.places.items[s->now.list.items[0].first + 1],
               &s->given, sizeof s->given);
    s->has_words = false;
}

int start_all(struct kernel_run *run, struct step *s)
{
    give_words(s);
    bool again = !s->no_graphs && same_kernels(&s->now, &s->before);
    bool ready = again && (s->ready ? change_graph(s) : make_graph(s));
    if (!ready)
        drop_graph(s);
    s->no_graphs = s->no_graphs || (again && !ready);
    return ready ? cuda_code(cudaGraphLaunch(s->ready, cuda_stream(run)))
                 : start_each(run, &s->now);
}

/* ---- The table's ---- */

void renew_scratch(struct kernel_run *run, struct step *s)
{
    void *memory = nullptr;
    if (s->wanted <= s->size)
        return;
    if (s->scratch)
        cuda_code(cudaFreeAsync(s->scratch, cuda_stream(run)));
    s->scratch = nullptr;
    s->size = 0;
    if (cuda_code(cudaMallocAsync(&memory, s->wanted, cuda_stream(run))))
        return;
    s->scratch = static_cast<char *>(memory);
    s->size = s->wanted;
}

__global__ void __launch_bounds__(WORDS)
    put_words(uint32_t *to, const struct step_words words)
{
    to[threadIdx.x] = words.of[threadIdx.x];
}

/* Without memory for words the step is recorded all the same. */
void begin_words(struct kernel_run *run, struct step *s)
{
    void *memory = nullptr;
    s->given = {};
    s->given_count = 0;
    if (!s->words && !cuda_code(cudaMallocAsync(&memory, sizeof s->given,
                                                cuda_stream(run))))
        s->words = static_cast<uint32_t *>(memory);
    if (s->words && s->recording)
        cuda_launch(run, put_words, {1, 1, 1, WORDS}, s->words, s->given);
    s->has_words = s->recording && s->now.list.count == 1;
}

int graph_begin(struct kernel_run *run)
{
    int code = cuda_direct(run);
    if (!run->step)
        run->step = calloc(1, sizeof(struct step));
    struct step *s = step_of(run);
    if (!s || code)
        return code; /* nothing is put off */
    if (!s->wanted)
        s->wanted = FIRST_SCRATCH;
    renew_scratch(run, s);
    s->recording = s->scratch;
    begin_words(run, s);
    return KERNEL_OK;
}

int graph_end(struct kernel_run *run)
{
    struct step *s = step_of(run);
    if (!s || !s->recording)
        return told(s);
    s->recording = false;
    int code = start_all(run, s);
    struct launches before = s->before;
    s->before = s->now;
    s->now = before;
    clear(&s->now);
    return code;
}

void run_end(struct kernel_run *run)
{
    struct step *s = step_of(run);
    cuda_start_put_off(run);
    cuda_code(cudaStreamSynchronize(cuda_stream(run)));
    if (!s)
        return;
    drop_graph(s);
    if (s->scratch)
        cuda_code(cudaFreeAsync(s->scratch, cuda_stream(run)));
    if (s->words)
        cuda_code(cudaFreeAsync(s->words, cuda_stream(run)));
    free_launches(&s->now);
    free_launches(&s->before);
    free(static_cast<void *>(s->nodes.items));
    free(s);
    run->step = nullptr;
}

/* ---- Copies: a launch, so that they can be put off ---- */

__global__ void __launch_bounds__(THREADS)
    copy_words(unsigned *to, const unsigned *from, size_t count)
{
    size_t i = blockIdx.x * size_t{THREADS} + threadIdx.x;
    if (i < count)
        to[i] = from[i];
}

bool is_aligned(const void *at)
{
    return reinterpret_cast<uintptr_t>(at) % sizeof(unsigned) == 0;
}

}  // namespace

int cuda_copy(struct kernel_run *run, void *to, const void *from, size_t bytes)
{
    const struct step *s = step_of(run);
    if (s && s->recording && bytes % sizeof(unsigned) == 0 && is_aligned(to) &&
        is_aligned(from))
        return cuda_launch(
            run, copy_words,
            {cuda_ceil(bytes / sizeof(unsigned), THREADS), 1, 1, THREADS},
            static_cast<unsigned *>(to), static_cast<const unsigned *>(from),
            bytes / sizeof(unsigned));
    int code = cuda_direct(run);
    if (code || !bytes)
        return code;
    return cuda_code(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                     cuda_stream(run)));
}

bool cuda_put_off(struct kernel_run *run, const cudaLaunchConfig_t *config,
                  bool early, const void *kernel, void **values,
                  const size_t *sizes, size_t count)
{
    struct step *s = step_of(run);
    if (!s->recording)
        return false;
    size_t kept = s->now.list.count;
    if (write_down(&s->now, config, early && cuda_begins_early(), kernel,
                   values, sizes, count))
        return true;
    s->now.list.count = kept;
    cuda_start_put_off(run);
    return false;
}

void cuda_start_put_off(struct kernel_run *run)
{
    struct step *s = step_of(run);
    if (!s || !s->recording)
        return;
    s->recording = false;
    give_words(s);
    s->failed = start_each(run, &s->now);
    clear(&s->now);
}

int cuda_direct(struct kernel_run *run)
{
    cuda_start_put_off(run);
    return told(step_of(run));
}

/* Whether these were asked for before, as by each layer. */
static bool are_given(const struct step *s, size_t at, enum cuda_word kind,
                      const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (s->kinds[at + i] != kind || s->given.of[at + i] != values[i])
            return false;
    return true;
}

const uint32_t *cuda_step_words(struct kernel_run *run, enum cuda_word kind,
                                const uint32_t *values, size_t count)
{
    struct step *s = step_of(run);
    if (!s || !s->recording || !s->has_words)
        return nullptr;
    for (size_t at = 0; at + count <= s->given_count; at++)
        if (are_given(s, at, kind, values, count))
            return s->words + at;
    size_t at = s->given_count;
    if (count > WORDS - at)
        return nullptr;
    for (size_t i = 0; i < count; i++) {
        s->kinds[at + i] = kind;
        s->given.of[at + i] = values[i];
    }
    s->given_count += count;
    return s->words + at;
}

void *cuda_scratch(struct kernel_run *run, size_t bytes)
{
    struct step *s = step_of(run);
    if (!s || !s->recording)
        return nullptr;
    if (bytes > SIZE_MAX / 4 ||
        cuda_ceil(bytes, ALIGNMENT) * ALIGNMENT > s->size - s->used) {
        size_t max = SIZE_MAX / 4; /* the next step has more */
        if (s->wanted < max && bytes < max)
            s->wanted = 2 * (bytes > s->wanted ? bytes : s->wanted);
        cuda_start_put_off(run);
        return nullptr;
    }
    char *memory = s->scratch + s->used;
    s->used += cuda_ceil(bytes, ALIGNMENT) * ALIGNMENT;
    s->live++;
    return memory;
}

/* The last piece is free at once, the others when all are given back: no launch
 * that is put off in between may get what is still in use. */
void cuda_scratch_end(struct kernel_run *run, void *memory, size_t bytes)
{
    struct step *s = step_of(run);
    size_t place =
        static_cast<size_t>(static_cast<char *>(memory) - s->scratch);
    if (place + cuda_ceil(bytes, ALIGNMENT) * ALIGNMENT == s->used)
        s->used = place;
    if (!--s->live)
        s->used = 0;
}

void cuda_fill_steps(struct kernels *table)
{
    table->copy = cuda_copy;
    table->graph_begin = graph_begin;
    table->graph_end = graph_end;
    table->run_end = run_end;
}
