/* The two tables that everything about the command line follows from. */
#include "cli/cli.h"

#define AT(field) offsetof(struct options, field)

const struct option_spec cli_options[OPTIONS] = {
    [OPTION_JSON] = {0, "json", NULL, KIND_FLAG, AT(json),
                     "print JSON (not help, completion, mcp and web)", 0, 0},
    [OPTION_SOCKET] = {0, "socket", "PATH", KIND_TEXT, AT(socket),
                       "socket of the daemon", 0, 0},
    [OPTION_CONFIG] = {0, "config", "FILE", KIND_TEXT, AT(config),
                       "configuration file", 0, 0},
    [OPTION_STORE] = {0, "store", "DIR", KIND_TEXT, AT(store),
                      "folder of the index; a running daemon must have it", 0,
                      0},
    [OPTION_MODEL] =
        {0, "model", "PATH", KIND_TEXT, AT(model),
         "model folder or GGUF file, or none, of a daemon that is started", 0,
         0},
    [OPTION_DEVICE] = {0, "device", "auto|cpu|cuda[:N]", KIND_TEXT, AT(device),
                       "device of the model, of a daemon that is started", 0,
                       0},
    [OPTION_QUIET] = {0, "quiet", NULL, KIND_FLAG, AT(quiet),
                      "print no progress and no notes", 0, 0},
    [OPTION_NO_COLOR] = {0, "no-color", NULL, KIND_FLAG, AT(no_color),
                         "no colours, as with NO_COLOR set", 0, 0},
    [OPTION_HELP] = {'h', "help", NULL, KIND_FLAG, AT(help), "print this help",
                     0, 0},
    [OPTION_VERSION] = {0, "version", NULL, KIND_FLAG, AT(version),
                        "print the version", 0, 0},
    [OPTION_MANUAL] =
        {'c', NULL, "NAME", KIND_LIST, AT(manuals),
         "this manual only; search, ask and grep take several, each with -c", 0,
         0},
    [OPTION_NAME] =
        {'c', NULL, "NAME", KIND_LIST, AT(manuals),
         "what the manual is called, also one that is there already", 0, 0},
    [OPTION_UNDER] = {0, "under", "NODE", KIND_TEXT, AT(under),
                      "only this node, or number of the last answer or search, "
                      "and what is below it",
                      0, 0},
    [OPTION_COUNT] = {'n', NULL, "N", KIND_NUMBER, AT(count),
                      "maximum number of results (search 10, grep 100; ask 4, "
                      "and never more than 20)",
                      1, 1000},
    [OPTION_MODE] = {0, "mode", "auto|tree|dense|lexical", KIND_CHOICE,
                     AT(mode),
                     "all rankings fused, down the tree, by meaning, by words",
                     0, 0},
    [OPTION_EXPLAIN] = {0, "explain", NULL, KIND_FLAG, AT(explain),
                        "show how the results were found", 0, 0},
    [OPTION_EXPAND] = {0, "expand", NULL, KIND_FLAG, AT(expand),
                       "search for words of the model that writes answers, "
                       "too: for a question in other words than the manual's "
                       "(helps with a billion parameters or more)",
                       0, 0},
    [OPTION_JSONL] = {0, "jsonl", NULL, KIND_FLAG, AT(jsonl),
                      "print JSON events, one a line", 0, 0},
    [OPTION_ANSWER] = {0, "answer", "auto|generated|passages", KIND_CHOICE,
                       AT(answer),
                       "auto: written by the model if it holds, else quoted "
                       "passages; generated: always; passages: never",
                       0, 0},
    [OPTION_BRIEF] =
        {0, "brief", NULL, KIND_FLAG, AT(brief),
         "only what says most: a short section, or a passage or two of it", 0,
         0},
    [OPTION_FULL] = {0, "full", NULL, KIND_FLAG, AT(full),
                     "the best section whole", 0, 0},
    [OPTION_STRICT] = {0, "strict", NULL, KIND_FLAG, AT(strict),
                       "exit with 4 when the index is stale or incomplete", 0,
                       0},
    [OPTION_IGNORE] = {0, "ignore", "GLOB", KIND_LIST, AT(ignore),
                       "skip matching files; may be repeated; stays until "
                       "other globs are given, or '' for none",
                       0, 0},
    [OPTION_FOLLOW_LINKS] = {0, "follow-links", NULL, KIND_FLAG,
                             AT(follow_links),
                             "also follow links that lead out of the folder: "
                             "only in a manual that you trust; stays",
                             0, 0},
    [OPTION_NO_FOLLOW_LINKS] = {0, "no-follow-links", NULL, KIND_FLAG,
                                AT(no_follow_links), "no longer follow them", 0,
                                0},
    [OPTION_YES] = {0, "yes", NULL, KIND_FLAG, AT(yes),
                    "do not ask for confirmation of a very large folder", 0, 0},
    [OPTION_WAIT] = {0, "wait", NULL, KIND_FLAG, AT(wait),
                     "return when everything is indexed", 0, 0},
    [OPTION_FORCE] = {0, "force", NULL, KIND_FLAG, AT(force),
                      "index unchanged files again", 0, 0},
    [OPTION_EXCLUDED] = {0, "excluded", NULL, KIND_FLAG, AT(excluded),
                         "also list files that were read but excluded, and why",
                         0, 0, "left-out"},
    [OPTION_RETRY] = {0, "retry", NULL, KIND_FLAG, AT(retry),
                      "try them again although they have not changed", 0, 0},
    [OPTION_DEPTH] = {0, "depth", "N", KIND_NUMBER, AT(depth),
                      "levels to print", 0, 1000},
    [OPTION_ALL] = {0, "all", NULL, KIND_FLAG, AT(all),
                    "also what was excluded (navigation, hidden text, repeated "
                    "lines), and why",
                    0, 0},
    [OPTION_PRINT] = {0, "print", NULL, KIND_FLAG, AT(print),
                      "print the address instead of opening it", 0, 0},
    [OPTION_STOP] = {0, "stop", NULL, KIND_FLAG, AT(stop),
                     "stop the daemon and wait until it is gone", 0, 0},
    [OPTION_FOREGROUND] = {0, "foreground", NULL, KIND_FLAG, AT(foreground),
                           "run in the foreground", 0, 0},
    [OPTION_METHOD] = {0, "method", "h2mt|hmt|full|passages", KIND_CHOICES,
                       AT(method),
                       "also answer each question by these methods, separated "
                       "by commas, and compare scores and time to the first "
                       "token: routed sections, HMT over the whole document, "
                       "the document in the context, quoted passages",
                       0, 0},
    [OPTION_MAX_TOKENS] =
        {0, "max-tokens", "N", KIND_NUMBER, AT(max_tokens),
         "maximum number of tokens to write (96; with a chat template 192)", 1,
         4096},
    [OPTION_ANSWERS] = {0, "answers", "KIND,...", KIND_TEXT, AT(answers),
                        "also answer each question in these ways (auto, "
                        "generated, passages; oracle-section, best-passage: "
                        "from the right section), and score the answers",
                        0, 0},
    [OPTION_REPAIR] = {0, "repair", NULL, KIND_FLAG, AT(repair),
                       "drop damaged records and index those manuals again", 0,
                       0},
    [OPTION_COMPARE] = {0, "compare", "MODE,...", KIND_TEXT, AT(compare),
                        "also search in these modes and compare each with "
                        "--mode, question by question",
                        0, 0},
    [OPTION_FORMAT] = {0, "format", "auto|lines|squad|qasper", KIND_CHOICE,
                       AT(format),
                       "format of FILE; auto: guessed from its content", 0, 0},
    [OPTION_KIND] = {0, "kind",
                     "paragraph|code|table|list|quote|note|math|figure|"
                     "definition",
                     KIND_CHOICE, AT(kind),
                     "only sections with such a block, ranked by that block", 0,
                     0},
    [OPTION_TEMPERATURE] =
        {0, "temperature", "T", KIND_DECIMAL, AT(temperature),
         "sampling temperature; 0: always the most probable token (0)", 0, 100},
    [OPTION_TOP_K] = {0, "top-k", "N", KIND_NUMBER, AT(top_k),
                      "sample from the N most probable tokens; 0: all (0)", 0,
                      1000000},
    [OPTION_TOP_P] =
        {0, "top-p", "P", KIND_DECIMAL, AT(top_p),
         "sample from the most probable tokens with total probability P (1)", 0,
         1},
    [OPTION_MIN_P] = {0, "min-p", "P", KIND_DECIMAL, AT(min_p),
                      "drop tokens below P times the highest probability (0)",
                      0, 1},
    [OPTION_PENALTY] =
        {0, "repetition-penalty", "R", KIND_DECIMAL, AT(penalty),
         "above 1: tokens in the context become less probable (1)", 0, 100},
    [OPTION_SEED] = {0, "seed", "N", KIND_NUMBER, AT(seed),
                     "seed of the sampler; same seed, same answer (0)", 0,
                     9007199254740992},
    [OPTION_STOP_SEQUENCE] =
        {0, "stop-text", "TEXT", KIND_LIST, AT(stop_sequences),
         "stop sequence: the answer ends before it; may be repeated", 0, 0},
    [OPTION_INSTALLED] = {0, "installed", NULL, KIND_FLAG, AT(installed),
                          "offer the HTML manuals that packages have "
                          "registered (doc-base), or add those named; --yes: "
                          "all",
                          0, 0},
    [OPTION_MAN] = {0, "man", "SECTION", KIND_TEXT, AT(man),
                    "add the manual pages of a section, as 1 or 3, as one "
                    "manual (needs mandoc)",
                    0, 0},
    [OPTION_CONTEXT] = {0, "context", "N", KIND_NUMBER, AT(context),
                        "have the model read all that is below --under, in the "
                        "manual's order, instead of passages: at most N tokens",
                        256, 1 << 20},
    [OPTION_SESSION] = {0, "session", "ID", KIND_TEXT, AT(session),
                        "conversation: the question may refer to those asked "
                        "before under the same ID",
                        0, 0},
    [OPTION_FOR] = {0, "for", "memories|answers|reranking", KIND_CHOICE,
                    AT(role),
                    "the role that the model takes (use); without it the first "
                    "two",
                    0, 0},
    [OPTION_PORT] = {0, "port", "N", KIND_NUMBER, AT(port),
                     "port of the page; 0: any that is free (8417)", 0, 65535},
    [OPTION_KEY] = {0, "key", "FILE", KIND_TEXT, AT(key),
                    "sign with the key in this file, which is made if there is "
                    "none",
                    0, 0},
    [OPTION_FILES] = {0, "files", NULL, KIND_FLAG, AT(files),
                      "with the files themselves, so that they can be quoted "
                      "and opened where it is unpacked",
                      0, 0},
    [OPTION_DIR] = {0, "dir", "DIR", KIND_TEXT, AT(dir),
                    "folder that has the manual's files, or a new one for "
                    "those in the pack",
                    0, 0},
    [OPTION_UNTRUSTED] = {0, "untrusted", NULL, KIND_FLAG, AT(untrusted),
                          "also a pack that no trusted key has signed, without "
                          "its memories",
                          0, 0},
    [OPTION_IGNORE_CASE] = {'i', "ignore-case", NULL, KIND_FLAG,
                            AT(ignore_case),
                            "capitals and small letters are the same", 0, 0},
    [OPTION_ONCE] = {0, "once", NULL, KIND_FLAG, AT(once),
                     "end when there is nothing left to do (work, fetch)", 0,
                     0},
};

