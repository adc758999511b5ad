#include "memory/library.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/url.h"
#include "memory/content.h"
#include "memory/terms.h"

struct library {
    struct store *store;
    pthread_mutex_t lock; /* which shelf is the present one */
    struct shelf *shelf;
    struct contents *contents;
    size_t shelves; /* that somebody holds, the present one included */
};

/* Counts of references are few and short: one lock for all. */
static pthread_mutex_t references = PTHREAD_MUTEX_INITIALIZER;

static void volume_free(struct volume *volume)
{
    if (volume->files)
        for (uint32_t i = 0; i < volume->outline->file_count; i++)
            file_free(&volume->files[i]);
    free(volume->files);
    free(volume->by_id);
    free(volume->anchors);
    free(volume->title_words);
    tree_free(volume->outline);
    manual_free(&volume->manual);
    free(volume);
}

static void shelf_free(struct shelf *shelf)
{
    for (size_t i = 0; i < shelf->count; i++)
        if (--shelf->volumes[i]->references == 0)
            volume_free(shelf->volumes[i]);
    shelf->library->shelves--;
    free(shelf->volumes);
    free(shelf);
}

void shelf_release(struct shelf *shelf)
{
    pthread_mutex_lock(&references);
    if (--shelf->references == 0)
        shelf_free(shelf);
    pthread_mutex_unlock(&references);
}

struct shelf *library_shelf(struct library *library)
{
    pthread_mutex_lock(&library->lock);
    struct shelf *shelf = library->shelf;
    pthread_mutex_lock(&references);
    shelf->references++;
    pthread_mutex_unlock(&references);
    pthread_mutex_unlock(&library->lock);
    return shelf;
}

/* ---- Reading a generation ---- */

static int by_number(const void *a, const void *b)
{
    const struct volume_id *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void ignore_term(void *context, const struct term_at *at)
{
    (void)context;
    (void)at;
}

static int by_anchor(const void *a, const void *b)
{
    const struct volume_anchor *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static uint64_t anchor_hash(uint32_t file, struct slice anchor)
{
    return hash_bytes64(anchor.data, anchor.size) ^
           (file + (uint64_t)1) * 0x9E3779B97F4A7C15u;
}

static void add_anchor(struct volume *volume, size_t *capacity, uint32_t node,
                       struct slice anchor)
{
    void *anchors = volume->anchors;
    mem_reserve(&anchors, capacity, volume->anchor_count + 1,
                sizeof *volume->anchors);
    volume->anchors = anchors;
    uint32_t file = volume->outline->nodes[node].source_tree;
    volume->anchors[volume->anchor_count++] =
        (struct volume_anchor){anchor_hash(file, anchor), node};
}

/* The first node of a file stands for the file. */
static void index_anchors(struct volume *volume)
{
    const struct tree *outline = volume->outline;
    bool *met = mem_alloc(outline->file_count * sizeof *met);
    size_t capacity = 0;
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        if (node->source_tree == TREE_NONE)
            continue;
        if (!met[node->source_tree])
            add_anchor(volume, &capacity, n, (struct slice){"", 0});
        met[node->source_tree] = true;
        if (node->anchor.size)
            add_anchor(volume, &capacity, n, node->anchor);
        for (uint32_t i = 0; i < node->anchor_count; i++)
            add_anchor(volume, &capacity, n, node->anchors[i]);
    }
    if (volume->anchor_count)
        qsort(volume->anchors, volume->anchor_count, sizeof *volume->anchors,
              by_anchor);
    free(met);
}

static void measure(struct volume *volume)
{
    const struct tree *outline = volume->outline;
    struct term_maker *maker = term_maker_new();
    double words = 0, title_words = 0, sections = 0;
    for (uint32_t n = 0; n < outline->count; n++) {
        size_t title =
            terms_of(maker, outline->nodes[n].title, ignore_term, NULL);
        volume->title_words[n] =
            (uint16_t)(title < UINT16_MAX ? title : UINT16_MAX);
        volume->by_id[n] = (struct volume_id){outline->nodes[n].id, n};
        if (!outline->nodes[n].words)
            continue;
        volume->owners++;
        if (outline->nodes[n].entry)
            continue;
        sections++;
        words += outline->nodes[n].words;
        title_words += volume->title_words[n];
    }
    term_maker_free(maker);
    qsort(volume->by_id, outline->count, sizeof *volume->by_id, by_number);
    if (sections) {
        volume->mean_words = words / sections;
        volume->mean_title_words = title_words / sections;
    }
}

/* The files' records in the order of the outline's list of files: both are
 * sorted by path, the records may hold failed files besides. */
static int match_files(struct volume *volume, struct file *files, size_t count,
                       struct err *err)
{
    const struct tree *outline = volume->outline;
    volume->files = mem_alloc(outline->file_count * sizeof *volume->files);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (at < outline->file_count &&
            slice_is(outline->files[at], files[i].path))
            volume->files[at++] = files[i];
        else
            file_free(&files[i]);
    }
    if (at == outline->file_count)
        return 0;
    return err_set(err, ERR_STORE, "manual %s: its outline and files differ",
                   volume->manual.name);
}

