#include "indexer/parse/latex/latex.h"

#include <stdlib.h>

#include "indexer/parse/latex/latex_internal.h"
#include "indexer/parse/text/sniff.h"

enum {
    STEPS_A_BYTE = 200,
    MIN_STEPS = 3000000,
    MIN_WORDS = 100, /* of a source; of fewer no share is told */
    FEW_WORDS = 80, /* per cent of them in the tree: fewer are reported, and the
                        document is read again, more cautiously */
    MORE_WORDS = 110 /* per cent that another reading must have */
};

/* Whether the mark stands outside of comments. */
static bool has_mark(struct slice text, const char *mark)
{
    size_t size = strlen(mark);
    for (size_t at = 0; at < text.size;) {
        const char *found = memmem(text.data + at, text.size - at, mark, size);
        if (!found)
            return false;
        at = (size_t)(found - text.data);
        const char *line = memrchr(text.data, '\n', at);
        line = line ? line : text.data;
        if (!memchr(line, '%', (size_t)(found - line)))
            return true;
        at += size;
    }
    return false;
}

/* A document has a preamble; anything else is text from its first line on. */
static bool begins_document(struct slice text)
{
    return has_mark(text, "\\documentclass") ||
           has_mark(text, "\\documentstyle") ||
           has_mark(text, "\\begin{document}");
}

/* What latex2html leaves: all formulas and figures of the manual once more, to be
 * made into images. */
static bool is_of_converter(struct slice text)
{
    static const char mark[] = "\n% !!! IMAGES START HERE !!!\n";
    return memmem(text.data, text.size, mark, sizeof mark - 1) &&
           memmem(text.data, text.size, "\\lthtml", 7);
}

/* A manual in Texinfo, whose first line is for TeX: another language than LaTeX. */
static bool is_texinfo(struct slice text)
{
    static const char mark[] = "\\input texinfo";
    const char *end = memchr(text.data, '\n', text.size);
    size_t line = end ? (size_t)(end - text.data) : text.size;
    return memmem(text.data, line, mark, sizeof mark - 1);
}

static void abandoned(struct tex *tex)
{
    struct document *d = document_of(tex);
    while (d->flow_count > 1)
        document_close(d);
}

static struct document *document_new(const struct latex_reader *reader)
{
    struct document *d = mem_alloc(sizeof *d);
    tex_init(&d->tex);
    d->tex.document = d;
    d->tex.abandoned = abandoned;
    d->reader = reader;
    outline_init(&d->outline);
    d->outline.titled = true;
    d->flow_count = 1;
    d->flows[0] = (struct flow){.kind = FLOW_BODY};
    d->in = (struct context){.kind = BLOCK_PARAGRAPH};
    struct slice none = {"", 0};
    d->labels.number = d->labels.what = d->labels.section = d->title =
        d->labels.heading = none;
    d->only = none;
    text_add(d);
    commands_add(d);
    settings_add(d);
    boxes_add(d);
    loops_add(d);
    sections_add(d);
    labels_add(d);
    index_add(d);
    contents_add(d);
    blocks_add(d);
    groups_add(d);
    theorems_add(d);
    lists_add(d);
    glossary_add(d);
    tabular_add(d);
    grids_add(d);
    bytefield_add(d);
    algorithms_add(d);
    algorithm2e_add(d);
    tcolorbox_add(d);
    sphinx_add(d);
    beamer_add(d);
    subfloats_add(d);
    verbatim_add(d);
    verb_add(d);
    listings_add(d);
    written_add(d);
    escapes_add(d);
    math_add(d);
    entries_add(d);
    inputs_add(d);
    options_add(d);
    bibliography_add(d);
    dtx_add(d);
    expl_add(d);
    return d;
}

static void document_free(struct document *d)
{
    for (size_t i = 0; i < d->flow_count; i++)
        buf_free(&d->flows[i].writer.text);
    boxes_free(d);
    outline_free(&d->outline);
    tokens_free(&d->at_begin);
    tex_free(&d->tex);
    free(d->groups);
    free(d->asides);
    free(d->labels.all);
    free(d->labels.waiting);
    free(d->labels.names);
    free(d->index.entries);
    free(d->theorems);
    free(d->bibliography.works);
    free(d->marks);
    free(d->escaped);
    free(d);
}

/* ---- The tree ---- */

static void move(const struct tex *tex, struct origin *origin)
{
    if (origin->file >= tex->file_count) {
        *origin = (struct origin){0};
        return;
    }
    origin->span = transcode_span(&tex->files[origin->file].transcoded,
                                  origin->span.from, origin->span.to);
}

/* From places in the text to places in the file. */
static void move_all(const struct tex *tex, struct tree *tree)
{
    for (uint32_t n = 0; n < tree->count; n++) {
        struct node *node = &tree->nodes[n];
        for (uint32_t i = 0; i < node->origin_count; i++)
            move(tex, &node->origins[i]);
        for (uint32_t i = 0; i < node->block_count; i++)
            move(tex, &node->blocks[i].origin);
    }
}

