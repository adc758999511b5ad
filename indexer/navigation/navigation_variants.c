/* One book in several layouts is one document: of main files that include the same
 * chapters the one with most text is read, the others are its variants. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "indexer/assemble.h"
#include "indexer/navigation/navigation_internal.h"

/* Of a variant's texts, the share that the document has as well. */
static const double MIN_SHARE = 0.8;

struct document {
    uint32_t piece;
    uint64_t *texts; /* [count] hashes, ascending */
    size_t count;
};

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

/* Most texts first, then by path. */
static int by_size(const void *a, const void *b)
{
    const struct document *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->piece < y->piece ? -1 : x->piece > y->piece;
}

static void take_texts(struct document *document, const struct tree *skeleton)
{
    size_t capacity = 0;
    for (uint32_t n = 0; n < skeleton->count; n++) {
        const struct node *node = &skeleton->nodes[n];
        MEM_RESERVE(document->texts, &capacity,
                    document->count + node->text_count);
        for (uint32_t t = 0; t < node->text_count; t++)
            if (node->texts[t])
                document->texts[document->count++] = node->texts[t];
    }
    if (document->count)
        qsort(document->texts, document->count, sizeof *document->texts,
              by_value);
}

/* How many texts of `a` stand in `b`. */
static size_t common(const struct document *a, const struct document *b)
{
    size_t both = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        if (a->texts[i] == b->texts[j]) {
            both++;
            i++;
            j++;
        } else if (a->texts[i] < b->texts[j]) {
            i++;
        } else {
            j++;
        }
    }
    return both;
}

/* Neither a bibliography nor a package: a part of the text. */
static bool is_text(struct slice path)
{
    static const char *const ends[] = {".tex", ".ltx", ".dtx"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (path.size >= 4 && !memcmp(path.data + path.size - 4, ends[i], 4))
            return true;
    return false;
}

/* Whether both include some text of the manual. */
static bool share_a_text(const struct navigation *p, uint32_t a, uint32_t b)
{
    const struct tree *one = p->pieces[a].skeleton,
                      *other = p->pieces[b].skeleton;
    for (uint32_t f = 1; f < one->file_count; f++)
        for (uint32_t g = 1; g < other->file_count; g++)
            if (is_text(one->files[f]) &&
                slice_equal(one->files[f], other->files[g]))
                return true;
    return false;
}

static bool is_variant(const struct navigation *p, const struct document *a,
                       const struct document *of)
{
    return a->count && (double)common(a, of) >= MIN_SHARE * (double)a->count &&
           share_a_text(p, a->piece, of->piece);
}

void navigation_leave_out_variants(struct navigation *p)
{
    struct document *documents = mem_alloc((p->count + 1) * sizeof *documents);
    size_t count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->places[i].excluded && p->pieces[i].skeleton->file_count > 1) {
            documents[count] = (struct document){.piece = i};
            take_texts(&documents[count++], p->pieces[i].skeleton);
        }
    if (count)
        qsort(documents, count, sizeof *documents, by_size);
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            struct place *places = p->places;
            if (!places[documents[j].piece].excluded &&
                is_variant(p, &documents[i], &documents[j])) {
                places[documents[i].piece].excluded = EXCLUDED_VARIANT;
                break;
            }
        }
    for (size_t i = 0; i < count; i++)
        free(documents[i].texts);
    free(documents);
}