static int read_volume(struct store_txn *txn, struct manual *manual,
                       struct volume **ret_volume, struct err *err)
{
    struct file *files = NULL;
    size_t count = 0;
    struct volume *volume = mem_alloc(sizeof *volume);
    volume->manual = *manual;
    *manual = (struct manual){0};
    int code =
        store_get_outline(txn, volume->manual.id, volume->manual.generation,
                          &volume->outline, err);
    if (!code)
        code = store_list_files(txn, volume->manual.id, &files, &count, err);
    if (!code)
        code = match_files(volume, files, count, err);
    free(files);
    if (code) {
        volume_free(volume);
        return code;
    }
    volume->by_id = mem_alloc(volume->outline->count * sizeof *volume->by_id);
    volume->title_words =
        mem_alloc(volume->outline->count * sizeof *volume->title_words);
    measure(volume);
    index_anchors(volume);
    *ret_volume = volume;
    return 0;
}

/* NULL: it is damaged, and the others must not go down with it. */
static struct volume *try_volume(struct store_txn *txn, struct manual *manual)
{
    struct volume *volume = NULL;
    struct err err;
    char *name = mem_strdup(manual->name);
    if (read_volume(txn, manual, &volume, &err))
        log_error("%s cannot be read and is left out until its next update: %s",
                  name, err.message);
    free(name);
    return volume;
}

static struct volume *same_volume(const struct shelf *old,
                                  const struct manual *manual)
{
    for (size_t i = 0; old && i < old->count; i++)
        if (old->volumes[i]->manual.id == manual->id &&
            old->volumes[i]->manual.generation == manual->generation &&
            !strcmp(old->volumes[i]->manual.name, manual->name))
            return old->volumes[i];
    return NULL;
}

static int fill_shelf(struct shelf *shelf, const struct shelf *old,
                      struct store_txn *txn, struct err *err)
{
    struct manual *manuals;
    size_t count;
    int code = store_list_manuals(txn, &manuals, &count, err);
    if (code)
        return code;
    shelf->volumes = mem_alloc(count * sizeof(struct volume *));
    for (size_t i = 0; i < count; i++) {
        struct volume *volume = same_volume(old, &manuals[i]);
        if (!volume && manuals[i].generation)
            volume = try_volume(txn, &manuals[i]);
        manual_free(&manuals[i]);
        if (!volume)
            continue;
        pthread_mutex_lock(&references);
        volume->references++;
        pthread_mutex_unlock(&references);
        shelf->volumes[shelf->count++] = volume;
        if (volume->manual.generation > shelf->generation)
            shelf->generation = volume->manual.generation;
    }
    free(manuals);
    return code;
}

int library_refresh(struct library *library, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(library->store, &txn, err);
    if (code)
        return code;
    struct shelf *shelf = mem_alloc(sizeof *shelf);
    shelf->store = library->store;
    shelf->library = library;
    shelf->references = 1;
    pthread_mutex_lock(&references);
    library->shelves++;
    pthread_mutex_unlock(&references);
    struct shelf *old = library->shelf ? library_shelf(library) : NULL;
    code = fill_shelf(shelf, old, txn, err);
    store_end(txn);
    if (!code) {
        pthread_mutex_lock(&library->lock);
        struct shelf *before = library->shelf;
        library->shelf = shelf;
        shelf = before;
        pthread_mutex_unlock(&library->lock);
    }
    if (shelf)
        shelf_release(shelf);
    if (old)
        shelf_release(old);
    return code;
}

bool library_is_settled(struct library *library)
{
    pthread_mutex_lock(&references);
    bool settled = library->shelves == 1;
    pthread_mutex_unlock(&references);
    return settled;
}

