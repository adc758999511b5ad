/* One update of one manual, in five steps:
 *
 *   scan      the folder against the files' records: by stat what is surely
 *             unchanged is left alone
 *   parse     the rest, side by side; each tree is stored under the hash of
 *             its bytes as soon as it is there, so a crash costs a batch
 *   assemble  the files' trees into an outline; ids from the one before
 *   postings  what changed, or all of them in a new epoch when that is much
 *   flip      one short transaction: files, outline, the manual's record */
#include "indexer/index.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/log.h"
#include "indexer/aliases.h"
#include "indexer/assemble.h"
#include "indexer/inputs.h"
#include "indexer/parsers.h"
#include "indexer/scan.h"
#include "indexer/source.h"
#include "memory/lexical/lexical.h"

static const int64_t RACY_NS = 2000000000;

enum {
    BATCH_TREES = 256,        /* trees stored in one transaction */
    BATCH_POSTINGS = 8 << 20, /* postings gathered before they are written */
    REWRITE_SHARE = 4         /* a new epoch when 1/4 of the nodes changed */
};

struct update {
    struct store *store;
    const struct index_options *options;
    index_progress *progress;
    void *context;
    const atomic_bool *cancel;
    struct index_report *report;

    struct manual manual;
    struct source_root root; /* of `manual` */
    int64_t started_ns;      /* since 1970 */
    struct scan scan;
    struct file *old_files; /* [old_file_count] sorted by path */
    size_t old_file_count;
    struct file *files; /* [scan.count] as they will be */
    bool *known;        /* [scan.count] what is recorded is of this parser */
    bool *keep_record;  /* [scan.count] the record needs no writing */
    bool changed;       /* the generation is to be made anew */
    struct skeletons *skeletons;

    uint32_t *indexed; /* [indexed_count] files of the outline */
    uint32_t indexed_count;
    struct tree *outline, *old_outline;
    uint32_t *old_nodes; /* [outline->count] */
    uint32_t epoch;
    struct lexical_delta *delta;
};

const char *index_phase_name(int phase)
{
    static const char *const names[] = {"scan", "parse", "assemble", "store"};
    return names[phase];
}

static int step(const struct update *u, int phase, size_t done, size_t total,
                struct err *err)
{
    if (u->progress)
        u->progress(u->context, phase, done, total);
    if (u->cancel && atomic_load(u->cancel))
        return err_set(err, ERR_CANCELLED,
                       "stopped before the update was done");
    return 0;
}

/* ---- Scan ---- */

static int against_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct file *)file)->path);
}

static const struct file *find_old(const struct update *u, const char *path)
{
    return u->old_file_count ? bsearch(path, u->old_files, u->old_file_count,
                                       sizeof *u->old_files, against_path)
                             : NULL;
}

static bool same_stat(const struct file *old, const struct scan_file *now)
{
    return old->size == now->size && old->mtime_ns == now->mtime_ns &&
           old->inode == now->inode;
}

static bool was_unread(const struct file *old)
{
    return old->state == FILE_FAILED && !old->content.low && !old->content.high;
}

/* False: another version of the parser made its tree or failed on it, or the
 * store has lost the tree. */
static bool is_current(struct store_txn *txn, const struct file *file)
{
    return hash_equal(file->tree, parsers_file_tree(file)) &&
           (file->state == FILE_FAILED || store_has_tree(txn, file->tree));
}

/* A file changed within the last moments may change again without another
 * time stamp: recorded as of time 0, it is hashed again next time. */
static int64_t settled(const struct update *u, int64_t mtime_ns)
{
    return mtime_ns < u->started_ns - RACY_NS ? mtime_ns : 0;
}

/* One of a later day stays so, and is hashed each time. */
static bool settles(const struct update *u, int64_t mtime_ns)
{
    return !settled(u, mtime_ns) && mtime_ns < u->started_ns + RACY_NS;
}

