#include "daemon/answer/copies.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/verbs/result.h"
#include "daemon/answer/shingles.h"
#include "memory/snapshot/content.h"

enum {
    DEPTH = 4,       /* hits looked at for one that is shown */
    MAX_DEPTH = 100, /* beyond it scores would change (route.h) */
    MIN_PLACES =
        8, /* that editions have in common: an index.html is everywhere */
    MIN_SHINGLES = 8 /* of a text that tells: "See also below." is anywhere */
};

/* Resemblance from which two texts say the same. */
static const double SAME = 0.8;

/* Share of the smaller one's places that editions have in common. */
static const double EDITION = 0.5;

struct edition {
    const struct view *view;
    struct slice language; /* empty: none is told */
    uint64_t *places;      /* [count] hashes, ascending, each once */
    size_t count;
};

struct folding {
    const struct snapshot *snapshot;
    struct edition *editions; /* [count] met so far */
    size_t count, capacity;
};

size_t copies_depth(size_t max)
{
    size_t depth = max < MAX_DEPTH / DEPTH ? max * DEPTH : MAX_DEPTH;
    return depth > max ? depth : max;
}

/* ---- Languages ---- */

/* Of documentation, by ISO 639-1. */
static bool is_language(const char *code)
{
    static const char codes[] =
        "ar bg ca cs da de el en eo es et eu fa fi fr gl he hi hr hu id it ja "
        "ko "
        "lt lv nb nl nn no pl pt ro ru sk sl sr sv ta th tr uk vi zh ";
    const char *at = strstr(codes, (char[]){code[0], code[1], ' ', 0});
    return at && (at - codes) % 3 == 0;
}

/* "de", "pt-br", "zh_Hans" */
static bool names_language(struct slice token)
{
    if (token.size != 2 && (token.size < 5 || token.size > 7 ||
                            (token.data[2] != '-' && token.data[2] != '_')))
        return false;
    for (size_t i = 3; i < token.size; i++)
        if (!isalpha((unsigned char)token.data[i]))
            return false;
    return is_language(token.data);
}

/* The last part of the path, between slashes and points, that names a language; of
 * size 0: none. */
static struct slice language_in(struct slice path)
{
    struct slice found = {path.data, 0};
    for (size_t from = 0, to; from < path.size; from = to + 1) {
        to = from;
        while (to < path.size && path.data[to] != '/' && path.data[to] != '.')
            to++;
        struct slice token = {path.data + from, to - from};
        if (names_language(token))
            found = token;
    }
    return found;
}

static struct slice path_of(const struct view *view, uint32_t node)
{
    uint32_t file = view->nodes[node].file;
    return file == TREE_NONE ? (struct slice){"", 0}
                             : view->outline->files[file];
}

/* Of a node; where its path tells none, of its manual's folder. */
static struct slice language_of(const struct view *view, uint32_t node)
{
    struct slice found = language_in(path_of(view, node));
    return found.size ? found : language_in(slice_of(view->manual.root));
}

/* ---- Places ---- */

