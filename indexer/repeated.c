#include "indexer/repeated.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
    MIN_PAGES = 8,
    MIN_BANNERS = 3,
    MAX_TEXT = 2000,
    MIN_TEXTS = 100,  /* of a page that has others once more */
    MIN_COVERED = 5,  /* of such another */
    MIN_OTHERS = 3,   /* pages: where none is meant, none is covered */
    MIN_TELLING = 40, /* bytes of a text that tells pages apart */
    MAX_CANDIDATES = 50,
    OFTEN = 3,      /* times a page: a menu stands above and below */
    MAX_SHARED = 16 /* pages that a text stands on which tells something */
};

struct sight {
    uint64_t hash;
    uint32_t page;
};

struct sights {
    struct sight *items;
    size_t count, capacity;
    uint32_t pages;
};

/* The last bit tells whether it is a text that two pages hardly have by
 * chance. */
uint64_t repeated_hash(struct slice text)
{
    struct buf folded = {0};
    text_fold_compare(&folded, text);
    uint64_t hash = hash_bytes64(folded.data, folded.size) >> 2;
    bool any = folded.size > 0, telling = folded.size >= MIN_TELLING;
    buf_free(&folded);
    return any ? hash << 2 | 2 | telling : 0;
}

uint64_t repeated_block_hash(const struct block *block)
{
    if (block->kind == BLOCK_CODE || block->text.size > MAX_TEXT)
        return 0;
    return repeated_hash(block->text);
}

static void see(struct sights *sights, uint64_t hash, uint32_t page)
{
    if (!hash)
        return;
    MEM_RESERVE(sights->items, &sights->capacity, sights->count + 1);
    sights->items[sights->count++] = (struct sight){hash, page};
}

static int by_hash(const void *a, const void *b)
{
    const struct sight *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->page < y->page ? -1 : x->page > y->page;
}

/* Takes the sights; keeps what was seen on `min` pages or more. */
static void take(struct sights *sights, size_t min, struct repeated *ret)
{
    *ret = (struct repeated){0};
    if (sights->count) {
        qsort(sights->items, sights->count, sizeof *sights->items, by_hash);
        ret->hashes = mem_alloc(sights->count * sizeof *ret->hashes);
        ret->first_pages = mem_alloc(sights->count * sizeof *ret->first_pages);
        ret->often = mem_alloc(sights->count * sizeof *ret->often);
        size_t pages = 0, begin = 0;
        for (size_t i = 0; i < sights->count; i++) {
            const struct sight *now = &sights->items[i];
            bool first = !i || now[-1].hash != now->hash;
            pages = first ? 1 : pages + (now[-1].page != now->page);
            begin = first ? i : begin;
            bool last = i + 1 == sights->count || now[1].hash != now->hash;
            if (!last || pages < min)
                continue;
            ret->first_pages[ret->count] = sights->items[begin].page;
            ret->often[ret->count] = i + 1 - begin >= OFTEN * pages;
            ret->hashes[ret->count++] = now->hash;
        }
    }
    free(sights->items);
}

/* Keeps what was seen on more than half of the pages. */
static void take_common(struct sights *sights, struct repeated *ret)
{
    bool enough = sights->pages >= MIN_PAGES;
    take(sights, enough ? sights->pages / 2 + 1 : SIZE_MAX, ret);
}

/* places NULL: of all pages. */
static void see_blocks(struct sights *sights, const struct piece *pieces,
                       const struct place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (places && places[i].excluded)
            continue;
        const struct tree *summary = pieces[i].skeleton;
        bool content = false;
        for (uint32_t n = 0; n < summary->count; n++) {
            content |= summary->nodes[n].text_count > 0;
            for (uint32_t t = 0; t < summary->nodes[n].text_count; t++)
                see(sights, summary->nodes[n].texts[t], i);
        }
        sights->pages += content;
    }
}