/* Fills files[i] from the record or as new; true: it has to be read. */
static bool look_up(struct update *u, struct store_txn *txn, size_t i)
{
    const struct scan_file *now = &u->scan.files[i];
    const struct file *old = find_old(u, now->path);
    struct file *file = &u->files[i];
    *file = (struct file){.path = mem_strdup(now->path),
                          .size = now->size,
                          .mtime_ns = settled(u, now->mtime_ns),
                          .inode = now->inode,
                          .failure = mem_strdup(""),
                          .inputs = mem_strdup(""),
                          .reports = mem_strdup("")};
    u->report->unsettled += settles(u, now->mtime_ns);
    if (now->failure) {
        file->state = now->not_followed ? FILE_NOT_FOLLOWED : FILE_FAILED;
        free(file->failure);
        file->failure = mem_strdup(now->failure);
        u->changed |= old && old->state == FILE_INDEXED;
        if (!old || old->state == FILE_INDEXED)
            log_warn("%s/%s: %s", u->manual.root, now->path, now->failure);
        return false;
    }
    if (!old)
        return true;
    file->content = old->content;
    file->tree = old->tree;
    file->state = old->state;
    free(file->failure);
    free(file->inputs);
    free(file->reports);
    file->failure = mem_strdup(old->failure);
    file->inputs = mem_strdup(old->inputs);
    file->reports = mem_strdup(old->reports);
    bool again =
        u->options->force || (u->options->retry && old->state == FILE_FAILED);
    u->known[i] = is_current(txn, old) && !again;
    u->keep_record[i] = u->known[i] && same_stat(old, now);
    return !u->keep_record[i] || was_unread(old);
}

static bool any_gone(const struct update *u)
{
    size_t at = 0;
    for (size_t i = 0; i < u->old_file_count; i++) {
        while (at < u->scan.count &&
               strcmp(u->scan.files[at].path, u->old_files[i].path) < 0)
            at++;
        if (at == u->scan.count ||
            strcmp(u->scan.files[at].path, u->old_files[i].path))
            return true;
    }
    return false;
}

static int read_old_outline(struct update *u, struct err *err)
{
    struct store_txn *txn;
    if (!u->manual.generation)
        return 0;
    int code = store_read(u->store, &txn, err);
    if (code)
        return code;
    code = store_get_outline(txn, u->manual.id, u->manual.generation,
                             &u->old_outline, err);
    store_end(txn);
    if (code != ERR_NOT_FOUND && code != ERR_FORMAT)
        return code;
    log_error("%s: the outline of its generation is damaged: it is made anew, "
              "with other node ids",
              u->manual.name);
    return 0;
}

static int scan(struct update *u, struct err *err)
{
    struct store_txn *txn;
    int code = step(u, INDEX_SCAN, 0, 0, err);
    if (!code)
        code = store_read(u->store, &txn, err);
    if (code)
        return code;
    code = store_list_files(txn, u->manual.id, &u->old_files,
                            &u->old_file_count, err);
    store_end(txn);
    if (!code)
        code = watch_scan(u->options->watch, u->manual.id, &u->root,
                          u->manual.ignore, &u->scan, err);
    if (!code && !u->scan.count && u->old_file_count && !u->options->force)
        code = err_set(err, ERR_IO,
                       "%s has no file left: is a disk not mounted? lectern rm "
                       "%s, or update --force, if that is meant",
                       u->manual.root, u->manual.name);
    if (code)
        return code;
    u->files = mem_alloc(u->scan.count * sizeof *u->files);
    u->known = mem_alloc(u->scan.count * sizeof *u->known);
    u->keep_record = mem_alloc(u->scan.count * sizeof *u->keep_record);
    u->changed = !u->old_outline || any_gone(u) ||
                 u->manual.lexical != LEXICAL_VERSION ||
                 u->old_outline->has_aliases == u->options->no_aliases ||
                 !slice_is(u->old_outline->nodes[0].title, u->manual.name);
    return 0;
}

/* ---- Parse ---- */

/* What is wrong in a file that is read all the same. */
static void log_reports(const struct update *u, const char *path,
                        struct slice reports)
{
    while (reports.size) {
        const char *end = memchr(reports.data, '\n', reports.size);
        size_t size = end ? (size_t)(end - reports.data) : reports.size;
        log_warn("%s/%s: %.*s", u->manual.root, path, (int)size, reports.data);
        size += end != NULL;
        reports.data += size;
        reports.size -= size;
    }
}

#define KEPT "; what it was before is kept\n"

