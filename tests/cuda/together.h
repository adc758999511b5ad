/* What emulate.cc gives to fragments.cc. */
#ifndef TESTS_CUDA_TOGETHER_H
#define TESTS_CUDA_TOGETHER_H

#include <cstddef>

/* All lanes of a warp come with something of their own; when all are there,
 * `all` is called once with the 32 of them.  All name the same function. */
void emulated_together(void *own, void (*all)(void *const *lanes));

/* Ends the program: a kernel did what no device forgives. */
[[noreturn]] void emulated_wrong(const char *what);

/* Whether the bytes lie in the block's shared memory. */
bool emulated_is_shared(const void *at, std::size_t bytes);

/* A block begins, and ends: copies into its shared memory must be done. */
void emulated_begin_copies();
void emulated_end_copies();

#endif
