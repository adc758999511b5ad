/* Questions in another language than English. */
#include "memory/lexical/question_language.h"
#include "memory/routing/route_internal.h"

/* Notes which manuals are in the question's language, if others are asked, too. */
static int note_spoken(struct routing *routing, struct store_txn *txn,
                       struct err *err)
{
    size_t spoken = 0;
    int code = 0;
    for (size_t s = 0; s < routing->scope_count && !code; s++) {
        const struct question_language *language;
        struct scope *scope = &routing->scopes[s];
        code = manual_language(txn, scope->view, &language, err);
        scope->spoken = language == routing->query.language;
        spoken += scope->spoken;
    }
    for (size_t s = 0; spoken == routing->scope_count && s < spoken; s++)
        routing->scopes[s].spoken = false;
    return code;
}

/* Keywords tell no language: theirs is that of all manuals asked, if it may be. */
static int guess_language(struct routing *routing, struct store_txn *txn,
                          struct err *err)
{
    const struct question_language *language = NULL, *other;
    int code = 0;
    for (size_t s = 0; s < routing->scope_count && !code; s++) {
        code = manual_language(txn, routing->scopes[s].view, &other, err);
        if (!other || (language && other != language))
            return code;
        language = other;
    }
    if (code || !language)
        return code;
    struct analyzer *maker = analyzer_new();
    if (question_language_may_be(language, maker,
                                 slice_of(routing->request->query)))
        routing->query.language = language;
    analyzer_free(maker);
    return 0;
}

int find_language(struct routing *routing, struct store_txn *txn,
                  struct err *err)
{
    return routing->query.language ? note_spoken(routing, txn, err)
                                   : guess_language(routing, txn, err);
}
