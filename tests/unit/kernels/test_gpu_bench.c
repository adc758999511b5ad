/* What `make gpu-bench` measures, at tiny sizes, by the processor's table and by
 * the emulated device's: that every row runs and says what it must.  No times. */
#include "tests/cuda/bench.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/cuda/emulated.h"
#include "tests/unit/support/unit.h"

enum { PLENTY = 1 << 30, MAX_ROWS = 64 };

/* The rows of a part, parsed. */
struct rows {
    cJSON *row[MAX_ROWS];
    size_t count;
};

static struct rows run_part(const struct kernels *table, const char *part,
                            const char *sdpa)
{
    struct rows rows = {.count = 0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct bench b;
    assert_non_null(out);
    bench_begin(&b, table, out);
    b.tiny = true;
    b.min = 0;
    b.sdpa = sdpa;
    assert_true(bench_run(&b, part));
    fclose(out);
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        assert_true(rows.count < MAX_ROWS);
        struct slice one = {line, (size_t)(end - line)};
        assert_int_equal(json_parse(one, &rows.row[rows.count++], NULL), 0);
    }
    free(text);
    return rows;
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        cJSON_Delete(rows->row[i]);
}

/* Every number of a row is one, and none is nothing; null would be no number. */
static void check_numbers(const cJSON *row)
{
    const cJSON *member;
    size_t numbers = 0;
    cJSON_ArrayForEach (member, row) {
        assert_false(cJSON_IsNull(member));
        if (cJSON_IsNumber(member) && !(member->valuedouble >= 0))
            fail_msg("%s: %g", member->string, member->valuedouble);
        numbers += cJSON_IsNumber(member) ? 1 : 0;
    }
    assert_true(numbers > 0);
}

/* What each part says, in order. */
static const struct {
    const char *part;
    const char *what[16];
} wanted[] = {
    {"decode",
     {"decode step, dense", "decode step, dense", "decode step, dense",
      "decode step, dense", "decode step, dense", "decode step, HiLS",
      "decode step, HiLS", "decode step, HiLS", "decode step, HiLS",
      "decode step, HiLS"}},
    {"decode-8b",
     {"decode step, dense", "decode step, dense", "decode step, dense",
      "decode step, dense", "decode step, exact", "decode step, exact",
      "decode step, exact", "decode step, exact", "decode step, dense",
      "decode step, exact"}},
    {"prefill",
     {"prefill, dense", "prefill, dense", "prefill, HiLS", "prefill, HiLS",
      "prefill, HiLS", "prefill, HiLS"}},
    {"first",
     {"first token, HMT from scratch", "first token, all read",
      "first token, memories there",
      "first token, memories of the segments side by side"}},
    {"star", {"prefill, STAR"}},
    {"hici", {"prefill, dense", "prefill, HiCI", "prefill, HiCI"}},
    {"embed", {"vectors of texts", "vectors of texts", "vectors of texts"}},
    {"products",
     {"copy", "product", "product", "product", "product", "product", "product",
      "product", "product", "product", "product", "product", "product"}},
    {"attention",
     {"attention, dense", "attention, HiLS", "attention, dense",
      "attention, HiLS"}},
    {"papers",
     {"attention, STAR, prefill", "attention, HiCI, prefill",
      "attention, dense, prefill", "attention, HiCI, prefill"}},
};
enum { PARTS = sizeof wanted / sizeof wanted[0] };

/* Rows of attention say what keys and values are kept as; HiCI's alone are no
 * pages. */
static void check_keys(const struct kernels *table, const char *part,
                       const char *what, const cJSON *row)
{
    const char *said = json_get_text(row, "keys and values", "");
    bool none = !strcmp(part, "products") || !strcmp(part, "embed");
    bool half = table->bf16_pages && strcmp(what, "attention, HiCI, prefill");
    assert_string_equal(said, none ? "" : half ? "bf16" : "f32");
}

static void check_part(const struct kernels *table, size_t i)
{
    struct rows rows = run_part(table, wanted[i].part, NULL);
    for (size_t k = 0; k < rows.count; k++) {
        const char *why = json_get_text(rows.row[k], "left out", NULL);
        assert_string_equal(json_get_text(rows.row[k], "part", ""),
                            wanted[i].part);
        assert_non_null(wanted[i].what[k]);
        assert_string_equal(json_get_text(rows.row[k], "what", ""),
                            wanted[i].what[k]);
        if (why && !strstr(why, "some layers are measured"))
            fail_msg("%s: left out: %s", wanted[i].part, why);
        if (why)
            continue;
        check_numbers(rows.row[k]);
        check_keys(table, wanted[i].part, wanted[i].what[k], rows.row[k]);
    }
    assert_null(wanted[i].what[rows.count]);
    free_rows(&rows);
}