void repeated_blocks(const struct piece *pieces, const struct place *places,
                     uint32_t count, struct repeated *ret)
{
    struct sights sights = {0};
    see_blocks(&sights, pieces, places, count);
    take_common(&sights, ret);
}

void repeated_titles(const struct piece *pieces, const struct place *places,
                     uint32_t count, struct repeated *ret)
{
    struct sights sights = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct tree *summary = pieces[i].skeleton;
        if (summary->count < 2 || places[i].excluded)
            continue;
        sights.pages++;
        see(&sights, repeated_hash(summary->nodes[0].title), i);
    }
    take_common(&sights, ret);
}

/* Its index among the hashes, or count: it is none. */
static size_t index_of(const struct repeated *repeated, uint64_t hash)
{
    size_t low = 0, high = repeated->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (repeated->hashes[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < repeated->count && repeated->hashes[low] == hash;
    return found ? low : repeated->count;
}

bool repeated_is_all(const struct repeated *blocks, const struct node *node)
{
    for (uint32_t t = 0; t < node->text_count; t++)
        if (!repeated_has(blocks, node->texts[t]))
            return false;
    return true;
}

bool repeated_is_kept(const struct repeated *blocks,
                      const struct tree *skeleton, uint32_t page, uint32_t node)
{
    const struct node *own = &skeleton->nodes[node];
    if (!node || !own->title.size || own->end > node + 1 ||
        (own->menu && !own->entry))
        return false;
    for (uint32_t t = 0; t < own->text_count; t++) {
        size_t at = index_of(blocks, own->texts[t]);
        if (at == blocks->count || (!own->entry && !blocks->often[at] &&
                                    blocks->first_pages[at] != page))
            return false;
    }
    return true;
}

bool repeated_is_banner(const struct tree *skeleton, struct slice banner,
                        struct slice title)
{
    struct buf folded[3] = {0};
    const struct slice texts[3] = {skeleton->page.title, banner, title};
    for (int i = 0; i < 3; i++)
        text_fold_compare(&folded[i], texts[i]);
    struct slice page = buf_slice(&folded[0]), one = buf_slice(&folded[1]),
                 other = buf_slice(&folded[2]);
    bool found = one.size && other.size && page.size > one.size + other.size &&
                 ((slice_starts(page, one) && slice_ends(page, other)) ||
                  (slice_starts(page, other) && slice_ends(page, one)));
    for (int i = 0; i < 3; i++)
        buf_free(&folded[i]);
    return found;
}

void repeated_banners(const struct piece *pieces, const struct place *places,
                      uint32_t count, struct repeated *ret)
{
    struct sights sights = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct tree *summary = pieces[i].skeleton;
        if (summary->count > 1 && !places[i].excluded &&
            repeated_is_banner(summary, summary->nodes[0].title,
                               summary->nodes[1].title))
            see(&sights, repeated_hash(summary->nodes[0].title), i);
    }
    take(&sights, MIN_BANNERS, ret);
}

void repeated_books(const struct piece *pieces, const struct place *places,
                    uint32_t count, struct repeated *ret)
{
    struct sights sights = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct tree *summary = pieces[i].skeleton;
        uint64_t hash = repeated_hash(summary->nodes[0].title);
        if (summary->count > 1 && !places[i].excluded &&
            hash == repeated_hash(summary->page.title))
            see(&sights, hash, i);
    }
    take(&sights, MIN_PAGES, ret);
}

/* The run of sights with the hash at `at`. */
static size_t run_end(const struct sights *sights, size_t at)
{
    size_t end = at + 1;
    while (end < sights->count &&
           sights->items[end].hash == sights->items[at].hash)
        end++;
    return end;
}

struct tally {
    uint32_t texts, elsewhere, shared;
};

/* Not a short text, nor one on many pages. */
static bool tells(const struct sights *sights, size_t at, size_t end)
{
    return end - at <= MAX_SHARED && (sights->items[at].hash & 1);
}

