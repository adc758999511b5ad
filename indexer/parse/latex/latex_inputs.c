/* Files that a document includes. */
#include <ctype.h>
#include <stdlib.h>

#include "indexer/parse/text/charset.h"
#include "indexer/parse/latex/latex_internal.h"
#include "indexer/parse/text/sniff.h"

/* ---- Opening ---- */

static bool is_open(const struct tex *tex, struct slice path)
{
    for (size_t i = 0; i < tex->input_count; i++)
        if (tex->inputs[i].is_file &&
            slice_equal(tex->files[tex->inputs[i].file].path, path))
            return true;
    return false;
}

/* UINT16_MAX: it cannot be read. */
static uint16_t add_file(struct document *d, const struct buf *path,
                         const struct buf *bytes, struct token call)
{
    struct tex *tex = &d->tex;
    struct err err = {.position = -1};
    for (size_t i = 0; i < tex->file_count; i++)
        if (slice_equal(tex->files[i].path, buf_slice(path)))
            return (uint16_t)i;
    MEM_RESERVE(tex->files, &tex->file_capacity, tex->file_count + 1);
    struct tex_file *file = &tex->files[tex->file_count];
    *file = (struct tex_file){.path = document_keep(d, buf_slice(path)),
                              .bytes = document_keep(d, buf_slice(bytes))};
    if (sniff_latex(file->bytes, &file->transcoded, &file->encoding, &err)) {
        tex_report(tex, call, "%s: %s", path->data, err.message);
        return UINT16_MAX;
    }
    tex->max_steps += 200 * file->bytes.size;
    return (uint16_t)tex->file_count++;
}

/* False, and a report: no file more is asked for. */
static bool may_ask(struct document *d, struct token call)
{
    struct tex *tex = &d->tex;
    if (d->reader && d->asked_count >= MAX_ASKED)
        tex_report(tex, call, "it includes more than %d files; no more is read",
                   MAX_ASKED);
    else if (tex->file_depth >= MAX_FILE_DEPTH ||
             tex->file_count >= MAX_FILES || !d->reader)
        tex_report(tex, call, "too many files within files");
    else
        return ++d->asked_count;
    return false;
}

/* `again`: also one that is being read. */
static bool fetch(struct document *d, struct slice names, bool again,
                  struct token call, uint16_t *ret_file)
{
    struct tex *tex = &d->tex;
    struct buf bytes = {0}, path = {0};
    uint16_t file = UINT16_MAX;
    if (!may_ask(d, call))
        return false;
    bool found = d->reader->open(d->reader->context, names, &bytes, &path);
    if (!found && path.size)
        tex_report(tex, call, "%s", path.data);
    else if (found && !again && is_open(tex, buf_slice(&path)))
        tex_report(tex, call, "%s includes itself", path.data);
    else if (found && again &&
             slice_equal(buf_slice(&bytes), tex->files[0].bytes))
        file = 0; /* whose path is not known here */
    else if (found)
        file = add_file(d, &path, &bytes, call);
    buf_free(&bytes);
    buf_free(&path);
    *ret_file = file;
    return file != UINT16_MAX;
}

bool inputs_fetch(struct document *d, struct slice names, struct token call,
                  uint16_t *ret_file)
{
    return fetch(d, names, false, call, ret_file);
}

bool inputs_fetch_again(struct document *d, struct slice names,
                        struct token call, uint16_t *ret_file)
{
    return fetch(d, names, true, call, ret_file);
}

bool inputs_open(struct document *d, struct slice names, struct token call)
{
    uint16_t file;
    bool found = inputs_fetch(d, names, call, &file);
    if (found)
        tex_push_file(&d->tex, file);
    return found;
}

/* ---- Names ---- */

/* The name below the folder, without "x/../". */
static void join_name(struct slice folder, struct slice name, struct buf *ret)
{
    buf_clear(ret);
    buf_put_slice(ret, folder);
    buf_put_slice(ret, name);
    for (char *up;
         ret->size && (up = memmem(ret->data, ret->size, "/../", 4));) {
        size_t to = (size_t)(up - ret->data), from = to;
        while (from && ret->data[from - 1] != '/')
            from--;
        if (to == from ||
            slice_is((struct slice){ret->data + from, to - from}, ".."))
            break;
        to += 4;
        memmove(ret->data + from, ret->data + to, ret->size - to);
        ret->size -= to - from;
    }
}

