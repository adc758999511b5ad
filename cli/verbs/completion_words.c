#include "cli/verbs/completion_words.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/installed/doc_base.h"
#include "cli/output/last_answer.h"
#include "cli/output/output.h"
#include "cli/models/catalogue.h"
#include "cli/models/model_list.h"

/* What the words before the last one say. */
struct line {
    struct cli *cli;
    const struct command *verb;      /* NULL: none yet */
    const struct option_spec *wants; /* the option whose value comes */
    size_t args;                     /* of the verb */
    const char *first;               /* of those; NULL: none */
    struct slice prefix; /* of the last word, "--mode=" or nothing */
    const char *typed;   /* the rest of it */
    bool installed;      /* --installed was said */
};

static void print_word(const struct line *line, struct slice word,
                       const char *description)
{
    if (!slice_starts(word, slice_of(line->typed)) ||
        memchr(word.data, '\n', word.size) ||
        memchr(word.data, '\t', word.size))
        return;
    printf("%.*s%.*s\t%s\n", (int)line->prefix.size, line->prefix.data,
           (int)word.size, word.data, description);
}

static void print_text(const struct line *line, const char *word,
                       const char *description)
{
    print_word(line, slice_of(word), description);
}

/* ---- What there is of each kind ---- */

static void print_verbs(const struct line *line)
{
    for (const struct command *c = cli_commands; c->name; c++)
        print_text(line, c->name, c->help);
}

static void print_options(const struct line *line)
{
    uint64_t options = cli_common_options;
    options |= line->verb ? line->verb->options : UINT64_C(1) << OPTION_VERSION;
    for (int i = 0; i < OPTIONS; i++) {
        const struct option_spec *spec = &cli_options[i];
        char text[64];
        if (!(options >> i & 1))
            continue;
        if (spec->name)
            snprintf(text, sizeof text, "--%s", spec->name);
        else
            snprintf(text, sizeof text, "-%c", spec->letter);
        print_text(line, text, spec->help);
    }
}

/* "auto|cpu|cuda[:N]" */
static void print_choices(const struct line *line, const char *choices)
{
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        print_word(line, (struct slice){at, strcspn(at, "|[")}, "");
    }
}

static void print_manuals(const struct line *line)
{
    struct cli *cli = line->cli;
    cJSON *result = NULL;
    const cJSON *manual;
    if (config_load(&cli->config, NULL, NULL))
        return;
    if (!client_open(&cli->config, NULL, false, &cli->client, NULL) &&
        !cli_call_parsed(cli, "ls", slice_of("{}"), &result, NULL))
        output_clean(result);
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(result, "manuals"))
        print_text(line, json_get_text(manual, "name", ""),
                   json_get_text(manual, "root", ""));
    cJSON_Delete(result);
}

/* Of the last answer or search: numbers, where they are taken, and nodes. */
static void print_places(const struct line *line)
{
    struct cli *cli = line->cli;
    if (config_load(&cli->config, NULL, NULL))
        return;
    cJSON *places = answer_list(cli);
    const cJSON *place;
    output_clean(places);
    cJSON_ArrayForEach (place, places) {
        const cJSON *path = cJSON_GetObjectItemCaseSensitive(place, "path");
        const cJSON *title =
            cJSON_GetArrayItem(path, cJSON_GetArraySize(path) - 1);
        const char *text = cJSON_IsString(title) ? title->valuestring : "";
        char number[24];
        snprintf(number, sizeof number, "%lld",
                 (long long)json_get_int(place, "n", 0));
        print_text(line, number, text);
        print_text(line, json_get_text(place, "node", ""), text);
    }
    cJSON_Delete(places);
}

static void print_models(const struct line *line)
{
    struct model_list list;
    if (config_load(&line->cli->config, NULL, NULL))
        return;
    model_list_find(&line->cli->config, &list);
    for (size_t i = 0; i < list.count; i++)
        print_text(line, list.models[i].path, list.models[i].family);
    model_list_free(&list);
    print_text(line, "none", "search by words");
    puts(":files");
}

/* Of `lectern model get`. */
static void print_catalogue(const struct line *line)
{
    for (const struct catalogue_entry *e = catalogue; e->name; e++)
        print_text(line, e->name, e->role);
}

static void print_folders(const struct line *line)
{
    (void)line;
    puts(":folders");
}

static void print_files(const struct line *line)
{
    (void)line;
    puts(":files");
}

/* Of `lectern pack`. */
static void print_packed(const struct line *line)
{
    if (line->args)
        print_files(line);
    else
        print_manuals(line);
}