/* Of texts that tell pages apart. */
static void tally_pages(const struct sights *sights, struct tally *tallies)
{
    for (size_t at = 0, end; at < sights->count; at = end) {
        end = run_end(sights, at);
        bool elsewhere = sights->items[end - 1].page != sights->items[at].page;
        for (size_t i = at; i < end && tells(sights, at, end); i++) {
            tallies[sights->items[i].page].texts++;
            tallies[sights->items[i].page].elsewhere += elsewhere;
        }
    }
}

static bool is_max(uint32_t part, uint32_t whole)
{
    return part >= whole - whole / 10;
}

/* What of this page's texts stands on others that are not left out already, and how
 * many other pages stand on it whole. */
struct cover {
    uint32_t elsewhere, pages;
};

static struct cover cover_of(const struct sights *sights, uint32_t page,
                             const bool *excluded, struct tally *tallies,
                             uint32_t count)
{
    struct cover cover = {0};
    for (uint32_t i = 0; i < count; i++)
        tallies[i].shared = 0;
    for (size_t at = 0, end; at < sights->count; at = end) {
        end = run_end(sights, at);
        bool here = false, elsewhere = false;
        for (size_t i = at; i < end && tells(sights, at, end); i++) {
            uint32_t other = sights->items[i].page;
            here |= other == page;
            elsewhere |= other != page && !excluded[other];
        }
        for (size_t i = at; i < end && here; i++)
            tallies[sights->items[i].page].shared++;
        cover.elsewhere += here && elsewhere;
    }
    for (uint32_t i = 0; i < count; i++)
        cover.pages += i != page && tallies[i].texts >= MIN_COVERED &&
                       2 * tallies[i].texts < tallies[page].texts &&
                       is_max(tallies[i].shared, tallies[i].texts);
    return cover;
}

struct candidate {
    uint32_t page, texts;
};

static int by_texts(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->texts != y->texts)
        return x->texts > y->texts ? -1 : 1;
    return x->page < y->page ? -1 : x->page > y->page;
}

/* Pages of which nearly all stands elsewhere, those with most first. */
static size_t find_candidates(const struct tally *tallies, uint32_t count,
                              struct candidate *ret)
{
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        if (tallies[i].texts >= MIN_TEXTS &&
            is_max(tallies[i].elsewhere, tallies[i].texts))
            ret[found++] = (struct candidate){i, tallies[i].texts};
    if (found)
        qsort(ret, found, sizeof *ret, by_texts);
    return found < MAX_CANDIDATES ? found : MAX_CANDIDATES;
}

/* The largest first: of two that have the same pages once more (ffplay-all.html,
 * ffprobe-all.html) neither is where the other's texts stand. */
void repeated_subtrees(const struct piece *pieces, uint32_t count, bool *ret)
{
    struct sights sights = {0};
    struct tally *tallies = mem_alloc(count * sizeof *tallies);
    struct candidate *candidates = mem_alloc(count * sizeof *candidates);
    see_blocks(&sights, pieces, NULL, count);
    if (sights.count)
        qsort(sights.items, sights.count, sizeof *sights.items, by_hash);
    tally_pages(&sights, tallies);
    memset(ret, 0, count * sizeof *ret);
    size_t found = find_candidates(tallies, count, candidates);
    for (size_t i = 0; i < found; i++) {
        uint32_t page = candidates[i].page;
        struct cover cover = cover_of(&sights, page, ret, tallies, count);
        ret[page] = cover.pages >= MIN_OTHERS &&
                    is_max(cover.elsewhere, tallies[page].texts);
    }
    free(candidates);
    free(tallies);
    free(sights.items);
}

void repeated_free(struct repeated *repeated)
{
    free(repeated->hashes);
    free(repeated->first_pages);
    free(repeated->often);
    *repeated = (struct repeated){0};
}

bool repeated_has(const struct repeated *repeated, uint64_t hash)
{
    return index_of(repeated, hash) < repeated->count;
}
