/* A reader of JSON for our own test files; base/json.c has checked the depth. */
#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end;
};

static void space(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

static bool take(struct reader *r, const char *word)
{
    size_t size = strlen(word);
    bool found = (size_t)(r->end - r->at) >= size && !memcmp(r->at, word, size);
    r->at += found ? size : 0;
    return found;
}

/* Escapes of more than ASCII do not occur in these files. */
static char *text(struct reader *r)
{
    if (!take(r, "\""))
        return NULL;
    char *out = malloc((size_t)(r->end - r->at) + 1), *to = out;
    while (out && r->at < r->end && *r->at != '"') {
        char c = *r->at++;
        if (c == '\\' && r->at < r->end) {
            c = *r->at++;
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
            if (c == 'u' && r->end - r->at >= 4) {
                char hex[5] = {r->at[0], r->at[1], r->at[2], r->at[3], '\0'};
                c = (char)strtol(hex, NULL, 16);
                r->at += 4;
            }
        }
        *to++ = c;
    }
    if (!out || !take(r, "\"")) {
        free(out);
        return NULL;
    }
    *to = '\0';
    return out;
}

static cJSON *value(struct reader *r);

/* The members up to `close`. */
static bool members(struct reader *r, cJSON *item, const char *close)
{
    cJSON **last = &item->child;
    space(r);
    if (take(r, close))
        return true;
    do {
        char *name = NULL;
        space(r);
        if (item->type == cJSON_Object) {
            name = text(r);
            space(r);
            if (!name || !take(r, ":")) {
                free(name);
                return false;
            }
        }
        *last = value(r);
        if (!*last) {
            free(name);
            return false;
        }
        (*last)->string = name;
        last = &(*last)->next;
        space(r);
    } while (take(r, ","));
    return take(r, close);
}

static bool number(struct reader *r, cJSON *item)
{
    char copy[64] = {0}, *end;
    size_t size = (size_t)(r->end - r->at);
    memcpy(copy, r->at, size < 63 ? size : 63);
    item->type = cJSON_Number;
    item->valuedouble = strtod(copy, &end);
    if (item->valuedouble > -2e9 && item->valuedouble < 2e9)
        item->valueint = (int)item->valuedouble;
    r->at += end - copy;
    return end != copy;
}

static bool read_into(struct reader *r, cJSON *item)
{
    if (take(r, "{"))
        return item->type = cJSON_Object, members(r, item, "}");
    if (take(r, "["))
        return item->type = cJSON_Array, members(r, item, "]");
    if (take(r, "true"))
        return item->type = cJSON_True, true;
    if (take(r, "false"))
        return item->type = cJSON_False, true;
    if (take(r, "null"))
        return item->type = cJSON_Null, true;
    if (r->at < r->end && *r->at == '"') {
        item->type = cJSON_String;
        item->valuestring = text(r);
        return item->valuestring != NULL;
    }
    return number(r, item);
}

static cJSON *value(struct reader *r)
{
    cJSON *item = calloc(1, sizeof *item);
    space(r);
    if (item && read_into(r, item))
        return item;
    cJSON_Delete(item);
    return NULL;
}

cJSON *cJSON_ParseWithLengthOpts(const char *from, size_t size,
                                 const char **ret_end, int to_the_end)
{
    (void)to_the_end;
    struct reader r = {from, from + size};
    cJSON *item = value(&r);
    *ret_end = r.at;
    return item;
}

void cJSON_Delete(cJSON *item)
{
    for (cJSON *next; item; item = next) {
        next = item->next;
        cJSON_Delete(item->child);
        free(item->valuestring);
        free(item->string);
        free(item);
    }
}

cJSON *cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name)
{
    for (cJSON *item = object ? object->child : NULL; item; item = item->next)
        if (item->string && !strcmp(item->string, name))
            return item;
    return NULL;
}

cJSON *cJSON_GetArrayItem(const cJSON *array, int index)
{
    cJSON *item = array ? array->child : NULL;
    while (item && index-- > 0)
        item = item->next;
    return item;
}

int cJSON_GetArraySize(const cJSON *array)
{
    int count = 0;
    for (cJSON *item = array ? array->child : NULL; item; item = item->next)
        count++;
    return count;
}

char *cJSON_GetStringValue(const cJSON *item)
{
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

void cJSON_DeleteItemFromObjectCaseSensitive(cJSON *object, const char *name)
{
    (void)object;
    (void)name;
}

char *cJSON_PrintUnformatted(const cJSON *item)
{
    (void)item;
    return calloc(1, 1);
}

void cJSON_free(void *memory)
{
    free(memory);
}
