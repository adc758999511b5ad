/* lectern-fleet: the one program with a connection to a database.  `lectern fleet`
 * becomes it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/fleet/fleet.h"
#include "cli/program_options.h"

static volatile sig_atomic_t over;

static void on_end(int number)
{
    (void)number;
    over = 1;
}

bool fleet_is_over(void)
{
    return over != 0;
}

void fleet_say(const struct fleet *fleet, const char *format, ...)
{
    va_list args;
    if (fleet->quiet)
        return;
    fputs("lectern-fleet: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int fleet_open_folder(struct fleet *fleet, const char *purpose, struct err *err)
{
    struct buf lock = {0};
    file_join(&fleet->folder, config_text(&fleet->config, CONFIG_STORE),
              "fleet");
    int code = file_make_folder(fleet->folder.data, 0700, err);
    buf_printf(&lock, "%s/%s.lock", fleet->folder.data, purpose);
    int fd = code ? -1 : open(lock.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (!code && fd < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", lock.data);
    else if (!code && file_lock_patiently(fd) < 0)
        code = err_set(err, ERR_LIMIT,
                       "another lectern fleet %s is at work for this store",
                       purpose);
    buf_free(&lock);
    return code; /* the descriptor, and so the lock, lasts as the process */
}

static void usage(void)
{
    puts("usage: lectern-fleet [--config FILE] [--socket PATH] [--store DIR] "
         "[--model PATH]\n"
         "                     [--device NAME] [--json] [--quiet] [--once] "
         "VERB ...\n"
         "\n"
         "  init CONNECTION [PLACE]   join CONNECTION [PLACE]   publish NAME "
         "[FOLDER]\n"
         "  withdraw NAME   status   work   fetch\n"
         "\n"
         "PLACE, of packs: a folder that all machines see, or an address "
         "(http, https).\n"
         "\n"
         "See lectern help fleet.");
}

/* 1: answered already; ERR_USAGE. */
static int parse_options(int argc, char **argv, struct fleet *fleet,
                         struct program_options *options, struct err *err)
{
    static const struct option known[] = {PROGRAM_OPTIONS,
                                          {"json", no_argument, NULL, 'j'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"once", no_argument, NULL, 'o'},
                                          {NULL, 0, NULL, 0}};
    int code = 0;
    for (int option;
         !code && (option = getopt_long(argc, argv, "+h", known, NULL)) >= 0;)
        switch (option) {
        case 'j': fleet->json = true; break;
        case 'q': fleet->quiet = true; break;
        case 'o': fleet->once = true; break;
        default:
            code = program_option(option, "lectern-fleet", usage, options, err);
        }
    fleet->config_flag = options->config_flag;
    return code;
}

static int configure(struct fleet *fleet, const char *const values[CONFIG_KEYS],
                     struct err *err)
{
    char host[64] = "";
    int code =
        config_load_with(&fleet->config, fleet->config_flag, values, err);
    gethostname(host, sizeof host - 1);
    snprintf(fleet->name, sizeof fleet->name, "%s process %ld", host,
             (long)getpid());
    return code;
}

/* What is wrong with the words. */
static int fail_words(const char *verb, int count, struct err *err)
{
    static const struct {
        const char *verb, *args;
        int least, most;
    } verbs[] = {
        {"init", "CONNECTION [PLACE]", 2, 3},
        {"join", "CONNECTION [PLACE]", 2, 3},
        {"publish", "NAME [FOLDER]", 2, 3},
        {"withdraw", "NAME", 2, 2},
        {"status", "", 1, 1},
        {"work", "", 1, 1},
        {"fetch", "", 1, 1},
    };
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (!strcmp(verb, verbs[i].verb))
            return err_set(err, ERR_USAGE, "fleet %s %s: lectern fleet %s%s%s",
                           verb,
                           count < verbs[i].least ? "needs an argument"
                                                  : "takes no further argument",
                           verb, verbs[i].args[0] ? " " : "", verbs[i].args);
    return err_set(err, ERR_USAGE,
                   "what is the fleet to do? It does init, join, publish, "
                   "withdraw, status, work and fetch, not '%.40s': lectern "
                   "help fleet",
                   verb);
}

static int run(struct fleet *fleet, char **words, int count, struct err *err)
{
    const char *verb = count ? words[0] : "";
    int code;
    if (!strcmp(verb, "init") && (count == 2 || count == 3))
        return fleet_init(fleet, words[1], words[2], err);
    if (!strcmp(verb, "join") && (count == 2 || count == 3))
        return fleet_join(fleet, words[1], words[2], err);
    bool publish = !strcmp(verb, "publish") && (count == 2 || count == 3);
    bool withdraw = !strcmp(verb, "withdraw") && count == 2;
    bool status = !strcmp(verb, "status") && count == 1;
    bool work = !strcmp(verb, "work") && count == 1;
    if (!publish && !withdraw && !status && !work &&
        (strcmp(verb, "fetch") || count != 1))
        return fail_words(verb, count, err);
    code = publish || withdraw || status ? 0 : fleet_check_store(fleet, err);
    if (code)
        return code;
    code = registry_make(config_text(&fleet->config, CONFIG_FLEET),
                         &fleet->registry, err);
    if (code)
        return code;
    return publish    ? fleet_publish(fleet, words[1], words[2], err)
           : withdraw ? fleet_withdraw(fleet, words[1], err)
           : status   ? fleet_status(fleet, err)
           : work     ? fleet_work(fleet, err)
                      : fleet_fetch(fleet, err);
}

static void print_error(const struct fleet *fleet, const struct err *err)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    if (!fleet->json) {
        fprintf(stderr, "lectern-fleet: %s\n", err->message);
        return;
    }
    json_begin(&json, '{');
    json_key(&json, "error");
    json_begin(&json, '{');
    json_field_text(&json, "code", err_name(err->code));
    json_field_text(&json, "message", err->message);
    json_end(&json, '}');
    json_end(&json, '}');
    puts(out.data);
    buf_free(&out);
}

int main(int argc, char **argv)
{
    struct fleet fleet = {.daemon = {.fd = -1}};
    struct err err = {.position = -1};
    struct sigaction action = {.sa_handler = on_end};
    struct program_options options = {0};
    file_open_standard();
    umask(077);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* who started it may ignore it */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int code = parse_options(argc, argv, &fleet, &options, &err);
    if (!code)
        code = configure(&fleet, options.values, &err);
    if (!code)
        code = run(&fleet, argv + optind, argc - optind, &err);
    if (code < 0)
        print_error(&fleet, &err);
    int lost = file_end_output(&err);
    if (lost)
        fprintf(stderr, "lectern-fleet: %s\n", err.message);
    connection_close(&fleet.daemon);
    registry_free(fleet.registry);
    config_free(&fleet.config);
    buf_free(&fleet.folder);
    code = code < 0 ? code : lost;
    return code ? err_exit_status(code) : 0;
}
