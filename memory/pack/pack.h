/* Packs: a manual's generation as one file, to be made once and read on other machines.
 *
 *       0  "lectern pack 1\n\n"                        16 bytes
 *          (2, which is read: with codes of tokens, which are left out)
 *      16  Ed25519 key of who signed it, or zeros      32
 *      48  signature of all of these but itself        64
 *     112  BLAKE2b hash of the rest, the pack's name   32
 *     144  bytes of the rest, low byte first            8
 *     152  the rest: a zstd frame of the body, drawn at the top of pack_body.c
 *
 * The same generation gives the same bytes (with the same zstd), whatever store it lies
 * in: nodes are numbered from 1, trees are named by their content, all is sorted.
 * Postings are not in it: they are made of the trees, so that there is nothing to check
 * them against.  What a pack says of files and times of the machine that made it is
 * left out.
 *
 * Reading trusts nothing: first size, hash and signature, then every record against the
 * others; then one transaction puts all into the store. */
#ifndef MEMORY_PACK_PACK_H
#define MEMORY_PACK_PACK_H

#include "base/buf.h"
#include "base/err.h"
#include "memory/store/store.h"
#include "memory/vectors/vectors.h"
#include "tree/tree.h"

/* ---- Keys ---- */

enum { PACK_KEY = 32, PACK_SECRET = 64, PACK_HASH = 32 };

struct pack_key {
    unsigned char public[PACK_KEY], secret[PACK_SECRET];
};

/* Reads a key's file, mode 0600; makes one where there is none.  ERR_USAGE: it holds no
 * key, or others may read it; ERR_IO. */
int pack_key_open(const char *path, struct pack_key *ret, bool *ret_made,
                  struct err *err);
void pack_key_forget(struct pack_key *key); /* overwrites it */

/* Whether the file has a line that begins with the public key, in hexadecimal; a
 * file that is not there has none. */
int pack_key_is_trusted(const char *path, const unsigned char public[PACK_KEY],
                        bool *ret, struct err *err);

/* Appends bytes in hexadecimal. */
void pack_put_hex(struct buf *out, const unsigned char *bytes, size_t size);

/* ---- The file ---- */

/* Largest body and file that are read. */
extern const uint64_t pack_max_bytes;

struct pack_seal {
    bool is_signed;
    unsigned char signer[PACK_KEY]; /* zeros: nobody */
    unsigned char hash[PACK_HASH];
};

/* Compresses and signs (`key` NULL: not) a body. */
int pack_close(struct slice body, const struct pack_key *key,
               struct buf *ret_file, struct pack_seal *ret_seal,
               struct err *err);

/* Checks size, hash and signature.  ERR_FORMAT: it is no pack, is cut, changed, forged
 * or of another version.  Whether the signer is trusted is the caller's to see before
 * pack_open reads on. */
int pack_check_seal(struct slice file, struct pack_seal *ret_seal,
                    struct err *err);
/* The body of a file whose seal was checked. */
int pack_open(struct slice file, struct buf *ret_body, struct err *err);

/* ---- The body ---- */

struct pack_file {
    char *path;
    uint64_t size;
    struct hash128 content;
    uint32_t tree; /* index + 1; 0: it is not indexed */
    int state;     /* enum file_state */
    char *failure, *reports;
    struct slice bytes; /* of the file itself; data NULL: they are not there */
};

struct pack_tree {
    struct hash128 name; /* of the bytes */
    struct slice bytes;  /* tree_encode */
};

struct pack_record {
    struct hash128 name;
    struct slice value;
};

struct pack {
    struct buf body; /* slices are of it */
    char *name, *ignore;
    struct tree *outline;    /* ids 1... in pre-order */
    struct pack_tree *trees; /* [tree_count] by name */
    size_t tree_count;
    struct pack_file *files; /* [file_count] by path; the indexed ones are the
                                outline's, in its order */
    size_t file_count;
    struct pack_record *segments, *memories; /* by name */
    size_t segment_count, memory_count;
    struct vector_table vectors; /* of nodes 1...; width 0: none */
    bool has_bytes;              /* of every indexed file */
};
void pack_free(struct pack *pack);

/* Takes the body over, also on failure.  ERR_FORMAT: something in it cannot be. */
int pack_decode(struct buf *body, struct pack *ret, struct err *err);

/* The bytes of a file as it was indexed.  ERR_STALE: it has changed. */
typedef int pack_read_file(void *context, const struct manual *manual,
                           const struct file *file, struct buf *ret_bytes,
                           struct err *err);

/* Encodes a manual's generation as a body; `read` NULL: without the files' bytes.
 * ERR_NOT_FOUND: no such manual, or it was not indexed yet; ERR_STALE: its memories
 * are being made. */
int pack_gather(struct store *store, const char *manual, pack_read_file *read,
                void *context, struct buf *ret_body, struct err *err);

/* ---- Into a store ---- */

struct pack_place {
    const char *name; /* NULL: the pack's */
    const char *root; /* folder of its files; "": they are not here */
    const char
        *replaces; /* NULL, or: a manual of that name whose root is this is
                              replaced whatever its root is now and then */
    bool without_memories; /* of a pack that nobody trusted has signed */
};

/* Whether it may be put there, whose `name` is not NULL: ERR_USAGE as below. */
int pack_check_place(struct store *store, const struct pack_place *place,
                     struct err *err);

/* Puts the manual into the store by one transaction, with the files' bytes left aside.  A
 * manual of that name without a folder is replaced by another without one, as its
 * next generation, or as `replaces` says; ERR_USAGE: the name is another manual's. */
int pack_put(struct store *store, const struct pack *pack,
             const struct pack_place *place, struct manual *ret_manual,
             struct err *err);

#endif
