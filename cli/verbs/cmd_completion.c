/* Completion: what a shell asks for each word is answered by the program itself,
 * `lectern completion words`; the scripts only hand it on. */
#include <stdio.h>
#include <string.h>

#include "cli/verbs/completion_words.h"

/* Of a word that is quoted or has backslashes, and may still be open, each script hands
 * on what is meant: the shell quotes what it puts there. */
static const char bash[] =
    "# bash completion for lectern: eval \"$(lectern completion bash)\"\n"
    "_lectern()\n"
    "{\n"
    "    local line word=${COMP_WORDS[COMP_CWORD]} IFS=$'\\n'\n"
    "    [ \"$word\" != = ] || word=\n"
    "    word=${word#[\\\"\\']} word=${word//\\\\/}\n"
    "    COMPREPLY=()\n"
    "    for line in $(\"$1\" completion words -- "
    "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\" \"$word\" 2>/dev/null); do\n"
    "        case $line in\n"
    "        :files) COMPREPLY+=($(compgen -f -- \"$word\")) ;;\n"
    "        :folders) COMPREPLY+=($(compgen -d -- \"$word\")) ;;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "complete -o filenames -F _lectern lectern\n";

/* A word without a description is one without a colon; paths begin behind the sign of
 * --config=PATH. */
static const char zsh[] =
    "#compdef lectern\n"
    "# zsh completion for lectern: eval \"$(lectern completion zsh)\"\n"
    "_lectern()\n"
    "{\n"
    "    local -a found paths\n"
    "    local line word\n"
    "    for line in \"${(@f)$(${words[1]} completion words -- "
    "\"${(@Q)words[2,CURRENT-1]}\" \"${(Q)PREFIX}\" 2>/dev/null)}\"; do\n"
    "        word=${${line%%$'\\t'*}//:/\\\\:}\n"
    "        case $line in\n"
    "        :files) paths=(_files) ;;\n"
    "        :folders) paths=(_files -/) ;;\n"
    "        *$'\\t') found+=(\"$word\") ;;\n"
    "        ?*) found+=(\"$word:${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( ! $#found )) || _describe -V lectern found\n"
    "    [[ $#paths -eq 0 || $PREFIX != --*=* ]] || compset -P '*='\n"
    "    (( ! $#paths )) || $paths\n"
    "}\n"
    "if [ \"$funcstack[1]\" = _lectern ]; then\n"
    "    _lectern \"$@\"\n"
    "else\n"
    "    compdef _lectern lectern\n"
    "fi\n";

/* Files are left to fish, which knows what ~ is. */
static const char fish[] =
    "# fish completion for lectern: lectern completion fish | source\n"
    "function __lectern_lines\n"
    "    set -l before (commandline -opc)\n"
    "    $before[1] completion words -- $before[2..-1] "
    "(string unescape -- (commandline -ct); or echo) 2>/dev/null\n"
    "end\n"
    "function __lectern_words\n"
    "    for line in (__lectern_lines)\n"
    "        switch $line\n"
    "            case :files\n"
    "            case :folders\n"
    "                __fish_complete_directories (commandline -ct)\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c lectern -f -k -a '(__lectern_words)'\n"
    "complete -c lectern -n 'contains -- :files (__lectern_lines)' -F\n";

static const struct {
    const char *shell, *script;
} scripts[] = {{"bash", bash}, {"fish", fish}, {"zsh", zsh}};

int cmd_completion(struct cli *cli, struct err *err)
{
    const struct text_list *args = &cli->args;
    if (!strcmp(args->items[0], "words")) {
        completion_print_words(cli, args->items + 1, args->count - 1);
        return 0;
    }
    for (size_t i = 0;
         args->count == 1 && i < sizeof scripts / sizeof scripts[0]; i++) {
        if (!strcmp(args->items[0], scripts[i].shell)) {
            fputs(scripts[i].script, stdout);
            return 0;
        }
    }
    return err_set(err, ERR_USAGE,
                   "there is completion for bash, fish and zsh, not for '%s'",
                   args->items[args->count - 1]);
}
