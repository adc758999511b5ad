/* Events of a request that streams: notifications before its result. */
#ifndef DAEMON_NET_STREAM_EVENT_H
#define DAEMON_NET_STREAM_EVENT_H

#include "daemon/verbs/verbs.h"

/* True when the request asked for them ("stream": true). */
bool event_wanted(const struct call *call);

/* {"id":..,"event":NAME, and what is put into it until event_send. */
struct json event_begin(const struct call *call, const char *name,
                        struct buf *params);
void event_send(const struct call *call, struct json *json);

void event_token(const struct call *call, struct slice text);

#endif
