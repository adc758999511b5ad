/* Boxes that are saved and set elsewhere: what is only measured is none of the text.
 *
 * The content of \sbox and \savebox is kept as a macro called "box NAME", which
 * \usebox and the like stand for. */
#include "indexer/parse/latex/latex_internal.h"

static uint32_t box_symbol(struct tex *tex, const struct tokens *box)
{
    struct buf name = {0};
    buf_put_text(&name, "box ");
    tex_write_tokens(tex, box, &name);
    while (name.size && name.data[name.size - 1] == ' ')
        name.size--;
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol;
}

/* \sbox\box{..}, \savebox\box[..][..]{..} */
static void run_save(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens box = {0};
    struct macro macro = {0};
    (void)call;
    tex_read_argument(tex, &box);
    tex_skip_before(tex, command->before);
    tex_read_argument(tex, &macro.body);
    define_macro(tex, box_symbol(tex, &box), macro);
    tokens_free(&macro.body);
    tokens_free(&box);
}

static void push_box(struct tex *tex, const struct tokens *box)
{
    struct meaning meaning = tex->symbols[box_symbol(tex, box)].meaning;
    struct tokens list = {0};
    if (meaning.kind != MEANING_MACRO)
        return;
    tokens_add_all(&list, meaning.macro->body.items, meaning.macro->body.count);
    tex_push(tex, list);
}

static void run_use(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct tokens box = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &box);
    push_box(tex, &box);
    tokens_free(&box);
}

/* The 0 of \box0, or the name of \copy\name. */
static void read_register(struct tex *tex, struct tokens *ret)
{
    struct token token = tex_next_solid(tex);
    bool digits = token.cat != CAT_NAME;
    while (digits && token.cat == CAT_OTHER && token.value >= '0' &&
           token.value <= '9') {
        tokens_add(ret, token);
        token = tex_next(tex);
    }
    if (!digits)
        tokens_add(ret, token);
    else if (token.cat != CAT_SPACE) /* which ends a number */
        tex_unread(tex, token);
}

static void run_copy(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens box = {0};
    (void)command;
    (void)call;
    read_register(tex, &box);
    push_box(tex, &box);
    tokens_free(&box);
}

static bool makes_box(const struct tex *tex, struct token token)
{
    if (token.cat != CAT_NAME)
        return false;
    struct slice name = tex->symbols[token.value].name;
    return slice_is(name, "hbox") || slice_is(name, "vbox") ||
           slice_is(name, "vtop");
}

/* \setbox0=\hbox to 3pt{..}.  What stands between \bgroup and \egroup is no
 * argument: it is text where it stands. */
static void run_setbox(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens box = {0};
    (void)command;
    (void)call;
    read_register(tex, &box);
    tex_skip_before(tex, "=");
    struct token token = tex_next_solid(tex);
    if (makes_box(tex, token)) {
        tex_skip_before(tex, "b");
        token = tex_next_solid(tex);
        if (token.cat == CAT_BEGIN) {
            struct macro macro = {0};
            tex_unread(tex, token);
            tex_read_argument(tex, &macro.body);
            define_macro(tex, box_symbol(tex, &box), macro);
            tokens_free(&macro.body);
            tokens_free(&box);
            return;
        }
    }
    tokens_free(&box);
    tex_unread(tex, token);
}

static const struct command commands[] = {
    {"setbox", run_setbox, NULL, 0, NULL}, {"sbox", run_save, NULL, 0, NULL},
    {"savebox", run_save, "oo", 0, NULL},  {"usebox", run_use, NULL, 0, NULL},
    {"box", run_copy, NULL, 0, NULL},      {"copy", run_copy, NULL, 0, NULL},
    {"unhbox", run_copy, NULL, 0, NULL},   {"unvbox", run_copy, NULL, 0, NULL},
    {"unhcopy", run_copy, NULL, 0, NULL},
};

void boxes_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
