/* Fuzz target: bytes as a manual of few words, then as another one of the same ids whose
 * postings are written over the first one's, and a question.  What the index holds and
 * how BM25 scores it is counted once more, from the words. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "memory/lexical/lexical.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_NODES = 12, MAX_TITLE = 4, MAX_BODY = 14, WORDS = 10 };

/* Words of no language, which have no stems and are not common. */
static const char *const words[WORDS] = {"zob", "vik", "qur", "tuz", "dexo",
                                         "gop", "luq", "fyr", "wab", "xon"};

/* As in memory/lexical/lexical.c. */
static const double K1 = 0.9, B_BODY = 0.2, B_TITLE = 0.6, TITLE = 20,
                    PATH = 1.5;

struct section {
    uint32_t parent; /* 0: the manual */
    uint8_t title[MAX_TITLE], body[MAX_BODY];
    uint32_t title_size, body_size;
};

struct book {
    struct section sections[MAX_NODES + 1]; /* from 1 on */
    uint32_t count;
};

static struct store *store;
static struct library *library;
static uint32_t manual;
static uint64_t generation;

/* ---- Making ---- */

static void draw(struct choices *c, struct book *book)
{
    book->count = 1 + choose(c, MAX_NODES);
    for (uint32_t n = 1; n <= book->count; n++) {
        struct section *s = &book->sections[n];
        s->parent = n > 1 ? n - 1 : 0;
        for (uint32_t up = choose(c, 3); up && s->parent; up--)
            s->parent = book->sections[s->parent].parent;
        s->title_size = 1 + choose(c, MAX_TITLE);
        s->body_size = choose(c, MAX_BODY + 1);
        for (uint32_t i = 0; i < s->title_size; i++)
            s->title[i] = (uint8_t)choose(c, WORDS);
        for (uint32_t i = 0; i < s->body_size; i++)
            s->body[i] = (uint8_t)choose(c, WORDS);
    }
}

static struct slice spell(struct tree *tree, const uint8_t *text, uint32_t size)
{
    struct buf out = {0};
    for (uint32_t i = 0; i < size; i++) {
        buf_put_text(&out, i ? " " : "");
        buf_put_text(&out, words[text[i]]);
    }
    struct slice copy = tree_copy_text(tree, buf_slice(&out));
    buf_free(&out);
    return copy;
}

static struct tree *make_tree(const struct book *book, bool outline)
{
    struct tree *tree = tree_new(outline);
    tree_add_file(tree, slice_of(outline ? "a.html" : ""));
    tree_add_node(tree, TREE_NONE, 0, slice_of("manual"), slice_of(""));
    for (uint32_t n = 1; n <= book->count; n++) {
        const struct section *s = &book->sections[n];
        tree_add_node(tree, s->parent, 1, spell(tree, s->title, s->title_size),
                      slice_of(""));
        if (s->body_size && !outline)
            tree_add_block(tree, n, BLOCK_PARAGRAPH,
                           spell(tree, s->body, s->body_size), slice_of(""),
                           (struct origin){0, {0, 1}});
    }
    for (uint32_t n = 0; n < tree->count && outline; n++) {
        tree->nodes[n].id = n + 1;
        tree->nodes[n].source_tree = 0;
        tree->nodes[n].source_node = n;
    }
    return tree;
}

static void seal(struct tree *outline, struct tree *content)
{
    CHECK(!tree_seal(content, NULL));
    for (uint32_t n = 0; n < outline->count; n++)
        outline->nodes[n].own = content->nodes[n].own;
    CHECK(!tree_seal(outline, NULL));
}

static void change(struct lexical_delta *delta, const struct book *book,
                   bool add, struct tree *outline, struct tree *content)
{
    for (uint32_t n = 0; n <= book->count; n++)
        if (add)
            outline->nodes[n].words =
                lexical_add_node(delta, outline, n, &content->nodes[n]);
        else
            lexical_remove_node(delta, outline, n, &content->nodes[n]);
}

/* ---- The store ---- */

static char folder[] = "/tmp/lectern-ranking-XXXXXX";

static void remove_store(void)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "lock",
                                        "lectern.lock"};
    char path[64];
    store_close(store);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void open_store(void)
{
    struct store_options options = {.folder = folder, .max_bytes = 64 << 20};
    if (store)
        return;
    CHECK(mkdtemp(folder) && !store_open(&options, &store, NULL));
    CHECK(!library_open(store, &library, NULL));
    atexit(remove_store);
}

static void put_manual(struct store_txn *txn, uint32_t epoch)
{
    struct manual record = {.id = manual,
                            .name = mem_strdup("manual"),
                            .root = mem_strdup("/r"),
                            .ignore = mem_strdup(""),
                            .generation = generation,
                            .epoch = epoch,
                            .lexical = LEXICAL_VERSION};
    CHECK(!store_put_manual(txn, &record, NULL));
    manual = record.id;
    manual_free(&record);
}

static void publish(const struct book *before, const struct book *book)
{
    struct store_txn *txn;
    uint32_t epoch;
    struct lexical_delta *delta = lexical_delta_new();
    struct tree *old = make_tree(before, true),
                *old_content = make_tree(before, false);
    struct tree *outline = make_tree(book, true),
                *content = make_tree(book, false);
    seal(old, old_content);
    seal(outline, content);
    CHECK(!store_write(store, &txn, NULL));
    CHECK(!store_take_epoch(txn, &epoch, NULL));
    generation++;
    put_manual(txn, epoch);
    change(delta, before, true, old, old_content);
    CHECK(!lexical_apply(txn, manual, epoch, delta, NULL));
    change(delta, before, false, old, old_content);
    change(delta, book, true, outline, content);
    CHECK(!lexical_apply(txn, manual, epoch, delta, NULL));
    struct file file = {.path = mem_strdup("a.html"),
                        .failure = mem_strdup(""),
                        .tree = content->nodes[0].merkle};
    CHECK(!store_put_tree(txn, file.tree, content, NULL));
    CHECK(!store_put_file(txn, manual, &file, NULL));
    CHECK(!store_put_outline(txn, manual, generation, outline, NULL));
    CHECK(!store_commit(txn, NULL) && !library_refresh(library, NULL));
    CHECK(generation % 64 || !store_collect(store, NULL));
    file_free(&file);
    lexical_delta_free(delta);
    tree_free(old);
    tree_free(old_content);
    tree_free(outline);
    tree_free(content);
}

