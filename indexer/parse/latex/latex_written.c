/* Passages that are written to files as they stand, to be read or shown elsewhere: the
 * environments of fancyvrb, moreverb and LaTeX, verbatim's \verbatim@processline,
 * and the package answers. */
#include "indexer/parse/latex/latex_internal.h"

/* ---- Passages ---- */

/* What stands up to \end{name}, where it stands; it is passed over.  False: it is not
 * of a file, and `ret_line` has its tokens. */
static bool read_passage(struct document *d, struct slice name,
                         struct token *ret_place, struct tokens *ret_line)
{
    struct buf end = {0};
    struct slice raw;
    buf_printf(&end, "\\end{%.*s}", (int)name.size, name.data);
    bool found = tex_read_raw(&d->tex, end.data, &raw, ret_place);
    buf_free(&end);
    if (!found)
        verbatim_read_tokens(d, name, ret_line);
    return found;
}

void written_take(struct document *d, struct slice name, struct slice key,
                  struct token call)
{
    struct token place = call;
    struct tokens line = {0};
    if (read_passage(d, name, &place, &line))
        streams_write_passage(&d->tex, key, place);
    else
        streams_write(&d->tex, key, &line);
}

static void take_file(struct document *d, struct slice name, struct slice file,
                      struct token call)
{
    struct slice key = slice_of("-passage-");
    streams_open(&d->tex, key, file);
    written_take(d, name, key, call);
    streams_close(&d->tex, key);
}

/* The line's end that a macro has put behind \begin{..}. */
static void skip_made_end(struct tex *tex)
{
    struct token token = tex_next(tex);
    char name[2] = {'\1', '\n'};
    bool active =
        token_is(token, CAT_NAME, tex_symbol(tex, (struct slice){name, 2}));
    if (!(token.flags & TOKEN_MADE) || (!active && token.cat != CAT_SPACE))
        tex_unread(tex, token);
}

/* Whether "[" is the file's next character: a token that is read ahead would be
 * none of the passage. */
static bool has_options(struct tex *tex)
{
    struct input *file;
    return tex_to_file(tex, &file) && file->at < file->end &&
           tex->files[file->file].transcoded.text.data[file->at] == '[';
}

/* \FVExtraReadOArgBeforeVEnv[default]{\macro}: the macro is given the options of the
 * environment that it begins. */
static void run_before(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens options = {0}, macro = {0}, given = {0};
    (void)command;
    tex_read_optional(tex, &options);
    tex_read_argument(tex, &macro);
    if (has_options(tex))
        tex_read_optional(tex, &given);
    tokens_add_group(&macro, given.count ? &given : &options, call);
    tex_push(tex, macro);
    tokens_free(&options);
    tokens_free(&given);
}

/* \begin{VerbatimOut}[options]{file} and its kin. */
static void begin_file(struct document *d,
                       const struct environment *environment, struct token call)
{
    size_t around = d->group_count - 1;
    struct slice name = verbatim_name(d);
    struct buf file = {0};
    (void)environment;
    tex_read_text(&d->tex, &file);
    skip_made_end(&d->tex);
    const struct group *wrapper = verbatim_wrapper(d, call);
    if (wrapper)
        name = d->tex.symbols[wrapper->name].name;
    take_file(d, name, buf_slice(&file), call);
    if (wrapper)
        verbatim_push_end(d, name, call);
    else
        document_close_to(d, around);
    buf_free(&file);
}

/* ---- verbatim ---- */

bool written_by_line(struct document *d, struct buf *ret_key)
{
    struct tex *tex = &d->tex;
    uint32_t symbol = tex_symbol_of(tex, "verbatim@processline");
    uint32_t write = tex_symbol_of(tex, "write");
    struct meaning meaning = tex->symbols[symbol].meaning;
    if (meaning.kind != MEANING_MACRO)
        return false;
    const struct tokens *body = &meaning.macro->body;
    for (size_t i = 0; i + 1 < body->count; i++)
        if (token_is(body->items[i], CAT_NAME, write)) {
            struct tokens rest = {0};
            tokens_add(&rest, body->items[i + 1]);
            tex_push(tex, rest);
            streams_read_key(tex, ret_key);
            return streams_is_open(tex, buf_slice(ret_key));
        }
    return false;
}

/* ---- answers ---- */

static uint32_t prefixed(struct tex *tex, const char *prefix, struct slice name)
{
    struct buf text = {0};
    buf_put_text(&text, prefix);
    buf_put_slice(&text, name);
    uint32_t symbol = tex_symbol(tex, buf_slice(&text));
    buf_free(&text);
    return symbol;
}

static uint32_t name_of(struct tex *tex, const struct tokens *list)
{
    struct buf name = {0};
    tex_write_tokens(tex, list, &name);
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol;
}

/* The macro that is this built-in command, and what it is given. */
static void define_call(struct tex *tex, uint32_t symbol, const char *command,
                        const struct tokens *given, size_t count,
                        struct token call)
{
    struct macro macro = {0};
    struct token token = call;
    token.cat = CAT_NAME;
    token.value = tex_symbol_of(tex, command);
    tokens_add(&macro.body, token);
    for (size_t i = 0; i < count; i++)
        tokens_add_group(&macro.body, &given[i], call);
    tex->global = true;
    define_macro(tex, symbol, macro);
    tokens_free(&macro.body);
}

/* \Newassociation{env}{solution}{file}: what is in env is written to the file, as the
 * environment solution, which takes a number. */
