/* Small manuals with words and vectors, and questions to them. */
#ifndef TESTS_UNIT_SUPPORT_ROUTE_FIXTURES_H
#define TESTS_UNIT_SUPPORT_ROUTE_FIXTURES_H

#include "tests/unit/support/unit.h"

#include <math.h>
#include <string.h>

#include "memory/lexical/lexical.h"
#include "memory/routing/route.h"
#include "memory/routing/route_internal.h"
#include "memory/vectors/vectors.h"

/* The question is the first axis; a section's vectors have the cosine that is
 * asked for. */
enum { WIDTH = 4 };
static const float question[WIDTH] = {1, 0, 0, 0};
static const struct hash128 policy = {3, 4};
static const float NONE = -2;

struct section {
    uint32_t parent; /* index in the manual, 0: its root */
    const char *title, *text;
    float whole, own; /* cosine; NONE: no vector */
};

/* Chapters whose memories rank otherwise than their sections' do. */
static const struct section engine[] = {
    {TREE_NONE, "Engine", "", 0.5F, -2},
    {0, "Pumps", "pump pressure oil", 0.1F, 0.05F},
    {1, "Water", "water pump seal", 0.2F, 0.95F},
    {1, "Fuel", "fuel pump filter", 0.1F, 0.1F},
    {0, "Belts", "belt tension", 0.9F, 0.3F},
    {4, "Timing", "timing belt gear", 0.8F, 0.85F},
    {0, "Cooling", "fan and radiator", 0.7F, 0.2F},
    {6, "Radiator", "radiator leak water", 0.6F, 0.8F},
    {0, "Wiring", "fuse relay", 0.6F, 0.1F},
    {8, "Fuses", "fuse box relay", 0.5F, 0.7F},
    {0, "Brakes", "pads and discs", 0.4F, 0.15F},
    {10, "Discs", "disc wear pads", 0.3F, 0.6F},
};
struct house {
    char *folder;
    struct store *store;
    struct library *library;
    struct snapshot *snapshot;
};

/* ---- Making manuals ---- */

static inline void open_house(struct house *house)
{
    house->folder = unit_folder();
    struct store_options options = {.folder = house->folder,
                                    .max_bytes = 64 << 20};
    assert_int_equal(store_open(&options, &house->store, NULL), 0);
    house->library = NULL;
}

/* "term\n  what it means" defines. */
static inline void add_text(struct tree *tree, const char *text)
{
    tree_add_block(tree, 0,
                   strstr(text, "\n  ") ? BLOCK_DEFINITION : BLOCK_PARAGRAPH,
                   slice_of(text), slice_of(""), (struct origin){0, {0, 1}});
}

/* Each section's text, in the file that it stands in. */
static inline void put_texts(const struct house *house, uint32_t manual,
                             const struct section *sections, uint32_t count)
{
    struct store_txn *txn;
    assert_int_equal(store_write(house->store, &txn, NULL), 0);
    for (uint32_t n = 1; n < count; n++) {
        struct tree *tree = tree_new(false);
        struct file file = {.tree = {n, 9}, .failure = mem_strdup("")};
        char path[16];
        snprintf(path, sizeof path, "%04u.html", n);
        file.path = mem_strdup(path);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of(sections[n].title),
                      slice_of(""));
        add_text(tree, sections[n].text);
        assert_int_equal(tree_seal(tree, NULL), 0);
        assert_int_equal(store_put_tree(txn, file.tree, tree, NULL), 0);
        assert_int_equal(store_put_file(txn, manual, &file, NULL), 0);
        tree_free(tree);
        file_free(&file);
    }
    assert_int_equal(store_commit(txn, NULL), 0);
}

static inline void open_snapshot(struct house *house)
{
    assert_int_equal(library_open(house->store, &house->library, NULL), 0);
    house->snapshot = library_snapshot(house->library);
}

static inline void close_house(struct house *house)
{
    snapshot_unref(house->snapshot);
    library_close(house->library);
    store_close(house->store);
    unit_folder_remove(house->folder);
}

/* The section's words into the index; how many they are. */
static inline uint32_t index_section(struct lexical_delta *delta, uint64_t id,
                                     const struct section *section)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of(section->title), slice_of(""));
    if (*section->text)
        add_text(tree, section->text);
    assert_int_equal(tree_seal(tree, NULL), 0);
    uint32_t words = lexical_add(delta, id, &tree->nodes[0]);
    tree_free(tree);
    return words;
}

