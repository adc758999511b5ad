/* What a fleet's machine has noted, and a disk that does not give it. */
#include "tests/unit/support/folder.h"

#include <unistd.h>

#include "base/file.h"
#include "cli/fleet/noted.h"

/* The notes are of what is held: taken for none, all that is held would be fetched anew,
 * and they be lost with the next. */
static void notes_that_cannot_be_read_are_an_error(void **state)
{
    struct fleet fleet = {0};
    struct noted noted;
    struct err err = {0};
    struct buf path = {0};
    (void)state;
    buf_put_text(&fleet.folder, own_folder);
    file_join(&path, own_folder, "held.json");
    assert_int_equal(noted_load(&fleet, "held.json", &noted, &err), 0);
    assert_string_equal(noted_get(&noted, "pumps"), "");
    assert_int_equal(noted_put(&noted, "pumps", "sum", &err), 0);
    noted_free(&noted);
    assert_int_equal(noted_load(&fleet, "held.json", &noted, &err), 0);
    assert_string_equal(noted_get(&noted, "pumps"), "sum");
    noted_free(&noted);
    assert_int_equal(file_write(path.data, slice_of("{\"pumps\":"), NULL), 0);
    assert_int_equal(noted_load(&fleet, "held.json", &noted, &err), 0);
    assert_string_equal(noted_get(&noted, "pumps"), "");
    noted_free(&noted);
    unlink(path.data);
    assert_int_equal(symlink(path.data, path.data), 0);
    assert_int_equal(noted_load(&fleet, "held.json", &noted, &err), ERR_IO);
    assert_non_null(strstr(err.message, "held.json"));
    noted_free(&noted);
    buf_free(&path);
    buf_free(&fleet.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(notes_that_cannot_be_read_are_an_error,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("noted", tests, NULL, NULL);
}
