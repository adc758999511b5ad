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

int manual_is_in(const struct question_language *language,
                 struct store_txn *txn, const struct view *view, bool *ret,
                 struct err *err)
{
    size_t own, other;
    int code = marks_of(language, txn, view, &own, err);
    *ret = own > 0;
    for (size_t i = QUESTION_LANGUAGES; i-- > 0 && !code && *ret;) {
        if (question_language_at(i) == language)
            continue;
        code = marks_of(question_language_at(i), txn, view, &other, err);
        *ret = own > other;
    }
    return code;
}