/* The name with its ending, then without. */
static void put_name(struct slice folder, struct slice name, const char *ending,
                     struct buf *ret)
{
    struct buf path = {0};
    join_name(folder, name, &path);
    for (int bare = *ending ? 0 : 1; bare < 2; bare++) {
        buf_put_slice(ret, buf_slice(&path));
        if (!bare)
            buf_put_text(ret, ending);
        buf_put_byte(ret, '\n');
    }
    buf_free(&path);
}

/* From the innermost folder out to the document's own. */
static void put_names(const struct document *d, struct slice name,
                      const char *ending, struct buf *ret)
{
    struct slice none = {"", 0};
    for (size_t i = d->folder_count; i-- > 0;)
        put_name(d->folders[i], name, ending, ret);
    put_name(none, name, ending, ret);
}

bool inputs_fetch_named(struct document *d, struct slice name,
                        const char *ending, struct token call,
                        uint16_t *ret_file)
{
    struct buf names = {0};
    while (name.size && strchr(" \"", name.data[0])) {
        name.data++;
        name.size--;
    }
    while (name.size && strchr(" \"", name.data[name.size - 1]))
        name.size--;
    if (!name.size)
        return false;
    put_names(d, name, ending, &names);
    size_t before = d->tex.report_count;
    bool found = inputs_fetch(d, buf_slice(&names), call, ret_file);
    if (!found && d->tex.report_count == before)
        tex_report(&d->tex, call, "%.*s is not there", (int)name.size,
                   name.data);
    buf_free(&names);
    return found;
}

static void open_named(struct document *d, struct slice name,
                       const char *ending, struct token call)
{
    uint16_t file;
    if (inputs_fetch_named(d, name, ending, call, &file))
        tex_push_file(&d->tex, file);
}

/* \input{name}, or plain TeX's \input name. */
static void read_file_name(struct tex *tex, struct buf *ret)
{
    struct token token = tex_next_solid(tex);
    if (token.cat == CAT_BEGIN) {
        tex_unread(tex, token);
        tex_read_text(tex, ret);
        return;
    }
    tex_unread(tex, token);
    while ((token = tex_next_expanded(tex)).cat == CAT_LETTER ||
           token.cat == CAT_OTHER || token.cat == CAT_SUB ||
           token_is(token, CAT_NAME, tex_symbol_of(tex, "jobname")))
        tex_write_token(tex, token, ret);
    if (token.cat != CAT_SPACE)
        tex_unread(tex, token);
}

static bool is_included(const struct document *d, struct slice name)
{
    if (!d->is_only)
        return true;
    struct slice rest = d->only;
    while (rest.size) {
        const char *comma = memchr(rest.data, ',', rest.size);
        size_t size = comma ? (size_t)(comma - rest.data) : rest.size;
        struct slice one = {rest.data, size};
        while (one.size && strchr(" \n\t", one.data[0])) {
            one.data++;
            one.size--;
        }
        while (one.size && strchr(" \n\t", one.data[one.size - 1]))
            one.size--;
        if (slice_equal(one, name))
            return true;
        size += comma != NULL;
        rest.data += size;
        rest.size -= size;
    }
    return false;
}

static void run_input(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0};
    read_file_name(tex, &name);
    if (command->value) /* \include begins a page */
        document_flush(d);
    if (streams_read(tex, buf_slice(&name)))
        ; /* written by the document itself */
    else if (!command->value || is_included(d, buf_slice(&name)))
        open_named(d, buf_slice(&name), ".tex", call);
    buf_free(&name);
}

static void run_include_only(struct tex *tex, const struct command *command,
                             struct token call)
{
    struct document *d = document_of(tex);
    struct buf names = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &names);
    d->only = document_keep(d, buf_slice(&names));
    d->is_only = true;
    buf_free(&names);
}

