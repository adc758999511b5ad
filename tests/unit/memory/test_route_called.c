/* What is called as the question names it is found, however many say the name. */
#include "tests/unit/support/route_fixtures.h"

#include "base/mem.h"

#define SAYS "pump_t run(pump_t a, pump_t b); valve valve valve valve valve. "

enum { SAYING = 150, ALL = SAYING + 3 };

/* A type, which each of many functions names more often than its own section does. */
static void make(struct section *sections)
{
    sections[0] = (struct section){TREE_NONE, "Pumps", "", NONE, NONE};
    sections[1] = (struct section){0, "pump_t",
                                   "What holds the state of one "
                                   "that runs, from start to end.",
                                   NONE, NONE};
    sections[2] = (struct section){0, "Valve",
                                   "What opens and what closes, "
                                   "where water goes.",
                                   NONE, NONE};
    for (size_t i = 3; i < ALL; i++)
        sections[i] = (struct section){
            0, "run", SAYS SAYS SAYS SAYS SAYS SAYS SAYS SAYS SAYS SAYS, NONE,
            NONE};
}

/* The first result is called so, and the next, unless it is NULL. */
static void check_leads(const struct house *house, const char *query, int mode,
                        const char *first, const char *next)
{
    struct route_request request = request_of(query, mode);
    struct route_result result = routed(house, &request);
    assert_true(result.count > (next != NULL));
    assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                        first);
    if (next)
        assert_string_equal(title_of(result.hits[1].view, result.hits[1].node),
                            next);
    route_result_free(&result);
}

static void what_is_called_so_is_found(void **state)
{
    struct section *sections = mem_alloc(ALL * sizeof *sections);
    struct house house;
    (void)state;
    make(sections);
    open_house(&house);
    put_texts(&house, add_manual(&house, "pumps", sections, ALL), sections,
              ALL);
    open_snapshot(&house);
    check_leads(&house, "pump_t", ROUTE_AUTO, "pump_t", "run");
    check_leads(&house, "pump_t", ROUTE_LEXICAL, "pump_t", "run");
    check_leads(&house, "what is pump_t", ROUTE_AUTO, "pump_t", "run");
    check_leads(&house, "valve", ROUTE_AUTO, "Valve", "run");
    close_house(&house);
    free(sections);
}

/* "It" is what was asked about, of which each function tells more than its own section. */
static void what_is_pointed_back_at_is_found(void **state)
{
    enum { OTHERS = 5000 };
    static const char *const before[] = {"what is pump_t"};
    struct section *sections = mem_alloc(OTHERS * sizeof *sections);
    struct house house;
    (void)state;
    make(sections);
    for (size_t i = 3; i < ALL; i++)
        sections[i].text = SAYS "Its layout, of pump_t: the layout, a layout.";
    for (size_t i = ALL; i < OTHERS; i++)
        sections[i] = (struct section){0, "Log", "what is logged", NONE, NONE};
    open_house(&house);
    add_manual(&house, "pumps", sections, OTHERS);
    open_snapshot(&house);
    struct route_context context = {.questions = before,
                                    .question_count = 1,
                                    .names = true,
                                    .points = true};
    struct route_request request = request_of("what is its layout", ROUTE_AUTO);
    request.context = &context;
    struct route_result result = routed(&house, &request);
    assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                        "pump_t");
    route_result_free(&result);
    close_house(&house);
    free(sections);
}

/* A manual of these sections among a hundred, so that their words tell much. */
static void add_among_others(struct house *house, const char *name,
                             const struct section *some, size_t count)
{
    enum { OTHERS = 100 };
    struct section sections[OTHERS];
    for (size_t i = 0; i < OTHERS; i++)
        sections[i] = i < count ? some[i]
                                : (struct section){0, "Log", "what is logged",
                                                   NONE, NONE};
    put_texts(house, add_manual(house, name, sections, OTHERS), sections,
              OTHERS);
}

