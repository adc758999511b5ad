/* Languages of documentation, as paths name them: a folder ("de/intro.html",
 * "zh_Hans/") or what follows a file's name ("intro.fr.html", "index.html.de").
 * The name itself is none: ar.html and nl.html are commands' pages. */
#ifndef DAEMON_ANSWER_LANGUAGES_H
#define DAEMON_ANSWER_LANGUAGES_H

#include "tree/tree.h"

/* The last part of the path that is an ISO 639-1 code, with or without a region
 * or script; points into `path`, size 0: none. */
struct slice language_of_path(struct slice path);

/* Hash of the path without that part: the same for a page and its translations. */
uint64_t language_path_key(struct slice path);

/* Whether the outline's files come in both languages: at least `min` of them, and
 * half of those of the language that has fewer.  Time: files of the outline. */
bool languages_translate(const struct tree *outline, struct slice a,
                         struct slice b, size_t min);

#endif
