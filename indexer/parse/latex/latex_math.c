/* Formulas stay as they are written, TeX's own notation. */
#include "indexer/parse/latex/latex_internal.h"

#include "indexer/parse/outline/exponents.h"

struct formula {
    struct tokens tokens;
    struct token first, last;
    bool any;
    bool broken; /* it does not end where it should */
};

enum { END_DOLLAR, END_DOLLARS, END_BRACKET, END_PARENTHESIS, END_NAME };

/* \label{x} within is none of the formula. */
static bool takes_label(struct document *d, struct token token)
{
    if (token.cat != CAT_NAME)
        return false;
    struct slice name = d->tex.symbols[token.value].name;
    struct buf text = {0};
    if (slice_is(name, "label")) {
        tex_read_text(&d->tex, &text);
        if (text.size)
            labels_define(d, buf_slice(&text));
        buf_free(&text);
        return true;
    }
    return slice_is(name, "nonumber") || slice_is(name, "notag");
}

/* A name of LaTeX's own, as \m@th: no reader knows it. */
static bool is_internal(struct document *d, struct token token)
{
    struct slice name = d->tex.symbols[token.value].name;
    return memchr(name.data, '@', name.size) &&
           tex_meaning(&d->tex, token)->kind != MEANING_MACRO;
}

static void add(struct formula *f, struct token token)
{
    if (!f->any)
        f->first = token;
    f->any = true;
    f->last = token;
    tokens_add(&f->tokens, token);
}

static bool takes_verb(struct document *d, struct formula *f,
                       struct token token)
{
    struct tokens shown = {0};
    bool taken = verb_in_formula(d, token, &shown);
    for (size_t i = 0; i < shown.count; i++)
        add(f, shown.items[i]);
    tokens_free(&shown);
    return taken;
}

static bool is_named(const struct document *d, struct token token,
                     const char *name)
{
    return token.cat == CAT_NAME &&
           slice_is(d->tex.symbols[token.value].name, name);
}

/* The name that follows \begin or \end, whose tokens join the formula. */
static void read_name(struct document *d, struct formula *f, struct buf *ret)
{
    struct token token = tex_next_solid(&d->tex);
    if (token.cat != CAT_BEGIN) {
        tex_unread(&d->tex, token);
        return;
    }
    add(f, token);
    while ((token = tex_next(&d->tex)).cat != CAT_NONE &&
           token.cat != CAT_STOP) {
        add(f, token);
        if (token.cat == CAT_END || ret->size > 200)
            return;
        tex_write_token(&d->tex, token, ret);
    }
    tex_unread(&d->tex, token);
}

/* What ends at `token` and before is given back: the formula should have ended. */
static void give_back(struct document *d, struct formula *f, size_t before)
{
    struct tokens rest = {0};
    tokens_add_all(&rest, f->tokens.items + before, f->tokens.count - before);
    f->tokens.count = before;
    f->broken = true;
    tex_push(&d->tex, rest);
}

/* May what \end{name} of one's own does end a formula? */
static bool may_end(const struct tex *tex, struct slice name)
{
    uint32_t symbol = environments_end_macro(tex, name);
    return symbol != UINT32_MAX &&
           tex->symbols[symbol].meaning.macro->ends_math;
}

/* Does the formula begin an environment of that name itself? */
static bool begins_within(struct document *d, const struct formula *f,
                          struct slice name, size_t before)
{
    const struct token *items = f->tokens.items;
    bool found = false;
    d->tex.steps += before;
    for (size_t i = 0; !found && i + 2 + name.size < before; i++) {
        if (!token_is(items[i], CAT_NAME, d->tex.begin) ||
            items[i + 2 + name.size].cat != CAT_END)
            continue;
        size_t same = 0;
        while (same < name.size &&
               items[i + 2 + same].value == (unsigned char)name.data[same])
            same++;
        found = same == name.size;
    }
    return found;
}

/* \end{name} of what is around the formula.  The environment of one's own that began it
 * by its macros ends it by them, and what they began in it: what they do is read on.  No
 * other goes on in it. */
static bool end_around(struct document *d, struct formula *f, struct slice name,
                       size_t before, size_t depth, struct token call)
{
    if (!(call.flags & TOKEN_MADE) && may_end(&d->tex, name) &&
        !(depth && begins_within(d, f, name, before)) &&
        environments_push_end(d, name, call)) {
        f->tokens.count = before;
        return true;
    }
    if (!depth && environments_is_open(d, name))
        give_back(d, f, before);
    return f->broken;
}

