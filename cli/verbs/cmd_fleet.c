#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"

enum { WORDS = LAUNCH_WORDS + 10 };

/* This process becomes lectern-fleet, which is told what a daemon is told. */
int cmd_fleet(struct cli *cli, struct err *err)
{
    struct buf file = {0};
    char *argv[WORDS] = {NULL}, name[] = "lectern-fleet", json[] = "--json",
         quiet[] = "--quiet", once[] = "--once", end[] = "--";
    size_t count = 0;
    if (cli->options.config)
        config_put_path(cli->options.config, NULL, &file);
    launch_words(&cli->config, file.data, argv);
    argv[0] = name;
    while (argv[count])
        count++;
    if (cli->options.json)
        argv[count++] = json;
    if (cli->options.quiet)
        argv[count++] = quiet;
    if (cli->options.once)
        argv[count++] = once;
    argv[count++] = end;
    for (size_t i = 0; i < cli->args.count; i++)
        memcpy(&argv[count++], &cli->args.items[i], sizeof *argv);
    int code = launch_become(name, argv, err);
    buf_free(&file);
    return code;
}
