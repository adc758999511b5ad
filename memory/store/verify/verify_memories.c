/* Segments, memories and vectors of a manual.
 *
 * By a model's facts every name is known by hashing alone (plan.h), so what
 * there should be is compared with what there is.  Without them, and while the
 * vectors are of another generation or model than the present ones, what they
 * were made of must be there and be whole. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/q8.h"
#include "memory/embeddings/segment.h"
#include "memory/store/verify/verify_internal.h"

enum { NAMES_AT_ONCE = 2000 };

static void name_text(struct hash128 name, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)name.high,
             (unsigned long long)name.low);
}

static void doom_name(struct verification *v, int table, struct hash128 name)
{
    unsigned char key[16];
    hash_write(name, key);
    verify_doom(v, table, (struct slice){(const char *)key, sizeof key});
    v->drop_vectors = true;
}

/* ---- What should be ---- */

/* The vectors in the store are of this generation and of the model at hand. */
static bool are_current(struct verification *v, struct err *err)
{
    const struct verify_options *o = v->options;
    struct store_txn *txn;
    struct vector_table base = {0}, delta = {0};
    if (!o->facts || !v->view || store_read(o->store, &txn, err))
        return false;
    bool found = !vectors_heads(txn, v->manual.id, &base, &delta, err);
    const struct vector_table *newest = vectors_newest(&base, &delta);
    bool current =
        found && newest->generation == v->manual.generation &&
        hash_equal(newest->policy, memories_policy(&o->policy, o->facts));
    store_end(txn);
    vector_table_free(&base);
    vector_table_free(&delta);
    return current;
}

int verify_plan(struct verification *v, struct err *err)
{
    const struct verify_options *o = v->options;
    struct err ignored;
    if (!are_current(v, &ignored))
        return 0;
    v->build = (struct build){.snapshot = v->snapshot,
                              .view = v->view,
                              .facts = *o->facts,
                              .policy = memories_can(&o->policy, o->facts),
                              .cancel = o->cancel,
                              .only_look = true};
    v->report.by_model = true;
    return plan_make(&v->build, &v->plan, err);
}

/* ---- Segments ---- */

static bool fits(const struct segment *segment, const struct buf *text)
{
    return segment->to <= text->size && segment->from <= segment->to &&
           hash_equal(segment->text, hash_bytes(text->data + segment->from,
                                                segment->to - segment->from));
}

void verify_segments(struct verification *v, uint32_t node,
                     const struct node *content)
{
    if (!v->plan.nodes || node >= v->view->outline->count)
        return;
    const struct node_plan *plan = &v->plan.nodes[node];
    struct buf text = {0};
    bool fine = plan->segments.count;
    char place[128];
    segment_text(content, &text);
    for (size_t s = 0; s < plan->segments.count; s++)
        fine = fine && fits(&plan->segments.items[s], &text);
    buf_free(&text);
    v->report.segments += plan->segments.count;
    if (fine)
        return;
    verify_node_place(v, node, place);
    verify_fault(v, TABLE_SEGMENTS, REMEDY_REPAIR, place, "%s",
                 plan->segments.count ? "its segments are not those of its text"
                                      : "its segments are missing or damaged");
    doom_name(v, TABLE_SEGMENTS, plan->kept_under);
}

static bool lacks_segments(const struct verification *v)
{
    for (uint32_t n = 0; n < v->view->outline->count; n++)
        if (!v->plan.nodes[n].segments.count)
            return true;
    return false;
}

/* ---- What the vectors were made of ---- */

/* In a store of the model at hand all are of the model's width; else of that of
 * the first, and as its bytes may be of either version, of one that fits it. */
struct width {
    size_t values;  /* 0: not known */
    float *numbers; /* [values] */
    bool met;
    size_t may[2]; /* when not known: values that fit all so far; 0: none */
};

static struct width width_of(const struct verification *v,
                             const struct vector_table *table)
{
    struct width width = {0};
    if (v->plan.nodes)
        width.values = v->options->facts->width;
    else if (table->row_names)
        width.values = table->width;
    width.numbers = mem_alloc((width.values + 1) * sizeof(float));
    return width;
}

static bool has_width(size_t bytes, size_t values)
{
    return values && (bytes == q8_size(values) || bytes == 2 * values);
}

static void guess_width(struct width *width, size_t bytes)
{
    width->may[0] = bytes % 2 ? 0 : bytes / 2;
    for (size_t values = bytes; values && q8_size(values) >= bytes; values--)
        if (q8_size(values) == bytes)
            width->may[1] = values;
    width->met = width->may[0] || width->may[1];
}

