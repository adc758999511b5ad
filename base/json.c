#include "base/json.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"

static void value(struct json *json)
{
    if (json->comma)
        buf_put_byte(json->out, ',');
    json->comma = true;
}

void json_begin(struct json *json, char bracket)
{
    value(json);
    buf_put_byte(json->out, bracket);
    json->comma = false;
}

void json_end(struct json *json, char bracket)
{
    buf_put_byte(json->out, bracket);
    json->comma = true;
}

static void quoted(struct buf *out, struct slice text)
{
    static const char hex[] = "0123456789abcdef";
    buf_put_byte(out, '"');
    size_t from = 0, at = 0;
    while (at < text.size) {
        unsigned char c = (unsigned char)text.data[at];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            at++;
            continue;
        }
        size_t step = 1;
        if (c >= 0x80 &&
            (text_decode(text.data, text.size, at, &step) != 0xFFFD ||
             step > 1)) {
            at += step;
            continue;
        }
        buf_put(out, text.data + from, at - from);
        from = ++at;
        if (c == '"' || c == '\\') {
            buf_put_byte(out, '\\');
            buf_put_byte(out, c);
        } else if (c == '\n') {
            buf_put_text(out, "\\n");
        } else if (c == '\t') {
            buf_put_text(out, "\\t");
        } else if (c < 0x20) {
            buf_put_text(out, "\\u00");
            buf_put_byte(out, hex[c >> 4]);
            buf_put_byte(out, hex[c & 15]);
        } else {
            buf_put_text(out, "\xEF\xBF\xBD");
        }
    }
    buf_put(out, text.data + from, at - from);
    buf_put_byte(out, '"');
}

void json_key(struct json *json, const char *key)
{
    value(json);
    quoted(json->out, slice_of(key));
    buf_put_byte(json->out, ':');
    json->comma = false;
}

void json_string(struct json *json, struct slice text)
{
    value(json);
    quoted(json->out, text);
}

void json_text(struct json *json, const char *text)
{
    if (text)
        json_string(json, slice_of(text));
    else
        json_null(json);
}

void json_int(struct json *json, int64_t number)
{
    value(json);
    buf_printf(json->out, "%lld", (long long)number);
}

void json_double(struct json *json, double number, int decimals)
{
    value(json);
    if (isfinite(number))
        buf_printf(json->out, "%.*f", decimals, number);
    else
        buf_put_text(json->out, "null");
}

void json_bool(struct json *json, bool truth)
{
    value(json);
    buf_put_text(json->out, truth ? "true" : "false");
}

void json_null(struct json *json)
{
    value(json);
    buf_put_text(json->out, "null");
}

void json_raw(struct json *json, struct slice raw)
{
    value(json);
    buf_put_slice(json->out, raw);
}

void json_field_string(struct json *json, const char *key, struct slice text)
{
    json_key(json, key);
    json_string(json, text);
}

void json_field_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_text(json, text);
}

void json_field_int(struct json *json, const char *key, int64_t number)
{
    json_key(json, key);
    json_int(json, number);
}

void json_field_double(struct json *json, const char *key, double number,
                       int decimals)
{
    json_key(json, key);
    json_double(json, number, decimals);
}

void json_field_bool(struct json *json, const char *key, bool truth)
{
    json_key(json, key);
    json_bool(json, truth);
}

void json_field_null(struct json *json, const char *key)
{
    json_key(json, key);
    json_null(json);
}

/* Brackets outside strings, counted before cJSON recurses over them. */
static int check_depth(struct slice text, struct err *err)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_MAX_DEPTH)
                return err_set(err, ERR_LIMIT,
                               "JSON nested deeper than %d levels",
                               JSON_MAX_DEPTH);
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return 0;
}

int json_parse(struct slice text, cJSON **ret_value, struct err *err)
{
    int code = check_depth(text, err);
    if (code)
        return code;
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text.data, text.size, &end, 0);
    size_t used = end ? (size_t)(end - text.data) : 0;
    if (root)
        while (used < text.size && text_space(text.data, text.size, used))
            used++;
    if (!root || used < text.size) {
        cJSON_Delete(root);
        code = err_set(err, ERR_FORMAT, "not a JSON value at byte %zu", used);
        if (err)
            err->position = (int64_t)used;
        return code;
    }
    *ret_value = root;
    return 0;
}

/* A backslash outside of strings is no JSON. */
int json_check_texts(struct slice text, struct err *err)
{
    static const char escaped[] = {'u', '0', '0', '0', '0'};
    for (size_t i = 0; i < text.size; i++) {
        bool escape = text.data[i] == '\\';
        bool zero = escape && text.size - i > sizeof escaped &&
                    !memcmp(text.data + i + 1, escaped, sizeof escaped);
        if (zero || !text.data[i])
            return err_set(err, ERR_USAGE,
                           "a text has the character 0 in it, at byte %zu", i);
        i += escape; /* what is escaped begins no escape */
    }
    return 0;
}

const char *json_get_text(const cJSON *object, const char *key,
                          const char *absent)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : absent;
}

int64_t json_get_int(const cJSON *object, const char *key, int64_t absent)
{
    double number = json_get_double(object, key, NAN);
    return fabs(number) < 9007199254740992.0 ? (int64_t)number : absent;
}

double json_get_double(const cJSON *object, const char *key, double absent)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : absent;
}

bool json_get_bool(const cJSON *object, const char *key, bool absent)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : absent;
}

bool json_has_text(const cJSON *array, const char *text)
{
    const cJSON *one;
    cJSON_ArrayForEach (one, array)
        if (cJSON_IsString(one) && !strcmp(one->valuestring, text))
            return true;
    return false;
}
