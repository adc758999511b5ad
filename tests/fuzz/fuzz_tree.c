/* Fuzz target: any bytes as an encoded tree.  What is taken for one must come
 * out the same when it is encoded and decoded again. */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tree/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tree_limits limits = {1 << 16, 1 << 18};
    struct tree *tree = NULL;
    struct err err = {.position = -1};
    if (tree_decode_within(data, size, &limits, &tree, &err)) {
        CHECK(!tree);
        return 0;
    }
    CHECK(tree->count && tree->count <= limits.nodes);
    check_coding(tree);
    uint32_t *order = malloc(tree->count * sizeof *order);
    uint32_t *starts =
        malloc((tree->nodes[0].height + (size_t)2) * sizeof *starts);
    tree_by_height(tree, order, starts);
    CHECK(order[tree->count - 1] == 0);
    free(starts);
    free(order);
    for (uint32_t n = 0; n < tree->count; n++) {
        struct buf text = {0};
        tree_node_text(&tree->nodes[n], &text);
        buf_free(&text);
    }
    tree_free(tree);
    return 0;
}
