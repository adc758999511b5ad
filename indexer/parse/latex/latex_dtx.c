/* .dtx files (The doc and shortvrb Packages, Frank Mittelbach): LaTeX passes
 * over all lines that begin with "%" but for a driver, which has the file read
 * again by \DocInput, as documentation: then "%" is nothing, and "^^A" begins a
 * comment. */
#include "indexer/parse/latex/latex_internal.h"

bool dtx_is(struct slice text)
{
    static const char mark[] = "\\begin{macrocode}";
    const char *at = text.data, *end = text.data + text.size;
    while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1))) {
        const char *sign = at;
        while (sign > text.data && strchr(" \t", sign[-1]))
            sign--;
        if (sign > text.data + 1 && sign[-1] == '%' && sign[-2] == '\n')
            return true;
        at += sizeof mark - 1;
    }
    return false;
}

static void end_documentation(struct tex *tex)
{
    document_of(tex)->documented = false;
    tex_set_catcode(tex, '%', CAT_COMMENT, true);
}

void dtx_read(struct document *d, uint16_t file)
{
    struct tex *tex = &d->tex;
    tex_push_file(tex, file);
    tex->inputs[tex->input_count - 1].ended = end_documentation;
    d->documented = true;
    d->self_documented |= file == 0;
    tex_set_catcode(tex, '%', CAT_IGNORED, true);
    tex_set_catcode(tex, 1, CAT_COMMENT, true);
}

/* The first of a list (l3doc) into `ret`; the others are for another \DocInput. */
static void read_first(struct tex *tex, struct token call, struct buf *ret)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    size_t comma = keys_find(&list, 0, ',');
    struct tokens first = keys_trim(list.items, comma);
    if (comma < list.count) {
        struct tokens others = keys_trim(list.items + comma + 1,
                                         list.count - comma - 1),
                      run = {0};
        tokens_add(&run, call);
        tokens_add_group(&run, &others, call);
        tex_push(tex, run);
        tokens_free(&others);
    }
    tex_expand_text(tex, &first, ret);
    tokens_free(&first);
    tokens_free(&list);
}

/* A file that documents itself is being read already, or has been renamed: what
 * is not there under the name of a driver is the driver's file, once. */
static void run_doc_input(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct document *d = document_of(tex);
    struct buf names = {0};
    uint16_t file = 0;
    (void)command;
    read_first(tex, call, &names);
    if (!names.size)
        return;
    buf_put_byte(&names, '\n');
    if (d->documented)
        tex_report(tex, call, "\\DocInput within \\DocInput");
    else if (inputs_fetch_again(d, buf_slice(&names), call, &file))
        dtx_read(d, file);
    else if (!d->self_documented && dtx_is(tex->files[0].transcoded.text))
        dtx_read(d, 0);
    buf_free(&names);
}

static void run_only(struct tex *tex, const struct command *command,
                     struct token call)
{
    (void)command;
    (void)call;
    document_of(tex)->described = true;
}

/* What follows is how it is made; the argument is what would end it. */
static void run_stop(struct tex *tex, const struct command *command,
                     struct token call)
{
    (void)command;
    (void)call;
    tex_skip_before(tex, "m");
    if (!document_of(tex)->described || !tex->top_file)
        return;
    struct input *file = &tex->inputs[tex->top_file - 1];
    file->end = file->at;
}

static void run_nothing(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
}

static const struct command commands[] = {
    {"DocInput", run_doc_input, NULL, 0, NULL},
    {"OnlyDescription", run_only, NULL, 0, NULL},
    {"StopEventually", run_stop, NULL, 0, NULL},
    {"MaybeStop", run_stop, NULL, 0, NULL},
    {"CheckSum", run_nothing, "m", 0, NULL},
    {"CharacterTable", run_nothing, "m", 0, NULL},
    {"changes", run_nothing, "mmm", 0, NULL},
    {"DoNotIndex", run_nothing, "m", 0, NULL},
    {"SpecialIndex", run_nothing, "m", 0, NULL},
    {"SpecialIndex@", run_nothing, "mm", 0, NULL},
    {"SpecialMainIndex", run_nothing, "m", 0, NULL},
    {"SpecialUsageIndex", run_nothing, "m", 0, NULL},
    {"SpecialEnvIndex", run_nothing, "m", 0, NULL},
    {"SpecialMainEnvIndex", run_nothing, "m", 0, NULL},
    {"SortIndex", run_nothing, "mm", 0, NULL},
    {"GetFileInfo", run_nothing, "m", 0, NULL},
    {"generate", run_nothing, "m", 0, NULL},
    {"batchinput", run_nothing, "m", 0, NULL},
};

void dtx_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
