/* Boxes that are saved and set elsewhere: what is only measured is none of the text.
 *
 * The content of \sbox, \savebox and \hbox is kept as a macro called "box NAME", which
 * \usebox and the like stand for; that of \vbox is read where it is saved, and what
 * it adds to the outline is taken out again and kept. */
#include <stdlib.h>

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

/* ---- Boxes that are set where they are saved ---- */

enum { MAX_BOXES = 1000 };

static struct box *find_box(struct document *d, uint32_t name)
{
    for (size_t i = 0; i < d->box_count; i++)
        if (d->boxes[i].name == name)
            return &d->boxes[i];
    return NULL;
}

/* Takes the content over; NULL: the box is empty. */
static void put_in(struct document *d, uint32_t name,
                   struct outline_piece *content)
{
    struct box *box = find_box(d, name);
    if (!box && !content)
        return;
    if (!box) {
        if (d->box_count == MAX_BOXES) {
            outline_drop(content);
            return;
        }
        MEM_RESERVE(d->boxes, &d->box_capacity, d->box_count + 1);
        box = &d->boxes[d->box_count++];
        *box = (struct box){.name = name};
    }
    outline_drop(box->content);
    box->content = content;
}

static void forget_tokens(struct document *d, uint32_t name)
{
    tex_define(&d->tex, name, (struct meaning){.kind = MEANING_NONE}, true);
}

/* Boxes that are filled one within another: each that ends without its end
 * looks through what those around it hold. */
enum { MAX_DIVERSIONS = 32 };

/* Elsewhere what is saved is kept as tokens. */
static bool may_divert(const struct document *d)
{
    return d->diversions < MAX_DIVERSIONS && document_is_body(d) &&
           !d->in.silent &&
           (d->in.kind == BLOCK_PARAGRAPH || d->in.kind == BLOCK_QUOTE ||
            d->in.kind == BLOCK_NOTE || d->in.kind == BLOCK_LIST);
}

/* The box that is being filled, and the paragraph that waits around it. */
struct diversion {
    uint32_t name;
    struct outline_mark mark;
    struct writer writer;
    uint16_t file;
    struct aside *asides;
    size_t aside_count, aside_capacity;
};

/* The group that begins here is the box's content. */
static void divert(struct document *d, uint32_t name, struct token call)
{
    struct group *group = document_open(d, GROUP_BRACE, call);
    struct diversion *diversion = mem_alloc(sizeof *diversion);
    *diversion = (struct diversion){.name = name,
                                    .writer = d->flows[0].writer,
                                    .file = d->flows[0].file,
                                    .asides = d->asides,
                                    .aside_count = d->aside_count,
                                    .aside_capacity = d->aside_capacity};
    outline_mark(&d->outline, &diversion->mark);
    group->diversion = diversion;
    d->diversions++;
    d->flows[0].writer = (struct writer){0};
    d->asides = NULL;
    d->aside_count = d->aside_capacity = 0;
    d->in = (struct context){.kind = BLOCK_PARAGRAPH};
    d->last = 0;
}

static void resume_paragraph(struct document *d, struct diversion *diversion)
{
    buf_free(&d->flows[0].writer.text);
    free(d->asides);
    d->flows[0].writer = diversion->writer;
    d->flows[0].file = diversion->file;
    d->asides = diversion->asides;
    d->aside_count = diversion->aside_count;
    d->aside_capacity = diversion->aside_capacity;
    d->index.url = (struct slice){"", 0};
    d->last = 0;
}

void boxes_end(struct document *d, bool by_itself)
{
    struct group *group = &d->groups[d->group_count - 1];
    struct diversion *diversion = group->diversion;
    struct context in = d->in;
    group->diversion = NULL;
    d->diversions--;
    document_flush(d);
    struct outline_piece *content = outline_take(&d->outline, &diversion->mark);
    resume_paragraph(d, diversion);
    d->tex.steps += outline_piece_cost(content);
    if (by_itself) {
        forget_tokens(d, diversion->name);
        put_in(d, diversion->name, content);
    } else { /* its end did not come: it stands where it is */
        d->in = group->outer;
        document_flush(d);
        outline_put(&d->outline, content);
        outline_drop(content);
        d->in = in;
    }
    free(diversion);
}

