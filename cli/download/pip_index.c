#include "cli/download/pip_index.h"

#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

const char pip_index_accept[] =
    "application/vnd.pypi.simple.v1+json, text/html;q=0.1";

/* ---- Settings ---- */

static void set(char **value, const char *text)
{
    free(*value);
    *value = mem_strdup(text);
}

static int on_value(void *user, const char *section, const char *name,
                    const char *value)
{
    struct pip_index *index = user;
    if ((strcmp(section, "global") != 0 && strcmp(section, "download") != 0) ||
        !value[0])
        return 1;
    if (!strcmp(name, "index-url"))
        set(&index->url, value);
    else if (!strcmp(name, "cert"))
        set(&index->cert, value);
    else if (!strcmp(name, "proxy"))
        set(&index->proxy, value);
    return 1;
}

static void read_within(struct pip_index *index, const char *folder,
                        const char *file)
{
    struct buf path = {0};
    if (!folder || !folder[0])
        return;
    file_join(&path, folder, file);
    ini_parse(path.data, on_value, index);
    buf_free(&path);
}

/* All users', the user's, the virtual environment's; a later one goes before. */
static void read_files(struct pip_index *index)
{
    const char *file = getenv("PIP_CONFIG_FILE");
    const char *config = getenv("XDG_CONFIG_HOME");
    struct buf home = {0};
    config_put_path("~/", NULL, &home);
    if (!file || strcmp(file, "/dev/null") != 0) {
        read_within(index, "/etc/xdg/pip", "pip.conf");
        read_within(index, "/etc", "pip.conf");
        read_within(index, home.data, ".pip/pip.conf");
        if (config && config[0])
            read_within(index, config, "pip/pip.conf");
        else
            read_within(index, home.data, ".config/pip/pip.conf");
        read_within(index, getenv("VIRTUAL_ENV"), "pip.conf");
        if (file && file[0])
            ini_parse(file, on_value, index);
    }
    buf_free(&home);
}

static void read_environment(char **value, const char *variable)
{
    const char *text = getenv(variable);
    if (text && text[0])
        set(value, text);
}

void pip_index_find(struct pip_index *ret)
{
    *ret = (struct pip_index){0};
    set(&ret->url, "https://pypi.org/simple");
    read_files(ret);
    read_environment(&ret->url, "PIP_INDEX_URL");
    read_environment(&ret->cert, "PIP_CERT");
    read_environment(&ret->proxy, "PIP_PROXY");
}

void pip_index_free(struct pip_index *index)
{
    free(index->url);
    free(index->cert);
    free(index->proxy);
}

/* ---- Pages ---- */

static int not_there(const char *file, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "the package index has no %s", file);
}

static int find_json(struct slice page, const char *file, struct buf *ret,
                     struct err *err)
{
    cJSON *root = NULL;
    const cJSON *item;
    const char *url = NULL;
    int code = json_parse(page, &root, err);
    if (code)
        return code;
    cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(root, "files"))
        if (!strcmp(json_get_text(item, "filename", ""), file))
            url = json_get_text(item, "url", NULL);
    if (url)
        buf_put_text(ret, url);
    cJSON_Delete(root);
    return url ? 0 : not_there(file, err);
}

/* Without what follows "#" or "?". */
static bool ends_with_file(struct slice url, const char *file)
{
    size_t size = 0, name = strlen(file);
    while (size < url.size && url.data[size] != '#' && url.data[size] != '?')
        size++;
    return size >= name && !memcmp(url.data + size - name, file, name) &&
           (size == name || url.data[size - name - 1] == '/');
}

static int find_html(struct slice page, const char *file, struct buf *ret,
                     struct err *err)
{
    static const char mark[] = "href=\"";
    const char *at = page.data, *end = page.data + page.size;
    while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1))) {
        at += sizeof mark - 1;
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (!quote)
            break;
        struct slice url = {at, (size_t)(quote - at)};
        if (ends_with_file(url, file)) {
            buf_put_slice(ret, url);
            return 0;
        }
    }
    return not_there(file, err);
}

int pip_index_file(struct slice page, const char *file, struct buf *ret,
                   struct err *err)
{
    size_t at = 0;
    while (at < page.size && strchr(" \t\r\n", page.data[at]))
        at++;
    bool json = at < page.size && page.data[at] == '{';
    return json ? find_json(page, file, ret, err)
                : find_html(page, file, ret, err);
}