static void every_row_runs_on_the_processor(void **state)
{
    (void)state;
    for (size_t i = 0; i < PARTS; i++)
        check_part(kernels_cpu(), i);
    assert_null(bench_part(PARTS)); /* and there are no other parts */
}

static const struct kernels *emulated(void)
{
    const char *reason = NULL;
    const struct kernels *table = kernels_emulated(&reason);
    if (!table)
        printf("SKIP cuda emulated: %s\n", reason);
    return table;
}

static void every_row_runs_on_the_device(void **state)
{
    (void)state;
    const struct kernels *table = emulated();
    for (size_t i = 0; table && i < PARTS; i++)
        check_part(table, i);
    if (!table)
        return;
    struct rows star = run_part(table, "star", NULL);
    double peak = json_get_double(star.row[0], "peak MiB", 0);
    double min =
        json_get_double(star.row[0], "MiB of weights, keys and values", 0);
    assert_true(min > 0 && peak > min);
    free_rows(&star);
}

static void what_does_not_fit_is_left_out_with_its_size(void **state)
{
    (void)state;
    const struct kernels *table = emulated();
    if (!table)
        return;
    emulated_memory(100);
    struct rows rows = run_part(table, "first", NULL);
    assert_int_equal(rows.count, 1);
    assert_non_null(
        strstr(json_get_text(rows.row[0], "left out", ""), " GB are free"));
    free_rows(&rows);
    rows = run_part(table, "decode", NULL);
    assert_int_equal(rows.count, 2);
    free_rows(&rows);
    emulated_memory(PLENTY);
}

static void what_would_take_too_long_is_left_out(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct bench b;
    assert_non_null(out);
    bench_begin(&b, kernels_cpu(), out);
    b.part = "none";
    assert_false(bench_has_time(&b, "what", "shape", 20));
    b.until = 1e30;
    assert_true(bench_has_time(&b, "what", "shape", 20));
    fclose(out);
    assert_non_null(strstr(text, "it would take about 20 s, and 0 s are left"));
    free(text);
}

