/* A LaTeX document while it is read: the groups that are open, the text that is
 * gathered, and what becomes of it.  Text flows into the body's blocks, or into
 * a title, a footnote or the like, which is then open above the body. */
#ifndef INDEXER_PARSE_LATEX_LATEX_INTERNAL_H
#define INDEXER_PARSE_LATEX_LATEX_INTERNAL_H

#include "indexer/parse/latex/latex.h"
#include "indexer/parse/latex/tex/tex.h"
#include "indexer/parse/outline/outline.h"
#include "indexer/parse/outline/writer.h"

struct document;
struct diversion;
struct work;

/* What text is part of; every group has its own copy. */
struct context {
    int kind; /* enum block_kind */
    struct slice info;
    unsigned depth;   /* of lists in lists */
    unsigned ordinal; /* of the next item; 0: not numbered */
    bool item;        /* an item of a definition list has begun */
    bool mono;        /* typewriter: no ligatures */
    bool silent;      /* nothing of it is text */
    bool math;        /* of \ensuremath and the like */
    unsigned grid;    /* number of the table that & and \\ belong to */
    /* Fields of bytefield that say nothing else count their bits so. */
    bool bits_from_right;
};

/* What is done when a group ends. */
enum group_kind {
    GROUP_BRACE,
    GROUP_SEMI, /* \begingroup */
    GROUP_ENVIRONMENT,
    GROUP_FLOW, /* an argument whose text is gathered by itself */
    GROUP_LINK, /* an argument that is a link */
    GROUP_BOX   /* an argument set by itself */
};

struct group {
    int kind; /* enum group_kind */
    struct context outer;
    uint32_t name;                         /* of an environment: its symbol */
    const struct environment *environment; /* built in; NULL */
    struct token opened;
    size_t block, mark; /* of a link: where its text begins */
    struct slice url;
    bool entry;                  /* a reference entry ends with it */
    struct diversion *diversion; /* what is in it is saved in a box */
};

/* What becomes of text gathered by itself. */
enum flow_kind {
    FLOW_BODY,
    FLOW_TITLE,    /* of a section */
    FLOW_NAME,     /* the document's title */
    FLOW_FOOTNOTE, /* stands after the paragraph */
    FLOW_CAPTION,
    FLOW_INDEX,    /* an entry of the index */
    FLOW_CONTENTS, /* a line of the contents */
    FLOW_BOILERPLATE
};

struct flow {
    int kind; /* enum flow_kind */
    struct writer writer;
    uint16_t file; /* of the text so far */
    struct token opened;
    size_t blocks; /* that were taken from it before that text */
    size_t line; /* bytes of text before that which is being read, of a table */
    /* Of a title: */
    bool entry; /* of a reference entry, which is open */
    int level;
    struct slice number;
    size_t prefix; /* bytes of text that the number has */
    size_t first_ref;
    const char *counter; /* of a caption: figure, table */
};

/* A footnote that waits for the end of its paragraph. */
struct aside {
    int kind; /* of its block */
    struct slice text;
    struct span span;
    uint16_t file;
};

struct label {
    struct slice name;
    struct slice number;  /* "3.2"; empty: not known */
    struct slice what;    /* "section", "figure", ... */
    struct slice title;   /* of its section */
    struct slice heading; /* the same without its number */
    bool defined;
};

/* \newtheorem */
struct theorem {
    uint32_t name; /* symbol of the environment */
    struct slice title, counter;
};

/* How things were where a package begins: so they are where it ends. */
struct package_mark {
    size_t groups;
    uint8_t catcodes[256];
    uint16_t file;
    bool is_class;
    struct tokens options;       /* that it is given */
    struct slice family, prefix; /* kvoptions; none: made of the file's name */
};

