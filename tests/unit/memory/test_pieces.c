/* Pieces of a model without layers, and the ids of words that are remembered. */
#include "tests/unit/support/unit.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector.h"
#include "memory/embeddings/pieces.h"
#include "memory/embeddings/word_ids.h"
#include "model/tokenizer/tokenizer.h"

enum { TOKENS = 1000, WIDTH = 64, CONTEXT = 7 };

/* A model whose words are numbers, each the ids of its digits in pairs. */
struct numbers {
    float *rows; /* [TOKENS, WIDTH] of length 1 */
    int fails;   /* what embed returns */
    bool words;
    size_t tokens;       /* 0: TOKENS */
    atomic_size_t asked; /* words that were to be tokenized */
};

static int facts(void *context, struct embedder_facts *ret, struct err *err)
{
    const struct numbers *numbers = context;
    (void)err;
    *ret = (struct embedder_facts){.width = WIDTH,
                                   .context = CONTEXT,
                                   .tokens = numbers->tokens ? numbers->tokens
                                                             : TOKENS,
                                   .embeds = true,
                                   .bag = true,
                                   .words = numbers->words};
    return 0;
}

static void put_id(struct embed_ids *ids, int32_t id)
{
    MEM_RESERVE(ids->ids, &ids->capacity, ids->count + 1);
    ids->ids[ids->count++] = id;
}

/* "9x" is an id that needs more than 16 bits, "!" one that has no vector. */
static int tokenize(void *context, struct slice text, struct embed_ids *ids,
                    struct err *err)
{
    struct numbers *numbers = context;
    (void)err;
    atomic_fetch_add(&numbers->asked, 1);
    for (size_t at = 0; at < text.size; at++) {
        char c = text.data[at];
        if (c == 'x')
            ids->ids[ids->count - 1] = 70000;
        else if (c == '!')
            put_id(ids, TOKENS);
        else if (!strchr(" \t\n", c))
            put_id(ids, c - '0' + 10 * (int32_t)(at % 10));
    }
    return 0;
}

static int embed(void *context, const struct embed_text *texts, size_t count,
                 float *ret, struct err *err)
{
    const struct numbers *numbers = context;
    (void)ret;
    if (numbers->fails)
        return err_set(err, numbers->fails, "it failed");
    for (size_t i = 0; i < count; i++) {
        assert_in_range(texts[i].count, 1, CONTEXT);
        for (size_t t = 0; t < texts[i].count; t++) {
            int32_t id = texts[i].ids[t];
            memcpy(texts[i].ret_tokens + t * WIDTH, numbers->rows + id * WIDTH,
                   WIDTH * sizeof(float));
            texts[i].ret_lengths[t] = (float)id / 10;
        }
    }
    return 0;
}

static struct embedder model_of(struct numbers *numbers)
{
    return (struct embedder){.context = numbers,
                             .facts = facts,
                             .tokenize = tokenize,
                             .embed = embed};
}

/* ---- Words ---- */

static void assert_ids(struct word_ids *words, const struct embedder *model,
                       const char *text)
{
    struct embed_ids expected = {0}, got = {0};
    struct numbers *numbers = model->context;
    put_id(&got, 1); /* what is there stays */
    for (const char *at = text; *at;) {
        size_t size = strcspn(at, " \t\n");
        tokenize(numbers, (struct slice){at, size}, &expected, NULL);
        at += size + (at[size] != '\0');
    }
    assert_int_equal(word_ids_add(words, model, slice_of(text), &got, NULL), 0);
    assert_int_equal(got.count, expected.count + 1);
    assert_memory_equal(got.ids + 1, expected.ids,
                        expected.count * sizeof(int32_t));
    free(expected.ids);
    free(got.ids);
}

static size_t words_asked(struct word_ids *words, const struct embedder *model,
                          const char *text)
{
    struct numbers *numbers = model->context;
    struct embed_ids ids = {0};
    size_t before = numbers->asked;
    word_ids_add(words, model, slice_of(text), &ids, NULL);
    free(ids.ids);
    return numbers->asked - before;
}

/* What has many ids, or a large one, is asked for each time. */
static void words_are_asked_for_once(void **state)
{
    (void)state;
    struct numbers numbers = {0};
    struct embedder model = model_of(&numbers);
    struct word_ids *words = word_ids_new();
    static const char text[] = " 12 3456\t12\n\n12345678901 9x  123456789012 ";
    for (int i = 0; i < 3; i++)
        assert_ids(words, &model, text);
    assert_int_equal(words_asked(words, &model, text), 2);
    assert_int_equal(words_asked(words, &model, "12345678901 12 12"), 0);
    assert_int_equal(words_asked(words, &model, "4 4 4"), 1);
    assert_int_equal(words_asked(words, &model, " \t\n"), 0);
    assert_int_equal(words_asked(words, &model, ""), 0);
    word_ids_free(words);
}

enum { THREADS = 4, ROUNDS = 20000, VOCABULARY = 3 << 17 };

struct thread {
    pthread_t thread;
    struct word_ids *words;
    const struct embedder *model;
    uint64_t seed;
    size_t wrong;
};

/* More words than are kept, so that threads write over each other's. */
static void *read_words(void *context)
{
    struct thread *self = context;
    struct embed_ids expected = {0}, got = {0};
    for (int i = 0; i < ROUNDS; i++) {
        char word[16];
        int size = snprintf(word, sizeof word, "%u",
                            unit_below(&self->seed, VOCABULARY));
        struct slice text = {word, (size_t)size};
        expected.count = got.count = 0;
        tokenize(self->model->context, text, &expected, NULL);
        word_ids_add(self->words, self->model, text, &got, NULL);
        self->wrong +=
            got.count != expected.count ||
            memcmp(got.ids, expected.ids, got.count * sizeof *got.ids) != 0;
    }
    free(expected.ids);
    free(got.ids);
    return NULL;
}

