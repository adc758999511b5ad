#include "memory/lexical/analyze.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "memory/lexical/script.h"
#include "memory/lexical/stems.h"

enum {
    MAX_SIGNS = 4,
    MAX_QUOTED = 64 /* bytes of a run of signs, with what is around them */
};

struct analyzer {
    struct stems *stems;
    struct buf word;  /* the word being read, in lower case */
    struct buf whole; /* the identifier being read, "=" first */
    struct buf run;   /* a run as `visible` has it */
};

/* One run between white space, as it is taken apart. */
struct run {
    struct analyzer *maker;
    void (*each)(void *context, const struct term_at *at);
    void *context;
    const struct sought_terms *sought; /* NULL: all terms are given */
    size_t words;
    bool identifier; /* its words are parts of one */
    struct slice piece;
};

struct analyzer *analyzer_new(void)
{
    struct analyzer *maker = mem_alloc(sizeof *maker);
    maker->stems = stems_new();
    return maker;
}

void analyzer_free(struct analyzer *maker)
{
    if (!maker)
        return;
    stems_free(maker->stems);
    buf_free(&maker->word);
    buf_free(&maker->whole);
    buf_free(&maker->run);
    free(maker);
}

static bool is_word_sought(const struct run *run, struct slice word)
{
    return !run->sought || sought_word(run->sought, word);
}

static bool is_whole_sought(const struct run *run, struct slice whole)
{
    return !run->sought || sought_whole(run->sought, whole);
}

static size_t cut(const struct buf *text)
{
    return text->size <= TERM_MAX ? text->size
                                  : text_begin(text->data, TERM_MAX);
}

/* In lower case; the wide forms of ASCII that stand in CJK text as ASCII. */
static uint32_t folded(uint32_t c)
{
    enum { WIDE_FIRST = 0xFF01, WIDE_LAST = 0xFF5E, WIDE = 0xFEE0 };
    return text_lower(c >= WIDE_FIRST && c <= WIDE_LAST ? c - WIDE : c);
}

/* The word in lower case; whether it is all capitals, two or more. */
static bool lower_word(struct buf *out, struct slice text)
{
    bool capitals = true;
    size_t letters = 0;
    buf_clear(out);
    buf_reserve(out, 3 * text.size); /* a small letter may be the longer one */
    for (size_t at = 0, step; at < text.size; at += step, letters++) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        capitals &= text_is_upper(c);
        if (c < 0x80)
            out->data[out->size++] = (char)text_lower(c);
        else
            text_encode(out, folded(c));
    }
    return capitals && letters > 1;
}

static void give_word(struct run *run, struct slice text)
{
    run->words++;
    if (!is_word_sought(run, text))
        return;
    struct buf *word = &run->maker->word;
    bool capitals = lower_word(word, text);
    struct slice lower = {word->data, cut(word)};
    struct term_at at = {.term = stem_of(run->maker->stems, lower),
                         .word = lower,
                         .capitals = capitals,
                         .part = run->identifier};
    run->each(run->context, &at);
}

static void give_term(struct run *run, struct slice text, struct term_at at)
{
    if (!is_whole_sought(run, text))
        return;
    struct buf *whole = &run->maker->whole;
    buf_clear(whole);
    buf_put_byte(whole, '=');
    for (size_t i = 0, step; i < text.size; i += step) {
        uint32_t c = folded(text_decode(text.data, text.size, i, &step));
        if (c < 0x80)
            buf_put_byte(whole, (int)c);
        else
            text_encode(whole, c);
    }
    at.term = at.word = (struct slice){whole->data, cut(whole)};
    run->each(run->context, &at);
}

static void give_whole(struct run *run, struct slice text, bool part)
{
    give_term(run, text, (struct term_at){.whole = true, .part = part});
}

static void give_sign(struct run *run, struct slice text)
{
    give_term(run, text,
              (struct term_at){.whole = true, .part = true, .signs = true});
}

/* What a sign of ASCII does. */
enum {
    WRAPS =
        1, /* at the ends of a run it is the sentence's, not the identifier's */
    ENDS = 2,   /* no identifier goes on through it */
    HOLDS = 4,  /* it holds smaller ones: std::vector<int>, f(my_name) */
    OPENS = 8,  /* it may stand before a word, */
    CLOSES = 16 /* or behind one */
};

