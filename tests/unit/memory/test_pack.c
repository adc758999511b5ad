/* Packs: made of one store, read into another; whatever is not as it should be is
 * refused, and leaves nothing behind. */
#include "tests/unit/support/memory_fixtures.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "memory/pack/pack_internal.h"
#include "memory/store/store_internal.h"

enum { HEAD = 152, VERSION_AT = 13, KEY_AT = 16, HASH_AT = 112, SIZE_AT = 144 };

/* ---- What the tests share ---- */

static void open_made(struct test_library *lib)
{
    struct toy toy;
    toy_open(&toy, true);
    test_library_open(lib);
    test_publish(lib, pages, PAGES);
    check_update(lib, &toy, &policies[1], SEGMENTS);
}

static int give_page(void *context, const struct manual *manual,
                     const struct file *file, struct buf *ret, struct err *err)
{
    (void)context;
    (void)manual;
    (void)file;
    (void)ret;
    return err_set(err, ERR_STALE, "it has changed");
}

static struct buf gather(struct test_library *lib, const char *name)
{
    struct buf body = {0};
    struct err err = {0};
    if (pack_gather(lib->store, name, NULL, NULL, &body, &err))
        fail_msg("%s", err.message);
    return body;
}

static struct pack decode(const struct buf *body)
{
    struct buf copy = {0};
    struct pack pack;
    struct err err = {0};
    buf_put(&copy, body->data, body->size);
    if (pack_decode(&copy, &pack, &err))
        fail_msg("%s", err.message);
    return pack;
}

static int put(struct test_library *lib, const struct buf *body,
               const struct pack_place *place, struct manual *ret,
               struct err *err)
{
    struct pack pack = decode(body);
    int code = pack_put(lib->store, &pack, place, ret, err);
    pack_free(&pack);
    if (!code)
        assert_int_equal(library_refresh(lib->library, NULL), 0);
    return code;
}

static void put_well(struct test_library *lib, const struct buf *body,
                     const struct pack_place *place)
{
    struct manual manual;
    struct err err = {0};
    if (put(lib, body, place, &manual, &err))
        fail_msg("%s", err.message);
    lib->manual = manual.id;
    manual_free(&manual);
}

