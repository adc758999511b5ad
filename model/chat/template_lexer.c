/* White space around tags, as Jinja2 has it with trim_blocks and lstrip_blocks:
 *
 *   {%  {#        at the start of a line: the blanks before go
 *   {%- {{- {#-   all white space before goes
 *   {%+           nothing goes
 *   %}  #}        a newline after goes
 *   -%} -}} -#}   all white space after goes
 *   +%} +#}       nothing goes
 *
 * Of the newlines that end the template one goes. */
#include "model/chat/template_syntax_internal.h"

#include <ctype.h>

#include "base/text.h"
#include "model/chat/template_strings_internal.h"

enum { MAX_NESTED_BRACKETS = 256 };

struct lexer {
    const char *source;
    size_t size;
    size_t at;
    unsigned line;
    struct arena *arena;
    struct tokens *tokens;
    struct err *err;
    bool failed;
    bool
        after_newline; /* what was read last ended a line, or nothing was read */
    char brackets[MAX_NESTED_BRACKETS]; /* that wait for these */
    unsigned bracket_count;
};

static void lexer_fail(struct lexer *lexer, const char *what)
{
    if (!lexer->failed)
        err_set(lexer->err, ERR_FORMAT, "chat template, line %u: %s",
                lexer->line, what);
    lexer->failed = true;
    lexer->at = lexer->size;
}

static bool ahead(const struct lexer *lexer, const char *text)
{
    struct slice rest = {lexer->source + lexer->at, lexer->size - lexer->at};
    return slice_starts(rest, slice_of(text));
}

static void advance(struct lexer *lexer, size_t size)
{
    for (size_t end = lexer->at + size; lexer->at < end; lexer->at++)
        lexer->line += lexer->source[lexer->at] == '\n';
    if (size)
        lexer->after_newline = lexer->source[lexer->at - 1] == '\n';
}

static void skip_white(struct lexer *lexer)
{
    struct slice rest = {lexer->source + lexer->at, lexer->size - lexer->at};
    advance(lexer, rest.size - string_strip_left(rest).size);
}

static void put_token(struct lexer *lexer, enum token_kind kind,
                      struct slice text)
{
    struct tokens *tokens = lexer->tokens;
    MEM_RESERVE(tokens->items, &tokens->capacity, tokens->count + 1);
    tokens->items[tokens->count++] = (struct token){kind, lexer->line, text};
}

/* The end of a tag: its sign, its two characters and the white space that goes
 * with it.  False when it does not stand here. */
static bool skip_end(struct lexer *lexer, const char *end, bool trims)
{
    char sign = lexer->source[lexer->at];
    bool has_sign = sign == '-' || (sign == '+' && trims);
    struct slice rest = {lexer->source + lexer->at + has_sign,
                         lexer->size - lexer->at - has_sign};
    if (lexer->at == lexer->size || !slice_starts(rest, slice_of(end)))
        return false;
    advance(lexer, 2 + has_sign);
    if (has_sign && sign == '-')
        skip_white(lexer);
    else if (!has_sign && trims && ahead(lexer, "\n"))
        advance(lexer, 1);
    return true;
}

/* Literal text that ends before a tag, of which `sign` is the first byte within;
 * `strips` when blanks at the start of its line go. */
static void put_data(struct lexer *lexer, size_t from, size_t to, char sign,
                     bool strips, bool after_newline)
{
    struct slice text = {lexer->source + from, to - from};
    if (sign == '-') {
        text = string_strip_right(text);
    } else if (sign != '+' && strips) {
        struct slice kept = text;
        while (kept.size && kept.data[kept.size - 1] != '\n')
            kept.size--;
        struct slice blanks = {text.data + kept.size, text.size - kept.size};
        if ((kept.size || after_newline) && !string_strip_left(blanks).size)
            text = kept;
    }
    if (text.size)
        put_token(lexer, TOKEN_DATA, text);
}

/* ---- Inside of tags ---- */

