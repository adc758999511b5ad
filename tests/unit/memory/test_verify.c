/* A manual that is indexed as it is, and then broken, one record after the
 * other: verify names each, and what it drops an update makes again. */
#include "tests/unit/support/indexed_house.h"

#include <sys/stat.h>
#include <time.h>
#include <utime.h>

#include "base/file.h"
#include "base/text.h"
#include "kernels/half.h"
#include "indexer/index.h"
#include "indexer/parsers.h"
#include "indexer/source.h"
#include "memory/lexical/lexical.h"
#include "memory/embeddings/segment.h"
#include "memory/store/store_internal.h"
#include "memory/vectors/vectors.h"
#include "memory/store/verify/store_verify.h"
#include "memory/store/verify/verify_internal.h"

static struct verify_report verified(struct house *h, bool with_model,
                                     bool drop)
{
    struct verify_report report = {0};
    struct err err = {0};
    struct verify_options options = {.store = h->store,
                                     .library = h->library,
                                     .facts = with_model ? &h->toy.facts : NULL,
                                     .policy = policy,
                                     .is_tree = parsers_is_tree,
                                     .is_packed = source_is_gzipped,
                                     .drop = drop};
    int code = verify_store(&options, &report, &err);
    if (!code)
        code = verify_manual(&options, h->manual, &report, &err);
    if (code && code != ERR_NOT_FOUND)
        fail_msg("%s", err.message);
    return report;
}

static void check_clean(struct house *h)
{
    for (int with_model = 0; with_model < 2; with_model++) {
        struct verify_report report = verified(h, with_model, false);
        if (report.fault_count)
            fail_msg("%s: %s: %s", report.faults[0].table,
                     report.faults[0].place, report.faults[0].what);
        assert_int_equal(report.manuals, 1);
        assert_int_equal(report.files, 3);
        assert_int_equal(report.trees, 3);
        assert_int_equal(report.nodes, 7);
        assert_int_equal(report.by_model, with_model);
        assert_true(report.postings > 50);
        assert_true(report.memories > 6);
        assert_true(report.vectors > 7);
        verify_report_free(&report);
    }
}

/* Some fault is of this table, and says this. */
static bool is_named(const struct verify_report *report, int table,
                     const char *what)
{
    for (size_t i = 0; i < report->described; i++)
        if (!strcmp(report->faults[i].table, table_names[table]) &&
            strstr(report->faults[i].what, what))
            return true;
    return false;
}

static void check_named(struct house *h, int table, const char *what)
{
    struct verify_report report = verified(h, true, false);
    if (!is_named(&report, table, what)) {
        for (size_t i = 0; i < report.described; i++)
            print_message("%s: %s: %s\n", report.faults[i].table,
                          report.faults[i].place, report.faults[i].what);
        fail_msg("%s: '%s' is not among the faults", table_names[table], what);
    }
    verify_report_free(&report);
}

/* What is found is dropped, an update makes all of it anew, and it is clean. */
static void check_repair(struct house *h)
{
    struct verify_report report = verified(h, true, true);
    assert_true(report.fault_count > 0);
    verify_report_free(&report);
    update(h, true);
    assert_int_equal(store_collect(h->store, NULL), 0);
    check_clean(h);
}

/* ---- Breaking ---- */

/* The first record of the table whose value is larger than `least`. */
static void find_record(struct house *h, int table, size_t min, struct buf *key,
                        struct buf *value)
{
    struct store_txn *txn;
    MDB_cursor *cursor;
    MDB_val k, v;
    assert_int_equal(store_read(h->store, &txn, NULL), 0);
    assert_int_equal(
        mdb_cursor_open(txn->mdb, txn->env->tables[table], &cursor), 0);
    do
        assert_int_equal(mdb_cursor_get(cursor, &k, &v, MDB_NEXT), 0);
    while (v.mv_size <= min);
    buf_put(key, k.mv_data, k.mv_size);
    buf_put(value, v.mv_data,
            v.mv_size - (table_has_sums(table) ? SUM_BYTES : 0));
    mdb_cursor_close(cursor);
    store_end(txn);
}