static void assert_same(const struct buf *a, const struct buf *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* ---- From store to store ---- */

static void a_generation_is_the_same_bytes_from_any_store(void **state)
{
    (void)state;
    struct test_library a, b, c;
    const struct pack_place here = {.root = ""};
    open_made(&a);
    test_library_open(&b);
    test_library_open(&c);
    struct buf first = gather(&a, "manual"), again = gather(&a, "manual");
    assert_same(&first, &again);
    /* A node's words are counted where it is put. */
    put_well(&b, &first, &here);
    struct buf second = gather(&b, "manual");
    put_well(&c, &second, &here);
    struct buf third = gather(&c, "manual");
    assert_same(&second, &third);
    buf_free(&first);
    buf_free(&again);
    buf_free(&second);
    buf_free(&third);
    test_library_close(&a);
    test_library_close(&b);
    test_library_close(&c);
}

static void it_is_read_as_where_it_was_made(void **state)
{
    (void)state;
    struct test_library a, b;
    struct vector_table made, got;
    struct toy toy;
    const struct pack_place here = {.root = "", .name = "manual"};
    open_made(&a);
    test_library_open(&b);
    struct buf body = gather(&a, "manual");
    put_well(&b, &body, &here);
    struct snapshot *snapshot = library_snapshot(b.library);
    const struct view *view = snapshot_view(snapshot, "manual");
    assert_non_null(view);
    assert_non_null(view->vectors);
    assert_int_equal(view->outline->count, NODES);
    assert_true(slice_is(view->outline->nodes[3].title, "A2"));
    assert_int_equal(view->manual.files, PAGES);
    assert_string_equal(view->manual.root, "");
    snapshot_unref(snapshot);
    read_table(&a, &made);
    read_table(&b, &got);
    assert_int_equal(made.row_count, got.row_count);
    assert_memory_equal(made.keys, got.keys,
                        made.row_count * made.width * sizeof(float));
    assert_memory_equal(made.subtrees, got.subtrees,
                        made.node_count * made.width * sizeof(float));
    vector_table_free(&made);
    vector_table_free(&got);
    /* What anyone has encoded nobody encodes again. */
    struct memories_report report;
    toy_open(&toy, true);
    assert_int_equal(update(&b, &toy, &policies[1], &report, NULL), 0);
    assert_int_equal(report.encoded, 0);
    assert_false(report.changed);
    buf_free(&body);
    test_library_close(&a);
    test_library_close(&b);
}

/* As packs of version 2 have them: of each memory, by name. */
static void add_codes(struct buf *body)
{
    struct pack pack = decode(body);
    unsigned char name[16];
    buf_put_varint(body, 1);
    buf_put_varint(body, pack.memory_count);
    for (size_t i = 0; i < pack.memory_count; i++) {
        hash_write(pack.memories[i].name, name);
        buf_put(body, name, sizeof name);
        buf_put_string(body, slice_of("codes of it"));
    }
    pack_free(&pack);
}

static void codes_of_tokens_are_left_out(void **state)
{
    (void)state;
    struct test_library a, b;
    const struct pack_place here = {.root = "", .name = "manual"};
    struct buf file = {0}, read = {0};
    struct pack_seal seal;
    struct pack pack;
    struct err err = {0};
    open_made(&a);
    test_library_open(&b);
    struct buf body = gather(&a, "manual"), older = gather(&a, "manual");
    add_codes(&older);
    assert_int_equal(pack_close(buf_slice(&older), NULL, &file, &seal, NULL),
                     0);
    assert_memory_equal(file.data, "lectern pack 1\n\n", 16);
    file.data[VERSION_AT] = '2';
    assert_int_equal(pack_check_seal(buf_slice(&file), &seal, NULL), 0);
    assert_int_equal(pack_open(buf_slice(&file), &read, NULL), 0);
    assert_same(&read, &older);
    put_well(&b, &read, &here);
    struct buf second = gather(&b, "manual");
    struct pack made = decode(&body), got = decode(&second);
    assert_int_equal(got.memory_count, made.memory_count);
    pack_free(&made);
    pack_free(&got);
    for (size_t cut = 1; cut < 12; cut++) { /* within the last ones */
        struct buf part = {0};
        buf_put(&part, older.data, older.size - cut);
        assert_int_equal(pack_decode(&part, &pack, &err), ERR_FORMAT);
        assert_non_null(strstr(err.message, "do not fit"));
    }
    buf_put(&body, "\1\0", 2); /* of no memory */
    assert_int_equal(pack_decode(&body, &pack, &err), ERR_FORMAT);
    buf_free(&file);
    buf_free(&read);
    buf_free(&older);
    buf_free(&second);
    test_library_close(&a);
    test_library_close(&b);
}

static void without_memories_they_are_made_here(void **state)
{
    (void)state;
    struct test_library a, b;
    struct toy toy;
    const struct pack_place here = {.root = "", .without_memories = true};
    open_made(&a);
    test_library_open(&b);
    struct buf body = gather(&a, "manual");
    put_well(&b, &body, &here);
    assert_int_equal(vectors_number(&b), 0);
    toy_open(&toy, true);
    check_update(&b, &toy, &policies[1], SEGMENTS);
    buf_free(&body);
    test_library_close(&a);
    test_library_close(&b);
}

static void names_are_taken_once(void **state)
{
    (void)state;
    struct test_library a, b;
    struct manual manual;
    struct err err = {0};
    struct pack_place away = {.root = ""}, here = {.root = "/m"};
    open_made(&a);
    test_library_open(&b);
    struct buf body = gather(&a, "manual");
    assert_int_equal(put(&a, &body, &away, &manual, &err), ERR_USAGE);
    put_well(&b, &body, &away);
    uint32_t before = b.manual;
    put_well(&b, &body, &away); /* its next generation */
    assert_int_equal(b.manual, before);
    struct snapshot *snapshot = library_snapshot(b.library);
    assert_int_equal(snapshot->count, 1);
    assert_int_equal(snapshot->views[0]->manual.generation, 2);
    assert_non_null(snapshot->views[0]->vectors);
    snapshot_unref(snapshot);
    assert_int_equal(put(&b, &body, &here, &manual, &err), ERR_USAGE);
    /* Who says where it is now may give it another place. */
    here.replaces = "/elsewhere";
    assert_int_equal(put(&b, &body, &here, &manual, &err), ERR_USAGE);
    here.replaces = "";
    put_well(&b, &body, &here);
    assert_int_equal(b.manual, before);
    assert_int_equal(put(&b, &body, &away, &manual, &err), ERR_USAGE);
    away.replaces = "/m";
    put_well(&b, &body, &away);
    assert_int_equal(b.manual, before);
    away.replaces = here.replaces = NULL;
    here.name = "other";
    put_well(&b, &body, &here);
    assert_int_not_equal(b.manual, before);
    away.name = "a\nb";
    assert_int_equal(put(&b, &body, &away, &manual, &err), ERR_USAGE);
    assert_int_equal(store_collect(b.store, NULL), 0);
    struct buf again = gather(&b, "other");
    assert_true(again.size > 0);
    buf_free(&again);
    buf_free(&body);
    test_library_close(&a);
    test_library_close(&b);
}

static void what_cannot_be_packed_is_said(void **state)
{
    (void)state;
    struct test_library lib;
    struct buf body = {0};
    struct err err = {0};
    open_made(&lib);
    assert_int_equal(pack_gather(lib.store, "none", NULL, NULL, &body, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(
        pack_gather(lib.store, "manual", give_page, NULL, &body, &err),
        ERR_STALE);
    test_publish(&lib, pages, PAGES); /* its memories are behind */
    assert_int_equal(pack_gather(lib.store, "manual", NULL, NULL, &body, &err),
                     ERR_STALE);
    assert_non_null(strstr(err.message, "lectern wait"));
    assert_int_equal(body.size, 0);
    test_library_close(&lib);
}

/* ---- The outside ---- */

static struct buf close_body(const struct pack_key *key)
{
    struct buf file = {0}, body = {0};
    struct pack_seal seal;
    for (int i = 0; i < 1000; i++)
        buf_printf(&body, "line %d\n", i);
    assert_int_equal(pack_close(buf_slice(&body), key, &file, &seal, NULL), 0);
    assert_int_equal(seal.is_signed, key != NULL);
    buf_free(&body);
    return file;
}

static void refuse_file(struct slice file, const char *reason)
{
    struct pack_seal seal = {0};
    struct err err = {0};
    assert_int_equal(pack_check_seal(file, &seal, &err), ERR_FORMAT);
    assert_false(seal.is_signed);
    if (!strstr(err.message, reason))
        fail_msg("%s: not %s", err.message, reason);
}

static void make_key(struct pack_key *key)
{
    assert_true(sodium_init() >= 0);
    crypto_sign_keypair(key->public, key->secret);
}

static void every_cut_and_changed_byte_is_seen(void **state)
{
    (void)state;
    struct pack_key key;
    struct pack_seal seal;
    make_key(&key);
    struct buf file = close_body(&key);
    for (size_t size = 0; size < file.size; size++)
        refuse_file((struct slice){file.data, size},
                    size < 16 ? "no pack" : "it is cut");
    for (size_t at = 0; at < file.size; at++) {
        file.data[at] ^= 4;
        refuse_file(buf_slice(&file), "the pack is not taken");
        file.data[at] ^= 4;
    }
    assert_int_equal(pack_check_seal(buf_slice(&file), &seal, NULL), 0);
    assert_memory_equal(seal.signer, key.public, PACK_KEY);
    buf_put_byte(&file, 'x');
    refuse_file(buf_slice(&file), "something was added");
    buf_free(&file);
}

static void forged_and_foreign_packs_are_refused(void **state)
{
    (void)state;
    struct pack_key key, other;
    make_key(&key);
    make_key(&other);
    struct buf file = close_body(&key), unsigned_file = close_body(NULL);
    memcpy(file.data + KEY_AT, other.public, PACK_KEY);
    refuse_file(buf_slice(&file), "forged");
    memcpy(unsigned_file.data + KEY_AT, key.public, PACK_KEY);
    refuse_file(buf_slice(&unsigned_file), "forged");
    static const char others[] = {'0', '3', ':', (char)0xb1};
    for (size_t i = 0; i < sizeof others; i++) {
        file.data[VERSION_AT] = others[i];
        refuse_file(buf_slice(&file), "another version");
    }
    refuse_file(slice_of("PK\3\4"), "no pack");
    buf_free(&file);
    buf_free(&unsigned_file);
}

/* With a right hash, as one who has no key can make it. */
static void reseal(struct buf *file)
{
    uint64_t size = file->size - HEAD;
    for (int i = 0; i < 8; i++)
        file->data[SIZE_AT + i] = (char)(size >> 8 * i & 255);
    crypto_generichash((unsigned char *)file->data + HASH_AT, PACK_HASH,
                       (unsigned char *)file->data + HEAD, size, NULL, 0);
}

static void what_does_not_decompress_is_refused(void **state)
{
    (void)state;
    struct buf file = close_body(NULL), body = {0};
    struct pack_seal seal;
    uint64_t random = 7;
    for (int i = 0; i < 200; i++) {
        struct buf broken = {0};
        buf_put(&broken, file.data, file.size);
        size_t at = HEAD + unit_below(&random, (uint32_t)(file.size - HEAD));
        broken.data[at] = (char)~broken.data[at];
        if (i % 3 == 0)
            broken.size = at;
        reseal(&broken);
        assert_int_equal(pack_check_seal(buf_slice(&broken), &seal, NULL), 0);
        assert_int_equal(pack_open(buf_slice(&broken), &body, NULL),
                         ERR_FORMAT);
        buf_free(&broken);
    }
    /* A frame that says it is of a terabyte. */
    buf_clear(&file);
    for (int i = 0; i < HEAD; i++)
        buf_put_byte(&file, 0);
    buf_put(&file, "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\1\0\0\1\0\0", 16);
    assert_int_equal(pack_open(buf_slice(&file), &body, NULL), ERR_FORMAT);
    buf_free(&file);
}

static void keys_are_made_kept_and_trusted(void **state)
{
    (void)state;
    char folder[256], path[300], trusted[300];
    struct pack_key made, read;
    struct buf lines = {0};
    struct stat st;
    bool new, known;
    snprintf(folder, sizeof folder, "%s", unit_folder());
    snprintf(path, sizeof path, "%s/key", folder);
    snprintf(trusted, sizeof trusted, "%s/trusted", folder);
    assert_int_equal(pack_key_open(path, &made, &new, NULL), 0);
    assert_true(new);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(pack_key_open(path, &read, &new, NULL), 0);
    assert_false(new);
    assert_memory_equal(&made, &read, sizeof made);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(pack_key_open(path, &read, &new, NULL), ERR_USAGE);
    assert_int_equal(pack_key_is_trusted(trusted, made.public, &known, NULL),
                     0);
    assert_false(known);
    buf_put_text(&lines, "# keys\n00ff\n");
    pack_put_hex(&lines, made.public, PACK_KEY);
    buf_put_text(&lines, " of the indexing machine\n");
    assert_int_equal(file_write(trusted, buf_slice(&lines), NULL), 0);
    assert_int_equal(pack_key_is_trusted(trusted, made.public, &known, NULL),
                     0);
    assert_true(known);
    made.public[0] ^= 1;
    assert_int_equal(pack_key_is_trusted(trusted, made.public, &known, NULL),
                     0);
    assert_false(known);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(file_write(path, slice_of("no key\n"), NULL), 0);
    assert_int_equal(pack_key_open(path, &read, &new, NULL), ERR_USAGE);
    pack_key_forget(&made);
    buf_free(&lines);
    unit_folder_remove(folder);
}

/* ---- The inside ---- */

static void set_path(struct pack *pack, size_t i, const char *path)
{
    free(pack->files[i].path);
    pack->files[i].path = mem_strdup(path);
}

static struct node *node_of(struct pack *pack, uint32_t n)
{
    return &pack->outline->nodes[n];
}

/* clang-format off */
static void same_id(struct pack *p) { node_of(p, 2)->id = 2; }
static void no_such_file(struct pack *p) { node_of(p, 2)->source_tree = 9; }
static void no_such_node(struct pack *p) { node_of(p, 2)->source_node = 90; }
static void other_text(struct pack *p) { node_of(p, 2)->own.low ^= 1; }
static void no_such_block(struct pack *p)
{
    static uint32_t block = 77;
    node_of(p, 2)->boilerplate = &block;
    node_of(p, 2)->dropped_count = 1;
}
static void not_utf8(struct pack *p) { node_of(p, 2)->title = slice_of("\xff\xfe"); }
static void file_tree(struct pack *p) { p->outline->outline = false; }
static void out_of_folder(struct pack *p) { set_path(p, 0, "../a.html"); }
static void absolute(struct pack *p) { set_path(p, 0, "/a.html"); }
static void through_dots(struct pack *p) { set_path(p, 0, "a/../../b"); }
static void empty_part(struct pack *p) { set_path(p, 0, "a//b"); }
static void renamed(struct pack *p) { set_path(p, 0, "aa.html"); }
static void twice(struct pack *p) { set_path(p, 1, "a.html"); }
static void no_tree(struct pack *p) { p->files[0].tree = 0; }
static void far_tree(struct pack *p) { p->files[0].tree = 99; }
static void other_tree(struct pack *p) { p->files[0].tree = p->files[1].tree; }
static void failed_for_nothing(struct pack *p) { p->files[0].state = FILE_FAILED; }
static void other_bytes(struct pack *p) { p->files[0].bytes = slice_of("x"); }
static void trees_swapped(struct pack *p)
{
    struct pack_tree tree = p->trees[0];
    p->trees[0] = p->trees[1];
    p->trees[1] = tree;
    for (size_t i = 0; i < p->file_count; i++)
        p->files[i].tree = p->files[i].tree == 1 ? 2 : p->files[i].tree == 2 ? 1 : p->files[i].tree;
}
static void tree_damaged(struct pack *p) { p->trees[0].bytes.size--; }
static void tree_foreign(struct pack *p) { p->trees[0].bytes = slice_of("XX"); }
static void memory_gone(struct pack *p) { p->memory_count--; }
static void memory_short(struct pack *p) { p->memories[0].value.size--; }
static void memories_swapped(struct pack *p)
{
    struct pack_record memory = p->memories[0];
    p->memories[0] = p->memories[1];
    p->memories[1] = memory;
}
static void segment_gone(struct pack *p) { p->segment_count--; }
static void segment_short(struct pack *p) { p->segments[0].value.size--; }
static void segment_strange(struct pack *p) { p->segments[0].name.high = 0; }
static void vectors_gone(struct pack *p) { p->vectors.width = 0; }
static void vectors_old(struct pack *p) { p->vectors.generation = 2; }
static void vectors_delta(struct pack *p) { p->vectors.base = 7; }
static void vectors_far(struct pack *p) { p->vectors.nodes[p->vectors.node_count - 1] = 1000; }
static void vectors_twice(struct pack *p) { p->vectors.nodes[1] = p->vectors.nodes[0]; }
/* clang-format on */

static const struct {
    void (*change)(struct pack *pack);
    const char *reason;
} changes[] = {
    {same_id, "not numbered from 1"},
    {no_such_file, "node 3 is of file 9"},
    {no_such_node, "node 3 is node 90"},
    {other_text, "the hash of node 3"},
    {no_such_block, "leaves out a block"},
    {not_utf8, "not UTF-8"},
    {file_tree, "the tree of a file"},
    {out_of_folder, "outside of its folder"},
    {absolute, "outside of its folder"},
    {through_dots, "outside of its folder"},
    {empty_part, "outside of its folder"},
    {renamed, "its files differ"},
    {twice, "not in order"},
    {no_tree, "is indexed, and is not"},
    {far_tree, "is indexed, and is not"},
    {other_tree, "the hash of node 2"},
    {failed_for_nothing, "is indexed, and is not"},
    {other_bytes, "not those that were indexed"},
    {trees_swapped, "its trees are not in order"},
    {tree_damaged, "a damaged tree"},
    {tree_foreign, "not an encoded tree"},
    {memory_gone, "is missing"},
    {memory_short, "not as many in each"},
    {memories_swapped, "its memories are not in order"},
    {segment_gone, "is missing"},
    {segment_short, "segments of a node are damaged"},
    {segment_strange, "is missing"},
    {vectors_gone, "nothing is made of"},
    {vectors_old, "another generation"},
    {vectors_delta, "another generation"},
    {vectors_far, "not there"},
    {vectors_twice, "not in order"},
};

static void what_is_wrong_inside_is_named(void **state)
{
    (void)state;
    struct test_library lib;
    open_made(&lib);
    struct buf body = gather(&lib, "manual");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct pack pack = decode(&body), got;
        struct buf changed = {0};
        struct err err = {0};
        changes[i].change(&pack);
        pack_encode(&pack, &changed);
        assert_int_equal(pack_decode(&changed, &got, &err), ERR_FORMAT);
        if (!strstr(err.message, changes[i].reason))
            fail_msg("%s: not %s", err.message, changes[i].reason);
        pack_free(&pack);
    }
    buf_free(&body);
    test_library_close(&lib);
}

/* ---- Time ---- */

enum { FILES = 1000, MANY = 100000 };

/* A node with a block and `more` below it. */
static void put_long_tree(struct pack_tree *ret, struct buf *bytes,
                          struct hash128 *ret_own, const char *title,
                          uint32_t more)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of(title), (struct slice){"", 0});
    tree_add_block(tree, 0, BLOCK_CODE, slice_of("a page"),
                   (struct slice){"", 0}, (struct origin){0});
    for (uint32_t i = 0; i < more; i++)
        tree_add_node(tree, 0, 2, slice_of("below"), (struct slice){"", 0});
    assert_int_equal(tree_seal(tree, NULL), 0);
    *ret_own = tree_hash_kept(tree->nodes[0].own, NULL, 0);
    tree_encode(tree, bytes);
    *ret = (struct pack_tree){hash_bytes(bytes->data, bytes->size),
                              buf_slice(bytes)};
    tree_free(tree);
}

