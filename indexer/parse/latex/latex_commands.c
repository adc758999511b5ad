/* Commands whose arguments are none of the text, and those that mark some of
 * it; what follows the arguments named here flows on as text. */
#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"
#include "indexer/parse/outline/exponents.h"

enum {
    MAX_RAISED = 8,  /* bytes of an exponent */
    MAX_LINES = 1000 /* of a paragraph whose shape is told */
};

/* Takes what `before` says, and is nothing. */
static void run_nothing(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    document_of(tex)->last = 0;
    if (command->before)
        tex_skip_before(tex, command->before);
}

/* \tikzstyle{name}=[...], \tikzstyle{name}+=[...] */
static void run_style(struct tex *tex, const struct command *command,
                      struct token call)
{
    run_nothing(tex, command, call);
    struct token sign = tex_next_solid(tex);
    if (token_is(sign, CAT_OTHER, '+'))
        sign = tex_next_solid(tex);
    if (token_is(sign, CAT_OTHER, '='))
        tex_skip_before(tex, "o");
    else
        tex_unread(tex, sign);
}

static void run_space(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)call;
    if (command->before)
        tex_skip_before(tex, command->before);
    document_space(document_of(tex));
}

static bool is_negative(const struct tokens *length)
{
    size_t i = 0;
    while (i < length->count && length->items[i].cat == CAT_SPACE)
        i++;
    return i < length->count && token_is(length->items[i], CAT_OTHER, '-');
}

/* What moves letters of a word together ("\hspace{-.1em}") is no space. */
static void run_hspace(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens length = {0};
    (void)command;
    (void)call;
    tex_read_character(tex, '*');
    tex_read_argument(tex, &length);
    if (!is_negative(&length))
        document_space(document_of(tex));
    bytefield_lose_count(document_of(tex));
    tokens_free(&length);
}

static void run_hskip(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct token sign = tex_next_solid(tex);
    tex_unread(tex, sign);
    if (token_is(sign, CAT_OTHER, '-'))
        tex_skip_before(tex, command->before);
    else
        run_space(tex, command, call);
}

/* \numberline{1}Title, of a line of contents. */
static void run_number_line(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct tokens list = {0};
    struct token space = call;
    (void)command;
    tex_read_argument(tex, &list);
    space.cat = CAT_SPACE;
    space.value = ' ';
    tokens_add(&list, space);
    tex_push(tex, list);
}

/* \parshape=n and two lengths for each of n lines. */
static void run_parshape(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)command;
    (void)call;
    tex_skip_before(tex, "=");
    int64_t lines = number_read(tex);
    for (int64_t i = 0; i < lines && i < MAX_LINES; i++)
        tex_skip_before(tex, "dd");
}

/* Ends a paragraph; in a title or a caption some only keep its lines apart. */
static void run_break(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)call;
    if (command->before)
        tex_skip_before(tex, command->before);
    struct document *d = document_of(tex);
    int flow = document_flow(d)->kind;
    if (command->value && (flow == FLOW_TITLE || flow == FLOW_CAPTION))
        document_space(d);
    else
        blocks_paragraph(d);
}

/* \obeylines in typewriter, to the end of the group: how plain TeX sets code. */
static void set_code(struct document *d)
{
    struct tex *tex = &d->tex;
    int kind = d->group_count ? d->groups[d->group_count - 1].kind : GROUP_FLOW;
    if (!d->in.mono || tex->catcodes['\n'] != CAT_ACTIVE ||
        d->in.kind != BLOCK_PARAGRAPH || !document_is_body(d) ||
        kind > GROUP_ENVIRONMENT)
        return;
    blocks_begin_kind(d, BLOCK_CODE, (struct slice){"", 0});
    tex_set_catcode(tex, ' ', CAT_OTHER, false);
    blocks_writer(d)->exact = true;
}

/* Before all headings, that is a title which the document does not say to be one. */
static void run_large(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    d->large = document_is_body(d) && !d->in.silent && !d->title.size &&
               !d->outline.count;
}

/* \hypersetup{pdftitle={..}}: what a document is called that has no \title. */
static void run_hypersetup(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct document *d = document_of(tex);
    struct tokens options = {0}, title = {0};
    struct buf text = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &options);
    if (!d->pdf_title.size && keys_value(tex, &options, "pdftitle", &title)) {
        tex_expand_text(tex, &title, &text);
        if (text.size && !memchr(text.data, '\\', text.size))
            d->pdf_title = document_keep(d, buf_slice(&text));
    }
    buf_free(&text);
    tokens_free(&title);
    tokens_free(&options);
}

static void run_mono(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    if (command->value) /* with an argument */
        document_open_argument(d, GROUP_BOX, call);
    d->in.mono = true;
    if (!command->value)
        set_code(d);
}

/* \obeylines: each line stands by itself. */
static void run_obeylines(struct tex *tex, const struct command *command,
                          struct token call)
{
    (void)command;
    (void)call;
    tex_set_catcode(tex, '\n', CAT_ACTIVE, false);
    set_code(document_of(tex));
}

