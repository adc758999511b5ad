/* The command line `lectern`: what its files share.
 *
 * One table of commands and one of options (commands.c) drive parsing, help
 * and completion.  A command's function prints its data on standard output;
 * it returns 0 or an error, which main prints, and says in `status` when data
 * came out that is not a success (nothing found, stale). */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/err.h"
#include "base/json.h"

enum option_id {
    OPTION_JSON,
    OPTION_SOCKET,
    OPTION_CONFIG,
    OPTION_STORE,
    OPTION_MODEL,
    OPTION_DEVICE,
    OPTION_QUIET,
    OPTION_NO_COLOR,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_MANUAL,
    OPTION_NAME,
    OPTION_UNDER,
    OPTION_COUNT,
    OPTION_MODE,
    OPTION_EXPLAIN,
    OPTION_EXPAND,
    OPTION_JSONL,
    OPTION_ANSWER,
    OPTION_BRIEF,
    OPTION_FULL,
    OPTION_STRICT,
    OPTION_IGNORE,
    OPTION_FOLLOW_LINKS,
    OPTION_NO_FOLLOW_LINKS,
    OPTION_YES,
    OPTION_WAIT,
    OPTION_FORCE,
    OPTION_RETRY,
    OPTION_EXCLUDED,
    OPTION_DEPTH,
    OPTION_ALL,
    OPTION_PRINT,
    OPTION_STOP,
    OPTION_FOREGROUND,
    OPTION_METHOD,
    OPTION_MAX_TOKENS,
    OPTION_ANSWERS,
    OPTION_REPAIR,
    OPTION_COMPARE,
    OPTION_FORMAT,
    OPTION_SESSION,
    OPTION_CONTEXT,
    OPTION_KIND,
    OPTION_TEMPERATURE,
    OPTION_TOP_K,
    OPTION_TOP_P,
    OPTION_MIN_P,
    OPTION_PENALTY,
    OPTION_SEED,
    OPTION_STOP_SEQUENCE,
    OPTION_INSTALLED,
    OPTION_MAN,
    OPTION_FOR,
    OPTION_PORT,
    OPTION_KEY,
    OPTION_FILES,
    OPTION_DIR,
    OPTION_UNTRUSTED,
    OPTION_IGNORE_CASE,
    OPTION_ONCE,
    OPTIONS
};
_Static_assert(OPTIONS <= 64, "a command's options are bits of one number");

enum option_kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_NUMBER,
    KIND_DECIMAL,
    KIND_CHOICE,  /* `argument` has the values, as in "auto|tree" */
    KIND_CHOICES, /* the same, or several with commas between them */
    KIND_LIST     /* a text, as often as wanted */
};

struct option_spec {
    char letter;          /* 0: none */
    const char *name;     /* without the dashes, NULL: only the letter */
    const char *argument; /* NULL: none */
    enum option_kind kind;
    size_t offset; /* of the field in struct options */
    const char *help;
    long low, high;  /* of a number */
    const char *was; /* its former name, taken with a notice; NULL: none */
};
extern const struct option_spec cli_options[OPTIONS];

struct text_list {
    const char **items;
    size_t count, capacity;
};

/* The options as given; NULL, false, -1 or a NaN: not given. */
struct options {
    bool json, quiet, no_color, help, version;
    const char *socket, *config, *store, *model, *device, *man;
    const char *manual, *under, *mode, *answer, *method, *answers, *compare,
        *format, *session, *kind, *role, *key, *dir;
    bool explain, expand, jsonl, brief, full, strict, wait, force, retry,
        excluded, all, print, stop;
    bool follow_links, no_follow_links, yes, installed, ignore_case;
    bool foreground, repair, files, untrusted, once;
    long count, depth, max_tokens, context, top_k, seed, port;
    double temperature, top_p, min_p, penalty;
    struct text_list ignore, stop_sequences,
        manuals; /* manual: the first of them */
};

struct cli;

struct command {
    const char *name;
    const char *args; /* for the usage line */
    const char *help; /* one line */
    uint64_t options; /* bits 1 << enum option_id, without the common */
    size_t min_args, max_args;
    bool bare; /* needs no configuration */
    int (*run)(struct cli *cli, struct err *err);
};
extern const struct command cli_commands[]; /* ends with a name of NULL */
extern const uint64_t cli_common_options;

struct client;

struct cli {
    const struct command *command; /* NULL: no verb was given */
    struct options options;
    struct text_list args;
    /* "-cuda", a -c and its text in one, and that text; NULL: none. */
    const char *joined, *joined_text;
    struct config config;
    struct client *client; /* connected on the first call */
    int columns, rows;     /* of the terminal that standard output is, else 0 */
    bool color;            /* standard output takes colours and links */
    bool progress;         /* standard error takes a progress bar */
    bool held;             /* output is held back for the pager; then: */
    int screen;            /* the descriptor of the terminal */
    cJSON *manuals;        /* what `ls` says, once it was asked; else NULL */
    int status;            /* exit status when there is no error */
};

/* arguments.c: argv[1...] into command, options and args.  ERR_USAGE with the
 * nearest known word.  Free what it left with arguments_free in any case. */
