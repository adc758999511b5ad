/* Blocks and threads of a GPU as fibres of one thread (shim/cuda/cuda_runtime.h
 * says what for). */
#include "shim/cuda/cuda_runtime.h"
#include "tests/cuda/together.h"

#include "tests/cuda/emulated.h"

#include <cstdio>
#include <cstdlib>

#include <malloc.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef EMULATED_WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

unsigned emulated_random(unsigned limit)
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>((seed >> 33) % limit);
}

namespace
{

enum { MAX_THREADS = 1024, WARP = 32 };
/* No power of two: the stacks would share the lines of the cache. */
constexpr size_t STACK = (128 << 10) + 65 * 64;

/* AT_FLAG: until `may` says so. */
enum state { READY, AT_BLOCK, AT_WARP, AT_FLAG, DONE };

struct fibre {
#if !defined(__x86_64__)
    ucontext_t context;
#endif
    void *stack_pointer; /* where it stopped */
    uint64_t value, answer;
    unsigned from;
    void *own; /* what it brought for `all` */
    void (*all)(void *const *lanes);
    bool (*may)(const void *flag, unsigned value);
    const void *flag;
    unsigned flag_value;
    void *fake_stack; /* the sanitizer's */
};

struct fibre fibres[MAX_THREADS];
enum state
    states[MAX_THREADS]; /* of the fibres, side by side: it is asked often */
struct fibre caller;
char *stacks;
unsigned threads, current;
void *shared_memory;
size_t shared_bytes;
void (*kernel)(void *argument);
void *kernel_argument;
bool early;               /* the launch is */
bool waited[MAX_THREADS]; /* for those before it */

[[noreturn]] void wrong(const char *what)
{
    fprintf(stderr, "emulated kernel: %s (block %u %u %u, thread %u of %u)\n",
            what, blockIdx.x, blockIdx.y, blockIdx.z, current, threads);
    abort();
}

unsigned random_below(unsigned limit)
{
    return emulated_random(limit);
}

/* ---- Switching ---- */

#if defined(__x86_64__)
/* Saves what a called function must keep, and goes on where `to` stopped. */
extern "C" void emulated_switch(void **from, void *to);
__asm__(".text\n"
        ".type emulated_switch,@function\n"
        "emulated_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size emulated_switch,.-emulated_switch\n");

void jump(struct fibre *from, struct fibre *to)
{
    emulated_switch(&from->stack_pointer, to->stack_pointer);
}

void prepare(struct fibre *f, char *stack, void (*start)())
{
    void **top = reinterpret_cast<void **>(stack + STACK) - 3;
    *top = nullptr; /* where start would return to: it never does */
    *--top = reinterpret_cast<void *>(start);
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    f->stack_pointer = top;
}
#else
void jump(struct fibre *from, struct fibre *to)
{
    swapcontext(&from->context, &to->context);
}

void prepare(struct fibre *f, char *stack, void (*start)())
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = nullptr;
    makecontext(&f->context, start, 0);
}
#endif

#ifdef EMULATED_WITH_ASAN
const void *caller_stack;
size_t caller_size;
struct fibre *before; /* what ran until the last switch */

/* On a stack again, or on a new one. */
void arrive(struct fibre *on)
{
    const void *stack;
    size_t size;
    __sanitizer_finish_switch_fiber(on ? on->fake_stack : nullptr, &stack,
                                    &size);
    if (before != &caller)
        return;
    caller_stack = stack;
    caller_size = size;
}

/* ended: `from` is not come back to. */
void switch_to(struct fibre *from, struct fibre *to, bool ended)
{
    bool home = to == &caller;
    const void *stack = home ? caller_stack : stacks + (to - fibres) * STACK;
    before = from;
    __sanitizer_start_switch_fiber(ended ? nullptr : &from->fake_stack, stack,
                                   home ? caller_size : STACK);
    jump(from, to);
    arrive(from);
}
#else
void arrive(struct fibre *)
{
}

void switch_to(struct fibre *from, struct fibre *to, bool)
{
    jump(from, to);
}
#endif

/* ---- A block ---- */

/* Who runs next, one after the other; then the caller does. */
unsigned queue[MAX_THREADS], queued, next_queued;

void go_on(struct fibre *from, bool ended)
{
    struct fibre *to = &caller;
    if (next_queued < queued) {
        current = queue[next_queued++];
        threadIdx = dim3(current, 0, 0);
        to = &fibres[current];
    }
    switch_to(from, to, ended);
}

