/* Words of English that any conversation has, whatever it is about.  The lists
 * are from general knowledge of the language, and were made before anything was
 * measured with them.  Words in lower case, not stemmed. */
#ifndef MEMORY_LEXICAL_COMMON_WORDS_H
#define MEMORY_LEXICAL_COMMON_WORDS_H

#include <stdbool.h>

#include "base/buf.h"

/* A word without weight in a question: "how", "the", "is", ... */
bool word_is_stop_word(struct slice word);

/* A stop word that a title or a list of keywords may hold, too ("of", "the");
 * the others ("how", "you", "is") are of sentences. */
bool word_is_of_phrases(struct slice word);

/* Roughly how often, in a million words of English, the word and those of its
 * stem stand; 0: it is none of the common ones, or it may well be a subject. */
unsigned word_frequency(struct slice word);

#endif
