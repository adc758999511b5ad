#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/file.h"
#include "cli/download/pip_index.h"
#include "cli/download/sha256.h"

/* ---- Sums ---- */

static void expect_sum(const char *text, size_t size, size_t step,
                       const char *expected)
{
    struct sha256 sum;
    char got[SHA256_HEX];
    sha256_begin(&sum);
    for (size_t at = 0; at < size; at += step)
        sha256_add(&sum, text + at, size - at < step ? size - at : step);
    sha256_end(&sum, got);
    assert_string_equal(got, expected);
}

/* The examples of FIPS 180-4. */
static void sums_are_those_of_the_standard(void **state)
{
    (void)state;
    static const char two[] =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static char million[1000000];
    memset(million, 'a', sizeof million);
    expect_sum(
        "", 0, 1,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_sum(
        "abc", 3, 3,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t step = 1; step <= sizeof two; step++)
        expect_sum(
            two, sizeof two - 1, step,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_sum(
        million, sizeof million, 65537,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* ---- The index ---- */

static void expect_reference(const char *page, const char *expected)
{
    struct buf got = {0};
    struct err err = {0};
    int code = pip_index_file(slice_of(page), "a-1.whl", &got, &err);
    if (expected) {
        assert_int_equal(code, 0);
        assert_string_equal(got.data, expected);
    } else {
        assert_true(code < 0);
        assert_true(err.message[0]);
    }
    buf_free(&got);
}

static void files_are_found_in_an_index(void **state)
{
    (void)state;
    expect_reference("{\"files\":[{\"filename\":\"b\",\"url\":\"http://x/b\"},"
                     "{\"filename\":\"a-1.whl\",\"url\":\"../a-1.whl\"}]}",
                     "../a-1.whl");
    expect_reference(" {\"files\":[]}", NULL);
    expect_reference("{\"files\":", NULL);
    expect_reference("<a href=\"/x/aa-1.whl\">aa</a>"
                     "<a href=\"/x/a-1.whl#sha256=00\">a</a>",
                     "/x/a-1.whl#sha256=00");
    expect_reference("<a href=\"/x/aa-1.whl\">aa</a><a href=\"/x/a-1.whl",
                     NULL);
    expect_reference("", NULL);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    struct buf path = {0};
    file_join(&path, folder, name);
    assert_int_equal(file_write(path.data, slice_of(text), NULL), 0);
    buf_free(&path);
}

static void pip_is_asked_how_to_reach_the_index(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct buf file = {0};
    struct pip_index index;
    file_join(&file, folder, "pip.conf");
    unsetenv("PIP_INDEX_URL");
    unsetenv("PIP_PROXY");
    setenv("PIP_CERT", "/a/cert", 1);
    setenv("VIRTUAL_ENV", folder, 1);
    setenv("PIP_CONFIG_FILE", "/dev/null", 1);
    write_text(folder, "pip.conf",
               "[global]\nindex-url = http://one/simple\ncert = /b/cert\n"
               "[install]\nindex-url = http://not/this\n");
    pip_index_find(&index);
    assert_string_equal(index.url, "https://pypi.org/simple");
    assert_string_equal(index.cert, "/a/cert");
    assert_null(index.proxy);
    pip_index_free(&index);
    unsetenv("PIP_CONFIG_FILE");
    unsetenv("PIP_CERT");
    pip_index_find(&index);
    assert_string_equal(index.url, "http://one/simple");
    assert_string_equal(index.cert, "/b/cert");
    pip_index_free(&index);
    write_text(folder, "pip.conf",
               "[global]\nindex-url = http://one/simple\n"
               "[download]\nindex-url = http://two/simple\n");
    setenv("PIP_CONFIG_FILE", file.data, 1);
    pip_index_find(&index);
    assert_string_equal(index.url, "http://two/simple");
    pip_index_free(&index);
    setenv("PIP_INDEX_URL", "http://three", 1);
    pip_index_find(&index);
    assert_string_equal(index.url, "http://three");
    pip_index_free(&index);
    buf_free(&file);
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_standard),
        cmocka_unit_test(files_are_found_in_an_index),
        cmocka_unit_test(pip_is_asked_how_to_reach_the_index),
    };
    return cmocka_run_group_tests_name("download", tests, NULL, NULL);
}
