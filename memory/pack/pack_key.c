/* Keys: the file of a secret one has the seed of 32 bytes in hexadecimal, a line. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "memory/pack/pack_internal.h"

enum { SEED = 32, MAX_KEYS = 1 << 20 /* bytes of a file of keys */ };

int pack_start(struct err *err)
{
    return sodium_init() < 0
               ? err_set(err, ERR_INTERNAL, "libsodium does not start")
               : 0;
}

void pack_put_hex(struct buf *out, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buf_printf(out, "%02x", bytes[i]);
}

/* The bytes that a line begins with; false: so many are not there. */
static bool read_hex(struct slice line, unsigned char *ret, size_t size)
{
    size_t got = 0;
    if (line.size < 2 * size)
        return false;
    return !sodium_hex2bin(ret, size, line.data, 2 * size, NULL, &got, NULL) &&
           got == size;
}

static void derive(const unsigned char seed[SEED], struct pack_key *ret)
{
    crypto_sign_seed_keypair(ret->public, ret->secret, seed);
}

static int read_key(const char *path, struct pack_key *ret, struct err *err)
{
    struct buf text = {0};
    struct stat st;
    unsigned char seed[SEED];
    if (stat(path, &st) < 0)
        return err_errno(err, ERR_IO, "cannot read the key %s", path);
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return err_set(err, ERR_USAGE,
                       "others may read the key %s: chmod 600, if it was "
                       "always kept from them; else make another",
                       path);
    int code = file_read(path, MAX_KEYS, &text, err);
    if (!code && !read_hex(buf_slice(&text), seed, sizeof seed))
        code = err_set(err, ERR_USAGE, "%s holds no key of lectern pack", path);
    if (!code)
        derive(seed, ret);
    if (text.size)
        sodium_memzero(text.data, text.size);
    sodium_memzero(seed, sizeof seed);
    buf_free(&text);
    return code;
}

static int write_all(int fd, struct slice text, const char *path,
                     struct err *err)
{
    ssize_t wrote = write(fd, text.data, text.size);
    int code = wrote == (ssize_t)text.size && fsync(fd) == 0
                   ? 0
                   : err_errno(err, ERR_IO, "cannot write the key %s", path);
    close(fd);
    if (code)
        unlink(path);
    return code;
}

static int make_key(int fd, const char *path, struct pack_key *ret,
                    struct err *err)
{
    unsigned char seed[SEED];
    struct buf text = {0};
    randombytes_buf(seed, sizeof seed);
    pack_put_hex(&text, seed, sizeof seed);
    buf_put_byte(&text, '\n');
    int code = write_all(fd, buf_slice(&text), path, err);
    if (!code)
        derive(seed, ret);
    sodium_memzero(text.data, text.size);
    sodium_memzero(seed, sizeof seed);
    buf_free(&text);
    return code;
}

int pack_key_open(const char *path, struct pack_key *ret, bool *ret_made,
                  struct err *err)
{
    int code = pack_start(err);
    if (code)
        return code;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    *ret_made = fd >= 0;
    if (fd >= 0)
        return make_key(fd, path, ret, err);
    if (errno == EEXIST)
        return read_key(path, ret, err);
    return err_errno(err, ERR_IO, "cannot make the key %s", path);
}

void pack_key_forget(struct pack_key *key)
{
    sodium_memzero(key, sizeof *key);
}

int pack_key_is_trusted(const char *path, const unsigned char public[PACK_KEY],
                        bool *ret, struct err *err)
{
    struct buf text = {0};
    bool found = false;
    if (access(path, F_OK) < 0 && errno == ENOENT) {
        *ret = false;
        return 0;
    }
    int code = file_read(path, MAX_KEYS, &text, err);
    for (size_t at = 0; !code && at < text.size && !found;) {
        unsigned char key[PACK_KEY];
        struct slice line = {text.data + at, text.size - at};
        found =
            read_hex(line, key, sizeof key) && !memcmp(key, public, sizeof key);
        const char *end = memchr(line.data, '\n', line.size);
        at = end ? (size_t)(end + 1 - text.data) : text.size;
    }
    buf_free(&text);
    if (!code)
        *ret = found;
    return code;
}