void start()
{
    arrive(nullptr);
    unsigned self = current;
    kernel(kernel_argument);
    if (emulated_is_early() && !race_early_end())
        wrong("a thread of a kernel that begins early does not wait for those "
              "before");
    states[self] = DONE;
    go_on(&fibres[self], true);
    abort();
}

void wait(enum state state)
{
    unsigned self = current;
    states[self] = state;
    go_on(&fibres[self], false);
}

bool may_run(unsigned thread)
{
    const struct fibre *f = &fibres[thread];
    return states[thread] == READY ||
           (states[thread] == AT_FLAG && f->may(f->flag, f->flag_value));
}

/* Lets each of the `count` threads from `first` on run until it cannot. */
bool run_ready(unsigned first, unsigned count)
{
    unsigned order = random_below(3), shift = random_below(count);
    queued = next_queued = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned t = order == 0   ? i
                     : order == 1 ? count - 1 - i
                                  : (shift + i * 37) % count;
        queue[queued] = first + t;
        queued += may_run(first + t);
    }
    if (queued)
        go_on(&caller, false);
    return queued;
}

/* Answers a warp all of whose lanes wait. */
bool answer_warp(unsigned warp)
{
    struct fibre *lanes = fibres + warp * WARP;
    enum state *state = states + warp * WARP;
    unsigned waiting = 0, ended = 0, behind = 0;
    for (unsigned i = 0; i < WARP; i++) {
        waiting += state[i] == AT_WARP;
        ended += state[i] != AT_WARP;
        behind += state[i] == AT_FLAG;
    }
    if (!waiting || behind)
        return false;
    if (ended)
        wrong("some lanes of a warp wait for others that do not come");
    void *owns[WARP];
    for (unsigned i = 0; i < WARP; i++) {
        if (lanes[i].all != lanes[0].all)
            wrong("the lanes of a warp do different things together");
        owns[i] = lanes[i].own;
        lanes[i].answer = lanes[lanes[i].from].value;
    }
    if (lanes[0].all)
        lanes[0].all(owns);
    for (unsigned i = 0; i < WARP; i++)
        state[i] = READY;
    return true;
}

void answer_block()
{
    for (unsigned t = 0; t < threads; t++)
        if (states[t] != AT_BLOCK)
            wrong("some threads of a block wait for others that have ended");
    for (unsigned t = 0; t < threads; t++)
        states[t] = READY;
}

bool all_done()
{
    for (unsigned t = 0; t < threads; t++)
        if (states[t] != DONE)
            return false;
    return true;
}

/* All warps a step further. */
bool step_together(unsigned warps)
{
    bool any = run_ready(0, threads);
    for (unsigned w = 0; w < warps; w++)
        any = answer_warp(w) || any;
    return any;
}

/* One warp after the other, each as far as the block's barriers let it. */
bool step_apart(unsigned warps, bool backwards)
{
    bool any = false;
    for (unsigned i = 0; i < warps; i++) {
        unsigned w = backwards ? warps - 1 - i : i;
        for (bool more = true; more; any = any || more) {
            more = run_ready(w * WARP, WARP);
            more = answer_warp(w) || more;
        }
    }
    return any;
}

void run_block()
{
    for (unsigned t = 0; t < threads; t++) {
        states[t] = READY;
        waited[t] = false;
        prepare(&fibres[t], stacks + t * STACK, start);
    }
    unsigned pace = random_below(3), warps = threads / WARP;
    while (!all_done()) {
        bool any =
            pace == 2 ? step_together(warps) : step_apart(warps, pace == 1);
        if (!any)
            answer_block();
    }
}

}  // namespace

void *cuda_shared()
{
    return shared_memory;
}

bool emulated_is_early()
{
    return early && !waited[current];
}

void emulated_waited()
{
    waited[current] = true;
}

void emulated_block_barrier()
{
    wait(AT_BLOCK);
}

struct warp_barrier {
    unsigned warp, line;
    const char *file;
};

static void pass_together(void *const *lanes)
{
    const auto *first = static_cast<const struct warp_barrier *>(lanes[0]);
    race_warp_barrier(first->warp, first->file, first->line);
}

void emulated_warp_barrier(const char *file, unsigned line)
{
    struct warp_barrier own = {current / WARP, line, file};
    emulated_together(&own, pass_together);
}

