/* "pg_dump -C" is about -C, and not about -c, though both have its term. */
#include <stdlib.h>

#include "base/mem.h"
#include "memory/lexical/option_letters.h"
#include "memory/routing/route_internal.h"

/* What the section of such an option gains of fused score, and of one in the other case
 * loses where its manual has one in its own. */
static const double GAIN = 0.7, LOSS = 1;

/* A bit for each of the letters: that a section is called as, and that it is called as in
 * the other case alone. */
struct called {
    uint64_t same, other;
};

static struct called called_as(const struct routing *routing,
                               const struct fused *item)
{
    const struct option_letters *options = &routing->result->letters;
    struct slice title = fused_node(routing, item)->title;
    struct called called = {0};
    for (size_t i = 0; i < options->count; i++) {
        enum option_letter in = option_letter_in(title, options->letters[i]);
        called.same |= (uint64_t)(in == OPTION_LETTER_SAME) << i;
        called.other |= (uint64_t)(in == OPTION_LETTER_OTHER) << i;
    }
    return called;
}

void find_letters(struct routing *routing)
{
    const struct route_request *request = routing->request;
    const struct route_context *context = request->context;
    struct option_letters *letters = &routing->result->letters;
    *letters = option_letters_of(slice_of(request->query));
    if (!context || (context->names && !context->points))
        return;
    for (size_t i = 0; i < context->question_count && !letters->count; i++)
        *letters = option_letters_of(slice_of(context->questions[i]));
}

void prefer_letters(const struct routing *routing, struct fused *fused,
                    size_t count)
{
    int mode = routing->request->mode;
    if (!routing->result->letters.count ||
        (mode != ROUTE_AUTO && mode != ROUTE_LEXICAL))
        return;
    uint64_t *same = mem_alloc(routing->scope_count * sizeof *same);
    for (size_t i = 0; i < count; i++) {
        struct called called = called_as(routing, &fused[i]);
        same[fused[i].scope] |= called.same;
        fused[i].score += called.same ? GAIN : 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct called called = called_as(routing, &fused[i]);
        if (!called.same && called.other & same[fused[i].scope])
            fused[i].score -= LOSS;
    }
    free(same);
}
