/* What Sphinx writes: its classes and sphinx.sty, which it puts beside the
 * document, are not read. */
#include "indexer/parse/latex/latex_internal.h"

/* fulllineitems: what a signature (or several) describes. */
static void begin_lines(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    (void)environment;
    (void)call;
    if (!document_is_body(d) || d->in.silent)
        return;
    document_flush(d);
    if (d->in.kind != BLOCK_PARAGRAPH && d->in.kind != BLOCK_NOTE &&
        d->in.kind != BLOCK_QUOTE)
        return;
    outline_open(&d->outline, false, (struct slice){"", 0});
    d->groups[d->group_count - 1].entry = true;
    d->in = (struct context){.kind = BLOCK_PARAGRAPH};
}

static void end_lines(struct document *d, struct group *group)
{
    (void)group;
    if (document_is_body(d))
        document_flush(d);
}

static void add_sign(char sign, struct token call, struct tokens *ret)
{
    call.cat = CAT_OTHER;
    call.value = (unsigned char)sign;
    tokens_add(ret, call);
}

static void add_argument(struct tex *tex, struct tokens *ret)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    tokens_add_all(ret, list.items, list.count);
    tokens_free(&list);
}

enum { NO_ARGUMENTS, ARGUMENTS, TYPES_TOO };

/* \pysigline{signature}, \pysiglinewithargsret{name}{arguments}{what it returns}:
 * the first is the entry's title. */
static void run_signature(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct document *d = document_of(tex);
    struct tokens text = {0}, run = {0};
    const struct group *lines = document_environment(d);
    bool title = lines && lines->entry && lines->environment &&
                 lines->environment->begin == begin_lines &&
                 !outline_is_titled(&d->outline);
    add_argument(tex, &text);
    if (command->value == TYPES_TOO)
        tex_skip_before(tex, "m");
    if (command->value) {
        add_sign('(', call, &text);
        add_argument(tex, &text);
        add_sign(')', call, &text);
        add_argument(tex, &text);
    }
    if (!title)
        tex_add_name(tex, "par", call, &run);
    tokens_add_group(&run, &text, call);
    if (!title)
        tex_add_name(tex, "par", call, &run);
    tex_push(tex, run);
    if (title)
        sections_open_entry(d, call);
    tokens_free(&text);
}

/* \sphinxoptional{x}: an argument in brackets. */
static void run_optional(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens run = {0};
    (void)command;
    add_sign('[', call, &run);
    add_argument(tex, &run);
    add_sign(']', call, &run);
    tex_push(tex, run);
}

/* \sphinxlineitem{term}: \item[{term}] */
static void run_lineitem(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens term = {0}, run = {0};
    (void)command;
    tex_read_argument(tex, &term);
    tex_add_name(tex, "item", call, &run);
    add_sign('[', call, &run);
    tokens_add_group(&run, &term, call);
    add_sign(']', call, &run);
    tex_push(tex, run);
    tokens_free(&term);
}

static void run_nothing(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
}

static const struct command commands[] = {
    {"pysigline", run_signature, NULL, NO_ARGUMENTS, NULL},
    {"pysiglinewithargsret", run_signature, NULL, ARGUMENTS, NULL},
    {"pysiglinewithargsretwithtypelist", run_signature, NULL, TYPES_TOO, NULL},
    {"sphinxoptional", run_optional, NULL, 0, NULL},
    {"sphinxlineitem", run_lineitem, NULL, 0, NULL},
    {"sphinxsetup", run_nothing, "m", 0, NULL},
    {"sphinxcolwidth", run_nothing, "mm", 0, NULL},
    {"sphinxmultirow", run_nothing, "mm", 0, NULL},
    {"sphinxstartmulticolumn", run_nothing, "m", 0, NULL},
    {"sphinxtablecontinued", run_nothing, "m", 0, NULL},
    {"sphinxcapstartof", run_nothing, "m", 0, NULL},
    {"sphinxincludegraphics", run_nothing, "om", 0, NULL},
    {"sphinxsafeincludegraphics", run_nothing, "om", 0, NULL},
};

static const struct environment environments[] = {
    {"fulllineitems", begin_lines, end_lines, NULL, 0, NULL, 0},
    {"sphinxadmonition", blocks_begin_note, blocks_end_kind, "m", 0, "note", 0},
};

void sphinx_add(struct document *d)
{
    static const char *const texts[][2] = {
        {"sphinxhref", "\\href"},
        {"sphinxurl", "\\url"},
        {"sphinxcaption", "\\captionof{table}"},
        {"sphinxparamcomma", ", "},
        {"sphinxlogo", ""},
        {"sphinxtableofcontents", "\\tableofcontents"},
    };
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tex_define_text(&d->tex, texts[i][0], texts[i][1]);
}
