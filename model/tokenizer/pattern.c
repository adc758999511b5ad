/* What differs between the two languages, and what is done about it:
 *
 *   \s            PCRE2 counts U+180E in         written out
 *   \w            differs on 3,436 characters    written out; of six more
 *                 outside of [ ]
 *   \d \b         Unicode 14 here, 16 there      written out
 *   [a\W]         \W as above                   (?:[a]|[^...])
 *   \h            a hexadecimal digit there      written out
 *   \p{Han}       Script there, extensions here  \p{sc:Han}
 *   \p{Letter}    long names of categories       \p{L}
 *   \p{L}         Unicode 14 here, 16 there      the rest written out
 *   ^ $           at every line there            PCRE2_MULTILINE
 *   [a&&b] [a[b]] set operations there           refused
 *   x{1,3}+       greedy there, possessive here  refused
 *   \C            no such thing there           refused
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/pattern.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/tokenizer/new_unicode.h"

struct pattern {
    pcre2_code *code;
    bool jit;
    bool character;  /* that is all it matches */
    bool ascii[128]; /* it does these */
};

struct pattern_scan {
    const struct pattern *pattern;
    pcre2_match_data *match; /* made when needed */
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool interpret; /* the compiled code ran out of its stack once */
};

#define SPACES                                                                 \
    "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"     \
    "\\x{202f}\\x{205f}\\x{3000}"
#define WORDS                                                                  \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-"          \
    "\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"

/* Superscripts and fractions of Latin 1, which are words to \w alone and to \b. */
#define LATIN_WORDS "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

static const struct {
    char letter;
    const char *members;
} shorthands[] = {
    {'s', SPACES},
    {'w', WORDS},
    {'h', "0-9a-fA-F"},
    {'d', "\\p{Nd}"},
};

/* Long names of general categories, and what Unicode calls them. */
static const struct {
    const char *name, *category;
} categories[] = {
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"mark", "M"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"digit", "Nd"},
    {"punct", "P"},
    {"punctuation", "P"},
    {"symbol", "S"},
    {"separator", "Z"},
    {"other", "C"},
    {"cntrl", "Cc"},
    {"control", "Cc"},
    {"any", "Any"},
};

