/* What the tests of the kernels link but never ask for where there are no
 * packages: tokenizers, chat templates, Unicode beyond ASCII, fingerprints. */
#include "base/hash.h"
#include "base/text.h"
#include "model/chat/chat.h"
#include "model/tokenizer/tokenizer.h"

struct hash128 hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    struct hash128 hash = {14695981039346656037u, size};
    for (size_t i = 0; i < size; i++)
        hash.low = (hash.low ^ at[i]) * 1099511628211u;
    return hash;
}

void hash_write(struct hash128 hash, unsigned char bytes[16])
{
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(hash.low >> (8 * i));
        bytes[8 + i] = (unsigned char)(hash.high >> (8 * i));
    }
}

uint32_t text_decode_wide(const char *text, size_t size, size_t at,
                          size_t *ret_size)
{
    (void)text;
    (void)size;
    (void)at;
    *ret_size = 1;
    return 0xFFFD;
}

size_t text_space_wide(const char *text, size_t size, size_t at)
{
    (void)text;
    (void)size;
    (void)at;
    return 0;
}

int tokenizer_open(const char *path, struct tokenizer **ret, struct err *err)
{
    (void)ret;
    return err_set(err, ERR_USAGE, "%s: built without tokenizers", path);
}

int tokenizer_of_gguf(const struct gguf *gguf, struct tokenizer **ret,
                      struct err *err)
{
    (void)gguf;
    (void)ret;
    return err_set(err, ERR_USAGE, "built without tokenizers");
}

struct chat *chat_of_gguf(const struct gguf *gguf,
                          const struct tokenizer *tokenizer)
{
    (void)gguf;
    (void)tokenizer;
    return NULL;
}

struct chat *chat_of_folder(const char *folder)
{
    (void)folder;
    return NULL;
}

const char *chat_refused(const struct chat *chat)
{
    (void)chat;
    return "built without chat templates";
}

void chat_close(struct chat *chat)
{
    (void)chat;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    (void)tokenizer;
}

void tokenizer_leave_bare(struct tokenizer *tokenizer)
{
    (void)tokenizer;
}

size_t tokenizer_count(const struct tokenizer *tokenizer)
{
    (void)tokenizer;
    return 0;
}

int32_t tokenizer_find(const struct tokenizer *tokenizer, struct slice token)
{
    (void)tokenizer;
    (void)token;
    return -1;
}

bool tokenizer_lowercases(const struct tokenizer *tokenizer)
{
    (void)tokenizer;
    return false;
}

struct hash128 tokenizer_hash(const struct tokenizer *tokenizer)
{
    (void)tokenizer;
    return hash_bytes("", 0);
}
