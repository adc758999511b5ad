#include "cli/mcp/mcp_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

/* "ITEM.BYTE.HASH": the first item of the page, the first byte of its text, and
 * what the whole array was. */
struct place {
    size_t item, byte;
    uint64_t hash;
};

/* Prints each item once: their sizes, and what they are together. */
static size_t *measure(const cJSON *array, uint64_t *ret_hash)
{
    const cJSON *item;
    struct buf all = {0};
    size_t count = 0;
    size_t *sizes =
        mem_alloc(((size_t)cJSON_GetArraySize(array) + 1) * sizeof *sizes);
    cJSON_ArrayForEach (item, array) {
        char *text = cJSON_PrintUnformatted(item);
        sizes[count] = strlen(text);
        buf_put(&all, text, sizes[count++]);
        cJSON_free(text);
    }
    *ret_hash = hash_bytes64(buf_slice(&all).data, all.size);
    buf_free(&all);
    return sizes;
}

static int read_place(const char *cursor, uint64_t hash,
                      struct place *ret_place, struct err *err)
{
    struct place place = {0, 0, hash};
    int end = 0;
    if (cursor && (sscanf(cursor, "%zu.%zu.%" SCNx64 "%n", &place.item,
                          &place.byte, &place.hash, &end) != 3 ||
                   cursor[end]))
        return err_set(err, ERR_USAGE,
                       "cursor must be what a result had as next");
    if (place.hash != hash)
        return err_set(err, ERR_USAGE,
                       "the result is not the one that the cursor is of: the "
                       "arguments or the manual have changed; ask without a "
                       "cursor");
    *ret_place = place;
    return 0;
}

/* Keeps of the item's text the bytes from `from` on, at most `max`.  Where it goes
 * on; 0: it does not. */
static size_t cut_text(cJSON *item, size_t from, size_t max)
{
    cJSON *text = cJSON_GetObjectItemCaseSensitive(item, "text");
    size_t size = cJSON_IsString(text) ? strlen(text->valuestring) : 0;
    if (from > size)
        from = size;
    size_t end = size;
    if (size - from > max)
        end = text_begin(text->valuestring, from + max);
    if (from == 0 && end == size)
        return 0;
    struct buf part = {0};
    buf_put(&part, text->valuestring + from, end - from);
    cJSON_SetValuestring(text, part.data);
    buf_free(&part);
    if (end == size)
        return 0;
    cJSON_AddTrueToObject(item, "cut");
    return end;
}

static void shorten(cJSON *array)
{
    cJSON *item;
    cJSON_ArrayForEach (item, array) {
        cJSON *block = cJSON_GetObjectItemCaseSensitive(item, "block");
        cut_text(item, 0, MCP_TEXT_BYTES);
        if (block)
            cut_text(block, 0, MCP_TEXT_BYTES);
    }
}

static void drop_from(cJSON *array, cJSON *item)
{
    while (item) {
        cJSON *next = item->next;
        cJSON_Delete(cJSON_DetachItemViaPointer(array, item));
        item = next;
    }
}

/* Drops what is before the place and what does not fit behind it.  False: that is
 * the last page; else the next one's place. */
static bool cut_array(cJSON *array, const size_t *sizes, struct place *place)
{
    for (size_t i = 0; i < place->item && array->child; i++)
        cJSON_DeleteItemFromArray(array, 0);
    cJSON *item = array->child;
    if (item && (place->byte || sizes[place->item] > MCP_PAGE_BYTES)) {
        place->byte = cut_text(item, place->byte, MCP_PAGE_BYTES);
        if (place->byte) {
            drop_from(array, item->next);
            return true;
        }
    }
    for (size_t total = 0; item; item = item->next, place->item++) {
        total += sizes[place->item];
        if (total > MCP_PAGE_BYTES && item != array->child) {
            drop_from(array, item);
            return true;
        }
    }
    return false;
}

int mcp_page_cut(const struct mcp_tool *tool, const char *cursor, cJSON *result,
                 struct err *err)
{
    cJSON *array = tool->pages
                       ? cJSON_GetObjectItemCaseSensitive(result, tool->pages)
                       : NULL;
    struct place place = {0, 0, 0};
    for (size_t i = 0; tool->hidden && tool->hidden[i]; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(result, tool->hidden[i]);
    if (!array)
        return 0;
    if (tool->texts)
        shorten(array);
    uint64_t hash;
    size_t *sizes = measure(array, &hash);
    int code = read_place(cursor, hash, &place, err);
    if (!code && cut_array(array, sizes, &place)) {
        char next[64];
        snprintf(next, sizeof next, "%zu.%zu.%" PRIx64, place.item, place.byte,
                 place.hash);
        cJSON_AddStringToObject(result, "next", next);
    }
    free(sizes);
    return code;
}
