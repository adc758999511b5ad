#include "daemon/jobs/request.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct outbox {
    pthread_mutex_t lock;
    struct parcel *first;
    struct parcel **last;
    void (*wake)(void *context);
    void *context;
};

struct peer *peer_new(void)
{
    struct peer *peer = mem_alloc(sizeof *peer);
    atomic_init(&peer->references, 1);
    return peer;
}

struct peer *peer_ref(struct peer *peer)
{
    atomic_fetch_add(&peer->references, 1);
    return peer;
}

void peer_unref(struct peer *peer)
{
    if (peer && atomic_fetch_sub(&peer->references, 1) == 1)
        free(peer);
}

struct request *request_new(cJSON *message, const struct rpc *rpc,
                            const struct verb *verb)
{
    struct request *request = mem_alloc(sizeof *request);
    request->message = message;
    request->rpc = *rpc;
    request->verb = verb;
    atomic_init(&request->cancelled, false);
    return request;
}

void request_free(struct request *request)
{
    cJSON_Delete(request->message);
    peer_unref(request->peer);
    free(request);
}

void requests_put(struct requests *list, struct request *request)
{
    request->turn = list->turn;
    for (const struct request *r = list->first; r; r = r->next)
        if (r->client == request->client)
            request->turn = r->turn + 1;
    struct request **at = &list->first;
    while (*at && (*at)->turn <= request->turn)
        at = &(*at)->next;
    request->next = *at;
    *at = request;
}

bool requests_remove(struct requests *list, struct request *request)
{
    struct request **at = &list->first;
    while (*at && *at != request)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = request->next;
    return true;
}

static bool may_run(const struct requests *list, const struct request *request)
{
    struct peer *peer = request->peer;
    if (!peer || atomic_load(&request->cancelled))
        return true;
    return atomic_load(&peer->unread) < REQUESTS_MAX_UNREAD &&
           (!list->max_running ||
            atomic_load(&peer->running[list->pool]) < list->max_running);
}

struct request *requests_take(struct requests *list)
{
    struct request **at = &list->first;
    while (*at && !may_run(list, *at))
        at = &(*at)->next;
    struct request *taken = *at;
    if (taken) {
        *at = taken->next;
        list->turn = taken->turn;
        if (taken->peer)
            atomic_fetch_add(&taken->peer->running[list->pool], 1);
    }
    return taken;
}

void requests_done(const struct requests *list, struct peer *peer)
{
    if (peer)
        atomic_fetch_sub(&peer->running[list->pool], 1);
}

struct outbox *outbox_new(void (*wake)(void *context), void *context)
{
    struct outbox *outbox = mem_alloc(sizeof *outbox);
    pthread_mutex_init(&outbox->lock, NULL);
    outbox->last = &outbox->first;
    outbox->wake = wake;
    outbox->context = context;
    return outbox;
}

void outbox_free(struct outbox *outbox)
{
    if (!outbox)
        return;
    struct parcel *parcel = outbox_take(outbox);
    while (parcel) {
        struct parcel *next = parcel->next;
        if (parcel->last)
            request_free(parcel->request);
        parcel_free(parcel);
        parcel = next;
    }
    pthread_mutex_destroy(&outbox->lock);
    free(outbox);
}

struct parcel *outbox_take(struct outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    struct parcel *first = outbox->first;
    outbox->first = NULL;
    outbox->last = &outbox->first;
    pthread_mutex_unlock(&outbox->lock);
    return first;
}

void parcel_free(struct parcel *parcel)
{
    buf_free(&parcel->line);
    free(parcel);
}

static void put(struct outbox *outbox, struct parcel *parcel)
{
    if (parcel->request->peer)
        atomic_fetch_add(&parcel->request->peer->unread, parcel->line.size);
    pthread_mutex_lock(&outbox->lock);
    *outbox->last = parcel;
    outbox->last = &parcel->next;
    pthread_mutex_unlock(&outbox->lock);
    outbox->wake(outbox->context);
}

void request_answer(struct outbox *outbox, struct request *request, int code,
                    struct slice result, const struct err *err)
{
    struct parcel *parcel = mem_alloc(sizeof *parcel);
    parcel->request = request;
    parcel->last = true;
    if (!request->rpc.id)
        ; /* a notification: nobody waits */
    else if (code)
        rpc_put_error(&parcel->line, request->rpc.id, err);
    else
        rpc_put_result(&parcel->line, request->rpc.id, result);
    put(outbox, parcel);
}

void request_notify(struct outbox *outbox, struct request *request,
                    const char *method, struct slice params)
{
    struct parcel *parcel = mem_alloc(sizeof *parcel);
    parcel->request = request;
    rpc_put_notification(&parcel->line, method, params);
    put(outbox, parcel);
}
