/* What questions in other languages than English are made of: words that carry nothing.
 * The lists are from general knowledge of the languages, and were made before anything
 * was measured with them. */
#ifndef MEMORY_LEXICAL_QUESTION_LANGUAGE_H
#define MEMORY_LEXICAL_QUESTION_LANGUAGE_H

#include <stdbool.h>

#include "base/buf.h"

/* German, French, Spanish, Italian, Portuguese or Dutch. */
struct question_language;

/* Returns the language that a question is in: that of which it has two function words or
 * more that English has not (of letters none), and more than English has there; one at
 * least is no subject of manuals, as "die" and "comment" are.  NULL: English, or there
 * is too little to tell. */
const struct question_language *question_language(struct slice question);

/* Whether a word in lower case is one of its function words; language NULL: no. */
bool question_language_has(const struct question_language *language,
                           struct slice word);

/* Whether what stands for a word of Chinese or Japanese, which are two characters, is
 * grammar, has a part of it ("如何", "何删"), or is a common verb of questions; not those
 * that are subjects of manuals ("请求"). */
bool word_is_of_cjk_grammar(struct slice word);

#endif
