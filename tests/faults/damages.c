/* Damages to a small store, and what its interface says of each, in a process of its own:
 *
 *     damages [--from SEED] [--count N] [--first] [--tell]
 *
 * A store of two manuals, made in three commits, is changed in one place: a bit, a byte, a
 * word, a page of zeros, of noise, in another's place (misdirected), as it was some commits
 * before (lost), half so (torn), or the end cut off.  Then all that was put into it is read.
 * What comes of that:
 *
 *     clean      all is as it was written, and store_check finds nothing
 *     found      the same, and it does
 *     told       an error, of the reading or of what is asked before "nothing" is said; or
 *                what a record names is not there
 *     older      all is as one of the commits before left it: the page that names the last
 *                one is the damaged one, and nothing else knows of it
 *     forbidden  another value, or none, without a word; or the process ends
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "memory/store/store.h"
#include "tests/faults/seeds.h"

enum {
    PAGE = 4096,
    TREES = 12,
    TERMS = 150,
    NAMES = 30,
    FILES = 20,
    WIDTH = 32,
    VERSIONS = 3,
    FILE_MAX = 64 << 20,
    CHILD_SECONDS = 60
};
enum { MAX_ITEMS = 600 };

static const char *folder, *data_file;
static struct buf versions[VERSIONS];
static uint64_t dice;

static uint64_t draw(uint64_t limit)
{
    uint64_t z = (dice += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % limit;
}

static void must(int code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "damages: %s\n", what);
    exit(2);
}

/* ---- What is put in ---- */

static struct hash128 name_of(const char *kind, unsigned which)
{
    char text[40];
    int size = snprintf(text, sizeof text, "%s %u", kind, which);
    return hash_bytes(text, (size_t)size);
}

/* Another text for each version; every tenth is longer than a page. */
static struct slice text_of(struct buf *buf, unsigned which, unsigned version)
{
    buf_clear(buf);
    for (unsigned i = 0; i < (which % 10 ? 8 : 900); i++)
        buf_printf(buf, "%u.%u.%u ", which, version, i);
    return buf_slice(buf);
}

static struct tree *make_tree(unsigned which, unsigned version)
{
    struct buf text = {0};
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    for (uint32_t n = 0; n < 4; n++) {
        tree_add_node(tree, n ? 0 : TREE_NONE, 1, slice_of("title"),
                      slice_of(""));
        tree_add_block(tree, n, BLOCK_PARAGRAPH,
                       text_of(&text, which + n, version), slice_of(""),
                       (struct origin){0, {0, 1}});
    }
    must(tree_seal(tree, NULL), "a tree");
    buf_free(&text);
    return tree;
}

static void put_manual(struct store_txn *txn, unsigned which, unsigned version)
{
    char name[8];
    snprintf(name, sizeof name, "m%u", which);
    struct manual manual = {.id = version ? which + 1 : 0,
                            .name = mem_strdup(name),
                            .root = mem_strdup("/r"),
                            .ignore = mem_strdup(""),
                            .generation = version + 1,
                            .epoch = 1,
                            .files = FILES,
                            .words = version};
    must(store_put_manual(txn, &manual, NULL), "a manual");
    manual_free(&manual);
}

static void put_files(struct store_txn *txn, unsigned which, unsigned version)
{
    for (unsigned i = 0; i < FILES; i++) {
        char path[16];
        snprintf(path, sizeof path, "%u.html", i);
        struct file file = {.path = mem_strdup(path),
                            .size = version,
                            .tree = name_of("tree", i % TREES),
                            .failure = mem_strdup("")};
        if (i % 3 == version % 3)
            must(store_put_file(txn, which + 1, &file, NULL), "a file");
        file_free(&file);
    }
}

static void put_numbers(struct store_txn *txn, unsigned version)
{
    struct buf text = {0};
    float memory[WIDTH];
    for (unsigned i = 0; i < NAMES; i++) {
        if (i % 3 != version)
            continue;
        must(store_put_segments(txn, name_of("segment", i),
                                text_of(&text, i, version), NULL),
             "segments");
        for (unsigned k = 0; k < WIDTH; k++)
            memory[k] = (float)(i * k % 7) - 3;
        must(store_put_memory(txn, name_of("memory", i), memory, WIDTH, NULL),
             "a memory");
    }
    buf_free(&text);
}

