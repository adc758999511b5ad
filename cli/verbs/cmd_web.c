#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"

enum { WORDS = LAUNCH_WORDS + 2 };

/* This process becomes lectern-web, which is told what a daemon is told. */
int cmd_web(struct cli *cli, struct err *err)
{
    struct buf file = {0};
    char *argv[WORDS] = {NULL}, name[] = "lectern-web", flag[] = "--port",
         port[24];
    size_t count = 0;
    int code = cli_check_store(cli, err);
    if (code)
        return code;
    if (cli->options.config)
        config_put_path(cli->options.config, NULL, &file);
    launch_words(&cli->config, file.data, argv);
    argv[0] = name;
    while (argv[count])
        count++;
    if (cli->options.port >= 0) {
        snprintf(port, sizeof port, "%ld", cli->options.port);
        argv[count++] = flag;
        argv[count++] = port;
    }
    code = launch_become(name, argv, err);
    buf_free(&file);
    return code;
}
