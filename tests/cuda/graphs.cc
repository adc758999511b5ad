/* Graphs of kernels, as the emulation's runtime has them: what the nodes are
 * given is copied when they are made or changed, and nodes run when those that
 * they wait for have, in an order that is otherwise turned around. */
#include "shim/cuda/cuda_runtime.h"

#include "tests/cuda/emulated.h"

#include <cstdio>
#include <cstdlib>

namespace
{

constexpr size_t MAX_KERNELS = 256, MAX_NODES = 1 << 14;
constexpr size_t WORDS = 512; /* of a node's values, 16 bytes each */

struct emulated_kernel all_known[MAX_KERNELS];
size_t known_count;
struct emulated_steps steps;

[[noreturn]] void wrong(const char *what)
{
    fprintf(stderr, "emulated graph: %s\n", what);
    abort();
}

const struct emulated_kernel *known(const void *address)
{
    for (size_t i = 0; i < known_count; i++)
        if (all_known[i].address == address)
            return &all_known[i];
    return nullptr;
}

struct alignas(16) word {
    unsigned char bytes[16];
};

}  // namespace

struct emulated_node {
    const struct emulated_kernel *kernel;
    dim3 grid, block;
    unsigned shared;
    size_t number, after; /* after: the node that it waits for; its own number:
                             none */
    bool early;
    struct word words[WORDS];
};

struct emulated_graph {
    struct emulated_node *nodes[MAX_NODES];
    size_t count;
};

struct emulated_ready {
    struct emulated_graph graph; /* of copies */
};

namespace
{

/* A copy of a kernel's values; false: they are too many. */
bool put_values(struct word *words, const struct emulated_kernel *kernel,
                void *const *values)
{
    for (size_t i = 0, at = 0; i < kernel->count; i++) {
        size_t bytes = kernel->sizes[i];
        if (at + bytes / sizeof(struct word) + 1 > WORDS)
            return false;
        memcpy(&words[at], values[i], bytes);
        at += bytes / sizeof(struct word) + 1;
    }
    return true;
}

void values_at(struct word *words, const struct emulated_kernel *kernel,
               void **ret)
{
    for (size_t i = 0, at = 0; i < kernel->count; i++) {
        ret[i] = &words[at];
        at += kernel->sizes[i] / sizeof(struct word) + 1;
    }
}

cudaError_t fill(struct emulated_node *node,
                 const struct cudaKernelNodeParams *params)
{
    node->kernel = known(params->func);
    if (!node->kernel)
        return cudaErrorInvalidDeviceFunction;
    node->grid = params->gridDim;
    node->block = params->blockDim;
    node->shared = params->sharedMemBytes;
    return put_values(node->words, node->kernel, params->kernelParams)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

cudaError_t run(struct emulated_node *node, unsigned step, cudaStream_t stream)
{
    void *values[emulated_kernel::MAX];
    cudaLaunchConfig_t config = {};
    values_at(node->words, node->kernel, values);
    config.gridDim = node->grid;
    config.blockDim = node->block;
    config.dynamicSmemBytes = node->shared;
    config.stream = stream;
    config.step = step;
    config.early = node->early;
    return cudaLaunchKernelExC(&config, node->kernel->address, values);
}

void free_nodes(struct emulated_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free(graph->nodes[i]);
}

struct emulated_node *new_node()
{
    void *memory = aligned_alloc(alignof(struct emulated_node),
                                 sizeof(struct emulated_node));
    if (!memory)
        wrong("no memory");
    memset(memory, 0xFF, sizeof(struct emulated_node));
    return static_cast<struct emulated_node *>(memory);
}

}  // namespace

void emulated_know(const struct emulated_kernel *kernel)
{
    if (known(kernel->address))
        return;
    if (known_count == MAX_KERNELS || kernel->count > emulated_kernel::MAX)
        wrong("more kernels, or parameters of one, than expected");
    all_known[known_count++] = *kernel;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                const void *address, void **values)
{
    struct call {
        const struct emulated_kernel *kernel;
        struct word words[WORDS];
    } call;
    call.kernel = known(address);
    if (!call.kernel)
        return cudaErrorInvalidDeviceFunction;
    if (!put_values(call.words, call.kernel, values))
        return cudaErrorInvalidValue;
    if (!emulated_allowed(address, config->dynamicSmemBytes))
        return cudaErrorInvalidConfiguration;
    return emulated_launch(
        config,
        [](void *argument) {
            struct call *c = static_cast<struct call *>(argument);
            void *places[emulated_kernel::MAX];
            values_at(c->words, c->kernel, places);
            c->kernel->call(c->kernel->address, places);
        },
        &call, sizeof call);
}

cudaError_t cudaGraphCreate(cudaGraph_t *ret, unsigned)
{
    if (steps.refused)
        return cudaErrorInvalidValue;
    *ret = static_cast<struct emulated_graph *>(
        calloc(1, sizeof(struct emulated_graph)));
    return *ret ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    free_nodes(graph);
    free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *ret, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *params)
{
    if (graph->count == MAX_NODES || count > 1)
        wrong("more nodes, or of what one waits for, than expected");
    struct emulated_node *node = new_node();
    cudaError_t error = fill(node, params);
    node->number = graph->count;
    node->early = false;
    node->after = count ? (*after)->number : node->number;
    graph->nodes[graph->count++] = node;
    *ret = node;
    return error;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to,
                                     const struct cudaGraphEdgeData *edges,
                                     size_t count)
{
    bool early = edges->type == cudaGraphDependencyTypeProgrammatic;
    if (count != 1 || (*to)->after != (*to)->number)
        wrong("a node waits for more than one");
    if (early != (edges->from_port == cudaGraphKernelNodePortProgrammatic))
        wrong("an edge of one type from the port of another");
    (*to)->after = (*from)->number;
    (*to)->early = early;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t graph,
                                 unsigned long long)
{
    struct emulated_ready *ready = static_cast<struct emulated_ready *>(
        calloc(1, sizeof(struct emulated_ready)));
    if (!ready)
        return cudaErrorMemoryAllocation;
    ready->graph.count = graph->count;
    for (size_t i = 0; i < graph->count; i++) {
        ready->graph.nodes[i] = new_node();
        *ready->graph.nodes[i] = *graph->nodes[i];
    }
    steps.made++;
    *ret = ready;
    return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(
    cudaGraphExec_t ready, cudaGraphNode_t node,
    const struct cudaKernelNodeParams *params)
{
    steps.changed++;
    return fill(ready->graph.nodes[node->number], params);
}

/* Of those that may run the last one made is first: who forgot what it waits
 * for runs too early. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream)
{
    struct emulated_graph *graph = &ready->graph;
    static bool done[MAX_NODES];
    steps.started++;
    steps.nodes = graph->count;
    steps.early = 0;
    for (size_t i = 0; i < graph->count; i++)
        steps.early += graph->nodes[i]->early;
    memset(done, 0, sizeof done);
    for (size_t left = graph->count; left; left--) {
        size_t at = graph->count;
        while (at-- > 0) {
            const struct emulated_node *node = graph->nodes[at];
            if (!done[at] && (node->after == at || done[node->after]))
                break;
        }
        cudaError_t error = run(graph->nodes[at], static_cast<unsigned>(steps.started), stream);
        if (error)
            return error;
        done[at] = true;
    }
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready)
{
    free_nodes(&ready->graph);
    free(ready);
    return cudaSuccess;
}

extern "C" struct emulated_steps *emulated_steps_seen()
{
    return &steps;
}
