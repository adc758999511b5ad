/* Whether all pages from which LMDB finds its way are what they should be.
 *
 * LMDB writes where a page says: on a damaged one into memory that is not its own,
 * or into pages that are in use.  So a store is gone through once before anything
 * is written to it, and before it is said that something is not there, since a
 * search that is led astray finds nothing.  Looked at are the pages of branches and
 * leaves of every table, and of the list of free pages: that each is reached once,
 * is of its kind, has its records within it and in order, and that the counts are
 * those of the table.  What stands in the values is not looked at.
 *
 * The file's format is LMDB's of version 1, which 0.9.x writes. */
#include <stdlib.h>
#include <string.h>

#include "memory/store/store_internal.h"

enum {
    BRANCH = 1,
    LEAF = 2,
    OVERFLOWS = 4, /* kinds of pages */
    BIG = 1,
    TABLE = 2, /* kinds of values: in pages of its own; a table's root */
    PAGE_HEAD = 16,
    NODE_HEAD = 8,
    MAX_LEVELS = 32,
    START_PAGES = 2,
    MAX_TRIES = 100 /* while others write */
};

static const uint64_t no_page = UINT64_MAX;

struct page_head {
    uint64_t number;
    uint16_t pad, flags;
    uint16_t lower,
        upper; /* the room between pointers and records; of OVERFLOWS
                              how many pages, the lower half first */
};

struct node_head {
    uint16_t low, high; /* size of the value; of a branch its page */
    uint16_t flags, key_size;
};

struct check {
    const char *map;
    uint64_t last; /* page */
    uint64_t page_size;
    unsigned char *met; /* a bit for each page */
    const char *fault;  /* NULL: none yet */
};

enum content { RECORDS, TABLES_OF_RECORDS, FREE_PAGES };

struct tree_walk {
    struct check *check;
    enum content content;
    uint16_t depth;         /* of the leaves */
    struct start_table sum; /* of what was met */
};

/* The keys between which a page's have to be; NULL: no bound. */
struct bounds {
    const struct slice *from, *to;
};

static bool fail(struct check *check, const char *what)
{
    if (!check->fault)
        check->fault = what;
    return false;
}

/* ---- Pages ---- */

static bool meet(struct check *check, uint64_t page, uint64_t count)
{
    if (page < START_PAGES || page > check->last ||
        count > check->last + 1 - page)
        return fail(check, "a page is said to be where none is");
    for (uint64_t p = page; p < page + count; p++) {
        unsigned char bit = (unsigned char)(1 << p % 8);
        if (check->met[p / 8] & bit)
            return fail(check, "a page is used twice");
        check->met[p / 8] |= bit;
    }
    return true;
}

static struct page_head page_at(const struct check *check, uint64_t number)
{
    struct page_head page;
    memcpy(&page, check->map + number * check->page_size, sizeof page);
    return page;
}

static int compare(const struct tree_walk *walk, struct slice a, struct slice b)
{
    uint64_t x, y;
    if (walk->content != FREE_PAGES || a.size != sizeof x || b.size != sizeof y)
        return slice_compare(a, b);
    memcpy(&x, a.data, sizeof x);
    memcpy(&y, b.data, sizeof y);
    return x < y ? -1 : x > y;
}

/* ---- Nodes ---- */

/* A node of a page: the pointer to it has been checked. */
struct place {
    struct node_head node;
    struct slice key;
    const char *value;
    size_t value_size; /* as it is said; of a branch 0 */
    size_t room;       /* that it takes in the page */
};

static bool read_place(struct check *check, uint64_t number,
                       const struct page_head *page, size_t i,
                       struct place *ret)
{
    const char *at = check->map + number * check->page_size;
    uint16_t offset;
    memcpy(&offset, at + PAGE_HEAD + i * sizeof offset, sizeof offset);
    if (offset < page->upper || (uint64_t)offset + NODE_HEAD > check->page_size)
        return fail(check, "a record is not in its page");
    struct node_head *node = &ret->node;
    memcpy(node, at + offset, sizeof *node);
    bool leaf = page->flags == LEAF;
    ret->key = (struct slice){at + offset + NODE_HEAD, node->key_size};
    ret->value = ret->key.data + node->key_size;
    ret->value_size = leaf ? node->low | (size_t)node->high << 16 : 0;
    ret->room =
        NODE_HEAD + node->key_size +
        (leaf && node->flags & BIG ? sizeof(uint64_t) : ret->value_size);
    ret->room += ret->room % 2;
    if (offset + ret->room > check->page_size)
        return fail(check, "a record goes on behind its page");
    if (node->key_size > MDB_MAX_KEY || (leaf ? !node->key_size : false))
        return fail(check, "a key has a size that none has");
    return true;
}

