#include "daemon/verbs/result.h"

#include <stdlib.h>

void result_node_id(struct json *json, const char *key, const struct view *view,
                    uint32_t node)
{
    char name[24];
    node_name(view->outline->nodes[node].id, name);
    json_field_text(json, key, name);
}

void result_path(struct json *json, const struct view *view, uint32_t node)
{
    size_t count;
    uint32_t *path = view_path(view, node, &count);
    json_key(json, "path");
    json_begin(json, '[');
    for (size_t i = 0; i < count; i++)
        json_string(json, view->outline->nodes[path[i]].title);
    json_end(json, ']');
    free(path);
}

void result_entry(struct json *json, const struct view *view, uint32_t node)
{
    if (view->outline->nodes[node].entry)
        json_field_bool(json, "entry", true);
}

void result_span(struct json *json, struct span span)
{
    json_begin(json, '[');
    json_int(json, (int64_t)span.from);
    json_int(json, (int64_t)span.to);
    json_end(json, ']');
}

void result_place(struct json *json, const struct view *view, uint32_t node)
{
    const struct node *n = &view->outline->nodes[node];
    const struct origin *origin = n->origin_count ? &n->origins[0] : NULL;
    if (origin)
        json_field_string(json, "file", view->outline->files[origin->file]);
    else
        json_field_null(json, "file");
    if (n->anchor.size)
        json_field_string(json, "anchor", n->anchor);
    else
        json_field_null(json, "anchor");
    json_key(json, "span");
    if (origin)
        result_span(json, origin->span);
    else
        json_null(json);
}

void result_children(struct json *json, const struct view *view, uint32_t node)
{
    const struct node *nodes = view->outline->nodes;
    int count = 0;
    if (nodes[node].words)
        return;
    json_key(json, "children");
    json_begin(json, '[');
    for (uint32_t n = node + 1;
         n < nodes[node].end && count < RESULT_MAX_CHILDREN; n = nodes[n].end) {
        json_begin(json, '{');
        result_node_id(json, "node", view, n);
        json_field_string(json, "title", nodes[n].title);
        json_end(json, '}');
        count++;
    }
    json_end(json, ']');
}

int call_node(const struct call *call, const struct snapshot *snapshot,
              const struct view **ret_view, uint32_t *ret_node, struct err *err)
{
    const char *name = json_get_text(call->params, "node", "");
    uint64_t id;
    if (!node_parse(name, &id))
        return err_set(err, ERR_USAGE,
                       "'%.100s' does not name a node; search "
                       "and toc print their names",
                       name);
    if (!snapshot_find(snapshot, id, ret_view, ret_node))
        return snapshot_check(snapshot, NULL, err)
                   ? ERR_STORE
                   : err_set(err, ERR_NOT_FOUND,
                             "there is no node %s (any more)", name);
    return 0;
}

void result_damaged(struct json *json, const struct snapshot *snapshot,
                    const char *name)
{
    if (!snapshot_damaged(snapshot, name))
        return;
    json_key(json, "damaged");
    json_begin(json, '[');
    for (size_t i = 0; i < snapshot->damaged_count; i++) {
        json_begin(json, '{');
        json_field_text(json, "manual", snapshot->damaged[i].name);
        json_field_text(json, "reason", snapshot->damaged[i].why);
        json_end(json, '}');
    }
    json_end(json, ']');
}

int call_manual(const struct call *call, const char *name,
                struct manual *ret_manual, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(call->daemon->store, &txn, err);
    if (code)
        return code;
    code = store_find_manual(txn, name, ret_manual, err);
    store_end(txn);
    if (code == ERR_NOT_FOUND)
        code = err_set(err, ERR_USAGE,
                       "no manual named %.200s is indexed; ls and toc list "
                       "those there are",
                       name);
    return code;
}

int call_view(const struct call *call, const struct snapshot *snapshot,
              const char *name, const struct view **ret_view, struct err *err)
{
    struct manual manual;
    *ret_view = snapshot_view(snapshot, name);
    if (*ret_view)
        return 0;
    int code = snapshot_check(snapshot, name, err);
    if (!code)
        code = call_manual(call, name, &manual, err);
    if (code)
        return code;
    manual_free(&manual);
    return err_set(err, ERR_NOT_FOUND,
                   "nothing of the manual '%.200s' is indexed yet", name);
}