/* PyTorch's lines are found by their shape. */
static void the_reference_of_the_run_stands_beside(void **state)
{
    (void)state;
    char *folder = unit_folder();
    char path[300];
    snprintf(path, sizeof path, "%s/sdpa.lines", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(
        "SKIP or whatever else\n"
        "{\"shape\": \"1 queries, 1024 slots, 4/2 heads of 8\", \"ms\": 7}\n"
        "{\"shape\": \"1 queries, 1024 slots, 4/2 heads of 16\", \"ms\": 5}\n",
        file);
    fclose(file);
    struct rows rows = run_part(kernels_cpu(), "attention", path);
    assert_true(json_get_double(rows.row[0], "PyTorch's ms", 0) == 5);
    assert_true(json_get_double(rows.row[1], "PyTorch's ms", 0) == 5);
    assert_true(json_get_double(rows.row[2], "PyTorch's ms", 0) == 0);
    free_rows(&rows);
    unit_folder_remove(folder);
}

/* A program in the place of the real one: a part that breaks off in the middle of
 * a line, and one that is fine. */
static const char stub[] =
    "#!/bin/sh\n"
    "[ \"$1\" = --parts ] && { echo bad 1; echo good 1; echo not 1; exit; }\n"
    "[ \"$5\" = good ] && { echo '{\"part\":\"good\",\"ms\":1}'; exit; }\n"
    "echo '{\"part\":\"bad\",\"ms\":2}'; printf '{\"part\":\"ba'\n"
    "echo 'no \"room\"' >&2; exit 3\n";

static void the_file_is_whole_whatever_a_part_does(void **state)
{
    (void)state;
    static const char *const why[] = {"GPU_BENCH leaves it out", NULL,
                                      "failed (status 3): no room", NULL,
                                      "GPU_BENCH leaves it out"};
    char *folder = unit_folder(), text[1600];
    struct buf file = {0};
    cJSON *root = NULL;
    snprintf(text, sizeof text, "%s/program", folder);
    assert_int_equal(file_write(text, slice_of(stub), NULL), 0);
    snprintf(
        text, sizeof text,
        "chmod +x %s/program && GPU_CARD='A card, 1.2, 9.0' GPU_COMMIT=abc "
        "GPU_BENCH='-not -sdpa' sh tests/cuda/measure.sh %s/program %s "
        ">/dev/null 2>&1 && mv %s/gpu-*.json %s/file",
        folder, folder, folder, folder, folder);
    assert_int_equal(system(text), 0);
    snprintf(text, sizeof text, "%s/file", folder);
    assert_int_equal(file_read(text, 1 << 16, &file, NULL), 0);
    assert_int_equal(json_parse(buf_slice(&file), &root, NULL), 0);
    const cJSON *figures = cJSON_GetObjectItemCaseSensitive(root, "figures");
    assert_string_equal(json_get_text(root, "card", ""), "A card");
    assert_string_equal(json_get_text(root, "driver", ""), "1.2");
    assert_string_equal(json_get_text(root, "commit", ""), "abc");
    assert_int_equal(cJSON_GetArraySize(figures), 5);
    for (int i = 0; i < 5; i++) {
        const char *said =
            json_get_text(cJSON_GetArrayItem(figures, i), "left out", NULL);
        assert_int_equal(said != NULL, why[i] != NULL);
        if (said)
            assert_string_equal(said, why[i]);
    }
    cJSON_Delete(root);
    buf_free(&file);
    unit_folder_remove(folder);
}

/* What the only file of a folder that a pattern names says, parsed. */
static cJSON *file_of(const char *folder, const char *name)
{
    char command[700], path[320];
    struct buf file = {0};
    cJSON *root = NULL;
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(command, sizeof command, "mv %s/%s %s", folder, name, path);
    assert_int_equal(system(command), 0);
    assert_int_equal(file_read(path, 1 << 16, &file, NULL), 0);
    assert_int_equal(json_parse(buf_slice(&file), &root, NULL), 0);
    buf_free(&file);
    return root;
}

static void write_program(const char *folder, const char *name,
                          const char *text)
{
    char path[320];
    struct buf whole = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    buf_printf(&whole, "#!/bin/sh\n%s", text);
    assert_int_equal(file_write(path, buf_slice(&whole), NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    buf_free(&whole);
}

/* The second part ends the whole measurement: what came before is in the file. */
static void what_was_measured_before_the_end_is_there(void **state)
{
    (void)state;
    char *folder = unit_folder(), command[700];
    write_program(
        folder, "program",
        "[ \"$1\" = --parts ] && { echo good 1; echo last 1; exit; }\n"
        "[ \"$5\" = good ] && { echo '{\"ms\":1}'; exit; }\n"
        "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)\n");
    snprintf(command, sizeof command,
             "GPU_CARD=C GPU_COMMIT=abc GPU_BENCH=-sdpa sh "
             "tests/cuda/measure.sh %s/program %s >/dev/null 2>&1",
             folder, folder);
    assert_int_not_equal(system(command), 0);
    cJSON *root = file_of(folder, "gpu-*.json");
    const cJSON *figures = cJSON_GetObjectItemCaseSensitive(root, "figures");
    assert_int_equal(cJSON_GetArraySize(figures), 2);
    assert_true(json_get_double(cJSON_GetArrayItem(figures, 1), "ms", 0) == 1);
    cJSON_Delete(root);
    unit_folder_remove(folder);
}

/* Programs in the place of the real ones: a test that does not end, one that fails,
 * one that leaves something out, those that are fine; a tool that finds something. */
static void a_check_says_what_it_found(void **state)
{
    (void)state;
    static const char *const said[] = {
        "FAILED: test_kernels: not done in 2 s",
        "FAILED: test_products (status 3)",
        "FAILED: test_pages left something out",
        "memcheck, test_attention: nothing found",
        "FAILED: racecheck, test_attention (",
    };
    char *folder = unit_folder(), command[900], path[320];
    struct buf log = {0};
    static const char *const fine[] = {"attention", "attention_star_hici",
                                       "blocks_device", "cuda", "streams"};
    write_program(folder, "bench", "exit 0\n");
    write_program(folder, "test_kernels", "exec sleep 1000\n");
    write_program(folder, "test_products", "exit 3\n");
    write_program(folder, "test_pages",
                  "echo 'SKIP cuda emulated: x'; echo 'SKIP cuda: y'\n");
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        snprintf(path, sizeof path, "test_%s", fine[i]);
        write_program(folder, path, "exit 0\n");
    }
    write_program(folder, "tool", "[ \"$2\" = memcheck ] || exit 9\n");
    snprintf(command, sizeof command,
             "GPU_PROGRAMS=%s GPU_RESULTS=%s/all GPU_TEST_SECONDS=2 "
             "GPU_SANITIZER=%s/tool sh tests/cuda/check.sh check >/dev/null "
             "2>&1",
             folder, folder, folder);
    assert_int_not_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/all/check.log", folder);
    assert_int_equal(file_read(path, 1 << 16, &log, NULL), 0);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (!strstr(log.data, said[i]))
            fail_msg("not said: %s\n%s", said[i], log.data);
    assert_null(strstr(log.data, "test_cuda"));
    assert_null(strstr(log.data, "gpu-check: fine"));
    snprintf(path, sizeof path, "%s/all/racecheck-attention.log", folder);
    assert_int_equal(access(path, R_OK), 0);
    buf_free(&log);
    unit_folder_remove(folder);
}

static void check_described(bool missing, const char *said)
{
    const struct kernels *table = kernels_emulated(&(const char *){NULL});
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    emulated_without_blas(missing);
    assert_int_equal(bench_describe(table, out), !missing);
    emulated_without_blas(false);
    fclose(out);
    if (!strstr(text, said))
        fail_msg("not said: %s\n%s", said, text);
    free(text);
}

/* What the program says of the device before all else, and what a check makes of it: it
 * ends there. */
static void a_missing_library_fails_the_check(void **state)
{
    (void)state;
    const char *reason = NULL;
    char *folder = unit_folder(), command[1000];
    if (kernels_emulated(&reason)) {
        check_described(true, "FAILED: libcublasLt.so.13 is not found");
        check_described(false, "capability 9");
    } else {
        printf("SKIP cuda emulated: %s\n", reason);
    }
    write_program(
        folder, "bench",
        "[ \"$*\" = --device ] && echo 'FAILED: no library'; exit 1\n");
    for (size_t i = 0; i < 2; i++) {
        const char *what = i ? "bench" : "check";
        snprintf(
            command, sizeof command,
            "! GPU_PROGRAMS=%s GPU_RESULTS=%s/all sh tests/cuda/check.sh %s "
            ">/dev/null 2>&1 && [ \"$(cat %s/all/%s.log)\" = "
            "'FAILED: no library' ]",
            folder, folder, what, folder, what);
        assert_int_equal(system(command), 0);
    }
    unit_folder_remove(folder);
}

/* Where all the time is over, nothing more is begun. */
static void a_check_ends_in_time(void **state)
{
    (void)state;
    char *folder = unit_folder(), command[1400];
    write_program(folder, "bench", "exit 0\n");
    snprintf(
        command, sizeof command,
        "GPU_PROGRAMS=%s GPU_RESULTS=%s/all GPU_SECONDS=0 "
        "GPU_SANITIZER=false sh tests/cuda/check.sh check >/dev/null 2>&1;"
        "grep -q 'FAILED: .* the time for all is over' %s/all/check.log && "
        "! grep -v '^gpu-check: ' %s/all/check.log | grep -qv 'the time for "
        "all is over'",
        folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    unit_folder_remove(folder);
}

/* What the assembler says of a kernel, and whether the check minds. */
static void a_kernel_that_spills_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *arch;
        int spilled;
        bool fine;
    } cases[] = {
        {"_Z9some_rowsv", "sm_90a", 0, true},
        {"_Z9some_rowsv", "sm_90a", 8, false},
        {"_Z9some_rowsv", "sm_120", 8, false},
        {"_Z11attend_partILj64ELj128EtEvv", "sm_120", 272, true},
        {"_Z11attend_partILj64ELj128EtEvv", "sm_90a", 272, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *folder = unit_folder(), path[320], command[500];
        struct buf text = {0};
        snprintf(path, sizeof path, "%s/one.ptxas", folder);
        buf_printf(&text,
                   "ptxas info    : Compiling entry function '%s' for '%s'\n"
                   "    %d bytes stack frame, %d bytes spill stores, %d bytes "
                   "spill loads\n"
                   "ptxas info    : Used 40 registers, used 0 barriers\n",
                   cases[i].kernel, cases[i].arch, cases[i].spilled,
                   cases[i].spilled, cases[i].spilled);
        assert_int_equal(file_write(path, buf_slice(&text), NULL), 0);
        snprintf(command, sizeof command,
                 "CUOBJDUMP= sh tests/cuda/resources.sh --check %s >/dev/null",
                 folder);
        if ((system(command) == 0) != cases[i].fine)
            fail_msg("case %zu", i);
        buf_free(&text);
        unit_folder_remove(folder);
    }
}

/* The parameters of the models that the full sizes are of, as published, and
 * what was added: HMT's two vectors and two projections to an eighth. */
static void full_sizes_are_those_of_the_models(void **state)
{
    (void)state;
    const struct {
        enum bench_kind kind;
        uint64_t published;
        size_t width; /* of the memories' weights; 0: none */
        uint64_t more;
    } models[] = {
        {BENCH_8B, 8030261248, 4096, 0},
        {BENCH_STAR, 1100048384, 0, 2048 + 22 * 3},
        {BENCH_HICI_WHOLE, 6738415616, 4096, 0},
        {BENCH_22M, 22713216 - 384 * 385, 0, 0}, /* without its pooler */
    };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct bench b;
        struct model *model;
        struct err err = {0};
        size_t width = models[i].width;
        bench_begin(&b, kernels_cpu(), stdout);
        struct bench_shape shape = bench_shape(&b, models[i].kind);
        if (bench_model(&b, &shape, false, true, &model, &err))
            fail_msg("%s: %s", shape.name, err.message);
        assert_int_equal(model_facts(model)->parameters,
                         models[i].published + models[i].more + 2 * width +
                             2 * width * (width / 8));
        model_close(model);
    }
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 0.01 * want))
        fail_msg("%g is not near %g", got, want);
}

