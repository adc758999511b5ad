/* The place of packs: a folder that all machines see, or an address of a file server
 * that lectern-get puts them to (PUT, MOVE, DELETE) and gets them from (GET). */
#ifndef CLI_FLEET_PLACE_H
#define CLI_FLEET_PLACE_H

#include "cli/download/sha256.h"
#include "cli/fleet/fleet.h"

struct place {
    struct buf where; /* free with place_free */
    fleet_each
        *each; /* called about every `ms` while a pack is on its way; NULL:
                         nothing; what it returns, if not 0, ends that */
    void *user;
    int64_t ms;
};

/* Where packs are: `fleet_packs` of the configuration, else what the registry says. */
int place_find(struct fleet *fleet, struct place *ret, struct err *err);
void place_free(struct place *place);

/* Makes `where`, a path or an address as somebody wrote it, one that may be written
 * down.  ERR_USAGE: it has a name or password in it. */
int place_name(const char *where, struct buf *ret, struct err *err);

/* Checks that packs can be put there, gotten and removed. */
int place_check(const struct place *place, struct err *err);

/* The sum of a file, and its size. */
int place_sum(const char *path, char ret[SHA256_HEX], int64_t *ret_bytes,
              struct err *err);

/* Puts a file there as `name`, whole or not at all.  ERR_FORMAT, here and below: that is
 * no name, but a path. */
int place_put(const struct place *place, const char *path, const char *name,
              struct err *err);

/* Copies `name`, of that sum and so many bytes, from there to `to`, from where an
 * earlier try broke off, and checks it.  ERR_IO, ERR_FORMAT. */
int place_get(const struct place *place, const char *name, const char *sha256,
              int64_t bytes, const char *to, struct err *err);

/* Removes `name`, and what a place_put of that name left; nothing there is no error. */
int place_remove(const struct place *place, const char *name, struct err *err);

#endif
