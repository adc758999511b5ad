/* stands: reads lines {"sources": [[text of a block, ...], ...], "question": text,
 * "sentence": text} and prints for each whether the sentence stands in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "daemon/answer/evidence.h"

static struct cite_source source_of(const cJSON *texts)
{
    size_t count = (size_t)cJSON_GetArraySize(texts), i = 0;
    struct block *blocks = mem_alloc((count + 1) * sizeof *blocks);
    const cJSON *text;
    cJSON_ArrayForEach (text, texts)
        blocks[i++] = (struct block){.kind = BLOCK_PARAGRAPH,
                                     .text = slice_of(text->valuestring)};
    return (struct cite_source){.blocks = blocks, .count = count};
}

static bool stands(const cJSON *line)
{
    const cJSON *texts, *all = cJSON_GetObjectItem(line, "sources");
    size_t count = (size_t)cJSON_GetArraySize(all), i = 0;
    struct cite_source *sources = mem_alloc((count + 1) * sizeof *sources);
    struct evidence evidence;
    cJSON_ArrayForEach (texts, all)
        sources[i++] = source_of(texts);
    struct evidence_index *index = evidence_index_new(
        sources, count, slice_of(json_get_text(line, "question", "")));
    bool found = evidence_find(
        index, slice_of(json_get_text(line, "sentence", "")), false, &evidence);
    evidence_index_free(index);
    for (i = 0; i < count; i++)
        free((void *)(uintptr_t)sources[i].blocks);
    free(sources);
    return found;
}

int main(void)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&text, &capacity, stdin)) > 0) {
        struct err err = {0};
        cJSON *line;
        if (json_parse((struct slice){text, (size_t)size}, &line, &err)) {
            fprintf(stderr, "stands: %s\n", err.message);
            return 2;
        }
        puts(stands(line) ? "1" : "0");
        cJSON_Delete(line);
    }
    free(text);
    return 0;
}
