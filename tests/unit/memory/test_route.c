/* Questions to manuals by words and vectors, and what of both decides. */
#include "tests/unit/support/route_fixtures.h"

static const struct section garden[] = {
    {TREE_NONE, "Garden", "", -0.1F, -2},
    {0, "Ponds", "pond water pump", -0.2F, 0.02F},
    {1, "Fish", "fish and water lilies", -0.3F, 0.01F},
};

/* A segment for each section that has one, and a worse one beside it. */
static void put_vectors(struct house *house, uint32_t manual, uint64_t first_id,
                        const struct section *sections, uint32_t count,
                        struct hash128 of_policy)
{
    struct vector_table t = {
        .policy = of_policy, .generation = 1, .width = WIDTH};
    t.nodes = mem_alloc(count * sizeof *t.nodes);
    t.subtrees = mem_alloc(count * WIDTH * sizeof *t.subtrees);
    t.row_nodes = mem_alloc(2 * count * sizeof *t.row_nodes);
    t.keys = mem_alloc(2 * count * WIDTH * sizeof *t.keys);
    t.node_count = count;
    for (uint32_t n = 0; n < count; n++) {
        t.nodes[n] = first_id + n;
        put_cosine(t.subtrees + (size_t)n * WIDTH, sections[n].whole);
        for (int s = 0; s < 2 && sections[n].own > NONE; s++) {
            put_cosine(t.keys + (size_t)t.row_count * WIDTH,
                       s ? sections[n].own : -0.9F);
            t.row_nodes[t.row_count++] = n;
        }
    }
    struct buf bytes = {0};
    struct store_txn *txn;
    vector_table_encode(&t, &bytes);
    assert_int_equal(store_write(house->store, &txn, NULL), 0);
    assert_int_equal(store_put_vectors(txn, manual, buf_slice(&bytes), NULL),
                     0);
    assert_int_equal(store_commit(txn, NULL), 0);
    buf_free(&bytes);
    vector_table_free(&t);
}

/* The engine's manual with its vectors. */
static void engine_house(struct house *house, struct hash128 of_policy)
{
    open_house(house);
    uint32_t id = add_manual(house, "engine", engine, COUNT(engine));
    open_snapshot(house);
    put_vectors(house, id, first_id(house, "engine"), engine, COUNT(engine),
                of_policy);
    refresh(house);
}

static void assert_titles(const struct route_result *result,
                          const char *const *titles, size_t count)
{
    assert_int_equal(result->count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(
            title_of(result->hits[i].view, result->hits[i].node), titles[i]);
}

/* ---- Tests ---- */

static void dense_finds_what_words_do_not(void **state)
{
    (void)state;
    static const char *const titles[] = {"Water", "Timing", "Radiator"};
    struct house house;
    engine_house(&house, policy);
    struct route_request request = request_of("zeppelin", ROUTE_DENSE);
    request.max = 3;
    struct route_result result = routed(&house, &request);
    assert_titles(&result, titles, 3);
    assert_int_equal(result.hits[0].by[ROUTE_BY_DENSE].rank, 1);
    assert_true(fabs(result.hits[0].by[ROUTE_BY_DENSE].score - 0.95) <= 1e-3);
    assert_int_equal(result.hits[0].by[ROUTE_BY_LEXICAL].rank, 0);
    route_result_free(&result);

    request.mode = ROUTE_LEXICAL;
    request.explain = false;
    result = routed(&house, &request);
    assert_int_equal(result.count, 0);
    route_result_free(&result);

    request.mode = ROUTE_AUTO;
    request.max = 10;
    result = routed(&house, &request);
    assert_non_null(hit_of(&result, "Water"));
    route_result_free(&result);
    close_house(&house);
}

/* Without vectors of the question's policy `auto` is as it is without. */
static void without_vectors_words_decide(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, (struct hash128){9, 9});
    struct route_request request = request_of("water pump", ROUTE_LEXICAL);
    struct route_result lexical = routed(&house, &request);
    request.mode = ROUTE_TREE;
    struct route_result terms = routed(&house, &request);
    for (int with = 0; with < 2; with++) {
        request.mode = ROUTE_AUTO;
        request.vector = with ? question : NULL;
        struct route_result result = routed(&house, &request);
        assert_true(result.count >= 4);
        for (size_t i = 0; i < result.count; i++) {
            double score = 0;
            for (size_t j = 0; j < lexical.count; j++)
                if (lexical.hits[j].node == result.hits[i].node)
                    score += lexical.hits[j].score;
            for (size_t j = 0; j < terms.count; j++)
                if (terms.hits[j].node == result.hits[i].node)
                    score +=
                        result.weights.by[ROUTE_BY_TERMS] * terms.hits[j].score;
            assert_true(fabs(result.hits[i].score - score) <= 1e-12);
            assert_true(!i || result.hits[i].score <= result.hits[i - 1].score);
            assert_int_equal(result.hits[i].by[ROUTE_BY_DENSE].rank, 0);
            assert_int_equal(result.hits[i].by[ROUTE_BY_TREE].rank, 0);
        }
        route_result_free(&result);
    }
    route_result_free(&lexical);
    route_result_free(&terms);
    close_house(&house);
}

