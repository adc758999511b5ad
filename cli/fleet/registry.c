#include "cli/fleet/registry.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/fleet/schema.h"

struct registry {
    char *where, *host;
    const char *channel;
    PGconn *connection; /* NULL: none */
    bool checked;
};

/* libpq's reason quotes a word of the string, which may be of a password. */
static int refuse_where(const char *where, const char *why, struct err *err)
{
    if (strcasestr(where, "passw") || strchr(where, '@'))
        return err_set(err, ERR_USAGE,
                       "fleet is no connection string, and seems to have a "
                       "password in it: put that into ~/.pgpass, which is "
                       "yours alone");
    return err_set(err, ERR_USAGE, "fleet is no connection string: %.*s",
                   (int)strcspn(why, "\n"), why);
}

static int check_where(const char *where, char **ret_host, struct err *err)
{
    char *why = NULL, *host = NULL;
    bool password = false;
    PQconninfoOption *options = PQconninfoParse(where, &why);
    for (PQconninfoOption *o = options; o && o->keyword; o++) {
        password = password || (!strcmp(o->keyword, "password") && o->val);
        if (!strcmp(o->keyword, "host") && o->val && !host)
            host = mem_strndup(o->val, strlen(o->val));
    }
    int code = 0;
    if (!options)
        code = refuse_where(where, why ? why : "", err);
    else if (password)
        code = err_set(err, ERR_USAGE,
                       "fleet has a password in it: put that into ~/.pgpass, "
                       "which is yours alone");
    PQfreemem(why);
    PQconninfoFree(options);
    if (code)
        free(host);
    else
        *ret_host = host;
    return code;
}

int registry_make(const char *where, struct registry **ret, struct err *err)
{
    char *host = NULL;
    if (!where[0])
        return err_set(err, ERR_USAGE,
                       "no fleet is configured: lectern fleet join CONNECTION");
    int code = check_where(where, &host, err);
    if (code)
        return code;
    struct registry *registry = mem_alloc(sizeof *registry);
    *registry = (struct registry){.where = mem_strndup(where, strlen(where)),
                                  .host = host};
    *ret = registry;
    return 0;
}

static void drop(struct registry *registry)
{
    PQfinish(registry->connection);
    registry->connection = NULL;
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    drop(registry);
    free(registry->where);
    free(registry->host);
    free(registry);
}

/* A line of what libpq says, without its end. */
static int fail(struct err *err, int code, const char *text)
{
    size_t size = strcspn(text, "\n");
    if (!strncmp(text, "ERROR:", 6)) {
        text += 6 + strspn(text + 6, " ");
        size = strcspn(text, "\n");
    }
    return err_set(err, code, "the registry: %.*s", (int)size, text);
}

static void be_silent(void *user, const char *text)
{
    (void)user;
    (void)text;
}

static int listen(struct registry *registry, struct err *err)
{
    struct buf sql = {0};
    if (!registry->channel)
        return 0;
    buf_printf(&sql, "LISTEN %s", registry->channel);
    PGresult *result = PQexec(registry->connection, sql.data);
    int code =
        PQresultStatus(result) == PGRES_COMMAND_OK
            ? 0
            : fail(err, ERR_UNREACHABLE, PQerrorMessage(registry->connection));
    PQclear(result);
    buf_free(&sql);
    return code;
}

/* What a string leaves open: how long to wait for a network that says nothing. */
static int connect_to(struct registry *registry, struct err *err)
{
    static const char *const names[] = {"connect_timeout", "tcp_user_timeout",
                                        "fallback_application_name", "dbname",
                                        NULL};
    const char *const values[] = {"10", "20000", "lectern-fleet",
                                  registry->where, NULL};
    if (registry->connection && PQstatus(registry->connection) == CONNECTION_OK)
        return 0;
    drop(registry);
    registry->checked = false;
    registry->connection = PQconnectdbParams(names, values, 1);
    int code = 0;
    if (PQstatus(registry->connection) != CONNECTION_OK)
        code = fail(err, ERR_UNREACHABLE, PQerrorMessage(registry->connection));
    if (!code) {
        PQsetNoticeProcessor(registry->connection, be_silent, NULL);
        PQsetClientEncoding(registry->connection, "UTF8");
        code = listen(registry, err);
    }
    if (code)
        drop(registry);
    return code;
}

/* A server that is being stopped refuses in words, too: classes 57P and 08. */
static int refused(struct registry *registry, const PGresult *result,
                   struct err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorMessage(result);
    bool gone = PQstatus(registry->connection) != CONNECTION_OK || !state ||
                !strncmp(state, "57P", 3) || !strncmp(state, "08", 2) ||
                !strcmp(state, "53300");
    if (!text[0])
        text = PQerrorMessage(registry->connection);
    int code = fail(err, gone ? ERR_UNREACHABLE : ERR_USAGE, text);
    if (gone)
        drop(registry);
    return code;
}

int registry_ask(struct registry *registry, const char *sql,
                 const char *const values[REGISTRY_VALUES], struct rows *ret,
                 struct err *err)
{
    int count = 0, code = connect_to(registry, err);
    if (code)
        return code;
    while (values && count < REGISTRY_VALUES && values[count])
        count++;
    PGresult *result = PQexecParams(registry->connection, sql, count, NULL,
                                    values, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        code = refused(registry, result, err);
        PQclear(result);
        return code;
    }
    *ret = (struct rows){PQntuples(result), result};
    return 0;
}

int registry_run(struct registry *registry, const char *sql, struct err *err)
{
    int code = connect_to(registry, err);
    if (code)
        return code;
    PGresult *result = PQexec(registry->connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        code = refused(registry, result, err);
    PQclear(result);
    return code;
}

int registry_check(struct registry *registry, struct err *err)
{
    int code = connect_to(registry, err);
    if (code || registry->checked)
        return code;
    code = schema_check(registry, err);
    registry->checked = !code;
    return code;
}

const char *rows_text(const struct rows *rows, int row, int column)
{
    return PQgetisnull(rows->result, row, column)
               ? NULL
               : PQgetvalue(rows->result, row, column);
}

int64_t rows_int(const struct rows *rows, int row, int column)
{
    const char *text = rows_text(rows, row, column);
    return text ? strtoll(text, NULL, 10) : 0;
}

void rows_free(struct rows *rows)
{
    PQclear(rows->result);
    *rows = (struct rows){0};
}

void registry_listen(struct registry *registry, const char *channel)
{
    registry->channel = channel;
    drop(registry);
}

static bool take_notifications(struct registry *registry)
{
    bool any = false;
    if (!registry->connection)
        return false;
    if (!PQconsumeInput(registry->connection)) {
        drop(registry);
        return false;
    }
    for (PGnotify *one; (one = PQnotifies(registry->connection)); any = true)
        PQfreemem(one);
    return any;
}

enum { AWAY_MS = 2000 };

void registry_wait(struct registry *registry, int64_t ms)
{
    int64_t now = clock_ms(), end = now + ms;
    while (!take_notifications(registry)) {
        if (!registry->connection && end > now + AWAY_MS)
            end = now + AWAY_MS;
        int64_t left = end - clock_ms();
        struct pollfd socket_end = {
            .fd = registry->connection ? PQsocket(registry->connection) : -1,
            .events = POLLIN};
        if (left <= 0)
            return;
        if (poll(&socket_end, 1, (int)left) <= 0)
            return;
    }
}
