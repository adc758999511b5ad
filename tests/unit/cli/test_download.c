#include "tests/unit/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "cli/download/pip_index.h"
#include "cli/download/sha256.h"
#include "cli/download/wheel.h"

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

/* ---- Wheels ---- */

struct zip {
    struct buf file, directory;
    unsigned count;
};

static void put_number(struct buf *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_put_byte(out, (int)(value >> 8 * i & 255));
}

static struct buf deflated(struct slice content)
{
    struct buf out = {0};
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, 0), Z_OK);
    buf_reserve(&out, deflateBound(&z, content.size));
    memcpy(&z.next_in, &content.data, sizeof z.next_in);
    z.avail_in = (uInt)content.size;
    z.next_out = (unsigned char *)out.data;
    z.avail_out = (uInt)deflateBound(&z, content.size);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.size = z.total_out;
    deflateEnd(&z);
    return out;
}

static void zip_add(struct zip *zip, const char *name, struct slice content,
                    int method)
{
    struct buf packed = {0};
    const void *bytes = content.data;
    uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)content.size);
    uint32_t place = (uint32_t)zip->file.size, size = (uint32_t)strlen(name);
    if (method)
        packed = deflated(content);
    else
        buf_put_slice(&packed, content);
    buf_put(&zip->file, "PK\3\4", 4);
    buf_put(&zip->directory, "PK\1\2\24\0", 6);
    for (int i = 0; i < 2; i++) {
        struct buf *out = i ? &zip->directory : &zip->file;
        put_number(out, 20, 2);
        put_number(out, 0, 2);
        put_number(out, (uint32_t)method, 2);
        put_number(out, 0, 4);
        put_number(out, crc, 4);
        put_number(out, (uint32_t)packed.size, 4);
        put_number(out, (uint32_t)content.size, 4);
        put_number(out, size, 2);
        put_number(out, 0, 2);
    }
    buf_put_text(&zip->file, name);
    buf_put_slice(&zip->file, buf_slice(&packed));
    put_number(&zip->directory, 0, 4);
    put_number(&zip->directory, 0, 2);
    put_number(&zip->directory, 0, 4);
    put_number(&zip->directory, place, 4);
    buf_put_text(&zip->directory, name);
    zip->count++;
    buf_free(&packed);
}

static void zip_end(struct zip *zip)
{
    uint32_t place = (uint32_t)zip->file.size;
    buf_put_slice(&zip->file, buf_slice(&zip->directory));
    buf_put(&zip->file, "PK\5\6\0\0\0\0", 8);
    put_number(&zip->file, zip->count, 2);
    put_number(&zip->file, zip->count, 2);
    put_number(&zip->file, (uint32_t)zip->directory.size, 4);
    put_number(&zip->file, place, 4);
    put_number(&zip->file, 0, 2);
    buf_free(&zip->directory);
}

static struct slice many_words(void)
{
    static char text[100000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 7 + i / 1000 % 11);
    return (struct slice){text, sizeof text};
}

static struct zip a_wheel(void)
{
    struct zip zip = {0};
    zip_add(&zip, "pack/model/", slice_of(""), 0);
    zip_add(&zip, "pack/model/config.json", slice_of("{\"a\":1}"), 0);
    zip_add(&zip, "pack/model/1_Pooling/config.json", slice_of("{}"), 8);
    zip_add(&zip, "pack/model/model.bin", many_words(), 8);
    zip_add(&zip, "pack/run.py", slice_of("raise"), 8);
    zip_end(&zip);
    return zip;
}

static void expect_file(const char *folder, const char *name,
                        struct slice content)
{
    struct buf path = {0}, got = {0};
    file_join(&path, folder, name);
    assert_int_equal(file_read(path.data, 1 << 20, &got, NULL), 0);
    assert_true(slice_equal(buf_slice(&got), content));
    buf_free(&path);
    buf_free(&got);
}

static bool there(const char *folder, const char *name)
{
    struct buf path = {0};
    struct stat st;
    file_join(&path, folder, name);
    bool result = stat(path.data, &st) == 0;
    buf_free(&path);
    return result;
}

static int unpack(const char *folder, struct slice wheel, const char *member,
                  const char *to, struct err *err)
{
    struct buf path = {0}, target = {0};
    file_join(&path, folder, "a.whl");
    file_join(&target, folder, to);
    assert_int_equal(file_write(path.data, wheel, NULL), 0);
    int code = wheel_unpack(path.data, member, target.data, err);
    buf_free(&path);
    buf_free(&target);
    return code;
}

static void members_are_unpacked(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct zip zip = a_wheel();
    struct slice wheel = buf_slice(&zip.file);
    struct err err = {0};
    assert_int_equal(unpack(folder, wheel, "pack/model/model.bin", "one", NULL),
                     0);
    expect_file(folder, "one", many_words());
    assert_int_equal(unpack(folder, wheel, "pack/model/", "all", NULL), 0);
    expect_file(folder, "all/config.json", slice_of("{\"a\":1}"));
    expect_file(folder, "all/1_Pooling/config.json", slice_of("{}"));
    expect_file(folder, "all/model.bin", many_words());
    assert_false(there(folder, "all/run.py"));
    assert_int_equal(unpack(folder, wheel, "pack/mod", "none", &err),
                     ERR_FORMAT);
    assert_non_null(strstr(err.message, "there is no pack/mod in it"));
    buf_free(&zip.file);
    unit_folder_remove(folder);
}

static void names_that_lead_out_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"m/../../out", "m//out", "m/./out",
                                        "m/a/../out", "m/.."};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *folder = unit_folder();
        struct zip zip = {0};
        struct err err = {0};
        zip_add(&zip, names[i], slice_of("x"), 0);
        zip_end(&zip);
        assert_int_equal(
            unpack(folder, buf_slice(&zip.file), "m/", "to/in", &err),
            ERR_FORMAT);
        assert_non_null(strstr(err.message, "leads out"));
        assert_false(there(folder, "out"));
        assert_false(there(folder, "to/in/out"));
        buf_free(&zip.file);
        unit_folder_remove(folder);
    }
}

/* Each end that it may be cut at, and each byte changed: an error, or all of the
 * content (what is not read may be anything). */
static void damaged_wheels_are_refused(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct zip zip = {0};
    size_t refused = 0;
    zip_add(&zip, "a.gguf", slice_of("some weights, some weights"), 8);
    zip_end(&zip);
    for (size_t size = 0; size < zip.file.size; size++)
        assert_int_equal(unpack(folder, (struct slice){zip.file.data, size},
                                "a.gguf", "to", NULL),
                         ERR_FORMAT);
    for (size_t i = 0; i < zip.file.size; i++) {
        zip.file.data[i] ^= 0x55;
        int code = unpack(folder, buf_slice(&zip.file), "a.gguf", "to", NULL);
        if (!code)
            expect_file(folder, "to", slice_of("some weights, some weights"));
        refused += code != 0;
        zip.file.data[i] ^= 0x55;
    }
    assert_true(refused > 50);
    buf_free(&zip.file);
    unit_folder_remove(folder);
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
        cmocka_unit_test(members_are_unpacked),
        cmocka_unit_test(names_that_lead_out_are_refused),
        cmocka_unit_test(damaged_wheels_are_refused),
        cmocka_unit_test(files_are_found_in_an_index),
        cmocka_unit_test(pip_is_asked_how_to_reach_the_index),
    };
    return cmocka_run_group_tests_name("download", tests, NULL, NULL);
}
