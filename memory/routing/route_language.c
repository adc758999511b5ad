/* Questions in another language than English. */
#include "memory/lexical/question_language.h"
#include "memory/routing/route_internal.h"

/* Notes which manuals are in a language (NULL: none), if others are asked, too. */
static int note_spoken(struct routing *routing,
                       const struct question_language *language,
                       struct store_txn *txn, struct err *err)
{
    size_t spoken = 0;
    int code = 0;
    for (size_t s = 0; s < routing->scope_count && !code; s++) {
        struct scope *scope = &routing->scopes[s];
        scope->spoken = false;
        if (language)
            code =
                manual_is_in(language, txn, scope->view, &scope->spoken, err);
        spoken += scope->spoken;
    }
    for (size_t s = 0; spoken == routing->scope_count && s < spoken; s++)
        routing->scopes[s].spoken = false;
    return code;
}

/* Whether all manuals are in it; those behind the first that is not are not asked. */
static int all_speak(struct routing *routing,
                     const struct question_language *language,
                     struct store_txn *txn, bool *ret, struct err *err)
{
    int code = 0;
    *ret = routing->scope_count > 0;
    for (size_t s = 0; s < routing->scope_count && *ret && !code; s++)
        code = manual_is_in(language, txn, routing->scopes[s].view, ret, err);
    return code;
}

/* Keywords tell no language: theirs is that of all manuals asked, if it may be. */
static int guess_language(struct routing *routing, struct store_txn *txn,
                          struct err *err)
{
    struct slice question = slice_of(routing->request->query);
    struct analyzer *maker = analyzer_new();
    int code = 0;
    for (size_t i = 0;
         i + 1 < QUESTION_LANGUAGES && !routing->query.language && !code; i++) {
        const struct question_language *language = question_language_at(i);
        if (!question_language_may_be(language, maker, question))
            continue;
        bool all = false;
        code = all_speak(routing, language, txn, &all, err);
        if (!code && all)
            routing->query.language = language;
    }
    analyzer_free(maker);
    return code;
}

int find_language(struct routing *routing, struct store_txn *txn,
                  struct err *err)
{
    int code = routing->query.language ? 0 : guess_language(routing, txn, err);
    return code ? code
                : note_spoken(routing, routing->query.language, txn, err);
}
