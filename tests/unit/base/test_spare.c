/* Memory that is set aside for when malloc has none. */
#include "tests/unit/support/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/spare.h"

enum { SPARE = 1 << 20, BLOCKS = 200, ROUNDS = 2000, THREADS = 3 };

static atomic_size_t notices;

static void notice(void *context)
{
    atomic_size_t *count = context;
    atomic_fetch_add(count, 1);
}

static int open_spare(void **state)
{
    (void)state;
    spare_on_shortage(notice, &notices);
    return spare_open(SPARE) ? 0 : -1;
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    assert_false(spare_open(SPARE)); /* once */
    assert_int_equal(spare_used(), 0);
    char *all = spare_take(SPARE - 64);
    assert_non_null(all);
    assert_int_equal((uintptr_t)all % 16, 0);
    assert_true(spare_size(all) >= SPARE - 64);
    assert_true(spare_is_low());
    assert_null(spare_take(64));
    memset(all, 7, SPARE - 64);
    assert_true(spare_give(all));
    assert_false(spare_is_low());
    assert_int_equal(spare_used(), 0);
    assert_null(spare_take(SPARE));
    assert_null(spare_take(SIZE_MAX));
}

static void test_of_others(void **state)
{
    (void)state;
    int here = 0;
    char *malloced = mem_strdup("malloc's");
    assert_false(spare_give(&here));
    assert_int_equal(spare_size(malloced), 0);
    free(malloced);
    free(NULL);
}

static void test_aligned(void **state)
{
    (void)state;
    for (size_t alignment = 8; alignment <= 65536; alignment *= 2) {
        char *before = spare_take(40);
        char *at = spare_take_aligned(alignment, 1000);
        char *after = spare_take(40);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % alignment, 0);
        assert_true(spare_size(at) >= 1000 &&
                    spare_size(at) < 1000 + 32 + 2 * alignment);
        memset(at, 1, spare_size(at));
        memset(before, 2, spare_size(before));
        assert_true(spare_give(before));
        assert_true(spare_give(at));
        assert_true(spare_give(after));
        assert_int_equal(spare_used(), 0);
    }
    assert_null(spare_take_aligned((size_t)1 << 62, 1));
}

static void test_notices(void **state)
{
    (void)state;
    size_t before = atomic_load(&notices);
    char *text = spare_take(6);
    assert_int_equal(atomic_load(&notices), before + 1);
    assert_true(spare_give(text));
}

struct block {
    unsigned char *bytes;
    size_t size;
    unsigned char value;
};

static bool end_block(struct block *block)
{
    bool whole = true;
    for (size_t i = 0; i < block->size; i++)
        whole = whole && block->bytes[i] == block->value;
    whole = spare_give(block->bytes) && whole;
    block->bytes = NULL;
    return whole;
}

static void begin_block(struct block *block, uint64_t *dice)
{
    block->size = unit_below(dice, 4096);
    block->value = (unsigned char)unit_below(dice, 256);
    block->bytes = spare_take(block->size);
    if (block->bytes)
        memset(block->bytes, block->value, block->size);
}

/* Random sizes in random order: none overlap.  Returns NULL where all was well. */
static void *take_and_give(void *seed)
{
    struct block blocks[BLOCKS] = {0};
    uint64_t dice = *(const uint64_t *)seed;
    bool whole = true;
    for (int i = 0; i < ROUNDS; i++) {
        struct block *block = &blocks[unit_below(&dice, BLOCKS)];
        if (block->bytes)
            whole = end_block(block) && whole;
        else
            begin_block(block, &dice);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].bytes)
            whole = end_block(&blocks[i]) && whole;
    return whole ? NULL : seed;
}

static void test_many(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS] = {1, 2, 3};
    void *problem;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, take_and_give, &seeds[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
    test_one_at_a_time(state); /* all came back, as one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_at_a_time), cmocka_unit_test(test_of_others),
        cmocka_unit_test(test_aligned), cmocka_unit_test(test_notices),
        cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, open_spare, NULL);
}