/* Takes the line off the file's reports that keep_as_it_was has put before them. */
static bool forget_kept(struct file *file)
{
    const char *end = strchr(file->reports, '\n');
    size_t size = end ? (size_t)(end + 1 - file->reports) : 0;
    if (size < sizeof KEPT ||
        memcmp(file->reports + size - (sizeof KEPT - 1), KEPT, sizeof KEPT - 1))
        return false;
    memmove(file->reports, file->reports + size,
            strlen(file->reports + size) + 1);
    return true;
}

/* What was indexed of it stays: a disk that fails does not take a manual away.  It is
 * read again next time, and told meanwhile. */
static void keep_as_it_was(struct update *u, size_t i, const char *why)
{
    struct file *file = &u->files[i];
    struct buf report = {0};
    forget_kept(file);
    buf_printf(&report, "%s" KEPT "%s", why, file->reports);
    free(file->reports);
    file->reports = report.data;
    file->mtime_ns = 0;
    u->keep_record[i] = false;
}

static void take_result(struct update *u, size_t i,
                        const struct parsers_result *r)
{
    struct file *file = &u->files[i];
    if (r->err.code)
        log_warn("%s/%s: %s", u->manual.root, file->path, r->err.message);
    if (r->unread && u->known[i] && file->state == FILE_INDEXED) {
        keep_as_it_was(u, i, r->err.message);
        return;
    }
    /* Its stat is another's: it is read again next time. */
    if (r->moved) {
        file->mtime_ns = 0;
        u->keep_record[i] = false;
        u->report->unsettled++;
    }
    if (r->unchanged) {
        if (forget_kept(file))
            u->keep_record[i] = false;
        return;
    }
    int state = r->err.code ? FILE_FAILED : FILE_INDEXED;
    /* What could not be read before may be included by others: looked at again. */
    u->report->unsettled += state == FILE_INDEXED && was_unread(file);
    log_reports(u, file->path, buf_slice(&r->reports));
    u->changed |= state == FILE_INDEXED || file->state == FILE_INDEXED;
    u->keep_record[i] = false;
    file->state = state;
    file->content = r->content;
    file->tree = r->name;
    free(file->failure);
    free(file->inputs);
    free(file->reports);
    file->failure = mem_strdup(r->err.code ? r->err.message : "");
    file->inputs = mem_strdup(buf_slice(&r->inputs).data);
    file->reports = mem_strdup(buf_slice(&r->reports).data);
    u->report->parsed += !r->stored;
}

struct batch {
    struct tree *trees[BATCH_TREES];
    struct hash128 names[BATCH_TREES];
    size_t count;
};

static int write_batch(struct update *u, struct batch *batch, struct err *err)
{
    struct store_txn *txn;
    if (!batch->count)
        return 0;
    int code = store_write(u->store, &txn, err);
    if (code)
        return code;
    for (size_t i = 0; i < batch->count && !code; i++)
        code = store_put_tree(txn, batch->names[i], batch->trees[i], err);
    if (!code)
        code = store_note_made(txn, u->manual.id, UNFINISHED_TREES,
                               batch->names, batch->count, err);
    if (code) {
        store_end(txn);
        return code;
    }
    for (size_t i = 0; i < batch->count; i++)
        tree_free(batch->trees[i]);
    batch->count = 0;
    return store_commit(txn, err);
}

static int collect_results(struct update *u, struct parsers *parsers,
                           const uint32_t *file_of, size_t total,
                           struct batch *batch, struct err *err)
{
    struct parsers_result result;
    size_t done = 0;
    int code = step(u, INDEX_PARSE, 0, total, err);
    while (!code && parsers_next(parsers, &result)) {
        if (result.broken) {
            if (err)
                *err = result.err;
            return result.err.code;
        }
        take_result(u, file_of[result.task], &result);
        buf_free(&result.inputs);
        buf_free(&result.reports);
        if (result.tree) {
            batch->names[batch->count] = result.name;
            batch->trees[batch->count++] = result.tree;
        }
        if (batch->count == BATCH_TREES)
            code = write_batch(u, batch, err);
        if (!code)
            code = step(u, INDEX_PARSE, ++done, total, err);
    }
    return code;
}

struct reading {
    struct parsers_task *tasks; /* [count] */
    uint32_t *file_of;          /* [count] index into files */
    size_t count;
    struct arena paths;
};

