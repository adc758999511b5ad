#include "daemon/fleet/merge_results.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const double least_confidence = 0.001;

struct candidate {
    cJSON *hit;
    const struct other_reader *reader; /* NULL: this daemon */
    double counts;
    size_t order;
};

struct candidates {
    struct candidate *items; /* [count] */
    size_t count, capacity;
};

static void set(cJSON *object, const char *key, cJSON *value)
{
    if (cJSON_GetObjectItemCaseSensitive(object, key))
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, value);
    else
        cJSON_AddItemToObject(object, key, value);
}

static int by_worth(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;
    if (a->counts > b->counts || a->counts < b->counts)
        return a->counts > b->counts ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static bool is_taken(const struct candidates *list,
                     const struct other_reader *reader, const char *manual)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].reader && list->items[i].reader != reader &&
            !strcmp(json_get_text(list->items[i].hit, "manual", ""), manual))
            return true;
    return false;
}

double merge_confidence(const cJSON *result)
{
    double confidence = json_get_double(result, "confidence", 0);
    return confidence > 1 ? 1 : confidence > 0 ? confidence : 0;
}

/* Removes the members of that name behind the first `kept`: who reads JSON may take the
 * last of a name where this daemon has checked the first. */
static void remove_members(cJSON *object, const char *key, int kept)
{
    for (cJSON *one = object ? object->child : NULL, *next; one; one = next) {
        next = one->next;
        if (one->string && !strcmp(one->string, key) && kept-- <= 0)
            cJSON_Delete(cJSON_DetachItemViaPointer(object, one));
    }
}

static void label(cJSON *object, const char *name)
{
    remove_members(object, "reader", 0);
    remove_members(object, "manual", 1);
    if (name && cJSON_IsObject(object))
        cJSON_AddStringToObject(object, "reader", name);
}

void merge_label(cJSON *result, const struct other_reader *reader)
{
    static const char *const lists[] = {"results", "citations"};
    cJSON *place;
    label(result, reader->name);
    remove_members(result, "card", 1);
    remove_members(cJSON_GetObjectItemCaseSensitive(result, "card"), "manual",
                   1);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        remove_members(result, lists[i], 1);
        cJSON_ArrayForEach (place,
                            cJSON_GetObjectItemCaseSensitive(result, lists[i]))
            label(place, reader->name);
    }
    if (cJSON_GetObjectItemCaseSensitive(result, "confidence"))
        set(result, "confidence", cJSON_CreateNumber(merge_confidence(result)));
}

/* Takes the hits out of `result`, the first `max`; those that are not wanted keep their
 * ranks. */
static void take(struct candidates *list, cJSON *result, size_t max,
                 const struct other_reader *reader, merge_holds *holds,
                 void *context)
{
    cJSON *hits = cJSON_GetObjectItemCaseSensitive(result, "results"), *hit;
    double confidence = merge_confidence(result);
    for (double rank = 1;
         rank <= (double)max && (hit = cJSON_DetachItemFromArray(hits, 0));
         rank++) {
        const char *manual = json_get_text(hit, "manual", "");
        if (reader && (!cJSON_IsObject(hit) || holds(context, manual) ||
                       is_taken(list, reader, manual))) {
            cJSON_Delete(hit);
            continue;
        }
        label(hit, reader ? reader->name : NULL);
        MEM_RESERVE(list->items, &list->capacity, list->count + 1);
        list->items[list->count] = (struct candidate){
            hit, reader,
            (confidence > least_confidence ? confidence : least_confidence) /
                rank,
            list->count};
        list->count++;
    }
}

/* The longer of both; null where neither is known. */
static void join_behind(cJSON *result, const cJSON *other)
{
    double here = json_get_double(result, "behind", -1);
    double there = json_get_double(other, "behind", -1);
    if (!cJSON_GetObjectItemCaseSensitive(other, "behind") ||
        json_get_bool(other, "fresh", true))
        return;
    if (there > here)
        set(result, "behind", cJSON_CreateNumber(there));
    else if (here < 0)
        set(result, "behind", cJSON_CreateNull());
}

/* A phrase that another has stands somewhere. */
static void join_nowhere(cJSON *result, const cJSON *other)
{
    cJSON *mine = cJSON_GetObjectItemCaseSensitive(result, "nowhere");
    const cJSON *theirs = cJSON_GetObjectItemCaseSensitive(other, "nowhere");
    for (int i = cJSON_GetArraySize(mine) - 1; i >= 0; i--) {
        const cJSON *phrase = cJSON_GetArrayItem(mine, i);
        if (!cJSON_IsString(phrase) ||
            !json_has_text(theirs, phrase->valuestring))
            cJSON_DeleteItemFromArray(mine, i);
    }
    if (!cJSON_GetArraySize(mine))
        cJSON_DeleteItemFromObjectCaseSensitive(result, "nowhere");
}

static void join(cJSON *result, const cJSON *other)
{
    double here = merge_confidence(result), there = merge_confidence(other);
    bool fresh = json_get_bool(result, "fresh", true) &&
                 json_get_bool(other, "fresh", true);
    bool complete = json_get_bool(result, "complete", true) &&
                    json_get_bool(other, "complete", true);
    bool confident = json_get_bool(result, "confident", false) ||
                     json_get_bool(other, "confident", false);
    set(result, "searched",
        cJSON_CreateNumber(json_get_double(result, "searched", 0) +
                           json_get_double(other, "searched", 0)));
    set(result, "confidence", cJSON_CreateNumber(here > there ? here : there));
    set(result, "confident", cJSON_CreateBool(confident));
    set(result, "fresh", cJSON_CreateBool(fresh));
    set(result, "complete", cJSON_CreateBool(complete));
    if (json_get_bool(other, "away", false))
        set(result, "away", cJSON_CreateTrue());
    join_behind(result, other);
}

void merge_put_readers(cJSON *result, const struct reader_answer *answers,
                       size_t count)
{
    cJSON *readers = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", answers[i].reader->name);
        if (answers[i].result) {
            join_nowhere(result, answers[i].result);
            cJSON_AddNumberToObject(
                one, "searched",
                json_get_double(answers[i].result, "searched", 0));
        } else {
            set(result, "complete", cJSON_CreateFalse());
            cJSON_AddStringToObject(one, "problem", answers[i].err.message);
        }
        cJSON_AddItemToArray(readers, one);
    }
    set(result, "readers", readers);
}

void merge_results(cJSON *result, struct reader_answer *answers, size_t count,
                   size_t max, merge_holds *holds, void *context)
{
    struct candidates list = {0};
    take(&list, result, max, NULL, holds, context);
    for (size_t i = 0; i < count; i++) {
        if (!answers[i].result)
            continue;
        take(&list, answers[i].result, max, answers[i].reader, holds, context);
        join(result, answers[i].result);
    }
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_worth);
    cJSON *hits = cJSON_CreateArray();
    for (size_t i = 0; i < list.count; i++)
        if (i < max)
            cJSON_AddItemToArray(hits, list.items[i].hit);
        else
            cJSON_Delete(list.items[i].hit);
    set(result, "results", hits);
    merge_put_readers(result, answers, count);
    free(list.items);
}
