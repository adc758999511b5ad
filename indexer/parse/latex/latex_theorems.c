/* Theorems: numbered as declared, or as others are, and boxes of the same make. */
#include "indexer/parse/latex/latex_internal.h"

enum {
    MAX_THEOREMS = 1000,
    COPIED = 1 /* of \newtheorem: \let may give it another name */
};

static struct theorem *find_theorem(const struct document *d, uint32_t name)
{
    for (size_t i = d->theorem_count; i-- > 0;)
        if (d->theorems[i].name == name)
            return &d->theorems[i];
    return NULL;
}

/* The kind of the innermost group, or, where that is a copy that \let made, of the
 * environment around which is made of the copy. */
static const struct theorem *theorem_begun(const struct document *d)
{
    size_t last = d->group_count - 1;
    const struct theorem *found = find_theorem(d, d->groups[last].name);
    if (!found && last && d->groups[last - 1].kind == GROUP_ENVIRONMENT)
        found = find_theorem(d, d->groups[last - 1].name);
    return found;
}

static bool has_text(const struct tokens *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].cat != CAT_BEGIN && list->items[i].cat != CAT_END &&
            list->items[i].cat != CAT_SPACE)
            return true;
    return false;
}

static void begin_theorem(struct document *d,
                          const struct environment *environment,
                          struct token call)
{
    struct tex *tex = &d->tex;
    uint32_t symbol = d->groups[d->group_count - 1].name;
    const struct theorem *theorem = environment->value == COPIED
                                        ? theorem_begun(d)
                                        : find_theorem(d, symbol);
    struct tokens note = {0}, run = {0};
    struct slice title = theorem ? theorem->title : slice_of(environment->text);
    blocks_begin_kind(d, BLOCK_NOTE, tex->symbols[symbol].name);
    tex_add_source(tex, slice_of("{"), call, &run); /* fonts end with it */
    tex_add_source(tex, title, call, &run);
    tex_add_source(tex, slice_of("}"), call, &run);
    if (theorem && theorem->counter.size) {
        labels_step(d, theorem->counter.data);
        tex_add_source(tex, slice_of(" "), call, &run);
        tex_add_source(tex, d->labels.number, call, &run);
    }
    if (tex_read_optional(tex, &note) && has_text(&note)) {
        tex_add_source(tex, slice_of(" ("), call, &run);
        tokens_add_all(&run, note.items, note.count);
        tex_add_source(tex, slice_of(")"), call, &run);
    }
    tex_add_source(tex, slice_of(". "), call, &run);
    tex_push(tex, run);
    tokens_free(&note);
}

static const struct environment theorem_environment = {
    "-theorem-", begin_theorem, blocks_end_kind, NULL, COPIED, "Theorem", 0};

/* Of two of one name the last is what it is. */
static void keep_theorem(struct document *d, struct slice name,
                         struct slice title, struct slice counter,
                         struct token call)
{
    uint32_t symbol = tex_symbol(&d->tex, name);
    struct theorem *theorem = find_theorem(d, symbol);
    if (!theorem && d->theorem_count == MAX_THEOREMS) {
        tex_report(&d->tex, call, "more than %d kinds of theorem",
                   MAX_THEOREMS);
        return;
    }
    if (!theorem) {
        MEM_RESERVE(d->theorems, &d->theorem_capacity, d->theorem_count + 1);
        theorem = &d->theorems[d->theorem_count++];
    }
    *theorem = (struct theorem){symbol, document_keep(d, title),
                                document_keep(d, counter)};
    d->tex.symbols[symbol].environment = &theorem_environment;
}

/* \newtheorem{name}[counter]{Title}[within] */
static void run_newtheorem(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0}, title = {0}, counter = {0}, within = {0};
    struct tokens list = {0}, above = {0}, called = {0};
    tex_skip_before(tex, command->before);
    bool star = tex_read_character(tex, '*');
    tex_skip_before(tex, command->before); /* \mdtheorem*[options] */
    tex_read_text(tex, &name);
    bool shared = tex_read_optional(tex, &list);
    if (shared)
        tex_expand_text(tex, &list, &counter);
    tex_read_argument(tex, &called);
    tex_write_tokens(tex, &called, &title);
    if (tex_read_optional(tex, &above))
        tex_expand_text(tex, &above, &within);
    if (name.size) {
        if (!shared && !star) {
            buf_put_slice(&counter, buf_slice(&name));
            counter_new(tex, buf_slice(&name), buf_slice(&within));
            if (within.size)
                counter_define_the(tex, buf_slice(&name), buf_slice(&within));
        }
        keep_theorem(d, buf_slice(&name), buf_slice(&title),
                     buf_slice(&counter), call);
    }
    tokens_free(&list);
    tokens_free(&above);
    tokens_free(&called);
    buf_free(&name);
    buf_free(&title);
    buf_free(&counter);
    buf_free(&within);
}

static const struct environment box_environment = {
    "-box-", blocks_begin_note, blocks_end_kind, "o", 0, "note", 0};

/* \newmdenv[..]{name} */
static void run_newbox(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf name = {0};
    (void)call;
    tex_skip_before(tex, "o");
    tex_read_text(tex, &name);
    tex_skip_before(tex, command->before);
    if (name.size)
        tex_symbol_at(tex, name.data)->environment = &box_environment;
    buf_free(&name);
}

static const struct command commands[] = {
    {"newtheorem", run_newtheorem, NULL, 0, NULL},
    {"newmdtheoremenv", run_newtheorem, "o", 0, NULL},
    {"mdtheorem", run_newtheorem, "o", 0, NULL},
    {"declaretheorem", run_newbox, "o", 0, NULL},
    {"newmdenv", run_newbox, NULL, 0, NULL},
};

static const struct environment environments[] = {
    {"proof", begin_theorem, blocks_end_kind, NULL, 0, "Proof", 0},
};

void theorems_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