static const uint8_t sign_uses[0x80] = {
    ['\0'] = WRAPS,
    ['('] = WRAPS | HOLDS | OPENS,
    ['['] = WRAPS | HOLDS | OPENS,
    ['{'] = WRAPS | HOLDS | OPENS,
    [')'] = WRAPS | HOLDS | CLOSES,
    [']'] = WRAPS | HOLDS | CLOSES,
    ['}'] = WRAPS | HOLDS | CLOSES,
    ['"'] = WRAPS | ENDS | OPENS | CLOSES,
    ['\''] = WRAPS | ENDS | OPENS | CLOSES,
    ['`'] = WRAPS | ENDS | OPENS | CLOSES,
    [','] = WRAPS | ENDS | CLOSES,
    [';'] = WRAPS | ENDS | CLOSES,
    [':'] = WRAPS | CLOSES,
    ['.'] = WRAPS | CLOSES,
    ['!'] = WRAPS | CLOSES,
    ['?'] = WRAPS | CLOSES,
    ['<'] = WRAPS | HOLDS,
    ['>'] = WRAPS,
    ['*'] = WRAPS,
    ['|'] = ENDS,
    ['='] = HOLDS,
    ['&'] = HOLDS,
};

static inline bool does(unsigned char c, uint8_t use)
{
    return c < 0x80 && sign_uses[c] & use;
}

static bool is_wrapping(char c)
{
    return does((unsigned char)c, WRAPS);
}

/* Takes wrapping signs off both ends; dots and dashes before a word stay
 * (".pgpass", "--all"). */
static struct slice unwrap(struct slice run)
{
    while (run.size && is_wrapping(run.data[0]) &&
           !(run.data[0] == '.' && run.size > 1 &&
             text_is_letter((unsigned char)run.data[1])))
        run.data++, run.size--;
    while (run.size && is_wrapping(run.data[run.size - 1]))
        run.size--;
    return run;
}

static inline bool is_word(uint32_t c)
{
    return text_is_letter(c) || text_is_digit(c);
}

struct shape {
    bool any_word;
    bool joined; /* signs before or between words */
    bool humps;
};

static bool is_small(uint32_t c)
{
    return text_is_letter(c) && !text_is_upper(c);
}

/* A capital between small letters: findOrphans, but not PostgreSQL. */
static bool is_hump(struct slice text, size_t at, uint32_t before)
{
    size_t step, next;
    uint32_t c = text_decode(text.data, text.size, at, &step);
    if (!text_is_upper(c) || !is_small(before) || at + step >= text.size)
        return false;
    return is_small(text_decode(text.data, text.size, at + step, &next));
}

/* C++ and C#. */
static bool ends_in_sign(struct slice run)
{
    const char *end = run.data + run.size;
    return (run.size > 1 && end[-1] == '#') ||
           (run.size > 2 && end[-1] == '+' && end[-2] == '+');
}

static struct shape shape_of(struct slice run)
{
    struct shape shape = {0};
    bool sign = false;
    uint32_t before = 0;
    for (size_t at = 0, step; at < run.size; at += step) {
        uint32_t c = text_decode(run.data, run.size, at, &step);
        if (is_word(c)) {
            shape.any_word = true;
            shape.joined |= sign;
            shape.humps |= text_is_upper(c) && is_hump(run, at, before);
        }
        sign = !is_word(c);
        before = c;
    }
    shape.joined |= shape.any_word && ends_in_sign(run);
    return shape;
}

/* ---- Operators ---- */

static bool is_quote(unsigned char c)
{
    return c >= 0x80 || (c && strchr("\"'`,;", c));
}

/* The place of a bracket among `brackets`, -1: it is none. */
static int bracket_at(const char *brackets, char c)
{
    const char *at = c ? strchr(brackets, c) : NULL;
    return at ? (int)(at - brackets) : -1;
}

