/* Keys and values of eight bits: they are read as floats of the same numbers are, bit for
 * bit. */
#include "tests/unit/support/models.h"

#include "kernels/ref/ref.h"
#include "model/inference/forward.h"

enum { COUNT = 150 };

static const char *const read_models[] = {"untied", "mistral", "llama3",
                                          "qwen2",  "olmo2",   "olmo3"};
enum { READ_MODELS = sizeof read_models / sizeof read_models[0] };

/* ---- A table that rounds ---- */

static float rounded(const float *group, size_t count, size_t i)
{
    float most = 0;
    for (size_t k = 0; k < count; k++)
        most = fmaxf(most, fabsf(group[k]));
    float scale = most / 127;
    return scale > 0 ? scale * (float)lrintf(group[i] / scale) : 0;
}

static int put_rounded(struct kernel_run *run, float *const *pages, size_t at,
                       size_t slots, int type, const float *x, size_t first,
                       size_t rows, size_t hkv, size_t d)
{
    enum { GROUP = KERNEL_PAGE_GROUP };
    size_t count = rows * hkv * d;
    float *to = mem_alloc((count + 1) * sizeof *to);
    for (size_t i = 0; i < count; i++) {
        size_t l = i % d / GROUP * GROUP, left = d - l < GROUP ? d - l : GROUP;
        to[i] = rounded(x + i / d * d + l, left, i % d - l);
    }
    int code = kernels_ref()->kv_write(run, pages, at, slots, type, to, first,
                                       rows, hkv, d);
    free(to);
    return code;
}

static const struct kernels
    *rounded_table; /* the one whose heads are kept rounded */

/* Heads are made ready as ever, and kept by put_rounded. */
static int keep_rounded(struct kernel_run *run,
                        const struct kernel_heads *heads, size_t count,
                        const float *angles, const struct kernel_places *places,
                        size_t place_count, size_t slots, int type, size_t m,
                        size_t d)
{
    struct kernel_heads plain[KERNEL_MAX_HEADS] = {0};
    struct kernels table = *rounded_table;
    table.kv_write = put_rounded;
    for (size_t i = 0; i < count; i++) {
        plain[i] = heads[i];
        plain[i].kept = false;
    }
    int code = rounded_table->heads(run, plain, count, angles, places,
                                    place_count, slots, type, m, d);
    for (size_t i = 0; i < count && !code; i++)
        code = ref_keep(&table, run, &heads[i], places, place_count, slots,
                        type, d);
    return code;
}

static struct kernels rounding_table(const struct kernels *of)
{
    struct kernels table = *of;
    rounded_table = of;
    table.kv_write = put_rounded;
    table.heads = keep_rounded;
    return table;
}

/* ---- Sessions ---- */

static struct session *open_as(struct model *model, bool exact)
{
    struct session_exact how = {
        .top_k = 1, .window = 10, .rerank = SESSION_RERANKED};
    struct session *s;
    if (!exact)
        return open_session(model);
    assert_int_equal(session_open_exact(model, &how, &s, NULL), 0);
    return s;
}

/* Logits of a prompt, and of tokens one by one behind it. */
static float *all_logits(struct model *model, const int32_t *ids, bool exact)
{
    enum { PROMPT = 140 };
    size_t vocabulary = model_facts(model)->vocabulary;
    float *logits = mem_alloc(COUNT * vocabulary * sizeof *logits);
    struct session *s = open_as(model, exact);
    assert_int_equal(session_prefill(s, ids, PROMPT, NULL, logits, NULL), 0);
    for (size_t i = PROMPT; i < COUNT; i++)
        assert_int_equal(
            session_prefill(s, ids + i, 1, NULL, logits + i * vocabulary, NULL),
            0);
    session_close(s);
    return logits;
}

static void check_kind(const char *kind, const struct kernels *table,
                       bool exact)
{
    const struct kernels rounding = rounding_table(table);
    int32_t ids[COUNT];
    struct model *int8 = open_keeping(kind, table, true, true);
    struct model *floats = open_keeping(kind, &rounding, true, false);
    if (!exact || model_facts(int8)->exact) {
        size_t vocabulary = model_facts(int8)->vocabulary;
        fill_ids(ids, COUNT, 60, 3);
        float *got = all_logits(int8, ids, exact);
        float *want = all_logits(floats, ids, exact);
        assert_string_equal(model_facts(int8)->key_type, "int8");
        if (memcmp(got, want, COUNT * vocabulary * sizeof *got) != 0)
            fail_msg("%s%s: other logits", kind, exact ? ", exact" : "");
        free(got);
        free(want);
    }
    model_close(int8);
    model_close(floats);
}

static void eight_bits_are_read_as_floats(void **state)
{
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++)
        for (size_t i = 0; i < READ_MODELS; i++) {
            check_kind(read_models[i], backend(b), false);
            check_kind(read_models[i], backend(b), true);
        }
}

