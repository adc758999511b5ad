/* Keys and values of the beginnings of prompts as files, which outlive the daemon.
 *
 * A file holds one piece of a prompt: the pages of so many tokens.  Its name is the
 * hash of all that they depend on: how they were made (session_kind), and every
 * token from the prompt's first to the piece's last.  So prompts that begin alike
 * share the files of their beginning, and one that was changed finds none.
 *
 *   file    8 bytes of magic, length of the header (4), its hash (16), header, body
 *   header  varints: rounded or not, ids, plain bytes, bytes of the body; the body's hash; the ids;
 *           the sections, each its node and hash
 *   body    one zstd frame: the bytes of the pages' keys and values (session_export), every
 *           fourth one first (floats' exponents lie together); rounded: these floats in
 *           groups of 32 as integers of 8 bits, behind the scale of each group, its largest / 127
 *
 * Nothing is synced: a file that is cut off or altered fails its hash and is removed, as one
 * of another version's magic is.
 * Bounded in bytes, the piece used longest ago goes first; of a prompt the last one.
 * Any thread. */
#ifndef DAEMON_ENGINE_PROMPT_FILES_H
#define DAEMON_ENGINE_PROMPT_FILES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

/* A section that a prompt was made of, as it was. */
struct prompt_section {
    uint64_t node;
    struct hash128 own; /* the outline's */
};

/* Tells whether the section is still what it was. */
struct section_check {
    bool (*stands)(void *context, const struct prompt_section *section);
    void *context;
};

struct prompt_files;

/* Opens the folder, which is made, and looks what it holds; files that are damaged
 * are removed.  The caller closes it. */
int prompt_files_open(const char *folder, uint64_t max_bytes,
                      struct prompt_files **ret, struct err *err);
void prompt_files_close(struct prompt_files *files); /* NULL: ok */

/* A piece: `before` names all before it (of a prompt's first, session_kind). */
struct prompt_piece {
    struct hash128 before;
    const int32_t *ids; /* [count] */
    size_t count;
    bool rounded; /* its pages are floats, of which eight bits are enough */
};
/* Names a piece. */
struct hash128 prompt_piece_name(const struct prompt_piece *piece);

bool prompt_files_has(struct prompt_files *files, struct hash128 name);
/* Reads the piece's pages, `size` bytes, to `ret`.  ERR_NOT_FOUND: there is no such
 * file; ERR_FORMAT: it was damaged, and is gone. */
int prompt_files_read(struct prompt_files *files,
                      const struct prompt_piece *piece, void *ret, size_t size,
                      struct err *err);
/* Writes it, unless it is there.  ERR_LIMIT: it is more than may be kept. */
int prompt_files_write(struct prompt_files *files,
                       const struct prompt_piece *piece,
                       const struct prompt_section *sections, size_t count,
                       const void *pages, size_t size, struct err *err);
/* Notes that a prompt's pieces [count], the first one first, were used now. */
void prompt_files_touch(struct prompt_files *files, const struct hash128 *names,
                        size_t count);
/* Removes the pieces of which a section does not stand. */
void prompt_files_forget(struct prompt_files *files,
                         const struct section_check *check);

struct prompt_files_facts {
    uint64_t bytes, max_bytes;
    size_t count;
    uint64_t evicted, damaged,
        changed; /* removed since it was opened, and why */
};
void prompt_files_facts(struct prompt_files *files,
                        struct prompt_files_facts *ret);

#endif
