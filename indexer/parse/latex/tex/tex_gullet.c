/* The stack of inputs, and expansion (The TeXbook, chapter 20). */
#include <stdlib.h>

#include "indexer/parse/latex/tex/tex.h"

/* ---- The stack ---- */

static struct input *push_input(struct tex *tex)
{
    MEM_RESERVE(tex->inputs, &tex->input_capacity, tex->input_count + 1);
    struct input *input = &tex->inputs[tex->input_count++];
    *input = (struct input){0};
    return input;
}

void tex_push_file(struct tex *tex, uint16_t file)
{
    struct input *input = push_input(tex);
    input->is_file = true;
    input->file = file;
    input->end = tex->files[file].transcoded.text.size;
    input->condition_count = (uint32_t)tex->condition_count;
    tex->file_depth++;
    tex->top_file = tex->input_count;
}

/* A long list gives back what was read of it: of each of many lists within
 * another the last brace may be left for long. */
static void drop_head(struct input *input)
{
    enum { LONG = 1000 };
    struct tokens rest = {0};
    if (input->at < LONG || input->list.count - input->at > input->at / 2)
        return;
    tokens_add_all(&rest, input->list.items + input->at,
                   input->list.count - input->at);
    tokens_free(&input->list);
    input->list = rest;
    input->at = 0;
}

/* Lists that are read to their end go, so that a macro whose last word is a
 * macro takes no more room than one. */
static void drop_read(struct tex *tex)
{
    while (tex->input_count) {
        struct input *top = &tex->inputs[tex->input_count - 1];
        if (top->is_file)
            return;
        if (top->at < top->list.count) {
            drop_head(top);
            return;
        }
        if (top->then)
            return;
        tokens_free(&top->list);
        tex->input_count--;
    }
}

struct input *tex_push(struct tex *tex, struct tokens list)
{
    drop_read(tex);
    if (!list.count) {
        tokens_free(&list);
        return NULL;
    }
    if (tex->input_count >= MAX_INPUTS) {
        tex_report(tex, list.items[0], "macros within macros without end");
        tokens_free(&list);
        tex_abandon(tex);
        return NULL;
    }
    if (tex->top_file) {
        struct input *file = &tex->inputs[tex->top_file - 1];
        file->floor = file->at;
    }
    struct input *input = push_input(tex);
    input->list = list;
    return input;
}

void tex_push_frozen(struct tex *tex, struct tokens list)
{
    for (size_t i = 0; tex->edefs && i < list.count; i++)
        list.items[i].flags |= TOKEN_FROZEN;
    tex_push(tex, list);
}

void tex_unread(struct tex *tex, struct token token)
{
    if (token.cat == CAT_NONE)
        return;
    struct input *top =
        tex->input_count ? &tex->inputs[tex->input_count - 1] : NULL;
    if (top && !top->is_file && top->at) {
        top->list.items[--top->at] = token;
        return;
    }
    struct tokens one = {0};
    tokens_add(&one, token);
    push_input(tex)->list = one;
}

void tex_end_file(struct tex *tex)
{
    struct input *top = &tex->inputs[tex->input_count - 1];
    void (*ended)(struct tex *) = top->ended;
    uint32_t then = top->then;
    if (tex->condition_count > top->condition_count)
        tex->condition_count = top->condition_count;
    tex->file_depth--;
    tex->top_file = --tex->input_count;
    while (tex->top_file && !tex->inputs[tex->top_file - 1].is_file)
        tex->top_file--;
    if (ended)
        ended(tex);
    if (then)
        streams_resume(tex, then);
}

static void end_list(struct tex *tex, struct input *top)
{
    uint32_t then = top->then;
    tokens_free(&top->list);
    tex->input_count--;
    if (then)
        streams_resume(tex, then);
}

static struct token nothing(void)
{
    return (struct token){.cat = CAT_NONE, .file = UINT16_MAX};
}

/* Counts one step; false: there is none left. */
static bool step(struct tex *tex)
{
    if (++tex->steps <= tex->max_steps)
        return true;
    if (!tex->spent)
        tex_report(tex, nothing(),
                   "the document takes more steps than it is given; the rest "
                   "is not read");
    tex->spent = true;
    return false;
}

struct token tex_next(struct tex *tex)
{
    struct token token;
    if (!step(tex))
        return nothing();
    while (tex->input_count) {
        struct input *top = &tex->inputs[tex->input_count - 1];
        if (!top->is_file) {
            if (top->at < top->list.count)
                return top->list.items[top->at++];
            end_list(tex, top);
        } else if (mouth_next(tex, top, &token)) {
            tex->burst = 0;
            return token;
        } else if (tex->absorbing && !top->then) {
            return nothing();
        } else {
            tex_end_file(tex);
        }
    }
    return nothing();
}

/* ---- Giving up ---- */

static struct input *drop_lists(struct tex *tex)
{
    while (tex->input_count && !tex->inputs[tex->input_count - 1].is_file)
        tokens_free(&tex->inputs[--tex->input_count].list);
    return tex->input_count ? &tex->inputs[tex->input_count - 1] : NULL;
}

void tex_abandon(struct tex *tex)
{
    struct input *file = drop_lists(tex);
    tex->burst = 0;
    tex->abandon_count++;
    if (tex->abandoned)
        tex->abandoned(tex);
    if (!file)
        return;
    struct slice text = {tex->files[file->file].transcoded.text.data,
                         file->end};
    const char *at = text.data + file->at, *end = text.data + text.size;
    /* To the next empty line. */
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        const char *next = at + 1;
        while (next < end && (*next == ' ' || *next == '\t' || *next == '\r'))
            next++;
        if (next < end && *next == '\n')
            break;
        at = next;
    }
    file->at = at && at < end ? (size_t)(at - text.data) : text.size;
    file->state = MOUTH_MIDDLE;
}

/* ---- Expansion ---- */

bool tex_is_expandable(const struct tex *tex, struct token token)
{
    if (token.cat != CAT_NAME || token.flags & TOKEN_FROZEN)
        return false;
    int kind = tex_meaning(tex, token)->kind;
    return kind == MEANING_MACRO || kind == MEANING_EXPANDS;
}

bool tex_begin_expansion(struct tex *tex, struct token token)
{
    if (tex->expansions < MAX_EXPANSIONS) {
        tex->expansions++;
        return true;
    }
    tex_report(tex, token, "expansions within expansions without end");
    tex_abandon(tex);
    return false;
}

void tex_end_expansion(struct tex *tex)
{
    tex->expansions--;
}

void tex_expand(struct tex *tex, struct token token)
{
    const struct meaning *meaning = tex_meaning(tex, token);
    if (++tex->burst > MAX_BURST) {
        tex_report(tex, token, "\\%.*s goes on without end",
                   (int)tex->symbols[token.value].name.size,
                   tex->symbols[token.value].name.data);
        tex_abandon(tex);
        return;
    }
    if (!tex_begin_expansion(tex, token))
        return;
    if (meaning->kind == MEANING_MACRO)
        macro_call(tex, token, meaning->macro);
    else
        meaning->command->run(tex, meaning->command, token);
    tex_end_expansion(tex);
}

struct token tex_next_expanded(struct tex *tex)
{
    for (;;) {
        struct token token = tex_next(tex);
        if (!tex_is_expandable(tex, token)) {
            token.flags &= (uint8_t)~TOKEN_FROZEN;
            return token;
        }
        tex_expand(tex, token);
    }
}

struct token tex_next_solid(struct tex *tex)
{
    struct token token;
    do
        token = tex_next(tex);
    while (token.cat == CAT_SPACE);
    return token;
}
