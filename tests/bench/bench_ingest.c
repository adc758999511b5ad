/* How fast the store takes records, durably, beside a plain file that the same
 * bytes are appended to, with fdatasync after each batch.
 *
 *     ingest [FOLDER]      where to write (the current one); 256 MB of disk
 *
 * Prints JSON, for batches of 4 and 16 MB of values of 4080 bytes under hashes as
 * keys, as trees are kept: MB/s of both by the clock, best of the rounds, and the
 * store's share; `core`: MB a second of processor time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "memory/store/store.h"
#include "tests/bench/rate.h"

enum { VALUE = 4080, TOTAL = 64 << 20, ROUNDS = 8 };

struct bench {
    const char *folder;
    char *values; /* noise, a different one for each record */
    size_t batch; /* records */
};

static void die(const char *what)
{
    fprintf(stderr, "ingest: %s\n", what);
    exit(1);
}

static struct slice value_of(const struct bench *b, size_t record)
{
    return (struct slice){b->values + record * VALUE, VALUE};
}

/* Seconds by the clock, and those that we ran. */
struct took {
    double wall, core;
};

static struct took now(void)
{
    return (struct took){clock_seconds(), core_seconds()};
}

static struct took since(struct took start)
{
    return (struct took){clock_seconds() - start.wall,
                         core_seconds() - start.core};
}

static struct took write_file(const struct bench *b, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        die("cannot write the file");
    struct took start = now();
    for (size_t at = 0, size; at < TOTAL / VALUE; at += size) {
        size = TOTAL / VALUE - at < b->batch ? TOTAL / VALUE - at : b->batch;
        if (write(fd, value_of(b, at).data, size * VALUE) !=
                (ssize_t)(size * VALUE) ||
            fdatasync(fd) < 0)
            die("cannot write the file");
    }
    struct took took = since(start);
    close(fd);
    unlink(path);
    return took;
}

static void put_batch(struct store *store, const struct bench *b, size_t from,
                      size_t size)
{
    struct store_txn *txn;
    if (store_write(store, &txn, NULL))
        die("cannot write the store");
    for (size_t i = from; i < from + size; i++) {
        struct slice value = value_of(b, i);
        if (store_put_segments(txn, hash_bytes(value.data, 64), value, NULL))
            die("cannot write the store");
    }
    if (store_commit(txn, NULL))
        die("cannot write the store");
}

static struct took write_store(const struct bench *b, const char *path)
{
    struct store *store;
    struct store_options options = {.folder = path,
                                    .max_bytes = (uint64_t)4 * TOTAL};
    if (store_open(&options, &store, NULL))
        die("cannot open a store");
    struct took start = now();
    for (size_t at = 0, size; at < TOTAL / VALUE; at += size) {
        size = TOTAL / VALUE - at < b->batch ? TOTAL / VALUE - at : b->batch;
        put_batch(store, b, at, size);
    }
    struct took took = since(start);
    store_close(store);
    static const char *const files[] = {"data.mdb", "lock.mdb", "lock"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct buf file = {0};
        file_join(&file, path, files[i]);
        unlink(file.data);
        buf_free(&file);
    }
    rmdir(path);
    return took;
}

static void keep_best(struct rate *best, struct took took)
{
    *best = best_of(
        *best, (struct rate){TOTAL / took.wall / 1e6, TOTAL / took.core / 1e6});
}

static void measure(struct bench *b, size_t batch_bytes)
{
    struct rate file = {0}, store = {0};
    struct buf path = {0};
    b->batch = batch_bytes / VALUE;
    file_join(&path, b->folder, "ingest.tmp");
    for (int round = 0; round < ROUNDS; round++) {
        keep_best(&file, write_file(b, path.data));
        keep_best(&store, write_store(b, path.data));
    }
    printf("{\"what\":\"ingest\",\"value_bytes\":%d,\"batch_mb\":%zu,"
           "\"store_mb_s\":%.0f,\"file_mb_s\":%.0f,\"share\":%.2f,"
           "\"store_core_mb_s\":%.0f,\"file_core_mb_s\":%.0f}\n",
           VALUE, batch_bytes >> 20, store.wall, file.wall,
           store.wall / file.wall, store.core, file.core);
    buf_free(&path);
}

int main(int argc, char **argv)
{
    struct bench b = {.folder = argc > 1 ? argv[1] : ".",
                      .values = mem_alloc(TOTAL)};
    uint64_t state = 1;
    for (size_t i = 0; i + 8 <= TOTAL; i += 8) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(b.values + i, &state, 8);
    }
    measure(&b, 4 << 20);
    measure(&b, 16 << 20);
    free(b.values);
    return 0;
}
