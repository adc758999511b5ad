#include "cli/output/emphasis.h"

#include <string.h>

#include "base/text.h"
#include "cli/output/address.h"
#include "cli/output/output.h"

enum { MAX_ENDING = 4 /* letters that a word has beyond its stem */ };

static const char bold[] = "\033[1m", not_bold[] = "\033[22m";

/* ---- Words ---- */

static bool is_word_byte(unsigned char byte)
{
    return byte >= 0x80 || byte == '_' || text_is_letter(byte) ||
           (byte >= '0' && byte <= '9');
}

/* Does the word, in lower case, begin as the stem does?  "queri" is of "query". */
static bool has_stem(struct slice word, const char *stem)
{
    size_t size = strlen(stem += stem[0] == '=');
    if (!size || word.size < size || word.size > size + MAX_ENDING ||
        memcmp(word.data, stem, size - 1) != 0)
        return false;
    char last = word.data[size - 1];
    return last == stem[size - 1] || (stem[size - 1] == 'i' && last == 'y');
}

static bool is_asked(struct slice word, const cJSON *terms)
{
    const cJSON *term;
    struct buf folded = {0};
    bool asked = false;
    text_fold_compare(&folded, word);
    cJSON_ArrayForEach (term, terms)
        if (!asked && cJSON_IsString(term))
            asked = has_stem(buf_slice(&folded), term->valuestring);
    buf_free(&folded);
    return asked;
}

void emphasis_put_words(const struct cli *cli, struct buf *out,
                        const char *text, const cJSON *result)
{
    const cJSON *terms = cJSON_GetObjectItemCaseSensitive(result, "terms");
    if (!cli->color || !cJSON_GetArraySize(terms)) {
        buf_put_text(out, text);
        return;
    }
    for (size_t size; *text; text += size) {
        size = 0;
        while (is_word_byte((unsigned char)text[size]))
            size++;
        struct slice word = {text, size ? size : 1};
        bool asked = size && is_asked(word, terms);
        size = word.size;
        buf_put_text(out, asked ? bold : "");
        buf_put_slice(out, word);
        buf_put_text(out, asked ? not_bold : "");
    }
}

void emphasis_end(struct buf *out, size_t start)
{
    bool open = false;
    for (size_t at = start; at < out->size; at++) {
        struct slice rest = {out->data + at, out->size - at};
        if (slice_starts(rest, slice_of(bold)) ||
            slice_starts(rest, slice_of(not_bold)))
            open = slice_starts(rest, slice_of(bold));
    }
    buf_put_text(out, open ? not_bold : "");
}

/* ---- Places ---- */

/* The folder of a manual; NULL: the daemon does not say. */
static const char *root_of(struct cli *cli, const char *name)
{
    const cJSON *manual;
    if (!cli->manuals)
        cli_call_parsed(cli, "ls", slice_of("{}"), &cli->manuals, NULL);
    cJSON_ArrayForEach (
        manual, cJSON_GetObjectItemCaseSensitive(cli->manuals, "manuals"))
        if (!strcmp(json_get_text(manual, "name", ""), name))
            return json_get_text(manual, "root", NULL);
    return NULL;
}

/* Nothing finds a place within a source by its address. */
static bool is_source(const char *file)
{
    static const char *const endings[] = {".tex", ".ltx", ".latex", ".dtx"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (slice_ends(slice_of(file), slice_of(endings[i])))
            return true;
    return false;
}

void emphasis_put_place(struct cli *cli, struct buf *out, const cJSON *object)
{
    const char *file = json_get_text(object, "file", "");
    /* Browsers do not show what is packed. */
    bool packed = slice_ends(slice_of(file), slice_of(".gz"));
    bool linked = cli->color && file[0] && !packed;
    const char *root =
        linked ? root_of(cli, json_get_text(object, "manual", "")) : NULL;
    if (root && !root[0]) /* its files are not here */
        root = NULL;
    if (root) {
        struct buf path = {0};
        buf_printf(&path, "%s/%s", root, file);
        buf_put_text(out, "\033]8;;");
        address_put_url(out, path.data,
                        is_source(file) ? NULL
                                        : json_get_text(object, "anchor", NULL),
                        NULL);
        buf_put_text(out, "\033\\");
        buf_free(&path);
    }
    output_put_place(out, object);
    if (root)
        buf_put_text(out, "\033]8;;\033\\");
}
