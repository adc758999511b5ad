/* The options of the programs that `lectern` becomes (lectern-web, lectern-fleet): what
 * a daemon is told, and what every program knows. */
#ifndef CLI_PROGRAM_OPTIONS_H
#define CLI_PROGRAM_OPTIONS_H

#include <getopt.h>

#include "base/config.h"
#include "base/err.h"

enum { OPTION_OF_KEY = 'z' + 1 };

/* Rows of a table of getopt_long; single letters but c, h, v and ? are free. */
#define PROGRAM_OPTIONS                                                        \
    {"socket", required_argument, NULL, OPTION_OF_KEY + CONFIG_SOCKET},        \
        {"store", required_argument, NULL, OPTION_OF_KEY + CONFIG_STORE},      \
        {"model", required_argument, NULL, OPTION_OF_KEY + CONFIG_MODEL},      \
        {"device", required_argument, NULL, OPTION_OF_KEY + CONFIG_DEVICE},    \
        {"config", required_argument, NULL, 'c'},                              \
        {"help", no_argument, NULL, 'h'},                                      \
    {                                                                          \
        "version", no_argument, NULL, 'v'                                      \
    }

struct program_options {
    const char *config_flag;         /* NULL: none */
    const char *values[CONFIG_KEYS]; /* as config_load_with takes them */
};

/* Takes one option, with its argument `optarg`.  1: answered already, by `usage` or the
 * version of `program`; ERR_USAGE: getopt_long has said why. */
int program_option(int option, const char *program, void (*usage)(void),
                   struct program_options *ret, struct err *err);

#endif
