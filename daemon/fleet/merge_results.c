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

/* Takes the hits out of `result`; those that are not wanted keep their ranks. */
static void take(struct candidates *list, cJSON *result,
                 const struct other_reader *reader, merge_holds *holds,
                 void *context)
{
    cJSON *hits = cJSON_GetObjectItemCaseSensitive(result, "results"), *hit;
    double confidence = json_get_double(result, "confidence", 0);
    for (double rank = 1; (hit = cJSON_DetachItemFromArray(hits, 0)); rank++) {
        const char *manual = json_get_text(hit, "manual", "");
        if (reader && (!cJSON_IsObject(hit) || holds(context, manual) ||
                       is_taken(list, reader, manual))) {
            cJSON_Delete(hit);
            continue;
        }
        cJSON_DeleteItemFromObjectCaseSensitive(hit, "reader");
        if (reader)
            cJSON_AddStringToObject(hit, "reader", reader->name);
        MEM_RESERVE(list->items, &list->capacity, list->count + 1);
        list->items[list->count] = (struct candidate){
            hit, reader,
            (confidence > least_confidence ? confidence : least_confidence) /
                rank,
            list->count};
        list->count++;
    }
}

static void set(cJSON *object, const char *key, cJSON *value)
{
    if (cJSON_GetObjectItemCaseSensitive(object, key))
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, value);
    else
        cJSON_AddItemToObject(object, key, value);
}

static void join(cJSON *result, const cJSON *other)
{
    double here = json_get_double(result, "confidence", 0);
    double there = json_get_double(other, "confidence", 0);
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
}

void merge_put_readers(cJSON *result, const struct reader_answer *answers,
                       size_t count)
{
    cJSON *readers = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", answers[i].reader->name);
        if (answers[i].result)
            cJSON_AddNumberToObject(
                one, "searched",
                json_get_double(answers[i].result, "searched", 0));
        else
            cJSON_AddStringToObject(one, "problem", answers[i].err.message);
        cJSON_AddItemToArray(readers, one);
    }
    set(result, "readers", readers);
}

void merge_results(cJSON *result, struct reader_answer *answers, size_t count,
                   size_t max, merge_holds *holds, void *context)
{
    struct candidates list = {0};
    take(&list, result, NULL, holds, context);
    for (size_t i = 0; i < count; i++) {
        if (answers[i].result) {
            take(&list, answers[i].result, answers[i].reader, holds, context);
            join(result, answers[i].result);
        } else {
            set(result, "complete", cJSON_CreateFalse());
        }
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