/* Where nothing is called so, what defines a name comes before what says it often. */
static void what_defines_a_name_comes_first(void **state)
{
#define LONG "Water flows on and on until the tank is full or it is stopped. "
    static const struct section pumps[] = {
        {TREE_NONE, "Pumps", "", NONE, NONE},
        {0, "Tuning", "purge_ms=20 purge_ms=30 purge_ms=40 rinse_ms", NONE,
         NONE},
        {0, "Options",
         "fill_ms\n  " LONG LONG LONG LONG "\npurge_ms\n  " LONG LONG LONG LONG
         "\nrinse_ms\n  " LONG LONG LONG LONG,
         NONE, NONE},
        {0, "rinse_ms", LONG LONG LONG LONG, NONE, NONE},
        {0, "Notes", "purge delay, purge delay, purge delay", NONE, NONE},
        {0, "Times",
         "fill delay\n  " LONG LONG LONG LONG LONG
         "\npurge delay\n  " LONG LONG LONG LONG LONG LONG,
         NONE, NONE}};
#undef LONG
    static const struct {
        const char *question, *first;
    } cases[] = {
        {"purge_ms", "Options"},
        {"What does purge_ms mean?", "Options"},
        {"purge_ms 20 purge_ms 30", "Tuning"}, /* asks for more than it */
        {"rinse_ms", "rinse_ms"},
        {"What is the purge delay?", "Times"},
    };
    struct house house;
    (void)state;
    open_house(&house);
    add_among_others(&house, "pumps", pumps, sizeof pumps / sizeof *pumps);
    open_snapshot(&house);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_leads(&house, cases[i].question, ROUTE_AUTO, cases[i].first,
                    NULL);
        check_leads(&house, cases[i].question, ROUTE_LEXICAL, cases[i].first,
                    NULL);
    }
    close_house(&house);
}

#define DEFINES "purge_ms\n  How long water flows.\nrinse_ms\n  How often."

/* What another manual defines does not come before the manual that is asked about. */
static void what_the_named_manual_says_comes_first(void **state)
{
    static const struct section sprinklers[] = {
        {TREE_NONE, "sprinklers", "", NONE, NONE},
        {0, "Options", DEFINES, NONE, NONE}};
    static const struct section fountains[] = {
        {TREE_NONE, "fountains", "", NONE, NONE},
        {0, "Tuning", "Set purge_ms to twenty where water is cold.", NONE,
         NONE}};
    static const struct {
        const char *question;
        bool defining; /* comes first */
    } cases[] = {{"What does purge_ms mean?", true},
                 {"What does purge_ms mean in fountains?", false},
                 {"What does purge_ms mean in sprinklers?", true}};
    struct house house;
    (void)state;
    open_house(&house);
    add_among_others(&house, "sprinklers", sprinklers, 2);
    add_among_others(&house, "fountains", fountains, 2);
    open_snapshot(&house);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct route_request request =
            request_of(cases[i].question, ROUTE_LEXICAL);
        struct route_result result = routed(&house, &request);
        assert_int_equal(hit_of(&result, "Options") < hit_of(&result, "Tuning"),
                         cases[i].defining);
        route_result_free(&result);
    }
    close_house(&house);
}

/* Nor does what another manual has called so keep it from what it defines. */
static void what_others_call_so_does_not_count(void **state)
{
    static const struct section sprinklers[] = {
        {TREE_NONE, "sprinklers", "", NONE, NONE},
        {0, "purge_ms", "It is of no use today.", NONE, NONE},
        {0, "Spares", "Nozzles and hoses.", NONE, NONE}};
    static const struct section fountains[] = {
        {TREE_NONE, "fountains", "", NONE, NONE},
        {0, "Options", DEFINES, NONE, NONE},
        {0, "Tuning", "purge_ms=20 purge_ms=30 purge_ms=40", NONE, NONE}};
    struct house house;
    (void)state;
    open_house(&house);
    add_among_others(&house, "sprinklers", sprinklers, 3);
    add_among_others(&house, "fountains", fountains, 3);
    open_snapshot(&house);
    check_leads(&house, "What does purge_ms mean in fountains?", ROUTE_LEXICAL,
                "Options", NULL);
    close_house(&house);
}

