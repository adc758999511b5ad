/* A folder of each test's own: cmocka_unit_test_setup_teardown(test, make_folder,
 * remove_folder). */
#ifndef TESTS_UNIT_SUPPORT_FOLDER_H
#define TESTS_UNIT_SUPPORT_FOLDER_H

#include <stdio.h>

#include "tests/unit/support/unit.h"

static char own_folder[256];

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(own_folder, sizeof own_folder, "%s", unit_folder());
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    unit_folder_remove(own_folder);
    return 0;
}

static inline const char *in_folder(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", own_folder, name);
    return path;
}

#endif
