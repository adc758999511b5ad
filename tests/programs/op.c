/* Runs one kernel operation on a file:
 *
 *     op CASE.safetensors [--backend ref|cpu|cuda] [--out FILE]
 *
 * and prints each output's relative error.  --out writes what was computed.
 * Exit: 0; 1 an error above the bound (1e-4 for ref, else 1e-3), or an expected
 * tensor that is none of the outputs; 2 not a case, or output failed;
 * 5 the backend is not there, or does not have the operation. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "tests/programs/cases.h"

static const struct kernels *find_table(const char *name)
{
    const char *reason = "no such backend";
    const struct kernels *table = NULL;
    if (!strcmp(name, "ref"))
        table = kernels_ref();
    else if (!strcmp(name, "cpu"))
        table = kernels_cpu();
    else if (!strcmp(name, "cuda"))
        table = kernels_cuda(&reason);
    if (!table)
        fprintf(stderr, "op: %s: %s\n", name, reason);
    return table;
}

static int report(const struct case_result *result, double bound)
{
    int status = 0;
    for (size_t i = 0; i < result->count; i++) {
        const struct case_output *out = &result->outputs[i];
        const char *name = out->tensor.name.data;
        if (out->code) {
            printf("%-22s %s\n", name,
                   out->code == KERNEL_UNSUPPORTED ? "unsupported" : "failed");
            status = 5;
        } else if (!out->expected) {
            printf("%-22s nothing expected\n", name);
        } else {
            bool fine = out->error <= bound;
            printf("%-22s %.3g%s\n", name, out->error,
                   fine ? "" : "  above the bound");
            status = fine || status ? status : 1;
        }
    }
    return status;
}

static int write_outputs(const struct case_result *result, const char *path,
                         struct err *err)
{
    struct tensor tensors[CASE_MAX_OUTPUTS];
    size_t count = 0;
    for (size_t i = 0; i < result->count; i++)
        if (!result->outputs[i].code)
            tensors[count++] = result->outputs[i].tensor;
    return safetensors_write(path, tensors, count, NULL, err);
}

static int run_case(const char *path, const struct kernels *table,
                    const char *out, struct err *err)
{
    struct safetensors *file = NULL;
    struct pool *pool = NULL;
    struct case_result result = {.count = 0};
    int status = 2;
    if (safetensors_open(path, &file, err) || pool_new(0, &pool, err))
        goto done;
    struct kernel_run run = {
        .pool = {pool, pool_parallel_for, pool_threads(pool)}};
    if (case_run(file, table, &run, &result, err))
        goto done;
    status = report(&result, strcmp(table->name, "ref") ? 1e-3 : 1e-4);
    if (case_check(file, &result, err))
        status = status ? status : 1;
    if (out && write_outputs(&result, out, err))
        status = 2;
done:
    case_free(&result);
    pool_free(pool);
    safetensors_close(file);
    return status;
}

int main(int count, char **words)
{
    static const struct option options[] = {
        {"backend", required_argument, NULL, 'b'},
        {"out", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0}};
    const char *backend = "cpu", *out = NULL;
    int option;
    while ((option = getopt_long(count, words, "", options, NULL)) != -1) {
        if (option == 'b')
            backend = optarg;
        else if (option == 'o')
            out = optarg;
        else
            return 2;
    }
    if (optind + 1 != count) {
        fputs("op CASE.safetensors [--backend ref|cpu|cuda] [--out FILE]\n",
              stderr);
        return 2;
    }
    const struct kernels *table = find_table(backend);
    if (!table)
        return strcmp(backend, "cuda") ? 2 : 5;
    struct err err = {0};
    int status = run_case(words[optind], table, out, &err);
    if (err.code)
        fprintf(stderr, "op: %s: %s\n", err.path[0] ? err.path : words[optind],
                err.message);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("op: cannot write the output\n", stderr);
        return 2;
    }
    return status;
}
