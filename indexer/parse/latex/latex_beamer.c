/* Slides of beamer: a frame's title is a heading, as beamer's articles have it, and what
 * tells on which slides a thing is shown is no text. */
#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"

/* Of <2->, <+(1)->, <only@1|handout:0>, <1-| alert@2>. */
static bool is_of_overlay(struct token token, struct token before)
{
    if (token.cat == CAT_SPACE)
        return token_is(before, CAT_OTHER, '|') ||
               token_is(before, CAT_OTHER, ',');
    return token.cat == CAT_LETTER ||
           (token.cat == CAT_OTHER && token.value < 0x80 &&
            strchr("0123456789+-.,|:@()", (int)token.value));
}

/* None is "<" of a text that stands there, as on any list that is of no slide. */
void beamer_skip_overlay(struct document *d)
{
    enum { MAX_OVERLAY = 64 }; /* characters */
    struct tex *tex = &d->tex;
    struct token read[MAX_OVERLAY];
    size_t count = 0;
    bool number = false;
    if (!d->slides)
        return;
    struct token token = tex_next(tex);
    bool opened = token_is(token, CAT_OTHER, '<');
    while (opened && count < MAX_OVERLAY) {
        read[count++] = token;
        token = tex_next(tex);
        if (!is_of_overlay(token, read[count - 1]))
            break;
        number |=
            token.cat == CAT_OTHER && strchr("0123456789+-", (int)token.value);
    }
    if (number && token_is(token, CAT_OTHER, '>'))
        return;
    tex_unread(tex, token);
    while (count)
        tex_unread(tex, read[--count]);
}

/* \begin{frame}<..>[..]{title}{subtitle} */
static void begin_frame(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    struct tex *tex = &d->tex;
    struct tokens run = {0}, list = {0};
    (void)environment;
    d->slides = true;
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
