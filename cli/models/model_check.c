/* A model's folder, or GGUF file, looked at without the model's own code. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/gguf.h"
#include "base/safetensors.h"
#include "cli/cli.h"

enum { MAX_JSON = 64 << 20 };

static bool is_there(const char *folder, const char *name, struct buf *path)
{
    struct stat st;
    buf_clear(path);
    file_join(path, folder, name);
    return stat(path->data, &st) == 0;
}

static int check_json(const char *folder, const char *name, struct buf *path,
                      struct err *err)
{
    struct buf text = {0};
    cJSON *value = NULL;
    buf_clear(path);
    file_join(path, folder, name);
    int code = file_read(path->data, MAX_JSON, &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &value, err);
    cJSON_Delete(value);
    buf_free(&text);
    return code;
}

static int check_weights(const char *folder, struct buf *path, struct err *err)
{
    struct safetensors *file;
    if (is_there(folder, "model.safetensors.index.json", path))
        return check_json(folder, "model.safetensors.index.json", path, err);
    buf_clear(path);
    file_join(path, folder, "model.safetensors");
    int code = safetensors_open(path->data, &file, err);
    if (!code)
        safetensors_close(file);
    return code;
}

static int check_folder(const char *folder, struct buf *path, struct err *err)
{
    int code = check_json(folder, "config.json", path, err);
    if (!code)
        code = check_json(folder, "tokenizer.json", path, err);
    return code ? code : check_weights(folder, path, err);
}

static int check_gguf(const char *file, struct buf *path, struct err *err)
{
    struct gguf *gguf;
    buf_put_text(path, file);
    int code = gguf_open(file, &gguf, err);
    if (!code)
        gguf_close(gguf);
    return code;
}

int cli_check_model(const char *folder, struct buf *detail)
{
    struct buf path = {0};
    struct err err = {.position = -1};
    buf_put_text(detail, folder);
    int code = gguf_is_path(folder) ? check_gguf(folder, &path, &err)
                                    : check_folder(folder, &path, &err);
    if (code) {
        buf_clear(detail);
        if (!strstr(err.message, path.data))
            buf_printf(detail, "%s: ", path.data);
        buf_put_text(detail, err.message);
    }
    buf_free(&path);
    return code ? ERR_MODEL : 0;
}