/* Records lie close together at the end. */
static bool check_room(struct check *check, const struct page_head *page,
                       size_t room)
{
    if (page->upper + room != check->page_size)
        return fail(check, "records lie over one another");
    return true;
}

static bool check_order(struct tree_walk *walk, const struct slice *before,
                        struct slice key, const struct bounds *bounds)
{
    if ((before && compare(walk, *before, key) >= 0) ||
        (bounds->from && compare(walk, key, *bounds->from) < 0) ||
        (bounds->to && compare(walk, key, *bounds->to) >= 0))
        return fail(walk->check, "keys are out of order");
    return true;
}

/* ---- Leaves ---- */

static bool check_table(struct check *check, const struct start_table *table,
                        enum content content);

/* Their number, then their numbers, falling: each is used nowhere else. */
static bool check_free_pages(struct check *check, const char *value,
                             size_t size)
{
    uint64_t count, page;
    if (size < sizeof count)
        return fail(check, "the list of free pages is damaged");
    memcpy(&count, value, sizeof count);
    if (count > size / sizeof page - 1)
        return fail(check, "the list of free pages is damaged");
    uint64_t before = no_page;
    for (uint64_t i = 1; i <= count; i++, before = page) {
        memcpy(&page, value + i * sizeof page, sizeof page);
        if (page >= before || !meet(check, page, 1))
            return fail(check, "the list of free pages is damaged");
    }
    return true;
}

static bool check_big(struct tree_walk *walk, const struct place *place)
{
    struct check *check = walk->check;
    uint64_t number, count = (PAGE_HEAD - 1 + (uint64_t)place->value_size) /
                                 check->page_size +
                             1;
    memcpy(&number, place->value, sizeof number);
    if (!meet(check, number, count))
        return false;
    struct page_head page = page_at(check, number);
    uint64_t said = page.lower | (uint64_t)page.upper << 16;
    walk->sum.overflows += count;
    if (page.number != number || page.flags != OVERFLOWS || said != count)
        return fail(check, "a page of a long value is damaged");
    const char *value = check->map + number * check->page_size + PAGE_HEAD;
    return walk->content != FREE_PAGES ||
           check_free_pages(check, value, place->value_size);
}

static bool check_value(struct tree_walk *walk, const struct place *place)
{
    struct start_table table;
    switch (place->node.flags) {
    case 0:
        return walk->content != FREE_PAGES ||
               check_free_pages(walk->check, place->value, place->value_size);
    case BIG: return check_big(walk, place);
    case TABLE:
        if (walk->content != TABLES_OF_RECORDS ||
            place->value_size != sizeof table)
            break;
        memcpy(&table, place->value, sizeof table);
        return table.flags ? fail(walk->check, "a table is of another kind")
                           : check_table(walk->check, &table, RECORDS);
    default: break;
    }
    return fail(walk->check, "a value is of another kind");
}

/* ---- Trees ---- */

static bool check_page(struct tree_walk *walk, uint64_t number, int level,
                       struct bounds bounds);

/* The first key of a branch says nothing: what is smaller is there, too. */
static bool check_branch(struct tree_walk *walk, uint64_t number,
                         const struct page_head *page, size_t count, int level,
                         struct bounds bounds)
{
    struct place place, next = {0};
    size_t room = 0;
    if (!read_place(walk->check, number, page, 0, &place))
        return false;
    for (size_t i = 0; i < count; i++, place = next) {
        bool last = i + 1 == count;
        if (!last &&
            (!read_place(walk->check, number, page, i + 1, &next) ||
             !check_order(walk, i ? &place.key : NULL, next.key, &bounds)))
            return false;
        struct bounds within = {i ? &place.key : bounds.from,
                                last ? bounds.to : &next.key};
        uint64_t child = place.node.low | (uint64_t)place.node.high << 16 |
                         (uint64_t)place.node.flags << 32;
        if (!check_page(walk, child, level + 1, within))
            return false;
        room += place.room;
    }
    walk->sum.branches++;
    return check_room(walk->check, page, room);
}