/* True: the formula ends with \end{name}. */
static bool read_end(struct document *d, struct formula *f, struct slice name,
                     size_t *depth, struct token token)
{
    struct buf read = {0};
    size_t before = f->tokens.count;
    add(f, token);
    read_name(d, f, &read);
    bool ends = !*depth && slice_equal(buf_slice(&read), name);
    if (ends)
        f->tokens.count = before;
    else if (!end_around(d, f, buf_slice(&read), before, *depth, token) &&
             *depth)
        --*depth;
    buf_free(&read);
    return ends || f->broken;
}

/* Passes over what stands up to \end{name}, a picture: it is left out, with what
 * of it is in the formula from `from` on.  False: it is none. */
static bool takes_picture(struct document *d, struct formula *f,
                          struct slice name, size_t from)
{
    static const char *const pictures[] = {"tikzpicture", "pgfpicture",
                                           "pspicture", "picture"};
    struct buf end = {0};
    struct slice raw;
    struct token place;
    bool found = false;
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        found |= slice_is(name, pictures[i]);
    if (!found)
        return false;
    f->tokens.count = from;
    buf_printf(&end, "\\end{%.*s}", (int)name.size, name.data);
    if (!tex_read_raw(&d->tex, end.data, &raw, &place)) {
        struct tokens list = {0};
        verbatim_read_tokens(d, name, &list);
        tokens_free(&list);
    }
    buf_free(&end);
    return true;
}

/* A macro's choice by the arguments that it was given, \IfNoValueTF and its kin, or by
 * what follows it. */
static bool is_choice(const struct tex *tex, struct token token)
{
    if (token.cat != CAT_NAME || !(token.flags & TOKEN_MADE) ||
        tex_meaning(tex, token)->kind != MEANING_EXPANDS)
        return false;
    struct slice name = tex->symbols[token.value].name;
    if (slice_is(name, "@ifnextchar") || slice_is(name, "@ifstar"))
        return true;
    return name.size > 7 && (!memcmp(name.data, "IfNoVal", 7) ||
                             !memcmp(name.data, "IfValue", 7) ||
                             !memcmp(name.data, "IfBoole", 7));
}

/* The list, taken over, in which these choices are made. */
static void choose_all(struct tex *tex, struct tokens *list, struct tokens *ret)
{
    struct token token = {.cat = CAT_STOP, .file = UINT16_MAX};
    unsigned abandoned = tex->abandon_count;
    bool any = false;
    for (size_t i = 0; i < list->count; i++)
        any |= is_choice(tex, list->items[i]);
    if (!any) {
        *ret = *list;
        return;
    }
    tokens_add(list, token);
    tex_push(tex, *list);
    while (tex->abandon_count == abandoned &&
           (token = tex_next(tex)).cat != CAT_STOP && token.cat != CAT_NONE)
        if (is_choice(tex, token))
            tex_expand(tex, token);
        else
            tokens_add(ret, token);
}

static bool ends_here(struct document *d, struct token token, int end,
                      size_t braces)
{
    switch (end) {
    case END_DOLLAR: return token.cat == CAT_MATH && !braces;
    case END_BRACKET: return is_named(d, token, "]");
    case END_PARENTHESIS: return is_named(d, token, ")");
    default: return false;
    }
}

static void read_formula(struct document *d, struct formula *f, int end,
                         struct slice name)
{
    struct tex *tex = &d->tex;
    size_t braces = 0, depth = 0;
    for (;;) {
        struct token token = tex_next(tex);
        if (ends_here(d, token, end, braces))
            return;
        if (end == END_DOLLARS && token.cat == CAT_MATH && !braces) {
            token = tex_next(tex);
            if (token.cat != CAT_MATH)
                tex_unread(tex, token);
            return;
        }
        if (token.cat == CAT_NONE || token.cat == CAT_STOP ||
            token_is(token, CAT_NAME, tex->end_of) ||
            (token_is(token, CAT_NAME, tex->par) &&
             !(token.flags & TOKEN_MADE)) ||
            (token.cat == CAT_END && !braces && end < END_NAME)) {
            f->broken = true;
            tex_unread(tex, token);
            return;
        }
        if (token.cat == CAT_NAME) {
            const struct meaning *meaning = tex_meaning(tex, token);
            if (meaning->kind == MEANING_MACRO && meaning->macro->ends_math) {
                tex_expand(tex, token);
                continue;
            }
            if (is_named(d, token, "csname") || /* becomes the name */
                is_choice(tex, token)) {
                tex_expand(tex, token);
                continue;
            }
            if (takes_label(d, token) || is_internal(d, token) ||
                takes_verb(d, f, token))
                continue;
            if (token.value == tex->begin) {
                struct buf begun = {0};
                size_t from = f->tokens.count;
                add(f, token);
                read_name(d, f, &begun);
                depth += !takes_picture(d, f, buf_slice(&begun), from);
                f->broken = end == END_DOLLAR && !(token.flags & TOKEN_MADE) &&
                            verbatim_is(d, buf_slice(&begun));
                buf_free(&begun);
                if (f->broken) /* code stands as it is written */
                    return;
                continue;
            }
            if (token.value == tex->end) {
                if (end != END_NAME && !depth) {
                    f->broken = true;
                    tex_unread(tex, token);
                    return;
                }
                if (read_end(d, f, name, &depth, token))
                    return;
                continue;
            }
        }
        braces += token.cat == CAT_BEGIN;
        if (token.cat == CAT_END && braces)
            braces--;
        add(f, token);
    }
}