/* Takes one sign off an end that is around the rest; false: there is none. */
static bool unquote_once(struct slice *text)
{
    static const char opening[] = "([{", closing[] = ")]}";
    char first = text->data[0], last = text->data[text->size - 1];
    struct slice behind = {text->data + 1, text->size - 1};
    struct slice before = {text->data, text->size - 1};
    int opens = bracket_at(opening, first), closes = bracket_at(closing, last);
    bool pair = opens >= 0 && opens == closes;
    bool stop = before.size && strchr(".:!?", last) &&
                (is_quote((unsigned char)before.data[before.size - 1]) ||
                 bracket_at(closing, before.data[before.size - 1]) >= 0);
    if (pair || is_quote((unsigned char)first) ||
        (opens >= 0 && !memchr(behind.data, closing[opens], behind.size)))
        *text = behind;
    else if (stop || is_quote((unsigned char)last) ||
             (closes >= 0 &&
              !memchr(before.data, opening[closes], before.size)))
        *text = before;
    else
        return false;
    return true;
}

/* Without the quotes, brackets and commas around it, and the sentence's end behind
 * them: "**" of "(\"**\").", but "$()" as it is. */
static struct slice unquote(struct slice text)
{
    while (text.size && unquote_once(&text))
        ;
    return text;
}

/* A run without a word. */
static void give_signs(struct run *run, struct slice text)
{
    bool sign = false;
    if (text.size > MAX_QUOTED)
        return;
    text = unquote(text);
    if (text.size > MAX_SIGNS)
        return;
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] <= ' ' ||
            (unsigned char)text.data[i] > 126)
            return;
        sign |= !strchr("()[]{}\"'`,;.:!?-", text.data[i]) ||
                (text.size > 1 && strchr(":-", text.data[i]));
    }
    if (sign)
        give_whole(run, text, false);
}

/* Signs between words, or at their ends, that are an operator: "<<<", "->", "&&",
 * ":=", but not what comes together where a value begins ("=/", "=-"). */
static bool is_operator(struct slice signs)
{
    bool tells = false;
    if (signs.size < 2 || signs.size > MAX_SIGNS)
        return false;
    for (size_t i = 0; i < signs.size; i++)
        tells |= strchr("<>|&*=!~^%", signs.data[i]) != NULL;
    return tells && (signs.data[0] != '=' || strchr("=>~", signs.data[1]));
}

/* "<<<" of "[n]<<<word", "->" of "p->next".  Paths, options and scopes are told by
 * their words. */
static void give_operators(struct run *run, struct slice text)
{
    static const char signs[] = "<>|&*=!~^%:-.";
    for (size_t at = 0; at < text.size;) {
        size_t from = at;
        while (at < text.size && text.data[at] && strchr(signs, text.data[at]))
            at++;
        struct slice found = {text.data + from, at - from};
        while (found.size && strchr(".:", found.data[found.size - 1]))
            found.size--;
        if (is_operator(found))
            give_sign(run, found);
        at += at == from;
    }
}

/* The humps of one word: "find", "Orphans". */
static void give_humps(struct run *run, struct slice word)
{
    size_t from = 0;
    uint32_t before = 0;
    for (size_t at = 0, step; at < word.size; at += step) {
        if (is_hump(word, at, before)) {
            give_word(run, (struct slice){word.data + from, at - from});
            from = at;
        }
        before = text_decode(word.data, word.size, at, &step);
    }
    if (from)
        give_word(run, (struct slice){word.data + from, word.size - from});
}

static void give_parts(struct run *run, struct slice text)
{
    for (size_t at = 0, step; at < text.size;) {
        size_t from = at;
        while (at < text.size &&
               is_word(text_decode(text.data, text.size, at, &step)))
            at += step;
        if (at > from) {
            struct slice word = {text.data + from, at - from};
            give_word(run, word);
            give_humps(run, word);
        } else {
            at += step;
        }
    }
}

/* The run without what no reader sees, ligatures as their letters; the same slice
 * when there is nothing of the kind. */
static struct slice visible(struct buf *out, struct slice text)
{
    bool any = false;
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        any |= text_is_invisible(c) || text_ligature(c);
    }
    if (!any)
        return text;
    buf_clear(out);
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        const char *letters = text_ligature(c);
        if (letters)
            buf_put_text(out, letters);
        else if (!text_is_invisible(c))
            buf_put(out, text.data + at, step);
    }
    return buf_slice(out);
}