/* Files in turn of a long tree and of a short one, a node of each; all but the first
 * node of the long one leave its block out. */
static struct buf body_in_turn(void)
{
    struct pack pack = {.name = mem_strdup("turns"), .ignore = mem_strdup("")};
    struct pack_tree *trees = mem_alloc(2 * sizeof *trees);
    struct buf bytes[2] = {{0}}, body = {0};
    struct hash128 own[2];
    char path[16];
    put_long_tree(&trees[0], &bytes[0], &own[0], "long", MANY);
    put_long_tree(&trees[1], &bytes[1], &own[1], "short", 0);
    uint32_t second = hash_compare(&trees[0].name, &trees[1].name) < 0;
    if (!second) {
        struct pack_tree first = trees[0];
        trees[0] = trees[1];
        trees[1] = first;
    }
    pack.trees = trees;
    pack.tree_count = 2;
    pack.outline = tree_new(true);
    pack.files = mem_alloc(FILES * sizeof *pack.files);
    for (uint32_t i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%04u.html", i);
        tree_add_file(pack.outline, slice_of(path));
        tree_add_node(pack.outline, i ? 0 : TREE_NONE, 1, slice_of(path),
                      (struct slice){"", 0});
        pack.files[pack.file_count++] =
            (struct pack_file){.path = mem_strdup(path),
                               .tree = 1 + (i % 2 == second),
                               .state = FILE_INDEXED,
                               .failure = mem_strdup(""),
                               .reports = mem_strdup("")};
    }
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < FILES; i++) {
        struct node *node = &pack.outline->nodes[i];
        node->id = i + 1;
        node->source_tree = i;
        node->own = own[i % 2];
        if (i && i % 2 == 0) {
            node->boilerplate = &dropped;
            node->dropped_count = 1;
            node->own = tree_hash_kept(own[0], &dropped, 1);
        }
    }
    assert_int_equal(tree_seal(pack.outline, NULL), 0);
    pack_encode(&pack, &body);
    pack_free(&pack);
    buf_free(&bytes[0]);
    buf_free(&bytes[1]);
    return body;
}

