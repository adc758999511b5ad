#include "memory/lexical/stems.h"

#include <libstemmer.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* Words repeat: the stem made last for each of PLACES is kept. */
enum { PLACES = 2048, LONGEST = 22 };

struct kept {
    uint8_t word_size, stem_size; /* 0: free */
    char word[LONGEST], stem[LONGEST];
};

struct stems {
    struct sb_stemmer *stemmer;
    struct kept kept[PLACES];
};

struct stems *stems_new(void)
{
    struct stems *stems = mem_alloc(sizeof *stems);
    stems->stemmer = sb_stemmer_new("english", "UTF_8");
    if (!stems->stemmer)
        abort();
    return stems;
}

void stems_free(struct stems *stems)
{
    sb_stemmer_delete(stems->stemmer);
    free(stems);
}

static struct slice make_stem(struct stems *stems, struct slice word)
{
    const char *stem = (const char *)sb_stemmer_stem(
        stems->stemmer, (const sb_symbol *)word.data, (int)word.size);
    return (struct slice){stem, (size_t)sb_stemmer_length(stems->stemmer)};
}

struct slice stem_of(struct stems *stems, struct slice word)
{
    if (word.size > LONGEST)
        return make_stem(stems, word);
    struct kept *kept =
        &stems->kept[hash_bytes64(word.data, word.size) % PLACES];
    if (kept->word_size != word.size ||
        memcmp(kept->word, word.data, word.size) != 0) {
        struct slice stem = make_stem(stems, word);
        if (stem.size > LONGEST)
            return stem;
        memcpy(kept->word, word.data, word.size);
        memcpy(kept->stem, stem.data, stem.size);
        kept->word_size = (uint8_t)word.size;
        kept->stem_size = (uint8_t)stem.size;
    }
    return (struct slice){kept->stem, kept->stem_size};
}
