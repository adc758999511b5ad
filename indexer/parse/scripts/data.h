/* Data as a script writes them: lists, objects and texts.  They are read, never run, and
 * more loosely than JSON: keys without quotes, either kind of quotes, a comma too many. */
#ifndef INDEXER_PARSE_SCRIPTS_DATA_H
#define INDEXER_PARSE_SCRIPTS_DATA_H

#include "base/mem.h"
#include "base/text.h"

enum data_kind {
    DATA_LIST,
    DATA_OBJECT,
    DATA_TEXT,
    DATA_WORD /* a number, true, null, a name: as written */
};

enum { DATA_NONE = UINT32_MAX };

struct data_value {
    enum data_kind kind;
    struct slice key;  /* in an object; else empty */
    struct slice text; /* of a text or word */
    uint32_t first;    /* of a list or object; DATA_NONE: empty */
    uint32_t next;     /* in the same; DATA_NONE */
};

struct data {
    struct data_value *values; /* [count]; the first is the whole */
    uint32_t count;
    size_t capacity;
    struct arena arena; /* texts */
};

/* The first list or object of the text.  Where that ends early, or is nested too deeply,
 * or holds too much, what was read until then.  None: count is 0. */
void data_read(struct slice text, struct data *ret_data);
void data_free(struct data *data);

/* What the object has by that key, or the first of a list; DATA_NONE. */
uint32_t data_get(const struct data *data, uint32_t object, const char *key);
uint32_t data_first(const struct data *data, uint32_t list);

/* A text or word by that key; empty: none. */
struct slice data_text(const struct data *data, uint32_t object,
                       const char *key);

#endif