static void threads_find_the_right_ids(void **state)
{
    (void)state;
    struct numbers numbers = {0};
    struct embedder model = model_of(&numbers);
    struct word_ids *words = word_ids_new();
    struct thread threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] =
            (struct thread){.words = words, .model = &model, .seed = i};
        assert_int_equal(
            pthread_create(&threads[i].thread, NULL, read_words, &threads[i]),
            0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
        assert_int_equal(threads[i].wrong, 0);
    }
    word_ids_free(words);
}

/* The tokenizer that comes along, and what a manual may hold. */
struct real {
    struct tokenizer *tokenizer;
};

static int tokenize_really(void *context, struct slice text,
                           struct embed_ids *ret, struct err *err)
{
    const struct real *real = context;
    struct ids ids = {0};
    int code = tokenizer_encode(real->tokenizer, text, false, &ids, err);
    for (size_t i = 0; i < ids.count; i++)
        put_id(ret, ids.items[i]);
    ids_free(&ids);
    return code;
}

static void words_have_the_ids_of_their_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "How do I set max_connections (default: 100)?\n\n\tSee \"20.3\".",
        "a\xC2\xA0non-breaking\xE2\x80\x89space \xE2\x80\x94 and\r\nlines",
        "\xE4\xBD\xA0\xE5\xA5\xBD \xE4\xB8\x96\xE7\x95\x8C caf\xC3\xA9 "
        "Stra\xC3\x9F"
        "e \xF0\x9F\x99\x82",
        "[UNK] [PAD]x <<< ->> \\def\\x{#1} x[i]=y; \xFF\xFE broken \xE2\x82",
        "  ",
        ""};
    struct real real;
    struct embedder model = {.context = &real, .tokenize = tokenize_really};
    assert_int_equal(
        tokenizer_open("model/nib/tokenizer.json", &real.tokenizer, NULL), 0);
    assert_true(tokenizer_goes_by_words(real.tokenizer));
    struct word_ids *words = word_ids_new();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int again = 0; again < 2; again++) {
            struct embed_ids expected = {0}, got = {0};
            struct slice text = slice_of(texts[i]);
            assert_int_equal(tokenize_really(&real, text, &expected, NULL), 0);
            assert_int_equal(word_ids_add(words, &model, text, &got, NULL), 0);
            assert_int_equal(got.count, expected.count);
            if (got.count)
                assert_memory_equal(got.ids, expected.ids,
                                    got.count * sizeof(int32_t));
            free(expected.ids);
            free(got.ids);
        }
    word_ids_free(words);
    tokenizer_close(real.tokenizer);
}

/* ---- Vectors ---- */

static float *random_rows(void)
{
    uint64_t seed = 3;
    float *rows = mem_alloc(TOKENS * WIDTH * sizeof *rows);
    for (size_t t = 0; t < TOKENS; t++) {
        for (size_t i = 0; i < WIDTH; i++)
            rows[t * WIDTH + i] = (float)unit_below(&seed, 2001) / 1000 - 1;
        vector_unit(rows + t * WIDTH, WIDTH);
    }
    memset(rows + 5 * WIDTH, 0, WIDTH * sizeof *rows); /* it tells nothing */
    return rows;
}

static float cosine_of(const float *rows, int32_t a, int32_t b)
{
    float sum = 0;
    for (size_t i = 0; i < WIDTH; i++)
        sum += rows[(size_t)a * WIDTH + i] * rows[(size_t)b * WIDTH + i];
    return sum > 0 ? sum : 0;
}

static void pieces_are_near_by_their_vectors(void **state)
{
    (void)state;
    struct numbers numbers = {.rows = random_rows()};
    struct embedder model = model_of(&numbers);
    struct pieces *pieces;
    assert_int_equal(pieces_new(&model, &pieces, NULL), 0);
    static const int32_t asked[] = {999, 5, 0};
    int32_t ids[TOKENS + 1];
    float near[(TOKENS + 1) * 3];
    for (int32_t i = 0; i <= TOKENS; i++)
        ids[i] = i * 7 % TOKENS;
    pieces_near(pieces, asked, 3, ids, TOKENS + 1, near);
    for (size_t i = 0; i <= TOKENS; i++)
        for (size_t q = 0; q < 3; q++)
            assert_true(fabsf(near[i * 3 + q] -
                              cosine_of(numbers.rows, asked[q], ids[i])) <
                        0.012F);
    assert_true(fabsf(pieces_length(pieces, 999) - 99.9F) < 1e-4F);
    pieces_unref(pieces_keep(pieces));
    struct embed_ids got = {0};
    assert_int_equal(pieces_cut(pieces, slice_of("12 3"), &got, NULL), 0);
    assert_int_equal(got.count, 3);
    struct err err;
    assert_int_equal(pieces_cut(pieces, slice_of("1!"), &got, &err), ERR_MODEL);
    assert_int_equal(pieces_cut(pieces, slice_of("9x"), &got, &err), ERR_MODEL);
    free(got.ids);
    pieces_unref(pieces);
    numbers.tokens = pieces_max_bytes / WIDTH;
    assert_int_equal(pieces_new(&model, &pieces, &err), ERR_LIMIT);
    numbers.tokens = 0;
    numbers.fails = ERR_CANCELLED;
    assert_int_equal(pieces_new(&model, &pieces, &err), ERR_CANCELLED);
    free(numbers.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_asked_for_once),
        cmocka_unit_test(threads_find_the_right_ids),
        cmocka_unit_test(words_have_the_ids_of_their_text),
        cmocka_unit_test(pieces_are_near_by_their_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