static bool fits_others(struct width *width, size_t bytes)
{
    if (!width->met)
        guess_width(width, bytes);
    bool first = has_width(bytes, width->may[0]),
         second = has_width(bytes, width->may[1]);
    if (first || second) {
        width->may[0] = first ? width->may[0] : 0;
        width->may[1] = second ? width->may[1] : 0;
    }
    return first || second;
}

static void check_memory(struct verification *v, struct hash128 name,
                         struct slice value, struct width *width)
{
    char text[33];
    v->report.memories++;
    bool right = width->values ? has_width(value.size, width->values)
                               : fits_others(width, value.size);
    if (right &&
        (!width->values || memory_read(value, width->numbers, width->values)))
        return;
    name_text(name, text);
    verify_fault(v, TABLE_MEMORIES, REMEDY_REPAIR, text, "%s",
                 right ? "it holds what is no number"
                       : "it has another width than the others");
    doom_name(v, TABLE_MEMORIES, name);
}

static int check_name(struct verification *v, struct store_txn *txn,
                      struct hash128 name, struct width *width, struct err *err)
{
    unsigned char bytes[16];
    struct slice key = {(const char *)bytes, sizeof bytes}, value;
    struct segments segments;
    char text[33];
    hash_write(name, bytes);
    int code = table_get_lenient(txn, TABLE_MEMORIES, key, &value, err);
    if (!code) {
        check_memory(v, name, value, width);
        return 0;
    }
    if (code != ERR_NOT_FOUND)
        return code;
    code = table_get_lenient(txn, TABLE_SEGMENTS, key, &value, err);
    if (code && code != ERR_NOT_FOUND)
        return code;
    if (!code && !segments_decode(value, &segments, NULL)) {
        segments_free(&segments);
        return 0;
    }
    name_text(name, text);
    verify_fault(v, code ? TABLE_MEMORIES : TABLE_SEGMENTS, REMEDY_REPAIR, text,
                 "%s",
                 code ? "the vectors were made of it, and it is missing"
                      : "the segments of a node are damaged");
    if (code)
        v->drop_vectors = true;
    else
        doom_name(v, TABLE_SEGMENTS, name);
    return 0;
}

static int check_names(struct verification *v, const struct vector_table *table,
                       struct err *err)
{
    struct width width = width_of(v, table);
    int code = 0;
    for (uint32_t i = 0; i < table->name_count && !code;) {
        struct store_txn *txn;
        code = v->options->cancel && atomic_load(v->options->cancel)
                   ? err_set(err, ERR_CANCELLED, "cancelled")
                   : store_read(v->options->store, &txn, err);
        if (code)
            break;
        for (int n = 0; n < NAMES_AT_ONCE && i < table->name_count && !code;
             n++, i++)
            code = check_name(v, txn, table->names[i], &width, err);
        store_end(txn);
    }
    free(width.numbers);
    return code;
}

/* ---- Vectors ---- */

static void vectors_fault(struct verification *v, const char *what)
{
    verify_fault(v, TABLE_VECTORS, REMEDY_REPAIR, v->manual.name, "%s", what);
    v->drop_vectors = true;
}

/* What the tokenizer gives up on has a memory of zeros. */
static bool are_unit(const float *values, size_t count, size_t width)
{
    for (size_t i = 0; i < count; i++) {
        double square = 0;
        for (size_t k = 0; k < width; k++)
            square +=
                (double)values[i * width + k] * (double)values[i * width + k];
        if (square > 0 && !(fabs(square - 1) < 0.02))
            return false;
    }
    return true;
}

/* The row's key is the memory of that segment, if it is a memory. */
static bool is_named(const struct verification *v,
                     const struct vector_table *table, uint32_t row,
                     uint32_t node, size_t segment)
{
    const struct plan *plan = &v->plan;
    return !table->row_names ||
           hash_equal(table->names[table->row_names[row]],
                      plan->names[plan->nodes[node].first + segment]);
}

/* All that the plan names, and where there is no delta nothing else. */
static bool are_named(const struct verification *v,
                      const struct vector_table *table)
{
    uint32_t count, at = 0;
    struct hash128 *names =
        plan_names(&v->plan, v->view->outline->count, &count);
    for (uint32_t i = 0; i < table->name_count && at < count; i++)
        at += hash_equal(names[at], table->names[i]);
    free(names);
    return at == count && (v->has_delta || count == table->name_count);
}