/* Behind pages that lay elsewhere, and behind a fork, is what was there. */
static void pages_travel(void **state)
{
    (void)state;
    enum { PAGE = 64 };
    int32_t ids[PAGE + 1];
    struct model *model = open_keeping("llama3", kernels_cpu(), true, true);
    size_t bytes = model_facts(model)->vocabulary * sizeof(float);
    struct session *from = open_as(model, true), *to = open_as(model, true);
    struct session *fork = NULL;
    char *page = mem_alloc(session_page_bytes(from));
    fill_ids(ids, PAGE + 1, 60, 4);
    feed(from, ids, PAGE);
    assert_int_equal(session_export(from, 0, PAGE, page, NULL), 0);
    assert_int_equal(session_import(to, ids, PAGE, page, NULL), 0);
    assert_int_equal(session_fork(from, PAGE - 1, &fork, NULL), 0);
    feed(fork, ids + PAGE - 1, 2);
    feed(from, ids + PAGE, 1);
    feed(to, ids + PAGE, 1);
    assert_memory_equal(session_logits(to), session_logits(from), bytes);
    session_close(from);
    session_close(to);
    session_close(fork);
    free(page);
    model_close(model);
}

/* Less than a third of floats where heads are wide; attention of another kind keeps
 * f32. */
static void bytes_are_said(void **state)
{
    (void)state;
    struct model *int8 = open_keeping("llama3", kernels_cpu(), true, true);
    struct model *floats = open_keeping("llama3", kernels_cpu(), true, false);
    struct model *shared = model_share(int8, (struct kernel_pool){0});
    assert_int_equal(model_facts(floats)->token_bytes / sizeof(float) *
                         (8 + sizeof(float)),
                     model_facts(int8)->token_bytes * 8); /* heads of 8 */
    assert_int_equal(cache_page_bytes(shared), cache_page_bytes(int8));
    assert_true(cache_page_bytes(int8) < cache_page_bytes(floats));
    model_close(shared);
    model_close(int8);
    model_close(floats);
    static const char *const others[] = {"hils-qwen", "star-qwen",
                                         "hici-causal"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct model *model =
            open_keeping(others[i], kernels_cpu(), true, true);
        assert_string_equal(model_facts(model)->key_type, "f32");
        model_close(model);
    }
}

/* ---- Wide heads ---- */

enum { WIDE = 80, SLOTS = 4, KEYS = 10, HKV = 2, HQ = 6 };

/* Pages of keys, and as many of values. */
struct pages {
    float memory[2 * ((KEYS + SLOTS - 1) / SLOTS)][HKV * SLOTS * WIDE];
    float *table[2 * ((KEYS + SLOTS - 1) / SLOTS)];
    struct kernel_pages as;
};

static void put_pages(struct pages *pages, int type, const struct kernels *k,
                      const float *x)
{
    enum { HALF = (KEYS + SLOTS - 1) / SLOTS };
    struct kernel_run run = {.step = NULL};
    for (size_t i = 0; i < 2 * HALF; i++)
        pages->table[i] = pages->memory[i];
    for (size_t half = 0; half < 2; half++)
        assert_int_equal(k->kv_write(&run, pages->table + half * HALF, 0, SLOTS,
                                     type, x + half * KEYS * HKV * WIDE, 0,
                                     KEYS, HKV, WIDE),
                         KERNEL_OK);
    const float *const *table = (const float *const *)pages->table;
    pages->as = (struct kernel_pages){.keys = table,
                                      .values = table + HALF,
                                      .slots = SLOTS,
                                      .type = type,
                                      .by_head = true};
}

/* Rows of three scales, of pages that a block of keys does not end with. */
static void rows_have_several_scales(void **state)
{
    (void)state;
    static struct pages int8, floats;
    static float x[KEYS * HQ * WIDE]; /* queries; of keys and values less */
    const struct kernels rounding = rounding_table(kernels_ref());
    struct kernel_run run = {.step = NULL};
    for (size_t i = 0; i < KEYS * HQ * WIDE; i++)
        x[i] = (float)(i * 7919 % 1009) / 500 - 1;
    put_pages(&int8, KERNEL_INT8, kernels_cpu(), x);
    put_pages(&floats, KERNEL_F32, &rounding, x);
    for (size_t m = 1; m <= KEYS; m += 3) {
        float got[KEYS * HQ * WIDE], want[KEYS * HQ * WIDE];
        const struct kernels *k = kernels_cpu();
        k->attention(&run, got, x, &int8.as, m, KEYS, HQ, HKV, WIDE, 0);
        k->attention(&run, want, x, &floats.as, m, KEYS, HQ, HKV, WIDE, 0);
        assert_memory_equal(got, want, m * HQ * WIDE * sizeof *got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_bits_are_read_as_floats),
        cmocka_unit_test(rows_have_several_scales),
        cmocka_unit_test(pages_travel),
        cmocka_unit_test(bytes_are_said),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
