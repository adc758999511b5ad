/* What documents set in packages that are not beside them: their arguments are
 * lengths, colours, keys and code, no text. */
#include "indexer/parse/latex/latex_internal.h"

enum { ALSO_NAME = 1 }; /* an argument may be a name without braces */

/* Letters and the end of a paragraph are none: such a command is another's. */
static bool has_argument(struct tex *tex, int also)
{
    struct token next = tex_next_solid(tex);
    tex_unread(tex, next);
    return next.cat == CAT_BEGIN ||
           (also == ALSO_NAME && next.cat == CAT_NAME &&
            next.value != tex->par);
}

static void run_setting(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    document_of(tex)->last = 0;
    for (const char *at = command->before; *at; at++) {
        if (*at == 'm' && !has_argument(tex, command->value))
            break;
        tex_skip_before(tex, (const char[]){*at, '\0'});
    }
}

/* \internal[type]{prefix} of latex2html; text in braces is another's. */
static void run_internal(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens prefix = {0};
    bool spaced = false;
    (void)command;
    tex_skip_before(tex, "oo");
    if (!has_argument(tex, 0))
        return;
    tex_read_argument(tex, &prefix);
    for (size_t i = 0; i < prefix.count; i++)
        spaced |= prefix.items[i].cat == CAT_SPACE;
    if (spaced) {
        struct tokens list = {0};
        tokens_add_group(&list, &prefix, call);
        tex_push(tex, list);
    }
    tokens_free(&prefix);
}

/* It parts what it stands between, too. */
static void run_gap(struct tex *tex, const struct command *command,
                    struct token call)
{
    run_setting(tex, command, call);
    document_space(document_of(tex));
}

/* \setbeamertemplate{footline}[frame number], \setbeamertemplate{footline}{code} */
static void run_template(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens name = {0};
    run_setting(tex, command, call);
    if (!tex_read_optional(tex, &name) && has_argument(tex, 0))
        tex_skip_before(tex, "m");
    tokens_free(&name);
}

static const struct command settings[] = {
    {"addvspace", run_gap, "m", ALSO_NAME, NULL},
    {"addpenalty", run_setting, "m", ALSO_NAME, NULL},
    {"linethickness", run_setting, "m", ALSO_NAME, NULL},
    {"linespread", run_setting, "m", ALSO_NAME, NULL},
    {"hglue", run_gap, "g", 0, NULL},
    {"vglue", run_gap, "g", 0, NULL},
    /* geometry, setspace, tabto, paracol, typearea, scrextend */
    {"newgeometry", run_setting, "m", 0, NULL},
    {"loadgeometry", run_setting, "m", 0, NULL},
    {"savegeometry", run_setting, "m", 0, NULL},
    {"setstretch", run_setting, "m", ALSO_NAME, NULL},
    {"tabto", run_gap, "sm", ALSO_NAME, NULL},
    {"NumTabs", run_setting, "m", 0, NULL},
    {"TabPositions", run_setting, "m", 0, NULL},
    {"setcolumnwidth", run_setting, "m", 0, NULL},
    {"columnratio", run_setting, "m", 0, NULL},
    {"areaset", run_setting, "omm", ALSO_NAME, NULL},
    {"deflength", run_setting, "mm", ALSO_NAME, NULL},
    {"setcapindent", run_setting, "sm", 0, NULL},
    {"aliaspagestyle", run_setting, "mm", 0, NULL},
    {"RedeclareSectionCommand", run_setting, "om", 0, NULL},
    {"DeclareTOCStyleEntry", run_setting, "omm", 0, NULL},
    /* beamer, soul, tables, fonts */
    {"usebeamercolor", run_setting, "som", 0, NULL},
    {"usebeamerfont", run_setting, "sm", 0, NULL},
    {"setbeamercovered", run_setting, "m", 0, NULL},
    {"setbeamercolor", run_setting, "smm", 0, NULL},
    {"setbeamerfont", run_setting, "smm", 0, NULL},
    {"setbeamersize", run_setting, "m", 0, NULL},
    {"setbeamertemplate", run_template, "m", 0, NULL},
    {"pgfuseimage", run_setting, "m", 0, NULL},
    {"logo", run_setting, "m", 0, NULL},
    {"sethlcolor", run_setting, "m", 0, NULL},
    {"setulcolor", run_setting, "m", 0, NULL},
    {"setstcolor", run_setting, "m", 0, NULL},
    {"setul", run_setting, "mm", 0, NULL},
    {"specialrule", run_setting, "mmm", 0, NULL},
    {"cdashline", run_setting, "m", 0, NULL},
    {"hhline", run_setting, "m", 0, NULL},
    {"Xhline", run_setting, "m", 0, NULL},
    {"newfontfamily", run_setting, "como", 0, NULL},
    {"setCJKmainfont", run_setting, "omo", 0, NULL},
    {"setCJKsansfont", run_setting, "omo", 0, NULL},
    {"setCJKmonofont", run_setting, "omo", 0, NULL},
    {"CJKfamily", run_setting, "sm", 0, NULL},
    {"jfontspec", run_setting, "omo", 0, NULL},
    {"ctexset", run_setting, "m", 0, NULL},
    {"punctstyle", run_setting, "m", 0, NULL},
    {"zihao", run_setting, "m", 0, NULL},
    {"internal", run_internal, NULL, 0, NULL},
    /* pictures and code */
    {"faIcon", run_setting, "som", 0, NULL},
    {"includesvg", run_setting, "om", 0, NULL},
    {"includestandalone", run_setting, "om", 0, NULL},
    {"usepgfplotslibrary", run_setting, "m", 0, NULL},
    {"pgfmathsetmacro", run_setting, "mm", ALSO_NAME, NULL},
    {"pgfmathtruncatemacro", run_setting, "mm", ALSO_NAME, NULL},
    {"pgfmathsetlength", run_setting, "mm", ALSO_NAME, NULL},
    {"pgfmathparse", run_setting, "m", ALSO_NAME, NULL},
    {"setchemfig", run_setting, "m", 0, NULL},
    {"DeclareSIUnit", run_setting, "omm", ALSO_NAME, NULL},
    {"AtBeginEnvironment", run_setting, "mm", 0, NULL},
    {"AtEndEnvironment", run_setting, "mm", 0, NULL},
    {"BeforeBeginEnvironment", run_setting, "mm", 0, NULL},
    {"AfterEndEnvironment", run_setting, "mm", 0, NULL},
    {"BeginAccSupp", run_setting, "m", 0, NULL},
    {"EndAccSupp", run_setting, "m", 0, NULL},
    {"creflabelformat", run_setting, "mm", 0, NULL},
};

void settings_add(struct document *d)
{
    tex_add_commands(&d->tex, settings, sizeof settings / sizeof *settings,
                     MEANING_COMMAND, false);
}
