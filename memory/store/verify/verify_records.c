/* The store as a whole: the records of manuals, the counters, the pages. */
#include <stdlib.h>
#include <string.h>

#include "memory/store/verify/verify_internal.h"

/* Numbers that are given once: the counter that gives the next one. */
enum { MANUAL_NUMBERS, EPOCHS, NODE_NUMBERS, COUNTERS };
static const struct {
    const char *name;
    uint64_t max; /* a greater one is damage, and no reason to go on from it */
} counters[COUNTERS] = {{"next-manual", UINT32_MAX / 2},
                        {"next-epoch", UINT32_MAX / 2},
                        {"next-node", MAX_NODE_NUMBER}};

struct named {
    char *name;
    uint32_t id;
    uint64_t generation;
};

struct records {
    struct verification *v;
    struct named *items;
    size_t count, capacity;
    uint64_t used[COUNTERS]; /* the greatest; 0: none */
};

static void use_number(struct records *records, int counter, uint64_t number)
{
    if (records->used[counter] < number)
        records->used[counter] = number;
}

static void note_manual(struct records *records, const struct manual *manual)
{
    MEM_RESERVE(records->items, &records->capacity, records->count + 1);
    records->items[records->count++] = (struct named){
        mem_strdup(manual->name), manual->id, manual->generation};
}

static int check_manual_record(void *context, struct slice key,
                               struct slice value, struct err *err)
{
    struct records *records = context;
    struct verification *v = records->v;
    struct manual manual;
    struct err cause;
    (void)err;
    v->report.manuals++;
    if (key.size == 4)
        use_number(records, MANUAL_NUMBERS, read_key_u32(key.data));
    if (manual_read(key, value, &manual, &cause)) {
        verify_fault(v, TABLE_MANUALS, REMEDY_ADD, "a record", "%s",
                     cause.message);
        verify_doom(v, TABLE_MANUALS, key);
        return 0;
    }
    use_number(records, EPOCHS, manual.epoch);
    for (size_t i = 0; i < records->count; i++)
        if (!strcmp(records->items[i].name, manual.name))
            verify_fault(v, TABLE_MANUALS, REMEDY_ADD, manual.name,
                         "two manuals have this name");
    note_manual(records, &manual);
    manual_free(&manual);
    return 0;
}

/* An outline that is damaged, or has just gone, is verify_manual's to see. */
static int use_node_numbers(struct records *records, const struct named *manual,
                            struct err *err)
{
    const struct verify_options *o = records->v->options;
    struct store_txn *txn;
    struct tree *outline;
    if (o->cancel && atomic_load(o->cancel))
        return err_set(err, ERR_CANCELLED, "cancelled");
    int code = store_read(o->store, &txn, err);
    if (code)
        return code;
    code =
        store_get_outline(txn, manual->id, manual->generation, &outline, NULL);
    store_end(txn);
    if (code)
        return 0;
    for (uint32_t n = 0; n < outline->count; n++)
        if (outline->nodes[n].id <= counters[NODE_NUMBERS].max)
            use_number(records, NODE_NUMBERS, outline->nodes[n].id);
    tree_free(outline);
    return 0;
}

bool verify_read_counter(struct store_txn *txn, const char *name,
                         uint64_t *ret_next)
{
    struct slice value;
    int code = table_get(txn, TABLE_META, slice_of(name), &value, NULL);
    *ret_next = 1;
    if (!code && value.size == sizeof *ret_next)
        memcpy(ret_next, value.data, sizeof *ret_next);
    return code == ERR_NOT_FOUND || (!code && value.size == sizeof *ret_next);
}

/* Read after what they gave: they only rise. */
static int check_counters(struct records *records, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(records->v->options->store, &txn, err);
    if (code)
        return code;
    for (int c = 0; c < COUNTERS; c++) {
        uint64_t next;
        if (!verify_read_counter(txn, counters[c].name, &next))
            verify_fault(records->v, TABLE_META, REMEDY_REPAIR,
                         counters[c].name, "the counter cannot be read");
        else if (next <= records->used[c])
            verify_fault(
                records->v, TABLE_META, REMEDY_REPAIR, counters[c].name,
                "it gives %llu next: numbers up to %llu would be "
                "given again",
                (unsigned long long)next, (unsigned long long)records->used[c]);
    }
    store_end(txn);
    return 0;
}

static int mend_counters(const struct records *records, struct store_txn *txn,
                         struct err *err)
{
    int code = 0;
    for (int c = 0; c < COUNTERS && !code; c++) {
        uint64_t next, used = records->used[c];
        bool fine =
            verify_read_counter(txn, counters[c].name, &next) && next > used;
        if (fine || used > counters[c].max)
            continue;
        next = used + 1;
        code = table_put(txn, TABLE_META, slice_of(counters[c].name),
                         (struct slice){(const char *)&next, sizeof next}, err);
    }
    return code;
}

static int check_pages(struct verification *v, struct err *err)
{
    struct store_pages pages;
    int code = store_check(v->options->store, true, err);
    if (!code)
        code = store_pages(v->options->store, true, &pages, err);
    if (code)
        return code;
    uint64_t known = pages.free;
    for (size_t t = 0; t < pages.count; t++)
        known += pages.tables[t].bytes;
    if (known != pages.bytes)
        verify_fault(v, TABLE_META, REMEDY_COMPACT, "pages",
                     "%llu bytes are used or free, of %llu",
                     (unsigned long long)known,
                     (unsigned long long)pages.bytes);
    return 0;
}

static int mend_store(const struct records *records, struct err *err)
{
    struct verification *v = records->v;
    struct store_txn *txn;
    int code = store_write(v->options->store, &txn, err);
    if (code)
        return code;
    code = verify_drop_doomed(v, txn, err);
    if (!code)
        code = mend_counters(records, txn, err);
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

static int check_records(struct records *records, struct err *err)
{
    const struct verify_options *o = records->v->options;
    int code = table_walk(o->store, TABLE_MANUALS, (struct slice){"", 0},
                          o->cancel, check_manual_record, records, err);
    for (size_t i = 0; i < records->count && !code; i++)
        code = use_node_numbers(records, &records->items[i], err);
    return code ? code : check_counters(records, err);
}

int verify_store(const struct verify_options *options,
                 struct verify_report *report, struct err *err)
{
    struct verification v = {.options = options};
    struct records records = {.v = &v};
    int code = check_records(&records, err);
    if (!code)
        code = check_pages(&v, err);
    if (!code && options->drop && v.report.fault_count)
        code = mend_store(&records, err);
    verify_add_report(report, &v.report);
    for (size_t i = 0; i < records.count; i++)
        free(records.items[i].name);
    free(records.items);
    buf_free(&v.doomed);
    return code;
}
