/* Slides of beamer: a frame's title is a heading, as beamer's articles have it, and what
 * tells on which slides a thing is shown is no text. */
#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"

/* <2->, <+->, <beamer>, <only@1|handout:0>: no "<" of a text that stands there. */
static bool is_overlay(const struct tex *tex, const struct tokens *list)
{
    bool number = false;
    for (size_t i = 0; i < list->count; i++) {
        struct token token = list->items[i];
        if (token.cat == CAT_LETTER)
            continue;
        if (token.cat != CAT_OTHER || token.value > 127 ||
            !strchr("0123456789+-.,|:@", (int)token.value))
            return false;
        number = number || !strchr(".,", (int)token.value);
    }
    (void)tex;
    return number;
}

void beamer_skip_overlay(struct tex *tex)
{
    struct tokens list = {0}, back = {0};
    struct token open = tex_next(tex);
    tex_unread(tex, open);
    if (!token_is(open, CAT_OTHER, '<') || !tex_read_pair(tex, '<', '>', &list))
        return;
    if (!is_overlay(tex, &list)) {
        struct token close = open;
        close.value = '>';
        tokens_add(&back, open);
        tokens_add_all(&back, list.items, list.count);
        tokens_add(&back, close);
        tex_push(tex, back);
    }
    tokens_free(&list);
}

/* \begin{frame}<..>[..]{title}{subtitle} */
static void begin_frame(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    struct tex *tex = &d->tex;
    struct tokens run = {0}, list = {0};
    (void)environment;
    blocks_paragraph(d);
    for (int i = 0; i < 2; i++) {
        tex_skip_spaces(tex);
        struct token next = tex_next(tex);
        tex_unread(tex, next);
        if (next.cat != CAT_BEGIN)
            break;
        tokens_free(&list);
        tex_read_argument(tex, &list);
        tex_add_name(tex, i ? "par" : "frametitle", call, &run);
        tokens_add_group(&run, &list, call);
    }
    if (run.count)
        tex_add_name(tex, "par", call, &run);
    tex_push(tex, run);
    tokens_free(&list);
}

static void end_frame(struct document *d, struct group *group)
{
    (void)group;
    blocks_paragraph(d);
}

static void begin_shown(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    (void)d;
    (void)environment;
    (void)call;
}

/* \only<2>{..}, \onslide+<3->, \mode*, \pause[2] */
static void run_shown(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)call;
    if (command->value && !tex_read_character(tex, '*'))
        tex_read_character(tex, '+');
    tex_skip_before(tex, command->before);
}

static const struct command commands[] = {
    {"only", run_shown, "a", 0, NULL},
    {"uncover", run_shown, "a", 0, NULL},
    {"visible", run_shown, "a", 0, NULL},
    {"invisible", run_shown, "a", 0, NULL},
    {"alert", run_shown, "a", 0, NULL},
    {"structure", run_shown, "a", 0, NULL},
    {"alt", run_shown, "a", 0, NULL},
    {"temporal", run_shown, "a", 0, NULL},
    {"onslide", run_shown, "a", 1, NULL},
    {"mode", run_shown, "a", 1, NULL},
    {"pause", run_shown, "o", 0, NULL},
    {"framesubtitle", run_shown, "a", 0, NULL},
    {"againframe", run_shown, "aaom", 0, NULL},
};

#define SHOWN(name, before)                                                    \
    {                                                                          \
        name, begin_shown, NULL, before, 0, NULL, 0                            \
    }

static const struct environment environments[] = {
    {"frame", begin_frame, end_frame, "aoo", 0, NULL, 0},
    SHOWN("onlyenv", "a"),
    SHOWN("uncoverenv", "a"),
    SHOWN("visibleenv", "a"),
    SHOWN("overprint", "o"),
    SHOWN("overlayarea", "mm"),
};

void beamer_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