/* Of five chapters the beam keeps four; the fifth's own content was seen, what
 * stands below it was not, though its segment is the nearest of all. */
static void descent_by_memories_keeps_its_beam(void **state)
{
    (void)state;
    static const char *const kept[] = {"Belts", "Cooling", "Wiring", "Brakes"};
    struct house house;
    engine_house(&house, policy);
    struct route_request request = request_of("zeppelin", ROUTE_TREE);
    struct route_result result = routed(&house, &request);
    static const char *const titles[] = {"Timing", "Radiator", "Fuses",
                                         "Discs",  "Belts",    "Cooling",
                                         "Brakes", "Wiring",   "Pumps"};
    assert_titles(&result, titles, COUNT(titles));
    assert_null(hit_of(&result, "Water"));
    size_t level = 0;
    for (size_t i = 0; i < result.step_count; i++) {
        const struct route_step *step = &result.steps[i];
        assert_int_equal(step->ranking, ROUTE_BY_TREE);
        if (step->depth != 1)
            continue;
        assert_int_equal(step->kept, level < 4);
        assert_string_equal(title_of(step->view, step->node),
                            level < 4 ? kept[level] : "Pumps");
        level++;
    }
    assert_int_equal(level, 5);
    route_result_free(&result);
    close_house(&house);
}

static void weights_decide(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, policy);
    struct route_request request = request_of("belt tension", ROUTE_AUTO);
    struct route_weights weights = {{[ROUTE_BY_DENSE] = 2}};
    request.weights = &weights;
    struct route_result result = routed(&house, &request);
    for (size_t i = 0; i < result.count; i++)
        assert_int_equal(result.hits[i].by[ROUTE_BY_DENSE].rank, i + 1);
    assert_true(fabs(result.hits[0].score - 2.0) <= 1e-12);
    route_result_free(&result);
    weights = (struct route_weights){{1, 0, 0, 0}};
    result = routed(&house, &request);
    assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                        "Belts");
    assert_int_equal(result.hits[0].by[ROUTE_BY_LEXICAL].rank, 1);
    route_result_free(&result);
    close_house(&house);
}

/* What a model made to embed finds counts more, in auto and where the question
 * has a vector. */
static void models_made_to_embed_count_more(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, policy);
    struct route_request request = request_of("belt tension", ROUTE_AUTO);
    struct route_result result = routed(&house, &request);
    double standard = result.weights.by[ROUTE_BY_DENSE];
    route_result_free(&result);
    request.embeds = true;
    result = routed(&house, &request);
    assert_true(result.weights.by[ROUTE_BY_DENSE] > standard);
    route_result_free(&result);
    request.vector = NULL;
    result = routed(&house, &request);
    assert_true(fabs(result.weights.by[ROUTE_BY_DENSE] - standard) <= 1e-12);
    route_result_free(&result);
    close_house(&house);
}

/* With a model made to embed the sixth is the nearest of those that are left, the
 * seventh the next by score, and so on; scores go down all the same. */
static void behind_five_results_meaning_has_its_turn(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, policy);
    struct route_request request =
        request_of("gear fan filter tension pads relay", ROUTE_AUTO);
    request.embeds = true;
    struct route_result turned = routed(&house, &request);
    request.weights = &turned.weights; /* then nothing but these decides */
    struct route_result scored = routed(&house, &request);
    assert_true(turned.count == scored.count && turned.count > 7);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(turned.hits[i].node, scored.hits[i].node);
    assert_string_equal(title_of(turned.hits[5].view, turned.hits[5].node),
                        "Water");
    assert_int_equal(turned.hits[5].by[ROUTE_BY_DENSE].rank, 1);
    assert_int_equal(turned.hits[6].node, scored.hits[5].node);
    assert_string_equal(title_of(turned.hits[7].view, turned.hits[7].node),
                        "Radiator");
    for (size_t i = 1; i < turned.count; i++)
        assert_true(turned.hits[i].score <= turned.hits[i - 1].score);
    route_result_free(&turned);
    route_result_free(&scored);
    close_house(&house);
}

