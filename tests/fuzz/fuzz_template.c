/* Fuzz target: any bytes as a chat template, and what follows its first NUL as the
 * content of a message.  It is rendered or refused with a message, twice alike, and
 * what it writes is UTF-8.  That it is what Jinja2 writes is for
 * tests/experiments/model/compare_chats.py, which makes templates that run. */
#include "base/text.h"
#include "model/chat/chat_template.h"
#include "tests/fuzz/fuzz.h"

static const struct tm now = {.tm_mday = 9, .tm_year = 124};

static int render(const struct chat_template *chat_template,
                  const struct chat_input *input, struct buf *out)
{
    struct err err = {.message = ""};
    int rc = chat_template_render(chat_template, input, out, &err);
    CHECK(!rc || (err.code == rc && err.message[0] && !out->size));
    CHECK(rc != ERR_INTERNAL);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct chat_template *opened = NULL;
    struct buf out = {0}, again = {0};
    struct err err = {.message = ""};
    size_t end = 0;
    while (end < size && data[end])
        end++;
    struct slice text = {(const char *)data, end};
    struct slice content = {(const char *)data + end, size - end};
    if (chat_template_open(text, &opened, &err)) {
        CHECK(!opened && err.message[0]);
        return 0;
    }
    const struct chat_message messages[] = {
        {slice_of("system"), slice_of("Be kind.")},
        {slice_of("user"), content},
        {slice_of("assistant"), slice_of("<think>x</think> \xC3\xA9")}};
    const struct chat_flag flag = {"enable_thinking", size & 1};
    struct chat_input input = {messages, 3,      &flag, 1,
                               "<s>",    "</s>", true,  &now};
    int rc = render(opened, &input, &out);
    CHECK(text_is_utf8(buf_slice(&out).data, out.size));
    CHECK(rc == render(opened, &input, &again));
    CHECK(slice_equal(buf_slice(&out), buf_slice(&again)));
    chat_template_close(opened);
    buf_free(&out);
    buf_free(&again);
    return 0;
}