static void put_postings(struct store_txn *txn, unsigned version)
{
    struct buf text = {0};
    char term[16];
    for (unsigned i = 0; i < TERMS; i++) {
        snprintf(term, sizeof term, "term%u", i);
        if (i % 3 <= version)
            must(store_put_postings(txn, 1 + i % 2, 1, slice_of(term),
                                    text_of(&text, i, version), NULL),
                 "postings");
    }
    buf_free(&text);
}

static void put_version(struct store *store, unsigned version)
{
    struct store_txn *txn;
    must(store_write(store, &txn, NULL), "writing");
    for (unsigned m = 0; m < 2; m++) {
        struct tree *outline = make_tree(m, version);
        put_manual(txn, m, version);
        put_files(txn, m, version);
        must(store_put_outline(txn, m + 1, version + 1, outline, NULL),
             "an outline");
        tree_free(outline);
    }
    for (unsigned i = version; i < TREES; i += VERSIONS) {
        struct tree *tree = make_tree(i, version);
        must(store_put_tree(txn, name_of("tree", i), tree, NULL), "a tree");
        tree_free(tree);
    }
    put_numbers(txn, version);
    put_postings(txn, version);
    must(store_commit(txn, NULL), "a commit");
}

static struct store *open_store(struct err *err)
{
    struct store *store = NULL;
    struct store_options options = {.folder = folder, .max_bytes = 64 << 20};
    return store_open(&options, &store, err) ? NULL : store;
}

static void make_versions(void)
{
    struct err err = {0};
    struct store *store = open_store(&err);
    must(!store, err.message);
    for (unsigned v = 0; v < VERSIONS; v++) {
        put_version(store, v);
        must(file_read(data_file, FILE_MAX, &versions[v], NULL), "the file");
    }
    store_close(store);
    must(file_read(data_file, FILE_MAX, &versions[VERSIONS - 1], NULL),
         "the file");
}

/* ---- What is read ---- */

struct item {
    int code;
    uint64_t value;
};

struct items {
    struct item all[MAX_ITEMS];
    size_t count;
};

static void take(struct items *items, int code, struct slice value)
{
    uint64_t hash = code ? 0 : hash_bytes64(value.data, value.size);
    items->all[items->count++] = (struct item){code, hash};
}

static void take_tree(struct items *items, int code, struct tree *tree)
{
    struct buf bytes = {0};
    if (!code)
        tree_encode(tree, &bytes);
    take(items, code, buf_slice(&bytes));
    buf_free(&bytes);
    if (!code)
        tree_free(tree);
}

static void read_files(struct items *items, struct store_txn *txn, unsigned m)
{
    struct file *files = NULL;
    struct buf text = {0};
    size_t count = 0;
    int code = store_list_files(txn, m + 1, &files, &count, NULL);
    for (size_t i = 0; !code && i < count; i++) {
        buf_printf(&text, "%s %llu %llx\n", files[i].path,
                   (unsigned long long)files[i].size,
                   (unsigned long long)files[i].tree.low);
        file_free(&files[i]);
    }
    if (!code)
        free(files);
    take(items, code, buf_slice(&text));
    buf_free(&text);
}

static void read_manual(struct items *items, struct store_txn *txn, unsigned m)
{
    struct manual manual;
    struct buf text = {0};
    struct tree *outline = NULL;
    uint64_t generation = 0;
    int code = store_get_manual(txn, m + 1, &manual, NULL);
    if (!code) {
        generation = manual.generation;
        buf_printf(&text, "%s %s %llu %llu", manual.name, manual.root,
                   (unsigned long long)manual.generation,
                   (unsigned long long)manual.words);
        manual_free(&manual);
    }
    take(items, code, buf_slice(&text));
    code = store_get_outline(txn, m + 1, generation, &outline, NULL);
    take_tree(items, code, outline);
    read_files(items, txn, m);
    buf_free(&text);
}

static void read_numbers(struct items *items, struct store_txn *txn)
{
    for (unsigned i = 0; i < NAMES; i++) {
        struct slice value = {0};
        float memory[WIDTH] = {0};
        int code = store_get_segments(txn, name_of("segment", i), &value, NULL);
        take(items, code, value);
        code = store_get_memory(txn, name_of("memory", i), memory, WIDTH, NULL);
        take(items, code, (struct slice){(const char *)memory, sizeof memory});
    }
}

