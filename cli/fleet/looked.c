#include "cli/fleet/looked.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { MAX_LOOKED = 1 << 16, MAX_NAMES = 64 << 20 };

void looked_load(struct fleet *fleet, struct looked *ret)
{
    struct buf text = {0};
    cJSON *value = NULL;
    *ret = (struct looked){0};
    file_join(&ret->path, fleet->folder.data, "looked.json");
    if (!file_read(ret->path.data, MAX_LOOKED, &text, NULL) &&
        !json_parse(buf_slice(&text), &value, NULL)) {
        ret->at = json_get_int(value, "at", 0);
        ret->since = json_get_int(value, "since", 0);
        ret->elsewhere = json_get_int(value, "elsewhere", 0);
    }
    cJSON_Delete(value);
    buf_free(&text);
}

void looked_free(struct looked *looked)
{
    buf_free(&looked->path);
    buf_free(&looked->written);
}

/* On a full disk an empty file says that what it said is not so any more. */
static void write_down(const char *path, struct slice text)
{
    if (file_write(path, text, NULL) && truncate(path, 0))
        unlink(path);
}

void looked_note_elsewhere(struct looked *looked, const cJSON *names)
{
    struct buf path = {0}, before = {0};
    char *text = cJSON_PrintUnformatted(names);
    buf_put(&path, looked->path.data,
            looked->path.size - strlen("looked.json"));
    buf_put_text(&path, "elsewhere.json");
    looked->elsewhere = cJSON_GetArraySize(names);
    if (file_read(path.data, MAX_NAMES, &before, NULL) ||
        !slice_is(buf_slice(&before), text))
        write_down(path.data, slice_of(text));
    free(text);
    buf_free(&before);
    buf_free(&path);
}

void looked_note(struct looked *looked, bool answered, const char *problem)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    int64_t now = time(NULL);
    if (problem && !looked->since)
        looked->since = looked->at ? looked->at : now;
    else if (!problem)
        looked->since = 0;
    if (answered)
        looked->at = now;
    json_begin(&json, '{');
    json_field_int(&json, "at", looked->at);
    json_field_int(&json, "elsewhere", looked->elsewhere);
    if (problem) {
        json_field_int(&json, "since", looked->since);
        json_field_text(&json, "problem", problem);
    }
    json_end(&json, '}');
    if (!looked->written.data || strcmp(out.data, looked->written.data) != 0)
        write_down(looked->path.data, buf_slice(&out));
    buf_free(&looked->written);
    looked->written = out;
}
