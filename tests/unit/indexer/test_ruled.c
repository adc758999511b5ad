#include "tests/unit/support/parsing.h"

/* Pages that are a text of their own in one <pre>, parted by rules. */

#define RULE       "==============================\n"
#define NAME(name) "<a name='" name "'></a><b>" name "</b>"

static void sections_and_entries_are_told(void **state)
{
    (void)state;
    expect(
        "<title>change</title><h1>change</h1><pre>\n"
        "*" NAME(
            "change.txt") "*\tLast change: today\n\n" RULE
                          "1. Joining\t\t*" NAME(
                              "joining") "*\n\nLines are joined.\n"
                                         "\t\t*" NAME("J") "* *" NAME(
                                             ":join") "*\n"
                                                      "J\t\tJoin <a "
                                                      "href=x.html>lines</a> "
                                                      "&amp; more.\n"
                                                      "\t\t*" NAME(
                                                          "gJ") "*\ngJ\t\tAs "
                                                                "they "
                                                                "are.\n" RULE
                                                                "*" NAME(
                                                                    "2.1") "*  "
                                                                           "Sor"
                                                                           "tin"
                                                                           "g "
                                                                           "lin"
                                                                           "es "
                                                                           " we"
                                                                           "ll"
                                                                           "\n"
                                                                           "\nI"
                                                                           "t "
                                                                           "sor"
                                                                           "ts."
                                                                           "\n" RULE
                                                                           "\n" RULE
                                                                           "vim"
                                                                           ":tw"
                                                                           "=78"
                                                                           "\n<"
                                                                           "/pr"
                                                                           "e>",
        "# change\ncode: *change.txt*\\tLast change: today\n"
        "## 1. Joining\ncode: \\t\\t*joining*\\n\\nLines are joined.\n"
        "##* J, :join\n"
        "code: \\t\\t*J* *:join*\\nJ\\t\\tJoin lines & more.\n"
        "##* gJ\ncode: \\t\\t*gJ*\\ngJ\\t\\tAs they are.\n"
        "## Sorting lines\n"
        "code: *2.1*  Sorting lines  well\\n\\nIt sorts.\n"
        "code: vim:tw=78\n");
}

static void code_with_lines_is_code(void **state)
{
    (void)state;
    expect("<h1>T</h1><pre>Name\n" RULE "a\n\t*" NAME("b") "*\nc\n</pre>",
           "# T\ncode: Name\\n==============================\\na\\n"
           "\\t*b*\\nc\n");
    expect("<h1>T</h1><pre>?- list.\n" RULE "Name\n" RULE "a\n</pre>",
           "# T\ncode: ?- list.\\n==============================\\nName\\n"
           "==============================\\na\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(sections_and_entries_are_told),
                                       TEST(code_with_lines_is_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
