/* TeX's mouth and as much of its gullet as documents need (The TeXbook,
 * chapters 7, 8 and 20): files in, unexpandable tokens out.
 *
 * Nothing here aborts.  Input is a stack of files and token lists; whatever
 * grows by what a document does (the stack, expansions, what is defined) has a
 * budget, and when one is used up the token lists are dropped and reading goes
 * on at the file's next paragraph.  No function calls itself over the input.
 *
 * Assignments are undone when the group ends that they were made in: what was
 * is kept on a stack with the level it was made at, as TeX does with
 * eq_level. */
#ifndef INDEXER_PARSE_LATEX_TEX_TEX_H
#define INDEXER_PARSE_LATEX_TEX_TEX_H

#include "base/mem.h"
#include "indexer/parse/latex/tex/tex_token.h"
#include "indexer/parse/text/transcode.h"

struct tex;
struct stream;

/* ---- What names mean ---- */

/* How to take one argument of a macro. */
struct argument {
    char kind; /* m: one; o: optional in brackets; s: star; d: optional between
                  two characters; r: between two characters; l: until a brace;
                  u: until the characters of `text`; t: an optional character;
                  v: as written */
    uint32_t open, close;
    struct tokens text; /* a default, or what ends it */
    bool has_default;
};

struct macro {
    struct argument *arguments; /* [argument_count]; none: by the pattern */
    uint32_t argument_count;
    struct tokens pattern; /* with CAT_MATCH */
    struct tokens body;    /* with CAT_MATCH; capacity: define_append's room */
    bool ends_math;        /* its body may end a formula */
    bool is_short; /* \def without \long: no paragraph is in an argument */
};

/* A command that is built in.  `before` says what follows the name and is of
 * no account: s star, o [..], m one argument, p (..), d dimension, g glue, n
 * number, b "to" dimension, r rule, = equals sign, c a name. */
struct command {
    const char *name;
    void (*run)(struct tex *tex, const struct command *command,
                struct token call);
    const char *before;
    int value;        /* the handler's own */
    const char *text; /* the handler's own */
};

enum meaning_kind {
    MEANING_NONE,
    MEANING_MACRO,
    MEANING_EXPANDS, /* a command of the gullet's */
    MEANING_COMMAND, /* one of the document's */
    MEANING_CHARACTER,
    MEANING_COUNT, /* registers; index */
    MEANING_DIMENSION,
    MEANING_TOKENS
};

struct meaning {
    uint8_t kind;
    bool firm;      /* definitions leave it as it is */
    bool heading;   /* so do those of plain TeX, where it has an argument */
    uint16_t level; /* of the group it was made in; 0: global */
    union {
        struct macro *macro;
        const struct command *command;
        struct {
            uint32_t value;
            uint8_t cat;
        } character;
        uint32_t index;
    };
};

struct environment;

struct symbol {
    struct slice name; /* without "\"; "\1x": the active character x */
    uint64_t hash;
    struct meaning meaning;
    const struct environment *environment; /* built in; NULL */
};

/* A value that a group has changed: restored when it ends. */
struct saved {
    uint32_t symbol; /* or UINT32_MAX: a category code; UINT32_MAX-1: count */
    uint32_t index;
    int64_t value;
    struct meaning meaning;
    const struct environment *environment;
};

/* ---- Input ---- */

/* A file that is read; `text` is UTF-8. */
struct tex_file {
    struct slice path;  /* as the tree has it; "": the main file */
    struct slice bytes; /* as it is on disk */
    struct transcoded transcoded;
    int encoding;
};

enum mouth_state { MOUTH_NEW_LINE, MOUTH_MIDDLE, MOUTH_SKIP };

struct input {
    struct tokens list; /* a token list ... */
    size_t at;          /* (or place in the file's text) */
    size_t end;         /* of the file's text */
    bool is_file;       /* ... or a file */
    uint8_t state;      /* enum mouth_state */
    uint16_t file;
    size_t floor; /* of a file: what was read before is in lists below */
    uint32_t condition_count; /* when it began */
    uint32_t
        then; /* 1 + what of a written file comes when it ends; 0: nothing */
    void (*ended)(struct tex *tex);
};

struct condition {
    bool taken;   /* a branch of it was */
    int64_t left; /* \or's until the branch of an \ifcase */
};

