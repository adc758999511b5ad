/* What a reader of a fleet knows of how current it is: `lectern fleet fetch` writes it
 * down beside the store (cli/fleet/looked.h). */
#ifndef DAEMON_FLEET_FLEET_LOOK_H
#define DAEMON_FLEET_FLEET_LOOK_H

#include "base/config.h"
#include "base/json.h"

struct fleet_look {
    bool
        is_reader; /* packs are fetched here, `fleet` is configured; false: the rest
                          is 0 */
    bool
        is_fresh; /* all that is held is what is published, by a look of the last ten
                          minutes */
    int64_t looked;    /* seconds since the registry answered; -1: not known */
    int64_t behind;    /* for how many seconds it is not fresh; -1: not known */
    int64_t elsewhere; /* published manuals that are not held here */
    char problem[512]; /* why it is not fresh */
};

/* Reads one small file. */
void fleet_look(const struct config *config, struct fleet_look *ret);

/* The names of the manuals that are published and not held here, an array; NULL: they
 * are not known.  Free with cJSON_Delete. */
cJSON *fleet_elsewhere(const struct config *config);
bool fleet_is_elsewhere(const struct config *config, const char *manual);

#endif
