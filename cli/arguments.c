#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "base/text.h"

static void list_add(struct text_list *list, const char *text)
{
    MEM_RESERVE(list->items, &list->capacity, list->count + 1);
    list->items[list->count++] = text;
}

const struct command *arguments_find_command(const char *name, struct err *err)
{
    struct nearest nearest = suggest_nearest(name);
    for (const struct command *c = cli_commands; c->name; c++) {
        if (!strcmp(c->name, name))
            return c;
        nearest_try(&nearest, c->name);
    }
    err_set(err, ERR_USAGE, "there is no verb '%s'%s", name,
            suggest_hint(&nearest));
    return NULL;
}

static uint64_t allowed(const struct cli *cli)
{
    if (!cli->command)
        return cli_common_options;
    return cli_common_options | cli->command->options;
}

static bool is_name(const struct option_spec *spec, const char *name,
                    size_t size)
{
    return spec->name && strlen(spec->name) == size &&
           !memcmp(spec->name, name, size);
}

/* Whether the option was called `word`, with a notice if so. */
static bool is_former_name(const struct option_spec *spec, const char *word)
{
    if (!spec->was || strcmp(spec->was, word) != 0)
        return false;
    fprintf(stderr,
            "lectern: --%s is now --%s; the next version drops the former "
            "name\n",
            word, spec->name);
    return true;
}

/* Is the verb followed by what is sought? */
static bool seeks(const struct cli *cli)
{
    return cli->command && (!strcmp(cli->command->name, "search") ||
                            !strcmp(cli->command->name, "grep") ||
                            !strcmp(cli->command->name, "ask"));
}

/* "-cGNU Make": may it be an option and a text behind its letter? */
static bool has_text(const struct cli *cli, const char *word)
{
    if (word[1] == '-' || strchr(" \t\n", word[2]))
        return false;
    for (int i = 0; i < OPTIONS; i++)
        if (cli_options[i].letter == word[1] && allowed(cli) >> i & 1)
            return cli_options[i].kind == KIND_LIST;
    return false;
}

/* "-weak vs -strict", in one word: no option is written so. */
static bool is_sought(const struct cli *cli, const char *word)
{
    size_t size = strcspn(word, "=");
    return seeks(cli) && strcspn(word, " \t\n") < size && !has_text(cli, word);
}

/* The option `--name` of `size` bytes, or -1 with the error set. */
static int find_long(const struct cli *cli, const char *name, size_t size,
                     struct err *err)
{
    char *word = mem_strndup(name, size);
    struct nearest nearest = suggest_nearest(word);
    const char *verb = cli->command ? cli->command->name : NULL;
    int found = -1;
    for (int i = 0; found < 0 && i < OPTIONS; i++) {
        if (!(allowed(cli) >> i & 1))
            continue;
        if (is_name(&cli_options[i], name, size) ||
            is_former_name(&cli_options[i], word))
            found = i;
        else if (cli_options[i].name)
            nearest_try(&nearest, cli_options[i].name);
    }
    if (found < 0) {
        char hint[160] = "";
        if (nearest.found)
            snprintf(hint, sizeof hint, "; did you mean '--%s'?",
                     nearest.found);
        else if (seeks(cli))
            snprintf(hint, sizeof hint,
                     "; what you seek goes behind '--': lectern %s -- --%.64s",
                     verb, word);
        err_set(err, ERR_USAGE, "%s%sunknown option '--%s'%s", verb ? verb : "",
                verb ? ": " : "", word, hint);
    }
    free(word);
    return found;
}

/* `word` is what has the letter in it. */
static int find_letter(const struct cli *cli, const char *letter,
                       const char *word, struct err *err)
{
    for (int i = 0; i < OPTIONS; i++)
        if (cli_options[i].letter == *letter && allowed(cli) >> i & 1)
            return i;
    const char *verb = cli->command ? cli->command->name : NULL;
    char hint[160] = "";
    if (seeks(cli))
        snprintf(hint, sizeof hint,
                 "; what you seek goes behind '--': lectern %s -- '%.64s'",
                 verb, word);
    size_t size;
    text_decode(letter, strlen(letter), 0, &size);
    err_set(err, ERR_USAGE, "%s%sunknown option '-%.*s'%s", verb ? verb : "",
            verb ? ": " : "", (int)size, letter, hint);
    return -1;
}