/* ---- Files with folders of their own ---- */

static void end_folder(struct tex *tex)
{
    document_of(tex)->folder_count--;
}

/* Where \subimport and \subfile stand. */
static struct slice current_folder(const struct document *d)
{
    struct slice none = {"", 0};
    return d->folder_count ? d->folders[d->folder_count - 1] : none;
}

/* Until the file that is opened next ends, names in it are of the folder first. */
static bool push_folder(struct document *d, struct slice folder)
{
    if (d->folder_count == MAX_FILE_DEPTH)
        return false;
    d->folders[d->folder_count++] = document_keep(d, folder);
    return true;
}

/* \import{folder}{file}, \subimport: of the folder that is current. */
static void run_import(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct buf folder = {0}, name = {0};
    uint16_t file;
    tex_read_character(tex, '*');
    if (command->value)
        buf_put_slice(&folder, current_folder(d));
    tex_read_text(tex, &folder);
    if (folder.size && folder.data[folder.size - 1] != '/')
        buf_put_byte(&folder, '/');
    tex_read_text(tex, &name);
    if (push_folder(d, buf_slice(&folder))) {
        if (inputs_fetch_named(d, buf_slice(&name), ".tex", call, &file)) {
            tex_push_file(tex, file);
            tex->inputs[tex->input_count - 1].ended = end_folder;
        } else {
            end_folder(tex);
        }
    }
    buf_free(&folder);
    buf_free(&name);
}

/* \subfile: a document of its own, of which the body is read.  What is looked through
 * counts as steps. */
static void end_subfile(struct tex *tex)
{
    tex->stopped = false;
    end_folder(tex);
}

static void enter_body(struct tex *tex)
{
    struct input *input = &tex->inputs[tex->input_count - 1];
    struct slice text = tex->files[input->file].transcoded.text;
    static const char begin[] = "\\begin{document}", end[] = "\\end{document}";
    const char *from = memmem(text.data, text.size, begin, sizeof begin - 1);
    const char *to = memmem(text.data, text.size, end, sizeof end - 1);
    tex->steps += text.size / 8;
    if (from)
        input->at = (size_t)(from - text.data) + sizeof begin - 1;
    if (to && (size_t)(to - text.data) >= input->at)
        input->end = (size_t)(to - text.data);
    input->ended = end_subfile;
}

/* The folder of the file that was found under `name`: below the innermost folder
 * that leads to it. */
static void put_folder_of(const struct document *d, struct slice name,
                          struct slice found, struct buf *ret)
{
    struct slice none = {"", 0};
    join_name(none, name, ret);
    for (size_t i = d->folder_count; i-- > 0;) {
        join_name(d->folders[i], name, ret);
        if (ret->size && memmem(found.data, found.size, ret->data, ret->size))
            break;
        join_name(none, name, ret);
    }
    while (ret->size && ret->data[ret->size - 1] != '/')
        ret->size--;
}

bool inputs_open_subfile(struct document *d, struct slice name,
                         struct token call)
{
    struct tex *tex = &d->tex;
    struct buf folder = {0};
    uint16_t file;
    bool opened = name.size && inputs_fetch_named(d, name, ".tex", call, &file);
    if (opened) {
        put_folder_of(d, name, tex->files[file].path, &folder);
        opened = push_folder(d, buf_slice(&folder));
    }
    if (opened) {
        tex_push_file(tex, file);
        enter_body(tex);
    }
    buf_free(&folder);
    return opened;
}

static void run_subfile(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf name = {0};
    (void)command;
    tex_read_text(tex, &name);
    inputs_open_subfile(document_of(tex), buf_slice(&name), call);
    buf_free(&name);
}

/* The file ends with this line. */
static void run_endinput(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)command;
    (void)call;
    if (!tex->top_file)
        return;
    struct input *file = &tex->inputs[tex->top_file - 1];
    struct slice text = tex->files[file->file].transcoded.text;
    const char *end = memchr(text.data + file->at, '\n', file->end - file->at);
    if (end)
        file->end = (size_t)(end - text.data);
}

