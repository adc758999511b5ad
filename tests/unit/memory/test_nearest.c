#include "tests/unit/support/unit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "memory/vectors/ivf.h"
#include "memory/vectors/dots.h"

enum { WIDTH = 40, ROWS = 6000, QUERIES = 60, DEEP = 10, CANDIDATES = 60 };

static void random_unit(uint64_t *seed, float *vector)
{
    double length = 0;
    for (int i = 0; i < WIDTH; i++) {
        double sum = 0; /* of uniform numbers: about normal */
        for (int k = 0; k < 4; k++)
            sum += unit_below(seed, 2000001) / 1e6 - 1;
        vector[i] = (float)sum;
        length += sum * sum;
    }
    for (int i = 0; i < WIDTH; i++)
        vector[i] /= (float)sqrt(length);
}

static float dot(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += (double)a[i] * (double)b[i];
    return (float)sum;
}

struct fixture {
    float *values; /* [ROWS, WIDTH] */
    const float *rows[ROWS];
    struct ivf *ivf;
};

/* `centres` 0: rows without structure. */
static void vector_near(uint64_t *seed, const float *centres, uint32_t count,
                        float *ret)
{
    random_unit(seed, ret);
    if (!count)
        return;
    const float *centre = centres + (size_t)unit_below(seed, count) * WIDTH;
    double length = 0;
    for (int i = 0; i < WIDTH; i++) {
        ret[i] = centre[i] + 0.7F * ret[i];
        length += (double)ret[i] * (double)ret[i];
    }
    for (int i = 0; i < WIDTH; i++)
        ret[i] /= (float)sqrt(length);
}

static struct fixture *make_fixture(uint64_t *seed, const float *centres,
                                    uint32_t count)
{
    struct fixture *f = mem_alloc(sizeof *f);
    f->values = mem_alloc((size_t)ROWS * WIDTH * sizeof *f->values);
    for (size_t i = 0; i < ROWS; i++) {
        f->rows[i] = f->values + i * WIDTH;
        vector_near(seed, centres, count, f->values + i * WIDTH);
    }
    assert_int_equal(ivf_make(f->rows, ROWS, WIDTH, NULL, &f->ivf, NULL), 0);
    return f;
}

static void free_fixture(struct fixture *f)
{
    ivf_free(f->ivf);
    free(f->values);
    free(f);
}

/* Of the ten nearest rows, those among the candidates. */
static size_t held(const struct fixture *f, const float *query)
{
    struct near_row found[CANDIDATES];
    float scores[ROWS];
    size_t hits = 0;
    struct ivf_seen seen;
    size_t count =
        ivf_search(f->ivf, query, ivf_probes(f->ivf), CANDIDATES, found, &seen);
    assert_true(count <= CANDIDATES && seen.rows <= ROWS &&
                count <= seen.rows && seen.lists <= ivf_probes(f->ivf));
    for (size_t r = 0; r < ROWS; r++)
        scores[r] = dot(query, f->rows[r]);
    for (int n = 0; n < DEEP; n++) {
        uint32_t best = 0;
        for (uint32_t r = 1; r < ROWS; r++)
            if (scores[r] > scores[best])
                best = r;
        for (size_t i = 0; i < count; i++)
            hits += found[i].row == best;
        scores[best] = -2;
    }
    return hits;
}

static void assert_recall(uint64_t seed, uint32_t centre_count)
{
    float *centres = mem_alloc((centre_count + 1) * WIDTH * sizeof *centres);
    for (size_t c = 0; c < centre_count; c++)
        random_unit(&seed, centres + c * WIDTH);
    struct fixture *f = make_fixture(&seed, centres, centre_count);
    size_t hits = 0;
    for (int q = 0; q < QUERIES; q++) {
        float query[WIDTH];
        vector_near(&seed, centres, centre_count, query);
        hits += held(f, query);
    }
    if (hits * 100 < (size_t)QUERIES * DEEP * 96)
        fail_msg("%zu of %d, %u of %u lists", hits, QUERIES * DEEP,
                 ivf_probes(f->ivf), ivf_lists(f->ivf));
    free_fixture(f);
    free(centres);
}

