#include "cli/fleet/leases.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

enum { DIGITS = 24 };

static const char *number(char *room, int64_t value)
{
    snprintf(room, DIGITS, "%lld", (long long)value);
    return room;
}

int lease_take(struct registry *registry, const char *worker, const char *but,
               struct lease *ret, bool *ret_any, struct err *err)
{
    struct buf ids = {0};
    struct rows rows;
    buf_printf(&ids, "{%s}", but);
    const char *const values[REGISTRY_VALUES] = {worker, ids.data};
    int code = registry_ask(
        registry,
        "SELECT manual, name, source, revision, fence, seconds FROM "
        "lectern.take($1, $2::bigint[])",
        values, &rows, err);
    buf_free(&ids);
    if (code)
        return code;
    *ret_any = rows.count > 0;
    if (*ret_any)
        *ret = (struct lease){.manual = rows_int(&rows, 0, 0),
                              .name = mem_strdup(rows_text(&rows, 0, 1)),
                              .source = mem_strdup(rows_text(&rows, 0, 2)),
                              .revision = rows_int(&rows, 0, 3),
                              .fence = rows_int(&rows, 0, 4),
                              .seconds = rows_int(&rows, 0, 5)};
    rows_free(&rows);
    return 0;
}

void lease_free(struct lease *lease)
{
    free(lease->name);
    free(lease->source);
    *lease = (struct lease){0};
}

int lease_renew(struct registry *registry, const struct lease *lease,
                bool *ret_kept, struct err *err)
{
    char manual[DIGITS], fence[DIGITS];
    struct rows rows;
    const char *const values[REGISTRY_VALUES] = {number(manual, lease->manual),
                                                 number(fence, lease->fence)};
    int code = registry_ask(registry, "SELECT lectern.renew($1, $2)", values,
                            &rows, err);
    if (code)
        return code;
    *ret_kept = rows_text(&rows, 0, 0)[0] == 't';
    rows_free(&rows);
    return 0;
}

int lease_give_back(struct registry *registry, const struct lease *lease,
                    const char *why, struct err *err)
{
    char manual[DIGITS], fence[DIGITS];
    struct rows rows;
    const char *const values[REGISTRY_VALUES] = {
        number(manual, lease->manual), number(fence, lease->fence), why};
    int code = registry_ask(registry, "SELECT lectern.give_back($1, $2, $3)",
                            values, &rows, err);
    if (!code)
        rows_free(&rows);
    return code;
}

int lease_announce(struct registry *registry, const struct lease *lease,
                   const char *file, bool *ret_kept, struct err *err)
{
    char manual[DIGITS], fence[DIGITS];
    struct rows rows;
    const char *const values[REGISTRY_VALUES] = {
        number(manual, lease->manual), number(fence, lease->fence), file};
    int code = registry_ask(registry, "SELECT lectern.announce($1, $2, $3)",
                            values, &rows, err);
    if (code)
        return code;
    *ret_kept = rows_text(&rows, 0, 0)[0] == 't';
    rows_free(&rows);
    return 0;
}

int lease_register(struct registry *registry, const struct lease *lease,
                   const struct registered *pack, int64_t *ret_generation,
                   struct err *err)
{
    char manual[DIGITS], fence[DIGITS], bytes[DIGITS];
    struct rows rows;
    const char *const values[REGISTRY_VALUES] = {number(manual, lease->manual),
                                                 number(fence, lease->fence),
                                                 pack->sha256,
                                                 pack->hash,
                                                 pack->file,
                                                 number(bytes, pack->bytes),
                                                 pack->signer ? pack->signer
                                                              : ""};
    int code = registry_ask(
        registry,
        "SELECT lectern.register($1, $2, $3, $4, $5, $6, nullif($7, ''))",
        values, &rows, err);
    if (code)
        return code;
    if (rows_text(&rows, 0, 0))
        *ret_generation = rows_int(&rows, 0, 0);
    else
        code = err_set(err, ERR_CANCELLED,
                       "the lease of %s was lost: its pack is not published",
                       lease->name);
    rows_free(&rows);
    if (!code) /* without it readers look in 30 s */
        registry_run(registry, "NOTIFY lectern_packs", NULL);
    return code;
}
