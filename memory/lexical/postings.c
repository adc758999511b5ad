/* Postings of a term, sorted by node id:
 *
 *   varint  node id - the one before (the first: from 0)
 *   varint  body << 6 | min(alias, 3) << 4 | min(defined, 3) << 2 |
 *           min(title, 3)
 *   ...
 *
 * where `body`, `title`, `defined` and `alias` count the term's occurrences in
 * all the text, in the title, among the terms that definitions define, and in
 * the names that the manual's index gives the node. */
#include <stdlib.h>
#include <string.h>

#include "memory/lexical/lexical.h"

enum field { FIELD_TITLE, FIELD_DEFINED, FIELD_ALIAS, FIELD_BODY, FIELDS };

struct posting {
    uint64_t id;
    uint32_t counts[FIELDS];
    bool gone; /* the id leaves the list */
    uint32_t order;
};

struct posting_list {
    uint32_t term, term_size; /* in delta->names */
    uint64_t hash;
    struct posting *items;
    size_t count, capacity;
};

struct lexical_delta {
    struct posting_list *lists;
    size_t count, capacity;
    uint32_t *slots;   /* open addressing: list index + 1, 0: free */
    size_t slot_count; /* a power of two */
    struct buf names;
    size_t postings;
    struct analyzer *maker;
    /* the node being added */
    uint64_t id;
    bool gone;
    enum field field;
    bool entry; /* it is a reference entry */
};

struct lexical_delta *lexical_delta_new(void)
{
    struct lexical_delta *delta = mem_alloc(sizeof *delta);
    delta->maker = analyzer_new();
    delta->slot_count = 1024;
    delta->slots = mem_alloc(delta->slot_count * sizeof *delta->slots);
    return delta;
}

static void empty(struct lexical_delta *delta)
{
    for (size_t i = 0; i < delta->count; i++)
        free(delta->lists[i].items);
    delta->count = 0;
    delta->postings = 0;
    buf_clear(&delta->names);
    memset(delta->slots, 0, delta->slot_count * sizeof *delta->slots);
}

void lexical_delta_free(struct lexical_delta *delta)
{
    if (!delta)
        return;
    empty(delta);
    free(delta->lists);
    free(delta->slots);
    buf_free(&delta->names);
    analyzer_free(delta->maker);
    free(delta);
}

size_t lexical_delta_size(const struct lexical_delta *delta)
{
    return delta->postings + delta->count;
}

static struct slice name_of(const struct lexical_delta *delta, size_t list)
{
    return (struct slice){delta->names.data + delta->lists[list].term,
                          delta->lists[list].term_size};
}

static void grow_slots(struct lexical_delta *delta)
{
    delta->slot_count *= 2;
    free(delta->slots);
    delta->slots = mem_alloc(delta->slot_count * sizeof *delta->slots);
    for (size_t i = 0; i < delta->count; i++) {
        size_t at = delta->lists[i].hash & (delta->slot_count - 1);
        while (delta->slots[at])
            at = (at + 1) & (delta->slot_count - 1);
        delta->slots[at] = (uint32_t)i + 1;
    }
}

static struct posting_list *list_of(struct lexical_delta *delta,
                                    struct slice term)
{
    uint64_t hash = hash_bytes64(term.data, term.size);
    if (delta->count * 2 >= delta->slot_count)
        grow_slots(delta);
    size_t at = hash & (delta->slot_count - 1);
    for (; delta->slots[at]; at = (at + 1) & (delta->slot_count - 1)) {
        size_t list = delta->slots[at] - 1;
        if (delta->lists[list].hash == hash &&
            slice_equal(name_of(delta, list), term))
            return &delta->lists[list];
    }
    MEM_RESERVE(delta->lists, &delta->capacity, delta->count + 1);
    delta->lists[delta->count] =
        (struct posting_list){.term = (uint32_t)delta->names.size,
                              .term_size = (uint32_t)term.size,
                              .hash = hash};
    buf_put_slice(&delta->names, term);
    delta->slots[at] = (uint32_t)++delta->count;
    return &delta->lists[delta->count - 1];
}

