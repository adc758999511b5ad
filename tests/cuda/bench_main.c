/* The device's figures (bench.h):
 *
 *     bench --device            what it is, or what is missing
 *     bench --parts             names of the parts, and the seconds of each
 *     bench [--sdpa FILE] [--seconds MOST] PART...
 *
 * Exit: 0; 77, with the reason, where there is no device; 1 where it failed, or
 * there is no cuBLASLt; 2 where it was asked for what it does not know. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/bench.h"

static int list_parts(void)
{
    for (size_t i = 0; bench_part(i); i++)
        printf("%s %u\n", bench_part(i)->name, bench_part(i)->seconds);
    return 0;
}

int main(int count, char **words)
{
    const char *reason = NULL;
    struct bench b;
    if (count > 1 && !strcmp(words[1], "--parts"))
        return list_parts();
    const struct kernels *table = kernels_cuda(&reason);
    if (!table) {
        printf("SKIP gpu: %s\n", reason);
        return 77;
    }
    if (count > 1 && !strcmp(words[1], "--device"))
        return bench_describe(table, stdout) ? 0 : 1;
    bench_begin(&b, table, stdout);
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--sdpa") && i + 1 < count) {
            b.sdpa = words[++i];
            continue;
        }
        if (!strcmp(words[i], "--seconds") && i + 1 < count) {
            b.most = strtod(words[++i], NULL);
            continue;
        }
        if (!bench_run(&b, words[i])) {
            fprintf(stderr, "bench: no part \"%s\"; --parts lists them\n",
                    words[i]);
            return 2;
        }
    }
    return 0;
}
