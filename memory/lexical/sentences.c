#include "memory/lexical/sentences.h"

enum { LONG_PIECE = 1000 }; /* bytes */

struct slice sentences_line(const struct block *block, size_t *at)
{
    struct slice text = block->text;
    size_t from = *at, to = from;
    while (to < text.size && text.data[to] != '\n' &&
           !(block->kind == BLOCK_TABLE && text.data[to] == '\t'))
        to++;
    *at = to + 1;
    return (struct slice){text.data + from, to - from};
}

static size_t skip_spaces(struct slice line, size_t at)
{
    while (at < line.size && line.data[at] == ' ')
        at++;
    return at;
}

struct slice sentences_unmarked(const struct block *block, struct slice line)
{
    size_t at = skip_spaces(line, 0), mark = at;
    if (block->kind != BLOCK_LIST && block->kind != BLOCK_DEFINITION)
        return line;
    if (mark < line.size && line.data[mark] == '-') {
        mark++;
    } else {
        while (mark < line.size && line.data[mark] >= '0' &&
               line.data[mark] <= '9')
            mark++;
        if (mark == at || mark >= line.size || line.data[mark] != '.')
            return (struct slice){line.data + at, line.size - at};
        mark++;
    }
    if (mark < line.size && line.data[mark] == ' ')
        at = mark + 1;
    return (struct slice){line.data + at, line.size - at};
}

struct slice sentences_piece(struct slice text, size_t *at)
{
    size_t from = *at, end = from;
    while (end < text.size &&
           (text.data[end] != '\n' ||
            (end + 1 < text.size && text.data[end + 1] != '\n' &&
             end - from < LONG_PIECE)))
        end++;
    *at = end;
    while (*at < text.size && text.data[*at] == '\n')
        ++*at;
    return (struct slice){text.data + from, end - from};
}

size_t sentence_end(struct slice line, size_t from)
{
    for (size_t at = from; at < line.size; at++) {
        if (!strchr(".?!", line.data[at]))
            continue;
        size_t after = at + 1;
        while (after < line.size && strchr(")\"'", line.data[after]))
            after++;
        if (after >= line.size)
            return line.size;
        if (line.data[after] != ' ' || after + 1 >= line.size)
            continue;
        char next = line.data[after + 1];
        if (!(next >= 'a' && next <= 'z') && at > from + 3)
            return after;
    }
    return line.size;
}

size_t sentence_next(struct slice line, size_t end)
{
    return skip_spaces(line, end);
}
