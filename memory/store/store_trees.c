/* Trees and outlines, packed.
 *
 *   outline, short tree   one zstd frame of tree_encode
 *   tree of more than CUT_FROM bytes, so that a node is read without the others:
 *     a frame that zstd skips, which holds
 *       how many pieces of nodes there are, bytes of the head's frame, then for
 *       each piece: its first node less that of the piece before, what its spans
 *       are counted from, bytes of its frame; varints; and a hash of all that,
 *       8 bytes, low byte first
 *     a zstd frame of the head of tree_encode, one of each piece
 *
 * So all frames of a record one after the other are those of tree_encode. */
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "memory/store/store_internal.h"

enum {
    LEVEL = 3, /* of zstd */
    CUT_FROM = 256 << 10,
    PIECE = 64 << 10,
    SKIPPED =
        0x184D2A50, /* what begins a frame that zstd skips, then u32 size */
    SKIPPED_HEAD = 8,
    HASH = 8,
    TAKEN_FROM_SPARE = 16 << 20 /* bytes: less is believed */
};

static const uint64_t max_bytes = (uint64_t)1 << 34;

static int damaged(struct err *err)
{
    return err_set(err, ERR_FORMAT, "a stored tree is damaged");
}

/* ---- Writing ---- */

/* Adds a frame of `plain`. */
static int put_frame(ZSTD_CCtx *zstd, struct slice plain, struct buf *ret,
                     struct err *err)
{
    buf_reserve(ret, ZSTD_compressBound(plain.size));
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    size_t size =
        ZSTD_compress2(zstd, ret->data + ret->size, ret->capacity - ret->size,
                       plain.data, plain.size);
    if (ZSTD_isError(size))
        return err_set(err,
                       ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation
                           ? ERR_LIMIT
                           : ERR_INTERNAL,
                       "zstd: %s", ZSTD_getErrorName(size));
    ret->size += size;
    return 0;
}

static void put_number(struct buf *ret, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_put_byte(ret, (int)(number >> 8 * i & 255));
}

static int pack_pieces(ZSTD_CCtx *zstd, const struct buf *plain,
                       const struct tree_cut *cuts, size_t count,
                       struct buf *ret, struct err *err)
{
    struct buf line_reader = {0}, index = {0};
    int code = put_frame(zstd, (struct slice){plain->data, cuts[0].at},
                         &line_reader, err);
    buf_put_varint(&index, count);
    buf_put_varint(&index, line_reader.size);
    for (size_t i = 0; i < count && !code; i++) {
        size_t end = i + 1 < count ? cuts[i + 1].at : plain->size;
        size_t before = line_reader.size;
        code = put_frame(
            zstd, (struct slice){plain->data + cuts[i].at, end - cuts[i].at},
            &line_reader, err);
        buf_put_varint(&index, cuts[i].node - (i ? cuts[i - 1].node : 0));
        buf_put_varint(&index, cuts[i].before);
        buf_put_varint(&index, line_reader.size - before);
    }
    put_number(ret, SKIPPED, 4);
    put_number(ret, index.size + HASH, 4);
    buf_put_slice(ret, buf_slice(&index));
    put_number(ret, hash_bytes64(index.data, index.size), HASH);
    buf_put_slice(ret, buf_slice(&line_reader));
    buf_free(&index);
    buf_free(&line_reader);
    return code;
}

static int pack(const struct tree *tree, bool may_cut, struct buf *ret,
                struct err *err)
{
    struct buf plain = {0};
    struct tree_cut *cuts;
    size_t count;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        return err_set(err, ERR_LIMIT, "zstd: no memory");
    tree_encode_cut(tree, PIECE, &plain, &cuts, &count);
    int code = may_cut && plain.size > CUT_FROM && count
                   ? pack_pieces(zstd, &plain, cuts, count, ret, err)
                   : put_frame(zstd, buf_slice(&plain), ret, err);
    ZSTD_freeCCtx(zstd);
    buf_free(&plain);
    free(cuts);
    return code;
}

