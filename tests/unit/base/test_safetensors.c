#include "tests/unit/support/unit.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"

/* A file in memory: length, header, data. */
static struct buf file_of(const char *header, const void *data, size_t size)
{
    struct buf buf = {0};
    uint64_t n = strlen(header);
    for (int i = 0; i < 8; i++)
        buf_put_byte(&buf, (int)(n >> (8 * i) & 255));
    buf_put_text(&buf, header);
    buf_put(&buf, data, size);
    return buf;
}

/* The code of reading `header` before `size` zero bytes, from memory of
 * exactly its size. */
static int code_of(const char *header, size_t size)
{
    static const char zeros[64];
    struct buf buf = file_of(header, zeros, size);
    char *exact = mem_alloc(buf.size);
    memcpy(exact, buf.data, buf.size);
    struct safetensors *file = NULL;
    struct err err = {0};
    int code = safetensors_over((struct slice){exact, buf.size}, &file, &err);
    assert_int_equal(code, err.code);
    assert_true((code == 0) == (file != NULL));
    safetensors_close(file);
    free(exact);
    buf_free(&buf);
    return code;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const float a[6] = {1, 2, 3, 4, 5, 6};
    static const uint16_t b[3] = {0x3F80, 0x4000, 0xC000};
    static const int32_t c[1] = {-7};
    const struct tensor tensors[] = {
        {slice_of("a \"quoted\""), TENSOR_F32, 2, {2, 3}, a, sizeof a},
        {slice_of("b"), TENSOR_BF16, 1, {3}, b, sizeof b},
        {slice_of("none"), TENSOR_F32, 2, {0, 5}, NULL, 0},
        {slice_of("c"), TENSOR_I32, 0, {0}, c, sizeof c}};
    static const char *const meta[][2] = {
        {"op", "pool"}, {"tau", "20"}, {NULL, NULL}};
    char *folder = unit_folder();
    struct buf path = {0};
    file_join(&path, folder, "x.safetensors");
    struct err err = {0};
    assert_int_equal(safetensors_write(path.data, tensors, 4, meta, &err), 0);

    struct safetensors *file = NULL;
    assert_int_equal(safetensors_open(path.data, &file, &err), 0);
    assert_int_equal(safetensors_count(file), 4);
    assert_string_equal(safetensors_meta(file, "op"), "pool");
    assert_string_equal(safetensors_meta(file, "tau"), "20");
    assert_null(safetensors_meta(file, "other"));
    assert_null(safetensors_find(file, "d"));
    for (size_t i = 0; i < 4; i++) {
        const struct tensor *t = safetensors_find(file, tensors[i].name.data);
        assert_non_null(t);
        assert_int_equal(t->type, tensors[i].type);
        assert_int_equal(t->rank, tensors[i].rank);
        assert_int_equal(t->bytes, tensors[i].bytes);
        for (int r = 0; r < t->rank; r++)
            assert_true(t->shape[r] == tensors[i].shape[r]);
        if (t->bytes)
            assert_memory_equal(t->data, tensors[i].data, t->bytes);
    }
    assert_true(slice_is(safetensors_at(file, 0)->name, "a \"quoted\""));
    safetensors_close(file);

    struct tensor wrong = tensors[0];
    wrong.bytes--;
    assert_int_equal(safetensors_write(path.data, &wrong, 1, NULL, &err),
                     ERR_USAGE);
    assert_int_equal(safetensors_open("/nonexistent/x", &file, &err), ERR_IO);
    unit_folder_remove(folder);
    buf_free(&path);
}

static const char two[] =
    "{\"__metadata__\":{\"k\":\"v\"},"
    "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
    "\"a\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[0,4]}}";

