#include "tests/unit/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/lexical/lexical.h"
#include "memory/lexical/parts.h"

static struct store *open_store(const char *folder)
{
    struct store *store;
    struct store_options options = {.folder = folder, .max_bytes = 1 << 28};
    assert_int_equal(store_open(&options, &store, NULL), 0);
    return store;
}

static void put_nodes(struct query *query, const uint32_t *nodes)
{
    for (size_t t = 0; t < query->count; t++)
        query->terms[t].nodes = nodes[t];
}

static double weight_of(const struct query *query, const char *term)
{
    int t = query_find(query, slice_of(term));
    assert_true(t >= 0);
    return query->terms[t].weight;
}

static void conversation_counts_less_than_the_subject(void **state)
{
    (void)state;
    struct query query;
    query_parse("A friend told me yesterday about VACUUM", &query);
    put_nodes(&query, (uint32_t[]){0, 1, 0, 30});
    query_weigh(&query, 1000, 200);
    assert_int_equal(query.count, 4);
    assert_true(weight_of(&query, "friend") < 0.1);
    assert_true(weight_of(&query, "told") < 0.1);
    assert_true(weight_of(&query, "yesterday") < 0.1);
    assert_true(weight_of(&query, "vacuum") >= 1);
    query_free(&query);
}

static void words_of_a_phrase_are_all_meant(void **state)
{
    (void)state;
    struct query query;
    query_parse("number, random, of a table", &query);
    put_nodes(&query, (uint32_t[]){1, 3, 9});
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "number") >= 1);
    query_free(&query);
    query_parse("How is a random number made?", &query);
    put_nodes(&query, (uint32_t[]){3, 1, 1});
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "number") < 0.1);
    query_free(&query);
}

/* What other languages ask with is a subject elsewhere. */
static void questions_are_asked_in_other_languages_too(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"Wie kann ich das Passwort eines Benutzers setzen?",
         "passwort benutzers setzen"},
        {"Comment supprimer un paquet ?", "supprimer paquet"},
        {"Où sont les journaux du système ?", "journaux système"},
        {"¿Cómo puedo borrar un paquete?", "borrar paquete"},
        {"Come posso cancellare un pacchetto?", "cancellare pacchetto"},
        {"Como posso apagar um pacote?", "apagar pacote"},
        {"Hoe kan ik een pakket verwijderen?", "pakket verwijderen"},
        {"What is the size of the die?", "size die"},
        {"how do I comment a line in de_DE", "comment line =de_de de"},
        {"der die", "der die"}, /* nothing else is asked */
        {"openssl rsa key der des", "openssl rsa key der des"},
        {"list ad users per domain", "list ad users per domain"},
        {"ip route del dev lo", "ip route del dev lo"},
        {"如何删除软件包？", "删除 除软 软件 件包"},
        {"apt 和 aptitude 有什么区别", "apt aptitude 区别"},
        {"如何设置请求头", "设置 请求 求头"},
        {"可以使用密码吗", "以使 用密 密码"},
        {"パスワードを変更する", "パス スワ ワー ード 変更 更す"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct query query;
        struct buf words = {0};
        query_parse(cases[i].text, &query);
        for (size_t t = 0; t < query.count; t++)
            buf_printf(&words, "%s%s", t ? " " : "", query.terms[t].word);
        assert_string_equal(words.data, cases[i].words);
        buf_free(&words);
        query_free(&query);
    }
}

/* "Difference between" asks; a "time difference" is a thing. */
static void a_difference_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool counts;
    } cases[] = {{"difference between pump and tank", false},
                 {"difference of pump and tank", true},
                 {"time difference pump", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct query query;
        query_parse(cases[i].text, &query);
        for (size_t t = 0; t < query.count; t++)
            if (slice_starts(slice_of(query.terms[t].word),
                             slice_of("difference")))
                assert_int_equal(query.terms[t].frequency == 0,
                                 cases[i].counts);
        assert_true(query.count >= 3);
        query_free(&query);
    }
}