enum {
    MAX_INPUTS = 5000,     /* files and lists on the stack */
    MAX_GROUPS = 5000,     /* nested */
    MAX_CONDITIONS = 5000, /* nested */
    MAX_EXPANSIONS = 500,  /* that read what others expand to, nested */
    MAX_FILES = 2000,      /* read for one document */
    MAX_FILE_DEPTH = 50,   /* of files in files */
    MAX_STORED = 8 << 20,  /* tokens in macros */
    MAX_BURST = 100000,    /* steps without a token of a file */
    MAX_ARGUMENTS = 9,
    MAX_REGISTERS = 32768,
    MAX_REWINDS = 16, /* places where a branch without end is read after all */
    MAX_REPORTS = 50
};

/* Counter `counter` is 0 again when `within` is stepped. */
struct reset {
    uint32_t counter, within; /* registers */
};

struct tex {
    struct arena arena; /* names, macros */
    struct symbol *symbols;
    uint32_t symbol_count;
    size_t symbol_capacity;
    uint32_t *slots; /* open addressing; 0: free, else 1 + symbol */
    uint32_t slot_count;

    uint8_t catcodes[256];
    uint32_t wide_active; /* a character beyond ASCII that is active; 0: none */
    struct saved *saved;
    size_t saved_count, saved_capacity;
    size_t *levels; /* [level] saved_count where the group began */
    size_t level_capacity;
    uint32_t level;

    struct input *inputs;
    size_t input_count, input_capacity;
    size_t file_depth; /* files among them */
    size_t top_file;   /* 1 + index of the topmost file; 0: none */
    unsigned abandon_count;
    struct condition *conditions;
    size_t condition_count, condition_capacity;

    struct tex_file *files; /* [file_count] */
    size_t file_count, file_capacity;

    int64_t *counts; /* of MEANING_COUNT and MEANING_DIMENSION */
    uint32_t count_count;
    size_t count_capacity;
    struct reset *resets; /* [reset_count] */
    size_t reset_count, reset_capacity;
    struct tokens *registers; /* of MEANING_TOKENS */
    uint32_t register_count;
    size_t register_capacity;

    struct stream *streams; /* [stream_count] files that are written */
    size_t stream_count, stream_capacity;

    struct tokens scratch[MAX_ARGUMENTS + 1]; /* arguments being read */
    size_t stored;                            /* tokens in macros */
    uint64_t steps, max_steps;
    uint64_t burst;
    unsigned edefs;      /* being read, in each other */
    unsigned expansions; /* likewise: each is some frames of the C stack */
    /* Groups and branches being read, in each other: TeX's scanner_status.
     * While there are any, the end of a file is the end of what they get. */
    unsigned absorbing;
    unsigned rewind_count; /* conditionals that their file never closes */
    bool global;           /* \global was met */
    bool is_long;          /* \long was */
    bool has_after;
    struct token after;                 /* \afterassignment */
    bool classed;                       /* \documentclass: it is LaTeX */
    bool stopped;                       /* \end{document}, \bye */
    bool spent;                         /* all steps are used up */
    void (*abandoned)(struct tex *tex); /* a budget was used up */

    struct buf reports; /* a line each */
    unsigned report_count;

    uint32_t par, end, begin, relax, no_value, end_of; /* symbols */
    uint32_t body_name;                                /* environ's \\BODY */
    void *document; /* the reader's own: latex_internal.h */
};

void tex_init(struct tex *tex);
void tex_free(struct tex *tex);

