/* The class names of the tools that manuals are made with: a const table of
 * what they make of an element. */
#ifndef INDEXER_PARSE_HTML_CLASSES_H
#define INDEXER_PARSE_HTML_CLASSES_H

#include "indexer/parse/html/rules.h"

/* `words` are the element's classes, `own` is what it is without them. */
void classes_apply(const xmlNode *element, const char *words, enum part own,
                   struct rule *rule);

/* Has the element this word among its classes? */
bool classes_has(const xmlNode *element, const char *name);

/* Is it a <div> that has the class?  NULL: no. */
bool classes_is_box(const xmlNode *element, const char *name);
/* The nearest such box around it, of eight; or NULL. */
const xmlNode *classes_box_around(const xmlNode *element, const char *name);

/* Do elements of these classes stand in the midst of text that goes on behind them,
 * as Bootstrap's menus do?  Who reads a part of a file passes over them, too. */
bool classes_are_passed(struct slice words);

/* Takes the next word off `*rest`; empty: no more. */
struct slice classes_next(const char **rest);

/* The kind of admonition that this is the label of ("Notes": "note"), or
 * NULL. */
const char *classes_label(struct slice text);

#endif
