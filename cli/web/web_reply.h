/* What is answered: its status, type and bytes, and the headers that all answers have. */
#ifndef CLI_WEB_WEB_REPLY_H
#define CLI_WEB_WEB_REPLY_H

#include <microhttpd.h>

#include "base/json.h"
#include "cli/web/web_relay.h"

#define TYPE_JSON   "application/json"
#define TYPE_LINES  "application/x-ndjson"
#define TYPE_EVENTS "text/event-stream"

/* Answers with a copy of the bytes. */
enum MHD_Result reply_bytes(struct MHD_Connection *connection, unsigned status,
                            const char *type, struct slice bytes);

/* Answers with a text for people, and a header besides (NULL: none). */
enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned status,
                           const char *header, const char *value,
                           const char *text);

/* Answers {"error":...} with the status that the code has in HTTP. */
enum MHD_Result reply_error(struct MHD_Connection *connection,
                            const struct err *err);

/* Answers 401, which programs take for a wrong key, and {"error":...} with OpenAI's code. */
enum MHD_Result reply_wants_key(struct MHD_Connection *connection,
                                const char *why);

/* Asks the daemon and answers with its result as it is. */
enum MHD_Result reply_result(const struct web *web,
                             struct MHD_Connection *connection,
                             const char *method, struct slice params);

/* Asks the daemon and answers with the JSON that `make` makes of its result.  `state`,
 * of mem_alloc or NULL, is freed. */
typedef void make_reply(void *state, const cJSON *result, struct buf *out);
enum MHD_Result reply_made(const struct web *web,
                           struct MHD_Connection *connection,
                           const char *method, struct slice params,
                           make_reply *make, void *state);

/* Asks the daemon and answers with what `put` makes of each thing that it sends, as it
 * comes.  `state`, of mem_alloc or NULL, is freed in the end. */
typedef void stream_put(void *state, enum relay_kind kind, struct slice value,
                        struct buf *out);
enum MHD_Result reply_stream(const struct web *web,
                             struct MHD_Connection *connection,
                             const char *type, const char *method,
                             struct slice params, stream_put *put, void *state);

#endif