/* Memories count less where words find all of the question. */
static void memories_count_less_where_words_find_all(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, policy);
    struct route_request request = request_of("belt tension", ROUTE_AUTO);
    struct route_result known = routed(&house, &request);
    request.query = "belt hobbledehoy frobnicate";
    struct route_result unknown = routed(&house, &request);
    assert_true(known.weights.by[ROUTE_BY_DENSE] <
                unknown.weights.by[ROUTE_BY_DENSE]);
    assert_true(known.weights.by[ROUTE_BY_LEXICAL] >=
                unknown.weights.by[ROUTE_BY_LEXICAL]);
    route_result_free(&known);
    route_result_free(&unknown);
    close_house(&house);
}

static void explained_hits_add_up(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, policy);
    struct route_request request = request_of("water pump", ROUTE_AUTO);
    struct route_result result = routed(&house, &request);
    bool by_terms = false, by_tree = false;
    double low[ROUTE_RANKINGS] = {0}, high[ROUTE_RANKINGS] = {0};
    for (size_t i = 0; i < result.count; i++)
        for (int r = 0; r < ROUTE_RANKINGS; r++) {
            const struct route_place *place = &result.hits[i].by[r];
            if (place->rank == 1)
                high[r] = place->score;
            bool cosine =
                (r == ROUTE_BY_DENSE || r == ROUTE_BY_TREE) && place->rank;
            if (cosine && (low[r] == 0 || place->score < low[r]))
                low[r] = place->score;
        }
    for (size_t i = 0; i < result.count; i++) {
        double score = 0;
        for (int r = 0; r < ROUTE_RANKINGS; r++)
            if (result.hits[i].by[r].rank)
                score += result.weights.by[r] *
                         (result.hits[i].by[r].score - low[r]) /
                         (high[r] - low[r]);
        assert_true(fabs(result.hits[i].score - score) <= 1e-12);
    }
    for (size_t i = 0; i < result.step_count; i++) {
        by_terms |= result.steps[i].ranking == ROUTE_BY_TERMS;
        by_tree |= result.steps[i].ranking == ROUTE_BY_TREE;
    }
    assert_true(by_terms && by_tree);
    const struct route_hit *water = hit_of(&result, "Water");
    assert_int_equal(water->by[ROUTE_BY_LEXICAL].rank, 1);
    assert_int_equal(water->by[ROUTE_BY_DENSE].rank, 1);
    assert_int_equal(water->by[ROUTE_BY_TREE].rank, 0);
    route_result_free(&result);
    close_house(&house);
}

static void only_what_is_asked_for_is_found(void **state)
{
    (void)state;
    static const char *const below[] = {"Radiator", "Cooling"};
    static const char *const first[] = {"Water", "Fuel", "Pumps"};
    static const int modes[] = {ROUTE_DENSE, ROUTE_TREE};
    struct house house;
    engine_house(&house, policy);
    for (size_t i = 0; i < 2; i++) {
        struct route_request request = request_of("zeppelin", modes[i]);
        request.under = first_id(&house, "engine") + 6;
        struct route_result result = routed(&house, &request);
        assert_titles(&result, below, 2);
        route_result_free(&result);
        request.under = 0;
        request.file = "0006.html";
        result = routed(&house, &request);
        assert_titles(&result, below, 2);
        route_result_free(&result);
        /* Chapters in which nothing is wanted take no place in the beam. */
        request.file = "0001.html";
        result = routed(&house, &request);
        assert_titles(&result, first, 3);
        route_result_free(&result);
    }
    close_house(&house);
}

static void assert_same(const struct route_result *a,
                        const struct route_result *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->hits[i].node, b->hits[i].node);
        assert_memory_equal(&a->hits[i].score, &b->hits[i].score,
                            sizeof a->hits[i].score);
        assert_memory_equal(a->hits[i].by, b->hits[i].by, sizeof a->hits[i].by);
    }
    assert_memory_equal(&a->confidence, &b->confidence, sizeof a->confidence);
}

static void threads_find_what_one_finds(void **state)
{
    (void)state;
    static const char *const queries[] = {"water pump", "zeppelin",
                                          "gear fan filter tension relay"};
    struct house house;
    struct pool *pool;
    engine_house(&house, policy);
    assert_int_equal(pool_new(3, &pool, NULL), 0);
    for (int i = 0; i < 200; i++) {
        struct route_request request =
            request_of(queries[i % 3], i / 3 % (ROUTE_LEXICAL + 1));
        request.explain = false;
        struct route_result alone = routed(&house, &request);
        request.pool = pool;
        struct route_result shared = routed(&house, &request);
        assert_same(&alone, &shared);
        route_result_free(&alone);
        route_result_free(&shared);
    }
    pool_free(pool);
    close_house(&house);
}