int library_open(struct store *store, struct library **ret_library,
                 struct err *err)
{
    struct library *library = mem_alloc(sizeof *library);
    library->store = store;
    library->contents = contents_new();
    pthread_mutex_init(&library->lock, NULL);
    int code = library_refresh(library, err);
    if (code) {
        contents_free(library->contents);
        pthread_mutex_destroy(&library->lock);
        free(library);
        return code;
    }
    *ret_library = library;
    return 0;
}

void library_close(struct library *library)
{
    if (!library)
        return;
    shelf_release(library->shelf);
    contents_free(library->contents);
    pthread_mutex_destroy(&library->lock);
    free(library);
}

struct contents *library_contents(struct library *library)
{
    return library->contents;
}

/* ---- Finding ---- */

const struct volume *shelf_volume(const struct shelf *shelf, const char *name)
{
    for (size_t i = 0; i < shelf->count; i++)
        if (!strcmp(shelf->volumes[i]->manual.name, name))
            return shelf->volumes[i];
    return NULL;
}

void node_name(uint64_t id, char name[24])
{
    snprintf(name, 24, "n%" PRIu64, id);
}

bool node_parse(const char *name, uint64_t *ret_id)
{
    char *end;
    if (name[0] != 'n' || name[1] < '0' || name[1] > '9')
        return false;
    unsigned long long id = strtoull(name + 1, &end, 10);
    if (*end || !id)
        return false;
    *ret_id = id;
    return true;
}

bool shelf_find(const struct shelf *shelf, uint64_t id,
                const struct volume **ret_volume, uint32_t *ret_node)
{
    struct volume_id key = {.id = id};
    for (size_t i = 0; i < shelf->count; i++) {
        const struct volume *volume = shelf->volumes[i];
        const struct volume_id *found = bsearch(
            &key, volume->by_id, volume->outline->count, sizeof key, by_number);
        if (found) {
            *ret_volume = volume;
            *ret_node = found->node;
            return true;
        }
    }
    return false;
}

uint32_t *volume_path(const struct volume *volume, uint32_t node,
                      size_t *ret_count)
{
    const struct node *nodes = volume->outline->nodes;
    size_t count = 1;
    for (uint32_t n = node;
         nodes[n].parent != TREE_NONE && nodes[n].parent != 0;
         n = nodes[n].parent)
        count++;
    uint32_t *path = mem_alloc(count * sizeof *path);
    for (size_t i = count; i-- > 0; node = nodes[node].parent)
        path[i] = node;
    *ret_count = count;
    return path;
}

/* ---- Links ---- */

static bool has_anchor(const struct node *node, struct slice anchor)
{
    if (!anchor.size || slice_equal(node->anchor, anchor))
        return true;
    for (uint32_t i = 0; i < node->anchor_count; i++)
        if (slice_equal(node->anchors[i], anchor))
            return true;
    return false;
}

static uint32_t find_anchor(const struct volume *volume, uint32_t file,
                            struct slice anchor)
{
    struct volume_anchor key = {anchor_hash(file, anchor), 0};
    size_t low = 0, high = volume->anchor_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_anchor(&volume->anchors[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < volume->anchor_count && volume->anchors[low].hash == key.hash;
         low++) {
        uint32_t node = volume->anchors[low].node;
        if (volume->outline->nodes[node].source_tree == file &&
            has_anchor(&volume->outline->nodes[node], anchor))
            return node;
    }
    return TREE_NONE;
}

uint32_t volume_file(const struct volume *volume, const char *path)
{
    const struct tree *outline = volume->outline;
    uint32_t low = 0, high = outline->file_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(outline->files[middle].data, path);
        if (!order)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return TREE_NONE;
}

uint32_t volume_follow(const struct volume *volume, uint32_t node,
                       struct slice url)
{
    const struct tree *outline = volume->outline;
    uint32_t source = outline->nodes[node].source_tree, found = TREE_NONE;
    struct buf path = {0}, anchor = {0};
    if (source != TREE_NONE &&
        url_resolve(outline->files[source], url, &path, &anchor)) {
        uint32_t file = volume_file(volume, path.data);
        if (file != TREE_NONE)
            found = find_anchor(volume, file, buf_slice(&anchor));
        if (file != TREE_NONE && found == TREE_NONE)
            found = find_anchor(volume, file, (struct slice){"", 0});
    }
    buf_free(&path);
    buf_free(&anchor);
    return found;
}
