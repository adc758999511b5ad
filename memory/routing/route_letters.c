/* "pg_dump -C" is about -C, and not about -c, though both have its term. */
#include "memory/lexical/option_letters.h"
#include "memory/routing/route_internal.h"

/* What the section of such an option gains of fused score, and of one in the other case
 * loses where there is one in its own. */
static const double GAIN = 0.7, LOSS = 1;

static enum option_letter letter_of(const struct routing *routing,
                                    const struct fused *item)
{
    return option_letters_in(fused_node(routing, item)->title,
                             &routing->result->letters);
}

void prefer_letters(const struct routing *routing, struct fused *fused,
                    size_t count)
{
    bool same = false;
    if (!routing->result->letters.count)
        return;
    for (size_t i = 0; i < count; i++)
        if (letter_of(routing, &fused[i]) == OPTION_LETTER_SAME) {
            fused[i].score += GAIN;
            same = true;
        }
    for (size_t i = 0; i < count && same; i++)
        if (letter_of(routing, &fused[i]) == OPTION_LETTER_OTHER)
            fused[i].score -= LOSS;
}
