#include "cli/program_options.h"

#include <stdio.h>

#include "base/version.h"

int program_option(int option, const char *program, void (*usage)(void),
                   struct program_options *ret, struct err *err)
{
    if (option == '?')
        return err_set(err, ERR_USAGE, "see %s --help", program);
    if (option == 'h')
        usage();
    else if (option == 'v')
        printf("%s " LECTERN_VERSION "\n", program);
    else if (option == 'c')
        ret->config_flag = optarg;
    else
        ret->values[option - OPTION_OF_KEY] = optarg;
    return option == 'h' || option == 'v';
}