int arguments_parse(struct cli *cli, char **argv, struct err *err);
/* Adds to an error that may come of it how a word as "-cuda" was read. */
void arguments_explain(const struct cli *cli, struct err *err);
void arguments_free(struct cli *cli);
const struct command *arguments_find_command(const char *name, struct err *err);

/* help.c */
void help_overview(void);
void help_command(const struct command *command);

/* call.c: connects to the daemon, started when none answers.  ERR_USAGE: one runs that has
 * another store than --store or the configuration says; other options that differ are
 * told. */
int cli_connect(struct cli *cli, struct err *err);

/* For programs that ask the daemon by themselves: the same of one that runs; none is
 * started. */
int cli_check_store(struct cli *cli, struct err *err);

/* One request to the daemon, started when none answers.  `params` is
 * a JSON object, `ret_result` (empty) gets the result as it came. */
int cli_call(struct cli *cli, const char *method, struct slice params,
             struct buf *ret_result, struct err *err);

/* The same with the result parsed.  Free *ret_value with cJSON_Delete. */
int cli_call_parsed(struct cli *cli, const char *method, struct slice params,
                    cJSON **ret_value, struct err *err);

/* As cli_call, with what hears the notifications that are no progress; it is
 * made only once. */
typedef void cli_hear(void *user, struct slice method, struct slice params);
int cli_call_hearing(struct cli *cli, const char *method, struct slice params,
                     cli_hear *hear, void *user, struct buf *ret_result,
                     struct err *err);

/* As cli_call; prints the result with --json and leaves *ret_value NULL, else
 * parses it.  Free *ret_value with cJSON_Delete. */
int cli_request(struct cli *cli, const char *method, struct slice params,
                cJSON **ret_value, struct err *err);
void cli_disconnect(struct cli *cli);

/* Stops the daemon that is connected to, disconnects, and returns when it is gone, which
 * is when another one can have its store. */
int cli_stop(struct cli *cli, struct err *err);

/* A parameter, left out when there is no value. */
void cli_param_text(struct json *json, const char *key, const char *text);
void cli_param_number(struct json *json, const char *key, long number);
void cli_param_decimal(struct json *json, const char *key, double number);
void cli_param_true(struct json *json, const char *key, bool truth);
/* Each -c, as "manuals". */
void cli_param_manuals(struct cli *cli, struct json *json);
/* Says which manuals are missing from a result, its "damaged". */
void cli_tell_damage(struct cli *cli, const cJSON *result);
/* A result with "fresh" and "complete": says what is amiss, and with --strict
 * makes that the exit status. */
void cli_judge_freshness(struct cli *cli, const cJSON *result);

/* The question and what ask and search have in common. */
int cli_param_search(struct cli *cli, struct json *json, struct err *err);

/* Says that nothing was found: no manual may be indexed. */
void cli_tell_nothing(const struct cli *cli, const cJSON *result,
                      const char *otherwise);

/* Says which phrases no section holds. */
void cli_tell_nowhere(struct cli *cli, const cJSON *result, bool found);
/* Which words of a model were searched for beside the question. */
void cli_remark_expanded(const struct cli *cli, const cJSON *result);

/* Appends what stands before a path of titles: the manual's name, where several
 * were searched. */
void cli_put_manual(struct buf *out, const cJSON *result, const cJSON *place);

/* The arguments as a question: `-` alone is read from standard input. */
int cli_read_question(struct cli *cli, struct buf *out, struct err *err);

/* The arguments from `first` on as one text. */
void cli_join_args(const struct cli *cli, size_t first, struct buf *out);

/* models/model_check.c: appends what the folder holds, or what is wrong with it:
 * ERR_MODEL. */
int cli_check_model(const char *folder, struct buf *detail);

int cmd_add(struct cli *cli, struct err *err);
int cmd_rm(struct cli *cli, struct err *err);
int cmd_ls(struct cli *cli, struct err *err);
int cmd_ask(struct cli *cli, struct err *err);
int cmd_search(struct cli *cli, struct err *err);
int cmd_grep(struct cli *cli, struct err *err);
int cmd_toc(struct cli *cli, struct err *err);
int cmd_get(struct cli *cli, struct err *err);
int cmd_open(struct cli *cli, struct err *err);
int cmd_update(struct cli *cli, struct err *err);
int cmd_wait(struct cli *cli, struct err *err);
int cmd_status(struct cli *cli, struct err *err);
int cmd_failed(struct cli *cli, struct err *err);
int cmd_eval(struct cli *cli, struct err *err);
int cmd_doctor(struct cli *cli, struct err *err);
int cmd_verify(struct cli *cli, struct err *err);
int cmd_compact(struct cli *cli, struct err *err);
int cmd_backup(struct cli *cli, struct err *err);
int cmd_pack(struct cli *cli, struct err *err);
int cmd_unpack(struct cli *cli, struct err *err);
int cmd_daemon(struct cli *cli, struct err *err);
int cmd_model(struct cli *cli, struct err *err);
int cmd_mcp(struct cli *cli, struct err *err);
int cmd_fleet(struct cli *cli, struct err *err);
int cmd_web(struct cli *cli, struct err *err);
int cmd_completion(struct cli *cli, struct err *err);
int cmd_help(struct cli *cli, struct err *err);
int cmd_version(struct cli *cli, struct err *err);

#endif