/* \obeyspaces: each space is one. */
static void run_obeyspaces(struct tex *tex, const struct command *command,
                           struct token call)
{
    (void)command;
    (void)call;
    tex_set_catcode(tex, ' ', CAT_ACTIVE, false);
}

/* \mathchoice{a}...: a; \latexhtml{a}{b}: what is printed. */
static void run_first(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens list = {0};
    (void)call;
    tex_read_argument(tex, &list);
    tex_skip_before(tex, command->before);
    tex_push(tex, list);
}

/* \texorpdfstring{a}{b}: b, which is made to be read; a where that is empty, and in a
 * line of the contents, which prints it, if it has no formula. */
static void run_readable(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens set = {0}, read = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &set);
    tex_read_argument(tex, &read);
    bool reads = read.count != 0;
    if (document_flow(document_of(tex))->kind == FLOW_CONTENTS) {
        reads = false;
        for (size_t i = 0; i < set.count; i++)
            reads |= set.items[i].cat == CAT_MATH && read.count;
    }
    tokens_free(reads ? &set : &read);
    tex_push(tex, reads ? read : set);
}

/* \textsuperscript{2}: a mark, or an exponent. */
static void run_raised(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct writer *writer = &document_flow(d)->writer;
    struct tokens list = {0};
    struct buf raised = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &list);
    for (size_t i = 0; i < list.count && raised.size < MAX_RAISED; i++)
        text_encode(&raised, list.items[i].cat == CAT_LETTER ||
                                     list.items[i].cat == CAT_OTHER
                                 ? list.items[i].value
                                 : ' ');
    struct token next = tex_next(tex);
    tex_unread(tex, next);
    bool plain = next.cat == CAT_LETTER || next.cat == CAT_OTHER;
    char byte = plain && next.value < 128 ? (char)next.value : '\0';
    if (!d->in.silent && exponents_follow(writer, buf_slice(&raised), byte))
        exponents_begin(writer);
    buf_free(&raised);
    tex_push(tex, list);
}

static void run_at_begin(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    if (d->begun || !d->is_document) {
        tex_push(tex, list);
        return;
    }
    tokens_add_all(&d->at_begin, list.items, list.count);
    tokens_free(&list);
}

static void run_char(struct tex *tex, const struct command *command,
                     struct token call)
{
    int64_t code = number_read(tex);
    (void)command;
    call.cat = CAT_OTHER;
    call.value = (uint32_t)code;
    if (code > ' ' && code < 127)
        tex_unread(tex, call);
}

/* \ding{51}: Zapf Dingbats, which Unicode has in their order but for those that it had
 * before. */
static void run_ding(struct tex *tex, const struct command *command,
                     struct token call)
{
    static const uint16_t elsewhere[][2] = {
        {37, 0x260e},  {42, 0x261b},  {43, 0x261e},  {72, 0x2605},
        {108, 0x25cf}, {110, 0x25a0}, {115, 0x25b2}, {116, 0x25bc},
        {117, 0x25c6}, {119, 0x25d7}, {168, 0x2663}, {169, 0x2666},
        {170, 0x2665}, {171, 0x2660}, {213, 0x2192}, {214, 0x2194},
        {215, 0x2195}};
    struct buf text = {0}, sign = {0};
    (void)command;
    tex_read_text(tex, &text);
    int64_t code = number_of_text(tex, buf_slice(&text));
    uint32_t found = 0x2022;
    if (code > 32 && code < 127)
        found = (uint32_t)(0x2700 + code - 32);
    else if (code >= 172 && code <= 181)
        found = (uint32_t)(0x2460 + code - 172);
    else if (code > 160 && code < 255)
        found = (uint32_t)(0x2761 + code - 161);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (elsewhere[i][0] == code)
            found = elsewhere[i][1];
    text_encode(&sign, found);
    document_put(document_of(tex), call, buf_slice(&sign));
    buf_free(&sign);
    buf_free(&text);
}

/* \tikz{..} or \tikz ..; draws. */
static void run_tikz(struct tex *tex, const struct command *command,
                     struct token call)
{
    (void)command;
    (void)call;
    tex_skip_before(tex, "o");
    struct token token = tex_next_solid(tex);
    if (token.cat == CAT_BEGIN) {
        tex_unread(tex, token);
        tex_skip_before(tex, "m");
        return;
    }
    while (token.cat != CAT_NONE && token.cat != CAT_STOP &&
           !token_is(token, CAT_NAME, tex->par) &&
           !token_is(token, CAT_OTHER, ';'))
        token = tex_next(tex);
    if (token.cat != CAT_OTHER)
        tex_unread(tex, token);
}

/* \@makecaption{Table 1}{Title}: "Table 1: Title" */
static void run_make_caption(struct tex *tex, const struct command *command,
                             struct token call)
{
    struct tokens line = {0}, title = {0};
    (void)command;
    tex_read_argument(tex, &line);
    tex_read_argument(tex, &title);
    call.flags |= TOKEN_MADE;
    call.cat = CAT_OTHER;
    call.value = ':';
    tokens_add(&line, call);
    call.cat = CAT_SPACE;
    call.value = ' ';
    tokens_add(&line, call);
    tokens_add_all(&line, title.items, title.count);
    call.cat = CAT_NAME;
    call.value = tex->par;
    tokens_add(&line, call);
    tex_push(tex, line);
    tokens_free(&title);
}

