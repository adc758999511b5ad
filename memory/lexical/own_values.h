/* Values of the asker's own computer, of which a message that is pasted into a question
 * is full: "/mnt/backup/repo", "bob@example.com", "10.0.0.5:5432", "named[812]",
 * "09:18:12", "1x6".  What they are put together from says little of what is asked. */
#ifndef MEMORY_LEXICAL_OWN_VALUES_H
#define MEMORY_LEXICAL_OWN_VALUES_H

#include <stdbool.h>

/* Is the identifier, in lower case and without the sentence's signs around it, a path of
 * two names or more from the root, a drive, a home or here, a URL, an address of mail, a
 * host under a domain of many (.com, .local, ...), a process ("named[812") or numbers
 * that signs join? */
bool is_own_value(const char *identifier);

/* Is it an address of mail, one of a network of one's own or for documents (RFC 1918,
 * 5737), or a host under a domain that is kept for examples (RFC 2606)?  Manuals may
 * have it, too, but it is about nothing. */
bool is_example_value(const char *identifier);

/* Does the word, one of an own value's or of what is around it, say as much as any other?
 * That are the last name of a path, the program that a process is of and what is not
 * within the value. */
bool own_value_tells(const char *value, const char *word);

/* Is the word a size, an amount or an address ("1x6", "512mb", "30s", "0x7f2c")? */
bool is_quantity(const char *word);

#endif
