#include "memory/lexical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BM25F.  A term in the title weighs as TITLE occurrences in the body, among
 * the terms a node defines as DEFINED, in a title above as PATH; body and title
 * are normalised by their lengths with their own B.  A reference entry is a
 * part of its section: the title above it weighs as SECTION, its own as NAME,
 * and words of an identifier in that are among what it defines.  Set on every
 * second of PostgreSQL's index terms. */
static const double K1 = 0.9, B_BODY = 0.2, B_TITLE = 0.6;
static const double TITLE = 20.0, DEFINED = 1.5, PATH = 1.5;
static const double NAME = 10.0, SECTION = 8.0;
/* An index entry names what the node is about, as its title does; of a node with
 * many the names share the weight: such a one is mentioned under them, not
 * about them.  Chosen on entries of held-out manuals (docs/retrieval.md). */
static const double ALIAS = 5.0;

/* Postings of version 1 knew no aliases: they serve until the manual is updated
 * next. */
static struct match unpack(uint64_t packed, uint32_t version)
{
    struct match match = {.title = (uint8_t)(packed & 3),
                          .defined = (uint8_t)(packed >> 2 & 3)};
    packed >>= 4;
    if (version > 1) {
        match.alias = (uint8_t)(packed & 3);
        packed >>= 2;
    }
    match.body = (uint16_t)(packed < UINT16_MAX ? packed : UINT16_MAX);
    return match;
}

/* The first place from `at` on whose id is this one or greater: in steps that
 * double, then by halves. */
static size_t seek_id(const struct volume *volume, size_t at, uint64_t id)
{
    const struct volume_id *by_id = volume->by_id;
    size_t count = volume->outline->count, end = at;
    for (size_t step = 1; end < count && by_id[end].id < id; step *= 2) {
        at = end + 1;
        end += step;
    }
    if (end > count)
        end = count;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (by_id[middle].id < id)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* Postings and by_id both ascend, so one walk over each finds all. */
static void match_term(const struct volume *volume, struct slice postings,
                       struct match *matches, uint8_t *found, size_t terms,
                       size_t term)
{
    struct reader in = reader_of(postings.data, postings.size);
    uint64_t id = 0;
    size_t at = 0, count = volume->outline->count;
    while (in.at < in.size && !in.failed) {
        id += read_varint(&in);
        uint64_t packed = read_varint(&in);
        at = seek_id(volume, at, id);
        if (at == count)
            break;
        if (volume->by_id[at].id != id)
            continue;
        uint32_t node = volume->by_id[at].node;
        struct match match = unpack(packed, volume->manual.lexical);
        matches[node * terms + term] = match;
        found[node] |= match.title ? FOUND_OWN | FOUND_HEAD : FOUND_OWN;
    }
}

/* Below titles that hold terms, node by node from the parent; what is below no
 * such title is passed over.  The manual's own name says nothing. */
static void match_paths(const struct tree *outline, struct match *matches,
                        uint8_t *found, size_t terms)
{
    const struct node *nodes = outline->nodes;
    for (uint32_t top = 1; top < outline->count;) {
        if (!(found[top] & FOUND_HEAD)) {
            top++;
            continue;
        }
        for (uint32_t n = top + 1; n < nodes[top].end; n++) {
            const struct match *above = &matches[nodes[n].parent * terms];
            for (size_t t = 0; t < terms; t++)
                matches[n * terms + t].path = above[t].title || above[t].path;
            found[n] |= FOUND_HEAD;
        }
        top = nodes[top].end;
    }
}

int lexical_match(struct store_txn *txn, const struct volume *volume,
                  const struct query *query, struct match **ret_matches,
                  uint8_t **ret_found, struct err *err)
{
    const struct tree *outline = volume->outline;
    size_t terms = query->count, cells;
    if (!mem_mul(outline->count, terms * sizeof(struct match), &cells))
        return err_set(err, ERR_LIMIT, "the manual is too large");
    struct match *matches = mem_alloc(cells);
    uint8_t *found = mem_alloc(outline->count);
    for (size_t t = 0; t < terms; t++) {
        struct slice postings;
        int code =
            store_get_postings(txn, volume->manual.id, volume->manual.epoch,
                               slice_of(query->terms[t].term), &postings, err);
        if (code) {
            free(matches);
            free(found);
            return code;
        }
        match_term(volume, postings, matches, found, terms, t);
    }
    match_paths(outline, matches, found, terms);
    *ret_matches = matches;
    *ret_found = found;
    return 0;
}

double lexical_score(const struct query *query, const struct volume *volume,
                     uint32_t node, const struct match *row)
{
    const struct volume_node *n = &volume->nodes[node];
    double body_norm =
        1 - B_BODY + B_BODY * n->words / (volume->mean_words + 1e-9);
    double title_norm =
        1 - B_TITLE +
        B_TITLE * n->title_words / (volume->mean_title_words + 1e-9);
    double title = n->entry ? NAME : TITLE, path = n->entry ? SECTION : PATH;
    double alias = ALIAS / sqrt(n->names ? n->names : 1);
    double score = 0;
    for (size_t t = 0; t < query->count; t++) {
        double tf = row[t].body / body_norm +
                    title * row[t].title / title_norm + path * row[t].path +
                    DEFINED * row[t].defined + alias * row[t].alias;
        if (tf > 0)
            score += query->terms[t].weight * query->terms[t].idf * tf *
                     (K1 + 1) / (K1 + tf);
    }
    return score;
}
