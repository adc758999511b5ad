#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/file.h"
#include "base/gguf.h"
#include "base/mem.h"
#include "tests/unit/support/gguf_writing.h"

/* Reads it from memory of exactly its size, and closes it. */
static int code_of(struct buf *buf, struct err *err)
{
    struct gguf *file = NULL;
    char *exact = mem_alloc(buf->size);
    memcpy(exact, buf->data, buf->size);
    *err = (struct err){.position = -1};
    int code = gguf_over((struct slice){exact, buf->size}, &file, err);
    assert_int_equal(code, err->code);
    assert_true((code == 0) == (file != NULL));
    gguf_close(file);
    free(exact);
    return code;
}

static void check_refused(struct buf *buf, const char *says)
{
    struct err err;
    assert_int_equal(code_of(buf, &err), ERR_FORMAT);
    if (!strstr(err.message, says))
        fail_msg("\"%s\" does not say \"%s\"", err.message, says);
    buf_free(buf);
}

/* ---- What is read ---- */

static struct buf whole(unsigned version)
{
    struct buf buf = {0};
    gguf_put_head(&buf, version, 2, 6);
    gguf_put_key(&buf, "general.architecture", GGUF_TEXT);
    gguf_put_text(&buf, "llama");
    gguf_put_key(&buf, "llama.block_count", GGUF_U32);
    gguf_put_number(&buf, 30, 4);
    gguf_put_key(&buf, "llama.eps", GGUF_F32);
    gguf_put_number(&buf, 0x3F000000, 4);
    gguf_put_key(&buf, "add_bos", GGUF_BOOL);
    gguf_put_number(&buf, 1, 1);
    gguf_put_key(&buf, "tokens", GGUF_LIST);
    gguf_put_number(&buf, GGUF_TEXT, 4);
    gguf_put_number(&buf, 3, 8);
    gguf_put_text(&buf, "a");
    gguf_put_text(&buf, "");
    gguf_put_text(&buf, "bc");
    gguf_put_key(&buf, "kinds", GGUF_LIST);
    gguf_put_number(&buf, GGUF_I16, 4);
    gguf_put_number(&buf, 2, 8);
    gguf_put_number(&buf, 0xFFFE, 2);
    gguf_put_number(&buf, 7, 2);
    gguf_put_tensor(&buf, "b.weight", 64, 2, 8, 32); /* Q8_0 */
    gguf_put_tensor(&buf, "a.weight", 5, 0, 0, 0);
    gguf_put_data(&buf, 32 + 2 * 2 * 34);
    return buf;
}

static void check_values(const struct gguf *file)
{
    struct slice text;
    double number;
    bool on = false;
    size_t at = 0;
    assert_int_equal(gguf_value_count(file), 6);
    assert_null(gguf_find(file, "llama"));
    const struct gguf_value *v = gguf_find(file, "general.architecture");
    assert_true(gguf_text(v, &text) && slice_is(text, "llama"));
    assert_false(gguf_number(v, 0, &number));
    v = gguf_find(file, "llama.block_count");
    assert_true(gguf_number(v, 0, &number) && number == 30);
    assert_false(gguf_number(v, 1, &number) || gguf_bool(v, &on) ||
                 gguf_text(v, &text));
    assert_true(gguf_number(gguf_find(file, "llama.eps"), 0, &number) &&
                number == 0.5);
    assert_true(gguf_bool(gguf_find(file, "add_bos"), &on) && on);
    v = gguf_find(file, "kinds");
    assert_true(gguf_number(v, 0, &number) && number == -2);
    assert_true(gguf_number(v, 1, &number) && number == 7);
    v = gguf_find(file, "tokens");
    assert_int_equal(v->count, 3);
    assert_false(gguf_text(v, &text));
    assert_true(gguf_next_text(v, &at, &text) && slice_is(text, "a"));
    assert_true(gguf_next_text(v, &at, &text) && slice_is(text, ""));
    assert_true(gguf_next_text(v, &at, &text) && slice_is(text, "bc"));
    assert_false(gguf_next_text(v, &at, &text));
}

