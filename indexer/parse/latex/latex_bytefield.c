/* The package bytefield's pictures of registers, instructions and packets, each a
 * table: a row of what its line shows. */
#include "indexer/parse/latex/latex_internal.h"

/* What follows is another cell of the row, if there is one. */
static void begin_cell(struct document *d)
{
    if (document_is_body(d) && writer_in_line(blocks_writer(d)))
        tabular_cell(d);
    else
        document_space(d);
}

/* \bitbox[sides]{bits}[options]{text}, \wordbox[sides]{lines}{text}: the text. */
static void run_box(struct tex *tex, const struct command *command,
                    struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
    begin_cell(document_of(tex));
}

/* \bitboxes{bits}{{a}{b}}: a and b. */
static void run_boxes(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens list = {0}, boxes = {0};
    struct token box = call;
    size_t depth = 0;
    tex_skip_before(tex, command->before);
    tex_read_argument(tex, &list);
    box.cat = CAT_NAME;
    box.value = tex_symbol_of(tex, "-bit-");
    for (size_t i = 0; i < list.count; i++) {
        struct token token = list.items[i];
        if (!depth && token.cat != CAT_SPACE)
            tokens_add(&boxes, box);
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
        tokens_add(&boxes, token);
    }
    tokens_free(&list);
    tex_push(tex, boxes);
}

static void begin_group(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    (void)environment;
    (void)call;
    begin_cell(d);
}

static const struct command commands[] = {
    {"bitbox", run_box, "somo", 0, NULL},
    {"wordbox", run_box, "om", 0, NULL},
    {"-bit-", run_box, NULL, 0, NULL},
    {"bitheader", run_box, "so", 0, NULL},
    {"bitboxes", run_boxes, "somo", 0, NULL},
};

static const struct environment environments[] = {
    {"leftwordgroup", begin_group, NULL, "o", 0, NULL, 0},
    {"rightwordgroup", begin_group, NULL, "o", 0, NULL, 0},
};

void bytefield_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