/* What documents are written with; other signs a package may well make active
 * for the document. */
static bool is_syntax(unsigned byte)
{
    return isalpha((int)byte) || (byte && strchr("\\{}%#$& \n", (int)byte));
}

static struct package_mark *open_mark(struct document *d)
{
    MEM_RESERVE(d->marks, &d->mark_capacity, d->packages + 1);
    struct package_mark *mark = &d->marks[d->packages++];
    *mark = (struct package_mark){.groups = d->group_count};
    memcpy(mark->catcodes, d->tex.catcodes, sizeof mark->catcodes);
    labels_keep_citations(d, true);
    blocks_keep_notes(d, true);
    return mark;
}

/* Groups that the package left open end with it, and the signs of the syntax
 * are what they were.  @ is a letter while any package or class is read. */
static void close_package(struct tex *tex)
{
    struct document *d = document_of(tex);
    struct package_mark mark = d->marks[--d->packages];
    expl_end(d);
    document_close_to(d, mark.groups);
    for (unsigned byte = 0; byte < 128; byte++)
        if (is_syntax(byte) && tex->catcodes[byte] != mark.catcodes[byte])
            tex_set_catcode(tex, byte, mark.catcodes[byte], true);
    if (d->packages)
        return;
    tex_set_catcode(tex, '@', CAT_OTHER, true);
    labels_keep_citations(d, false);
    blocks_keep_notes(d, false);
}

/* Does "\ProvidesPackage{name}" or the like stand in it? */
static bool provides(struct slice text, struct slice name)
{
    static const char provides[] = "\\Provides";
    const char *end = text.data + text.size, *at = text.data;
    while (
        (at = memmem(at, (size_t)(end - at), provides, sizeof provides - 1))) {
        at += sizeof provides - 1;
        while (at < end && isalpha((unsigned char)*at))
            at++;
        while (at < end && isspace((unsigned char)*at))
            at++;
        if ((size_t)(end - at) > name.size + 1 && *at == '{' &&
            !memcmp(at + 1, name.data, name.size) && at[name.size + 1] == '}')
            return true;
    }
    return false;
}

/* What generators put beside their documents, of what is known here. */
static bool is_written(struct slice file)
{
    static const char *const names[] = {
        "etoc_doxygen.sty", "longtable_doxygen.sty", "sphinx.sty",
        "sphinxhowto.cls",  "sphinxmanual.cls",      "tabu_doxygen.sty"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_is(file, names[i]))
            return true;
    return false;
}

/* The name of a package that is known here; a document's own may be called so, too. */
static bool is_known(struct slice file)
{
    static const char *const names[] = {
        "algorithm.sty",    "algorithm2e.sty",   "algorithmic.sty",
        "algorithmicx.sty", "algpseudocode.sty", "amsmath.sty",
        "booktabs.sty",     "caption.sty",       "caption2.sty",
        "caption3.sty",     "cleveref.sty",      "color.sty",
        "enumitem.sty",     "fancyvrb.sty",      "float.sty",
        "graphics.sty",     "graphicx.sty",      "hyperref.sty",
        "listings.sty",     "longtable.sty",     "multirow.sty",
        "natbib.sty",       "nicematrix.sty",    "subcaption.sty",
        "subfig.sty",       "subfigure.sty",     "supertabular.sty",
        "tabu.sty",         "tabularray.sty",    "tabularx.sty",
        "url.sty",          "wrapfig.sty",       "xcolor.sty",
        "xltabular.sty"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_is(file, names[i]))
            return true;
    return false;
}

static size_t count_of(struct slice text, struct slice word)
{
    size_t count = 0;
    const char *at = text.data, *end = text.data + text.size;
    while ((at = memmem(at, (size_t)(end - at), word.data, word.size))) {
        at += word.size;
        count++;
    }
    return count;
}

/* Is it a copy that was given another name?  wrapfig's has its counter, one
 * \newcommand and one \newenvironment; what has more defines something of its own. */