/* A built-in environment.  `before` is as a command's. */
struct environment {
    const char *name;
    void (*begin)(struct document *d, const struct environment *environment,
                  struct token call);
    void (*end)(struct document *d, struct group *group);
    const char *before;
    int value;
    const char *text;
    int firm; /* wins over a document's own: 1, one that takes one argument;
                 2, any */
};

enum {
    MAX_FLOWS = 200,
    MAX_ASKED = 5000 /* times that a file is asked for */
};

/* How the packages and classes of the manual's own are read. */
enum caution {
    FOLLOW_PACKAGES,  /* as TeX does */
    READ_DEFINITIONS, /* only what they define, in whatever conditional */
    SKIP_PACKAGES,    /* not at all */
    CAUTIONS
};

/* \crefname{counter}{name}{names} */
struct reference_name {
    struct slice counter, name;
};

/* What is labelled, and what a \label here would be of (latex_labels.c). */
struct labels {
    struct label *all; /* [count] */
    size_t count, capacity;
    struct slice number, what; /* "3.1", "Figure" */
    struct slice section;      /* its title */
    struct slice heading;      /* the same without its number */
    struct slice *waiting;     /* [waiting_count] labels within a title */
    size_t waiting_count, waiting_capacity;
    struct reference_name *names; /* [name_count] */
    size_t name_count, name_capacity;
};

/* Works that may be cited (latex_bibliography.c). */
struct bibliography {
    size_t items;       /* \bibitem so far */
    struct slice files; /* \addbibresource: names, one a line */
    struct work *works; /* [count] */
    size_t count, capacity, at;
    bool cites_all; /* \nocite{*} */
};

/* What \index calls sections (latex_index.c). */
struct index {
    struct page_alias *entries; /* [count] */
    size_t count, capacity;
    size_t settled;   /* of them, those whose section is known */
    struct slice url; /* of the last of these; empty: none */
    uint32_t node;    /* its section */
    char signs[5];    /* of level, actual, encap, quote */
    bool styled;      /* a style was looked for */
};

/* What is saved in a box register, but for \sbox and \hbox (latex_boxes.c). */
struct box {
    uint32_t name; /* symbol */
    struct outline_piece *content;
};

/* A line that the document adds to its contents by hand (latex_contents.c). */
struct contents {
    bool waits;  /* for what comes next */
    bool within; /* the paragraph had begun */
    int level;
    struct slice title;
    struct span span; /* of the command */
    uint32_t file;
    bool has_heading;
    size_t heading_blocks; /* blocks when the last heading came */
};

/* What of code is LaTeX (latex_escapes.c). */
struct escapes {
    char open[8], close[8]; /* around it; "": nothing */
    bool comments;          /* and those of the code's language, from // on */
};

/* Those of an environment of the document's own. */
struct escaped {
    uint32_t environment; /* symbol */
    struct escapes escapes;
};

/* The field of the package bytefield that is being read. */
struct bits {
    int64_t width;  /* of its lines */
    int64_t lowest; /* its first bit's number */
    int64_t at;     /* of the line so far */
    int64_t each;   /* of each part of \bitboxes */
    unsigned row;   /* that line */
    unsigned grid;  /* its table, if there is a line of their numbers */
    unsigned laps;  /* open: what takes no room */
    bool from_right;
};

struct document {
    struct tex tex;
    struct outline outline;
    const struct latex_reader *reader;

    struct group *groups;
    size_t group_count, group_capacity;
    size_t diversions;            /* groups that fill a box */
    struct flow flows[MAX_FLOWS]; /* flows[0]: the body */
    size_t flow_count;
    struct context in;
    struct aside *asides;
    size_t aside_count, aside_capacity;
    unsigned grids;        /* tables so far */
    unsigned rows;         /* of the table so far */
    unsigned heads;        /* of these, headers */
    unsigned last_ordinal; /* behind the last numbered list */
    size_t rows_kept;   /* of the table: how far its text is no head or foot */
    size_t asides_kept; /* and its captions and footnotes */
    bool captioned;     /* it has one: a further one is of the same number */
    bool float_named; /* the float has its caption, not only its parts theirs */
    bool first_head;  /* \endfirsthead was there */
    unsigned heads_given; /* that the next table has by its settings */
    unsigned spanned;     /* columns that the cell takes besides its own */
    struct bits bits;

