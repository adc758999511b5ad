/* Pseudocode of algorithm2e (5.2): blocks are arguments, \; ends a line.  It is code, as
 * algorithmic's (latex_algorithms.c) is, without the words that end a block. */
#include "indexer/parse/latex/latex_internal.h"

enum {
    CONDITION = 1, /* an argument comes before the body */
    IN_LINE = 2,   /* the body stands behind it */
    ELSE = 4,      /* a second body comes behind the first */
    UNTIL = 8      /* the condition stands below the body */
};

static void begin_line(struct document *d)
{
    if (d->in.kind == BLOCK_CODE && document_is_body(d))
        writer_line(blocks_writer(d), blocks_indent(d->in.depth), "");
    else
        document_space(d);
}

/* \alg@line, \alg@open and \alg@close: a line begins, further in or out. */
static void run_line(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    (void)call;
    tex_skip_before(tex, command->before);
    if (command->value > 0)
        d->in.depth++;
    if (command->value < 0 && d->in.depth)
        d->in.depth--;
    begin_line(d);
}

static void put_source(struct tex *tex, const char *source, struct token call,
                       struct tokens *ret)
{
    tex_add_source(tex, slice_of(source), call, ret);
}

static void put_body(struct tex *tex, bool in_line, struct token call,
                     struct tokens *ret)
{
    struct tokens body = {0};
    tex_read_argument(tex, &body);
    put_source(tex, in_line ? " " : "\\alg@open ", call, ret);
    tokens_add_all(ret, body.items, body.count);
    put_source(tex, in_line ? "\\alg@line " : "\\alg@close ", call, ret);
    tokens_free(&body);
}

/* \If(comment){condition}{body}: `text` is the word before and, behind "|", the one
 * after the condition. */
static void run_block(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens run = {0}, condition = {0};
    const char *bar = strchr(command->text, '|');
    struct buf before = {0};
    int value = command->value;
    tex_skip_before(tex, "p");
    buf_put(&before, command->text,
            bar ? (size_t)(bar - command->text) : strlen(command->text));
    put_source(tex, "\\alg@line ", call, &run);
    tex_add_source(tex, buf_slice(&before), call, &run);
    if (value & CONDITION) {
        tex_read_argument(tex, &condition);
        if (!(value & UNTIL)) {
            put_source(tex, " ", call, &run);
            tokens_add_all(&run, condition.items, condition.count);
        }
    }
    if (bar && !(value & UNTIL)) {
        put_source(tex, " ", call, &run);
        put_source(tex, bar + 1, call, &run);
    }
    put_body(tex, value & IN_LINE, call, &run);
    if (value & ELSE) {
        put_source(tex, "else", call, &run);
        put_body(tex, value & IN_LINE, call, &run);
    }
    if (value & UNTIL) {
        put_source(tex, "until ", call, &run);
        tokens_add_all(&run, condition.items, condition.count);
        put_source(tex, "\\alg@line ", call, &run);
    }
    tex_push(tex, run);
    tokens_free(&condition);
    buf_free(&before);
}

/* \KwIn{..}, \Return, \tcp*[f]{..}: a word, and what follows it. */
static void run_word(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens run = {0}, argument = {0};
    tex_skip_before(tex, command->before);
    if (command->value & CONDITION)
        tex_read_argument(tex, &argument);
    if (!(command->value & IN_LINE))
        put_source(tex, "\\alg@line ", call, &run);
    put_source(tex, command->text, call, &run);
    tokens_add_all(&run, argument.items, argument.count);
    if (command->value & CONDITION)
        put_source(tex, "\\alg@line ", call, &run);
    tex_push(tex, run);
    tokens_free(&argument);
}

/* The caption stands by itself between the lines. */
static void run_caption(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct tokens run = {0}, text = {0};
    tex_skip_before(tex, command->before);
    tex_read_argument(tex, &text);
    document_flush(d);
    if (d->in.kind == BLOCK_CODE)
        d->in.kind = BLOCK_PARAGRAPH;
    put_source(tex, "\\captionof{algorithm}", call, &run);
    tokens_add_group(&run, &text, call);
    put_source(tex, "\\alg@begin ", call, &run);
    tex_push(tex, run);
    tokens_free(&text);
}

