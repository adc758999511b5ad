/* Members of a model's JSON files, checked: what is there must be of its kind.
 * Each function returns ERR_FORMAT with the member's name, or 0; `null` counts
 * as absent.  Those without an `absent` leave *ret as it is then. */
#ifndef MODEL_JSON_MEMBERS_H
#define MODEL_JSON_MEMBERS_H

#include "base/err.h"
#include "base/json.h"

/* NULL: absent, or null. */
const cJSON *member_find(const cJSON *object, const char *name);

/* ERR_FORMAT: "name" is not `what`. */
int member_not(struct err *err, const char *name, const char *what);

/* A whole number in [least, most]; negative `absent`: it must be there. */
int member_size(const cJSON *object, const char *name, int64_t min, int64_t max,
                int64_t absent, size_t *ret, struct err *err);
int member_bool(const cJSON *object, const char *name, bool *ret,
                struct err *err);
int member_text(const cJSON *object, const char *name, const char **ret,
                struct err *err);
int member_number(const cJSON *object, const char *name, double *ret,
                  struct err *err);

#endif
