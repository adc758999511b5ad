#include "daemon/jobs/request.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct response_queue {
    pthread_mutex_t lock;
    struct response *first;
    struct response **last;
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

struct response_queue *response_queue_new(void (*wake)(void *context),
                                          void *context)
{
    struct response_queue *response_queue = mem_alloc(sizeof *response_queue);
    pthread_mutex_init(&response_queue->lock, NULL);
    response_queue->last = &response_queue->first;
    response_queue->wake = wake;
    response_queue->context = context;
    return response_queue;
}

void response_queue_free(struct response_queue *response_queue)
{
    if (!response_queue)
        return;
    struct response *response = response_queue_take(response_queue);
    while (response) {
        struct response *next = response->next;
        if (response->last)
            request_free(response->request);
        response_free(response);
        response = next;
    }
    pthread_mutex_destroy(&response_queue->lock);
    free(response_queue);
}

struct response *response_queue_take(struct response_queue *response_queue)
{
    pthread_mutex_lock(&response_queue->lock);
    struct response *first = response_queue->first;
    response_queue->first = NULL;
    response_queue->last = &response_queue->first;
    pthread_mutex_unlock(&response_queue->lock);
    return first;
}

void response_free(struct response *response)
{
    buf_free(&response->line);
    free(response);
}

static void put(struct response_queue *response_queue,
                struct response *response)
{
    if (response->request->peer)
        atomic_fetch_add(&response->request->peer->unread, response->line.size);
    pthread_mutex_lock(&response_queue->lock);
    *response_queue->last = response;
    response_queue->last = &response->next;
    pthread_mutex_unlock(&response_queue->lock);
    response_queue->wake(response_queue->context);
}

void request_answer(struct response_queue *response_queue,
                    struct request *request, int code, struct slice result,
                    const struct err *err)
{
    struct response *response = mem_alloc(sizeof *response);
    response->request = request;
    response->last = true;
    if (!request->rpc.id)
        ; /* a notification: nobody waits */
    else if (code)
        rpc_put_error(&response->line, request->rpc.id, err);
    else
        rpc_put_result(&response->line, request->rpc.id, result);
    put(response_queue, response);
}

void request_notify(struct response_queue *response_queue,
                    struct request *request, const char *method,
                    struct slice params)
{
    struct response *response = mem_alloc(sizeof *response);
    response->request = request;
    rpc_put_notification(&response->line, method, params);
    put(response_queue, response);
}
