/* How much of a document's source is in its tree, by words of three letters or
 * more.  A rough measure, meant to notice that a text was lost: names of
 * commands, comments, keys and what draws pictures are no words of the source. */
#include "indexer/parse/latex/latex_internal.h"

enum { MIN_LETTERS = 3 };

static bool is_ascii_letter(char c)
{
    return (unsigned)((c | 32) - 'a') < 26;
}

static bool is_letter(char c)
{
    return is_ascii_letter(c) || c & 0x80;
}

/* Adds the letter, or what is none, to those before it and tells whether with it a word
 * has MIN_LETTERS: no branch is taken for it. */
static bool makes_word(unsigned *before, bool letter)
{
    enum { LAST = (2 << MIN_LETTERS) - 1, WORD = (1 << MIN_LETTERS) - 1 };
    *before = (*before << 1 | letter) & LAST;
    return *before == WORD;
}

static size_t count_words(struct slice text)
{
    size_t count = 0;
    unsigned before = 0;
    for (size_t i = 0; i < text.size; i++)
        count += makes_word(&before, is_letter(text.data[i]));
    return count;
}

static size_t line_end(struct slice text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.size - at);
    return end ? (size_t)(end - text.data) : text.size;
}

/* Past `{..}` or `[..]`, which end on their line, if one is here. */
static size_t pass_key(struct slice text, size_t at)
{
    while (at < text.size && (text.data[at] == '{' || text.data[at] == '[')) {
        char close = text.data[at] == '{' ? '}' : ']';
        const char *end =
            memchr(text.data + at, close, line_end(text, at) - at);
        if (!end)
            return at;
        at = (size_t)(end - text.data) + 1;
    }
    return at;
}

/* Commands whose arguments are keys, names or drawings. */
static bool takes_keys(struct slice name)
{
#define NAME(text)                                                             \
    {                                                                          \
        text, sizeof text - 1                                                  \
    }
    static const struct slice names[] = {
        NAME("begin"),        NAME("end"),        NAME("label"),
        NAME("ref"),          NAME("eqref"),      NAME("pageref"),
        NAME("cite"),         NAME("citep"),      NAME("citet"),
        NAME("autoref"),      NAME("cref"),       NAME("Cref"),
        NAME("input"),        NAME("include"),    NAME("includegraphics"),
        NAME("index"),        NAME("vspace"),     NAME("hspace"),
        NAME("bibliography"), NAME("usepackage"),
    };
#undef NAME
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_equal(name, names[i]))
            return true;
    return name.size >= 3 &&
           (!memcmp(name.data, "gls", 3) || !memcmp(name.data, "Gls", 3));
}

/* A file whose words are counted. */
struct counted {
    struct slice text;
    char comment;     /* what begins one */
    unsigned unended; /* whose end was looked for and is missing */
};

/* After so many no end is looked for, lest each be looked for in all that follows. */
enum { MAX_UNENDED = 16 };

/* Where the environment ends that begins here, if nothing of it is text. */
static size_t pass_silent(struct counted *source, size_t at)
{
    struct slice text = source->text;
    static const char *const names[] = {"{tikzpicture}",  "{comment}",
                                        "{pspicture}",    "{thebibliography}",
                                        "{filecontents}", "{picture}"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (text.size - at < size || memcmp(text.data + at, names[i], size))
            continue;
        struct buf end = {0};
        buf_printf(&end, "\\end%s", names[i]);
        const char *found =
            memmem(text.data + at, text.size - at, end.data, end.size);
        buf_free(&end);
        source->unended += !found;
        return found ? (size_t)(found - text.data) : at;
    }
    return at;
}

static struct slice name_at(struct slice text, size_t at)
{
    size_t end = at;
    while (end < text.size && is_ascii_letter(text.data[end]))
        end++;
    return (struct slice){text.data + at, end - at};
}

/* Is it a test that ends with \fi? */
static bool opens_test(struct slice name)
{
    return slice_starts(name, slice_of("if")) && !slice_is(name, "iff") &&
           !slice_is(name, "ifthenelse");
}

