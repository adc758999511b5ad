/* Streams of the emulation.  As a rule what they are asked for is done at once; a
 * test can have it wait until somebody waits for it, and mix what two streams do,
 * block by block, as a device may. */
#include "shim/cuda/cuda_runtime.h"
#include "tests/cuda/together.h"

#include "tests/cuda/emulated.h"

#include <cstdio>
#include <cstdlib>

namespace
{

struct alignas(16) task {
    struct task *next;
    void (*call)(void *of, void *more);
    void *more; /* what is called with lies behind this, and then this */
};

}  // namespace

struct emulated_stream {
    struct task *first, *last;
    bool busy;       /* one of its tasks is under way */
    unsigned copies; /* from the host since the last wait */
    struct emulated_work seen;
};

namespace
{

constexpr size_t MAX_STREAMS = 8;
struct emulated_stream streams[MAX_STREAMS]; /* first the runtime's own */
size_t stream_count = 1;
enum emulated_order order = EMULATED_AT_ONCE;
void (*at_wait)(void *context);
void *at_wait_context;

[[noreturn]] void wrong(const char *what)
{
    fprintf(stderr, "emulated stream: %s\n", what);
    abort();
}

struct emulated_stream *of(cudaStream_t stream)
{
    if (stream)
        return stream;
    if (order != EMULATED_AT_ONCE)
        wrong("the runtime's own stream waits for all others");
    return &streams[0];
}

void do_first(struct emulated_stream *s)
{
    struct task *task = s->first;
    s->first = task->next;
    s->last = s->first ? s->last : nullptr;
    s->busy = true;
    task->call(task + 1, task->more);
    s->busy = false;
    s->seen.undone--;
    free(task);
}

/* Something of the other streams, one time in `seldom`. */
void mix(const struct emulated_stream *own, unsigned seldom)
{
    for (size_t i = 0; i < stream_count && order == EMULATED_MIXED; i++)
        if (&streams[i] != own && !streams[i].busy && streams[i].first &&
            !emulated_random(seldom))
            do_first(&streams[i]);
}

void do_all(struct emulated_stream *s)
{
    if (s->busy)
        wrong("a stream waits for itself");
    while (s->first) {
        mix(s, 2);
        if (s->first) /* nothing of it was done between the other's blocks */
            do_first(s);
    }
}

constexpr size_t rounded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

}  // namespace

void emulated_ask(cudaStream_t stream, void (*call)(void *of, void *more),
                  void *its, size_t bytes, void *more, size_t more_bytes)
{
    struct emulated_stream *s = of(stream);
    if (order == EMULATED_AT_ONCE) {
        call(its, more);
        return;
    }
    void *memory =
        malloc(sizeof(struct task) + rounded(bytes) + rounded(more_bytes));
    if (!memory)
        wrong("no memory");
    struct task *task = static_cast<struct task *>(memory);
    char *at = reinterpret_cast<char *>(task + 1);
    *task = {nullptr, call, at + rounded(bytes)};
    memcpy(at, its, bytes);
    if (more_bytes)
        memcpy(at + rounded(bytes), more, more_bytes);
    (s->last ? s->last->next : s->first) = task;
    s->last = task;
    s->seen.undone++;
}

void emulated_mix()
{
    mix(nullptr, 4);
}

/* A pool that gives one stream what another has yet to free makes it wait. */
void emulated_take(struct emulated_stream *stream, bool shared)
{
    for (size_t i = 0; i < stream_count && shared; i++)
        if (&streams[i] != stream && !streams[i].busy)
            do_all(&streams[i]);
}

unsigned *emulated_copies(struct emulated_stream *stream)
{
    return &of(stream)->copies;
}

void emulated_count_launch(struct emulated_stream *stream)
{
    of(stream)->seen.launches++;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    *ret_least = 0;
    *ret_greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags,
                                         int priority)
{
    if (flags != cudaStreamNonBlocking)
        wrong("a stream that the runtime's own waits for");
    if (stream_count == MAX_STREAMS || priority > 0 || priority < -5)
        return cudaErrorInvalidValue;
    *ret = &streams[stream_count++];
    (*ret)->seen.priority = priority;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    static bool asked;
    struct emulated_stream *s = of(stream);
    s->seen.waits++;
    if (at_wait && !asked) {
        asked = true;
        at_wait(at_wait_context);
        asked = false;
    }
    do_all(s);
    s->copies = 0;
    return emulated_answer();
}

extern "C" void emulated_hold(enum emulated_order how,
                              void (*waits)(void *context), void *context)
{
    for (size_t i = 0; i < stream_count; i++)
        do_all(&streams[i]);
    order = how;
    at_wait = waits;
    at_wait_context = context;
}

extern "C" const struct emulated_work *emulated_stream_seen(size_t at)
{
    return at < stream_count ? &streams[at].seen : nullptr;
}
