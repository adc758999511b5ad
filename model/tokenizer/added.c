#include "model/tokenizer/added.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#include <utf8proc.h>

void added_put(struct added_set *set, struct added_token token)
{
    MEM_RESERVE(set->tokens, &set->capacity, set->count + 1);
    token.text.data = mem_strndup(token.text.data, token.text.size);
    set->tokens[set->count++] = token;
}

static int compare(const void *a, const void *b)
{
    const struct added_token *x = a, *y = b;
    int first = (unsigned char)x->text.data[0] - (unsigned char)y->text.data[0];
    if (first)
        return first;
    if (x->text.size != y->text.size)
        return x->text.size > y->text.size ? -1 : 1;
    return memcmp(x->text.data, y->text.data, x->text.size);
}

void added_seal(struct added_set *set)
{
    if (set->count)
        qsort(set->tokens, set->count, sizeof *set->tokens, compare);
    uint32_t next = 0;
    for (size_t byte = 0; byte < 256; byte++) {
        set->first[byte] = next;
        while (next < set->count &&
               (unsigned char)set->tokens[next].text.data[0] == byte)
            next++;
    }
    set->first[256] = next;
}

void added_free(struct added_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free((void *)(uintptr_t)set->tokens[i].text.data);
    free(set->tokens);
    *set = (struct added_set){0};
}

static const struct added_token *match_at(const struct added_set *set,
                                          struct slice text, size_t at)
{
    unsigned char byte = (unsigned char)text.data[at];
    for (uint32_t i = set->first[byte]; i < set->first[byte + 1]; i++) {
        struct slice want = set->tokens[i].text;
        if (want.size <= text.size - at &&
            !memcmp(want.data, text.data + at, want.size))
            return &set->tokens[i];
    }
    return NULL;
}

/* \w as the reference's matcher of words has it. */
static bool is_word(uint32_t c)
{
    if (text_is_letter(c))
        return true;
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL ||
           k == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D ||
           (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
           (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

/* Start of the character that ends before `at` (which must be > 0). */
static size_t previous(struct slice text, size_t at)
{
    return text_begin(text.data, at - 1);
}

static bool within_word(struct slice text, size_t from, size_t to)
{
    size_t step;
    if (from > 0 &&
        is_word(text_decode(text.data, text.size, previous(text, from), &step)))
        return true;
    return to < text.size &&
           is_word(text_decode(text.data, text.size, to, &step));
}

/* `from` moved back over white space, not before `least`. */
static size_t strip_left(struct slice text, size_t from, size_t min)
{
    while (from > min) {
        size_t before = previous(text, from);
        if (!text_space(text.data, text.size, before))
            break;
        from = before;
    }
    return from < min ? min : from;
}

static size_t strip_right(struct slice text, size_t to)
{
    size_t space;
    while (to < text.size && (space = text_space(text.data, text.size, to)) > 0)
        to += space;
    return to;
}

int added_split(const struct added_set *set, struct slice text,
                int (*part)(void *context, int32_t id, struct slice text),
                void *context)
{
    size_t done = 0; /* [0, done) has been handed out */
    int code = 0;
    for (size_t at = 0; !code && set->count && at < text.size;) {
        const struct added_token *token = match_at(set, text, at);
        if (!token) {
            at++;
            continue;
        }
        size_t from = at, to = at + token->text.size;
        at = to;
        if (token->single_word && within_word(text, from, to))
            continue;
        if (token->left_strip)
            from = strip_left(text, from, done);
        if (token->right_strip)
            to = strip_right(text, to);
        if (done < from)
            code = part(context, -1,
                        (struct slice){text.data + done, from - done});
        if (!code)
            code = part(context, token->id, (struct slice){text.data, 0});
        done = to;
    }
    if (!code && done < text.size)
        code = part(context, -1,
                    (struct slice){text.data + done, text.size - done});
    return code;
}
