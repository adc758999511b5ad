/* What the tests of the store share: one in a folder of the test's own. */
#ifndef TESTS_UNIT_SUPPORT_STORES_H
#define TESTS_UNIT_SUPPORT_STORES_H

#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/mem.h"
#include "memory/store/store.h"

static inline struct store *open_store(const char *folder)
{
    struct err err = {0};
    struct store *store = NULL;
    struct store_options options = {.folder = folder, .max_bytes = 64 << 20};
    if (store_open(&options, &store, &err))
        fail_msg("%s", err.message);
    return store;
}

static inline void put_manual(struct store *store, const char *name,
                              uint64_t generation, uint32_t epoch,
                              uint32_t *ret_id)
{
    struct store_txn *txn;
    struct manual manual = {.name = mem_strdup(name),
                            .root = mem_strdup("/r"),
                            .ignore = mem_strdup(""),
                            .id = *ret_id,
                            .generation = generation,
                            .epoch = epoch};
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_manual(txn, &manual, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    *ret_id = manual.id;
    manual_free(&manual);
}

static inline uint64_t vectors_of(struct store *store, uint32_t id)
{
    struct store_txn *txn;
    struct manual manual;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_get_manual(txn, id, &manual, NULL), 0);
    store_end(txn);
    manual_free(&manual);
    return manual.vectors;
}

static inline void put_vectors(struct store *store, uint32_t id,
                               struct slice bytes)
{
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_vectors(txn, id, bytes, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
}

#endif
