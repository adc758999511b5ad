/* Which files tell that a model has changed. */
#include "tests/unit/support/folder.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "daemon/engine/engine_folder.h"

static void the_files_of_a_model_are_looked_at(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool read;
    } files[] = {{"config.json", true},
                 {"tokenizer.json", true},
                 {"tokenizer_config.json", true},
                 {"chat_template.jinja", true},
                 {"model-00001-of-00002.safetensors", true},
                 {"weights.safetensors", true},
                 {"1_Pooling/config.json", true},
                 {"README.md", false},
                 {".cache/config.json", false}};
    assert_int_equal(mkdir(in_folder("1_Pooling"), 0700), 0);
    assert_int_equal(mkdir(in_folder(".cache"), 0700), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        for (int change = 0; change < 2; change++) {
            struct folder_look before = folder_look(own_folder);
            struct slice text = slice_of(change ? "other" : "some");
            assert_int_equal(file_write(in_folder(files[i].name), text, NULL),
                             0);
            assert_true(
                folder_same(folder_look(own_folder), folder_look(own_folder)));
            if (folder_same(before, folder_look(own_folder)) == files[i].read)
                fail_msg("%s", files[i].name);
        }
}

/* They may come one after the other. */
static void all_files_of_a_split_model_are_looked_at(void **state)
{
    (void)state;
    char first[400];
    snprintf(first, sizeof first, "%s", in_folder("m-00001-of-00003.gguf"));
    for (int i = 1; i <= 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "m-%05d-of-00003.gguf", i);
        struct folder_look before = folder_look(first);
        assert_int_equal(file_write(in_folder(name), slice_of("x"), NULL), 0);
        if (folder_same(before, folder_look(first)) != (i == 4))
            fail_msg("%s", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_files_of_a_model_are_looked_at,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            all_files_of_a_split_model_are_looked_at, make_folder,
            remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
