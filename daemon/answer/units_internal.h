/* What the files of units share. */
#ifndef DAEMON_ANSWER_UNITS_INTERNAL_H
#define DAEMON_ANSWER_UNITS_INTERNAL_H

#include "daemon/answer/units.h"
#include "memory/snapshot/content.h"

struct cutting {
    const struct snapshot *snapshot;
    const struct passage_measure *measure; /* of the question */
    const struct passage *passage;
    const struct passages *all; /* chosen for the question */
    const struct content *content;
    kind_set kinds;
    enum extent extent;
    struct passages *ret;
};

/* ---- units.c ---- */

/* Puts a unit of the node among those that are quoted: once. */
void units_put(const struct cutting *cutting, struct unit found);

/* Puts the head of a table, which says what the cells of the row are: once, above the
 * first of its rows that is quoted. */
void units_put_head(const struct cutting *cutting, uint32_t block,
                    const struct unit *row);

/* ---- units_referred.c ---- */

/* Puts what units of the node refer to: the rows of tables that answer, of a caption its
 * table, and with fields of a box of bits the items that say what they are.  Of tables that
 * are named by number few references are followed; a section that cannot be opened has
 * none. */
void units_put_referred(const struct cutting *cutting, const struct unit *units,
                        size_t count);

#endif