static size_t hex_digits(struct lexer *lexer, size_t at, size_t count,
                         uint32_t *ret_value)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++) {
        char c = at + i < lexer->size ? lexer->source[at + i] : ' ';
        if (!isxdigit((unsigned char)c)) {
            lexer_fail(lexer, "an escape in a string lacks digits");
            return 0;
        }
        value = value * 16 + (uint32_t)(isdigit((unsigned char)c)
                                            ? c - '0'
                                            : (c | 32) - 'a' + 10);
    }
    *ret_value = value;
    return count;
}

static size_t octal_digits(const struct lexer *lexer, size_t at,
                           uint32_t *ret_value)
{
    size_t count = 0;
    *ret_value = 0;
    while (count < 3 && lexer->source[at + count] >= '0' &&
           lexer->source[at + count] <= '7')
        *ret_value =
            *ret_value * 8 + (uint32_t)(lexer->source[at + count++] - '0');
    return count;
}

/* What is no escape keeps its backslash and is read on as it is. */
static size_t put_backslash(struct buf *text)
{
    buf_put_byte(text, '\\');
    return 0;
}

/* Puts what the escape at `at`, after its backslash, stands for; gives its size.
 * The string's quote is still to come, so there is a byte after it. */
static size_t put_escape(struct lexer *lexer, size_t at, struct buf *text)
{
    static const char letters[] = "ntrbfav\\'\"",
                      meanings[] = "\n\t\r\b\f\a\v\\'\"";
    char c = lexer->source[at];
    const char *simple = c ? strchr(letters, c) : NULL;
    uint32_t code = 0;
    size_t size = 1;
    if (c == '\n')
        return 1;
    if (simple)
        code = (unsigned char)meanings[simple - letters];
    else if (c == 'x' || c == 'u' || c == 'U')
        size += hex_digits(lexer, at + 1,
                           c == 'x'   ? 2
                           : c == 'u' ? 4
                                      : 8,
                           &code);
    else if (c >= '0' && c <= '7')
        size = octal_digits(lexer, at, &code);
    else if (c == 'N')
        lexer_fail(lexer, "characters by name (\\N) are not supported");
    else
        return put_backslash(text);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        lexer_fail(lexer, "an escape in a string is no character");
    else if (!lexer->failed)
        text_encode(text, code);
    return size;
}

static void lex_string(struct lexer *lexer)
{
    char quote = lexer->source[lexer->at];
    size_t end = lexer->at + 1;
    while (end < lexer->size && lexer->source[end] != quote)
        end += lexer->source[end] == '\\' ? 2 : 1;
    if (end >= lexer->size) {
        lexer_fail(lexer, "a string does not end");
        return;
    }
    struct buf text = {0};
    for (size_t at = lexer->at + 1; at < end && !lexer->failed;) {
        if (lexer->source[at] == '\\')
            at += 1 + put_escape(lexer, at + 1, &text);
        else
            buf_put_byte(&text, lexer->source[at++]);
    }
    if (!lexer->failed) {
        struct slice whole = buf_slice(&text);
        put_token(
            lexer, TOKEN_STRING,
            (struct slice){arena_copy(lexer->arena, whole.data, whole.size),
                           whole.size});
        advance(lexer, end + 1 - lexer->at);
    }
    buf_free(&text);
}

/* Where digits, which underscores may separate, end. */
static size_t skip_digits(const struct lexer *lexer, size_t at)
{
    while (at < lexer->size &&
           (isdigit((unsigned char)lexer->source[at]) ||
            (lexer->source[at] == '_' && at + 1 < lexer->size &&
             isdigit((unsigned char)lexer->source[at + 1]))))
        at++;
    return at;
}

static bool digit_at(const struct lexer *lexer, size_t at)
{
    return at < lexer->size && isdigit((unsigned char)lexer->source[at]);
}

static void lex_number(struct lexer *lexer)
{
    bool after_dot = lexer->at && lexer->source[lexer->at - 1] == '.';
    size_t whole = skip_digits(lexer, lexer->at), end = whole;
    if (!after_dot) {
        if (end < lexer->size && lexer->source[end] == '.' &&
            digit_at(lexer, end + 1))
            end = skip_digits(lexer, end + 1);
        if (end < lexer->size && (lexer->source[end] | 32) == 'e') {
            size_t sign =
                end + 1 < lexer->size && (lexer->source[end + 1] == '-' ||
                                          lexer->source[end + 1] == '+');
            if (digit_at(lexer, end + 1 + sign))
                end = skip_digits(lexer, end + 1 + sign);
        }
    }
    struct buf digits = {0};
    for (size_t at = lexer->at; at < end; at++)
        if (lexer->source[at] != '_')
            buf_put_byte(&digits, lexer->source[at]);
    put_token(lexer, end == whole ? TOKEN_INTEGER : TOKEN_FLOAT,
              (struct slice){arena_copy(lexer->arena, digits.data, digits.size),
                             digits.size});
    buf_free(&digits);
    advance(lexer, end - lexer->at);
}

