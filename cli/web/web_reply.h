/* What is answered: its status, type and bytes, and the headers that all answers have. */
#ifndef CLI_WEB_WEB_REPLY_H
#define CLI_WEB_WEB_REPLY_H

#include <microhttpd.h>

#include "cli/web/web_relay.h"

#define TYPE_JSON   "application/json"
#define TYPE_LINES  "application/x-ndjson"
#define TYPE_EVENTS "text/event-stream"

/* Answers with a copy of the bytes. */
enum MHD_Result reply_bytes(struct MHD_Connection *connection, unsigned status,
                            const char *type, struct slice bytes);

/* Answers {"error":...} with the status that the code has in HTTP. */
enum MHD_Result reply_error(struct MHD_Connection *connection,
                            const struct err *err);
/* The same of an object that the daemon has sent. */
enum MHD_Result reply_daemon_error(struct MHD_Connection *connection,
                                   struct slice error);

/* Answers with what `put` makes of each thing that the daemon sends, as it comes.
 * `state`, from mem_alloc or NULL, is freed in the end, the relay closed. */
typedef void stream_put(void *state, enum relay_kind kind, struct slice value,
                        struct buf *out);
enum MHD_Result reply_stream(struct MHD_Connection *connection,
                             const char *type, const struct relay *relay,
                             stream_put *put, void *state);

/* Appends the object of an error. */
void put_error(struct buf *out, const struct err *err);

#endif
