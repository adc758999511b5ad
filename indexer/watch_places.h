/* The folders that inotify watches, under the numbers it gave them.
 *
 * One folder may be of several manuals.  An interest is a manual's in a place:
 *
 *     a folder of the manual        every name
 *     the folder above the root,    one name: the folder or the file itself
 *     or above where a link leads   may be replaced
 */
#ifndef INDEXER_WATCH_PLACES_H
#define INDEXER_WATCH_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watched; /* whoever is interested */

struct interest {
    struct interest *next;
    struct watched *watched;
    uint64_t round; /* of scans, that renewed it last */
    char *name;     /* NULL: all */
};

struct place {
    struct place *next; /* of its bucket */
    int number;
    struct interest *interests;
};

struct places {
    struct place **buckets; /* [bucket_count], a power of two */
    size_t bucket_count, count;
};

void places_init(struct places *places);
void places_free(struct places *places);

/* NULL: there is none of this number. */
struct place *places_find(const struct places *places, int number);
/* The place of this number, there or made. */
struct place *places_add(struct places *places, int number);
void places_remove(struct places *places, struct place *place);

/* Makes the interest, or renews it. */
void place_renew(struct place *place, struct watched *watched, uint64_t round,
                 const char *name);

/* Ends the interests of `watched` that were last renewed before `round`, and the
 * places that nobody is interested in then: told to `ended`. */
void places_drop(struct places *places, const struct watched *watched,
                 uint64_t round, void (*ended)(void *context, int number),
                 void *context);

#endif