/* The documents whose included files are others than they were. */
static void find_outdated(struct update *u, bool *read)
{
    struct hash128 *content = mem_alloc(u->scan.count * sizeof *content);
    for (size_t i = 0; i < u->scan.count; i++)
        if (!read[i] && u->files[i].state == FILE_INDEXED)
            content[i] = u->files[i].content;
    for (size_t i = 0; i < u->scan.count; i++) {
        const struct file *file = &u->files[i];
        if (file->inputs[0] &&
            !inputs_are_same(&u->scan, file->path, file->inputs, content)) {
            read[i] = true;
            u->known[i] = false;
        }
    }
    free(content);
}

static void add_reading(struct update *u, struct reading *reading, size_t i)
{
    struct buf path = {0};
    file_join(&path, u->manual.root, u->scan.files[i].path);
    reading->tasks[reading->count] = (struct parsers_task){
        .path = arena_copy(&reading->paths, path.data, path.size),
        .name = u->scan.files[i].path,
        .has_known = u->known[i],
        .known = u->files[i].content,
        .size = u->scan.files[i].size,
        .mtime_ns = u->scan.files[i].mtime_ns,
        .inode = u->scan.files[i].inode};
    reading->file_of[reading->count++] = (uint32_t)i;
    buf_free(&path);
}

static int choose_hmt_cache(struct update *u, struct reading *reading,
                            struct err *err)
{
    struct store_txn *txn;
    int code = store_read(u->store, &txn, err);
    if (code)
        return code;
    reading->tasks = mem_alloc(u->scan.count * sizeof *reading->tasks);
    reading->file_of = mem_alloc(u->scan.count * sizeof *reading->file_of);
    bool *read = mem_alloc(u->scan.count * sizeof *read);
    for (size_t i = 0; i < u->scan.count; i++)
        read[i] = look_up(u, txn, i);
    find_outdated(u, read);
    for (size_t i = 0; i < u->scan.count; i++)
        if (read[i])
            add_reading(u, reading, i);
    free(read);
    store_end(txn);
    return 0;
}

static int parse(struct update *u, struct err *err)
{
    struct reading reading = {0};
    struct batch batch = {0};
    int code = choose_hmt_cache(u, &reading, err);
    if (!code) {
        struct parser_options parser = u->options->parser;
        parser.cancel = u->cancel;
        struct parsers *parsers;
        code = parsers_start(u->store, &parser, u->options->parsers,
                             u->options->force, &u->root, &u->scan,
                             reading.tasks, reading.count, &parsers, err);
        if (!code) {
            code = collect_results(u, parsers, reading.file_of, reading.count,
                                   &batch, err);
            parsers_stop(parsers);
        }
    }
    /* What was parsed is kept for the next try, whatever stopped this one. */
    int written = write_batch(u, &batch, code ? NULL : err);
    for (size_t i = 0; i < batch.count; i++)
        tree_free(batch.trees[i]);
    arena_free(&reading.paths);
    free(reading.tasks);
    free(reading.file_of);
    return code ? code : written;
}

/* Trees that updates before this one parsed and did not come to use. */
static int prune_trees(struct update *u, struct err *err)
{
    struct hash128 *names = mem_alloc(u->scan.count * sizeof *names);
    for (size_t i = 0; i < u->scan.count; i++)
        names[i] = u->files[i].tree;
    if (u->scan.count)
        qsort(names, u->scan.count, sizeof *names, hash_compare);
    int code = store_prune_made(u->store, u->manual.id, UNFINISHED_TREES, names,
                                u->scan.count, err);
    free(names);
    return code;
}

/* ---- Assemble ---- */

static int read_skeleton(struct update *u, struct store_txn *txn,
                         struct hash128 name, struct tree **ret,
                         struct err *err)
{
    struct tree *tree;
    int code = store_get_tree(txn, name, &tree, err);
    if (code)
        return code;
    struct tree *skeleton = assemble_skeleton(tree);
    tree_free(tree);
    skeletons_add(u->skeletons, name, skeleton);
    *ret = skeleton;
    return 0;
}

static int read_pieces(struct update *u, struct piece *pieces, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(u->store, &txn, err);
    if (code)
        return code;
    for (uint32_t i = 0; i < u->indexed_count && !code; i++) {
        const struct file *file = &u->files[u->indexed[i]];
        pieces[i] = (struct piece){
            file->path, skeletons_find(u->skeletons, file->tree), file->tree};
        if (!pieces[i].skeleton)
            code = read_skeleton(u, txn, file->tree, &pieces[i].skeleton, err);
    }
    store_end(txn);
    return code;
}

