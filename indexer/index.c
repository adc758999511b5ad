/* One update of one manual, in five steps:
 *
 *   scan      the folder against the files' records: by stat what is surely
 *             unchanged is left alone
 *   parse     the rest, side by side; each tree is stored under the hash of
 *             its bytes as soon as it is there, so a crash costs a batch
 *   assemble  the files' trees into an outline; ids from the one before
 *   postings  what changed, or all of them in a new epoch when that is much
 *   flip      one short transaction: files, outline, the manual's record */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "indexer/index_internal.h"
#include "memory/lexical/lexical.h"

const char *index_phase_name(int phase)
{
    static const char *const names[] = {"scan", "parse", "assemble", "store"};
    return names[phase];
}

int update_step(const struct update *u, int phase, size_t done, size_t total,
                struct err *err)
{
    if (u->progress)
        u->progress(u->context, phase, done, total);
    if (u->cancel && atomic_load(u->cancel))
        return err_set(err, ERR_CANCELLED,
                       "stopped before the update was done");
    return 0;
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
    manual->indexed_at = u->started_ns / 1000000000;
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
        code = update_change_postings(u, txn, err);
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
    int code = update_build_outline(u, err);
    if (code)
        return code;
    u->delta = lexical_delta_new();
    if (update_much_changed(u))
        code = update_rewrite_postings(u, err);
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
    free(u->has_tree);
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
    int code = update_read_old_outline(u, err);
    if (!code)
        code = update_scan(u, err);
    if (!code)
        code = update_parse(u, err);
    if (!code)
        code = update_prune_trees(u, err);
    if (!code && u->changed)
        code = make_generation(u, err);
    if (!code)
        code = update_step(u, INDEX_STORE, 1, 1, err);
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
    u.started_ns = clock_nanoseconds(now);
    struct store_txn *txn;
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = store_get_manual(txn, manual, &u.manual, err);
    u.root = index_root(&u.manual);
    u.root.except = store_folder(store);
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
