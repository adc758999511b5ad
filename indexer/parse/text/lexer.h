/* The lexical level of HTML: where in the bytes of a file markup begins and
 * ends, and which character stands where.  It knows nothing of structure, so
 * it reads any part of a file alike. */
#ifndef INDEXER_PARSE_TEXT_LEXER_H
#define INDEXER_PARSE_TEXT_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "tree/tree.h"

/* The text that is read: UTF-8 throughout. */
struct declared;
struct source {
    const char *data;
    size_t size; /* below 4 GiB */
    bool xhtml;  /* <a/> is a whole element */
    bool xml;    /* well-formed XML: CDATA is text, names are as they please */
    const struct declared *declared; /* entities (declared.h); NULL: none */
};

/* Attributes of a tag that are read. */
enum { MAX_ATTRIBUTES = 256 };

enum markup_kind { MARKUP_OPEN, MARKUP_CLOSE, MARKUP_OTHER };

/* A tag; or a comment, declaration or instruction (MARKUP_OTHER). */
struct markup {
    int kind;
    size_t from, to;
    struct slice name; /* of the element, as written */
    bool closed;       /* ends in "/>" */
    unsigned attributes;
    size_t surplus; /* where those beyond MAX_ATTRIBUTES begin; 0: none */
};

/* What the text of an element may hold. */
enum text_mode {
    TEXT_MARKUP,     /* tags and character references */
    TEXT_FOREIGN,    /* and sections of raw text: within <svg> and <math> */
    TEXT_EMBEDDED,   /* the same, where these hold HTML */
    TEXT_REFERENCES, /* <title>, <textarea> */
    TEXT_RAW         /* <script>, <style>... */
};

/* One character, or those of one reference. */
struct character {
    char bytes[8]; /* UTF-8 */
    const char
        *text;   /* in their place, of an entity that the document declares;
                         NULL: it is none */
    size_t size; /* 0: a character that is left out */
    size_t to;   /* where the next begins */
};
static inline struct slice character_text(const struct character *character)
{
    return (struct slice){character->text ? character->text : character->bytes,
                          character->size};
}

/* Is there markup at `at`, and if so, which.  Markup that does not end before
 * `end` ends there. */
bool lexer_markup(const struct source *source, size_t at, size_t end,
                  struct markup *ret);

/* The same within text of that mode. */
bool lexer_text_markup(const struct source *source, size_t at, size_t end,
                       enum text_mode mode, struct markup *ret);

/* The next attribute of a tag of HTML, from `at` on, where its name or another
 * attribute ended.  False: there is none before `end`. */
bool lexer_attribute(const struct source *source, size_t at, size_t end,
                     struct slice *ret_name, size_t *ret_to);

/* A section whose text stands in it raw; `markup` is what lexer_text_markup
 * found.  False: it is none. */
bool lexer_cdata(const struct source *source, const struct markup *markup,
                 enum text_mode mode, struct slice *ret_text);

/* How the text in an element of that name is to be read. */
enum text_mode lexer_text_mode(struct slice name);

/* Returns where the end tag that closes such an element begins; `end` if none does. */
size_t lexer_raw_end(const struct source *source, size_t at, size_t end,
                     struct slice name);

/* The character at `at`, which is < end. */
void lexer_character(const struct source *source, size_t at, size_t end,
                     enum text_mode mode, struct character *ret);

/* Bytes from `at` on that stand for themselves: no markup, no references, no
 * line ends to convert, nothing to leave out. */
size_t lexer_plain(const struct source *source, size_t at, size_t end,
                   enum text_mode mode);

/* Appends what [at, end) reads, markup left out. */
void lexer_text(const struct source *source, size_t at, size_t end,
                enum text_mode mode, struct buf *out);

/* Appends what a section of raw text reads. */
void lexer_raw(const struct source *source, struct slice raw, struct buf *out);

/* Characters that are left out: they mean nothing but to a terminal. */
static inline bool lexer_is_control(char byte)
{
    unsigned char c = (unsigned char)byte;
    return c == 0x7f || (c < ' ' && (c < '\t' || c > '\r'));
}

/* ASCII letters without case. */
bool lexer_name_is(struct slice name, const char *lower);

/* Has an element of HTML that is called so no end? */
bool lexer_is_void(struct slice name);

#endif