static bool plain_property(struct slice name)
{
    static const char *const kept[] = {"Any", "L&", "Xan", "Xsp", "Xps", "Xwd"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (slice_is(name, kept[i]))
            return true;
    if (name.size == 0 || name.size > 2 || !strchr("CLMNPSZ", name.data[0]))
        return name.size && memchr(name.data, ':', name.size);
    return name.size == 1 || islower((unsigned char)name.data[1]);
}

static const char *category_of(struct slice name)
{
    char folded[24];
    size_t used = 0;
    for (size_t i = 0; i < name.size && used + 1 < sizeof folded; i++)
        if (!strchr(" _-", name.data[i]))
            folded[used++] = (char)tolower((unsigned char)name.data[i]);
    folded[used] = '\0';
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
        if (!strcmp(folded, categories[i].name))
            return categories[i].category;
    return NULL;
}

/* A class [...] as it is read.  What it has as the complement of something, as
 * \W, cannot be a member of one here: it stands beside, as [^...]. */
struct class
{
    size_t from; /* the byte after [ or [^; 0: there is none */
    bool negated;
    struct buf members, beside;
};

/* The members of what is written as \w or \p{L}, from the language of one to
 * that of the other, go where they belong. */
static void put_set(struct buf *out, struct class *class, struct slice members,
                    bool negated)
{
    if (class->from && !negated) {
        buf_put_slice(&class->members, members);
        return;
    }
    if (class->from) {
        out = &class->beside;
        buf_put_text(out, class->negated ? "(?!" : "|");
    }
    buf_put_text(out, negated ? "[^" : "[");
    buf_put_slice(out, members);
    buf_put_text(out, "]");
    if (class->from && class->negated)
        buf_put_text(out, ")");
}

static void end_class(struct buf *out, struct class *class)
{
    struct slice members = buf_slice(&class->members);
    struct slice beside = buf_slice(&class->beside);
    if (beside.size)
        buf_put_text(out, "(?:");
    if (class->negated)
        buf_put_slice(out, beside);
    if (members.size || !beside.size) {
        buf_put_text(out, class->negated ? "[^" : "[");
        buf_put_slice(out, members);
        buf_put_text(out, "]");
    } else if (class->negated) {
        buf_put_text(out, "(?s:.)");
    } else {
        beside.data++;
        beside.size--;
    }
    if (!class->negated)
        buf_put_slice(out, beside);
    if (class->beside.size)
        buf_put_text(out, ")");
    class->from = 0;
    buf_clear(&class->members);
    buf_clear(&class->beside);
}

/* \p{...} or \P{...} at `at` (on the backslash); returns the byte after it. */
static size_t rewrite_property(struct buf *out, struct slice in, size_t at,
                               struct class *class)
{
    const char *close = memchr(in.data + at, '}', in.size - at);
    if (!close || in.data[at + 2] != '{') {
        buf_put(class->from ? &class->members : out, in.data + at, 2);
        return at + 2;
    }
    size_t end = (size_t)(close - in.data), from = at + 3;
    bool negated = in.data[from] == '^';
    from += negated;
    struct slice name = {in.data + from, end - from};
    const char *category = plain_property(name) ? NULL : category_of(name);
    struct slice kind = category ? slice_of(category) : name;
    struct buf members = {0};
    buf_put_text(&members, "\\p{");
    if (!category && !plain_property(name))
        buf_put_text(&members, "sc:");
    buf_put_slice(&members, kind);
    buf_put_byte(&members, '}');
    new_unicode_put(&members, kind);
    put_set(out, class, buf_slice(&members),
            negated != (in.data[at + 1] == 'P'));
    buf_free(&members);
    return end + 1;
}

/* \b and \B, by what a word is there. */
static void put_edge(struct buf *out, bool negated)
{
    struct buf word = {0};
    buf_put_text(&word, "[" WORDS LATIN_WORDS);
    new_unicode_put_words(&word);
    buf_put_text(&word, "]");
    buf_printf(out, "(?:(?<=%s)(?%s%s)|(?<!%s)(?%s%s))", word.data,
               negated ? "=" : "!", word.data, word.data, negated ? "!" : "=",
               word.data);
    buf_free(&word);
}

static size_t rewrite_escape(struct buf *out, struct slice in, size_t at,
                             struct class *class)
{
    struct buf *to = class->from ? &class->members : out;
    if (at + 1 == in.size) {
        buf_put_byte(to, '\\');
        return at + 1;
    }
    char letter = in.data[at + 1];
    if ((letter == 'p' || letter == 'P') && at + 2 < in.size)
        return rewrite_property(out, in, at, class);
    for (size_t i = 0; i < sizeof shorthands / sizeof shorthands[0]; i++) {
        bool negated = letter == toupper((unsigned char)shorthands[i].letter);
        if (letter != shorthands[i].letter && !negated)
            continue;
        struct buf members = {0};
        buf_put_text(&members, shorthands[i].members);
        if (shorthands[i].letter == 'w')
            new_unicode_put_words(&members);
        if (shorthands[i].letter == 'w' && !class->from)
            buf_put_text(&members, LATIN_WORDS);
        if (shorthands[i].letter == 'd')
            new_unicode_put(&members, slice_of("Nd"));
        put_set(out, class, buf_slice(&members), negated);
        buf_free(&members);
        return at + 2;
    }
    if (!class->from && (letter == 'b' || letter == 'B'))
        put_edge(out, letter == 'B');
    else
        buf_put(to, in.data + at, 2);
    return at + 2;
}

/* PCRE2 holds 4 bytes for each of these at work, and compiles no pattern to more
 * than 64 KiB; a \b alone becomes some KB. */
enum { MAX_REWRITTEN = 1 << 20 };

static int refuse(struct err *err, size_t at, const char *what)
{
    return err_set(err, ERR_FORMAT,
                   "the pattern has %s at byte %zu, which is not supported",
                   what, at);
}

/* Whether what was taken out of the class, from `at` to `end`, has a hyphen
 * beside it, which might now join what it did not. */
static bool is_beside_hyphen(struct slice in, const struct class *class,
                             size_t at, size_t end)
{
    bool before = at > class->from + 1 && in.data[at - 1] == '-' &&
                  in.data[at - 2] != '\\';
    bool after =
        end + 1 < in.size && in.data[end] == '-' && in.data[end + 1] != ']';
    return before || after;
}

static int rewrite_parts(struct buf *out, struct class *class, struct slice in,
                         struct err *err)
{
    for (size_t at = 0; at < in.size;) {
        char c = in.data[at];
        if (out->size + class->members.size + class->beside.size >
            MAX_REWRITTEN)
            return err_set(err, ERR_LIMIT,
                           "the pattern is too large, from byte %zu on", at);
        if (c == '\\') {
            size_t beside = class->beside.size, from = at;
            at = rewrite_escape(out, in, at, class);
            if (class->beside.size > beside &&
                is_beside_hyphen(in, class, from, at))
                return refuse(err, from, "a range with a complement");
            continue;
        }
        char next = at + 1 < in.size ? in.data[at + 1] : '\0';
        if (class->from && c == '&' && next == '&')
            return refuse(err, at, "an intersection (&&)");
        if (class->from && c == '[')
            return refuse(err, at, "a class within a class");
        if (!class->from && c == '}' && next == '+')
            return refuse(err, at, "an interval followed by +");
        if (!class->from && c == '[') {
            class->negated = next == '^';
            class->from = at + 1 + class->negated;
            at = class->from;
            continue;
        }
        if (class->from && c == ']' && at > class->from) {
            end_class(out, class);
        } else if (class->from) {
            buf_put_text(&class->members, c == '^' ? "\\" : "");
            buf_put_byte(&class->members, c);
        } else {
            buf_put_byte(out, c);
        }
        at++;
    }
    if (class->from)
        return err_set(err, ERR_FORMAT,
                       "bad pattern: no ] for the class at byte %zu",
                       class->from - 1 - class->negated);
    return 0;
}

/* From one language to the other. */
static int rewrite(struct buf *out, struct slice in, struct err *err)
{
    struct class class = {0};
    int code = rewrite_parts(out, &class, in, err);
    buf_free(&class.members);
    buf_free(&class.beside);
    return code;
}

static int compile(struct slice regex, uint32_t flags, pcre2_code **ret,
                   struct err *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return err_set(err, ERR_LIMIT, "no memory for a pattern");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, 64);
    int number;
    PCRE2_SIZE at;
    *ret = pcre2_compile((PCRE2_SPTR)regex.data, regex.size, flags, &number,
                         &at, context);
    pcre2_compile_context_free(context);
    if (*ret)
        return 0;
    PCRE2_UCHAR text[200];
    pcre2_get_error_message(number, text, sizeof text);
    return err_set(err, ERR_FORMAT, "bad pattern: %s at byte %zu of %.*s",
                   (const char *)text, at,
                   (int)(regex.size < 200 ? regex.size : 200), regex.data);
}