/* The other side of a comparison comes next, however often others say both. */
static void sides_of_a_comparison_stand_together(void **state)
{
#define BOTH "upper relief sluice, upper relief sluice and drain. "
    static const struct section sluices[] = {
        {TREE_NONE, "Sluices", "", NONE, NONE},
        {0, "Upper relief sluice", "The upper relief sluice opens by itself.",
         NONE, NONE},
        {0, "Old", BOTH BOTH BOTH, NONE, NONE},
        {0, "Drain", "It is one that is opened by hand.", NONE, NONE},
        {0, "Delete", "What is not wanted.", NONE, NONE}};
#undef BOTH
    static const struct {
        const char *question, *next;
    } cases[] = {
        {"upper relief sluice vs drain", "Drain"},
        {"difference between upper relief sluice and drain", "Drain"},
        {"upper relief sluice vs delete", "Delete"}}; /* a common word */
    struct house house;
    (void)state;
    open_house(&house);
    add_among_others(&house, "sluices", sluices,
                     sizeof sluices / sizeof *sluices);
    open_snapshot(&house);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_leads(&house, cases[i].question, ROUTE_LEXICAL,
                    "Upper relief sluice", cases[i].next);
    close_house(&house);
}

/* Of the hit that is called so; 0: there is none. */
static double score_of(const struct house *house,
                       const struct route_request *request, const char *title)
{
    struct route_result result = routed(house, request);
    double score = 0;
    for (size_t i = 0; i < result.count; i++)
        if (!strcmp(title_of(result.hits[i].view, result.hits[i].node), title))
            score = result.hits[i].score;
    route_result_free(&result);
    return score;
}

/* Each letter by itself, and in each manual; a question that points back has those of the
 * one before. */
static void letters_of_options_are_told_apart_by_case(void **state)
{
    static const struct section pump[] = {
        {TREE_NONE, "Pump", "", NONE, NONE},
        {0, "-c --clean", "Drops what is there.", NONE, NONE},
        {0, "-C --create", "Makes what is not there, and drops.", NONE, NONE},
        {0, "-x", "Swings in the wind.", NONE, NONE}};
    static const struct section winch[] = {
        {TREE_NONE, "Winch", "", NONE, NONE},
        {0, "-c", "Takes a chain, not a rope.", NONE, NONE},
        {0, "-v", "Says so. It is said in a loud voice.", NONE, NONE}};
    static const struct {
        const char *question, *before, *first;
    } cases[] = {{"pump -C", NULL, "-C --create"},
                 {"pump -c", NULL, "-c --clean"},
                 {"PUMP -c OR ITS -X", "", "-c --clean"},
                 {"winch -C", NULL, "-c"},
                 {"what does it drop", "pump -C", "-C --create"},
                 {"what does it drop", "pump -c", "-c --clean"},
                 {"what does -c drop", "pump -C", "-c --clean"}};
    struct house house;
    (void)state;
    open_house(&house);
    add_among_others(&house, "pump", pump, sizeof pump / sizeof *pump);
    add_among_others(&house, "winch", winch, sizeof winch / sizeof *winch);
    open_snapshot(&house);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct route_request request =
            request_of(cases[i].question, ROUTE_LEXICAL);
        struct route_context context = {.questions = &cases[i].before,
                                        .question_count = 1};
        request.context = cases[i].before ? &context : NULL;
        struct route_result result = routed(&house, &request);
        assert_string_equal(title_of(result.hits[0].view, result.hits[0].node),
                            cases[i].first);
        route_result_free(&result);
    }
    /* -v, of another manual, is no reason to put -x behind what is not called so. */
    struct route_request request =
        request_of("what swings in the wind, -X or -v", ROUTE_LEXICAL);
    assert_true(score_of(&house, &request, "-x") > 0.5);
    request = request_of("what does -C do", ROUTE_TREE);
    assert_true(score_of(&house, &request, "-c --clean") > 0.5);
    close_house(&house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_called_so_is_found),
        cmocka_unit_test(what_is_pointed_back_at_is_found),
        cmocka_unit_test(what_defines_a_name_comes_first),
        cmocka_unit_test(what_the_named_manual_says_comes_first),
        cmocka_unit_test(what_others_call_so_does_not_count),
        cmocka_unit_test(sides_of_a_comparison_stand_together),
        cmocka_unit_test(letters_of_options_are_told_apart_by_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