/* What may be set right behind a word, and what is no text. */
static bool joins_word(const struct tex *tex, struct token token)
{
    static const char *const names[] = {
        "footnote", "footnotemark", "xspace", "space", "/",
        " ",        "par",          "egroup"};
    const struct meaning *meaning = tex_meaning(tex, token);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_is(tex->symbols[token.value].name, names[i]))
            return true;
    return meaning->kind != MEANING_NONE && meaning->kind != MEANING_COMMAND;
}

/* \xspace: a space before anything but what ends a word or goes on with it (its
 * exceptions, in xspace's manual). */
static void run_xspace(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct token next = tex_next_expanded(tex);
    (void)command;
    (void)call;
    tex_unread(tex, next);
    bool letter = next.cat == CAT_LETTER || next.cat == CAT_MATH;
    bool sign =
        next.cat == CAT_OTHER &&
        (next.value >= 0x80 || !strchr(".,'/?;:!~-)]", (int)next.value));
    if (letter || sign || (next.cat == CAT_NAME && !joins_word(tex, next)))
        document_space(d);
}

/* What TeX's engines write into the PDF as it is: \pdfliteral direct{..}, \pdfextension
 * literal{..}, \pdfobj stream attr{..}{..}, \pdfannot width 3pt{..} are none of the
 * text. */
static void run_literal(struct tex *tex, const struct command *command,
                        struct token call)
{
    static const struct {
        const char *word, *before;
    } words[] = {
        {"literal", NULL},  {"colorstack", "n"},   {"annot", NULL},
        {"obj", NULL},      {"direct", NULL},      {"page", NULL},
        {"origin", NULL},   {"shipout", NULL},     {"raw", NULL},
        {"stream", NULL},   {"file", NULL},        {"uncompressed", NULL},
        {"useobjnum", "n"}, {"attr", "m"},         {"resources", "m"},
        {"width", "d"},     {"height", "d"},       {"depth", "d"},
        {"push", NULL},     {"set", NULL},         {"pop", NULL},
        {"current", NULL},  {"reserveobjnum", "."}};
    enum { MAX_WORDS = 20 };
    size_t i = 0, count = 0;
    (void)call;
    tex_skip_before(tex, command->before);
    while (i < sizeof words / sizeof *words && count++ < MAX_WORDS) {
        for (i = 0; i < sizeof words / sizeof *words; i++)
            if (tex_read_word(tex, words[i].word))
                break;
        if (i == sizeof words / sizeof *words ||
            (words[i].before && *words[i].before == '.'))
            break;
        tex_skip_before(tex, words[i].before);
    }
    struct token token = tex_next_solid(tex);
    tex_unread(tex, token);
    if (token.cat == CAT_BEGIN)
        tex_skip_before(tex, "m");
}

/* \glossary{..}; memoir: \glossary[file](key){term}{description} */
static void run_glossary(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)command;
    (void)call;
    tex_skip_before(tex, "o");
    struct token next = tex_next_solid(tex);
    tex_unread(tex, next);
    tex_skip_before(tex, token_is(next, CAT_OTHER, '(') ? "pmm" : "m");
}

/* Did \begin{name} of an environment that is not known call the command? */
static bool is_begun(const struct document *d, struct slice name)
{
    const struct group *last =
        d->group_count ? &d->groups[d->group_count - 1] : NULL;
    return last && last->kind == GROUP_ENVIRONMENT &&
           slice_equal(d->tex.symbols[last->name].name, name);
}

/* \nomenclature[key]{symbol}{meaning}: a line of a list that a program sorts; it stays
 * where it stands, behind the paragraph. */
static void run_nomenclature(struct tex *tex, const struct command *command,
                             struct token call)
{
    struct tokens list = {0}, line = {0}, meaning = {0};
    tex_skip_before(tex, "o");
    struct token next = tex_next_solid(tex);
    tex_unread(tex, next);
    if ((next.cat != CAT_BEGIN && next.cat != CAT_NAME) ||
        is_begun(document_of(tex), slice_of(command->name)))
        return;
    tex_read_argument(tex, &line);
    tex_read_argument(tex, &meaning);
    tex_add_source(tex, slice_of(": "), call, &line);
    tokens_add_all(&line, meaning.items, meaning.count);
    tex_add_name(tex, "footnotetext", call, &list);
    tokens_add_group(&list, &line, call);
    tex_push(tex, list);
    tokens_free(&line);
    tokens_free(&meaning);
}

/* \fontspec[features]{font}[features]: a bracket behind a space is text, as older
 * documents have it, whose fontspec took none there. */
static void run_fontspec(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)command;
    (void)call;
    tex_skip_before(tex, "om");
    struct token next = tex_next(tex);
    tex_unread(tex, next);
    if (token_is(next, CAT_OTHER, '['))
        tex_skip_before(tex, "o");
}

