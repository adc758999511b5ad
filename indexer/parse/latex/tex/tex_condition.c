/* Conditionals (The TeXbook, chapter 20), and those of the packages ifthen and
 * etoolbox. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

enum { IS_IF = 1, IS_ELSE, IS_OR, IS_FI };

static const struct command *command_of(const struct tex *tex,
                                        struct token token)
{
    if (token.cat != CAT_NAME)
        return NULL;
    const struct meaning *meaning = tex_meaning(tex, token);
    return meaning->kind == MEANING_EXPANDS ? meaning->command : NULL;
}

/* What a token is to who passes over a branch. */
static int part_of(const struct tex *tex, struct token token)
{
    const struct command *command = command_of(tex, token);
    if (!command || !command->text)
        return 0;
    const char *text = command->text;
    return !strcmp(text, "if")     ? IS_IF
           : !strcmp(text, "else") ? IS_ELSE
           : !strcmp(text, "or")   ? IS_OR
           : !strcmp(text, "fi")   ? IS_FI
                                   : 0;
}

static void push_condition(struct tex *tex, struct condition condition)
{
    if (tex->condition_count >= MAX_CONDITIONS)
        return;
    MEM_RESERVE(tex->conditions, &tex->condition_capacity,
                tex->condition_count + 1);
    tex->conditions[tex->condition_count++] = condition;
}

/* \newif and \let name a conditional without being one. */
static bool names_next(const struct tex *tex, struct token token)
{
    struct slice name = tex->symbols[token.value].name;
    return slice_is(name, "newif") || slice_is(name, "let") ||
           slice_is(name, "def") || slice_is(name, "csname");
}

/* A conditional that a package would have defined, from its name. */
static bool is_unknown_if(struct tex *tex, struct token token)
{
    struct slice name = tex->symbols[token.value].name;
    if (tex_meaning(tex, token)->kind != MEANING_NONE || name.size < 4 ||
        memcmp(name.data, "if", 2) != 0)
        return false;
    /* etoolbox's have arguments; what is an argument itself is only named. */
    struct token next = tex_next(tex);
    tex_unread(tex, next);
    return next.cat != CAT_BEGIN && next.cat != CAT_END;
}

bool condition_guess(struct tex *tex, struct token token)
{
    if (!is_unknown_if(tex, token))
        return false;
    push_condition(tex, (struct condition){.taken = false});
    condition_skip(tex);
    return true;
}

/* The token begins a conditional, ends one or is between two branches. */
static int part_in_branch(struct tex *tex, struct token before,
                          struct token token)
{
    int part = part_of(tex, token);
    bool named = before.cat == CAT_NAME && names_next(tex, before);
    bool guessed =
        !part && !named && token.cat == CAT_NAME && is_unknown_if(tex, token);
    return guessed ? IS_IF : part;
}

/* \else or \or: is the branch that follows the one to read? */
static bool takes_branch(struct tex *tex, int part)
{
    if (!tex->condition_count)
        return false;
    struct condition *now = &tex->conditions[tex->condition_count - 1];
    if (now->taken || (part == IS_OR && --now->left))
        return false;
    now->taken = true;
    return true;
}

/* To the \else, \or or \fi of the innermost condition.  False: the file ends
 * before. */
static bool skip_branch(struct tex *tex)
{
    size_t depth = 0;
    struct token token = {.cat = CAT_NONE}, before;
    for (;;) {
        before = token;
        token = tex_next(tex);
        if (token.cat == CAT_NONE)
            return false;
        if (token.cat == CAT_STOP) {
            tex_unread(tex, token);
            return true;
        }
        int part = part_in_branch(tex, before, token);
        if (part == IS_IF) {
            depth++;
        } else if (part == IS_FI && !depth--) {
            if (tex->condition_count)
                tex->condition_count--;
            return true;
        } else if ((part == IS_ELSE || part == IS_OR) && !depth &&
                   takes_branch(tex, part)) {
            return true;
        }
    }
}

/* Where the file goes on: at the next token, if that was read of it already. */
static size_t place_in_file(struct tex *tex)
{
    struct input file = tex->inputs[tex->top_file - 1];
    struct token next = tex_next(tex);
    tex_unread(tex, next);
    bool is_own = !(next.flags & TOKEN_MADE) && next.cat != CAT_NONE &&
                  next.file == file.file && next.from < file.at;
    return is_own ? next.from : file.at;
}

static void rewind_file(struct tex *tex, size_t at)
{
    struct input *file = &tex->inputs[tex->top_file - 1];
    struct token place = {.file = file->file, .from = (uint32_t)at};
    tex_report(tex, place,
               "a conditional has no \\fi in its file; what follows is read");
    tex->rewind_count++;
    if (tex->condition_count)
        tex->condition_count--;
    file->at = at;
    file->state = MOUTH_MIDDLE;
}

