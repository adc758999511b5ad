/* Encoded trees of pages, as inputs for the tree decoder:
 *
 *     encode FOLDER PAGE...
 *
 * They are made anew from the corpus of pages, so that they follow every
 * change of the encoding. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "indexer/parse/html/html.h"
#include "indexer/parser.h"

enum { MAX_BYTES = 64 << 20 };

static int encode(const char *folder, const char *path)
{
    struct buf bytes = {0}, out = {0}, place = {0};
    struct tree *tree = NULL;
    struct err err;
    int rc = file_read(path, MAX_BYTES, &bytes, &err);
    if (!rc && !html_parse(buf_slice(&bytes), PARSER_HTML, &tree, NULL, NULL)) {
        const char *slash = strrchr(path, '/');
        tree_encode(tree, &out);
        file_join(&place, folder, slash ? slash + 1 : path);
        rc = file_write(place.data, buf_slice(&out), &err);
    }
    if (rc)
        fprintf(stderr, "%s: %s\n", path, err.message);
    tree_free(tree);
    buf_free(&bytes);
    buf_free(&out);
    buf_free(&place);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err;
    if (argc < 3 || file_make_folder(argv[1], 0755, &err))
        return 2;
    int failed = 0;
    for (int i = 2; i < argc; i++)
        failed |= encode(argv[1], argv[i]);
    return failed != 0;
}
