/* How an entry is called, as manuals show it above what it does. */
#ifndef DAEMON_ANSWER_CALLS_H
#define DAEMON_ANSWER_CALLS_H

#include "tree/tree.h"

/* Does the block show how the entry is called: lines of code, or, as Doxygen has it, a
 * paragraph of its name, arguments and, to the end, qualifiers, or of a template's
 * parameters? */
bool call_is_shown(const struct node *entry, const struct block *block);

/* "template<class T >" */
bool call_is_template(struct slice text);

#endif