static void check_whole(const struct gguf *file)
{
    check_values(file);
    assert_int_equal(gguf_count(file), 2);
    const struct tensor *a = gguf_at(file, 0), *b = gguf_at(file, 1);
    assert_string_equal(a->name.data, "a.weight");
    assert_int_equal(a->type, TENSOR_F32);
    assert_int_equal(a->rank, 1);
    assert_int_equal(a->bytes, 20);
    assert_string_equal(b->name.data, "b.weight");
    assert_int_equal(b->type, TENSOR_Q8_0);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 64);
    assert_int_equal(b->bytes, 2 * 2 * 34);
    assert_int_equal(((const char *)b->data)[0], 32);
    assert_ptr_equal((const char *)a->data + 32, b->data);
}

static void test_read(void **state)
{
    struct err err = {.position = -1};
    struct buf path = {0};
    char *folder = unit_folder();
    (void)state;
    file_join(&path, folder, "x.gguf");
    for (unsigned version = 2; version <= 3; version++) {
        struct buf buf = whole(version);
        struct gguf *file;
        assert_int_equal(gguf_over(buf_slice(&buf), &file, NULL), 0);
        check_whole(file);
        gguf_close(file);
        assert_int_equal(file_write(path.data, buf_slice(&buf), NULL), 0);
        assert_int_equal(gguf_open(path.data, &file, NULL), 0);
        check_whole(file);
        gguf_close(file);
        buf_free(&buf);
    }
    struct gguf *file = NULL;
    unit_folder_remove(folder);
    assert_int_equal(gguf_open(path.data, &file, &err), ERR_IO);
    assert_non_null(strstr(err.path, "x.gguf"));
    buf_free(&path);
    assert_true(gguf_is_path("/a/x.gguf"));
    assert_false(gguf_is_path("/a/x.gguf/") || gguf_is_path(".gguf") ||
                 gguf_is_path("x.safetensors"));
}

/* ---- What is not ---- */

/* Wherever a file ends too early, that is said. */
static void test_cut_off(void **state)
{
    struct buf buf = whole(3);
    size_t size = buf.size;
    struct err err;
    (void)state;
    for (buf.size = 1; buf.size < size; buf.size++)
        assert_int_equal(code_of(&buf, &err), ERR_FORMAT);
    assert_int_equal(code_of(&buf, &err), 0);
    buf_free(&buf);
}

static void test_head(void **state)
{
    struct buf buf = {0};
    (void)state;
    buf_put_text(&buf, "GGML and more");
    check_refused(&buf, "not a GGUF file");
    gguf_put_head(&buf, 1, 0, 0);
    check_refused(&buf, "version 1");
    gguf_put_head(&buf, 3U << 24, 0, 0);
    check_refused(&buf, "big-endian");
    gguf_put_head(&buf, 3, 0, UINT64_MAX);
    check_refused(&buf, "more values");
    gguf_put_head(&buf, 3, UINT64_MAX / 8, 0);
    check_refused(&buf, "more tensors");
}

