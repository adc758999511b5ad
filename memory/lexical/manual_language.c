#include "memory/lexical/lexical.h"
#include "memory/lexical/question_language.h"

/* How many bytes of postings a manual has of the words that tell a language. */
static int marks_of(const struct question_language *language,
                    struct store_txn *txn, const struct view *view, size_t *ret,
                    struct err *err)
{
    const char *const *marks = question_language_marks(language);
    int code = 0;
    *ret = 0;
    for (size_t i = 0; i < LANGUAGE_MARKS && !code; i++) {
        struct slice postings = {"", 0};
        code = lexical_postings(txn, view, slice_of(marks[i]), &postings, err);
        *ret += postings.size;
    }
    return code;
}

int manual_language(struct store_txn *txn, const struct view *view,
                    const struct question_language **ret, struct err *err)
{
    size_t most = 0, marks;
    int code = 0;
    *ret = NULL;
    for (size_t i = 0; i < QUESTION_LANGUAGES && !code; i++) {
        code = marks_of(question_language_at(i), txn, view, &marks, err);
        if (marks > most)
            *ret = question_language_at(i);
        else if (marks == most)
            *ret = NULL;
        most = marks > most ? marks : most;
    }
    return code;
}
