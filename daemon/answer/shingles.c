#include "daemon/answer/shingles.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum { RUN = 4 /* words of a shingle */ };

struct reading {
    struct shingles *ret;
    size_t capacity;
    uint64_t words[RUN]; /* hashes of the last ones, the oldest first */
    size_t count;        /* read so far */
};

static void add(struct reading *reading)
{
    struct shingles *ret = reading->ret;
    MEM_RESERVE(ret->hashes, &reading->capacity, ret->count + 1);
    ret->hashes[ret->count++] =
        hash_bytes64(reading->words, sizeof reading->words);
}

static void add_word(struct reading *reading, const struct buf *word)
{
    for (int i = 0; i + 1 < RUN; i++)
        reading->words[i] = reading->words[i + 1];
    reading->words[RUN - 1] = hash_bytes64(word->data, word->size);
    if (++reading->count >= RUN)
        add(reading);
}

/* Letters outside ASCII count as such, whatever they are. */
static bool is_letter(unsigned char byte)
{
    return byte >= 0x80 || isalnum(byte);
}

static void read_text(struct reading *reading, struct slice text,
                      struct buf *word)
{
    for (size_t i = 0; i <= text.size; i++) {
        unsigned char byte =
            i < text.size ? (unsigned char)text.data[i] : (unsigned char)' ';
        if (is_letter(byte)) {
            buf_put_byte(word, byte < 0x80 ? tolower(byte) : byte);
        } else if (word->size) {
            add_word(reading, word);
            buf_clear(word);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void shingles_of(const struct node *node, struct shingles *ret)
{
    struct reading reading = {.ret = ret};
    struct buf word = {0};
    *ret = (struct shingles){0};
    for (uint32_t b = 0; b < node->block_count; b++)
        read_text(&reading, node->blocks[b].text, &word);
    if (reading.count && reading.count < RUN)
        add(&reading);
    buf_free(&word);
    if (ret->count)
        qsort(ret->hashes, ret->count, sizeof *ret->hashes, by_size);
    size_t kept = 0;
    for (size_t i = 0; i < ret->count; i++)
        if (!kept || ret->hashes[i] != ret->hashes[kept - 1])
            ret->hashes[kept++] = ret->hashes[i];
    ret->count = kept;
}

void shingles_free(struct shingles *shingles)
{
    free(shingles->hashes);
    *shingles = (struct shingles){0};
}

double shingles_alike(const struct shingles *a, const struct shingles *b)
{
    size_t both = 0;
    for (size_t i = 0, j = 0; i < a->count; i++) {
        while (j < b->count && b->hashes[j] < a->hashes[i])
            j++;
        both += j < b->count && b->hashes[j] == a->hashes[i];
    }
    size_t either = a->count + b->count - both;
    return either ? (double)both / (double)either : 0;
}
