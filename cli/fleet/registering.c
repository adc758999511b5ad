/* init, join, publish, status: what people tell the registry, and it them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/place.h"
#include "cli/fleet/schema.h"

static void print(const struct fleet *fleet, struct buf *json, const char *text)
{
    puts(fleet->json ? json->data : text);
    buf_free(json);
}

/* ---- init ---- */

static int set_place(struct fleet *fleet, const char *where, struct err *err)
{
    struct place place = {0};
    struct rows rows;
    int code = place_name(where, &place.where, err);
    if (!code)
        code = place_check(&place, err);
    const char *const values[REGISTRY_VALUES] = {place.where.data};
    if (!code)
        code = registry_ask(fleet->registry,
                            "INSERT INTO lectern.settings VALUES ('packs', $1) "
                            "ON CONFLICT (name) DO UPDATE SET value = $1",
                            values, &rows, err);
    if (!code)
        rows_free(&rows);
    place_free(&place);
    return code;
}

int fleet_init(struct fleet *fleet, const char *where, const char *place,
               struct err *err)
{
    struct buf out = {0}, text = {0};
    struct json json = json_to(&out);
    int from = 0, to = 0;
    registry_free(fleet->registry);
    fleet->registry = NULL;
    int code = registry_make(where, &fleet->registry, err);
    if (!code)
        code = schema_migrate(fleet->registry, &from, &to, err);
    if (!code && place)
        code = set_place(fleet, place, err);
    if (code)
        return code;
    json_begin(&json, '{');
    json_field_int(&json, "from", from);
    json_field_int(&json, "schema", to);
    json_end(&json, '}');
    buf_printf(&text,
               from == to ? "the registry has schema %d already"
                          : "the registry has schema %d now",
               to);
    print(fleet, &out, text.data);
    buf_free(&text);
    return 0;
}

/* ---- join ---- */

/* The connection, and the place as this machine sees it (NULL: as the registry says). */
static int write_down(struct fleet *fleet, const char *where, const char *place,
                      struct err *err)
{
    struct buf name = {0};
    int code = place ? place_name(place, &name, err) : 0;
    if (!code)
        code = config_write(&fleet->config, CONFIG_FLEET, where, err);
    if (!code && place)
        code = config_write(&fleet->config, CONFIG_FLEET_PACKS, name.data, err);
    buf_free(&name);
    return code;
}

static int find_role(struct fleet *fleet, struct buf *ret, struct err *err)
{
    struct rows rows;
    int code = registry_ask(
        fleet->registry,
        "SELECT has_function_privilege('lectern.take(text, bigint[])', "
        "'execute'), has_table_privilege('lectern.manuals', 'select')",
        NULL, &rows, err);
    if (code)
        return code;
    bool indexer = rows_text(&rows, 0, 0)[0] == 't';
    bool reader = rows_text(&rows, 0, 1)[0] == 't';
    rows_free(&rows);
    buf_put_text(ret, indexer ? "indexer" : "reader");
    return reader ? 0
                  : err_set(err, ERR_USAGE,
                            "the registry does not let you read: GRANT "
                            "lectern_reader (or lectern_indexer) TO your role");
}

int fleet_join(struct fleet *fleet, const char *where, const char *place,
               struct err *err)
{
    struct buf out = {0}, role = {0}, text = {0};
    struct json json = json_to(&out);
    registry_free(fleet->registry);
    fleet->registry = NULL;
    int code = registry_make(where, &fleet->registry, err);
    if (!code)
        code = registry_check(fleet->registry, err);
    if (!code)
        code = find_role(fleet, &role, err);
    if (!code)
        code = write_down(fleet, where, place, err);
    if (!code) {
        json_begin(&json, '{');
        json_field_text(&json, "role", role.data);
        json_field_text(&json, "file", fleet->config.file);
        json_end(&json, '}');
        buf_printf(&text, "joined as %s; %s says so", role.data,
                   fleet->config.file);
        print(fleet, &out, text.data);
    }
    buf_free(&role);
    buf_free(&text);
    return code;
}

/* ---- publish ---- */

int fleet_publish(struct fleet *fleet, const char *name, const char *source,
                  struct err *err)
{
    struct buf out = {0}, text = {0};
    struct json json = json_to(&out);
    struct rows rows;
    const char *const values[REGISTRY_VALUES] = {name, source ? source : ""};
    int code = registry_check(fleet->registry, err);
    if (!code)
        code = registry_ask(fleet->registry,
                            "SELECT lectern.ask_for($1, nullif($2, ''))",
                            values, &rows, err);
    if (code)
        return code;
    int64_t revision = rows_int(&rows, 0, 0);
    rows_free(&rows);
    if (!revision)
        return err_set(err, ERR_USAGE,
                       "the fleet has no manual %s: lectern fleet publish %s "
                       "FOLDER",
                       name, name);
    json_begin(&json, '{');
    json_field_text(&json, "manual", name);
    json_field_int(&json, "revision", revision);
    json_end(&json, '}');
    buf_printf(&text, "%s: revision %lld is asked for", name,
               (long long)revision);
    print(fleet, &out, text.data);
    buf_free(&text);
    return 0;
}