/* A tree is decoded once, not for each file or node that is of it. */
static void trees_of_many_files_are_read_once(void **state)
{
    (void)state;
    const double max_seconds = 2;
    struct test_library lib;
    const struct pack_place here = {.root = ""};
    test_library_open(&lib);
    struct buf body = body_in_turn();
    double start = unit_seconds();
    struct pack pack = decode(&body);
    double decoded = unit_seconds();
    assert_true(decoded - start < max_seconds);
    struct manual manual;
    struct err err = {0};
    if (pack_put(lib.store, &pack, &here, &manual, &err))
        fail_msg("%s", err.message);
    assert_true(unit_seconds() - decoded < max_seconds);
    assert_int_equal(manual.nodes, FILES);
    manual_free(&manual);
    pack_free(&pack);
    buf_free(&body);
    test_library_close(&lib);
}

static void bytes_of_any_kind_end_well(void **state)
{
    (void)state;
    struct test_library lib, other;
    uint64_t random = 3;
    size_t taken = 0;
    open_made(&lib);
    test_library_open(&other);
    struct buf body = gather(&lib, "manual");
    for (int i = 0; i < 3000; i++) {
        struct buf changed = {0};
        struct pack pack;
        buf_put(&changed, body.data, body.size);
        for (uint32_t n = unit_below(&random, 3) + 1; n-- > 0;)
            changed.data[unit_below(&random, (uint32_t)body.size)] =
                (char)unit_below(&random, 256);
        if (i % 5 == 0)
            changed.size = unit_below(&random, (uint32_t)body.size);
        if (pack_decode(&changed, &pack, NULL))
            continue;
        /* It may say other things, but what it says fits together. */
        char name[20];
        struct pack_place place = {.root = "", .name = name};
        struct manual manual;
        snprintf(name, sizeof name, "m%zu", taken++ % 3);
        if (!pack_put(other.store, &pack, &place, &manual, NULL)) {
            assert_int_equal(library_refresh(other.library, NULL), 0);
            manual_free(&manual);
        }
        pack_free(&pack);
    }
    assert_true(taken > 0);
    buf_free(&body);
    test_library_close(&lib);
    test_library_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_generation_is_the_same_bytes_from_any_store),
        cmocka_unit_test(it_is_read_as_where_it_was_made),
        cmocka_unit_test(codes_of_tokens_are_left_out),
        cmocka_unit_test(without_memories_they_are_made_here),
        cmocka_unit_test(names_are_taken_once),
        cmocka_unit_test(what_cannot_be_packed_is_said),
        cmocka_unit_test(every_cut_and_changed_byte_is_seen),
        cmocka_unit_test(forged_and_foreign_packs_are_refused),
        cmocka_unit_test(what_does_not_decompress_is_refused),
        cmocka_unit_test(keys_are_made_kept_and_trusted),
        cmocka_unit_test(what_is_wrong_inside_is_named),
        cmocka_unit_test(trees_of_many_files_are_read_once),
        cmocka_unit_test(bytes_of_any_kind_end_well)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