static const struct section shell[] = {
    {TREE_NONE, "shell", "", NONE, NONE},
    {0, "Other shells", "shell shell shell shell", NONE, NONE},
    {0, "Quotes", "water that the shell keeps", NONE, NONE},
    {0, "Words", "water and a pattern", NONE, NONE},
    {0, "Jobs", "job and process", NONE, NONE},
};

/* The name of a manual, in many of its sections and in no other, is no reason for the
 * section that has it most. */
static void a_manuals_name_tells_none_of_its_sections(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    add_manual(&house, "engine", engine, COUNT(engine));
    add_manual(&house, "shell", shell, COUNT(shell));
    open_snapshot(&house);
    struct route_request request = request_of("shell water", ROUTE_LEXICAL);
    struct route_result result = routed(&house, &request);
    assert_true(result.terms[0].idf < result.terms[1].idf);
    assert_true(hit_of(&result, "Quotes")->score >
                hit_of(&result, "Other shells")->score);
    assert_ptr_equal(result.hits[0].view,
                     snapshot_view(house.snapshot, "shell"));
    route_result_free(&result);
    close_house(&house);
}

static const struct section library[] = {
    {TREE_NONE, "Library", "", NONE, NONE},
    {0, "Source code for valves", "valve spring valve spring", NONE, NONE},
    {0, "Parts", "a valve has a spring and much more than that", NONE, NONE},
    {0, "See also", "spring, spring, spring", NONE, NONE},
    {0, "v1.12.0 (2020-04-02)", "spring, spring", NONE, NONE},
    {0, "Library releases", "spring, spring", NONE, NONE},
    {0, "Part 4.0 Release Notice", "spring, spring", NONE, NONE},
    {0, "Valve module index", "spring, spring", NONE, NONE},
    {0, "4.2 (Optional) Cord", "cord, cord, cord", NONE, NONE},
    {0, "4.3 Another Cord", "a cord and more that is said", NONE, NONE},
};

/* What is documented goes before what lists, points to or tells the history of it, and
 * has its words oftener; not where that is asked for. */
static void what_stands_beside_the_matter_is_behind(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"spring", "Parts"},
        {"spring source", "Source code for valves"},
        {"spring version", "v1.12.0 (2020-04-02)"},
        {"cord pull", "4.2 (Optional) Cord"}};
    struct house house;
    open_house(&house);
    add_manual(&house, "library", library, COUNT(library));
    open_snapshot(&house);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct route_request request = request_of(cases[i][0], ROUTE_LEXICAL);
        struct route_result result = routed(&house, &request);
        assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                            cases[i][1]);
        route_result_free(&result);
    }
    close_house(&house);
}

/* Who names a manual wants it first, whatever others say. */
static void a_manual_named_whole_comes_first(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    add_manual(&house, "engine", engine, COUNT(engine));
    add_manual(&house, "garden", garden, COUNT(garden));
    open_snapshot(&house);
    struct route_request request =
        request_of("seal of the water pump", ROUTE_AUTO);
    struct route_result result = routed(&house, &request);
    assert_string_equal(result.hits[0].view->manual.name, "engine");
    route_result_free(&result);
    request.query = "garden: seal of the water pump";
    result = routed(&house, &request);
    for (size_t i = 0; i + 1 < result.count; i++)
        assert_true(!strcmp(result.hits[i].view->manual.name, "garden") ||
                    strcmp(result.hits[i + 1].view->manual.name, "garden"));
    assert_string_equal(result.hits[0].view->manual.name, "garden");
    route_result_free(&result);
    close_house(&house);
}

static const struct section server[] = {
    {TREE_NONE, "Server", "", NONE, NONE},
    {0, "work_mem", "memory of a sort", NONE, NONE},
    {0, "hash_mem default", "its default is work_mem, default work_mem", NONE,
     NONE},
    {0, "sort_mem", "an older default", NONE, NONE},
    {0, "log_sorts", "no default", NONE, NONE},
};

/* Among so many sections that a word of two of them tells something. */
static void add_server(struct house *house)
{
    struct section many[80];
    for (uint32_t i = 0; i < COUNT(many); i++)
        many[i] =
            i < COUNT(server)
                ? server[i]
                : (struct section){0, "Log", "what is logged", NONE, NONE};
    add_manual(house, "server", many, COUNT(many));
    add_manual(house, "engine", engine, COUNT(engine));
}

/* "It" is the setting that was asked about, not what mentions it most. */
static void what_is_pointed_back_at_comes_first(void **state)
{
    (void)state;
    static const char *const before[] = {"what is work_mem"};
    struct house house;
    open_house(&house);
    add_server(&house);
    open_snapshot(&house);
    struct route_context context = {
        .questions = before, .question_count = 1, .names = true};
    struct route_request request =
        request_of("what is its default", ROUTE_AUTO);
    request.context = &context;
    struct route_result result = routed(&house, &request);
    assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                        "hash_mem default");
    route_result_free(&result);
    context.points = true;
    result = routed(&house, &request);
    assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                        "work_mem");
    route_result_free(&result);
    close_house(&house);
}

