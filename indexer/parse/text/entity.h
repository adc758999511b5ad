/* Character references: &amp; &#233; &copy and their like. */
#ifndef INDEXER_PARSE_TEXT_ENTITY_H
#define INDEXER_PARSE_TEXT_ENTITY_H

#include <stddef.h>

/* The reference at text[0], an '&': how many bytes it takes, and the one or
 * two characters (UTF-8) that it stands for.  0: it is none. */
size_t entity_decode(const char *text, size_t size, char ret_bytes[8],
                     size_t *ret_size);

/* A character as UTF-8: how many bytes. */
size_t entity_encode(unsigned code, char ret_bytes[8]);

/* The character that a byte of 0x80 and above is in windows-1252. */
unsigned entity_windows_1252(unsigned byte);

#endif
