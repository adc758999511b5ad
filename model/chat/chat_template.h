/* A model's chat template: the Jinja text that turns a conversation into the one
 * text which the model was trained on.
 *
 * A template is rendered as transformers' apply_chat_template does: Jinja2 with
 * trim_blocks, lstrip_blocks, loop controls and an immutable sandbox; `tools` and
 * `documents` are none.  What this interpreter cannot run is refused, by name and
 * line: no other template takes its place. */
#ifndef MODEL_CHAT_CHAT_TEMPLATE_H
#define MODEL_CHAT_CHAT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

struct chat_template;

struct chat_message {
    struct slice role;
    struct slice content;
};

/* A variable that some families' templates ask for, as `enable_thinking`. */
struct chat_flag {
    const char *name;
    bool value;
};

struct chat_input {
    const struct chat_message *messages;
    size_t message_count;
    const struct chat_flag *flags;
    size_t flag_count;
    const char *bos_token,
        *eos_token;             /* NULL: the template finds it undefined */
    bool add_generation_prompt; /* end where the assistant's answer begins */
    const struct tm *now;       /* for strftime_now; NULL: it is undefined */
};

/* Reads a template of UTF-8.  It keeps a copy of `text`.  ERR_FORMAT: no template
 * or not UTF-8; ERR_MODEL: a construct that is not supported; ERR_LIMIT.  The
 * message names construct and line.  Free with chat_template_close. */
int chat_template_open(struct slice text, struct chat_template **ret_template,
                       struct err *err);
void chat_template_close(
    struct chat_template *chat_template); /* NULL: nothing */

/* Appends the text of a conversation to `out`; on failure `out` is as it was.
 * ERR_USAGE: the template itself raised an exception, as for roles in an order
 * that the model does not know; ERR_FORMAT: an operation fails or a message is
 * not UTF-8; ERR_MODEL, ERR_LIMIT as above.  A template may be rendered by many
 * threads at once. */
int chat_template_render(const struct chat_template *chat_template,
                         const struct chat_input *input, struct buf *out,
                         struct err *err);

#endif
