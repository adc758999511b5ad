/* Fuzz target: any bytes as a tokenizer.json, and what follows its first NUL as
 * a text.  Ids must be those of tokens, and what is decoded must be UTF-8. */
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/utf8.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_TEXT = 512 };

static void read_text(const struct tokenizer *tokenizer, struct slice text)
{
    struct ids ids = {0};
    struct buf whole = {0}, streamed = {0};
    struct tokenizer_stream stream = {0};
    struct err err;
    if (!tokenizer_encode(tokenizer, text, true, &ids, &err)) {
        for (size_t i = 0; i < ids.count; i++) {
            CHECK(ids.items[i] >= 0);
            CHECK((size_t)ids.items[i] < tokenizer_count(tokenizer));
            tokenizer_stream_put(tokenizer, &stream, ids.items[i], &streamed);
        }
        tokenizer_stream_end(&stream, &streamed);
        tokenizer_decode(tokenizer, ids.items, ids.count, true, &whole);
        CHECK(utf8_well(buf_slice(&whole)) == whole.size);
        CHECK(slice_equal(buf_slice(&whole), buf_slice(&streamed)));
    } else {
        CHECK(!ids.count);
    }
    ids_free(&ids);
    buf_free(&whole);
    buf_free(&streamed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char usual[] = " Hello,  w\xC3\xB6rld 123 \xE4\xB8\xAD\n\xFF";
    struct tokenizer *tokenizer = NULL;
    struct err err = {.position = -1};
    size_t end = 0;
    while (end < size && data[end])
        end++;
    if (tokenizer_from((struct slice){(const char *)data, end}, &tokenizer,
                       &err)) {
        CHECK(!tokenizer && err.message[0]);
        return 0;
    }
    size_t left = size - end < MAX_TEXT ? size - end : MAX_TEXT;
    read_text(tokenizer, slice_of(usual));
    read_text(tokenizer, (struct slice){(const char *)data + end, left});
    tokenizer_close(tokenizer);
    return 0;
}
