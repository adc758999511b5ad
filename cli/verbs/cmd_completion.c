#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_choices(const char *choices)
{
    for (const char *c = choices; *c; c++)
        putchar(*c == '|' ? ' ' : *c);
}

/* What follows an option: a file, a folder, one of some words, or anything. */
static void print_value_cases(void)
{
    puts("    case $before in");
    for (int i = 0; i < OPTIONS; i++) {
        const struct option_spec *spec = &cli_options[i];
        if (!spec->name || !spec->argument)
            continue;
        printf("    --%s) COMPREPLY=($(compgen ", spec->name);
        if (spec->kind == KIND_CHOICE || spec->kind == KIND_CHOICES) {
            fputs("-W '", stdout);
            print_choices(spec->argument);
            putchar('\'');
        } else if (!strcmp(spec->argument, "DIR")) {
            fputs("-d", stdout);
        } else if (!strcmp(spec->argument, "FILE") ||
                   !strcmp(spec->argument, "PATH")) {
            fputs("-f", stdout);
        } else {
            fputs("-W ''", stdout);
        }
        puts(" -- \"$word\")); return ;;");
    }
    puts("    esac");
}

static void print_options_of(uint64_t options)
{
    for (int i = 0; i < OPTIONS; i++) {
        if (!(options >> i & 1))
            continue;
        if (cli_options[i].name)
            printf(" --%s", cli_options[i].name);
        else
            printf(" -%c", cli_options[i].letter);
    }
}

static void print_verbs(void)
{
    for (const struct command *c = cli_commands; c->name; c++)
        printf("%s%s", c == cli_commands ? "" : " ", c->name);
}

static void print_verb_cases(void)
{
    puts("    case $verb in");
    for (const struct command *c = cli_commands; c->name; c++) {
        const char *words = "";
        printf("    %s) options='", c->name);
        print_options_of(c->options);
        putchar('\'');
        if (!strcmp(c->args, "DIR"))
            words = "; files=-d";
        else if (!strncmp(c->args, "FILE", 4))
            words = "; files=-f";
        else if (!strcmp(c->args, "[VERB]"))
            words = "; words=$verbs";
        else if (!strcmp(c->args, "bash"))
            words = "; words=bash";
        else if (!strncmp(c->args, "use PATH", 8))
            words = "; words='use info list none'; files=-f";
        printf("%s ;;\n", words);
    }
    puts("    esac");
}

static int print_bash(void)
{
    puts("# bash completion for lectern: eval \"$(lectern completion bash)\"\n"
         "_lectern()\n"
         "{\n"
         "    local word=${COMP_WORDS[COMP_CWORD]}\n"
         "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local verb= options= files= words= i");
    fputs("    local verbs='", stdout);
    print_verbs();
    puts("'");
    print_value_cases();
    puts("    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        case \" $verbs \" in\n"
         "        *\" ${COMP_WORDS[i]} \"*) verb=${COMP_WORDS[i]}; break ;;\n"
         "        esac\n"
         "    done");
    print_verb_cases();
    fputs("    options+='", stdout);
    print_options_of(cli_common_options);
    puts("'\n"
         "    [ -n \"$verb\" ] || words=$verbs\n"
         "    case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen $files -W \"$words\" -- \"$word\")) ;;\n"
         "    esac\n"
         "}\n"
         "complete -o filenames -F _lectern lectern");
    return 0;
}

int cmd_completion(struct cli *cli, struct err *err)
{
    if (strcmp(cli->args.items[0], "bash") != 0)
        return err_set(err, ERR_USAGE,
                       "there is completion for bash only, not "
                       "for '%s'",
                       cli->args.items[0]);
    return print_bash();
}
