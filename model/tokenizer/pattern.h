/* The regular expressions of a tokenizer.json: written for Oniguruma (Ruby's
 * syntax), matched here by PCRE2. */
#ifndef MODEL_TOKENIZER_PATTERN_H
#define MODEL_TOKENIZER_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct pattern;

/* `literal`: the text stands for itself.  ERR_FORMAT when it is not a pattern,
 * or one whose meaning differs between the two languages; ERR_LIMIT when it is
 * too large. */
int pattern_compile(struct slice source, bool literal,
                    struct pattern **ret_pattern, struct err *err);
void pattern_free(struct pattern *pattern); /* NULL: ok */

/* Says that the pattern matches one character whatever stands beside it: which of ASCII
 * it does is looked up from then on. */
void pattern_is_character(struct pattern *pattern);

/* The state of one thread's matching with a pattern, which may be shared. */
struct pattern_scan;
struct pattern_scan *pattern_scan_new(const struct pattern *pattern);
void pattern_scan_free(struct pattern_scan *scan); /* NULL: ok */

/* The first match at or after `from` in well-formed text: 1 and its range; 0:
 * none; negative: ERR_LIMIT, it took too long, or ERR_FORMAT, the match is no
 * range from there on (\K can do that). */
int pattern_next(struct pattern_scan *scan, struct slice text, size_t from,
                 size_t *ret_start, size_t *ret_end, struct err *err);

#endif
