/* kernels/cuda, compiled as plain C++ and run by a processor (stand_in/
 * cuda_runtime.h): the logic of the kernels, no result of a GPU. */
#ifndef TESTS_CUDA_EMULATED_H
#define TESTS_CUDA_EMULATED_H

#include "kernels/kernels.h"

/* NULL, and why, where the sanitizer does not know fibres.  One thread only. */
const struct kernels *kernels_emulated(const char **ret_reason);

#endif