static int give_ids(struct update *u, struct store_txn *txn, struct err *err)
{
    struct tree *outline = u->outline;
    uint64_t needed = 0, next;
    for (uint32_t n = 0; n < outline->count; n++)
        needed += u->old_nodes[n] == TREE_NONE;
    int code = store_take_ids(txn, needed, &next, err);
    if (code)
        return code;
    for (uint32_t n = 0; n < outline->count; n++)
        if (u->old_nodes[n] == TREE_NONE)
            outline->nodes[n].id = next++;
    return 0;
}

static int build_outline(struct update *u, struct err *err)
{
    int code = step(u, INDEX_ASSEMBLE, 0, 1, err);
    if (code)
        return code;
    u->indexed = mem_alloc(u->scan.count * sizeof *u->indexed);
    for (uint32_t i = 0; i < u->scan.count; i++)
        if (u->files[i].state == FILE_INDEXED)
            u->indexed[u->indexed_count++] = i;
    struct piece *pieces = mem_alloc(u->indexed_count * sizeof *pieces);
    code = read_pieces(u, pieces, err);
    if (!code)
        code = assemble(u->manual.name, pieces, u->indexed_count,
                        !u->options->no_aliases, &u->outline, err);
    free(pieces);
    if (code)
        return code;
    u->old_nodes = mem_alloc(u->outline->count * sizeof *u->old_nodes);
    assemble_match(u->outline, u->old_outline, u->old_nodes);
    return 0;
}

/* ---- Postings ---- */

/* Content of nodes in file order: the tree read last is kept. */
struct tree_reader {
    struct store_txn *txn;
    struct hash128 name;
    struct tree *tree;
};

static int content_of(struct tree_reader *reader, struct hash128 name,
                      uint32_t node, const struct node **ret, struct err *err)
{
    if (!reader->tree || !hash_equal(reader->name, name)) {
        tree_free(reader->tree);
        reader->tree = NULL;
        int code = store_get_tree(reader->txn, name, &reader->tree, err);
        if (code)
            return code;
        reader->name = name;
    }
    if (node >= reader->tree->count)
        return err_set(err, ERR_STORE, "an outline does not fit its trees");
    *ret = &reader->tree->nodes[node];
    return 0;
}

/* Its postings are: an entry's words count otherwise than a section's. */
static bool is_same_node(const struct update *u, uint32_t n)
{
    if (u->old_nodes[n] == TREE_NONE)
        return false;
    const struct node *now = &u->outline->nodes[n],
                      *old = &u->old_outline->nodes[u->old_nodes[n]];
    return hash_equal(old->own, now->own) && old->entry == now->entry &&
           aliases_equal(old, now);
}

static int add_node(struct update *u, struct tree_reader *reader, uint32_t n,
                    struct err *err)
{
    struct node *node = &u->outline->nodes[n];
    const struct node *content = node; /* one that stands in no file */
    int code = 0;
    if (node->source_tree != TREE_NONE)
        code = content_of(reader, u->files[u->indexed[node->source_tree]].tree,
                          node->source_node, &content, err);
    if (code) {
        node->words = 0;
        return code;
    }
    struct node *kept = tree_node_kept(content, node);
    node->words = lexical_add_node(u->delta, u->outline, n, kept);
    free(kept);
    return 0;
}

/* The node's content as the old outline had it leaves the postings. */
static int remove_node(struct update *u, struct tree_reader *reader,
                       uint32_t old, struct err *err)
{
    const struct node *node = &u->old_outline->nodes[old], *content = node;
    int code = 0;
    if (node->source_tree != TREE_NONE) {
        struct slice path = u->old_outline->files[node->source_tree];
        const struct file *file = find_old(u, path.data);
        code = file ? content_of(reader, file->tree, node->source_node,
                                 &content, err)
                    : err_set(err, ERR_STORE, "the record of %s is missing",
                              path.data);
    }
    if (code)
        return code;
    struct node *kept = tree_node_kept(content, node);
    lexical_remove_node(u->delta, u->old_outline, old, kept);
    free(kept);
    return 0;
}