/* The next command or comment, or where the text ends. */
static size_t next_special(const struct counted *source, size_t at)
{
    struct slice text = source->text;
    while (at < text.size && text.data[at] != '\\' &&
           text.data[at] != source->comment)
        at++;
    return at;
}

/* Where the \else or \fi of an \iffalse begins; `at` if there is none. */
static size_t pass_false(struct counted *source, size_t at)
{
    struct slice text = source->text;
    size_t next = at;
    for (size_t depth = 1; (next = next_special(source, next)) < text.size;) {
        if (text.data[next] != '\\') {
            next = line_end(text, next);
            continue;
        }
        struct slice name = name_at(text, next + 1);
        depth += opens_test(name);
        depth -= slice_is(name, "fi");
        if (!depth || (depth == 1 && slice_is(name, "else")))
            return next;
        next += name.size ? 1 + name.size : 2; /* \\ */
    }
    source->unended++;
    return at;
}

/* Past a command: `at` is its name's first letter. */
static size_t pass_command(struct counted *source, size_t at)
{
    struct slice text = source->text, name = name_at(text, at);
    if (!name.size)
        return at + (at < text.size);
    at += name.size;
    if (source->unended < MAX_UNENDED && slice_is(name, "begin"))
        at = pass_silent(source, at);
    else if (source->unended < MAX_UNENDED && slice_is(name, "iffalse"))
        at = pass_false(source, at);
    return takes_keys(name) ? pass_key(text, at) : at;
}

static size_t count_source(struct slice text, bool documented)
{
    size_t count = 0;
    struct counted source = {text, documented ? '\\' : '%', 0};
    for (size_t at = 0; at < text.size;) {
        unsigned before = 0;
        for (; at < text.size; at++) {
            char c = text.data[at];
            if (c == '\\' || c == source.comment)
                break;
            count += makes_word(&before, is_letter(c));
        }
        if (at == text.size)
            break;
        at = text.data[at] == '\\' ? pass_command(&source, at + 1)
                                   : line_end(text, at);
    }
    return count;
}

/* What stands between \begin{document} and \end{document}, or all of it. */
static struct slice body_of(struct slice text)
{
    static const char begin[] = "\\begin{document}", end[] = "\\end{document}";
    const char *from = memmem(text.data, text.size, begin, sizeof begin - 1);
    if (from) {
        text.size -= (size_t)(from - text.data);
        text.data = from;
    }
    const char *found, *last = NULL; /* others are examples */
    for (struct slice rest = text;
         (found = memmem(rest.data, rest.size, end, sizeof end - 1));) {
        last = found++;
        rest.size -= (size_t)(found - rest.data);
        rest.data = found;
    }
    if (last)
        text.size = (size_t)(last - text.data);
    return text;
}

/* Of a .dtx of which only the description is read: what stands before its code. */
static struct slice description_of(struct slice text)
{
    static const char *const marks[] = {"\\StopEventually", "\\MaybeStop"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *found =
            memmem(text.data, text.size, marks[i], strlen(marks[i]));
        if (found)
            text.size = (size_t)(found - text.data);
    }
    return text;
}

/* Packages, classes and bibliographies are no text of the document. */
static bool is_text(struct slice path)
{
    static const char *const ends[] = {".sty", ".cls", ".bib", ".bbl", ".ist",
                                       ".def", ".clo", ".ldf", ".cfg"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);
        if (path.size >= size &&
            !memcmp(path.data + path.size - size, ends[i], size))
            return false;
    }
    return true;
}

static size_t words_of_tree(const struct tree *tree)
{
    size_t count = 0;
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        count += count_words(node->title);
        for (uint32_t i = 0; i < node->block_count; i++)
            count += count_words(node->blocks[i].text);
    }
    return count;
}

struct words words_count(const struct document *d, const struct tree *tree)
{
    struct words words = {.read = words_of_tree(tree)};
    for (size_t i = 0; i < d->tex.file_count; i++) {
        const struct tex_file *file = &d->tex.files[i];
        struct slice text = file->transcoded.text;
        bool documented = dtx_is(text);
        if (is_text(file->path))
            words.source += count_source(!documented    ? body_of(text)
                                         : d->described ? description_of(text)
                                                        : text,
                                         documented);
    }
    return words;
}