static void test_metadata(void **state)
{
    struct buf buf = {0};
    (void)state;
    gguf_put_head(&buf, 3, 0, 1);
    gguf_put_number(&buf, UINT64_MAX - 4, 8);
    buf_put_text(&buf, "a long key that is not as long as it says");
    check_refused(&buf, "at byte 32");
    gguf_put_head(&buf, 3, 0, 1);
    gguf_put_key(&buf, "a\nb", GGUF_U32);
    gguf_put_number(&buf, 0, 8);
    check_refused(&buf, "printable");
    gguf_put_head(&buf, 3, 0, 1);
    gguf_put_key(&buf, "odd", 13);
    gguf_put_number(&buf, 0, 8);
    check_refused(&buf, "'odd': of no type");
    gguf_put_head(&buf, 3, 0, 1);
    gguf_put_key(&buf, "deep", GGUF_LIST);
    gguf_put_number(&buf, GGUF_LIST, 4);
    gguf_put_number(&buf, 1, 8);
    check_refused(&buf, "'deep': a list of lists");
    gguf_put_head(&buf, 3, 0, 1);
    gguf_put_key(&buf, "huge", GGUF_LIST);
    gguf_put_number(&buf, GGUF_U64, 4);
    gguf_put_number(&buf, UINT64_MAX / 4, 8);
    check_refused(&buf, "'huge': cut off");
    gguf_put_head(&buf, 3, 0, 1);
    gguf_put_key(&buf, "texts", GGUF_LIST);
    gguf_put_number(&buf, GGUF_TEXT, 4);
    gguf_put_number(&buf, UINT64_MAX, 8);
    check_refused(&buf, "'texts': cut off");
    gguf_put_head(&buf, 3, 0, 2);
    gguf_put_key(&buf, "same", GGUF_BOOL);
    gguf_put_number(&buf, 1, 1);
    gguf_put_key(&buf, "same", GGUF_BOOL);
    gguf_put_number(&buf, 1, 1);
    check_refused(&buf, "'same': occurs twice");
    for (uint64_t alignment = 0; alignment < 50; alignment += 7) {
        gguf_put_head(&buf, 3, 0, 1);
        gguf_put_key(&buf, "general.alignment", GGUF_U32);
        gguf_put_number(&buf, alignment, 4);
        check_refused(&buf, "general.alignment");
    }
    gguf_put_head(&buf, 3, 0, 1);
    gguf_put_key(&buf, "split.count", GGUF_U16);
    gguf_put_number(&buf, 3, 2);
    check_refused(&buf, "one of 3 files");
}

/* One tensor before 4096 bytes of data. */
static void check_tensor(uint64_t columns, uint64_t rows, uint64_t type,
                         uint64_t offset, const char *says)
{
    struct buf buf = {0};
    gguf_put_head(&buf, 3, 1, 0);
    gguf_put_tensor(&buf, "w", columns, rows, type, offset);
    gguf_put_data(&buf, 4096);
    check_refused(&buf, says);
}

static void test_tensors(void **state)
{
    struct buf buf = {0};
    (void)state;
    check_tensor(32, 2, 4, 0, "'w': of no type");
    check_tensor(32, 2, UINT32_MAX, 0, "'w': of no type");
    check_tensor(256, 2, 16, 0, "'w': the type IQ2_XXS is not supported");
    check_tensor(33, 2, 8, 0, "whole blocks");
    check_tensor(128, 2, 12, 0, "whole blocks");
    check_tensor(UINT64_MAX / 2, 2, 0, 0, "larger than any file");
    check_tensor(UINT64_MAX / 64 * 32, 1 << 20, 8, 0, "larger than any file");
    check_tensor(32, 2, 0, 16, "multiple of the alignment");
    check_tensor(32, 2, 0, 4096, "outside of the file");
    check_tensor(32, 2, 0, UINT64_MAX - 31, "outside of the file");
    check_tensor(32, 33, 0, 0, "outside of the file");
    gguf_put_head(&buf, 3, 1, 0);
    gguf_put_text(&buf, "w");
    gguf_put_number(&buf, 5, 4);
    gguf_put_data(&buf, 256);
    check_refused(&buf, "1 to 4 dimensions");
    gguf_put_head(&buf, 3, 2, 0);
    gguf_put_tensor(&buf, "a", 32, 2, 0, 0);
    gguf_put_tensor(&buf, "b", 32, 2, 0, 224);
    gguf_put_data(&buf, 4096);
    check_refused(&buf, "'b': its data is another's too");
    gguf_put_head(&buf, 3, 2, 0);
    gguf_put_tensor(&buf, "a", 32, 2, 0, 0);
    gguf_put_tensor(&buf, "a", 32, 2, 0, 256);
    gguf_put_data(&buf, 4096);
    check_refused(&buf, "'a': occurs twice");
    gguf_put_head(&buf, 3, 1, 0);
    gguf_put_tensor(&buf, "", 32, 2, 0, 0);
    gguf_put_data(&buf, 4096);
    check_refused(&buf, "without a name");
}

