#include "memory/store/verify/store_verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/store/verify/verify_internal.h"

/* ---- The report ---- */

static void fault_free(struct fault *fault)
{
    free(fault->manual);
    free(fault->place);
    free(fault->what);
    free(fault->remedy);
}

void verify_report_free(struct verify_report *report)
{
    for (size_t i = 0; i < report->described; i++)
        fault_free(&report->faults[i]);
    free(report->faults);
    *report = (struct verify_report){0};
}

static char *remedy_text(enum remedy remedy, const char *manual)
{
    struct buf text = {0};
    if (remedy == REMEDY_FORCE)
        buf_printf(&text, "lectern update --force -c %s", manual);
    else if (remedy == REMEDY_REPAIR && manual)
        buf_printf(&text, "lectern verify --repair -c %s", manual);
    else if (remedy == REMEDY_REPAIR || remedy == REMEDY_STORE)
        buf_put_text(&text, "lectern verify --repair");
    else if (remedy == REMEDY_COMPACT)
        buf_put_text(&text, "lectern compact");
    else
        buf_put_text(&text, "lectern verify --repair, then lectern add its "
                            "folder again");
    return text.data;
}

static char *text_of(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = mem_alloc((size > 0 ? (size_t)size : 0) + 1);
    vsnprintf(text, size > 0 ? (size_t)size + 1 : 1, format, args);
    return text;
}

void verify_fault(struct verification *v, int table, enum remedy remedy,
                  const char *place, const char *format, ...)
{
    struct verify_report *report = &v->report;
    if (report->fault_count++ >= MAX_FAULTS)
        return;
    if (!report->faults)
        report->faults = mem_alloc(MAX_FAULTS * sizeof *report->faults);
    va_list args;
    va_start(args, format);
    report->faults[report->described++] = (struct fault){
        .table = table_names[table],
        .manual = v->manual.name ? mem_strdup(v->manual.name) : NULL,
        .place = mem_strdup(place),
        .what = text_of(format, args),
        .remedy = remedy_text(remedy, v->manual.name)};
    va_end(args);
}

void verify_add_report(struct verify_report *to, struct verify_report *from)
{
    if (from->described && !to->faults)
        to->faults = mem_alloc(MAX_FAULTS * sizeof *to->faults);
    for (size_t i = 0; i < from->described; i++) {
        if (to->described < MAX_FAULTS)
            to->faults[to->described++] = from->faults[i];
        else
            fault_free(&from->faults[i]);
    }
    free(from->faults);
    to->fault_count += from->fault_count;
    to->manuals += from->manuals;
    to->files += from->files;
    to->trees += from->trees;
    to->nodes += from->nodes;
    to->terms += from->terms;
    to->postings += from->postings;
    to->segments += from->segments;
    to->memories += from->memories;
    to->vectors += from->vectors;
    to->by_model = to->by_model || from->by_model;
    *from = (struct verify_report){0};
}

void verify_doom(struct verification *v, int table, struct slice key)
{
    buf_put_varint(&v->doomed, (uint64_t)table);
    buf_put_string(&v->doomed, key);
}

int verify_drop_doomed(const struct verification *v, struct store_txn *txn,
                       struct err *err)
{
    struct reader in = reader_of(v->doomed.data, v->doomed.size);
    int code = 0;
    while (in.at < in.size && !code) {
        int table = (int)read_u32(&in);
        code = table_delete(txn, table, read_string(&in), err);
    }
    return code;
}

int verify_step(struct verification *v, struct err *err)
{
    const struct verify_options *o = v->options;
    v->done++;
    if (o->progress)
        o->progress(o->context, v->done, v->total);
    return o->cancel && atomic_load(o->cancel)
               ? err_set(err, ERR_CANCELLED, "cancelled")
               : 0;
}

void verify_node_place(const struct verification *v, uint32_t node,
                       char place[128])
{
    enum { SHOWN = 60 };
    const struct node *of = &v->outline->nodes[node];
    size_t shown = of->title.size <= SHOWN ? of->title.size
                                           : text_begin(of->title.data, SHOWN);
    snprintf(place, 128, "n%llu (%.*s)", (unsigned long long)of->id, (int)shown,
             of->title.data);
}

