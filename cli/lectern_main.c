/* lectern: asks the daemon on behalf of a person or a script. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"
#include "cli/output/terminal.h"

static void print_error(const struct cli *cli, const struct err *err)
{
    struct buf out = {0};
    bool json_wanted = cli->options.json || cli->options.jsonl;
    if (json_wanted) {
        struct json json = json_to(&out);
        json_begin(&json, '{');
        json_key(&json, "error");
        json_begin(&json, '{');
        json_field_text(&json, "code", err_name(err->code));
        json_field_text(&json, "message", err->message);
        json_field_text(&json, "path", err->path[0] ? err->path : NULL);
        if (err->position >= 0)
            json_field_int(&json, "position", err->position);
        else
            json_field_null(&json, "position");
        json_end(&json, '}');
        json_end(&json, '}');
    } else {
        buf_put_text(&out, "lectern: ");
        if (err->path[0] && !strstr(err->message, err->path))
            buf_printf(&out, "%s: ", err->path);
        buf_put_text(&out, err->message);
        output_make_label(&out);
    }
    fprintf(json_wanted ? stdout : stderr, "%s\n", out.data);
    buf_free(&out);
}

static int configure(struct cli *cli, struct err *err)
{
    const struct options *options = &cli->options;
    const char *const values[CONFIG_KEYS] = {[CONFIG_SOCKET] = options->socket,
                                             [CONFIG_STORE] = options->store,
                                             [CONFIG_MODEL] = options->model,
                                             [CONFIG_DEVICE] = options->device};
    return config_load_with(&cli->config, options->config, values, err);
}

static int run(struct cli *cli, char **argv, struct err *err)
{
    int code = arguments_parse(cli, argv, err);
    if (code)
        return code;
    terminal_look(cli);
    if (cli->options.version)
        return cmd_version(cli, err);
    if (cli->options.help) {
        pager_begin(cli);
        if (cli->command)
            help_command(cli->command);
        else
            help_overview();
        return 0;
    }
    if (!cli->command)
        return err_set(err, ERR_USAGE,
                       "what to do? `lectern help` lists the "
                       "verbs");
    if (!cli->command->bare)
        code = configure(cli, err);
    return code ? code : cli->command->run(cli, err);
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    struct err err = {.position = -1};
    (void)argc;
    file_open_standard();
    signal(SIGCHLD, SIG_DFL); /* who started it may ignore it */
    int code = run(&cli, argv, &err);
    pager_end(&cli);
    arguments_explain(&cli, &err);
    if (code)
        print_error(&cli, &err);
    int status = code ? err_exit_status(code) : cli.status;
    if (file_end_output(&err)) {
        fprintf(stderr, "lectern: %s\n", err.message);
        status = status ? status : err_exit_status(ERR_IO);
    }
    cJSON_Delete(cli.manuals);
    cli_disconnect(&cli);
    config_free(&cli.config);
    arguments_free(&cli);
    return status;
}