static const struct section proxy[] = {
    {TREE_NONE, "Proxy", "", NONE, NONE},
    {0, "Client timeout", "client timeout, client, timeout, client", NONE,
     NONE},
    {0, "4.2. Timeout clients", "until nothing is heard", NONE, NONE},
    {0, "Query", "query, queries, queries", NONE, NONE},
    {0, "Queries", "what is asked", NONE, NONE},
};

/* What a question asks about, without the words around it and in either number, is a
 * name, too; "all" is a word, "--all" none. */
static void what_is_called_as_the_subject_comes_first(void **state)
{
    (void)state;
    static const struct {
        const char *question, *first;
    } cases[] = {
        {"client timeout of that", "Client timeout"},
        {"What does timeout client do in Proxy?", "4.2. Timeout clients"},
        {"proxy timeout client", "4.2. Timeout clients"},
        {"Queries", "Queries"},
        {"is timeout client also --all", "Client timeout"}};
    struct house house;
    open_house(&house);
    add_manual(&house, "proxy", proxy, COUNT(proxy));
    add_manual(&house, "engine", engine, COUNT(engine));
    open_snapshot(&house);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct route_request request =
            request_of(cases[i].question, ROUTE_AUTO);
        struct route_result result = routed(&house, &request);
        assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                            cases[i].first);
        route_result_free(&result);
    }
    close_house(&house);
}

/* Of "work_mem=64" the name and the value count, not that nobody wrote both; an option
 * is a name. */
static void a_name_with_a_value_is_no_unknown_name(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    add_server(&house);
    open_snapshot(&house);
    struct route_request request =
        request_of("what is work_mem=64", ROUTE_AUTO);
    struct route_result result = routed(&house, &request);
    assert_true(result.features[CONFIDENCE_MISSING] <= 0);
    route_result_free(&result);
    static const char *const unknown[] = {"what is other_mem",
                                          "what is --work"};
    for (size_t i = 0; i < COUNT(unknown); i++) {
        request.query = unknown[i];
        result = routed(&house, &request);
        assert_true(result.features[CONFIDENCE_MISSING] > 0);
        route_result_free(&result);
    }
    close_house(&house);
}

/* A manual without memories is descended by its words. */
static void each_manual_is_descended_as_it_can_be(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    uint32_t id = add_manual(&house, "engine", engine, COUNT(engine));
    add_manual(&house, "garden", garden, COUNT(garden));
    open_snapshot(&house);
    put_vectors(&house, id, first_id(&house, "engine"), engine, COUNT(engine),
                policy);
    refresh(&house);
    struct route_request request = request_of("pond water", ROUTE_TREE);
    struct route_result result = routed(&house, &request);
    assert_non_null(hit_of(&result, "Timing"));
    assert_int_equal(hit_of(&result, "Ponds")->by[ROUTE_BY_TERMS].rank, 1);
    for (size_t i = 0; i < result.step_count; i++)
        assert_int_equal(result.steps[i].ranking,
                         strcmp(result.steps[i].view->manual.name, "engine")
                             ? ROUTE_BY_TERMS
                             : ROUTE_BY_TREE);
    route_result_free(&result);
    close_house(&house);
}

static void assert_refused(const struct house *house,
                           const struct route_request *request,
                           const char *part)
{
    struct route_result result;
    struct err err = {0};
    assert_int_equal(route_question(house->snapshot, request, &result, &err),
                     ERR_MODEL);
    assert_non_null(strstr(err.message, part));
}

static void dense_says_what_it_lacks(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, (struct hash128){9, 9});
    struct route_request request = request_of("water", ROUTE_DENSE);
    assert_refused(&house, &request, "lectern wait");
    request.vector = NULL;
    assert_refused(&house, &request, "needs a model");
    close_house(&house);
}

/* ---- The library ---- */

static void new_vectors_are_read(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    uint32_t id = add_manual(&house, "engine", engine, COUNT(engine));
    open_snapshot(&house);
    const struct view *before = house.snapshot->views[0];
    assert_null(before->vectors);
    refresh(&house);
    assert_ptr_equal(house.snapshot->views[0], before);
    put_vectors(&house, id, first_id(&house, "engine"), engine, 4, policy);
    refresh(&house);
    const struct view *now = house.snapshot->views[0];
    assert_non_null(now->vectors);
    assert_int_equal(vectors_segments(now->vectors), 6);
    assert_true(fabsf(vectors_own(now->vectors, question, 2) - 0.95F) <= 1e-3F);
    assert_true(vectors_own(now->vectors, question, 5) <= -2);
    close_house(&house);
}

