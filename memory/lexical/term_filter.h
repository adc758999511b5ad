/* Which terms a manual has, more or less: what a question asks for is mostly not in
 * most of the manuals, and the store need not be asked for it.
 *
 * A Bloom filter (Bloom 1970) whose bits of a term lie in one word of 64 (blocked:
 * Putze, Sanders and Singler 2007): of the terms that are not there some 3 % are taken
 * to be. */
#ifndef MEMORY_LEXICAL_TERM_FILTER_H
#define MEMORY_LEXICAL_TERM_FILTER_H

#include "base/buf.h"
#include "memory/store/store.h"

struct term_filter;

/* Of the postings of (manual, epoch), as the transaction has them. */
int term_filter_read(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                     struct term_filter **ret, struct err *err);
void term_filter_free(struct term_filter *filter); /* NULL: ok */

/* False: the term has no postings there.  NULL: anything may have. */
bool term_filter_may_have(const struct term_filter *filter, struct slice term);

#endif