static void recall_is_kept_on_rows_in_groups(void **state)
{
    (void)state;
    assert_recall(1, 20);
    assert_recall(2, 300);
}

static void recall_is_kept_on_rows_without_structure(void **state)
{
    (void)state;
    assert_recall(3, 0);
    assert_recall(4, 0);
}

static void structure_saves_work(void **state)
{
    (void)state;
    uint64_t seed = 5;
    float centres[20 * WIDTH];
    for (size_t c = 0; c < 20; c++)
        random_unit(&seed, centres + c * WIDTH);
    struct fixture *grouped = make_fixture(&seed, centres, 20);
    struct fixture *plain = make_fixture(&seed, centres, 0);
    assert_true(ivf_probes(grouped->ivf) < ivf_probes(plain->ivf));
    free_fixture(grouped);
    free_fixture(plain);
}

/* Near one of twenty centres, whose rows are in a few of the lists. */
static void a_search_ends_where_lists_bring_nothing(void **state)
{
    (void)state;
    uint64_t seed = 6;
    float centres[20 * WIDTH], query[WIDTH];
    for (size_t c = 0; c < 20; c++)
        random_unit(&seed, centres + c * WIDTH);
    struct fixture *f = make_fixture(&seed, centres, 20);
    struct near_row found[CANDIDATES], all[ROWS];
    for (int q = 0; q < QUERIES; q++) {
        struct ivf_seen seen;
        vector_near(&seed, centres, 20, query);
        ivf_search(f->ivf, query, UINT32_MAX, CANDIDATES, found, &seen);
        assert_true(seen.lists < ivf_lists(f->ivf) / 2);
        assert_true(seen.rows >= CANDIDATES && seen.rows < ROWS / 2);
        ivf_search(f->ivf, query, UINT32_MAX, ROWS, all, &seen);
        assert_int_equal(seen.lists, ivf_lists(f->ivf));
    }
    free_fixture(f);
}

static void all_lists_hold_each_row_once(void **state)
{
    (void)state;
    uint64_t seed = 7;
    struct fixture *f = make_fixture(&seed, NULL, 0);
    struct near_row *found = mem_alloc(ROWS * sizeof *found);
    bool *met = mem_alloc(ROWS);
    float query[WIDTH];
    struct ivf_seen seen;
    random_unit(&seed, query);
    assert_int_equal(ivf_search(f->ivf, query, UINT32_MAX, ROWS, found, &seen),
                     ROWS);
    assert_int_equal(seen.rows, ROWS);
    assert_int_equal(seen.lists, ivf_lists(f->ivf));
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(found[i].row < ROWS && !met[found[i].row]);
        met[found[i].row] = true;
        assert_true(fabsf(found[i].score - dot(query, f->rows[found[i].row])) <
                    0.02F);
    }
    free(met);
    free(found);
    free_fixture(f);
}

static void the_same_rows_make_the_same_index(void **state)
{
    (void)state;
    uint64_t a = 8, b = 8, seed = 9;
    struct fixture *f = make_fixture(&a, NULL, 0),
                   *g = make_fixture(&b, NULL, 0);
    struct near_row found[2][CANDIDATES];
    assert_int_equal(ivf_probes(f->ivf), ivf_probes(g->ivf));
    for (int q = 0; q < 5; q++) {
        float query[WIDTH];
        random_unit(&seed, query);
        memset(found, 0, sizeof found);
        ivf_search(f->ivf, query, 9, CANDIDATES, found[0], NULL);
        ivf_search(g->ivf, query, 9, CANDIDATES, found[1], NULL);
        assert_memory_equal(found[0], found[1], sizeof found[0]);
    }
    free_fixture(f);
    free_fixture(g);
}