int pattern_compile(struct slice source, bool literal,
                    struct pattern **ret_pattern, struct err *err)
{
    struct buf regex = {0};
    uint32_t flags = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE |
                     PCRE2_NEVER_BACKSLASH_C; /* cuts characters */
    pcre2_code *code_made;
    int code = 0;
    if (source.size > 1 << 16)
        return err_set(err, ERR_LIMIT, "a pattern of %zu bytes", source.size);
    if (literal) {
        flags = PCRE2_UTF | PCRE2_LITERAL;
        buf_put_slice(&regex, source);
    } else {
        code = rewrite(&regex, source, err);
    }
    if (!code)
        code = compile(buf_slice(&regex), flags, &code_made, err);
    buf_free(&regex);
    if (code)
        return code;
    struct pattern *pattern = mem_alloc(sizeof *pattern);
    pattern->code = code_made;
    pattern->jit = pcre2_jit_compile(code_made, PCRE2_JIT_COMPLETE) == 0;
    *ret_pattern = pattern;
    return 0;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    free(pattern);
}

static void *check(void *made)
{
    return made ? made : mem_resize(NULL, SIZE_MAX, 2); /* ends the process */
}

struct pattern_scan *pattern_scan_new(const struct pattern *pattern)
{
    struct pattern_scan *scan = mem_alloc(sizeof *scan);
    scan->pattern = pattern;
    scan->interpret = !pattern->jit;
    return scan;
}