static int make_tree(struct document *d, struct tree **ret_tree,
                     struct err *err)
{
    struct tree *tree = tree_new(false);
    if (!d->title.size)
        d->title = d->pdf_title;
    labels_resolve(d);
    index_settle(d);
    d->outline.file = d->title_file;
    outline_emit(&d->outline, d->title, d->title_span, true, tree);
    for (size_t i = 1; i < d->tex.file_count; i++)
        tree_add_file(tree, d->tex.files[i].path);
    struct slice none = {"", 0};
    tree->page.title = tree_copy_text(tree, d->title);
    tree->page.up = tree->page.prev = tree->page.next =
        tree_copy_text(tree, none);
    index_emit(d, tree);
    tree->page.encoding = d->tex.files[0].encoding;
    int rc = tree_seal(tree, err);
    if (rc) {
        tree_free(tree);
        return rc;
    }
    move_all(&d->tex, tree);
    *ret_tree = tree;
    return 0;
}

/* The document as it is read once. */
struct reading {
    struct tree *tree;
    struct buf reports;
    struct words words;
    bool packaged; /* packages were read */
};

static void put_reports(const struct tex *tex, struct buf *ret)
{
    buf_put_slice(ret, buf_slice(&tex->reports));
    if (tex->report_count > MAX_REPORTS)
        buf_printf(ret, "... and %u more\n", tex->report_count - MAX_REPORTS);
}

static int read_once(struct slice bytes, const struct latex_reader *reader,
                     enum caution caution, struct reading *ret, struct err *err)
{
    struct tex_file main = {.path = {"", 0}, .bytes = bytes};
    int rc = sniff_latex(bytes, &main.transcoded, &main.encoding, err);
    if (rc)
        return rc;
    struct document *d = document_new(reader);
    struct tex *tex = &d->tex;
    MEM_RESERVE(tex->files, &tex->file_capacity, 1);
    tex->files[tex->file_count++] = main;
    tex->max_steps = MIN_STEPS + STEPS_A_BYTE * bytes.size;
    d->caution = caution;
    d->is_document = begins_document(main.transcoded.text);
    d->in.silent = d->is_document;
    bool made = is_of_converter(main.transcoded.text) ||
                is_texinfo(main.transcoded.text);
    if (made)
        d->in.silent = true;
    else if (!d->is_document && dtx_is(main.transcoded.text))
        dtx_read(d, 0); /* its driver is another file */
    else
        tex_push_file(tex, 0);
    document_read(d);
    rc = make_tree(d, &ret->tree, err);
    if (!rc && made)
        ret->tree->page.role = PAGE_MADE;
    if (!rc && !made)
        ret->words = words_count(d, ret->tree);
    ret->packaged = d->packaged;
    put_reports(tex, &ret->reports);
    document_free(d);
    return rc;
}

/* The share of the source's words that is in the tree, per cent. */
static size_t share_of(struct words words)
{
    return words.source < MIN_WORDS || words.read >= words.source
               ? 100
               : words.read * 100 / words.source;
}

static void report_share(struct words words, struct buf *ret)
{
    if (share_of(words) < FEW_WORDS)
        buf_printf(ret,
                   "%zu %% of the words of its source are in its tree (%zu of "
                   "%zu); what is missing was not understood\n",
                   share_of(words), words.read, words.source);
}

static void drop_reading(struct reading *reading)
{
    if (reading->tree)
        tree_free(reading->tree);
    buf_free(&reading->reports);
    *reading = (struct reading){0};
}

static const char *const how_read[CAUTIONS] = {
    [READ_DEFINITIONS] = "of them only the definitions are read",
    [SKIP_PACKAGES] = "they are not read"};

/* A package that cannot be followed may have taken the text with it.  Takes the
 * reading that is more cautious if it has clearly more. */
static void read_again(struct slice bytes, const struct latex_reader *reader,
                       enum caution caution, struct reading *best)
{
    struct reading again = {0};
    if (read_once(bytes, reader, caution, &again, NULL) ||
        again.words.read * 100 <= best->words.read * MORE_WORDS) {
        drop_reading(&again);
        return;
    }
    buf_printf(&again.reports,
               "its packages cannot be followed: read as they are, they leave "
               "%zu of its words, now %zu; %s\n",
               best->words.read, again.words.read, how_read[caution]);
    drop_reading(best);
    *best = again;
}

int latex_parse(struct slice bytes, const struct latex_reader *reader,
                struct tree **ret_tree, struct buf *ret_reports,
                struct err *err)
{
    struct reading reading = {0};
    int rc = read_once(bytes, reader, FOLLOW_PACKAGES, &reading, err);
    if (rc) {
        drop_reading(&reading);
        return rc;
    }
    bool suspect = reading.packaged && (share_of(reading.words) < FEW_WORDS ||
                                        reading.words.read < MIN_WORDS / 10);
    for (int caution = READ_DEFINITIONS; caution < CAUTIONS && suspect;
         caution++)
        read_again(bytes, reader, caution, &reading);
    if (ret_reports) {
        report_share(reading.words, ret_reports);
        buf_put_slice(ret_reports, buf_slice(&reading.reports));
    }
    *ret_tree = reading.tree;
    buf_free(&reading.reports);
    return 0;
}