uint64_t emulated_exchange(uint64_t value, unsigned from)
{
    struct fibre *own = &fibres[current];
    own->value = value;
    own->from = from;
    own->all = nullptr;
    wait(AT_WARP);
    return own->answer;
}

void emulated_together(void *brought, void (*all)(void *const *lanes))
{
    struct fibre *own = &fibres[current];
    own->own = brought;
    own->all = all;
    own->from = 0;
    wait(AT_WARP);
}

void emulated_wrong(const char *what)
{
    wrong(what);
}

bool emulated_is_shared(const void *at, size_t bytes)
{
    auto first = reinterpret_cast<uintptr_t>(shared_memory);
    auto from = reinterpret_cast<uintptr_t>(at);
    return from >= first && bytes <= shared_bytes &&
           from - first <= shared_bytes - bytes;
}

/* ---- What warps hand to one another ---- */

struct ring {
    unsigned phase : 1, count : 15, pending : 16;
    unsigned none;
};
static_assert(sizeof(struct ring) == sizeof(uint64_t), "as on a device");

static void wait_for_flag(bool (*may)(const void *, unsigned), const void *flag,
                          unsigned value)
{
    struct fibre *own = &fibres[current];
    own->may = may;
    own->flag = flag;
    own->flag_value = value;
    while (!may(flag, value))
        wait(AT_FLAG);
    states[current] = READY;
}

static struct ring *ring_at(uint64_t *b, enum race_access how,
                            const void *caller)
{
    if (!emulated_is_shared(b, sizeof *b))
        wrong("a barrier is not in shared memory");
    race_access(b, sizeof *b, how, caller);
    return reinterpret_cast<struct ring *>(b);
}

void ring_start(uint64_t *b, unsigned count)
{
    *ring_at(b, RACE_WRITE, __builtin_return_address(0)) = {0, count, count, 0};
}

void ring_arrive(uint64_t *b, const char *file, unsigned line)
{
    struct ring *r = ring_at(b, RACE_ATOMIC, __builtin_return_address(0));
    if (!r->pending)
        wrong("more threads arrive than a barrier has");
    race_arrive(b, RACE_CLASS_ARRIVE, file, line);
    if (--r->pending)
        return;
    r->pending = r->count;
    r->phase ^= 1;
    race_round(b);
}

static bool is_other_phase(const void *flag, unsigned parity)
{
    return static_cast<const struct ring *>(flag)->phase != parity;
}

void ring_wait(uint64_t *b, unsigned parity, const char *file, unsigned line)
{
    wait_for_flag(is_other_phase,
                  ring_at(b, RACE_ATOMIC, __builtin_return_address(0)), parity);
    race_follow(b, RACE_CLASS_RING, file, line);
}

static struct meeting {
    unsigned arrived, turn;
} meetings[16];

static bool is_later_turn(const void *flag, unsigned turn)
{
    return static_cast<const struct meeting *>(flag)->turn != turn;
}

void meet_warps(unsigned id, unsigned count, const char *file, unsigned line)
{
    if (!id || id >= 16 || count % WARP)
        wrong("no such barrier");
    struct meeting *m = &meetings[id];
    unsigned turn = m->turn;
    race_arrive(m, RACE_CLASS_MEET, file, line);
    if (++m->arrived == count) {
        m->arrived = 0;
        m->turn++;
        race_round(m);
    }
    wait_for_flag(is_later_turn, m, turn);
    race_follow(m, RACE_CLASS_MEET, file, line);
}

struct ballot {
    bool value;
    unsigned all;
};

static void ballot_together(void *const *lanes)
{
    unsigned all = 0;
    for (unsigned i = 0; i < WARP; i++)
        all |= unsigned{static_cast<struct ballot *>(lanes[i])->value} << i;
    for (unsigned i = 0; i < WARP; i++)
        static_cast<struct ballot *>(lanes[i])->all = all;
}

unsigned emulated_ballot(bool value)
{
    struct ballot own = {value, 0};
    emulated_together(&own, ballot_together);
    return own.all;
}

unsigned atomicAdd(unsigned *at, unsigned value)
{
    unsigned before = *at;
    race_access(at, sizeof *at, RACE_ATOMIC, __builtin_return_address(0));
    *at += value;
    return before;
}

