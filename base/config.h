/* Configuration of the daemon and the command line: an INI file of
 *     key = value
 * lines (in no section or in [lectern]), the environment, and flags, in rising
 * order of precedence.  Every key has a default that works.
 *
 * Values are checked when they are set, and paths are made absolute: `~/` is
 * the home folder; a relative path in the file starts at the file's folder,
 * elsewhere at the current one. */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"

enum config_key {
    CONFIG_SOCKET,          /* path of the daemon's socket */
    CONFIG_STORE,           /* folder of the index */
    CONFIG_PARSERS,         /* parser processes */
    CONFIG_PARSER,          /* path of lectern-parse */
    CONFIG_PARSE_SECONDS,   /* most time for one file */
    CONFIG_PARSE_MEMORY_MB, /* most memory of a parser */
    CONFIG_LOG,             /* error, warn, info or debug */
    CONFIG_MODEL,           /* the model, for all roles, or "none" */
    CONFIG_MEMORY_MODEL,   /* instead of it, for memories; "": it; unless one of
                                the two is set, Nib */
    CONFIG_ANSWER_MODEL,   /* instead of it, for answers; "": it */
    CONFIG_RERANK_MODEL,   /* for reranking what was found; "": none */
    CONFIG_DEVICE,         /* what the model runs on */
    CONFIG_AGGREGATE,      /* how the memories of parts become one */
    CONFIG_RECALL,         /* what an inner node is encoded with */
    CONFIG_SEGMENT_TOKENS, /* most tokens of a segment */
    CONFIG_LATE_INTERACTION, /* whether results are ordered by pieces */
    CONFIG_LINKS,            /* which links of a manual are followed */
    CONFIG_WATCH,            /* how changed files are noticed */
    CONFIG_SWEEP_SECONDS,    /* between rescans beside inotify */
    CONFIG_POLL_SECONDS,     /* between rescans without it */
    CONFIG_MEND,             /* what is damaged in the store, unasked */
    CONFIG_ALIASES,          /* search what indexes call sections */
    CONFIG_HILS,             /* how long texts are attended to */
    CONFIG_HILS_TOKENS,      /* of these, so many */
    CONFIG_HILS_LAYERS,      /* but the first so many layers, to all */
    CONFIG_HILS_RERANK,      /* chosen by their keys at last */
    CONFIG_HILS_FROM,        /* from so many on */
    CONFIG_KV_CACHE_TYPE,    /* of keys and values in memory */
    CONFIG_PROMPT_MEMORY_MB, /* most, of prompts that were read */
    CONFIG_PROMPT_DISK_TYPE, /* of their keys and values */
    CONFIG_PROMPT_DISK_MB,   /* the same of those kept beside the store */
    CONFIG_TRUSTED_KEYS,     /* file of the keys whose packs are taken */
    CONFIG_FLEET,            /* connection string of the registry; "": none */
    CONFIG_FLEET_PACKS,      /* where packs are, instead of what that says */
    CONFIG_FLEET_SOURCES,    /* folder at which relative sources start */
    CONFIG_FLEET_MANUALS,    /* names and patterns of those held here */
    CONFIG_FLEET_READERS,    /* who is asked for the others: NAME=PATH */
    CONFIG_FLEET_FILES,      /* packs have the manual's files in them */
    CONFIG_FLEET_KEY,        /* file of the key that signs packs */
    CONFIG_KEYS
};

enum config_source {
    CONFIG_FROM_DEFAULT,
    CONFIG_FROM_FILE,
    CONFIG_FROM_ENVIRONMENT,
    CONFIG_FROM_FLAG
};

struct config {
    char *file;     /* absolute path of the configuration file */
    bool file_read; /* false: there is none, and none was asked for */
    struct {
        char *text;
        enum config_source source;
        unsigned line; /* of `file`, the last that has the key; 0: none */
    } values[CONFIG_KEYS];
};

/* Defaults, then `file` (NULL: $XDG_CONFIG_HOME/lectern/lectern.ini or
 * ~/.config/lectern/lectern.ini, which need not exist), then the environment
 * (LECTERN_SOCKET).  ERR_USAGE with file and line on an unknown key or section
 * or a value that is not allowed. */
int config_load(struct config *config, const char *file, struct err *err);
/* The same, and then what the command line says; NULL: nothing of that key.  *config
 * is to be empty or freed before; config_free is called after an error, too. */
int config_load_with(struct config *config, const char *file,
                     const char *const values[CONFIG_KEYS], struct err *err);
void config_free(struct config *config);

/* A value from a flag. */
int config_set(struct config *config, enum config_key key, const char *text,
               struct err *err);

/* Writes the value into the configuration file, which is made where there is
 * none: in place of the line that has the key (the last one), or behind all
 * others; the rest stays.  `config` is as it was.  ERR_USAGE when the file would
 * not say that value then, as when it holds " ;", which begins a comment. */
int config_write(const struct config *config, enum config_key key,
                 const char *text, struct err *err);

const char *config_text(const struct config *config, enum config_key key);
/* Returns the folder or file of the model of a role; "": none.  A model from a flag
 * has the roles that no flag names another for, but for reranking, which only its
 * own key's model does. */
enum config_role { ROLE_MEMORIES, ROLE_ANSWERS, ROLE_RERANKING, ROLES };
const char *config_model(const struct config *config, enum config_role role);
/* Returns the key of a role's model; ROLES: that of all roles. */
enum config_key config_role_key(enum config_role role);
/* Returns the role of a name, "memories", "answers" or "reranking"; ROLES: none of
 * these. */
enum config_role config_role(const char *name);
/* Returns the device that the model is to run on, and for CUDA its number. */
enum config_device { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA };
enum config_device config_device(const struct config *config,
                                 unsigned *ret_number);
uint64_t config_number(const struct config *config, enum config_key key);
/* Which of its choices the value is, counted as the documents list them. */
int config_choice(const struct config *config, enum config_key key);
enum log_level config_log_level(const struct config *config);

/* Appends where the value comes from: "default", "/path/lectern.ini:3",
 * "environment", "flag". */
void config_put_source(const struct config *config, enum config_key key,
                       struct buf *out);

/* All values as a JSON array of {"key", "value", "source"}. */
void config_put_json(const struct config *config, struct json *json);
/* The entry of a key in such an array; NULL: it has none. */
const cJSON *config_entry(const cJSON *values, enum config_key key);

const char *config_name(enum config_key key);

/* Appends $XDG_RUNTIME_DIR/lectern/lectern.sock, else
 * /tmp/lectern-UID/lectern.sock; the environment's LECTERN_SOCKET is left to
 * the callers. */
void config_default_socket(struct buf *out);

/* Appends the folder of Quill, which comes with Lectern, or "none". */
void config_default_model(struct buf *out);
/* Nib, where it is beside the programs or installed; else nothing. */
void config_default_memories(struct buf *out);

/* Appends $VARIABLE/lectern, else ~/FALLBACK/lectern: a folder of ours by the
 * XDG rules. */
void config_user_folder(const char *variable, const char *fallback,
                        struct buf *out);

/* Appends the folder for the files of manuals that come packed, STORE/manuals: what is
 * in it is this store's alone. */
void config_put_unpacked(const struct config *config, struct buf *out);

/* Appends the path that a program has beside the running one. */
void config_beside(const char *program, struct buf *out);

/* Whether a place is an address (http, https), not a path. */
bool config_is_address(const char *place);

/* Appends `path` made absolute: `~/` is home, else it starts at `folder`
 * (NULL: the current one). */
void config_put_path(const char *path, const char *folder, struct buf *out);

#endif
