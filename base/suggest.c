#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 63 };

static size_t min(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Insertions, removals and replacements of a byte between two words. */
static size_t edits(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t row[MAX_WORD + 1];
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t cost = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = min(cost, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b_size];
}

struct nearest suggest_nearest(const char *word)
{
    return (struct nearest){word, NULL, 0};
}

void nearest_try(struct nearest *nearest, const char *known)
{
    size_t typed = strlen(nearest->word), size = strlen(known);
    if (typed > MAX_WORD || size > MAX_WORD)
        return;
    size_t distance = edits(nearest->word, typed, known, size);
    /* One that starts as the other does is a guess worth making, too. */
    size_t shorter = typed < size ? typed : size;
    if (shorter >= 3 && !memcmp(nearest->word, known, shorter) && distance)
        distance = 1;
    size_t max = size <= 4 ? 1 : size <= 8 ? 2 : 3;
    if (distance > max || (nearest->found && distance >= nearest->distance))
        return;
    nearest->found = known;
    nearest->distance = distance;
}

const char *suggest_hint(const struct nearest *nearest)
{
    static _Thread_local char hint[MAX_WORD + 32];
    hint[0] = '\0';
    if (nearest->found)
        snprintf(hint, sizeof hint, "; did you mean '%s'?", nearest->found);
    return hint;
}