static void take_term(void *context, const struct term_at *at)
{
    struct lexical_delta *delta = context;
    struct posting_list *list = list_of(delta, at->term);
    struct posting *last = list->count ? &list->items[list->count - 1] : NULL;
    if (!last || last->id != delta->id || last->gone != delta->gone) {
        if (list->count == list->capacity) {
            list->capacity += list->capacity / 2 + 1;
            list->items = mem_resize(list->items, list->capacity, sizeof *last);
        }
        last = &list->items[list->count];
        *last = (struct posting){.id = delta->id,
                                 .gone = delta->gone,
                                 .order = (uint32_t)list->count++};
        delta->postings++;
    }
    bool within = delta->entry && delta->field == FIELD_TITLE && at->part;
    last->counts[within ? FIELD_DEFINED : delta->field]++;
}

/* The end of what names the subject of a table's row: its first cell, or the
 * first word of it where the cell goes on to explain. */
static size_t subject_size(struct slice row)
{
    enum { NAME = 40 };
    size_t cell = 0, word = 0;
    while (cell < row.size && row.data[cell] != '\t')
        cell++;
    while (word < cell && row.data[word] != ' ')
        word++;
    return cell <= NAME ? cell : word;
}

/* What a block of definitions defines: its lines that are not indented; what a
 * table is about: the subjects of its rows. */
static void take_defined(struct lexical_delta *delta, const struct block *block)
{
    struct slice text = block->text;
    delta->field = FIELD_DEFINED;
    for (size_t at = 0; at < text.size; at++) {
        size_t from = at;
        while (at < text.size && text.data[at] != '\n')
            at++;
        struct slice line = {text.data + from, at - from};
        if (block->kind == BLOCK_TABLE)
            line.size = subject_size(line);
        if (line.size && line.data[0] != ' ')
            analyze(delta->maker, line, take_term, delta);
    }
}