/* ConTeXt's \starttext: what its own commands make is not known. */
static void run_context(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)command;
    if (!tex->classed)
        tex_report(tex, call,
                   "this is ConTeXt, which is not read: its words are without "
                   "chapters and sections");
}

static const struct command ignored[] = {
    {"selectlanguage", run_nothing, "m", 0, NULL},
    {"usetikzlibrary", run_nothing, "m", 0, NULL},
    {"usepgflibrary", run_nothing, "m", 0, NULL},
    {"vspace", run_space, "sm", 0, NULL},
    {"hspace", run_hspace, NULL, 0, NULL},
    {"vskip", run_break, "g", 1, NULL},
    {"hskip", run_hskip, "g", 0, NULL},
    {"parshape", run_parshape, NULL, 0, NULL},
    {"numberline", run_number_line, NULL, 0, NULL},
    {"kern", run_nothing, "d", 0, NULL},
    {"mkern", run_nothing, "d", 0, NULL},
    {"mskip", run_nothing, "d", 0, NULL},
    {"penalty", run_nothing, "n", 0, NULL},
    {"raise", run_nothing, "d", 0, NULL},
    {"lower", run_nothing, "d", 0, NULL},
    {"moveleft", run_nothing, "d", 0, NULL},
    {"moveright", run_nothing, "d", 0, NULL},
    {"hrule", run_nothing, "r", 0, NULL},
    {"vrule", run_nothing, "r", 0, NULL},
    {"hb@xt@", run_nothing, "d", 0, NULL},
    {"@makecaption", run_make_caption, NULL, 0, NULL},
    {"hbox", run_nothing, "b", 0, NULL},
    {"vbox", run_nothing, "b", 0, NULL},
    {"vtop", run_nothing, "b", 0, NULL},
    {"fontdimen", run_nothing, "nc=d", 0, NULL},
    {"hyphenchar", run_nothing, "c=n", 0, NULL},
    {"skewchar", run_nothing, "c=n", 0, NULL},
    {"accent", run_nothing, "n", 0, NULL},
    {"xspace", run_xspace, NULL, 0, NULL},
    {"special", run_nothing, "m", 0, NULL},
    {"pdfliteral", run_literal, NULL, 0, NULL},
    {"pdfextension", run_literal, NULL, 0, NULL},
    {"pdfobj", run_literal, NULL, 0, NULL},
    {"pdfannot", run_literal, NULL, 0, NULL},
    {"pdfcolorstack", run_literal, "n", 0, NULL},
    {"pdfstartlink", run_literal, NULL, 0, NULL},
    {"pdfxform", run_literal, NULL, 0, NULL},
    {"pdfcatalog", run_nothing, "m", 0, NULL},
    {"pdfinfo", run_nothing, "m", 0, NULL},
    {"pdfrefobj", run_nothing, "n", 0, NULL},
    {"pdfrefxform", run_nothing, "n", 0, NULL},
    {"pdfsetmatrix", run_nothing, "m", 0, NULL},
    {"pdfbookmark", run_nothing, "omm", 0, NULL},
    {"Hy@writebookmark", run_nothing, "mmmmm", 0, NULL},
    {"bookmark", run_nothing, "om", 0, NULL},
    {"immediate", run_nothing, NULL, 0, NULL},
    {"directlua", run_nothing, "m", 0, NULL},
    {"message", run_nothing, "m", 0, NULL},
    {"typeout", run_nothing, "m", 0, NULL},
    {"errmessage", run_nothing, "m", 0, NULL},
    {"wlog", run_nothing, "m", 0, NULL},
    {"GenericError", run_nothing, "mmmm", 0, NULL},
    {"GenericWarning", run_nothing, "mm", 0, NULL},
    {"GenericInfo", run_nothing, "mm", 0, NULL},
    {"PackageError", run_nothing, "mmm", 0, NULL},
    {"PackageWarning", run_nothing, "mm", 0, NULL},
    {"PackageWarningNoLine", run_nothing, "mm", 0, NULL},
    {"PackageInfo", run_nothing, "mm", 0, NULL},
    {"ClassError", run_nothing, "mmm", 0, NULL},
    {"ClassWarning", run_nothing, "mm", 0, NULL},
    {"ClassWarningNoLine", run_nothing, "mm", 0, NULL},
    {"ClassInfo", run_nothing, "mm", 0, NULL},
    {"@latex@error", run_nothing, "mm", 0, NULL},
    {"@latex@warning", run_nothing, "m", 0, NULL},
    {"@warning", run_nothing, "m", 0, NULL},
    {"@latexerr", run_nothing, "mm", 0, NULL},
    {"@latex@warning@no@line", run_nothing, "m", 0, NULL},
    {"@latex@info", run_nothing, "m", 0, NULL},
    {"openin", run_nothing, "n=f", 0, NULL},
    {"closein", run_nothing, "n", 0, NULL},
    {"font", run_nothing, "c=fz", 0, NULL},
    {"magnification", run_nothing, "=n", 0, NULL},
    {"magstep", run_nothing, "c", 0, NULL},
    {"textfont", run_nothing, "c=c", 0, NULL},
    {"scriptfont", run_nothing, "c=c", 0, NULL},
    {"scriptscriptfont", run_nothing, "c=c", 0, NULL},
    {"fontsize", run_nothing, "mm", 0, NULL},
    {"endpreamble", run_nothing, NULL, 0, NULL},
    {"set@fontsize", run_nothing, "mmm", 0, NULL},
    {"@setfontsize", run_nothing, "mmm", 0, NULL},
    {"@setsize", run_nothing, "mmmm", 0, NULL},
    {"fontencoding", run_nothing, "m", 0, NULL},
    {"fontfamily", run_nothing, "m", 0, NULL},
    {"fontseries", run_nothing, "m", 0, NULL},
    {"fontshape", run_nothing, "m", 0, NULL},
    {"usefont", run_nothing, "mmmm", 0, NULL},
    {"setlength", run_nothing, "mm", 0, NULL},
    {"addtolength", run_nothing, "mm", 0, NULL},
    {"settowidth", run_nothing, "mm", 0, NULL},
    {"settoheight", run_nothing, "mm", 0, NULL},
    {"settodepth", run_nothing, "mm", 0, NULL},
    {"enlargethispage", run_nothing, "sm", 0, NULL},
    {"pagestyle", run_nothing, "m", 0, NULL},
    {"thispagestyle", run_nothing, "m", 0, NULL},
    {"pagenumbering", run_nothing, "sm", 0, NULL},
    {"markboth", run_nothing, "mm", 0, NULL},
    {"@mkboth", run_nothing, "mm", 0, NULL},
    {"list", run_nothing, "mm", 0, NULL},
    {"trivlist", run_nothing, NULL, 0, NULL},
    {"markright", run_nothing, "m", 0, NULL},
    {"addtocontents", run_nothing, "mm", 0, NULL},
    {"glossary", run_glossary, NULL, 0, NULL},
    {"starttext", run_context, NULL, 0, NULL},
    {"nomenclature", run_nomenclature, NULL, 0, NULL},
    {"bibliographystyle", run_nothing, "m", 0, NULL},
    {"includegraphics", run_nothing, "saoom", 0, NULL},
    {"epsfig", run_nothing, "m", 0, NULL},
    {"vpageref", run_nothing, "soom", 0, NULL}, /* "on the next page" */
    {"epsfbox", run_nothing, "om", 0, NULL},
    {"epsffile", run_nothing, "om", 0, NULL},
    {"epsfxsize", run_nothing, "=d", 0, NULL},
    {"epsfysize", run_nothing, "=d", 0, NULL},
    {"psfig", run_nothing, "m", 0, NULL},
    {"graphicspath", run_nothing, "m", 0, NULL},
    {"DeclareGraphicsExtensions", run_nothing, "m", 0, NULL},
    {"DeclareGraphicsRule", run_nothing, "mmmm", 0, NULL},
    {"rule", run_nothing, "omm", 0, NULL},
    {"color", run_nothing, "om", 0, NULL},
    {"pagecolor", run_nothing, "om", 0, NULL},
    {"textcolor", run_nothing, "om", 0, NULL},
    {"colorbox", run_nothing, "om", 0, NULL},
    {"fcolorbox", run_nothing, "omm", 0, NULL},
    {"definecolor", run_nothing, "ommm", 0, NULL},
    {"colorlet", run_nothing, "omom", 0, NULL},
    {"rowcolor", run_nothing, "omoo", 0, NULL},
    {"rowcolors", run_nothing, "somomm", 0, NULL},
    {"cellcolor", run_nothing, "omoo", 0, NULL},
    {"columncolor", run_nothing, "omoo", 0, NULL},
    {"arrayrulecolor", run_nothing, "om", 0, NULL},
    {"cline", run_nothing, "m", 0, NULL},
    {"cmidrule", run_nothing, "opm", 0, NULL},
    {"addlinespace", run_nothing, "o", 0, NULL},
    {"multirow", run_nothing, "ommo", 0, NULL},
    {"makebox", run_nothing, "poo", 0, NULL},
    {"framebox", run_nothing, "poo", 0, NULL},
    {"parbox", run_space, "ooom", 0, NULL},
    {"raisebox", run_nothing, "moo", 0, NULL},
    {"scalebox", run_nothing, "mo", 0, NULL},
    {"resizebox", run_nothing, "smm", 0, NULL},
    {"rotatebox", run_nothing, "om", 0, NULL},
    {"shortstack", run_nothing, "o", 0, NULL},
    {"put", run_nothing, "p", 0, NULL},
    {"multiput", run_nothing, "ppm", 0, NULL},
    {"line", run_nothing, "pm", 0, NULL},
    {"vector", run_nothing, "pm", 0, NULL},
    {"circle", run_nothing, "sm", 0, NULL},
    {"oval", run_nothing, "po", 0, NULL},
    {"dashbox", run_nothing, "mpo", 0, NULL},
    {"qbezier", run_nothing, "oppp", 0, NULL},
    {"hyphenation", run_nothing, "m", 0, NULL},
    {"date", run_nothing, "m", 0, NULL},
    {"pretitle", run_nothing, "m", 0, NULL},
    {"posttitle", run_nothing, "m", 0, NULL},
    {"preauthor", run_nothing, "m", 0, NULL},
    {"postauthor", run_nothing, "m", 0, NULL},
    {"predate", run_nothing, "m", 0, NULL},
    {"postdate", run_nothing, "m", 0, NULL},
    {"needspace", run_nothing, "sm", 0, NULL},
    {"Needspace", run_nothing, "sm", 0, NULL},
    {"scalefont", run_nothing, "m", 0, NULL},
    {"hypersetup", run_hypersetup, NULL, 0, NULL},
    {"PYG", run_nothing, "m", 0, NULL},    /* Pygments: {class}{code} */
    {"DUrole", run_nothing, "m", 0, NULL}, /* docutils: {role}{text} */
    {"pdfinfo", run_nothing, "m", 0, NULL},
    {"pdfbookmark", run_nothing, "omm", 0, NULL},
    {"geometry", run_nothing, "m", 0, NULL},
    {"lstdefinelanguage", run_nothing, "omom", 0, NULL},
    {"lstdefinestyle", run_nothing, "mm", 0, NULL},
    {"tikzset", run_nothing, "m", 0, NULL},
    {"tikzstyle", run_style, "m", 0, NULL},
    {"pgfkeys", run_nothing, "m", 0, NULL},
    {"pgfqkeys", run_nothing, "mm", 0, NULL},
    {"pgfplotsset", run_nothing, "m", 0, NULL},
    {"foreignlanguage", run_nothing, "om", 0, NULL},
    {"glslink", run_nothing, "som", 0, NULL},
    {"glsdisp", run_nothing, "som", 0, NULL},
    {"hangpara", run_nothing, "mm", 0, NULL},
    {"tcbset", run_nothing, "m", 0, NULL},
    {"mdfsetup", run_nothing, "m", 0, NULL},
    {"mdfdefinestyle", run_nothing, "mm", 0, NULL},
    {"mdfapptodefinestyle", run_nothing, "mm", 0, NULL},
    {"surroundwithmdframed", run_nothing, "om", 0, NULL},
    {"attachfile", run_nothing, "om", 0, NULL},
    {"textattachfile", run_nothing, "om", 0, NULL},
    {"noattachfile", run_nothing, "o", 0, NULL},
    {"notextattachfile", run_nothing, "o", 0, NULL},
    {"attachfilesetup", run_nothing, "m", 0, NULL},
    {"usekomafont", run_nothing, "m", 0, NULL},
    {"setkomafont", run_nothing, "mm", 0, NULL},
    {"addtokomafont", run_nothing, "mm", 0, NULL},
    {"usesizeofkomafont", run_nothing, "m", 0, NULL},
    {"usefamilyofkomafont", run_nothing, "m", 0, NULL},
    {"useshapeofkomafont", run_nothing, "m", 0, NULL},
    {"useseriesofkomafont", run_nothing, "m", 0, NULL},
    {"KOMAoptions", run_nothing, "m", 0, NULL},
    {"KOMAoption", run_nothing, "mm", 0, NULL},
    {"tcbuselibrary", run_nothing, "m", 0, NULL},
    {"setlist", run_nothing, "som", 0, NULL},
    {"setenumerate", run_nothing, "om", 0, NULL},
    {"captionsetup", run_nothing, "om", 0, NULL},
    {"sisetup", run_nothing, "m", 0, NULL},
    {"theoremstyle", run_nothing, "m", 0, NULL},
    {"theoremheaderfont", run_nothing, "m", 0, NULL},
    {"theorembodyfont", run_nothing, "m", 0, NULL},
    {"fvset", run_nothing, "m", 0, NULL},
    {"UseVerbatim", run_nothing, "om", 0, NULL}, /* it is where it was saved */
    {"BUseVerbatim", run_nothing, "om", 0, NULL},
    {"LUseVerbatim", run_nothing, "om", 0, NULL},
    {"usemintedstyle", run_nothing, "om", 0, NULL},
    {"newcolumntype", run_nothing, "moom", 0, NULL},
    {"titleformat", run_nothing, "smommmmo", 0, NULL},
    {"titlespacing", run_nothing, "smmmmo", 0, NULL},
    {"titlecontents", run_nothing, "mommmmo", 0, NULL},
    {"allsectionsfont", run_nothing, "m", 0, NULL},
    {"sectionfont", run_nothing, "m", 0, NULL},
    {"setmainfont", run_nothing, "omo", 0, NULL},
    {"setsansfont", run_nothing, "omo", 0, NULL},
    {"setmonofont", run_nothing, "omo", 0, NULL},
    {"fontspec", run_fontspec, NULL, 0, NULL},
    {"addfontfeature", run_nothing, "m", 0, NULL},
    {"addfontfeatures", run_nothing, "m", 0, NULL},
    {"fancyhead", run_nothing, "om", 0, NULL},
    {"fancyfoot", run_nothing, "om", 0, NULL},
    {"fancyhf", run_nothing, "om", 0, NULL},
    {"fancypagestyle", run_nothing, "mm", 0, NULL},
    {"lhead", run_nothing, "om", 0, NULL},
    {"chead", run_nothing, "om", 0, NULL},
    {"ihead", run_nothing, "som", 0, NULL},
    {"ohead", run_nothing, "som", 0, NULL},
    {"lehead", run_nothing, "som", 0, NULL},
    {"cehead", run_nothing, "som", 0, NULL},
    {"rehead", run_nothing, "som", 0, NULL},
    {"lohead", run_nothing, "som", 0, NULL},
    {"cohead", run_nothing, "som", 0, NULL},
    {"rohead", run_nothing, "som", 0, NULL},
    {"ifoot", run_nothing, "som", 0, NULL},
    {"ofoot", run_nothing, "som", 0, NULL},
    {"lefoot", run_nothing, "som", 0, NULL},
    {"cefoot", run_nothing, "som", 0, NULL},
    {"refoot", run_nothing, "som", 0, NULL},
    {"lofoot", run_nothing, "som", 0, NULL},
    {"cofoot", run_nothing, "som", 0, NULL},
    {"rofoot", run_nothing, "som", 0, NULL},
    {"rhead", run_nothing, "om", 0, NULL},
    {"lfoot", run_nothing, "om", 0, NULL},
    {"cfoot", run_nothing, "om", 0, NULL},
    {"rfoot", run_nothing, "om", 0, NULL},
    {"makeoddhead", run_nothing, "mmmm", 0, NULL},
    {"makeevenhead", run_nothing, "mmmm", 0, NULL},
    {"makeoddfoot", run_nothing, "mmmm", 0, NULL},
    {"makeevenfoot", run_nothing, "mmmm", 0, NULL},
    {"makepsmarks", run_nothing, "mm", 0, NULL},
    {"makeheadrule", run_nothing, "mmm", 0, NULL},
    {"copypagestyle", run_nothing, "mm", 0, NULL},
    {"makepagestyle", run_nothing, "m", 0, NULL},
    {"chapterstyle", run_nothing, "m", 0, NULL},
    {"settrimmedsize", run_nothing, "mmm", 0, NULL},
    {"setlrmarginsandblock", run_nothing, "mmm", 0, NULL},
    {"setulmarginsandblock", run_nothing, "mmm", 0, NULL},
    {"isopage", run_nothing, "o", 0, NULL},
    {"checkandfixthelayout", run_nothing, "o", 0, NULL},
    {"settocdepth", run_nothing, "m", 0, NULL},
    {"maxtocdepth", run_nothing, "m", 0, NULL},
    {"NeedsTeXFormat", run_nothing, "mo", 0, NULL},
    {"ProvidesPackage", run_nothing, "mo", 0, NULL},
    {"ProvidesClass", run_nothing, "mo", 0, NULL},
    {"ProvidesFile", run_nothing, "mo", 0, NULL},
    {"DefineFamily", run_nothing, "m", 0, NULL},
    {"DefineFamilyMember", run_nothing, "om", 0, NULL},
    {"DeclareComplementaryOption", run_nothing, "mm", 0, NULL},
    {"DeclareUnicodeCharacter", run_nothing, "mm", 0, NULL},
    {"DeclareMathOperator", run_nothing, "smm", 0, NULL},
    {"DeclareMathSymbol", run_nothing, "mmmm", 0, NULL},
    {"DeclareMathAlphabet", run_nothing, "mmmmm", 0, NULL},
    {"DeclareSymbolFont", run_nothing, "mmmmm", 0, NULL},
    {"DeclareFontFamily", run_nothing, "mmm", 0, NULL},
    {"DeclareFontShape", run_nothing, "mmmmmm", 0, NULL},
    {"DeclareTextCommand", run_nothing, "mmom", 0, NULL},
    {"DeclareOldFontCommand", run_nothing, "mmm", 0, NULL},
    {"AtEndDocument", run_nothing, "m", 0, NULL},
    {"regexpatchcmd", run_nothing, "smmmmm", 0, NULL},
    {"AtEndOfPackage", run_nothing, "m", 0, NULL},
    {"AtEndOfClass", run_nothing, "m", 0, NULL},
    {"newfont", run_nothing, "mm", 0, NULL},
    {"newlistof", run_nothing, "mmm", 0, NULL},
    {"floatstyle", run_nothing, "m", 0, NULL},
    {"restylefloat", run_nothing, "sm", 0, NULL},
    {"printindex", run_nothing, "o", 0, NULL},
    {"listoftables", run_nothing, "s", 0, NULL},
    {"listoffigures", run_nothing, "s", 0, NULL},
    {"tableofcontents", run_nothing, "s", 0, NULL},
    {"discretionary", run_nothing, "mmm", 0, NULL},
    {"footnotemark", run_nothing, "o", 0, NULL},
    {"phantom", run_nothing, "m", 0, NULL},
    {"hphantom", run_nothing, "m", 0, NULL},
    {"vphantom", run_nothing, "m", 0, NULL},
    {"noalign", run_nothing, "m", 0, NULL},
    {"omit", run_nothing, NULL, 0, NULL},
    {"VerbatimEnvironment", run_nothing, NULL, 0, NULL},
    {"usepgfmodule", run_nothing, "m", 0, NULL},
    {"aftergroup", run_nothing, "c", 0, NULL},
    {"nonstopmode", run_nothing, NULL, 0, NULL},
    {"includepdf", run_nothing, "om", 0, NULL},
    {"todo", run_nothing, "om", 0, NULL},
    {"htmlimage", run_nothing, "m", 0, NULL}, /* latex2html's */
    {"htmladdimg", run_nothing, "om", 0, NULL},
    {"htmlrule", run_nothing, "so", 0, NULL},
    {"bodytext", run_nothing, "m", 0, NULL},
    {"tableofchildlinks", run_nothing, "so", 0, NULL},
    {"htmladdtonavigation", run_nothing, "m", 0, NULL},
    {"tikz", run_tikz, NULL, 0, NULL},
    {"quad", run_space, NULL, 0, NULL},
    {"qquad", run_space, NULL, 0, NULL},
    {" ", run_space, NULL, 0, NULL},
    {"\t", run_space, NULL, 0, NULL},
    {"", run_space, NULL, 0, NULL},
    {",", run_space, NULL, 0, NULL},
    {";", run_space, NULL, 0, NULL},
    {":", run_space, NULL, 0, NULL},
    {">", run_space, NULL, 0, NULL},
    {"space", run_space, NULL, 0, NULL},
    {"nobreakspace", run_space, NULL, 0, NULL},
    {"bibnamedelima", run_space, NULL, 0, NULL},
    {"bibnamedelimb", run_space, NULL, 0, NULL},
    {"bibnamedelimd", run_space, NULL, 0, NULL},
    {"bibnamedelimi", run_space, NULL, 0, NULL},
    {"enspace", run_space, NULL, 0, NULL},
    {"thinspace", run_space, NULL, 0, NULL},
    {"hfill", run_space, NULL, 0, NULL},
    {"hfil", run_space, NULL, 0, NULL},
    {"dotfill", run_space, NULL, 0, NULL},
    {"hrulefill", run_space, NULL, 0, NULL},
    {"linebreak", run_space, "o", 0, NULL},
    {"tab", run_space, NULL, 0, NULL},
    {"\1~", run_space, NULL, 0, NULL},
    {"bigskip", run_break, NULL, 1, NULL},
    {"medskip", run_break, NULL, 1, NULL},
    {"smallskip", run_break, NULL, 1, NULL},
    {"vfill", run_break, NULL, 1, NULL},
    {"vfil", run_break, NULL, 1, NULL},
    {"newpage", run_break, NULL, 0, NULL},
    {"clearpage", run_break, NULL, 0, NULL},
    {"cleardoublepage", run_break, NULL, 0, NULL},
    {"pagebreak", run_break, "o", 0, NULL},
    {"nopagebreak", run_nothing, "o", 0, NULL},
    {"nolinebreak", run_nothing, "o", 0, NULL},
    {"maketitle", run_break, NULL, 0, NULL},
    {"centerline", run_break, NULL, 0, NULL},
    {"eject", run_break, NULL, 0, NULL},
    {"texorpdfstring", run_readable, NULL, 0, NULL},
    {"mathchoice", run_first, "mmm", 0, NULL},
    {"latexhtml", run_first, "m", 0, NULL}, /* latex2html's */
    {"htmlcite", run_first, "m", 0, NULL},
    {"AtBeginDocument", run_at_begin, NULL, 0, NULL},
    {"AtEndPreamble", run_at_begin, NULL, 0, NULL},
    {"AfterPreamble", run_at_begin, NULL, 0, NULL},
    {"AfterEndPreamble", run_at_begin, NULL, 0, NULL},
    {"char", run_char, NULL, 0, NULL},
    {"ding", run_ding, NULL, 0, NULL},
    {"symbol", run_nothing, "m", 0, NULL},
    {"obeylines", run_obeylines, NULL, 0, NULL},
    {"obeyspaces", run_obeyspaces, NULL, 0, NULL},
    {"tt", run_mono, NULL, 0, NULL},
    {"ttfamily", run_mono, NULL, 0, NULL},
    {"textsuperscript", run_raised, NULL, 0, NULL},
    {"texttt", run_mono, NULL, 1, NULL},
    {"LARGE", run_large, NULL, 0, NULL},
    {"huge", run_large, NULL, 0, NULL},
    {"Huge", run_large, NULL, 0, NULL},
    {"HUGE", run_large, NULL, 0, NULL},
};

/* A space of \obeyspaces is one, however wide a document has it set. */
static const struct command firm[] = {
    {"\1 ", run_space, NULL, 0, NULL},
    {"DoxyCodeLine", run_nothing, NULL, 0, NULL}, /* of doxygen's code */
};

void commands_add(struct document *d)
{
    tex_add_commands(&d->tex, ignored, sizeof ignored / sizeof *ignored,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, firm, sizeof firm / sizeof *firm, MEANING_COMMAND,
                     true);
    tex_define_text(&d->tex, "today", "");
}
