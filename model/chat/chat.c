#include "model/chat/chat.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

enum {
    MAX_FILE = 16 << 20, /* bytes of tokenizer_config.json */
    MAX_MESSAGES = 16
};

struct chat {
    struct chat_template *template; /* NULL: refused */
    struct err err;                 /* why */
    char *bos, *eos;                /* NULL: unknown */
};

/* ---- Reading ---- */

static struct chat *chat_new(struct slice text, char *bos, char *eos)
{
    struct chat *chat = mem_alloc(sizeof *chat);
    *chat = (struct chat){.bos = bos, .eos = eos};
    if (chat_template_open(text, &chat->template, &chat->err))
        chat->template = NULL;
    return chat;
}

/* The text of the token that the metadata names by its id. */
static char *named_token(const struct gguf *gguf, const char *key,
                         const struct tokenizer *tokenizer)
{
    const struct gguf_value *value = gguf_find(gguf, key);
    struct buf text = {0};
    double number;
    if (!value || !gguf_number(value, 0, &number) || !(number >= 0) ||
        !(number < (double)tokenizer_count(tokenizer)))
        return NULL;
    int32_t id = (int32_t)number;
    tokenizer_decode(tokenizer, &id, 1, true, &text);
    return text.data ? text.data : mem_strdup("");
}

struct chat *chat_of_gguf(const struct gguf *gguf,
                          const struct tokenizer *tokenizer)
{
    const struct gguf_value *value = gguf_find(gguf, "tokenizer.chat_template");
    struct slice text;
    if (!value || !gguf_text(value, &text))
        return NULL;
    return chat_new(
        text, named_token(gguf, "tokenizer.ggml.bos_token_id", tokenizer),
        named_token(gguf, "tokenizer.ggml.eos_token_id", tokenizer));
}

/* A token of tokenizer_config.json: a text, or an object with its content. */
static char *token_of(const cJSON *config, const char *name)
{
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(config, name);
    if (cJSON_IsObject(token))
        token = cJSON_GetObjectItemCaseSensitive(token, "content");
    return cJSON_IsString(token) ? mem_strdup(token->valuestring) : NULL;
}

/* `chat_template`: a text, or a list of named ones, of which "default" counts. */
static const char *template_of(const cJSON *config)
{
    const cJSON *one,
        *found = cJSON_GetObjectItemCaseSensitive(config, "chat_template");
    if (!cJSON_IsArray(found))
        return cJSON_IsString(found) ? found->valuestring : NULL;
    cJSON_ArrayForEach (one, found)
        if (!strcmp(json_get_text(one, "name", ""), "default"))
            return json_get_text(one, "template", NULL);
    return NULL;
}

static bool read_beside(const char *folder, const char *name, struct buf *ret)
{
    struct buf path = {0};
    struct err ignored = {0};
    file_join(&path, folder, name);
    bool there = !file_read(path.data, MAX_FILE, ret, &ignored);
    buf_free(&path);
    return there;
}

struct chat *chat_of_folder(const char *folder)
{
    struct buf file = {0}, json = {0};
    struct err ignored = {0};
    cJSON *config = NULL;
    struct chat *chat = NULL;
    if (read_beside(folder, "tokenizer_config.json", &json) &&
        json_parse(buf_slice(&json), &config, &ignored))
        config = NULL;
    const char *text = read_beside(folder, "chat_template.jinja", &file)
                           ? file.data
                           : template_of(config);
    if (text)
        chat = chat_new(slice_of(text), token_of(config, "bos_token"),
                        token_of(config, "eos_token"));
    cJSON_Delete(config);
    buf_free(&file);
    buf_free(&json);
    return chat;
}

void chat_close(struct chat *chat)
{
    if (!chat)
        return;
    chat_template_close(chat->template);
    free(chat->bos);
    free(chat->eos);
    free(chat);
}

const char *chat_refused(const struct chat *chat)
{
    return chat->template ? NULL : chat->err.message;
}

/* ---- Encoding ---- */

/* What stands for the content of message i in the frame, and no template writes. */
static struct slice mark_of(size_t i)
{
    static const char marks[MAX_MESSAGES][3] = {
        "\2a\3", "\2b\3", "\2c\3", "\2d\3", "\2e\3", "\2f\3", "\2g\3", "\2h\3",
        "\2i\3", "\2j\3", "\2k\3", "\2l\3", "\2m\3", "\2n\3", "\2o\3", "\2p\3"};
    return (struct slice){marks[i], sizeof marks[i]};
}

