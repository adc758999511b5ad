/* The character sets that a file may be written in. */
#ifndef INDEXER_PARSE_TEXT_CHARSET_H
#define INDEXER_PARSE_TEXT_CHARSET_H

#include <stdbool.h>

#include "base/buf.h"
#include "tree/tree.h"

/* Returned by charset_find for names that it does not know, and of encodings that
 * switch between character sets, which are not read. */
enum { CHARSET_UNKNOWN = -1, CHARSET_SWITCHING = -2 };

/* Makes the tables and opens the converters: before the jail is entered, since
 * the C library loads them from files. */
void charset_load(void);

/* enum encoding, by any of the names that the Web knows. */
int charset_find(struct slice label);

/* False: this system has no converter for it. */
bool charset_is_loaded(int encoding);

/* More than one byte a character, none of them told from the byte alone. */
bool charset_is_wide(int encoding);

/* The characters (UTF-8) that stand at bytes[at]: one, rarely two, U+FFFD where
 * there is none; returns how many bytes they take. */
size_t charset_decode(int encoding, struct slice bytes, size_t at,
                      char ret_text[8], size_t *ret_size);

#endif
