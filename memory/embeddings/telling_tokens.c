#include "memory/embeddings/telling_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "memory/lexical/common_words.h"

enum { LONGEST = 16 /* bytes of a stop word */ };

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* A word begins with a space; without one the token goes on with a word. */
static bool is_stop_word(struct slice token)
{
    char word[LONGEST];
    if (!token.size || token.data[0] != ' ' || token.size > LONGEST)
        return false;
    for (size_t i = 1; i < token.size; i++) {
        char c = token.data[i];
        word[i - 1] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return word_is_stop_word((struct slice){word, token.size - 1});
}

/* Bytes of others than ASCII are letters: signs among them are few. */
static bool tells(struct slice token)
{
    for (size_t i = 0; i < token.size; i++)
        if (is_letter_or_digit(token.data[i]))
            return !is_stop_word(token);
    return false;
}

bool token_tells(struct telling_tokens *tokens, int32_t id)
{
    const struct embedder *embedder = tokens->embedder;
    struct slice token;
    size_t at = (size_t)id;
    if (id < 0)
        return true;
    if (at >= tokens->capacity) {
        size_t before = tokens->capacity;
        MEM_RESERVE(tokens->known, &tokens->capacity, at + 1);
        memset(tokens->known + before, 0, tokens->capacity - before);
    }
    if (!tokens->known[at]) {
        if (embedder->spell(embedder->context, id, &token, NULL))
            return true;
        tokens->known[at] = tells(token) ? 1 : -1;
    }
    return tokens->known[at] > 0;
}

void telling_tokens_free(struct telling_tokens *tokens)
{
    free(tokens->known);
}