static void run_associate(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct tokens given[3] = {0};
    (void)command;
    for (size_t i = 0; i < 3; i++)
        tex_read_argument(tex, &given[i]);
    uint32_t env = name_of(tex, &given[0]), solution = name_of(tex, &given[1]);
    uint32_t end = prefixed(tex, "end", tex->symbols[env].name);
    define_call(tex, env, "-answer-", given, 3, call);
    define_call(tex, end, "relax", NULL, 0, call);
    if (tex->symbols[solution].meaning.kind == MEANING_NONE)
        define_call(tex, solution, "-solution-", NULL, 0, call);
    for (size_t i = 0; i < 3; i++)
        tokens_free(&given[i]);
}

static void put_text(struct tokens *line, struct slice text, struct token call)
{
    call.flags |= TOKEN_MADE;
    call.cat = CAT_OTHER;
    for (size_t i = 0; i < text.size; i++) {
        call.value = (unsigned char)text.data[i];
        tokens_add(line, call);
    }
}

static void write_line(struct document *d, struct slice key, struct buf *text,
                       struct token call)
{
    struct tokens line = {0};
    put_text(&line, buf_slice(text), call);
    streams_write(&d->tex, key, &line);
    buf_free(text);
}

/* \-answer-{env}{solution}{file} */
static void run_answer(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct document *d = document_of(tex);
    struct buf env = {0}, solution = {0}, key = {0}, text = {0};
    (void)command;
    tex_read_text(tex, &env);
    tex_read_text(tex, &solution);
    tex_read_text(tex, &key);
    buf_printf(&text, "\\begin{%.*s}{%.*s}", (int)solution.size,
               buf_slice(&solution).data, (int)d->labels.number.size,
               d->labels.number.data);
    write_line(d, buf_slice(&key), &text, call);
    written_take(d, buf_slice(&env), buf_slice(&key), call);
    buf_printf(&text, "\\end{%.*s}", (int)solution.size,
               buf_slice(&solution).data);
    write_line(d, buf_slice(&key), &text, call);
    verbatim_push_end(d, buf_slice(&env), call);
    buf_free(&env);
    buf_free(&solution);
    buf_free(&key);
}

/* The number of what a solution is of begins it. */
static void run_solution(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens number = {0}, line = {0};
    (void)command;
    document_flush(document_of(tex));
    tex_read_argument(tex, &number);
    tokens_add_all(&line, number.items, number.count);
    call.flags |= TOKEN_MADE;
    call.cat = CAT_SPACE;
    call.value = ' ';
    tokens_add(&line, call);
    tex_push(tex, line);
    tokens_free(&number);
}

/* The package answers: files end as \solutionextension says; .tex goes without saying. */
static void put_ending(struct tex *tex, struct buf *name)
{
    struct token token = {.cat = CAT_NAME,
                          .value = tex_symbol_of(tex, "solutionextension"),
                          .file = UINT16_MAX};
    struct tokens list = {0};
    struct buf ending = {0};
    if (tex_meaning(tex, token)->kind == MEANING_MACRO) {
        tokens_add(&list, token);
        tex_expand_text(tex, &list, &ending);
    }
    if (ending.size && !slice_is(buf_slice(&ending), "tex"))
        buf_printf(name, ".%s", ending.data);
    tokens_free(&list);
    buf_free(&ending);
}

/* \Opensolutionfile{key}[file] */
static void run_open(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct buf key = {0}, file = {0};
    struct tokens list = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &key);
    if (tex_read_optional(tex, &list))
        tex_expand_text(tex, &list, &file);
    else
        buf_put_slice(&file, buf_slice(&key));
    put_ending(tex, &file);
    streams_open(tex, buf_slice(&key), buf_slice(&file));
    tokens_free(&list);
    buf_free(&key);
    buf_free(&file);
}

enum { ANSWERS_CLOSE, ANSWERS_READ, ANSWERS_WRITE };

/* \Closesolutionfile{key}, \Readsolutionfile{file}, \Writetofile{key}{..} */
static void run_file(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct buf name = {0};
    (void)call;
    tex_read_text(tex, &name);
    if (command->value == ANSWERS_CLOSE)
        streams_close(tex, buf_slice(&name));
    else if (command->value == ANSWERS_WRITE)
        streams_write_argument(tex, buf_slice(&name));
    if (command->value == ANSWERS_READ) {
        put_ending(tex, &name);
        streams_read(tex, buf_slice(&name));
    }
    buf_free(&name);
}

static const struct command commands[] = {
    {"FVExtraReadOArgBeforeVEnv", run_before, NULL, 0, NULL},
    {"Newassociation", run_associate, NULL, 0, NULL},
    {"Opensolutionfile", run_open, NULL, 0, NULL},
    {"Closesolutionfile", run_file, NULL, ANSWERS_CLOSE, NULL},
    {"Readsolutionfile", run_file, NULL, ANSWERS_READ, NULL},
    {"Writetofile", run_file, NULL, ANSWERS_WRITE, NULL},
};
static const struct command firm[] = {
    {"-answer-", run_answer, NULL, 0, NULL},
    {"-solution-", run_solution, NULL, 0, NULL},
};

static const struct environment environments[] = {
    {"verbatimoutput", begin_file, NULL, NULL, 0, NULL, 0},
    {"verbatimwrite", begin_file, NULL, NULL, 0, NULL, 0},
    {"writeverbatim", begin_file, NULL, NULL, 0, NULL, 0},
    {"VerbatimOut", begin_file, NULL, "o", 0, NULL, 0},
    {"filecontents", begin_file, NULL, "o", 0, NULL, 0},
    {"filecontents*", begin_file, NULL, "o", 0, NULL, 0},
};

void written_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, firm, sizeof firm / sizeof *firm, MEANING_COMMAND,
                     true);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
