#include "daemon/fleet/other_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/fleet/merge_results.h"

/* ---- Configuration ---- */

static struct other_reader *find(struct other_readers *readers,
                                 const char *name)
{
    for (size_t i = 0; i < readers->count; i++)
        if (!strcmp(readers->items[i].name, name))
            return &readers->items[i];
    return NULL;
}

int other_readers_open(const char *configured, struct other_readers **ret,
                       struct err *err)
{
    struct reader_place places[READER_LIST_MAX];
    size_t count;
    int code = reader_list_read(configured, places, &count, err);
    if (code)
        return code;
    *ret = count ? mem_alloc(sizeof **ret) : NULL;
    for (size_t i = 0; i < count; i++) {
        struct other_reader *reader = &(*ret)->items[(*ret)->count++];
        memcpy(reader->name, places[i].name.data, places[i].name.size);
        reader->path = mem_strndup(places[i].path.data, places[i].path.size);
    }
    return 0;
}

void other_readers_free(struct other_readers *readers)
{
    for (size_t i = 0; readers && i < readers->count; i++)
        free(readers->items[i].path);
    free(readers);
}

/* ---- Asking ---- */

static int begin(struct other_reader *reader, const char *method,
                 const cJSON *params, struct reader_call *ret, struct err *err)
{
    int64_t left = atomic_load(&reader->silent_until) - clock_ms();
    *ret = (struct reader_call){.fd = -1};
    return left > 0
               ? err_set(err, ERR_LIMIT,
                         "it did not answer in time, and is asked again in "
                         "%lld s",
                         (long long)(left + 999) / 1000)
               : reader_call_begin(reader->path, method, params, ret, err);
}

/* One that was waited for and sent nothing is silent; one that is slow is not. */
static void look_whether_silent(struct other_reader *reader,
                                const struct reader_call *call)
{
    if (call->code == ERR_LIMIT && !call->size)
        atomic_store(&reader->silent_until, clock_ms() + READER_PAUSE_MS);
}

void other_readers_begin(struct other_readers *readers, const char *method,
                         const cJSON *params,
                         struct reader_answer answers[OTHER_READERS_MAX])
{
    for (size_t i = 0; i < readers->count; i++) {
        struct reader_answer *answer = &answers[i];
        *answer = (struct reader_answer){.reader = &readers->items[i],
                                         .err = {.position = -1}};
        begin(answer->reader, method, params, &answer->call, &answer->err);
    }
}

void other_readers_end(struct other_readers *readers,
                       const atomic_bool *cancelled,
                       struct reader_answer answers[OTHER_READERS_MAX])
{
    struct reader_call *calls[OTHER_READERS_MAX];
    bool began[OTHER_READERS_MAX];
    for (size_t i = 0; i < readers->count; i++) {
        calls[i] = &answers[i].call;
        began[i] = calls[i]->fd >= 0;
    }
    reader_calls_end(calls, readers->count, clock_ms() + READERS_MS, cancelled);
    for (size_t i = 0; i < readers->count; i++) {
        if (!began[i])
            continue;
        look_whether_silent(answers[i].reader, calls[i]);
        answers[i].result = calls[i]->result;
        answers[i].err = calls[i]->err;
        other_reader_mark(answers[i].reader, answers[i].result);
    }
}

void reader_answers_free(const struct other_readers *readers,
                         struct reader_answer answers[OTHER_READERS_MAX])
{
    for (size_t i = 0; i < readers->count; i++)
        cJSON_Delete(answers[i].result);
}

int other_reader_ask(struct other_reader *reader, const char *method,
                     const cJSON *params, int64_t ms,
                     const atomic_bool *cancelled, cJSON **ret_result,
                     struct err *err)
{
    struct err why = {.position = -1};
    struct reader_call call;
    int code = begin(reader, method, params, &call, &why);
    if (!code) {
        reader_calls_end(&(struct reader_call *){&call}, 1, clock_ms() + ms,
                         cancelled);
        look_whether_silent(reader, &call);
        code = call.code;
        why = call.err;
    }
    if (!code) {
        *ret_result = call.result;
        other_reader_mark(reader, *ret_result);
        merge_label(*ret_result, reader);
        return 0;
    }
    return code == ERR_CANCELLED ? err_set(err, code, "cancelled")
                                 : err_set(err, code, "the reader %s: %s",
                                           reader->name, why.message);
}

/* ---- Nodes ---- */

static void mark_text(const struct other_reader *reader, cJSON *text)
{
    struct buf marked = {0};
    if (!cJSON_IsString(text) || !text->valuestring[0])
        return;
    buf_printf(&marked, "%s@%s", text->valuestring, reader->name);
    cJSON_SetValuestring(text, marked.data);
    buf_free(&marked);
}

void other_reader_mark(const struct other_reader *reader, cJSON *value)
{
    cJSON *child, *node;
    cJSON_ArrayForEach (child, value) {
        const char *key = child->string ? child->string : "";
        if (!strcmp(key, "node") || !strcmp(key, "id"))
            mark_text(reader, child);
        else if (!strcmp(key, "path_nodes") || !strcmp(key, "near"))
            cJSON_ArrayForEach (node, child)
                mark_text(reader, node);
        else
            other_reader_mark(reader, child);
    }
}

int other_readers_of_node(struct other_readers *readers, const char *node,
                          struct other_reader **ret, size_t *ret_size,
                          struct err *err)
{
    const char *at = strchr(node, '@');
    *ret = NULL;
    if (!at)
        return 0;
    *ret_size = (size_t)(at - node);
    *ret = readers ? find(readers, at + 1) : NULL;
    return *ret ? 0
                : err_set(err, ERR_USAGE,
                          "'%.100s' names a node of a reader that is not asked "
                          "here (fleet_readers)",
                          node);
}