void boxes_free(struct document *d)
{
    for (size_t i = 0; i < d->box_count; i++)
        outline_drop(d->boxes[i].content);
    free(d->boxes);
}

static void set_content(struct document *d, const struct outline_piece *content,
                        struct token call)
{
    d->tex.steps += 8 * outline_piece_cost(content);
    if (d->in.silent || d->tex.steps > d->tex.max_steps)
        return;
    bool inside = outline_is_paragraph(content) && d->flows[0].writer.open;
    if (document_is_body(d) && !inside) {
        document_flush(d);
        outline_put(&d->outline, content);
        d->index.url = (struct slice){"", 0};
        return;
    }
    struct buf text = {0};
    outline_put_text(content, &text);
    if (!inside)
        document_space(d);
    document_put(d, call, buf_slice(&text));
    if (!inside)
        document_space(d);
    buf_free(&text);
}

/* `empties`: \box and \unvbox leave nothing in the register. */
static void use_box(struct document *d, uint32_t name, bool empties,
                    struct token call)
{
    struct tex *tex = &d->tex;
    struct meaning meaning = tex->symbols[name].meaning;
    struct box *box = find_box(d, name);
    struct tokens list = {0};
    if (meaning.kind == MEANING_MACRO) {
        tokens_add_all(&list, meaning.macro->body.items,
                       meaning.macro->body.count);
        tex_push(tex, list);
    } else if (box && box->content) {
        set_content(d, box->content, call);
        if (empties)
            put_in(d, name, NULL);
    }
}

static void run_use(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct tokens box = {0};
    (void)command;
    tex_read_argument(tex, &box);
    use_box(document_of(tex), box_symbol(tex, &box), false, call);
    tokens_free(&box);
}

/* The 0 of \box0, or the name of \copy\name, is added to `ret`. */
static uint32_t read_register_of(struct tex *tex, struct tokens *ret)
{
    struct tokens box = {0};
    struct token token = tex_next_solid(tex);
    bool digits = token.cat != CAT_NAME;
    while (digits && token.cat == CAT_OTHER && token.value >= '0' &&
           token.value <= '9') {
        tokens_add(&box, token);
        token = tex_next(tex);
    }
    if (!digits)
        tokens_add(&box, token);
    else if (token.cat != CAT_SPACE) /* which ends a number */
        tex_unread(tex, token);
    uint32_t symbol = box_symbol(tex, &box);
    tokens_add_all(ret, box.items, box.count);
    tokens_free(&box);
    return symbol;
}

static uint32_t read_register(struct tex *tex)
{
    struct tokens box = {0};
    uint32_t symbol = read_register_of(tex, &box);
    tokens_free(&box);
    return symbol;
}

enum { BOX_KEPT, BOX_EMPTIED };

static void run_copy(struct tex *tex, const struct command *command,
                     struct token call)
{
    use_box(document_of(tex), read_register(tex), command->value == BOX_EMPTIED,
            call);
}

/* ---- \setbox ---- */

static bool is_one_of(const struct tex *tex, struct token token,
                      const char *const *names)
{
    if (token.cat != CAT_NAME)
        return false;
    for (; *names; names++)
        if (slice_is(tex->symbols[token.value].name, *names))
            return true;
    return false;
}

static const char *const vertical[] = {"vbox", "vtop", NULL};
static const char *const horizontal[] = {"hbox", NULL};
static const char *const registers[] = {"copy", "box", "vsplit", NULL};
static const char *const copying[] = {"copy", NULL};
static const char *const opening[] = {"bgroup", NULL};
static const char *const setting[] = {"box",    "copy",    "unhbox", "unhcopy",
                                      "unvbox", "unvcopy", NULL};