/* An empty value deletes. */
static void put_record(struct house *h, int table, struct buf *key,
                       struct buf *value)
{
    struct store_txn *txn;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    if (value->size)
        assert_int_equal(
            table_put(txn, table, buf_slice(key), buf_slice(value), NULL), 0);
    else
        assert_int_equal(table_delete(txn, table, buf_slice(key), NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    buf_free(key);
    buf_free(value);
}

static void delete_first(struct house *h, int table)
{
    struct buf key = {0}, value = {0};
    find_record(h, table, 0, &key, &value);
    buf_clear(&value);
    put_record(h, table, &key, &value);
}

/* Changes a byte, counted from the end when negative. */
static void flip_byte(struct house *h, int table, int at)
{
    struct buf key = {0}, value = {0};
    find_record(h, table, 0, &key, &value);
    size_t place = at < 0 ? value.size - (size_t)-at : (size_t)at;
    value.data[place] = (char)(value.data[place] ^ 0x7F);
    put_record(h, table, &key, &value);
}

static void cut_last(struct house *h, int table)
{
    struct buf key = {0}, value = {0};
    find_record(h, table, 0, &key, &value);
    value.size--;
    put_record(h, table, &key, &value);
}

static void a_fresh_index_is_clean(void **state)
{
    struct house *h = *state;
    check_clean(h);
    write_page(h, "b.html", "Bears", "black bears eat berries");
    update(h, false);
    check_clean(h);
    assert_int_equal(store_collect(h->store, NULL), 0);
    check_clean(h);
}

static void broken_trees_are_named(void **state)
{
    struct house *h = *state;
    delete_first(h, TABLE_TREES);
    check_named(h, TABLE_TREES, "no such tree");
    check_repair(h);
    /* Every byte: the checksum of zstd covers what decodes. */
    for (int at = 12; at < 60; at += 7) {
        flip_byte(h, TABLE_TREES, at);
        check_named(h, TABLE_TREES, "damaged");
        check_repair(h);
    }
}

static void change_tree(struct house *h, const char *title)
{
    struct buf key = {0}, value = {0};
    struct store_txn *txn;
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of(title), slice_of(""));
    tree_add_node(tree, 0, 2, slice_of("x"), slice_of(""));
    tree_add_block(tree, 1, BLOCK_PARAGRAPH, slice_of("y"), slice_of(""),
                   (struct origin){0, {0, 1}});
    assert_int_equal(tree_seal(tree, NULL), 0);
    find_record(h, TABLE_TREES, 0, &key, &value);
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(
        store_put_tree(txn, hash_read((unsigned char *)key.data), tree, NULL),
        0);
    assert_int_equal(store_commit(txn, NULL), 0);
    tree_free(tree);
    buf_free(&key);
    buf_free(&value);
}

static void trees_of_other_texts_are_named(void **state)
{
    struct house *h = *state;
    change_tree(h, "Apples");
    check_named(h, TABLE_OUTLINES, "its hash is not that of its text");
    check_named(h, TABLE_OUTLINES, "words, its text has");
    check_named(h, TABLE_POSTINGS, "not as its text has them");
    check_named(h, TABLE_SEGMENTS, "not those of its text");
    check_repair(h);
}

static void broken_outlines_are_named(void **state)
{
    struct house *h = *state;
    delete_first(h, TABLE_OUTLINES);
    check_named(h, TABLE_OUTLINES, "no such tree");
    check_repair(h);
    flip_byte(h, TABLE_OUTLINES, -1);
    check_named(h, TABLE_OUTLINES, "damaged");
    check_repair(h);
}

typedef void change_outline(struct tree *outline);

static void put_changed(struct house *h, change_outline *change)
{
    struct store_txn *txn;
    struct tree *outline;
    struct manual manual;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(store_get_manual(txn, h->manual, &manual, NULL), 0);
    assert_int_equal(
        store_get_outline(txn, h->manual, manual.generation, &outline, NULL),
        0);
    change(outline);
    assert_int_equal(
        store_put_outline(txn, h->manual, manual.generation, outline, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    tree_free(outline);
    manual_free(&manual);
}

static void same_id(struct tree *outline)
{
    outline->nodes[2].id = outline->nodes[3].id;
}

static void later_id(struct tree *outline)
{
    outline->nodes[2].id = 1000000;
}

static void beyond_the_file(struct tree *outline)
{
    outline->nodes[2].origins[0].span.to = 100000;
}

static void other_source(struct tree *outline)
{
    outline->nodes[2].source_node = 9;
}

static void other_file(struct tree *outline)
{
    outline->nodes[2].source_tree = 9;
}

static void other_name(struct tree *outline)
{
    outline->files[0] = slice_of("0.html");
}

static void other_words(struct tree *outline)
{
    outline->nodes[2].words += 5;
}

static void drops_too_much(struct tree *outline)
{
    static uint32_t boilerplate[1] = {7};
    outline->nodes[2].boilerplate = boilerplate;
    outline->nodes[2].dropped_count = 1;
}

static void broken_references_of_outlines_are_named(void **state)
{
    struct house *h = *state;
    static const struct {
        change_outline *change;
        const char *what;
    } cases[] = {{same_id, "another node has its id"},
                 {later_id, "never given"},
                 {beyond_the_file, "it ends at byte 100000"},
                 {other_source, "it is node 9 of"},
                 {other_file, "it is of file 9 of 3"},
                 {other_name, "no record as an indexed file"},
                 {other_name, "1 of 3 indexed files are not"},
                 {other_words, "words, its text has"},
                 {drops_too_much, "it leaves out block 7"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_changed(h, cases[i].change);
        check_named(h, TABLE_OUTLINES, cases[i].what);
        check_repair(h);
    }
}

static void broken_postings_are_named(void **state)
{
    struct house *h = *state;
    delete_first(h, TABLE_POSTINGS);
    check_named(h, TABLE_POSTINGS, "not as its text has them");
    check_repair(h);
    cut_last(h, TABLE_POSTINGS);
    check_named(h, TABLE_POSTINGS, "its postings are damaged");
    check_repair(h);
    flip_byte(h, TABLE_POSTINGS, 0);
    check_named(h, TABLE_POSTINGS, "which is no node");
    check_repair(h);
    flip_byte(h, TABLE_POSTINGS, 1);
    check_named(h, TABLE_POSTINGS, "not as its text has them");
    check_repair(h);
    struct buf key = {0}, value = {0};
    find_record(h, TABLE_POSTINGS, 0, &key, &value);
    buf_put_text(&key, "other");
    put_record(h, TABLE_POSTINGS, &key, &value);
    check_named(h, TABLE_POSTINGS, "not as its text has them");
    check_repair(h);
}

static void change_file(struct house *h, void (*change)(struct file *file))
{
    struct store_txn *txn;
    struct file *files;
    size_t count;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(store_list_files(txn, h->manual, &files, &count, NULL), 0);
    change(&files[0]);
    assert_int_equal(store_put_file(txn, h->manual, &files[0], NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    for (size_t i = 0; i < count; i++)
        file_free(&files[i]);
    free(files);
}

static void other_content(struct file *file)
{
    file->content.low++;
}

static void other_tree(struct file *file)
{
    file->tree.low++;
}

static void other_state(struct file *file)
{
    file->state = 7;
}

static void smaller(struct file *file)
{
    file->size = 10;
}

static void fails_for_nothing(struct file *file)
{
    file->state = FILE_FAILED;
}

static void broken_files_are_named(void **state)
{
    struct house *h = *state;
    cut_last(h, TABLE_FILES);
    check_named(h, TABLE_FILES, "damaged");
    check_named(h, TABLE_MANUALS, "there are 2");
    check_repair(h);
    struct buf key = {0}, value = {0};
    find_record(h, TABLE_FILES, 0, &key, &value);
    buf_put_text(&key, "x");
    put_record(h, TABLE_FILES, &key, &value);
    check_named(h, TABLE_FILES, "another file's name");
    check_repair(h);
    delete_first(h, TABLE_FILES);
    check_named(h, TABLE_OUTLINES, "no record as an indexed file");
    check_repair(h);
    change_file(h, other_content);
    check_named(h, TABLE_FILES, "its tree is not that of its content");
    check_repair(h);
    change_file(h, other_tree);
    check_named(h, TABLE_FILES, "its tree is not that of its content");
    check_repair(h);
    change_file(h, other_state);
    check_named(h, TABLE_FILES, "means nothing");
    check_repair(h);
    change_file(h, fails_for_nothing);
    check_named(h, TABLE_FILES, "failed for no reason");
    check_repair(h);
    change_file(h, smaller);
    check_named(h, TABLE_OUTLINES, "of a.html, which has 10");
    check_repair(h);
}

static void change_manual(struct house *h, void (*change)(struct manual *m))
{
    struct store_txn *txn;
    struct manual manual;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(store_get_manual(txn, h->manual, &manual, NULL), 0);
    change(&manual);
    assert_int_equal(manual_write(txn, &manual, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    manual_free(&manual);
}

static void more_files(struct manual *m)
{
    m->files++;
}

static void more_nodes(struct manual *m)
{
    m->nodes++;
}

static void more_words(struct manual *m)
{
    m->words++;
}

static void later_epoch(struct manual *m)
{
    m->epoch = 1000;
}

static void no_vectors(struct manual *m)
{
    m->vectors = 0;
}

static void broken_manuals_are_named(void **state)
{
    struct house *h = *state;
    change_manual(h, more_files);
    check_named(h, TABLE_MANUALS, "it counts 4 files");
    check_repair(h);
    change_manual(h, more_nodes);
    check_named(h, TABLE_MANUALS, "it counts 8 nodes");
    check_repair(h);
    change_manual(h, more_words);
    check_named(h, TABLE_MANUALS, "words, its outline has");
    check_repair(h);
    change_manual(h, later_epoch);
    check_named(h, TABLE_META, "would be given again");
    check_named(h, TABLE_POSTINGS, "not as its text has them");
    check_repair(h);
    change_manual(h, no_vectors);
    check_named(h, TABLE_VECTORS, "counts none, and has some");
    check_repair(h);
}

static void put_counter(struct house *h, const char *name, struct slice value)
{
    struct buf key = {0}, bytes = {0};
    buf_put_text(&key, name);
    buf_put_slice(&bytes, value);
    put_record(h, TABLE_META, &key, &bytes);
}

static uint64_t greatest_id(struct house *h)
{
    struct snapshot *snapshot = library_snapshot(h->library);
    const struct tree *outline = snapshot->views[0]->outline;
    uint64_t greatest = 0;
    for (uint32_t n = 0; n < outline->count; n++)
        if (outline->nodes[n].id > greatest)
            greatest = outline->nodes[n].id;
    snapshot_unref(snapshot);
    return greatest;
}

/* Nothing but the counter is damaged, and nothing else goes: nodes keep their
 * ids, no update is needed, and what is given next was not given before. */
static void broken_counters_are_mended(void **state)
{
    struct house *h = *state;
    static const char *const names[] = {"next-manual", "next-epoch",
                                        "next-node"};
    static const struct {
        struct slice value;
        const char *what;
    } cases[] = {{{"", 0}, "would be given again"},
                 {{"\1\0\0\0\0\0\0\0", 8}, "would be given again"},
                 {{"\1\0\0", 3}, "cannot be read"}};
    uint64_t greatest = greatest_id(h), first;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            put_counter(h, names[n], cases[i].value);
            check_named(h, TABLE_META, cases[i].what);
            struct verify_report report = verified(h, true, true);
            assert_int_equal(report.fault_count, 1);
            verify_report_free(&report);
            check_clean(h);
        }
    update(h, true);
    check_clean(h);
    assert_int_equal(greatest_id(h), greatest);
    struct store_txn *txn;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(store_take_ids(txn, 1, &first, NULL), 0);
    assert_int_equal(first, greatest + 1);
    store_end(txn);
}

/* The manual cannot be told from its record: it goes, and is added again. */
static void a_damaged_manual_is_taken_away(void **state)
{
    struct house *h = *state;
    struct manual manual;
    /* Three bytes less are a record of an earlier version. */
    for (int i = 0; i < 4; i++)
        cut_last(h, TABLE_MANUALS);
    assert_int_equal(store_collect(h->store, NULL), ERR_STORE);
    struct verify_report report = {0};
    struct verify_options options = {
        .store = h->store, .library = h->library, .drop = true};
    assert_int_equal(verify_store(&options, &report, NULL), 0);
    assert_true(is_named(&report, TABLE_MANUALS, "damaged"));
    verify_report_free(&report);
    assert_int_equal(library_refresh(h->library, NULL), 0);
    const struct registering asked = {.folder = {.path = h->root}, .name = "m"};
    assert_int_equal(index_register(h->store, &asked, &manual, NULL), 0);
    assert_true(manual.id > h->manual);
    h->manual = manual.id;
    manual_free(&manual);
    update(h, false);
    assert_int_equal(store_collect(h->store, NULL), 0);
    check_clean(h);
}

static void broken_segments_are_named(void **state)
{
    struct house *h = *state;
    delete_first(h, TABLE_SEGMENTS);
    check_named(h, TABLE_SEGMENTS, "missing or damaged");
    check_repair(h);
    cut_last(h, TABLE_SEGMENTS);
    check_named(h, TABLE_SEGMENTS, "missing or damaged");
    check_repair(h);
    flip_byte(h, TABLE_SEGMENTS, -1);
    check_named(h, TABLE_SEGMENTS, "not those of its text");
    check_repair(h);
}

static void broken_memories_are_named(void **state)
{
    struct house *h = *state;
    delete_first(h, TABLE_MEMORIES);
    check_named(h, TABLE_MEMORIES, "it is missing");
    check_repair(h);
    cut_last(h, TABLE_MEMORIES);
    check_named(h, TABLE_MEMORIES, "another width");
    check_repair(h);
    struct buf key = {0}, value = {0};
    find_record(h, TABLE_MEMORIES, 0, &key, &value);
    memcpy(value.data, "\x00\x7C", 2); /* infinite */
    put_record(h, TABLE_MEMORIES, &key, &value);
    check_named(h, TABLE_MEMORIES, "no number");
    check_repair(h);
}

static void make_all_infinite(struct house *h)
{
    struct store_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(
        mdb_cursor_open(txn->mdb, txn->env->tables[TABLE_MEMORIES], &cursor),
        0);
    while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        struct buf bytes = {0};
        buf_put(&bytes, value.mv_data, value.mv_size);
        memcpy(bytes.data, "\x00\x7C", 2);
        value.mv_data = bytes.data;
        assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
        buf_free(&bytes);
    }
    mdb_cursor_close(cursor);
    assert_int_equal(store_commit(txn, NULL), 0);
}

/* Without a repair, too: else memories would fail from the next edit on. */
static void damaged_memories_are_encoded_again(void **state)
{
    struct house *h = *state;
    make_all_infinite(h);
    write_page(h, "b.html", "Bears", "black bears eat berries");
    update(h, false);
    assert_int_equal(store_collect(h->store, NULL), 0);
    check_clean(h);
}

static void make_halves(const float *values, struct buf *ret)
{
    for (int i = 0; i < TOY_WIDTH; i++) {
        uint16_t half = half_of(values[i]);
        buf_put_byte(ret, half & 255);
        buf_put_byte(ret, half >> 8);
    }
}

/* A store of an earlier version in which an edit has encoded anew: without a
 * model the width is not known, but it is the same. */
static void memories_of_two_versions_are_of_one_width(void **state)
{
    struct house *h = *state;
    struct buf key = {0}, value = {0}, halves = {0};
    float numbers[TOY_WIDTH];
    find_record(h, TABLE_MEMORIES, 0, &key, &value);
    assert_true(memory_read(buf_slice(&value), numbers, TOY_WIDTH));
    make_halves(numbers, &halves);
    put_record(h, TABLE_MEMORIES, &key, &halves);
    check_clean(h);
    cut_last(h, TABLE_MEMORIES);
    struct verify_report report = verified(h, false, false);
    assert_true(is_named(&report, TABLE_MEMORIES, "another width"));
    verify_report_free(&report);
    buf_free(&value);
}

static void change_table(struct house *h, void (*change)(struct vector_table *))
{
    struct store_txn *txn;
    struct vector_table table;
    struct slice bytes;
    struct buf value = {0}, key = {0};
    char number[4];
    assert_int_equal(store_read(h->store, &txn, NULL), 0);
    assert_int_equal(store_get_vectors(txn, h->manual, &bytes, NULL), 0);
    assert_int_equal(vector_table_decode(bytes, &table, NULL), 0);
    store_end(txn);
    change(&table);
    vector_table_encode(&table, &value);
    key_u32(number, h->manual);
    buf_put(&key, number, sizeof number);
    put_record(h, TABLE_VECTORS, &key, &value);
    vector_table_free(&table);
}

static void other_node(struct vector_table *table)
{
    table->nodes[1]++;
}

static void other_name_of(struct vector_table *table)
{
    table->names[0].low ^= 1;
}

static void fewer_names(struct vector_table *table)
{
    table->name_count--;
}

static void fewer_segments(struct vector_table *table)
{
    table->segments--;
}

static void longer(struct vector_table *table)
{
    table->keys[0] += 1;
}

static void of_the_future(struct vector_table *table)
{
    table->generation += 5;
}

static void broken_vectors_are_named(void **state)
{
    struct house *h = *state;
    static const struct {
        void (*change)(struct vector_table *);
        int table;
        const char *what;
    } cases[] = {
        {other_node, TABLE_VECTORS, "not of the nodes"},
        {other_name_of, TABLE_MEMORIES, "it is missing"},
        {other_name_of, TABLE_VECTORS, "other memories"},
        {fewer_names, TABLE_VECTORS, "other memories"},
        {fewer_segments, TABLE_VECTORS, "not of the nodes and segments"},
        {longer, TABLE_VECTORS, "unit length"},
        {of_the_future, TABLE_VECTORS, "never was"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        change_table(h, cases[i].change);
        check_named(h, cases[i].table, cases[i].what);
        check_repair(h);
    }
    delete_first(h, TABLE_VECTORS);
    check_named(h, TABLE_VECTORS, "has none, and counts some");
    check_repair(h);
    flip_byte(h, TABLE_VECTORS, -20);
    check_named(h, TABLE_VECTORS, "damaged");
    check_repair(h);
}

static void broken_lists_of_what_is_made_are_named(void **state)
{
    struct house *h = *state;
    struct store_txn *txn;
    const struct hash128 name = {1, 2};
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(
        store_note_made(txn, h->manual, UNFINISHED_MEMORIES, &name, 1, NULL),
        0);
    assert_int_equal(store_commit(txn, NULL), 0);
    check_clean(h);
    cut_last(h, TABLE_UNFINISHED);
    check_named(h, TABLE_UNFINISHED, "damaged");
    check_repair(h);
}

static void other_row(struct vector_table *table)
{
    table->row_names[1] = table->row_names[2];
}

static void keys_that_are_memories_are_compared(void **state)
{
    struct house *h = *state;
    check_clean(h);
    change_table(h, other_row);
    check_named(h, TABLE_VECTORS, "another's memory");
    check_repair(h);
    delete_first(h, TABLE_MEMORIES);
    check_named(h, TABLE_MEMORIES, "it is missing");
    check_repair(h);
    cut_last(h, TABLE_MEMORIES);
    check_named(h, TABLE_MEMORIES, "another width");
    check_repair(h);
}

static void a_manual_that_changes_is_begun_again(void **state)
{
    struct house *h = *state;
    struct verify_report report = {0};
    struct err err = {0};
    struct verify_options options = {.store = h->store,
                                     .library = h->library,
                                     .is_tree = parsers_is_tree,
                                     .is_packed = source_is_gzipped};
    write_page(h, "b.html", "Bears", "black bears eat berries");
    struct index_options index = {
        .parser = {.program = getenv("LECTERN_PARSE")
                                  ? getenv("LECTERN_PARSE")
                                  : "build/release/lectern-parse"}};
    struct index_report done;
    assert_int_equal(index_update(h->store, h->manual, &index, NULL, NULL, NULL,
                                  &done, NULL),
                     0);
    /* The library has not seen it yet. */
    assert_int_equal(verify_manual(&options, h->manual, &report, &err),
                     ERR_STALE);
    assert_int_equal(report.files, 0);
    assert_int_equal(library_refresh(h->library, NULL), 0);
    assert_int_equal(verify_manual(&options, h->manual, &report, &err), 0);
    assert_int_equal(report.files, 3);
    assert_int_equal(report.fault_count, 0);
    assert_int_equal(verify_manual(&options, h->manual + 1, &report, &err),
                     ERR_NOT_FOUND);
    atomic_bool cancel = true;
    options.cancel = &cancel;
    assert_int_equal(verify_manual(&options, h->manual, &report, &err),
                     ERR_CANCELLED);
    verify_report_free(&report);
}

static void many_faults_are_counted(void **state)
{
    struct house *h = *state;
    struct store_txn *txn;
    char key[20];
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    struct manual manual;
    assert_int_equal(store_get_manual(txn, h->manual, &manual, NULL), 0);
    for (int i = 0; i < 5000; i++) {
        key_u32(key, h->manual);
        key_u32(key + 4, manual.epoch);
        snprintf(key + 8, 12, "term%u", (unsigned)i % 10000);
        assert_int_equal(table_put(txn, TABLE_POSTINGS,
                                   (struct slice){key, 8 + strlen(key + 8)},
                                   slice_of("\xFF"), NULL),
                         0);
    }
    manual_free(&manual);
    assert_int_equal(store_commit(txn, NULL), 0);
    struct verify_report report = verified(h, true, false);
    assert_int_equal(report.fault_count, 5000);
    assert_int_equal(report.described, MAX_FAULTS);
    verify_report_free(&report);
    check_repair(h);
}

#define IN_HOUSE(name)                                                         \
    cmocka_unit_test_setup_teardown(name, open_house, close_house)

/* A long title is cut, and not within a character. */
static void a_place_is_told_in_whole_characters(void **state)
{
    struct buf title = {0};
    char place[128];
    (void)state;
    buf_put_byte(&title, 'x');
    for (int i = 0; i < 40; i++)
        buf_put_text(&title, "\xC3\xBC");
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, buf_slice(&title), slice_of(""));
    assert_int_equal(tree_seal(tree, NULL), 0);
    const struct verification v = {.outline = tree};
    verify_node_place(&v, 0, place);
    assert_non_null(strstr(place, "(x\xC3\xBC"));
    assert_true(text_is_utf8(place, strlen(place)));
    tree_free(tree);
    buf_free(&title);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_HOUSE(a_fresh_index_is_clean),
        IN_HOUSE(broken_trees_are_named),
        IN_HOUSE(trees_of_other_texts_are_named),
        IN_HOUSE(broken_outlines_are_named),
        IN_HOUSE(broken_references_of_outlines_are_named),
        IN_HOUSE(broken_postings_are_named),
        IN_HOUSE(broken_files_are_named),
        IN_HOUSE(broken_manuals_are_named),
        IN_HOUSE(broken_counters_are_mended),
        cmocka_unit_test(a_place_is_told_in_whole_characters),
        IN_HOUSE(a_damaged_manual_is_taken_away),
        IN_HOUSE(broken_segments_are_named),
        IN_HOUSE(broken_memories_are_named),
        IN_HOUSE(memories_of_two_versions_are_of_one_width),
        IN_HOUSE(damaged_memories_are_encoded_again),
        IN_HOUSE(broken_vectors_are_named),
        cmocka_unit_test_setup_teardown(keys_that_are_memories_are_compared,
                                        open_simple_house, close_house),
        IN_HOUSE(broken_lists_of_what_is_made_are_named),
        IN_HOUSE(a_manual_that_changes_is_begun_again),
        IN_HOUSE(many_faults_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
