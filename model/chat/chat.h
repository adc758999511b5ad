/* A conversation as the token ids that a model was trained on.
 *
 * The model's chat template writes the frame.  The messages are data: they are
 * tokenized apart from it, and a special token that is spelled out in one of them is
 * left out, so that no text of a manual can end its message or begin another. */
#ifndef MODEL_CHAT_CHAT_H
#define MODEL_CHAT_CHAT_H

#include "base/gguf.h"
#include "model/chat/chat_template.h"
#include "model/tokenizer/tokenizer.h"

struct chat;

/* Reads the chat template of a GGUF file, or of a model's folder
 * (chat_template.jinja, else `chat_template` of tokenizer_config.json).  Returns
 * NULL if there is none.  A template that this program cannot run is refused when
 * it is used: chat_refused. */
struct chat *chat_of_gguf(const struct gguf *gguf,
                          const struct tokenizer *tokenizer);
struct chat *chat_of_folder(const char *folder);
void chat_close(struct chat *chat); /* NULL: ok */

/* Returns why the template cannot be used; NULL: it can. */
const char *chat_refused(const struct chat *chat);

/* Appends the ids of the messages, up to where the assistant's answer begins.  A
 * system message becomes the beginning of the next one where the template refuses
 * it.  ERR_MODEL: the template cannot be used, fails, or changes what the messages
 * say; else as tokenizer_encode.  Nothing is appended on failure.  Any thread. */
int chat_encode(const struct chat *chat, const struct tokenizer *tokenizer,
                const struct chat_message *messages, size_t count,
                struct ids *ids, struct err *err);

/* Appends what a frame says before a text of others, then that text, as one text: a
 * special token that is spelled out in `text` is left out.  Fails as
 * tokenizer_encode. */
int chat_encode_piece(const struct tokenizer *tokenizer, struct slice frame,
                      struct slice text, struct ids *ids, struct err *err);

#endif
