#include "daemon/fleet/fleet_look.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"

enum { MAX_LOOKED = 1 << 16, MAX_NAMES = 64 << 20 };

/* A fetch looks every 30 s. */
static const int64_t max_looked_s = 600;

static bool has_fleet(const struct config *config)
{
    return config_text(config, CONFIG_FLEET)[0];
}

/* False: there is no such file. */
static bool read_json(const struct config *config, const char *name, size_t max,
                      cJSON **ret)
{
    struct buf path = {0}, text = {0};
    file_join(&path, config_text(config, CONFIG_STORE), name);
    *ret = NULL;
    bool there = !file_read(path.data, max, &text, NULL);
    if (there && json_parse(buf_slice(&text), ret, NULL))
        *ret = NULL;
    buf_free(&text);
    buf_free(&path);
    return there;
}

static int64_t seconds_since(const cJSON *look, const char *key)
{
    int64_t then = json_get_int(look, key, 0), now = time(NULL);
    return !then ? -1 : then < now ? now - then : 0;
}

void fleet_look(const struct config *config, struct fleet_look *ret)
{
    cJSON *look;
    *ret = (struct fleet_look){0};
    if (!has_fleet(config) ||
        !read_json(config, "fleet/looked.json", MAX_LOOKED, &look))
        return;
    const char *problem =
        look ? json_get_text(look, "problem", NULL)
             : "what the last look found could not be written down: the disk "
               "may be full";
    ret->is_reader = true;
    ret->is_fresh = !problem;
    ret->looked = seconds_since(look, "at");
    ret->behind = problem ? seconds_since(look, "since") : 0;
    ret->elsewhere = json_get_int(look, "elsewhere", 0);
    snprintf(ret->problem, sizeof ret->problem, "%s", problem ? problem : "");
    cJSON_Delete(look);
    if (ret->is_fresh && (ret->looked < 0 || ret->looked > max_looked_s)) {
        ret->is_fresh = false;
        ret->behind = ret->looked;
        snprintf(ret->problem, sizeof ret->problem,
                 "what is published was not looked at since (is lectern fleet "
                 "fetch running?)");
    }
}

cJSON *fleet_elsewhere(const struct config *config)
{
    cJSON *names = NULL;
    if (has_fleet(config))
        read_json(config, "fleet/elsewhere.json", MAX_NAMES, &names);
    return names;
}

bool fleet_is_elsewhere(const struct config *config, const char *manual)
{
    cJSON *names = fleet_elsewhere(config);
    bool found = json_has_text(names, manual);
    cJSON_Delete(names);
    return found;
}
