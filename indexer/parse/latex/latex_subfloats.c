/* Parts of a float that are commands: subfig's \subfloat, subfigure's \subfigure, caption's
 * \subcaptionbox.  They are as the environments of subcaption are. */
#include "indexer/parse/latex/latex_internal.h"

enum { BEFORE, SUBCAPTION };

static const char *part_of(const struct document *d)
{
    for (size_t i = d->group_count; i-- > 0;) {
        const struct group *group = &d->groups[i];
        if (group->kind == GROUP_ENVIRONMENT && group->environment &&
            group->environment->text &&
            !strcmp(group->environment->text, "table"))
            return "subtable";
    }
    return "subfigure";
}

static void add_environment(struct tex *tex, const char *command,
                            const char *name, struct token call,
                            struct tokens *ret)
{
    struct tokens list = {0};
    tex_add_name(tex, command, call, ret);
    tex_add_source(tex, slice_of(name), call, &list);
    tokens_add_group(ret, &list, call);
    tokens_free(&list);
}

/* \subfloat[of the list][caption]{what it is of}, \subcaptionbox[..]{caption}[width][
 * inner]{..} */
static void run_part(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    struct tokens caption = {0}, content = {0}, run = {0}, none = {0};
    const char *name = part_of(d);
    tex_read_character(tex, '*');
    bool titled = tex_read_optional(tex, &caption);
    if (command->value == SUBCAPTION) {
        tokens_free(&caption);
        tex_read_argument(tex, &caption);
        tex_skip_before(tex, "oo");
        titled = true;
    } else {
        struct tokens second = {0};
        if (tex_read_optional(tex, &second)) {
            tokens_free(&caption);
            caption = second;
        }
    }
    tex_read_argument(tex, &content);
    add_environment(tex, "begin", name, call, &run);
    tokens_add_group(&run, &none, call);
    tokens_add_all(&run, content.items, content.count);
    if (titled && caption.count) {
        tex_add_name(tex, "caption", call, &run);
        tokens_add_group(&run, &caption, call);
    }
    add_environment(tex, "end", name, call, &run);
    tex_push(tex, run);
    tokens_free(&caption);
    tokens_free(&content);
}

static const struct command commands[] = {
    {"subfloat", run_part, NULL, BEFORE, NULL},
    {"subfigure", run_part, NULL, BEFORE, NULL},
    {"subtable", run_part, NULL, BEFORE, NULL},
    {"subcaptionbox", run_part, NULL, SUBCAPTION, NULL},
};

void subfloats_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