    struct labels labels;
    struct bibliography bibliography;
    struct index index;
    struct contents contents;
    struct escapes escapes;  /* of all listings */
    struct escaped *escaped; /* [escaped_count] */
    size_t escaped_count, escaped_capacity;

    struct slice title; /* the document's */
    struct span title_span;
    uint16_t title_file;
    bool
        large; /* the paragraph being read is set so, and there is no title so far */
    /* Of the files being read by \import and \subfile, each with its "/". */
    struct slice folders[MAX_FILE_DEPTH];
    size_t folder_count;
    struct slice only; /* \includeonly: names, one a line */
    bool is_only;
    unsigned asked_count;   /* of times that a file was asked for */
    struct tokens at_begin; /* \AtBeginDocument */
    struct box *boxes;
    size_t box_count, box_capacity;
    struct theorem *theorems;
    size_t theorem_count, theorem_capacity;
    struct package_mark *marks; /* [packages] being read */
    size_t packages, mark_capacity;
    struct tokens class_options; /* of \documentclass */
    struct slice pdf_title;      /* \hypersetup{pdftitle=..} */
    bool expl;                   /* \ExplSyntaxOn */
    bool packaged;               /* a package was read */
    enum caution caution;
    bool is_document;     /* has a \documentclass */
    bool chapters_follow; /* ximera: an activity is one */
    bool begun;           /* \begin{document} */
    bool chaptered;       /* its class has chapters */
    bool classed;         /* its class is known */
    bool slides;          /* of beamer */
    bool unnumbered;      /* \frontmatter, \backmatter */
    bool all_unnumbered;  /* memoir: and what is in its chapters */
    bool appendix;
    bool documented;      /* a .dtx file is read as documentation */
    bool self_documented; /* the document's own file was, once */
    bool described;       /* only what is to be described of it */
    uint32_t last;        /* the character put last, for ligatures; 0: none */
    struct token last_token;
};

static inline struct document *document_of(struct tex *tex)
{
    return tex->document;
}
static inline struct flow *document_flow(struct document *d)
{
    return &d->flows[d->flow_count - 1];
}

/* ---- Text (latex_document.c) ---- */

/* UTF-8 that stands at (or was made at) the token. */
void document_put(struct document *d, struct token token, struct slice text);
void document_put_text(struct document *d, struct token token,
                       const char *text);
void document_space(struct document *d);
/* At the end of a paragraph "\" is an escape character again, if none is. */
void document_restore_escape(struct document *d, struct token token);
/* Ends the paragraph, or what else is being gathered as a block. */
void document_flush(struct document *d);
/* A block of its own. */
void document_block(struct document *d, int kind, struct slice text,
                    struct slice info, struct token place);
bool document_is_body(const struct document *d);
struct slice document_keep(struct document *d, struct slice text);

/* ---- Groups (latex_document.c) ---- */

struct group *document_open(struct document *d, int kind, struct token token);
void document_close(struct document *d);
/* Undoes all groups but the first `count`. */
void document_close_to(struct document *d, size_t count);
/* The argument that follows is a group of that kind. */
struct group *document_open_argument(struct document *d, int kind,
                                     struct token call);
/* Gathers the argument that follows by itself; NULL: nested too deep. */
struct flow *document_open_flow(struct document *d, int kind,
                                struct token call);
struct group *document_environment(struct document *d);
/* Reads all there is. */
void document_read(struct document *d);
/* A command that is not known (latex_unknown.c): what stands in its braces is text, its
 * options are not; where it is written as a word is, its name stands for it. */