int fleet_withdraw(struct fleet *fleet, const char *name, struct err *err)
{
    struct buf out = {0}, text = {0};
    struct json json = json_to(&out);
    struct rows rows;
    const char *const values[REGISTRY_VALUES] = {name};
    int code = registry_check(fleet->registry, err);
    if (!code)
        code = registry_ask(fleet->registry, "SELECT lectern.withdraw($1)",
                            values, &rows, err);
    if (code)
        return code;
    bool known = rows_text(&rows, 0, 0)[0] == 't';
    rows_free(&rows);
    if (!known)
        return err_set(err, ERR_USAGE, "the fleet has no manual %s", name);
    json_begin(&json, '{');
    json_field_text(&json, "withdrawn", name);
    json_end(&json, '}');
    buf_printf(&text,
               "%s is withdrawn; lectern fleet publish %s asks for it "
               "again",
               name, name);
    print(fleet, &out, text.data);
    buf_free(&text);
    return 0;
}

/* ---- status ---- */

static const char status_sql[] =
    "SELECT json_build_object('manuals', (SELECT coalesce(json_agg(x ORDER BY "
    "x.name), '[]') FROM (SELECT m.name, m.source, m.withdrawn IS NOT NULL AS "
    "withdrawn, l.wanted, l.published, "
    "l.holder, extract(epoch FROM l.until - clock_timestamp())::int AS "
    "seconds_left, l.failures, l.problem, g.generation, g.age, g.bytes, "
    "g.signer FROM lectern.manuals m JOIN lectern.leases l ON l.manual = m.id "
    "LEFT JOIN (SELECT name, id AS generation, extract(epoch FROM "
    "clock_timestamp() - published)::int AS age, bytes, signer FROM "
    "lectern.offers) g ON g.name = m.name) x), 'readers', "
    "(SELECT coalesce(json_agg(r ORDER BY r.name), '[]') FROM (SELECT name, "
    "manuals, current, problem, extract(epoch FROM clock_timestamp() - "
    "heard)::int AS age FROM lectern.readers) r))";

static void put_manual(struct buf *out, const cJSON *manual)
{
    const char *holder = json_get_text(manual, "holder", NULL);
    const char *problem = json_get_text(manual, "problem", NULL);
    int64_t generation = json_get_int(manual, "generation", 0);
    buf_printf(out, "%-24s ", json_get_text(manual, "name", ""));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(manual, "withdrawn")))
        buf_put_text(out, "withdrawn");
    else if (generation)
        buf_printf(out, "generation %lld, %lld bytes, %lld s old",
                   (long long)generation,
                   (long long)json_get_int(manual, "bytes", 0),
                   (long long)json_get_int(manual, "age", 0));
    else
        buf_put_text(out, "not published yet");
    if (holder)
        buf_printf(out, "; %s works at it", holder);
    else if (json_get_int(manual, "wanted", 0) >
             json_get_int(manual, "published", 0))
        buf_put_text(out, "; waits for an indexer");
    if (problem)
        buf_printf(out, "; failed: %s", problem);
    buf_put_byte(out, '\n');
}

static void put_reader(struct buf *out, const cJSON *reader)
{
    const char *problem = json_get_text(reader, "problem", NULL);
    buf_printf(out, "reader %s: %lld of %lld current, heard %lld s ago",
               json_get_text(reader, "name", ""),
               (long long)json_get_int(reader, "current", 0),
               (long long)json_get_int(reader, "manuals", 0),
               (long long)json_get_int(reader, "age", 0));
    if (problem)
        buf_printf(out, "; %s", problem);
    buf_put_byte(out, '\n');
}

/* Names are of others: nothing of them drives a terminal. */
static void make_plain(struct buf *text)
{
    for (size_t i = 0; i < text->size; i++)
        if ((unsigned char)text->data[i] < ' ' && text->data[i] != '\n')
            text->data[i] = ' ';
}

int fleet_status(struct fleet *fleet, struct err *err)
{
    struct buf out = {0};
    struct rows rows;
    cJSON *value = NULL;
    const cJSON *one;
    int code = registry_check(fleet->registry, err);
    if (!code)
        code = registry_ask(fleet->registry, status_sql, NULL, &rows, err);
    if (code)
        return code;
    const char *text = rows_text(&rows, 0, 0);
    if (fleet->json)
        puts(text);
    else
        code = json_parse(slice_of(text), &value, err);
    cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(value, "manuals"))
        put_manual(&out, one);
    cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(value, "readers"))
        put_reader(&out, one);
    make_plain(&out);
    if (!fleet->json && !code)
        fputs(out.size ? out.data : "the fleet has no manuals\n", stdout);
    cJSON_Delete(value);
    rows_free(&rows);
    buf_free(&out);
    return code;
}
