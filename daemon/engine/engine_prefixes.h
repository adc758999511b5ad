/* The beginnings of the last prompts as sessions that have read them: a prompt
 * that begins alike is read on from there.  With files (prompt_files.h) what took
 * long to read also outlives the sessions, and the daemon.
 *
 * A prompt is read in pieces, counted from its start, and what is kept ends with a
 * piece: so the rest is read in the passes in which all would have been, and the
 * logits have the same bits. */
#ifndef DAEMON_ENGINE_ENGINE_PREFIXES_H
#define DAEMON_ENGINE_ENGINE_PREFIXES_H

#include "daemon/engine/prompt_files.h"
#include "model/model.h"

/* Tokens.  A prompt is read in pieces, between which others have their turn: short ones,
 * and behind LONG_FROM, where each may choose what it reads, long ones, which take less
 * time.  On a device all are of DEVICE_PIECE, if it reads so many at once.  Up to
 * READ_IN_FULL choosing is no sooner: nobody does. */
enum {
    PREFIX_PIECE = 128,
    PREFIX_DEVICE_PIECE = 1024,
    PREFIX_LONG_FROM = 8192,
    PREFIX_LONG_PIECE = 2048,
    PREFIX_READ_IN_FULL = 14336,
    PREFIXES = 16 /* most that are kept */
};

/* What a prompt was made of. */
struct prefix_origin {
    const struct prompt_section *sections; /* [count] */
    size_t count;
    size_t tokens; /* the first so many say nothing of who asked, and may lie in
                      files; 0: none */
};

struct prefix {
    struct session *session;
    struct prompt_section *sections; /* [count], owned */
    size_t count;
    size_t tokens; /* as above, in whole pieces */
    size_t filed;  /* of these, are in files */
};

struct prefixes_counts {
    uint64_t prompts, tokens; /* that were asked for */
    uint64_t from_memory,
        in_memory; /* prompts that began with sessions; tokens */
    uint64_t from_files, in_files; /* and with files besides */
};

struct prefixes {
    struct prefix items[PREFIXES]; /* [count] the one used last first */
    size_t count;
    size_t max_bytes; /* most that they remember, what several share counted for
                         each; 0: 512 MiB */
    struct session_exact how;   /* sessions that are `exact` choose */
    struct prompt_files *files; /* NULL: none */
    bool rounded;               /* in files keys and values have eight bits */
    uint64_t min_parameters;    /* of a model whose reading is worth files */
    struct prefixes_counts counts;
};

/* Tokens of the piece that begins at `at`, where another has ended.  A long one of
 * a larger model is shorter, so that its products are about 2^34 multiplications:
 * a fraction of a second of one core. */
size_t prefixes_piece(const struct model_facts *facts, bool exact, size_t at);

/* *ret: a session that has read what the first of `ids` have in common with the
 * best of those kept, less than all of them; a new one when that is nothing.
 * `exact`: one with that attention (session_open_exact, as it is usual). */
int prefixes_fork(struct prefixes *prefixes, struct model *model, bool exact,
                  const int32_t *ids, size_t count, struct session **ret,
                  struct err *err);
/* Keeps what the session has read of a prompt, all of it in pieces but for the
 * last one; drops the one used longest ago where that is too much.  `origin`:
 * NULL: of nothing that files may hold. */
void prefixes_keep(struct prefixes *prefixes, struct model *model,
                   struct session *session, const struct prefix_origin *origin);
/* Writes one piece that is to lie in a file.  False: there is none. */
bool prefixes_file_one(struct prefixes *prefixes, struct model *model);
/* Drops those of which a section does not stand, and their files. */
void prefixes_forget(struct prefixes *prefixes,
                     const struct section_check *check);
/* Bytes that they have, and may have. */
size_t prefixes_bytes(const struct prefixes *prefixes);
size_t prefixes_most(const struct prefixes *prefixes);
/* Before the model is closed. */
void prefixes_clear(struct prefixes *prefixes);

#endif