static void get_ready(struct pattern_scan *scan)
{
    if (scan->match)
        return;
    scan->match =
        check(pcre2_match_data_create_from_pattern(scan->pattern->code, NULL));
    scan->context = check(pcre2_match_context_create(NULL));
}

void pattern_scan_free(struct pattern_scan *scan)
{
    if (!scan)
        return;
    pcre2_match_data_free(scan->match);
    pcre2_match_context_free(scan->context);
    if (scan->stack)
        pcre2_jit_stack_free(scan->stack);
    free(scan);
}

/* The compiled code's stack is 32 KiB at first; then up to 8 MiB; then the
 * interpreter, whose stack is the heap. */
static void more_stack(struct pattern_scan *scan)
{
    enum { FIRST = 32 << 10, MAX = 8 << 20 };
    if (!scan->stack)
        scan->stack = pcre2_jit_stack_create(FIRST, MAX, NULL);
    else
        scan->interpret = true;
    if (scan->stack)
        pcre2_jit_stack_assign(scan->context, NULL, scan->stack);
}

static int match(struct pattern_scan *scan, struct slice text, size_t from)
{
    PCRE2_SPTR data = (PCRE2_SPTR)text.data;
    get_ready(scan);
    if (!scan->interpret)
        return pcre2_jit_match(scan->pattern->code, data, text.size, from,
                               PCRE2_NO_UTF_CHECK, scan->match, scan->context);
    return pcre2_match(scan->pattern->code, data, text.size, from,
                       PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scan->match,
                       scan->context);
}

/* A match never checks the text (it is well-formed), so where a match lies
 * must be a place in it: \K can put one before `from`, or turn it around. */
static bool is_boundary(struct slice text, size_t at)
{
    return at == text.size ||
           (at < text.size && ((unsigned char)text.data[at] & 0xC0) != 0x80);
}

void pattern_is_character(struct pattern *pattern)
{
    struct pattern_scan *scan = pattern_scan_new(pattern);
    for (size_t c = 0; c < sizeof pattern->ascii; c++) {
        char byte = (char)c;
        pattern->ascii[c] = match(scan, (struct slice){&byte, 1}, 0) > 0;
    }
    pattern_scan_free(scan);
    pattern->character = true;
}

/* The first byte from `at` on that the pattern takes, or that is not ASCII. */
static size_t skip_ascii(const struct pattern *pattern, struct slice text,
                         size_t at)
{
    while (at < text.size && !((unsigned char)text.data[at] & 0x80) &&
           !pattern->ascii[(unsigned char)text.data[at]])
        at++;
    return at;
}

int pattern_next(struct pattern_scan *scan, struct slice text, size_t from,
                 size_t *ret_start, size_t *ret_end, struct err *err)
{
    if (scan->pattern->character) {
        from = skip_ascii(scan->pattern, text, from);
        if (from == text.size)
            return 0;
        if (!((unsigned char)text.data[from] & 0x80)) {
            *ret_start = from;
            *ret_end = from + 1;
            return 1;
        }
    }
    int count = match(scan, text, from);
    while (count == PCRE2_ERROR_JIT_STACKLIMIT && !scan->interpret) {
        more_stack(scan);
        count = match(scan, text, from);
    }
    if (count == PCRE2_ERROR_NOMATCH)
        return 0;
    if (count < 0)
        return err_set(err, ERR_LIMIT,
                       "the tokenizer's pattern gave up at byte %zu (%d)", from,
                       count);
    PCRE2_SIZE *range = pcre2_get_ovector_pointer(scan->match);
    if (range[0] < from || range[1] < range[0] ||
        !is_boundary(text, range[0]) || !is_boundary(text, range[1]))
        return err_set(err, ERR_FORMAT,
                       "the tokenizer's pattern matches backwards, or within "
                       "a character, at byte %zu",
                       from);
    *ret_start = range[0];
    *ret_end = range[1];
    return 1;
}
