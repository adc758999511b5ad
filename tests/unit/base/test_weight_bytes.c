/* Files of weights: those that are mapped, and those that are read. */
#include "tests/unit/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/weight_bytes.h"

enum {
    SMALL = 1 << 16,
    LARGE = (256 << 20) + 4096, /* more than is read; all of it a hole but: */
    USED = 16 << 20,
    EACH = 4096
};

static char folder[256], path[300];

static void write_file(off_t size)
{
    static const char mark[] = "marked";
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(pwrite(fd, mark, sizeof mark, SMALL / 2), sizeof mark);
    assert_int_equal(close(fd), 0);
}

/* Bytes of this process that are in memory. */
static size_t resident(void)
{
    size_t total, pages;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &total, &pages), 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int sum_of(struct slice bytes)
{
    int sum = 0;
    for (size_t i = 0; i < bytes.size && i < USED; i += EACH)
        sum += bytes.data[i];
    return sum;
}

static void what_is_let_go_comes_back(void **state)
{
    struct slice bytes;
    (void)state;
    write_file(LARGE);
    assert_int_equal(weight_bytes_open(path, &bytes, NULL), 0);
    assert_int_equal(bytes.size, LARGE);
    assert_int_equal(sum_of(bytes), 'm');
    size_t before = resident();
    weight_bytes_let_go(bytes);
    assert_true(resident() + USED / 2 < before);
    assert_string_equal(bytes.data + SMALL / 2, "marked");
    weight_bytes_close(bytes);
}

static void what_was_read_stays(void **state)
{
    struct slice bytes;
    (void)state;
    write_file(SMALL);
    assert_int_equal(weight_bytes_open(path, &bytes, NULL), 0);
    assert_int_equal(truncate(path, 0), 0);
    weight_bytes_let_go(bytes);
    assert_string_equal(bytes.data + SMALL / 2, "marked");
    weight_bytes_close(bytes);
    weight_bytes_let_go((struct slice){NULL, 0});
}

static int make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", unit_folder());
    snprintf(path, sizeof path, "%s/weights", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unit_folder_remove(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_let_go_comes_back, make, end),
        cmocka_unit_test_setup_teardown(what_was_read_stays, make, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
