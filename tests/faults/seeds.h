/* Which seeds a program tries: --from SEED, --count N, --first, --tell. */
#ifndef TESTS_FAULTS_SEEDS_H
#define TESTS_FAULTS_SEEDS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct seeds {
    uint64_t from, count;
    bool first; /* the first that fails is the last */
    bool tell;  /* what happens */
};

/* What is not said stays as it is in `seeds`; false: an option that is none. */
static inline bool seeds_read(int argc, char **argv, struct seeds *seeds)
{
    static const struct option known[] = {
        {"from", required_argument, NULL, 'f'},
        {"count", required_argument, NULL, 'c'},
        {"first", no_argument, NULL, '1'},
        {"tell", no_argument, NULL, 't'},
        {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) >= 0;)
        switch (option) {
        case 'f': seeds->from = strtoull(optarg, NULL, 10); break;
        case 'c': seeds->count = strtoull(optarg, NULL, 10); break;
        case '1': seeds->first = true; break;
        case 't': seeds->tell = true; break;
        default: return false;
        }
    return true;
}

#endif
