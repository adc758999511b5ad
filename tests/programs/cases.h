/* Operation cases: a safetensors file with inputs `in.*`, expected outputs
 * `out.*` if there are any, and in its metadata `op` and parameters (see
 * tests/golden/README.md), run on a table of kernels. */
#ifndef TESTS_PROGRAMS_CASES_H
#define TESTS_PROGRAMS_CASES_H

#include "base/safetensors.h"
#include "kernels/kernels.h"

enum { CASE_MAX_OUTPUTS = 8 };

struct case_output {
    struct tensor tensor; /* out.NAME; its data is owned, see case_free */
    int code;             /* enum kernel_error of the operation that made it */
    bool expected;        /* the file says what it should be */
    double error;         /* then: largest difference over largest expected
                             value; infinite when anything is not a number.
                             Of chosen chunks: 0 when they are the same but for
                             ties, else 1 */
};

struct case_result {
    struct case_output outputs[CASE_MAX_OUTPUTS];
    size_t count;
};

/* Runs the case.  Fails when the file is not a case of an operation known here,
 * or memory cannot be had; an operation's own code is in its outputs. */
int case_run(const struct safetensors *file, const struct kernels *table,
             struct kernel_run *run, struct case_result *ret, struct err *err);
void case_free(struct case_result *result);

/* ERR_FORMAT when an `out.*` of the file is not one of the outputs, in name,
 * type and shape. */
int case_check(const struct safetensors *file, const struct case_result *result,
               struct err *err);

/* The largest |a - b| over the largest |b| (or over 1 when b is all zeros);
 * infinite when a value is not a number. */
double case_error(const float *a, const float *b, size_t count);

#endif
