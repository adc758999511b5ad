/* Of a program that has trapped LMDB in a write: what it held then stays (store_env.c). */
#ifndef TESTS_UNIT_SUPPORT_TRAPPED_H
#define TESTS_UNIT_SUPPORT_TRAPPED_H

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:liblmdb\n";
}

#endif
