/* Pieces that the results of several verbs have in common. */
#ifndef DAEMON_VERBS_RESULT_H
#define DAEMON_VERBS_RESULT_H

#include "base/json.h"
#include "daemon/verbs/verbs.h"

void result_node_id(struct json *json, const char *key, const struct view *view,
                    uint32_t node);

/* "path": titles from the top to the node. */
void result_path(struct json *json, const struct view *view, uint32_t node);

/* "entry": true, when the node is a reference entry. */
void result_entry(struct json *json, const struct view *view, uint32_t node);

/* "file", "anchor" and "span" of the node's first origin; null where there is
 * none. */
void result_place(struct json *json, const struct view *view, uint32_t node);

/* [from,to] as one value. */
void result_span(struct json *json, struct span span);

/* The node that the parameter `node` names.  ERR_USAGE: no name of a node,
 * ERR_NOT_FOUND: no such node; ERR_STORE: it may be a damaged manual's. */
int call_node(const struct call *call, const struct snapshot *snapshot,
              const struct view **ret_view, uint32_t *ret_node,
              struct err *err);

/* "damaged": the manuals that are missing because they cannot be read; no member
 * where none is, or none of those that `name` (NULL: any) means. */
void result_damaged(struct json *json, const struct snapshot *snapshot,
                    const char *name);

/* ERR_NOT_FOUND: no manual of that name, or nothing of it is indexed yet;
 * ERR_STORE: it is damaged. */
int call_view(const struct call *call, const struct snapshot *snapshot,
              const char *name, const struct view **ret_view, struct err *err);

/* ERR_USAGE with the manual's name: there is none so called. */
int call_manual(const struct call *call, const char *name,
                struct manual *ret_manual, struct err *err);

/* "children": what a section without text of its own is divided into, {node, title},
 * the first RESULT_MAX_CHILDREN; nothing of one that has text. */
enum { RESULT_MAX_CHILDREN = 100 };
void result_children(struct json *json, const struct view *view, uint32_t node);

#endif