void unknown_run(struct document *d, struct token token);

/* ---- The commands of each part ---- */

void text_add(struct document *d);       /* latex_symbols.c */
void text_add_logos(struct document *d); /* those of the class amsldoc */
/* The letter under an accent that `text`, from behind its backslash on, begins
 * with; how many bytes it is written with, 0: none. */
size_t text_put_accent(struct slice text, struct buf *ret);
void commands_add(struct document *d); /* latex_commands.c */
/* Of the options of code of listings: its caption, or title, and label, to be read
 * behind the code. */
void listings_caption(struct tex *tex, const struct tokens *options,
                      struct token call, struct tokens *ret);
void settings_add(struct document *d);  /* latex_settings.c */
void boxes_add(struct document *d);     /* latex_boxes.c */
void loops_add(struct document *d);     /* latex_loops.c */
void sections_add(struct document *d);  /* latex_sections.c */
void blocks_add(struct document *d);    /* latex_blocks.c */
void groups_add(struct document *d);    /* latex_environments.c */
void theorems_add(struct document *d);  /* latex_theorems.c */
void lists_add(struct document *d);     /* latex_lists.c */
void glossary_add(struct document *d);  /* latex_glossary.c */
void tabular_add(struct document *d);   /* latex_tabular.c */
void grids_add(struct document *d);     /* latex_grids.c */
void bytefield_add(struct document *d); /* latex_bytefield.c */
void tcolorbox_add(struct document *d); /* latex_tcolorbox.c */
void sphinx_add(struct document *d);    /* latex_sphinx.c */
void subfloats_add(struct document *d); /* latex_subfloats.c */
void beamer_add(struct document *d);    /* latex_beamer.c */
void ximera_add(struct document *d);    /* latex_ximera.c, for its classes */
void beamer_skip_overlay(struct document *d);
/* Something takes room in a line of a bytefield, nobody knows how much: the bits of the
 * line's further parts are not known. */
void bytefield_lose_count(struct document *d);
void algorithms_add(struct document *d); /* latex_algorithms.c */
/* latex_algorithm2e.c; begins its code, if the document uses this package. */
void algorithm2e_add(struct document *d);
bool algorithm2e_begin(struct document *d, struct token call);
/* latex_boxes.c: the group that saves what is in it ends, by its own brace or with
 * what is around it. */
void boxes_end(struct document *d, bool by_itself);
void boxes_free(struct document *d);
void verbatim_add(struct document *d);     /* latex_verbatim.c */
void verb_add(struct document *d);         /* latex_verb.c */
void listings_add(struct document *d);     /* latex_listings.c */
void escapes_add(struct document *d);      /* latex_escapes.c */
void written_add(struct document *d);      /* latex_written.c */
void math_add(struct document *d);         /* latex_math.c */
void labels_add(struct document *d);       /* latex_labels.c */
void index_add(struct document *d);        /* latex_index.c */
void contents_add(struct document *d);     /* latex_contents.c */
void inputs_add(struct document *d);       /* latex_inputs.c */
void options_add(struct document *d);      /* latex_options.c */
void bibliography_add(struct document *d); /* latex_bibliography.c */
/* \bibitem[label]: what is printed of it. */
void citations_label(struct document *d, struct tokens *label, struct buf *ret);
void dtx_add(struct document *d);  /* latex_dtx.c */
void expl_add(struct document *d); /* latex_expl.c */
/* Takes what an unknown name of expl3 says that it takes; false: it is none. */
bool expl_run(struct document *d, struct token call);
/* Ends expl3's syntax, where a package or the preamble ends. */
void expl_end(struct document *d);

/* latex_words.c */
struct words {
    size_t source; /* in the files that were read */
    size_t read;   /* in the tree */
};
struct words words_count(const struct document *d, const struct tree *tree);

/* latex_entries.c */
void entries_add(struct document *d);
void entries_cnltx(struct document *d); /* the class cnltx-doc */

