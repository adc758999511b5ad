#include <stdlib.h>
#include <string.h>

#include "memory/store/store_internal.h"

void file_free(struct file *file)
{
    free(file->path);
    free(file->failure);
    free(file->inputs);
    free(file->reports);
    file->path = file->failure = file->inputs = file->reports = NULL;
}

struct slice file_key(char key[MDB_MAX_KEY], uint32_t manual, const char *path)
{
    enum { ROOM = MDB_MAX_KEY - 4, HEAD = ROOM - 16 };
    size_t size = strlen(path);
    key_u32(key, manual);
    memcpy(key + 4, path, size <= ROOM ? size : HEAD);
    if (size <= ROOM)
        return (struct slice){key, 4 + size};
    hash_write(hash_bytes(path, size), (unsigned char *)key + 4 + HEAD);
    return (struct slice){key, MDB_MAX_KEY};
}

int store_put_file(struct store_txn *txn, uint32_t manual,
                   const struct file *file, struct err *err)
{
    struct buf value = {0};
    unsigned char hash[16];
    buf_put_string(&value, slice_of(file->path));
    buf_put_varint(&value, file->size);
    buf_put_signed(&value, file->mtime_ns);
    buf_put_varint(&value, file->inode);
    hash_write(file->content, hash);
    buf_put(&value, hash, sizeof hash);
    hash_write(file->tree, hash);
    buf_put(&value, hash, sizeof hash);
    buf_put_varint(&value, (uint64_t)file->state);
    buf_put_string(&value, slice_of(file->failure));
    bool reported = file->reports && file->reports[0];
    if (reported || (file->inputs && file->inputs[0]))
        buf_put_string(&value, slice_of(file->inputs ? file->inputs : ""));
    if (reported)
        buf_put_string(&value, slice_of(file->reports));
    char key[MDB_MAX_KEY];
    int code = table_put(txn, TABLE_FILES, file_key(key, manual, file->path),
                         buf_slice(&value), err);
    buf_free(&value);
    return code;
}

int store_delete_file(struct store_txn *txn, uint32_t manual, const char *path,
                      struct err *err)
{
    char bytes[MDB_MAX_KEY];
    return table_delete(txn, TABLE_FILES, file_key(bytes, manual, path), err);
}

int file_read_record(struct slice value, struct file *ret, struct err *err)
{
    struct reader in = reader_of(value.data, value.size);
    struct file file = {.path = take_text(&in)};
    file.size = read_varint(&in);
    file.mtime_ns = read_signed(&in);
    file.inode = read_varint(&in);
    const unsigned char *hash = read_bytes(&in, 32);
    if (hash) {
        file.content = hash_read(hash);
        file.tree = hash_read(hash + 16);
    }
    file.state = (int)read_u32(&in);
    file.failure = take_text(&in);
    file.inputs = in.at < in.size ? take_text(&in) : mem_strdup("");
    file.reports = in.at < in.size ? take_text(&in) : mem_strdup("");
    if (in.failed || in.at != in.size) {
        file_free(&file);
        return err_set(err, ERR_STORE,
                       "the store's record of a file is damaged: lectern "
                       "verify --repair");
    }
    *ret = file;
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path,
                  ((const struct file *)b)->path);
}

int store_list_files(struct store_txn *txn, uint32_t manual,
                     struct file **ret_files, size_t *ret_count,
                     struct err *err)
{
    char bytes[4];
    struct slice start = {bytes, sizeof bytes}, key, value;
    struct table_cursor cursor;
    key_u32(bytes, manual);
    int code = table_cursor_open(txn, TABLE_FILES, &cursor, err);
    if (code)
        return code;
    struct file *items = NULL;
    size_t count = 0, capacity = 0;
    code = table_cursor_seek(&cursor, start, &key, &value, err);
    while (!code && slice_starts(key, start)) {
        MEM_RESERVE(items, &capacity, count + 1);
        code = file_read_record(value, &items[count], err);
        count += !code;
        if (!code)
            code = table_cursor_next(&cursor, &key, &value, err);
    }
    table_cursor_close(&cursor);
    if (code && code != ERR_NOT_FOUND) {
        for (size_t i = 0; i < count; i++)
            file_free(&items[i]);
        free(items);
        return code;
    }
    if (count)
        qsort(items, count, sizeof *items, by_path);
    *ret_files = items;
    *ret_count = count;
    return 0;
}
