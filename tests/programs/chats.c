/* Renders chat templates on standard input and output, for scripts that compare:
 *
 *   chats
 *       {"template": ..., "messages": [{"role", "content"}], "flags": {...},
 *       "add_generation_prompt": ...} a line -> {"output": ...} or {"error": ...}
 *       a line; the date is that of tests/experiments/model/make_chats.py */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/chat/chat_template.h"

enum { MAX_MESSAGES = 64, MAX_FLAGS = 8 };

static const struct tm now = {.tm_sec = 3,
                              .tm_min = 5,
                              .tm_hour = 8,
                              .tm_mday = 9,
                              .tm_mon = 6,
                              .tm_year = 124,
                              .tm_wday = 2,
                              .tm_yday = 190};

static int render(const cJSON *asked, struct buf *out, struct err *err)
{
    struct chat_message messages[MAX_MESSAGES];
    struct chat_flag flags[MAX_FLAGS];
    struct chat_input input = {.messages = messages,
                               .flags = flags,
                               .bos_token = "<s>",
                               .eos_token = "</s>",
                               .add_generation_prompt = json_get_bool(
                                   asked, "add_generation_prompt", false),
                               .now = &now};
    const cJSON *one;
    cJSON_ArrayForEach (one, cJSON_GetObjectItem(asked, "messages")) {
        if (input.message_count == MAX_MESSAGES)
            return err_set(err, ERR_LIMIT, "too many messages");
        messages[input.message_count++] =
            (struct chat_message){slice_of(json_get_text(one, "role", "")),
                                  slice_of(json_get_text(one, "content", ""))};
    }
    cJSON_ArrayForEach (one, cJSON_GetObjectItem(asked, "flags")) {
        if (input.flag_count == MAX_FLAGS)
            return err_set(err, ERR_LIMIT, "too many flags");
        flags[input.flag_count++] =
            (struct chat_flag){one->string, cJSON_IsTrue(one)};
    }
    struct chat_template *opened = NULL;
    int rc = chat_template_open(slice_of(json_get_text(asked, "template", "")),
                                &opened, err);
    if (!rc)
        rc = chat_template_render(opened, &input, out, err);
    chat_template_close(opened);
    return rc;
}

static void answer(struct slice line)
{
    struct buf out = {0}, written = {0};
    struct err err = {0};
    struct json json = json_to(&written);
    cJSON *asked = NULL;
    int rc = json_parse(line, &asked, &err);
    if (!rc)
        rc = render(asked, &out, &err);
    json_begin(&json, '{');
    if (rc)
        json_field_text(&json, "error", err.message);
    else
        json_field_string(&json, "output", buf_slice(&out));
    json_end(&json, '}');
    puts(written.data);
    cJSON_Delete(asked);
    buf_free(&out);
    buf_free(&written);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&line, &capacity, stdin)) > 0)
        answer((struct slice){line, (size_t)size});
    free(line);
    return ferror(stdin) || fflush(stdout) ? 2 : 0;
}