static inline void put_file(struct store_txn *txn, uint32_t manual,
                            const char *path)
{
    struct file file = {.path = mem_strdup(path), .failure = mem_strdup("")};
    assert_int_equal(store_put_file(txn, manual, &file, NULL), 0);
    file_free(&file);
}

/* Chapters at the top stand in a file each. */
static inline struct tree *make_outline(const struct section *sections,
                                        uint32_t count, uint64_t first_id,
                                        struct lexical_delta *delta,
                                        struct store_txn *txn, uint32_t manual)
{
    struct tree *outline = tree_new(true);
    uint32_t file = 0;
    for (uint32_t n = 0; n < count; n++) {
        tree_add_node(outline, sections[n].parent, 1,
                      slice_of(sections[n].title), slice_of(""));
        if (sections[n].parent == 0) {
            char path[16];
            snprintf(path, sizeof path, "%04u.html", n);
            file = tree_add_file(outline, slice_of(path));
            put_file(txn, manual, path);
        }
        struct node *node = &outline->nodes[n];
        node->id = first_id + n;
        node->words = index_section(delta, node->id, &sections[n]);
        node->source_tree = n ? file : (uint32_t)TREE_NONE;
    }
    assert_int_equal(tree_seal(outline, NULL), 0);
    return outline;
}

static inline uint32_t add_manual(struct house *house, const char *name,
                                  const struct section *sections,
                                  uint32_t count)
{
    static uint64_t ids = 1;
    struct store_txn *txn;
    struct manual manual = {.name = mem_strdup(name),
                            .root = mem_strdup("/r"),
                            .ignore = mem_strdup(""),
                            .lexical = LEXICAL_VERSION,
                            .generation = 1};
    struct lexical_delta *delta = lexical_delta_new();
    assert_int_equal(store_write(house->store, &txn, NULL), 0);
    assert_int_equal(store_take_epoch(txn, &manual.epoch, NULL), 0);
    assert_int_equal(store_put_manual(txn, &manual, NULL), 0);
    struct tree *outline =
        make_outline(sections, count, ids, delta, txn, manual.id);
    ids += count;
    assert_int_equal(store_put_outline(txn, manual.id, 1, outline, NULL), 0);
    assert_int_equal(lexical_apply(txn, manual.id, manual.epoch, delta, NULL),
                     0);
    assert_int_equal(store_commit(txn, NULL), 0);
    uint32_t id = manual.id;
    tree_free(outline);
    lexical_delta_free(delta);
    manual_free(&manual);
    return id;
}

static inline void put_cosine(float *vector, float cosine)
{
    vector[0] = cosine;
    vector[1] = sqrtf(1 - cosine * cosine);
}

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

/* ids of the manual's nodes start here. */
static inline uint64_t first_id(const struct house *house, const char *name)
{
    const struct view *view = snapshot_view(house->snapshot, name);
    return view->outline->nodes[0].id;
}

static inline void refresh(struct house *house)
{
    snapshot_unref(house->snapshot);
    assert_int_equal(library_refresh(house->library, NULL), 0);
    house->snapshot = library_snapshot(house->library);
}

/* ---- Asking ---- */

static inline struct route_request request_of(const char *query, int mode)
{
    return (struct route_request){.query = query,
                                  .mode = mode,
                                  .max = 10,
                                  .vector = question,
                                  .policy = policy,
                                  .explain = true};
}

static inline struct route_result routed(const struct house *house,
                                         const struct route_request *request)
{
    struct route_result result;
    struct err err = {0};
    int code = route_question(house->snapshot, request, &result, &err);
    if (code)
        fail_msg("%s", err.message);
    return result;
}

static inline const char *title_of(const struct view *view, uint32_t node)
{
    return view->outline->nodes[node].title.data;
}

static inline const struct route_hit *hit_of(const struct route_result *result,
                                             const char *title)
{
    for (size_t i = 0; i < result->count; i++)
        if (!strcmp(title_of(result->hits[i].view, result->hits[i].node),
                    title))
            return &result->hits[i];
    return NULL;
}

#endif