static void read_all(struct store_txn *txn, struct items *items)
{
    items->count = 0;
    for (unsigned m = 0; m < 2; m++)
        read_manual(items, txn, m);
    for (unsigned i = 0; i < TREES; i++) {
        struct tree *tree = NULL;
        int code = store_get_tree(txn, name_of("tree", i), &tree, NULL);
        take_tree(items, code, tree);
    }
    for (unsigned i = 0; i < TERMS; i++) {
        char term[16];
        struct slice value = {0};
        snprintf(term, sizeof term, "term%u", i);
        int code =
            store_get_postings(txn, 1 + i % 2, 1, slice_of(term), &value, NULL);
        take(items, code ? code : value.size ? 0 : ERR_NOT_FOUND, value);
    }
    read_numbers(items, txn);
}

/* ---- Damage ---- */

enum damage {
    A_BIT,
    A_BYTE,
    A_WORD,
    ZEROS,
    NOISE,
    MISDIRECTED,
    LOST,
    TORN,
    CUT,
    DAMAGES
};
static const char *const damage_names[DAMAGES] = {
    "a bit",       "a byte", "a word", "zeros", "noise",
    "misdirected", "lost",   "torn",   "cut"};

static void spoil(struct buf *bytes, enum damage damage)
{
    uint64_t pages = bytes->size / PAGE;
    char *page = bytes->data + draw(pages) * PAGE;
    const struct buf *before = &versions[draw(VERSIONS - 1)];
    size_t at = (size_t)(page - bytes->data);
    /* Half of the small ones where LMDB keeps its books. */
    uint64_t byte = draw(2) ? draw(PAGE) : draw(64);
    switch (damage) {
    case A_BIT: page[byte] ^= (char)(1 << draw(8)); break;
    case A_BYTE: page[byte] = (char)draw(256); break;
    case A_WORD:
        for (uint64_t i = 0; i < 4; i++)
            page[(byte & ~3ULL) + i] = (char)draw(256);
        break;
    case ZEROS: memset(page, 0, PAGE); break;
    case NOISE:
        for (unsigned i = 0; i < PAGE; i++)
            page[i] = (char)draw(256);
        break;
    case MISDIRECTED:
        memcpy(page, bytes->data + draw(pages) * PAGE, PAGE);
        break;
    case LOST:
    case TORN:
        if (at < before->size)
            memcpy(page, before->data + at, damage == LOST ? PAGE : PAGE / 2);
        else
            memset(page, 0, damage == LOST ? PAGE : PAGE / 2);
        break;
    case CUT: bytes->size = at; break;
    default: break;
    }
}

static void write_data(const struct buf *bytes)
{
    FILE *file = fopen(data_file, "wb");
    must(!file || fwrite(bytes->data, 1, bytes->size, file) != bytes->size ||
             fclose(file),
         "the file");
}

/* ---- One trial ---- */

enum outcome { CLEAN, FOUND, TOLD, OLDER, FORBIDDEN, OUTCOMES };
static const char *const outcome_names[OUTCOMES] = {"clean", "found", "told",
                                                    "older", "forbidden"};
static struct items expected[VERSIONS];

static bool is_version(const struct items *found, const struct items *of)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->all[i].code != of->all[i].code ||
            found->all[i].value != of->all[i].value)
            return false;
    return true;
}

/* What is asked before it is said that something is not there. */
static bool is_checked(struct store *store)
{
    struct err err;
    return store_check(store, true, &err) || store_check_postings(store, &err);
}

/* Segments and memories that are not there are made again; an outline or a tree is
 * named by a record, and whoever reads that tells that it is not there. */
static bool may_be_absent(size_t item)
{
    enum { OF_MANUALS = 6 };
    return item >= OF_MANUALS + TREES + TERMS || item == 1 || item == 4 ||
           (item >= OF_MANUALS && item < OF_MANUALS + TREES);
}

