/* Pseudocode: the environment algorithmic, of the package of this name or of
 * algorithmicx (algpseudocode, which writes \If where the other has \IF).  It is
 * code, a statement a line, set in by what it is within. */
#include <ctype.h>

#include "indexer/parse/latex/latex_internal.h"

enum {
    ARGUMENTS = 3, /* how many; of two, the second stands in brackets */
    OPENS = 4,     /* what follows is within it */
    CLOSES = 8,    /* what was within it is not */
    INLINE = 16,   /* stands in a line */
    THEN = 32,
    DO = 64
};

/* \algorithmicif is what a document has for "if". */
static bool push_own_word(struct tex *tex, const char *name, struct token call)
{
    struct buf own = {0};
    buf_put_text(&own, "algorithmic");
    for (const char *at = name; *at; at++)
        buf_put_byte(&own, (char)tolower((unsigned char)*at));
    uint32_t symbol = tex_symbol(tex, buf_slice(&own));
    buf_free(&own);
    if (tex->symbols[symbol].meaning.kind != MEANING_MACRO)
        return false;
    struct tokens list = {0};
    call.cat = CAT_NAME;
    call.value = symbol;
    tokens_add(&list, call);
    tex_push(tex, list);
    return true;
}

static void begin_statement(struct document *d, int value)
{
    if (value & CLOSES && d->in.depth)
        d->in.depth--;
    if (d->in.kind == BLOCK_CODE && document_is_body(d))
        writer_line(blocks_writer(d), blocks_indent(d->in.depth), "");
    else
        document_space(d);
    if (value & OPENS)
        d->in.depth++;
}

static void run_statement(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct tokens first = {0}, second = {0};
    int arguments = command->value & ARGUMENTS;
    struct token open = call, close = call;
    open.cat = close.cat = CAT_OTHER;
    open.value = '(';
    close.value = ')';
    if (!(command->value & INLINE)) {
        tex_skip_before(tex, "o"); /* \STATE[label] */
        begin_statement(document_of(tex), command->value);
    }
    if (arguments)
        tex_read_argument(tex, &first);
    if (arguments == 2) {
        tokens_add(&first, open);
        tex_read_argument(tex, &second);
        tokens_add_all(&first, second.items, second.count);
        tokens_add(&first, close);
    }
    if (command->value & (THEN | DO))
        tex_push_text(tex, slice_of(command->value & THEN ? " then " : " do "),
                      call);
    tex_push(tex, first);
    if (command->text) {
        tex_push_text(tex, slice_of(" "), call);
        if (!push_own_word(tex, command->name, call))
            tex_push_text(tex, slice_of(command->text), call);
        if (command->value & INLINE)
            tex_push_text(tex, slice_of(" "), call);
    }
    tokens_free(&second);
}

#define BOTH(small, capitals, value, text)                                     \
    {small, run_statement, NULL, value, text},                                 \
    {                                                                          \
        capitals, run_statement, NULL, value, text                             \
    }

static const struct command commands[] = {
    BOTH("State", "STATE", 0, NULL),
    {"Statex", run_statement, NULL, 0, NULL},
    BOTH("Require", "REQUIRE", 0, "Require:"),
    BOTH("Ensure", "ENSURE", 0, "Ensure:"),
    BOTH("If", "IF", 1 | OPENS | THEN, "if"),
    BOTH("ElsIf", "ELSIF", 1 | CLOSES | OPENS | THEN, "else if"),
    BOTH("Else", "ELSE", CLOSES | OPENS, "else"),
    BOTH("EndIf", "ENDIF", CLOSES, "end if"),
    BOTH("For", "FOR", 1 | OPENS | DO, "for"),
    BOTH("ForAll", "FORALL", 1 | OPENS | DO, "for all"),
    BOTH("EndFor", "ENDFOR", CLOSES, "end for"),
    BOTH("While", "WHILE", 1 | OPENS | DO, "while"),
    BOTH("EndWhile", "ENDWHILE", CLOSES, "end while"),
    BOTH("Loop", "LOOP", OPENS, "loop"),
    BOTH("EndLoop", "ENDLOOP", CLOSES, "end loop"),
    BOTH("Repeat", "REPEAT", OPENS, "repeat"),
    BOTH("Until", "UNTIL", 1 | CLOSES, "until"),
    {"Function", run_statement, NULL, 2 | OPENS, "function"},
    {"EndFunction", run_statement, NULL, CLOSES, "end function"},
    {"Procedure", run_statement, NULL, 2 | OPENS, "procedure"},
    {"EndProcedure", run_statement, NULL, CLOSES, "end procedure"},
    {"Call", run_statement, NULL, 2 | INLINE, NULL},
    {"Return", run_statement, NULL, INLINE, "return"},
    {"RETURN", run_statement, NULL, 0, "return"},
    {"PRINT", run_statement, NULL, 0, "print"},
    {"Comment", run_statement, NULL, 1 | INLINE, "▷"},
    {"COMMENT", run_statement, NULL, 1 | INLINE, "▷"},
    {"TO", run_statement, NULL, INLINE, "to"},
    {"AND", run_statement, NULL, INLINE, "and"},
    {"OR", run_statement, NULL, INLINE, "or"},
    {"XOR", run_statement, NULL, INLINE, "xor"},
    {"NOT", run_statement, NULL, INLINE, "not"},
    {"TRUE", run_statement, NULL, INLINE, "true"},
    {"FALSE", run_statement, NULL, INLINE, "false"},
};

/* What the document has itself by such a name stays. */
static void begin_algorithm(struct document *d,
                            const struct environment *environment,
                            struct token call)
{
    struct tex *tex = &d->tex;
    (void)environment;
    (void)call;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        uint32_t symbol = tex_symbol_of(tex, commands[i].name);
        if (tex->symbols[symbol].meaning.kind != MEANING_MACRO)
            tex_define(tex, symbol,
                       (struct meaning){.kind = MEANING_COMMAND,
                                        .command = &commands[i]},
                       false);
    }
    if (document_is_body(d) && d->in.kind != BLOCK_TABLE) {
        blocks_begin_kind(d, BLOCK_CODE, (struct slice){"", 0});
        d->in.depth = 0;
    }
}

static const struct environment environments[] = {
    {"algorithmic", begin_algorithm, blocks_end_kind, "o", 0, NULL, 0},
};

void algorithms_add(struct document *d)
{
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
