/* LaTeX's counters. */
#include <stdlib.h>

#include "indexer/parse/latex/tex/tex.h"

uint32_t counter_find(struct tex *tex, struct slice name)
{
    struct buf whole = {0};
    buf_put_text(&whole, "c@");
    buf_put_slice(&whole, name);
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&whole));
    buf_free(&whole);
    if (symbol == UINT32_MAX ||
        tex->symbols[symbol].meaning.kind != MEANING_COUNT)
        return UINT32_MAX;
    return tex->symbols[symbol].meaning.index;
}

static uint32_t read_counter(struct tex *tex)
{
    struct buf name = {0};
    tex_read_text(tex, &name);
    uint32_t counter = counter_find(tex, buf_slice(&name));
    buf_free(&name);
    return counter;
}

static void run_value(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)command;
    (void)call;
    read_counter(tex);
}

bool counter_value(struct tex *tex, const struct command *command, int64_t *ret)
{
    if (command->run != run_value)
        return false;
    uint32_t counter = read_counter(tex);
    *ret = counter == UINT32_MAX ? 0 : tex->counts[counter];
    return true;
}

static void run_style(struct tex *tex, const struct command *command,
                      struct token call)
{
    uint32_t counter = read_counter(tex);
    if (counter != UINT32_MAX)
        number_push(tex, tex->counts[counter], command->text[0], call);
}

/* \@arabic\c@section: of a number, not of a counter's name. */
static void run_number_style(struct tex *tex, const struct command *command,
                             struct token call)
{
    number_push(tex, number_read_argument(tex, false), command->text[0], call);
}

void counter_define_the(struct tex *tex, struct slice name, struct slice within)
{
    struct buf the = {0}, body = {0};
    buf_printf(&the, "the%.*s", (int)name.size, name.data);
    if (within.size && !slice_equal(within, name)) /* which would not end */
        buf_printf(&body, "\\the%.*s.", (int)within.size, within.data);
    buf_printf(&body, "\\arabic{%.*s}", (int)name.size, name.data);
    tex_define_text(tex, the.data, body.data);
    buf_free(&the);
    buf_free(&body);
}

void counter_reset_within(struct tex *tex, struct slice name,
                          struct slice within)
{
    uint32_t counter = counter_find(tex, name);
    uint32_t above = counter_find(tex, within);
    if (counter == UINT32_MAX || above == UINT32_MAX || counter == above ||
        tex->reset_count > 10000)
        return;
    MEM_RESERVE(tex->resets, &tex->reset_capacity, tex->reset_count + 1);
    tex->resets[tex->reset_count++] = (struct reset){counter, above};
}

void counter_new(struct tex *tex, struct slice name, struct slice within)
{
    struct buf whole = {0};
    if (!name.size || counter_find(tex, name) != UINT32_MAX)
        return;
    buf_printf(&whole, "c@%.*s", (int)name.size, name.data);
    register_new(tex, tex_symbol(tex, buf_slice(&whole)), MEANING_COUNT);
    buf_free(&whole);
    counter_define_the(tex, name, (struct slice){"", 0});
    counter_reset_within(tex, name, within);
}

void counter_step(struct tex *tex, struct slice name)
{
    uint32_t counter = counter_find(tex, name);
    if (counter == UINT32_MAX)
        return;
    tex->counts[counter] = number_bounded(tex->counts[counter] + 1);
    /* What is within is 0, and so is what is within that. */
    uint32_t reset[64];
    size_t count = 0;
    reset[count++] = counter;
    for (size_t at = 0; at < count; at++) {
        tex->steps += tex->reset_count / 4;
        for (size_t i = 0; i < tex->reset_count; i++) {
            if (tex->resets[i].within != reset[at] || count == 64)
                continue;
            bool met = false;
            for (size_t k = 0; k < count; k++)
                met |= reset[k] == tex->resets[i].counter;
            if (met)
                continue;
            tex->counts[tex->resets[i].counter] = 0;
            reset[count++] = tex->resets[i].counter;
        }
    }
}

static void run_newcounter(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct buf name = {0}, within = {0};
    struct tokens list = {0};
    (void)call;
    bool star = tex_read_character(tex, '*'); /* \thename stays as it is */
    tex_read_text(tex, &name);
    if (!command->value) {
        if (tex_read_optional(tex, &list))
            tex_expand_text(tex, &list, &within);
        counter_new(tex, buf_slice(&name), buf_slice(&within));
    } else {
        tex_read_text(tex, &within);
        if (command->value == 2) { /* \counterwithout */
            uint32_t counter = counter_find(tex, buf_slice(&name));
            for (size_t i = 0; i < tex->reset_count; i++)
                if (tex->resets[i].counter == counter)
                    tex->resets[i].within = UINT32_MAX - 1;
        } else {
            counter_reset_within(tex, buf_slice(&name), buf_slice(&within));
        }
        if (command->text && !star &&
            counter_find(tex, buf_slice(&name)) != UINT32_MAX)
            counter_define_the(tex, buf_slice(&name),
                               command->value == 1 ? buf_slice(&within)
                                                   : (struct slice){"", 0});
    }
    tokens_free(&list);
    buf_free(&name);
    buf_free(&within);
}

static void run_setcounter(struct tex *tex, const struct command *command,
                           struct token call)
{
    uint32_t counter = read_counter(tex);
    (void)call;
    int64_t value = number_read_argument(tex, false);
    if (counter == UINT32_MAX)
        return;
    if (command->value)
        value += tex->counts[counter];
    tex->counts[counter] = number_bounded(value);
}

static void run_stepcounter(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf name = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &name);
    counter_step(tex, buf_slice(&name));
    buf_free(&name);
}

/* \zhnumber{12} */
static void run_number_text(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf text = {0};
    tex_read_text(tex, &text);
    number_push(tex, number_of_text(tex, buf_slice(&text)), command->text[0],
                call);
    buf_free(&text);
}

static const struct command commands[] = {
    {"value", run_value, NULL, 0, NULL},
    {"newcounter", run_newcounter, NULL, 0, NULL},
    {"counterwithin", run_newcounter, NULL, 1, "the"},
    {"@addtoreset", run_newcounter, NULL, 1, NULL},
    {"numberwithin", run_newcounter, NULL, 1, "the"},
    {"counterwithout", run_newcounter, NULL, 2, "the"},
    {"setcounter", run_setcounter, NULL, 0, NULL},
    {"addtocounter", run_setcounter, NULL, 1, NULL},
    {"stepcounter", run_stepcounter, NULL, 0, NULL},
};

static const struct command expanding[] = {
    {"arabic", run_style, NULL, 0, "n"},
    {"roman", run_style, NULL, 0, "r"},
    {"Roman", run_style, NULL, 0, "R"},
    {"alph", run_style, NULL, 0, "a"},
    {"Alph", run_style, NULL, 0, "A"},
    {"chinese", run_style, NULL, 0, "z"},
    {"zhnum", run_style, NULL, 0, "z"},
    {"zhnumber", run_number_text, NULL, 0, "z"},
    {"@arabic", run_number_style, NULL, 0, "n"},
    {"@roman", run_number_style, NULL, 0, "r"},
    {"@Roman", run_number_style, NULL, 0, "R"},
    {"@alph", run_number_style, NULL, 0, "a"},
    {"@Alph", run_number_style, NULL, 0, "A"},
};

void counters_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, true);
}