/* The names that a longer identifier is put together from: pg_class in
 * pg_catalog.pg_class, no-verify in --no-verify. */
static void give_names(struct run *run, struct slice text)
{
    for (size_t at = 0, step; at < text.size;) {
        size_t from = at, end = at;
        bool joined = false, joint = false;
        for (; at < text.size; at += step) {
            uint32_t c = text_decode(text.data, text.size, at, &step);
            if (is_word(c)) {
                joined |= joint;
                joint = false;
                end = at + step;
            } else if (c != '_' && c != '-') {
                break;
            } else if (end > from) {
                joint = true;
            } else {
                from = end = at + step;
            }
        }
        if (joined && end - from < text.size)
            give_whole(run, (struct slice){text.data + from, end - from}, true);
        at += at < text.size ? step : 0;
    }
}

/* Calls `give` for what stands between breaks. */
static inline void split(struct run *run, struct slice text,
                         bool (*is_break)(struct slice text, size_t at,
                                          uint32_t c),
                         void (*give)(struct run *run, struct slice text))
{
    for (size_t at = 0, from = 0, step; at < text.size; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        bool plain = (unsigned)((c | 32) - 'a') < 26; /* breaks are signs */
        bool at_break = !plain && is_break(text, at, c);
        if (!at_break && at + step < text.size)
            continue;
        size_t end = at_break ? at : at + step;
        if (end > from)
            give(run, unwrap((struct slice){text.data + from, end - from}));
        from = at + step;
    }
}

static bool ends_identifier(struct slice text, size_t at, uint32_t c)
{
    (void)text;
    (void)at;
    return c < 0x80 ? sign_uses[c] & ENDS : !is_word(c);
}

/* "->" holds nothing. */
static bool ends_inner(struct slice text, size_t at, uint32_t c)
{
    if (c == '>')
        return !at || text.data[at - 1] != '-';
    return c < 0x80 && sign_uses[c] & HOLDS;
}

static void give_inner(struct run *run, struct slice text)
{
    if (text.size < run->piece.size) {
        struct shape shape = shape_of(text);
        if (shape.joined || shape.humps)
            give_whole(run, text, true);
    }
    give_names(run, text);
}

static size_t size_before(struct slice text, const char *signs)
{
    size_t size = 0;
    while (size < text.size && !strchr(signs, text.data[size]))
        size++;
    return size;
}

/* "--[no-]verify" is two names. */
static void give_both(struct run *run, struct slice text)
{
    static const char *const marks[] = {"[no-]", "[no]"};
    if (!memchr(text.data, '[', text.size))
        return;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        size_t size = strlen(marks[i]);
        const char *at = memmem(text.data, text.size, marks[i], size);
        if (!at)
            continue;
        struct buf name = {0};
        size_t before = (size_t)(at - text.data);
        struct slice rest = {at + size, text.size - before - size};
        rest.size = size_before(rest, "[=<");
        buf_put(&name, text.data, before);
        buf_put_slice(&name, rest);
        give_whole(run, buf_slice(&name), true);
        buf_clear(&name);
        buf_put(&name, text.data, before);
        buf_put(&name, at + 1, size - 2);
        buf_put_slice(&name, rest);
        give_whole(run, buf_slice(&name), true);
        buf_free(&name);
        return;
    }
}

static void give_piece(struct run *run, struct slice text)
{
    struct shape shape = shape_of(text);
    run->identifier = shape.joined || shape.humps;
    run->piece = text;
    if (run->identifier) {
        give_whole(run, text, false);
        split(run, text, ends_inner, give_inner);
        give_both(run, text);
    }
    give_parts(run, text);
}

static bool has_word(struct slice text)
{
    for (size_t at = 0, step; at < text.size; at += step)
        if (is_word(text_decode(text.data, text.size, at, &step)))
            return true;
    return false;
}

static void give_run(struct run *run, struct slice text)
{
    if (has_word(text)) {
        split(run, text, ends_identifier, give_piece);
        give_operators(run, text);
    } else
        give_signs(run, text);
}

/* A word of ASCII, small but for its first letter or all capitals, between signs of the
 * sentence: most of a text.  False: the run is another. */