static int by_number(const void *a, const void *b)
{
    const struct verify_id *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

uint32_t verify_find(const struct verification *v, uint64_t id)
{
    struct verify_id key = {.id = id};
    const struct verify_id *found =
        bsearch(&key, v->by_id, v->outline->count, sizeof key, by_number);
    return found ? found->node : (uint32_t)TREE_NONE;
}

/* ---- A manual ---- */

static int read_record(struct verification *v, uint32_t manual, struct buf *ret,
                       struct err *err)
{
    struct store_txn *txn;
    struct slice value;
    char key[4];
    int code = store_read(v->options->store, &txn, err);
    if (code)
        return code;
    key_u32(key, manual);
    code = table_get_lenient(txn, TABLE_MANUALS, (struct slice){key, 4}, &value,
                             err);
    if (!code)
        buf_put_slice(ret, value);
    store_end(txn);
    return code == ERR_NOT_FOUND
               ? err_set(err, code, "the manual is not there any more")
               : code;
}

/* What was found is of one state of the manual only when that still stands. */
static int check_unchanged(struct verification *v, struct err *err)
{
    struct buf now = {0};
    int code = read_record(v, v->manual.id, &now, err);
    if (!code && !slice_equal(buf_slice(&now), buf_slice(&v->record)))
        code = err_set(err, ERR_STALE, "%s changed while it was verified",
                       v->manual.name);
    buf_free(&now);
    return code;
}

static int find_view(struct verification *v, struct err *err)
{
    for (size_t i = 0; i < v->snapshot->count; i++)
        if (v->snapshot->views[i]->manual.id == v->manual.id)
            v->view = v->snapshot->views[i];
    return v->view && v->view->manual.generation != v->manual.generation
               ? err_set(err, ERR_STALE, "%s has just changed", v->manual.name)
               : 0;
}

static void doom_outline(struct verification *v)
{
    char key[12];
    key_u32(key, v->manual.id);
    key_u64(key + 4, v->manual.generation);
    verify_doom(v, TABLE_OUTLINES, (struct slice){key, sizeof key});
}

static int read_outline(struct verification *v, struct err *err)
{
    struct store_txn *txn;
    struct err cause;
    int code = store_read(v->options->store, &txn, err);
    if (code)
        return code;
    code = store_get_outline(txn, v->manual.id, v->manual.generation,
                             &v->outline, &cause);
    store_end(txn);
    if (!code && !v->outline->outline) {
        tree_free(v->outline);
        v->outline = NULL;
        code = err_set(&cause, ERR_FORMAT, "it is the tree of a file");
    }
    if (!code)
        return 0;
    verify_fault(v, TABLE_OUTLINES, REMEDY_FORCE, v->manual.name, "%s",
                 cause.message);
    doom_outline(v);
    return 0;
}

/* The next outline takes its ids from this one: with ids that cannot be it must
 * go first.  Where the counter only lags behind, verify_store mends that. */
static void check_id(struct verification *v, uint32_t i, uint64_t next)
{
    uint64_t id = v->by_id[i].id;
    bool twice = i && id == v->by_id[i - 1].id;
    bool possible = !twice && id && id <= MAX_NODE_NUMBER;
    char place[128];
    if (possible && id < next)
        return;
    verify_node_place(v, v->by_id[i].node, place);
    verify_fault(v, TABLE_OUTLINES, possible ? REMEDY_STORE : REMEDY_REPAIR,
                 place,
                 twice ? "another node has its id" : "its id was never given");
    if (!possible)
        doom_outline(v);
}

static int check_ids(struct verification *v, struct err *err)
{
    struct store_txn *txn;
    const struct tree *outline = v->outline;
    uint64_t next;
    int code = store_read(v->options->store, &txn, err);
    if (code)
        return code;
    if (!verify_read_counter(txn, "next-node", &next))
        next = UINT64_MAX; /* which verify_store tells */
    store_end(txn);
    v->by_id = mem_alloc(outline->count * sizeof *v->by_id);
    for (uint32_t n = 0; n < outline->count; n++)
        v->by_id[n] = (struct verify_id){outline->nodes[n].id, n};
    qsort(v->by_id, outline->count, sizeof *v->by_id, by_number);
    for (uint32_t i = 0; i < outline->count; i++)
        check_id(v, i, next);
    return 0;
}

static int verify_all(struct verification *v, struct err *err)
{
    int code = read_outline(v, err);
    if (!code && v->outline) {
        v->kept = mem_alloc(v->outline->count * sizeof *v->kept);
        v->made = mem_alloc(v->outline->count * sizeof *v->made);
        v->total = v->outline->file_count;
        code = check_ids(v, err);
    }
    if (!code && v->outline)
        code = verify_plan(v, err);
    if (!code)
        code = verify_content(v, err);
    if (!code)
        code = verify_vectors(v, err);
    return code ? code : check_unchanged(v, err);
}

/* Damaged records go; vectors that name one do, too, so that they are made
 * again.  All of it only if the manual is still as it was looked at. */
static int drop(struct verification *v, struct err *err)
{
    struct store_txn *txn;
    struct slice now;
    char key[4];
    int code = store_write(v->options->store, &txn, err);
    if (code)
        return code;
    key_u32(key, v->manual.id);
    struct slice id = {key, sizeof key};
    code = table_get_lenient(txn, TABLE_MANUALS, id, &now, err);
    if (!code && !slice_equal(now, buf_slice(&v->record)))
        code = err_set(err, ERR_STALE, "%s changed while it was verified",
                       v->manual.name);
    if (!code)
        code = verify_drop_doomed(v, txn, err);
    if (!code && v->drop_vectors) {
        v->manual.vectors = 0;
        code = store_delete_vectors(txn, v->manual.id, err);
        if (!code)
            code = manual_write(txn, &v->manual, err);
    }
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

static void verification_free(struct verification *v)
{
    if (v->plan.nodes)
        plan_free(&v->plan, v->view);
    for (size_t i = 0; i < v->file_count; i++)
        file_free(&v->files[i]);
    free(v->files);
    free(v->file_of);
    free(v->by_id);
    free(v->kept);
    free(v->made);
    tree_free(v->outline);
    manual_free(&v->manual);
    buf_free(&v->record);
    buf_free(&v->doomed);
    snapshot_unref(v->snapshot);
    verify_report_free(&v->report);
}

int verify_manual(const struct verify_options *options, uint32_t manual,
                  struct verify_report *report, struct err *err)
{
    struct verification v = {.options = options};
    char key[4];
    key_u32(key, manual);
    v.snapshot = library_snapshot(options->library);
    int code = read_record(&v, manual, &v.record, err);
    if (!code)
        code = manual_read((struct slice){key, sizeof key},
                           buf_slice(&v.record), &v.manual, err);
    if (!code)
        code = find_view(&v, err);
    if (!code && v.manual.generation)
        code = verify_all(&v, err);
    if (!code && options->drop && v.report.fault_count)
        code = drop(&v, err);
    if (!code)
        verify_add_report(report, &v.report);
    verification_free(&v);
    return code;
}
