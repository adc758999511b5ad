#include "cli/fleet/noted.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MAX_NOTED = 64 << 20 };

int noted_load(const struct fleet *fleet, const char *file, struct noted *ret,
               struct err *err)
{
    struct buf text = {0};
    *ret = (struct noted){0};
    file_join(&ret->path, fleet->folder.data, file);
    int code = file_is_gone(ret->path.data)
                   ? 0
                   : file_read(ret->path.data, MAX_NOTED, &text, err);
    if (!code && (json_parse(buf_slice(&text), &ret->all, NULL) ||
                  !cJSON_IsObject(ret->all))) {
        cJSON_Delete(ret->all);
        ret->all = cJSON_CreateObject();
    }
    buf_free(&text);
    return code;
}

const char *noted_get(const struct noted *noted, const char *name)
{
    return json_get_text(noted->all, name, "");
}

int noted_put(struct noted *noted, const char *name, const char *text,
              struct err *err)
{
    cJSON_DeleteItemFromObjectCaseSensitive(noted->all, name);
    if (text)
        cJSON_AddStringToObject(noted->all, name, text);
    char *all = cJSON_PrintUnformatted(noted->all);
    int code = file_write(noted->path.data, slice_of(all), err);
    free(all);
    return code;
}

void noted_free(struct noted *noted)
{
    cJSON_Delete(noted->all);
    buf_free(&noted->path);
}