/* Adds a line "PATH: at byte N: ..." to what is reported. */
void tex_report(struct tex *tex, struct token where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Names (names.c) ---- */

uint32_t tex_symbol(struct tex *tex, struct slice name);
/* The name of the character where it is active. */
uint32_t tex_active_symbol(struct tex *tex, uint32_t c);
uint32_t tex_symbol_of(struct tex *tex, const char *name);
/* UINT32_MAX: the name was never met. */
uint32_t tex_find_symbol(const struct tex *tex, struct slice name);
/* The symbol itself: valid until another name is met. */
struct symbol *tex_symbol_at(struct tex *tex, const char *name);
/* Undone at the end of the group, unless `global`. */
void tex_define(struct tex *tex, uint32_t symbol, struct meaning meaning,
                bool global);
void tex_set_catcode(struct tex *tex, unsigned byte, int cat, bool global);
void tex_set_count(struct tex *tex, uint32_t index, int64_t value, bool global);
void tex_open_group(struct tex *tex);
void tex_close_group(struct tex *tex);
/* A register of its own; its index. */
uint32_t tex_new_count(struct tex *tex);
void tex_add_commands(struct tex *tex, const struct command *commands,
                      size_t count, int kind, bool firm);
/* Those of them that are still what they were: nothing defines them anew. */
void tex_keep_commands(struct tex *tex, const struct command *commands,
                       size_t count, bool keep);
/* The macro `name` without parameters that has this text as its body. */
void tex_define_text(struct tex *tex, const char *name, const char *body);

static inline const struct meaning *tex_meaning(const struct tex *tex,
                                                struct token token)
{
    return &tex->symbols[token.value].meaning;
}

/* ---- Mouth (tex_mouth.c) ---- */

/* The next token of the file at the top of the stack; false at its end. */
bool mouth_next(struct tex *tex, struct input *input, struct token *ret);
/* Appends the letters and signs that come next, up to anything else. */
void mouth_plain(struct tex *tex, struct input *input, struct tokens *ret);
/* Passes over text, in which nothing is to be done: as it stands, white space
 * included; empty: something else is next. */
struct slice mouth_text(struct tex *tex, struct input *input);

/* ---- Gullet (tex_gullet.c) ---- */

void tex_push_file(struct tex *tex, uint16_t file);
/* Takes the list's items over.  NULL: nothing was pushed. */
struct input *tex_push(struct tex *tex, struct tokens list);
/* ... which in an \edef is not expanded again, as what \the makes. */
void tex_push_frozen(struct tex *tex, struct tokens list);
void tex_unread(struct tex *tex, struct token token);
struct token tex_next(struct tex *tex);          /* unexpanded */
struct token tex_next_expanded(struct tex *tex); /* unexpandable */
/* The next but spaces. */
struct token tex_next_solid(struct tex *tex);
/* Expands a macro or runs a command of the gullet; `token` is one. */
void tex_expand(struct tex *tex, struct token token);
bool tex_is_expandable(const struct tex *tex, struct token token);
/* Between these `token` reads tokens expanded, which may begin another such;
 * false, after a report and tex_abandon: there are MAX_EXPANSIONS, and nothing
 * is to be ended. */
bool tex_begin_expansion(struct tex *tex, struct token token);
void tex_end_expansion(struct tex *tex);
/* Drops all token lists and reads on at the next paragraph of the file. */
void tex_abandon(struct tex *tex);
/* Takes the file at the top of the stack off it. */
void tex_end_file(struct tex *tex);

/* ---- Arguments (arguments.c) ---- */

/* Reads one argument, without its braces, and appends it. */
void tex_read_argument(struct tex *tex, struct tokens *ret);
/* ... of \href, \index and their kin, in which "%" is a character where the
 * argument ends in its line. */
void tex_read_address(struct tex *tex, struct tokens *ret);
/* Reads the rest of a group whose brace was read. */
void tex_read_group(struct tex *tex, struct tokens *ret);
/* The end of all input or, left there, of a list. */
bool tex_at_end(struct tex *tex, struct token token);
/* {x} from `begin` on becomes x. */
void tex_strip_braces(struct tokens *list, size_t begin);
/* Ends a list that ran to the end of all input where its first paragraph, from
 * `from` on, ends; the rest is read again. */
void tex_cut_runaway(struct tex *tex, struct tokens *list, size_t from,
                     struct token opened);
/* [..]; false: there is none. */
bool tex_read_optional(struct tex *tex, struct tokens *ret);
/* Reads what stands between these two characters; false: the first is not next
 * (tex_macro.c). */
bool tex_read_pair(struct tex *tex, uint32_t open, uint32_t close,
                   struct tokens *ret);
/* Reads `character` if it is next. */
bool tex_read_character(struct tex *tex, uint32_t character);
/* Reads the word (as in "by", "to") if it is next. */
bool tex_read_word(struct tex *tex, const char *word);
void tex_skip_spaces(struct tex *tex);
/* Skips what a command's `before` says. */
void tex_skip_before(struct tex *tex, const char *before);
/* Reads on to the end of a group that is open, expanding what it holds. */
void tex_read_expanded(struct tex *tex, struct tokens *ret);
/* Reads one argument, expanded, as text. */
void tex_read_text(struct tex *tex, struct buf *ret);
/* Expands a list, as text. */
void tex_expand_text(struct tex *tex, const struct tokens *list,
                     struct buf *ret);
/* A list as it was written, nearly. */
void tex_write_tokens(const struct tex *tex, const struct tokens *list,
                      struct buf *ret);
void tex_write_token(const struct tex *tex, struct token token,
                     struct buf *ret);
/* Pushes text as characters of category 12 (spaces 10) made at `call`. */
void tex_push_text(struct tex *tex, struct slice text, struct token call);
/* Adds the command of that name, made at `call`. */
void tex_add_name(struct tex *tex, const char *name, struct token call,
                  struct tokens *ret);
/* Adds, or pushes, LaTeX as it is read in a package, made at `call`. */
void tex_add_source(struct tex *tex, struct slice text, struct token call,
                    struct tokens *ret);
void tex_push_source(struct tex *tex, struct slice text, struct token call);
/* Reads the name that \newcommand and the like define. */
bool tex_read_name(struct tex *tex, struct token *ret);
/* The text of the file up to `end` as it stands, which is passed over; false:
 * the next token is not a file's. */
bool tex_read_raw(struct tex *tex, const char *end, struct slice *ret,
                  struct token *ret_place);
bool tex_to_file(struct tex *tex, struct input **ret_file);

/* ---- The commands of each part ---- */

void define_add(struct tex *tex);     /* tex_define.c */
void newcommand_add(struct tex *tex); /* tex_newcommand.c */
void etoolbox_add(struct tex *tex);   /* tex_etoolbox.c */
void keys_add(struct tex *tex);       /* tex_keys.c */
void append_add(struct tex *tex);     /* tex_append.c */
void expand_add(struct tex *tex);     /* tex_expand.c */
void condition_add(struct tex *tex);  /* tex_condition.c */
void packages_add(struct tex *tex);   /* tex_packages.c */
void environ_add(struct tex *tex);    /* tex_environ.c */
void streams_add(struct tex *tex);    /* tex_streams.c */
void babel_add(struct tex *tex);      /* tex_babel.c */
/* The document asks for the package or class FILE, as amsmath.sty. */
void packages_asked(struct tex *tex, struct slice file,
                    const struct tokens *options);
/* Has it asked for that before? */
bool packages_is_asked(const struct tex *tex, struct slice file);
void number_add(struct tex *tex);    /* tex_number.c */
void registers_add(struct tex *tex); /* tex_registers.c */
void counters_add(struct tex *tex);  /* tex_counters.c */

/* ---- Macros (tex_macro.c, tex_define.c) ---- */

/* Reads its arguments and pushes its body. */
void macro_call(struct tex *tex, struct token call, const struct macro *macro);
void define_macro(struct tex *tex, uint32_t symbol, struct macro macro);
/* Adds to the end of a macro's body; what is none becomes one. */
void define_append(struct tex *tex, uint32_t symbol, const struct tokens *code);
/* #1 in the list as CAT_MATCH. */
void define_parameters(struct tex *tex, struct tokens *body);
/* A copy of the list that lives as long as `tex`. */
struct tokens define_keep(struct tex *tex, const struct tokens *list);
/* \newif of "\if" + name, whose symbol is `flag`. */
void define_flag(struct tex *tex, struct slice name, uint32_t flag);
/* Reads two arguments and goes on with one of them (tex_expand.c). */
void expand_choose(struct tex *tex, bool first);

/* ---- Files that are written (tex_streams.c) ---- */

/* From now on `key` writes this file, anew. */
void streams_open(struct tex *tex, struct slice key, struct slice file);
void streams_close(struct tex *tex, struct slice key);
/* Reads the register that TeX's commands call a stream by. */
void streams_read_key(struct tex *tex, struct buf *ret);
/* The name of a file as plain TeX writes it, up to a space. */
void streams_read_file(struct tex *tex, struct buf *ret);
bool streams_is_open(const struct tex *tex, struct slice key);
/* Takes the list over. */
void streams_write(struct tex *tex, struct slice key, struct tokens *line);
/* Reads a group and writes it, expanded, as a line. */
void streams_write_argument(struct tex *tex, struct slice key);
/* The range of a file that the token is of, as it stands there. */
void streams_write_passage(struct tex *tex, struct slice key,
                           struct token passage);
/* Pushes what was written to the file of that name; false: there is none. */
bool streams_read(struct tex *tex, struct slice name);
bool streams_exists(const struct tex *tex, struct slice name);
/* Whether a single passage was written to it; which. */
bool streams_passage(const struct tex *tex, struct slice name,
                     struct token *ret_passage);
/* Pushes the piece that an input's `then` is of. */
void streams_resume(struct tex *tex, uint32_t then);
void streams_free(struct tex *tex);

/* ---- Keys with values (tex_keys.c) ---- */

/* Defines the key of the family as `body`, whose #1 is the key's value; `value`
 * is what it has where none is given, NULL: it has to be given. */
void keys_define(struct tex *tex, struct slice family, struct slice key,
                 const struct tokens *value, const struct tokens *body);
/* Pushes what the settings "key=value,.." of `call` do; keys that the family has
 * not are passed over. */
void keys_set(struct tex *tex, struct slice family,
              const struct tokens *settings, struct token call);
/* Where, from `from` on, the sign stands that no group holds; the list's count:
 * nowhere. */
size_t keys_find(const struct tokens *list, size_t from, uint32_t sign);
/* A copy without the spaces around it; yours. */
struct tokens keys_trim(const struct token *items, size_t count);

/* "key=value", or "key" alone, without the spaces around either. */
struct keys_setting {
    struct tokens key, value;
    bool has_value;
};

/* Takes the setting of a list that begins at *from, and moves on behind its comma; to be
 * freed.  False: there is none. */
bool keys_next(const struct tokens *list, size_t *from,
               struct keys_setting *ret);
void keys_setting_free(struct keys_setting *setting);
/* The value of the last setting of `key`; yours.  False: none, or an empty one. */
bool keys_value(struct tex *tex, const struct tokens *list, const char *key,
                struct tokens *ret);

/* ---- Numbers (tex_number.c) ---- */

int64_t number_bounded(int64_t value);
int64_t number_read(struct tex *tex);
int64_t number_read_dimension(struct tex *tex);
int64_t number_read_glue(struct tex *tex);
int64_t number_read_expression(struct tex *tex, bool dimension);
/* Reads an argument that is an expression. */
int64_t number_read_argument(struct tex *tex, bool dimension);
int64_t number_of_text(struct tex *tex, struct slice text);
/* `style`: n 1, r i, R I, a a, A A, z 一, p 1pt. */
void number_write(struct buf *out, int64_t value, char style);
void number_push(struct tex *tex, int64_t value, char style, struct token call);

/* ---- Registers (tex_registers.c) and counters (tex_counters.c) ---- */

/* `kind`: enum meaning_kind, from MEANING_COUNT on. */
void register_new(struct tex *tex, uint32_t symbol, int kind);
/* An assignment to the register `token` whose name was read. */
void register_assign(struct tex *tex, struct token token);
/* \count and the number that follows are that register; any other name is
 * itself. */
struct token register_of(struct tex *tex, struct token token);
/* Reads a command and what follows it as a number; false: the command is none
 * that stands for one. */
bool register_value(struct tex *tex, const struct command *command,
                    int64_t *ret);
bool counter_value(struct tex *tex, const struct command *command,
                   int64_t *ret);
/* The counter's register, UINT32_MAX: there is none of that name. */
uint32_t counter_find(struct tex *tex, struct slice name);
void counter_new(struct tex *tex, struct slice name, struct slice within);
void counter_step(struct tex *tex, struct slice name);
/* Defines \thename as its number, behind that of the counter `within`, if any. */
void counter_define_the(struct tex *tex, struct slice name,
                        struct slice within);
void counter_reset_within(struct tex *tex, struct slice name,
                          struct slice within);

/* ---- Conditionals (tex_condition.c) ---- */

/* Takes an undefined name that must be a conditional's as false. */
bool condition_guess(struct tex *tex, struct token token);
/* Reads a test of ifthen, in braces. */
bool condition_test(struct tex *tex, struct token call);
/* Whether the name is \iftrue, or was set to be it. */
bool condition_is_true(const struct tex *tex, uint32_t symbol);
/* ... of \if + name. */
bool condition_flag(const struct tex *tex, struct slice name);
/* Passes over the branch not taken. */
void condition_skip(struct tex *tex);

#endif
