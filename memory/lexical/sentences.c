#include "memory/lexical/sentences.h"

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
