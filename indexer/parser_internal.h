/* A parser's process, and what is believed of its replies: what parser.c, which talks to it,
 * shares with parser_process.c and parser_reply.c. */
#ifndef INDEXER_PARSER_INTERNAL_H
#define INDEXER_PARSER_INTERNAL_H

#include <sys/types.h>

#include "indexer/parser.h"

/* A file that was handed over while a document is parsed. */
struct handed {
    char *path;
    uint64_t size;
};

struct parser {
    char *program;
    uint64_t max_memory;
    uint32_t max_seconds;
    const atomic_bool *cancel;
    pid_t pid; /* 0: no process */
    int socket;
    unsigned requests; /* that this process was asked */
    uint64_t number;   /* of the last request, to any process */
    int64_t busy_ms;   /* that it took for them */
    int64_t deadline;  /* of the request under way, on clock_ms */
    int64_t began;     /* it, on clock_ms */
    int64_t used_ms;   /* of the process's processor time, before it */
    int64_t served_ms; /* of our own, for the files that it asks for */
    const struct parser_inputs *inputs; /* of the request; NULL: none */
    struct handed *handed;              /* [handed_count] */
    size_t handed_count, handed_capacity;
    uint64_t handed_bytes;
};

/* ---- The process (parser_process.c) ---- */

/* Makes sure of a process that may take a whole request. */
int process_ready(struct parser *parser, struct err *err);
/* Ends the process if it has not ended; returns how it did. */
int process_end(struct parser *parser, bool at_once);
/* The time of a request begins. */
void process_set_deadline(struct parser *parser);
/* The deadline has passed; one that came before its time is put off. */
bool process_is_overdue(struct parser *parser);
/* ERR_LIMIT, ERR_CRASH or ERR_INTERNAL: why it has ended, or is ended now. */
int process_too_slow(struct parser *parser, struct err *err);
int process_died(struct parser *parser, struct err *err);
/* A reply that makes no sense: the process is not to be trusted any more. */
int process_nonsense(struct parser *parser, struct err *err);

/* ---- Replies (parser_reply.c) ---- */

/* Reads a tree of a file of `size` bytes and of those that were handed over, with all its
 * places in them. */
bool reply_read_tree(const struct parser *parser, struct slice answer,
                     size_t size, struct tree **ret_tree);
/* Takes the reports off the head of an answer. */
bool reply_read_reports(struct slice *answer, const struct parser_inputs *in);
/* False unless the reply is text and places as promised. */
bool reply_read_text(const struct buf *answer, size_t max, struct slice *text,
                     struct slice *places);

#endif
