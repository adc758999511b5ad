#include "base/url.h"

#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void url_put_decoded(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        int high = -1, low = -1;
        if (text.data[i] == '%' && i + 2 < text.size) {
            high = hex(text.data[i + 1]);
            low = hex(text.data[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            buf_put_byte(out, high << 4 | low);
            i += 2;
        } else {
            buf_put_byte(out, text.data[i]);
        }
    }
    buf_put(out, "", 0);
}

static bool is_plain(unsigned char c, const char *more)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') ||
           (c && strchr(more, c));
}

void url_put_encoded(struct buf *out, struct slice text, const char *plain)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (is_plain(c, plain))
            buf_put_byte(out, c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

static bool leaves(struct slice url)
{
    for (size_t i = 0; i < url.size; i++) {
        if (url.data[i] == ':')
            return true;
        if (strchr("/#?", url.data[i]))
            break;
    }
    return url.size && url.data[0] == '/';
}

static size_t find(struct slice text, const char *any)
{
    size_t at = 0;
    while (at < text.size && !strchr(any, text.data[at]))
        at++;
    return at;
}

/* Takes the last folder off what was put since `start`. */
static void go_up(struct buf *path, size_t start)
{
    size_t size = path->size > start ? path->size - 1 : start;
    while (size > start && path->data[size - 1] != '/')
        size--;
    path->size = size;
}

static void put_path(struct buf *path, size_t start, struct slice link)
{
    for (size_t at = 0; at <= link.size;) {
        size_t from = at;
        while (at < link.size && link.data[at] != '/')
            at++;
        struct slice step = {link.data + from, at - from};
        bool last = at++ == link.size;
        if (slice_is(step, ".."))
            go_up(path, start);
        else if (step.size && !slice_is(step, ".")) {
            url_put_decoded(path, step);
            if (!last)
                buf_put_byte(path, '/');
        }
    }
    buf_put(path, "", 0);
}

bool url_resolve(struct slice base, struct slice url, struct buf *ret_path,
                 struct buf *ret_anchor)
{
    if (leaves(url))
        return false;
    size_t start = ret_path->size, folder = base.size;
    struct slice link = {url.data, find(url, "#?")};
    size_t hash = find(url, "#");
    if (link.size)
        while (folder && base.data[folder - 1] != '/')
            folder--;
    buf_put(ret_path, base.data, folder);
    if (link.size)
        put_path(ret_path, start, link);
    if (hash < url.size)
        url_put_decoded(ret_anchor, (struct slice){url.data + hash + 1,
                                                   url.size - hash - 1});
    return true;
}

void url_other_packing(struct buf *path)
{
    static const char ending[] = ".gz";
    size_t size = sizeof ending - 1;
    if (path->size > size &&
        !memcmp(path->data + path->size - size, ending, size)) {
        path->size -= size;
        path->data[path->size] = '\0';
    } else {
        buf_put_text(path, ending);
    }
}
