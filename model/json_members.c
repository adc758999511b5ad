#include "model/json_members.h"

#include <math.h>

const cJSON *member_find(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

int member_not(struct err *err, const char *name, const char *what)
{
    return err_set(err, ERR_FORMAT, "\"%s\" is not %s", name, what);
}

int member_size(const cJSON *object, const char *name, int64_t min, int64_t max,
                int64_t absent, size_t *ret, struct err *err)
{
    const cJSON *item = member_find(object, name);
    if (!item && absent < 0)
        return err_set(err, ERR_FORMAT, "\"%s\" is missing", name);
    double value = item ? -1 : (double)absent;
    if (cJSON_IsNumber(item))
        value = item->valuedouble;
    if (!(value >= (double)min && value <= (double)max) ||
        floor(value) != value)
        return err_set(err, ERR_FORMAT,
                       "\"%s\" is not a whole number from %lld to %lld", name,
                       (long long)min, (long long)max);
    *ret = (size_t)value;
    return 0;
}

int member_bool(const cJSON *object, const char *name, bool *ret,
                struct err *err)
{
    const cJSON *item = member_find(object, name);
    if (item && !cJSON_IsBool(item))
        return member_not(err, name, "true or false");
    *ret = item ? cJSON_IsTrue(item) : *ret;
    return 0;
}

int member_text(const cJSON *object, const char *name, const char **ret,
                struct err *err)
{
    const cJSON *item = member_find(object, name);
    if (item && !cJSON_IsString(item))
        return member_not(err, name, "a text");
    *ret = item ? item->valuestring : *ret;
    return 0;
}

int member_number(const cJSON *object, const char *name, double *ret,
                  struct err *err)
{
    const cJSON *item = member_find(object, name);
    if (item && !cJSON_IsNumber(item))
        return member_not(err, name, "a number");
    *ret = item ? item->valuedouble : *ret;
    return 0;
}
