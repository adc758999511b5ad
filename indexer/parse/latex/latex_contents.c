/* \addcontentsline{toc}{section}{Title}: a heading that the document sets by hand, when
 * none of its sectioning commands does.
 *
 * The line waits for what comes next.  A heading there or just before is what it is of; a
 * paragraph that reads as the line does, before or behind it, is the heading; of
 * another one behind it the line's title is. */
#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"

static bool is_entry_open(const struct document *d)
{
    bool open = false;
    for (size_t i = 0; i < d->group_count; i++)
        open |= d->groups[i].entry;
    return open;
}

/* Nothing stands between the last heading and here. */
static bool follows_heading(const struct document *d)
{
    return d->contents.has_heading && !d->flows[0].writer.open &&
           d->contents.heading_blocks == d->outline.block_count;
}

/* \addcontentsline{toc}{level}{..} */
static void run_line(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    struct buf list = {0}, name = {0};
    (void)command;
    tex_read_text(tex, &list);
    tex_read_text(tex, &name);
    int level = sections_level(buf_slice(&name));
    bool heads = slice_is(buf_slice(&list), "toc") && level >= -1 &&
                 document_is_body(d) && !d->in.silent && d->begun &&
                 !follows_heading(d) && !is_entry_open(d);
    buf_free(&list);
    buf_free(&name);
    struct flow *flow =
        heads ? document_open_flow(d, FLOW_CONTENTS, call) : NULL;
    if (!flow) {
        tex_skip_before(tex, "m");
        return;
    }
    flow->level = level;
    flow->file = call.file;
}

/* But for marks and signs around: "= Exercises =". */
static bool equal(struct slice a, struct slice b)
{
    struct buf first = {0}, then = {0};
    text_fold_compare(&first, a);
    text_fold_compare(&then, b);
    bool same = first.size && slice_equal(buf_slice(&first), buf_slice(&then));
    buf_free(&first);
    buf_free(&then);
    return same;
}

static void put_heading(struct document *d, struct slice title,
                        struct span span, uint32_t file)
{
    d->outline.file = file;
    outline_heading(&d->outline, d->contents.level + 2, false, title,
                    (struct slice){"", 0}, span, d->outline.ref_count);
    struct outline_node *node = &d->outline.nodes[d->outline.count - 1];
    if (node->level > 6)
        node->level = 6;
    outline_settle(&d->outline);
    d->labels.section = d->labels.heading = document_keep(d, title);
    contents_heading(d);
    d->contents.has_heading = false; /* a further line is another heading's */
    index_settle(d);
}

/* The paragraph before the line, if it is what the line says. */
static bool take_last_block(struct document *d)
{
    struct outline *o = &d->outline;
    struct outline_block *last =
        o->block_count ? &o->blocks[o->block_count - 1] : NULL;
    uint32_t node =
        o->path_count ? o->path[o->path_count - 1].node : (uint32_t)TREE_NONE;
    if (!last || d->flows[0].writer.open || last->node != node ||
        (last->kind != BLOCK_PARAGRAPH && last->kind != BLOCK_NOTE) ||
        !equal(last->text, d->contents.title))
        return false;
    struct outline_block block = *last;
    o->block_count--;
    put_heading(d, block.text, block.span, block.file);
    return true;
}

void contents_end_line(struct document *d, struct flow *flow)
{
    struct slice title;
    struct span span;
    if (!writer_take(&flow->writer, &title, &span) || d->in.silent)
        return;
    d->contents.title = document_keep(d, title);
    d->contents.span = (struct span){flow->opened.from, flow->opened.to};
    d->contents.file = flow->opened.file;
    d->contents.level = flow->level;
    d->contents.within = d->flows[0].writer.open;
    d->contents.waits = !equal(title, d->labels.section) && !take_last_block(d);
}

void contents_heading(struct document *d)
{
    d->contents.waits = false;
    d->contents.has_heading = true;
    d->contents.heading_blocks = d->outline.block_count;
}

bool contents_paragraph(struct document *d, struct slice text, struct span span,
                        uint32_t file)
{
    if (!d->contents.waits)
        return false;
    bool same = equal(text, d->contents.title);
    d->contents.waits = false;
    if (d->in.silent || is_entry_open(d) || (d->contents.within && !same))
        return false;
    if (same)
        put_heading(d, text, span, file);
    else
        put_heading(d, d->contents.title, d->contents.span, d->contents.file);
    return same;
}

static const struct command commands[] = {
    {"addcontentsline", run_line, NULL, 0, NULL},
};

void contents_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