static void damaged_vectors_are_left_out(void **state)
{
    (void)state;
    struct house house;
    engine_house(&house, policy);
    struct store_txn *txn;
    uint32_t id = house.snapshot->views[0]->manual.id;
    assert_int_equal(store_write(house.store, &txn, NULL), 0);
    assert_int_equal(store_put_vectors(txn, id, slice_of("rubbish"), NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    refresh(&house);
    assert_int_equal(house.snapshot->count, 1);
    assert_null(house.snapshot->views[0]->vectors);
    close_house(&house);
}

static const struct section nested[] = {
    {TREE_NONE, "Pump manual", "", NONE, NONE},
    {0, "Pumps", "", NONE, NONE},
    {1, "Water", "oil", NONE, NONE},
    {2, "Oil", "", NONE, NONE},
    {3, "Seals", "water", NONE, NONE},
    {0, "Belts", "pump belt", NONE, NONE},
    {5, "Timing", "gear", NONE, NONE},
    {0, "Oil", "filter", NONE, NONE},
    {7, "Filters", "", NONE, NONE},
};

/* Does a title above the node, the manual's own aside, hold the term? */
static bool is_below(const struct tree *outline, const struct matches *matches,
                     uint32_t node, size_t term)
{
    for (uint32_t n = outline->nodes[node].parent; n && n != TREE_NONE;
         n = outline->nodes[n].parent)
        if (matches_row(matches, n).of[term].title)
            return true;
    return false;
}

static void rows_of_nothing_are_told(void **state)
{
    (void)state;
    struct house house;
    struct query query;
    struct store_txn *txn;
    struct matches matches;
    size_t paths = 0;
    open_house(&house);
    add_manual(&house, "nested", nested, COUNT(nested));
    open_snapshot(&house);
    const struct view *view = house.snapshot->views[0];
    query_parse("pump water oil", &query);
    assert_int_equal(query.count, 3);
    assert_int_equal(store_read(house.store, &txn, NULL), 0);
    assert_int_equal(lexical_match(txn, view, &query, &matches, NULL), 0);
    store_end(txn);
    for (uint32_t n = 0; n < COUNT(nested); n++) {
        bool own = false, head = false;
        struct match_row row = matches_row(&matches, n);
        for (size_t t = 0; t < query.count; t++) {
            const struct match *match = &row.of[t];
            own |= match_holds(match);
            head |= match->title || match->path;
            paths += match->path;
            assert_int_equal(match->path,
                             is_below(view->outline, &matches, n, t));
        }
        assert_int_equal(matches_has(&matches, n), own || head);
        uint32_t place = matches_from(&matches, n);
        assert_true(place <= matches.count);
        assert_true(place == matches.count || matches.nodes[place].node >= n);
        assert_true(!place || matches.nodes[place - 1].node < n);
        assert_int_equal(matches_has(&matches, n) &&
                             matches_first(&matches, place) <
                                 matches.nodes[place].end,
                         own);
    }
    assert_int_equal(paths, 7);
    assert_int_equal(view->nodes[0].owned, view->owners);
    assert_int_equal(view->nodes[1].owned, 2);
    query_free(&query);
    matches_free(&matches);
    close_house(&house);
}

/* ---- Every node compared with the question's words, one by one ---- */

static const char *const parts[] = {"pump", "oil",  "belt", "gear",
                                    "seal", "fuse", "fan",  "disc"};

static void put_words(struct buf *text, uint64_t *seed, uint32_t max)
{
    for (uint32_t i = unit_below(seed, max + 1); i-- > 0;)
        buf_printf(text, "%s ", parts[unit_below(seed, COUNT(parts))]);
}

static uint32_t times_in(const char *text, const char *word)
{
    uint32_t times = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        times++;
    return times;
}

/* The row of a node, from the sections' own words. */
static void fill_row(const struct section *sections, uint32_t node,
                     const struct query *query, struct match *row)
{
    for (size_t t = 0; t < query->count; t++) {
        const char *word = query->terms[t].term;
        uint32_t title = times_in(sections[node].title, word);
        row[t] = (struct match){
            .body = (uint16_t)times_in(sections[node].text, word),
            .title = (uint8_t)(title < 3 ? title : 3)};
        for (uint32_t n = sections[node].parent; n && n != TREE_NONE;
             n = sections[n].parent)
            row[t].path |= times_in(sections[n].title, word) > 0;
    }
}

static void make_sections(struct section *sections, uint32_t count,
                          uint64_t *seed)
{
    for (uint32_t n = 0; n < count; n++) {
        struct buf title = {0}, text = {0};
        put_words(&title, seed, n % 4 ? 0 : 2);
        buf_printf(&title, "%u", n); /* so that no question is its name */
        put_words(&text, seed, n % 3 * 4);
        /* in document order: below the one before, or beside one above it */
        uint32_t parent = n ? n - 1 : (uint32_t)TREE_NONE;
        for (uint32_t up = unit_below(seed, 4); up-- > 0 && parent && n;)
            parent = sections[parent].parent;
        sections[n] = (struct section){
            parent, mem_strndup(title.data, title.size),
            mem_strndup(text.size ? text.data : "", text.size), NONE, NONE};
        buf_free(&title);
        buf_free(&text);
    }
}

/* All nodes of the view by their scores, as rank_lexical has them. */
static void rank_all_nodes(const struct section *sections,
                           const struct view *view, struct query *query,
                           struct ranking *ranking)
{
    uint32_t count = view->outline->count;
    struct match *rows = mem_alloc(count * query->count * sizeof *rows);
    for (uint32_t n = 0; n < count; n++) {
        fill_row(sections, n, query, &rows[n * query->count]);
        for (size_t t = 0; t < query->count && *sections[n].text; t++)
            query->terms[t].nodes += match_holds(&rows[n * query->count + t]);
    }
    query_weigh(query, view->owners, view->mean_words);
    for (uint32_t n = 0; n < count; n++) {
        double score = lexical_score(query, view, n, &rows[n * query->count]);
        bool own = *sections[n].text;
        for (size_t t = 0; t < query->count; t++)
            own |= match_holds(&rows[n * query->count + t]);
        if (score > 0 && own)
            ranking_add(ranking, 0, n, score);
    }
    ranking_sort(ranking, ranking->count);
    free(rows);
}

static void the_ranking_is_that_of_all_nodes(void **state)
{
    (void)state;
    enum { NODES = 600, QUESTIONS = 40, FEW = 20 };
    struct section *sections = mem_alloc(NODES * sizeof *sections);
    struct house house;
    uint64_t seed = 11;
    size_t found = 0;
    make_sections(sections, NODES, &seed);
    open_house(&house);
    add_manual(&house, "made", sections, NODES);
    open_snapshot(&house);
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        struct query query;
        struct ranking all = {0};
        struct route_result result;
        struct buf text = {0};
        put_words(&text, &seed, 4);
        buf_printf(&text, "%s", parts[i % COUNT(parts)]);
        const char *asked = text.data;
        query_parse(asked, &query);
        rank_all_nodes(sections, house.snapshot->views[0], &query, &all);
        /* Of few that are wanted most others need not be scored. */
        struct route_request request = {
            .query = asked, .mode = ROUTE_LEXICAL, .max = i % 2 ? NODES : FEW};
        assert_int_equal(
            route_question(house.snapshot, &request, &result, NULL), 0);
        assert_int_equal(result.count,
                         all.count < request.max ? all.count : request.max);
        for (size_t h = 0; h < result.count; h++) {
            assert_int_equal(result.hits[h].node, all.items[h].node);
            assert_true(result.hits[h].by[ROUTE_BY_LEXICAL].score ==
                        all.items[h].score);
        }
        found += all.count;
        route_result_free(&result);
        query_free(&query);
        free(all.items);
        buf_free(&text);
    }
    assert_true(found > (size_t)QUESTIONS * 20);
    close_house(&house);
    for (uint32_t n = 0; n < NODES; n++) {
        free((char *)(uintptr_t)sections[n].title);
        free((char *)(uintptr_t)sections[n].text);
    }
    free(sections);
}

/* As sorting all and cutting does, also among equals. */
static void few_of_many_are_sorted(void **state)
{
    (void)state;
    enum { ITEMS = 500 };
    uint64_t seed = 7;
    for (size_t max = 0; max <= ITEMS + 1; max += 1 + max / 3) {
        struct ranking some = {0}, all = {0};
        for (uint32_t n = 0; n < ITEMS; n++) {
            double score = unit_below(&seed, 40);
            ranking_add(&some, n % 3, n, score);
            ranking_add(&all, n % 3, n, score);
        }
        ranking_sort(&some, max);
        ranking_sort(&all, ITEMS);
        assert_int_equal(some.count, max < ITEMS ? max : ITEMS);
        for (size_t i = 0; i < some.count; i++) {
            assert_int_equal(some.items[i].node, all.items[i].node);
            assert_true(!i || all.items[i].score <= all.items[i - 1].score);
        }
        free(some.items);
        free(all.items);
    }
}

/* Whether a manual's links are followed holds from the moment it is said, not
 * from its next generation. */
static void what_links_may_do_is_not_the_generations(void **state)
{
    (void)state;
    static const struct section sections[] = {{TREE_NONE, "m", "", NONE, NONE},
                                              {0, "A", "one", NONE, NONE}};
    struct house house;
    struct manual manual;
    struct store_txn *txn;
    open_house(&house);
    uint32_t id = add_manual(&house, "m", sections, 2);
    open_snapshot(&house);
    assert_false(house.snapshot->views[0]->manual.all_links);
    assert_int_equal(store_write(house.store, &txn, NULL), 0);
    assert_int_equal(store_get_manual(txn, id, &manual, NULL), 0);
    manual.all_links = true;
    assert_int_equal(store_put_manual(txn, &manual, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    manual_free(&manual);
    assert_int_equal(library_refresh(house.library, NULL), 0);
    snapshot_unref(house.snapshot);
    house.snapshot = library_snapshot(house.library);
    assert_true(house.snapshot->views[0]->manual.all_links);
    close_house(&house);
}

/* Of a question whose words stand in one section, and of the same with words that
 * stand nowhere. */
static void confidence_is_in_what_is_found(void **state)
{
    (void)state;
    static const char *const questions[] = {
        "timing belt gear", "timing belt zeppelin", "zeppelin hangar belt"};
    struct house house;
    double before = 1;
    engine_house(&house, policy);
    for (size_t i = 0; i < 3; i++) {
        struct route_request request = request_of(questions[i], ROUTE_AUTO);
        struct route_result result = routed(&house, &request);
        assert_true(result.confidence > 0 && result.confidence < before);
        before = result.confidence;
        assert_true(result.confidence >=
                    confidence_from(result.features, true));
        for (int f = 0; f < CONFIDENCE_FEATURES; f++)
            assert_true(result.features[f] >= 0);
        route_result_free(&result);
    }
    assert_true(before < route_min_confidence);
    struct route_request request = request_of("zeppelin", ROUTE_LEXICAL);
    struct route_result result = routed(&house, &request);
    assert_true(result.confidence == 0);
    route_result_free(&result);
    close_house(&house);
}

static const struct section pointers[] = {
    {TREE_NONE, "Pointers", "", NONE, NONE}, {0, "See also", "spring", -2, -2},
    {0, "See also", "spring", -2, -2},       {0, "See also", "spring", -2, -2},
    {0, "See also", "spring", -2, -2},
};

/* They lose as much as the best can have. */
static void pointers_alone_have_a_confidence(void **state)
{
    struct house house;
    (void)state;
    open_house(&house);
    add_manual(&house, "pointers", pointers, COUNT(pointers));
    open_snapshot(&house);
    struct route_request request = request_of("spring", ROUTE_LEXICAL);
    struct route_result result = routed(&house, &request);
    assert_int_equal(result.count, COUNT(pointers) - 1);
    assert_true(result.features[CONFIDENCE_MARGIN] >= 0 &&
                result.features[CONFIDENCE_MARGIN] <= 1);
    assert_true(result.confidence > 0 && result.confidence < 1);
    route_result_free(&result);
    close_house(&house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_finds_what_words_do_not),
        cmocka_unit_test(without_vectors_words_decide),
        cmocka_unit_test(descent_by_memories_keeps_its_beam),
        cmocka_unit_test(weights_decide),
        cmocka_unit_test(models_made_to_embed_count_more),
        cmocka_unit_test(behind_five_results_meaning_has_its_turn),
        cmocka_unit_test(memories_count_less_where_words_find_all),
        cmocka_unit_test(explained_hits_add_up),
        cmocka_unit_test(confidence_is_in_what_is_found),
        cmocka_unit_test(pointers_alone_have_a_confidence),
        cmocka_unit_test(only_what_is_asked_for_is_found),
        cmocka_unit_test(threads_find_what_one_finds),
        cmocka_unit_test(what_stands_beside_the_matter_is_behind),
        cmocka_unit_test(a_manual_named_whole_comes_first),
        cmocka_unit_test(what_is_pointed_back_at_comes_first),
        cmocka_unit_test(a_name_with_a_value_is_no_unknown_name),
        cmocka_unit_test(what_is_called_as_the_subject_comes_first),
        cmocka_unit_test(a_manuals_name_tells_none_of_its_sections),
        cmocka_unit_test(each_manual_is_descended_as_it_can_be),
        cmocka_unit_test(dense_says_what_it_lacks),
        cmocka_unit_test(new_vectors_are_read),
        cmocka_unit_test(damaged_vectors_are_left_out),
        cmocka_unit_test(rows_of_nothing_are_told),
        cmocka_unit_test(few_of_many_are_sorted),
        cmocka_unit_test(what_links_may_do_is_not_the_generations),
        cmocka_unit_test(the_ranking_is_that_of_all_nodes),
    };
    return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
