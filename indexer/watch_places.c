#include "indexer/watch_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_BUCKETS = 256 };

void places_init(struct places *places)
{
    places->count = 0;
    places->bucket_count = FIRST_BUCKETS;
    places->buckets = mem_alloc(FIRST_BUCKETS * sizeof *places->buckets);
}

static struct place **bucket_of(const struct places *places, int number)
{
    return &places->buckets[(size_t)number & (places->bucket_count - 1)];
}

struct place *places_find(const struct places *places, int number)
{
    struct place *place = *bucket_of(places, number);
    while (place && place->number != number)
        place = place->next;
    return place;
}

static void grow(struct places *places)
{
    struct place **old = places->buckets;
    size_t count = places->bucket_count;
    places->bucket_count *= 2;
    places->buckets = mem_alloc(places->bucket_count * sizeof *old);
    for (size_t i = 0; i < count; i++)
        for (struct place *place = old[i], *next; place; place = next) {
            struct place **bucket = bucket_of(places, place->number);
            next = place->next;
            place->next = *bucket;
            *bucket = place;
        }
    free(old);
}

struct place *places_add(struct places *places, int number)
{
    struct place *place = places_find(places, number);
    if (place)
        return place;
    if (places->count >= places->bucket_count)
        grow(places);
    struct place **bucket = bucket_of(places, number);
    place = mem_alloc(sizeof *place);
    place->number = number;
    place->next = *bucket;
    *bucket = place;
    places->count++;
    return place;
}

static void free_interest(struct interest *interest)
{
    free(interest->name);
    free(interest);
}

void places_remove(struct places *places, struct place *place)
{
    struct place **at = bucket_of(places, place->number);
    while (*at != place)
        at = &(*at)->next;
    *at = place->next;
    while (place->interests) {
        struct interest *next = place->interests->next;
        free_interest(place->interests);
        place->interests = next;
    }
    free(place);
    places->count--;
}

void places_free(struct places *places)
{
    for (size_t i = 0; i < places->bucket_count; i++)
        while (places->buckets[i])
            places_remove(places, places->buckets[i]);
    free(places->buckets);
}

static bool is_of(const struct interest *interest,
                  const struct watched *watched, const char *name)
{
    bool same_name = name && interest->name ? !strcmp(interest->name, name)
                                            : interest->name == name;
    return interest->watched == watched && same_name;
}

void place_renew(struct place *place, struct watched *watched, uint64_t round,
                 const char *name)
{
    struct interest *interest = place->interests;
    while (interest && !is_of(interest, watched, name))
        interest = interest->next;
    if (!interest) {
        interest = mem_alloc(sizeof *interest);
        interest->watched = watched;
        interest->name = name ? mem_strdup(name) : NULL;
        interest->next = place->interests;
        place->interests = interest;
    }
    interest->round = round;
}

static void drop_interests(struct place *place, const struct watched *watched,
                           uint64_t round)
{
    for (struct interest **at = &place->interests; *at;) {
        struct interest *interest = *at;
        if (interest->watched != watched || interest->round >= round) {
            at = &interest->next;
            continue;
        }
        *at = interest->next;
        free_interest(interest);
    }
}

void places_drop(struct places *places, const struct watched *watched,
                 uint64_t round, void (*ended)(void *context, int number),
                 void *context)
{
    for (size_t i = 0; i < places->bucket_count; i++)
        for (struct place *place = places->buckets[i], *next; place;
             place = next) {
            next = place->next;
            drop_interests(place, watched, round);
            if (place->interests)
                continue;
            ended(context, place->number);
            places_remove(places, place);
        }
}
