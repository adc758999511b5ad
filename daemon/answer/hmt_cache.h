/* The HMT memory of the document read last, so that it is read once for many
 * questions.  Who takes it out has it alone. */
#ifndef DAEMON_ANSWER_HMT_CACHE_H
#define DAEMON_ANSWER_HMT_CACHE_H

#include "base/hash.h"
#include "model/encode/hmt.h"

struct reading {
    struct hash128 of; /* model, manual, generation, place */
    struct hmt *hmt;   /* NULL: none */
    size_t tokens;     /* of the document */
    double ms;         /* that it took to read */
};

struct hmt_cache;

struct hmt_cache *hmt_cache_new(void);
void hmt_cache_free(struct hmt_cache *hmt_cache);

/* False: there is none of that, and *ret is as it was. */
bool hmt_cache_take(struct hmt_cache *hmt_cache, struct hash128 of,
                    struct reading *ret);
/* Takes it over, in the place of what was there. */
void hmt_cache_put(struct hmt_cache *hmt_cache, const struct reading *reading);

#endif
