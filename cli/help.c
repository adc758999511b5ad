/* Help, version and completion, all made from the tables in commands.c. */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"

static void print_option(const struct option_spec *spec)
{
    struct buf left = {0};
    if (spec->letter)
        buf_printf(&left, "-%c", spec->letter);
    if (spec->name)
        buf_printf(&left, "%s--%s", spec->letter ? ", " : "", spec->name);
    if (spec->argument)
        buf_printf(&left, " %s", spec->argument);
    printf("  %-26s  %s\n", left.data, spec->help);
    buf_free(&left);
}

static void print_options(uint64_t options)
{
    for (int i = 0; i < OPTIONS; i++)
        if (options >> i & 1)
            print_option(&cli_options[i]);
}

void help_overview(void)
{
    puts("lectern: answers from HTML and LaTeX manuals, with exact citations\n"
         "\n"
         "usage: lectern VERB [options] [arguments]\n");
    for (const struct command *c = cli_commands; c->name; c++) {
        struct buf left = {0};
        buf_printf(&left, "%s %s", c->name, c->args);
        printf("  %-22s  %s\n", left.data, c->help);
        buf_free(&left);
    }
    puts("\noptions of every verb (its own: lectern help VERB):");
    print_options(cli_common_options);
    puts("\nexit status: 0 found, 1 nothing found, 2 usage, 3 no daemon, "
         "4 stale index,\n5 model unavailable, 6 store error, 7 another "
         "failure, 130 "
         "interrupted");
}

void help_command(const struct command *command)
{
    printf("usage: lectern %s [options]%s%s\n\n%s\n", command->name,
           command->args[0] ? " " : "", command->args, command->help);
    if (command->options) {
        puts("\noptions:");
        print_options(command->options);
    }
    puts("\noptions of every verb:");
    print_options(cli_common_options);
}

int cmd_help(struct cli *cli, struct err *err)
{
    pager_begin(cli);
    if (cli->args.count == 0) {
        help_overview();
        return 0;
    }
    const struct command *command =
        arguments_find_command(cli->args.items[0], err);
    if (!command)
        return ERR_USAGE;
    help_command(command);
    return 0;
}

int cmd_version(struct cli *cli, struct err *err)
{
    (void)err;
    if (cli->options.json)
        output_json(slice_of("{\"version\":\"" LECTERN_VERSION "\"}"));
    else
        puts("lectern " LECTERN_VERSION);
    return 0;
}
