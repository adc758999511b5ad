/* One file of prompt_files.h. */
#ifndef DAEMON_ENGINE_PROMPT_FILES_INTERNAL_H
#define DAEMON_ENGINE_PROMPT_FILES_INTERNAL_H

#include "daemon/engine/prompt_files.h"

enum { PIECE_MAX_SECTIONS = 4096, PIECE_MAX_IDS = 1 << 14 };

/* What the header says. */
struct piece_header {
    bool rounded;
    size_t plain, packed; /* bytes of the body */
    struct hash128 body;
    int32_t *ids; /* [count], owned */
    size_t count;
    struct prompt_section *sections; /* [section_count], owned */
    size_t section_count;
};
void piece_header_free(struct piece_header *header);

/* Encodes a whole file. */
int piece_encode(const struct prompt_piece *piece,
                 const struct prompt_section *sections, size_t count,
                 const void *pages, size_t size, struct buf *ret,
                 struct err *err);
/* Reads the header at the beginning of `file`, of which not all need be there.
 * *ret_at: where the body begins.  ERR_FORMAT. */
int piece_header(struct slice file, struct piece_header *ret, size_t *ret_at,
                 struct err *err);
/* Checks and unpacks the body. */
int piece_body(const struct piece_header *header, struct slice body, void *ret,
               struct err *err);

#endif