/* Bytes of a step as worked out by hand: weights in bf16, 8 KiB (345 M) and 128
 * KiB (8 B) for a token's keys and values in bf16, twice that in f32; summaries as
 * these, with biases in f32. */
static void limits_are_of_what_must_be_read(void **state)
{
    (void)state;
    struct bench b;
    bench_begin(&b, kernels_cpu(), stdout);
    struct bench_shape small = bench_shape(&b, BENCH_345M_DENSE);
    struct bench_shape hils = bench_shape(&b, BENCH_345M);
    struct bench_shape large = bench_shape(&b, BENCH_8B);
    size_t n = (size_t)1 << 19, chosen = 512 + 32 * 64;
    near(bench_weight_bytes(&large), 15.0e9);
    double weights = bench_weight_bytes(&large);
    near(bench_step_bytes(&large, KERNEL_BF16, n, 0, 0) - weights, 68.7e9);
    near(bench_step_bytes(&large, KERNEL_F32, n, 0, 0) - weights, 137.4e9);
    near(bench_step_bytes(&large, KERNEL_BF16, n, chosen, 64) - weights,
         4.295e9 + 0.336e9);
    weights = bench_weight_bytes(&small);
    near(bench_step_bytes(&small, KERNEL_BF16, n, 0, 0) - weights, 4.29e9);
    near(bench_step_bytes(&hils, KERNEL_BF16, n, chosen, 63) - weights,
         0.281e9 + 0.021e9);
    near(bench_step_bytes(&hils, KERNEL_F32, n, chosen, 63) - weights,
         0.554e9 + 0.042e9);
    near(bench_token_operations(&large), 14e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_runs_on_the_processor),
        cmocka_unit_test(every_row_runs_on_the_device),
        cmocka_unit_test(what_does_not_fit_is_left_out_with_its_size),
        cmocka_unit_test(what_would_take_too_long_is_left_out),
        cmocka_unit_test(the_reference_of_the_run_stands_beside),
        cmocka_unit_test(the_file_is_whole_whatever_a_part_does),
        cmocka_unit_test(what_was_measured_before_the_end_is_there),
        cmocka_unit_test(a_check_says_what_it_found),
        cmocka_unit_test(a_missing_library_fails_the_check),
        cmocka_unit_test(a_check_ends_in_time),
        cmocka_unit_test(a_kernel_that_spills_is_found),
        cmocka_unit_test(full_sizes_are_those_of_the_models),
        cmocka_unit_test(limits_are_of_what_must_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