static bool check_leaf(struct tree_walk *walk, uint64_t number,
                       const struct page_head *page, size_t count,
                       struct bounds bounds)
{
    struct place place;
    struct slice before = {0};
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        if (!read_place(walk->check, number, page, i, &place) ||
            !check_order(walk, i ? &before : NULL, place.key, &bounds) ||
            !check_value(walk, &place))
            return false;
        before = place.key;
        room += place.room;
    }
    walk->sum.leaves++;
    walk->sum.entries += count;
    return check_room(walk->check, page, room);
}

static bool check_page(struct tree_walk *walk, uint64_t number, int level,
                       struct bounds bounds)
{
    struct check *check = walk->check;
    if (!meet(check, number, 1))
        return false;
    struct page_head page = page_at(check, number);
    bool leaf = page.flags == LEAF;
    if (page.number != number || (!leaf && page.flags != BRANCH) ||
        page.lower < PAGE_HEAD || page.lower % sizeof(uint16_t) ||
        page.lower > page.upper || page.upper > check->page_size)
        return fail(check, "a page is damaged");
    size_t count = (page.lower - PAGE_HEAD) / sizeof(uint16_t);
    if (count < (leaf ? 1 : 2))
        return fail(check, "a page has too few records");
    if (leaf != (level == walk->depth))
        return fail(check, "a table's leaves are at several levels");
    return leaf ? check_leaf(walk, number, &page, count, bounds)
                : check_branch(walk, number, &page, count, level, bounds);
}

static bool check_table(struct check *check, const struct start_table *table,
                        enum content content)
{
    struct tree_walk walk = {check, content, table->depth, {0}};
    const struct start_table *sum = &walk.sum;
    if (table->depth > MAX_LEVELS)
        return fail(check, "a table has too many levels");
    if (table->root != no_page &&
        !check_page(&walk, table->root, 1, (struct bounds){0}))
        return false;
    if (sum->branches != table->branches || sum->leaves != table->leaves ||
        sum->overflows != table->overflows || sum->entries != table->entries ||
        (table->root == no_page) != !table->depth)
        return fail(check, "a table has lost records");
    return true;
}

/* ---- The file ---- */

struct moment {
    const char *map;
    uint64_t page_size, most_pages; /* as LMDB knows them */
    struct start_page start;
};

/* Finds the page from which the transaction begins; false: others have written since
 * it began. */
static bool find_start(MDB_txn *txn, struct moment *m)
{
    for (int i = START_PAGES; i-- > 0;) {
        memcpy(&m->start, m->map + (size_t)i * m->page_size + PAGE_HEAD,
               sizeof m->start);
        if (m->start.commit == mdb_txn_id(txn))
            return true;
    }
    return false;
}

static int look(void *context)
{
    const struct moment *m = context;
    struct check check = {
        .map = m->map, .last = m->start.last_page, .page_size = m->page_size};
    if (m->start.free_list.page_size != m->page_size ||
        check.last >= m->most_pages)
        return MDB_CORRUPTED;
    check.met = mem_alloc(check.last / 8 + 1);
    if (check_table(&check, &m->start.free_list, FREE_PAGES))
        check_table(&check, &m->start.names, TABLES_OF_RECORDS);
    free(check.met);
    return check.fault ? MDB_CORRUPTED : 0;
}

/* 0, a code of LMDB, or MDB_BAD_TXN: others have written meanwhile. */
static int try_look(struct store_env *env, const char *map)
{
    MDB_envinfo info;
    MDB_stat stat;
    MDB_txn *txn;
    bool trapped = false;
    int rc = mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn);
    if (rc)
        return rc;
    mdb_env_info(env->mdb, &info);
    mdb_env_stat(env->mdb, &stat);
    struct moment moment = {.map = map,
                            .page_size = stat.ms_psize,
                            .most_pages = info.me_mapsize / stat.ms_psize};
    rc = find_start(txn, &moment) ? trap_run(look, &moment, &trapped)
                                  : MDB_BAD_TXN;
    mdb_txn_abort(txn);
    return rc;
}

int env_check(struct store_env *env, const char *folder, struct err *err)
{
    const char *map = guard_map_start(env->guard);
    int rc = MDB_BAD_TXN;
    if (!map || atomic_load(&env->whole))
        return 0;
    for (int tries = 0; rc == MDB_BAD_TXN && tries < MAX_TRIES; tries++)
        rc = try_look(env, map);
    atomic_store(&env->whole, !rc);
    return rc == MDB_CORRUPTED || rc == MDB_BAD_TXN
               ? err_set(err, ERR_STORE,
                         "the store %s is damaged: restore a backup, or remove "
                         "the folder and add the manuals again",
                         folder)
           : rc ? store_error(rc, "cannot look through the store", err)
                : 0;
}