/* File and anchor without the language; 0: it stands in no file. */
static uint64_t place_of(const struct view *view, uint32_t node)
{
    struct slice path = path_of(view, node), language = language_in(path);
    struct slice anchor = view->outline->nodes[node].anchor;
    if (!path.size)
        return 0;
    size_t before =
        language.size ? (size_t)(language.data - path.data) : path.size;
    size_t after = before + language.size;
    uint64_t parts[] = {hash_bytes64(path.data, before),
                        hash_bytes64(path.data + after, path.size - after),
                        hash_bytes64(anchor.data, anchor.size)};
    return hash_bytes64(parts, sizeof parts);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void read_places(struct edition *edition)
{
    const struct view *view = edition->view;
    size_t count = 0;
    edition->places = mem_alloc(view->outline->count * sizeof *edition->places);
    for (uint32_t n = 0; n < view->outline->count; n++)
        if (slice_equal(language_of(view, n), edition->language))
            edition->places[count++] = place_of(view, n);
    qsort(edition->places, count, sizeof *edition->places, by_size);
    for (size_t i = 0; i < count; i++)
        if (!edition->count ||
            edition->places[i] != edition->places[edition->count - 1])
            edition->places[edition->count++] = edition->places[i];
}

/* Its index among the editions. */
static size_t edition_of(struct folding *folding, const struct view *view,
                         struct slice language)
{
    for (size_t i = 0; i < folding->count; i++)
        if (folding->editions[i].view == view &&
            slice_equal(folding->editions[i].language, language))
            return i;
    void *editions = folding->editions;
    mem_reserve(&editions, &folding->capacity, folding->count + 1,
                sizeof *folding->editions);
    folding->editions = editions;
    folding->editions[folding->count] =
        (struct edition){.view = view, .language = language};
    read_places(&folding->editions[folding->count]);
    return folding->count++;
}

static bool are_editions(const struct edition *a, const struct edition *b)
{
    size_t both = 0, smaller = a->count < b->count ? a->count : b->count;
    for (size_t i = 0, j = 0; i < a->count; i++) {
        while (j < b->count && b->places[j] < a->places[i])
            j++;
        both += j < b->count && b->places[j] == a->places[i];
    }
    return both >= MIN_PLACES && (double)both >= EDITION * (double)smaller;
}

/* ---- Two sections ---- */

struct section {
    const struct view *view;
    uint32_t node;
    struct slice language;
    uint64_t place;
    size_t shown; /* index of the hit that is shown for it */
};

static struct section section_of(const struct route_hit *hit)
{
    return (struct section){.view = hit->view,
                            .node = hit->node,
                            .language = language_of(hit->view, hit->node),
                            .place = place_of(hit->view, hit->node)};
}

/* The next byte of a title that is neither number nor sign; 0: the end. */
static int next_letter(struct slice *title)
{
    while (title->size) {
        unsigned char byte = (unsigned char)*title->data;
        title->data++;
        title->size--;
        if (byte >= 0x80 || isalpha(byte))
            return tolower(byte);
    }
    return 0;
}

/* The same title, however chapters are numbered. */
static bool is_titled_alike(const struct section *a, const struct section *b)
{
    struct slice x = a->view->outline->nodes[a->node].title;
    struct slice y = b->view->outline->nodes[b->node].title;
    int letter;
    do {
        letter = next_letter(&x);
        if (letter != next_letter(&y))
            return false;
    } while (letter);
    return true;
}

static void read_shingles(const struct folding *folding,
                          const struct section *section, struct shingles *ret)
{
    struct content content;
    *ret = (struct shingles){0};
    if (content_open(folding->snapshot, section->view, section->node, &content,
                     NULL))
        return;
    shingles_of(content.node, ret);
    content_close(&content);
}

static bool says_the_same(const struct folding *folding,
                          const struct section *a, const struct section *b)
{
    struct shingles x, y;
    read_shingles(folding, a, &x);
    read_shingles(folding, b, &y);
    bool same = x.count >= MIN_SHINGLES && shingles_alike(&x, &y) >= SAME;
    shingles_free(&x);
    shingles_free(&y);
    return same;
}

static bool stands_in_edition(struct folding *folding, const struct section *a,
                              const struct section *b)
{
    if (!a->place || a->place != b->place)
        return false;
    size_t x = edition_of(folding, a->view, a->language);
    size_t y = edition_of(folding, b->view, b->language);
    return are_editions(&folding->editions[x], &folding->editions[y]);
}

static bool is_copy(struct folding *folding, const struct section *a,
                    const struct section *b)
{
    bool translated = a->language.size && b->language.size &&
                      !slice_equal(a->language, b->language);
    if (a->view == b->view && !translated)
        return false;
    bool titled_alike = is_titled_alike(a, b);
    return ((titled_alike || translated) && stands_in_edition(folding, a, b)) ||
           (titled_alike && says_the_same(folding, a, b));
}

/* ---- The list ---- */

/* The first of the sections [count] that it is a copy of, whether that is shown or a
 * copy itself; NULL: of none. */
static const struct section *original_of(struct folding *folding,
                                         const struct section *sections,
                                         size_t count,
                                         const struct section *section)
{
    for (size_t i = 0; i < count; i++)
        if (is_copy(folding, &sections[i], section))
            return &sections[i];
    return NULL;
}

void copies_fold(const struct snapshot *snapshot, struct route_result *route,
                 size_t max, struct copies *ret)
{
    struct folding folding = {.snapshot = snapshot};
    struct section *seen = mem_alloc(route->count * sizeof *seen);
    size_t seen_count = 0, kept = 0;
    *ret =
        (struct copies){.items = mem_alloc(route->count * sizeof *ret->items)};
    for (size_t i = 0; i < route->count; i++) {
        struct section section = section_of(&route->hits[i]);
        const struct section *original =
            original_of(&folding, seen, seen_count, &section);
        if (!original && kept == max)
            continue;
        section.shown = original ? original->shown : kept;
        if (original)
            ret->items[ret->count++] =
                (struct copy){section.shown, section.view, section.node};
        else
            route->hits[kept++] = route->hits[i];
        seen[seen_count++] = section;
    }
    route->count = kept;
    for (size_t i = 0; i < folding.count; i++)
        free(folding.editions[i].places);
    free(folding.editions);
    free(seen);
}

void copies_free(struct copies *copies)
{
    free(copies->items);
    *copies = (struct copies){0};
}

void copies_put(struct json *json, const struct copies *copies, size_t hit)
{
    bool begun = false;
    for (size_t i = 0; i < copies->count; i++) {
        const struct copy *copy = &copies->items[i];
        if (copy->of != hit)
            continue;
        if (!begun) {
            json_key(json, "copies");
            json_begin(json, '[');
        }
        begun = true;
        json_begin(json, '{');
        json_field_text(json, "manual", copy->view->manual.name);
        result_node_id(json, "node", copy->view, copy->node);
        json_field_string(json, "file", path_of(copy->view, copy->node));
        json_end(json, '}');
    }
    if (begun)
        json_end(json, ']');
}