static uint32_t take_node(struct lexical_delta *delta, uint64_t id, bool gone,
                          const struct node *content)
{
    delta->id = id;
    delta->gone = gone;
    delta->entry = content->entry;
    delta->field = FIELD_TITLE;
    analyze(delta->maker, content->title, take_term, delta);
    size_t words = 0;
    for (uint32_t b = 0; b < content->block_count; b++) {
        const struct block *block = &content->blocks[b];
        if (block->kind == BLOCK_DEFINITION || block->kind == BLOCK_TABLE)
            take_defined(delta, block);
        delta->field = FIELD_BODY;
        words += analyze(delta->maker, block->text, take_term, delta);
    }
    return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

uint32_t lexical_add(struct lexical_delta *delta, uint64_t id,
                     const struct node *content)
{
    return take_node(delta, id, false, content);
}

void lexical_remove(struct lexical_delta *delta, uint64_t id,
                    const struct node *content)
{
    take_node(delta, id, true, content);
}

static void take_alias(struct lexical_delta *delta, uint64_t id, bool gone,
                       struct slice text)
{
    delta->id = id;
    delta->gone = gone;
    delta->field = FIELD_ALIAS;
    analyze(delta->maker, text, take_term, delta);
}

void lexical_add_alias(struct lexical_delta *delta, uint64_t id,
                       struct slice text)
{
    take_alias(delta, id, false, text);
}

void lexical_remove_alias(struct lexical_delta *delta, uint64_t id,
                          struct slice text)
{
    take_alias(delta, id, true, text);
}

/* By id; for one id first what leaves, then what comes. */
static int by_id(const void *a, const void *b)
{
    const struct posting *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->gone != y->gone)
        return x->gone ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static uint64_t few(uint32_t count)
{
    return count < 3 ? count : 3;
}

static uint64_t pack(const uint32_t counts[FIELDS])
{
    return (uint64_t)counts[FIELD_BODY] << 6 | few(counts[FIELD_ALIAS]) << 4 |
           few(counts[FIELD_DEFINED]) << 2 | few(counts[FIELD_TITLE]);
}

struct writer {
    struct buf *out;
    uint64_t last;
};

static void write_posting(struct writer *writer, uint64_t id, uint64_t packed)
{
    buf_put_varint(writer->out, id - writer->last);
    buf_put_varint(writer->out, packed);
    writer->last = id;
}

/* Nodes come in the order of their ids, most of the time. */
static bool ascends(const struct posting_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (by_id(&list->items[i - 1], &list->items[i]) > 0)
            return false;
    return true;
}

static void merge(struct slice old, struct posting_list *list, struct buf *out)
{
    struct reader in = reader_of(old.data, old.size);
    struct writer writer = {out, 0};
    uint64_t id = 0, packed = 0;
    bool have = false;
    if (!ascends(list))
        qsort(list->items, list->count, sizeof *list->items, by_id);
    for (size_t i = 0; i <= list->count; i++) {
        const struct posting *item = i < list->count ? &list->items[i] : NULL;
        for (;;) {
            if (!have && in.at < in.size && !in.failed) {
                id += read_varint(&in);
                packed = read_varint(&in);
                have = !in.failed;
            }
            if (!have || (item && id > item->id))
                break;
            have = false;
            if (!item || id < item->id)
                write_posting(&writer, id, packed);
        }
        if (item && !item->gone)
            write_posting(&writer, item->id, pack(item->counts));
    }
}

void lexical_each(const struct lexical_delta *delta, lexical_take *take,
                  void *context)
{
    for (size_t i = 0; i < delta->count; i++) {
        const struct posting_list *list = &delta->lists[i];
        for (size_t n = 0; n < list->count; n++)
            if (!list->items[n].gone)
                take(context, name_of(delta, i), list->items[n].id,
                     pack(list->items[n].counts));
    }
}

void lexical_forget(struct lexical_delta *delta)
{
    empty(delta);
}

bool lexical_read(struct slice term, struct slice postings, lexical_take *take,
                  void *context)
{
    struct reader in = reader_of(postings.data, postings.size);
    uint64_t id = 0;
    while (in.at < in.size) {
        uint64_t step = read_varint(&in), packed = read_varint(&in);
        if (in.failed || !step || !packed || id + step < id)
            return false;
        id += step;
        take(context, term, id, packed);
    }
    return postings.size;
}

/* A list by its term: what begins the term decides nearly always. */
struct named {
    uint64_t head; /* its first bytes, the first the highest */
    uint32_t list;
};

static uint64_t head_of(struct slice name)
{
    uint64_t head = 0;
    for (size_t i = 0; i < sizeof head; i++)
        head = head << 8 | (i < name.size ? (unsigned char)name.data[i] : 0u);
    return head;
}

static int by_name(const void *a, const void *b, void *context)
{
    const struct lexical_delta *delta = context;
    const struct named *one = a, *other = b;
    if (one->head != other->head)
        return one->head < other->head ? -1 : 1;
    return slice_compare(name_of(delta, one->list),
                         name_of(delta, other->list));
}

/* What has neither text nor a title is in no posting. */
static bool is_indexed(uint32_t n, const struct node *kept)
{
    return kept->block_count || (n && kept->title.size);
}

uint32_t lexical_add_node(struct lexical_delta *delta,
                          const struct tree *outline, uint32_t n,
                          const struct node *kept)
{
    const struct node *node = &outline->nodes[n];
    if (!is_indexed(n, kept))
        return 0;
    uint32_t words = lexical_add(delta, node->id, kept);
    for (uint32_t i = 0; i < node->alias_count; i++)
        lexical_add_alias(delta, node->id, node->aliases[i]);
    return kept->block_count && !words ? 1 : words;
}

void lexical_remove_node(struct lexical_delta *delta,
                         const struct tree *outline, uint32_t n,
                         const struct node *kept)
{
    const struct node *node = &outline->nodes[n];
    if (!is_indexed(n, kept))
        return;
    lexical_remove(delta, node->id, kept);
    for (uint32_t i = 0; i < node->alias_count; i++)
        lexical_remove_alias(delta, node->id, node->aliases[i]);
}

int lexical_apply(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                  struct lexical_delta *delta, struct err *err)
{
    struct named *order = mem_alloc(delta->count * sizeof *order);
    for (uint32_t i = 0; i < delta->count; i++)
        order[i] = (struct named){head_of(name_of(delta, i)), i};
    if (delta->count)
        qsort_r(order, delta->count, sizeof *order, by_name, delta);
    struct buf value = {0};
    int code = 0;
    for (size_t i = 0; i < delta->count && !code; i++) {
        struct slice name = name_of(delta, order[i].list), old;
        code = store_get_postings(txn, manual, epoch, name, &old, err);
        if (code)
            break;
        buf_clear(&value);
        merge(old, &delta->lists[order[i].list], &value);
        code = store_put_postings(txn, manual, epoch, name, buf_slice(&value),
                                  err);
    }
    buf_free(&value);
    free(order);
    empty(delta);
    return code;
}
