#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"
#include "kernels/q8.h"
#include "memory/store/store_internal.h"

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
    if (code == ERR_NOT_FOUND)
        return err_set(err, code, "no such segments in the store");
    return code == ERR_STORE ? ERR_FORMAT : code; /* they can be cut again */
}

int store_put_memory(struct store_txn *txn, struct hash128 name,
                     const float *memory, size_t width, struct err *err)
{
    unsigned char key[16];
    unsigned char *bytes = mem_alloc(q8_size(width));
    q8_encode(memory, width, bytes);
    int code =
        table_put(txn, TABLE_MEMORIES, name_key(key, name),
                  (struct slice){(const char *)bytes, q8_size(width)}, err);
    free(bytes);
    return code;
}

/* Those of earlier versions are halves. */
bool memory_read(struct slice value, float *ret, size_t width)
{
    const unsigned char *bytes = (const unsigned char *)value.data;
    if (value.size == q8_size(width))
        return q8_decode(bytes, width, ret);
    bool finite = value.size == 2 * width;
    for (size_t i = 0; i < width && finite; i++) {
        uint16_t half = (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
        ret[i] = half_value(half);
        finite = half_is_finite(half);
    }
    return finite;
}

int store_get_memory(struct store_txn *txn, struct hash128 name,
                     float *ret_memory, size_t width, struct err *err)
{
    unsigned char key[16];
    struct slice value;
    int code = table_get(txn, TABLE_MEMORIES, name_key(key, name), &value, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, code, "no such memory in the store");
    if (code || memory_read(value, ret_memory, width))
        return code;
    return err_set(err, ERR_STORE,
                   "a memory in the store is not of %zu numbers: lectern "
                   "verify",
                   width);
}

int store_put_memory_bytes(struct store_txn *txn, struct hash128 name,
                           struct slice value, struct err *err)
{
    unsigned char key[16];
    return table_put(txn, TABLE_MEMORIES, name_key(key, name), value, err);
}

int store_get_memory_bytes(struct store_txn *txn, struct hash128 name,
                           struct slice *ret_value, struct err *err)
{
    unsigned char key[16];
    int code =
        table_get(txn, TABLE_MEMORIES, name_key(key, name), ret_value, err);
    return code == ERR_NOT_FOUND
               ? err_set(err, code, "no such memory in the store")
               : code;
}

bool store_is_memory(struct slice value, float *ret, size_t width)
{
    return width && memory_read(value, ret, width);
}

bool store_has_memory(struct store_txn *txn, struct hash128 name, size_t width)
{
    unsigned char key[16];
    struct slice value;
    if (table_get(txn, TABLE_MEMORIES, name_key(key, name), &value, NULL))
        return false;
    float *numbers = mem_alloc(width * sizeof *numbers);
    bool whole = memory_read(value, numbers, width);
    free(numbers);
    return whole;
}

/* The base's key, and a byte more for the delta's. */
enum { BASE_KEY = 4, DELTA_KEY = 5 };

static struct slice vectors_key(char key[DELTA_KEY], uint32_t manual,
                                size_t size)
{
    key_u32(key, manual);
    key[BASE_KEY] = 'd';
    return (struct slice){key, size};
}

static int put_vectors(struct store_txn *txn, uint32_t manual, size_t key_size,
                       struct slice value, struct err *err)
{
    struct manual record;
    char key[DELTA_KEY];
    int code = store_get_manual(txn, manual, &record, err);
    if (code)
        return code;
    record.vectors++;
    code = manual_write(txn, &record, err);
    if (!code)
        code = store_forget_made(txn, manual, UNFINISHED_SEGMENTS, err);
    if (!code)
        code = store_forget_made(txn, manual, UNFINISHED_MEMORIES, err);
    if (!code)
        code = table_put(txn, TABLE_VECTORS, vectors_key(key, manual, key_size),
                         value, err);
    manual_free(&record);
    return code;
}

int store_put_vectors(struct store_txn *txn, uint32_t manual,
                      struct slice value, struct err *err)
{
    char key[DELTA_KEY];
    int code = put_vectors(txn, manual, BASE_KEY, value, err);
    return code ? code
                : table_delete(txn, TABLE_VECTORS,
                               vectors_key(key, manual, DELTA_KEY), err);
}

int store_put_vector_delta(struct store_txn *txn, uint32_t manual,
                           struct slice value, struct err *err)
{
    return put_vectors(txn, manual, DELTA_KEY, value, err);
}

int store_delete_vectors(struct store_txn *txn, uint32_t manual,
                         struct err *err)
{
    char key[DELTA_KEY];
    int code = table_delete(txn, TABLE_VECTORS,
                            vectors_key(key, manual, DELTA_KEY), err);
    return code ? code
                : table_delete(txn, TABLE_VECTORS,
                               vectors_key(key, manual, BASE_KEY), err);
}

static int get_vectors(struct store_txn *txn, uint32_t manual, size_t key_size,
                       struct slice *ret_value, struct err *err)
{
    char key[DELTA_KEY];
    int code = table_get(txn, TABLE_VECTORS, vectors_key(key, manual, key_size),
                         ret_value, err);
    return code == ERR_NOT_FOUND
               ? err_set(err, code, "manual %u has no such vectors", manual)
               : code;
}

int store_get_vectors(struct store_txn *txn, uint32_t manual,
                      struct slice *ret_value, struct err *err)
{
    return get_vectors(txn, manual, BASE_KEY, ret_value, err);
}

int store_get_vector_delta(struct store_txn *txn, uint32_t manual,
                           struct slice *ret_value, struct err *err)
{
    return get_vectors(txn, manual, DELTA_KEY, ret_value, err);
}
