/* lectern-web: `lectern web` becomes it. */
#include "cli/web/web.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/program_options.h"

static void usage(void)
{
    puts("usage: lectern-web [--port N] [--socket PATH] [--store DIR] "
         "[--config FILE]\n"
         "                   [--model PATH] [--device NAME]\n"
         "\n"
         "Serves a page to read and ask the manuals, on 127.0.0.1, and prints "
         "its address,\n"
         "which holds a secret token.  --port 0: any that is free.  The rest "
         "is as for\n"
         "lectern and lecternd.");
}

/* 1: answered already; ERR_USAGE. */
static int parse_options(int argc, char **argv, struct web *web,
                         struct program_options *options, struct err *err)
{
    static const struct option known[] = {
        PROGRAM_OPTIONS,
        {"port", required_argument, NULL, 'p'},
        {NULL, 0, NULL, 0}};
    unsigned long port = WEB_PORT;
    char *end = NULL;
    int code = 0;
    for (int option;
         !code && (option = getopt_long(argc, argv, "h", known, NULL)) >= 0;)
        if (option == 'p')
            port = strtoul(optarg, &end, 10);
        else
            code = program_option(option, "lectern-web", usage, options, err);
    if (code)
        return code;
    if (optind < argc)
        return err_set(err, ERR_USAGE, "what is '%.80s'? see --help",
                       argv[optind]);
    if ((end && *end) || port > UINT16_MAX)
        return err_set(err, ERR_USAGE, "--port takes a number up to %d",
                       UINT16_MAX);
    web->port = (uint16_t)port;
    web->config_flag = options->config_flag;
    return 0;
}

/* Until a signal that asks for the end, blocked here and so in all threads.  Nobody
 * would know the address where it cannot be printed. */
static int serve(struct web_server *server, const struct web *web,
                 const sigset_t *ends, struct err *err)
{
    int signal_number;
    printf("http://127.0.0.1:%u/%s/\n", web->port, web->token);
    int code = file_end_output(err);
    if (!code && isatty(STDERR_FILENO))
        fputs("Open this address in a browser; Ctrl-C ends it.\n", stderr);
    if (!code)
        sigwait(ends, &signal_number);
    web_server_stop(server);
    return code;
}

int main(int argc, char **argv)
{
    struct web web = {0};
    struct web_server *server;
    struct err err = {.position = -1};
    struct program_options options = {0};
    sigset_t ends;
    file_open_standard();
    umask(077);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    int code = parse_options(argc, argv, &web, &options, &err);
    if (!code)
        code = config_load_with(&web.config, web.config_flag, options.values,
                                &err);
    if (!code)
        code = web_token(web.token, &err);
    if (!code)
        code = web_server_start(&web, &server, &err);
    if (!code)
        code = serve(server, &web, &ends, &err);
    if (code < 0)
        fprintf(stderr, "lectern-web: %s%s%s\n", err.path,
                err.path[0] ? ": " : "", err.message);
    config_free(&web.config);
    return code < 0 ? err_exit_status(code) : 0;
}