/* Made by the model at hand, of this generation. */
static void compare_with_plan(struct verification *v,
                              const struct vector_table *table)
{
    const struct tree *outline = v->view->outline;
    uint32_t rows = 0;
    bool same = table->node_count == outline->count, named = true;
    if (lacks_segments(v))
        return; /* which was said; so the names are not known */
    for (uint32_t n = 0; n < outline->count && same; n++) {
        same = table->nodes[n] == outline->nodes[n].id;
        for (size_t s = 0;
             outline->nodes[n].words && s < v->plan.nodes[n].segments.count;
             s++, rows++) {
            same =
                same && rows < table->row_count && table->row_nodes[rows] == n;
            named = named && same && is_named(v, table, rows, n, s);
        }
    }
    if (!same || rows != table->row_count ||
        table->segments != v->plan.segments || table->tokens != v->plan.tokens)
        vectors_fault(v, "they are not of the nodes and segments that the "
                         "manual has");
    if (same && !named)
        vectors_fault(v, "a segment's key is another's memory");
    if (!are_named(v, table))
        vectors_fault(v, "they were made of other memories than the text "
                         "and the model give");
}

static void check_table(struct verification *v,
                        const struct vector_table *table)
{
    if (table->generation > v->manual.generation)
        vectors_fault(v, "they are of a generation that never was");
    if ((table->keys &&
         !are_unit(table->keys, table->row_count, table->width)) ||
        !are_unit(table->subtrees, table->node_count, table->width))
        vectors_fault(v, "some are not of unit length");
    if (v->plan.nodes)
        compare_with_plan(v, table);
}

/* What unfinished work has noted: nothing needs it, but for its form. */
static int check_making(void *context, struct slice key, struct slice value,
                        struct err *err)
{
    struct verification *v = context;
    (void)err;
    if (key.size == 13 && key.data[4] >= UNFINISHED_TREES &&
        key.data[4] <= UNFINISHED_MEMORIES && value.size &&
        value.size % 16 == 0)
        return 0;
    verify_fault(v, TABLE_UNFINISHED, REMEDY_REPAIR, v->manual.name,
                 "a list of what was being made is damaged");
    verify_doom(v, TABLE_UNFINISHED, key);
    return 0;
}

static int check_unfinished(struct verification *v, struct err *err)
{
    char key[4];
    key_u32(key, v->manual.id);
    return table_walk(v->options->store, TABLE_UNFINISHED,
                      (struct slice){key, sizeof key}, v->options->cancel,
                      check_making, v, err);
}

/* Of the nodes that there are, whose vectors are wanted. */
static uint64_t *ids_of(const struct verification *v, uint32_t *ret_count)
{
    const struct tree *outline = v->view ? v->view->outline : NULL;
    uint32_t count = outline ? outline->count : 0;
    uint64_t *ids = mem_alloc(count * sizeof *ids);
    for (uint32_t n = 0; n < count; n++)
        ids[n] = outline->nodes[n].id;
    *ret_count = count;
    return ids;
}

/* A manual of nothing but titles has vectors without rows. */
int verify_vectors(struct verification *v, struct err *err)
{
    struct store_txn *txn;
    struct slice delta;
    struct vector_table table = {0};
    int code = check_unfinished(v, err);
    if (!code)
        code = store_read(v->options->store, &txn, err);
    if (code)
        return code;
    uint32_t count;
    uint64_t *ids = ids_of(v, &count);
    v->has_delta = !store_get_vector_delta(txn, v->manual.id, &delta, NULL);
    code = vectors_read(txn, v->manual.id, ids, count, &table, err);
    store_end(txn);
    free(ids);
    bool damaged = code == ERR_FORMAT;
    if (code && code != ERR_NOT_FOUND && !damaged)
        return code;
    if (code == ERR_NOT_FOUND && v->has_delta)
        vectors_fault(v, "they lack the base of what changed since");
    code = damaged ? 0 : code;
    if ((code == ERR_NOT_FOUND) != !v->manual.vectors)
        vectors_fault(v, code ? "the manual has none, and counts some"
                              : "the manual counts none, and has some");
    if (damaged)
        vectors_fault(v, "they are damaged");
    if (code || damaged)
        return 0;
    v->report.vectors += table.row_count + table.node_count;
    check_table(v, &table);
    code = check_names(v, &table, err);
    vector_table_free(&table);
    return code;
}