static bool is_renamed(struct slice file, struct slice text)
{
    return file.size > 4 && slice_ends(file, slice_of(".sty")) &&
           count_of(text, slice_of("\\newcount\\c@WF@wrappedlines")) &&
           count_of(text, slice_of("\\newcommand")) < 2 &&
           count_of(text, slice_of("\\newenvironment")) < 2;
}

/* Tatsuta's figures of proofs (proof.sty 3.0), which do not say how they are called. */
static bool is_proofs(struct slice file, struct slice text)
{
    return slice_is(file, "proof.sty") &&
           count_of(text, slice_of("\\def\\infer{"));
}

/* Opens a package beside the document, unless it is a copy of what is known here, as
 * doxygen and Sphinx write them and people keep them: it says by how TeX sets tables, or
 * code, what has been said. */
static bool open_beside(struct document *d, struct slice file,
                        struct token call)
{
    struct buf names = {0};
    uint16_t number;
    if (is_written(file))
        return false;
    buf_printf(&names, "%.*s\n", (int)file.size, file.data);
    bool opened = inputs_fetch(d, buf_slice(&names), call, &number);
    buf_free(&names);
    if (!opened ||
        (is_known(file) &&
         provides(d->tex.files[number].bytes,
                  (struct slice){file.data, file.size - 4})) ||
        is_renamed(file, d->tex.files[number].bytes) ||
        is_proofs(file, d->tex.files[number].bytes))
        return false;
    tex_push_file(&d->tex, number);
    return true;
}

bool inputs_open_package(struct document *d, struct slice file,
                         const struct tokens *options, struct token call)
{
    struct tex *tex = &d->tex;
    if (packages_is_asked(tex, file))
        return false;
    struct tokens given = options_given(d, file, options);
    packages_asked(tex, file, &given);
    if (d->caution == SKIP_PACKAGES || !open_beside(d, file, call))
        return false;
    struct input *input = &tex->inputs[tex->input_count - 1];
    input->ended = close_package;
    struct package_mark *mark = open_mark(d);
    mark->file = input->file;
    mark->is_class =
        file.size > 4 && !memcmp(file.data + file.size - 4, ".cls", 4);
    mark->options = given;
    d->packaged = true;
    tex_set_catcode(tex, '@', CAT_LETTER, true);
    return true;
}

static void open_package(struct document *d, struct slice name,
                         const struct tokens *options, struct token call)
{
    struct buf file = {0};
    while (name.size && strchr(" \n\t", name.data[0])) {
        name.data++;
        name.size--;
    }
    while (name.size && strchr(" \n\t", name.data[name.size - 1]))
        name.size--;
    buf_put_slice(&file, name);
    buf_put_text(&file, ".sty");
    if (name.size)
        inputs_open_package(d, buf_slice(&file), options, call);
    buf_free(&file);
}

/* The last is pushed first, so that the first is read first. */
void inputs_open_packages(struct document *d, struct slice names,
                          const struct tokens *options, struct token call)
{
    while (names.size) {
        const char *comma = memrchr(names.data, ',', names.size);
        size_t from = comma ? (size_t)(comma - names.data) + 1 : 0;
        open_package(d, (struct slice){names.data + from, names.size - from},
                     options, call);
        names.size = comma ? from - 1 : 0;
    }
}

/* Packages that lie beside the document; what they define is read. */
static void run_package(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct tokens options = {0};
    struct buf names = {0};
    (void)command;
    tex_read_optional(tex, &options);
    tex_read_text(tex, &names);
    tex_skip_before(tex, "o");
    if (!d->begun) /* else it is an example */
        inputs_open_packages(d, buf_slice(&names), &options, call);
    tokens_free(&options);
    buf_free(&names);
}

