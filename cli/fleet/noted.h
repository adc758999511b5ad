/* A file of ours in which a text is noted for each of some manuals, as what a reader holds
 * of it: it outlives the process. */
#ifndef CLI_FLEET_NOTED_H
#define CLI_FLEET_NOTED_H

#include "base/json.h"
#include "cli/fleet/fleet.h"

struct noted {
    struct buf path;
    cJSON *all; /* an object: texts by names */
};

/* `file`: in the fleet's folder; one that is missing or damaged has no notes.  ERR_IO,
 * ERR_LIMIT: it is there and cannot be read; `ret` is to be freed then, too. */
int noted_load(const struct fleet *fleet, const char *file, struct noted *ret,
               struct err *err);

/* "": nothing is noted.  Valid until the next noted_put of that name. */
const char *noted_get(const struct noted *noted, const char *name);

/* `text` NULL: it is noted no more.  ERR_IO. */
int noted_put(struct noted *noted, const char *name, const char *text,
              struct err *err);

void noted_free(struct noted *noted);

#endif
