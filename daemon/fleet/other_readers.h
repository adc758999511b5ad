/* The daemons that are asked for what is not held here: `fleet_readers`, a name and a
 * socket each. */
#ifndef DAEMON_FLEET_OTHER_READERS_H
#define DAEMON_FLEET_OTHER_READERS_H

#include "base/reader_list.h"
#include "daemon/fleet/reader_call.h"

enum {
    OTHER_READERS_MAX = READER_LIST_MAX,
    /* A search waits for them at most, and what is read there; one that reranks
     * takes RERANK_MS (daemon/verbs/rerank.h) and its search. */
    READERS_MS = 2500,
    READER_PAUSE_MS = 30000 /* in which one is not asked that sent nothing */
};

struct other_reader {
    char name[READER_NAME];
    char *path;
    _Atomic int64_t silent_until; /* clock_ms */
};

struct other_readers {
    struct other_reader items[OTHER_READERS_MAX]; /* [count] */
    size_t count;
};

_Static_assert((int)OTHER_READERS_MAX <= (int)READER_CALLS_MAX,
               "all are waited for at once");

/* Reads what is configured (base/reader_list.h); NULL where that is empty.  ERR_USAGE. */
int other_readers_open(const char *configured, struct other_readers **ret,
                       struct err *err);
void other_readers_free(struct other_readers *readers);

/* What one of them answered. */
struct reader_answer {
    struct other_reader *reader;
    struct reader_call call;
    cJSON *result;  /* NULL: none */
    struct err err; /* then */
};

/* Asks all of them; each has an answer. */
void other_readers_begin(struct other_readers *readers, const char *method,
                         const cJSON *params,
                         struct reader_answer answers[OTHER_READERS_MAX]);
/* Waits until all have answered, READERS_MS at most. */
void other_readers_end(struct other_readers *readers,
                       const atomic_bool *cancelled,
                       struct reader_answer answers[OTHER_READERS_MAX]);
void reader_answers_free(const struct other_readers *readers,
                         struct reader_answer answers[OTHER_READERS_MAX]);

/* Asks one, and waits up to `ms`.  Its nodes are marked, and the result says that it is
 * this reader's (merge_label). */
int other_reader_ask(struct other_reader *reader, const char *method,
                     const cJSON *params, int64_t ms,
                     const atomic_bool *cancelled, cJSON **ret_result,
                     struct err *err);

/* Nodes of another reader are called NODE@NAME here.  Marks all below `value`. */
void other_reader_mark(const struct other_reader *reader, cJSON *value);
/* The reader of a node that is called so, and its length there.  *ret NULL: it is one
 * of this daemon's; ERR_USAGE: of a reader that is not known. */
int other_readers_of_node(struct other_readers *readers, const char *node,
                          struct other_reader **ret, size_t *ret_size,
                          struct err *err);

#endif