static int put_packed(struct store_txn *txn, int table, struct slice key,
                      const struct tree *tree, struct err *err)
{
    struct buf packed = {0};
    int code = pack(tree, table == TABLE_TREES, &packed, err);
    if (!code)
        code = table_put(txn, table, key, buf_slice(&packed), err);
    buf_free(&packed);
    return code;
}

/* ---- Reading ---- */

/* Bytes of all frames, unpacked. */
static int plain_size(struct slice packed, size_t *ret, struct err *err)
{
    uint64_t sum = 0;
    while (packed.size) {
        unsigned long long size =
            ZSTD_getFrameContentSize(packed.data, packed.size);
        size_t frame = ZSTD_findFrameCompressedSize(packed.data, packed.size);
        if (size > max_bytes || ZSTD_isError(frame) || !frame)
            return damaged(err);
        sum += size;
        packed.data += frame;
        packed.size -= frame;
    }
    if (sum > max_bytes)
        return damaged(err);
    *ret = (size_t)sum;
    return 0;
}

static int unpack(struct slice packed, struct buf *ret, struct err *err)
{
    size_t size = 0;
    int code = plain_size(packed, &size, err);
    if (code)
        return code;
    /* A damaged head may claim more than there is memory. */
    void *room = size < TAKEN_FROM_SPARE ? mem_resize(ret->data, size + 1, 1)
                                         : realloc(ret->data, size + 1);
    if (!room)
        return err_set(err, ERR_FORMAT,
                       "a stored tree of %zu bytes is damaged, or there is no "
                       "memory for it",
                       size);
    *ret = (struct buf){room, 0, size + 1};
    size_t got = ZSTD_decompress(room, size, packed.data, packed.size);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        return err_set(err, ERR_LIMIT, "no memory to unpack a stored tree");
    if (ZSTD_isError(got) || got != size)
        return damaged(err);
    ret->size = size;
    ret->data[size] = '\0';
    return 0;
}

static int get_record(struct store_txn *txn, int table, struct slice key,
                      struct slice *ret, struct err *err)
{
    int code = table_get(txn, table, key, ret, err);
    return code == ERR_NOT_FOUND
               ? err_set(err, code, "no such tree in the store")
               : code;
}

/* Where a piece's frame lies among the bytes of a record. */
struct piece {
    struct slice head, nodes; /* packed */
    uint32_t first;           /* node */
    uint64_t before;
};

static uint64_t take_number(const char *bytes, int count)
{
    uint64_t number = 0;
    for (int i = count; i-- > 0;)
        number = number << 8 | (unsigned char)bytes[i];
    return number;
}

static bool is_cut(struct slice packed)
{
    return packed.size >= SKIPPED_HEAD &&
           take_number(packed.data, 4) == SKIPPED;
}

/* The frames behind the index, and the index's entries. */
static bool open_index(struct slice packed, struct reader *ret_index,
                       struct slice *ret_line_reader)
{
    size_t size = (size_t)take_number(packed.data + 4, 4);
    if (size < HASH || size > packed.size - SKIPPED_HEAD)
        return false;
    const char *index = packed.data + SKIPPED_HEAD;
    size -= HASH;
    *ret_index = reader_of(index, size);
    *ret_line_reader = (struct slice){index + size + HASH,
                                      packed.size - SKIPPED_HEAD - size - HASH};
    return take_number(index + size, HASH) == hash_bytes64(index, size);
}

static bool take_frame(struct slice *line_reader, uint64_t size,
                       struct slice *ret)
{
    if (size > line_reader->size)
        return false;
    *ret = (struct slice){line_reader->data, (size_t)size};
    line_reader->data += size;
    line_reader->size -= (size_t)size;
    return true;
}

/* The piece that holds the node. */
static bool find_piece(struct slice packed, uint32_t node, struct piece *ret)
{
    struct reader in;
    struct slice line_reader, head, nodes;
    if (!open_index(packed, &in, &line_reader))
        return false;
    size_t count = read_count(&in, 3);
    uint32_t first = 0;
    bool found = false;
    if (!take_frame(&line_reader, read_varint(&in), &head))
        return false;
    for (size_t i = 0; i < count && !in.failed; i++) {
        first += read_u32(&in);
        uint64_t before = read_varint(&in);
        if (found && first > node)
            return true;
        if (!take_frame(&line_reader, read_varint(&in), &nodes) || in.failed)
            return false;
        *ret = (struct piece){head, nodes, first, before};
        found = true;
    }
    return found && !in.failed && ret->first <= node;
}

