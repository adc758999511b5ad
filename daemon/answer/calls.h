/* How an entry is called, as manuals show it above what it does. */
#ifndef DAEMON_ANSWER_CALLS_H
#define DAEMON_ANSWER_CALLS_H

#include "tree/tree.h"

/* Does the block show how the entry is called: lines of code, or, as Doxygen has it, a
 * paragraph of its name, arguments and, to the end, qualifiers, of a template's
 * parameters, or of a macro and what it stands for? */
bool call_is_shown(const struct node *entry, const struct block *block);

/* "#define RINSE 4", of the entry RINSE. */
bool call_is_macro(const struct node *entry, struct slice text);

/* "template<class T >" */
bool call_is_template(struct slice text);

#endif