static struct token place_of(const struct formula *f, struct token call)
{
    struct token place = call;
    if (f->any && f->first.file == call.file && f->first.from < place.from)
        place.from = f->first.from;
    if (f->any && f->last.file == call.file && f->last.to > place.to)
        place.to = f->last.to;
    return place;
}

/* "$\,$": nothing but space, or less of it. */
static bool is_space(const struct document *d, const struct formula *f,
                     bool *ret_wide)
{
    static const char *const wide[] = {",", ";", ":", ">", " ", "quad"};
    *ret_wide = false;
    for (size_t i = 0; i < f->tokens.count; i++) {
        struct token token = f->tokens.items[i];
        struct slice name = {"", 0};
        if (token.cat == CAT_SPACE)
            continue;
        if (token.cat == CAT_NAME)
            name = d->tex.symbols[token.value].name;
        bool found = false;
        for (size_t k = 0; k < sizeof wide / sizeof *wide && !found; k++)
            found = slice_is(name, wide[k]);
        if (!found && !slice_is(name, "!"))
            return false;
        *ret_wide |= found;
    }
    return f->tokens.count > 0;
}

/* What a formula may have alone: by its name, or as it stands. */
static const struct {
    const char *name, *sign;
} signs[] = {{"{", "{"},
             {"}", "}"},
             {"lbrace", "{"},
             {"rbrace", "}"},
             {"vert", "|"},
             {"backslash", "\\"},
             {"lt", "<"},
             {"gt", ">"},
             {"#", "#"},
             {"%", "%"},
             {"&", "&"},
             {"_", "_"},
             {"$", "$"},
             {"langle", "⟨"},
             {"rangle", "⟩"},
             {"mid", "|"},
             {"sim", "~"},
             {"ldots", "…"},
             {"dots", "…"},
             {"rightarrow", "→"},
             {"to", "→"},
             {"leftarrow", "←"},
             {"leftrightarrow", "↔"},
             {"Rightarrow", "⇒"},
             {"times", "×"},
             {"pm", "±"},
             {"le", "≤"},
             {"leq", "≤"},
             {"ge", "≥"},
             {"geq", "≥"},
             {"neq", "≠"},
             {"ne", "≠"},
             {"approx", "≈"},
             {"uparrow", "↑"},
             {"downarrow", "↓"},
             {"cdot", "·"},
             {"bullet", "•"},
             {"checkmark", "✓"},
             {"infty", "∞"}};
static const char *const plain_signs[] = {"<", ">", "|", "[", "]", "(",
                                          ")", "+", "-", "*", "=", "/"};

/* "$<$", "$\{$", "$\#$": a sign that fonts of text lack, or that has a meaning in TeX;
 * NULL: it is more. */
static const char *sign_of(const struct document *d, const struct formula *f)
{
    const struct token *only = NULL;
    for (size_t i = 0; i < f->tokens.count; i++) {
        if (f->tokens.items[i].cat == CAT_SPACE)
            continue;
        if (only)
            return NULL;
        only = &f->tokens.items[i];
    }
    for (size_t i = 0; only && i < sizeof plain_signs / sizeof *plain_signs;
         i++)
        if (token_is(*only, CAT_OTHER, (unsigned char)*plain_signs[i]))
            return plain_signs[i];
    for (size_t i = 0; only && i < sizeof signs / sizeof *signs; i++)
        if (is_named(d, *only, signs[i].name))
            return signs[i].sign;
    return NULL;
}