/* ---- Several files ---- */

/* Part `no` of `count` as NAME of the folder: a tensor of eight bytes. */
static void save_part(const char *folder, const char *name, unsigned no,
                      unsigned count, unsigned tensors)
{
    struct buf buf = {0};
    char path[300], tensor[16];
    gguf_put_head(&buf, 3, 1, no ? 2 : 4);
    gguf_put_key(&buf, "split.no", GGUF_U16);
    gguf_put_number(&buf, no, 2);
    gguf_put_key(&buf, "split.count", GGUF_U16);
    gguf_put_number(&buf, count, 2);
    if (!no) {
        gguf_put_key(&buf, "split.tensors.count", GGUF_I32);
        gguf_put_number(&buf, tensors, 4);
        gguf_put_key(&buf, "general.name", GGUF_TEXT);
        gguf_put_text(&buf, "whole");
    }
    snprintf(tensor, sizeof tensor, "t%u.weight", no);
    gguf_put_tensor(&buf, tensor, 2, 0, 0, 0);
    gguf_put_data(&buf, 8);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(file_write(path, buf_slice(&buf), NULL), 0);
    buf_free(&buf);
}

static void check_split(const char *folder, const char *name, int code,
                        const char *says)
{
    struct err err = {0};
    struct gguf *file = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(gguf_open(path, &file, &err), code);
    assert_null(file);
    if (!strstr(err.message, says) && !strstr(err.path, says))
        fail_msg("\"%s: %s\" does not say \"%s\"", err.path, err.message, says);
}

static void several_files_are_one(void **state)
{
    char *folder = unit_folder(), path[300];
    struct gguf *file = NULL;
    (void)state;
    save_part(folder, "m-00001-of-00003.gguf", 0, 3, 3);
    save_part(folder, "m-00002-of-00003.gguf", 1, 3, 0);
    check_split(folder, "m-00001-of-00003.gguf", ERR_IO,
                "m-00003-of-00003.gguf");
    save_part(folder, "m-00003-of-00003.gguf", 2, 3, 0);
    snprintf(path, sizeof path, "%s/m-00001-of-00003.gguf", folder);
    assert_int_equal(gguf_open(path, &file, NULL), 0);
    assert_int_equal(gguf_count(file), 3);
    for (size_t i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu.weight", i);
        assert_true(slice_is(gguf_at(file, i)->name, name));
        assert_int_equal(((const char *)gguf_at(file, i)->data)[5], 5);
    }
    assert_non_null(gguf_find(file, "general.name"));
    gguf_close(file);
    check_split(folder, "m-00002-of-00003.gguf", ERR_FORMAT,
                "give its first file");
    save_part(folder, "m-00003-of-00003.gguf", 1, 3, 0);
    check_split(folder, "m-00001-of-00003.gguf", ERR_FORMAT,
                "part 2 of 3 of a split model, where part 3 of 3");
    save_part(folder, "m-00003-of-00003.gguf", 2, 3, 0);
    save_part(folder, "m-00001-of-00003.gguf", 0, 3, 4);
    check_split(folder, "m-00001-of-00003.gguf", ERR_FORMAT,
                "have 3 tensors, not 4");
    save_part(folder, "other.gguf", 0, 3, 3);
    check_split(folder, "other.gguf", ERR_FORMAT, "does not end with");
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_head),    cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_tensors), cmocka_unit_test(several_files_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