/* All nodes into a new epoch, in transactions nobody sees. */
static int rewrite_postings(struct update *u, struct err *err)
{
    struct store_txn *txn, *reading;
    int code = store_write(u->store, &txn, err);
    if (code)
        return code;
    code = store_take_epoch(txn, &u->epoch, err);
    if (!code)
        code = give_ids(u, txn, err);
    if (code) {
        store_end(txn);
        return code;
    }
    code = store_commit(txn, err);
    for (uint32_t n = 0; n < u->outline->count && !code;) {
        code = store_read(u->store, &reading, err);
        if (code)
            break;
        struct tree_reader reader = {.txn = reading};
        for (; n < u->outline->count && !code &&
               lexical_delta_size(u->delta) < BATCH_POSTINGS;
             n++) {
            code = add_node(u, &reader, n, err);
            if (!code && n % 512 == 0)
                code = step(u, INDEX_STORE, n, u->outline->count, err);
        }
        tree_free(reader.tree);
        store_end(reading);
        if (!code)
            code = store_write(u->store, &txn, err);
        if (code)
            break;
        code = lexical_apply(txn, u->manual.id, u->epoch, u->delta, err);
        if (code)
            store_end(txn);
        else
            code = store_commit(txn, err);
    }
    return code;
}

/* What changed, within the flipping transaction. */
static int change_postings(struct update *u, struct store_txn *txn,
                           struct err *err)
{
    bool *kept = mem_alloc(u->old_outline->count * sizeof *kept);
    struct tree_reader reader = {.txn = txn};
    int code = give_ids(u, txn, err);
    for (uint32_t n = 0; n < u->outline->count && !code; n++) {
        uint32_t old = u->old_nodes[n];
        if (!is_same_node(u, n)) {
            code = add_node(u, &reader, n, err);
            continue;
        }
        kept[old] = true;
        u->outline->nodes[n].words = u->old_outline->nodes[old].words;
    }
    for (uint32_t o = 0; o < u->old_outline->count && !code; o++)
        if (!kept[o])
            code = remove_node(u, &reader, o, err);
    tree_free(reader.tree);
    free(kept);
    return code ? code
                : lexical_apply(txn, u->manual.id, u->epoch, u->delta, err);
}

static bool much_changed(const struct update *u)
{
    if (!u->old_outline || u->manual.lexical != LEXICAL_VERSION ||
        u->options->force)
        return true;
    uint32_t same = 0, max = u->outline->count;
    if (u->old_outline->count > max)
        max = u->old_outline->count;
    for (uint32_t n = 0; n < u->outline->count; n++)
        same += is_same_node(u, n);
    return max - same > max / REWRITE_SHARE;
}

/* ---- Flip ---- */

static int write_files(struct update *u, struct store_txn *txn, struct err *err)
{
    int code = 0;
    size_t at = 0;
    for (size_t i = 0; i < u->old_file_count && !code; i++) {
        while (at < u->scan.count &&
               strcmp(u->files[at].path, u->old_files[i].path) < 0)
            at++;
        if (at == u->scan.count ||
            strcmp(u->files[at].path, u->old_files[i].path))
            code =
                store_delete_file(txn, u->manual.id, u->old_files[i].path, err);
    }
    for (size_t i = 0; i < u->scan.count && !code; i++)
        if (!u->keep_record[i])
            code = store_put_file(txn, u->manual.id, &u->files[i], err);
    return code;
}

static void count_up(struct update *u)
{
    struct manual *manual = &u->manual;
    manual->failed = manual->files = manual->not_followed = 0;
    for (size_t i = 0; i < u->scan.count; i++) {
        manual->failed += u->files[i].state == FILE_FAILED;
        manual->files += u->files[i].state == FILE_INDEXED;
        manual->not_followed += u->files[i].state == FILE_NOT_FOLLOWED;
    }
    manual->indexed_at = (int64_t)time(NULL);
    if (!u->outline)
        return;
    manual->nodes = u->outline->count;
    manual->words = 0;
    for (uint32_t n = 0; n < u->outline->count; n++)
        manual->words += u->outline->nodes[n].words;
}

