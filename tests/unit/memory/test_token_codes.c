#include "tests/unit/support/unit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector.h"
#include "memory/vectors/token_codes.h"

/* The usual width, one that fills no word, the least and the greatest. */
static const size_t widths[] = {384, 70, 1, TOKEN_MAX_WIDTH};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

static double uniform(uint64_t *seed)
{
    return ((double)unit_below(seed, 2000001) + 1) / 2000002;
}

/* Normal values, `common` in each, as models have directions that all tokens share. */
static void random_unit(uint64_t *seed, float *vector, size_t width,
                        float common)
{
    for (size_t i = 0; i < width; i++)
        vector[i] = (float)(sqrt(-2 * log(uniform(seed))) *
                            cos(6.283185307 * uniform(seed))) +
                    common;
    vector_unit(vector, width);
}

static double product(const float *a, const float *b, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static double match(const float *question, const float *text, size_t width)
{
    struct token_query *query = token_query_new(question, 1, width);
    struct buf codes = {0};
    float best;
    token_codes_put(text, 1, width, &codes);
    assert_int_equal(codes.size, token_code_size(width));
    token_match_start(query, &best);
    token_match_add(query, buf_slice(&codes), &best);
    double score = token_match_end(query, &best);
    buf_free(&codes);
    token_query_free(query);
    return score;
}

/* A text's token at the cosine `c` of the question's. */
static void put_near(uint64_t *seed, const float *question, float c, float *ret,
                     size_t width)
{
    random_unit(seed, ret, width, 0);
    float along = (float)product(question, ret, width);
    for (size_t i = 0; i < width; i++)
        ret[i] -= along * question[i];
    vector_unit(ret, width);
    for (size_t i = 0; i < width; i++)
        ret[i] = c * question[i] + sqrtf(1 - c * c) * ret[i];
}

/* sqrt(2/pi) of the cosine, with a spread of no more than .6/sqrt(width). */
static void a_match_is_about_the_cosine(void **state)
{
    (void)state;
    enum { TRIES = 200, WIDTH = 384 };
    static const float cosines[] = {-0.5F, 0, 0.3F, 0.7F, 0.95F};
    uint64_t seed = 7;
    float question[WIDTH], text[WIDTH];
    for (size_t c = 0; c < sizeof cosines / sizeof cosines[0]; c++) {
        double sum = 0, square = 0;
        for (int i = 0; i < TRIES; i++) {
            random_unit(&seed, question, WIDTH, 0.3F);
            put_near(&seed, question, cosines[c], text, WIDTH);
            double score = match(question, text, WIDTH);
            sum += score;
            square += score * score;
        }
        double mean = sum / TRIES;
        double spread = sqrt(square / TRIES - mean * mean);
        assert_true(fabs(mean - 0.7979 * (double)cosines[c]) < 0.02);
        assert_true(spread < 0.6 / sqrt(WIDTH) + 0.003);
    }
}

/* One direction that all values go in is spread like any other. */
static void no_direction_is_worse(void **state)
{
    (void)state;
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t width = widths[w];
        float *axis = mem_alloc(width * sizeof *axis);
        float *other = mem_alloc(width * sizeof *other);
        axis[width / 2] = 1;
        other[0] = width > 1 ? 1 : -1;
        assert_true(match(axis, axis, width) > 0.7);
        assert_true(match(axis, other, width) < (width > 1 ? 0.45 : -0.7));
        free(axis);
        free(other);
    }
}

/* The mean over the question's tokens of the best of all pieces' tokens. */
static void pieces_are_one_text(void **state)
{
    (void)state;
    enum { QUESTION = 5, TEXT = 30, WIDTH = 100 };
    float question[QUESTION * WIDTH], text[TEXT * WIDTH], best[QUESTION];
    uint64_t seed = 3;
    struct buf codes = {0};
    for (size_t i = 0; i < QUESTION; i++)
        random_unit(&seed, question + i * WIDTH, WIDTH, 0);
    for (size_t i = 0; i < TEXT; i++)
        random_unit(&seed, text + i * WIDTH, WIDTH, 0);
    token_codes_put(text, TEXT, WIDTH, &codes);
    double want = 0;
    for (size_t i = 0; i < QUESTION; i++) {
        double most = -2;
        for (size_t k = 0; k < TEXT; k++) {
            double one = match(question + i * WIDTH, text + k * WIDTH, WIDTH);
            most = one > most ? one : most;
        }
        want += most / QUESTION;
    }
    struct token_query *query = token_query_new(question, QUESTION, WIDTH);
    assert_int_equal(token_query_count(query), QUESTION);
    struct slice all = buf_slice(&codes);
    for (size_t cut = 0; cut <= TEXT; cut += 10) {
        struct slice head = {all.data, cut * token_code_size(WIDTH)};
        struct slice tail = {all.data + head.size, all.size - head.size};
        token_match_start(query, best);
        assert_true(token_match_end(query, best) < -1);
        token_match_add(query, tail, best);
        token_match_add(query, head, best);
        assert_true(fabs(token_match_end(query, best) - want) < 1e-6);
    }
    /* a part of a code is none */
    token_match_start(query, best);
    token_match_add(query, (struct slice){all.data, token_code_size(WIDTH) - 1},
                    best);
    assert_true(token_match_end(query, best) < -1);
    token_query_free(query);
    buf_free(&codes);
}

/* By matrices written out, of the values ((37 i + 11) mod 64) - 31.5: what other machines
 * have in their stores. */
static void codes_are_the_same_everywhere(void **state)
{
    (void)state;
    enum { MAX = 100 };
    static const unsigned char of_64[] = {0xd0, 0x2c, 0xcc, 0x32,
                                          0x0a, 0x0e, 0xd6, 0x56};
    static const unsigned char of_100[] = {0xe9, 0x9c, 0xd2, 0x32, 0x3c, 0x9f,
                                           0x56, 0x7e, 0x07, 0x02, 0x85, 0xda,
                                           0xe2, 0x6d, 0x11, 0x4a};
    float vector[MAX];
    struct buf codes = {0};
    for (size_t i = 0; i < MAX; i++)
        vector[i] = (float)((i * 37 + 11) % 64) - 31.5F;
    token_codes_put(vector, 1, 64, &codes);
    assert_int_equal(codes.size, sizeof of_64);
    assert_memory_equal(codes.data, of_64, sizeof of_64);
    buf_clear(&codes);
    token_codes_put(vector, 1, MAX, &codes);
    assert_int_equal(codes.size, sizeof of_100);
    assert_memory_equal(codes.data, of_100, sizeof of_100);
    buf_free(&codes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_match_is_about_the_cosine),
        cmocka_unit_test(no_direction_is_worse),
        cmocka_unit_test(pieces_are_one_text),
        cmocka_unit_test(codes_are_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
