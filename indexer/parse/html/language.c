#include "indexer/parse/html/language.h"

#include <ctype.h>

#include "indexer/parse/html/classes.h"

enum { MAX_LANGUAGE = 32 }; /* bytes of its name */

static struct slice only_language(struct slice word)
{
    static const char others[] = "+#._-";
    size_t size = 0;
    while (size < word.size && size < MAX_LANGUAGE &&
           (isalnum((unsigned char)word.data[size]) ||
            memchr(others, word.data[size], sizeof others - 1)))
        size++;
    return (struct slice){word.data, size};
}

static struct slice language_in(const xmlNode *element)
{
    static const char *const prefixes[] = {"language-", "lang-", "highlight-",
                                           "brush:"};
    static const char *const none[] = {"default", "none", "text", "plaintext",
                                       "source"};
    const char *rest = dom_attribute(element, "class");
    for (struct slice word; rest && (word = classes_next(&rest)).size;)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
            size_t size = strlen(prefixes[i]);
            if (word.size <= size || strncmp(word.data, prefixes[i], size))
                continue;
            word.data += size;
            word.size -= size;
            word = only_language(word);
            for (size_t k = 0; k < sizeof none / sizeof *none; k++)
                if (slice_is(word, none[k]))
                    return (struct slice){"", 0};
            return word;
        }
    return (struct slice){"", 0};
}

/* <code> in <pre>, or mdBook's <pre> in <pre>, when it comes first. */
static const xmlNode *code_in(const xmlNode *element)
{
    const xmlNode *child = element->children;
    while (child && !dom_is_element(child))
        child = child->next;
    bool is = child && (dom_tag(child) == GUMBO_TAG_CODE ||
                        dom_tag(child) == GUMBO_TAG_PRE);
    return is ? child : NULL;
}

struct slice language_of(const xmlNode *code)
{
    struct slice found = language_in(code);
    const xmlNode *child = code;
    for (int i = 0; i < 2 && !found.size && (child = code_in(child)); i++)
        found = language_in(child);
    const xmlNode *around = code->parent;
    for (int i = 0; i < 2 && !found.size; i++, around = around->parent) {
        if (!dom_is_element(around) || dom_tag(around) != GUMBO_TAG_DIV)
            break;
        found = language_in(around);
    }
    return found;
}