/* ---- By the words ---- */

static uint32_t times(const uint8_t *text, uint32_t size, uint32_t word)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < size; i++)
        found += text[i] == word;
    return found;
}

static bool is_above(const struct book *book, uint32_t n, uint32_t word)
{
    for (uint32_t up = book->sections[n].parent; up;
         up = book->sections[up].parent)
        if (times(book->sections[up].title, book->sections[up].title_size,
                  word))
            return true;
    return false;
}

static bool holds(const struct book *book, uint32_t n, uint32_t word)
{
    const struct section *s = &book->sections[n];
    return times(s->title, s->title_size, word) ||
           times(s->body, s->body_size, word);
}

/* Only sections that own text are counted. */
static void count(const struct book *book, uint32_t word, uint32_t *ret_nodes,
                  uint32_t *ret_owners)
{
    *ret_nodes = *ret_owners = 0;
    for (uint32_t n = 1; n <= book->count; n++)
        if (book->sections[n].body_size) {
            *ret_owners += 1;
            *ret_nodes += holds(book, n, word);
        }
}

static double score_of(const struct book *book, const struct view *view,
                       uint32_t n, const uint32_t *asked, uint32_t asked_count)
{
    const struct section *s = &book->sections[n];
    double score = 0;
    for (uint32_t t = 0; t < asked_count; t++) {
        uint32_t nodes, owners;
        count(book, asked[t], &nodes, &owners);
        double idf = log(1 + (owners - nodes + 0.5) / (nodes + 0.5));
        uint32_t title = times(s->title, s->title_size, asked[t]);
        double body = times(s->body, s->body_size, asked[t]);
        double body_norm =
            1 - B_BODY + B_BODY * s->body_size / view->mean_words;
        double title_norm =
            1 - B_TITLE + B_TITLE * s->title_size / view->mean_title_words;
        double tf = body / body_norm +
                    TITLE * (title > 3 ? 3 : title) / title_norm +
                    PATH * is_above(book, n, asked[t]);
        score += idf * tf * (K1 + 1) / (K1 + tf);
    }
    return score;
}

/* ---- Comparing ---- */

static uint32_t ask(struct choices *c, uint32_t *asked, struct query *query)
{
    char text[64] = "";
    uint32_t asked_count = 0, first = choose(c, WORDS);
    for (uint32_t i = 0, most = 1 + choose(c, 3); i < most; i++) {
        size_t used = strlen(text);
        asked[asked_count++] = (first + 3 * i) % WORDS;
        snprintf(text + used, sizeof text - used, "%s ", words[asked[i]]);
    }
    query_parse(text, query);
    CHECK(query->count == asked_count);
    return asked_count;
}

static void compare(const struct book *book, const struct view *view,
                    struct store_txn *txn, struct choices *c)
{
    uint32_t asked[3], owners = 0;
    struct query query;
    struct matches matches;
    uint32_t asked_count = ask(c, asked, &query);
    CHECK(!lexical_match(txn, view, &query, &matches, NULL));
    for (uint32_t t = 0; t < asked_count; t++)
        count(book, asked[t], &query.terms[t].nodes, &owners);
    CHECK(view->owners == owners);
    query_weigh(&query, owners, view->mean_words);
    struct lexical_bounds bounds;
    lexical_bounds(&query, &bounds);
    for (uint32_t n = 1; n <= book->count; n++) {
        const struct section *s = &book->sections[n];
        struct match_row found = matches_row(&matches, n);
        const struct match *row = found.of;
        for (uint32_t t = 0; t < asked_count; t++) {
            uint32_t title = times(s->title, s->title_size, asked[t]);
            CHECK(row[t].body == times(s->body, s->body_size, asked[t]));
            CHECK(row[t].title == (title > 3 ? 3 : title));
            CHECK(row[t].path == is_above(book, n, asked[t]));
        }
        double mine = owners ? score_of(book, view, n, asked, asked_count) : 0;
        CHECK(!owners ||
              fabs(lexical_score(&query, view, n, row) - mine) < 1e-6);
        CHECK(
            !matches_has(&matches, n) ||
            lexical_bound_found(&bounds, &matches, matches_from(&matches, n)) >=
                lexical_score(&query, view, n, row));
        CHECK((matches_has(&matches, n)
                   ? lexical_score_found(&query, view, &matches,
                                         matches_from(&matches, n))
                   : 0) == lexical_score(&query, view, n, row));
    }
    matches_free(&matches);
    query_free(&query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices c = {data, size, 0};
    static struct book before, book;
    struct store_txn *txn;
    open_store();
    draw(&c, &before);
    draw(&c, &book);
    publish(&before, &book);
    struct snapshot *snapshot = library_snapshot(library);
    CHECK(snapshot->count == 1 && !store_read(store, &txn, NULL));
    for (int i = 0; i < 3; i++)
        compare(&book, snapshot->views[0], txn, &c);
    store_end(txn);
    snapshot_unref(snapshot);
    return 0;
}
