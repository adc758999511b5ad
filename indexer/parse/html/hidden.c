#include "indexer/parse/html/hidden.h"

#include <string.h>
#include <strings.h>

#include "indexer/parse/text/lexer.h"

static bool begins(struct slice text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && !strncasecmp(text.data, word, size);
}

static struct slice behind(struct slice text, size_t size)
{
    return (struct slice){text.data + size, text.size - size};
}

static struct slice behind_space(struct slice text)
{
    size_t at = 0;
    while (at < text.size && memchr(" \t\n\r\f", text.data[at], 5))
        at++;
    return behind(text, at);
}

/* Has the style attribute a declaration that begins so? */
static bool declares(struct slice style, const char *property,
                     const char *value)
{
    while (style.size) {
        struct slice rest = behind_space(style);
        if (begins(rest, property)) {
            rest = behind_space(behind(rest, strlen(property)));
            if (rest.size && rest.data[0] == ':' &&
                begins(behind_space(behind(rest, 1)), value))
                return true;
        }
        const char *end = memchr(style.data, ';', style.size);
        style = end ? behind(style, (size_t)(end - style.data) + 1)
                    : behind(style, style.size);
    }
    return false;
}

/* What Flare and Help & Manual open where it is clicked: "MCDropDownBody_0". */
static bool opens_by_class(struct slice classes)
{
    static const char *const names[] = {
        "MCDropDownBody", "MCExpandingBody", "dropdown-toggle-body",
        "GlossaryPageDefinition", "inline-toggle-body"};
    while (classes.size) {
        classes = behind_space(classes);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (begins(classes, names[i]))
                return true;
        while (classes.size && !memchr(" \t\n\r\f", classes.data[0], 5))
            classes = behind(classes, 1);
    }
    return false;
}

void hiding_add(struct hiding *hiding, struct slice name, struct slice value)
{
    if (lexer_name_is(name, "hidden"))
        hiding->hidden |= !lexer_name_is(value, "until-found");
    else if (lexer_name_is(name, "aria-hidden"))
        hiding->hidden |= lexer_name_is(value, "true");
    else if (lexer_name_is(name, "style"))
        hiding->hidden |= declares(value, "display", "none") ||
                          declares(value, "visibility", "hidden");
    else if (lexer_name_is(name, "role"))
        hiding->tab |= lexer_name_is(value, "tabpanel");
    else if (lexer_name_is(name, "id")) {
        hiding->alternative |= begins(value, "default");
        hiding->tab |= begins(value, "toggle0186a"); /* Help & Manual's */
    } else if (lexer_name_is(name, "class"))
        hiding->tab |= opens_by_class(value);
    else if (lexer_name_is(name, "madcap:targetname"))
        hiding->tab = true;
}
