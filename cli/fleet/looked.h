/* What a reader knows of how current it is: a file beside the store, `looked.json`,
 * that the daemon shows in its status. */
#ifndef CLI_FLEET_LOOKED_H
#define CLI_FLEET_LOOKED_H

#include "cli/fleet/fleet.h"

struct looked {
    struct buf path, written;
    int64_t
        at; /* when the registry last answered, seconds since 1970; 0: never */
    int64_t since;     /* when what is here was last current, while it is not */
    int64_t elsewhere; /* published manuals that are not held here */
};

/* Reads what an earlier process wrote, if it did; the folder of `fleet` is open.  Free
 * with looked_free. */
void looked_load(struct fleet *fleet, struct looked *ret);
void looked_free(struct looked *looked);

/* Notes the names of the published manuals that are not held here, an array, in a file
 * of their own, `elsewhere.json`; the next looked_note has their number. */
void looked_note_elsewhere(struct looked *looked, const cJSON *names);

/* Notes a look.  `answered`: by the registry; `problem`: why not all is current; NULL:
 * it is.  What cannot be written is no reason to stop:
 * then the file is empty. */
void looked_note(struct looked *looked, bool answered, const char *problem);

#endif
