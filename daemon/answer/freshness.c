#include "daemon/answer/freshness.h"

#include <stdlib.h>

#include "daemon/answer/quote.h"
#include "daemon/engine/engine.h"
#include "daemon/fleet/fleet_look.h"
#include "daemon/jobs/jobs.h"
#include "daemon/verbs/selection.h"
#include "memory/vectors/vectors.h"

static bool has_memories(const struct view *view)
{
    return view->vectors &&
           vectors_generation(view->vectors) == view->manual.generation;
}

/* A manual that was never indexed is on no snapshot. */
static bool all_on_snapshot(const struct call *call,
                            const struct selection *selection,
                            const struct snapshot *snapshot)
{
    struct store_txn *txn;
    struct manual *manuals;
    size_t count;
    if (store_read(call->daemon->store, &txn, NULL))
        return false;
    bool result = !store_list_manuals(txn, &manuals, &count, NULL);
    store_end(txn);
    if (!result)
        return false;
    for (size_t i = 0; i < count; i++) {
        result = result && (!selection_has(selection, manuals[i].name) ||
                            snapshot_view(snapshot, manuals[i].name));
        manual_free(&manuals[i]);
    }
    free(manuals);
    return result;
}

struct freshness freshness_of(const struct call *call,
                              const struct snapshot *snapshot)
{
    struct daemon *daemon = call->daemon;
    struct selection selection = selection_of(call);
    const char *mode = json_get_text(call->params, "mode", "auto");
    bool by_memories =
        engine_has_model(daemon->engine) && strcmp(mode, "lexical") != 0;
    struct fleet_look look;
    fleet_look(daemon->config, &look);
    struct freshness fresh = {.current = !look.is_reader || look.is_fresh,
                              .complete =
                                  all_on_snapshot(call, &selection, snapshot),
                              .behind = look.is_reader && !look.is_fresh,
                              .behind_seconds = look.behind,
                              .elsewhere = look.elsewhere};
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct view *view = snapshot->views[i];
        if (!selection_has(&selection, view->manual.name))
            continue;
        fresh.current =
            fresh.current && jobs_is_current(daemon->jobs, view->manual.id);
        fresh.away = fresh.away || quote_is_away(view);
        fresh.complete = fresh.complete && !view->manual.failed &&
                         (!by_memories || has_memories(view));
    }
    return fresh;
}

void freshness_put(struct json *json, const struct freshness *freshness,
                   bool fresh)
{
    json_field_bool(json, "fresh", fresh && freshness->current);
    json_field_bool(json, "complete", freshness->complete);
    if (freshness->away)
        json_field_bool(json, "away", true);
    if (freshness->behind && freshness->behind_seconds < 0)
        json_field_null(json, "behind");
    else if (freshness->behind)
        json_field_int(json, "behind", freshness->behind_seconds);
    if (freshness->elsewhere)
        json_field_int(json, "elsewhere", freshness->elsewhere);
}

bool freshness_of_node(const struct view *view, uint32_t node)
{
    const struct node *n = &view->outline->nodes[node];
    return !n->origin_count || quote_is_fresh(view, n->origins[0].file);
}
