#include "memory/snapshot/library.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "memory/snapshot/content.h"
#include "memory/vectors/dense.h"
#include "memory/snapshot/view.h"

struct library {
    struct store *store;
    pthread_mutex_t lock; /* which snapshot is the present one */
    struct snapshot *snapshot;
    struct dense_index *index; /* of vectors; NULL: none */
    struct contents *contents;
    size_t shelves; /* that somebody holds, the present one included */
};

/* Counts of references are few and short: one lock for all. */
static pthread_mutex_t references = PTHREAD_MUTEX_INITIALIZER;

static void view_unref(struct view *view)
{
    struct view *of = view->of;
    if (--view->references)
        return;
    view_free(view);
    if (of && --of->references == 0)
        view_free(of);
}

static void snapshot_free(struct snapshot *snapshot)
{
    dense_free(snapshot->dense);
    for (size_t i = 0; i < snapshot->count; i++)
        view_unref(snapshot->views[i]);
    for (size_t i = 0; i < snapshot->damaged_count; i++) {
        free(snapshot->damaged[i].name);
        free(snapshot->damaged[i].why);
    }
    free(snapshot->damaged);
    snapshot->library->shelves--;
    free(snapshot->views);
    free(snapshot);
}

void snapshot_unref(struct snapshot *snapshot)
{
    pthread_mutex_lock(&references);
    if (--snapshot->references == 0)
        snapshot_free(snapshot);
    pthread_mutex_unlock(&references);
}

struct snapshot *library_snapshot(struct library *library)
{
    pthread_mutex_lock(&library->lock);
    struct snapshot *snapshot = library->snapshot;
    pthread_mutex_lock(&references);
    snapshot->references++;
    pthread_mutex_unlock(&references);
    pthread_mutex_unlock(&library->lock);
    return snapshot;
}

/* ---- The next snapshot ---- */

/* `name` (NULL: it is not known) is taken. */
static void note_damaged(struct snapshot *snapshot, char *name,
                         const struct err *why)
{
    snapshot->damaged =
        mem_resize(snapshot->damaged, snapshot->damaged_count + 1,
                   sizeof *snapshot->damaged);
    snapshot->damaged[snapshot->damaged_count++] =
        (struct damaged_manual){name, mem_strdup(why->message)};
}

/* *ret NULL: it is damaged, and the others must not go down with it.  Want of memory
 * is no damage. */
static int try_view(struct snapshot *snapshot, struct store_txn *txn,
                    struct manual *manual, struct view **ret, struct err *err)
{
    struct err why;
    char *name = mem_strdup(manual->name);
    int code = view_read(txn, manual, ret, &why);
    if (code == ERR_LIMIT)
        code = err_set(err, code, "%s cannot be read: %s", name, why.message);
    if (!code || code == ERR_LIMIT) {
        free(name);
        return code;
    }
    log_error("%s is damaged and cannot be asked (lectern verify --repair): %s",
              name, why.message);
    note_damaged(snapshot, name, &why);
    *ret = NULL;
    return 0;
}

static struct view *same_generation(const struct snapshot *old,
                                    const struct manual *manual)
{
    for (size_t i = 0; old && i < old->count; i++)
        if (old->views[i]->manual.id == manual->id &&
            old->views[i]->manual.generation == manual->generation &&
            old->views[i]->manual.all_links == manual->all_links &&
            !strcmp(old->views[i]->manual.name, manual->name) &&
            !strcmp(old->views[i]->manual.root, manual->root))
            return old->views[i];
    return NULL;
}

/* The old one, or what shares all but the vectors with it; NULL: it is of another
 * generation. */
static struct view *old_view(const struct snapshot *old, struct store_txn *txn,
                             struct manual *manual)
{
    struct view *same = same_generation(old, manual);
    if (!same || same->manual.vectors == manual->vectors)
        return same;
    struct view *of = same->of ? same->of : same;
    pthread_mutex_lock(&references);
    of->references++;
    struct view *view = view_share(of);
    pthread_mutex_unlock(&references);
    view_take_vectors(txn, manual, view);
    return view;
}

