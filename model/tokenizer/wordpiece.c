#include "model/tokenizer/wordpiece.h"

static bool is_start(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

static size_t characters(struct slice text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += is_start(text.data[i]);
    return count;
}

/* The longest token at `from`, and where it ends. */
static int32_t longest(const struct vocabulary *v, struct slice word,
                       size_t from, size_t *ret_end)
{
    size_t end = word.size - from < v->longest ? word.size : from + v->longest;
    for (; end > from; end--) {
        if (end < word.size && !is_start(word.data[end]))
            continue;
        struct slice part = {word.data + from, end - from};
        int32_t id =
            from ? vocabulary_inside(v, part) : vocabulary_of_bytes(v, part);
        if (id < 0)
            continue;
        *ret_end = end;
        return id;
    }
    return VOCABULARY_NONE;
}

void wordpiece_encode(const struct wordpiece *w, struct slice word,
                      struct ids *ids)
{
    size_t before = ids->count, end;
    bool whole = characters(word) <= w->max;
    for (size_t from = 0; whole && from < word.size; from = end) {
        int32_t id = longest(w->vocabulary, word, from, &end);
        whole = id >= 0;
        if (whole)
            ids_put(ids, id);
    }
    if (whole)
        return;
    ids->count = before;
    if (w->unknown >= 0)
        ids_put(ids, w->unknown);
}
