#include "tests/unit/support/unit.h"

#include <string.h>

#include "memory/lexical/common_words.h"
#include "memory/lexical/lexical.h"
#include "memory/lexical/analyze.h"
#include "memory/lexical/names.h"

static void note(void *context, const struct term_at *at)
{
    struct buf *out = context;
    if (out->size)
        buf_put_byte(out, ' ');
    buf_put_slice(out, at->term);
}

static void assert_terms(const char *text, const char *expected)
{
    struct analyzer *maker = analyzer_new();
    struct buf out = {0};
    buf_put_text(&out, "");
    analyze(maker, slice_of(text), note, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
    analyzer_free(maker);
}

static void words_become_stems(void **state)
{
    (void)state;
    assert_terms("Indexes, indexing; indexed.", "index index index");
    assert_terms("", "");
    assert_terms(" .,; ()", "");
    assert_terms("\xC3\x84pfel 42", "\xC3\xA4pfel 42");
    assert_terms(
        "de\xC2\xADlivery \xEF\xAC\x81lters con\xEF\xAC\x81g_\xEF\xAC\x82ow",
        "deliveri filter =config_flow config flow");
}

/* U+023A has two bytes, its small letter three: what stands behind many of them has its
 * room. */
static void small_letters_may_be_longer(void **state)
{
    enum { COUNT = 20000 };
    struct buf text = {0}, word = {0};
    (void)state;
    for (int i = 0; i < COUNT; i++)
        buf_put_text(&text, "\xC8\xBA");
    for (int i = 0; i < COUNT; i++)
        buf_put_byte(&text, 'a');
    for (int i = 0; i < TERM_MAX / 3; i++)
        buf_put_text(&word, "\xE2\xB1\xA5");
    struct buf before = {0};
    buf_put_slice(&before, buf_slice(&text));
    assert_terms(text.data, word.data);
    assert_string_equal(text.data, before.data);
    buf_free(&before);
    buf_free(&word);
    buf_free(&text);
}

static void identifiers_stay_whole_and_in_parts(void **state)
{
    (void)state;
    assert_terms("pg_stat_activity", "=pg_stat_activity pg stat activ");
    assert_terms("(SQLITE_BUSY)", "=sqlite_busy sqlite busi");
    assert_terms("--no-verify,", "=--no-verify =no-verify no verifi");
    assert_terms("foo.bar()", "=foo.bar foo bar");
    assert_terms("a::b", "=a::b a b");
    assert_terms("findOrphans", "=findorphans findorphan find orphan");
    assert_terms("PostgreSQL GiST", "postgresql gist");
    assert_terms(".pgpass", "=.pgpass pgpass");
    assert_terms("role_\xE2\x80\x8B"
                 "name",
                 "=role_name role name");
    assert_terms("x :: y", "x =:: y");
    assert_terms("C++ and C#.", "=c++ c and =c# c");
}

static void identifiers_hold_smaller_ones(void **state)
{
    (void)state;
    assert_terms("pg_catalog.pg_class",
                 "=pg_catalog.pg_class =pg_catalog =pg_class pg catalog pg "
                 "class");
    assert_terms("std::vector<int>",
                 "=std::vector<int =std::vector std vector int");
    assert_terms("f(my_name)", "=f(my_name =my_name f my name");
    assert_terms("pg_stat_*", "=pg_stat_ =pg_stat pg stat");
    assert_terms("p->next", "=p->next p next =->");
    assert_terms("--jobs=4", "=--jobs=4 =--jobs job 4");
    assert_terms("--no-verify", "=--no-verify =no-verify no verifi");
}

/* Names as manuals of many kinds have them: the whole, what it is put together from,
 * and its words. */
static void names_with_signs_are_whole_and_in_parts(void **state)
{
    static const char *const cases[][2] = {
        {"--force-with-lease",
         "=--force-with-lease =force-with-lease forc with leas"},
        {"--[no-]verify", "=--[no-]verify =--verify =--no-verify no verifi"},
        {"--[no]color", "=--[no]color =--color =--nocolor no color"},
        {"-Wall", "=-wall wall"},
        {"DictReader", "=dictreader dictread dict reader"},
        {"csv.DictReader(f)",
         "=csv.dictreader(f =csv.dictreader csv dictread dict reader f"},
        {"foo(barBaz)", "=foo(barbaz =barbaz foo barbaz bar baz"},
        {"(*xRowCount)(Ctx*",
         "=xrowcount)(ctx =xrowcount xrowcount x row count ctx"},
        {"AH00558", "ah00558"},
        {"ORA-00942", "=ora-00942 ora 00942"},
        {"std::vector", "=std::vector std vector"},
        {"max_connections", "=max_connections max connect"},
        {"ngx_http_core_module", "=ngx_http_core_module ngx http core modul"},
        {"core.autocrlf", "=core.autocrlf core autocrlf"},
        {"/etc/passwd", "=/etc/passwd etc passwd"},
        {"@property", "=@property properti"},
        {"$PATH", "=$path path"},
        {"obj->next", "=obj->next obj next =->"},
        {"Foo#bar", "=foo#bar foo bar"},
        {"Ctrl+C", "=ctrl+c ctrl c"},
        {"utf-8", "=utf-8 utf 8"},
        {"'work_mem'", "=work_mem work mem"},
        {"SQLite, PostgreSQL", "sqlite postgresql"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_terms(cases[i][0], cases[i][1]);
}

static void count(void *context, const struct term_at *at)
{
    (void)at;
    ++*(size_t *)context;
}

/* For each bracket the other was sought in all that follows. */
static void many_brackets_cost_little(void **state)
{
    enum { BRACKETS = 1 << 22 };
    (void)state;
    struct analyzer *maker = analyzer_new();
    struct buf text = {0};
    size_t terms = 0;
    for (int i = 0; i < BRACKETS; i++)
        buf_put_byte(&text, '(');
    double start = unit_seconds();
    analyze(maker, buf_slice(&text), count, &terms);
    assert_true(unit_seconds() - start < 10);
    assert_int_equal(terms, 0);
    buf_free(&text);
    analyzer_free(maker);
}

static void operators_are_terms(void **state)
{
    (void)state;
    assert_terms("**", "=**");
    assert_terms("\xE2\x80\x98**\xE2\x80\x99,", "=**");
    assert_terms("('<<<').", "=<<<");
    assert_terms("`**`: $() (&&)", "=** =$() =&&");
    assert_terms("a/*b *.c x**. y50%.", "=a/*b a b =.c c x =** y50");
    assert_terms("CC=/bin/x n=-1 v=$B",
                 "=cc=/bin/x =/bin/x cc bin x =n=-1 =-1 n 1 =v=$b =$b v b");
    assert_terms("[n]<<<word", "=n]<<<word n word =<<<");
    assert_terms("2>&1", "=2>&1 2 1 =>&");
    assert_terms("a<b", "=a<b a b");
    assert_terms("x==y", "=x==y x y ===");
    assert_terms("()", "");
    assert_terms("a/b --x ../c C++", "=a/b a b =--x x =/c c =c++ c");
}

static void sentences_are_no_identifiers(void **state)
{
    (void)state;
    assert_terms("don't", "don t");
    assert_terms("user\xE2\x80\x99s", "user s");
    assert_terms("\xE2\x80\x9Cwork_mem\xE2\x80\x9D", "=work_mem work mem");
    assert_terms("rows\xE2\x80\x94"
                 "tables",
                 "row tabl");
    assert_terms("a_b,c", "=a_b a b c");
}

static void scripts_without_spaces_become_pairs(void **state)
{
    (void)state;
    assert_terms("\u7D22\u5F15\u8868", "\u7D22\u5F15 \u5F15\u8868");
    assert_terms("\u8868", "\u8868");
    assert_terms("\u7D22\u5F15\u3002\u8868", "\u7D22\u5F15 \u8868");
    assert_terms("PostgreSQL\u306E\u8868", "postgresql \u306E\u8868");
    assert_terms("\uC0C9\uC778\uC740", "\uC0C9\uC778 \uC778\uC740");
    assert_terms("work_mem\u3092\uFF21", "=work_mem work mem \u3092 a");
    assert_terms("\u30C7\u30FC\u30BF", "\u30C7\u30FC \u30FC\u30BF");
}

static void long_terms_are_cut(void **state)
{
    (void)state;
    struct buf text = {0}, expected = {0};
    for (int i = 0; i < 300; i++)
        buf_put_text(&text, "\xC3\xA4");
    for (int i = 0; i < TERM_MAX / 2; i++)
        buf_put_text(&expected, "\xC3\xA4");
    assert_terms(text.data, expected.data);
    buf_free(&text);
    buf_free(&expected);
}

/* ---- Terms that are sought ---- */

struct occurrences {
    struct slice term;
    size_t count;
};

static void count_occurrence(void *context, const struct term_at *at)
{
    struct occurrences *occurrences = context;
    occurrences->count += slice_equal(at->term, occurrences->term);
}

struct comparison {
    struct analyzer *maker; /* another than the one that reads the text */
    struct slice text;
    size_t terms;
};

/* One of the text's terms, sought alone, is found as often as it stands there. */
static void seek_alone(void *context, const struct term_at *at)
{
    struct comparison *all = context;
    char copy[TERM_MAX + 1];
    memcpy(copy, at->term.data, at->term.size);
    struct slice term = {copy, at->term.size};
    struct occurrences whole = {.term = term}, some = {.term = term};
    struct sought_terms sought = {0};
    sought_add(&sought, term);
    analyze(all->maker, all->text, count_occurrence, &whole);
    analyze_sought(all->maker, &sought, all->text, count_occurrence, &some);
    assert_true(whole.count > 0);
    assert_int_equal(some.count, whole.count);
    all->terms++;
}

static void what_is_sought_is_found_as_often(void **state)
{
    static const char *const texts[] = {
        "Dying processes die; the skies, lies and dyes of a dry day. Is it?",
        "--[no-]verify, --no-verify=all and git-push(1) --force-with-lease x",
        "pg_catalog.pg_class and findOrphans, std::vector<int>, a_b,c :: ->",
        "\u7D22\u5F15\u8868 work_mem\u3092\uFF21 \uFF41bc ABC abc "
        "\u00C4pfel \u00E4pfel \u212Aelvin kelvin A\u0308 y\u00EF",
        "one\u00A0two\u2003three,\u3000x\ny\tzed \v (a\u00A0) \u00A0b [c d]",
        "AH00558 ORA-00942 9y 9i yi iy I Y oing aed uing C++ C# c@ @property"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct analyzer *maker = analyzer_new();
        struct comparison all = {.maker = analyzer_new(),
                                 .text = slice_of(texts[i])};
        analyze(maker, all.text, seek_alone, &all);
        assert_true(all.terms > 8);
        analyzer_free(all.maker);
        analyzer_free(maker);
    }
}

static void keep_term(void *context, const struct term_at *at)
{
    struct buf *stem = context;
    buf_clear(stem);
    buf_put_slice(stem, at->term);
}

static void assert_stem_finds(struct analyzer *maker, struct slice word,
                              struct buf *stem)
{
    struct sought_terms sought = {0};
    analyze(maker, word, keep_term, stem);
    sought_add(&sought, buf_slice(stem));
    struct occurrences found = {.term = buf_slice(stem)};
    analyze_sought(maker, &sought, word, count_occurrence, &found);
    if (found.count != 1)
        fail_msg("%.*s: %.*s", (int)word.size, word.data, (int)stem->size,
                 stem->data);
}

/* Every beginning of three letters, behind which the stemmer takes something off. */
static void a_stem_finds_its_words(void **state)
{
    static const char *const ends[] = {"",    "s",   "ed",   "ing", "ies",
                                       "ied", "eed", "edly", "ly",  "y"};
    static const char *const fourths[] = {"", "t", "l", "z", "y", "e", "i"};
    struct analyzer *maker = analyzer_new();
    struct buf word = {0}, stem = {0};
    (void)state;
    for (int i = 0; i < 26 * 27 * 27 * 7; i++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            buf_clear(&word);
            buf_put_byte(&word, 'a' + i % 26);
            if (i / 26 % 27)
                buf_put_byte(&word, 'a' + i / 26 % 27 - 1);
            if (i / 26 / 27 % 27)
                buf_put_byte(&word, 'a' + i / 26 / 27 % 27 - 1);
            buf_put_text(&word, fourths[i / 26 / 27 / 27]);
            buf_put_text(&word, ends[e]);
            assert_stem_finds(maker, buf_slice(&word), &stem);
        }
    buf_free(&word);
    buf_free(&stem);
    analyzer_free(maker);
}

static void most_words_are_not_looked_at(void **state)
{
    struct analyzer *maker = analyzer_new();
    struct buf out = {0};
    struct sought_terms sought = {0};
    (void)state;
    sought_add(&sought, slice_of("verifi"));
    buf_put_text(&out, "");
    analyze_sought(maker, &sought,
                   slice_of("Verify with --no-verify, value, vesta"), note,
                   &out);
    assert_string_equal(out.data, "verifi verifi");
    buf_free(&out);
    analyzer_free(maker);
}

static void assert_query(const char *text, const char *expected)
{
    struct query query;
    struct buf out = {0};
    buf_put_text(&out, "");
    query_parse(text, &query);
    for (size_t i = 0; i < query.count; i++)
        buf_printf(&out, i ? " %s" : "%s", query.terms[i].term);
    assert_string_equal(out.data, expected);
    buf_free(&out);
    query_free(&query);
}

static void questions_lose_their_stop_words(void **state)
{
    (void)state;
    assert_query("How do I create an index?", "creat index");
    assert_query("who is it", "who is it");
    assert_query("What does NOT IN do?", "not in");
    assert_query("set work_mem", "set =work_mem work mem");
    assert_query("", "");
    assert_query("I've seen what's in it", "seen");
    assert_query("\u7D22\u5F15\u306B\u3064\u3044\u3066", "\u7D22\u5F15");
    assert_query("\u3064\u3044", "\u3064\u3044");
}

static void common_words_are_found(void **state)
{
    (void)state;
    assert_true(word_is_stop_word(slice_of("a")));
    assert_true(word_is_stop_word(slice_of("your")));
    assert_true(word_is_stop_word(slice_of("how")));
    assert_true(word_is_stop_word(slice_of("vs")));
    assert_false(word_is_stop_word(slice_of("index")));
    assert_false(word_is_stop_word(slice_of("")));
    assert_false(word_is_stop_word(slice_of("yours")));
    assert_int_equal(word_frequency(slice_of("know")), 1500);
    assert_int_equal(word_frequency(slice_of("yesterday")), 150);
    assert_int_equal(word_frequency(slice_of("colleague")), 40);
    assert_int_equal(word_frequency(slice_of("colleagu")), 0);
    assert_int_equal(word_frequency(slice_of("vacuum")), 0);
}

static enum name_match compare_name(const char *question, const char *title)
{
    bool same;
    struct node node = {.title = slice_of(title)};
    struct name name = name_of(question);
    enum name_match match = name_of_node(&name, &node, &same);
    name_free(&name);
    return match;
}

/* "Part of" is no number, "Part IV" is. */
static void numbers_of_chapters_are_no_names(void **state)
{
    (void)state;
    assert_int_equal(compare_name("the planner", "Part IV. The planner"),
                     NAME_WHOLE);
    assert_int_equal(compare_name("the planner", "Chapter 11. The planner"),
                     NAME_WHOLE);
    assert_int_equal(compare_name("the planner", "Appendix B The planner"),
                     NAME_WHOLE);
    assert_int_equal(compare_name("the planner", "5.2.1 The planner"),
                     NAME_WHOLE);
    assert_int_equal(compare_name("the planner", "Part of the planner"),
                     NAME_OTHER);
    assert_int_equal(compare_name("headers", "Section named headers"),
                     NAME_OTHER);
}

static void capitals_of_all_scripts_are_alike(void **state)
{
    (void)state;
    assert_int_equal(compare_name("\u00fcbersicht", "2.1 \u00dcbersicht"),
                     NAME_WHOLE);
    assert_int_equal(
        compare_name("\u00c9TAT DE L\u2019ART", "\u00c9tat de l\u2019art"),
        NAME_WHOLE);
    assert_int_equal(compare_name("\u043c\u0438\u0440", "\u041c\u0438\u0440"),
                     NAME_WHOLE);
    assert_int_equal(compare_name("\u043c\u0438\u0440", "\u041f\u0438\u0440"),
                     NAME_OTHER);
}

/* What is described for any language, package or configuration. */
static void names_are_found_by_their_form(void **state)
{
    static const struct {
        const char *question, *title;
        enum name_match match;
    } cases[] = {
        {"CMAKE_CXX_FLAGS", "CMAKE_<LANG>_FLAGS", NAME_PART},
        {"CMAKE_CXX_FLAGS_DEBUG", "CMAKE_<LANG>_FLAGS_<CONFIG>", NAME_PART},
        {"OpenCV_ROOT", "<PackageName>_ROOT", NAME_PART},
        {"CMAKE_FLAGS", "CMAKE_<LANG>_FLAGS", NAME_OTHER},
        {"CMAKE__FLAGS", "CMAKE_<LANG>_FLAGS", NAME_OTHER},
        {"CMAKE_CXX_FLAGS_X", "CMAKE_<LANG>_FLAGS", NAME_OTHER},
        {"cxx_std", "<a>_<b>", NAME_OTHER},
        {"open_a_b_c_d", "open_<a>_<b>_<c>_<d>", NAME_OTHER},
        {"open_a", "open_<a", NAME_OTHER},
        /* Types that have parameters are no forms of others' names. */
        {"shared_ptr_cast", "shared_ptr<T>", NAME_OTHER},
        {"shared_ptrs", "shared_ptr<T>", NAME_OTHER}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (compare_name(cases[i].question, cases[i].title) != cases[i].match)
            fail_msg("%s, %s", cases[i].question, cases[i].title);
}

/* As it is written: "class" and "pattern" are words, too. */
static void sections_of_classes_are_called_as_these(void **state)
{
    (void)state;
    assert_int_equal(compare_name("Pattern", "Class Pattern"), NAME_WHOLE);
    assert_int_equal(compare_name("Entry", "Interface Map.Entry<K,V>"),
                     NAME_WHOLE);
    assert_int_equal(compare_name("pattern", "Class Pattern"), NAME_OTHER);
    assert_int_equal(compare_name("Linking", "Class Loading and Linking"),
                     NAME_OTHER);
}

/* A constructor has its class's name, other members and sections have not. */
static void constructors_are_told_by_their_class(void **state)
{
    static const struct {
        const char *entry, *above;
        bool is;
    } cases[] = {{"HashMap", "Class HashMap<K,V>", true},
                 {"HashMap(int size)", "Class HashMap<K,V>", true},
                 {"Entry", "Interface Map.Entry<K,V>", true},
                 {"TimeUnit", "Enum Class TimeUnit", true},
                 {"QwtPlot::QwtPlot (int n)", "QwtPlot Class Reference", true},
                 {"Pool", "std::Pool< T > Class Template Reference", true},
                 {"clone", "Class HashMap<K,V>", false},
                 {"hashmap", "Class HashMap<K,V>", false},
                 {"HashMap", "Using HashMap", false},
                 {"HashMap", "HashMap", false},
                 {"Reference", "Class Reference", true},
                 {"Module", "Module Reference", false},
                 {"Linking", "Class Loading and Linking", false},
                 {"type", "Record type", false},
                 {"Class", "Class", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node entry = {.title = slice_of(cases[i].entry), .entry = true};
        struct node above = {.title = slice_of(cases[i].above)};
        if (name_is_of_class(&entry, &above) != cases[i].is)
            fail_msg("%s, %s", cases[i].entry, cases[i].above);
    }
}

static enum name_match compare_entry(const char *question, const char *title)
{
    bool same;
    struct node node = {.title = slice_of(title), .entry = true};
    struct name name = name_of(question);
    enum name_match match = name_of_node(&name, &node, &same);
    name_free(&name);
    return match;
}

static void entries_are_called_by_their_names(void **state)
{
    static const struct {
        const char *question, *title;
        enum name_match match;
    } cases[] = {
        {"fopen ()", "fopen", NAME_WHOLE},
        {"fopen()", "fopen ()", NAME_WHOLE},
        {"--verify", "--[no-]verify", NAME_WHOLE},
        {"--no-verify", "-n, --[no-]verify=<x>", NAME_WHOLE},
        {"--nocolor", "--[no]color", NAME_WHOLE},
        {"no-", "--[no-]verify", NAME_OTHER},
        {"xRowCount", "int (*xRowCount)(Fts5Context*, sqlite3_int64 *pn)",
         NAME_WHOLE},
        {"Fts5Context", "int (*xRowCount)(Fts5Context*)", NAME_OTHER},
        {"DictReader", "class csv.DictReader(f)", NAME_PART},
        {"std::vector", "vector", NAME_PART},
        {"csv.DictReader", "class csv.DictReader(f)", NAME_WHOLE},
        {"max_connections", "max_connections (integer)", NAME_WHOLE},
        {"connections", "max_connections (integer)", NAME_OTHER},
        {"How do I undo?", "(12) How do I undo?", NAME_WHOLE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(compare_entry(cases[i].question, cases[i].title),
                         cases[i].match);
}

/* Twice for each mark would be a million times. */
static void a_name_has_all_its_marks_or_none(void **state)
{
    struct buf title = {0};
    (void)state;
    for (int i = 0; i < 40; i++)
        buf_printf(&title, "--[no-]a%d, --[no]b%d, ", i, i);
    assert_int_equal(compare_entry("--no-a39", title.data), NAME_WHOLE);
    assert_int_equal(compare_entry("--b7", title.data), NAME_WHOLE);
    assert_int_equal(compare_entry("--c.d", title.data), NAME_OTHER);
    buf_free(&title);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_chapters_are_no_names),
        cmocka_unit_test(capitals_of_all_scripts_are_alike),
        cmocka_unit_test(names_with_signs_are_whole_and_in_parts),
        cmocka_unit_test(names_are_found_by_their_form),
        cmocka_unit_test(constructors_are_told_by_their_class),
        cmocka_unit_test(sections_of_classes_are_called_as_these),
        cmocka_unit_test(entries_are_called_by_their_names),
        cmocka_unit_test(a_name_has_all_its_marks_or_none),
        cmocka_unit_test(words_become_stems),
        cmocka_unit_test(small_letters_may_be_longer),
        cmocka_unit_test(identifiers_stay_whole_and_in_parts),
        cmocka_unit_test(operators_are_terms),
        cmocka_unit_test(many_brackets_cost_little),
        cmocka_unit_test(long_terms_are_cut),
        cmocka_unit_test(what_is_sought_is_found_as_often),
        cmocka_unit_test(a_stem_finds_its_words),
        cmocka_unit_test(most_words_are_not_looked_at),
        cmocka_unit_test(questions_lose_their_stop_words),
        cmocka_unit_test(common_words_are_found),
        cmocka_unit_test(identifiers_hold_smaller_ones),
        cmocka_unit_test(sentences_are_no_identifiers),
        cmocka_unit_test(scripts_without_spaces_become_pairs),
    };
    return cmocka_run_group_tests_name("terms", tests, NULL, NULL);
}