/* A name that is no document's: of a package, a font.  It is taken to be installed. */
static bool is_installed(struct slice name)
{
    static const char *const texts[] = {".tex", ".ltx", ".bbl", ".ind", ".aux",
                                        ".toc", ".out", ".ans", ".txt", ".csv"};
    const char *dot = memrchr(name.data, '.', name.size);
    if (!dot || memchr(name.data, '/', name.size) ||
        memchr(name.data, '\\', name.size)) /* \jobname */
        return false;
    struct slice ending = {dot, name.size - (size_t)(dot - name.data)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (slice_is(ending, texts[i]))
            return false;
    return true;
}

/* Whether a name leads to a file, which is not read for it: the document does not
 * include it. */
static bool is_there(struct document *d, struct slice names, struct token call)
{
    struct buf bytes = {0}, path = {0};
    bool found = may_ask(d, call) &&
                 d->reader->open(d->reader->context, names, &bytes, &path);
    buf_free(&bytes);
    buf_free(&path);
    return found;
}

/* \IfFileExists{f}{a}{b} */
static void run_if_file(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0}, names = {0};
    (void)command;
    tex_read_text(tex, &name);
    put_names(d, buf_slice(&name), ".tex", &names);
    expand_choose(tex, is_installed(buf_slice(&name)) ||
                           streams_exists(tex, buf_slice(&name)) ||
                           is_there(d, buf_slice(&names), call));
    buf_free(&names);
    buf_free(&name);
}

/* \InputIfFileExists{f}{a}{b}: a and the file, or b. */
static void run_input_if(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0}, names = {0};
    struct tokens then = {0}, other = {0};
    (void)command;
    tex_read_text(tex, &name);
    put_names(d, buf_slice(&name), ".tex", &names);
    tex_read_argument(tex, &then);
    tex_read_argument(tex, &other);
    bool found = streams_read(tex, buf_slice(&name)) ||
                 inputs_open(d, buf_slice(&names), call) ||
                 is_installed(buf_slice(&name));
    tokens_free(found ? &other : &then);
    tex_push(tex, found ? then : other);
    buf_free(&names);
    buf_free(&name);
}

static void run_bye(struct tex *tex, const struct command *command,
                    struct token call)
{
    (void)command;
    (void)call;
    tex->stopped = true;
}

static bool is_level(struct slice name)
{
    static const char *const names[] = {"part",          "chapter",
                                        "section",       "subsection",
                                        "subsubsection", "paragraph"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_is(name, names[i]))
            return true;
    return false;
}

/* \segment{file}{section}{title} of latex2html: a section that is a file, which is a
 * document, too, where it is converted by itself. */
static void run_segment(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens name = {0}, level = {0}, title = {0}, list = {0};
    struct buf text = {0};
    (void)command;
    tex_skip_before(tex, "so");
    tex_read_argument(tex, &name);
    tex_read_argument(tex, &level);
    tex_read_argument(tex, &title);
    tex_write_tokens(tex, &level, &text);
    call.cat = CAT_NAME;
    if (is_level(buf_slice(&text))) {
        call.value = tex_symbol(tex, buf_slice(&text));
        tokens_add(&list, call);
        tokens_add_group(&list, &title, call);
        call.value = tex_symbol_of(tex, "input");
        tokens_add(&list, call);
        tokens_add_group(&list, &name, call);
    } else {
        tokens_add_group(&list, &name, call);
        tokens_add_group(&list, &level, call);
        tokens_add_group(&list, &title, call);
    }
    tex_push(tex, list);
    tokens_free(&name);
    tokens_free(&level);
    tokens_free(&title);
    buf_free(&text);
}

static const struct command commands[] = {
    {"segment", run_segment, NULL, 0, NULL},
    {"input", run_input, NULL, 0, NULL},
    {"@input", run_input, NULL, 0, NULL},
    {"@@input", run_input, NULL, 0, NULL},
    {"include", run_input, NULL, 1, NULL},
    {"includeonly", run_include_only, NULL, 0, NULL},
    {"import", run_import, NULL, 0, NULL},
    {"subimport", run_import, NULL, 1, NULL},
    {"subfile", run_subfile, NULL, 0, NULL},
    {"endinput", run_endinput, NULL, 0, NULL},
    {"usepackage", run_package, NULL, 0, NULL},
    {"RequirePackage", run_package, NULL, 0, NULL},
    {"IfFileExists", run_if_file, NULL, 0, NULL},
    {"InputIfFileExists", run_input_if, NULL, 0, NULL},
    {"bye", run_bye, NULL, 0, NULL},
};

void inputs_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