/* The manual may have been taken away or renamed meanwhile. */
static int check_record(struct update *u, struct store_txn *txn,
                        struct err *err)
{
    struct manual now;
    int code = store_get_manual(txn, u->manual.id, &now, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, ERR_CANCELLED, "the manual was removed meanwhile");
    if (code)
        return code;
    bool same = !strcmp(now.root, u->manual.root) &&
                !strcmp(now.name, u->manual.name) &&
                now.all_links == u->manual.all_links &&
                now.generation == u->manual.generation;
    free(u->manual.ignore);
    u->manual.ignore = now.ignore;
    now.ignore = NULL;
    manual_free(&now);
    return same ? 0
                : err_set(err, ERR_CANCELLED,
                          "the manual was changed meanwhile");
}

static int flip(struct update *u, struct err *err)
{
    struct store_txn *txn;
    int code = store_write(u->store, &txn, err);
    if (code)
        return code;
    code = check_record(u, txn, err);
    if (!code && u->outline && !u->epoch) {
        u->epoch = u->manual.epoch;
        code = change_postings(u, txn, err);
    }
    if (!code)
        code = write_files(u, txn, err);
    count_up(u);
    if (u->outline) {
        u->manual.generation++;
        u->manual.epoch = u->epoch;
        u->manual.lexical = LEXICAL_VERSION;
        if (!code)
            code = store_put_outline(txn, u->manual.id, u->manual.generation,
                                     u->outline, err);
    }
    if (!code)
        code = store_forget_made(txn, u->manual.id, UNFINISHED_TREES, err);
    if (!code)
        code = store_put_manual(txn, &u->manual, err);
    if (code) {
        store_end(txn);
        return code;
    }
    return store_commit(txn, err);
}

static int make_generation(struct update *u, struct err *err)
{
    int code = build_outline(u, err);
    if (code)
        return code;
    u->delta = lexical_delta_new();
    if (much_changed(u))
        code = rewrite_postings(u, err);
    return code;
}

/* Nothing to write. */
static bool is_same(const struct update *u)
{
    bool same = !u->changed;
    for (size_t i = 0; i < u->scan.count; i++)
        same = same && u->keep_record[i];
    return same;
}

/* ---- All of it ---- */

static void update_free(struct update *u)
{
    for (size_t i = 0; i < u->old_file_count; i++)
        file_free(&u->old_files[i]);
    for (size_t i = 0; u->files && i < u->scan.count; i++)
        file_free(&u->files[i]);
    free(u->old_files);
    free(u->files);
    free(u->known);
    free(u->keep_record);
    free(u->indexed);
    free(u->old_nodes);
    scan_free(&u->scan);
    tree_free(u->outline);
    tree_free(u->old_outline);
    lexical_delta_free(u->delta);
    manual_free(&u->manual);
}

static int run(struct update *u, struct err *err)
{
    int code = read_old_outline(u, err);
    if (!code)
        code = scan(u, err);
    if (!code)
        code = parse(u, err);
    if (!code)
        code = prune_trees(u, err);
    if (!code && u->changed)
        code = make_generation(u, err);
    if (!code)
        code = step(u, INDEX_STORE, 1, 1, err);
    if (!code && !is_same(u))
        code = flip(u, err);
    return code;
}

int index_update(struct store *store, uint32_t manual,
                 const struct index_options *options, index_progress *progress,
                 void *context, const atomic_bool *cancel,
                 struct index_report *ret_report, struct err *err)
{
    double start = clock_seconds();
    struct index_report report = {0};
    struct update u = {.store = store,
                       .options = options,
                       .progress = progress,
                       .context = context,
                       .cancel = cancel,
                       .report = &report,
                       .skeletons = options->skeletons};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    u.started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    struct store_txn *txn;
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = store_get_manual(txn, manual, &u.manual, err);
    u.root = index_root(&u.manual);
    store_end(txn);
    if (!u.skeletons)
        u.skeletons = skeletons_new(0);
    if (!code && u.manual.root[0]) /* else its files are not here */
        code = run(&u, err);
    if (!code) {
        report.seen = u.manual.files + u.manual.failed;
        report.indexed = u.manual.files;
        report.failed = u.manual.failed;
        report.nodes = u.manual.nodes;
        report.tokens = u.manual.words;
        report.changed = u.changed;
        report.seconds = clock_seconds() - start;
        *ret_report = report;
    }
    skeletons_end_round(u.skeletons);
    if (!options->skeletons)
        skeletons_free(u.skeletons);
    update_free(&u);
    return code;
}
