/* verify: is the store what it should be?  With `repair` what is damaged is
 * dropped, and the manuals concerned are made anew from their files. */
#include <stdlib.h>

#include "base/file.h"
#include "daemon/verbs/maintenance.h"
#include "daemon/engine/engine.h"
#include "daemon/jobs/jobs.h"
#include "daemon/verbs/result.h"
#include "indexer/parsers.h"
#include "indexer/source.h"
#include "memory/store/verify/store_verify.h"

enum {
    OPEN_MS = 30000,
    FREE_TRIES = 3 /* of a manual that changes; then its updates wait */
};

struct looking {
    struct call *call;
    struct verify_options options;
    struct embedder_facts facts;
    struct maintenance_progress progress;
    struct verify_report report;
    struct manual *manuals; /* [count] to be looked at */
    size_t *faults;         /* [count] */
    size_t count;
};

/* Without a model at hand memories are only looked at for themselves. */
static void take_facts(struct looking *l)
{
    struct engine *engine = l->call->daemon->engine;
    struct engine_embedder e;
    if (!engine_has_model(engine) || !engine_ready(engine, OPEN_MS))
        return;
    engine_embedder(engine, true, l->options.cancel, &e);
    if (!e.embedder.facts(&e, &l->facts, NULL))
        l->options.facts = &l->facts;
}

static int list_manuals(struct looking *l, struct err *err)
{
    const char *name = json_get_text(l->call->params, "manual", NULL);
    struct store_txn *txn;
    if (name) {
        l->manuals = mem_alloc(sizeof *l->manuals);
        int code = call_manual(l->call, name, l->manuals, err);
        l->count = !code;
        return code;
    }
    int code = store_read(l->call->daemon->store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, &l->manuals, &l->count, err);
    store_end(txn);
    return code;
}

static int look_held(struct looking *l, uint32_t manual, struct err *err)
{
    struct jobs *jobs = l->call->daemon->jobs;
    int code = jobs_hold(jobs, l->options.cancel, err);
    if (code)
        return code;
    code = verify_manual(&l->options, manual, &l->report, err);
    jobs_go_on(jobs);
    return code;
}

/* One that changes all the time is looked at while nothing may change it. */
static int look_at(struct looking *l, size_t i, struct err *err)
{
    size_t before = l->report.fault_count;
    int code = ERR_STALE;
    l->progress.manual = l->manuals[i].name;
    for (int tries = 0; tries < FREE_TRIES && code == ERR_STALE; tries++)
        code = verify_manual(&l->options, l->manuals[i].id, &l->report, err);
    if (code == ERR_STALE)
        code = look_held(l, l->manuals[i].id, err);
    l->faults[i] = l->report.fault_count - before;
    return code == ERR_NOT_FOUND ? 0 : code;
}

static void put_faults(struct json *json, const struct verify_report *report)
{
    json_key(json, "faults");
    json_begin(json, '[');
    for (size_t i = 0; i < report->described; i++) {
        const struct fault *fault = &report->faults[i];
        json_begin(json, '{');
        json_field_text(json, "table", fault->table);
        json_field_text(json, "manual", fault->manual);
        json_field_text(json, "place", fault->place);
        json_field_text(json, "what", fault->what);
        json_field_text(json, "remedy", fault->remedy);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_field_int(json, "fault_count", (int64_t)report->fault_count);
}

static void put_checked(struct json *json, const struct verify_report *report)
{
    json_key(json, "checked");
    json_begin(json, '{');
    json_field_int(json, "files", (int64_t)report->files);
    json_field_int(json, "trees", (int64_t)report->trees);
    json_field_int(json, "nodes", (int64_t)report->nodes);
    json_field_int(json, "terms", (int64_t)report->terms);
    json_field_int(json, "postings", (int64_t)report->postings);
    json_field_int(json, "segments", (int64_t)report->segments);
    json_field_int(json, "memories", (int64_t)report->memories);
    json_field_int(json, "vectors", (int64_t)report->vectors);
    json_field_bool(json, "by_model", report->by_model);
    json_end(json, '}');
}

static void put_manuals(struct json *json, const struct looking *l)
{
    json_key(json, "manuals");
    json_begin(json, '[');
    for (size_t i = 0; i < l->count; i++) {
        bool repairing = l->options.drop && l->faults[i];
        json_begin(json, '{');
        json_field_text(json, "name", l->manuals[i].name);
        json_field_int(json, "faults", (int64_t)l->faults[i]);
        json_field_bool(json, "repairing", repairing);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static int repair(struct looking *l, struct err *err)
{
    struct jobs *jobs = l->call->daemon->jobs;
    for (size_t i = 0; i < l->count; i++)
        if (l->faults[i])
            jobs_update(jobs, l->manuals[i].id, l->manuals[i].name, true);
    jobs_collect(jobs);
    return jobs_refresh(jobs, err);
}

static int look(struct looking *l, struct err *err)
{
    int code = list_manuals(l, err);
    if (code)
        return code;
    l->faults = mem_alloc(l->count * sizeof *l->faults);
    take_facts(l);
    if (!json_get_text(l->call->params, "manual", NULL))
        code = verify_store(&l->options, &l->report, err);
    for (size_t i = 0; i < l->count && !code; i++)
        code = look_at(l, i, err);
    if (!code && l->options.drop && l->report.fault_count)
        code = repair(l, err);
    return code;
}

int verb_verify(struct call *call, struct json *json, struct err *err)
{
    double start = clock_seconds();
    struct looking l = {.call = call,
                        .progress = {.call = call, .phase = "verify"}};
    l.options = (struct verify_options){
        .store = call->daemon->store,
        .library = call->daemon->library,
        .policy = call->daemon->policy,
        .is_tree = parsers_is_tree,
        .is_packed = source_is_gzipped,
        .drop = json_get_bool(call->params, "repair", false),
        .progress = maintenance_progress,
        .context = &l.progress,
        .cancel = &call->request->cancelled};
    int code = look(&l, err);
    if (!code) {
        json_begin(json, '{');
        put_manuals(json, &l);
        put_checked(json, &l.report);
        put_faults(json, &l.report);
        json_field_double(json, "seconds", clock_seconds() - start, 3);
        json_end(json, '}');
    }
    for (size_t i = 0; i < l.count; i++)
        manual_free(&l.manuals[i]);
    free(l.manuals);
    free(l.faults);
    verify_report_free(&l.report);
    return code;
}