static void a_file_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    static const char data[12];
    struct buf buf = file_of(two, data, sizeof data);
    for (size_t size = 0; size <= buf.size; size++) {
        char *exact = mem_alloc(size);
        memcpy(exact, buf.data, size);
        struct safetensors *file = NULL;
        int code = safetensors_over((struct slice){exact, size}, &file, NULL);
        assert_int_equal(code, size == buf.size ? 0 : ERR_FORMAT);
        safetensors_close(file);
        free(exact);
    }
    /* The same with the length that fits what is left of the header. */
    for (size_t n = 0; n < sizeof two - 1; n++) {
        char header[sizeof two];
        memcpy(header, two, n);
        header[n] = '\0';
        assert_int_equal(code_of(header, 12), ERR_FORMAT);
    }
    buf_free(&buf);
}

static void data_must_be_covered_exactly(void **state)
{
    (void)state;
    assert_int_equal(code_of(two, 12), 0);
    assert_int_equal(code_of(two, 11), ERR_FORMAT);
    assert_int_equal(code_of(two, 13), ERR_FORMAT);
#define TENSOR(name, type, shape, offsets)                                     \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape                    \
    ",\"data_offsets\":" offsets "}"
    static const struct {
        const char *header;
        size_t size;
        int code;
    } cases[] = {
        {"{}", 0, 0},
        {"{}", 1, ERR_FORMAT},
        {"[]", 0, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[]", "[0,4]") "}", 4, 0},
        {"{" TENSOR("a", "I64", "[1]", "[0,8]") "}", 8, 0},
        {"{" TENSOR("a", "F32", "[0]", "[0,0]") "," TENSOR(
             "b", "F32", "[1]", "[0,4]") "," TENSOR("c", "F32", "[0]",
                                                    "[4,4]") "}",
         4, 0},
        /* a gap, an overlap, an empty one within another, one twice */
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]",
                                                           "[8,12]") "}",
         12, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]",
                                                           "[4,12]") "}",
         12, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[0]",
                                                           "[2,2]") "}",
         4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]",
                                                           "[0,4]") "}",
         4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a", "F32", "[1]",
                                                           "[4,8]") "}",
         8, ERR_FORMAT},
        /* offsets */
        {"{" TENSOR("a", "F32", "[1]", "[4,0]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[-4,0]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0.5,4.5]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0,4,8]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "\"0,4\"") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0,1e300]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1]", "[0,18446744073709551616]") "}", 4,
         ERR_FORMAT},
        /* shapes that overflow, wrap to the right length, or are none */
        {"{" TENSOR("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0,
         ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[4611686018427387904]", "[0,0]") "}", 0,
         ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[9007199254740992,2048]", "[0,0]") "}", 0,
         ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[2]", "[0,4]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[-1]", "[0,4]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[\"1\"]", "[0,4]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "1", "[0,4]") "}", 4, ERR_FORMAT},
        {"{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, 0},
        {"{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
         ERR_FORMAT},
        /* types */
        {"{" TENSOR("a", "F31", "[1]", "[0,4]") "}", 4, ERR_FORMAT},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, ERR_FORMAT},
        {"{\"a\":7}", 0, ERR_FORMAT},
        /* metadata */
        {"{\"__metadata__\":{\"k\":7}}", 0, ERR_FORMAT},
        {"{\"__metadata__\":7}", 0, ERR_FORMAT},
        {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0, ERR_FORMAT},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, ERR_FORMAT},
        {"{} x", 0, ERR_FORMAT}};
#undef TENSOR
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = code_of(cases[i].header, cases[i].size);
        if (code != cases[i].code)
            fail_msg("%s: %d, not %d", cases[i].header, code, cases[i].code);
    }
}

static void a_length_beyond_the_file_is_refused(void **state)
{
    (void)state;
    static const unsigned char huge[16] = {255, 255, 255, 255, 255,
                                           255, 255, 255, '{', '}'};
    struct safetensors *file = NULL;
    struct slice bytes = {(const char *)huge, sizeof huge};
    assert_int_equal(safetensors_over(bytes, &file, NULL), ERR_FORMAT);
    assert_null(file);
    /* and nesting beyond what a recursive reader stands */
    struct buf deep = {0};
    for (int i = 0; i < 100000; i++)
        buf_put_byte(&deep, '[');
    struct buf whole = file_of(deep.data, "", 0);
    assert_true(safetensors_over(buf_slice(&whole), &file, NULL) < 0);
    buf_free(&deep);
    buf_free(&whole);
}

