#include "memory/snapshot/library.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "memory/snapshot/content.h"
#include "memory/vectors/dense.h"
#include "memory/snapshot/volume.h"

struct library {
    struct store *store;
    pthread_mutex_t lock; /* which shelf is the present one */
    struct shelf *shelf;
    struct dense_index *index; /* of vectors; NULL: none */
    struct contents *contents;
    size_t shelves; /* that somebody holds, the present one included */
};

/* Counts of references are few and short: one lock for all. */
static pthread_mutex_t references = PTHREAD_MUTEX_INITIALIZER;

static void volume_release(struct volume *volume)
{
    struct volume *of = volume->of;
    if (--volume->references)
        return;
    volume_free(volume);
    if (of && --of->references == 0)
        volume_free(of);
}

static void shelf_free(struct shelf *shelf)
{
    dense_free(shelf->dense);
    for (size_t i = 0; i < shelf->count; i++)
        volume_release(shelf->volumes[i]);
    for (size_t i = 0; i < shelf->damaged_count; i++) {
        free(shelf->damaged[i].name);
        free(shelf->damaged[i].why);
    }
    free(shelf->damaged);
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

/* ---- The next shelf ---- */

/* `name` (NULL: it is not known) is taken. */
static void note_damaged(struct shelf *shelf, char *name, const struct err *why)
{
    shelf->damaged = mem_resize(shelf->damaged, shelf->damaged_count + 1,
                                sizeof *shelf->damaged);
    shelf->damaged[shelf->damaged_count++] =
        (struct damaged_manual){name, mem_strdup(why->message)};
}

/* NULL: it is damaged, and the others must not go down with it. */
static struct volume *try_volume(struct shelf *shelf, struct store_txn *txn,
                                 struct manual *manual)
{
    struct volume *volume = NULL;
    struct err err;
    char *name = mem_strdup(manual->name);
    if (!volume_read(txn, manual, &volume, &err)) {
        free(name);
        return volume;
    }
    log_error("%s is damaged and cannot be asked (lectern verify --repair): %s",
              name, err.message);
    note_damaged(shelf, name, &err);
    return NULL;
}

static struct volume *same_generation(const struct shelf *old,
                                      const struct manual *manual)
{
    for (size_t i = 0; old && i < old->count; i++)
        if (old->volumes[i]->manual.id == manual->id &&
            old->volumes[i]->manual.generation == manual->generation &&
            old->volumes[i]->manual.all_links == manual->all_links &&
            !strcmp(old->volumes[i]->manual.name, manual->name))
            return old->volumes[i];
    return NULL;
}

/* The old one, or what shares all but the vectors with it; NULL: it is of another
 * generation. */
static struct volume *old_volume(const struct shelf *old,
                                 struct store_txn *txn, struct manual *manual)
{
    struct volume *same = same_generation(old, manual);
    if (!same || same->manual.vectors == manual->vectors)
        return same;
    struct volume *of = same->of ? same->of : same;
    pthread_mutex_lock(&references);
    of->references++;
    struct volume *volume = volume_share(of);
    pthread_mutex_unlock(&references);
    volume_take_vectors(txn, manual, volume);
    return volume;
}

static int fill_shelf(struct shelf *shelf, const struct shelf *old,
                      struct store_txn *txn, struct err *err)
{
    struct manual *manuals;
    size_t count;
    struct err damage;
    int code = store_list_manuals(txn, &manuals, &count, err);
    if (code)
        return code;
    if (store_check_manuals(txn, count, &damage))
        note_damaged(shelf, NULL, &damage);
    shelf->volumes = mem_alloc(count * sizeof(struct volume *));
    for (size_t i = 0; i < count; i++) {
        struct volume *volume = old_volume(old, txn, &manuals[i]);
        if (!volume && manuals[i].generation)
            volume = try_volume(shelf, txn, &manuals[i]);
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

static struct dense_index *present_index(struct library *library)
{
    pthread_mutex_lock(&library->lock);
    struct dense_index *index = dense_index_keep(library->index);
    pthread_mutex_unlock(&library->lock);
    return index;
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
        struct dense_index *index = present_index(library);
        shelf->dense = dense_new(index, shelf->volumes, shelf->count);
        dense_index_release(index);
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

bool library_wants_index(struct library *library)
{
    struct shelf *shelf = library_shelf(library);
    bool due = dense_is_due(shelf->dense);
    shelf_release(shelf);
    return due;
}

/* Without their shelf, which would keep what it refers to from being collected. */
static struct volume **keep_volumes(struct library *library, size_t *ret_count)
{
    struct shelf *shelf = library_shelf(library);
    struct volume **volumes = mem_alloc(shelf->count * sizeof *volumes);
    pthread_mutex_lock(&references);
    for (size_t i = 0; i < shelf->count; i++) {
        volumes[i] = shelf->volumes[i];
        volumes[i]->references++;
    }
    pthread_mutex_unlock(&references);
    *ret_count = shelf->count;
    shelf_release(shelf);
    return volumes;
}

static void release_volumes(struct volume **volumes, size_t count)
{
    pthread_mutex_lock(&references);
    for (size_t i = 0; i < count; i++)
        volume_release(volumes[i]);
    pthread_mutex_unlock(&references);
    free(volumes);
}

int library_index(struct library *library, const atomic_bool *cancel,
                  struct err *err)
{
    struct dense_index *index;
    size_t count;
    struct volume **volumes = keep_volumes(library, &count);
    int code = dense_index_make(volumes, count, cancel, &index, err);
    release_volumes(volumes, count);
    if (code)
        return code;
    pthread_mutex_lock(&library->lock);
    struct dense_index *before = library->index;
    library->index = index;
    pthread_mutex_unlock(&library->lock);
    dense_index_release(before);
    return 0;
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
    dense_index_release(library->index);
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

const struct damaged_manual *shelf_damaged(const struct shelf *shelf,
                                           const char *name)
{
    for (size_t i = 0; i < shelf->damaged_count; i++)
        if (!name || !shelf->damaged[i].name ||
            !strcmp(name, shelf->damaged[i].name))
            return &shelf->damaged[i];
    return NULL;
}

int shelf_check(const struct shelf *shelf, const char *name, struct err *err)
{
    const struct damaged_manual *damaged = shelf_damaged(shelf, name);
    if (!damaged)
        return store_check(shelf->store, false, err);
    if (damaged->name)
        return err_set(err, ERR_STORE,
                       "the manual %.200s is damaged in the store (%.300s): "
                       "lectern verify --repair",
                       damaged->name, damaged->why);
    return err_set(err, ERR_STORE,
                   "a manual is damaged in the store (%.300s): lectern verify "
                   "--repair, then lectern add its folder again",
                   damaged->why);
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
    for (size_t i = 0; i < shelf->count; i++) {
        uint32_t node = volume_find(shelf->volumes[i], id);
        if (node == TREE_NONE)
            continue;
        *ret_volume = shelf->volumes[i];
        *ret_node = node;
        return true;
    }
    return false;
}