static void capitals_are_no_conversation(void **state)
{
    (void)state;
    struct query query;
    query_parse("What is GIVEN?", &query);
    put_nodes(&query, (uint32_t[]){1});
    query_weigh(&query, 1000, 200);
    assert_true(query.terms[0].weight >= 1);
    query_free(&query);
}

/* A question of many words has more terms with those that may stand in for them than
 * there are bits for wholes. */
static void what_stands_in_is_no_whole(void **state)
{
    (void)state;
    struct query query = {.count = QUERY_MAX_ASKED + 2};
    for (size_t t = 0; t < query.count; t++)
        query.terms[t] = (struct query_term){.term = mem_strdup("busi"),
                                             .word = mem_strdup("busy"),
                                             .trust = 1,
                                             .share = 1,
                                             .nodes = t >= QUERY_MAX_ASKED};
    query.terms[0].within = 1 << 1;
    query_weigh(&query, 1000, 200);
    assert_true(query.terms[0].weight >= 1);
    query.terms[1].nodes = 1;
    query_weigh(&query, 1000, 200);
    assert_true(query.terms[0].weight < 0.5);
    query_free(&query);
}

/* Parts count in full only when nothing holds the whole. */
static void parts_stand_in_for_the_whole(void **state)
{
    (void)state;
    struct query query;
    query_parse("set busy_timeout", &query);
    put_nodes(&query, (uint32_t[]){9, 3, 5, 5});
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "busi") < 0.5);
    assert_true(weight_of(&query, "=busy_timeout") >= 1);
    put_nodes(&query, (uint32_t[]){9, 0, 5, 5});
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "busi") >= 1);
    query_free(&query);
}

/* ---- Spelling ---- */

