#include "base/reader_list.h"

#include <string.h>

static const char name_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

static int read_place(struct slice word, struct reader_place *ret,
                      struct err *err)
{
    size_t size = strspn(word.data, name_letters);
    if (!size || size >= word.size || size >= READER_NAME ||
        word.data[size] != '=' || word.data[size + 1] != '/')
        return err_set(err, ERR_USAGE,
                       "fleet_readers: '%.*s' is not NAME=PATH, with a name of "
                       "letters, digits, _ and -, and the absolute path of a "
                       "socket",
                       (int)word.size, word.data);
    *ret = (struct reader_place){{word.data, size},
                                 {word.data + size + 1, word.size - size - 1}};
    return 0;
}

static bool has_name(const struct reader_place *places, size_t count,
                     struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (slice_equal(places[i].name, name))
            return true;
    return false;
}

int reader_list_read(const char *text, struct reader_place ret[READER_LIST_MAX],
                     size_t *ret_count, struct err *err)
{
    size_t count = 0;
    for (const char *at = text; *(at += strspn(at, " ,"));) {
        struct slice word = {at, strcspn(at, " ,")};
        struct reader_place place;
        int code = read_place(word, &place, err);
        if (code)
            return code;
        if (count == READER_LIST_MAX || has_name(ret, count, place.name))
            return err_set(err, ERR_USAGE,
                           "fleet_readers: %.*s stands twice, or there are "
                           "more than %d",
                           (int)place.name.size, place.name.data,
                           READER_LIST_MAX);
        ret[count++] = place;
        at += word.size;
    }
    *ret_count = count;
    return 0;
}
