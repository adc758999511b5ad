/* Who is let in: what each request must show before anything is done for it. */
#ifndef CLI_WEB_WEB_GATE_H
#define CLI_WEB_WEB_GATE_H

#include <microhttpd.h>
#include <stdbool.h>

#include "cli/web/web.h"

/* Whether the request names us as its host, which a name that was rebound to 127.0.0.1
 * does not, and comes from no page but ours. */
bool gate_is_ours(const struct web *web, struct MHD_Connection *connection);

/* Returns what follows the token in the path, from its slash on; with the token in
 * the header `Authorization: Bearer` the path; NULL: there is none, or another. */
const char *gate_path(const struct web *web, struct MHD_Connection *connection,
                      const char *path);

#endif
