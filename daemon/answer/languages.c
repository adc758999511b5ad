#include "daemon/answer/languages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

static bool is_language(const char *code)
{
    static const char codes[] =
        "ar bg ca cs da de el en eo es et eu fa fi fr gl he hi hr hu id it ja "
        "ko lt lv nb nl nn no pl pt ro ru sk sl sr sv ta th tr uk vi zh ";
    const char *at = strstr(codes, (char[]){code[0], code[1], ' ', 0});
    return at && (at - codes) % 3 == 0;
}

/* "de", "pt-br", "zh_Hans" */
static bool names_language(struct slice token)
{
    if (token.size != 2 && (token.size < 5 || token.size > 7 ||
                            (token.data[2] != '-' && token.data[2] != '_')))
        return false;
    for (size_t i = 3; i < token.size; i++)
        if (!isalpha((unsigned char)token.data[i]))
            return false;
    return is_language(token.data);
}

struct slice language_of_path(struct slice path)
{
    struct slice found = {path.data, 0};
    bool after_point = false;
    for (size_t from = 0, to; from < path.size; from = to + 1) {
        to = from;
        while (to < path.size && path.data[to] != '/' && path.data[to] != '.')
            to++;
        struct slice token = {path.data + from, to - from};
        bool folder = to < path.size && path.data[to] == '/';
        if ((folder || after_point) && names_language(token))
            found = token;
        after_point = to < path.size && path.data[to] == '.';
    }
    return found;
}

uint64_t language_path_key(struct slice path)
{
    struct slice language = language_of_path(path);
    size_t before =
        language.size ? (size_t)(language.data - path.data) : path.size;
    size_t after = before + language.size;
    uint64_t parts[] = {hash_bytes64(path.data, before),
                        hash_bytes64(path.data + after, path.size - after)};
    return hash_bytes64(parts, sizeof parts);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Keys of the files in a language, ascending; free with free(). */
static uint64_t *keys_of(const struct tree *outline, struct slice language,
                         size_t *ret_count)
{
    uint64_t *keys = mem_alloc((outline->file_count + 1) * sizeof *keys);
    *ret_count = 0;
    for (uint32_t f = 0; f < outline->file_count; f++)
        if (slice_equal(language_of_path(outline->files[f]), language))
            keys[(*ret_count)++] = language_path_key(outline->files[f]);
    qsort(keys, *ret_count, sizeof *keys, by_size);
    return keys;
}

bool languages_translate(const struct tree *outline, struct slice a,
                         struct slice b, size_t min)
{
    size_t x_count, y_count, both = 0;
    uint64_t *x = keys_of(outline, a, &x_count);
    uint64_t *y = keys_of(outline, b, &y_count);
    for (size_t i = 0, j = 0; i < x_count; i++) {
        while (j < y_count && y[j] < x[i])
            j++;
        both += j < y_count && y[j] == x[i];
    }
    free(x);
    free(y);
    size_t fewer = x_count < y_count ? x_count : y_count;
    return both >= min && 2 * both >= fewer;
}
