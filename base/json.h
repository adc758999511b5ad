/* JSON out and in.
 *
 * Out: a writer that appends to a buffer and puts the commas itself:
 *     json_begin(&w, '{'); json_key(&w, "n"); json_int(&w, 3); json_end(&w, '}');
 * or, in an object, json_field_int(&w, "n", 3).
 * In: cJSON's tree, after a check of depth and size (cJSON recurses). */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct json {
    struct buf *out;
    bool comma; /* the next value needs one before it */
};

static inline struct json json_to(struct buf *out)
{
    return (struct json){out, false};
}
void json_begin(struct json *json, char bracket); /* '{' or '[' */
void json_end(struct json *json, char bracket);   /* '}' or ']' */
void json_key(struct json *json, const char *key);
void json_string(struct json *json, struct slice text);
/* bytes that are not UTF-8 come out as U+FFFD */
void json_text(struct json *json, const char *text); /* NULL: null */
void json_int(struct json *json, int64_t number);
void json_double(struct json *json, double number, int decimals);
/* not finite: null */
void json_bool(struct json *json, bool truth);
void json_null(struct json *json);
void json_raw(struct json *json, struct slice raw); /* one value, as it is */

void json_field_string(struct json *json, const char *key, struct slice text);
void json_field_text(struct json *json, const char *key, const char *text);
void json_field_int(struct json *json, const char *key, int64_t number);
void json_field_double(struct json *json, const char *key, double number,
                       int decimals);
void json_field_bool(struct json *json, const char *key, bool truth);
void json_field_null(struct json *json, const char *key);

enum { JSON_MAX_DEPTH = 64 };

/* Parses one JSON value; the caller frees *ret_value with cJSON_Delete. */
int json_parse(struct slice text, cJSON **ret_value, struct err *err);

/* Of JSON that was parsed: refuses a text with the character 0 in it, of which only what
 * stands before that is in the value. */
int json_check_texts(struct slice text, struct err *err);

/* Members of an object, with a default when absent or of another type. */
const char *json_get_text(const cJSON *object, const char *key,
                          const char *absent);
int64_t json_get_int(const cJSON *object, const char *key, int64_t absent);
double json_get_double(const cJSON *object, const char *key, double absent);
bool json_get_bool(const cJSON *object, const char *key, bool absent);

/* Whether one of an array's items is this text; NULL: it has none. */
bool json_has_text(const cJSON *array, const char *text);

#endif