#define BIT(option) (UINT64_C(1) << OPTION_##option)

const uint64_t cli_common_options =
    BIT(JSON) | BIT(SOCKET) | BIT(CONFIG) | BIT(STORE) | BIT(MODEL) |
    BIT(DEVICE) | BIT(QUIET) | BIT(NO_COLOR) | BIT(HELP) | BIT(VERSION);

#define SEARCHING                                                              \
    (BIT(MANUAL) | BIT(UNDER) | BIT(COUNT) | BIT(MODE) | BIT(KIND) |           \
     BIT(EXPLAIN) | BIT(EXPAND))

const struct command cli_commands[] = {
    {"add", "DIR|ARCHIVE|--installed [NAME...]",
     "index a folder of HTML or LaTeX files, or a .zip, .epub, .jar or .tar of "
     "them, as a manual; one that is there already is brought up to date, with "
     "-c under another name, or after its folder has moved",
     BIT(NAME) | BIT(IGNORE) | BIT(FOLLOW_LINKS) | BIT(NO_FOLLOW_LINKS) |
         BIT(YES) | BIT(WAIT) | BIT(INSTALLED) | BIT(MAN),
     0, SIZE_MAX, false, cmd_add},
    {"rm", "NAME",
     "remove a manual from the index; its files stay, but for those that were "
     "unpacked",
     0, 1, 1, false, cmd_rm},
    {"ls", "", "list the manuals", 0, 0, 0, false, cmd_ls},
    {"ask", "QUESTION...", "answer from the manuals, with citations",
     SEARCHING | BIT(JSONL) | BIT(ANSWER) | BIT(BRIEF) | BIT(FULL) |
         BIT(MAX_TOKENS) | BIT(STRICT) | BIT(SESSION) | BIT(CONTEXT) |
         BIT(TEMPERATURE) | BIT(TOP_K) | BIT(TOP_P) | BIT(MIN_P) |
         BIT(PENALTY) | BIT(SEED) | BIT(STOP_SEQUENCE),
     1, SIZE_MAX, false, cmd_ask},
    {"search", "WORDS...",
     "find sections: '\"exact phrase\" word -word' as one argument",
     SEARCHING | BIT(STRICT), 1, SIZE_MAX, false, cmd_search},
    {"grep", "PATTERN",
     "print the lines of sections that a regular expression (PCRE2) matches",
     BIT(MANUAL) | BIT(UNDER) | BIT(COUNT) | BIT(IGNORE_CASE), 1, 1, false,
     cmd_grep},
    {"toc", "[NODE]", "print the table of contents", BIT(MANUAL) | BIT(DEPTH),
     0, 1, false, cmd_toc},
    {"get", "NODE", "print a section", BIT(ALL), 1, 1, false, cmd_get},
    {"open", "NODE|CITATION",
     "open a section, or a citation of the last answer by its number, in "
     "$BROWSER or $EDITOR",
     BIT(PRINT), 1, 1, false, cmd_open},
    {"update", "", "look for changed files and index them",
     BIT(MANUAL) | BIT(WAIT) | BIT(FORCE), 0, 0, false, cmd_update},
    {"wait", "", "wait until everything is indexed", BIT(MANUAL), 0, 0, false,
     cmd_wait},
    {"status", "", "show what the daemon holds and does", 0, 0, 0, false,
     cmd_status},
    {"failed", "",
     "list files that could not be indexed, and warnings about those that were",
     BIT(MANUAL) | BIT(RETRY) | BIT(EXCLUDED) | BIT(WAIT), 0, 0, false,
     cmd_failed},
    {"eval", "FILE",
     "measure search and answers on questions with known answers",
     BIT(MANUAL) | BIT(MODE) | BIT(COUNT) | BIT(METHOD) | BIT(ANSWERS) |
         BIT(COMPARE) | BIT(FORMAT),
     1, 1, false, cmd_eval},
    {"doctor", "", "check configuration, programs, store, daemon and model", 0,
     0, 0, false, cmd_doctor},
    {"verify", "", "check the consistency of the store",
     BIT(MANUAL) | BIT(REPAIR), 0, 0, false, cmd_verify},
    {"compact", "", "compact the store; queries keep working", 0, 0, 0, false,
     cmd_compact},
    {"backup", "DIR", "copy the store into a new folder (restore: --store DIR)",
     0, 1, 1, false, cmd_backup},
    {"pack", "NAME FILE", "write a manual's index as one file",
     BIT(KEY) | BIT(FILES), 2, 2, false, cmd_pack},
    {"unpack", "FILE", "take a manual's index from a file of lectern pack",
     BIT(NAME) | BIT(DIR) | BIT(UNTRUSTED), 1, 1, false, cmd_unpack},
    {"fleet",
     "init CONNECTION [PLACE]|join CONNECTION [PLACE]|publish NAME [FOLDER]|"
     "withdraw NAME|status|work|fetch",
     "share packs between machines: make the registry, a PostgreSQL database; "
     "join it; ask for a manual; offer it no longer; show all; index what was "
     "asked for; take what "
     "was indexed",
     BIT(ONCE), 1, 3, false, cmd_fleet},
    {"model", "use PATH|get [NAME]|info [PATH]|list",
     "choose the model; download one of the catalogue, or print that; describe "
     "a model; list the models on this machine",
     BIT(FOR), 1, 2, false, cmd_model},
    {"daemon", "", "start or stop the daemon", BIT(STOP) | BIT(FOREGROUND), 0,
     0, false, cmd_daemon},
    {"mcp", "",
     "serve an agent by the Model Context Protocol, on standard input and "
     "output",
     0, 0, 0, false, cmd_mcp},
    {"web", "", "serve a page to read and ask the manuals, on 127.0.0.1",
     BIT(PORT), 0, 0, false, cmd_web},
    {"completion", "bash|fish|zsh", "print a completion script", 0, 1, SIZE_MAX,
     true, cmd_completion},
    {"help", "[VERB]", "explain a verb", 0, 0, 1, true, cmd_help},
    {"version", "", "print the version", 0, 0, 0, true, cmd_version},
    {NULL, NULL, NULL, 0, 0, 0, false, NULL},
};
