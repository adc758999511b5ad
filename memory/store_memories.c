#include <stdlib.h>
#include <string.h>

#include "memory/tables.h"

static struct slice name_key(unsigned char key[16], struct hash128 name)
{
    hash_write(name, key);
    return (struct slice){(const char *)key, 16};
}

int store_put_segments(struct store_txn *txn, struct hash128 name,
                       struct slice value, struct err *err)
{
    unsigned char key[16];
    return table_put(txn, TABLE_SEGMENTS, name_key(key, name), value, err);
}

int store_get_segments(struct store_txn *txn, struct hash128 name,
                       struct slice *ret_value, struct err *err)
{
    unsigned char key[16];
    int code =
        table_get(txn, TABLE_SEGMENTS, name_key(key, name), ret_value, err);
    return code == ERR_NOT_FOUND
               ? err_set(err, code, "no such segments in the store")
               : code;
}

int store_put_memory(struct store_txn *txn, struct hash128 name,
                     const uint16_t *half, size_t width, struct err *err)
{
    unsigned char key[16];
    char *bytes = mem_alloc(2 * width);
    for (size_t i = 0; i < width; i++) {
        bytes[2 * i] = (char)(half[i] & 255);
        bytes[2 * i + 1] = (char)(half[i] >> 8);
    }
    int code = table_put(txn, TABLE_MEMORIES, name_key(key, name),
                         (struct slice){bytes, 2 * width}, err);
    free(bytes);
    return code;
}

int store_get_memory(struct store_txn *txn, struct hash128 name,
                     uint16_t *ret_half, size_t width, struct err *err)
{
    unsigned char key[16];
    struct slice value;
    int code = table_get(txn, TABLE_MEMORIES, name_key(key, name), &value, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, code, "no such memory in the store");
    if (code)
        return code;
    if (value.size != 2 * width)
        return err_set(err, ERR_STORE,
                       "a memory in the store has %zu values, not %zu",
                       value.size / 2, width);
    const unsigned char *bytes = (const unsigned char *)value.data;
    for (size_t i = 0; i < width; i++)
        ret_half[i] = (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
    return 0;
}

int store_put_vectors(struct store_txn *txn, uint32_t manual,
                      struct slice value, struct err *err)
{
    struct manual record;
    char key[4];
    int code = store_get_manual(txn, manual, &record, err);
    if (code)
        return code;
    record.vectors++;
    key_u32(key, manual);
    code = manual_write(txn, &record, err);
    if (!code)
        code = table_put(txn, TABLE_VECTORS, (struct slice){key, sizeof key},
                         value, err);
    manual_free(&record);
    return code;
}

int store_get_vectors(struct store_txn *txn, uint32_t manual,
                      struct slice *ret_value, struct err *err)
{
    char key[4];
    key_u32(key, manual);
    int code = table_get(txn, TABLE_VECTORS, (struct slice){key, sizeof key},
                         ret_value, err);
    return code == ERR_NOT_FOUND
               ? err_set(err, code, "manual %u has no vectors", manual)
               : code;
}