/* The option as the user writes it, for messages. */
static const char *spelling(const struct option_spec *spec)
{
    static char text[64];
    if (spec->name)
        snprintf(text, sizeof text, "--%s", spec->name);
    else
        snprintf(text, sizeof text, "-%c", spec->letter);
    return text;
}

static bool is_choice(const char *choices, const char *value, size_t size)
{
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (size && strcspn(at, "|") == size && !memcmp(at, value, size))
            return true;
    }
    return false;
}

/* One of the option's words, or several with commas between them. */
static int check_choice(int id, const char *value, struct err *err)
{
    const struct option_spec *spec = &cli_options[id];
    bool some = spec->kind == KIND_CHOICES;
    for (const char *at = value; at;) {
        size_t size = some ? strcspn(at, ",") : strlen(at);
        if (!is_choice(spec->argument, at, size))
            return err_set(err, ERR_USAGE, "%s takes %s%s, not '%s'",
                           spelling(spec), spec->argument,
                           some ? ", with commas between several" : "", value);
        at = at[size] ? at + size + 1 : NULL;
    }
    return 0;
}

static int parse_number(const struct option_spec *spec, const char *value,
                        long *ret_number, struct err *err)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno || end == value || *end || number < spec->low ||
        number > spec->high)
        return err_set(err, ERR_USAGE,
                       "%s takes a number from %ld to %ld, not '%s'",
                       spelling(spec), spec->low, spec->high, value);
    *ret_number = number;
    return 0;
}

static int parse_decimal(const struct option_spec *spec, const char *value,
                         double *ret_number, struct err *err)
{
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    if (errno || end == value || *end ||
        !(number >= (double)spec->low && number <= (double)spec->high))
        return err_set(err, ERR_USAGE,
                       "%s takes a number from %ld to %ld, not '%s'",
                       spelling(spec), spec->low, spec->high, value);
    *ret_number = number;
    return 0;
}

static int store_value(struct options *options, int id, const char *value,
                       struct err *err)
{
    const struct option_spec *spec = &cli_options[id];
    char *field = (char *)options + spec->offset;
    long number;
    double decimal;
    int code = 0;
    switch (spec->kind) {
    case KIND_FLAG: *(bool *)(void *)field = true; return 0;
    case KIND_NUMBER:
        code = parse_number(spec, value, &number, err);
        if (!code)
            memcpy(field, &number, sizeof number);
        return code;
    case KIND_DECIMAL:
        code = parse_decimal(spec, value, &decimal, err);
        if (!code)
            memcpy(field, &decimal, sizeof decimal);
        return code;
    case KIND_LIST:
        if (!value[0] && id != OPTION_IGNORE)
            return err_set(err, ERR_USAGE, "%s is empty", spelling(spec));
        list_add((struct text_list *)(void *)field, value);
        return 0;
    case KIND_CHOICE:
    case KIND_CHOICES: code = check_choice(id, value, err); break;
    case KIND_TEXT:
        if (!value[0])
            code = err_set(err, ERR_USAGE, "%s is empty", spelling(spec));
        break;
    }
    if (!code)
        memcpy(field, &value, sizeof value);
    return code;
}

/* Takes the option's value from behind `=`, from the rest of the word or from
 * the next one, and stores it. */
static int take(struct cli *cli, int id, const char *attached, char ***argv,
                struct err *err)
{
    const struct option_spec *spec = &cli_options[id];
    if (spec->kind == KIND_FLAG && attached)
        return err_set(err, ERR_USAGE, "%s takes no value", spelling(spec));
    if (spec->kind != KIND_FLAG && !attached) {
        attached = (*argv)[1];
        if (!attached)
            return err_set(err, ERR_USAGE, "%s needs a value: %s",
                           spelling(spec), spec->argument);
        ++*argv;
    }
    return store_value(&cli->options, id, attached, err);
}

static int take_long(struct cli *cli, char ***argv, struct err *err)
{
    const char *name = **argv + 2;
    size_t size = strcspn(name, "=");
    int id = find_long(cli, name, size, err);
    if (id < 0)
        return ERR_USAGE;
    return take(cli, id, name[size] ? name + size + 1 : NULL, argv, err);
}

