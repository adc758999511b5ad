#include "memory/snapshot/content.h"

#include <pthread.h>
#include <stdlib.h>

enum { PLACES = 1024, MAX_BYTES = 64 << 20 };

struct shelved {
    struct tree *tree; /* or the part of it that begins with node `first` */
    struct hash128 name;
    uint32_t first;
    size_t users;
    size_t place; /* PLACES: none, it is freed by its last user */
};

struct contents {
    pthread_mutex_t lock;
    struct shelved *places[PLACES]; /* NULL: free */
    /* Of each place, close together: all are looked through for each node. */
    uint64_t names[PLACES];   /* a half of the tree's name */
    uint64_t used_at[PLACES]; /* the greater, the later; 0: free */
    size_t bytes;
    uint64_t clock;
};

struct contents *contents_new(void)
{
    struct contents *contents = mem_alloc(sizeof *contents);
    pthread_mutex_init(&contents->lock, NULL);
    return contents;
}

static void shelved_free(struct shelved *shelved)
{
    tree_free(shelved->tree);
    free(shelved);
}

void contents_free(struct contents *contents)
{
    for (int i = 0; i < PLACES; i++)
        if (contents->places[i])
            shelved_free(contents->places[i]);
    pthread_mutex_destroy(&contents->lock);
    free(contents);
}

static bool holds(const struct shelved *shelved, struct hash128 name,
                  uint32_t node)
{
    return hash_equal(shelved->name, name) && node >= shelved->first &&
           node - shelved->first < shelved->tree->count;
}

static struct shelved *find(struct contents *contents, struct hash128 name,
                            uint32_t node)
{
    for (size_t i = 0; i < PLACES; i++)
        if (contents->names[i] == name.low && contents->places[i] &&
            holds(contents->places[i], name, node))
            return contents->places[i];
    return NULL;
}

static void put_out(struct contents *contents, size_t place)
{
    struct shelved *shelved = contents->places[place];
    contents->places[place] = NULL;
    contents->used_at[place] = 0;
    contents->bytes -= shelved->tree->arena.used;
    shelved->place = PLACES;
    if (!shelved->users)
        shelved_free(shelved);
}

/* The place that is free or, `used`, the one of the least recently used tree. */
static size_t oldest(const struct contents *contents, bool used)
{
    size_t found = PLACES;
    for (size_t i = 0; i < PLACES; i++)
        if ((contents->used_at[i] || !used) &&
            (found == PLACES ||
             contents->used_at[i] < contents->used_at[found]))
            found = i;
    return found;
}

/* A free place, made where the least recently used trees stood. */
static size_t make_room(struct contents *contents, size_t bytes)
{
    size_t place;
    while (contents->bytes && contents->bytes + bytes > MAX_BYTES)
        put_out(contents, oldest(contents, true));
    place = oldest(contents, false);
    if (contents->places[place])
        put_out(contents, place);
    return place;
}

static void put_in(struct contents *contents, struct shelved *shelved)
{
    size_t place = make_room(contents, shelved->tree->arena.used);
    shelved->place = place;
    contents->places[place] = shelved;
    contents->names[place] = shelved->name.low;
    contents->bytes += shelved->tree->arena.used;
}

static int read_tree(const struct snapshot *snapshot, struct hash128 name,
                     uint32_t node, struct shelved *ret, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(snapshot->store, &txn, err);
    if (code)
        return code;
    *ret = (struct shelved){.name = name};
    code = store_get_tree_part(txn, name, node, &ret->tree, &ret->first, err);
    store_end(txn);
    if (!code && !holds(ret, name, node)) {
        tree_free(ret->tree);
        code = ERR_FORMAT;
    }
    if (code == ERR_NOT_FOUND || code == ERR_FORMAT)
        return err_set(err, ERR_STORE,
                       "the store has lost a file's content: lectern update "
                       "--force");
    return code;
}

/* Decodes outside the lock; of two threads that do so at once one's is kept. */
static int take(const struct snapshot *snapshot, struct contents *contents,
                struct hash128 name, uint32_t node, struct shelved **ret,
                struct err *err)
{
    struct shelved read = {0};
    pthread_mutex_lock(&contents->lock);
    struct shelved *shelved = find(contents, name, node);
    if (!shelved) {
        pthread_mutex_unlock(&contents->lock);
        int code = read_tree(snapshot, name, node, &read, err);
        if (code)
            return code;
        pthread_mutex_lock(&contents->lock);
        shelved = find(contents, name, node);
    }
    if (!shelved) {
        shelved = mem_alloc(sizeof *shelved);
        *shelved = read;
        put_in(contents, shelved);
        read.tree = NULL;
    }
    shelved->users++;
    contents->used_at[shelved->place] = ++contents->clock;
    pthread_mutex_unlock(&contents->lock);
    tree_free(read.tree);
    *ret = shelved;
    return 0;
}

int content_open(const struct snapshot *snapshot, const struct view *view,
                 uint32_t node, struct content *ret, struct err *err)
{
    const struct tree *outline = view->outline;
    const struct node *n = &outline->nodes[node];
    struct contents *contents = library_contents(snapshot->library);
    *ret = (struct content){.of = contents};
    if (n->source_tree == TREE_NONE || n->source_tree >= outline->file_count)
        return err_set(err, ERR_NOT_FOUND,
                       "the node has no content of its own");
    int code = take(snapshot, contents, view->files[n->source_tree].tree,
                    n->source_node, &ret->held, err);
    if (code)
        return code;
    ret->node = &ret->held->tree->nodes[n->source_node - ret->held->first];
    if (n->dropped_count)
        ret->node = ret->kept = tree_node_kept(ret->node, n);
    ret->page = &ret->held->tree->page;
    return 0;
}

uint32_t content_file(const struct content *content, const struct view *view,
                      uint32_t node, const struct block *block)
{
    uint32_t own = view->outline->nodes[node].source_tree;
    const struct tree *tree = content->held->tree;
    uint32_t file = block->origin.file;
    if (!file || file >= tree->file_count)
        return own;
    uint32_t found = view_file(view, tree->files[file].data);
    return found == TREE_NONE ? own : found;
}

void content_close(struct content *content)
{
    struct shelved *shelved = content->held;
    if (!shelved)
        return;
    pthread_mutex_lock(&content->of->lock);
    bool last = --shelved->users == 0 && shelved->place == PLACES;
    pthread_mutex_unlock(&content->of->lock);
    if (last)
        shelved_free(shelved);
    free(content->kept);
    *content = (struct content){0};
}