static void print_fleet(const struct line *line)
{
    if (!line->args)
        print_choices(line, "init|join|publish|withdraw|status|work|fetch");
    else if (line->args == 1 && (!strcmp(line->first, "publish") ||
                                 !strcmp(line->first, "withdraw")))
        print_manuals(line);
    else if (line->args == 2 && !strcmp(line->first, "publish"))
        print_folders(line);
}

/* Of `lectern add`: with --installed what packages have registered. */
static void print_added(const struct line *line)
{
    struct doc_base registered;
    if (!line->installed) {
        print_files(line);
        return;
    }
    doc_base_read(doc_base_folder(), &registered);
    for (size_t i = 0; i < registered.count; i++)
        print_text(line, registered.manuals[i].name,
                   registered.manuals[i].title);
    doc_base_free(&registered);
}

/* ---- Which kind is wanted ---- */

/* By what options and verbs call their values; others that have "|" are choices. */
static const struct {
    const char *name;
    void (*print)(const struct line *line);
} values[] = {
    {"DIR", print_folders},  {"DIR|ARCHIVE|--installed [NAME...]", print_added},
    {"FILE", print_files},   {"PATH", print_files},
    {"NAME", print_manuals}, {"NAME FILE", print_packed},
    {"NODE", print_places},  {"[NODE]", print_places},
    {"[VERB]", print_verbs}, {"NODE|CITATION", print_places},
};

static void print_value(const struct line *line, const char *name)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (!strcmp(values[i].name, name)) {
            values[i].print(line);
            return;
        }
    }
    if (strchr(name, '|'))
        print_choices(line, name);
}

static void print_arg(const struct line *line)
{
    const char *args = line->verb->args;
    if (line->verb->run == cmd_model && !line->args)
        print_choices(line, "use|get|info|list");
    else if (line->verb->run == cmd_model && !strcmp(line->first, "get"))
        print_catalogue(line);
    else if (line->verb->run == cmd_model)
        print_models(line);
    else if (line->verb->run == cmd_fleet)
        print_fleet(line);
    else if (line->args < line->verb->max_args)
        print_value(line, args);
}

/* ---- What the line says ---- */

static const struct option_spec *find_option(const char *word)
{
    size_t size = strcspn(word, "=");
    for (int i = 0; i < OPTIONS; i++) {
        const struct option_spec *spec = &cli_options[i];
        if (spec->name && !strncmp(word, "--", 2) &&
            strlen(spec->name) + 2 == size &&
            !memcmp(word + 2, spec->name, size - 2))
            return spec;
        if (spec->letter && word[0] == '-' && word[1] == spec->letter &&
            !word[2])
            return spec;
    }
    return NULL;
}

static void read_word(struct line *line, const char *word)
{
    const struct option_spec *spec = find_option(word);
    /* Bash has the sign of "--mode=auto" as a word. */
    if (!strcmp(word, "="))
        return;
    line->installed |= spec == &cli_options[OPTION_INSTALLED];
    if (line->wants)
        line->wants = NULL;
    else if (spec && spec->argument && !strchr(word, '='))
        line->wants = spec;
    else if (word[0] != '-' && !line->verb)
        line->verb = arguments_find_command(word, NULL);
    else if (word[0] != '-' && !line->args++)
        line->first = word;
}

/* The last word may be an option with its value. */
static void read_last(struct line *line, const char *word)
{
    const char *sign = strchr(word, '=');
    line->typed = strcmp(word, "=") ? word : "";
    if (line->wants || !sign || !find_option(word))
        return;
    line->wants = find_option(word);
    line->prefix = (struct slice){word, (size_t)(sign + 1 - word)};
    line->typed = sign + 1;
}

/* Of several values with commas between them the last one is being typed. */
static void pass_values(struct line *line, const char *word)
{
    const char *comma = strrchr(line->typed, ',');
    if (!comma || line->wants->kind != KIND_CHOICES)
        return;
    line->prefix = (struct slice){word, (size_t)(comma + 1 - word)};
    line->typed = comma + 1;
}

void completion_print_words(struct cli *cli, const char *const *words,
                            size_t count)
{
    struct line line = {.cli = cli, .prefix = slice_of(""), .typed = ""};
    for (size_t i = 0; i + 1 < count; i++)
        read_word(&line, words[i]);
    if (count)
        read_last(&line, words[count - 1]);
    if (line.wants)
        pass_values(&line, words[count - 1]);
    if (line.wants)
        print_value(&line, line.wants->argument ? line.wants->argument : "");
    else if (line.typed[0] == '-')
        print_options(&line);
    else if (line.verb)
        print_arg(&line);
    else
        print_verbs(&line);
}