unsigned atomicInc(unsigned *at, unsigned most)
{
    unsigned before = *at;
    race_access(at, sizeof *at, RACE_ATOMIC, __builtin_return_address(0));
    race_meet(at);
    *at = before >= most ? 0 : before + 1;
    return before;
}

/* ---- Failures on demand ---- */

static size_t launches;
static bool broken; /* a kernel failed: every call says so from then on */
/* -1: without end */
static long launches_left = -1, refusals_left = -1, allocations_left = -1;
static cudaError_t refusal; /* what a refused launch says */
static size_t memory_free = size_t{1} << 30;

extern "C" void emulated_fail(enum emulated_failure failure, unsigned after)
{
    if (failure == EMULATED_NO_MEMORY)
        allocations_left = after;
    else if (failure == EMULATED_LAUNCH)
        launches_left = after;
    else
        refusals_left = after;
    refusal = failure == EMULATED_LAUNCH_NO_MEMORY
                  ? cudaErrorMemoryAllocation
                  : cudaErrorInvalidConfiguration;
}

extern "C" size_t emulated_launches()
{
    return launches;
}

extern "C" void emulated_memory(size_t bytes)
{
    memory_free = bytes;
    allocations_left = -1;
}

static size_t max_scores;

extern "C" void emulated_max_scores(size_t count)
{
    max_scores = count;
}

size_t emulated_most_scores(size_t usual)
{
    return max_scores ? max_scores : usual;
}

/* Whether it is the one that fails. */
static bool fails(long *left)
{
    return *left >= 0 && (*left)-- == 0;
}

cudaError_t emulated_answer()
{
    return broken ? cudaErrorLaunchFailure : cudaSuccess;
}

/* The kernels that may have more than 48 KB. */
constexpr unsigned MAX_ALLOWED = 64;
constexpr size_t USUAL_SHARED = 48 << 10, MAX_SHARED = 99 << 10,
                 MORE_SHARED = 227 << 10;
static struct {
    const void *kernel;
    size_t bytes;
} allowed[MAX_ALLOWED];

cudaError_t emulated_allow(const void *kernel, int bytes)
{
    if (bytes < 0 || static_cast<size_t>(bytes) >
                         (has_warpgroups() ? MORE_SHARED : MAX_SHARED))
        return cudaErrorInvalidValue;
    for (auto &a : allowed)
        if (!a.kernel || a.kernel == kernel) {
            a.kernel = kernel;
            a.bytes = static_cast<size_t>(bytes);
            return cudaSuccess;
        }
    return cudaErrorMemoryAllocation;
}

bool emulated_allowed(const void *kernel, size_t bytes)
{
    for (const auto &a : allowed)
        if (a.kernel == kernel)
            return bytes <= a.bytes || bytes <= USUAL_SHARED;
    return bytes <= USUAL_SHARED;
}

/* A launch whose turn it is. */
struct started {
    cudaLaunchConfig_t config;
    void (*body)(void *argument);
};

static void run_blocks(void *of, void *argument)
{
    const struct started *s = static_cast<struct started *>(of);
    const dim3 grid = s->config.gridDim;
    size_t count = size_t{grid.x} * grid.y * grid.z;
    bool backwards = random_below(2);
    race_launch(s->config.step);
    for (size_t i = 0; i < count; i++) {
        size_t b = backwards ? count - 1 - i : i;
        if (i)
            emulated_mix();
        threads = s->config.blockDim.x;
        blockDim = s->config.blockDim;
        gridDim = grid;
        kernel = s->body;
        kernel_argument = argument;
        early = s->config.early;
        blockIdx = dim3(static_cast<unsigned>(b % grid.x),
                        static_cast<unsigned>(b / grid.x % grid.y),
                        static_cast<unsigned>(b / grid.x / grid.y));
        shared_bytes = s->config.dynamicSmemBytes;
        if (posix_memalign(&shared_memory, 1024, shared_bytes))
            wrong("no memory");
        memset(shared_memory, 0xFF, shared_bytes);
        emulated_begin_copies();
        race_block(static_cast<unsigned>(b), threads);
        run_block();
        race_block_end();
        emulated_end_copies();
        for (const struct meeting &m : meetings)
            if (m.arrived)
                wrong("a block ended with a barrier half full");
        free(shared_memory);
    }
}

