/* Leases: who indexes which manual.  The functions of cli/fleet/sql decide, by the
 * server's clock. */
#ifndef CLI_FLEET_LEASES_H
#define CLI_FLEET_LEASES_H

#include "cli/fleet/registry.h"

struct lease {
    int64_t manual, revision, fence, seconds;
    char *name, *source;
};

struct registered {
    const char *sha256, *hash, *file, *signer; /* signer NULL: nobody */
    int64_t bytes;
};

/* Takes a manual that is to be indexed; *ret_any false: there is none.  `but`: ids of
 * manuals that are not wanted, as "1,2".  Free the lease with lease_free. */
int lease_take(struct registry *registry, const char *worker, const char *but,
               struct lease *ret, bool *ret_any, struct err *err);
void lease_free(struct lease *lease);

int lease_renew(struct registry *registry, const struct lease *lease,
                bool *ret_kept, struct err *err);

/* Gives it back, with why the manual could not be indexed. */
int lease_give_back(struct registry *registry, const struct lease *lease,
                    const char *why, struct err *err);

/* Writes down which file is about to be put where packs are, so that it is known even
 * if nothing becomes of it. */
int lease_announce(struct registry *registry, const struct lease *lease,
                   const char *file, bool *ret_kept, struct err *err);

/* Makes the pack the newest generation, and ends the lease; may be asked again when the
 * answer was lost.  ERR_CANCELLED: the lease was lost. */
int lease_register(struct registry *registry, const struct lease *lease,
                   const struct registered *pack, int64_t *ret_generation,
                   struct err *err);

#endif