/* latex_sections.c */
void sections_end_title(struct document *d, struct flow *flow);
/* The argument that follows is the title of the reference entry that is open. */
void sections_open_entry(struct document *d, struct token call);
void sections_class(struct document *d, struct slice name);
/* The number that counter `name` prints, in the document's memory. */
struct slice sections_number(struct document *d, const char *name);

/* Of section 1, of part -1; -2: it is none. */
int sections_level(struct slice name);
/* Is there a command of that kind in what the macro does? */
bool sections_begun_by(const struct document *d, const struct macro *macro);

/* latex_contents.c */
void contents_end_line(struct document *d, struct flow *flow);
/* A heading was put. */
void contents_heading(struct document *d);
/* The paragraph is about to be put; true: it became a heading. */
bool contents_paragraph(struct document *d, struct slice text, struct span span,
                        uint32_t file);

/* latex_environments.c */
void environments_add(struct document *d, const struct environment *list,
                      size_t count);
/* The symbol of the macro \endname; UINT32_MAX: there is none. */
uint32_t environments_end_macro(const struct tex *tex, struct slice name);
/* Adds what ends the open environment of that symbol, whatever \end{...} means. */
void environments_add_end(const struct tex *tex, uint32_t symbol,
                          struct token call, struct tokens *ret);
/* Pushes what \end{name} does where an environment of the document's own is open that
 * is called so; false: none is. */
bool environments_push_end(struct document *d, struct slice name,
                           struct token call);
bool environments_is_open(struct document *d, struct slice name);

/* latex_blocks.c */
void blocks_paragraph(struct document *d);
/* What follows is of that kind, until the group ends. */
void blocks_begin_kind(struct document *d, int kind, struct slice info);
void blocks_end_kind(struct document *d, struct group *group);
/* The same, of a note. */
void blocks_begin_note(struct document *d,
                       const struct environment *environment,
                       struct token call);
/* Of what is being read. */
struct writer *blocks_writer(struct document *d);
/* Columns for so many lists around it. */
unsigned blocks_indent(unsigned depth);
/* The environment that is open is the float of minted and its kin. */
void blocks_begin_listing(struct document *d, struct token call);
/* around: what it stands in */
void blocks_end_caption(struct document *d, struct flow *flow,
                        const struct context *around);

/* latex_tabular.c */
void tabular_begin(struct document *d, const struct environment *environment,
                   struct token call);
void tabular_end(struct document *d, struct group *group);
void tabular_row(struct document *d);
void tabular_cell(struct document *d);

/* latex_math.c */
void math_shift(struct document *d, struct token token);

/* latex_verbatim.c: a passage as it is written, from the tokens of an argument. */
void verbatim_write(const struct document *d, const struct tokens *list,
                    struct buf *ret);
/* Lines that stand as they are written, a block of their own where that may be;
 * `place` is that of `raw`. */
void verbatim_put(struct document *d, struct slice raw, struct slice language,
                  struct token place);
/* What the option `name` of the list is set to, without its braces; empty: it is
 * not. */
struct slice verbatim_option(struct document *d, const struct tokens *list,
                             const char *name);
/* The option `language` without its dialect. */
struct slice verbatim_language(struct document *d, const struct tokens *list);
/* The tokens up to \end{name}, where a file cannot be read. */
void verbatim_read_tokens(struct document *d, struct slice name,
                          struct tokens *ret);
/* Reads an environment that is not known as code, if it holds a document's preamble or
 * what TeX could not set as text. */
bool verbatim_takes(struct document *d, struct slice name, struct token call);
/* Is the environment of that name code? */
bool verbatim_is(struct document *d, struct slice name);
/* The name of the environment that is open. */
struct slice verbatim_name(struct document *d);
/* The environment of the document's own that the file has around what macros
 * opened in it; NULL: there is none. */