static void run_begin(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    if (!document_is_body(d) || d->in.kind == BLOCK_TABLE)
        return;
    unsigned depth = d->in.depth;
    blocks_begin_kind(d, BLOCK_CODE, (struct slice){"", 0});
    d->in.depth = depth;
}

#define BLOCK(name, value, text)                                               \
    {                                                                          \
        name, run_block, NULL, value, text                                     \
    }

static const struct command within[] = {
    {";", run_line, NULL, 0, NULL},
    {"BlankLine", run_line, NULL, 0, NULL},
    {"caption", run_caption, "so", 0, NULL},
    {"par", run_line, NULL, 0, NULL},
    BLOCK("Begin", 0, "begin"),
    BLOCK("If", CONDITION, "if|then"),
    BLOCK("uIf", CONDITION, "if|then"),
    BLOCK("lIf", CONDITION | IN_LINE, "if|then"),
    BLOCK("eIf", CONDITION | ELSE, "if|then"),
    BLOCK("leIf", CONDITION | ELSE | IN_LINE, "if|then"),
    BLOCK("ElseIf", CONDITION, "else if|then"),
    BLOCK("uElseIf", CONDITION, "else if|then"),
    BLOCK("lElseIf", CONDITION | IN_LINE, "else if|then"),
    BLOCK("Else", 0, "else"),
    BLOCK("uElse", 0, "else"),
    BLOCK("lElse", IN_LINE, "else"),
    BLOCK("While", CONDITION, "while|do"),
    BLOCK("lWhile", CONDITION | IN_LINE, "while|do"),
    BLOCK("For", CONDITION, "for|do"),
    BLOCK("lFor", CONDITION | IN_LINE, "for|do"),
    BLOCK("ForEach", CONDITION, "foreach|do"),
    BLOCK("lForEach", CONDITION | IN_LINE, "foreach|do"),
    BLOCK("ForAll", CONDITION, "for all|do"),
    BLOCK("lForAll", CONDITION | IN_LINE, "for all|do"),
    BLOCK("Repeat", CONDITION | UNTIL, "repeat"),
    BLOCK("Switch", CONDITION, "switch|do"),
    BLOCK("Case", CONDITION, "case|do"),
    BLOCK("uCase", CONDITION, "case|do"),
    BLOCK("lCase", CONDITION | IN_LINE, "case|do"),
    BLOCK("Other", 0, "otherwise"),
    BLOCK("uOther", 0, "otherwise"),
    BLOCK("lOther", IN_LINE, "otherwise"),
    {"KwIn", run_word, NULL, CONDITION, "Input: "},
    {"KwOut", run_word, NULL, CONDITION, "Output: "},
    {"KwData", run_word, NULL, CONDITION, "Data: "},
    {"KwResult", run_word, NULL, CONDITION, "Result: "},
    {"KwRet", run_word, NULL, IN_LINE, "return "},
    {"Return", run_word, NULL, IN_LINE, "return "},
    {"KwTo", run_word, NULL, IN_LINE, "to "},
    {"tcp", run_word, "so", CONDITION | IN_LINE, " // "},
    {"tcc", run_word, "so", CONDITION | IN_LINE, " /* "},
};

/* ---- Words of a document's own ---- */

enum { INPUT, WORD, FUNCTION, ARRAY, PROGRAM, COMMENT, LOOP };

/* \alg@arguments(): what stands in braces behind a name, if there are any. */
static void run_arguments(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct token open = tex_next(tex), close = tex_next(tex);
    struct token next = tex_next(tex);
    struct tokens run = {0};
    (void)command;
    tex_unread(tex, next);
    if (next.cat == CAT_BEGIN) {
        tokens_add(&run, open);
        tex_read_argument(tex, &run);
        tokens_add(&run, close);
    } else if (next.cat != CAT_OTHER || next.value > 127 ||
               !strchr(".,:;)]", (int)next.value)) {
        put_source(tex, " ", call, &run);
    }
    tex_push(tex, run);
}

static bool is_within(struct slice name)
{
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (slice_is(name, within[i].name))
            return true;
    return false;
}