/* Few rows, the same ones, and ones that say nothing. */
static void odd_rows_are_found(void **state)
{
    (void)state;
    static const float zeros[WIDTH];
    uint64_t seed = 10;
    float row[WIDTH];
    const float *rows[50];
    random_unit(&seed, row);
    for (uint32_t count = 0; count <= 50; count += 5) {
        struct ivf *ivf;
        struct near_row found[50];
        for (uint32_t i = 0; i < count; i++)
            rows[i] = i % 3 ? row : zeros;
        assert_int_equal(ivf_make(rows, count, WIDTH, NULL, &ivf, NULL), 0);
        size_t got = ivf_search(ivf, row, ivf_lists(ivf), 50, found, NULL);
        assert_int_equal(got, count);
        for (size_t i = 0; i < got; i++)
            assert_true(fabsf(found[i].score - (found[i].row % 3 ? 1 : 0)) <
                        0.02F);
        ivf_free(ivf);
    }
}

static void build_is_cancelled(void **state)
{
    (void)state;
    uint64_t seed = 12;
    struct fixture *f = make_fixture(&seed, NULL, 0);
    struct ivf *ivf = NULL;
    struct err err;
    atomic_bool cancel;
    atomic_init(&cancel, true);
    assert_int_equal(ivf_make(f->rows, ROWS, WIDTH, &cancel, &ivf, &err),
                     ERR_CANCELLED);
    assert_null(ivf);
    free_fixture(f);
}

enum { MAX_WIDTH = 2101, FACTORS = 5 };

struct factors {
    int8_t query[MAX_WIDTH];
    uint8_t bytes[FACTORS * MAX_WIDTH];
    float a[MAX_WIDTH], b[FACTORS * MAX_WIDTH];
};

static void assert_products(const struct dots *dots, const struct factors *f,
                            size_t width)
{
    int32_t bytes[FACTORS];
    float floats[FACTORS];
    dots->bytes(f->query, f->bytes, FACTORS, width, bytes);
    dots->floats(f->a, f->b, FACTORS, width, floats);
    for (size_t r = 0; r < FACTORS; r++) {
        double right = 0;
        int32_t sum = 0;
        for (size_t i = 0; i < width; i++) {
            right += (double)f->a[i] * (double)f->b[r * width + i];
            sum += f->query[i] * f->bytes[r * width + i];
        }
        assert_int_equal(bytes[r], sum);
        assert_true(fabs((double)floats[r] - right) <= 1e-5 * (double)width);
    }
}

/* Widths that no number of lanes divides, and bytes at both ends. */
static void all_products_are_right(void **state)
{
    (void)state;
    static struct factors f;
    uint64_t seed = 13;
    for (size_t width = 1; width <= MAX_WIDTH; width += 1 + width / 7) {
        for (size_t i = 0; i < width; i++) {
            f.query[i] = (int8_t)(unit_below(&seed, 256) - 128U);
            f.a[i] = (float)f.query[i] / 128;
        }
        for (size_t i = 0; i < FACTORS * width; i++) {
            f.bytes[i] = (uint8_t)(i % 11 ? unit_below(&seed, 256) : 255);
            f.b[i] = (float)f.bytes[i] / 255;
        }
        assert_non_null(dots_at(0));
        for (size_t n = 0; dots_at(n); n++)
            assert_products(dots_at(n), &f, width);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recall_is_kept_on_rows_in_groups),
        cmocka_unit_test(recall_is_kept_on_rows_without_structure),
        cmocka_unit_test(structure_saves_work),
        cmocka_unit_test(a_search_ends_where_lists_bring_nothing),
        cmocka_unit_test(all_lists_hold_each_row_once),
        cmocka_unit_test(the_same_rows_make_the_same_index),
        cmocka_unit_test(odd_rows_are_found),
        cmocka_unit_test(build_is_cancelled),
        cmocka_unit_test(all_products_are_right),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