static bool give_simple(struct run *run, struct slice text)
{
    while (text.size && does((unsigned char)text.data[0], OPENS))
        text.data++, text.size--;
    while (text.size && does((unsigned char)text.data[text.size - 1], CLOSES))
        text.size--;
    unsigned char first = text.size ? (unsigned char)text.data[0] : 0;
    unsigned char second = text.size > 1 ? (unsigned char)text.data[1] : 'a';
    unsigned char least = (first & 32) || (second & 32) ? 'a' : 'A';
    if ((unsigned)((first | 32) - 'a') >= 26)
        return false;
    for (size_t i = 1; i < text.size; i++)
        if ((unsigned)((unsigned char)text.data[i] - least) >= 26)
            return false;
    run->identifier = false;
    run->piece = text;
    give_word(run, text);
    return true;
}

/* ---- Scripts without spaces ---- */

/* Neighbours overlap, so that whatever a reader takes for a word is there; a
 * character that stands alone is a term. */
static void give_bigrams(struct run *run, struct slice text)
{
    size_t before = 0, step;
    for (size_t at = 0; at < text.size; at += step) {
        text_decode(text.data, text.size, at, &step);
        bool alone = step == text.size;
        if (at || alone) {
            struct slice pair = {text.data + before, at + step - before};
            struct term_at given = {.term = pair, .word = pair};
            run->each(run->context, &given);
            run->words++;
        }
        before = at;
    }
}

static bool may_hold_cjk(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] >= CJK_MIN_BYTE)
            return true;
    return false;
}

static bool is_ascii(struct slice text)
{
    return text_ascii_run(text.data, text.size, 0) == text.size;
}

static void give_scripts(struct run *run, struct slice text)
{
    if (give_simple(run, text))
        return;
    bool plain = is_ascii(text);
    if (!plain)
        text = visible(&run->maker->run, text);
    if (plain || !may_hold_cjk(text)) {
        give_run(run, text);
        return;
    }
    for (size_t at = 0, step; at < text.size;) {
        size_t from = at;
        enum script script =
            script_of(text_decode(text.data, text.size, at, &step));
        for (at += step; at < text.size; at += step)
            if (script_of(text_decode(text.data, text.size, at, &step)) !=
                script)
                break;
        struct slice stretch = {text.data + from, at - from};
        if (script == SCRIPT_CJK)
            give_bigrams(run, stretch);
        else if (script == SCRIPT_SPACED)
            give_run(run, stretch);
    }
}

static bool is_ascii_sign(char c)
{
    return c > ' ' && c < 0x7f;
}

/* The end of the run that begins at `at` or holds it. */
static size_t run_end(struct slice text, size_t at)
{
    while (at < text.size && (is_ascii_sign(text.data[at]) ||
                              !text_space(text.data, text.size, at)))
        at++;
    return at;
}

static size_t read_text(struct run *run, struct slice text)
{
    size_t at = 0;
    while ((at = text_skip_space(text, at)) < text.size) {
        size_t from = at;
        at = run_end(text, at);
        give_scripts(run, (struct slice){text.data + from, at - from});
    }
    return run->words;
}

/* The runs in which something begins that may be sought. */
static void read_sought(struct run *run, struct slice text)
{
    for (size_t done = 0, at = 0;
         (at = sought_next(run->sought, text, at)) < text.size;) {
        size_t space = text_space(text.data, text.size, at), from = at;
        if (space) {
            at = done = at + space;
            continue;
        }
        while (from > done && !text_space(text.data, text.size, from - 1))
            from--;
        at = done = run_end(text, at);
        give_scripts(run, (struct slice){text.data + from, at - from});
    }
}

size_t analyze(struct analyzer *maker, struct slice text,
               void (*each)(void *context, const struct term_at *at),
               void *context)
{
    struct run run = {.maker = maker, .each = each, .context = context};
    return read_text(&run, text);
}

void analyze_sought(struct analyzer *maker, const struct sought_terms *sought,
                    struct slice text,
                    void (*each)(void *context, const struct term_at *at),
                    void *context)
{
    struct run run = {
        .maker = maker, .each = each, .context = context, .sought = sought};
    read_sought(&run, text);
}
