#include "tests/unit/support/unit.h"

#include <math.h>
#include <regex.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/url.h"

static void varints_come_back(void **state)
{
    (void)state;
    static const uint64_t values[] = {
        0,         1, 127, 128, 16383, 16384, UINT32_MAX, (uint64_t)1 << 63,
        UINT64_MAX};
    static const int64_t signs[] = {0, -1, 1, -64, 64, INT64_MIN, INT64_MAX};
    struct buf buf = {0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        buf_put_varint(&buf, values[i]);
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        buf_put_signed(&buf, signs[i]);
    struct reader in = reader_of(buf.data, buf.size);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        assert_true(read_varint(&in) == values[i]);
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        assert_true(read_signed(&in) == signs[i]);
    assert_false(in.failed);
    assert_int_equal(in.at, buf.size);
    buf_free(&buf);
}

static void a_message_that_is_cut_ends_with_a_whole_character(void **state)
{
    (void)state;
    static const char *const fill[] = {"", "a", "aa", "aaa"};
    char long_text[4 * 1024 + 1] = "";
    for (size_t i = 0; i < 1024; i++)
        memcpy(long_text + 4 * i, "\xf0\x9f\x8c\x8a", 5);
    for (size_t i = 0; i < 4; i++) {
        struct err err;
        err_set(&err, ERR_FORMAT, "%s%s", fill[i], long_text);
        size_t size = strlen(err.message);
        assert_true(text_is_utf8(err.message, size));
        assert_true(size + 4 >= sizeof err.message);
    }
}

static void slices_stand_by_bytes_then_by_length(void **state)
{
    (void)state;
    const struct slice sorted[] = {{NULL, 0},      {"\0", 1}, {"a", 1},
                                   {"a\0", 2},     {"ab", 2}, {"b", 1},
                                   {"\xc3\xa4", 2}};
    const size_t count = sizeof sorted / sizeof sorted[0];
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            int order = slice_compare(sorted[i], sorted[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
}

static void reader_refuses_what_is_cut_off(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_put_string(&buf, slice_of("twelve bytes"));
    for (size_t size = 0; size < buf.size; size++) {
        struct reader in = reader_of(buf.data, size);
        assert_int_equal(read_string(&in).size, 0);
        assert_true(in.failed);
    }
    static const unsigned char endless[11] = {255, 255, 255, 255, 255, 255,
                                              255, 255, 255, 255, 255};
    struct reader in = reader_of(endless, sizeof endless);
    read_varint(&in);
    assert_true(in.failed);
    buf_clear(&buf);
    buf_put_varint(&buf, UINT64_MAX);
    in = reader_of(buf.data, buf.size);
    assert_int_equal(read_count(&in, 1), 0);
    assert_true(in.failed);
    buf_free(&buf);
}

static void white_space_folds(void **state)
{
    (void)state;
    assert_true(text_is_blank(slice_of("")));
    assert_true(text_is_blank(slice_of(" \n\xC2\xA0\xE3\x80\x80")));
    assert_false(text_is_blank(slice_of(" \xC2\xA0.")));
    assert_true(text_is_one(slice_of("\xC3\x84")));
    assert_false(text_is_one(slice_of("")) || text_is_one(slice_of("ab")));
    struct buf buf = {0};
    text_fold_space(&buf, slice_of(" \t a\xC2\xA0\xC2\xA0"
                                   "b\n\nc\xE2\x80\x8B"
                                   "d "));
    assert_string_equal(buf.data, "a b c\xE2\x80\x8B"
                                  "d");
    buf_clear(&buf);
    text_fold_compare(
        &buf, slice_of("20.4.1.\xC2\xA0The \xC3\x84pfel_\xE2\x80\x8Btree!"));
    assert_string_equal(buf.data, "20 4 1 the \xC3\xA4pfel tree");
    buf_clear(&buf);
    text_put_unmarked(&buf, (struct slice){NULL, 0});
    assert_string_equal(buf.data, "");
    text_put_unmarked(&buf, slice_of("B\xC3\xA9zier e\xCC\x81 \xC3\x9F"));
    text_put_unmarked(&buf, slice_of(" \xE4 \xC3")); /* no UTF-8: as it is */
    assert_string_equal(buf.data, "Bezier e \xC3\x9F \xE4 \xC3");
    buf_free(&buf);
}

static void bad_utf8_is_seen(void **state)
{
    (void)state;
    assert_true(text_is_utf8("\xC3\xA4", 2));
    assert_false(text_is_utf8("\xE4pfel", 5));
    assert_false(text_is_utf8("\xED\xA0\x80", 3));
    assert_false(text_is_utf8("\xC0\x80", 2));
    size_t size;
    assert_int_equal(text_decode("\xE4"
                                 "b",
                                 2, 0, &size),
                     0xFFFD);
    assert_int_equal(size, 1);
}

static void json_is_written_and_read(void **state)
{
    (void)state;
    struct buf buf = {0};
    struct json json = json_to(&buf);
    json_begin(&json, '{');
    json_field_string(&json, "a\"", (struct slice){"x\n\x01\xFF\xC3\xA4", 6});
    json_key(&json, "list");
    json_begin(&json, '[');
    json_int(&json, -3);
    json_double(&json, 0.5, 2);
    json_double(&json, (double)INFINITY, 2);
    json_bool(&json, true);
    json_end(&json, ']');
    json_field_null(&json, "none");
    json_end(&json, '}');
    assert_string_equal(buf.data,
                        "{\"a\\\"\":\"x\\n\\u0001\xEF\xBF\xBD\xC3\xA4\","
                        "\"list\":[-3,0.50,null,true],\"none\":null}");
    cJSON *value;
    assert_int_equal(json_parse(buf_slice(&buf), &value, NULL), 0);
    assert_string_equal(json_get_text(value, "a\"", ""),
                        "x\n\x01\xEF\xBF\xBD\xC3\xA4");
    assert_int_equal(json_get_int(value, "none", 7), 7);
    cJSON_Delete(value);
    buf_free(&buf);
}

/* What is read of such a text would end there. */
static void json_texts_hold_no_zero(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(
        json_check_texts(slice_of("[\"a\\\\u0000\", \"\\u0001\"]"), &err), 0);
    assert_int_equal(json_check_texts(slice_of("[\"a\\u0000b\"]"), &err),
                     ERR_USAGE);
    assert_int_equal(json_check_texts(slice_of("[\"\\\\\\u0000\"]"), &err),
                     ERR_USAGE);
    assert_int_equal(json_check_texts((struct slice){"[\"\0\"]", 5}, &err),
                     ERR_USAGE);
}

static void json_refuses(void **state)
{
    (void)state;
    struct err err;
    cJSON *value;
    assert_int_equal(json_parse(slice_of("{\"a\":}"), &value, &err),
                     ERR_FORMAT);
    assert_true(err.position >= 0);
    assert_int_equal(json_parse(slice_of("{} x"), &value, &err), ERR_FORMAT);
    assert_int_equal(json_parse(slice_of(""), &value, &err), ERR_FORMAT);
    struct buf deep = {0};
    for (int i = 0; i < 100000; i++)
        buf_put_byte(&deep, '[');
    assert_int_equal(json_parse(buf_slice(&deep), &value, &err), ERR_LIMIT);
    buf_free(&deep);
}

static void files_are_read_and_refused(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct buf path = {0}, content = {0};
    struct err err = {0};
    file_join(&path, folder, "a/b");
    assert_int_equal(file_make_folder(path.data, 0700, &err), 0);
    struct stat st;
    assert_int_equal(stat(path.data, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(file_read(path.data, 100, &content, &err), ERR_IO);
    assert_int_equal(file_write(path.data, slice_of("0"), &err), ERR_IO);
    assert_non_null(strstr(err.message, path.data));
    assert_null(strstr(err.message, ".tmp"));
    buf_put_text(&path, "/file");
    assert_int_equal(file_write(path.data, slice_of("0123456789"), &err), 0);
    assert_int_equal(file_read(path.data, 9, &content, &err), ERR_LIMIT);
    assert_int_equal(file_read(path.data, 10, &content, &err), 0);
    assert_string_equal(content.data, "0123456789");
    buf_free(&content);
    assert_int_equal(file_read_span(path.data, 3, 5, &content, &err), 0);
    assert_string_equal(content.data, "34");
    buf_free(&content);
    assert_int_equal(file_read_span(path.data, 3, 11, &content, &err),
                     ERR_STALE);
    buf_put_text(&path, "-absent");
    assert_int_equal(file_read(path.data, 10, &content, &err), ERR_IO);
    assert_non_null(strstr(err.message, "No such file"));
    buf_clear(&path);
    file_join(&path, folder, "a/link");
    assert_int_equal(symlink("/usr", path.data), 0);
    buf_clear(&path);
    file_join(&path, folder, "a");
    file_remove_folder(path.data);
    assert_int_equal(stat(path.data, &st), -1);
    assert_int_equal(stat("/usr", &st), 0);
    file_remove_folder(path.data);
    buf_free(&path);
    unit_folder_remove(folder);
}

static void what_cannot_be_looked_at_is_not_gone(void **state)
{
    (void)state;
    const char *folder = unit_folder();
    struct buf loop = {0}, none = {0}, below = {0};
    file_join(&loop, folder, "loop");
    file_join(&none, folder, "none");
    file_join(&below, folder, "file");
    assert_int_equal(symlink("loop", loop.data), 0);
    assert_int_equal(file_write(below.data, slice_of("x"), NULL), 0);
    assert_false(file_is_gone(folder));
    assert_false(file_is_gone(below.data));
    assert_false(file_is_gone(loop.data));
    assert_true(file_is_gone(none.data));
    buf_put_text(&below, "/none");
    assert_true(file_is_gone(below.data));
    unit_folder_remove(folder);
    buf_free(&loop);
    buf_free(&none);
    buf_free(&below);
}

static void arithmetic_is_checked(void **state)
{
    (void)state;
    size_t result;
    assert_true(mem_mul(3, 4, &result));
    assert_int_equal(result, 12);
    assert_false(mem_mul(SIZE_MAX / 2, 3, &result));
    assert_false(mem_add(SIZE_MAX, 1, &result));
}

static void assert_url(const char *base, const char *url, const char *path,
                       const char *anchor)
{
    struct buf got_path = {0}, got_anchor = {0};
    bool ours =
        url_resolve(slice_of(base), slice_of(url), &got_path, &got_anchor);
    assert_int_equal(ours, path != NULL);
    if (path) {
        assert_string_equal(got_path.data, path);
        assert_string_equal(got_anchor.data ? got_anchor.data : "", anchor);
    }
    buf_free(&got_path);
    buf_free(&got_anchor);
}

static void links_are_resolved(void **state)
{
    (void)state;
    assert_url("a/b.html", "c.html", "a/c.html", "");
    assert_url("a/b.html", "../c.html#x", "c.html", "x");
    assert_url("a/b.html", "#x%20y", "a/b.html", "x y");
    assert_url("a/b.html", "", "a/b.html", "");
    assert_url("a/b.html", "./d/../e.html?q=1#z", "a/e.html", "z");
    assert_url("a.html", "../../x.html", "x.html", "");
    assert_url("a.html", "b%2Fc.html", "b/c.html", "");
    assert_url("a.html", "d/", "d/", "");
    assert_url("a.html", "100%.html", "100%.html", "");
    assert_url("a.html", "http://x.org/a.html", NULL, NULL);
    assert_url("a.html", "mailto:me", NULL, NULL);
    assert_url("a.html", "/etc/passwd", NULL, NULL);
    assert_url("a.html", "//x.org/", NULL, NULL);
    assert_url("a.html", "b.html#a:b", "b.html", "a:b");
}

/* A file of the log has lines of months. */
static void log_lines_have_a_date(void **state)
{
    (void)state;
    char line[100] = "";
    int ends[2], kept = dup(STDERR_FILENO);
    regex_t form;
    assert_int_equal(
        regcomp(&form,
                "^20[0-9]{2}-[01][0-9]-[0-3][0-9] "
                "[0-2][0-9]:[0-5][0-9]:[0-6][0-9] warning: 7 pumps\n$",
                REG_EXTENDED | REG_NOSUB),
        0);
    unsetenv("JOURNAL_STREAM");
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    log_warn("%d pumps", 7);
    dup2(kept, STDERR_FILENO);
    assert_true(read(ends[0], line, sizeof line - 1) > 0);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    if (regexec(&form, line, 0, NULL, 0))
        fail_msg("%s", line);
    regfree(&form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_come_back),
        cmocka_unit_test(a_message_that_is_cut_ends_with_a_whole_character),
        cmocka_unit_test(slices_stand_by_bytes_then_by_length),
        cmocka_unit_test(reader_refuses_what_is_cut_off),
        cmocka_unit_test(white_space_folds),
        cmocka_unit_test(bad_utf8_is_seen),
        cmocka_unit_test(json_is_written_and_read),
        cmocka_unit_test(json_refuses),
        cmocka_unit_test(json_texts_hold_no_zero),
        cmocka_unit_test(files_are_read_and_refused),
        cmocka_unit_test(what_cannot_be_looked_at_is_not_gone),
        cmocka_unit_test(arithmetic_is_checked),
        cmocka_unit_test(links_are_resolved),
        cmocka_unit_test(log_lines_have_a_date),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
