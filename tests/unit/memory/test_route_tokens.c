/* Late interaction: the tokens of the best results decide their order. */
#include "tests/unit/support/route_fixtures.h"

#include "memory/vectors/token_codes.h"

/* What a section's tokens say; with 4 values a code is of 64 signs. */
enum said { SAYS_NOTHING, SAYS_ALL, SAYS_OTHER, SAYS_HALF };

static void put_codes(struct store_txn *txn, struct hash128 name, int said)
{
    static const float tokens[][WIDTH] = {
        {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
    static const int first[] = {0, 0, 2, 1}, end[] = {0, 2, 3, 2};
    struct buf codes = {0};
    for (int t = first[said]; t < end[said]; t++)
        token_codes_put(tokens[t], 1, WIDTH, &codes);
    if (said != SAYS_NOTHING)
        assert_int_equal(store_put_tokens(txn, name, buf_slice(&codes), NULL),
                         0);
    buf_free(&codes);
}

/* A manual with one memory a section, whose tokens say as much. */
static void tokens_of(struct house *house, const struct section *sections,
                      uint32_t count, const int *said)
{
    struct vector_table t = {.policy = policy, .generation = 1, .width = WIDTH};
    struct store_txn *txn;
    struct buf bytes = {0};
    open_house(house);
    uint32_t id = add_manual(house, "engine", sections, count);
    open_snapshot(house);
    t.nodes = mem_alloc(count * sizeof *t.nodes);
    t.subtrees = mem_alloc(count * WIDTH * sizeof *t.subtrees);
    t.row_nodes = mem_alloc(count * sizeof *t.row_nodes);
    t.row_names = mem_alloc(count * sizeof *t.row_names);
    t.names = mem_alloc(count * sizeof *t.names);
    t.node_count = count;
    assert_int_equal(store_write(house->store, &txn, NULL), 0);
    for (uint32_t n = 0; n < count; n++) {
        float memory[WIDTH] = {0};
        t.nodes[n] = first_id(house, "engine") + n;
        put_cosine(t.subtrees + (size_t)n * WIDTH, sections[n].whole);
        if (sections[n].own <= NONE)
            continue;
        put_cosine(memory, sections[n].own);
        t.names[t.name_count] = (struct hash128){n, 1};
        assert_int_equal(
            store_put_memory(txn, t.names[t.name_count], memory, WIDTH, NULL),
            0);
        put_codes(txn, t.names[t.name_count], said[n]);
        t.row_names[t.row_count] = t.name_count++;
        t.row_nodes[t.row_count++] = n;
    }
    qsort(t.names, t.name_count, sizeof *t.names, hash_compare);
    vector_table_encode(&t, &bytes);
    assert_int_equal(store_put_vectors(txn, id, buf_slice(&bytes), NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    buf_free(&bytes);
    vector_table_free(&t);
    refresh(house);
}

static void tokens_house(struct house *house, const int said[COUNT(engine)])
{
    tokens_of(house, engine, COUNT(engine), said);
}

static struct token_query *two_tokens(void)
{
    static const float tokens[2 * WIDTH] = {1, 0, 0, 0, 0, 1, 0, 0};
    return token_query_new(tokens, 2, WIDTH);
}

static const char *first_title(const struct route_result *result)
{
    return title_of(result->hits[0].view, result->hits[0].node);
}

/* Three sections hold the word; which of them has what the question's tokens look for
 * decides, in mode auto. */
static void tokens_decide_among_the_best(void **state)
{
    (void)state;
    static const uint32_t pumps[] = {1, 2, 3};
    for (size_t p = 0; p < 3; p++) {
        struct house house;
        int said[COUNT(engine)];
        for (uint32_t n = 0; n < COUNT(engine); n++)
            said[n] = n == pumps[p] ? SAYS_ALL : SAYS_OTHER;
        tokens_house(&house, said);
        struct token_query *tokens = two_tokens();
        struct route_request request = request_of("pumping", ROUTE_AUTO);
        request.embeds = true;
        struct route_result without = routed(&house, &request);
        request.tokens = tokens;
        struct route_result with = routed(&house, &request);
        assert_string_equal(first_title(&with), engine[pumps[p]].title);
        assert_int_equal(with.hits[0].tokens.rank, 1);
        assert_true(with.hits[0].tokens.score > 0.6);
        assert_int_equal(with.count, without.count);
        for (size_t i = 0; i < with.count; i++)
            assert_true(with.hits[i].score <= without.hits[i].score &&
                        with.hits[i].score >= without.hits[i].score);
        request.weights = &with.weights; /* then nothing but these decides */
        struct route_result weighed = routed(&house, &request);
        assert_int_equal(weighed.hits[0].tokens.rank, 0);
        request.weights = NULL;
        request.mode = ROUTE_LEXICAL;
        struct route_result lexical = routed(&house, &request);
        assert_int_equal(lexical.hits[0].tokens.rank, 0);
        route_result_free(&with);
        route_result_free(&without);
        route_result_free(&weighed);
        route_result_free(&lexical);
        token_query_free(tokens);
        close_house(&house);
    }
}

/* What is called as the question is comes first all the same. */
static void tokens_do_not_outweigh_names(void **state)
{
    (void)state;
    static const struct section tank[] = {
        {TREE_NONE, "Engine", "", 0.5F, -2},
        {0, "Belts", "fuel belt tension", 0.2F, 0.3F},
        {0, "Fuel", "fuel tank", 0.1F, 0.1F},
        {0, "fuel", "pipe and filter", 0.1F, 0.1F},
    };
    static const int said[] = {SAYS_OTHER, SAYS_ALL, SAYS_OTHER, SAYS_OTHER};
    struct house house;
    struct token_query *tokens = two_tokens();
    struct route_request request = request_of("Fuel", ROUTE_AUTO);
    request.tokens = tokens;
    tokens_of(&house, tank, COUNT(tank), said);
    struct route_result result = routed(&house, &request);
    assert_int_equal(result.hits[0].node + result.hits[1].node, 2 + 3);
    assert_int_equal(result.hits[2].node, 1);
    assert_int_equal(result.hits[2].tokens.rank, 1);
    route_result_free(&result);
    token_query_free(tokens);
    close_house(&house);
}

/* A section whose tokens are not known stands between one that has what is looked for and
 * one that has not; where none are known nothing changes. */
static void unknown_tokens_are_as_the_mean(void **state)
{
    (void)state;
    struct house house;
    int said[COUNT(engine)] = {0};
    struct token_query *tokens = two_tokens();
    struct route_request request = request_of("pumping", ROUTE_AUTO);
    tokens_house(&house, said);
    struct route_result without = routed(&house, &request);
    request.tokens = tokens;
    struct route_result with = routed(&house, &request);
    assert_int_equal(with.count, without.count);
    for (size_t i = 0; i < with.count; i++) {
        assert_int_equal(with.hits[i].node, without.hits[i].node);
        assert_int_equal(with.hits[i].tokens.rank, 0);
    }
    uint32_t best = without.hits[0].node, second = without.hits[1].node,
             third = without.hits[2].node;
    route_result_free(&with);
    route_result_free(&without);
    close_house(&house);
    for (uint32_t n = 0; n < COUNT(engine); n++)
        said[n] = SAYS_OTHER;
    said[third] = SAYS_ALL;
    said[best] = SAYS_NOTHING;
    said[second] = SAYS_OTHER;
    tokens_house(&house, said);
    with = routed(&house, &request);
    assert_int_equal(with.hits[0].node, third);
    assert_int_equal(with.hits[1].node, best);
    assert_int_equal(with.hits[1].tokens.rank, 0);
    route_result_free(&with);
    token_query_free(tokens);
    close_house(&house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_decide_among_the_best),
        cmocka_unit_test(tokens_do_not_outweigh_names),
        cmocka_unit_test(unknown_tokens_are_as_the_mean),
    };
    return cmocka_run_group_tests_name("route_tokens", tests, NULL, NULL);
}
