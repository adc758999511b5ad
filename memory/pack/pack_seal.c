/* The outside of a pack: what is checked before anything in it is read. */
#include <sodium.h>
#include <string.h>
#include <zstd.h>

#include "memory/pack/pack_internal.h"

enum {
    MAGIC = 16,
    VERSION_AT = 13, /* in the magic, one of: */
    PLAIN = '1',
    WITH_CODES = '2',
    KEY_AT = 16,
    SIGNATURE_AT = 48,
    SIGNATURE = 64,
    HASH_AT = 112,
    SIZE_AT = 144,
    HEAD = 152,
    LEVEL = 9, /* of zstd */
    SIGNED = HEAD - SIGNATURE
};

static const char magic[MAGIC + 1] = "lectern pack 1\n\n";
const uint64_t pack_max_bytes = (uint64_t)1 << 30;

_Static_assert(SIGNATURE == crypto_sign_BYTES, "of libsodium");
_Static_assert(PACK_KEY == crypto_sign_PUBLICKEYBYTES, "of libsodium");
_Static_assert(PACK_SECRET == crypto_sign_SECRETKEYBYTES, "of libsodium");

static void hash_rest(const unsigned char *rest, size_t size,
                      unsigned char ret[PACK_HASH])
{
    crypto_generichash(ret, PACK_HASH, rest, size, NULL, 0);
}

/* What is signed: the head without the signature. */
static void put_signed(const unsigned char *head, unsigned char ret[SIGNED])
{
    memcpy(ret, head, SIGNATURE_AT);
    memcpy(ret + SIGNATURE_AT, head + HASH_AT, HEAD - HASH_AT);
}

/* ---- Writing ---- */

static int compress(struct slice body, struct buf *ret, struct err *err)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        return err_set(err, ERR_INTERNAL, "zstd: no memory");
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    buf_reserve(ret, ZSTD_compressBound(body.size));
    size_t size =
        ZSTD_compress2(zstd, ret->data + ret->size, ret->capacity - ret->size,
                       body.data, body.size);
    ZSTD_freeCCtx(zstd);
    if (ZSTD_isError(size))
        return err_set(err, ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(size));
    ret->size += size;
    return 0;
}

static void put_head(unsigned char *head, const struct pack_key *key,
                     uint64_t size, struct pack_seal *seal)
{
    unsigned char text[SIGNED];
    memcpy(head, magic, MAGIC);
    memcpy(head + HASH_AT, seal->hash, PACK_HASH);
    for (int i = 0; i < HEAD - SIZE_AT; i++)
        head[SIZE_AT + i] = (unsigned char)(size >> 8 * i & 255);
    seal->is_signed = key != NULL;
    if (!key)
        return;
    memcpy(seal->signer, key->public, PACK_KEY);
    memcpy(head + KEY_AT, key->public, PACK_KEY);
    put_signed(head, text);
    crypto_sign_detached(head + SIGNATURE_AT, NULL, text, sizeof text,
                         key->secret);
}

int pack_close(struct slice body, const struct pack_key *key,
               struct buf *ret_file, struct pack_seal *ret_seal,
               struct err *err)
{
    unsigned char head[HEAD] = {0};
    struct pack_seal seal = {0};
    int code = pack_start(err);
    if (!code && body.size > pack_max_bytes)
        code = err_set(err, ERR_LIMIT,
                       "the manual takes %.1f GB, a pack at most %.1f: pack it "
                       "without its files, or index parts of it",
                       (double)body.size / 1e9, (double)pack_max_bytes / 1e9);
    buf_put(ret_file, head, sizeof head);
    if (!code)
        code = compress(body, ret_file, err);
    if (code)
        return code;
    unsigned char *file = (unsigned char *)ret_file->data;
    hash_rest(file + HEAD, ret_file->size - HEAD, seal.hash);
    put_head(file, key, ret_file->size - HEAD, &seal);
    *ret_seal = seal;
    return 0;
}

/* ---- Reading ---- */

static uint64_t rest_size(const unsigned char *head)
{
    uint64_t size = 0;
    for (int i = HEAD - SIZE_AT; i-- > 0;)
        size = size << 8 | head[SIZE_AT + i];
    return size;
}

static int check_size(struct slice file, struct err *err)
{
    if (file.size < MAGIC || memcmp(file.data, magic, VERSION_AT) != 0)
        return pack_wrong(err, "it is no pack of Lectern");
    char version = file.data[VERSION_AT];
    if ((version != PLAIN && version != WITH_CODES) ||
        memcmp(file.data + VERSION_AT + 1, magic + VERSION_AT + 1,
               MAGIC - VERSION_AT - 1) != 0)
        return pack_wrong(err, "it is a pack of another version of Lectern; "
                               "this one reads versions 1 and 2");
    if (file.size < HEAD)
        return pack_wrong(err, "it is cut: it ends within its head");
    uint64_t size = rest_size((const unsigned char *)file.data);
    if (file.size - HEAD == size)
        return 0;
    return pack_wrong(err,
                      "it is cut, or something was added: it has %zu bytes, "
                      "and says %llu",
                      file.size - HEAD, (unsigned long long)size);
}

int pack_check_seal(struct slice file, struct pack_seal *ret_seal,
                    struct err *err)
{
    static const unsigned char nobody[PACK_KEY];
    struct pack_seal seal = {0};
    unsigned char text[SIGNED], hash[PACK_HASH];
    int code = pack_start(err);
    if (!code)
        code = check_size(file, err);
    if (code)
        return code;
    const unsigned char *head = (const unsigned char *)file.data;
    memcpy(seal.signer, head + KEY_AT, PACK_KEY);
    memcpy(seal.hash, head + HASH_AT, PACK_HASH);
    seal.is_signed = memcmp(seal.signer, nobody, PACK_KEY) != 0;
    hash_rest(head + HEAD, file.size - HEAD, hash);
    if (memcmp(hash, seal.hash, PACK_HASH) != 0)
        return pack_wrong(err, "it was changed, or is damaged: its hash is not "
                               "that of its content");
    put_signed(head, text);
    if (seal.is_signed &&
        crypto_sign_verify_detached(head + SIGNATURE_AT, text, sizeof text,
                                    seal.signer) != 0)
        return pack_wrong(err, "it is forged: the key that it names has not "
                               "signed it");
    *ret_seal = seal;
    return 0;
}

int pack_open(struct slice file, struct buf *ret_body, struct err *err)
{
    if (file.size < HEAD)
        return pack_wrong(err, "it is cut");
    const char *rest = file.data + HEAD;
    size_t size = file.size - HEAD;
    unsigned long long plain = ZSTD_getFrameContentSize(rest, size);
    size_t frame = ZSTD_findFrameCompressedSize(rest, size);
    if (plain == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(frame) || frame != size)
        return pack_wrong(err, "what it holds cannot be decompressed");
    if (plain > pack_max_bytes)
        return pack_wrong(err, "it would take more than %.1f GB decompressed",
                          (double)pack_max_bytes / 1e9);
    void *room = malloc((size_t)plain + 1);
    if (!room)
        return err_set(err, ERR_LIMIT, "no memory for a pack of %llu bytes",
                       plain);
    size_t got = ZSTD_decompress(room, (size_t)plain, rest, size);
    if (ZSTD_isError(got) || got != plain) {
        free(room);
        return pack_wrong(err, "what it holds cannot be decompressed");
    }
    *ret_body = (struct buf){room, got, got + 1};
    ret_body->data[got] = '\0';
    return 0;
}
