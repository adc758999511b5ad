/* expl3 (interface3, "Introduction to expl3"): its syntax and its names, not
 * its functions.  A name tells what a function takes: \clist_map_inline:Nn a
 * token and a group.  One that is not defined here leaves the text of its groups
 * and nothing of its own; one that assigns leaves nothing. */
#include "indexer/parse/latex/latex_internal.h"

/* To the end of the group, as any category code. */
static void set_syntax(struct tex *tex, bool on)
{
    tex_set_catcode(tex, '_', on ? CAT_LETTER : CAT_SUB, false);
    tex_set_catcode(tex, ':', on ? CAT_LETTER : CAT_OTHER, false);
    tex_set_catcode(tex, '~', on ? CAT_SPACE : CAT_ACTIVE, false);
    tex_set_catcode(tex, ' ', on ? CAT_IGNORED : CAT_SPACE, false);
    tex_set_catcode(tex, '\n', on ? CAT_IGNORED : CAT_LINE_END, false);
    document_of(tex)->expl = on;
}

static void run_syntax(struct tex *tex, const struct command *command,
                       struct token call)
{
    (void)call;
    if (command->before)
        tex_skip_before(tex, command->before);
    set_syntax(tex, command->value != 0);
}

void expl_end(struct document *d)
{
    if (d->expl)
        set_syntax(&d->tex, false);
}

static bool has(struct slice name, const char *part)
{
    return memmem(name.data, name.size, part, strlen(part)) != NULL;
}

/* What they take is kept for later, or said to somebody else. */
static bool assigns(struct slice name)
{
    static const char *const parts[] = {
        "_new",   "_set", "_gset", "_const", "_put",      "_gput",
        "_clear", "_add", "_incr", "_decr",  "_undefine", "_generate"};
    static const char *const heads[] = {"msg_", "keys_", "cs_",   "hook_",
                                        "prg_", "sys_",  "file_", "iow_"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has(name, parts[i]))
            return true;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (name.size > strlen(heads[i]) &&
            !memcmp(name.data, heads[i], strlen(heads[i])))
            return true;
    return false;
}

/* \cs_new_protected:Npn and the like are \long\def, \cs_new_nopar:Npn is \def. */
static bool defines(struct slice name)
{
    static const char ending[] = ":Npn";
    size_t size = sizeof ending - 1;
    return name.size > size && !memcmp(name.data, "cs_", 3) &&
           (has(name, "_new") || has(name, "_set") || has(name, "_gset")) &&
           !memcmp(name.data + name.size - size, ending, size);
}

/* \exp_args:NV\f\x is \f with what \x has; \f takes \x as well. */
static bool passes_on(struct slice name)
{
    static const char head[] = "exp_args:";
    size_t size = sizeof head - 1;
    return name.size > size && !memcmp(name.data, head, size);
}

/* The text of a macro's parameters, up to its body. */
static void skip_parameters(struct tex *tex)
{
    struct token token;
    do
        token = tex_next(tex);
    while (token.cat != CAT_BEGIN && token.cat != CAT_NONE &&
           token.cat != CAT_STOP && !token_is(token, CAT_NAME, tex->par));
    tex_unread(tex, token);
}

bool expl_run(struct document *d, struct token call)
{
    struct tex *tex = &d->tex;
    struct slice name = tex->symbols[call.value].name;
    const char *colon = memrchr(name.data, ':', name.size);
    if (!colon || name.size < 2)
        return false;
    if (defines(name)) {
        tex->is_long = !has(name, "_nopar");
        call.value = tex_symbol_of(tex, "def");
        tex_unread(tex, call);
        return true;
    }
    if (passes_on(name))
        return true;
    struct tokens text = {0};
    bool silent = assigns(name);
    /* What is compared is no text, one of the branches is. */
    bool chooses = name.data[name.size - 1] == 'F';
    for (const char *at = colon + 1; at < name.data + name.size; at++) {
        struct tokens argument = {0};
        if (*at == 'p')
            skip_parameters(tex);
        else if (*at != 'w' && *at != 'D')
            tex_read_argument(tex, &argument);
        bool kept = *at == 'F' ||
                    (!chooses && (*at == 'n' || *at == 'e' || *at == 'x'));
        if (kept && !silent)
            tokens_add_all(&text, argument.items, argument.count);
        tokens_free(&argument);
    }
    tex_push(tex, text);
    return true;
}

static const struct command commands[] = {
    {"ExplSyntaxOn", run_syntax, NULL, 1, NULL},
    {"ExplSyntaxOff", run_syntax, NULL, 0, NULL},
    {"ProvidesExplPackage", run_syntax, "mmmm", 1, NULL},
    {"ProvidesExplClass", run_syntax, "mmmm", 1, NULL},
    {"ProvidesExplFile", run_syntax, "mmmm", 1, NULL},
};

void expl_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
