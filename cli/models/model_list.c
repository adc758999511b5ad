#include "cli/models/model_list.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/gguf.h"
#include "base/mem.h"

enum { MAX_CONFIG = 1 << 20 };

static char *family_of(const char *folder)
{
    struct buf path = {0}, text = {0};
    cJSON *config = NULL;
    char *family = NULL;
    file_join(&path, folder, "config.json");
    if (!file_read(path.data, MAX_CONFIG, &text, NULL) &&
        !json_parse(buf_slice(&text), &config, NULL))
        family = mem_strdup(json_get_text(config, "model_type", ""));
    cJSON_Delete(config);
    buf_free(&path);
    buf_free(&text);
    return family;
}

static bool is_weights(const char *name)
{
    size_t size = strlen(name), tail = strlen(".safetensors");
    return !strncmp(name, "model", 5) && size > tail &&
           !strcmp(name + size - tail, ".safetensors");
}

static uint64_t weight_bytes(const char *folder)
{
    struct dirent *entry;
    struct stat st;
    uint64_t bytes = 0;
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir)))
        if (is_weights(entry->d_name) &&
            fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            bytes += (uint64_t)st.st_size;
    if (dir)
        closedir(dir);
    return bytes;
}

/* Of all its files. */
static uint64_t gguf_bytes(const char *path)
{
    struct buf part = {0};
    struct stat st;
    uint64_t bytes = 0;
    for (size_t i = 0; i < gguf_named_parts(path); i++) {
        buf_clear(&part);
        gguf_put_part(path, i, &part);
        bytes += stat(part.data, &st) ? 0 : (uint64_t)st.st_size;
    }
    buf_free(&part);
    return bytes;
}

/* The architecture that a GGUF file says; NULL: it is none. */
static char *gguf_family(const char *path, uint64_t *ret_bytes)
{
    struct gguf *gguf;
    struct slice text;
    char *family = NULL;
    if (gguf_open(path, &gguf, NULL))
        return NULL;
    const struct gguf_value *v = gguf_find(gguf, "general.architecture");
    if (v && gguf_text(v, &text))
        family = mem_strndup(text.data, text.size);
    gguf_close(gguf);
    *ret_bytes = gguf_bytes(path);
    return family;
}

static char *folder_family(const char *folder, uint64_t *ret_bytes)
{
    *ret_bytes = weight_bytes(folder);
    return *ret_bytes ? family_of(folder) : NULL;
}

/* Whether it is a further file of a split model, which opens by its first. */
static bool is_further_part(const char *path)
{
    unsigned no = 0, count = 0;
    size_t size = strlen(path), tail = sizeof "-00001-of-00002.gguf" - 1;
    return size > tail &&
           sscanf(path + size - tail, "-%5u-of-%5u.gguf", &no, &count) == 2 &&
           no > 1;
}

/* The folder or file, if it is a model's and not in the list. */
static void try_folder(struct model_list *list, const char *folder)
{
    char *path = realpath(folder, NULL), *family = NULL;
    uint64_t bytes = 0;
    if (path && !is_further_part(path))
        family = gguf_is_path(path) ? gguf_family(path, &bytes)
                                    : folder_family(path, &bytes);
    for (size_t i = 0; family && i < list->count; i++)
        if (!strcmp(list->models[i].path, path)) {
            free(family);
            family = NULL;
        }
    if (!family) {
        free(path);
        return;
    }
    MEM_RESERVE(list->models, &list->capacity, list->count + 1);
    list->models[list->count++] = (struct listed_model){path, family, bytes};
}

static void each_within(const char *folder, const char *prefix,
                        void (*each)(struct model_list *, const char *),
                        struct model_list *list)
{
    struct dirent *entry;
    struct buf path = {0};
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' ||
            strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        buf_clear(&path);
        file_join(&path, folder, entry->d_name);
        each(list, path.data);
    }
    if (dir)
        closedir(dir);
    buf_free(&path);
}

/* models--OWNER--NAME/snapshots/COMMIT */
static void try_cached(struct model_list *list, const char *folder)
{
    struct buf path = {0};
    file_join(&path, folder, "snapshots");
    each_within(path.data, "", try_folder, list);
    buf_free(&path);
}

static const char *add_place(struct model_list *list, const struct buf *path)
{
    for (size_t i = 0; i < list->places.count; i++)
        if (!strcmp(list->places.items[i], path->data))
            return list->places.items[i];
    MEM_RESERVE(list->places.items, &list->places.capacity,
                list->places.count + 1);
    char *copy = mem_strdup(path->data);
    list->places.items[list->places.count++] = copy;
    return copy;
}

/* The cache's folder as huggingface_hub finds it. */
static void put_cache(struct buf *out)
{
    const char *hub = getenv("HF_HUB_CACHE"), *home = getenv("HF_HOME");
    const char *cache = getenv("XDG_CACHE_HOME");
    if (hub && hub[0]) {
        config_put_path(hub, NULL, out);
        return;
    }
    if (home && home[0])
        config_put_path(home, NULL, out);
    else if (cache && cache[0])
        buf_printf(out, "%s/huggingface", cache);
    else
        config_put_path("~/.cache/huggingface", NULL, out);
    buf_put_text(out, "/hub");
}

static void try_beside(struct model_list *list, const char *folder)
{
    const char *slash = strrchr(folder, '/');
    struct buf place = {0};
    try_folder(list, folder);
    if (!slash || slash == folder)
        return;
    buf_put(&place, folder, (size_t)(slash - folder));
    each_within(add_place(list, &place), "", try_folder, list);
    buf_free(&place);
}

static int compare(const void *a, const void *b)
{
    const struct listed_model *x = a, *y = b;
    return strcmp(x->path, y->path);
}

void model_list_find(const struct config *config, struct model_list *list)
{
    struct buf place = {0};
    *list = (struct model_list){0};
    config_user_folder("XDG_DATA_HOME", ".local/share", &place);
    buf_put_text(&place, "/models");
    each_within(add_place(list, &place), "", try_folder, list);
    buf_clear(&place);
    put_cache(&place);
    each_within(add_place(list, &place), "models--", try_cached, list);
    static void (*const included[])(struct buf *) = {config_default_model,
                                                     config_default_memories};
    for (size_t i = 0; i < 2; i++) {
        buf_clear(&place);
        included[i](&place);
        if (place.size && place.data[0] == '/')
            try_folder(list, place.data);
    }
    for (int role = 0; role < ROLES; role++)
        if (config_model(config, role)[0])
            try_beside(list, config_model(config, role));
    buf_free(&place);
    if (list->count)
        qsort(list->models, list->count, sizeof *list->models, compare);
}

void model_list_free(struct model_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->models[i].path);
        free(list->models[i].family);
    }
    for (size_t i = 0; i < list->places.count; i++) {
        void *text;
        memcpy(&text, &list->places.items[i], sizeof text);
        free(text);
    }
    free(list->models);
    free(list->places.items);
    *list = (struct model_list){0};
}