static int code_of_size(uint64_t size, const char *fill, size_t step)
{
    struct buf buf = {0};
    struct safetensors *file = NULL;
    for (int i = 0; i < 8; i++)
        buf_put_byte(&buf, (int)(size >> (8 * i) & 255));
    buf_put_byte(&buf, '{');
    while (buf.size + step < size + 8)
        buf_put(&buf, fill, step);
    while (buf.size < size + 7)
        buf_put_byte(&buf, ' ');
    buf_put_byte(&buf, '}');
    int code = safetensors_over(buf_slice(&buf), &file, NULL);
    safetensors_close(file);
    buf_free(&buf);
    return code;
}

/* As a tree a header is up to 40 times its size. */
static void large_headers_are_refused(void **state)
{
    (void)state;
    assert_int_equal(code_of_size(SAFETENSORS_MAX_HEADER, " ", 1), 0);
    assert_int_equal(code_of_size(SAFETENSORS_MAX_HEADER + 8, " ", 1),
                     ERR_LIMIT);
    assert_int_equal(code_of_size(8 << 20, "\"\":[[],0],", 11), ERR_LIMIT);
    assert_int_equal(code_of_size(4 << 20, "\"\":0,", 6), ERR_FORMAT);
}

static void names_are_written_once(void **state)
{
    (void)state;
    static const float value = 1;
    struct tensor tensors[3];
    struct err err = {0};
    char *folder = unit_folder(), path[400];
    snprintf(path, sizeof path, "%s/twice.safetensors", folder);
    for (size_t i = 0; i < 3; i++)
        tensors[i] = (struct tensor){.name = slice_of("abc"),
                                     .type = TENSOR_F32,
                                     .data = &value,
                                     .bytes = sizeof value};
    tensors[1].name = slice_of("abd");
    assert_int_equal(safetensors_write(path, tensors, 3, NULL, &err),
                     ERR_USAGE);
    assert_non_null(strstr(err.message, "'abc'"));
    tensors[2].name = slice_of("__metadata__");
    assert_int_equal(safetensors_write(path, tensors, 3, NULL, &err),
                     ERR_USAGE);
    tensors[2].name = slice_of("ab");
    assert_int_equal(safetensors_write(path, tensors, 3, NULL, &err), 0);
    unit_folder_remove(folder);
}

/* As `cp` over a file does. */
static void a_file_may_change_once_it_is_open(void **state)
{
    (void)state;
    static const float values[3000] = {[0] = 1, [2999] = 2};
    struct tensor tensor = {.name = slice_of("a"),
                            .type = TENSOR_F32,
                            .rank = 1,
                            .shape = {3000},
                            .data = values,
                            .bytes = sizeof values};
    struct safetensors *file;
    char *folder = unit_folder(), path[400];
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, NULL), 0);
    assert_int_equal(safetensors_open(path, &file, NULL), 0);
    FILE *out = fopen(path, "r+");
    assert_non_null(out);
    for (size_t i = 0; i < 2 * sizeof values; i++)
        putc(7, out);
    fclose(out);
    const struct tensor *got = safetensors_at(file, 0);
    assert_memory_equal(got->data, values, sizeof values);
    assert_int_equal(truncate(path, 1), 0);
    assert_memory_equal(got->data, values, sizeof values);
    safetensors_close(file);
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_file_cut_off_anywhere_is_refused),
        cmocka_unit_test(data_must_be_covered_exactly),
        cmocka_unit_test(a_length_beyond_the_file_is_refused),
        cmocka_unit_test(large_headers_are_refused),
        cmocka_unit_test(names_are_written_once),
        cmocka_unit_test(a_file_may_change_once_it_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