static void put_inline(struct document *d, const struct formula *f,
                       struct token call)
{
    struct buf text = {0};
    bool wide;
    if (is_space(d, f, &wide)) {
        if (wide)
            document_space(d);
        return;
    }
    const char *sign = sign_of(d, f);
    if (sign) {
        document_put(d, place_of(f, call), slice_of(sign));
        return;
    }
    buf_put_byte(&text, '$');
    verbatim_write(d, &f->tokens, &text);
    while (text.size > 1 && strchr(" \n\t\r", text.data[text.size - 1]))
        text.size--;
    buf_put_byte(&text, '$');
    if (text.size > 2)
        document_put(d, place_of(f, call), buf_slice(&text));
    buf_free(&text);
}

/* Does the name only set what follows in another font? */
static bool is_font(const struct document *d, struct token token)
{
    static const char *const names[] = {"text",   "mathrm",     "textrm", "rm",
                                        "mathsf", "textnormal", "mbox"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = is_named(d, token, names[i]);
    return found;
}

/* A letter, a digit, or a sign that is the first. */
static bool is_plain(struct token token, bool first)
{
    uint32_t c = token.value;
    return (token.cat == CAT_LETTER || token.cat == CAT_OTHER) &&
           ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
            (first && (c == '-' || c == '+')));
}