static enum outcome judge(struct store *store, struct store_txn *txn, bool tell)
{
    static struct items found;
    bool told = false, wrong = false;
    read_all(txn, &found);
    bool checked = is_checked(store);
    for (size_t i = 0; i < found.count; i++) {
        struct item now = found.all[i], was = expected[VERSIONS - 1].all[i];
        bool same = now.code == was.code && now.value == was.value;
        bool none = now.code == ERR_NOT_FOUND;
        told = told || !same;
        if (same || (now.code && !none) ||
            (none && (checked || may_be_absent(i))))
            continue;
        wrong = true;
        if (tell)
            printf("item %zu: %d %llx instead of %d %llx%s\n", i, now.code,
                   (unsigned long long)now.value, was.code,
                   (unsigned long long)was.value,
                   checked ? ", and it is told" : "");
    }
    for (unsigned v = 0; v + 1 < VERSIONS && wrong && !checked; v++)
        if (is_version(&found, &expected[v]))
            return OLDER;
    if (wrong && !checked)
        return FORBIDDEN;
    return told ? TOLD : checked ? FOUND : CLEAN;
}

/* Of a build that counts branches. */
extern void __gcov_dump(void) __attribute__((weak));

static _Noreturn void end(enum outcome outcome)
{
    fflush(stdout);
    if (__gcov_dump)
        __gcov_dump();
    _exit((int)outcome);
}

static _Noreturn void run_child(bool tell)
{
    struct err err = {0};
    struct store_txn *txn;
    alarm(CHILD_SECONDS);
    must(!freopen("/dev/null", "w", stderr), "/dev/null");
    struct store *store = open_store(&err);
    if (!store || store_read(store, &txn, &err))
        end(TOLD);
    end(judge(store, txn, tell));
}

static enum outcome run_one(uint64_t seed, enum damage *ret_damage, bool tell)
{
    struct buf bytes = {0};
    int status;
    dice = seed * 0x2545F4914F6CDD1Du;
    *ret_damage = (enum damage)draw(DAMAGES);
    buf_put_slice(&bytes, buf_slice(&versions[VERSIONS - 1]));
    spoil(&bytes, *ret_damage);
    write_data(&bytes);
    buf_free(&bytes);
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        run_child(tell);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) < OUTCOMES
               ? (enum outcome)WEXITSTATUS(status)
               : FORBIDDEN;
}

static void expect(unsigned version)
{
    struct err err = {0};
    struct store_txn *txn;
    write_data(&versions[version]);
    struct store *store = open_store(&err);
    must(!store, err.message);
    must(store_read(store, &txn, NULL), "reading");
    read_all(txn, &expected[version]);
    store_end(txn);
    store_close(store);
}

static uint64_t run_all(const struct seeds *seeds)
{
    uint64_t counts[DAMAGES][OUTCOMES] = {{0}}, sums[OUTCOMES] = {0};
    for (uint64_t seed = seeds->from; seed < seeds->from + seeds->count;
         seed++) {
        enum damage damage;
        enum outcome outcome = run_one(seed, &damage, seeds->tell);
        counts[damage][outcome]++;
        sums[outcome]++;
        if (outcome == FORBIDDEN)
            printf("seed %llu, %s: forbidden\n", (unsigned long long)seed,
                   damage_names[damage]);
        if (outcome == FORBIDDEN && seeds->first)
            break;
    }
    for (int d = 0; d < DAMAGES; d++) {
        printf("%-12s", damage_names[d]);
        for (int o = 0; o < OUTCOMES; o++)
            printf(" %s %llu", outcome_names[o],
                   (unsigned long long)counts[d][o]);
        printf("\n");
    }
    printf("damages: %llu, %llu clean, %llu found, %llu told, %llu forbidden\n",
           (unsigned long long)seeds->count, (unsigned long long)sums[CLEAN],
           (unsigned long long)sums[FOUND], (unsigned long long)sums[TOLD],
           (unsigned long long)sums[FORBIDDEN]);
    return sums[FORBIDDEN];
}

int main(int argc, char **argv)
{
    static char place[] = "/tmp/lectern-damages-XXXXXX", data[64], command[96];
    struct seeds seeds = {.from = 1, .count = 1000};
    if (!seeds_read(argc, argv, &seeds))
        return 2;
    log_set_level(LOG_LEVEL_ERROR);
    must(!mkdtemp(place), "a folder");
    folder = place;
    snprintf(data, sizeof data, "%s/data.mdb", place);
    data_file = data;
    make_versions();
    for (unsigned v = 0; v < VERSIONS; v++)
        expect(v);
    uint64_t forbidden = run_all(&seeds);
    snprintf(command, sizeof command, "rm -rf '%s'", place);
    return system(command) || forbidden > 0;
}
