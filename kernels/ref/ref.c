#include "kernels/ref/ref.h"

#include <pthread.h>
#include <stdlib.h>

void *ref_scratch(size_t bytes)
{
    void *memory = NULL;
    return posix_memalign(&memory, 64, bytes ? bytes : 1) ? NULL : memory;
}

static bool no_device(struct kernel_device *ret)
{
    (void)ret;
    return false;
}

static const char *never_lost(void)
{
    return NULL;
}

static void *allocate(struct kernel_run *run, size_t bytes)
{
    (void)run;
    return ref_scratch(bytes);
}

static void release(struct kernel_run *run, void *memory)
{
    (void)run;
    free(memory);
}

static int upload(struct kernel_run *run, void *to, const void *host,
                  size_t bytes)
{
    (void)run;
    if (bytes)
        memcpy(to, host, bytes);
    return KERNEL_OK;
}

static int download(struct kernel_run *run, void *host, const void *from,
                    size_t bytes)
{
    return upload(run, host, from, bytes);
}

static int copy(struct kernel_run *run, void *to, const void *from,
                size_t bytes)
{
    return upload(run, to, from, bytes);
}

static int do_nothing(struct kernel_run *run)
{
    (void)run;
    return KERNEL_OK;
}

static void end_nothing(struct kernel_run *run)
{
    (void)run;
}

void ref_fill_memory(struct kernels *table)
{
    table->device = no_device;
    table->lost = never_lost;
    table->allocate = allocate;
    table->release = release;
    table->upload = upload;
    table->download = download;
    table->copy = copy;
    table->graph_begin = do_nothing;
    table->graph_end = do_nothing;
    table->run_end = end_nothing;
}

static struct kernels table;

static void fill(void)
{
    table.name = "ref";
    table.pass_rows = 512;
    ref_fill_memory(&table);
    ref_fill_matmuls(&table);
    ref_fill_transformer(&table);
    ref_fill_memories(&table);
    ref_fill_summaries(&table);
    ref_fill_hils(&table);
    ref_fill_star(&table);
    ref_fill_hici(&table);
    ref_fill_top_k(&table);
}

const struct kernels *kernels_ref(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &table;
}
