/* Random weights in the place of files (bench_weights.c). */
#ifndef TESTS_CUDA_BENCH_WEIGHTS_H
#define TESTS_CUDA_BENCH_WEIGHTS_H

#include <stdbool.h>

/* True: none are made, for a model that is only looked at. */
extern bool bench_weights_absent;

#endif
