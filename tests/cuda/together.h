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

/* Whether the kernel may have begun while those before it end, for which the running
 * thread has not waited. */
bool emulated_is_early();

/* Success, or what a broken device says. */
enum cudaError_t emulated_answer();

unsigned emulated_random(unsigned limit);

/* Between two blocks: perhaps something of another stream's. */
void emulated_mix();
/* Memory is asked for in a stream of whose pool `shared` says that it gives what
 * other streams free. */
void emulated_take(struct emulated_stream *stream, bool shared);
/* What the host put down for the stream and may not free before it is waited for. */
unsigned *emulated_copies(struct emulated_stream *stream);
void emulated_count_launch(struct emulated_stream *stream);

/* A block begins, and ends: copies into its shared memory must be done. */
void emulated_begin_copies();
void emulated_end_copies();

#endif