/* What a file leaves open is no reason to lose the file: the conditional that
 * it never closes is none, and what follows is read. */
void condition_skip(struct tex *tex)
{
    size_t at = 0;
    tex->absorbing++;
    if (tex->top_file)
        at = place_in_file(tex);
    bool ended = skip_branch(tex);
    tex->absorbing--;
    if (!ended && tex->top_file && !tex->spent &&
        tex->rewind_count < MAX_REWINDS)
        rewind_file(tex, at);
}

static void decide(struct tex *tex, bool truth)
{
    push_condition(tex, (struct condition){.taken = truth});
    if (!truth)
        condition_skip(tex);
}

/* ---- TeX's own ---- */

enum test {
    TEST_FALSE,
    TEST_TRUE,
    TEST_IF,
    TEST_CAT,
    TEST_X,
    TEST_NUMBER,
    TEST_DIMENSION,
    TEST_ODD,
    TEST_DEFINED,
    TEST_CSNAME,
    TEST_REGISTER_FALSE,
    TEST_REGISTER_TRUE
};

/* What is compared counts as steps. */
static bool same_list(struct tex *tex, const struct tokens *a,
                      const struct tokens *b)
{
    size_t at = 0;
    if (a->count != b->count)
        return false;
    while (at < a->count && token_same(a->items[at], b->items[at]))
        at++;
    tex->steps += at / 4;
    return at == a->count;
}

static bool is_relax(const struct tex *tex, struct token name)
{
    const struct meaning *meaning = tex_meaning(tex, name);
    const struct meaning *relax = &tex->symbols[tex->relax].meaning;
    if (meaning->kind == MEANING_NONE)
        return name.flags & TOKEN_NAMED;
    return meaning->kind == relax->kind && meaning->command == relax->command;
}

static bool same_meaning(struct tex *tex, struct token a, struct token b)
{
    if (a.cat == CAT_NAME && b.cat == CAT_NAME) {
        if (is_relax(tex, a) || is_relax(tex, b))
            return is_relax(tex, a) && is_relax(tex, b);
        const struct meaning *x = tex_meaning(tex, a), *y = tex_meaning(tex, b);
        if (a.value == b.value)
            return true;
        if (x->kind != y->kind)
            return false;
        switch (x->kind) {
        case MEANING_NONE: return true;
        case MEANING_MACRO:
            return x->macro == y->macro ||
                   (x->macro->argument_count == y->macro->argument_count &&
                    same_list(tex, &x->macro->pattern, &y->macro->pattern) &&
                    same_list(tex, &x->macro->body, &y->macro->body));
        case MEANING_CHARACTER:
            return x->character.value == y->character.value &&
                   x->character.cat == y->character.cat;
        case MEANING_COMMAND:
        case MEANING_EXPANDS: return x->command == y->command;
        default: return x->index == y->index;
        }
    }
    if (a.cat == CAT_NAME || b.cat == CAT_NAME) {
        struct token name = a.cat == CAT_NAME ? a : b;
        struct token other = a.cat == CAT_NAME ? b : a;
        const struct meaning *meaning = tex_meaning(tex, name);
        return meaning->kind == MEANING_CHARACTER &&
               meaning->character.value == other.value &&
               meaning->character.cat == other.cat;
    }
    return token_same(a, b);
}

static struct token character_of(const struct tex *tex, struct token token)
{
    if (token.cat != CAT_NAME)
        return token;
    const struct meaning *meaning = tex_meaning(tex, token);
    if (meaning->kind == MEANING_CHARACTER) {
        token.cat = meaning->character.cat;
        token.value = meaning->character.value;
    } else {
        token.value = 256;
    }
    return token;
}

static bool compare(struct tex *tex, bool dimension)
{
    int64_t left = dimension ? number_read_dimension(tex) : number_read(tex);
    struct token relation;
    do
        relation = tex_next_expanded(tex);
    while (relation.cat == CAT_SPACE);
    bool known = relation.cat == CAT_OTHER &&
                 (relation.value == '<' || relation.value == '=' ||
                  relation.value == '>');
    if (!known) {
        tex_unread(tex, relation);
        return false;
    }
    int64_t right = dimension ? number_read_dimension(tex) : number_read(tex);
    return relation.value == '<'   ? left < right
           : relation.value == '>' ? left > right
                                   : left == right;
}

static bool csname_is_defined(struct tex *tex)
{
    struct buf name = {0};
    uint32_t end = tex_symbol_of(tex, "endcsname");
    for (;;) {
        struct token token = tex_next_expanded(tex);
        if (token.cat == CAT_NONE || token_is(token, CAT_NAME, end) ||
            token_is(token, CAT_NAME, tex->par) || name.size > 1000)
            break;
        if (token.cat == CAT_STOP) {
            tex_unread(tex, token);
            break;
        }
        tex_write_token(tex, token, &name);
    }
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol != UINT32_MAX &&
           tex->symbols[symbol].meaning.kind != MEANING_NONE;
}

