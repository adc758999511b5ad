#include "cli/fleet/schema.h"

#include "base/buf.h"

/* Puts the bytes of a file into the program, with a NUL. */
#define EMBED(name, file)                                                      \
    extern const char name[];                                                  \
    __asm__(".pushsection .rodata\n"                                           \
            ".globl " #name "\n" #name ":\n.incbin \"cli/fleet/sql/" file      \
            "\"\n.byte 0\n"                                                    \
            ".popsection\n")

EMBED(sql_registry, "001_registry.sql");
EMBED(sql_readers, "002_readers.sql");
EMBED(sql_withdrawing, "003_withdrawing.sql");
EMBED(sql_notifying, "004_notifying.sql");

static const char *const migrations[] = {sql_registry, sql_readers,
                                         sql_withdrawing, sql_notifying};
enum { NEWEST = sizeof migrations / sizeof migrations[0] };

/* Before the first.  Roles are of all databases of a server: they may be there. */
static const char start[] =
    "SELECT pg_advisory_lock(7020601);"
    "CREATE SCHEMA IF NOT EXISTS lectern;"
    "CREATE TABLE IF NOT EXISTS lectern.migrations (number integer PRIMARY "
    "KEY, applied timestamptz NOT NULL DEFAULT clock_timestamp());"
    "DO $$ BEGIN CREATE ROLE lectern_reader NOLOGIN; "
    "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;"
    "DO $$ BEGIN CREATE ROLE lectern_indexer NOLOGIN; "
    "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;";

static int find_number(struct registry *registry, int *ret, struct err *err)
{
    struct rows rows;
    int code = registry_ask(
        registry, "SELECT coalesce(max(number), 0) FROM lectern.migrations",
        NULL, &rows, err);
    if (code)
        return code;
    *ret = (int)rows_int(&rows, 0, 0);
    rows_free(&rows);
    return 0;
}

static int check_newer(int number, struct err *err)
{
    return number <= NEWEST
               ? 0
               : err_set(err, ERR_USAGE,
                         "the registry has schema %d, and this program knows "
                         "%d: a newer Lectern is needed here",
                         number, NEWEST);
}

static int apply(struct registry *registry, int number, struct err *err)
{
    struct buf sql = {0};
    buf_printf(&sql,
               "BEGIN; %s; INSERT INTO lectern.migrations (number) VALUES "
               "(%d); COMMIT",
               migrations[number - 1], number);
    int code = registry_run(registry, sql.data, err);
    if (code)
        registry_run(registry, "ROLLBACK", NULL);
    buf_free(&sql);
    return code;
}

int schema_migrate(struct registry *registry, int *ret_from, int *ret_to,
                   struct err *err)
{
    int number = 0;
    int code = registry_run(registry, start, err);
    if (!code)
        code = find_number(registry, &number, err);
    if (!code)
        code = check_newer(number, err);
    *ret_from = number;
    while (!code && number < NEWEST) {
        code = apply(registry, number + 1, err);
        number += !code;
    }
    *ret_to = number;
    registry_run(registry, "SELECT pg_advisory_unlock_all()", NULL);
    return code;
}

int schema_check(struct registry *registry, struct err *err)
{
    struct rows rows;
    int number = 0;
    int code = registry_ask(registry,
                            "SELECT to_regclass('lectern.migrations') IS NULL",
                            NULL, &rows, err);
    if (code)
        return code;
    bool none = rows_text(&rows, 0, 0)[0] == 't';
    rows_free(&rows);
    if (!none)
        code = find_number(registry, &number, err);
    if (!code)
        code = check_newer(number, err);
    if (!code && number < NEWEST)
        code = err_set(err, ERR_USAGE,
                       none ? "there is no registry in that database: lectern "
                              "fleet init makes one"
                            : "the registry is of an older Lectern: lectern "
                              "fleet init brings it up to this one's");
    return code;
}
