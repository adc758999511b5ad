#include "memory/lexical/comparison.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "memory/lexical/common_words.h"

static bool is_word(struct slice word, const char *text)
{
    size_t size = strlen(text);
    return word.size == size && !strncasecmp(word.data, text, size);
}

/* The word at or behind `at`; empty: there is none. */
static struct slice word_from(struct slice text, size_t at)
{
    size_t from = text_skip_space(text, at), end = from;
    while (end < text.size && !text_space(text.data, text.size, end))
        end++;
    return (struct slice){text.data + from, end - from};
}

static bool ends_sentence(struct slice word)
{
    return word.size > 1 && strchr("?.,;:!", word.data[word.size - 1]);
}

/* Words such as "of" and "the". */
static bool joins(struct slice word)
{
    struct buf lower = {0};
    text_fold_compare(&lower, word);
    bool is = lower.size == word.size && word_is_stop_word(buf_slice(&lower));
    buf_free(&lower);
    return is;
}

struct splitting {
    struct slice text;
    struct slice *sides; /* [count] */
    size_t count;
    size_t from;         /* of the side that is being read: its first word */
    struct slice before; /* the last word */
    bool between;        /* "difference between" was read: "and" parts */
};

static bool parts(const struct splitting *splitting, struct slice word)
{
    return slice_is(word, "vs") || slice_is(word, "vs.") || /* but "VS Code" */
           is_word(word, "versus") ||
           (splitting->between && is_word(word, "and"));
}

static void begin_side(struct splitting *splitting, size_t at)
{
    splitting->from = text_skip_space(splitting->text, at);
}

static void add_side(struct splitting *splitting, size_t end)
{
    size_t from = splitting->from;
    while (end > from && strchr(" \t\r\n?.,;:!", splitting->text.data[end - 1]))
        end--;
    if (end > from && splitting->count < COMPARISON_MAX_SIDES)
        splitting->sides[splitting->count++] =
            (struct slice){splitting->text.data + from, end - from};
}

/* Of the side at hand; false: the last one ends before or with the word, at *ret_end. */
static bool goes_on(struct splitting *splitting, struct slice word,
                    size_t *ret_end)
{
    size_t at = (size_t)(word.data - splitting->text.data);
    size_t end = at + word.size;
    bool last = splitting->count > 0, joining = joins(word);
    bool any = splitting->from < at;
    *ret_end = joining ? at : end;
    if (last)
        return !ends_sentence(word) && !(any && joining);
    if (joining || ends_sentence(word))
        begin_side(splitting, end);
    return true;
}

size_t comparison_sides(struct slice text,
                        struct slice ret[COMPARISON_MAX_SIDES])
{
    struct splitting splitting = {.text = text, .sides = ret};
    size_t at = 0, stop = text.size;
    begin_side(&splitting, 0);
    for (struct slice word; (word = word_from(text, at)).size;
         splitting.before = word) {
        at = (size_t)(word.data - text.data) + word.size;
        if (parts(&splitting, word)) {
            add_side(&splitting, at - word.size);
            begin_side(&splitting, at);
        } else if (!goes_on(&splitting, word, &stop)) {
            break;
        } else {
            stop = text.size;
        }
        if (is_word(word, "between") &&
            (is_word(splitting.before, "difference") ||
             is_word(splitting.before, "differences"))) {
            splitting.between = true;
            begin_side(&splitting, at);
        }
    }
    if (splitting.count)
        add_side(&splitting, stop);
    return splitting.count > 1 ? splitting.count : 0;
}