/* What the box that follows has, if that is tokens.  What is copied counts as steps. */
static void put_box_of(struct tex *tex, struct token call, struct tokens *ret)
{
    struct tokens box = {0};
    struct token space = {.cat = CAT_SPACE, .value = ' '};
    struct meaning meaning = tex->symbols[read_register_of(tex, &box)].meaning;
    if (meaning.kind == MEANING_MACRO) {
        tex->steps += meaning.macro->body.count / 4;
        tokens_add_all(ret, meaning.macro->body.items,
                       meaning.macro->body.count);
    } else {
        tokens_add(ret, call);
        tokens_add_all(ret, box.items, box.count);
        if (box.count && box.items[0].cat != CAT_NAME)
            tokens_add(ret, space); /* ends the number */
    }
    tokens_free(&box);
}

/* \setbox0\copy1: what is in one is in the other. */
static void copy_register(struct document *d, uint32_t name, bool empties)
{
    struct tex *tex = &d->tex;
    uint32_t from = read_register(tex);
    struct box *box = find_box(d, from);
    struct outline_piece *content =
        box && box->content ? outline_hold(box->content) : NULL;
    if (empties)
        put_in(d, from, NULL);
    if (tex->symbols[from].meaning.kind == MEANING_MACRO)
        tex_define(tex, name, tex->symbols[from].meaning, true);
    else
        forget_tokens(d, name);
    put_in(d, name, content);
}

/* The {..} that follows is kept as tokens.  A box that it sets is there as what it has
 * now: \setbox0\hbox{\unhcopy0 x} adds to it.  What is more than a macro may have is none. */
static void keep_tokens(struct document *d, uint32_t name)
{
    struct tex *tex = &d->tex;
    struct macro macro = {0};
    struct tokens list = {0};
    struct token token, end = {.cat = CAT_STOP, .file = UINT16_MAX};
    unsigned abandoned = tex->abandon_count;
    tex_read_argument(tex, &list);
    tokens_add(&list, end);
    tex_push(tex, list);
    while (tex->abandon_count == abandoned && macro.body.count <= MAX_STORED &&
           (token = tex_next(tex)).cat != CAT_STOP && token.cat != CAT_NONE)
        if (is_one_of(tex, token, setting))
            put_box_of(tex, token, &macro.body);
        else
            tokens_add(&macro.body, token);
    d->tex.global = true;
    define_macro(&d->tex, name, macro);
    put_in(d, name, NULL);
    tokens_free(&macro.body);
}

/* \setbox0=\hbox to 3pt{..}.  What stands between \bgroup and \egroup is no
 * argument: if it is not a \vbox, it is text where it stands. */
static void run_setbox(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    uint32_t name = read_register(tex);
    (void)command;
    tex->global = false; /* it would be of what is in the box */
    tex_skip_before(tex, "=");
    struct token token = tex_next_solid(tex);
    if (is_one_of(tex, token, registers)) {
        copy_register(d, name, !is_one_of(tex, token, copying));
        return;
    }
    bool down = is_one_of(tex, token, vertical);
    if (!down && !is_one_of(tex, token, horizontal)) {
        tex_unread(tex, token);
        return;
    }
    tex_skip_before(tex, "b");
    token = tex_next_solid(tex);
    bool brace = token.cat == CAT_BEGIN;
    if (down && may_divert(d) && (brace || is_one_of(tex, token, opening))) {
        divert(d, name, call);
        return;
    }
    tex_unread(tex, token);
    if (brace)
        keep_tokens(d, name);
}

static const struct command commands[] = {
    {"setbox", run_setbox, NULL, 0, NULL},
    {"sbox", run_save, NULL, 0, NULL},
    {"savebox", run_save, "oo", 0, NULL},
    {"usebox", run_use, NULL, 0, NULL},
    {"box", run_copy, NULL, BOX_EMPTIED, NULL},
    {"copy", run_copy, NULL, BOX_KEPT, NULL},
    {"unhbox", run_copy, NULL, BOX_EMPTIED, NULL},
    {"unvbox", run_copy, NULL, BOX_EMPTIED, NULL},
    {"unhcopy", run_copy, NULL, BOX_KEPT, NULL},
    {"unvcopy", run_copy, NULL, BOX_KEPT, NULL},
};

void boxes_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
