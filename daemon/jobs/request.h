/* A request on its way through the threads.
 *
 *     loop ──► a pool's queue ──► a thread ──► response queue ──► loop
 *                                    └──► jobs (waits) ──┘
 *
 * The loop makes a request and frees it when it has come back through the
 * response queue; in between whoever holds it uses it alone, but for `cancelled`. */
#ifndef DAEMON_JOBS_REQUEST_H
#define DAEMON_JOBS_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/net/rpc.h"

struct client;
struct verb;

/* The thread that a verb runs on.  What waits for other daemons (others_may_wait) has
 * threads apart, so that what these ask here never waits behind it: two that ask each
 * other would else each wait for the other. */
enum verb_thread {
    VERB_LOOP,          /* needs no time; `run` is NULL, server.c does it */
    VERB_QUERY,         /* reads */
    VERB_ANSWER,        /* reads, and may wait for a model that writes */
    VERB_WRITE,         /* writes, and may wait for the index thread */
    VERB_MAINTENANCE,   /* goes through all of the store */
    VERB_QUERY_OTHERS,  /* as VERB_QUERY, and may wait for other daemons */
    VERB_ANSWER_OTHERS, /* as VERB_ANSWER, and may */
    VERB_THREADS
};

/* A client, as the threads know it: shared by the loop, which counts what it has
 * read, and its requests. */
struct peer {
    atomic_uint references;
    atomic_size_t unread; /* bytes of answers that it has not taken yet */
    atomic_uint running[VERB_THREADS]; /* requests at work */
};
struct peer *peer_new(void);
struct peer *peer_ref(struct peer *peer);
void peer_unref(struct peer *peer); /* NULL is allowed */

struct request {
    struct request *next; /* in the queue or list that holds it */
    uint64_t turn;        /* in the queue */
    cJSON *message;
    struct rpc rpc; /* parts of it */
    const struct verb *verb;
    struct peer *peer;     /* a reference; NULL: nobody's */
    atomic_bool cancelled; /* nobody wants the answer any more */

    /* The loop's alone. */
    struct client *client;       /* NULL: it has gone */
    struct request *client_next; /* among the client's */
    size_t size;                 /* of its line */
};

/* Takes the message over. */
struct request *request_new(cJSON *message, const struct rpc *rpc,
                            const struct verb *verb);
void request_free(struct request *request);

/* A queue of requests in which clients take turns: one that sends many at once
 * waits for them itself, a request of another goes before its second.  Its
 * owner has the lock; only the loop puts in. */
struct requests {
    struct request *first; /* by ascending turns */
    uint64_t turn;         /* of the last one taken */
    unsigned max_running;  /* of one client's at a time; 0: any number */
    int pool;              /* enum verb_thread */
};
void requests_put(struct requests *list, struct request *request);
/* The next that may run: not of a client that leaves REQUESTS_MAX_UNREAD bytes of
 * answers unread, or has max_running at work; what nobody wants any more may
 * always.  NULL: there is none.  It counts as running until requests_done. */
enum { REQUESTS_MAX_UNREAD = 1 << 20 };
struct request *requests_take(struct requests *list);
void requests_done(const struct requests *list, struct peer *peer);
bool requests_remove(struct requests *list, struct request *request);

/* ---- The response queue: lines for clients, from any thread to the loop ---- */

struct response {
    struct response *next;
    struct request *request;
    struct buf line;
    bool last; /* the answer: nothing more follows for this request */
};

struct response_queue;

/* `wake` is called from any thread, after something was put in. */
struct response_queue *response_queue_new(void (*wake)(void *context),
                                          void *context);
void response_queue_free(struct response_queue *response_queue);

/* Everything in it, in order; free each with response_free. */
struct response *response_queue_take(struct response_queue *response_queue);
void response_free(struct response *response);

/* The answer: `result` when `code` is 0, else `err`.  The request is no longer
 * the caller's. */
void request_answer(struct response_queue *response_queue,
                    struct request *request, int code, struct slice result,
                    const struct err *err);

/* A notification about the request, which stays with the caller. */
void request_notify(struct response_queue *response_queue,
                    struct request *request, const char *method,
                    struct slice params);

#endif
