#include "memory/lexical/names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum {
    MIN_STEM = 3,   /* bytes before the ending of a plural */
    MAX_PLACES = 3, /* of a form */
    MIN_LITERAL = 4 /* letters and digits around them */
};

/* White space folded, without "()" at the end. */
static void fold(struct buf *out, struct slice text, bool lower)
{
    struct buf folded = {0};
    text_fold_space(&folded, text);
    size_t size = folded.size;
    if (size > 2 && !memcmp(folded.data + size - 2, "()", 2))
        size -= folded.data[size - 3] == ' ' ? 3 : 2; /* "main ()" */
    if (!lower)
        buf_put(out, folded.data, size);
    else
        for (size_t at = 0, step; at < size; at += step)
            text_encode(out,
                        text_lower(text_decode(folded.data, size, at, &step)));
    buf_put(out, "", 0);
    buf_free(&folded);
}

struct name name_of(const char *question)
{
    struct name name = {0};
    fold(&name.text, slice_of(question), false);
    fold(&name.lower, slice_of(question), true);
    return name;
}

void name_free(struct name *name)
{
    buf_free(&name->text);
    buf_free(&name->lower);
}

static struct slice trim(struct slice text)
{
    while (text.size && text.data[0] == ' ') {
        text.data++;
        text.size--;
    }
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

static struct slice before(struct slice text, const char *mark)
{
    const char *at =
        text.size ? memmem(text.data, text.size, mark, strlen(mark)) : NULL;
    return at ? trim((struct slice){text.data, (size_t)(at - text.data)})
              : text;
}

static struct slice behind(struct slice text, size_t size)
{
    return (struct slice){text.data + size, text.size - size};
}

/* "11.", "A", "IV" after "chapter"; "of" is none. */
static bool is_number(struct slice word)
{
    size_t letters = 0;
    bool roman = true;
    while (letters < word.size && isalpha((unsigned char)word.data[letters]))
        roman &= strchr("ivxlcIVXLC", word.data[letters++]) != NULL;
    return letters <= 1 || roman;
}

/* "(12) " */
static struct slice without_brackets(struct slice title)
{
    size_t end = 1;
    while (end < title.size && isdigit((unsigned char)title.data[end]))
        end++;
    bool numbered = title.size && title.data[0] == '(' && end > 1 &&
                    end + 1 < title.size && title.data[end] == ')';
    return numbered ? trim(behind(title, end + 1)) : title;
}

/* "4.2. ", "A.1 ", "Chapter 11. " */
static struct slice without_number(struct slice title)
{
    static const char *const kinds[] = {"chapter ", "appendix ", "part ",
                                        "section "};
    struct slice rest = title;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (rest.size > strlen(kinds[i]) &&
            !strncasecmp(rest.data, kinds[i], strlen(kinds[i])))
            rest = behind(rest, strlen(kinds[i]));
    size_t size = 0;
    bool numbered = rest.data != title.data;
    while (size < rest.size && (isalnum((unsigned char)rest.data[size]) ||
                                rest.data[size] == '.')) {
        numbered |= isdigit((unsigned char)rest.data[size]) != 0;
        size++;
    }
    numbered &= is_number((struct slice){rest.data, size});
    return numbered && size < rest.size && rest.data[size] == ' '
               ? trim(behind(rest, size))
               : title;
}

/* "class argparse.argumentparser" without what it is. */
static struct slice last_word(struct slice text)
{
    size_t from = text.size;
    while (from && text.data[from - 1] != ' ')
        from--;
    return behind(text, from);
}

static const char PART_SIGNS[] = ".:#>"; /* before the last part of a name */

/* Does `name` end in a part of its own that is `part`? */
static bool ends_in_part(struct slice name, struct slice part)
{
    return part.size && name.size > part.size &&
           strchr(PART_SIGNS, name.data[name.size - part.size - 1]) &&
           !memcmp(name.data + name.size - part.size, part.data, part.size);
}

static enum name_match compare(struct slice asked, struct slice name)
{
    if (slice_equal(name, asked))
        return NAME_WHOLE;
    return ends_in_part(name, asked) || ends_in_part(asked, name) ? NAME_PART
                                                                  : NAME_OTHER;
}

static enum name_match better(enum name_match a, enum name_match b)
{
    return a > b ? a : b;
}

/* Each of "-f, --file=name"; what an entry is called stands before its arguments,
 * and behind the words that say what kind of thing it is. */
static enum name_match compare_names(struct slice asked, struct slice title)
{
    enum name_match best = NAME_OTHER;
    bool called = memchr(title.data, '(', title.size) != NULL;
    struct slice name = before(title, "(");
    while (name.size) {
        struct slice one = before(name, ",");
        size_t size = (size_t)(one.data + one.size - name.data);
        struct slice bare = before(before(one, "["), "=");
        best = better(best, compare(asked, bare));
        best = better(best, compare(asked, last_word(bare)));
        if (!called && bare.size && bare.data[0] == '-')
            best = better(best, compare(asked, before(bare, " ")));
        name = behind(name, size);
        while (name.size && (name.data[0] == ',' || name.data[0] == ' '))
            name = behind(name, 1);
    }
    return best;
}

/* Bytes of the "[no-]" or "[no]" that the text begins with; 0: it does not. */
static size_t mark_size(struct slice text)
{
    bool dashed = slice_starts(text, slice_of("[no-]"));
    return dashed ? 5 : slice_starts(text, slice_of("[no]")) ? 4 : 0;
}

/* "--[no-]verify" is called --verify and --no-verify: without all such marks, and with
 * what stands in their brackets. */
static enum name_match compare_both(struct slice asked, struct slice title)
{
    struct buf without = {0}, with = {0};
    bool marked = false;
    for (size_t at = 0, size; at < title.size; at += size ? size : 1) {
        size = mark_size(behind(title, at));
        marked |= size > 0;
        if (size) {
            buf_put(&with, title.data + at + 1, size - 2);
        } else {
            buf_put_byte(&with, title.data[at]);
            buf_put_byte(&without, title.data[at]);
        }
    }
    enum name_match match = NAME_OTHER;
    if (marked)
        match = better(compare_names(asked, buf_slice(&without)),
                       compare_names(asked, buf_slice(&with)));
    buf_free(&without);
    buf_free(&with);
    return match;
}

/* "int (*xOpen)(void *)" is called xOpen. */
static enum name_match compare_pointer(struct slice asked, struct slice title)
{
    const char *at = memmem(title.data, title.size, "(*", 2);
    if (!at)
        return NAME_OTHER;
    struct slice rest = behind(title, (size_t)(at - title.data) + 2);
    struct slice name = before(rest, ")");
    return name.size < rest.size && slice_equal(name, asked) ? NAME_WHOLE
                                                             : NAME_OTHER;
}

static enum name_match compare_entry(struct slice asked, struct slice title)
{
    enum name_match best = compare_names(asked, title);
    return best != NAME_OTHER ? best
                              : better(compare_both(asked, title),
                                       compare_pointer(asked, title));
}

/* Do they differ by nothing but the number of the last word: "view", "queries"? */
static bool same_but_plural(struct slice a, struct slice b)
{
    static const char *const endings[][2] = {
        {"", ""}, {"", "s"}, {"", "es"}, {"y", "ies"}};
    size_t same = 0;
    while (same < a.size && same < b.size && a.data[same] == b.data[same])
        same++;
    struct slice x = behind(a, same), y = behind(b, same);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        for (size_t first = 0; first < 2; first++)
            if (slice_is(x, endings[i][first]) &&
                slice_is(y, endings[i][1 - first]))
                return !i || same >= MIN_STEM;
    return false;
}

/* `plural`: in either number. */
static enum name_match compare_title(struct slice asked, struct slice title,
                                     bool plural)
{
    bool (*same)(struct slice, struct slice) =
        plural ? same_but_plural : slice_equal;
    static const char *const dashes[] = {" \xE2\x80\x94 ", " \xE2\x80\x93 ",
                                         " - ", " -- ", ": "};
    struct slice bare = without_brackets(without_number(title));
    if (same(title, asked) || same(bare, asked) ||
        same(before(bare, "("), asked))
        return NAME_WHOLE;
    for (size_t i = 0; i < sizeof dashes / sizeof dashes[0]; i++)
        if (same(before(bare, dashes[i]), asked))
            return NAME_WHOLE;
    return NAME_OTHER;
}

static bool is_anchor(struct slice asked, const struct node *node)
{
    bool is = slice_equal(node->anchor, asked);
    for (uint32_t i = 0; i < node->anchor_count && !is; i++)
        is = slice_equal(node->anchors[i], asked);
    return is;
}

static bool has_sign(struct slice text, const char *signs)
{
    size_t at = 0;
    while (at < text.size && !strchr(signs, text.data[at]))
        at++;
    return at < text.size;
}

/* Its first bytes, in either case, somewhere in the text. */
static bool has_start(struct slice asked, struct slice text)
{
    size_t size = 0;
    while (size < asked.size && size < MIN_STEM && asked.data[size] != ' ')
        size++;
    int first = tolower((unsigned char)asked.data[0]);
    for (size_t at = 0; at + size <= text.size; at++)
        if (tolower((unsigned char)text.data[at]) == first &&
            !strncasecmp(text.data + at, asked.data, size))
            return true;
    return false;
}

/* Most of what nodes are called is shorter than the question, or does not hold what it
 * begins with: nothing of such a text need be folded.  But a name may be the last part of
 * what is asked for, may have letters in brackets ("--[no-]verify"), and spaces that are
 * folded. */
static bool may_be_called(struct slice asked, struct slice text, bool entry)
{
    if (entry && has_sign(asked, PART_SIGNS))
        return true;
    return asked.size <= text.size + 2 &&
           (has_start(asked, text) ||
            text_ascii_run(text.data, text.size, 0) < text.size ||
            memchr(text.data, '[', text.size));
}

/* ---- Forms ---- */

static size_t find_sign(struct slice text, char sign)
{
    const char *at = memchr(text.data, sign, text.size);
    return at ? (size_t)(at - text.data) : text.size;
}

/* What may stand in the place of "<LANG>". */
static bool may_fill(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_+-.#", c));
}

/* Is it what the form says, with something for each of its places? */
static bool fits(struct slice asked, struct slice form, int places)
{
    size_t literal = find_sign(form, '<');
    if (literal == form.size)
        return slice_equal(asked, form);
    struct slice place = behind(form, literal);
    size_t size = find_sign(place, '>');
    if (size == place.size || places == MAX_PLACES || asked.size < literal ||
        memcmp(asked.data, form.data, literal) != 0)
        return false;
    for (size_t end = literal; end < asked.size && may_fill(asked.data[end]);
         end++)
        if (fits(behind(asked, end + 1), behind(place, size + 1), places + 1))
            return true;
    return false;
}

/* Is the place that begins there joined with what stands around it by "_"? */
static bool is_joined(struct slice title, size_t at)
{
    size_t end = at + find_sign(behind(title, at), '>') + 1;
    return (at && title.data[at - 1] == '_') ||
           (end < title.size && title.data[end] == '_');
}

/* "CMAKE_CXX_FLAGS" is of the form "CMAKE_<LANG>_FLAGS": what stands around the places is
 * joined with them and long enough to tell.  "shared_ptr<T>" is a type. */
static bool is_of_form(struct slice asked, struct slice title)
{
    size_t letters = 0;
    bool within = false;
    for (size_t i = 0; i < title.size; i++) {
        char c = title.data[i];
        if (c == ' ' || (c == '<' && !is_joined(title, i)))
            return false;
        within |= c == '<';
        within &= c != '>';
        letters += !within && isalnum((unsigned char)c);
    }
    return letters >= MIN_LITERAL && !has_sign(asked, " <") &&
           fits(asked, title, 0);
}

bool name_is_of_form(struct slice lower, struct slice title)
{
    struct buf text = {0};
    if (!has_sign(title, "<"))
        return false;
    fold(&text, title, true);
    bool is = is_of_form(lower, buf_slice(&text));
    buf_free(&text);
    return is;
}

static enum name_match compare_node(struct slice asked, const struct node *node,
                                    bool lower)
{
    struct buf text = {0};
    enum name_match best = NAME_OTHER;
    if (may_be_called(asked, node->title, node->entry)) {
        fold(&text, node->title, lower);
        best = compare_title(asked, buf_slice(&text), lower && !node->entry);
        if (node->entry)
            best = better(best, compare_entry(asked, buf_slice(&text)));
    }
    if (best == NAME_OTHER && lower && name_is_of_form(asked, node->title))
        best = NAME_PART;
    for (uint32_t i = 0; i < node->alias_count && best == NAME_OTHER; i++) {
        if (!may_be_called(asked, node->aliases[i], false))
            continue;
        buf_clear(&text);
        fold(&text, node->aliases[i], lower);
        if (compare_title(asked, buf_slice(&text), lower) == NAME_WHOLE)
            best = NAME_PART;
    }
    buf_free(&text);
    return best;
}

/* ---- Classes ---- */

/* "java.util.HashMap" of "java.util.HashMap<K,V>", of "HashMap(int)". */
static struct slice bare_name(struct slice text)
{
    return before(before(text, "("), "<");
}

/* "HashMap" of "java.util.HashMap". */
static struct slice last_part(struct slice name)
{
    size_t from = name.size;
    while (from && !strchr(PART_SIGNS, name.data[from - 1]))
        from--;
    return behind(name, from);
}

/* The kind of class that the text begins with, with the space behind it; 0: none. */
static size_t kind_size(struct slice text)
{
    static const char *const kinds[] = {"annotation ", "class ",     "enum ",
                                        "exception ",  "interface ", "record ",
                                        "struct ",     "trait "};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text.size > strlen(kinds[i]) &&
            !strncasecmp(text.data, kinds[i], strlen(kinds[i])))
            return strlen(kinds[i]);
    return 0;
}

