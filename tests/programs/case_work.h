/* What the operations of cases.h share while a case runs. */
#ifndef TESTS_PROGRAMS_CASE_WORK_H
#define TESTS_PROGRAMS_CASE_WORK_H

#include "tests/programs/cases.h"

enum { CASE_MAX_ARRAYS = 64 };

/* A case at work: inputs on the table's device, outputs to come. */
struct work {
    const struct safetensors *file;
    const struct kernels *table;
    struct kernel_run *run;
    struct case_result *result;
    void *arrays[CASE_MAX_ARRAYS]; /* on the device */
    size_t count;
    struct kernel_weight *weights[CASE_MAX_ARRAYS];
    void *host[CASE_MAX_ARRAYS]; /* the weights' values */
    size_t weight_count;
    const struct kernels *maker; /* of the weights */
    struct err *err;
};

/* Those that return a pointer: NULL and an error when it cannot be had; those
 * that return a bool: false and an error. */

/* Parameter `key`; *other when there is none (NULL: there must be one). */
bool case_number(const struct work *work, const char *key, const double *other,
                 double *ret);
/* The same, a whole number from `least` to `most`. */
bool case_count(const struct work *work, const char *key, size_t min,
                size_t max, size_t *ret);
bool case_flag(const struct work *work, const char *key, bool *ret);

/* Input `name` of `rank` dimensions and `type`, as the file has it. */
const struct tensor *case_input(const struct work *work, const char *name,
                                int type, int rank);
/* An array on the device, released after the case. */
void *case_device(struct work *work, size_t bytes);
/* An input on the device; ret_shape [rank]. */
float *case_load(struct work *work, const char *name, int rank,
                 size_t *ret_shape);
int32_t *case_load_i32(struct work *work, const char *name, int rank,
                       size_t *ret_shape);
/* An input [outputs, inputs] as a weight; `across`: it lies as [inputs,
 * outputs].  ret_shape [2] is {outputs, inputs}. */
struct kernel_weight *case_weight(struct work *work, const char *name,
                                  bool across, size_t *ret_shape);
/* The addresses, on the device, of `count` pieces of `step` floats from `first`
 * on. */
float **case_table(struct work *work, float *first, size_t count, size_t step);
/* Keys and values of n slots as one page. */
bool case_pages(struct work *work, const float *k, const float *v, size_t n,
                struct kernel_pages *ret);

/* Brings an output back, compares it with what is expected (f32 only) and
 * returns it, never NULL. */
struct case_output *case_finish(struct work *work, const char *name, int type,
                                int rank, const size_t *shape,
                                const void *memory, int code);
bool case_same_form(const struct tensor *a, const struct tensor *b);
bool case_same(struct work *work, const char *what, size_t a, size_t b);
bool case_some(struct work *work, const char *what, size_t count);

/* The operations: 0, or an error when the file is no case of them. */
int case_calibrate(struct work *work);
int case_chunk_summary(struct work *work);
int case_hils(struct work *work);
int case_star(struct work *work);
int case_hici(struct work *work);

#endif