cudaError_t emulated_launch(const cudaLaunchConfig_t *config,
                            void (*body)(void *argument), void *argument,
                            size_t bytes)
{
    const dim3 grid = config->gridDim;
    unsigned wanted = config->blockDim.x;
    launches++;
    if (broken)
        return cudaErrorLaunchFailure;
    if (fails(&launches_left)) { /* shows in the next call */
        broken = true;
        return cudaSuccess;
    }
    if (fails(&refusals_left))
        return refusal;
    if (!wanted || wanted > MAX_THREADS || wanted % WARP ||
        config->blockDim.y != 1 || config->blockDim.z != 1 || !grid.x ||
        !grid.y || !grid.z)
        return cudaErrorInvalidConfiguration;
    if (!stacks) {
        void *memory =
            mmap(nullptr, MAX_THREADS * STACK, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return cudaErrorMemoryAllocation;
        stacks = static_cast<char *>(memory);
        race_stacks(stacks, MAX_THREADS * STACK);
    }
    struct started s = {*config, body};
    emulated_count_launch(config->stream);
    emulated_ask(config->stream, run_blocks, &s, sizeof s, argument, bytes);
    return cudaSuccess;
}

/* ---- The rest of the runtime ---- */

constexpr size_t MAX_MEMORY = size_t{1} << 30; /* of one piece */

static size_t memory_used, memory_held; /* now; the most at once */

/* Whether one stream's pool gives what another frees, and waits for that. */
static bool pool_waits = true;

cudaError_t cudaMallocAsync(void **ret, size_t bytes, cudaStream_t stream)
{
    if (broken)
        return cudaErrorLaunchFailure;
    void *memory = bytes <= MAX_MEMORY && !fails(&allocations_left)
                       ? malloc(bytes)
                       : nullptr;
    if (!memory)
        return cudaErrorMemoryAllocation;
    emulated_take(stream, pool_waits);
    memset(memory, 0xFF, bytes);
    memory_used += malloc_usable_size(memory);
    memory_held = memory_held > memory_used ? memory_held : memory_used;
    *ret = memory;
    return cudaSuccess;
}

static void give_back(void *of, void *)
{
    void *memory = *static_cast<void **>(of);
    memory_used -= memory ? malloc_usable_size(memory) : 0;
    free(memory);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    if (*emulated_copies(stream))
        wrong("nobody waited for a copy of what the host may free");
    emulated_ask(stream, give_back, &memory, sizeof memory);
    return emulated_answer();
}

struct copying {
    void *to;
    const void *from; /* nullptr: `value` in each */
    int value;
    size_t bytes;
};

static void copy_bytes(void *of, void *)
{
    const struct copying *c = static_cast<struct copying *>(of);
    if (c->from)
        memcpy(c->to, c->from, c->bytes);
    else
        memset(c->to, c->value, c->bytes);
}

/* Copies from the host a device may make later. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream)
{
    struct copying c = {to, from, 0, bytes};
    if (broken)
        return cudaErrorLaunchFailure;
    *emulated_copies(stream) += kind == cudaMemcpyHostToDevice;
    emulated_ask(stream, copy_bytes, &c, sizeof c);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                            cudaStream_t stream)
{
    struct copying c = {to, nullptr, value, bytes};
    emulated_ask(stream, copy_bytes, &c, sizeof c);
    return cudaSuccess;
}

cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t)
{
    return "an emulated error";
}

cudaError_t cudaGetDeviceCount(int *ret)
{
    *ret = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *ret, cudaDeviceAttr attribute, int)
{
    *ret = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
           : attribute == cudaDevAttrComputeCapabilityMinor ? 0
           : attribute == cudaDevAttrMultiProcessorCount    ? 6
           : attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor
               ? 228 << 10 /* as of compute capability 9.0 */
               : 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int)
{
    *ret = {"an emulated device", 9, 0};
    return emulated_answer();
}

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    *ret_free = memory_free;
    *ret_total = size_t{1} << 30;
    return emulated_answer();
}

/* All that was ever held counts as used: what is free is for a test to say. */
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *ret)
{
    uint64_t held = memory_held;
    memcpy(ret, &held, sizeof held);
    return emulated_answer();
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret, int)
{
    *ret = nullptr;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute,
                                    void *value)
{
    int may = 0;
    if (attribute == cudaMemPoolReuseAllowInternalDependencies) {
        memcpy(&may, value, sizeof may);
        pool_waits = may;
    }
    return cudaSuccess;
}
