/* The requests that lectern-parse answers (indexer/wire.h). */
#ifndef INDEXER_PARSE_SERVE_H
#define INDEXER_PARSE_SERVE_H

/* Loads what libraries read from files, once, before the process locks itself in. */
void serve_load(void);

/* Answers requests that come in by WIRE_FD until the other end is closed, or says
 * something that makes no sense. */
void serve_all(void);

#endif