static bool evaluate(struct tex *tex, int test)
{
    struct token a, b;
    switch (test) {
    case TEST_TRUE: return true;
    case TEST_X:
        a = tex_next(tex);
        b = tex_next(tex);
        return same_meaning(tex, a, b);
    case TEST_IF:
    case TEST_CAT:
        a = character_of(tex, tex_next_expanded(tex));
        b = character_of(tex, tex_next_expanded(tex));
        return test == TEST_CAT ? a.cat == b.cat : a.value == b.value;
    case TEST_NUMBER: return compare(tex, false);
    case TEST_DIMENSION: return compare(tex, true);
    case TEST_ODD: return number_read(tex) % 2 != 0;
    case TEST_DEFINED:
        a = tex_next(tex);
        return a.cat != CAT_NAME || tex_meaning(tex, a)->kind != MEANING_NONE;
    case TEST_CSNAME: return csname_is_defined(tex);
    case TEST_REGISTER_FALSE: number_read(tex); return false;
    case TEST_REGISTER_TRUE: number_read(tex); return true;
    default: return false;
    }
}

static void run_if(struct tex *tex, const struct command *command,
                   struct token call)
{
    (void)call;
    decide(tex, evaluate(tex, command->value));
}

static void run_unless(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct token token = tex_next(tex);
    (void)command;
    (void)call;
    const struct command *of = command_of(tex, token);
    if (of && of->run == run_if)
        decide(tex, !evaluate(tex, of->value));
    else
        tex_unread(tex, token);
}

static void run_ifcase(struct tex *tex, const struct command *command,
                       struct token call)
{
    int64_t wanted = number_read(tex);
    (void)command;
    (void)call;
    push_condition(tex, (struct condition){.taken = !wanted, .left = wanted});
    if (wanted)
        condition_skip(tex);
}

/* A branch that was taken ends. */
static void run_else(struct tex *tex, const struct command *command,
                     struct token call)
{
    (void)command;
    if (!tex->condition_count) {
        tex_report(tex, call, "\\else or \\or without \\if");
        return;
    }
    tex->conditions[tex->condition_count - 1].taken = true;
    condition_skip(tex);
}

static void run_fi(struct tex *tex, const struct command *command,
                   struct token call)
{
    (void)command;
    if (tex->condition_count)
        tex->condition_count--;
    else
        tex_report(tex, call, "\\fi without \\if");
}

/* ---- ifthen ---- */

bool condition_is_true(const struct tex *tex, uint32_t symbol)
{
    const struct meaning *meaning = &tex->symbols[symbol].meaning;
    return meaning->kind == MEANING_EXPANDS &&
           meaning->command->run == run_if &&
           meaning->command->value == TEST_TRUE;
}

bool condition_flag(const struct tex *tex, struct slice name)
{
    struct buf whole = {0};
    buf_put_text(&whole, "if");
    buf_put_slice(&whole, name);
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&whole));
    buf_free(&whole);
    return symbol != UINT32_MAX && condition_is_true(tex, symbol);
}

static void read_two(struct tex *tex, struct buf *a, struct buf *b)
{
    tex_read_text(tex, a);
    tex_read_text(tex, b);
}

/* Not the end of the tests. */
static void skip_token(struct tex *tex)
{
    struct token token = tex_next(tex);
    if (token.cat == CAT_STOP)
        tex_unread(tex, token);
}

/* One test of \ifthenelse at the head of the input. */
static bool read_test(struct tex *tex)
{
    struct token token = tex_next_solid(tex);
    struct buf a = {0}, b = {0};
    bool result = false;
    struct slice name = {"", 0};
    if (token.cat == CAT_NAME)
        name = tex->symbols[token.value].name;
    if (slice_is(name, "equal")) {
        read_two(tex, &a, &b);
        result = slice_equal(buf_slice(&a), buf_slice(&b));
    } else if (slice_is(name, "boolean")) {
        tex_read_text(tex, &a);
        result = condition_flag(tex, buf_slice(&a));
    } else if (slice_is(name, "isodd")) {
        tex_read_text(tex, &a);
        result = number_of_text(tex, buf_slice(&a)) % 2 != 0;
    } else if (slice_is(name, "isundefined")) {
        struct token of;
        result = tex_read_name(tex, &of) &&
                 tex_meaning(tex, of)->kind == MEANING_NONE;
    } else if (slice_is(name, "lengthtest")) {
        tex_read_text(tex, &a);
    } else {
        uint64_t before = tex->steps;
        tex_unread(tex, token);
        result = compare(tex, false);
        if (tex->steps - before < 3) /* nothing was read */
            skip_token(tex);
    }
    buf_free(&a);
    buf_free(&b);
    return result;
}

