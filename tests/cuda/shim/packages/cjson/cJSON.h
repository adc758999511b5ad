/* Stands in for cJSON where there are no packages: what base/json.c and the
 * reader of a model's files use of it, by the same names. */
#ifndef TESTS_CUDA_SHIM_PACKAGES_CJSON_CJSON_H
#define TESTS_CUDA_SHIM_PACKAGES_CJSON_CJSON_H

#include <stddef.h>

enum {
    cJSON_Null,
    cJSON_False,
    cJSON_True,
    cJSON_Number,
    cJSON_String,
    cJSON_Array,
    cJSON_Object
};

typedef struct cJSON {
    struct cJSON *next, *child;
    int type;
    char *valuestring, *string; /* string: the member's name */
    double valuedouble;
    int valueint;
} cJSON;

cJSON *cJSON_ParseWithLengthOpts(const char *text, size_t size,
                                 const char **ret_end, int to_the_end);
void cJSON_Delete(cJSON *item);
cJSON *cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
cJSON *cJSON_GetArrayItem(const cJSON *array, int index);
int cJSON_GetArraySize(const cJSON *array);
char *cJSON_GetStringValue(const cJSON *item);
/* These two are for fingerprints, which nobody asks for here: the text is
 * empty. */
void cJSON_DeleteItemFromObjectCaseSensitive(cJSON *object, const char *name);
char *cJSON_PrintUnformatted(const cJSON *item);
void cJSON_free(void *memory);

static inline int bare_is(const cJSON *item, int type)
{
    return item && item->type == type;
}
#define cJSON_IsNull(item) bare_is(item, cJSON_Null)
#define cJSON_IsTrue(item) bare_is(item, cJSON_True)
#define cJSON_IsBool(item)                                                     \
    (bare_is(item, cJSON_True) || bare_is(item, cJSON_False))
#define cJSON_IsNumber(item) bare_is(item, cJSON_Number)
#define cJSON_IsString(item) bare_is(item, cJSON_String)
#define cJSON_IsArray(item)  bare_is(item, cJSON_Array)
#define cJSON_IsObject(item) bare_is(item, cJSON_Object)
#define cJSON_ArrayForEach(item, array)                                        \
    for (item = (array) ? (array)->child : NULL; item; item = item->next)

#endif
