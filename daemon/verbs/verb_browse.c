/* Reading a manual: its table of contents, a section, where a section is. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "base/url.h"
#include "daemon/answer/freshness.h"
#include "daemon/answer/quote.h"
#include "daemon/jobs/jobs.h"
#include "daemon/verbs/boilerplate_again.h"
#include "daemon/verbs/result.h"
#include "indexer/index.h"
#include "memory/snapshot/content.h"

enum {
    MAX_LEVELS = 28, /* a level nests twice; JSON_MAX_DEPTH binds readers */
    OPEN_WORDS = 10, /* of the text, to find a place without an anchor */
    MAX_FILE = 1 << 30
};

/* ---- toc ---- */

static void put_origins(struct json *json, const struct view *view,
                        const struct node *node)
{
    json_key(json, "origins");
    json_begin(json, '[');
    for (uint32_t i = 0; i < node->origin_count; i++) {
        const struct origin *origin = &node->origins[i];
        json_begin(json, '{');
        json_field_string(json, "file", view->outline->files[origin->file]);
        json_key(json, "span");
        result_span(json, origin->span);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* What toc and get say of a node, as members of the object that was begun. */
static void put_node(struct json *json, const struct view *view, uint32_t node)
{
    const struct node *n = &view->outline->nodes[node];
    result_node_id(json, "id", view, node);
    json_field_string(json, "title", n->title);
    json_field_int(json, "level", tree_depth(view->outline, node));
    result_place(json, view, node);
    result_entry(json, view, node);
    put_origins(json, view, n);
}

/* Of the topmost node that is shown: what of the manual it is from. */
static void put_version(struct json *json, const struct call *call,
                        const struct view *view)
{
    json_field_text(json, "manual", view->manual.name);
    json_field_int(json, "generation", (int64_t)view->manual.generation);
    json_field_bool(json, "fresh",
                    !quote_is_away(view) &&
                        jobs_is_current(call->daemon->jobs, view->manual.id));
}

/* The node and `depth` levels below it. */
static void put_branch(struct json *json, const struct call *call,
                       const struct view *view, uint32_t node, int64_t depth)
{
    const struct node *nodes = view->outline->nodes;
    uint32_t open[MAX_LEVELS + 1]; /* the node's chain, whose "children" */
    uint32_t opened = 0;           /* are being written */
    int64_t levels = depth < MAX_LEVELS ? depth : MAX_LEVELS;
    for (uint32_t n = node; n < nodes[node].end;) {
        while (opened && nodes[open[opened - 1]].end <= n) {
            json_end(json, ']');
            json_end(json, '}');
            opened--;
        }
        bool last = opened == levels;
        json_begin(json, '{');
        put_node(json, view, n);
        if (n == node)
            put_version(json, call, view);
        if (last && nodes[n].end > n + 1)
            json_field_bool(json, "cut", true);
        json_key(json, "children");
        json_begin(json, '[');
        open[opened++] = n;
        n = last ? nodes[n].end : n + 1;
    }
    for (; opened; opened--) {
        json_end(json, ']');
        json_end(json, '}');
    }
}

/* Several manuals: their roots under one that belongs to none. */
static void put_all(struct json *json, const struct call *call,
                    const struct snapshot *snapshot, int64_t depth)
{
    json_begin(json, '{');
    json_field_text(json, "id", "");
    json_field_text(json, "title", "");
    json_field_int(json, "level", 0);
    json_field_null(json, "file");
    json_field_null(json, "anchor");
    json_field_null(json, "span");
    json_key(json, "origins");
    json_begin(json, '[');
    json_end(json, ']');
    struct freshness fresh = freshness_of(call, snapshot);
    json_field_bool(json, "fresh", fresh.current && !fresh.away);
    json_key(json, "children");
    json_begin(json, '[');
    for (size_t i = 0; i < snapshot->count && depth > 0; i++)
        put_branch(json, call, snapshot->views[i], 0, depth - 1);
    json_end(json, ']');
    result_damaged(json, snapshot, NULL);
    json_end(json, '}');
}

/* A section is one of the manual that is named, if one is. */
static int toc_node(const struct call *call, const struct snapshot *snapshot,
                    const char *name, const struct view **ret_view,
                    uint32_t *ret_node, struct err *err)
{
    const struct view *named = NULL;
    int code = call_node(call, snapshot, ret_view, ret_node, err);
    if (!code && name)
        code = call_view(call, snapshot, name, &named, err);
    if (!code && named && named != *ret_view)
        code = err_set(err, ERR_USAGE, "%s is a section of %s, not of %s",
                       json_get_text(call->params, "node", ""),
                       (*ret_view)->manual.name, name);
    return code;
}

static int put_toc(const struct call *call, const struct snapshot *snapshot,
                   struct json *json, struct err *err)
{
    const char *name = json_get_text(call->params, "manual", NULL);
    int64_t depth = json_get_int(call->params, "depth", INT32_MAX);
    const struct view *view = NULL;
    uint32_t node = 0;
    int code = 0;
    if (json_get_text(call->params, "node", NULL))
        code = toc_node(call, snapshot, name, &view, &node, err);
    else if (name)
        code = call_view(call, snapshot, name, &view, err);
    else if (!snapshot->count)
        code = snapshot_check(snapshot, NULL, err)
                   ? ERR_STORE
                   : err_set(err, ERR_NOT_FOUND,
                             "no manual is indexed yet: lectern add DIR");
    else if (snapshot->count == 1 && !snapshot->damaged_count)
        view = snapshot->views[0];
    if (code)
        return code;
    if (view)
        put_branch(json, call, view, node, depth);
    else
        put_all(json, call, snapshot, depth);
    return 0;
}

int verb_toc(struct call *call, struct json *json, struct err *err)
{
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    int code = put_toc(call, snapshot, json, err);
    snapshot_unref(snapshot);
    return code;
}

/* ---- get ---- */

static void put_blocks(struct json *json, const struct view *view,
                       uint32_t number, const struct content *content)
{
    const struct node *node = content->node;
    json_key(json, "blocks");
    json_begin(json, '[');
    for (uint32_t i = 0; node && i < node->block_count; i++) {
        const struct block *block = &node->blocks[i];
        json_begin(json, '{');
        json_field_text(json, "kind", block_kind_name(block->kind));
        if (block->info.size)
            json_field_string(json, "info", block->info);
        json_field_string(json, "text", block->text);
        uint32_t file = content_file(content, view, number, block);
        json_field_string(json, "file", view->outline->files[file]);
        json_key(json, "span");
        result_span(json, block->origin.span);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_refs(struct json *json, const struct view *view, uint32_t node,
                     const struct node *content)
{
    json_key(json, "refs");
    json_begin(json, '[');
    for (uint32_t i = 0; content && i < content->ref_count; i++) {
        const struct ref *ref = &content->refs[i];
        uint32_t target = view_follow(view, node, ref->url);
        json_begin(json, '{');
        json_field_string(json, "text", ref->text);
        if (target == TREE_NONE)
            json_field_null(json, "node");
        else
            result_node_id(json, "node", view, target);
        json_field_string(json, "url", ref->url);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* The ids of what "path" has the titles of. */
static void put_path_nodes(struct json *json, const struct view *view,
                           uint32_t node)
{
    size_t count;
    uint32_t *path = view_path(view, node, &count);
    char name[24];
    json_key(json, "path_nodes");
    json_begin(json, '[');
    for (size_t i = 0; i < count; i++) {
        node_name(view->outline->nodes[path[i]].id, name);
        json_text(json, name);
    }
    json_end(json, ']');
    free(path);
}

static void put_aliases(struct json *json, const struct node *node)
{
    json_key(json, "aliases");
    json_begin(json, '[');
    for (uint32_t i = 0; i < node->alias_count; i++)
        json_string(json, node->aliases[i]);
    json_end(json, ']');
}

static void put_dropped(struct json *json, const struct view *view,
                        uint32_t file, const struct boilerplate *boilerplate)
{
    json_key(json, "dropped");
    json_begin(json, '[');
    for (size_t i = 0; i < boilerplate->count; i++) {
        const struct boilerplate_text *text = &boilerplate->texts[i];
        json_begin(json, '{');
        json_field_string(json, "reason", text->reason);
        json_field_string(json, "text", text->text);
        json_field_string(json, "file", view->outline->files[file]);
        json_key(json, "span");
        result_span(json, text->span);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static int put_section(const struct call *call, const struct snapshot *snapshot,
                       struct json *json, struct err *err)
{
    const struct view *view;
    struct content content;
    struct boilerplate boilerplate = {0};
    uint32_t node;
    bool all = json_get_bool(call->params, "all", false);
    int code = call_node(call, snapshot, &view, &node, err);
    if (!code && all)
        code = boilerplate_read(call, view, node, &boilerplate, err);
    if (code)
        return code;
    code = content_open(snapshot, view, node, &content, err);
    if (code && code != ERR_NOT_FOUND) {
        boilerplate_free(&boilerplate);
        return code;
    }
    json_begin(json, '{');
    put_node(json, view, node);
    json_field_text(json, "manual", view->manual.name);
    json_field_int(json, "generation", (int64_t)view->manual.generation);
    json_field_bool(json, "fresh", freshness_of_node(view, node));
    result_path(json, view, node);
    put_path_nodes(json, view, node);
    put_blocks(json, view, node, &content);
    put_refs(json, view, node, content.node);
    put_aliases(json, &view->outline->nodes[node]);
    result_children(json, view, node);
    if (all)
        put_dropped(json, view, view->outline->nodes[node].source_tree,
                    &boilerplate);
    json_end(json, '}');
    boilerplate_free(&boilerplate);
    content_close(&content);
    return 0;
}

int verb_get(struct call *call, struct json *json, struct err *err)
{
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    int code = put_section(call, snapshot, json, err);
    snapshot_unref(snapshot);
    return code;
}

/* ---- open ---- */

/* 1 + the line ends before `offset`; 0 when the file cannot be read. */
static int64_t line_at(const struct source_root *root, const char *path,
                       uint64_t offset)
{
    struct buf start = {0};
    if (offset > MAX_FILE ||
        source_read_span(root, path, 0, offset, &start, NULL))
        return 0;
    int64_t line = 1;
    const char *at = start.data, *end = start.data + start.size;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        line++;
        at++;
    }
    buf_free(&start);
    return line;
}

static void first_words(struct slice text, struct buf *ret)
{
    text_fold_space(ret, text);
    int words = 0;
    for (size_t i = 0; i < ret->size; i++) {
        if (ret->data[i] == ' ' && ++words == OPEN_WORDS) {
            ret->size = i;
            return;
        }
    }
}

static void put_words(struct json *json, const struct snapshot *snapshot,
                      const struct view *view, uint32_t node)
{
    struct content content;
    struct buf words = {0};
    if (!content_open(snapshot, view, node, &content, NULL)) {
        if (content.node->block_count)
            first_words(content.node->blocks[0].text, &words);
        content_close(&content);
    }
    json_field_string(json, "text", buf_slice(&words));
    buf_free(&words);
}

/* Neither a link that has taken the file's place is handed out, nor what is gone. */
static int check_place(const struct source_root *root, const char *path,
                       struct err *err)
{
    char real[PATH_MAX];
    bool there = realpath(path, real);
    if (!there && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_STALE,
                       "%s is gone: lectern update, or where its folder has "
                       "moved, lectern add FOLDER -c NAME",
                       path);
    bool within = !there || source_is_within(root, real);
    return within ? 0
                  : err_set(err, ERR_STALE, "%s: " SOURCE_NOT_FOLLOWED, path);
}

/* JSON cannot say what is not UTF-8. */
static void put_bytes(struct json *json, struct slice path)
{
    struct buf encoded = {0};
    if (text_is_utf8(path.data, path.size))
        return;
    url_put_encoded(&encoded, path, "/._~-");
    json_field_string(json, "file_encoded", buf_slice(&encoded));
    buf_free(&encoded);
}

/* A place in the files of a manual, and the node whose anchor and words it has. */
struct place {
    uint32_t node, file;
    uint64_t offset;
};

/* A node without a place of its own: where its content begins. */
static int own_place(const struct tree *outline, uint32_t node,
                     struct place *ret, struct err *err)
{
    uint32_t at = node;
    while (at < outline->nodes[node].end && !outline->nodes[at].origin_count)
        at++;
    if (at == outline->nodes[node].end)
        return err_set(err, ERR_NOT_FOUND, "the node has no place in a file");
    const struct origin *origin = &outline->nodes[at].origins[0];
    *ret = (struct place){at, origin->file, origin->span.from};
    return 0;
}

/* A citation's own place, which may be in a file that the section's includes.
 * One that the manual no longer has leaves the section's. */
static void cited_place(const struct tree *outline, const cJSON *params,
                        struct place *place)
{
    const char *file = json_get_text(params, "file", NULL);
    for (uint32_t i = 0; file && i < outline->file_count; i++)
        if (slice_is(outline->files[i], file)) {
            place->file = i;
            place->offset = (uint64_t)json_get_int(params, "at", 0);
            return;
        }
}

static bool is_source(const struct tree *outline, uint32_t node)
{
    uint32_t file = outline->nodes[node].origins[0].file;
    return source_format(outline->files[file].data) == PARSER_LATEX;
}

static void put_anchor(struct json *json, const struct node *node,
                       const struct place *place)
{
    bool there = node->anchor.size && node->origins[0].file == place->file;
    if (there)
        json_field_string(json, "anchor", node->anchor);
    else
        json_field_null(json, "anchor");
}

static int put_place(const struct call *call, const struct snapshot *snapshot,
                     struct json *json, struct err *err)
{
    const struct view *view;
    struct place place = {0};
    uint32_t node;
    int code = call_node(call, snapshot, &view, &node, err);
    if (!code)
        code = own_place(view->outline, node, &place, err);
    if (code)
        return code;
    if (quote_is_away(view))
        return err_set(err, ERR_STALE,
                       "the files of %s are not here: it was unpacked without "
                       "them (lectern unpack --dir)",
                       view->manual.name);
    cited_place(view->outline, call->params, &place);
    struct buf path = {0};
    struct source_root root = index_root(&view->manual);
    file_join(&path, root.path, view->outline->files[place.file].data);
    code = check_place(&root, path.data, err);
    if (code) {
        buf_free(&path);
        return code;
    }
    json_begin(json, '{');
    json_field_string(json, "file", buf_slice(&path));
    put_bytes(json, buf_slice(&path));
    json_field_text(json, "root", root.path);
    put_anchor(json, &view->outline->nodes[place.node], &place);
    put_words(json, snapshot, view, place.node);
    json_field_int(json, "line", line_at(&root, path.data, place.offset));
    /* A source is read in an editor, not in a browser; so is what it includes. */
    json_field_bool(json, "source", is_source(view->outline, place.node));
    json_end(json, '}');
    buf_free(&path);
    return 0;
}

int verb_open(struct call *call, struct json *json, struct err *err)
{
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    int code = put_place(call, snapshot, json, err);
    snapshot_unref(snapshot);
    return code;
}
