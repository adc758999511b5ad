/* Other daemons as the configuration names them (`fleet_readers`): "NAME=PATH, ...", a
 * name and the absolute path of a socket each, apart by spaces or commas. */
#ifndef BASE_READER_LIST_H
#define BASE_READER_LIST_H

#include "base/buf.h"
#include "base/err.h"

enum {
    READER_LIST_MAX = 8,
    READER_NAME = 32 /* bytes, with its end */
};

struct reader_place {
    struct slice name, path; /* of the text that was read */
};

/* ERR_USAGE: a name has something else than letters, digits, "_" and "-", or stands
 * twice; there is no absolute path; there are more than READER_LIST_MAX. */
int reader_list_read(const char *text, struct reader_place ret[READER_LIST_MAX],
                     size_t *ret_count, struct err *err);

#endif