/* -n5, -n 5, and flags in one word. */
static int take_short(struct cli *cli, char ***argv, struct err *err)
{
    const char *word = **argv, *letter = word + 1;
    for (;;) {
        int id = find_letter(cli, letter, word, err);
        if (id < 0)
            return ERR_USAGE;
        bool flag = cli_options[id].kind == KIND_FLAG;
        const char *rest = letter[1] ? letter + 1 : NULL;
        if (rest && id == OPTION_MANUAL && seeks(cli))
            cli->joined = word, cli->joined_text = rest;
        int code = take(cli, id, flag ? NULL : rest, argv, err);
        if (code || !flag || !rest)
            return code;
        letter++;
    }
}

static int take_word(struct cli *cli, const char *word, struct err *err)
{
    if (cli->command) {
        list_add(&cli->args, word);
        return 0;
    }
    cli->command = arguments_find_command(word, err);
    return cli->command ? 0 : ERR_USAGE;
}

/* Those that search take several manuals, the others one. */
static int check_manuals(struct cli *cli, struct err *err)
{
    const struct text_list *manuals = &cli->options.manuals;
    if (manuals->count)
        cli->options.manual = manuals->items[0];
    if (manuals->count < 2 || !cli->command || seeks(cli))
        return 0;
    return err_set(err, ERR_USAGE, "%s takes one -c, not %s and %s",
                   cli->command->name, manuals->items[0], manuals->items[1]);
}

static int check_args(struct cli *cli, struct err *err)
{
    const struct command *command = cli->command;
    int code = check_manuals(cli, err);
    if (code)
        return code;
    if (!command || cli->options.help)
        return 0;
    if (cli->args.count < command->min_args)
        return err_set(err, ERR_USAGE, "%s needs an argument: lectern %s %s",
                       command->name, command->name, command->args);
    if (cli->args.count > command->max_args)
        return err_set(
            err, ERR_USAGE, "%s does not take '%s'; usage: lectern %s%s%s",
            command->name, cli->args.items[command->max_args], command->name,
            command->args[0] ? " " : "", command->args);
    return 0;
}

void arguments_explain(const struct cli *cli, struct err *err)
{
    const char *word = cli->joined, *text = cli->joined_text;
    if (err->code != ERR_USAGE || !word ||
        (cli->args.count && !strstr(err->message, text)))
        return;
    size_t size = strlen(err->message);
    snprintf(err->message + size, sizeof err->message - size,
             "; '%.64s' is read as -c '%.64s': what you seek goes behind '--', "
             "as in lectern %s -- '%.64s'",
             word, text, cli->command->name, word);
}

int arguments_parse(struct cli *cli, char **argv, struct err *err)
{
    bool only_words = false;
    struct options *o = &cli->options;
    o->count = o->depth = o->context = o->max_tokens = o->top_k = o->seed =
        o->port = -1;
    o->temperature = o->top_p = o->min_p = o->penalty = (double)NAN;
    /* Errors about the arguments themselves obey --json, too. */
    for (char **arg = argv + 1; *arg && strcmp(*arg, "--") != 0; arg++)
        if (!strcmp(*arg, "--json") || !strcmp(*arg, "--jsonl"))
            cli->options.json = true;
    for (argv++; *argv; argv++) {
        const char *word = *argv;
        int code;
        if (only_words || word[0] != '-' || !word[1] || is_sought(cli, word)) {
            code = take_word(cli, word, err);
        } else if (!strcmp(word, "--")) {
            only_words = true;
            code = 0;
        } else if (word[1] == '-') {
            code = take_long(cli, &argv, err);
        } else {
            code = take_short(cli, &argv, err);
        }
        if (code)
            return code;
    }
    return check_args(cli, err);
}

void arguments_free(struct cli *cli)
{
    free(cli->args.items);
    free(cli->options.ignore.items);
    free(cli->options.stop_sequences.items);
    free(cli->options.manuals.items);
    cli->args = cli->options.ignore = cli->options.stop_sequences =
        cli->options.manuals = (struct text_list){0};
}

void cli_join_args(const struct cli *cli, size_t first, struct buf *out)
{
    for (size_t i = first; i < cli->args.count; i++) {
        if (i > first)
            buf_put_byte(out, ' ');
        buf_put_text(out, cli->args.items[i]);
    }
}