static void lex_name(struct lexer *lexer)
{
    size_t end = lexer->at;
    while (end < lexer->size && (isalnum((unsigned char)lexer->source[end]) ||
                                 lexer->source[end] == '_'))
        end++;
    put_token(lexer, TOKEN_NAME,
              (struct slice){lexer->source + lexer->at, end - lexer->at});
    advance(lexer, end - lexer->at);
}

static void balance(struct lexer *lexer, char c)
{
    if (c == '(' || c == '[' || c == '{') {
        if (lexer->bracket_count == MAX_NESTED_BRACKETS)
            lexer_fail(lexer, "brackets are nested too deeply");
        else
            lexer->brackets[lexer->bracket_count++] = c == '('   ? ')'
                                                      : c == '[' ? ']'
                                                                 : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (!lexer->bracket_count ||
            lexer->brackets[--lexer->bracket_count] != c)
            lexer_fail(lexer, "a bracket closes what was not opened");
    }
}

static void lex_operator(struct lexer *lexer)
{
    static const char *const pairs[] = {"//", "**", "==", "!=", ">=", "<="};
    size_t size = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !size; i++)
        size = ahead(lexer, pairs[i]) ? 2 : 0;
    char c = lexer->source[lexer->at];
    if (!size && c && strchr("+-/*%~[](){}><=.:|,;", c))
        size = 1;
    if (size == 1)
        balance(lexer, c);
    if (!size)
        lexer_fail(lexer, "an unexpected character in a tag");
    if (lexer->failed)
        return;
    put_token(lexer, TOKEN_OPERATOR,
              (struct slice){lexer->source + lexer->at, size});
    advance(lexer, size);
}

static void lex_tag(struct lexer *lexer, enum token_kind end_kind)
{
    bool block = end_kind == TOKEN_BLOCK_END;
    lexer->bracket_count = 0;
    while (lexer->at < lexer->size) {
        unsigned char c = (unsigned char)lexer->source[lexer->at];
        unsigned line = lexer->line;
        if (!lexer->bracket_count &&
            skip_end(lexer, block ? "%}" : "}}", block)) {
            put_token(lexer, end_kind, slice_of(block ? "%}" : "}}"));
            lexer->tokens->items[lexer->tokens->count - 1].line = line;
            return;
        }
        struct slice rest = {lexer->source + lexer->at,
                             lexer->size - lexer->at};
        if (string_strip_left(rest).size < rest.size)
            skip_white(lexer);
        else if (c == '"' || c == '\'')
            lex_string(lexer);
        else if (isdigit(c))
            lex_number(lexer);
        else if (isalpha(c) || c == '_')
            lex_name(lexer);
        else
            lex_operator(lexer);
    }
    lexer_fail(lexer, "a tag does not end");
}

static void skip_comment(struct lexer *lexer)
{
    while (lexer->at < lexer->size) {
        if (skip_end(lexer, "#}", true))
            return;
        advance(lexer, 1);
    }
    lexer_fail(lexer, "a comment does not end");
}

/* ---- Tags ---- */

/* A tag that is only `word`, as {%- raw %}, begins at `at`: gives its size
 * without what ends it, or 0. */