const struct group *verbatim_wrapper(struct document *d, struct token call);
/* \end{name} is read next. */
void verbatim_push_end(struct document *d, struct slice name,
                       struct token call);

/* latex_verb.c: if `call` is \verb or \url: what it is to show, a token a character. */
bool verb_in_formula(struct document *d, struct token call, struct tokens *ret);
/* |x| stands as it is written from \begin{document} on. */
void verb_between_bars(struct document *d);
/* hyperref's addresses write a sign that is TeX's own with a backslash or without. */
void verb_unescape_address(struct buf *address);

/* latex_escapes.c */
/* What these options say of escapes, over what is said already. */
void escapes_set(struct document *d, const struct tokens *options,
                 struct escapes *ret);
/* What the code of a macro says, `depth` macros deep. */
void escapes_look(struct document *d, const struct tokens *code, int depth,
                  struct escapes *ret);
/* Code of a file, `text` from `place` on, with what is escaped read. */
void escapes_write(struct document *d, const struct escapes *escapes,
                   struct slice text, struct token place, struct buf *ret);
/* What the command stands for, if it is a sign; else NULL (latex_symbols.c). */
const char *text_sign(const struct command *command);

/* latex_written.c */
/* Writes what stands up to \end{name} to the stream `key`. */
void written_take(struct document *d, struct slice name, struct slice key,
                  struct token call);
/* Whether verbatim's \verbatim@processline writes each line to a file; the
 * stream's key. */
bool written_by_line(struct document *d, struct buf *ret_key);

/* latex_labels.c */
void labels_define(struct document *d, struct slice name);
/* Do definitions leave citations as they are?  Those of a package of the manual's folder
 * would look for what an earlier run of LaTeX has written. */
void labels_keep_citations(struct document *d, bool keep);
/* What notes beside the text are stays, while packages are read. */
void blocks_keep_notes(struct document *d, bool keep);
void labels_settle(struct document *d); /* those met within a title */
void labels_resolve(struct document *d);
/* \refstepcounter */
void labels_step(struct document *d, const char *counter);

/* latex_index.c */
/* The section of the entries so far is the one that is being read. */
void index_settle(struct document *d);
void index_end_entry(struct document *d, struct flow *flow);
/* The entries as aliases of the page. */
void index_emit(const struct document *d, struct tree *tree);

/* latex_dtx.c */
bool dtx_is(struct slice text);
void dtx_read(struct document *d, uint16_t file);

/* latex_inputs.c */
/* The names (one a line) of a file that is to be read; the first that is there
 * is.  False: none is. */
bool inputs_open(struct document *d, struct slice names, struct token call);
/* The body of a document of its own, in which names are of its folder first. */
bool inputs_open_subfile(struct document *d, struct slice name,
                         struct token call);
/* The same, but the file is not read yet. */
bool inputs_fetch(struct document *d, struct slice names, struct token call,
                  uint16_t *ret_file);
/* The same, also of a file that is being read (a .dtx by its own driver). */
bool inputs_fetch_again(struct document *d, struct slice names,
                        struct token call, uint16_t *ret_file);
/* The same as inputs_fetch of a name as it is written, with and without the ending; what is not
 * there is reported. */
bool inputs_fetch_named(struct document *d, struct slice name,
                        const char *ending, struct token call,
                        uint16_t *ret_file);
/* The same as inputs_open of the package or class "name.sty", which is given these
 * options (NULL: none); one that was asked for before is not read again. */
bool inputs_open_package(struct document *d, struct slice file,
                         const struct tokens *options, struct token call);
/* Of each of these packages, separated by commas. */
void inputs_open_packages(struct document *d, struct slice names,
                          const struct tokens *options, struct token call);

/* latex_options.c */
/* The options of the class or package "name.sty": what was passed to it before,
 * and these. */
struct tokens options_given(struct document *d, struct slice file,
                            const struct tokens *options);

#endif
