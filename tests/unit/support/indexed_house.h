/* What the tests of verify and of failing calls share: three pages that are indexed as they
 * are, with memories by the toy. */
#ifndef TESTS_UNIT_SUPPORT_INDEXED_HOUSE_H
#define TESTS_UNIT_SUPPORT_INDEXED_HOUSE_H

#include "tests/unit/support/toy.h"
#include "tests/unit/support/unit.h"

#include <sys/stat.h>
#include <utime.h>

#include "base/file.h"
#include "indexer/index.h"
#include "indexer/source.h"
#include "memory/embeddings/memories.h"
#include "memory/snapshot/library.h"
#include "memory/store/store.h"

static const struct memory_policy policy = {.aggregate = AGGREGATE_MEAN,
                                            .recall = RECALL_AGGREGATE,
                                            .segment_tokens = 8};

struct house {
    char folder[256], root[300];
    struct store *store;
    struct library *library;
    struct toy toy;
    uint32_t manual;
};

static inline void write_page(const struct house *h, const char *name,
                              const char *title, const char *text)
{
    char path[400];
    struct buf page = {0};
    struct utimbuf long_ago = {1600000000, 1600000000};
    snprintf(path, sizeof path, "%s/%s", h->root, name);
    buf_printf(&page,
               "<html><head><title>%s</title></head><body><h1>%s</h1>"
               "<p>%s</p><h2>Details of %s</h2><p>More of %s, with many words "
               "in two sentences.  Here is the second of them.</p>"
               "</body></html>",
               title, title, text, title, text);
    assert_int_equal(file_write(path, buf_slice(&page), NULL), 0);
    assert_int_equal(utime(path, &long_ago), 0);
    buf_free(&page);
}

static inline void update(struct house *h, bool force)
{
    const char *program = getenv("LECTERN_PARSE");
    struct index_options options = {
        .parser = {.program =
                       program ? program : "build/release/lectern-parse"},
        .force = force};
    struct index_report report;
    struct memories_report memories;
    struct err err = {0};
    if (index_update(h->store, h->manual, &options, NULL, NULL, NULL, &report,
                     &err))
        fail_msg("%s", err.message);
    assert_int_equal(library_refresh(h->library, NULL), 0);
    struct snapshot *snapshot = library_snapshot(h->library);
    if (memories_update(snapshot, snapshot_view(snapshot, "m"),
                        &h->toy.embedder, &policy, NULL, NULL, NULL, NULL,
                        &memories, &err))
        fail_msg("%s", err.message);
    snapshot_unref(snapshot);
    assert_int_equal(library_refresh(h->library, NULL), 0);
}

static inline int open_with(void **state, bool recalls)
{
    struct house *h = mem_alloc(sizeof *h);
    struct manual manual;
    struct err err = {0};
    snprintf(h->folder, sizeof h->folder, "%s", unit_folder());
    snprintf(h->root, sizeof h->root, "%s/manual", h->folder);
    struct buf store = {0};
    file_join(&store, h->folder, "store");
    struct store_options options = {.folder = store.data,
                                    .max_bytes = 64 << 20};
    assert_int_equal(mkdir(h->root, 0700), 0);
    write_page(h, "a.html", "Apples", "red apples and green ones");
    write_page(h, "b.html", "Bears", "brown bears sleep in winter");
    write_page(h, "c.html", "Cars", "fast cars need good brakes");
    assert_int_equal(store_open(&options, &h->store, NULL), 0);
    buf_free(&store);
    assert_int_equal(library_open(h->store, &h->library, NULL), 0);
    const struct registering asked = {.folder = {.path = h->root}, .name = "m"};
    if (index_register(h->store, &asked, &manual, &err))
        fail_msg("%s", err.message);
    h->manual = manual.id;
    manual_free(&manual);
    toy_open(&h->toy, recalls);
    update(h, false);
    *state = h;
    return 0;
}

static inline int open_house(void **state)
{
    return open_with(state, true);
}

static inline int open_simple_house(void **state)
{
    return open_with(state, false);
}

static inline int close_house(void **state)
{
    struct house *h = *state;
    library_close(h->library);
    store_close(h->store);
    unit_folder_remove(h->folder);
    free(h);
    return 0;
}

#endif
