#include "indexer/parse/html/numbers.h"

#include <string.h>

#include "base/text.h"

/* "5.1.1" of "5.1.1. Pumps", "A.2" of "A.2 Pumps"; empty: a version, or no number. */
static struct slice number_of(struct slice title)
{
    size_t end = 0, size;
    bool digit = false;
    while (end < title.size &&
           (text_is_digit((unsigned char)title.data[end]) ||
            (title.data[end] == '.' && end) ||
            (!end && title.data[end] >= 'A' && title.data[end] <= 'Z'))) {
        digit |= text_is_digit((unsigned char)title.data[end]);
        end++;
    }
    size_t at = text_skip_space(title, end);
    bool word = end && at > end && at < title.size &&
                text_is_letter(text_decode(title.data, title.size, at, &size));
    while (end && title.data[end - 1] == '.')
        end--;
    return digit && word ? (struct slice){title.data, end}
                         : (struct slice){"", 0};
}

static bool is_below(struct slice number, struct slice above)
{
    return above.size && number.size > above.size + 1 &&
           !memcmp(number.data, above.data, above.size) &&
           number.data[above.size] == '.';
}

int numbers_level(struct numbers *numbers, struct arena *arena, int level,
                  struct slice title)
{
    if (level < 0 || level >= NUMBERS_LEVELS)
        return level;
    struct slice number = number_of(title);
    numbers->below[level] = is_below(number, numbers->last[level]);
    if (!numbers->below[level])
        numbers->last[level] = (struct slice){
            arena_copy(arena, number.data, number.size), number.size};
    for (int i = level + 1; i < NUMBERS_LEVELS; i++) {
        numbers->last[i] = (struct slice){"", 0};
        numbers->below[i] = false;
    }
    int deeper = level;
    for (int i = 0; i <= level; i++)
        deeper += numbers->below[i];
    return deeper < NUMBERS_LEVELS ? deeper : NUMBERS_LEVELS - 1;
}
