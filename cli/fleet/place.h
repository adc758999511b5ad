/* The place of packs: a folder that all machines see. */
#ifndef CLI_FLEET_PLACE_H
#define CLI_FLEET_PLACE_H

#include "cli/download/sha256.h"
#include "cli/fleet/fleet.h"

/* Appends where packs are: `fleet_packs` of the configuration, else what the registry
 * says. */
int place_find(struct fleet *fleet, struct buf *ret, struct err *err);

/* The sum of a file, and its size. */
int place_sum(const char *path, char ret[SHA256_HEX], int64_t *ret_bytes,
              struct err *err);

/* Puts a file there as `name`, whole or not at all. */
int place_put(const char *place, const char *path, const char *name,
              struct err *err);

/* Copies `name` from there to `to`, from where an earlier try broke off, and checks its
 * sum.  ERR_IO, ERR_FORMAT. */
int place_get(const char *place, const char *name, const char *sha256,
              const char *to, struct err *err);

#endif