static void index_words(struct store *store, const char *text)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of("t"), slice_of(""));
    tree_add_block(tree, 0, BLOCK_PARAGRAPH, slice_of(text), slice_of(""),
                   (struct origin){0, {0, 1}});
    assert_int_equal(tree_seal(tree, NULL), 0);
    struct lexical_delta *delta = lexical_delta_new();
    lexical_add(delta, 1, &tree->nodes[0]);
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(lexical_apply(txn, 1, 1, delta, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    lexical_delta_free(delta);
    tree_free(tree);
}

static void correct(struct store *store, const char *text, struct query *query)
{
    struct view view = {.manual = {.id = 1, .epoch = 1}};
    const struct view *views[] = {&view};
    struct store_txn *txn;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    query_parse(text, query);
    assert_int_equal(query_correct(query, txn, views, 1, NULL), 0);
    store_end(txn);
}

/* The term of a question of one word. */
static void assert_becomes(struct store *store, const char *text,
                           const char *expected)
{
    struct query query;
    correct(store, text, &query);
    const struct query_term *term = &query.terms[0];
    assert_string_equal(term->term, expected);
    if (term->written) {
        assert_string_equal(term->written, term->word);
        assert_true(term->trust > 0 && term->trust < 1);
    } else {
        assert_true(term->trust >= 1);
    }
    query_free(&query);
}

static void misspelt_words_become_the_nearest(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    index_words(store, "vacuum replication tablespace scan pg_stat_activity "
                       "checkpoint cable concurrency");
    assert_becomes(store, "vacum", "vacuum");
    assert_becomes(store, "vaccumm", "vaccumm"); /* two edits, short */
    assert_becomes(store, "replicaton", "replic");
    assert_becomes(store, "erplication", "replic");
    assert_becomes(store, "tablspaec", "tablespac");
    assert_becomes(store, "checkpionts", "checkpoint");
    assert_becomes(store, "pg_stat_activty", "=pg_stat_activity");
    assert_becomes(store, "concurancy", "concurr");
    assert_becomes(store, "scan", "scan");
    assert_becomes(store, "scn", "scn");
    assert_becomes(store, "kubernetes", "kubernet");
    assert_becomes(store, "table", "cabl");
    assert_becomes(store, "give", "give");
    assert_becomes(store, "12345", "12345");
    store_close(store);
    unit_folder_remove(folder);
}

static void marks_on_letters_are_hardly_edits(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    index_words(store,
                "bézier überblick müller muller naive decoupage カス für "
                "mesures știre");
    assert_becomes(store, "Bezier", "bézier");
    assert_becomes(store, "uberblick", "überblick");
    assert_becomes(store, "muller", "muller");
    assert_becomes(store, "naïve", "naiv");
    assert_becomes(store, "bèzier", "bézier");
    assert_becomes(store, "ştire", "știre");
    assert_becomes(store, "stire", "știre");
    assert_becomes(store, "découpages", "decoupag");
    assert_becomes(store, "ガス", "ガス"); /* another letter */
    assert_becomes(store, "fur", "fur");   /* too short */
    assert_becomes(store, "mésure", "mesur");
    assert_becomes(store, "bèzierr", "bèzierr"); /* a mark and an edit */
    store_close(store);
    unit_folder_remove(folder);
}

/* Asserts the last term of a question that is being typed. */
static void assert_goes_on(struct store *store, const char *typed,
                           const char *expected)
{
    struct view view = {.manual = {.id = 1, .epoch = 1}};
    const struct view *views[] = {&view};
    struct store_txn *txn;
    struct query query;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    query_parse(typed, &query);
    assert_int_equal(query_complete(&query, typed, txn, views, 1, NULL), 0);
    assert_true(query_find(&query, slice_of(expected)) >= 0);
    store_end(txn);
    query_free(&query);
}

static void the_word_that_is_typed_becomes_the_most_common(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    index_words(store, "vacuum value tablespace max_connections tabular "
                       "tablespace tablespace concurrency");
    assert_goes_on(store, "how to Vacu", "vacuum");
    assert_goes_on(store, "tab", "tablespac");
    assert_goes_on(store, "tabu", "tabular");
    assert_goes_on(store, "MAX_CONN", "=max_connections");
    assert_goes_on(store, "vacu value", "vacu");  /* not the last */
    assert_goes_on(store, "vacuum vacu", "vacu"); /* it is there already */
    assert_goes_on(store, "va", "va");
    assert_goes_on(store, "value", "valu");
    assert_goes_on(store, "zeb", "zeb");
    store_close(store);
    unit_folder_remove(folder);
}

/* 5 ms are promised; slow builds get more. */
static void a_large_index_is_searched_fast(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct buf text = {0};
    uint64_t seed = 7;
    for (int i = 0; i < 100000; i++) {
        for (uint32_t n = 5 + unit_below(&seed, 8); n > 0; n--)
            buf_put_byte(&text, 'a' + (int)unit_below(&seed, 26));
        buf_put_byte(&text, ' ');
    }
    index_words(store, text.data);
    double min = 1;
    for (int i = 0; i < 5; i++) {
        struct query query;
        double start = unit_seconds();
        correct(store, "qqqqwwwwqqqqwwww", &query);
        double taken = unit_seconds() - start;
        assert_null(query.terms[0].written);
        min = taken < min ? taken : min;
        query_free(&query);
    }
    print_message("%.2f ms\n", 1e3 * min);
    assert_true(min < 0.05);
    buf_free(&text);
    store_close(store);
    unit_folder_remove(folder);
}

/* ---- Parts ---- */

static const struct query_term *term_of(const struct query *query,
                                        const char *term)
{
    int index = query_find(query, slice_of(term));
    return index < 0 ? NULL : &query->terms[index];
}

static void assert_parts(const char *text, const char *expected)
{
    struct slice parts[QUESTION_MAX_PARTS];
    struct buf said = {0};
    size_t count = question_parts(slice_of(text), parts);
    for (size_t p = 0; p < count; p++) {
        buf_put_text(&said, p ? "|" : "");
        buf_put_slice(&said, parts[p]);
    }
    assert_string_equal(said.data ? said.data : "", expected);
    buf_free(&said);
}

static void a_question_of_two_parts_is_split(void **state)
{
    (void)state;
    assert_parts("what does it do, and how is it turned off?",
                 "what does it do,|and how is it turned off?");
    assert_parts("Is it lost? How often is one written?",
                 "Is it lost?|How often is one written?");
    assert_parts("the red and the black", "the red and the black");
    assert_parts("why? and what now then", "why? and what now then");
    assert_parts("black and white and are these the colours",
                 "black and white|and are these the colours");
    assert_parts("a b; c d; e f; g h; i j", "a b;|c d;|e f;|g h; i j");
    assert_parts("", "");
    struct query query;
    query_parse("which valve leaks, and what does a valve cost?", &query);
    assert_int_equal(query.parts, 2);
    assert_int_equal(term_of(&query, "valv")->parts, 3);
    assert_int_equal(term_of(&query, "leak")->parts, 1);
    assert_int_equal(term_of(&query, "cost")->parts, 2);
    query_free(&query);
}

/* A part is not read again at each question mark. */
static void many_questions_cost_once(void **state)
{
    enum { QUESTIONS = 1 << 18 };
    (void)state;
    struct slice parts[QUESTION_MAX_PARTS];
    struct buf text = {0};
    for (int i = 0; i < QUESTIONS; i++)
        buf_put_text(&text, "a? ");
    double start = unit_seconds();
    assert_int_equal(question_parts(buf_slice(&text), parts),
                     QUESTION_MAX_PARTS);
    assert_true(unit_seconds() - start < 10);
    buf_free(&text);
}

/* ---- What may stand in a word's place ---- */

static void alternatives(struct store *store, const char *text,
                         struct query *query)
{
    struct view view = {.manual = {.id = 1, .epoch = 1}};
    const struct view *views[] = {&view};
    struct store_txn *txn;
    correct(store, text, query);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(query_alternatives(query, text, txn, views, 1, NULL), 0);
    store_end(txn);
}

static void synonyms_and_compounds_stand_in(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    index_words(store, "remove timezone login stop terminal italics directory");
    struct query query;
    alternatives(store, "deleting the time zone", &query);
    assert_int_equal(query.count, 5);
    assert_int_equal(term_of(&query, "remov")->instead_of, 1);
    assert_int_equal(term_of(&query, "timezon")->instead_of, 2 | 4);
    query_free(&query);
    alternatives(store, "log in with folders", &query);
    assert_int_equal(term_of(&query, "login")->instead_of, 1);
    assert_non_null(term_of(&query, "directori"));
    query_free(&query);
    /* Another word of the same stem, and what a sentence joins by chance. */
    alternatives(store, "keep it alive in the terminal", &query);
    assert_null(term_of(&query, "ital"));
    assert_null(term_of(&query, "stop"));
    query_free(&query);
    struct buf many = {0};
    for (int i = 0; i < 40; i++)
        buf_printf(&many, "word%c%c ", 'a' + i / 8, 'a' + i % 8);
    buf_put_text(&many, "log in time zone login");
    alternatives(store, many.data, &query);
    for (size_t t = QUERY_MAX_ASKED; t < query.count; t++)
        assert_true(query.terms[t].instead_of);
    query_free(&query);
    buf_free(&many);
    alternatives(store, "stopped it", &query);
    assert_null(term_of(&query, "cancel")); /* nothing has it */
    query_free(&query);
    store_close(store);
    unit_folder_remove(folder);
}

/* "Back" is an everyday word, "log" is none. */
static void a_verb_of_common_words_counts_as_what_it_stands_for(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    index_words(store, "backup login");
    struct query query;
    alternatives(store, "how do I back up the pump and log in", &query);
    for (size_t t = 0; t < query.count; t++)
        query.terms[t].nodes = 10;
    query_weigh(&query, 1000, 200);
    assert_true(term_of(&query, "backup")->weight >
                10 * term_of(&query, "back")->weight);
    assert_true(term_of(&query, "backup")->weight <
                term_of(&query, "pump")->weight);
    assert_true(term_of(&query, "login")->weight <
                term_of(&query, "backup")->weight);
    query_free(&query);
    store_close(store);
    unit_folder_remove(folder);
}

static void what_stands_in_counts_less_and_once(void **state)
{
    (void)state;
    struct query query = {.count = 3};
    static const char *const names[] = {"delet", "file", "remov"};
    for (int i = 0; i < 3; i++)
        query.terms[i] = (struct query_term){.term = mem_strdup(names[i]),
                                             .word = mem_strdup(names[i]),
                                             .trust = 1,
                                             .share = 1,
                                             .nodes = 10};
    query.terms[2].instead_of = 1;
    query_weigh(&query, 1000, 100);
    assert_true(query.terms[2].weight < query.terms[0].weight);
    struct view_node node = {.words = 100, .title_words = 1, .names = 0};
    struct view view = {
        .nodes = &node, .mean_words = 100, .mean_title_words = 1};
    struct match own[3] = {{.body = 1}}, other[3] = {[2] = {.body = 1}},
                 both[3] = {{.body = 1}, {0}, {.body = 1}};
    double score = lexical_score(&query, &view, 0, own);
    assert_true(lexical_score(&query, &view, 0, other) < score);
    assert_true(lexical_score(&query, &view, 0, other) > 0);
    assert_float_equal(lexical_score(&query, &view, 0, both), score, 1e-12);
    query_free(&query);
}

/* 片加 of 图片 and 加边框, in a question that has no spaces. */
static void what_stands_between_words_counts_little(void **state)
{
    (void)state;
    static const struct {
        const char *pair;
        uint32_t nodes;
    } pairs[] = {{"图片", 9}, {"片加", 0}, {"加边", 9},
                 {"边框", 9}, {"框色", 0}, {"色号", 0}};
    struct query query = {.count = 6};
    for (size_t i = 0; i < query.count; i++)
        query.terms[i] = (struct query_term){.term = mem_strdup(pairs[i].pair),
                                             .word = mem_strdup(pairs[i].pair),
                                             .trust = 1,
                                             .share = 1,
                                             .nodes = pairs[i].nodes};
    query_weigh(&query, 1000, 100);
    for (size_t i = 0; i < query.count; i++)
        assert_true(fabs(query.terms[i].weight - (i == 1 ? .02 : 1)) < 1e-9);
    query_free(&query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_is_asked_for),
        cmocka_unit_test(conversation_counts_less_than_the_subject),
        cmocka_unit_test(questions_are_asked_in_other_languages_too),
        cmocka_unit_test(words_of_a_phrase_are_all_meant),
        cmocka_unit_test(capitals_are_no_conversation),
        cmocka_unit_test(parts_stand_in_for_the_whole),
        cmocka_unit_test(what_stands_in_is_no_whole),
        cmocka_unit_test(misspelt_words_become_the_nearest),
        cmocka_unit_test(marks_on_letters_are_hardly_edits),
        cmocka_unit_test(the_word_that_is_typed_becomes_the_most_common),
        cmocka_unit_test(a_large_index_is_searched_fast),
        cmocka_unit_test(a_question_of_two_parts_is_split),
        cmocka_unit_test(many_questions_cost_once),
        cmocka_unit_test(synonyms_and_compounds_stand_in),
        cmocka_unit_test(a_verb_of_common_words_counts_as_what_it_stands_for),
        cmocka_unit_test(what_stands_in_counts_less_and_once),
        cmocka_unit_test(what_stands_between_words_counts_little),
    };
    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