/* One word, and none of a sentence: "Class loading" is of no class. */
static bool is_class_name(struct slice name)
{
    bool telling = has_sign(name, PART_SIGNS) || has_sign(name, "_");
    for (size_t i = 0; i < name.size; i++)
        telling |= isupper((unsigned char)name.data[i]) != 0;
    return telling && !has_sign(name, " ");
}

/* Empty: the title is of no class. */
static struct slice class_of(struct slice title)
{
    struct slice name = title;
    size_t at = 1, kind;
    while ((kind = kind_size(name)))
        name = behind(name, kind);
    if (name.size == title.size && slice_is(last_word(title), "Reference")) {
        while (at < title.size &&
               !(title.data[at - 1] == ' ' && kind_size(behind(title, at))))
            at++; /* Doxygen */
        name.size = at < title.size ? at - 1 : title.size;
    }
    bool told = name.size < title.size;
    name = bare_name(name);
    return told && is_class_name(name) ? last_part(name)
                                       : (struct slice){"", 0};
}

/* "Class HashMap<K,V>" is called HashMap. */
static bool is_class(struct slice asked, const struct node *node)
{
    struct slice title = node->title;
    return !node->entry && title.size > asked.size &&
           memmem(title.data, title.size, asked.data, asked.size) &&
           slice_equal(class_of(title), asked);
}

bool name_is_of_class(const struct node *entry, const struct node *above)
{
    struct slice name = class_of(above->title);
    return name.size &&
           slice_equal(last_part(last_word(bare_name(entry->title))), name);
}

/* ---- Nodes ---- */

enum name_match name_of_node(const struct name *name,
                             const struct node *outlined, bool *ret_same)
{
    struct slice asked = buf_slice(&name->text);
    *ret_same = false;
    if (!asked.size)
        return NAME_OTHER;
    *ret_same = true;
    if (is_anchor(asked, outlined) || is_class(asked, outlined))
        return NAME_WHOLE;
    /* What is called so as written is so in lower case, too: most are not. */
    enum name_match lower =
        compare_node(buf_slice(&name->lower), outlined, true);
    enum name_match match =
        lower == NAME_OTHER ? NAME_OTHER : compare_node(asked, outlined, false);
    *ret_same = match != NAME_OTHER;
    return *ret_same ? match : lower;
}
