#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/output/output.h"
#include "daemon/net/protocol.h"

static int stop(struct cli *cli, struct err *err)
{
    const char *path = config_text(&cli->config, CONFIG_SOCKET);
    int code = client_open(&cli->config, NULL, false, &cli->client, err);
    if (!code)
        code = cli_stop(cli, err);
    if (!code && cli->options.json)
        output_json(slice_of("{\"stopped\":true}"));
    else if (!code)
        output_remark(cli, "the daemon at %s has stopped", path);
    return code;
}

static int run_here(struct cli *cli, struct err *err)
{
    struct buf program = {0}, file = {0};
    char *argv[LAUNCH_WORDS];
    if (cli->options.config)
        config_put_path(cli->options.config, NULL, &file);
    launch_words(&cli->config, file.data, argv);
    int code =
        protocol_check_path(config_text(&cli->config, CONFIG_SOCKET), err);
    if (!code && !launch_find("lecternd", &program))
        code = err_set(err, ERR_UNREACHABLE,
                       "there is no lecternd beside this "
                       "program or in PATH");
    if (!code) {
        execv(program.data, argv);
        code = err_errno(err, ERR_UNREACHABLE, "cannot run %s", program.data);
    }
    buf_free(&program);
    buf_free(&file);
    return code;
}

static int start(struct cli *cli, struct err *err)
{
    const char *path = config_text(&cli->config, CONFIG_SOCKET);
    int code = cli_connect(cli, err);
    if (code)
        return code;
    if (cli->options.json) {
        struct buf out = {0};
        struct json json = json_to(&out);
        json_begin(&json, '{');
        json_field_text(&json, "socket", path);
        json_end(&json, '}');
        output_json(buf_slice(&out));
        buf_free(&out);
    } else {
        puts(path);
    }
    return 0;
}

int cmd_daemon(struct cli *cli, struct err *err)
{
    if (cli->options.stop && cli->options.foreground)
        return err_set(err, ERR_USAGE,
                       "--stop and --foreground exclude each "
                       "other");
    if (cli->options.stop)
        return stop(cli, err);
    return cli->options.foreground ? run_here(cli, err) : start(cli, err);
}
