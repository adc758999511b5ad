#include "kernels/cpu/cpu_internal.h"

#include <pthread.h>

#include "kernels/cpu/cpu_blocks.h"
#include "kernels/cpu/cpu_packed.h"
#include "kernels/cpu/cpu_tiles.h"

const struct lanes *cpu_lanes;
bool cpu_amx, cpu_int8;
const struct block_lanes *cpu_block_lanes;

static struct kernels table;

static bool has(enum cpu_level level)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    switch (level) {
    case CPU_PLAIN: return true;
    case CPU_AVX2:
        return __builtin_cpu_supports("avx2") &&
               __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case CPU_AVX_VNNI:
        return __builtin_cpu_supports("avxvnni") && has(CPU_AVX2);
    case CPU_AVX512:
        return __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && has(CPU_AVX2);
    case CPU_AMX: return has(CPU_AVX512) && tiles_usable();
    }
    return false;
#else
    return level == CPU_PLAIN;
#endif
}

static const struct lanes *lanes_for(enum cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return &lanes_avx512;
    if (level >= CPU_AVX2)
        return &lanes_avx2;
#endif
    (void)level;
    return &lanes_plain;
}

static bool int8_at(enum cpu_level level)
{
#if defined(__x86_64__)
    return level >= CPU_AVX512 && __builtin_cpu_supports("avx512vnni");
#else
    (void)level;
    return false;
#endif
}

static const struct block_lanes *block_lanes_for(enum cpu_level level)
{
#if defined(__x86_64__)
    if (int8_at(level))
        return &block_lanes_vnni;
    if (level >= CPU_AVX_VNNI && has(CPU_AVX_VNNI))
        return &block_lanes_avxvnni;
    if (level >= CPU_AVX2)
        return &block_lanes_avx2;
#endif
    (void)level;
    return NULL;
}

static void use(enum cpu_level level)
{
    static const char *const names[] = {[CPU_PLAIN] = "plain",
                                        [CPU_AVX2] = "avx2",
                                        [CPU_AVX_VNNI] = "avx_vnni",
                                        [CPU_AVX512] = "avx512",
                                        [CPU_AMX] = "amx"};
    cpu_lanes = lanes_for(level);
    cpu_block_lanes = block_lanes_for(level);
    cpu_amx = level == CPU_AMX;
    cpu_int8 = packed_here && int8_at(level);
    table.variant = names[level];
}

static void choose(void)
{
    enum cpu_level level = CPU_AMX;
    while (!has(level))
        level--;
    use(level);
}

static void fill(void)
{
    table = *kernels_ref();
    table.name = "cpu";
    choose();
    cpu_fill_matmuls(&table);
    cpu_fill_transformer(&table);
    cpu_fill_attention(&table);
    cpu_fill_memories(&table);
    cpu_fill_summaries(&table);
    cpu_fill_hils(&table);
    cpu_fill_star(&table);
    cpu_fill_hici(&table);
    cpu_fill_top_k(&table);
}

const struct kernels *kernels_cpu(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &table;
}

bool cpu_limit(enum cpu_level level)
{
    kernels_cpu();
    if (!has(level))
        return false;
    use(level);
    return true;
}

void cpu_limit_none(void)
{
    choose();
}