static size_t word_tag(const struct lexer *lexer, size_t at, const char *word)
{
    struct slice rest = {lexer->source + at, lexer->size - at};
    size_t size = rest.size;
    if (!slice_starts(rest, slice_of("{%")))
        return 0;
    rest = (struct slice){rest.data + 2, rest.size - 2};
    if (rest.size && (rest.data[0] == '-' || rest.data[0] == '+'))
        rest = (struct slice){rest.data + 1, rest.size - 1};
    rest = string_strip_left(rest);
    if (!slice_starts(rest, slice_of(word)))
        return 0;
    rest = (struct slice){rest.data + strlen(word), rest.size - strlen(word)};
    rest = string_strip_left(rest);
    if (!slice_starts(rest, slice_of("%}")) &&
        !slice_starts(rest, slice_of("-%}")) &&
        !slice_starts(rest, slice_of("+%}")))
        return 0;
    return size - rest.size;
}

static char sign_at(const struct lexer *lexer, size_t at)
{
    return at < lexer->size ? lexer->source[at] : '\0';
}

static void lex_raw(struct lexer *lexer, size_t opening)
{
    advance(lexer, opening);
    if (ahead(lexer, "-%}")) {
        advance(lexer, 3);
        skip_white(lexer);
    } else {
        advance(lexer, 2);
    }
    bool after_newline = lexer->after_newline;
    for (size_t from = lexer->at; lexer->at < lexer->size; advance(lexer, 1)) {
        size_t closing = word_tag(lexer, lexer->at, "endraw");
        if (!closing)
            continue;
        put_data(lexer, from, lexer->at, sign_at(lexer, lexer->at + 2), true,
                 after_newline);
        advance(lexer, closing);
        skip_end(lexer, "%}", true);
        return;
    }
    lexer_fail(lexer, "a raw block does not end");
}

static void lex_one_tag(struct lexer *lexer)
{
    char kind = lexer->source[lexer->at + 1];
    size_t raw = word_tag(lexer, lexer->at, "raw");
    if (raw && lexer->source[lexer->at + raw] != '+') {
        lex_raw(lexer, raw);
        return;
    }
    char sign = sign_at(lexer, lexer->at + 2);
    if (kind != '#')
        put_token(lexer, kind == '%' ? TOKEN_BLOCK_BEGIN : TOKEN_OUTPUT_BEGIN,
                  (struct slice){lexer->source + lexer->at, 2});
    advance(lexer, sign == '-' || sign == '+' ? 3 : 2);
    if (kind == '#')
        skip_comment(lexer);
    else
        lex_tag(lexer, kind == '%' ? TOKEN_BLOCK_END : TOKEN_OUTPUT_END);
}

static void lex_all(struct lexer *lexer)
{
    while (lexer->at < lexer->size) {
        size_t from = lexer->at, to = from;
        bool after_newline = lexer->after_newline;
        while (to < lexer->size &&
               !(lexer->source[to] == '{' && to + 1 < lexer->size &&
                 strchr("%{#", lexer->source[to + 1]) && lexer->source[to + 1]))
            to++;
        if (to == lexer->size)
            put_data(lexer, from, to, '+', false, false);
        else
            put_data(lexer, from, to, sign_at(lexer, to + 2),
                     lexer->source[to + 1] != '{', after_newline);
        advance(lexer, to - from);
        if (to < lexer->size)
            lex_one_tag(lexer);
    }
    put_token(lexer, TOKEN_END, slice_of("the end of the template"));
}

/* Every line end as one newline, and the last gone. */
static struct slice normalise(struct slice source, struct arena *arena)
{
    char *text = arena_copy(arena, source.data, source.size);
    size_t size = 0;
    for (size_t at = 0; at < source.size; at++) {
        bool pair = source.data[at] == '\r' && at + 1 < source.size &&
                    source.data[at + 1] == '\n';
        if (!pair)
            text[size++] = source.data[at] == '\r' ? '\n' : source.data[at];
    }
    if (size && text[size - 1] == '\n')
        size--;
    return (struct slice){text, size};
}

int template_lex(struct slice source, struct arena *arena,
                 struct tokens *ret_tokens, struct err *err)
{
    struct tokens tokens = {0};
    struct slice text = normalise(source, arena);
    struct lexer lexer = {.source = text.data,
                          .size = text.size,
                          .line = 1,
                          .arena = arena,
                          .tokens = &tokens,
                          .err = err,
                          .after_newline = true};
    lex_all(&lexer);
    if (lexer.failed) {
        free(tokens.items);
        return ERR_FORMAT;
    }
    *ret_tokens = tokens;
    return 0;
}