/* Tests joined by \and and \or, left to right; \(...\) is read flat. */
static bool read_tests(struct tex *tex)
{
    bool result = false, negate = false;
    char join = '|';
    for (;;) {
        struct token token = tex_next_solid(tex);
        if (token.cat == CAT_STOP || token.cat == CAT_NONE)
            return result;
        struct slice name = {"", 0};
        if (token.cat == CAT_NAME)
            name = tex->symbols[token.value].name;
        if (slice_is(name, "NOT") || slice_is(name, "not")) {
            negate = !negate;
        } else if (slice_is(name, "AND") || slice_is(name, "and")) {
            join = '&';
        } else if (slice_is(name, "OR") || slice_is(name, "or")) {
            join = '|';
        } else if (!slice_is(name, "(") && !slice_is(name, ")")) {
            tex_unread(tex, token);
            bool one = read_test(tex) != negate;
            result = join == '&' ? result && one : result || one;
            negate = false;
        }
    }
}

bool condition_test(struct tex *tex, struct token call)
{
    struct tokens test = {0};
    call.cat = CAT_STOP;
    tex_read_argument(tex, &test);
    tokens_add(&test, call);
    tex_push(tex, test);
    return read_tests(tex);
}

static void run_ifthenelse(struct tex *tex, const struct command *command,
                           struct token call)
{
    (void)command;
    expand_choose(tex, condition_test(tex, call));
}

static const struct command expanding[] = {
    {"iftrue", run_if, NULL, TEST_TRUE, "if"},
    {"iffalse", run_if, NULL, TEST_FALSE, "if"},
    {"if", run_if, NULL, TEST_IF, "if"},
    {"ifcat", run_if, NULL, TEST_CAT, "if"},
    {"ifx", run_if, NULL, TEST_X, "if"},
    {"ifnum", run_if, NULL, TEST_NUMBER, "if"},
    {"ifdim", run_if, NULL, TEST_DIMENSION, "if"},
    {"ifodd", run_if, NULL, TEST_ODD, "if"},
    {"ifdefined", run_if, NULL, TEST_DEFINED, "if"},
    {"ifcsname", run_if, NULL, TEST_CSNAME, "if"},
    {"ifmmode", run_if, NULL, TEST_FALSE, "if"},
    {"ifhmode", run_if, NULL, TEST_TRUE, "if"},
    {"ifvmode", run_if, NULL, TEST_FALSE, "if"},
    {"ifinner", run_if, NULL, TEST_FALSE, "if"},
    {"ifvoid", run_if, NULL, TEST_REGISTER_TRUE, "if"},
    {"ifhbox", run_if, NULL, TEST_REGISTER_FALSE, "if"},
    {"ifvbox", run_if, NULL, TEST_REGISTER_FALSE, "if"},
    {"ifeof", run_if, NULL, TEST_REGISTER_TRUE, "if"},
    {"ifcase", run_ifcase, NULL, 0, "if"},
    {"unless", run_unless, NULL, 0, NULL},
    {"else", run_else, NULL, 0, "else"},
    {"or", run_else, NULL, 0, "or"},
    {"fi", run_fi, NULL, 0, "fi"},
    /* What packages and classes say of the run: LuaLaTeX, which can read the
     * most of a document, one side, twice. */
    {"ifpdf", run_if, NULL, TEST_TRUE, "if"},
    {"ifPDFTeX", run_if, NULL, TEST_FALSE, "if"},
    {"ifpdftex", run_if, NULL, TEST_FALSE, "if"},
    {"ifxetex", run_if, NULL, TEST_FALSE, "if"},
    {"ifXeTeX", run_if, NULL, TEST_FALSE, "if"},
    {"ifluatex", run_if, NULL, TEST_TRUE, "if"},
    {"ifLuaTeX", run_if, NULL, TEST_TRUE, "if"},
    {"iftutex", run_if, NULL, TEST_TRUE, "if"},
    {"ifTUTeX", run_if, NULL, TEST_TRUE, "if"},
    {"ifetex", run_if, NULL, TEST_TRUE, "if"},
    {"ifvtex", run_if, NULL, TEST_FALSE, "if"},
    {"if@twoside", run_if, NULL, TEST_FALSE, "if"},
    {"if@twocolumn", run_if, NULL, TEST_FALSE, "if"},
    {"if@openright", run_if, NULL, TEST_FALSE, "if"},
    {"if@mainmatter", run_if, NULL, TEST_TRUE, "if"},
    {"if@restonecol", run_if, NULL, TEST_FALSE, "if"},
    {"if@filesw", run_if, NULL, TEST_FALSE, "if"},
    {"ifthenelse", run_ifthenelse, NULL, 0, NULL},
};

void condition_add(struct tex *tex)
{
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, false);
}