static int fill_snapshot(struct snapshot *snapshot, const struct snapshot *old,
                         struct store_txn *txn, struct err *err)
{
    struct manual *manuals;
    size_t count;
    struct err damage;
    int code = store_list_manuals(txn, &manuals, &count, err);
    if (code)
        return code;
    if (store_check_manuals(txn, count, &damage))
        note_damaged(snapshot, NULL, &damage);
    snapshot->views = mem_alloc(count * sizeof(struct view *));
    for (size_t i = 0; i < count; i++) {
        struct view *view = code ? NULL : old_view(old, txn, &manuals[i]);
        if (!code && !view && manuals[i].generation)
            code = try_view(snapshot, txn, &manuals[i], &view, err);
        manual_free(&manuals[i]);
        if (!view || code)
            continue;
        pthread_mutex_lock(&references);
        view->references++;
        pthread_mutex_unlock(&references);
        snapshot->views[snapshot->count++] = view;
        if (view->manual.generation > snapshot->generation)
            snapshot->generation = view->manual.generation;
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
    struct snapshot *snapshot = mem_alloc(sizeof *snapshot);
    snapshot->store = library->store;
    snapshot->library = library;
    snapshot->references = 1;
    pthread_mutex_lock(&references);
    library->shelves++;
    pthread_mutex_unlock(&references);
    struct snapshot *old = library->snapshot ? library_snapshot(library) : NULL;
    code = fill_snapshot(snapshot, old, txn, err);
    store_end(txn);
    if (!code) {
        struct dense_index *index = present_index(library);
        snapshot->dense = dense_new(index, snapshot->views, snapshot->count);
        dense_index_unref(index);
        pthread_mutex_lock(&library->lock);
        struct snapshot *before = library->snapshot;
        library->snapshot = snapshot;
        snapshot = before;
        pthread_mutex_unlock(&library->lock);
    }
    if (snapshot)
        snapshot_unref(snapshot);
    if (old)
        snapshot_unref(old);
    return code;
}

bool library_wants_index(struct library *library)
{
    struct snapshot *snapshot = library_snapshot(library);
    bool due = dense_is_due(snapshot->dense);
    snapshot_unref(snapshot);
    return due;
}

/* Without their snapshot, which would keep what it refers to from being collected. */
static struct view **keep_views(struct library *library, size_t *ret_count)
{
    struct snapshot *snapshot = library_snapshot(library);
    struct view **views = mem_alloc(snapshot->count * sizeof *views);
    pthread_mutex_lock(&references);
    for (size_t i = 0; i < snapshot->count; i++) {
        views[i] = snapshot->views[i];
        views[i]->references++;
    }
    pthread_mutex_unlock(&references);
    *ret_count = snapshot->count;
    snapshot_unref(snapshot);
    return views;
}

static void release_views(struct view **views, size_t count)
{
    pthread_mutex_lock(&references);
    for (size_t i = 0; i < count; i++)
        view_unref(views[i]);
    pthread_mutex_unlock(&references);
    free(views);
}

int library_index(struct library *library, const atomic_bool *cancel,
                  struct err *err)
{
    struct dense_index *index;
    size_t count;
    struct view **views = keep_views(library, &count);
    int code = dense_index_make(views, count, cancel, &index, err);
    release_views(views, count);
    if (code)
        return code;
    pthread_mutex_lock(&library->lock);
    struct dense_index *before = library->index;
    library->index = index;
    pthread_mutex_unlock(&library->lock);
    dense_index_unref(before);
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
    snapshot_unref(library->snapshot);
    dense_index_unref(library->index);
    contents_free(library->contents);
    pthread_mutex_destroy(&library->lock);
    free(library);
}

struct contents *library_contents(struct library *library)
{
    return library->contents;
}

/* ---- Finding ---- */

const struct view *snapshot_view(const struct snapshot *snapshot,
                                 const char *name)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (!strcmp(snapshot->views[i]->manual.name, name))
            return snapshot->views[i];
    return NULL;
}

const struct damaged_manual *snapshot_damaged(const struct snapshot *snapshot,
                                              const char *name)
{
    for (size_t i = 0; i < snapshot->damaged_count; i++)
        if (!name || !snapshot->damaged[i].name ||
            !strcmp(name, snapshot->damaged[i].name))
            return &snapshot->damaged[i];
    return NULL;
}

int snapshot_check(const struct snapshot *snapshot, const char *name,
                   struct err *err)
{
    const struct damaged_manual *damaged = snapshot_damaged(snapshot, name);
    if (!damaged) {
        int code = store_check(snapshot->store, false, err);
        return code ? code : store_check_postings(snapshot->store, err);
    }
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

bool snapshot_find(const struct snapshot *snapshot, uint64_t id,
                   const struct view **ret_view, uint32_t *ret_node)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        uint32_t node = view_find(snapshot->views[i], id);
        if (node == TREE_NONE)
            continue;
        *ret_view = snapshot->views[i];
        *ret_node = node;
        return true;
    }
    return false;
}
