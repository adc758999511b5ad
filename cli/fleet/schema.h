/* The schema of the registry: cli/fleet/sql, migrations in their order, which are part
 * of the program.  One that was released is not changed any more. */
#ifndef CLI_FLEET_SCHEMA_H
#define CLI_FLEET_SCHEMA_H

#include "cli/fleet/registry.h"

/* Makes what is missing, in one transaction each, under a lock: schema, roles
 * (lectern_reader, lectern_indexer), tables, functions.  Returns the numbers of the
 * migrations that the database had and has. */
int schema_migrate(struct registry *registry, int *ret_from, int *ret_to,
                   struct err *err);

/* ERR_USAGE: there is no registry, or it is older or newer than this program. */
int schema_check(struct registry *registry, struct err *err);

#endif
