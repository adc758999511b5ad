/* What questions in other languages than English are made of: words that carry nothing.
 * The lists are from general knowledge of the languages, and were made before anything
 * was measured with them. */
#ifndef MEMORY_LEXICAL_QUESTION_LANGUAGE_H
#define MEMORY_LEXICAL_QUESTION_LANGUAGE_H

#include <stdbool.h>

#include "memory/lexical/analyze.h"

/* German, French, Spanish, Italian, Portuguese, Dutch, Japanese or Chinese. */
struct question_language;

/* Returns the language that a question is in: that of which it has two function words or
 * more that English has not (of letters none), and more than English has there; one at
 * least is no subject of manuals, as "die" and "comment" are; Japanese and Chinese, by
 * two characters of theirs, where no word is one of English's.  NULL: English, or there is
 * too little to tell. */
const struct question_language *question_language(struct analyzer *maker,
                                                  struct slice question);

/* Whether a question of which nothing tells the language may be in this one: no word of it
 * is a function word of English but not of this. */
bool question_language_may_be(const struct question_language *language,
                              struct analyzer *maker, struct slice question);

/* Words that texts in a language (NULL: English) are full of, as terms of the index; those
 * in the others have none of them, or fewer of them than of their own: "para" and "como"
 * are Portuguese, too. */
enum { LANGUAGE_MARKS = 4 };
const char *const *question_language_marks(
    const struct question_language *language);
/* The languages, the last one NULL: English. */
enum { QUESTION_LANGUAGES = 9 };
const struct question_language *question_language_at(size_t i);

/* Whether a word in lower case carries nothing in a question: a stop word of English or of
 * its language (NULL: that is all); of Chinese or Japanese, whose words are two
 * characters here, what is grammar, has a part of it ("如何", "何删"), or is a common verb
 * of questions, but no subject of manuals ("请求"). */
bool question_language_passes_over(const struct question_language *language,
                                   struct slice word);

#endif