/* %1 and %2 in `form` are the texts. */
static void fill(struct buf *out, const char *form, const struct buf *first,
                 const struct buf *second)
{
    for (; *form; form++) {
        if (*form == '%')
            buf_put_slice(out, buf_slice(*++form == '1' ? first : second));
        else
            buf_put_byte(out, *form);
    }
}

/* \SetKwInOut{Input}{input} and its kin; \SetKwFor{ParFor}{parallel for}{do}{end}, but
 * not of what is known here. */
static void run_set(struct tex *tex, const struct command *command,
                    struct token call)
{
    static const char *const body[] = {
        [INPUT] = "[1]{\\alg@line %1: #1\\alg@line }",
        [WORD] = "{%1 }",
        [FUNCTION] = "{%1\\alg@arguments()}",
        [ARRAY] = "{%1\\alg@arguments[]}",
        [PROGRAM] = "[2]{\\alg@line %1 #1\\alg@open #2\\alg@close }",
        [COMMENT] = "{ %1\\alg@remark }",
        [LOOP] = "[2]{\\alg@line %1 #1 %2\\alg@open #2\\alg@close }"};
    struct buf name = {0}, text = {0}, second = {0}, source = {0};
    tex_read_text(tex, &name);
    tex_read_text(tex, &text);
    if (command->value == LOOP)
        tex_read_text(tex, &second);
    tex_skip_before(tex, command->before);
    if (name.size && (command->value != LOOP || !is_within(buf_slice(&name)))) {
        buf_printf(&source, "\\renewcommand{\\%s}", name.data);
        fill(&source, body[command->value], &text, &second);
        tex_push_source(tex, buf_slice(&source), call);
    }
    buf_free(&name);
    buf_free(&text);
    buf_free(&second);
    buf_free(&source);
}

static void run_nothing(struct tex *tex, const struct command *command,
                        struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
}

static const struct command commands[] = {
    {"alg@begin", run_begin, NULL, 0, NULL},
    {"alg@line", run_line, NULL, 0, NULL},
    {"alg@open", run_line, NULL, 1, NULL},
    {"alg@close", run_line, NULL, -1, NULL},
    {"alg@arguments", run_arguments, NULL, 0, NULL},
    {"alg@remark", run_word, "so", CONDITION | IN_LINE, ""},
    {"SetKwInOut", run_set, NULL, INPUT, NULL},
    {"SetKwInput", run_set, NULL, INPUT, NULL},
    {"SetKw", run_set, NULL, WORD, NULL},
    {"SetKwData", run_set, NULL, FUNCTION, NULL},
    {"SetKwArray", run_set, NULL, ARRAY, NULL},
    {"SetKwFunction", run_set, NULL, FUNCTION, NULL},
    {"SetKwProg", run_set, "mm", PROGRAM, NULL},
    {"SetKwComment", run_set, "m", COMMENT, NULL},
    {"SetKwFor", run_set, "m", LOOP, NULL},
    {"SetKwIF", run_nothing, "mmmmmmmm", 0, NULL},
    {"SetKwRepeat", run_nothing, "mmm", 0, NULL},
    {"SetKwSwitch", run_nothing, "mmmmmmmmm", 0, NULL},
    {"SetStartEndCondition", run_nothing, "mmm", 0, NULL},
    {"SetCommentSty", run_nothing, "m", 0, NULL},
    {"SetKwSty", run_nothing, "m", 0, NULL},
    {"SetNlSty", run_nothing, "mmm", 0, NULL},
    {"SetAlgoNlRelativeSize", run_nothing, "m", 0, NULL},
    {"RestyleAlgo", run_nothing, "m", 0, NULL},
};

bool algorithm2e_begin(struct document *d, struct token call)
{
    struct tex *tex = &d->tex;
    if (!packages_is_asked(tex, slice_of("algorithm2e.sty")))
        return false;
    for (size_t i = 0; i < sizeof within / sizeof *within; i++) {
        uint32_t symbol = tex_symbol_of(tex, within[i].name);
        if (tex->symbols[symbol].meaning.kind != MEANING_MACRO)
            tex_define(tex, symbol,
                       (struct meaning){.kind = MEANING_COMMAND,
                                        .command = &within[i]},
                       false);
    }
    d->in.depth = 0;
    run_begin(tex, NULL, call);
    return true;
}

void algorithm2e_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
