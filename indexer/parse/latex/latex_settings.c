/* What documents set in packages that are not beside them: their arguments are
 * lengths, colours, keys and code, no text. */
#include "indexer/parse/latex/latex_internal.h"

static void run_setting(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    document_of(tex)->last = 0;
    tex_skip_before(tex, command->before);
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
    if (!tex_read_optional(tex, &name))
        tex_skip_before(tex, "m");
    tokens_free(&name);
}

static const struct command settings[] = {
    {"addvspace", run_gap, "m", 0, NULL},
    {"addpenalty", run_setting, "m", 0, NULL},
    {"linethickness", run_setting, "m", 0, NULL},
    {"linespread", run_setting, "m", 0, NULL},
    {"hglue", run_gap, "g", 0, NULL},
    {"vglue", run_gap, "g", 0, NULL},
    /* geometry, setspace, tabto, paracol, typearea, scrextend */
    {"newgeometry", run_setting, "m", 0, NULL},
    {"loadgeometry", run_setting, "m", 0, NULL},
    {"savegeometry", run_setting, "m", 0, NULL},
    {"setstretch", run_setting, "m", 0, NULL},
    {"tabto", run_gap, "sm", 0, NULL},
    {"NumTabs", run_setting, "m", 0, NULL},
    {"TabPositions", run_setting, "m", 0, NULL},
    {"setcolumnwidth", run_setting, "m", 0, NULL},
    {"columnratio", run_setting, "m", 0, NULL},
    {"areaset", run_setting, "omm", 0, NULL},
    {"deflength", run_setting, "mm", 0, NULL},
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
    /* pictures and code */
    {"faIcon", run_setting, "som", 0, NULL},
    {"includesvg", run_setting, "om", 0, NULL},
    {"includestandalone", run_setting, "om", 0, NULL},
    {"usepgfplotslibrary", run_setting, "m", 0, NULL},
    {"pgfmathsetmacro", run_setting, "mm", 0, NULL},
    {"pgfmathtruncatemacro", run_setting, "mm", 0, NULL},
    {"pgfmathsetlength", run_setting, "mm", 0, NULL},
    {"pgfmathparse", run_setting, "m", 0, NULL},
    {"setchemfig", run_setting, "m", 0, NULL},
    {"DeclareSIUnit", run_setting, "omm", 0, NULL},
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