/* A record that parts can no longer be read of is damaged, though all of it can
 * be. */
static int decode_whole(struct slice packed, struct tree **ret, struct err *err)
{
    struct buf plain = {0};
    struct piece last;
    int code = is_cut(packed) && !find_piece(packed, UINT32_MAX, &last)
                   ? damaged(err)
                   : unpack(packed, &plain, err);
    if (!code && tree_decode(plain.data, plain.size, ret, NULL))
        code = damaged(err);
    buf_free(&plain);
    return code;
}

static int noted(const struct store_txn *txn, int code)
{
    if (code == ERR_FORMAT)
        atomic_store(&txn->store->damage, true);
    return code;
}

static int get_packed(struct store_txn *txn, int table, struct slice key,
                      struct tree **ret, struct err *err)
{
    struct slice packed;
    int code = get_record(txn, table, key, &packed, err);
    return code ? code : noted(txn, decode_whole(packed, ret, err));
}

static int decode_piece(const struct piece *piece, struct tree **ret,
                        struct err *err)
{
    struct buf head = {0}, nodes = {0};
    int code = unpack(piece->head, &head, err);
    if (!code)
        code = unpack(piece->nodes, &nodes, err);
    if (!code && tree_decode_part(buf_slice(&head), buf_slice(&nodes),
                                  piece->before, ret, NULL))
        code = damaged(err);
    buf_free(&head);
    buf_free(&nodes);
    return code;
}

/* ---- Of the store ---- */

static struct slice tree_key(unsigned char key[16], struct hash128 name)
{
    hash_write(name, key);
    return (struct slice){(const char *)key, 16};
}

int store_put_tree(struct store_txn *txn, struct hash128 name,
                   const struct tree *tree, struct err *err)
{
    unsigned char key[16];
    return put_packed(txn, TABLE_TREES, tree_key(key, name), tree, err);
}

bool store_has_tree(struct store_txn *txn, struct hash128 name)
{
    unsigned char key[16];
    struct slice value;
    return table_get(txn, TABLE_TREES, tree_key(key, name), &value, NULL) == 0;
}

int store_get_tree(struct store_txn *txn, struct hash128 name,
                   struct tree **ret_tree, struct err *err)
{
    unsigned char key[16];
    return get_packed(txn, TABLE_TREES, tree_key(key, name), ret_tree, err);
}

int store_get_tree_part(struct store_txn *txn, struct hash128 name,
                        uint32_t node, struct tree **ret_tree,
                        uint32_t *ret_first, struct err *err)
{
    unsigned char key[16];
    struct slice packed;
    struct piece piece = {0};
    int code = get_record(txn, TABLE_TREES, tree_key(key, name), &packed, err);
    if (code)
        return code;
    *ret_first = 0;
    if (!is_cut(packed))
        return noted(txn, decode_whole(packed, ret_tree, err));
    if (!find_piece(packed, node, &piece))
        return noted(txn, damaged(err));
    *ret_first = piece.first;
    return noted(txn, decode_piece(&piece, ret_tree, err));
}

static struct slice outline_key(char key[12], uint32_t manual,
                                uint64_t generation)
{
    key_u32(key, manual);
    key_u64(key + 4, generation);
    return (struct slice){key, 12};
}

int store_put_outline(struct store_txn *txn, uint32_t manual,
                      uint64_t generation, const struct tree *outline,
                      struct err *err)
{
    char key[12];
    return put_packed(txn, TABLE_OUTLINES, outline_key(key, manual, generation),
                      outline, err);
}

int store_get_outline(struct store_txn *txn, uint32_t manual,
                      uint64_t generation, struct tree **ret_outline,
                      struct err *err)
{
    char key[12];
    return get_packed(txn, TABLE_OUTLINES, outline_key(key, manual, generation),
                      ret_outline, err);
}
