/* Fuzz target: any bytes as a pack, or as what is in one.  What is taken must come
 * out the same when it is encoded and decoded again. */
#include <stdlib.h>

#include "memory/pack/pack_internal.h"
#include "tests/fuzz/fuzz.h"

static void read_file(struct slice bytes)
{
    struct pack_seal seal;
    struct buf body = {0};
    (void)pack_check_seal(bytes, &seal, NULL);
    if (!pack_open(bytes, &body, NULL))
        buf_free(&body);
}

static void check_again(const struct pack *pack)
{
    struct buf first = {0}, second = {0}, copy = {0};
    struct pack again;
    pack_encode(pack, &first);
    buf_put(&copy, first.data, first.size);
    CHECK(!pack_decode(&copy, &again, NULL));
    pack_encode(&again, &second);
    CHECK(slice_equal(buf_slice(&first), buf_slice(&second)));
    pack_free(&again);
    buf_free(&first);
    buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf body = {0};
    struct pack pack;
    read_file((struct slice){(const char *)data, size});
    buf_put(&body, data, size);
    if (pack_decode(&body, &pack, NULL))
        return 0;
    CHECK(pack.outline && pack.outline->count);
    check_again(&pack);
    pack_free(&pack);
    return 0;
}
