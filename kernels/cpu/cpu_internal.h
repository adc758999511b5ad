/* The processor's table: `ref`, with the operations of this folder over it. */
#ifndef KERNELS_CPU_CPU_INTERNAL_H
#define KERNELS_CPU_CPU_INTERNAL_H

#include "kernels/cpu/cpu_lanes.h"
#include "kernels/kernels.h"

/* Room on the stack that is written before it is read: release builds would
 * fill it with zeros. */
#if __has_attribute(uninitialized)
#define SCRATCH __attribute__((uninitialized)) _Alignas(64)
#else
#define SCRATCH _Alignas(64)
#endif

/* What the table may use at most; each includes those before it, if the processor has
 * them. */
enum cpu_level {
    CPU_PLAIN,
    CPU_AVX2,
    CPU_AVX_VNNI, /* eight bits in vectors of AVX2 */
    CPU_AVX512,
    CPU_AMX /* products of many rows in bf16 terms (cpu_tiles.h) */
};

/* For tests: makes the table of kernels_cpu() use no more than `level`, from
 * now on and everywhere.  False, and nothing changes, when this processor has
 * less.  No operation may be running. */
bool cpu_limit(enum cpu_level level);
void cpu_limit_none(void); /* back to what was chosen for this processor */

/* What was chosen for this processor. */
extern const struct lanes *cpu_lanes;
extern bool cpu_amx;
extern bool cpu_int8; /* oneDNN multiplies eight bits, faster than floats and
                         without an overflow (VNNI) */
extern const struct block_lanes *cpu_block_lanes; /* NULL: none */

/* Runs body over [0, count), on the pool when that is worth its wake-up: `work`
 * is about the number of multiplications in all. */
void cpu_share(struct kernel_run *run, size_t count, double work,
               void (*body)(void *argument, size_t from, size_t to),
               void *argument);

/* lanes->rows and lanes->mix (dense out and v), shared out by columns. */
void cpu_rows(struct kernel_run *run, float *out, const float *a,
              struct lanes_weight w, size_t m, size_t n, size_t k, bool add);
void cpu_mix(struct kernel_run *run, float *out, const float *p, size_t p_row,
             size_t p_column, const float *v, size_t m, size_t n, size_t k);

/* score [n] becomes softmax(score) * share, n >= 1; returns the logarithm of
 * what it was divided by. */
float cpu_softmax(float *score, size_t n, float share);

void cpu_fill_matmuls(struct kernels *table);
void cpu_fill_transformer(struct kernels *table);
void cpu_fill_attention(struct kernels *table);
void cpu_fill_memories(struct kernels *table);
void cpu_fill_summaries(struct kernels *table);
void cpu_fill_hils(struct kernels *table);
void cpu_fill_hils_choose(struct kernels *table); /* part of cpu_fill_hils */
void cpu_fill_hils_rerank(struct kernels *table); /* the same */
void cpu_fill_star(struct kernels *table);
void cpu_fill_hici(struct kernels *table);
void cpu_fill_top_k(struct kernels *table);

#endif