/* "^{..}" and nothing else: the letters and digits there, or one \circ. */
static bool read_raised(const struct document *d, const struct formula *f,
                        struct tokens *ret)
{
    const struct token *items = f->tokens.items;
    size_t count = f->tokens.count, depth = 0, atoms = 0;
    bool raised = count > 1 && items[0].cat == CAT_SUPER;
    for (size_t i = 1; i < count && raised; i++) {
        struct token token = items[i];
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
        if (token.cat == CAT_SPACE || is_font(d, token))
            continue;
        if (token.cat != CAT_BEGIN && token.cat != CAT_END) {
            raised = is_plain(token, !ret->count) || is_named(d, token, "circ");
            tokens_add(ret, token);
        }
        atoms += !depth;
    }
    for (size_t i = 0; i < ret->count && raised; i++)
        raised = ret->count == 1 || is_plain(ret->items[i], !i);
    return raised && atoms == 1 && !depth && ret->count;
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* "1$^{st}$", "I$^2$C": a part of the word that it stands in. */
static bool is_of_word(const struct writer *writer, struct slice raised,
                       char next)
{
    char last = writer->text.data[writer->text.size - 1];
    size_t letters = 0;
    while (letters < raised.size && (raised.data[letters] | 32) >= 'a')
        letters++;
    bool ordinal = last >= '0' && last <= '9' && letters == raised.size &&
                   letters > 1 && letters < 4;
    return ordinal || (!letters && is_capital(last) && is_capital(next));
}

/* What is raised is read as that of \textsuperscript; not a mark behind a word, which
 * would become a part of it: false. */
static bool push_raised(struct document *d, struct tokens *list)
{
    struct writer *writer = &document_flow(d)->writer;
    struct token next = tex_next(&d->tex);
    struct buf raised = {0};
    tex_unread(&d->tex, next);
    bool plain = next.cat == CAT_LETTER || next.cat == CAT_OTHER;
    char byte = plain && next.value < 128 ? (char)next.value : '\0';
    tex_write_tokens(&d->tex, list, &raised);
    bool goes_on = !d->in.silent && writer_goes_on(writer);
    bool exponent =
        goes_on && exponents_follow(writer, buf_slice(&raised), byte);
    bool taken =
        exponent || (goes_on && is_of_word(writer, buf_slice(&raised), byte));
    if (exponent)
        exponents_begin(writer);
    if (taken)
        tex_push(&d->tex, *list);
    else
        tokens_free(list);
    buf_free(&raised);
    return taken;
}

/* "5$^\circ$", "m$^2$": text that is raised behind text. */
static bool put_raised(struct document *d, const struct formula *f,
                       struct token call)
{
    struct tokens list = {0};
    bool raised = read_raised(d, f, &list);
    if (raised && is_plain(list.items[0], true))
        return push_raised(d, &list);
    if (raised)
        document_put(d, place_of(f, call), slice_of("°"));
    tokens_free(&list);
    return raised;
}

static bool stands_alone(const struct document *d)
{
    return document_is_body(d) &&
           (d->in.kind == BLOCK_PARAGRAPH || d->in.kind == BLOCK_QUOTE ||
            d->in.kind == BLOCK_NOTE);
}

static void put_display(struct document *d, const struct formula *f,
                        struct token call)
{
    struct buf text = {0};
    if (!stands_alone(d)) {
        document_space(d);
        put_inline(d, f, call);
        document_space(d);
        return;
    }
    document_flush(d);
    verbatim_write(d, &f->tokens, &text);
    struct slice trimmed = buf_slice(&text);
    while (trimmed.size && strchr(" \n\t\r", trimmed.data[0])) {
        trimmed.data++;
        trimmed.size--;
    }
    while (trimmed.size && strchr(" \n\t\r", trimmed.data[trimmed.size - 1]))
        trimmed.size--;
    document_block(d, BLOCK_MATH, trimmed, (struct slice){"", 0},
                   place_of(f, call));
    buf_free(&text);
}

/* "$" in a file that no other ends is the sign, as of a shell's prompt; what follows it
 * is text. */
static void put_dollar(struct document *d, struct formula *f, struct token call)
{
    document_put_text(d, call, "$");
    tex_push(&d->tex, f->tokens);
}

static void formula(struct document *d, struct token call, int end,
                    const char *name)
{
    struct formula f = {0};
    bool display = end == END_DOLLARS || end == END_BRACKET || end == END_NAME;
    unsigned abandoned = d->tex.abandon_count;
    d->tex.absorbing++; /* it ends with its file */
    read_formula(d, &f, end, slice_of(name));
    d->tex.absorbing--;
    if (f.broken)
        tex_report(&d->tex, call, "a formula does not end");
    if (f.broken && end == END_DOLLAR && !(call.flags & TOKEN_MADE) &&
        d->tex.abandon_count == abandoned) {
        put_dollar(d, &f, call);
        return;
    }
    if (display)
        put_display(d, &f, call);
    else if (!put_raised(d, &f, call))
        put_inline(d, &f, call);
    tokens_free(&f.tokens);
}

void math_shift(struct document *d, struct token token)
{
    struct token next = tex_next(&d->tex);
    if (next.cat == CAT_MATH) {
        formula(d, token, END_DOLLARS, "");
        return;
    }
    tex_unread(&d->tex, next);
    formula(d, token, END_DOLLAR, "");
}

static void run_math(struct tex *tex, const struct command *command,
                     struct token call)
{
    formula(document_of(tex), call, command->value, "");
}

static void run_ensuremath(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct document *d = document_of(tex);
    struct formula f = {0};
    struct tokens list = {0};
    (void)command;
    tex_read_argument(tex, &list);
    choose_all(tex, &list, &f.tokens);
    if (f.tokens.count) {
        f.any = true;
        f.first = f.tokens.items[0];
        f.last = f.tokens.items[f.tokens.count - 1];
    }
    if (!put_raised(d, &f, call))
        put_inline(d, &f, call);
    tokens_free(&f.tokens);
}

static void begin_math(struct document *d,
                       const struct environment *environment, struct token call)
{
    size_t around = d->group_count - 1;
    if (environment->value)
        labels_step(d, "equation");
    formula(d, call, END_NAME, environment->name);
    /* Its end was read, or a budget used up, which closes titles. */
    document_close_to(d, around);
}

static const struct command commands[] = {
    {"[", run_math, NULL, END_BRACKET, NULL},
    {"(", run_math, NULL, END_PARENTHESIS, NULL},
    {"ensuremath", run_ensuremath, NULL, 0, NULL},
};

static const struct environment environments[] = {
    {"equation", begin_math, NULL, NULL, 1, NULL, 0},
    {"equation*", begin_math, NULL, NULL, 0, NULL, 0},
    {"displaymath", begin_math, NULL, NULL, 0, NULL, 0},
    {"math", begin_math, NULL, NULL, 0, NULL, 0},
    {"eqnarray", begin_math, NULL, NULL, 1, NULL, 0},
    {"eqnarray*", begin_math, NULL, NULL, 0, NULL, 0},
    {"align", begin_math, NULL, NULL, 1, NULL, 0},
    {"align*", begin_math, NULL, NULL, 0, NULL, 0},
    {"alignat", begin_math, NULL, "m", 1, NULL, 0},
    {"alignat*", begin_math, NULL, "m", 0, NULL, 0},
    {"flalign", begin_math, NULL, NULL, 1, NULL, 0},
    {"flalign*", begin_math, NULL, NULL, 0, NULL, 0},
    {"gather", begin_math, NULL, NULL, 1, NULL, 0},
    {"gather*", begin_math, NULL, NULL, 0, NULL, 0},
    {"multline", begin_math, NULL, NULL, 1, NULL, 0},
    {"multline*", begin_math, NULL, NULL, 0, NULL, 0},
    {"dmath", begin_math, NULL, NULL, 1, NULL, 0},
    {"dmath*", begin_math, NULL, NULL, 0, NULL, 0},
    {"subequations", NULL, NULL, NULL, 0, NULL, 0},
};

void math_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