static int render(const struct chat *chat, const struct chat_message *messages,
                  size_t count, struct buf *frame, struct err *err)
{
    static const struct chat_flag flags[] = {{"enable_thinking", false}};
    struct chat_message marked[MAX_MESSAGES];
    time_t seconds = time(NULL);
    struct tm now;
    for (size_t i = 0; i < count; i++)
        marked[i] = (struct chat_message){messages[i].role, mark_of(i)};
    const struct chat_input input = {.messages = marked,
                                     .message_count = count,
                                     .flags = flags,
                                     .flag_count = 1,
                                     .bos_token = chat->bos,
                                     .eos_token = chat->eos,
                                     .add_generation_prompt = true,
                                     .now = localtime_r(&seconds, &now)};
    return chat_template_render(chat->template, &input, frame, err);
}

/* Appends the ids of a message, without those of special tokens; `space`: one stands
 * before it, which becomes one token with what follows. */
static int encode_content(const struct tokenizer *tokenizer, struct slice text,
                          bool space, struct ids *ids, struct err *err)
{
    size_t kept = ids->count;
    struct buf spaced = {0};
    if (space)
        buf_put_byte(&spaced, ' ');
    buf_put_slice(&spaced, text);
    int code = tokenizer_encode_on(tokenizer, buf_slice(&spaced), ids, err);
    buf_free(&spaced);
    for (size_t i = kept; i < ids->count; i++)
        if (!tokenizer_is_special(tokenizer, ids->items[i]))
            ids->items[kept++] = ids->items[i];
    ids->count = kept;
    return code;
}

int chat_encode_piece(const struct tokenizer *tokenizer, struct slice frame,
                      struct slice text, struct ids *ids, struct err *err)
{
    bool space = frame.size && frame.data[frame.size - 1] == ' ' && text.size;
    frame.size -= space;
    int code = tokenizer_encode_on(tokenizer, frame, ids, err);
    return code ? code : encode_content(tokenizer, text, space, ids, err);
}

static const char *find_mark(struct slice frame, size_t i)
{
    struct slice mark = mark_of(i);
    return frame.size ? memmem(frame.data, frame.size, mark.data, mark.size)
                      : NULL;
}

/* Appends the ids of the frame, with each message in the place of its mark. */
static int fill_in(struct slice frame, const struct tokenizer *tokenizer,
                   const struct chat_message *messages, size_t count,
                   struct ids *ids, struct err *err)
{
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        const char *at = find_mark(frame, i);
        struct slice piece = {frame.data, at ? (size_t)(at - frame.data) : 0};
        size_t passed = piece.size + mark_of(i).size;
        if (at)
            frame = (struct slice){frame.data + passed, frame.size - passed};
        if (!at || find_mark(frame, i))
            return err_set(err, ERR_MODEL,
                           "it leaves out, moves, repeats or changes a "
                           "message: this program cannot use it");
        code =
            chat_encode_piece(tokenizer, piece, messages[i].content, ids, err);
    }
    return code ? code : tokenizer_encode_on(tokenizer, frame, ids, err);
}

static int encode(const struct chat *chat, const struct tokenizer *tokenizer,
                  const struct chat_message *messages, size_t count,
                  struct ids *ids, struct err *err)
{
    struct buf frame = {0};
    size_t before = ids->count;
    int code = render(chat, messages, count, &frame, err);
    if (!code)
        code = fill_in(buf_slice(&frame), tokenizer, messages, count, ids, err);
    if (code)
        ids->count = before;
    buf_free(&frame);
    return code;
}

/* The messages with a first one of the system at the beginning of the second. */
static int encode_without_system(const struct chat *chat,
                                 const struct tokenizer *tokenizer,
                                 const struct chat_message *messages,
                                 size_t count, struct ids *ids, struct err *err)
{
    struct chat_message joined[MAX_MESSAGES];
    struct buf content = {0};
    memcpy(joined, messages + 1, (count - 1) * sizeof *joined);
    buf_put_slice(&content, messages[0].content);
    buf_put_text(&content, "\n\n");
    buf_put_slice(&content, messages[1].content);
    joined[0].content = buf_slice(&content);
    int code = encode(chat, tokenizer, joined, count - 1, ids, err);
    buf_free(&content);
    return code;
}

int chat_encode(const struct chat *chat, const struct tokenizer *tokenizer,
                const struct chat_message *messages, size_t count,
                struct ids *ids, struct err *err)
{
    struct err why = {.position = -1};
    if (!chat->template)
        return err_set(err, ERR_MODEL, "%s", chat->err.message);
    if (!count || count > MAX_MESSAGES)
        return err_set(err, ERR_USAGE, "a conversation has 1 to %d messages",
                       MAX_MESSAGES);
    int code = encode(chat, tokenizer, messages, count, ids, &why);
    bool system = slice_is(messages[0].role, "system") && count > 1;
    if (code == ERR_USAGE && system)
        code =
            encode_without_system(chat, tokenizer, messages, count, ids, &why);
    if (code)
        return err_set(err, code == ERR_LIMIT ? code : ERR_MODEL,
                       "the model's chat template: %s", why.message);
    return 0;
}
